"""Semi-Markov chains: every answer equals the one read off the list of all segmentations."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference.chains import every_chain_labelling
from reference.frequencies import assert_frequencies
from reference.segments import EverySegmentation, position_labels
from reference.strategies import CLOSE, EXACT_KINDS, costs, fewer, labellings, masks, segment_chains
from trelliswork.errors import InvalidInput, Unsatisfiable

METHODS = ["astar", "viterbi"]


def as_tuples(segments):
    return tuple(tuple(row) for row in np.asarray(segments).tolist())


# The best segmentations.


@fewer(2)
@given(segment_chains())
def test_argmax_has_the_best_score(scores):
    np.testing.assert_allclose(
        tw.SegmentChain(*scores).argmax().score, EverySegmentation(*scores).best_score(), **CLOSE
    )


@fewer(2)
@given(segment_chains())
def test_argmax_segments_carry_the_score_that_is_reported(scores):
    best = tw.SegmentChain(*scores).argmax()
    np.testing.assert_allclose(dict(EverySegmentation(*scores))[as_tuples(best.segments)], best.score, **CLOSE)


@fewer(2)
@given(segment_chains(EXACT_KINDS))
def test_argmax_of_whole_scores_is_exact(scores):
    best, every = tw.SegmentChain(*scores).argmax(), EverySegmentation(*scores)
    assert best.score == every.best_score() == dict(every)[as_tuples(best.segments)]


@fewer(3)
@given(segment_chains())
def test_segments_cover_every_position_once(scores):
    segments = tw.SegmentChain(*scores).argmax().segments.tolist()
    assert segments[0][0] == 0
    assert segments[-1][1] == len(scores.segment_scores)
    assert all(left[1] == right[0] for left, right in itertools.pairwise(segments))


@pytest.mark.parametrize("method", METHODS)
@fewer(2)
@given(scores=segment_chains(), k=st.integers(1, 30))
def test_kbest_scores_are_the_k_largest(method, scores, k):
    best = tw.SegmentChain(*scores).kbest(k, method=method)
    np.testing.assert_allclose([one.score for one in best], EverySegmentation(*scores).best_scores(k), **CLOSE)


@pytest.mark.parametrize("method", METHODS)
@fewer(2)
@given(scores=segment_chains(EXACT_KINDS), k=st.integers(1, 30))
def test_kbest_segmentations_are_distinct_and_carry_their_scores(method, scores, k):
    best, every = tw.SegmentChain(*scores).kbest(k, method=method), dict(EverySegmentation(*scores))
    assert [every[as_tuples(one.segments)] for one in best] == [one.score for one in best]
    assert len({as_tuples(one.segments) for one in best}) == len(best)


@fewer(2)
@given(segment_chains(EXACT_KINDS), st.integers(1, 30))
def test_both_kbest_methods_give_the_same_segmentations(scores, k):
    astar, viterbi = (tw.SegmentChain(*scores).kbest(k, method=method) for method in METHODS)
    assert [as_tuples(one.segments) for one in astar] == [as_tuples(one.segments) for one in viterbi]


@fewer(3)
@given(segment_chains(EXACT_KINDS))
def test_first_of_kbest_is_argmax(scores):
    chain = tw.SegmentChain(*scores)
    assert as_tuples(chain.kbest(2)[0].segments) == as_tuples(chain.argmax().segments)


def test_equal_scores_give_label_zero():
    best = tw.SegmentChain(np.zeros((4, 3, 2)), np.zeros((2, 2))).argmax()
    assert set(best.segments[:, 2].tolist()) == {0}


def test_segments_are_int32_rows_and_labels_follow():
    best = tw.SegmentChain(np.zeros((4, 3, 2)), np.zeros((2, 2))).argmax()
    assert best.segments.dtype == np.int32
    assert best.segments.shape[1] == 3
    assert best.labels.tolist() == [0, 0, 0, 0]


# Sums over all segmentations.


@fewer(2)
@given(segment_chains())
def test_log_partition_sums_over_every_segmentation(scores):
    np.testing.assert_allclose(
        tw.SegmentChain(*scores).log_partition(), EverySegmentation(*scores).log_partition(), **CLOSE
    )


@fewer(2)
@given(segment_chains())
def test_marginals_are_the_shares_of_each_label_by_position(scores):
    np.testing.assert_allclose(tw.SegmentChain(*scores).marginals(), EverySegmentation(*scores).marginals(), **CLOSE)


@fewer(2)
@given(segment_chains())
def test_segment_marginals_are_the_shares_of_each_segment(scores):
    np.testing.assert_allclose(
        tw.SegmentChain(*scores).segment_marginals(), EverySegmentation(*scores).segment_marginals(), **CLOSE
    )


@fewer(2)
@given(segment_chains())
def test_edge_marginals_are_the_shares_of_each_boundary(scores):
    np.testing.assert_allclose(
        tw.SegmentChain(*scores).edge_marginals(), EverySegmentation(*scores).edge_marginals(), **CLOSE
    )


@fewer(2)
@given(segment_chains())
def test_max_marginals_are_the_best_scores_through_each_label(scores):
    np.testing.assert_allclose(
        tw.SegmentChain(*scores).max_marginals(), EverySegmentation(*scores).max_marginals(), **CLOSE
    )


@fewer(2)
@given(segment_chains())
def test_entropy_is_that_of_the_distribution_over_segmentations(scores):
    entropy = tw.SegmentChain(*scores).entropy()
    np.testing.assert_allclose(entropy, EverySegmentation(*scores).entropy(), **CLOSE)
    assert entropy >= 0.0


@fewer(2)
@given(st.data())
def test_segment_probability_is_the_share_of_the_segment(data):
    scores = data.draw(segment_chains())
    n_positions, max_length, n_labels = scores.segment_scores.shape
    start = data.draw(st.integers(0, n_positions - 1))
    stop = data.draw(st.integers(start + 1, min(start + max_length, n_positions)))
    label = data.draw(st.integers(0, n_labels - 1))
    expected = EverySegmentation(*scores).segment_marginals()[start, stop - start - 1, label]
    np.testing.assert_allclose(tw.SegmentChain(*scores).segment_probability(start, stop, label), expected, **CLOSE)


# One segmentation.


@fewer(2)
@given(st.data())
def test_score_is_the_sum_of_the_parts(data):
    scores = data.draw(segment_chains())
    segments, expected = data.draw(st.sampled_from(list(EverySegmentation(*scores))))
    np.testing.assert_allclose(tw.SegmentChain(*scores).score(segments), expected, **CLOSE)


@fewer(2)
@given(st.data())
def test_log_prob_is_the_score_less_the_log_partition(data):
    scores = data.draw(segment_chains())
    every = EverySegmentation(*scores)
    segments, score = data.draw(st.sampled_from(list(every)))
    log_prob = tw.SegmentChain(*scores).log_prob(segments)
    np.testing.assert_allclose(log_prob, score - every.log_partition(), rtol=1e-9, atol=1e-8)
    assert log_prob <= 0.0


@pytest.mark.parametrize("seed", range(20))
def test_a_certain_segmentation_never_has_a_log_probability_above_zero(seed):
    scores = np.random.default_rng(seed).normal(scale=100, size=(50, 1, 1))
    log_prob = tw.SegmentChain(scores, [[0.1]]).log_prob([(t, t + 1, 0) for t in range(50)])
    assert -1e-9 < log_prob <= 0.0


@pytest.mark.parametrize("form", [list, np.array, lambda rows: [list(row) for row in rows]])
def test_segments_may_be_tuples_lists_or_an_array(form):
    chain = tw.SegmentChain(np.ones((3, 2, 2)), np.zeros((2, 2)))
    assert chain.score(form([(0, 2, 1), (2, 3, 0)])) == 2.0


def test_what_argmax_gives_can_be_scored():
    chain = tw.SegmentChain(np.random.default_rng(0).normal(size=(9, 4, 3)), np.zeros((3, 3)))
    best = chain.argmax()
    np.testing.assert_allclose(chain.score(best.segments), best.score, rtol=1e-12)


@pytest.mark.parametrize(
    "segments",
    [
        [(0, 1, 0), (2, 3, 0)],  # a gap
        [(0, 2, 0), (1, 3, 0)],  # an overlap
        [(0, 2, 0)],  # too short
        [(0, 2, 0), (2, 4, 0)],  # too long
        [(1, 3, 0)],  # starts late
        [(0, 0, 0), (0, 2, 0), (2, 3, 0)],  # an empty segment
        [(0, 2, 2), (2, 3, 0)],  # no such label
        [(0, 2, -1), (2, 3, 0)],  # a negative label
        [(0, 2), (2, 3)],  # no labels
        [],
    ],
)
def test_segments_that_do_not_tile_the_sequence_are_refused(segments):
    with pytest.raises(InvalidInput):
        tw.SegmentChain(np.zeros((3, 2, 2)), np.zeros((2, 2))).score(segments)


# Costs and constraints.


@fewer(2)
@given(st.data())
def test_costs_are_charged_for_every_position_of_a_segment(data):
    scores, scale = data.draw(segment_chains()), data.draw(st.sampled_from([1.0, -1.0, 0.3]))
    n_positions, _, n_labels = scores.segment_scores.shape
    gold, cost = data.draw(labellings(n_positions, n_labels)), data.draw(costs(n_labels))
    every = EverySegmentation(*scores).rescored(
        lambda segments, score: (
            score + scale * sum(cost[g, y] for g, y in zip(gold, position_labels(segments), strict=True))
        )
    )
    augmented = tw.SegmentChain(*scores).augmented(gold, cost=cost, scale=scale)
    np.testing.assert_allclose(augmented.log_partition(), every.log_partition(), **CLOSE)
    np.testing.assert_allclose(augmented.max_marginals(), every.max_marginals(), **CLOSE)


@fewer(2)
@given(st.data())
def test_hamming_cost_is_charged_for_every_wrong_position(data):
    scores = data.draw(segment_chains(EXACT_KINDS))
    n_positions, _, n_labels = scores.segment_scores.shape
    gold = data.draw(labellings(n_positions, n_labels))
    every = EverySegmentation(*scores).rescored(
        lambda segments, score: score + sum(g != y for g, y in zip(gold, position_labels(segments), strict=True))
    )
    assert tw.SegmentChain(*scores).augmented(gold).argmax().score == every.best_score()


def assert_constrained(scores, constraint, keep):
    expected = EverySegmentation(*scores).where(keep)
    if not expected.satisfiable:
        with pytest.raises(Unsatisfiable):
            tw.SegmentChain(*scores).constrained(**constraint)
        return
    constrained = tw.SegmentChain(*scores).constrained(**constraint)
    np.testing.assert_allclose(constrained.log_partition(), expected.log_partition(), **CLOSE)
    np.testing.assert_allclose(constrained.segment_marginals(), expected.segment_marginals(), **CLOSE)
    np.testing.assert_allclose(constrained.argmax().score, expected.best_score(), **CLOSE)


@fewer(2)
@given(st.data())
def test_a_segment_may_not_cover_a_position_where_its_label_is_forbidden(data):
    scores = data.draw(segment_chains())
    n_positions, _, n_labels = scores.segment_scores.shape
    allowed = data.draw(masks((n_positions, n_labels)))
    assert_constrained(
        scores,
        dict(allowed=allowed),
        lambda segments: all(allowed[t, label] for t, label in enumerate(position_labels(segments))),
    )


@fewer(2)
@given(st.data())
def test_forbidden_transitions_do_not_join_segments(data):
    scores = data.draw(segment_chains())
    allowed = data.draw(masks(scores.transitions.shape))
    assert_constrained(
        scores,
        dict(transitions=allowed),
        lambda segments: all(allowed[left[2], right[2]] for left, right in itertools.pairwise(segments)),
    )


# Samples.


@fewer(10)
@given(segment_chains(), st.integers(0, 2**32 - 1))
def test_samples_have_the_frequencies_of_the_distribution(scores, seed):
    every, n = EverySegmentation(*scores), 3000
    drawn = Counter(as_tuples(segments) for segments in tw.SegmentChain(*scores).sample(n, random_state=seed))
    assert set(drawn) <= set(every.segmentations)
    assert_frequencies([drawn[segments] for segments in every.segmentations], every.probabilities(), n)


def test_one_seed_gives_the_same_samples():
    chain = tw.SegmentChain(np.zeros((9, 4, 3)), np.zeros((3, 3)))
    one, other = ([as_tuples(s) for s in chain.sample(20, random_state=5)] for _ in range(2))
    assert one == other


# Special cases.


def test_segments_of_one_position_make_a_plain_chain():
    rng = np.random.default_rng(0)
    unary, transitions, start, end = (
        rng.normal(size=(6, 3)),
        rng.normal(size=(3, 3)),
        rng.normal(size=3),
        rng.normal(size=3),
    )
    table = every_chain_labelling(unary, transitions, start, end)
    chain = tw.SegmentChain(unary[:, None, :], transitions, start, end)
    np.testing.assert_allclose(chain.log_partition(), table.log_partition(), rtol=1e-12)
    np.testing.assert_allclose(chain.marginals(), table.marginals(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(chain.edge_marginals(), table.edge_marginals(), rtol=0, atol=1e-12)
    assert chain.argmax().labels.tolist() == table.argmax()[0]


@pytest.mark.parametrize("ignored", [1e300, -math.inf, -1e300])
def test_scores_that_run_past_the_end_are_ignored(ignored):
    scores = np.zeros((3, 3, 2))
    expected = tw.SegmentChain(scores, np.zeros((2, 2))).log_partition()
    scores[1, 2], scores[2, 1:] = ignored, ignored
    np.testing.assert_allclose(tw.SegmentChain(scores, np.zeros((2, 2))).log_partition(), expected, rtol=1e-12)


def test_segments_may_be_as_long_as_allowed_even_past_the_sequence():
    scores = np.full((2, 50, 1), 0.0)
    np.testing.assert_allclose(tw.SegmentChain(scores, [[0.0]]).log_partition(), math.log(2), rtol=1e-12)


def test_an_empty_sequence_has_one_segmentation():
    chain = tw.SegmentChain(np.zeros((0, 3, 2)), np.zeros((2, 2)))
    assert chain.argmax().segments.shape == (0, 3)
    assert chain.argmax().score == 0.0
    assert chain.log_partition() == 0.0
    assert chain.marginals().shape == (0, 2)


@pytest.mark.parametrize(
    "question", ["argmax", "marginals", "segment_marginals", "edge_marginals", "entropy", "sample"]
)
def test_when_every_segmentation_is_forbidden_the_error_says_where(question):
    scores = np.zeros((4, 1, 2))
    scores[2] = -np.inf
    with pytest.raises(Unsatisfiable, match=r"\b2\b"):
        getattr(tw.SegmentChain(scores, np.zeros((2, 2))), question)()


def test_when_every_segmentation_is_forbidden_the_log_partition_is_minus_infinity():
    assert tw.SegmentChain(np.full((2, 1, 2), -np.inf), np.zeros((2, 2))).log_partition() == -math.inf


def test_changing_the_arrays_afterwards_changes_no_answer():
    scores, transitions = np.zeros((4, 2, 2)), np.zeros((2, 2))
    chain = tw.SegmentChain(scores, transitions)
    before = chain.log_partition()
    scores[...], transitions[...] = 3.0, 4.0
    assert chain.log_partition() == before


# Identities on longer input.


def long_chain(n_positions=3000, max_length=6, n_labels=4):
    rng = np.random.default_rng(1)
    return tw.SegmentChain(
        rng.normal(size=(n_positions, max_length, n_labels)),
        rng.normal(size=(n_labels, n_labels)),
        rng.normal(size=n_labels),
    )


def test_marginals_of_a_long_chain_sum_to_one():
    np.testing.assert_allclose(long_chain().marginals().sum(axis=1), 1.0, rtol=1e-10)


def test_segment_marginals_of_a_long_chain_cover_each_position_once():
    segments = long_chain().segment_marginals()
    n_positions, max_length, _ = segments.shape
    covered = np.zeros(n_positions + max_length)
    for length in range(1, max_length + 1):
        for offset in range(length):
            covered[offset : offset + n_positions] += segments[:, length - 1].sum(axis=1)
    np.testing.assert_allclose(covered[:n_positions], 1.0, rtol=1e-10)


def test_best_score_of_a_long_chain_is_the_largest_max_marginal_everywhere():
    chain = long_chain()
    np.testing.assert_allclose(chain.max_marginals().max(axis=1), chain.argmax().score, rtol=1e-12)


def test_log_partition_of_segments_counts_compositions():
    n_positions, max_length = 60, 4
    counts = [1]
    for t in range(1, n_positions + 1):  # the number of ways to cut t positions into pieces of at most four
        counts.append(sum(counts[max(0, t - max_length) : t]))
    chain = tw.SegmentChain(np.zeros((n_positions, max_length, 1)), [[0.0]])
    np.testing.assert_allclose(chain.log_partition(), math.log(counts[-1]), rtol=1e-12)
