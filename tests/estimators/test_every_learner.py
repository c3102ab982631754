"""Every learner in the labeler: fit, predict, save, go on, resume, development data, and what it refuses."""

import itertools

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import learners
from trelliswork.learners.memm import locally_normalised

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "old", "man"], ["man", "the", "boats"], ["dogs"], []] * 4
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "A", "N"], ["V", "D", "N"], ["N"], []] * 4
NEW_X, NEW_Y = [["the", "cat", "meows"]] * 3, [["D", "N", "V"]] * 3
NAMES = learners.names()
SUMS = [name for name in NAMES if learners.by_name(name).sums]
GROWING = [name for name in NAMES if learners.by_name(name).grows]


def scores(labeler, X):
    return np.concatenate(labeler.predict_max_marginals(X))


@pytest.fixture(params=NAMES)
def fitted(request):
    return tw.SequenceLabeler(request.param, n_jobs=1, random_state=1).fit(X, Y)


def test_it_learns_what_can_be_learnt(fitted):
    assert fitted.score(X, Y) == 1.0
    assert fitted.n_iter_ >= 1
    assert len(fitted.history_) == fitted.n_iter_


def test_the_saved_model_says_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw")
    assert again.predict(X) == fitted.predict(X)
    assert again.learner == fitted.learner or learners.name_of(again.learner) == fitted.learner
    np.testing.assert_array_equal(scores(again, NEW_X), scores(fitted, NEW_X))


def test_it_goes_on_with_new_sequences_and_labels(fitted):
    fitted.partial_fit(NEW_X, NEW_Y)
    assert fitted.predict(NEW_X) == NEW_Y


@pytest.mark.parametrize("name", NAMES)
def test_the_best_iteration_on_development_data_is_kept(name):
    fitted = tw.SequenceLabeler(name, random_state=1).fit(X, Y, X_dev=NEW_X, y_dev=NEW_Y)
    scores = [entry["dev_score"] for entry in fitted.history_]
    assert max(scores) == scores[fitted.best_iteration_ - 1]
    gold = [label for labels in NEW_Y for label in labels]
    found = [label for labels in fitted.predict(NEW_X) for label in labels]
    np.testing.assert_allclose(np.mean([a == b for a, b in zip(gold, found, strict=True)]), max(scores))


@pytest.mark.parametrize("name", NAMES)
def test_a_run_resumed_from_its_state_gives_the_identical_model(name):
    states = []
    whole = tw.SequenceLabeler(name, random_state=1).fit(X, Y, callback=lambda done: states.append(done.state()))
    resumed = tw.SequenceLabeler(name, random_state=1).fit(X, Y, resume=states[0])
    np.testing.assert_array_equal(scores(resumed, X), scores(whole, X))


@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_keeps_the_model(name):
    def interrupt(done):
        raise KeyboardInterrupt

    labeler = tw.SequenceLabeler(name)
    with pytest.warns(tw.ConvergenceWarning, match="interrupted after 1 iterations"):
        labeler.fit(X, Y, callback=interrupt)
    assert len(labeler.predict(X)) == len(X)


@pytest.mark.parametrize("name", GROWING)
def test_weights_of_wrong_predictions_are_made_unless_only_seen_ones_are_asked_for(name):
    seen = {
        (token, label) for tokens, labels in zip(X, Y, strict=True) for token, label in zip(tokens, labels, strict=True)
    }

    def unseen(combinations):
        labeler = tw.SequenceLabeler(name, "attributes", combinations=combinations, random_state=1)
        listed = [[[token] for token in tokens] for tokens in X]
        labeler.fit(listed, Y)
        return [w for w in labeler.weights() if w.attribute is not None and (w.attribute, w.label) not in seen]

    assert not unseen("seen")
    assert unseen("auto")


@pytest.mark.parametrize("name", NAMES)
def test_labels_known_in_part_teach_every_learner_but_those_that_need_gold_itself(name):
    known = [[None if (s // 6 + t) % 4 == 0 else y for t, y in enumerate(labels)] for s, labels in enumerate(Y)]
    if name in ("eg", "memm"):
        with pytest.raises(tw.InvalidInput, match="give every example one gold output"):
            tw.SequenceLabeler(name).fit(X, known)
    else:
        assert tw.SequenceLabeler(name, random_state=0).fit(X, known).score(X, Y) > 0.9


@pytest.mark.parametrize("name", [name for name in NAMES if name not in GROWING])
def test_weights_that_grow_are_refused_by_learners_that_sum(name):
    with pytest.raises(tw.InvalidInput, match="combinations must be 'seen', 'transitions' or 'all'"):
        tw.SequenceLabeler(name, combinations="grown").fit(X, Y)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_model_for_any_number_of_threads(name):
    models = [tw.SequenceLabeler(name, n_jobs=jobs, random_state=3).fit(X, Y) for jobs in (1, 2, 4)]
    first, *others = (scores(model, X) for model in models)
    assert all(np.array_equal(first, other) for other in others)


def test_a_model_normalised_step_by_step_gives_the_probabilities_of_its_steps():
    fitted = tw.SequenceLabeler("memm").fit(X, Y)
    x = ["the", "man", "sleeps"]
    unary, transitions = fitted._model.core.scores(next(iter(fitted._model.inputs.sources([x]))), 1)
    first, steps = locally_normalised(unary, transitions)
    labels = range(len(fitted.classes_))
    p = {
        path: np.exp(first[0, path[0]] + sum(steps[t, path[t], path[t + 1]] for t in range(2)))
        for path in itertools.product(labels, repeat=3)
    }
    np.testing.assert_allclose(sum(p.values()), 1.0)
    best = max(p, key=p.get)
    assert fitted.predict([x])[0] == fitted.classes_[list(best)].tolist()
    expected = [[sum(q for path, q in p.items() if path[t] == y) for y in labels] for t in range(3)]
    np.testing.assert_allclose(fitted.predict_marginals([x])[0], expected, atol=1e-12)
    np.testing.assert_allclose(fitted.chain(x).marginals(), expected, atol=1e-12)
    names = fitted.classes_.tolist()
    for path in itertools.product(labels, repeat=3):
        found = fitted.log_prob([x], [[names[k] for k in path]])[0]
        np.testing.assert_allclose(np.exp(found), p[path], rtol=1e-9, atol=1e-300)
    some = {path: q for path, q in p.items() if path[1] in (0, 1) and path[2] == 2}
    known = {"allowed": [[None, {names[0], names[1]}, None]], "fixed": [{2: names[2]}]}
    assert fitted.predict([x], **known)[0] == [names[k] for k in max(some, key=some.get)]
    given = [[sum(q for path, q in some.items() if path[t] == y) for y in labels] for t in range(3)]
    np.testing.assert_allclose(fitted.predict_marginals([x], **known)[0], np.array(given) / sum(some.values()))
