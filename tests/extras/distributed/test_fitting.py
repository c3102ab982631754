"""Shards in one process: the model of all examples, whatever they are cut into."""

import itertools

import numpy as np
import pytest

import trelliswork as tw
from shard_corpora import cut, recipes, same_model
from trelliswork import distributed
from trelliswork.distributed.fitting import _lay_out
from trelliswork.distributed.groups import Alone

EXACT = {"solver": "lbfgs", "tol": 1e-10}


def objective(labeler):
    return labeler.history_[-1]["objective"]


def weights_of(labeler):
    return {weight[:3]: weight.weight for weight in labeler.weights()}


def pooled(labeler, X, y, n):
    return _lay_out(labeler, cut(X, y, n), n, Alone()).pooled


@pytest.fixture(scope="module")
def data():
    return recipes()


def loss_and_gradient(own, weights, nu):
    gradient = np.full(len(weights), 7.0)  # is overwritten
    return own.pool.loss(weights, gradient, nu, True), gradient


def curvature(own, weights):
    diagonal = np.full(len(weights), 7.0)
    own.pool.curvature(weights, diagonal, 0.0)
    return diagonal


def attributes(X):
    """Attributes with values, some of them in every token."""
    return [[{"word": word, "bias": 1.0, "length": 0.1 * len(word), "last": word[-1:]} for word in x] for x in X]


def numbers(X):
    return [np.array([[len(word), word.isdigit(), "a" in word] for word in x], dtype=float) for x in X]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_count": 3},
        {"hash_bits": 9},
        {"combinations": "all"},
        {"combinations": "transitions"},
        {"constraints": lambda a, b: (a, b) != ("O", "B-QTY")},
        {"features": tw.Templates.parse("U:%x[0,0]\nB1:%x[0,0]\nB\n")},
        {"learner": tw.CRF(margin=1.0, **EXACT)},
        {"n_jobs": 2},
    ],
    ids=lambda options: ", ".join(options) or "plain",
)
@pytest.mark.parametrize("n_shards", [1, 3])
def test_the_optimum_is_that_of_all_examples(data, options, n_shards):
    X, y = data
    options = {"learner": tw.CRF(**EXACT), **options}
    if "constraints" in options:
        kept = [i for i, labels in enumerate(y) if ("O", "B-QTY") not in itertools.pairwise(labels)]
        X, y = [X[i] for i in kept], [y[i] for i in kept]
    whole = tw.SequenceLabeler(**options).fit(X, y)
    shards = distributed.fit(tw.SequenceLabeler(**options), cut(X, y, n_shards), n_shards)
    np.testing.assert_allclose(objective(shards), objective(whole), rtol=1e-9)
    assert shards.n_weights_ == whole.n_weights_
    assert shards.n_attributes_ == whole.n_attributes_
    found, wanted = weights_of(shards), weights_of(whole)
    assert set(found) == set(wanted)
    np.testing.assert_allclose([found[name] for name in wanted], list(wanted.values()), atol=1e-3)


@pytest.mark.parametrize("made", [attributes, numbers])
def test_attributes_with_values_and_rows_of_numbers(data, made):
    X, y = made(data[0]), data[1]
    whole = tw.SequenceLabeler(tw.CRF(**EXACT)).fit(X, y)
    shards = distributed.fit(tw.SequenceLabeler(tw.CRF(**EXACT)), cut(X, y, 3), 3)
    np.testing.assert_allclose(objective(shards), objective(whole), rtol=1e-9)
    assert shards.predict(X) == whole.predict(X)


def test_labels_that_are_known_in_part(data):
    X, y = data
    y = [[None if t % 5 == 4 else label for t, label in enumerate(labels)] for labels in y]
    at = np.random.default_rng(0).normal(size=5) * 0.1
    one, three = (pooled(tw.SequenceLabeler(), X, y, n) for n in (1, 3))
    weights = np.resize(at, one.oracle.n_weights)
    (a, slope), (b, other) = (loss_and_gradient(own, weights, 0.0) for own in (one, three))
    np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(slope, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_shards", [2, 5])
def test_sums_are_those_of_one_shard_and_gradients_those_of_the_loss(data, n_shards):
    X, y = data
    one, some = (pooled(tw.SequenceLabeler(), X, y, n) for n in (1, n_shards))
    rng = np.random.default_rng(1)
    weights, way = (0.3 * rng.normal(size=one.oracle.n_weights) for _ in range(2))
    (a, slope), (b, other) = (loss_and_gradient(own, weights, 0.5) for own in (one, some))
    np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(slope, other, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(curvature(one, weights), curvature(some, weights), rtol=1e-4, atol=1e-4)
    ahead, behind = (loss_and_gradient(some, weights + sign * 1e-6 * way, 0.5)[0] for sign in (1, -1))
    np.testing.assert_allclose((ahead - behind) / 2e-6, other @ way, rtol=1e-6)


def test_merged_attributes_are_one_weight(data):
    X, y = attributes(data[0]), data[1]
    plan = pooled(tw.SequenceLabeler(), X, y, 3)._plan
    assert plan.n_weights < plan.n_parameters
    assert plan.members.max() > 1


@pytest.mark.parametrize("learner", [tw.CRF(), tw.CRF(l1=0.2, l2=0.5), tw.Perceptron(epochs=4)])
def test_threads_change_no_bit(data, learner):
    X, y = data
    one, two = (distributed.fit(tw.SequenceLabeler(learner, n_jobs=n), cut(X, y, 3), 3) for n in (1, 2))
    assert same_model(one, two)


def test_development_data_choose_the_iteration(data):
    X, y = data
    labeler = tw.SequenceLabeler(tw.CRF(), patience=3)
    distributed.fit(labeler, cut(X[:160], y[:160], 2), 2, X[160:], y[160:])
    scores = [record["dev_score"] for record in labeler.history_]
    assert labeler.best_iteration_ == 1 + int(np.argmax(scores))
    np.testing.assert_allclose(labeler.score(X[160:], y[160:]), max(scores))


@pytest.mark.parametrize(
    ("learner", "at"),
    [
        (tw.CRF(), 2),  # among the stochastic passes
        (tw.CRF(), 5),
        (tw.CRF(), 9),
        (tw.CRF(solver="lbfgs"), 4),
        (tw.Perceptron(epochs=6), 3),
        (tw.PassiveAggressive(epochs=6), 3),
    ],
)
def test_a_run_that_was_cut_ends_with_the_same_bits(data, learner, at):
    X, y = data
    whole = distributed.fit(tw.SequenceLabeler(learner), cut(X, y, 3), 3)
    states = []

    def stop(progress):
        states.append(progress.state())
        return progress.number == at

    distributed.fit(tw.SequenceLabeler(learner), cut(X, y, 3), 3, callback=stop)
    resumed = distributed.fit(tw.SequenceLabeler(learner), cut(X, y, 3), 3, resume=states[-1])
    assert same_model(whole, resumed)
    assert resumed.n_iter_ == whole.n_iter_
    with pytest.raises(tw.InvalidInput, match="shards was 3"):
        distributed.fit(tw.SequenceLabeler(learner), cut(X, y, 2), 2, resume=states[-1])
    with pytest.raises(tw.InvalidInput, match="other training data"):
        distributed.fit(tw.SequenceLabeler(learner), cut(X[:-1], y[:-1], 3), 3, resume=states[-1])


@pytest.mark.parametrize("learner", [tw.CRF(), tw.Perceptron()])
def test_a_state_of_other_parameters_is_refused(data, learner):
    X, y = data
    states = []
    distributed.fit(
        tw.SequenceLabeler(learner), cut(X, y, 2), 2, callback=lambda progress: states.append(progress.state()) or True
    )
    with pytest.raises(tw.InvalidInput, match="state is not of a run with these parameters"):
        distributed.fit(tw.SequenceLabeler(learner, random_state=1), cut(X, y, 2), 2, resume=states[-1])


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.PassiveAggressive])
@pytest.mark.parametrize("averaged", [True, False])
def test_one_shard_in_order_is_the_learner_itself(data, learner, averaged):
    X, y = data
    learner = learner(epochs=4, shuffle=False, averaged=averaged)
    whole = tw.SequenceLabeler(learner).fit(X, y)
    shard = distributed.fit(tw.SequenceLabeler(learner), cut(X, y, 1), 1)
    found, wanted = weights_of(shard), weights_of(whole)
    assert set(found) == set(wanted)
    np.testing.assert_allclose([found[name] for name in wanted], list(wanted.values()), rtol=1e-5, atol=1e-6)


def test_equal_shards_move_alike(data):
    X, y = data
    learner = tw.Perceptron(epochs=3, shuffle=False)
    one = distributed.fit(tw.SequenceLabeler(learner), lambda i: (X, y), 1)
    two = distributed.fit(tw.SequenceLabeler(learner), lambda i: (X, y), 2)
    for a, b in zip(one.exported()[0].values(), two.exported()[0].values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_what_one_of_two_shards_has_moves_half_way():
    """By hand: the first label wins where all scores are 0, so that only the shard of "b" makes an update, of one."""
    X, y = [[["a"]], [["b"]]], [["N"], ["V"]]
    learner = tw.Perceptron(epochs=1, averaged=False)
    labeler = distributed.fit(tw.SequenceLabeler(learner), cut(X, y, 2), 2)
    assert {(w.attribute, w.label): w.weight for w in labeler.weights()} == {("b", "V"): 0.5, ("b", "N"): -0.5}


def test_a_separable_corpus_is_learned_to_the_end():
    X = [[["the"], ["dog"]], [["a"], ["cat"]], [["the"], ["cat"]], [["a"], ["dog"]]]
    labeler = tw.SequenceLabeler(tw.Perceptron(epochs=50))
    distributed.fit(labeler, cut(X, [["D", "N"]] * 4, 2), 2)
    assert labeler.converged_
    assert "a whole pass changed nothing" in labeler.message_
    assert labeler.predict(X) == [["D", "N"]] * 4


def test_too_few_iterations_are_said(data):
    X, y = data
    labeler = tw.SequenceLabeler(tw.CRF(max_iter=3))
    with pytest.warns(tw.ConvergenceWarning, match="max_iter=3"):
        distributed.fit(labeler, cut(X, y, 2), 2)
    assert labeler.n_iter_ == 3
    assert not labeler.converged_
    labeler = tw.SequenceLabeler(tw.CRF(max_iter=8))
    with pytest.warns(tw.ConvergenceWarning):
        distributed.fit(labeler, cut(X, y, 2), 2)
    assert labeler.n_iter_ == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "arow"}, "cannot be trained on shards"),
        ({"learner": "memm"}, "cannot be trained on shards"),
        ({"learner": tw.CRF(solver="sgd")}, "solver='sgd'"),
        ({"order": 2}, "order > 1"),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"warm_start": True}, "warm_start"),
        ({"min_count": 0}, "min_count"),
    ],
)
def test_what_is_not_known_on_shards_is_refused(options, message):
    with pytest.raises(tw.InvalidInput, match=message):
        distributed.fit(tw.SequenceLabeler(**options), cut([["a"]], [["N"]], 1), 1)


def test_wrong_input_names_its_shard_and_loses_nothing(data):
    X, y = data
    labeler = distributed.fit(tw.SequenceLabeler(), cut(X, y, 2), 2)
    before = labeler.predict(X)
    with pytest.raises(tw.InvalidInput, match=r"shard 1: .*labels"):
        distributed.fit(labeler, lambda i: (X[:2], [y[0], y[1][i:]]), 2)
    with pytest.raises(tw.InvalidInput, match="shard 1 has other features"):
        distributed.fit(labeler, lambda i: ([X, attributes(X)][i], y), 2)
    with pytest.raises(tw.InvalidInput, match=r"shard 0: .*no tokens"):
        distributed.fit(labeler, lambda i: ([[]], [[]]), 1)
    with pytest.raises(tw.InvalidInput, match="only SequenceLabeler"):
        distributed.fit(tw.SegmentLabeler(), cut(X, y, 2), 2)
    assert labeler.predict(X) == before


def test_one_label_and_one_token():
    labeler = distributed.fit(tw.SequenceLabeler(), cut([["a"], ["b"]], [["N"], ["N"]], 2), 2)
    assert labeler.predict([["a", "c"]]) == [["N", "N"]]


def test_a_label_that_one_shard_has():
    X, y = [["a", "b"], ["c", "d"]], [["N", "V"], ["V", "X"]]
    labeler = distributed.fit(tw.SequenceLabeler(tw.CRF(l2=0.1)), cut(X, y, 2), 2)
    assert labeler.classes_.tolist() == ["N", "V", "X"]
    assert labeler.predict(X) == y


def test_a_model_of_shards_is_saved_and_loaded(data, tmp_path):
    X, y = data
    labeler = distributed.fit(tw.SequenceLabeler(), cut(X, y, 2), 2)
    labeler.save(tmp_path / "model.tw")
    assert tw.load(tmp_path / "model.tw").predict(X) == labeler.predict(X)
