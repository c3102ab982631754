"""Figure 3.1 of the thesis: how the learners turn into each other, on labels and on chains.

Each test is named after one arrow of the figure, or after a sentence of the chapter. Where the thesis says "for the
first epoch", one pass is compared. Numbers are compared to 1e-9, not bit by bit: different learners add the same terms
in different orders.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from training.problems import Problem, as_tensors, random_problem
from training.problems import oracle as chain_oracle
from trelliswork import HMM, _core
from trelliswork.learners.dual import MIRA, SDM, LaRank
from trelliswork.learners.online import PassiveAggressive, Perceptron

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
ONE_PASS = {"epochs": 1, "averaged": False}
NEVER_MET = 1e6  # a C so large that no dual variable reaches it
NOTHING = np.zeros(0)


def label_problem(seed, cost=None, n=12):
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    x, gold = rng.normal(size=(n, d)), rng.integers(0, k, n).astype(np.int32)
    costs = rng.uniform(0.5, 2.0, size=(k, k)) * (1 - np.eye(k)) if cost is None else np.full((k, k), cost)
    return _core.LabelOracle.dense(x, gold, k, NOTHING, costs)


def chain_problem(seed, cost=None, n=8):
    flags = {"valued", "cost"} if cost is None else {"valued"}
    problem = random_problem(seed, flags, n_labels=3, n_sequences=n, max_length=5, vocabulary=60, combinations="all")
    if cost is not None:
        problem.cost = np.full((3, 3), cost)
    return chain_oracle(problem, best=True)


# What is compared where steps meet margins exactly. In a chain, outputs that differ by just such a part tie when their
# example, or one with the same tokens, is visited again; then rounding decides which comes first, and runs part though
# both are right.
EPOCHS = {label_problem: 4, chain_problem: 1}
EXAMPLES = {label_problem: 12, chain_problem: 1}
PROBLEMS = {"labels": label_problem, "chains": chain_problem}
everywhere = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)
seeds = st.integers(0, 2**31)
prices = st.sampled_from([0.01, 0.1, 1.0, 10.0])


def start_of(oracle):
    """Weights under which no two outputs score the same: how a tie falls may depend on the last bit."""
    return np.random.default_rng(oracle.n_weights).normal(size=oracle.n_weights)


def weights_of(learner, oracle, **options):
    return learner.train(oracle, **({"weights": start_of(oracle)} | options)).weights


@everywhere
@given(seed=seeds, C=prices, k=st.integers(1, 4))
def test_larank_without_reprocessing_is_sdm_in_the_first_epoch(make, seed, C, k):
    """Connections 1 and 4: n_R = 0."""
    larank = weights_of(LaRank(C=C, k=k, reprocess=0, tau=0.0, **ONE_PASS), make(seed))
    sdm = weights_of(SDM(C=C, k=k, tau=0.0, **ONE_PASS), make(seed))
    assert larank.tobytes() == sdm.tobytes()


@everywhere
@given(seed=seeds, C=prices)
def test_sdm_with_one_best_is_passive_aggressive_in_the_first_epoch(make, seed, C):
    """Connection 2, with tau = 0: gold and its best rival are the only pair, so eq. 3.13 becomes eq. 3.14."""
    sdm = weights_of(SDM(C=C, k=1, tau=0.0, **ONE_PASS), make(seed))
    learner = PassiveAggressive(C=C, k=1, **ONE_PASS)
    np.testing.assert_allclose(sdm, weights_of(learner, make(seed)), **CLOSE)


@everywhere
@given(seed=seeds, C=prices)
def test_mira_with_one_best_is_passive_aggressive(make, seed, C):
    """Section 3.2.4, for any number of epochs: both keep nothing of an example once they have left it."""
    options = {"C": C, "k": 1, "epochs": EPOCHS[make]}
    mira, pa = weights_of(MIRA(**options), make(seed)), weights_of(PassiveAggressive(**options), make(seed))
    np.testing.assert_allclose(mira, pa, **CLOSE)


@everywhere
@given(seed=seeds, k=st.integers(1, 4))
def test_mira_is_sdm_in_the_first_epoch(make, seed, k):
    """End of section 3.2.2. MIRA has a slack for each structure (eq. 3.7), SDM one for the example (eq. 2.7): the two
    problems are the same where no slack is used, so C is out of reach here, unless constraints cannot be met."""
    states, n = [], EXAMPLES[make]
    learner = SDM(C=NEVER_MET, k=k, tau=0.0, **ONE_PASS)
    sdm = weights_of(learner, make(seed, n=n), on_iteration=lambda done: states.append(done.state()))
    examples = states[0]["examples"].reshape(-1, 4)
    assume((examples[examples[:, 1] > 0, 0] > 0).all())  # gold has kept a part of C everywhere: no slack
    mira = weights_of(MIRA(k=k, **ONE_PASS), make(seed, n=n))
    np.testing.assert_allclose(mira, sdm, rtol=1e-6, atol=1e-6)


def algorithm_5(oracle, weights, k, epochs, step, cost=True, augmented=True):
    """Algorithm 5 as it is printed, with what tells PA and the perceptron apart as arguments."""
    weights = weights.copy()
    for _ in range(epochs):
        for example in range(oracle.n_examples):
            for _, _, charge, indices, values in oracle.kbest(weights, example, k, float(cost and augmented)):
                margin, charge = weights[indices] @ values, charge if cost else 0.0
                if len(indices) and (margin < charge if cost else margin <= 0):
                    weights[indices] += step(charge - margin, values @ values) * values
    return weights


@everywhere
@given(seed=seeds, k=st.integers(1, 4), C=prices, augmented=st.booleans())
def test_passive_aggressive_is_one_smo_step_on_each_of_the_k_best_in_turn(make, seed, k, C, augmented):
    """Connection 5: eq. 3.13 for gold, with all of C left, and one structure after the other."""
    oracle, n = make(seed), EPOCHS[make]
    expected = algorithm_5(oracle, start_of(oracle), k, n, lambda loss, norm: min(C, loss / norm), augmented=augmented)
    learner = PassiveAggressive(C=C, k=k, epochs=n, augmented=augmented, averaged=False, shuffle=False)
    np.testing.assert_allclose(weights_of(learner, make(seed)), expected, **CLOSE)


@everywhere
@given(seed=seeds, k=st.integers(1, 4))
def test_passive_aggressive_without_cost_and_with_unit_steps_is_the_perceptron(make, seed, k):
    """Connections 3 and 6, for any number of epochs: the same algorithm with L = 0 and delta = 1."""
    oracle = make(seed)
    expected = algorithm_5(oracle, start_of(oracle), k, 3, lambda loss, norm: 1.0, cost=False)
    learner = Perceptron(k=k, epochs=3, averaged=False, shuffle=False)
    np.testing.assert_allclose(weights_of(learner, make(seed)), expected, **CLOSE)


@everywhere
@given(seed=seeds)
def test_passive_aggressive_without_cost_moves_where_the_perceptron_moves(make, seed):
    """The same on the learners themselves. PA has no parameter that fixes its step to 1: without a cost the step is
    min(loss / norm, C), which a C small enough makes C wherever there is a loss; so the move is C times the
    perceptron's. From w = 0 the two part, as a loss of zero is a mistake to the perceptron only."""
    oracle, C = make(seed, cost=0.0), 1e-12
    start = np.random.default_rng(seed).normal(size=oracle.n_weights)
    pa = weights_of(PassiveAggressive(C=C, **ONE_PASS), oracle, weights=start) - start
    perceptron = weights_of(Perceptron(**ONE_PASS), make(seed, cost=0.0), weights=start / C) - start / C
    np.testing.assert_allclose(pa / C, perceptron, rtol=1e-2, atol=1e-2)


@everywhere
@given(seed=seeds, k=st.integers(1, 3), loss=st.sampled_from(["ramp", "ramp-do"]))
def test_the_first_round_of_the_ramp_is_the_hinge(make, seed, k, loss):
    """Section 5.3: at w = 0 no structure scores above gold, so there is nothing concave to take the tangent of."""
    options = {"C": 0.5, "k": k, "epochs": 4, "tol": 0.0, "averaged": False}
    passes = {name: [] for name in ("hinge", loss)}
    for name, seen in passes.items():
        learner = SDM(loss=name, inner=4, **options).without_unused()
        learner.train(make(seed), on_iteration=lambda done, to=seen: to.append(done.state()))
    first = [state for state in passes[loss] if state["round"][0] == 1]
    for hinge, ramp in zip(passes["hinge"], first, strict=True):
        assert hinge["weights"].tobytes() == ramp["weights"].tobytes()
        assert hinge["member_heads"].tobytes() == ramp["member_heads"].tobytes()


@everywhere
@given(seed=seeds)
def test_the_second_round_of_the_ramp_is_not_the_hinge_where_something_is_concave(make, seed):
    """Otherwise the test above would prove nothing."""
    rounds = []
    learner = SDM(C=0.5, loss="ramp-do", inner=1, epochs=3, tol=0.0, averaged=False)
    learner.train(make(seed), on_iteration=lambda done: rounds.append((done.facts["tangents"], done.weights())))
    hinge = SDM(C=0.5, epochs=3, tol=0.0, averaged=False).train(make(seed)).weights
    if any(tangents for tangents, _ in rounds[:-1]):
        assert np.abs(rounds[-1][1] - hinge).max() > 0


BEGIN, END = 2**63, 2**62  # attributes of the first and of the last token; those of words are their numbers from 1


def crf_with_the_weights_of(hmm, sequence, n_labels):
    """A chain whose attributes are words and the two ends, and the weights that the HMM's probabilities are."""
    last = len(sequence) - 1
    tokens = [
        [(word + 1, 1.0)] + [(BEGIN, 1.0)] * (t == 0) + [(END, 1.0)] * (t == last) for t, word in enumerate(sequence)
    ]
    problem = Problem(
        n_labels,
        [tokens],
        [[[] for _ in tokens]],
        [[{0} for _ in tokens]],
        combinations="all",
        order=np.arange(n_labels, dtype=np.int32),
    )
    start, moves, emissions, stop = hmm
    weights = {("label", BEGIN, y): np.log(start[y]) for y in range(n_labels)}
    weights |= {("label", END, y): np.log(stop[y]) for y in range(n_labels)}
    weights |= {("label", word + 1, y): np.log(emissions[y, word]) for word in sequence for y in range(n_labels)}
    weights |= {("move", a, b): np.log(moves[a, b]) for a in range(n_labels) for b in range(n_labels)}
    made = chain_oracle(problem, best=True)
    return made, made.weights_from(as_tensors(problem, weights))


@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 5))
def test_the_weights_of_an_hmm_in_a_crf_give_the_answers_of_the_hmm(seed, n_labels, length):
    rng = np.random.default_rng(seed)
    start, emissions = rng.dirichlet(np.ones(n_labels)), rng.dirichlet(np.ones(4), n_labels)
    onwards = rng.dirichlet(np.ones(n_labels + 1), n_labels)
    sequence = rng.integers(0, 4, length).tolist()
    hmm = HMM.from_parameters(start, onwards[:, :-1], emissions, range(n_labels), range(4), stop=onwards[:, -1])
    made, weights = crf_with_the_weights_of((start, onwards[:, :-1], emissions, onwards[:, -1]), sequence, n_labels)
    single = {"rtol": 1e-4, "atol": 1e-5}  # a model's tensors are in single precision
    best = hmm.predict_kbest([sequence], 3)[0]
    found = made.kbest(weights, 0, 3)
    total, marginals, *_ = made.marginals(made.part_scores(weights, 0), 0)
    np.testing.assert_allclose([score for _, score, *_ in found], [joint for _, joint in best], **single)
    np.testing.assert_allclose(total, hmm.log_likelihood([sequence])[0], **single)
    nodes = marginals[: length * n_labels].reshape(length, n_labels)
    np.testing.assert_allclose(nodes, hmm.predict_marginals([sequence])[0], **single)
