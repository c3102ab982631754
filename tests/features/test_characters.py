"""Kinds and lower case of characters, against Python's Unicode database."""

import sys
import unicodedata

import pytest

from reference import attributes as reference
from trelliswork.features.templates import Templates

LETTERS = {"upper": "A", "lower": "a", "letter": "o", "digit": "0", "mark": ".", "space": "_", "other": "_"}


def every_character(last):
    """All that are assigned but Chinese characters and Hangul; of these and the rest, some."""
    found = [chr(code) for code in range(last) if not 0xD800 <= code < 0xE000]
    dull = ("Cn", "Co", "Lo")
    return [c for i, c in enumerate(found) if i % 101 == 0 or i < 0x600 or unicodedata.category(c) not in dull]


@pytest.mark.parametrize("last", [0x250, 0x600, sys.maxunicode + 1])
def test_kind_and_lower_case_of_every_character(last):
    if last > 0x600 and unicodedata.unidata_version != "14.0.0":
        pytest.skip("the tables are those of Unicode 14; this Python has another version")
    characters = every_character(last)
    found = Templates("characters(word)\nlower(word)").attributes([characters])[0]
    expected = [
        [f"characters(word[0])={LETTERS[reference.kind(c)]}", f"lower(word[0])={reference.lower(c)}"]
        for c in characters
    ]
    assert found == expected
