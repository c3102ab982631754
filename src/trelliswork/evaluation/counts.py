"""Counts of each sequence, by measure: the basis of resampling and cross-validation.

Counting once per sequence makes every sum over sequences (a fold, a bootstrap sample) a sum of rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.scores import Score
from trelliswork.labels.coded import CodedLabels
from trelliswork.labels.span_labels import SpanLabels

__all__ = ["MEASURES", "checked_measure", "counts_per_sequence", "f1_of", "score_of"]

Ints = npt.NDArray[np.int64]

MEASURES = ("f1", "token_f1", "accuracy")


def checked_measure(measure: Any, names: Sequence[Any], name: str = "measure") -> str:
    """Return the name of a measure; ``"auto"`` is F1 of spans if the labels encode spans, else accuracy.

    Examples
    --------
    >>> checked_measure("auto", ["O", "B-NP", "I-NP"]), checked_measure("auto", ["DET", "NOUN"])
    ('f1', 'accuracy')
    """
    if not isinstance(measure, str) or measure not in ("auto", *MEASURES):
        raise InvalidInput(f'{name} is {shown(measure)}; expected "auto", "f1", "token_f1" or "accuracy".')
    spelled = all(isinstance(label, str) for label in names) and SpanLabels.of(list(names)) is not None
    if measure == "auto":
        return "f1" if spelled else "accuracy"
    if measure == "f1" and not spelled:
        raise InvalidInput(
            f'{name} is "f1", but the labels ({", ".join(map(str, names[:4]))}, ...) spell no spans in any scheme. '
            'Use "accuracy".'
        )
    return measure


def counts_per_sequence(gold: CodedLabels, guess: CodedLabels, measure: str, outside: Hashable = "O") -> Ints:
    """Return, for each sequence, the numbers of correct, guessed and gold items, (n, 3).

    Parameters
    ----------
    gold, guess : CodedLabels
        Of the same tokens; the names of one begin with all names of the other.
    measure : {"f1", "token_f1", "accuracy"}
        What to count: exact spans in the way of conlleval, tokens inside of spans, or all tokens.
    outside : label
        The label of tokens in no span.

    Examples
    --------
    >>> from trelliswork.labels.coded import coded
    >>> gold = coded([["B-NP", "I-NP"], ["O", "B-VP"]])
    >>> guess = coded([["B-NP", "O"], ["O", "B-VP"]], known=gold.names)
    >>> counts_per_sequence(gold, guess, "f1").tolist()
    [[0, 1, 1], [1, 1, 1]]
    >>> counts_per_sequence(gold, guess, "token_f1").tolist()
    [[1, 1, 2], [1, 1, 1]]
    """
    names = gold.names if len(gold.names) >= len(guess.names) else guess.names
    if measure == "f1":
        return _span_counts(gold, guess, names)
    right = gold.codes == guess.codes
    if measure == "accuracy":
        everything = np.ones(len(right), dtype=np.bool_)
        return _summed([right, everything, everything], gold.offsets)
    number = names.index(outside) if outside in names else -1
    there, found = gold.codes != number, guess.codes != number
    return _summed([right & there, found, there], gold.offsets)


def score_of(counts: Ints) -> Score:
    """Return the score of sequences with these counts."""
    correct, found, support = counts.sum(axis=0).tolist() if len(counts) else (0, 0, 0)
    return Score(correct, found, support)


def f1_of(sums: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return F1 from sums of counts, (..., 3): 2 correct / (found + support), 0 if both are 0.

    If all tokens are counted, it equals the accuracy.
    """
    divisor = sums[..., 1] + sums[..., 2]
    f1: npt.NDArray[np.float64] = 2 * sums[..., 0] / np.maximum(divisor, 1)
    return f1


def _span_counts(gold: CodedLabels, guess: CodedLabels, names: Sequence[Any]) -> Ints:
    if all(label == "O" for label in names):
        return np.zeros((len(gold), 3), dtype=np.int64)
    spelled = SpanLabels.of(list(names))
    if spelled is None:
        raise InvalidInput(f"the labels {', '.join(map(repr, names[:4]))}, ... spell no spans in any scheme.")
    firsts = np.zeros(len(gold.codes), dtype=np.bool_)
    starts = gold.offsets[:-1]
    firsts[starts[starts < len(firsts)]] = True
    there, found = (np.stack(spelled.spans(labels, firsts), axis=1) for labels in (gold.codes, guess.codes))
    # A span is its type, start and stop: two rows are equal where all three are.
    right = there[_rows_in(there, found)]
    counts = [_by_sequence(spans[:, 1], gold.offsets) for spans in (right, found, there)]
    return np.stack(counts, axis=1)


def _rows_in(rows: Ints, others: Ints) -> npt.NDArray[np.bool_]:
    """Whether each span is among the others; in both, starts rise."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    places = np.minimum(np.searchsorted(others[:, 1], rows[:, 1]), len(others) - 1)
    same: npt.NDArray[np.bool_] = (others[places] == rows).all(axis=1)
    return same


def _by_sequence(tokens: Ints, offsets: Ints) -> Ints:
    """How many of these tokens, in order, each sequence has."""
    return np.diff(np.searchsorted(tokens, offsets)).astype(np.int64)


def _summed(flags: list[npt.NDArray[np.bool_]], offsets: Ints) -> Ints:
    """Return the sums of flags over each sequence, a column for each list of flags."""
    columns = []
    for flag in flags:
        running = np.concatenate([[0], np.cumsum(flag)])
        columns.append(running[offsets[1:]] - running[offsets[:-1]])
    return np.stack(columns, axis=1).astype(np.int64)
