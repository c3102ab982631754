"""Where the published corpora are, which are not shipped: in the folder that TRELLISWORK_DATA names, else beside the
repository in `../shared/data`."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "data"
DATA = Path(os.environ.get("TRELLISWORK_DATA", _BESIDE))


def located(file):
    """Return the path of a file of the corpora, or skip the test that wants it."""
    path = DATA / file
    if not path.exists():
        pytest.skip(f"{file} is not in the data folder; set TRELLISWORK_DATA to the folder that has it")
    return path
