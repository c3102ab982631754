"""Every answer of a chain equals the one read off the table of all its labellings."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference import chains as reference
from reference import log_space
from reference.chains import every_chain_labelling
from reference.frequencies import assert_frequencies
from reference.strategies import (
    CLOSE,
    EXACT_KINDS,
    any_chains,
    chains,
    costs,
    fewer,
    floats,
    forbidding,
    integers,
    label_sets,
    labellings,
    masks,
)
from trelliswork.errors import Unsatisfiable

METHODS = ["astar", "viterbi"]
any_scale = st.sampled_from([1.0, -1.0, 0.3, 0.0]) | st.floats(-3, 3)


def random_scores(n_positions, n_labels, seed=0, scale=3.0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(scale=scale, size=(n_positions, n_labels)),
        rng.normal(scale=scale, size=(n_labels, n_labels)),
        rng.normal(scale=scale, size=n_labels),
        rng.normal(scale=scale, size=n_labels),
    )


# The best labelling.


@given(chains())
def test_argmax_has_the_best_score(scores):
    np.testing.assert_allclose(tw.Chain(*scores).argmax().score, every_chain_labelling(*scores).argmax()[1], **CLOSE)


@given(chains())
def test_argmax_labels_carry_the_score_that_is_reported(scores):
    best = tw.Chain(*scores).argmax()
    np.testing.assert_allclose(every_chain_labelling(*scores).score(best.labels), best.score, **CLOSE)


@given(chains(EXACT_KINDS))
def test_argmax_breaks_ties_towards_the_lowest_label_read_from_the_end(scores):
    best = tw.Chain(*scores).argmax()
    assert (best.labels.tolist(), best.score) == every_chain_labelling(*scores).argmax()


def test_argmax_of_equal_scores_is_label_zero_everywhere():
    assert tw.Chain(np.zeros((9, 5)), np.zeros((5, 5))).argmax().labels.tolist() == [0] * 9


def test_argmax_prefers_the_smaller_last_label_to_the_smaller_first_one():
    chain = tw.Chain(np.zeros((2, 2)), [[0.0, 1.0], [1.0, 0.0]])  # 01 and 10 tie: 10 ends in the smaller label
    assert chain.argmax().labels.tolist() == [1, 0]


def test_argmax_gives_int32_labels_and_a_float():
    best = tw.Chain(np.zeros((3, 2)), np.zeros((2, 2))).argmax()
    assert best.labels.dtype == np.int32
    assert type(best.score) is float


def test_argmax_unpacks_into_labels_and_score():
    labels, score = tw.Chain([[2.0, 0.0], [0.0, 1.0]], [[0.0, -3.0], [0.0, 0.0]]).argmax()
    assert (labels.tolist(), score) == ([0, 0], 2.0)


# The k best labellings.


@pytest.mark.parametrize("method", METHODS)
@given(scores=chains(EXACT_KINDS), k=st.integers(1, 40))
def test_kbest_is_the_head_of_the_sorted_table(method, scores, k):
    best = [(one.labels.tolist(), one.score) for one in tw.Chain(*scores).kbest(k, method=method)]
    assert best == every_chain_labelling(*scores).kbest(k)


@pytest.mark.parametrize("method", METHODS)
@given(scores=chains(), k=st.integers(1, 40))
def test_kbest_scores_are_the_k_largest(method, scores, k):
    best = [one.score for one in tw.Chain(*scores).kbest(k, method=method)]
    np.testing.assert_allclose(best, [score for _, score in every_chain_labelling(*scores).kbest(k)], **CLOSE)


@pytest.mark.parametrize("method", METHODS)
@given(scores=chains(), k=st.integers(1, 40))
def test_kbest_scores_never_rise(method, scores, k):
    best = [one.score for one in tw.Chain(*scores).kbest(k, method=method)]
    assert best == sorted(best, reverse=True)


@pytest.mark.parametrize("method", METHODS)
@given(scores=chains(), k=st.integers(1, 40))
def test_kbest_labellings_are_distinct(method, scores, k):
    best = [tuple(one.labels.tolist()) for one in tw.Chain(*scores).kbest(k, method=method)]
    assert len(set(best)) == len(best)


@pytest.mark.parametrize("method", METHODS)
@given(scores=chains(), k=st.integers(1, 40))
def test_kbest_labellings_carry_the_scores_that_are_reported(method, scores, k):
    every = every_chain_labelling(*scores)
    for one in tw.Chain(*scores).kbest(k, method=method):
        np.testing.assert_allclose(every.score(one.labels), one.score, **CLOSE)


@pytest.mark.parametrize("method", METHODS)
@given(scores=chains(max_labellings=130))
def test_kbest_gives_every_allowed_labelling_when_k_is_larger(method, scores):
    every = every_chain_labelling(*scores)
    allowed = {tuple(y) for y, score in zip(every.labellings.tolist(), every.scores, strict=True) if score > -math.inf}
    assert {tuple(one.labels.tolist()) for one in tw.Chain(*scores).kbest(1000, method=method)} == allowed


@given(chains())
def test_kbest_uses_astar_unless_told_otherwise(scores):
    chain = tw.Chain(*scores)
    for default, astar in zip(chain.kbest(5), chain.kbest(5, method="astar"), strict=True):
        assert default.labels.tolist() == astar.labels.tolist()


@pytest.mark.parametrize("method", METHODS)
@given(scores=chains(EXACT_KINDS))
def test_first_of_kbest_is_argmax(method, scores):
    chain = tw.Chain(*scores)
    first, best = chain.kbest(3, method=method)[0], chain.argmax()
    assert (first.labels.tolist(), first.score) == (best.labels.tolist(), best.score)


@pytest.mark.parametrize("method", METHODS)
def test_kbest_of_ten_thousand_equal_labellings_comes_in_the_order_of_the_tie_rule(method):
    chain = tw.Chain(np.zeros((6, 5)), np.zeros((5, 5)))
    best = [one.labels.tolist() for one in chain.kbest(10_000, method=method)]
    assert best == reference.every_labelling(6, 5)[:10_000].tolist()


# Sums over all labellings.


@given(any_chains())
def test_log_partition_sums_over_every_labelling(scores):
    np.testing.assert_allclose(
        tw.Chain(*scores).log_partition(), every_chain_labelling(*scores).log_partition(), **CLOSE
    )


@given(chains())
def test_marginals_are_the_shares_of_each_label(scores):
    np.testing.assert_allclose(tw.Chain(*scores).marginals(), every_chain_labelling(*scores).marginals(), **CLOSE)


@given(chains())
def test_edge_marginals_are_the_shares_of_each_pair_of_labels(scores):
    np.testing.assert_allclose(
        tw.Chain(*scores).edge_marginals(), every_chain_labelling(*scores).edge_marginals(), **CLOSE
    )


@given(any_chains())
def test_max_marginals_are_the_best_scores_through_each_label(scores):
    np.testing.assert_allclose(
        tw.Chain(*scores).max_marginals(), every_chain_labelling(*scores).max_marginals(), **CLOSE
    )


@given(any_chains(EXACT_KINDS))
def test_max_marginals_of_whole_scores_are_exact(scores):
    np.testing.assert_array_equal(tw.Chain(*scores).max_marginals(), every_chain_labelling(*scores).max_marginals())


@given(any_chains())
def test_forward_sums_over_every_beginning(scores):
    np.testing.assert_allclose(tw.Chain(*scores).forward(), reference.forward(*scores[:3]), **CLOSE)


@given(any_chains())
def test_backward_sums_over_every_ending(scores):
    expected = reference.backward(scores.unary, scores.transitions, scores.end)
    np.testing.assert_allclose(tw.Chain(*scores).backward(), expected, **CLOSE)


@given(chains())
def test_entropy_is_that_of_the_distribution_over_labellings(scores):
    np.testing.assert_allclose(tw.Chain(*scores).entropy(), every_chain_labelling(*scores).entropy(), **CLOSE)


@given(chains())
def test_entropy_is_never_negative(scores):
    assert tw.Chain(*scores).entropy() >= 0.0


@given(chains())
def test_marginals_lie_between_zero_and_one(scores):
    marginals = tw.Chain(*scores).marginals()
    assert np.all((marginals >= 0.0) & (marginals <= 1.0))


@given(chains())
def test_marginals_of_forbidden_labels_are_exactly_zero(scores):
    forbidden = ~np.isfinite(every_chain_labelling(*scores).max_marginals())
    assert np.all(tw.Chain(*scores).marginals()[forbidden] == 0.0)


# One labelling, one span.


@given(st.data())
def test_score_is_the_sum_of_the_parts(data):
    scores = data.draw(any_chains())
    labels = data.draw(labellings(*scores.unary.shape))
    np.testing.assert_allclose(tw.Chain(*scores).score(labels), every_chain_labelling(*scores).score(labels), **CLOSE)


@given(st.data())
def test_log_prob_is_the_score_less_the_log_partition(data):
    scores = data.draw(chains())
    labels = data.draw(labellings(*scores.unary.shape))
    np.testing.assert_allclose(
        tw.Chain(*scores).log_prob(labels), every_chain_labelling(*scores).log_prob(labels), rtol=1e-9, atol=1e-8
    )


@given(st.data())
def test_log_prob_is_never_above_zero(data):
    scores = data.draw(chains(max_labels=2))
    chain = tw.Chain(*scores)
    labels = data.draw(labellings(*scores.unary.shape) | st.just(chain.argmax().labels))
    assert chain.log_prob(labels) <= 0.0


@pytest.mark.parametrize("seed", range(20))
def test_a_certain_labelling_never_has_a_log_probability_above_zero(seed):
    rng = np.random.default_rng(seed)
    log_prob = tw.Chain(rng.normal(scale=100, size=(50, 1)), [[0.1]]).log_prob([0] * 50)
    assert -1e-9 < log_prob <= 0.0


@given(chains(max_labellings=300))
def test_log_probs_of_all_labellings_sum_to_one(scores):
    chain = tw.Chain(*scores)
    total = sum(math.exp(chain.log_prob(labels)) for labels in every_chain_labelling(*scores).labellings)
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


@given(st.data())
def test_span_probability_sums_over_the_labellings_that_carry_it(data):
    scores = data.draw(chains())
    n_positions, n_labels = scores.unary.shape
    start = data.draw(st.integers(0, n_positions - 1))
    width = data.draw(st.integers(1, n_positions - start))
    span = data.draw(labellings(width, n_labels))
    expected = every_chain_labelling(*scores).span_probability(start, [{label} for label in span])
    np.testing.assert_allclose(tw.Chain(*scores).span_probability(start, span), expected, **CLOSE)


@given(st.data())
def test_span_probability_takes_a_set_of_labels_at_each_position(data):
    scores = data.draw(chains())
    n_positions, n_labels = scores.unary.shape
    start = data.draw(st.integers(0, n_positions - 1))
    width = data.draw(st.integers(1, n_positions - start))
    span = data.draw(st.lists(label_sets(n_labels), min_size=width, max_size=width))
    expected = every_chain_labelling(*scores).span_probability(start, span)
    np.testing.assert_allclose(tw.Chain(*scores).span_probability(start, span), expected, **CLOSE)


@pytest.mark.parametrize("collection", [list, tuple, set, frozenset, np.array])
def test_span_probability_takes_any_collection_of_labels(collection):
    scores = random_scores(4, 3)
    expected = every_chain_labelling(*scores).span_probability(1, [{0, 2}, {1}])
    np.testing.assert_allclose(tw.Chain(*scores).span_probability(1, [collection([0, 2]), 1]), expected, rtol=1e-12)


@given(chains())
def test_span_of_all_labels_is_certain(scores):
    n_positions, n_labels = scores.unary.shape
    np.testing.assert_allclose(tw.Chain(*scores).span_probability(0, [range(n_labels)] * n_positions), 1.0, rtol=1e-12)


@given(chains())
def test_span_probability_never_exceeds_one(scores):
    n_positions, n_labels = scores.unary.shape
    assert 0.0 <= tw.Chain(*scores).span_probability(0, [range(n_labels)] * n_positions) <= 1.0


@given(st.data())
def test_span_of_the_whole_labelling_is_its_probability(data):
    scores = data.draw(chains())
    labels = data.draw(labellings(*scores.unary.shape))
    chain = tw.Chain(*scores)
    np.testing.assert_allclose(
        chain.span_probability(0, labels), math.exp(chain.log_prob(labels)), rtol=1e-8, atol=1e-12
    )


# Costs.


@given(st.data())
def test_hamming_cost_is_added_to_every_wrong_label(data):
    scores, scale = data.draw(chains()), data.draw(any_scale)
    n_positions, n_labels = scores.unary.shape
    gold = data.draw(labellings(n_positions, n_labels))
    every = every_chain_labelling(*scores).augmented(gold, 1.0 - np.eye(n_labels), scale)
    augmented = tw.Chain(*scores).augmented(gold, scale=scale)
    np.testing.assert_allclose(augmented.log_partition(), every.log_partition(), **CLOSE)
    np.testing.assert_allclose(augmented.marginals(), every.marginals(), **CLOSE)


@given(st.data())
def test_cost_matrix_charges_each_pair_of_gold_and_guess(data):
    scores, scale = data.draw(chains()), data.draw(any_scale)
    n_positions, n_labels = scores.unary.shape
    gold, cost = data.draw(labellings(n_positions, n_labels)), data.draw(costs(n_labels))
    every = every_chain_labelling(*scores).augmented(gold, cost, scale)
    augmented = tw.Chain(*scores).augmented(gold, cost=cost, scale=scale)
    np.testing.assert_allclose(augmented.max_marginals(), every.max_marginals(), **CLOSE)
    np.testing.assert_allclose(augmented.marginals(), every.marginals(), **CLOSE)


@pytest.mark.parametrize("scale", [1, -1])
@given(data=st.data())
def test_augmented_argmax_is_the_best_of_score_plus_cost(scale, data):
    scores = data.draw(chains(EXACT_KINDS))
    n_positions, n_labels = scores.unary.shape
    gold = data.draw(labellings(n_positions, n_labels))
    best = tw.Chain(*scores).augmented(gold, scale=scale).argmax()
    every = every_chain_labelling(*scores).augmented(gold, 1.0 - np.eye(n_labels), scale)
    assert (best.labels.tolist(), best.score) == every.argmax()


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_augmented_kbest_is_the_head_of_the_sorted_table(method, data):
    scores, k = data.draw(chains(EXACT_KINDS)), data.draw(st.integers(1, 20))
    n_positions, n_labels = scores.unary.shape
    gold = data.draw(labellings(n_positions, n_labels))
    best = tw.Chain(*scores).augmented(gold).kbest(k, method=method)
    every = every_chain_labelling(*scores).augmented(gold, 1.0 - np.eye(n_labels), 1.0)
    assert [(one.labels.tolist(), one.score) for one in best] == every.kbest(k)


def test_the_gold_labelling_costs_nothing():
    scores = random_scores(5, 3)
    chain, gold = tw.Chain(*scores), [0, 1, 2, 1, 0]
    assert chain.augmented(gold, scale=0.3).score(gold) == chain.score(gold)


def test_augmenting_leaves_the_chain_as_it_was():
    chain = tw.Chain(*random_scores(5, 3))
    before = chain.log_partition()
    chain.augmented([0] * 5)
    assert chain.log_partition() == before


def test_forbidden_labels_stay_forbidden_under_a_cost():
    chain = tw.Chain([[0.0, -np.inf], [0.0, 0.0]], np.zeros((2, 2))).augmented([0, 0], scale=1000.0)
    assert chain.marginals()[0].tolist() == [1.0, 0.0]


# Constraints.


def assert_same_answers(chain, every):
    """The questions that together see every score of the chain."""
    np.testing.assert_allclose(chain.log_partition(), every.log_partition(), **CLOSE)
    np.testing.assert_allclose(chain.marginals(), every.marginals(), **CLOSE)
    np.testing.assert_allclose(chain.edge_marginals(), every.edge_marginals(), **CLOSE)
    np.testing.assert_allclose(chain.argmax().score, every.argmax()[1], **CLOSE)


def assert_constrained(scores, constraint, keep):
    """The constrained chain is the table without the labellings that break it, or says that none is left."""
    every = every_chain_labelling(*scores)
    expected = every.where([keep(labels) for labels in every.labellings.tolist()])
    if expected.satisfiable:
        assert_same_answers(tw.Chain(*scores).constrained(**constraint), expected)
    else:
        with pytest.raises(Unsatisfiable):
            tw.Chain(*scores).constrained(**constraint)


@given(st.data())
def test_allowed_matrix_forbids_labels_by_position(data):
    scores = data.draw(chains(max_labellings=1100))
    allowed = data.draw(masks(scores.unary.shape))
    assert_constrained(scores, dict(allowed=allowed), lambda y: all(allowed[t, label] for t, label in enumerate(y)))


@given(st.data())
def test_candidate_sets_forbid_the_other_labels(data):
    scores = data.draw(chains(max_labellings=1100))
    n_positions, n_labels = scores.unary.shape
    item = st.none() | label_sets(n_labels) | label_sets(n_labels).map(list)
    candidates = data.draw(st.lists(item, min_size=n_positions, max_size=n_positions))
    assert_constrained(
        scores,
        dict(allowed=candidates),
        lambda y: all(candidates[t] is None or label in candidates[t] for t, label in enumerate(y)),
    )


@given(st.data())
def test_forbidden_transitions_hold_at_every_step(data):
    scores = data.draw(chains(max_labellings=1100))
    n_labels = scores.unary.shape[1]
    allowed = data.draw(masks((n_labels, n_labels)))
    assert_constrained(
        scores, dict(transitions=allowed), lambda y: all(allowed[a, b] for a, b in itertools.pairwise(y))
    )


@given(st.data())
def test_forbidden_transitions_may_differ_from_step_to_step(data):
    scores = data.draw(chains(max_labellings=1100))
    n_positions, n_labels = scores.unary.shape
    allowed = data.draw(masks((n_positions - 1, n_labels, n_labels)))
    assert_constrained(
        scores, dict(transitions=allowed), lambda y: all(allowed[t, y[t], y[t + 1]] for t in range(n_positions - 1))
    )


@given(st.data())
def test_start_and_end_forbid_first_and_last_labels(data):
    scores = data.draw(chains(max_labellings=1100))
    n_labels = scores.unary.shape[1]
    start, end = data.draw(masks((n_labels,))), data.draw(masks((n_labels,)))
    assert_constrained(scores, dict(start=start, end=end), lambda y: bool(start[y[0]] and end[y[-1]]))


@given(st.data())
def test_fixed_labels_given_as_a_dict_are_kept(data):
    scores = data.draw(chains(max_labellings=1100))
    n_positions, n_labels = scores.unary.shape
    fixed = data.draw(st.dictionaries(st.integers(0, n_positions - 1), st.integers(0, n_labels - 1)))
    assert_constrained(scores, dict(fixed=fixed), lambda y: all(y[t] == label for t, label in fixed.items()))


@given(st.data())
def test_fixed_labels_given_as_a_sequence_are_kept_and_minus_one_is_free(data):
    scores = data.draw(chains(max_labellings=1100))
    n_positions, n_labels = scores.unary.shape
    fixed = data.draw(st.lists(st.integers(-1, n_labels - 1), min_size=n_positions, max_size=n_positions))
    assert_constrained(
        scores, dict(fixed=fixed), lambda y: all(label in (-1, own) for label, own in zip(fixed, y, strict=True))
    )


@given(st.data())
def test_all_kinds_of_constraints_hold_together(data):
    scores = data.draw(chains(min_positions=2, max_labellings=1100))
    n_positions, n_labels = scores.unary.shape
    allowed, moves = data.draw(masks(scores.unary.shape, 8)), data.draw(masks((n_labels, n_labels), 8))
    start, end = data.draw(masks((n_labels,), 8)), data.draw(masks((n_labels,), 8))
    position, label = data.draw(st.integers(0, n_positions - 1)), data.draw(st.integers(0, n_labels - 1))
    assert_constrained(
        scores,
        dict(allowed=allowed, transitions=moves, start=start, end=end, fixed={position: label}),
        lambda y: bool(
            all(allowed[t, y[t]] for t in range(n_positions))
            and all(moves[y[t], y[t + 1]] for t in range(n_positions - 1))
            and start[y[0]]
            and end[y[-1]]
            and y[position] == label
        ),
    )


@given(st.data())
def test_constrained_argmax_keeps_the_tie_rule(data):
    scores = data.draw(chains([integers], max_labellings=1100))
    allowed = data.draw(masks(scores.unary.shape))
    allowed[:, 0] = True
    every = every_chain_labelling(*scores)
    expected = every.where([all(allowed[t, label] for t, label in enumerate(y)) for y in every.labellings.tolist()])
    best = tw.Chain(*scores).constrained(allowed=allowed).argmax()
    assert (best.labels.tolist(), best.score) == expected.argmax()


@given(st.data())
def test_costs_and_constraints_compose(data):
    scores = data.draw(chains([floats, forbidding(floats)], max_labellings=1100))
    n_positions, n_labels = scores.unary.shape
    gold, label = data.draw(labellings(n_positions, n_labels)), tw.Chain(*scores).argmax().labels[0]
    every = every_chain_labelling(*scores)
    expected = every.augmented(gold, 1.0 - np.eye(n_labels), 0.3).where(every.labellings[:, 0] == label)
    assert_same_answers(tw.Chain(*scores).augmented(gold, scale=0.3).constrained(fixed={0: label}), expected)


def test_constraining_leaves_the_chain_as_it_was():
    chain = tw.Chain(*random_scores(4, 3))
    before = chain.log_partition()
    chain.constrained(fixed={0: 0})
    assert chain.log_partition() == before


def test_constraining_by_nothing_changes_no_answer():
    scores = random_scores(4, 3)
    assert_same_answers(tw.Chain(*scores).constrained(), every_chain_labelling(*scores))


# Samples.


def index_in_table(samples, n_labels):
    """The row of each sample in the table of all labellings: its labels as digits, the last one foremost."""
    return samples.astype(np.int64) @ n_labels ** np.arange(samples.shape[1])


@fewer(5)
@given(chains(max_labellings=130), st.integers(0, 2**32 - 1))
def test_samples_have_the_frequencies_of_the_distribution(scores, seed):
    n_positions, n_labels = scores.unary.shape
    every, n = every_chain_labelling(*scores), 4000
    drawn = index_in_table(tw.Chain(*scores).sample(n, random_state=seed), n_labels)
    assert_frequencies(np.bincount(drawn, minlength=n_labels**n_positions), every.probabilities(), n)


@fewer(3)
@given(chains([forbidding(floats, 3)]), st.integers(0, 2**32 - 1))
def test_samples_never_break_a_prohibition(scores, seed):
    chain = tw.Chain(*scores)
    assert all(chain.score(labels) > -math.inf for labels in chain.sample(50, random_state=seed))


def test_many_samples_of_a_flat_chain_pass_a_chi_square_test():
    n, n_cells = 200_000, 3**4
    samples = tw.Chain(np.zeros((4, 3)), np.zeros((3, 3))).sample(n, random_state=0)
    counts = np.bincount(index_in_table(samples, 3), minlength=n_cells)
    statistic = np.sum((counts - n / n_cells) ** 2) / (n / n_cells)
    assert 20 < statistic < 190  # 80 degrees of freedom: mean 80, standard deviation 12.6; too even is wrong as well


def test_neighbouring_samples_are_independent():
    first = tw.Chain(np.zeros((1, 2)), np.zeros((2, 2))).sample(100_000, random_state=1)[:, 0]
    pairs = np.bincount(2 * first[:-1] + first[1:], minlength=4)
    assert_frequencies(pairs, [0.25] * 4, len(first) - 1)


def test_samples_are_rows_of_int32_labels():
    samples = tw.Chain(np.zeros((3, 2)), np.zeros((2, 2))).sample(5, random_state=0)
    assert (samples.shape, samples.dtype) == ((5, 3), np.int32)


def test_one_sample_is_drawn_unless_told_otherwise():
    assert tw.Chain(np.zeros((3, 2)), np.zeros((2, 2))).sample(random_state=0).shape == (1, 3)


def test_no_samples_may_be_asked_for():
    assert tw.Chain(np.zeros((3, 2)), np.zeros((2, 2))).sample(0, random_state=0).shape == (0, 3)


def test_one_seed_gives_the_same_samples():
    chain = tw.Chain(*random_scores(20, 4))
    np.testing.assert_array_equal(chain.sample(30, random_state=7), chain.sample(30, random_state=7))


def test_different_seeds_give_different_samples():
    chain = tw.Chain(np.zeros((20, 4)), np.zeros((4, 4)))
    assert not np.array_equal(chain.sample(30, random_state=7), chain.sample(30, random_state=8))


def test_a_generator_is_advanced_by_sampling():
    chain, generator = tw.Chain(np.zeros((20, 4)), np.zeros((4, 4))), np.random.default_rng(0)
    assert not np.array_equal(chain.sample(30, random_state=generator), chain.sample(30, random_state=generator))


def test_equal_generators_give_the_same_samples():
    chain = tw.Chain(np.zeros((20, 4)), np.zeros((4, 4)))
    one, other = (chain.sample(30, random_state=np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_without_a_seed_samples_differ_from_call_to_call():
    chain = tw.Chain(np.zeros((40, 4)), np.zeros((4, 4)))
    assert not np.array_equal(chain.sample(30), chain.sample(30))


def test_sampling_leaves_numpys_global_state_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    tw.Chain(np.zeros((4, 4)), np.zeros((4, 4))).sample(3)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# What a chain shows of itself.


def test_a_chain_knows_its_size():
    chain = tw.Chain(np.zeros((3, 2)), np.zeros((2, 2)))
    assert (chain.n_positions, chain.n_labels) == (3, 2)


@pytest.mark.parametrize("name", ["unary", "transitions", "start", "end"])
def test_a_chain_shows_the_scores_it_was_given(name):
    scores = dict(zip(["unary", "transitions", "start", "end"], random_scores(4, 3), strict=True))
    np.testing.assert_array_equal(getattr(tw.Chain(**scores), name), scores[name])


@pytest.mark.parametrize("name", ["start", "end"])
def test_an_absent_boundary_is_shown_as_zeros(name):
    assert getattr(tw.Chain(np.ones((3, 2)), np.ones((2, 2))), name).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["unary", "transitions", "start", "end"])
def test_the_scores_of_a_chain_cannot_be_written(name):
    scores = getattr(tw.Chain(*random_scores(4, 3)), name)
    with pytest.raises(ValueError, match="read-only"):
        scores[0] = 1.0


@pytest.mark.parametrize("name", ["unary", "transitions", "start", "end"])
def test_changing_the_arrays_afterwards_changes_no_answer(name):
    scores = dict(zip(["unary", "transitions", "start", "end"], random_scores(6, 4), strict=True))
    chain = tw.Chain(**scores)
    before = chain.log_partition()
    scores[name][...] = 17.0
    assert chain.log_partition() == before


@pytest.mark.parametrize("question", ["marginals", "edge_marginals", "max_marginals", "forward", "backward"])
def test_writing_into_an_answer_changes_no_later_answer(question):
    chain = tw.Chain(*random_scores(6, 4))
    first = getattr(chain, question)()
    expected = first.copy()
    first.flags.writeable = True
    first[...] = -1.0
    np.testing.assert_array_equal(getattr(chain, question)(), expected)


@pytest.mark.parametrize(
    "question", ["log_partition", "marginals", "edge_marginals", "max_marginals", "forward", "backward", "entropy"]
)
def test_the_same_question_gets_the_same_answer_to_the_last_bit(question):
    chain = tw.Chain(*random_scores(50, 7))
    np.testing.assert_array_equal(getattr(chain, question)(), getattr(chain, question)())


# Every number of labels has its own way through the vector kernels.

WIDTHS = [*range(1, 36), 45, 63, 64, 65, 100, 127, 128, 129]


@pytest.mark.parametrize("n_labels", WIDTHS)
def test_sums_are_right_for_any_number_of_labels(n_labels):
    scores = random_scores(9, n_labels, seed=n_labels)
    chain = tw.Chain(*scores)
    np.testing.assert_allclose(chain.log_partition(), log_space.log_partition(*scores), rtol=1e-12)
    np.testing.assert_allclose(chain.marginals(), log_space.marginals(*scores), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_labels", WIDTHS)
def test_edge_marginals_are_right_for_any_number_of_labels(n_labels):
    scores = random_scores(6, n_labels, seed=n_labels)
    np.testing.assert_allclose(
        tw.Chain(*scores).edge_marginals(), log_space.edge_marginals(*scores), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("n_labels", WIDTHS)
def test_forward_and_backward_are_right_for_any_number_of_labels(n_labels):
    scores = random_scores(6, n_labels, seed=n_labels)
    unary, transitions, start, end = scores
    np.testing.assert_allclose(tw.Chain(*scores).forward(), log_space.forward(unary, transitions, start), rtol=1e-12)
    np.testing.assert_allclose(
        tw.Chain(*scores).backward(), log_space.backward(unary, transitions, end), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("n_labels", WIDTHS)
def test_maxima_are_right_for_any_number_of_labels(n_labels):
    scores = random_scores(9, n_labels, seed=n_labels)
    chain = tw.Chain(*scores)
    np.testing.assert_allclose(chain.argmax().score, log_space.viterbi_score(*scores), rtol=1e-12)
    np.testing.assert_allclose(chain.score(chain.argmax().labels), log_space.viterbi_score(*scores), rtol=1e-12)
    np.testing.assert_allclose(chain.max_marginals(), log_space.max_marginals(*scores), rtol=1e-12)


@pytest.mark.parametrize("n_labels", WIDTHS)
def test_ties_go_to_the_lowest_label_for_any_number_of_labels(n_labels):
    rng = np.random.default_rng(n_labels)
    unary, transitions = rng.integers(0, 2, size=(2, n_labels)), rng.integers(0, 2, size=(n_labels, n_labels))
    best = tw.Chain(unary, transitions).argmax()
    assert (best.labels.tolist(), best.score) == every_chain_labelling(unary, transitions).argmax()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_labels", WIDTHS)
def test_kbest_is_right_for_any_number_of_labels(n_labels, method):
    rng = np.random.default_rng(n_labels)
    unary, transitions = rng.integers(0, 3, size=(2, n_labels)), rng.integers(0, 3, size=(n_labels, n_labels))
    best = [(one.labels.tolist(), one.score) for one in tw.Chain(unary, transitions).kbest(50, method=method)]
    assert best == every_chain_labelling(unary, transitions).kbest(50)


@pytest.mark.parametrize("n_labels", WIDTHS)
def test_steps_of_their_own_are_right_for_any_number_of_labels(n_labels):
    rng = np.random.default_rng(n_labels)
    unary, steps = rng.normal(size=(7, n_labels)), rng.normal(size=(6, n_labels, n_labels))
    chain = tw.Chain(unary, steps)
    np.testing.assert_allclose(chain.log_partition(), log_space.log_partition(unary, steps), rtol=1e-12)
    np.testing.assert_allclose(chain.edge_marginals(), log_space.edge_marginals(unary, steps), rtol=0, atol=1e-12)
    np.testing.assert_allclose(chain.max_marginals(), log_space.max_marginals(unary, steps), rtol=1e-12)


@pytest.mark.parametrize("n_labels", WIDTHS)
def test_prohibitions_hold_for_any_number_of_labels(n_labels):
    rng = np.random.default_rng(n_labels)
    unary, transitions = rng.normal(size=(9, n_labels)), rng.normal(size=(n_labels, n_labels))
    unary[rng.random(unary.shape) < 0.3] = -np.inf
    transitions[rng.random(transitions.shape) < 0.3] = -np.inf
    unary[:, -1], transitions[-1, -1] = 0.0, 0.0
    chain = tw.Chain(unary, transitions)
    np.testing.assert_allclose(chain.log_partition(), log_space.log_partition(unary, transitions), rtol=1e-12)
    np.testing.assert_allclose(chain.marginals(), log_space.marginals(unary, transitions), rtol=0, atol=1e-12)
    np.testing.assert_allclose(chain.max_marginals(), log_space.max_marginals(unary, transitions), rtol=1e-12)
