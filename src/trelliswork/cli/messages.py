"""What the command line says of errors and warnings: one line each, in one style, in terms of options.

The library speaks of arguments (``label_column=None``); at the shell there are options (``--label-column``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import click

__all__ = ["did_you_mean", "of_click", "of_file", "of_library"]

# What errors of the library say in terms of arguments, in terms of options. The first that fits a place is taken.
_OPTIONS = {
    r"pass encoding='([\w-]+)' \(from Windows: '([\w-]+)'\)": r"pass --encoding \1 (from Windows: \2)",
    r"encoding='([\w-]+)'": r"--encoding \1",
    r"encoding '([^']*)' is not known": r"--encoding \1: this encoding is not known",
    r"separator='\\t'": "--separator tab",
    r"pass separator=None": "leave --separator out",
    r"pass another separator=": "pass another --separator",
    r"with the separator None": "without --separator",
    r"with the separator ('[^']*')": r"with --separator \1",
    r"separator must be ": "--separator must be ",
    r"\blabel is column (-?\d+)": r"--label-column is \1",
    r"\bkeep is column (-?\d+)": r"--columns has \1",
    r"\bcolumns names (\d+)": r"--to-columns names \1",
    r"pass lenient=True": "pass --lenient",
    r"\bn_jobs is (\d+)": r"--jobs is \1",
    r", or -1 for one on each processor": "; leave it out for one on each processor",
    r"Pass comments=None here and there": "Leave --comments out",
    r"would be skipped in reading\. Pass keep_docstart=True here and there": "would be skipped in reading. Replace it",
    r"Pass the names of the keys as tokens and labels, or as text": "Rename the keys",
    r"Pass the list of label names as names": "Write them as names",
    r", but names has the labels 0 to \d+": "",
    r"the attributes of X\b": "the attributes of the input",
    r"or pass its lines as resources": "or name another",
    r"[Tt]rain with labels='joint', or with labels=None for heads alone": "train with --labels joint, or --labels none",
    r"labels='chain'": "--labels chain",
    r"files with more are read with single_root=False": "with --multi-root it may have more",
    r"trees known in part are read with partial=True, sentences without trees with heads=False": (
        "trees known in part are learned from with --partial"
    ),
    r"patience needs development data: pass X_dev and y_dev, or leave patience out": (
        "--patience needs development data: pass --dev FILE, or leave it out"
    ),
    r"Pass every token as a tuple of so many strings, or choose other features": (
        "--columns says which columns a token has; or choose other --features"
    ),
}
_NO_LABELS = r"If the file has no labels, pass label(?:_column)?=None"


def of_library(message: str, command: str | None = None) -> str:
    """Return a message of the library's as the shell says it.

    Parameters
    ----------
    message : str
        The message.
    command : str or None
        The verb that was called; some advice fits one alone.

    Examples
    --------
    >>> of_library("line 1: byte 0xe9 is not 'utf-8'. If it is Latin-1, pass encoding='latin-1'.")
    "line 1: byte 0xe9 is not 'utf-8'. If it is Latin-1, pass --encoding latin-1."
    """
    unlabelled = "If the file has no labels, pass --unlabelled"
    elsewhere = "--label-column and --separator say where the labels are"
    message = re.sub(_NO_LABELS, unlabelled if command == "convert" else elsewhere, message)
    for argument, option in _OPTIONS.items():
        message = re.sub(argument, option, message)
    return _one_line(message)


def of_click(error: click.ClickException) -> str:
    """Return what is wrong with a command line, and where to read on."""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption) and context is not None:
        known = [name for parameter in context.command.get_params(context) for name in parameter.opts]
        message = f"There is no option {error.option_name!r}.{did_you_mean(error.option_name, known)}"
    else:
        message = _one_line(error.format_message())
    if not isinstance(error, click.UsageError) or context is None:
        return message
    return f"{message if message.endswith(('.', '?', '!')) else message + '.'} See {context.command_path} --help."


def of_file(error: OSError) -> str:
    """Return what is wrong with a file, after its name."""
    reason = error.strerror or str(error)
    names = [os.fspath(name) for name in (error.filename, error.filename2) if isinstance(name, str | os.PathLike)]
    return f"{' -> '.join(names)}: {reason}" if names else reason


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question after the nearest of the known names, with a space before it, or nothing.

    Examples
    --------
    >>> did_you_mean("trian", ["train", "tag"])
    ' Did you mean train?'
    """
    import difflib

    near = difflib.get_close_matches(name, list(known), n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _one_line(message: str) -> str:
    return " ".join(message.split("\n")) if "\n" in message else message
