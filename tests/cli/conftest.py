"""How the tests of the command line run it: in this process, and as a program of its own."""

import io
import signal
import subprocess
import sys
from importlib import resources
from typing import NamedTuple

import pytest

from trelliswork.cli.main import main
from trelliswork.cli.train import train


class Run(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def interrupts():
    """Answer SIGINT as at a terminal: what a shell starts in the background is told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(capfd, monkeypatch):
    """Run a command in this process: exit code, standard output, standard error."""

    def call(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        return Run(code, *capfd.readouterr())

    return call


@pytest.fixture(scope="session")
def program():
    """Run the program as the shell would."""

    def call(*arguments, stdin=b"", **options):
        command = [sys.executable, "-m", "trelliswork", *map(str, arguments)]
        done = subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=120, **options)
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture(scope="session")
def left_by_its_reader():
    """Run the program with a reader that goes away after the first line: exit code and standard error."""

    def call(*arguments):
        command = [sys.executable, "-m", "trelliswork", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
        process.stderr.close()
        return process.wait(), said

    return call


DATA = resources.files("trelliswork.corpora") / "data"


@pytest.fixture(scope="session")
def recipes():
    """The shipped corpus as files: where the training and the test part are."""
    return str(DATA / "ingredients.train.tsv"), str(DATA / "ingredients.test.tsv")


@pytest.fixture(scope="session")
def model(recipes, tmp_path_factory):
    """A model of the shipped corpus, trained once."""
    path = str(tmp_path_factory.mktemp("models") / "recipes.tw")
    train(recipes[0], path, features="words", quiet=True)
    return path


@pytest.fixture
def small(recipes, tmp_path):
    """The first lines of the corpus, for what is trained often."""
    path = tmp_path / "small.tsv"
    with open(recipes[0], encoding="utf-8") as file:
        path.write_text("\n\n".join(file.read().split("\n\n")[:60]) + "\n", encoding="utf-8")
    return path
