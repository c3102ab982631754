"""Graphs with gold labels on their way to an oracle, and the weights that were learned on theirs to a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, shown
from trelliswork.features.graph_inputs import CheckedGraph, GraphInputs, checked_graphs
from trelliswork.models.graphs import (
    GraphModel,
    cuts_exactly,
    graph_channels,
    graph_structure,
    texts_of_labels,
)
from trelliswork.structures import checks
from trelliswork.training.examples import DevScore, Examples
from trelliswork.training.same_run import checksum_of_array
from trelliswork.training.weighting import Weighting

if TYPE_CHECKING:
    from trelliswork.estimators.graph_labeler import GraphLabeler

__all__ = ["GraphExamples", "accuracy", "codes_of", "label_lists"]

FloatArray = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_SAMPLED = 8  # graphs that are looked at for attributes that have no weights


class GraphExamples(Examples):
    """What one call of `GraphLabeler.fit` learns from.

    Parameters
    ----------
    labeler : GraphLabeler
        Its parameters are used.
    graphs : list of CheckedGraph
    y : list
        Labels of nodes, for each graph.
    sample_weight : (n,) array-like or None
    """

    inputs: Any

    def __init__(self, labeler: GraphLabeler, graphs: list[CheckedGraph], y: Any, sample_weight: Any) -> None:
        if not any(graph.n_nodes for graph in graphs):
            raise InvalidInput("X has no nodes to learn from: pass at least one graph that is not empty.")
        inputs = GraphInputs.learned(graphs)
        super().__init__(labeler, inputs)  # type: ignore[arg-type]
        self._sample = graphs[:_SAMPLED]
        gold = label_lists(y, graphs, "y")
        self.type_labels = _labels_by_type(labeler.labels, gold, graphs, inputs)
        n_labels = [len(own) for own in self.type_labels]
        self.classes = texts_of_labels(inputs.types, self.type_labels)
        self.pairs = labeler._pairs(inputs)
        codes = [codes_of(own, g, inputs, self.type_labels, "y") for own, g in zip(gold, graphs, strict=True)]
        shapes = [inputs.shape(graph, n_labels) for graph in graphs]
        how = labeler._search(training=True)
        structure = graph_structure(inputs, n_labels, how, cuts_exactly(self.pairs, n_labels))
        labeler._require_narrow(structure, shapes, graphs, cuts_exactly(self.pairs, n_labels))
        if self.pairs.startswith("equal"):
            require_nonnegative(graphs)
        Weighting(sample_weight, None, None).require_length(len(graphs))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        combinations = self._combinations()
        examples = self._read(graphs, names=self._hash_bits == 0)
        self.n_sequences, self.n_tokens = len(graphs), sum(graph.n_nodes for graph in graphs)
        ones = np.ones(len(graphs)) if weights is None else weights
        self._checksum = _checksum(examples, [*shapes, *codes, ones])
        self._channels = graph_channels(inputs, n_labels, self.pairs, labeler.combinations in ("auto", "all"))
        try:
            self._parts = _core.PartExamples(
                self._channels, examples, labeler.min_count, True, self.learner.by_member, shapes
            )
            del examples
            self.oracle = self._parts.oracle(
                structure,
                np.concatenate(codes).astype(np.uint32),
                np.cumsum([len(own) for own in codes], dtype=np.int64),
                weights,
                combinations,
            )
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    def _read(self, graphs: Sequence[CheckedGraph], names: bool = False, argument: str = "X") -> list[Any]:
        n_jobs = checks.as_jobs(self._estimator.n_jobs)
        sources = self.inputs.sources(graphs, names, argument=argument)
        examples = [_core.SiteExamples(self._hash_bits, True) for _ in sources]
        for own, source in zip(examples, sources, strict=True):
            own.read(source, n_jobs)
        return examples

    def _sources(self, X: Any, argument: str = "X", names: bool = False) -> Any:
        yield self.inputs.sources(X, names, argument=argument)

    def _dev_score(self, X_dev: Any, y_dev: Any) -> DevScore:
        graphs = checked_graphs(X_dev, "X_dev")
        gold = label_lists(y_dev, graphs, "y_dev")
        if not any(gold):
            raise InvalidInput("X_dev has no nodes to score: pass at least one graph that is not empty.")
        inputs = self.inputs
        codes = [codes_of(own, g, inputs, self.type_labels, None) for own, g in zip(gold, graphs, strict=True)]
        settings, labeler = self._trial_settings(), self._estimator

        def score(weights: FloatArray) -> float:
            model = self._model_of(weights, settings)
            return accuracy(codes, list(labeler._best_codes(model, graphs)))

        return DevScore(score, _checksum(self._read(graphs, argument="X_dev"), codes))

    def _run_settings(self) -> dict[str, Any]:
        own = {name: getattr(self._estimator, name) for name in ("inference", "relaxed")}
        return super()._run_settings() | own | {"pairs": self.pairs}

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> GraphModel:
        inputs = self.inputs
        blocks = [f"nodes {t}" for t in range(len(inputs.types))] + [f"edges {k}" for k in range(len(inputs.kinds))]
        n_labels = [len(own) for own in self.type_labels]
        sizes = n_labels + [n_labels[kind.first] * n_labels[kind.second] for kind in inputs.kinds]
        how = self._estimator._search(training=True)
        described = {
            "structure": {
                "name": "graph",
                "labels": self.type_labels,
                "pairs": self.pairs,
                "trained": {"inference": how.inference, "relaxed": how.relaxed, "exact": how.proves},
            },
            "blocks": dict(zip(blocks, sizes, strict=True)),
            "channels": {name: {"block": blocks[block], "sites": sites} for name, block, sites, *_ in self._channels},
        }
        return GraphModel(self._parts.export(self.oracle, weights), settings | described)


def _checksum(examples: list[_core.SiteExamples], arrays: list[Any]) -> int:
    """Return a checksum of what is seen of graphs, and of arrays besides."""
    return checksum_of_array(*[np.array([own.checksum()], dtype=np.uint64) for own in examples], *arrays)


def require_nonnegative(graphs: Sequence[CheckedGraph]) -> None:
    """Refuse features of edges below zero: with weights that are not, equal labels would be worth less than others."""
    for graph in graphs:
        rows = graph.edge_features
        values = getattr(rows, "data", None) if hasattr(rows, "tocsr") else rows
        if isinstance(values, np.ndarray) and values.size and values.min() < 0:
            raise InvalidInput(
                f"{graph.place} has a feature of an edge that is {values.min()}; with associative=True they must not "
                "be negative. Split it into two: what is above zero, and what is below."
            )
        if isinstance(rows, list):
            for j, row in enumerate(rows):
                if any(value < 0 for value in _numbers_in(row)):
                    raise InvalidInput(
                        f"{graph.place} has a feature below zero at edge {j}; with associative=True they must not be."
                    )


def _numbers_in(seen: Any) -> Iterator[Any]:
    """Yield the numbers in a row or in attributes: in a dict, perhaps of dicts, and in pairs of a name and a number."""
    if hasattr(seen, "items"):
        seen = list(seen.values())
    if isinstance(seen, Iterable):
        for item in () if isinstance(seen, (str, bytes)) else seen:
            yield from _numbers_in(item)
    elif hasattr(seen, "__float__"):  # what is no number at all is refused where attributes are read
        yield seen


def label_lists(y: Any, graphs: Sequence[CheckedGraph], argument: str) -> list[list[Any]]:
    """Return the labels of the nodes of each graph; by the names that networkx has for nodes, too."""
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise InvalidInput(f"{argument} is {shown(y)}; expected a list with the labels of the nodes of each graph.")
    lists = list(y)
    if len(lists) != len(graphs):
        raise InvalidInput(f"{argument} has {len(lists)} lists of labels, but X has {len(graphs)} graphs.")
    return [
        _label_list(own, graph, f"{argument}[{i}]") for i, (own, graph) in enumerate(zip(lists, graphs, strict=True))
    ]


def _label_list(given: Any, graph: CheckedGraph, place: str) -> list[Any]:
    given = given.detach().cpu().numpy() if hasattr(given, "detach") else given
    if isinstance(given, Mapping):
        if graph.keys is None:
            raise InvalidInput(f"{place} is a dict, but {graph.place} has no names of nodes. Pass a list.")
        missing = [key for key in graph.keys if key not in given]
        if missing:
            raise InvalidInput(f"{place} has no label for the node {shown(missing[0])}.")
        return [_plain(given[key], f"{place}[{key!r}]") for key in graph.keys]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidInput(f"{place} is {shown(given)}; expected a label for each node.")
    array = np.asarray(given, dtype=None if isinstance(given, np.ndarray) else object)
    if array.ndim > 1:
        raise InvalidInput(f"{place} has shape {array.shape}; expected a label for each node, (n,).")
    labels = given if isinstance(given, list) else array.tolist()
    if len(labels) != graph.n_nodes:
        raise InvalidInput(
            f"{place} has {len(labels)} labels, but {graph.place} has {graph.n_nodes} nodes. Every node needs one."
        )
    if isinstance(given, np.ndarray) and given.dtype.kind in "iubU":
        return labels
    return [_plain(label, f"{place}[{i}]") for i, label in enumerate(labels)]


def _plain(label: Any, place: str) -> Any:
    label = label.item() if isinstance(label, np.generic) else label
    if not isinstance(label, (str, int)):
        raise InvalidInput(f"{place} is {shown(label)}; expected a label: a string or a whole number.")
    return label


def _labels_by_type(
    given: Any, gold: list[list[Any]], graphs: list[CheckedGraph], inputs: GraphInputs
) -> list[list[Any]]:
    """Return the labels of each type: those that were named, or those that its nodes have."""
    if given is not None:
        return _named_labels(given, inputs)
    found: list[set[Any]] = [set() for _ in inputs.types]
    for own, graph in zip(gold, graphs, strict=True):
        if len(found) == 1:
            found[0] |= set(own)
            continue
        for t, label in zip(inputs.types_in(graph).tolist(), own, strict=True):
            found[t].add(label)
    out = []
    for name, labels in zip(inputs.types, found, strict=True):
        if len({isinstance(label, str) for label in labels}) > 1:
            raise InvalidInput(
                f"y mixes strings and numbers among the labels of the type {name!r}. Use one of the two."
            )
        out.append(sorted(labels))
    return out


def _named_labels(given: Any, inputs: GraphInputs) -> list[list[Any]]:
    by_type = given if isinstance(given, Mapping) else {name: given for name in inputs.types}
    if len(inputs.types) > 1 and not isinstance(given, Mapping):
        raise InvalidInput("labels is a list, but there are several types of nodes: pass a dict with a list for each.")
    if set(by_type) != set(inputs.types):
        raise InvalidInput(
            f"labels is about {', '.join(map(repr, by_type))}; X has {', '.join(map(repr, inputs.types))}."
        )
    out = []
    for name in inputs.types:
        listed = by_type[name]
        if not isinstance(listed, (list, tuple, np.ndarray)):
            raise InvalidInput(f"labels of the type {name!r} are {shown(listed)}; expected a list.")
        own = [_plain(label, f"labels[{name!r}]") for label in listed]
        if len({isinstance(label, str) for label in own}) > 1:
            raise InvalidInput(f"labels of the type {name!r} mix strings and numbers. Use one of the two.")
        if not own or len(set(own)) != len(own):
            raise InvalidInput(f"labels of the type {name!r} are {shown(own)}; expected at least one, each once.")
        out.append(own)
    return out


def codes_of(
    labels: list[Any], graph: CheckedGraph, inputs: GraphInputs, type_labels: list[list[Any]], argument: str | None
) -> Codes:
    """Return the numbers of labels among those of the type of their node; of unknown ones -1, or refuse them."""
    numbers = [{label: code for code, label in enumerate(own)} for own in type_labels]
    types = inputs.types_in(graph).tolist()
    codes = np.array([numbers[t].get(label, -1) for t, label in zip(types, labels, strict=True)], dtype=np.int64)
    if argument is not None and (codes < 0).any():
        i = int(np.argmin(codes))
        others = [inputs.types[t] for t, own in enumerate(numbers) if labels[i] in own]
        told = f", which is a label of the type {others[0]!r}" if others else ""
        known = ", ".join(map(repr, type_labels[types[i]]))
        raise InvalidInput(
            f"{graph.place}: node {i}, of the type {inputs.types[types[i]]!r}, has the label {labels[i]!r}{told}; "
            f"expected one of {known}."
        )
    return codes


def accuracy(gold: Sequence[Codes], found: Sequence[Codes]) -> float:
    """Return the share of nodes whose label is right."""
    right = sum(int((a == b).sum()) for a, b in zip(gold, found, strict=True))
    return right / max(sum(map(len, gold)), 1)
