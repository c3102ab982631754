"""`trelliswork eval`: scores of a file that is tagged already, and of a model."""

import json

import pytest

TAGGED = b"New B-LOC B-LOC\nYork I-LOC I-LOC\nrains O O\n\nParis B-LOC O\n"


def test_tagged_files_are_scored_as_conlleval_scores_them(run):
    code, out, err = run("eval", "--tagged", "-", stdin=TAGGED)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "processed 4 tokens with 2 phrases; found: 1 phrases; correct: 1."
    assert out.splitlines()[1] == "accuracy:  75.00%; precision: 100.00%; recall:  50.00%; FB1:  66.67"


def test_the_json_form_has_what_scripts_ask_for(run):
    scores = json.loads(run("eval", "--tagged", "--json", stdin=TAGGED).out)
    assert scores["span"]["precision"] == 1.0
    assert scores["span"]["recall"] == 0.5
    assert scores["span"]["f1"] == pytest.approx(2 / 3)
    assert scores["token"]["accuracy"] == 0.75
    assert scores["token"]["f1"] == pytest.approx(0.8)
    assert scores["per_type"]["LOC"]["support"] == 2


def test_labels_that_spell_no_spans_are_scored_as_tokens(run):
    scores = json.loads(run("eval", "--tagged", "--json", stdin=b"Rain NOUN NOUN\nfell VERB NOUN\n").out)
    assert scores["span"] is None
    assert scores["token"]["accuracy"] == 0.5


def test_the_scheme_is_found_from_the_gold_labels(run):
    scores = json.loads(run("eval", "--tagged", "--json", stdin=b"a U-X U-X\nb O O\nc U-X O\n").out)
    assert (scores["scheme"], scores["span"]["recall"]) == ("BILOU", 0.5)


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (b"", (), "found no sentence"),
        (b"a O O\nb O\n", (), "line 2: expected 3 columns, found 2"),
        (b"a DET O\n", ("--scheme", "BIO"), "Say --scheme none"),
    ],
)
def test_bad_input(run, text, arguments, said):
    code, out, err = run("eval", "--tagged", *arguments, stdin=text)
    assert (code, out) == (2, "")
    assert said in err


def test_without_a_model_and_a_file_the_command_is_wrong(run):
    assert run("eval").code == 2


def test_calibration_bins_the_marginals_of_the_model(run, model, recipes):
    bare = json.loads(run("eval", model, recipes[1], "--json").out)
    scores = json.loads(run("eval", model, recipes[1], "--json", "--calibration").out)
    calibration = scores.pop("calibration")
    assert scores == bare
    assert sum(part["count"] for part in calibration["bins"]) == calibration["tokens"] == 1754
    assert calibration["expected_calibration_error"] < 0.05
    assert "expected calibration error" in run("eval", model, recipes[1], "--calibration").out


def test_calibration_reads_its_file_twice(run, model):
    code, _, err = run("eval", model, "-", "--calibration", stdin=b"a O\n")
    assert code == 2
    assert "read twice" in err
