"""Tables of the core: the same sequences, labels and complaints as the reader written in Python, for any bytes."""

import gzip
import io
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference.published import located
from trelliswork import _core
from trelliswork.corpora import LabelTable, TokenTable, read_blocks, read_columns, read_table
from trelliswork.errors import InvalidInput

_pieces = [*" \t\n\r#,aO-'\"\\é", "\n\n", " \t ", "\r\n", "ab", "-DOCSTART-", "\ufeff", "\u00a0", "\u2028", "😀", "\0"]
_like_columns = st.lists(st.sampled_from(_pieces), max_size=40).map(lambda pieces: "".join(pieces).encode())
_rows = st.lists(
    st.lists(st.lists(st.sampled_from(["Rain", "é", "B-NP", "#", "x,y"]), min_size=2, max_size=2), max_size=3),
    max_size=4,
).map(lambda sequences: "\n".join("".join(" ".join(row) + "\n" for row in rows) for rows in sequences).encode())
_broken = st.builds(
    lambda data, at, junk: data[:at] + junk + data[at:], _rows, st.integers(0, 30), st.binary(max_size=4)
)
_some = _like_columns | _rows | _broken | st.binary(max_size=80)
anything = _some | _some.map(lambda data: data + b"\n" * 40)  # lines near the end of the data are read in another way
options = st.fixed_dictionaries(
    {
        "separator": st.sampled_from([None, "\t", " ", ",", "ab"]),
        "comments": st.sampled_from([None, "#", "é"]),
        "keep_docstart": st.booleans(),
    }
)


def outcome(read):
    try:
        return read()
    except InvalidInput as error:
        return str(error)


def by_python(data, **rules):
    read = list(read_columns(io.BytesIO(data), label=None, **rules))
    return [sentence.tokens for sentence in read], [sentence.line for sentence in read]


def by_core(data, **rules):
    tokens, labels = read_table(io.BytesIO(data), label_column=None, **rules)
    assert labels is None
    columns = tokens.columns
    rows = [[(token,) if isinstance(token, str) else token for token in sequence] for sequence in tokens]
    firsts = [0, *columns.lengths().cumsum().tolist()][: len(rows)]
    return rows, [int(columns.where(row).rpartition(" ")[2]) for row in firsts]


@given(anything, options)
@example(b"\xff\xfea\x00", {})
@example(b"a\xe2\x82", {})
@example(b"a\xe2\x28\n", {})
@example(b"a\xed\xa0\x80\n", {})
@example(b"a\xf4\x90\x80\x80", {})
@example(b"a\xc0\x80", {})
@example(b"a b\n" + b"c" * 100 + b"\n", {})
@example(b"a b\n-DOCSTART- c\na b\n" + b"\n" * 40, {})
@example(b"a b\n \t\n a\tb \na b c\n" + b"\n" * 40, {})
@example(b" ".join([b"a"] * 16) + b"\n" + b"\n" * 40, {})
def test_the_core_reads_and_refuses_what_the_python_reader_does(data, rules):
    expected, found = outcome(lambda: by_python(data, **rules)), outcome(lambda: by_core(data, **rules))
    shown = data.decode("utf-8", "replace").translate({ord(c): None for c in "\t\r\n\0"})
    if isinstance(expected, str) and isinstance(found, str) and not shown.isprintable():
        # How a character without a picture is shown may differ; where it is and how many columns there are may not.
        expected, found = expected.partition(" in ")[0], found.partition(" in ")[0]
    assert found == expected


@given(_rows, st.integers(-3, 2))
def test_labels_are_taken_from_any_column(data, label):
    def python():
        read = list(read_columns(io.BytesIO(data), label=label))
        return [[row[0] for row in sentence.tokens] for sentence in read], [sentence.labels for sentence in read]

    def core():
        tokens, labels = read_table(io.BytesIO(data), label_column=label)
        return list(tokens), list(labels)

    assert outcome(core) == outcome(python)


def test_a_file_without_labels_says_how_to_read_it():
    with pytest.raises(InvalidInput, match=r"^<input>, line 2: expected a token and a label.*label_column=None"):
        read_table(io.BytesIO(b"\na\n"))


@pytest.mark.parametrize("data", [b"", b"\n" * 1000, b"ab\n" * 1000 + b"c", b"x" * 500, b"\n" + b"x" * 127 + b"\n"])
def test_ends_of_lines_are_counted(data):
    assert _core.count_lines(data) == data.count(b"\n")


@given(_like_columns.map(lambda data: data.replace(b"\0", b"")) | _rows, st.integers(1, 40))
def test_blocks_are_the_file_and_end_where_sequences_end(data, size):
    whole = outcome(lambda: by_python(data))
    blocks = list(read_blocks(io.BytesIO(data), size))
    assert b"".join(block for block, _ in blocks) == data
    assert [first for _, first in blocks] == [
        1 + b"".join(block for block, _ in blocks[:i]).count(b"\n") for i in range(len(blocks))
    ]
    if isinstance(whole, str):
        return
    pieces = [_core.parse_columns(block, first_line=first) for block, first in blocks]
    sequences = [columns.sequence(i) for columns in pieces for i in range(columns.n_sequences)]
    rows = [[(token,) if isinstance(token, str) else token for token in sequence] for sequence in sequences]
    starts = [
        columns.where(row) for columns in pieces for row in [0, *columns.lengths().cumsum()[:-1]] if columns.n_rows
    ]
    assert (rows, [int(place.rpartition(" ")[2]) for place in starts]) == whole


def test_blocks_are_about_as_large_as_asked():
    data = b"Rain NN\nfell VBD\n\n" * 1000
    sizes = [len(block) for block, _ in read_blocks(io.BytesIO(data), 500)]
    assert max(sizes) <= 500
    assert len(sizes) < 45


def test_a_sequence_longer_than_a_block_stays_whole():
    data = b"a b\n" * 1000 + b"\n" + b"c d\n"
    assert [first for _, first in read_blocks(io.BytesIO(data), 16)] == [1, 1002]


def test_gzip_encodings_and_text_files_are_read():
    text = "é NN\n\nà VB\n"
    expected = [["é"], ["à"]]
    for source, options in [
        (io.BytesIO(gzip.compress(text.encode())), {}),
        (io.BytesIO(text.encode("latin-1")), {"encoding": "latin-1"}),
        (io.BytesIO(text.encode("utf-16")), {"encoding": "utf-16"}),
        (io.StringIO(text), {}),
    ]:
        assert list(read_table(source, **options)[0]) == expected
        source.seek(0)
        assert b"".join(block for block, _ in read_blocks(source, 4, **options)) == text.encode()


def test_damaged_gzip_is_refused():
    cut = gzip.compress(b"a b\n" * 10_000)[:-20]
    with pytest.raises(InvalidInput, match=r"^<input>, after \d+ bytes: the gzip data are damaged"):
        read_table(io.BytesIO(cut))


def test_tables_are_sequences():
    tokens, labels = read_table(io.BytesIO(b"a X\nb Y\n\nc X\n\nd Z\n"))
    assert isinstance(tokens, TokenTable)
    assert isinstance(labels, LabelTable)
    assert (len(tokens), len(labels), tokens.n_tokens, tokens.n_columns) == (3, 3, 4, 1)
    assert (tokens[-1], labels[-1], tokens[:2], labels[::2]) == (["d"], ["Z"], [["a", "b"], ["c"]], [["X", "Y"], ["Z"]])
    with pytest.raises(IndexError):
        tokens[3]
    assert repr(tokens) == "TokenTable(3 sequences, 4 tokens, 1 columns)"
    assert repr(labels) == "LabelTable(3 sequences, 4 tokens, 3 labels)"


def test_labels_go_on_from_those_known_before():
    columns = _core.parse_columns(b"a X\nb Y\n")
    codes, names = columns.labels(1, ["Y", "Z"])
    assert (codes.tolist(), names) == ([2, 0], ["Y", "Z", "X"])
    with pytest.raises(ValueError, match="twice"):
        columns.labels(1, ["Y", "Y"])
    with pytest.raises(ValueError, match="no such column"):
        columns.labels(2)


@given(st.lists(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=3), max_size=4))
def test_lists_come_back_as_they_were(X):
    X = [[tuple(cell.encode("utf-8", "replace").decode() for cell in row) for row in rows] for rows in X]
    assert list(TokenTable.from_lists(X)) == X
    assert list(TokenTable.from_lists([[row[0] for row in rows] for rows in X])) == [
        [row[0] for row in rows] for rows in X
    ]


@pytest.mark.parametrize(
    ("X", "found"),
    [
        (["a", "b"], r"X\[0\] is 'a', but must be a sequence of tokens"),
        ("ab", "X is 'ab'"),
        (3, "X is 3"),
        ([3], r"X\[0\] is 3"),
        ([["a"], ["b", ("c", "d")]], r"X\[1\]\[1\] has 2 columns, but the tokens before it have 1"),
        ([[("a", 1)]], r"X\[0\]\[0\] has 1 in it, but columns must be strings"),
        ([["a", {"w": "b"}]], r"X\[0\]\[1\] is .*a string or a tuple of strings"),
        ([[()]], r"X\[0\]\[0\] has no columns"),
        ([["\ud800"]], r"X\[0\]\[0\] has a lone surrogate"),
        ([{"a": 1}], r"X\[0\] is"),
    ],
)
def test_what_is_no_list_of_sequences_is_refused_with_its_place(X, found):
    with pytest.raises(InvalidInput, match=found):
        TokenTable.from_lists(X)


def test_more_columns_than_asked_are_refused():
    with pytest.raises(ValueError, match="line 7: expected 2 columns, found 1"):
        _core.parse_columns(b"a\n", first_line=7, n_columns=2)


def test_blocks_need_no_numpy():
    code = (
        "import io, sys; from trelliswork.corpora.tables import read_blocks; "
        "list(read_blocks(io.BytesIO(b'a b\\n'))); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("file", ["conll2000/test.txt.gz", "conll2002/esp.testb.gz"])
def test_published_corpora_are_read_alike(file):
    path = located(file)
    tokens, labels = read_table(path)
    sentences = list(read_columns(path))
    assert list(tokens) == [sentence.tokens for sentence in sentences]
    assert list(labels) == [sentence.labels for sentence in sentences]
