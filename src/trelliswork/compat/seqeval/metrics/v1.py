"""Scores of entities that labels say strictly by a scheme; and the arithmetic of all scores.

Divisions, averages and warnings are those of scikit-learn's ``precision_recall_fscore_support``, as seqeval has them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from trelliswork.compat.seqeval.reporters import DictReporter, StringReporter
from trelliswork.compat.seqeval.scheme import Entities, Token, auto_detect

__all__ = ["check_consistent_length", "classification_report", "precision_recall_fscore_support", "unique_labels"]

Labels: TypeAlias = Sequence[Sequence[str]]
Array: TypeAlias = npt.NDArray[Any]
Sums: TypeAlias = tuple[Array, Array, Array]  # predicted, right and true entities of each type

PER_CLASS_SCORES: TypeAlias = tuple[list[float], list[float], list[float], list[int]]
AVERAGE_SCORES: TypeAlias = tuple[float, float, float, int]
SCORES: TypeAlias = PER_CLASS_SCORES | AVERAGE_SCORES


def unique_labels(y_true: Labels, y_pred: Labels, scheme: type[Token], suffix: bool = False) -> list[str]:
    """Return the types of all entities, sorted.

    Examples
    --------
    >>> from trelliswork.compat.seqeval.scheme import IOB2
    >>> unique_labels([["B-PER"]], [["B-ORG"]], IOB2)
    ['ORG', 'PER']
    """
    return sorted(Entities(y_true, scheme, suffix).unique_tags | Entities(y_pred, scheme, suffix).unique_tags)


def check_consistent_length(y_true: Labels, y_pred: Labels) -> None:
    """Refuse what is no list of lists, or lists of other lengths."""
    lengths_true, lengths_pred = list(map(len, y_true)), list(map(len, y_pred))
    if set(map(type, y_true)) | set(map(type, y_pred)) != {list}:
        raise TypeError("Found input variables without list of list.")
    if lengths_true != lengths_pred:
        raise ValueError(f"Found input variables with inconsistent numbers of samples:\n{lengths_true}\n{lengths_pred}")


def precision_recall_fscore_support(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = None,
    warn_for: Any = ("precision", "recall", "f-score"),
    beta: float = 1.0,
    sample_weight: Any = None,
    zero_division: Any = "warn",
    scheme: type[Token] | None = None,
    suffix: bool = False,
    **kwargs: Any,
) -> Any:
    """Return precision, recall, F and the number of true entities: of each type, or averaged.

    Parameters
    ----------
    y_true, y_pred : list of list of str
    average : {None, "micro", "macro", "weighted"}
    warn_for : tuple of str
        Which undefined scores are worth a warning.
    beta : float
        The weight of recall in F.
    sample_weight
        Taken, and not used, as in the original.
    zero_division : {"warn", 0, 1}
        What a division by zero gives.
    scheme : subclass of Token
    suffix : bool
        Whether labels end with their prefix.

    Examples
    --------
    >>> from trelliswork.compat.seqeval.scheme import IOB2
    >>> y_true = [["O", "B-MISC", "I-MISC"], ["B-PER", "O"]]
    >>> y_pred = [["O", "I-MISC", "I-MISC"], ["B-PER", "O"]]
    >>> precision_recall_fscore_support(y_true, y_pred, scheme=IOB2, zero_division=0)
    (array([0., 1.]), array([0., 1.]), array([0., 1.]), array([1, 1]))
    """

    def sums(y_true: Labels, y_pred: Labels, suffix: bool, scheme: Any) -> Sums:
        true = kwargs.get("entities_true") or Entities(y_true, scheme, suffix)
        pred = kwargs.get("entities_pred") or Entities(y_pred, scheme, suffix)
        return _sums_of(true, pred)

    return _precision_recall_fscore_support(
        y_true,
        y_pred,
        average=average,
        warn_for=warn_for,
        beta=beta,
        sample_weight=sample_weight,
        zero_division=zero_division,
        scheme=scheme,
        suffix=suffix,
        extract_tp_actual_correct=sums,
    )


def classification_report(
    y_true: Labels,
    y_pred: Labels,
    *,
    sample_weight: Any = None,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: Any = "warn",
    suffix: bool = False,
    scheme: type[Token] | None = None,
) -> Any:
    """Return the scores of each type and their averages, as text or as a dict.

    Parameters
    ----------
    y_true, y_pred : list of list of str
    sample_weight
        Taken, and not used, as in the original.
    digits : int
        After the point.
    output_dict : bool
    zero_division : {"warn", 0, 1}
    suffix : bool
    scheme : subclass of Token, optional
        Left out, what `auto_detect` finds.

    Examples
    --------
    >>> print(classification_report([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "O"]]))
                  precision    recall  f1-score   support
    <BLANKLINE>
             PER       1.00      1.00      1.00         1
    <BLANKLINE>
       micro avg       1.00      1.00      1.00         1
       macro avg       1.00      1.00      1.00         1
    weighted avg       1.00      1.00      1.00         1
    <BLANKLINE>
    """
    check_consistent_length(y_true, y_pred)
    if scheme is None or not issubclass(scheme, Token):
        scheme = auto_detect(y_true, suffix)
    true, pred = Entities(y_true, scheme, suffix), Entities(y_pred, scheme, suffix)
    names = sorted(true.unique_tags | pred.unique_tags)
    return _report(names, lambda: _sums_of(true, pred), digits, output_dict, zero_division)


def _sums_of(true: Entities, pred: Entities) -> Sums:
    """Predicted, right and true entities of each type, in the order of the types' names."""
    sets = [set(map(_placed, chain(*side.entities))) for side in (pred, true)]
    in_pred, in_true = (Counter(tag for tag, _ in side) for side in sets)
    right = Counter(tag for tag, _ in sets[0] & sets[1])
    names = sorted(in_pred.keys() | in_true.keys())
    if not names:
        empty = np.array([], dtype=np.int32)
        return empty, empty, empty
    pred_sum, tp_sum, true_sum = (np.array([count[name] for name in names]) for count in (in_pred, right, in_true))
    return pred_sum, tp_sum, true_sum


def _placed(entity: Any) -> tuple[str, tuple[Any, int, int]]:
    return entity.tag, (entity.sent_id, entity.start, entity.end)


def _report(names: list[str], sums: Callable[[], Sums], digits: int, output_dict: bool, zero_division: Any) -> Any:
    """The report of types of these names."""
    reporter: Any = DictReporter()
    if not output_dict:
        reporter = StringReporter(width=max(max(map(len, names)), len("weighted avg"), digits), digits=digits)
    counted = sums()
    for row in zip(names, *_scores(counted, None, zero_division=zero_division), strict=True):
        reporter.write(*row)
    reporter.write_blank()
    for average in ("micro", "macro", "weighted"):
        reporter.write(f"{average} avg", *_scores(counted, average, zero_division=zero_division))
    reporter.write_blank()
    return reporter.report()


def _precision_recall_fscore_support(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = None,
    warn_for: Any = ("precision", "recall", "f-score"),
    beta: float = 1.0,
    sample_weight: Any = None,
    zero_division: Any = "warn",
    scheme: type[Token] | None = None,
    suffix: bool = False,
    extract_tp_actual_correct: Callable[..., Sums],
) -> Any:
    """The scores of what a function counts, once the arguments are checked."""
    if beta < 0:
        raise ValueError("beta should be >=0 in the F-beta score")
    options = (None, "micro", "macro", "weighted")
    if average not in options:
        raise ValueError(f"average has to be one of {options}")
    check_consistent_length(y_true, y_pred)
    sums = extract_tp_actual_correct(y_true, y_pred, suffix, scheme)
    return _scores(sums, average, warn_for, beta, zero_division)


def _scores(
    sums: Sums,
    average: str | None,
    warn_for: Any = ("precision", "recall", "f-score"),
    beta: float = 1.0,
    zero_division: Any = "warn",
) -> Any:
    """Precision, recall, F and support of counts."""
    pred_sum, tp_sum, true_sum = sums
    if average == "micro":
        pred_sum, tp_sum, true_sum = (np.array([part.sum()]) for part in sums)
    precision = _prf_divide(tp_sum, pred_sum, "precision", "predicted", average, warn_for, zero_division)
    recall = _prf_divide(tp_sum, true_sum, "recall", "true", average, warn_for, zero_division)
    if zero_division == "warn" and warn_for == ("f-score",) and (pred_sum[true_sum == 0] == 0).any():
        _warn_prf(average, "true nor predicted", "F-score is", len(true_sum))
    if np.isposinf(beta):
        f_score = recall
    else:
        denominator = beta**2 * precision + recall
        denominator[denominator == 0.0] = 1  # then there is nothing right, and F is 0
        f_score = (1 + beta**2) * precision * recall / denominator
    if average is None:
        return precision, recall, f_score, true_sum
    weights = None
    if average == "weighted":
        weights = true_sum
        if true_sum.sum() == 0:
            nothing = 0.0 if zero_division in ["warn", 0] else 1.0
            unless_predicted = nothing if pred_sum.sum() == 0 else 0.0
            return unless_predicted, nothing, unless_predicted, sum(true_sum)
    mean = [np.average(part, weights=weights) for part in (precision, recall, f_score)]
    return *mean, sum(true_sum)


def _prf_divide(
    numerator: Array,
    denominator: Array,
    metric: str,
    modifier: str,
    average: str | None,
    warn_for: Any,
    zero_division: Any = "warn",
) -> Array:
    """The quotient; where the denominator is 0, what `zero_division` says, with a warning if it says to warn."""
    undefined = denominator == 0.0
    result: Array = numerator / np.where(undefined, 1, denominator)
    if not undefined.any():
        return result
    result[undefined] = 0.0 if zero_division in ["warn", 0] else 1.0
    if zero_division == "warn" and metric in warn_for:
        what = f"{metric.title()} and F-score are" if "f-score" in warn_for else f"{metric.title()} is"
        _warn_prf(average, modifier, what, len(result))
    return result


def _warn_prf(average: str | None, modifier: str, msg_start: str, result_size: int) -> None:
    from sklearn.exceptions import UndefinedMetricWarning

    by, of = ("label", "sample") if average == "samples" else ("sample", "label")
    where = "due to" if result_size == 1 else f"in {of}s with"
    warnings.warn(
        f"{msg_start} ill-defined and being set to 0.0 {where} no {modifier} {by}s. "
        "Use `zero_division` parameter to control this behavior.",
        UndefinedMetricWarning,
        stacklevel=2,
    )
