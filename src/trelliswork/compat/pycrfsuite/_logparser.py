"""What a training tells line by line, as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

__all__ = ["LabelScore", "TrainLogParser"]


class LabelScore(NamedTuple):
    """How often a label was right, given and wanted; None where it is not in the data."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_NUMBERS: tuple[tuple[str, re.Pattern[str], Callable[[str], Any]], ...] = tuple(
    (key, re.compile(f"{text}: {number}"), kind)
    for key, text, number, kind in (
        ("loss", "Loss", r"(\d+\.\d+)", float),
        ("feature_norm", "Feature norm", r"(\d+\.\d+)", float),
        ("error_norm", "Error norm", r"(\d+\.\d+)", float),
        ("active_features", "Active features", r"(\d+)", int),
        ("linesearch_trials", "Line search trials", r"(\d+)", int),
        ("linesearch_step", "Line search step", r"(\d+\.\d+)", float),
        ("time", "Seconds required for this iteration", r"(\d+\.\d+)", float),
    )
)
_AVERAGES = re.compile(r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_SCORES = re.compile(r"\s{4}(.+): \((\d+), (\d+), (\d+)\) \((\d\.\d+|\*{6}), (\d\.\d+|\*{6}), (\d\.\d+|\*{6})\)")


class TrainLogParser:
    """Reads the messages of a training, one by one.

    Attributes
    ----------
    featgen_percent, featgen_num_features, featgen_seconds, training_seconds, storing_seconds
        What was said, or None.
    iterations : list of dict
        What was said of each; ``last_iteration`` is the last of them.
    log : list of str
        All messages.
    events : list of (str, int, int)
        What happened, and which messages told of it.

    Examples
    --------
    >>> parser = TrainLogParser()
    >>> [parser.feed(line) for line in ("Feature generation\\n", "0", "Number of features: 5\\n")]
    ['start', 'featgen_progress', None]
    >>> parser.featgen_num_features
    5
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Take the next message; return the event that it completes, if any."""
        self.log.append(line)
        if self.state is None:
            self.state = "STARTING"
            self.handle_STARTING(line)
            self.events.append(("start", 0, len(self.log)))
            return "start"
        event: str | None = getattr(self, "handle_" + self.state)(line)
        if event is not None:
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, self.events[-1][2], end))
        return event

    @property
    def last_log(self) -> str:
        """The messages of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def handle_STARTING(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"

    def handle_FEATGEN(self, line: str) -> str | None:
        if line in "0123456789.10":
            self.featgen_percent += 2
            return "featgen_progress"
        if found := re.match(r"Number of features: (\d+)", line):
            self.featgen_num_features = int(found[1])
        elif (seconds := _seconds(line)) is not None:
            self.featgen_seconds = seconds
            self.state = "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def handle_AFTER_FEATGEN(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            self.handle_ITERATION(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def handle_ITERATION(self, line: str) -> str | None:
        if head := _HEAD.match(line):
            self.last_iteration = {"num": int(head[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
        elif line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        if self.last_iteration is not None:
            _read_numbers(line, self.last_iteration)
        return None

    def handle_AFTER_ITERATION(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            return self.handle_ITERATION(line)
        if found := re.match(r"Total seconds required for training: (\d+\.\d+)", line):
            self.training_seconds = float(found[1])
        if line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def handle_STORING(self, line: str) -> str | None:
        if line == "\n":
            return "end"
        if (seconds := _seconds(line)) is not None:
            self.storing_seconds = seconds
        return None


def _seconds(line: str) -> float | None:
    found = _SECONDS.match(line)
    return None if found is None else float(found[1])


def _read_numbers(line: str, into: dict[str, Any]) -> None:
    for key, pattern, kind in _NUMBERS:
        if found := pattern.match(line):
            into[key] = kind(found[1])
    if found := _AVERAGES.match(line):
        into["avg_precision"], into["avg_recall"], into["avg_f1"] = map(float, found.groups())
    if found := _ACCURACY.match(line):
        name, share = f"{found[1].lower()}_accuracy", Fraction(int(found[2]), int(found[3]) or 1)
        into[name], into[f"{name}_float"] = share, float(share)
    if found := _SCORES.match(line):
        label, match, model, ref, *scores = found.groups()
        numbers = [None if score.startswith("*") else float(score) for score in scores]
        into["scores"][label] = LabelScore(int(match), int(model), int(ref), *numbers)
