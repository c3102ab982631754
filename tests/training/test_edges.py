"""Odd sizes and bad input."""

import numpy as np
import pytest

from training.problems import examples, expected_loss, oracle, random_problem, random_weights, source
from trelliswork import _core


def loss(made, weights, precise=True, n_jobs=1):
    gradient = np.full(made.n_weights, np.nan)
    return made.loss(weights, gradient, n_jobs, precise), gradient


def chain_of(length, n_labels=3, n_keys=5, seed=0):
    """One sequence with one attribute a token."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, size=n_keys, dtype=np.uint64)[rng.integers(n_keys, size=length)]
    made = _core.Examples()
    made.add(
        _core.KeySource(np.array([length]), np.arange(length + 1), keys),
        rng.integers(n_labels, size=length).astype(np.int32),
    )
    return made


@pytest.mark.parametrize("general", [False, True])
def test_a_sequence_of_a_hundred_thousand_tokens(general):
    made = _core.ChainOracle(chain_of(100_000), 3, np.arange(3, dtype=np.int32), use="general" if general else "fast")
    weights = np.random.default_rng(0).normal(size=made.n_weights)
    value, gradient = loss(made, weights)
    step = 1e-6 * gradient / np.linalg.norm(gradient)
    up, down = loss(made, weights + step)[0], loss(made, weights - step)[0]
    np.testing.assert_allclose((up - down) / 2e-6, np.linalg.norm(gradient), rtol=1e-4)
    single, single_gradient = loss(made, weights, precise=False)
    np.testing.assert_allclose(single, value, rtol=1e-6)
    np.testing.assert_allclose(single_gradient, gradient, rtol=1e-3, atol=1e-1)


def test_long_sequences_beside_short_ones():
    rng = np.random.default_rng(3)
    lengths = np.array([1, 5000, 2, 3, 2500, 1, 0, 7])
    n, made = lengths.sum(), {}
    codes, keys = rng.integers(4, size=n).astype(np.int32), rng.integers(0, 2**64, size=9, dtype=np.uint64)
    for general in (False, True):
        several = _core.Examples()
        several.add(_core.KeySource(lengths, np.arange(n + 1), keys[codes + np.arange(n) % 5]), codes)
        made[general] = _core.ChainOracle(
            several, 4, np.arange(4, dtype=np.int32), use="general" if general else "fast"
        )
    weights = rng.normal(size=made[True].n_weights)
    expected, gradient = loss(made[True], weights)
    np.testing.assert_allclose(loss(made[False], weights)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(loss(made[False], weights)[1], gradient, rtol=1e-9, atol=1e-9)


def of_lengths(lengths, n_labels, general):
    """Sequences of these lengths, an attribute a token, weights for all labels."""
    rng = np.random.default_rng(0)
    codes = rng.integers(n_labels, size=sum(lengths)).astype(np.int32)
    keys = rng.integers(0, 2**64, size=40, dtype=np.uint64)[rng.integers(40, size=codes.size)]
    made = _core.Examples()
    made.add(_core.KeySource(np.array(lengths), np.arange(codes.size + 1), keys), codes)
    order = np.arange(n_labels, dtype=np.int32)
    return _core.ChainOracle(made, n_labels, order, combinations="all", use="general" if general else "fast")


@pytest.mark.parametrize("size", [0.3, 8.0, 20.0, 60.0])  # up to weights for which single precision does not suffice
@pytest.mark.parametrize("n_labels", [3, 9, 22, 30, 40])  # rows of one to three packs, and halves
@pytest.mark.parametrize("n_sequences", [1, 4, 7, 8, 9, 19])  # four and eight advance together
def test_sequences_of_any_number_and_length_side_by_side(n_sequences, n_labels, size):
    lengths = np.random.default_rng(n_sequences).integers(1, 25, size=n_sequences).tolist()
    made = {general: of_lengths(lengths, n_labels, general) for general in (False, True)}
    weights = np.random.default_rng(1).normal(scale=size, size=made[True].n_weights)
    expected, gradient = loss(made[True], weights)
    for precise, error in ((False, 1e-6 * (1 + size)), (True, 1e-9)):
        value, found = loss(made[False], weights, precise)
        np.testing.assert_allclose(value, expected, rtol=error)
        np.testing.assert_allclose(found, gradient, rtol=10 * error, atol=10 * error)


def test_nothing_at_all():
    nothing = _core.Examples()
    nothing.add(
        _core.KeySource(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.uint64)), np.zeros(0, np.int32)
    )
    made = _core.ChainOracle(nothing, 2, np.arange(2, dtype=np.int32))
    assert made.n_weights == 0
    assert loss(made, np.zeros(0))[0] == 0.0
    assert made.export(np.zeros(0))["channel.token.starts"].tolist() == [0]


def test_only_empty_sequences():
    made = _core.Examples()
    made.add(
        _core.KeySource(np.zeros(3, np.int64), np.zeros(1, np.int64), np.zeros(0, np.uint64)), np.zeros(0, np.int32)
    )
    empty = _core.ChainOracle(made, 2, np.arange(2, dtype=np.int32))
    assert empty.n_examples == 3
    assert loss(empty, np.zeros(empty.n_weights))[0] == 0.0


def test_a_label_that_is_never_seen_still_competes():
    problem = random_problem(0, n_labels=2, n_sequences=3)
    problem.n_labels, problem.order = 4, np.arange(4, dtype=np.int32)
    weights = random_weights(problem, 0)
    made = oracle(problem)
    from training.problems import as_tensors

    value, _ = loss(made, made.weights_from(as_tensors(problem, weights)))
    np.testing.assert_allclose(value, expected_loss(problem, weights), rtol=1e-11)


def test_sources_may_be_added_one_after_the_other():
    both, apart = random_problem(6, n_sequences=6), random_problem(6, n_sequences=6)
    whole = oracle(both)
    made, code = _core.Examples(), np.argsort(apart.order)
    for first, last in ((0, 2), (2, 2), (2, 6)):
        piece = random_problem(6, n_sequences=6)
        piece.label, piece.pair = apart.label[first:last], apart.pair[first:last]
        codes = [code[label] for sequence in apart.allowed[first:last] for labels in sequence for label in labels]
        made.add(source(piece), np.array(codes, np.int32))
    joined = _core.ChainOracle(made, apart.n_labels, apart.order)
    weights = np.random.default_rng(0).normal(size=whole.n_weights)
    assert loss(joined, weights)[0] == loss(whole, weights)[0]


def test_partial_labels_may_follow_full_ones():
    problem = random_problem(6, n_sequences=4)
    made, flat = _core.Examples(), [sorted(labels) for sequence in problem.allowed for labels in sequence]
    codes = np.array([np.argsort(problem.order)[label] for labels in flat for label in labels], np.int32)
    made.add(source(problem), codes)
    made.add(source(problem), np.zeros(0, np.int32), np.zeros(len(flat) + 1, np.int64))  # the same again, unlabelled
    twice = _core.ChainOracle(made, problem.n_labels, problem.order)
    once = oracle(problem)
    weights = np.random.default_rng(0).normal(size=once.n_weights)
    assert not twice.fast
    np.testing.assert_allclose(loss(twice, weights)[0], loss(once, weights)[0], rtol=1e-12)


def test_unlabelled_tokens_alone_give_no_loss():
    problem = random_problem(6, n_sequences=4, combinations="all")
    problem.allowed = [[set() for _ in sequence] for sequence in problem.allowed]
    made = oracle(problem)
    value, gradient = loss(made, np.random.default_rng(0).normal(size=made.n_weights))
    np.testing.assert_allclose(value, 0.0, atol=1e-12)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


# Bad input.


def small_source():
    return _core.KeySource(np.array([2, 1]), np.array([0, 1, 1, 2]), np.array([5, 6], np.uint64))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(codes=np.zeros(2, np.int32)), "2 labels for 3 tokens"),
        (dict(codes=np.array([0, -1, 0], np.int32)), r"codes\[1\] is negative"),
        (dict(codes=np.zeros(3, np.int32), label_starts=np.array([0, 1, 3])), "label_starts"),
        (dict(codes=np.zeros(3, np.int32), label_starts=np.array([0, 2, 1, 3])), "must not decrease"),
        (dict(codes=np.zeros(3, np.int32), label_starts=np.zeros(0, np.int64)), "label_starts"),
        (dict(codes=np.zeros(3, np.int32), sequence_weight=np.ones(3)), "3 entries for 2 sequences"),
        (dict(codes=np.zeros(3, np.int32), sequence_weight=np.array([1.0, np.nan])), "finite and not negative"),
        (dict(codes=np.zeros(3, np.int32), token_weight=np.array([1.0, -1.0, 1.0])), r"token_weight\[1\]"),
        (dict(codes=np.zeros(3, np.int32), token_weight=np.ones(2)), "2 entries for 3 tokens"),
    ],
)
def test_labels_that_do_not_fit_the_source_are_refused(arguments, message):
    made = _core.Examples()
    with pytest.raises(ValueError, match=message):
        made.add(small_source(), **arguments)
    made.add(small_source(), np.zeros(3, np.int32))  # nothing was added before
    assert made.n_tokens == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(order=np.array([0], np.int32)), "order has 1 entries but code 1 was used"),
        (dict(order=np.array([0, 2], np.int32)), "out of range"),
        (dict(n_labels=0), "n_labels"),
        (dict(combinations="some"), "'seen', 'transitions', 'states', 'all' or 'grown'"),
        (dict(allowed_transitions=np.ones(3, np.uint8)), "allowed_transitions"),
        (dict(allowed_transitions=np.zeros((2, 2), np.uint8)), "example 0 break the constraints at its token 1"),
        (dict(cost=np.ones((2, 2))), "gold label itself"),
        (dict(cost=np.full((2, 2), np.inf)), "finite"),
        (dict(cost=np.zeros((1, 2))), "shape"),
    ],
)
def test_settings_that_make_no_sense_are_refused(arguments, message):
    made = _core.Examples()
    made.add(small_source(), np.array([0, 1, 0], np.int32))
    with pytest.raises(ValueError, match=message):
        _core.ChainOracle(made, **{"n_labels": 2, "order": np.arange(2, dtype=np.int32), **arguments})


def test_hash_bits_are_limited():
    with pytest.raises(ValueError, match="at most 30"):
        _core.Examples(31)


def test_weights_of_the_wrong_size_are_refused():
    made = oracle(random_problem(1))
    with pytest.raises(ValueError, match="wrong size"):
        made.export(np.zeros(made.n_weights + 1))
    with pytest.raises(ValueError, match="wrong size"):
        made.dev(source(random_problem(1))).argmax(np.zeros(made.n_weights + 1))


def test_a_negative_cost_scale_is_refused():
    made = oracle(random_problem(1))
    made.scale = -1.0
    with pytest.raises(ValueError, match="not negative"):
        made.loss(np.zeros(made.n_weights), np.empty(made.n_weights))


def test_memory_is_reported():
    assert examples(random_problem(1)).memory_bytes > 0
    made = oracle(random_problem(1))
    before = made.memory_bytes
    loss(made, np.zeros(made.n_weights), precise=False)
    assert made.memory_bytes > before > 0
