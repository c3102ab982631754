"""What a person hands over as `y`, in numbers: one label per token, several that are possible, or none known."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import callers_level, refuse_unordered
from trelliswork.errors import InvalidInput, shown
from trelliswork.labels.tables import LabelStream, LabelTable, arrow_labels

__all__ = ["Gold", "encoded", "paired", "require_paired", "warn_of_unseen"]

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_UNLABELLED = -1  # the length of a sequence that has None in place of its labels


@dataclass(frozen=True)
class Gold:
    """The labels of a corpus as numbers.

    Attributes
    ----------
    names : list of str
        The label of each number, in the order of first sight.
    codes : int32 array
        The labels of all tokens, one after the other.
    counts : int64 array or None
        How many labels each token may have, 0 where nothing is known; None when every token has exactly one.
    lengths : int64 array
        How many tokens each sequence has; -1 for one without labels.
    argument : str
        What errors call it.

    Examples
    --------
    >>> gold = encoded([["D", "N"], [None, {"N", "V"}], None])
    >>> gold.names, gold.counts.tolist(), gold.lengths.tolist()
    (['D', 'N', 'V'], [1, 1, 0, 2], [2, 2, -1])
    """

    names: list[str]
    codes: Codes
    counts: Ints | None
    lengths: Ints
    argument: str = "y"

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def complete(self) -> bool:
        """Whether every token has exactly one label."""
        return self.counts is None and not (self.lengths == _UNLABELLED).any()

    def of(self, first: int, lengths: Ints, X: str = "X") -> Gold:
        """Return the labels of the sequences from ``first`` on, whose tokens are now known to be so many."""
        last = first + len(lengths)
        own = self.lengths[first:last]
        if len(own) < len(lengths):
            raise InvalidInput(
                f"{self.argument} has {len(self)} label lists but {X} has more sequences. "
                "Every sequence needs its labels."
            )
        unlabelled = own == _UNLABELLED
        wrong = np.flatnonzero((own != lengths) & ~unlabelled)
        if len(wrong):
            i = first + int(wrong[0])
            raise InvalidInput(
                f"{self.argument}[{i}] has {self.lengths[i]} labels but {X}[{i}] has {lengths[wrong[0]]} tokens. Every "
                "token needs one label (None if it is not known): check that both were split at the same places."
            )
        return self._slice(first, last, lengths, unlabelled)

    @cached_property
    def starts(self) -> Ints | None:
        """Where the labels of each token begin in `codes`, and where the last end; None when all have one."""
        return None if self.counts is None else np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @cached_property
    def token_offsets(self) -> Ints:
        """Where the tokens of each sequence begin, and where the last end."""
        return np.concatenate([[0], np.cumsum(np.maximum(self.lengths, 0))]).astype(np.int64)

    def renumbered(self, order: Codes) -> Gold:
        """Return the same labels by other numbers: ``order[code]`` for ``code``; names are left out."""
        return Gold([], order[self.codes], self.counts, self.lengths, self.argument)

    def _slice(self, first: int, last: int, lengths: Ints, unlabelled: npt.NDArray[np.bool_]) -> Gold:
        offsets = self.token_offsets
        begin, end = offsets[first], offsets[last]
        if self.counts is None:
            codes, counts = self.codes[begin:end], None
        else:
            starts = self.starts
            assert starts is not None
            codes, counts = self.codes[starts[begin] : starts[end]], self.counts[begin:end]
        if unlabelled.any():
            known = np.ones(end - begin, dtype=np.int64) if counts is None else counts
            parts = np.split(known, np.cumsum(np.where(unlabelled, 0, lengths))[:-1])
            silent = [
                np.zeros(n, dtype=np.int64) if none else part
                for n, none, part in zip(lengths, unlabelled, parts, strict=True)
            ]
            counts = np.concatenate([np.zeros(0, dtype=np.int64), *silent])
        return Gold(self.names, codes, counts, lengths, self.argument)


def encoded(y: Any, argument: str = "y", known: Sequence[str] = ()) -> Gold:
    """Return the labels of ``y`` as numbers, those of ``known`` first.

    Parameters
    ----------
    y : iterable of label sequences
        A label is a string; None is a token, or in place of a list a sequence, of which nothing is known; a set has
        the labels that a token may have.
    """
    y = arrow_labels(y, argument)
    if isinstance(y, LabelTable):
        return _of_table(y, argument, known)
    if isinstance(y, LabelStream):
        return _of_stream(y, argument, known)
    if y is None:
        raise InvalidInput(
            f"SequenceLabeler requires {argument} to be passed, but the target {argument} is None; "
            "expected a list of label lists, one for each sequence of X."
        )
    if isinstance(y, (str, bytes, dict, AbstractSet)) or not isinstance(y, Iterable):
        raise InvalidInput(f"{argument} is {shown(y)}; expected a list of label lists, one for each sequence of X.")
    numbers = _Numbers(known)
    codes = array("i")
    lengths: list[int] = []
    partial: list[tuple[int, list[int]]] = []  # where sequences begin that have other than one label per token
    n_tokens = 0
    for i, labels in enumerate(y):
        if labels is None:
            lengths.append(_UNLABELLED)
            continue
        refuse_unordered(labels, f"{argument}[{i}]", f"[{argument}]")
        labels = list(labels)
        try:
            codes.extend([numbers[label] for label in labels])
        except (_NotOneLabel, TypeError):
            counts = _encode_partial(labels, numbers, codes, f"{argument}[{i}]")
            partial.append((n_tokens, counts))
        lengths.append(len(labels))
        n_tokens += len(labels)
    all_codes = np.frombuffer(codes, np.int32) if codes else np.zeros(0, np.int32)
    return Gold(list(numbers), all_codes, _all_counts(partial, n_tokens), np.array(lengths, np.int64), argument)


def paired(gold: Gold, lengths: Ints, X: str) -> Gold:
    """Return the labels of all sequences of ``X``, which have these lengths."""
    require_paired(gold, len(lengths), X)
    return gold.of(0, lengths, X)


def require_paired(gold: Gold, n_sequences: int, X: str) -> None:
    """Refuse labels that are not for so many sequences."""
    if len(gold) != n_sequences:
        raise InvalidInput(
            f"{gold.argument} has {len(gold)} label lists but {X} has {n_sequences} sequences. "
            "Every sequence needs its labels."
        )


class _NotOneLabel(Exception):
    """A token whose label is None, a set, or nothing that could be one."""


def warn_of_unseen(labels: list[str], argument: str = "y_dev") -> None:
    """Warn of labels that a model has not."""
    if labels:
        warnings.warn(
            f"{argument} has labels that the model has not: {', '.join(map(repr, labels[:5]))}. They can never be "
            "predicted.",
            UserWarning,
            stacklevel=callers_level(),
        )


class _Numbers(dict[Any, int]):
    """Numbers of labels in the order of first sight."""

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__((name, code) for code, name in enumerate(known))

    def __missing__(self, label: Any) -> int:
        if not isinstance(label, str):
            raise _NotOneLabel
        return self.setdefault(_checked_name(str(label)), len(self))


def _checked_name(label: str) -> str:
    try:
        label.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"the label {label!r} has a lone surrogate in it: it is no text. Was it read in the right encoding?"
        ) from None
    return label


def _encode_partial(labels: list[Any], numbers: _Numbers, codes: array[int], place: str) -> list[int]:
    """Append the codes of one sequence and return how many each token has."""
    counts = []
    for t, label in enumerate(labels):
        if isinstance(label, str):
            candidates: list[Any] = [label]
        elif label is None:
            candidates = []
        elif isinstance(label, AbstractSet) and label and all(isinstance(item, str) for item in label):
            candidates = sorted(label)  # an order that does not change from run to run
        else:
            raise InvalidInput(
                f"{place}[{t}] is {shown(label)}; expected a label (a string), None if it is not known, or a set "
                "of the labels that are possible."
            )
        codes.extend(numbers[name] for name in candidates)
        counts.append(len(candidates))
    return counts


def _all_counts(partial: list[tuple[int, list[int]]], n_tokens: int) -> Ints | None:
    if not partial:
        return None
    counts = np.ones(n_tokens, dtype=np.int64)
    for start, part in partial:
        counts[start : start + len(part)] = part
    return counts


def _of_table(y: LabelTable, argument: str, known: Sequence[str]) -> Gold:
    lengths: Ints = np.diff(np.asarray(y._starts)).astype(np.int64)
    numbers = _Numbers(known)
    order = np.array([numbers[name] for name in y.names], dtype=np.int32)
    codes = order[y.codes] if len(order) else np.zeros(0, dtype=np.int32)
    return Gold(list(numbers), np.ascontiguousarray(codes, dtype=np.int32), None, lengths, argument)


def _of_stream(y: LabelStream, argument: str, known: Sequence[str]) -> Gold:
    """As for one table after the other; numbers are as small as they can be, since there may be many of them."""
    numbers = _Numbers(known)
    lengths = [np.zeros(0, dtype=np.int64)]
    codes = [np.zeros(0, dtype=np.uint8)]
    for table in y.tables():
        part = _of_table(table, argument, list(numbers))
        for name in part.names:
            numbers[name]
        lengths.append(part.lengths)
        codes.append(part.codes.astype(np.min_scalar_type(len(part.names))))
    return Gold(list(numbers), np.concatenate(codes), None, np.concatenate(lengths), argument)
