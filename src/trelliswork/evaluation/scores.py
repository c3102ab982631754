"""Precision, recall and F1 from three counts: how many were right, how many were guessed, how many there are."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Score"]


@dataclass(frozen=True, slots=True)
class Score:
    """What was counted, and the ratios of it; a ratio whose divisor is zero is 0, as in conlleval.

    Parameters
    ----------
    correct : int
        How many of those guessed are right.
    found : int
        How many were guessed.
    support : int
        How many there are in the gold labels.

    Examples
    --------
    >>> score = Score(correct=2, found=3, support=4)
    >>> score.recall
    0.5
    >>> round(score.f1, 4)
    0.5714
    >>> Score(correct=0, found=0, support=0).f1
    0.0
    """

    correct: int
    found: int
    support: int

    @property
    def precision(self) -> float:
        """The share of those guessed that are right."""
        return self.correct / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold ones that were guessed."""
        return self.correct / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def percentages(self) -> tuple[float, float, float]:
        """Precision, recall and F1 in percent, in conlleval's order of operations: they print with its last digit."""
        precision = 100 * self.correct / self.found if self.found else 0.0
        recall = 100 * self.correct / self.support if self.support else 0.0
        both = precision + recall
        return precision, recall, 2 * precision * recall / both if both else 0.0

    def as_dict(self) -> dict[str, float | int]:
        """Return the ratios and the counts, ready for JSON."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "support": self.support,
            "found": self.found,
            "correct": self.correct,
        }
