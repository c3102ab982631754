"""Every learner on every kind of structure, on small real data: score reached, epochs, seconds.

    python benchmarks/learners.py            # all learners
    python benchmarks/learners.py pa crf     # some

Multiclass: scikit-learn's handwritten digits, accuracy. Chain: the ingredient lines that ship with the library, F1 of
spans. User-defined: a structure written in Python, below: which span of an ingredient line is the name of the
ingredient? Every span of a line is an output, the score is the share of names found exactly. Parameters are the
learners' own defaults; a cell stops after the epoch in which its time is up.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import trelliswork as tw
from timing import print_load, print_table
from trelliswork import learners

SECONDS = 15.0  # of one cell, after which no further epoch is begun

Span = tuple[int, int]


class Cell(NamedTuple):
    """What came of training one learner on one structure."""

    score: float
    epochs: int
    seconds: float


class NameSpan(tw.Structure):
    """One span of a line of words; features are the words inside, at its ends and around it, and its length.

    Parameters
    ----------
    lines : list of lists of str
        Where the features are collected from.
    """

    def __init__(self, lines: list[list[str]]) -> None:
        self.numbers: dict[str, int] = {}
        for words in lines:
            for span in self.outputs(words):
                for name in self.names(words, span):
                    self.numbers.setdefault(name, len(self.numbers))
        self.n_features = len(self.numbers)

    def outputs(self, words: list[str]) -> list[Span]:
        return [(i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]

    def features(self, words: list[str], span: Span) -> dict[int, float]:
        found: dict[int, float] = {}
        for name in self.names(words, span):
            if name in self.numbers:
                found[self.numbers[name]] = found.get(self.numbers[name], 0.0) + 1.0
        return found

    def cost(self, gold: Span, span: Span) -> float:
        """The share of words that are in one of the two spans only."""
        common = max(0, min(gold[1], span[1]) - max(gold[0], span[0]))
        return 1.0 - common / (gold[1] - gold[0] + span[1] - span[0] - common)

    def names(self, words: list[str], span: Span) -> Iterator[str]:
        padded = ["<", *(word.lower() for word in words), ">"]
        before, inside, after = padded[span[0]], padded[span[0] + 1 : span[1] + 1], padded[span[1] + 1]
        yield f"before {before}"
        yield f"after {after}"
        yield f"first {inside[0]}"
        yield f"last {inside[-1]}"
        yield f"end {inside[-1][-2:]}"
        yield f"length {min(len(inside), 5)}"
        for word in inside:
            yield f"in {word}"
            yield f"kind {'letters' if word.isalpha() else 'digits' if word[0].isdigit() else 'other'}"


def main(arguments: list[str]) -> int:
    """Print the table; the exit code is 1 if a cell is empty."""
    warnings.simplefilter("ignore", tw.ConvergenceWarning)
    print_load()
    columns = {"multiclass": multiclass(), "chain": chain(), "user-defined": user_defined()}
    began = time.perf_counter()
    rows, failed = [], False
    for name in arguments or learners.names():
        row: list[object] = [name]
        for train in columns.values():
            try:
                cell = train(learners.by_name(name))
                row += [f"{100 * cell.score:.1f}", cell.epochs, cell.seconds]
            except tw.TrellisworkError as error:
                failed = True
                row += ["-", "-", "-"]
                print(f"{name}: {error}", file=sys.stderr)
        rows.append(row)
    head = ["learner", *(title for column in columns for title in (column, "epochs", "s"))]
    print_table("score in per cent, epochs (iterations of a batch learner), seconds", head, rows)
    print(f"\n{time.perf_counter() - began:.0f} s in all")
    return int(failed)


def multiclass() -> Callable[[Any], Cell]:
    """Digits: 1347 rows of 64 numbers to learn from, 450 to be scored."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    return lambda learner: _cell(tw.MulticlassClassifier(learner), X, y, X_test, y_test)


def chain() -> Callable[[Any], Cell]:
    """Ingredient lines: six types of spans."""
    corpus = tw.corpora.ingredients()
    templates = tw.Templates.words()
    return lambda learner: _cell(
        tw.SequenceLabeler(learner, templates), corpus.X_train, corpus.y_train, corpus.X_test, corpus.y_test
    )


def user_defined() -> Callable[[Any], Cell]:
    """The lines with one name: find it."""
    corpus = tw.corpora.ingredients()
    X, Y = _with_one_name(corpus.X_train, corpus.y_train)
    X_test, Y_test = _with_one_name(corpus.X_test, corpus.y_test)
    structure = NameSpan(X)
    began = time.perf_counter()
    structure.oracle(X, Y)
    print(f"user-defined: {time.perf_counter() - began:.1f} of the seconds of each cell go into listing all outputs")

    def exact(gold: list[Span], found: list[Span]) -> float:
        return float(np.mean([a == b for a, b in zip(gold, found, strict=True)]))

    return lambda learner: _cell(tw.StructuredPredictor(structure, learner, scoring=exact), X, Y, X_test, Y_test)


def _with_one_name(lines: list[list[str]], labels: list[list[str]]) -> tuple[list[list[str]], list[Span]]:
    X, Y = [], []
    for words, row in zip(lines, labels, strict=True):
        if row.count("B-NAME") == 1:
            start = row.index("B-NAME")
            X.append(words)
            Y.append((start, start + 1 + row.count("I-NAME")))
    return X, Y


def _cell(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Cell:
    began = time.perf_counter()
    model.fit(X, y, callback=lambda progress: progress.seconds > SECONDS)
    return Cell(model.score(X_test, y_test), model.n_iter_, time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
