"""Model files that earlier releases wrote: they load, and give the same answers."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.models.channels import upgraded

FOLDER = Path(__file__).parent / "version_1"
ANSWERS = json.loads((FOLDER / "answers.json").read_text())


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_of_version_1_answers_as_it_did(name, mmap):
    model, expected = tw.load(FOLDER / f"{name}.tw", mmap=mmap), ANSWERS[name]
    assert model.predict(expected["X"]) == expected["labels"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.UncalibratedScores)
        marginals = model.predict_marginals(expected["X"])
    for found, rows in zip(marginals, expected["marginals"], strict=True):
        # The last bit depends on the instructions that a processor has.
        np.testing.assert_allclose(found, [[float.fromhex(p) for p in row] for row in rows], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ANSWERS)
def test_training_goes_on_from_a_file_of_version_1(name, tmp_path):
    model, expected = tw.load(FOLDER / f"{name}.tw"), ANSWERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        model.partial_fit(expected["X"], expected["labels"])
    model.save(tmp_path / "again.tw")
    assert tw.load(tmp_path / "again.tw").predict(expected["X"]) == expected["labels"]


def test_tensors_of_members_are_renamed_too():
    members = {"first": {"labels": ["A", "B"]}, "second": {"members": {"first": {"labels": ["A"]}}}}
    names = ["first.attribute.labels", "first.names.ends", "first.allowed.transitions", "second.first.pair.names.text"]
    tensors, settings = upgraded(dict.fromkeys([*names, "second.first.transitions"]), {"members": members})
    assert list(tensors) == [
        "first.channel.token.codes",
        "first.channel.token.names.ends",
        "first.allowed.transitions",
        "second.first.channel.pair.names.text",
        "second.first.channel.transitions.weights",
    ]
    assert settings["members"]["first"]["blocks"] == {"labels": 2, "transitions": 4}
