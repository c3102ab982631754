"""Bracketings with scores of pairs of labels and of splits: every answer equals the one read off the list of trees."""

import functools
import math

import numpy as np
import pytest

from reference.bracketings import every_bracketing
from trelliswork import _core


def children_of(tree):
    """Yield labels of parent and child, None where there is none, and where the child and its parent begin."""
    yield None, tree[0][2], 0, 0
    for begin, end, label in tree:
        if end - begin == 1:
            continue
        inside = [row for row in tree if begin <= row[0] and row[1] <= end and row[:2] != (begin, end)]
        at = begin
        while at < end:
            child = max((row for row in inside if row[0] == at), key=lambda row: row[1], default=None)
            yield label, None if child is None else child[2], at, begin
            at = at + 1 if child is None else child[1]


def parts_of(tree, n, L):
    spans = n * (n + 1) // 2
    sites = {(i, j): s for s, (i, j) in enumerate((i, j) for i in range(n) for j in range(i + 1, n + 1))}
    found = [sites[i, j] * L + label for i, j, label in tree]
    for parent, child, at, begin in children_of(tree) if tree else ():
        p, c = (L if x is None else x for x in (parent, child))
        found.append(spans * L + p * (L + 1) + c)
        if at > begin:
            found.append(spans * L + (L + 1) ** 2 + at * L + parent)
    return sorted(found)


@functools.cache
def listed(n, L):
    return [(tree, parts_of(tree, n, L)) for tree in every_bracketing(n, L)[0]]


class Every:
    """All trees over n words with these scores of parts; ``mask``: the pairs of labels that may be."""

    def __init__(self, n, L, scores, mask=None, required=()):
        spans = n * (n + 1) // 2 * L
        forbidden = set() if mask is None else set((np.flatnonzero(mask == 0) + spans).tolist())
        kept = [(tree, parts) for tree, parts in listed(n, L) if not forbidden & set(parts)]
        kept = [(tree, parts) for tree, parts in kept if all(any(row[:2] == r for row in tree) for r in required)]
        self.trees, self.parts = [tree for tree, _ in kept], [parts for _, parts in kept]
        self.scores = np.array([scores[parts].sum() for parts in self.parts])
        self.counts = np.array([np.bincount(parts, minlength=len(scores)) for parts in self.parts])


def n_parts(n, L):
    return n * (n + 1) // 2 * L + (L + 1) ** 2 + n * L


def problem(rng, required=False):
    n, L = (int(x) for x in rng.choice([(1, 2), (2, 2), (3, 2), (4, 1), (3, 1), (2, 3)]))
    scores = rng.normal(size=n_parts(n, L)) * rng.choice([0.1, 1, 10, 100])
    if rng.random() < 0.3:
        scores = np.round(scores)
    scores[rng.random(len(scores)) < rng.choice([0.0, 0.1])] = -np.inf
    mask = (rng.random((L + 1) ** 2) < 0.8).astype(np.uint8) if rng.random() < 0.5 else None
    spans = ()
    if required:
        begin = int(rng.integers(n))
        spans = ((begin, int(rng.integers(begin + 1, n + 1))),)
    shape = np.array([n, *(x for span in spans for x in span)], dtype=np.uint32)
    return _core.PartStructure.nested_bracketing(L, mask), shape, scores, Every(n, L, scores, mask, spans)


def rows(tree):
    return np.array(tree, dtype=np.uint32).ravel()


@pytest.mark.parametrize("required", [False, True])
def test_every_answer_is_that_of_the_list_of_trees(required):
    rng = np.random.default_rng(5)
    asked = 0
    for _ in range(150):
        structure, shape, scores, every = problem(rng, required)
        possible = np.isfinite(every.scores) if len(every.scores) else np.zeros(0, dtype=bool)
        if not possible.any():
            assert structure.best(shape, scores) == []
            assert structure.log_partition(shape, scores) == -math.inf
            continue
        asked += 1
        total = np.logaddexp.reduce(every.scores)
        assert structure.log_partition(shape, scores) == pytest.approx(total, rel=1e-10, abs=1e-10)
        p = np.exp(every.scores - total)
        np.testing.assert_allclose(structure.marginals(shape, scores), p @ every.counts, atol=1e-9)
        best = structure.best(shape, scores, 6)
        np.testing.assert_allclose(
            [score for _, score in best], np.sort(every.scores[possible])[::-1][:6], rtol=1e-10, atol=1e-10
        )
        read_off = {tuple(map(tuple, tree)): score for tree, score in zip(every.trees, every.scores, strict=True)}
        found = [tuple(map(tuple, structure.output_of(shape, parts).reshape(-1, 3).tolist())) for parts, _ in best]
        assert len(set(found)) == len(found)
        np.testing.assert_allclose([read_off[tree] for tree in found], [s for _, s in best], rtol=1e-10, atol=1e-10)
        ((first, score),) = structure.best(shape, scores)
        assert (first.tolist(), score) == (best[0][0].tolist(), best[0][1])
        most = np.full(len(scores), -np.inf)
        for parts, own in zip(every.parts, every.scores, strict=True):
            most[parts] = np.maximum(most[parts], own)
        np.testing.assert_allclose(structure.max_marginals(shape, scores), most, rtol=1e-10, atol=1e-10)
        entropy = -sum(x * math.log(x) for x in p if x > 0)
        assert structure.entropy(shape, scores) == pytest.approx(entropy, rel=1e-6, abs=1e-7)
    assert asked > 80


@pytest.mark.parametrize(("n", "L"), [(0, 2), (1, 2), (2, 2), (3, 2), (4, 1)])
def test_parts_are_those_of_the_definition(n, L):
    structure, shape = _core.PartStructure.nested_bracketing(L), np.array([n], dtype=np.uint32)
    assert [block[1] * block[2] for block in structure.blocks(shape)] == [
        n * (n + 1) // 2 * L, (L + 1) ** 2, n * L,
    ]  # fmt: skip
    for tree in every_bracketing(n, L)[0]:
        parts = structure.parts_of(shape, rows(tree))
        assert parts.tolist() == parts_of(tree, n, L)
        assert structure.output_of(shape, parts).tolist() == rows(tree).tolist()


def test_a_long_sentence_is_answered_alike_by_both_ways():
    """The best tree has a way of its own; the first of the k best is found by the recursions."""
    rng, n, L = np.random.default_rng(0), 25, 6
    structure, shape = _core.PartStructure.nested_bracketing(L), np.array([n], dtype=np.uint32)
    for _ in range(3):
        scores = rng.normal(size=n_parts(n, L))
        ((one, score),) = structure.best(shape, scores)
        first, second = structure.best(shape, scores, 2)
        assert one.tolist() == first[0].tolist()
        assert score == first[1] >= second[1]
        assert scores[one].sum() == pytest.approx(score)


def test_equal_scores_go_to_the_first():
    structure, shape = _core.PartStructure.nested_bracketing(2), np.array([3], dtype=np.uint32)
    ((parts, score),) = structure.best(shape, np.zeros(n_parts(3, 2)))
    assert structure.output_of(shape, parts).tolist() == [0, 3, 0]
    assert score == 0.0


def test_a_pair_that_may_not_be_is_refused_as_gold():
    mask = np.ones(9, dtype=np.uint8)
    mask[1 * 3 + 0] = 0
    structure, shape = _core.PartStructure.nested_bracketing(2, mask), np.array([2], dtype=np.uint32)
    with pytest.raises(ValueError, match="label that it may not have"):
        structure.parts_of(shape, rows([(0, 2, 1), (0, 1, 0)]))
    with pytest.raises(ValueError, match="pairs of labels"):
        _core.PartStructure.nested_bracketing(3, mask)


def test_sentences_without_words_have_one_tree():
    structure, shape = _core.PartStructure.nested_bracketing(2), np.array([0], dtype=np.uint32)
    assert structure.log_partition(shape, np.zeros(9)) == 0.0
    ((parts, score),) = structure.best(shape, np.zeros(9))
    assert (parts.tolist(), score) == ([], 0.0)


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0, 30.0, 200.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_sums_without_logarithms_are_those_of_the_recursions(scale, sparse):
    """To require that the whole sentence is a constituent changes nothing, but only the recursions answer that."""
    rng, n, L = np.random.default_rng(1), 18, 5
    mask = (rng.random((L + 1) ** 2) < 0.6).astype(np.uint8) if sparse else None
    structure = _core.PartStructure.nested_bracketing(L, mask)
    for _ in range(4):
        scores = rng.normal(size=n_parts(n, L)) * scale
        scores[rng.random(len(scores)) < (0.3 if sparse else 0.0)] = -np.inf
        plain, required = (np.array(shape, dtype=np.uint32) for shape in ([n], [n, 0, n]))
        expected = structure.log_partition(required, scores)
        assert structure.log_partition(plain, scores) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        if expected > -math.inf:
            np.testing.assert_allclose(
                structure.marginals(plain, scores), structure.marginals(required, scores), rtol=1e-9, atol=1e-12
            )
