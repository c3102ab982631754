"""Examples whose outputs are known only in part: every learner against its algorithm written out over all outputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from learners.test_any_structure import Problem, shape
from reference import margins
from training.problems import FLAGS, oracle, random_problem
from trelliswork import _core, learners
from trelliswork.errors import InvalidInput

STRUCTURES = ("chain", "automaton")
CLOSE = dict(rtol=1e-8, atol=1e-8)


class PartlyKnownProblem(Problem):
    """Each site of the first block may have some labels, the one of a hidden output among them."""

    def __init__(self, name, seed, known=0.3, **size):
        super().__init__(name, seed, **size)
        rng = np.random.default_rng(seed + 1000)
        self.labels = [
            [self.some(rng, y, known) for y in listed[g][0]] for listed, g in zip(self.listed, self.gold, strict=True)
        ]

    @staticmethod
    def some(rng, label, known):
        if rng.random() < known:
            return [label]
        others = [y for y in range(3) if y != label and rng.random() < 0.6]
        return sorted([label, *others])

    def oracle(self, combinations="all"):
        sites = [labels for example in self.labels for labels in example]
        lists = [[] if len(labels) == 3 else labels for labels in sites]  # nothing said: any label
        return _core.LinearOracle(
            self.structure,
            [shape(T) for T in self.lengths],
            [],
            self.weights,
            self.channels,
            combinations,
            (
                np.cumsum([0, *map(len, lists)], dtype=np.uint32),
                np.array([y for labels in lists for y in labels], dtype=np.uint32),
            ),
        )

    def cost(self, example, output):
        return float(sum(y not in labels for y, labels in zip(output, self.labels[example], strict=True)))

    @property
    def examples(self):
        out = []
        for i, listed in enumerate(self.listed):
            costs = np.array([self.cost(i, output) for output, _ in listed])
            features = np.array([self.features(i, row) for _, row in listed])
            allowed = tuple(np.flatnonzero(costs == 0).tolist())
            out.append(margins.PartlyKnown(costs, features, allowed[0], self.weights[i], allowed=allowed))
        return out

    def start(self, seed=0):
        return np.random.default_rng(seed).normal(size=self.oracle().n_weights)


@pytest.fixture(params=STRUCTURES)
def problem(request):
    return PartlyKnownProblem(request.param, 11)


def logsumexp(values):
    return np.logaddexp.reduce(np.asarray(values))


@pytest.mark.parametrize("nu", [0.0, 0.7])
def test_the_loss_sums_over_what_is_allowed(problem, nu):
    oracle, w = problem.oracle(), problem.start()
    expected = sum(
        e.weight * (logsumexp(e.features @ w + nu * e.costs) - logsumexp((e.features @ w)[list(e.allowed)]))
        for e in problem.examples
    )
    gradient = np.zeros(len(w))
    np.testing.assert_allclose(oracle.loss(w, gradient, nu=nu), expected, **CLOSE)
    for j in range(0, len(w), 5):
        step = 1e-5 * np.eye(len(w))[j]
        unused = np.zeros(len(w))
        higher, lower = (oracle.loss(w + sign * step, unused, nu=nu) for sign in (1, -1))
        np.testing.assert_allclose(gradient[j], (higher - lower) / 2e-5, rtol=1e-5, atol=1e-5)


WRITTEN_OUT = {
    "perceptron": (
        lambda k: tw.Perceptron(epochs=3, k=k, averaged=False, shuffle=False),
        lambda examples, k, w: margins.perceptron(examples, 3, k, w),
    ),
    "pa": (
        lambda k: tw.PassiveAggressive(C=0.3, epochs=3, k=k, averaged=False, shuffle=False),
        lambda examples, k, w: margins.passive_aggressive(examples, 3, k, 0.3, w),
    ),
    "arow": (
        lambda k: tw.AROW(epochs=3, r=1.0, k=k, averaged=False, shuffle=False),
        lambda examples, k, w: margins.confidence_weighted(examples, 3, k, "arow", start=w)[0],
    ),
}


@pytest.mark.parametrize("name", WRITTEN_OUT)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_online_learners_take_the_best_allowed_output_at_each_visit(name, k, seed, problem):
    learner, written_out = WRITTEN_OUT[name]
    examples, start = problem.examples, problem.start(seed)
    found = learner(k).train(problem.oracle(), weights=start).weights
    expected = written_out(examples, k, start)
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("seed", range(4))
def test_mira_of_one_output_is_passive_aggressive(seed, problem):
    start = problem.start(seed)
    found = tw.MIRA(C=0.3, epochs=3, k=1, averaged=False, shuffle=False).train(problem.oracle(), weights=start).weights
    np.testing.assert_allclose(found, margins.passive_aggressive(problem.examples, 3, 1, 0.3, start), **CLOSE)


@pytest.mark.parametrize("loss", ["max-margin", "k-best", "slack", "ramp", "ramp-do"])
@pytest.mark.parametrize("batch_size", [1, 2, None])
def test_pegasos_is_the_algorithm_written_out(loss, batch_size, problem):
    examples = problem.examples
    if loss.startswith("ramp"):  # gold is in both of its parts: any allowed output will do
        examples = [margins.Example(e.costs, e.features, e.gold, e.weight) for e in examples]
        direction = margins.ramp_directions(examples, 2, -1.0 if loss == "ramp" else 0.0)
    elif loss == "slack":

        def direction(example, w, _):
            example.complete(w)
            return margins.slack_direction(example, w)

    else:
        looked_at = 2 if loss == "k-best" else 1

        def direction(example, w, _):
            example.complete(w)
            losers = [y for y in example.best(w, looked_at + 1, 1.0) if y != example.gold][:looked_at]
            size = min(looked_at, len(example.costs) - 1) or 1
            return sum((example.differences[y] / size for y in losers if example.hinge(w, y) > 0), np.zeros(len(w)))

    k = {"k": 2} if loss == "k-best" else {}
    cccp = {"cccp": 2} if loss.startswith("ramp") else {}
    learner = tw.Pegasos(
        lam=0.2, epochs=4, loss=loss, batch_size=batch_size, averaged=False, shuffle=False, **k, **cccp
    )
    w, weights = np.zeros(problem.oracle().n_weights), problem.start()
    steps = len(examples) // (batch_size or len(examples)) + bool(len(examples) % (batch_size or len(examples)))
    found = learner.train(problem.oracle(), weights=weights).weights
    descent = margins.Descent(examples, 0.2, batch_size=batch_size, start=steps)
    expected = descent.run(weights, direction, 4)
    assert w.shape == found.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_subgradient_descent_is_the_algorithm_written_out(problem):
    learner = tw.Subgradient(lam=0.1, epochs=3, gamma=0.2, averaged=False, shuffle=False)
    start = problem.start()
    found = learner.train(problem.oracle(), weights=start).weights
    descent = margins.Descent(problem.examples, 0.1, rule="constant", gamma=0.2)
    expected = descent.run(start, lambda e, w, _: margins.hinge_direction(e, w, 1, False), 3, textbook=True)
    np.testing.assert_allclose(found, expected, **CLOSE)


C = 0.5
DUAL = {
    "sdm": lambda epochs=400: tw.SDM(C=C, epochs=epochs, tol=1e-7, tau=1e-9),
    "sdm k=3": lambda epochs=400: tw.SDM(C=C, epochs=epochs, k=3, tol=1e-7, tau=1e-9, skip=True),
    "larank": lambda epochs=200: tw.LaRank(C=C, epochs=epochs, tol=1e-7, tau=1e-9),
    "dual-coordinate": lambda epochs=400: tw.DualCoordinate(C=C, epochs=epochs, tol=1e-7, tau=1e-9),
    "frank-wolfe": lambda epochs=3000: tw.FrankWolfe(C=C, epochs=epochs, tol=2e-3, averaged=False),
    "cutting-plane": lambda epochs=400: tw.CuttingPlane(C=C, epochs=epochs, tol=1e-5),
}


@pytest.mark.parametrize("name", DUAL)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("structure", STRUCTURES)
def test_dual_methods_end_where_gold_is_the_best_allowed_output_and_the_weights_are_best_for_it(name, seed, structure):
    problem = PartlyKnownProblem(structure, 20 + seed)
    trained = DUAL[name]().train(problem.oracle())
    assert trained.converged, trained.message
    examples = problem.examples
    for example in examples:
        example.complete(trained.weights)
    n, power = len(examples), 2 if name == "dual-coordinate" else 1
    least, _ = margins.least_objective(examples, 1 / (C * n), len(trained.weights), power)
    np.testing.assert_allclose(
        trained.objective, C * n * least, rtol=2e-3 if name == "frank-wolfe" else 1e-5, atol=1e-6
    )
    losses = sum(e.weight * margins.max_margin(e, trained.weights) ** power for e in examples)
    np.testing.assert_allclose(
        trained.objective, trained.weights @ trained.weights / 2 + C * losses, rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("name", [*DUAL, "perceptron", "pegasos-ramp", "sdm-ramp"])
def test_a_run_cut_in_two_ends_with_the_same_bits(name, problem):
    makers = DUAL | {
        "perceptron": lambda epochs: tw.Perceptron(epochs=epochs),
        "pegasos-ramp": lambda epochs: tw.Pegasos(epochs=epochs, loss="ramp", cccp=3),
        "sdm-ramp": lambda epochs: tw.SDM(C=C, epochs=epochs, loss="ramp", inner=3),
    }
    learner, states = makers[name](7), []
    whole = learner.train(problem.oracle(), on_iteration=lambda it: states.append(it.state()), n_jobs=2)
    for state in states[:3]:
        again = learner.train(problem.oracle(), state=state)
        assert again.weights.tobytes() == whole.weights.tobytes()
        assert again.objective == whole.objective


@pytest.mark.parametrize("name", ["sdm", "frank-wolfe", "cutting-plane", "perceptron"])
def test_outputs_that_are_fully_known_teach_what_gold_teaches(name):
    problem = PartlyKnownProblem("chain", 3, known=1.0)
    make = (DUAL | {"perceptron": lambda epochs: tw.Perceptron(epochs=epochs)})[name]
    found = make(5).train(problem.oracle(), weights=problem.start())
    expected = make(5).train(Problem.oracle(problem), weights=problem.start())
    np.testing.assert_allclose(found.weights, expected.weights, **CLOSE)
    assert found.n_iter == expected.n_iter


@pytest.mark.parametrize(
    ("learner", "question"), [(tw.ExponentiatedGradient(), "parts"), (tw.MEMM(), "local")], ids=["eg", "memm"]
)
def test_learners_that_need_gold_itself_say_so(learner, question, problem):
    with pytest.raises(InvalidInput, match=f"asks for {question}.*give every example one gold output"):
        learner.train(problem.oracle())


# The fast code of chains, against the oracle of any structure.


def chains(seed, flags=(), **settings):
    return random_problem(seed, {"partial", *flags}, combinations="all", per_token=2, **settings)


@given(st.integers(0, 2**31), st.sets(st.sampled_from(FLAGS)), st.sampled_from([0.0, 1.0, -0.5]))
def test_chains_answer_as_the_oracle_of_any_structure(seed, flags, nu):
    made = oracle(chains(seed, flags), best=True)
    linear = made.linear()
    assert [question for question in made.answers if question != "beam"] == list(linear.answers)
    w = np.random.default_rng(seed).normal(size=made.n_weights)
    for i in range(made.n_examples):
        ours, theirs = (o.kbest(w, i, 4, nu) for o in (made, linear))
        np.testing.assert_allclose([one[1:3] for one in ours], [one[1:3] for one in theirs], rtol=1e-9, atol=1e-9)
        for (*_, at, values), (*_, there, others) in zip(ours, theirs, strict=True):
            dense = np.zeros((2, made.n_weights))
            dense[0, at], dense[1, there] = values, others
            np.testing.assert_allclose(dense[0], dense[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in learners.names() if name not in ("crf", "eg", "memm", "arow")])
@pytest.mark.parametrize("flags", [(), ("valued", "pairs", "sequence_weight"), ("cost", "constraints")])
def test_learners_learn_the_same_from_chains_and_from_the_oracle_of_any_structure(name, flags):
    problem = chains(7, flags, n_sequences=8)
    learner = learners.by_name(name).set_params(epochs=3)
    if "shuffle" in learner.get_params():
        learner.set_params(shuffle=False)
    made = oracle(problem, best=True)
    start = np.random.default_rng(1).normal(size=made.n_weights)
    ours, theirs = (learner.train(o, weights=start).weights for o in (made, made.linear()))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_weights_grow_where_gold_is_completed_with_what_was_never_seen():
    problem = chains(3, n_labels=20, n_sequences=40, vocabulary=300)
    problem.allowed = [[labels if len(labels) == 1 else set() for labels in sequence] for sequence in problem.allowed]
    everything = tw.Perceptron(epochs=3, shuffle=False).train(oracle(problem, best=True))
    problem.combinations = "grown"
    made = oracle(problem, best=True)
    seen = made.n_weights
    grown = tw.Perceptron(epochs=3, shuffle=False).train(made)
    assert seen < made.n_weights == len(grown.weights) <= len(everything.weights)
    norms = [np.sum(trained.weights**2) for trained in (grown, everything)]
    np.testing.assert_allclose(norms[0], norms[1], rtol=1e-9)


def test_threads_change_no_bit_on_chains():
    problem = chains(5, n_sequences=60)
    for learner in (tw.CuttingPlane(epochs=4), tw.SDM(epochs=4), tw.Pegasos(epochs=2, batch_size=8)):
        one, more = (learner.train(oracle(problem, best=True), n_jobs=n_jobs).weights for n_jobs in (1, 3))
        assert one.tobytes() == more.tobytes()
