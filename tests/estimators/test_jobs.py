"""The number of threads: what is worth it is taken, what is absurd is refused, at every entrance."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.evaluation import cross_validate
from trelliswork.structures.checks import MOST_JOBS

X, Y = [["the", "dog"], ["a", "cat"], ["the", "cat"], ["a", "dog"]], [["D", "N"]] * 4
LABELER = tw.SequenceLabeler("perceptron").fit(X, Y)
ENTRANCES = {
    "labeler": lambda n: tw.SequenceLabeler("perceptron", n_jobs=n).fit(X, Y),
    "crf": lambda n: tw.SequenceLabeler("crf", n_jobs=n).fit(X, Y),
    "answer": lambda n: tw.SequenceLabeler("perceptron").fit(X, Y).set_params(n_jobs=n).predict(X),
    "hmm": lambda n: tw.HMM(n_states=2, n_jobs=n, n_iter=1, tol=1e9).fit(X),
    "classifier": lambda n: tw.MulticlassClassifier(n_jobs=n).fit(np.eye(2), ["a", "b"]),
    "committee": lambda n: tw.Committee(LABELER, LABELER, folds=2, n_jobs=n).fit(X, Y),
    "cross-validation": lambda n: cross_validate(LABELER, X, Y, folds=2, n_jobs=n),
    "chains": lambda n: tw.ChainBatch([np.zeros((3, 2))] * 3, np.zeros((2, 2)), n_jobs=n).argmax(),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("n_jobs", [2**62, 2**70, MOST_JOBS + 1])
def test_more_threads_than_any_machine_has_use_for_are_refused(entrance, n_jobs):
    with pytest.raises(tw.InvalidInput, match=rf"n_jobs is {n_jobs}; expected at most 1024 threads, or -1"):
        ENTRANCES[entrance](n_jobs)


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("n_jobs", [MOST_JOBS, -1, -(2**70), np.int64(2)])
def test_as_many_threads_as_one_likes_otherwise(entrance, n_jobs):
    ENTRANCES[entrance](n_jobs)


@pytest.mark.parametrize("learner", [tw.Perceptron(), tw.CRF()])
def test_a_learner_refuses_them_too(learner):
    with pytest.raises(tw.InvalidInput, match="n_jobs must be a whole number from 1 to 1024"):
        learner.train(None, n_jobs=2**62)
