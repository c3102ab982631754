"""`Aligner`: what it learns, answers, saves and refuses."""

import io
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import trelliswork as tw
from trelliswork import learners

WORDS = ["receive", "definitely", "accommodate", "until", "separate", "occurrence", "believe", "weird"]


def examples(n=60, seed=0):
    """Words with errors that come from rules: letters are dropped, doubled, or replaced by certain others."""
    rng = np.random.default_rng(seed)
    replaced = {"e": "a", "i": "e", "a": "e", "c": "s"}
    X, y = [], []
    for _ in range(n):
        word = WORDS[rng.integers(len(WORDS))]
        wrong, pairs = "", []
        for j, letter in enumerate(word):
            luck = rng.random()
            if luck < 0.1:
                continue
            pairs.append((len(wrong), j))
            wrong += replaced.get(letter, letter) if luck < 0.3 else letter
            if luck > 0.93:
                wrong += letter
        X.append((wrong, word))
        y.append(pairs)
    return X, y


X, Y = examples()
X_TEST, Y_TEST = examples(30, 1)


@pytest.fixture(scope="module")
def aligner():
    return tw.Aligner(tw.CRF(l2=0.1)).fit(X, Y)


def test_it_learns_what_stands_for_what(aligner):
    assert aligner.score(X_TEST, Y_TEST) > 0.97
    assert aligner.error_rate(X_TEST, Y_TEST) == pytest.approx(1 - aligner.score(X_TEST, Y_TEST))
    everything = [[(i, j) for i in range(len(a)) for j in range(len(b))] for a, b in X_TEST]
    assert aligner.error_rate(X_TEST, Y_TEST, possible=everything) < aligner.error_rate(X_TEST, Y_TEST)
    assert aligner.score([("", "abc"), ("abc", ""), ("", "")], [[], [], []]) == 1.0


def test_answers_agree_with_those_of_bare_alignments(aligner):
    found = aligner.alignments(X_TEST)
    assert aligner.predict(X_TEST) == [list(map(tuple, one.argmax().pairs.tolist())) for one in found]
    for one, table, highest, best, log_p, gold in zip(
        found,
        aligner.predict_marginals(X_TEST),
        aligner.predict_max_marginals(X_TEST),
        aligner.predict_kbest(X_TEST, 3),
        aligner.log_prob(X_TEST, Y_TEST),
        Y_TEST,
        strict=True,
    ):
        np.testing.assert_allclose(table, one.marginals(), atol=1e-12)
        np.testing.assert_allclose(highest, one.max_marginals(), atol=1e-9)
        assert [pairs for pairs, _ in best] == [list(map(tuple, b.pairs.tolist())) for b in one.kbest(3)]
        np.testing.assert_allclose([p for _, p in best], [one.log_prob(b) for b in one.kbest(3)], atol=1e-9)
        assert log_p == pytest.approx(one.log_prob(gold))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_files_keep_everything(aligner, n_jobs):
    file = io.BytesIO()
    aligner.save(file)
    again = tw.load(file.getvalue())
    again.n_jobs = n_jobs
    assert isinstance(again, tw.Aligner)
    assert again.predict(X_TEST) == aligner.predict(X_TEST)
    np.testing.assert_allclose(again.log_prob(X_TEST, Y_TEST), aligner.log_prob(X_TEST, Y_TEST), rtol=1e-5, atol=1e-5)
    assert pickle.loads(pickle.dumps(aligner)).predict(X_TEST) == aligner.predict(X_TEST)
    assert clone(aligner).get_params()["learner"].l2 == 0.1


def test_weights_have_names(aligner):
    weights = {(w.attribute, w.label): w.weight for w in aligner.weights()}
    assert weights["same", "pair"] > 0 > weights["alone", "deletion"]
    assert aligner.classes_.tolist() == ["pair", "deletion", "insertion"]
    assert aligner.n_weights_ >= len(weights)


@pytest.mark.parametrize("options", [{"affine": True}, {"free_ends": True}, {"hash_bits": 14}, {"min_count": 2}])
def test_options(options):
    fitted = tw.Aligner(tw.CRF(l2=0.1), **options).fit(X, Y)
    assert fitted.score(X_TEST, Y_TEST) > 0.9
    file = io.BytesIO()
    fitted.save(file)
    assert tw.load(file.getvalue()).predict(X_TEST) == fitted.predict(X_TEST)
    if "affine" in options:
        assert {"deletion opens", "insertion opens"} & {w.label for w in fitted.weights()}


@pytest.mark.parametrize("name", learners.names())
def test_every_learner(name):
    learner = learners.by_name(name)
    if "epochs" in learner.get_params():
        learner.set_params(epochs=3)
    if name == "memm":
        with pytest.raises(tw.InvalidInput, match="single decisions"):
            tw.Aligner(learner).fit(X[:20], Y[:20])
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        fitted = tw.Aligner(learner).fit(X[:20], Y[:20])
    assert fitted.score(X_TEST, Y_TEST) > 0.85


def test_development_data_choose_the_weights():
    fitted = tw.Aligner(tw.Perceptron(epochs=5), patience=2).fit(X, Y, X_TEST, Y_TEST)
    assert max(step["dev_score"] for step in fitted.history_) == pytest.approx(fitted.score(X_TEST, Y_TEST))


def test_weights_of_examples_count():
    doubled = tw.Aligner(tw.CRF(l2=0.1)).fit(X[:10] + X[:3], Y[:10] + Y[:3])
    weighted = tw.Aligner(tw.CRF(l2=0.1)).fit(X[:10], Y[:10], sample_weight=[2.0] * 3 + [1.0] * 7)
    np.testing.assert_allclose(doubled.log_prob(X_TEST, Y_TEST), weighted.log_prob(X_TEST, Y_TEST), atol=1e-2)


def same_or_not(source, target):
    return [[["same" if a == b else "other"] for b in target] for a in source]


def test_features_of_ones_own():
    fitted = tw.Aligner(tw.CRF(l2=0.1), same_or_not).fit(X, Y)
    assert fitted.score(X_TEST, Y_TEST) > 0.8
    assert {w.attribute for w in fitted.weights()} <= {"same", "other", "alone", None}
    file = io.BytesIO()
    fitted.save(file)
    assert tw.load(file.getvalue(), features=same_or_not).predict(X_TEST) == fitted.predict(X_TEST)
    with pytest.raises(tw.InvalidInput, match="function as features"):
        tw.load(file.getvalue())

    def as_arrays(source, target):
        same = np.array([[[a == b, a != b] for b in target] for a in source], dtype=float).reshape(
            len(source), len(target), 2
        )
        return same, np.ones((len(source), 1)), np.ones((len(target), 1))

    by_arrays = tw.Aligner(tw.CRF(l2=0.1), as_arrays).fit(X, Y)
    assert by_arrays.score(X_TEST, Y_TEST) > 0.8
    given = [as_arrays(*x) for x in X]
    directly = tw.Aligner(tw.CRF(l2=0.1)).fit(given, Y)
    np.testing.assert_allclose(directly.log_prob(given, Y), by_arrays.log_prob(X, Y))
    pairs_only = [arrays[0] for arrays in given]
    assert tw.Aligner(tw.CRF(l2=0.1)).fit(pairs_only, Y).score(pairs_only, Y) > 0.8


def test_tokens_may_have_attributes():
    coded = [tuple([{"form": c, "vowel": c in "aeiou"} for c in word] for word in x) for x in X]
    fitted = tw.Aligner(tw.CRF(l2=0.1)).fit(coded, Y)
    assert fitted.score(coded, Y) > 0.8
    words = [(["the", "cat", "sat"], ["The", "cat", "has", "sat"]), (["a", "dog"], ["a", "big", "dog"])]
    gold = [[(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2)]]
    assert tw.Aligner(tw.CRF(l2=0.1)).fit(words, gold).predict(words) == gold


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "nothing to learn"),
        ([("a", "b")], [], "y has 0 alignments"),
        (["ab"], [[]], "expected a pair"),
        ([("a", 3)], [[]], r"target of X\[0\]"),
        ([("ab", "ab")], [[(0, 1), (1, 0)]], "cross"),
        ([("ab", "ab")], [[(0, 0), (0, 1)]], "cross"),
        ([("ab", "ab")], [[(0, 2)]], r"y\[0\] has the pair \(0, 2\)"),
        ([("ab", "ab")], [["x"]], "pairs"),
        ([np.zeros((2, 2))], [[]], r"\(n, m, d\)"),
        ([("ab", "ab"), ([3], ["a"])], [[], []], "an item to align"),
    ],
)
def test_bad_data_are_refused(X, y, message):
    with pytest.raises(tw.InvalidInput, match=message):
        tw.Aligner().fit(X, y)


def test_bad_parameters_are_refused():
    for options, message in [
        ({"features": "words"}, "features"),
        ({"affine": 1}, "affine"),
        ({"min_count": 0}, "min_count"),
        ({"combinations": "some"}, "combinations"),
        ({"features": lambda a, b: [[["x"]]]}, "the lengths are|as long as"),
    ]:
        with pytest.raises(tw.InvalidInput, match=message):
            tw.Aligner(**options).fit(X, Y)


def test_it_is_not_fitted_before():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        tw.Aligner().predict(X)


ARRAYS, ARRAY_PAIRS = [np.random.default_rng(k).normal(size=(3, 4, 2)) for k in range(3)], [[(0, 0), (1, 2)]] * 3


def test_arrays_have_as_many_columns_everywhere(tmp_path):
    wider = np.zeros((3, 4, 5))
    with pytest.raises(ValueError, match=r"X\[3\] has 5 numbers of each pair; expected 2"):
        tw.Aligner().fit([*ARRAYS, wider], [*ARRAY_PAIRS, []])
    aligner = tw.Aligner().fit(ARRAYS, ARRAY_PAIRS)
    aligner.save(tmp_path / "model")
    for one in (aligner, tw.load(tmp_path / "model")):
        with pytest.raises(ValueError, match=r"X\[0\] has 5 numbers of each pair; expected 2"):
            one.predict([wider])
        with pytest.raises(ValueError, match=r"X\[0\] has 2 numbers of each pair, 1 of each deletion"):
            one.predict([(ARRAYS[0], np.ones((3, 1)), np.ones((4, 1)))])
        assert one.predict(ARRAYS) == aligner.predict(ARRAYS)


@pytest.mark.parametrize("dtype", [str, complex, object])
def test_arrays_hold_numbers(dtype):
    with pytest.raises(ValueError, match=r"X\[0\] has an array of type .*; expected numbers"):
        tw.Aligner().fit([x.astype(dtype) for x in ARRAYS], ARRAY_PAIRS)


def test_numbers_of_numpy_in_dicts_are_numbers():
    weights = []
    for number in (float, np.float32):
        item = {"v": number(0.5)}
        weights.append(tw.Aligner().fit([([item], [item])], [[(0, 0)]]).weights())
    assert weights[0] == weights[1]


@pytest.mark.parametrize("returned", [None, 5, "ab"])
def test_functions_that_return_no_lists_are_refused(returned):
    with pytest.raises(ValueError, match=r"features of X\[0\] returned .*expected lists of attributes"):
        tw.Aligner(features=lambda source, target: returned).fit([("ab", "b")], [[]])


def test_what_is_no_list_is_refused():
    aligner = tw.Aligner().fit([("ab", "b")], [[(1, 0)]])
    with pytest.raises(ValueError, match="X is None"):
        tw.Aligner().fit(None, [[]])
    with pytest.raises(ValueError, match="possible is 5"):
        aligner.error_rate([("ab", "b")], [[(1, 0)]], 5)
    with pytest.raises(ValueError, match=r"possible\[0\] has the pair \(9, 9\)"):
        aligner.error_rate([("ab", "b")], [[(1, 0)]], [[(9, 9)]])
