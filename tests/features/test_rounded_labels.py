"""Labels of many short sentences in columns: searched in single precision, and yet those of double precision.

A sentence alone is searched in double precision, and so are all of a block where one is longer than 128 tokens: what
they get is what the same sentences must get among others.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features import run_models
from trelliswork import _core
from trelliswork.features.templates import Templates

EXTRACTOR = Templates("word[-1..1]\nngram(word[-1..1], 2)\npos[-1..1]\nngram(pos[-1..1], 2)\n").extractor()
ONE_WORD = Templates("word[0]\n").extractor()
TAGS = "NVPX"
# Weights whose sums single precision can tell apart; cannot, though they are different; mostly ties; overflows.
WEIGHTS = {
    "any": lambda rng, n: rng.normal(size=n),
    "lost when rounded": lambda rng, n: rng.choice([2.0**24, -(2.0**24), 1.0, -1.0, 0.5], n),
    "close": lambda rng, n: 100.0 + rng.choice([0.0, 2.0**-17, 2.0**-16], n),
    "ties": lambda rng, n: rng.choice([0.0, 1.0], n),
    "all the same": lambda rng, n: np.zeros(n),
    "too large": lambda rng, n: rng.choice([1e38, -1e38, 3e38, 1.0], n),
    "tiny": lambda rng, n: rng.choice([1e-44, 3e-44, -1e-40], n),
}


def source_of(sentences, extractor=EXTRACTOR):
    text = "\n\n".join("\n".join(f"w{w} {TAGS[t]} x" for w, t in sentence) for sentence in sentences)
    return _core.ColumnSource(_core.parse_columns(text.encode()), extractor)


def sentences_of(rng, n, longest):
    return [[(rng.integers(8), rng.integers(3)) for _ in range(rng.integers(1, longest + 1))] for _ in range(n)]


def model_of(sentences, n_labels, weights, rng, **more):
    keys = np.unique(source_of(sentences).attribute_arrays(0, len(sentences))[1])
    counts = rng.integers(0, n_labels + 1, len(keys))
    table, slots = _core.key_table(keys)
    tensors = {
        "channel.token.keys": table,
        "channel.token.slots": slots,
        "channel.token.starts": np.cumsum([0, *counts]).astype(np.uint32),
        "channel.token.codes": np.concatenate([rng.permutation(n_labels)[:n] for n in counts]).astype(np.uint8),
        "channel.token.weights": weights(rng, counts.sum()).astype(np.float32),
        "channel.transitions.weights": weights(rng, n_labels**2).astype(np.float32),
    }
    return _core.Model(tensors | more, n_labels)


def alone(model, sentences, extractor=EXTRACTOR):
    return np.concatenate([model.argmax(source_of([sentence], extractor)) for sentence in sentences])


@pytest.mark.parametrize("kind", WEIGHTS)
@given(st.sampled_from([1, 2, 5, 9, 22, 33, 47]), st.integers(4, 11), st.integers(0, 2**32))
def test_labels_are_those_of_double_precision(kind, n_labels, n_sentences, seed):
    rng = np.random.default_rng(seed)
    sentences = sentences_of(rng, n_sentences, 9)
    model = model_of(sentences, n_labels, WEIGHTS[kind], rng)
    np.testing.assert_array_equal(model.argmax(source_of(sentences)), alone(model, sentences))


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("longest", [60, 128, 129])
def test_long_sentences_too(kind, longest):
    rng = np.random.default_rng(longest)
    ends = [[(rng.integers(8), rng.integers(3)) for _ in range(longest)] for _ in range(6)]
    sentences = [*ends, *sentences_of(rng, 60, longest), *sentences_of(rng, 40, 5)]
    model = model_of(sentences, 22, WEIGHTS[kind], rng)
    expected = alone(model, sentences)
    for n_jobs in (1, 3):
        np.testing.assert_array_equal(model.argmax(source_of(sentences), n_jobs), expected)


def test_sentences_that_are_not_sure_among_many_that_are():
    """Words without weights are ties: where there are many of them, single precision is given up for some blocks."""
    rng = np.random.default_rng(5)
    known = sentences_of(rng, 300, 20)
    model = model_of(known, 22, WEIGHTS["any"], rng)
    unknown = [[(9, 3) for _ in token] for token in sentences_of(rng, 300, 20)]
    mixed = [sentence for pair in zip(known, unknown, strict=True) for sentence in pair]
    for sentences in (unknown + known * 4, known + unknown + known, mixed):
        np.testing.assert_array_equal(model.argmax(source_of(sentences)), alone(model, sentences))


@pytest.mark.parametrize("name", run_models.TEMPLATES)
@pytest.mark.parametrize("in_double", [False, True])
def test_rows_that_are_rounded_sums(name, in_double):
    """Several templates see the same cells, or weights have double precision."""
    rng = np.random.default_rng(3)
    extractor = Templates(run_models.TEMPLATES[name]).extractor()
    for n_labels in (3, 22, 40):
        sentences = sentences_of(rng, 60, 12)
        source = source_of(sentences, extractor)
        tensors = run_models.tensors_of(run_models.weights_for(source, n_labels, rng), n_labels, rng)
        if in_double:
            tensors["channel.token.weights"] = rng.choice(
                [1.0, 1.0 + 1e-9, 1.0 - 1e-9], len(tensors["channel.token.weights"])
            )
        model = _core.Model(tensors, n_labels)
        found = model.argmax(source)
        np.testing.assert_array_equal(found, alone(model, sentences, extractor))


def test_an_attribute_that_lists_a_label_twice():
    """Its row is a sum, 1, that single precision would take for 0."""
    sentences = [[(0, 0)]] * 5
    key = int(source_of(sentences[:1], ONE_WORD).attribute_arrays(0, 1)[1][0])
    table, slots = _core.key_table(np.array([key], dtype=np.uint64))
    tensors = {
        "channel.token.keys": table,
        "channel.token.slots": slots,
        "channel.token.starts": np.array([0, 4], dtype=np.uint32),
        "channel.token.codes": np.array([0, 0, 0, 1], dtype=np.uint8),
        "channel.token.weights": np.array([1e8, 1.0, -1e8, 0.5], dtype=np.float32),
        "channel.transitions.weights": np.zeros(4, dtype=np.float32),
    }
    model = _core.Model(tensors, 2)
    assert model.argmax(source_of(sentences, ONE_WORD)).tolist() == [0] * 5
    assert alone(model, sentences, ONE_WORD).tolist() == [0] * 5
    np.testing.assert_array_equal(model.scores(source_of(sentences, ONE_WORD))[0], [[1.0, 0.5]] * 5)


def test_such_an_attribute_changes_no_bit_of_what_comes_later():
    """Rows of words, sums of two attributes each, have double precision; those of tags have it from then on."""
    rng = np.random.default_rng(2)
    extractor = Templates("word[-1..1]\nlower(word[-1..1])\npos[-2..2]\n").extractor()
    source, other = source_of(sentences_of(rng, 30, 12), extractor), source_of([[(0, 3)] * 3], extractor)
    rows = run_models.weights_for(source, 5, rng)
    plain = run_models.tensors_of(rows, 5, rng)
    n_weights = len(plain["channel.token.weights"])
    plain["channel.token.weights"] *= 2.0 ** rng.integers(
        -30, 30, n_weights
    )  # sums in double precision are rounded, too
    key = min({*run_models.attributes_of(other)[0]} - {*itertools.chain(*run_models.attributes_of(source))})
    table, slots = _core.key_table(np.array([*rows, key], dtype=np.uint64))
    twice = plain | {"channel.token.keys": table, "channel.token.slots": slots}
    for name, more in {"starts": [n_weights + 3], "codes": [0, 0, 0], "weights": [1.0, 2.0**-30, 0.25]}.items():
        tensor = plain[f"channel.token.{name}"]
        twice[f"channel.token.{name}"] = np.append(tensor, np.array(more, dtype=tensor.dtype))
    model, fresh, without = (_core.Model(tensors, 5) for tensors in (twice, twice, plain))
    before = model.scores(source)[0]
    assert not np.array_equal(model.scores(other)[0], without.scores(other)[0])
    np.testing.assert_array_equal(model.scores(source)[0], before)
    np.testing.assert_array_equal(fresh.scores(source)[0], before)


def test_what_does_not_fit_into_memory_is_forgotten():
    """120,000 words of 22 labels take more than 32 MB."""
    rng = np.random.default_rng(1)
    sentences = [[(rng.integers(120_000), rng.integers(3)) for _ in range(20)] for _ in range(12_000)]
    model = model_of(sentences[:500], 22, WEIGHTS["any"], rng)
    first = model.argmax(source_of(sentences[:500]))
    everything = model.argmax(source_of(sentences))
    np.testing.assert_array_equal(everything[: len(first)], first)
    np.testing.assert_array_equal(model.argmax(source_of(sentences)), everything)
    np.testing.assert_array_equal(alone(model, sentences[-200:]), everything[-4000:])


def one_by_one(n_labels, rows_of_columns, transitions, sentences, **more):
    """Check a model whose tokens see the columns of their own line alone, each value with a row of its own."""
    extractor = Templates("".join(f"U{i}:%x[0,{i}]\n" for i in range(len(rows_of_columns)))).extractor()
    starts, keys, _ = source_of(sentences, extractor).attribute_arrays(0, len(sentences))
    rows = {}
    for i, column in enumerate(rows_of_columns):
        for key in np.unique(keys[i :: len(rows_of_columns)]):
            rows[key] = column(n_labels)
    assert len(keys) == len(rows_of_columns) * (len(starts) - 1)
    table, slots = _core.key_table(np.array(list(rows), dtype=np.uint64))
    tensors = {
        "channel.token.keys": table,
        "channel.token.slots": slots,
        "channel.token.starts": np.arange(0, (len(rows) + 1) * n_labels, n_labels, dtype=np.uint32),
        "channel.token.codes": np.tile(np.arange(n_labels, dtype=np.uint8), len(rows)),
        "channel.token.weights": np.concatenate(list(rows.values())).astype(np.float32),
        "channel.transitions.weights": transitions.astype(np.float32),
    }
    model = _core.Model(tensors | more, n_labels)
    found = model.argmax(source_of(sentences, extractor))
    np.testing.assert_array_equal(found, alone(model, sentences, extractor))


def test_what_a_sum_of_rows_loses_is_not_taken_for_nothing():
    """Local scores and transitions are small; what they are sums of is not, and swallows what labels differ in."""
    rng = np.random.default_rng(0)
    columns = [
        lambda n: np.full(n, 2.0**24),
        lambda n: rng.choice([0.0, 0.25, 0.5], n),
        lambda n: np.full(n, -(2.0**24)),
    ]
    for _ in range(20):
        one_by_one(5, columns, 0.1 * rng.normal(size=25), sentences_of(rng, 20, 6))


def test_what_long_sums_lose_is_not_taken_for_nothing():
    """Local scores are exact; at the end of a sentence, sums of them are 16 apart. Labels never change, so that errors
    add up in each of them."""
    rng = np.random.default_rng(0)
    stay = np.eye(9, dtype=np.uint8).ravel()
    for _ in range(20):
        sentences = [[(rng.integers(8), 0) for _ in range(128)] for _ in range(8)]
        rows = [lambda n: 2.0**21 + rng.integers(0, 40, n)]
        one_by_one(9, rows, np.zeros(81), sentences, **{"allowed.transitions": stay})


def best_of_all(unary, transitions):
    """The best labelling among all of them; of equals the smallest read from its end."""
    n, n_labels = unary.shape

    def score(path):
        # Whole numbers and halves: exact, in whatever order they are added up.
        local = sum(unary[t, y] for t, y in enumerate(path))
        return local + sum(transitions[a, b] for a, b in itertools.pairwise(path))

    return max(itertools.product(range(n_labels), repeat=n), key=lambda path: (score(path), [-y for y in path[::-1]]))


@pytest.mark.parametrize("kind", ["lost when rounded", "ties", "all the same"])
def test_labels_are_the_best_of_all(kind):
    rng = np.random.default_rng(7)
    sentences = sentences_of(rng, 40, 5)
    model = model_of(sentences, 3, WEIGHTS[kind], rng)
    source = source_of(sentences)
    unary, ends = model.scores(source)[0], np.cumsum([len(sentence) for sentence in sentences])
    labels = np.split(model.argmax(source), ends[:-1])
    for rows, found in zip(np.split(unary, ends[:-1]), labels, strict=True):
        assert tuple(found) == best_of_all(rows, np.asarray(model.transitions))


def test_the_first_sentence_without_any_labelling_is_named():
    """No label may follow another: only sentences of one token have a labelling."""
    rng = np.random.default_rng(3)
    sentences = [[(0, 0)], [(1, 1)], [(2, 2)], [(1, 2), (3, 0)], [(0, 1)], [(1, 1), (2, 2)]]
    forbidden = {"allowed.transitions": np.zeros(9, dtype=np.uint8)}
    model = model_of(sentences, 3, WEIGHTS["any"], rng, **forbidden)
    with pytest.raises(ValueError, match="sequence 3: the constraints of the model forbid every labelling"):
        model.argmax(source_of(sentences))
    kept = [sentence for sentence in sentences if len(sentence) == 1]
    np.testing.assert_array_equal(model.argmax(source_of(kept)), alone(model, kept))
