"""Checkpoints: every learner can keep and resume them, and a full disk under them costs no model."""

import errno
import os
import pathlib

import pytest

from trelliswork import learners, models
from trelliswork.cli import train as train_module
from trelliswork.cli.train import train


class Stop(Exception):
    pass


def tensors_of(path):
    return {name: bytes(tensor) for name, tensor in models.load(str(path))[0].items()}


@pytest.mark.filterwarnings("ignore")  # of ending early
@pytest.mark.parametrize("name", learners.names())
def test_every_learner_keeps_checkpoints_and_goes_on_from_them(monkeypatch, small, tmp_path, name):
    short = "max_iter=5" if name in ("crf", "memm") else "epochs=4"
    options = {"learner": name, "settings": [short], "quiet": True, "jobs": 1}
    train(str(small), str(tmp_path / "whole.tw"), **options)
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    original = train_module.TrainingProgress.update

    def update(self, iteration):
        original(self, iteration)
        if iteration.number > 2:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(train_module.TrainingProgress, "update", update)
        with pytest.raises(Stop):
            train(str(small), str(tmp_path / "cut.tw"), checkpoint=str(tmp_path / "state"), **options)
    assert (tmp_path / "state").exists()
    train(str(small), str(tmp_path / "cut.tw"), checkpoint=str(tmp_path / "state"), resume=True, **options)
    assert tensors_of(tmp_path / "whole.tw") == tensors_of(tmp_path / "cut.tw")


FULL = pathlib.Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full, the device that is always full")
def test_a_full_disk_under_the_checkpoint_costs_no_model(run, monkeypatch, small, tmp_path):
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    (tmp_path / "state").symlink_to(FULL)
    code, _, err = run("train", small, "-o", tmp_path / "m.tw", "--checkpoint", tmp_path / "state", "--quiet")
    assert code == 0
    assert err.count("warning: ") == 1
    assert f"{tmp_path / 'state'}: No space left on device" in err
    assert tensors_of(tmp_path / "m.tw")


def test_a_checkpoint_that_cannot_be_removed_costs_no_model(run, monkeypatch, small, tmp_path):
    unlink = os.unlink

    def refuse(path, *arguments, **options):
        if str(path).endswith("state"):
            raise OSError(errno.EACCES, "Permission denied", os.fspath(path))
        unlink(path, *arguments, **options)

    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(os, "unlink", refuse)
    code, _, err = run("train", small, "-o", tmp_path / "m.tw", "--checkpoint", tmp_path / "state", "--quiet")
    assert code == 0
    assert f"{tmp_path / 'state'}: Permission denied" in err
    assert tensors_of(tmp_path / "m.tw")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full, the device that is always full")
def test_no_space_left_names_the_file(run, small, tmp_path):
    (tmp_path / "m.tw").symlink_to(FULL)
    code, out, err = run("train", small, "-o", tmp_path / "m.tw", "--quiet")
    assert (code, out) == (1, "")
    assert err == "error: /dev/full: No space left on device\n"
    code, out, err = run("convert", small, tmp_path / "m.tw", "--to", "jsonl")
    assert (code, out) == (1, "")
    assert err.endswith("error: /dev/full: No space left on device\n")
