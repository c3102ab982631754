"""All scores at once, their text and their JSON."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.strategies import corpora, corpora_of_a_scheme, labels_of
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import confusion_table, evaluate, report, span_scores, token_scores


@given(corpora_of_a_scheme(), st.booleans())
def test_one_pass_gives_what_each_function_gives(drawn, lenient):
    scheme, gold, guess = drawn
    result = evaluate((iter(y) for y in gold), iter(guess), scheme, lenient)
    assert result.span == span_scores(gold, guess, scheme, lenient)
    assert result.token == token_scores(gold, guess)
    assert result.confusion.as_dict() == confusion_table(gold, guess).as_dict()


@given(corpora(labels_of("BIO")))
def test_as_dict_is_json_of_the_form_promised(drawn):
    answer = json.loads(json.dumps(evaluate(*drawn).as_dict(), allow_nan=False))
    assert {"precision", "recall", "f1"} <= answer["span"].keys()
    assert {"accuracy", "f1"} <= answer["token"].keys()
    assert all({"precision", "recall", "f1", "support"} <= score.keys() for score in answer["per_type"].values())
    assert (answer["scheme"], answer["lenient"]) == ("BIO", True)


def test_report_of_nothing_has_one_line():
    assert report([], []) == "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0."
    assert report([[]], [[]], scheme=None) == "processed 0 tokens; correct: 0."


def test_report_without_spans():
    assert report([["O", "O"]], [["O", "O"]]).splitlines() == [
        "processed 2 tokens with 0 phrases; found: 0 phrases; correct: 0.",
        "accuracy: 100.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00",
    ]


def test_labels_that_spell_no_spans():
    result = evaluate([["DT", "NN"]], [["DT", "VB"]], scheme=None)
    assert str(result) == result.report() == "processed 2 tokens; correct: 1.\naccuracy:  50.00%"
    assert result.as_dict()["span"] is None
    assert result.as_dict()["token"]["accuracy"] == 0.5
    with pytest.raises(InvalidInput, match=r"y_true\[0\]: labels\[0\]: 'DT' is not of the scheme BIO"):
        evaluate([["DT", "NN"]], [["DT", "VB"]])


def test_token_line_counts_what_is_not_outside():
    result = evaluate([["B-X", "_"]], [["B-X", "B-X"]], scheme=None, outside="_")
    assert (result.token.precision, result.token.recall) == (0.5, 1.0)


def test_import_is_light():
    code = "import sys, trelliswork.evaluation; print(*{'sklearn', 'scipy', 'matplotlib'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == ""
