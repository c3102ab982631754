"""Chains of higher order: scores of label n-grams, with the same questions (003, "Beyond Bigrams")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray, LabelArray
from trelliswork.structures.lattice import LatticeStructure
from trelliswork.structures.results import Expectations, Labeling

__all__ = ["NGramChain"]


class NGramChain(LatticeStructure[Labeling]):
    """A chain of order M: the score of a label may depend on the M labels before it.

    The score of ``y`` is the sum of ``unary[t, y[t]]`` and, from position M on, of ``ngram[y[t - M], ..., y[t]]``.
    Every answer costs O(T K^(M + 1)). Scores of the first labels go into ``unary``.

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

    _path_name = "labelling"
    _where_to_look = "n-grams that end there"

    def __init__(self, unary: npt.ArrayLike, ngram: npt.ArrayLike) -> None:
        self.ngram = checks.as_scores("ngram", ngram)
        if self.ngram.ndim < 2 or len(set(self.ngram.shape)) != 1 or self.ngram.shape[0] == 0:
            raise InvalidInput(f"ngram must have shape (K, K), (K, K, K), ...; found {self.ngram.shape}.")
        n_labels = self.ngram.shape[0]
        rows = checks.as_numbers("unary", unary)
        self.unary = checks.as_scores(
            "unary",
            rows.reshape(0, n_labels) if rows.shape == (0,) else rows,
            (None, n_labels),
            " for this ngram",
        )
        self._core = _core.NGramChain(self.unary, self.ngram) if len(self.unary) else None

    def __repr__(self) -> str:
        return f"NGramChain({self.n_positions} positions, {self.n_labels} labels, order {self.order})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.unary, self.ngram)

    @property
    def n_positions(self) -> int:
        """Number of positions, T."""
        return len(self.unary)

    @property
    def order(self) -> int:
        """How many labels back a score may look, M."""
        return self.ngram.ndim - 1

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return int(self.ngram.shape[0])

    def ngram_marginals(self) -> FloatArray:
        """Return the probability of every n-gram of M + 1 labels, (T - M, K, ..., K)."""
        return self._marginals()[2]

    def expected_counts(self, attributes: npt.ArrayLike | None = None) -> Expectations:
        """Return the log partition and expected counts, from the marginals; see `Chain.expected_counts`."""
        values = np.empty((self.n_positions, 0)) if attributes is None else checks.as_numbers("attributes", attributes)
        if values.ndim != 2 or len(values) != self.n_positions:
            raise InvalidInput(f"attributes must have shape ({self.n_positions}, F), found {values.shape}.")
        unary, edges, _ = self._marginals()
        return Expectations(self.log_partition(), unary.sum(axis=0), edges.sum(axis=0), values.T @ unary)

    def sample(self, n: int = 1, random_state: Any = None) -> LabelArray:
        """Draw ``n`` labellings from the distribution, an (n, T) array; see `Chain.sample`."""
        drawn = self._draw(n, random_state, numbers_each=self.n_positions)
        return np.array(drawn, dtype=np.int32).reshape(len(drawn), self.n_positions)

    def score(self, labels: npt.ArrayLike) -> float:
        """Return the score of a labelling, -inf if it is forbidden."""
        y = checks.as_labels("labels", labels, self.n_positions, self.n_labels)
        total = self.unary[np.arange(len(y)), y].sum()
        windows = [y[i : len(y) - self.order + i] for i in range(self.order + 1)]
        return float(total + (self.ngram[tuple(windows)].sum() if len(y) > self.order else 0.0))

    def span_probability(self, start: int, labels: Sequence[Any]) -> float:
        """Return the probability that positions from ``start`` on carry ``labels``; see `Chain.span_probability`."""
        begin = checks.as_count("start", start, least=0)
        labels = checks.as_span(labels)
        if begin + len(labels) > self.n_positions:
            raise InvalidInput(
                f"the span of {len(labels)} labels at {begin} runs past the last of {self.n_positions} positions."
            )
        self._require_possible()
        allowed = [None] * begin + [
            checks.label_set(f"labels[{i}]", item, self.n_labels) for i, item in enumerate(labels)
        ]
        mask = checks.as_allowed("labels", allowed + [None] * (self.n_positions - len(allowed)), *self.unary.shape)
        inside = type(self)(np.where(mask, self.unary, -np.inf), self.ngram)
        return float(np.exp(min(inside.log_partition() - self.log_partition(), 0.0)))

    def augmented(self, gold: npt.ArrayLike, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the chain with ``scale`` times the cost against ``gold`` added; see `Chain.augmented`."""
        charged = checks.as_cost(cost, self.n_labels)
        y = checks.as_labels("gold", gold, self.n_positions, self.n_labels)
        return type(self)(self.unary + checks.as_scale(scale) * charged[y], self.ngram)

    def constrained(self, allowed: Any = None, ngram: npt.ArrayLike | None = None, fixed: Any = None) -> Self:
        """Return the chain with some labels and n-grams forbidden.

        Parameters
        ----------
        allowed, fixed
            As for `Chain.constrained`.
        ngram : (K, ..., K) array of bool, optional
            Which n-grams may occur.
        """
        unary, scores = self.unary, self.ngram
        if allowed is not None:
            unary = np.where(checks.as_allowed("allowed", allowed, *self.unary.shape), unary, -np.inf)
        if fixed is not None:
            unary = np.where(checks.as_fixed("fixed", fixed, *self.unary.shape), unary, -np.inf)
        if ngram is not None:
            scores = np.where(checks.as_mask("ngram", ngram, self.ngram.shape), scores, -np.inf)
        limited = type(self)(unary, scores)
        limited._require_possible()
        return limited

    def _answer(self, path: LabelArray, score: float) -> Labeling:
        return Labeling(path, score)

    def _part_marginals_shape(self) -> tuple[int, ...]:
        return max(self.n_positions - self.order, 0), *self.ngram.shape
