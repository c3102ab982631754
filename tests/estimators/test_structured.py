"""The estimator of structures of the user's own."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import trelliswork as tw
from reference.user_structures import AskedChain, ListedChain
from trelliswork.errors import ConvergenceWarning, InvalidInput

BOTH = pytest.mark.parametrize("made", [ListedChain, AskedChain])


def data(n=30, seed=0):
    """Symbols 0, 1, 2; the label is the symbol, but that of the symbol before after a 2."""
    rng = np.random.default_rng(seed)
    X = [tuple(rng.integers(0, 3, rng.integers(1, 5)).tolist()) for _ in range(n)]
    return X, [tuple(s if t == 0 or x[t - 1] != 2 else 2 for t, s in enumerate(x)) for x in X]


@BOTH
def test_it_learns(made):
    X, Y = data()
    model = tw.StructuredPredictor(made(3, 3), tw.Perceptron(epochs=20)).fit(X, Y)
    assert model.predict(X[:5]) == [made(3, 3).argmax(x, model.coef_) for x in X[:5]]
    assert model.score(X, Y) > 1 - 0.35
    assert model.coef_.shape == (18,)
    assert len(model.history_) == model.n_iter_


@BOTH
def test_the_score_is_the_share_of_right_outputs_or_minus_the_mean_cost(made):
    X, Y = data()
    model = tw.StructuredPredictor(made(3, 3), "perceptron").fit(X[:10], Y[:10])
    found = model.predict(X)
    right = [gold == y for gold, y in zip(Y, found, strict=True)]
    costs = [made(3, 3).cost(gold, y) for gold, y in zip(Y, found, strict=True)]
    weights = np.arange(len(X)) / 10
    np.testing.assert_allclose(model.score(X, Y), np.mean(right))
    np.testing.assert_allclose(model.score(X, Y, weights), np.average(right, weights=weights))
    model.set_params(scoring="cost")
    np.testing.assert_allclose(model.score(X, Y), -np.mean(costs))
    np.testing.assert_allclose(model.score(X, Y, weights), -np.average(costs, weights=weights))


@BOTH
@pytest.mark.parametrize("cost", [0.0, 5.0])
def test_the_score_is_between_zero_and_one_whatever_outputs_cost(made, cost):
    class Dear(made):
        def cost(self, gold, y):
            return cost * (gold != y) + super().cost(gold, y)

    X, Y = data()
    model = tw.StructuredPredictor(Dear(3, 3), tw.Perceptron(epochs=1)).fit(X[:3], Y[:3], X, Y)
    assert 0.0 <= model.score(X, Y) < 1.0
    assert model.score(X, Y) == max(record["dev_score"] for record in model.history_)


def test_a_measure_that_is_none_is_refused():
    X, Y = data()
    with pytest.raises(InvalidInput, match=r"scoring is 'f1'.*expected 'accuracy', 'cost' or a function"):
        tw.StructuredPredictor(ListedChain(3, 3), scoring="f1").fit(X, Y, X, Y)
    model = tw.StructuredPredictor(ListedChain(3, 3), scoring=lambda gold, found: 0.5).fit(X, Y)
    with pytest.raises(InvalidInput, match="sample_weight goes with"):
        model.score(X, Y, np.ones(len(X)))


@BOTH
def test_development_data_choose_the_pass(made):
    X, Y = data()
    X_dev, Y_dev = data(seed=1)
    learner = tw.Perceptron(epochs=15, averaged=False)
    model = tw.StructuredPredictor(made(3, 3), learner, patience=4).fit(X, Y, X_dev, Y_dev)
    scores = [record["dev_score"] for record in model.history_]
    assert model.best_iteration_ == 1 + int(np.argmax(scores))
    np.testing.assert_allclose(model.score(X_dev, Y_dev), max(scores))


def test_a_measure_of_ones_own_is_used_for_both():
    X, Y = data()

    def exact(gold, found):
        return float(np.mean([g == f for g, f in zip(gold, found, strict=True)]))

    model = tw.StructuredPredictor(ListedChain(3, 3), "pa", scoring=exact).fit(X, Y, X, Y)
    best = max(record["dev_score"] for record in model.history_)
    assert model.score(X, Y) == best == exact(Y, model.predict(X))


def test_going_on_from_weights_is_one_long_run():
    X, Y = data()
    short, long = (tw.Perceptron(epochs=n, shuffle=False, averaged=False) for n in (2, 4))
    whole = tw.StructuredPredictor(ListedChain(3, 3), long).fit(X, Y)
    parts = tw.StructuredPredictor(ListedChain(3, 3), short).partial_fit(X, Y).partial_fit(X, Y)
    warm = tw.StructuredPredictor(ListedChain(3, 3), short, warm_start=True).fit(X, Y).fit(X, Y)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(warm.coef_, whole.coef_)


def test_an_example_of_weight_zero_teaches_nothing():
    X, Y = data()
    wrong = [tuple((np.array(y) + 1) % 3) for y in Y]
    learner = tw.Perceptron(epochs=3, shuffle=False, averaged=False)
    clean = tw.StructuredPredictor(ListedChain(3, 3), learner).fit(X, Y)
    weights = np.repeat([1.0, 0.0], len(X))
    mixed = tw.StructuredPredictor(ListedChain(3, 3), learner).fit(X + X, Y + wrong, sample_weight=weights)
    np.testing.assert_array_equal(mixed.coef_, clean.coef_)


def test_the_conventions_of_scikit_learn_hold():
    X, Y = data()
    model = tw.StructuredPredictor(ListedChain(3, 3), "pa")
    assert clone(model).get_params()["learner"] == "pa"
    assert len(cross_val_score(model, X, Y, cv=3)) == 3
    search = GridSearchCV(model, {"learner__C": [0.01, 1.0]}, cv=2).fit(X, Y)
    assert search.best_params_["learner__C"] in (0.01, 1.0)
    fitted = pickle.loads(pickle.dumps(model.fit(X, Y)))
    assert fitted.predict(X) == model.predict(X)


def test_an_interrupt_keeps_the_model():
    X, Y = data()

    class Interrupted(AskedChain):
        calls = 0

        def argmax(self, x, weights, gold=None, cost_scale=0.0):
            Interrupted.calls += 1
            if Interrupted.calls == 100:
                raise KeyboardInterrupt
            return super().argmax(x, weights, gold, cost_scale)

    with pytest.warns(ConvergenceWarning, match="interrupted after 3"):
        model = tw.StructuredPredictor(Interrupted(3, 3), tw.Perceptron(epochs=50)).fit(X, Y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, Y) > 0.0


def test_errors_of_a_prediction_name_the_input():
    class Broken(AskedChain):
        def argmax(self, x, weights, gold=None, cost_scale=0.0):
            if x == "bad":
                raise KeyError(x)
            return None if x == "none" else super().argmax(x, weights, gold, cost_scale)

    X, Y = data()
    model = tw.StructuredPredictor(Broken(3, 3)).fit(X, Y)
    with pytest.raises(KeyError) as caught:
        model.predict([X[0], "bad"])
    assert "example 1" in caught.value.__notes__[0]
    with pytest.raises(InvalidInput, match=r"argmax\(X\[1\]\) returned None"):
        model.predict([X[0], "none"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"structure": None}, "expected an object of a subclass of tw.Structure"),
        ({"structure": ListedChain}, "expected an object of a subclass of tw.Structure"),
        ({"learner": "wizard"}, "wizard"),
        ({"learner": 3}, "learner is 3"),
        ({"patience": 1}, "patience needs development data"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    X, Y = data(3)
    with pytest.raises(InvalidInput, match=message):
        tw.StructuredPredictor(**({"structure": ListedChain(3, 3)} | parameters)).fit(X, Y)


def test_half_of_the_development_data_is_refused():
    X, Y = data(3)
    with pytest.raises(InvalidInput, match="Y_dev is missing"):
        tw.StructuredPredictor(ListedChain(3, 3)).fit(X, Y, X_dev=X)


def test_weights_of_another_structure_are_refused():
    X, Y = data(3)
    model = tw.StructuredPredictor(ListedChain(3, 3)).fit(X, Y)
    model.structure = ListedChain(4, 3)
    with pytest.raises(InvalidInput, match="there are 18 weights, but n_features is 21"):
        model.predict(X)
