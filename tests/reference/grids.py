"""Every labelling of a small grid, scored one by one: slow, and too simple to be wrong."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

STEPS = {
    4: [(0, 1), (1, 0)],
    8: [(0, 1), (1, 0), (1, 1), (1, -1)],
    6: [(0, 0, 1), (0, 1, 0), (1, 0, 0)],
    26: [
        *[(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1), (0, 1, -1), (1, 0, 1), (1, 0, -1)],
        *[(1, 1, 0), (1, -1, 0), (1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)],
    ],
}


def edges(shape: tuple[int, ...], step: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield the pairs of cells that are one step apart, by the lower corner of the box that they span."""
    for corner in itertools.product(*(range(n - abs(s)) for n, s in zip(shape, step, strict=True))):
        first = tuple(c + (s < 0) for c, s in zip(corner, step, strict=True))
        yield first, tuple(c + s for c, s in zip(first, step, strict=True))


def tables(pairwise: list[npt.NDArray[np.float64]], shape: tuple[int, ...], neighbours: int, k: int):
    """Return (first cell, second cell, table) of every edge, from pair scores by direction."""
    found = []
    for scores, step in zip(pairwise, STEPS[neighbours], strict=True):
        scores = np.asarray(scores, dtype=float)
        for first, second in edges(shape, step):
            corner = tuple(min(a, b) for a, b in zip(first, second, strict=True))
            if scores.shape == ():
                table = scores * np.eye(k)
            elif scores.shape == (k, k):
                table = scores
            else:
                table = scores[corner] if scores[corner].shape == (k, k) else scores[corner] * np.eye(k)
            found.append((first, second, table))
    return found


def every_labelling(unary: npt.NDArray[np.float64], pairwise: list[npt.NDArray[np.float64]], neighbours: int):
    """Yield all labellings with their scores."""
    shape, k = unary.shape[:-1], unary.shape[-1]
    pairs = tables(pairwise, shape, neighbours, k)
    for flat in itertools.product(range(k), repeat=int(np.prod(shape))):
        labels = np.array(flat, dtype=int).reshape(shape)
        yield labels, score(unary, pairs, labels)


def score(unary: npt.NDArray[np.float64], pairs: list, labels: npt.NDArray[np.int_]) -> float:
    """Return the score of a labelling."""
    total = sum(unary[cell][labels[cell]] for cell in np.ndindex(unary.shape[:-1]))
    return float(total + sum(table[labels[a], labels[b]] for a, b, table in pairs))
