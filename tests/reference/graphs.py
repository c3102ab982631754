"""Factor graphs one labelling at a time: slow, and too simple to be wrong."""

import itertools

import numpy as np

from trelliswork import factors


class Labellings:
    """All labellings of a graph that are allowed, best first, with their scores."""

    def __init__(self, unary, edges, pairwise, others=()):
        self.n_labels = [len(u) for u in unary]
        found = []
        for labels in itertools.product(*map(range, self.n_labels)):
            score = sum(u[k] for u, k in zip(unary, labels, strict=True))
            score += sum(table[labels[a], labels[b]] for (a, b), table in zip(edges, pairwise, strict=True))
            score += sum(_score(factor, labels) for factor in others)
            if score > -np.inf:
                found.append((float(score), labels))
        found.sort(key=lambda one: -one[0])
        self.scores = np.array([score for score, _ in found])
        self.labels = [list(labels) for _, labels in found]
        self.edges = [tuple(edge) for edge in edges]

    def __len__(self):
        return len(self.labels)

    def log_partition(self):
        return float(np.logaddexp.reduce(self.scores)) if len(self) else -np.inf

    def probabilities(self):
        return np.exp(self.scores - self.log_partition())

    def entropy(self):
        p = self.probabilities()
        return float(-(p[p > 0] * np.log(p[p > 0])).sum())

    def marginals(self):
        out = [np.zeros(k) for k in self.n_labels]
        for p, labels in zip(self.probabilities(), self.labels, strict=True):
            for v, label in enumerate(labels):
                out[v][label] += p
        return out

    def edge_marginals(self):
        out = [np.zeros((self.n_labels[a], self.n_labels[b])) for a, b in self.edges]
        for p, labels in zip(self.probabilities(), self.labels, strict=True):
            for table, (a, b) in zip(out, self.edges, strict=True):
                table[labels[a], labels[b]] += p
        return out

    def max_marginals(self):
        out = [np.full(k, -np.inf) for k in self.n_labels]
        for score, labels in zip(self.scores, self.labels, strict=True):
            for v, label in enumerate(labels):
                out[v][label] = max(out[v][label], score)
        return out


def _score(factor, labels):
    if isinstance(factor, factors.Table):
        return factor.scores[tuple(labels[v] for v in factor.variables)]
    n_true = sum(labels[v] == k for v, k in factor.literals.tolist())
    if isinstance(factor, factors.Xor):
        return 0.0 if n_true == 1 else -np.inf
    if isinstance(factor, factors.Or):
        return 0.0 if n_true >= 1 else -np.inf
    return 0.0 if n_true <= factor.most else -np.inf


def random_graph(rng, most_variables=6, most_labels=3, loops=True, others=True):
    """Return unary, edges, pairwise and other factors, with ties, -inf, isolated variables and several edges."""
    n = int(rng.integers(0, most_variables + 1))
    n_labels = rng.integers(1, most_labels + 1, size=n)
    rounded, forbidding = rng.random() < 0.4, rng.choice([0.0, 0.0, 0.1, 0.3])

    def scores(*shape):
        out = rng.integers(-2, 3, size=shape).astype(float) if rounded else rng.normal(size=shape) * 3
        return np.where(rng.random(shape) < forbidding, -np.inf, out)

    if loops:
        edges = [tuple(rng.choice(n, 2, replace=False)) for _ in range(rng.integers(0, 9)) if n > 1]
    else:
        edges = [(v, int(rng.integers(v))) for v in range(1, n) if rng.random() < 0.9]
        edges = [edge if rng.random() < 0.5 else edge[::-1] for edge in edges]
    edges = [(int(a), int(b)) for a, b in edges]
    pairwise = [scores(n_labels[a], n_labels[b]) for a, b in edges]
    more = []
    for _ in range(rng.integers(0, 3) if others and n else 0):
        scope = rng.permutation(n)[: rng.integers(1, min(n, 4) + 1)]
        kind = rng.integers(4)
        literals = [(v, k) for v in scope for k in range(n_labels[v]) if rng.random() < 0.6]
        literals = literals or [(scope[0], 0)]
        if kind == 0:
            more.append(factors.Table(scope, scores(*n_labels[scope])))
        elif kind == 1:
            more.append(factors.Xor(literals))
        elif kind == 2:
            more.append(factors.Or(literals))
        else:
            more.append(factors.AtMost(literals, int(rng.integers(0, 4))))
    return [scores(k) for k in n_labels], edges, pairwise, more
