"""Semi-Markov chains: whole segments are scored and labelled, with the same questions as a `Chain`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.lattice import LatticeStructure
from trelliswork.structures.results import Segmentation

__all__ = ["SegmentChain"]

SegmentArray = npt.NDArray[np.int32]


class SegmentChain(LatticeStructure[Segmentation]):
    """Segmentations of T positions into labelled segments of at most L positions (Sarawagi and Cohen 2004).

    The score of a segmentation is ``start`` of its first label, the scores of its segments, ``transitions`` between
    neighbouring segments, and ``end`` of its last label. Every answer costs O(T K (K + L)).

    Parameters
    ----------
    segment_scores : (T, L, K) array-like
        ``segment_scores[t, n - 1, k]`` scores the segment of label ``k`` over positions ``t .. t + n - 1``; ``-inf``
        forbids. Entries that would run past the end are not used.
    transitions : (K, K) array-like
        Score of a segment of label ``a`` followed by one of label ``b``.
    start, end : (K,) array-like, optional
        Scores of the first and of the last label.

    Notes
    -----
    Equal scores are ordered by what is seen from the end: the lower label first, then the shorter segment.

    Examples
    --------
    >>> scores = np.zeros((3, 2, 2))
    >>> scores[0, 1, 1] = 4.0  # positions 0 and 1 as one segment of label 1
    >>> best = SegmentChain(scores, transitions=[[-1.0, 0.0], [0.0, -1.0]]).argmax()
    >>> best.segments.tolist(), best.score
    ([[0, 2, 1], [2, 3, 0]], 4.0)
    """

    _path_name = "segmentation"
    _where_to_look = "transitions"

    def __init__(
        self,
        segment_scores: npt.ArrayLike,
        transitions: npt.ArrayLike,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
    ) -> None:
        scores = checks.as_numbers("segment_scores", segment_scores)
        if scores.ndim != 3 or 0 in scores.shape[1:]:
            raise InvalidInput(
                f"segment_scores must have shape (T, L, K): position, length - 1, label; found {scores.shape}."
            )
        length, longest, n_labels = scores.shape
        beyond = np.arange(length)[:, None] + np.arange(longest) >= length
        scores[beyond] = -np.inf
        self.segment_scores = checks.as_scores("segment_scores", scores)
        self.transitions = checks.as_scores(
            "transitions", transitions, (n_labels, n_labels), " for these segment_scores"
        )
        self.start = checks.as_scores("start", np.zeros(n_labels) if start is None else start, (n_labels,))
        self.end = checks.as_scores("end", np.zeros(n_labels) if end is None else end, (n_labels,))
        self._core = _core.SegmentChain(self.segment_scores, self.transitions, self.start, self.end) if length else None

    def __repr__(self) -> str:
        return f"SegmentChain({self.n_positions} positions, {self.n_labels} labels, segments up to {self.longest})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.segment_scores, self.transitions, self.start, self.end)

    @property
    def n_positions(self) -> int:
        """Number of positions, T."""
        return int(self.segment_scores.shape[0])

    @property
    def longest(self) -> int:
        """Positions of the longest segment allowed, L."""
        return int(self.segment_scores.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return int(self.segment_scores.shape[2])

    def segment_marginals(self) -> FloatArray:
        """Return the probability of every segment, (T, L, K), indexed as ``segment_scores``."""
        return self._marginals()[2]

    def segment_probability(self, start: int, stop: int, label: int) -> float:
        """Return the probability that positions ``start .. stop - 1`` are one segment of ``label``."""
        (segment,) = self._checked_segments([(start, stop, label)], partial=True)
        length = segment[1] - segment[0]
        return float(self.segment_marginals()[segment[0], length - 1, segment[2]]) if length <= self.longest else 0.0

    def sample(self, n: int = 1, random_state: Any = None) -> list[SegmentArray]:
        """Draw ``n`` segmentations, each an array of rows (start, stop, label); see `Chain.sample`."""
        drawn = self._draw(n, random_state, numbers_each=2 * self.n_positions)
        return [rows.reshape(-1, 3) for rows in drawn]

    def score(self, segments: npt.ArrayLike) -> float:
        """Return the score of a segmentation given as rows (start, stop, label); -inf if it is forbidden."""
        rows = self._checked_segments(segments)
        if len(rows) == 0:
            return 0.0
        begins, stops, labels = rows.T
        lengths = stops - begins
        if lengths.max() > self.longest:
            return -np.inf
        total = self.start[labels[0]] + self.segment_scores[begins, lengths - 1, labels].sum()
        return float(total + self.transitions[labels[:-1], labels[1:]].sum() + self.end[labels[-1]])

    def augmented(self, gold: npt.ArrayLike, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the chain with ``scale`` times the cost of every position's label against ``gold`` added.

        ``gold`` is one label per position (`Segmentation.labels`); see `Chain.augmented`.
        """
        charged = checks.as_cost(cost, self.n_labels)
        y = checks.as_labels("gold", gold, self.n_positions, self.n_labels)
        return self._with_position_scores(checks.as_scale(scale) * charged[y])

    def constrained(self, allowed: Any = None, transitions: npt.ArrayLike | None = None) -> Self:
        """Return the chain with labels forbidden at some positions, and labels that may not follow each other.

        Parameters
        ----------
        allowed : (T, K) array of bool, or list of T candidate sets, optional
            A segment may only cover positions that allow its label.
        transitions : (K, K) array of bool, optional
            Which label of a segment may follow which.
        """
        limited = self
        if allowed is not None:
            mask = checks.as_allowed("allowed", allowed, self.n_positions, self.n_labels)
            limited = self._with_position_scores(np.where(mask, 0.0, -np.inf))
        if transitions is not None:
            mask = checks.as_mask("transitions", transitions, self.transitions.shape)
            moves = np.where(mask, self.transitions, -np.inf)
            limited = type(self)(limited.segment_scores, moves, self.start, self.end)
        limited._require_possible()
        return limited

    def _with_position_scores(self, scores: FloatArray) -> Self:
        """Add scores of positions, (T, K), to every segment that covers them."""
        total = np.array(self.segment_scores)
        running = np.zeros_like(scores)
        for n in range(self.longest):
            shifted = np.full_like(scores, -np.inf)
            shifted[: max(self.n_positions - n, 0)] = scores[n:]
            running = running + shifted
            total[:, n] += running
        return type(self)(total, self.transitions, self.start, self.end)

    def _checked_segments(self, segments: npt.ArrayLike, partial: bool = False) -> SegmentArray:
        try:
            rows = np.asarray(segments)
        except ValueError as error:
            raise InvalidInput(f"segments must be rows (start, stop, label): {error}.") from None
        if rows.size == 0 and self.n_positions == 0:
            return np.empty((0, 3), dtype=np.int32)
        if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
            raise InvalidInput(
                f"segments must be integer rows (start, stop, label), shape (n, 3); found {rows.dtype} {rows.shape}."
            )
        begins, stops, labels = rows.T
        if (begins >= stops).any() or (begins < 0).any() or (stops > self.n_positions).any():
            raise InvalidInput(
                f"every segment must have 0 <= start < stop <= {self.n_positions}; found {rows.tolist()}."
            )
        if ((labels < 0) | (labels >= self.n_labels)).any():
            raise InvalidInput(
                f"segment labels must be indices from 0 to {self.n_labels - 1}; found {labels.tolist()}."
            )
        if not partial and (begins[0] != 0 or stops[-1] != self.n_positions or (begins[1:] != stops[:-1]).any()):
            raise InvalidInput(f"segments must follow one another from 0 to {self.n_positions}; found {rows.tolist()}.")
        return rows.astype(np.int32)

    def _answer(self, path: SegmentArray, score: float) -> Segmentation:
        return Segmentation(path.reshape(-1, 3), score)

    def _part_marginals_shape(self) -> tuple[int, ...]:
        return self.segment_scores.shape
