"""Small corpora, cut into shards."""

import numpy as np

import trelliswork as tw
from trelliswork.distributed import slice_of


def recipes(n=240):
    """Sequences of words with their labels."""
    corpus = tw.corpora.ingredients()
    return list(corpus.X_train[:n]), list(corpus.y_train[:n])


def cut(X, y, n):
    """What `distributed.fit` calls for each of n shards."""
    return lambda i: (slice_of(X, i, n), slice_of(y, i, n))


def same_model(a, b):
    """Whether two labelers have the same model, to the last bit."""
    (one, _), (other, _) = a.exported(), b.exported()
    return set(one) == set(other) and all(np.array_equal(one[name], other[name]) for name in one)
