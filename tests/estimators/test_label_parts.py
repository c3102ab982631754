"""Labels that share the weights of their parts, against features written out by hand, by every learner."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize

import trelliswork as tw
from trelliswork import learners, models
from trelliswork.errors import InvalidInput

LABELS = ("a-x", "a-y", "b-x", "c")
PARTS = {"a-x": ("a", "x"), "a-y": ("a",), "b-x": ("x",), "c": ()}  # y, b and c are parts of one label only


def corpus(n=25, seed=0, longest=3):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for length in rng.integers(1, longest + 1, n):
        labels = rng.choice(LABELS, length, p=[0.4, 0.3, 0.1, 0.2])
        X.append([[f"w={label[rng.integers(0, len(label))]}", f"n={rng.integers(0, 3)}"] for label in labels])
        y.append(labels.tolist())
    return X, y


def features(x, labels):
    """Return how often each feature occurs: of attributes and of transitions, with labels and with parts."""
    found = Counter()
    for attributes, label in zip(x, labels, strict=True):
        for attribute in attributes:
            found.update([(attribute, label), *((attribute, "part", part) for part in PARTS[label])])
    for before, label in itertools.pairwise(labels):
        found.update([("after", before, label)])
        found.update(("part after", p, q) for p in PARTS[before] for q in PARTS[label])
    return found


def every_labelling(x):
    return list(itertools.product(LABELS, repeat=len(x)))


def score(weights, x, labels):
    return sum(weights.get(feature, 0.0) * n for feature, n in features(x, labels).items())


def best_by_hand(weights, x):
    """Return the best labelling; of equally good ones, that which is smallest read from its end."""
    return max(every_labelling(x), key=lambda y: (score(weights, x, y), [-LABELS.index(label) for label in y[::-1]]))


def perceptron_by_hand(X, y, epochs):
    weights = Counter()
    for _ in range(epochs):
        for x, gold in zip(X, y, strict=True):
            guess = best_by_hand(weights, x)
            if list(guess) != gold:
                weights.update(features(x, gold))
                weights.subtract(features(x, guess))
    return weights


def test_a_perceptron_learns_what_it_learns_from_features_written_out():
    X, y = corpus()
    labeler = tw.SequenceLabeler(tw.Perceptron(4, averaged=False, shuffle=False), label_parts="-").fit(X, y)
    weights = perceptron_by_hand(X, y, 4)
    assert any(weights[feature] for feature in weights if "part" in feature)
    found = {(w.attribute, *w.label.split()): w.weight for w in labeler.weights() if w.attribute is not None}
    assert found == {feature: n for feature, n in weights.items() if n and "after" not in feature[0]}
    moves = [[score(weights, [[], []], (a, b)) for b in LABELS] for a in LABELS]
    np.testing.assert_array_equal(labeler.transitions_, moves)
    assert labeler.predict(X) == [list(best_by_hand(weights, x)) for x in X]
    for x in X:
        best = labeler.chain(x).argmax()
        assert best.score == score(weights, x, best_by_hand(weights, x))


@pytest.mark.parametrize("combinations", ["seen", "all"])
def test_a_crf_comes_to_the_optimum_over_features_written_out(combinations):
    X, y = corpus()
    labeler = tw.SequenceLabeler(tw.CRF(l2=0.3, tol=1e-9), label_parts="-", combinations=combinations).fit(X, y)
    of_gold = sum((features(x, gold) for x, gold in zip(X, y, strict=True)), Counter())
    of_all = sum((features(x, labels) for x in X for labels in every_labelling(x)), Counter())
    names = sorted(of_gold if combinations == "seen" else of_all)
    number = {name: i for i, name in enumerate(names)}

    def vector(counts):
        out = np.zeros(len(names))
        for name, n in counts.items():
            if name in number:
                out[number[name]] = n
        return out

    rows = [np.array([vector(features(x, labels)) for labels in every_labelling(x)]) for x in X]
    gold = vector(of_gold)

    def objective(w):
        value, gradient = 0.15 * w @ w - gold @ w, 0.3 * w - gold
        for table in rows:
            scores = table @ w
            total = np.logaddexp.reduce(scores)
            value, gradient = value + total, gradient + np.exp(scores - total) @ table
        return value, gradient

    best = minimize(objective, np.zeros(len(names)), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-8})
    assert labeler.history_[-1]["objective"] == pytest.approx(best.fun, rel=1e-7)
    found = {(w.attribute, *w.label.split()): w.weight for w in labeler.weights() if w.attribute is not None}
    for name, weight in zip(names, best.x, strict=True):
        if "after" not in name[0]:
            assert found.get(name, 0.0) == pytest.approx(weight, abs=2e-3)
    for x, table in zip(X, rows, strict=True):
        (probability,) = np.exp(labeler.log_prob([x], [labeler.predict([x])[0]]))
        scores = table @ best.x
        assert probability == pytest.approx(np.exp(scores.max() - np.logaddexp.reduce(scores)), abs=1e-3)


@pytest.mark.filterwarnings("ignore::trelliswork.ConvergenceWarning")
@pytest.mark.parametrize("learner", sorted(learners.names()))
def test_every_learner_learns_with_parts_and_scores_are_sums_of_weights(learner):
    X, y = corpus(40)
    labeler = tw.SequenceLabeler(learner, label_parts="-", random_state=0).fit(X, y)
    weights = {(w.attribute, *w.label.split()): w.weight for w in labeler.weights() if w.attribute is not None}
    assert any("part" in name for name in weights)
    for x in X[:8]:
        expected = [
            [sum(weights.get(name, 0.0) for name in features([token], (label,))) for label in LABELS] for token in x
        ]
        scores = np.asarray(labeler._model.core.scores(next(iter(labeler._model.inputs.sources([x]))), 1)[0])
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)
    right = sum(a == b for own, gold in zip(labeler.predict(X), y, strict=True) for a, b in zip(own, gold, strict=True))
    assert right > 0.6 * sum(map(len, y))


def test_a_label_that_was_rarely_seen_learns_from_the_others_that_have_its_parts():
    X = [[["wet"], ["dog"]], [["dry"], ["cat"]], [["wet"], ["cat"]], [["new"], ["cow"]], [["DOG"]]]
    y = [["A", "N"], ["A", "N"], ["A", "N"], ["A", "N"], ["N-TL"]]
    x = [["cow", "DOG"]]
    parted = tw.SequenceLabeler(tw.CRF(l2=0.1), label_parts="-").fit(X, y).predict_marginals([x])[0][0]
    plain = tw.SequenceLabeler(tw.CRF(l2=0.1)).fit(X, y).predict_marginals([x])[0][0]
    assert parted[2] > plain[2]  # N-TL has what speaks for N


@pytest.mark.parametrize(
    "given",
    [
        "-",
        {"a-x": ["a", "x"], "a-y": ["y", "a"], "b-x": ("x", "b"), "c": []},
        lambda label: label.split("-"),
    ],
)
def test_parts_may_be_said_in_three_ways(given):
    X, y = corpus()
    labeler = tw.SequenceLabeler("perceptron", label_parts=given).fit(X, y)
    assert labeler.predict(X) == tw.SequenceLabeler("perceptron", label_parts="-").fit(X, y).predict(X)


@pytest.mark.parametrize("learner", ["crf", "perceptron", "memm"])
def test_parts_are_in_the_file(tmp_path, learner):
    X, y = corpus()
    assert not any(pair == ("b-x", "b-x") for labels in y for pair in itertools.pairwise(labels))
    labeler = tw.SequenceLabeler(learner, label_parts="-", constraints=lambda a, b: (a, b) != ("b-x", "b-x")).fit(X, y)
    labeler.save(tmp_path / "model.tw")
    loaded = tw.load(tmp_path / "model.tw")
    assert loaded.label_parts == {"a-x": ["a", "x"], "a-y": ["a", "y"], "b-x": ["b", "x"], "c": ["c"]}
    assert loaded.predict(X) == labeler.predict(X)
    assert loaded.weights() == labeler.weights()
    np.testing.assert_array_equal(loaded.predict_max_marginals(X[:1])[0], labeler.predict_max_marginals(X[:1])[0])
    assert loaded.fit(X, y).predict(X) == labeler.predict(X)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_models_of_words_and_many_tokens_score_alike(n_jobs):
    data = tw.corpora.ingredients()
    labeler = tw.SequenceLabeler("perceptron", label_parts="-", n_jobs=n_jobs).fit(
        data.X_train[:200], data.y_train[:200]
    )
    few = [labeler.predict([x])[0] for x in data.X_test[:20]]
    many = labeler.predict(data.X_train + data.X_test)  # rows of weights are laid out for speed meanwhile
    assert many[len(data.X_train) :][:20] == few
    assert labeler.predict(data.X_test[:20]) == few


@pytest.mark.parametrize("learner", ["crf", "pa"])
@pytest.mark.parametrize("hash_bits", [None, 10])
def test_the_weights_are_the_same_for_any_number_of_threads(learner, hash_bits):
    data = tw.corpora.ingredients()
    X, y = data.X_train[:150], data.y_train[:150]
    made = [
        tw.SequenceLabeler(learner, label_parts="-", hash_bits=hash_bits, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    ]
    assert {name: bytes(part) for name, part in made[0]._model.tensors.items()} == {
        name: bytes(part) for name, part in made[1]._model.tensors.items()
    }
    assert made[0].score(X, y) > 0.9


def test_explanations_name_the_part():
    X, y = corpus()
    labeler = tw.SequenceLabeler(tw.CRF(), label_parts="-").fit(X, y)
    x = X[3]
    why = labeler.explain(x)
    assert {c.part for t in range(len(x)) for c in why.contributions(t, "a-x")} >= {None, "a", "x"}
    total = sum(why.score(t) for t in range(len(x)))
    assert total == pytest.approx(labeler.chain(x).argmax().score, abs=1e-5)
    assert "a-x: x" in "".join(map(str, why.contributions(0, "a-x")))


def test_development_data_a_beam_and_labels_known_in_part():
    X, y = corpus(60)
    scores = []
    labeler = tw.SequenceLabeler(tw.Perceptron(3, averaged=False), label_parts="-", beam=1, scoring="accuracy")
    labeler.fit(X[20:], y[20:], X[:20], y[:20], callback=lambda progress: scores.append(progress.dev_score))
    assert labeler.score(X[:20], y[:20]) == pytest.approx(max(scores), abs=1e-12)
    partly = [[None, *labels[1:]] for labels in y]
    assert tw.SequenceLabeler(label_parts="-").fit(X, partly).score(X, y) > 0.5


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"label_parts": ""}, "what stands between"),
        ({"label_parts": 3}, "what stands between"),
        ({"label_parts": "+"}, "no two labels have a part in common"),
        ({"label_parts": {"c": ["c"]}}, "does not say which parts the label 'a-x' has"),
        ({"label_parts": lambda label: label}, "expected a list of parts"),
        ({"label_parts": lambda label: [1]}, "a part is a string"),
        ({"order": 2}, "chains of order 1"),
        ({"tag_dictionary": 0.1, "learner": "perceptron"}, "tag_dictionary do not go together"),
        ({"memory": "8GB"}, "memory do not go together"),
        ({"warm_start": True}, "warm_start=True do not go together"),
        ({"combinations": "transitions"}, "no meaning with label_parts"),
    ],
)
def test_what_makes_no_sense_is_refused(more, told):
    with pytest.raises(InvalidInput, match=told):
        tw.SequenceLabeler(**{"label_parts": "-", **more}).fit(*corpus())


def test_going_on_pairs_of_labels_and_other_programs_are_refused(tmp_path):
    X, y = corpus()
    labeler = tw.SequenceLabeler(label_parts="-").fit(X, y)
    with pytest.raises(InvalidInput, match="partial_fit does not know label_parts"):
        labeler.partial_fit(X, y)
    words = [[token[0] for token in x] for x in X]
    with pytest.raises(InvalidInput, match="pairs of them"):
        tw.SequenceLabeler(features=tw.Templates.parse("pair: word[0]"), label_parts="-").fit(words, y)
    tensors, settings = labeler.exported()
    with pytest.raises(InvalidInput, match="labels that share parts"):
        models.to_crfsuite(tensors, settings, "model")


@pytest.mark.parametrize(
    ("name", "values"),
    [("parts.offsets", [0, 9, 3, 1, 0]), ("parts.codes", [0, 1, 2, 3]), ("parts.codes", [2**31] * 4)],
)
def test_a_file_whose_parts_make_no_sense_is_refused(name, values):
    model = tw.SequenceLabeler(label_parts="-").fit(*corpus())._model
    with pytest.raises(ValueError, match="name the parts"):
        type(model)(model.tensors, model.settings | {"parts": ["x"]})
    part = np.asarray(model.tensors[name])
    tensors = model.tensors | {name: np.resize(np.array(values, dtype=part.dtype), len(part))}
    with pytest.raises(ValueError, match=r"parts\."):
        type(model)(tensors, model.settings)
