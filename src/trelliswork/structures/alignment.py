"""Monotone alignments of two sequences, from scores of pairs and gaps, with the questions of a `Chain`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.parts import Numbers, PartScores
from trelliswork.structures.results import AlignedPairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Alignment", "alignment_structure"]

_STRUCTURES: dict[tuple[bool, bool], _core.PartStructure] = {}


def alignment_structure(affine: bool, free_ends: bool) -> _core.PartStructure:
    """Return the structure; there is one of each kind."""
    if (affine, free_ends) not in _STRUCTURES:
        _STRUCTURES[affine, free_ends] = _core.PartStructure.alignment(affine, free_ends)
    return _STRUCTURES[affine, free_ends]


class Alignment(PartScores[AlignedPairs]):
    """Monotone alignments of two sequences: pairs (i, j) that do not cross, and gaps; their scores are added.

    Scores are maximised; for an edit distance, pass negated costs. ``-inf`` forbids.

    Parameters
    ----------
    pairs : (n, m) array-like
        Score of aligning source item i with target item j, whether they are equal (a match) or not (a substitution).
    deletions : (n,) array-like or number
        Score of an unaligned source item.
    insertions : (m,) array-like or number
        Score of an unaligned target item.
    deletion_opens, insertion_opens : (n,) and (m,) array-like or number, optional
        Additional score of a run of deletions or insertions, by the item at which the run begins: affine gaps (Gotoh
        1982).
    free_ends : bool
        Whether items before the first pair and after the last one score nothing: local alignment (Smith & Waterman
        1981).

    Attributes
    ----------
    lengths : (int, int)
        Lengths of the two sequences.

    Notes
    -----
    An alignment is its set of pairs. Between two pairs, deletions come before insertions, so each alignment is counted
    once; there are (n + m over n) of them. Every answer is exact. The best alignment takes O(n m) time and n m bytes
    besides the scores; sums and the other questions take O(n m) time and about 100 n m bytes.

    Ties: read from the end, a pair is preferred to a deletion, and a deletion to an insertion.

    Examples
    --------
    The edit distance of Levenshtein (1966):

    >>> source, target = "kitten", "sitting"
    >>> unequal = [[float(a != b) for b in target] for a in source]
    >>> alignment = Alignment(-np.array(unequal), deletions=-1, insertions=-1)
    >>> best = alignment.argmax()
    >>> best.score
    -3.0
    >>> print(best.text(source, target))
    kitten-
    sitting
    >>> round(np.exp(alignment.log_count()))  # 13 over 6
    1716
    >>> alignment.marginals()[0].round(2).tolist()  # of k
    [0.55, 0.11, 0.03, 0.01, 0.0, 0.0, 0.0]
    """

    _output_name = "alignment"

    def __init__(
        self,
        pairs: npt.ArrayLike,
        deletions: npt.ArrayLike | float = 0.0,
        insertions: npt.ArrayLike | float = 0.0,
        deletion_opens: npt.ArrayLike | float | None = None,
        insertion_opens: npt.ArrayLike | float | None = None,
        *,
        free_ends: bool = False,
    ) -> None:
        given_as = checks.as_array("pairs", pairs)
        if given_as.ndim != 2:
            raise InvalidInput(f"pairs must have shape (n, m), one score for each pair; found {given_as.shape}.")
        n, m = given_as.shape
        if 3 * (n + 1) * (m + 1) >= 2**32 - 1:
            raise InvalidInput(
                f"pairs has shape {given_as.shape}: alignments of that length take {n * m / 1e9:.0f} GB for the best "
                f"and {100 * n * m / 1e9:.0f} GB for sums. Align pieces."
            )
        array = checks.as_numbers("pairs", given_as)
        checks.require_scores("pairs", array)
        given: list[tuple[str, Any, int]] = [("deletions", deletions, n), ("insertions", insertions, m)]
        affine = deletion_opens is not None or insertion_opens is not None
        if affine:
            given += [("deletion_opens", deletion_opens, n), ("insertion_opens", insertion_opens, m)]
        sides = [checks.as_side(name, 0.0 if values is None else values, size) for name, values, size in given]
        self._set((n, m), np.concatenate([array.reshape(-1), *sides]), affine, checks.as_flag("free_ends", free_ends))

    def _set(self, lengths: tuple[int, int], scores: FloatArray, affine: bool, free_ends: bool) -> None:
        self.lengths, self.affine, self.free_ends = lengths, affine, free_ends
        scores.flags.writeable = False
        super().__init__(alignment_structure(affine, free_ends), lengths, scores)

    def _changed(self, scores: FloatArray) -> Self:
        other = type(self).__new__(type(self))
        other._set(self.lengths, scores, self.affine, self.free_ends)
        return other

    def __repr__(self) -> str:
        kinds = [", affine gaps"] * self.affine + [", free ends"] * self.free_ends
        return f"Alignment({self.lengths[0]} x {self.lengths[1]}{''.join(kinds)})"

    def __getstate__(self) -> tuple[Any, ...]:
        return self.lengths, self._scores, self.affine, self.free_ends

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(*state)

    # ---- questions -----------------------------------------------------------------------------------------------

    def kbest(self, k: int, method: str = "astar") -> list[Any]:
        """Return the ``k`` best alignments, distinct and best first; fewer than ``k`` if fewer exist.

        Parameters
        ----------
        k : int
            Number of alignments.
        method : {"astar", "viterbi"}
            As for `Chain.kbest`.
        """
        self._require_memory()
        return super().kbest(k, method)

    def log_partition(self) -> float:
        """Return the log of the sum of exp(score) over all alignments; -inf when all are forbidden."""
        self._require_memory()
        return super().log_partition()

    def marginals(self) -> FloatArray:
        """Return the probability of every pair, (n, m); `gap_marginals` has those of unaligned items."""
        return self._shaped(self._expected(), np.add, 0.0)

    def gap_marginals(self) -> tuple[FloatArray, FloatArray]:
        """Return the probability that each source item, and each target item, is unaligned.

        With free ends, only items between two pairs count.

        Examples
        --------
        >>> [side.round(2).tolist() for side in Alignment([[1.0, 0.0]]).gap_marginals()]
        [[0.21], [0.42, 0.79]]
        """
        (n, m), parts = self.lengths, self._expected()
        return parts[n * m : n * m + n], parts[n * m + n : n * m + n + m]

    def max_marginals(self) -> FloatArray:
        """Return the best score of an alignment with each pair, (n, m); -inf where no alignment has the pair."""
        self._require_memory()
        return self._shaped(self._structure.max_marginals(self._shape, self._scores), np.maximum, -np.inf)

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> list[AlignedPairs]:
        """Draw ``n`` alignments from the distribution; see `Chain.sample`.

        Parameters
        ----------
        n : int
            Number of alignments.
        random_state : int or Generator, optional
            Seed or source of randomness; an integer gives the same draws every time.
        replace : bool
            Whether an alignment may be drawn again. If not, fewer than ``n`` are returned when fewer exist.
        """
        return [self._sampled(output) for output in self._drawn(n, random_state, replace)]

    def score(self, output: Any) -> float:
        """Return the score of an alignment, -inf if it is forbidden or its pairs cross.

        Parameters
        ----------
        output : AlignedPairs, or list of (i, j)
            Its pairs, in any order.
        """
        return super().score(output)

    def augmented(self, gold: Any, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the alignment with ``scale`` times the cost of pairs against ``gold`` added; see `Chain.augmented`.

        Parameters
        ----------
        gold : AlignedPairs, or list of (i, j)
            The right alignment.
        cost : "hamming" or (n, m) array
            "hamming" charges one for every pair that is not in ``gold``, and a half for every unaligned item that
            ``gold`` aligns. An array is the cost of every pair, charged whatever ``gold`` is.
        scale : float
            The factor of the cost.
        """
        (n, m), charged = self.lengths, np.zeros(len(self._scores))
        right = self._as_pairs(gold, "gold")
        if self.score(right) == -np.inf and not (np.diff(right, axis=0) > 0).all():
            raise InvalidInput("gold must be an alignment: its pairs must rise on both sides.")
        table = checks.as_pair_costs(cost, (n, m))
        if table is None:
            table = np.ones((n, m))
            table[right[:, 0], right[:, 1]] = 0.0
            charged[n * m + right[:, 0]] = charged[n * m + n + right[:, 1]] = 0.5
        charged[: n * m] = table.reshape(-1)
        scores = self._scores + checks.as_scale(scale) * charged
        checks.require_scores("scores with the cost", scores)
        return self._changed(scores)

    def constrained(
        self,
        forced: Iterable[Any] | None = None,
        forbidden: Iterable[Any] | None = None,
        allowed: npt.ArrayLike | None = None,
    ) -> Self:
        """Return the alignment with pairs that are forced or forbidden.

        Parameters
        ----------
        forced, forbidden : list of (i, j), optional
            Pairs that every alignment must have, and pairs that none may have. With free ends, no pair can be forced.
        allowed : (n, m) array of bool, optional
            Which pairs may occur; for example, a band around the diagonal.

        Examples
        --------
        >>> Alignment([[1.0, 2.0], [0.0, 0.0]]).constrained(forced=[(1, 1)]).argmax().pairs.tolist()
        [[0, 0], [1, 1]]
        """
        (n, m), scores = self.lengths, self._scores.copy()
        pairs = scores[: n * m].reshape(n, m)
        if allowed is not None:
            pairs[~checks.as_mask("allowed", allowed, (n, m))] = -np.inf
        if forbidden is not None:
            at = self._as_pairs(forbidden, "forbidden")
            pairs[at[:, 0], at[:, 1]] = -np.inf
        for i, j in [] if forced is None else self._as_pairs(forced, "forced").tolist():
            if self.free_ends:
                raise InvalidInput("no pair can be forced where ends are free: an alignment may leave everything out.")
            kept = pairs[i, j]
            pairs[i], pairs[:, j] = -np.inf, -np.inf
            pairs[i, j] = kept
            scores[n * m + i] = scores[n * m + n + j] = -np.inf
        limited = self._changed(scores)
        limited.argmax()  # refuses what is impossible
        return limited

    def plot(
        self,
        source: Sequence[Any] | None = None,
        target: Sequence[Any] | None = None,
        marginals: bool = False,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draw the scores or the probabilities of pairs as an image, with the best alignment marked.

        Parameters
        ----------
        source, target : sequences, optional
            Items to write beside rows and columns.
        marginals : bool
            Whether to draw `marginals` instead of scores.
        ax : matplotlib.axes.Axes, optional
            Where to draw.
        **options
            Options for `matplotlib.axes.Axes.imshow`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from trelliswork.plots.pairs import pairs

        table = self.marginals() if marginals else self._shaped(self._scores, np.add, 0.0)
        return pairs(table, self.argmax().pairs, source, target, ax=ax, **options)

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _expected(self) -> FloatArray:
        self._require_memory()
        return super()._expected()

    def _require_memory(self) -> None:
        n, m = self.lengths
        checks.require_memory(f"this question about alignments of {n:,} and {m:,}", 100.0 * n * m, "Align pieces.")

    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> FloatArray:
        n, m = self.lengths
        return parts[: n * m].reshape(n, m)

    def _sampled(self, output: Numbers) -> Any:
        return self._answer(output, self.score(output.reshape(-1, 2)))

    def _answer(self, output: Numbers, score: float) -> AlignedPairs:
        return AlignedPairs(output.reshape(-1, 2).astype(np.int32), score, self.lengths)

    def _as_pairs(self, pairs: Any, name: str) -> npt.NDArray[np.int64]:
        given = pairs.pairs if isinstance(pairs, AlignedPairs) else pairs
        array = checks.as_pairs(name, given, self.lengths, "a source and a target item")
        return array[np.lexsort((array[:, 1], array[:, 0]))]

    def _output(self, output: Any) -> Numbers:
        return self._as_pairs(output, "output").astype(np.uint32).reshape(-1)

    def _refuse_impossible(self) -> NoReturn:
        place = self._structure.dead_end(self._shape, self._scores)
        raise Unsatisfiable(
            f"every alignment is forbidden: none gets past source item {place}. Look at the -inf scores of its pairs, "
            "and of deletions and insertions there."
        )
