"""Every labelling and its score in one table; each answer is read off the table, without any recursion."""

import functools
import itertools

import numpy as np


@functools.cache
def every_labelling(n_positions, n_labels):
    """All labellings as rows, in the order of the tie rule: smallest read from the end first."""
    backwards = list(itertools.product(range(n_labels), repeat=n_positions))
    labellings = np.array(backwards, dtype=np.intp).reshape(n_labels**n_positions, n_positions)[:, ::-1]
    labellings.flags.writeable = False
    return labellings


class Enumeration:
    """A table of labellings (N, T) with a score each (N,); the questions have the names they have in the library."""

    def __init__(self, labellings, scores, n_labels):
        self.labellings = labellings
        self.scores = np.asarray(scores, dtype=float)
        self.n_labels = n_labels
        self.n_positions = labellings.shape[1]

    # The same labellings under another score.

    def where(self, keep):
        """Forbid every labelling whose entry of ``keep`` (N,) is false."""
        return Enumeration(self.labellings, np.where(keep, self.scores, -np.inf), self.n_labels)

    def augmented(self, gold, cost, scale):
        """Add ``scale`` times the summed cost against ``gold`` to the score of each labelling (eq. 2.37, 2.40)."""
        charges = sum(
            (cost[gold[t], self.labellings[:, t]] for t in range(self.n_positions)), np.zeros(len(self.scores))
        )
        return Enumeration(self.labellings, self.scores + scale * charges, self.n_labels)

    # Maxima.

    @property
    def satisfiable(self):
        return bool(np.any(self.scores > -np.inf))

    def argmax(self):
        best = np.argmax(self.scores)  # NumPy takes the first of equals, and the rows are in the order of the tie rule
        return self.labellings[best].tolist(), self.scores[best]

    def kbest(self, k):
        order = np.argsort(-self.scores, kind="stable")
        return [(self.labellings[i].tolist(), self.scores[i]) for i in order[:k] if self.scores[i] > -np.inf]

    def max_marginals(self):
        best = np.full((self.n_positions, self.n_labels), -np.inf)
        for t in range(self.n_positions):
            for label in range(self.n_labels):
                best[t, label] = np.max(self.scores[self.labellings[:, t] == label])
        return best

    # Sums.

    def log_partition(self):
        return np.logaddexp.reduce(self.scores)

    def probabilities(self):
        """The probability of each labelling (N,)."""
        best = np.max(self.scores)
        weights = np.exp(self.scores - best)
        return weights / np.sum(weights)

    def window_marginals(self, width):
        """The probability of each tuple of labels at ``width`` neighbouring positions: (T - width + 1, K, ..., K)."""
        n_windows = max(self.n_positions - width + 1, 0)
        windows = np.zeros((n_windows, *[self.n_labels] * width))
        probabilities = self.probabilities()
        for t in range(n_windows):
            np.add.at(windows[t], tuple(self.labellings[:, t : t + width].T), probabilities)
        return windows

    def marginals(self):
        return self.window_marginals(1)

    def edge_marginals(self):
        return self.window_marginals(2)

    def entropy(self):
        p = self.probabilities()
        p = p[p > 0]
        return -np.sum(p * np.log(p))

    def span_probability(self, start, label_sets):
        inside = np.ones(len(self.scores), dtype=bool)
        for i, labels in enumerate(label_sets):
            inside &= np.isin(self.labellings[:, start + i], list(labels))
        return np.sum(self.probabilities()[inside])

    def expected_labels(self):
        return np.array([self._expected(np.sum(self.labellings == a, axis=1)) for a in range(self.n_labels)])

    def expected_transitions(self):
        left, right = self.labellings[:, :-1], self.labellings[:, 1:]
        counts = np.zeros((self.n_labels, self.n_labels))
        for a, b in itertools.product(range(self.n_labels), repeat=2):
            counts[a, b] = self._expected(np.sum((left == a) & (right == b), axis=1))
        return counts

    def expected_attributes(self, attributes):
        """Expected sum of the attributes (T, F) over the positions that carry each label: (F, K)."""
        counts = np.zeros((attributes.shape[1], self.n_labels))
        for f, a in itertools.product(range(attributes.shape[1]), range(self.n_labels)):
            counts[f, a] = self._expected((self.labellings == a) @ attributes[:, f])
        return counts

    def _expected(self, values):
        return np.sum(self.probabilities() * values)

    # One labelling.

    def score(self, labels):
        return self.scores[np.all(self.labellings == np.asarray(labels, dtype=int), axis=1)].item()

    def log_prob(self, labels):
        return self.score(labels) - self.log_partition()
