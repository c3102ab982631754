"""Frank-Wolfe, cutting planes, exponentiated gradient: duals never fall, gaps are certain, runs may be cut in two."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.small_problems import chains, label_oracle, oracles
from reference import max_margin
from training.problems import oracle as sums_oracle
from training.problems import random_problem
from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.batch import CuttingPlane, FrankWolfe
from trelliswork.learners.crf import CRF
from trelliswork.learners.exponentiated_gradient import ExponentiatedGradient

CS = st.sampled_from([0.02, 0.3, 2.0])
ROUNDING = 1e-9


def followed(learner, oracle, **kwargs):
    """Train, and return what it ended with and all iterations."""
    seen = []
    return learner.train(oracle, on_iteration=lambda iteration: seen.append(iteration), **kwargs), seen


# The dual never falls, and the objective never goes below it


LEARNERS = {
    "frank-wolfe": lambda C: FrankWolfe(C, 8, tol=0.0, gap_every=1, averaged=False),
    "frank-wolfe, averaged": lambda C: FrankWolfe(C, 8, tol=0.0, gap_every=1),
    "frank-wolfe, slack": lambda C: FrankWolfe(C, 8, tol=0.0, gap_every=1, rescaling="slack"),
    "cutting-plane": lambda C: CuttingPlane(C, 8, tol=0.0),
    "cutting-plane, slack": lambda C: CuttingPlane(C, 8, tol=0.0, rescaling="slack"),
    "eg, max-margin": lambda C: ExponentiatedGradient(C=C, epochs=8, loss="max-margin", tol=0.0, gap_every=1),
    "eg, crf": lambda C: ExponentiatedGradient(1 / C, 8, tol=0.0, gap_every=1),
}


@pytest.mark.parametrize("name", LEARNERS)
@given(make=oracles(), C=CS)
@settings(max_examples=30)
def test_the_dual_never_falls_and_stays_below_the_objective(name, make, C):
    oracle, _ = make()
    _, seen = followed(LEARNERS[name](C), oracle)
    duals = [iteration.facts["dual"] for iteration in seen]
    size = 1 + abs(duals[-1])
    assert all(after >= before - ROUNDING * size for before, after in itertools.pairwise(duals))
    for iteration in seen:
        assert iteration.objective >= max(duals) - ROUNDING * size
        assert iteration.facts["gap"] >= 0.0


@given(make=oracles(), C=CS)
@settings(max_examples=30)
def test_the_objective_is_what_enumeration_says(make, C):
    for name in LEARNERS.keys() - {"eg, crf"}:
        oracle, sample_weight = make()
        trained = LEARNERS[name](C).train(oracle)
        rescaling = "slack" if name.endswith("slack") else "margin"
        expected = max_margin.objective(oracle, trained.weights, C, sample_weight, rescaling)
        np.testing.assert_allclose(trained.objective, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@given(make=oracles())
@settings(max_examples=30)
def test_the_hinge_sum_is_what_enumeration_says(rescaling, make):
    oracle, sample_weight = make()
    weights = np.random.default_rng(0).normal(size=oracle.n_weights)
    expected = max_margin.objective(oracle, weights, 1.0, sample_weight, rescaling) - weights @ weights / 2
    np.testing.assert_allclose(_core.hinge_sum(oracle, weights, 2, rescaling), expected, rtol=1e-10, atol=1e-10)


# Frank-Wolfe


def test_the_duality_gap_goes_to_zero():
    for averaged in (False, True, "weighted"):
        oracle, _ = label_oracle(1, n=30)
        learner = FrankWolfe(0.1, 3000, tol=1e-4, averaged=averaged)
        trained, seen = followed(learner, oracle)
        assert trained.converged, averaged
        assert 0 <= seen[-1].facts["gap"] <= 1e-4 * trained.objective


def test_steps_of_given_length_reach_the_same_objective():
    exact = FrankWolfe(0.1, 2000, tol=1e-4).train(label_oracle(2)[0])
    given_steps = FrankWolfe(0.1, 2000, tol=1e-4, line_search=False).train(label_oracle(2)[0])
    np.testing.assert_allclose(given_steps.objective, exact.objective, rtol=3e-4)


def test_lam_is_c_in_other_units():
    by_c = FrankWolfe(1 / (0.5 * 20), 5).train(label_oracle(3)[0])
    by_lam = FrankWolfe(lam=0.5, epochs=5).train(label_oracle(3)[0])
    assert by_c.weights.tobytes() == by_lam.weights.tobytes()


def test_the_estimate_of_the_gap_calls_for_an_exact_look():
    trained, seen = followed(FrankWolfe(0.02, 500, tol=1e-2, gap_every=400), label_oracle(4)[0])
    assert trained.converged
    assert trained.n_iter < 400
    assert "gap" not in seen[0].facts
    assert "gap_estimate" in seen[0].facts


def test_the_objective_is_exact_also_when_the_last_pass_was_not_looked_at():
    oracle, _ = label_oracle(5)
    trained = FrankWolfe(1.0, 3, gap_every=10).train(oracle)
    np.testing.assert_allclose(trained.objective, max_margin.objective(oracle, trained.weights, 1.0), rtol=1e-10)


@pytest.mark.parametrize("learner", [FrankWolfe(1.0, 9, gap_every=10), ExponentiatedGradient(epochs=9, gap_every=10)])
def test_who_stops_does_not_wait_for_another_pass(learner):
    """Ctrl-C at the shell stops so: the objective is the one that was reported last, not that of a further pass."""
    oracle, _ = label_oracle(5)
    seen = []
    stopped = learner.train(oracle, on_iteration=lambda iteration: seen.append(iteration) or len(seen) == 2)
    exact = learner.set_params(epochs=2).train(oracle)
    assert stopped.objective == seen[-1].objective
    assert stopped.objective != exact.objective
    np.testing.assert_array_equal(stopped.weights, exact.weights)


def test_weighted_averaging_counts_the_t_th_weights_t_times():
    weights = {}
    for averaged in (False, True, "weighted"):
        # One example only, so that each pass is one visit.
        kept = weights[averaged] = []
        learner = FrankWolfe(1.0, 3, tol=0.0, averaged=averaged)
        learner.train(label_oracle(6, n=1)[0], on_iteration=lambda it, kept=kept: kept.append(it.weights()))
    last = weights[False]
    assert not np.array_equal(last[1], last[2])
    np.testing.assert_allclose(weights[True][-1], np.mean(last, axis=0), rtol=1e-12)
    np.testing.assert_allclose(weights["weighted"][-1], np.average(last, axis=0, weights=[1, 2, 3]), rtol=1e-12)


# Cutting planes


@given(make=oracles(), C=CS, tol=st.sampled_from([0.5, 0.05, 1e-4]))
@settings(max_examples=40)
def test_epsilon_is_kept(make, C, tol):
    oracle, sample_weight = make()
    trained = CuttingPlane(C, 1000, tol=tol).train(oracle)
    assert trained.converged
    least = max_margin.minimum(oracle, C, sample_weight)
    assert least - 1e-7 <= trained.objective <= least + C * sample_weight.sum() * tol + 1e-7


def test_idle_planes_are_dropped():
    _, seen = followed(CuttingPlane(5.0, 400, tol=1e-9), label_oracle(7, n=60, d=6, k=4)[0])
    assert len(seen) > 60
    assert seen[-1].facts["planes"] < len(seen) - 5
    assert all(iteration.facts["memory_bytes"] > 0 for iteration in seen)


def test_the_weights_returned_are_the_best_so_far():
    oracle, _ = label_oracle(8, n=40)
    _, seen = followed(CuttingPlane(3.0, 30, tol=0.0), oracle)
    objectives = [iteration.objective for iteration in seen]
    assert objectives == sorted(objectives, reverse=True)


# Exponentiated gradient


@given(make=oracles(), l2=st.sampled_from([0.5, 2.0, 30.0]))
@settings(max_examples=25)
def test_eg_has_the_optimum_of_the_crf(make, l2):
    expected = CRF(l2, solver="lbfgs", tol=1e-10).train(make()[0])
    found = ExponentiatedGradient(l2, 3000, tol=1e-6).train(make()[0])
    assert found.converged
    np.testing.assert_allclose(found.objective, expected.objective, rtol=2e-6, atol=1e-9)


def test_eg_reports_the_objective_of_the_crf():
    oracle, _ = chains(3, {"valued"})
    found = ExponentiatedGradient(2.0, 3).train(oracle)
    np.testing.assert_allclose(found.objective, _core.exact_objective(oracle, found.weights, 2.0), rtol=1e-12)


def test_eg_refuses_weights_that_grow():
    oracle, _ = chains(11, n_labels=12, n_sequences=6, combinations="grown", vocabulary=40)
    with pytest.raises(InvalidInput, match="grow"):
        ExponentiatedGradient(epochs=2).train(oracle)


# What all of them promise


def every_learner():
    return [
        FrankWolfe(0.5, 6, tol=0.0, gap_every=2),
        FrankWolfe(0.5, 6, tol=0.0, averaged=True),
        FrankWolfe(0.5, 6, tol=0.0, rescaling="slack"),
        CuttingPlane(0.5, 6, tol=0.0),
        CuttingPlane(0.5, 6, tol=0.0, rescaling="slack"),
        ExponentiatedGradient(1.0, 6, tol=0.0),
        ExponentiatedGradient(C=0.5, epochs=6, loss="max-margin", tol=0.0, averaged=True),
    ]


def fresh_oracles(learner):
    yield lambda: label_oracle(9, weighted=True)[0]
    yield lambda: chains(9, {"pairs", "valued"}, n_sequences=9)[0]
    if not isinstance(learner, ExponentiatedGradient):
        yield lambda: chains(10, n_labels=12, n_sequences=9, combinations="grown", vocabulary=40)[0]


@pytest.mark.parametrize("learner", every_learner(), ids=repr)
def test_a_run_cut_in_two_ends_with_the_same_bits(learner):
    for fresh in fresh_oracles(learner):
        oracle = fresh()
        start = np.random.default_rng(0).normal(size=oracle.n_weights)
        states = []
        whole = learner.train(
            oracle, weights=start, seed=3, on_iteration=lambda it, kept=states: kept.append(it.state())
        )
        for state in states[:-1]:
            again = learner.train(fresh(), state=state, seed=3)
            assert again.weights.tobytes() == whole.weights.tobytes()
            assert again.objective == whole.objective


@pytest.mark.parametrize("learner", every_learner(), ids=repr)
def test_threads_change_no_bit(learner):
    for fresh in fresh_oracles(learner):
        alone, together = (learner.train(fresh(), n_jobs=n_jobs) for n_jobs in (1, 3))
        assert alone.weights.tobytes() == together.weights.tobytes()
        assert alone.objective == together.objective


@pytest.mark.parametrize("learner", every_learner(), ids=repr)
def test_a_state_of_other_examples_is_refused(learner):
    states = []
    learner.train(label_oracle(1)[0], on_iteration=lambda it: states.append(it.state()))
    with pytest.raises(InvalidInput, match="state"):
        learner.train(label_oracle(1, n=7, d=2)[0], state=states[0])
    broken = {name: part for name, part in states[0].items() if name in ("settings", "pass", "run")}
    with pytest.raises(InvalidInput, match="state"):
        learner.train(label_oracle(1)[0], state=broken)


@pytest.mark.parametrize(
    "learner", [FrankWolfe(2.0, 5000, tol=1e-5, averaged=False), CuttingPlane(2.0, tol=1e-6)], ids=repr
)
def test_the_start_is_the_centre_of_the_penalty(learner):
    oracle, _ = label_oracle(12)
    start = np.random.default_rng(1).normal(size=oracle.n_weights)
    trained = learner.train(oracle, weights=start)
    assert trained.converged
    distance = trained.weights - start
    loss = _core.hinge_sum(oracle, trained.weights)
    np.testing.assert_allclose(trained.objective, distance @ distance / 2 + 2.0 * loss, rtol=1e-10)
    for at in (start, np.zeros_like(start), FrankWolfe(2.0).train(label_oracle(12)[0]).weights):
        other = (at - start) @ (at - start) / 2 + 2.0 * _core.hinge_sum(oracle, at)
        assert trained.objective <= other * (1 + 2e-5)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (FrankWolfe(0.0), "C must be"),
        (FrankWolfe(lam=-1.0), "lam must be"),
        (FrankWolfe(averaged="often"), "averaged must be"),
        (FrankWolfe(averaged=None), "averaged must be"),
        (FrankWolfe(gap_every=0), "gap_every must be"),
        (FrankWolfe(epochs=0), "epochs must be"),
        (FrankWolfe(rescaling="cost"), "rescaling must be"),
        (CuttingPlane(rescaling=None), "rescaling must be"),
        (CuttingPlane(tol=-1.0), "tol must be"),
        (CuttingPlane(C=np.inf), "C must be"),
        (ExponentiatedGradient(0.0), "l2 must be"),
        (ExponentiatedGradient(loss="hinge"), "loss must be"),
        (ExponentiatedGradient(step=2.0), "at most 1"),
    ],
)
def test_wrong_parameters_are_named(learner, message):
    with pytest.raises(InvalidInput, match=message):
        learner.train(label_oracle()[0])


def test_an_oracle_made_for_sums_is_refused():
    made = sums_oracle(random_problem(0, combinations="seen"))
    for learner in (FrankWolfe(), CuttingPlane(), ExponentiatedGradient()):
        with pytest.raises(InvalidInput, match=r"asks for (argmax|parts)"):
            learner.train(made)
