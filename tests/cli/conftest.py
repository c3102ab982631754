"""How the tests of the command line run it: in this process, and as a program of its own."""

import io
import subprocess
import sys
from typing import NamedTuple

import pytest

from trelliswork.cli.main import main


class Run(NamedTuple):
    code: int
    out: str
    err: str


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
