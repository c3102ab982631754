"""However Arrow lays a column out, the answers are those of plain lists."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork.corpora.text import token_offsets

pa = pytest.importorskip("pyarrow", reason="columns of every layout are made by pyarrow")

pytestmark = pytest.mark.filterwarnings("ignore::trelliswork.errors.UnknownAttributes")

TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
TEXTS += [pa.dictionary(pa.uint32(), pa.large_string()), pa.dictionary(pa.int64(), pa.string())]
LISTS = [pa.list_, pa.large_list, pa.list_view, pa.large_list_view]

words = st.sampled_from(["the", "dog", "a", "", "Zoë", "a word of more than twelve bytes", "犬", "\U0001f600"])
lists_of_words = st.lists(st.none() | st.lists(words, max_size=5), max_size=12)
characters = st.characters(codec="utf-8") | st.sampled_from(list(" \t.,'-☀\u200d\ufe0f\u2028éa1"))
texts = st.lists(st.none() | st.text(characters, max_size=12), max_size=12)


@pytest.fixture(scope="module")
def tagger():
    X = [["the", "dog"], ["a", "Zoë", "barks"], ["Ann", "Lee", "."]]
    y = [["O", "B-X"], ["O", "B-X", "I-X"], ["B-Y", "I-Y", "O"]]
    return tw.SequenceLabeler(tw.CRF(l2=0.1)).fit(X, y)


@pytest.fixture(scope="module")
def tagger_of_pairs():
    X = [[("the", "D"), ("dog", "N")], [("a", "D"), ("cat", "N")]]
    return tw.SequenceLabeler(features="chunking").fit(X, [["O", "B-X"], ["O", "B-X"]])


def laid_out(values, type, random):
    """The values as a chunked array: each chunk a slice of something longer."""
    cuts = sorted(random.randint(0, len(values)) for _ in range(random.randint(0, 3)))
    chunks = []
    for begin, end in zip([0, *cuts], [*cuts, len(values)], strict=True):
        before, after = (random.choices([None, *values], k=random.randint(0, 9)) if values else [] for _ in range(2))
        part = values[begin:end]
        chunks.append(pa.array([*before, *part, *after], type).slice(len(before), len(part)))
    return pa.chunked_array(chunks, type)


def asked(tagger, rows):
    """The labels of rows that may be None, by the model itself."""
    labels = iter(tagger.predict([row for row in rows if row is not None]))
    return [None if row is None else next(labels) for row in rows]


@given(lists_of_words, st.sampled_from(TEXTS[:3]), st.sampled_from(LISTS), st.integers(1, 5), st.randoms())
def test_lists_of_words(tagger, rows, text, list_of, batch_size, random):
    column = laid_out(rows, list_of(text), random)
    table = pa.table({"words": column, "number": range(len(rows))})
    tagged = pa.table(tw.arrow.tag(tagger, table, "words", batch_size=batch_size))
    tagged.validate(full=True)
    assert tagged["labels"].to_pylist() == asked(tagger, rows)
    assert tagged["words"].to_pylist() == rows
    assert tagged["number"].to_pylist() == list(range(len(rows)))


@given(lists_of_words, st.sampled_from(TEXTS[3:]), st.booleans())
def test_lists_of_dictionaries(tagger, rows, text, large):
    flat = [word for row in rows for word in row or []]
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row or []))
    values = pa.array(flat, text.value_type).dictionary_encode().cast(text)
    kind, width = (pa.LargeListArray, pa.int64()) if large else (pa.ListArray, pa.int32())
    nulls = [end if row is not None else None for end, row in zip(ends, [*rows, []], strict=True)]
    column = kind.from_arrays(pa.array(nulls, width), values) if rows else pa.array([], pa.list_(text.value_type))
    assert pa.table(tw.arrow.tag(tagger, column))["labels"].to_pylist() == asked(tagger, rows)


@given(st.lists(st.none() | st.tuples(words, words), max_size=8), st.randoms())
def test_lists_of_a_fixed_size(tagger, rows, random):
    column = laid_out([None if row is None else list(row) for row in rows], pa.list_(pa.string(), 2), random)
    assert pa.table(tw.arrow.tag(tagger, column))["labels"].to_pylist() == asked(tagger, rows)


@given(texts, st.sampled_from(TEXTS), st.integers(1, 5), st.sampled_from([None, "words", "whitespace"]), st.randoms())
def test_text_is_cut_as_the_tokenizer_does(tagger, rows, type, batch_size, tokenizer, random):
    column = laid_out(rows, type, random)
    tagged = tw.arrow.tag(
        tagger, column, output=("tokens", "labels", "spans"), tokenizer=tokenizer, batch_size=batch_size
    )
    tagged = pa.table(tagged)
    tagged.validate(full=True)
    places = [None if row is None else token_offsets(row, tokenizer) for row in rows]
    tokens = [None if row is None else [row[a:b] for a, b in own] for row, own in zip(rows, places, strict=True)]
    assert tagged["tokens"].to_pylist() == tokens
    assert tagged["labels"].to_pylist() == asked(tagger, tokens)
    spans = iter(tagger.predict_spans([row for row in tokens if row is not None]))
    expected = [
        None if row is None else _in_characters(next(spans), row, own) for row, own in zip(rows, places, strict=True)
    ]
    assert tagged["spans"].to_pylist() == expected


def _in_characters(spans, text, places):
    found = []
    for span in spans:
        start, stop = places[span.start][0], places[span.stop - 1][1]
        found.append(
            {"start": start, "stop": stop, "type": span.type, "text": text[start:stop], "probability": span.probability}
        )
    return found


@given(texts)
def test_text_that_a_function_cuts(tagger, rows):
    column = pa.array(rows, pa.string())
    tagged = pa.table(tw.arrow.tag(tagger, column, output=("tokens", "spans"), tokenizer=str.split, batch_size=3))
    assert tagged["tokens"].to_pylist() == [None if row is None else row.split() for row in rows]
    for row, spans in zip(rows, tagged["spans"].to_pylist(), strict=True):
        assert all(row[span["start"] : span["stop"]] == span["text"] for span in spans or [])


def test_every_character_is_cut_as_the_tokenizer_does(tagger):
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    random.Random(0).shuffle(every)
    rows = ["".join(every[i : i + 500]) for i in range(0, len(every), 500)]
    for tokenizer in ("words", "whitespace"):
        tagged = pa.table(tw.arrow.tag(tagger, pa.array(rows), output="tokens", tokenizer=tokenizer))
        expected = [[row[a:b] for a, b in token_offsets(row, tokenizer)] for row in rows]
        assert tagged["tokens"].to_pylist() == expected


@given(lists_of_words, st.data())
def test_several_columns(tagger_of_pairs, rows, data):
    tags = [None if row is None else data.draw(st.lists(words, min_size=len(row), max_size=len(row))) for row in rows]
    table = pa.table({"tag": pa.array(tags, pa.list_(pa.string())), "word": pa.array(rows, pa.large_list(pa.string()))})
    tagged = pa.table(tw.arrow.tag(tagger_of_pairs, table, ["word", "tag"], keep=[]))
    pairs = [None if row is None else list(zip(row, own, strict=True)) for row, own in zip(rows, tags, strict=True)]
    assert tagged["labels"].to_pylist() == asked(tagger_of_pairs, pairs)


def test_columns_of_which_nothing_is_known(tagger):
    assert pa.table(tw.arrow.tag(tagger, pa.nulls(2)))["labels"].to_pylist() == [None, None]
    column = pa.array([[], []], pa.list_(pa.null()))
    assert pa.table(tw.arrow.tag(tagger, column))["labels"].to_pylist() == [[], []]


def test_tables_that_are_slices_of_tables(tagger):
    table = pa.table({"id": range(6), "words": [["the"], ["dog"], None, ["a", "dog"], [], ["Zoë"]]})
    rows = table["words"].to_pylist()
    struct = pa.StructArray.from_arrays(
        [table["id"].combine_chunks(), table["words"].combine_chunks()], ["id", "words"]
    )
    for first in range(6):
        for sliced in (table.slice(first, 2), table.slice(first, 2).to_batches()[0], struct.slice(first, 2)):
            tagged = pa.table(tw.arrow.tag(tagger, sliced, "words", batch_size=1))
            tagged.validate(full=True)
            assert tagged["id"].to_pylist() == list(range(6))[first : first + 2]
            assert tagged["labels"].to_pylist() == asked(tagger, rows[first : first + 2])


def test_columns_of_every_type_come_back(tagger):
    table = pa.table(
        {
            "words": [["the", "dog"], None, ["a"]],
            "category": pa.array(["x", None, "y"]).dictionary_encode(),
            "nested": [{"a": [1, 2], "b": None}, None, {"a": [], "b": {"c": "d"}}],
            "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
            "view": pa.array(["short", "longer than twelve bytes", None], pa.string_view()),
            "time": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
            "flag": [True, None, False],
        }
    )
    for part in (table, table.slice(1)):
        tagged = pa.table(tw.arrow.tag(tagger, part, "words", batch_size=2))
        tagged.validate(full=True)
        assert tagged.drop_columns("labels").to_pylist() == part.to_pylist()
        assert tagged.schema.field("map").type == table.schema.field("map").type
