"""Columns in, columns out: every line as it was, tokens with their label behind."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trelliswork import _core
from trelliswork.features.templates import Templates

LABELS = ["O", "B-X", "I-X"]
TEMPLATES = Templates.parse("word[-1..1]\npos[0]\n")
EXTRACTOR = TEMPLATES.extractor()
WORDS = ["Rain", "fell", "café", "on", "#", "x"]


def model_of(text, seed=1):
    """A model that knows the attributes of a text; its weights are random."""
    columns = _core.parse_columns(text)
    rng = np.random.default_rng(seed)
    _, keys, _ = _core.ColumnSource(columns, EXTRACTOR).attribute_arrays(0, columns.n_sequences)
    keys = np.unique(keys)
    table_keys, slots = _core.key_table(keys)
    counts = rng.integers(1, 4, size=len(keys))
    labels = np.concatenate([np.arange(n) for n in counts]).astype(np.uint8)
    return _core.Model(
        {
            "channel.token.keys": table_keys,
            "channel.token.slots": slots,
            "channel.token.starts": np.cumsum([0, *counts]).astype(np.uint32),
            "channel.token.codes": labels,
            "channel.token.weights": rng.normal(size=len(labels)).astype(np.float32),
            "channel.transitions.weights": rng.normal(size=9).astype(np.float32),
        },
        3,
    )


MODEL = model_of("\n\n".join(f"{a} {p}\n{b} {q}" for a in WORDS for b in WORDS for p in "NV" for q in "NV").encode())


def tag(text, **options):
    return MODEL.tag_columns(text, EXTRACTOR, LABELS, **options)


def slowly_tagged(text, separator=None, comments=None, keep_docstart=False):
    """The same, line by line in Python, with the labels of `argmax`."""
    columns = _core.parse_columns(text, separator, comments, keep_docstart)
    labels = iter(MODEL.argmax(_core.ColumnSource(columns, EXTRACTOR)).tolist())
    out = []
    for line in text.split(b"\n"):
        bare = line.rstrip(b"\r")
        token = bare.strip(b" \t") and not (comments and bare.startswith(comments.encode()))
        token = token and (keep_docstart or b"-DOCSTART-" not in bare)
        out.append(bare + b"\t" + LABELS[next(labels)].encode() + line[len(bare) :] if token else line)
    assert next(labels, None) is None
    return b"\n".join(out)


_line = st.builds("{}{}{}".format, st.sampled_from(WORDS), st.sampled_from([" ", "\t", "  "]), st.sampled_from("NVZ"))
_lines = _line | st.sampled_from(["", "", " ", "\t", "# comment", "-DOCSTART- X"])
_end = st.sampled_from(["\n", "\n", "\r\n"])
texts = st.builds(
    lambda lines, last: "".join(line + end for line, end in lines) + last,
    st.lists(st.tuples(_lines, _end), max_size=30),
    st.sampled_from(["", "Rain N", "fell V\r\n"]),
)


@given(texts, st.sampled_from([1, 2]))
@example("", 1)
@example("\n\n\n", 1)
@example("\ufeffRain N\n", 1)
@example("Rain N", 1)
def test_lines_are_echoed_and_tokens_labelled(text, n_jobs):
    data = text.encode()
    assert tag(data, comments="# ", n_jobs=n_jobs) == slowly_tagged(data, comments="# ")


@given(st.lists(_line | st.just(""), max_size=30), st.integers(0, 40))
def test_lines_far_from_the_end_are_no_different(lines, empty):
    data = ("\n".join(lines) + "\n" * empty).encode()
    assert tag(data) == slowly_tagged(data)


def test_labels_may_be_long():
    labels = ["O", "B-" + "long" * 10, "exactly-16-chars"]
    data = b"Rain N\nfell V\n\n" * 40
    short = {label.encode(): long.encode() for label, long in zip(LABELS, labels, strict=True)}
    expected = [line.split(b"\t") for line in tag(data).split(b"\n")]
    found = [line.split(b"\t") for line in MODEL.tag_columns(data, EXTRACTOR, labels).split(b"\n")]
    assert found == [[*row[:-1], short[row[-1]]] if len(row) > 1 else row for row in expected]
    assert {row[-1] for row in found if len(row) > 1} <= {label.encode() for label in labels}


def test_docstart_lines_may_be_tokens():
    data = b"-DOCSTART- N\n\nRain N\n"
    assert tag(data) == slowly_tagged(data)
    assert tag(data, keep_docstart=True) == slowly_tagged(data, keep_docstart=True)


def test_tabs_alone_may_part_columns():
    data = b"New York\tN\nRain\tV\n"
    assert tag(data, separator="\t") == slowly_tagged(data, separator="\t")


def long_text(n_sentences=9000, end="\n"):
    """Several chunks, so that several threads have something to do."""
    rng = np.random.default_rng(11)
    lengths = rng.integers(1, 12, size=n_sentences)
    return end.join(
        "".join(f"{WORDS[w]} {'NV'[w % 2]}{end}" for w in rng.integers(0, len(WORDS), size=n)) for n in lengths
    ).encode()


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
def test_long_texts_are_tagged_the_same_in_any_number_of_threads(end):
    data = long_text(end=end)
    assert len(data) > 200_000
    expected = slowly_tagged(data)
    for n_jobs in (1, 2, 3, 8):
        assert tag(data, n_jobs=n_jobs) == expected


def test_marginals_follow_the_label():
    data = b"Rain N\nfell V\n\n# N\n"
    marginals = MODEL.marginals(_core.ColumnSource(_core.parse_columns(data), EXTRACTOR))
    labels = MODEL.argmax(_core.ColumnSource(_core.parse_columns(data), EXTRACTOR))
    rows = [line.split("\t") for line in tag(data, output="marginals").decode().split("\n") if line]
    assert [row[0] for row in rows] == ["Rain N", "fell V", "# N"]
    assert [row[1] for row in rows] == [LABELS[y] for y in labels]
    for row, probabilities in zip(rows, marginals, strict=True):
        assert row[2:] == [f"{y}:{p:.6f}" for y, p in zip(LABELS, probabilities, strict=True)]


def test_marginals_do_not_depend_on_the_number_of_threads():
    data = long_text(3000)
    assert len({tag(data, output="marginals", n_jobs=n) for n in (1, 2, 5)}) == 1


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_the_line_that_is_wrong_is_named(n_jobs):
    """The first one, wherever the threads are, and counted from the beginning of the file."""
    good = long_text()
    n_lines = good.count(b"\n")
    for bad, match in [
        (b"\nRain\n", "expected 2 columns, found 1"),
        (b"\nR\xffin N\n", "byte 0xff in column 2"),
        (b"\nRain N N\n\nfell V V\n", "expected 2 columns, found 3"),
    ]:
        for text, line in [(good + bad + good, n_lines + 2), (good + bad, n_lines + 2), (bad + good, 2)]:
            if bad.startswith(b"\nRain") and line == 2:
                continue  # the first line decides how many columns there are
            with pytest.raises(ValueError, match=f"^file, line {line}: {match}"):
                tag(text, n_jobs=n_jobs, name="file")


def test_lines_are_counted_from_the_given_one():
    with pytest.raises(ValueError, match="line 102: "):
        tag(b"Rain N\nfell V V\n", first_line=101)


def test_columns_that_the_templates_need_must_be_there():
    with pytest.raises(ValueError, match="need 2 columns"):
        tag(b"Rain\n")


def test_labels_must_fit_the_model_and_the_line():
    with pytest.raises(ValueError, match="3 labels, and 1 names"):
        MODEL.tag_columns(b"", EXTRACTOR, ["O"])
    with pytest.raises(ValueError, match="cannot be written in a column"):
        MODEL.tag_columns(b"", EXTRACTOR, ["O", "A\tB", "C"])
    text = MODEL.tag_columns(b"Rain N\n", EXTRACTOR, ["O ⛈", "two words", ""]).decode()
    assert text in {"Rain N\tO ⛈\n", "Rain N\ttwo words\n", "Rain N\t\n"}


def test_a_sentence_without_any_labelling_is_named():
    tensors = {
        "channel.token.keys": np.zeros(1, dtype=np.uint64),
        "channel.token.slots": np.array([2**32 - 1], dtype=np.uint32),
        "channel.token.starts": np.zeros(1, dtype=np.uint32),
        "channel.token.codes": np.zeros(0, dtype=np.uint8),
        "channel.token.weights": np.zeros(0, dtype=np.float32),
        "channel.transitions.weights": np.zeros(9, dtype=np.float32),
        "allowed.start": np.array([1, 0, 0], dtype=np.uint8),
        "allowed.end": np.array([0, 1, 1], dtype=np.uint8),
    }
    with pytest.raises(ValueError, match="line 4: the constraints of the model forbid every labelling"):
        _core.Model(tensors, 3).tag_columns(b"Rain N\nfell V\n\nfell V\n", EXTRACTOR, LABELS)


def test_any_buffer_is_read():
    assert tag(bytearray(b"Rain N\n")) == tag(memoryview(b"Rain N\n")) == tag(b"Rain N\n")
