"""The general recursion: totals, vectors and edges of any semiring equal their definitions (2.28-2.36, Table 2.2)."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference import chains as reference_chains
from reference import semirings as reference
from reference.chains import every_chain_labelling
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
    labellings,
)

# Whole scores are used wherever lifted elements are compared exactly.
small_chains = any_chains(EXACT_KINDS, max_positions=5, max_labels=4, max_labellings=130)
real_chains = chains([floats, forbidding(floats)], max_labellings=1100)
MODERATE = dict(rtol=1e-9, atol=0.0)


def at_the_end(label):
    """Whether the kernel is the last one, which lifts the end score."""
    return label == -1


# The user's own semirings.


def counting():
    """(N, +, x): how many labellings are allowed."""
    return tw.Semiring(
        plus=lambda a, b: a + b,
        times=lambda a, b: a * b,
        zero=0,
        one=1,
        lift=lambda score, position, previous, label: int(score > -math.inf),
    )


def reachability():
    """({false, true}, or, and): whether any labelling is allowed."""
    return tw.Semiring(
        plus=lambda a, b: a or b,
        times=lambda a, b: a and b,
        zero=False,
        one=True,
        lift=lambda score, position, previous, label: bool(score > -math.inf),
    )


def shortest():
    """(R, min, +): the worst allowed score, as a shortest path."""
    return tw.Semiring(
        plus=min,
        times=lambda a, b: a + b,
        zero=math.inf,
        one=0.0,
        lift=lambda score, position, previous, label: score if score > -math.inf else math.inf,
    )


def bottleneck():
    """(R, max, min): the best of the weakest links."""
    return tw.Semiring(
        plus=max,
        times=min,
        zero=-math.inf,
        one=math.inf,
        lift=lambda score, position, previous, label: score,
    )


def fractions():
    """(Q, +, x): exact sums of products, no rounding at all."""
    return tw.Semiring(
        plus=lambda a, b: a + b,
        times=lambda a, b: a * b,
        zero=Fraction(0),
        one=Fraction(1),
        lift=lambda score, position, previous, label: Fraction(3) ** int(score) if score > -math.inf else Fraction(0),
    )


def languages():
    """(sets of strings, union, concatenation): the allowed labellings themselves. Its product does not commute."""

    def lift(score, position, previous, label):
        if score == -math.inf:
            return frozenset()
        return frozenset([""] if at_the_end(label) else [str(label)])

    return tw.Semiring(
        plus=lambda a, b: a | b,
        times=lambda a, b: frozenset(x + y for x, y in itertools.product(a, b)),
        zero=frozenset(),
        one=frozenset([""]),
        lift=lift,
    )


def kernels_seen():
    """(sets of strings, union, concatenation): each labelling as the text of what its kernels were lifted from."""

    def lift(score, position, previous, label):
        if score == -math.inf:
            return frozenset()
        if at_the_end(label) and score == 0.0:
            return frozenset([""])
        return frozenset([f"[{position} {previous}>{label} {score:.0f}]"])

    return tw.Semiring(
        plus=lambda a, b: a | b,
        times=lambda a, b: frozenset(x + y for x, y in itertools.product(a, b)),
        zero=frozenset(),
        one=frozenset([""]),
        lift=lift,
    )


USERS = [counting, reachability, shortest, bottleneck, fractions, languages, kernels_seen]
users = pytest.mark.parametrize("semiring", [make() for make in USERS], ids=[make.__name__ for make in USERS])


@users
@fewer(3)
@given(scores=small_chains)
def test_total_is_the_sum_over_labellings_of_the_product_of_kernels(semiring, scores):
    assert tw.forward(tw.Chain(*scores), semiring).total == reference.total(scores, semiring)


@users
@fewer(3)
@given(scores=small_chains)
def test_forward_backward_has_the_same_total(semiring, scores):
    assert tw.forward_backward(tw.Chain(*scores), semiring).total == reference.total(scores, semiring)


@users
@fewer(6)
@given(scores=small_chains)
def test_alpha_is_the_sum_over_beginnings(semiring, scores):
    alpha = tw.forward(tw.Chain(*scores), semiring).alpha
    assert alpha.shape == scores.unary.shape
    for t, label in np.ndindex(alpha.shape):
        assert alpha[t, label] == reference.alpha(scores, semiring, t, label)


@users
@fewer(6)
@given(scores=small_chains)
def test_beta_is_the_sum_over_endings(semiring, scores):
    beta = tw.forward_backward(tw.Chain(*scores), semiring).beta
    assert beta.shape == scores.unary.shape
    for t, label in np.ndindex(beta.shape):
        assert beta[t, label] == reference.beta(scores, semiring, t, label)


@users
@fewer(6)
@given(scores=small_chains)
def test_edges_solve_the_marginalisation_problem(semiring, scores):
    n_positions, n_labels = scores.unary.shape
    edges = tw.forward_backward(tw.Chain(*scores), semiring).edges
    assert edges.shape == (n_positions - 1, n_labels, n_labels)
    for t, a, b in np.ndindex(edges.shape):
        assert edges[t, a, b] == reference.edge(scores, semiring, t, a, b)


@users
@fewer(6)
@given(scores=small_chains)
def test_alpha_is_the_same_from_both_functions(semiring, scores):
    chain = tw.Chain(*scores)
    one, both = tw.forward(chain, semiring).alpha, tw.forward_backward(chain, semiring).alpha
    assert one.tolist() == both.tolist()


@users
def test_total_of_an_empty_sequence_is_one(semiring):
    chain = tw.Chain(np.zeros((0, 2)), np.zeros((2, 2)))
    assert tw.forward(chain, semiring).total == semiring.one
    assert tw.forward_backward(chain, semiring).total == semiring.one


@users
def test_vectors_of_an_empty_sequence_are_empty(semiring):
    both = tw.forward_backward(tw.Chain(np.zeros((0, 2)), np.zeros((2, 2))), semiring)
    assert (both.alpha.shape, both.beta.shape, both.edges.shape) == ((0, 2), (0, 2), (0, 2, 2))


def test_labellings_are_read_from_left_to_right():
    chain = tw.Chain([[0.0, -np.inf], [0.0, 0.0], [-np.inf, 0.0]], np.zeros((2, 2)))
    assert tw.forward(chain, languages()).total == {"001", "011"}


def test_counts_are_python_integers_of_any_size():
    chain = tw.Chain(np.zeros((200, 3)), np.zeros((3, 3)))
    assert tw.forward(chain, counting()).total == 3**200


def test_an_error_in_a_users_function_comes_through():
    def broken(score, position, previous, label):
        raise KeyError("no such label")

    semiring = tw.Semiring(plus=max, times=min, zero=0.0, one=1.0, lift=broken)
    with pytest.raises(KeyError, match="no such label"):
        tw.forward(tw.Chain(np.zeros((2, 2)), np.zeros((2, 2))), semiring)


@pytest.mark.parametrize("semiring", ["sum-produce", None, 3, max])
def test_what_is_no_semiring_is_refused(semiring):
    with pytest.raises((ValueError, TypeError)):
        tw.forward(tw.Chain(np.zeros((2, 2)), np.zeros((2, 2))), semiring)


# The seven rows of Table 2.2.


@given(real_chains)
def test_sum_product_total_is_the_partition_function(scores):
    total = tw.forward(tw.Chain(*scores), tw.semirings.SUM_PRODUCT).total
    np.testing.assert_allclose(total, np.exp(every_chain_labelling(*scores).log_partition()), **MODERATE)


@given(real_chains)
def test_sum_product_edges_are_unnormalised_edge_marginals(scores):
    both, every = tw.forward_backward(tw.Chain(*scores), tw.semirings.SUM_PRODUCT), every_chain_labelling(*scores)
    np.testing.assert_allclose(
        both.edges, every.edge_marginals() * np.exp(every.log_partition()), rtol=1e-9, atol=1e-300
    )


@given(real_chains)
def test_max_product_total_is_the_weight_of_the_best_labelling(scores):
    total = tw.forward(tw.Chain(*scores), tw.semirings.MAX_PRODUCT).total
    np.testing.assert_allclose(total, np.exp(every_chain_labelling(*scores).argmax()[1]), **MODERATE)


@given(any_chains())
def test_max_plus_total_is_the_best_score(scores):
    total = tw.forward(tw.Chain(*scores), tw.semirings.MAX_PLUS).total
    np.testing.assert_allclose(total, np.max(every_chain_labelling(*scores).scores), **CLOSE)


@given(any_chains(max_labellings=1100))
def test_max_plus_edges_are_the_best_scores_through_each_pair(scores):
    edges, every = tw.forward_backward(tw.Chain(*scores), tw.semirings.MAX_PLUS).edges, every_chain_labelling(*scores)
    for t, a, b in np.ndindex(edges.shape):
        through = (every.labellings[:, t] == a) & (every.labellings[:, t + 1] == b)
        np.testing.assert_allclose(edges[t, a, b], np.max(every.scores[through]), **CLOSE)


@given(st.data())
def test_cost_augmented_total_is_the_best_of_score_plus_cost(data):
    scores, scale = data.draw(chains()), data.draw(st.sampled_from([1.0, -1.0, 0.3]))
    gold, cost = data.draw(labellings(*scores.unary.shape)), data.draw(costs(scores.unary.shape[1]))
    semiring = tw.semirings.cost_augmented(gold, cost, scale)
    expected = every_chain_labelling(*scores).augmented(gold, cost, scale).argmax()[1]
    np.testing.assert_allclose(tw.forward(tw.Chain(*scores), semiring).total, expected, **CLOSE)


@given(st.data())
def test_hamming_is_a_cost_that_can_be_named(data):
    scores = data.draw(chains(EXACT_KINDS))
    n_positions, n_labels = scores.unary.shape
    gold = data.draw(labellings(n_positions, n_labels))
    expected = every_chain_labelling(*scores).augmented(gold, 1.0 - np.eye(n_labels), -1.0).argmax()[1]
    assert tw.forward(tw.Chain(*scores), tw.semirings.cost_augmented(gold, "hamming", -1.0)).total == expected


@given(any_chains(EXACT_KINDS, max_labellings=1100), st.integers(1, 12))
def test_k_best_total_lists_the_k_largest_scores(scores, k):
    total = np.asarray(tw.forward(tw.Chain(*scores), tw.semirings.k_best(k)).total, dtype=float)
    assert len(total) <= k
    assert [score for score in total if score > -math.inf] == [s for _, s in every_chain_labelling(*scores).kbest(k)]


@given(any_chains())
def test_log_total_is_the_log_partition(scores):
    total = tw.forward(tw.Chain(*scores), tw.semirings.LOG).total
    np.testing.assert_allclose(total, every_chain_labelling(*scores).log_partition(), **CLOSE)


@given(any_chains())
def test_log_alpha_and_beta_are_the_chains_own(scores):
    both = tw.forward_backward(tw.Chain(*scores), tw.semirings.LOG)
    np.testing.assert_allclose(both.alpha, reference_chains.forward(*scores[:3]), **CLOSE)
    expected = reference_chains.backward(scores.unary, scores.transitions, scores.end)
    np.testing.assert_allclose(both.beta, expected, **CLOSE)


@given(real_chains)
def test_log_edges_are_edge_marginals(scores):
    both, every = tw.forward_backward(tw.Chain(*scores), tw.semirings.LOG), every_chain_labelling(*scores)
    np.testing.assert_allclose(np.exp(both.edges - both.total), every.edge_marginals(), **CLOSE)


@pytest.mark.parametrize(
    ("name", "semiring"),
    [
        ("sum-product", tw.semirings.SUM_PRODUCT),
        ("max-product", tw.semirings.MAX_PRODUCT),
        ("max-plus", tw.semirings.MAX_PLUS),
        ("log", tw.semirings.LOG),
    ],
)
def test_named_semirings_may_be_given_as_strings(name, semiring):
    rng = np.random.default_rng(0)
    chain = tw.Chain(rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3))
    by_name, by_object = tw.forward_backward(chain, name), tw.forward_backward(chain, semiring)
    assert by_name.total == by_object.total
    np.testing.assert_array_equal(by_name.edges, by_object.edges)
    assert tw.forward(chain, name).total == by_name.total


@pytest.mark.parametrize("name", ["sum-product", "max-product", "max-plus", "log"])
def test_scalar_semirings_give_float_arrays(name):
    both = tw.forward_backward(tw.Chain(np.zeros((3, 2)), np.zeros((2, 2))), name)
    assert [array.dtype for array in both[1:]] == [np.float64] * 3
    assert isinstance(both.total, float)


def test_users_semirings_give_arrays_of_objects():
    both = tw.forward_backward(tw.Chain(np.zeros((3, 2)), np.zeros((2, 2))), languages())
    assert [array.dtype for array in both[1:]] == [np.dtype(object)] * 3


@pytest.mark.parametrize(
    "semiring", [tw.semirings.SUM_PRODUCT, tw.semirings.MAX_PRODUCT, tw.semirings.MAX_PLUS, tw.semirings.LOG]
)
@fewer(6)
@given(scores=any_chains([integers, forbidding(integers)], max_positions=5, max_labels=4, max_labellings=130))
def test_a_named_semiring_taken_apart_and_put_together_gives_the_same_total(semiring, scores):
    copy = tw.Semiring(semiring.plus, semiring.times, semiring.zero, semiring.one, semiring.lift)
    chain = tw.Chain(*scores)
    np.testing.assert_allclose(
        float(tw.forward(chain, copy).total), tw.forward(chain, semiring).total, rtol=1e-9, atol=1e-9
    )


def test_none_may_be_an_element():
    ring = tw.Semiring(
        plus=lambda a, b: b if a is None else a,
        times=lambda a, b: None if a is None or b is None else a + b,
        zero=None,
        one=0,
        lift=lambda score, position, previous, label: None if score == -np.inf else 1,
    )
    assert tw.forward(tw.Chain([[0.0, -np.inf]] * 3, np.zeros((2, 2))), ring).total == 4  # three labels and the end
