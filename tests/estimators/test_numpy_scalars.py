"""Every estimator takes NumPy's scalars for every parameter, as searches over parameters hand them over."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV

import trelliswork as tw
from reference.user_structures import ListedChain

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "old", "man"], ["man", "the", "boats"], ["dogs"]] * 4
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "A", "N"], ["V", "D", "N"], ["N"]] * 4
ROWS = np.random.default_rng(0).normal(size=(30, 3))
CLASSES = np.argmax(ROWS, axis=1)
CHAINS = [tuple(np.random.default_rng(i).integers(0, 3, 4).tolist()) for i in range(12)]

MAKE = {
    "labeler": lambda **given: tw.SequenceLabeler(**{"learner": tw.Perceptron(epochs=2), **given}).fit(X, Y, X, Y),
    "hmm": lambda **given: tw.HMM(**{"n_states": 2, "n_iter": 3, "random_state": 1, **given}).fit(X),
    "multiclass": lambda **given: tw.MulticlassClassifier(**given).fit(ROWS, CLASSES, ROWS, CLASSES),
    "perceptron": lambda **given: tw.MulticlassPerceptron(**given).fit(ROWS, CLASSES, ROWS, CLASSES),
    "structured": lambda **given: tw.StructuredPredictor(ListedChain(3, 3), **given).fit(
        CHAINS, CHAINS, CHAINS, CHAINS
    ),
    "committee": lambda **given: tw.Committee(tw.HMM(), tw.SequenceLabeler("perceptron"), **given).fit(X, Y),
}
KINDS = {
    "labeler": tw.SequenceLabeler,
    "hmm": tw.HMM,
    "multiclass": tw.MulticlassClassifier,
    "perceptron": tw.MulticlassPerceptron,
    "structured": tw.StructuredPredictor,
    "committee": tw.Committee,
}
# Parameters whose default is None, and one more value of those that have few.
GIVEN = {"hash_bits": 12, "patience": 2, "n_jobs": 2, "random_state": 7, "n_states": 3, "min_count": 2, "verbose": 0}
GIVEN |= {"folds": 3, "learner": "pa", "decoder": "mbr", "combinations": "all", "constraints": "BIO", "memory": "8GB"}
GIVEN |= {"tag_dictionary": 0.1, "dictionary_attribute": "word[0]", "beam": 2}
NO_SCALARS = {"structure", "first", "second", "intervals", "hierarchy", "expansion", "class_weight", "constraints"}
WITH = {"dictionary_attribute": {"tag_dictionary": 0.1}}  # without which it has no meaning
NO_SCALARS |= {"automaton", "label_parts", "at_most", "at_least", "scratch_folder"}


def as_numpy(value):
    kinds = {bool: [np.bool_], int: [np.int64, np.int32], float: [np.float64], str: [np.str_]}
    return [kind(value) for kind in kinds.get(type(value), [])]


def seen(estimator):
    """The model, as its weights or its answers."""
    if hasattr(estimator, "coef_"):
        return estimator.coef_.tobytes()
    if hasattr(estimator, "log_emissions_"):
        return estimator.log_emissions_.tobytes() + estimator.log_transitions_.tobytes()
    return [repr(weight) for weight in estimator.weights()], estimator.predict(X)


def values_of(kind):
    for name, parameter in inspect.signature(KINDS[kind]).parameters.items():
        if name in NO_SCALARS:
            continue
        values = [parameter.default, *([GIVEN[name]] if name in GIVEN else [])]
        if isinstance(parameter.default, bool):
            values.append(not parameter.default)
        yield from ((name, value) for value in values if value is not None)


@pytest.mark.filterwarnings("ignore::trelliswork.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_numpy_scalars_give_the_same_bits(kind):
    looked_at = set()
    for name, value in values_of(kind):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.UncalibratedScores)
            more = WITH.get(name, {})
            expected = seen(MAKE[kind](**{name: value}, **more))
            for scalar in as_numpy(value):
                fitted = MAKE[kind](**{name: scalar}, **more)
                assert seen(fitted) == expected, (name, scalar)
                assert clone(fitted).get_params(deep=False)[name] == value
                looked_at.add(name)
    assert looked_at >= set(inspect.signature(KINDS[kind]).parameters) - NO_SCALARS


def test_the_randomised_search_of_the_tutorial():
    """As the tutorial of sklearn-crfsuite has it: penalties from exponential distributions, a scorer of its own."""

    def accuracy(y_true, y_pred):
        pairs = [pair for true, found in zip(y_true, y_pred, strict=True) for pair in zip(true, found, strict=True)]
        return float(np.mean([a == b for a, b in pairs]))

    crf = tw.SequenceLabeler(tw.CRF(max_iter=100), combinations="transitions")
    space = {"learner__l1": scipy.stats.expon(scale=0.5), "learner__l2": scipy.stats.expon(scale=0.05)}
    search = RandomizedSearchCV(crf, space, cv=3, n_iter=5, random_state=0, scoring=make_scorer(accuracy))
    search.fit(X * 20, Y * 20)  # so many that training begins with stochastic passes
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.best_score_ > 0.9
    assert isinstance(search.best_params_["learner__l1"], np.floating)
