"""The counts of a hidden Markov model: a corpus as numbers, its counts, and the estimates from them.

The estimates are relative counts (Stratos 2018; "Structured Prediction", eq. 77.4), where STOP is one of the successors
of a label. With pseudo-counts, they are the most probable parameters under a Dirichlet prior.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "UNLABELLED",
    "Corpus",
    "Counts",
    "LogParameters",
    "PseudoCounts",
    "blocks",
    "hard_counts",
    "log_of",
    "split",
]

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

UNLABELLED = -1
_BLOCK = 1 << 22  # scores in memory at once: a corpus of any length is asked about in pieces


class Corpus(NamedTuple):
    """All sequences one after the other, in numbers: sequence i is ``offsets[i]:offsets[i + 1]``, none is empty."""

    tokens: Ints  # (N,), each below n_tokens
    labels: Ints  # (N,), each below n_labels, or UNLABELLED
    offsets: Ints  # (B + 1,)
    n_tokens: int
    n_labels: int

    def blocks(self) -> Iterator[Corpus]:
        """Cut the corpus into pieces of bounded size."""
        for block in blocks(np.diff(self.offsets), self.n_labels):
            offsets = self.offsets[block.start : block.stop + 1]
            here = slice(offsets[0], offsets[-1])
            yield self._replace(tokens=self.tokens[here], labels=self.labels[here], offsets=offsets - offsets[0])


class Counts(NamedTuple):
    """How often each label begins, is followed by each label, ends, and emits each token; whole or expected."""

    start: Array  # (K,)
    transitions: Array  # (K, K)
    stop: Array  # (K,)
    emissions: Array  # (V, K)

    def log_parameters(self, use_stop: bool) -> LogParameters:
        """Return the relative counts; a row without counts is uniform."""
        rows = np.column_stack([self.transitions, self.stop]) if use_stop else self.transitions
        log_rows = _log_normalised(rows, axis=1)
        return LogParameters(
            start=_log_normalised(self.start, axis=0),
            transitions=np.ascontiguousarray(log_rows[:, : len(self.start)]),
            stop=log_rows[:, -1].copy() if use_stop else None,
            emissions=_log_normalised(self.emissions, axis=0),
        )


class LogParameters(NamedTuple):
    """The logarithms of the probabilities of a hidden Markov model."""

    start: Array  # (K,)
    transitions: Array  # (K, K)
    stop: Array | None  # (K,)
    emissions: Array  # (V, K): a token's scores lie side by side


class PseudoCounts(NamedTuple):
    """What is added to every count."""

    transition: float
    emission: float

    def added_to(self, counts: Counts) -> Counts:
        """Return the counts with the pseudo-counts in them."""
        start, transitions, stop, emissions = counts
        extra = self.transition
        return Counts(start + extra, transitions + extra, stop + extra, emissions + self.emission)

    def log_prior(self, parameters: LogParameters) -> float:
        """Return the log of the Dirichlet prior that the pseudo-counts stand for, up to a constant."""
        start, transitions, stop, emissions = parameters
        steps = [start, transitions] if stop is None else [start, transitions, stop]
        return _weighted_sum(self.transition, steps) + _weighted_sum(self.emission, [emissions])


def hard_counts(corpus: Corpus) -> Counts:
    """Count what the known labels show; a pair counts where both are known.

    Examples
    --------
    >>> corpus = Corpus(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([0, 2, 3]), n_tokens=2, n_labels=2)
    >>> hard_counts(corpus).transitions.tolist(), hard_counts(corpus).stop.tolist()
    ([[0.0, 0.0], [1.0, 0.0]], [1.0, 1.0])
    """
    tokens, labels, offsets, V, K = corpus
    ends = offsets[1:] - 1
    begins_pair = labels != UNLABELLED
    begins_pair[ends] = False  # a pair may begin anywhere but at the end of a sequence
    pairs = np.flatnonzero(begins_pair[:-1] & (labels[1:] != UNLABELLED))
    known = labels != UNLABELLED
    return Counts(
        start=_tally(labels[offsets[:-1]], K),
        transitions=_tally(labels[pairs] * K + labels[pairs + 1], K * K).reshape(K, K),
        stop=_tally(labels[ends], K),
        emissions=_tally(tokens[known] * K + labels[known], V * K).reshape(V, K),
    )


def blocks(lengths: npt.NDArray[Any], n_labels: int) -> Iterator[slice]:
    """Cut sequences of these lengths into runs of a bounded number of scores, one sequence at least.

    Examples
    --------
    >>> list(blocks(np.array([3_000_000, 2_000_000, 1]), 1))
    [slice(0, 1, None), slice(1, 3, None)]
    """
    first, size = 0, 0
    for i, length in enumerate(lengths):
        if size and size + length * n_labels > _BLOCK:
            yield slice(first, i)
            first, size = i, 0
        size += length * n_labels
    if first < len(lengths):
        yield slice(first, len(lengths))


def split(rows: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return the rows of each sequence."""
    return [rows[begin:end] for begin, end in itertools.pairwise(offsets)]


def log_of(probabilities: Array) -> Array:
    """Return the logarithm, -inf for zero."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def _log_normalised(weights: Array, axis: int) -> Array:
    """Return log(weights / their sum along the axis); uniform, as with any pseudo-count, where the sum is zero."""
    totals = weights.sum(axis=axis, keepdims=True)
    weights = np.where(totals > 0, weights, 1.0)
    log_totals: Array = np.log(np.where(totals > 0, totals, weights.shape[axis]))
    return log_of(weights) - log_totals


def _weighted_sum(weight: float, arrays: list[Array]) -> float:
    return weight * sum(float(array.sum()) for array in arrays) if weight else 0.0  # 0 times -inf is 0 here


def _tally(numbers: Ints, n: int) -> Array:
    counts: Array = np.bincount(numbers[numbers != UNLABELLED], minlength=n).astype(np.float64)
    return counts
