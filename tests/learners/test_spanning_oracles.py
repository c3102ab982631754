"""Trees with crossing arcs and spanning trees in training: the same as on lists of all trees, for every learner."""

import itertools
import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference import trees
from trelliswork import _core, learners

N_UNITS = 4


class Problem:
    """Graphs of a few nodes whose arcs or edges have attributes, and one of their trees as gold."""

    def __init__(self, kind, seed, n_examples=5):
        rng = np.random.default_rng(seed)
        self.kind, self.n_labels = kind, 2 if kind == "labelled" else 1
        self.shapes, self.listed = [], []  # listed: outputs and rows of counts
        for n in rng.integers(1, 4, n_examples).tolist():
            if kind == "spanning":
                self.structure = _core.PartStructure.spanning_tree()
                self.shapes.append(np.array([n + 1], dtype=np.uint32))
                self.listed.append(spanning_trees(n + 1))
                continue
            single_root, pruned = kind != "several roots", kind == "pruned"
            self.structure = _core.PartStructure.arborescence(self.n_labels, single_root)
            heads = trees.all_heads(n)
            if pruned:  # one head fewer for the last word, of those that have a choice
                heads[-1] = heads[-1][:-1] if n > 1 else heads[-1]
            self.shapes.append(trees.shape_of(heads, pruned))
            self.listed.append(trees.dependency_trees(heads, pruned, self.n_labels, single_root, projective=False))
        self.gold = [int(rng.integers(len(listed))) for listed in self.listed]
        n_sites = [self.structure.blocks(shape)[0][1] for shape in self.shapes]
        self.rows = [(rng.random((n, N_UNITS)) < 0.5) * rng.choice([1.0, -0.5, 2.0], (n, N_UNITS)) for n in n_sites]

    def gold_parts(self, i):
        return np.flatnonzero(self.listed[i][self.gold[i]][1])

    def oracle(self):
        rows = np.concatenate(self.rows)
        units = [np.flatnonzero(row) for row in rows]
        channel = (
            "arcs", 0, "each", 0, self.n_labels, N_UNITS, np.empty(0, dtype=np.int64),
            np.cumsum([0, *map(len, self.rows)], dtype=np.int64), np.cumsum([0, *map(len, units)], dtype=np.int64),
            np.concatenate(units).astype(np.int64), rows[rows != 0],
        )  # fmt: skip
        outputs = [
            np.array(listed[gold][0], dtype=np.uint32) for listed, gold in zip(self.listed, self.gold, strict=True)
        ]
        return _core.LinearOracle(self.structure, self.shapes, outputs, np.ones(len(outputs)), [channel], "all")

    def features(self, i, counts):
        return np.einsum("su,sl->ul", self.rows[i], counts.reshape(-1, self.n_labels)).ravel()

    def enumerated(self):
        rows = [self.features(i, counts) for i, listed in enumerate(self.listed) for _, counts in listed]
        costs = [
            float((counts * (1 - listed[gold][1])).sum())
            for listed, gold in zip(self.listed, self.gold, strict=True)
            for _, counts in listed
        ]
        places = [np.flatnonzero(row) for row in rows]
        return _core.EnumeratedOracle.make(
            np.cumsum([0, *map(len, self.listed)], dtype=np.int64), np.array(self.gold, dtype=np.int64),
            np.cumsum([0, *map(len, places)], dtype=np.int64), np.concatenate(places).astype(np.int64),
            np.concatenate([row[at] for row, at in zip(rows, places, strict=True)]), N_UNITS * self.n_labels,
            np.array(costs), np.ones(len(self.listed)),
        )  # fmt: skip


def spanning_trees(n):
    edges = list(itertools.combinations(range(n), 2))
    out = []
    for tree in itertools.combinations(range(len(edges)), n - 1):
        reached = {0}
        for _ in tree:
            reached |= {v for i in tree if reached & set(edges[i]) for v in edges[i]}
        if len(reached) == n:
            counts = np.zeros(len(edges))
            counts[list(tree)] = 1.0
            out.append((list(tree), counts))
    return out


KINDS = ["one root", "several roots", "labelled", "pruned", "spanning"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("nu", [0.0, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_loss_gradient_and_best_trees_are_those_of_the_list(kind, seed, nu):
    problem = Problem(kind, seed)
    made, listed = problem.oracle(), problem.enumerated()
    w = np.random.default_rng(seed).normal(size=made.n_weights)
    gradients = np.zeros((2, len(w)))
    losses = [oracle.loss(w, gradients[i], nu=nu) for i, oracle in enumerate((made, listed))]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-11)
    np.testing.assert_allclose(gradients[0], gradients[1], atol=1e-10)
    again = np.zeros_like(w)
    assert made.loss(w, again, nu=nu, n_jobs=2) == losses[0]
    np.testing.assert_array_equal(again, gradients[0])
    for i in range(made.n_examples):
        ours, theirs = ([s + nu * c for _, s, c, *_ in o.kbest(w, i, 9, nu)] for o in (made, listed))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", ["labelled", "spanning"])
@pytest.mark.parametrize("name", [name for name in learners.names() if name != "memm"])
def test_every_learner_learns_the_same_from_arcs_and_from_lists(name, kind):
    learner = learners.by_name(name)
    if name == "crf":
        learner.set_params(solver="lbfgs", tol=1e-11)
    elif "epochs" in learner.get_params():
        learner.set_params(epochs=3)
    if "shuffle" in learner.get_params():
        learner.set_params(shuffle=False)
    problem = Problem(kind, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        start = np.random.default_rng(1).normal(size=N_UNITS * problem.n_labels) if name != "eg" else None
        found, expected = (
            learner.train(oracle, weights=start, seed=1).weights for oracle in (problem.oracle(), problem.enumerated())
        )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["crf", "perceptron", "pa", "memm"])
def test_a_rule_that_is_in_the_arcs_is_learned(name, kind):
    """Each label of a gold arc has an attribute of its own."""
    problem = Problem(kind, 1, n_examples=30)
    for i in range(30):
        problem.rows[i] = np.zeros_like(problem.rows[i])
        for part in problem.gold_parts(i):
            problem.rows[i][part // problem.n_labels, part % problem.n_labels] = 1.0
    oracle = problem.oracle()
    learner = learners.by_name(name)
    if "epochs" in learner.get_params():
        learner.set_params(epochs=10)
    weights = learner.train(oracle, seed=1).weights
    for i in range(30):
        ((_parts, score, cost, *_),) = oracle.kbest(weights, i, 1, 0.0)
        assert cost == 0.0
        assert score == pytest.approx(problem.features(i, problem.listed[i][problem.gold[i]][1]) @ weights, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_choose_a_head_or_an_edge_for_every_word(kind):
    """Head selection: the loss is the sum over words of -log p(arc | arcs into the word)."""
    problem = Problem(kind, 5, 1)
    local = problem.oracle().local()
    w = np.random.default_rng(0).normal(size=local.n_weights)
    scores = (problem.rows[0] @ w.reshape(N_UNITS, problem.n_labels)).ravel()
    (shape,) = problem.shapes
    gold, total = set(problem.gold_parts(0).tolist()), 0.0
    if kind == "spanning":
        edges = list(itertools.combinations(range(shape[0]), 2))
        above, queue = {0: None}, [0]
        for v in queue:
            for i in gold:
                if v in edges[i] and sum(edges[i]) - v not in above:
                    above[sum(edges[i]) - v] = i
                    queue.append(sum(edges[i]) - v)
        for v in range(1, shape[0]):
            options = [i for i, edge in enumerate(edges) if v in edge]
            total += np.logaddexp.reduce(scores[options]) - scores[above[v]]
    else:
        arcs = [words for words in trees.sites(*candidates(problem))[0] for _ in range(problem.n_labels)]
        for word in range(1, shape[0] + 1):
            options = [i for i, (h, m) in enumerate(arcs) if m == word and h != m]
            total += np.logaddexp.reduce(scores[options]) - scores[next(i for i in options if i in gold)]
    assert local.loss(w, np.zeros_like(w)) == pytest.approx(total, rel=1e-12)


def candidates(problem):
    (shape,) = problem.shapes
    n = int(shape[0])
    if len(shape) == 1:
        return trees.all_heads(n), False
    starts, heads = shape[1 : n + 2], shape[n + 2 :]
    return [heads[starts[m] : starts[m + 1]].tolist() for m in range(n)], True
