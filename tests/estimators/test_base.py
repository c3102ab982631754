"""Estimators are scikit-learn's to look at, though their base is our own and imports nothing of it."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

import trelliswork as tw
from trelliswork.errors import UnknownParameter
from trelliswork.estimators.base import Estimator
from trelliswork.training.cloning import cloned

X = [["the", "dog"], ["a", "cat", "sleeps"], ["the", "cat"], ["a", "dog", "barks"]] * 3
Y = [["D", "N"], ["D", "N", "V"], ["D", "N"], ["D", "N", "V"]] * 3


class Sign(tw.Structure):
    n_features = 1

    def __repr__(self):
        return "Sign()"

    def outputs(self, x):
        return [-1, 1]

    def features(self, x, y):
        return [x * y]


ESTIMATORS = [
    tw.SequenceLabeler(tw.PassiveAggressive(C=0.5), min_count=2),
    tw.SegmentLabeler(tw.CRF(l2=0.5), longest=3),
    tw.HMM(unknown="uniform"),
    tw.Committee(tw.HMM(), tw.SequenceLabeler("pa"), folds=3),
    tw.MulticlassClassifier(tw.CRF(l2=0.1)),
    tw.MulticlassPerceptron(epochs=3),
    tw.StructuredPredictor(Sign(), tw.Perceptron(epochs=2)),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)


@every_estimator
def test_the_base_is_our_own(estimator):
    assert isinstance(estimator, Estimator)
    assert not isinstance(estimator, BaseEstimator)


@every_estimator
@pytest.mark.parametrize("copied", [clone, cloned])
def test_a_clone_has_the_same_parameters_and_shares_nothing(estimator, copied):
    copy = copied(estimator)
    assert type(copy) is type(estimator)
    assert repr(copy) == repr(estimator)
    assert list(copy.get_params()) == list(estimator.get_params())
    for name, value in estimator.get_params(deep=False).items():
        if hasattr(value, "get_params"):
            assert getattr(copy, name) is not value


@every_estimator
def test_parameters_are_those_of_scikit_learns_base(estimator):
    class Theirs(BaseEstimator):
        pass

    Theirs.__init__ = type(estimator).__init__
    theirs = Theirs(**estimator.get_params(deep=False))
    ours, wanted = estimator.get_params(), theirs.get_params()
    assert list(ours) == list(wanted)
    assert all(ours[name] is wanted[name] or ours[name] == wanted[name] for name in ours)


@every_estimator
def test_an_unknown_parameter_is_refused(estimator):
    with pytest.raises(UnknownParameter, match="no parameter 'nonsense'"):
        clone(estimator).set_params(nonsense=1)


def test_parameters_of_a_learner_that_is_given_by_its_name():
    labeler = tw.SequenceLabeler("pa").set_params(learner__C=0.25)
    assert labeler.learner == tw.PassiveAggressive(C=0.25)
    assert tw.MulticlassClassifier("pa").set_params(learner="pegasos", learner__lam=0.1).learner == tw.Pegasos(lam=0.1)


def test_parameters_of_members_of_a_committee():
    committee = tw.Committee(tw.SequenceLabeler("pa"), tw.SequenceLabeler())
    committee.set_params(first__learner__C=0.25, second__min_count=3)
    assert committee.get_params()["first__learner__C"] == 0.25
    assert committee.second.min_count == 3


def test_a_text_names_what_is_not_the_default():
    assert repr(tw.SequenceLabeler()) == "SequenceLabeler()"
    assert repr(tw.SequenceLabeler("pa", min_count=2)) == "SequenceLabeler(learner='pa', min_count=2)"
    assert repr(tw.HMM(n_states=3)) == "HMM(n_states=3)"


@every_estimator
def test_tags(estimator):
    tags = get_tags(estimator)
    assert is_classifier(estimator) == isinstance(estimator, tw.MulticlassClassifier | tw.MulticlassPerceptron)
    assert tags.target_tags.required == (not isinstance(estimator, tw.HMM | tw.StructuredPredictor))


@every_estimator
def test_notebooks_show_a_picture(estimator):
    bundle = estimator._repr_mimebundle_()
    assert bundle["text/plain"] == repr(estimator)
    assert type(estimator).__name__ in bundle["text/html"]
    assert type(estimator).__name__ in estimator._repr_html_()
    with sklearn.config_context(display="text"):
        assert "text/html" not in estimator._repr_mimebundle_()
        assert estimator._repr_html_() is None


def test_searches_and_pipelines():
    grid = GridSearchCV(tw.SequenceLabeler("pa"), {"learner__C": [0.01, 1.0], "min_count": [1, 2]}, cv=3).fit(X, Y)
    assert set(grid.best_params_) == {"learner__C", "min_count"}
    drawn = RandomizedSearchCV(tw.SequenceLabeler("pa"), {"learner__C": [0.1, 1.0]}, n_iter=2, cv=3, random_state=0)
    assert drawn.fit(X, Y).best_params_["learner__C"] in (0.1, 1.0)
    pipeline = Pipeline([("same", FunctionTransformer()), ("tagger", tw.SequenceLabeler())])
    assert pipeline.set_params(tagger__min_count=1).fit(X, Y).predict(X[:1]) == [["D", "N"]]
    assert cross_val_score(tw.HMM(), X, Y, cv=3).shape == (3,)


def test_weights_are_routed():
    weights = np.linspace(0.5, 2, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        labeler = tw.SequenceLabeler().set_fit_request(sample_weight=True)
        assert labeler.get_metadata_routing().fit.requests["sample_weight"] is True
        assert clone(labeler).get_metadata_routing().fit.requests["sample_weight"] is True
        assert cloned(labeler).get_metadata_routing().fit.requests["sample_weight"] is True
        routed = Pipeline([("same", FunctionTransformer()), ("tagger", labeler)]).fit(X, Y, sample_weight=weights)
        with pytest.raises(TypeError, match="nonsense"):
            tw.SequenceLabeler().set_fit_request(nonsense=True)
    direct = tw.SequenceLabeler().fit(X, Y, sample_weight=weights)
    assert routed["tagger"].weights() == direct.weights()
    assert direct.weights() != tw.SequenceLabeler().fit(X, Y).weights()


def test_routing_must_be_switched_on():
    with pytest.raises(RuntimeError, match="metadata routing"):
        tw.SequenceLabeler().set_fit_request(sample_weight=True)


class Both(tw.SequenceLabeler, BaseEstimator):
    """Where `isinstance` must say that it is one of scikit-learn's."""


def test_a_class_may_inherit_from_both():
    both = Both(tw.CRF(l2=0.5), min_count=1).fit(X, Y)
    assert isinstance(both, BaseEstimator)
    assert clone(both).set_params(learner__l2=0.25).learner.l2 == 0.25
    assert both.weights() == tw.SequenceLabeler(tw.CRF(l2=0.5)).fit(X, Y).weights()
    assert pickle.loads(pickle.dumps(both)).predict(X) == both.predict(X)
    with sklearn.config_context(enable_metadata_routing=True):
        assert both.set_fit_request(sample_weight=True).get_metadata_routing().fit.requests["sample_weight"] is True


@every_estimator
def test_pickles(estimator):
    assert repr(pickle.loads(pickle.dumps(estimator))) == repr(estimator)
