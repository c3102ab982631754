"""Rows given as dicts of features by name, on their way to a sparse matrix whose columns may become more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from trelliswork.arguments import shown
from trelliswork.errors import InvalidInput

__all__ = ["DictColumns", "are_dicts"]


def are_dicts(X: Any) -> bool:
    """Whether ``X`` is a list of dicts."""
    return isinstance(X, (list, tuple)) and bool(X) and isinstance(X[0], Mapping)


class DictColumns:
    """Numbers the features of dicts: ``{"length": 3}`` is column ``length``, ``{"word": "dog"}`` is ``word=dog``.

    Attributes
    ----------
    names : dict
        From names to columns, in the order in which they were met.

    Examples
    --------
    >>> columns = DictColumns()
    >>> columns.extended([{"word": "dog", "length": 3}, {"word": "cat"}]).toarray().tolist()
    [[1.0, 3.0, 0.0], [0.0, 0.0, 1.0]]
    >>> columns.rows([{"word": "cow", "length": 2}]).toarray().tolist()
    [[0.0, 2.0, 0.0]]
    """

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def extended(self, X: Iterable[Any]) -> sparse.csr_array:
        """Return the rows as a matrix; features that are new get new columns."""
        return self._matrix(X, grow=True)

    def rows(self, X: Iterable[Any]) -> sparse.csr_array:
        """Return the rows as a matrix; features that are not known are left out."""
        return self._matrix(X, grow=False)

    def _matrix(self, X: Iterable[Any], grow: bool) -> sparse.csr_array:
        if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
            raise InvalidInput(f"X is {shown(X)}; expected a list of dicts.")
        starts, indices, values = [0], [], []
        for i, row in enumerate(X):
            for name, value in self._entries(row, i):
                column = self.names.setdefault(name, len(self.names)) if grow else self.names.get(name)
                if column is not None:
                    indices.append(column)
                    values.append(value)
            starts.append(len(indices))
        parts = (np.array(values, dtype=np.float64), np.array(indices, dtype=np.int64), np.array(starts))
        matrix = sparse.csr_array(parts, shape=(len(starts) - 1, len(self.names)))
        matrix.sum_duplicates()
        return matrix

    def _entries(self, row: Any, i: int) -> Iterable[tuple[str, float]]:
        if not isinstance(row, Mapping):
            raise InvalidInput(f"X[{i}] is {shown(row)}; expected a dict of features, as the first row is.")
        for name, value in row.items():
            if isinstance(value, str):
                yield f"{name}={value}", 1.0
            elif isinstance(value, (Real, np.bool_)) and np.isfinite(float(value)):
                yield str(name), float(value)
            else:
                raise InvalidInput(
                    f"X[{i}][{name!r}] is {shown(value)}; expected a finite number, True, False or a string."
                )
