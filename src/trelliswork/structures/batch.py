"""Many chains at once: every question of `Chain`, answered for a batch on several threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray, LabelArray
from trelliswork.structures.expectation import ExpectationPass
from trelliswork.structures.results import Expectations, Labeling

if TYPE_CHECKING:
    from trelliswork.structures.chain import Chain

__all__ = ["ChainBatch"]

_ROWS_FED = 1024  # positions handed to an expectation pass at a time


class ChainBatch:
    """Chains that share their transitions, with the questions of `Chain` for all of them at once.

    Parameters
    ----------
    unary : list of (T_i, K) array-like, or (B, T, K) array-like
        Scores of every label at every position. A padded array comes with ``lengths``.
    transitions : (K, K) array-like
        Score of label ``a`` followed by label ``b``; ``-inf`` forbids.
    lengths : (B,) array-like of int, optional
        Length of each padded sequence; the full width by default.
    n_jobs : int, optional
        Number of threads, as in scikit-learn: None is one, -1 all processors. Answers are bit for bit the same with any
        number.
    start, end : (K,) array-like, optional
        Scores of the first and of the last label.

    Examples
    --------
    >>> batch = ChainBatch([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 3.0]]], transitions=[[0.0, -3.0], [0.0, 0.0]])
    >>> [best.labels.tolist() for best in batch.argmax()]
    [[0, 0], [1]]
    >>> batch.log_partition().round(3).tolist()
    [2.494, 3.049]
    """

    def __init__(
        self,
        unary: Sequence[npt.ArrayLike] | npt.ArrayLike,
        transitions: npt.ArrayLike,
        lengths: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
    ) -> None:
        moves = checks.as_numbers("transitions", transitions)
        if moves.ndim != 2 or moves.shape[0] != moves.shape[1]:
            raise InvalidInput(f"transitions must have shape (K, K), found {moves.shape}.")
        rows, sizes = _stack(unary, lengths, moves.shape[1])
        self._single = False
        self._setup(rows, sizes, moves, start, end, n_jobs)

    @classmethod
    def _of_one(cls, rows: FloatArray, transitions: FloatArray, start: Any, end: Any) -> Self:
        """Make a batch of one chain; transitions may then differ from step to step."""
        batch = cls.__new__(cls)
        batch._single = True
        batch._setup(rows, np.array([len(rows)], dtype=np.int64), transitions, start, end, None)
        return batch

    @classmethod
    def _of_rows(
        cls,
        rows: FloatArray,
        lengths: npt.NDArray[np.int64],
        transitions: FloatArray,
        start: Any,
        end: Any,
        n_jobs: Any,
    ) -> Self:
        """Make a batch of scores that already lie one chain after the other; they are not copied."""
        batch = cls.__new__(cls)
        batch._single = False
        batch._setup(rows, lengths, transitions, start, end, n_jobs)
        return batch

    def _setup(
        self, rows: FloatArray, sizes: npt.NDArray[np.int64], transitions: FloatArray, start: Any, end: Any, n_jobs: Any
    ) -> None:
        n_labels = rows.shape[1]
        if n_labels == 0:
            raise InvalidInput("there must be at least one label: unary has no columns.")
        self.lengths = sizes
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._rows = rows
        self._require_row_scores()
        checks.require_scores("transitions", transitions)
        self.transitions = transitions
        self.start = checks.as_scores("start", np.zeros(n_labels) if start is None else start, (n_labels,))
        self.end = checks.as_scores("end", np.zeros(n_labels) if end is None else end, (n_labels,))
        self.n_jobs = n_jobs
        for array in (self.lengths, self._rows, self.transitions):
            array.flags.writeable = False
        self._core = _core.ChainBatch(
            self._rows, self._starts, self.lengths, self.transitions, self.start, self.end, checks.as_jobs(n_jobs)
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Chain:
        from trelliswork.structures.chain import Chain

        i = range(len(self))[index]
        return Chain(self._rows[self._starts[i] : self._ends[i]], self.transitions, self.start, self.end)

    def __iter__(self) -> Iterator[Chain]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"ChainBatch({len(self)} chains, {int(self.lengths.sum())} positions, {self.n_labels} labels)"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._single:
            return _rebuild_one, (self._rows, self.transitions, self.start, self.end)
        return type(self), (self.unary, self.transitions, None, self.n_jobs, self.start, self.end)

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return int(self._rows.shape[1])

    @property
    def unary(self) -> list[FloatArray]:
        """The unary scores, one (T_i, K) array per chain."""
        return self._split(self._rows)

    # ---- the best ------------------------------------------------------------------------------------------------

    def argmax(self, beam: int | None = None) -> list[Labeling]:
        """Return the best labelling of every chain (Viterbi, eq. 2.39); see `Chain.argmax`."""
        labels = np.empty(len(self._rows), dtype=np.int32)
        scores = np.empty(len(self))
        if beam is None:
            self._core.argmax(labels, scores)
        else:
            self._core.beam_argmax(min(checks.as_count("beam", beam), self.n_labels), labels, scores)
        if scores.size and scores.min() == -np.inf:
            self._refuse_impossible()
        bounds = self._ends.tolist()
        return [
            Labeling(labels[begin:end], score)
            for begin, end, score in zip([0, *bounds], bounds, scores.tolist(), strict=False)
        ]

    def kbest(self, k: int, method: str = "astar") -> list[list[Labeling]]:
        """Return the ``k`` best labellings of every chain; see `Chain.kbest`."""
        k = checks.as_count("k", k)
        astar = checks.as_method(method) == "astar"
        answers = self._core.kbest(min(k, 2**62), astar)
        if any(len(scores) == 0 for _, scores in answers):
            self._refuse_impossible()
        return [list(map(Labeling, labels, scores.tolist())) for labels, scores in answers]

    def max_marginals(self) -> list[FloatArray]:
        """Return the best score of a labelling with each label at each position; see `Chain.max_marginals`."""
        return self._row_answer(self._core.max_marginals)

    # ---- sums ----------------------------------------------------------------------------------------------------

    def log_partition(self) -> FloatArray:
        """Return the log of the sum over all labellings of exp(score), one per chain (eq. 2.57)."""
        out = np.empty(len(self))
        self._core.log_partition(out)
        return out

    def marginals(self) -> list[FloatArray]:
        """Return the probability of every label at every position; see `Chain.marginals`."""
        out = np.empty_like(self._rows)
        self._core.marginals(out)
        firsts = out[self._starts[self.lengths > 0]]
        if not (firsts.sum(axis=1) > 0.5).all():
            self._refuse_impossible()
        return self._split(out)

    def edge_marginals(self) -> list[FloatArray]:
        """Return the probability of every pair of neighbouring labels; see `Chain.edge_marginals`."""
        self._require_possible()
        n_edges = np.maximum(self.lengths - 1, 0)
        out = np.empty((int(n_edges.sum()), self.n_labels, self.n_labels))
        self._core.edge_marginals(out)
        ends = np.cumsum(n_edges)
        return [out[end - n : end] for end, n in zip(ends, n_edges, strict=True)]

    def total_edge_marginals(self) -> FloatArray:
        """Return the edge marginals of all chains and positions, summed: expected transition counts, (K, K)."""
        self._require_possible()
        if self.transitions.ndim == 3:
            return np.asarray(self.edge_marginals()[0].sum(axis=0))
        out = np.empty((self.n_labels, self.n_labels))
        self._core.total_edge_marginals(out)
        return out

    def forward(self) -> list[FloatArray]:
        """Return log forward vectors (eq. 2.53); see `Chain.forward`."""
        return self._row_answer(self._core.forward)

    def backward(self) -> list[FloatArray]:
        """Return log backward vectors (eq. 2.55); see `Chain.backward`."""
        return self._row_answer(self._core.backward)

    def entropy(self) -> FloatArray:
        """Return the entropy of every chain's distribution over labellings, in nats."""
        self._require_possible()
        out = np.empty(len(self))
        self._core.entropy(out)
        return out

    def log_count(self) -> FloatArray:
        """Return the log of the number of labellings that are not forbidden, one per chain."""
        zeros = [np.where(a == -np.inf, a, 0.0) for a in (self._rows, self.transitions, self.start, self.end)]
        return self._replaced(*zeros).log_partition()

    def cross_entropy(self, other: ChainBatch) -> FloatArray:
        """Return the cross entropies between the chains of two batches, in nats; see `Chain.cross_entropy`."""
        return np.array([p.cross_entropy(q) for p, q in self._pairs(other)])

    def kl_divergence(self, other: ChainBatch) -> FloatArray:
        """Return the divergences from the chains of ``other`` to these, in nats; see `Chain.kl_divergence`."""
        return np.array([p.kl_divergence(q) for p, q in self._pairs(other)])

    def _pairs(self, other: ChainBatch) -> Iterator[tuple[Chain, Chain]]:
        if not isinstance(other, ChainBatch) or len(other) != len(self):
            raise InvalidInput(f"other must be a ChainBatch with as many chains, {len(self)}.")
        return zip(self, other, strict=True)

    def expected_counts(self, attributes: Sequence[npt.ArrayLike] | None = None) -> list[Expectations]:
        """Return log partitions and expected counts, in one forward pass per chain; see `Chain.expected_counts`."""
        self._require_possible()
        given = [None] * len(self) if attributes is None else attributes
        self._require_one_each("attributes", given)
        return [self._expected_counts(i, values) for i, values in enumerate(given)]

    def _expected_counts(self, i: int, attributes: npt.ArrayLike | None) -> Expectations:
        rows = self.unary[i]
        matrix = None if attributes is None else checks.as_numbers(self._name("attributes", i), attributes)
        if matrix is not None and (matrix.ndim != 2 or len(matrix) != len(rows)):
            raise InvalidInput(f"{self._name('attributes', i)} must have shape ({len(rows)}, F), found {matrix.shape}.")
        n_attributes = 0 if matrix is None else matrix.shape[1]
        sweep = ExpectationPass(self.transitions, self.start, self.end, n_attributes)
        for begin in range(0, len(rows), _ROWS_FED):  # what is fed is copied: in pieces, memory does not grow
            part = slice(begin, begin + _ROWS_FED)
            sweep.feed(rows[part], None if matrix is None else matrix[part], last=begin + _ROWS_FED >= len(rows))
        return sweep.result()

    # ---- single labellings ---------------------------------------------------------------------------------------

    def score(self, labels: Sequence[npt.ArrayLike]) -> FloatArray:
        """Return the score of one labelling per chain, -inf where it is forbidden."""
        out = np.empty(len(self))
        self._core.score(self._flat_labels("labels", labels), out)
        return out

    def log_prob(self, labels: Sequence[npt.ArrayLike]) -> FloatArray:
        """Return the log-probability of one labelling per chain; never above zero."""
        scores = self.score(labels)
        self._require_possible()
        return np.minimum(scores - self.log_partition(), 0.0)

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> list[LabelArray]:
        """Draw ``n`` labellings of every chain, an (n, T_i) array each; see `Chain.sample`."""
        n = checks.as_count("n", n, least=0)
        self._require_possible()
        if not checks.as_flag("replace", replace):
            seeds = checks.as_generator(random_state).integers(2**63, size=len(self))
            return [self._distinct(i, n, int(seed)) for i, seed in enumerate(seeds)]
        uniforms = checks.as_generator(random_state).random(n * len(self._rows))
        labels = np.empty(n * len(self._rows), dtype=np.int32)
        self._core.sample(n, uniforms, labels)
        parts = [labels[n * begin : n * end] for begin, end in zip(self._starts, self._ends, strict=True)]
        return [part.reshape(n, length) for part, length in zip(parts, self.lengths, strict=True)]

    def _distinct(self, i: int, n: int, seed: int) -> LabelArray:
        """Draw ``n`` different labellings of a chain, over the core's program of chains."""
        rows = np.array(self.unary[i])
        if len(rows):
            rows[0] += self.start
            rows[-1] += self.end
        structure = _core.PartStructure.chain(self.n_labels, self.transitions.ndim == 2)
        shape = np.array([len(rows)], dtype=np.uint32)
        drawn = structure.sample(shape, np.concatenate([rows.ravel(), self.transitions.ravel()]), n, seed, True)
        labels = [structure.output_of(shape, parts) for parts in drawn]
        return np.array(labels, dtype=np.int32).reshape(len(labels), len(rows))

    def span_probability(self, starts: Sequence[int], labels: Sequence[Sequence[Any]]) -> FloatArray:
        """Return the probability of one span per chain; see `Chain.span_probability`."""
        self._require_one_each("starts", starts)
        self._require_one_each("labels", labels)
        spans = [self._checked_span(i, begin, span) for i, (begin, span) in enumerate(zip(starts, labels, strict=True))]
        allowed = np.concatenate([np.empty((0, self.n_labels), dtype=np.uint8), *(mask for _, mask in spans)])
        begins = np.array([begin for begin, _ in spans], dtype=np.int64)
        sizes = np.array([len(mask) for _, mask in spans], dtype=np.int64)
        return self._span_probabilities(np.ones(len(self), dtype=np.int64), begins, sizes, allowed)

    def _span_probabilities(
        self,
        counts: npt.NDArray[np.int64],
        begins: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        allowed: npt.NDArray[np.uint8],
    ) -> FloatArray:
        """Return the probabilities of ``counts[i]`` spans of every chain i, for one forward pass over each chain."""
        out = np.empty(len(begins))
        self._core.span_probability(counts, begins, sizes, allowed, out)
        if np.isnan(out).any():
            self._refuse_impossible()
        return out

    def _checked_span(self, i: int, begin: int, span: Sequence[Any]) -> tuple[int, npt.NDArray[np.uint8]]:
        begin = checks.as_count(self._name("start", i), begin, least=0)
        items = checks.as_span(span)
        if begin + len(items) > self.lengths[i]:
            raise InvalidInput(
                f"the span of {len(items)} labels at {self._name('start', i)} = {begin} runs past the last position, "
                f"{self.lengths[i] - 1}."
            )
        mask = np.zeros((len(items), self.n_labels), dtype=np.uint8)
        for offset, label in enumerate(items):
            mask[offset, checks.label_set(f"{self._name('labels', i)}[{offset}]", label, self.n_labels)] = 1
        return begin, mask

    # ---- other chains --------------------------------------------------------------------------------------------

    def augmented(
        self, golds: Sequence[npt.ArrayLike], cost: str | npt.ArrayLike = "hamming", scale: float = 1.0
    ) -> Self:
        """Return the chains with ``scale`` times the cost against ``golds`` added (eq. 2.40); see `Chain.augmented`."""
        charged = checks.as_cost(cost, self.n_labels)
        gold = self._flat_labels("gold", golds)
        return self._replaced(rows=self._rows + checks.as_scale(scale) * charged[gold])

    def constrained(
        self,
        allowed: Sequence[Any] | None = None,
        transitions: npt.ArrayLike | None = None,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        fixed: Sequence[Any] | None = None,
    ) -> Self:
        """Return the chains with labels and transitions forbidden; see `Chain.constrained`."""
        K = self.n_labels
        masks: list[checks.BoolArray] = [np.ones((n, K), dtype=np.bool_) for n in self.lengths.tolist()]
        for name, given, convert in (("allowed", allowed, checks.as_allowed), ("fixed", fixed, checks.as_fixed)):
            if given is None:
                continue
            self._require_one_each(name, given)
            for i, item in enumerate(given):
                if item is not None:
                    masks[i] &= convert(self._name(name, i), item, int(self.lengths[i]), K)
        limited = self._masked(
            masks,
            transitions=None if transitions is None else self._masked_transitions(transitions),
            start=None if start is None else np.where(checks.as_mask("start", start, (K,)), self.start, -np.inf),
            end=None if end is None else np.where(checks.as_mask("end", end, (K,)), self.end, -np.inf),
        )
        limited._require_possible()
        return limited

    def _masked(self, masks: list[checks.BoolArray], **parts: Any) -> Self:
        mask = np.concatenate([np.empty((0, self.n_labels), dtype=np.bool_), *masks])
        return self._replaced(rows=np.where(mask, self._rows, -np.inf), **parts)

    def _masked_transitions(self, allowed: npt.ArrayLike) -> FloatArray:
        mask = checks.as_array("transitions", allowed)
        K = self.n_labels
        steps = max(int(self.lengths[0]) - 1, 0) if self._single else 0
        shape = (steps, K, K) if self._single and mask.ndim == 3 else (K, K)
        return np.where(checks.as_mask("transitions", mask, shape), self.transitions, -np.inf)

    def _replaced(
        self,
        rows: FloatArray,
        transitions: FloatArray | None = None,
        start: FloatArray | None = None,
        end: FloatArray | None = None,
    ) -> Self:
        batch = type(self).__new__(type(self))
        batch._single = self._single
        batch._setup(
            rows,
            self.lengths,
            self.transitions if transitions is None else transitions,
            self.start if start is None else start,
            self.end if end is None else end,
            self.n_jobs,
        )
        return batch

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _split(self, rows: FloatArray) -> list[FloatArray]:
        bounds = self._ends.tolist()
        return [rows[begin:end] for begin, end in zip([0, *bounds], bounds, strict=False)]

    def _row_answer(self, question: Any) -> list[FloatArray]:
        out = np.empty_like(self._rows)
        question(out)
        return self._split(out)

    def _flat_labels(self, name: str, labels: Sequence[npt.ArrayLike]) -> LabelArray:
        self._require_one_each(name, labels)
        sizes = self.lengths.tolist()
        parts = [checks.as_labels(self._name(name, i), item, sizes[i], self.n_labels) for i, item in enumerate(labels)]
        return np.concatenate([np.empty(0, dtype=np.int32), *parts])

    def _name(self, name: str, i: int) -> str:
        return name if self._single else f"{name}[{i}]"

    def _require_one_each(self, name: str, items: Any) -> None:
        if not checks.is_list(items):
            raise InvalidInput(f"{name} must be a list with one entry per chain ({len(self)}), found {items!r}.")
        if len(items) != len(self):
            raise InvalidInput(f"{name} must have one entry per chain ({len(self)}), found {len(items)}.")

    def _require_row_scores(self) -> None:
        flat = _core.first_invalid(self._rows)
        if flat < self._rows.size:
            row, label = divmod(flat, self.n_labels)
            i = int(np.searchsorted(self._ends, row, side="right"))
            place = f"{self._name('unary', i)}[{row - self._starts[i]}, {label}]"
            raise InvalidInput(checks.invalid_score(place, self._rows[row, label]))

    def _require_possible(self) -> None:
        totals = self.log_partition()
        if totals.size and totals.min() == -np.inf:
            self._refuse_impossible()

    def _refuse_impossible(self) -> None:
        places = self._core.first_dead_end()
        i = next(i for i, (place, length) in enumerate(zip(places, self.lengths, strict=True)) if place < length)
        chain = "" if self._single else f"chain {i}: "
        last = "" if places[i] + 1 < self.lengths[i] else " (the last)"
        raise Unsatisfiable(
            f"{chain}every labelling is forbidden: no label can be reached at position {places[i]}{last}. "
            "Look at the -inf scores there, and at the transitions into it."
        )


def _rebuild_one(rows: FloatArray, transitions: FloatArray, start: FloatArray, end: FloatArray) -> ChainBatch:
    return ChainBatch._of_one(np.array(rows), np.array(transitions), start, end)


def _stack(unary: Any, lengths: Any, n_labels: int) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return all positions as rows of one array, and how many belong to each chain."""
    if isinstance(unary, np.ndarray) and unary.dtype != object:
        return _stack_padded(unary, lengths, n_labels)
    if lengths is not None:
        return _stack_padded(checks.as_numbers("unary", unary), lengths, n_labels)
    if not checks.is_list(unary) and not isinstance(unary, Iterator):
        raise InvalidInput(f"unary must be a list of (T_i, {n_labels}) arrays, found {type(unary).__name__}.")
    parts = [np.empty((0, n_labels))]
    for i, item in enumerate(unary):
        rows = checks.as_numbers(f"unary[{i}]", item)
        if rows.shape == (0,):
            rows = rows.reshape(0, n_labels)
        if rows.ndim != 2 or rows.shape[1] != n_labels:
            raise InvalidInput(
                f"unary[{i}] must have shape (T, {n_labels}), one column per label of transitions; found {rows.shape}."
            )
        parts.append(rows)
    return np.concatenate(parts), np.array([len(rows) for rows in parts[1:]], dtype=np.int64)


def _stack_padded(unary: Any, lengths: Any, n_labels: int) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    rows = checks.as_numbers("unary", unary)
    if rows.ndim != 3 or rows.shape[2] != n_labels:
        raise InvalidInput(
            f"unary must be a list of (T_i, {n_labels}) arrays or one padded (B, T, {n_labels}) array; "
            f"found shape {rows.shape}."
        )
    n_chains, longest, _ = rows.shape
    if lengths is None:
        return rows.reshape(-1, n_labels), np.full(n_chains, longest, dtype=np.int64)
    sizes = np.asarray(lengths)
    if sizes.shape != (n_chains,) or (sizes.size and sizes.dtype.kind not in "iu"):
        raise InvalidInput(
            f"lengths must hold one integer per chain, shape ({n_chains},); found {sizes.dtype} {sizes.shape}."
        )
    if ((sizes < 0) | (sizes > longest)).any():
        i = int(np.argmax((sizes < 0) | (sizes > longest)))
        raise InvalidInput(f"lengths[{i}] is {sizes[i]}; the padded sequences have {longest} positions.")
    used = np.arange(longest) < sizes[:, None]
    return rows[used], sizes.astype(np.int64)
