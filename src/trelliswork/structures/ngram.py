"""Chains of higher order: scores of label n-grams, with the questions of `Chain` (Carreras, "Beyond Bigrams")."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.labellings import LabellingScores, all_ngrams, allowed_ngrams, as_unary

__all__ = ["NGramChain"]


class NGramChain(LabellingScores):
    """A chain of order M: the score of a label may depend on the M labels before it.

    The score of ``y`` is the sum of ``unary[t, y[t]]`` and, from position M on, of ``ngram[y[t - M], ..., y[t]]``.
    Every answer costs O(T) times the number of n-grams that are not forbidden, at most K^(M + 1). Add scores of the
    first labels to ``unary``.

    Parameters
    ----------
    unary : (T, K) array-like
        Score of each label at each position; ``-inf`` forbids.
    ngram : (K, ..., K) array-like
        Scores of label n-grams; its number of dimensions is M + 1, so a (K, K) array makes a first-order chain.

    Examples
    --------
    >>> ngram = np.zeros((2, 2, 2))
    >>> ngram[0, 1, 0] = 5.0  # the trigram 0 1 0
    >>> NGramChain(np.zeros((4, 2)), ngram).argmax().labels.tolist()
    [0, 1, 0, 0]
    """

    _where_to_look = "n-grams that end there"

    def __init__(self, unary: npt.ArrayLike, ngram: npt.ArrayLike) -> None:
        self.ngram = checks.as_scores("ngram", ngram)
        if self.ngram.ndim < 2 or len(set(self.ngram.shape)) != 1 or self.ngram.shape[0] == 0:
            raise InvalidInput(f"ngram must have shape (K, K), (K, K, K), ...; found {self.ngram.shape}.")
        rows = as_unary(unary, self.ngram.shape[0], " for this ngram")
        possible = self.ngram > -np.inf
        self._ngrams, structure, self._flat = (
            all_ngrams(self.ngram.shape[0], self.order) if possible.all() else allowed_ngrams(possible)
        )
        super().__init__(structure, rows, self._arcs)

    def __repr__(self) -> str:
        return f"NGramChain({self.n_positions} positions, {self.n_labels} labels, order {self.order})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.unary, self.ngram)

    @property
    def order(self) -> int:
        """Number of previous labels on which a score depends, M."""
        return self.ngram.ndim - 1

    @property
    def _arcs(self) -> FloatArray:
        """The score of each arc: of its n-gram, or zero where the sequence is too short for one."""
        return np.where(self._flat < 0, 0.0, self.ngram.ravel()[self._flat])

    @cached_property
    def _steps(self) -> FloatArray:
        return self._arc_marginals(self._ngrams.structure(False), self._arcs)

    def edge_marginals(self) -> FloatArray:
        """Return the probability of every pair of neighbouring labels, (T - 1, K, K)."""
        pairs = self._ngrams.labels[:, -2:]
        out = np.zeros((max(self.n_positions - 1, 0), self.n_labels**2))
        used = pairs[:, 0] >= 0
        np.add.at(out.T, pairs[used, 0] * self.n_labels + pairs[used, 1], self._steps[1:, used].T)
        return out.reshape(-1, self.n_labels, self.n_labels)

    def ngram_marginals(self) -> FloatArray:
        """Return the probability of every n-gram of M + 1 labels, (T - M, K, ..., K)."""
        out = np.zeros((max(self.n_positions - self.order, 0), self.ngram.size))
        used = self._flat >= 0
        out[:, self._flat[used]] = self._steps[self.order :, used]
        return out.reshape(-1, *self.ngram.shape)

    def constrained(self, allowed: Any = None, ngram: npt.ArrayLike | None = None, fixed: Any = None) -> Self:
        """Return the chain with some labels and n-grams forbidden.

        Parameters
        ----------
        allowed, fixed
            As for `Chain.constrained`.
        ngram : (K, ..., K) array of bool, optional
            Which n-grams may occur.
        """
        scores = self.ngram
        if ngram is not None:
            scores = np.where(checks.as_mask("ngram", ngram, self.ngram.shape), scores, -np.inf)
        limited = type(self)(self._limited(allowed, fixed), scores)
        limited._possible_log_partition()
        return limited

    def _with_unary(self, unary: FloatArray) -> Self:
        return type(self)(unary, self.ngram)

    def _scores_of_parts(self, of: Self) -> FloatArray | None:
        if self.unary.shape != of.unary.shape or self.ngram.shape != of.ngram.shape:
            return None
        arcs = np.where(of._flat < 0, 0.0, self.ngram.ravel()[of._flat])  # what one forbids has no arc there
        return np.concatenate([self.unary.ravel(), arcs])
