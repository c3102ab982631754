"""All scores at once, their text and their JSON."""

import json
import re
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluation.strategies import corpora, corpora_of_a_scheme, labels_of
from trelliswork.corpora import suggest_scheme
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import Score, confusion_table, evaluate, report, span_scores, token_scores


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
    assert str(result) == result.report()
    assert result.report().splitlines() == [
        "processed 2 tokens; correct: 1.",
        "accuracy:  50.00%",
        "label  precision  recall      f1  support",
        "DT        100.00  100.00  100.00        1",
        "NN          0.00    0.00    0.00        1",
        "VB          0.00    0.00    0.00        0",
    ]
    assert result.as_dict()["per_label"]["DT"] == Score(1, 1, 1).as_dict()
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


LABELS = ["O", "B-X", "I-X", "E-X", "S-X", "L-X", "U-X", "M-X", "B-Y", "I-Y", "DT", "B-", "X"]
any_labels = st.lists(
    st.integers(0, 4).flatmap(
        lambda n: st.tuples(*[st.lists(st.sampled_from(LABELS), min_size=n, max_size=n) for _ in range(2)])
    ),
    max_size=6,
)


def whole(gold, guess):
    """What was done before anything was counted on the way: all gold labels first, then the scores."""
    fitting = suggest_scheme(gold)
    form = all(label == "O" or label[:2] in ("B-", "I-") for labels in gold for label in labels)
    return fitting[0] if fitting else "BIO" if form else None


@given(any_labels, st.booleans())
@example([(["O"], ["O"]), (["I-X"], ["I-X"]), (["B-X"], ["B-X"])], True)  # none fits, but they have the form of BIO
@example([(["O"], ["DT"]), (["B-X", "E-X"], ["O", "O"])], True)  # a wrong guess before the scheme is known
def test_a_scheme_found_on_the_way_is_that_of_all_gold_labels(corpus, lenient):
    gold, guess = [list(pair[0]) for pair in corpus], [list(pair[1]) for pair in corpus]
    try:
        expected = evaluate(gold, guess, whole(gold, guess), lenient).as_dict()
    except InvalidInput as error:
        with pytest.raises(InvalidInput, match=f"^{re.escape(str(error))}$"):
            evaluate(gold, guess, "auto", lenient)
    else:
        assert evaluate(gold, guess, "auto", lenient).as_dict() == expected
