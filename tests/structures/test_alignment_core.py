"""Alignments in the core: every answer against a list of all alignments, and against counts."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.listed_outputs import Listed, check_every_answer
from reference.matchings import alignments
from trelliswork import _core

STRUCTURES = {
    (affine, free): _core.PartStructure.alignment(affine, free) for affine in (False, True) for free in (False, True)
}
LISTED = {}


def listed(*key):
    if key not in LISTED:
        LISTED[key] = alignments(*key)
    return LISTED[key]


def shape(*numbers):
    return np.array(numbers, dtype=np.uint32)


def n_parts(n, m, affine):
    return n * m + (2 if affine else 1) * (n + m)


@st.composite
def cases(draw):
    n, m, affine, free = draw(st.integers(0, 4)), draw(st.integers(0, 4)), draw(st.booleans()), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    size = n_parts(n, m, affine)
    scores = {
        "whole": lambda: rng.integers(-2, 3, size) + 0.0,
        "real": lambda: rng.normal(size=size) * draw(st.sampled_from([0.1, 2.0, 50.0, 1e6])),
        "equal": lambda: np.zeros(size),
    }[draw(st.sampled_from(["whole", "real", "equal"]))]()
    scores[rng.random(size) < draw(st.sampled_from([0.0, 0.0, 0.1, 0.3, 0.6]))] = -np.inf
    return n, m, affine, free, scores


@settings(max_examples=300)
@given(cases(), st.integers(1, 130), st.integers(0, 1000))
def test_every_answer_is_that_of_the_list(case, k, seed):
    n, m, affine, free, scores = case
    check_every_answer(STRUCTURES[affine, free], (n, m), Listed(listed(n, m, affine, free), scores), k, seed)


@given(cases())
def test_parts_of_outputs_and_back(case):
    n, m, affine, free, _ = case
    structure = STRUCTURES[affine, free]
    for output, counts in listed(n, m, affine, free)[:30]:
        parts = structure.parts_of(shape(n, m), shape(*output))
        assert parts.tolist() == np.flatnonzero(counts).tolist()
        assert structure.output_of(shape(n, m), parts).tolist() == list(output)


@pytest.mark.parametrize("output", [(0,), (0, 0, 0, 1), (1, 1, 0, 2), (1, 1, 2, 0), (2, 0), (0, 3)])
def test_what_is_no_alignment_is_refused(output):
    with pytest.raises(ValueError, match="pair"):
        STRUCTURES[False, False].parts_of(shape(2, 3), shape(*output))


@pytest.mark.parametrize("key", STRUCTURES)
def test_alignments_are_counted_by_binomials(key):
    for n, m in [(0, 0), (0, 3), (4, 0), (1, 1), (7, 3), (20, 30), (200, 150)]:
        expected = math.lgamma(n + m + 1) - math.lgamma(n + 1) - math.lgamma(m + 1)
        found = STRUCTURES[key].log_partition(shape(n, m), np.zeros(n_parts(n, m, key[0])))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_best_is_the_edit_distance():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = (rng.integers(0, 3, rng.integers(0, 12)) for _ in range(2))
        scores = np.concatenate([-(a[:, None] != b).astype(float).ravel(), -np.ones(len(a) + len(b))])
        assert -STRUCTURES[False, False].best_output(shape(len(a), len(b)), scores)[1] == levenshtein(a, b)


def levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, before = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y)))
    return row[-1]


@pytest.mark.parametrize("key", STRUCTURES)
@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_identities_of_longer_sequences(key, spread):
    n, m = 40, 25
    rng = np.random.default_rng(1)
    scores = rng.normal(size=n_parts(n, m, key[0])) * spread
    scores[rng.random(len(scores)) < 0.1] = -np.inf
    scores[n * m :] = np.maximum(scores[n * m :], -50.0)
    structure = STRUCTURES[key]
    log_z, p = structure.sums(shape(n, m), scores)
    sides = p[: n * m].reshape(n, m).sum(axis=1) + p[n * m : n * m + n]
    if key[1]:
        assert (sides <= 1 + 1e-9).all()
    else:
        np.testing.assert_allclose(sides, 1.0, atol=1e-9)
    used = p > 0
    np.testing.assert_allclose(structure.entropy(shape(n, m), scores), log_z - p[used] @ scores[used], atol=1e-7)
    highest = structure.max_marginals(shape(n, m), scores)
    best = structure.best(shape(n, m), scores, 2)
    np.testing.assert_allclose(highest.max(), best[0][1], rtol=1e-12)
    parts = structure.best_output(shape(n, m), scores)
    assert parts[1] == pytest.approx(best[0][1])
    np.testing.assert_allclose(highest[best[0][0]], best[0][1], rtol=1e-12)
    for part in np.flatnonzero(used)[::217]:
        step = np.eye(len(scores))[part] * 1e-5
        ends = [
            structure.log_partition(shape(n, m), np.where(np.isneginf(scores), scores, scores + s))
            for s in (step, -step)
        ]
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, p[part], atol=1e-5)
