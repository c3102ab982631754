"""Checks of arguments: a caller's input becomes a clean, private array or a clear error."""

from __future__ import annotations

import numbers
import operator
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import as_count as as_count
from trelliswork.errors import InvalidInput

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
LabelArray = npt.NDArray[np.int32]

MOST_JOBS = 1024  # threads; more than any machine has a use for here
_LARGEST = 1e300


def is_list(values: Any) -> bool:
    """Whether ``values`` is a sequence of items: a list, a tuple, an array of at least one dimension; no string."""
    if isinstance(values, np.ndarray):
        return values.ndim > 0
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes))


def as_array(name: str, values: Any) -> npt.NDArray[Any]:
    """Return ``values`` as an array of whatever type."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} is not a rectangular array: {error}. Rows must have equal lengths.") from None


def as_numbers(name: str, values: Any) -> FloatArray:
    """Return a private float64 copy of ``values``, C-contiguous."""
    array = as_array(name, values)
    if array.dtype.kind == "O":
        try:
            return np.array(array, dtype=np.float64, order="C")
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"{name} must hold numbers: {error}.") from None
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} must hold real numbers, found an array of type {array.dtype}.")
    return np.array(array, dtype=np.float64, order="C")


def as_scores(name: str, values: Any, shape: tuple[int | None, ...] | None = None, meaning: str = "") -> FloatArray:
    """Return ``values`` as finite or ``-inf`` scores, read-only; ``None`` in ``shape`` accepts any size."""
    array = as_numbers(name, values)
    if shape is not None and not _fits(array.shape, shape):
        raise InvalidInput(f"{name} must have shape {describe(shape)}{meaning}, found {array.shape}.")
    require_scores(name, array)
    array.flags.writeable = False
    return array


def as_side(name: str, values: Any, size: int) -> FloatArray:
    """Return scores of the items of one side: one for each, or one number for all; writeable."""
    array = as_numbers(name, values)
    if array.shape not in ((), (size,)):
        raise InvalidInput(f"{name} must be a number or have shape ({size},), found {array.shape}.")
    full = np.array(np.broadcast_to(array, (size,)))
    require_scores(name, full)
    return full


def as_pairs(name: str, pairs: Any, shape: tuple[int, ...], meaning: str) -> npt.NDArray[np.int64]:
    """Return pairs (i, j) as rows, in the order in which they are given; ``meaning`` of i and j is for messages."""
    given = list(pairs) if is_list(pairs) or isinstance(pairs, (set, frozenset)) else pairs
    array = as_array(name, given)
    if array.size == 0 and array.ndim > 0:
        return np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InvalidInput(f"{name} must be pairs (i, j) of {meaning}, found {given!r}.")
    wrong = (array < 0).any(axis=1) | (array[:, 0] >= shape[0]) | (array[:, 1] >= shape[1])
    if wrong.any():
        i, j = array[wrong][0].tolist()
        raise InvalidInput(f"{name} has the pair ({i}, {j}), but there are {shape[0]} and {shape[1]} to choose from.")
    return array.astype(np.int64)


def require_scores(name: str, array: FloatArray) -> None:
    """Raise unless every score is -inf or finite and at most 1e300 in magnitude."""
    flat = _core.first_invalid(array)
    if flat < array.size:
        index = np.unravel_index(flat, array.shape)
        place = ", ".join(map(str, index))
        raise InvalidInput(invalid_score(f"{name}[{place}]", float(array[index])))


def require_memory(what: str, needed: float, advice: str) -> None:
    """Raise if the machine has less memory than this, before any of it is allocated."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on this system
        return
    if needed > there:
        raise InvalidInput(f"{what} needs {needed / 2**30:.1f} GiB, and this machine has {there / 2**30:.1f}. {advice}")


def invalid_score(place: str, value: float) -> str:
    """Say what is wrong with one score."""
    if np.isnan(value):
        return f"{place} is NaN. Scores must be numbers; use -inf to forbid a label."
    if np.isinf(value):
        return f"{place} is +inf. Scores must be below infinity; to force a label, forbid the others with -inf."
    return f"{place} is {value!r}: scores beyond {_LARGEST:g} would overflow. Use -inf to forbid a label."


def as_flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} must be True or False, found {value!r}.")
    return bool(value)


def as_span(labels: Any) -> list[Any]:
    """Return the labels of a span as a list, one item per position."""
    if not is_list(labels):
        raise InvalidInput(f"labels must be a sequence with one item per position of the span, found {labels!r}.")
    return list(labels)


def as_method(method: Any) -> str:
    """Return the name of a k-best method."""
    if not isinstance(method, str) or method not in ("astar", "viterbi"):
        raise InvalidInput(f'method must be "astar" or "viterbi", found {method!r}.')
    return method


def as_labels(name: str, values: Any, length: int, n_labels: int) -> LabelArray:
    """Return a labelling of ``length`` positions as int32, every label in range."""
    array = as_array(name, values)
    if array.ndim != 1 or array.shape[0] != length:
        raise InvalidInput(f"{name} must have one label per position, shape ({length},); found {array.shape}.")
    if length == 0:
        return np.empty(0, dtype=np.int32)
    if array.dtype.kind not in "iu":
        raise InvalidInput(f"{name} must hold integer label indices, found type {array.dtype}.")
    wrong = (array < 0) | (array >= n_labels)
    if wrong.any():
        t = int(np.argmax(wrong))
        raise InvalidInput(f"{name}[{t}] is {array[t]}; labels are indices from 0 to {n_labels - 1}.")
    return array.astype(np.int32)


def as_cost(cost: Any, n_labels: int) -> FloatArray:
    """Return a cost matrix ``cost[gold, label]``; ``"hamming"`` charges one for every wrong label."""
    if isinstance(cost, str):
        if cost != "hamming":
            raise InvalidInput(f'cost must be "hamming" or a ({n_labels}, {n_labels}) array, found {cost!r}.')
        return 1.0 - np.eye(n_labels)
    matrix = as_scores("cost", cost, (n_labels, n_labels))
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InvalidInput("cost must be finite and non-negative: it is what a wrong label is charged.")
    if np.diagonal(matrix).any():
        raise InvalidInput("cost must have a zero diagonal: the right label is charged nothing.")
    return matrix


def as_pair_costs(cost: Any, shape: tuple[int, ...]) -> FloatArray | None:
    """Return what every pair costs whatever gold is, and None for ``"hamming"``, which asks gold."""
    if isinstance(cost, str):
        if cost != "hamming":
            raise InvalidInput(f'cost must be "hamming" or an array of shape {shape}, found {cost!r}.')
        return None
    table = as_scores("cost", cost, shape)
    require_costs(table)
    return table


def require_costs(costs: FloatArray) -> None:
    """Refuse costs that are not finite or below 0."""
    if not np.isfinite(costs).all() or (costs < 0).any():
        raise InvalidInput("cost must hold finite numbers from 0.")


def as_scale(scale: Any) -> float:
    """Return the factor of the cost (nu in eq. 2.40), any finite number."""
    if not isinstance(scale, numbers.Real) or isinstance(scale, (bool, np.bool_)):
        raise InvalidInput(f"scale must be a number, found {scale!r}.")
    try:
        value = float(scale)
    except OverflowError:
        value = np.inf
    if not np.isfinite(value):
        raise InvalidInput(f"scale must be finite, found {scale}.")
    return value


def as_mask(name: str, values: Any, shape: tuple[int, ...]) -> BoolArray:
    """Return ``values`` as a boolean array of ``shape``."""
    mask = as_array(name, values)
    if mask.dtype.kind != "b" and not (mask.size == 0 and 0 in shape):
        raise InvalidInput(f"{name} must be a boolean array (True = allowed), found type {mask.dtype}.")
    if mask.shape != shape:
        raise InvalidInput(f"{name} must have shape {shape}, found {mask.shape}.")
    return mask.astype(np.bool_)


def as_allowed(name: str, allowed: Any, length: int, n_labels: int) -> BoolArray:
    """Return a (T, K) mask from a mask, or from one candidate set per position (None: anything)."""
    if isinstance(allowed, np.ndarray) and allowed.dtype != object:
        return as_mask(name, allowed, (length, n_labels))
    if not isinstance(allowed, Sequence) and not isinstance(allowed, np.ndarray):
        raise InvalidInput(
            f"{name} must be a boolean array or a list of candidate sets, found {type(allowed).__name__}."
        )
    if len(allowed) != length:
        raise InvalidInput(f"{name} must have one entry per position ({length}), found {len(allowed)}.")
    mask = np.zeros((length, n_labels), dtype=np.bool_)
    for t, candidates in enumerate(allowed):
        if candidates is None:
            mask[t] = True
        elif _is_mask_row(candidates, n_labels):
            mask[t] = candidates
        else:
            mask[t, label_set(f"{name}[{t}]", candidates, n_labels)] = True
    return mask


def as_fixed(name: str, fixed: Any, length: int, n_labels: int) -> BoolArray:
    """Return a (T, K) mask that fixes labels: ``{position: label}``, or one label per position with -1 for free."""
    labels = np.full(length, -1)
    if isinstance(fixed, Mapping):
        for t, label in fixed.items():
            position = as_count(f"a position of {name}", t, least=0)
            if position >= length:
                raise InvalidInput(f"{name} names position {position}, but there are only {length} positions.")
            (labels[position],) = label_set(f"{name}[{position}]", [label], n_labels)
    else:
        labels = as_array(name, fixed)
        if labels.shape != (length,) or (length and labels.dtype.kind not in "iu"):
            raise InvalidInput(
                f"{name} must map positions to labels, or hold one label per position ({length}) with -1 for free."
            )
        wrong = (labels < -1) | (labels >= n_labels)
        if wrong.any():
            t = int(np.argmax(wrong))
            raise InvalidInput(f"{name}[{t}] is {labels[t]}; labels are indices from 0 to {n_labels - 1}, -1 is free.")
    return np.asarray((labels[:, None] == np.arange(n_labels)) | (labels[:, None] == -1))


def label_set(name: str, labels: Any, n_labels: int) -> list[int]:
    """Return one label index, or a collection of them, as a list of indices in range."""
    items = list(labels) if isinstance(labels, (Collection, np.ndarray)) and not isinstance(labels, str) else [labels]
    indices = []
    for item in items:
        if isinstance(item, (bool, np.bool_)):
            raise InvalidInput(f"{name} must be a label index or a collection of them, found {labels!r}.")
        try:
            index = operator.index(item)
        except TypeError:
            raise InvalidInput(f"{name} must be a label index or a collection of them, found {labels!r}.") from None
        if not 0 <= index < n_labels:
            raise InvalidInput(f"{name} is {index}; labels are indices from 0 to {n_labels - 1}.")
        indices.append(index)
    return indices


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator from None, a seed or a generator."""
    if random_state is not None and not isinstance(random_state, (int, np.integer, np.random.Generator)):
        raise InvalidInput(
            f"random_state must be None, an integer or a numpy.random.Generator, found {type(random_state).__name__}."
        )
    if isinstance(random_state, (int, np.integer)) and random_state < 0:
        raise InvalidInput(f"random_state must not be negative, found {random_state}.")
    return np.random.default_rng(random_state)


def as_jobs(n_jobs: Any) -> int:
    """Return a number of threads, as scikit-learn counts: None is 1, -1 all processors."""
    if n_jobs is None:
        return 1
    try:
        jobs = operator.index(n_jobs)
    except TypeError:
        raise InvalidInput(f"n_jobs must be None or a non-zero integer, found {n_jobs!r}.") from None
    if jobs == 0:
        raise InvalidInput("n_jobs must be None or a non-zero integer, found 0.")
    if jobs > MOST_JOBS:
        raise InvalidInput(f"n_jobs is {jobs}; expected at most {MOST_JOBS} threads, or -1 for one on each processor.")
    return jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)


def describe(shape: tuple[int | None, ...]) -> str:
    """Write a shape for an error message."""
    inner = ", ".join("any" if size is None else str(size) for size in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(found) == len(wanted) and all(w is None or f == w for f, w in zip(found, wanted, strict=True))


def _is_mask_row(candidates: Any, n_labels: int) -> bool:
    if isinstance(candidates, np.ndarray):
        return bool(candidates.dtype == np.bool_ and candidates.shape == (n_labels,))
    return (
        isinstance(candidates, (list, tuple))
        and len(candidates) == n_labels
        and all(isinstance(item, (bool, np.bool_)) for item in candidates)
    )
