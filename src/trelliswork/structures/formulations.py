"""Structures as variables and linear constraints, for solvers of integer programs.

Chains are formulated as in Daumé 2017 (eq. 17.33, 17.34). Every other dynamic program is a flow of 1 into its goal:
there is a variable for each hyperedge, and flow is conserved at each node (Martin, Rardin and Campbell 1990). Trees
whose arcs may cross choose a head for every node; cuts exclude cycles, and are added when a solution violates them
(Edmonds 1967). All of these polytopes have integral corners, so the linear relaxation equals the structure's own answer
until constraints are added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput

if TYPE_CHECKING:
    from trelliswork.structures.chain import Chain

__all__ = [
    "MOST_VARIABLES",
    "Formulation",
    "Rows",
    "Tables",
    "Trees",
    "equal",
    "of_chain",
    "of_hyperedges",
    "of_matching",
    "of_tables",
    "of_trees",
    "picking",
]

FloatArray = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_VARIABLES = 2_000_000  # HiGHS takes about a gigabyte for as many


class Rows(NamedTuple):
    """Some linear constraints: ``lower <= matrix @ z <= upper``, and how the user wrote them."""

    matrix: Any
    lower: FloatArray
    upper: FloatArray
    said: str = ""


class Formulation(NamedTuple):
    """A structure, or what a user wrote, as variables z with scores, and rows."""

    objective: FloatArray  # (n,)
    lower: FloatArray
    upper: FloatArray
    integer: npt.NDArray[np.bool_]
    rows: tuple[Rows, ...]
    indicators: Any = None  # sparse, (number of indicators, n): what coefficients of constraints are over; None: z
    identity: Any = None  # sparse, (m, n): indicators, 0 or 1, by which two outputs differ; None: all binary variables
    read: Callable[[FloatArray], Any] | None = None  # from values of z to an answer
    cuts: Callable[[FloatArray], list[Rows]] | None = None  # rows that values break, and that need not be there before


# ---- chains ------------------------------------------------------------------------------------------------------


def of_chain(chain: Chain) -> Formulation:
    """Return a chain with a variable for each pair of neighbouring labels (Daumé 2017, eq. 17.33, 17.34)."""
    n_positions, n_labels = chain.n_positions, chain.n_labels
    require_size("this chain", n_labels + max(n_positions - 1, 0) * n_labels**2)
    ends_in, starts_from = _label_incidence(n_positions, n_labels)
    scores = _edge_scores(chain)
    forbidden = scores == -np.inf

    def read(z: FloatArray) -> Any:
        indicators = (ends_in @ z).reshape(n_positions, n_labels)
        return chain._from_labels(indicators.argmax(axis=1).astype(np.int32))

    return Formulation(
        np.where(forbidden, 0.0, scores),  # a bound forbids; a coefficient cannot
        np.zeros(scores.size),
        np.where(forbidden, 0.0, 1.0),
        np.ones(scores.size, dtype=np.bool_),
        (_one_pair_per_position(ends_in, n_labels), _neighbours_agree(ends_in, starts_from, n_labels)),
        ends_in,
        ends_in,
        read,
    )


def _edge_scores(chain: Chain) -> FloatArray:
    """The score of each pair of neighbouring labels (eq. 17.34), those of the first position first."""
    n_positions, n_labels = chain.n_positions, chain.n_labels
    if n_positions == 0:
        return np.zeros(0)
    unary = chain._with_ends()
    transitions = np.broadcast_to(chain.transitions, (n_positions - 1, n_labels, n_labels))
    return np.concatenate([unary[0], (transitions + unary[1:, np.newaxis, :]).ravel()])


def _label_incidence(n_positions: int, n_labels: int) -> tuple[Any, Any]:
    """Two sparse 0/1 matrices of shape (T K, n_variables).

    Row (t, k) of the first picks the pairs that end in label k at position t, of the second those that start from it.
    """
    pairs = np.arange(max(n_positions - 1, 0) * n_labels**2)
    t, before, after = np.unravel_index(pairs, (max(n_positions - 1, 0), n_labels, n_labels))
    first = np.arange(n_labels if n_positions else 0)  # a start symbol comes before these
    columns, shape = first.size + pairs, (n_positions * n_labels, first.size + pairs.size)
    ends_in = picking(np.concatenate([first, (t + 1) * n_labels + after]), np.concatenate([first, columns]), shape)
    return ends_in, picking(t * n_labels + before, columns, shape)


def _one_pair_per_position(ends_in: Any, n_labels: int) -> Rows:
    """Constraint 2: the sum over j and k of z[t, j, k] is 1 for all t."""
    from scipy import sparse

    n_positions = ends_in.shape[0] // n_labels
    sum_over_labels = sparse.kron(sparse.eye_array(n_positions), np.ones((1, n_labels)), format="csr")
    return equal(sum_over_labels @ ends_in, 1.0)


def _neighbours_agree(ends_in: Any, starts_from: Any, n_labels: int) -> Rows:
    """Constraint 3: the sum over j of z[t, j, k] is the sum over j of z[t + 1, k, j], for all k and t but the last."""
    before_the_last = slice(0, max(ends_in.shape[0] - n_labels, 0))
    return equal((ends_in - starts_from)[before_the_last], 0.0)


# ---- dynamic programs --------------------------------------------------------------------------------------------


def of_hyperedges(
    structure: _core.PartStructure,
    shape: npt.NDArray[np.uint32],
    scores: FloatArray,
    indicators: Ints,
    n_identifying: int,
    from_parts: Callable[[npt.NDArray[np.uint32]], Any],
) -> Formulation | None:
    """Return a dynamic program with a variable for each hyperedge; None when the structure is none.

    Parameters
    ----------
    structure, shape, scores
        As `_core.PartStructure` has them.
    indicators : int array
        The part that each indicator stands for, -1 for none.
    n_identifying : int
        As many of the first parts tell outputs apart, and are in an output once at most.
    from_parts : callable
        Makes an answer from the parts of an output.
    """
    try:
        found: Any = structure.hyperedges(shape, scores, MOST_VARIABLES)
    except ValueError as error:
        raise InvalidInput(
            f"the structure is too large: {error}. Constraints can be kept with method='lagrangian'."
        ) from None
    if found is None:
        return None
    node_parts, heads, firsts, seconds, parts = found
    n_nodes, n = len(node_parts), len(heads)
    edges = np.arange(n)
    of_heads = node_parts[heads] if n else np.zeros(0, dtype=np.int64)
    own, below = parts >= 0, of_heads >= 0
    by_part = picking(
        np.concatenate([parts[own], of_heads[below]]), np.concatenate([edges[own], edges[below]]), (len(scores), n)
    )
    into = picking(heads, edges, (n_nodes, n))
    used = picking(
        np.concatenate([firsts[firsts >= 0], seconds[seconds >= 0]]),
        np.concatenate([edges[firsts >= 0], edges[seconds >= 0]]),
        (n_nodes, n),
    )
    wanted = np.zeros(max(n_nodes, 1))
    wanted[-1] = 1.0  # the goal; where there are no nodes, a row that nothing meets
    flows = into - used if n_nodes else picking(edges[:0], edges[:0], (1, 0))
    objective = np.zeros(n)
    objective[own] += scores[parts[own]]
    objective[below] += scores[of_heads[below]]

    def read(z: FloatArray) -> Any:
        counts = np.rint(by_part @ z).astype(np.int64)
        return from_parts(np.repeat(np.arange(len(scores)), counts).astype(np.uint32))

    empty = (firsts < 0) & ~own & ~below  # a word without modifiers on a side, say: an output may have it on both

    return Formulation(
        objective,
        np.zeros(n),
        np.where(empty, np.inf, 1.0),
        ~empty,
        (Rows(flows, wanted, wanted),),
        _chosen(by_part, indicators),
        by_part[:n_identifying],
        read,
    )


def _chosen(by_part: Any, indicators: Ints) -> Any:
    """Rows of parts, in the order of indicators; those that stand for none are empty."""
    there = np.flatnonzero(indicators.ravel() >= 0)
    return picking(there, indicators.ravel()[there], (indicators.size, by_part.shape[0])) @ by_part


# ---- trees whose arcs may cross ----------------------------------------------------------------------------------


class Trees(NamedTuple):
    """Arborescences below node 0, each arc a variable: from a node, to a node, with a score."""

    n_nodes: int
    tails: Ints
    heads: Ints
    scores: FloatArray
    rows: tuple[Rows, ...]  # beyond that every node but the first has one arc into it
    indicators: Any
    identity: Any
    read: Callable[[FloatArray], Any]


def of_trees(trees: Trees) -> Formulation:
    """Return arborescences as a program; cuts say that every set of nodes has an arc into it from outside."""
    n = len(trees.heads)
    require_size("this tree", n)
    forbidden = trees.scores == -np.inf
    into = picking(trees.heads, np.arange(n), (trees.n_nodes, n))[1:]
    return Formulation(
        np.where(forbidden, 0.0, trees.scores),
        np.zeros(n),
        np.where(forbidden, 0.0, 1.0),
        np.ones(n, dtype=np.bool_),
        (equal(into, 1.0), *trees.rows),
        trees.indicators,
        trees.identity,
        trees.read,
        lambda values: _tree_cuts(trees, values),
    )


_WHOLE = 1_000_000  # flows are counted in millionths
_MOST_CUTS = 50


def _tree_cuts(trees: Trees, values: FloatArray) -> list[Rows]:
    """Return cuts that values break: sets of nodes, without the root, that less than one arc leads into."""
    from scipy import sparse
    from scipy.sparse import csgraph

    n = trees.n_nodes
    amounts = np.rint(np.clip(values, 0.0, 1.0) * _WHOLE).astype(np.int32)
    capacity = sparse.csr_array((amounts, (trees.tails, trees.heads)), shape=(n, n), dtype=np.int32)
    capacity.sum_duplicates()
    capacity.eliminate_zeros()
    sets: dict[tuple[int, ...], None] = {}
    reached = np.zeros(n, dtype=np.bool_)
    reached[csgraph.breadth_first_order(capacity, 0, return_predecessors=False)] = True
    if not reached.all():
        _, component = csgraph.connected_components(capacity, connection="strong")
        for c in np.unique(component[~reached]):
            members = component == c
            entering = members[trees.heads] & ~members[trees.tails]
            if amounts[entering].sum() < _WHOLE // 2:
                sets[tuple(np.flatnonzero(members))] = None
    else:
        for node in range(1, n):
            flow = csgraph.maximum_flow(capacity, 0, node)
            if flow.flow_value > _WHOLE - 100 - n:
                continue
            left = sparse.csr_array(capacity - flow.flow)
            left.data = np.where(left.data > 0, left.data, 0)
            left.eliminate_zeros()
            side = np.ones(n, dtype=np.bool_)
            side[csgraph.breadth_first_order(left, 0, return_predecessors=False)] = False
            sets[tuple(np.flatnonzero(side))] = None
            if len(sets) == _MOST_CUTS:
                break
    found = []
    for members in sets:
        inside = np.zeros(n, dtype=np.bool_)
        inside[list(members)] = True
        entering = np.flatnonzero(inside[trees.heads] & ~inside[trees.tails])
        row = picking(np.zeros(len(entering), dtype=np.int64), entering, (1, len(values)))
        found.append(Rows(row, np.ones(1), np.full(1, np.inf)))
    return found


# ---- graphs and matchings ----------------------------------------------------------------------------------------


class Tables(NamedTuple):
    """Variables with labels, tables of scores over some of them, and logic constraints on labels."""

    n_labels: Ints
    unary: FloatArray  # of all labels, variable after variable
    tables: Sequence[tuple[Sequence[int], FloatArray]]  # variables, and scores with an axis for each
    logic: Sequence[tuple[Ints, float, float]] = ()  # rows (variable, label): at least and at most so many are true
    # Whole structures: their formulation, and rows (indicator, variable, label) of what is the same.
    structures: Sequence[tuple[Formulation, Ints]] = ()


def of_tables(graph: Tables, indicators: Ints, read: Callable[[Ints], Any]) -> Formulation:
    """Return labels of variables that are whole, and shares of the entries of tables that agree with them.

    Without whole variables this is the local polytope (Wainwright and Jordan 2008, section 8.4).

    Parameters
    ----------
    graph : Tables
    indicators : int array
        The label, by its number among all labels, that each indicator stands for; -1 for none.
    read : callable
        Makes an answer from the label of each variable.
    """
    from scipy import sparse

    starts = np.concatenate([[0], np.cumsum(graph.n_labels)]).astype(np.int64)
    n_unary = int(starts[-1])
    sizes = [scores.size for _, scores in graph.tables]
    inner = [form.objective.size for form, _ in graph.structures]
    n = n_unary + sum(sizes) + sum(inner)
    require_size("this graph", n)
    owner = np.repeat(np.arange(len(graph.n_labels)), graph.n_labels)
    rows, columns, values = [], [], []
    n_rows, at = 0, n_unary
    for variables, scores in graph.tables:  # summed over the others, a table is what the variable has
        cells = np.indices(scores.shape).reshape(scores.ndim, -1)
        for axis, variable in enumerate(variables):
            k = scores.shape[axis]
            rows += [n_rows + cells[axis], n_rows + np.arange(k)]
            columns += [at + np.arange(scores.size), starts[variable] + np.arange(k)]
            values += [np.ones(scores.size), -np.ones(k)]
            n_rows += k
        at += scores.size
    made = [equal(picking(owner, np.arange(n_unary), (len(graph.n_labels), n)), 1.0)]
    if n_rows:
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        made.append(equal(sparse.csr_array(entries, shape=(n_rows, n)), 0.0))
    for literals, least, most in graph.logic:
        places = starts[literals[:, 0]] + literals[:, 1] if len(literals) else np.zeros(0, dtype=np.int64)
        row = picking(np.zeros(len(places), dtype=np.int64), places, (1, n))
        made.append(Rows(row, np.array([least]), np.array([most])))
    cuts: list[Callable[[FloatArray], list[Rows]]] = []
    for (form, shared), size in zip(graph.structures, inner, strict=True):
        inside = picking(np.arange(size), at + np.arange(size), (size, n))
        made += [part._replace(matrix=part.matrix @ inside) for part in form.rows]
        own = form.indicators[shared[:, 0]] @ inside
        of_graph = picking(np.arange(len(shared)), starts[shared[:, 1]] + shared[:, 2], (len(shared), n))
        made.append(equal(own - of_graph, 0.0))
        if form.cuts is not None:
            cuts.append(_shifted(form.cuts, at, size, inside))
        at += size
    scores = np.concatenate([graph.unary, *(table.ravel() for _, table in graph.tables)])
    forbidden = scores == -np.inf
    forms = [form for form, _ in graph.structures]
    there = np.flatnonzero(indicators.ravel() >= 0)
    unary = picking(np.arange(n_unary), np.arange(n_unary), (n_unary, n))

    def label_of_each(z: FloatArray) -> Any:
        shares = np.split(z[:n_unary], starts[1:-1]) if len(graph.n_labels) else []
        return read(np.array([share.argmax() for share in shares], dtype=np.int64))

    return Formulation(
        np.concatenate([np.where(forbidden, 0.0, scores), *(form.objective for form in forms)]),
        np.concatenate([np.zeros(len(scores)), *(form.lower for form in forms)]),
        np.concatenate([np.where(forbidden, 0.0, 1.0), *(form.upper for form in forms)]),
        np.concatenate([np.arange(len(scores)) < n_unary, *(form.integer for form in forms)]),
        tuple(made),
        picking(there, indicators.ravel()[there], (indicators.size, n)),
        unary,
        label_of_each,
        (lambda z: [row for cut in cuts for row in cut(z)]) if cuts else None,
    )


def _shifted(
    cuts: Callable[[FloatArray], list[Rows]], at: int, size: int, inside: Any
) -> Callable[[FloatArray], list[Rows]]:
    """Cuts of a structure whose variables are some of many."""
    return lambda z: [row._replace(matrix=row.matrix @ inside) for row in cuts(z[at : at + size])]


def of_matching(
    scores: FloatArray, shape: tuple[int, int], unmatched: bool, from_parts: Callable[[npt.NDArray[np.uint32]], Any]
) -> Formulation:
    """Return pairs of rows and columns, each in one at most; those that are unmatched are parts too, where they may be.

    The corners of this polytope are whole (Birkhoff 1946).
    """
    n_left, n_right = shape
    size, n = n_left * n_right, len(scores)
    require_size("this matching", n)
    left, right = np.divmod(np.arange(size), max(n_right, 1))
    alone = np.arange(size, n)
    of_left, of_right = left, right
    columns = np.arange(size)
    rows = []
    for side, count, first in ((of_left, n_left, size), (of_right, n_right, size + n_left)):
        own = alone[(alone >= first) & (alone < first + count)]
        matrix = picking(np.concatenate([side, own - first]), np.concatenate([columns, own]), (count, n))
        must = unmatched or count == min(shape)
        rows.append(Rows(matrix, np.full(count, 1.0 if must else 0.0), np.ones(count)))
    forbidden = scores == -np.inf
    pairs = picking(columns, columns, (size, n))
    return Formulation(
        np.where(forbidden, 0.0, scores),
        np.zeros(n),
        np.where(forbidden, 0.0, 1.0),
        np.ones(n, dtype=np.bool_),
        tuple(rows),
        pairs,
        pairs,
        lambda z: from_parts(np.flatnonzero(np.rint(z)).astype(np.uint32)),
    )


# ---- helpers -----------------------------------------------------------------------------------------------------


def require_size(what: str, n: int) -> None:
    """Refuse a program that is too large for a solver."""
    if n > MOST_VARIABLES:
        raise InvalidInput(
            f"{what} has {n:,} variables as a linear program; up to {MOST_VARIABLES:,} are taken on. Constraints can "
            "be kept with method='lagrangian'."
        )


def equal(matrix: Any, value: float) -> Rows:
    """Return rows that all have the same value on both sides."""
    sides = np.full(matrix.shape[0], value)
    return Rows(matrix, sides, sides)


def picking(rows: Sequence[Any] | npt.NDArray[Any], columns: npt.NDArray[Any], shape: tuple[int, int]) -> Any:
    """Return a sparse matrix with ones in these places."""
    from scipy import sparse

    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
