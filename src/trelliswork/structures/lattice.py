"""What the sequence structures answered over the core's lattice have in common: n-gram chains and segmentations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from trelliswork.errors import Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray

__all__ = ["LatticeStructure"]

Answer = TypeVar("Answer")


class LatticeStructure(ABC, Generic[Answer]):
    """Questions whose answers differ only in what a path is called. The empty sequence has no core, and one path."""

    _core: Any
    _path_name: ClassVar[str]
    _where_to_look: ClassVar[str]

    @property
    @abstractmethod
    def n_positions(self) -> int:
        """Number of positions, T."""

    @property
    @abstractmethod
    def n_labels(self) -> int:
        """Number of labels, K."""

    @abstractmethod
    def score(self, path: npt.ArrayLike) -> float:
        """Return the score of one path, -inf if it is forbidden."""

    @abstractmethod
    def _answer(self, path: npt.NDArray[np.int32], score: float) -> Answer:
        """Make an answer from what the core returns."""

    @abstractmethod
    def _part_marginals_shape(self) -> tuple[int, ...]:
        """Return the shape of the marginals of the structure's own parts."""

    def argmax(self) -> Answer:
        """Return the best one and its score; see `Chain.argmax`."""
        return self.kbest(1)[0]

    def kbest(self, k: int, method: str = "astar") -> list[Answer]:
        """Return the ``k`` best, distinct and best first; see `Chain.kbest`."""
        k = checks.as_count("k", k)
        astar = checks.as_method(method) == "astar"
        if self._core is None:
            return [self._answer(np.empty(0, dtype=np.int32), 0.0)]
        found = self._core.kbest(min(k, 2**62), astar)
        if not found:
            self._refuse_impossible()
        return [self._answer(path, score) for path, score in found]

    def max_marginals(self) -> FloatArray:
        """Return the best score with each label at each position, (T, K); see `Chain.max_marginals`."""
        out = np.empty((self.n_positions, self.n_labels))
        if self._core is not None:
            self._core.max_marginals(out)
        return out

    def log_partition(self) -> float:
        """Return the log of the sum of exp(score) over all of them; -inf when all are forbidden."""
        return 0.0 if self._core is None else float(self._core.log_partition())

    def marginals(self) -> FloatArray:
        """Return the probability of every label at every position, (T, K)."""
        return self._marginals()[0]

    def edge_marginals(self) -> FloatArray:
        """Return the probability of every pair of labels on both sides of each step, (T - 1, K, K).

        For segments, a step within a segment counts for no pair: these are the probabilities of boundaries.
        """
        return self._marginals()[1]

    def entropy(self) -> float:
        """Return the entropy of the distribution, in nats."""
        self._require_possible()
        return 0.0 if self._core is None else float(self._core.entropy())

    def log_prob(self, path: npt.ArrayLike) -> float:
        """Return the log-probability of one of them, never above zero; -inf if it is forbidden."""
        self._require_possible()
        return min(self.score(path) - self.log_partition(), 0.0)

    def _marginals(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the marginals of labels, of pairs and of the structure's own parts."""
        self._require_possible()
        T, K = self.n_positions, self.n_labels
        unary, edges = np.zeros((T, K)), np.zeros((max(T - 1, 0), K, K))
        parts = np.zeros(self._part_marginals_shape())
        if self._core is not None:
            self._core.marginals(unary, edges, parts)
        return unary, edges, parts

    def _draw(self, n: int, random_state: Any, numbers_each: int) -> list[npt.NDArray[np.int32]]:
        """Draw ``n`` paths; each needs at most ``numbers_each`` random numbers."""
        n = checks.as_count("n", n, least=0)
        self._require_possible()
        generator = checks.as_generator(random_state)
        if self._core is None:
            return [np.empty(0, dtype=np.int32)] * n
        drawn: list[npt.NDArray[np.int32]] = self._core.sample(n, generator.random(n * numbers_each))
        return drawn

    def _require_possible(self) -> None:
        if self.log_partition() == -np.inf:
            self._refuse_impossible()

    def _refuse_impossible(self) -> NoReturn:
        place = self._core.first_dead_end()
        raise Unsatisfiable(
            f"every {self._path_name} is forbidden: none gets past position {place}. "
            f"Look at the -inf scores there, and at the {self._where_to_look}."
        )
