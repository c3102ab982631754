"""Every learner on labelled grids: the same as on the list of all labellings; weights that must not be negative."""

import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference.grid_labellings import all_labellings
from trelliswork import _core, learners
from trelliswork.training.image_examples import bits_of

SIZES = [(2, 3), (1, 2), (3, 2), (1, 1), (2, 2)]
NOTHING = np.zeros(0, dtype=np.int64)


class Problem:
    """Random pictures of a few cells, one of them with cells that are not there."""

    def __init__(self, associative=True, neighbours=4, n_labels=2, kept=False, dense=True, seed=3):
        self.options, self.kept, self.dense = (n_labels, 2, neighbours, associative), kept, dense
        rng = np.random.default_rng(seed)
        self.structure = _core.PartStructure.grid(*self.options)
        there = [rng.random(size) < 0.7 if i == 2 else None for i, size in enumerate(SIZES)]
        self.shapes = [
            np.array([*size, *([] if own is None else bits_of(own))], dtype=np.uint32)
            for size, own in zip(SIZES, there, strict=True)
        ]
        self.listed = [
            list(all_labellings(size, n_labels, neighbours, associative, own))
            for size, own in zip(SIZES, there, strict=True)
        ]
        self.gold = [int(rng.integers(len(listed))) for listed in self.listed]
        self.weights = rng.choice([1.0, 0.5, 2.0], len(SIZES))
        self.blocks = [self.structure.blocks(shape) for shape in self.shapes]
        self.rows = []  # by block and picture
        for b, (_, _, n_codes) in enumerate(self.blocks[0]):
            n_units = 3 if b == 0 else 2
            own = [rng.normal(size=(blocks[b][1], n_units)).astype(np.float32) for blocks in self.blocks]
            self.rows.append((n_codes, [np.abs(part) if b and kept else part for part in own]))

    def channels(self):
        for b, (n_codes, rows) in enumerate(self.rows):
            n_units, joined = rows[0].shape[1], np.concatenate(rows)
            first = np.cumsum([0, *map(len, rows)], dtype=np.int64)
            start = (f"block {b}", b, "each", 0, n_codes, n_units, NOTHING, first)
            kept = self.kept and b > 0
            if self.dense:
                yield (*start, joined, kept)
            else:
                indptr = np.arange(len(joined) + 1, dtype=np.int64) * n_units
                units = np.tile(np.arange(n_units, dtype=np.int64), len(joined))
                yield (*start, indptr, units, joined.astype(np.float64).ravel(), kept)

    def oracle(self):
        gold = [np.array(listed[g][0], dtype=np.uint32) for listed, g in zip(self.listed, self.gold, strict=True)]
        return _core.LinearOracle(self.structure, self.shapes, gold, self.weights, list(self.channels()), "all")

    def features(self, example, counts):
        found, begin = [], 0
        for (_, n_sites, n_codes), (_, rows) in zip(self.blocks[example], self.rows, strict=True):
            of_block = counts[begin : begin + n_sites * n_codes].reshape(n_sites, n_codes)
            begin += n_sites * n_codes
            found.append((rows[example].astype(np.float64).T @ of_block).ravel())
        return np.concatenate(found)

    def enumerated(self):
        rows = [self.features(i, counts) for i, listed in enumerate(self.listed) for _, counts in listed]
        n_cells = [blocks[0][1] * blocks[0][2] for blocks in self.blocks]
        costs = [
            (np.maximum(counts - listed[g][1], 0.0)[:n]).sum()
            for listed, g, n in zip(self.listed, self.gold, n_cells, strict=True)
            for _, counts in listed
        ]
        return _core.EnumeratedOracle.make(
            np.cumsum([0, *map(len, self.listed)], dtype=np.int64),
            np.array(self.gold, dtype=np.int64),
            np.arange(len(rows) + 1, dtype=np.int64) * len(rows[0]),
            np.tile(np.arange(len(rows[0]), dtype=np.int64), len(rows)),
            np.concatenate(rows),
            len(rows[0]),
            np.array(costs),
            self.weights,
        )


PROBLEMS = [
    {"associative": True},
    {"associative": False, "neighbours": 8},
    {"associative": True, "n_labels": 3},
    {"neighbours": 0},
]


@pytest.mark.parametrize("options", PROBLEMS)
@pytest.mark.parametrize("nu", [0.0, 1.0])
def test_loss_gradient_curvature_and_answers(options, nu):
    problem = Problem(**options)
    made, listed, sparse = problem.oracle(), problem.enumerated(), Problem(**options, dense=False).oracle()
    w = np.random.default_rng(1).normal(size=made.n_weights)
    gradients = np.zeros((3, len(w)))
    losses = [oracle.loss(w, gradients[i], nu=nu) for i, oracle in enumerate((made, listed, sparse))]
    np.testing.assert_allclose(losses, losses[1], rtol=1e-11)
    np.testing.assert_allclose(gradients[[0, 2]], gradients[[1, 1]], atol=1e-10)
    curvatures = np.zeros((2, len(w)))
    for out, oracle in zip(curvatures, (made, sparse), strict=True):
        oracle.curvature(w, out, nu=nu)
    np.testing.assert_allclose(curvatures[0], curvatures[1], atol=1e-10)
    for i in range(made.n_examples):
        ours, theirs = (sorted(rounded(found, len(w)) for found in o.kbest(w, i, 1000, nu)) for o in (made, listed))
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def rounded(found, n_weights):
    _, score, cost, at, values = found
    dense = np.zeros(n_weights)
    dense[at] = values
    return [round(score, 6), round(cost, 6), *np.round(dense, 6).tolist()]


@pytest.mark.parametrize("options", PROBLEMS)
@pytest.mark.parametrize("name", [name for name in learners.names() if name != "memm"])
def test_learners_learn_the_same_from_grids_and_from_lists(name, options):
    learner = learners.by_name(name)
    if name == "crf":
        learner.set_params(solver="lbfgs", tol=1e-11)
    elif "epochs" in learner.get_params():
        learner.set_params(epochs=3)
    if "shuffle" in learner.get_params():
        learner.set_params(shuffle=False)
    problem = Problem(**options)
    start = None if name == "eg" else np.random.default_rng(2).normal(size=problem.oracle().n_weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        found, expected = (
            learner.train(oracle, weights=start, seed=1).weights for oracle in (problem.oracle(), problem.enumerated())
        )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", PROBLEMS)
def test_single_decisions_are_the_pseudo_likelihood(options):
    problem = Problem(**options)
    local, n_labels = problem.oracle().local(), problem.options[0]
    w = np.random.default_rng(1).normal(size=local.n_weights)

    def loss(weights):
        total = 0.0
        for i, (listed, g, times) in enumerate(zip(problem.listed, problem.gold, problem.weights, strict=True)):
            scores = {tuple(labels): problem.features(i, counts) @ weights for labels, counts in listed}
            gold, cells = listed[g][0], listed[g][1][: len(listed[g][0]) * n_labels].reshape(-1, n_labels)
            for cell in np.flatnonzero(cells.sum(axis=1)):  # those that are there
                others = [scores[*gold[:cell], k, *gold[cell + 1 :]] for k in range(n_labels)]
                total += times * (np.logaddexp.reduce(others) - scores[tuple(gold)])
        return total

    gradient = np.zeros(len(w))
    assert local.loss(w, gradient) == pytest.approx(loss(w))
    steps = 1e-5 * np.eye(len(w))
    expected = [(loss(w + step) - loss(w - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


KEEPS = ("crf", "memm", "pa", "pegasos", "perceptron", "subgradient")


@pytest.mark.parametrize("name", learners.names())
def test_pair_weights_stay_non_negative_or_the_learner_refuses(name):
    oracle, learner, seen = Problem(kept=True).oracle(), learners.by_name(name), []
    kept = oracle.nonnegative
    assert kept.tolist() == list(range(6, 10))

    def train():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.ConvergenceWarning)
            return learner.train(oracle, seed=1, on_iteration=lambda one: seen.append(one.weights())).weights

    if name not in KEEPS:
        with pytest.raises(ValueError, match="negative"):
            train()
        return
    assert train().any()
    assert all((weights[kept] >= 0.0).all() for weights in (*seen, train()))
