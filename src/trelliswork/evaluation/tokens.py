"""Scores of tokens: accuracy, and the F-measure over the tokens that belong to a span."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from trelliswork.evaluation.pairs import PairCounts, in_order, pair_counts, paired
from trelliswork.evaluation.scores import Score
from trelliswork.evaluation.text import aligned
from trelliswork.labels.coded import LabelLists

__all__ = ["TokenScores", "token_scores", "token_scores_of"]


@dataclass(frozen=True)
class TokenScores:
    """Scores of tokens: overall, inside of spans, and for each label.

    Parameters
    ----------
    n_tokens, n_correct : int
        Number of tokens, and number of tokens with the correct label.
    inside : Score
        Scores of tokens that are not outside: `found` counts those guessed to be inside, `correct` those with the
        correct label.
    per_label : dict of label to Score
        Every label, including the outside one, in order.

    Examples
    --------
    >>> print(token_scores([["D", "N", "V"]], [["D", "N", "N"]]))
    label  precision  recall      f1  support
    D         100.00  100.00  100.00        1
    N          50.00  100.00   66.67        1
    V           0.00    0.00    0.00        1
    accuracy 66.67% of 3 tokens
    """

    n_tokens: int
    n_correct: int
    inside: Score
    per_label: dict[Any, Score]

    @property
    def accuracy(self) -> float:
        """The fraction of tokens with the correct label; 0 if there are none."""
        return self.n_correct / self.n_tokens if self.n_tokens else 0.0

    @property
    def precision(self) -> float:
        """The fraction of tokens guessed to be inside that have the correct label."""
        return self.inside.precision

    @property
    def recall(self) -> float:
        """The fraction of inside tokens that have the correct label."""
        return self.inside.recall

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return self.inside.f1

    @property
    def support(self) -> int:
        """Number of inside tokens."""
        return self.inside.support

    def as_dict(self) -> dict[str, Any]:
        """Return all scores for JSON; labels are written as strings."""
        per_label = {str(label): score.as_dict() for label, score in self.per_label.items()}
        return {"accuracy": self.accuracy, "tokens": self.n_tokens, **self.inside.as_dict(), "per_label": per_label}

    def table(self) -> str:
        """Return precision, recall, F1 and support of every label as text, one line each."""
        rows = [["label", "precision", "recall", "f1", "support"]]
        for label, score in self.per_label.items():
            rows.append([str(label), *(f"{figure:.2f}" for figure in score.percentages), str(score.support)])
        return "\n".join(aligned(rows))

    def __str__(self) -> str:
        return f"{self.table()}\naccuracy {100 * self.accuracy:.2f}% of {self.n_tokens} tokens"


def token_scores(y_true: LabelLists, y_pred: LabelLists, outside: Hashable = "O") -> TokenScores:
    """Return the accuracy of tokens, and precision, recall and F1 over those that are not outside.

    The F-measure over tokens counts a token inside of a span as correct if its whole label is, prefix and type. It
    gives credit for a span in which only the last token is wrong, so with long spans it is higher than F1 of exact
    spans; for the latter see `span_scores`.

    Parameters
    ----------
    y_true, y_pred : iterables of n sequences of labels
        Gold and guessed labels, of any hashable type. Tokens whose gold label is None are ignored.
    outside : label
        The label of tokens in no span. If no token has this label, all three measures equal the accuracy.

    Returns
    -------
    TokenScores

    Examples
    --------
    >>> scores = token_scores([["B-NP", "I-NP", "O", "O"]], [["B-NP", "O", "O", "B-NP"]])
    >>> scores.accuracy, scores.precision, scores.recall, scores.f1
    (0.5, 0.5, 0.5, 0.5)
    """
    return token_scores_of(pair_counts(paired(y_true, y_pred)), outside)


def token_scores_of(counts: PairCounts, outside: Hashable = "O") -> TokenScores:
    """Return the scores for the given counts of pairs of labels."""
    support: Counter[Any] = Counter()
    found: Counter[Any] = Counter()
    correct: Counter[Any] = Counter()
    for (gold, guess), count in counts.items():
        support[gold] += count
        found[guess] += count
        correct[gold] += count * (gold == guess)
    per_label = {label: Score(correct[label], found[label], support[label]) for label in in_order(support | found)}
    inside = Score(*(counter.total() - counter[outside] for counter in (correct, found, support)))
    return TokenScores(counts.total(), correct.total(), inside, per_label)
