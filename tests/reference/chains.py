"""The table of every labelling of a chain, and of a chain of higher order; forward and backward vectors from tables."""

import numpy as np

from .enumeration import Enumeration, every_labelling


def every_chain_labelling(unary, transitions, start=None, end=None):
    """Score all labellings of a chain: start, one unary score per position, one transition per edge, end."""
    unary, steps, start, end = as_arrays(unary, transitions, start, end)
    n_positions, n_labels = unary.shape
    y = every_labelling(n_positions, n_labels)
    scores = np.zeros(len(y))
    for t in range(n_positions):
        scores = scores + unary[t, y[:, t]]
    for t in range(n_positions - 1):
        scores = scores + steps[t, y[:, t], y[:, t + 1]]
    if n_positions:
        scores = scores + start[y[:, 0]] + end[y[:, -1]]
    return Enumeration(y, scores, n_labels)


def every_ngram_labelling(unary, ngram):
    """Score all labellings of a chain of order M: one unary score per position, one n-gram score from position M on."""
    unary, ngram = np.asarray(unary, dtype=float), np.asarray(ngram, dtype=float)
    n_positions, n_labels = unary.shape
    order = ngram.ndim - 1
    y = every_labelling(n_positions, n_labels)
    scores = np.zeros(len(y))
    for t in range(n_positions):
        scores = scores + unary[t, y[:, t]]
    for t in range(order, n_positions):
        scores = scores + ngram[tuple(y[:, t - order : t + 1].T)]
    return Enumeration(y, scores, n_labels)


def forward(unary, transitions, start=None):
    """log alpha (T, K): the sum over all beginnings up to t that end in the label, unary[t] included (eq. 2.31)."""
    unary, steps, start, _ = as_arrays(unary, transitions, start, None)
    n_positions, n_labels = unary.shape
    alpha = np.full((n_positions, n_labels), -np.inf)
    for t in range(n_positions):
        beginnings = every_chain_labelling(unary[: t + 1], steps[:t], start)
        for label in range(n_labels):
            alpha[t, label] = np.logaddexp.reduce(beginnings.scores[beginnings.labellings[:, t] == label])
    return alpha


def backward(unary, transitions, end=None):
    """log beta (T, K): the sum over all endings that follow the label at t, unary[t] left out (eq. 2.33)."""
    unary, steps, _, end = as_arrays(unary, transitions, None, end)
    n_positions, n_labels = unary.shape
    beta = np.full((n_positions, n_labels), -np.inf)
    for t in range(n_positions):
        without_own_score = np.vstack([np.zeros((1, n_labels)), unary[t + 1 :]])
        endings = every_chain_labelling(without_own_score, steps[t:], None, end)
        for label in range(n_labels):
            beta[t, label] = np.logaddexp.reduce(endings.scores[endings.labellings[:, 0] == label])
    return beta


def first_unreachable(unary, transitions, start=None, end=None):
    """The first position that no allowed beginning reaches; T if that is the end; None when all is well."""
    unary, steps, start, end = as_arrays(unary, transitions, start, end)
    n_positions = len(unary)
    for t in range(n_positions):
        if not every_chain_labelling(unary[: t + 1], steps[:t], start).satisfiable:
            return t
    return None if every_chain_labelling(unary, steps, start, end).satisfiable else n_positions


def as_arrays(unary, transitions, start, end):
    """Float arrays, one transition matrix per edge (T - 1, K, K), zeros for an absent start or end."""
    unary, transitions = np.asarray(unary, dtype=float), np.asarray(transitions, dtype=float)
    n_positions, n_labels = unary.shape
    n_edges = max(n_positions - 1, 0)
    steps = transitions if transitions.ndim == 3 else np.broadcast_to(transitions, (n_edges, n_labels, n_labels))
    start = np.zeros(n_labels) if start is None else np.asarray(start, dtype=float)
    end = np.zeros(n_labels) if end is None else np.asarray(end, dtype=float)
    return unary, steps, start, end
