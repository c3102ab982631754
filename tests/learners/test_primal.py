"""Pegasos and subgradient descent: against the algorithms written out, the minimum scipy finds, and each other."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reference import margins
from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.primal import Pegasos, Subgradient

NOTHING, NO_COST = np.zeros(0), np.zeros((0, 0))
LOSSES = ("max-margin", "k-best", "averaged-sum", "ramp", "ramp-do", "slack")


class Problem:
    """Random labels for random rows, as an oracle and as lists of all that can be said."""

    def __init__(self, seed, n=6, d=3, k=4, weighted=False, costs=False):
        rng = np.random.default_rng(seed)
        self.x, self.k = rng.normal(size=(n, d)), k
        self.gold = rng.integers(0, k, n).astype(np.int32)
        self.sample_weight = rng.exponential(size=n) if weighted else None
        self.cost = rng.uniform(0.5, 2.0, size=(k, k)) * (1 - np.eye(k)) if costs else None
        self.examples = margins.labels_as_examples(self.x, self.gold, k, self.sample_weight, self.cost)
        self.start = rng.normal(size=d * k)

    def oracle(self):
        return _core.LabelOracle.dense(
            self.x,
            self.gold,
            self.k,
            NOTHING if self.sample_weight is None else self.sample_weight,
            NO_COST if self.cost is None else self.cost,
        )

    def mean(self, loss, w):
        return sum(e.weight * loss(e, w) for e in self.examples) / len(self.examples)


problems = st.builds(
    Problem,
    st.integers(0, 2**32 - 1),
    n=st.integers(1, 7),
    d=st.integers(1, 4),
    k=st.integers(2, 5),
    weighted=st.booleans(),
    costs=st.booleans(),
)


def direction_of(problem, loss, k, restricted, cccp):
    if loss in ("ramp", "ramp-do"):
        return margins.ramp_directions(problem.examples, cccp, -1.0 if loss == "ramp" else 0.0)
    if loss == "slack":
        return lambda e, w, epoch: margins.slack_direction(e, w)
    looked_at = 1 if loss == "max-margin" else k
    return lambda e, w, epoch: margins.hinge_direction(e, w, looked_at, restricted)


def trace(learner, oracle, **options):
    """The weights after every epoch, and the facts."""
    out = []
    learner.train(oracle, on_iteration=lambda i: out.append((i.weights(), i.facts)) and None, **options)
    return out


# The average


@st.composite
def operations(draw):
    n = draw(st.integers(1, 5))
    numbers = st.floats(-3, 3, allow_subnormal=False)
    factors = st.one_of(st.sampled_from([0.0, 1e-9, 1e-5, 0.5, 1 - 1e-7, -0.7, 1e6]), st.floats(0.1, 1.5))
    add = st.tuples(st.just("add"), st.lists(st.integers(0, n - 1), unique=True, max_size=n), numbers, numbers)
    multiply = st.tuples(st.just("multiply"), factors)
    count = st.tuples(st.just("count"), st.sampled_from([1.0, 1.0, 2.0, 0.5]))
    return n, draw(st.lists(st.one_of(add, multiply, count), max_size=60))


@given(operations())
def test_the_lazy_average_is_the_mean_of_the_weights_counted(sequence):
    n, steps = sequence
    start = np.linspace(-1, 1, n)
    lazy, w, total, times, largest = _core.AveragedWeights(start), start.copy(), np.zeros(n), 0.0, 1.0
    for name, *arguments in steps:
        if name == "add":
            indices, value, step = arguments
            lazy.add(np.array(indices, dtype=np.int64), np.full(len(indices), value), step)
            w[indices] += step * value
        elif name == "multiply":
            lazy.multiply(*arguments)
            w = w * arguments[0]
        else:
            lazy.count(*arguments)
            total, times = total + arguments[0] * w, times + arguments[0]
        largest = max(largest, abs(w).max())
    np.testing.assert_allclose(lazy.current(), w, rtol=1e-11, atol=1e-13 * largest)
    np.testing.assert_allclose(lazy.squared_norm, w @ w, rtol=1e-10, atol=1e-20 * largest**2)
    np.testing.assert_allclose(lazy.average(), total / times if times else w, rtol=1e-10, atol=1e-11 * largest)


def test_the_average_survives_thousands_of_halvings():
    lazy, w, total = _core.AveragedWeights(np.zeros(2)), np.zeros(2), np.zeros(2)
    for t in range(3000):
        lazy.multiply(0.5)
        lazy.add(np.array([t % 2]), np.ones(1), 1.0)
        lazy.count()
        w = w * 0.5
        w[t % 2] += 1.0
        total += w
    np.testing.assert_allclose(lazy.average(), total / 3000, rtol=1e-12)


def test_the_average_survives_a_factor_of_zero():
    lazy = _core.AveragedWeights(np.array([3.0]))
    lazy.count()
    lazy.multiply(0.0)
    lazy.add(np.array([0]), np.ones(1), 1.0)
    lazy.count()
    assert lazy.average() == [2.0]
    assert lazy.current() == [1.0]


def test_weights_that_come_later_were_zero_before():
    lazy = _core.AveragedWeights(np.array([1.0]))
    lazy.count()
    lazy.grow(2)
    lazy.add(np.array([1]), np.ones(1), 4.0)
    lazy.count()
    np.testing.assert_array_equal(lazy.average(), [1.0, 2.0])


# Pegasos, written out


@given(
    problems,
    st.sampled_from(LOSSES),
    st.integers(1, 5),
    st.sampled_from([1, 2, 3, None]),
    st.booleans(),
    st.sampled_from(Pegasos.STEPS),
    st.booleans(),
)
def test_pegasos_is_the_algorithm_written_out(problem, loss, k, batch_size, projection, step, restricted):
    restricted = restricted and loss == "averaged-sum"
    learner = Pegasos(
        lam=0.1,
        epochs=4,
        loss=loss,
        k=k,
        batch_size=batch_size,
        projection=projection,
        step=step,
        restricted=restricted,
        gamma=0.3,
        cccp=2,
        averaged=False,
        shuffle=False,
    ).without_unused()
    found = trace(learner, problem.oracle())
    literal = margins.Descent(problem.examples, 0.1, rule=step, gamma=0.3, batch_size=batch_size, projection=projection)
    literal.run(np.zeros(len(problem.start)), direction_of(problem, loss, k, restricted, 2), 4)
    assume(not any(example.doubtful for example in problem.examples))
    steps = len(literal.history) // 4
    for epoch, (weights, _) in enumerate(found):
        np.testing.assert_allclose(weights, literal.history[(epoch + 1) * steps - 1], rtol=1e-8, atol=1e-9)


# The cost and the score of the prediction, and of another output that loses as much: on paper, but not in binary.
TIES = [
    ((a / 20, b / 20), ((a + b - c) / 20, c / 20))
    for b in range(2, 12)
    for a in range(1, 12)
    for c in range(1, b)
    if (a + b - c) / 20 + c / 20 < a / 20 + b / 20
]


def test_outputs_that_lose_as_much_as_the_prediction_are_kept():
    """They are in S_n (before eq. 6.13), so eq. 6.12 moves towards gold from all of them."""
    assert len(TIES) > 20
    for (cost, score), (other_cost, other_score) in TIES:
        features = np.vstack([np.zeros(2), np.eye(2)])  # of gold, the prediction and the other
        start, costs = np.array([score, other_score]), np.array([0.0, cost, other_cost])
        indptr, indices, data = np.array([0, 0, 1, 2]), np.array([0, 1]), np.ones(2)
        oracle = _core.EnumeratedOracle.make(
            np.array([0, 3]), np.array([0]), indptr, indices, data, 2, costs, np.ones(1)
        )
        learner = Pegasos(0.1, 1, loss="averaged-sum", k=2, restricted=True, averaged=False)
        literal = margins.Descent([margins.Example(costs, features, 0)], 0.1, start=1)
        expected = literal.run(start, lambda e, w, epoch: margins.hinge_direction(e, w, 2, True), 1)
        np.testing.assert_allclose(learner.train(oracle, weights=start).weights, expected, rtol=1e-12)


@given(problems, st.sampled_from([0, 1, 3, 0.0, 0.3, 0.5, 0.9]), st.sampled_from([1, 4]), st.booleans())
def test_the_average_is_that_of_the_steps_from_the_one_named(problem, average_from, batch_size, projection):
    learner = Pegasos(
        lam=0.1, epochs=4, batch_size=batch_size, projection=projection, average_from=average_from, shuffle=False
    )
    literal = margins.Descent(problem.examples, 0.1, batch_size=batch_size, projection=projection)
    literal.run(np.zeros(len(problem.start)), direction_of(problem, "max-margin", 1, False, 1), 4)
    steps = len(literal.history) // 4
    first = int(average_from * 4 * steps) if isinstance(average_from, float) else average_from * steps
    expected = np.mean(literal.history[first:], axis=0) if first < 4 * steps else literal.history[-1]
    np.testing.assert_allclose(learner.train(problem.oracle()).weights, expected, rtol=1e-8, atol=1e-9)


@given(problems, st.booleans(), st.booleans())
def test_k_best_with_k_1_is_stochastic_pegasos_to_the_last_bit(problem, projection, averaged):
    common = dict(lam=0.05, epochs=3, projection=projection, averaged=averaged)
    expected = trace(Pegasos(**common), problem.oracle(), seed=7)
    for other in (dict(loss="k-best"), dict(loss="averaged-sum"), dict(loss="averaged-sum", restricted=True)):
        for (a, _), (b, _) in zip(
            expected, trace(Pegasos(k=1, **other, **common), problem.oracle(), seed=7), strict=True
        ):
            assert a.tobytes() == b.tobytes()


@given(problems)
def test_the_first_round_of_the_ramp_loss_is_the_hinge(problem):
    hinge = trace(Pegasos(lam=0.05, epochs=6), problem.oracle())
    ramp = trace(Pegasos(lam=0.05, epochs=6, loss="ramp", cccp=3), problem.oracle())
    for (a, _), (b, _) in itertools.islice(zip(hinge, ramp, strict=True), 3):
        assert a.tobytes() == b.tobytes()


@given(problems, st.integers(1, 6))
def test_losses_are_what_they_are_called(problem, k):
    # One step over the whole data meets the mean loss at the weights it starts from.
    for loss, value in {
        "max-margin": margins.max_margin,
        "k-best": lambda e, w: margins.k_best(e, w, k),
        "averaged-sum": lambda e, w: margins.k_best(e, w, k),
        "ramp": margins.ramp,
        "ramp-do": lambda e, w: margins.ramp(e, w, 0.0),
        "slack": margins.slack,
    }.items():
        learner = Pegasos(epochs=1, loss=loss, k=k, batch_size=None).without_unused()
        [(_, facts)] = trace(learner, problem.oracle(), weights=problem.start)
        np.testing.assert_allclose(facts["mean_loss"], problem.mean(value, problem.start), rtol=1e-9, atol=1e-12)


@given(problems, st.floats(0.01, 2.0), st.sampled_from(LOSSES), st.sampled_from(["pegasos", "constant"]))
def test_projection_keeps_the_weights_in_their_ball(problem, lam, loss, step):
    learner = Pegasos(lam=lam, epochs=5, loss=loss, projection=True, step=step, averaged=False)
    for weights, _ in trace(learner, problem.oracle()):
        assert np.linalg.norm(weights) <= lam**-0.5 * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "learner",
    [
        Pegasos(lam=0.1, epochs=3000, average_from=0.5),
        Pegasos(lam=0.1, epochs=3000, average_from=0.5, projection=True),
        Pegasos(lam=0.1, epochs=3000, average_from=0.5, batch_size=4),
        Pegasos(lam=0.1, epochs=3000, average_from=0.5, step="power"),
        Pegasos(lam=0.1, epochs=3000, average_from=0.5, step="asgd"),
        Subgradient(lam=0.1, epochs=3000, average_from=0.5, step="root"),
        Subgradient(lam=0.1, epochs=3000, average_from=0.5, step="pegasos", batch_size=None),
    ],
    ids=repr,
)
def test_the_objective_falls_to_the_minimum(learner, seed):
    problem = Problem(seed, n=8, weighted=seed % 2 == 1)
    least, _ = margins.least_objective(problem.examples, 0.1, len(problem.start))
    w = learner.train(problem.oracle()).weights
    reached = 0.05 * w @ w + problem.mean(margins.max_margin, w)
    assert least - 1e-9 <= reached <= least + 5e-3


def test_the_reported_objective_ends_near_the_true_one():
    problem = Problem(3, n=8)
    trained = Pegasos(lam=0.1, epochs=2000, average_from=0.5).train(problem.oracle())
    w = trained.weights
    assert trained.objective == pytest.approx(0.05 * w @ w + problem.mean(margins.max_margin, w), abs=5e-3)


def test_the_ramp_loss_lets_outliers_go():
    # Two labels left and right of zero, and three rows far out with the wrong one: the hinge follows them.
    clean = np.linspace(0.5, 1.5, 10)
    x = np.stack([np.concatenate([clean, -clean, [-6.0] * 3]), np.ones(23)], axis=1)
    gold = np.array([0] * 10 + [1] * 10 + [0] * 3, dtype=np.int32)
    oracle = _core.LabelOracle.dense(x, gold, 2, NOTHING, NO_COST)
    examples = margins.labels_as_examples(x, gold, 2)

    def trained(**options):
        w = Pegasos(lam=0.01, epochs=400, average_from=0.5, **options).train(oracle).weights
        objective = 0.005 * w @ w + sum(margins.ramp(e, w) for e in examples) / len(examples)
        return objective, sum(e.best(w, 1, 0.0)[0] != e.gold for e in examples)

    (hinge, hinge_mistakes), (ramp, ramp_mistakes) = trained(), trained(loss="ramp", cccp=50)
    assert ramp < hinge - 0.5
    assert ramp_mistakes == 3 < hinge_mistakes


# Subgradient descent, written out


@given(
    problems,
    st.sampled_from(["margin", "slack", 1.0, -1.0, 0.2]),
    st.sampled_from([1, 3, None]),
    st.sampled_from(Subgradient.STEPS),
)
def test_subgradient_descent_is_the_algorithm_written_out(problem, kind, batch_size, step):
    options = dict(loss="direct", epsilon=kind) if isinstance(kind, float) else dict(rescaling=kind)
    learner = Subgradient(
        lam=0.1, epochs=3, batch_size=batch_size, step=step, gamma=0.7, averaged=False, shuffle=False, **options
    ).without_unused()

    def direction(e, w, epoch):
        if isinstance(kind, float):
            return margins.direct_direction(e, w, kind)
        return margins.slack_direction(e, w) if kind == "slack" else margins.hinge_direction(e, w, 1, False)

    literal = margins.Descent(problem.examples, 0.1, rule=step, gamma=0.7, batch_size=batch_size, start=len(problem.x))
    literal.start = -(-len(problem.x) // (batch_size or len(problem.x)))
    expected = literal.run(problem.start, direction, 3, textbook=True)
    found = learner.train(problem.oracle(), weights=problem.start).weights
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_c_is_one_over_lam_n():
    problem = Problem(0)
    by_c = Subgradient(C=0.5, epochs=3).train(problem.oracle()).weights
    by_lam = Subgradient(lam=1 / (0.5 * len(problem.x)), epochs=3).train(problem.oracle()).weights
    np.testing.assert_array_equal(by_c, by_lam)


@pytest.mark.parametrize("epsilon", [0.5, -0.5])
def test_direct_loss_moves_towards_less_cost(epsilon):
    # Label 0 is predicted at cost 0.4; 1 costs 1.0 and scores 0.2 less, 2 is gold and scores 0.1 less.
    oracle = _core.LabelOracle.dense(
        np.ones((1, 1)), np.array([2], dtype=np.int32), 3, NOTHING, np.array([[0, 1, 1], [1, 0, 1], [0.4, 1.0, 0]])
    )
    start = np.array([1.0, 0.8, 0.9])
    learner = Subgradient(lam=1e-9, epochs=1, loss="direct", epsilon=epsilon, gamma=0.01, averaged=False)
    moved = learner.train(oracle, weights=start).weights - start
    # Above 0 the costly label is pushed down in favour of the prediction; below 0 gold is raised above it.
    expected = {0.5: [0.02, -0.02, 0.0], -0.5: [-0.02, 0.0, 0.02]}[epsilon]
    np.testing.assert_allclose(moved, expected, atol=1e-7)


def test_epsilon_shrinks_from_pass_to_pass():
    oracle = _core.LabelOracle.dense(np.ones((1, 1)), np.zeros(1, dtype=np.int32), 2, NOTHING, NO_COST)
    start = np.array([0.5, 0.2])  # found at epsilon > 0.3
    learner = Subgradient(lam=1e-9, epochs=2, loss="direct", epsilon=0.5, epsilon_decay=1.0, gamma=0.1, averaged=False)
    (first, _), (second, _) = trace(learner, oracle, weights=start)
    np.testing.assert_allclose(first - start, [0.2, -0.2], atol=1e-7)
    np.testing.assert_allclose(second, first, atol=1e-7)  # 0.25 is not enough to bring the other label up


# Rescaled slack


@given(problems, st.floats(0.01, 3.0))
def test_the_slack_rival_is_the_worst_of_all(problem, scale):
    oracle, w = problem.oracle(), problem.start * scale
    for i, example in enumerate(problem.examples):
        expected = margins.slack(example, w)
        for search in (False, True):
            rival = _core.slack_rival(oracle, w, i, search)
            assert (rival is None) == (expected <= 0)
            if rival is None:
                continue
            code, cost, loss, exact, indices, values = rival
            assert exact
            np.testing.assert_allclose(loss, expected, rtol=1e-9)
            np.testing.assert_allclose(cost * (1 - w[indices] @ values), loss, rtol=1e-9)
            assert cost == example.costs[code[0]]


@given(st.integers(0, 2**32 - 1), st.integers(2, 300), st.booleans())
def test_the_slack_search_says_when_it_is_not_sure(seed, n_labels, counted):
    # Points anywhere under the hull: one row, so that scores are the weights.
    rng = np.random.default_rng(seed)
    cost = np.zeros((n_labels, n_labels))
    cost[0, 1:] = rng.integers(1, 9, n_labels - 1) if counted else rng.uniform(0.1, 8, n_labels - 1)
    oracle = _core.LabelOracle.dense(np.ones((1, 1)), np.zeros(1, dtype=np.int32), n_labels, NOTHING, cost)
    w = np.concatenate([[0.0], rng.normal(-cost[0, 1:] / 4, 0.3)])
    values = cost[0] * (1 + w)
    rival = _core.slack_rival(oracle, w, 0, True)
    if rival is None:
        assert values.max() <= 0 or n_labels > 64
        return
    _, _, loss, exact, _, _ = rival
    assert loss <= values.max() + 1e-12
    if exact:
        np.testing.assert_allclose(loss, values.max(), rtol=1e-12)


def test_the_slack_search_is_exact_on_most_problems():
    rng, exact = np.random.default_rng(0), 0
    for _ in range(200):
        cost = np.zeros((200, 200))
        cost[0, 1:] = rng.integers(1, 9, 199)
        oracle = _core.LabelOracle.dense(np.ones((1, 1)), np.zeros(1, dtype=np.int32), 200, NOTHING, cost)
        rival = _core.slack_rival(oracle, np.concatenate([[0.0], rng.normal(-cost[0, 1:] / 4, 0.3)]), 0, True)
        exact += rival is not None and rival[3]
    assert exact >= 195


# What holds for all of them

ALL = [
    *(Pegasos(lam=0.1, epochs=6, loss=loss, k=2, cccp=2).without_unused() for loss in LOSSES),
    Pegasos(lam=0.1, epochs=6, loss="averaged-sum", restricted=True, batch_size=3, projection=True),
    Pegasos(lam=0.1, epochs=6, loss="ramp", cccp=4, batch_size=3),
    Pegasos(lam=0.1, epochs=6, step="asgd", average_from=0.7),
    Subgradient(epochs=6),
    Subgradient(epochs=6, rescaling="slack", batch_size=4, average_from=2),
    Subgradient(epochs=6, loss="direct", epsilon_decay=0.5, step="root"),
    Subgradient(epochs=6, batch_size=None),
]


@pytest.mark.parametrize("learner", ALL, ids=repr)
@pytest.mark.parametrize("cut", [1, 3, 5])
def test_a_run_cut_in_two_ends_with_the_same_bits(learner, cut):
    problem, saved = Problem(5, n=11), {}

    def stop(iteration):
        saved.update(iteration.state())
        return iteration.number == cut

    whole = learner.train(problem.oracle(), seed=3, weights=problem.start)
    learner.train(problem.oracle(), seed=3, weights=problem.start, on_iteration=stop)
    resumed = learner.train(problem.oracle(), seed=3, state=saved)
    assert resumed.weights.tobytes() == whole.weights.tobytes()
    assert resumed.objective == whole.objective


@pytest.mark.parametrize("learner", ALL, ids=repr)
def test_threads_change_no_bit(learner):
    problem = Problem(6, n=40)
    one, three = (learner.train(problem.oracle(), n_jobs=n) for n in (1, 3))
    assert one.weights.tobytes() == three.weights.tobytes()


@pytest.mark.parametrize("learner", ALL, ids=repr)
def test_examples_of_weight_zero_are_not_looked_at(learner):
    problem = Problem(8, n=10, weighted=True)
    problem.sample_weight[3:] = 0.0
    with_them = learner.set_params(shuffle=False).train(problem.oracle()).weights
    problem.gold[3:] = (problem.gold[3:] + 1) % problem.k
    np.testing.assert_array_equal(learner.train(problem.oracle()).weights, with_them)
    learner.set_params(shuffle=True)


def test_weights_to_start_from_are_not_forgotten():
    problem = Problem(9, n=30)
    problem.gold[:] = (problem.x @ problem.start.reshape(-1, problem.k)).argmax(axis=1)  # something to learn
    good = Pegasos(lam=0.1, epochs=500).train(problem.oracle()).weights
    again = Pegasos(lam=0.1, epochs=1, averaged=False).train(problem.oracle(), weights=good).weights
    cold = Pegasos(lam=0.1, epochs=1, averaged=False).train(problem.oracle()).weights
    assert np.linalg.norm(again - good) < 0.5 * np.linalg.norm(cold - good)


def test_steps_that_are_too_long_end_the_run():
    trained = Subgradient(lam=50.0, epochs=2000, gamma=1.0).train(Problem(1).oracle())
    assert not trained.converged
    assert "not finite" in trained.message


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Pegasos(lam=0.0), "lam"),
        (Pegasos(lam=float("nan")), "lam"),
        (Pegasos(epochs=0), "epochs"),
        (Pegasos(k=0), "k must"),
        (Pegasos(loss="hinge"), "loss"),
        (Pegasos(step="root"), "step"),
        (Pegasos(batch_size=0), "batch_size"),
        (Pegasos(restricted=True), "averaged-sum"),
        (Pegasos(alpha=0.4), "alpha"),
        (Pegasos(alpha=1.1), "alpha"),
        (Pegasos(gamma=-1.0), "gamma"),
        (Pegasos(cccp=0), "cccp"),
        (Pegasos(average_from=-1), "average_from"),
        (Pegasos(average_from=1.0), "fraction"),
        (Pegasos(projection=1), "projection"),
        (Subgradient(C=0.0), "C must"),
        (Subgradient(lam=-1.0), "lam"),
        (Subgradient(loss="ramp"), "loss"),
        (Subgradient(rescaling="both"), "rescaling"),
        (Subgradient(epsilon=0.0), "epsilon"),
        (Subgradient(epsilon_decay=-1.0), "epsilon_decay"),
        (Subgradient(batch_size=-3), "batch_size"),
        (Subgradient(step="power"), "step"),
        (Subgradient(gamma=0.0), "gamma"),
    ],
    ids=repr,
)
def test_wrong_parameters_are_refused(learner, message):
    with pytest.raises(InvalidInput, match=message):
        learner.train(Problem(0).oracle())


def test_the_state_of_other_examples_is_refused():
    saved = {}
    learner = Pegasos(lam=0.1, epochs=3, loss="ramp-do")
    learner.train(Problem(5, n=11).oracle(), on_iteration=lambda i: saved.update(i.state()))
    with pytest.raises(InvalidInput, match="state"):
        learner.train(Problem(5, n=10).oracle(), state=saved)
    for broken in ([], [11.0], [11.0, 1.0, 0.0, 99.0, 1.0], [float("nan")], [-1.0]):
        with pytest.raises(InvalidInput, match="tangents"):
            learner.train(Problem(5, n=11).oracle(), state={**saved, "tangents": np.array(broken)})
