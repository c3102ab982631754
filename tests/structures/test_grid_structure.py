"""Labelled grids as a structure of parts, against all labellings one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.grid_labellings import all_labellings
from trelliswork import _core
from trelliswork.training.image_examples import bits_of

SIZES = [(1, 1), (1, 4), (3, 1), (2, 3), (3, 3), (1, 2, 2), (2, 2, 2)]


@st.composite
def grids(draw, associative=None, positive=False, masks=True, forbids=True):
    """A structure, its shape, the scores of its parts, and all labellings with their scores."""
    size = draw(st.sampled_from(SIZES))
    n_labels = draw(st.integers(1, 3 if np.prod(size) <= 6 else 2))
    neighbours = draw(st.sampled_from([0, 4, 8] if len(size) == 2 else [0, 6, 26]))
    agree = draw(st.booleans()) if associative is None else associative
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    there = rng.random(size) < 0.7 if masks and draw(st.booleans()) else None
    shape = np.array([*size, *([] if there is None else bits_of(there))], dtype=np.uint32)
    listed = list(all_labellings(size, n_labels, neighbours, agree, there))
    scores = np.round(rng.normal(size=len(listed[0][1])) * 3, 1)  # ties are frequent
    n_cells = int(np.prod(size)) * n_labels
    if positive:
        scores[n_cells:] = np.abs(scores[n_cells:])
    if forbids and draw(st.booleans()):
        scores[:n_cells][rng.random(n_cells) < 0.15] = -np.inf
    options = (n_labels, len(size), neighbours, agree)
    return options, shape, scores, listed


def scored(listed, scores):
    return np.array([scores[counts > 0].sum() for _, counts in listed])


@given(grids())
def test_parts_and_outputs_are_each_others_inverse(case):
    options, shape, scores, listed = case
    structure = _core.PartStructure.grid(*options)
    assert sum(n * c for _, n, c in structure.blocks(shape)) == len(scores)
    for output, counts in listed[:: max(1, len(listed) // 20)]:
        parts = structure.parts_of(shape, np.array(output, dtype=np.uint32))
        assert parts.tolist() == np.flatnonzero(counts).tolist()
        assert structure.output_of(shape, parts).tolist() == output


@pytest.mark.parametrize("inference", ["auto", "trw", "bp", "ad3"])
@given(case=grids())
def test_narrow_grids_are_exact_whatever_the_inference(inference, case):
    options, shape, scores, listed = case
    structure = _core.PartStructure.grid(*options, inference=inference)
    expected = scored(listed, scores)
    found = structure.answer(shape, scores)
    if np.isneginf(expected.max()):
        assert found is None
        return
    output, score, gap, shares = found
    assert gap == 0.0
    assert shares is None
    np.testing.assert_allclose(score, expected.max(), atol=1e-9)
    parts = structure.parts_of(shape, output)
    np.testing.assert_allclose(scores[parts].sum(), score, atol=1e-9)


@given(grids())
def test_sums_lists_and_samples_of_narrow_grids(case):
    options, shape, scores, listed = case
    structure = _core.PartStructure.grid(*options)
    assert structure.answers_lists(shape)
    assert structure.answers_sums(shape)
    expected = scored(listed, scores)
    highest = expected.max()
    if np.isneginf(highest):
        assert structure.log_partition(shape, scores) == -np.inf
        return
    p = np.exp(expected - highest)
    log_z = highest + np.log(p.sum())
    p /= p.sum()
    found, marginals = structure.sums(shape, scores)
    np.testing.assert_allclose(found, log_z, atol=1e-9)
    np.testing.assert_allclose(marginals, p @ np.array([counts for _, counts in listed]), atol=1e-9)
    finite = p[p > 0]
    np.testing.assert_allclose(structure.entropy(shape, scores), -(finite * np.log(finite)).sum(), atol=1e-8)
    best = structure.best(shape, scores, 5)
    np.testing.assert_allclose(
        [score for _, score in best], np.sort(expected[~np.isneginf(expected)])[::-1][:5], atol=1e-9
    )
    assert len({tuple(parts.tolist()) for parts, _ in best}) == len(best)
    for parts in structure.sample(shape, scores, 3, 1):
        assert np.isfinite(scores[parts].sum())
    most = structure.max_marginals(shape, scores)
    for part in range(len(scores)):
        having = [s for (_, counts), s in zip(listed, expected, strict=True) if counts[part]]
        assert most[part] == pytest.approx(max(having, default=-np.inf))


@given(grids(associative=True, positive=True))
def test_cuts_of_two_labels_are_exact(case):
    options, shape, scores, listed = case
    structure = _core.PartStructure.grid(*options, inference="cut")
    expected = scored(listed, scores)
    found = structure.answer(shape, scores)
    if np.isneginf(expected.max()):
        assert found is None
        return
    np.testing.assert_allclose(found[1], expected.max(), atol=1e-9)
    assert found[2] == 0.0


@given(grids(), st.integers(0, 2**32))
def test_costs_count_wrong_cells(case, seed):
    options, shape, _scores, listed = case
    n_labels = options[0]
    size = shape[: options[1]].tolist()
    rng = np.random.default_rng(seed)
    gold, counts = listed[rng.integers(len(listed))]
    rows = np.ones((int(np.prod(size)), 1), dtype=np.float32)
    first = np.array([0, len(rows)], dtype=np.int64)
    channel = ("bias", 0, "each", 0, n_labels, 1, np.zeros(0, dtype=np.int64), first, rows, False)
    oracle = _core.LinearOracle(
        _core.PartStructure.grid(*options), [shape], [np.array(gold, dtype=np.uint32)], np.ones(1), [channel], "all"
    )
    there = np.array([counts[i * n_labels : (i + 1) * n_labels].sum() for i in range(len(rows))])
    w = rng.normal(size=n_labels)
    costs = sorted(round(float(((np.array(gold) != output) * there).sum()), 9) for output, _ in listed)
    found = sorted(cost for _, _, cost, *_ in oracle.kbest(w, 0, len(listed) + 1, 0.0))
    assert found == costs


def test_cells_that_are_not_there_change_nothing():
    structure, there = _core.PartStructure.grid(2), np.array([[True, False, True]])
    shape = np.array([1, 3, *bits_of(there)], dtype=np.uint32)
    scores = np.array([0.0, 1.0, 1e9, -1e9, 2.0, 0.0, 1e9, 1e9])  # the pairs with the cell in the middle, too
    output, score, gap, _ = structure.answer(shape, scores)
    assert (output.tolist(), score, gap) == ([1, 0, 0], 3.0, 0.0)


WIDE = np.array([20, 20], dtype=np.uint32)


def random_scores(structure, seed=0, shape=WIDE):
    n = sum(n * c for _, n, c in structure.blocks(shape))
    return np.random.default_rng(seed).normal(size=n)


def test_wide_grids_refuse_what_has_no_exact_answer():
    structure = _core.PartStructure.grid(2)
    assert not structure.answers_lists(WIDE)
    assert not structure.answers_sums(WIDE)
    scores = random_scores(structure)
    with pytest.raises(ValueError, match="list of the best labellings of a grid of 20 x 20 cells"):
        structure.best(WIDE, scores, 2)
    with pytest.raises(ValueError, match=r"sums over all labellings .* 'trw' or 'bp'"):
        structure.log_partition(WIDE, scores)
    for question in (structure.entropy, structure.max_marginals):
        with pytest.raises(ValueError, match="no other exact way"):
            question(WIDE, scores)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("inference", ["auto", "cut", "trw", "bp", "ad3"])
def test_wide_grids_have_gaps_that_hold(n_labels, inference):
    structures = [
        _core.PartStructure.grid(n_labels, associative=False, inference=name, iterations=200)
        for name in (inference, "auto", "trw", "ad3")
    ]
    scores = random_scores(structures[0], 3)
    answers = [structure.answer(WIDE, scores) for structure in structures]
    output, score, gap, shares = answers[0]
    assert shares is None
    assert gap >= 0.0
    np.testing.assert_allclose(scores[structures[0].parts_of(WIDE, output)].sum(), score, atol=1e-8)
    assert max(found for _, found, _, _ in answers) <= score + gap + 1e-8


@pytest.mark.parametrize("inference", ["trw", "ad3"])
def test_relaxed_answers_are_shares_of_cells_and_pairs(inference):
    structure = _core.PartStructure.grid(3, inference=inference, relaxed=True, iterations=300)
    scores = random_scores(structure, 5)
    scores[1200:] -= 1.5  # neighbours want to differ
    _, score, gap, shares = structure.answer(WIDE, scores)
    assert shares is not None
    assert (np.round(shares, 6) % 1.0 != 0.0).any()
    np.testing.assert_allclose(shares[:1200].reshape(-1, 3).sum(axis=1), 1.0, atol=1e-6)
    assert shares.min() >= 0.0
    assert shares.max() <= 1.0 + 1e-9
    np.testing.assert_allclose(score, shares @ scores, atol=1e-6)
    whole = _core.PartStructure.grid(3, inference=inference, iterations=300).answer(WIDE, scores)
    assert whole[1] <= score + gap + 1e-6


@pytest.mark.parametrize("inference", ["trw", "bp"])
def test_beliefs_stand_for_marginals_when_told_to(inference):
    structure = _core.PartStructure.grid(2, inference=inference)
    assert structure.answers_sums(WIDE)
    scores = 0.3 * random_scores(structure, 1)
    log_z, beliefs = structure.sums(WIDE, scores)
    np.testing.assert_allclose(beliefs[:800].reshape(-1, 2).sum(axis=1), 1.0, atol=1e-3)
    exact_shape = np.array([4, 20], dtype=np.uint32)
    own = 0.3 * random_scores(structure, 1, exact_shape)
    exact = _core.PartStructure.grid(2).sums(exact_shape, own)
    np.testing.assert_allclose(structure.sums(exact_shape, own)[1], exact[1], atol=1e-9)  # narrow: exact
    assert np.isfinite(log_z)


def test_a_large_picture_is_labelled():
    shape = np.array([1024, 1024], dtype=np.uint32)
    structure = _core.PartStructure.grid(2)
    scores = np.abs(random_scores(structure, 2, shape))
    output, score, gap, _ = structure.answer(shape, scores)
    assert len(output) == 1024**2
    assert gap == 0.0
    assert score > 0


def test_bad_grids():
    with pytest.raises(ValueError, match="0, 4 or 8 neighbours"):
        _core.PartStructure.grid(2, 2, 6)
    with pytest.raises(ValueError, match="two or three dimensions"):
        _core.PartStructure.grid(2, 4)
    with pytest.raises(ValueError, match="at least one label"):
        _core.PartStructure.grid(0)
    with pytest.raises(ValueError, match="trw, ad3"):
        _core.PartStructure.grid(2, inference="magic")
    structure = _core.PartStructure.grid(2)
    with pytest.raises(ValueError, match="size along each dimension"):
        structure.blocks(np.array([3], dtype=np.uint32))
    with pytest.raises(ValueError, match="numbers that say which of them are there"):
        structure.blocks(np.array([3, 3, 1, 1], dtype=np.uint32))
    with pytest.raises(ValueError, match=r"has \d+ parts, scores of \d+ GB"):
        structure.blocks(np.array([2**20, 2**20], dtype=np.uint32))
    with pytest.raises(ValueError, match="as many labels, not 3"):
        structure.parts_of(np.array([2, 2], dtype=np.uint32), np.zeros(3, dtype=np.uint32))
    with pytest.raises(ValueError, match="cell 1 has label 2"):
        structure.parts_of(np.array([1, 2], dtype=np.uint32), np.array([0, 2], dtype=np.uint32))


def test_empty_grids():
    shape = np.array([0, 5], dtype=np.uint32)
    for options in ({}, {"inference": "trw"}, {"associative": False}, {"neighbours": 0}):
        structure = _core.PartStructure.grid(2, **options)
        output, score, gap, _ = structure.answer(shape, np.zeros(0))
        assert (len(output), score, gap) == (0, 0.0, 0.0)
        assert structure.log_partition(shape, np.zeros(0)) == 0.0
