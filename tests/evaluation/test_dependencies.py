"""Scores of trees: as the shared task defines them, and as its plain re-implementation counts them."""

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import conll18
from reference.published import located
from trelliswork.corpora import Treebank, read_conllu, read_treebank, sentences
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import (
    McNemar,
    attachments,
    dependency_scores,
    mcnemar,
    paired_bootstrap,
)

RELATIONS = ["nsubj", "nsubj:pass", "punct", "root", "obl:tmod", "obl"]
FORMS = ["a", ".", "...", "$", "«x»", "-", "n't"]


@st.composite
def treebanks(draw):
    """Gold and guess over the same words, as lists of (forms, heads, relations)."""
    pairs = []
    for n in draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)):
        words = st.lists(st.sampled_from(FORMS), min_size=n, max_size=n)
        heads = st.lists(st.integers(0, n), min_size=n, max_size=n)
        relations = st.lists(st.sampled_from(RELATIONS), min_size=n, max_size=n)
        gold = (draw(heads), draw(relations))
        guess = (draw(heads), draw(relations))
        copied = draw(st.lists(st.booleans(), min_size=n, max_size=n))  # else hardly a word would be right
        guess = tuple(
            [g if c else s for g, s, c in zip(*both, copied, strict=True)] for both in zip(gold, guess, strict=True)
        )
        pairs.append((draw(words), gold, guess))
    return pairs


def plain(pairs, place):
    return [list(zip(pair[0], *pair[place], strict=True)) for pair in pairs]


@given(treebanks())
def test_scores_equal_those_of_the_plain_re_implementation(pairs):
    forms, gold, guess = zip(*pairs, strict=True)
    scores = dependency_scores(gold, guess, forms=forms)
    truth, system = plain(pairs, 1), plain(pairs, 2)
    uas, las, trees, labelled = conll18.attachment_scores(truth, system)
    assert (scores.uas, scores.las, scores.whole_trees) == (uas, las, trees)
    assert scores.words.labelled_whole_trees == labelled
    assert scores.las_with_subtypes == conll18.attachment_scores(truth, system, subtypes=True)[1]
    for relation, score in scores.per_relation.items():
        assert (score.precision, score.recall) == conll18.relation_scores(truth, system, relation)
    bare = scores.without_punctuation
    if bare.n_words:
        uas, las, trees, labelled = conll18.attachment_scores(truth, system, punctuation=False)
        assert (bare.uas, bare.las, bare.whole_trees, bare.labelled_whole_trees) == (uas, las, trees, labelled)


@given(treebanks())
def test_relations_and_distances_each_count_every_word(pairs):
    _, gold, guess = zip(*pairs, strict=True)
    scores = dependency_scores(gold, guess)
    n = sum(len(heads) for heads, _ in gold)
    for table in (scores.per_relation, scores.per_distance):
        assert sum(score.support for score in table.values()) == n
        assert sum(score.found for score in table.values()) == n
    assert sum(score.correct for score in scores.per_relation.values()) == scores.words.relations
    assert sum(score.correct for score in scores.per_distance.values()) == scores.words.heads


def test_distances_are_told_apart_as_published():
    gold = [[0, 1, 1, 1, 1, 1, 1, 1, 1, 9]]
    guess = [[0, 1, 2, 1, 1, 1, 1, 1, 2, 1]]
    scores = dependency_scores(gold, guess).per_distance
    assert list(scores) == ["root", "1", "2", "3-6", "7 or more"]
    assert [(s.correct, s.found, s.support) for s in scores.values()] == [
        (1, 1, 1),
        (1, 2, 2),
        (0, 0, 1),
        (4, 4, 4),
        (1, 3, 2),
    ]


def test_subtypes_are_told_apart_by_relation_when_asked_for():
    gold, guess = [([2, 0], ["nsubj:pass", "root"])], [([2, 0], ["nsubj", "root"])]
    assert set(dependency_scores(gold, guess).per_relation) == {"nsubj", "root"}
    told = dependency_scores(gold, guess, subtypes=True).per_relation
    assert {name: (s.correct, s.found, s.support) for name, s in told.items()} == {
        "nsubj": (0, 1, 0),
        "nsubj:pass": (0, 0, 1),
        "root": (1, 1, 1),
    }


def test_trees_come_in_many_forms():
    listed = sentences()
    treebank = Treebank.from_sentences(listed)
    pairs = [(np.array(sentence.heads), sentence.relations) for sentence in listed]
    expected = dependency_scores(treebank, treebank).as_dict()
    assert expected["uas"] == expected["las"] == expected["whole_trees"] == 1.0
    for form in (listed, list(treebank), pairs):
        found = dependency_scores(form, treebank).as_dict()
        if form is pairs:
            assert found.pop("without_punctuation") is None
        assert found == {name: expected[name] for name in found}
    assert dependency_scores([heads for heads, _ in pairs], treebank).las is None


def test_words_whose_gold_head_is_not_known_are_left_out():
    scores = dependency_scores([[2, None, 2]], [[2, 0, None]])
    assert (scores.words.n_words, scores.words.heads, scores.whole_trees) == (2, 1, 0.0)


def test_results_are_ready_for_json_and_for_people():
    treebank = Treebank.from_sentences(sentences())
    scores = dependency_scores(treebank, treebank)
    assert json.loads(json.dumps(scores.as_dict()))["las"] == 1.0
    assert str(scores).startswith("UAS 100.00%, LAS 100.00% (100.00% with subtypes) of 1380 words; whole trees 100.00%")
    with pytest.raises(InvalidInput, match="by is 'colour'"):
        scores.table("colour")


def test_no_words_score_zero():
    scores = dependency_scores([], [])
    assert (scores.uas, scores.las, scores.words.n_words) == (0.0, 0.0, 0)


@pytest.mark.parametrize(
    ("gold", "guess", "found"),
    [
        ([[0]], [[0], [0]], "predicted has 2 sentences but gold has 1"),
        ([[0, 1]], [[0]], r"predicted\[0\] has 1 words but gold\[0\] has 2"),
        ([[0, 5]], [[0, 1]], r"gold\[0\] has the head 5"),
        ("x", [[0]], "gold is 'x'"),
        ([[0]], 3, "predicted is 3"),
    ],
)
def test_trees_over_other_words_are_refused(gold, guess, found):
    with pytest.raises(InvalidInput, match=found):
        dependency_scores(gold, guess)


def test_forms_of_other_words_are_refused():
    with pytest.raises(InvalidInput, match="forms must have"):
        dependency_scores([[0]], [[0]], forms=[["a", "b"]])


@given(treebanks())
def test_accuracy_of_attachments_is_las_and_uas(pairs):
    _, gold, guess = zip(*pairs, strict=True)
    scores = dependency_scores(gold, guess)
    for labelled, expected in ((True, scores.las), (False, scores.uas)):
        truth, system = attachments(gold, labelled), attachments(guess, labelled)
        test = paired_bootstrap(truth, system, truth, n_samples=10)
        assert test.first.f1 == pytest.approx(expected, abs=1e-12)
        right = round(expected * scores.words.n_words)
        assert mcnemar(truth, system, truth) == McNemar(right, 0, scores.words.n_words - right, 0)


def test_attachments_need_relations_or_do_without():
    with pytest.raises(InvalidInput, match="relations=False"):
        attachments([[0]])
    assert attachments([[0, None]], relations=False) == [[0, None]]
    assert attachments([([0], ["a:b"])], subtypes=True) == [[(0, "a:b")]]


def test_a_published_treebank_with_shuffled_trees_scores_as_the_plain_re_implementation_says():
    gold = read_treebank(located("ud_ewt/test.conllu.gz"))
    random = np.random.default_rng(0)
    coded = gold.coded()
    changed = random.random(gold.n_words) < 0.2
    heads = np.where(changed & (gold.heads > 0), gold.heads - 1, gold.heads)
    relations = np.where(random.random(gold.n_words) < 0.2, random.permutation(coded.relations), coded.relations)
    trees = [
        (heads[a:b], [coded.names[code] for code in relations[a:b]])
        for a, b in zip(coded.starts[:-1], coded.starts[1:], strict=True)
    ]
    guess = gold.with_trees(trees)
    scores = dependency_scores(gold, trees)
    truth, system = conll18.words_of(gold.text.decode()), conll18.words_of(guess.decode())
    assert (scores.uas, scores.las) == conll18.attachment_scores(truth, system)[:2]
    bare = scores.without_punctuation
    assert (bare.uas, bare.las) == conll18.attachment_scores(truth, system, punctuation=False)[:2]
    slow = list(read_conllu(io.BytesIO(guess)))
    assert dependency_scores(gold, slow).as_dict() == scores.as_dict()
