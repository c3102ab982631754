"""`fit(resume=...)` goes on with the same data and settings, and refuses any other."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "old", "man"], ["man", "the", "boats"], ["dogs"]] * 4
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "A", "N"], ["V", "D", "N"], ["N"]] * 4
DEV = (X[:3], Y[:3])
WEIGHTS = np.linspace(0.5, 1.5, len(X))
TOKEN_WEIGHTS = [np.linspace(0.5, 1.5, len(x)) for x in X]


def state_of(X=X, Y=Y, *dev, learner="perceptron", n_jobs=1, weights=None, **options):
    """What training gives to go on from after its first iteration."""
    states = []

    def keep(progress):
        states.append(progress.state())
        return True

    tw.SequenceLabeler(learner, n_jobs=n_jobs, **options).fit(X, Y, *dev, callback=keep, **(weights or {}))
    return states[0]


def resumed(state, X=X, Y=Y, *dev, learner="perceptron", n_jobs=1, weights=None, **options):
    labeler = tw.SequenceLabeler(learner, n_jobs=n_jobs, **options)
    return labeler.fit(X, Y, *dev, resume=state, **(weights or {}))


def changed(lists, i, t, value):
    out = [list(row) for row in lists]
    out[i][t] = value
    return out


OTHER_DATA = {
    "fewer sequences": (X[:10], Y[:10], {}),
    "another order": (X[::-1], Y[::-1], {}),
    "a word": (changed(X, 3, 0, "woman"), Y, {}),
    "a label": (X, changed(Y, 3, 0, "N"), {}),
    "labels by other names": (X, [[label.lower() for label in labels] for labels in Y], {}),
    "weights of sequences": (X, Y, {"sample_weight": WEIGHTS}),
    "weights of tokens": (X, Y, {"token_weight": TOKEN_WEIGHTS}),
    "other ends of sequences": ([["the"], ["dog", "barks"], *X[1:]], [["D"], ["N", "V"], *Y[1:]], {}),
}


@pytest.mark.parametrize("learner", ["perceptron", "crf", "pa"])
@pytest.mark.parametrize("what", OTHER_DATA)
def test_other_training_data_are_refused(what, learner):
    if learner != "crf" and what.startswith("weights of tokens"):
        pytest.skip("weights of tokens are for learners that sum over all outputs")
    X_other, Y_other, weights = OTHER_DATA[what]
    with pytest.raises(InvalidInput, match="resume is of a run on other training data"):
        resumed(state_of(learner=learner), X_other, Y_other, learner=learner, weights=weights)


def test_the_numbers_of_sequences_and_tokens_are_told():
    with pytest.raises(InvalidInput, match=r"it had 20 sequences of 52 tokens, these are 10 of 26"):
        resumed(state_of(), X[:10], Y[:10])


@pytest.mark.parametrize("hash_bits", [None, 8])
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_the_same_data_are_known_for_any_number_of_threads_and_however_they_come(n_jobs, hash_bits):
    state = state_of(n_jobs=n_jobs, hash_bits=hash_bits)
    whole = tw.SequenceLabeler("perceptron", hash_bits=hash_bits).fit(X, Y)
    for given in (X, iter(X), [tuple(x) for x in X]):
        again = resumed(state, given, Y, n_jobs=3 - n_jobs % 3, hash_bits=hash_bits)
        assert again.predict(X) == whole.predict(X)
        assert again.n_iter_ == whole.n_iter_


@pytest.mark.parametrize(
    "dev",
    [(), (X[:3], Y[1:4]), (X[:2], Y[:2]), ([["a", *X[0][1:]], *X[1:3]], Y[:3])],
    ids=["none", "other labels", "fewer", "another word"],
)
def test_other_development_data_are_refused(dev):
    state = state_of(X, Y, *DEV)
    assert resumed(state, X, Y, *DEV).n_iter_ >= 1
    with pytest.raises(InvalidInput, match="other development data"):
        resumed(state, X, Y, *dev)
    with pytest.raises(InvalidInput, match="other development data"):
        resumed(state_of(), X, Y, *DEV)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_count", 2),
        ("combinations", "all"),
        ("constraints", lambda before, label: True),
        ("cost", 2.0 - 2.0 * np.eye(4)),
        ("scoring", "accuracy"),
        ("features", "chunking"),
        ("random_state", 5),
    ],
)
def test_another_setting_is_refused_by_name(name, value):
    if name == "features":
        X_now = [[(word, "X", "Y") for word in x] for x in X]
        state = state_of(X_now, Y, features="pos")
        with pytest.raises(InvalidInput, match="resume"):
            resumed(state, X_now, Y, features="chunking")
        return
    with pytest.raises(InvalidInput, match=name if name != "random_state" else "this seed"):
        resumed(state_of(), **{name: value})


def test_a_state_that_says_nothing_of_its_data_is_taken_with_a_warning():
    state = {name: part for name, part in state_of().items() if not name.startswith("run.")}
    with pytest.warns(UserWarning, match="says nothing of the data"):
        assert resumed(state).n_iter_ >= 1


@pytest.mark.parametrize("part", ["run.data", "run.settings"])
@pytest.mark.parametrize("value", [np.zeros(0), np.array([b"x"]), np.frombuffer(b"[1]", np.uint8)])
def test_a_state_whose_notes_are_damaged_is_refused(part, value):
    with pytest.raises(InvalidInput, match="resume"):
        resumed({**state_of(), part: value})
