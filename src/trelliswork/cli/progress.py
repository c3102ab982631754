"""What is shown while work goes on: a bar on a terminal, lines in a log, or nothing; all on the standard error."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["ByteProgress", "TrainingProgress", "on_terminal", "time_left"]


def on_terminal() -> bool:
    """Return whether somebody is watching the standard error."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


class TrainingProgress:
    """Iterations of training: objective, score on the development data, tokens per second, time left.

    Parameters
    ----------
    n_tokens : int
        Tokens in the training data.
    learner : learner
        Its ``max_iter`` (or ``epochs``) and ``tol``, where it has them, say when training ends.
    bar, lines : bool
        Whether to draw a bar, and whether to write a line for each iteration.
    """

    def __init__(self, n_tokens: int, learner: Any, bar: bool, lines: bool) -> None:
        self._n_tokens = n_tokens
        self._most: int | None = getattr(learner, "max_iter", getattr(learner, "epochs", None))
        self._tolerance: float = getattr(learner, "tol", 0.0)
        self._bar = bar
        self._lines = lines
        self._gaps: deque[float] = deque(maxlen=12)
        self._stamps: deque[tuple[float, float]] = deque(maxlen=12)  # when, and passes over the data by then
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Show it while the block runs."""
        if not self._bar:
            yield
            return
        from rich.progress import BarColumn, TextColumn

        columns = [TextColumn("{task.description}"), BarColumn(bar_width=12), TextColumn("{task.fields[facts]}")]
        with _rich_progress(*columns) as self._progress:
            self._task = self._progress.add_task("indexing", total=None, facts="")
            yield

    def update(self, iteration: Any) -> None:
        """Tell of one finished iteration, as `SequenceLabeler.fit` tells its callback."""
        number, objective, facts = iteration.number, iteration.objective, iteration.facts
        self._stamps.append((time.perf_counter(), facts.get("passes", number)))
        self._gaps.append(facts.get("gap", math.inf) / max(abs(objective), 1e-300))
        each, rate = self._pace()
        left = time_left(list(self._gaps), each, number, self._most, self._tolerance)
        said = [f"objective {objective:,.6g}"]
        said += [] if iteration.dev_score is None else [f"dev {100 * iteration.dev_score:.2f}"]
        said += [] if rate is None else [f"{_short(rate)} tokens/s"]
        said += [] if left is None else [f"about {_duration(left)} left"]
        if self._progress is not None and self._task is not None:
            share = None if left is None or not each else number / (number + left / each)
            self._progress.update(
                self._task,
                description=f"{iteration.phase} {number}",
                total=None if share is None else 1.0,
                completed=share or 0.0,
                facts=", ".join(said),
            )
        if self._lines:
            print(f"{iteration.phase} {number}: {', '.join(said)}", file=sys.stderr, flush=True)

    def _pace(self) -> tuple[float | None, float | None]:
        """Seconds for an iteration, and tokens in a second, of the last few."""
        (begin, before), (end, after) = self._stamps[0], self._stamps[-1]
        if len(self._stamps) < 2 or end <= begin:
            return None, None
        return (end - begin) / (len(self._stamps) - 1), self._n_tokens * (after - before) / (end - begin)


def time_left(gaps: list[float], each: float | None, number: int, most: int | None, tolerance: float) -> float | None:
    """Return about how many seconds of training are left, or None when there is no telling yet.

    What is still to be gained shrinks about geometrically; training ends when it is below the tolerance, or after the
    largest number of iterations.

    Parameters
    ----------
    gaps : list of float
        What was still to be gained, relative to the objective, after the last iterations; infinite if not known.
    each : float or None
        Seconds of one iteration.
    number : int
        Iterations done.
    most : int or None
        The largest number of iterations.
    tolerance : float
        The gap that ends training.

    Examples
    --------
    >>> time_left([0.5**n for n in range(8)], each=2.0, number=8, most=1000, tolerance=0.5**10)
    6.0
    >>> time_left([], each=2.0, number=4, most=10, tolerance=0.0)
    12.0
    """
    if each is None:
        return None
    ahead = math.inf if most is None else float(most - number)
    known = [gap for gap in gaps if 0 < gap < math.inf]
    if tolerance > 0:
        if len(known) < 4 or known[-1] >= known[0]:
            return None
        shrinking = math.log(known[-1] / known[0]) / (len(known) - 1)
        ahead = min(ahead, math.ceil(round(max(0.0, math.log(tolerance / known[-1]) / shrinking), 6)))
    return None if math.isinf(ahead) else max(0.0, ahead) * each


class ByteProgress:
    """How much of a file is done; a bar appears on a terminal once the work turns out to be long.

    Parameters
    ----------
    total : int or None
        The size of the file, if it is known.
    shown : bool
        Whether there is anybody to show it to.
    """

    def __init__(self, total: int | None, shown: bool) -> None:
        self._total = total
        self._shown = shown
        self._began = time.perf_counter()
        self._done = 0
        self._progress: Any = None
        self._task: Any = None

    def __enter__(self) -> ByteProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.__exit__(None, None, None)

    def advance(self, n_bytes: int) -> None:
        """Tell of so many more bytes."""
        self._done += n_bytes
        if not self._shown:
            return
        if self._progress is None and time.perf_counter() - self._began > 1.0:
            from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

            self._progress = _rich_progress(BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
            self._progress.__enter__()
            self._task = self._progress.add_task("", total=self._total)
        if self._progress is not None:
            self._progress.update(self._task, completed=self._done)


def _rich_progress(*columns: Any) -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True)


def _short(number: float) -> str:
    if number < 1e5:
        return f"{number:,.0f}"
    return f"{number / 1e3:.0f}k" if number < 1e6 else f"{number / 1e6:.1f}M"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, math.ceil(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
