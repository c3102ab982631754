"""What is shown while work goes on: a bar on a terminal, lines in a log, or nothing; all on the standard error."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from trelliswork.cli.streams import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["ByteProgress", "TrainingProgress", "on_terminal"]

HEARTBEAT = 5.0  # seconds of silence after which a log is told that work goes on


def on_terminal() -> bool:
    """Return whether somebody is watching the standard error."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


class TrainingProgress:
    """Iterations of training: objective, score on the development data, tokens per second, what is left.

    How long it will take is told only of learners that make a fixed number of passes, as the longest it can be. Those
    that go on until the objective is near its minimum tell how near it is believed to be: nobody knows how many
    iterations that will take, and guesses were wrong by factors of ten.

    Parameters
    ----------
    n_tokens : int
        Tokens in the training data.
    learner : learner
        Its ``epochs`` and its ``tol``, where it has them, say when training ends.
    bar, lines : bool
        Whether to draw a bar; and whether to write a line for each iteration, and one every few seconds while there is
        no other to write.
    """

    def __init__(self, n_tokens: int, learner: Any, bar: bool, lines: bool) -> None:
        self._n_tokens = n_tokens
        self._most: int | None = getattr(learner, "epochs", None)
        self._tolerance: float = getattr(learner, "tol", 0.0)
        self._bar = bar
        self._lines = _Lines() if lines else None
        self._stamps: deque[tuple[float, float]] = deque(maxlen=12)  # when, and passes over the data by then
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Show it while the block runs."""
        if self._lines is not None:
            with self._lines.never_silent("indexing"):
                yield
            return
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
        number, facts = iteration.number, iteration.facts
        self._stamps.append((time.perf_counter(), facts.get("passes", number)))
        said = self._said(iteration)
        if self._progress is not None and self._task is not None:
            share = None if self._most is None else min(1.0, number / self._most)
            self._progress.update(
                self._task,
                description=f"{iteration.phase} {number}",
                total=None if share is None else 1.0,
                completed=share or 0.0,
                facts=", ".join(said),
            )
        if self._lines is not None:
            self._lines.write(f"{iteration.phase} {number}: {', '.join(said)}", f"after {iteration.phase} {number}")

    def _said(self, iteration: Any) -> list[str]:
        """What is told of an iteration."""
        objective = iteration.objective
        each, rate = self._pace()
        said = [f"objective {objective:,.6g}"]
        said += [] if iteration.dev_score is None else [f"dev {100 * iteration.dev_score:.2f}"]
        said += [] if rate is None else [f"{_short(rate)} tokens/s"]
        gap = iteration.facts.get("gap", math.inf) / max(abs(objective), 1e-300)
        if self._tolerance > 0 and math.isfinite(gap):
            said.append(f"within {gap:.2g} of the minimum, stops at {self._tolerance:g}")
        if self._most is not None and each is not None and self._most > iteration.number:
            said.append(f"at most {_duration((self._most - iteration.number) * each)} left")
        return said

    def _pace(self) -> tuple[float | None, float | None]:
        """Seconds for an iteration, and tokens in a second, of the last few."""
        (begin, before), (end, after) = self._stamps[0], self._stamps[-1]
        if len(self._stamps) < 2 or end <= begin:
            return None, None
        return (end - begin) / (len(self._stamps) - 1), self._n_tokens * (after - before) / (end - begin)


class _Lines:
    """Lines on the standard error, the next never long after the last."""

    def __init__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._doing = ""

    def write(self, line: str, doing: str) -> None:
        """Write a line, and remember what is being done next."""
        self._last, self._doing = time.perf_counter(), doing
        say(line)

    @contextmanager
    def never_silent(self, doing: str) -> Iterator[None]:
        """While the block runs, say every few seconds that it does, unless something else was said."""
        ended = threading.Event()
        self._doing = doing

        def beat() -> None:
            while not ended.wait(HEARTBEAT / 5):
                now = time.perf_counter()
                if now - self._last >= HEARTBEAT:
                    self.write(f"{self._doing}: still working, {_duration(now - self._began)}", self._doing)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


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
