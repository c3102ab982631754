"""Confusion tables of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.pairs import PairCounts, in_order, pair_counts, paired
from trelliswork.evaluation.text import aligned
from trelliswork.labels.coded import LabelLists

__all__ = ["Confused", "Confusion", "confusion_of", "confusion_table"]


class Confused(NamedTuple):
    """A gold label, the label guessed instead, and how often."""

    gold: Any
    guess: Any
    tokens: int


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often each label was guessed for each.

    Parameters
    ----------
    labels : list of K labels
        All gold and guessed labels, in order.
    counts : (K, K) array of int
        ``counts[a, b]`` tokens are ``labels[a]`` and were guessed to be ``labels[b]``.

    Examples
    --------
    >>> table = confusion_table([["D", "N", "V"]], [["D", "N", "N"]])
    >>> print(table)
    gold \\ guess  D  N  V
    D             1  .  .
    N             .  1  .
    V             .  1  .
    >>> table.most_frequent(1)
    [Confused(gold='V', guess='N', tokens=1)]
    """

    labels: list[Any]
    counts: npt.NDArray[np.int64]

    def most_frequent(self, n: int = 10) -> list[Confused]:
        """Return up to ``n`` pairs of different labels, the most often confused first; ties in label order."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InvalidInput(f"n is {shown(n)}; expected how many pairs are wanted, 0 or more.")
        wrong = self._wrong()
        order = np.argsort(-wrong, axis=None, kind="stable")[:n]
        pairs = zip(*np.unravel_index(order, wrong.shape), strict=True)
        return [Confused(self.labels[a], self.labels[b], int(wrong[a, b])) for a, b in pairs if wrong[a, b]]

    def as_dict(self) -> dict[str, Any]:
        """Return labels and counts for JSON; labels are written as strings."""
        return {"labels": [str(label) for label in self.labels], "counts": self.counts.tolist()}

    def text(self, max_labels: int = 20) -> str:
        """Return the table of the most often confused labels as text, with gold rows and guessed columns.

        A dot is a zero. If there are more than ``max_labels`` labels, the others are omitted, and a last line says so.
        """
        wrong = self._wrong()
        errors = wrong.sum(axis=0) + wrong.sum(axis=1)
        rows = np.sort(np.argsort(-errors, kind="stable")[: max(int(max_labels), 0)])
        head = [str(self.labels[a]) for a in rows]
        cells = [[str(count) if count else "." for count in self.counts[a, rows]] for a in rows]
        lines = aligned([["gold \\ guess", *head], *([name, *row] for name, row in zip(head, cells, strict=True))])
        left_out = len(self.labels) - len(rows)
        return "\n".join([*lines, f"({left_out} labels with fewer errors are left out)"] if left_out else lines)

    def __str__(self) -> str:
        return self.text()

    def _wrong(self) -> npt.NDArray[np.int64]:
        return self.counts - np.diag(np.diag(self.counts))


def confusion_table(y_true: LabelLists, y_pred: LabelLists) -> Confusion:
    """Return how often each label was guessed for each.

    Parameters
    ----------
    y_true, y_pred : iterables of n sequences of labels
        Gold and guessed labels, of any hashable type. Tokens whose gold label is None are ignored.

    Returns
    -------
    Confusion

    Examples
    --------
    >>> confusion_table([["O", "B"], ["B"]], [["O", "O"], ["B"]]).counts
    array([[1, 1],
           [0, 1]])
    """
    return confusion_of(pair_counts(paired(y_true, y_pred)))


def confusion_of(counts: PairCounts) -> Confusion:
    """Return the table for the given counts of pairs of labels."""
    labels = in_order(label for pair in counts for label in pair)
    index = {label: k for k, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)), dtype=np.int64)
    for (gold, guess), count in counts.items():
        table[index[gold], index[guess]] = count
    return Confusion(labels, table)
