"""Items are read as python-crfsuite reads them."""

from collections import UserDict

import numpy as np
import pytest

from trelliswork.compat.pycrfsuite import ItemSequence


def items(*sequence):
    return ItemSequence(list(sequence)).items()


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"a": "b"}, {"a:b": 1.0}),
        ({"a": b"b"}, {"a:b": 1.0}),
        ({b"a": 2}, {"a": 2.0}),
        ({"a": True, "b": False}, {"a": 1.0, "b": 0.0}),
        ({"a": 0.1}, {"a": 0.1}),
        ({"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True)}, {"a": 0.5, "b": 3.0, "c": 1.0}),
        ({"a": {"b": "c", "d": {"e": 2}}}, {"a:b:c": 1.0, "a:d:e": 2.0}),
        ({"a": ["b", b"c"]}, {"a:b": 1.0, "a:c": 1.0}),
        ({"a": {"b", "c"}}, {"a:b": 1.0, "a:c": 1.0}),
        (["a", "b", "a"], {"a": 1.0, "b": 1.0}),
        (("a", b"b", bytearray(b"c")), {"a": 1.0, "b": 1.0, "c": 1.0}),
        ({"a", "b"}, {"a": 1.0, "b": 1.0}),
        (frozenset({"a"}), {"a": 1.0}),
        ({"a": 1}.keys(), {"a": 1.0}),
        (UserDict({"a": 5}), {"a": 1.0}),  # read as its keys
        ({"a\0b": "c", "d": "e\0f"}, {"a": 1.0, "d:e": 1.0}),  # cut at the zero
        ({"ключ": "мир"}, {"ключ:мир": 1.0}),
        ({}, {}),
    ],
)
def test_items(item, expected):
    assert items(item) == [expected]


@pytest.mark.parametrize(
    "item",
    [
        {"a": None},
        {"a": ("b",)},
        {"a": frozenset("b")},
        {"a": object()},
        {1: "b"},
        [{"a": 1}],
        [("a", 1.0)],
        [None],
        {"a": [{"b": 1}]},
        None,
        5,
        (name for name in "ab"),  # no length
    ],
)
def test_what_is_no_item_is_a_type_error(item):
    with pytest.raises(TypeError, match=r"item 1|no len"):
        ItemSequence([["fine"], item])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.inf])
def test_values_must_be_finite(value):
    with pytest.raises(ValueError, match="item 0, attribute 'a:b' is"):
        ItemSequence([{"a": {"b": value}}])


def test_a_lone_surrogate_is_an_error():
    with pytest.raises(UnicodeEncodeError):
        ItemSequence([["\ud800"]])


def test_a_dict_that_contains_itself_is_an_error():
    item = {}
    item["a"] = item
    with pytest.raises(ValueError, match="contain itself"):
        ItemSequence([item])


def test_text_as_an_item_is_read_by_letters_with_a_warning():
    with pytest.warns(UserWarning, match="item 0 is a str") as told:
        assert ItemSequence(["ab", "c"]).items() == [{"a": 1.0, "b": 1.0}, {"c": 1.0}]
    assert len(told) == 1
    assert told[0].filename == __file__


def test_any_iterable_of_items_will_do():
    assert len(ItemSequence(iter([["a"], ["b"]]))) == 2
    assert ItemSequence(ItemSequence([["a"]])).items() == [{"a": 1.0}]
    assert repr(ItemSequence([["a"], []])) == "<ItemSequence of size 2>"
    with pytest.raises(TypeError):
        ItemSequence(5)


def test_an_error_of_an_object_that_is_read_passes_through():
    class Bad:
        def __float__(self):
            raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        ItemSequence([{"a": Bad()}])


def test_a_list_that_changes_while_it_is_read():
    sequence = [["a"], ["b"]]

    class Shortens:
        def __float__(self):
            sequence.clear()
            return 2.0

    sequence.insert(0, {"a": Shortens()})
    assert ItemSequence(sequence).items() == [{"a": 2.0}]


def test_subclasses_need_not_call_the_constructor():
    class Mine(ItemSequence):
        def __init__(self, words, more):
            super().__init__([[word] for word in words])

    class Silent(ItemSequence):
        def __init__(self):
            pass

    assert Mine(["a"], 5).items() == [{"a": 1.0}]
    assert len(Silent()) == 0
