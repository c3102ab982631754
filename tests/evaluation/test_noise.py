"""Outliers: as many as asked for, the others untouched, the same by the same seed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.corpora import validate_labels
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import with_outliers

corpora = st.lists(st.lists(st.sampled_from(["O", "B-NP", "I-NP", "B-VP"]), max_size=6), max_size=20)
shares = st.floats(0.0, 1.0)


@given(corpora, shares, st.integers(0, 9))
def test_so_many_are_changed_and_the_others_are_not(y, share, seed):
    labels, outliers = with_outliers(y, share, seed)
    assert len(outliers) == round(share * len(y))
    assert outliers == sorted(set(outliers))
    assert [len(noisy) for noisy in labels] == [len(gold) for gold in y]
    assert all(labels[i] == y[i] for i in range(len(y)) if i not in outliers)
    assert {label for noisy in labels for label in noisy} <= {label for gold in y for label in gold}


@given(corpora, shares, shares, st.integers(0, 9))
def test_the_outliers_of_a_smaller_share_are_among_those_of_a_larger_one(y, one, other, seed):
    few, many = (with_outliers(y, share, seed) for share in sorted((one, other)))
    assert set(few.outliers) <= set(many.outliers)
    assert all(few.labels[i] == many.labels[i] for i in few.outliers)


def test_the_seed_decides():
    y = [["D", "N", "V"] * 4] * 30
    assert with_outliers(y, 0.5, 1) == with_outliers(y, 0.5, 1)
    assert with_outliers(y, 0.5, 1) != with_outliers(y, 0.5, 2)


def test_labels_of_outliers_are_drawn_evenly():
    y = [["A"] * 90, ["B", "C"]] * 100
    labels, _ = with_outliers(y, 1.0)
    counts = Counter(label for noisy in labels for label in noisy)
    assert set(counts) == {"A", "B", "C"}
    assert all(abs(count / 9200 - 1 / 3) < 0.02 for count in counts.values())  # four deviations


def test_what_was_given_is_not_changed():
    y = [["A", "B"]] * 5
    with_outliers(y, 1.0)
    assert y == [["A", "B"]] * 5


@given(st.integers(0, 30))
def test_with_a_scheme_outliers_are_valid(seed):
    y = [["B-NP", "I-NP", "O", "B-VP", "I-VP"]] * 6
    labels, _ = with_outliers(y, 1.0, seed, scheme="BIO")
    assert not validate_labels([label for noisy in labels for label in [*noisy, "O"]], "BIO")


@pytest.mark.parametrize("share", [-0.1, 1.1, "half", True, float("nan")])
def test_a_share_is_a_part_of_one(share):
    with pytest.raises(InvalidInput, match="share"):
        with_outliers([["A"]], share)
