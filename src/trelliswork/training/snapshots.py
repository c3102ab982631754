"""What a model that is being trained makes of sequences held out, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Snapshot", "Stopwatch"]


class Snapshot(NamedTuple):
    """What training had come to after an iteration.

    Attributes
    ----------
    iteration : int
    seconds : float
        Of training, without the time that looking at it took.
    cpu_seconds : float
        What the processor spent on it: what else the machine does hardly matters. Of one thread.
    objective : float
    labels : int array
        What the weights of this iteration say of the tokens held out, as numbers.
    classes : list of labels
        The labels of the numbers.
    """

    iteration: int
    seconds: float
    cpu_seconds: float
    objective: float
    labels: npt.NDArray[np.integer]
    classes: list[Any]


class Stopwatch:
    """Seconds since it was made, and those of the processor for this thread; pauses do not count."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.thread_time()

    def read(self) -> tuple[float, float]:
        """Return seconds, and seconds of the processor."""
        return time.perf_counter() - self._wall, time.thread_time() - self._cpu

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out what is done meanwhile."""
        wall, cpu = self.read()
        yield
        self._wall, self._cpu = time.perf_counter() - wall, time.thread_time() - cpu
