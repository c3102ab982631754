"""Matchings and alignments in training: the same as on lists of all outputs, for every learner."""

import itertools
import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference import matchings
from trelliswork import _core, learners

N_UNITS = 4
KINDS = ["matching", "matching with unmatched", "alignment", "alignment with affine gaps", "alignment with free ends"]


class Problem:
    """Pairs of small sides whose parts have attributes, and one of their outputs as gold."""

    def __init__(self, kind, seed, n_examples=6):
        rng = np.random.default_rng(seed)
        self.kind = kind
        affine, free, is_open = "affine" in kind, "free" in kind, "unmatched" in kind
        is_matching = kind.startswith("matching")
        core = _core.PartStructure
        self.structure = core.matching() if is_matching else core.alignment(affine, free)
        self.shapes, self.listed, self.costs = [], [], []
        for n, m in rng.integers(1, 4, (n_examples, 2)).tolist():
            self.shapes.append(np.array([n, m, 1] if is_open else [n, m], dtype=np.uint32))
            self.listed.append(
                matchings.matchings(n, m, is_open) if is_matching else matchings.alignments(n, m, affine, free)
            )
        self.gold = [int(rng.integers(len(listed))) for listed in self.listed]
        self.blocks = [[sites for _, sites, _ in self.structure.blocks(shape)] for shape in self.shapes]
        self.rows = [
            (rng.random((sum(sites), N_UNITS)) < 0.5) * rng.choice([1.0, -0.5, 2.0], (sum(sites), N_UNITS))
            for sites in self.blocks
        ]

    @property
    def n_blocks(self):
        return len(self.blocks[0])

    def channel(self, block):
        rows = np.concatenate(
            [
                rows[sum(sites[:block]) : sum(sites[: block + 1])]
                for rows, sites in zip(self.rows, self.blocks, strict=True)
            ]
        )
        units = [np.flatnonzero(row) for row in rows]
        return (
            f"block {block}", block, "each", 0, 1, N_UNITS, np.empty(0, dtype=np.int64),
            np.cumsum([0, *(sites[block] for sites in self.blocks)], dtype=np.int64),
            np.cumsum([0, *map(len, units)], dtype=np.int64), np.concatenate(units).astype(np.int64), rows[rows != 0],
        )  # fmt: skip

    def oracle(self):
        outputs = [np.array(own[gold][0], dtype=np.uint32) for own, gold in zip(self.listed, self.gold, strict=True)]
        channels = [self.channel(block) for block in range(self.n_blocks)]
        return _core.LinearOracle(self.structure, self.shapes, outputs, np.ones(len(outputs)), channels, "all")

    def features(self, i, counts):
        ends = np.cumsum([0, *self.blocks[i]])
        return np.concatenate([counts[a:b] @ self.rows[i][a:b] for a, b in itertools.pairwise(ends)])

    def cost(self, i, output):
        """One for each pair that gold has not; a half for each end of a pair of gold that stands alone."""
        listing = dict(self.listed[i])
        n, m = self.shapes[i][:2].tolist()
        gold, found = (set(zip(y[::2], y[1::2], strict=True)) for y in (self.listed[i][self.gold[i]][0], output))
        alone = listing[output][n * m : n * m + n + m]
        ends = [a for a, _ in gold] + [n + b for _, b in gold]
        return len(found - gold) + (sum(alone[ends]) / 2 if len(alone) else 0.0)

    def enumerated(self):
        rows = [self.features(i, counts) for i, listed in enumerate(self.listed) for _, counts in listed]
        costs = [self.cost(i, output) for i, listed in enumerate(self.listed) for output, _ in listed]
        places = [np.flatnonzero(row) for row in rows]
        return _core.EnumeratedOracle.make(
            np.cumsum([0, *map(len, self.listed)], dtype=np.int64), np.array(self.gold, dtype=np.int64),
            np.cumsum([0, *map(len, places)], dtype=np.int64), np.concatenate(places).astype(np.int64),
            np.concatenate([row[at] for row, at in zip(rows, places, strict=True)]), N_UNITS * self.n_blocks,
            np.array(costs), np.ones(len(self.listed)),
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("nu", [0.0, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_loss_gradient_and_best_outputs_are_those_of_the_list(kind, seed, nu):
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in learners.names() if name != "memm"])
def test_every_learner_learns_the_same_from_parts_and_from_lists(name, kind):
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
        start = np.random.default_rng(1).normal(size=problem.oracle().n_weights) if name != "eg" else None
        found, expected = (
            learner.train(oracle, weights=start, seed=1).weights for oracle in (problem.oracle(), problem.enumerated())
        )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_single_decisions_are_refused(kind):
    with pytest.raises(tw.InvalidInput, match="single decisions"):
        tw.MEMM().train(Problem(kind, 0).oracle())


def large(n):
    structure = _core.PartStructure.matching()
    shape, gold = np.array([n, n], dtype=np.uint32), np.repeat(np.arange(n, dtype=np.uint32), 2)
    rows = np.concatenate([np.eye(n).ravel(), np.full(n * n, 0.5)]).reshape(2, -1).T
    channel = (
        "pairs", 0, "each", 0, 1, 2, np.empty(0, dtype=np.int64), np.array([0, n * n]),
        np.cumsum([0, *(rows != 0).sum(axis=1)]),
        np.concatenate([np.flatnonzero(row) for row in rows]).astype(np.int64), rows[rows != 0],
    )  # fmt: skip
    return _core.LinearOracle(structure, [shape], [gold], np.ones(1), [channel], "all")


def test_learners_that_sum_refuse_matchings_that_are_too_large():
    weights = tw.Perceptron(epochs=5).train(large(40)).weights
    assert weights[0] > 0
    with pytest.raises(tw.InvalidInput, match="sum"):
        tw.CRF().train(large(40))
    assert tw.CRF().train(large(6)).weights[0] > 0
