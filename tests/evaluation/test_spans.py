"""Exact spans: by hand, against conlleval's own way of counting, and on the shared tasks' files."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given

from evaluation import conlleval
from evaluation.strategies import corpora_of_a_scheme
from reference.published import located
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import Score, SpanScores, evaluate, report, span_scores


def label_column(file):
    """Read the last column of a file of sentences ended by empty lines."""
    with gzip.open(located(file), "rt", encoding="utf-8") as lines:
        sentences = lines.read().rstrip("\n").split("\n\n")
    return [[line.split()[-1] for line in sentence.split("\n")] for sentence in sentences]


def plain(labels):
    """In conlleval's letters: L and U of BILOU are E and S, M of BMES is I."""
    letters = {"L": "E", "U": "S", "M": "I"}
    return [letters.get(label[0], label[0]) + label[1:] for label in labels]


def test_worked_by_hand():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "I-LOC", "O"]]
    guess = [["B-PER", "I-PER", "O", "B-PER"], ["B-LOC", "O", "B-LOC"]]
    scores = span_scores(gold, guess)
    assert scores.overall == Score(correct=1, found=4, support=3)
    assert scores.per_type == {"LOC": Score(0, 2, 2), "PER": Score(1, 2, 1)}
    assert (scores.precision, scores.recall, scores.support) == (0.25, 1 / 3, 3)
    assert scores.f1 == pytest.approx(2 / 7)


@given(corpora_of_a_scheme())
def test_equals_conlleval_on_any_labels(drawn):
    scheme, gold, guess = drawn
    *_, there, found, right = conlleval.counts(list(map(plain, gold)), list(map(plain, guess)))
    scores = span_scores(gold, guess, scheme)
    assert scores.overall == Score(right.total(), found.total(), there.total())
    assert scores.per_type == {kind: Score(right[kind], found[kind], there[kind]) for kind in sorted(there | found)}


@given(corpora_of_a_scheme(("BIO", "IOB1", "IOE1", "IOE2", "IOBES")))
def test_report_is_conllevals_to_the_letter(drawn):
    scheme, gold, guess = drawn
    assert report(gold, guess, scheme) + "\n" == conlleval.report(gold, guess)


def valid_bio(labels):
    """The spans of BIO that begin with B and are followed by no stray I: by regular reading, one token at a time."""
    found = []
    for start, label in enumerate(labels):
        if label.startswith("B-"):
            stop = start + 1
            while stop < len(labels) and labels[stop] == "I-" + label[2:]:
                stop += 1
            found.append((label[2:], start, stop))
    return found


@given(corpora_of_a_scheme(("BIO",)))
def test_strict_counts_valid_spans_only(drawn):
    _, gold, guess = drawn
    there = {(i, *span) for i, labels in enumerate(gold) for span in valid_bio(labels)}
    found = {(i, *span) for i, labels in enumerate(guess) for span in valid_bio(labels)}
    assert span_scores(gold, guess, lenient=False).overall == Score(len(there & found), len(found), len(there))


@given(corpora_of_a_scheme())
def test_types_add_up_and_swapping_swaps_precision_and_recall(drawn):
    scheme, gold, guess = drawn
    scores, swapped = span_scores(gold, guess, scheme), span_scores(guess, gold, scheme)
    for count in ("correct", "found", "support"):
        assert getattr(scores.overall, count) == sum(getattr(score, count) for score in scores.per_type.values())
    assert (scores.precision, scores.recall, scores.f1) == (swapped.recall, swapped.precision, swapped.f1)
    assert span_scores(gold, gold, scheme).overall.correct == scores.support


def test_one_corpus_scores_alike_in_every_scheme():
    spelt = {
        "BIO": (["B-X", "I-X", "B-X", "O"], ["B-X", "I-X", "O", "B-X"]),
        "IOBES": (["B-X", "E-X", "S-X", "O"], ["B-X", "E-X", "O", "S-X"]),
        "BILOU": (["B-X", "L-X", "U-X", "O"], ["B-X", "L-X", "O", "U-X"]),
        "IOB1": (["I-X", "I-X", "B-X", "O"], ["I-X", "I-X", "O", "I-X"]),
    }
    for scheme, (gold, guess) in spelt.items():
        for lenient in (True, False):
            assert span_scores([gold], [guess], scheme, lenient).overall == Score(1, 2, 2)


@pytest.mark.parametrize(("gold", "guess"), [([], []), ([[]], [[]]), ([["O"]], [["O"]]), ([["O"]], [["B-X"]])])
def test_without_spans_f1_is_zero(gold, guess):
    scores = span_scores(gold, guess)
    assert (scores.precision, scores.recall, scores.f1, scores.support) == (0.0, 0.0, 0.0, 0)


def test_labels_without_a_type_have_the_empty_type():
    assert span_scores([["B", "I", "O"]], [["B", "I", "O"]]).per_type == {"": Score(1, 1, 1)}


def test_tuples_arrays_and_generators_are_taken():
    gold, guess = [["B-X", "O"], ["B-X"]], [["B-X", "O"], ["O"]]
    expected = span_scores(gold, guess)
    assert expected == SpanScores(Score(1, 1, 2), {"X": Score(1, 1, 2)})
    assert span_scores(tuple(map(tuple, gold)), (iter(labels) for labels in guess)) == expected
    arrays = [np.array(labels, dtype=object) for labels in gold], [np.array(labels) for labels in guess]
    assert span_scores(*arrays) == expected


def test_as_dict_is_json():
    answer = json.loads(json.dumps(span_scores([["B-X", "O"]], [["B-X", "B-X"]]).as_dict()))
    assert answer["precision"] == answer["per_type"]["X"]["precision"] == 0.5
    assert set(answer) == {"precision", "recall", "f1", "support", "found", "correct", "per_type"}


@pytest.mark.parametrize(
    ("gold", "guess", "says"),
    [
        ([["O"], ["O", "O"]], [["O"], ["O"]], r"y_pred\[1\] has 1 labels but y_true\[1\] has 2"),
        ([["O"]], [["O"], ["O"]], r"y_true has 1 sequences but y_pred has more"),
        ([["O"], ["O"]], iter([["O"]]), r"y_pred has 1 sequences but y_true has more"),
        ([["O"], ["O", 1]], [["O"], ["O", "O"]], r"y_true\[1\]\[1\] is 1 \(int\); expected a string"),
        ([["O"]], [[None]], r"y_pred\[0\]\[0\] is None"),
        ([["O"], ["X"]], [["O"], ["O"]], r"y_true\[1\]: labels\[0\]: 'X' is not of the scheme BIO"),
        ([["O"]], [["S-X"]], r"y_pred\[0\]: labels\[0\]: 'S-X' is not of the scheme BIO"),
        (["O", "B-X"], ["O", "B-X"], r"y_true\[0\] is 'O' \(str\).* pass \[y_true\]"),
        ("O", [["O"]], r"y_true is 'O' \(str\); expected a list"),
        ([["O"]], None, r"y_pred is None"),
        ([[["O"]]], [["O"]], r"y_true\[0\] has a label that is not hashable"),
        ([{"O"}], [["O"]], r"y_true\[0\] is \{'O'\} \(set\)"),
    ],
)
def test_bad_labels_are_refused_by_name(gold, guess, says):
    with pytest.raises(InvalidInput, match=says):
        span_scores(gold, guess)


def test_unknown_schemes_and_modes_are_refused_even_of_nothing():
    with pytest.raises(InvalidInput, match="scheme 'XYZ' is not known"):
        span_scores([], [], scheme="XYZ")
    with pytest.raises(InvalidInput, match="lenient is 'strict'"):
        span_scores([], [], lenient="strict")


@pytest.mark.parametrize(
    ("file", "n_tokens", "n_spans"),
    [("conll2000/test.txt.gz", 47377, 23852), ("conll2002/esp.testb.gz", 51533, 3559)],
)
def test_figures_of_the_shared_tasks(file, n_tokens, n_spans):
    gold = label_column(file)
    scores = evaluate(gold, gold)
    assert scores.token.n_tokens == n_tokens
    assert scores.span.overall == Score(n_spans, n_spans, n_spans)
    assert (scores.span.f1, scores.token.accuracy, scores.token.f1) == (1.0, 1.0, 1.0)


def test_wrong_guesses_on_a_shared_task_print_as_conlleval_does():
    gold = label_column("conll2000/test.txt.gz")
    names = sorted({label for labels in gold for label in labels})
    rng = np.random.default_rng(0)
    guess = [[rng.choice(names) if rng.random() < 0.1 else label for label in labels] for labels in gold]
    assert report(gold, guess) + "\n" == conlleval.report(gold, guess)
