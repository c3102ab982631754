"""From weights to the tensors of a model and back, and tagging while training goes on."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.problems import (
    as_tensors,
    examples,
    features,
    key_of,
    oracle,
    problems,
    random_problem,
    random_weights,
    score,
    source,
)
from trelliswork import _core


def as_dictionary(problem, tensors):
    """The weights that tensors hold, read as a model would: keys looked up, runs of labels and weights."""
    n, found = problem.n_labels, {}
    for kind, prefix in (("label", "channel.token."), ("pair", "channel.pair.")):
        if prefix + "starts" not in tensors:
            continue
        starts = tensors[prefix + "starts"]
        if problem.hash_bits:
            numbers = {key: key for key in range(2**problem.hash_bits)}
        else:
            keys, slots = tensors[prefix + "keys"], tensors[prefix + "slots"]
            numbers = {int(k): int(s) for k, s in zip(keys, slots, strict=True) if s != 0xFFFFFFFF}
        for key, number in numbers.items():
            for i in range(starts[number], starts[number + 1]):
                label = int(tensors[prefix + "codes"][i])
                feature = (kind, key, label) if kind == "label" else (kind, key, label // n, label % n)
                found[feature] = float(tensors[prefix + "weights"][i])
    moves = tensors["channel.transitions.weights"].reshape(n, n)
    found |= {("move", a, b): float(moves[a, b]) for a, b in itertools.product(range(n), repeat=2)}
    return found


@given(problems(), st.integers(0, 2**31))
def test_exported_weights_are_those_of_every_feature(problem, seed):
    made = oracle(problem)
    weights = random_weights(problem, seed)
    found = as_dictionary(problem, made.export(made.weights_from(as_tensors(problem, weights))))
    assert set(features(problem)) <= set(found)
    assert {f for f in found if f[0] != "move"} == {f for f in features(problem) if f[0] != "move"}
    # Members of a unit come out with equal weights, so their sum over a token is what must agree.
    for s, sequence in enumerate(problem.label):
        for path in itertools.islice(itertools.product(range(problem.n_labels), repeat=len(sequence)), 20):
            expected, got = score(problem, s, path, weights), score(problem, s, path, found)
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)


@given(problems(), st.integers(0, 2**31))
def test_weights_come_back_from_their_tensors(problem, seed):
    made = oracle(problem)
    weights = np.random.default_rng(seed).normal(size=made.n_weights)
    np.testing.assert_allclose(made.weights_from(made.export(weights)), weights, rtol=1e-6)


def test_members_of_a_unit_have_equal_weights_and_the_same_norm():
    problem = random_problem(8, n_sequences=9, vocabulary=30)
    made = oracle(problem)
    weights = np.random.default_rng(0).normal(size=made.n_weights)
    tensors = made.export(weights)
    assert made.n_parameters > made.n_weights
    exported = np.sum(tensors["channel.token.weights"].astype(float) ** 2) + np.sum(
        tensors["channel.transitions.weights"].astype(float) ** 2
    )
    np.testing.assert_allclose(exported, np.sum(weights**2), rtol=1e-6)
    absolute = np.abs(tensors["channel.token.weights"]).sum() + np.abs(tensors["channel.transitions.weights"]).sum()
    np.testing.assert_allclose(absolute, np.sum(made.l1_factors * np.abs(weights)), rtol=1e-5)


def test_names_are_those_of_the_attributes():
    problem = random_problem(8, ["pairs"], n_sequences=9)
    tensors = oracle(problem).export(np.zeros(oracle(problem).n_weights))
    for prefix in ("channel.token.", "channel.pair."):
        text = bytes(tensors[prefix + "names.text"])
        ends = [0, *tensors[prefix + "names.ends"].tolist()]
        read = [text[a:b].decode() for a, b in itertools.pairwise(ends)]
        keys, slots = tensors[prefix + "keys"], tensors[prefix + "slots"]
        expected = {int(slot): f"{int(key):016x}" for key, slot in zip(keys, slots, strict=True) if slot != 0xFFFFFFFF}
        assert read == [expected[i] for i in range(len(expected))]


def test_the_types_of_tensors_follow_the_number_of_labels():
    small, large = random_problem(1, ["pairs"], n_labels=3), random_problem(1, ["pairs"], n_labels=300)
    for problem, label_type, pair_type in ((small, np.uint8, np.uint16), (large, np.uint16, np.uint32)):
        made = oracle(problem)
        tensors = made.export(np.zeros(made.n_weights))
        assert tensors["channel.token.codes"].dtype == label_type
        assert tensors["channel.pair.codes"].dtype == pair_type
        assert tensors["channel.token.weights"].dtype == tensors["channel.transitions.weights"].dtype == np.float32


def test_constraints_are_exported_as_given():
    problem = random_problem(2, ["constraints"])
    made = oracle(problem)
    tensors = made.export(np.zeros(made.n_weights))
    moves, start, end = problem.constraints
    assert np.array_equal(tensors["allowed.transitions"], moves.ravel())
    assert np.array_equal(tensors["allowed.start"], start)
    assert np.array_equal(tensors["allowed.end"], end)


def test_unknown_attributes_start_from_zero():
    earlier, later = random_problem(1, n_sequences=8), random_problem(2, n_sequences=8)
    made = oracle(later)
    from_earlier = made.weights_from(oracle(earlier).export(np.ones(oracle(earlier).n_weights)))
    moves = len([f for f in features(later) if f[0] == "move"])
    assert np.all(from_earlier[:-moves] == 0)  # other keys altogether
    assert np.any(from_earlier[-moves:] != 0)


@pytest.mark.parametrize(
    "damage",
    [
        {"channel.token.starts": np.array([0, 5], np.uint32)},
        {"channel.token.slots": np.zeros(4, np.uint32)},
        {"channel.token.weights": np.array([np.nan], np.float32)},
        {"channel.token.weights": np.zeros(3, np.float64)},
        {"channel.transitions.weights": np.zeros(1, np.float32)},
    ],
)
def test_tensors_that_do_not_fit_together_are_refused(damage):
    made = oracle(random_problem(1))
    with pytest.raises(ValueError, match=r"tensor|number of labels"):
        made.weights_from({**made.export(np.zeros(made.n_weights)), **damage})


# The development set.


@given(problems(), problems(), st.integers(0, 2**31))
def test_dev_sequences_get_their_best_labelling(problem, other, seed):
    weights = random_weights(problem, seed)
    tensors = as_tensors(problem, weights)
    made = oracle(problem, earlier=tensors)  # strangers may have a part of the attributes that occur together here
    other.n_labels, other.hash_bits, other.constraints = problem.n_labels, problem.hash_bits, problem.constraints
    other.label = [*other.label, *problem.label[::-1]]  # strangers, and some it knows
    other.pair = [*other.pair, *problem.pair[::-1]]
    other.allowed = [[set() for _ in sequence] for sequence in other.label]
    found = made.dev(source(other), 2).argmax(made.weights_from(tensors), 2).tolist()
    begin = 0
    for s, sequence in enumerate(other.label):
        labels = tuple(found[begin : begin + len(sequence)])
        begin += len(sequence)
        scores = [
            score(other, s, path, weights) for path in itertools.product(range(other.n_labels), repeat=len(sequence))
        ]
        if max(scores) > -np.inf:
            np.testing.assert_allclose(score(other, s, labels, weights), max(scores), rtol=1e-5, atol=1e-5)
    assert begin == len(found)


def test_part_of_a_unit_counts_for_its_part():
    problem = random_problem(1, n_labels=2, n_sequences=1)
    problem.label, problem.pair, problem.allowed = [[[(2**63, 1.0), (1, 1.0)]]], [[[]]], [[{0}]]
    made = oracle(problem)
    assert made.n_weights == 1
    assert made.n_parameters == 2
    weights = made.weights_from(as_tensors(problem, {("label", 2**63, 0): 3.0, ("label", 1, 0): 3.0}))
    np.testing.assert_allclose(weights, [3 * np.sqrt(2)])
    np.testing.assert_allclose(made.export(weights)["channel.token.weights"], [3.0, 3.0], rtol=1e-6)


def test_examples_are_used_up():
    problem = random_problem(1)
    made = examples(problem)
    _core.ChainOracle(made, problem.n_labels, problem.order)
    with pytest.raises(ValueError, match="already made into an oracle"):
        _core.ChainOracle(made, problem.n_labels, problem.order)
    with pytest.raises(ValueError, match="already made into an oracle"):
        made.add(source(problem), np.zeros(0, np.int32))


def test_hashed_attributes_need_no_table():
    problem = random_problem(1, n_sequences=9)
    problem.hash_bits = 5
    made = oracle(problem)
    tensors = made.export(np.zeros(made.n_weights))
    assert "channel.token.keys" not in tensors
    assert len(tensors["channel.token.starts"]) == 2**5 + 1
    assert key_of(problem, 2**63) == 16
