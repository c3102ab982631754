"""Automata of n-grams: which label sequences they accept, and the n-grams of their arcs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork import _core


def numbers(values):
    return np.array(values, dtype=np.uint32)


def path(ngrams, labels):
    """The arcs of a label sequence, None when there is no way."""
    moves = {(s, k): (i, t) for i, (s, k, t) in enumerate(ngrams.arcs.tolist())}
    state, out = 0, []
    for label in labels:
        if (state, label) not in moves:
            return None
        arc, state = moves[state, label]
        out.append(arc)
    return out if ngrams.final[state] else None


def history(labels, t, order):
    """The labels from t - order to t, -1 before the beginning."""
    return [labels[i] if i >= 0 else -1 for i in range(t - order, t + 1)]


def sequences(K, longest):
    return [y for T in range(longest + 1) for y in itertools.product(range(K), repeat=T)]


@given(st.integers(1, 3), st.integers(0, 3), st.integers(0, 2**31))
def test_all_ngrams_are_those_that_the_rules_leave(K, order, seed):
    rng = np.random.default_rng(seed)
    moves, start, end, full = (
        (rng.random(shape) < 0.8).astype(np.uint8) for shape in [(K, K), K, K, (K,) * (order + 1)]
    )
    ngrams = _core.NGrams.all(K, order, moves, start, end, full)
    for y in sequences(K, 5):
        allowed = all(full[y[t - order : t + 1]] for t in range(order, len(y)))
        if order > 0 and y:
            allowed &= bool(start[y[0]] and end[y[-1]] and all(moves[a, b] for a, b in itertools.pairwise(y)))
        arcs = path(ngrams, y)
        assert (arcs is not None) == allowed
        if allowed:
            assert [ngrams.labels[a].tolist() for a in arcs] == [history(y, t, order) for t in range(len(y))]


@given(st.integers(1, 3), st.integers(0, 3), st.integers(0, 2**31))
def test_what_was_seen_is_accepted_with_its_ngrams(K, order, seed):
    rng = np.random.default_rng(seed)
    gold = [tuple(rng.integers(0, K, rng.integers(0, 6)).tolist()) for _ in range(3)]
    seen = {tuple(history(y, t, order)) for y in gold for t in range(len(y))}
    ends = {tuple(history((*y, -1), len(y), order))[:-1] for y in gold}
    goes_on = {gram[:-1] for gram in seen}
    ngrams = _core.NGrams.seen(K, order, [numbers(y) for y in gold])
    for y in gold:
        assert [tuple(ngrams.labels[a].tolist()) for a in path(ngrams, y)] == [
            tuple(history(y, t, order)) for t in range(len(y))
        ]
    met = set(map(tuple, ngrams.labels.tolist()))
    assert seen <= met
    assert {gram[:-1] for gram in met - seen} <= ends - goes_on  # only a history that was an end has more
    strict = _core.NGrams.seen(K, order, [numbers(y) for y in gold], strict=True)
    assert set(map(tuple, strict.labels.tolist())) == seen
    if any(gold):  # there are outputs of every length
        structure = ngrams.structure()
        for T in (0, 1, 7, 50):
            n_parts = T * K + ngrams.n_arcs
            assert structure.log_partition(numbers([T]), np.zeros(n_parts)) > -np.inf


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**31))
def test_with_backoff_every_sequence_is_accepted_by_the_longest_history_seen(K, order, seed):
    rng = np.random.default_rng(seed)
    gold = [tuple(rng.integers(0, K, rng.integers(0, 6)).tolist()) for _ in range(2)]
    windows = {y[i : i + n] for y in gold for n in range(1, order + 1) for i in range(len(y) - n + 1)}
    windows |= {(), *((k,) for k in range(K))}
    ngrams = _core.NGrams.seen(K, order, [numbers(y) for y in gold], True)
    for y in sequences(K, 4):
        arcs = path(ngrams, y)
        for t, arc in enumerate(arcs):
            longest = next(y[t - n : t] for n in range(min(order, t), -1, -1) if y[t - n : t] in windows)
            expected = [-1] * (order - len(longest)) + [*longest, y[t]]
            assert ngrams.labels[arc].tolist() == expected


def test_rules_hold_with_backoff():
    moves = np.array([[1, 1], [0, 1]], dtype=np.uint8)
    ngrams = _core.NGrams.seen(2, 2, [numbers([0, 0, 1])], True, moves, None, np.array([0, 1], dtype=np.uint8))
    for y in sequences(2, 4):
        allowed = all(moves[a, b] for a, b in itertools.pairwise(y)) and (not y or y[-1] == 1)
        assert (path(ngrams, y) is not None) == allowed


def test_arcs_may_have_scores_of_their_own_at_each_position():
    rng = np.random.default_rng(3)
    K, T = 2, 4
    ngrams = _core.NGrams.all(K, 2)
    shape, n_arcs = numbers([T]), ngrams.n_arcs
    assert ngrams.structure(False).blocks(shape) == [("labels", T, K), ("arcs", T, n_arcs)]
    tied = rng.normal(size=T * K + n_arcs)
    stepwise = np.concatenate([tied[: T * K], np.tile(tied[T * K :], T)])
    one, each = ngrams.structure(), ngrams.structure(False)
    assert one.log_partition(shape, tied) == pytest.approx(each.log_partition(shape, stepwise), rel=1e-14)
    counts = each.marginals(shape, stepwise)[T * K :].reshape(T, n_arcs)
    np.testing.assert_allclose(counts.sum(axis=1), 1.0)
    np.testing.assert_allclose(counts.sum(axis=0), one.marginals(shape, tied)[T * K :])
    varied = rng.normal(size=len(stepwise))
    best = max(
        sum(
            varied[t * K + k] + varied[T * K + t * n_arcs + arc]
            for t, (k, arc) in enumerate(zip(y, path(ngrams, y), strict=True))
        )
        for y in itertools.product(range(K), repeat=T)
    )
    assert each.best(shape, varied)[0][1] == pytest.approx(best)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: _core.NGrams.all(100, 4), r"order 4 with 100 labels makes 1e\+10 n-grams, about 1010.1 GB"),
        (lambda: _core.NGrams.all(22, 30), "order 30 with 22 labels makes"),
        (lambda: _core.NGrams.all(400, 2, np.ones((400, 400), dtype=np.uint8)), "order 2 with 400 labels makes 6.4e"),
        (lambda: _core.NGrams.all(2, 2, None, None, None, np.ones(4, dtype=np.uint8)), "one entry for each n-gram"),
        (lambda: _core.NGrams.seen(2, 2, [numbers([0, 2])]), "out of range"),
        (lambda: _core.NGrams.seen(2, 2, [], True, strict=True), "choose one"),
        (lambda: _core.NGrams.all(0, 2), "at least one label"),
    ],
)
def test_wrong_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
