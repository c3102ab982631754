"""Scores that plain probabilities cannot hold: underflow, forced improbable paths, values from -1e300 to 1e300."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import trelliswork as tw
from reference import log_space, precise
from reference.strategies import ChainScores, chains, fewer, forbidding, large, shapes

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
HUGE = 1e300


# Two groups of labels that never meet; the end (or the start) leaves only the far less likely one.


def two_groups(n_positions, gap, forced_at):
    """Labels 0, 1 are ahead of labels 2, 3 by ``gap`` at every position; the last (or first) label must be 2 or 3."""
    rng = np.random.default_rng(0)
    unary, transitions = rng.normal(size=(n_positions, 4)), rng.normal(size=(4, 4))
    unary[:, 2:] -= gap
    transitions[:2, 2:] = transitions[2:, :2] = -np.inf
    boundary = [-np.inf, -np.inf, 0.0, 0.0]
    return (unary, transitions, None, boundary) if forced_at == "end" else (unary, transitions, boundary, None)


def the_forced_group_alone(scores):
    unary, transitions, *_ = scores
    return unary[:, 2:], transitions[2:, 2:]


GROUPS = [
    (n_positions, gap, forced_at)
    for n_positions in [2, 50, 2000]
    for gap in [1.0, 30.0, 700.0, 5000.0]
    for forced_at in ["end", "start"]
]
groups = pytest.mark.parametrize(("n_positions", "gap", "forced_at"), GROUPS)


@groups
def test_log_partition_of_the_forced_group(n_positions, gap, forced_at):
    scores = two_groups(n_positions, gap, forced_at)
    expected = log_space.log_partition(*the_forced_group_alone(scores))
    np.testing.assert_allclose(tw.Chain(*scores).log_partition(), expected, rtol=1e-12)


@groups
def test_marginals_of_the_forced_group(n_positions, gap, forced_at):
    scores = two_groups(n_positions, gap, forced_at)
    marginals = tw.Chain(*scores).marginals()
    assert np.all(marginals[:, :2] == 0.0)
    np.testing.assert_allclose(
        marginals[:, 2:], log_space.marginals(*the_forced_group_alone(scores)), rtol=0, atol=1e-8
    )


@groups
def test_edge_marginals_of_the_forced_group(n_positions, gap, forced_at):
    scores = two_groups(n_positions, gap, forced_at)
    edges = tw.Chain(*scores).edge_marginals()[:, 2:, 2:]
    np.testing.assert_allclose(edges, log_space.edge_marginals(*the_forced_group_alone(scores)), rtol=0, atol=1e-8)


@groups
def test_entropy_of_the_forced_group(n_positions, gap, forced_at):
    scores = two_groups(n_positions, gap, forced_at)
    expected = tw.Chain(*the_forced_group_alone(scores)).entropy()
    np.testing.assert_allclose(tw.Chain(*scores).entropy(), expected, rtol=1e-6)


@groups
def test_expected_counts_of_the_forced_group(n_positions, gap, forced_at):
    scores = two_groups(n_positions, gap, forced_at)
    counts = tw.Chain(*scores).expected_counts()
    expected = log_space.marginals(*the_forced_group_alone(scores)).sum(axis=0)
    np.testing.assert_allclose(counts.labels, [0.0, 0.0, *expected], rtol=1e-8, atol=1e-8)


@groups
def test_samples_of_the_forced_group(n_positions, gap, forced_at):
    samples = tw.Chain(*two_groups(n_positions, gap, forced_at)).sample(20, random_state=0)
    assert np.all(samples >= 2)


@groups
def test_forward_and_backward_of_the_forced_group(n_positions, gap, forced_at):
    unary, transitions, start, end = scores = two_groups(n_positions, gap, forced_at)
    chain = tw.Chain(*scores)
    np.testing.assert_allclose(chain.forward(), log_space.forward(unary, transitions, start), rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(chain.backward(), log_space.backward(unary, transitions, end), rtol=1e-11, atol=1e-9)


@groups
def test_the_forced_group_in_a_batch_of_calm_neighbours(n_positions, gap, forced_at):
    unary, transitions, start, end = scores = two_groups(n_positions, gap, forced_at)
    calm = np.zeros((n_positions, 4))
    batch = tw.ChainBatch([calm, calm, unary, calm, calm], transitions, start=start, end=end)
    np.testing.assert_allclose(
        batch.log_partition()[2], log_space.log_partition(*the_forced_group_alone(scores)), rtol=1e-12
    )
    np.testing.assert_allclose(batch.marginals()[2], tw.Chain(*scores).marginals(), rtol=0, atol=1e-8)


@groups
def test_a_span_of_the_unlikely_group_is_certain_when_forced(n_positions, gap, forced_at):
    chain = tw.Chain(*two_groups(n_positions, gap, forced_at))
    np.testing.assert_allclose(chain.span_probability(0, [{2, 3}] * n_positions), 1.0, rtol=1e-9)


# One crossing that must be paid for: from label 0 at the start to label 1 at the end.


def one_crossing(n_positions, price):
    """The crossing may be at any of T - 1 places, all alike, so everything is known in closed form."""
    transitions = [[0.0, price], [-np.inf, 0.0]]
    return tw.Chain(np.zeros((n_positions, 2)), transitions, start=[0.0, -np.inf], end=[-np.inf, 0.0])


PRICES = [-1.0, -700.0, -800.0, -5000.0, -1e10]
crossings = pytest.mark.parametrize("price", PRICES)
any_crossings = pytest.mark.parametrize("price", [*PRICES, -1e100, -1e300])


def rounding(price):
    """What a logarithm of this size leaves of a probability: beyond 1e16 not even a factor of two."""
    return 1e-10 + 1e-15 * abs(price)


@any_crossings
def test_a_crossing_that_must_be_taken_is_paid_once(price):
    expected = price + math.log(99)
    np.testing.assert_allclose(one_crossing(100, price).log_partition(), expected, rtol=1e-12)


@crossings
def test_a_crossing_that_must_be_taken_is_equally_likely_everywhere(price):
    marginals = one_crossing(100, price).marginals()
    np.testing.assert_allclose(marginals[:, 1], np.arange(100) / 99, rtol=rounding(price))


@crossings
def test_edge_marginals_of_a_crossing_that_must_be_taken(price):
    np.testing.assert_allclose(one_crossing(100, price).edge_marginals()[:, 0, 1], 1 / 99, rtol=rounding(price))


@any_crossings
def test_a_crossing_that_must_be_taken_is_certain_to_be_taken_once(price):
    np.testing.assert_allclose(one_crossing(100, price).edge_marginals()[:, 0, 1].sum(), 1.0, rtol=1e-4)


@any_crossings
def test_marginals_of_a_crossing_that_must_be_taken_sum_to_one(price):
    np.testing.assert_allclose(one_crossing(100, price).marginals().sum(axis=1), 1.0, rtol=1e-12)


@any_crossings
def test_marginals_of_a_crossing_that_must_be_taken_keep_to_the_start_and_the_end(price):
    marginals = one_crossing(100, price).marginals()
    np.testing.assert_allclose(marginals[[0, -1]], [[1.0, 0.0], [0.0, 1.0]], rtol=0, atol=1e-12)


@any_crossings
def test_marginals_of_a_crossing_that_must_be_taken_never_exceed_one(price):
    assert np.all(one_crossing(100, price).marginals() <= 1.0)


@crossings
def test_entropy_of_a_crossing_that_must_be_taken(price):
    np.testing.assert_allclose(one_crossing(100, price).entropy(), math.log(99), rtol=10 * rounding(price))


@any_crossings
def test_max_marginals_of_a_crossing_that_must_be_taken(price):
    best = one_crossing(5, price).max_marginals()
    assert best.tolist() == [[price, -np.inf], [price] * 2, [price] * 2, [price] * 2, [-np.inf, price]]


@any_crossings
def test_argmax_of_a_crossing_that_must_be_taken(price):
    best = one_crossing(5, price).argmax()
    assert (best.labels.tolist(), best.score) == ([0, 0, 0, 0, 1], price)


@crossings
def test_expected_counts_of_a_crossing_that_must_be_taken(price):
    counts = one_crossing(100, price).expected_counts()
    np.testing.assert_allclose(counts.transitions, [[49.0, 1.0], [0.0, 49.0]], rtol=10 * rounding(price))


@any_crossings
def test_samples_take_the_crossing_that_must_be_taken(price):
    samples = one_crossing(50, price).sample(500, random_state=0)
    assert np.all(np.sum(samples[:, 1:] > samples[:, :-1], axis=1) == 1)
    assert np.all(np.sum(samples[:, 1:] < samples[:, :-1], axis=1) == 0)


@crossings
def test_samples_take_the_crossing_anywhere(price):
    samples = one_crossing(50, price).sample(500, random_state=0)
    assert 20 < np.mean(samples.sum(axis=1)) < 30  # the mean is 25 and its standard error below 0.7


@any_crossings
def test_a_price_on_every_label_of_a_position_is_paid_and_changes_nothing_else(price):
    unary = np.zeros((30, 2))
    unary[15] = price
    np.testing.assert_allclose(tw.Chain(unary, np.zeros((2, 2))).log_partition(), price + 30 * math.log(2), rtol=1e-12)
    np.testing.assert_allclose(tw.Chain(unary, np.zeros((2, 2))).marginals(), 0.5, rtol=1e-12)


# Against exact arithmetic.


@fewer(2)
@given(chains([large, forbidding(large)], max_labellings=130))
def test_marginals_agree_with_exact_arithmetic_where_most_exponentials_underflow(scores):
    np.testing.assert_allclose(tw.Chain(*scores).marginals(), precise.marginals(*scores), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [30.0, 1000.0, 1e5])
def test_long_chains_agree_with_fifty_digits(scale):
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=scale, size=(150, 3)), rng.normal(scale=scale, size=(3, 3)), None, None
    marginals, log_partition = precise.long_marginals(*scores)
    np.testing.assert_allclose(tw.Chain(*scores).log_partition(), log_partition, rtol=1e-13)
    np.testing.assert_allclose(tw.Chain(*scores).marginals(), marginals, rtol=0, atol=1e-12 * scale * 150)


def test_a_tiny_probability_keeps_its_digits():
    marginals = tw.Chain([[0.0, -200.0]], np.zeros((2, 2))).marginals()
    np.testing.assert_allclose(marginals[0, 1], math.exp(-200.0), rtol=1e-12)


def test_a_probability_below_1e_90_may_be_zero_and_the_rest_is_right():
    marginals = tw.Chain([[0.0, -600.0, 1.0]], np.zeros((3, 3))).marginals()
    assert 0.0 <= marginals[0, 1] <= 1e-90
    np.testing.assert_allclose(marginals[0, [0, 2]], np.array([1.0, math.e]) / (1.0 + math.e), rtol=1e-12)


# A score that is finite but as good as forbidden, as people write it who have no -inf: it must cost no digit, and where
# it is the only way it must be taken.


@pytest.mark.parametrize("mask", [-300.0, -1e4, -1e9, -1e300])
def test_a_finite_mask_is_a_forbidden_transition_unless_it_is_the_only_way(mask):
    rng = np.random.default_rng(3)
    unary, transitions = rng.normal(size=(40, 5)), rng.normal(size=(5, 5))
    masked, forbidden = transitions.copy(), transitions.copy()
    masked[1, 2] = masked[:, 4] = mask
    forbidden[1, 2] = forbidden[:, 4] = -np.inf
    chain, judge = tw.Chain(unary, masked), tw.Chain(unary, forbidden)
    np.testing.assert_allclose(chain.log_partition(), judge.log_partition(), rtol=1e-14)
    np.testing.assert_allclose(chain.marginals(), judge.marginals(), rtol=0, atol=1e-13)
    np.testing.assert_allclose(chain.edge_marginals(), judge.edge_marginals(), rtol=0, atol=1e-13)
    forced = chain.constrained(fixed={20: 4})
    np.testing.assert_allclose(forced.marginals()[20], [0.0, 0.0, 0.0, 0.0, 1.0], rtol=0, atol=1e-12)
    assert forced.log_partition() < judge.log_partition() + mask / 2


@given(seed=st.integers(0, 10**6))
def test_scores_of_mixed_magnitudes_agree_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    sizes = np.array([1.0, 50.0, 150.0, 240.0, 500.0, 1e4])
    unary = rng.normal(size=(5, 3)) * rng.choice(sizes, size=(5, 3))
    transitions = rng.normal(size=(3, 3)) * rng.choice(sizes, size=(3, 3))
    paths = np.array(list(itertools.product(range(3), repeat=5)))
    scores = unary[np.arange(5), paths].sum(axis=1) + transitions[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    log_partition = np.logaddexp.reduce(scores)
    chain = tw.Chain(unary, transitions)
    np.testing.assert_allclose(chain.log_partition(), log_partition, rtol=1e-12)
    probabilities = np.exp(scores - log_partition)
    expected = np.array([[probabilities[paths[:, t] == k].sum() for k in range(3)] for t in range(5)])
    np.testing.assert_allclose(chain.marginals(), expected, rtol=0, atol=1e-10)


def test_tiny_probabilities_in_a_long_chain_keep_their_digits():
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=40, size=(300, 4)), rng.normal(scale=40, size=(4, 4)), None, None
    expected, _ = precise.long_marginals(*scores)
    marginals = tw.Chain(*scores).marginals()
    shown = expected > 1e-250
    np.testing.assert_allclose(marginals[shown], expected[shown], rtol=1e-8)


# Values from -1e300 to 1e300.

extreme_values = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, -1e-300, 1e15, -1e17, 1e100, -1e100, 1e299, -1e299, HUGE, -HUGE]
) | st.floats(-HUGE, HUGE)


@st.composite
def extreme_chains(draw):
    n_positions, n_labels = draw(shapes(1, 7, 5))

    def array(*shape):
        return draw(hnp.arrays(float, shape, elements=extreme_values, fill=st.nothing()))

    return ChainScores(array(n_positions, n_labels), array(n_labels, n_labels), array(n_labels), array(n_labels))


@given(extreme_chains())
def test_marginals_of_any_values_are_finite_and_sum_to_one(scores):
    marginals = tw.Chain(*scores).marginals()
    assert np.all((marginals >= 0.0) & (marginals <= 1.0))
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-12)


@given(extreme_chains())
@example(
    ChainScores(
        np.array([[0, 0], [0, 1e15], [1e15, 0], [0, 0]]), np.diag([0.0, 1.0]), np.zeros(2), np.diag([0.0, 1.0])[1]
    )
)
def test_edge_marginals_of_any_values_are_finite_and_sum_to_one(scores):
    edges = tw.Chain(*scores).edge_marginals()
    assert np.all((edges >= 0.0) & (edges <= 1.0))
    np.testing.assert_allclose(edges.sum(axis=(1, 2)), 1.0, rtol=1e-12)


@given(extreme_chains())
def test_log_partition_of_any_values_is_finite(scores):
    assert math.isfinite(tw.Chain(*scores).log_partition())


@given(extreme_chains())
def test_forward_and_backward_of_any_values_are_finite(scores):
    chain = tw.Chain(*scores)
    assert np.all(np.isfinite(chain.forward()))
    assert np.all(np.isfinite(chain.backward()))


@given(extreme_chains())
def test_entropy_of_any_values_is_between_zero_and_that_of_the_flat_distribution(scores):
    n_positions, n_labels = scores.unary.shape
    assert 0.0 <= tw.Chain(*scores).entropy() <= n_positions * math.log(n_labels) * (1 + 1e-12)


@given(extreme_chains())
def test_log_prob_of_any_values_is_never_above_zero(scores):
    chain = tw.Chain(*scores)
    assert chain.log_prob(chain.argmax().labels) <= 0.0
    assert chain.log_prob([0] * chain.n_positions) <= 0.0


@given(extreme_chains())
def test_samples_of_any_values_are_labellings(scores):
    chain = tw.Chain(*scores)
    samples = chain.sample(5, random_state=0)
    assert np.all((samples >= 0) & (samples < chain.n_labels))


@given(extreme_chains())
def test_expected_counts_of_any_values_add_up(scores):
    counts = tw.Chain(*scores).expected_counts()
    np.testing.assert_allclose(counts.labels.sum(), len(scores.unary), rtol=1e-9)
    np.testing.assert_allclose(counts.transitions.sum(), len(scores.unary) - 1, rtol=1e-9)


@fewer(2)
@given(st.data())
def test_argmax_of_any_values_is_best_up_to_rounding(data):
    scores = data.draw(extreme_chains().filter(lambda scores: scores.unary.size < 16))
    labels = tuple(tw.Chain(*scores).argmax().labels.tolist())
    exact = precise.exact_scores(*scores)
    rounding = 1e-14 * sum(float(np.max(np.abs(part))) for part in scores) * len(scores.unary)
    assert float(max(exact.values()) - exact[labels]) <= rounding


@fewer(2)
@given(extreme_chains())
def test_kbest_of_any_values_is_sorted_and_distinct(scores):
    for method in ["astar", "viterbi"]:
        best = tw.Chain(*scores).kbest(10, method=method)
        assert (
            len({tuple(one.labels.tolist()) for one in best})
            == len(best)
            == min(10, scores.unary.shape[1] ** len(scores.unary))
        )
        found = [one.score for one in best]
        assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("n_positions", [1, 2, 50, 100_000])
def test_equal_huge_scores_are_equally_likely(n_positions, sign):
    chain = tw.Chain(np.full((n_positions, 3), sign * HUGE), np.full((3, 3), sign * HUGE))
    np.testing.assert_allclose(chain.marginals(), 1 / 3, rtol=1e-12)
    np.testing.assert_allclose(chain.log_partition(), sign * HUGE * (2 * n_positions - 1), rtol=1e-9)
    np.testing.assert_allclose(chain.entropy(), n_positions * math.log(3), rtol=1e-9)


@pytest.mark.parametrize("n_positions", [1, 2, 50, 1000])
def test_one_huge_score_decides_its_position_alone(n_positions):
    unary = np.zeros((n_positions, 3))
    unary[n_positions // 2, 1] = HUGE
    expected = np.full((n_positions, 3), 1 / 3)
    expected[n_positions // 2] = [0.0, 1.0, 0.0]
    np.testing.assert_allclose(tw.Chain(unary, np.zeros((3, 3))).marginals(), expected, rtol=1e-12)


@pytest.mark.parametrize("height", [1e6, 1e12, 1e200, HUGE, -HUGE])
def test_a_huge_constant_row_leaves_the_marginals_alone(height):
    rng = np.random.default_rng(0)
    unary, transitions = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
    unary[2] = 0.0
    expected = tw.Chain(unary, transitions).marginals()
    unary[2] = height
    np.testing.assert_allclose(tw.Chain(unary, transitions).marginals(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("height", [1e6, 1e12, 1e200, HUGE, -HUGE])
def test_a_huge_constant_row_leaves_the_edge_marginals_alone(height):
    rng = np.random.default_rng(0)
    unary, transitions = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
    unary[2] = 0.0
    expected = tw.Chain(unary, transitions).edge_marginals()
    unary[2] = height
    np.testing.assert_allclose(tw.Chain(unary, transitions).edge_marginals(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("height", [1e6, 1e12, 1e200, HUGE, -HUGE])
def test_a_huge_constant_row_leaves_the_entropy_alone(height):
    rng = np.random.default_rng(0)
    unary, transitions = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
    unary[2] = 0.0
    expected = tw.Chain(unary, transitions).entropy()
    unary[2] = height
    np.testing.assert_allclose(tw.Chain(unary, transitions).entropy(), expected, rtol=1e-9)


def test_huge_scores_of_both_signs_leave_the_better_path_certain():
    chain = tw.Chain([[HUGE, -HUGE], [-HUGE, HUGE]], [[-HUGE, HUGE], [HUGE, -HUGE]])
    assert chain.argmax().labels.tolist() == [0, 1]
    np.testing.assert_allclose(chain.marginals(), [[1.0, 0.0], [0.0, 1.0]], rtol=0, atol=1e-12)


def test_a_prohibition_is_stronger_than_any_score():
    chain = tw.Chain([[HUGE, -HUGE]], np.zeros((2, 2)), start=[-np.inf, 0.0])
    assert chain.argmax().labels.tolist() == [1]
    assert chain.marginals().tolist() == [[0.0, 1.0]]


def test_a_bad_score_is_not_a_prohibition():
    chain = tw.Chain(np.full((4, 2), -HUGE), np.full((2, 2), -HUGE))
    np.testing.assert_allclose(chain.marginals(), 0.5, rtol=1e-12)
    assert chain.log_partition() > -math.inf


# Other structures at the edge.


@pytest.mark.parametrize("price", [-800.0, -5000.0, -1e300])
def test_an_ngram_that_must_be_taken_is_paid(price):
    chain = tw.NGramChain([[0.0, -np.inf], [0.0, 0.0], [-np.inf, 0.0]], np.full((2, 2, 2), price))
    np.testing.assert_allclose(chain.log_partition(), price + math.log(2), rtol=1e-12)
    np.testing.assert_allclose(chain.marginals()[1], [0.5, 0.5], rtol=1e-12)


@pytest.mark.parametrize("price", [-800.0, -5000.0, -1e300])
def test_a_segment_that_must_be_taken_is_paid(price):
    scores = np.full((4, 2, 2), price)
    chain = tw.SegmentChain(scores, np.full((2, 2), -np.inf))  # no transitions: impossible with segments of two
    assert chain.log_partition() == -math.inf
    chain = tw.SegmentChain(np.full((2, 2, 2), price), np.full((2, 2), -np.inf))  # one segment of two
    np.testing.assert_allclose(chain.log_partition(), price + math.log(2), rtol=1e-12)
    np.testing.assert_allclose(chain.marginals(), 0.5, rtol=1e-12)


@pytest.mark.parametrize("gap", [30.0, 700.0, 5000.0])
def test_segments_of_an_unlikely_group_forced_at_the_end(gap):
    rng = np.random.default_rng(0)
    scores, transitions = rng.normal(size=(300, 3, 2)), np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    scores[:, :, 1] -= gap * np.arange(1, 4)  # by position, so that long segments are no escape
    marginals = tw.SegmentChain(scores, transitions, end=[-np.inf, 0.0]).marginals()
    np.testing.assert_allclose(marginals, np.broadcast_to([0.0, 1.0], (300, 2)), rtol=0, atol=1e-9)
    alone = tw.SegmentChain(scores[:, :, 1:], [[0.0]])
    forced = tw.SegmentChain(scores, transitions, end=[-np.inf, 0.0])
    np.testing.assert_allclose(forced.log_partition(), alone.log_partition(), rtol=1e-12)
    np.testing.assert_allclose(
        forced.segment_marginals()[:, :, 1], alone.segment_marginals()[:, :, 0], rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("value", [HUGE, -HUGE])
def test_segment_marginals_of_huge_scores_are_finite_and_sum_to_one(value):
    rng = np.random.default_rng(0)
    chain = tw.SegmentChain(rng.choice([value, 0.0], size=(8, 3, 3)), rng.choice([value, 0.0], size=(3, 3)))
    marginals = chain.marginals()
    assert np.all(np.isfinite(marginals))
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("value", [HUGE, -HUGE])
def test_ngram_marginals_of_huge_scores_are_finite_and_sum_to_one(value, order):
    rng = np.random.default_rng(0)
    chain = tw.NGramChain(rng.choice([value, 0.0], size=(8, 3)), rng.choice([value, 0.0], size=(3,) * (order + 1)))
    marginals = chain.marginals()
    assert np.all(np.isfinite(marginals))
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-9)
