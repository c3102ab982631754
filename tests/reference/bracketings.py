"""Every labelled bracketing of a short sentence, one by one, straight from the definition."""

import functools
import itertools
import math

import numpy as np


def every_child(i, j, n_labels):
    """Yield what may stand over ``i .. j`` within a constituent: a bare word, or a constituent."""
    if j == i + 1:
        yield ()
    yield from every_constituent(i, j, n_labels)


def every_constituent(i, j, n_labels):
    """Yield all trees whose root is a constituent over ``i .. j``, as rows (begin, end, label), outermost first."""
    for label in range(n_labels):
        if j == i + 1:
            yield ((i, j, label),)
            continue
        for n_cuts in range(1, j - i):
            for cuts in itertools.combinations(range(i + 1, j), n_cuts):
                ends = (i, *cuts, j)
                kids = [list(every_child(a, b, n_labels)) for a, b in itertools.pairwise(ends)]
                for chosen in itertools.product(*kids):
                    yield ((i, j, label), *itertools.chain(*chosen))


@functools.cache
def every_bracketing(n, n_labels):
    """Return all trees, and for each the places of its constituents in a flat array of spans, padded with its size."""
    trees = list(every_constituent(0, n, n_labels)) if n else [()]
    shape, most = (n, n + 1, n_labels), max(map(len, trees))
    places = np.full((len(trees), most), np.prod(shape))
    for at, rows in zip(places, trees, strict=True):
        at[: len(rows)] = [np.ravel_multi_index(row, shape) for row in rows]
    return trees, places


class EveryBracketing:
    """All bracketings with a score each; the questions have the names they have in the library."""

    def __init__(self, spans):
        self.spans = np.asarray(spans, dtype=float)
        self.n_words, _, self.n_labels = self.spans.shape
        self.outputs, self.places = every_bracketing(self.n_words, self.n_labels)
        self.scores = np.append(self.spans, 0.0)[self.places].sum(axis=1)

    def best_scores(self, k):
        return [score for score in np.sort(self.scores)[::-1][:k] if score > -math.inf]

    def log_partition(self):
        return np.logaddexp.reduce(self.scores)

    def probabilities(self):
        return np.exp(self.scores - self.log_partition())

    def marginals(self):
        out = np.zeros(self.spans.size + 1)
        np.add.at(out, self.places, self.probabilities()[:, None])
        return out[:-1].reshape(self.spans.shape)

    def max_marginals(self):
        out = np.full(self.spans.size + 1, -math.inf)
        np.maximum.at(out, self.places, self.scores[:, None])
        return out[:-1].reshape(self.spans.shape)

    def entropy(self):
        return -sum(p * math.log(p) for p in self.probabilities() if p > 0)
