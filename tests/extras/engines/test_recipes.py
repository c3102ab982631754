"""The recipes of docs/scale_engines.md, section by section, each where its engine is installed."""

import doctest
import os
import shutil
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "scale_engines.md"
NEEDED = {
    "Spark": ["pyspark.sql", "pyarrow", "pandas"],
    "Ray Data": ["ray.data", "pyarrow"],
    "Dask": ["dask.dataframe", "pandas", "pyarrow"],
    "Polars": ["polars", "pyarrow"],
    "DuckDB": ["duckdb", "pyarrow"],
    "Grids and cross-validation": ["pyarrow"],
}

# Engines warn of much that is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


def sections():
    """What comes before the first section, and each section by its title."""
    first, *others = PAGE.read_text().split("\n## ")
    return first, {title: text for title, _, text in (other.partition("\n") for other in others)}


@pytest.fixture(scope="module")
def begun():
    """The names that the beginning of the page defines."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra `arrow`)")
    names = {"__name__": "__main__"}  # functions that are sent to other processes go there as those of a script do
    run(sections()[0], names, "beginning")
    return names


def run(text, names, title):
    found = doctest.DocTestParser().get_doctest(text, names, title, str(PAGE), 0)
    assert found.examples
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    outcome = runner.run(found, out=said.append, clear_globs=False)
    names.update(found.globs)
    assert outcome.failed == 0, "".join(said)


def test_every_section_is_here():
    assert list(sections()[1]) == list(NEEDED)


@pytest.mark.parametrize("title", list(NEEDED))
def test_recipes(begun, title):
    for package in NEEDED[title]:
        pytest.importorskip(package, reason=f"{package} is not installed")
    if title == "Spark" and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17, which is not installed")
    run(sections()[1][title], dict(begun), title)
