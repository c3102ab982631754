"""Automata layer by layer: the same as chains, as the recursions over nodes, and as themselves with other states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork import _core


def shape(T):
    return np.array([T], dtype=np.uint32)


def as_automaton(chain):
    """A chain as the automaton of its bigrams, with arcs that have scores at each position."""
    T, K = chain.unary.shape
    ngrams = _core.NGrams.all(K, 1)
    before, label = ngrams.labels.T
    moves = np.broadcast_to(chain.transitions, (max(T - 1, 0), K, K))
    arcs = np.zeros((T, ngrams.n_arcs))
    arcs[1:, before >= 0] = moves[:, before[before >= 0], label[before >= 0]]
    return ngrams, ngrams.structure(False), np.concatenate([chain.unary.ravel(), arcs.ravel()])


def random_chain(rng, T, K, scale=1.0, per_step=False):
    return tw.Chain(rng.normal(size=(T, K)) * scale, rng.normal(size=(T - 1, K, K) if per_step else (K, K)) * scale)


@pytest.mark.parametrize(
    ("T", "K", "scale"), [(400, 22, 1.0), (400, 22, 5.0), (30, 5, 40.0), (30, 5, 1e4), (7, 2, 1e8)]
)
@pytest.mark.parametrize("per_step", [False, True])
def test_chains_have_the_same_answers_as_automata(T, K, scale, per_step):
    chain = random_chain(np.random.default_rng(T + K), T, K, scale, per_step)
    ngrams, structure, scores = as_automaton(chain)
    assert structure.log_partition(shape(T), scores) == pytest.approx(chain.log_partition(), rel=1e-12)
    expected = structure.marginals(shape(T), scores)
    np.testing.assert_allclose(expected[: T * K].reshape(T, K), chain.marginals(), atol=1e-9)
    pairs = expected[T * K :].reshape(T, -1)[1:, ngrams.labels[:, 0] >= 0]
    np.testing.assert_allclose(pairs.reshape(T - 1, K, K), chain.edge_marginals(), atol=1e-9)
    ((parts, score),) = structure.best(shape(T), scores)
    assert structure.output_of(shape(T), parts).tolist() == chain.argmax().labels.tolist()
    assert score == pytest.approx(chain.argmax().score, rel=1e-12)


@pytest.mark.parametrize("low", [-np.inf, -300.0, -1e4])
def test_scores_that_are_forbidden_or_nearly(low):
    rng = np.random.default_rng(5)
    T, K = 50, 6
    unary = rng.normal(size=(T, K))
    unary[rng.random((T, K)) < 0.5] = low
    unary[np.arange(T), rng.integers(0, K, T)] = 0.0
    chain = tw.Chain(unary, np.where(rng.random((K, K)) < 0.2, low, rng.normal(size=(K, K))))
    _, structure, scores = as_automaton(chain)
    assert structure.log_partition(shape(T), scores) == pytest.approx(chain.log_partition(), rel=1e-12)
    if chain.log_partition() > -np.inf:
        expected = structure.marginals(shape(T), scores)[: T * K].reshape(T, K)
        np.testing.assert_allclose(expected, chain.marginals(), atol=1e-9)


def test_where_all_ways_are_forbidden_there_is_no_answer():
    structure = _core.NGrams.all(2, 2).structure()
    scores = np.zeros(3 * 2 + 14)
    scores[2:4] = -np.inf
    assert structure.log_partition(shape(3), scores) == -np.inf
    assert structure.best(shape(3), scores) == []


def test_a_hundred_thousand_positions():
    rng = np.random.default_rng(8)
    T, K = 100_000, 3
    chain = random_chain(rng, T, K)
    ngrams = _core.NGrams.all(K, 1)
    before, label = ngrams.labels.T
    arcs = np.where(before < 0, 0.0, chain.transitions[before, label])
    scores, structure = np.concatenate([chain.unary.ravel(), arcs]), ngrams.structure()
    assert structure.log_partition(shape(T), scores) == pytest.approx(chain.log_partition(), rel=1e-13)
    expected = structure.marginals(shape(T), scores)
    np.testing.assert_allclose(expected[: T * K].reshape(T, K), chain.marginals(), atol=1e-11)
    np.testing.assert_allclose(
        expected[T * K :][before >= 0].reshape(K, K), chain.edge_marginals().sum(axis=0), rtol=1e-10
    )
    assert structure.output_of(shape(T), structure.best(shape(T), scores)[0][0]).tolist() == (
        chain.argmax().labels.tolist()
    )


@st.composite
def automata(draw):
    """Any deterministic automaton: several labels may lead to a state, states may be dead or never reached."""
    K, S = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    arcs = [(s, k, int(rng.integers(S))) for s in range(S) for k in range(K) if rng.random() < 0.7]
    final = (rng.random(S) < 0.7).astype(np.uint8)
    tied = bool(rng.integers(2))
    structure = _core.PartStructure.automaton(K, np.array(arcs, dtype=np.uint32).ravel(), final, tied)
    T = draw(st.integers(1, 6))
    n = T * K + len(arcs) * (1 if tied else T)
    whole = draw(st.booleans())  # many equal scores
    scores = rng.integers(-1, 2, n).astype(float) if whole else rng.normal(size=n) * draw(st.sampled_from([1, 60]))
    allowed = (rng.random(n) < 0.9).astype(np.uint8) if draw(st.booleans()) else None
    return structure, T, scores, allowed


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_histories_that_end_alike_are_one_block(tied, scale):
    """With many labels, states that lead to the same arrivals are taken together."""
    rng = np.random.default_rng(9)
    K, T = 11, 3
    seen = [rng.integers(0, K, 12).astype(np.uint32) for _ in range(3)]
    ngrams = _core.NGrams.seen(K, 2, seen, True)
    n = T * K + ngrams.n_arcs * (1 if tied else T)
    allowed = (rng.random(n) < 0.9).astype(np.uint8)
    for mask in (None, allowed):
        agree(ngrams.structure(tied), T, rng.normal(size=n) * scale, mask)
        agree(ngrams.structure(tied), T, rng.integers(-1, 2, n).astype(float), mask)


@given(automata())
def test_layers_and_recursions_agree(problem):
    agree(*problem)


def agree(structure, T, scores, allowed):
    one, two = (structure.best(shape(T), scores, k, allowed) for k in (1, 2))  # one by layers, two by recursions
    assert len(one) == min(len(two), 1)
    log_z = structure.log_partition(shape(T), scores, allowed)
    if not one:
        assert log_z == -np.inf
        return
    assert one[0][1] == two[0][1]
    assert one[0][0].tolist() == two[0][0].tolist()
    everything = structure.best(shape(T), scores, 10_000, allowed)
    totals = np.array([score for _, score in everything])
    assert log_z == pytest.approx(np.logaddexp.reduce(totals), rel=1e-12, abs=1e-12)
    expected = np.zeros(len(scores))
    for parts, score in everything:
        np.add.at(expected, structure.parts_of(shape(T), structure.output_of(shape(T), parts)), np.exp(score - log_z))
    np.testing.assert_allclose(structure.marginals(shape(T), scores, allowed), expected, atol=1e-10)
