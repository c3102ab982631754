"""Scores of the parts of many label sequences, asked as a batch of first-order chains is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import Unsatisfiable
from trelliswork.structures.results import Labeling

__all__ = ["PartBatch"]

FloatArray = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class PartBatch:
    """Label sequences of any structure whose first block has a part for each token and label.

    It answers what `ChainBatch` answers, for estimators that do not know which of the two they hold.

    Parameters
    ----------
    structure : PartStructure
    lengths : (B,) int array
    scores : list of arrays
        Of all parts of each sequence; those of labels come first.
    n_labels : int
    n_jobs : int
    forbidding : str
        What may forbid every labelling of a sequence, for the message.
    """

    _row: tuple[int, ...]  # the shape of the first block at a token: (K,)

    def __init__(
        self,
        structure: _core.PartStructure,
        lengths: npt.NDArray[np.int64],
        scores: list[FloatArray],
        n_labels: int,
        n_jobs: int,
        forbidding: str = "the scores",
    ) -> None:
        self._forbidding = forbidding
        self.lengths, self.n_labels, self.n_jobs, self._row = lengths, n_labels, n_jobs, (n_labels,)
        self._structure, self._scores = structure, scores
        self._core = _core.PartBatch(structure, np.ascontiguousarray(lengths, dtype=np.int64), scores, n_jobs)

    def __len__(self) -> int:
        return len(self.lengths)

    def argmax(self) -> list[Labeling]:
        """Return the best labelling of each sequence."""
        return [best[0] for best in self.kbest(1)]

    def kbest(self, k: int) -> list[list[Labeling]]:
        """Return the ``k`` best labellings of each sequence, distinct and best first."""
        return [[Labeling(labels.astype(np.int32), score) for labels, score in best] for best in self._outputs(k)]

    def _outputs(self, k: int) -> list[list[tuple[npt.NDArray[np.uint32], float]]]:
        """Return the ``k`` best outputs of each sequence as the core has them."""
        found = self._core.best(k)
        for i, best in enumerate(found):
            if not best:
                self._refuse(i)
        return found

    def log_partition(self) -> FloatArray:
        """Return log Z of each sequence, -inf where every labelling is forbidden."""
        return np.asarray(self._core.log_partition())

    def marginals(self) -> list[FloatArray]:
        """Return the probability of each label at each token, (T, K) for each sequence."""
        found = self._core.marginals()
        for i, rows in enumerate(found):
            if len(rows) and not rows.any():  # no labelling has a probability
                self._refuse(i)
        return [rows.reshape(-1, *self._row) for rows in found]

    def max_marginals(self) -> list[FloatArray]:
        """Return the best score of a labelling with each label at each token, (T, K) for each sequence."""
        return [rows.reshape(-1, *self._row) for rows in self._core.max_marginals()]

    def log_prob(self, labels: Sequence[npt.NDArray[Any]]) -> FloatArray:
        """Return the log-probability of one labelling of each sequence."""
        masks = []
        for length, own in zip(self.lengths.tolist(), labels, strict=True):
            mask = np.zeros((length, self.n_labels), dtype=np.bool_)
            mask[np.arange(length), np.asarray(own)] = True
            masks.append(mask)
        return np.minimum(self.constrained(masks).log_partition() - self.log_partition(), 0.0)

    def constrained(self, masks: Sequence[Bools], sequences: Sequence[int] | None = None) -> PartBatch:
        """Return the sequences (or those with these numbers) without labels where a mask (T, K) is False."""
        numbers = range(len(self)) if sequences is None else sequences
        scores = []
        for i, mask in zip(numbers, masks, strict=True):
            own = self._scores[i].copy()
            own[: mask.size][~mask.ravel()] = -np.inf
            scores.append(own)
        lengths = self.lengths[list(numbers)]
        return PartBatch(self._structure, lengths, scores, self.n_labels, self.n_jobs, self._forbidding)

    def _span_probabilities(
        self,
        counts: npt.NDArray[np.int64],
        begins: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        rows: npt.NDArray[np.uint8],
    ) -> FloatArray:
        """Return the probability that labels are among those allowed from ``begin`` on, for events of each sequence."""
        owners = np.repeat(np.arange(len(self)), counts).tolist()
        totals, ends = self.log_partition(), np.cumsum(sizes)
        masks = []
        for i, begin, size, end in zip(owners, begins.tolist(), sizes.tolist(), ends.tolist(), strict=True):
            mask = np.ones((self.lengths[i], self.n_labels), dtype=np.bool_)
            mask[begin : begin + size] = rows[end - size : end] != 0
            masks.append(mask)
        found: FloatArray = np.exp(self.constrained(masks, owners).log_partition() - totals[owners])
        return found

    def _require_possible(self) -> None:
        for i in np.flatnonzero(np.isneginf(self.log_partition())).tolist():
            self._refuse(i)

    def _refuse(self, i: int) -> None:
        raise Unsatisfiable(f"chain {i}: {self._forbidding} forbid every labelling of it.")
