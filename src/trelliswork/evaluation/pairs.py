"""Checks of the input of evaluations: gold and guessed label sequences, in pairs.

Both may be lists, tuples, arrays or generators; only one pair at a time is in memory. Errors name the sequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import numpy as np

from trelliswork.errors import InvalidInput, shown
from trelliswork.labels.coded import LabelLists, checked_label_list

__all__ = ["LabelLists", "PairCounts", "in_order", "pair_counts", "paired", "zipped"]

PairCounts = Counter[tuple[Any, Any]]


def paired(y_true: LabelLists, y_pred: LabelLists) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield the gold and the guessed labels of each sequence, as lists of one length.

    Examples
    --------
    >>> list(paired([("D", "N")], iter([["D", "V"]])))
    [(['D', 'N'], ['D', 'V'])]
    """
    for i, (gold, guess) in enumerate(zipped(y_true, y_pred, "y_true", "y_pred")):
        gold = checked_label_list(gold, "y_true", i)
        guess = checked_label_list(guess, "y_pred", i)
        if len(gold) != len(guess):
            raise InvalidInput(
                f"y_pred[{i}] has {len(guess)} labels but y_true[{i}] has {len(gold)}. "
                "Every token needs one of each: check that both were split at the same places."
            )
        yield gold, guess


def zipped(first: Iterable[Any], second: Iterable[Any], first_name: str, second_name: str) -> Iterator[tuple[Any, Any]]:
    """Yield the items side by side; two collections of different lengths are refused where the shorter one ends."""
    for name, value in ((first_name, first), (second_name, second)):
        if isinstance(value, str | bytes | dict | set | frozenset) or not _is_iterable(value):
            raise InvalidInput(f"{name} is {shown(value)}; expected a list with one item for each sequence.")
    for i, (a, b) in enumerate(zip_longest(first, second, fillvalue=_MISSING)):
        if a is _MISSING or b is _MISSING:
            shorter, longer = (first_name, second_name) if a is _MISSING else (second_name, first_name)
            raise InvalidInput(
                f"{shorter} has {i} sequences but {longer} has more. "
                f"Every sequence needs its item in both: {longer}[{i}] is the first without one."
            )
        yield a, b


def pair_counts(pairs: Iterable[tuple[list[Any], list[Any]]]) -> PairCounts:
    """Return how often each (gold, guess) pair of labels occurs; tokens whose gold label is None are ignored."""
    counts: PairCounts = Counter()
    for gold, guess in pairs:
        counts.update(zip(gold, guess, strict=True))
    return labelled(counts)


def labelled(counts: PairCounts) -> PairCounts:
    """Return the counts without those of tokens that have no gold label; NaN, which equals nothing, is refused."""
    for gold, guess in counts:
        if gold != gold or guess != guess:
            name = "y_true" if gold != gold else "y_pred"
            raise InvalidInput(f"{name} has the label NaN, which equals nothing. Use None for a token without a label.")
    return Counter({pair: count for pair, count in counts.items() if pair[0] is not None})


def in_order(labels: Iterable[Any]) -> list[Any]:
    """Return the distinct labels in their own order, or by type and spelling if they have no common order.

    Examples
    --------
    >>> in_order(["O", "B-NP", "O"]), in_order([2, "O", 10])
    (['B-NP', 'O'], [10, 2, 'O'])
    """
    distinct = set(labels)
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))


_MISSING: Any = object()


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and value.ndim == 0)
