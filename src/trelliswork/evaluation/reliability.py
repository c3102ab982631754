"""Calibration of marginals: of the tokens labelled with confidence 0.8, are 80% correct?

It uses bins of equal width, with the expected and the maximum calibration error over them (Pakdaman Naeini, Cooper &
Hauskrecht 2015; Guo, Pleiss, Sun & Weinberger 2017), and two proper scores of the whole distribution: the Brier score
(Brier 1950) and the log loss.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.pairs import paired, zipped
from trelliswork.labels.coded import LabelLists, checked_label_list

__all__ = ["Calibration", "calibration"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SUM_TOLERANCE = 1e-4  # leaves room for marginals kept in single precision


@dataclass(frozen=True, eq=False)
class Calibration:
    """Confidence and accuracy by bin, and scores of the probabilities.

    Parameters
    ----------
    edges : (n_bins + 1,) array
        Bin b holds confidences from ``edges[b]`` up to, but not including, ``edges[b + 1]``; the last bin includes 1.
    confidence, accuracy : (n_bins,) arrays
        The mean confidence in each bin, and the fraction of correct labels; NaN for an empty bin.
    counts : (n_bins,) array of int
        Number of confidences in each bin.
    n_tokens : int
    brier_score : float
        Mean over tokens of the squared distance between the marginals and the gold label's indicator: from 0 to 2.
    log_loss : float
        Mean over tokens of the negative logarithm of the gold label's probability, in nats; infinite if one is 0.
    """

    edges: Floats
    confidence: Floats
    accuracy: Floats
    counts: Ints
    n_tokens: int
    brier_score: float
    log_loss: float

    @property
    def expected_calibration_error(self) -> float:
        """The mean distance between confidence and accuracy, weighted by the counts of the bins; NaN without counts."""
        total = self.counts.sum()
        return float(np.nansum(self.counts * self._gaps()) / total) if total else math.nan

    @property
    def maximum_calibration_error(self) -> float:
        """The largest distance between confidence and accuracy in any bin; NaN if all are empty."""
        return float(np.nanmax(self._gaps())) if self.counts.any() else math.nan

    def as_dict(self) -> dict[str, Any]:
        """Return all figures for JSON; NaN and infinite values become None."""
        return {
            "expected_calibration_error": _finite(self.expected_calibration_error),
            "maximum_calibration_error": _finite(self.maximum_calibration_error),
            "brier_score": _finite(self.brier_score),
            "log_loss": _finite(self.log_loss),
            "tokens": self.n_tokens,
            "bins": [
                {"from": low, "to": high, "confidence": _finite(mean), "accuracy": _finite(right), "count": count}
                for low, high, mean, right, count in self._rows()
            ],
        }

    def __str__(self) -> str:
        lines = ["   confidence      count    mean  accuracy"]
        for low, high, mean, right, count in self._rows():
            figures = f"{mean:6.3f}    {right:6.3f}" if count else "     -         -"
            lines.append(f"{low:5.3f} to {high:5.3f}  {count:9d}  {figures}")
        lines.append(
            f"expected calibration error {self.expected_calibration_error:.4f}, "
            f"maximum {self.maximum_calibration_error:.4f}"
        )
        return "\n".join([*lines, f"Brier score {self.brier_score:.4f}, log loss {self.log_loss:.4f} nats"])

    def _gaps(self) -> Floats:
        return np.abs(self.confidence - self.accuracy)

    def _rows(self) -> list[tuple[float, float, float, float, int]]:
        columns = (self.edges[:-1], self.edges[1:], self.confidence, self.accuracy, self.counts)
        return list(zip(*(column.tolist() for column in columns), strict=True))


def calibration(
    marginals: Iterable[npt.ArrayLike],
    y_true: LabelLists,
    classes: Sequence[Hashable] | npt.NDArray[Any],
    n_bins: int = 10,
    of: str = "best",
    y_pred: LabelLists | None = None,
) -> Calibration:
    """Return how well marginals are calibrated.

    Parameters
    ----------
    marginals : iterable of n (T, K) arrays
        For each token a probability for each label, as returned by ``predict_marginals``.
    y_true : iterable of n sequences of T labels
        The gold labels. Tokens whose label is None are ignored. A label that is not in ``classes`` has probability 0:
        any guess is then wrong, and the log loss is infinite.
    classes : sequence of K labels
        The labels of the columns, as in ``classes_``.
    n_bins : int
        Number of bins of equal width.
    of : {"best", "all"}
        What to put into bins. ``"best"``: one confidence per token, that of the chosen label. ``"all"``: the K
        marginals of every token, each compared with whether its label is the gold one. The Brier score and the log loss
        use all labels in either case.
    y_pred : iterable of n sequences of T labels, optional
        The chosen labels. By default, the label with the highest marginal (the first of equals), which may differ from
        the best labelling of the whole sequence.

    Returns
    -------
    Calibration

    Raises
    ------
    InvalidInput
        If shapes do not match or rows are not probabilities; the message names the sequence.

    Examples
    --------
    >>> marginals = [[[0.9, 0.1], [0.7, 0.3]], [[0.2, 0.8]]]
    >>> result = calibration(marginals, [["A", "B"], ["B"]], classes=["A", "B"], n_bins=2)
    >>> print(result)
       confidence      count    mean  accuracy
    0.000 to 0.500          0       -         -
    0.500 to 1.000          3   0.800     0.667
    expected calibration error 0.1333, maximum 0.1333
    Brier score 0.3600, log loss 0.5108 nats
    """
    bins = _Bins(_checked_n_bins(n_bins), _checked_of(of, y_pred))
    index = _checked_classes(classes)
    for p, gold, chosen in _checked(marginals, y_true, index, y_pred):
        bins.add(p, gold, chosen)
    return bins.calibration()


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


class _Bins:
    """Sums by bin, collected sequence by sequence."""

    def __init__(self, n_bins: int, of: str) -> None:
        self._edges = np.linspace(0.0, 1.0, n_bins + 1)
        self._of = of
        self._counts = np.zeros(n_bins, dtype=np.int64)
        self._confidence, self._right = np.zeros(n_bins), np.zeros(n_bins)
        self._n_tokens, self._brier, self._log_loss = 0, 0.0, 0.0

    def add(self, p: Floats, gold: Ints, chosen: Ints) -> None:
        """Count one sequence: marginals (T, K), and the columns (T,) of the gold labels, -1 if none, and the chosen."""
        is_gold = gold[:, None] == np.arange(p.shape[1])
        self._n_tokens += len(p)
        self._brier += float(np.square(p - is_gold).sum() + (gold < 0).sum())  # as if it had a column of its own
        with np.errstate(divide="ignore"):
            self._log_loss -= float(np.log(np.where(is_gold, p, 0.0).sum(axis=1)).sum())
        if self._of == "all":
            self._add_events(p.ravel(), is_gold.ravel())
        else:
            self._add_events(p[np.arange(len(p)), chosen], gold == chosen)

    def _add_events(self, confidence: Floats, right: npt.NDArray[np.bool_]) -> None:
        n_bins = len(self._counts)
        b = np.searchsorted(self._edges[1:-1], confidence, side="right")
        self._counts += np.bincount(b, minlength=n_bins)
        self._confidence += np.bincount(b, weights=confidence, minlength=n_bins)
        self._right += np.bincount(b, weights=right, minlength=n_bins)

    def calibration(self) -> Calibration:
        """Return the means of the sums so far."""
        filled = np.where(self._counts > 0, self._counts, np.nan)
        n = self._n_tokens
        return Calibration(
            edges=self._edges,
            confidence=self._confidence / filled,
            accuracy=self._right / filled,
            counts=self._counts,
            n_tokens=n,
            brier_score=self._brier / n if n else math.nan,
            log_loss=self._log_loss / n if n else math.nan,
        )


def _checked_n_bins(n_bins: int) -> int:
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise InvalidInput(f"n_bins is {shown(n_bins)}; expected a whole number, 1 or more.")
    return int(n_bins)


def _checked_of(of: str, y_pred: LabelLists | None) -> str:
    if of not in ("best", "all"):
        raise InvalidInput(f"of is {shown(of)}; expected 'best', the label chosen for a token, or 'all' labels.")
    if of == "all" and y_pred is not None:
        raise InvalidInput("y_pred has no part in the calibration of all labels: leave it out, or say of='best'.")
    return of


def _checked_classes(classes: Sequence[Hashable] | npt.NDArray[Any]) -> dict[Any, int]:
    if isinstance(classes, str | bytes | set | frozenset) or not isinstance(classes, Iterable):
        raise InvalidInput(f"classes is {shown(classes)}; expected the labels of the columns, in their order.")
    labels = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    try:
        index = {label: k for k, label in enumerate(labels)}
    except TypeError:
        raise InvalidInput(f"classes is {shown(labels)}; expected one string or number for each column.") from None
    if not labels or len(index) != len(labels):
        raise InvalidInput(f"classes is {shown(labels)}; expected the labels of the columns, each of them once.")
    return index


def _checked(
    marginals: Iterable[npt.ArrayLike], y_true: LabelLists, index: dict[Any, int], y_pred: LabelLists | None
) -> Iterator[tuple[Floats, Ints, Ints]]:
    """Yield the marginals and the columns of gold and chosen labels of each sequence, without unlabelled tokens."""
    labels: Iterable[Any] = y_true if y_pred is None else paired(y_true, y_pred)
    for i, (matrix, item) in enumerate(zipped(marginals, labels, "marginals", "y_true")):
        gold, chosen = (checked_label_list(item, "y_true", i), None) if y_pred is None else item
        p = _checked_marginals(matrix, i, len(gold), len(index))
        known = np.array([label is not None for label in gold], dtype=bool)
        columns = np.array([index.get(label, -1) for label in gold], dtype=np.int64)
        best = p.argmax(axis=1) if chosen is None else _chosen_columns(chosen, index, i)
        yield p[known], columns[known], best[known]


def _checked_marginals(matrix: npt.ArrayLike, i: int, n_tokens: int, n_labels: int) -> Floats:
    try:
        p = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"marginals[{i}] is {shown(matrix)}; expected a (T, K) array of probabilities.") from None
    if n_tokens == 0 and p.size == 0:
        return np.zeros((0, n_labels))
    if p.shape != (n_tokens, n_labels):
        raise InvalidInput(
            f"marginals[{i}] has the shape {p.shape}; expected {(n_tokens, n_labels)}, for the {n_tokens} labels of "
            f"y_true[{i}] and the {n_labels} of classes."
        )
    wrong = ~((p >= -_SUM_TOLERANCE).all(axis=1) & (np.abs(p.sum(axis=1) - 1.0) <= _SUM_TOLERANCE))
    if wrong.any():
        t = int(wrong.argmax())
        raise InvalidInput(
            f"marginals[{i}][{t}] is {shown(p[t].tolist())}; expected probabilities that sum to 1. "
            "Pass what predict_marginals returns, not scores or logarithms."
        )
    return np.clip(p, 0.0, 1.0)


def _chosen_columns(chosen: list[Any], index: dict[Any, int], i: int) -> Ints:
    for t, label in enumerate(chosen):
        if label not in index:
            raise InvalidInput(f"y_pred[{i}][{t}] is {shown(label)}, which is not in classes and has no marginal.")
    return np.array([index[label] for label in chosen], dtype=np.int64)
