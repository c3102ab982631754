"""Structures written as parts: every answer equals that of all outputs listed, and every learner learns the same."""

import functools
import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork.errors import InvalidInput
from trelliswork.structures.custom.partition import partitioned

N_FEATURES = 4


@functools.cache
def matchings(n):
    """Outputs of a fixed size: each row of a square has one column. Part i * n + j is row i with column j."""
    return [tuple(i * n + j for i, j in enumerate(columns)) for columns in itertools.permutations(range(n))]


@functools.cache
def free_sets(n):
    """Outputs that contain one another, the empty one included: no two neighbours of a row of n * n."""
    sets = itertools.product([0, 1], repeat=n * n)
    return [tuple(np.flatnonzero(s).tolist()) for s in sets if not any(a and b for a, b in itertools.pairwise(s))]


class Own(tw.Structure):
    """Parts with numbers as features; ``x`` is (n_parts, n_features). The best is found by going through the list."""

    n_features = N_FEATURES

    def __init__(self, listed=matchings):
        self.listed = listed

    def outputs_of(self, x):
        return self.listed(round(len(x) ** 0.5))

    def parts(self, x):
        return x

    def decode(self, scores):
        return max(self.outputs_of(scores), key=lambda y: scores[list(y)].sum())


class Told(Own):
    """The same, with arguments in place of large scores, and outputs of another form: sets."""

    def decode(self, scores, x, forced, forbidden):
        forced, forbidden = set(forced.tolist()), set(forbidden.tolist())
        left = [y for y in self.outputs_of(x) if forced <= set(y) and not forbidden & set(y)]
        return max(left, key=lambda y: scores[list(y)].sum(), default=None)

    def parts_of(self, x, y):
        return sorted(y)

    def output_of(self, x, numbers):
        return frozenset(numbers)


class Summed(Own):
    def marginals(self, scores, x):
        outputs = self.outputs_of(x)
        totals = np.array([scores[list(y)].sum() for y in outputs])
        p = np.exp(totals - totals.max())
        marginals = np.zeros(len(scores))
        for y, share in zip(outputs, p / p.sum(), strict=True):
            marginals[list(y)] += share
        return totals.max() + np.log(p.sum()), marginals


class Listed(tw.Structure):
    """The judge: all outputs and their features, one by one."""

    n_features = N_FEATURES

    def __init__(self, listed=matchings):
        self.listed = listed

    def outputs(self, x):
        return self.listed(round(len(x) ** 0.5))

    def features(self, x, y):
        return np.asarray(x)[list(y)].sum(axis=0)

    def cost(self, gold, y):
        return len(set(gold) ^ set(y))


def problem(listed=matchings, n=3, n_examples=8, seed=0):
    """Inputs, and outputs that weights choose, with some noise."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n * n, N_FEATURES)) for _ in range(n_examples)]
    w = rng.normal(size=N_FEATURES)
    Y = [max(listed(n), key=lambda y: (x @ w + rng.normal(size=n * n))[list(y)].sum()) for x in X]
    return X, Y


# ---- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", [Own, Told, Summed])
@pytest.mark.parametrize("listed", [matchings, free_sets])
@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), nu=st.sampled_from([0.0, 1.0, -0.5]))
def test_best_k_best_and_sums_equal_enumeration(structure, listed, seed, nu):
    own, judge = structure(listed), Listed(listed)
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(9, N_FEATURES)), rng.normal(size=N_FEATURES)
    gold = listed(3)[rng.integers(len(listed(3)))]
    keywords = {} if nu == 0.0 else {"gold": gold, "cost_scale": nu}
    found, expected = own.kbest(x, w, 200, **keywords), judge.kbest(x, w, 200, **keywords)
    assert [tuple(sorted(y)) for y in found] == [tuple(y) for y in expected]
    assert tuple(sorted(own.argmax(x, w, **keywords))) == expected[0]
    np.testing.assert_allclose(own.score(x, gold, w), judge.score(x, gold, w), rtol=1e-12, atol=1e-12)
    if structure is Summed:
        log_z, (indices, values) = own.expectations(x, w, **keywords)
        judged_z, judged = judge.expectations(x, w, **keywords)
        np.testing.assert_allclose(log_z, judged_z, rtol=1e-12)
        np.testing.assert_allclose(np.bincount(indices, values, N_FEATURES), judged, rtol=1e-10, atol=1e-12)


@given(st.integers(0, 10_000))
def test_a_partition_visits_every_output_once_and_in_order_whatever_contains_what(seed):
    rng = np.random.default_rng(seed)
    every = [tuple(np.flatnonzero(s).tolist()) for s in itertools.product([0, 1], repeat=5)]
    outputs = [y for y in every if rng.random() < 0.4] or [(0,)]
    scores = np.round(rng.normal(size=5), 1)

    def best(scores, forced, forbidden):
        left = [y for y in outputs if forced <= set(y) and not forbidden & set(y)]
        return max(left, key=lambda y: scores[list(y)].sum(), default=None)

    found = list(partitioned(best, scores))
    assert sorted(found) == sorted(outputs)
    totals = [scores[list(y)].sum() for y in found]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(totals))


@pytest.mark.parametrize(
    "form",
    [
        lambda x: x,
        lambda x: x.tolist(),
        sp.csr_matrix,
        sp.coo_array,
        lambda x: (np.arange(0, x.size + 1, x.shape[1]), np.tile(np.arange(x.shape[1]), len(x)), x.ravel()),
    ],
    ids=["array", "lists", "csr", "coo", "arrays"],
)
def test_parts_in_every_form_are_the_same(form):
    class Form(Own):
        def parts(self, x):
            return form(x)

    X, Y = problem()
    learner = tw.PassiveAggressive(epochs=3)
    expected = tw.StructuredPredictor(Own(), learner, random_state=0).fit(X, Y).coef_
    np.testing.assert_allclose(tw.StructuredPredictor(Form(), learner, random_state=0).fit(X, Y).coef_, expected)


# ---- learners --------------------------------------------------------------------------------------------------------

EPOCHS = {"epochs": 5}
LEARNERS = [
    tw.Perceptron(**EPOCHS),
    tw.Perceptron(k=3, **EPOCHS),
    tw.PassiveAggressive(k=3, **EPOCHS),
    tw.MIRA(**EPOCHS),
    tw.SDM(**EPOCHS),
    tw.LaRank(**EPOCHS),
    tw.Pegasos(**EPOCHS),
    tw.Subgradient(**EPOCHS),
    tw.FrankWolfe(**EPOCHS),
    tw.CuttingPlane(epochs=30),
    tw.DualCoordinate(**EPOCHS),
    tw.AROW(**EPOCHS),
    tw.CRF(l2=0.5),
    tw.CRF(l2=0.5, margin=1.0),
    tw.ExponentiatedGradient(epochs=100),
    tw.ExponentiatedGradient(loss="crf", epochs=100),
]


@pytest.mark.parametrize("listed", [matchings, free_sets])
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_learner_learns_what_it_learns_from_the_list(learner, listed):
    """Except exponentiated gradient, whose duals are of other parts: there both reach the same optimum."""
    X, Y = problem(listed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        fitted = [
            tw.StructuredPredictor(s, learner, random_state=0).fit(X, Y) for s in (Summed(listed), Listed(listed))
        ]
    own, judge = (model.coef_ for model in fitted)
    exact = not isinstance(learner, tw.ExponentiatedGradient | tw.CRF)
    np.testing.assert_allclose(own, judge, rtol=1e-8 if exact else 0.02, atol=1e-10 if exact else 0.02)
    if exact:
        assert fitted[0].predict(X) == fitted[1].predict(X)


def test_outputs_of_the_users_form_go_in_and_come_out():
    X, Y = problem()
    model = tw.StructuredPredictor(Told(), tw.PassiveAggressive(epochs=5), scoring="cost", random_state=0)
    sets = [frozenset(y) for y in Y]
    model.fit(X, sets, X, sets)
    assert {type(y) for y in model.predict(X)} == {frozenset}
    plain = tw.StructuredPredictor(Own(), tw.PassiveAggressive(epochs=5), scoring="cost", random_state=0).fit(
        X, Y, X, Y
    )
    np.testing.assert_allclose(model.coef_, plain.coef_)
    assert model.score(X, sets) == plain.score(X, Y)
    costs = [len(set(a) ^ set(b)) for a, b in zip(Y, plain.predict(X), strict=True)]
    assert plain.score(X, Y) == -np.mean(costs)


def test_a_model_of_parts_is_saved_and_loaded(tmp_path):
    X, Y = problem()
    model = tw.StructuredPredictor(Own(), tw.PassiveAggressive(epochs=5), random_state=0).fit(X, Y)
    model.save(tmp_path / "model.tw")
    loaded = tw.load(tmp_path / "model.tw", structure=Own())
    np.testing.assert_array_equal(loaded.coef_, model.coef_.astype(loaded.coef_.dtype))
    assert loaded.predict(X) == model.predict(X)


@pytest.mark.parametrize("structure", [Own, Told, Summed])
def test_check_finds_no_contradiction(structure):
    structure().check(*problem(n_examples=3))


def test_check_finds_a_decoder_that_is_not_exact():
    class Greedy(Own):
        def decode(self, scores):
            n, left, found = 3, {0, 1, 2}, []
            for i in range(n):
                j = max(left, key=lambda j: scores[i * n + j])
                left.remove(j)
                found.append(i * n + j)
            return found

    with pytest.raises(InvalidInput, match="it is not the best"):
        Greedy().check(*problem(n_examples=5))


def test_what_cannot_be_answered_is_refused_with_what_to_define():
    X, Y = problem()
    for learner, said in [
        (tw.CRF(), r"asks for expectations, which class Own does not define: .*with parts\(x\) marginals\(scores\)"),
        (tw.ExponentiatedGradient(), r"asks for parts, .* with parts\(x\) marginals\(scores\)"),
        (tw.MEMM(), "asks for local, .* choose another learner"),
    ]:
        with pytest.raises(InvalidInput, match=said):
            tw.StructuredPredictor(Own(), learner).fit(X, Y)


# ---- bad input -------------------------------------------------------------------------------------------------------


def changed(**methods):
    return type("Changed", (Summed,), methods)()


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        ({"parts": lambda self, x: x[:, :3]}, r"Changed.parts\(X\[0\]\) has the shape \(9, 3\); expected .* 4 columns"),
        ({"parts": lambda self, x: x[0]}, r"has the shape \(4,\)"),
        ({"parts": lambda self, x: np.where(x > 5, x, np.nan)}, r"feature 0 of part 0 is nan; features must be finite"),
        ({"parts": lambda self, x: ([0, 2], [0, 4], [1.0, 1.0])}, "has the feature 4; expected 0 to 3"),
        ({"parts": lambda self, x: ([0, 3], [0, 1], [1.0, 1.0])}, "indptr ends at 3, but there are 2 indices"),
        ({"parts": lambda self, x: ([1, 2], [0, 1], [1.0, 1.0])}, "indptr must rise from 0"),
        ({"parts": lambda self, x: ([0, 1], [0.5], [1.0])}, "must be whole numbers"),
        ({"parts": lambda self, x: "parts"}, "expected the features of the parts"),
        ({"parts": lambda self, x: x[:5]}, r"Y\[0\] has the part [5-8]; parts\(X\[0\]\) has parts 0 to 4"),
        ({"decode": lambda self, scores: [0, 0, 1]}, "has a part twice"),
        ({"decode": lambda self, scores: [0.5]}, "expected numbers of parts"),
        ({"decode": lambda self, scores: 7}, "expected numbers of parts"),
        ({"decode": lambda self, scores: None}, "returned None; every input needs an output"),
        ({"decode": lambda self, scores: [99]}, "has the part 99"),
        ({"decode": lambda self, scores, forced, forbidden: [0, 4, 8]}, "Return None where there is no such output"),
        ({"parts_of": lambda self, x, y: "abc"}, r"Changed.parts_of\(X\[0\], Y\[0\]\) is 'abc'"),
        ({"cost": lambda self, gold, y: 0.0}, "defines parts, from which every answer follows, and cost, too"),
        ({"decode": tw.Structure.decode}, r"defines parts\(x\), but not decode\(scores\)"),
        ({"n_features": 2**32}, "there may be fewer"),
    ],
)
def test_wrong_answers_of_the_users_code_are_refused(methods, said):
    X, Y = problem()
    with pytest.raises(InvalidInput, match=said):
        tw.StructuredPredictor(changed(**methods), tw.Perceptron(k=3)).fit(X, Y)


@pytest.mark.parametrize(
    ("marginals", "said"),
    [
        (lambda self, scores: 1.0, r"expected \(log Z, marginals of the parts\)"),
        (lambda self, scores: (np.nan, scores), "log Z is nan"),
        (lambda self, scores: (9.0, scores[1:]), r"marginals of shape \(8,\) for 9 parts"),
        (lambda self, scores: (9.0, np.full(9, 1.5)), "the marginal of part 0 is 1.5; expected 0 to 1"),
        (lambda self, scores: (-99.0, np.full(9, 0.5)), "but gold alone scores"),
    ],
)
def test_wrong_sums_of_the_users_code_are_refused(marginals, said):
    X, Y = problem()
    with pytest.raises(InvalidInput, match=said):
        tw.StructuredPredictor(changed(marginals=marginals), tw.CRF()).fit(X, Y)


def test_scores_cannot_be_written_to():
    def decode(self, scores):
        scores[0] = 1.0

    X, Y = problem()
    with pytest.raises(ValueError, match="read-only"):
        tw.StructuredPredictor(changed(decode=decode), "perceptron").fit(X, Y)
