"""Chains of order one to three: every answer equals the one read off the table of all labellings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference.chains import every_chain_labelling, every_ngram_labelling
from reference.frequencies import assert_frequencies
from reference.strategies import CLOSE, EXACT_KINDS, costs, fewer, label_sets, labellings, masks, ngram_chains
from trelliswork.errors import Unsatisfiable

pytestmark = pytest.mark.parametrize("order", [1, 2, 3])
METHODS = ["astar", "viterbi"]


@fewer(2)
@given(data=st.data())
def test_argmax_breaks_ties_towards_the_lowest_label_read_from_the_end(order, data):
    scores = data.draw(ngram_chains(order, EXACT_KINDS))
    best = tw.NGramChain(*scores).argmax()
    assert (best.labels.tolist(), best.score) == every_ngram_labelling(*scores).argmax()


@fewer(2)
@given(data=st.data())
def test_argmax_has_the_best_score(order, data):
    scores = data.draw(ngram_chains(order))
    best, every = tw.NGramChain(*scores).argmax(), every_ngram_labelling(*scores)
    np.testing.assert_allclose(best.score, every.argmax()[1], **CLOSE)
    np.testing.assert_allclose(every.score(best.labels), best.score, **CLOSE)


@pytest.mark.parametrize("method", METHODS)
@fewer(2)
@given(data=st.data())
def test_kbest_is_the_head_of_the_sorted_table(order, method, data):
    scores, k = data.draw(ngram_chains(order, EXACT_KINDS)), data.draw(st.integers(1, 30))
    best = [(one.labels.tolist(), one.score) for one in tw.NGramChain(*scores).kbest(k, method=method)]
    assert best == every_ngram_labelling(*scores).kbest(k)


@pytest.mark.parametrize("method", METHODS)
@fewer(3)
@given(data=st.data())
def test_kbest_scores_are_the_k_largest_of_distinct_labellings(order, method, data):
    scores, k = data.draw(ngram_chains(order)), data.draw(st.integers(1, 30))
    best, every = tw.NGramChain(*scores).kbest(k, method=method), every_ngram_labelling(*scores)
    np.testing.assert_allclose([one.score for one in best], [score for _, score in every.kbest(k)], **CLOSE)
    assert len({tuple(one.labels.tolist()) for one in best}) == len(best)
    np.testing.assert_allclose([every.score(one.labels) for one in best], [one.score for one in best], **CLOSE)


@fewer(2)
@given(data=st.data())
def test_log_partition_sums_over_every_labelling(order, data):
    scores = data.draw(ngram_chains(order))
    np.testing.assert_allclose(
        tw.NGramChain(*scores).log_partition(), every_ngram_labelling(*scores).log_partition(), **CLOSE
    )


@fewer(2)
@given(data=st.data())
def test_marginals_are_the_shares_of_each_label(order, data):
    scores = data.draw(ngram_chains(order))
    np.testing.assert_allclose(tw.NGramChain(*scores).marginals(), every_ngram_labelling(*scores).marginals(), **CLOSE)


@fewer(2)
@given(data=st.data())
def test_edge_marginals_are_the_shares_of_each_pair(order, data):
    scores = data.draw(ngram_chains(order))
    np.testing.assert_allclose(
        tw.NGramChain(*scores).edge_marginals(), every_ngram_labelling(*scores).edge_marginals(), **CLOSE
    )


@fewer(2)
@given(data=st.data())
def test_ngram_marginals_are_the_shares_of_each_ngram(order, data):
    scores = data.draw(ngram_chains(order))
    np.testing.assert_allclose(
        tw.NGramChain(*scores).ngram_marginals(), every_ngram_labelling(*scores).window_marginals(order + 1), **CLOSE
    )


@fewer(2)
@given(data=st.data())
def test_max_marginals_are_the_best_scores_through_each_label(order, data):
    scores = data.draw(ngram_chains(order))
    np.testing.assert_allclose(
        tw.NGramChain(*scores).max_marginals(), every_ngram_labelling(*scores).max_marginals(), **CLOSE
    )


@fewer(2)
@given(data=st.data())
def test_entropy_is_that_of_the_distribution_over_labellings(order, data):
    scores = data.draw(ngram_chains(order))
    entropy = tw.NGramChain(*scores).entropy()
    np.testing.assert_allclose(entropy, every_ngram_labelling(*scores).entropy(), **CLOSE)
    assert entropy >= 0.0


@fewer(2)
@given(data=st.data())
def test_score_is_the_sum_of_the_parts(order, data):
    scores = data.draw(ngram_chains(order))
    labels = data.draw(labellings(*scores[0].shape))
    np.testing.assert_allclose(
        tw.NGramChain(*scores).score(labels), every_ngram_labelling(*scores).score(labels), **CLOSE
    )


@fewer(2)
@given(data=st.data())
def test_log_prob_is_the_score_less_the_log_partition(order, data):
    scores = data.draw(ngram_chains(order))
    labels = data.draw(labellings(*scores[0].shape))
    log_prob = tw.NGramChain(*scores).log_prob(labels)
    np.testing.assert_allclose(log_prob, every_ngram_labelling(*scores).log_prob(labels), rtol=1e-9, atol=1e-8)
    assert log_prob <= 0.0


@fewer(2)
@given(data=st.data())
def test_span_probability_sums_over_the_labellings_that_carry_it(order, data):
    scores = data.draw(ngram_chains(order))
    n_positions, n_labels = scores[0].shape
    start = data.draw(st.integers(0, n_positions - 1))
    width = data.draw(st.integers(1, n_positions - start))
    span = data.draw(st.lists(label_sets(n_labels), min_size=width, max_size=width))
    expected = every_ngram_labelling(*scores).span_probability(start, span)
    np.testing.assert_allclose(tw.NGramChain(*scores).span_probability(start, span), expected, **CLOSE)


@pytest.mark.parametrize("scale", [1.0, -1.0, 0.3])
@fewer(4)
@given(data=st.data())
def test_costs_are_added_by_position(order, scale, data):
    scores = data.draw(ngram_chains(order))
    n_positions, n_labels = scores[0].shape
    gold, cost = data.draw(labellings(n_positions, n_labels)), data.draw(costs(n_labels))
    every = every_ngram_labelling(*scores).augmented(gold, cost, scale)
    augmented = tw.NGramChain(*scores).augmented(gold, cost=cost, scale=scale)
    np.testing.assert_allclose(augmented.marginals(), every.marginals(), **CLOSE)
    np.testing.assert_allclose(augmented.argmax().score, every.argmax()[1], **CLOSE)


@fewer(3)
@given(data=st.data())
def test_hamming_cost_is_added_to_every_wrong_label(order, data):
    scores = data.draw(ngram_chains(order, EXACT_KINDS))
    n_positions, n_labels = scores[0].shape
    gold = data.draw(labellings(n_positions, n_labels))
    best = tw.NGramChain(*scores).augmented(gold).argmax()
    every = every_ngram_labelling(*scores).augmented(gold, 1.0 - np.eye(n_labels), 1.0)
    assert (best.labels.tolist(), best.score) == every.argmax()


def assert_constrained(scores, constraint, keep):
    every = every_ngram_labelling(*scores)
    expected = every.where([keep(labels) for labels in every.labellings.tolist()])
    if not expected.satisfiable:
        with pytest.raises(Unsatisfiable):
            tw.NGramChain(*scores).constrained(**constraint)
        return
    constrained = tw.NGramChain(*scores).constrained(**constraint)
    np.testing.assert_allclose(constrained.log_partition(), expected.log_partition(), **CLOSE)
    np.testing.assert_allclose(constrained.edge_marginals(), expected.edge_marginals(), **CLOSE)
    np.testing.assert_allclose(constrained.max_marginals(), expected.max_marginals(), **CLOSE)


@fewer(3)
@given(data=st.data())
def test_allowed_matrix_forbids_labels_by_position(order, data):
    scores = data.draw(ngram_chains(order))
    allowed = data.draw(masks(scores[0].shape))
    assert_constrained(scores, dict(allowed=allowed), lambda y: all(allowed[t, label] for t, label in enumerate(y)))


@fewer(3)
@given(data=st.data())
def test_fixed_labels_are_kept(order, data):
    scores = data.draw(ngram_chains(order))
    n_positions, n_labels = scores[0].shape
    fixed = data.draw(st.dictionaries(st.integers(0, n_positions - 1), st.integers(0, n_labels - 1)))
    assert_constrained(scores, dict(fixed=fixed), lambda y: all(y[t] == label for t, label in fixed.items()))


@fewer(3)
@given(data=st.data())
def test_forbidden_ngrams_do_not_occur(order, data):
    scores = data.draw(ngram_chains(order))
    allowed = data.draw(masks(scores[1].shape))
    assert_constrained(
        scores,
        dict(ngram=allowed),
        lambda y: all(allowed[tuple(y[t - order : t + 1])] for t in range(order, len(y))),
    )


@fewer(10)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_samples_have_the_frequencies_of_the_distribution(order, data, seed):
    scores = data.draw(ngram_chains(order, max_labellings=100))
    every, n = every_ngram_labelling(*scores), 3000
    samples = tw.NGramChain(*scores).sample(n, random_state=seed).tolist()
    counts = [samples.count(labels) for labels in every.labellings.tolist()]
    assert_frequencies(counts, every.probabilities(), n)


@fewer(3)
@given(data=st.data())
def test_expected_counts_are_those_of_the_table(order, data):
    scores = data.draw(ngram_chains(order))
    attributes = np.cos(np.arange(3.0 * len(scores[0]))).reshape(len(scores[0]), 3)
    counts, every = tw.NGramChain(*scores).expected_counts(attributes), every_ngram_labelling(*scores)
    np.testing.assert_allclose(counts.log_partition, every.log_partition(), **CLOSE)
    np.testing.assert_allclose(counts.labels, every.expected_labels(), **CLOSE)
    np.testing.assert_allclose(counts.transitions, every.expected_transitions(), **CLOSE)
    np.testing.assert_allclose(counts.attributes, every.expected_attributes(attributes), **CLOSE)


@pytest.mark.parametrize("n_positions", [1, 2, 3])
def test_chains_shorter_than_the_order_are_scored_by_unary_alone(order, n_positions):
    unary = np.random.default_rng(0).normal(size=(n_positions, 3))
    ngram = np.full((3,) * (order + 1), 0.5)
    expected = np.sum(np.logaddexp.reduce(unary, axis=1)) + 0.5 * max(n_positions - order, 0)
    np.testing.assert_allclose(tw.NGramChain(unary, ngram).log_partition(), expected, rtol=1e-12)


def test_an_empty_sequence_has_one_labelling(order):
    chain = tw.NGramChain(np.zeros((0, 2)), np.zeros((2,) * (order + 1)))
    assert chain.argmax().labels.tolist() == []
    assert chain.log_partition() == 0.0
    assert chain.marginals().shape == (0, 2)
    assert chain.ngram_marginals().shape == (0, *[2] * (order + 1))


def test_ngrams_that_ignore_all_but_the_last_two_labels_make_a_plain_chain(order):
    rng = np.random.default_rng(order)
    unary, transitions = rng.normal(size=(30, 4)), rng.normal(size=(4, 4))
    ngram = np.broadcast_to(transitions, (4,) * (order + 1))
    plain_steps = np.broadcast_to(transitions, (29, 4, 4)).copy()
    plain_steps[: order - 1] = 0.0  # no n-gram ends there yet
    np.testing.assert_allclose(
        tw.NGramChain(unary, ngram).marginals(), tw.Chain(unary, plain_steps).marginals(), rtol=0, atol=1e-10
    )


def test_long_chains_keep_ngram_marginals_and_marginals_consistent(order):
    rng = np.random.default_rng(order)
    chain = tw.NGramChain(rng.normal(size=(2000, 4)), rng.normal(size=(4,) * (order + 1)))
    ngrams, marginals = chain.ngram_marginals(), chain.marginals()
    np.testing.assert_allclose(ngrams.sum(axis=tuple(range(1, order + 1))), marginals[order:], rtol=0, atol=1e-10)
    np.testing.assert_allclose(ngrams.sum(axis=tuple(range(2, order + 2))), marginals[:-order], rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_a_certain_labelling_never_has_a_log_probability_above_zero(order, seed):
    rng = np.random.default_rng(seed)
    chain = tw.NGramChain(rng.normal(scale=100, size=(50, 1)), rng.normal(size=(1,) * (order + 1)))
    assert -1e-9 < chain.log_prob([0] * 50) <= 0.0


def test_changing_the_arrays_afterwards_changes_no_answer(order):
    unary, ngram = np.zeros((5, 2)), np.zeros((2,) * (order + 1))
    chain = tw.NGramChain(unary, ngram)
    unary[...], ngram[...] = 3.0, 4.0
    np.testing.assert_allclose(chain.log_partition(), 5 * math.log(2), rtol=1e-12)


@fewer(3)
@given(data=st.data())
def test_order_one_agrees_with_a_plain_chain(order, data):
    unary, ngram = data.draw(ngram_chains(1, EXACT_KINDS))
    table = every_chain_labelling(unary, ngram)
    assert tw.NGramChain(unary, ngram).argmax().labels.tolist() == table.argmax()[0]
    np.testing.assert_allclose(tw.NGramChain(unary, ngram).edge_marginals(), table.edge_marginals(), **CLOSE)
