"""Trees whose arcs may cross, in the core: every answer against a list of all trees, and against counts of trees."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import trees
from trelliswork import _core


class Case:
    """A structure, a shape, scores of its parts, and the total of every tree."""

    def __init__(self, seed, n, n_labels, pruned, single_root, forbid=0.0, whole=False, spread=2.0):
        rng = np.random.default_rng(seed)
        self.candidates = trees.all_heads(n)
        if pruned:
            self.candidates = [[h for h in heads if rng.random() < 0.8] for heads in self.candidates]
        self.pruned, self.single_root, self.n_labels = pruned, single_root, n_labels
        self.shape = trees.shape_of(self.candidates, pruned)
        self.structure = _core.PartStructure.arborescence(n_labels, single_root)
        self.listed = trees.dependency_trees(self.candidates, pruned, n_labels, single_root, projective=False)
        ((_, sites, codes),) = self.structure.blocks(self.shape)
        self.n_parts = sites * codes
        self.counts = np.array([row for _, row in self.listed]).reshape(len(self.listed), self.n_parts)
        self.scores = rng.integers(-2, 3, self.n_parts) + 0.0 if whole else rng.normal(size=self.n_parts) * spread
        self.scores[rng.random(self.n_parts) < forbid] = -np.inf
        self.totals = np.array([self.scores[row > 0].sum() for row in self.counts])
        self.log_z = np.logaddexp.reduce(self.totals) if len(self.totals) else -np.inf


@st.composite
def cases(draw):
    n = draw(st.integers(0, 5))
    n_labels = draw(st.integers(1, 3 if n < 4 else 1))
    pruned, single_root, whole = (draw(st.booleans()) for _ in range(3))
    forbid = draw(st.sampled_from([0.0, 0.1, 0.3, 0.6]))
    spread = draw(st.sampled_from([0.1, 2.0, 50.0]))
    return Case(draw(st.integers(0, 2**31)), n, n_labels, pruned, single_root, forbid, whole, spread)


def tolerance(case):
    finite = np.abs(case.scores[np.isfinite(case.scores)])
    return 1e-12 * max(1.0, finite.max(initial=0.0) * 10)


@given(cases())
def test_parts_are_those_of_the_definition(case):
    for output, row in case.listed:
        parts = case.structure.parts_of(case.shape, np.array(output, dtype=np.uint32))
        np.testing.assert_array_equal(np.bincount(parts, minlength=case.n_parts), row)
        assert case.structure.output_of(case.shape, parts).tolist() == output


@given(cases(), st.integers(1, 40))
def test_the_best_trees_are_distinct_and_in_order(case, k):
    best = np.sort(case.totals[case.totals > -np.inf])[::-1][:k]
    found = case.structure.best(case.shape, case.scores, k)
    scores = [score for _, score in found]
    np.testing.assert_allclose(scores, best, rtol=1e-12, atol=tolerance(case))
    assert scores == sorted(scores, reverse=True)
    outputs = [tuple(case.structure.output_of(case.shape, parts).tolist()) for parts, _ in found]
    assert len(set(outputs)) == len(found)
    totals = {tuple(output): total for (output, _), total in zip(case.listed, case.totals, strict=True)}
    np.testing.assert_allclose([totals[output] for output in outputs], best, rtol=1e-12, atol=tolerance(case))
    if found:
        first = case.structure.best(case.shape, case.scores, 1)[0]
        assert first[0].tolist() == found[0][0].tolist()


@given(cases())
def test_sums_run_over_every_tree_once(case):
    log_z = case.structure.log_partition(case.shape, case.scores)
    if case.log_z == -np.inf:
        assert log_z == -np.inf
        assert 0 <= case.structure.dead_end(case.shape, case.scores) < max(len(case.candidates), 1)
        return
    np.testing.assert_allclose(log_z, case.log_z, rtol=1e-12, atol=tolerance(case))
    p = np.exp(case.totals - case.log_z)
    expected = case.structure.marginals(case.shape, case.scores)
    np.testing.assert_allclose(expected, p @ case.counts, rtol=1e-10, atol=1e-300)
    entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
    np.testing.assert_allclose(
        case.structure.entropy(case.shape, case.scores), entropy, rtol=1e-9, atol=10 * tolerance(case)
    )


@given(cases())
def test_max_marginals_are_the_best_tree_with_each_part(case):
    for part, value in enumerate(case.structure.max_marginals(case.shape, case.scores)):
        best = case.totals[case.counts[:, part] > 0].max(initial=-np.inf)
        assert value == pytest.approx(best, rel=1e-12, abs=tolerance(case))


@pytest.mark.parametrize("single_root", [False, True])
def test_thirty_words_have_as_many_trees_as_counted(single_root):
    n, structure = 30, _core.PartStructure.arborescence(1, single_root)
    shape, zeros = np.array([n], dtype=np.uint32), np.zeros((n + 1) ** 2)
    count = n ** (n - 1) if single_root else (n + 1) ** (n - 1)
    assert structure.log_partition(shape, zeros) == pytest.approx(log(count), rel=1e-13)
    assert structure.entropy(shape, zeros) == pytest.approx(log(count), rel=1e-12)
    expected = structure.marginals(shape, zeros).reshape(n + 1, n + 1)
    of_root = 1 / n if single_root else 2 / (n + 1)
    np.testing.assert_allclose(expected[0, 1:], of_root, rtol=1e-12)
    np.testing.assert_allclose(expected[1:, 1:][~np.eye(n, dtype=bool)], (1 - of_root) / (n - 1), rtol=1e-12)


def frequencies(case, drawn):
    keys = {tuple(output): i for i, (output, _) in enumerate(case.listed)}
    numbers = [keys[tuple(case.structure.output_of(case.shape, parts).tolist())] for parts in drawn]
    return np.bincount(numbers, minlength=len(keys)) / len(drawn)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize(("n", "n_labels", "pruned"), [(3, 2, False), (4, 1, True), (1, 3, False)])
def test_samples_follow_the_distribution(n, n_labels, pruned, single_root):
    case = Case(3, n, n_labels, pruned, single_root)
    p = np.exp(case.totals - case.log_z)
    seen = frequencies(case, case.structure.sample(case.shape, case.scores, 20000, 1))
    assert (np.abs(seen - p) < 5 * np.sqrt(p * (1 - p) / 20000) + 1e-9).all()


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("gap", [40.0, 700.0])
def test_samples_need_no_long_walks(single_root, gap):
    """Words that are each other's best heads by far: a walk would go round for longer than anyone can wait."""
    case = Case(5, 4, 1, False, single_root, spread=1.0)
    arcs = case.scores.reshape(5, 5)
    for h, m in [(1, 2), (2, 1), (3, 4), (4, 3)]:
        arcs[h, m] += gap
    totals = np.array([case.scores[row > 0].sum() for row in case.counts])
    p = np.exp(totals - np.logaddexp.reduce(totals))
    seen = frequencies(case, case.structure.sample(case.shape, case.scores, 5000, 2))
    assert (np.abs(seen - p) < 5 * np.sqrt(p * (1 - p) / 5000) + 1e-9).all()


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("spread", [1.0, 8.0])
def test_distinct_samples_are_drawn_from_those_that_are_left(single_root, spread):
    case = Case(7, 3, 2, False, single_root, spread=spread)
    p = np.exp(case.totals - case.log_z)
    n = len(p)
    everything = case.structure.sample(case.shape, case.scores, n + 5, 1, True)
    assert len({tuple(parts.tolist()) for parts in everything}) == len(everything) == n
    drawn = [case.structure.sample(case.shape, case.scores, 2, seed, True)[1] for seed in range(4000)]
    second = np.array([sum(p[i] * p[j] / (1 - p[i]) for i in range(n) if i != j) for j in range(n)])
    assert (np.abs(frequencies(case, drawn) - second) < 5 * np.sqrt(second * (1 - second) / 4000) + 1e-9).all()
