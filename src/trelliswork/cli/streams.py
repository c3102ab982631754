"""The standard streams when some of them are closed: nothing may be written or read by accident, and errors are told.

Whoever starts the program with ``>&-`` gives it no standard output; Python then has None in its place, and the next
file that is opened gets its number. So the number is taken first, by something that refuses what the stream was for.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["forget_output", "prepare_streams", "say"]


def prepare_streams() -> None:
    """Make errors of the standard output have its name, and put something in the place of streams that are closed.

    Reading a closed standard input or writing to a closed standard output fails then, as it should; what is said on a
    closed standard error goes nowhere.
    """
    if sys.stdin is None:
        _take(0, os.O_WRONLY)  # and None remains: readers say what is wrong
    if sys.stdout is None:
        _take(1, os.O_RDONLY)
        sys.stdout = _output("utf-8", "strict", line_buffering=False)
    elif os.name == "posix" and sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.flush()
        sys.stdout = _output(sys.stdout.encoding, sys.stdout.errors or "strict", sys.stdout.line_buffering)
    if sys.stderr is None:
        _take(2, os.O_WRONLY)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the program runs


class _Output(io.FileIO):
    """The standard output, whose errors say that it is."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = "<stdout>"
            raise


def _output(encoding: str, errors: str, line_buffering: bool) -> io.TextIOWrapper:
    file = io.BufferedWriter(_Output(1, "w", closefd=False))
    return io.TextIOWrapper(file, encoding=encoding, errors=errors, line_buffering=line_buffering)


def forget_output() -> None:
    """Let what cannot be written go: the interpreter would try again when it ends, and end with another exit code."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - the other one may be closed by now


def say(line: str) -> None:
    """Write a line to the standard error; whoever reads it may be gone, which is no reason to fail."""
    with suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


def _take(number: int, access: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        taken = os.open(os.devnull, access)
        if taken != number:
            os.dup2(taken, number)
            os.close(taken)
