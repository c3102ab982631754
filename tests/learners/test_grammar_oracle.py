"""Grammars in training: the weights of rules and of words, from trees, against the list of all trees."""

import numpy as np
import pytest

from reference.grammars import EveryParse
from trelliswork import _core, learners

N_SYMBOLS, N_TERMINALS, NONE = 2, 2, 2**32 - 1
RULES = [("S", ("S", "T"), 0.0), ("S", ("T", "S"), 0.0), ("S", ("x",), 0.0), ("T", ("x",), 0.0), ("T", ("y",), 0.0)]
TABLE = [(0, 0, 1, 0), (0, 1, 0, 1), (0, 2, NONE, 2), (1, 2, NONE, 3), (1, 3, NONE, 4)]
STRUCTURE = _core.PartStructure.grammar(
    N_SYMBOLS, 0, N_TERMINALS, len(RULES), np.array(TABLE, dtype=np.uint32).ravel(), np.zeros(1, dtype=np.uint32)
)


class Problem:
    """Sentences whose words may be x or y; attributes of words, and one of the whole for the rules."""

    def __init__(self, seed, n_examples=8):
        rng = np.random.default_rng(seed)
        self.lengths = rng.integers(1, 5, n_examples)
        self.units = [rng.integers(0, 3, n) for n in self.lengths]  # each word has one of three attributes
        self.every = [
            EveryParse(RULES, ["S"], [{"x": 0.0, "y": 0.0}] * int(n), ["S", "T"], len(RULES)) for n in self.lengths
        ]
        self.gold = [int(rng.integers(len(every.trees))) for every in self.every]

    def output(self, i, tree):
        every = self.every[i]
        number = every.trees.index(tree)
        rows = [(a, b, "ST".index(node.label)) for node, a, b in tree.nodes()]
        rows += [(t, t + 1, N_SYMBOLS + "xy".index(name)) for t, name in every.words[number]]
        return np.array(rows, dtype=np.uint32).ravel()

    def oracle(self):
        n_words, n_examples = int(self.lengths.sum()), len(self.lengths)
        ones = np.arange(n_examples + 1, dtype=np.int64)
        words = ("words", 1, "each", 0, N_TERMINALS, 3, np.empty(0, dtype=np.int64),
                 np.cumsum([0, *self.lengths], dtype=np.int64), np.arange(n_words + 1, dtype=np.int64),
                 np.concatenate(self.units).astype(np.int64), np.ones(n_words))  # fmt: skip
        rules = ("rules", 2, "tied", 0, len(RULES), 1, np.empty(0, dtype=np.int64), ones, ones,
                 np.zeros(n_examples, dtype=np.int64), np.ones(n_examples))  # fmt: skip
        outputs = [
            self.output(i, every.trees[g]) for i, (every, g) in enumerate(zip(self.every, self.gold, strict=True))
        ]
        shapes = [np.array([n], dtype=np.uint32) for n in self.lengths]
        return _core.LinearOracle(STRUCTURE, shapes, outputs, np.ones(n_examples), [words, rules], "all")

    def features(self, i, number):
        words, rules = np.zeros((3, N_TERMINALS)), np.zeros(len(RULES))
        for t, name in self.every[i].words[number]:
            words[self.units[i][t], "xy".index(name)] += 1
        for rule, count in self.every[i].used[number].items():
            rules[rule] += count
        return np.concatenate([words.ravel(), rules])


@pytest.mark.parametrize("seed", range(5))
def test_loss_and_gradient_are_those_of_the_list(seed):
    problem = Problem(seed)
    oracle = problem.oracle()
    w = np.random.default_rng(seed).normal(size=oracle.n_weights)
    gradient = np.zeros(len(w))
    loss, expected, derivative = oracle.loss(w, gradient), 0.0, np.zeros(len(w))
    for i, (every, gold) in enumerate(zip(problem.every, problem.gold, strict=True)):
        rows = np.array([problem.features(i, number) for number in range(len(every.trees))])
        log_z = np.logaddexp.reduce(rows @ w)
        expected += log_z - rows[gold] @ w
        derivative += np.exp(rows @ w - log_z) @ rows - rows[gold]
    assert loss == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(gradient, derivative, atol=1e-10)


@pytest.mark.parametrize("name", ["crf", "perceptron", "pa", "mira"])
def test_learners_learn_from_trees(name):
    problem = Problem(3)
    # Gold: the tree that some weights prefer, so that there is something to learn.
    teacher = np.random.default_rng(9).normal(size=6 + len(RULES))
    for i, every in enumerate(problem.every):
        problem.gold[i] = int(np.argmax([problem.features(i, t) @ teacher for t in range(len(every.trees))]))
    oracle = problem.oracle()
    learner = learners.by_name(name)
    if "epochs" in learner.get_params():
        learner.set_params(epochs=30)
    weights = learner.train(oracle, seed=1).weights
    right = sum(oracle.kbest(weights, i, 1, 0.0)[0][2] == 0.0 for i in range(oracle.n_examples))
    assert right >= 7
