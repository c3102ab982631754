"""Forward and backward by adding logarithms pair by pair: the slow recursion that never underflows.

The library runs its sums on rescaled probabilities; this is the recursion it must agree with on long chains.
"""

import numpy as np

from .chains import as_arrays


def forward(unary, transitions, start=None):
    """log alpha (T, K), unary[t] included (eq. 2.32 over the log semiring)."""
    unary, steps, start, _ = as_arrays(unary, transitions, start, None)
    alpha = np.array(unary)
    for t in range(len(unary)):
        alpha[t] += start if t == 0 else np.logaddexp.reduce(alpha[t - 1][:, None] + steps[t - 1], axis=0)
    return alpha


def backward(unary, transitions, end=None):
    """log beta (T, K), unary[t] left out (eq. 2.34 over the log semiring)."""
    unary, steps, _, end = as_arrays(unary, transitions, None, end)
    beta = np.zeros_like(unary)
    for t in reversed(range(len(unary))):
        last = t == len(unary) - 1
        beta[t] = end if last else np.logaddexp.reduce(steps[t] + unary[t + 1] + beta[t + 1], axis=1)
    return beta


def log_partition(unary, transitions, start=None, end=None):
    unary, _, _, end = as_arrays(unary, transitions, start, end)
    return np.logaddexp.reduce(forward(unary, transitions, start)[-1] + end) if len(unary) else 0.0


def marginals(unary, transitions, start=None, end=None):
    logs = forward(unary, transitions, start) + backward(unary, transitions, end)
    weights = np.exp(logs - np.max(logs, axis=1, keepdims=True))
    return weights / np.sum(weights, axis=1, keepdims=True)


def viterbi_score(unary, transitions, start=None, end=None):
    """The best score (eq. 2.39)."""
    unary, steps, start, end = as_arrays(unary, transitions, start, end)
    best = start + unary[0]
    for t in range(1, len(unary)):
        best = np.max(best[:, None] + steps[t - 1], axis=0) + unary[t]
    return np.max(best + end)


def edge_marginals(unary, transitions, start=None, end=None):
    unary, steps, start, end = as_arrays(unary, transitions, start, end)
    alpha, beta = forward(unary, steps, start), backward(unary, steps, end)
    logs = alpha[:-1, :, None] + steps + (unary + beta)[1:, None, :]
    weights = np.exp(logs - np.max(logs, axis=(1, 2), keepdims=True))
    return weights / np.sum(weights, axis=(1, 2), keepdims=True)


def max_marginals(unary, transitions, start=None, end=None):
    """The best score through each label: the best beginning plus the best ending (eq. 2.39, both ways)."""
    unary, steps, start, end = as_arrays(unary, transitions, start, end)
    before, after = np.array(unary), np.zeros_like(unary)
    before[0] += start
    after[-1] = end
    for t in range(1, len(unary)):
        before[t] += np.max(before[t - 1][:, None] + steps[t - 1], axis=0)
    for t in reversed(range(len(unary) - 1)):
        after[t] = np.max(steps[t] + unary[t + 1] + after[t + 1], axis=1)
    return before + after
