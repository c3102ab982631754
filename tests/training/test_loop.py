"""The fit loop is one for every estimator: interrupts, early stopping, checkpoints and resuming are the same."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput
from trelliswork.training.loop import seed_of

LEARNERS = ["perceptron", "pa", "crf", "sdm", "pegasos", "arow", "frank-wolfe", "eg"]


class Nearest(tw.Structure):
    """Which of five numbers: the features are those of the distance."""

    n_features = 10

    def outputs(self, x):
        return list(range(5))

    def features(self, x, y):
        return {2 * y: x, 2 * y + 1: 1.0}


class Largest(tw.Structure):
    """Which of the parts of an input, one of them: written as parts, so that no method sees a weight."""

    n_features = 2

    def parts(self, x):
        return np.asarray(x, dtype=float)

    def decode(self, scores):
        return [int(np.argmax(scores))]

    def marginals(self, scores):
        total = np.logaddexp.reduce(scores)
        return total, np.exp(scores - total)


def sets_of_parts():
    rng = np.random.default_rng(4)
    X = [rng.normal(size=(4, 2)) for _ in range(30)]
    return X, [(int(np.argmax(x @ [1.0, -0.5])),) for x in X]


def rows():
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(4, 3)) * 2
    y = rng.integers(4, size=60)
    return centres[y] + rng.normal(size=(60, 3)), y


def sequences():
    words, tags = ["the dog barks", "a cat sleeps", "the old man", "man the boats", "dogs"], ["DNV", "DNV", "DAN"]
    return [text.split() for text in words] * 4, [list(labels) for labels in [*tags, "VDN", "N"]] * 4


def spans():
    X = [["Ann", "Lee", "sings"], ["Bo", "hums"], ["then", "Ann", "left"], ["Bo", "Liu", "and", "Ann"]] * 4
    names = {"Ann", "Lee", "Bo", "Liu"}
    tags = [["O" if word not in names else "B-PER" for word in x] for x in X]
    return X, [
        ["I-PER" if tag != "O" and before != "O" else tag for before, tag in zip(["O", *y], y, strict=False)]
        for y in tags
    ]


def outputs():
    X = np.linspace(-2, 2, 40).tolist()
    return X, [min(int((x + 2) / 0.8), 4) for x in X]


ESTIMATORS = {
    "SequenceLabeler": (lambda learner, **more: tw.SequenceLabeler(learner, **more), sequences),
    "SequenceLabeler of order 2": (lambda learner, **more: tw.SequenceLabeler(learner, order=2, **more), sequences),
    "SegmentLabeler": (lambda learner, **more: tw.SegmentLabeler(learner, **more), spans),
    "MulticlassClassifier": (lambda learner, **more: tw.MulticlassClassifier(learner, **more), rows),
    "StructuredPredictor": (lambda learner, **more: tw.StructuredPredictor(Nearest(), learner, **more), outputs),
    "StructuredPredictor of parts": (
        lambda learner, **more: tw.StructuredPredictor(Largest(), learner, **more),
        sets_of_parts,
    ),
}


@pytest.fixture(params=ESTIMATORS)
def kind(request):
    return ESTIMATORS[request.param]


def weights_of(estimator):
    if isinstance(estimator, tw.SequenceLabeler | tw.SegmentLabeler):
        return estimator.weights()
    return estimator.coef_.tolist()


def dev_of(X, y):
    return X[::3], y[::3]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_resumed_run_ends_with_the_identical_weights(kind, learner):
    make, data = kind
    X, y = data()
    states = []
    whole = make(learner).fit(X, y, *dev_of(X, y), callback=lambda progress: states.append(progress.state()))
    for state in states[:: max(1, len(states) // 3)]:
        again = make(learner).fit(X, y, *dev_of(X, y), resume=state)
        assert weights_of(again) == weights_of(whole)
        assert (again.n_iter_, again.best_iteration_) == (whole.n_iter_, whole.best_iteration_)
        assert [fact["objective"] for fact in again.history_] == [fact["objective"] for fact in whole.history_]


def state_after_one(make, X, y, *dev):
    states = []
    make("perceptron").fit(X, y, *dev, callback=lambda progress: states.append(progress.state()) or True)
    return states[0]


def test_other_data_are_refused(kind):
    make, data = kind
    X, y = data()
    state = state_after_one(make, X, y)
    for X_other, y_other in ((X[:-1], y[:-1]), (X[::-1], y[::-1])):
        with pytest.raises(InvalidInput, match="resume is of a run on other training data"):
            make("perceptron").fit(X_other, y_other, resume=state)
    with pytest.raises(InvalidInput, match="resume is of a run on other training data"):
        make("perceptron").fit(X, y, sample_weight=np.linspace(1, 2, len(X)), resume=state)


def test_other_development_data_are_refused(kind):
    make, data = kind
    X, y = data()
    state = state_after_one(make, X, y, *dev_of(X, y))
    with pytest.raises(InvalidInput, match="resume is of a run with other development data"):
        make("perceptron").fit(X, y, X[1::3], y[1::3], resume=state)
    with pytest.raises(InvalidInput, match="resume is of a run with other development data"):
        make("perceptron").fit(X, y, resume=state)


def test_what_is_no_state_is_refused(kind):
    make, data = kind
    with pytest.raises(InvalidInput, match="resume is not what"):
        make("perceptron").fit(*data(), resume={"monitor.notes": np.zeros(3, dtype=np.uint8)})


def test_an_interrupt_keeps_the_best_weights(kind):
    make, data = kind
    X, y = data()

    def interrupt(progress):
        if progress.number == 2:
            raise KeyboardInterrupt

    with pytest.warns(tw.ConvergenceWarning, match="training was interrupted after 2 iterations"):
        stopped = make("perceptron").fit(X, y, callback=interrupt)
    asked = make("perceptron").fit(X, y, callback=lambda progress: progress.number == 2)
    assert stopped.interrupted_
    assert not asked.interrupted_
    assert weights_of(stopped) == weights_of(asked)


def test_an_interrupt_before_the_first_iteration_leaves_the_estimator_as_it_was(kind):
    make, data = kind

    def interrupt(weights):
        raise KeyboardInterrupt

    estimator = make(tw.CRF())
    estimator.learner.train = lambda *_, **__: interrupt(None)
    before = set(vars(estimator))
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(*data())
    assert set(vars(estimator)) == before


def test_a_second_interrupt_while_the_model_is_made_keeps_it(kind, monkeypatch):
    make, data = kind
    estimator = make("perceptron")
    owner, keep = type(estimator), type(estimator)._keep
    calls = []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        keep(self, *arguments)

    whole = make("perceptron").fit(*data())
    monkeypatch.setattr(owner, "_keep", interrupted)
    with pytest.warns(tw.ConvergenceWarning, match="training was interrupted"):
        estimator.fit(*data())
    assert weights_of(estimator) == weights_of(whole)
    assert estimator.interrupted_
    assert not estimator.converged_


def test_patience_needs_development_data(kind):
    make, data = kind
    X, y = data()
    with pytest.raises(InvalidInput, match="patience needs development data"):
        make("perceptron", patience=2).fit(X, y)
    stopped = make(tw.Perceptron(epochs=200, shuffle=False), patience=2).fit(X, y, *dev_of(X, y))
    assert stopped.n_iter_ <= stopped.best_iteration_ + 2


def test_a_warm_start_goes_on_from_the_weights_that_are_there(kind):
    make, data = kind
    X, y = data()
    if "warm_start" not in make("crf").get_params():
        pytest.skip("has no warm start, and says so: there is no such parameter")
    learner = tw.CRF(tol=1e-6)
    estimator = make(learner, warm_start=True).fit(X, y)
    before = estimator.n_iter_
    assert estimator.fit(X, y).n_iter_ < before


def test_a_seed_may_be_any_source_of_random_numbers():
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1)) != seed_of(np.random.RandomState(2))
    assert seed_of(np.random.default_rng(1)) == seed_of(np.random.default_rng(1)) != seed_of(np.random.default_rng(2))
    for wrong in (-1, 1.5, "seven", True, 2**32):
        with pytest.raises(InvalidInput, match="random_state is"):
            seed_of(wrong)
