"""Semi-Markov chains: scores and labels of whole segments, with the questions of a `Chain`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.parts import Numbers, PartScores
from trelliswork.structures.results import Segmentation

__all__ = ["SegmentChain"]

SegmentArray = npt.NDArray[np.int32]


@lru_cache(maxsize=64)
def _structure(n_labels: int, longest: int) -> _core.PartStructure:
    """Return the one structure of its kind."""
    return _core.PartStructure.segments(n_labels, longest)


class SegmentChain(PartScores[Segmentation]):
    """Segmentations of T positions into labelled segments of at most L positions (Sarawagi and Cohen 2004).

    The score of a segmentation is the sum of ``start`` for its first label, the scores of its segments, ``transitions``
    between neighbouring segments, and ``end`` for its last label. Every answer costs O(T K (K + L)).

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
    Ties are ordered from the end: the lower label first, then the shorter segment.

    Examples
    --------
    >>> scores = np.zeros((3, 2, 2))
    >>> scores[0, 1, 1] = 4.0  # positions 0 and 1 as one segment of label 1
    >>> best = SegmentChain(scores, transitions=[[-1.0, 0.0], [0.0, -1.0]]).argmax()
    >>> best.segments.tolist(), best.score
    ([[0, 2, 1], [2, 3, 0]], 4.0)
    """

    _output_name = "segmentation"
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
        given = (self.segment_scores, self.transitions, self.start, self.end)
        super().__init__(_structure(n_labels, longest), [length], np.concatenate([a.ravel() for a in given]))

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
        """Length of the longest segment allowed, L."""
        return int(self.segment_scores.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return int(self.segment_scores.shape[2])

    def segment_marginals(self) -> FloatArray:
        """Return the probability of every segment, (T, L, K), indexed as ``segment_scores``."""
        return self._expected()[: self.segment_scores.size].reshape(self.segment_scores.shape)

    def marginals(self) -> FloatArray:
        """Return the probability of every label at every position, (T, K)."""
        return self._shaped(self._expected(), np.add, 0.0)

    def edge_marginals(self) -> FloatArray:
        """Return the probability of every pair of labels across a segment boundary, (T - 1, K, K).

        Steps within a segment do not count.
        """
        self._possible_log_partition()
        T, K = self.n_positions, self.n_labels
        steps = np.broadcast_to(self.transitions, (max(T - 1, 0), K, K))
        given = [self.segment_scores.ravel(), steps.ravel(), self.start, self.end]
        loose = _core.PartStructure.segments(K, self.longest, False)
        found = loose.marginals(self._shape, np.concatenate(given))
        return found[self.segment_scores.size :][: steps.size].reshape(steps.shape)

    def max_marginals(self) -> FloatArray:
        """Return the best score with each label at each position, (T, K); see `Chain.max_marginals`."""
        return self._shaped(self._structure.max_marginals(self._shape, self._scores), np.maximum, -np.inf)

    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> FloatArray:
        """Join what segments have for every position that they cover, (T, K)."""
        of_segments = parts[: self.segment_scores.size].reshape(self.segment_scores.shape)
        longer = join.accumulate(of_segments[:, ::-1], axis=1)[:, ::-1]  # [:, n]: of all longer than n
        out = np.full((self.n_positions, self.n_labels), nothing)
        for n in range(min(self.longest, self.n_positions)):
            join(out[n:], longer[: self.n_positions - n, n], out=out[n:])
        return out

    def _indicators(self) -> npt.NDArray[np.int64]:
        return np.arange(self.segment_scores.size, dtype=np.int64).reshape(self.segment_scores.shape)

    def segment_probability(self, start: int, stop: int, label: int) -> float:
        """Return the probability that positions ``start`` to ``stop - 1`` form one segment of ``label``."""
        (segment,) = self._checked_segments([(start, stop, label)], partial=True)
        length = segment[1] - segment[0]
        return float(self.segment_marginals()[segment[0], length - 1, segment[2]]) if length <= self.longest else 0.0

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> list[SegmentArray]:
        """Draw ``n`` segmentations, each an array of rows (start, stop, label); see `Chain.sample`."""
        return [self._sampled(rows) for rows in self._drawn(n, random_state, replace)]

    def augmented(self, gold: npt.ArrayLike, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the chain with ``scale`` times the cost of every position's label against ``gold`` added.

        ``gold`` is one label per position (`Segmentation.labels`); see `Chain.augmented`.
        """
        charged = checks.as_cost(cost, self.n_labels)
        y = checks.as_labels("gold", gold, self.n_positions, self.n_labels)
        return self._with_position_scores(checks.as_scale(scale) * charged[y])

    def constrained(self, allowed: Any = None, transitions: npt.ArrayLike | None = None) -> Self:
        """Return the chain with some labels and transitions forbidden.

        Parameters
        ----------
        allowed : (T, K) array of bool, or list of T candidate sets, optional
            Which labels each position may have. A segment covers only positions that allow its label.
        transitions : (K, K) array of bool, optional
            Which labels of neighbouring segments may follow which.
        """
        limited = self
        if allowed is not None:
            mask = checks.as_allowed("allowed", allowed, self.n_positions, self.n_labels)
            limited = self._with_position_scores(np.where(mask, 0.0, -np.inf))
        if transitions is not None:
            mask = checks.as_mask("transitions", transitions, self.transitions.shape)
            moves = np.where(mask, self.transitions, -np.inf)
            limited = type(self)(limited.segment_scores, moves, self.start, self.end)
        limited._possible_log_partition()
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

    def _sampled(self, output: Numbers) -> SegmentArray:
        return output.astype(np.int32).reshape(-1, 3)

    def _answer(self, output: Numbers, score: float) -> Segmentation:
        return Segmentation(output.astype(np.int32).reshape(-1, 3), score)

    def _output(self, output: npt.ArrayLike) -> Numbers:
        return self._checked_segments(output).astype(np.uint32).ravel()
