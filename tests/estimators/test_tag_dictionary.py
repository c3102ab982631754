"""A tag dictionary: words take only likely labels, in every answer and, unless they are rare, while learning."""

import numpy as np
import pytest

import trelliswork as tw
from reference.tag_dictionaries import likely_labels
from trelliswork.errors import InvalidInput

X = [["the", "can", "can", "rust"], ["they", "can", "fish"], ["the", "fish", "can", "swim"], ["the", "old", "can"]]
Y = [["D", "N", "V", "V"], ["P", "V", "N"], ["D", "N", "V", "V"], ["D", "A", "N"]]
SEEN = 0.5  # loses what is lost when words take the labels that they were seen with


def tagger(learner="perceptron", tag_dictionary=SEEN, **more):
    return tw.SequenceLabeler(learner, tag_dictionary=tag_dictionary, **more)


def seen_with(X, y):
    """Return the labels of each word."""
    pairs = [pair for x, labels in zip(X, y, strict=True) for pair in zip(x, labels, strict=True)]
    return {word: {label for other, label in pairs if other == word} for word, _ in pairs}


def random_corpus(seed, n_labels=60, n_sequences=60):
    rng = np.random.default_rng(seed)
    X = [[f"w{i}" for i in rng.zipf(1.5, n) % 80] for n in rng.integers(1, 9, n_sequences)]
    return X, [[f"L{(int(w[1:]) + int(rng.integers(0, 3))) % n_labels:02}" for w in x] for x in X]


def taken(labeler, word):
    """Return the labels that a word takes in answers."""
    (scores,) = labeler.predict_max_marginals([[word]])
    return set(labeler.classes_[~np.isneginf(scores[0])])


@pytest.mark.parametrize("loss", [0.3, 0.1, 0.03, 0.001])
@pytest.mark.parametrize("n_sequences", [1, 7, 60, 250])
def test_words_take_the_labels_of_the_definition(loss, n_sequences):
    X, y = random_corpus(n_sequences, n_labels=9, n_sequences=n_sequences)
    labeler = tagger(tag_dictionary=loss).fit(X, y)
    expected, lost, close = likely_labels(X, y, loss)
    assert labeler.dictionary_loss_ == pytest.approx(lost, abs=1e-12)
    assert lost <= loss
    for word, labels in expected.items():
        assert {(word, label) for label in taken(labeler, word) ^ labels} <= close
    assert taken(labeler, "never seen") == set(labeler.classes_)


def test_a_smaller_loss_leaves_more_labels():
    X, y = random_corpus(5, n_labels=9, n_sequences=250)
    made = [tagger(tag_dictionary=loss).fit(X, y)._model.tensors for loss in (0.05, 0.01, 0.001)]
    sizes = [len(tensors["dictionary.labels"]) for tensors in made]
    assert sizes == sorted(set(sizes))


def test_frequent_words_are_limited_while_learning_and_rare_ones_are_not():
    X = [["often"]] * 11 + [["rare"]] * 10
    y = [["B"]] * 11 + [["C"]] * 9 + [["A"]]
    oracle = tagger().oracle(X, y)
    zeros = np.zeros(oracle.n_weights)  # the lowest label is the best
    found = [oracle.kbest(zeros, i, 1)[0][0] for i in (0, 11)]
    assert [np.asarray(labels).tolist() for labels in found] == [[1], [0]]


@pytest.mark.parametrize("learner", ["perceptron", "pa", "mira", "pegasos", tw.Perceptron(k=3), tw.SDM(epochs=2)])
def test_known_words_take_their_labels_with_every_learner(learner):
    X, y = random_corpus(1)
    labeler = tagger(learner).fit(X[:40], y[:40])
    known = seen_with(X[:40], y[:40])
    for x, labels in zip(X, labeler.predict(X), strict=True):
        for word, label in zip(x, labels, strict=True):
            assert label in known.get(word, labeler.classes_)


def test_without_it_they_take_others_too():
    X, y = random_corpus(1)
    known = seen_with(X[:40], y[:40])
    free = tw.SequenceLabeler("perceptron").fit(X[:40], y[:40]).predict(X)
    pairs = [pair for x, labels in zip(X, free, strict=True) for pair in zip(x, labels, strict=True)]
    assert any(label not in known.get(word, {label}) for word, label in pairs)


def test_a_dictionary_that_forbids_nothing_changes_nothing():
    X = [["a", "b"] * 3] * 4
    y = [["0", "1", "1", "0", "2", "2"], ["1", "2", "0", "1", "2", "0"], ["2", "0", "0", "1", "1", "2"]]
    y.append(y[0])
    limited, free = tagger().fit(X, y), tw.SequenceLabeler("perceptron").fit(X, y)
    assert limited.predict(X) == free.predict(X)
    np.testing.assert_array_equal(limited.transitions_, free.transitions_)


def test_the_best_allowed_labelling_is_found():
    X, y = random_corpus(2)
    labeler = tagger().fit(X[:40], y[:40])
    known = seen_with(X[:40], y[:40])
    tensors = {name: part for name, part in labeler._model.tensors.items() if not name.startswith("dictionary.")}
    plain = type(labeler._model)(tensors, labeler._model.settings)
    allowed = [[known.get(word) for word in x] for x in X[40:]]
    other = tw.SequenceLabeler("perceptron").fit(X[:40], y[:40])
    other._take(plain)
    assert labeler.predict(X[40:]) == other.predict(X[40:], allowed=allowed)
    np.testing.assert_array_equal(labeler.score(X[40:], y[40:]), other_score(other, X[40:], y[40:], allowed))


def other_score(labeler, X, y, allowed):
    found = labeler.predict(X, allowed=allowed)
    right = [a == b for x, z in zip(found, y, strict=True) for a, b in zip(x, z, strict=True)]
    return np.mean(right)


def test_development_data_are_labelled_as_predict_labels_them():
    X, y = random_corpus(3)
    scores = []
    labeler = tagger(tw.Perceptron(3, averaged=False), scoring="accuracy")
    labeler.fit(X, y, X[40:], y[40:], callback=lambda progress: scores.append(progress.dev_score))
    assert labeler.score(X[40:], y[40:]) == pytest.approx(max(scores), abs=1e-12)


def test_it_is_in_the_file_and_in_columns_that_are_tagged(tmp_path):
    labeler = tagger().fit(X, Y)
    labeler.save(tmp_path / "model.tw")
    loaded = tw.load(tmp_path / "model.tw")
    assert loaded.predict(X) == labeler.predict(X)
    assert loaded.tag_dictionary == SEEN
    assert loaded.dictionary_loss_ == labeler.dictionary_loss_
    assert loaded._model.tensors["dictionary.keys"] is not None
    probabilities = loaded.predict_max_marginals(X[:1])[0]
    assert np.isneginf(probabilities[0]).sum() == len(labeler.classes_) - 1


def test_what_it_loses_is_estimated_by_leaving_each_block_out():
    # Each sequence is a block. can: N, V, V, so N is new where it stands; fish: N, N; eel is known in no other block.
    X = [["can"], ["can"], ["can"], ["fish"], ["fish"], ["eel"]]
    y = [["N"], ["V"], ["V"], ["N"], ["N"], ["N"]]
    assert tagger().fit(X, y).dictionary_loss_ == pytest.approx(1 / 6)
    assert tagger(tag_dictionary=0.01).fit(X, y).dictionary_loss_ == 0.0
    assert tw.SequenceLabeler("perceptron").fit(X, y).dictionary_loss_ is None


def test_attributes_of_any_name_may_be_words():
    rows = [[{"form": word, "n": len(word)} for word in x] for x in X]
    labeler = tagger(dictionary_attribute="form:").fit(rows, Y)
    assert labeler.predict([[{"form": "the"}]]) == [["D"]]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"learner": "crf"}, "sums over all labellings"),
        ({"learner": "eg"}, "asks for parts"),
        ({"learner": "memm"}, "tag_dictionary|asks for"),
        ({"order": 2}, "chains of order 1"),
        ({"hash_bits": 8}, "names"),
        ({"tag_dictionary": 0}, "share of labels"),
        ({"tag_dictionary": 5}, "share of labels"),
        ({"tag_dictionary": True}, "share of labels"),
        ({"tag_dictionary": "0.1"}, "share of labels"),
        ({"tag_dictionary": float("nan")}, "share of labels"),
        ({"dictionary_attribute": "form="}, "begins with 'form='"),
        ({"tag_dictionary": None, "dictionary_attribute": "form="}, "no meaning"),
    ],
)
def test_what_cannot_use_it_refuses(more, told):
    with pytest.raises(InvalidInput, match=told):
        tagger(**more).fit(X, Y)


def test_labels_known_in_part_attributes_without_words_and_going_on_are_refused():
    with pytest.raises(InvalidInput, match="one label for every token"):
        tagger().fit(X, [[None, *y[1:]] for y in Y])
    with pytest.raises(InvalidInput, match="dictionary_attribute"):
        tagger().fit([[{"form": word} for word in x] for x in X], Y)
    with pytest.raises(InvalidInput, match="warm_start=True"):
        tagger().fit(X, Y).partial_fit(X, Y)
    assert tagger(warm_start=True).fit(X, Y).fit(X[:3], Y[:3]).predict([["the"]]) == [["D"]]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("dictionary.labels", [99] * 50),
        ("dictionary.offsets", [0, 9, 3]),
        ("dictionary.keys", [5, 4]),
    ],
)
def test_a_file_whose_dictionary_makes_no_sense_is_refused(name, values):
    model = tagger().fit(X, Y)._model
    part = np.asarray(model.tensors[name])
    tensors = model.tensors | {name: np.resize(np.array(values, dtype=part.dtype), len(part))}
    with pytest.raises(ValueError, match="dictionary"):
        type(model)(tensors, model.settings)
