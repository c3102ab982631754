"""Every segmentation of a semi-Markov chain, one by one."""

import itertools
import math

import numpy as np


def every_segmentation(n_positions, max_length, n_labels, begin=0):
    """Yield all ways to cut ``begin .. n_positions`` into labelled segments ``(start, stop, label)``."""
    if begin == n_positions:
        yield ()
    for stop in range(begin + 1, min(begin + max_length, n_positions) + 1):
        for label in range(n_labels):
            for rest in every_segmentation(n_positions, max_length, n_labels, stop):
                yield ((begin, stop, label), *rest)


def segmentation_score(segments, segment_scores, transitions, start, end):
    """start of the first label, each segment, each pair of neighbouring labels, end of the last label."""
    if not segments:
        return 0.0
    labels = [label for _, _, label in segments]
    score = start[labels[0]] + end[labels[-1]]
    score += sum(segment_scores[begin, stop - begin - 1, label] for begin, stop, label in segments)
    score += sum(transitions[a, b] for a, b in itertools.pairwise(labels))
    return float(score)


class EverySegmentation:
    """A list of segmentations with a score each; the questions have the names they have in the library."""

    def __init__(self, segment_scores, transitions, start=None, end=None):
        segment_scores = np.asarray(segment_scores, dtype=float)
        self.n_positions, self.max_length, self.n_labels = segment_scores.shape
        transitions = np.asarray(transitions, dtype=float)
        start = np.zeros(self.n_labels) if start is None else start
        end = np.zeros(self.n_labels) if end is None else end
        self.segmentations = list(every_segmentation(self.n_positions, self.max_length, self.n_labels))
        self.scores = [
            segmentation_score(segments, segment_scores, transitions, start, end) for segments in self.segmentations
        ]

    # The same segmentations under another score.

    def rescored(self, rescore):
        """A copy in which each score became ``rescore(segments, score)``."""
        copy = object.__new__(EverySegmentation)
        copy.__dict__.update(self.__dict__)
        copy.scores = [rescore(segments, score) for segments, score in self]
        return copy

    def where(self, keep):
        """Forbid the segmentations for which ``keep(segments)`` is false."""
        return self.rescored(lambda segments, score: score if keep(segments) else -math.inf)

    def __iter__(self):
        return iter(zip(self.segmentations, self.scores, strict=True))

    # Maxima.

    @property
    def satisfiable(self):
        return max(self.scores) > -math.inf

    def best_score(self):
        return max(self.scores)

    def best_scores(self, k):
        return [score for score in sorted(self.scores, reverse=True)[:k] if score > -math.inf]

    def max_marginals(self):
        best = np.full((self.n_positions, self.n_labels), -math.inf)
        for segments, score in self:
            for t, label in enumerate(position_labels(segments)):
                best[t, label] = max(best[t, label], score)
        return best

    # Sums.

    def log_partition(self):
        return np.logaddexp.reduce(self.scores)

    def probabilities(self):
        weights = np.exp(np.array(self.scores) - max(self.scores))
        return weights / np.sum(weights)

    def marginals(self):
        sums = np.zeros((self.n_positions, self.n_labels))
        for segments, p in zip(self.segmentations, self.probabilities(), strict=True):
            for t, label in enumerate(position_labels(segments)):
                sums[t, label] += p
        return sums

    def segment_marginals(self):
        sums = np.zeros((self.n_positions, self.max_length, self.n_labels))
        for segments, p in zip(self.segmentations, self.probabilities(), strict=True):
            for begin, stop, label in segments:
                sums[begin, stop - begin - 1, label] += p
        return sums

    def edge_marginals(self):
        """The probability of a boundary after each position with these labels on its two sides."""
        sums = np.zeros((max(self.n_positions - 1, 0), self.n_labels, self.n_labels))
        for segments, p in zip(self.segmentations, self.probabilities(), strict=True):
            for (_, stop, left), (_, _, right) in itertools.pairwise(segments):
                sums[stop - 1, left, right] += p
        return sums

    def entropy(self):
        return -sum(p * math.log(p) for p in self.probabilities() if p > 0)


def position_labels(segments):
    """The label of every position."""
    return [label for begin, stop, label in segments for _ in range(begin, stop)]
