"""Files of bracketed trees."""

import gzip
import io

import pytest

from reference.published import located
from trelliswork import corpora
from trelliswork.errors import InvalidInput
from trelliswork.structures.constituents import Constituent

MANY_LINES = """
( (S
    (NP-SBJ (DT The) (NN dog))
    (VP
      (VBZ barks))
    (. .) ))
(S (VP (VB Go)))

( (FRAG (NN
x)) )
"""


def read(text, **how):
    return [str(tree) for tree in corpora.read_brackets(io.StringIO(text), **how)]


def test_trees_stand_in_one_line_or_in_many():
    assert read(MANY_LINES) == [
        "(S (NP-SBJ (DT The) (NN dog)) (VP (VBZ barks)) (. .))",
        "(S (VP (VB Go)))",
        "(FRAG (NN x))",
    ]
    assert read("(NN a)(NN b)\r\n(NN c)") == ["(NN a)", "(NN b)", "(NN c)"]


def test_a_tree_without_words_is_passed_over():
    assert read("( (S (-NONE- *)))\n( (NP-SBJ-1 (NN x)))", empties=False, functions=False, indices=False) == [
        "(NP (NN x))"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("(S (NN x))\n(S (NN y)", "the tree that begins in line 2 is not closed"),
        ("(S (NN x))\n(S (NN y)))\n", "line 2: found '\\)' outside"),
        ("(S (NN x)\n( (S (NN y)))\n", "line 2: .* inside the tree that begins in line 1"),
        ("(S (NN x))\n\nhello", "line 3: found 'hello' outside"),
        ("(S\n()\n)", "line 2: found empty brackets"),
    ],
)
def test_the_line_of_a_mistake_is_named(tmp_path, text, told):
    path = tmp_path / "wrong.mrg"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=told) as caught:
        list(corpora.read_brackets(path))
    assert "wrong.mrg" in str(caught.value)


@pytest.mark.parametrize("outer", [True, False])
def test_what_is_written_is_read_back(tmp_path, outer):
    trees = list(corpora.read_brackets(io.StringIO(MANY_LINES + "(TOP)\n(-LRB- -LRB-)")))
    path = tmp_path / "trees.mrg.gz"
    assert corpora.write_brackets(path, trees, outer=outer) == 5
    assert list(corpora.read_brackets(path)) == trees


def test_brackets_in_words_are_escaped_and_space_is_refused():
    out = io.StringIO()
    corpora.write_brackets(out, [Constituent("NP", [Constituent("(", ["("]), Constituent("NN", ["x"])])])
    assert out.getvalue() == "( (NP (-LRB- -LRB-) (NN x)))\n"
    with pytest.raises(InvalidInput, match="tree 0 has the word or label 'a b' with space"):
        corpora.write_brackets(io.StringIO(), [Constituent("NN", ["a b"])])
    with pytest.raises(InvalidInput, match=r"tree 0 is .* expected a Constituent"):
        corpora.write_brackets(io.StringIO(), ["(NN x)"])


def test_the_treebank_sample_makes_the_round_trip(tmp_path):
    sample = located("ptb_sample/trees.mrg.gz")
    trees = list(corpora.read_brackets(sample))
    path = tmp_path / "sample.mrg"
    assert corpora.write_brackets(path, trees) == 3914
    with gzip.open(sample, "rt", encoding="utf-8") as file:
        original = [line.replace("((", "( (") for line in file]  # two lines have no space there
    assert path.read_text(encoding="utf-8").splitlines(keepends=True) == original
    plain = list(corpora.read_brackets(sample, empties=False, functions=False, indices=False))
    assert sum(len(tree.leaves()) for tree in plain) == 94084
    plain = plain[::10]
    assert all(Constituent.from_spans(tree.spans(), tree.leaves(), tree.tags()) == tree for tree in plain)
    assert all(tree.collapsed().restored() == tree for tree in plain)
