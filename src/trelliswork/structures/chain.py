"""One chain of labels: exact answers to every question about ``score(y) = sum of unary and transition scores``.

A chain consists of scores alone. They may come from an HMM, a CRF or a neural network. Equation numbers refer to
Mančev's thesis (2015) unless another source is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.batch import ChainBatch
from trelliswork.structures.checks import FloatArray, LabelArray
from trelliswork.structures.parts import BareScores
from trelliswork.structures.results import Expectations, Labeling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.structures.formulations import Formulation

__all__ = ["Chain"]


_MOST_SHOWN = 60  # positions or labels, in a notebook


class Chain(BareScores[Labeling]):
    """A first-order chain of T positions and K labels.

    The score of a labelling ``y`` is ``start[y[0]] + sum of unary[t, y[t]] + sum of transitions[y[t], y[t + 1]] +
    end[y[-1]]`` (eq. 2.38). A chain is immutable: methods that add costs or constraints return a new one.

    Parameters
    ----------
    unary : (T, K) array-like
        Score of each label at each position. ``-inf`` forbids; NaN, ``+inf`` and values beyond 1e300 are refused.
    transitions : (K, K) or (T - 1, K, K) array-like
        Score of label ``a`` followed by label ``b``, the same for all steps or one for each.
    start, end : (K,) array-like, optional
        Scores of the first and of the last label.

    Notes
    -----
    Ties are broken towards the lowest label index: among equal scores, the labelling that is smallest when read from
    its end comes first. The empty chain (T = 0) has one labelling, which is empty and scores 0.

    Examples
    --------
    >>> chain = Chain(unary=[[2.0, 0.0], [0.0, 1.0]], transitions=[[0.0, -3.0], [0.0, 0.0]])
    >>> chain.argmax()
    Labeling(labels=array([0, 0], dtype=int32), score=2.0)
    >>> chain.marginals().round(3)
    array([[0.693, 0.307],
           [0.693, 0.307]])
    """

    def __init__(
        self,
        unary: npt.ArrayLike,
        transitions: npt.ArrayLike,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
    ) -> None:
        moves = checks.as_numbers("transitions", transitions)
        rows = checks.as_numbers("unary", unary)
        if rows.shape == (0,) and moves.ndim >= 2:
            rows = rows.reshape(0, moves.shape[-1])
        if rows.ndim != 2:
            raise InvalidInput(f"unary must have shape (T, K), one row per position; found {rows.shape}.")
        length, n_labels = rows.shape
        if moves.ndim == 3 and moves.shape != (max(length - 1, 0), n_labels, n_labels):
            raise InvalidInput(
                f"transitions per step must have shape ({max(length - 1, 0)}, {n_labels}, {n_labels}) "
                f"for unary of shape {rows.shape}; found {moves.shape}."
            )
        if moves.ndim not in (2, 3) or moves.shape[-2:] != (n_labels, n_labels):
            raise InvalidInput(
                f"transitions must have shape ({n_labels}, {n_labels}) or (T - 1, {n_labels}, {n_labels}) "
                f"for unary of shape {rows.shape}; found {moves.shape}."
            )
        self._batch = ChainBatch._of_one(rows, moves, start, end)

    @classmethod
    def _over(cls, batch: ChainBatch) -> Self:
        chain = cls.__new__(cls)
        chain._batch = batch
        return chain

    def __repr__(self) -> str:
        return f"Chain({self.n_positions} positions, {self.n_labels} labels)"

    def _repr_html_(self) -> str:
        """Return the trellis for a notebook: probabilities of labels by position, the best path with a rim."""
        if not self.n_positions or max(self.n_positions, self.n_labels) > _MOST_SHOWN:
            return f"<code>{escape(repr(self))}</code>"
        from trelliswork.plots.html import heat_map

        try:
            best, table = self.argmax().labels, self.marginals()
        except Unsatisfiable as error:
            return f"<code>{escape(repr(self))}</code>: {escape(str(error))}"
        return heat_map(
            table.T,
            [str(k) for k in range(self.n_labels)],
            [str(t) for t in range(self.n_positions)],
            marked={(int(k), t) for t, k in enumerate(best)},
            caption=f"{self!r}: marginals",
        )

    @property
    def n_positions(self) -> int:
        """Number of positions, T."""
        return len(self._batch._rows)

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return self._batch.n_labels

    @property
    def unary(self) -> FloatArray:
        """Scores of labels by position, (T, K), read-only."""
        return self._batch._rows

    @property
    def transitions(self) -> FloatArray:
        """Scores of neighbouring labels, (K, K) or (T - 1, K, K), read-only."""
        return self._batch.transitions

    @property
    def start(self) -> FloatArray:
        """Scores of the first label, (K,), read-only."""
        return self._batch.start

    @property
    def end(self) -> FloatArray:
        """Scores of the last label, (K,), read-only."""
        return self._batch.end

    # ---- the best ------------------------------------------------------------------------------------------------

    def argmax(self, beam: int | None = None) -> Labeling:
        """Return the best labelling and its score (Viterbi, eq. 2.39).

        Parameters
        ----------
        beam : int, optional
            Number of labels to keep at each position: K times ``beam`` steps per position instead of K squared. The
            answer may then not be the best; with ``beam=K`` it is. The beam is widened where all that it keeps is
            forbidden.

        Raises
        ------
        Unsatisfiable
            If every labelling is forbidden; the message says where.

        Examples
        --------
        >>> Chain([[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [5.0, 0.0]]).argmax().labels.tolist()
        [1, 0]
        """
        return self._batch.argmax(beam)[0]

    def kbest(self, k: int, method: str = "astar") -> list[Labeling]:
        """Return the ``k`` best labellings, distinct and best first.

        Parameters
        ----------
        k : int
            Number of labellings; fewer are returned when fewer exist.
        method : {"astar", "viterbi"}
            ``"astar"`` searches backwards with the Viterbi scores as an exact heuristic (2.4.4). ``"viterbi"`` keeps k
            partial labellings at every node (eq. 2.41), which takes k times the memory. Both give the same answer.

        Examples
        --------
        >>> chain = Chain(unary=[[2.0, 0.0], [0.0, 1.0]], transitions=[[0.0, -3.0], [0.0, 0.0]])
        >>> [best.labels.tolist() for best in chain.kbest(2)]
        [[0, 0], [1, 1]]
        """
        return self._batch.kbest(k, method)[0]

    def max_marginals(self) -> FloatArray:
        """Return the best score of a labelling with each label at each position, (T, K); -inf where none has it.

        Examples
        --------
        >>> Chain([[2.0, 0.0], [0.0, 1.0]], [[0.0, -3.0], [0.0, 0.0]]).max_marginals().tolist()
        [[2.0, 1.0], [2.0, 1.0]]
        """
        return self._batch.max_marginals()[0]

    # ---- sums ----------------------------------------------------------------------------------------------------

    def log_partition(self) -> float:
        """Return the log of the sum over all labellings of exp(score) (eq. 2.57); -inf when all are forbidden.

        Examples
        --------
        >>> round(Chain([[0.0, 0.0]] * 3, [[0.0, 0.0], [0.0, 0.0]]).log_partition(), 6)  # 3 log 2
        2.079442
        """
        return float(self._batch.log_partition()[0])

    def marginals(self) -> FloatArray:
        """Return the probability of every label at every position, (T, K) (eq. 2.60).

        Examples
        --------
        >>> Chain([[0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]).marginals().round(3).tolist()
        [[0.269, 0.731]]
        """
        return self._batch.marginals()[0]

    def edge_marginals(self) -> FloatArray:
        """Return the probability of every pair of neighbouring labels, (T - 1, K, K) (eq. 2.35).

        Examples
        --------
        >>> Chain([[0.0, 0.0]] * 2, [[0.0, float("-inf")], [0.0, 0.0]]).edge_marginals().round(3).tolist()
        [[[0.333, 0.0], [0.333, 0.333]]]
        """
        return self._batch.edge_marginals()[0]

    def forward(self) -> FloatArray:
        """Return log forward vectors, (T, K) (eq. 2.53): sums over the labels before, including ``unary[t]``.

        Examples
        --------
        >>> Chain([[0.0, 0.0]] * 2, [[0.0, 0.0], [0.0, 0.0]]).forward().round(3).tolist()
        [[0.0, 0.0], [0.693, 0.693]]
        """
        return self._batch.forward()[0]

    def backward(self) -> FloatArray:
        """Return log backward vectors, (T, K) (eq. 2.55): sums over the labels after, excluding ``unary[t]``.

        Examples
        --------
        >>> Chain([[0.0, 0.0]] * 2, [[0.0, 0.0], [0.0, 0.0]]).backward().round(3).tolist()
        [[0.693, 0.693], [0.0, 0.0]]
        """
        return self._batch.backward()[0]

    def entropy(self) -> float:
        """Return the entropy of the distribution over labellings, in nats.

        Examples
        --------
        >>> round(Chain([[0.0, 0.0]] * 3, [[0.0, 0.0], [0.0, 0.0]]).entropy(), 6)
        2.079442
        """
        return float(self._batch.entropy()[0])

    def expected_counts(self, attributes: npt.ArrayLike | None = None) -> Expectations:
        """Return the log partition and expected counts, in one forward pass over the expectation semiring.

        The pass stores nothing per position (Table 2.2, last row; Ilić et al. 2012). For a sequence that does not fit
        in memory, use `ExpectationPass`.

        Parameters
        ----------
        attributes : (T, F) array-like, optional
            Attribute values of each position; ``attributes[f, k]`` of the answer is the expected sum of attribute ``f``
            over the positions labelled ``k``, the gradient of the log partition by that weight.

        Examples
        --------
        >>> counts = Chain([[0.0, 0.0]] * 2, [[0.0, 0.0], [0.0, 0.0]]).expected_counts([[1.0], [2.0]])
        >>> counts.labels.tolist(), counts.transitions.tolist(), counts.attributes.tolist()
        ([1.0, 1.0], [[0.25, 0.25], [0.25, 0.25]], [[1.5, 1.5]])
        """
        return self._batch.expected_counts(None if attributes is None else [attributes])[0]

    # ---- single labellings ---------------------------------------------------------------------------------------

    def score(self, labels: npt.ArrayLike) -> float:
        """Return the score of a labelling, -inf if it is forbidden.

        Examples
        --------
        >>> Chain([[2.0, 0.0], [0.0, 1.0]], [[0.0, -3.0], [0.0, 0.0]]).score([0, 1])
        0.0
        """
        return float(self._batch.score([labels])[0])

    def log_prob(self, labels: npt.ArrayLike) -> float:
        """Return the log-probability of a labelling, never above zero; -inf if it is forbidden.

        Examples
        --------
        >>> round(Chain([[0.0, 0.0]] * 3, [[0.0, 0.0], [0.0, 0.0]]).log_prob([0, 1, 0]), 6)
        -2.079442
        """
        return float(self._batch.log_prob([labels])[0])

    def span_probability(self, start: int, labels: Sequence[Any]) -> float:
        """Return the exact probability that the positions from ``start`` on have these ``labels``.

        Parameters
        ----------
        start : int
            First position of the span.
        labels : sequence
            For every position of the span, a label index or a collection of acceptable indices. The span "B-X I-X, and
            then anything but I-X", for example, is ``[B, I, everything_but_I]``.

        Examples
        --------
        >>> chain = Chain([[0.0, 0.0]] * 3, [[0.0, 0.0], [0.0, 0.0]])
        >>> round(chain.span_probability(1, [0, {0, 1}]), 6)
        0.5
        """
        return float(self._batch.span_probability([start], [labels])[0])

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> LabelArray:
        """Draw ``n`` labellings from the distribution, an (n, T) array (forward filtering, backward sampling).

        Parameters
        ----------
        n : int
            Number of labellings.
        random_state : None, int or numpy.random.Generator
            Source of randomness; an integer gives the same labellings every time.
        replace : bool
            Whether a labelling may be drawn again. If not, each is drawn from those that remain (Kool et al. 2020), and
            all are returned when there are fewer than ``n``.

        Examples
        --------
        >>> Chain([[0.0, 9.0]] * 3, [[0.0, 0.0], [0.0, 0.0]]).sample(2, random_state=0).tolist()
        [[1, 1, 1], [1, 1, 1]]
        >>> len(Chain([[0.0, 9.0]] * 3, [[0.0, 0.0], [0.0, 0.0]]).sample(100, random_state=0, replace=False))
        8
        """
        return self._batch.sample(n, random_state, replace)[0]

    # ---- other chains --------------------------------------------------------------------------------------------

    def augmented(self, gold: npt.ArrayLike, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the chain with ``scale`` times the cost of each label against ``gold`` added (eq. 2.40).

        Parameters
        ----------
        gold : (T,) array-like of int
            The right labels.
        cost : "hamming" or (K, K) array-like
            ``cost[gold, label]``, non-negative with a zero diagonal.
        scale : float
            Any real factor (nu): 1 for the hinge loss, -1 for the ramp loss.

        Examples
        --------
        >>> Chain([[0.5, 0.0]], [[0.0, 0.0], [0.0, 0.0]]).augmented([0]).argmax()
        Labeling(labels=array([1], dtype=int32), score=1.0)
        """
        return self._over(self._batch.augmented([gold], cost, scale))

    def constrained(
        self,
        allowed: Any = None,
        transitions: npt.ArrayLike | None = None,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        fixed: Any = None,
    ) -> Self:
        """Return the chain with some labels and transitions forbidden.

        Parameters
        ----------
        allowed : (T, K) array of bool, or list of T candidate sets, optional
            Which labels each position may take; ``None`` in a list leaves the position free.
        transitions : (K, K) or (T - 1, K, K) array of bool, optional
            Which labels may follow which; `scheme_constraints` makes this array for BIO, BILOU and IOBES.
        start, end : (K,) array of bool, optional
            Which labels may come first and last.
        fixed : dict of position to label, or (T,) array of int with -1 for free, optional
            Known labels.

        Raises
        ------
        Unsatisfiable
            If no labelling is left; the message says where.

        Examples
        --------
        >>> chain = Chain([[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]])
        >>> chain.constrained(fixed={1: 0}).argmax().labels.tolist()
        [1, 0]
        """
        lists = {"allowed": allowed, "fixed": fixed}
        given = {name: [value] for name, value in lists.items() if value is not None}
        return self._over(self._batch.constrained(transitions=transitions, start=start, end=end, **given))

    # ---- pictures ------------------------------------------------------------------------------------------------

    def plot(self, **options: Any) -> Axes:
        """Draw the trellis with the best path in bold; options are those of `trelliswork.plots.trellis`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from trelliswork.plots import trellis

        return trellis(self, **options)

    # ---- as parts ------------------------------------------------------------------------------------------------

    def _possible_log_partition(self) -> float:
        self._batch._require_possible()
        return self.log_partition()

    def _log_count(self) -> float:
        return float(self._batch.log_count()[0])

    def _expected(self) -> FloatArray:
        labels, ends = self.marginals(), np.zeros((2, self.n_labels))
        if self.n_positions:
            ends[:] = labels[[0, -1]]
        moves = self._batch.total_edge_marginals() if self.transitions.ndim == 2 else self.edge_marginals()
        return np.concatenate([labels.ravel(), ends.ravel(), moves.ravel()])

    def _scores_of_parts(self, of: Self) -> FloatArray | None:
        if self.unary.shape != of.unary.shape or self.transitions.shape != of.transitions.shape:
            return None
        return np.concatenate([self.unary.ravel(), self.start, self.end, self.transitions.ravel()])

    def _refuse_impossible(self) -> None:
        self._batch._refuse_impossible()

    def _indicators(self) -> npt.NDArray[np.int64]:
        return np.arange(self.unary.size, dtype=np.int64).reshape(self.unary.shape)

    def _formulation(self) -> Formulation:
        from trelliswork.structures.formulations import of_chain

        return of_chain(self)

    def _as_parts(self) -> tuple[_core.PartStructure, npt.NDArray[np.uint32], FloatArray]:
        structure = _structure(self.n_labels, self.transitions.ndim == 2)
        scores = np.concatenate([self._with_ends().ravel(), self.transitions.ravel()])
        return structure, np.array([self.n_positions], dtype=np.uint32), scores

    def _from_parts(self, parts: npt.NDArray[np.uint32]) -> Labeling:
        return self._from_labels((np.sort(parts)[: self.n_positions] % self.n_labels).astype(np.int32))

    def _from_labels(self, labels: LabelArray) -> Labeling:
        return Labeling(labels, self.score(labels))

    def _with_ends(self) -> FloatArray:
        """Return the scores of labels with those of the first and of the last one added."""
        unary = self.unary.copy()
        if self.n_positions:
            unary[0] += self.start
            unary[-1] += self.end
        return unary


@lru_cache(maxsize=64)
def _structure(n_labels: int, tied: bool) -> _core.PartStructure:
    """Return the one structure of its kind."""
    return _core.PartStructure.chain(n_labels, tied, kernels=True)
