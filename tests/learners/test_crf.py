"""`tw.CRF` on single labels: minima found by scipy, runs cut in two, threads, warm starts, and how training may end."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import trelliswork as tw
from reference import multiclass
from trelliswork import _core
from trelliswork.errors import ConvergenceWarning, InvalidInput
from trelliswork.learners import by_name
from trelliswork.learners.crf import CRF

TO_THE_END = {"tol": 1e-13, "max_iter": 5000}
SOLVERS = ("lbfgs", "owlqn", "proximal", "sgd-lbfgs", "sgd-owlqn", "sgd-proximal", "auto")


def make_oracle(x, gold, n_labels, cost=None):
    charges = np.zeros((0, 0)) if cost is None else cost
    return _core.LabelOracle.dense(np.ascontiguousarray(x), gold.astype(np.int32), n_labels, np.zeros(0), charges)


def noisy_problem(seed=0, n=60, d=5, k=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    gold = (x @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)
    return x, gold, k


def text_like_oracle(seed=0, n=2000, d=3000, k=5):
    """Rows with a few ones among many columns, some frequent and most rare, as words are."""
    rng = np.random.default_rng(seed)
    per_row = 8
    columns = (d * rng.random((n, per_row)) ** 3).astype(np.int64)
    truth = rng.normal(size=(d, k))
    gold = (truth[columns].sum(axis=1) + rng.gumbel(size=(n, k))).argmax(axis=1).astype(np.int32)
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int64)
    ones = np.ones(n * per_row)
    return _core.LabelOracle.sparse(indptr, columns.ravel(), ones, d, gold, k, np.zeros(0), np.zeros((0, 0)))


def recorded(learner, oracle, **kwargs):
    """Train, and keep every iteration's number, objective, phase, weights and state."""
    seen = []

    def keep(iteration):
        seen.append((iteration, iteration.weights(), iteration.state()))

    return learner.train(oracle, on_iteration=keep, **kwargs), seen


# The minimum is where an independent solver finds it


SMOOTH = [(solver, l2, 0.0) for solver in SOLVERS for l2 in (1.0, 0.1)]
L1_SOLVERS = ("owlqn", "proximal", "sgd-owlqn", "sgd-proximal")
WITH_L1 = [
    (solver, l2, l1) for solver in (*L1_SOLVERS, "auto") for l2, l1 in ((0.0, 0.7), (0.5, 0.7), (0.0, 3.0), (1.0, 1e4))
]


@pytest.mark.parametrize(("solver", "l2", "l1"), SMOOTH + WITH_L1)
def test_minimum_is_that_of_an_independent_solver(solver, l2, l1):
    x, gold, k = noisy_problem()
    expected, at = multiclass.minimum(x, gold, k, l2=l2, l1=l1)
    found = CRF(l2=l2, l1=l1, solver=solver, **TO_THE_END).train(make_oracle(x, gold, k))
    assert found.converged
    np.testing.assert_allclose(found.objective, expected, rtol=1e-9)
    if l2 > 0:  # otherwise the minimum may be a line
        np.testing.assert_allclose(found.weights, at, atol=2e-4)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    d=st.integers(1, 4),
    k=st.integers(2, 4),
    l2=st.sampled_from([0.01, 1.0, 50.0]),
    l1=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=60)
def test_minimum_of_any_small_problem(seed, n, d, k, l2, l1):
    x, gold, k = noisy_problem(seed, n, d, k)
    expected, _ = multiclass.minimum(x, gold, k, l2=l2, l1=l1)
    found = CRF(l2=l2, l1=l1, **TO_THE_END).train(make_oracle(x, gold, k))
    assert found.converged
    np.testing.assert_allclose(found.objective, expected, rtol=1e-8)


@pytest.mark.parametrize("margin", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_softmax_margin_has_the_minimum_of_an_independent_solver(margin, l1):
    x, gold, k = noisy_problem(3)
    cost = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])
    expected, _ = multiclass.minimum(x, gold, k, l2=1.0, l1=l1, cost=cost, nu=margin)
    found = CRF(margin=margin, l1=l1, **TO_THE_END).train(make_oracle(x, gold, k, cost))
    np.testing.assert_allclose(found.objective, expected, rtol=1e-9)


def test_the_margin_of_an_earlier_run_is_not_kept():
    x, gold, k = noisy_problem()
    oracle = make_oracle(x, gold, k)
    plain = CRF().train(oracle).objective
    CRF(margin=2.0).train(oracle)
    assert CRF().train(oracle).objective == plain


def test_weights_are_those_of_logistic_regression():
    x, gold, k = noisy_problem(n=300)
    peer = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=5000).fit(x, gold)
    found = CRF(l2=2.0, **TO_THE_END).train(make_oracle(x, gold, k))
    np.testing.assert_allclose(found.weights.reshape(-1, k), peer.coef_.T, atol=1e-5)


def test_l1_makes_exact_zeros():
    oracle = text_like_oracle(n=500)
    assert np.mean(CRF(l1=2.0).train(oracle).weights == 0.0) > 0.9


@pytest.mark.parametrize("margin", [0.0, 1.0])
@pytest.mark.parametrize(("l2", "l1"), [(0.2, 0.1), (0.0, 0.5)])
@pytest.mark.parametrize("solver", ["proximal", "sgd-proximal"])
def test_no_weight_wants_to_move_at_the_end(solver, l2, l1, margin):
    """The smooth gradient is -l1 sign(w) where w is not zero, and no larger than l1 where it is."""
    oracle = text_like_oracle()
    found = CRF(l2=l2, l1=l1, solver=solver, margin=margin, **TO_THE_END).train(oracle)
    gradient = np.zeros(oracle.n_weights)
    oracle.loss(found.weights, gradient, nu=margin)
    gradient += l2 * found.weights
    active = found.weights != 0
    assert 0 < active.sum() < active.size
    np.testing.assert_allclose(gradient[active], -l1 * np.sign(found.weights[active]), atol=2e-3 * l1)
    assert np.abs(gradient[~active]).max() <= l1 * (1 + 1e-3)


def test_merged_attributes_have_the_minimum_of_separate_ones_with_l1():
    words = [["a", "b", "c", "a"], ["b", "d"], ["e", "a", "c"], ["d", "b", "a"]] * 3
    labels = [["X", "Y", "X", "Z"], ["Y", "X"], ["Z", "X", "X"], ["X", "Y", "Y"]] * 3
    twins = [[[w, w + "'", w + '"'] for w in s] for s in words]  # each word as three attributes that go together
    learner = CRF(l2=0.3, l1=0.2, **TO_THE_END)
    merged = tw.oracle(tw.SequenceLabeler(learner), twins, labels)
    assert merged.l1_factors.max() > 1.7
    found = learner.train(merged)
    # Three equal weights v score as one of 3v, for which they pay 3 l1 |v| and 3 l2/2 v^2: a third of l2.
    single = tw.oracle(tw.SequenceLabeler(learner), [[[w] for w in s] for s in words], labels)
    assert single.n_weights == merged.n_weights
    plain = proximal_gradient(single, l1=0.2, l2=np.where(merged.l1_factors > 1.0, 0.1, 0.3))
    np.testing.assert_allclose(found.objective, plain, rtol=1e-8)


def proximal_gradient(oracle, l1, l2, step=0.02, n=20000):
    """The least value of loss + l2/2 |w|^2 + l1 |w|_1, by the plainest method there is."""
    w, g = np.zeros(oracle.n_weights), np.zeros(oracle.n_weights)
    for _ in range(n):
        loss = oracle.loss(w, g)
        value = loss + 0.5 * np.sum(l2 * w**2) + l1 * np.abs(w).sum()
        to = w - step * (g + l2 * w)
        w = np.sign(to) * np.maximum(np.abs(to) - step * l1, 0.0)
    return value


# When it stops


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("l2", [0.03, 1.0, 10.0])
def test_default_tolerance_stops_within_a_thousandth(solver, l2):
    oracle = text_like_oracle()
    least = CRF(l2=l2, solver="lbfgs", **TO_THE_END).train(oracle)
    assert least.converged
    found = CRF(l2=l2, solver=solver).train(oracle)
    assert found.converged
    assert least.objective * (1 - 1e-9) <= found.objective <= least.objective * 1.001


@pytest.mark.parametrize(("l2", "l1"), [(0.0, 1.0), (0.0, 0.2), (0.3, 0.3)])
@pytest.mark.parametrize("solver", L1_SOLVERS)
def test_default_tolerance_stops_within_a_thousandth_with_l1(solver, l2, l1):
    oracle = text_like_oracle()
    least = CRF(l2=l2, l1=l1, solver="owlqn", **TO_THE_END).train(oracle)
    assert least.converged
    found = CRF(l2=l2, l1=l1, solver=solver).train(oracle)
    assert least.objective * (1 - 1e-9) <= found.objective <= least.objective * 1.001


@pytest.mark.parametrize("params", [{"l1": 0.3}, {"l1": 0.3, "period": 3, "delta": 0.01}, {"delta": 1e-3}], ids=str)
def test_training_ends_when_the_objective_falls_too_slowly(params):
    """The first iteration that is less than delta below the one a period before; also where a run is cut in two."""
    tol = 5e-4  # of which a fifth is the default with L1
    learner = CRF(l2=1e-3, solver="owlqn" if "l1" in params else "lbfgs", tol=tol, **params)
    period, delta = params.get("period", 10), params.get("delta", tol / 5)
    oracle = text_like_oracle(n=500, d=800)
    trained, seen = recorded(learner, oracle)
    assert trained.converged
    assert f"fell by less than delta={delta:g} of itself in {period} iterations" in trained.message
    values = [iteration.objective for iteration, _, _ in seen]
    slow = [k for k in range(period, len(values)) if values[k - period] - values[k] < delta * values[k]]
    assert slow == [len(values) - 1]
    for _, _, state in (seen[1], seen[-2]):
        resumed = learner.train(oracle, state=state)
        assert resumed.weights.tobytes() == trained.weights.tobytes()
        assert resumed.message == trained.message
    without = CRF(**{**learner.get_params(), "delta": 0.0, "period": None}).train(oracle)
    assert without.n_iter > trained.n_iter


@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "sgd-lbfgs"])
def test_batch_solvers_never_go_up(solver):
    _, seen = recorded(CRF(solver=solver, tol=1e-10), text_like_oracle())
    objectives = [iteration.objective for iteration, *_ in seen if iteration.phase != "sgd"]
    assert len(objectives) > 10
    assert all(later <= earlier * (1 + 2e-14) for earlier, later in itertools.pairwise(objectives))


def test_sgd_comes_close():
    oracle = text_like_oracle()
    least = CRF(solver="lbfgs", tol=1e-10).train(oracle)
    found = CRF(solver="sgd", tol=0.01).train(oracle)
    assert found.objective < 1.05 * least.objective
    assert found.objective == pytest.approx(_core.exact_objective(oracle, found.weights, 1.0))


def test_a_last_pass_over_nothing_leaves_the_weights_as_they_are():
    examples = _core.Examples()
    none = np.zeros(0, dtype=np.int64)
    examples.add(_core.KeySource(none, np.array([0]), none.astype(np.uint64), None), none.astype(np.int32))
    oracle = _core.ChainOracle(examples, 2, np.arange(2, dtype=np.int32), combinations="all")
    start = np.arange(1.0, oracle.n_weights + 1)
    settings = {"batch": 2, "shards": 1, "decay": 0.5, "step": 0.1, "tol": 0.0, "seed": 0, "passes": 1}
    sgd = _core.Sgd(oracle, start, l2=0.0, l1=0.0, nu=0.0, **settings)
    sgd.step()
    assert start.size > 0
    np.testing.assert_array_equal(sgd.weights(), start)


def test_the_last_pass_ends_at_the_mean_of_points_on_its_way():
    n, keys = 16, np.array([2, 4, 6], dtype=np.uint64)  # all the same: their order does not matter
    examples = _core.Examples()
    source = _core.KeySource(np.full(n, 2), 3 * np.arange(2 * n + 1), np.tile(keys, 2 * n), None)
    examples.add(source, np.tile(np.array([0, 1], dtype=np.int32), n))
    oracle = _core.ChainOracle(examples, 3, np.arange(3, dtype=np.int32))
    settings = {
        "l2": 0.4,
        "l1": 0.0,
        "nu": 0.0,
        "batch": 2,
        "shards": 1,
        "decay": 0.5,
        "step": 0.1,
        "tol": 0.0,
        "seed": 0,
    }
    start = np.zeros(oracle.n_weights)
    sgd = _core.Sgd(oracle, start, **settings, passes=1)
    sgd.step()
    working, seen = oracle.working(), {}
    working.load(start)
    for at in range(0, n, 2):
        step = 0.1 * 0.5 ** (at / n)
        working.multiply(1 - step * 0.4 / n * 2)
        working.descend(np.arange(at, at + 2, dtype=np.uint32), step)
        seen[at + 2] = working.store()
    mean = (5 * seen[14] + 3 * seen[16]) / 8  # eight points in the last fifth: steps end at two of them
    np.testing.assert_allclose(sgd.weights(), mean, rtol=1e-5)
    plain = _core.Sgd(oracle, start, **settings)
    plain.step()
    np.testing.assert_allclose(plain.weights(), seen[16], rtol=1e-5)
    assert np.abs(mean / seen[16] - 1).max() > 1e-3


def test_iterations_are_counted_over_all_phases():
    found, seen = recorded(CRF(solver="sgd-lbfgs", sgd_epochs=3), text_like_oracle())
    assert [iteration.number for iteration, *_ in seen] == list(range(1, found.n_iter + 1))
    assert [iteration.phase for iteration, *_ in seen][:4] == ["sgd", "sgd", "sgd", "lbfgs"]
    passes = [iteration.facts["passes"] for iteration, *_ in seen]
    assert all(later >= earlier + 1 for earlier, later in itertools.pairwise(passes))


def test_max_iter_ends_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="max_iter=4 was reached; raise it"):
        found = CRF(max_iter=4).train(text_like_oracle())
    assert not found.converged
    assert found.n_iter == 4
    assert "max_iter" in found.message


def test_on_iteration_may_stop_without_a_warning():
    found = CRF().train(text_like_oracle(), on_iteration=lambda iteration: iteration.number == 7)
    assert (found.n_iter, found.converged) == (7, False)
    assert found.message == "stopped by on_iteration after 7 iterations"


def test_an_objective_that_is_no_number_is_reported():
    x, gold, k = noisy_problem()
    oracle = make_oracle(x, gold, k)
    with pytest.warns(ConvergenceWarning, match="not a finite number"):
        found = CRF().train(oracle, weights=np.full(oracle.n_weights, 1e200))
    assert not found.converged


def test_features_too_large_for_any_step_are_reported():
    x, gold, k = noisy_problem()
    with pytest.warns(ConvergenceWarning):
        found = CRF(solver="lbfgs").train(make_oracle(x * 1e200, gold, k))
    assert not found.converged
    assert np.isfinite(found.weights).all()


def test_nothing_to_learn_converges_at_once():
    x, gold, k = np.zeros((5, 2)), np.array([0, 1, 0, 1, 1]), 2
    found = CRF().train(make_oracle(x, gold, k))
    assert found.converged
    assert found.n_iter == 0
    assert not found.weights.any()


def test_no_penalty_at_all_is_possible():
    x, gold, k = noisy_problem(n=200)
    expected, _ = multiclass.minimum(x, gold, k, l2=0.0)
    found = CRF(l2=0.0, **TO_THE_END).train(make_oracle(x, gold, k))
    np.testing.assert_allclose(found.objective, expected, rtol=1e-8)


# Runs that are cut in two, threads, seeds, warm starts


@pytest.mark.parametrize(
    "params",
    [
        {"solver": "lbfgs"},
        {"solver": "owlqn", "l1": 0.3},
        {"solver": "proximal", "l1": 0.3},
        {"solver": "sgd", "max_iter": 6},
        {"solver": "sgd-lbfgs", "sgd_epochs": 3},
        {"solver": "sgd-lbfgs", "sgd_epochs": 3, "shards": 2},
        {"solver": "sgd-owlqn", "sgd_epochs": 2, "l1": 0.3},
        {"solver": "sgd-proximal", "sgd_epochs": 2, "l1": 0.3, "shards": 2},
        {"solver": "proximal", "l1": 0.3, "tol": 1e-12, "memory": 3, "delta": 0.0},
        {"solver": "lbfgs", "tol": 1e-12, "memory": 3},
    ],
    ids=str,
)
def test_a_run_cut_in_two_ends_with_the_same_bits(params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner, oracle = CRF(**params), text_like_oracle(n=800)
        whole, seen = recorded(learner, oracle, seed=5)
        for cut in {0, 1, len(seen) // 2, len(seen) - 2, len(seen) - 1}:
            rest, later = recorded(learner, text_like_oracle(n=800), seed=5, state=seen[cut][2])
            assert rest.weights.tobytes() == whole.weights.tobytes()
            assert (rest.objective, rest.n_iter, rest.converged) == (whole.objective, whole.n_iter, whole.converged)
            assert [i.objective for i, *_ in later] == [i.objective for i, *_ in seen[cut + 1 :]]
            assert [i.facts for i, *_ in later] == [i.facts for i, *_ in seen[cut + 1 :]]


def test_keyboard_interrupt_passes_through_and_the_run_can_go_on():
    oracle, learner, kept = text_like_oracle(), CRF(), []

    def interrupt(iteration):
        kept.append(iteration.state())
        if iteration.number == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.train(oracle, on_iteration=interrupt)
    assert learner.train(oracle, state=kept[-1]).weights.tobytes() == learner.train(oracle).weights.tobytes()


@pytest.mark.parametrize(
    "params", [{}, {"solver": "lbfgs"}, {"l1": 0.2}, {"solver": "sgd", "max_iter": 5}, {"shards": 3}], ids=str
)
def test_the_same_bits_for_any_number_of_threads(params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        oracle = text_like_oracle(d=20000)  # enough weights for threads to share the arithmetic
        assert oracle.n_weights > 70000
        first = CRF(**params).train(oracle, n_jobs=1)
        for n_jobs in (2, 4):
            assert CRF(**params).train(oracle, n_jobs=n_jobs).weights.tobytes() == first.weights.tobytes()


def test_the_seed_orders_the_examples():
    oracle, learner = text_like_oracle(), CRF(solver="sgd-lbfgs")
    same = [learner.train(oracle, seed=seed).weights.tobytes() for seed in (3, 3, 4)]
    assert same[0] == same[1] != same[2]


def test_a_warm_start_takes_fewer_iterations():
    oracle = text_like_oracle()
    cold = CRF().train(oracle)
    warm, seen = recorded(CRF(), oracle, weights=cold.weights)
    assert warm.converged
    assert warm.n_iter < cold.n_iter / 2
    assert warm.objective <= cold.objective
    assert all(iteration.phase == "lbfgs" for iteration, *_ in seen)


def test_a_warm_start_does_not_change_the_weights_given():
    oracle = text_like_oracle(n=300)
    start = np.full(oracle.n_weights, 0.01)
    CRF().train(oracle, weights=start)
    assert (start == 0.01).all()


# Parameters


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"l2": -1.0}, "l2 must be a finite number of at least 0, not -1.0"),
        ({"l2": float("nan")}, "l2"),
        ({"l2": None}, "l2"),
        ({"l1": float("inf")}, "l1"),
        ({"l1": "1"}, "l1"),
        ({"max_iter": 0}, "max_iter must be a whole number from 1"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"max_iter": True}, "max_iter"),
        ({"tol": -1e-3}, "tol"),
        ({"margin": float("nan")}, "margin"),
        ({"margin": -1.0}, "margin"),
        ({"memory": 0}, "memory"),
        ({"sgd_epochs": -1}, "sgd_epochs"),
        ({"batch_size": 0}, "batch_size"),
        ({"shards": 0}, "shards"),
        ({"step_size": 0.0}, "step_size must be a finite number above 0"),
        ({"solver": "newton"}, "solver must be one of 'auto', 'lbfgs'"),
        ({"solver": "lbfgs", "l1": 1.0}, "has no L1 penalty: use 'proximal'"),
        ({"solver": "sgd", "l1": 1.0}, "has no L1 penalty"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(params, message):
    x, gold, k = noisy_problem()
    with pytest.raises(InvalidInput, match=message):
        CRF(**params).train(make_oracle(x, gold, k))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": np.zeros(3)}, r"weights has shape \(3,\), but these examples have 15 weights"),
        ({"weights": np.full(15, np.nan)}, "NaN"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"seed": -1}, "seed"),
        ({"state": {}}, "state is not of a run with these parameters"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(arguments, message):
    x, gold, k = noisy_problem()
    with pytest.raises(InvalidInput, match=message):
        CRF().train(make_oracle(x, gold, k), **arguments)


def test_a_state_of_other_examples_or_parameters_is_refused():
    x, gold, k = noisy_problem()
    _, seen = recorded(CRF(solver="lbfgs"), make_oracle(x, gold, k))
    state = seen[1][2]
    with pytest.raises(InvalidInput, match="other settings"):
        CRF(solver="lbfgs").train(make_oracle(x[:, :4], gold, k), state=state)
    with pytest.raises(InvalidInput, match="these parameters"):
        CRF(solver="lbfgs", l2=2.0).train(make_oracle(x, gold, k), state=state)
    with pytest.raises(InvalidInput, match="this seed"):
        CRF(solver="lbfgs").train(make_oracle(x, gold, k), state=state, seed=1)


@pytest.mark.parametrize(
    "name", ["weights", "gradient", "scaling", "counters", "values", "steps", "changes", "products"]
)
@pytest.mark.parametrize("what", ["missing", "short", "integers", "huge"])
def test_a_broken_state_is_refused_or_harmless(name, what):
    x, gold, k = noisy_problem()
    _, seen = recorded(CRF(solver="lbfgs"), make_oracle(x, gold, k))
    state = dict(seen[2][2])
    if what == "missing":
        del state[name]
    elif what == "short":
        state[name] = state[name][:-1]
    elif what == "integers":
        state[name] = state[name].astype(np.int64)
    elif name == "counters":
        state[name] = np.full_like(state[name], 1e300)
    else:
        state[name] = np.full_like(state[name], np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            CRF(solver="lbfgs", max_iter=20).train(make_oracle(x, gold, k), state=state)
        return
    with pytest.raises(InvalidInput, match="state"):
        CRF(solver="lbfgs").train(make_oracle(x, gold, k), state=state)


def test_repr_shows_what_is_not_the_default():
    assert repr(CRF()) == "CRF()"
    assert repr(CRF(2.0, solver="lbfgs")) == "CRF(l2=2.0, solver='lbfgs')"


def test_equal_when_all_parameters_are():
    assert CRF(l2=1) == CRF(l2=1.0)
    assert CRF(l2=1.0) != CRF(l2=2.0)
    assert CRF() != "crf"


def test_by_name():
    assert by_name("crf", l1=0.5) == CRF(l1=0.5)
    with pytest.raises(InvalidInput, match=r"there is no learner 'svm'; there is: .*crf"):
        by_name("svm")
    with pytest.raises(InvalidInput, match=r"CRF has no parameter 'C': say l2 = 1 / C. It has: l2, l1"):
        by_name("crf", C=1.0)


def test_clone_copies_the_parameters():
    original = CRF(l2=0.3, solver="lbfgs")
    copy = clone(original)
    assert copy is not original
    assert copy == original


class Classifier(ClassifierMixin, BaseEstimator):
    """The least estimator that has a learner, as grid search sees `SequenceLabeler`."""

    def __init__(self, learner):
        self.learner = learner

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.weights_ = self.learner.train(make_oracle(x, y, len(self.classes_))).weights
        return self

    def predict(self, x):
        return (x @ self.weights_.reshape(-1, len(self.classes_))).argmax(axis=1)


def test_grid_search_reaches_the_parameters_of_a_learner():
    x, gold, _ = noisy_problem(n=90)
    search = GridSearchCV(Classifier(CRF()), {"learner__l2": [1e4, 0.5]}, cv=3).fit(x, gold)
    assert search.best_params_ == {"learner__l2": 0.5}
    assert search.best_estimator_.learner == CRF(l2=0.5)
