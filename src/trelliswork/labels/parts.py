"""Parts of labels: what they are, and which further codes of weights labels have by them.

Labels that have a part share its weights, besides those that each has for itself. A part that only one label has says
no more than the label does, and is left out::

    labels   B-PER  I-PER  B-LOC  I-LOC  O         codes of attributes   0 .. 4
    parts    B  I  LOC  PER                                              5 .. 8
    B-PER    codes 0, 5 and 8
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput

__all__ = ["LabelParts", "parts_of"]

Ints = npt.NDArray[np.int64]


class LabelParts(NamedTuple):
    """The parts that labels share."""

    n_labels: int
    names: list[str]  # sorted
    offsets: Ints  # (K + 1,): where the parts of each label begin
    numbers: Ints  # into names, rising for each label

    @classmethod
    def of(cls, given: Mapping[str, Iterable[str]], labels: Sequence[str]) -> LabelParts:
        """Return what labels share of their parts.

        Examples
        --------
        >>> found = LabelParts.of({"B-PER": ["B", "PER"], "I-PER": ["I", "PER"], "O": ["O"]}, ["B-PER", "I-PER", "O"])
        >>> found.names, found.offsets.tolist(), found.numbers.tolist()
        (['PER'], [0, 1, 2, 2], [0, 0])
        """
        own = [set(given[label]) for label in labels]
        counts = Counter(part for parts in own for part in parts)
        names = sorted(part for part, n in counts.items() if n > 1)
        number = {name: i for i, name in enumerate(names)}
        rows = [sorted(number[part] for part in parts if part in number) for parts in own]
        offsets = np.cumsum([0, *map(len, rows)])
        return cls(len(labels), names, offsets, np.array([part for row in rows for part in row], dtype=np.int64))

    def row(self, label: int) -> Ints:
        """Return the numbers of the parts of a label."""
        return self.numbers[self.offsets[label] : self.offsets[label + 1]]

    def codes(self) -> tuple[Ints, Ints]:
        """Return the codes of attributes that each label has, as offsets and codes: its own, and those of its parts."""
        K = self.n_labels
        rows = [np.r_[label, K + self.row(label)] for label in range(K)]
        return np.cumsum([0, *map(len, rows)]), np.concatenate(rows)

    def pair_codes(self) -> tuple[Ints, Ints]:
        """Return the codes of transitions that each pair of labels has, as offsets and codes.

        They are that of the pair, K * K in all, and one for each pair of a part of the one and a part of the other.
        """
        K, P = self.n_labels, len(self.names)
        rows = [
            np.r_[a * K + b, (K * K + self.row(a)[:, None] * P + self.row(b)).ravel()]
            for a in range(K)
            for b in range(K)
        ]
        return np.cumsum([0, *map(len, rows)]), np.concatenate(rows)


def parts_of(
    label_parts: str | Mapping[str, Iterable[str]] | Callable[[str], Iterable[str]], labels: Sequence[str]
) -> dict[str, list[str]]:
    """Return the parts of each label, from whatever a user says.

    Parameters
    ----------
    label_parts : str, dict or callable
        What stands between parts; or the parts of each label; or a function from a label to them.

    Examples
    --------
    >>> parts_of("-", ["B-PER", "O"])
    {'B-PER': ['B', 'PER'], 'O': ['O']}
    """
    found = {}
    for label in labels:
        parts: Any
        if isinstance(label_parts, str):
            parts = [part for part in label.split(label_parts) if part]
        elif isinstance(label_parts, Mapping):
            if label not in label_parts:
                raise InvalidInput(f"label_parts does not say which parts the label {label!r} has.")
            parts = label_parts[label]
        else:
            parts = label_parts(label)
        if isinstance(parts, str) or not isinstance(parts, Iterable):
            raise InvalidInput(f"label_parts says {parts!r} of the label {label!r}; expected a list of parts.")
        found[label] = list(parts)
        if not all(isinstance(part, str) for part in found[label]):
            raise InvalidInput(f"label_parts says {parts!r} of the label {label!r}; a part is a string.")
    return found
