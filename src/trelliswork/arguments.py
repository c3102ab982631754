"""What a person hands over, checked once and shown in errors: above all `X`, a list of sequences of tokens, and `y`.

Both arrive as lists, tuples, arrays or generators and leave as lists of lists. An error names the sequence.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Hashable, Iterable, Iterator, Set
from typing import Any

import numpy as np

from trelliswork.errors import InvalidInput, shown

__all__ = [
    "as_bytes",
    "as_count",
    "callers_level",
    "checked_labels",
    "checked_sequence",
    "checked_sequences",
    "listed",
    "refuse_no_list",
    "refuse_unordered",
    "sorted_labels",
    "text_of_value",
]


def checked_sequences(X: Iterable[Iterable[Hashable]], name: str = "X") -> list[list[Any]]:
    """Return ``X`` as a list of lists of tokens.

    Examples
    --------
    >>> checked_sequences((("the", "dog"), iter(["barks"])))
    [['the', 'dog'], ['barks']]
    """
    if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
        raise InvalidInput(f"{name} is {shown(X)}; expected a list of sequences, each a list of tokens.")
    return [checked_sequence(sequence, f"{name}[{i}]", f"[{name}]") for i, sequence in enumerate(X)]


def checked_sequence(x: Iterable[Hashable], name: str = "x", instead: str | None = None) -> list[Any]:
    """Return one sequence as a list of tokens; a bare string or an unordered collection is refused."""
    refuse_unordered(x, name, instead)
    sequence = x.tolist() if isinstance(x, np.ndarray) else list(x)
    _refuse_unhashable(sequence, name)
    return sequence


def refuse_unordered(x: Any, name: str, instead: str | None = None) -> None:
    """Refuse what is no sequence of tokens or labels: a bare string, an unordered collection, a number."""
    if isinstance(x, (str, bytes, dict, set, frozenset)) or not _is_iterable(x):
        hint = f" If {name[: name.index('[')]} is a single sequence, pass {instead}." if instead else ""
        raise InvalidInput(f"{name} is {shown(x)}; expected a sequence of tokens, such as ['the', 'dog'].{hint}")


def refuse_no_list(X: Any, argument: str) -> None:
    """Refuse what is no list of sequences."""
    if isinstance(X, (str, bytes, dict, Set)) or not isinstance(X, Iterable) or hasattr(X, "tocsr"):
        raise InvalidInput(f"{argument} is {shown(X)}; expected a list of sequences, each a list of tokens.")
    if isinstance(X, np.ndarray) and X.ndim == 0:
        raise InvalidInput(f"{argument} is {shown(X)}; expected a list of sequences, each a list of tokens.")


def checked_labels(y: Iterable[Iterable[Hashable] | None], X: list[list[Any]]) -> list[list[Any]]:
    """Return ``y`` as one list of labels per sequence of ``X``; ``None``, for a token or a sequence, is unlabelled.

    Examples
    --------
    >>> checked_labels([("D", None), None], [["the", "dog"], ["barks"]])
    [['D', None], [None]]
    """
    if isinstance(y, (str, bytes)) or not _is_iterable(y):
        raise InvalidInput(f"y is {shown(y)}; expected a list of label lists, one for each sequence of X.")
    y = list(y)
    if len(y) != len(X):
        raise InvalidInput(f"y has {len(y)} label lists but X has {len(X)} sequences. Every sequence needs its labels.")
    return [_checked_label_list(labels, X[i], i) for i, labels in enumerate(y)]


def sorted_labels(labels: Iterable[Hashable]) -> list[Any]:
    """Return the distinct labels in their own order, leaving out ``None``."""
    distinct: set[Any] = set(labels) - {None}
    if any(label != label for label in distinct):
        raise InvalidInput("y has the label NaN, which equals nothing; use None for a token without a label.")
    try:
        return sorted(distinct)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in distinct}))
        raise InvalidInput(
            f"y mixes labels of types that have no common order ({kinds}). "
            "Use labels of one type, and None for a token without a label."
        ) from None


def _checked_label_list(labels: Iterable[Hashable] | None, sequence: list[Any], i: int) -> list[Any]:
    if labels is None:
        return [None] * len(sequence)
    labels = checked_sequence(labels, f"y[{i}]", "[y]")
    if len(labels) != len(sequence):
        raise InvalidInput(
            f"y[{i}] has {len(labels)} labels but X[{i}] has {len(sequence)} tokens. "
            "Every token needs one label (None if it is not known): check that both were split at the same places."
        )
    return labels


def _refuse_unhashable(sequence: list[Any], name: str) -> None:
    try:
        hash(tuple(sequence))  # all of them at once; which one it was is asked only of a sequence that fails
        return
    except TypeError:
        pass
    for t, item in enumerate(sequence):
        try:
            hash(item)
        except TypeError:
            raise InvalidInput(
                f"{name}[{t}] is {shown(item)}, which is not hashable; expected a string, a number or a tuple."
            ) from None


def _is_iterable(x: Any) -> bool:
    return isinstance(x, Iterable) and not (isinstance(x, np.ndarray) and x.ndim == 0)


def listed(X: Any) -> Any:
    """Return X as something that can be gone through, and its sequences too, as often as wanted.

    Examples
    --------
    >>> listed(iter([iter("ab"), ["c"]]))
    [['a', 'b'], ['c']]
    """
    refuse_no_list(X, "X")
    if not isinstance(X, Iterator | list | tuple):
        return X  # tables and arrays
    return [list(x) if isinstance(x, Iterator) else x for x in X]


def as_count(name: str, value: Any, least: int = 1) -> int:
    """Return ``value`` as an int of at least ``least``."""
    if isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} must be an integer of at least {least}, found {value!r}.")
    try:
        count = operator.index(value)
    except TypeError:
        raise InvalidInput(f"{name} must be an integer of at least {least}, found {value!r}.") from None
    if count < least:
        raise InvalidInput(f"{name} must be at least {least}, found {count}.")
    return count


_UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}


def as_bytes(name: str, value: Any) -> int:
    """Return a number of bytes, which may be given as text with a unit: KB, MB, GB, TB, or KiB, MiB, GiB, TiB.

    Examples
    --------
    >>> as_bytes("memory", "1.5GB"), as_bytes("memory", "2 MiB"), as_bytes("memory", 4096)
    (1500000000, 2097152, 4096)
    """
    if not isinstance(value, str):
        return as_count(name, value)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", value, re.IGNORECASE)
    if found is None or (found[3] and not found[2]):
        raise InvalidInput(f"{name} is {value!r}; expected a number of bytes, such as '2GB' or '512MiB'.")
    unit = _UNITS[found[2].upper()]
    binary = 1024 ** round(np.log10(unit) / 3) if found[3] else unit
    return as_count(name, int(float(found[1]) * binary))


def callers_level() -> int:
    """Return the ``stacklevel`` with which a warning points at the first caller outside of this library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("trelliswork."):
        frame, level = frame.f_back, level + 1
    return level


def text_of_value(value: Any) -> str:
    """Return a parameter's value as a table shows it.

    Examples
    --------
    >>> [text_of_value(value) for value in (0.01, 1e-05, True, "crf")]
    ['0.01', '1e-05', 'True', 'crf']
    """
    if isinstance(value, float | np.floating):
        return f"{value:g}"
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
