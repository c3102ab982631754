"""Every learner on every structure, on small real data: the score reached and the seconds of processor time it took.

    python benchmarks/learners.py            # all learners
    python benchmarks/learners.py pa crf     # some

| column | task | score |
| --- | --- | --- |
| label | one digit for an image, scikit-learn's handwritten digits | accuracy |
| chain, order 2, order 3 | labels of the words of ingredient lines, which ship with the library | F1 of spans |
| segments | the same, as segments of words, which are seen as a whole, too | F1 of spans |
| automaton | the same; the history is the label before, and whether the name has come | F1 of spans |
| enumerated | which span of a line is the name? A class in Python lists all spans | names found exactly |
| parts | all spans of a line and their types; a class in Python scores them as parts | F1 of spans |

Parameters are the learners' own defaults; a cell stops after the epoch in which its time is up (marked *). Where there
is no score, a footnote has the sentence with which the learner was refused.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import trelliswork as tw
from timing import print_load, print_table
from trelliswork import learners

SECONDS = 10.0  # of one cell, after which no further epoch is begun
LONGEST = 4  # words of a span in `Spans`

Span = tuple[int, int]
Typed = frozenset[tuple[int, int, str]]
FloatArray = npt.NDArray[np.float64]


class Cell(NamedTuple):
    """What came of training one learner on one structure."""

    score: float
    seconds: float
    ended: bool  # before its time was up


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

    @staticmethod
    def names(words: list[str], span: Span) -> Iterator[str]:
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


class Spans(tw.Structure):
    """The spans of a line of words with their types: none overlap. A part is a span with a type.

    Parameters
    ----------
    lines : list of lists of str
    outputs : list of sets of (start, stop, type)
        Where types and features are collected from.
    """

    def __init__(self, lines: list[list[str]], outputs: list[Typed]) -> None:
        self.types = sorted({kind for spans in outputs for _, _, kind in spans})
        self.numbers: dict[str, int] = {}
        for words, spans in zip(lines, outputs, strict=True):
            for start, stop, _ in spans:
                for name in NameSpan.names(words, (start, stop)):
                    self.numbers.setdefault(name, len(self.numbers))
        self.n_features = len(self.numbers) * len(self.types)

    @staticmethod
    def places(n_words: int) -> list[Span]:
        """Return the spans that there are, by where they stop."""
        return [(i, j) for j in range(1, n_words + 1) for i in range(max(0, j - LONGEST), j)]

    def parts(self, words: list[str]) -> tuple[list[int], list[int], FloatArray]:
        starts, indices = [0], []
        for span in self.places(len(words)):
            names = NameSpan.names(words, span)
            known = [self.numbers[name] for name in names if name in self.numbers]
            for kind in range(len(self.types)):
                indices += [number * len(self.types) + kind for number in known]
                starts.append(len(indices))
        return starts, indices, np.ones(len(indices))

    def decode(self, scores: FloatArray, x: list[str]) -> list[int]:  # type: ignore[override]
        """Go from word to word: the best set of spans that ends there, or before."""
        table = scores.reshape(-1, len(self.types))
        kinds, best = table.argmax(axis=1), table.max(axis=1)
        reached, last = np.zeros(len(x) + 1), [-1] * (len(x) + 1)
        for p, (i, j) in enumerate(self.places(len(x))):
            if i == max(0, j - LONGEST):  # the first of those that stop here: or the word is in no span
                reached[j] = reached[j - 1]
            if reached[i] + best[p] > reached[j]:
                reached[j], last[j] = reached[i] + best[p], p
        found, j = [], len(x)
        while j > 0:
            if last[j] < 0:
                j -= 1
            else:
                found.append(last[j] * len(self.types) + int(kinds[last[j]]))
                j = self.places(len(x))[last[j]][0]
        return found

    def marginals(self, scores: FloatArray, x: list[str]) -> tuple[float, FloatArray]:  # type: ignore[override]
        """Forward and backward over the same."""
        spans = self.places(len(x))
        sums = np.logaddexp.reduce(scores.reshape(-1, len(self.types)), axis=1)
        forward, backward = np.zeros(len(x) + 1), np.zeros(len(x) + 1)
        for j in range(1, len(x) + 1):
            ways = [forward[i] + s for (i, stop), s in zip(spans, sums, strict=True) if stop == j]
            forward[j] = np.logaddexp.reduce([forward[j - 1], *ways])
        for i in range(len(x) - 1, -1, -1):
            ways = [backward[j] + s for (start, j), s in zip(spans, sums, strict=True) if start == i]
            backward[i] = np.logaddexp.reduce([backward[i + 1], *ways])
        around = np.repeat([forward[i] + backward[j] for i, j in spans], len(self.types))
        return float(forward[-1]), np.exp(scores + around - forward[-1])

    def parts_of(self, x: list[str], y: Typed) -> list[int]:
        place = {span: p for p, span in enumerate(self.places(len(x)))}
        return [place[start, stop] * len(self.types) + self.types.index(kind) for start, stop, kind in y]

    def output_of(self, x: list[str], numbers: tuple[int, ...]) -> Typed:
        spans = self.places(len(x))
        return frozenset((*spans[n // len(self.types)], self.types[n % len(self.types)]) for n in numbers)


def main(arguments: list[str]) -> int:
    """Print the table; the exit code is 1 if a cell is empty for no reason."""
    warnings.simplefilter("ignore", tw.ConvergenceWarning)
    print_load()
    columns = {
        "label": label(),
        "chain": lines(tw.SequenceLabeler),
        "order 2": lines(tw.SequenceLabeler, order=2),
        "order 3": lines(tw.SequenceLabeler, order=3),
        "segments": lines(tw.SegmentLabeler, tw.Templates.segment_words()),
        "automaton": lines(tw.SequenceLabeler, constraints="BIO", automaton=named, automaton_weights="arcs"),
        "enumerated": enumerated(),
        "parts": parts(),
    }
    began = time.perf_counter()
    rows, notes, failed = [], dict[str, int](), False
    for name in arguments or learners.names():
        row: list[object] = [name]
        for column, train in columns.items():
            try:
                cell = train(learners.by_name(name))
                row += [f"{100 * cell.score:.1f}", f"{cell.seconds:.2f}{' ' if cell.ended else '*'}"]
            except tw.TrellisworkError as error:
                row += ["-", f"[{notes.setdefault(f'{column}: {error}', len(notes) + 1)}]"]
            except Exception as error:  # no refusal, but a fault: shown, and the others go on
                failed = True
                row += ["FAILED", f"[{notes.setdefault(f'{column}: {error!r}', len(notes) + 1)}]"]
            print(f"{name}, {column}: {row[-2]} {row[-1]}", file=sys.stderr, flush=True)
        rows.append(row)
    head = ["learner", *(title for column in columns for title in (column, "s"))]
    print_table("score in per cent, seconds of processor time", head, rows)
    for note, number in notes.items():
        print(f"[{number}] {note}")
    print(f"* stopped after {SECONDS:g} s\n\n{time.perf_counter() - began:.0f} s in all")
    return int(failed)


def label() -> Callable[[Any], Cell]:
    """Digits: 1347 rows of 64 numbers to learn from, 450 to be scored."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    return lambda learner: _cell(tw.MulticlassClassifier(learner), X, y, X_test, y_test)


def lines(estimator: Any, templates: Any = None, **options: Any) -> Callable[[Any], Cell]:
    """Ingredient lines: six types of spans."""
    corpus = tw.corpora.ingredients()
    templates = templates or tw.Templates.words()

    def train(learner: Any) -> Cell:
        model = estimator(learner, templates, **options)
        return _cell(model, corpus.X_train, corpus.y_train, corpus.X_test, corpus.y_test)

    return train


def named(labels: list[str]) -> tw.Automaton:
    """Return the automaton that knows whether the name has come; any label may come at any time."""
    arcs = [(seen, label, seen or label == "B-NAME") for seen in (False, True) for label in labels]
    return tw.Automaton(labels, arcs)


def enumerated() -> Callable[[Any], Cell]:
    """The lines with one name: find it."""
    corpus = tw.corpora.ingredients()
    X, Y = _with_one_name(corpus.X_train, corpus.y_train)
    X_test, Y_test = _with_one_name(corpus.X_test, corpus.y_test)
    structure = NameSpan(X)

    def exact(gold: list[Span], found: list[Span]) -> float:
        return float(np.mean([a == b for a, b in zip(gold, found, strict=True)]))

    return lambda learner: _cell(tw.StructuredPredictor(structure, learner, scoring=exact), X, Y, X_test, Y_test)


def parts() -> Callable[[Any], Cell]:
    """All spans of the lines; longer ones than can be said are cut."""
    corpus = tw.corpora.ingredients()
    Y, Y_test = (
        [frozenset((s.start, min(s.stop, s.start + LONGEST), s.type) for s in tw.corpora.spans(row)) for row in labels]
        for labels in (corpus.y_train, corpus.y_test)
    )
    structure = Spans(corpus.X_train, Y)

    def f1(gold: Sequence[Typed], found: Sequence[Typed]) -> float:
        right = sum(len(a & b) for a, b in zip(gold, found, strict=True))
        return 2 * right / max(1, sum(map(len, gold)) + sum(map(len, found)))

    return lambda learner: _cell(
        tw.StructuredPredictor(structure, learner, scoring=f1), corpus.X_train, Y, corpus.X_test, Y_test
    )


def _with_one_name(lines: list[list[str]], labels: list[list[str]]) -> tuple[list[list[str]], list[Span]]:
    X, Y = [], []
    for words, row in zip(lines, labels, strict=True):
        if row.count("B-NAME") == 1:
            start = row.index("B-NAME")
            X.append(words)
            Y.append((start, start + 1 + row.count("I-NAME")))
    return X, Y


def _cell(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Cell:
    began = time.process_time()
    late = False

    def stop(_: Any) -> bool:
        nonlocal late
        late = time.process_time() - began > SECONDS
        return late

    model.fit(X, y, callback=stop)
    seconds = time.process_time() - began
    return Cell(model.score(X_test, y_test), seconds, not late)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
