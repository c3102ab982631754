"""Searches of loopy factor graphs: always within their bounds, exact where they say so."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, linprog, minimize
from scipy.special import logsumexp

from interrupting import assert_interruptible
from trelliswork import Chain, FactorGraph, _core
from trelliswork.errors import Unsatisfiable
from trelliswork.structures.factors import AtMost, Or, Structure, Table, Xor

METHODS = ("auto", "trw", "ad3", "bp")


def random_graph(rng, most_variables=5, forbid=True):
    """Return unary scores, tables as (variables, scores) and logic factors of a small graph."""
    n = int(rng.integers(1, most_variables + 1))
    sizes = rng.integers(1, 5, n)
    scale = rng.choice([0.3, 1.0, 5.0])

    def scores(shape):
        out = rng.normal(size=shape) * scale
        out = np.round(out) if ties else out
        return np.where(rng.random(shape) < 0.2, -np.inf, out) if holes else out

    ties, holes = rng.random() < 0.3, forbid and rng.random() < 0.3
    unary = [scores(k) for k in sizes]
    tables = []
    for _ in range(rng.integers(0, 9)):
        variables = rng.permutation(n)[: rng.choice([1, 2, 2, 2, 3])]
        tables.append((variables.tolist(), scores(sizes[variables])))
    logic = []
    for _ in range(rng.integers(0, 2) * rng.integers(0, 3)):
        chosen = rng.permutation(n)[: rng.integers(1, n + 1)]
        literals = sorted({(int(v), int(rng.integers(sizes[v]))) for v in chosen for _ in range(rng.integers(1, 3))})
        kind = rng.choice([Xor, Or, AtMost])
        logic.append(kind(literals, int(rng.integers(0, 3))) if kind is AtMost else kind(literals))
    return unary, tables, logic


def built(unary, tables, logic):
    return FactorGraph(unary, factors=[Table(v, t) for v, t in tables] + logic)


def is_allowed(factor, labels):
    n_true = sum(labels[v] == x for v, x in factor.literals.tolist())
    if isinstance(factor, Xor):
        return n_true == 1
    return n_true >= 1 if isinstance(factor, Or) else n_true <= factor.most


def every_labelling(unary, tables, logic):
    """Yield all labellings with their scores."""
    for labels in itertools.product(*(range(len(u)) for u in unary)):
        total = sum(u[x] for u, x in zip(unary, labels, strict=True))
        total += sum(t[tuple(labels[v] for v in variables)] for variables, t in tables)
        yield labels, total if all(is_allowed(f, labels) for f in logic) else -np.inf


def searched(graph, method, iterations=300, tolerance=1e-6, seconds=0.0, relaxed=False, branch=False, state=None):
    """Return labels, score, bound, shares, converged, iterations of the core's search."""
    state = _core.SearchState() if state is None else state
    return graph._core.search(graph._scores, method, iterations, tolerance, 0.5, seconds, relaxed, branch, state)


def grid(n, n_labels, rng, potts=None):
    cells = np.arange(n * n).reshape(n, n)
    edges = np.concatenate(
        [
            np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()], 1),
            np.stack([cells[:-1].ravel(), cells[1:].ravel()], 1),
        ]
    )
    tables = rng.normal(size=(len(edges), n_labels, n_labels)) if potts is None else potts * np.eye(n_labels)
    return FactorGraph(rng.normal(size=(n * n, n_labels)), edges, tables)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_between_score_and_bound(method, seed):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        parts = random_graph(rng)
        scores = dict(every_labelling(*parts))
        best = max(scores.values())
        graph = built(*parts)
        for iterations, branch in ((0, False), (1, False), (100, False), (100, True)):
            labels, score, bound, *_ = searched(graph, method, iterations, branch=branch)
            assert score <= best + 1e-9
            assert bound >= best - 1e-9
            if len(labels):
                assert abs(scores[tuple(labels.tolist())] - score) <= 1e-9
            else:
                assert score == -np.inf
            if score == bound and best > -np.inf:
                assert abs(score - best) <= 1e-9
        assert score == bound  # of the last one, which branches


@pytest.mark.parametrize("method", METHODS)
def test_trees_are_solved(method):
    rng = np.random.default_rng(1)
    for _ in range(30):
        n = int(rng.integers(2, 30))
        edges = [(int(rng.integers(v)), v) for v in range(1, n)]
        graph = FactorGraph(rng.normal(size=(n, 3)), edges, rng.normal(size=(n - 1, 3, 3)))
        _, score, bound, *_ = searched(graph, method)
        assert_allclose([score, bound], graph.argmax(method="exact").score, rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 300.0, 2000.0])
@pytest.mark.parametrize("method", ["bp", "trw"])
def test_beliefs_of_trees_are_exact(method, scale):
    rng = np.random.default_rng(2)
    for _ in range(30):
        n = int(rng.integers(1, 12))
        edges = [(int(rng.integers(v)), v) for v in range(1, n)]
        unary = [rng.normal(size=int(rng.integers(1, 5))) * scale for _ in range(n)]
        pairs = [rng.normal(size=(len(unary[a]), len(unary[b]))) * scale for a, b in edges]
        graph = FactorGraph(unary, edges, pairs)
        found = graph.beliefs(method)
        assert_allclose(found.log_partition, graph.log_partition(), rtol=1e-9, atol=1e-9)
        for mine, exact in zip(found.marginals, graph.marginals(), strict=True):
            assert_allclose(mine, exact, rtol=0, atol=1e-9)
        for mine, exact in zip(found.edge_marginals, graph.edge_marginals(), strict=True):
            assert_allclose(mine, exact, rtol=0, atol=1e-9)


def test_reweighted_sums_bound_log_z_whenever_they_stop():
    rng = np.random.default_rng(3)
    for _ in range(200):
        parts = random_graph(rng)
        log_z = logsumexp([s for _, s in every_labelling(*parts)])
        graph = built(*parts)
        bounds = []
        for iterations in (0, 1, 50):
            found = graph._core.beliefs(graph._scores, "trw", iterations, 1e-6, 0.5, 0.0, _core.SearchState())
            assert found[3]
            assert found[0] >= log_z - 1e-9 * max(1.0, abs(log_z))
            bounds.append(found[0])
        assert bounds[0] >= bounds[1] >= bounds[2]


def test_belief_propagation_is_near_on_weak_cycles():
    rng = np.random.default_rng(4)
    graph = grid(4, 3, rng, potts=0.3)
    found = graph.beliefs("bp", tolerance=1e-10)
    assert found.converged
    assert_allclose(found.log_partition, graph.log_partition(), rtol=1e-3)
    assert_allclose(found.marginals, graph.marginals(), atol=0.02)
    assert_allclose(np.sum(found.marginals, axis=1), 1.0, rtol=1e-9)


def relaxation(unary, tables, logic):
    """Return value and equations of the linear relaxation over the local polytope."""
    starts = np.cumsum([0, *(len(u) for u in unary)])
    scores = np.concatenate([*unary, *(t.ravel() for _, t in tables)])
    equal, sums, at_most, limits = [], [], [], []

    def row():
        return np.zeros(len(scores))

    for v in range(len(unary)):
        one = row()
        one[starts[v] : starts[v + 1]] = 1.0
        equal.append(one)
        sums.append(1.0)
    at = starts[-1]
    for variables, table in tables:
        entries = np.arange(table.size).reshape(table.shape) + at
        at += table.size
        for axis, v in enumerate(variables):
            for x in range(len(unary[v])):
                one = row()
                one[np.take(entries, x, axis=axis).ravel()] = 1.0
                one[starts[v] + x] -= 1.0
                equal.append(one)
                sums.append(0.0)
    n_local = len(equal)
    for factor in logic:
        one = row()
        for v, x in factor.literals.tolist():
            one[starts[v] + x] += 1.0
        if isinstance(factor, Xor):
            equal.append(one)
            sums.append(1.0)
        else:
            at_most.append(-one if isinstance(factor, Or) else one)
            limits.append(-1.0 if isinstance(factor, Or) else factor.most)
    found = linprog(
        -np.where(np.isfinite(scores), scores, 0.0),
        A_eq=np.array(equal),
        b_eq=sums,
        A_ub=np.array(at_most) if at_most else None,
        b_ub=limits or None,
        bounds=[(0.0, 1.0 if np.isfinite(s) else 0.0) for s in scores],
    )
    value = -found.fun if found.status == 0 else -np.inf
    return value, np.array(equal[:n_local]), np.array(sums[:n_local]), scores


def test_relaxed_shares_solve_the_linear_relaxation():
    rng = np.random.default_rng(5)
    fractional = 0
    for _ in range(150):
        parts = random_graph(rng)
        value, equal, sums, scores = relaxation(*parts)
        if value == -np.inf:
            continue
        found = searched(built(*parts), "ad3", iterations=3000, tolerance=1e-7, relaxed=True)
        shares, converged = found[3], found[4]
        assert converged
        assert shares.min() >= 0.0
        assert shares.max() <= 1.0 + 1e-9
        assert_allclose(equal @ shares, sums, rtol=0, atol=1e-4)
        has = shares > 0.0
        assert np.isfinite(scores[has]).all()
        assert abs(shares[has] @ scores[has] - value) <= 1e-3 * max(1.0, abs(value))
        assert found[2] >= max(s for _, s in every_labelling(*parts)) - 1e-9
        fractional += bool(np.any((shares > 1e-4) & (shares < 1 - 1e-4)))
    assert fractional > 3  # else nothing was tested


@pytest.mark.parametrize(("least", "most"), [(1, 1), (1, 4), (0, 2), (0, 0), (2, 3), (4, 4)])
def test_projections_are_the_nearest_points(least, most):
    rng = np.random.default_rng(6)
    for _ in range(15):
        point = rng.normal(size=4) * rng.choice([0.3, 1.0, 3.0])
        point = np.round(point) if rng.random() < 0.3 else point
        found = point.copy()
        _core.project_to_counts(found, least, most)
        nearest = minimize(
            lambda x, to: np.sum((x - to) ** 2),
            np.full(4, np.clip(0.5, least / 4, most / 4)),
            args=(point,),
            jac=lambda x, to: 2 * (x - to),
            bounds=[(0, 1)] * 4,
            constraints=[LinearConstraint(np.ones((1, 4)), least, most)],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert found.min() >= 0.0
        assert found.max() <= 1.0
        assert least - 1e-9 <= found.sum() <= most + 1e-9
        assert_allclose(np.sum((found - point) ** 2), nearest.fun, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_chain_as_one_factor(seed):
    """A chain with a limit on one label: dual decomposition against brute force."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        length, n_labels = int(rng.integers(2, 6)), 3
        unary, moves = rng.normal(size=(length, n_labels)), rng.normal(size=(n_labels, n_labels))
        limit = AtMost([(t, 0) for t in range(length)], 1)
        whole = Structure(Chain(np.zeros((length, n_labels)), moves), np.arange(length))
        graph = FactorGraph(unary, factors=[whole, limit])
        chain = Chain(unary, moves)
        best = max(
            chain.score(labels) for labels in itertools.product(range(n_labels), repeat=length) if labels.count(0) <= 1
        )
        for branch in (False, True):
            _, score, bound, *_ = searched(graph, "auto", branch=branch)
            assert score <= best + 1e-9
            assert bound >= best - 1e-9
        assert score == bound


@pytest.mark.parametrize("method", METHODS)
def test_a_warm_start_gives_the_same_answer(method):
    rng = np.random.default_rng(7)
    graph, state = grid(5, 4, rng), _core.SearchState()
    first = searched(graph, method, branch=True, state=state)
    again = searched(graph, method, branch=True, state=state)
    assert_allclose(again[1:3], first[1:3], rtol=1e-12)
    moved = graph.with_scores(unary=rng.normal(size=(25, 4)) * 0.01 + np.array(graph.unary))
    warm = searched(moved, method, branch=True, state=state)
    assert_allclose(warm[1:3], searched(moved, method, branch=True)[1:3], rtol=1e-9)


def test_states_of_other_graphs_do_no_harm():
    rng = np.random.default_rng(8)
    wide, narrow = grid(3, 6, rng), grid(3, 3, rng)
    for method in METHODS:
        state = _core.SearchState()
        searched(wide, method, state=state)
        assert_allclose(searched(narrow, method, branch=True, state=state)[1], narrow.argmax().score, rtol=1e-12)
    for method in ("bp", "trw"):
        state = _core.SearchState()
        other = grid(3, 3, rng)
        other._core.beliefs(other._scores, method, 50, 1e-6, 0.5, 0.0, state)
        found = narrow._core.beliefs(narrow._scores, method, 500, 1e-6, 0.5, 0.0, state)
        assert not found[3] or found[0] >= narrow.log_partition()


def test_small_grids_are_proved_where_branching_is_asked_for():
    rng = np.random.default_rng(9)
    for n_labels in (2, 5):
        graph = grid(6, n_labels, rng)
        found = graph.argmax(method="trw", prove=True)
        assert found.exact
        assert_allclose(found.score, graph.argmax(method="exact").score, rtol=1e-12)


def test_large_grids_have_a_small_gap():
    """What AD3 leaves unsolved: 20 x 20, five labels, random tables."""
    found = grid(20, 5, np.random.default_rng(10)).argmax()
    assert found.gap <= 0.02 * found.score


def test_ties_and_forbidden_labels():
    ring = [(0, 1), (1, 2), (2, 0)]
    for method in METHODS:
        same = FactorGraph(np.zeros((3, 2)), ring, np.zeros((2, 2))).argmax(method=method)
        assert same.exact
        assert same.score == 0.0
        differ = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
        with pytest.raises(Unsatisfiable):
            FactorGraph(np.zeros((3, 2)), ring, differ).argmax(method=method, prove=True)
        one = FactorGraph([[0.0, -np.inf], [1.0, 2.0], [0.0, 0.0]], ring[:2], differ).argmax(method=method)
        assert one.labels.tolist() == [0, 1, 0]
        assert one.exact


@pytest.mark.parametrize("method", METHODS)
def test_time_limits_are_kept(method):
    graph = grid(40, 8, np.random.default_rng(11))
    labels, score, bound, *_ = searched(graph, method, 10**6, 0.0, seconds=0.3, branch=True)
    assert len(labels) == 1600
    assert score < bound < np.inf


@pytest.mark.parametrize("method", [*METHODS, "beliefs"])
def test_searches_hear_ctrl_c(method):
    graph = grid(40, 8, np.random.default_rng(12))

    def call():
        if method == "beliefs":
            graph._core.beliefs(graph._scores, "trw", 10**6, 0.0, 0.5, 0.0, _core.SearchState())
        else:
            searched(graph, method, 10**6, 0.0, branch=True)

    assert_interruptible(call)


def test_searches_are_deterministic():
    graph = grid(12, 4, np.random.default_rng(13))
    for method in METHODS:
        first, second = searched(graph, method), searched(graph, method)
        assert first[0].tolist() == second[0].tolist()
        assert first[1:3] == second[1:3]


def test_beliefs_of_a_chain_as_one_factor():
    rng = np.random.default_rng(14)
    for _ in range(5):
        unary, moves = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
        whole = Structure(Chain(np.zeros((6, 3)), moves), np.arange(6))
        found = FactorGraph(unary, factors=[whole]).beliefs("bp", tolerance=1e-10)
        chain = Chain(unary, moves)
        assert found.converged
        assert_allclose(found.log_partition, chain.log_partition(), rtol=1e-9)
        assert_allclose(found.marginals, chain.marginals(), atol=1e-9)


def test_beliefs_stay_finite_where_messages_would_grow_without_end():
    rng = np.random.default_rng(15)
    for _ in range(100):
        tables = [([0, 1], np.round(rng.normal(size=(3, 3)))) for _ in range(7)]
        graph = built([np.zeros(3), np.zeros(3)], tables, [])
        found = graph.beliefs("bp")
        assert np.isfinite(found.log_partition)
        assert np.isfinite(found.marginals).all()
