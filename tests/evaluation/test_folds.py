"""Folds: every sequence is held out once, groups stay together, sizes are even."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.errors import InvalidInput
from trelliswork.evaluation import k_folds
from trelliswork.evaluation.folds import splits_of


@given(st.integers(2, 40), st.integers(2, 8), st.none() | st.integers(0, 5))
def test_each_sequence_is_held_out_once(n, folds, seed):
    if folds > n:
        return
    splits = k_folds(n, folds, random_state=seed)
    assert sorted(i for split in splits for i in split.test.tolist()) == list(range(n))
    assert max(len(split.test) for split in splits) - min(len(split.test) for split in splits) <= 1
    for split in splits:
        assert sorted([*split.train.tolist(), *split.test.tolist()]) == list(range(n))
        assert (np.diff(split.train) > 0).all()


@given(st.lists(st.integers(0, 6), min_size=2, max_size=30), st.integers(2, 4), st.integers(0, 5))
def test_groups_are_held_out_whole(groups, folds, seed):
    if len(set(groups)) < folds:
        return
    splits = k_folds(len(groups), folds, groups=groups, random_state=seed)
    assert sorted(i for split in splits for i in split.test.tolist()) == list(range(len(groups)))
    for split in splits:
        assert len(split.test)
        assert not {groups[i] for i in split.train} & {groups[i] for i in split.test}


def test_the_seed_decides():
    tests = [[split.test.tolist() for split in k_folds(20, 4, random_state=seed)] for seed in (1, 1, 2)]
    assert tests[0] == tests[1] != tests[2]


def test_without_a_seed_neighbours_are_held_out():
    assert [split.test.tolist() for split in k_folds(5, 2, random_state=None)] == [[0, 1, 2], [3, 4]]


def test_splitters_of_scikit_learn_are_taken():
    from sklearn.model_selection import KFold, LeaveOneGroupOut

    assert [split.test.tolist() for split in splits_of(KFold(2), 4, None, 0)] == [[0, 1], [2, 3]]
    assert [split.test.tolist() for split in splits_of(LeaveOneGroupOut(), 3, ["a", "b", "a"], 0)] == [[0, 2], [1]]


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (1, "at least 2"),
        (9, "only 4 sequences"),
        ("five", "expected a number"),
        ([], "empty"),
        ([([0], [0])], "both in train and in test"),
        ([([0, 1], [7])], "test must be a list of indices from 0 to 3"),
        ([([0, 1], [])], "not empty"),
        ([3], "expected a pair"),
    ],
)
def test_wrong_folds_are_refused(folds, message):
    with pytest.raises(InvalidInput, match=message):
        splits_of(folds, 4, None, 0)


def test_groups_are_for_all_sequences():
    with pytest.raises(InvalidInput, match="groups has 2 entries but there are 3"):
        k_folds(3, 2, groups=["a", "b"])
