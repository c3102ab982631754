"""Spanning trees of undirected graphs, from scores of edges, with the questions of a `Chain`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.checks import BoolArray, FloatArray
from trelliswork.structures.parts import Numbers, PartScores
from trelliswork.structures.results import SpanningEdges

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.structures.formulations import Formulation

__all__ = ["SpanningTree"]

EdgeArray = npt.NDArray[np.int32]
_STRUCTURE = _core.PartStructure.spanning_tree()


class SpanningTree(PartScores[SpanningEdges]):
    """Spanning trees of a graph: edges that connect all nodes without a cycle; their scores are added.

    Scores are maximised; for a minimum spanning tree, negate the lengths. ``-inf`` forbids.

    Parameters
    ----------
    edges : (n, n) array-like, or list of (i, j, score)
        Symmetric scores of all pairs of nodes; the diagonal is ignored. Or, with ``n``, a list of the edges.
    n : int, optional
        Number of nodes, if edges are listed.

    Attributes
    ----------
    n_nodes : int
        Number of nodes.
    ends : (m, 2) array of int32
        The two nodes of every edge, the lower one first.
    scores : (m,) array
        The score of every edge.

    Notes
    -----
    The best tree costs O(n^2) if all pairs are edges (Prim 1957), and O(m log m) for m listed edges (Kruskal 1956);
    each further one costs O(m) (Gabow 1977). Sums cost O(n^3) (Kirchhoff 1847) and use no subtractions. Samples are
    random walks (Wilson 1996). Ties: the edge with the lower nodes is preferred, or the one listed first.

    Examples
    --------
    >>> tree = SpanningTree([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    >>> best = tree.argmax()
    >>> best.edges.tolist(), best.score
    ([[0, 1], [1, 2]], 5.0)
    >>> tree.marginals().round(2).tolist()
    [[0.0, 0.91, 0.33], [0.91, 0.0, 0.76], [0.33, 0.76, 0.0]]
    >>> SpanningTree([(0, 1, 3.0), (1, 2, 2.0), (2, 3, 0.5), (0, 3, 1.0)], n=4).argmax().edges.tolist()
    [[0, 1], [1, 2], [0, 3]]
    """

    _output_name = "spanning tree"

    def __init__(self, edges: npt.ArrayLike, n: int | None = None) -> None:
        if n is None:
            array = _as_symmetric(edges)
            ends = np.column_stack(np.triu_indices(len(array), 1)).astype(np.int32)
            self._set(len(array), ends, array[ends[:, 0], ends[:, 1]], np.zeros(len(ends), dtype=np.bool_), True)
        else:
            n = checks.as_count("n", n)
            ends, scores = _as_listed(edges, n)
            self._set(n, ends, scores, np.zeros(len(ends), dtype=np.bool_), False)

    def _set(self, n: int, ends: EdgeArray, scores: FloatArray, forced: BoolArray, dense: bool) -> None:
        """Keep the graph; the core gets the one in which nodes that forced edges connect are one node."""
        self.n_nodes, self.ends, self.scores = n, ends, scores
        for array in (ends, scores):
            array.flags.writeable = False
        self._forced, self._dense = forced, dense
        self._together = _components(n, ends[forced])
        self._constant = float(scores[forced].sum())
        n_left = int(self._together.max()) + 1
        if dense and n_left == n:
            self._sites = np.arange(len(ends))
            super().__init__(_STRUCTURE, [n], scores)
            return
        pairs = self._together[ends]
        self._sites = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
        if len(self._sites) == 0:  # a single node, or no edges at all
            super().__init__(_STRUCTURE, [n_left], np.full(n_left * (n_left - 1) // 2, -np.inf))
        else:
            super().__init__(_STRUCTURE, [n_left, *pairs[self._sites].ravel()], scores[self._sites])

    def _changed(self, scores: FloatArray, forced: BoolArray) -> Self:
        other = type(self).__new__(type(self))
        other._set(self.n_nodes, self.ends, scores, forced, self._dense)
        return other

    def __repr__(self) -> str:
        forced = f", {self._forced.sum()} forced" if self._forced.any() else ""
        return f"SpanningTree({self.n_nodes} nodes, {len(self.ends)} edges{forced})"

    def __getstate__(self) -> tuple[Any, ...]:
        return self.n_nodes, self.ends, self.scores, self._forced, self._dense

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(*state)

    def plot(self, nodes: Sequence[str] | None = None, marginals: bool = False, **options: Any) -> Axes:
        """Draw the best tree: nodes in a row, and edges as arcs above them.

        Parameters
        ----------
        nodes : sequence of n str, optional
            Names of the nodes; their numbers by default.
        marginals : bool
            Whether to shade edges by probability, and to draw other probable edges below the nodes.
        **options
            As for `trelliswork.plots.arcs`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from trelliswork.plots.trees import arcs

        heads = _hung_up(self.argmax().edges.tolist(), self.n_nodes)
        if marginals:
            found = self.marginals()
            table = np.zeros((self.n_nodes + 1, self.n_nodes + 1))
            table[1:, 1:] = np.triu(found)  # each edge once: those of the tree as they hang, others from left to right
            for node, head in enumerate(heads):
                if head:
                    table[node + 1, head], table[head, node + 1] = 0.0, found[head - 1, node]
            options["probabilities"] = table
        names = [str(i) for i in range(self.n_nodes)] if nodes is None else nodes
        return arcs(names, heads, directed=False, **options)

    def edge_marginals(self) -> FloatArray:
        """Return the probability of every edge, in the order of ``ends``."""
        return self._expected()

    def marginals(self) -> FloatArray:
        """Return the probability of every edge, (n, n) and symmetric."""
        return self._as_matrix(self._expected(), 0.0)

    def max_marginals(self) -> FloatArray:
        """Return the best score of a tree with each edge, (n, n) and symmetric; -inf where no tree has it."""
        return self._shaped(self._structure.max_marginals(self._shape, self._scores), np.maximum, -np.inf)

    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> FloatArray:
        out = np.full(len(self.ends), nothing)
        if join is np.add:
            out[self._sites], out[self._forced] = parts[: len(self._sites)], 1.0
        elif super().log_partition() > -np.inf:
            out[self._sites] = parts[: len(self._sites)] + self._constant
            out[self._forced] = self._constant + parts.max(initial=-np.inf) if len(self._sites) else self._constant
        return self._as_matrix(out, nothing)

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> list[SpanningEdges]:
        """Draw ``n`` trees from the distribution; see `Chain.sample`.

        Parameters
        ----------
        n : int
            Number of trees.
        random_state : int or Generator, optional
            Seed or source of randomness; an integer gives the same draws every time.
        replace : bool
            Whether a tree may be drawn again. If not, fewer than ``n`` are returned when fewer exist.
        """
        drawn = self._drawn(n, random_state, replace)
        return [self._answer(output, float(self._scores[output].sum())) for output in drawn]

    def score(self, output: Any) -> float:
        """Return the score of a tree, -inf if it is forbidden or not a spanning tree.

        Parameters
        ----------
        output : SpanningEdges, or list of (i, j)
            Its edges, in any order.
        """
        numbers, missing = self._found(output, "edges")
        if missing or self._forced[numbers].sum() != self._forced.sum() or not self._is_tree(numbers):
            return -np.inf
        return float(self.scores[numbers].sum())

    def cross_entropy(self, other: Self) -> float:
        """Return the mean negative log-probability under ``other`` of trees drawn from this one; see `Chain`."""
        found = super().cross_entropy(other)
        return np.inf if (self._expected()[other._forced] < 1.0 - 1e-12).any() else found

    def augmented(self, gold: Any, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the graph with ``scale`` times the cost of every edge against ``gold`` added; see `Chain.augmented`.

        Parameters
        ----------
        gold : SpanningEdges, or list of (i, j)
            The correct tree.
        cost : "hamming" or (n, n) array
            "hamming" charges one for every edge that is not in ``gold``. An array is the cost of every edge, charged
            whatever ``gold`` is.
        scale : float
            The factor of the cost.
        """
        right = self._numbers(gold)
        if not self._is_tree(right):
            raise InvalidInput("gold must be a spanning tree.")
        if isinstance(cost, str):
            if cost != "hamming":
                raise InvalidInput(f'cost must be "hamming" or an array of shape (n, n), found {cost!r}.')
            charged = np.ones(len(self.ends))
            charged[right] = 0.0
        else:
            array = _as_symmetric(cost, "cost")
            if array.shape != (self.n_nodes, self.n_nodes):
                raise InvalidInput(f"cost must have shape {(self.n_nodes, self.n_nodes)}, found {array.shape}.")
            charged = array[self.ends[:, 0], self.ends[:, 1]]
            checks.require_costs(charged)
        return self._changed(self.scores + checks.as_scale(scale) * charged, self._forced)

    def constrained(
        self,
        forced: Iterable[Any] | None = None,
        forbidden: Iterable[Any] | None = None,
        allowed: npt.ArrayLike | None = None,
    ) -> Self:
        """Return the graph with edges that are forced or forbidden.

        Parameters
        ----------
        forced, forbidden : list of (i, j), optional
            Edges that every tree must have, and edges that none may have.
        allowed : (n, n) array of bool, optional
            Which edges may occur; an entry must be True in both directions.

        Examples
        --------
        >>> tree = SpanningTree([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
        >>> tree.constrained(forced=[(0, 2)]).argmax().edges.tolist()
        [[0, 1], [0, 2]]
        """
        scores, needed = np.array(self.scores), self._forced.copy()
        if allowed is not None:
            mask = checks.as_mask("allowed", allowed, (self.n_nodes, self.n_nodes))
            scores[~(mask & mask.T)[self.ends[:, 0], self.ends[:, 1]]] = -np.inf
        if forbidden is not None:
            scores[self._numbers(forbidden, "forbidden")] = -np.inf
        if forced is not None:
            needed[self._numbers(forced, "forced")] = True
        if (scores[needed] == -np.inf).any():
            a, b = self.ends[needed & (scores == -np.inf)][0].tolist()
            raise Unsatisfiable(f"every spanning tree is forbidden: edge ({a}, {b}) is forced, and forbidden.")
        limited = self._changed(scores, needed)
        if self.n_nodes - int(limited._together.max()) - 1 != needed.sum():
            raise Unsatisfiable("every spanning tree is forbidden: the forced edges make a cycle.")
        limited._possible_log_partition()
        return limited

    def _expected(self) -> FloatArray:
        out = self._forced.astype(np.float64)
        out[self._sites] = super()._expected()
        return out

    def _scores_of_parts(self, of: Self) -> FloatArray | None:
        if self.n_nodes != of.n_nodes or not np.array_equal(self.ends, of.ends):
            return None
        scores = np.full(len(self.ends), -np.inf)
        scores[self._sites] = self.scores[self._sites]
        scores[self._forced] = self.scores[self._forced]
        return scores

    def _as_matrix(self, values: FloatArray, other: float) -> FloatArray:
        out = np.full((self.n_nodes, self.n_nodes), other)
        out[self.ends[:, 0], self.ends[:, 1]] = out[self.ends[:, 1], self.ends[:, 0]] = values
        return out

    def _is_tree(self, numbers: npt.NDArray[np.intp]) -> bool:
        return len(numbers) == self.n_nodes - 1 and _components(self.n_nodes, self.ends[numbers]).max() == 0

    def _numbers(self, edges: Any, name: str = "edges") -> npt.NDArray[np.intp]:
        """Return where edges stand among those there are."""
        numbers, missing = self._found(edges, name)
        if missing:
            raise InvalidInput(f"{name} has {missing[0]}, which is not an edge of the graph.")
        return numbers

    def _found(self, edges: Any, name: str) -> tuple[npt.NDArray[np.intp], list[tuple[int, ...]]]:
        """Return where edges stand among those there are, and those that do not."""
        given = edges.edges if isinstance(edges, SpanningEdges) else list(edges) if checks.is_list(edges) else edges
        pairs = checks.as_array(name, given)
        if pairs.size == 0:
            return np.empty(0, dtype=np.intp), []
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise InvalidInput(f"{name} must be pairs of nodes (i, j), found {given!r}.")
        if pairs.min() < 0 or pairs.max() >= self.n_nodes or (pairs[:, 0] == pairs[:, 1]).any():
            raise InvalidInput(f"{name} must connect two of the nodes 0 to {self.n_nodes - 1}, found {given!r}.")
        wanted = np.sort(pairs.astype(np.int64), axis=1) @ [self.n_nodes, 1]
        keys = self.ends.astype(np.int64) @ [self.n_nodes, 1]
        numbers = np.flatnonzero(np.isin(keys, wanted))
        return numbers, [tuple(pair) for pair in pairs[~np.isin(wanted, keys)].tolist()]

    def _answer(self, output: Numbers, score: float) -> SpanningEdges:
        if not self._forced.any():
            return SpanningEdges(self.ends[self._sites[output]], score)
        numbers = np.sort(np.concatenate([np.flatnonzero(self._forced), self._sites[output]]))
        return SpanningEdges(self.ends[numbers], score + float(self.scores[self._forced].sum()))

    def _indicators(self) -> npt.NDArray[np.int64]:
        parts = np.full(len(self.ends), -1.0)
        parts[self._sites], parts[self._forced] = np.arange(len(self._sites)), -2.0
        return self._as_matrix(parts, -1.0).astype(np.int64)

    def _formulation(self) -> Formulation:
        """Trees below node 0: each edge is an arc in one of both directions."""
        from trelliswork.structures.formulations import Trees, equal, of_trees, picking

        m, n = len(self.ends), self.n_nodes
        tails, heads = np.concatenate([self.ends, self.ends[:, ::-1]]).T.astype(np.int64)
        used = np.flatnonzero(heads != 0)
        by_edge = picking(used % m if m else used, np.arange(len(used)), (m, len(used)))
        both = [*(self.ends.astype(np.int64) @ [n, 1]), *(self.ends.astype(np.int64) @ [1, n])]
        by_place = picking(both, np.tile(np.arange(m), 2), (n * n, m)) @ by_edge

        def read(z: FloatArray) -> SpanningEdges:
            numbers = np.flatnonzero(np.rint(by_edge @ z))
            return SpanningEdges(self.ends[numbers], float(self.scores[numbers].sum()))

        rows = (equal(by_edge[np.flatnonzero(self._forced)], 1.0),)
        scores = np.concatenate([self.scores, self.scores])[used]
        return of_trees(Trees(n, tails[used], heads[used], scores, rows, by_place, by_edge, read))

    def _output(self, output: Any) -> Numbers:
        return self._numbers(output).astype(np.uint32)

    def _refuse_impossible(self) -> NoReturn:
        dead_end = self._structure.dead_end(self._shape, self._scores)
        node = int(np.flatnonzero(self._together == dead_end)[0])
        raise Unsatisfiable(
            f"every spanning tree is forbidden: no edges connect node {node} with node 0. Look at the -inf scores."
        )


def _hung_up(edges: list[list[int]], n: int) -> list[int]:
    """Return the neighbour of each node, from 1, on the way to node 0, which has 0."""
    near: list[list[int]] = [[] for _ in range(n)]
    for i, j in edges:
        near[i].append(j)
        near[j].append(i)
    heads, waiting = [0] * n, [0]
    for node in waiting:  # grows while it is gone through
        for other in near[node]:
            if other != heads[node] - 1:
                heads[other] = node + 1
                waiting.append(other)
    return heads


def _components(n: int, edges: EdgeArray) -> npt.NDArray[np.int64]:
    """Number the nodes by what edges connect, from 0 in the order of the lowest node of each."""
    above = list(range(n))

    def top(v: int) -> int:
        while above[v] != v:
            above[v] = v = above[above[v]]
        return v

    for a, b in edges.tolist():
        low, high = sorted((top(a), top(b)))
        above[high] = low
    return np.unique([top(v) for v in range(n)], return_inverse=True)[1].astype(np.int64)


def _as_symmetric(values: Any, name: str = "edges") -> FloatArray:
    array = checks.as_numbers(name, values)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise InvalidInput(f"{name} must have shape (n, n), or be a list of (i, j, score) with n; found {array.shape}.")
    np.fill_diagonal(array, 0.0)
    checks.require_scores(name, array)
    if not np.array_equal(array, array.T):
        a, b = np.argwhere(array != array.T)[0].tolist()
        raise InvalidInput(
            f"{name} must be symmetric; {name}[{a}, {b}] is {array[a, b]} and {name}[{b}, {a}] is {array[b, a]}."
        )
    return array


def _as_listed(edges: Any, n: int) -> tuple[EdgeArray, FloatArray]:
    """Return the ends, the lower one first, and the scores of edges that are listed."""
    rows = checks.as_numbers("edges", list(edges) if checks.is_list(edges) else edges)
    if rows.size == 0:
        return np.empty((0, 2), dtype=np.int32), np.empty(0)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise InvalidInput(f"edges must be rows (i, j, score) when n is given, found an array of shape {rows.shape}.")
    given = rows[:, :2]
    good = (given == np.floor(given)) & (given >= 0) & (given < n) & (given[:, :1] != given[:, 1:])
    if not good.all():
        i = int(np.flatnonzero(~good.all(axis=1))[0])
        raise InvalidInput(f"edges[{i}] must connect two of the nodes 0 to {n - 1}, found {given[i].tolist()}.")
    ends = np.sort(given, axis=1).astype(np.int32)
    keys, first = np.unique(ends.astype(np.int64) @ [n, 1], return_index=True)
    if len(keys) < len(ends):
        again = int(np.setdiff1d(np.arange(len(ends)), first)[0])
        raise InvalidInput(f"edges[{again}] connects {tuple(ends[again].tolist())} a second time.")
    scores = np.array(rows[:, 2])
    checks.require_scores("the score of edges", scores)
    return ends, scores
