"""Answers about scores of parts from a list of all outputs: too simple to be wrong."""

import itertools

import numpy as np


class Listed:
    """Outputs with rows of counts, and scores of parts."""

    def __init__(self, outputs, scores):
        self.scores = scores
        self.outputs = [output for output, _ in outputs]
        self.counts = np.array([counts for _, counts in outputs]).reshape(len(outputs), len(scores))
        with np.errstate(invalid="ignore"):
            self.totals = np.array([scores[counts > 0].sum() for counts in self.counts])
        self.log_z = np.logaddexp.reduce(self.totals)
        self.possible = self.log_z > -np.inf
        size = np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
        self.tolerance = 1e-12 * max(1.0, 10 * size)

    @property
    def probabilities(self):
        return np.exp(self.totals - self.log_z)

    @property
    def marginals(self):
        return self.probabilities @ self.counts

    @property
    def max_marginals(self):
        return np.array([self.totals[column > 0].max(initial=-np.inf) for column in self.counts.T])

    @property
    def entropy(self):
        p = self.probabilities[self.probabilities > 0]
        return float(-(p * np.log(p)).sum())

    def best(self, k):
        return np.sort(self.totals[self.totals > -np.inf])[::-1][:k]


def check_every_answer(structure, shape, listed, k, seed):
    """Compare what a structure answers with the list."""
    shape = np.array(shape, dtype=np.uint32)
    scores, close = listed.scores, dict(rtol=1e-11, atol=listed.tolerance)
    found = structure.best(shape, scores, k)
    np.testing.assert_allclose([score for _, score in found], listed.best(k), **close)
    assert all(a[1] >= b[1] for a, b in itertools.pairwise(found))
    outputs = [tuple(structure.output_of(shape, parts).tolist()) for parts, _ in found]
    assert len(set(outputs)) == len(found)
    totals = dict(zip(listed.outputs, listed.totals, strict=True))
    np.testing.assert_allclose([totals[output] for output in outputs], [score for _, score in found], **close)
    np.testing.assert_allclose(structure.log_partition(shape, scores), listed.log_z, **close)
    np.testing.assert_allclose(structure.max_marginals(shape, scores), listed.max_marginals, **close)
    if not listed.possible:
        assert structure.best_output(shape, scores) is None
        return
    output, score = structure.best_output(shape, scores)
    np.testing.assert_allclose([score, totals[tuple(output.tolist())]], listed.totals.max(), **close)
    log_z, marginals = structure.sums(shape, scores)
    np.testing.assert_allclose(log_z, listed.log_z, **close)
    np.testing.assert_allclose(marginals, listed.marginals, atol=listed.tolerance)
    np.testing.assert_allclose(structure.entropy(shape, scores), listed.entropy, atol=10 * listed.tolerance)
    possible = int((listed.totals > -np.inf).sum())
    drawn = [tuple(parts.tolist()) for parts in structure.sample(shape, scores, 5, seed, True)]
    probable = int((listed.probabilities > 1e-300).sum())
    assert min(5, probable) <= len(set(drawn)) == len(drawn) <= min(5, possible)
    for parts in structure.sample(shape, scores, 3, seed):
        assert totals[tuple(structure.output_of(shape, parts).tolist())] > -np.inf
