"""Units that are made when an example is visited: the same oracle as with the same units stored."""

from itertools import pairwise

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import _core
from trelliswork.corpora import TokenTable
from trelliswork.features.templates import Templates

LINES = """
columns: form pos
with: direction, direction & distance
head.form & mod.form
head.pos & between(pos) & mod.pos
mod.pos & mod.pos[1]
with: direction
label: head.pos & mod.form
label: head.form
label: mod.pos & mod.form[-1]
sibling: head.pos & sibling.pos & mod.pos
grandparent: grand.pos & head.form & mod.pos
"""
L = 3


def tree(rng, n, shape=None):
    """Heads of a random projective tree with one root, and labels."""
    structure = _core.PartStructure.projective_tree(1, True)
    shape = np.array([n], dtype=np.uint32) if shape is None else shape
    scores = rng.normal(size=structure.blocks(shape)[0][1])
    heads = structure.output_of(shape, structure.best(shape, scores)[0][0])
    return heads.astype(np.uint32), rng.integers(0, L, n).astype(np.uint32)


class Problem:
    """Random sentences with trees, their oracle, and one that has the same units stored."""

    def __init__(self, seed=0, order=2, labels=L, bits=5, n=7, pruned=True, weights=None):
        rng = np.random.default_rng(seed)
        corpus = [
            [(str(rng.choice(["a", "b", "c"])), str(rng.choice(["N", "V"]))) for _ in range(rng.integers(1, 7))]
            for _ in range(n)
        ]
        extractor = Templates(LINES).arc_extractor()
        self.sentences = _core.ArcSentences(TokenTable.from_lists(corpus).columns, extractor)
        self.weights = np.ones(n) if weights is None else weights
        trees = [tree(rng, len(x)) for x in corpus]
        self.shapes = [
            self.pruned(rng, heads) if pruned else np.array([len(heads)], dtype=np.uint32) for heads, _ in trees
        ]
        self.outputs = [np.concatenate(own) if labels > 1 else own[0] for own in trees]
        second = {"siblings": order == 2, "grandparents": order == 2}
        self.structure = _core.PartStructure.projective_tree(labels, True, **second)
        self.channels = [("arc", 0, 1, bits)]
        if labels > 1:
            self.channels += [(name, 0, labels, bits) for name in ("label", "label.head", "label.modifier")]
        if order == 2:
            self.channels += [("sibling", 1, 1, bits), ("grandparent", 2, 1, bits)]
        self.labels = labels

    @staticmethod
    def pruned(rng, gold):
        n = len(gold)
        lists = [
            sorted({int(gold[m - 1]), m - 1, *(h for h in range(n + 1) if h != m and rng.random() < 0.5)})
            for m in range(1, n + 1)
        ]
        return np.concatenate([[n], np.cumsum([0, *map(len, lists)]), *lists]).astype(np.uint32)

    def made(self, partial=None):
        outputs = self.outputs if partial is None else partial
        return _core.arc_oracle(
            self.structure,
            self.sentences,
            _core.TreeShapes.of(self.shapes),
            self.channels,
            np.concatenate(outputs).astype(np.uint32),
            np.cumsum([len(y) for y in outputs], dtype=np.int64),
            self.weights,
            partial is not None,
        )

    def stored(self):
        shapes, channels = _core.TreeShapes.of(self.shapes), []
        for name, block, codes, bits in self.channels:
            rows = []
            for i, shape in enumerate(self.shapes):
                starts, units = self.sentences.units(shapes, i, name, bits)
                own = [units[a:b] for a, b in pairwise(starts)]
                if name in ("label.head", "label.modifier"):  # a row for each arc in place of one for each word
                    head, modifier = words(shape)
                    word = head if name == "label.head" else modifier
                    own = [own[2 * w + (m > h)] for w, h, m in zip(word, head, modifier, strict=True)]
                    if len(shape) == 1:
                        own = [u if m and m != h else u[:0] for u, h, m in zip(own, head, modifier, strict=True)]
                rows.append([np.unique(u, return_counts=True) for u in own])
            of_block = self.structure.blocks(self.shapes[0])[block][2]
            flat = [row for own in rows for row in own]
            channels.append(
                (
                    name, block, "each", 0, codes, 1 << bits,
                    np.zeros(of_block if codes < of_block else 0, dtype=np.int64),
                    np.cumsum([0, *map(len, rows)], dtype=np.int64),
                    np.cumsum([0, *(len(units) for units, _ in flat)], dtype=np.int64),
                    np.concatenate([units for units, _ in flat]).astype(np.int64),
                    np.concatenate([counts for _, counts in flat]).astype(np.float64),
                )
            )  # fmt: skip
        return _core.LinearOracle(self.structure, self.shapes, self.outputs, self.weights, channels, "all")


def words(shape):
    n = int(shape[0])
    if len(shape) == 1:
        return np.divmod(np.arange((n + 1) ** 2), n + 1)
    counts = np.diff(shape[1 : n + 2].astype(np.intp))
    return shape[n + 2 :].astype(np.intp), np.repeat(np.arange(1, n + 1), counts)


def loss(oracle, w, nu=0.0, n_jobs=1):
    gradient = np.empty(len(w))
    return oracle.loss(w, gradient, n_jobs, True, nu), gradient


def curvature(oracle, w):
    diagonal = np.empty(len(w))
    oracle.curvature(w, diagonal)
    return diagonal


def dense(output, n):
    return np.bincount(output[3], output[4], n) if len(output[3]) else np.zeros(n)


CASES = [{"order": 1, "labels": 1}, {"order": 1}, {"order": 2}, {"order": 2, "labels": 1, "pruned": False}]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(4))
def test_scores_differences_losses_and_curvatures_are_the_same(case, seed):
    problem = Problem(seed, weights=np.array([1.0, 0.5, 2.0, 1.0, 1.0, 0.0, 1.0]), **case)
    made, stored = problem.made(), problem.stored()
    assert made.n_weights == stored.n_weights
    w = np.random.default_rng(seed).normal(size=made.n_weights)
    for i in range(made.n_examples):
        np.testing.assert_allclose(made.part_scores(w, i), stored.part_scores(w, i), atol=1e-12)
        for mine, theirs in zip(made.kbest(w, i, 3, 1.0), stored.kbest(w, i, 3, 1.0), strict=True):
            assert mine[1] + mine[2] == pytest.approx(theirs[1] + theirs[2], abs=1e-10)
            if not np.array_equal(mine[0], theirs[0]):  # words that look the same make trees with the same score
                assert len({round(o[1] + o[2], 9) for o in stored.kbest(w, i, 6, 1.0)}) < 6
                continue
            np.testing.assert_allclose(dense(mine, len(w)), dense(theirs, len(w)), atol=1e-12)
    for nu in (0.0, 1.0):
        (mine, gradient), (theirs, other) = loss(made, w, nu), loss(stored, w, nu)
        assert mine == pytest.approx(theirs, abs=1e-10)
        np.testing.assert_allclose(gradient, other, atol=1e-10)
    np.testing.assert_allclose(curvature(made, w), curvature(stored, w), atol=1e-10)


@pytest.mark.parametrize("learner", [tw.CRF(l2=0.1), tw.MEMM(l2=0.1), tw.Perceptron(epochs=4), tw.MIRA(epochs=3)])
def test_learners_end_with_the_same_weights(learner):
    problem = Problem(3, order=1)
    mine, theirs = (learner.train(oracle).weights for oracle in (problem.made(), problem.stored()))
    np.testing.assert_allclose(mine, theirs, atol=1e-6)


def test_scores_are_sums_over_a_dictionary_of_attributes():
    """No hash is shared at 30 bits: what the oracle sums up is what a dict from names to weights would."""
    problem = Problem(5, order=1, labels=1, bits=16, pruned=False)
    oracle = problem.made()
    w = np.random.default_rng(0).normal(size=oracle.n_weights)
    for i, shape in enumerate(problem.shapes):
        n = int(shape[0])
        scores = oracle.part_scores(w, i).reshape(n + 1, n + 1)
        for h in range(n + 1):
            for m in range(1, n + 1):
                if h != m:
                    keys = problem.sentences.attribute_keys(i, h, m)
                    assert scores[h, m] == pytest.approx(sum(w[int(key) & 0xFFFF] for key in keys), abs=1e-12)


def test_any_number_of_threads_has_the_same_bits():
    problem = Problem(1, n=200)
    oracle = problem.made()
    w = np.random.default_rng(0).normal(size=oracle.n_weights)
    one, three = (loss(oracle, w, 1.0, k) for k in (1, 3))
    assert one[0] == three[0]
    assert np.array_equal(one[1], three[1])


def test_partial_trees_allow_what_is_not_known():
    """With some heads unknown, the loss is log Z less the log of the sum over all trees that have the others."""
    problem = Problem(2, order=1, n=5)
    none = np.uint32(0xFFFFFFFF)
    partial = []
    for y in problem.outputs:
        own = y.copy()
        own[::2] = none
        partial.append(own)
    oracle, w = problem.made(partial), np.random.default_rng(0).normal(size=problem.made().n_weights)
    total = 0.0
    whole = problem.made()
    for i, (shape, y) in enumerate(zip(problem.shapes, partial, strict=True)):
        scores = whole.part_scores(w, i)
        head, modifier = words(shape)
        n = int(shape[0])
        allowed = np.ones((len(head), L), dtype=np.uint8)
        for m in range(1, n + 1):
            if y[m - 1] != none:
                allowed[(modifier == m) & (head != y[m - 1])] = 0
            if y[n + m - 1] != none:
                allowed[modifier == m] &= (np.arange(L) == y[n + m - 1]).astype(np.uint8)
        total += problem.structure.log_partition(shape, scores)
        total -= problem.structure.log_partition(shape, scores, allowed.ravel())
    assert loss(oracle, w)[0] == pytest.approx(total, abs=1e-9)


def test_all_known_is_the_same_as_partly_known():
    problem = Problem(4, order=1)
    w = np.random.default_rng(0).normal(size=problem.made().n_weights)
    mine, theirs = loss(problem.made(problem.outputs), w), loss(problem.made(), w)
    assert mine[0] == pytest.approx(theirs[0], abs=1e-10)
    np.testing.assert_allclose(mine[1], theirs[1], atol=1e-10)
