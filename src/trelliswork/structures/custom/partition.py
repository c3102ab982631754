"""The k best outputs of a structure that can only find its best one, under parts that must be there or must not.

All outputs but the best are partitioned by where they differ from it, every block is searched for its best output, and
so on (Murty 1968; Lawler 1972). Let the best have the parts p1 .. pm. An output that lacks one of them, p_i first, has
p1 .. p_(i-1) and not p_i. An output that has all of them has others besides, q_j first: it has p1 .. pm and q_j, and
none of q1 .. q_(j-1). Where no output contains another, as with trees, there are no blocks of the second kind; one more
question tells. Elsewhere a few questions tell which q_j there are.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Best", "partitioned"]

FloatArray = npt.NDArray[np.float64]
PartNumbers = tuple[int, ...]

# From scores, parts that must be there and parts that must not to the best output, or None where there is none.
Best = Callable[[FloatArray, frozenset[int], frozenset[int]], PartNumbers | None]


class _Block(NamedTuple):
    """Outputs with the forced parts and without the forbidden ones, known by the best of them."""

    loss: float  # minus the score of the best: the heap has the least on top
    number: int  # blocks made earlier come first among equals
    best: PartNumbers
    forced: frozenset[int]
    forbidden: frozenset[int]


def partitioned(best: Best, scores: FloatArray) -> Iterator[PartNumbers]:
    """Yield outputs, best first, each once.

    Parameters
    ----------
    best : callable
        ``best(scores, forced, forbidden)``.
    scores : array (n_parts,)

    Examples
    --------
    Two of three things:

    >>> def best(scores, forced, forbidden):
    ...     pairs = [set(pair) for pair in itertools.combinations(range(3), 2)]
    ...     left = [tuple(sorted(pair)) for pair in pairs if forced <= pair and not forbidden & pair]
    ...     return max(left, key=lambda pair: sum(scores[p] for p in pair), default=None)
    >>> list(partitioned(best, np.array([3.0, 1.0, 2.0])))
    [(0, 2), (0, 1), (1, 2)]
    """
    numbers = itertools.count()

    def block(forced: frozenset[int], forbidden: frozenset[int]) -> Iterator[_Block]:
        found = best(scores, forced, forbidden)
        if found is not None:
            yield _Block(-float(scores[list(found)].sum()), next(numbers), found, forced, forbidden)

    heap = list(block(frozenset(), frozenset()))
    while heap:
        found = heapq.heappop(heap)
        yield found.best
        for forced, forbidden in _others(best, scores, found):
            for one in block(forced, forbidden):
                heapq.heappush(heap, one)


def _others(best: Best, scores: FloatArray, found: _Block) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Blocks that together hold all outputs of a block but its best."""
    forced = found.forced
    for part in found.best:
        if part not in found.forced:
            yield forced, found.forbidden | {part}
            forced |= {part}
    forbidden = found.forbidden
    for part in sorted(_further(best, len(scores), forced, forbidden)):
        yield forced | {part}, forbidden
        forbidden |= {part}


def _further(best: Best, n_parts: int, forced: frozenset[int], forbidden: frozenset[int]) -> set[int]:
    """Parts that outputs with all of the forced ones may have besides: outputs are sought that have new ones."""
    found: set[int] = set()
    new = np.ones(n_parts)
    new[list(forced)] = 0.0
    while True:
        larger = best(new, forced, forbidden)
        more = set() if larger is None else set(larger) - forced - found
        if not more:
            return found
        found |= more
        new[list(more)] = 0.0
