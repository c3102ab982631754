"""usaddress as templates: its own model and its own features, in this library's template language.

    python benchmarks/addresses.py "123 Main St. Suite 100 Chicago, IL"     parses addresses
    python benchmarks/addresses.py                                          equal labels? where does the time go?

templates/usaddress.tpl writes the features of usaddress 0.5.16, by the names that they have in its model, which is read
from the installed package (``pip install --no-deps usaddress probableparsing``). Words go in and labels come out
without a Python object for a feature. TRELLISWORK_DATA names the corpora. benchmarks/crfsuite.py has the same beside
python-crfsuite itself, in turns.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import trelliswork as tw

# Those of usaddress.tokenize, compiled once.
_AMPERSAND = re.compile("&(?:#38|amp);")
_TOKEN = re.compile(r"\(*\b[^\s,;#&()]+[.,;)\n]*|[#&]")


class AddressParser:
    """What ``usaddress.parse`` does, for many addresses at once.

    Parameters
    ----------
    package : module
        usaddress, whose model and word lists are used.
    """

    def __init__(self, package: Any) -> None:
        lists = {"directions": package.DIRECTIONS, "streets": package.STREET_NAMES}
        resources = {name: [f"{word}\tyes" for word in sorted(words)] for name, words in lists.items()}
        path = Path(__file__).parent / "templates" / "usaddress.tpl"
        self.templates = tw.Templates.load(path, resources=resources)
        self.tagger = tw.load(package.MODEL_PATH, features=self.templates)

    def parse(self, texts: Sequence[str]) -> list[list[tuple[str, str]]]:
        """Return the tokens of each address with their labels."""
        tokens = [tokenized(text) for text in texts]
        return [list(zip(*pair, strict=True)) for pair in zip(tokens, self.tagger.predict(tokens), strict=True)]


def tokenized(text: str) -> list[str]:
    """Return what ``usaddress.tokenize`` does."""
    return _TOKEN.findall(_AMPERSAND.sub("&", text) if "&" in text else text)


def main() -> None:
    import trelliswork.compat

    trelliswork.compat.install()
    import usaddress

    parser = AddressParser(usaddress)
    if sys.argv[1:]:
        for parsed in parser.parse(sys.argv[1:]):
            print(*(f"{token}/{label}" for token, label in parsed))
        return
    for part in ("test", "train"):
        compare(part, addresses(part), parser, usaddress)
    profile(addresses("test") + addresses("train"), parser, usaddress)


def addresses(part: str) -> list[list[str]]:
    """Return the tokens of the addresses in a part of the corpus."""
    path = Path(os.environ.get("TRELLISWORK_DATA", ".")) / f"usaddress/{part}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line)["tokens"] for line in file]


def compare(part: str, tokens: list[list[str]], parser: AddressParser, package: Any) -> None:
    """Print how many tokens have the same attributes and labels as usaddress gives them."""
    features = [package.tokens2features(sequence) for sequence in tokens]
    wanted = [[set(names(item)) for item in sequence] for sequence in features]
    found = [[set(item) for item in sequence] for sequence in parser.templates.attributes(tokens)]
    expected = [package.TAGGER.tag(sequence) for sequence in features]
    same = [same_items(*pair) for pair in ((wanted, found), (expected, parser.tagger.predict(tokens)))]
    n = sum(map(len, tokens))
    print(f"{part}: {len(tokens)} addresses, {n} tokens; attributes equal for {same[0]}, labels for {same[1]}")


def names(item: dict[str, Any], prefix: str = "") -> list[str]:
    """Return the attributes of an item whose value is not zero, by CRFsuite's names."""
    found = []
    for key, value in item.items():
        if isinstance(value, dict):
            found += names(value, f"{prefix}{key}:")
        elif value is not False:
            found.append(f"{prefix}{key}" if value is True else f"{prefix}{key}:{value}")
    return found


def same_items(first: Sequence[Sequence[Any]], second: Sequence[Sequence[Any]]) -> int:
    return sum(a == b for x, y in zip(first, second, strict=True) for a, b in zip(x, y, strict=True))


def profile(tokens: list[list[str]], parser: AddressParser, package: Any) -> None:
    """Print the microseconds of each step, for a token: by usaddress' code on the drop-in, and by templates."""
    from crfsuite import seconds
    from trelliswork import _core
    from trelliswork.corpora.tables import TokenTable

    texts = [" ".join(sequence) for sequence in tokens]
    features = [package.tokens2features(sequence) for sequence in tokens]
    extractor = parser.templates.extractor()

    def extract() -> None:
        _core.ColumnSource(TokenTable.from_lists(tokens).columns, extractor).attribute_arrays(0, len(tokens))

    steps: dict[str, dict[str, Callable[[], object]]] = {
        "usaddress' code on the drop-in": {
            "tokenise": lambda: [package.tokenize(text) for text in texts],
            "features": lambda: [package.tokens2features(sequence) for sequence in tokens],
            "tag": lambda: [package.TAGGER.tag(sequence) for sequence in features],
            "all": lambda: [package.parse(text) for text in texts],
        },
        "templates, all addresses at once": {
            "tokenise": lambda: [tokenized(text) for text in texts],
            "features": extract,
            "features and tag": lambda: parser.tagger.predict(tokens),
            "all": lambda: parser.parse(texts),
        },
        "templates, one address at a time": {"all": lambda: [parser.parse([text]) for text in texts]},
    }
    n = sum(map(len, tokens))
    for how, parts in steps.items():
        told = ", ".join(f"{name} {1e6 * seconds(work, 7) / n:.2f}" for name, work in parts.items())
        print(f"{how} (us a token): {told}")


if __name__ == "__main__":
    main()
