"""Some sequences of a corpus that lies in one array, sequence after sequence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["offsets_of", "positions"]

Ints = npt.NDArray[np.int64]


def offsets_of(lengths: npt.ArrayLike) -> Ints:
    """Return where each sequence begins, and where the last ends.

    Examples
    --------
    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def positions(offsets: Ints, sequences: npt.NDArray[np.integer]) -> Ints:
    """Return where the items of these sequences are, one sequence after the other.

    Examples
    --------
    >>> positions(np.array([0, 2, 2, 5]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    lengths = np.diff(offsets)[sequences]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    found: Ints = np.arange(total) + np.repeat(offsets[:-1][sequences] - (ends - lengths), lengths)
    return found
