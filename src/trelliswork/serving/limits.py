"""How much one request may cost, and the threads in which those are answered that take longer than a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from trelliswork import _core
from trelliswork.errors import InvalidInput

__all__ = ["Busy", "Limits", "TooLate", "TooMuch", "Workers", "require_at_most"]

T = TypeVar("T")
MOMENT = 50_000  # steps, some hundred microseconds: done sooner than a thread is woken


class Busy(Exception):
    """So many requests wait that one more would not be answered in time."""


class TooLate(Exception):
    """An answer took longer than a request may."""


class TooMuch(Exception):
    """A request is larger than allowed."""


@dataclass(frozen=True)
class Limits:
    """What a server takes on.

    Parameters
    ----------
    body : int
        Bytes in one request.
    tokens : int
        In one request, all sentences together.
    sentences : int
        In one batch.
    k : int
        Answers in one list of the best.
    seconds : float
        For one answer; also what a client may take to send a request.
    waiting : int
        Requests that may wait for a thread.
    connections : int
        That may be open at once.
    threads : int
        In which long requests are answered.

    Examples
    --------
    >>> Limits(seconds=2.0).tokens
    20000
    >>> Limits(k=0)
    Traceback (most recent call last):
        ...
    trelliswork.errors.InvalidInput: k is 0; expected a number above 0.
    """

    body: int = 1 << 20
    tokens: int = 20_000
    sentences: int = 1_000
    k: int = 100
    seconds: float = 10.0
    waiting: int = 64
    connections: int = 1_000
    threads: int = 4

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InvalidInput(f"{name} is {value!r}; expected a number above 0.")


class Workers:
    """Threads that answer long requests, stop when they take too long, and refuse when too many wait."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="trelliswork-serving")
        self._lock = Lock()
        self._unfinished = 0

    async def run(self, work: Callable[[], T], cost: float) -> T:
        """Return what some work returns, which takes about so many steps: at once if few, else from a thread."""
        if cost <= MOMENT:
            return work()
        with self._lock:
            if self._unfinished >= self._limits.threads + self._limits.waiting:
                raise Busy
            self._unfinished += 1
        stop = _core.Stop()

        def stoppable() -> T:
            with stop:
                return work()

        future = self._pool.submit(stoppable)
        future.add_done_callback(self._finished)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.seconds)
        except TimeoutError:
            raise TooLate from None
        finally:
            stop.set()  # whoever waited has gone

    def _finished(self, future: Future[Any]) -> None:
        with self._lock:
            self._unfinished -= 1

    def close(self) -> None:
        """Answer what is being answered, and nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def require_at_most(count: int, most: int, what: str) -> None:
    """Refuse a request for more of something than there may be."""
    if count > most:
        raise TooMuch(f"{count} {what}; this server takes at most {most} in one request.")
