"""The locally normalised chain: decisions by enumeration, gradients by differences, and the scores of predictions."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.small_problems import label_oracle
from training.problems import FLAGS, as_tensors, oracle, problems, random_problem, random_weights, score
from trelliswork import Chain, _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.crf import CRF
from trelliswork.learners.memm import MEMM, locally_normalised

WHOLE = [flag for flag in FLAGS if flag != "partial"]
CLOSE = dict(rtol=1e-9, atol=1e-9)


@st.composite
def decisions(draw):
    """A problem with whole gold labels, the oracle of its decisions, and weights in both forms."""
    problem = draw(problems(WHOLE))
    weights = random_weights(problem, draw(st.integers(0, 2**31)))
    made = oracle(problem, best=True)
    local = made.local()
    return problem, local, weights, made.weights_from(as_tensors(problem, weights))


def expected_loss(problem, weights):
    """Minus the log-probability of each gold label among the labels that could stand in its place."""
    total = 0.0
    for s, allowed in enumerate(problem.allowed):
        gold = [next(iter(labels)) for labels in allowed]
        factor = 1.0 if problem.sequence_weight is None else problem.sequence_weight[s]
        for t in range(len(gold)):
            each = 1.0 if problem.token_weight is None else problem.token_weight[s][t]
            total += factor * each * decision_loss(problem, s, gold, t, weights)
    return total


def decision_loss(problem, s, gold, t, weights):
    # The rest of the sentence is gold, so that all the labels of t are compared under the same further scores, which
    # cancel; what comes after t must not count, so the sentence is cut there.
    cut = replace(
        problem,
        label=[tokens[: t + 1] if i == s else tokens for i, tokens in enumerate(problem.label)],
        pair=[tokens[: t + 1] if i == s else tokens for i, tokens in enumerate(problem.pair)],
        allowed=[labels[: t + 1] if i == s else labels for i, labels in enumerate(problem.allowed)],
        constraints=without_the_end(problem.constraints, t + 1 == len(gold)),
    )
    scores = np.array([score(cut, s, [*gold[:t], y], weights) for y in range(problem.n_labels)])
    return np.logaddexp.reduce(scores) - scores[gold[t]]


def without_the_end(constraints, last):
    if constraints is None or last:
        return constraints
    moves, start, end = constraints
    return moves, start, np.ones_like(end)


def loss_and_gradient(local, vector, n_jobs=1, nu=0.0):
    gradient = np.empty(local.n_weights)
    return local.loss(vector, gradient, n_jobs, nu=nu), gradient


@given(decisions())
def test_the_loss_is_that_of_every_decision_written_out(case):
    problem, local, weights, vector = case
    loss, _ = loss_and_gradient(local, vector, nu=problem.scale)
    np.testing.assert_allclose(loss, expected_loss(problem, weights), **CLOSE)


@given(decisions())
def test_the_gradient_is_the_difference_of_the_loss(case):
    problem, local, _, vector = case
    nu = problem.scale
    _, gradient = loss_and_gradient(local, vector, nu=nu)
    for j in range(0, len(vector), 1 + len(vector) // 8):
        step = np.eye(len(vector))[j] * 1e-5
        higher, lower = (loss_and_gradient(local, vector + sign * step, nu=nu)[0] for sign in (1, -1))
        difference = higher - lower
        np.testing.assert_allclose(gradient[j], difference / 2e-5, rtol=1e-5, atol=1e-5)


@given(decisions())
def test_the_curvature_is_the_difference_of_the_gradient_where_values_do_not_repeat(case):
    problem, local, _, vector = case
    if problem.hash_bits:  # several attributes of a token may then be one, whose values add up
        return
    diagonal = np.empty(local.n_weights)
    local.curvature(vector, diagonal, nu=problem.scale)
    for j in range(0, len(vector), 1 + len(vector) // 8):
        step = np.eye(len(vector))[j] * 1e-5
        higher, lower = (loss_and_gradient(local, vector + sign * step, nu=problem.scale)[1] for sign in (1, -1))
        difference = higher - lower
        np.testing.assert_allclose(diagonal[j], difference[j] / 2e-5, rtol=1e-4, atol=1e-5)


def test_a_stochastic_pass_moves_against_the_gradient():
    local = oracle(random_problem(4, {"pairs", "valued", "token_weight"}), best=True).local()
    start = np.random.default_rng(0).normal(size=local.n_weights)
    sgd = _core.Sgd(
        local, start, l2=0.0, l1=0.0, nu=0.0, batch=local.n_examples, shards=1, decay=1.0, step=0.01, tol=0.0, seed=0
    )
    sgd.step()
    loss, gradient = loss_and_gradient(local, start)
    np.testing.assert_allclose(sgd.weights(), start - 0.01 * gradient, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sgd.objective, loss, rtol=1e-12)


def test_threads_change_no_bit():
    local = oracle(random_problem(5, n_sequences=2000, max_length=9, vocabulary=50), best=True).local()
    vector = np.random.default_rng(0).normal(size=local.n_weights)
    (loss, gradient), (again, other) = (loss_and_gradient(local, vector, n_jobs) for n_jobs in (1, 3))
    assert again == loss
    assert other.tobytes() == gradient.tobytes()


# Predictions


@st.composite
def scores(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(0, 4)), draw(st.integers(1, 3))
    moves = rng.normal(size=(max(n - 1, 0), k, k) if draw(st.booleans()) else (k, k)) * 2
    if draw(st.booleans()):
        moves = np.where(rng.random(moves.shape) < 0.3, -np.inf, moves)
    ends = [rng.normal(size=k), rng.normal(size=k)] if draw(st.booleans()) else [None, None]
    return rng.normal(size=(n, k)), moves, *ends


@given(scores())
def test_normalised_scores_are_products_of_local_probabilities(case):
    unary, moves, start, end = case
    chain = Chain(*locally_normalised(*case)) if len(unary) else None
    n, k = unary.shape
    for path in itertools.product(range(k), repeat=n):
        expected = 0.0
        for t in range(n):
            row = unary[t].copy()
            if t == 0 and start is not None:
                row += start
            if t == n - 1 and end is not None:
                row += end
            if t > 0:
                row += (moves if moves.ndim == 2 else moves[t - 1])[path[t - 1]]
            if row.max() == -np.inf:
                expected = -np.inf
                break
            expected += row[path[t]] - np.logaddexp.reduce(row)
        if n:
            np.testing.assert_allclose(chain.score(path), expected, **CLOSE)


@given(scores())
def test_probabilities_of_all_labellings_add_up_to_one(case):
    unary, moves, _, _ = case
    if not len(unary) or np.isneginf(moves).any():
        return
    np.testing.assert_allclose(Chain(*locally_normalised(*case)).log_partition(), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [[0.0]]), "unary must have shape"),
        (([[1.0, 2.0]], [[0.0]]), "transitions must have shape"),
        (([[1.0]], [[0.0]], [1.0, 2.0]), "start must have shape"),
        (([[np.nan]], [[0.0]]), "NaN"),
    ],
)
def test_scores_that_do_not_fit_are_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        locally_normalised(*arguments)


# Training


@settings(max_examples=20)
@given(st.integers(0, 2**31))
def test_training_finds_the_minimum(seed):
    problem = random_problem(seed, {"valued", "pairs"}, combinations="all")
    trained = MEMM(0.5, tol=1e-10).train(oracle(problem, best=True))
    local = oracle(problem, best=True).local()
    _, gradient = loss_and_gradient(local, trained.weights)
    np.testing.assert_allclose(gradient + 0.5 * trained.weights, 0.0, atol=1e-3)


def test_on_single_labels_it_is_the_crf():
    plain, local = CRF(tol=1e-9).train(label_oracle(1)[0]), MEMM(tol=1e-9).train(label_oracle(1)[0])
    assert local.weights.tobytes() == plain.weights.tobytes()


def test_a_run_cut_in_two_ends_with_the_same_bits():
    problem = random_problem(8, {"valued"}, n_sequences=20)
    states = []
    whole = MEMM(tol=1e-8).train(oracle(problem, best=True), on_iteration=lambda it: states.append(it.state()))
    again = MEMM(tol=1e-8).train(oracle(problem, best=True), state=states[1])
    assert again.weights.tobytes() == whole.weights.tobytes()


def test_examples_without_decisions_are_refused():
    with pytest.raises(InvalidInput, match="use='best'"):
        MEMM().train(oracle(random_problem(0)))
    with pytest.raises(InvalidInput, match="one gold output"):
        MEMM().train(oracle(random_problem(1, {"partial"}, n_sequences=8), best=True))
