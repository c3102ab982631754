"""The two problems of a semiring on a chain, by their definitions: a product for each labelling, then their sum."""

import functools

import numpy as np

from .chains import as_arrays
from .enumeration import every_labelling


def kernels(labels, unary, transitions, start, end, lift, first=0, last=None):
    """u_first .. u_last of eq. 2.28 for one labelling; kernel T lifts the end score."""
    unary, steps, start, end = as_arrays(unary, transitions, start, end)
    n_positions = len(unary)
    last = n_positions if last is None else last
    for t in range(first, last + 1):
        if t == 0:
            yield lift(start[labels[0]] + unary[0, labels[0]], 0, -1, labels[0])
        elif t < n_positions:
            a, b = labels[t - 1], labels[t]
            yield lift(steps[t - 1, a, b] + unary[t, b], t, a, b)
        else:
            yield lift(end[labels[-1]], n_positions, labels[-1], -1)


def product(elements, semiring):
    return functools.reduce(semiring.times, elements, semiring.one)


def total(scores, semiring, keep=lambda labels: True, first=0, last=None):
    """The sum over every labelling that ``keep`` accepts of the product of its kernels (eq. 2.30)."""
    n_positions, n_labels = np.shape(scores[0])
    result = semiring.zero
    for labels in every_labelling(n_positions, n_labels).tolist():
        if keep(labels):
            element = (
                product(kernels(labels, *scores, semiring.lift, first, last), semiring) if labels else semiring.one
            )
            result = semiring.plus(result, element)
    return result


def edge(scores, semiring, t, a, b):
    """The marginalisation problem (eq. 2.29): the sum over the labellings with a at t and b at t + 1."""
    return total(scores, semiring, keep=lambda labels: labels[t] == a and labels[t + 1] == b)


def alpha(scores, semiring, t, label):
    """The forward vector (eq. 2.31): beginnings only, the end score left out."""
    unary, steps, start, _ = as_arrays(*scores)
    beginning = (unary[: t + 1], steps[:t], start, None)
    return total(beginning, semiring, keep=lambda labels: labels[t] == label, last=t)


def beta(scores, semiring, t, label):
    """The backward vector (eq. 2.33): the kernels after t only, the end score included."""
    return total(scores, semiring, keep=lambda labels: set(labels[:t]) <= {0} and labels[t] == label, first=t + 1)
