"""The tasks of Mančev's thesis (2015): chunking (CoNLL-2000), Spanish names (CoNLL-2002), parts of speech (Brown).

What the thesis leaves open is decided here, and said in experiments/README.md: its features (see `features`), and for
Brown the texts, the split and the tags.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import trelliswork as tw
from common import features

PRESS = ("news", "editorial", "reviews")  # genres of Brown: about as many sentences as CoNLL-2000 has
EVERY_FIFTH = 5  # text of Brown is tested on: ca05, ca10, ...
RARE_COUNT, RARE_SHARE, MOST_TAGS = 2, 0.05, 4  # of the tags of a word in the dictionary
QUICK_TRAIN, QUICK_TEST = 1500, 700  # sentences
QUICK_SHARE = 3  # Brown has four times as many labels as CoNLL-2000: a third of the sentences


class Part(NamedTuple):
    """Sentences and their labels."""

    X: list[Any]
    y: list[list[str]]

    def first(self, n: int) -> Part:
        """Return the first n sentences."""
        return Part(self.X[:n], self.y[:n])


@dataclass(frozen=True)
class Task:
    """A corpus, what is seen of its tokens, and how answers are scored.

    Attributes
    ----------
    name : str
    train, test : Part
    measure : str
        ``"token_f1"``, the thesis's F-measure over the tokens of chunks or names, or ``"accuracy"``.
    templates : Templates
    dev : Part or None
        What settings may be chosen on, where the corpus has such a part.
    combinations : str
        Which weights there are, as in `SequenceLabeler`.
    """

    name: str
    train: Part
    test: Part
    measure: str
    templates: tw.Templates
    dev: Part | None = None
    combinations: str = features.COMBINATIONS

    def quick(self) -> Task:
        """Return the task with fewer sentences."""
        share = QUICK_SHARE if self.name == "POS tagging" else 1
        n_train, n_test = QUICK_TRAIN // share, QUICK_TEST // share
        dev = None if self.dev is None else self.dev.first(n_test)
        return replace(self, train=self.train.first(n_train), test=self.test.first(n_test), dev=dev)

    def labeler(self, learner: Any, seed: int = 0) -> tw.SequenceLabeler:
        """Return a tagger for this task, not trained."""
        return tw.SequenceLabeler(learner, self.templates, combinations=self.combinations, n_jobs=1, random_state=seed)

    def describe(self) -> str:
        """Return the sizes in a line."""
        sizes = ", ".join(
            f"{len(part.X)} sentences to {what}"
            for what, part in (("learn from", self.train), ("choose on", self.dev), ("test on", self.test))
            if part is not None
        )
        return f"{self.name}: {sizes}; {len({label for labels in self.train.y for label in labels})} labels"


def chunking() -> Task:
    """Return CoNLL-2000, seen with a dictionary."""
    train, test = (_columns(f"conll2000/{part}.txt.gz") for part in ("train", "test"))
    return Task("chunking", train, test, "token_f1", features.with_tags(brown_dictionary()))


def spanish() -> Task:
    """Return CoNLL-2002 Spanish: testa to choose on, testb to test on; never with a dictionary."""
    train, dev, test = (_columns(f"conll2002/esp.{part}.gz") for part in ("train", "testa", "testb"))
    return Task("Spanish NER", train, test, "token_f1", features.with_tags(), dev)


def brown() -> Task:
    """Return the press texts of Brown, every fifth text for testing, with simple tags."""
    with gzip.open(data_folder() / "brown" / "sentence_files.txt.gz", "rt", encoding="utf-8") as file:
        places = [line.rstrip("\n").split("\t")[1:] for line in file]
    sentences = _brown_text().strip().split("\n\n")
    train, test = Part([], []), Part([], [])
    for sentence, (text, genre) in zip(sentences, places, strict=True):
        if genre in PRESS:
            rows = [line.split("\t") for line in sentence.split("\n")]
            part = test if int(text[2:]) % EVERY_FIFTH == 0 else train
            part.X.append([word for word, _ in rows])
            part.y.append([simple_tag(tag) for _, tag in rows])
    return Task("POS tagging", train, test, "accuracy", features.words_only())


def brown_dictionary() -> list[str]:
    """Return a line for each word of Brown: the word in lower case, a tab, and the simple tags that it has there.

    Tags that are rare for the word are left out: those of less than a twentieth of its occurrences, or of one.
    """
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    for line in _brown_text().splitlines():
        if line:
            word, tag = line.split("\t")
            tags[word.lower()][simple_tag(tag)] += 1
    entries = []
    for word, counts in tags.items():
        least = max(RARE_COUNT, RARE_SHARE * counts.total())
        kept = sorted(tag for tag, count in counts.items() if count >= least) or [counts.most_common(1)[0][0]]
        entries.append(f"{word}\t{'/'.join(kept[:MOST_TAGS])}")
    return entries


def simple_tag(tag: str) -> str:
    """Return a Brown tag without what it says of title, headline, citation, foreign word, negation or second part.

    >>> [simple_tag(tag) for tag in ("nn-tl", "fw-in+at-tl", "do*", "*", "pps+bez")]
    ['nn', 'in', 'do', '*', 'pps']
    """
    for mark in ("-tl", "-hl", "-nc"):
        tag = tag.replace(mark, "")
    tag = tag.removeprefix("fw-").split("+")[0]
    return tag if tag == "*" else tag.replace("*", "")


def data_folder() -> Path:
    """Return the folder of public corpora: TRELLISWORK_DATA, or ../shared/data beside the repository."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("TRELLISWORK_DATA", beside))
    if not (folder / "conll2000" / "train.txt.gz").exists():
        print(
            "skipped: the corpora were not found. Set TRELLISWORK_DATA to the folder that has conll2000/, conll2002/ "
            "and brown/.",
            file=sys.stderr,
        )
        sys.exit(0)
    return folder


def tasks(quick: bool, *makers: Callable[[], Task]) -> list[Task]:
    """Return tasks, all of them or a part of their sentences."""
    return [make().quick() if quick else make() for make in makers]


def chunking_and_pos(quick: bool, pos: bool) -> list[Task]:
    """Return the two tasks of chapters 5 and 6, or chunking alone."""
    return tasks(quick, chunking, brown) if pos else tasks(quick, chunking)


def with_weights(grown: bool, some: list[Task]) -> list[Task]:
    """Return tasks, if asked for with weights for what only wrong outputs have."""
    return [replace(task, combinations="grown") for task in some] if grown else some


def _brown_text() -> str:
    with gzip.open(data_folder() / "brown" / "brown.txt.gz", "rt", encoding="utf-8") as file:
        return file.read()


def _columns(file: str) -> Part:
    X, y = tw.corpora.read_table(data_folder() / file)
    assert y is not None
    return Part(list(X), list(y))
