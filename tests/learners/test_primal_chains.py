"""Learners of subgradients and confidences on chains: the same lists of all structures, made by enumeration.

Weights that gold lacks are added as they are met, in another order than when all labellings are listed, so that scores
are compared, not weights.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import margins
from training.problems import FLAGS, as_tensors, oracle, problems, random_weights
from trelliswork import _core
from trelliswork.learners.confidence import AROW
from trelliswork.learners.primal import Pegasos, Subgradient

WHOLE = [flag for flag in FLAGS if flag != "partial"]
ALL = 1000  # more labellings than any chain here has


class Chains:
    """A small training set with random weights, and all its labellings.

    With ``by_member`` the oracle's numbers are weights of attributes, and the lists have a column for each attribute,
    also of those that share a number.
    """

    def __init__(self, problem, seed, by_member=False):
        self.problem = replace(problem, scale=0.0)
        self.by_member = by_member
        self.tensors = as_tensors(self.problem, random_weights(self.problem, seed))
        made, self.start = self.oracle()
        n = made.n_examples
        listed = [made.kbest(self.padded(made), i, ALL) for i in range(n)]
        self.start = self.padded(made)
        weights = np.ones(n) if problem.sequence_weight is None else problem.sequence_weight
        self.members = members(made) if by_member else np.ones(made.n_weights, dtype=int)
        self.examples, self.codes = [], []
        for structures, weight in zip(listed, weights, strict=True):
            features = np.zeros((len(structures), made.n_weights))
            for row, (_, _, _, indices, values) in zip(features, structures, strict=True):
                row[indices] = -values
            costs = np.array([cost for _, _, cost, _, _ in structures])
            gold = next(y for y, row in enumerate(features) if costs[y] == 0 and not row.any())
            features = np.repeat(features / self.members, self.members, axis=1)
            self.examples.append(margins.Example(costs, features, gold, weight))
            self.codes.append([tuple(code) for code, *_ in structures])

    def oracle(self):
        made = oracle(self.problem, best=True, by_member=self.by_member)
        return made, made.weights_from(self.tensors)

    def padded(self, made):
        return np.concatenate([self.start, np.zeros(made.n_weights - len(self.start))])

    def compare(self, made, found, w):
        """Scores of all labellings, gold's taken away."""
        for i, (example, codes) in enumerate(zip(self.examples, self.codes, strict=True)):
            scores = {tuple(code): score for code, score, *_ in made.kbest(found, i, ALL)}
            gold = scores[codes[example.gold]]
            got = [scores[code] - gold for code in codes]
            np.testing.assert_allclose(got, example.features @ w, rtol=1e-5, atol=1e-5)


def members(made):
    """How many weights of the model each number of the oracle stands for."""
    tensors = made.export(np.arange(1.0, made.n_weights + 1))
    exported = [
        tensors[name].ravel()
        for name in ("channel.token.weights", "channel.pair.weights", "channel.transitions.weights")
        if name in tensors
    ]
    return np.bincount(np.concatenate(exported).astype(int), minlength=made.n_weights + 1)[1:]


@st.composite
def chains(draw, by_member=False):
    problem = draw(problems(WHOLE))
    if draw(st.booleans()):
        problem.combinations = "grown"
    return Chains(problem, draw(st.integers(0, 2**31)), by_member)


@given(chains(), st.sampled_from(Pegasos.LOSSES), st.integers(2, 4), st.sampled_from([1, 3]), st.booleans())
def test_pegasos_is_the_algorithm_written_out(data, loss, k, batch_size, projection):
    if loss in ("ramp", "ramp-do"):
        direction = margins.ramp_directions(data.examples, 2, -1.0 if loss == "ramp" else 0.0)
    elif loss == "slack":
        direction = lambda e, w, _: margins.slack_direction(e, w)  # noqa: E731
    else:
        direction = lambda e, w, _: margins.hinge_direction(e, w, 1 if loss == "max-margin" else k, False)  # noqa: E731
    literal = margins.Descent(
        data.examples,
        0.3,
        batch_size=batch_size,
        projection=projection,
        start=-(-len(data.examples) // batch_size),
    )
    literal.run(data.start, direction, 3)
    learner = Pegasos(
        0.3, 3, loss=loss, k=k, batch_size=batch_size, projection=projection, cccp=2, average_from=0, shuffle=False
    ).without_unused()
    made, start = data.oracle()
    found = learner.train(made, weights=start).weights
    data.compare(made, found, np.mean(literal.history, axis=0))


@given(chains(by_member=True), st.integers(1, 3), st.sampled_from(AROW.VARIANTS))
def test_confidence_weighted_learning_is_the_equations(data, k, variant):
    options = dict(r=0.7, C=0.4)
    examples = [e for e in data.examples if e.weight > 0]
    w, _ = margins.confidence_weighted(
        examples, 1, k, variant, phi=1.2815515655446004, start=np.repeat(data.start, data.members), **options
    )
    made, start = data.oracle()
    learner = AROW(epochs=1, k=k, variant=variant, averaged=False, shuffle=False, **options).without_unused()
    data.compare(made, learner.train(made, weights=start).weights, w)


@given(chains(), st.floats(0.1, 3.0))
def test_the_slack_rival_is_the_worst_of_all(data, scale):
    made, start = data.oracle()
    for i, example in enumerate(data.examples):
        expected = margins.slack(example, scale * data.start)
        for search in (False, True):
            start = np.concatenate([start, np.zeros(made.n_weights - len(start))])
            rival = _core.slack_rival(made, scale * start, i, search)
            if rival is None:
                assert expected <= 1e-9
            elif rival[3]:
                np.testing.assert_allclose(rival[2], expected, rtol=1e-6, atol=1e-9)
            else:
                assert rival[2] <= expected + 1e-9


@pytest.mark.parametrize(
    "learner",
    [
        Pegasos(0.1, 4, loss="ramp", cccp=2),
        Pegasos(0.1, 4, loss="averaged-sum", restricted=True, projection=True, batch_size=2),
        Subgradient(epochs=4, rescaling="slack"),
        Subgradient(epochs=4, loss="direct"),
        AROW(epochs=4, k=2),
    ],
    ids=repr,
)
@given(st.data(), st.integers(1, 3))
def test_a_run_cut_in_two_ends_with_the_same_bits(learner, drawn, cut):
    data = drawn.draw(chains(learner.by_member))
    saved = []
    made, start = data.oracle()
    whole = learner.train(made, weights=start, seed=3, on_iteration=lambda i: saved.append(i.state()) and None)
    if len(saved) < cut:
        return
    again, _ = data.oracle()
    resumed = learner.train(again, state=saved[cut - 1], seed=3)
    assert resumed.weights.tobytes() == whole.weights.tobytes()
