"""Smaller models: what is dropped is what was asked for, and the rest scores as before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.models import make_tensors, random_weights, slow_scores, source
from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.models import compare, dumps, loads, prune, quantize, sizes


def a_model(seed, n_labels=4, n_attributes=30):
    rng = np.random.default_rng(seed)
    return random_weights(rng, n_attributes, n_labels), rng.normal(size=(n_labels, n_labels)).astype(np.float32)


def tokens(weights):
    return [[[name] for name in weights]]


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.5, 1.0, 100.0]))
def test_pruned_models_score_without_the_small_weights(seed, threshold):
    weights, transitions = a_model(seed)
    smaller = prune(make_tensors(weights, transitions), threshold)
    left = {name: {y: w for y, w in row.items() if abs(w) > threshold} for name, row in weights.items()}
    model = _core.Model(smaller, 4)
    np.testing.assert_array_equal(model.scores(source(tokens(weights)))[0], slow_scores(left, 4, tokens(weights)))
    assert [model.name(i) for i in range(model.n_attributes)] == [name for name, row in left.items() if row]
    assert model.n_weights == sum(map(len, left.values()))


def test_pruning_zeros_changes_no_answer():
    weights, transitions = a_model(1)
    weights["a0"] = {0: 0.0, 1: 0.0}
    weights["a1"] = {0: 1.0, 1: 0.0}
    tensors = make_tensors(weights, transitions)
    smaller = prune(tensors)
    assert sum(sizes(smaller).values()) < sum(sizes(tensors).values())
    given_source = source(tokens(weights))
    np.testing.assert_array_equal(
        _core.Model(smaller, 4).scores(given_source)[0], _core.Model(tensors, 4).scores(given_source)[0]
    )


def test_pair_attributes_are_pruned_and_rounded_too():
    weights, transitions = a_model(2)
    pairs = random_weights(np.random.default_rng(3), 20, 16, "p")
    tensors = make_tensors(weights, transitions) | make_tensors(pairs, transitions, channel="pair", codes=np.uint16)
    smaller = quantize(prune(tensors, 0.5), "float16")
    left = {n: {y: np.float16(w) for y, w in row.items() if abs(w) > 0.5} for n, row in pairs.items()}
    names = list(pairs)
    given_source = source([[[]] * len(names)], [[[name] for name in names]])
    moves = _core.Model(smaller, 4).scores(given_source)[1][1:]
    expected = slow_scores(left, 16, [[[name] for name in names[1:]]]).reshape(-1, 4, 4) + transitions
    np.testing.assert_allclose(moves, expected, rtol=1e-12)


def test_hashed_models_keep_their_rows():
    tensors = make_tensors({i: {0: float(i)} for i in range(4)}, np.zeros((1, 1)), keys=range(4), names=False)
    del tensors["channel.token.keys"], tensors["channel.token.slots"]
    smaller = prune(tensors, 1.0)
    assert _core.Model(smaller, 1, 2).n_attributes == 4
    assert _core.Model(smaller, 1, 2).n_weights == 2


def test_names_can_be_dropped():
    weights, transitions = a_model(4)
    smaller = prune(make_tensors(weights, transitions), drop_names=True)
    assert not [name for name in smaller if "names" in name]
    assert _core.Model(smaller, 4).name(0) is None


@given(st.integers(0, 2**32))
def test_int8_is_off_by_half_a_step_at_most(seed):
    weights, transitions = a_model(seed)
    tensors = make_tensors(weights, transitions)
    rounded = quantize(tensors, "int8")
    given_source = source(tokens(weights))
    error = _core.Model(rounded, 4).scores(given_source)[0] - _core.Model(tensors, 4).scores(given_source)[0]
    labels, values = tensors["channel.token.codes"], np.abs(tensors["channel.token.weights"])
    largest = np.array([values[labels == y].max(initial=0.0) for y in range(4)])
    assert (np.abs(error) <= largest / 254 * 1.0001).all()


def test_rounding_twice_is_rounding_once():
    tensors = make_tensors(*a_model(5))
    for precision in ("float16", "int8"):
        once = quantize(tensors, precision)
        twice = quantize(once, precision)
        assert dumps(once, {}) == dumps(twice, {})
        back = quantize(once, "float32")
        assert back["channel.token.weights"].dtype == np.float32
        assert "channel.token.scales" not in back


def test_a_file_can_be_made_smaller():
    tensors, _ = loads(dumps(make_tensors(*a_model(6)), {}))
    full = len(dumps(tensors, {}))
    halves = len(dumps(quantize(tensors, "float16"), {}))
    bytes_ = len(dumps(quantize(prune(tensors, 0.3, drop_names=True), "int8"), {}))
    assert full > halves > bytes_


def test_what_cannot_be_rounded_is_refused():
    tensors = make_tensors({"a": {0: 1e6}}, np.zeros((1, 1)))
    with pytest.raises(InvalidInput, match="float16"):
        quantize(tensors, "float16")
    with pytest.raises(InvalidInput, match="precision"):
        quantize(tensors, "int4")
    for threshold in (-1.0, float("nan")):
        with pytest.raises(InvalidInput, match="threshold"):
            prune(tensors, threshold)


def test_an_empty_model_can_be_made_smaller():
    tensors = make_tensors({}, np.zeros((2, 2)))
    for precision in ("float16", "int8"):
        assert _core.Model(quantize(prune(tensors), precision), 2).n_weights == 0


def test_compare_gives_every_form_once_the_largest_first():
    rows = compare(make_tensors(*a_model(7)), lambda tensors: 1.0, thresholds=[0.0, 0.5])
    assert len({row.form for row in rows}) == 6
    assert [row.size for row in rows] == sorted((row.size for row in rows), reverse=True)
    assert {row.score for row in rows} == {1.0}
