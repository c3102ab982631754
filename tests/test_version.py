"""Files that name the version of the library name the same one."""

import importlib.metadata
import re
from pathlib import Path

import pytest

import trelliswork

ROOT = Path(__file__).parent.parent
NAMED = {
    "CITATION.cff": r"^version: (\S+)$",
    "packaging/conda/recipe.yaml": r'^  version: "(\S+)"$',
    "CHANGELOG.md": r"^## (\S+)$",  # the newest comes first
}


@pytest.mark.parametrize(("file", "pattern"), NAMED.items(), ids=NAMED)
def test_a_file_names_the_version(file, pattern):
    assert re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)[1] == trelliswork.__version__


def test_the_installed_package_has_the_version():
    assert importlib.metadata.version("trelliswork") == trelliswork.__version__
