"""Every command with each standard stream closed, a full disk behind the standard output, and a reader that goes away.

One process loads everything and forks for each case: what a case does to its descriptors is what a shell would have
done before it started the program.
"""

import json
import os
import subprocess
import sys

import pytest

DRIVER = r"""
import gc, json, os, shutil, sys, tempfile, traceback
import numpy, matplotlib.figure, sklearn.base
import trelliswork as tw
from trelliswork.cli import bench, compare, convert, cv, demo, eval, inspect, tag, train
from trelliswork.cli.main import main
import trelliswork.estimators.sequence_labeler

few = tw.corpora.Corpus(*(part[:30] for part in tw.corpora.ingredients()))
tw.corpora.ingredients = lambda: few  # what demo and bench train on
bench.COPIES = 1


def child(arguments, how, inputs, out, err):
    for number, path in ((0, inputs), (1, out), (2, err)):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(path, flags, 0o600), number)
    streams = [open(number, mode, closefd=False) for number, mode in enumerate("rww")]
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = streams
    if how in ("stdin", "stdout", "stderr"):  # what Python does when it starts with a stream closed
        os.close(("stdin", "stdout", "stderr").index(how))
        setattr(sys, how, None)
        setattr(sys, f"__{how}__", None)
    elif how == "full":
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    elif how == "pipe":
        reading, writing = os.pipe()
        os.dup2(writing, 1)
        os.close(writing)
        os.close(reading)
    code = main(arguments)
    try:  # as the interpreter does when it ends, which takes longer
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        code = 120
    os._exit(code)


gc.disable()
gc.freeze()
for line in iter(sys.stdin.readline, ""):
    case = json.loads(line)
    folder = tempfile.mkdtemp()
    out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
    process = os.fork()
    if process == 0:
        os.chdir(folder)
        try:
            child(case["arguments"], case["how"], case["input"], out, err)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    status = os.waitpid(process, 0)[1]
    texts = [open(path).read() for path in (out, err)]
    shutil.rmtree(folder)
    print(json.dumps([os.waitstatus_to_exitcode(status), *texts]), flush=True)
"""


@pytest.fixture(scope="module")
def forked():
    """Run a command in a process of its own, its streams as a shell may have left them: exit code, output, errors."""
    process = subprocess.Popen([sys.executable, "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(arguments, how, source=os.devnull):
        case = {"arguments": [str(word) for word in arguments], "how": how, "input": str(source)}
        process.stdin.write(json.dumps(case) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield call
    process.communicate()


@pytest.fixture(scope="module")
def files(tmp_path_factory, recipes, model):
    """The files that the commands need."""
    folder = tmp_path_factory.mktemp("streams")
    with open(recipes[0], encoding="utf-8") as file:
        few = "\n\n".join(file.read().split("\n\n")[:20]) + "\n"
    (folder / "few.tsv").write_text(few)
    (folder / "tagged.tsv").write_text("".join(f"{line}\tO\n" if line else "\n" for line in few.splitlines()))
    return {"few": folder / "few.tsv", "tagged": folder / "tagged.tsv", "model": model}


# What is run, and what of it uses the standard input and output.
COMMANDS = {
    "--help": ("--help", "", "out"),
    "--version": ("--version", "", "out"),
    "train --help": ("train --help", "", "out"),
    "train": ("train {few} -o m.tw --set max_iter=3", "", "out"),
    "train, quiet": ("train {few} -o m.tw --set max_iter=3 -q", "", ""),
    "train, from a pipe": ("train - -o m.tw --set max_iter=3 --verbose", "few", "out"),
    "tag": ("tag {model} {few}", "", "out"),
    "tag, from a pipe": ("tag {model}", "few", "out"),
    "tag, text": ("tag {model} --format text", "few", "out"),
    "tag --json": ("tag {model} --json", "few", "out"),
    "tag --kbest": ("tag {model} --kbest 2", "few", "out"),
    "tag --marginals": ("tag {model} --marginals", "few", "out"),
    "eval": ("eval {model} -", "few", "out"),
    "eval --calibration": ("eval {model} {few} --calibration", "", "out"),
    "eval --tagged": ("eval --tagged --json", "tagged", "out"),
    "compare": ("compare {tagged} - --samples 10", "tagged", "out"),
    "compare --test": ("compare {model} {model} --test {few} --samples 10", "", "out"),
    "cv": ("cv - --learner pa --set epochs=1 --folds 2", "few", "out"),
    "inspect": ("inspect {model}", "", "out"),
    "inspect --explain": ("inspect {model} --explain - --columns 0", "few", "out"),
    "convert": ("convert", "few", "out"),
    "convert to a file": ("convert {few} new.jsonl", "", ""),
    "demo": ("demo pictures", "", "out"),
    "bench": ("bench --json", "", "out"),
}


@pytest.mark.parametrize("how", ["nothing", "stdin", "stdout", "stderr", "full", "pipe"])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_with_each_stream_closed(name, how, forked, files):
    text, reads, writes = COMMANDS[name]
    arguments = [word.format(**files) for word in text.split()]
    code, out, err = forked(arguments, how, files[reads] if reads else os.devnull)
    complaints = [line for line in err.splitlines() if line.startswith(("error:", "Exception", "Error"))]
    assert "Traceback" not in err
    assert "Traceback" not in out
    if how == "stdin" and reads:
        assert (code, out) == (2, "")
        assert complaints == ["error: <stdin>: the standard input is closed. Name a file to read."]
    elif how in ("stdout", "full") and writes:
        reason = "Bad file descriptor" if how == "stdout" else "No space left on device"
        assert (code, complaints) == (1, [f"error: <stdout>: {reason}"])
    elif how == "pipe" and writes:
        assert (code, complaints) == (141, [])
    else:
        assert (code, complaints) == (0, [])
        assert bool(out) == bool(writes and how not in ("stdout", "full", "pipe"))


@pytest.mark.parametrize("how", ["stdin", "stdout", "stderr"])
def test_an_error_is_told_with_each_stream_closed(how, forked):
    code, out, err = forked(["convert", "no/such/file"], how)
    assert (code, out) == (2, "")
    assert err == ("" if how == "stderr" else "error: no/such/file: No such file or directory\n")


def test_the_shell_itself_closes_them(files):
    """The same once with a shell, so that the cases above are known to be what a shell does."""

    def shell(redirection):
        line = f"{sys.executable} -m trelliswork convert {redirection}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    few = files["few"]
    assert shell("<&-") == (2, "", "error: <stdin>: the standard input is closed. Name a file to read.\n")
    assert shell(f"{few} >&-") == (1, "", "error: <stdout>: Bad file descriptor\n")
    assert shell(f"{few} - 2>&- >/dev/null") == (0, "", "")
    assert shell(f"{few} >/dev/full") == (1, "", "error: <stdout>: No space left on device\n")
    assert shell(f"{few} | head -n 1")[1:] == ("Scant\tB-SIZE\n", "20 sentences\n")
