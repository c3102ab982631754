"""Exact arithmetic, for scores whose sums doubles cannot hold apart.

A double is a fraction, so the score of a labelling is one too, without rounding. Exponentials and logarithms are taken
in fifty digits by mpmath, whose exponents have no limit: exp(-1e300) is a number like any other.
"""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np

from .chains import as_arrays
from .enumeration import every_labelling

DIGITS = 50


def exact_scores(unary, transitions, start=None, end=None):
    """Every allowed labelling with its score as a fraction, in the order of the tie rule."""
    unary, steps, start, end = as_arrays(unary, transitions, start, end)
    scores = {}
    for labels in every_labelling(*unary.shape).tolist():
        terms = [unary[t, y] for t, y in enumerate(labels)]
        terms += [steps[t, a, b] for t, (a, b) in enumerate(itertools.pairwise(labels))]
        terms += [start[labels[0]], end[labels[-1]]]
        if min(terms) > -math.inf:
            scores[tuple(labels)] = sum(map(Fraction, terms))
    return scores


def log_partition(*scores):
    """The best score and the logarithm of the sum relative to it: ``best + log(1 + ...)``, as a float."""
    exact = exact_scores(*scores)
    best = max(exact.values())
    with mpmath.workdps(DIGITS):
        rest = mpmath.log(mpmath.fsum(_exp(score - best) for score in exact.values()))
        return float(best + Fraction(str(rest)))


def marginals(*scores):
    exact = exact_scores(*scores)
    best = max(exact.values())
    sums = np.zeros(np.shape(scores[0]))
    with mpmath.workdps(DIGITS):
        weights = {labels: _exp(score - best) for labels, score in exact.items()}
        norm = mpmath.fsum(weights.values())
        for t, label in np.ndindex(sums.shape):
            sums[t, label] = float(mpmath.fsum(w for labels, w in weights.items() if labels[t] == label) / norm)
    return sums


def entropy(*scores):
    exact = exact_scores(*scores)
    best = max(exact.values())
    with mpmath.workdps(DIGITS):
        weights = [_exp(score - best) for score in exact.values()]
        norm = mpmath.fsum(weights)
        return float(-mpmath.fsum(w / norm * mpmath.log(w / norm) for w in weights))


def long_marginals(unary, transitions, start=None, end=None):
    """Marginals (T, K) and log partition by the plain sum of products in fifty digits: no logarithms, no rescaling."""
    unary, steps, start, end = as_arrays(unary, transitions, start, end)
    n_positions, n_labels = unary.shape
    with mpmath.workdps(DIGITS):
        exp = np.frompyfunc(lambda x: mpmath.exp(mpmath.mpf(float(x))), 1, 1)
        alpha, beta = [exp(start) * exp(unary[0])], [exp(end)]
        for t in range(1, n_positions):
            alpha.append((alpha[-1] @ exp(steps[t - 1])) * exp(unary[t]))
        for t in reversed(range(n_positions - 1)):
            beta.append(exp(steps[t]) @ (exp(unary[t + 1]) * beta[-1]))
        beta.reverse()
        norm = np.sum(alpha[-1] * beta[-1])
        rows = [[float(p / norm) for p in a * b] for a, b in zip(alpha, beta, strict=True)]
        return np.array(rows).reshape(n_positions, n_labels), float(mpmath.log(norm))


def _exp(x):
    return mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)
