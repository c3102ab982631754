"""`SequenceLabeler(order=2)` and higher: every answer is that of enumeration, and every learner trains it."""

import io
import pickle
import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference.orders import check_answers, every_labelling
from trelliswork import learners, models
from trelliswork.features.inputs import inputs_of
from trelliswork.labels.constraints import constraints_of
from trelliswork.labels.encoded import encoded
from trelliswork.training.automaton_examples import AutomatonExamples

TEMPLATES = tw.Templates("word[-1..1]\npair: word\nngram: word\nngram: bias")


def corpus(seed=0, n=12, labels="ABC", longest=5):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n)
    X = [[str(w) for w in rng.choice(list("xyz"), T)] for T in lengths]
    return X, [[str(label) for label in rng.choice(list(labels), T)] for T in lengths]


def fitted(order, features="words", learner=None, histories="seen", X=None, y=None, **options):
    if X is None:
        X, y = corpus()
    learner = tw.CRF(l2=0.1, max_iter=15) if learner is None else learner
    labeler = tw.SequenceLabeler(learner, features, order=order, histories=histories, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return labeler.fit(X, y)


def enumerated(labeler, x, features=None, **options):
    features = tw.Templates.words() if features is None else features
    names = features.attributes([x])[0]
    pairs = features.attributes([x], pair=True)[0]
    ngrams = [[f"word[0]={word}", "bias"] for word in x] if features is TEMPLATES else None
    return list(every_labelling(labeler, names, pairs, ngrams, **options))


@pytest.mark.parametrize("histories", ["seen", "all"])
@pytest.mark.parametrize("features", ["words", TEMPLATES], ids=["words", "ngram templates"])
@pytest.mark.parametrize("order", [2, 3])
def test_answers_are_those_of_enumeration(order, features, histories):
    labeler = fitted(order, features, histories=histories)
    for x in (["x"], ["y", "z"], ["x", "q", "y"], ["z", "x", "x", "y", "z"]):
        listed = enumerated(labeler, x, None if features == "words" else features)
        check_answers(labeler, x, listed)
        total = np.logaddexp.reduce([score for _, score in listed])
        for labels, score in listed[:: max(1, len(listed) // 5)]:
            np.testing.assert_allclose(labeler.log_prob([x], [list(labels)]), [score - total], rtol=1e-6, atol=1e-9)
            chosen = labeler.explain(x)
            if list(labels) == chosen.labels:
                assert sum(chosen.score(t) for t in range(len(x))) == pytest.approx(score)
    assert labeler.predict([[]]) == [[]]


def test_closed_histories_allow_the_ngrams_of_the_data_alone():
    X, y = corpus(n=6)
    labeler = fitted(2, X=X, y=y, histories="closed")
    triples = {tuple(own[t - 2 : t + 1]) for own in y for t in range(2, len(own))}
    continued = {triple[:2] for triple in triples}  # what was only seen at an end goes on as what it ends with does
    n_possible = 0
    for labels, _ in enumerated(labeler, ["x", "y", "z"]):
        possible = np.isfinite(labeler.log_prob([["x", "y", "z"]], [list(labels)])[0])
        n_possible += possible
        assert not possible or labels in triples or labels[:2] not in continued
    assert 0 < n_possible < 27


def test_limits_and_bias_are_heard():
    labeler = fitted(2)
    x = ["x", "y", "z", "x"]
    listed = enumerated(labeler, x)
    limited = [
        (labels, score + 0.5 * labels.count("B") if labels[1] == "C" and labels[2] in "AB" else -np.inf)
        for labels, score in listed
    ]
    check_answers(labeler, x, limited, allowed=[[None, None, {"A", "B"}, None]], fixed=[{1: "C"}], bias={"B": 0.5})


@pytest.mark.parametrize("histories", ["seen", "all"])
def test_constraints_hold_in_training_and_in_every_answer(histories):
    X, _ = corpus()
    y = [["B-X", *["I-X"] * (len(x) - 1)] if len(x) % 2 else ["O"] * len(x) for x in X]
    labeler = fitted(2, X=X, y=y, constraints="BIO", histories=histories)
    rules = constraints_of("BIO", list(labeler.classes_))
    for x in (["x", "y", "z"], ["q", "x", "x", "y"]):
        check_answers(labeler, x, enumerated(labeler, x, constraints=rules))
    assert labeler.log_prob([["x", "y"]], [["O", "I-X"]]).tolist() == [-np.inf]
    for span in labeler.predict_spans([["x", "y", "z"]])[0]:
        listed = enumerated(labeler, ["x", "y", "z"], constraints=rules)
        total = np.logaddexp.reduce([score for _, score in listed])
        wanted = ["B-X", *["I-X"] * (span.stop - span.start - 1)]
        same = [
            score
            for labels, score in listed
            if list(labels[span.start : span.stop]) == wanted and labels[span.stop : span.stop + 1] != ("I-X",)
        ]
        assert span.probability == pytest.approx(np.exp(np.logaddexp.reduce(same) - total))


@pytest.mark.parametrize("name", learners.names())
@pytest.mark.parametrize("order", [2, 3])
def test_every_learner_trains_it_and_answers_by_its_weights(name, order):
    X, y = corpus(1, n=8, longest=4)
    labeler = fitted(order, TEMPLATES, learners.by_name(name), X=X, y=y)
    x = ["x", "z", "y"]
    if name == "memm":
        assert labeler.predict_marginals([x])[0].sum() == pytest.approx(3.0)
        return
    listed = enumerated(labeler, x, TEMPLATES)
    best = max(score for _, score in listed)
    found = dict(listed)[tuple(labeler.predict([x])[0])]
    assert found == pytest.approx(best, rel=1e-5, abs=1e-5)


def test_a_memm_normalises_every_decision():
    features = tw.Templates("word")  # of the token alone, so that a prefix has the same scores
    labeler = fitted(2, features, learner=tw.MEMM(l2=0.1))
    x = ["x", "y", "z"]
    scores = [dict(enumerated(labeler, x[:t], features)) for t in range(1, 4)]
    for labels in scores[-1]:
        expected = 0.0
        for t in range(3):
            ways = [scores[t][(*labels[:t], k)] for k in labeler.classes_]
            expected += scores[t][labels[: t + 1]] - np.logaddexp.reduce(ways)
        np.testing.assert_allclose(labeler.log_prob([x], [list(labels)]), [expected], rtol=1e-6)


def test_what_depends_on_two_labels_before_needs_order_2():
    rng = np.random.default_rng(0)
    y = []
    for _ in range(60):
        labels = [str(k) for k in rng.integers(0, 2, 2)]
        for _ in range(8):
            labels.append(labels[-2])
        y.append(labels)
    X = [[labels[0], labels[1], *["?"] * 8] for labels in y]
    features = tw.Templates("word")
    first, second = (fitted(order, features, tw.CRF(l2=0.01), X=X, y=y).score(X, y) for order in (1, 2))
    assert first < 0.8
    assert second == 1.0


def test_order_1_through_parts_is_the_chain():
    X, y = corpus(3)
    labeler = tw.SequenceLabeler(tw.CRF(l2=0.1))
    inputs, _ = inputs_of(X, "words")
    examples = AutomatonExamples(labeler, inputs, X, encoded(y))
    chain = labeler.fit(X, y)
    problem = examples.problem(None, None, lambda weights: None)
    trained = tw.CRF(l2=0.1).train(problem.oracle, n_jobs=1, seed=0, on_iteration=lambda iteration: False)
    assert trained.objective == pytest.approx(chain.history_[-1]["objective"], rel=1e-4)


def test_partial_labels_are_summed_over():
    X, y = corpus(4)
    hidden = [
        [None if t % 3 == 1 else {"A", label} if t % 3 == 2 else label for t, label in enumerate(own)] for own in y
    ]
    labeler = fitted(2, X=X, y=hidden)
    x, known = ["x", "y", "z"], [None, {"A", "B"}, "C"]
    listed = enumerated(labeler, x)
    agree = [score for labels, score in listed if labels[1] in "AB" and labels[2] == "C"]
    expected = np.logaddexp.reduce(agree) - np.logaddexp.reduce([score for _, score in listed])
    np.testing.assert_allclose(labeler.log_prob([x], [known]), [expected], rtol=1e-6)


def test_files_copies_and_smaller_models_answer_the_same(tmp_path):
    labeler = fitted(3, TEMPLATES)
    X, _ = corpus(7)
    labeler.save(tmp_path / "model.tw")
    for again in (tw.load(tmp_path / "model.tw"), pickle.loads(pickle.dumps(labeler))):
        assert again.get_params()["order"] == 3
        for mine, other in zip(labeler.predict_marginals(X), again.predict_marginals(X), strict=True):
            np.testing.assert_array_equal(mine, other)
    small = io.BytesIO()
    labeler.save(small, precision="int8", prune=1e-4)
    assert (
        np.mean([a == b for a, b in zip(tw.load(small.getvalue()).predict(X), labeler.predict(X), strict=True)]) > 0.5
    )
    tensors, settings = labeler.exported()
    assert settings["channels"]["ngram"] == {"block": "arcs", "sites": "each"}
    assert {"channel.2-gram.weights", "channel.4-gram.weights", "structure.arcs"} <= set(tensors)
    with pytest.raises(ValueError, match="the model has no channel of attributes span"):
        labeler._model.core.name(0, "span")


def test_an_unsound_file_is_refused():
    tensors, settings = fitted(2).exported()
    for name in [name for name in tensors if name.startswith(("structure.", "channel.2-gram"))]:
        for broken in (None, np.zeros(5, dtype=np.asarray(tensors[name]).dtype)):
            parts = {key: part for key, part in tensors.items() if key != name}
            if broken is not None:
                parts[name] = broken
            with pytest.raises(models.InvalidModel):
                tw.load(models.dumps(parts, settings))


def test_threads_change_no_bit():
    X, y = corpus(5, n=40)
    one, two = (fitted(2, TEMPLATES, X=X, y=y, n_jobs=n) for n in (1, 2))
    for mine, other in zip(one.predict_marginals(X), two.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(mine, other)
    assert one.weights() == two.weights()


def test_the_weights_of_the_best_iteration_on_development_data_are_kept():
    X, y = corpus(6, n=20)
    labeler = tw.SequenceLabeler(tw.Perceptron(epochs=4), order=2).fit(X, y, X[:5], y[:5])
    assert max(record["dev_score"] for record in labeler.history_) == labeler.score(X[:5], y[:5])


@pytest.mark.parametrize("learner", [tw.CRF(max_iter=5), tw.Perceptron(epochs=2)], ids=["seen", "grown"])
def test_a_warm_start_has_the_weights_that_there_were(learner):
    X, y = corpus(6, n=20)
    labeler = fitted(2, TEMPLATES, learner, X=X, y=y)
    inputs, _ = inputs_of(X, TEMPLATES, ("label", "pair", "ngram"))
    more = [*X, ["x", "x"]], encoded([*y, ["AA", "A"]])  # another label: the codes of all n-grams change
    examples = AutomatonExamples(labeler, inputs, *more, earlier=labeler._model)
    start = examples.problem(None, None, lambda weights: None).first_weights
    model = examples._model_of(start, labeler._model.settings | {"labels": examples.classes})
    assert [weight for weight in model.weights() if weight.weight] == [w for w in labeler.weights() if w.weight]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "order must be at least 1"),
        ({"order": 2, "histories": "some"}, "histories is 'some'; expected one of 'seen', 'closed', 'all'"),
        ({"order": 2, "combinations": "transitions"}, "is for order=1"),
        ({"order": 40, "histories": "all"}, "lower the order"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    X, y = corpus()
    with pytest.raises(tw.InvalidInput, match=message):
        tw.SequenceLabeler(**options).fit(X, y)


def test_an_order_beyond_memory_says_how_much_it_would_take():
    labels = [[f"L{i:02d}"] for i in range(60)]
    with pytest.raises(tw.InvalidInput, match=r"order 4 with 60 labels makes .* about .* GB"):
        tw.SequenceLabeler(order=4, histories="all").fit([["x"]] * 60, labels)


def test_what_only_chains_of_order_1_have_says_so():
    labeler = fitted(2)
    with pytest.raises(tw.InvalidInput, match="a Chain is of order 1, and this model of order 2"):
        labeler.chain(["x"])
    with pytest.raises(tw.InvalidInput, match="partial_fit is for order=1"):
        labeler.partial_fit(*corpus())
    with pytest.raises(tw.InvalidInput, match="warm_start goes on from a model of the same order"):
        labeler.set_params(order=3, warm_start=True).fit(*corpus())
    with pytest.raises(tw.InvalidInput, match="ngram"):
        fitted(1, TEMPLATES)
