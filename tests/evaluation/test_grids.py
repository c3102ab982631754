"""Grids: all combinations, each with an estimator of its own."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput
from trelliswork.evaluation.grids import settings_of


def params(estimator, grid):
    return [setting.params for setting in settings_of(estimator, grid)]


def test_all_combinations_the_last_changing_fastest():
    grid = {"learner__C": [0.1, 1.0], "learner__k": range(1, 3)}
    assert params(tw.SequenceLabeler("pa"), grid) == [
        {"learner__C": C, "learner__k": k} for C in (0.1, 1.0) for k in (1, 2)
    ]


def test_several_grids_follow_each_other():
    grids = [{"learner": "perceptron"}, {"learner": "pa", "learner__C": np.array([1.0, 2.0])}]
    found = params(tw.SequenceLabeler(), grids)
    assert [one["learner"] for one in found] == ["perceptron", "pa", "pa"]
    assert found[2]["learner__C"] == 2.0


def test_several_estimators_have_their_names():
    found = settings_of({"a": tw.SequenceLabeler("pa"), "b": tw.HMM()}, None)
    assert [setting.params for setting in found] == [{"estimator": "a"}, {"estimator": "b"}]
    assert isinstance(found[1].estimator, tw.HMM)


def test_a_learner_of_the_grid_is_copied_for_each_setting():
    learner = tw.PassiveAggressive(C=3.0)
    grid = {"learner": [learner], "learner__epochs": [1, 2]}
    one, other = (setting.estimator.learner for setting in settings_of(tw.SequenceLabeler(), grid))
    assert (one.epochs, other.epochs, one.C) == (1, 2, 3.0)
    assert learner.epochs == 10


def test_the_estimator_is_not_changed():
    tagger = tw.SequenceLabeler(tw.Perceptron())
    settings_of(tagger, {"learner__epochs": [1], "min_count": [2]})
    assert (tagger.learner.epochs, tagger.min_count) == (10, 1)


@pytest.mark.parametrize(
    ("estimator", "grid", "message"),
    [
        (tw.SequenceLabeler("pa"), {"learner__c": [1]}, "has no parameter 'c'"),
        (tw.SequenceLabeler("pa"), {"learning": [1]}, "learning"),
        (tw.SequenceLabeler("pa"), {"learner__C": []}, "is empty"),
        (tw.SequenceLabeler("pa"), [], "grid is empty"),
        (tw.SequenceLabeler("pa"), 3, "expected a dict"),
        (tw.SequenceLabeler("pa"), [3], "expected a dict"),
        (tw.SequenceLabeler, None, "expected an estimator"),
        ({"a": "pa"}, None, r"estimator\['a'\]"),
        ({}, None, "at least one"),
    ],
)
def test_what_is_wrong_is_said(estimator, grid, message):
    with pytest.raises(InvalidInput, match=message):
        settings_of(estimator, grid)
