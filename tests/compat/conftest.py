"""A small training set, and the model file that the drop-in makes of it."""

import pytest

from trelliswork.compat import install, installed, uninstall
from trelliswork.compat.pycrfsuite import Trainer

XSEQ = [
    {"walk": 1, "shop": 0.5},
    {"walk": 1},
    {"walk": 1, "clean": 0.5},
    {"shop": 0.5, "clean": 0.5},
    {"clean": 1, "sun": b"not shining"},
    {},
    {"world": 2, "line\nend": 1},
]
YSEQ = ["sunny", "sunny", "sunny", "rainy", "rainy", "sunny", "好"]


@pytest.fixture
def xseq():
    return [dict(item) for item in XSEQ]


@pytest.fixture
def yseq():
    return list(YSEQ)


@pytest.fixture(scope="session")
def model_path(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("compat") / "model.crfsuite")
    trainer = Trainer("lbfgs", {"c2": 0.1}, verbose=False)
    trainer.append(XSEQ, YSEQ)
    trainer.train(path)
    return path


@pytest.fixture(scope="session")
def model_bytes(model_path):
    with open(model_path, "rb") as file:
        return file.read()


@pytest.fixture
def drop_ins():
    """The drop-ins in the place of the originals, for one test."""
    before = installed()
    install()
    yield
    uninstall(set(installed()) - set(before))
