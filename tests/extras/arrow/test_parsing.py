"""Dependency trees of tables are those that `predict` gives of lists."""

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra `arrow`)")

import pyarrow as pa

import trelliswork as tw
from trelliswork.errors import InvalidInput

COLUMNS = ["form", "lemma", "upos", "xpos", "feats"]


@pytest.fixture(scope="module")
def treebank():
    return tw.corpora.Treebank.from_sentences(tw.corpora.sentences())


@pytest.fixture(scope="module")
def parser(treebank):
    return tw.DependencyParser(hash_bits=18).fit(treebank)


def table_of(X):
    return pa.table({name: pa.array([[row[k] for row in x] for x in X]) for k, name in enumerate(COLUMNS)})


@pytest.mark.parametrize("batch_size", [1, 7, 8192])
def test_trees_are_those_of_lists(parser, treebank, batch_size):
    X = list(treebank.tokens)
    parsed = pa.table(tw.arrow.parse(parser, table_of(X), COLUMNS, keep=[], batch_size=batch_size))
    assert parsed.column_names == ["heads", "relations"]
    assert list(zip(*parsed.to_pydict().values(), strict=True)) == parser.predict(X)


def test_nulls_and_empty_rows(parser):
    go = ("Go", "go", "VERB", "_", "_")
    table = pa.table({name: [None, [go[k]], [], None] for k, name in enumerate(COLUMNS)})
    parsed = pa.table(tw.arrow.parse(parser, table, COLUMNS))
    assert parsed["heads"].to_pylist() == [None, [0], [], None]
    assert parsed["relations"].to_pylist() == [None, ["root"], [], None]
    assert pa.table(tw.arrow.parse(parser, table.slice(0, 0), COLUMNS)).num_rows == 0


def test_heads_of_text():
    parser = tw.DependencyParser(hash_bits=16, labels=None).fit([["dogs", "bark"]], [[2, 0]])
    parsed = pa.table(tw.arrow.parse(parser, pa.table({"text": ["dogs bark", None]})))
    assert parsed.column_names == ["text", "tokens", "heads"]
    assert parsed["heads"].to_pylist() == [[2, 0], None]
    with pytest.raises(InvalidInput, match="output has 'relations'; expected some of 'tokens', 'heads'"):
        tw.arrow.parse(parser, pa.table({"text": ["dogs"]}), output="relations")


def test_what_is_wrong_is_said(parser, treebank):
    table = table_of(list(treebank.tokens)[:2])
    with pytest.raises(InvalidInput, match="looks at 5 columns of each token, and column names 1"):
        tw.arrow.parse(parser, table, "form")
    with pytest.raises(InvalidInput, match=r"as in output=\{.heads.: .predicted.\}"):
        tw.arrow.parse(parser, table.append_column("heads", pa.array([1, 2])), COLUMNS)
    with pytest.raises(InvalidInput, match="expected a DependencyParser"):
        tw.arrow.parse(tw.SequenceLabeler().fit([["a"]], [["A"]]), table, COLUMNS)
    with pytest.raises(InvalidInput, match="expected one that labels sequences"):
        tw.arrow.tag(parser, table, COLUMNS)
    with pytest.raises(ValueError, match="not fitted"):
        tw.arrow.parse(tw.DependencyParser(), table, COLUMNS)
