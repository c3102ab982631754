"""One label of K for each row: loss, gradient and minimum, written out row by row; scipy is the judge of minima."""

import math

import numpy as np
from scipy.optimize import minimize


def log_loss(weights, x, gold, n_labels, *, sample_weight=None, cost=None, nu=0.0):
    """Sum over rows of ``log sum_k exp(w_k . x + nu cost(gold, k)) - w_gold . x``; weights are [column][label]."""
    total = 0.0
    for i, row in enumerate(x):
        scores = [sum(row[j] * weights[j * n_labels + k] for j in range(len(row))) for k in range(n_labels)]
        charged = [scores[k] + nu * charge(cost, gold[i], k) for k in range(n_labels)]
        top = max(charged)
        log_sum = top + math.log(sum(math.exp(score - top) for score in charged))
        total += (1.0 if sample_weight is None else sample_weight[i]) * (log_sum - scores[gold[i]])
    return total


def charge(cost, gold, label):
    return float(gold != label) if cost is None else cost[gold][label]


def probabilities(weights, x, gold, n_labels, *, cost=None, nu=0.0):
    scores = x @ weights.reshape(-1, n_labels)
    scores = scores + nu * np.array([[charge(cost, g, k) for k in range(n_labels)] for g in gold])
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def minimum(x, gold, n_labels, *, l2, l1=0.0, cost=None, nu=0.0):
    """The least objective, by scipy: ``w = u - v`` with ``u, v >= 0`` makes the L1 penalty smooth.

    At the minimum u or v is zero, so that ``|u|^2 + |v|^2`` there is ``|w|^2``.
    """
    n = x.shape[1] * n_labels
    observed = np.eye(n_labels)[gold]
    charges = nu * np.array([[charge(cost, g, k) for k in range(n_labels)] for g in gold])

    def objective(uv):
        w = uv[:n] - uv[n:]
        scores = x @ w.reshape(-1, n_labels)
        charged = scores + charges
        top = charged.max(axis=1)
        log_sum = top + np.log(np.exp(charged - top[:, None]).sum(axis=1))
        p = np.exp(charged - log_sum[:, None])
        gradient = (x.T @ (p - observed)).ravel()
        value = (log_sum - (scores * observed).sum(axis=1)).sum() + l2 / 2 * uv @ uv + l1 * uv.sum()
        return value, np.concatenate([gradient, -gradient]) + l1 + l2 * uv

    bounds = [(0.0, None)] * (2 * n)
    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    at = np.full(2 * n, 0.1)
    for _ in range(5):  # it forgets its past and looks again from where it ended
        found = minimize(objective, at, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
        at = found.x
    return found.fun, at[:n] - at[n:]
