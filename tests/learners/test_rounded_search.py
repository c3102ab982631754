"""Online learners look for the best labelling in single precision. Perceptrons without an average have whole weights,
whose sums are exact in either precision: single and double must make the same weights, ties and all.
"""

import numpy as np
import pytest

from learners.test_primal_chains import members
from training.problems import oracle, random_problem
from trelliswork.learners.online import Perceptron


def made(seed, n_labels, max_length, combinations, flags=(), rounded=False):
    problem = random_problem(
        seed, flags, n_labels, 12, max_length, vocabulary=25, per_token=5, combinations=combinations
    )
    problem.scale = 0.0
    return oracle(problem, best=True, by_member=True, rounded=rounded)


def in_double(examples, epochs):
    """The perceptron, by the best labelling that double precision finds."""
    w, counts = np.zeros(examples.n_weights), members(examples)
    for _ in range(epochs):
        for i in range(examples.n_examples):
            ((_, _, _, indices, values),) = examples.kbest(w, i, 1)
            if len(w) < examples.n_weights:
                w = np.concatenate([w, np.zeros(examples.n_weights - len(w))])
                counts = members(examples)
            w[indices] += values / counts[indices]
    return w


@pytest.mark.parametrize("combinations", ["seen", "all", "grown"])
@pytest.mark.parametrize(
    ("n_labels", "max_length"),
    [(1, 5), (2, 3), (9, 30), (16, 10), (17, 8), (22, 30), (40, 8), (64, 5), (70, 5), (3, 400)],
)
def test_perceptrons_are_those_of_double_precision(n_labels, max_length, combinations):
    for seed, flags in enumerate([(), ("constraints",), ("valued",)]):
        learner = Perceptron(epochs=3, averaged=False, shuffle=False).without_unused()
        problem = (seed, n_labels, max_length, combinations, flags)
        expected = in_double(made(*problem), 3)
        for rounded in (False, True):
            np.testing.assert_array_equal(learner.train(made(*problem, rounded)).weights, expected)
