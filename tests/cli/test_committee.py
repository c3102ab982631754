"""Committees at the command line: tagged, scored and inspected like any other model."""

import json

import numpy as np
import pytest

import trelliswork as tw

LINES = ["2 large eggs", "1 cup sugar , sifted"]
COLUMNS = "".join("\n".join(line.split()) + "\n\n" for line in LINES).encode()


@pytest.fixture(scope="module")
def committee(tmp_path_factory):
    corpus = tw.corpora.ingredients()
    first = tw.SequenceLabeler(tw.SDM(k=5, epochs=5), constraints="BIO", random_state=1)
    found = tw.Committee(first, tw.SequenceLabeler("crf", constraints="BIO"), folds=3)
    path = str(tmp_path_factory.mktemp("models") / "committee.tw")
    found.fit(corpus.X_train[:400], corpus.y_train[:400]).save(path)
    return path


def labels_of(out):
    return [[row.split("\t")[-1] for row in block.split("\n")] for block in out.strip("\n").split("\n\n")]


def test_lines_come_back_with_their_labels(run, committee):
    code, out, err = run("tag", committee, stdin=COLUMNS)
    assert (code, err) == (0, "")
    assert labels_of(out) == tw.load(committee).predict([line.split() for line in LINES])


def test_gold_labels_are_passed_on(run, committee):
    out = run("tag", committee, stdin=b"2\tB-QTY\neggs\tB-NAME\n").out
    labels = tw.load(committee).predict([["2", "eggs"]])[0]
    assert out == f"2\tB-QTY\t{labels[0]}\neggs\tB-NAME\t{labels[1]}\n\n"


def test_text_and_json(run, committee):
    record = json.loads(run("tag", committee, "--format", "text", "--json", "--kbest", "2", stdin=b"2 eggs\n").out)
    best = tw.load(committee).predict_kbest([["2", "eggs"]], 2)[0]
    assert record["tokens"] == ["2", "eggs"]
    assert [(each["labels"], each["log_prob"]) for each in record["kbest"]] == best


def test_probabilities_as_columns(run, committee):
    out = run("tag", committee, "--marginals", stdin=b"2\neggs\n").out
    found = tw.load(committee)
    for row, marginals in zip(out.splitlines(), found.predict_marginals([["2", "eggs"]])[0], strict=False):
        shown = dict(part.rsplit(":", 1) for part in row.split("\t")[2:])
        assert list(shown) == list(found.classes_)
        np.testing.assert_allclose([float(p) for p in shown.values()], marginals, atol=1e-6)


def test_scores_are_those_of_the_estimator(run, committee, recipes):
    scored = json.loads(run("eval", committee, recipes[1], "--json").out)
    corpus = tw.corpora.ingredients()
    assert scored["span"]["f1"] == pytest.approx(tw.load(committee).score(corpus.X_test, corpus.y_test))


def test_both_models_are_described(run, committee):
    code, out, err = run("inspect", committee, "--top", "1", "--label", "B-QTY")
    assert (code, err) == (0, "")
    assert "a committee of 2 models" in out
    assert "confidence in [1,1]: " in out
    assert "first model: " in out
    assert "learner: sdm" in out
    assert "learner: crf" in out
    facts = json.loads(run("inspect", committee, "--json", "--top", "2").out)
    assert list(facts["members"]) == ["first", "second"]
    assert facts["members"]["second"]["weights"] == len(tw.load(committee).weights())
    assert facts["settings"]["reliability"] == tw.load(committee).reliability_


def test_a_token_is_explained_by_the_prediction_of_the_first(run, committee):
    out = run("inspect", committee, "--sentence", "2 eggs", "--token", "2", "--top", "20").out
    assert "prediction[0]=B-QTY" in out


def test_a_label_that_is_not_there(run, committee):
    code, _, err = run("inspect", committee, "--label", "B-NOTHING")
    assert code == 2
    assert "the labels of" in err


def test_attributes_made_in_python_cannot_be_read_from_text(run, tmp_path):
    X, y = [[["a"], ["b"]], [["b"]]] * 2, [["A", "B"], ["B"]] * 2
    tw.Committee(tw.SequenceLabeler(), tw.SequenceLabeler(), folds=2).fit(X, y).save(tmp_path / "c.tw")
    code, _, err = run("tag", tmp_path / "c.tw", stdin=b"a\n")
    assert code == 2
    assert "made in Python" in err


def test_scikit_learn_is_not_waited_for(committee, program):
    done = program("tag", committee, stdin=b"2\neggs\n", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.code == 0
    assert "sklearn" not in done.err


def test_probabilities_of_a_locally_normalised_model_are_written(run, tmp_path):
    X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    found = tw.SequenceLabeler("memm").fit(X, y)
    found.save(tmp_path / "m.tw")
    out = run("tag", tmp_path / "m.tw", "--marginals", stdin=b"the\ncat\n").out
    p = found.predict_marginals([["the", "cat"]])[0]
    assert out.splitlines()[0] == f"the\tD\tD:{p[0, 0]:.6f}\tN:{p[0, 1]:.6f}"
