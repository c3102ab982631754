"""Structures written as parts: the user's class has the features of parts and finds the best set of them.

Weights become scores of parts here, and parts become features again, so the class never sees a weight. The cost is that
of parts, too: those of gold that are missing and those that are wrong,

    cost(gold, y) = |gold| + sum over the parts of y of (-1 if it is in gold, else 1),

which is a score of parts and a constant, so that the best output with a cost is found as the best without one.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.structures.custom.feature_vectors import Vector, shown
from trelliswork.structures.custom.partition import partitioned

if TYPE_CHECKING:
    from trelliswork.structures.custom.structure import Structure

__all__ = ["InputParts", "PartNumbers"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ROUNDING = 1e-6  # by which marginals may leave [0, 1]


class PartNumbers(tuple[int, ...]):
    """An output as its parts, in rising order."""

    __slots__ = ()


class InputParts:
    """The parts of one input: their features, and every question about them that a structure can answer.

    Parameters
    ----------
    structure : Structure
        One that defines ``parts`` and ``decode``.
    x : input
    place : str
        What errors call the input.
    """

    def __init__(self, structure: Structure, x: Any, place: str) -> None:
        self._structure, self._x, self._place = structure, x, place
        self._name = type(structure).__name__
        self._takes = {method: _names_taken(getattr(structure, method)) for method in ("decode", "marginals")}
        self._starts, self._columns, self._values = self._rows(structure.parts(x))
        self._rows_of = np.repeat(np.arange(self.n_parts), np.diff(self._starts))

    @property
    def n_parts(self) -> int:
        return len(self._starts) - 1

    # ---- weights to scores and back ------------------------------------------------------------------------------

    def scores(self, weights: FloatArray) -> FloatArray:
        """Return the scores of the parts."""
        products = np.asarray(weights, dtype=np.float64)[self._columns] * self._values
        return np.bincount(self._rows_of, weights=products, minlength=self.n_parts).astype(np.float64)

    def features(self, factors: FloatArray) -> Vector:
        """Return the features of all parts, each times its factor."""
        used = factors[self._rows_of] != 0.0
        columns, places = np.unique(self._columns[used], return_inverse=True)
        values = np.bincount(places, self._values[used] * factors[self._rows_of[used]], minlength=len(columns))
        return Vector(columns.astype(np.int64), values.astype(np.float64))

    def indicator(self, numbers: PartNumbers) -> FloatArray:
        """Return 1 for parts of an output, 0 for others."""
        out = np.zeros(self.n_parts)
        out[list(numbers)] = 1.0
        return out

    def costs(self, gold: PartNumbers) -> FloatArray:
        """Return what each part adds to the cost; the constant to be added is ``len(gold)``."""
        return 1.0 - 2.0 * self.indicator(gold)

    # ---- questions -----------------------------------------------------------------------------------------------

    def kbest(self, scores: FloatArray, k: int) -> list[PartNumbers]:
        """Return the k best outputs, best first; fewer where fewer exist."""
        found = [PartNumbers(one) for one in itertools.islice(partitioned(self.best, scores), k)]
        if not found:
            raise InvalidInput(f"{self._name}.decode({self._place}) returned None; every input needs an output.")
        return found

    def best(self, scores: FloatArray, forced: frozenset[int], forbidden: frozenset[int]) -> PartNumbers | None:
        """Return the best output with some parts and without others; None where there is no such output."""
        must, not_allowed = sorted(forced), sorted(forbidden)
        if (must or not_allowed) and not {"forced", "forbidden"} <= self._takes["decode"]:
            # Said by scores: what one of these parts counts is more than what all others can.
            much = 1.0 + 2.0 * float(np.abs(scores).sum())
            scores = scores.copy()
            scores[must] += much
            scores[not_allowed] -= much
        answer = self._asked("decode", scores, forced=np.array(must, dtype=np.int64), forbidden=np.array(not_allowed))
        if answer is None:
            return None
        found = self.numbers(answer, f"{self._name}.decode({self._place})")
        kept = forced <= set(found) and not forbidden & set(found)
        if not kept and {"forced", "forbidden"} <= self._takes["decode"]:
            raise InvalidInput(
                f"{self._name}.decode({self._place}) returned the parts {shown(tuple(found))}, asked for forced="
                f"{shown(must)} and forbidden={shown(not_allowed)}. Return None where there is no such output."
            )
        return found if kept else None

    def marginals(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return log Z and the marginals of the parts."""
        answer, place = self._asked("marginals", scores), f"{self._name}.marginals({self._place})"
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise InvalidInput(f"{place} returned {shown(answer)}; expected (log Z, marginals of the parts).")
        total, marginals = (np.asarray(one, dtype=np.float64) for one in answer)
        if total.ndim or not np.isfinite(total):
            raise InvalidInput(f"{place}: log Z is {shown(answer[0])}; expected a finite number.")
        if marginals.shape != (self.n_parts,):
            raise InvalidInput(f"{place} returned marginals of shape {marginals.shape} for {self.n_parts} parts.")
        wrong = ~((marginals >= -_ROUNDING) & (marginals <= 1.0 + _ROUNDING))
        if wrong.any():
            part = int(wrong.argmax())
            raise InvalidInput(f"{place}: the marginal of part {part} is {marginals[part]:g}; expected 0 to 1.")
        return float(total), np.clip(marginals, 0.0, 1.0)

    def numbers(self, answer: Any, place: str) -> PartNumbers:
        """Return an output as its part numbers, checked."""
        if isinstance(answer, PartNumbers):
            return answer
        if isinstance(answer, (str, bytes, Mapping)) or not isinstance(answer, Iterable):
            raise InvalidInput(f"{place} is {shown(answer)}; expected numbers of parts, as a set, a list or an array.")
        listed = list(answer)
        if any(isinstance(one, (bool, np.bool_)) or not isinstance(one, (int, np.integer)) for one in listed):
            raise InvalidInput(
                f"{place} is {shown(answer)}; expected numbers of parts. Outputs of another form need parts_of(x, y)."
            )
        numbers = PartNumbers(sorted(int(one) for one in listed))
        if numbers and not (numbers[0] >= 0 and numbers[-1] < self.n_parts):
            outside = numbers[0] if numbers[0] < 0 else numbers[-1]
            raise InvalidInput(
                f"{place} has the part {outside}; parts({self._place}) has parts 0 to {self.n_parts - 1}."
            )
        if len(set(numbers)) < len(numbers):
            raise InvalidInput(f"{place}, {shown(answer)}, has a part twice.")
        return numbers

    def gold(self, y: Any, place: str) -> PartNumbers:
        """Return the parts of an output in the user's form."""
        if isinstance(y, PartNumbers):
            return y
        if not self._structure.defines("parts_of"):
            return self.numbers(y, place)
        return self.numbers(self._structure.parts_of(self._x, y), f"{self._name}.parts_of({self._place}, {place})")

    def output(self, numbers: PartNumbers) -> Any:
        """Return an output in the user's form."""
        return self._structure.output_of(self._x, tuple(numbers))

    # ---- what the user's code returned ---------------------------------------------------------------------------

    def _asked(self, method: str, scores: FloatArray, **more: Any) -> Any:
        given = {"x": self._x, **more}
        scores.flags.writeable = False
        try:
            return getattr(self._structure, method)(
                scores, **{name: value for name, value in given.items() if name in self._takes[method]}
            )
        finally:
            scores.flags.writeable = True

    def _rows(self, answer: Any) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the features of the parts as rows of a CSR matrix."""
        place, n_features = f"{self._name}.parts({self._place})", int(self._structure.n_features)
        if hasattr(answer, "tocsr"):
            self._require_width(answer.shape, n_features, place)
            answer = answer.tocsr()
            answer = (answer.indptr, answer.indices, answer.data)
        elif not (isinstance(answer, tuple) and len(answer) == 3):
            dense = _array(answer, place)
            self._require_width(dense.shape, n_features, place)
            rows, columns = np.nonzero(dense)
            answer = (np.cumsum([0, *np.bincount(rows, minlength=len(dense))]), columns, dense[rows, columns])
        starts, columns, values = (_array(one, place) for one in answer)
        if starts.ndim != 1 or not len(starts) or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise InvalidInput(f"{place}: indptr must rise from 0, with one entry more than there are parts.")
        if columns.shape != values.shape or columns.ndim != 1 or starts[-1] != len(columns):
            raise InvalidInput(
                f"{place}: indptr ends at {starts[-1]}, but there are {columns.size} indices and {values.size} values."
            )
        if starts.dtype.kind not in "iu" or (columns.size and columns.dtype.kind not in "iu"):
            raise InvalidInput(f"{place}: indptr and indices must be whole numbers.")
        if columns.size and not (columns.min() >= 0 and columns.max() < n_features):
            outside = columns.min() if columns.min() < 0 else columns.max()
            raise InvalidInput(f"{place} has the feature {outside}; expected 0 to {n_features - 1} (n_features).")
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            part = int(np.searchsorted(starts, bad[0], side="right")) - 1
            raise InvalidInput(
                f"{place}: feature {columns[bad[0]]} of part {part} is {values[bad[0]]}; features must be finite."
            )
        return starts.astype(np.int64), columns.astype(np.int64), values.astype(np.float64)

    def _require_width(self, shape: tuple[int, ...], n_features: int, place: str) -> None:
        if len(shape) != 2 or shape[1] != n_features:
            raise InvalidInput(
                f"{place} has the shape {shape}; expected one row for each part and {n_features} columns (n_features)."
            )


def _array(values: Any, place: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        array = np.asarray(None)
    if array.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{place} returned {shown(values)}; expected the features of the parts: a sparse matrix, an array of one "
            "row for each part, or (indptr, indices, values)."
        )
    return array


def _names_taken(method: Any) -> frozenset[str]:
    """Which of x, forced and forbidden a method of the user's wants."""
    parameters = inspect.signature(method).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return frozenset({"x", "forced", "forbidden"})
    return frozenset(parameters) & {"x", "forced", "forbidden"}
