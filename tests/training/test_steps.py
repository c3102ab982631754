"""Working weights, stochastic steps and the curvature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.strategies import fewer
from training.problems import FAST_FLAGS, oracle, problems, random_problem

SINGLE = dict(rtol=2e-4, atol=2e-4)


def gradient_of(made, weights):
    gradient = np.empty(made.n_weights)
    return made.loss(weights, gradient), gradient


@given(problems(), st.integers(0, 2**31), st.booleans())
def test_a_step_over_all_examples_goes_against_the_gradient(problem, seed, general):
    made = oracle(problem, general=general)
    weights = np.random.default_rng(seed).normal(size=made.n_weights)
    loss, gradient = gradient_of(made, weights)
    working = made.working()
    working.load(weights)
    stepped = working.descend(np.arange(made.n_examples, dtype=np.uint32), 0.3, made.scale)
    np.testing.assert_allclose(stepped, loss, **SINGLE)
    np.testing.assert_allclose(working.store(), weights - 0.3 * gradient, **SINGLE)


@pytest.mark.parametrize("general", [False, True])
def test_steps_over_single_examples_add_up_when_the_step_is_tiny(general):
    problem = random_problem(5, n_sequences=7)
    made = oracle(problem, general=general)
    weights = np.random.default_rng(0).normal(size=made.n_weights)
    loss, gradient = gradient_of(made, weights)
    total, moved = 0.0, np.zeros_like(weights)
    for example in range(made.n_examples):
        working = made.working()
        working.load(weights)
        total += working.descend(np.array([example], np.uint32), 1.0)
        moved += working.store() - weights
    np.testing.assert_allclose(total, loss, **SINGLE)
    np.testing.assert_allclose(moved, -gradient, **SINGLE)


@pytest.mark.parametrize("general", [False, True])
def test_a_scale_changes_all_weights_and_steps_see_the_true_ones(general):
    made = oracle(random_problem(11, n_sequences=6), general=general)
    weights = np.random.default_rng(1).normal(size=made.n_weights)
    working = made.working()
    working.load(weights)
    working.multiply(0.25)
    assert working.scale == 0.25
    np.testing.assert_allclose(working.store(), 0.25 * weights, rtol=1e-6)
    np.testing.assert_allclose(working.squared_norm, np.sum((0.25 * weights) ** 2), rtol=1e-5)
    loss, gradient = gradient_of(made, 0.25 * weights)
    np.testing.assert_allclose(working.descend(np.arange(6, dtype=np.uint32), 0.1), loss, **SINGLE)
    np.testing.assert_allclose(working.store(), 0.25 * weights - 0.1 * gradient, **SINGLE)


@pytest.mark.parametrize("general", [False, True])
def test_a_scale_that_becomes_tiny_is_folded_in(general):
    made = oracle(random_problem(12), general=general)
    weights = np.random.default_rng(1).normal(size=made.n_weights)
    working = made.working()
    working.load(weights)
    for _ in range(200):
        working.multiply(0.1)
    for _ in range(200):
        working.multiply(10.0)
    kept = working.store()
    assert np.all(np.isfinite(kept))
    assert np.all((kept == 0) | (np.abs(kept / weights - 1) < 1e-3))


def test_steps_over_an_empty_example_change_nothing():
    problem = random_problem(3, n_sequences=3)
    problem.label[1], problem.pair[1], problem.allowed[1] = [], [], []
    made = oracle(problem)
    working = made.working()
    weights = np.random.default_rng(1).normal(size=made.n_weights)
    working.load(weights)
    assert working.descend(np.array([1], np.uint32), 1.0) == 0.0
    np.testing.assert_allclose(working.store(), weights, rtol=1e-6)


def test_an_example_that_is_not_there_is_refused():
    made = oracle(random_problem(3, n_sequences=3))
    with pytest.raises(ValueError, match="no example 3"):
        made.working().descend(np.array([3], np.uint32), 1.0)


# Curvature.


def curvature(made, weights, n_jobs=1):
    diagonal = np.empty(made.n_weights)
    made.curvature(weights, diagonal, n_jobs)
    return diagonal


@given(problems(["valued", "sequence_weight", "cost"], max_length=1), st.integers(0, 2**31), st.booleans())
def test_curvature_of_single_tokens_is_the_second_derivative(problem, seed, general):
    made = oracle(problem, general=general)
    weights = np.random.default_rng(seed).normal(size=made.n_weights)
    diagonal = curvature(made, weights)
    for i in range(made.n_weights):
        up, down = weights.copy(), weights.copy()
        up[i] += 1e-4
        down[i] -= 1e-4
        slope = (gradient_of(made, up)[1][i] - gradient_of(made, down)[1][i]) / 2e-4
        np.testing.assert_allclose(diagonal[i], slope, rtol=1e-3, atol=1e-4)


@fewer(2)
@given(problems(FAST_FLAGS), st.integers(0, 2**31))
def test_curvature_is_the_same_on_both_paths(problem, seed):
    quick, careful = oracle(problem), oracle(problem, general=True)
    weights = np.random.default_rng(seed).normal(size=quick.n_weights)
    np.testing.assert_allclose(curvature(quick, weights), curvature(careful, weights), rtol=1e-3, atol=1e-4)


def test_curvature_of_a_transition_is_the_variance_of_its_probability():
    problem = random_problem(2, n_labels=2, n_sequences=1, combinations="all", min_count=100)
    problem.label, problem.pair, problem.allowed = [[[], [], []]], [[[], [], []]], [[{0}, {1}, {1}]]
    for general in (False, True):
        made = oracle(problem, general=general)
        assert made.n_weights == 4
        np.testing.assert_allclose(curvature(made, np.zeros(4)), np.full(4, 2 * 0.25 * 0.75), rtol=1e-6)
