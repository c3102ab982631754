"""The features of alignments: attributes of every pair of items, and of every unaligned item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown

__all__ = ["PairAttributes", "columns_of", "describe_arrays", "describe_by", "describe_tokens"]

_BINS = (0.02, 0.1, 0.25, 0.5)  # of how far apart two places are, as shares of the lengths


class PairAttributes(NamedTuple):
    """Attributes of pairs, row by row, of unaligned source items, and of unaligned target items."""

    pairs: list[Any]  # n m of them
    deletions: list[Any]
    insertions: list[Any]


def describe_tokens(source: Sequence[Any], target: Sequence[Any]) -> PairAttributes:
    """Return the attributes for two sequences of characters or words; for items with attributes, the common ones.

    For a pair: whether both items are equal, or equal except for case; both items if they differ; their classes;
    whether their neighbours are equal, also crosswise; common prefixes and suffixes of words; the distance of the
    positions. For an unaligned item: the item, its class, the item with the one before, and whether the two are equal.

    Examples
    --------
    >>> found = describe_tokens("ab", "b")
    >>> found.pairs[1]
    ['same', 'consonant>consonant', 'same after', 'far 2']
    >>> found.deletions[0]
    ['alone', '=a', 'vowel', ' a']
    """
    sides: list[list[str]] = [list(source), list(target)]
    if not all(isinstance(word, str) for side in sides for word in side):
        return _of_attributes(source, target)
    a: list[Any] = [None, *sides[0], None]
    b: list[Any] = [None, *sides[1], None]
    classes = [[_class(word) for word in side] for side in sides]
    pairs = []
    for i, (x, of_x) in enumerate(zip(sides[0], classes[0], strict=True), 1):
        for j, (y, of_y) in enumerate(zip(sides[1], classes[1], strict=True), 1):
            found = ["same" if x == y else "same letters" if x.lower() == y.lower() else f"{x}>{y}", f"{of_x}>{of_y}"]
            if x != y:
                found.append("other")
            if a[i - 1] == b[j - 1]:
                found.append("same before")
            if a[i + 1] == b[j + 1]:
                found.append("same after")
            if x != y and (x == b[j + 1] or y == a[i + 1]):
                found.append("crosswise")
            if len(x) > 3 and len(y) > 3 and x != y:
                found += ["same beginning"] * (x[:3] == y[:3]) + ["same end"] * (x[-3:] == y[-3:])
            found.append(_far(i - 1, j - 1, len(sides[0]), len(sides[1])))
            pairs.append(found)
    alone = [
        [
            ["alone", f"={word}", kind, f"{'' if at == 0 else words[at - 1]} {word}"]
            + ["doubled"] * (at > 0 and words[at - 1] == word)
            for at, (word, kind) in enumerate(zip(words, kinds, strict=True))
        ]
        for words, kinds in zip(sides, classes, strict=True)
    ]
    return PairAttributes(pairs, *alone)


def describe_arrays(x: Any, place: str = "x", columns: Sequence[int] | None = None) -> PairAttributes:
    """Return the attributes of arrays: (n, m, d) of pairs, optionally with (n, e) and (m, f) of unaligned items.

    ``columns`` has the expected numbers d, or d, e and f.
    """
    arrays = _arrays(x)
    if len(arrays) not in (1, 3) or arrays[0].ndim != 3:
        raise InvalidInput(f"{place} must be an array (n, m, d), or three: (n, m, d), (n, e) and (m, f).")
    for part in arrays:
        if part.dtype.kind not in "fiub":
            raise InvalidInput(f"{place} has an array of type {part.dtype}; expected numbers.")
    n, m, _ = arrays[0].shape
    if columns is not None and _columns(arrays) != list(columns):
        raise InvalidInput(f"{place} has {_told(_columns(arrays))}; expected {_told(columns)}, as in training.")
    pairs = [_named(row) for row in arrays[0].reshape(n * m, -1)] if n * m else []
    sides: list[list[Any]] = [[["alone"]] * n, [["alone"]] * m]
    for at, (rows, size) in enumerate(zip(arrays[1:], (n, m), strict=False)):
        if rows.ndim != 2 or len(rows) != size:
            raise InvalidInput(f"{place} has an array of shape {rows.shape} for {size} items alone.")
        sides[at] = [{"alone": 1.0} | _named(row) for row in rows]
    return PairAttributes(pairs, *sides)


def columns_of(x: Any) -> list[int]:
    """Return the number of columns of a pair, and with three arrays also of a deletion and an insertion.

    Examples
    --------
    >>> columns_of(np.zeros((3, 4, 2))), columns_of((np.zeros((3, 4, 2)), np.zeros((3, 1)), np.zeros((4, 0))))
    ([2], [2, 1, 0])
    """
    return _columns(_arrays(x))


def describe_by(features: Callable[[Any, Any], Any], source: Any, target: Any, place: str = "x") -> PairAttributes:
    """Return the results of a user's function: attributes of pairs, and optionally of unaligned items.

    The function returns pairs, or (pairs, deletions, insertions). Pairs are n lists of m items, each a list of strings
    or a dict, or an array (n, m, d).
    """
    found = features(source, target)
    given = found if isinstance(found, tuple) else (found,)
    if isinstance(given[0], np.ndarray):
        described = describe_arrays(given, place)
    else:
        if len(given) not in (1, 3):
            raise InvalidInput(f"features of {place} returned {len(given)} things; expected pairs, or also both gaps.")
        sides = given[1:] or ([["alone"]] * len(source), [["alone"]] * len(target))
        for part in given:
            if isinstance(part, (str, bytes)) or not isinstance(part, Iterable):
                raise InvalidInput(f"features of {place} returned {shown(part)}; expected lists of attributes.")
        rows = [list(row) for row in given[0]]
        if any(len(row) != len(target) for row in rows):
            raise InvalidInput(f"features of {place} returned rows of pairs that are not as long as the target.")
        described = PairAttributes([item for row in rows for item in row], *(list(side) for side in sides))
    sizes = [len(part) for part in described]
    if sizes != [len(source) * len(target), len(source), len(target)]:
        raise InvalidInput(
            f"features of {place} returned attributes of {sizes[0]} pairs, {sizes[1]} deletions and {sizes[2]} "
            f"insertions, but the lengths are {len(source)} and {len(target)}."
        )
    return described


def _arrays(x: Any) -> list[npt.NDArray[Any]]:
    return [np.asarray(part) for part in (x if isinstance(x, (tuple, list)) else (x,))]


def _columns(arrays: Sequence[npt.NDArray[Any]]) -> list[int]:
    return [part.shape[-1] if part.ndim else 0 for part in arrays]


def _told(columns: Sequence[int]) -> str:
    told = f"{columns[0]} numbers of each pair"
    return told if len(columns) == 1 else f"{told}, {columns[1]} of each deletion and {columns[2]} of each insertion"


def _class(word: str) -> str:
    if len(word) == 1 and word.isalpha():
        return "vowel" if word.lower() in "aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüý" else "consonant"
    if word.isdigit():
        return "digits"
    if word.isalpha():
        return "capitals" if word.isupper() else "title" if word[0].isupper() else "letters"
    return "space" if word.isspace() else "other sign"


def _far(i: int, j: int, n: int, m: int) -> str:
    apart = abs((i + 0.5) / n - (j + 0.5) / m)
    return f"far {sum(apart > limit for limit in _BINS)}"


def _named(row: Any) -> dict[str, float]:
    return {f"x[{k}]": float(value) for k, value in enumerate(np.asarray(row).ravel().tolist()) if value != 0}


def _of_attributes(source: Sequence[Any], target: Sequence[Any]) -> PairAttributes:
    ours, theirs = ([_as_dict(item) for item in side] for side in (source, target))
    pairs = []
    for i, x in enumerate(ours):
        for j, y in enumerate(theirs):
            both = {f"both {name}": min(x[name], y[name]) for name in x if name in y}
            either = {f"only {name}": 1.0 for name in sorted(x.keys() ^ y.keys())}
            pairs.append({"pair": 1.0, _far(i, j, len(ours), len(theirs)): 1.0} | both | either)
    return PairAttributes(pairs, *([{"alone": 1.0} | item for item in side] for side in (ours, theirs)))


def _as_dict(item: Any) -> dict[str, float]:
    """Return attributes as a dict of names to numbers, from a string, a list of strings or a dict."""
    if isinstance(item, str):
        return {item: 1.0}
    if isinstance(item, Mapping):
        found = {}
        for name, value in item.items():
            number = isinstance(value, Real) and not isinstance(value, bool)  # also NumPy's
            found[str(name) if number or value is True else f"{name}={value}"] = float(value) if number else 1.0
        return found
    if isinstance(item, (list, tuple, set, frozenset)) and all(isinstance(name, str) for name in item):
        return dict.fromkeys(item, 1.0)
    raise InvalidInput(f"an item to align is {shown(item)}; expected a string, a list of strings or a dict.")
