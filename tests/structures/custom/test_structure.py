"""Structures written in Python: the answers of brute force and of the library's own; every lie is found out."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference.user_structures import AskedChain, Listed, ListedChain
from trelliswork import _core, learners
from trelliswork.errors import InvalidInput

NOTHING, NO_COST = np.zeros(0), np.zeros((0, 0))


@st.composite
def label_problems(draw):
    n, d, k = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    costs = rng.exponential(size=(k, k)) * (1 - np.eye(k))
    x, gold = rng.normal(size=(n, d)), rng.integers(0, k, n).astype(np.int32)
    return Listed(d, k, costs), x, gold, rng.exponential(size=n), rng.normal(size=d * k)


@st.composite
def chain_problems(draw):
    n_symbols, n_labels = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = rng.integers(1, 5, draw(st.integers(1, 4)))
    X = [tuple(rng.integers(0, n_symbols, n).tolist()) for n in lengths]
    Y = [tuple(rng.integers(0, n_labels, n).tolist()) for n in lengths]
    listed, asked = ListedChain(n_symbols, n_labels), AskedChain(n_symbols, n_labels)
    weights = rng.normal(size=listed.n_features)
    return listed, asked, X, Y, rng.exponential(size=len(X)), weights


def label_oracle(structure, x, gold, sample_weight):
    return _core.LabelOracle.dense(x, gold, structure.n_labels, sample_weight, structure.costs)


def loss_and_gradient(oracle, weights, nu=0.0):
    gradient = np.empty(oracle.n_weights)
    return oracle.loss(weights, gradient, nu=nu), gradient


def dense(oracle, indices, values):
    vector = np.zeros(oracle.n_weights)
    vector[indices] = values
    return vector


# ---- answers ---------------------------------------------------------------------------------------------------------


@given(chain_problems(), st.integers(1, 5), st.sampled_from([0.0, 1.0, -0.7]))
def test_the_k_best_are_the_first_of_all_outputs_sorted(problem, k, nu):
    listed, asked, X, Y, _, weights = problem
    for structure in (listed, asked):
        oracle = structure.oracle(X, Y)
        for i, (x, gold) in enumerate(zip(X, Y, strict=True)):
            every = [dense_features(listed, x, y) for y in listed.outputs(x)]
            values = sorted(
                (f @ weights + nu * listed.cost(gold, y) for f, y in zip(every, listed.outputs(x), strict=True)),
                reverse=True,
            )
            found = oracle.kbest(weights, i, k, nu)
            assert len(found) == min(k, len(values))
            np.testing.assert_allclose([score + nu * cost for _, score, cost, _, _ in found], values[:k], atol=1e-9)


def dense_features(structure, x, y):
    vector = np.zeros(structure.n_features)
    for index, value in structure.features(x, y).items():
        vector[index] += value
    return vector


@given(chain_problems(), st.sampled_from([0.0, 1.0]))
def test_what_is_found_differs_from_gold_by_its_features(problem, nu):
    listed, asked, X, Y, _, weights = problem
    for structure in (listed, asked):
        oracle = structure.oracle(X, Y)
        for i, (x, gold) in enumerate(zip(X, Y, strict=True)):
            of_gold = dense_features(listed, x, gold)
            for _, score, _, indices, values in oracle.kbest(weights, i, 3, nu):
                difference = dense(oracle, indices, values)
                np.testing.assert_allclose(weights @ (of_gold - difference), score, atol=1e-9)
                assert (values != 0).all()
                assert len(set(indices.tolist())) == len(indices)


@given(chain_problems(), st.sampled_from([0.0, 1.0, -0.5]))
def test_the_loss_is_the_sum_over_all_outputs_written_out(problem, nu):
    listed, asked, X, Y, sample_weight, weights = problem
    expected = 0.0
    for x, gold, times in zip(X, Y, sample_weight, strict=True):
        values = [dense_features(listed, x, y) @ weights + nu * listed.cost(gold, y) for y in listed.outputs(x)]
        expected += times * (np.logaddexp.reduce(values) - dense_features(listed, x, gold) @ weights)
    for structure in (listed, asked):
        loss, _ = loss_and_gradient(structure.oracle(X, Y, sample_weight), weights, nu)
        np.testing.assert_allclose(loss, expected, rtol=1e-9, atol=1e-9)


@given(chain_problems(), st.sampled_from([0.0, 1.0]))
def test_the_gradient_is_the_difference_of_the_loss(problem, nu):
    listed, asked, X, Y, sample_weight, weights = problem
    for structure in (listed, asked):
        oracle = structure.oracle(X, Y, sample_weight)
        _, gradient = loss_and_gradient(oracle, weights, nu)
        for j in range(len(weights)):
            step = np.eye(len(weights))[j] * 1e-5
            up, down = (
                loss_and_gradient(oracle, weights + step, nu)[0],
                loss_and_gradient(oracle, weights - step, nu)[0],
            )
            np.testing.assert_allclose(gradient[j], (up - down) / 2e-5, rtol=1e-5, atol=1e-5)


@given(label_problems(), st.sampled_from([0.0, 1.0]))
def test_a_list_of_labels_answers_as_the_oracle_of_labels(problem, nu):
    structure, x, gold, sample_weight, weights = problem
    ours, theirs = structure.oracle(x, gold, sample_weight), label_oracle(structure, x, gold, sample_weight)
    for a, b in zip(loss_and_gradient(ours, weights, nu), loss_and_gradient(theirs, weights, nu), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    diagonals = np.empty((2, len(weights)))
    ours.curvature(weights, diagonals[0], nu=nu)
    theirs.curvature(weights, diagonals[1], nu=nu)
    np.testing.assert_allclose(*diagonals, rtol=1e-12, atol=1e-12)
    for i in range(len(x)):
        np.testing.assert_allclose(ours.part_scores(weights, i), theirs.part_scores(weights, i), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.part_costs(i), theirs.part_costs(i), rtol=1e-12)
        scores = theirs.part_scores(weights, i)
        (total, p, *rest), (their_total, their_p, *their_rest) = ours.marginals(scores, i), theirs.marginals(scores, i)
        np.testing.assert_allclose(total, their_total, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(p, their_p, rtol=1e-12)
        np.testing.assert_allclose(dense(ours, *rest), dense(theirs, *their_rest), rtol=1e-12, atol=1e-12)
        for one, other in zip(ours.kbest(weights, i, 3, nu), theirs.kbest(weights, i, 3, nu), strict=True):
            assert one[0] == other[0]
            np.testing.assert_allclose(one[1:3], other[1:3], rtol=1e-12, atol=1e-12)


@given(label_problems())
def test_taken_apart_a_listed_output_is_one_decision(problem):
    structure, x, gold, sample_weight, weights = problem
    whole = structure.oracle(x, gold, sample_weight)
    for a, b in zip(loss_and_gradient(whole, weights), loss_and_gradient(whole.local(), weights), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_structure_that_is_asked_cannot_be_taken_apart():
    assert AskedChain(1, 2).oracle([(0,)], [(1,)]).local() is None


def test_the_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(1)
    x, gold = rng.normal(size=(700, 3)), rng.integers(0, 4, 700)
    oracle = Listed(3, 4).oracle(x, gold)
    weights = rng.normal(size=12)
    loss, gradient = loss_and_gradient(oracle, weights)
    for n_jobs in (2, 5):
        other = np.empty(12)
        assert oracle.loss(weights, other, n_jobs) == loss
        assert other.tobytes() == gradient.tobytes()


@pytest.mark.parametrize("made", [ListedChain, AskedChain])
def test_a_stochastic_step_moves_against_the_gradient(made):
    rng = np.random.default_rng(2)
    X = [tuple(rng.integers(0, 2, 3).tolist()) for _ in range(5)]
    Y = [tuple(rng.integers(0, 2, 3).tolist()) for _ in range(5)]
    oracle = made(2, 2).oracle(X, Y, rng.exponential(size=5))
    start = rng.normal(size=oracle.n_weights)
    sgd = _core.Sgd(oracle, start, l2=0.0, l1=0.0, nu=0.0, batch=5, shards=1, decay=1.0, step=0.01, tol=0.0, seed=0)
    sgd.step()
    loss, gradient = loss_and_gradient(oracle, start)
    np.testing.assert_allclose(sgd.weights(), start - 0.01 * gradient, rtol=1e-13)
    np.testing.assert_allclose(sgd.objective, loss, rtol=1e-13)


# ---- learners --------------------------------------------------------------------------------------------------------

ONLINE = [
    tw.Perceptron(epochs=3),
    tw.Perceptron(epochs=3, k=3, averaged=False),
    tw.PassiveAggressive(C=0.3, epochs=3),
    tw.PassiveAggressive(C=0.3, epochs=3, k=2, restricted=True, averaged=False),
]


@pytest.mark.parametrize("learner", ONLINE, ids=repr)
@given(problem=label_problems())
def test_online_learners_get_the_weights_they_get_from_the_oracle_of_labels(learner, problem):
    structure, x, gold, sample_weight, _ = problem
    ours = learner.train(structure.oracle(x, gold, sample_weight))
    theirs = learner.train(label_oracle(structure, x, gold, sample_weight))
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("learner", ONLINE, ids=repr)
def test_online_learners_get_the_same_weights_whether_outputs_are_listed_or_asked_for(learner):
    X, Y = sequences(12)
    start = 0.01 * np.random.default_rng(6).normal(size=18)  # so that no two outputs are equally good but for rounding
    listed, asked = (learner.train(made(3, 3).oracle(X, Y), weights=start) for made in (ListedChain, AskedChain))
    np.testing.assert_allclose(listed.weights, asked.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "learner", [tw.Perceptron(epochs=3, averaged=False), tw.PassiveAggressive(C=0.25, epochs=3)], ids=repr
)
def test_online_learners_get_the_weights_they_get_from_the_oracle_of_chains(learner):
    X, Y = sequences(12)
    labels = ["a", "b", "c"]
    tagger = tw.SequenceLabeler(learner, combinations="all", random_state=0)
    tagger.fit([[[str(s)] for s in x] for x in X], [[labels[k] for k in y] for y in Y])
    ours = tw.StructuredPredictor(AskedChain(3, 3), learner).fit(X, Y)
    emissions, transitions = ours.coef_[:9].reshape(3, 3), ours.coef_[9:].reshape(3, 3)
    for weight in tagger.weights():
        if weight.attribute is not None:
            expected = emissions[int(weight.attribute), labels.index(weight.label)]
            np.testing.assert_allclose(weight.weight, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tagger.transitions_, transitions, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "sgd-lbfgs"])
def test_a_crf_has_the_optimum_that_the_oracle_of_labels_gives(solver):
    rng = np.random.default_rng(3)
    structure = Listed(3, 3)
    x, gold = rng.normal(size=(30, 3)), rng.integers(0, 3, 30).astype(np.int32)
    learner = tw.CRF(l2=0.5, tol=1e-13, solver=solver)
    ours = learner.train(structure.oracle(x, gold))
    theirs = tw.CRF(l2=0.5, tol=1e-13).train(label_oracle(structure, x, gold, np.ones(30)))
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-5)
    np.testing.assert_allclose(ours.objective, theirs.objective, rtol=1e-9)


@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "sgd-lbfgs"])
def test_a_crf_has_the_same_optimum_from_expectations_as_from_a_list(solver):
    X, Y = sequences(12)
    learner = tw.CRF(l2=0.5, tol=1e-13, margin=0.5, solver=solver)
    listed, asked = (learner.train(made(3, 3).oracle(X, Y)) for made in (ListedChain, AskedChain))
    np.testing.assert_allclose(listed.weights, asked.weights, atol=1e-4)
    np.testing.assert_allclose(listed.objective, asked.objective, rtol=1e-8)


@pytest.mark.parametrize("name", learners.names())
def test_every_learner_learns_a_structure_whose_outputs_are_listed(name):
    X, Y = sequences(20)
    model = tw.StructuredPredictor(ListedChain(3, 3), name).fit(X, Y)
    untrained = 1 - np.mean([ListedChain(3, 3).cost(y, (0,) * len(y)) for y in Y])
    assert model.score(X, Y) > untrained + 0.2


@pytest.mark.parametrize("name", learners.names())
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_every_learner_learns_a_structure_that_is_asked_or_says_what_it_misses(name, n_jobs):
    X, Y = sequences(20)
    model = tw.StructuredPredictor(AskedChain(3, 3), name, n_jobs=n_jobs)
    if name in ("eg", "memm"):
        with pytest.raises(InvalidInput, match=r"asks for (parts|local), which class AskedChain does not define"):
            model.fit(X, Y)
    else:
        listed = tw.StructuredPredictor(ListedChain(3, 3), name).fit(X, Y)
        np.testing.assert_allclose(model.fit(X, Y).score(X, Y), listed.score(X, Y), atol=0.11)


@pytest.mark.parametrize("name", [name for name in learners.names() if name not in ("eg", "memm")])
@pytest.mark.parametrize("error", [LookupError("no"), InvalidInput("no")], ids=["its own", "ours"])
def test_what_is_raised_comes_out_of_every_learner_and_every_thread(name, error):
    class Fails(AskedChain):
        calls = 0

        def fail(self):
            self.calls += 1
            if self.calls > 15:
                raise error

        def argmax(self, *arguments, **keywords):
            self.fail()
            return super().argmax(*arguments, **keywords)

        def kbest(self, *arguments, **keywords):
            self.fail()
            return super().kbest(*arguments, **keywords)

        def expectations(self, *arguments, **keywords):
            self.fail()
            return super().expectations(*arguments, **keywords)

    X, Y = sequences(20)
    with pytest.raises(type(error)) as caught:
        tw.StructuredPredictor(Fails(3, 3), name, n_jobs=3).fit(X, Y)
    assert caught.value is error


def test_a_run_that_is_cut_in_two_ends_with_the_same_bits():
    X, Y = sequences(8)
    kept = []
    tw.PassiveAggressive(epochs=2).train(AskedChain(3, 3).oracle(X, Y), on_iteration=lambda it: kept.append(it.state()))
    whole = tw.PassiveAggressive(epochs=4).train(AskedChain(3, 3).oracle(X, Y))
    rest = tw.PassiveAggressive(epochs=4).train(AskedChain(3, 3).oracle(X, Y), state=kept[-1])
    assert rest.weights.tobytes() == whole.weights.tobytes()


def sequences(n):
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 5, n)
    X = [tuple(rng.integers(0, 3, length).tolist()) for length in lengths]
    return X, [tuple(((np.array(x) + rng.integers(0, 2, len(x))) % 3).tolist()) for x in X]


# ---- what is declared ------------------------------------------------------------------------------------------------


class Sign(tw.Structure):
    """The sign of a number: the smallest structure; subclasses below get it wrong in one way each."""

    n_features = 1

    def features(self, x, y):
        return [x * y]

    def argmax(self, x, weights, gold=None, cost_scale=0.0):
        return max([-1, 1], key=lambda y: weights[0] * x * y + cost_scale * (0 if gold is None else self.cost(gold, y)))


X_SIGN, Y_SIGN = [1.0, -2.0, 0.5, -1.5], [1, -1, 1, -1]


def test_a_structure_says_what_it_answers():
    class OnlyList(Sign):
        argmax = tw.Structure.argmax

        def kbest(self, x, weights, k, gold=None, cost_scale=0.0):
            return [1, -1][:k]

    assert ListedChain(1, 1).answers == ("argmax", "kbest", "expectations", "parts", "local")
    assert AskedChain(1, 1).answers == ("argmax", "kbest", "expectations")
    assert Sign().answers == ("argmax",)
    assert OnlyList().answers == ("argmax", "kbest")


def test_argmax_is_the_first_of_kbest_where_only_that_is_defined():
    class OnlyList(Sign):
        argmax = tw.Structure.argmax

        def kbest(self, x, weights, k, gold=None, cost_scale=0.0):
            return sorted([1, -1], key=lambda y: -self.score(x, y, weights))[:k]

    assert OnlyList().argmax(-3.0, np.ones(1)) == -1
    assert tw.StructuredPredictor(OnlyList(), tw.Perceptron(k=2)).fit(X_SIGN, Y_SIGN).predict(X_SIGN) == Y_SIGN


def test_a_learner_that_asks_for_more_is_told_what_is_missing():
    with pytest.raises(
        InvalidInput, match=r"^PassiveAggressive\(k=5\) asks for kbest, which class Sign does not define"
    ):
        tw.StructuredPredictor(Sign(), tw.PassiveAggressive(k=5)).fit(X_SIGN, Y_SIGN)
    with pytest.raises(InvalidInput, match=r"^CRF\(\) asks for expectations, which class Sign does not define"):
        tw.StructuredPredictor(Sign(), "crf").fit(X_SIGN, Y_SIGN)


@pytest.mark.parametrize("name", learners.names())
def test_learners_that_ask_for_the_best_output_need_no_other_method(name):
    model = tw.StructuredPredictor(Sign(), name)
    if name in ("crf", "eg", "memm", "mira"):
        with pytest.raises(InvalidInput, match=r"asks for \w+, which class Sign does not define"):
            model.fit(X_SIGN, Y_SIGN)
    else:
        assert model.fit(X_SIGN, Y_SIGN).predict(X_SIGN) == Y_SIGN


def test_a_learner_that_asks_for_more_is_refused_without_an_estimator_too():
    oracle = Sign().oracle(X_SIGN, Y_SIGN)
    with pytest.raises(InvalidInput, match="kbest"):
        tw.Perceptron(k=2).train(oracle)
    with pytest.raises(
        InvalidInput, match=r"asks for expectations \(sums over all outputs\), which these examples do not answer"
    ):
        tw.CRF().train(oracle)
    with pytest.raises(ValueError, match="do not answer parts"):
        oracle.part_scores(np.zeros(1), 0)
    with pytest.raises(InvalidInput, match="asks for kbest, which class Sign does not define"):
        oracle.kbest(np.zeros(1), 0, 2)


def test_an_argmax_without_cost_serves_learners_that_need_none():
    class Plain(Sign):
        def argmax(self, x, weights):
            return 1 if weights[0] * x > 0 else -1

    assert tw.StructuredPredictor(Plain(), tw.Perceptron()).fit(X_SIGN, Y_SIGN).predict(X_SIGN) == Y_SIGN
    with pytest.raises(InvalidInput, match=r"asks for argmax with a cost, which Plain.argmax does not take"):
        tw.PassiveAggressive().train(Plain().oracle(X_SIGN, Y_SIGN))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"features": tw.Structure.features}, "must define features"),
        ({"argmax": tw.Structure.argmax}, "cannot find its best output"),
        ({"outputs": lambda self, x: [1, -1]}, "defines outputs, .* and argmax, too"),
        ({"n_features": 0}, "n_features must be at least 1"),
        ({"n_features": 1.5}, "n_features must be an integer"),
        ({"n_features": 2**32}, "fewer than 2\\*\\*32"),
    ],
)
def test_a_class_that_lacks_something_is_refused(members, message):
    with pytest.raises(InvalidInput, match=message):
        type("Broken", (Sign,), members)().oracle(X_SIGN, Y_SIGN)


def test_a_class_without_a_number_of_features_is_refused():
    class Unnumbered(tw.Structure):
        def features(self, x, y):
            return [x * y]

        def outputs(self, x):
            return [1, -1]

    with pytest.raises(InvalidInput, match="must set n_features"):
        Unnumbered().oracle(X_SIGN, Y_SIGN)


@pytest.mark.parametrize(
    ("X", "Y", "sample_weight", "message"),
    [
        ([1.0], [1, 1], None, "X has 1 inputs but Y has 2 outputs"),
        ([], [], None, "X is empty"),
        (3, [1], None, "X is 3"),
        ([1.0], {1}, None, "Y is"),
        ([1.0], [1], [1.0, 2.0], "sample_weight has shape"),
        ([1.0], [1], [-1.0], "not negative"),
        ([1.0], [1], [np.nan], "finite"),
    ],
)
def test_examples_that_do_not_fit_are_refused(X, Y, sample_weight, message):
    with pytest.raises(InvalidInput, match=message):
        Sign().oracle(X, Y, sample_weight)


# ---- lies ------------------------------------------------------------------------------------------------------------


class Trio(tw.Structure):
    """One of three numbers 0, 1, 2 for a number; all questions answered rightly, for subclasses to spoil."""

    n_features = 3

    def features(self, x, y):
        return {y: float(x)}

    def kbest(self, x, weights, k, gold=None, cost_scale=0.0):
        values = [weights[y] * x + (cost_scale * self.cost(gold, y) if cost_scale else 0.0) for y in range(3)]
        return sorted(range(3), key=lambda y: -values[y])[:k]

    def argmax(self, x, weights, gold=None, cost_scale=0.0):
        return self.kbest(x, weights, 1, gold, cost_scale)[0]

    def expectations(self, x, weights, gold=None, cost_scale=0.0):
        values = weights * x + (cost_scale * np.array([self.cost(gold, y) for y in range(3)]) if cost_scale else 0.0)
        total = np.logaddexp.reduce(values)
        return total, np.exp(values - total) * x


X_TRIO, Y_TRIO = [1.0, 2.0, 3.0], [0, 1, 2]
AT = np.array([3.0, 2.0, 1.0])


def with_index(answer):
    return lambda self, x, y: answer


LIES = {
    "argmax worse than gold": (
        {"argmax": lambda self, x, weights, gold=None, cost_scale=0.0: 2},
        (1, 0.0),
        r"argmax\(X\[0\]\) returned an output of 1, but Y\[0\] has 3",
    ),
    "argmax worse than gold with its cost": (
        {"argmax": lambda self, x, weights, gold=None, cost_scale=0.0: 2},
        (1, 1.0),
        r"argmax\(X\[0\]\) returned an output of 2, but Y\[0\] has 3 \(score \+ 1 \* cost\)",
    ),
    "argmax returns nothing": (
        {"argmax": lambda self, x, weights, gold=None, cost_scale=0.0: None},
        (1, 0.0),
        r"argmax\(X\[0\]\) returned None",
    ),
    "kbest unsorted": (
        {"kbest": lambda self, x, weights, k, **cost: [1, 0, 2]},
        (3, 0.0),
        r"kbest\(X\[0\]\) is not sorted",
    ),
    "kbest twice the same": (
        {"kbest": lambda self, x, weights, k, **cost: [0, 0]},
        (2, 0.0),
        r"kbest\(X\[0\], k=2\) returned the same output twice",
    ),
    "kbest too many": (
        {"kbest": lambda self, x, weights, k, **cost: [0, 1, 2]},
        (2, 0.0),
        r"kbest\(X\[0\], k=2\) returned 3 outputs; expected 1 to 2",
    ),
    "kbest none": (
        {"kbest": lambda self, x, weights, k, **cost: []},
        (2, 0.0),
        r"kbest\(X\[0\], k=2\) returned 0 outputs",
    ),
    "kbest no list": (
        {"kbest": lambda self, x, weights, k, **cost: 5},
        (2, 0.0),
        r"kbest\(X\[0\]\) returned 5; expected a list",
    ),
    "kbest without gold": (
        {"kbest": lambda self, x, weights, k, **cost: [1, 2]},
        (2, 0.0),
        r"kbest\(X\[0\]\) returned an output of 1, but Y\[0\] has 3",
    ),
    "kbest too few": (
        {"kbest": lambda self, x, weights, k, **cost: [1]},
        (2, 0.0),
        r"kbest\(X\[0\], k=2\) returned 1 outputs, and Y\[0\] is not among them",
    ),
    "features of an index that is not there": (
        {"features": lambda self, x, y: {0: x} if y == 0 and x == 1.0 else {y + 3: x}},
        (3, 0.0),
        r"features\(X\[1\], 1\) have the index 4; expected 0 to 2",
    ),
    "features below zero": ({"features": with_index({-1: 1.0})}, (1, 0.0), r"features\(X\[0\], 0\) have the index -1"),
    "features that are not finite": (
        {"features": lambda self, x, y: {y: np.nan if x == 2.0 else x}},
        (1, 0.0),
        r"features\(X\[1\], 1\) hold nan",
    ),
    "features infinite": ({"features": with_index({0: np.inf})}, (1, 0.0), "hold inf; features must be finite"),
    "features of different lengths": (
        {"features": with_index(([0, 1], [1.0]))},
        (1, 0.0),
        r"indices of shape \(2,\) but numbers of shape \(1,\)",
    ),
    "too few features": ({"features": with_index([1.0, 2.0])}, (1, 0.0), r"have the shape \(2,\); expected 3 numbers"),
    "features by name": ({"features": with_index({"a": 1.0})}, (1, 0.0), "expected numbers"),
    "fractions for indices": ({"features": with_index({0.5: 1.0})}, (1, 0.0), "expected whole numbers"),
    "features that are words": ({"features": with_index(["a", "b", "c"])}, (1, 0.0), "expected numbers"),
    "no features": ({"features": with_index(None)}, (1, 0.0), "are None; expected numbers"),
    "a negative cost": (
        {"cost": lambda self, gold, y: 0.0 if gold == y else -1.0},
        (3, 0.0),
        r"cost\(Y\[0\], 1\) is -1; costs must not be negative",
    ),
    "a cost that is no number": (
        {"cost": lambda self, gold, y: 0.0 if gold == y else "much"},
        (3, 0.0),
        r"cost\(Y\[0\], 1\) is 'much'; expected a finite number",
    ),
    "a cost that is not finite": (
        {"cost": lambda self, gold, y: 0.0 if gold == y else np.inf},
        (3, 0.0),
        r"cost\(Y\[0\], 1\) is inf",
    ),
    "gold costs something": (
        {"cost": lambda self, gold, y: 0.5},
        (1, 0.0),
        r"cost of Y\[0\] against itself is 0.5; the right output must cost 0",
    ),
    "an output that is not valid": (
        {"valid": lambda self, x, y: y != 1},
        (1, 0.0),
        r"Y\[1\], 1, is not valid",
    ),
    "what was found is not valid": (
        {"valid": lambda self, x, y: not (x == 1.0 and y == 1)},
        (3, 0.0),
        r"what .*kbest\(X\[0\]\) returned, 1, is not valid",
    ),
}


@pytest.mark.parametrize(("members", "question", "message"), LIES.values(), ids=LIES.keys())
def test_a_lie_is_found_out(members, question, message):
    k, nu = question
    with pytest.raises(InvalidInput, match=message):
        type("Liar", (Trio,), members)().oracle(X_TRIO, Y_TRIO).kbest(AT, 0, k, nu)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((2.9, [0.0, 0.0, 0.0]), r"log Z = 2.9, but gold alone scores 3"),
        ((np.nan, [0.0, 0.0, 0.0]), r"expectations\(X\[0\]\): log Z is nan"),
        ((5.0, [0.0, 0.0]), r"expected features have the shape \(2,\)"),
        ((5.0, [0.0, np.inf, 0.0]), r"expected features hold inf"),
        (5.0, r"expectations\(X\[0\]\) returned 5.0; expected \(log Z, expected features\)"),
    ],
)
def test_a_lie_about_expectations_is_found_out(answer, message):
    liar = type("Liar", (Trio,), {"expectations": lambda self, x, weights: answer})()
    with pytest.raises(InvalidInput, match=message):
        loss_and_gradient(liar.oracle(X_TRIO, Y_TRIO), AT)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"outputs": lambda self, x: []}, r"outputs\(X\[0\]\) lists no output"),
        ({"outputs": lambda self, x: None}, r"outputs\(X\[0\]\) returned None"),
        ({"outputs": lambda self, x: [0, 1, 0]}, r"outputs\(X\[0\]\) lists 0 twice, as numbers 0 and 2"),
        ({"outputs": lambda self, x: [0, 1]}, r"outputs\(X\[2\]\) does not list Y\[2\], 2"),
    ],
)
def test_a_list_of_outputs_that_cannot_be_is_refused(members, message):
    kept = {name: getattr(tw.Structure, name) for name in ("argmax", "kbest", "expectations")}
    with pytest.raises(InvalidInput, match=message):
        type("Liar", (Trio,), kept | members)().oracle(X_TRIO, Y_TRIO)


def test_learners_report_a_lie_under_its_own_name():
    liar = type("Liar", (Trio,), {"argmax": lambda self, x, weights, gold=None, cost_scale=0.0: 2})()
    with pytest.raises(InvalidInput, match=r"Liar.argmax\(X\[\d\]\) returned an output of"):
        tw.PassiveAggressive(C=0.05, epochs=50).train(liar.oracle(X_TRIO, Y_TRIO))


def test_an_approximate_search_may_miss_the_best():
    honest = type("Honest", (Trio,), {"argmax": lambda self, x, weights: 2, "exact": False})()
    ((_, score, cost, _, _),) = honest.oracle(X_TRIO, Y_TRIO).kbest(AT, 0)
    assert (score, cost) == (1.0, 1.0)


# ---- the user's own errors -------------------------------------------------------------------------------------------


class Raises(Sign):
    def argmax(self, x, weights, gold=None, cost_scale=0.0):
        if x == 0.5:
            raise self.error
        return 1


@pytest.mark.parametrize("error", [KeyError("where"), ZeroDivisionError("oh"), RuntimeError("so"), StopIteration()])
def test_what_a_method_raises_comes_out_with_the_example_named(error):
    structure = Raises()
    structure.error = error
    with pytest.raises(type(error)) as caught:
        tw.PassiveAggressive().train(structure.oracle(X_SIGN, Y_SIGN))
    assert caught.value is error
    assert any("Raises.argmax about example 2" in note for note in error.__notes__)


def test_a_value_error_comes_out_of_an_estimator_as_it_was():
    structure = Raises()
    structure.error = ValueError("mine")
    with pytest.raises(ValueError, match="mine") as caught:
        tw.StructuredPredictor(structure, "pa").fit(X_SIGN, Y_SIGN)
    assert caught.value is structure.error
    assert "example 2" in caught.value.__notes__[0]


@pytest.mark.parametrize("method", ["features", "cost", "outputs"])
def test_whatever_method_raises_is_named(method):
    def fails(self, *arguments):
        raise LookupError("no")

    kept = {name: getattr(tw.Structure, name) for name in ("argmax", "kbest", "expectations")}
    members = kept | {"outputs": lambda self, x: [0, 1, 2]} | {method: fails}
    with pytest.raises(LookupError) as caught:
        type("Fails", (Trio,), members)().oracle(X_TRIO, Y_TRIO)
    assert caught.value.__notes__ == [f"raised when trelliswork asked Fails.{method} about example 0 (X[0])"]


def test_a_generator_of_outputs_that_raises_is_named_too():
    def outputs(self, x):
        yield 0
        raise LookupError("no")

    kept = {name: getattr(tw.Structure, name) for name in ("argmax", "kbest", "expectations")}
    with pytest.raises(LookupError) as caught:
        type("Fails", (Trio,), kept | {"outputs": outputs})().oracle(X_TRIO, Y_TRIO)
    assert "example 0" in caught.value.__notes__[0]


def test_an_interrupt_passes_through():
    structure = Raises()
    structure.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        tw.PassiveAggressive().train(structure.oracle(X_SIGN, Y_SIGN))


@pytest.mark.parametrize("write", [lambda w: w.__setitem__(0, 1.0), lambda w: setattr(w.flags, "writeable", True)])
def test_the_weights_cannot_be_written_to(write):
    class Writes(Sign):
        def argmax(self, x, weights, gold=None, cost_scale=0.0):
            write(weights)
            return 1

    with pytest.raises(ValueError, match=r"read-only|cannot set WRITEABLE") as caught:
        tw.PassiveAggressive().train(Writes().oracle(X_SIGN, Y_SIGN))
    assert "Writes.argmax about example" in caught.value.__notes__[0]


def test_weights_that_are_kept_do_not_change_any_more():
    kept = []

    class Keeps(Sign):
        def argmax(self, x, weights, gold=None, cost_scale=0.0):
            kept.append((weights, weights.copy()))
            return super().argmax(x, weights, gold, cost_scale)

    tw.PassiveAggressive(epochs=5).train(Keeps().oracle(X_SIGN, Y_SIGN))
    assert len({copy.tobytes() for _, copy in kept}) > 1
    for weights, copy in kept:
        np.testing.assert_array_equal(weights, copy)


def test_the_number_of_features_must_stay():
    class Grows(Sign):
        def argmax(self, x, weights, gold=None, cost_scale=0.0):
            self.n_features = 5
            return 1

    with pytest.raises(InvalidInput, match="n_features was 1 when training began, and now is 5"):
        tw.Perceptron().train(Grows().oracle(X_SIGN, Y_SIGN))


def test_several_threads_may_ask():
    X, Y = sequences(6)
    oracle = AskedChain(3, 3).oracle(X, Y)
    weights = np.random.default_rng(5).normal(size=oracle.n_weights)
    expected = [oracle.kbest(weights, i, 2)[0][1] for i in range(6)]
    wrong = []

    def ask():
        for _ in range(20):
            wrong.extend(i for i in range(6) if oracle.kbest(weights, i, 2)[0][1] != expected[i])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("unequal", [np.bool_(True), True, 1, np.float32(1.0), np.array(1.0)], ids=repr)
def test_a_cost_may_be_any_kind_of_number(unequal):
    kind = type("Kind", (Trio,), {"cost": lambda self, gold, y: 0 if gold == y else unequal})
    assert [found[2] for found in kind().oracle(X_TRIO, Y_TRIO).kbest(AT, 0, 2)] == [0.0, 1.0]


@pytest.mark.parametrize(
    "features",
    [
        lambda x, y: {y: x},
        lambda x, y: {np.int64(y): np.float32(x)},
        lambda x, y: ([y], [x]),
        lambda x, y: (np.array([y, y], dtype=np.uint8), [x / 2, x / 2]),
        lambda x, y: [x * (y == j) for j in range(3)],
        lambda x, y: np.eye(3, dtype=bool)[y] * int(x),
        lambda x, y: tuple((np.eye(3)[y] * x).tolist()),
    ],
)
def test_features_may_be_written_down_in_any_way(features):
    kind = type("Kind", (Trio,), {"features": lambda self, x, y: features(x, y)})
    found, expected = (made().oracle(X_TRIO, Y_TRIO).kbest(AT, 1, 3) for made in (kind, Trio))
    for one, other in zip(found, expected, strict=True):
        assert one[1:3] == other[1:3]
        np.testing.assert_array_equal(one[3], other[3])
        np.testing.assert_array_equal(one[4], other[4])


def test_an_output_without_features_scores_zero():
    kind = type("Kind", (Trio,), {"features": lambda self, x, y: {} if y == 2 else {y: x}, "exact": False})
    scores = {cost: score for _, score, cost, _, _ in kind().oracle(X_TRIO, Y_TRIO).kbest(np.zeros(3), 2, 3)}
    assert scores == {0.0: 0.0, 1.0: 0.0}


def test_outputs_may_be_lists_arrays_and_dicts():
    class Arrays(tw.Structure):
        n_features = 2

        def outputs(self, x):
            return [np.array([0, 1]), np.array([1, 0])]

        def features(self, x, y):
            return np.array(y) * x

    oracle = Arrays().oracle([1.0, 2.0], [[0, 1], (1, 0)])
    assert [cost for _, _, cost, _, _ in oracle.kbest(np.array([1.0, 0.0]), 0, 2)] == [1.0, 0.0]


# ---- Structure.check -------------------------------------------------------------------------------------------------


def test_a_structure_that_tells_the_truth_passes_its_check():
    X, Y = sequences(3)
    for structure in (ListedChain(3, 3), AskedChain(3, 3)):
        structure.check(X, Y)
    Trio().check(X_TRIO, Y_TRIO)
    Sign().check(X_SIGN, Y_SIGN)


def without_cost(self, x, weights, gold=None, cost_scale=0.0):
    return int(np.argmax(weights * x))


def shifted(self, x, weights, gold=None, cost_scale=0.0):
    total, expected = Trio.expectations(self, x, weights, gold, cost_scale)
    return total + 1.0, expected + 0.1


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"argmax": without_cost}, r"argmax\(X\[\d\]\) returned an output of .* it is not the best"),
        ({"argmax": lambda self, x, weights, **cost: 2}, "it is not the best"),
        ({"expectations": shifted}, r"expectations\(X\[0\]\): the expected features are not the derivative of log Z"),
        (
            {
                "kbest": lambda self, x, weights, k, **cost: Trio.kbest(self, x, weights, 1, **cost),
                "argmax": lambda self, x, weights, **cost: Trio.kbest(self, x, weights, 1, **cost)[0],
            },
            r"kbest\(X\[0\], k=2\) returned 1 outputs",
        ),
    ],
)
def test_a_contradiction_is_found_by_the_check(members, message):
    with pytest.raises(InvalidInput, match=message):
        type("Liar", (Trio,), members)().check(X_TRIO, Y_TRIO)


def test_an_answer_worse_than_one_found_before_is_found_out_in_training():
    """A plain argmax in the place of the one with cost."""
    liar = type("Liar", (Trio,), {"argmax": without_cost})()
    with pytest.raises(InvalidInput, match=r"Liar.argmax\(X\[\d\]\) returned .*\(score \+ 1 \* cost\)"):
        tw.PassiveAggressive(C=0.05, epochs=50).train(liar.oracle(X_TRIO, Y_TRIO))
