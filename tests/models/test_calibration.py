"""Scores that are no probabilities: the warning, and the temperature that makes probabilities of them."""

import itertools

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import learners

NO_PROBABILITIES = [name for name in learners.names() if name not in ("crf", "memm", "eg")]
CORPUS = tw.corpora.ingredients()
X, Y, X_DEV, Y_DEV = CORPUS.X_train[:400], CORPUS.y_train[:400], CORPUS.X_test[:120], CORPUS.y_test[:120]
ASKED = {
    "predict_marginals": lambda tagger: tagger.predict_marginals(X_DEV),
    "predict_kbest": lambda tagger: tagger.predict_kbest(X_DEV, 2),
    "predict_spans": lambda tagger: tagger.predict_spans(X_DEV),
    "log_prob": lambda tagger: tagger.log_prob(X_DEV, Y_DEV),
    "explain": lambda tagger: tagger.explain(X_DEV[0]),
    "least risk": lambda tagger: tagger.set_params(decoder="mbr").predict(X_DEV),
    "confidence, marginals": lambda tagger: tw.confidence(tagger, X_DEV, "marginals"),
    "confidence, weighted": lambda tagger: tw.confidence(tagger, X_DEV, "weighted"),
}
NOT_ASKED = {
    "predict": lambda tagger: tagger.predict(X_DEV),
    "score": lambda tagger: tagger.score(X_DEV, Y_DEV),
    "max-marginals": lambda tagger: tagger.predict_max_marginals(X_DEV),
    "chain": lambda tagger: tagger.chain(X_DEV[0]),
    "confidence, kbest": lambda tagger: tw.confidence(tagger, X_DEV, "kbest"),
    "confidence, margins": lambda tagger: tw.confidence(tagger, X_DEV, "margins"),
}


def fitted(learner="perceptron", **options):
    return tw.SequenceLabeler(learner, constraints="BIO", random_state=1, **options).fit(X, Y)


@pytest.mark.parametrize("name", ASKED)
def test_probabilities_of_a_perceptron_come_with_a_warning_once(name):
    tagger = fitted(tw.Perceptron(epochs=2))
    with pytest.warns(
        tw.UncalibratedScores, match=r"'perceptron' gives are no probabilities.*calibrate\(X_dev"
    ) as told:
        ASKED[name](tagger)
    assert [warning.filename for warning in told] == [__file__]
    for again in ASKED.values():
        again(tagger)  # any warning is an error


@pytest.mark.parametrize("name", NOT_ASKED)
def test_answers_that_are_no_probabilities_come_without(name):
    NOT_ASKED[name](fitted(tw.Perceptron(epochs=2)))


@pytest.mark.parametrize("learner", [tw.CRF(), tw.MEMM(), tw.ExponentiatedGradient(epochs=3)], ids=str)
def test_learners_of_probabilities_give_them_without_a_word(learner):
    tagger = fitted(learner)
    for asked in ASKED.values():
        asked(tagger)


@pytest.mark.parametrize(
    "learner", [*NO_PROBABILITIES, tw.ExponentiatedGradient(loss="max-margin"), tw.CRF(margin=1.0)]
)
def test_all_other_learners_are_warned_of_also_when_loaded(learner, tmp_path):
    tagger = tw.SequenceLabeler(learner).fit(X[:20], Y[:20])
    tagger.save(tmp_path / "m.tw")
    for model in (tagger, tw.load(tmp_path / "m.tw")):
        with pytest.warns(tw.UncalibratedScores):
            model.predict_marginals(X[:1])


def brute_force_log_loss(tagger, temperature, X, Y):
    """Minus the mean log-probability of gold, by all labellings of every sequence."""
    total = 0.0
    numbers = {label: k for k, label in enumerate(tagger.classes_)}
    for x, y in zip(X, Y, strict=True):
        chain = tagger.chain(x)
        labellings = np.array(list(itertools.product(range(len(numbers)), repeat=len(x))))
        scores = np.array([chain.score(labels) for labels in labellings]) / temperature
        gold = chain.score([numbers[label] for label in y]) / temperature
        total += np.logaddexp.reduce(scores) - gold
    return total / len(X)


@pytest.mark.parametrize("learner", ["perceptron", "pa", "crf"])
def test_the_temperature_has_the_least_loss_by_brute_force(learner):
    rng = np.random.default_rng(2)
    words, labels = ["a", "b", "c"], ["X", "Y"]
    xs = [[words[i] for i in rng.integers(0, 3, rng.integers(1, 5))] for _ in range(60)]
    ys = [[labels[int(rng.random() < 0.2 + 0.3 * words.index(word))] for word in x] for x in xs]
    tagger = tw.SequenceLabeler(learner).fit(xs[:30], ys[:30])
    raw = tw.SequenceLabeler(learner).fit(xs[:30], ys[:30])
    found = tagger.calibrate(xs[30:], ys[30:]).calibration_
    at = [brute_force_log_loss(raw, found.temperature * factor, xs[30:], ys[30:]) for factor in (0.99, 1.0, 1.01)]
    assert at[1] == min(at)
    np.testing.assert_allclose(found.log_loss, at[1])
    np.testing.assert_allclose(found.log_loss_before, brute_force_log_loss(raw, 1.0, xs[30:], ys[30:]))
    np.testing.assert_allclose(-tagger.log_prob(xs[30:], ys[30:]).mean(), at[1])
    assert found.n_sequences == 30


def test_a_crf_that_fits_its_data_has_temperature_one():
    """At the optimum the derivative by the scale is w . gradient = -l2 |w|^2."""
    rng = np.random.default_rng(0)
    xs = [[str(i) for i in rng.integers(0, 3, 4)] for _ in range(100)]
    ys = [["XY"[int(rng.random() < 0.5)] for _ in x] for x in xs]
    tagger = tw.SequenceLabeler(tw.CRF(l2=1e-6, tol=1e-10)).fit(xs, ys)
    np.testing.assert_allclose(tagger.calibrate(xs, ys).calibration_.temperature, 1.0, atol=1e-3)


@pytest.mark.parametrize("learner", ["perceptron", "memm"])
def test_answers_agree_with_each_other_and_predictions_stay(learner, tmp_path):
    tagger = fitted(learner)
    before = tagger.predict(X_DEV)
    tagger.calibrate(X_DEV, Y_DEV)
    temperature = tagger.calibration_.temperature
    assert (temperature > 3.0) == (learner == "perceptron")
    assert tagger.predict(X_DEV) == before
    marginals = tagger.predict_marginals(X_DEV)
    for x, table, best in zip(X_DEV, marginals, tagger.predict_kbest(X_DEV, 1), strict=True):
        np.testing.assert_allclose(table, tagger.chain(x).marginals(), atol=1e-12)
        np.testing.assert_allclose(best[0][1], tagger.log_prob([x], [best[0][0]])[0], atol=1e-9)
    tagger.save(tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw")
    assert again.calibration_ == tagger.calibration_
    np.testing.assert_array_equal(np.concatenate(again.predict_marginals(X_DEV)), np.concatenate(marginals))


def test_calibration_makes_marginals_mean_more_and_may_be_done_again_or_undone_by_training():
    tagger = fitted()
    with pytest.warns(tw.UncalibratedScores):
        raw = tagger.predict_marginals(X_DEV)
    first = tagger.calibrate(X_DEV[:60], Y_DEV[:60]).calibration_
    errors = [tw.evaluation.calibration(found[60:], Y_DEV[60:], tagger.classes_).log_loss
              for found in (raw, tagger.predict_marginals(X_DEV))]  # fmt: skip
    assert errors[1] < errors[0]
    assert tagger.calibrate(X_DEV[:60], Y_DEV[:60]).calibration_ == first
    tagger.fit(X, Y)
    assert tagger.calibration_ is None


def test_data_that_say_nothing_about_the_temperature_are_refused():
    tagger = tw.SequenceLabeler("perceptron").fit([["a", "b"]], [["X", "Y"]])
    with pytest.raises(tw.InvalidInput, match="has not learned from"):
        tagger.calibrate([["a", "b"]], [["X", "Y"]])
    with pytest.raises(tw.InvalidInput, match="needs labelled sequences"):
        tagger.calibrate([], [])
    with pytest.raises(tw.InvalidInput, match="y has 1 label lists"):
        tagger.calibrate([["a"], ["b"]], [["X"]])
