"""A full evaluation: spans, tokens and confusions in one pass, and conlleval's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from trelliswork.errors import InvalidInput
from trelliswork.evaluation.confusions import Confusion, confusion_of
from trelliswork.evaluation.pairs import PairCounts, labelled, paired
from trelliswork.evaluation.scores import Score
from trelliswork.evaluation.spans import SpanCounts, SpanScores
from trelliswork.evaluation.tokens import TokenScores, token_scores_of
from trelliswork.labels.coded import LabelLists
from trelliswork.labels.schemes import SCHEME_NAMES, scheme_of
from trelliswork.labels.spans import is_valid

__all__ = ["Evaluation", "EvaluationCounts", "evaluate", "report"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of spans and tokens, and the confusions of labels.

    Parameters
    ----------
    span : SpanScores or None
        None if the labels do not encode spans.
    token : TokenScores
    confusion : Confusion
    scheme : str or None
    lenient : bool
        How invalid spans were read.
    """

    span: SpanScores | None
    token: TokenScores
    confusion: Confusion
    scheme: str | None
    lenient: bool

    def report(self) -> str:
        """Return conlleval's report: the same lines and rounding, without the last line end.

        For labels that do not encode spans, which conlleval does not support, it has a line for each label.
        """
        if self.span is None:
            lines = [f"processed {self.token.n_tokens} tokens; correct: {self.token.n_correct}."]
            return "\n".join([*lines, self._accuracy(), self.token.table()] if self.token.n_tokens else lines)
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
        """Return the scores for JSON.

        ``span`` and ``token`` are overall scores, ``per_type`` those of the spans of each type, ``per_label`` those of
        the tokens of each label. ``scheme`` and ``lenient`` say how spans were read. Without spans, ``span`` is None
        and ``per_type`` empty.
        """
        span = None if self.span is None else self.span.as_dict()
        per_type = {} if span is None else span.pop("per_type")
        token = self.token.as_dict()
        per_label = token.pop("per_label")
        return {
            "span": span,
            "token": token,
            "per_type": per_type,
            "per_label": per_label,
            "scheme": self.scheme,
            "lenient": self.lenient,
        }

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
        How labels encode spans, as in `span_scores`; None if they do not, such as part-of-speech tags. ``"auto"``
        detects the scheme: the first in which all gold labels are valid; BIO for labels of its form that are valid in
        none; or None.
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
    counts = EvaluationCounts(scheme, lenient)
    for gold, guess in paired(y_true, y_pred):
        counts.add(gold, guess)
    return counts.evaluation(outside)


class EvaluationCounts:
    """The counts of an evaluation, collected by sequence, in memory that does not grow with their number.

    Parameters
    ----------
    scheme, lenient
        As for `evaluate`.

    Examples
    --------
    >>> counts = EvaluationCounts("auto")
    >>> counts.add(["O", "U-NP"], ["O", "U-NP"])
    >>> counts.evaluation().scheme
    'BILOU'
    """

    def __init__(self, scheme: str | None = "BIO", lenient: bool = True) -> None:
        self._scheme, self._lenient = scheme, lenient
        names = list(SCHEME_NAMES) if scheme == "auto" else [] if scheme is None else [scheme]
        # By scheme: what was counted in it, or why it could not be.
        self._spans: dict[str, SpanCounts | InvalidInput] = {name: SpanCounts(name, lenient) for name in names}
        self._fitting = list(self._spans)  # those in which all gold labels so far are valid
        self._pairs: PairCounts = Counter()

    def add(self, gold: list[Any], guess: list[Any]) -> None:
        """Count the next sequence: its gold and its guessed labels, which must have the same length."""
        if self._scheme == "auto":
            self._narrow(gold)
        self._pairs.update(zip(gold, guess, strict=True))
        for name, spans in self._spans.items():
            if isinstance(spans, SpanCounts):
                try:
                    spans.add(gold, guess)
                except InvalidInput as error:
                    if self._scheme != "auto":
                        raise
                    self._spans[name] = error  # told if this is the scheme in the end

    def merge(self, other: EvaluationCounts) -> None:
        """Add the counts of other sequences, made with the same arguments.

        Examples
        --------
        >>> here, there = EvaluationCounts(), EvaluationCounts()
        >>> here.add(["B-NP"], ["B-NP"])
        >>> there.add(["B-NP"], ["O"])
        >>> here.merge(there)
        >>> here.evaluation().span.recall
        0.5
        """
        if (self._scheme, self._lenient) != (other._scheme, other._lenient):
            raise InvalidInput("only counts of the same scheme and the same rules can be added.")
        self._fitting = [name for name in self._fitting if name in other._fitting]
        kept = {}
        for name, spans in self._spans.items():
            others = other._spans.get(name)
            if isinstance(spans, SpanCounts) and isinstance(others, SpanCounts):
                spans.merge(others)
            if others is not None:
                kept[name] = spans if isinstance(spans, InvalidInput) or isinstance(others, SpanCounts) else others
        self._spans = kept
        self._pairs.update(other._pairs)

    def evaluation(self, outside: Hashable = "O") -> Evaluation:
        """Return the scores of the sequences so far; ``outside`` is as in `evaluate`."""
        scheme = self._scheme if self._scheme != "auto" else next(iter([*self._fitting, *self._spans]), None)
        spans = None if scheme is None else self._spans[scheme]
        if isinstance(spans, InvalidInput):
            raise spans
        counts = labelled(self._pairs)
        return Evaluation(
            span=None if spans is None else spans.scores(),
            token=token_scores_of(counts, outside),
            confusion=confusion_of(counts),
            scheme=scheme,
            lenient=bool(self._lenient),
        )

    def _narrow(self, gold: list[Any]) -> None:
        """Drop the schemes that these labels exclude; BIO remains as long as they have its form."""
        texts = all(isinstance(label, str) for label in gold)
        self._fitting = [name for name in self._fitting if texts and is_valid(gold, scheme_of(name))]
        kept = {*self._fitting, *(["BIO"] if "BIO" in self._spans and all(map(_like_bio, gold)) else [])}
        if len(kept) < len(self._spans):
            self._spans = {name: spans for name, spans in self._spans.items() if name in kept}


def _like_bio(label: Any) -> bool:
    return label == "O" or (isinstance(label, str) and label[:2] in ("B-", "I-"))


def report(y_true: LabelLists, y_pred: LabelLists, scheme: str | None = "BIO", lenient: bool = True) -> str:
    """Return conlleval's report on these labels; the arguments are those of `evaluate`.

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
