"""Checks of the input of factor graphs, which becomes flat arrays or a clear error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks, factors
from trelliswork.structures.checks import FloatArray

__all__ = ["as_edges", "as_pairwise", "as_unary", "factor_scores", "is_structure", "require_room", "scope_of"]

Integers = npt.NDArray[np.int64]

_MOST_SCORES = 2**32 - 2


def as_unary(unary: Any) -> tuple[FloatArray, Integers]:
    """Return the scores of all variables one after the other, and how many each has."""
    expected = "unary must be an (n, K) array or a list of (K_i,) arrays, one for each variable"
    if not checks.is_list(unary):
        raise InvalidInput(f"{expected}; found {unary!r}.")
    if len(unary) == 0:
        return np.empty(0), np.empty(0, dtype=np.int64)
    if isinstance(unary, np.ndarray) and unary.dtype != object:
        scores = checks.as_scores("unary", unary, (None, None))
        n_labels = np.full(scores.shape[0], scores.shape[1], dtype=np.int64)
    else:
        rows = [row if isinstance(row, np.ndarray) else np.asarray(row) for row in map(_as_row, enumerate(unary))]
        n_labels = np.array([len(row) for row in rows], dtype=np.int64)
        scores = np.concatenate(rows, dtype=np.float64, casting="unsafe")
        flat = int(_core.first_invalid(scores))
        if flat < len(scores):
            v = int(np.searchsorted(np.cumsum(n_labels), flat, side="right"))
            label = flat - int(n_labels[:v].sum())
            raise InvalidInput(checks.invalid_score(f"unary[{v}][{label}]", float(scores[flat])))
    if (n_labels == 0).any():
        raise InvalidInput(f"unary[{int(np.argmin(n_labels))}] is empty: every variable needs at least one label.")
    return scores.ravel(), n_labels


def _as_row(numbered: tuple[int, Any]) -> npt.NDArray[Any]:
    i, row = numbered
    array = checks.as_array(f"unary[{i}]", row)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "fiub"):
        raise InvalidInput(
            f"unary[{i}] must be a list of numbers, one for each label; found {array.dtype} of shape {array.shape}."
        )
    return array


def as_edges(edges: Any, n: int) -> Integers:
    """Return pairs of different variables that are there."""
    if edges is None or (checks.is_list(edges) and len(edges) == 0):
        return np.empty((0, 2), dtype=np.int64)
    array = checks.as_array("edges", edges if checks.is_list(edges) else [*edges])
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InvalidInput(f"edges must be pairs of variables, shape (m, 2); found {array.dtype} of {array.shape}.")
    wrong = (array < 0) | (array >= n)
    if wrong.any():
        e = int(np.argmax(wrong.any(axis=1)))
        raise InvalidInput(f"edges[{e}] is {tuple(array[e].tolist())}, but variables are numbered 0 to {n - 1}.")
    loops = array[:, 0] == array[:, 1]
    if loops.any():
        e = int(np.argmax(loops))
        raise InvalidInput(
            f"edges[{e}] connects variable {array[e, 0]} with itself. Add its diagonal to the unary scores instead."
        )
    return array.astype(np.int64)


def as_pairwise(pairwise: Any, edges: Integers, n_labels: Integers) -> FloatArray:
    """Return the tables of all edges one after the other."""
    m = len(edges)
    wanted = n_labels[edges]
    if pairwise is None or (m == 0 and np.size(pairwise) == 0):
        if m == 0:
            return np.empty(0)
        raise InvalidInput(f"pairwise must have scores for the {m} edges: one (K, K) array, or one for each edge.")
    if not checks.is_list(pairwise):
        raise InvalidInput(f"pairwise must be an array or a list of arrays, found {pairwise!r}.")
    if not isinstance(pairwise, np.ndarray) or pairwise.dtype == object:
        if all(np.ndim(row) == 1 for row in pairwise[:2]):
            pairwise = checks.as_numbers("pairwise", pairwise)
        elif len({np.shape(table) for table in pairwise}) > 1:
            return _as_tables(pairwise, wanted)
    tables = checks.as_scores("pairwise", pairwise)
    if tables.ndim == 3 and len(tables) != m:
        raise InvalidInput(f"pairwise must have one array for each of the {m} edges, found {len(tables)}.")
    if tables.ndim not in (2, 3):
        raise InvalidInput(f"pairwise must have shape (K, K) or ({m}, K, K), found {tables.shape}.")
    wrong = (wanted != tables.shape[-2:]).any(axis=1)
    if wrong.any():
        _refuse_table(int(np.argmax(wrong)), tables.shape[-2:], wanted)
    if tables.ndim == 2:
        require_room(m * tables.size)
        return np.tile(tables.ravel(), m)
    return tables.ravel()


def _as_tables(tables: Sequence[Any], wanted: Integers) -> FloatArray:
    if len(tables) != len(wanted):
        raise InvalidInput(f"pairwise must have one array for each of the {len(wanted)} edges, found {len(tables)}.")
    arrays = [np.asarray(table) for table in tables]
    for e, (array, shape) in enumerate(zip(arrays, map(tuple, wanted.tolist()), strict=True)):
        if array.shape != shape:
            _refuse_table(e, array.shape, wanted)
        if array.dtype.kind not in "fiub":
            raise InvalidInput(f"pairwise[{e}] must hold real numbers, found an array of type {array.dtype}.")
    scores = np.concatenate([array.ravel() for array in arrays], dtype=np.float64, casting="unsafe")
    flat = int(_core.first_invalid(scores))
    if flat < len(scores):
        ends = np.cumsum(wanted.prod(axis=1))
        e = int(np.searchsorted(ends, flat, side="right"))
        a, b = divmod(flat - int(ends[e] - wanted[e].prod()), int(wanted[e, 1]))
        raise InvalidInput(checks.invalid_score(f"pairwise[{e}][{a}, {b}]", float(scores[flat])))
    return scores


def _refuse_table(edge: int, found: tuple[int, ...], wanted: Integers) -> NoReturn:
    raise InvalidInput(
        f"pairwise[{edge}] must have shape {tuple(wanted[edge].tolist())}, the labels of both variables of the edge in "
        f"its order; found {found}."
    )


def factor_scores(i: int, factor: Any, n_labels: Integers) -> FloatArray:
    """Check a factor against the variables there are, and return its scores."""
    if not isinstance(factor, (factors.Table, factors._Logic, factors.Structure)):
        raise InvalidInput(f"factors[{i}] is a {type(factor).__name__}; expected one of trelliswork.factors.")
    scope = scope_of(factor)
    if len(scope) and scope.max() >= len(n_labels):
        raise InvalidInput(
            f"factors[{i}] is about variable {scope.max()}, but there are only {len(n_labels)} variables."
        )
    if isinstance(factor, factors.Table):
        wanted = tuple(n_labels[scope].tolist())
        if factor.scores.shape != wanted:
            raise InvalidInput(f"scores of factors[{i}] must have shape {wanted}, found {factor.scores.shape}.")
        return factor.scores.ravel()
    used = factor.literals[scope >= 0]
    wrong = used[:, 1] >= n_labels[used[:, 0]]
    if wrong.any():
        v, label = used[wrong][0].tolist()
        raise InvalidInput(f"factors[{i}] names label {label} of variable {v}, which has 0 to {n_labels[v] - 1}.")
    return factor._part_scores if isinstance(factor, factors.Structure) else np.empty(0)


def is_structure(factor: Any) -> bool:
    """Whether a factor is a whole structure."""
    return isinstance(factor, factors.Structure)


def scope_of(factor: Any) -> Integers:
    """Return the variables that a factor is about, -1 among them where a part stands for none."""
    return np.asarray(factor.variables if isinstance(factor, factors.Table) else factor.literals[:, 0])


def require_room(n_scores: int) -> None:
    """Refuse more scores than can be numbered, before memory is taken for them."""
    if n_scores > _MOST_SCORES:
        raise InvalidInput(
            f"the graph has {n_scores:,} scores, which take {8 * n_scores / 2**30:,.0f} GiB; at most {_MOST_SCORES:,} "
            "are possible."
        )
