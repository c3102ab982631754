"""Every estimator saves to and loads from the model file, and gives the same answers."""

import contextlib
import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import models
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.models import registry

WORDS = [["the", "dog", "barks"], ["a", "Cat", "sleeps"], ["the", "old", "man"], ["man", "the", "boats"], ["dogs"]] * 3
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["D", "A", "N"], ["V", "D", "N"], ["N"]] * 3
NEW = [["the", "cats", "sleep"], ["The", "man"], ["unheard-of", "Words", "42"], []]


def rows(seed=3):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 3)) * 2
    y = rng.integers(4, size=60)
    return centres[y] + rng.normal(size=(60, 3)), y


class Span(tw.Structure):
    n_features = 3

    def outputs(self, x):
        return [0, 1, 2]

    def features(self, x, y):
        return {y: x}


class Other(Span):
    pass


def again(model, **given):
    file = io.BytesIO()
    model.save(file)
    return tw.load(file.getvalue(), **given)


def file_of(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


# ---- hidden Markov models --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unknown", ["suffix", "uniform", "error"])
@pytest.mark.parametrize("stop", [True, False])
def test_an_hmm_comes_back_to_the_last_bit(unknown, stop):
    hmm = tw.HMM(unknown=unknown, use_stop=stop).fit(WORDS, TAGS)
    loaded = again(hmm)
    X = WORDS if unknown == "error" else WORDS + NEW
    assert isinstance(loaded, tw.HMM)
    assert loaded.get_params() == hmm.get_params()
    assert loaded.predict(X) == hmm.predict(X)
    assert loaded.predict_kbest(X, 3) == hmm.predict_kbest(X, 3)
    np.testing.assert_array_equal(loaded.log_likelihood(X), hmm.log_likelihood(X))
    for one, other in zip(loaded.predict_marginals(X), hmm.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(one, other)
    assert loaded.sample(3, random_state=1, length=4) == hmm.sample(3, random_state=1, length=4)
    assert file_of(loaded) == file_of(hmm)


def test_an_hmm_of_baum_welch_and_of_numbers_comes_back():
    hmm = tw.HMM(n_states=2, random_state=0, n_iter=3, tol=10.0).fit([[1, 2, 1], [2, 2, 0.5]])
    loaded = again(hmm)
    assert loaded.predict([[1, 2, 0.5]]) == hmm.predict([[1, 2, 0.5]])
    assert loaded.classes_.tolist() == [0, 1]
    assert (loaded.n_iter_, loaded.converged_) == (hmm.n_iter_, hmm.converged_)
    assert loaded.log_likelihood_history_ == hmm.log_likelihood_history_


def test_an_hmm_with_probabilities_of_zero_comes_back():
    hmm = tw.HMM.from_parameters([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], [[1, 0], [0, 1]], ["A", "B"], ["a", "b"])
    assert again(hmm).predict([["a", "b"]]) == [["A", "B"]]


def test_tokens_that_are_neither_text_nor_numbers_are_refused():
    hmm = tw.HMM().fit([[("the", "DT")]], [["D"]])
    with pytest.raises(InvalidInput, match=r"vocabulary_ has .*tuple.*Pickle the model"):
        hmm.save(io.BytesIO())


def test_what_a_user_says_of_a_model_is_kept():
    file = io.BytesIO()
    tw.HMM().fit(WORDS, TAGS).save(file, metadata={"data": "May"})
    loaded = tw.load(file.getvalue())
    assert loaded.metadata_ == {"data": "May"}
    assert again(loaded).metadata_ == {"data": "May"}
    assert loaded.fit(WORDS, TAGS).metadata_ == {}


def test_a_committee_may_have_an_hmm():
    committee = tw.Committee(tw.HMM(), tw.SequenceLabeler(), folds=3).fit(WORDS, TAGS)
    loaded = again(committee)
    assert isinstance(loaded.first_, tw.HMM)
    assert loaded.predict(NEW) == committee.predict(NEW)


# ---- multiclass ------------------------------------------------------------------------------------------------------


LABELS = {
    "numbers": lambda y: y,
    "texts": lambda y: np.array(["south", "west", "north", "east"])[y],
    "objects": lambda y: np.array(["south", "west", "north", "east"], dtype=object)[y],
    "fractions": lambda y: y * 2.0,
    "flags": lambda y: y > 1,
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("make", [lambda: tw.MulticlassClassifier("crf"), tw.MulticlassPerceptron])
def test_a_classifier_comes_back_to_the_last_bit(make, labels):
    X, y = rows()
    model = make().fit(X, LABELS[labels](y))
    loaded = again(model)
    assert type(loaded) is type(model)
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.history_ == model.history_
    assert loaded.score(X, LABELS[labels](y)) == model.score(X, LABELS[labels](y))
    assert file_of(loaded) == file_of(model)


def test_a_classifier_of_dicts_comes_back():
    X = [{"word": "dog", "length": 3}, {"word": "run"}, {"word": "cat", "length": 3}, {"word": "go", "short": True}]
    model = tw.MulticlassClassifier("crf").fit(X, ["N", "V", "N", "V"])
    loaded = again(model)
    new = [{"word": "dog", "never": 1.0}, {"length": 3}]
    np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))


def test_shared_weights_come_back_and_can_be_trained_on():
    X, y = rows()
    hierarchy = {0: ["low"], 1: ["low"], 2: ["high"], 3: ["high"]}
    model = tw.MulticlassClassifier("perceptron", hierarchy=hierarchy, class_weight={0: 2.0}, random_state=3).fit(X, y)
    loaded = again(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.groups_ == model.groups_
    assert loaded.class_weight == {0: 2.0}
    np.testing.assert_array_equal(loaded.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_predict_proba_is_the_softmax_of_the_scores():
    X, y = rows()
    model = tw.MulticlassClassifier(tw.CRF(l2=1.0)).fit(X, y)
    scores = model.decision_function(X)
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_predict_proba_is_that_of_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    X, y = rows()
    ours = tw.MulticlassClassifier(tw.CRF(l2=1.0, tol=1e-8), fit_intercept=False).fit(X, y)
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-4)


def test_two_classes_have_two_probabilities():
    X, y = rows()
    model = tw.MulticlassClassifier("crf").fit(X, y > 1)
    proba = model.predict_proba(X)
    assert proba.shape == (60, 2)
    np.testing.assert_allclose(np.log(proba[:, 1] / proba[:, 0]), model.decision_function(X), atol=1e-9)


def test_scores_that_are_no_probabilities_are_told():
    X, y = rows()
    with pytest.warns(tw.UncalibratedScores, match="'perceptron' gives are no probabilities"):
        tw.MulticlassPerceptron().fit(X, y).predict_proba(X)


# ---- structures of one's own -----------------------------------------------------------------------------------------


def test_a_structured_predictor_comes_back_with_its_structure():
    X = np.linspace(-1, 1, 30).tolist()
    model = tw.StructuredPredictor(Span(), tw.Perceptron(epochs=3)).fit(X, [int(x > 0) for x in X])
    loaded = again(model, structure=Span())
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.predict(X) == model.predict(X)
    assert loaded.learner == model.learner
    assert loaded.history_ == model.history_


class Pairs(tw.Structure):
    """Written as parts: no method sees a weight."""

    n_features = 2

    def parts(self, x):
        return np.asarray(x, dtype=float)

    def decode(self, scores):
        return [int(np.argmax(scores))]


def test_a_structure_written_as_parts_comes_back():
    X = [np.random.default_rng(i).normal(size=(4, 2)) for i in range(20)]
    Y = [(int(np.argmax(x @ [1.0, -0.5])),) for x in X]
    model = tw.StructuredPredictor(Pairs(), "pa").fit(X, Y)
    assert again(model, structure=Pairs()).predict(X) == model.predict(X)


def test_the_structure_must_be_given_and_be_the_same():
    model = tw.StructuredPredictor(Span(), "perceptron").fit([1.0, -1.0], [0, 1])
    with pytest.raises(InvalidInput, match=r"class Span, which is code and not in the file: pass structure=Span"):
        again(model)
    with pytest.raises(InvalidInput, match="structure is of Other with 3"):
        again(model, structure=Other())
    wider = Span()
    wider.n_features = 4
    with pytest.raises(InvalidInput, match="with 3 features; structure is of Span with 4"):
        again(model, structure=wider)


def test_a_structure_is_refused_where_none_is_needed():
    with pytest.raises(InvalidInput, match="structure goes with other kinds of models"):
        again(tw.HMM().fit(WORDS, TAGS), structure=Span())


# ---- kinds -----------------------------------------------------------------------------------------------------------


def test_a_file_of_an_unknown_kind_is_refused_by_name():
    data = models.dumps({}, {"kind": "parser", "labels": ["A"]})
    with pytest.raises(InvalidModel, match="the kind 'parser', which is not known; known are aligner, committee, "):
        tw.load(data)


def test_a_kind_of_ones_own_can_be_registered(monkeypatch):
    monkeypatch.setattr(registry, "_HOMES", dict(registry._HOMES))
    registry.register("mine", f"{__name__}:Mine")
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(Mine=Mine))
    assert tw.load(models.dumps({}, {"kind": "mine", "name": "x"})).name == "x"


class Mine:
    def __init__(self, name):
        self.name = name

    @classmethod
    def restored(cls, tensors, settings, restore):
        return cls(settings["name"])


SAVED = {
    "hmm": lambda: (tw.HMM().fit(WORDS, TAGS), {}),
    "multiclass": lambda: (tw.MulticlassClassifier("crf").fit(*rows()), {}),
    "dicts": lambda: (tw.MulticlassPerceptron().fit([{"a": 1.0}, {"b": 2.0}], [0, 1]), {}),
    "structured": lambda: (tw.StructuredPredictor(Span(), "pa").fit([1.0, -1.0], [0, 1]), {"structure": Span()}),
}


@pytest.mark.parametrize("kind", SAVED)
def test_unsound_files_are_refused(kind):
    """Whatever is left out or changed, the answer is `InvalidModel`, or a model that answers."""
    model, given = SAVED[kind]()
    tensors, settings = model.exported()
    rng = np.random.default_rng(5)
    for name in tensors:
        without = {other: part for other, part in tensors.items() if other != name}
        shorter = tensors | {name: tensors[name][:-1]}
        for changed in (without, shorter):
            try:
                found = tw.load(models.dumps(changed, settings), **given)
            except InvalidModel:
                continue
            assert name in ("channel.unseen.weights", "channel.stop.weights", "channel.classes.prior"), name
            assert isinstance(found, type(model))
        if tensors[name].dtype.kind == "f" and tensors[name].size:
            broken = tensors[name].copy()
            broken.flat[rng.integers(broken.size)] = np.nan
            with pytest.raises(InvalidModel):
                tw.load(models.dumps(tensors | {name: broken}, settings), **given)
    for name in settings:
        for value in (None, 7, "text", [], {}, -1):
            wrong = {**settings, name: value}
            with contextlib.suppress(InvalidModel, InvalidInput):
                tw.load(models.dumps(tensors, wrong), **given)


def test_files_that_have_no_attributes_cannot_be_made_smaller():
    tensors, settings = tw.HMM().fit(WORDS, TAGS).exported()
    with pytest.raises(InvalidInput, match="a model of the kind 'hmm' has no weights of attributes"):
        models.shrunk(tensors, settings, "int8")
