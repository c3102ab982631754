"""Label sequences as numbers, and what is counted in each sequence: the ground of resampling and cross-validation.

Counting once per sequence makes every sum over sequences (a fold, a bootstrap sample) a sum of rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.evaluation.pairs import LabelLists, checked_label_list, shown
from trelliswork.evaluation.scores import Score
from trelliswork.labels.ragged import offsets_of, positions
from trelliswork.labels.span_labels import SpanLabels

__all__ = ["MEASURES", "CodedLabels", "Codes", "checked_measure", "coded", "counts_per_sequence", "f1_of", "score_of"]

Codes = npt.NDArray[np.integer]
Ints = npt.NDArray[np.int64]

MEASURES = ("f1", "token_f1", "accuracy")


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """Label sequences as numbers.

    Parameters
    ----------
    names : list of labels
        The label of each number, in the order of first sight.
    codes : (N,) int array
        The labels of all tokens, one sequence after the other.
    offsets : (n + 1,) int array
        Where each sequence begins, and where the last ends.
    """

    names: list[Any]
    codes: Codes
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lists(self) -> list[list[Any]]:
        """Return the labels as lists.

        Examples
        --------
        >>> coded([["D", "N"], [], ["D"]]).lists()
        [['D', 'N'], [], ['D']]
        """
        labels = [self.names[code] for code in self.codes.tolist()]
        return [labels[begin:end] for begin, end in pairwise(self.offsets.tolist())]

    def some(self, sequences: npt.NDArray[np.intp]) -> CodedLabels:
        """Return these sequences, in this order."""
        offsets = offsets_of(np.diff(self.offsets)[sequences])
        return CodedLabels(self.names, self.codes[positions(self.offsets, sequences)], offsets)

    def require_like(self, other: CodedLabels, name: str, others_name: str) -> None:
        """Refuse labels that are not for the same tokens."""
        if len(self) != len(other):
            raise InvalidInput(
                f"{name} has {len(self)} sequences but {others_name} has {len(other)}. "
                "Every sequence needs its labels in both."
            )
        wrong = np.flatnonzero(np.diff(self.offsets) != np.diff(other.offsets))
        if len(wrong):
            i = int(wrong[0])
            raise InvalidInput(
                f"{name}[{i}] has {np.diff(self.offsets)[i]} labels but {others_name}[{i}] has "
                f"{np.diff(other.offsets)[i]}. Every token needs one of each: check that both were split at the same "
                "places."
            )


def coded(y: LabelLists, name: str = "y", known: Sequence[Hashable] = ()) -> CodedLabels:
    """Return label sequences as numbers, those of ``known`` first; every token needs one label.

    Parameters
    ----------
    y : iterable of sequences of labels
        Labels of any hashable type but None.
    name : str
        What errors call it.
    known : sequence of labels
        Labels whose numbers are their places here.
    """
    if isinstance(y, str | bytes | dict | set | frozenset) or not hasattr(y, "__iter__"):
        raise InvalidInput(f"{name} is {shown(y)}; expected a list with the labels of each sequence.")
    numbers: dict[Any, int] = {label: code for code, label in enumerate(known)}
    codes: list[int] = []
    offsets = [0]
    for i, labels in enumerate(y):
        codes += [numbers.setdefault(label, len(numbers)) for label in checked_label_list(labels, name, i)]
        offsets.append(len(codes))
        if None in numbers:
            raise InvalidInput(f"{name}[{i}] has a token without a label (None). Here every token needs one.")
    return CodedLabels(list(numbers), np.array(codes, dtype=np.int32), np.array(offsets, dtype=np.int64))


def checked_measure(measure: Any, names: Sequence[Any], name: str = "measure") -> str:
    """Return the name of a measure; ``"auto"`` is F1 of spans if the labels spell spans, else accuracy.

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
    """Return, for each sequence, how many were right, guessed and there: (n, 3) numbers.

    Parameters
    ----------
    gold, guess : CodedLabels
        Of the same tokens; the names of one begin with all names of the other.
    measure : {"f1", "token_f1", "accuracy"}
        What is counted: exact spans as conlleval reads them, tokens inside of spans, or all tokens.
    outside : label
        The label of tokens in no span.

    Examples
    --------
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
    """Return the score of sequences whose counts these are."""
    correct, found, support = counts.sum(axis=0).tolist() if len(counts) else (0, 0, 0)
    return Score(correct, found, support)


def f1_of(sums: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return F1 from sums of counts (..., 3): 2 correct / (found + support), 0 where nothing is there.

    Where all tokens are counted it is their accuracy.
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
