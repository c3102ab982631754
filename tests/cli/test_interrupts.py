"""Ctrl-C at every moment of `trelliswork train`: the best model so far is kept if there is one; the code is 130."""

import io
import os
import signal
import subprocess
import sys
import time

import pytest

import trelliswork as tw
from trelliswork import models
from trelliswork.cli import interrupt as interrupt_module
from trelliswork.cli import main as main_module
from trelliswork.cli import train as train_module
from trelliswork.cli.checkpoint import Checkpoint
from trelliswork.cli.main import main
from trelliswork.cli.progress import TrainingProgress
from trelliswork.estimators.sequence_labeler import SequenceLabeler
from trelliswork.training import examples as examples_module
from trelliswork.training.monitor import Monitor
from trelliswork.training.sequence_examples import SequenceExamples


def interrupt_at(monkeypatch, owner, name, call=1, times=1):
    """Let Ctrl-C come when a function is called for the n-th time, before it does its work."""
    original = getattr(owner, name)
    calls = []

    def interrupted(*arguments, **options):
        calls.append(None)
        if len(calls) == call:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupted)
    return calls


WITH_A_MODEL = {
    "the first iteration is judged": (Monitor, "_progress", 1),
    "the first iteration is told": (TrainingProgress, "update", 1),
    "a later iteration is told": (TrainingProgress, "update", 4),
    "an iteration is scored": (Monitor, "_judge", 3),
    "a checkpoint is written": (Checkpoint, "offer", 2),
    "training has ended": (SequenceLabeler, "_keep", 1),
    "the model is made": (SequenceExamples, "model", 1),
    "the model is written": (SequenceLabeler, "save", 1),
    "the checkpoint is removed": (Checkpoint, "remove", 1),
}


@pytest.mark.parametrize("moment", WITH_A_MODEL)
@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_keeps_the_model_when(run, monkeypatch, small, tmp_path, moment, times):
    owner, name, call = WITH_A_MODEL[moment]
    calls = interrupt_at(monkeypatch, owner, name, call, times)
    code, out, err = run("train", small, "-o", tmp_path / "m.tw", "--dev", small, "--checkpoint", tmp_path / "state")
    assert len(calls) >= call
    assert code == 130, err
    assert f"interrupted: the best model so far is in {tmp_path / 'm.tw'}" in err
    assert f"{tmp_path / 'm.tw'}: " in out
    assert tw.load(tmp_path / "m.tw").predict([["2", "eggs"]])[0][0] == "B-QTY"
    assert {item.name for item in tmp_path.iterdir()} <= {"small.tsv", "m.tw", "state"}


WITHOUT_A_MODEL = {
    "the corpus is read": (train_module, "read_labelled"),
    "the examples are numbered": (SequenceExamples, "_read"),
    "the development data are read": (SequenceExamples, "problem"),
    "the learner is made": (examples_module, "checked_learner"),
}


@pytest.mark.parametrize("moment", WITHOUT_A_MODEL)
def test_an_interrupt_ends_the_program_when(run, monkeypatch, small, tmp_path, moment):
    interrupt_at(monkeypatch, *WITHOUT_A_MODEL[moment])
    before = signal.getsignal(signal.SIGINT)
    code, out, err = run("train", small, "-o", tmp_path / "m.tw", "--checkpoint", tmp_path / "state")
    assert (code, out, err) == (130, "", "interrupted before a model was written\n")
    assert [item.name for item in tmp_path.iterdir()] == ["small.tsv"]
    assert signal.getsignal(signal.SIGINT) == before


class InterruptedWrites(io.FileIO):
    """A file in which one write, of a certain text, is interrupted, as the system call may be."""

    awaited: bytes | None = b" 2: objective"

    def write(self, data):
        if self.awaited is not None and self.awaited in bytes(data):
            self.awaited = None
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(data)


def test_an_interrupt_in_the_midst_of_a_print_is_an_interrupt(monkeypatch, small, tmp_path):
    """A buffered stream cannot be entered twice: printing from a signal handler once ended in a traceback here."""
    log = tmp_path / "log"
    with io.TextIOWrapper(io.BufferedWriter(InterruptedWrites(str(log), "w")), line_buffering=True) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        code = main(["train", str(small), "-o", str(tmp_path / "m.tw"), "--verbose"])
        monkeypatch.undo()
    assert code == 130, log.read_text()
    assert "stopping; the best model so far will be kept" in log.read_text()
    assert (tmp_path / "m.tw").exists()


def test_the_third_interrupt_does_not_wait(run, monkeypatch, small, tmp_path):
    interrupt_at(monkeypatch, SequenceLabeler, "save", times=3)
    code, _, err = run("train", small, "-o", tmp_path / "m.tw")
    assert code == 130
    assert err.splitlines() == [
        "stopping; the best model so far will be kept",
        "finishing the current step; press Ctrl-C again to end at once, perhaps without a model",
        "interrupted before a model was written",
    ]
    assert [item.name for item in tmp_path.iterdir()] == ["small.tsv"]


def test_an_interrupt_that_turns_into_another_error_is_an_interrupt(run, monkeypatch, small, tmp_path):
    """Modules written in C answer an interrupt while they are loaded with an ImportError."""

    def fail(*_):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        except KeyboardInterrupt:
            raise ImportError("multiarray failed to import") from None

    command = ("train", small, "-o", tmp_path / "m.tw")
    with monkeypatch.context() as patch:
        patch.setattr(train_module, "read_labelled", fail)
        assert run(*command)[::2] == (130, "interrupted\n")
    monkeypatch.setattr(SequenceExamples, "_read", fail)
    assert run(*command)[::2] == (130, "interrupted before a model was written\n")


def test_errors_of_the_work_stay_what_they_are(run, monkeypatch, small, tmp_path):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(SequenceExamples, "_read", fail)
    with pytest.raises(ZeroDivisionError):
        run("train", small, "-o", tmp_path / "m.tw")


def test_other_commands_say_that_they_were_interrupted(run, monkeypatch, small, tmp_path):
    from trelliswork.cli import convert

    interrupt_at(monkeypatch, convert, "convert")
    code, out, err = run("convert", small, tmp_path / "other.jsonl")
    assert (code, out, err.strip()) == (130, "", "interrupted")
    assert [item.name for item in tmp_path.iterdir()] == ["small.tsv"]


def test_an_interrupt_while_the_program_is_loaded_is_no_traceback(monkeypatch, capsys):
    from trelliswork.__main__ import program

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "main", interrupted)
    assert program() == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_a_thread_that_gets_no_signals_can_train(small, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as pool:
        facts = pool.submit(train_module.train, str(small), str(tmp_path / "m.tw"), quiet=True).result()
        assert facts["interrupted"] is False
        assert pool.submit(main, ["--version"]).result() == 0


def test_nobody_to_tell_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    interrupt = interrupt_module.Interrupt()
    interrupt.kept = True
    interrupt.arrived()
    interrupt.over()
    assert interrupt.asked


LONG = ("--set", "solver=lbfgs", "--set", "tol=0", "--set", "l2=1e-9")  # over a hundred iterations


@pytest.fixture
def endless(recipes, tmp_path):
    """A training run that goes on until it is stopped, as a program of its own; it has begun when this returns.

    What it writes is read no further, and there is little room for more: it waits for its reader before it converges.
    """
    command = [sys.executable, "-m", "trelliswork", "train", recipes[0], "-o", str(tmp_path / "m.tw"), "--verbose"]
    command += ["--checkpoint", str(tmp_path / "state"), *LONG]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1, pipesize=4096
    )
    for line in process.stderr:
        if " 5: " in line:
            break
    yield process
    process.kill()
    process.stdout.close()
    process.stderr.close()
    process.wait()


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_an_interrupted_program_keeps_the_best_model_so_far(endless, tmp_path, seconds):
    time.sleep(seconds)  # later it is certain to wait for its reader, in the midst of a print
    os.kill(endless.pid, signal.SIGINT)
    out, err = endless.communicate(timeout=60)
    assert endless.returncode == 130, err
    assert f"interrupted: the best model so far is in {tmp_path / 'm.tw'}" in err
    assert "Traceback" not in err
    assert "stopped" in out
    assert tw.load(tmp_path / "m.tw").predict([["2", "eggs"]])[0][0] == "B-QTY"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["m.tw", "state"]


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.05])
def test_a_killed_run_leaves_a_whole_checkpoint(recipes, tmp_path, seconds):
    """One that writes its checkpoint after every iteration, so that it is killed in the midst of it as a rule."""
    code = "import sys; from trelliswork.cli import main, train; train.CHECKPOINT_SECONDS = 0; main.main(sys.argv[1:])"
    options = ["-o", str(tmp_path / "m.tw"), "--checkpoint", str(tmp_path / "state"), "--quiet", *LONG]
    process = subprocess.Popen([sys.executable, "-c", code, "train", recipes[0], *options])
    while not (tmp_path / "state").exists():
        assert process.poll() is None
        time.sleep(0.001)
    time.sleep(seconds)
    process.kill()
    process.wait()
    assert not (tmp_path / "m.tw").exists()
    tensors, settings = models.load(str(tmp_path / "state"))
    assert settings["kind"] == "checkpoint"
    assert "learner.run" in tensors
