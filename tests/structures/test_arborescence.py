"""Trees whose arcs may cross, in the core: every answer against a list of all trees, and against counts of trees."""

import itertools
from math import log

import mpmath
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


def precise_sums(arcs, single_root):
    """Log Z and marginals by the matrix-tree theorem in as many digits as it takes (Koo et al. 2007, sec. 3)."""
    n = len(arcs) - 1
    with mpmath.workdps(40 + int(0.45 * np.ptp(arcs) * n)):
        weights = mpmath.matrix(n + 1, n + 1)
        for h, m in itertools.product(range(n + 1), range(1, n + 1)):
            if h != m and arcs[h, m] > -np.inf:
                weights[h, m] = mpmath.exp(mpmath.mpf(arcs[h, m]))
        laplacian = mpmath.matrix(n, n)
        for h, m in itertools.product(range(1, n + 1), repeat=2):
            heads = range(1 if single_root else 0, n + 1)
            laplacian[h - 1, m - 1] = -weights[h, m] if h != m else mpmath.fsum(weights[k, m] for k in heads)
        if single_root:
            for m in range(1, n + 1):
                laplacian[0, m - 1] = weights[0, m]
        inverse, log_z = laplacian**-1, mpmath.log(mpmath.det(laplacian))
        out = np.zeros((n + 1, n + 1))
        for h, m in itertools.product(range(n + 1), range(1, n + 1)):
            if h == m:
                continue
            if h == 0:
                p = weights[0, m] * inverse[m - 1, 0 if single_root else m - 1]
            else:
                first, second = inverse[m - 1, m - 1], inverse[m - 1, h - 1]
                p = weights[h, m] * (
                    (0 if single_root and m == 1 else first) - (0 if single_root and h == 1 else second)
                )
            out[h, m] = float(p)
        return float(log_z), out


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize(("n", "spread"), [(9, 1.0), (20, 3.0), (9, 30.0), (9, 300.0), (4, 2000.0)])
def test_every_marginal_has_its_digits(n, spread, single_root):
    """However far apart scores are, and however small or near one a marginal is."""
    rng = np.random.default_rng(int(spread) + n)
    arcs = rng.uniform(-spread, spread, (n + 1, n + 1))
    structure, shape = _core.PartStructure.arborescence(1, single_root), np.array([n], dtype=np.uint32)
    log_z, wanted = precise_sums(arcs, single_root)
    assert structure.log_partition(shape, arcs.ravel()) == pytest.approx(log_z, rel=1e-13, abs=1e-11)
    found = structure.marginals(shape, arcs.ravel()).reshape(n + 1, n + 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-13 * max(100.0, 20 * spread), atol=1e-300)


@pytest.mark.parametrize("single_root", [False, True])
def test_marginals_keep_their_digits_beside_words_that_hold_on_to_each_other(single_root):
    """Two words that are each other's head but for e^-300: differences of an inverse would have no digit left."""
    arcs = np.random.default_rng(3).normal(size=(9, 9))
    for a, b in [(1, 2), (4, 7)]:
        arcs[a, b] += 300.0
        arcs[b, a] += 300.0
    structure, shape = _core.PartStructure.arborescence(1, single_root), np.array([8], dtype=np.uint32)
    log_z, wanted = precise_sums(arcs, single_root)
    assert structure.log_partition(shape, arcs.ravel()) == pytest.approx(log_z, rel=1e-14)
    found = structure.marginals(shape, arcs.ravel()).reshape(9, 9)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("single_root", [False, True])
def test_three_hundred_words(single_root):
    n = 300
    structure, shape = _core.PartStructure.arborescence(1, single_root), np.array([n], dtype=np.uint32)
    arcs = np.random.default_rng(1).normal(size=(n + 1, n + 1)) * 3
    ((parts, score),) = structure.best(shape, arcs.ravel())
    # At a low temperature the sum is the best tree.
    assert structure.log_partition(shape, arcs.ravel() * 1e6) / 1e6 == pytest.approx(score, abs=1e-3)
    expected = structure.marginals(shape, arcs.ravel()).reshape(n + 1, n + 1)
    np.testing.assert_allclose(expected.sum(axis=0)[1:], 1.0, rtol=1e-13)
    weights = np.exp(arcs)
    weights[:, 0] = 0.0
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights[1 if single_root else 0 :].sum(axis=0)[1:]) - weights[1:, 1:]
    if single_root:
        laplacian[0] = weights[0, 1:]
    inverse = np.linalg.inv(laplacian)
    first = inverse[:, 0] if single_root else np.diag(inverse)
    np.testing.assert_allclose(expected[0, 1:], weights[0, 1:] * first, atol=1e-9)
    assert structure.log_partition(shape, arcs.ravel()) == pytest.approx(np.linalg.slogdet(laplacian)[1], rel=1e-10)
    most = structure.max_marginals(shape, arcs.ravel()).reshape(n + 1, n + 1)
    np.testing.assert_allclose(most.max(axis=0)[1:], score, rtol=1e-12)
    found = structure.best(shape, arcs.ravel(), 3)
    np.testing.assert_array_equal(found[0][0], parts)
    assert found[0][1] >= found[1][1] >= found[2][1]
    assert found[1][1] == pytest.approx(np.sort(most[most < score - 1e-9])[-1], rel=1e-12)  # the best with another arc


def best_by_networkx(networkx, arcs, roots):
    n = len(arcs) - 1
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from(
        (h, m, arcs[h, m] + 10.0)
        for h, m in itertools.product(range(n + 1), range(1, n + 1))
        if h != m and (h != 0 or m in roots)
    )
    return networkx.maximum_spanning_arborescence(graph).size("weight") - 10.0 * n


@pytest.mark.parametrize("seed", range(8))
def test_networkx_finds_the_same_trees(seed):
    networkx = pytest.importorskip("networkx")
    words = range(1, 13)
    arcs, shape = np.random.default_rng(seed).normal(size=(13, 13)), np.array([12], dtype=np.uint32)
    ((_, several),) = _core.PartStructure.arborescence(1, False).best(shape, arcs.ravel())
    assert several == pytest.approx(best_by_networkx(networkx, arcs, words))
    ((_, one),) = _core.PartStructure.arborescence(1, True).best(shape, arcs.ravel())
    assert one == pytest.approx(max(best_by_networkx(networkx, arcs, [root]) for root in words))


def test_equal_scores_go_to_the_lowest_head():
    for n in (1, 2, 5, 9, 30):
        shape, zeros = np.array([n], dtype=np.uint32), np.zeros((n + 1) ** 2)
        for single_root, wanted in ((False, [0] * n), (True, [0] + [1] * (n - 1))):
            structure = _core.PartStructure.arborescence(1, single_root)
            parts, _ = structure.best(shape, zeros)[0]
            assert structure.output_of(shape, parts).tolist() == wanted
    labelled = _core.PartStructure.arborescence(3, True)
    parts, _ = labelled.best(np.array([2], dtype=np.uint32), np.zeros(27))[0]
    assert labelled.output_of(np.array([2], dtype=np.uint32), parts).tolist() == [0, 1, 0, 0]


@given(st.integers(0, 2**31), st.integers(1, 5))
def test_best_heads_that_make_a_tree_are_the_answer(seed, n):
    arcs = np.random.default_rng(seed).integers(0, 3, (n + 1, n + 1)).astype(float)
    np.fill_diagonal(arcs, -1.0)
    heads = arcs.argmax(axis=0)[1:].tolist()  # the lowest of the best
    if not trees.is_tree(heads, False):
        return
    structure, shape = _core.PartStructure.arborescence(1, False), np.array([n], dtype=np.uint32)
    assert structure.output_of(shape, structure.best(shape, arcs.ravel())[0][0]).tolist() == heads


@pytest.mark.parametrize("magnitude", [-1e300, -1e30, 1e9, 1e30, 1e300])
def test_the_single_root_needs_no_large_constant(magnitude):
    """The scores of the root's arcs, alike and larger or smaller than all others: what is left decides."""
    rng = np.random.default_rng(2)
    structure, shape = _core.PartStructure.arborescence(1, True), np.array([4], dtype=np.uint32)
    listed = trees.trees(trees.all_heads(4), True, False)
    for _ in range(50):
        arcs = rng.integers(-8, 9, (5, 5)).astype(float)
        arcs[0] = 0.0
        totals = {tree: sum(arcs[h, m] for m, h in enumerate(tree, 1)) for tree in listed}
        arcs[0] = magnitude
        parts, _ = structure.best(shape, arcs.ravel())[0]
        assert totals[tuple(structure.output_of(shape, parts).tolist())] == max(totals.values())
