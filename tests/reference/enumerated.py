"""A training set of sequences with every labelling written down: what a learner must make of it, for any structure.

Weights are one plain vector: of each attribute with each label, then of each pair of labels.
"""

import itertools

import numpy as np

from trelliswork import _core


class Enumerated:
    """Sequences of attributes with values, and all that may be said of them.

    ``allows(before, after)`` forbids labellings; ``seen`` leaves only the weights of combinations that gold has.
    """

    def __init__(
        self,
        X,
        Y,
        *,
        sample_weight=None,
        token_weight=None,
        cost=None,
        allows=None,
        seen=False,
        labels=None,
        names=None,
    ):
        self.X, self.Y, self.seen = X, Y, seen
        self.labels = labels or sorted({label for y in Y for label in y})
        self.names = names or sorted({name for x in X for token in x for name in token})
        self.sample_weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.token_weight = [np.ones(len(x)) for x in X] if token_weight is None else token_weight
        self.cost = 1.0 - np.eye(len(self.labels)) if cost is None else np.asarray(cost)
        self.allows = allows or (lambda before, after: True)
        self.n_weights = len(self.names) * len(self.labels) + len(self.labels) ** 2

    def outputs(self, x):
        """Every allowed labelling by number, in the order in which ties are broken: smallest read from its end."""
        every = itertools.product(range(len(self.labels)), repeat=len(x))
        return sorted((y for y in every if self.allowed(y)), key=lambda y: y[::-1])

    def allowed(self, y):
        path = [None, *(self.labels[k] for k in y), None]
        return all(self.allows(before, after) for before, after in itertools.pairwise(path))

    def features(self, x, y):
        f = np.zeros(self.n_weights)
        K = len(self.labels)
        for t, token in enumerate(x):
            for name, value in token.items():
                f[self.names.index(name) * K + y[t]] += value
            if t > 0:
                f[len(self.names) * K + y[t - 1] * K + y[t]] += 1.0
        return f

    def numbers(self, y):
        return tuple(self.labels.index(label) for label in y)

    def masked(self, f):
        """Features without weight left out."""
        if not self.seen:
            return f
        golds = [self.features(x, self.numbers(y)) for x, y in zip(self.X, self.Y, strict=True)]
        return f * (np.sum(golds, axis=0) > 0)

    def oracle(self):
        """The core's oracle of listed outputs."""
        starts, gold, rows, costs = [0], [], [], []
        for x, y, v in zip(self.X, self.Y, self.token_weight, strict=True):
            right, outputs = self.numbers(y), self.outputs(x)
            gold.append(outputs.index(right))
            for output in outputs:
                rows.append(self.masked(self.features(x, output)))
                costs.append(sum(v[t] * self.cost[a, b] for t, (a, b) in enumerate(zip(right, output, strict=True))))
            starts.append(len(rows))
        return self._made(starts, gold, rows, costs, self.sample_weight)

    def decisions(self):
        """Single decisions given the gold label before, as a model normalised step by step has them."""
        starts, gold, rows, costs, weights = [0], [], [], [], []
        for x, y, v, own in zip(self.X, self.Y, self.token_weight, self.sample_weight, strict=True):
            right = self.numbers(y)
            for t in range(len(x)):
                options = [k for k in range(len(self.labels)) if self._may_follow(y, t, self.labels[k])]
                gold.append(options.index(right[t]))
                for k in options:
                    path = [*right[:t], k]
                    rows.append(self.masked(self.features(x[: t + 1], path) - self.features(x[:t], right[:t])))
                    costs.append(self.cost[right[t], k])
                starts.append(len(rows))
                weights.append(own * v[t])
        return self._made(starts, gold, rows, costs, np.array(weights))

    def _may_follow(self, y, t, label):
        before = y[t - 1] if t else None
        return self.allows(before, label) and (t + 1 < len(y) or self.allows(label, None))

    def _made(self, starts, gold, rows, costs, weights):
        indptr, indices, data = [0], [], []
        for row in rows:
            places = np.flatnonzero(row)
            indices += places.tolist()
            data += row[places].tolist()
            indptr.append(len(indices))
        return _core.EnumeratedOracle.make(
            np.array(starts), np.array(gold), np.array(indptr), np.array(indices, dtype=np.int64),
            np.array(data, dtype=float), self.n_weights, np.array(costs, dtype=float), np.array(weights, dtype=float),
        )  # fmt: skip

    def vector(self, labeler):
        """The weights of a labeler in the order of this class."""
        w, K = np.zeros(self.n_weights), len(self.labels)
        for attribute, previous, label, weight in labeler.weights():
            k = self.labels.index(label)
            if attribute is None:
                w[len(self.names) * K + self.labels.index(previous) * K + k] = weight
            else:
                w[self.names.index(attribute) * K + k] = weight
        return w
