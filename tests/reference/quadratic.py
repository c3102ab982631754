"""Small quadratic programs by trying every set of bounds: slow, and too simple to be wrong."""

import itertools

import numpy as np


def value(K, b, at):
    return b @ at - 0.5 * at @ K @ at


def maximum(K, b, *, upper=np.inf, total=np.inf):
    """Return the largest ``b . x - 1/2 x K x`` over ``0 <= x <= upper``, ``sum x <= total``.

    Some maximum has linearly independent free variables, given which others sit on which bound; all such points are
    made, and the best feasible one is taken.
    """
    n, best = len(b), -np.inf
    states = (0, 1) if np.isinf(upper) else (0, 1, 2)  # at zero, free, at the upper bound
    for state in itertools.product(states, repeat=n):
        state = np.array(state)
        fixed, free = np.where(state == 2, upper if np.isfinite(upper) else 0.0, 0.0), np.flatnonzero(state == 1)
        for bound in (False, True) if np.isfinite(total) else (False,):
            at = _stationary(K, b, fixed, free, total if bound else None)
            if at is None or (at < -1e-9).any() or (at > upper + 1e-9).any() or at.sum() > total + 1e-9:
                continue
            best = max(best, value(K, b, at))
    return best


def _stationary(K, b, fixed, free, total):
    """The point where the gradient of the free variables is zero (or all alike, when the sum is given)."""
    m = len(free)
    if total is not None and m == 0:
        return None
    matrix, right = K[np.ix_(free, free)], (b - K @ fixed)[free]
    if total is not None:
        matrix = np.block([[matrix, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
        right = np.append(right, total - fixed.sum())
    if m and np.linalg.matrix_rank(matrix, tol=1e-9) < len(matrix):
        return None
    at = fixed.copy()
    if m:
        at[free] = np.linalg.solve(matrix, right)[:m]
    return at


def least_norm(A, b):
    """Return the least ``1/2 |v|^2`` with ``A v >= b``, or None when no v meets all of it."""
    best = None
    for size in range(len(b) + 1):
        for chosen in itertools.combinations(range(len(b)), size):
            rows = A[list(chosen)]
            if size and np.linalg.matrix_rank(rows, tol=1e-9) < size:
                continue
            v = np.linalg.lstsq(rows, b[list(chosen)], rcond=None)[0] if size else np.zeros(A.shape[1])
            if (A @ v >= b - 1e-9).all() and (best is None or v @ v < 2 * best):
                best = 0.5 * v @ v
    return best
