"""Columns that look at the whole document of a token, for text of a news agency: its topic, other uses of a word.

No gold label is looked at but to train: topics are learned from words alone, and what the other uses of a word are
labelled is what a first model says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Self

from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

Tokens = Sequence[Sequence[tuple[str, ...]]]
DIMENSIONS = 50  # of the space in which documents are clustered


def documents(X: Tokens, agency: str = "EFE") -> list[int]:
    """Return the number of the document of each sentence. A document begins with a dateline, which names the agency.

    >>> dateline, text = [("Madrid", "NP"), ("(", "Fpa"), ("EFE", "NC"), (")", "Fpt")], [("Hoy", "RG")]
    >>> documents([dateline, text, dateline, text, text])
    [0, 0, 1, 1, 1]
    """
    numbers: list[int] = []
    current = 0
    for sentence in X:
        words = [token[0] for token in sentence]
        if numbers and any(a == "(" and b.startswith(agency) for a, b in pairwise(words)):
            current += 1
        numbers.append(current)
    return numbers


class Topics:
    """Clusters of documents, by their words that have no capital: k-means in the space of latent semantic analysis.

    Parameters
    ----------
    sizes : sequence of int
        How many clusters; each number gives a column.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes

    def fit(self, X: Tokens) -> Self:
        """Learn clusters from the documents of a text."""
        texts = _texts(X)
        weigh = TfidfVectorizer(analyzer=list, min_df=3, max_df=0.5, sublinear_tf=True)
        n_words = len(TfidfVectorizer(analyzer=list, min_df=3, max_df=0.5).fit(texts).vocabulary_)
        reduce = TruncatedSVD(min(DIMENSIONS, n_words - 1), random_state=0)
        self._space = make_pipeline(weigh, reduce, Normalizer())
        places = self._space.fit_transform(texts)
        self._clusters = [KMeans(size, n_init=4, random_state=0).fit(places) for size in self.sizes]
        return self

    def columns(self, X: Tokens) -> list[list[tuple[str, ...]]]:
        """Return the topics of each token: those of its document."""
        places = self._space.transform(_texts(X))
        topics = list(zip(*(map(str, clusters.predict(places)) for clusters in self._clusters), strict=True))
        return [[topics[number]] * len(sentence) for sentence, number in zip(X, documents(X), strict=True)]


def other_uses(X: Tokens, labels: Sequence[Sequence[str]]) -> list[list[tuple[str]]]:
    """Return, for each token with a capital, the label that most of the other uses of the word in its document have.

    It is ``none`` if there is no other use, nothing for tokens without a capital. (Krishnan & Manning 2006.)
    """
    numbers = documents(X)
    counts: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for number, sentence, spelled in zip(numbers, X, labels, strict=True):
        for token, label in zip(sentence, spelled, strict=True):
            counts[number, token[0].lower()][label] += token[0][:1].isupper()
    return [
        [
            (_most(counts[number, token[0].lower()], but=label) if token[0][:1].isupper() else "",)
            for token, label in zip(sentence, spelled, strict=True)
        ]
        for number, sentence, spelled in zip(numbers, X, labels, strict=True)
    ]


def _most(counts: Counter[str], but: str) -> str:
    """The most frequent label, one use with the label ``but`` left out."""
    others = {label: count - (label == but) for label, count in counts.items()}
    best = max(sorted(others), key=lambda label: others[label])
    return best if others[best] > 0 else "none"


def _texts(X: Tokens) -> list[list[str]]:
    texts: dict[int, list[str]] = defaultdict(list)
    for sentence, number in zip(X, documents(X), strict=True):
        texts[number] += [token[0] for token in sentence if token[0] == token[0].lower()]
    return [texts[number] for number in sorted(texts)]
