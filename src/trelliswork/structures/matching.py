"""Bipartite matchings, from scores of pairs, with the questions of a `Chain`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.parts import Numbers, PartScores
from trelliswork.structures.results import MatchedPairs, MatchingSums

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.structures.formulations import Formulation

__all__ = ["Matching"]

_STRUCTURE = _core.PartStructure.matching()
_ITERATIONS, _TOLERANCE = 10_000, 1e-10  # of belief propagation


class Matching(PartScores[MatchedPairs]):
    """Matchings of two sides: pairs (i, j) in which no row i and no column j occurs twice; their scores are added.

    Scores are maximised; to minimise costs, negate them. ``-inf`` forbids a pair.

    Parameters
    ----------
    scores : (n, m) array-like
        Scores of all pairs.
    unmatched_left, unmatched_right : (n,) and (m,) array-like or number, optional
        Score of each row, or column, that is in no pair; with ``-inf`` it must be in one. Without both arguments, a
        matching has as many pairs as the smaller side has items. With one of them, a matching has any number of pairs,
        and unmatched items of the other side score 0.
    approximate : "bethe", optional
        Approximation of sums over all matchings (log partition, marginals, probabilities, entropy) if there are too
        many for an exact sum. By default such questions are refused.

    Attributes
    ----------
    scores : (n, m) array
        Scores of pairs.
    unmatched_left, unmatched_right : arrays, or None
        Scores of unmatched items.

    Notes
    -----
    The best matching costs at most O(n^3) (Jonker & Volgenant 1987), each further one O(n^2) and usually less (Murty
    1968), max-marginals O(n^3). Sums are exact while the smaller side has up to 20 items, or if all of 22 and 22 are
    matched: a dynamic program over its subsets takes O(m n 2^n), or O(n 2^n) if all are matched, and at most 512 MB.
    Beyond that size, ``bethe`` is Bethe's approximation by belief propagation (Huang & Jebara 2009; Vontobel 2013);
    `sums` says that it is not exact. Scores are stored once in 8 n m bytes: 800 MB for 10,000 rows and columns.

    Ties: the same scores always give the same matching. Rows are matched in order. Each first takes the lowest of equal
    columns, but a later row may displace it.

    Examples
    --------
    >>> matching = Matching([[4, 1, 0], [3, 3, 1]])
    >>> best = matching.argmax()
    >>> best.pairs.tolist(), best.score
    ([[0, 0], [1, 1]], 7.0)
    >>> [(other.pairs.tolist(), other.score) for other in matching.kbest(3)[1:]]
    [([[0, 0], [1, 2]], 5.0), ([[0, 1], [1, 0]], 4.0)]
    >>> matching.marginals().round(2).tolist()
    [[0.92, 0.05, 0.03], [0.06, 0.83, 0.12]]

    Items that are better left unmatched:

    >>> Matching([[4, 2], [3, -2]], unmatched_left=0, unmatched_right=0).argmax().pairs.tolist()
    [[0, 1], [1, 0]]
    >>> Matching([[4, 1], [1, -2]], unmatched_left=0, unmatched_right=0).argmax().pairs.tolist()
    [[0, 0]]
    """

    _output_name = "matching"

    def __init__(
        self,
        scores: npt.ArrayLike,
        unmatched_left: npt.ArrayLike | float | None = None,
        unmatched_right: npt.ArrayLike | float | None = None,
        *,
        approximate: str | None = None,
    ) -> None:
        if approximate not in (None, "bethe"):
            raise InvalidInput(f'approximate must be "bethe" or None, found {approximate!r}.')
        given = checks.as_array("scores", scores)
        if given.ndim != 2:
            raise InvalidInput(f"scores must have shape (n, m), one for each pair; found {given.shape}.")
        n, m = given.shape
        if n * m + n + m >= 2**32 - 1:
            raise InvalidInput(
                f"scores has shape {given.shape}: {8 * n * m / 1e9:.0f} GB, more than a matching can have."
            )
        array = checks.as_numbers("scores", given)
        checks.require_scores("scores", array)
        left = right = None
        if unmatched_left is not None or unmatched_right is not None:
            left = checks.as_side("unmatched_left", 0.0 if unmatched_left is None else unmatched_left, n)
            right = checks.as_side("unmatched_right", 0.0 if unmatched_right is None else unmatched_right, m)
        self._set(array, left, right, approximate)

    def _set(
        self, scores: FloatArray, left: FloatArray | None, right: FloatArray | None, approximate: str | None
    ) -> None:
        self.scores, self.unmatched_left, self.unmatched_right, self.approximate = scores, left, right, approximate
        for array in (scores, left, right):
            if array is not None:
                array.flags.writeable = False
        if left is None or right is None:
            super().__init__(_STRUCTURE, scores.shape, scores.reshape(-1))
        else:
            super().__init__(_STRUCTURE, (*scores.shape, 1), np.concatenate([scores.reshape(-1), left, right]))

    def __repr__(self) -> str:
        n, m = self.scores.shape
        return f"Matching({n} x {m}{'' if self.unmatched_left is None else ', with unmatched'})"

    def __getstate__(self) -> tuple[Any, ...]:
        return self.scores, self.unmatched_left, self.unmatched_right, self.approximate

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(*state)

    # ---- sums ----------------------------------------------------------------------------------------------------

    @property
    def sums_are_exact(self) -> bool:
        """Whether exact sums over all matchings are feasible at this size."""
        return bool(self._structure.answers_sums(self._shape))

    def sums(self, method: str | None = None) -> MatchingSums:
        """Return the log partition, the probability of every part, and whether they are exact.

        Parameters
        ----------
        method : {"exact", "bethe"}, optional
            By default "exact" where that is feasible, and the value of ``approximate`` elsewhere.

        Examples
        --------
        >>> small = Matching([[1.0, 0.0], [0.0, 0.5]], unmatched_left=0.0)
        >>> exact, bethe = small.sums(), small.sums("bethe")
        >>> round(exact.log_partition, 3), round(bethe.log_partition, 3)
        (2.553, 2.525)
        >>> exact.exact, bethe.exact, bethe.converged
        (True, False, True)
        >>> exact.left.round(2).tolist()
        [0.28, 0.37]
        """
        if method not in (None, "exact", "bethe"):
            raise InvalidInput(f'method must be "exact", "bethe" or None, found {method!r}.')
        if method == "bethe" or (method is None and not self.sums_are_exact and self.approximate == "bethe"):
            found: Any = _core.bethe_matching(self._shape, self._scores, _ITERATIONS, _TOLERANCE)
            if found is None:
                self._refuse_impossible()
            log_partition, parts, converged, _ = found
        else:
            self._require_reach()
            log_partition, parts = self._structure.sums(self._shape, self._scores)
            converged = True
            if log_partition == -np.inf:
                self._refuse_impossible()
        pairs, left, right = self._split(parts)
        if left is None or right is None:  # what the pairs leave
            left, right = (np.maximum(1.0 - pairs.sum(axis=axis), 0.0) for axis in (1, 0))
            (left if len(left) <= len(right) else right)[:] = 0.0
            if len(left) == len(right):
                right[:] = 0.0
        return MatchingSums(
            float(log_partition), pairs, left, right, method != "bethe" and self.sums_are_exact, bool(converged)
        )

    def log_partition(self) -> float:
        """Return the log of the sum of exp(score) over all matchings; -inf when all are forbidden.

        It is exact where that is feasible; see `sums`. Otherwise it is Bethe's approximation with
        ``approximate="bethe"``, and refused without.
        """
        if self.sums_are_exact:
            return super().log_partition()
        if self.approximate is None:
            self._require_reach()
        return self.sums().log_partition

    def marginals(self) -> FloatArray:
        """Return the probability of every pair, (n, m); `sums` has those of unmatched items."""
        return self.sums().marginals

    def entropy(self) -> float:
        """Return the entropy of the distribution, in nats."""
        if self.sums_are_exact:
            return super().entropy()
        expected = self._expected()
        used = expected > 0.0
        return max(float(self.log_partition() - expected[used] @ self._scores[used]), 0.0)

    def _expected(self) -> FloatArray:
        found = self.sums()
        if self.unmatched_left is None:
            return found.marginals.reshape(-1)
        return np.concatenate([found.marginals.reshape(-1), found.left, found.right])

    def _log_count(self) -> float:
        self._require_reach()
        return super()._log_count()

    def _require_reach(self) -> None:
        if not self.sums_are_exact:
            n, m = self.scores.shape
            raise InvalidInput(
                f"there are too many matchings of {n} and {m} to be summed exactly: the smaller side may have 20. "
                'Give approximate="bethe" for Bethe\'s approximation of log_partition, marginals, log_prob, entropy; '
                "argmax, kbest and max_marginals are exact for any size."
            )

    # ---- other questions -----------------------------------------------------------------------------------------

    def kbest(self, k: int, method: str = "astar") -> list[MatchedPairs]:
        """Return the ``k`` best matchings, distinct and best first; fewer than ``k`` if fewer exist.

        Parameters
        ----------
        k : int
            Number of matchings.
        method : {"astar", "viterbi"}
            As for `Chain.kbest`; both use the same algorithm here (Murty 1968).
        """
        k = checks.as_count("k", k)
        checks.as_method(method)
        found = self._structure.best(self._shape, self._scores, min(k, 2**62))
        if not found:
            self._refuse_impossible()
        if self.unmatched_left is not None:
            return [self._answer(self._structure.output_of(self._shape, parts), score) for parts, score in found]
        numbers = np.stack([parts for parts, _ in found])  # all of one length: all at once
        pairs = np.stack(np.divmod(numbers, np.uint32(max(self.scores.shape[1], 1))), axis=-1).astype(np.int32)
        return [MatchedPairs(own, score) for own, (_, score) in zip(pairs, found, strict=True)]

    def max_marginals(self) -> FloatArray:
        """Return the best score of a matching with each pair, (n, m), at any size; -inf where none has it."""
        return self._shaped(self._structure.max_marginals(self._shape, self._scores), np.maximum, -np.inf)

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> list[MatchedPairs]:
        """Draw ``n`` matchings from the distribution; see `Chain.sample`.

        Parameters
        ----------
        n : int
            Number of matchings.
        random_state : int or Generator, optional
            Seed or source of randomness; an integer gives the same draws every time.
        replace : bool
            Whether a matching may be drawn again. If not, fewer than ``n`` are returned when fewer exist.
        """
        self._require_reach()
        return [self._sampled(output) for output in self._drawn(n, random_state, replace)]

    def score(self, output: Any) -> float:
        """Return the score of a matching, -inf if it is forbidden or not a matching.

        Parameters
        ----------
        output : MatchedPairs, or list of (i, j)
            Its pairs, in any order.
        """
        return super().score(output)

    def augmented(self, gold: Any, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the matching with ``scale`` times the cost of pairs against ``gold`` added; see `Chain.augmented`.

        Parameters
        ----------
        gold : MatchedPairs, or list of (i, j)
            The correct matching.
        cost : "hamming" or (n, m) array
            "hamming" charges one for every pair that is not in ``gold``, and a half for every unmatched item that
            ``gold`` matches. An array is the cost of every pair, charged whatever ``gold`` is.
        scale : float
            The factor of the cost.
        """
        try:
            right = self._structure.parts_of(self._shape, self._output(gold, "gold"))
        except InvalidInput:
            raise
        except ValueError as error:
            raise InvalidInput(f"gold must be a matching: {error}.") from None
        n, m = self.scores.shape
        charged = np.zeros(len(self._scores))
        table = checks.as_pair_costs(cost, (n, m))
        if table is None:
            charged[: n * m], charged[n * m :] = 1.0, 0.5
            charged[right] = 0.0
        else:
            charged[: n * m] = table.reshape(-1)
        added = self._scores + checks.as_scale(scale) * charged
        checks.require_scores("scores with the cost", added)
        return self._changed(added)

    def constrained(
        self,
        forced: Iterable[Any] | None = None,
        forbidden: Iterable[Any] | None = None,
        allowed: npt.ArrayLike | None = None,
    ) -> Self:
        """Return the matching with pairs that are forced or forbidden.

        Parameters
        ----------
        forced, forbidden : list of (i, j), optional
            Pairs that every matching must have, and pairs that none may have.
        allowed : (n, m) array of bool, optional
            Which pairs may occur.

        Examples
        --------
        >>> Matching([[4, 1, 0], [3, 3, 1]]).constrained(forced=[(1, 0)]).argmax().pairs.tolist()
        [[0, 1], [1, 0]]
        """
        pairs, left, right = (None if part is None else part.copy() for part in self._split(self._scores))
        assert pairs is not None
        if allowed is not None:
            pairs[~checks.as_mask("allowed", allowed, pairs.shape)] = -np.inf
        if forbidden is not None:
            at = self._as_pairs(forbidden, "forbidden")
            pairs[at[:, 0], at[:, 1]] = -np.inf
        for i, j in [] if forced is None else self._as_pairs(forced, "forced").tolist():
            kept = pairs[i, j]
            pairs[i], pairs[:, j] = -np.inf, -np.inf
            pairs[i, j] = kept
            if left is not None and right is not None:  # without, the end on the smaller side has to be matched anyway
                left[i] = right[j] = -np.inf
        limited = type(self).__new__(type(self))
        limited._set(pairs, left, right, self.approximate)
        limited.argmax()  # refuses what is impossible
        return limited

    def plot(self, marginals: bool = False, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the scores or the probabilities as an image, with the best matching marked.

        Parameters
        ----------
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

        return pairs(self.marginals() if marginals else self.scores, self.argmax().pairs, ax=ax, **options)

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _changed(self, parts: FloatArray) -> Self:
        other = type(self).__new__(type(self))
        other._set(*self._split(parts), self.approximate)
        return other

    def _split(self, parts: FloatArray) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
        """Return numbers of pairs, (n, m), and of what is unmatched on both sides."""
        n, m = self.scores.shape
        pairs = parts[: n * m].reshape(n, m)
        if self.unmatched_left is None:
            return pairs, None, None
        return pairs, parts[n * m : n * m + n], parts[n * m + n :]

    def _formulation(self) -> Formulation:
        from trelliswork.structures.formulations import of_matching

        n, m = self.scores.shape
        return of_matching(self._scores, (n, m), self.unmatched_left is not None, self._from_parts)

    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> FloatArray:
        return self._split(parts)[0]

    def _sampled(self, output: Numbers) -> Any:
        return self._answer(output, self.score(output.reshape(-1, 2)))

    def _answer(self, output: Numbers, score: float) -> MatchedPairs:
        return MatchedPairs(output.reshape(-1, 2).astype(np.int32), score)

    def _as_pairs(self, pairs: Any, name: str) -> npt.NDArray[np.int64]:
        given = pairs.pairs if isinstance(pairs, MatchedPairs) else pairs
        return checks.as_pairs(name, given, self.scores.shape, "a row and a column")

    def _output(self, output: Any, name: str = "output") -> Numbers:
        return self._as_pairs(output, name).astype(np.uint32).reshape(-1)

    def _refuse_impossible(self) -> NoReturn:
        place, n = self._structure.dead_end(self._shape, self._scores), len(self.scores)
        name = f"row {place}" if place < n else f"column {place - n}"
        raise Unsatisfiable(
            f"every matching is forbidden: {name} cannot be matched beside the others. Look at its -inf scores, or let "
            "it be unmatched: unmatched_left and unmatched_right say what that scores."
        )
