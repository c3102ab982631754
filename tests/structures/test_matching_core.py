"""Matchings in the core: every answer against a list of all matchings, against counts and against SciPy."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.listed_outputs import Listed, check_every_answer
from reference.matchings import matchings
from trelliswork import _core

STRUCTURE = _core.PartStructure.matching()
LISTED = {}


def listed(n, m, is_open):
    if (n, m, is_open) not in LISTED:
        LISTED[n, m, is_open] = matchings(n, m, is_open)
    return LISTED[n, m, is_open]


def shape(*numbers):
    return np.array(numbers, dtype=np.uint32)


@st.composite
def cases(draw):
    n, m, is_open = draw(st.integers(0, 5)), draw(st.integers(0, 5)), draw(st.booleans())
    if is_open:
        n, m = min(n, 4), min(m, 4)
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    size = n * m + (n + m if is_open else 0)
    scores = {
        "whole": lambda: rng.integers(-2, 3, size) + 0.0,
        "real": lambda: rng.normal(size=size) * draw(st.sampled_from([0.1, 2.0, 50.0])),
        "equal": lambda: np.zeros(size),
    }[draw(st.sampled_from(["whole", "real", "equal"]))]()
    scores[rng.random(size) < draw(st.sampled_from([0.0, 0.0, 0.1, 0.3, 0.6]))] = -np.inf
    if is_open:  # sides that must be matched
        for begin, length in ((n * m, n), (n * m + n, m)):
            if draw(st.sampled_from([False, False, True])):
                scores[begin : begin + length] = -np.inf
    return (n, m, 1) if is_open else (n, m), scores


@settings(max_examples=400)
@given(cases(), st.integers(1, 130), st.integers(0, 1000))
def test_every_answer_is_that_of_the_list(case, k, seed):
    sizes, scores = case
    check_every_answer(STRUCTURE, sizes, Listed(listed(sizes[0], sizes[1], len(sizes) == 3), scores), k, seed)


@given(cases())
def test_parts_of_outputs_and_back(case):
    sizes, _ = case
    for output, counts in listed(sizes[0], sizes[1], len(sizes) == 3)[:20]:
        parts = STRUCTURE.parts_of(shape(*sizes), shape(*output[2:], *output[:2]))  # in another order
        assert parts.tolist() == np.flatnonzero(counts).tolist()
        assert STRUCTURE.output_of(shape(*sizes), parts).tolist() == list(output)


@pytest.mark.parametrize("output", [(0, 0), (0, 0, 1), (0, 0, 0, 1), (0, 0, 1, 0), (0, 0, 1, 3), (2, 0, 0, 1)])
def test_what_is_no_matching_is_refused(output):
    with pytest.raises(ValueError, match="pair"):
        STRUCTURE.parts_of(shape(2, 3), shape(*output))


@pytest.mark.parametrize("sizes", [(), (2,), (2, 2, 2), (2, 2, 1, 0), (70_000, 70_000)])
def test_what_is_no_shape_is_refused(sizes):
    with pytest.raises(ValueError, match="matching"):
        STRUCTURE.blocks(shape(*sizes))


@pytest.mark.parametrize("n", range(13))
def test_matchings_of_full_size_are_counted_by_factorials(n):
    for m in (n, n + 1, n + 3):
        expected = math.lgamma(m + 1) - math.lgamma(m - n + 1)
        for a, b in ((n, m), (m, n)):
            np.testing.assert_allclose(
                STRUCTURE.log_partition(shape(a, b), np.zeros(n * m)), expected, rtol=1e-13, atol=1e-13
            )


@pytest.mark.parametrize("n", range(11))
def test_all_matchings_are_counted_by_binomials(n):
    for m in (n, n + 2):
        expected = math.log(sum(math.comb(n, k) * math.comb(m, k) * math.factorial(k) for k in range(n + 1)))
        found = STRUCTURE.log_partition(shape(n, m, 1), np.zeros(n * m + n + m))
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_permanents_are_those_of_ryser(n):
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 60
    scores = np.random.default_rng(n).normal(size=(n, n)) * 20
    weights = [[mpmath.exp(mpmath.mpf(x)) for x in row] for row in scores.tolist()]
    permanent = mpmath.mpf(0)
    for size in range(1, n + 1):
        for columns in itertools.combinations(range(n), size):
            permanent += (-1) ** (n - size) * mpmath.fprod(mpmath.fsum(row[j] for j in columns) for row in weights)
    found = STRUCTURE.log_partition(shape(n, n), scores.ravel())
    np.testing.assert_allclose(found, float(mpmath.log(permanent)), rtol=1e-14)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("sizes", [(7, 7), (30, 30), (12, 40), (40, 12), (60, 60)])
def test_the_best_matching_is_that_of_scipy(seed, sizes):
    linear_sum_assignment = pytest.importorskip("scipy.optimize").linear_sum_assignment
    rng = np.random.default_rng(seed)
    scores = [rng.normal(size=sizes), rng.integers(0, 4, sizes) + 0.0, rng.random(sizes) ** 8, rng.random(sizes) * 1e9][
        seed % 4
    ]
    forbidden = rng.random(sizes) < (seed % 3) * 0.2
    forbidden[:, : min(sizes)][np.diag_indices(min(sizes))] = False
    scores[forbidden] = -np.inf
    output, score = STRUCTURE.best_output(shape(*sizes), scores.ravel())
    rows, columns = linear_sum_assignment(scores, maximize=True)
    np.testing.assert_allclose(score, scores[rows, columns].sum(), rtol=1e-12)
    np.testing.assert_allclose(scores[output[::2], output[1::2]].sum(), score, rtol=1e-12)
    assert len(set(output[::2].tolist())) == len(set(output[1::2].tolist())) == min(sizes)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("forced", ["none", "left", "right", "both"])
def test_open_matchings_are_assignments_with_places_for_what_is_unmatched(seed, forced):
    linear_sum_assignment = pytest.importorskip("scipy.optimize").linear_sum_assignment
    rng = np.random.default_rng(seed)
    n, m = 20 + 3 * (seed % 3), 26 - 3 * (seed % 3)
    pairs, left, right = rng.normal(size=(n, m)), rng.normal(size=n), rng.normal(size=m)
    left[:5] = -np.inf if forced in ("left", "both") else left[:5]
    right[3:9] = -np.inf if forced in ("right", "both") else right[3:9]
    square = np.full((n + m, n + m), -np.inf)
    square[:n, :m], square[n:, m:] = pairs, 0.0
    square[np.arange(n), m + np.arange(n)] = left
    square[n + np.arange(m), np.arange(m)] = right
    rows, columns = linear_sum_assignment(square, maximize=True)
    scores = np.concatenate([pairs.ravel(), left, right])
    found = STRUCTURE.best(shape(n, m, 1), scores, 4)
    np.testing.assert_allclose(found[0][1], square[rows, columns].sum(), rtol=1e-12)
    for parts, score in found:
        np.testing.assert_allclose(scores[parts].sum(), score, rtol=1e-12)
    highest = STRUCTURE.max_marginals(shape(n, m, 1), scores)
    np.testing.assert_allclose(highest[found[0][0]], found[0][1], rtol=1e-12)
    # The second best lacks a part of the best; so does whatever is best with some other part.
    others = np.setdiff1d(np.arange(len(scores)), found[0][0])
    np.testing.assert_allclose(highest[others].max(), found[1][1], rtol=1e-12)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("sizes", [(25, 25), (9, 30), (30, 9), (12, 14, 1)])
def test_further_matchings_of_larger_sides_are_those_of_murtys_partition(sizes, whole):
    n, m, *is_open = sizes
    rng = np.random.default_rng(n)
    size = n * m + (n + m if is_open else 0)
    scores = rng.integers(0, 9, size) + 0.0 if whole else rng.random(size)
    found = [score for _, score in STRUCTURE.best(shape(*sizes), scores, 60)]
    np.testing.assert_allclose(found, murty(sizes, scores, 60), rtol=1e-12)


def murty(sizes, scores, k):
    """Scores of the k best: all matchings but the best, by the first part of it that they lack (Murty 1968)."""
    parts, score = STRUCTURE.best(shape(*sizes), scores, 1)[0]
    waiting, out = [(score, parts.tolist(), scores, 0)], []
    while waiting and len(out) < k:
        waiting.sort(key=lambda entry: -entry[0])
        score, parts, own, fixed = waiting.pop(0)
        out.append(score)
        for at in range(fixed, len(parts)):
            changed = own.copy()
            changed[parts[at]] = -np.inf
            for part in parts[:at]:  # these stay: nothing else of their row and column may be
                changed[[p for p in conflicts(sizes, part) if p != part]] = -np.inf
            best = STRUCTURE.best(shape(*sizes), changed, 1)
            if best:
                rest = [p for p in best[0][0].tolist() if p not in parts[:at]]
                waiting.append((best[0][1], parts[:at] + rest, changed, at))
    return out


def conflicts(sizes, part):
    n, m, *is_open = sizes
    if part >= n * m + n:
        return [i * m + part - n * m - n for i in range(n)]
    if part >= n * m:
        return [(part - n * m) * m + j for j in range(m)]
    i, j = divmod(part, m)
    both = [i * m + b for b in range(m)] + [a * m + j for a in range(n)]
    return both + ([n * m + i, n * m + n + j] if is_open else [])


@pytest.mark.parametrize("sizes", [(18, 18), (6, 40), (9, 11, 1)])
def test_identities_of_sums(sizes):
    n, m, *is_open = sizes
    size = n * m + (n + m if is_open else 0)
    scores = np.random.default_rng(3).normal(size=size) * 3
    log_z, p = STRUCTURE.sums(shape(*sizes), scores)
    pairs = p[: n * m].reshape(n, m)
    if is_open:
        np.testing.assert_allclose(pairs.sum(axis=1) + p[n * m : n * m + n], 1.0, rtol=1e-12)
        np.testing.assert_allclose(pairs.sum(axis=0) + p[n * m + n :], 1.0, rtol=1e-12)
    else:
        np.testing.assert_allclose(pairs.sum(axis=1 if n <= m else 0), 1.0, rtol=1e-12)
    # Marginals are the derivatives of log Z, and the entropy is log Z less the mean score.
    for part in (0, size // 2, size - 1):
        ends = [STRUCTURE.log_partition(shape(*sizes), scores + h * np.eye(size)[part]) for h in (1e-5, -1e-5)]
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, p[part], atol=1e-8)
    np.testing.assert_allclose(STRUCTURE.entropy(shape(*sizes), scores), log_z - p @ scores, rtol=1e-10)
    best = STRUCTURE.best_output(shape(*sizes), scores)[1]
    assert best <= log_z


def test_extreme_scores_stay_finite():
    scores = np.array([[1e300, -1e300, 0.0], [-1e300, 1e300, 1.0], [0.0, 0.0, 0.0]])
    log_z, p = STRUCTURE.sums(shape(3, 3), scores.ravel())
    assert log_z == 2e300
    np.testing.assert_allclose(p.reshape(3, 3), np.eye(3), atol=1e-15)
    far = np.array([[0.0, -800.0], [-900.0, 0.0]])  # beyond the range of exponentials
    np.testing.assert_allclose(STRUCTURE.sums(shape(2, 2), far.ravel())[1].reshape(2, 2), np.eye(2), atol=1e-300)


def test_sums_end_where_they_would_take_too_much():
    assert STRUCTURE.answers_sums(shape(20, 20))
    assert STRUCTURE.answers_sums(shape(22, 22))
    assert STRUCTURE.answers_sums(shape(10, 1000))
    assert STRUCTURE.answers_sums(shape(20, 40, 1))
    for sizes in [(23, 23), (20, 1000), (22, 23), (22, 22, 1)]:
        assert not STRUCTURE.answers_sums(shape(*sizes))
        with pytest.raises(ValueError, match="too large for exact sums"):
            STRUCTURE.log_partition(
                shape(*sizes), np.zeros(sizes[0] * sizes[1] + (sum(sizes[:2]) if len(sizes) > 2 else 0))
            )


def test_samples_are_drawn_by_their_probabilities():
    sizes, rng = (3, 3, 1), np.random.default_rng(0)
    scores = rng.normal(size=15)
    judge = Listed(listed(3, 3, True), scores)
    drawn = STRUCTURE.sample(shape(*sizes), scores, 20_000, 1)
    counts = np.zeros(15)
    for parts in drawn:
        counts[parts] += 1
    p = judge.marginals
    assert (np.abs(counts / 20_000 - p) < 5 * np.sqrt(p * (1 - p) / 20_000)).all()


def test_the_same_scores_give_the_same_matching():
    scores = np.random.default_rng(0).integers(0, 2, (40, 40)).astype(float).ravel()
    first = STRUCTURE.best(shape(40, 40), scores, 20)
    again = STRUCTURE.best(shape(40, 40), scores.copy(), 20)
    assert [parts.tolist() for parts, _ in first] == [parts.tolist() for parts, _ in again]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (4, 4, 1)])
def test_bethe_of_small_matchings(seed, sizes):
    n, m, *is_open = sizes
    size = n * m + (n + m if is_open else 0)
    scores = np.random.default_rng(seed).normal(size=size)
    log_z = STRUCTURE.log_partition(shape(*sizes), scores)
    bethe, beliefs, converged, iterations = _core.bethe_matching(shape(*sizes), scores, 2000, 1e-10)
    assert converged
    assert iterations < 2000
    assert log_z - min(n, m) / 2 * math.log(2) <= bethe <= log_z + 1e-9
    # The free energy is at its optimum, so its derivatives are the beliefs.
    for part in (0, size // 2, size - 1):
        ends = [
            _core.bethe_matching(shape(*sizes), scores + h * np.eye(size)[part], 2000, 1e-12)[0] for h in (1e-4, -1e-4)
        ]
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-4, beliefs[part], atol=1e-6)
    pairs = beliefs[: n * m].reshape(n, m)
    left = beliefs[n * m : n * m + n] if is_open else 0.0
    np.testing.assert_allclose(pairs.sum(axis=1) + left, 1.0, atol=1e-7)


def test_bethe_is_exact_without_cycles():
    scores = np.full((3, 4), -np.inf)  # a path: row 0 - column 0 - row 1 - column 1 - row 2 - column 3
    for i, j in [(0, 0), (1, 0), (1, 1), (2, 1), (2, 3)]:
        scores[i, j] = i - 0.7 * j
    whole = np.concatenate([scores.ravel(), [0.3, -0.2, 0.1], [0.5, 0.0, -0.3, 0.2]])
    log_z, exact = STRUCTURE.sums(shape(3, 4, 1), whole)
    bethe, beliefs, converged, _ = _core.bethe_matching(shape(3, 4, 1), whole, 100, 1e-12)
    assert converged
    np.testing.assert_allclose(bethe, log_z, rtol=1e-12)
    np.testing.assert_allclose(beliefs, exact, atol=1e-12)
