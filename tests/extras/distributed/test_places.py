"""Which weights of the whole a shard has: vectors go apart and are added up, by any number of threads."""

import numpy as np
import pytest

from trelliswork import _core

N = 200_000  # enough for threads


@pytest.fixture(scope="module")
def places():
    return np.random.default_rng(0).permutation(N)[: N // 2]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_numbers_go_to_a_shard_and_are_added_to_the_whole(places, n_jobs):
    rng = np.random.default_rng(1)
    whole, shard = rng.normal(size=N), np.empty(len(places))
    own = _core.Places(places, N)
    assert len(own) == len(places)
    own.to_shard(whole, shard, n_jobs)
    np.testing.assert_array_equal(shard, whole[places])
    numbers, expected = rng.normal(size=len(places)), whole.copy()
    expected[places] += numbers
    own.add_to_whole(numbers, whole, n_jobs)
    np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("wrong", [[0, 5], [-1], [2, 2]], ids=["too large", "negative", "twice"])
def test_wrong_places_are_refused(wrong):
    with pytest.raises(ValueError, match="outside of the whole, or there twice"):
        _core.Places(np.array(wrong), 5)


def test_vectors_of_another_size_are_refused():
    own = _core.Places(np.array([0, 2]), 5)
    for whole, shard in ((np.zeros(4), np.zeros(2)), (np.zeros(5), np.zeros(3))):
        with pytest.raises(ValueError, match="another number"):
            own.to_shard(whole, shard, 1)
        with pytest.raises(ValueError, match="another number"):
            own.add_to_whole(shard, whole, 1)
