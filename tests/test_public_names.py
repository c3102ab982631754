"""Public names are listed once: what packages load lazily, their stubs, and `__all__` agree."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import trelliswork
from trelliswork.lazy import stub_of
from trelliswork.learners.aliases import OF_THE_LABELER

PACKAGES = [
    "trelliswork",
    "trelliswork.arrow",
    "trelliswork.corpora",
    "trelliswork.evaluation",
    "trelliswork.estimators",
]
# What some modules need, and not everybody has.
EXTRAS = {"msgspec", "prometheus_client", "pyarrow", "pyspark", "spacy", "starlette", "torch", "uvicorn"}
MODULES = {"active", "arrow", "corpora", "evaluation", "factors", "models", "plots", "semirings"}


@pytest.mark.parametrize("name", PACKAGES)
def test_the_stub_is_current(name):
    package = importlib.import_module(name)
    stub = Path(package.__file__).with_suffix(".pyi").read_text()
    assert stub == stub_of(package._HOMES) + ("__version__: str\n" if name == "trelliswork" else ""), "run `make stubs`"


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_is_there_and_is_what_it_says(name):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(trelliswork.__path__, "trelliswork."):
        if module.name.startswith(name) and not module.name.startswith("trelliswork.cli"):
            import_if_possible(module.name)  # a module of the same name must not hide a function
    for public in package.__all__:
        assert inspect.ismodule(getattr(package, public)) == (public in MODULES and name == "trelliswork"), public
    assert set(package.__all__) <= set(dir(package))


def import_if_possible(module):
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] not in EXTRAS:
            raise


@pytest.mark.parametrize("name", PACKAGES)
def test_a_name_that_is_not_there(name):
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nonsense'"):
        importlib.import_module(name).nonsense  # noqa: B018


def test_importing_the_library_imports_nothing_heavy():
    code = "import sys, trelliswork; print(*{'numpy', 'scipy', 'sklearn', 'typing', 're'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert not {"numpy", "scipy", "sklearn"} & set(done.stdout.split())


def test_what_learners_know_of_the_labeler_is_true():
    assert list(inspect.signature(trelliswork.SequenceLabeler).parameters) == OF_THE_LABELER
