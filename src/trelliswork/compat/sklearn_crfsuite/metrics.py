"""Scores of sequences of labels: scikit-learn's, over all items at once, and that of whole sequences."""

from __future__ import annotations

from typing import Any

from trelliswork.compat.sklearn_crfsuite.utils import flatten

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "sequence_accuracy_score",
]


def _flat(name: str, y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
    from sklearn import metrics

    return getattr(metrics, name)(flatten(y_true), flatten(y_pred), *args, **kwargs)


def flat_accuracy_score(y_true: Any, y_pred: Any) -> Any:
    """Return the accuracy of items.

    Examples
    --------
    >>> float(flat_accuracy_score([["A", "B"], ["A"]], [["A", "A"], ["A"]])) * 3
    2.0
    """
    return _flat("accuracy_score", y_true, y_pred)


def flat_precision_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """Return the precision of items."""
    return _flat("precision_score", y_true, y_pred, **kwargs)


def flat_recall_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """Return the recall of items."""
    return _flat("recall_score", y_true, y_pred, **kwargs)


def flat_f1_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """Return the F1 score of items."""
    return _flat("f1_score", y_true, y_pred, **kwargs)


def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **kwargs: Any) -> Any:
    """Return the F-beta score of items."""
    return _flat("fbeta_score", y_true, y_pred, beta=beta, **kwargs)


def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **kwargs: Any) -> Any:
    """Return the classification report of items."""
    return _flat("classification_report", y_true, y_pred, labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Return the share of sequences that are right as a whole.

    Examples
    --------
    >>> sequence_accuracy_score([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.5
    """
    total = len(y_true)
    if not total:
        return 0
    return sum(list(a) == list(b) for a, b in zip(y_true, y_pred, strict=False)) / total
