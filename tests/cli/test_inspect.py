"""`trelliswork inspect`: what is in a model, and why a token has its label."""

import json

import pytest

import trelliswork as tw


def test_the_labels_and_the_strongest_weights_are_shown(run, model):
    code, out, err = run("inspect", model, "--top", "3")
    assert (code, err) == (0, "")
    for label in tw.load(model).classes_:
        assert f"\n{label}\n" in out
    assert "strongest transitions" in out


def test_the_json_form(run, model):
    facts = json.loads(run("inspect", model, "--json", "--top", "2").out)
    labeler = tw.load(model)
    assert facts["labels"] == list(labeler.classes_)
    assert len(facts["transitions"]) == 2
    assert all(len(weights) == 2 for weights in facts["top"].values())
    strongest = [abs(weight) for _, weight in facts["top"]["B-QTY"]]
    assert strongest == sorted(strongest, reverse=True)
    assert facts["weights"] > 1000


def test_one_label(run, model):
    out = run("inspect", model, "--label", "B-QTY").out
    assert "\nB-QTY\n" in out
    assert "\nB-NAME\n" not in out


def test_a_label_that_is_not_there(run, model):
    code, _, err = run("inspect", model, "--label", "B-NOTHING")
    assert code == 2
    assert "the labels of" in err


def test_a_sentence_is_explained(run, model):
    out = run("inspect", model, "--sentence", "2 large eggs").out
    heads = [line.split()[:2] for line in out.splitlines() if not line.startswith(" ")]
    assert heads == [["2", "B-QTY"], ["large", "B-SIZE"], ["eggs", "B-NAME"]]


@pytest.mark.parametrize("token", ["eggs", "1"])
def test_one_token_is_explained(run, model, token):
    parts = json.loads(run("inspect", model, "--sentence", "large eggs", "--token", token, "--json").out)
    (explained,) = parts[0]["tokens"]
    assert explained["token"] == "eggs"
    assert sum(explained["marginals"].values()) == pytest.approx(1.0)
    assert explained["contributions"]


def test_a_file_is_explained(run, model):
    out = run("inspect", model, "--explain", "-", "--token", "eggs", stdin=b"2\neggs\n\n3\neggs\n").out
    assert [line.split()[0] for line in out.splitlines() if line and not line.startswith(" ")] == ["eggs", "eggs"]


def test_a_token_that_is_not_there(run, model):
    code, _, err = run("inspect", model, "--sentence", "2 eggs", "--token", "milk")
    assert code == 2
    assert "--token milk: no sentence has this token" in err


def test_no_token_to_explain(run, model):
    assert run("inspect", model, "--explain", "-", stdin=b"").code == 2
