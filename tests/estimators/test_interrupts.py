"""Ctrl-C inside a call of the core: it ends soon, and the estimator stays what it was or keeps what it has."""

import _thread
import random
import threading

import numpy as np
import pytest

import trelliswork as tw
from interrupting import ANSWERED, assert_interruptible, lateness
from trelliswork import learners
from trelliswork.training.monitor import Monitor

pytestmark = pytest.mark.filterwarnings("ignore::trelliswork.UncalibratedScores")  # of perceptrons

K = 600


def many_labels(n, n_labels=K, length=20):
    draw = random.Random(1)
    X = [[f"w{draw.randrange(50)}" for _ in range(length)] for _ in range(n)]
    return X, [[f"L{draw.randrange(n_labels)}" for _ in range(length)] for _ in range(n)]


@pytest.fixture(scope="module")
def long_pass():
    """A pass of any learner over these sentences takes seconds."""
    return many_labels(1500)


@pytest.fixture(scope="module")
def longer_pass():
    """The same for learners that look for one best output, which leave most labels out."""
    return many_labels(12_000)


LOOK_FOR_ONE = ("perceptron", "pa", "sdm", "frank-wolfe", "dual-coordinate", "arow", "larank")


@pytest.fixture(scope="module")
def tagger():
    X, Y = many_labels(300)
    return tw.SequenceLabeler(tw.Perceptron(epochs=1), random_state=0).fit(X, Y)


@pytest.mark.parametrize("name", learners.names())
def test_the_first_pass_of_every_learner_can_be_interrupted(request, name):
    sentences = request.getfixturevalue("longer_pass" if name in LOOK_FOR_ONE else "long_pass")
    labelers = []

    def fit():
        labelers.append(tw.SequenceLabeler(name, n_jobs=len(name) % 2 + 1))
        labelers[-1].fit(*sentences)

    assert_interruptible(fit, after=0.7)
    assert not hasattr(labelers[-1], "classes_")


@pytest.mark.parametrize("name", ["crf", "perceptron", "sdm", "frank-wolfe", "eg", "memm", "cutting-plane"])
def test_a_later_pass_can_be_interrupted_and_the_weights_are_kept(name):
    X, Y = many_labels(120, 300)

    def soon(done):
        if done.number == 1:
            threading.Timer(0.02, _thread.interrupt_main).start()

    labeler = tw.SequenceLabeler(_endless(name), n_jobs=1)
    with pytest.warns(tw.ConvergenceWarning, match="interrupted after"):
        labeler.fit(X, Y, callback=soon)
    assert labeler.message_.endswith("the best weights so far are kept")
    assert all(len(labels) == len(x) for x, labels in zip(X, labeler.predict(X), strict=True))
    assert 1 <= labeler.n_iter_ < 1000
    assert np.isfinite([weight.weight for weight in labeler.weights()]).all()


def _endless(name):
    learner = learners.by_name(name)
    if "epochs" in learner.get_params() and not hasattr(learner, "max_iter"):
        learner.set_params(epochs=1000)
    if "tol" in learner.get_params():
        learner.set_params(tol=0.0)
    return learner


def test_a_fit_that_is_interrupted_leaves_the_estimator_as_it_was(longer_pass):
    labeler, before = tw.SequenceLabeler("perceptron"), {}

    def fit():
        labeler.fit([["a", "b"]], [["A", "B"]])
        before.update(vars(labeler))
        labeler.fit(*longer_pass)

    assert_interruptible(fit, after=0.4)
    assert vars(labeler) == before
    assert labeler.predict([["a", "b"]]) == [["A", "B"]]


@pytest.mark.parametrize("question", ["predict", "predict_marginals", "log_prob", "predict_kbest"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tagging_can_be_interrupted(tagger, long_pass, question, n_jobs):
    X = [long_pass[0][0] * 200] * (90 if question == "predict" else 15)  # long ones
    arguments = {"log_prob": ([["L1"] * len(x) for x in X],), "predict_kbest": (20,)}.get(question, ())
    tagger.n_jobs = n_jobs
    assert_interruptible(lambda: getattr(tagger, question)(X, *arguments))


def test_development_data_can_be_interrupted(monkeypatch):
    X, Y = many_labels(20, 400)
    dev = [x * 100 for x in X * 5]
    late, judge = [], Monitor._judge

    def interrupted(self, iteration):
        late.append(lateness(lambda: judge(self, iteration), after=0.1))
        raise KeyboardInterrupt

    monkeypatch.setattr(Monitor, "_judge", interrupted)
    labeler = tw.SequenceLabeler("perceptron")
    with pytest.warns(tw.ConvergenceWarning, match="interrupted after 0 iterations"):
        labeler.fit(X, Y, dev, [["L1"] * len(x) for x in dev])
    assert late[0] is not None, "scoring ended before the signal came: give it more to do"
    assert late[0] < ANSWERED
    assert labeler.n_iter_ == 0  # the weights of the first pass are kept all the same
    labeler.predict(X)


def test_baum_welch_can_be_interrupted():
    X, _ = many_labels(2000, length=20)
    models = []

    def fit():
        models.append(tw.HMM(n_states=250, n_iter=1000, tol=0, random_state=0))
        models[-1].fit(X)

    assert_interruptible(fit, after=0.5)
    assert not hasattr(models[-1], "classes_")


def test_a_thread_that_gets_no_signals_goes_on():
    X, Y = many_labels(400, 200)
    fitted, ended = [], threading.Event()

    def fit():
        fitted.append(tw.SequenceLabeler(tw.Perceptron(epochs=30)).fit(X, Y))
        ended.set()

    threading.Thread(target=fit).start()
    assert_interruptible(lambda: ended.wait(60), after=0.05)
    assert ended.wait(60)
    assert not fitted[0].message_.startswith("interrupted")


def test_threads_of_a_committee_end_with_it():
    X, Y = many_labels(1500)
    committee = tw.Committee(tw.SequenceLabeler("perceptron"), tw.SequenceLabeler("perceptron"), folds=3, n_jobs=2)
    assert_interruptible(lambda: committee.fit(X, Y), after=1.0)


def test_threads_of_a_cross_validation_end_with_it():
    X, Y = many_labels(1500)
    labeler = tw.SequenceLabeler("perceptron")
    assert_interruptible(lambda: tw.evaluation.cross_validate(labeler, X, Y, folds=3, n_jobs=2), after=1.0)
