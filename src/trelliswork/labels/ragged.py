"""Some sequences of a corpus that lies in one array, sequence after sequence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput

__all__ = ["numbered_in_whole", "offsets_of", "positions"]

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


@contextmanager
def numbered_in_whole(sequences: npt.NDArray[np.integer]) -> Iterator[None]:
    """Let an error about ``X[i]`` or ``y[i]`` of some sequences name the place in the whole corpus.

    Examples
    --------
    >>> with numbered_in_whole(np.array([4, 7])):
    ...     raise InvalidInput("y[1] has 2 labels")
    Traceback (most recent call last):
    trelliswork.errors.InvalidInput: y[7] has 2 labels
    """
    try:
        yield
    except InvalidInput as error:

        def place(found: re.Match[str]) -> str:
            return f"{found[1]}[{sequences[int(found[2])]}]" if int(found[2]) < len(sequences) else found[0]

        raise InvalidInput(re.sub(r"\b([Xy])\[(\d+)\]", place, str(error))) from error
