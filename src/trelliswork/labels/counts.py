"""How often labels may occur in a sequence, from whatever a user says, and whether the labels to learn from keep to it.

A count is kept in training and in every answer. Its structure is any structure of labels with rows that count them
(``core/structures/constrained.hpp``): best outputs are exact, sums over all outputs are not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import as_count
from trelliswork.errors import InvalidInput, shown
from trelliswork.labels.encoded import Gold

__all__ = ["LabelCount", "counting", "counts_of", "require_counts"]


class LabelCount(NamedTuple):
    """Labels that together occur so often at least, and so often at most (None: as often as they like)."""

    labels: tuple[str, ...]
    least: int
    most: int | None

    def __str__(self) -> str:
        name, n = ("at_least", self.least) if self.most is None else ("at_most", self.most)
        return f"{name}={{{self.labels[0] if len(self.labels) == 1 else self.labels!r}: {n}}}"

    def numbers(self, classes: Sequence[str]) -> list[int]:
        """Return the numbers of the labels; raise `ValueError` for one that there is not."""
        for label in self.labels:
            if label not in classes:
                raise ValueError(f"{self} counts {label!r}, which is not a label: these are {', '.join(classes)}")
        return [list(classes).index(label) for label in self.labels]

    @classmethod
    def read(cls, given: Any) -> LabelCount:
        """Return that of a file that may say anything."""
        labels, least, most = given
        numbers = (least, 0 if most is None else most)
        if (
            not labels
            or not all(isinstance(x, str) for x in labels)
            or any(type(n) is not int or n < 0 for n in numbers)
        ):
            raise ValueError(f"structure.counts has {given!r}")
        return cls(tuple(labels), least, most)


def counts_of(at_most: Any, at_least: Any) -> list[LabelCount]:
    """Return what two mappings, from a label or several to a number, say.

    Examples
    --------
    >>> counts_of({"B-NP": 3}, {("B-VP", "B-ADJP"): 1})
    [LabelCount(labels=('B-NP',), least=0, most=3), LabelCount(labels=('B-VP', 'B-ADJP'), least=1, most=None)]
    """
    found = []
    for name, given in (("at_most", at_most), ("at_least", at_least)):
        if given is None:
            continue
        if not isinstance(given, Mapping):
            raise InvalidInput(
                f"{name} must be a dict from labels to numbers, such as {{'B-NP': 3}}, found {shown(given)}."
            )
        for key, number in given.items():
            labels = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, tuple | frozenset) else ()
            if not labels or not all(isinstance(label, str) for label in labels):
                raise InvalidInput(f"{name} has the key {shown(key)}; expected a label, or a tuple of labels.")
            n = as_count(f"{name}[{key!r}]", number, least=0)
            found.append(LabelCount(labels, 0, n) if name == "at_most" else LabelCount(labels, n, None))
    return found


def counting(structure: _core.PartStructure, counts: Sequence[LabelCount], classes: Sequence[str]) -> Any:
    """Return the structure with these counts kept; its first block is tokens by labels."""
    rows = []
    for count in counts:
        of_labels = np.zeros(len(classes))
        of_labels[count.numbers(classes)] = 1.0
        rows.append((0, of_labels, float(count.least), np.inf if count.most is None else float(count.most)))
    return _core.PartStructure.constrained(structure, rows) if rows else structure


def require_counts(gold: Gold, counts: Sequence[LabelCount], classes: Sequence[str]) -> None:
    """Refuse labels to learn from that do not keep to counts; their numbers are those of the classes."""
    if counts and not gold.complete:
        raise InvalidInput(
            "at_most and at_least need every token of y to have one label: what is not known would have to be summed "
            "over. Leave them out, or use an automaton."
        )
    for count in counts:
        try:
            numbers = count.numbers(classes)
        except ValueError as error:
            raise InvalidInput(f"{error}.") from None
        found = np.add.reduceat(np.r_[np.isin(gold.codes, numbers), False].astype(np.int64), gold.token_offsets[:-1])
        own: npt.NDArray[np.int64] = np.where(gold.lengths > 0, found, 0)
        wrong = np.flatnonzero((own < count.least) | (own > (np.inf if count.most is None else count.most)))
        if len(wrong):
            i, names = int(wrong[0]), " and ".join(map(repr, count.labels))
            raise InvalidInput(
                f"{gold.argument}[{i}] has {names} {own[i]} times, which {count} does not allow. Leave such sequences "
                "out, or relax it."
            )
