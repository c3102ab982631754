"""``trelliswork``: the command line. One file per verb, loaded when it is asked for.

Results go to the standard output; progress, warnings and errors to the standard error. Exit codes: 0 done, 1 the work
failed, 2 the command or its input was wrong, 130 interrupted, 141 nobody reads the output any more.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

from trelliswork.errors import TrellisworkError

__all__ = ["cli", "main"]

# Verb -> what `trelliswork --help` says about it; here, so that the list is printed without loading them all.
VERBS = {
    "train": "Train a model on a labelled file.",
    "tag": "Label new text with a model.",
    "eval": "Score a model, or a file that is tagged already.",
    "compare": "Test whether two taggers differ by more than chance.",
    "cv": "Cross-validate learners and their parameters.",
    "inspect": "Show what is in a model: labels, transitions, weights; explain a token.",
    "convert": "Rewrite a corpus in another format or label scheme.",
    "demo": "Train on the corpus that ships with the library, and tag fresh lines.",
    "bench": "Time this library beside the peers that are installed.",
}
INTERRUPTED, BROKEN_PIPE = 130, 141  # 128 + the signal, as the shell reports other programs


class _Verbs(click.Group):
    """The verbs, each imported from the module of its name when it is wanted."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        import importlib

        command: click.Command = importlib.import_module(f"trelliswork.cli.{name}").command
        return command

    def invoke(self, context: click.Context) -> Any:
        try:
            result = super().invoke(context)
            sys.stdout.flush()
        except BrokenPipeError:  # here already: click would make it exit code 1
            _forget_output()
            raise click.exceptions.Exit(BROKEN_PIPE) from None
        return result

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: trelliswork train train.txt -o chunks.tw && trelliswork tag chunks.tw new.txt",
)
@click.version_option(package_name="trelliswork", message="%(prog)s %(version)s")
def cli() -> None:
    """Structured prediction: a file of labelled examples in, a small fast model out, new text tagged."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; every error of the user or the machine is one line, no traceback.

    Parameters
    ----------
    arguments : sequence of str or None
        What follows the name of the program; None takes it from the shell.

    Examples
    --------
    >>> main(["--version"])
    trelliswork 0.1.0
    0
    """
    with warnings.catch_warnings(), _noticing_interrupts() as interrupts:
        if not sys.warnoptions:  # what the user said with -W counts
            warnings.simplefilter("default")
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        try:
            code = cli.main(args=None if arguments is None else list(arguments), prog_name="trelliswork", **_QUIETLY)
            sys.stdout.flush()  # here, where a full disk is an error with a name, and not when the interpreter ends
        except BaseException as error:
            # An interrupt while modules are loaded may come out as an ImportError, or worse.
            return _exit_code(KeyboardInterrupt() if interrupts else error)
        return code if isinstance(code, int) else 0


@contextmanager
def _noticing_interrupts() -> Iterator[list[int]]:
    """Let Ctrl-C raise `KeyboardInterrupt` as ever, and remember that it came."""
    seen: list[int] = []

    def notice(number: int, frame: Any) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, or somebody else's
        yield seen
        return
    signal.signal(signal.SIGINT, notice)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_QUIETLY: dict[str, Any] = {"standalone_mode": False}  # errors come here instead of ending the process


def _exit_code(error: BaseException) -> int:
    """Say what went wrong, and return the exit code for it; what nobody foresaw is raised again."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        _say("interrupted")
        return INTERRUPTED
    if isinstance(error, TrellisworkError):
        _say(f"error: {_for_shell(str(error))}")
        return 2
    if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError | PermissionError):
        _say(f"error: {_of_file(error)}")
        return 2
    if isinstance(error, OSError):
        _say(f"error: {_of_file(error)}")
        _give_output_up()
        return 1
    if isinstance(error, MemoryError):
        _say(f"error: out of memory{': ' + str(error) if str(error) else ''}. Train on less, or use --hash-bits.")
        return 1
    raise error


def _give_output_up() -> None:
    """Let what cannot be written go: the interpreter would try again when it ends, and end with another code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# What errors advise in terms of arguments, in terms of options.
_OPTIONS = {
    r"encoding='([\w-]+)'": r"--encoding \1",
    r"separator='\\t'": "--separator tab",
    r"pass separator=None": "leave --separator out",
}


def _for_shell(message: str) -> str:
    import re

    for argument, option in _OPTIONS.items():
        message = re.sub(argument, option, message)
    return message


def _of_file(error: OSError) -> str:
    reason = error.strerror or str(error)
    names = [os.fspath(name) for name in (error.filename, error.filename2) if isinstance(name, str | os.PathLike)]
    return f"{' -> '.join(names)}: {reason}" if names else reason


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    if not issubclass(category, DeprecationWarning | PendingDeprecationWarning):
        _say(f"warning: {message}")


def _say(line: str) -> None:
    with suppress(OSError, ValueError):  # the reader of the messages may be gone, too
        print(line, file=sys.stderr, flush=True)


def _forget_output() -> None:
    """Let the interpreter's last flush go nowhere, or it would complain about the broken pipe again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
