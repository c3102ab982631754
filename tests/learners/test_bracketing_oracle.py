"""Bracketings in training: the same as on the list of all trees, for every learner; and their single decisions."""

import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference.bracketings import every_bracketing
from trelliswork import _core, learners

N_LABELS, N_UNITS = 2, 5
KINDS = ["bracketing", "nested_bracketing"]


class Problem:
    """Sentences of up to three words whose spans have attributes, and one of their trees as gold."""

    def __init__(self, seed, n_examples=5, gold=None, n_words=None, kind="bracketing"):
        rng = np.random.default_rng(seed)
        self.structure = getattr(_core.PartStructure, kind)(N_LABELS)
        self.lengths = rng.integers(0, 4, n_examples) if n_words is None else np.full(n_examples, n_words)
        self.trees = [every_bracketing(int(n), N_LABELS)[0] for n in self.lengths]
        self.gold = [int(rng.integers(len(trees))) for trees in self.trees] if gold is None else gold
        n_sites = self.lengths * (self.lengths + 1) // 2
        self.rows = [(rng.random((n, N_UNITS)) < 0.5) * rng.choice([1.0, -0.5, 2.0], (n, N_UNITS)) for n in n_sites]

    def shape(self, i):
        return np.array([self.lengths[i]], dtype=np.uint32)

    def parts(self, i, tree):
        return self.structure.parts_of(self.shape(i), np.array(tree, dtype=np.uint32).ravel())

    def oracle(self):
        rows = np.concatenate(self.rows)
        units = [np.flatnonzero(row) for row in rows]
        channel = (
            "spans", 0, "each", 0, N_LABELS, N_UNITS, np.empty(0, dtype=np.int64),
            np.cumsum([0, *map(len, self.rows)], dtype=np.int64), np.cumsum([0, *map(len, units)], dtype=np.int64),
            np.concatenate(units).astype(np.int64), rows[rows != 0],
        )  # fmt: skip
        outputs = [np.array(t[g], dtype=np.uint32).ravel() for t, g in zip(self.trees, self.gold, strict=True)]
        return _core.LinearOracle(
            self.structure, [self.shape(i) for i in range(len(outputs))], outputs, np.ones(len(outputs)), [channel],
            "all",
        )  # fmt: skip

    def features(self, i, tree):
        out = np.zeros((N_UNITS, N_LABELS))
        for part in (part for part in self.parts(i, tree) if part < len(self.rows[i]) * N_LABELS):
            out[:, part % N_LABELS] += self.rows[i][part // N_LABELS]
        return out.ravel()

    def enumerated(self):
        rows = [self.features(i, tree) for i, trees in enumerate(self.trees) for tree in trees]
        costs = [
            float(len(set(tree) ^ set(trees[g])))  # wrong, or missed
            for trees, g in zip(self.trees, self.gold, strict=True)
            for tree in trees
        ]
        places = [np.flatnonzero(row) for row in rows]
        return _core.EnumeratedOracle.make(
            np.cumsum([0, *map(len, self.trees)], dtype=np.int64), np.array(self.gold, dtype=np.int64),
            np.cumsum([0, *map(len, places)], dtype=np.int64), np.concatenate(places).astype(np.int64),
            np.concatenate([row[at] for row, at in zip(rows, places, strict=True)]), N_UNITS * N_LABELS,
            np.array(costs), np.ones(len(self.trees)),
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("nu", [0.0, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_loss_gradient_and_best_trees_are_those_of_the_list(seed, nu, kind):
    problem = Problem(seed, kind=kind)
    made, listed = problem.oracle(), problem.enumerated()
    w = np.random.default_rng(seed).normal(size=made.n_weights)
    gradients = np.zeros((2, len(w)))
    losses = [oracle.loss(w, gradients[i], nu=nu) for i, oracle in enumerate((made, listed))]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-11)
    np.testing.assert_allclose(gradients[0], gradients[1], atol=1e-10)
    for i in range(made.n_examples):
        ours, theirs = ([s + nu * c for _, s, c, *_ in o.kbest(w, i, 9, nu)] for o in (made, listed))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in learners.names() if name != "memm"])
def test_every_learner_learns_the_same_from_spans_and_from_lists(name):
    learner = learners.by_name(name)
    if name == "crf":
        learner.set_params(solver="lbfgs", tol=1e-11)
    elif "epochs" in learner.get_params():
        learner.set_params(epochs=3)
    if "shuffle" in learner.get_params():
        learner.set_params(shuffle=False)
    problem = Problem(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        start = np.random.default_rng(1).normal(size=N_UNITS * N_LABELS) if name != "eg" else None
        found, expected = (
            learner.train(oracle, weights=start, seed=1).weights for oracle in (problem.oracle(), problem.enumerated())
        )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_a_distribution_over_trees(n_words, kind):
    """A tree is its decisions, and only its own: their probabilities, multiplied, add up to one over all trees."""
    n_trees = len(every_bracketing(n_words, N_LABELS)[0])
    losses = []
    for gold in range(n_trees):
        local = Problem(3, 1, [gold], n_words, kind).oracle().local()
        w = np.random.default_rng(0).normal(size=local.n_weights)
        losses.append(local.loss(w, np.zeros_like(w)))
    assert len(losses) == n_trees
    assert np.exp(-np.array(losses)).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("name", ["crf", "perceptron", "pa", "memm"])
def test_a_rule_that_is_in_the_spans_is_learned(name):
    """Attribute 0 is on the gold spans alone."""
    problem = Problem(1, n_examples=30)
    for i, (trees, gold) in enumerate(zip(problem.trees, problem.gold, strict=True)):
        problem.rows[i] = np.zeros_like(problem.rows[i])
        for part in problem.parts(i, trees[gold]):
            problem.rows[i][part // N_LABELS, part % N_LABELS] = 1.0
    oracle = problem.oracle()
    learner = learners.by_name(name)
    if "epochs" in learner.get_params():
        learner.set_params(epochs=10)
    weights = learner.train(oracle, seed=1).weights
    for i, (trees, gold) in enumerate(zip(problem.trees, problem.gold, strict=True)):
        ((_, score, *_),) = oracle.kbest(weights, i, 1, 0.0)
        assert score == pytest.approx(problem.features(i, trees[gold]) @ weights, abs=1e-9)
        assert oracle.kbest(weights, i, 1, 0.0)[0][2] == 0.0
