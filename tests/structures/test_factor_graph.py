"""Factor graphs against enumeration, against chains, against pgmpy, and by identities where neither is possible."""

import itertools
import pickle
from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.graphs import Labellings, random_graph
from trelliswork import (
    Batch,
    Chain,
    ConvergenceWarning,
    DependencyTree,
    FactorGraph,
    InvalidInput,
    Unsatisfiable,
    factors,
)

seeds = st.integers(0, 2**32 - 1)
CLOSE = dict(rtol=1e-9, atol=1e-9)


def grid_edges(height, width):
    cells = np.arange(height * width).reshape(height, width)
    along = np.column_stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()])
    down = np.column_stack([cells[:-1].ravel(), cells[1:].ravel()])
    return np.concatenate([along, down])


# ---- brute force ------------------------------------------------------------------------------------------------


def check_all(graph, truth):
    """Hold every exact answer to the enumeration."""
    assert graph.is_narrow()
    assert graph.log_partition() == pytest.approx(truth.log_partition(), **_pytest_close())
    if len(truth) == 0:
        for question in (graph.argmax, graph.marginals, graph.entropy, graph.sample, lambda: graph.kbest(3)):
            with pytest.raises(Unsatisfiable, match="forbidden"):
                question()
        return
    best = graph.argmax()
    assert best.exact
    assert best.gap == 0.0
    assert best.status == "exact"
    assert best.labels.tolist() in [labels for labels, s in _pairs(truth) if s > truth.scores[0] - 1e-9]
    assert best.score == pytest.approx(truth.scores[0])
    assert graph.score(best.labels) == pytest.approx(best.score)
    found = graph.kbest(len(truth) + 5)
    assert sorted(one.labels.tolist() for one in found) == sorted(truth.labels)
    np.testing.assert_allclose([one.score for one in found], truth.scores, **CLOSE)
    some = graph.kbest(4)
    np.testing.assert_allclose([one.score for one in some], truth.scores[:4], **CLOSE)
    assert some[0].labels.tolist() == best.labels.tolist()
    for answer, expected in (
        (graph.marginals(), truth.marginals()),
        (graph.edge_marginals(), truth.edge_marginals()),
        (graph.max_marginals(), truth.max_marginals()),
    ):
        assert len(answer) == len(expected)
        for one, other in zip(answer, expected, strict=True):
            np.testing.assert_allclose(one, other, **CLOSE)
    assert graph.entropy() == pytest.approx(truth.entropy(), **_pytest_close())
    assert graph.log_count() == pytest.approx(log(len(truth)), **_pytest_close())
    drawn = graph.sample(len(truth) + 3, random_state=0, replace=False)
    assert sorted(drawn.tolist()) == sorted(truth.labels)
    assert graph.log_prob(truth.labels[-1]) == pytest.approx(truth.scores[-1] - truth.log_partition(), abs=1e-8)


def _pytest_close():
    return dict(rel=1e-9, abs=1e-9)


def _pairs(truth):
    return zip(truth.labels, truth.scores, strict=True)


@given(seeds)
def test_every_answer_equals_enumeration_on_graphs_with_cycles_tables_and_logic(seed):
    unary, edges, pairwise, others = random_graph(np.random.default_rng(seed))
    check_all(FactorGraph(unary, edges, pairwise, others), Labellings(unary, edges, pairwise, others))


@given(seeds)
def test_every_answer_equals_enumeration_on_forests(seed):
    unary, edges, pairwise, _ = random_graph(np.random.default_rng(seed), loops=False, others=False)
    check_all(FactorGraph(unary, edges, pairwise), Labellings(unary, edges, pairwise))


def test_the_best_and_sums_equal_enumeration_on_thousands_of_graphs():
    for seed in range(2_000):
        unary, edges, pairwise, others = random_graph(np.random.default_rng(seed), 5, 3)
        graph, truth = FactorGraph(unary, edges, pairwise, others), Labellings(unary, edges, pairwise, others)
        assert graph.log_partition() == pytest.approx(truth.log_partition(), **_pytest_close())
        if len(truth):
            assert graph.argmax().score == pytest.approx(truth.scores[0])
            np.testing.assert_allclose(
                np.concatenate([[], *graph.marginals()]), np.concatenate([[], *truth.marginals()]), **CLOSE
            )


def test_one_number_worked_by_hand():
    graph = FactorGraph([[0.0, 1.0], [0.0, 2.0]], [(0, 1)], [[[0.0, 0.0], [0.0, -4.0]]])
    assert graph.argmax().labels.tolist() == [0, 1]
    assert graph.log_partition() == pytest.approx(log(1 + np.e**2 + np.e + np.exp(-1)))


# ---- forms of input ---------------------------------------------------------------------------------------------


def test_forms_of_scores_are_the_same_graph():
    rng = np.random.default_rng(0)
    unary, table = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    edges = [(0, 1), (2, 1), (3, 0)]
    graphs = [
        FactorGraph(unary, edges, table),
        FactorGraph(list(unary), np.array(edges), [table] * 3),
        FactorGraph(unary.tolist(), edges, table.tolist()),
        FactorGraph(unary, edges, np.array([table] * 3)),
        FactorGraph(unary, [edge[::-1] for edge in edges], table.T),
        FactorGraph(unary, edges, [table.tolist()] * 3),
    ]
    expected = graphs[0].log_partition()
    for graph in graphs:
        assert graph.log_partition() == pytest.approx(expected)


def test_several_edges_between_two_variables_add_up():
    rng = np.random.default_rng(0)
    unary, a, b = rng.normal(size=(2, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    both = FactorGraph(unary, [(0, 1), (1, 0)], [a, b])
    assert both.log_partition() == pytest.approx(FactorGraph(unary, [(0, 1)], a + b.T).log_partition())
    np.testing.assert_allclose(both.edge_marginals()[0], both.edge_marginals()[1].T)


def test_empty_and_disconnected_graphs():
    for nothing in ([], np.zeros((0, 3))):
        empty = FactorGraph(nothing)
        assert empty.argmax().labels.tolist() == []
        assert empty.log_partition() == 0.0
        assert empty.entropy() == 0.0
        assert empty.marginals() == []
        assert len(empty.kbest(3)) == 1
        assert empty.sample(2).shape == (2, 0)
    apart = FactorGraph([[0.0, 1.0], [2.0], [0.0, 0.0, 3.0]])
    assert apart.argmax().labels.tolist() == [1, 0, 2]
    assert apart.log_partition() == pytest.approx(np.logaddexp(0, 1) + 2 + np.logaddexp.reduce([0, 0, 3]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(unary=[[0.0, np.nan]]), r"unary\[0\]\[1\] is NaN"),
        (dict(unary=np.array([[0.0, np.inf]])), r"unary\[0, 1\] is \+inf"),
        (dict(unary=[[0.0], []]), r"unary\[1\] is empty"),
        (dict(unary=3.0), "unary must be"),
        (dict(unary=[[[0.0]]]), r"unary\[0\] must be a list of numbers"),
        (dict(unary=np.zeros((2, 2)), edges=[(0, 2)], pairwise=np.zeros((2, 2))), r"edges\[0\] is \(0, 2\)"),
        (dict(unary=np.zeros((2, 2)), edges=[(0, -1)], pairwise=np.zeros((2, 2))), "numbered 0 to 1"),
        (dict(unary=np.zeros((2, 2)), edges=[(0, 1), (1, 1)], pairwise=np.zeros((2, 2))), r"edges\[1\] .* itself"),
        (dict(unary=np.zeros((2, 2)), edges=[(0, 1)]), "pairwise must have scores for the 1 edges"),
        (dict(unary=np.zeros((2, 2)), edges=[(0, 1)], pairwise=np.zeros((2, 2, 2))), "found 2"),
        (dict(unary=np.zeros((2, 2)), edges=[(0, 1)], pairwise=np.zeros((2, 3))), r"pairwise\[0\] .* \(2, 2\)"),
        (dict(unary=[[0.0], [0.0, 1.0]], edges=[(0, 1)], pairwise=[np.zeros((2, 1))]), r"\(1, 2\)"),
        (dict(unary=np.zeros((2, 2)), edges=[(0, 1)], pairwise=[[[0, 1], [np.nan, 0]]]), r"pairwise\[0, 1, 0\] is NaN"),
        (dict(unary=np.zeros((2, 2)), edges=[(0.5, 1)], pairwise=np.zeros((2, 2))), "pairs of variables"),
        (dict(unary=np.zeros((2, 2)), factors=["xor"]), r"factors\[0\] is a str"),
        (dict(unary=np.zeros((2, 2)), factors=[factors.Xor([5])]), "about variable 5"),
        (dict(unary=np.zeros((2, 2)), factors=[factors.Or([(0, 2)])]), "label 2 of variable 0"),
        (dict(unary=np.zeros((2, 2)), factors=[factors.Table([0], [1.0, 2.0, 3.0])]), r"shape \(2,\)"),
    ],
)
def test_what_is_wrong_is_said(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        FactorGraph(**arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: factors.Xor([]), "at least one literal"),
        (lambda: factors.Or([(0, 1), (0, 1)]), "different"),
        (lambda: factors.AtMost([0], -1), "k"),
        (lambda: factors.Table([0, 0], np.zeros((2, 2))), "different"),
        (lambda: factors.Table([0, 1], np.zeros(2)), "one axis"),
        (lambda: factors.Xor([(0, 1, 2)]), "pairs"),
        (lambda: factors.Structure(3, [0]), "bare scores"),
        (lambda: factors.Structure(Chain(np.zeros((2, 2)), np.zeros((2, 2))), [0, 1, 2]), "shape"),
    ],
)
def test_what_is_wrong_with_factors_is_said(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_labels_methods_and_settings_are_checked():
    graph = FactorGraph([[0.0, 1.0], [0.0, 1.0, 2.0]])
    for call, message in (
        (lambda: graph.score([0]), "one label per variable"),
        (lambda: graph.score([0, 3]), r"labels\[1\] is 3; variable 1 has labels 0 to 2"),
        (lambda: graph.argmax(method="magic"), "method must be"),
        (lambda: graph.argmax(time_limit=0.0), "time_limit"),
        (lambda: graph.argmax(damping=1.0), "damping"),
        (lambda: graph.argmax(method="trw", start=3), "start"),
        (lambda: graph.kbest(0), "k"),
        (lambda: graph.constrained(fixed={7: 0}), "variable 7"),
        (lambda: graph.constrained(fixed={1: 3}), "labels are indices"),
        (lambda: graph.constrained(allowed=[None]), "one entry per variable"),
        (lambda: graph.augmented([0, 0], cost=np.zeros((2, 2))), "hamming"),
        (lambda: graph.beliefs(method="exact"), "bp"),
    ):
        with pytest.raises(InvalidInput, match=message):
            call()


# ---- logic ------------------------------------------------------------------------------------------------------


def test_at_most_over_a_thousand_variables_is_narrow_and_counts_right():
    graph = FactorGraph(np.zeros((1_000, 2)), factors=[factors.AtMost(range(1_000), 3)])
    assert graph.width()[0] < 100
    assert graph.log_count() == pytest.approx(log(sum(comb(1_000, i) for i in range(4))))
    assert FactorGraph(np.zeros((500, 2)), factors=[factors.Xor(range(500))]).log_count() == pytest.approx(log(500))
    assert FactorGraph(np.zeros((50, 2)), factors=[factors.Or(range(50))]).log_count() == pytest.approx(log(2**50 - 1))


def test_a_budget_over_a_chain_takes_the_best_ones():
    rng = np.random.default_rng(3)
    unary = np.column_stack([np.zeros(300), rng.normal(size=300)])
    budget = factors.AtMost(rng.permutation(300), 7)
    edges = [(i, i + 1) for i in range(299)]
    found = FactorGraph(unary, edges, np.zeros((2, 2)), [budget]).argmax()
    assert sorted(np.flatnonzero(found.labels)) == sorted(np.argsort(-unary[:, 1])[:7])


def test_a_structure_as_one_factor_is_never_ignored():
    chain = Chain([[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, -np.inf]])
    graph = FactorGraph(np.zeros((2, 2)), factors=[factors.Structure(chain, [0, 1])])
    assert not graph.is_narrow()
    for question in (graph.marginals, graph.log_partition, lambda: graph.argmax(method="exact")):
        with pytest.raises(InvalidInput, match="structure as one factor"):
            question()
    assert graph.score([0, 1]) == 1.0
    assert graph.score([1, 1]) == -np.inf
    scores = np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 3.0], [0.0, 1.0, 0.0]])
    tree = DependencyTree(scores)
    arcs = np.array([[-1, 0, 1], [-1, -1, 2], [-1, 3, -1]])
    graph = FactorGraph(np.zeros((4, 2)), factors=[factors.Structure(tree, arcs)])
    assert graph.score([1, 0, 1, 0]) == pytest.approx(5.0)  # the root heads word 1, word 1 heads word 2
    assert graph.score([1, 0, 1, 1]) == -np.inf
    assert graph.score([1, 0, 0, 0]) == -np.inf


# ---- other graphs of the same kind ------------------------------------------------------------------------------


@given(seeds)
def test_cost_and_constraints_change_the_scores_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    unary, edges, pairwise, others = random_graph(rng, 4)
    if not unary:
        return
    gold = [int(rng.integers(len(u))) for u in unary]
    charged = [u + 0.5 * (np.arange(len(u)) != g) for u, g in zip(unary, gold, strict=True)]
    graph = FactorGraph(unary, edges, pairwise, others)
    costly = graph.augmented(gold, scale=0.5)
    truth = Labellings(charged, edges, pairwise, others)
    assert costly.log_partition() == pytest.approx(truth.log_partition(), **_pytest_close())
    fixed = [g if rng.random() < 0.3 else -1 for g in gold]
    left = [labels for labels in Labellings(unary, edges, pairwise, others).labels if _agrees(labels, fixed)]
    for form in (fixed, {v: g for v, g in enumerate(fixed) if g >= 0}):
        if left:
            limited = graph.constrained(fixed=form)
            assert sorted(one.labels.tolist() for one in limited.kbest(1_000)) == sorted(left)
        else:
            with pytest.raises(Unsatisfiable):
                graph.constrained(fixed=form)
    sets = [None if f < 0 else {f} for f in fixed]
    if left:
        assert graph.constrained(allowed=sets).log_count() == pytest.approx(log(len(left)), abs=1e-9)


def _agrees(labels, fixed):
    return all(f in (-1, label) for label, f in zip(labels, fixed, strict=True))


def test_other_scores_of_the_same_graph():
    rng = np.random.default_rng(0)
    graph = FactorGraph(rng.normal(size=(9, 3)), grid_edges(3, 3), rng.normal(size=(12, 3, 3)))
    unary, pairwise = rng.normal(size=(9, 3)), rng.normal(size=(12, 3, 3))
    other = graph.with_scores(unary, pairwise)
    assert other.log_partition() == FactorGraph(unary, grid_edges(3, 3), pairwise).log_partition()
    assert other._core is graph._core
    assert graph.kl_divergence(graph) == 0.0
    assert graph.kl_divergence(other) > 0.0
    np.testing.assert_allclose(
        Batch([graph, other], n_jobs=2).log_partition(), [graph.log_partition(), other.log_partition()]
    )
    again = pickle.loads(pickle.dumps(other))
    assert again.log_partition() == other.log_partition()
    assert repr(again) == repr(other)
    with pytest.raises(InvalidInput, match="as many"):
        graph.with_scores(unary=np.zeros((9, 2)))
    with pytest.raises(ValueError, match="read-only"):
        graph.unary[0][0] = 1.0


# ---- large, wide and extreme ------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 50, 1_000, 100_000])
def test_a_chain_of_any_length_is_a_chain(length):
    rng = np.random.default_rng(length)
    unary, transitions = rng.normal(size=(length, 3)), rng.normal(size=(3, 3))
    order = rng.permutation(length)  # of variables along the chain
    edges = np.column_stack([order[:-1], order[1:]])
    shuffled = np.empty_like(unary)
    shuffled[order] = unary
    graph, chain = FactorGraph(shuffled, edges, transitions), Chain(unary, transitions)
    best = graph.argmax()
    assert best.labels[order].tolist() == chain.argmax().labels.tolist()
    assert best.score == pytest.approx(chain.argmax().score, rel=1e-12)
    assert graph.log_partition() == pytest.approx(chain.log_partition(), rel=1e-12)
    assert graph.entropy() == pytest.approx(chain.entropy(), rel=1e-9)
    np.testing.assert_allclose(np.array(graph.marginals())[order], chain.marginals(), atol=1e-9)
    np.testing.assert_allclose([one.score for one in graph.kbest(3)], [one.score for one in chain.kbest(3)], rtol=1e-9)
    assert graph.width()[0] <= 9


def test_a_star_of_many_leaves_and_a_deep_caterpillar_are_narrow():
    rng = np.random.default_rng(0)
    n = 50_000
    star = FactorGraph(
        rng.normal(size=(n, 2)), np.column_stack([np.arange(1, n), np.zeros(n - 1, dtype=int)]), np.eye(2)
    )
    assert star.width()[0] == 4
    total = np.logaddexp.reduce(
        [star.unary[0][k] + np.logaddexp.reduce(np.array(star.unary[1:]) + np.eye(2)[k], axis=1).sum() for k in (0, 1)]
    )
    assert star.log_partition() == pytest.approx(total, rel=1e-12)


def test_what_is_too_wide_is_refused_with_the_number_and_searched_all_the_same():
    n = 40
    edges = list(itertools.combinations(range(n), 2))
    rng = np.random.default_rng(0)
    graph = FactorGraph(rng.normal(size=(n, 3)), edges, rng.normal(size=(len(edges), 3, 3)))
    assert not graph.is_narrow()
    for question in (graph.marginals, graph.entropy, graph.log_partition, graph.sample, lambda: graph.kbest(2)):
        with pytest.raises(InvalidInput, match=r"table of 10\^\d+ entries.*limit is 16,777,216"):
            question()
    with pytest.raises(InvalidInput, match="too wide"):
        graph.argmax(method="exact")
    found = graph.argmax(iterations=10)
    assert graph.score(found.labels) == pytest.approx(found.score)
    assert found.gap >= 0.0
    assert found.exact == (found.gap == 0.0)
    assert "exact" not in found.status


def test_a_narrow_grid_equals_the_chain_of_its_columns():
    rng = np.random.default_rng(0)
    height, width = 3, 40
    unary, edges = rng.normal(size=(height * width, 2)), grid_edges(height, width)
    pairwise = rng.normal(size=(len(edges), 2, 2))
    columns = list(itertools.product((0, 1), repeat=height))
    rows = np.zeros((width, len(columns)))
    moves = np.zeros((width - 1, len(columns), len(columns)))
    for x, (c, labels) in itertools.product(range(width), enumerate(columns)):
        rows[x, c] += sum(unary[y * width + x, labels[y]] for y in range(height))
    for (a, b), table in zip(edges.tolist(), pairwise, strict=True):
        (y, x), (z, w) = divmod(a, width), divmod(b, width)
        for c, first in enumerate(columns):
            if x == w:
                rows[x, c] += table[first[y], first[z]]
            else:
                for d, second in enumerate(columns):
                    moves[x, c, d] += table[first[y], second[z]]
    graph, chain = FactorGraph(unary, edges, pairwise), Chain(rows, moves)
    assert graph.argmax().score == pytest.approx(chain.argmax().score)
    assert graph.log_partition() == pytest.approx(chain.log_partition(), rel=1e-12)
    assert graph.entropy() == pytest.approx(chain.entropy(), rel=1e-9)
    by_column = chain.marginals()
    for x, y in itertools.product(range(width), range(height)):
        expected = sum(by_column[x, c] for c, labels in enumerate(columns) if labels[y] == 1)
        assert graph.marginals()[y * width + x][1] == pytest.approx(expected) if x % 13 == 0 else True


@pytest.mark.parametrize("size", [1e-300, 1e5, 1e12, 1e299])
def test_extreme_scores_leave_marginals_finite_and_summing_to_one(size):
    rng = np.random.default_rng(0)
    graph = FactorGraph(rng.normal(size=(9, 3)) * size, grid_edges(3, 3), rng.normal(size=(12, 3, 3)) * size / 100)
    for p in graph.marginals():
        assert p.sum() == pytest.approx(1.0)
        assert (p >= 0).all()
    best, marginals = graph.argmax(), graph.marginals()
    if size >= 1e5:  # one labelling has it all
        assert [int(p.argmax()) for p in marginals] == best.labels.tolist()
        assert graph.entropy() == pytest.approx(0.0, abs=1e-6)
        assert graph.log_partition() == pytest.approx(best.score, rel=1e-12)
    assert graph.sample(1, random_state=0).shape == (1, 9)


def test_samples_have_the_frequencies_of_marginals():
    rng = np.random.default_rng(5)
    graph = FactorGraph(rng.normal(size=(6, 3)), grid_edges(2, 3), rng.normal(size=(7, 3, 3)))
    drawn = graph.sample(20_000, random_state=1)
    for v, p in enumerate(graph.marginals()):
        np.testing.assert_allclose(np.bincount(drawn[:, v], minlength=3) / 20_000, p, atol=0.02)
    assert graph.sample(5, random_state=7).tolist() == graph.sample(5, random_state=7).tolist()


def test_an_impossible_graph_says_where():
    table = np.full((2, 2), -np.inf)
    with pytest.raises(Unsatisfiable, match=r"variable [12]"):
        FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2)], [np.zeros((2, 2)), table]).argmax()


def test_messages_on_a_tree_are_exact():
    rng = np.random.default_rng(2)
    unary, edges, pairwise, _ = random_graph(rng, 6, 3, loops=False, others=False)
    unary = [np.where(u == -np.inf, 0.0, u) for u in unary]
    pairwise = [np.where(t == -np.inf, 0.0, t) for t in pairwise]
    graph = FactorGraph(unary, edges, pairwise)
    for method in ("bp", "trw"):
        found = graph.beliefs(method, tolerance=1e-10)
        assert found.converged
        assert found.log_partition == pytest.approx(graph.log_partition(), abs=1e-5)
        for one, other in zip(found.marginals, graph.marginals(), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


# ---- searches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bp", "trw", "ad3", "ilp", "cut"])
def test_searches_lie_within_their_bounds_always(method):
    possible, proved = 0, 0
    for seed in range(150):
        unary, edges, pairwise, others = random_graph(np.random.default_rng(seed), 5, 3, others=method != "cut")
        graph, truth = FactorGraph(unary, edges, pairwise, others), Labellings(unary, edges, pairwise, others)
        possible += len(truth) > 0
        try:
            found = graph.argmax(method=method)
        except Unsatisfiable as error:
            if len(truth) and "not known" not in str(error):
                raise
            continue
        assert graph.score(found.labels) == pytest.approx(found.score)
        assert found.score <= truth.scores[0] + 1e-9 <= found.score + found.gap + 2e-9
        assert found.exact == (found.gap == 0.0)
        if found.exact:
            assert found.status == "proved"
            assert found.score == pytest.approx(truth.scores[0])
        proved += found.exact
    assert proved == possible if method == "ilp" else proved > possible / 3


def test_a_search_that_proves_is_exact_and_one_may_begin_where_another_ended():
    rng = np.random.default_rng(0)
    edges = list(itertools.combinations(range(9), 2))
    unary, pairwise = rng.normal(size=(9, 3)), rng.normal(size=(36, 3, 3))
    graph = FactorGraph(unary, edges, pairwise)
    proved = graph.argmax(method="trw", prove=True)
    assert proved.exact
    assert proved.score == pytest.approx(graph.argmax().score)
    first = graph.argmax(method="trw")
    again = graph.with_scores(unary=unary + 0.01 * rng.normal(size=(9, 3))).argmax(method="trw", start=first)
    assert np.isfinite(again.gap)
    assert graph.argmax(method="trw", start=first).score >= first.score
    beliefs = graph.beliefs("trw", iterations=200)
    assert beliefs.is_bound
    assert beliefs.log_partition >= graph.log_partition() - 1e-9
    assert graph.beliefs("trw", start=beliefs).iterations <= beliefs.iterations
    with pytest.warns(ConvergenceWarning, match="did not come to rest"):
        graph.marginals(method="bp", iterations=1)


def test_a_time_limit_that_elimination_would_not_keep_is_given_to_a_search():
    rng = np.random.default_rng(0)
    graph = FactorGraph(rng.normal(size=(150, 3)), grid_edges(10, 15), rng.normal(size=(275, 3, 3)))
    assert graph.is_narrow()
    assert graph.argmax().status == "exact"
    found = graph.argmax(time_limit=1e-3)
    assert found.status != "exact"
    assert found.score + found.gap >= graph.argmax().score - 1e-9


def test_graphs_that_are_too_wide_for_elimination_but_submodular_are_cut_exactly():
    rng = np.random.default_rng(0)
    edges = grid_edges(30, 30)
    tables = np.eye(2) * rng.random(size=(len(edges), 1, 1))
    graph = FactorGraph(rng.normal(size=(900, 2)), edges, tables)
    assert not graph.is_narrow()
    found = graph.argmax()
    assert found.exact
    assert found.score == pytest.approx(graph.score(found.labels))
    assert graph.argmax(method="trw").score <= found.score + 1e-9


def test_a_whole_structure_as_one_factor_equals_enumeration():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        chain = Chain(rng.normal(size=(4, 2)) * 2, rng.normal(size=(2, 2)))
        unary, table = rng.normal(size=(4, 2)), rng.normal(size=(2, 2)) * 2
        graph = FactorGraph(unary, [(0, 3)], [table], [factors.Structure(chain, [0, 1, 2, 3])])
        alike = FactorGraph(
            unary + chain.unary, [(0, 3), (0, 1), (1, 2), (2, 3)], [table, *[np.array(chain.transitions)] * 3]
        )
        found, best = graph.argmax(), alike.argmax()
        assert graph.score(found.labels) == pytest.approx(found.score) == alike.score(found.labels)
        assert found.score <= best.score + 1e-9 <= found.score + found.gap + 2e-9
        assert not found.exact or found.score == pytest.approx(best.score)


# ---- pgmpy ------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(6))
def test_marginals_and_the_best_equal_those_of_pgmpy(seed):
    pgmpy_models = pytest.importorskip("pgmpy.models", reason="pgmpy is the judge")
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import VariableElimination

    rng = np.random.default_rng(seed)
    n, k = 7, 3
    edges = [(v, int(rng.integers(v))) for v in range(1, n)]
    if seed % 2:
        edges += [(a, b) for a, b in ((0, 5), (2, 6)) if (b, a) not in edges]
    unary, pairwise = rng.normal(size=(n, k)), rng.normal(size=(len(edges), k, k))
    model = pgmpy_models.DiscreteMarkovNetwork()
    model.add_nodes_from(str(v) for v in range(n))
    model.add_edges_from((str(a), str(b)) for a, b in edges)
    for v in range(n):
        model.add_factors(DiscreteFactor([str(v)], [k], np.exp(unary[v])))
    for (a, b), table in zip(edges, pairwise, strict=True):
        model.add_factors(DiscreteFactor([str(a), str(b)], [k, k], np.exp(table)))
    graph, judge = FactorGraph(unary, edges, pairwise), VariableElimination(model)
    for v, p in enumerate(graph.marginals()):
        values = judge.query([str(v)], show_progress=False).values
        np.testing.assert_allclose(values / values.sum(), p, atol=1e-9)
    best = judge.map_query([str(v) for v in range(n)], show_progress=False)
    assert graph.argmax().labels.tolist() == [int(best[str(v)]) for v in range(n)]
    assert graph.log_partition() == pytest.approx(float(np.log(model.get_partition_function())))
