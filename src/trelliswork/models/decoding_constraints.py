"""What is known of the labels before they are predicted: those a token may have, those it has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown

__all__ = ["Limits", "bias_of"]

Bools = npt.NDArray[np.bool_]


class Limits:
    """Which labels the tokens of each sequence may have.

    Parameters
    ----------
    labels : sequence of str
        The labels of the model.
    allowed : sequence or None
        For each sequence None, or for each token None, a label, or a collection of labels; or a (T, K) array of bool.
    fixed : sequence or None
        For each sequence None, a dict from positions to labels, or for each token a label or None.

    Examples
    --------
    >>> Limits(["A", "B"], allowed=[[{"A"}, None]], fixed=[{1: "B"}]).of(0, [2])[0].tolist()
    [[True, False], [False, True]]
    """

    def __init__(self, labels: Sequence[str], allowed: Any = None, fixed: Any = None) -> None:
        self._numbers = {label: k for k, label in enumerate(labels)}
        self._given = {"allowed": _listed(allowed, "allowed"), "fixed": _listed(fixed, "fixed")}

    def __bool__(self) -> bool:
        return any(given is not None for given in self._given.values())

    def require_length(self, n: int) -> None:
        """Refuse limits that are not for so many sequences."""
        for name, given in self._given.items():
            if given is not None and len(given) != n:
                raise InvalidInput(f"{name} has {len(given)} entries but X has {n} sequences. None is no limit.")

    def of(self, first: int, lengths: Iterable[int]) -> list[Bools]:
        """Return a (T, K) array for each sequence from ``first`` on: True where a label may be."""
        masks = []
        for i, length in enumerate(lengths, first):
            mask = np.ones((length, len(self._numbers)), dtype=np.bool_)
            for name, given in self._given.items():
                if given is None:
                    continue
                if i >= len(given):
                    raise InvalidInput(f"{name} has {len(given)} entries but X has more sequences. None is no limit.")
                if given[i] is not None:
                    mask &= self._mask(given[i], length, f"{name}[{i}]")
            masks.append(mask)
        return masks

    def _mask(self, given: Any, length: int, place: str) -> Bools:
        K = len(self._numbers)
        if isinstance(given, np.ndarray) and given.dtype == np.bool_:
            if given.shape != (length, K):
                raise InvalidInput(f"{place} has shape {given.shape}; expected {(length, K)}: tokens by labels.")
            return given
        mask = np.ones((length, K), dtype=np.bool_)
        for t, candidates in self._items(given, length, place):
            if candidates is not None:
                mask[t] = False
                mask[t, self._codes(candidates, f"{place}[{t}]")] = True
        return mask

    def _items(self, given: Any, length: int, place: str) -> Iterable[tuple[int, Any]]:
        if isinstance(given, Mapping):
            for t in given:
                if not isinstance(t, (int, np.integer)) or not 0 <= t < length:
                    raise InvalidInput(f"{place} names position {t!r}, but X has {length} tokens there, from 0 on.")
            return given.items()
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
            raise InvalidInput(f"{place} is {shown(given)}; expected one entry for each token, or a dict by position.")
        if len(given) != length:
            raise InvalidInput(f"{place} has {len(given)} entries but X has {length} tokens there.")
        return enumerate(given)

    def _codes(self, candidates: Any, place: str) -> list[int]:
        names = [candidates] if isinstance(candidates, str) else candidates
        if not isinstance(names, Collection) or not names:
            raise InvalidInput(f"{place} is {shown(candidates)}; expected a label, a set of labels, or None.")
        for name in names:
            if name not in self._numbers:
                raise InvalidInput(f"{place} has {name!r}; the model knows {', '.join(self._numbers)}.")
        return [self._numbers[name] for name in names]


def bias_of(bias: Any, labels: Sequence[str]) -> npt.NDArray[np.float64] | None:
    """Return what is added to the score of each label, or None for nothing.

    Examples
    --------
    >>> bias_of({"B": 0.5}, ["A", "B"]).tolist()
    [0.0, 0.5]
    """
    if bias is None:
        return None
    if not isinstance(bias, Mapping):
        raise InvalidInput(f"bias is {shown(bias)}; expected a dict from labels to what is added to their scores.")
    for label, value in bias.items():
        if label not in labels:
            raise InvalidInput(f"bias has {label!r}; the model knows {', '.join(labels)}.")
        if not isinstance(value, Real) or not np.isfinite(float(value)):
            raise InvalidInput(f"bias[{label!r}] is {shown(value)}; expected a finite number.")
    return np.array([float(bias.get(label, 0.0)) for label in labels])


def _listed(given: Any, name: str) -> list[Any] | None:
    if given is None:
        return None
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} is {shown(given)}; expected a list with one entry for each sequence of X.")
    return list(given)
