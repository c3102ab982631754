"""usaddress by templates over its own model: the attributes and labels that its own code gives."""

import gzip
import importlib.util
import json
import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("TRELLISWORK_DATA", "."), "usaddress")
ODD = [
    "",
    "#",
    "(123) Main St., Apt. #4 & 5th",
    "P.O. Box 1000, New York, NY 10001-0200",
    "12 1/2 O'Brien Av.; unit 3\u00bd",
    "100 Calle \u00d1and\u00fa, \u65e5\u672c",
    "a",
    "one &amp; two &#38; 3",
]


@pytest.fixture
def usaddress(drop_ins):
    if importlib.util.find_spec("usaddress") is None:
        pytest.skip("usaddress is not installed: pip install --no-deps usaddress probableparsing")
    return importlib.import_module("usaddress")


@pytest.fixture
def parser(usaddress):
    path = Path(__file__).parents[2] / "benchmarks" / "addresses.py"
    spec = importlib.util.spec_from_file_location("addresses", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.AddressParser(usaddress)


def test_odd_addresses_are_parsed_as_by_usaddress(usaddress, parser):
    assert parser.parse(ODD) == [usaddress.parse(text) for text in ODD]


@pytest.mark.parametrize("part", ["test", "train"])
def test_every_address_is_parsed_as_by_usaddress(usaddress, parser, part):
    path = DATA / f"{part}.jsonl.gz"
    if not path.exists():
        pytest.skip("TRELLISWORK_DATA names no folder with usaddress/test.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [" ".join(json.loads(line)["tokens"]) for line in file]
    assert parser.parse(texts) == [usaddress.parse(text) for text in texts]
