"""``trelliswork``: the command line. One file per verb, loaded when it is asked for.

Results go to the standard output; progress, warnings and errors to the standard error. Exit codes: 0 done, 1 the work
failed, 2 the command or its input was wrong, 130 interrupted, 141 nobody reads the output any more.
"""

from __future__ import annotations

import errno
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from trelliswork.cli import messages
from trelliswork.cli.streams import forget_output, prepare_streams, say
from trelliswork.errors import ScratchError, TrellisworkError

__all__ = ["cli", "main"]

# Verb -> what `trelliswork --help` says about it; here, so that the list is printed without loading them all.
VERBS = {
    "train": "Train a model on a labelled file.",
    "tag": "Label or parse new text with a model.",
    "parse": "The same as tag.",
    "eval": "Score a model, or a file that is already tagged.",
    "compare": "Test whether two taggers differ by more than chance.",
    "cv": "Cross-validate learners and their parameters.",
    "inspect": "Show the labels, transitions and weights of a model, or explain a token.",
    "convert": "Convert a corpus to another format or label scheme, or make a model smaller.",
    "serve": "Serve a model over HTTP, with a web page for trying it out.",
    "demo": "Train on the corpora that ship with the library, tag new lines, parse.",
    "bench": "Compare the speed of this library with that of installed peers.",
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

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _ending_with_its_reader():  # --help and --version are answered here
            return super().make_context(*args, **extra)

    def invoke(self, context: click.Context) -> Any:
        with _ending_with_its_reader():
            result = super().invoke(context)
            sys.stdout.flush()
            return result

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            hint = messages.did_you_mean(args[0], VERBS)
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", context)
        return super().resolve_command(context, args)

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
    """Structured prediction: train a small, fast model on labelled examples, and label new text with it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; every error of the user or the machine is one line, no traceback.

    Parameters
    ----------
    arguments : sequence of str or None
        What follows the name of the program; None takes it from the shell.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    trelliswork 0...
    0
    """
    prepare_streams()
    with warnings.catch_warnings(), _noticing_interrupts() as interrupts:
        if not sys.warnoptions:  # what the user said with -W counts
            warnings.simplefilter("default")
        warnings.showwarning = _Warnings()  # type: ignore[assignment]
        words = sys.argv[1:] if arguments is None else list(arguments)
        try:
            code = cli.main(args=words, prog_name="trelliswork", **_QUIETLY)
            sys.stdout.flush()  # here, where a full disk is an error with a name, and not when the interpreter ends
        except BaseException as error:
            # An interrupt while modules are loaded may come out as an ImportError, or worse.
            verb = words[0] if words else None
            return _exit_code(KeyboardInterrupt() if interrupts else error, verb)
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


_WRONG_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS)
_QUIETLY: dict[str, Any] = {"standalone_mode": False}  # errors come here instead of ending the process


def _exit_code(error: BaseException, verb: str | None) -> int:
    """Say what went wrong, and return the exit code for it; what nobody foresaw is raised again."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, click.ClickException):
        say(f"error: {messages.of_click(error)}")
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        say("interrupted")
        return INTERRUPTED
    if isinstance(error, TrellisworkError):
        say(f"error: {messages.of_library(str(error), verb)}")
        return 1 if isinstance(error, ScratchError) and error.errno not in _WRONG_FOLDER else 2
    if isinstance(error, OSError):
        forget_output()
        say(f"error: {messages.of_file(error)}")
        wrong = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)
        return 2 if isinstance(error, wrong) else 1
    if isinstance(error, MemoryError):
        say(f"error: out of memory{': ' + str(error) if str(error) else ''}. Train on less data, or use --hash-bits.")
        return 1
    raise error


@contextmanager
def _ending_with_its_reader() -> Iterator[None]:
    """End with the exit code of a broken pipe when nobody reads the output any more; click would make it 1."""
    try:
        yield
    except BrokenPipeError:
        forget_output()
        raise click.exceptions.Exit(BROKEN_PIPE) from None


class _Warnings:
    """Warnings as lines, each once: what is said of the first block of a file need not be said of the next."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def __call__(self, message: Warning | str, category: type[Warning], *_: Any) -> None:
        line = f"warning: {messages.of_library(str(message))}"
        if not issubclass(category, DeprecationWarning | PendingDeprecationWarning) and line not in self._shown:
            self._shown.add(line)
            say(line)
