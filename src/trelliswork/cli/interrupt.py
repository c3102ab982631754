"""Ctrl-C while a model is being trained: it asks for an end, and loses nothing that was learned."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["Interrupt", "interruptible"]

GRACE = 0.4  # seconds that an iteration has to end by itself


class Interrupt:
    """Whether the user has asked to stop, and what Ctrl-C does.

    Before there are weights worth keeping it ends the program. From then on the first one asks, whatever the program is
    doing. An iteration that ends within `GRACE` seconds is the last one, and a checkpoint can be written from which a
    later run goes on to the identical result; one that takes longer is given up in its midst, and what was learned by
    then is kept. Scoring and writing are not given up. The second one says that it has been heard, and the third one
    raises `KeyboardInterrupt` where it arrives, for a disk that never answers.

    Attributes
    ----------
    asked : bool
        Whether there was a Ctrl-C.
    kept : bool
        Set this when there are weights worth keeping.
    learning : bool
        Set this while what the program does may be given up.
    """

    def __init__(self) -> None:
        self.kept = False
        self.learning = False
        self._count = 0
        self._overdue = False
        self._timer = threading.Timer(GRACE, self._wait_no_longer)
        self._timer.daemon = True

    @property
    def asked(self) -> bool:
        return self._count > 0

    def arrived(self, number: int = signal.SIGINT, frame: Any = None) -> None:
        """Answer a signal."""
        if self._overdue:
            self._overdue = False
            if self.learning:
                raise KeyboardInterrupt
            return
        self._count += 1
        if not self.kept or self._count > 2:
            raise KeyboardInterrupt
        if self._count == 1:
            _tell("stopping; the best model so far will be kept")
            self._timer.start()
        else:
            _tell("finishing the current step; press Ctrl-C again to end at once, perhaps without a model")

    def over(self) -> None:
        """Leave the signals of the program alone from now on."""
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()

    def _wait_no_longer(self) -> None:
        self._overdue = True
        _thread.interrupt_main()  # `arrived` once more, in the main thread


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
        interrupt.learning = False
        interrupt.over()
        signal.signal(signal.SIGINT, before)  # what has arrived by now is answered first


def _tell(line: str) -> None:
    """Write a line past Python's buffers: the signal may have come in the midst of a print, which allows no other."""
    with suppress(OSError, ValueError, AttributeError):
        edge = "\n" if sys.stderr.isatty() else ""  # there may be a progress bar in this line
        os.write(sys.stderr.fileno(), f"{edge}{line}\n".encode())
