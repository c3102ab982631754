"""Labels of positions, with the state of an automaton as history: what `NGramChain` and `AutomatonChain` share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray, LabelArray
from trelliswork.structures.parts import Numbers, PartScores
from trelliswork.structures.results import Expectations, Labeling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LabellingScores", "all_ngrams", "allowed_ngrams", "as_unary"]


class LabellingScores(PartScores[Labeling]):
    """Scores of labels by position and of the arcs that an automaton takes, with the questions of `Chain`.

    Parameters
    ----------
    structure : PartStructure
        Of an automaton; its arcs are tied unless ``arcs`` has two dimensions.
    unary : (T, K) array
        Score of each label at each position.
    arcs : (n_arcs,) or (T, n_arcs) array
        Score of each arc.
    """

    _output_name = "labelling"

    def __init__(self, structure: _core.PartStructure, unary: FloatArray, arcs: FloatArray) -> None:
        self.unary = unary
        super().__init__(structure, [len(unary)], np.concatenate([unary.ravel(), arcs.ravel()]))

    @abstractmethod
    def _with_unary(self, unary: FloatArray) -> Self:
        """Return the same with other scores of labels."""

    @abstractmethod
    def edge_marginals(self) -> FloatArray:
        """Return the probability of every pair of neighbouring labels, (T - 1, K, K)."""

    @property
    def n_positions(self) -> int:
        """Number of positions, T."""
        return len(self.unary)

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return int(self.unary.shape[1])

    def marginals(self) -> FloatArray:
        """Return the probability of every label at every position, (T, K)."""
        return self._shaped(self._expected(), np.add, 0.0)

    def max_marginals(self) -> FloatArray:
        """Return the best score with each label at each position, (T, K); see `Chain.max_marginals`."""
        return self._shaped(self._structure.max_marginals(self._shape, self._scores), np.maximum, -np.inf)

    def expected_counts(self, attributes: npt.ArrayLike | None = None) -> Expectations:
        """Return the log partition and expected counts, from the marginals; see `Chain.expected_counts`."""
        values = np.empty((self.n_positions, 0)) if attributes is None else checks.as_numbers("attributes", attributes)
        if values.ndim != 2 or len(values) != self.n_positions:
            raise InvalidInput(f"attributes must have shape ({self.n_positions}, F), found {values.shape}.")
        unary, edges = self.marginals(), self.edge_marginals()
        return Expectations(self.log_partition(), unary.sum(axis=0), edges.sum(axis=0), values.T @ unary)

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> LabelArray:
        """Draw ``n`` labellings from the distribution, an (n, T) array; see `Chain.sample`."""
        drawn = self._drawn(n, random_state, replace)
        return np.array(drawn, dtype=np.int32).reshape(len(drawn), self.n_positions)

    def span_probability(self, start: int, labels: Sequence[Any]) -> float:
        """Return the probability that positions from ``start`` on carry ``labels``; see `Chain.span_probability`."""
        begin = checks.as_count("start", start, least=0)
        labels = checks.as_span(labels)
        if begin + len(labels) > self.n_positions:
            raise InvalidInput(
                f"the span of {len(labels)} labels at {begin} runs past the last of {self.n_positions} positions."
            )
        log_partition = self._possible_log_partition()
        allowed = [None] * begin + [
            checks.label_set(f"labels[{i}]", item, self.n_labels) for i, item in enumerate(labels)
        ]
        mask = checks.as_allowed("labels", allowed + [None] * (self.n_positions - len(allowed)), *self.unary.shape)
        inside = self._with_unary(np.where(mask, self.unary, -np.inf))
        return float(np.exp(min(inside.log_partition() - log_partition, 0.0)))

    def augmented(self, gold: npt.ArrayLike, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the chain with ``scale`` times the cost against ``gold`` added; see `Chain.augmented`."""
        charged = checks.as_cost(cost, self.n_labels)
        y = checks.as_labels("gold", gold, self.n_positions, self.n_labels)
        return self._with_unary(self.unary + checks.as_scale(scale) * charged[y])

    def plot(self, **options: Any) -> Axes:
        """Draw the trellis of labels with the best path bold; see `Chain.plot`."""
        from trelliswork.plots import trellis

        return trellis(self, **options)

    def _limited(self, allowed: Any, fixed: Any) -> FloatArray:
        """Return ``unary`` with -inf for what is not allowed."""
        unary = self.unary
        if allowed is not None:
            unary = np.where(checks.as_allowed("allowed", allowed, *unary.shape), unary, -np.inf)
        if fixed is not None:
            unary = np.where(checks.as_fixed("fixed", fixed, *unary.shape), unary, -np.inf)
        return unary

    def _arc_marginals(self, structure: _core.PartStructure, arcs: FloatArray) -> FloatArray:
        """Return the probability of each arc at each position, (T, n_arcs), by a structure whose arcs are not tied."""
        self._possible_log_partition()
        steps = np.broadcast_to(arcs, (self.n_positions, arcs.shape[-1]))
        scores = np.concatenate([self.unary.ravel(), steps.ravel()])
        return structure.marginals(self._shape, scores)[self.unary.size :].reshape(steps.shape)

    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> FloatArray:
        return parts[: self.unary.size].reshape(self.unary.shape)

    def _sampled(self, output: Numbers) -> LabelArray:
        return output.astype(np.int32)

    def _answer(self, output: Numbers, score: float) -> Labeling:
        return Labeling(output.astype(np.int32), score)

    def _output(self, output: npt.ArrayLike) -> Numbers:
        return checks.as_labels("labels", output, self.n_positions, self.n_labels).astype(np.uint32)


def as_unary(unary: npt.ArrayLike, n_labels: int, meaning: str) -> FloatArray:
    """Return the scores of labels by position, (T, n_labels); an empty list has no position."""
    rows = checks.as_numbers("unary", unary)
    rows = rows.reshape(0, n_labels) if rows.shape == (0,) else rows
    return checks.as_scores("unary", rows, (None, n_labels), meaning)


NGramAutomaton = tuple[_core.NGrams, _core.PartStructure, npt.NDArray[np.int64]]


@lru_cache(maxsize=8)
def all_ngrams(n_labels: int, order: int) -> NGramAutomaton:
    """Return n-grams, their automaton, and the place of each arc in an array of n-grams, -1 where it has none."""
    return _with_places(n_labels, order, None)


def allowed_ngrams(possible: npt.NDArray[np.bool_]) -> NGramAutomaton:
    """Return the same of those n-grams that are possible, an array with a dimension for each of their labels."""
    return _with_places(possible.shape[0], possible.ndim - 1, np.ascontiguousarray(possible, dtype=np.uint8))


def _with_places(n_labels: int, order: int, allowed: npt.NDArray[np.uint8] | None) -> NGramAutomaton:
    try:
        ngrams = _core.NGrams.all(n_labels, order, allowed=allowed)
    except ValueError as error:  # more than fit in memory
        raise InvalidInput(f"{error}.") from None
    labels = ngrams.labels
    places = np.where(labels[:, 0] < 0, -1, labels @ n_labels ** np.arange(order, -1, -1))
    return ngrams, ngrams.structure(), places
