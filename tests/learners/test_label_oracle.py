"""The oracle of single labels: every sum written out, differences of the value, and what may not be handed over."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from reference import multiclass
from trelliswork import _core

NOTHING, NO_COST = np.zeros(0), np.zeros((0, 0))


@st.composite
def problems(draw):
    n, d, k = draw(st.integers(1, 7)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    gold = rng.integers(0, k, n).astype(np.int32)
    sample_weight = rng.exponential(size=n) if draw(st.booleans()) else None
    cost = rng.exponential(size=(k, k)) * (1 - np.eye(k)) if draw(st.booleans()) else None
    nu = draw(st.sampled_from([0.0, 1.0, -0.5, 3.0]))
    return x, gold, k, sample_weight, cost, nu, rng.normal(size=d * k)


def oracle_of(x, gold, k, sample_weight=None, cost=None):
    oracle = _core.LabelOracle.dense(
        np.ascontiguousarray(x),
        np.asarray(gold, dtype=np.int32),
        k,
        NOTHING if sample_weight is None else sample_weight,
        NO_COST if cost is None else cost,
    )
    return oracle


def sparse_oracle_of(x, gold, k, sample_weight=None, cost=None):
    rows = sparse.csr_array(x)
    oracle = _core.LabelOracle.sparse(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int64),
        rows.data,
        x.shape[1],
        np.asarray(gold, dtype=np.int32),
        k,
        NOTHING if sample_weight is None else sample_weight,
        NO_COST if cost is None else cost,
    )
    return oracle


def loss_and_gradient(oracle, weights, n_jobs=1, nu=0.0):
    gradient = np.empty(oracle.n_weights)
    return oracle.loss(weights, gradient, n_jobs, nu=nu), gradient


@given(problems())
def test_loss_is_the_sum_written_out(problem):
    x, gold, k, sample_weight, cost, nu, weights = problem
    expected = multiclass.log_loss(weights, x, gold, k, sample_weight=sample_weight, cost=cost, nu=nu)
    loss, _ = loss_and_gradient(oracle_of(*problem[:-2]), weights, nu=nu)
    np.testing.assert_allclose(loss, expected, rtol=1e-12, atol=1e-12)


@given(problems())
def test_gradient_is_the_difference_of_the_loss(problem):
    *parts, nu, weights = problem
    oracle = oracle_of(*parts)
    _, gradient = loss_and_gradient(oracle, weights, nu=nu)
    for j in range(len(weights)):
        step = np.eye(len(weights))[j] * 1e-5
        higher, lower = (loss_and_gradient(oracle, weights + sign * step, nu=nu)[0] for sign in (1, -1))
        difference = higher - lower
        np.testing.assert_allclose(gradient[j], difference / 2e-5, rtol=1e-6, atol=1e-6)


@given(problems())
def test_curvature_is_the_difference_of_the_gradient(problem):
    *parts, nu, weights = problem
    oracle = oracle_of(*parts)
    diagonal = np.empty(len(weights))
    oracle.curvature(weights, diagonal, nu=nu)
    for j in range(len(weights)):
        step = np.eye(len(weights))[j] * 1e-5
        higher, lower = (loss_and_gradient(oracle, weights + sign * step, nu=nu)[1] for sign in (1, -1))
        difference = higher - lower
        np.testing.assert_allclose(diagonal[j], difference[j] / 2e-5, rtol=1e-5, atol=1e-6)


@given(problems())
def test_sparse_rows_say_the_same_as_dense_ones(problem):
    *parts, nu, weights = problem
    dense, thin = oracle_of(*parts), sparse_oracle_of(*parts)
    for a, b in zip(loss_and_gradient(dense, weights, nu=nu), loss_and_gradient(thin, weights, nu=nu), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_the_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(1)
    oracle = oracle_of(rng.normal(size=(1000, 5)), rng.integers(0, 3, 1000), 3)
    weights = rng.normal(size=oracle.n_weights)
    loss, gradient = loss_and_gradient(oracle, weights)
    for n_jobs in (2, 3, 8):
        again, other = loss_and_gradient(oracle, weights, n_jobs)
        assert again == loss
        assert other.tobytes() == gradient.tobytes()


def test_a_stochastic_step_moves_against_the_gradient():
    rng = np.random.default_rng(2)
    for make in (oracle_of, sparse_oracle_of):
        oracle = make(rng.normal(size=(9, 3)), rng.integers(0, 3, 9), 3, rng.exponential(size=9))
        start = rng.normal(size=oracle.n_weights)
        sgd = _core.Sgd(oracle, start, l2=0.0, l1=0.0, nu=1.0, batch=9, shards=1, decay=1.0, step=0.01, tol=0.0, seed=0)
        sgd.step()
        loss, gradient = loss_and_gradient(oracle, start, nu=1.0)
        np.testing.assert_allclose(sgd.weights(), start - 0.01 * gradient, rtol=1e-12)
        np.testing.assert_allclose(sgd.objective, loss, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.full((2, 1), np.nan)}, "finite"),
        ({"gold": [0, 2]}, "not below n_labels"),
        ({"gold": [0, -1]}, "below 0"),
        ({"gold": [0]}, "one label per row"),
        ({"k": 0}, "at least one label"),
        ({"sample_weight": np.array([1.0])}, "one number per row"),
        ({"sample_weight": np.array([1.0, -1.0])}, ">= 0"),
        ({"cost": np.zeros((3, 3))}, "one row and one column per label"),
        ({"cost": np.full((2, 2), np.inf)}, "finite"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    good = {"x": np.ones((2, 1)), "gold": [0, 1], "k": 2}
    with pytest.raises(ValueError, match=message):
        oracle_of(**(good | change))


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 2, 1], [0, 0], "never fall"),
        ([1, 2], [0, 0], "begin with 0"),
        ([0, 1], [0, 0], "end with"),
        ([0, 2], [0, 5], "outside X"),
        ([0, 2], [0, -1], "outside X"),
        ([], [0, 0], "not be empty"),
    ],
)
def test_broken_sparse_rows_are_refused(indptr, indices, message):
    with pytest.raises(ValueError, match=message):
        _core.LabelOracle.sparse(
            np.array(indptr, dtype=np.int64),
            np.array(indices),
            np.ones(2),
            2,
            np.zeros(1, np.int32),
            1,
            NOTHING,
            NO_COST,
        )
