"""`trelliswork convert` of models: smaller ones that say the same, and what a user keeps with a model."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import models
from trelliswork.errors import InvalidInput

LINES = [["2", "ripe", "tomatoes"], ["1", "cup", "flour", ",", "sifted"]]
X, Y = [["the", "dog", "barks"], ["a", "cat"]] * 3, [["D", "N", "V"], ["D", "N"]] * 3


@pytest.mark.parametrize(("weights", "most"), [("float32", 1.0), ("float16", 0.97), ("int8", 0.95)])
def test_fewer_bytes_for_each_weight(run, model, tmp_path, weights, most):
    code, out, err = run("convert", model, tmp_path / "small.tw", "--weights", weights)
    assert (code, out) == (0, "")
    before, after = models.load(model), models.load(tmp_path / "small.tw")
    expected = models.dumps(*models.shrunk(*before, weights))
    assert (tmp_path / "small.tw").read_bytes() == expected
    assert len(expected) <= most * len(models.dumps(*before))
    assert err == f"{len(expected):,} bytes (before: {len(models.dumps(*before)):,})\n"
    assert after[1] == before[1]
    assert tw.load(tmp_path / "small.tw").predict(LINES) == tw.load(model).predict(LINES)


def test_small_weights_are_dropped_and_counted(run, model, tmp_path):
    assert run("convert", model, tmp_path / "small.tw", "--prune", "0.05", "--weights", "int8").code == 0
    small, whole = tw.load(tmp_path / "small.tw"), tw.load(model)
    dropped = [w for w in whole.weights() if w.attribute is not None and abs(w.weight) <= 0.05]
    assert dropped
    assert small.n_weights_ == whole.n_weights_ - len(dropped)
    assert len(small.weights()) == len(whole.weights()) - len(dropped)
    share = small._model.settings["training"]["known_share"] / whole._model.settings["training"]["known_share"]
    assert share == pytest.approx(small.n_attributes_ / whole.n_attributes_)
    assert json.loads(run("inspect", tmp_path / "small.tw", "--json").out)["weights"] == len(small.weights())


def test_names_are_dropped(run, model, tmp_path):
    assert run("convert", model, tmp_path / "small.tw", "--drop-names").code == 0
    tensors = models.load(tmp_path / "small.tw")[0]
    assert not any("names" in name for name in tensors)
    assert len(tensors["channel.token.codes"]) == len(models.load(model)[0]["channel.token.codes"])


def test_metadata_are_kept_shown_and_added_to(run, small, tmp_path):
    model, other = tmp_path / "m.tw", tmp_path / "other.tw"
    assert run("train", small, "-o", model, "-q", "--metadata", "data=May", "--metadata", "by=a=b").code == 0
    assert tw.load(model).metadata_ == {"data": "May", "by": "a=b"}
    assert run("convert", model, other, "--weights", "int8", "--metadata", "data=June").code == 0
    assert tw.load(other).metadata_ == {"data": "June", "by": "a=b"}
    out = run("inspect", other).out
    assert "metadata: data=June\nmetadata: by=a=b\n" in out
    assert json.loads(run("inspect", other, "--json").out)["settings"]["metadata"] == {"data": "June", "by": "a=b"}


def test_models_go_through_pipes(model, tmp_path):
    command = [sys.executable, "-m", "trelliswork", "convert", "-", "-", "--weights", "int8"]
    with open(model, "rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, check=True)
    assert tw.load(done.stdout).predict(LINES) == tw.load(model).predict(LINES)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--weights", "int4"], "int4"),
        (["--prune", "-1"], "-1"),
        (["--prune", "x"], "'x'"),
        (["--metadata", "x"], "expected KEY=VALUE"),
        (["--metadata", "x=1", "--metadata", "x=2"], "twice"),
        (["--weights", "int8", "--to", "jsonl"], "--to is for corpora"),
        (["--prune", "0", "--unlabelled"], "--unlabelled is for corpora"),
        (["--drop-names", "--separator", "tab"], "--separator is for corpora"),
    ],
)
def test_wrong_options_are_refused(run, model, tmp_path, options, told):
    code, _, err = run("convert", model, tmp_path / "small.tw", *options)
    assert code == 2
    assert told in err
    assert not (tmp_path / "small.tw").exists()


def test_what_is_no_model_is_refused(run, small, tmp_path):
    code, _, err = run("convert", small, tmp_path / "out.tw", "--weights", "int8")
    assert code == 2
    assert "no model file" in err
    models.save(tmp_path / "state", {}, {"kind": "checkpoint"})
    code, _, err = run("convert", tmp_path / "state", tmp_path / "out.tw", "--weights", "int8")
    assert code == 2
    assert "kind 'checkpoint'" in err


def committee():
    return tw.Committee(tw.SequenceLabeler("perceptron"), tw.SequenceLabeler(), folds=2)


@pytest.mark.parametrize("estimator", [tw.SequenceLabeler, committee, lambda: tw.SequenceLabeler("memm", hash_bits=8)])
@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_saving_in_fewer_bytes(estimator, precision):
    fitted = estimator().fit(X, Y)
    file = io.BytesIO()
    fitted.save(file, precision=precision, prune=0.0, metadata={"numbers": [1, 2.5, None]})
    again = tw.load(file.getvalue())
    assert again.predict(X) == fitted.predict(X)
    assert again.metadata_ == {"numbers": [1, 2.5, None]}
    assert fitted.metadata_ == {}
    code = {"float32": "f", "float16": "H", "int8": "b"}[precision]
    tensors, _ = models.loads(file.getvalue())
    assert {t.format for name, t in tensors.items() if name.endswith("channel.token.weights")} == {code}
    kept = io.BytesIO()
    again.save(kept)  # as it is, with what was said of it
    assert kept.getvalue() == file.getvalue()
    again.save(kept := io.BytesIO(), metadata={})
    assert tw.load(kept.getvalue()).metadata_ == {}
    assert again.fit(X, Y).metadata_ == {}


@pytest.mark.parametrize(
    "metadata", [[1], "x", {1: "a"}, {"a": {1, 2}}, {"a": float("nan")}, {"\ud800": 1}, {"a": np.zeros(2)}]
)
def test_metadata_must_be_what_json_can_hold(metadata, tmp_path):
    fitted = tw.SequenceLabeler().fit(X, Y)
    with pytest.raises(InvalidInput):
        fitted.save(tmp_path / "m.tw", metadata=metadata)
    with pytest.raises(InvalidInput, match="precision"):
        fitted.save(tmp_path / "m.tw", precision="int4")
    with pytest.raises(InvalidInput, match="threshold"):
        fitted.save(tmp_path / "m.tw", prune=-1.0)
    assert not (tmp_path / "m.tw").exists()


def test_a_model_of_crfsuite_is_given_templates(run, tmp_path):
    by_names = tw.SequenceLabeler().fit([[[f"w={word}"] for word in x] for x in X], Y)
    (tmp_path / "old.crfsuite").write_bytes(models.to_crfsuite(*by_names.exported()))
    (tmp_path / "names.tpl").write_text('lower(word) as "w={}"\n')
    (tmp_path / "wrong.tpl").write_text('lower(word) as "word={}"\n')
    convert = "convert", tmp_path / "old.crfsuite", tmp_path / "new.tw", "--features"
    assert run(*convert, tmp_path / "names.tpl").code == 0
    assert tw.load(tmp_path / "new.tw").predict([["THE", "dog"]]) == [["D", "N"]]
    code, _, err = run(*convert, tmp_path / "wrong.tpl")
    assert code == 2
    assert "attributes that none of the templates gives, such as 'w=" in err
    code, _, err = run("convert", tmp_path / "new.tw", tmp_path / "x.tw", "--features", tmp_path / "names.tpl")
    assert code == 2
    assert "has templates of its own" in err
