"""Max-margin with every structure written out: the quadratic program as it stands, given to scipy."""

import numpy as np
from scipy.optimize import minimize

EVERY = 100_000  # more structures than any example here has
STUCK = 8  # what SLSQP says when rounding leaves its line search no way down; it is then within 1e-7 of the minimum


def structures(oracle, sample_weight=None, rescaling="margin"):
    """For each example its weight, the costs (m,) of all structures and their differences to gold (m, n_weights).

    With rescaled slack the loss, cost * (1 - w . difference), is the hinge with cost * difference.
    """
    zeros = np.zeros(oracle.n_weights)
    factors = np.ones(oracle.n_examples) if sample_weight is None else sample_weight
    for i in range(oracle.n_examples):
        found = oracle.kbest(zeros, i, EVERY)
        differences = np.zeros((len(found), oracle.n_weights))
        for row, (_, _, _, indices, values) in zip(differences, found, strict=True):
            row[indices] = values
        costs = np.array([cost for _, _, cost, _, _ in found])
        yield factors[i], costs, differences * costs[:, None] if rescaling == "slack" else differences


def objective(oracle, weights, C, sample_weight=None, rescaling="margin"):
    """``|w|^2 / 2 + C * sum of hinge losses``, every structure looked at."""
    every = structures(oracle, sample_weight, rescaling)
    losses = [factor * (costs - differences @ weights).max() for factor, costs, differences in every]
    return weights @ weights / 2 + C * sum(losses)


def minimum(oracle, C, sample_weight=None, rescaling="margin"):
    """The least objective: variables are the weights and a slack for each example, one constraint each structure."""
    rows = [row for row in structures(oracle, sample_weight, rescaling) if row[0] > 0]
    if not rows:
        return 0.0
    n, d = len(rows), oracle.n_weights
    factors = np.array([factor for factor, _, _ in rows])
    slack = np.repeat(np.eye(n), [len(costs) for _, costs, _ in rows], axis=0)
    matrix = np.hstack([np.vstack([differences for _, _, differences in rows]), slack])
    bounds = np.concatenate([costs for _, costs, _ in rows])

    def value(at):
        gradient = np.concatenate([at[:d], C * factors])
        return at[:d] @ at[:d] / 2 + C * factors @ at[d:], gradient

    found = minimize(
        value,
        np.concatenate([np.zeros(d), [costs.max() for _, costs, _ in rows]]),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda at: matrix @ at - bounds, "jac": lambda at: matrix},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success or found.status == STUCK, found.message
    assert (matrix @ found.x - bounds).min() > -1e-7
    return found.fun
