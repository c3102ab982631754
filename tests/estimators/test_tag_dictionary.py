"""A tag dictionary: words take only labels that they were seen with, in training and in every answer."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput

X = [["the", "can", "can", "rust"], ["they", "can", "fish"], ["the", "fish", "can", "swim"], ["the", "old", "can"]]
Y = [["D", "N", "V", "V"], ["P", "V", "N"], ["D", "N", "V", "V"], ["D", "A", "N"]]


def tagger(learner="perceptron", tag_dictionary=2, **more):
    return tw.SequenceLabeler(learner, tag_dictionary=tag_dictionary, **more)


def seen_with(X, y, least):
    """Return the labels of each word that occurs at least so often, as the option says."""
    pairs = [pair for x, labels in zip(X, y, strict=True) for pair in zip(x, labels, strict=True)]
    words = [word for word, _ in pairs]
    return {word: {label for other, label in pairs if other == word} for word in words if words.count(word) >= least}


def random_corpus(seed, n_labels=60, n_sequences=60):
    rng = np.random.default_rng(seed)
    X = [[f"w{i}" for i in rng.zipf(1.5, n) % 80] for n in rng.integers(1, 9, n_sequences)]
    return X, [[f"L{(int(w[1:]) + int(rng.integers(0, 3))) % n_labels:02}" for w in x] for x in X]


@pytest.mark.parametrize("learner", ["perceptron", "pa", "mira", "pegasos", tw.Perceptron(k=3), tw.SDM(epochs=2)])
def test_known_words_take_labels_that_they_were_seen_with(learner):
    X, y = random_corpus(1)
    labeler = tagger(learner).fit(X[:40], y[:40])
    known = seen_with(X[:40], y[:40], 2)
    for x, labels in zip(X, labeler.predict(X), strict=True):
        for word, label in zip(x, labels, strict=True):
            assert label in known.get(word, labeler.classes_)


def test_without_it_they_take_others_too():
    X, y = random_corpus(1)
    known = seen_with(X[:40], y[:40], 2)
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
    known = seen_with(X[:40], y[:40], 2)
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
    assert loaded.tag_dictionary == 2
    assert loaded.dictionary_loss_ == labeler.dictionary_loss_
    assert loaded._model.tensors["dictionary.keys"] is not None
    probabilities = loaded.predict_max_marginals(X[:1])[0]
    assert np.isneginf(probabilities[0]).sum() == len(labeler.classes_) - 1


def test_what_it_loses_is_estimated_by_leaving_each_token_out():
    # fish: N, N; can: N, V, V, V, N, so none alone; the: D, D, D.
    X = [["can"], ["can"], ["can"], ["fish"], ["fish"], ["eel"]]
    y = [["N"], ["V"], ["V"], ["N"], ["N"], ["N"]]
    assert tagger().fit(X, y).dictionary_loss_ == pytest.approx(1 / 6)
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
        ({"tag_dictionary": 0}, "tag_dictionary"),
        ({"tag_dictionary": 99}, "occurs 99 times"),
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
