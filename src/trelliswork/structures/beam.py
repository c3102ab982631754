"""Beam search: the best few labellings under a score that may look at the whole history.

Source: Stratos 2018, the slides from "General Score Function" to "Implementation". The slides multiply probabilities;
here scores are logarithms, so they are added and ``-inf`` forbids (Stratos 2018, "Log Space").
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures.checks import as_count, as_scores
from trelliswork.structures.results import Labeling

__all__ = ["LeakyPriorityQueue", "beam_search"]

Step = Callable[[tuple[int, ...]], npt.ArrayLike]


def beam_search(step: Step, length: int, width: int) -> list[Labeling]:
    """Return up to ``width`` of the best labellings, best first, extending prefixes from left to right.

    There is no Markov assumption: the score of a label may depend on every label before it. The answer is approximate,
    because a prefix that leaves the beam is lost. When the beam is wide enough, the answer is exact and agrees with
    `Chain.kbest`, including ties: among equal scores, the labelling that is smallest when read from its end comes
    first.

    Parameters
    ----------
    step : callable
        ``step(prefix)`` gets the labels chosen so far, a tuple of ints that is empty at the first position, and returns
        the (K,) scores of each next label. Scores are added up; ``-inf`` forbids the label. K is the same in every
        call. Add what `Chain` calls ``start`` and ``end`` to the first and the last scores.
    length : int
        How many positions to label. Zero gives the empty labelling.
    width : int
        How many prefixes to keep at each position: the K of the slides.

    Returns
    -------
    list of Labeling
        Distinct, best first; fewer than ``width`` when fewer were found.

    Raises
    ------
    Unsatisfiable
        If no prefix in the beam can be extended; the message says at which position.
    InvalidInput
        If an argument, or what ``step`` returns, is not as described above.

    Notes
    -----
    The search makes at most ``length * width`` calls of ``step``, and needs O(K log K + width log width) time for each.
    The total over all labellings is approximated by the labellings in the beam (Stratos 2018, "Uses of the Beam
    Search"): ``np.logaddexp.reduce([found.score for found in beam])``, which is never above the true value.

    Examples
    --------
    A score that no chain can express: label 1 adds to the score only the first time it is used.

    >>> import trelliswork as tw
    >>> def step(prefix):
    ...     return [0.0, -2.0 if 1 in prefix else 1.0]
    >>> [(found.labels.tolist(), found.score) for found in tw.beam_search(step, length=3, width=2)]
    [([1, 0, 0], 1.0), ([0, 1, 0], 1.0)]
    """
    length = as_count("length", length, least=0)
    width = as_count("width", width)
    local_scores = _LocalScores(step)
    beam, leaked = [_Prefix(labels=(), score=0.0, rank=0)], False
    for position in range(length):
        extended, n_candidates = _extend(beam, local_scores, width)
        if not extended:
            raise Unsatisfiable(_nothing_left(beam, position, width, leaked))
        leaked = leaked or n_candidates > len(extended)
        beam = extended
    return [Labeling(np.array(prefix.labels, dtype=np.int32), prefix.score) for prefix in beam]


class LeakyPriorityQueue:
    """A queue that keeps the ``capacity`` best items of a stream and drops the rest (Stratos 2018).

    This solves the exercise on the slide "Leaky Priority Queue" with a standard heap. Its root is the worst thing kept,
    so one comparison decides whether a new thing is kept. `push` and `pop` take O(log capacity), `dump` O(capacity log
    capacity).

    Parameters
    ----------
    capacity : int
        Number of things to keep, at least 1.

    Examples
    --------
    >>> queue = LeakyPriorityQueue(capacity=2)
    >>> [queue.push(word, score) for word, score in [("a", 1.0), ("b", 3.0), ("c", 0.0), ("d", 2.0)]]
    [True, True, False, True]
    >>> queue.dump()
    [('b', 3.0), ('d', 2.0)]
    >>> len(queue)
    0
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = as_count("capacity", capacity)
        self._heap: list[tuple[float, int, int, Any]] = []  # (score, -order, -arrival, thing): the worst is smallest
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, thing: Any, score: float, order: int = 0) -> bool:
        """Offer a thing; return whether it was kept. If the queue is full, it replaces the worst one.

        Among equal scores, the smaller ``order`` is better, then the thing that came first. NaN is refused.
        """
        if math.isnan(score):
            raise InvalidInput(f"score of {thing!r} is NaN, which cannot be ranked. Give a number or an infinity.")
        self._arrivals += 1
        entry = (score, -order, -self._arrivals, thing)
        if len(self._heap) < self.capacity:
            heapq.heappush(self._heap, entry)
            return True
        return heapq.heappushpop(self._heap, entry) is not entry

    def pop(self) -> tuple[Any, float]:
        """Remove the worst thing kept and return it with its score; `IndexError` when the queue is empty."""
        if not self._heap:
            raise IndexError("pop from an empty queue")
        score, _, _, thing = heapq.heappop(self._heap)
        return thing, score

    def dump(self) -> list[tuple[Any, float]]:
        """Empty the queue and return its things with their scores, best first."""
        return [self.pop() for _ in range(len(self))][::-1]


class _Prefix(NamedTuple):
    """A hypothesis of the beam; ``rank`` is its place among the others when all are read from the end."""

    labels: tuple[int, ...]
    score: float
    rank: int


class _LocalScores:
    """The user's ``step``, with what it returns checked: K scores, as many in every call as in the first."""

    _meaning = ", one score per label in every call"

    def __init__(self, step: Step) -> None:
        if not callable(step):
            raise InvalidInput(
                f"step must be callable, found {type(step).__name__}. "
                "Pass a function that takes the tuple of labels so far and returns the scores of the next label."
            )
        self._step = step
        self._n_labels: int | None = None

    def __call__(self, prefix: tuple[int, ...]) -> npt.NDArray[np.float64]:
        scores = as_scores(f"step({_shown(prefix)})", self._step(prefix), (self._n_labels,), self._meaning)
        if not len(scores):
            raise InvalidInput(
                f"step({_shown(prefix)}) returned no scores. Return one for each label, -inf to forbid it."
            )
        self._n_labels = len(scores)
        return scores


def _extend(beam: list[_Prefix], local_scores: _LocalScores, width: int) -> tuple[list[_Prefix], int]:
    """The best extensions of the beam by one label, best first, and how many there were to choose from."""
    queue, n_candidates = LeakyPriorityQueue(width), 0
    for prefix in beam:
        totals = prefix.score + local_scores(prefix.labels)
        n_candidates += int(np.count_nonzero(totals > -np.inf))
        for label in np.argsort(-totals, kind="stable")[:width].tolist():
            # Read from the end: the new label counts first, then the place of the prefix.
            order = label * len(beam) + prefix.rank
            # The labels come best first, so that after one that is not kept no other will be.
            if totals[label] == -np.inf or not queue.push((order, prefix, label), totals.item(label), order):
                break
    kept = queue.dump()
    rank = {order: i for i, order in enumerate(sorted(order for (order, _, _), _ in kept))}
    return [_Prefix((*prefix.labels, y), score, rank[order]) for (order, prefix, y), score in kept], n_candidates


def _nothing_left(beam: list[_Prefix], position: int, width: int, leaked: bool) -> str:
    widen = f"Others were dropped on the way: try a width larger than {width}. " if leaked else ""
    return (
        f"No labelling is left at position {position}: step gave -inf to every label after every prefix in the beam "
        f"({len(beam)} of them, the best is {_shown(beam[0].labels)}). {widen}Check what step forbids there."
    )


def _shown(prefix: tuple[int, ...], most: int = 8) -> str:
    """The prefix as text, only its end when it is long."""
    return repr(prefix) if len(prefix) <= most else "(..., " + ", ".join(map(str, prefix[-most:])) + ")"
