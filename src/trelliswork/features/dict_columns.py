"""Dicts of features by name as the rows of a sparse matrix, which may get further columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["DictColumns", "are_dicts"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def are_dicts(X: Any) -> bool:
    """Whether ``X`` is a list of dicts."""
    return isinstance(X, (list, tuple)) and bool(X) and isinstance(X[0], Mapping)


class DictColumns:
    """A numbering of dict features: ``{"length": 3}`` is column ``length``, ``{"word": "dog"}`` is ``word=dog``.

    Attributes
    ----------
    names : dict
        Maps names to columns, in order of their first occurrence.

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
        """Return the rows as a matrix; unknown features are ignored."""
        return self._matrix(X, grow=False)

    def products(self, X: Iterable[Any], weights: Floats) -> Floats:
        """Return the products of the rows with a matrix that has a row for each column, without SciPy.

        Examples
        --------
        >>> columns = DictColumns()
        >>> rows = columns.extended([{"word": "dog", "length": 3}])
        >>> columns.products([{"word": "dog", "length": 2}], np.array([[1.0, 10.0], [2.0, 20.0]])).tolist()
        [[5.0, 50.0]]
        """
        starts, indices, values = self._parts(X, grow=False)
        found = np.zeros((len(starts) - 1, weights.shape[1]))
        np.add.at(found, np.repeat(np.arange(len(found)), np.diff(starts)), values[:, None] * weights[indices])
        return found

    def _matrix(self, X: Iterable[Any], grow: bool) -> sparse.csr_array:
        from scipy import sparse

        starts, indices, values = self._parts(X, grow)
        matrix = sparse.csr_array((values, indices, starts), shape=(len(starts) - 1, len(self.names)))
        matrix.sum_duplicates()
        return matrix

    def _parts(self, X: Iterable[Any], grow: bool) -> tuple[Ints, Ints, Floats]:
        """Return where each row starts, and the columns and values of all entries."""
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
        return np.array(starts), np.array(indices, dtype=np.int64), np.array(values, dtype=np.float64)

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
