"""Chains of higher order and segments at the shell: trained, tagged with, scored, looked at, made smaller."""

import json

import pytest

import trelliswork as tw
from trelliswork import models

TEMPLATES = "word\nlower(word)[-1..1]\nspan: whole.word\nspan: size\nspan: before.word\n"


@pytest.fixture(params=["order 2", "segments"])
def trained(request, run, small, tmp_path):
    path = tmp_path / "model.tw"
    (tmp_path / "span.txt").write_text(TEMPLATES)
    how = (
        ["--order", "2"] if request.param == "order 2" else ["--task", "segments", "--features", tmp_path / "span.txt"]
    )
    code, out, err = run("train", small, "-o", path, *how)
    assert code == 0, err
    assert "trained CRF() on 60 sequences" in out
    return path


def test_tagging_adds_what_the_estimator_predicts(run, trained, small):
    code, out, _ = run("tag", trained, small)
    assert code == 0
    X = tw.corpora.read_table(str(small))[0]
    found = [[line.split("\t")[-1] for line in block.split("\n")] for block in out.strip().split("\n\n")]
    assert found == tw.load(trained).predict(X)
    code, out, _ = run("tag", trained, small, "--json", "--kbest", "2")
    best = json.loads(out.split("\n")[0])["kbest"]
    assert code == 0
    assert [answer["labels"] for answer in best] == [
        labels for labels, _ in tw.load(trained).predict_kbest(X[:1], 2)[0]
    ]


def test_models_are_scored_and_shown(run, trained, small):
    code, out, _ = run("eval", trained, small)
    assert code == 0
    assert "FB1" in out
    code, out, _ = run("inspect", trained)
    assert code == 0
    assert "strongest transitions" in out


def test_models_are_made_smaller(run, trained, small, tmp_path):
    code, _, err = run("convert", trained, tmp_path / "small.tw", "--weights", "float16", "--drop-names")
    assert code == 0, err
    assert (tmp_path / "small.tw").stat().st_size < 0.8 * trained.stat().st_size
    X = tw.corpora.read_table(str(small))[0]
    assert tw.load(tmp_path / "small.tw").predict(X) == tw.load(trained).predict(X)
    with pytest.raises(models.InvalidModel, match=r"a model of .*, which trelliswork.load opens"):
        models.open_model(trained)


def test_probabilities_of_tokens_are_refused_where_there_are_none(run, small, tmp_path):
    run("train", small, "-o", tmp_path / "model.tw", "--task", "segments")
    for command in (["tag", "--marginals"], ["tag", "--json", "--marginals"], ["eval", "--calibration"]):
        code, _, err = run(command[0], tmp_path / "model.tw", small, *command[1:])
        assert code != 0
        assert "this is a model of segments" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "segments", "--order", "2"], "are for --task labels"),
        (["--task", "segments", "--scheme", "BIO"], "are for --task labels"),
        (["--longest", "3"], "--longest is for --task segments"),
        (["--task", "segments", "--longest", "1"], "Raise longest to at least"),
    ],
)
def test_options_of_the_other_task_are_refused(run, small, tmp_path, options, said):
    code, _, err = run("train", small, "-o", tmp_path / "model.tw", *options)
    assert code != 0
    assert said in err
