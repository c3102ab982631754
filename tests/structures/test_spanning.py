"""`tw.SpanningTree`: every answer against a list of all trees; what it refuses."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw

LINE = [(0, 1, 1.0), (1, 2, 2.0)]


def is_tree(n, edges):
    together = {0}
    for _ in edges:
        together |= {v for edge in edges if together & set(edge) for v in edge}
    return len(edges) == n - 1 and together == set(range(n))


class Case:
    """Scores of a small graph, and the total of every spanning tree, written out."""

    def __init__(self, seed, n, listed, forbid=0.0, whole=False):
        rng = np.random.default_rng(seed)
        pairs = list(itertools.combinations(range(n), 2))
        scores = rng.integers(-2, 3, len(pairs)) + 0.0 if whole else rng.normal(size=len(pairs))
        scores[rng.random(len(pairs)) < forbid] = -np.inf
        if listed:
            order = rng.permutation(len(pairs))
            kept = [i for i in order if rng.random() < 0.8]
            self.tree = tw.SpanningTree([(*rng.permutation(pairs[i]), scores[i]) for i in kept], n)
            scores[[i for i in range(len(pairs)) if i not in kept]] = -np.inf
        else:
            array = rng.normal(size=(n, n))
            for (a, b), score in zip(pairs, scores, strict=True):
                array[a, b] = array[b, a] = score
            self.tree = tw.SpanningTree(array)
        self.n, self.scores = n, dict(zip(pairs, scores.tolist(), strict=True))
        self.trees = [edges for edges in itertools.combinations(pairs, n - 1) if is_tree(n, edges)]
        self.totals = np.array([sum(self.scores[edge] for edge in edges) for edges in self.trees], dtype=float)
        self.log_z = np.logaddexp.reduce(self.totals)

    def having(self, edge):
        return np.array([edge in edges for edges in self.trees])


@st.composite
def cases(draw):
    n, forbid = draw(st.integers(1, 5)), draw(st.sampled_from([0.0, 0.1, 0.3]))
    return Case(draw(st.integers(0, 2**31)), n, draw(st.booleans()), forbid, draw(st.booleans()))


def key(found):
    return tuple(sorted(map(tuple, found.edges.tolist())))


def agree(tree, trees, totals):
    """Whether every answer is that of the trees that are listed."""
    log_z = np.logaddexp.reduce(totals)
    assert tree.log_partition() == pytest.approx(log_z, rel=1e-12, abs=1e-11)
    if log_z == -np.inf:
        for ask in (tree.argmax, tree.marginals, tree.entropy, tree.sample):
            with pytest.raises(tw.Unsatisfiable, match=r"no edges connect node \d with node 0"):
                ask()
        assert (tree.max_marginals() == -np.inf).all()
        return
    p = np.exp(totals - log_z)
    known = dict(zip(trees, totals, strict=True))
    found = tree.kbest(10)
    best = np.sort(totals[totals > -np.inf])[::-1][:10]
    np.testing.assert_allclose([one.score for one in found], best, rtol=1e-12, atol=1e-12)
    assert len({key(one) for one in found}) == len(found)
    for one in found:
        assert known[key(one)] == pytest.approx(one.score, rel=1e-12, abs=1e-12)
        assert tree.score(one) == pytest.approx(one.score, rel=1e-12, abs=1e-12)
    assert key(tree.argmax()) == key(found[0])
    assert tree.log_prob(found[0]) == pytest.approx(best[0] - log_z, abs=1e-10)
    assert tree.entropy() == pytest.approx(-(p[p > 0] @ np.log(p[p > 0])), rel=1e-9, abs=1e-10)
    assert tree.log_count() == pytest.approx(np.log((totals > -np.inf).sum()), abs=1e-10)
    marginals, most = tree.marginals(), tree.max_marginals()
    for a, b in itertools.product(range(tree.n_nodes), repeat=2):
        having = np.array([tuple(sorted((a, b))) in edges for edges in trees], dtype=bool)
        assert marginals[a, b] == pytest.approx(p[having].sum(), abs=1e-11)
        assert most[a, b] == pytest.approx(totals[having].max(initial=-np.inf), rel=1e-12, abs=1e-11)
    np.testing.assert_array_equal(tree.edge_marginals(), marginals[tuple(tree.ends.T)])
    for drawn in (tree.sample(3, random_state=1), tree.sample(3, random_state=1, replace=False)):
        for one in drawn:
            assert one.score == pytest.approx(known[key(one)])


@given(cases())
def test_every_answer_is_that_of_all_trees_written_out(case):
    agree(case.tree, case.trees, case.totals)


@given(cases(), st.data())
def test_constraints_and_costs_change_what_they_name(case, data):
    gold = data.draw(st.sampled_from(case.trees))
    if any(case.scores[edge] == -np.inf for edge in gold) or not gold:
        return
    forced = data.draw(st.lists(st.sampled_from(gold), unique=True))
    there = [edge for edge in map(tuple, case.tree.ends.tolist()) if edge not in forced]
    forbidden = data.draw(st.lists(st.sampled_from(there), max_size=2)) if there else []
    kept = np.array([set(forced) <= set(tree) and not set(forbidden) & set(tree) for tree in case.trees])
    if (case.totals[kept] > -np.inf).any():
        limited = case.tree.constrained(forced, forbidden)
        agree(limited, case.trees, np.where(kept, case.totals, -np.inf))
        again = limited.constrained(forced)
        assert again.log_partition() == limited.log_partition()
    else:
        with pytest.raises(tw.Unsatisfiable, match="every spanning tree is forbidden"):
            case.tree.constrained(forced, forbidden)
    mask = np.ones((case.n, case.n), dtype=bool)
    for a, b in forbidden:
        mask[b, a] = False
    kept = np.array([not set(forbidden) & set(tree) for tree in case.trees])
    if (case.totals[kept] > -np.inf).any():
        agree(case.tree.constrained(allowed=mask), case.trees, np.where(kept, case.totals, -np.inf))
    wrong = np.array([len(set(tree) - set(gold)) for tree in case.trees])
    agree(case.tree.augmented(gold, scale=0.7), case.trees, case.totals + 0.7 * wrong)
    costs = np.add.outer(np.arange(case.n), np.arange(case.n)) * 0.5
    charged = np.array([sum(costs[edge] for edge in tree) for tree in case.trees])
    agree(case.tree.augmented(gold, cost=costs), case.trees, case.totals + charged)


@given(cases())
def test_divergences_are_sums_over_trees(case):
    if case.log_z == -np.inf:
        return
    other = case.tree._changed(
        np.where(case.tree.scores > -np.inf, case.tree.scores * 0.5 + 1.0, 0.0), case.tree._forced
    )
    totals = np.array([
        sum(dict(zip(map(tuple, other.ends.tolist()), other.scores, strict=True)).get(edge, -np.inf) for edge in tree)
        for tree in case.trees
    ])  # fmt: skip
    p, q = np.exp(case.totals - case.log_z), totals - np.logaddexp.reduce(totals)
    used = p > 0
    assert case.tree.cross_entropy(other) == pytest.approx(-(p[used] @ q[used]), abs=1e-9)
    assert case.tree.kl_divergence(other) == pytest.approx(p[used] @ (np.log(p[used]) - q[used]), abs=1e-9)


def test_a_forced_edge_makes_trees_without_it_impossible():
    tree = tw.SpanningTree(np.zeros((4, 4)))
    limited = tree.constrained(forced=[(2, 1)])
    assert limited.score([(0, 1), (0, 2), (0, 3)]) == -np.inf
    assert limited.score([(0, 1), (1, 2), (0, 3)]) == 0.0
    assert round(np.exp(limited.log_count())) == 8
    assert tree.cross_entropy(limited) == tree.kl_divergence(limited) == np.inf
    assert limited.kl_divergence(tree) == pytest.approx(np.log(2))
    assert repr(limited) == "SpanningTree(4 nodes, 6 edges, 1 forced)"
    whole = tree.constrained(forced=[(0, 1), (1, 2), (2, 3)])
    assert whole.argmax().edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert whole.entropy() == 0.0
    again = pickle.loads(pickle.dumps(limited))
    np.testing.assert_array_equal(again.marginals(), limited.marginals())


def test_equal_scores_go_to_the_first_edges():
    assert tw.SpanningTree(np.zeros((4, 4))).argmax().edges.tolist() == [[0, 1], [0, 2], [0, 3]]
    listed = [(2, 3, 0), (1, 3, 0), (0, 3, 0), (1, 2, 0)]
    assert tw.SpanningTree(listed, 4).argmax().edges.tolist() == [[2, 3], [1, 3], [0, 3]]


def test_a_large_sparse_graph_is_no_matrix():
    rng = np.random.default_rng(0)
    n = 50_000
    a, b = rng.integers(0, n, (2, 4 * n))
    keys = np.unique(np.minimum(a, b)[a != b] * n + np.maximum(a, b)[a != b])
    keys = np.union1d(keys, np.arange(n - 1) * n + np.arange(1, n))
    edges = np.column_stack([keys // n, keys % n, rng.normal(size=len(keys))])
    best, second = tw.SpanningTree(edges, n).kbest(2)
    assert len(best.edges) == n - 1
    assert second.score < best.score


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tw.SpanningTree([]), tw.InvalidInput, r"shape \(n, n\)"),
        (lambda: tw.SpanningTree(np.zeros((2, 3))), tw.InvalidInput, r"shape \(n, n\)"),
        (lambda: tw.SpanningTree([[0, 1], [2, 0]]), tw.InvalidInput, r"edges\[0, 1\] is 1.0 and edges\[1, 0\] is 2.0"),
        (lambda: tw.SpanningTree([[0, np.nan], [np.nan, 0]]), tw.InvalidInput, r"edges\[0, 1\] is NaN"),
        (lambda: tw.SpanningTree([(0, 1, np.nan)], 2), tw.InvalidInput, "NaN"),
        (
            lambda: tw.SpanningTree([(0, 2, 1.0)], 2),
            tw.InvalidInput,
            r"edges\[0\] must connect two of the nodes 0 to 1",
        ),
        (lambda: tw.SpanningTree([(0, 0.5, 1.0)], 2), tw.InvalidInput, r"edges\[0\] must connect"),
        (lambda: tw.SpanningTree([(1, 1, 1.0)], 2), tw.InvalidInput, r"edges\[0\] must connect"),
        (
            lambda: tw.SpanningTree([(0, 1, 1.0), (1, 0, 2.0)], 2),
            tw.InvalidInput,
            r"edges\[1\] connects \(0, 1\) a second",
        ),
        (lambda: tw.SpanningTree([(0, 1)], 2), tw.InvalidInput, r"rows \(i, j, score\)"),
        (lambda: tw.SpanningTree([(0, 1, 1.0)], 0), tw.InvalidInput, "n must be"),
        (lambda: tw.SpanningTree(LINE, 4).argmax(), tw.Unsatisfiable, "no edges connect node 3 with node 0"),
        (lambda: tw.SpanningTree([], 2).argmax(), tw.Unsatisfiable, "no edges connect node 1 with node 0"),
        (lambda: tw.SpanningTree(LINE, 3).constrained([(0, 2)]), tw.InvalidInput, r"forced has \(0, 2\), which is not"),
        (lambda: tw.SpanningTree(LINE, 3).constrained(forbidden=[(0, 1)]), tw.Unsatisfiable, "connect node 1 with"),
        (lambda: tw.SpanningTree(LINE, 3).constrained([(0, 1)], [(0, 1)]), tw.Unsatisfiable, "forced, and forbidden"),
        (
            lambda: tw.SpanningTree(np.zeros((3, 3))).constrained([(0, 1), (1, 2), (0, 2)]),
            tw.Unsatisfiable,
            "make a cycle",
        ),
        (lambda: tw.SpanningTree(LINE, 3).score([(0, 3)]), tw.InvalidInput, "two of the nodes 0 to 2"),
        (lambda: tw.SpanningTree(LINE, 3).score([0, 1]), tw.InvalidInput, "pairs of nodes"),
        (lambda: tw.SpanningTree(LINE, 3).augmented([(0, 1)]), tw.InvalidInput, "gold must be a spanning tree"),
        (lambda: tw.SpanningTree(LINE, 3).augmented([(0, 1), (1, 2)], "x"), tw.InvalidInput, "cost must be"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_what_is_not_a_spanning_tree_scores_minus_infinity():
    tree = tw.SpanningTree([*LINE, (0, 2, 1.0), (2, 3, 1.0)], 4)
    assert tree.score([(0, 1), (1, 2), (0, 2)]) == -np.inf
    assert tree.score([(0, 1), (1, 2)]) == -np.inf
    assert tree.score([(0, 1), (1, 2), (0, 3)]) == -np.inf  # no such edge
    assert tree.score([(1, 0), (2, 1), (3, 2)]) == 4.0
