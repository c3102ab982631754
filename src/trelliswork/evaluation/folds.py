"""Splits of sequences for cross-validation."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown

__all__ = ["Split", "k_folds", "splits_of"]

Indices = npt.NDArray[np.intp]


class Split(NamedTuple):
    """The numbers of the sequences for training and of those held out, in increasing order."""

    train: Indices
    test: Indices


def k_folds(
    n: int, folds: int = 5, *, groups: Iterable[Hashable] | None = None, random_state: int | None = 0
) -> list[Split]:
    """Return ``folds`` ways to hold out a part of n sequences; each sequence is held out once.

    Parameters
    ----------
    n : int
        Number of sequences.
    folds : int
        Number of parts, whose sizes differ by at most one.
    groups : iterable of n hashables, optional
        The group of each sequence, such as its document; the sequences of a group are held out together. The parts are
        then as even as whole groups allow.
    random_state : int or None
        The seed for shuffling; with None, the order is kept and folds are consecutive sequences.

    Examples
    --------
    >>> [split.test.tolist() for split in k_folds(7, 3, random_state=None)]
    [[0, 1, 2], [3, 4], [5, 6]]
    >>> [split.test.tolist() for split in k_folds(5, 2, groups=["a", "a", "b", "b", "b"])]
    [[2, 3, 4], [0, 1]]
    """
    folds = _checked_count("folds", folds, least=2)
    rng = None if random_state is None else np.random.default_rng(random_state)
    if groups is None:
        members = [[i] for i in range(n)]
    else:
        listed = list(groups)
        if len(listed) != n:
            raise InvalidInput(f"groups has {len(listed)} entries but there are {n} sequences.")
        by_group: dict[Hashable, list[int]] = {}
        for i, group in enumerate(listed):
            by_group.setdefault(group, []).append(i)
        members = list(by_group.values())
    if len(members) < folds:
        what = "sequences" if groups is None else "groups"
        raise InvalidInput(f"folds is {folds}, but there are only {len(members)} {what}. Ask for fewer folds.")
    order = np.arange(len(members)) if rng is None else rng.permutation(len(members))
    parts: list[Any] = np.array_split(order, folds) if groups is None else _even(members, order, folds)
    everything = np.arange(n)
    tests = [np.sort(np.asarray(part, dtype=np.intp)) for part in parts]
    return [Split(np.setdiff1d(everything, test, assume_unique=True), test) for test in tests]


def splits_of(folds: Any, n: int, groups: Iterable[Hashable] | None, random_state: int | None) -> list[Split]:
    """Return the splits for ``folds``: a number, pairs of indices, or an object with scikit-learn's `split`.

    Examples
    --------
    >>> splits_of([([0, 1], [2])], 3, None, 0)[0].test.tolist()
    [2]
    """
    if isinstance(folds, int | np.integer):
        return k_folds(n, int(folds), groups=groups, random_state=random_state)
    if hasattr(folds, "split") and not isinstance(folds, str | bytes):
        pairs = list(folds.split(np.zeros(n), groups=groups))
    elif isinstance(folds, Iterable) and not isinstance(folds, str | bytes | dict):
        pairs = list(folds)
    else:
        raise InvalidInput(f"folds is {shown(folds)}; expected a number, or a list of (train, test) index pairs.")
    if not pairs:
        raise InvalidInput("folds is empty: expected at least one (train, test) pair.")
    return [_checked_split(pair, n, i) for i, pair in enumerate(pairs)]


def _even(members: Sequence[Sequence[int]], order: Indices, folds: int) -> list[list[int]]:
    """Give each group, the largest first, to the part that is smallest so far."""
    parts: list[list[int]] = [[] for _ in range(folds)]
    for group in sorted(order.tolist(), key=lambda group: -len(members[group])):
        min(parts, key=len).extend(members[group])
    return parts


def _checked_split(pair: Any, n: int, i: int) -> Split:
    try:
        train, test = (np.asarray(part) for part in pair)
    except (TypeError, ValueError):
        raise InvalidInput(f"folds[{i}] is {shown(pair)}; expected a pair of index lists, train and test.") from None
    for name, part in (("train", train), ("test", test)):
        if part.ndim != 1 or not len(part) or part.dtype.kind not in "iu" or part.min() < 0 or part.max() >= n:
            raise InvalidInput(f"folds[{i}]: {name} must be a list of indices from 0 to {n - 1}, not empty.")
    split = Split(np.unique(train).astype(np.intp), np.unique(test).astype(np.intp))
    if len(np.intersect1d(*split, assume_unique=True)):
        raise InvalidInput(f"folds[{i}]: a sequence is both in train and in test.")
    return split


def _checked_count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidInput(f"{name} is {shown(value)}; expected a whole number, at least {least}.")
    return int(value)
