"""Label sequences of any kind as numbers, one label for each token: for counting and resampling.

Labels that may be missing or several, which only training knows, are in `trelliswork.labels.encoded`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown
from trelliswork.labels.ragged import offsets_of, positions

__all__ = ["CodedLabels", "Codes", "LabelLists", "checked_label_list", "coded"]

LabelLists = Iterable[Iterable[Hashable]]
Codes = npt.NDArray[np.integer]
Ints = npt.NDArray[np.int64]


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


def checked_label_list(labels: Any, name: str, i: int) -> list[Any]:
    """Return the labels of one sequence as a list; a bare label in their place is refused."""
    if isinstance(labels, str | bytes | dict | set | frozenset) or not _is_iterable(labels):
        raise InvalidInput(
            f"{name}[{i}] is {shown(labels)}; expected the labels of one sequence, such as ['B-NP', 'O']. "
            f"If {name} is a single sequence, pass [{name}]."
        )
    listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    try:
        hash(tuple(listed))
    except TypeError:
        raise InvalidInput(
            f"{name}[{i}] has a label that is not hashable; expected one string or number for each token, "
            f"found {shown(listed)}."
        ) from None
    return listed


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and value.ndim == 0)
