"""Tokens and confusions: by hand, and against counting one token at a time."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.strategies import corpora, labels_of
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import Score, confusion_table, token_scores


def tokens(gold, guess):
    return [pair for y, z in zip(gold, guess, strict=True) for pair in zip(y, z, strict=True)]


def test_worked_by_hand():
    scores = token_scores([["B-X", "I-X", "O", "O"], ["B-X"]], [["B-X", "B-X", "O", "B-X"], ["O"]])
    assert scores.accuracy == 0.4
    assert scores.inside == Score(correct=1, found=3, support=3)
    assert scores.per_label == {"B-X": Score(1, 3, 2), "I-X": Score(0, 0, 1), "O": Score(1, 2, 2)}


@given(corpora(labels_of("BIO")))
def test_equals_counting_one_by_one(drawn):
    pairs = tokens(*drawn)
    scores = token_scores(*drawn)
    assert scores.n_tokens == len(pairs)
    assert scores.n_correct == sum(a == b for a, b in pairs)
    inside = sum(a == b != "O" for a, b in pairs), sum(b != "O" for _, b in pairs), sum(a != "O" for a, _ in pairs)
    assert scores.inside == Score(*inside)
    for label, score in scores.per_label.items():
        right, found = sum(a == b == label for a, b in pairs), sum(b == label for _, b in pairs)
        assert score == Score(right, found, sum(a == label for a, _ in pairs))
    assert list(scores.per_label) == sorted({label for pair in pairs for label in pair})


@given(corpora(st.sampled_from([0, 1, 2, "O"])))
def test_confusions_equal_counting_one_by_one(drawn):
    pairs = tokens(*drawn)
    table = confusion_table(*drawn)
    for a, gold in enumerate(table.labels):
        for b, guess in enumerate(table.labels):
            assert table.counts[a, b] == pairs.count((gold, guess))
    assert table.counts.sum() == len(pairs)
    worst = table.most_frequent(100)
    assert sum(tokens for *_, tokens in worst) == sum(a != b for a, b in pairs)
    assert [tokens for *_, tokens in worst] == sorted((tokens for *_, tokens in worst), reverse=True)


def test_without_an_outside_label_f1_is_the_accuracy():
    scores = token_scores([[1, 2, 3, 3]], [[1, 2, 3, 1]])
    assert scores.accuracy == scores.precision == scores.recall == scores.f1 == 0.75
    assert token_scores([[1, 2, 3, 3]], [[1, 2, 3, 1]], outside=3).inside == Score(2, 3, 2)


def test_tokens_without_a_gold_label_are_left_out():
    scores = token_scores([["A", None], [None]], [["A", "B"], ["A"]])
    assert (scores.n_tokens, scores.accuracy, list(scores.per_label)) == (1, 1.0, ["A"])
    assert confusion_table([["A", None]], [["A", "B"]]).labels == ["A"]


def test_a_guess_of_none_is_wrong():
    scores = token_scores([["A", "A"]], [["A", None]])
    assert (scores.accuracy, scores.per_label[None]) == (0.5, Score(0, 1, 0))


@pytest.mark.parametrize("nothing", [[], [[]], [[], []], iter([])])
def test_nothing_scores_zero(nothing):
    gold = list(nothing)
    scores = token_scores(gold, gold)
    assert (scores.accuracy, scores.f1, scores.per_label) == (0.0, 0.0, {})
    assert str(scores).endswith("accuracy 0.00% of 0 tokens")
    table = confusion_table(gold, gold)
    assert (table.labels, table.counts.shape, table.most_frequent()) == ([], (0, 0), [])
    assert str(table) == "gold \\ guess"


def test_arrays_and_generators_are_taken():
    expected = token_scores([["A", "B"]], [["A", "A"]])
    assert token_scores(np.array([["A", "B"]], dtype=object), (iter(y) for y in [["A", "A"]])) == expected
    assert token_scores([np.array([1, 2])], np.array([[1, 1]])).per_label.keys() == {1, 2}


def test_as_dict_is_json():
    answer = json.loads(json.dumps(token_scores([[(1, 2), "O"]], [["O", "O"]]).as_dict()))
    assert answer["per_label"]["(1, 2)"]["support"] == 1
    assert (answer["accuracy"], answer["tokens"], answer["f1"]) == (0.5, 2, 0.0)
    answer = json.loads(json.dumps(confusion_table([["A", 1]], [["A", "A"]]).as_dict()))
    assert answer == {"labels": ["1", "A"], "counts": [[0, 1], [0, 1]]}


def test_a_large_table_shows_the_labels_with_most_errors():
    gold, guess = [list(range(50))], [[*range(48), 3, 3]]
    lines = confusion_table(gold, guess).text(max_labels=3).splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["gold", "\\", "guess", "3", "48", "49"],
        ["3", "1", ".", "."],
        ["48", "1", ".", "."],
        ["49", "1", ".", "."],
    ]
    assert lines[4] == "(47 labels with fewer errors are left out)"


def test_columns_line_up():
    lines = str(confusion_table([["long-name", "B"] * 60], [["B", "B"] * 60])).splitlines()
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize("score", [token_scores, confusion_table])
@pytest.mark.parametrize(
    ("gold", "guess", "says"),
    [
        ([["A"], ["A"]], [["A"], []], r"y_pred\[1\] has 0 labels but y_true\[1\] has 1"),
        ([["A"]], [], r"y_pred has 0 sequences but y_true has more"),
        ([1, 2], [1, 2], r"y_true\[0\] is 1 \(int\)"),
        ([[float("nan")]], [["A"]], "y_true has the label NaN"),
        ([["A"]], [[float("nan")]], "y_pred has the label NaN"),
        ({"A": 1}, [["A"]], r"y_true is \{'A': 1\} \(dict\)"),
    ],
)
def test_bad_labels_are_refused(score, gold, guess, says):
    with pytest.raises(InvalidInput, match=says):
        score(gold, guess)


@pytest.mark.parametrize("n", [-1, 1.5, True, "2"])
def test_a_wrong_number_of_confusions_is_refused(n):
    with pytest.raises(InvalidInput, match="n is"):
        confusion_table([["A"]], [["B"]]).most_frequent(n)
