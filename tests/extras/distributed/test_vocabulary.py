"""One numbering for all shards, against sets of occurrences written down one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork import _core
from trelliswork.distributed.vocabulary import Table

corpus = st.lists(  # shards of sequences of tokens, each with attributes and a label
    st.lists(
        st.lists(
            st.tuples(st.lists(st.integers(1, 6), max_size=4, unique=True), st.integers(0, 2)), min_size=1, max_size=3
        ),
        min_size=1,
        max_size=3,
    ),
    min_size=1,
    max_size=3,
)


def examples_of(shard):
    tokens = [token for sequence in shard for token in sequence]
    source = _core.KeySource(
        np.array([len(sequence) for sequence in shard], dtype=np.int64),
        np.cumsum([0, *(len(keys) for keys, _ in tokens)]).astype(np.int64),
        np.array([key << 40 for keys, _ in tokens for key in keys], dtype=np.uint64),
    )
    out = _core.Examples(0, False)
    out.add(source, np.array([label for _, label in tokens], dtype=np.int32))
    return out


def vocabulary_of(shard):
    return examples_of(shard).vocabulary("token", np.arange(3, dtype=np.int32), 3, True)


@given(corpus, st.integers(1, 3))
def test_units_are_attributes_that_occur_together_in_every_shard(shards, min_count):
    table = Table.merged([vocabulary_of(shard) for shard in shards], min_count, None)
    tokens = [token for shard in shards for sequence in shard for token in sequence]
    where = {key: {t for t, (keys, _) in enumerate(tokens) if key in keys} for key in range(1, 7)}
    kept = [key for key in where if len(where[key]) >= min_count]
    assert table.keys.tolist() == [key << 40 for key in kept]
    for i, a in enumerate(kept):
        for j, b in enumerate(kept):
            assert (table.units[i] == table.units[j]) == (where[a] == where[b])
        unit = table.units[i]
        codes = table.codes[table.starts[unit] : table.starts[unit + 1]]
        assert codes.tolist() == sorted({tokens[t][1] for t in where[a]})
        assert table.members[unit] == sum(where[a] == where[b] for b in kept)


@given(corpus)
def test_transitions_are_the_pairs_of_neighbours(shards):
    for shard in shards:
        pairs = {(a, b) for sequence in shard for (_, a), (_, b) in itertools.pairwise(sequence)}
        found = examples_of(shard).seen_transitions(np.arange(3, dtype=np.int32), 3)
        assert found.tolist() == sorted(3 * a + b for a, b in pairs)


def test_values_other_than_one_and_repetitions_stay_apart():
    source = _core.KeySource(
        np.array([2], dtype=np.int64),
        np.array([0, 3, 6], dtype=np.int64),
        np.array([1, 2, 3, 1, 2, 3], dtype=np.uint64),
        np.array([1, 1, 0.5, 1, 1, 1], dtype=np.float32),
    )
    examples = _core.Examples(0, False)
    examples.add(source, np.zeros(2, dtype=np.int32))
    classes = examples.vocabulary("token", np.zeros(1, dtype=np.int32), 1, True)["classes"]
    assert classes[0] == classes[1] != classes[2]


def test_wrong_arguments_are_refused():
    examples = examples_of([[([1], 2)]])
    with pytest.raises(ValueError, match="order has too few entries"):
        examples.vocabulary("token", np.zeros(2, dtype=np.int32), 3, True)
    with pytest.raises(ValueError, match="out of range"):
        examples.seen_transitions(np.full(3, 3, dtype=np.int32), 3)
    with pytest.raises(ValueError, match="channel must be"):
        examples.vocabulary("ngram", np.arange(3, dtype=np.int32), 3, True)
