"""Labelled bracketings: trees of constituents over the words of a sentence, with the questions of a `Chain`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.parts import Numbers, PartScores
from trelliswork.structures.results import Brackets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Bracketing", "checked_spans", "table_of_spans"]


@lru_cache(maxsize=64)
def _structure(n_labels: int) -> _core.PartStructure:
    """Return the one structure of its kind."""
    return _core.PartStructure.bracketing(n_labels)


@lru_cache(maxsize=256)
def _sites(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the places of an (n, n + 1) table that are spans, as the core has them, and those that are none."""
    begins, ends = np.indices((n, n + 1))
    return np.flatnonzero(begins < ends), np.flatnonzero(begins >= ends)


def checked_spans(name: str, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return scores of spans, (n, n + 1, L), read-only and with -inf where there are none, and those of spans alone."""
    used, unused = _sites(len(scores))
    rows = scores.reshape(-1, scores.shape[2])
    rows[unused] = -np.inf
    checks.require_scores(name, scores)
    scores.flags.writeable = False
    return scores, rows.take(used, axis=0).ravel()


def table_of_spans(by_part: FloatArray, n: int, n_labels: int, nothing: float) -> FloatArray:
    """Return numbers of the parts of spans as a table (n, n + 1, L)."""
    used, unused = _sites(n)
    out = np.empty((n * (n + 1), n_labels))
    out[used] = by_part.reshape(-1, n_labels)
    out[unused] = nothing
    return out.reshape(n, n + 1, n_labels)


class Bracketing(PartScores[Brackets]):
    """Trees of labelled constituents over n words; the score of a tree is the sum over its constituents.

    The whole sentence is a constituent. A constituent of two or more words has two or more children; each is a
    constituent or a bare word, which scores 0. A single word may be a constituent. A span has one label, so a chain of
    unary constituents is one label. Every tree counts once, however many children its constituents have: sums, the k
    best and samples are over trees, not over their binarisations. Every answer costs O(n^3 + n^2 L).

    Parameters
    ----------
    spans : (n, n + 1, L) array-like
        ``spans[i, j, l]`` scores a constituent of label ``l`` over words ``i .. j - 1``; ``-inf`` forbids. Entries with
        ``i >= j`` are ignored.

    Notes
    -----
    Ties, from the whole sentence down: the lower label is preferred. The first child is as short as possible, and a
    bare word rather than a constituent. The rest is several children rather than one constituent.

    Examples
    --------
    >>> spans = np.zeros((3, 4, 2))
    >>> spans[1, 3, 1] = 2.0  # words 1 and 2 as a constituent of label 1
    >>> spans[0, 1] = -1.0
    >>> best = Bracketing(spans).argmax()
    >>> best.spans, best.score
    ([(0, 3, 0), (1, 3, 1)], 2.0)
    """

    _output_name = "bracketing"

    def __init__(self, spans: npt.ArrayLike) -> None:
        scores = checks.as_numbers("spans", spans)
        if scores.ndim != 3 or scores.shape[1] != scores.shape[0] + 1 or scores.shape[2] == 0:
            raise InvalidInput(f"spans must have shape (n, n + 1, L): begin, end, label; found {scores.shape}.")
        self.spans, flat = checked_spans("spans", scores)
        self._required: tuple[tuple[int, int], ...] = ()
        super().__init__(_structure(self.n_labels), [self.n_words], flat)

    def __repr__(self) -> str:
        return f"Bracketing({self.n_words} words, {self.n_labels} labels)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.spans, self._required)

    @property
    def n_words(self) -> int:
        """Number of words, n."""
        return int(self.spans.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of labels, L."""
        return int(self.spans.shape[2])

    def marginals(self) -> FloatArray:
        """Return the probability of every labelled constituent, (n, n + 1, L)."""
        return self._shaped(self._expected(), np.add, 0.0)

    def max_marginals(self) -> FloatArray:
        """Return the best score of a tree with each labelled constituent, (n, n + 1, L); -inf where no tree has it."""
        return self._shaped(self._structure.max_marginals(self._shape, self._scores), np.maximum, -np.inf)

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> list[list[tuple[int, int, int]]]:
        """Draw ``n`` trees, each a list of constituents (begin, end, label); see `Chain.sample`."""
        return [self._sampled(output) for output in self._drawn(n, random_state, replace)]

    def plot(
        self,
        words: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        marginals: bool = False,
        **options: Any,
    ) -> Axes:
        """Draw the best bracketing as a tree above its words.

        Parameters
        ----------
        words : sequence of n str, optional
            The words to draw; their numbers, from 0, by default.
        labels : sequence of L str, optional
            Names of the labels; their numbers by default.
        marginals : bool
            Whether to shade constituents by probability.
        **options
            As for `trelliswork.plots.tree`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from trelliswork.plots.trees import tree

        best = self.argmax().spans
        spans = [(i, j, str(label) if labels is None else str(labels[label])) for i, j, label in best]
        shown_words = [str(i) for i in range(self.n_words)] if words is None else words
        if marginals:
            table = self.marginals()
            options["probabilities"] = [table[span] for span in best]
        return tree(shown_words, spans, **options)

    def augmented(self, gold: Iterable[Sequence[int]], scale: float = 1.0) -> Self:
        """Return the bracketing with ``scale`` added to each labelled constituent that is not in ``gold``.

        Examples
        --------
        >>> Bracketing(np.zeros((2, 3, 2))).augmented([(0, 2, 1)]).argmax().spans
        [(0, 2, 0), (0, 1, 0), (1, 2, 0)]
        """
        right = self._structure.parts_of(self._shape, self._output(gold))
        cost = np.full(len(self._scores), checks.as_scale(scale))
        cost[right] = 0.0
        return self._rescored(self.spans + self._table(cost, 0.0))

    def constrained(
        self,
        forced: Iterable[Sequence[int]] = (),
        forbidden: Iterable[Sequence[int]] = (),
        allowed: npt.ArrayLike | None = None,
    ) -> Self:
        """Return the bracketing with only those trees that have all ``forced`` constituents and none ``forbidden``.

        Parameters
        ----------
        forced, forbidden : list of (begin, end) or (begin, end, label)
            Spans; with a label, only that label is meant, otherwise any.
        allowed : (n, n + 1) or (n, n + 1, L) array of bool, optional
            Which spans may be constituents, for all labels or for each.

        Examples
        --------
        >>> flat = Bracketing(np.zeros((4, 5, 1)))
        >>> flat.constrained(forced=[(1, 3)], forbidden=[(0, 3), (1, 2)]).argmax().spans
        [(0, 4, 0), (1, 3, 0)]
        >>> round(np.exp(flat.log_count())), round(np.exp(flat.constrained(forced=[(1, 3)]).log_count()))
        (176, 48)
        """
        spans = np.array(self.spans)
        required = dict.fromkeys(self._required)
        for begin, end, label in self._checked("forced", forced):
            required[begin, end] = None
            if label is not None:
                spans[begin, end, np.arange(self.n_labels) != label] = -np.inf
        for begin, end, label in self._checked("forbidden", forbidden):
            spans[begin, end, slice(None) if label is None else label] = -np.inf
        if allowed is not None:
            wide = np.ndim(allowed) == 3
            mask = checks.as_mask("allowed", allowed, spans.shape if wide else spans.shape[:2])
            spans[~mask] = -np.inf
        limited = self._rescored(spans, tuple(required))
        limited._possible_log_partition()
        return limited

    def _rescored(self, spans: FloatArray, required: tuple[tuple[int, int], ...] | None = None) -> Self:
        other = type(self)(spans)
        other._required = self._required if required is None else required
        other._shape = np.array([self.n_words, *(x for span in other._required for x in span)], dtype=np.uint32)
        return other

    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> FloatArray:
        return self._table(parts, nothing)

    def _sampled(self, output: Numbers) -> list[tuple[int, int, int]]:
        return _rows(output)

    def _table(self, by_part: FloatArray, nothing: float) -> FloatArray:
        return table_of_spans(by_part, self.n_words, self.n_labels, nothing)

    def _checked(self, name: str, given: Iterable[Sequence[int]]) -> list[tuple[int, int, int | None]]:
        out = []
        for row in given:
            values = list(row)
            if len(values) not in (2, 3) or not all(isinstance(x, int | np.integer) for x in values):
                raise InvalidInput(f"{name} must be (begin, end) or (begin, end, label), integers; found {row!r}.")
            begin, end, label = int(values[0]), int(values[1]), int(values[2]) if len(values) == 3 else None
            if not 0 <= begin < end <= self.n_words:
                raise InvalidInput(f"{name} must have 0 <= begin < end <= {self.n_words}; found {row!r}.")
            if label is not None and not 0 <= label < self.n_labels:
                raise InvalidInput(f"labels of {name} must be from 0 to {self.n_labels - 1}; found {row!r}.")
            out.append((begin, end, label))
        return out

    def _answer(self, output: Numbers, score: float) -> Brackets:
        return Brackets(_rows(output), score)

    def _output(self, output: Any) -> Numbers:
        rows = self._checked("constituents", output)
        if any(label is None for _, _, label in rows):
            raise InvalidInput("constituents must be (begin, end, label).")
        numbers = np.array(rows, dtype=np.uint32).ravel()
        try:
            _core.PartStructure.parts_of(self._structure, self._shape[:1], numbers)
        except ValueError as error:
            raise InvalidInput(f"these constituents are not a bracketing: {error}.") from None
        return numbers

    def _refuse_impossible(self) -> NoReturn:
        if self.n_words and not (self.spans[0, self.n_words] > -np.inf).any():
            raise Unsatisfiable(
                f"every bracketing is forbidden: the whole sentence, span (0, {self.n_words}), must be a constituent, "
                "and all its labels are -inf."
            )
        raise Unsatisfiable(
            f"every bracketing is forbidden: the forced spans {list(self._required)} cross each other, or one of them "
            "has no label that is allowed."
        )


def _rows(output: Numbers) -> list[tuple[int, int, int]]:
    numbers = output.tolist()
    return list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))


def _rebuilt(kind: type[Bracketing], spans: FloatArray, required: tuple[tuple[int, int], ...]) -> Bracketing:
    return kind(spans)._rescored(spans, required)
