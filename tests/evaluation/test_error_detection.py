"""Ranking of errors, against every pair of an error and a right answer."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from trelliswork.errors import InvalidInput
from trelliswork.evaluation import error_detection

SHARES = st.integers(0, 6).map(lambda n: n / 6)  # few values, so that many are equal


@st.composite
def answers(draw):
    confidence, gold, guess = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        T = draw(st.integers(0, 6))
        confidence.append(draw(st.lists(SHARES, min_size=T, max_size=T)))
        gold.append(draw(st.lists(st.sampled_from(["A", "B", None]), min_size=T, max_size=T)))
        guess.append(draw(st.lists(st.sampled_from("AB"), min_size=T, max_size=T)))
    return confidence, gold, guess


def flat(confidence, gold, guess):
    rows = [
        row
        for lists in zip(confidence, gold, guess, strict=True)
        for row in zip(*lists, strict=True)
        if row[1] is not None
    ]
    return np.array([c for c, _, _ in rows]), np.array([a != b for _, a, b in rows], dtype=bool)


@given(answers())
def test_the_area_is_the_share_of_pairs_in_order(given):
    values, wrong = flat(*given)
    assume(wrong.any() and not wrong.all())
    pairs = [(a < b) + 0.5 * (a == b) for a in values[wrong] for b in values[~wrong]]
    found = error_detection(*given)
    assert found.auc == pytest.approx(np.mean(pairs))
    assert found.auc == pytest.approx(roc_auc_score(wrong, -values))
    assert (found.n_errors, found.n_answers) == (wrong.sum(), len(wrong))


@given(answers(), st.randoms(use_true_random=False))
def test_what_is_caught_is_what_a_random_order_of_equals_would_catch_on_average(given, random):
    values, wrong = flat(*given)
    assume(wrong.any())
    # Ten copies of each answer make the tenth a whole number of them; equal ones take their share of it.
    values, wrong = np.repeat(values, 10), np.repeat(wrong, 10)
    tenth = len(values) // 10
    limit = np.sort(values)[tenth - 1]
    below, at = values < limit, values == limit
    expected = wrong[below].sum() + wrong[at].sum() * (tenth - below.sum()) / at.sum()
    assert error_detection(*given).caught == pytest.approx(expected / wrong.sum())


def test_of_whole_sequences():
    gold, guess = [["A", "B"], ["A"], ["B"]], [["A", "A"], ["A"], ["B"]]
    found = error_detection([0.5, 0.4, 0.9], gold, guess)
    assert (found.auc, found.n_errors, found.n_answers) == (0.5, 1, 3)


def test_without_errors_there_is_no_area():
    found = error_detection([[0.5]], [["A"]], [["A"]])
    assert math.isnan(found.auc)
    assert found.as_dict() == {"auc": None, "caught": None, "n_errors": 0, "n_answers": 1}


@pytest.mark.parametrize(
    ("confidence", "said"),
    [
        ([[0.5]], "confidence\\[0\\] has the shape \\(1,\\)"),
        ([["high", "low"]], "expected a number"),
        ([[0.5, math.nan]], "NaN"),
        ([], "confidence has 0 sequences"),
        (0.5, "confidence is 0.5"),
    ],
)
def test_what_is_no_confidence_is_refused(confidence, said):
    with pytest.raises(InvalidInput, match=said):
        error_detection(confidence, [["A", "B"]], [["A", "B"]])
