"""Training that goes on from a model: what it has learned stays, and only what the new sequences teach is added."""

import warnings

import numpy as np
import pytest

import trelliswork as tw

ONLINE = ["perceptron", "pa", "mira", "arow"]
TOGETHER = [[["dog", "short"], ["a"]], [["dog"], ["short"]], [["b"], ["dog"]]]
LABELS = [["N", "A"], ["N", "B"], ["B", "N"]]


def named(labeler):
    """All weights by name, without zeros."""
    return {(w.attribute, w.previous, w.label): w.weight for w in labeler.weights() if w.weight}


def test_attributes_that_meet_later_keep_their_weights():
    tagger = tw.SequenceLabeler("perceptron").fit(TOGETHER, LABELS)
    before = named(tagger)
    assert tagger.predict(TOGETHER) == LABELS
    tagger.partial_fit(TOGETHER[:1], LABELS[:1])
    assert "changed nothing" in tagger.message_
    assert named(tagger) == before
    assert tagger.predict(TOGETHER) == LABELS


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("options", [{}, {"min_count": 2}, {"hash_bits": 12}], ids=str)
def test_sequences_that_are_right_by_the_margin_teach_nothing(name, options):
    """Where no example loses anything, weights stay as they are to the last bit, whatever is merged."""
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(12)]
    X = [[[str(w), f"tail={w[-1]}", f"len={len(w)}"] for w in rng.choice(words, 4)] for _ in range(30)]
    y = [["AB"[int(token[0][1:]) % 2] for token in sequence] for sequence in X]
    learner = tw.learners.by_name(name, epochs=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        tagger = tw.SequenceLabeler(learner, **options).fit(X, y)
    before = named(tagger)
    right = [i for i, (x, labels) in enumerate(zip(X, y, strict=True)) if safe(tagger, x, labels)][:10]
    assert right
    for i in right:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.ConvergenceWarning)
            tagger.partial_fit([X[i]], [y[i]])
    assert named(tagger) == before


def safe(tagger, x, labels):
    """Whether gold is ahead of every other labelling by more than its cost."""
    chain = tagger.chain(x)
    gold = [list(tagger.classes_).index(label) for label in labels]
    return all(
        chain.score(gold) - other.score > sum(a != b for a, b in zip(gold, other.labels, strict=True)) + 1e-3
        for other in chain.kbest(16)
        if other.labels.tolist() != gold
    )


def test_a_line_at_a_time_that_is_right_costs_nothing():
    corpus = tw.corpora.ingredients()
    X, y = corpus.X_train[:150], corpus.y_train[:150]
    tagger = tw.SequenceLabeler("perceptron").fit(X, y)
    before = tagger.score(corpus.X_test, corpus.y_test)
    right = [i for i, labels in enumerate(tagger.predict(X)) if labels == list(y[i])][:20]
    for i in right:
        tagger.partial_fit([X[i]], [y[i]])
    assert tagger.score(corpus.X_test, corpus.y_test) == before


def test_a_warm_start_on_other_data_starts_from_the_weights_that_are_there():
    """At zero steps (no update is made) the weights of what occurs are those of the earlier model."""
    tagger = tw.SequenceLabeler("perceptron", warm_start=True).fit(TOGETHER, LABELS)
    before = named(tagger)
    tagger.fit(TOGETHER[:1], LABELS[:1])
    after = named(tagger)
    assert {key: before[key] for key in after} == after
    assert ("dog", None, "N") in after


@pytest.mark.parametrize("combinations", ["seen", "transitions", "all"])
def test_one_token_sequences_leave_transitions_alone(combinations):
    tagger = tw.SequenceLabeler(tw.CRF(l2=0.1), combinations=combinations).fit(TOGETHER, LABELS)
    before = tagger.transitions_
    assert np.abs(before).max() > 0.1
    tagger.partial_fit([[["dog"]]], [["N"]])
    np.testing.assert_array_equal(tagger.transitions_, before)


def test_transitions_that_the_new_sequences_lack_start_from_where_they_were():
    """A CRF gives each known transition a weight: it falls by the penalty, not to zero at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        tagger = tw.SequenceLabeler(tw.CRF(l2=1e-6, max_iter=1, solver="lbfgs")).fit(TOGETHER, LABELS)
        before = named(tagger)
        tagger.partial_fit([[["dog"], ["a"]]], [["N", "A"]])
    moves = {key for key in before if key[0] is None}
    assert moves <= set(named(tagger))


@pytest.mark.parametrize("learner", ["crf", "perceptron", "pa"])
def test_constraints_and_partial_fit(learner):
    X = [[["the"], ["dog"]], [["a"], ["cat"], ["sleeps"]]]
    y = [["B-X", "I-X"], ["O", "B-X", "I-X"]]
    tagger = tw.SequenceLabeler(learner, constraints="BIO").fit(X, y)
    tagger.partial_fit([[["dog"], ["sleeps"]], [["the"]]], [["B-X", "I-X"], ["O"]])
    assert tagger.predict([[["dog"], ["sleeps"]]]) == [["B-X", "I-X"]]


def test_rare_attributes_that_are_known_count_in_a_small_batch():
    """min_count chooses attributes of a corpus; it must not hide what the model knows from the next batch."""
    X = [[["a", "x"]], [["a", "x"]], [["b", "x"]], [["b", "x"]]]
    y = [["A"], ["A"], ["B"], ["B"]]
    tagger = tw.SequenceLabeler("perceptron", min_count=2).fit(X, y)
    before = named(tagger)
    tagger.partial_fit([[["a", "x"]]], [["A"]])
    assert named(tagger) == before
