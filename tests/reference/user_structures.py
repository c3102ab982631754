"""Structures written in Python, the obvious way: those the library has too, so that both can be compared."""

import itertools

import numpy as np

import trelliswork as tw


class Listed(tw.Structure):
    """One of ``n_labels`` labels for a vector, all labels listed; weights lie [column][label] as in `LabelOracle`."""

    def __init__(self, n_columns, n_labels, costs=None):
        self.n_columns, self.n_labels = n_columns, n_labels
        self.n_features = n_columns * n_labels
        self.costs = 1.0 - np.eye(n_labels) if costs is None else costs

    def outputs(self, x):
        return range(self.n_labels)

    def features(self, x, y):
        return np.arange(self.n_columns) * self.n_labels + y, x

    def cost(self, gold, y):
        return self.costs[gold, y]


class ListedChain(tw.Structure):
    """Labels of a sequence of symbols: a weight for each (symbol, label), then one for each (label, label)."""

    def __init__(self, n_symbols, n_labels):
        self.n_symbols, self.n_labels = n_symbols, n_labels
        self.n_features = n_symbols * n_labels + n_labels * n_labels

    def outputs(self, x):
        """In the order of chains: among equals, the smallest read from the end comes first."""
        return [y[::-1] for y in itertools.product(range(self.n_labels), repeat=len(x))]

    def features(self, x, y):
        found = {}
        pairs = [(a, b) for a, b in itertools.pairwise(y)]
        for index in [s * self.n_labels + label for s, label in zip(x, y, strict=True)] + [
            self.n_symbols * self.n_labels + a * self.n_labels + b for a, b in pairs
        ]:
            found[index] = found.get(index, 0.0) + 1.0
        return found

    def cost(self, gold, y):
        return float(sum(a != b for a, b in zip(gold, y, strict=True)))

    def chain(self, x, weights, gold=None, cost_scale=0.0):
        emissions = weights[: self.n_symbols * self.n_labels].reshape(self.n_symbols, self.n_labels)
        transitions = weights[self.n_symbols * self.n_labels :].reshape(self.n_labels, self.n_labels)
        chain = tw.Chain(emissions[list(x)], transitions)
        return chain if cost_scale == 0.0 else chain.augmented(list(gold), "hamming", cost_scale)


class AskedChain(ListedChain):
    """The same, with Viterbi, A* and forward-backward in place of the list."""

    outputs = tw.Structure.outputs

    def argmax(self, x, weights, gold=None, cost_scale=0.0):
        return tuple(self.chain(x, weights, gold, cost_scale).argmax().labels.tolist())

    def kbest(self, x, weights, k, gold=None, cost_scale=0.0):
        return [tuple(y.labels.tolist()) for y in self.chain(x, weights, gold, cost_scale).kbest(k)]

    def expectations(self, x, weights, gold=None, cost_scale=0.0):
        chain = self.chain(x, weights, gold, cost_scale)
        emissions = np.zeros((self.n_symbols, self.n_labels))
        np.add.at(emissions, list(x), chain.marginals())
        transitions = chain.edge_marginals().sum(axis=0) if len(x) > 1 else np.zeros((self.n_labels, self.n_labels))
        return chain.log_partition(), np.concatenate([emissions.ravel(), transitions.ravel()])
