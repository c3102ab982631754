"""What the structures answer: small named tuples, cheap to make and easy to unpack."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.structures.constituents import Constituent

__all__ = [
    "Brackets",
    "Expectations",
    "Forward",
    "ForwardBackward",
    "Labeling",
    "Parse",
    "Relaxation",
    "Segmentation",
    "Solution",
    "SpanningEdges",
    "Tree",
    "proved",
]


class Labeling(NamedTuple):
    """One label per position, and the score of the whole.

    Examples
    --------
    >>> Labeling(np.array([0, 1], dtype=np.int32), 3.0).labels.tolist()
    [0, 1]
    """

    labels: npt.NDArray[np.int32]
    score: float


class Segmentation(NamedTuple):
    """Segments as rows ``(start, stop, label)``, and the score of the whole.

    Examples
    --------
    >>> Segmentation(np.array([[0, 2, 1], [2, 3, 0]], dtype=np.int32), 1.5).labels.tolist()
    [1, 1, 0]
    """

    segments: npt.NDArray[np.int32]
    score: float

    @property
    def labels(self) -> npt.NDArray[np.int32]:
        """The label of every position."""
        lengths = self.segments[:, 1] - self.segments[:, 0]
        return np.repeat(self.segments[:, 2], lengths)


class Brackets(NamedTuple):
    """Constituents ``(begin, end, label)`` of a sentence, outermost first, and the score of the whole.

    Examples
    --------
    >>> Brackets([(0, 3, 1), (1, 3, 0)], 2.5).spans[0]
    (0, 3, 1)
    """

    spans: list[tuple[int, int, int]]
    score: float


class Tree(NamedTuple):
    """The head of every word, 0 for the root; the label of the arc into it, where there are labels; the score.

    Examples
    --------
    >>> Tree(np.array([2, 0], dtype=np.int32), None, 3.0).heads.tolist()
    [2, 0]
    """

    heads: npt.NDArray[np.int32]
    labels: npt.NDArray[np.int32] | None
    score: float


class SpanningEdges(NamedTuple):
    """The edges of a spanning tree as rows of two nodes, the lower one first, and the score.

    Examples
    --------
    >>> SpanningEdges(np.array([[0, 1], [1, 2]], dtype=np.int32), 3.0).edges.tolist()
    [[0, 1], [1, 2]]
    """

    edges: npt.NDArray[np.int32]
    score: float


class Parse(NamedTuple):
    """A tree of a grammar, and its score.

    Examples
    --------
    >>> from trelliswork import Constituent
    >>> Parse(Constituent.from_text("(NP (NN rain))"), -0.5).tree.leaves()
    ['rain']
    """

    tree: Constituent
    score: float


class Forward(NamedTuple):
    """The answer to the normalisation problem (eq. 2.30) and the forward vectors (eq. 2.31) behind it."""

    total: Any
    alpha: npt.NDArray[Any]


class ForwardBackward(NamedTuple):
    """Forward and backward vectors (eq. 2.31, 2.33) and the marginalisation problem (eq. 2.29) of every edge."""

    total: Any
    alpha: npt.NDArray[Any]
    beta: npt.NDArray[Any]
    edges: npt.NDArray[Any]


class Expectations(NamedTuple):
    """The log partition and the expected counts of labels, label pairs and (attribute, label) pairs."""

    log_partition: float
    labels: npt.NDArray[np.float64]
    transitions: npt.NDArray[np.float64]
    attributes: npt.NDArray[np.float64]


class Solution(NamedTuple):
    """The best values of the variables of a program, in the shape of its objective, and their score.

    ``exact``: whether they are proved to be the best. ``gap``: no solution is better by more.

    Examples
    --------
    >>> Solution(np.array([1.0, 0.0]), 2.5).score
    2.5
    """

    values: npt.NDArray[np.float64]
    score: float
    exact: bool = True
    gap: float = 0.0


class Relaxation(NamedTuple):
    """What the indicators of a program are where they need not be whole, and a bound on the score of every solution.

    Examples
    --------
    >>> Relaxation(np.array([0.5, 0.5]), 3.0).bound
    3.0
    """

    values: npt.NDArray[np.float64]
    bound: float


def proved(answer: Any, gap: float) -> Any:
    """Return an answer that also has ``exact`` and ``gap``; it stays equal to what it was, and unpacks as it did.

    Examples
    --------
    >>> best = proved(Labeling(np.array([0], dtype=np.int32), 3.0), 0.5)
    >>> best.exact, best.gap, isinstance(best, Labeling), len(best)
    (False, 0.5, True, 2)
    """
    if "gap" in getattr(answer, "_fields", ()):
        return answer._replace(exact=gap == 0.0, gap=gap)
    if not isinstance(answer, tuple) or not hasattr(answer, "_fields"):
        return answer
    kind = type(answer)
    made = _with_proof(kind.__bases__[0] if hasattr(kind, "exact") else kind)(*answer)
    made.exact, made.gap = gap == 0.0, gap
    return made


@lru_cache(maxsize=64)
def _with_proof(kind: Any) -> Any:
    def reduce(self: Any) -> Any:
        return proved, (kind(*self), self.gap)

    return type(kind.__name__, (kind,), {"exact": True, "gap": 0.0, "__reduce__": reduce, "__doc__": kind.__doc__})
