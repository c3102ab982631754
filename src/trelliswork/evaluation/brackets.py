"""Scores of labelled brackets, by the rules of evalb (Sekine & Collins 1997; Black et al. 1991).

Two trees over the same words are compared as multisets of (first word, last word, label). Punctuation is deleted first,
``PRT`` counts as ``ADVP``, and ``TOP`` and tags are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.evaluation.pairs import zipped
from trelliswork.evaluation.scores import Score
from trelliswork.evaluation.text import aligned
from trelliswork.structures.constituents import TOP, Constituent, cleaned

__all__ = ["PUNCTUATION", "BracketScores", "bracket_scores"]

PUNCTUATION = (",", ":", "``", "''", ".")  # the tags whose words evalb deletes (COLLINS.prm)


@dataclass(frozen=True, eq=False)
class BracketScores:
    """Scores of labelled brackets: overall and for each label.

    Parameters
    ----------
    overall : Score
    per_label : dict of str to Score
        In the order of the labels' names; it has all labels of the gold and the guessed trees.
    n_sentences : int
    complete : int
        Number of sentences with all gold brackets and no others.
    crossing : int
        Number of guessed brackets that cross a gold one.
    not_crossing : int
        Number of sentences without such a bracket.
    tags : Score
        Scores of the tags of words that are not deleted.
    counts : (n, 3) int array
        For each sentence, the numbers of correct, guessed and gold brackets, the input of `bootstrap_of_counts`.
    """

    overall: Score
    per_label: dict[str, Score]
    n_sentences: int
    complete: int
    crossing: int
    not_crossing: int
    tags: Score
    counts: npt.NDArray[np.int64]

    @property
    def precision(self) -> float:
        """The fraction of guessed brackets that are correct."""
        return self.overall.precision

    @property
    def recall(self) -> float:
        """The fraction of gold brackets that were guessed."""
        return self.overall.recall

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return self.overall.f1

    @property
    def complete_match(self) -> float:
        """The fraction of sentences with a completely correct tree."""
        return self.complete / self.n_sentences if self.n_sentences else 0.0

    @property
    def average_crossing(self) -> float:
        """The mean number of guessed brackets of a sentence that cross gold ones."""
        return self.crossing / self.n_sentences if self.n_sentences else 0.0

    @property
    def no_crossing(self) -> float:
        """The fraction of sentences in which no guessed bracket crosses a gold one."""
        return self.not_crossing / self.n_sentences if self.n_sentences else 0.0

    @property
    def tagging_accuracy(self) -> float:
        """The fraction of words with the correct tag."""
        return self.tags.recall

    def as_dict(self) -> dict[str, Any]:
        """Return all scores for JSON."""
        return {
            **self.overall.as_dict(),
            "complete_match": self.complete_match,
            "average_crossing": self.average_crossing,
            "no_crossing": self.no_crossing,
            "tagging_accuracy": self.tagging_accuracy,
            "sentences": self.n_sentences,
            "per_label": {label: score.as_dict() for label, score in self.per_label.items()},
        }

    def __str__(self) -> str:
        rows = [["label", "precision", "recall", "f1", "gold"]]
        for label, score in [*sorted(self.per_label.items(), key=lambda item: -item[1].support), ("all", self.overall)]:
            rows.append([label, *(f"{part:.2f}" for part in score.percentages), str(score.support)])
        return "\n".join(
            [
                *aligned(rows),
                f"{self.n_sentences} sentences: {100 * self.complete_match:.2f}% complete, "
                f"{100 * self.no_crossing:.2f}% without crossing brackets, {self.average_crossing:.2f} crossing each, "
                f"tagging accuracy {100 * self.tagging_accuracy:.2f}%",
            ]
        )


def bracket_scores(
    y_true: Iterable[Constituent | str],
    y_pred: Iterable[Constituent | str],
    *,
    punctuation: Collection[str] = PUNCTUATION,
    ignored: Collection[str] = (TOP,),
    equal: Mapping[str, str] | None = None,
) -> BracketScores:
    """Return precision, recall and F1 of labelled brackets, as evalb counts them.

    Parameters
    ----------
    y_true, y_pred : iterables of n trees
        Gold and guessed, as `Constituent` or as text in brackets. Empty elements, function tags and indices are
        removed. A guessed tree without words counts as a failed parse: it has no brackets.
    punctuation : collection of str
        Words with these tags in the gold tree are deleted from both trees.
    ignored : collection of str
        Labels that are not counted.
    equal : dict of str to str, optional
        Labels to treat as others; by default ``{"PRT": "ADVP"}``.

    Returns
    -------
    BracketScores

    Raises
    ------
    InvalidInput
        If the words of two trees differ; the message names the first.

    Examples
    --------
    >>> gold = ["(S (NP (PRP She)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN in) (NP (NN rain)))) (. .))"]
    >>> guess = ["(S (NP (PRP She)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN in) (NP (NN rain))))) (. .))"]
    >>> scores = bracket_scores(gold, guess)
    >>> scores.overall
    Score(correct=6, found=7, support=6)
    >>> scores.recall, scores.complete_match, scores.crossing
    (1.0, 0.0, 0)
    """
    same = {"PRT": "ADVP"} if equal is None else dict(equal)
    right, found, there = Counter[str](), Counter[str](), Counter[str]()
    counts: list[tuple[int, int, int]] = []
    complete = crossing = not_crossing = right_tags = n_tags = 0
    for i, (gold, guess) in enumerate(zipped(y_true, y_pred, "y_true", "y_pred")):
        one, two = _tree(gold, f"y_true[{i}]"), _tree(guess, f"y_pred[{i}]")
        words = [] if one is None else one.tagged()
        others = [] if two is None else two.tagged()
        if others and (wrong := _first_difference(words, others)) is not None:
            raise InvalidInput(f"y_pred[{i}] is not a tree over the words of y_true[{i}]: {wrong}.")
        kept = [tag not in punctuation for _, tag in words]
        own = _brackets(one, kept, ignored, same)
        seen = _brackets(two, kept, ignored, same) if others else Counter()
        both = own & seen
        for counter, brackets in ((right, both), (found, seen), (there, own)):
            for (_, _, label), n in brackets.items():
                counter[label] += n
        counts.append((both.total(), seen.total(), own.total()))
        complete += own == seen
        crossed = sum(n for (start, stop, _), n in seen.items() if _crosses(start, stop, own))
        crossing += crossed
        not_crossing += crossed == 0
        for place, (_, tag) in enumerate(words):
            if kept[place] and tag is not None:
                n_tags += 1
                right_tags += bool(others) and others[place][1] == tag
    labels = sorted(there.keys() | found.keys())
    return BracketScores(
        Score(right.total(), found.total(), there.total()),
        {label: Score(right[label], found[label], there[label]) for label in labels},
        len(counts),
        complete,
        crossing,
        not_crossing,
        Score(right_tags, n_tags, n_tags),
        np.array(counts, dtype=np.int64).reshape(-1, 3),
    )


Brackets = Counter[tuple[int, int, str]]


def _tree(tree: Any, name: str) -> Constituent | None:
    if not isinstance(tree, Constituent):
        try:
            tree = Constituent.from_text(tree)
        except InvalidInput as error:
            raise InvalidInput(f"{name}: {error}") from None
    return cleaned(tree)


def _brackets(
    tree: Constituent | None, kept: list[bool], ignored: Collection[str], equal: Mapping[str, str]
) -> Brackets:
    """The brackets of a tree, numbered over the words that are kept; those that are empty then are gone."""
    before = [0, *accumulate(map(int, kept))]
    found: Brackets = Counter()
    for start, stop, label in () if tree is None else tree.spans():
        label = equal.get(label, label)
        if before[start] < before[stop] and label not in ignored:
            found[before[start], before[stop], label] += 1
    return found


def _crosses(start: int, stop: int, gold: Brackets) -> bool:
    return any(a < start < b < stop or start < a < stop < b for a, b, _ in gold)


def _first_difference(words: list[Any], others: list[Any]) -> str | None:
    if len(words) != len(others):
        return f"it has {len(others)} words, not {len(words)}"
    for place, ((word, _), (other, _)) in enumerate(zip(words, others, strict=True)):
        if word != other:
            return f"word {place} is {other!r}, not {word!r}"
    return None
