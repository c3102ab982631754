"""Models of labelled graphs: weights of what is seen of nodes with their labels, and of edges with pairs of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.features.graph_inputs import GraphInputs
from trelliswork.models.parts import PartsModel

__all__ = ["INFERENCES", "PAIRS", "GraphModel", "Search", "graph_channels", "graph_structure", "texts_of_labels"]

FloatArray = npt.NDArray[np.float64]
Label = str | int

INFERENCES = ("auto", "exact", "bp", "trw", "ad3", "cut", "ilp")
PAIRS = ("all", "symmetric", "equal", "equal by label")  # which pairs of labels of an edge share weights


class Search(NamedTuple):
    """How labels are looked for.

    Attributes
    ----------
    inference : str
        One of `INFERENCES`.
    relaxed : bool
        Whether a fractional answer will do.
    iterations : int
        The most that a search makes.
    seconds : float
        The most that it takes; 0 is no limit.
    """

    inference: str = "auto"
    relaxed: bool = False
    iterations: int = 1000
    seconds: float = 0.0

    @property
    def proves(self) -> bool:
        """Whether every answer is proved to be the best."""
        return self.inference in ("auto", "exact", "ilp") and not self.relaxed and not self.seconds

    @property
    def approximates_sums(self) -> bool:
        """Whether sums over all labellings of wide graphs are estimated."""
        return self.inference in ("bp", "trw")


def graph_structure(inputs: GraphInputs, n_labels: Sequence[int], how: Search, cut: bool = False) -> Any:
    """Return the structure.

    Parameters
    ----------
    inputs : GraphInputs
    n_labels : sequence of int
        By type.
    how : Search
    cut : bool
        Whether a cut is exact, so that ``"auto"`` takes one.
    """
    kinds = np.array([(kind.first, kind.second) for kind in inputs.kinds], dtype=np.uint32).ravel()
    proves = how.inference in ("exact", "ilp")
    # "ilp": the linear relaxation, split where it is fractional.
    core = {"auto": "cut" if cut else "exact", "exact": "auto", "ilp": "ad3"}
    method = core.get(how.inference, how.inference)
    return _core.PartStructure.graph(
        np.asarray(n_labels, dtype=np.uint32),
        kinds,
        method,
        iterations=how.iterations,
        seconds=how.seconds,
        relaxed=how.relaxed,
        branch=proves,
        approximate_sums=how.approximates_sums,
    )


def graph_channels(inputs: GraphInputs, n_labels: Sequence[int], pairs: str, dense: bool) -> list[tuple[Any, ...]]:
    """Return the channels as the core wants them.

    Parameters
    ----------
    inputs : GraphInputs
    n_labels : sequence of int
    pairs : str
        One of `PAIRS`. Weights of equal labels must not be negative.
    dense : bool
        Whether columns of numbers have a weight for every label and pair, seen or not.
    """
    same, first_edge = np.zeros(0, dtype=np.int64), len(inputs.types)
    found: list[tuple[Any, ...]] = []
    for t, (seen, K) in enumerate(zip(inputs.nodes, n_labels, strict=True)):
        found.append((f"node{t}", t, "each", 0, K, same, t, dense and seen.form == "matrix", False))
        found.append((f"label{t}", t, "tied", 0, K, same, 0, True, False))
    source = first_edge
    for k, (kind, of_edges) in enumerate(zip(inputs.kinds, inputs.edges, strict=True)):
        codes, n_codes = pair_codes(n_labels[kind.first], n_labels[kind.second], kind.first == kind.second, pairs)
        bound = pairs.startswith("equal")
        if of_edges is not None:
            full = bound or (dense and of_edges.form == "matrix")
            found.append((f"edge{k}", first_edge + k, "each", 0, n_codes, codes, source, full, bound))
            source += 1
        found.append((f"pair{k}", first_edge + k, "tied", 0, n_codes, codes, 0, True, bound))
    return found


def pair_codes(n_first: int, n_second: int, same_type: bool, pairs: str) -> tuple[npt.NDArray[np.int64], int]:
    """Return which weights the pairs of labels of an edge have, by pair (empty: each its own), and how many there are.

    Examples
    --------
    >>> pair_codes(2, 2, True, "symmetric")
    (array([0, 1, 1, 2]), 3)
    >>> pair_codes(2, 2, True, "equal")
    (array([ 0, -1, -1,  0]), 1)
    """
    a, b = np.divmod(np.arange(n_first * n_second), n_second)
    if pairs == "all" or not same_type:
        return np.zeros(0, dtype=np.int64), n_first * n_second
    if pairs == "symmetric":
        low, high = np.minimum(a, b), np.maximum(a, b)
        return low * n_first - low * (low - 1) // 2 + high - low, n_first * (n_first + 1) // 2
    if pairs == "equal":
        return np.where(a == b, 0, -1), 1
    return np.where(a == b, a, -1), n_first


def texts_of_labels(types: Sequence[Any], labels: Sequence[Sequence[Label]]) -> list[str]:
    """Return a text for each label, those of several types with the name of their type.

    Examples
    --------
    >>> texts_of_labels(["node"], [[0, 1]]), texts_of_labels(["a", "b"], [[0], ["x"]])
    (['0', '1'], ['a: 0', 'b: x'])
    """
    several = len(types) > 1
    return [
        f"{name}: {label}" if several else str(label) for name, own in zip(types, labels, strict=True) for label in own
    ]


class GraphModel(PartsModel):
    """A trained model of labelled graphs."""

    inputs: GraphInputs
    _any_shape = np.zeros(2, dtype=np.uint32)

    def _made_inputs(self, settings: Mapping[str, Any]) -> GraphInputs:
        return GraphInputs.from_settings(settings)

    def _described(self) -> tuple[_core.PartStructure, list[tuple[Any, ...]]]:
        described = self.settings["structure"]
        self.type_labels: list[list[Label]] = [list(own) for own in described["labels"]]
        self.pairs: str = described["pairs"]
        if len(self.type_labels) != len(self.inputs.types) or not all(self.type_labels) or self.pairs not in PAIRS:
            raise ValueError("the settings do not say which labels nodes have")
        if not all(isinstance(label, (str, int)) for own in self.type_labels for label in own):
            raise ValueError("labels of nodes must be texts or whole numbers")
        if texts_of_labels(self.inputs.types, self.type_labels) != self.labels:
            raise ValueError("labels are not those of the types of nodes")
        channels = graph_channels(self.inputs, self.n_labels, self.pairs, dense=False)
        if [channel[0] for channel in channels] != self.channels:
            raise ValueError("the channels are not those of the types of nodes and kinds of edges")
        return graph_structure(self.inputs, self.n_labels, Search()), channels

    @property
    def n_labels(self) -> list[int]:
        """How many labels each type has."""
        return [len(own) for own in self.type_labels]

    @property
    def cuts(self) -> bool:
        """Whether a minimum cut is the best labelling: two labels, and equal ones are preferred."""
        return cuts_exactly(self.pairs, self.n_labels)

    def structure_for(self, how: Search) -> Any:
        """Return the structure that answers as is wanted."""
        held = self.__dict__.setdefault("_structures", {})
        if how not in held:
            held[how] = graph_structure(self.inputs, self.n_labels, how, self.cuts)
        return held[how]

    def scores(self, sources: Any, n_jobs: int, shapes: Any = None) -> list[FloatArray]:
        """Return the scores of all parts of each graph."""
        return [scores / self.temperature for scores in self.core.scores(sources, n_jobs, shapes)]

    def type_of_blocks(self, shape: npt.NDArray[np.uint32]) -> list[npt.NDArray[np.int64]]:
        """Return the numbers of the nodes of each type, in the order of their block."""
        types = shape[2 : 2 + int(shape[0])]
        return [np.flatnonzero(types == t) for t in range(len(self.type_labels))]

    @cached_property
    def code_names(self) -> dict[str, list[tuple[str | None, str]]]:
        """The labels of the first node and of the second, or the label of the node, of each code, by channel."""
        found: dict[str, list[tuple[str | None, str]]] = {}
        for t, own in enumerate(self.type_labels):
            found[f"node{t}"] = found[f"label{t}"] = [(None, str(label)) for label in own]
        for k, kind in enumerate(self.inputs.kinds):
            first, second = self.type_labels[kind.first], self.type_labels[kind.second]
            codes, n_codes = pair_codes(len(first), len(second), kind.first == kind.second, self.pairs)
            names: list[tuple[str | None, str]] = [(str(a), str(b)) for a in first for b in second]
            if len(codes):
                chosen = [int(np.argmax(codes == code)) for code in range(n_codes)]
                names = [names[place] for place in chosen] if self.pairs != "equal" else [("equal", "equal")]
            found[f"edge{k}"] = found[f"pair{k}"] = names
        return found


def cuts_exactly(pairs: str, n_labels: Sequence[int]) -> bool:
    """Whether a minimum cut is the best labelling."""
    return pairs.startswith("equal") and max(n_labels) <= 2
