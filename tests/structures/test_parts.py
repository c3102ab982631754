"""Structures of parts: every answer against a list of all outputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import outputs
from trelliswork import _core


class Case:
    """A structure, one shape of it, and all its outputs with their counts of parts."""

    def __init__(self, structure, length, listed):
        self.structure, self.shape, self.listed = structure, np.array([length], dtype=np.uint32), listed
        self.counts = np.array([row for _, row in listed])

    def __repr__(self):
        return f"{self.structure.blocks(self.shape)}"

    def scores(self, seed, whole=False, forbid=0.0):
        rng = np.random.default_rng(seed)
        n = sum(sites * codes for _, sites, codes in self.structure.blocks(self.shape))
        scores = rng.integers(-2, 3, n).astype(float) if whole else rng.normal(size=n) * 3
        allowed = (rng.random(n) >= forbid).astype(np.uint8)
        return scores, allowed

    def totals(self, scores, allowed):
        """The score of every output, -inf where it has a part that is not allowed."""
        possible = ~(self.counts[:, allowed == 0] > 0).any(axis=1)
        return np.where(possible, self.counts @ scores, -np.inf)


@st.composite
def cases(draw):
    kind = draw(st.sampled_from(["chain", "steps", "segments", "automaton"]))
    length, K = draw(st.integers(0, 5)), draw(st.integers(1, 3))
    if kind in ("chain", "steps"):
        return Case(_core.PartStructure.chain(K, kind == "chain"), length, outputs.chain(length, K, kind == "chain"))
    if kind == "segments":
        longest = draw(st.integers(1, 4))
        return Case(_core.PartStructure.segments(K, longest), length, outputs.segments(length, K, longest))
    n_states = draw(st.integers(1, 3))
    pairs = draw(st.sets(st.tuples(st.integers(0, n_states - 1), st.integers(0, K - 1)), min_size=1))
    arcs = [(state, label, draw(st.integers(0, n_states - 1))) for state, label in sorted(pairs)]
    final = draw(st.lists(st.integers(0, 1), min_size=n_states, max_size=n_states))
    structure = _core.PartStructure.automaton(
        K, np.array(arcs, dtype=np.uint32).ravel(), np.array(final, dtype=np.uint8)
    )
    return Case(structure, length, outputs.automaton(length, K, arcs, final))


@st.composite
def questions(draw):
    case = draw(cases())
    scores, allowed = case.scores(draw(st.integers(0, 2**31)), draw(st.booleans()), draw(st.sampled_from([0.0, 0.2])))
    return case, scores, allowed, case.totals(scores, allowed) if case.listed else np.zeros(0)


@given(cases())
def test_outputs_and_their_parts(case):
    for output, row in case.listed:
        parts = case.structure.parts_of(case.shape, np.array(output, dtype=np.uint32))
        np.testing.assert_array_equal(np.bincount(parts, minlength=len(row)), row)
        assert case.structure.output_of(case.shape, parts).tolist() == output


@given(questions(), st.integers(1, 8))
def test_the_best_outputs(question, k):
    case, scores, allowed, totals = question
    best = np.sort(totals[totals > -np.inf])[::-1][:k]
    found = case.structure.best(case.shape, scores, k, allowed)
    np.testing.assert_allclose([score for _, score in found], best, rtol=1e-12, atol=1e-12)
    listed = {tuple(np.flatnonzero(row).tolist()): total for row, total in zip(case.counts, totals, strict=True)}
    answers = [tuple(sorted(set(parts.tolist()))) for parts, _ in found]
    as_outputs = [tuple(case.structure.output_of(case.shape, parts).tolist()) for parts, _ in found]
    assert len(set(as_outputs)) == len(found)
    np.testing.assert_allclose([listed[parts] for parts in answers], best, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 5), st.integers(1, 3), st.integers(0, 2**31), st.integers(1, 60))
def test_equal_labellings_come_in_the_order_of_chains(length, K, seed, k):
    case = Case(_core.PartStructure.chain(K), length, outputs.chain(length, K))
    scores, allowed = case.scores(seed, whole=True)
    order = np.argsort(-case.totals(scores, allowed), kind="stable")[:k]
    found = case.structure.best(case.shape, scores, k)
    got = [case.structure.output_of(case.shape, parts).tolist() for parts, _ in found]
    assert got == [case.listed[i][0] for i in order]


@given(questions())
def test_sums_over_all_outputs(question):
    case, scores, allowed, totals = question
    log_z = case.structure.log_partition(case.shape, scores, allowed)
    if not (totals > -np.inf).any():
        assert log_z == -np.inf
        return
    expected = np.logaddexp.reduce(totals)
    np.testing.assert_allclose(log_z, expected, rtol=1e-12, atol=1e-11)
    p = np.exp(totals - expected)
    np.testing.assert_allclose(case.structure.marginals(case.shape, scores, allowed), p @ case.counts, atol=1e-11)
    entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
    np.testing.assert_allclose(case.structure.entropy(case.shape, scores, allowed), entropy, rtol=1e-9, atol=1e-11)


@given(questions())
def test_max_marginals(question):
    case, scores, allowed, totals = question
    got = case.structure.max_marginals(case.shape, scores, allowed)
    for part, value in enumerate(got):
        having = totals[case.counts[:, part] > 0] if len(totals) else totals
        best = having.max(initial=-np.inf)
        assert value == pytest.approx(best, rel=1e-12, abs=1e-11)


def test_samples_follow_the_distribution():
    case = Case(_core.PartStructure.segments(2, 2), 3, outputs.segments(3, 2, 2))
    scores, _ = case.scores(3)
    totals = case.counts @ scores
    p = np.exp(totals - np.logaddexp.reduce(totals))
    drawn = case.structure.sample(case.shape, scores, 20000, 1)
    keys = {tuple(output): i for i, (output, _) in enumerate(case.listed)}
    seen = np.bincount([keys[tuple(case.structure.output_of(case.shape, parts).tolist())] for parts in drawn],
                       minlength=len(p))  # fmt: skip
    assert (np.abs(seen / 20000 - p) < 5 * np.sqrt(p * (1 - p) / 20000) + 1e-9).all()


def test_deep_derivations_need_no_stack():
    length = np.array([100_000], dtype=np.uint32)
    structure = _core.PartStructure.chain(2)
    scores = np.random.default_rng(0).normal(size=200_004)
    best = structure.best(length, scores, 3)
    assert best[0][1] >= best[1][1] >= best[2][1]
    assert structure.best(length, scores, 1)[0][0].tolist() == best[0][0].tolist()


def test_the_answers_of_the_kernels():
    """A chain asked through the hypergraph, and through its kernels."""
    import trelliswork as tw

    rng = np.random.default_rng(5)
    unary, moves = rng.normal(size=(7, 4)), rng.normal(size=(4, 4))
    chain, structure = tw.Chain(unary, moves), _core.PartStructure.chain(4)
    shape, scores = np.array([7], dtype=np.uint32), np.concatenate([unary.ravel(), moves.ravel()])
    assert structure.log_partition(shape, scores) == pytest.approx(chain.log_partition(), rel=1e-13)
    np.testing.assert_allclose(structure.marginals(shape, scores)[:28].reshape(7, 4), chain.marginals(), atol=1e-13)
    edges = chain.edge_marginals().sum(axis=0)
    np.testing.assert_allclose(structure.marginals(shape, scores)[28:].reshape(4, 4), edges, atol=1e-12)
    for (parts, score), answer in zip(structure.best(shape, scores, 20), chain.kbest(20), strict=True):
        assert structure.output_of(shape, parts).tolist() == answer.labels.tolist()
        assert score == pytest.approx(answer.score, rel=1e-13)
    np.testing.assert_allclose(
        structure.max_marginals(shape, scores)[:28].reshape(7, 4), chain.max_marginals(), rtol=1e-13
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: _core.PartStructure.automaton(1, np.array([0, 0, 0, 0, 0, 0], dtype=np.uint32),
                                               np.ones(1, dtype=np.uint8)), "two arcs leave a state with the same"),
        (lambda: _core.PartStructure.automaton(1, np.array([0, 0, 7], dtype=np.uint32), np.ones(1, dtype=np.uint8)),
         "out of range"),
        (lambda: _core.PartStructure.segments(2, 2).parts_of(
            np.array([3], dtype=np.uint32), np.array([0, 3, 1], dtype=np.uint32)), "longer than the longest"),
        (lambda: _core.PartStructure.segments(2, 2).parts_of(
            np.array([3], dtype=np.uint32), np.array([0, 2, 1], dtype=np.uint32)), "cover all positions"),
        (lambda: _core.PartStructure.chain(2).parts_of(
            np.array([2], dtype=np.uint32), np.array([0, 2], dtype=np.uint32)), "out of range"),
        (lambda: _core.PartStructure.chain(2).best(
            np.array([1], dtype=np.uint32), np.array([np.nan] * 6), 1), "NaN"),
    ],
)  # fmt: skip
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
