"""Dual methods: quadratic programs tried out in full, objectives written out, and duality as the judge of optima."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from reference import quadratic
from training.problems import oracle as chain_oracle
from training.problems import random_problem
from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.dual import MIRA, SDM, DualCoordinate, LaRank

NOTHING, NO_COST = np.zeros(0), np.zeros((0, 0))
TIGHT = {"tau": 1e-10, "tol": 1e-7, "gap_every": 1, "averaged": False}


class Problem:
    """Rows with labels, their oracle, and the losses written out."""

    def __init__(self, x, gold, n_labels, sample_weight=None, cost=None):
        self.x, self.gold, self.n_labels = x, gold, n_labels
        self.sample_weight = np.ones(len(x)) if sample_weight is None else sample_weight
        self.cost = 1.0 - np.eye(n_labels) if cost is None else cost

    def oracle(self):
        gold = self.gold.astype(np.int32)
        return _core.LabelOracle.dense(self.x, gold, self.n_labels, self.sample_weight, self.cost)

    def margins(self, weights):
        """w . (f(gold) - f(y)), by row and label."""
        scores = self.x @ weights.reshape(-1, self.n_labels)
        return scores[np.arange(len(self.x)), self.gold][:, None] - scores

    def hinges(self, weights, slack=False):
        costs = self.cost[self.gold]
        return (costs - (costs if slack else 1.0) * self.margins(weights)).max(axis=1)

    def primal(self, weights, C, loss="hinge", start=0.0):
        hinges = self.hinges(weights, loss == "slack")
        if loss == "squared":
            hinges = hinges**2
        if loss.startswith("ramp"):
            charged = self.cost[self.gold] if loss == "ramp" else 0.0
            hinges = hinges - (-charged - self.margins(weights)).max(axis=1)
        return 0.5 * ((weights - start) ** 2).sum() + C * self.sample_weight @ hinges


def problem_of(seed, n=None, noise=1.0, weighted=False):
    rng = np.random.default_rng(seed)
    n, d, k = n or rng.integers(2, 9), rng.integers(1, 4), rng.integers(2, 5)
    x = rng.normal(size=(n, d))
    gold = (x @ rng.normal(size=(d, k)) + noise * rng.normal(size=(n, k))).argmax(axis=1)
    cost = rng.uniform(0.5, 2.0, size=(k, k)) * (1 - np.eye(k)) if rng.random() < 0.5 else None
    return Problem(x, gold, int(k), rng.exponential(size=n) if weighted else None, cost)


def problems(**options):
    return st.integers(0, 2**32 - 1).map(lambda seed: problem_of(seed, **options))


CONVEX = [
    (SDM(C=0.3, k=1, epochs=2000, **TIGHT), "hinge"),
    (SDM(C=0.3, k=3, epochs=2000, **TIGHT), "hinge"),
    (SDM(C=0.3, k=3, growth=1, epochs=2000, **TIGHT), "hinge"),
    (SDM(C=0.3, k=2, skip=True, epochs=2000, **TIGHT), "hinge"),
    (SDM(C=0.3, loss="slack", epochs=2000, **TIGHT), "slack"),
    (SDM(C=0.3, loss="slack", growth=2, skip=True, epochs=2000, **TIGHT), "slack"),
    (LaRank(C=0.3, k=2, reprocess=3, epochs=2000, **TIGHT), "hinge"),
    (LaRank(C=0.3, reprocess=0, growth=2, epochs=2000, **TIGHT), "hinge"),
    (DualCoordinate(C=0.3, k=1, epochs=2000, **TIGHT), "squared"),
    (DualCoordinate(C=0.3, k=4, growth=2, skip=True, epochs=2000, **TIGHT), "squared"),
]
convex = pytest.mark.parametrize(("learner", "loss"), CONVEX, ids=lambda value: str(value)[:30])


def trace_of(learner, oracle, **options):
    """The facts of every pass, and what came out."""
    facts = []
    trained = learner.train(oracle, on_iteration=lambda done: facts.append(dict(done.facts)), **options)
    return facts, trained


# --- the problem inside an example ---


@st.composite
def blocks(draw):
    """Differences as rows of small integers, so that zeros, equal, opposite and dependent ones are frequent."""
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = rng.integers(-2, 3, size=(n, d)).astype(float)
    return A, rng.integers(-2, 4, size=n).astype(float), float(rng.choice([0.1, 0.5, 1.0, 5.0]))


@given(blocks())
def test_smo_solves_the_problem_with_a_fixed_sum(block):
    A, b, C = block
    lambdas, _, gold = _core.solve_block(A @ A.T, b, "sum", C)
    assert (lambdas >= 0).all()
    assert gold >= 0
    np.testing.assert_allclose(lambdas.sum() + gold, C, rtol=1e-12)
    expected = quadratic.maximum(A @ A.T, b, total=C)
    np.testing.assert_allclose(quadratic.value(A @ A.T, b, lambdas), expected, rtol=1e-9, atol=1e-9)


@given(blocks())
def test_the_active_set_solves_the_problem_in_a_box(block):
    A, b, C = block
    lambdas, _, _ = _core.solve_block(A @ A.T, b, "box", C)
    assert (lambdas >= 0).all()
    assert (lambdas <= C).all()
    expected = quadratic.maximum(A @ A.T, b, upper=C)
    np.testing.assert_allclose(quadratic.value(A @ A.T, b, lambdas), expected, rtol=1e-9, atol=1e-9)


@given(blocks())
def test_the_active_set_finds_the_least_weights_that_meet_all_constraints(block):
    A, b, _ = block
    expected = quadratic.least_norm(A, b)
    assume(expected is not None)
    lambdas, _, _ = _core.solve_block(A @ A.T, b, "box", np.inf)
    v = A.T @ lambdas
    assert (A @ v >= b - 1e-9).all()
    np.testing.assert_allclose(0.5 * v @ v, expected, rtol=1e-9, atol=1e-9)


@given(blocks())
def test_where_constraints_contradict_each_other_those_that_are_met_are_met_with_the_least_weights(block):
    A, b, _ = block
    assume(quadratic.least_norm(A, b) is None)
    lambdas, _, _ = _core.solve_block(A @ A.T, b, "box", np.inf)
    v = A.T @ lambdas
    met = A @ v >= b - 1e-9
    np.testing.assert_allclose(0.5 * v @ v, quadratic.least_norm(A[met], b[met]), rtol=1e-9, atol=1e-9)
    if (A[b > 0] != 0).any():  # something asks for a change and can be met
        assert (met & (b > 0)).any()


@given(blocks())
def test_coordinate_ascent_solves_the_problem_of_the_squared_hinge(block):
    A, b, C = block
    K = A @ A.T + 1 / (2 * C)
    lambdas, _, _ = _core.solve_block(K, b, "positive", C)
    assert (lambdas >= 0).all()
    expected = quadratic.maximum(K, b)
    np.testing.assert_allclose(quadratic.value(K, b, lambdas), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("constraints", "C"), [("sum", 2.0), ("box", 2.0), ("box", np.inf)])
def test_a_difference_of_zero_with_a_cost_ends_at_its_bound(constraints, C):
    lambdas, _, _ = _core.solve_block(np.zeros((1, 1)), np.ones(1), constraints, C)
    assert lambdas[0] == (C if np.isfinite(C) else 0.0)


def test_opposite_constraints_without_slack_end():
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    lambdas, _, _ = _core.solve_block(K, np.array([1.0, 2.0]), "box", np.inf)
    assert lambdas.tolist() == [0.0, 2.0]


# --- MIRA ---


def one_visit(learner, problem, weights):
    return learner.set_params(epochs=1, averaged=False).train(problem.oracle(), weights=weights).weights


@given(problems(n=1), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_mira_makes_the_least_change_that_meets_the_constraints_of_the_k_best(problem, k, seed):
    oracle = problem.oracle()
    start = np.random.default_rng(seed).normal(size=oracle.n_weights)
    moved = one_visit(MIRA(k=k), problem, start)
    rows, costs = [], []
    for _, _, cost, indices, values in oracle.kbest(start, 0, k, 1.0):
        if cost > 0:
            rows.append(np.zeros(len(start)))
            rows[-1][indices] = values
            costs.append(cost)
    A, costs = np.array(rows).reshape(-1, len(start)), np.array(costs)
    assert (A @ moved >= costs - 1e-9).all()
    expected = quadratic.least_norm(A, costs - A @ start)
    np.testing.assert_allclose(0.5 * ((moved - start) ** 2).sum(), expected, rtol=1e-8, atol=1e-12)


@given(problems(n=1, weighted=True), st.integers(1, 4), st.sampled_from([0.01, 0.1, 1.0, 10.0]))
def test_mira_with_slack_minimises_its_objective(problem, k, C):
    oracle = problem.oracle()
    start = np.random.default_rng(len(problem.x)).normal(size=oracle.n_weights)
    moved = one_visit(MIRA(C=C, k=k), problem, start)
    found = oracle.kbest(start, 0, k, 1.0)
    A = np.zeros((len(found), len(start)))
    for row, (_, _, _, indices, values) in zip(A, found, strict=True):
        row[indices] = values
    costs = np.array([cost for _, _, cost, _, _ in found])
    price = C * problem.sample_weight[0]
    primal = 0.5 * ((moved - start) ** 2).sum() + price * np.maximum(0, costs - A @ moved).sum()
    expected = quadratic.maximum(A @ A.T, costs - A @ start, upper=price)
    np.testing.assert_allclose(primal, expected, rtol=1e-9, atol=1e-9)


def test_mira_stops_when_every_margin_is_met():
    x = np.eye(3)
    trained = MIRA(epochs=50, k=3).train(Problem(x, np.arange(3), 3).oracle())
    assert trained.converged
    assert trained.objective == 0.0


def test_mira_without_slack_stays_finite_on_contradictory_examples():
    x = np.ones((4, 1))
    trained = MIRA(epochs=20, k=3).train(Problem(x, np.array([0, 1, 2, 0]), 3).oracle())
    assert np.isfinite(trained.weights).all()
    rows_of_zeros = MIRA(epochs=20, k=3).train(Problem(np.zeros((2, 1)), np.array([0, 1]), 3).oracle())
    assert rows_of_zeros.weights.tolist() == [0.0, 0.0, 0.0]
    assert rows_of_zeros.converged


# --- objectives and their gap ---


@convex
@given(problem=problems(weighted=True))
def test_the_dual_never_falls_and_stays_below_the_primal(learner, loss, problem):
    short = type(learner)(**{**learner.get_params(), "epochs": 8})
    facts, trained = trace_of(short, problem.oracle())
    duals = np.array([fact["dual"] for fact in facts])
    slack = 1e-10 * (1 + np.abs(duals).max())
    assert (np.diff(duals) >= -slack).all()
    assert all(fact["dual"] <= fact["primal"] + slack for fact in facts)
    np.testing.assert_allclose(trained.objective, problem.primal(trained.weights, 0.3, loss), rtol=1e-9)


@given(problems(weighted=True), st.sampled_from([SDM(C=0.3, k=2, epochs=4), LaRank(C=0.3, growth=1, epochs=4)]))
def test_the_dual_variables_of_each_example_are_positive_and_sum_to_its_price(problem, learner):
    """Eq. 2.10: over all epochs, an example moves the weights by no more than C along any one of its outputs."""

    def check(done):
        examples = done.state()["examples"].reshape(-1, 4)
        lambdas = done.state()["member_heads"].reshape(-1, 3)[:, 0]
        owners = np.repeat(np.arange(len(examples)), examples[:, 1].astype(int))
        totals = examples[:, 0] + np.bincount(owners, lambdas, minlength=len(examples))
        assert (examples[:, 0] >= 0).all()
        assert (lambdas > 0).all()
        np.testing.assert_allclose(totals, 0.3 * problem.sample_weight, rtol=1e-9)

    learner.train(problem.oracle(), on_iteration=check)


@convex
@pytest.mark.parametrize("seed", range(4))
def test_the_gap_closes(learner, loss, seed):
    problem = problem_of(seed, n=12, weighted=True)
    facts, trained = trace_of(learner, problem.oracle())
    assert trained.converged
    assert facts[-1]["gap"] <= 1e-7 * trained.objective + 1e-9
    assert "gap" in trained.message or "tau" in trained.message


def minimum_by_scipy(problem, C, loss):
    """The least primal objective, with a slack variable per row: linear constraints and a smooth objective."""
    n, d = len(problem.x), problem.x.shape[1] * problem.n_labels

    def objective(at):
        w, slack = at[:d], at[d:]
        losses = slack**2 if loss == "squared" else slack
        slope = 2 * slack if loss == "squared" else np.ones(n)
        value = 0.5 * w @ w + C * problem.sample_weight @ losses
        return value, np.concatenate([w, C * problem.sample_weight * slope])

    rows = []
    for i in range(n):
        for y in range(problem.n_labels):
            row = np.zeros((problem.x.shape[1], problem.n_labels))
            row[:, problem.gold[i]] += problem.x[i]
            row[:, y] -= problem.x[i]
            row *= problem.cost[problem.gold[i], y] if loss == "slack" else 1.0
            rows.append(np.concatenate([row.ravel(), np.eye(n)[i]]))
    A, b = np.array(rows), problem.cost[problem.gold].ravel()
    constraints = {"type": "ineq", "fun": lambda at: A @ at - b, "jac": lambda at: A}
    start = np.concatenate([np.zeros(d), np.full(n, problem.cost.max())])
    options = {"maxiter": 1000, "ftol": 1e-13}
    return minimize(objective, start, jac=True, method="SLSQP", constraints=[constraints], options=options).fun


@convex
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_a_general_solver(learner, loss, seed):
    problem = problem_of(seed, n=6, weighted=seed > 0)
    expected = minimum_by_scipy(problem, 0.3, loss)
    trained = learner.train(problem.oracle())
    np.testing.assert_allclose(problem.primal(trained.weights, 0.3, loss), expected, rtol=1e-5)


@given(problems(n=8), st.integers(1, 3))
def test_growth_bounds_the_working_sets(problem, growth):
    for make in (SDM, DualCoordinate, LaRank):
        facts, _ = trace_of(make(k=3, growth=growth, epochs=5), problem.oracle())
        assert all(fact["working_set"] <= 8 * growth for fact in facts)


def test_memory_is_reported_and_grows_with_the_working_set():
    small, large = (trace_of(SDM(k=3, epochs=2), problem_of(5, n=n).oracle())[0][-1] for n in (5, 50))
    assert large["working_set"] > small["working_set"]
    assert large["memory_bytes"] > small["memory_bytes"] > 0


def test_skipping_decodes_satisfied_examples_less_often():
    problem = problem_of(3, n=40, noise=0.1)
    facts, trained = trace_of(SDM(C=0.1, skip=True, epochs=500, **TIGHT), problem.oracle())
    assert max(fact["skipped"] for fact in facts) > 0
    plain = SDM(C=0.1, epochs=500, **TIGHT).train(problem.oracle())
    np.testing.assert_allclose(trained.objective, plain.objective, rtol=1e-6)


@pytest.mark.parametrize("make", [SDM, LaRank, DualCoordinate])
def test_a_weight_of_two_is_two_examples(make):
    problem = problem_of(11, n=6)
    twice = Problem(np.vstack([problem.x] * 2), np.tile(problem.gold, 2), problem.n_labels, None, problem.cost)
    heavy = Problem(problem.x, problem.gold, problem.n_labels, np.full(6, 2.0), problem.cost)
    a, b = (make(C=0.2, epochs=3000, **TIGHT).train(p.oracle()) for p in (twice, heavy))
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(a.objective, b.objective, rtol=1e-6)


@pytest.mark.parametrize("make", [MIRA, SDM, LaRank, DualCoordinate])
def test_examples_of_weight_zero_teach_nothing(make):
    problem = problem_of(4, n=5)
    weights = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    some = Problem(problem.x, problem.gold, problem.n_labels, weights, problem.cost)
    kept = Problem(problem.x[::2], problem.gold[::2], problem.n_labels, None, problem.cost)
    a, b = (make(epochs=1, shuffle=False, averaged=False).train(p.oracle()).weights for p in (some, kept))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("make", "loss"), [(SDM, "hinge"), (LaRank, "hinge"), (DualCoordinate, "squared")])
def test_training_from_given_weights_stays_close_to_them(make, loss):
    problem = problem_of(9, n=8)
    start = np.random.default_rng(0).normal(size=problem.x.shape[1] * problem.n_labels)
    facts, trained = trace_of(make(C=0.1, epochs=3000, **TIGHT), problem.oracle(), weights=start)
    assert trained.converged
    np.testing.assert_allclose(trained.objective, problem.primal(trained.weights, 0.1, loss, start), rtol=1e-9)
    barely = make(C=1e-9, epochs=5, averaged=False).train(problem.oracle(), weights=start)
    np.testing.assert_allclose(barely.weights, start, atol=1e-6)
    duals = [fact["dual"] for fact in facts]
    assert (np.diff(duals) >= -1e-10).all()


# --- chains: weights that appear while training, several parts in an output ---


def chains(combinations="grown"):
    flags = {"valued", "cost", "sequence_weight", "pairs"}
    return chain_oracle(random_problem(7, flags, n_sequences=12, max_length=5, combinations=combinations), best=True)


@pytest.mark.parametrize("loss", ["hinge", "slack", "squared"])
def test_all_reach_the_same_objective_on_chains_whether_or_not_weights_are_there_from_the_start(loss):
    learners = [learner for learner, of in CONVEX if of == loss and learner.growth is None]
    reached = [learner.train(chains(how)) for learner in learners for how in ("grown", "all")]
    assert all(trained.converged for trained in reached)
    np.testing.assert_allclose([trained.objective for trained in reached], reached[0].objective, rtol=1e-6)


@pytest.mark.parametrize("learner", [SDM(k=2), DualCoordinate()], ids=str)
def test_merged_working_sets_lead_to_the_same_objective_more_slowly(learner):
    """The more members, the nearer; a set of one is Frank and Wolfe's method, whose gap falls as 1 / passes."""
    reached = []
    for growth in (1, 3, None):
        settings = learner.get_params() | {"C": 0.3, "epochs": 200, "growth": growth, "gap_every": 1, "tol": 1e-6}
        reached.append(type(learner)(**settings).train(chains()).objective)
    assert reached[0] >= reached[1] >= reached[2] - 1e-9
    np.testing.assert_allclose(reached[0], reached[2], rtol=2e-2)


@convex
def test_the_dual_never_falls_on_chains(learner, loss):
    facts, _ = trace_of(type(learner)(**learner.get_params() | {"epochs": 50}), chains())
    assert (np.diff([fact["dual"] for fact in facts]) >= -1e-10).all()


# --- the ramp loss ---

ramps = pytest.mark.parametrize("loss", ["ramp", "ramp-do"])


@ramps
@given(problem=problems(weighted=True))
def test_the_ramp_objective_is_the_one_written_out_and_below_its_bound(loss, problem):
    facts, trained = trace_of(SDM(C=0.5, loss=loss, inner=2, epochs=6, gap_every=1, tol=0.0), problem.oracle())
    for fact in facts:
        assert fact["primal"] <= fact["bound"] + 1e-9
        assert fact["dual"] <= fact["bound"] + 1e-9
    np.testing.assert_allclose(trained.objective, problem.primal(trained.weights, 0.5, loss), rtol=1e-9)


@ramps
@pytest.mark.parametrize("seed", range(3))
def test_the_ramp_objective_falls_from_round_to_round(loss, seed):
    problem = problem_of(seed, n=15, noise=3.0)
    facts, trained = trace_of(SDM(C=1.0, loss=loss, inner=4000, epochs=20000, **TIGHT), problem.oracle())
    last = {fact["round"]: fact["primal"] for fact in facts}  # as each round's convex problem is solved
    values = [last[round_] for round_ in sorted(last)]
    assert trained.converged
    assert (np.diff(values) <= 1e-5).all()


@given(problems(n=10), st.integers(0, 2**32 - 1))
def test_each_ramp_loss_lies_between_twice_the_costs_of_its_two_outputs(problem, seed):
    """Eq. 5.5."""
    oracle = problem.oracle()
    weights = np.random.default_rng(seed).normal(size=oracle.n_weights)
    hinges = problem.hinges(weights)
    concave = (-problem.cost[problem.gold] - problem.margins(weights)).max(axis=1)
    for i in range(10):
        above, below = oracle.kbest(weights, i, 1, 1.0)[0][2], oracle.kbest(weights, i, 1, -1.0)[0][2]
        assert 2 * below - 1e-9 <= hinges[i] - concave[i] <= 2 * above + 1e-9


def test_an_outlier_moves_the_hinge_and_leaves_the_ramp():
    rng = np.random.default_rng(1)
    x = np.vstack([rng.normal(size=(30, 1)) + 3, rng.normal(size=(30, 1)) - 3, [[20.0]]])
    x = np.hstack([x, np.ones((61, 1))])
    gold = np.array([0] * 30 + [1] * 30 + [1])  # the last one is mislabelled, and far out
    clean = SDM(C=0.1, epochs=2000, **TIGHT).train(Problem(x[:-1], gold[:-1], 2).oracle()).weights
    for loss, moved in (("hinge", True), ("ramp", False)):
        learner = SDM(C=0.1, loss=loss, epochs=4000, inner=2000, **TIGHT).without_unused()
        weights = learner.train(Problem(x, gold, 2).oracle()).weights
        assert (np.abs(weights - clean).max() > 0.05) == moved


# --- runs that are cut in two, threads, bad input ---

RESUMED = [
    MIRA(k=3, epochs=6),
    MIRA(C=0.1, k=2, epochs=6, averaged=False),
    SDM(k=2, epochs=6, gap_every=2, averaged=True, tol=0.0),
    SDM(k=3, growth=2, skip=True, epochs=6, tol=0.0),
    SDM(loss="slack", epochs=6, tol=0.0),
    SDM(loss="ramp", inner=2, k=2, epochs=6, tol=0.0),
    SDM(loss="ramp-do", inner=4, epochs=6, gap_every=1, tol=0.0),
    LaRank(reprocess=2, k=2, epochs=6, tol=0.0),
    DualCoordinate(k=2, skip=True, epochs=6, tol=0.0),
]


@pytest.mark.parametrize("learner", RESUMED, ids=str)
@pytest.mark.parametrize(
    "oracle", [problem_of(21, n=30, noise=2.0, weighted=True).oracle, chains], ids=["labels", "chains"]
)
@pytest.mark.parametrize("cut", [1, 3, 4])
def test_a_run_cut_in_two_ends_with_the_same_bits(learner, oracle, cut):
    states = []
    whole = learner.train(oracle(), seed=5, on_iteration=lambda done: states.append(done.state()))
    assert len(states) > cut
    again = learner.train(oracle(), seed=5, state=states[cut - 1])
    assert again.weights.tobytes() == whole.weights.tobytes()
    assert again.objective == whole.objective
    assert again.message == whole.message


PARTS = ["examples", "member_heads", "member_indices", "member_values", "gap"]
DAMAGE = [
    *((name, lambda part: part[:-1]) for name in PARTS),
    *((name, lambda part: part.astype(np.float32)) for name in [*PARTS, "centre"]),
    *((name, lambda part: np.full_like(part, 1e12)) for name in PARTS[:3]),
    *((name, lambda part: np.full_like(part, np.nan)) for name in PARTS[:3]),
    ("centre", lambda part: np.zeros(1000)),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGE)
def test_a_damaged_state_is_refused(name, damage):
    problem, states = problem_of(2, n=10), []
    SDM(epochs=2).train(problem.oracle(), on_iteration=lambda done: states.append(done.state()))
    with pytest.raises(InvalidInput, match="state"):
        SDM(epochs=2).train(problem.oracle(), state={**states[0], name: damage(states[0][name])})


@pytest.mark.parametrize("name", [*PARTS, "centre"])
def test_a_state_with_a_part_missing_is_refused(name):
    problem, states = problem_of(2, n=10), []
    SDM(epochs=2).train(problem.oracle(), on_iteration=lambda done: states.append(done.state()))
    del states[0][name]
    with pytest.raises(InvalidInput, match="state"):
        SDM(epochs=2).train(problem.oracle(), state=states[0])


def test_a_state_of_other_examples_is_refused():
    states = []
    SDM(epochs=1).train(problem_of(2, n=10).oracle(), on_iteration=lambda done: states.append(done.state()))
    with pytest.raises(InvalidInput, match="another"):
        SDM(epochs=2).train(problem_of(2, n=9).oracle(), state=states[0])


@pytest.mark.parametrize("learner", [SDM(epochs=3, gap_every=1), SDM(loss="ramp", inner=1, epochs=3)], ids=str)
def test_the_same_bits_for_any_number_of_threads(learner):
    problem = problem_of(6, n=3000)
    one, three = (learner.train(problem.oracle(), n_jobs=n_jobs) for n_jobs in (1, 3))
    assert one.weights.tobytes() == three.weights.tobytes()
    assert one.objective == three.objective


@pytest.mark.parametrize("make", [MIRA, SDM, LaRank, DualCoordinate])
@pytest.mark.parametrize(
    ("name", "value"),
    [("C", 0.0), ("C", -1.0), ("C", np.nan), ("C", "1"), ("k", 0), ("k", 1.5), ("epochs", 0), ("averaged", 1)],
)
def test_parameters_that_make_no_sense_are_refused(make, name, value):
    with pytest.raises(InvalidInput, match=name):
        make(**{name: value}).train(problem_of(0).oracle())


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        (SDM(C=np.inf), "C"),
        (SDM(loss="log"), "loss"),
        (SDM(inner=0), "inner"),
        (SDM(tau=-1.0), "tau"),
        (SDM(tol=np.nan), "tol"),
        (SDM(growth=0), "growth"),
        (SDM(skip=None), "skip"),
        (SDM(gap_every=-1), "gap_every"),
        (LaRank(reprocess=-1), "reprocess"),
        (DualCoordinate(skip=2), "skip"),
    ],
    ids=str,
)
def test_further_parameters_that_make_no_sense_are_refused(learner, name):
    with pytest.raises(InvalidInput, match=name):
        learner.train(problem_of(0).oracle())


@pytest.mark.parametrize("make", [MIRA, SDM, LaRank, DualCoordinate])
def test_more_outputs_than_there_are_may_be_asked_for(make):
    trained = make(k=1000, epochs=2).train(problem_of(8).oracle())
    assert np.isfinite(trained.weights).all()


@pytest.mark.parametrize("make", [MIRA, SDM, LaRank, DualCoordinate])
def test_rows_without_values_are_no_reason_to_fail(make):
    """Their outputs differ in cost and in nothing else."""
    problem = Problem(np.zeros((3, 2)), np.array([0, 1, 1]), 3)
    trained = make(epochs=3, k=3, averaged=False).train(problem.oracle())
    assert not trained.weights.any()


def test_rescaled_slack_is_refused_for_more_than_one_output():
    with pytest.raises(InvalidInput, match="k must be 1"):
        SDM(loss="slack", k=2).train(problem_of(0).oracle())
