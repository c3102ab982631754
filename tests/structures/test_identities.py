"""What holds for any chain, checked on long ones: sums, symmetries, bounds and the two ways to the same number."""

import math

import numpy as np
import pytest

import trelliswork as tw
from reference import log_space
from reference.frequencies import assert_frequencies

LENGTHS = [2, 3, 17, 1000, 100_000]
lengths = pytest.mark.parametrize("n_positions", LENGTHS)
K = 7
SUMS = dict(rtol=1e-10)  # of up to a million terms, each rounded


def scores_of(n_positions, n_labels=K, seed=0, forbid=0.0, scale=2.0):
    """Random scores; a share of the transitions is forbidden, never those from a label to itself."""
    rng = np.random.default_rng(seed)
    transitions = rng.normal(scale=scale, size=(n_labels, n_labels))
    transitions[(rng.random((n_labels, n_labels)) < forbid) & ~np.eye(n_labels, dtype=bool)] = -np.inf
    return (
        rng.normal(scale=scale, size=(n_positions, n_labels)),
        transitions,
        rng.normal(scale=scale, size=n_labels),
        rng.normal(scale=scale, size=n_labels),
    )


def entropies(rows):
    return -np.sum(np.where(rows > 0, rows * np.log(np.where(rows > 0, rows, 1.0)), 0.0), axis=-1)


# Sums that must come out.


@lengths
@pytest.mark.parametrize("forbid", [0.0, 0.4])
def test_marginals_sum_to_one_at_every_position(n_positions, forbid):
    marginals = tw.Chain(*scores_of(n_positions, forbid=forbid)).marginals()
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-12)


@lengths
@pytest.mark.parametrize("forbid", [0.0, 0.4])
def test_rows_of_edge_marginals_sum_to_the_marginals_on_the_left(n_positions, forbid):
    chain = tw.Chain(*scores_of(n_positions, forbid=forbid))
    np.testing.assert_allclose(chain.edge_marginals().sum(axis=2), chain.marginals()[:-1], rtol=0, atol=1e-11)


@lengths
@pytest.mark.parametrize("forbid", [0.0, 0.4])
def test_columns_of_edge_marginals_sum_to_the_marginals_on_the_right(n_positions, forbid):
    chain = tw.Chain(*scores_of(n_positions, forbid=forbid))
    np.testing.assert_allclose(chain.edge_marginals().sum(axis=1), chain.marginals()[1:], rtol=0, atol=1e-11)


@lengths
def test_forward_and_backward_meet_in_the_log_partition_at_every_position(n_positions):
    chain = tw.Chain(*scores_of(n_positions))
    meeting = np.logaddexp.reduce(chain.forward() + chain.backward(), axis=1)
    np.testing.assert_allclose(meeting, chain.log_partition(), **SUMS)


@lengths
def test_the_log_partition_is_the_same_from_either_end(n_positions):
    scores = scores_of(n_positions)
    unary, _, start, end = scores
    chain = tw.Chain(*scores)
    from_the_left = np.logaddexp.reduce(chain.forward()[-1] + end)
    from_the_right = np.logaddexp.reduce(start + unary[0] + chain.backward()[0])
    np.testing.assert_allclose(from_the_left, from_the_right, **SUMS)


@lengths
def test_marginals_are_forward_times_backward(n_positions):
    chain = tw.Chain(*scores_of(n_positions))
    expected = np.exp(chain.forward() + chain.backward() - chain.log_partition())
    rounding = 1e-10 * n_positions  # of the logarithms, which grow with the length
    np.testing.assert_allclose(chain.marginals(), expected, rtol=0, atol=rounding)


@pytest.mark.parametrize("n_positions", [2, 3, 17, 5000])
def test_long_chains_agree_with_the_pairwise_recursion(n_positions):
    scores = scores_of(n_positions)
    chain = tw.Chain(*scores)
    np.testing.assert_allclose(chain.log_partition(), log_space.log_partition(*scores), **SUMS)
    np.testing.assert_allclose(chain.marginals(), log_space.marginals(*scores), rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_positions", [2, 3, 17, 5000])
def test_best_scores_of_long_chains_agree_with_the_plain_recursion(n_positions):
    scores = scores_of(n_positions)
    np.testing.assert_allclose(tw.Chain(*scores).argmax().score, log_space.viterbi_score(*scores), **SUMS)


# Bounds.


@lengths
def test_no_labelling_has_a_log_probability_above_zero(n_positions):
    chain = tw.Chain(*scores_of(n_positions))
    assert chain.log_prob(chain.argmax().labels) <= 0.0


@lengths
def test_a_certain_labelling_has_log_probability_zero_and_not_above(n_positions):
    unary = np.full((n_positions, 3), -np.inf)
    unary[:, 1] = np.random.default_rng(0).normal(size=n_positions) * 1e3
    log_prob = tw.Chain(unary, np.full((3, 3), 0.1)).log_prob([1] * n_positions)
    assert log_prob <= 0.0
    np.testing.assert_allclose(log_prob, 0.0, rtol=0, atol=1e-6)


@lengths
def test_no_sample_scores_above_the_best(n_positions):
    chain = tw.Chain(*scores_of(n_positions))
    best = chain.argmax().score
    assert all(chain.score(labels) <= best + 1e-9 * abs(best) for labels in chain.sample(5, random_state=0))


@lengths
def test_the_log_partition_lies_between_the_best_score_and_that_of_all_labellings_being_best(n_positions):
    chain = tw.Chain(*scores_of(n_positions))
    best = chain.argmax().score
    assert best <= chain.log_partition() <= best + n_positions * math.log(K) + 1e-6


@lengths
def test_entropy_lies_between_zero_and_that_of_the_flat_distribution(n_positions):
    entropy = tw.Chain(*scores_of(n_positions)).entropy()
    assert 0.0 <= entropy <= n_positions * math.log(K)


@lengths
def test_entropy_of_a_flat_chain_is_that_of_independent_labels(n_positions):
    entropy = tw.Chain(np.zeros((n_positions, K)), np.zeros((K, K))).entropy()
    np.testing.assert_allclose(entropy, n_positions * math.log(K), rtol=1e-10)


@lengths
def test_entropy_follows_from_edges_and_marginals(n_positions):
    """The chain rule: H = sum of H(edge) less the entropies of the positions between."""
    chain = tw.Chain(*scores_of(n_positions))
    edges, marginals = chain.edge_marginals().reshape(n_positions - 1, -1), chain.marginals()
    expected = np.sum(entropies(edges)) - np.sum(entropies(marginals[1:-1]))
    np.testing.assert_allclose(chain.entropy(), expected, rtol=1e-9)


def test_the_log_partition_is_convex_along_a_line():
    one, other = scores_of(1000, seed=1), scores_of(1000, seed=2)
    on_the_line = [
        tw.Chain(*((1 - x) * a + x * b for a, b in zip(one, other, strict=True))).log_partition()
        for x in np.linspace(0, 1, 41)
    ]
    assert np.all(np.diff(on_the_line, n=2) >= -1e-9 * np.max(np.abs(on_the_line)))


# Maxima.


@lengths
@pytest.mark.parametrize("forbid", [0.0, 0.4])
def test_the_best_score_is_the_largest_max_marginal_at_every_position(n_positions, forbid):
    chain = tw.Chain(*scores_of(n_positions, forbid=forbid))
    np.testing.assert_allclose(chain.max_marginals().max(axis=1), chain.argmax().score, rtol=1e-10)


@lengths
def test_the_best_labels_are_those_of_the_largest_max_marginals(n_positions):
    chain = tw.Chain(*scores_of(n_positions))
    np.testing.assert_array_equal(chain.max_marginals().argmax(axis=1), chain.argmax().labels)


@lengths
def test_the_score_of_the_best_labels_is_the_best_score(n_positions):
    chain = tw.Chain(*scores_of(n_positions))
    best = chain.argmax()
    np.testing.assert_allclose(chain.score(best.labels), best.score, **SUMS)


@pytest.mark.parametrize("method", ["astar", "viterbi"])
@pytest.mark.parametrize("n_positions", [5, 200, 5000])
def test_kbest_of_long_chains_is_sorted_and_distinct(n_positions, method):
    best = tw.Chain(*scores_of(n_positions)).kbest(100, method=method)
    found = [one.score for one in best]
    assert found == sorted(found, reverse=True)
    assert len({one.labels.tobytes() for one in best}) == 100


@pytest.mark.parametrize("method", ["astar", "viterbi"])
@pytest.mark.parametrize("n_positions", [5, 200, 5000])
def test_kbest_scores_of_long_chains_are_those_of_the_labels(n_positions, method):
    chain = tw.Chain(*scores_of(n_positions))
    best = chain.kbest(100, method=method)
    np.testing.assert_allclose([chain.score(one.labels) for one in best], [one.score for one in best], **SUMS)


@pytest.mark.parametrize("n_positions", [5, 200, 5000])
def test_both_kbest_methods_agree_on_long_chains(n_positions):
    chain = tw.Chain(*scores_of(n_positions))
    astar, viterbi = chain.kbest(100, method="astar"), chain.kbest(100, method="viterbi")
    np.testing.assert_allclose([one.score for one in astar], [one.score for one in viterbi], **SUMS)


@pytest.mark.parametrize("n_positions", [5, 200, 5000])
def test_both_kbest_methods_agree_on_the_order_of_ties_of_long_chains(n_positions):
    rng = np.random.default_rng(n_positions)
    chain = tw.Chain(rng.integers(0, 2, size=(n_positions, 4)), rng.integers(0, 2, size=(4, 4)))
    astar, viterbi = chain.kbest(50, method="astar"), chain.kbest(50, method="viterbi")
    assert [one.labels.tolist() for one in astar] == [one.labels.tolist() for one in viterbi]


@pytest.mark.parametrize("method", ["astar", "viterbi"])
def test_more_of_kbest_begins_with_fewer(method):
    chain = tw.Chain(*scores_of(300))
    few, many = chain.kbest(10, method=method), chain.kbest(200, method=method)
    assert [one.labels.tolist() for one in few] == [one.labels.tolist() for one in many[:10]]


def test_the_second_best_is_the_best_max_marginal_off_the_best_path():
    chain = tw.Chain(*scores_of(1000))
    best, second = chain.kbest(2)
    off_the_path = chain.max_marginals()
    off_the_path[np.arange(1000), best.labels] = -np.inf
    np.testing.assert_allclose(second.score, off_the_path.max(), **SUMS)


# Symmetries.


@lengths
def test_a_constant_added_to_one_row_moves_only_the_score(n_positions):
    scores = scores_of(n_positions)
    raised = scores[0].copy()
    raised[n_positions // 2] += 64.0
    before, after = tw.Chain(*scores), tw.Chain(raised, *scores[1:])
    np.testing.assert_allclose(after.log_partition(), before.log_partition() + 64.0, **SUMS)
    np.testing.assert_allclose(after.argmax().score, before.argmax().score + 64.0, **SUMS)
    np.testing.assert_array_equal(after.argmax().labels, before.argmax().labels)
    np.testing.assert_allclose(after.marginals(), before.marginals(), rtol=0, atol=1e-11)
    np.testing.assert_allclose(after.entropy(), before.entropy(), rtol=1e-9)


@lengths
def test_renaming_the_labels_renames_the_answers(n_positions):
    unary, transitions, start, end = scores_of(n_positions)
    names = np.random.default_rng(5).permutation(K)
    before = tw.Chain(unary, transitions, start, end)
    after = tw.Chain(unary[:, names], transitions[np.ix_(names, names)], start[names], end[names])
    np.testing.assert_allclose(after.log_partition(), before.log_partition(), **SUMS)
    np.testing.assert_allclose(after.marginals(), before.marginals()[:, names], rtol=0, atol=1e-11)
    np.testing.assert_array_equal(names[after.argmax().labels], before.argmax().labels)


@lengths
def test_reading_backwards_reverses_the_answers(n_positions):
    unary, transitions, start, end = scores_of(n_positions)
    before, after = tw.Chain(unary, transitions, start, end), tw.Chain(unary[::-1], transitions.T, end, start)
    np.testing.assert_allclose(after.log_partition(), before.log_partition(), **SUMS)
    np.testing.assert_allclose(after.marginals(), before.marginals()[::-1], rtol=0, atol=1e-11)
    np.testing.assert_array_equal(after.argmax().labels, before.argmax().labels[::-1])


@lengths
def test_a_step_matrix_repeated_is_the_same_as_one_matrix(n_positions):
    unary, transitions, start, end = scores_of(n_positions)
    steps = np.broadcast_to(transitions, (n_positions - 1, K, K))
    one, many = tw.Chain(unary, transitions, start, end), tw.Chain(unary, steps, start, end)
    np.testing.assert_allclose(many.log_partition(), one.log_partition(), **SUMS)
    np.testing.assert_allclose(many.marginals(), one.marginals(), rtol=0, atol=1e-11)
    np.testing.assert_array_equal(many.argmax().labels, one.argmax().labels)


@lengths
def test_start_and_end_may_as_well_be_unary_scores(n_positions):
    unary, transitions, start, end = scores_of(n_positions)
    folded = unary.copy()
    folded[0] += start
    folded[-1] += end
    one, other = tw.Chain(unary, transitions, start, end), tw.Chain(folded, transitions)
    np.testing.assert_allclose(other.log_partition(), one.log_partition(), **SUMS)
    np.testing.assert_allclose(other.marginals(), one.marginals(), rtol=0, atol=1e-11)


# Independence.


@lengths
def test_with_zero_transitions_positions_are_independent(n_positions):
    unary = scores_of(n_positions)[0]
    chain = tw.Chain(unary, np.zeros((K, K)))
    expected = np.exp(unary - np.logaddexp.reduce(unary, axis=1, keepdims=True))
    np.testing.assert_allclose(chain.marginals(), expected, rtol=1e-10)
    np.testing.assert_allclose(chain.entropy(), np.sum(entropies(expected)), rtol=1e-10)
    np.testing.assert_allclose(chain.log_partition(), np.sum(np.logaddexp.reduce(unary, axis=1)), **SUMS)


@pytest.mark.parametrize(("n_left", "n_right"), [(1, 1), (4, 9), (3000, 2000)])
def test_a_zero_step_in_the_middle_makes_two_chains(n_left, n_right):
    left, right = scores_of(n_left, seed=1), scores_of(n_right, seed=2)
    steps = np.concatenate(
        [
            np.broadcast_to(left[1], (n_left - 1, K, K)),
            np.zeros((1, K, K)),
            np.broadcast_to(right[1], (n_right - 1, K, K)),
        ]
    )
    whole = tw.Chain(np.concatenate([left[0], right[0]]), steps)
    parts = [tw.Chain(*part[:2]) for part in (left, right)]
    np.testing.assert_allclose(whole.log_partition(), sum(part.log_partition() for part in parts), **SUMS)
    np.testing.assert_allclose(whole.entropy(), sum(part.entropy() for part in parts), rtol=1e-9)
    np.testing.assert_allclose(
        whole.marginals(), np.concatenate([part.marginals() for part in parts]), rtol=0, atol=1e-11
    )
    np.testing.assert_array_equal(whole.argmax().labels, np.concatenate([part.argmax().labels for part in parts]))


def test_fixing_a_label_and_weighing_by_its_probability_gives_back_the_marginals():
    chain = tw.Chain(*scores_of(400))
    weights = chain.marginals()[200]
    mixed = sum(w * chain.constrained(fixed={200: label}).marginals() for label, w in enumerate(weights))
    np.testing.assert_allclose(mixed, chain.marginals(), rtol=0, atol=1e-10)


def test_the_probability_of_a_fixed_label_is_the_loss_in_log_partition():
    chain = tw.Chain(*scores_of(400))
    losses = [chain.constrained(fixed={200: label}).log_partition() - chain.log_partition() for label in range(K)]
    np.testing.assert_allclose(np.exp(losses), chain.marginals()[200], rtol=1e-9)


def test_a_span_of_one_position_has_its_marginal():
    chain = tw.Chain(*scores_of(1000))
    found = [chain.span_probability(500, [label]) for label in range(K)]
    np.testing.assert_allclose(found, chain.marginals()[500], rtol=1e-9)


def test_a_span_of_two_positions_has_its_edge_marginal():
    chain = tw.Chain(*scores_of(1000))
    found = [[chain.span_probability(500, [a, b]) for b in range(K)] for a in range(K)]
    np.testing.assert_allclose(found, chain.edge_marginals()[500], rtol=1e-9, atol=1e-15)


def test_a_span_of_two_hundred_positions_is_the_loss_in_log_partition():
    chain = tw.Chain(*scores_of(1000))
    fixed = {t: int(label) for t, label in enumerate(chain.argmax().labels) if 300 <= t < 500}
    expected = math.exp(chain.constrained(fixed=fixed).log_partition() - chain.log_partition())
    np.testing.assert_allclose(chain.span_probability(300, list(fixed.values())), expected, rtol=1e-9)


@lengths
def test_sampled_marginals_of_a_long_chain_are_near_the_exact_ones(n_positions):
    n = 200 if n_positions == 100_000 else 2000
    chain = tw.Chain(*scores_of(n_positions))
    samples, marginals = chain.sample(n, random_state=0), chain.marginals()
    for label in range(K):
        counts = np.sum(samples == label, axis=0)
        assert_frequencies(counts, marginals[:, label], n, n_tests=n_positions)


# A million positions.


@pytest.mark.slow
def test_a_million_positions_have_marginals_that_sum_to_one():
    marginals = tw.Chain(*scores_of(1_000_000)).marginals()
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.slow
def test_a_million_positions_have_a_best_labelling_with_its_score():
    chain = tw.Chain(*scores_of(1_000_000))
    best = chain.argmax()
    np.testing.assert_allclose(chain.score(best.labels), best.score, **SUMS)
    np.testing.assert_allclose(chain.max_marginals().max(axis=1), best.score, **SUMS)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["astar", "viterbi"])
def test_a_million_positions_have_their_ten_best(method):
    best = tw.Chain(*scores_of(1_000_000, n_labels=3)).kbest(10, method=method)
    assert len({one.labels.tobytes() for one in best}) == 10
    assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)


@pytest.mark.slow
def test_the_pairwise_recursion_agrees_over_a_hundred_thousand_positions():
    scores = scores_of(100_000)
    np.testing.assert_allclose(tw.Chain(*scores).log_partition(), log_space.log_partition(*scores), **SUMS)
    np.testing.assert_allclose(tw.Chain(*scores).marginals(), log_space.marginals(*scores), rtol=0, atol=1e-9)
