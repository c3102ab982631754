"""What the best models are made of: added scores, columns learned from text, predictions for held-out sentences."""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.corpora import convert_labels

FOLDER = Path(__file__).resolve().parents[2] / "experiments"
DATELINE = [("Madrid", "NP"), ("(", "Fpa"), ("EFE", "NC"), (")", "Fpt")]


@pytest.fixture(autouse=True)
def experiments_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in [name for name in sys.modules if name == "common" or name.startswith("common.")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def corpus():
    return tw.corpora.ingredients()


def committee(*schemes):
    from common.added_scores import AddedScores

    return AddedScores([(tw.SequenceLabeler(tw.PassiveAggressive(epochs=2), n_jobs=1), scheme) for scheme in schemes])


@pytest.mark.parametrize("scheme", ["BIO", "IOE2", "IOBES"])
def test_one_member_decides_as_it_does_alone(corpus, scheme):
    model = committee(scheme).fit(corpus.X_train, corpus.y_train)
    ((labeler, _),) = model.members
    alone = [convert_labels(labels, scheme, "BIO") for labels in labeler.predict(corpus.X_test)]
    assert model.predict(corpus.X_test) == alone


def test_the_answer_has_the_largest_sum_of_the_members_scores():
    X = [["a", "b", "c"], ["b", "c"], ["c", "a"]]
    y = [["B-X", "I-X", "I-X"], ["B-X", "B-X"], ["O", "B-X"]]
    schemes = ("BIO", "IOE2", "IOBES")
    model = committee(*schemes).fit(X, y)

    def added(x, labels):
        total = 0.0
        for labeler, scheme in model.members:
            number = {label: k for k, label in enumerate(labeler.classes_)}
            total += labeler.chain(x).score([number[label] for label in convert_labels(labels, "BIO", scheme)])
        return total

    for x in [["a", "b"], ["c", "c", "b"], ["b", "a", "c", "a"]]:
        (answer,) = model.predict([x])
        everything = []
        for labels in map(list, product(["B-X", "I-X", "O"], repeat=len(x))):
            if not tw.corpora.validate_labels(labels, "BIO"):
                everything.append(added(x, labels))
        assert added(x, answer) == pytest.approx(max(everything), abs=1e-9)


def test_a_committee_without_sequences_answers_nothing(corpus):
    assert committee("BIO").fit(corpus.X_train[:20], corpus.y_train[:20]).predict([]) == []


def test_a_document_begins_with_a_dateline():
    from common.documents import documents

    text = [("Hoy", "RG")]
    assert documents([text, text, DATELINE, text, DATELINE]) == [0, 0, 1, 1, 2]


def test_other_uses_leave_out_the_use_itself_and_other_documents():
    from common.documents import other_uses

    X = [[("Ana", ""), ("ve", "")], [("Ana", "")], [("ana", "")], DATELINE, [("Ana", "")]]
    labels = [["B-PER", "O"], ["B-LOC"], ["O"], ["O"] * 4, ["B-PER"]]
    columns = other_uses(X, labels)
    assert columns[0] == [("B-LOC",), ("",)]
    assert columns[1] == [("B-PER",)]
    assert columns[2] == [("",)]
    assert columns[4] == [("none",)]


def test_topics_tell_documents_of_different_words_apart():
    from common.documents import Topics

    rng = np.random.default_rng(0)
    X = []
    for n in range(20):
        words = ["gol", "liga", "copa", "equipo"] if n % 2 else ["ley", "voto", "juez", "pena"]
        X += [DATELINE, [(str(rng.choice(words)), "") for _ in range(12)]]
    columns = Topics([2]).fit(X).columns(X)
    assert [len(column) for column in columns] == [len(sentence) for sentence in X]
    topics = [column[0][0] for column in columns[::2]]
    assert len(set(topics[::2])) == len(set(topics[1::2])) == 1
    assert topics[0] != topics[1]


def test_words_with_the_same_neighbours_share_a_cluster():
    from common.word_clusters import WordClusters

    X = [[(word, "") for word in ("el", noun, verb, ".")] for noun in ("gato", "perro") for verb in ("come", "duerme")]
    clusters = WordClusters([3]).fit(X * 5)
    (found,) = clusters.columns([[("Gato", ""), ("perro", ""), ("come", ""), ("nuevo", "")]])
    assert found[0] == found[1] != found[2]
    assert found[3] == ("",)


def test_sentences_are_labelled_by_a_model_that_did_not_see_them():
    from common.best import held_out

    class Remembers:
        def fit(self, X, y):
            self.seen = set(X)
            return self

        def predict(self, X):
            return [x in self.seen for x in X]

    folds = tw.evaluation.k_folds(10, 3)
    assert held_out(Remembers, list(range(10)), [None] * 10, folds, jobs=2) == [False] * 10
