"""`tw.oracle`: what an estimator would train on, in the hands of whoever calls a learner."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput

WORDS, TAGS = [["the", "dog", "barks"], ["a", "dog"], ["the", "barks"]], [["D", "N", "V"], ["D", "N"], ["D", "N"]]
ROWS, CLASSES = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 3


class Sign(tw.Structure):
    n_features = 1

    def outputs(self, x):
        return [-1, 1]

    def features(self, x, y):
        return [x * y]


@pytest.mark.parametrize("learner", [tw.CRF(), tw.Perceptron(epochs=3), tw.PassiveAggressive(epochs=3)], ids=repr)
def test_a_learner_gets_the_weights_that_the_estimator_would(learner):
    weights = np.linspace(0.5, 2, 40)
    examples = tw.oracle(tw.MulticlassClassifier(learner), ROWS, CLASSES, sample_weight=weights)
    found = learner.train(examples).weights.reshape(4, 3)
    fitted = tw.MulticlassClassifier(learner).fit(ROWS, CLASSES, sample_weight=weights)
    np.testing.assert_array_equal(found[:-1].T, fitted.coef_)
    np.testing.assert_array_equal(found[-1], fitted.intercept_)


@pytest.mark.parametrize("learner", [tw.CRF(), tw.Perceptron(epochs=3), tw.SDM(epochs=3)], ids=repr)
def test_sequences_are_laid_out_as_the_estimator_lays_them_out(learner):
    found = learner.train(tw.oracle(tw.SequenceLabeler(learner), WORDS, TAGS))
    fitted = tw.SequenceLabeler(learner).fit(WORDS, TAGS)
    assert found.objective == fitted.history_[-1]["objective"]
    assert found.n_iter == fitted.n_iter_


@pytest.mark.parametrize(
    "make", [lambda learner: tw.SegmentLabeler(learner), lambda learner: tw.SequenceLabeler(learner, order=2)]
)
@pytest.mark.parametrize("learner", [tw.CRF(), tw.Perceptron(epochs=3)], ids=repr)
def test_segments_and_higher_orders_too(make, learner):
    tags = [["B-X", "I-X", "O"], ["B-X", "O"], ["O", "B-X"]]
    found = learner.train(tw.oracle(make(learner), WORDS, tags))
    fitted = make(learner).fit(WORDS, tags)
    assert (found.objective, found.n_iter) == (fitted.history_[-1]["objective"], fitted.n_iter_)


def test_a_structure_of_ones_own_and_its_predictor():
    X, Y = [2.0, -1.0, 0.5], [1, -1, 1]
    structure = tw.oracle(Sign(), X, Y, sample_weight=[1.0, 2.0, 1.0])
    predictor = tw.oracle(tw.StructuredPredictor(Sign()), X, Y, sample_weight=[1.0, 2.0, 1.0])
    assert structure.n_examples == predictor.n_examples == 3
    one, other = (tw.Perceptron(epochs=2).train(examples).weights for examples in (structure, predictor))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("estimator", [tw.SequenceLabeler(), tw.MulticlassPerceptron()], ids=repr)
def test_the_estimator_is_not_changed(estimator):
    before = dict(vars(estimator))
    data = (WORDS, TAGS) if isinstance(estimator, tw.SequenceLabeler) else (ROWS, CLASSES)
    tw.oracle(estimator, *data)
    assert vars(estimator) == before


@pytest.mark.parametrize("wrong", [tw.HMM(), "crf", tw.CRF(), None, tw.SequenceLabeler], ids=repr)
def test_what_has_no_oracle_is_refused(wrong):
    with pytest.raises(InvalidInput, match="there is no oracle of"):
        tw.oracle(wrong, WORDS, TAGS)
