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
    """Scores of tokens: of all, of those inside of spans, and of each label.

    Parameters
    ----------
    n_tokens, n_correct : int
        How many tokens there are, and how many have the right label.
    inside : Score
        Of the tokens that are not outside: `found` are those guessed to be inside, `correct` those with the very label.
    per_label : dict of label to Score
        Every label, the outside one as well, in order.

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
        """The share of tokens with the right label; 0 if there are none."""
        return self.n_correct / self.n_tokens if self.n_tokens else 0.0

    @property
    def precision(self) -> float:
        """The share of the tokens guessed to be inside that have the right label."""
        return self.inside.precision

    @property
    def recall(self) -> float:
        """The share of the tokens inside that have the right label."""
        return self.inside.recall

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return self.inside.f1

    @property
    def support(self) -> int:
        """How many tokens are inside."""
        return self.inside.support

    def as_dict(self) -> dict[str, Any]:
        """Return all scores, ready for JSON; labels are written as strings."""
        per_label = {str(label): score.as_dict() for label, score in self.per_label.items()}
        return {"accuracy": self.accuracy, "tokens": self.n_tokens, **self.inside.as_dict(), "per_label": per_label}

    def table(self) -> str:
        """Return precision, recall, F1 and support of every label as text, a line for each."""
        rows = [["label", "precision", "recall", "f1", "support"]]
        for label, score in self.per_label.items():
            rows.append([str(label), *(f"{figure:.2f}" for figure in score.percentages), str(score.support)])
        return "\n".join(aligned(rows))

    def __str__(self) -> str:
        return f"{self.table()}\naccuracy {100 * self.accuracy:.2f}% of {self.n_tokens} tokens"


def token_scores(y_true: LabelLists, y_pred: LabelLists, outside: Hashable = "O") -> TokenScores:
    """Return the accuracy of tokens, and precision, recall and F1 over those that are not outside.

    The F-measure over tokens counts a token inside of a span as right if its whole label is, prefix and type. A span
    that is right but for its last token gains by it, so it is the higher of the two where spans are long; for exact
    spans see `span_scores`.

    Parameters
    ----------
    y_true, y_pred : iterables of n sequences of labels
        Gold and guessed labels, of any hashable type. Tokens whose gold label is None are left out.
    outside : label
        The label of tokens in no span. Where no label is this one, all three measures equal the accuracy.

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
    """Return the scores that follow from how often each pair of labels occurs."""
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
