"""Attributes of spans: the core against an evaluation in Python that looks at every span by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.test_extraction import CLASSES, TOWNS, WORDS, search
from reference.span_attributes import SpanEvaluator
from trelliswork import _core
from trelliswork.corpora import TokenTable
from trelliswork.errors import InvalidInput
from trelliswork.features.templates import Templates

LINES = [
    "first.word & last.word & size",
    "size",
    "size(1,2,4)",
    "size(3) & begin",
    "first.word[0..2]",
    "lower(last.word)[-2..0] & after.pos",
    "last.pos[-1] & first.pos[2]",
    "before.word[-2..0]",
    "after.word[0..2]",
    "before.pos & after.pos",
    "before.word[-1] & size",
    "suffix(first.word, 1..2) & shape(last.word, 1)",
    "whole.word",
    "whole.pos & before.pos",
    "lower(whole.word)",
    "shape(whole.word, 1) & size",
    'class("brown", whole.word)',
    'match(whole.word, "[0-9]+")',
    'gazetteer("towns", whole.word)',
    'gazetteer("folded", lower(whole.word)) & size',
    'gazetteer("towns", first.word) & gazetteer("towns", last.word)',
    'class("brown", after.word)',
    "outline(pos)",
    "outline(word, 2)",
    "outline(prefix(shape(word), 1), 1..3) & after.word",
    'outline(class("brown", lower(word)))',
    "ngram(first.pos[0..2], 2..3)",
    "bag(before.word[-2..0])",
    "begin & end",
    "end & last.word",
    "bias",
    "number(first.column 2)",
    "number(after.c2) & first.word",
    "number(last.c2[-1]) & number(before.c2)",
]

rows = st.tuples(st.sampled_from(WORDS), st.sampled_from(["NN", "VB", ""]), st.sampled_from(["1", "-2.5", "_", ""]))
sequences = st.lists(st.lists(rows, max_size=7), max_size=3)


def evaluated(templates, sequence, longest):
    classes = {"brown": dict(line.split("\t") for line in CLASSES["brown"].split("\n"))}
    gazetteers = {
        name: [(line.split("\t")[0].split(), "".join(line.split("\t")[1:])) for line in text.split("\n")]
        for name, text in TOWNS.items()
    }
    return SpanEvaluator(sequence, search, classes, gazetteers).spans(templates._templates, longest)


def source_of(templates, X, longest):
    return _core.SpanSource(TokenTable.from_lists(X).columns, templates.span_extractor(), longest)


def made(lines, token_lines=()):
    return Templates("\n".join([*token_lines, *(f"span: {line}" for line in lines)]), resources={**CLASSES, **TOWNS})


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=6), sequences, st.integers(1, 9))
def test_spans_have_what_their_templates_say(lines, X, longest):
    templates = made(lines, ["word[-1..1]", "pair: pos"])
    source = source_of(templates, X, longest)
    expected = [site for sequence in X for site in evaluated(templates, sequence, longest)]
    names = [site for i in range(len(X)) for site in source.attribute_names(i)]
    assert names == [[name for name, _, _ in site] for site in expected]
    starts, keys, values = source.attribute_arrays(0, len(X))
    assert starts.tolist() == np.cumsum([0] + [len(site) for site in expected]).tolist()
    assert keys.tolist() == [key for site in expected for _, key, _ in site]
    if any("number" in line for line in lines):
        assert values.tolist() == [np.float32(value) for site in expected for _, _, value in site]
    else:
        assert values.size == 0


@given(sequences, st.integers(1, 8), st.data())
def test_any_run_of_sequences_gives_its_part_of_the_whole(X, longest, data):
    source = source_of(made(LINES), X, longest)
    first = data.draw(st.integers(0, len(X)))
    last = data.draw(st.integers(first, len(X)))
    starts, keys, values = source.attribute_arrays(0, len(X))
    before, n_sites = (longest * sum(map(len, part)) for part in (X[:first], X[first:last]))
    some_starts, some_keys, some_values = source.attribute_arrays(first, last)
    begin, end = starts[before], starts[before + n_sites]
    assert some_starts.tolist() == (starts[before : before + n_sites + 1] - begin).tolist()
    assert some_keys.tolist() == keys[begin:end].tolist()
    assert some_values.tolist() == values[begin:end].tolist()


@given(st.lists(rows, max_size=6), st.integers(1, 5), st.integers(1, 5))
def test_longer_spans_change_nothing_for_shorter_ones(sequence, longest, more):
    templates = made(LINES)
    few, many = (templates.span_attributes([sequence], n)[0] for n in (longest, longest + more))
    assert few == {span: names for span, names in many.items() if span[1] - span[0] <= longest}


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
def test_before_and_after_see_what_neighbours_of_tokens_see(words):
    spans = Templates("span: before.word[-1..0]\nspan: after.word[0..1]").span_attributes([words], 1)[0]
    tokens = Templates("word[-2..-1]\nword[1..2]").attributes([words])[0]
    for t, names in enumerate(tokens):
        assert [name.split("=", 1)[1] for name in names] == [name.split("=", 1)[1] for name in spans[t, t + 1]]


GOLDEN = [
    "32c809f5473905c6",
    "121ef88b2dbd3ae3",
    "2d302f52d7cc57e8",
    "b091dfad414ae906",
    "d6c37585d064bcdc",
    "307ff7eee8c60623",
    "cdafc2ffa763f565",
    "b091dfad414ae906",
    "62fbfe9187544ca1",
    "e6923e5b0939500a",
    "b9d458eb12f8cf95",
    "2a7a5b8fae01f09c",
    "b091dfad414ae906",
    "21b0e6375ecb4d64",
    "54b4fa70cd3aad36",
    "b9d458eb12f8cf95",
    "2a7a5b8fae01f09c",
    "2e7be89d613d1225",
    "87531a0075083185",
    "b9d458eb12f8cf95",
    "8ddc7c167de61727",
]


def test_keys_never_change():
    """They are stored in model files: a change here makes every saved model useless."""
    templates = made(["first.word & last.word & size(1,2)", "whole.word", "outline(pos)", "before.word", "after.pos"])
    source = source_of(templates, [[("La", "DT"), ("Rochelle", "NN"), ("fell", "NN")]], 2)
    assert [f"{key:016x}" for key in source.attribute_arrays(0, 1)[1].tolist()] == GOLDEN


def test_a_gazetteer_knows_whole_entries_only():
    templates = Templates('span: gazetteer("towns", whole.word)', resources={"towns": "La Rochelle\tport\nAix\nLa"})
    found = templates.span_attributes([["La", "Rochelle", "Aix"]], 3)[0]
    name = 'gazetteer("towns",whole.word)'
    assert {span: names for span, names in found.items() if names} == {
        (0, 1): [f"{name}=yes"],
        (0, 2): [f"{name}=port"],
        (2, 3): [f"{name}=yes"],
    }


def test_no_sequences_empty_ones_and_spans_longer_than_any():
    templates = Templates("span: size\nspan: first.word")
    assert templates.span_attributes([], 3) == []
    assert templates.span_attributes([[], ["a"]], 3) == [{}, {(0, 1): ["size=1", "first.word=a"]}]
    source = source_of(templates, [["a", "b"]], 100_000)
    starts, _, _ = source.attribute_arrays(0, 1)
    assert starts[[0, 1, 2, 3, 100_000, 100_001, 200_000]].tolist() == [0, 2, 4, 4, 4, 6, 6]
    assert len(source.attribute_names(0)) == 200_000


def test_long_sequences_have_all_their_spans():
    words = [f"w{i % 977}" for i in range(40_000)]
    source = source_of(Templates("span: whole.word"), [words], 3)
    starts, keys, _ = source.attribute_arrays(0, 1)
    assert len(starts) == 120_001
    assert len(keys) == 40_000 + 39_999 + 39_998
    assert len(set(keys.tolist())) == 3 * 977
    assert keys[0] == keys[3 * 977]


@pytest.mark.parametrize("longest", [0, -1, 2.0, True, None, 1_000_001])
def test_lengths_that_are_none_are_refused(longest):
    with pytest.raises(InvalidInput, match="longest"):
        Templates("span: size").span_attributes([["a"]], longest)


def test_what_is_missing_is_said():
    with pytest.raises(InvalidInput, match=r"no templates about spans\. Write lines such as span:"):
        Templates("word").span_attributes([["a"]], 2)
    with pytest.raises(InvalidInput, match=r"the templates need 3 columns, but the tokens have 1 \(X\[0\]\[0\]\)"):
        Templates("span: first.c2").span_attributes([["a"]], 2)
    with pytest.raises(InvalidInput, match=r"X\[0\]\[1\]: expected a number, found 'x' in column 1"):
        Templates("span: number(first.c1)").span_attributes([[("a", "1"), ("b", "x")]], 2)


def test_too_many_spans_at_once_are_refused():
    source = source_of(Templates("span: size"), [["a"] * 5_000], 1_000_000)
    with pytest.raises(ValueError, match=r"more than 4,294,967,295 spans at once. Hand over fewer"):
        source.attribute_arrays(0, 1)


@pytest.mark.parametrize(
    ("views", "part", "message"),
    [
        ([], (0, 0, "first", []), "a view that does not exist"),
        ([("cell", 0, [], "", 0)], (0, -1, "first", []), "out of range"),
        ([("cell", 0, [], "", 0)], (0, 1, "before", []), "out of range"),
        ([("cell", 0, [], "", 0)], (0, 101, "after", []), "out of range"),
        ([("cell", 0, [], "", 0)], (0, 0, "middle", []), "there is no 'middle' in templates"),
        ([("begin", 0, [], "", 0)], (0, 0, "whole", []), "only columns and gazetteers"),
        ([("entry", 0, [], "", 0)], (0, 1, "outline", []), "only columns and gazetteers"),
        ([("entry", 0, [], "", 0)], (0, 0, "first", []), "entries of a gazetteer are whole spans"),
        ([], (0, 0, "size", [2, 2]), "must rise"),
        ([], (0, 0, "size", [0, 2]), "must rise"),
    ],
)
def test_the_core_refuses_what_would_make_no_sense(views, part, message):
    with pytest.raises(ValueError, match=message):
        _core.SpanExtractor(views, [("x", [part])], ["a"])
    with pytest.raises(ValueError, match="no templates"):
        _core.SpanExtractor(views, [], ["a"])


@given(st.lists(st.lists(st.sampled_from(["a", "b"]), max_size=5), min_size=1, max_size=4))
def test_all_spans_have_sites_in_rows_where_there_is_no_longest(X):
    templates = made(["whole.word & size", "before.word"])
    every = source_of(templates, [[(word,) for word in x] for x in X], 0)
    some = source_of(templates, [[(word,) for word in x] for x in X], 5)
    assert every.lengths().tolist() == [len(x) * (len(x) + 1) // 2 for x in X]
    for i, x in enumerate(X):
        padded = some.attribute_names(i)
        expected = [padded[b * 5 + size] for b in range(len(x)) for size in range(len(x) - b)]
        assert every.attribute_names(i) == expected
