"""What templates give, token by token: the core against an evaluation in Python that builds every text."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import attributes as reference
from trelliswork import _core
from trelliswork.corpora import TokenTable
from trelliswork.errors import InvalidInput
from trelliswork.features.templates import Templates

WORDS = [
    "a",
    "A",
    "Aix",
    "La",
    "la",
    "Rochelle",
    "x1",
    "3.14",
    "-2",
    "10,000",
    "Éa",
    "éA",
    "USA",
    "İx",
    "ß",
    "日本",
    "",
    "İ",
    "٣",
]
CLASSES = {"brown": "a\tanimal\nla\tarticle\nAix\ttown"}
TOWNS = {"towns": "Aix\nLa Rochelle\tport\nLa\nLa Rochelle la\na a a", "folded": "la rochelle\nAIX"}
OWN = [
    "word[-2..2]",
    "pos[-1..1]",
    "lower(word)[-1..1]",
    "word[-1] & word",
    "word & pos[1] & lower(word)[-1]",
    "ngram(pos[-2..2], 2..4)",
    "prefix(word, 1..3)",
    "suffix(word[1], 2)",
    "prefix(lower(word), 2) & suffix(word, 1)",
    "shape(word)",
    "shape(word, 1..2)[-1]",
    "digits(word)",
    "case(word)[0..1]",
    "characters(word)",
    "length(word)",
    'matches(word, "^[A-Z]")',
    'match(word, "[0-9]+") & pos',
    'class("brown", word)[-1..1]',
    'prefix(class("brown", lower(word)), 3)',
    'gazetteer("towns", word)',
    'gazetteer("towns", word)[-1] & word',
    'gazetteer("folded", lower(word))[-1..1]',
    "begin",
    "begin[-1] & word",
    "end & pos",
    "end[1]",
    "bias",
    "bag(word[-2..2])",
    "pair: word",
    "pair: word & pos[-1]",
    "ngram: pos[-1..0]",
    "ngram: word & number(c2)",
    "both: lower(word[-1])",
    "number(column 2)",
    "number(column 2)[-1] & word",
    "both: number(c2) & number(c2)[1]",
    'replace(word, "[a-z0-9]", "-")[-1..1]',
    'replace(lower(replace(word, "[A-Z]+", "Ax")), "a|^|$", "_")',
    'lower(word)[-1] as "previous:{}:lower"',
    'word & matches(word, "^[A-Z]") & pos[1] as "{}/{}"',
    'matches(word, "[0-9]")[1] & begin as "first of numbers"',
    'gazetteer("towns", word) as "town {}"',
    'both: number(c2) & matches(lower(word), "^a") as "a number"',
    'bias as "always"',
]
CRFPP = [
    "U00:%x[0,0]",
    "U01:%x[-1,0]/%x[0,0]",
    "U:%x[-2,1]",
    "U:%x[2,1]",
    "U05%x[1,0]%x[0,0]",
    "B",
    "B01:%x[-8,0]",
    "U",
    "U%x[8,0]",
]
WAPITI = [
    "u:%x[0,0]",
    "u1:%X[-1,0]/%x[ 1,1]",
    "*:%x[-6,0]",
    "b:%x[5,0]",
    'u:%m[0,0,"^.?.?"]',
    'u:%M[-1,0,"..$"]',
    'u:%t[1,0,"^\\u"]',
    'u:%t[0,0,"\\d"]#x',
    "u:%x[@1,0]",
    "u:%x[@-1,0]%x[@-3,1]",
    "u:%x[*2,0]",
    "b",
]

rows = st.tuples(st.sampled_from(WORDS), st.sampled_from(["NN", "VB", ""]), st.integers(-7, 7).map(str))
sequences = st.lists(st.lists(rows, max_size=6), max_size=4)


def search(op, pattern, text):
    """The patterns above, by Python's own engine; Wapiti's \\u is an ASCII capital there."""
    found = re.search(pattern.replace("\\u", "[A-ZÉİ]"), text)
    return found[0] if found else None


def evaluated(templates, sequence, meets="label"):
    classes = {"brown": dict(line.split("\t") for line in CLASSES["brown"].split("\n"))}
    gazetteers = {
        name: [(line.split("\t")[0].split(), "".join(line.split("\t")[1:])) for line in text.split("\n")]
        for name, text in TOWNS.items()
    }
    return reference.Evaluator(sequence, search, classes, gazetteers).attributes(templates._templates, meets)


def check(templates, X):
    source = _core.ColumnSource(TokenTable.from_lists(X).columns, templates.extractor())
    assert source.channels == ["token", "pair"] + ["ngram"] * ("ngram" in templates.meets)
    for meets, channel in zip(("label", "pair", "ngram"), source.channels, strict=False):
        expected = [token for sequence in X for token in evaluated(templates, sequence, meets)]
        names = [token for i in range(len(X)) for token in source.attribute_names(i, channel)]
        assert names == [[name for name, _, _ in token] for token in expected]
        starts, keys, values = source.attribute_arrays(0, len(X), channel)
        assert starts.tolist() == np.cumsum([0] + [len(token) for token in expected]).tolist()
        assert keys.tolist() == [key for token in expected for _, key, _ in token]
        if any(part.view.kind == "number" for template in templates._templates for part in template.parts):
            assert values.tolist() == [np.float32(value) for token in expected for _, _, value in token]
        else:
            assert values.size == 0


@given(st.lists(st.sampled_from(OWN), min_size=1, max_size=6), sequences)
def test_own_templates_give_what_their_texts_say(lines, X):
    check(Templates("\n".join(lines), resources={**CLASSES, **TOWNS}), X)


@given(st.lists(st.sampled_from(CRFPP), max_size=5), sequences)
def test_templates_of_crfpp_write_its_texts(lines, X):
    check(Templates("\n".join(["U9:%x[0,0]", *lines]), format="crfpp"), X)


@given(st.lists(st.sampled_from(WAPITI), max_size=5), sequences)
def test_templates_of_wapiti_write_its_texts(lines, X):
    check(Templates("\n".join(["u9:%x[0,0]", *lines]), format="wapiti"), X)


@given(sequences, st.data())
def test_any_run_of_sequences_gives_its_part_of_the_whole(X, data):
    templates = Templates("\n".join(OWN), resources={**CLASSES, **TOWNS})
    source = _core.ColumnSource(TokenTable.from_lists(X).columns, templates.extractor())
    first = data.draw(st.integers(0, len(X)))
    last = data.draw(st.integers(first, len(X)))
    starts, keys, values = source.attribute_arrays(0, len(X))
    rows_before = sum(map(len, X[:first]))
    n_rows = sum(map(len, X[first:last]))
    some_starts, some_keys, some_values = source.attribute_arrays(first, last)
    begin, end = starts[rows_before], starts[rows_before + n_rows]
    assert some_starts.tolist() == (starts[rows_before : rows_before + n_rows + 1] - begin).tolist()
    assert some_keys.tolist() == keys[begin:end].tolist()
    assert some_values.tolist() == values[begin:end].tolist()


def test_many_distinct_words_and_long_sequences():
    words = [f"word{i % 70_000}" for i in range(90_000)]
    templates = Templates("lower(word)[-1..1]\nsuffix(word, 2) & word")
    source = _core.ColumnSource(TokenTable.from_lists([words]).columns, templates.extractor())
    starts, keys, _ = source.attribute_arrays(0, 1)
    seeds = [reference.hash_text(template.text) for template in templates._templates]
    assert len(starts) == 90_001
    for t in (1, 40_000, 89_998):
        expected = [
            reference.combine(seed, reference.hash_text(words[t + i]))
            for i, seed in zip((-1, 0, 1), seeds, strict=False)
        ]
        assert keys[starts[t] : starts[t] + 3].tolist() == expected


GOLDEN = [
    "be177ca15f51a35f",
    "42f6f2144a1d8ec5",
    "e552e526cdfea2d4",
    "050b6fd2e70c993f",
    "80ae25c4a7cadbfc",
    "e0742a5e258123ee",
    "3618e3c836cf7316",
    "2f29f1887986ffe1",
    "a5e64bd641bdbf80",
    "417bf7933cfaa932",
]


def test_keys_never_change():
    """They are stored in model files: a change here makes every saved model useless."""
    X = [[("Rain", "NN"), ("fell", "VBD")]]
    templates = Templates("word[-1..1]\nlower(word) & pos[1]\nshape(word, 1)\nsuffix(word, 3)\nbegin")
    source = _core.ColumnSource(TokenTable.from_lists(X).columns, templates.extractor())
    assert [f"{key:016x}" for key in source.attribute_arrays(0, 1)[1].tolist()] == GOLDEN


@given(st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace").decode()))
def test_the_hash_is_the_one_that_is_written_down(text):
    assert _core.value_key(text) == reference.hash_text(text)
    assert _core.combine_keys(5, reference.hash_text(text)) == reference.combine(5, reference.hash_text(text))


@pytest.mark.parametrize("letter", ["a", "é", "語"])
def test_the_key_of_a_word_does_not_depend_on_what_stands_behind(letter):
    templates = Templates("word")
    seed = reference.hash_text(templates._templates[0].text)
    for word in (letter * length for length in range(1, 40)):
        for behind in ("", "\n", " \n\n" + "x" * 40, " " + "x" * 40):
            columns = _core.parse_columns((word + behind).encode())
            keys = _core.ColumnSource(columns, templates.extractor()).attribute_arrays(0, 1)[1]
            assert keys[0] == reference.combine(seed, reference.hash_text(word)), (word, behind)


def test_numbers_that_are_none_are_refused_with_their_place():
    templates = Templates("number(column 1)")
    for cell in ["x", "1e999", "nan", "inf", "1 2", "+-1", "0x10", "--1", "+"]:
        source = _core.ColumnSource(_core.columns_from_lists([[("a", "1"), ("b", cell)]]), templates.extractor())
        with pytest.raises(ValueError, match=r"^X\[0\]\[1\]: expected a number, found .* in column 1"):
            source.attribute_arrays(0, 1)
    columns = _core.parse_columns(b"a 1\n\nb zwei\n", name="some.txt")
    with pytest.raises(ValueError, match=r"^some.txt, line 3: expected a number, found 'zwei'"):
        _core.ColumnSource(columns, templates.extractor()).attribute_arrays(0, 2)


def test_too_few_columns_are_refused():
    with pytest.raises(InvalidInput, match=r"the templates need 3 columns, but the tokens have 1 \(X\[0\]\[0\]\)"):
        Templates("column 2").attributes([["a"]])


def test_no_sequences_and_empty_ones():
    templates = Templates("word[-1..1]\npair: word\nend")
    assert templates.attributes([]) == []
    assert templates.attributes([[], ["a"], []]) == [[], [["word[0]=a", "end"]], []]


def test_the_benchmark_templates_are_those_of_the_tutorial():
    """As bench/common.py of the peers' measurements writes them, sentence ends included."""
    from pathlib import Path

    templates = Templates.load(Path(__file__).parents[2] / "benchmarks" / "templates" / "conll2000.tpl")
    pieces = [((0, o),) for o in (-2, -1, 0, 1, 2)] + [((0, -1), (0, 0)), ((0, 0), (0, 1))]
    pieces += [((1, o),) for o in (-2, -1, 0, 1, 2)] + [((1, o), (1, o + 1)) for o in (-2, -1, 0, 1)]
    pieces += [((1, o), (1, o + 1), (1, o + 2)) for o in (-2, -1, 0)]
    X = [[("Confidence", "NN"), ("in", "IN"), ("the", "DT"), ("pound", "NN")]]
    expected = []
    for t in range(4):
        names = [
            "|".join(f"{('word', 'pos')[c]}[{o}]" for c, o in piece) + "=" + "|".join(X[0][t + o][c] for c, o in piece)
            for piece in pieces
            if all(0 <= t + o < 4 for _, o in piece)
        ]
        expected.append(names + ["begin"] * (t == 0) + ["end"] * (t == 3))
    assert templates.attributes(X) == [expected]
