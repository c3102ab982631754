"""Labels of the nodes of graphs: features of nodes and edges, and any learner, behind `fit` and `predict`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import callers_level
from trelliswork.errors import InvalidInput, Unsatisfiable, shown
from trelliswork.estimators.base import store
from trelliswork.estimators.fitted import atomic, snapshot
from trelliswork.estimators.linear import LinearEstimator
from trelliswork.features.graph_inputs import CheckedGraph, GraphInputs, checked_graphs
from trelliswork.learners.training import FloatArray
from trelliswork.models.graphs import INFERENCES, GraphModel, Search
from trelliswork.models.json_values import plain
from trelliswork.structures import checks

if TYPE_CHECKING:
    from trelliswork.structures.factor_graph import FactorGraph
    from trelliswork.training.graph_examples import GraphExamples
    from trelliswork.training.monitor import Callback

__all__ = ["GraphLabeler"]

Codes = npt.NDArray[np.int64]
Shape = npt.NDArray[np.uint32]

_AT_A_TIME = 1 << 22  # scores that are in memory at a time, unless a graph has more


class GraphLabeler(LinearEstimator):
    """Learns to label the nodes of graphs, and labels new graphs.

    Parameters
    ----------
    learner : learner or str, default "pa"
        The training algorithm, such as ``tw.CRF(l2=0.5)``, or its name.
    inference : {"auto", "exact", "bp", "trw", "ad3", "cut", "ilp"}, default "auto"
        How to find the best labels, in training and in `predict`. ``"auto"`` is exact: it uses elimination and refuses
        graphs that are too wide for it; with ``associative`` and two labels it uses a minimum cut, which is exact on
        any graph. ``"exact"`` uses elimination, or else branch and bound, which may take long. ``"ilp"`` uses branch
        and bound on the linear relaxation. The others are approximate on graphs with cycles: belief propagation,
        tree-reweighted messages (TRW-S), dual decomposition (AD3), and minimum cuts with moves.
    relaxed : bool, default False
        Whether to train on fractional answers (Finley & Joachims 2008). Requires "trw" or "ad3".
    associative : {False, True, "label"}, default False
        Whether edges only score equal labels of their nodes: one weight, never negative, for each feature of an edge;
        with ``"label"``, one for each feature and label. Features of edges must then not be negative.
    symmetric : bool, default False
        Whether (a, b) and (b, a) are the same pair of labels on an edge. By default edges are directed: their first
        node is the one listed first in ``edges``.
    labels : list, or dict of lists by type of node, optional
        All labels; by default the labels in ``y``, by type, sorted.
    search_iterations : int, default 1000
        Maximum number of iterations of an approximate search. Other values are refused if ``inference`` does not
        search.
    time_limit : float, optional
        Maximum number of seconds of a search on one graph; the answer is the best found by then.
    min_count, hash_bits, combinations, patience, n_jobs, random_state, verbose
        As for `SequenceLabeler`; numeric features have a weight for every label and pair, unless
        ``combinations="seen"``.

    Attributes
    ----------
    classes_ : object array (K,), or dict of these by type of node
        The labels.
    node_types_, edge_kinds_ : list
        The types of nodes, and the kinds of edges as (name, first type, second type).
    exact_ : bool
        Whether every answer in training was proved to be the best.
    n_iter_, converged_, message_, history_, best_iteration_
        As for `SequenceLabeler`.

    Notes
    -----
    ``X`` is a list of graphs, each a tuple ``(node features (n, d), edges (m, 2), edge features (m, e) or None)``, a
    `GraphInput` or dict with types of nodes and kinds of edges, a networkx graph, or an object with ``x``,
    ``edge_index`` (2, m) and optionally ``edge_attr``, as in PyTorch Geometric. Features are arrays, sparse matrices,
    or for each node or edge a string, a list of strings or a dict. In networkx graphs, the attribute ``features`` is a
    row of numbers; without it, all attributes except ``type``, ``kind``, ``label`` and ``y`` are features.

    The score of a labelling is a sum over nodes and edges. A node adds the weights of its features with its label, an
    edge the weights of its features with its pair of labels. Each label and each pair of labels has a weight, too.
    Every type of nodes and every kind of edges has separate weights.

    With an approximate ``inference``, training uses approximate answers; `exact_` tells whether all were exact.

    Examples
    --------
    Friends vote alike. The third person's preferences are unknown:

    >>> import numpy as np
    >>> import trelliswork as tw
    >>> X = [(["tea", "tea", "?"], [(0, 1), (1, 2)]), (["beer", "?", "beer"], [(0, 1), (1, 2)])]
    >>> y = [["left", "left", "left"], ["right", "right", "right"]]
    >>> labeler = tw.GraphLabeler().fit(X, y)
    >>> [found.tolist() for found in labeler.predict([(["?", "tea", "?", "beer"], [(0, 1), (2, 3)])])]
    [['left', 'left', 'right', 'right']]
    """

    kind = "graph-labeler"
    model_class = GraphModel
    saved = ("inference", "relaxed", "associative", "symmetric", "labels", "search_iterations", "time_limit")
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {**LinearEstimator.choices, "inference": INFERENCES}

    inference: str
    relaxed: bool
    associative: Any
    symmetric: bool
    labels: Any
    search_iterations: int
    time_limit: float | None
    _model: GraphModel

    def __init__(
        self,
        learner: Any = "pa",
        *,
        inference: str = "auto",
        relaxed: bool = False,
        associative: Any = False,
        symmetric: bool = False,
        labels: Any = None,
        search_iterations: int = 1000,
        time_limit: float | None = None,
        min_count: int = 1,
        hash_bits: int | None = None,
        combinations: str = "auto",
        patience: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    # ---- learning ------------------------------------------------------------------------------------------------

    @atomic
    def fit(
        self,
        X: Any,
        y: Any,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        callback: Callback | None = None,
        resume: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Self:
        """Learn from graphs and the labels of their nodes.

        Parameters
        ----------
        X : list of graphs
            Graphs in a form that the class describes.
        y : list of (n,) arrays or lists
            The label of each node: strings or integers. For networkx graphs also dicts from nodes to labels.
        X_dev, y_dev : optional
            Development data, scored after each iteration by accuracy. The weights with the best score are kept.
        sample_weight : (n,) array-like, optional
            The weight of each graph.
        callback, resume
            As for `SequenceLabeler.fit`.
        """
        self._check_parameters()
        return self._learn(self._examples(X, y, sample_weight), X_dev, y_dev, callback, resume)

    def _examples(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> GraphExamples:
        from trelliswork.training.graph_examples import GraphExamples  # only training needs it

        return GraphExamples(self, checked_graphs(X), y, sample_weight)

    def _take(self, model: GraphModel) -> None:
        super()._take(model)
        by_type = [np.array([*own, None], dtype=object)[:-1] for own in model.type_labels]
        types = model.inputs.types
        self.classes_ = by_type[0] if len(types) == 1 else dict(zip(types, by_type, strict=True))  # type: ignore[assignment]
        self.node_types_ = list(types)
        self.edge_kinds_ = [(kind.name, types[kind.first], types[kind.second]) for kind in model.inputs.kinds]
        self.exact_ = bool(model.settings["structure"]["trained"]["exact"])

    # ---- answers -------------------------------------------------------------------------------------------------

    @snapshot
    def predict(self, X: Any) -> list[npt.NDArray[Any]]:
        """Return the labels of the nodes of each graph, (n,) each.

        They are the best labels that ``inference`` finds; `graph` tells how good they are.
        """
        model = self._fitted()
        return [
            _decoded(codes, graph, model)
            for graphs in [checked_graphs(X)]
            for graph, codes in zip(graphs, self._best_codes(model, graphs), strict=True)
        ]

    @snapshot
    def predict_kbest(self, X: Any, k: int) -> list[list[tuple[npt.NDArray[Any], float]]]:
        """Return, for each graph, its ``k`` most probable labellings with their log-probabilities, best first.

        They are exact. Graphs that are too wide are refused, whatever ``inference`` is.
        """
        model, k = self._fitted(), checks.as_count("k", k)
        self._require_probabilities()
        found = []
        for graphs, shapes, scores in self._ask(model, checked_graphs(X)):
            structure = model.structure_for(Search())
            _require_listed(structure, shapes, graphs, "several best labellings. Use predict, which finds one.")
            batch = _core.PartBatch(structure, shapes, scores, checks.as_jobs(self.n_jobs))
            totals = batch.log_partition().tolist()
            for graph, own, total in zip(graphs, batch.best(k), totals, strict=True):
                found.append([(_decoded(codes, graph, model), min(score - total, 0.0)) for codes, score in own])
        return found

    @snapshot
    def predict_marginals(self, X: Any) -> list[Any]:
        """Return, for each graph, the probability of each label at each node, (n, K).

        Columns are in the order of `classes_`. With several types of nodes, the result is a dict of such arrays by
        type, with a row for each node of the type. Probabilities are exact on narrow graphs. Wider graphs are refused,
        unless ``inference`` is "bp" or "trw"; probabilities are then approximate, and a warning says so.
        """
        model = self._fitted()
        self._require_probabilities()
        found = []
        for graphs, shapes, scores in self._ask(model, checked_graphs(X)):
            structure = self._sums(model, shapes, graphs)
            tables = _core.PartBatch(structure, shapes, scores, checks.as_jobs(self.n_jobs)).marginals(True)
            found += [_by_type(table, shape, model) for shape, table in zip(shapes, tables, strict=True)]
        return found

    @snapshot
    def log_prob(self, X: Any, y: Any) -> FloatArray:
        """Return log p(y | x) of each graph, exact or approximate like `predict_marginals`; -inf for unknown labels."""
        from trelliswork.training.graph_examples import codes_of, label_lists

        model, all_graphs, first = self._fitted(), checked_graphs(X), 0
        self._require_probabilities()
        labels, answers = label_lists(y, all_graphs, "y"), []
        for graphs, shapes, scores in self._ask(model, all_graphs):
            structure = self._sums(model, shapes, graphs)
            totals = _core.PartBatch(structure, shapes, scores, checks.as_jobs(self.n_jobs)).log_partition().tolist()
            for graph, shape, own, total in zip(graphs, shapes, scores, totals, strict=True):
                codes = codes_of(labels[first], graph, model.inputs, model.type_labels, None)
                first += 1
                if (codes < 0).any():
                    answers.append(-np.inf)
                    continue
                parts = structure.parts_of(shape, codes.astype(np.uint32))
                answers.append(min(float(own[parts].sum()) - total, 0.0))
        return np.array(answers)

    @snapshot
    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy by node, over all graphs."""
        from trelliswork.training.graph_examples import accuracy, codes_of, label_lists

        model, graphs = self._fitted(), checked_graphs(X)
        labels = label_lists(y, graphs, "y")
        gold = [codes_of(own, g, model.inputs, model.type_labels, None) for own, g in zip(labels, graphs, strict=True)]
        return accuracy(gold, list(self._best_codes(model, graphs)))

    @snapshot
    def graph(self, x: Any) -> FactorGraph:
        """Return one graph with the model's scores, for all other questions.

        Its labels are indices into `classes_`, for each node into the classes of its type.
        """
        from trelliswork.structures.factor_graph import FactorGraph

        model = self._fitted()
        (graph,) = checked_graphs([x])
        ((_, (shape,), (scores,)),) = self._ask(model, [graph])
        n, m = int(shape[0]), int(shape[1])
        rows = shape[2 + n :].reshape(m, 3).astype(np.int64)
        tables, at = [np.zeros(0)] * (n + m), 0
        for t, nodes in enumerate(model.type_of_blocks(shape)):
            for v in nodes.tolist():
                tables[v], at = scores[at : at + model.n_labels[t]], at + model.n_labels[t]
        for k, kind in enumerate(model.inputs.kinds):
            size = model.n_labels[kind.first], model.n_labels[kind.second]
            for e in np.flatnonzero(rows[:, 0] == k).tolist():
                tables[n + e] = scores[at : at + size[0] * size[1]].reshape(size)
                at += size[0] * size[1]
        return FactorGraph(tables[:n], [(int(a), int(b)) for _, a, b in rows], tables[n:])

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("relaxed", "symmetric"):
            checks.as_flag(name, getattr(self, name))
        if self.associative not in (False, True, "label") or isinstance(
            self.associative, (int, float)
        ) is not isinstance(self.associative, bool):
            raise InvalidInput(f'associative is {shown(self.associative)}; expected False, True or "label".')
        if self.associative and self.symmetric:
            raise InvalidInput("associative weights are symmetric already: leave one of the two options out.")
        if self.relaxed and self.inference not in ("trw", "ad3"):
            raise InvalidInput(f'relaxed answers come from inference="trw" or "ad3", not from {self.inference!r}.')
        if checks.as_count("search_iterations", self.search_iterations) != 1000 and self.inference in ("auto", "cut"):
            raise InvalidInput(
                f"search_iterations does not go with inference={self.inference!r}, which does not search."
            )
        if self.time_limit is not None:
            limit = self.time_limit
            if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < np.inf:
                raise InvalidInput(f"time_limit is {shown(limit)}; expected seconds above 0, or None.")
            if self.inference in ("auto", "cut"):
                raise InvalidInput(f"time_limit does not go with inference={self.inference!r}, which does not search.")
        from trelliswork.training.loop import checked_learner

        if checked_learner(self.learner).local:
            raise InvalidInput(
                f"{self.learner!r} asks for local (single decisions, each given gold before it), and predicts one node "
                "after the other; in a graph there is no such order. Choose another learner."
            )

    def _pairs(self, inputs: GraphInputs) -> str:
        """Return which pairs of labels share weights; refuse an option that no kind of edges can follow."""
        if not (self.associative or self.symmetric):
            return "all"
        option = "associative" if self.associative else "symmetric"
        for kind in inputs.kinds:
            if kind.first != kind.second:
                a, b = inputs.types[kind.first], inputs.types[kind.second]
                raise InvalidInput(
                    f"{option} needs edges between nodes of one type: the kind {kind.name!r} leads from {a!r} to "
                    f"{b!r}, which have labels of their own."
                )
        return "symmetric" if self.symmetric else "equal" if self.associative is True else "equal by label"

    def _search(self, training: bool = False) -> Search:
        relaxed = bool(self.relaxed) and training
        return Search(self.inference, relaxed, int(self.search_iterations), float(self.time_limit or 0.0))

    def _require_narrow(
        self, structure: Any, shapes: Sequence[Shape], graphs: Sequence[CheckedGraph], cuts: bool
    ) -> None:
        """Refuse graphs that nobody allowed to be answered approximately."""
        if self.inference == "auto" and not cuts:
            instead = 'Say inference="trw", "ad3" or "bp" for approximate ones, "exact" for a search until the answer '
            instead += "is proved" + ("." if self.associative else ', or associative=True with inference="cut".')
            _require_listed(structure, shapes, graphs, f"exact answers. {instead}")

    def _sums(self, model: GraphModel, shapes: Sequence[Shape], graphs: Sequence[CheckedGraph]) -> Any:
        """Return the structure that has sums over all labellings; warn, once, where they are approximate."""
        how = self._search()
        exact = model.structure_for(Search())
        if not how.approximates_sums:
            told = 'exact probabilities. Approximate ones come with inference="bp" or "trw": '
            _require_listed(exact, shapes, graphs, told + 'labeler.set_params(inference="bp").')
            return exact
        wide = [graph.place for shape, graph in zip(shapes, graphs, strict=True) if not exact.answers_lists(shape)]
        if wide:
            warnings.warn(
                f"{wide[0]} is too wide for exact probabilities: these are approximate, by {self.inference!r}.",
                UserWarning,
                stacklevel=callers_level(),
            )
        return model.structure_for(how)

    def _ask(
        self, model: GraphModel, graphs: list[CheckedGraph]
    ) -> Iterator[tuple[list[CheckedGraph], list[Shape], list[FloatArray]]]:
        """Yield graphs, their shapes and the scores of their parts, in batches."""
        if model.pairs.startswith("equal"):
            from trelliswork.training.graph_examples import require_nonnegative

            require_nonnegative(graphs)
        first, shapes, n_parts = 0, list[Shape](), 0
        for i, graph in enumerate(graphs):
            shapes.append(model.inputs.shape(graph, model.n_labels))
            n_parts += graph.n_nodes * max(model.n_labels) + len(graph.edges) * max(model.n_labels) ** 2
            if n_parts >= _AT_A_TIME or i + 1 == len(graphs):
                block = graphs[first : i + 1]
                yield block, shapes, model.scores(model.inputs.sources(block), checks.as_jobs(self.n_jobs), shapes)
                first, shapes, n_parts = i + 1, [], 0

    def _best_codes(self, model: GraphModel, graphs: list[CheckedGraph]) -> Iterator[Codes]:
        """Yield the numbers of the best labels of each graph."""
        how = self._search()
        structure = model.structure_for(how)
        for block, shapes, scores in self._ask(model, graphs):
            self._require_narrow(structure, shapes, block, model.cuts)
            found = _core.PartBatch(structure, shapes, scores, checks.as_jobs(self.n_jobs)).best(1)
            for graph, own in zip(block, found, strict=True):
                if not own:
                    raise Unsatisfiable(f"{graph.place}: no labelling was found within the limits of the search.")
                yield own[0][0].astype(np.int64)

    @classmethod
    def _restored_parameters(cls, model: GraphModel, given: dict[str, Any]) -> dict[str, Any]:
        found = super()._restored_parameters(model, given)
        found.pop("features")
        if any(isinstance(own, list) for own in found.get("labels") or ()):  # JSON has no keys that are numbers
            found["labels"] = dict(zip(model.inputs.types, found["labels"], strict=True))
        return found

    def _saved_parameters(self) -> dict[str, Any]:
        found = super()._saved_parameters()
        if isinstance(self.labels, Mapping):  # by type, in the order in which the model has them
            found["labels"] = [plain(list(self.labels[name])) for name in sorted(self.labels)]
        elif self.labels is not None:
            found["labels"] = plain(list(self.labels))
        return found


def _require_listed(structure: Any, shapes: Sequence[Shape], graphs: Sequence[CheckedGraph], what: str) -> None:
    """Refuse graphs that are too wide for elimination; ``what`` is part of the message."""
    for shape, graph in zip(shapes, graphs, strict=True):
        if not structure.answers_lists(shape):
            raise InvalidInput(
                f"{graph.place}, with {graph.n_nodes:,} nodes and {len(graph.edges):,} edges, is too wide for {what}"
            )


def _decoded(codes: npt.NDArray[Any], graph: CheckedGraph, model: GraphModel) -> npt.NDArray[Any]:
    """Return labels for the numbers that stand for them."""
    if len(model.type_labels) == 1:
        return np.asarray(model.type_labels[0])[codes.astype(np.int64)]
    types = model.inputs.types_in(graph).tolist()
    found = [model.type_labels[t][code] for t, code in zip(types, codes.tolist(), strict=True)]
    kinds = {type(label) for own in model.type_labels for label in own}
    return np.asarray(found) if found and len(kinds) == 1 else np.array([*found, None], dtype=object)[:-1]


def _by_type(table: FloatArray, shape: Shape, model: GraphModel) -> Any:
    """Return the numbers of labels of nodes as rows, by type where there are several."""
    found, at = [], 0
    for nodes, K in zip(model.type_of_blocks(shape), model.n_labels, strict=True):
        found.append(table[at : at + len(nodes) * K].reshape(-1, K))
        at += len(nodes) * K
    return found[0] if len(found) == 1 else dict(zip(model.inputs.types, found, strict=True))
