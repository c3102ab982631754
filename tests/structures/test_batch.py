"""A batch answers each question as its chains do one by one, whatever their lengths."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference import chains as reference
from reference import log_space
from reference.chains import every_chain_labelling
from reference.frequencies import assert_frequencies
from reference.strategies import CLOSE, EXACT_KINDS, KINDS, costs, fewer, finite, label_sets, labellings, masks
from trelliswork.errors import Unsatisfiable


class BatchScores(NamedTuple):
    unary: list
    transitions: np.ndarray
    start: np.ndarray | None
    end: np.ndarray | None

    @property
    def n_labels(self):
        return len(self.transitions)

    def tables(self):
        """The table of all labellings of each chain."""
        return [every_chain_labelling(one, self.transitions, self.start, self.end) for one in self.unary]

    def batch(self, **options):
        return tw.ChainBatch(self.unary, self.transitions, start=self.start, end=self.end, **options)


@st.composite
def batches(draw, kinds=KINDS, max_batch=6):
    """Chains of different lengths, some empty; one label is allowed throughout, so that each chain has a labelling."""
    n_labels, kind = draw(st.integers(1, 4)), draw(st.sampled_from(kinds))
    lengths = draw(st.lists(st.integers(0, 5), max_size=max_batch))
    unary = [draw(kind((n_positions, n_labels))).copy() for n_positions in lengths]
    transitions, boundary = draw(kind((n_labels, n_labels))).copy(), st.none() | kind((n_labels,)).map(np.copy)
    start, end, safe = draw(boundary), draw(boundary), draw(st.integers(0, n_labels - 1))
    for vector in [*(row for one in unary for row in one), *(v for v in (start, end) if v is not None)]:
        vector[safe] = finite(vector[safe])
    transitions[safe, safe] = finite(transitions[safe, safe])
    return BatchScores(unary, transitions, start, end)


def assert_each_close(actual, expected):
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, **CLOSE)


# Every question, against the tables.


@given(batches(EXACT_KINDS))
def test_argmax_of_each_chain(scores):
    best = [(one.labels.tolist(), one.score) for one in scores.batch().argmax()]
    assert best == [table.argmax() for table in scores.tables()]


@given(batches())
def test_argmax_scores_of_each_chain(scores):
    assert_each_close([one.score for one in scores.batch().argmax()], [table.argmax()[1] for table in scores.tables()])


@pytest.mark.parametrize("method", ["astar", "viterbi"])
@given(scores=batches(EXACT_KINDS), k=st.integers(1, 20))
def test_kbest_of_each_chain(method, scores, k):
    best = [[(one.labels.tolist(), one.score) for one in some] for some in scores.batch().kbest(k, method=method)]
    assert best == [table.kbest(k) for table in scores.tables()]


@given(batches())
def test_log_partition_of_each_chain(scores):
    log_partition = scores.batch().log_partition()
    assert log_partition.shape == (len(scores.unary),)
    assert_each_close(log_partition, [table.log_partition() for table in scores.tables()])


@given(batches())
def test_marginals_of_each_chain(scores):
    assert_each_close(scores.batch().marginals(), [table.marginals() for table in scores.tables()])


@given(batches())
def test_edge_marginals_of_each_chain(scores):
    assert_each_close(scores.batch().edge_marginals(), [table.edge_marginals() for table in scores.tables()])


@given(batches())
def test_max_marginals_of_each_chain(scores):
    assert_each_close(scores.batch().max_marginals(), [table.max_marginals() for table in scores.tables()])


@given(batches())
def test_forward_of_each_chain(scores):
    expected = [reference.forward(one, scores.transitions, scores.start) for one in scores.unary]
    assert_each_close(scores.batch().forward(), expected)


@given(batches())
def test_backward_of_each_chain(scores):
    expected = [reference.backward(one, scores.transitions, scores.end) for one in scores.unary]
    assert_each_close(scores.batch().backward(), expected)


@given(batches())
def test_entropy_of_each_chain(scores):
    entropy = scores.batch().entropy()
    assert entropy.shape == (len(scores.unary),)
    assert_each_close(entropy, [table.entropy() for table in scores.tables()])


@given(st.data())
def test_score_of_each_labelling(data):
    scores = data.draw(batches())
    labels = [data.draw(labellings(*one.shape)) for one in scores.unary]
    actual = scores.batch().score(labels)
    assert actual.shape == (len(labels),)
    assert_each_close(actual, [table.score(y) for table, y in zip(scores.tables(), labels, strict=True)])


@given(st.data())
def test_log_prob_of_each_labelling(data):
    scores = data.draw(batches())
    labels = [data.draw(labellings(*one.shape)) for one in scores.unary]
    actual = scores.batch().log_prob(labels)
    assert actual.shape == (len(labels),)
    assert np.all(actual <= 0.0)
    assert_each_close(actual, [table.log_prob(y) for table, y in zip(scores.tables(), labels, strict=True)])


@given(st.data())
def test_span_probability_of_each_chain(data):
    scores = data.draw(batches())
    scores = scores._replace(unary=[one for one in scores.unary if len(one)])
    starts, spans = [], []
    for one in scores.unary:
        starts.append(data.draw(st.integers(0, len(one) - 1)))
        width = data.draw(st.integers(1, len(one) - starts[-1]))
        spans.append(data.draw(st.lists(label_sets(scores.n_labels), min_size=width, max_size=width)))
    expected = [table.span_probability(*span) for table, *span in zip(scores.tables(), starts, spans, strict=True)]
    assert_each_close(scores.batch().span_probability(starts, spans), expected)


@given(st.data())
def test_costs_against_a_gold_labelling_of_each_chain(data):
    scores, scale = data.draw(batches()), data.draw(st.sampled_from([1.0, -1.0, 0.3]))
    golds, cost = [data.draw(labellings(*one.shape)) for one in scores.unary], data.draw(costs(scores.n_labels))
    expected = [table.augmented(gold, cost, scale) for table, gold in zip(scores.tables(), golds, strict=True)]
    augmented = scores.batch().augmented(golds, cost=cost, scale=scale)
    assert_each_close(augmented.marginals(), [table.marginals() for table in expected])
    assert_each_close(augmented.max_marginals(), [table.max_marginals() for table in expected])


@given(st.data())
def test_hamming_costs_of_each_chain(data):
    scores = data.draw(batches())
    golds, hamming = [data.draw(labellings(*one.shape)) for one in scores.unary], 1.0 - np.eye(scores.n_labels)
    expected = [table.augmented(gold, hamming, 1.0) for table, gold in zip(scores.tables(), golds, strict=True)]
    assert_each_close(scores.batch().augmented(golds).log_partition(), [table.log_partition() for table in expected])


@given(st.data())
def test_allowed_labels_of_each_chain(data):
    scores = data.draw(batches())
    best = [table.argmax()[0] for table in scores.tables()]
    allowed = [data.draw(masks(one.shape)) for one in scores.unary]
    for mask, labels in zip(allowed, best, strict=True):
        mask[np.arange(len(labels)), labels] = True
    expected = [
        table.where([all(mask[t, label] for t, label in enumerate(y)) for y in table.labellings.tolist()])
        for table, mask in zip(scores.tables(), allowed, strict=True)
    ]
    constrained = scores.batch().constrained(allowed=allowed)
    assert_each_close(constrained.marginals(), [table.marginals() for table in expected])


@given(st.data())
def test_fixed_labels_of_each_chain(data):
    scores = data.draw(batches())
    fixed = []
    for table in scores.tables():
        labels = table.argmax()[0]
        kept = data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels)))
        fixed.append({t: label for t, (label, keep) in enumerate(zip(labels, kept, strict=True)) if keep})
    expected = [
        table.where([all(y[t] == label for t, label in own.items()) for y in table.labellings.tolist()])
        for table, own in zip(scores.tables(), fixed, strict=True)
    ]
    assert_each_close(
        scores.batch().constrained(fixed=fixed).log_partition(), [table.log_partition() for table in expected]
    )


@given(st.data())
def test_forbidden_transitions_start_and_end_are_shared(data):
    scores = data.draw(batches(max_batch=4))
    n_labels, safe = scores.n_labels, 0
    moves, start, end = (data.draw(masks(shape)) for shape in [(n_labels, n_labels), (n_labels,), (n_labels,)])
    scores = scores._replace(  # label 0 throughout stays possible
        unary=[np.where(np.isfinite(one), one, 0.0) for one in scores.unary],
        transitions=np.where(np.isfinite(scores.transitions), scores.transitions, 0.0),
        start=None,
        end=None,
    )
    moves[safe, safe] = start[safe] = end[safe] = True
    expected = [
        table.where(
            [
                not y or bool(start[y[0]] and end[y[-1]] and all(moves[y[t], y[t + 1]] for t in range(len(y) - 1)))
                for y in table.labellings.tolist()
            ]
        )
        for table in scores.tables()
    ]
    constrained = scores.batch().constrained(transitions=moves, start=start, end=end)
    assert_each_close(constrained.marginals(), [table.marginals() for table in expected])


@given(st.data())
def test_expected_counts_of_each_chain(data):
    scores = data.draw(batches())
    attributes = [np.cos(np.arange(2.0 * len(one))).reshape(len(one), 2) for one in scores.unary]
    counts = scores.batch().expected_counts(attributes)
    tables = scores.tables()
    assert_each_close([one.log_partition for one in counts], [table.log_partition() for table in tables])
    assert_each_close([one.labels for one in counts], [table.expected_labels() for table in tables])
    assert_each_close([one.transitions for one in counts], [table.expected_transitions() for table in tables])
    assert_each_close(
        [one.attributes for one in counts],
        [table.expected_attributes(own) for table, own in zip(tables, attributes, strict=True)],
    )


@given(batches())
def test_total_edge_marginals_are_the_sum_over_chains_and_edges(scores):
    expected = sum((table.edge_marginals().sum(axis=0) for table in scores.tables()), np.zeros((scores.n_labels,) * 2))
    np.testing.assert_allclose(scores.batch().total_edge_marginals(), expected, **CLOSE)


@fewer(10)
@given(batches(), st.integers(0, 2**32 - 1))
def test_samples_of_each_chain_have_its_frequencies(scores, seed):
    n = 3000
    for table, samples in zip(scores.tables(), scores.batch().sample(n, random_state=seed), strict=True):
        assert samples.shape == (n, table.n_positions)
        for t, row in enumerate(table.marginals()):
            assert_frequencies(np.bincount(samples[:, t], minlength=table.n_labels), row, n)


def test_equal_chains_of_a_batch_are_sampled_independently():
    one, other = tw.ChainBatch([np.zeros((20, 3))] * 2, np.zeros((3, 3))).sample(10, random_state=0)
    assert not np.array_equal(one, other)


def test_one_seed_gives_the_same_samples():
    batch = tw.ChainBatch([np.zeros((20, 3))] * 5, np.zeros((3, 3)))
    for one, other in zip(batch.sample(10, random_state=4), batch.sample(10, random_state=4), strict=True):
        np.testing.assert_array_equal(one, other)


# The two ways to give a batch.


@given(st.data())
def test_padding_is_never_read(data):
    scores = data.draw(batches())
    lengths = [len(one) for one in scores.unary]
    padded = np.full((len(lengths), max(lengths, default=0) + 1, scores.n_labels), np.nan)
    for row, one in zip(padded, scores.unary, strict=True):
        row[: len(one)] = one
    batch = tw.ChainBatch(padded, scores.transitions, lengths=lengths, start=scores.start, end=scores.end)
    assert_each_close(batch.marginals(), [table.marginals() for table in scores.tables()])
    assert_each_close(batch.log_partition(), [table.log_partition() for table in scores.tables()])
    assert_each_close([one.score for one in batch.argmax()], [table.argmax()[1] for table in scores.tables()])


def test_without_lengths_every_padded_row_is_full():
    unary = np.random.default_rng(0).normal(size=(4, 6, 3))
    transitions = np.random.default_rng(1).normal(size=(3, 3))
    expected = [every_chain_labelling(one, transitions).log_partition() for one in unary]
    np.testing.assert_allclose(tw.ChainBatch(unary, transitions).log_partition(), expected, rtol=1e-12)


def test_lengths_may_be_any_integers():
    unary, lengths = np.zeros((2, 3, 2)), np.array([1, 3], dtype=np.uint8)
    log_partition = tw.ChainBatch(unary, np.zeros((2, 2)), lengths=lengths).log_partition()
    np.testing.assert_allclose(log_partition, np.log([2.0, 8.0]), rtol=1e-12)


def test_a_padded_batch_may_be_a_strided_view():
    whole = np.random.default_rng(0).normal(size=(8, 10, 3))
    view, transitions = whole[::2, ::2], np.zeros((3, 3))
    np.testing.assert_array_equal(
        tw.ChainBatch(view, transitions).log_partition(), tw.ChainBatch(view.copy(), transitions).log_partition()
    )


def test_a_list_may_mix_kinds_of_arrays():
    one = [np.zeros((2, 2), dtype=np.float32), [[0, 0], [0, 0], [0, 0]], np.zeros((4, 2), dtype=int, order="F")]
    np.testing.assert_allclose(
        tw.ChainBatch(one, np.zeros((2, 2))).log_partition(), np.log([4.0, 8.0, 16.0]), rtol=1e-12
    )


def test_changing_the_arrays_afterwards_changes_no_answer():
    unary = [np.zeros((3, 2)), np.zeros((4, 2))]
    batch = tw.ChainBatch(unary, np.zeros((2, 2)))
    before = batch.log_partition()
    unary[0][...] = 5.0
    np.testing.assert_array_equal(batch.log_partition(), before)


# A batch as a collection.


@given(batches())
def test_a_batch_is_as_long_as_its_list(scores):
    assert len(scores.batch()) == len(scores.unary)


@given(batches())
def test_an_item_of_a_batch_is_the_chain_itself(scores):
    batch = scores.batch()
    for i, table in enumerate(scores.tables()):
        assert isinstance(batch[i], tw.Chain)
        np.testing.assert_allclose(batch[i].marginals(), table.marginals(), **CLOSE)


def test_a_batch_counts_from_the_end_too():
    batch = tw.ChainBatch([np.zeros((3, 2)), np.zeros((5, 2))], np.zeros((2, 2)))
    assert batch[-1].n_positions == 5


def test_an_item_past_the_end_is_an_index_error():
    with pytest.raises(IndexError):
        tw.ChainBatch([np.zeros((3, 2))], np.zeros((2, 2)))[1]


def test_a_batch_can_be_walked():
    batch = tw.ChainBatch([np.zeros((3, 2)), np.zeros((5, 2))], np.zeros((2, 2)))
    assert [chain.n_positions for chain in batch] == [3, 5]


def test_an_empty_batch_answers_with_nothing():
    batch = tw.ChainBatch([], np.zeros((2, 2)))
    assert (len(batch), batch.argmax(), batch.marginals(), batch.kbest(3)) == (0, [], [], [])
    assert batch.log_partition().shape == (0,)


def test_labels_are_int32():
    best = tw.ChainBatch([np.zeros((3, 2)), np.zeros((0, 2))], np.zeros((2, 2))).argmax()
    assert [one.labels.dtype for one in best] == [np.int32, np.int32]


# Larger batches: several chains run side by side in the kernels, so every width and every remainder is tried.


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 22, 33, 45, 64, 100])
def test_ragged_batches_agree_with_the_pairwise_recursion(n_labels):
    rng = np.random.default_rng(n_labels)
    unary = [rng.normal(scale=2, size=(n_positions, n_labels)) for n_positions in rng.integers(1, 12, size=21)]
    transitions = rng.normal(scale=2, size=(n_labels, n_labels))
    start, end = rng.normal(size=n_labels), rng.normal(size=n_labels)
    batch = tw.ChainBatch(unary, transitions, start=start, end=end, n_jobs=1)
    for i, one in enumerate(unary):
        scores = (one, transitions, start, end)
        np.testing.assert_allclose(batch.log_partition()[i], log_space.log_partition(*scores), rtol=1e-12)
        np.testing.assert_allclose(batch.marginals()[i], log_space.marginals(*scores), rtol=0, atol=1e-12)
        np.testing.assert_allclose(batch.argmax()[i].score, log_space.viterbi_score(*scores), rtol=1e-12)


@pytest.mark.parametrize("size", range(1, 20))
def test_batches_of_any_size_agree_with_their_chains(size):
    rng = np.random.default_rng(size)
    unary = [rng.normal(size=(n_positions, 6)) for n_positions in rng.integers(0, 9, size=size)]
    transitions = rng.normal(size=(6, 6))
    batch = tw.ChainBatch(unary, transitions)
    for i, one in enumerate(unary):
        chain = tw.Chain(one, transitions)
        np.testing.assert_allclose(batch.log_partition()[i], chain.log_partition(), rtol=1e-12)
        np.testing.assert_allclose(batch.edge_marginals()[i], chain.edge_marginals(), rtol=0, atol=1e-12)
        assert batch.argmax()[i].labels.tolist() == chain.argmax().labels.tolist()


def test_a_chain_that_underflows_does_not_disturb_its_neighbours():
    rng = np.random.default_rng(0)
    calm = [rng.normal(size=(6, 4)) for _ in range(7)]
    wild = np.full((6, 4), -5000.0)
    wild[np.arange(6), [0, 1, 2, 3, 0, 1]] = 5000.0
    transitions = rng.normal(scale=300, size=(4, 4))
    batch = tw.ChainBatch([*calm[:3], wild, *calm[3:]], transitions)
    expected = [every_chain_labelling(one, transitions) for one in [*calm[:3], wild, *calm[3:]]]
    assert_each_close(batch.marginals(), [table.marginals() for table in expected])
    assert_each_close(batch.log_partition(), [table.log_partition() for table in expected])


# Chains without any labelling.


def impossible_batch():
    return tw.ChainBatch([np.zeros((2, 2)), [[0, 0], [-np.inf, -np.inf], [0, 0]], np.zeros((4, 2))], np.zeros((2, 2)))


def test_log_partition_of_an_impossible_chain_is_minus_infinity_and_of_the_others_right():
    np.testing.assert_allclose(impossible_batch().log_partition(), [math.log(4), -math.inf, math.log(16)], rtol=1e-12)


def test_max_marginals_of_an_impossible_chain_are_minus_infinity_and_of_the_others_right():
    first, second, third = impossible_batch().max_marginals()
    assert np.all(second == -math.inf)
    assert np.all(first == 0.0)
    assert np.all(third == 0.0)


@pytest.mark.parametrize(
    "question", ["argmax", "marginals", "edge_marginals", "entropy", "sample", "total_edge_marginals"]
)
def test_an_impossible_chain_is_named_with_the_place(question):
    with pytest.raises(Unsatisfiable, match=r"(?s)\b1\b.*\b1\b"):  # chain 1, position 1
        getattr(impossible_batch(), question)()


def test_kbest_names_an_impossible_chain():
    with pytest.raises(Unsatisfiable, match=r"\b1\b"):
        impossible_batch().kbest(2)


def test_a_constraint_that_leaves_nothing_names_the_chain():
    batch = tw.ChainBatch([np.zeros((2, 2)), np.zeros((3, 2))], np.zeros((2, 2)))
    with pytest.raises(Unsatisfiable, match=r"(?s)\b1\b.*\b2\b"):  # chain 1, position 2
        batch.constrained(allowed=[None, [None, None, []]])
