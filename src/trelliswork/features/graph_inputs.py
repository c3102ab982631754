"""Graphs as input: arrays, networkx and PyTorch Geometric, checked and converted to attributes.

A graph has nodes of one or more types and edges of one or more kinds. Each type has its own labels. The edges of a kind
lead from nodes of one type to nodes of the same or another type. The features of nodes and edges are rows of numbers,
or attributes: strings, or dicts as for `SequenceLabeler`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, shown
from trelliswork.features.inputs import matrix_source

__all__ = ["EdgeKind", "GraphInput", "GraphInputs", "checked_graphs"]

Ints = npt.NDArray[np.int64]
Name = str | int

NODE, EDGE = "node", "edge"  # the type and the kind where there is one and nobody named it
_NOT_SEEN = ("type", "kind", "label", "y", "features", "x")  # attributes of networkx that are no features by themselves
_MOST_PARTS = 1 << 28  # of a graph: 2 GiB of scores


class GraphInput(NamedTuple):
    """A graph with types of nodes and kinds of edges, for labelling its nodes.

    Parameters
    ----------
    nodes : (n, d) array, sparse matrix or list
        The features of each node: a row of numbers, or attributes (a string, a list of strings, or a dict). In a list,
        rows of different types may have different lengths.
    edges : (m, 2) array
        The numbers of the two nodes of each edge. Their order matters.
    edge_features : (m, e) array, sparse matrix or list, optional
        The features of each edge, in the same forms. By default, edges have no features.
    node_types : (n,) sequence of str or int, optional
        Each type has its own labels. By default, there is one type.
    edge_kinds : (m,) sequence of str or int, optional
        Each kind has its own weights. By default, the edges between each two types are a kind.

    Examples
    --------
    >>> GraphInput(["dog", "barks"], [(0, 1)], node_types=["noun", "verb"]).node_types
    ['noun', 'verb']
    """

    nodes: Any
    edges: Any
    edge_features: Any = None
    node_types: Any = None
    edge_kinds: Any = None


class EdgeKind(NamedTuple):
    """A kind of edges, and the numbers of its two types of nodes."""

    name: Name
    first: int
    second: int


class _Seen(NamedTuple):
    """What is seen of the nodes of a type or the edges of a kind."""

    form: str  # "matrix" or "attributes"
    n_columns: int | None


class CheckedGraph(NamedTuple):
    """A graph in one form, whatever it was given as."""

    nodes: Any  # array, CSR matrix or list
    edges: Ints  # (m, 2)
    edge_features: Any
    types: npt.NDArray[Any] | None  # names
    kinds: npt.NDArray[Any] | None
    keys: list[Any] | None  # what networkx calls the nodes
    place: str

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return _n_rows(self.nodes)


def checked_graphs(X: Any, argument: str = "X") -> list[CheckedGraph]:
    """Return graphs in a common form; the error for an invalid graph says which it is.

    Examples
    --------
    >>> (graph,) = checked_graphs([(np.eye(3), [(0, 1), (1, 2)])])
    >>> graph.n_nodes, graph.edges.tolist()
    (3, [[0, 1], [1, 2]])
    >>> checked_graphs([(np.eye(3), [(0, 3)])])
    Traceback (most recent call last):
    ...
    trelliswork.errors.InvalidInput: X[0]: edge 0 joins the nodes 0 and 3, but there are 3 nodes, numbered from 0.
    """
    if _is_graph(X) or isinstance(X, (str, bytes, Mapping, AbstractSet)) or not isinstance(X, Iterable):
        hint = f" For one graph, pass [{argument}]." if _is_graph(X) else ""
        raise InvalidInput(
            f"{argument} is {shown(X)}; expected a list of graphs, each (node features, edges, edge features or None)."
            f"{hint}"
        )
    return [_checked(x, f"{argument}[{i}]") for i, x in enumerate(X)]


def _is_graph(x: Any) -> bool:
    return isinstance(x, GraphInput) or hasattr(x, "edge_index") or hasattr(x, "number_of_nodes")


def _checked(x: Any, place: str) -> CheckedGraph:
    given, keys = _given(x, place)
    nodes = _rows(given.nodes, f"{place}: the nodes")
    n = _n_rows(nodes)
    edges = _checked_edges(given.edges, n, place)
    seen = None if given.edge_features is None else _rows(given.edge_features, f"{place}: the edges")
    if seen is not None and _n_rows(seen) != len(edges):
        raise InvalidInput(
            f"{place} has {len(edges)} edges, but features of {_n_rows(seen)}. Every edge needs its own."
        )
    types = _names(given.node_types, n, place, "node_types", "nodes")
    kinds = _names(given.edge_kinds, len(edges), place, "edge_kinds", "edges")
    return CheckedGraph(nodes, edges, seen, types, kinds, keys, place)


def _given(x: Any, place: str) -> tuple[GraphInput, list[Any] | None]:
    """Return the parts of a graph, and the names of its nodes where they have some."""
    if isinstance(x, GraphInput):
        return x, None
    if hasattr(x, "number_of_nodes") and hasattr(x, "adj"):
        return _from_networkx(x, place)
    if hasattr(x, "edge_index"):
        return _from_geometric(x, place), None
    if isinstance(x, Mapping):
        wrong = [name for name in x if name not in GraphInput._fields]
        if wrong or "nodes" not in x or "edges" not in x:
            raise InvalidInput(
                f"{place} is a dict with the keys {', '.join(map(str, x))}; expected nodes and edges, and perhaps "
                "edge_features, node_types and edge_kinds."
            )
        return GraphInput(**x), None
    if not isinstance(x, (tuple, list)) or not 2 <= len(x) <= 5:
        raise InvalidInput(
            f"{place} is {shown(x)}; expected (node features, edges, edge features or None), a GraphInput, a dict, a "
            "networkx graph, or an object with x and edge_index."
        )
    return GraphInput(*x), None


def _from_networkx(x: Any, place: str) -> tuple[GraphInput, list[Any]]:
    """Attributes named type, kind, label and y are not seen; ``features`` or ``x`` is a row, else all others are."""
    keys = list(x.nodes)
    number = {key: i for i, key in enumerate(keys)}
    of_nodes = [x.nodes[key] for key in keys]
    listed = list(x.edges(data=True))
    edges = np.array([(number[a], number[b]) for a, b, _ in listed], dtype=np.int64).reshape(-1, 2)
    of_edges = [attributes for _, _, attributes in listed]
    seen = _seen_in(of_edges) if any(set(own) - {*_NOT_SEEN[:4]} for own in of_edges) else None
    return (
        GraphInput(
            _seen_in(of_nodes),
            edges,
            seen,
            _common("type", of_nodes, f"{place}: the nodes"),
            _common("kind", of_edges, f"{place}: the edges"),
        ),
        keys,
    )


def _row_of(attributes: Mapping[Any, Any]) -> bool:
    return attributes.get("features", attributes.get("x")) is not None


def _seen_in(all_attributes: Sequence[Mapping[Any, Any]]) -> list[Any]:
    return [
        attributes.get("features", attributes.get("x"))
        if _row_of(attributes)
        else {str(name): value for name, value in attributes.items() if name not in _NOT_SEEN}
        for attributes in all_attributes
    ]


def _common(name: str, all_attributes: Sequence[Mapping[Any, Any]], place: str) -> list[Any] | None:
    has = [name in attributes for attributes in all_attributes]
    if any(has) and not all(has):
        raise InvalidInput(f"{place} have the attribute {name!r} in part only. Give it to all, or to none.")
    return [attributes[name] for attributes in all_attributes] if any(has) else None


def _from_geometric(x: Any, place: str) -> GraphInput:
    index = _as_numpy(x.edge_index)
    if np.ndim(index) != 2 or np.shape(index)[0] != 2:
        raise InvalidInput(f"{place}: edge_index has shape {np.shape(index)}; expected (2, edges).")
    if getattr(x, "x", None) is None:
        raise InvalidInput(f"{place} has no x: what is seen of its nodes.")
    return GraphInput(
        x.x,
        index.T,
        getattr(x, "edge_attr", None),
        _as_numpy(getattr(x, "node_type", None)),
        _as_numpy(getattr(x, "edge_type", None)),
    )


def _as_numpy(values: Any) -> Any:
    """Return a tensor of PyTorch as an array; anything else as it is."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def _is_sparse(x: Any) -> bool:
    return hasattr(x, "tocsr") and hasattr(x, "shape")  # without importing SciPy


def _n_rows(rows: Any) -> int:
    return len(rows) if isinstance(rows, list) else int(rows.shape[0])


def _rows(given: Any, place: str) -> Any:
    """Return an array (n, d), a CSR matrix, or a list with something for each row."""
    given = _as_numpy(given)
    if _is_sparse(given):
        _require_finite(given.tocsr().data, place)
        return given.tocsr()
    if isinstance(given, (str, bytes, Mapping, AbstractSet)) or not isinstance(given, Iterable):
        raise InvalidInput(f"{place} are {shown(given)}; expected a row of numbers or attributes for each.")
    rows = given if isinstance(given, np.ndarray) else list(given)
    if isinstance(rows, list) and rows and _is_row(rows[0]):
        try:
            rows = np.asarray([_as_numpy(row) for row in rows])
        except ValueError:  # rows of different lengths: of different types
            return rows
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub":
        if rows.ndim != 2:
            hint = " For one number each, pass values.reshape(-1, 1)." if rows.ndim == 1 else ""
            raise InvalidInput(f"{place} have features of shape {rows.shape}; expected (n, d): a row for each.{hint}")
        _require_finite(rows, place)
    return rows if not isinstance(rows, np.ndarray) or rows.dtype.kind in "fiub" else list(rows)


def _is_row(row: Any) -> bool:
    """Whether this is a row of numbers."""
    row = _as_numpy(row)
    if isinstance(row, np.ndarray):
        return row.ndim == 1 and row.dtype.kind in "fiub"
    return isinstance(row, (list, tuple)) and len(row) > 0 and all(isinstance(value, Real) for value in row)


def _require_finite(values: Any, place: str) -> None:
    if values.size and not np.isfinite(values).all():
        where = np.argwhere(~np.isfinite(values))[0]
        number = f" {int(where[0])}" if values.ndim == 2 else ""
        raise InvalidInput(
            f"{place} have a feature that is {values[tuple(where)]}, in row{number}; expected finite numbers. Replace "
            "missing values before."
        )


def _checked_edges(given: Any, n: int, place: str) -> Ints:
    given = _as_numpy(given)
    wanted = "expected (m, 2): two nodes for each."
    if not isinstance(given, Iterable):
        raise InvalidInput(f"{place} has the edges {shown(given)}; {wanted} For none pass [].")
    try:
        edges = np.asarray(given if isinstance(given, np.ndarray) else [_as_numpy(edge) for edge in given])
    except ValueError:
        raise InvalidInput(f"{place} has edges of different lengths; {wanted}") from None
    if edges.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        hint = " Pass edges.T." if edges.ndim == 2 and edges.shape[0] == 2 else ""
        raise InvalidInput(f"{place} has edges of shape {edges.shape}; {wanted}{hint}")
    if edges.dtype.kind not in "iu":
        raise InvalidInput(f"{place} has edges of type {edges.dtype}; expected numbers of nodes, counted from 0.")
    edges = edges.astype(np.int64)
    wrong = (edges < 0) | (edges >= n)
    if wrong.any():
        j = int(np.argmax(wrong.any(axis=1)))
        raise InvalidInput(
            f"{place}: edge {j} joins the nodes {edges[j, 0]} and {edges[j, 1]}, but there are {n} nodes, numbered "
            "from 0."
        )
    loops = edges[:, 0] == edges[:, 1]
    if loops.any():
        j = int(np.argmax(loops))
        raise InvalidInput(
            f"{place}: edge {j} joins the node {edges[j, 0]} with itself, which has no pair of labels. Leave it out; "
            "what it says belongs to the node's features."
        )
    return edges


def _names(given: Any, n: int, place: str, field: str, things: str) -> npt.NDArray[Any] | None:
    if given is None:
        return None
    names = np.asarray(given)
    if names.size == 0 and n == 0:
        return np.zeros(0, dtype=np.int64)
    if names.shape != (n,):
        raise InvalidInput(f"{place} has {field} of shape {names.shape} for {n} {things}. Each needs its own.")
    if names.dtype.kind not in "iuU":
        raise InvalidInput(f"{place} has {field} of type {names.dtype}; expected strings, or whole numbers.")
    return names


@dataclass(frozen=True)
class GraphInputs:
    """The conversion of graphs to attributes: types, kinds, and the features of each.

    Attributes
    ----------
    types : list of str or int
    kinds : list of EdgeKind
    nodes : list
        The features of the nodes of each type.
    edges : list
        The features of the edges of each kind; None for kinds without features.
    by_types : bool
        Whether kinds are unnamed, so that each pair of types is a kind.
    """

    types: list[Name]
    kinds: list[EdgeKind]
    nodes: list[_Seen]
    edges: list[_Seen | None]
    by_types: bool

    named: ClassVar[bool] = True
    templates: ClassVar[None] = None
    kind: ClassVar[str] = "graph"

    @property
    def n_columns(self) -> int | None:
        """Number of columns of a node, if there is one type."""
        return self.nodes[0].n_columns if len(self.nodes) == 1 else None

    @classmethod
    def learned(cls, graphs: Sequence[CheckedGraph]) -> GraphInputs:
        """Return the types and kinds of graphs, and their features.

        Examples
        --------
        >>> graphs = checked_graphs([GraphInput(["a", "b"], [(0, 1)], node_types=["word", "line"])])
        >>> GraphInputs.learned(graphs).kinds
        [EdgeKind(name='word-line', first=1, second=0)]
        """
        for part, field in (("types", "node_types"), ("kinds", "edge_kinds")):
            named = [getattr(graph, part) is not None for graph in graphs]
            if any(named) and not all(named):
                raise InvalidInput(f"{graphs[named.index(False)].place} has no {field}, but other graphs have.")
        types = _sorted_names([graph.types for graph in graphs], NODE, "node_types")
        by_types = all(graph.kinds is None for graph in graphs)
        found: dict[Name, EdgeKind] = {}
        for graph in graphs:
            for name, first, second in _kinds_in(graph, types, by_types):
                known = found.setdefault(name, EdgeKind(name, first, second))
                if (known.first, known.second) != (first, second):
                    raise InvalidInput(
                        f"{graph.place} has an edge of the kind {name!r} from {types[first]!r} to {types[second]!r}; "
                        f"others lead from {types[known.first]!r} to {types[known.second]!r}. A kind has one pair of "
                        "types: name the other kind otherwise, or turn the edge around."
                    )
        kinds = [found[name] for name in sorted(found, key=lambda name: (str(type(name)), name))]
        inputs = cls(types, kinds, [_Seen("attributes", None)] * len(types), [None] * len(kinds), by_types)
        nodes = [_first_seen((g.nodes, inputs.nodes_of(g, t), g.place) for g in graphs) for t in range(len(types))]
        edges = [
            _first_seen(
                (g.edge_features, inputs.edges_of(g, k), g.place) for g in graphs if g.edge_features is not None
            )
            for k in range(len(kinds))
        ]
        for graph in graphs:
            for k, seen in enumerate(edges):
                if (seen is not None) != (graph.edge_features is not None) and len(inputs.edges_of(graph, k)):
                    told = "features of edges, but other graphs have not" if seen is None else "no features of edges"
                    raise InvalidInput(f"{graph.place} has {told}, unlike others. Give all of them, or none.")
        return cls(types, kinds, cast(list[_Seen], nodes), edges, by_types)

    def nodes_of(self, graph: CheckedGraph, t: int) -> Ints:
        """Return the numbers of the nodes of a type."""
        return np.flatnonzero(self.types_in(graph) == t)

    def edges_of(self, graph: CheckedGraph, k: int) -> Ints:
        """Return the numbers of the edges of a kind."""
        return np.flatnonzero(self.kinds_in(graph) == k)

    def types_in(self, graph: CheckedGraph) -> Ints:
        """Return the number of the type of each node."""
        if graph.types is None:
            if self.types != [NODE]:
                raise InvalidInput(f"{graph.place} has no node_types; the model knows {_listed(self.types)}.")
            return np.zeros(graph.n_nodes, dtype=np.int64)
        return _numbers(graph.types, self.types, f"{graph.place}: node", "type")

    def kinds_in(self, graph: CheckedGraph) -> Ints:
        """Return the number of the kind of each edge."""
        types = self.types_in(graph)
        a, b = types[graph.edges[:, 0]], types[graph.edges[:, 1]]
        if self.by_types:
            if graph.kinds is not None and len(graph.edges):
                raise InvalidInput(f"{graph.place} has edge_kinds; the model was trained without.")
            pairs = {(kind.first, kind.second): k for k, kind in enumerate(self.kinds)}
            found = np.full(len(a), -1, dtype=np.int64)
            for (first, second), k in pairs.items():
                found[(a == first) & (b == second)] = k
            if (found < 0).any():
                j = int(np.argmin(found))
                raise InvalidInput(
                    f"{graph.place}: edge {j} leads from {self.types[a[j]]!r} to {self.types[b[j]]!r}, which no edge "
                    "did that the model was trained on."
                )
            return found
        if graph.kinds is None:
            if len(graph.edges):
                known = _listed([kind.name for kind in self.kinds])
                raise InvalidInput(f"{graph.place} has no edge_kinds; the model knows {known}.")
            return np.zeros(0, dtype=np.int64)
        found = _numbers(graph.kinds, [kind.name for kind in self.kinds], f"{graph.place}: edge", "kind")
        ends = np.array([(kind.first, kind.second) for kind in self.kinds], dtype=np.int64).reshape(-1, 2)[found]
        wrong = (ends[:, 0] != a) | (ends[:, 1] != b)
        if wrong.any():
            j = int(np.argmax(wrong))
            raise InvalidInput(
                f"{graph.place}: edge {j} of the kind {self.kinds[found[j]].name!r} leads from {self.types[a[j]]!r} to "
                f"{self.types[b[j]]!r}; expected {self.types[ends[j, 0]]!r} to {self.types[ends[j, 1]]!r}."
            )
        return found

    def shape(self, graph: CheckedGraph, n_labels: Sequence[int]) -> npt.NDArray[np.uint32]:
        """Return a graph as the core has it; refuse one whose scores would not fit into memory."""
        types, kinds = self.types_in(graph), self.kinds_in(graph)
        sizes = [n_labels[kind.first] * n_labels[kind.second] for kind in self.kinds]
        n_parts = int(np.bincount(types, minlength=len(self.types)) @ np.asarray(n_labels, dtype=np.int64))
        n_parts += int(np.bincount(kinds, minlength=len(sizes)) @ np.asarray(sizes, dtype=np.int64)) if sizes else 0
        if n_parts > _MOST_PARTS:
            raise InvalidInput(
                f"{graph.place} has {graph.n_nodes:,} nodes and {len(graph.edges):,} edges, whose scores would take "
                f"{8 * n_parts / 2**30:.1f} GiB. Cut it into parts, or use fewer labels."
            )
        rows = np.column_stack([kinds, graph.edges]) if len(graph.edges) else np.zeros((0, 3), dtype=np.int64)
        return np.concatenate([[graph.n_nodes, len(graph.edges)], types, rows.ravel()]).astype(np.uint32)

    def sources(
        self, graphs: Sequence[CheckedGraph], names: bool = False, first: int = 0, argument: str = "X"
    ) -> list[_core.Source]:
        """Return the attributes of the nodes of each type, then those of the edges of each kind that has some."""
        found = [
            self._source([(g.nodes, self.nodes_of(g, t), g.place) for g in graphs], seen, f"node{t}", names, argument)
            for t, seen in enumerate(self.nodes)
        ]
        for k, seen in enumerate(self.edges):
            if seen is not None:
                rows = [(g.edge_features, self.edges_of(g, k), g.place) for g in graphs]
                found.append(self._source(rows, seen, f"edge{k}", names, argument))
            else:
                self._refuse_seen(graphs, k)
        return found

    def _refuse_seen(self, graphs: Sequence[CheckedGraph], k: int) -> None:
        for graph in graphs:
            if graph.edge_features is not None and len(self.edges_of(graph, k)):
                raise InvalidInput(
                    f"{graph.place} has features of edges of the kind {self.kinds[k].name!r}; the model was trained "
                    "without."
                )

    def _source(
        self, blocks: list[tuple[Any, Ints, str]], seen: _Seen, channel: str, names: bool, argument: str
    ) -> _core.Source:
        what = "nodes" if channel.startswith("node") else "edges"
        for rows, chosen, place in blocks:
            if rows is None and len(chosen):
                raise InvalidInput(f"{place} has no features of edges; expected some, as in training.")
        if seen.form == "attributes":
            lists = [
                [_attributes(rows, i, f"{place}: the {what}") for i in chosen.tolist()]
                for rows, chosen, place in blocks
            ]
            try:
                return _core.AttributeSource(lists, names, argument, 0, channel)
            except ValueError as error:
                raise InvalidInput(str(error)) from None
        assert seen.n_columns is not None
        return matrix_source(
            [_matrix(rows, chosen, seen.n_columns, f"{place}: the {what}") for rows, chosen, place in blocks],
            seen.n_columns,
            argument,
            0,
            channel,
        )

    def described(self) -> str:
        """Return what X holds, for an error message."""
        return "graphs"

    def as_settings(self) -> dict[str, Any]:
        """Return what a model file says of the features."""
        return {
            "features": {
                "kind": self.kind,
                "types": self.types,
                "kinds": [list(kind) for kind in self.kinds],
                "nodes": [list(seen) for seen in self.nodes],
                "edges": [None if seen is None else list(seen) for seen in self.edges],
                "by_types": self.by_types,
            },
            "templates": None,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> GraphInputs:
        """Return what `as_settings` described."""
        features = settings["features"]
        types, kinds = list(features["types"]), [EdgeKind(*kind) for kind in features["kinds"]]
        nodes, edges = ([seen and _Seen(*seen) for seen in features[name]] for name in ("nodes", "edges"))
        for name in [*types, *(kind.name for kind in kinds)]:
            if type(name) not in (str, int):
                raise InvalidInput(f"a type or kind cannot be called {name!r}")
        whole = [number for kind in kinds for number in kind[1:]]
        if not all(type(number) is int and 0 <= number < len(types) for number in whole):
            raise InvalidInput("a kind of edges leads to a type that is not there")
        for seen in [*nodes, *(seen for seen in edges if seen is not None)]:
            if seen is None or seen.form not in ("matrix", "attributes"):
                raise InvalidInput("there are no such features of graphs")
            if seen.form == "matrix" and (type(seen.n_columns) is not int or seen.n_columns < 0):
                raise InvalidInput(f"a matrix cannot have {seen.n_columns!r} columns")
        if len(nodes) != len(types) or len(edges) != len(kinds) or not types or len(set(types)) != len(types):
            raise InvalidInput("types, kinds and features do not fit each other")
        return cls(types, kinds, nodes, edges, bool(features["by_types"]))


def _sorted_names(all_names: Iterable[npt.NDArray[Any] | None], alone: str, field: str) -> list[Name]:
    found: set[Name] = set()
    for names in all_names:
        found |= {alone} if names is None else set(np.unique(names).tolist())
    if len({type(name) for name in found}) > 1:
        raise InvalidInput(f"{field} mixes strings and numbers. Use one of the two.")
    return sorted(found or {alone})


def _kinds_in(graph: CheckedGraph, types: list[Name], by_types: bool) -> Iterator[tuple[Name, int, int]]:
    numbers = (
        np.zeros(graph.n_nodes, dtype=np.int64)
        if graph.types is None
        else np.searchsorted(np.array(types), graph.types)
    )
    ends = numbers[graph.edges]
    if by_types:
        for a, b in np.unique(ends, axis=0).tolist() if len(ends) else ():
            yield EDGE if types == [NODE] else f"{types[a]}-{types[b]}", a, b
        return
    assert graph.kinds is not None
    for name in np.unique(graph.kinds).tolist():
        for a, b in np.unique(ends[graph.kinds == name], axis=0).tolist():
            yield name, a, b


def _numbers(names: npt.NDArray[Any], known: list[Name], place: str, what: str) -> Ints:
    found = np.full(len(names), -1, dtype=np.int64)
    for number, name in enumerate(known):
        found[names == name] = number
    if (found < 0).any():
        i = int(np.argmin(found))
        raise InvalidInput(f"{place} {i} is of the {what} {names[i].item()!r}; the model knows {_listed(known)}.")
    return found


def _listed(names: Sequence[Name]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _first_seen(blocks: Iterable[tuple[Any, Ints, str]]) -> _Seen | None:
    """Return what is seen of rows, from the first that there is; None where there is none."""
    empty: _Seen | None = None
    for rows, chosen, place in blocks:
        if not isinstance(rows, list):
            empty = _Seen("matrix", int(rows.shape[1]))
            if len(chosen):
                return empty
        elif len(chosen):
            row = _as_numpy(rows[int(chosen[0])])
            if _is_row(row):
                return _Seen("matrix", len(row))
            if isinstance(row, (str, list, tuple, Mapping, AbstractSet)):
                return _Seen("attributes", None)
            raise InvalidInput(
                f"{place}: what is seen of {int(chosen[0])} is {shown(row)}; expected a row of numbers, a string, a "
                "list of strings or a dict."
            )
        else:
            empty = empty or _Seen("attributes", None)
    return empty


def _attributes(rows: Any, i: int, place: str) -> Any:
    if not isinstance(rows, list):
        raise InvalidInput(f"{place} are rows of numbers; expected attributes, as in training.")
    row = rows[i]
    if isinstance(row, str):
        return [row]
    if isinstance(row, np.ndarray) and row.dtype.kind == "U":
        return row.tolist()
    if _is_row(row) or not isinstance(row, (list, tuple, Mapping, AbstractSet)):
        raise InvalidInput(f"{place} have {shown(row)} at {i}; expected attributes: strings, or a dict.")
    return row


def _matrix(rows: Any, chosen: Ints, n_columns: int, place: str) -> Any:
    """Return chosen rows as an array or a sparse matrix with so many columns."""
    if isinstance(rows, list):
        picked = [_as_numpy(rows[i]) for i in chosen.tolist()]
        for i, row in zip(chosen.tolist(), picked, strict=True):
            if not _is_row(row) or len(row) != n_columns:
                told = f"{len(row)} numbers" if _is_row(row) else shown(row)
                raise InvalidInput(f"{place} have {told} at {i}; expected {n_columns}.")
        found = np.asarray(picked, dtype=np.float64).reshape(len(picked), n_columns)
        _require_finite(found, place)
        return found
    if rows is None or not len(chosen):
        return np.zeros((0, n_columns))
    if rows.shape[1] != n_columns:
        raise InvalidInput(f"{place} have {rows.shape[1]} features; expected {n_columns}.")
    return rows if len(chosen) == rows.shape[0] else rows[chosen]
