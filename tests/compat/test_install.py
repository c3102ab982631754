"""Drop-ins in the place of the originals: by name, in programs that do not know, in processes that these start."""

import importlib
import os
import subprocess
import sys

import pytest

from trelliswork import compat
from trelliswork.errors import InvalidInput

MODULES = (
    "pycrfsuite",
    "pycrfsuite._pycrfsuite",
    "pycrfsuite._logparser",
    "pycrfsuite._dumpparser",
    "sklearn_crfsuite",
    "sklearn_crfsuite.estimator",
    "sklearn_crfsuite.metrics",
    "sklearn_crfsuite.scorers",
    "sklearn_crfsuite.utils",
    "sklearn_crfsuite.trainer",
    "sklearn_crfsuite.compat",
    "sklearn_crfsuite._fileresource",
)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_of_the_originals_is_found(drop_ins, name):
    module = importlib.import_module(name)
    assert module is importlib.import_module(f"trelliswork.compat.{name}")
    assert module.__name__ == f"trelliswork.compat.{name}"


def test_classes_are_at_home_in_trelliswork(drop_ins):
    import pycrfsuite
    import sklearn_crfsuite

    for kind in (pycrfsuite.Trainer, pycrfsuite.Tagger, pycrfsuite.ItemSequence, sklearn_crfsuite.CRF):
        assert kind.__module__.startswith("trelliswork.compat.")


def test_what_the_originals_do_not_have_is_not_found(drop_ins):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("pycrfsuite.nothing")


def test_uninstalling():
    compat.install("pycrfsuite")
    assert compat.installed() == ("pycrfsuite",)
    assert "pycrfsuite" in sys.modules or importlib.import_module("pycrfsuite")
    compat.uninstall("pycrfsuite")
    assert compat.installed() == ()
    assert "pycrfsuite" not in sys.modules
    try:
        import pycrfsuite
    except ModuleNotFoundError:
        return
    assert not pycrfsuite.Tagger.__module__.startswith("trelliswork")


def test_unknown_names():
    with pytest.raises(InvalidInput, match="no drop-in for seqlearn"):
        compat.install(["seqlearn"])


PROGRAM = """
import multiprocessing, sys

def home(_):
    import pycrfsuite, sklearn_crfsuite.estimator
    return pycrfsuite.Tagger.__module__, sklearn_crfsuite.estimator.CRF.__module__

if __name__ == "__main__":
    import pycrfsuite
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        [there] = pool.map(home, [0])
    print(*home(0), *there, *sys.argv[1:])
"""
HOMES = ("trelliswork.compat.pycrfsuite._pycrfsuite", "trelliswork.compat.sklearn_crfsuite.estimator")


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(*words, **environment):
    done = subprocess.run(
        [sys.executable, *map(str, words)], env=os.environ | environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_program_that_does_not_know_and_its_workers(program):
    assert run("-m", "trelliswork.compat", program, "one", "--two") == [*HOMES, *HOMES, "one", "--two"]


def test_a_module_as_a_program(program, monkeypatch):
    monkeypatch.chdir(program.parent)
    assert run("-m", "trelliswork.compat", "-m", "program") == [*HOMES, *HOMES]


def test_the_shim_folder(program):
    assert run(program, "x", PYTHONPATH=str(compat.shim_folder())) == [*HOMES, *HOMES, "x"]


def test_without_a_program():
    done = subprocess.run([sys.executable, "-m", "trelliswork.compat"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("usage:")
    assert run("-m", "trelliswork.compat", "--help")[0] == "usage:"


def test_the_exit_code_is_that_of_the_program(tmp_path):
    path = tmp_path / "fails.py"
    path.write_text("raise SystemExit(3)")
    done = subprocess.run([sys.executable, "-m", "trelliswork.compat", str(path)], timeout=60)
    assert done.returncode == 3
