"""Sources are named by author and year, and docs/references.bib has them."""

import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIBLIOGRAPHY = ROOT / "docs" / "references.bib"
FILES = [
    path
    for folder, pattern in (("src", "*.py"), ("core", "*.hpp"), ("core", "*.cpp"), ("docs", "*.md"))
    for path in sorted((ROOT / folder).rglob(pattern))
]
NAME = r"\b[A-Z][A-Za-z\u00c0-\u017f]+(?:-[A-Z][a-z]+)*"
CITATION = re.compile(rf"({NAME})(?: et al\.|(?:(?:, | & | and ){NAME})*)? \(?((?:19|20)\d\d)\b")
NOT_PEOPLE = {"SMO"}

if not (ROOT / "core").is_dir():
    pytest.skip("the sources of the core are not part of this copy", allow_module_level=True)


def plain(name):
    return "".join(c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c)).lower()


def bibliography():
    """From years to the surnames that occur in the entries of that year."""
    found = {}
    for entry in BIBLIOGRAPHY.read_text(encoding="utf-8").split("\n@"):
        year = re.search(r"year = \{(\d+)\}", entry)
        author = re.search(r"author = \{(.*?)\}, title", entry)
        if year and author:
            found.setdefault(year[1], set()).update(re.split(r"[\s{}.]+", plain(author[1])))
    return found


def test_every_citation_is_in_the_bibliography():
    known = bibliography()
    missing = {
        f"{path.relative_to(ROOT)}: {cited[0]}"
        for path in FILES
        for cited in CITATION.finditer(path.read_text(encoding="utf-8"))
        if plain(cited[1]) not in known.get(cited[2], ()) and cited[1] not in NOT_PEOPLE
    }
    assert missing == set()


def test_no_source_is_cited_by_a_number():
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in FILES
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\(00[0-4][,;)]|(?<![\d.])00[0-4], (?:eq|sec|alg|ch|Table|Figure|\d+\.\d)", line)
    ]
    assert wrong == []
