"""Precision, recall and F1 from three counts: correct, guessed and gold items."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Score"]


@dataclass(frozen=True, slots=True)
class Score:
    """Three counts and their ratios; a ratio whose divisor is zero is 0, as in conlleval.

    Parameters
    ----------
    correct : int
        Number of correct guesses.
    found : int
        Number of guesses.
    support : int
        Number of gold items.

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
        """The fraction of guesses that are correct."""
        return self.correct / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The fraction of gold items that were guessed."""
        return self.correct / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def percentages(self) -> tuple[float, float, float]:
        """Precision, recall and F1 in percent, computed in conlleval's order of operations to agree in all digits."""
        precision = 100 * self.correct / self.found if self.found else 0.0
        recall = 100 * self.correct / self.support if self.support else 0.0
        both = precision + recall
        return precision, recall, 2 * precision * recall / both if both else 0.0

    def as_dict(self) -> dict[str, float | int]:
        """Return the ratios and the counts for JSON."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "support": self.support,
            "found": self.found,
            "correct": self.correct,
        }
