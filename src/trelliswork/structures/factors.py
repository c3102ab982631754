"""Factors of a `FactorGraph` besides edges: tables over several variables, logic, whole structures.

A literal says "this variable has this label". It is written as a pair ``(variable, label)``. A variable alone stands
for its label 1, as is usual for binary variables.

Examples
--------
>>> from trelliswork import FactorGraph, factors
>>> graph = FactorGraph([[0.0, 2.0], [0.0, 3.0], [0.0, 1.0]], factors=[factors.AtMost([0, 1, 2], 1)])
>>> graph.argmax().labels.tolist()
[0, 1, 0]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import as_count
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.parts import BareScores, PartScores

__all__ = ["AtMost", "Or", "Structure", "Table", "Xor"]

Pairs = npt.NDArray[np.int64]
NOTHING = 2**32 - 1  # in place of a variable


class Table:
    """A factor with a score for every joint labelling of some variables.

    Parameters
    ----------
    variables : sequence of int
        Distinct variables.
    scores : array-like
        One axis for each variable, in their order; ``-inf`` forbids.

    Examples
    --------
    >>> Table([0, 2, 3], np.zeros((2, 2, 5)))
    Table([0, 2, 3], 2 x 2 x 5)
    """

    def __init__(self, variables: npt.ArrayLike, scores: npt.ArrayLike) -> None:
        self.variables = _as_variables("variables of a Table", variables)
        self.scores = checks.as_scores("scores of a Table", scores)
        if len(self.variables) == 0 or self.scores.ndim != len(self.variables):
            raise InvalidInput(
                f"scores of a Table must have one axis for each of its variables ({len(self.variables)}), "
                f"found shape {self.scores.shape}."
            )
        if len(np.unique(self.variables)) < len(self.variables):
            raise InvalidInput(f"variables of a Table must be different, found {self.variables.tolist()}.")

    def __repr__(self) -> str:
        return f"Table({self.variables.tolist()}, {' x '.join(map(str, self.scores.shape))})"


class _Logic:
    """A factor that forbids."""

    _code: int
    most: int = 0

    def __init__(self, literals: npt.ArrayLike) -> None:
        self.literals = _as_literals(f"literals of {type(self).__name__}", literals)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({[tuple(pair) for pair in self.literals.tolist()]})"

    def _require_some(self) -> None:
        if len(self.literals) == 0:
            raise InvalidInput(f"{type(self).__name__} needs at least one literal: of none, none can be true.")


class Xor(_Logic):
    """Exactly one of the literals is true.

    Parameters
    ----------
    literals : sequence of (variable, label), or of int
        Distinct literals; a variable alone stands for its label 1.

    Examples
    --------
    >>> Xor([(0, 2), (1, 2)])
    Xor([(0, 2), (1, 2)])
    """

    _code = 0

    def __init__(self, literals: npt.ArrayLike) -> None:
        super().__init__(literals)
        self._require_some()


class Or(_Logic):
    """At least one of the literals is true.

    Parameters
    ----------
    literals : sequence of (variable, label), or of int
        Distinct literals; a variable alone stands for its label 1.

    Examples
    --------
    >>> Or([0, 1, 4])
    Or([(0, 1), (1, 1), (4, 1)])
    """

    _code = 1

    def __init__(self, literals: npt.ArrayLike) -> None:
        super().__init__(literals)
        self._require_some()


class AtMost(_Logic):
    """At most ``k`` of the literals are true.

    Parameters
    ----------
    literals : sequence of (variable, label), or of int
        Distinct literals; a variable alone stands for its label 1.
    k : int
        How many may be true.

    Examples
    --------
    >>> AtMost([0, 1, 2], 2)
    AtMost([(0, 1), (1, 1), (2, 1)], 2)
    """

    _code = 2

    def __init__(self, literals: npt.ArrayLike, k: int) -> None:
        super().__init__(literals)
        self.most = as_count("k", k, least=0)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.most})"


class Structure:
    """A whole chain or tree as one factor: the variables together are one of its outputs.

    Only search by dual decomposition handles it directly (Martins et al. 2015); elimination does not work on a graph
    that has one. If a chain shares its labels with a graph and you want exact answers, write its transitions as edges.

    Parameters
    ----------
    scores : Chain, DependencyTree, SpanningTree or another class of bare scores
        Their scores are added to those of the graph.
    variables : array of int
        An array of the shape of ``scores.marginals()``. Each entry is the variable that has label 1 if and only if the
        output has that part; -1 for none. Or, as for chains, an array without the last axis: each entry is the variable
        whose label is the label at that place.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> Structure(Chain(np.zeros((3, 2)), np.zeros((2, 2))), [0, 1, 2])
    Structure(Chain(3 positions, 2 labels), 3 variables)
    """

    def __init__(self, scores: BareScores[Any], variables: npt.ArrayLike) -> None:
        self.scores = scores
        self._structure, self._shape, self._part_scores, places = _parts_of(scores)
        given = np.asarray(variables)
        if given.dtype.kind not in "iu" or given.shape not in (places.shape, places.shape[:-1]):
            raise InvalidInput(
                f"variables of a Structure must be whole numbers of shape {places.shape} or {places.shape[:-1]}, "
                f"found {given.dtype} of shape {given.shape}."
            )
        labels = np.ones_like(places)
        if given.shape != places.shape:
            labels = np.broadcast_to(np.arange(places.shape[-1]), places.shape)
            given = np.broadcast_to(given[..., None], places.shape)
        used = (places >= 0) & (given >= 0)
        self.literals: Pairs = np.full((len(self._part_scores), 2), -1, dtype=np.int64)
        self.literals[places[used]] = np.column_stack([given[used], labels[used]])

    def __repr__(self) -> str:
        variables = self.literals[:, 0]
        return f"Structure({self.scores!r}, {len(np.unique(variables[variables >= 0]))} variables)"


def _parts_of(scores: Any) -> tuple[_core.PartStructure, npt.NDArray[np.uint32], FloatArray, npt.NDArray[np.int64]]:
    """Return structure, shape and scores of parts, and which part stands where in the marginals."""
    from trelliswork.structures.chain import Chain

    if isinstance(scores, Chain):
        length, n_labels = scores.unary.shape
        unary = np.array(scores.unary)
        if length:
            unary[0] += scores.start
            unary[-1] += scores.end
        moves = np.broadcast_to(scores.transitions, (max(length - 1, 0), n_labels, n_labels))
        parts = np.concatenate([unary.ravel(), moves.ravel()])
        structure = _core.PartStructure.chain(n_labels, tied=False)
        places = np.arange(unary.size, dtype=np.int64).reshape(unary.shape)
        return structure, np.array([length], dtype=np.uint32), parts, places
    if not isinstance(scores, PartScores):
        raise InvalidInput(f"scores of a Structure must be a Chain or other bare scores, found {scores!r}.")
    numbers = np.arange(len(scores._scores), dtype=np.float64)
    places = np.asarray(scores._shaped(numbers, np.maximum, -1.0)).astype(np.int64)
    used = places[places >= 0]
    if scores._constant != 0.0 or len(np.unique(used)) < len(used):
        raise InvalidInput(f"{scores!r} cannot be a factor: some of its parts share a place in its marginals.")
    return scores._structure, scores._shape, np.asarray(scores._scores, dtype=np.float64), places


def _as_variables(name: str, values: Any) -> Pairs:
    array = checks.as_array(name, values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInput(f"{name} must be a list of whole numbers, found {values!r}.")
    if array.size and array.min() < 0:
        raise InvalidInput(f"{name} must not be negative, found {int(array.min())}.")
    return array.astype(np.int64)


def _as_literals(name: str, values: Any) -> Pairs:
    array = checks.as_array(name, values)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim == 1 and array.dtype.kind in "iu":
        array = np.column_stack([array, np.ones_like(array)])
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InvalidInput(f"{name} must be pairs (variable, label), or variables; found {values!r}.")
    if array.min() < 0:
        raise InvalidInput(f"{name} must not be negative, found {array[(array < 0).any(axis=1)][0].tolist()}.")
    if len(np.unique(array, axis=0)) < len(array):
        raise InvalidInput(f"{name} must be different, found {values!r}.")
    return array.astype(np.int64)
