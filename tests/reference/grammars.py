"""Every tree of a small grammar over a short sentence, straight from the rules: no binarising, no tables."""

import itertools
import math
from collections import Counter

import numpy as np

from trelliswork import Constituent


def every_tree(rules, word_scores, symbol, i, j):
    """Yield (tree, score, rules used, terminals used) of all derivations of words ``i .. j - 1`` from a symbol.

    ``rules`` maps a parent to a list of (number, children, score), ``word_scores`` a position to {terminal: score}.
    """
    if symbol not in rules:
        if j == i + 1 and symbol in word_scores[i]:
            yield symbol, word_scores[i][symbol], (), ((i, symbol),)
        return
    for number, children, score in rules[symbol]:
        for cuts in itertools.combinations(range(i + 1, j), len(children) - 1):
            ends = (i, *cuts, j)
            below = [
                list(every_tree(rules, word_scores, child, a, b))
                for child, (a, b) in zip(children, itertools.pairwise(ends), strict=True)
            ]
            for chosen in itertools.product(*below):
                yield (
                    Constituent(symbol, [tree for tree, *_ in chosen]),
                    score + sum(one[1] for one in chosen),
                    (number, *itertools.chain(*(one[2] for one in chosen))),
                    tuple(itertools.chain(*(one[3] for one in chosen))),
                )


class EveryParse:
    """All trees with their scores; the questions have the names they have in the library."""

    def __init__(self, rules, start, word_scores, symbols, n_rules):
        table = {}
        for number, (parent, children, score) in enumerate(rules):
            table.setdefault(parent, []).append((number, children, score))
        n = len(word_scores)
        found = [one for symbol in start for one in every_tree(table, word_scores, symbol, 0, n)] if n else []
        self.n, self.symbols, self.n_rules = n, symbols, n_rules
        self.trees = [tree for tree, *_ in found]
        self.scores = np.array([score for _, score, *_ in found])
        self.used = [Counter(rules) for _, _, rules, _ in found]
        self.words = [words for *_, words in found]

    @property
    def possible(self):
        return len(self.scores) > 0 and self.scores.max() > -math.inf

    def best_scores(self, k):
        return [score for score in sorted(self.scores, reverse=True)[:k] if score > -math.inf]

    def log_partition(self):
        return np.logaddexp.reduce(self.scores) if len(self.scores) else -math.inf

    def probabilities(self):
        return np.exp(self.scores - self.log_partition())

    def rule_marginals(self):
        out = np.zeros(self.n_rules)
        for used, p in zip(self.used, self.probabilities(), strict=True):
            for number, count in used.items():
                out[number] += p * count
        return out

    def _spans(self, tree):
        return [(i, j, self.symbols.index(node.label)) for node, i, j in tree.nodes()]

    def marginals(self):
        out = np.zeros((self.n, self.n + 1, len(self.symbols)))
        for tree, p in zip(self.trees, self.probabilities(), strict=True):
            for place in self._spans(tree):
                out[place] += p
        return out

    def max_marginals(self):
        out = np.full((self.n, self.n + 1, len(self.symbols)), -math.inf)
        for tree, score in zip(self.trees, self.scores, strict=True):
            for place in self._spans(tree):
                out[place] = max(out[place], score)
        return out

    def word_marginals(self, terminals):
        out = np.zeros((self.n, len(terminals)))
        for words, p in zip(self.words, self.probabilities(), strict=True):
            for t, terminal in words:
                out[t, terminals.index(terminal)] += p
        return out

    def entropy(self):
        return -sum(p * math.log(p) for p in self.probabilities() if p > 0)
