"""Bare scores of parts, and the questions that every structure answers, written once for all.

`BareScores` is the base class of all structures. Chains use their own kernels, `PartScores` the core's dynamic
programs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeVar

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray

if TYPE_CHECKING:
    from trelliswork.structures.formulations import Formulation
    from trelliswork.structures.program import Program

__all__ = ["BareScores", "Batch", "PartScores"]

Answer = TypeVar("Answer")
Numbers = npt.NDArray[np.uint32]


class BareScores(ABC, Generic[Answer]):
    """A distribution over outputs; the score of an output is the sum over its parts."""

    @abstractmethod
    def log_partition(self) -> float:
        """Return the log of the sum of exp(score) over all outputs; -inf when all are forbidden."""

    @abstractmethod
    def entropy(self) -> float:
        """Return the entropy of the distribution, in nats."""

    @abstractmethod
    def _log_count(self) -> float:
        """Return the log partition with all scores that are not -inf set to zero."""

    @abstractmethod
    def _expected(self) -> FloatArray:
        """Return how often each part is expected in an output."""

    @abstractmethod
    def _scores_of_parts(self, of: Self) -> FloatArray | None:
        """Return this one's scores for the parts of ``of``; None when they have not the same parts."""

    @abstractmethod
    def _refuse_impossible(self) -> Any:
        """Say that every output is forbidden, and where to look."""

    @abstractmethod
    def _indicators(self) -> npt.NDArray[np.int64]:
        """Return the part that each indicator of the program stands for; -1 for none, -2 for what all outputs have."""

    @abstractmethod
    def _formulation(self) -> Formulation:
        """Return variables and linear rows whose best solution is the best output."""

    def _as_parts(self) -> tuple[_core.PartStructure, Numbers, FloatArray] | None:
        """Return the structure, shape and scores of the core, which `_from_parts` reads; None where it has none."""
        return None

    def _from_parts(self, parts: Numbers) -> Answer:
        """Make an answer from the parts of an output."""
        raise NotImplementedError

    def program(self) -> Program:
        """Return the integer program whose best solution is the best output, for adding constraints.

        The coefficients of constraints have the shape of the marginals. For segments, it is that of ``segment_scores``;
        for labelled arcs, (n + 1, n + 1, L).

        Examples
        --------
        >>> from trelliswork import Chain
        >>> chain = Chain([[0.0, 1.0], [0.0, 3.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]])
        >>> chain.program().at_most(label=1, n=2).argmax().labels.tolist()
        [0, 1, 1]
        """
        from trelliswork.structures.program import Program

        return Program._of(self)

    def log_count(self) -> float:
        """Return the log of the number of outputs that are not forbidden; -inf when all are.

        Examples
        --------
        >>> from trelliswork import Automaton, AutomatonChain, Chain
        >>> once = AutomatonChain(np.zeros((3, 2)), Automaton.at_most(2, 1, 1))  # at most one 1: 000, 100, 010, 001
        >>> round(np.exp(once.log_count()))
        4
        >>> round(np.exp(Chain(np.zeros((3, 2)), [[0.0, 0.0], [0.0, -np.inf]]).log_count()))  # no 1 after a 1
        5
        """
        return self._log_count()

    def cross_entropy(self, other: Self) -> float:
        """Return the mean negative log-probability under ``other`` of outputs drawn from this one, in nats.

        Parameters
        ----------
        other : same class
            Other scores of the same parts.

        Examples
        --------
        >>> from trelliswork import Chain
        >>> p, q = (Chain([[0.0, x]], np.zeros((2, 2))) for x in (0.0, 1.0))
        >>> round(p.cross_entropy(q), 4), round(p.cross_entropy(p), 4)
        (0.8133, 0.6931)
        """
        scores = other._scores_of_parts(self) if type(other) is type(self) else None
        if scores is None:
            raise InvalidInput(f"other must be a {type(self).__name__} with the same parts.")
        log_partition = other._possible_log_partition()
        expected = self._expected()
        used = expected > 0.0
        return float(log_partition - expected[used] @ scores[used])

    def kl_divergence(self, other: Self) -> float:
        """Return the Kullback-Leibler divergence from ``other`` to this one, in nats; inf where ``other`` forbids.

        Examples
        --------
        >>> from trelliswork import Chain
        >>> p, q = (Chain([[0.0, x]], np.zeros((2, 2))) for x in (0.0, 1.0))
        >>> round(p.kl_divergence(q), 4), p.kl_divergence(p)
        (0.1201, 0.0)
        """
        return max(self.cross_entropy(other) - self.entropy(), 0.0)

    def _possible_log_partition(self) -> float:
        found = self.log_partition()
        if found == -np.inf:
            self._refuse_impossible()
        return found


class PartScores(BareScores[Answer]):
    """One score for each part that an output may have; the score of an output is the sum over its parts.

    Parameters
    ----------
    structure : PartStructure
        Which outputs there are, and their parts.
    shape : sequence of int
        Properties of the input that the structure needs, such as its length.
    scores : (n_parts,) array
        Block after block, as the structure has them; ``-inf`` forbids.
    """

    _output_name: ClassVar[str]  # for messages
    _where_to_look: ClassVar[str] = "rules"
    _constant: float = 0.0  # what every output has beside its parts

    def __init__(self, structure: _core.PartStructure, shape: Sequence[int], scores: FloatArray) -> None:
        self._structure = structure
        self._shape = np.array(shape, dtype=np.uint32)
        self._scores = scores

    @abstractmethod
    def _answer(self, output: Numbers, score: float) -> Answer:
        """Make an answer from an output as the core has it."""

    @abstractmethod
    def _output(self, output: npt.ArrayLike) -> Numbers:
        """Check an output that a caller gives, and return it as the core has it."""

    @abstractmethod
    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> FloatArray:
        """Lay numbers of parts out as `marginals` are, joining those that share a place."""

    def _indicators(self) -> npt.NDArray[np.int64]:
        numbers = np.arange(len(self._scores), dtype=np.float64)
        return np.asarray(self._shaped(numbers, np.maximum, -1.0)).astype(np.int64)

    def _n_identifying(self) -> int:
        """Return how many of the first parts tell outputs apart: those of the first block, as a rule."""
        _, n_sites, n_codes = self._structure.blocks(self._shape)[0]
        return int(n_sites * n_codes)

    def _as_parts(self) -> tuple[_core.PartStructure, Numbers, FloatArray] | None:
        return self._structure, self._shape, self._scores

    def _from_parts(self, parts: Numbers) -> Answer:
        output = self._structure.output_of(self._shape, np.sort(parts))
        return self._answer(output, float(self._scores[parts].sum()))

    def _formulation(self) -> Formulation:
        from trelliswork.structures.formulations import of_hyperedges

        given = (self._structure, self._shape, self._scores, self._indicators(), self._n_identifying())
        found = of_hyperedges(*given, self._from_parts)
        if found is None:
            raise InvalidInput(f"{self!r} has no linear program.")
        return found

    def argmax(self) -> Answer:
        """Return the best output and its score; see `Chain.argmax`."""
        found: Any = self._structure.best_output(self._shape, self._scores)
        if found is None:
            self._refuse_impossible()
        return self._answer(*found)

    def kbest(self, k: int, method: str = "astar") -> list[Answer]:
        """Return the ``k`` best outputs, distinct and best first; fewer than ``k`` if fewer exist.

        Parameters
        ----------
        k : int
            Number of outputs.
        method : {"astar", "viterbi"}
            As for `Chain.kbest`; both use the same lazy search here (Huang and Chiang 2005).
        """
        k = checks.as_count("k", k)
        checks.as_method(method)
        found = self._structure.best(self._shape, self._scores, min(k, 2**62))
        if not found:
            self._refuse_impossible()
        return [self._answer(self._structure.output_of(self._shape, parts), score) for parts, score in found]

    def score(self, output: npt.ArrayLike) -> float:
        """Return the score of an output, -inf if it is forbidden."""
        try:
            parts = self._structure.parts_of(self._shape, self._output(output))
        except InvalidInput:
            raise
        except ValueError:  # of the right form, but not among the outputs
            return -np.inf
        return float(self._scores[parts].sum())

    def log_partition(self) -> float:
        """Return the log of the sum of exp(score) over all outputs; -inf when all are forbidden."""
        return float(self._structure.log_partition(self._shape, self._scores)) + self._constant

    def log_prob(self, output: npt.ArrayLike) -> float:
        """Return the log-probability of an output, never above zero; -inf if it is forbidden."""
        return min(self.score(output) - self._possible_log_partition(), 0.0)

    def _log_count(self) -> float:
        allowed = (self._scores > -np.inf).astype(np.uint8)
        return float(self._structure.log_partition(self._shape, np.zeros_like(self._scores), allowed))

    def entropy(self) -> float:
        """Return the entropy of the distribution, in nats."""
        self._possible_log_partition()
        return float(self._structure.entropy(self._shape, self._scores))

    def _drawn(self, n: int, random_state: Any, replace: bool) -> list[Numbers]:
        n = checks.as_count("n", n, least=0)
        self._possible_log_partition()
        seed = int(checks.as_generator(random_state).integers(2**63))
        drawn = self._structure.sample(self._shape, self._scores, n, seed, not checks.as_flag("replace", replace))
        return [self._structure.output_of(self._shape, parts) for parts in drawn]

    def _expected(self) -> FloatArray:
        found: Any = self._structure.sums(self._shape, self._scores)
        if found[0] == -np.inf:
            self._refuse_impossible()
        return np.asarray(found[1])

    def _scores_of_parts(self, of: Self) -> FloatArray | None:
        same = np.array_equal(self._shape, of._shape) and len(self._scores) == len(of._scores)
        return self._scores if same else None

    def _sampled(self, output: Numbers) -> Any:
        """Make what `sample` returns from an output as the core has it."""
        return self._answer(output, self.score(output))

    def _refuse_impossible(self) -> NoReturn:
        place = self._structure.dead_end(self._shape, self._scores)
        raise Unsatisfiable(
            f"every {self._output_name} is forbidden: none gets past position {place}. "
            f"Look at the -inf scores there, and at the {self._where_to_look}."
        )


class Batch(Generic[Answer]):
    """Many structures of one kind, answered together on several threads.

    Parameters
    ----------
    structures : list of DependencyTree, or of another class of scores of parts
        Structures of one class and with the same options; their sizes may differ.
    n_jobs : int, optional
        Number of threads, as in scikit-learn: None is one, -1 all processors. Answers are bit for bit the same with any
        number.

    Examples
    --------
    >>> from trelliswork import DependencyTree
    >>> batch = Batch([DependencyTree(np.zeros((n + 1, n + 1))) for n in (1, 2, 3)], n_jobs=2)
    >>> np.exp(batch.log_partition()).round().tolist()
    [1.0, 2.0, 7.0]
    >>> [tree.heads.tolist() for tree in batch.argmax()]
    [[0], [0, 1], [0, 1, 2]]
    """

    def __init__(self, structures: Iterable[PartScores[Answer]], n_jobs: int | None = None) -> None:
        self._members = list(structures)
        for i, member in enumerate(self._members):
            if not isinstance(member, PartScores):
                raise InvalidInput(f"structures[{i}] is a {type(member).__name__}; expected scores of parts.")
            if member._structure is not self._members[0]._structure:
                raise InvalidInput(f"structures[{i}] is {member!r}: not of one kind with {self._members[0]!r}.")
        self.n_jobs = n_jobs
        self._core = None
        if self._members:
            shapes, scores = [one._shape for one in self._members], [one._scores for one in self._members]
            self._core = _core.PartBatch(self._members[0]._structure, shapes, scores, checks.as_jobs(n_jobs))

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, index: int) -> PartScores[Answer]:
        return self._members[index]

    def __iter__(self) -> Iterator[PartScores[Answer]]:
        return iter(self._members)

    def __repr__(self) -> str:
        return f"Batch({len(self)} structures)"

    def argmax(self) -> list[Answer]:
        """Return the best output of each, and its score."""
        return [best[0] for best in self.kbest(1)]

    def kbest(self, k: int) -> list[list[Answer]]:
        """Return the ``k`` best outputs of each, distinct and best first."""
        k = checks.as_count("k", k)
        out = []
        for one, found in zip(self._members, self._core.best(min(k, 2**62)) if self._core else (), strict=True):
            if not found:
                one._refuse_impossible()
            out.append([one._answer(output, score) for output, score in found])
        return out

    def log_partition(self) -> FloatArray:
        """Return the log of the sum of exp(score) over all outputs of each; -inf where all are forbidden."""
        constants = np.array([one._constant for one in self._members])
        return constants + self._core.log_partition() if self._core else constants

    def entropy(self) -> FloatArray:
        """Return the entropy of each, in nats."""
        self._require_possible()
        return np.asarray(self._core.entropy()) if self._core else np.zeros(0)

    def marginals(self) -> list[FloatArray]:
        """Return the marginals of each."""
        self._require_possible()
        found = self._core.marginals(True) if self._core else ()
        return [one._shaped(parts, np.add, 0.0) for one, parts in zip(self._members, found, strict=True)]

    def max_marginals(self) -> list[FloatArray]:
        """Return the max-marginals of each."""
        found = self._core.max_marginals(True) if self._core else ()
        return [one._shaped(parts, np.maximum, -np.inf) for one, parts in zip(self._members, found, strict=True)]

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> list[Any]:
        """Draw ``n`` outputs of each; the draws of one do not depend on the structures after it."""
        n = checks.as_count("n", n, least=0)
        self._require_possible()
        seeds = checks.as_generator(random_state).integers(2**63, size=len(self), dtype=np.uint64)
        drawn = self._core.sample(n, seeds, not checks.as_flag("replace", replace)) if self._core else ()
        return [[one._sampled(output) for output in own] for one, own in zip(self._members, drawn, strict=True)]

    def _require_possible(self) -> None:
        for i in np.flatnonzero(self.log_partition() == -np.inf)[:1]:
            self._members[i]._refuse_impossible()
