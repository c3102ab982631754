"""`trelliswork train`: the model it writes, what it says, and how it is stopped and taken up again."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import learners, models
from trelliswork.cli import train as train_module
from trelliswork.cli.train import learner_from, train
from trelliswork.estimators.sequence_labeler import SequenceLabeler
from trelliswork.learners import crf


def tensors_of(path):
    return {name: bytes(tensor) for name, tensor in models.load(str(path))[0].items()}


def test_a_model_is_written_and_its_facts_are_told(run, small, tmp_path):
    code, out, err = run("train", small, "-o", tmp_path / "m.tw")
    assert (code, err) == (0, "")
    assert "trained CRF() on 60 sequences" in out
    assert f"{tmp_path / 'm.tw'}: " in out
    assert sorted(tw.load(tmp_path / "m.tw").predict([["2", "eggs"]])[0]) == ["B-NAME", "B-QTY"]


def test_the_facts_as_json(run, small, recipes, tmp_path):
    code, out, _ = run("train", small, "-o", tmp_path / "m.tw", "--dev", recipes[1], "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["sequences"] == 60
    assert facts["bytes"] == (tmp_path / "m.tw").stat().st_size
    assert 0.3 < facts["dev_score"] <= 1.0
    assert 1 <= facts["best_iteration"] <= facts["iterations"]
    assert facts["converged"] is True
    assert facts["interrupted"] is False


def test_quiet_says_nothing(run, small, tmp_path):
    assert run("train", small, "-o", tmp_path / "m.tw", "--quiet") == (0, "", "")


def test_what_many_labels_want_reaches_the_labeler(run, small, tmp_path):
    model = tmp_path / "m.tw"
    train = ["train", small, "-o", model, "--learner", "perceptron", "--quiet"]
    assert run(*train, "--tag-dictionary", "0.05", "--beam", "3").code == 0
    loaded = tw.load(model)
    assert (loaded.tag_dictionary, loaded.beam, loaded.label_parts) == (0.05, 3, None)
    assert 0 <= loaded.dictionary_loss_ <= 0.05
    assert run(*train, "--label-parts", "-").code == 0
    assert tw.load(model).label_parts["B-QTY"] == ["B", "QTY"]
    assert run(*train, "--tag-dictionary", "5").code == 2  # a share of labels
    code, _, err = run(*train, "--task", "segments", "--label-parts", "-")
    assert (code, "--label-parts are for --task labels" in err) == (2, True)


def test_verbose_writes_a_line_for_each_iteration_to_the_standard_error(run, small, tmp_path):
    code, out, err = run("train", small, "-o", tmp_path / "m.tw", "--verbose", "--json", "--set", "solver=lbfgs")
    lines = err.splitlines()
    assert code == 0
    assert len(lines) == json.loads(out)["iterations"]
    assert re.match(r"\S+ 1: objective [\d.,e+]+", lines[0])
    assert "tokens/s" in lines[-1]


def test_the_model_is_the_same_for_any_number_of_threads(run, small, tmp_path):
    for jobs in (1, 2, 4):
        assert run("train", small, "-o", tmp_path / f"{jobs}.tw", "--jobs", jobs, "--quiet").code == 0
    assert tensors_of(tmp_path / "1.tw") == tensors_of(tmp_path / "2.tw") == tensors_of(tmp_path / "4.tw")


def test_training_data_from_the_standard_input(run, small, tmp_path):
    assert run("train", "-", "-o", tmp_path / "a.tw", "--quiet", stdin=small.read_bytes()).code == 0
    assert run("train", small, "-o", tmp_path / "b.tw", "--quiet").code == 0
    assert tensors_of(tmp_path / "a.tw") == tensors_of(tmp_path / "b.tw")


def test_json_lines_train_the_same_model_as_columns(run, small, tmp_path):
    assert run("convert", small, tmp_path / "small.jsonl").code == 0
    assert run("train", tmp_path / "small.jsonl", "-o", tmp_path / "a.tw", "--quiet").code == 0
    assert run("train", small, "-o", tmp_path / "b.tw", "--quiet").code == 0
    assert tensors_of(tmp_path / "a.tw") == tensors_of(tmp_path / "b.tw")


def test_columns_are_chosen(run, tmp_path):
    path = tmp_path / "three.txt"
    path.write_text("B-X noise a\nO noise b\n\nB-X other a\nO other b\n" * 10)
    options = ("--columns", "2", "--label-column", "0", "--quiet")
    assert run("train", path, "-o", tmp_path / "m.tw", *options).code == 0
    assert tw.load(tmp_path / "m.tw").predict([["a", "b"]]) == [["B-X", "O"]]


def test_a_template_file_gives_the_features(run, small, tmp_path):
    template = tmp_path / "crfpp.tpl"
    template.write_text("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB\n")
    assert run("train", small, "-o", tmp_path / "m.tw", "--features", template, "--quiet").code == 0
    names = [weight.attribute for weight in tw.load(tmp_path / "m.tw").weights() if weight.attribute is not None]
    assert {name[:3] for name in names} == {"U00", "U01"}


def test_the_scheme_is_kept(run, small, tmp_path):
    assert run("train", small, "-o", tmp_path / "m.tw", "--scheme", "BIO", "--quiet").code == 0
    labeler = tw.load(tmp_path / "m.tw")
    for best in labeler.predict_kbest([["2", "eggs"]], 200)[0]:
        assert not tw.corpora.validate_labels(list(best[0]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"2 B-QTY\neggs\n", "line 2: expected 2 columns, found 1"),
        (b"2 B-QTY\n\xe9ggs B-NAME\n", "line 2: byte 0xe9"),
        (b"", "found no sentence"),
        (b"2\neggs\n", "line 1: expected a token and a label, found one column"),
        (b"2 B-QTY x\neggs\tB-NAME\n", "line 2: expected 3 columns, found 2"),
    ],
)
def test_bad_training_data_are_named_by_file_and_line(run, tmp_path, text, said):
    path = tmp_path / "bad.txt"
    path.write_bytes(text)
    code, out, err = run("train", path, "-o", tmp_path / "m.tw")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert said in err
    assert str(path) in err
    assert [item.name for item in tmp_path.iterdir()] == ["bad.txt"]


@pytest.mark.parametrize("name", ["bad.txt", "bad.jsonl"])
def test_labels_that_the_scheme_forbids_are_named_by_their_line(run, tmp_path, name):
    (tmp_path / "bad.txt").write_text("2 B-QTY\n\nsome O\neggs I-NAME\n")
    if name == "bad.jsonl":
        run("convert", tmp_path / "bad.txt", tmp_path / name)
    code, _, err = run("train", tmp_path / name, "-o", tmp_path / "m.tw", "--scheme", "BIO")
    assert code == 2
    assert f"{name}, line {4 if name == 'bad.txt' else 2}: y[1][1] is 'I-NAME'" in err
    assert "convert --to-scheme SCHEME --lenient" in err


def test_windows_line_ends_and_labels_of_any_kind(run, tmp_path):
    path = tmp_path / "odd.txt"
    path.write_bytes("2\tO 🥚\r\neggs\tB-💡\r\n\r\n2\tO 🥚\r\n".encode())
    assert run("train", path, "-o", tmp_path / "m.tw", "--separator", "tab", "--quiet").code == 0
    assert run("tag", tmp_path / "m.tw", stdin=b"2\neggs\n").out == "2\tO 🥚\neggs\tB-💡\n"


def test_labels_of_the_development_data_that_training_has_not(run, small, tmp_path):
    dev = tmp_path / "dev.txt"
    dev.write_text("2 B-NEW\n")
    code, _, err = run("train", small, "-o", tmp_path / "m.tw", "--dev", dev)
    assert code == 0
    assert err.startswith("warning: ")
    assert "B-NEW" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--set", "C=0.1"), "the learner crf has no parameter 'C'. Its parameters are l2=1.0"),
        (("--set", "l2"), "expected NAME=VALUE"),
        (("--set", "l2=-1"), "l2 must be a finite number of at least 0, not -1. Its parameters are"),
        (("--set", "solver=magic"), "solver must be one of"),
        (("--learner", "magic"), "there is no learner 'magic'"),
        (("--features", "magic"), "neither a file nor one of the ready-made sets words"),
        (("--resume",), "--resume needs --checkpoint"),
        (("--min-count", "0"), "--min-count"),
        (("--label-column", "9"), "--label-column is 9"),
    ],
)
def test_wrong_options_are_refused(run, small, tmp_path, options, said):
    code, out, err = run("train", small, "-o", tmp_path / "m.tw", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "m.tw").exists()


@pytest.mark.parametrize("output", ["-", "no/such/folder/m.tw", "."])
def test_where_no_model_can_be_written_nothing_is_trained(run, small, output):
    code, _, err = run("train", small, "-o", output)
    assert code == 2
    assert "this must be a file in a writable folder" in err


def test_values_of_parameters_are_numbers_names_and_nothing():
    learner = learner_from("crf", ["l2=1e-3", "max_iter=7", "solver=lbfgs", "step_size=none"])
    assert (learner.l2, learner.max_iter, learner.solver, learner.step_size) == (0.001, 7, "lbfgs", None)


class Rote(tw.CRF):
    """Learn by heart.

    Parameters
    ----------
    times : int, default 3
        How often to repeat.
    """

    def __init__(self, times=3):
        super().__init__()
        self.times = times


def test_help_tells_of_every_learner_and_of_the_parameters_of_one(run, monkeypatch):
    monkeypatch.setitem(learners._LEARNERS, "rote", ("crf", "Rote"))
    monkeypatch.setattr(crf, "Rote", Rote, raising=False)
    code, out, _ = run("train", "--help")
    assert code == 0
    for name in learners.names():
        assert re.search(rf"^  {name} +{re.escape(learners.summary(name)[:20])}", out, re.MULTILINE)
    assert "--learner crf, parameters for --set:" in out
    assert "times: int" not in out
    assert "For the parameters of another learner: trelliswork train --learner NAME --help" in out
    for asked in (("--learner", "rote", "--help"), ("--help", "--learner=rote")):
        code, out, _ = run("train", *asked)
        assert code == 0
        assert re.search(r"--learner rote, parameters for --set:\n  times: int +How often to repeat.  \[3\]", out)
        assert "solver" not in out


@pytest.mark.parametrize("name", learners.names())
def test_the_help_of_every_learner_has_its_parameters(run, name):
    out = run("train", "--learner", name, "--help").out.partition(f"--learner {name}, parameters for --set:")[2]
    shown = re.findall(r"^  (\w+)(?:: |  )", out, re.MULTILINE)
    assert [word for word in shown if word != "Example"] == [each.name for each in learners.parameters_of(name)]


def test_help_with_a_learner_that_nobody_knows_lists_the_others(run):
    code, out, _ = run("train", "--learner", "nobody", "--help")
    assert code == 0
    assert "Learners:\n  crf " in out
    assert "parameters for --set:" not in out
    assert run("train", "--learner").code == 2


class Stop(Exception):
    pass


def stop_after(monkeypatch, iterations):
    """Let a training run die after so many iterations, as if the machine had failed."""
    original = train_module.TrainingProgress.update

    def update(self, iteration):
        original(self, iteration)
        if iteration.number > iterations:
            raise Stop

    monkeypatch.setattr(train_module.TrainingProgress, "update", update)


@pytest.mark.parametrize("iterations", [2, 9])
@pytest.mark.parametrize("with_dev", [False, True])
def test_a_resumed_run_ends_with_the_identical_model(monkeypatch, recipes, tmp_path, iterations, with_dev):
    options = {"dev": recipes[1] if with_dev else None, "features": "words", "seed": 3, "quiet": True}
    whole = train(recipes[0], str(tmp_path / "whole.tw"), **options)
    assert whole["iterations"] > iterations
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    checkpoint = str(tmp_path / "state")
    with monkeypatch.context() as patch:
        stop_after(patch, iterations)
        with pytest.raises(Stop):
            train(recipes[0], str(tmp_path / "cut.tw"), checkpoint=checkpoint, **options)
    assert not (tmp_path / "cut.tw").exists()
    resumed = train(recipes[0], str(tmp_path / "cut.tw"), checkpoint=checkpoint, resume=True, jobs=2, **options)
    assert (resumed["iterations"], resumed["objective"]) == (whole["iterations"], whole["objective"])
    assert tensors_of(tmp_path / "whole.tw") == tensors_of(tmp_path / "cut.tw")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["cut.tw", "whole.tw"]


def test_an_interrupted_run_can_be_resumed_to_the_identical_model(run, monkeypatch, recipes, tmp_path):
    original = train_module.TrainingProgress.update

    def update(self, iteration):
        original(self, iteration)
        if iteration.number == 4:
            os.kill(os.getpid(), signal.SIGINT)

    command = ("train", recipes[0], "--features", "words", "--checkpoint", tmp_path / "state", "-o")
    assert run(*command, tmp_path / "whole.tw").code == 0
    with monkeypatch.context() as patch:
        patch.setattr(train_module.TrainingProgress, "update", update)
        code, out, err = run(*command, tmp_path / "cut.tw", "--json")
    assert code == 130
    assert json.loads(out)["interrupted"] is True
    assert "stopping; the best model so far will be kept" in err
    assert tensors_of(tmp_path / "whole.tw") != tensors_of(tmp_path / "cut.tw")
    assert run(*command, tmp_path / "cut.tw", "--resume").code == 0
    assert tensors_of(tmp_path / "whole.tw") == tensors_of(tmp_path / "cut.tw")


def test_a_checkpoint_of_another_run_is_refused(run, monkeypatch, small, tmp_path):
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    options = ("-o", tmp_path / "m.tw", "--checkpoint", tmp_path / "state", "--quiet")
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        with pytest.raises(Stop):
            run("train", small, *options)
    code, _, err = run("train", small, *options, "--resume", "--set", "l2=7")
    assert code == 2
    assert "this checkpoint is from another run: parameters was" in err
    small.write_text(small.read_text() + "\n1\tB-QTY\n")
    code, _, err = run("train", small, *options, "--resume")
    assert code == 2
    assert "training data was" in err


def test_a_file_that_is_no_checkpoint_is_refused(run, small, model, tmp_path):
    (tmp_path / "state").write_bytes(b"nothing of the kind")
    code, _, err = run("train", small, "-o", tmp_path / "m.tw", "--checkpoint", tmp_path / "state", "--resume")
    assert code == 2
    assert err.startswith(f"error: {tmp_path / 'state'}")
    code, _, err = run("train", small, "-o", tmp_path / "m.tw", "--checkpoint", model, "--resume")
    assert code == 2
    assert "this is not a checkpoint" in err


def test_resuming_without_a_checkpoint_starts_at_the_beginning(run, small, tmp_path):
    code, _, err = run("train", small, "-o", tmp_path / "m.tw", "--checkpoint", tmp_path / "state", "--resume")
    assert code == 0
    assert "training starts from the beginning" in err


def test_a_full_disk_is_an_error_of_the_work(run, monkeypatch, small, tmp_path):
    def full(*_, **__):
        raise OSError(28, "No space left on device", str(tmp_path / "m.tw"))

    monkeypatch.setattr(SequenceLabeler, "save", full)
    code, out, err = run("train", small, "-o", tmp_path / "m.tw")
    assert (code, out) == (1, "")
    assert err == f"error: {tmp_path / 'm.tw'}: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="sets the limit of a process")
def test_a_model_that_does_not_fit_leaves_the_old_one_and_nothing_else(program, small, tmp_path):
    import resource

    (tmp_path / "m.tw").write_bytes(b"the model before")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    code, out, err = program("train", small, "-o", tmp_path / "m.tw", preexec_fn=limit)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert (tmp_path / "m.tw").read_bytes() == b"the model before"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["m.tw", "small.tsv"]


def test_running_out_of_memory_is_an_error_of_the_work(run, monkeypatch, small, tmp_path):
    def empty(*_, **__):
        raise MemoryError

    monkeypatch.setattr(SequenceLabeler, "fit", empty)
    code, _, err = run("train", small, "-o", tmp_path / "m.tw")
    assert code == 1
    assert err.startswith("error: out of memory")


def test_training_needs_no_scikit_learn(small, tmp_path):
    code = (
        "import sys; from trelliswork.cli.main import main; main(sys.argv[1:]); "
        "print([name for name in ('sklearn', 'scipy', 'rich') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, "train", str(small), "-o", str(tmp_path / "m.tw"), "--quiet"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_ending_early_is_a_warning(run, small, tmp_path):
    code, _, err = run("train", small, "-o", tmp_path / "m.tw", "--set", "max_iter=2")
    assert code == 0
    assert err.startswith("warning: ")
    assert "max_iter=2" in err


def test_the_weights_are_finite(model):
    assert np.isfinite(np.asarray(models.load(model)[0]["channel.token.weights"])).all()
