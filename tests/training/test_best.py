"""What learners are told of the best labellings is what enumeration says: scores, costs, differences to gold, parts."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import trelliswork as tw
from training.problems import (
    FLAGS,
    as_tensors,
    features,
    key_of,
    oracle,
    problems,
    random_problem,
    random_weights,
    score,
)
from trelliswork import _core
from trelliswork.learners.online import PassiveAggressive, Perceptron

WHOLE = [flag for flag in FLAGS if flag != "partial"]
CLOSE = dict(rtol=1e-9, atol=1e-9)


@st.composite
def questions(draw):
    """A problem with whole gold labels, its oracle, weights in both forms, and an example."""
    problem = draw(problems(WHOLE))
    if draw(st.booleans()):
        problem.combinations = "grown"
    problem = replace(problem, scale=0.0)
    weights = random_weights(problem, draw(st.integers(0, 2**31)))
    made = oracle(problem, best=True)
    vector = made.weights_from(as_tensors(problem, weights))
    return problem, made, weights, vector, draw(st.integers(0, len(problem.label) - 1))


def gold_of(problem, s):
    return [next(iter(labels)) for labels in problem.allowed[s]]


def cost_of(problem, s, path):
    v = np.ones(len(path)) if problem.token_weight is None else problem.token_weight[s]
    table = problem.cost if problem.cost is not None else 1.0 - np.eye(problem.n_labels)
    return sum(v[t] * table[g, y] for t, (g, y) in enumerate(zip(gold_of(problem, s), path, strict=True)))


def labellings(problem, s, weights):
    """Every possible labelling with its score and cost."""
    paths = itertools.product(range(problem.n_labels), repeat=len(problem.label[s]))
    scored = [(path, score(problem, s, path, weights), cost_of(problem, s, path)) for path in paths]
    return [entry for entry in scored if entry[1] > -np.inf]


def counts(problem, s, path):
    """The features of a labelling, by what they belong to; only those that have weights."""
    known, out = set(features(problem)), {}

    def add(feature, value):
        if feature in known:
            out[feature] = out.get(feature, 0.0) + value

    for t, y in enumerate(path):
        for key, value in problem.label[s][t]:
            add(("label", key_of(problem, key), y), value)
        if t > 0:
            add(("move", path[t - 1], y), 1.0)
            for key, value in problem.pair[s][t]:
                add(("pair", key_of(problem, key), path[t - 1], y), value)
    return out


@given(questions(), st.integers(1, 100), st.sampled_from([0.0, 1.0, -1.0, 0.3]))
def test_k_best_are_what_enumeration_says(question, k, nu):
    problem, made, weights, vector, s = question
    found = made.kbest(vector, s, k, nu)
    expected = labellings(problem, s, weights)
    values = sorted((value + nu * cost for _, value, cost in expected), reverse=True)[:k]
    np.testing.assert_allclose([value + nu * cost for _, value, cost, _, _ in found], values, **CLOSE)
    assert len({tuple(code) for code, *_ in found}) == len(found)
    by_path = {path: (value, cost) for path, value, cost in expected}
    for code, value, cost, _, _ in found:
        np.testing.assert_allclose((value, cost), by_path[tuple(code)], **CLOSE)


@given(questions())
def test_differences_tell_the_margin_to_gold(question):
    problem, made, weights, vector, s = question
    gold = score(problem, s, gold_of(problem, s), weights)
    for _, value, _, indices, values in made.kbest(vector, s, 100):
        vector = np.concatenate([vector, np.zeros(made.n_weights - len(vector))])
        np.testing.assert_allclose(vector[indices] @ values, gold - value, **CLOSE)
        assert len(set(indices.tolist())) == len(indices)


@given(questions(), st.integers(0, 2**31))
def test_margins_at_other_weights_are_those_of_the_differences(question, seed):
    _, made, _, vector, s = question
    found = made.kbest(vector, s, 100)
    vector = np.concatenate([vector, np.zeros(made.n_weights - len(vector))])
    others = np.random.default_rng(seed).normal(size=made.n_weights)
    margins = np.array(made.margins(vector, s, 100, others))
    expected = np.array([others[indices] @ values for *_, indices, values in found])
    quick = ~np.isnan(margins)
    np.testing.assert_allclose(margins[quick], expected[quick], **CLOSE)


@pytest.mark.parametrize("combinations", ["seen", "grown", "all"])
@pytest.mark.parametrize("n_labels", [2, 5, 8, 9, 22, 24, 33, 40, 48, 63, 64, 65, 100])
@given(
    seed=st.integers(0, 2**31), flags=st.sets(st.sampled_from(["valued", "pairs", "repeated"])), k=st.integers(1, 40)
)
@settings(max_examples=8)
def test_scores_and_margins_of_many_labels_are_sums_over_attributes(n_labels, combinations, seed, flags, k):
    """Too many to enumerate: each one found is scored alone, and gold or random ones are no better than the best."""
    problem = random_problem(
        seed, flags, n_labels, n_sequences=12, max_length=9, vocabulary=5, combinations=combinations, transitions=False
    )
    weights = random_weights(problem, seed)
    made = oracle(problem, best=True)
    vector = made.weights_from(as_tensors(problem, weights))
    rng = np.random.default_rng(seed)
    for s in (s for s, sequence in enumerate(problem.label) if sequence):
        gold = score(problem, s, gold_of(problem, s), weights)
        found = made.kbest(vector, s, k)
        vector = np.concatenate([vector, np.zeros(made.n_weights - len(vector))])
        for code, value, _, indices, values in found:
            np.testing.assert_allclose(value, score(problem, s, code, weights), **CLOSE)
            np.testing.assert_allclose(vector[indices] @ values, gold - value, **CLOSE)
        tried = rng.integers(0, n_labels, (20, len(problem.label[s]))).tolist()
        assert max(score(problem, s, path, weights) for path in [gold_of(problem, s), *tried]) <= found[0][1] + 1e-9


@st.composite
def tied_chains(draw):
    """An oracle of one long chain, whose tokens are all different, and small whole numbers as weights."""
    n_labels, length = draw(st.integers(1, 9)), draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    largest = draw(st.sampled_from([0, 1, 3, 100]))
    tokens = _core.KeySource(np.array([length]), np.arange(length + 1), np.arange(1, length + 1, dtype=np.uint64), None)
    examples = _core.Examples(0, True)
    examples.add(tokens, rng.integers(0, n_labels, length).astype(np.int32))
    made = _core.ChainOracle(examples, n_labels, np.arange(n_labels, dtype=np.int32), combinations="all", use="best")
    return made, rng.integers(-largest, largest + 1, made.n_weights).astype(float), n_labels, length


@given(tied_chains(), st.integers(2, 50), st.sampled_from([0.0, 1.0]))
def test_equal_scores_come_in_the_order_of_the_general_search(chain, k, nu):
    made, weights, n_labels, length = chain
    parts = made.part_scores(weights, 0) + nu * made.part_costs(0)
    unary, moves = np.split(parts, [length * n_labels])
    expected = tw.Chain(unary.reshape(length, n_labels), moves.reshape(n_labels, n_labels)).kbest(k)
    found = made.kbest(weights, 0, k, nu)
    assert [list(code) for code, *_ in found] == [list(best.labels) for best in expected]


@pytest.mark.parametrize("combinations", ["seen", "grown"])
@given(seed=st.integers(0, 2**31), n_labels=st.integers(1, 12), largest=st.sampled_from([0, 1, 4]))
@settings(max_examples=30)
def test_the_best_by_steps_is_the_first_of_the_k_best(seed, combinations, n_labels, largest):
    """With attributes of pairs one labelling is found otherwise than several; whole numbers are exact, and tie."""
    problem = random_problem(
        seed, {"pairs"}, n_labels, n_sequences=4, max_length=60, vocabulary=40, combinations=combinations
    )
    made = oracle(problem, best=True)
    rng = np.random.default_rng(seed)
    for s, sequence in enumerate(problem.label):
        weights = rng.integers(-largest, largest + 1, made.n_weights).astype(float)
        nu = float(rng.integers(2))
        made.kbest(weights, s, 2, nu)
        weights = np.append(weights, rng.integers(-largest, largest + 1, made.n_weights - len(weights)))
        (code, *numbers, _, _), *_ = made.kbest(weights, s, 2, nu)
        weights = np.append(weights, np.zeros(made.n_weights - len(weights)))
        ((single, *same, _, _),) = made.kbest(weights, s, 1, nu)
        assert same == numbers
        parts = made.part_scores(weights, s) + nu * made.part_costs(s)
        length = len(sequence)
        if length > 1:
            unary, moves = np.split(parts, [length * n_labels])
            steps = moves.reshape(length - 1, n_labels, n_labels)
            best = tw.Chain(unary.reshape(length, n_labels), steps).argmax()
            assert list(single) == list(best.labels) == list(code)


@given(questions())
def test_differences_are_as_long_as_those_of_single_attributes(question):
    problem, made, _, vector, s = question
    gold = counts(problem, s, gold_of(problem, s))
    for code, _, _, _, values in made.kbest(vector, s, 100):
        found = counts(problem, s, code)
        expected = sum((gold.get(f, 0.0) - found.get(f, 0.0)) ** 2 for f in gold.keys() | found.keys())
        np.testing.assert_allclose(values @ values, expected, rtol=1e-6, atol=1e-9)


@given(questions())
def test_marginals_of_parts_are_what_enumeration_says(question):
    problem, made, weights, vector, s = question
    scores = made.part_scores(vector, s)
    total, marginals, indices, values = made.marginals(scores, s)
    expected = labellings(problem, s, weights)
    all_scores = np.array([value for _, value, _ in expected])
    np.testing.assert_allclose(total, np.logaddexp.reduce(all_scores), **CLOSE)
    p = np.exp(all_scores - np.logaddexp.reduce(all_scores))
    np.testing.assert_allclose(scores @ marginals, p @ all_scores, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(made.part_costs(s) @ marginals, p @ [cost for *_, cost in expected], **CLOSE)
    gold = score(problem, s, gold_of(problem, s), weights)
    vector = np.concatenate([vector, np.zeros(made.n_weights - len(vector))])
    np.testing.assert_allclose(vector[indices] @ values, gold - p @ all_scores, rtol=1e-8, atol=1e-8)


@given(questions())
def test_rescaled_slack_finds_what_enumeration_finds(question):
    problem, made, weights, vector, s = question
    found = made.slack_argmax(vector, s)
    assert (found is None) == bool(problem.label[s] and (problem.cost is not None or problem.token_weight is not None))
    if found is None:
        return
    gold = score(problem, s, gold_of(problem, s), weights)
    code, value, cost = found
    by_path = {path: (value, cost) for path, value, cost in labellings(problem, s, weights)}
    np.testing.assert_allclose((value, cost), by_path[tuple(code)], **CLOSE)
    best = max(cost * (1 + value - gold) for value, cost in by_path.values())
    np.testing.assert_allclose(cost * (1 + value - gold), best, **CLOSE)


def tied(ranked, gold, k, nu):
    """Whether rounding says which are the k best, or in which order: an update of PA leaves rivals level with gold.

    The one best, or gold that is level with it, asks for the same: no update.
    """
    values = [value + nu * cost for _, value, cost in ranked[: k + 1]]
    if len(values) < 2 or np.min(-np.diff(values)) >= 1e-5:
        return False
    return k > 1 or tuple(gold) not in {path for path, *_ in ranked[:2]}


def naive_perceptron(problem, weights, epochs, k, C):
    """Passive-aggressive if C is given; all structures enumerated, all weights in one dictionary."""
    for _ in range(epochs):
        for s in range(len(problem.label)):
            factor = 1.0 if problem.sequence_weight is None else problem.sequence_weight[s]
            if not problem.label[s] or factor == 0:
                continue
            nu = 0.0 if C is None else 1.0
            gold = counts(problem, s, gold_of(problem, s))
            ranked = sorted(labellings(problem, s, weights), key=lambda entry: -entry[1] - nu * entry[2])
            assume(not tied(ranked, gold_of(problem, s), k, nu))
            for path, _, cost in ranked[:k]:
                found = counts(problem, s, path)
                difference = {f: gold.get(f, 0.0) - found.get(f, 0.0) for f in gold.keys() | found.keys()}
                norm = sum(x * x for x in difference.values())
                margin = sum(weights.get(f, 0.0) * x for f, x in difference.items())
                if norm == 0 or (margin > 0 if C is None else cost - margin <= 0):
                    continue
                step = factor if C is None else min((cost - margin) / norm, C * factor)
                for f, x in difference.items():
                    weights[f] = weights.get(f, 0.0) + step * x
    return weights


@pytest.mark.parametrize("C", [None, 0.7])
@given(questions(), st.integers(1, 3), st.integers(1, 3))
def test_learning_is_what_a_dictionary_of_weights_does(C, question, epochs, k):
    problem, made, weights, vector, s = question
    options = dict(epochs=epochs, k=k, averaged=False, shuffle=False)
    learner = Perceptron(**options) if C is None else PassiveAggressive(C, **options)
    trained = learner.train(made, weights=vector)
    expected = naive_perceptron(problem, dict(weights), epochs, k, C)
    found = made.kbest(trained.weights, s, 100)
    by_path = {path: value for path, value, _ in labellings(problem, s, expected)}
    for code, value, *_ in found:
        np.testing.assert_allclose(value, by_path[tuple(code)], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("combinations", ["seen", "grown", "all"])
@pytest.mark.parametrize("n_labels", [1, 2, 8, 9, 16, 17, 22, 25, 33, 40, 64, 65, 91])
@given(seed=st.integers(0, 2**31), flags=st.sets(st.sampled_from(["valued", "pairs", "repeated", "token_weight"])))
@settings(max_examples=6)
def test_scores_of_single_precision_teach_what_those_of_double_do(n_labels, combinations, seed, flags):
    """Online learners read rounded weights; what they learn differs by rounding from the same updates made here."""
    problem = random_problem(
        seed, flags, n_labels, n_sequences=12, max_length=9, vocabulary=5, combinations=combinations, transitions=False
    )
    start = as_tensors(problem, random_weights(problem, seed))
    made, other = oracle(problem, best=True), oracle(problem, best=True)
    trained = PassiveAggressive(0.7, epochs=1, averaged=False, shuffle=False).train(
        made, weights=made.weights_from(start)
    )
    w = other.weights_from(start)
    for s, sequence in enumerate(problem.label):
        if not sequence:
            continue
        _, _, cost, indices, values = other.kbest(w, s, 1, 1.0)[0]
        w = np.concatenate([w, np.zeros(other.n_weights - len(w))])
        loss = cost - w[indices] @ values
        if loss > 0 and len(indices):
            factor = 1.0 if problem.sequence_weight is None else problem.sequence_weight[s]
            w[indices] += min(loss / (values @ values), 0.7 * factor) * values
    np.testing.assert_allclose(trained.weights, w, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("learner", [Perceptron(2), PassiveAggressive(epochs=2), PassiveAggressive(epochs=2, k=3)])
@given(questions(), st.sampled_from([1e30, 1e60, 1e300]), st.integers(0, 2**31))
def test_weights_beyond_single_precision_do_no_harm(learner, question, size, seed):
    _, made, _, vector, _ = question
    huge = size * np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], len(vector))
    trained = learner.train(made, weights=huge)
    assert len(trained.weights) == made.n_weights


@given(questions(), st.integers(1, 3))
def test_a_resumed_run_ends_with_the_identical_weights(question, first):
    problem, made, _, vector, _ = question
    states = []
    whole = PassiveAggressive(epochs=4).train(
        made, weights=vector, seed=3, on_iteration=lambda it: states.append(it.state()) and None
    )
    if len(states) < first:
        return
    again = oracle(problem, best=True)
    resumed = PassiveAggressive(epochs=4).train(again, state=states[first - 1], seed=3)
    assert np.array_equal(resumed.weights, whole.weights)


@given(questions())
def test_added_weights_reach_the_model_and_come_back(question):
    problem, made, _, vector, s = question
    trained = Perceptron(epochs=2, averaged=False).train(made, weights=vector)
    tensors = made.export(trained.weights)
    again = oracle(problem, best=True)
    read = again.weights_from(tensors)
    before = {tuple(code): value for code, value, *_ in made.kbest(trained.weights, s, 100)}
    for code, value, *_ in again.kbest(read, s, 100):
        np.testing.assert_allclose(value, before[tuple(code)], rtol=1e-5, atol=1e-5)


@given(questions(), st.integers(0, 2**31))
def test_the_extent_of_weights_is_that_of_all_attributes(question, seed):
    problem, made, _, _, _ = question
    assume(problem.combinations != "grown")
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random(made.n_weights) < 0.5, 0.0, rng.normal(size=made.n_weights))
    tensors = made.export(weights)  # of single precision
    each = np.concatenate([np.ravel(tensors[name]) for name in tensors if name.endswith(".weights")])
    n_active, norm = made.extent(weights)
    assert n_active == np.count_nonzero(each)
    np.testing.assert_allclose(norm, np.linalg.norm(each), rtol=1e-5)
