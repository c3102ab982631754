"""Clusters of words, learned from text without labels: words whose neighbours are alike.

A word is described by how much more often than chance each frequent word stands one or two places before or behind it
(positive pointwise mutual information), reduced to a few dimensions; k-means makes the clusters. The paths of Brown's
clusters, where a file has them, do the same by templates: ``class("paths.txt", word)``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

Tokens = Sequence[Sequence[tuple[str, ...]]]
OFFSETS = (-2, -1, 1, 2)
FREQUENT = 2000  # words that are looked for around a word
LEAST = 3  # times that a word must occur to be in a cluster
DIMENSIONS = 60


class WordClusters:
    """Clusters of words in lower case, one column for each number of clusters.

    Parameters
    ----------
    sizes : sequence of int
        How many clusters; each number gives a column.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes

    def fit(self, X: Tokens) -> Self:
        """Learn clusters from the words of a text."""
        sentences = [[token[0].lower() for token in sentence] for sentence in X]
        counts = Counter(word for sentence in sentences for word in sentence)
        words = [word for word, count in counts.items() if count >= LEAST]
        neighbours = _neighbours(sentences, words, [word for word, _ in counts.most_common(FREQUENT)])
        dimensions = min(DIMENSIONS, len(words) - 1)
        places = normalize(TruncatedSVD(dimensions, random_state=0).fit_transform(_information(neighbours)))
        columns = [_clusters(places, size) for size in self.sizes]
        self.clusters_ = dict(zip(words, zip(*columns, strict=True), strict=True))
        return self

    def columns(self, X: Tokens) -> list[list[tuple[str, ...]]]:
        """Return the clusters of each token, empty where the word is in none."""
        none = ("",) * len(self.sizes)
        return [[self.clusters_.get(token[0].lower(), none) for token in sentence] for sentence in X]


def _neighbours(sentences: list[list[str]], words: list[str], frequent: list[str]) -> Any:
    """How often each frequent word stands at each offset from each word, (words, offsets x frequent)."""
    row = {word: i for i, word in enumerate(words)}
    column = {word: i for i, word in enumerate(frequent)}
    pairs = [
        (row[word], k * len(frequent) + column[sentence[t + offset]])
        for sentence in sentences
        for t, word in enumerate(sentence)
        if word in row
        for k, offset in enumerate(OFFSETS)
        if 0 <= t + offset < len(sentence) and sentence[t + offset] in column
    ]
    rows, columns = np.array(pairs).T
    return sp.csr_matrix((np.ones(len(pairs)), (rows, columns)), shape=(len(words), len(OFFSETS) * len(frequent)))


def _information(counts: Any) -> Any:
    """The positive pointwise mutual information of rows and columns."""
    rows, columns = (np.asarray(counts.sum(axis)).ravel() for axis in (1, 0))
    entries = counts.tocoo()
    ratio = entries.data * counts.sum() / (rows[entries.row] * columns[entries.col])
    return sp.csr_matrix((np.maximum(np.log(ratio), 0), (entries.row, entries.col)), shape=counts.shape)


def _clusters(places: Any, size: int) -> list[str]:
    size = min(size, len(places))
    return [str(k) for k in MiniBatchKMeans(size, n_init=3, random_state=0).fit_predict(places)]
