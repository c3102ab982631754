"""What the structures answer: small named tuples, cheap to make and easy to unpack."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.structures.constituents import Constituent

__all__ = [
    "Brackets",
    "Expectations",
    "Forward",
    "ForwardBackward",
    "GraphBeliefs",
    "GraphLabeling",
    "GridLabeling",
    "Labeling",
    "Parse",
    "PartialGrid",
    "Segmentation",
    "SpanningEdges",
    "Tree",
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


class GridLabeling(NamedTuple):
    """One label for each cell of a grid, the score, whether no other is better, and by how much one could be.

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
    """What is known of the best labellings of a grid: labels, -1 for undecided, and a score that none is above.

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
        """Which cells are left open."""
        return self.labels < 0


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


class GraphLabeling(NamedTuple):
    """A label for each variable of a factor graph, the score, and what is known of how good it is.

    ``exact`` is True where no labelling is better, which was proved; otherwise none is better by more than ``gap``, inf
    where nothing is known. ``status`` says how the search ended: "exact" (elimination, nothing was searched),
    "proved", "converged" or "stopped" (by its limits of time or iterations), after ``iterations``. ``state`` is where a
    search ended, for the next one to begin there.

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
    """Sums over a factor graph by messages: approximate where it has cycles.

    ``log_partition`` is an estimate, or a bound that is never too low where ``is_bound`` is True; ``converged`` says
    whether messages came to rest, after ``iterations``.

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
