"""Any bytes at all: a reader reads them or raises InvalidInput, and does nothing else."""

import gzip
import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trelliswork.corpora import Treebank, read_columns, read_conllu, read_csv, read_jsonl, read_text, read_treebank
from trelliswork.errors import InvalidInput

READERS = {
    "columns": read_columns,
    "columns, options": lambda file: read_columns(file, columns=["a", "b"], label="a", separator="\t", comments="#"),
    "columns, UTF-16": lambda file: read_columns(file, encoding="utf-16"),
    "conllu": read_conllu,
    "csv": read_csv,
    "csv, options": lambda file: read_csv(file, 1, [0], separator="\t", header=False, encoding="latin-1"),
    "jsonl": read_jsonl,
    "jsonl, options": lambda file: read_jsonl(file, names=["O", "B-X"], policy="expand", scheme="BILOU"),
    "text": read_text,
}

_pieces = [*'# \t\n\r-._0129aOBI{}[]":,', "\n\n", "\t_\t_\t_\t_\t_\t_\t_\t_\t_\n", "-DOCSTART-", "é", "\ufeff", "\0"]
_like_columns = st.lists(st.sampled_from(_pieces), max_size=40).map(lambda pieces: "".join(pieces).encode())

_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.floats() | st.sampled_from(["PER", "ab c", "a", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(st.integers(0, 4), st.integers(0, 4), st.just("X"))
        | st.dictionaries(st.sampled_from(["start", "end", "label", "labels", "value", "result", "text"]), inner)
    ),
    max_leaves=12,
)
_keys = st.sampled_from(["text", "tokens", "labels", "label", "spans", "entities", "annotations", "data", "tags"])
_records = st.dictionaries(_keys, _values) | st.fixed_dictionaries(
    {"answer": st.sampled_from(["reject", "accept", "?"])}
)
_like_json = st.lists(_records, max_size=3).map(lambda rows: "\n".join(map(json.dumps, rows)))
_like_json |= st.builds(json.dumps, st.lists(_records | _values, max_size=3), indent=st.sampled_from([None, 1]))

anything = (
    st.binary(max_size=200)
    | _like_columns
    | _like_json.map(str.encode)
    | _like_columns.map(gzip.compress)
    | st.builds(lambda data, cut: gzip.compress(data)[:cut], _like_columns, st.integers(0, 60))
    | st.binary(max_size=50).map(b"\x1f\x8b\x08".__add__)
)


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("reader", READERS)
@given(data=anything)
@example(data=b"\x1f\x8b")
@example(data=b"[" * 100_000)
@example(data=b'{"text": "\\ud800"}')
def test_readers_read_or_refuse(reader, data):
    message = None
    try:
        for found in READERS[reader](io.BytesIO(data)):
            assert found.line >= 1
    except InvalidInput as error:
        message = str(error)
    assert message is None or message.startswith("<input>, ")


_words = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "3", "1-2", "2.1", "0", "x"]), st.sampled_from(["0", "1", "2", "3", "_", "9", ""])
    ),
    max_size=6,
)
_like_conllu = st.lists(
    _words.map(lambda rows: "".join(f"{number}\ta\t_\t_\t_\t_\t{head}\tr\t_\t_\n" for number, head in rows)), max_size=4
).map(lambda parts: "\n".join(parts).encode())


@given(data=anything | _like_conllu, heads=st.booleans(), partial=st.booleans(), single_root=st.booleans())
def test_treebanks_are_read_or_refused_and_come_back_as_they_were(data, heads, partial, single_root):
    message, treebank = "<input>, ", Treebank.from_bytes(b"")
    try:
        treebank = read_treebank(io.BytesIO(data), heads=heads, partial=partial, single_root=single_root)
    except InvalidInput as error:
        message = str(error)
    assert message.startswith("<input>, ")
    if heads:
        assert treebank.with_trees(treebank) == treebank.text
    trees = [[0] * len(sentence.rows) for sentence in treebank]
    again = Treebank.from_bytes(treebank.with_trees(trees), single_root=False)
    assert [sentence.rows for sentence in again] == [sentence.rows for sentence in treebank]
    assert b"".join([*map(treebank.sentence_text, range(len(treebank))), treebank.rest]) == treebank.text
