"""Projective dependency trees in the core: every answer against a list of all trees, and against counts of trees."""

from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import trees
from trelliswork import _core


class Case:
    """A structure, a shape, scores of its parts, and the total of every tree."""

    def __init__(self, seed, n, n_labels, pruned, single_root, siblings, grandparents, forbid=0.0, whole=False):
        rng = np.random.default_rng(seed)
        candidates = trees.all_heads(n)
        if pruned:
            candidates = [[h for h in heads if rng.random() < 0.8] for heads in candidates]
        self.candidates, self.pruned = candidates, pruned
        self.shape = trees.shape_of(candidates, pruned)
        self.structure = _core.PartStructure.projective_tree(n_labels, single_root, siblings, grandparents)
        self.listed = trees.dependency_trees(candidates, pruned, n_labels, single_root, siblings, grandparents)
        self.n_parts = sum(sites * codes for _, sites, codes in self.structure.blocks(self.shape))
        self.counts = np.array([row for _, row in self.listed]).reshape(len(self.listed), self.n_parts)
        self.scores = rng.integers(-2, 3, self.n_parts) + 0.0 if whole else rng.normal(size=self.n_parts) * 2
        self.scores[rng.random(self.n_parts) < forbid] = -np.inf
        self.totals = np.array([self.scores[row > 0].sum() for row in self.counts])
        self.log_z = np.logaddexp.reduce(self.totals) if len(self.totals) else -np.inf


@st.composite
def cases(draw):
    n = draw(st.integers(0, 5))
    n_labels = draw(st.integers(1, 3 if n < 4 else 1))
    flags = [draw(st.booleans()) for _ in range(4)]
    forbid = draw(st.sampled_from([0.0, 0.1, 0.3]))
    return Case(draw(st.integers(0, 2**31)), n, n_labels, *flags, forbid, draw(st.booleans()))


@given(cases())
def test_sites_and_parts_are_those_of_the_definition(case):
    _, siblings, grandparents = trees.sites(case.candidates, case.pruned)
    assert _core.sibling_sites(case.shape).tolist() == [list(words) for words in siblings]
    assert _core.grandparent_sites(case.shape).tolist() == [list(words) for words in grandparents]
    for output, row in case.listed:
        parts = case.structure.parts_of(case.shape, np.array(output, dtype=np.uint32))
        np.testing.assert_array_equal(np.bincount(parts, minlength=case.n_parts), row)
        assert case.structure.output_of(case.shape, parts).tolist() == output


@given(cases(), st.integers(1, 8))
def test_the_best_trees_are_distinct_and_in_order(case, k):
    best = np.sort(case.totals[case.totals > -np.inf])[::-1][:k]
    found = case.structure.best(case.shape, case.scores, k)
    np.testing.assert_allclose([score for _, score in found], best, rtol=1e-12, atol=1e-12)
    outputs = [tuple(case.structure.output_of(case.shape, parts).tolist()) for parts, _ in found]
    assert len(set(outputs)) == len(found)
    totals = {tuple(output): total for (output, _), total in zip(case.listed, case.totals, strict=True)}
    np.testing.assert_allclose([totals[output] for output in outputs], best, rtol=1e-12, atol=1e-12)
    if found:
        first = case.structure.best(case.shape, case.scores, 1)[0]
        assert first[0].tolist() == found[0][0].tolist()


@given(cases())
def test_sums_run_over_every_tree_once(case):
    log_z = case.structure.log_partition(case.shape, case.scores)
    if case.log_z == -np.inf:
        assert log_z == -np.inf
        assert 0 <= case.structure.dead_end(case.shape, case.scores) < max(len(case.candidates), 1)
        return
    np.testing.assert_allclose(log_z, case.log_z, rtol=1e-12, atol=1e-11)
    p = np.exp(case.totals - case.log_z)
    expected = case.structure.marginals(case.shape, case.scores)
    np.testing.assert_allclose(expected, p @ case.counts, atol=1e-11)
    entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
    np.testing.assert_allclose(case.structure.entropy(case.shape, case.scores), entropy, rtol=1e-9, atol=1e-11)


@given(cases())
def test_max_marginals_are_the_best_tree_with_each_part(case):
    for part, value in enumerate(case.structure.max_marginals(case.shape, case.scores)):
        best = case.totals[case.counts[:, part] > 0].max(initial=-np.inf)
        assert value == pytest.approx(best, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize(("siblings", "grandparents"), [(False, False), (True, False), (False, True), (True, True)])
def test_samples_follow_the_distribution(siblings, grandparents):
    case = Case(3, 3, 2, False, True, siblings, grandparents)
    p = np.exp(case.totals - case.log_z)
    drawn = case.structure.sample(case.shape, case.scores, 20000, 1)
    keys = {tuple(output): i for i, (output, _) in enumerate(case.listed)}
    numbers = [keys[tuple(case.structure.output_of(case.shape, parts).tolist())] for parts in drawn]
    seen = np.bincount(numbers, minlength=len(p)) / 20000
    assert (np.abs(seen - p) < 5 * np.sqrt(p * (1 - p) / 20000) + 1e-9).all()
    distinct = case.structure.sample(case.shape, case.scores, len(p) + 5, 1, True)
    assert len({tuple(parts.tolist()) for parts in distinct}) == len(distinct) == len(p)


@pytest.mark.parametrize(("siblings", "grandparents"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("single_root", [False, True])
def test_thirty_words_have_as_many_trees_as_counted(single_root, siblings, grandparents):
    n, structure = 30, _core.PartStructure.projective_tree(1, single_root, siblings, grandparents)
    shape = np.array([n], dtype=np.uint32)
    n_parts = sum(sites * codes for _, sites, codes in structure.blocks(shape))
    count = comb(3 * n - 2, n - 1) // n if single_root else comb(3 * n, n) // (2 * n + 1)
    assert structure.log_partition(shape, np.zeros(n_parts)) == pytest.approx(log(count), rel=1e-13)
    assert structure.entropy(shape, np.zeros(n_parts)) == pytest.approx(log(count), rel=1e-12)


@pytest.mark.parametrize(
    ("shape", "output", "message"),
    [
        ([2], [0], "a head for each word"),
        ([2], [2, 1], "this has 0"),
        ([3], [0, 3, 2], "word 2 is among its own ancestors"),
        ([2], [0, 0], "one root, this has 2"),
        ([2], [0, 3], "word 2 has a head out of range"),
        ([2, 0, 1, 2, 0, 0], [0, 1], "word 2 has the head 1, which is not among its heads"),
        ([2, 0, 1, 2, 0], [0, 1], "a pruned shape is"),
        ([2, 0, 2, 1, 0], [0, 1], "must not fall"),
        ([2, 0, 2, 3, 2, 0, 0], [0, 1], "rising"),
    ],
)
def test_bad_input_is_refused(shape, output, message):
    structure = _core.PartStructure.projective_tree()
    with pytest.raises(ValueError, match=message):
        structure.parts_of(np.array(shape, dtype=np.uint32), np.array(output, dtype=np.uint32))


def test_a_tree_that_is_not_projective_can_be_gold():
    structure = _core.PartStructure.projective_tree(1, True, True, True)
    shape, heads = np.array([4], dtype=np.uint32), np.array([3, 4, 0, 3], dtype=np.uint32)
    parts = structure.parts_of(shape, heads)
    assert structure.output_of(shape, parts).tolist() == heads.tolist()
    n_arcs = 25 + len(_core.sibling_sites(shape))
    between = {tuple(words) for words in _core.sibling_sites(shape)[parts[(parts >= 25) & (parts < n_arcs)] - 25]}
    assert between == {(3, -1, 1), (4, -1, 2), (0, -1, 3), (3, -1, 4)}


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 31, 40, 65])
@pytest.mark.parametrize(("single_root", "n_labels"), [(False, 1), (True, 1), (True, 3)])
def test_siblings_that_score_nothing_change_nothing(n, single_root, n_labels):
    """The loops of the first order, and those of the second about the same trees."""
    rng = np.random.default_rng(n)
    shape = np.array([n], dtype=np.uint32)
    fast = _core.PartStructure.projective_tree(n_labels, single_root)
    slow = _core.PartStructure.projective_tree(n_labels, single_root, True)
    for scale, forbid in ((1.0, 0.0), (30.0, 0.0), (3.0, 0.2), (300.0, 0.0)):
        scores = rng.normal(size=(n + 1) ** 2 * n_labels) * scale
        scores[rng.random(len(scores)) < forbid] = -np.inf
        more = np.concatenate([scores, np.zeros(len(_core.sibling_sites(shape)))])
        log_z = slow.log_partition(shape, more)
        assert fast.log_partition(shape, scores) == pytest.approx(log_z, rel=1e-12, abs=1e-11)
        np.testing.assert_allclose(
            fast.marginals(shape, scores), slow.marginals(shape, more)[: len(scores)], rtol=1e-9, atol=1e-12
        )
        best, same = fast.best(shape, scores), slow.best(shape, more)
        assert [score for _, score in best] == pytest.approx([score for _, score in same], rel=1e-12)
        assert [parts.tolist() for parts, _ in best] == [parts[parts < len(scores)].tolist() for parts, _ in same]


@pytest.mark.parametrize(("scale", "n"), [(1.0, 300), (0.0, 300), (8.0, 200)])
def test_long_sentences_stay_in_range(scale, n):
    shape, scores = np.array([n], dtype=np.uint32), np.random.default_rng(0).normal(size=(n + 1) ** 2) * scale
    structure = _core.PartStructure.projective_tree()
    marginals = structure.marginals(shape, scores).reshape(n + 1, n + 1)
    np.testing.assert_allclose(marginals.sum(axis=0)[1:], 1.0, rtol=1e-10)
    assert marginals[0].sum() == pytest.approx(1.0, rel=1e-10)
    assert_sums_agree(structure, shape, scores)


def assert_sums_agree(structure, shape, scores):
    """log Z = entropy + expected score, where the entropy comes from the recursions in logarithms."""
    marginals = structure.marginals(shape, scores)
    used = marginals > 0
    expected = structure.entropy(shape, scores) + marginals[used] @ scores[used]
    assert structure.log_partition(shape, scores) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_regions_of_very_different_growth_are_summed_as_the_recursions_sum_them():
    """In one half the best heads are cycles, the other half is flat: spans of one width differ by powers of e^9."""
    n = 150
    scores = np.zeros((n + 1, n + 1))
    for m in range(1, n // 2):
        scores[:, m] = -9.0
        scores[m + 1, m] = scores[m, m + 1] = 0.0
    shape = np.array([n], dtype=np.uint32)
    assert_sums_agree(_core.PartStructure.projective_tree(), shape, scores.ravel())
    more = np.concatenate([scores.ravel(), np.zeros(len(_core.sibling_sites(shape)))])
    assert_sums_agree(_core.PartStructure.projective_tree(1, True, True), shape, more)


@pytest.mark.parametrize(("siblings", "grandparents"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("n", "n_heads", "n_labels"), [(24, 8, 3), (40, 12, 1), (14, 14, 2)])
@pytest.mark.parametrize("single_root", [False, True])
def test_the_best_tree_of_the_second_order_is_the_first_of_the_k_best(
    n, n_heads, n_labels, siblings, grandparents, single_root
):
    """One is found by loops, the others by the recursions."""
    rng = np.random.default_rng(n)
    for whole in (False, True):
        chosen = [rng.choice(heads, n_heads, replace=False).tolist() for heads in trees.all_heads(n)]
        candidates = [sorted({before, *heads}) for before, heads in enumerate(chosen)]  # so that there is a tree
        shape = trees.shape_of(candidates, pruned=True)
        structure = _core.PartStructure.projective_tree(n_labels, single_root, siblings, grandparents)
        n_parts = sum(sites * codes for _, sites, codes in structure.blocks(shape))
        scores = rng.integers(-1, 2, n_parts) + 0.0 if whole else rng.normal(size=n_parts)
        best, ranked = structure.best(shape, scores), structure.best(shape, scores, 2)
        assert best[0][1] == ranked[0][1]
        assert best[0][0].tolist() == ranked[0][0].tolist()
        for scale in (1.0, 20.0, 1000.0):  # the last leaves the range of exponentials
            assert_sums_agree(structure, shape, scores * scale)


@pytest.mark.slow
def test_thousands_of_small_instances():
    rng = np.random.default_rng(15)
    for seed in range(5000):
        n = int(rng.integers(0, 6))
        n_labels = int(rng.integers(1, 4 if n < 3 else 3 if n < 4 else 2))
        flags = rng.random(4) < 0.5
        case = Case(seed, n, n_labels, *map(bool, flags), rng.choice([0.0, 0.1, 0.3]), rng.random() < 0.5)
        found = case.structure.best(case.shape, case.scores, 3)
        best = np.sort(case.totals[case.totals > -np.inf])[::-1][:3]
        np.testing.assert_allclose([score for _, score in found], best, rtol=1e-12, atol=1e-12)
        log_z = case.structure.log_partition(case.shape, case.scores)
        assert log_z == pytest.approx(case.log_z, rel=1e-12, abs=1e-11)
        if len(best):
            p = np.exp(case.totals - case.log_z)
            marginals = case.structure.marginals(case.shape, case.scores)
            np.testing.assert_allclose(marginals, p @ case.counts, atol=1e-11)
            one = case.structure.best(case.shape, case.scores)[0]
            assert (one[1], one[0].tolist()) == (pytest.approx(found[0][1], rel=1e-12), found[0][0].tolist())
