"""The conventions of scikit-learn: its own checks, copies, searches, pipelines, workers and threads."""

import copy
import inspect
import pickle
import threading

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import trelliswork as tw

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"], ["dogs", "bark"]] * 3
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"], ["N", "V"]] * 3

OWN_MESSAGE = "what the check passes is refused, with a message that names the sequence and not scikit-learn's"
EXPECTED_FAILURES = {
    "check_complex_data": OWN_MESSAGE,
    "check_dtype_object": OWN_MESSAGE,
    "check_estimators_empty_data_messages": OWN_MESSAGE,
    "check_fit2d_predict1d": OWN_MESSAGE,
    "check_n_features_in_after_fitting": OWN_MESSAGE,
}


class OneTokenSequences(tw.SequenceLabeler, BaseEstimator):
    """Takes each row of a matrix for a sequence of one token: scikit-learn's checks know no other input."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(as_sequences(X), as_labels(y), sample_weight=sample_weight)

    def partial_fit(self, X, y, sample_weight=None):
        return super().partial_fit(as_sequences(X), as_labels(y), sample_weight=sample_weight)

    def predict(self, X):
        return np.array([float(labels[0]) for labels in super().predict(as_sequences(X))])

    def score(self, X, y):
        return super().score(as_sequences(X), as_labels(y))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


def as_sequences(X):
    rows = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    return [rows[[i]] for i in range(rows.shape[0])] if rows.ndim == 2 else rows


def as_labels(y):
    return y if y is None else [[str(label)] for label in np.asarray(y)]


@parametrize_with_checks([OneTokenSequences()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_estimator_checks(estimator, check):
    check(estimator)


def trained(**parameters):
    return tw.SequenceLabeler(**parameters).fit(X, Y)


class TestCopies:
    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    def test_pickles(self, protocol):
        model = trained()
        again = pickle.loads(pickle.dumps(model, protocol))
        assert again.predict(X) == model.predict(X)
        assert again.weights() == model.weights()
        assert again.history_ == model.history_

    def test_a_pickle_holds_the_bytes_of_the_file(self, tmp_path):
        model = trained()
        model.save(tmp_path / "model.tw")
        assert (tmp_path / "model.tw").read_bytes() in pickle.dumps(model)

    def test_an_untrained_one_pickles(self):
        assert repr(pickle.loads(pickle.dumps(tw.SequenceLabeler(min_count=3)))) == "SequenceLabeler(min_count=3)"

    def test_a_clone_is_untrained_with_the_same_parameters(self):
        model = trained(learner=tw.CRF(l2=0.25), min_count=2, constraints=None)
        again = clone(model)
        assert repr(again) == repr(model)
        assert again.learner is not model.learner
        assert not hasattr(again, "classes_")

    def test_copies_share_the_model(self):
        model = trained()
        for again in (copy.copy(model), copy.deepcopy(model)):
            assert again.predict(X) == model.predict(X)
            assert again._model is model._model

    def test_fit_leaves_the_parameters_alone(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.5), constraints=np.ones((3, 3), dtype=bool))
        before = {name: (id(value), copy.deepcopy(value)) for name, value in model.get_params().items()}
        model.fit(X, Y)
        for name, value in model.get_params().items():
            assert id(value) == before[name][0]
            assert np.array_equal(value, before[name][1])

    def test_parameters_are_those_of_the_signature(self):
        names = set(inspect.signature(tw.SequenceLabeler.__init__).parameters) - {"self"}
        assert set(tw.SequenceLabeler().get_params(deep=False)) == names


class TestSearches:
    def test_grid_search_over_the_learner(self):
        search = GridSearchCV(tw.SequenceLabeler(tw.CRF()), {"learner__l2": [0.1, 100.0]}, cv=KFold(2))
        search.fit(X, Y)
        assert search.best_params_ == {"learner__l2": 0.1}
        assert search.predict(X) == Y

    def test_grid_search_over_a_learner_given_by_name(self):
        search = GridSearchCV(tw.SequenceLabeler(), {"learner__l2": [0.1, 100.0], "min_count": [1, 2]}, cv=KFold(2))
        assert search.fit(X, Y).best_estimator_.learner == tw.CRF(l2=0.1)

    def test_grid_search_over_learners(self):
        search = GridSearchCV(tw.SequenceLabeler(), {"learner": [tw.CRF(l2=0.1), tw.CRF(l1=5.0)]}, cv=KFold(2))
        assert search.fit(X, Y).best_params_ == {"learner": tw.CRF(l2=0.1)}

    @pytest.mark.parametrize("backend", ["loky", "threading"])
    def test_searches_share_the_work(self, backend):
        with joblib.parallel_backend(backend, n_jobs=2):
            search = GridSearchCV(tw.SequenceLabeler(tw.CRF()), {"learner__l2": [0.1, 1.0]}, cv=KFold(2)).fit(X, Y)
        assert search.predict(X) == Y

    def test_cross_validation(self):
        scores = cross_validate(tw.SequenceLabeler(), X, Y, cv=KFold(3), return_estimator=True)
        assert scores["test_score"].shape == (3,)
        assert scores["test_score"].min() > 0.5
        assert len(scores["estimator"]) == 3

    def test_cross_val_predict_gives_labels(self):
        X_even, y_even = [x for x in X if len(x) == 3], [y for y in Y if len(y) == 3]
        guesses = cross_val_predict(tw.SequenceLabeler(), X_even, y_even, cv=KFold(3))
        assert np.mean(np.array(guesses) == np.array(y_even)) > 0.5

    def test_a_pipeline_with_a_feature_function(self):
        def features(X):
            return [[{"word": word, "ends": word[-1]} for word in x] for x in X]

        pipeline = Pipeline([("features", FunctionTransformer(features)), ("labels", tw.SequenceLabeler())])
        assert pipeline.fit(X, Y).predict(X) == Y
        assert pipeline.score(X, Y) == 1.0
        pipeline.set_params(labels__learner__l2=0.5)
        assert pipeline["labels"].learner == tw.CRF(l2=0.5)

    def test_a_learner_and_its_parameters_are_set_together(self):
        tagger = tw.SequenceLabeler("crf").set_params(learner="pa", learner__C=0.5)
        assert tagger.learner == tw.PassiveAggressive(C=0.5)

    def test_an_unknown_parameter_is_refused(self):
        with pytest.raises(ValueError, match="has no parameter 'depth'"):
            tw.SequenceLabeler().set_params(depth=3)


class TestWorkers:
    def test_processes(self):
        model = trained()
        answers = joblib.Parallel(n_jobs=2)(joblib.delayed(model.predict)(X) for _ in range(4))
        assert answers == [model.predict(X)] * 4

    def test_threads_share_one_model(self):
        model = trained(n_jobs=2)
        expected = model.predict(X * 50)
        answers = [None] * 8

        def work(i):
            answers[i] = model.predict(X * 50)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [expected] * 8


def test_the_score_is_f1_of_spans_where_labels_spell_them():
    y = [["B-X" if label == "D" else "I-X" if label == "N" else "O" for label in labels] for labels in Y]
    model = tw.SequenceLabeler(tw.CRF(l2=30.0)).fit(X, y)
    assert model.score(X, y) == pytest.approx(tw.evaluation.span_scores(y, model.predict(X)).f1)
    model.scoring = "accuracy"
    assert model.score(X, y) == pytest.approx(tw.evaluation.token_scores(y, model.predict(X)).accuracy)
    model.scoring = lambda gold, guess: float(gold == guess)
    assert model.score(X, model.predict(X)) == 1.0
