"""Scores of exact spans, equal to conlleval's.

A span is correct if its type, its first and its last token are. conlleval is the scorer of the CoNLL-2000 shared task
(Tjong Kim Sang & Buchholz 2000) and of later ones.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.pairs import paired
from trelliswork.evaluation.scores import Score
from trelliswork.labels.coded import LabelLists
from trelliswork.labels.spans import Span, spans

__all__ = ["SpanCounts", "SpanScores", "span_scores"]


@dataclass(frozen=True)
class SpanScores:
    """Scores of exact spans: overall (the micro average) and for each type.

    Parameters
    ----------
    overall : Score
    per_type : dict of str to Score
        In the order of the types' names; it has all types of the gold and the guessed labels.
    """

    overall: Score
    per_type: dict[str, Score]

    @property
    def precision(self) -> float:
        """The fraction of guessed spans that are correct."""
        return self.overall.precision

    @property
    def recall(self) -> float:
        """The fraction of gold spans that were guessed."""
        return self.overall.recall

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return self.overall.f1

    @property
    def support(self) -> int:
        """Number of gold spans."""
        return self.overall.support

    def as_dict(self) -> dict[str, Any]:
        """Return all scores for JSON."""
        return {**self.overall.as_dict(), "per_type": {kind: score.as_dict() for kind, score in self.per_type.items()}}


def span_scores(y_true: LabelLists, y_pred: LabelLists, scheme: str = "BIO", lenient: bool = True) -> SpanScores:
    """Return precision, recall and F1 of exact spans, overall and per type.

    Parameters
    ----------
    y_true, y_pred : iterables of n sequences of str
        Gold and guessed labels, such as ``[["B-NP", "I-NP", "O"]]``.
    scheme : str
        How labels encode spans: ``"BIO"``, ``"IOB1"``, ``"IOBES"``, ``"BILOU"`` or another scheme of
        `trelliswork.labels.spans.spans`.
    lenient : bool
        How to read invalid sequences. True follows conlleval: a span without a proper beginning begins where its type
        does, so ``O I-NP`` has a span. False counts only valid spans.

    Returns
    -------
    SpanScores
        As in conlleval, precision is 0 if nothing was guessed, recall is 0 if there are no gold spans, and F1 is 0 if
        both are. So a corpus without spans scores 0 whatever was guessed.

    Raises
    ------
    InvalidInput
        If lengths differ, a label is not a string or not of the scheme; the message names the sequence.

    Examples
    --------
    >>> gold = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> guess = [["B-PER", "I-PER", "O", "I-LOC"]]
    >>> span_scores(gold, guess).f1
    1.0
    >>> strict = span_scores(gold, guess, lenient=False)
    >>> strict.precision, strict.recall
    (1.0, 0.5)
    >>> strict.per_type["LOC"]
    Score(correct=0, found=0, support=1)
    """
    counts = SpanCounts(scheme, lenient)
    for gold, guess in paired(y_true, y_pred):
        counts.add(gold, guess)
    return counts.scores()


class SpanCounts:
    """Counts of spans by type, collected sequence by sequence."""

    def __init__(self, scheme: str, lenient: bool) -> None:
        if not isinstance(lenient, bool | np.bool_):
            raise InvalidInput(f"lenient is {shown(lenient)}; expected True for conlleval's rules or False for strict.")
        spans([], scheme, bool(lenient))  # refuses an unknown scheme, even of an empty corpus
        self._scheme, self._lenient = scheme, bool(lenient)
        self._n_sequences = 0
        self._correct: Counter[str] = Counter()
        self._found: Counter[str] = Counter()
        self._support: Counter[str] = Counter()

    def add(self, gold: list[Any], guess: list[Any]) -> None:
        """Count the spans of the next sequence."""
        there = self._spans(gold, "y_true")
        found = there if guess == gold else self._spans(guess, "y_pred")
        self._n_sequences += 1
        self._support.update(kind for kind, _, _ in there)
        self._found.update(kind for kind, _, _ in found)
        self._correct.update(kind for kind, _, _ in set(there) & set(found))

    def merge(self, other: SpanCounts) -> None:
        """Add the counts of other sequences."""
        self._n_sequences += other._n_sequences
        self._correct.update(other._correct)
        self._found.update(other._found)
        self._support.update(other._support)

    def scores(self) -> SpanScores:
        """Return the scores of the sequences so far."""
        kinds = sorted(self._support.keys() | self._found.keys())
        return SpanScores(
            Score(self._correct.total(), self._found.total(), self._support.total()),
            {kind: Score(self._correct[kind], self._found[kind], self._support[kind]) for kind in kinds},
        )

    def _spans(self, labels: list[Any], name: str) -> list[Span]:
        for t, label in enumerate(labels):
            if not isinstance(label, str):
                raise InvalidInput(
                    f"{name}[{self._n_sequences}][{t}] is {shown(label)}; expected a string such as 'B-NP' or 'O'. "
                    "Labels that spell no spans are scored by token_scores."
                )
        try:
            return spans(labels, self._scheme, self._lenient)
        except InvalidInput as error:
            raise InvalidInput(f"{name}[{self._n_sequences}]: {error}") from None
