"""Spanning trees in the core: every answer against a list of all trees, against counts, and against networkx."""

import itertools
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork import _core

STRUCTURE = _core.PartStructure.spanning_tree()


def connects(n, edges):
    reached = {0}
    for _ in range(n):
        for a, b in edges:
            if a in reached or b in reached:
                reached |= {a, b}
    return len(reached) == n


class Case:
    """A graph, scores of its edges, and the total of every spanning tree."""

    def __init__(self, seed, n, dense, forbid=0.0, whole=False, spread=2.0):
        rng = np.random.default_rng(seed)
        self.n = n
        self.edges = list(itertools.combinations(range(n), 2))
        self.shape = np.array([n], dtype=np.uint32)
        if not dense:  # some edges twice, some not at all, in any order
            self.edges = [edge for edge in self.edges for _ in range(rng.choice([0, 1, 1, 2]))]
            rng.shuffle(self.edges)
            self.edges = [tuple(rng.permutation(edge).tolist()) for edge in self.edges[:9]]
            self.shape = np.array([n, *itertools.chain(*self.edges)], dtype=np.uint32)
            if not self.edges:
                self.edges, self.shape = [(0, n - 1)], np.array([n, 0, n - 1], dtype=np.uint32)
        m = len(self.edges)
        self.scores = rng.integers(-2, 3, m) + 0.0 if whole else rng.normal(size=m) * spread
        self.scores[rng.random(m) < forbid] = -np.inf
        self.trees = [
            tree for tree in itertools.combinations(range(m), n - 1) if connects(n, [self.edges[i] for i in tree])
        ]
        self.counts = np.zeros((len(self.trees), m))
        for row, tree in zip(self.counts, self.trees, strict=True):
            row[list(tree)] = 1.0
        self.totals = np.array([self.scores[list(tree)].sum() for tree in self.trees])
        self.log_z = np.logaddexp.reduce(self.totals) if self.trees else -np.inf
        self.tolerance = 1e-12 * max(1.0, 10 * np.abs(self.scores[np.isfinite(self.scores)]).max(initial=0.0))


@st.composite
def cases(draw):
    n = draw(st.integers(2, 5))
    dense, whole = draw(st.booleans()), draw(st.booleans())
    forbid, spread = draw(st.sampled_from([0.0, 0.1, 0.4])), draw(st.sampled_from([0.1, 2.0, 50.0]))
    return Case(draw(st.integers(0, 2**31)), n, dense, forbid, whole, spread)


@given(cases())
def test_outputs_are_the_numbers_of_edges(case):
    for tree in case.trees[:20]:
        parts = STRUCTURE.parts_of(case.shape, np.array(tree[::-1], dtype=np.uint32))
        assert parts.tolist() == STRUCTURE.output_of(case.shape, parts).tolist() == list(tree)


@given(cases(), st.integers(1, 130))
def test_the_best_trees_are_distinct_and_in_order(case, k):
    best = np.sort(case.totals[case.totals > -np.inf])[::-1][:k]
    found = STRUCTURE.best(case.shape, case.scores, k)
    scores = [score for _, score in found]
    np.testing.assert_allclose(scores, best, rtol=1e-12, atol=case.tolerance)
    assert scores == sorted(scores, reverse=True)
    outputs = [tuple(parts.tolist()) for parts, _ in found]
    assert len(set(outputs)) == len(found)
    totals = dict(zip(case.trees, case.totals, strict=True))
    np.testing.assert_allclose([totals[output] for output in outputs], best, rtol=1e-12, atol=case.tolerance)
    if found:
        first = STRUCTURE.best(case.shape, case.scores, 1)[0][0].tolist()
        assert first == list(outputs[0])
        # Of equal trees, the one whose edges come first, the best of them first.
        order = sorted(range(len(case.edges)), key=lambda i: (-case.scores[i], i))
        rank = {edge: place for place, edge in enumerate(order)}
        equal = [tree for tree, total in zip(case.trees, case.totals, strict=True) if total == totals[outputs[0]]]
        if float(case.scores[list(outputs[0])].sum()).is_integer():  # sums are exact
            assert first == list(min(equal, key=lambda tree: sorted(rank[edge] for edge in tree)))


@given(cases())
def test_sums_run_over_every_tree_once(case):
    log_z = STRUCTURE.log_partition(case.shape, case.scores)
    if case.log_z == -np.inf:
        assert log_z == -np.inf
        node = STRUCTURE.dead_end(case.shape, case.scores)
        edges = [edge for edge, score in zip(case.edges, case.scores, strict=True) if score > -np.inf]
        together = {0}
        for _ in range(case.n):
            together |= {v for edge in edges if together & set(edge) for v in edge}
        assert node == min(set(range(case.n)) - together)
        return
    np.testing.assert_allclose(log_z, case.log_z, rtol=1e-12, atol=case.tolerance)
    p = np.exp(case.totals - case.log_z)
    expected = STRUCTURE.marginals(case.shape, case.scores)
    np.testing.assert_allclose(expected, p @ case.counts, rtol=1e-10, atol=1e-300)
    entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
    np.testing.assert_allclose(STRUCTURE.entropy(case.shape, case.scores), entropy, rtol=1e-9, atol=10 * case.tolerance)


@given(cases())
def test_max_marginals_are_the_best_tree_with_each_edge(case):
    for part, value in enumerate(STRUCTURE.max_marginals(case.shape, case.scores)):
        best = case.totals[case.counts[:, part] > 0].max(initial=-np.inf)
        assert value == pytest.approx(best, rel=1e-12, abs=case.tolerance)


@pytest.mark.parametrize("dense", [False, True])
def test_samples_follow_the_distribution(dense):
    case = Case(4, 4, dense)
    p = np.exp(case.totals - case.log_z)
    keys = {tree: i for i, tree in enumerate(case.trees)}

    def frequencies(drawn):
        return np.bincount([keys[tuple(parts.tolist())] for parts in drawn], minlength=len(p)) / len(drawn)

    drawn = STRUCTURE.sample(case.shape, case.scores, 20000, 1)
    assert (np.abs(frequencies(drawn) - p) < 5 * np.sqrt(p * (1 - p) / 20000) + 1e-9).all()
    everything = STRUCTURE.sample(case.shape, case.scores, len(p) + 5, 1, True)
    assert len({tuple(parts.tolist()) for parts in everything}) == len(everything) == len(p)
    drawn = [STRUCTURE.sample(case.shape, case.scores, 2, seed, True)[1] for seed in range(4000)]
    second = np.array([sum(p[i] * p[j] / (1 - p[i]) for i in range(len(p)) if i != j) for j in range(len(p))])
    assert (np.abs(frequencies(drawn) - second) < 5 * np.sqrt(second * (1 - second) / 4000) + 1e-9).all()


def test_thirty_nodes_have_as_many_trees_as_counted():
    n, shape = 30, np.array([30], dtype=np.uint32)
    zeros = np.zeros(n * (n - 1) // 2)
    assert STRUCTURE.log_partition(shape, zeros) == pytest.approx(log(n ** (n - 2)), rel=1e-13)
    assert STRUCTURE.entropy(shape, zeros) == pytest.approx(log(n ** (n - 2)), rel=1e-12)
    np.testing.assert_allclose(STRUCTURE.marginals(shape, zeros), 2 / n, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_networkx_finds_the_same_tree(seed):
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(seed)
    n = 60
    edges = list(itertools.combinations(range(n), 2))
    scores = rng.normal(size=len(edges))
    graph = networkx.Graph()
    graph.add_weighted_edges_from((a, b, score) for (a, b), score in zip(edges, scores, strict=True))
    wanted = sorted(tuple(sorted(edge)) for edge in networkx.maximum_spanning_tree(graph).edges)
    listed = np.array([n, *itertools.chain(*edges)], dtype=np.uint32)
    for shape in (np.array([n], dtype=np.uint32), listed):
        ((parts, _),) = STRUCTURE.best(shape, scores)
        assert [edges[part] for part in parts] == wanted


@pytest.mark.parametrize(
    ("shape", "output", "message"),
    [
        ([3], [0], "has one edge fewer, this has 1"),
        ([3], [0, 3], "no such edge"),
        ([4], [0, 1, 3], "has no cycle"),
        ([4], [0, 0, 3], "has no cycle"),
        ([0], [], "one or more"),
        ([3, 0], [], "pairs of nodes"),
        ([3, 0, 3], [0, 1], "connects two of the nodes"),
        ([3, 1, 1], [0, 1], "connects two of the nodes"),
    ],
)
def test_bad_input_is_refused(shape, output, message):
    with pytest.raises(ValueError, match=message):
        STRUCTURE.parts_of(np.array(shape, dtype=np.uint32), np.array(output, dtype=np.uint32))
