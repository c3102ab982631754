"""Features of an output, however the user's code wrote them down, as checked sparse vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput

__all__ = ["Place", "Vector", "shown", "stacked", "vector_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Place = Callable[[], str]  # what an error calls the thing that is wrong


class Vector(NamedTuple):
    """Features: rising indices and their values."""

    indices: IntArray
    values: FloatArray

    def dot(self, weights: FloatArray) -> tuple[float, float]:
        """Return the product with the weights, and the sum of the sizes of what was added up."""
        products = weights[self.indices] * self.values
        return float(products.sum()), float(np.abs(products).sum())


def vector_of(answer: Any, n_features: int, place: Place) -> Vector:
    """Return features, however they were written down, as rising indices and values; errors call them ``place()``.

    Examples
    --------
    >>> vector_of({3: 1.0, 0: 2.0}, 5, str)
    Vector(indices=array([0, 3]), values=array([2., 1.]))
    >>> vector_of(([3, 0, 3], [1.0, 2.0, 1.0]), 5, str)
    Vector(indices=array([0, 3]), values=array([2., 2.]))
    >>> vector_of([2.0, 0.0, 0.0, 2.0, 0.0], 5, str)
    Vector(indices=array([0, 3]), values=array([2., 2.]))
    """
    if isinstance(answer, Mapping):
        indices, values = _numbers(list(answer.keys()), place), _numbers(list(answer.values()), place)
    elif isinstance(answer, tuple) and len(answer) == 2 and not isinstance(answer[0], Real):
        indices, values = _numbers(answer[0], place), _numbers(answer[1], place)
    else:
        values = _numbers(answer, place)
        if values.shape != (n_features,):
            raise InvalidInput(
                f"{place()} have the shape {values.shape}; expected {n_features} numbers (n_features), a dict from "
                "indices to numbers, or (indices, numbers)."
            )
        indices = np.flatnonzero(values)
        values = values[indices]
    return _sparse(indices, values, n_features, place)


def stacked(vectors: list[Vector]) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the rows of a CSR matrix: where they start, indices, values."""
    starts = np.cumsum([0, *(len(vector.indices) for vector in vectors)])
    indices = np.concatenate([np.zeros(0, dtype=np.int64), *(vector.indices for vector in vectors)])
    return starts, indices, np.concatenate([np.zeros(0), *(vector.values for vector in vectors)])


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _sparse(indices: npt.NDArray[Any], values: npt.NDArray[Any], n_features: int, place: Place) -> Vector:
    if indices.ndim != 1 or indices.shape != values.shape:
        raise InvalidInput(f"{place()} have indices of shape {indices.shape} but numbers of shape {values.shape}.")
    if not len(indices):
        return Vector(np.zeros(0, dtype=np.int64), np.zeros(0))
    if indices.dtype.kind not in "iu":
        raise InvalidInput(f"{place()} have indices of type {indices.dtype}; expected whole numbers.")
    order = np.argsort(indices, kind="stable")
    indices, values = indices[order], values[order].astype(np.float64, copy=False)
    lowest, highest = int(indices[0]), int(indices[-1])
    if lowest < 0 or highest >= n_features:
        raise InvalidInput(
            f"{place()} have the index {lowest if lowest < 0 else highest}; expected 0 to {n_features - 1}, since "
            f"n_features is {n_features}."
        )
    if not math.isfinite(values.sum()) and not np.isfinite(values).all():  # one sum says it of nearly all
        raise InvalidInput(f"{place()} hold {values[~np.isfinite(values)][0]}; features must be finite.")
    new = indices[1:] != indices[:-1]
    if not new.all():
        firsts = np.flatnonzero(np.concatenate([[True], new]))
        indices, values = indices[firsts], np.add.reduceat(values, firsts)
    return Vector(indices.astype(np.int64, copy=False), values)


def _numbers(values: Any, place: Place) -> npt.NDArray[Any]:
    """Return an array of numbers."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        array = np.asarray(None)
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{place()} are {shown(values)}; expected numbers.")
    return array
