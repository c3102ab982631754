"""`LinearEstimator`: what an estimator of one's own has to state, and what it then has."""

import io

import numpy as np
import pytest
from sklearn.base import clone

import trelliswork as tw
from trelliswork import _core
from trelliswork.estimators.base import store
from trelliswork.estimators.fitted import snapshot
from trelliswork.estimators.linear import LinearEstimator
from trelliswork.features.inputs import inputs_of
from trelliswork.models import registry
from trelliswork.models.parts import PartsModel
from trelliswork.training.examples import DevScore, Examples


def structure(n_labels):
    """Any label may stand anywhere: an automaton with one state."""
    arcs = np.array([(0, k, 0) for k in range(n_labels)], dtype=np.uint32).ravel()
    return _core.PartStructure.automaton(n_labels, arcs, np.ones(1, dtype=np.uint8), True)


def channels(n_labels):
    return [("token", 0, "each", 0, n_labels, np.zeros(0, dtype=np.int64), 0)]


class PlainModel(PartsModel):
    meets = ("label",)

    def _described(self):
        return structure(len(self.labels)), channels(len(self.labels))

    def labels_of(self, source):
        batch = _core.PartBatch(self.structure, source.lengths(), self.core.scores([source], 1), 1)
        return [[self.labels[k] for k in best[0][0].tolist()] for best in batch.best(1)]


class PlainExamples(Examples):
    def __init__(self, estimator, inputs, X, y, sample_weight):
        super().__init__(estimator, inputs)
        self.classes = sorted({label for row in y for label in row})
        sites = _core.SiteExamples(self._hash_bits, True)
        for source in inputs.sources(X, names=True):
            sites.read(source, 1)
        self._sample, self._checksum = X, sites.checksum()
        self.n_sequences, self.n_tokens = len(X), sum(map(len, X))
        self._parts = _core.PartExamples(channels(len(self.classes)), [sites], 1)
        numbers = np.array([self.classes.index(label) for row in y for label in row], dtype=np.uint32)
        ends, weights = np.cumsum([len(row) for row in y]), None if sample_weight is None else np.array(sample_weight)
        self.oracle = self._parts.oracle(
            structure(len(self.classes)), numbers, ends, weights, "grown" if self.learner.grows else "seen"
        )

    def _model_of(self, weights, settings):
        described = {"channels": {"token": {"block": "labels", "sites": "each"}}}
        return PlainModel(self._parts.export(self.oracle, weights), settings | described)

    def _dev_score(self, X_dev, y_dev):
        def right(weights):
            model = self._model_of(weights, self._trial_settings())
            found = [labels for source in self.inputs.sources(X_dev) for labels in model.labels_of(source)]
            return float(np.mean([a == b for a, b in zip(found, y_dev, strict=True)]))

        return DevScore(right, 0)


class Plain(LinearEstimator):
    """Labels of tokens that do not know each other."""

    kind = "plain"
    model_class = PlainModel
    saved = ("loud",)

    def __init__(
        self, learner="crf", features="auto", *, hash_bits=None, loud=False, patience=None, n_jobs=None,
        random_state=None, verbose=0,
    ):  # fmt: skip
        store(self, locals())

    def _examples(self, X, y, sample_weight=None, **more):
        inputs, X = inputs_of(X, self.features, PlainModel.meets)
        return PlainExamples(self, inputs, X, y, sample_weight)

    @snapshot
    def predict(self, X):
        model = self._fitted()
        found = [labels for source in model.inputs.sources(X) for labels in model.labels_of(source)]
        return [[label.upper() for label in labels] for labels in found] if self.loud else found


X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat"]]
Y = [["d", "n", "v"], ["d", "n", "v"], ["d", "n"]]


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_HOMES", dict(registry._HOMES))
    registry.register("plain", f"{__name__}:Plain")


@pytest.mark.parametrize("learner", [tw.CRF(l2=0.1), "perceptron", "memm"], ids=repr)
def test_it_learns_answers_and_stands_in_a_file(registered, learner):
    estimator = Plain(learner, "words", loud=True).fit(X, Y, X, Y)
    assert estimator.predict(X) == [[label.upper() for label in row] for row in Y]
    assert estimator.classes_.tolist() == ["d", "n", "v"]
    assert {weight.label for weight in estimator.weights()} == {"d", "n", "v"}
    file = io.BytesIO()
    estimator.save(file, metadata={"data": "three"})
    again = tw.load(file.getvalue())
    assert (again.predict(X), again.loud, again.metadata_) == (estimator.predict(X), True, {"data": "three"})
    assert again.n_iter_ == estimator.n_iter_
    assert clone(again).get_params()["loud"] is True
    with pytest.raises(tw.InvalidInput, match="structure goes with other kinds"):
        tw.load(file.getvalue(), structure=3)


def test_a_learner_sees_its_examples_and_a_run_goes_on():
    found = tw.CRF(l2=0.1).train(tw.oracle(Plain(tw.CRF(l2=0.1), "words"), X, Y))
    assert found.converged
    states = []
    estimator = Plain(tw.Perceptron(epochs=3), "words")
    estimator.fit(X, Y, callback=lambda progress: states.append(progress.state()))
    assert Plain(tw.Perceptron(epochs=3), "words").fit(X, Y, resume=states[0]).weights() == estimator.weights()
    with pytest.raises(tw.InvalidInput, match="hash_bits"):
        Plain(tw.Perceptron(epochs=3), "words", hash_bits=8).fit(X, Y, resume=states[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hash_bits": 31}, "hash_bits is 31; expected 1 to 30"),
        ({"patience": 0}, "patience must be at least 1"),
        ({"random_state": -1}, "random_state must be at least 0"),
        ({"patience": 2}, "patience needs development data"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(tw.InvalidInput, match=message):
        Plain(**options).fit(X, Y)
