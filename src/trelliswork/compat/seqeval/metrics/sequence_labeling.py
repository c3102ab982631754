"""Scores of chunks as conlleval reads them: labels are never refused, and a chunk may begin with any of them.

Labels are numbered once, and what begins and ends where is worked out for all tokens at once; a report reads the labels
once, where the original does five times.
"""

from __future__ import annotations

import operator
import warnings
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from trelliswork.compat.seqeval.metrics import v1
from trelliswork.compat.seqeval.metrics.v1 import Array, Labels, Sums
from trelliswork.compat.seqeval.scheme import Token

__all__ = [
    "accuracy_score",
    "classification_report",
    "end_of_chunk",
    "f1_score",
    "get_entities",
    "performance_measure",
    "precision_recall_fscore_support",
    "precision_score",
    "recall_score",
    "start_of_chunk",
]


def precision_recall_fscore_support(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = None,
    warn_for: Any = ("precision", "recall", "f-score"),
    beta: float = 1.0,
    sample_weight: Any = None,
    zero_division: Any = "warn",
    suffix: bool = False,
) -> Any:
    """Return precision, recall, F and the number of true chunks: of each type, or averaged.

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
    suffix : bool
        Whether labels end with their prefix.

    Examples
    --------
    >>> y_true = [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    >>> y_pred = [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    >>> precision_recall_fscore_support(y_true, y_pred)
    (array([0., 1.]), array([0., 1.]), array([0., 1.]), array([1, 1]))
    """

    def sums(y_true: Labels, y_pred: Labels, suffix: bool, scheme: Any) -> Sums:
        return _Counted.of(y_true, y_pred, suffix).sums()

    return v1._precision_recall_fscore_support(
        y_true,
        y_pred,
        average=average,
        warn_for=warn_for,
        beta=beta,
        sample_weight=sample_weight,
        zero_division=zero_division,
        scheme=None,
        suffix=suffix,
        extract_tp_actual_correct=sums,
    )


def get_entities(seq: Any, suffix: bool = False) -> list[tuple[str, int, int]]:
    """Return the chunks of labels: type, first and last token. Sentences are one after the other, with an O between.

    Examples
    --------
    >>> get_entities(["B-PER", "I-PER", "O", "B-LOC"])
    [('PER', 0, 1), ('LOC', 3, 3)]
    """
    labels = _LabelNumbers(suffix)
    chunks = _chunks(seq, labels)
    rows = zip(chunks.types.tolist(), chunks.begins.tolist(), (chunks.ends - 1).tolist(), strict=True)
    return [(labels.types[number], begin, last) for number, begin, last in rows]


def end_of_chunk(prev_tag: str, tag: str, prev_type: str, type_: str) -> bool:
    """Whether a chunk ended with the label before.

    Examples
    --------
    >>> end_of_chunk("B", "O", "PER", "_"), end_of_chunk("B", "I", "PER", "PER")
    (True, False)
    """
    if prev_tag in ("E", "S") or (prev_tag in ("B", "I") and tag in ("B", "S", "O")):
        return True
    return prev_tag not in ("O", ".") and prev_type != type_


def start_of_chunk(prev_tag: str, tag: str, prev_type: str, type_: str) -> bool:
    """Whether a chunk begins with this label.

    Examples
    --------
    >>> start_of_chunk("O", "I", "_", "PER"), start_of_chunk("B", "I", "PER", "PER")
    (True, False)
    """
    if tag in ("B", "S") or (prev_tag in ("E", "S", "O") and tag in ("E", "I")):
        return True
    return tag not in ("O", ".") and prev_type != type_


def accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Return the share of labels that are right.

    Examples
    --------
    >>> accuracy_score([["O", "B-PER"], ["O", "O"]], [["O", "B-PER"], ["O", "B-PER"]])
    0.75
    """
    y_true, y_pred = _flat(y_true, y_pred)
    right: float = sum(map(operator.eq, y_true, y_pred))
    return right / len(y_true)


def f1_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: Any = "warn",
    scheme: type[Token] | None = None,
) -> Any:
    """Return the F1 of chunks: of all, of each type, or averaged.

    Parameters
    ----------
    y_true, y_pred : list of list of str
    average : {"micro", None, "macro", "weighted"}
    suffix : bool
        Whether labels end with their prefix.
    mode : {None, "strict"}
        With ``"strict"`` and a scheme, only what the scheme allows is a chunk.
    sample_weight
        Taken, and not used, as in the original.
    zero_division : {"warn", 0, 1}
        What a division by zero gives.
    scheme : subclass of Token, optional

    Examples
    --------
    >>> y_true = [["O", "O", "B-MISC", "I-MISC", "B-MISC", "O", "O"], ["B-PER", "I-PER", "O"]]
    >>> y_pred = [["O", "O", "B-MISC", "I-MISC", "B-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    >>> f1_score(y_true, y_pred, average=None)
    array([0.5, 1. ])
    """
    how = (average, suffix, mode, sample_weight, zero_division, scheme)
    return _one_score(2, "f-score", y_true, y_pred, *how)


def precision_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: Any = "warn",
    scheme: type[Token] | None = None,
) -> Any:
    """Return the share of predicted chunks that are right; parameters as those of `f1_score`.

    Examples
    --------
    >>> float(precision_score([["B-PER", "O"]], [["B-PER", "B-PER"]]))
    0.5
    """
    how = (average, suffix, mode, sample_weight, zero_division, scheme)
    return _one_score(0, "precision", y_true, y_pred, *how)


def recall_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: Any = "warn",
    scheme: type[Token] | None = None,
) -> Any:
    """Return the share of true chunks that are found; parameters as those of `f1_score`.

    Examples
    --------
    >>> float(recall_score([["B-PER", "B-PER"]], [["B-PER", "O"]]))
    0.5
    """
    how = (average, suffix, mode, sample_weight, zero_division, scheme)
    return _one_score(1, "recall", y_true, y_pred, *how)


def performance_measure(y_true: Any, y_pred: Any) -> dict[str, int]:
    """Return how many labels are true or false positives or negatives, O being negative.

    Examples
    --------
    >>> performance_measure([["O", "B-PER", "B-PER"]], [["B-PER", "B-PER", "O"]])
    {'TP': 1, 'FP': 1, 'FN': 1, 'TN': 0}
    """
    out = {"TP": 0, "FP": 0, "FN": 0, "TN": 0}
    for (true, pred), count in Counter(zip(*_flat(y_true, y_pred), strict=False)).items():
        if true == pred:
            out["TN" if true == "O" else "TP"] += count
        else:
            out["FN" if pred == "O" else "FP"] += count
    return out


def classification_report(
    y_true: Labels,
    y_pred: Labels,
    digits: int = 2,
    suffix: bool = False,
    output_dict: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: Any = "warn",
    scheme: type[Token] | None = None,
) -> Any:
    """Return the scores of each type and their averages, as text or as a dict.

    Parameters
    ----------
    y_true, y_pred : list of list of str
    digits : int
        After the point.
    suffix : bool
        Whether labels end with their prefix.
    output_dict : bool
    mode : {None, "strict"}
        With ``"strict"``, only what the scheme allows is a chunk.
    sample_weight
        Taken, and not used, as in the original.
    zero_division : {"warn", 0, 1}
        What a division by zero gives.
    scheme : subclass of Token, optional
        With ``mode="strict"``; left out, what `auto_detect` finds.

    Examples
    --------
    >>> y_true = [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    >>> y_pred = [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    >>> print(classification_report(y_true, y_pred))
                  precision    recall  f1-score   support
    <BLANKLINE>
            MISC       0.00      0.00      0.00         1
             PER       1.00      1.00      1.00         1
    <BLANKLINE>
       micro avg       0.50      0.50      0.50         2
       macro avg       0.50      0.50      0.50         2
    weighted avg       0.50      0.50      0.50         2
    <BLANKLINE>
    """
    if mode == "strict":
        return v1.classification_report(
            y_true,
            y_pred,
            digits=digits,
            output_dict=output_dict,
            sample_weight=sample_weight,
            zero_division=zero_division,
            scheme=scheme,
            suffix=suffix,
        )
    counted = _Counted.of(y_true, y_pred, suffix)

    def sums() -> Sums:
        v1.check_consistent_length(y_true, y_pred)
        return counted.sums()

    return v1._report(counted.names, sums, digits, output_dict, zero_division)


def _one_score(
    place: int,
    metric: str,
    y_true: Labels,
    y_pred: Labels,
    average: str | None,
    suffix: bool,
    mode: str | None,
    sample_weight: Any,
    zero_division: Any,
    scheme: type[Token] | None,
) -> Any:
    strict = mode == "strict" and scheme
    scores: Any = v1.precision_recall_fscore_support if strict else precision_recall_fscore_support
    return scores(
        y_true,
        y_pred,
        average=average,
        warn_for=(metric,),
        beta=1,
        sample_weight=sample_weight,
        zero_division=zero_division,
        suffix=suffix,
        **({"scheme": scheme} if strict else {}),
    )[place]


def _flat(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    if any(isinstance(labels, list) for labels in y_true):
        return list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))
    return y_true, y_pred


class _LabelNumbers(dict[str, int]):
    """Numbers of labels, with the tag and the type of each; a label that seems to be none of chunks is warned of."""

    def __init__(self, suffix: bool) -> None:
        self.suffix = suffix
        self.tags: list[int] = []  # code points
        self.type_numbers: list[int] = []
        self.types: list[str] = []
        self.known: dict[str, int] = {}

    def __missing__(self, label: str) -> int:
        tag, kind = self._suffixed(label) if self.suffix else self._prefixed(label)
        self.tags.append(ord(tag))
        self.type_numbers.append(self.known.setdefault(kind, len(self.known)))
        if len(self.types) < len(self.known):
            self.types.append(kind)
        self[label] = len(self.tags) - 1
        return self[label]

    def _prefixed(self, label: str) -> tuple[str, str]:
        if label not in _PLAIN and not label.startswith(("B-", "I-", "E-", "S-")):
            _warn_of(label)
        return label[0], label[1:].split("-", maxsplit=1)[-1] or "_"

    def _suffixed(self, label: str) -> tuple[str, str]:
        if label not in _PLAIN and not label.endswith(("-B", "-I", "-E", "-S")):
            _warn_of(label)
        return label[-1], label[:-1].rsplit("-", maxsplit=1)[0] or "_"


_PLAIN = ("O", "B", "I", "E", "S")


def _warn_of(label: str) -> None:
    warnings.warn(f"{label} seems not to be NE tag.", stacklevel=2)


class _Chunks(NamedTuple):
    """Chunks in the order of their ends, each the token after its last."""

    ends: Array
    begins: Array
    types: Array


def _chunks(y: Any, labels: _LabelNumbers) -> _Chunks:
    """The chunks of labels, or of sentences with an O after each: `start_of_chunk`, `end_of_chunk` at all tokens."""
    flat: list[str] = []
    for sentence in y if any(isinstance(s, list) for s in y) else [y]:
        flat += sentence
        flat.append("O")
    numbers = np.fromiter(map(labels.__getitem__, flat), dtype=np.int64, count=len(flat))
    tag = np.array(labels.tags, dtype=np.int64)[numbers]
    kind = np.array(labels.type_numbers, dtype=np.int64)[numbers]
    # Before the first label there is an O, of a type that no label has.
    tag_before = np.concatenate([[ord("O")], tag[:-1]]).astype(np.int64)
    kind_before = np.concatenate([[-1], kind[:-1]]).astype(np.int64)
    other = kind_before != kind
    ended = _among(tag_before, "ES") | (_among(tag_before, "BI") & _among(tag, "BSO"))
    ended |= other & ~_among(tag_before, "O.")
    begun = _among(tag, "BS") | (_among(tag_before, "ESO") & _among(tag, "EI"))
    begun |= other & ~_among(tag, "O.")
    begins = np.maximum.accumulate(np.where(begun, np.arange(len(flat)), 0))
    ends = np.flatnonzero(ended)
    return _Chunks(ends, begins[ends - 1], kind_before[ends])


def _among(tags: Array, letters: str) -> Array:
    found: Array = tags == ord(letters[0])
    for letter in letters[1:]:
        found |= tags == ord(letter)
    return found


class _Counted(NamedTuple):
    """The chunks of true and predicted labels, their types numbered alike, and the names of the types that occur."""

    true: _Chunks
    pred: _Chunks
    types: list[str]
    names: list[str]

    @classmethod
    def of(cls, y_true: Iterable[Any], y_pred: Iterable[Any], suffix: bool) -> _Counted:
        labels = _LabelNumbers(suffix)
        true, pred = _chunks(y_true, labels), _chunks(y_pred, labels)
        occur = np.union1d(true.types, pred.types).tolist()
        return cls(true, pred, labels.types, sorted(labels.types[number] for number in occur))

    def sums(self) -> Sums:
        """Predicted, right and true chunks of each type. At most one chunk ends at a token, so ends tell them apart."""
        if not self.names:
            empty = np.array([], dtype=np.int32)
            return empty, empty, empty
        _, at_true, at_pred = np.intersect1d(self.true.ends, self.pred.ends, assume_unique=True, return_indices=True)
        same = (self.true.begins[at_true] == self.pred.begins[at_pred]) & (
            self.true.types[at_true] == self.pred.types[at_pred]
        )
        numbers = {kind: number for number, kind in enumerate(self.types)}
        order = [numbers[name] for name in self.names]
        counts = (np.bincount(types, minlength=len(self.types))[order] for types in self._types(at_true[same]))
        pred_sum, tp_sum, true_sum = counts
        return pred_sum, tp_sum, true_sum

    def _types(self, right: Array) -> tuple[Array, Array, Array]:
        return self.pred.types, self.true.types[right], self.true.types
