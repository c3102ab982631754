"""The loss is what enumeration says, for every combination of losses, labels, weights, attributes and constraints."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reference.strategies import fewer
from training.problems import FAST_FLAGS, as_tensors, expected_loss, features, oracle, problems, random_weights

PRECISE = dict(rtol=1e-11, atol=1e-11)


def loss(made, weights, precise=True, n_jobs=1):
    gradient = np.full(made.n_weights, np.nan)
    return made.loss(weights, gradient, n_jobs, precise), gradient


@given(problems(), st.integers(0, 2**31), st.booleans())
def test_loss_is_what_enumeration_says(problem, seed, general):
    weights = random_weights(problem, seed)
    made = oracle(problem, general=general)
    value, _ = loss(made, made.weights_from(as_tensors(problem, weights)))
    np.testing.assert_allclose(value, expected_loss(problem, weights), **PRECISE)


@given(problems(), st.integers(0, 2**31))
def test_every_feature_has_its_parameter(problem, seed):
    made = oracle(problem)
    assert made.n_parameters == len(features(problem))


@fewer(2)
@given(problems(), st.integers(0, 2**31), st.booleans())
def test_gradient_is_the_difference_of_losses(problem, seed, general):
    made = oracle(problem, general=general)
    weights = np.random.default_rng(seed).normal(size=made.n_weights)
    _, gradient = loss(made, weights)
    step = 1e-4
    for i in range(made.n_weights):
        up, down = weights.copy(), weights.copy()
        up[i] += step
        down[i] -= step
        slope = (loss(made, up)[0] - loss(made, down)[0]) / (2 * step)
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-5, atol=1e-6)


@given(problems(FAST_FLAGS), st.integers(0, 2**31))
def test_single_precision_is_close(problem, seed):
    made = oracle(problem)
    weights = np.random.default_rng(seed).normal(size=made.n_weights)
    value, gradient = loss(made, weights, precise=True)
    quick, quick_gradient = loss(made, weights, precise=False)
    np.testing.assert_allclose(quick, value, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(quick_gradient, gradient, rtol=1e-4, atol=1e-4)
