"""Answers of the structures: small named tuples, cheap to make and easy to unpack."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.structures.constituents import Constituent

__all__ = [
    "AlignedPairs",
    "Brackets",
    "Expectations",
    "Forward",
    "ForwardBackward",
    "GraphBeliefs",
    "GraphLabeling",
    "GridLabeling",
    "Labeling",
    "MatchedPairs",
    "MatchingSums",
    "Parse",
    "PartialGrid",
    "Relaxation",
    "Segmentation",
    "Solution",
    "SpanningEdges",
    "Tree",
    "proved",
]


class Labeling(NamedTuple):
    """One label per position, and the score of the labelling.

    Examples
    --------
    >>> Labeling(np.array([0, 1], dtype=np.int32), 3.0).labels.tolist()
    [0, 1]
    """

    labels: npt.NDArray[np.int32]
    score: float


class GridLabeling(NamedTuple):
    """One label for each cell of a grid, the score, whether it is proved optimal, and the gap.

    Examples
    --------
    >>> GridLabeling(np.array([[0, 1]], dtype=np.int32), 3.0, True, 0.0).labels.shape
    (1, 2)
    """

    labels: npt.NDArray[np.int32]
    score: float
    exact: bool
    gap: float


class PartialGrid(NamedTuple):
    """The decided labels of a grid, -1 for undecided cells, and an upper bound on the score of every labelling.

    Examples
    --------
    >>> PartialGrid(np.array([[0, -1]], dtype=np.int32), 3.0, False).undecided.tolist()
    [[False, True]]
    """

    labels: npt.NDArray[np.int32]
    bound: float
    exact: bool

    @property
    def undecided(self) -> npt.NDArray[np.bool_]:
        """Which cells are undecided."""
        return self.labels < 0


class Segmentation(NamedTuple):
    """Segments as rows ``(start, stop, label)``, and the score of the segmentation.

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
    """Constituents ``(begin, end, label)`` of a sentence, outermost first, and the score of the tree.

    Examples
    --------
    >>> Brackets([(0, 3, 1), (1, 3, 0)], 2.5).spans[0]
    (0, 3, 1)
    """

    spans: list[tuple[int, int, int]]
    score: float


class Tree(NamedTuple):
    """The head of every word, 0 for the root; the label of the arc to its head, if there are labels; the score.

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


class GraphLabeling(NamedTuple):
    """A label for each variable of a factor graph, the score, and whether it is proved optimal.

    ``exact`` is True if it is proved that no labelling is better. Otherwise none is better by more than ``gap``, which
    is inf if no bound is known. ``status`` says how the search ended: "exact" (elimination, without a search),
    "proved", "converged" or "stopped" (by its limits of time or iterations), after ``iterations``. ``state`` is where
    the search ended; another search can start from it.

    Examples
    --------
    >>> GraphLabeling(np.array([0, 2], dtype=np.int32), 3.0, True, 0.0).labels.tolist()
    [0, 2]
    """

    labels: npt.NDArray[np.int32]
    score: float
    exact: bool
    gap: float
    status: str = "exact"
    iterations: int = 0
    state: Any = None


class GraphBeliefs(NamedTuple):
    """Sums over a factor graph by message passing; approximate if the graph has cycles.

    ``log_partition`` is an estimate, or an upper bound if ``is_bound`` is True. ``converged`` says whether messages
    converged, after ``iterations``.

    Examples
    --------
    >>> GraphBeliefs([np.array([0.5, 0.5])], [], 0.69, True, False, 3).converged
    True
    """

    marginals: list[npt.NDArray[np.float64]]
    edge_marginals: list[npt.NDArray[np.float64]]
    log_partition: float
    converged: bool
    is_bound: bool
    iterations: int
    state: Any = None


class MatchedPairs(NamedTuple):
    """The pairs of a matching as rows (i, j), by i, the score, whether it is proved optimal, and the gap.

    Examples
    --------
    >>> MatchedPairs(np.array([[0, 1], [1, 0]], dtype=np.int32), 3.0).exact
    True
    """

    pairs: npt.NDArray[np.int32]
    score: float
    exact: bool = True
    gap: float = 0.0


class MatchingSums(NamedTuple):
    """Sums over all matchings: probabilities of pairs, (n, m), and of unmatched items; whether they are exact.

    Examples
    --------
    >>> MatchingSums(0.7, np.full((2, 2), 0.5), np.zeros(2), np.zeros(2), True, True).exact
    True
    """

    log_partition: float
    marginals: npt.NDArray[np.float64]
    left: npt.NDArray[np.float64]
    right: npt.NDArray[np.float64]
    exact: bool
    converged: bool


class AlignedPairs(NamedTuple):
    """The pairs of an alignment as rows (i, j), both increasing, the score, and the two lengths.

    Examples
    --------
    >>> found = AlignedPairs(np.array([[0, 0], [2, 1]], dtype=np.int32), 1.5, (3, 2))
    >>> found.operations
    [('pair', 0, 0), ('delete', 1, None), ('pair', 2, 1)]
    >>> print(found.text("cat", "ct"))
    cat
    c-t
    """

    pairs: npt.NDArray[np.int32]
    score: float
    lengths: tuple[int, int]
    exact: bool = True
    gap: float = 0.0

    @property
    def operations(self) -> list[tuple[str, int | None, int | None]]:
        """The operations from left to right: ("pair", i, j), ("delete", i, None) or ("insert", None, j)."""
        found: list[tuple[str, int | None, int | None]] = []
        i = j = 0
        for a, b in [*self.pairs.tolist(), self.lengths]:
            found += [("delete", k, None) for k in range(i, a)]
            found += [("insert", None, k) for k in range(j, b)]
            i, j = a + 1, b + 1
            if (a, b) != tuple(self.lengths):
                found.append(("pair", a, b))
        return found

    def text(self, source: Sequence[Any], target: Sequence[Any], gap: str = "-") -> str:
        """Return both sequences, one below the other, with gaps; spaces separate items of several characters.

        Parameters
        ----------
        source, target : sequences
            The aligned sequences: strings or lists of tokens.
        gap : str
            The symbol for a gap.
        """
        if (len(source), len(target)) != tuple(self.lengths):
            raise InvalidInput(
                f"source and target have {len(source)} and {len(target)} items, the alignment is of {self.lengths}."
            )
        above = [gap if i is None else str(source[i]) for _, i, _ in self.operations]
        below = [gap if j is None else str(target[j]) for _, _, j in self.operations]
        widths = [max(len(a), len(b)) for a, b in zip(above, below, strict=True)]
        between = "" if isinstance(source, str) and isinstance(target, str) else " "
        rows = [between.join(x.ljust(n) for x, n in zip(row, widths, strict=True)).rstrip() for row in (above, below)]
        return "\n".join(rows)


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
    """The best values of a program's variables, in the shape of its objective, and their score.

    ``exact`` says whether they are proved to be the best. No solution is better by more than ``gap``.

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
    """The indicators of a program's linear relaxation, and an upper bound on the score of every solution.

    Examples
    --------
    >>> Relaxation(np.array([0.5, 0.5]), 3.0).bound
    3.0
    """

    values: npt.NDArray[np.float64]
    bound: float


def proved(answer: Any, gap: float) -> Any:
    """Return an answer with ``exact`` and ``gap``; it still equals the given one, and unpacks in the same way.

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
