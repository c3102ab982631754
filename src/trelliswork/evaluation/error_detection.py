"""Whether a confidence finds the errors: answers with low confidence should be the wrong ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.pairs import paired, zipped
from trelliswork.labels.coded import LabelLists

__all__ = ["ErrorDetection", "error_detection"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ErrorDetection:
    """How well a confidence separates correct from wrong answers.

    Parameters
    ----------
    auc : float
        The probability that an error has lower confidence than a correct answer, with ties counted half: the area under
        the receiver operating characteristic. 0.5 is chance; NaN if nothing or everything is wrong.
    caught : float
        The fraction of errors among the least confident tenth of the answers, with ties counted in proportion; NaN if
        nothing is wrong.
    n_errors, n_answers : int
    """

    auc: float
    caught: float
    n_errors: int
    n_answers: int

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON; None stands for NaN."""
        found: dict[str, Any] = {name: getattr(self, name) for name in ("auc", "caught", "n_errors", "n_answers")}
        return {name: None if math.isnan(value) else value for name, value in found.items()}

    def __str__(self) -> str:
        return (
            f"{self.n_errors} errors in {self.n_answers} answers; area under the curve {self.auc:.4f}; "
            f"{self.caught:.1%} of the errors are in the least confident tenth"
        )


def error_detection(confidence: Iterable[Any], y_true: LabelLists, y_pred: LabelLists) -> ErrorDetection:
    """Return how well a confidence ranks errors below correct answers.

    Parameters
    ----------
    confidence : iterable of n arrays (T,), or of n numbers
        For each sequence the confidence of each label, or one number for the whole sequence; an error is then a
        sequence with a wrong label. Only the order of confidences matters.
    y_true : iterable of n sequences of T labels
        The gold labels. Tokens whose label is None are ignored.
    y_pred : iterable of n sequences of T labels
        The guessed labels.

    Returns
    -------
    ErrorDetection

    Examples
    --------
    >>> gold, guess = [["D", "N"], ["N", "V"]], [["D", "V"], ["N", "V"]]
    >>> print(error_detection([[0.9, 0.4], [0.3, 0.8]], gold, guess))
    1 errors in 4 answers; area under the curve 0.6667; 0.0% of the errors are in the least confident tenth
    >>> error_detection([0.2, 0.7], gold, guess).auc
    1.0
    """
    values, wrong = [], []
    for i, (sure, (gold, guess)) in enumerate(zipped(confidence, paired(y_true, y_pred), "confidence", "y_true")):
        known = np.array([label is not None for label in gold], dtype=bool)
        mistakes = np.array([a != b for a, b in zip(gold, guess, strict=True)], dtype=bool) & known
        row = _checked(sure, len(gold), i)
        values.append(row[known] if row.ndim else row[None])
        wrong.append(mistakes[known] if row.ndim else mistakes.any(keepdims=True))
    return _detection(np.concatenate([np.zeros(0), *values]), np.concatenate([np.zeros(0, dtype=bool), *wrong]))


def _checked(sure: Any, length: int, i: int) -> Floats:
    try:
        row = np.asarray(sure, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"confidence[{i}] is {shown(sure)}; expected a number for each label, or one.") from None
    if row.ndim > 1 or (row.ndim == 1 and len(row) != length):
        raise InvalidInput(f"confidence[{i}] has the shape {row.shape}; expected {(length,)}, or a single number.")
    if np.isnan(row).any():
        raise InvalidInput(f"confidence[{i}] has a NaN in it, which has no place in an order.")
    return row


def _detection(values: Floats, wrong: Bools) -> ErrorDetection:
    n, n_errors = len(values), int(wrong.sum())
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    errors = np.bincount(group, weights=wrong, minlength=len(sizes))
    # Of the pairs of an error and a right answer: those in order, and half of those that are equal.
    right = sizes - errors
    right_above = (n - n_errors) - np.cumsum(right)
    pairs = n_errors * (n - n_errors)
    auc = float(errors @ (right_above + 0.5 * right)) / pairs if pairs else math.nan
    looked_at = np.clip((n / 10 - (ends - sizes)) / np.maximum(sizes, 1), 0.0, 1.0)  # the share of each group
    caught = float(errors @ looked_at) / n_errors if n_errors else math.nan
    return ErrorDetection(auc, caught, n_errors, n)
