"""Constituents: what they are made of, and back."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.errors import InvalidInput
from trelliswork.structures.constituents import Constituent, cleaned

LABELS = st.sampled_from(["S", "NP", "VP", "-LRB-", "PRP$", "ADVP|PRT"])
WORDS = st.sampled_from(["a", "b", "-LRB-", "''", "\u00a0x", "é"])
TAGGED = st.builds(lambda tag, word: Constituent(tag, [word]), LABELS, WORDS)
TREES = st.recursive(TAGGED, lambda below: st.builds(Constituent, LABELS, st.lists(below, min_size=1, max_size=4)))
DEEP = 100_000


def tree(text):
    return Constituent.from_text(text)


@given(TREES)
def test_brackets_read_back_are_the_same_tree(one):
    again = tree(str(one))
    assert again == one
    assert hash(again) == hash(one)
    assert str(again) == str(one)


@given(TREES)
def test_a_tree_is_its_spans_over_its_tagged_words(one):
    if not one.is_tag:
        assert Constituent.from_spans(one.spans(), one.leaves(), one.tags()) == one


@given(TREES)
def test_collapsed_chains_are_restored(one):
    collapsed = one.collapsed()
    spans = [span[:2] for span in collapsed.spans()]
    assert len(set(spans)) == len(spans)
    assert collapsed.restored() == one


@given(TREES, TREES)
def test_trees_are_equal_if_their_brackets_are(one, two):
    assert (one == two) == (str(one) == str(two))


def test_a_tree_is_not_equal_to_something_else():
    assert tree("(NP (NN x))") != "(NP (NN x))"


def test_bare_words_stand_beside_constituents():
    one = tree("(NP the (ADJP very old) dog)")
    assert one.leaves() == ["the", "very", "old", "dog"]
    assert one.tags() == [None] * 4
    assert [tuple(span) for span in one.spans()] == [(0, 4, "NP"), (1, 3, "ADJP")]
    assert Constituent.from_spans(one.spans(), one.leaves()) == one


@pytest.mark.parametrize(
    "text", ["(X " * DEEP + "(NN a)" + ")" * DEEP, "(X (NN b) " * 20_000 + "(NN a)" + ")" * 20_000]
)
def test_depth_is_limited_by_memory_only(text):
    deep = tree(text)
    assert str(deep) == text
    assert deep == tree(text)
    assert deep.collapsed().restored() == deep
    assert pickle.loads(pickle.dumps(deep)) == deep
    assert copy.deepcopy(deep) is deep
    assert cleaned(deep) == deep
    assert Constituent.from_spans(deep.spans(), deep.leaves(), deep.tags()) == deep


def test_a_constituent_never_changes():
    one = tree("(NP (NN x))")
    with pytest.raises(AttributeError, match="never changes"):
        one.label = "VP"
    with pytest.raises(AttributeError, match="never changes"):
        del one.children


def test_empties_function_tags_and_indices_are_removed():
    text = "(S (NP-SBJ-1 (-NONE- *-2)) (VP (VB go) (ADVP=3 (RB up)) (SBAR (-NONE- 0) (S (-NONE- *T*))) (-LRB- -LRB-)))"
    assert str(cleaned(tree(text))) == "(S (VP (VB go) (ADVP (RB up)) (-LRB- -LRB-)))"
    kept = cleaned(tree(text), empties=True, functions=True)
    assert str(kept).startswith("(S (NP-SBJ (-NONE- *-2)) (VP (VB go) (ADVP (RB up))")
    assert str(cleaned(tree("(NP-SBJ-1 (NN x))"), indices=True)) == "(NP-1 (NN x))"
    assert str(cleaned(tree("(NP-SBJ-1 (NN x))"), functions=True)) == "(NP-SBJ (NN x))"
    assert cleaned(tree("(NP-SBJ-1 (NN x))"), functions=True, indices=True) == tree("(NP-SBJ-1 (NN x))")
    assert cleaned(tree("(S (NP (-NONE- *)))")) is None


def test_the_outer_bracket_is_taken_off_or_named():
    assert tree("( (S (NN x)) )") == tree("(S (NN x))")
    assert tree("( (S (NN x)) (. .))").label == "TOP"
    assert tree("()") == Constituent("TOP")
    assert str(Constituent("TOP")) == "(TOP)"
    assert tree("(TOP)") == Constituent("TOP")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("(S (NN x)", "not closed at the end: 1 closing bracket is missing"),
        ("(S (NN x)))", "outside of brackets"),
        ("x", "outside of brackets"),
        ("(S (NN x)) (S (NN y))", "found 2"),
        ("", "found 0"),
        ("(S (() x))", "without a label"),
        ("(S ())", "empty brackets"),
        ("( (NN x) y)", "bracket without a label"),
        (3, "expected brackets"),
    ],
)
def test_wrong_brackets_are_refused(text, told):
    with pytest.raises(InvalidInput, match=told):
        tree(text)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Constituent("", ["x"]), "label"),
        (lambda: Constituent(3, ["x"]), "label"),
        (lambda: Constituent("NP", "x"), "expected a list"),
        (lambda: Constituent("NP", [3]), "a child of 'NP'"),
        (lambda: Constituent("NP", [""]), "a child of 'NP'"),
        (lambda: tree("(A+B (C (NN x)))").collapsed(), "joins the labels"),
        (lambda: Constituent.from_spans([(0, 2, "A"), (1, 3, "B")], "abc"), "crosses"),
        (lambda: Constituent.from_spans([(0, 3, "A"), (1, 1, "B")], "abc"), "empty"),
        (lambda: Constituent.from_spans([(0, 4, "A")], "abc"), "not within 3 words"),
        (lambda: Constituent.from_spans([(-1, 2, "A")], "abc"), "not within 3 words"),
    ],
)
def test_what_is_not_a_tree_is_refused(make, told):
    with pytest.raises(InvalidInput, match=told):
        make()
