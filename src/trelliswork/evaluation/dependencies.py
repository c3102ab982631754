"""Scores of dependency trees: attachment with and without labels, whole trees, by relation and by distance.

UAS and LAS are those of the CoNLL-2018 shared task for given words (Zeman et al. 2018): every word counts, including
punctuation, and relations are compared without their subtypes (``nsubj:pass`` is ``nsubj``).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.scores import Score
from trelliswork.evaluation.text import aligned
from trelliswork.labels.dependencies import UNKNOWN_HEAD, CodedTrees, Trees, coded_trees

__all__ = ["AttachmentScores", "DependencyScores", "attachments", "dependency_scores"]

Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

# Lengths of arcs as McDonald & Nivre 2007 tell them apart: the lowest of each, and its name.
_DISTANCES = {0: "root", 1: "1", 2: "2", 3: "3-6", 7: "7 or more"}


@dataclass(frozen=True)
class AttachmentScores:
    """Numbers of correct words and sentences.

    Parameters
    ----------
    n_words, n_sentences : int
    heads : int
        Words with the correct head.
    relations : int or None
        Words with the correct head and relation, ignoring subtypes; None without relations.
    subtypes : int or None
        The same with subtypes.
    trees, labelled_trees : int, int or None
        Sentences in which all words have the correct head; and also the correct relation, ignoring subtypes.

    Examples
    --------
    >>> scores = AttachmentScores(n_words=4, n_sentences=1, heads=4, relations=3, subtypes=2, trees=1, labelled_trees=0)
    >>> scores.uas, scores.las, scores.las_with_subtypes, scores.whole_trees
    (1.0, 0.75, 0.5, 1.0)
    """

    n_words: int
    n_sentences: int
    heads: int
    relations: int | None
    subtypes: int | None
    trees: int
    labelled_trees: int | None

    @property
    def uas(self) -> float:
        """Unlabelled attachment score: the fraction of words with the correct head; 0 if there are none."""
        return _share(self.heads, self.n_words) or 0.0

    @property
    def las(self) -> float | None:
        """Labelled attachment score: the fraction of words with the correct head and relation, ignoring subtypes."""
        return _share(self.relations, self.n_words)

    @property
    def las_with_subtypes(self) -> float | None:
        """Labelled attachment score with subtypes."""
        return _share(self.subtypes, self.n_words)

    @property
    def whole_trees(self) -> float:
        """The fraction of sentences in which all words have the correct head."""
        return _share(self.trees, self.n_sentences) or 0.0

    @property
    def labelled_whole_trees(self) -> float | None:
        """The fraction of sentences in which all words have the correct head and relation, ignoring subtypes."""
        return _share(self.labelled_trees, self.n_sentences)

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the scores and the numbers of words and sentences for JSON."""
        return {
            "uas": self.uas,
            "las": self.las,
            "las_with_subtypes": self.las_with_subtypes,
            "whole_trees": self.whole_trees,
            "labelled_whole_trees": self.labelled_whole_trees,
            "words": self.n_words,
            "sentences": self.n_sentences,
        }

    def __str__(self) -> str:
        labelled = self.las is not None
        las = f", LAS {_percent(self.las)} ({_percent(self.las_with_subtypes)} with subtypes)" if labelled else ""
        trees = f" ({_percent(self.labelled_whole_trees)} with relations)" if labelled else ""
        return (
            f"UAS {_percent(self.uas)}{las} of {self.n_words} words; "
            f"whole trees {_percent(self.whole_trees)}{trees} of {self.n_sentences}"
        )


@dataclass(frozen=True)
class DependencyScores:
    """Scores of dependency trees: of all words, without punctuation, by relation and by distance.

    Parameters
    ----------
    words : AttachmentScores
        Scores of all words.
    without_punctuation : AttachmentScores or None
        Scores without punctuation; None if the words are not known.
    per_relation : dict of str to Score
        `found` counts the words with the guessed relation, `correct` those where relation and head are correct. Empty
        without relations.
    per_distance : dict of str to Score
        By the distance of a word from its head, or "root": `support` counts by the gold distance, `found` by the
        guessed distance, `correct` counts words whose heads agree.

    Examples
    --------
    >>> gold = [([2, 0, 2], ["nsubj:pass", "root", "punct"])]
    >>> guess = [([2, 0, 1], ["nsubj", "root", "punct"])]
    >>> print(dependency_scores(gold, guess, forms=[["It", "rained", "."]]))
    UAS 66.67%, LAS 66.67% (33.33% with subtypes) of 3 words; whole trees 0.00% (0.00% with relations) of 1
    no punctuation: UAS 100.00%, LAS 100.00% (50.00% with subtypes) of 2 words; whole trees 100.00% (100.00% with \
relations) of 1
    relation  precision  recall      f1  support
    nsubj        100.00  100.00  100.00        1
    punct          0.00    0.00    0.00        1
    root         100.00  100.00  100.00        1
    distance  precision  recall      f1  support
    root         100.00  100.00  100.00        1
    1            100.00   50.00   66.67        2
    2              0.00    0.00    0.00        0
    """

    words: AttachmentScores
    without_punctuation: AttachmentScores | None
    per_relation: dict[str, Score]
    per_distance: dict[str, Score]

    @property
    def uas(self) -> float:
        """Unlabelled attachment score of all words."""
        return self.words.uas

    @property
    def las(self) -> float | None:
        """Labelled attachment score of all words, ignoring subtypes; None without relations."""
        return self.words.las

    @property
    def las_with_subtypes(self) -> float | None:
        """Labelled attachment score of all words with subtypes; None without relations."""
        return self.words.las_with_subtypes

    @property
    def whole_trees(self) -> float:
        """The fraction of sentences in which all words have the correct head."""
        return self.words.whole_trees

    def as_dict(self) -> dict[str, Any]:
        """Return all scores for JSON."""
        bare = self.without_punctuation
        return {
            **self.words.as_dict(),
            "without_punctuation": None if bare is None else bare.as_dict(),
            "per_relation": {relation: score.as_dict() for relation, score in self.per_relation.items()},
            "per_distance": {distance: score.as_dict() for distance, score in self.per_distance.items()},
        }

    def table(self, by: str = "relation") -> str:
        """Return precision, recall, F1 and support of each relation, or of each ``"distance"``, as text."""
        if by not in ("relation", "distance"):
            raise InvalidInput(f"by is {shown(by)}; expected 'relation' or 'distance'.")
        rows = [[by, "precision", "recall", "f1", "support"]]
        for name, score in (self.per_relation if by == "relation" else self.per_distance).items():
            rows.append([name, *(f"{figure:.2f}" for figure in score.percentages), str(score.support)])
        return "\n".join(aligned(rows))

    def __str__(self) -> str:
        lines = [str(self.words)]
        if self.without_punctuation is not None:
            lines.append(f"no punctuation: {self.without_punctuation}")
        if self.per_relation:
            lines.append(self.table())
        return "\n".join([*lines, self.table("distance")])


def dependency_scores(
    gold: Trees, predicted: Trees, *, forms: Iterable[Sequence[str]] | None = None, subtypes: bool = False
) -> DependencyScores:
    """Return UAS, LAS, whole trees, and precision, recall and F1 by relation and by distance.

    Parameters
    ----------
    gold, predicted : Treebank, or iterables of n trees
        A tree is a pair of heads and relations, heads alone, or an object with ``heads`` and ``relations``. Words whose
        gold head is unknown are ignored. If one side has no relations, only heads are compared.
    forms : iterable of n sequences of str, optional
        The words, for recognising punctuation: a word is punctuation if all its characters are punctuation in Unicode,
        as in the CoNLL-X shared task (Buchholz & Marsi 2006). A `Treebank` and CoNLL-U sentences include their words.
    subtypes : bool
        Whether `per_relation` distinguishes subtypes.

    Returns
    -------
    DependencyScores

    Examples
    --------
    >>> import trelliswork as tw
    >>> gold = tw.corpora.Treebank.from_sentences(tw.corpora.sentences())
    >>> everything_on_the_left = [[*range(len(sentence.rows))] for sentence in gold]
    >>> scores = tw.evaluation.dependency_scores(gold, everything_on_the_left)
    >>> round(scores.uas, 3), scores.las, round(scores.without_punctuation.uas, 3)
    (0.107, None, 0.084)
    """
    if not hasattr(gold, "coded"):
        gold = list(gold) if hasattr(gold, "__iter__") and not isinstance(gold, str | bytes | dict) else gold
    truth, guess = coded_trees(gold, "gold"), coded_trees(predicted, "predicted")
    guess.require_like(truth, "predicted", "gold")
    known = truth.heads != UNKNOWN_HEAD
    right = Rightness.of(truth, guess)
    punctuation = _punctuation(gold, forms, truth)
    return DependencyScores(
        right.scores(known),
        None if punctuation is None else right.scores(known & ~punctuation),
        _by_relation(truth, guess, right.heads & known, known, subtypes),
        _by_distance(truth, guess, right.heads & known, known),
    )


def attachments(trees: Trees, relations: bool = True, subtypes: bool = False) -> list[list[Any]]:
    """Return trees as label sequences, for `mcnemar`, `paired_bootstrap` and `confusion_table`.

    Parameters
    ----------
    trees : Treebank, or iterable of trees
        As for `dependency_scores`.
    relations : bool
        If True, a label is a head and a relation, and accuracy is LAS. If False, a label is a head, and accuracy is
        UAS.
    subtypes : bool
        Whether relations keep their subtypes.

    Returns
    -------
    list of n lists of (int, str), or of int
        None for a word whose head is unknown.

    Examples
    --------
    >>> import trelliswork as tw
    >>> gold = [([2, 0], ["nsubj:pass", "root"]), ([0], ["root"])]
    >>> guess = [([0, 1], ["root", "obj"]), ([0], ["root"])]
    >>> attachments(gold)
    [[(2, 'nsubj'), (0, 'root')], [(0, 'root')]]
    >>> tw.evaluation.mcnemar(attachments(gold), attachments(guess), attachments(gold)).only_second
    2
    """
    coded = coded_trees(trees)
    labels: list[Any] = [head if head != UNKNOWN_HEAD else None for head in coded.heads.tolist()]
    if relations:
        if coded.relations is None:
            raise InvalidInput("the trees have no relations. Compare their heads: relations=False.")
        names = coded.names if subtypes else [_without_subtype(name) for name in coded.names]
        pairs = zip(labels, coded.relations.tolist(), strict=True)
        labels = [None if head is None else (head, names[code]) for head, code in pairs]
    starts = coded.starts.tolist()
    return [labels[begin:end] for begin, end in pairwise(starts)]


@dataclass(frozen=True, eq=False)
class Rightness:
    """Which words have the right head; and relation; and relation with its subtype."""

    heads: Flags
    relations: Flags | None
    subtypes: Flags | None
    starts: Ints

    @classmethod
    def of(cls, gold: CodedTrees, guess: CodedTrees) -> Rightness:
        heads = gold.heads == guess.heads
        if gold.relations is None or guess.relations is None:
            return cls(heads, None, None, gold.starts)
        same = [a == b for a, b in (_shared_codes(gold, guess, subtypes) for subtypes in (False, True))]
        return cls(heads, heads & same[0], heads & same[1], gold.starts)

    def scores(self, counted: Flags) -> AttachmentScores:
        """The scores of some of the words; sentences without any of them are not counted."""
        n_sentences = int(np.count_nonzero(self._per_sentence(counted)))
        heads = int(np.count_nonzero(self.heads & counted))
        trees = n_sentences - int(np.count_nonzero(self._per_sentence(counted & ~self.heads)))
        n_words = int(np.count_nonzero(counted))
        if self.relations is None or self.subtypes is None:
            return AttachmentScores(n_words, n_sentences, heads, None, None, trees, None)
        relations, subtypes = (int(np.count_nonzero(right & counted)) for right in (self.relations, self.subtypes))
        labelled = n_sentences - int(np.count_nonzero(self._per_sentence(counted & ~self.relations)))
        return AttachmentScores(n_words, n_sentences, heads, relations, subtypes, trees, labelled)

    def _per_sentence(self, words: Flags) -> Ints:
        running = np.concatenate([[0], np.cumsum(words)])
        counts: Ints = running[self.starts[1:]] - running[self.starts[:-1]]
        return counts


def _shared_codes(gold: CodedTrees, guess: CodedTrees, subtypes: bool) -> tuple[Ints, Ints]:
    """The relations of both by the same numbers, -1 where there are no relations."""
    numbers: dict[str, int] = {}
    tables = []
    for names in (gold.names, guess.names):
        bare = names if subtypes else [_without_subtype(name) for name in names]
        tables.append(np.array([numbers.setdefault(name, len(numbers)) for name in bare], dtype=np.int64))
    assert gold.relations is not None
    assert guess.relations is not None
    return tables[0][gold.relations], tables[1][guess.relations]


def _by_relation(gold: CodedTrees, guess: CodedTrees, right: Flags, known: Flags, subtypes: bool) -> dict[str, Score]:
    if gold.relations is None or guess.relations is None:
        return {}
    there, found = _shared_codes(gold, guess, subtypes)
    names = [name if subtypes else _without_subtype(name) for name in [*gold.names, *guess.names]]
    return _scores_by(list(dict.fromkeys(names)), there, found, right & (there == found), known, ordered=True)


def _by_distance(gold: CodedTrees, guess: CodedTrees, right: Flags, known: Flags) -> dict[str, Score]:
    places = np.arange(len(gold.heads)) - np.repeat(gold.starts[:-1], gold.lengths) + 1
    bounds = np.array(list(_DISTANCES))
    kinds = []
    for heads in (gold.heads, guess.heads):
        distances = np.where(heads == 0, 0, np.abs(heads - places))
        kinds.append(np.searchsorted(bounds, distances, side="right") - 1)
    found = np.where(guess.heads == UNKNOWN_HEAD, len(bounds), kinds[1])  # no arc: found nowhere
    return _scores_by(list(_DISTANCES.values()), kinds[0], found, right, known)


def _scores_by(
    names: list[str], there: Ints, found: Ints, right: Flags, known: Flags, ordered: bool = False
) -> dict[str, Score]:
    size = len(names) + 1
    support, guessed, correct = (
        np.bincount(codes[flags], minlength=size).tolist()
        for codes, flags in ((there, known), (found, known), (there, right & known))
    )
    scores = {name: Score(correct[i], guessed[i], support[i]) for i, name in enumerate(names)}
    return {
        name: scores[name]
        for name in (sorted(names) if ordered else names)
        if scores[name].found + scores[name].support
    }


def _punctuation(gold: Any, forms: Iterable[Sequence[str]] | None, trees: CodedTrees) -> Flags | None:
    """Which words are punctuation; None when the words are not known."""
    tokens = getattr(gold, "tokens", None)
    if forms is None and tokens is not None:  # a Treebank: each form is looked at once
        codes, names = tokens.columns.labels(0)
        flags: Flags = np.array([_is_punctuation(name) for name in names], dtype=np.bool_)[codes]
        return flags
    if forms is None and gold and all(hasattr(sentence, "rows") for sentence in gold):
        forms = [[row[0] for row in sentence.rows] for sentence in gold]
    if forms is None:
        return None
    lists = [list(words) for words in forms]
    if [len(words) for words in lists] != trees.lengths.tolist():
        raise InvalidInput("forms must have the words of each sentence, one for each head of gold.")
    return np.array([_is_punctuation(word) for words in lists for word in words], dtype=np.bool_)


def _is_punctuation(form: str) -> bool:
    return bool(form) and all(unicodedata.category(character).startswith("P") for character in form)


def _without_subtype(relation: str) -> str:
    return relation.partition(":")[0]


def _share(correct: int | None, total: int) -> float | None:
    if correct is None:
        return None
    return correct / total if total else 0.0


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.2f}%"
