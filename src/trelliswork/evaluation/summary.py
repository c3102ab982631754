"""Everything about one set of guesses: spans, tokens and confusions in one pass, and conlleval's text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from trelliswork.evaluation.confusions import Confusion, confusion_of
from trelliswork.evaluation.pairs import LabelLists, PairCounts, labelled, paired
from trelliswork.evaluation.scores import Score
from trelliswork.evaluation.spans import SpanCounts, SpanScores
from trelliswork.evaluation.tokens import TokenScores, token_scores_of

__all__ = ["Evaluation", "evaluate", "report"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of spans and tokens, and the confusions behind them.

    Parameters
    ----------
    span : SpanScores or None
        None if the labels were said to spell no spans.
    token : TokenScores
    confusion : Confusion
    scheme : str or None
    lenient : bool
        How spans were read.
    """

    span: SpanScores | None
    token: TokenScores
    confusion: Confusion
    scheme: str | None
    lenient: bool

    def report(self) -> str:
        """Return what conlleval prints: the same lines, rounded alike, without the last line end."""
        if self.span is None:
            lines = [f"processed {self.token.n_tokens} tokens; correct: {self.token.n_correct}."]
            return "\n".join([*lines, self._accuracy()] if self.token.n_tokens else lines)
        overall = self.span.overall
        lines = [
            f"processed {self.token.n_tokens} tokens with {overall.support} phrases; "
            f"found: {overall.found} phrases; correct: {overall.correct}."
        ]
        if self.token.n_tokens:
            lines.append(f"{self._accuracy()}; {_percentages(overall)}")
        for kind, score in self.span.per_type.items():
            lines.append(f"{kind:>17}: {_percentages(score)}  {score.found}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the scores, ready for JSON: ``span``, ``token`` and ``per_type``, and how spans were read."""
        span = None if self.span is None else self.span.as_dict()
        per_type = {} if span is None else span.pop("per_type")
        token = self.token.as_dict()
        del token["per_label"]
        return {"span": span, "token": token, "per_type": per_type, "scheme": self.scheme, "lenient": self.lenient}

    def __str__(self) -> str:
        inside = f"{'tokens in spans':>17}: {_percentages(self.token.inside)}  {self.token.inside.found}"
        return self.report() if self.span is None else f"{self.report()}\n{inside}"

    def _accuracy(self) -> str:
        return f"accuracy: {100 * self.token.n_correct / self.token.n_tokens:6.2f}%"


def evaluate(
    y_true: LabelLists,
    y_pred: LabelLists,
    scheme: str | None = "BIO",
    lenient: bool = True,
    outside: Hashable = "O",
) -> Evaluation:
    """Return the scores of spans and tokens and the confusion table, from one pass over the labels.

    Parameters
    ----------
    y_true, y_pred : iterables of n sequences of labels
        Gold and guessed labels.
    scheme : str or None
        How labels spell spans, as in `span_scores`; None if they do not, as part-of-speech tags.
    lenient : bool
        Whether an invalid sequence is read by conlleval's rules, as in `span_scores`.
    outside : label
        The label of tokens in no span, as in `token_scores`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> gold = [["B-NP", "I-NP", "B-VP", "O"], ["B-NP", "O"]]
    >>> guess = [["B-NP", "I-NP", "B-VP", "O"], ["O", "O"]]
    >>> result = evaluate(gold, guess)
    >>> print(result)
    processed 6 tokens with 3 phrases; found: 2 phrases; correct: 2.
    accuracy:  83.33%; precision: 100.00%; recall:  66.67%; FB1:  80.00
                   NP: precision: 100.00%; recall:  50.00%; FB1:  66.67  1
                   VP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
      tokens in spans: precision: 100.00%; recall:  75.00%; FB1:  85.71  3
    >>> result.as_dict()["per_type"]["NP"]["recall"]
    0.5
    >>> result.confusion.most_frequent()
    [Confused(gold='B-NP', guess='O', tokens=1)]
    """
    spans = None if scheme is None else SpanCounts(scheme, lenient)
    counts: PairCounts = Counter()
    for gold, guess in paired(y_true, y_pred):
        counts.update(zip(gold, guess, strict=True))
        if spans is not None:
            spans.add(gold, guess)
    counts = labelled(counts)
    return Evaluation(
        span=None if spans is None else spans.scores(),
        token=token_scores_of(counts, outside),
        confusion=confusion_of(counts),
        scheme=scheme,
        lenient=bool(lenient),
    )


def report(y_true: LabelLists, y_pred: LabelLists, scheme: str | None = "BIO", lenient: bool = True) -> str:
    """Return what conlleval prints for these labels; the arguments are those of `evaluate`.

    Examples
    --------
    >>> print(report([["B-NP", "I-NP", "O"]], [["B-NP", "O", "O"]]))
    processed 3 tokens with 1 phrases; found: 1 phrases; correct: 0.
    accuracy:  66.67%; precision:   0.00%; recall:   0.00%; FB1:   0.00
                   NP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
    """
    return evaluate(y_true, y_pred, scheme, lenient).report()


def _percentages(score: Score) -> str:
    precision, recall, f1 = score.percentages
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"
