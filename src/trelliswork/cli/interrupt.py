"""Ctrl-C while a model is being trained: it asks for an end, and loses nothing that was learned."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["Interrupt", "interruptible"]


class Interrupt:
    """Whether the user has asked to stop, and what Ctrl-C does.

    Before there are weights worth keeping it ends the program. From then on the first one only asks, whatever the
    program is doing: learning, scoring, writing. The second one says that it has been heard, and the third one raises
    `KeyboardInterrupt` where it arrives, for a disk that never answers.

    Attributes
    ----------
    asked : bool
        Whether there was a Ctrl-C.
    kept : bool
        Set this when there are weights worth keeping.
    """

    def __init__(self) -> None:
        self.kept = False
        self._count = 0

    @property
    def asked(self) -> bool:
        return self._count > 0

    def arrived(self, number: int = signal.SIGINT, frame: Any = None) -> None:
        """Answer a signal."""
        self._count += 1
        if not self.kept or self._count > 2:
            raise KeyboardInterrupt
        if self._count == 1:
            _tell("stopping after this iteration; the best model so far will be kept")
        else:
            _tell("this iteration has to end first; once more to end at once, perhaps without a model")


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Let Ctrl-C ask instead of raising, while the block runs."""
    interrupt = Interrupt()
    try:
        before = signal.signal(signal.SIGINT, interrupt.arrived)
    except ValueError:  # not in the main thread, where no signal arrives
        yield interrupt
        return
    try:
        yield interrupt
    except Exception as error:
        if interrupt.asked and not interrupt.kept:  # something on its way made another error of it
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def _tell(line: str) -> None:
    """Write a line past Python's buffers: the signal may have come in the midst of a print, which allows no other."""
    with suppress(OSError, ValueError, AttributeError):
        edge = "\n" if sys.stderr.isatty() else ""  # there may be a progress bar in this line
        os.write(sys.stderr.fileno(), f"{edge}{line}\n".encode())
