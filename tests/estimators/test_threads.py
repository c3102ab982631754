"""One thread asks an estimator while another lets it learn again: answers are by one model or by the other."""

import sys
import threading

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.estimators.fitted import atomic

pytestmark = pytest.mark.filterwarnings("ignore::trelliswork.UncalibratedScores")  # of perceptrons

TEXT = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
FEW = (TEXT, [["D", "N", "V"]] * 2)
MANY = (TEXT * 2, [[f"{label}{i}" for label in "DNV"] for i in range(4)])
ROWS = np.eye(3)


class Sign(tw.Structure):
    n_features = 1

    def features(self, x, y):
        return [x * y]

    def outputs(self, x):
        return [-1, 1]


ESTIMATORS = {
    "labeler": (tw.SequenceLabeler(tw.Perceptron(epochs=2)), FEW, MANY, TEXT),
    "labeler of k best": (tw.SequenceLabeler(tw.Perceptron(epochs=2)), FEW, MANY, TEXT),
    "hmm": (tw.HMM(), FEW, MANY, TEXT),
    "committee": (tw.Committee(tw.HMM(), tw.SequenceLabeler("perceptron"), folds=2), FEW, MANY, TEXT),
    "classifier": (
        tw.MulticlassClassifier(tw.Perceptron(epochs=2)),
        (ROWS, ["a", "b", "a"]),
        (np.eye(8, 3), list("stuvwxyz")),
        ROWS,
    ),
    "classifier of dicts": (
        tw.MulticlassClassifier(tw.Perceptron(epochs=2)),
        ([{"w": "p"}, {"w": "q"}], ["a", "b"]),
        ([{"w": letter} for letter in "pqrstu"], list("uvwxyz")),
        [{"w": "p"}, {"w": "q"}],
    ),
    "structured": (tw.StructuredPredictor(Sign()), ([1.0, 2.0], [1, 1]), ([1.0, 2.0], [-1, -1]), [1.0, 2.0]),
}


def asked(name, estimator, X):
    if name == "labeler of k best":
        return repr([[labels for labels, _ in found] for found in estimator.predict_kbest(X, 2)])
    return repr(np.asarray(estimator.predict(X)).tolist())


@pytest.fixture
def impatient_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient_threads")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_answers_are_of_one_model_while_another_is_learned(name):
    estimator, one, other, X = ESTIMATORS[name]
    answers = {asked(name, estimator.fit(*data), X) for data in (one, other)}
    assert len(answers) == 2
    found, failures, over = set(), [], threading.Event()

    def ask():
        try:
            while not over.is_set():
                found.add(asked(name, estimator, X))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(60):
        estimator.fit(*(one, other)[i % 2])
    over.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert found <= answers


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(name):
    estimator, data, _, X = ESTIMATORS[name]
    estimator.fit(*data)
    before, answer = dict(vars(estimator)), asked(name, estimator, X)
    with pytest.raises(Exception, match=r".") as raised:
        estimator.fit(data[0], [[None, None]] * 7)
    assert not isinstance(raised.value, AttributeError)
    assert vars(estimator) == before
    assert asked(name, estimator, X) == answer


class Forgetful:
    def __init__(self):
        self.a = self.b = 1

    @atomic
    def fit(self, other):
        del self.b
        self.c = 2
        assert (other.a, other.b) == (1, 1)
        assert not hasattr(other, "c")
        other.d = 3


def test_attributes_come_and_go_when_the_fit_is_over():
    estimator = Forgetful()
    assert estimator.fit(estimator) is estimator
    assert vars(estimator) == {"a": 1, "c": 2, "d": 3}  # what somebody else set meanwhile stays
