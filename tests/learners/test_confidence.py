"""AROW and confidence-weighted learning against their equations with whole matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from reference import margins
from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.confidence import AROW

NOTHING, NO_COST = np.zeros(0), np.zeros((0, 0))


class Problem:
    def __init__(self, seed, n=8, d=3, k=4, weighted=False, costs=False, separable=False):
        rng = np.random.default_rng(seed)
        self.x, self.k, self.start = rng.normal(size=(n, d)), k, rng.normal(size=d * k)
        self.gold = rng.integers(0, k, n).astype(np.int32)
        if separable:
            self.gold[:] = (self.x @ self.start.reshape(d, k)).argmax(axis=1)
        self.sample_weight = rng.exponential(size=n) if weighted else NOTHING
        self.cost = rng.uniform(0.5, 2.0, size=(k, k)) * (1 - np.eye(k)) if costs else NO_COST
        self.examples = margins.labels_as_examples(
            self.x, self.gold, k, self.sample_weight if weighted else None, self.cost if costs else None
        )

    def oracle(self):
        return _core.LabelOracle.dense(self.x, self.gold, self.k, self.sample_weight, self.cost)


problems = st.builds(
    Problem,
    st.integers(0, 2**32 - 1),
    n=st.integers(1, 7),
    d=st.integers(1, 4),
    k=st.integers(2, 5),
    weighted=st.booleans(),
    costs=st.booleans(),
)


@given(problems, st.sampled_from(AROW.VARIANTS), st.integers(1, 4), st.floats(0.1, 10.0), st.floats(0.55, 0.99))
def test_the_updates_are_the_equations_with_whole_matrices(problem, variant, k, r, confidence):
    learner = AROW(
        r=r, epochs=3, variant=variant, k=k, confidence=confidence, C=0.3, variance=2.0, averaged=False, shuffle=False
    ).without_unused()
    facts, states = [], []

    def keep(iteration):
        facts.append(iteration.facts)
        states.append(iteration.state())

    found = learner.train(problem.oracle(), on_iteration=keep).weights
    options = dict(r=r, phi=norm.ppf(confidence), C=0.3, variance=2.0, start=np.zeros(len(problem.start)))
    w, variances = margins.confidence_weighted(problem.examples, len(facts), k, variant, **options)
    np.testing.assert_allclose(found, w, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(states[-1]["variances"], variances, rtol=1e-7)
    np.testing.assert_allclose(facts[-1]["mean_variance"], variances.mean(), rtol=1e-7)


def test_one_update_by_hand():
    # One row x = 2 of label 0 against label 1: d = (2, -2), v = 8, the margin wanted is 1, so that beta = 1/9.
    oracle = _core.LabelOracle.dense(np.full((1, 1), 2.0), np.zeros(1, dtype=np.int32), 2, NOTHING, NO_COST)
    states = []
    trained = AROW(epochs=1).train(oracle, on_iteration=lambda i: states.append(i.state()))
    np.testing.assert_allclose(trained.weights, [2 / 9, -2 / 9], rtol=1e-15)
    np.testing.assert_allclose(states[0]["variances"], [5 / 9, 5 / 9], rtol=1e-15)


@given(problems, st.sampled_from(AROW.VARIANTS))
def test_variances_only_shrink_and_stay_above_zero(problem, variant):
    before = [np.ones(len(problem.start))]

    def shrinks(iteration):
        now = iteration.state()["variances"]
        assert (now <= before[0]).all()
        assert (now > 0).all()
        before[0] = now

    AROW(epochs=5, variant=variant).train(problem.oracle(), on_iteration=shrinks)


@pytest.mark.parametrize("variant", AROW.VARIANTS)
def test_what_can_be_separated_is_separated(variant):
    problem = Problem(1, n=40, separable=True)
    w = AROW(r=0.1, epochs=200, variant=variant).without_unused().train(problem.oracle()).weights.reshape(-1, problem.k)
    assert ((problem.x @ w).argmax(axis=1) == problem.gold).mean() >= 0.95


def test_a_pass_without_a_change_is_the_end():
    trained = AROW(r=1e-3, epochs=500).train(Problem(1, n=5, d=8, separable=True).oracle())
    assert trained.converged
    assert trained.n_iter < 500
    assert trained.objective == 0.0


@pytest.mark.parametrize("variant", AROW.VARIANTS)
@pytest.mark.parametrize("averaged", [False, True])
def test_a_run_cut_in_two_ends_with_the_same_bits(variant, averaged):
    problem, saved = Problem(5, n=11, weighted=True), {}
    learner = AROW(epochs=6, variant=variant, k=2, averaged=averaged)

    def stop(iteration):
        saved.update(iteration.state())
        return iteration.number == 3

    whole = learner.train(problem.oracle(), seed=3, weights=problem.start)
    learner.train(problem.oracle(), seed=3, weights=problem.start, on_iteration=stop)
    resumed = learner.train(problem.oracle(), seed=3, state=saved)
    assert resumed.weights.tobytes() == whole.weights.tobytes()


def test_the_state_of_other_examples_is_refused():
    saved = {}
    AROW(epochs=1).train(Problem(5).oracle(), on_iteration=lambda i: saved.update(i.state()))
    for broken in (np.ones(99), np.ones(3, dtype=np.float32)):
        with pytest.raises(InvalidInput, match="variances"):
            AROW(epochs=2).train(Problem(5).oracle(), state={**saved, "variances": broken})


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (AROW(r=0.0), "r must"),
        (AROW(variant="nherd"), "variant"),
        (AROW(k=0), "k must"),
        (AROW(confidence=0.5), "confidence"),
        (AROW(confidence=1.0), "confidence"),
        (AROW(C=-1.0), "C must"),
        (AROW(variance=0.0), "variance"),
        (AROW(epochs=0), "epochs"),
        (AROW(averaged="yes"), "averaged"),
    ],
    ids=repr,
)
def test_wrong_parameters_are_refused(learner, message):
    with pytest.raises(InvalidInput, match=message):
        learner.train(Problem(0).oracle())
