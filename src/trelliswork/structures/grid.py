"""Grids of cells in two or three dimensions: best labellings by minimum cuts, from bare scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.results import GridLabeling, PartialGrid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.structures.factor_graph import FactorGraph
    from trelliswork.structures.formulations import Formulation
    from trelliswork.structures.program import Program

__all__ = ["Grid"]

LabelGrid = npt.NDArray[np.int32]
# Steps to the neighbours, (row, column) or (plane, row, column), in the order of core/cuts/grid.hpp.
_DIRECTIONS: dict[int, tuple[tuple[int, ...], ...]] = {
    4: ((0, 1), (1, 0)),
    8: ((0, 1), (1, 0), (1, 1), (1, -1)),
    6: ((0, 0, 1), (0, 1, 0), (1, 0, 0)),
    26: (
        *((0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1), (0, 1, -1), (1, 0, 1), (1, 0, -1)),
        *((1, 1, 0), (1, -1, 0), (1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)),
    ),
}
_METHODS = ("auto", "cut", "expansion", "swap", "qpbo")


class Grid:
    """Labellings of the cells of a grid, with scores of cells and of neighbouring pairs.

    ``score(labels) = sum of unary[cell, label] + sum over edges of pairwise[label of its first cell, of its second]``.
    Scores are maximised; to minimise an energy, negate it. ``-inf`` forbids.

    Parameters
    ----------
    unary : (H, W, K) or (D, H, W, K) array-like
        The score of each of K labels at each cell: three dimensions for an image, four for a volume.
    pairwise : float, (K, K) array-like, or a sequence with one item for each direction
        A number is the score of every edge whose two cells agree (Potts). In a table, ``pairwise[a, b]`` is the score
        of an edge whose first cell has label ``a`` and whose second has ``b``. A sequence has an item for each
        direction: such a number or table; None for no scores; or an array whose shape begins with that of the
        direction's edges and has for each edge a number, its score if its cells agree, or a (K, K) table.
    neighbours : {4, 8, 6, 26}, optional
        Number of neighbours of a cell: 4 (the default) or 8 in an image, 6 (the default) or 26 in a volume.
    reuse : bool
        Keep the network after a cut, about 50 bytes per cell, so that `with_scores` can start from its flow.

    Attributes
    ----------
    shape : tuple of int
        (H, W) or (D, H, W).
    n_labels : int
        Number of labels, K.
    unary : array
        A private, read-only copy of the scores.
    directions : tuple of tuples
        The step of each direction: (0, 1) leads from a cell to the one on its right.

    Notes
    -----
    *Directions.* With 4 neighbours they are right (0, 1) and down (1, 0); with 8 also (1, 1) and (1, -1). In a volume
    they are (0, 0, 1), (0, 1, 0), (1, 0, 0), and with 26 neighbours those of `directions`. The index of an edge is the
    lower corner of the box that its cells span. So an array of edges is one smaller along every axis on which the
    direction moves: edges to the right are (H, W - 1), edges down are (H - 1, W), and edge (i, j) of direction (1, -1)
    goes from cell (i, j + 1) to (i + 1, j).

    *What is exact.* With two labels, one maximum flow gives the exact answer if
    ``P[0, 0] + P[1, 1] >= P[0, 1] + P[1, 0]`` on every edge, that is, if pairs are submodular and favour agreement
    (Greig, Porteous and Seheult 1989). Among equally good labellings it returns the lowest: a cell has label 1 only
    where every best labelling has it. For other pairs, roof duality decides some cells (`partial`), and a search with a
    bound does the rest. More than two labels use alpha-expansion (Boykov, Veksler and Zabih 2001). Every answer says
    whether it is proved optimal, and how far off it may be. Scores may be as large as 1e300; sums have the precision of
    doubles.

    A maximum flow takes O(n) memory: for each cell, 8 bytes per neighbour and 24 more. Incremental breadth-first search
    (Goldberg et al. 2011) finds it, in practice in little more than linear time.

    Examples
    --------
    >>> import trelliswork as tw
    >>> noisy = np.array([[0.9, 0.8, -0.7], [0.7, -0.1, -0.9], [0.8, 0.6, -0.6]])  # what label 1 has over label 0
    >>> grid = tw.Grid(np.stack([np.zeros((3, 3)), noisy], axis=-1), pairwise=0.3)
    >>> best = grid.argmax()
    >>> best.labels.tolist(), round(best.score, 6), best.exact
    ([[1, 1, 0], [1, 1, 0], [1, 1, 0]], 6.4, True)

    A table for each direction. Vertical neighbours prefer to differ, which no cut can express:

    >>> stripes = tw.Grid(np.zeros((3, 3, 2)), [[[1, 0], [0, 1]], [[0, 1], [1, 0]]])
    >>> stripes.argmax().exact, stripes.argmax().score
    (True, 12.0)
    """

    def __init__(self, unary: npt.ArrayLike, pairwise: Any, neighbours: int | None = None, reuse: bool = False) -> None:
        given = checks.as_array("unary", unary)
        if given.ndim not in (3, 4):
            raise InvalidInput(
                f"unary must have shape (H, W, K), or (D, H, W, K) for a volume; found {given.shape}. "
                "The last axis is the labels."
            )
        if given.shape[-1] == 0:
            raise InvalidInput(f"unary has no labels: its shape is {given.shape}, the last axis is the labels.")
        self._neighbours = _as_neighbours(neighbours, given.ndim - 1)
        _require_memory(given.shape, self._neighbours)
        scores = checks.as_scores("unary", given)
        pairs = _as_pairs(pairwise, given.shape[:-1], given.shape[-1], self._neighbours)
        self._set(scores, pairs, checks.as_flag("reuse", reuse))

    def _set(self, unary: FloatArray, pairs: list[tuple[str, FloatArray]], reuse: bool) -> None:
        self.unary, self._pairs, self._reuse = unary, pairs, reuse
        self.shape: tuple[int, ...] = unary.shape[:-1]
        self.n_labels: int = unary.shape[-1]
        self.directions = _DIRECTIONS[self._neighbours]
        size = (1,) * (3 - len(self.shape)) + self.shape
        self._core = _core.GridScores(list(size), self._neighbours, self.n_labels, unary, pairs)
        # The solver whose network holds the flow of the scores beside it; taken out while somebody uses it.
        self._flow: tuple[_core.GridSolver, _core.GridScores] | None = None

    def __repr__(self) -> str:
        return f"Grid({' x '.join(map(str, self.shape))} cells, {self.n_labels} labels, {self._neighbours} neighbours)"

    def __getstate__(self) -> tuple[Any, ...]:
        return self._neighbours, self.unary, self._pairs, self._reuse

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._neighbours = state[0]
        self._set(*state[1:])

    def argmax(self, method: str = "auto", start: npt.ArrayLike | None = None, rounds: int = 100) -> GridLabeling:
        """Return the best labelling found, its score, and whether it is proved to be optimal.

        Parameters
        ----------
        method : {"auto", "cut", "expansion", "swap", "qpbo"}
            "cut" is exact; it refuses more than two labels, and pairs that are not submodular. "expansion" extends one
            label after another over the cells where that improves the score; "swap" exchanges cells between two labels.
            No further move of the kind improves their answers. "qpbo" is roof duality for two labels and any pairs,
            with a search for the undecided cells. "auto" chooses a cut where it is exact, "qpbo" for other pairs of two
            labels, "expansion" for more labels, and elimination where forbidden pairs block all moves and the grid is
            narrow.
        start : array of labels, optional
            Where expansion, swap and qpbo begin; label 0 everywhere by default.
        rounds : int
            Maximum number of passes over all labels.

        Returns
        -------
        GridLabeling
            ``labels``, ``score``, ``exact`` (proved optimal) and ``gap`` (by how much a labelling could be better).

        Examples
        --------
        >>> grid = Grid(np.zeros((1, 4, 3)), [[0, 1, 2], [1, 0, 0], [2, 0, 0]])
        >>> answer = grid.argmax("swap")
        >>> answer.score <= 6.0 <= answer.score + answer.gap
        True
        """
        if not isinstance(method, str) or method not in _METHODS:
            raise InvalidInput(f"method must be one of {', '.join(map(repr, _METHODS))}; found {method!r}.")
        begin = None if start is None else self._labels("start", start)
        rounds = min(checks.as_count("rounds", rounds), 2**40)
        solver, chosen = _core.GridSolver(), method
        if method == "auto":
            chosen = "expansion" if self.n_labels > 2 else "qpbo" if self._core.refused() else "cut"
        if chosen == "cut":
            return self._answer(self._cut())
        if chosen == "qpbo":
            self._require_two_labels('method="qpbo"')
            found = solver.qpbo(self._core, begin, rounds)
        else:
            found = (solver.expansion if chosen == "expansion" else solver.swap)(self._core, begin, rounds)
        if found[0] is None and method == "auto" and self.factor_graph().is_narrow():  # forbidden pairs block all moves
            return self.kbest(1)[0]
        return self._answer(found)

    def partial(self) -> PartialGrid:
        """Return the labels that roof duality (QPBO) decides, for two labels and any pairs; -1 where undecided.

        Every best labelling has the decided labels (Hammer, Hansen and Simeone 1984).

        Examples
        --------
        >>> apart = Grid([[[0.0, 1.0], [0.0, 0.0], [3.0, 0.0]]], [[0.0, 2.0], [2.0, 0.0]])
        >>> apart.partial().labels.tolist(), apart.partial().bound
        ([[0, 1, 0]], 7.0)
        """
        self._require_two_labels("partial()")
        labels, _, bound, exact, impossible = _core.GridSolver().partial(self._core)
        if impossible or labels is None:
            self._refuse_impossible()
        return PartialGrid(labels.reshape(self.shape), bound, exact)

    def kbest(self, k: int) -> list[GridLabeling]:
        """Return the ``k`` best labellings, distinct and best first; fewer than ``k`` if fewer exist.

        Narrow grids use elimination. Others must have two labels and submodular pairs; each further labelling then
        costs one cut per cell (Lawler 1972).

        Parameters
        ----------
        k : int
            Number of labellings.

        Examples
        --------
        >>> [found.labels.tolist() for found in Grid([[[0.0, 1.0], [0.0, 0.2]]], 0.5).kbest(3)]
        [[[1, 1]], [[1, 0]], [[0, 0]]]
        """
        k = checks.as_count("k", k)
        if self.n_labels > 2 or self._core.refused() is not None:
            graph = self.factor_graph()
            if not graph.is_narrow():
                self._require_cut("kbest of a grid that is not narrow")
            return [GridLabeling(best.labels.reshape(self.shape), best.score, True, 0.0) for best in graph.kbest(k)]
        found = _core.GridSolver().kbest(self._core, min(k, 2**62))
        if not found:
            self._refuse_impossible()
        return [self._answer(answer) for answer in found]

    def max_marginals(self) -> FloatArray:
        """Return the best score with each label at each cell, in the shape of ``unary``; -inf where none has it.

        Narrow grids use elimination. Others must have two labels and submodular pairs, and cost one cut per cell.
        """
        if self.n_labels > 2 or self._core.refused() is not None:
            graph = self.factor_graph()
            if not graph.is_narrow():
                self._require_cut("max_marginals of a grid that is not narrow")
            return np.array(graph.max_marginals()).reshape(self.unary.shape)
        return np.asarray(_core.GridSolver().max_marginals(self._core)).reshape(self.unary.shape)

    def factor_graph(self) -> FactorGraph:
        """Return the grid as a factor graph, whose variables are the cells in C order.

        Use it for sums: exact ones if the grid is narrow (about K ** width entries per cell), otherwise by messages.

        Examples
        --------
        >>> graph = Grid(np.zeros((2, 3, 2)), 1.0).factor_graph()
        >>> graph.n_variables, len(graph.edges), graph.is_narrow()
        (6, 7, True)
        """
        from trelliswork.structures.factor_graph import FactorGraph

        k, cells = self.n_labels, np.arange(math.prod(self.shape)).reshape(self.shape)
        ends: list[npt.NDArray[np.intp]] = [np.empty((0, 2), dtype=np.intp)]
        tables: list[FloatArray] = [np.empty((0, k, k))]
        for step, (kind, scores) in zip(self.directions, self._pairs, strict=True):
            if kind == "none":
                continue
            first = cells[tuple(slice(max(-s, 0), n - max(s, 0)) for s, n in zip(step, self.shape, strict=True))]
            second = cells[tuple(slice(max(s, 0), n - max(-s, 0)) for s, n in zip(step, self.shape, strict=True))]
            ends.append(np.stack([first.ravel(), second.ravel()], axis=1))
            given = np.asarray(scores)
            if kind in ("agree", "agrees"):  # -inf where labels agree, and zero elsewhere
                given = np.where(np.eye(k, dtype=np.bool_), given.reshape(-1, 1, 1), 0.0)
            tables.append(np.broadcast_to(given.reshape(-1, k, k), (first.size, k, k)))
        return FactorGraph(self.unary.reshape(-1, k), np.concatenate(ends), np.concatenate(tables))

    def log_partition(self, method: str = "exact", **settings: Any) -> float:
        """Return the log of the sum of exp(score) over all labellings; -inf when all are forbidden.

        Parameters
        ----------
        method : {"exact", "bp", "trw"}
            "exact" uses elimination, and refuses grids that are not narrow. "bp" and "trw" pass messages: the first
            gives an estimate, the second an upper bound. See `FactorGraph.log_partition`.
        **settings
            As for `FactorGraph.beliefs`.

        Examples
        --------
        >>> round(np.exp(Grid(np.zeros((3, 3, 2)), 0.0).log_partition()))
        512
        """
        return self.factor_graph().log_partition(method, **settings) if self.unary.size else 0.0

    def marginals(self, method: str = "exact", **settings: Any) -> FloatArray:
        """Return the probability of each label at each cell, in the shape of ``unary``.

        Parameters
        ----------
        method : {"exact", "bp", "trw"}
            As for `log_partition`; "bp" and "trw" give estimates.
        **settings
            As for `FactorGraph.beliefs`.

        Examples
        --------
        >>> Grid([[[0.0, 1.0], [0.0, 0.0]]], 2.0).marginals()[..., 1].round(2).tolist()
        [[0.73, 0.68]]
        """
        if not self.unary.size:
            return np.zeros(self.unary.shape)
        return np.array(self.factor_graph().marginals(method, **settings)).reshape(self.unary.shape)

    def entropy(self) -> float:
        """Return the entropy of the distribution, in nats; refused if the grid is not narrow."""
        return self.factor_graph().entropy() if self.unary.size else 0.0

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> LabelGrid:
        """Draw ``n`` labellings from the distribution, (n, H, W); refused if the grid is not narrow.

        Parameters
        ----------
        n : int
            Number of labellings.
        random_state : int or Generator, optional
            Seed or source of randomness; an integer gives the same draws every time.
        replace : bool
            Whether a labelling may be drawn again. If not, fewer than ``n`` are returned when fewer exist.
        """
        if not self.unary.size:
            return np.zeros((checks.as_count("n", n, least=0), *self.shape), dtype=np.int32)
        return self.factor_graph().sample(n, random_state, replace).reshape(-1, *self.shape)

    def log_prob(self, labels: npt.ArrayLike) -> float:
        """Return the log-probability of a labelling, never above zero; refused if the grid is not narrow."""
        return min(self.score(labels) - self.log_partition(), 0.0)

    def score(self, labels: npt.ArrayLike) -> float:
        """Return the score of one label for each cell, -inf if it is forbidden.

        Parameters
        ----------
        labels : array of int, of the grid's shape
            A labelling.
        """
        return self._core.score(self._labels("labels", labels))

    def with_scores(self, unary: npt.ArrayLike | None = None, pairwise: Any = None) -> Self:
        """Return the same grid with other scores.

        With ``reuse``, a cut of the new grid starts from the flow of this grid's cut (Kohli and Torr 2007), and is
        cheap if few scores have changed. The network moves to the new grid; this one builds another if it is used
        again.

        Parameters
        ----------
        unary, pairwise : optional
            As for the grid; by default, the scores of this one.

        Examples
        --------
        >>> grid = Grid(np.zeros((2, 2, 2)), 1.0, reuse=True)
        >>> grid.argmax().labels.tolist()
        [[0, 0], [0, 0]]
        >>> unary = np.zeros((2, 2, 2))
        >>> unary[0, 0, 1] = 0.5
        >>> grid.with_scores(unary).argmax().labels.tolist()
        [[1, 1], [1, 1]]
        """
        scores = self.unary if unary is None else checks.as_scores("unary", unary, self.unary.shape)
        pairs = self._pairs
        if pairwise is not None:
            pairs = _as_pairs(pairwise, self.shape, self.n_labels, self._neighbours)
        other = self._changed(scores, pairs)
        other._flow, self._flow = self._flow, None
        return other

    def augmented(self, gold: npt.ArrayLike, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the grid with ``scale`` times the cost of every label against ``gold`` added; see `Chain.augmented`.

        Parameters
        ----------
        gold : array of int, of the grid's shape
            The correct labels.
        cost : "hamming" or (K, K) array
            "hamming" charges one for every wrong label; an array is ``cost[correct, label]``, with a zero diagonal.
        scale : float
            The factor of the cost.
        """
        right = self._labels("gold", gold)
        costs = checks.as_cost(cost, self.n_labels)
        added = self.unary + checks.as_scale(scale) * costs[right]
        checks.require_scores("unary with the cost", added)
        return self._changed(added, self._pairs)

    def constrained(
        self, allowed: npt.ArrayLike | None = None, fixed: npt.ArrayLike | Mapping[Any, int] | None = None
    ) -> Self:
        """Return the grid with cells limited to some labels.

        Parameters
        ----------
        allowed : array of bool, of the shape of ``unary``, optional
            Which labels each cell may have.
        fixed : array of int of the grid's shape, or dict from cells to labels, optional
            Known labels of cells; in an array, -1 where a cell is free.

        Examples
        --------
        >>> Grid(np.zeros((1, 3, 2)), 1.0).constrained(fixed={(0, 1): 1}).argmax().labels.tolist()
        [[1, 1, 1]]
        """
        scores = np.array(self.unary)
        if allowed is not None:
            scores[~checks.as_mask("allowed", allowed, self.unary.shape)] = -np.inf
        if fixed is not None:
            labels = self._fixed(fixed)
            scores[(labels[..., None] >= 0) & (labels[..., None] != np.arange(self.n_labels))] = -np.inf
        limited = self._changed(scores, self._pairs)
        if (scores == -np.inf).all(axis=-1).any():
            limited._refuse_impossible()
        return limited

    def program(self) -> Program:
        """Return the integer program of the grid, for adding constraints; see `Chain.program`.

        Coefficients have the shape of ``unary``. The program has a variable for each pair of labels of each edge.

        Examples
        --------
        >>> grid = Grid(np.stack([np.zeros((2, 2)), np.ones((2, 2))], axis=-1), 0.1)
        >>> int(grid.program().exactly(label=1, n=2).argmax().labels.sum())
        2
        """
        from trelliswork.structures.program import Program

        return Program._of(self)

    def _indicators(self) -> npt.NDArray[np.int64]:
        return np.arange(self.unary.size, dtype=np.int64).reshape(self.unary.shape)

    def _as_parts(self) -> None:
        """A cut is not a structure of parts that multipliers could ask."""

    def _formulation(self) -> Formulation:
        from trelliswork.structures.formulations import Tables, of_tables, require_size

        k, cells = self.n_labels, np.arange(math.prod(self.shape)).reshape(self.shape)
        require_size("this grid", self.unary.size + cells.size * len(self.directions) * k**2)
        tables: list[tuple[Sequence[int], FloatArray]] = []
        for step, (kind, given) in zip(self.directions, self._pairs, strict=True):
            if kind == "none":
                continue
            first, second = (cells[_ends(step, self.shape, later)].ravel() for later in (False, True))
            of_edges = given
            if kind in ("agree", "agrees"):  # -inf where labels agree, and zero elsewhere
                of_edges = np.where(np.eye(k, dtype=np.bool_), given[..., None, None], 0.0)
            of_edges = np.broadcast_to(of_edges.reshape(-1, k, k), (len(first), k, k))
            tables += list(zip(zip(first.tolist(), second.tolist(), strict=True), of_edges, strict=True))
        graph = Tables(np.full(cells.size, k), self.unary.reshape(-1), tables)
        return of_tables(graph, self._indicators(), self._labelled)

    def _labelled(self, labels: npt.NDArray[np.int64]) -> GridLabeling:
        found = labels.reshape(self.shape).astype(np.int32)
        return GridLabeling(found, self.score(found), True, 0.0)

    def plot(
        self,
        labels: npt.ArrayLike | None = None,
        image: npt.ArrayLike | None = None,
        truth: npt.ArrayLike | None = None,
        plane: int = 0,
        axes: Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Draw labels as an image, next to the original image and the correct labels if they are given.

        Parameters
        ----------
        labels : array of int, optional
            The labels to draw; the best labelling by default. -1 is drawn as undecided.
        image : (H, W) or (H, W, 3) array, optional
            The original image, which is shown first.
        truth : array of int, optional
            The correct labels; cells that differ from them are marked.
        plane : int
            Which plane of a volume to show.
        axes : sequence of matplotlib axes, optional
            Where to draw, one for each image; new ones by default.

        Returns
        -------
        list of matplotlib.axes.Axes
        """
        from trelliswork.plots.grids import label_pictures

        shown = self.argmax().labels if labels is None else self._labels("labels", labels, least=-1)
        right = None if truth is None else self._labels("truth", truth, least=-1)
        if len(self.shape) == 3:
            plane = checks.as_count("plane", plane, least=0)
            if plane >= self.shape[0]:
                raise InvalidInput(f"plane is {plane}, but there are only {self.shape[0]} planes.")
            shown, right = shown[plane], None if right is None else right[plane]
        return label_pictures(shown, self.n_labels, image=image, truth=right, axes=axes)

    def _changed(self, unary: FloatArray, pairs: list[tuple[str, FloatArray]]) -> Self:
        other = type(self).__new__(type(self))
        other._neighbours = self._neighbours
        unary.flags.writeable = False
        other._set(unary, pairs, self._reuse)
        return other

    def _cut(self) -> tuple[Any, ...]:
        self._require_cut('method="cut"')
        flow, self._flow = self._flow, None
        if flow is None:
            solver = _core.GridSolver()
            found = solver.cut(self._core)
        else:
            solver, before = flow
            found = solver.cut_again(before, self._core)
        if self._reuse:
            self._flow = solver, self._core
        return found

    def _answer(self, found: tuple[Any, ...]) -> GridLabeling:
        labels, score, bound, exact, impossible = found
        if impossible:
            self._refuse_impossible()
        if labels is None:
            raise Unsatisfiable(
                "no labelling was found that is allowed; there may be one. Give one as start, or forbid fewer pairs."
            )
        return GridLabeling(labels.reshape(self.shape), score, exact, 0.0 if exact else bound - score)

    def _labels(self, name: str, values: npt.ArrayLike, least: int = 0) -> LabelGrid:
        given = values.labels if isinstance(values, GridLabeling) else values
        array = checks.as_array(name, given)
        if array.shape != self.shape:
            raise InvalidInput(f"{name} must have one label for each cell, shape {self.shape}; found {array.shape}.")
        if array.size and array.dtype.kind not in "iu":
            raise InvalidInput(f"{name} must hold integer label indices, found type {array.dtype}.")
        wrong = (array < least) | (array >= self.n_labels)
        if wrong.any():
            cell = np.unravel_index(int(np.argmax(wrong)), self.shape)
            place = ", ".join(map(str, cell))
            raise InvalidInput(
                f"{name}[{place}] is {array[cell]}; labels are indices from {least} to {self.n_labels - 1}."
            )
        return np.ascontiguousarray(array, dtype=np.int32)

    def _fixed(self, fixed: Any) -> LabelGrid:
        if not isinstance(fixed, Mapping):
            return self._labels("fixed", fixed, least=-1)
        labels = np.full(self.shape, -1, dtype=np.int32)
        for cell, label in fixed.items():
            if not isinstance(cell, tuple) or len(cell) != len(self.shape):
                raise InvalidInput(f"fixed must map cells {self._cell_form()} to labels, found {cell!r}.")
            place = tuple(checks.as_count(f"a cell of fixed, {cell!r},", i, least=0) for i in cell)
            if any(i >= n for i, n in zip(place, self.shape, strict=True)):
                raise InvalidInput(f"fixed names cell {cell!r}, but the grid has shape {self.shape}.")
            (labels[place],) = checks.label_set(f"fixed[{cell!r}]", [label], self.n_labels)
        return labels

    def _cell_form(self) -> str:
        return "(row, column)" if len(self.shape) == 2 else "(plane, row, column)"

    def _require_two_labels(self, what: str) -> None:
        if self.n_labels > 2:
            raise InvalidInput(
                f'{what} is for two labels, and there are {self.n_labels}; argmax("expansion") is for more.'
            )

    def _require_cut(self, what: str) -> None:
        """Raise unless a cut is exact, and say which edge is in the way."""
        self._require_two_labels(what)
        refused: Any = self._core.refused()
        if refused is None:
            return
        direction, start, stop, a, b, agree, differ = refused
        first, second = (tuple(map(int, np.unravel_index(cell, self.shape))) for cell in (start, stop))
        raise InvalidInput(
            f"{what} needs submodular pairs, P[a, a] + P[b, b] >= P[a, b] + P[b, a]: the edge from cell {first} to "
            f"{second}, direction {self.directions[direction]}, has {agree:g} < {differ:g} for labels {a} and {b}. "
            'Use argmax("qpbo") or partial(), or scores by which neighbours rather agree.'
        )

    def _refuse_impossible(self) -> NoReturn:
        nothing = (self.unary == -np.inf).all(axis=-1)
        if nothing.any():
            cell = tuple(map(int, np.unravel_index(int(np.argmax(nothing)), self.shape)))
            raise Unsatisfiable(f"every labelling is forbidden: all labels of cell {cell} are -inf.")
        raise Unsatisfiable("every labelling is forbidden: look at the -inf scores of pairs.")


def _ends(step: tuple[int, ...], shape: tuple[int, ...], later: bool) -> tuple[slice, ...]:
    """Return where the first, or the later, cells of all edges of a direction are."""
    return tuple(
        slice(None) if s == 0 else slice(1, None) if (s > 0) == later else slice(0, max(n - 1, 0))
        for s, n in zip(step, shape, strict=True)
    )


def _as_neighbours(neighbours: Any, n_axes: int) -> int:
    allowed = (4, 8) if n_axes == 2 else (6, 26)
    if neighbours is None:
        return allowed[0]
    if isinstance(neighbours, bool) or neighbours not in allowed:
        raise InvalidInput(
            f"neighbours must be {allowed[0]} or {allowed[1]} in a grid of {n_axes} dimensions, found {neighbours!r}."
        )
    return int(neighbours)


def _as_pairs(pairwise: Any, shape: tuple[int, ...], k: int, neighbours: int) -> list[tuple[str, FloatArray]]:
    """Return the pair scores of each direction as the core has them."""
    steps = _DIRECTIONS[neighbours]
    together = _if_rectangular(pairwise)
    if together is not None and together.shape in ((), (k, k)):
        one = _as_pair("pairwise", together, None, shape, k)
        return [one] * len(steps)
    if not checks.is_list(pairwise) or len(pairwise) != len(steps):
        found = f"{pairwise!r:.60}"
        if together is not None:
            found = f"shape {together.shape}"
        elif checks.is_list(pairwise):
            found = f"{len(pairwise)} items"
        raise InvalidInput(
            f"pairwise must be a number, a table of shape ({k}, {k}), or a sequence of {len(steps)} items, one for "
            f"each direction {', '.join(map(str, steps))}; found {found}."
        )
    return [_as_pair(f"pairwise[{d}]", item, steps[d], shape, k) for d, item in enumerate(pairwise)]


def _as_pair(
    name: str, values: Any, step: tuple[int, ...] | None, shape: tuple[int, ...], k: int
) -> tuple[str, FloatArray]:
    if values is None:
        return "none", np.zeros(0)
    array = checks.as_array(name, values)
    edges = None if step is None else tuple(max(n - (s != 0), 0) for n, s in zip(shape, step, strict=True))
    if array.shape == ():
        return "agree", checks.as_scores(name, array)
    if array.shape == (k, k):
        if array.shape == edges:
            raise InvalidInput(
                f"{name} has shape {array.shape}, which is that of a table and that of the edges of direction {step}: "
                f"give a table for each edge, shape {(*array.shape, k, k)}."
            )
        return "table", checks.as_scores(name, array)
    if edges is not None and array.shape == edges:
        return "agrees", checks.as_scores(name, array)
    if edges is not None and array.shape == (*edges, k, k):
        return "tables", checks.as_scores(name, array)
    raise InvalidInput(
        f"{name} must be a number, a table of shape ({k}, {k}), an array of the edges of direction {step}, shape "
        f"{edges}, or a table for each, shape {(*(edges or ()), k, k)}; found {array.shape}."
    )


def _if_rectangular(values: Any) -> npt.NDArray[Any] | None:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "fiub" else None


def _require_memory(shape: tuple[int, ...], neighbours: int) -> None:
    """Raise when a cut of this size would not fit into the machine."""
    n_cells = math.prod(shape[:-1])
    needed = n_cells * (8.0 * neighbours + 28 + 8 * shape[-1])
    what = f"a grid of {n_cells:,} cells with {shape[-1]} labels and {neighbours} neighbours"
    checks.require_memory(what, needed, "Cut it into tiles that overlap.")
