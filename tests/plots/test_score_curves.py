"""Curves of scores: what is drawn is what was given."""

from itertools import pairwise

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import cross_validate, learning_curve
from trelliswork.plots import Curve, score_curves

CORPUS = tw.corpora.ingredients()
X, Y = list(CORPUS.X_train[:60]), list(CORPUS.y_train[:60])


def lines(axes):
    """Each line by name: x and y."""
    return {
        label: tuple(np.asarray(part, dtype=float) for part in handle[0].get_data())
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }


@pytest.fixture(scope="module")
def result():
    grid = {"learner__C": [1.0, 0.001], "learner__epochs": [1, 3]}
    return cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2, grid=grid, curves=True)


def test_lines_are_drawn_as_given():
    axes = score_curves({"a": ([1, 2, 3], [4.0, 5.0, 6.0]), "b": Curve([1, 2], [7.0, 8.0])}, "epochs", "F1")
    found = lines(axes)
    assert found["a"][1].tolist() == [4.0, 5.0, 6.0]
    assert found["b"][0].tolist() == [1, 2]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epochs", "F1")


def test_lines_differ_in_colour_marker_and_dashes():
    axes = score_curves({str(i): ([0, 1], [i, i]) for i in range(7)})
    drawn = [handle[0] for handle in axes.get_legend_handles_labels()[0]]
    assert len({line.get_color() for line in drawn}) == 7
    assert len({line.get_marker() for line in drawn}) == 7
    assert all(a.get_linestyle() != b.get_linestyle() for a, b in pairwise(drawn))


def test_a_single_line_without_a_name_has_no_legend():
    assert score_curves({"": ([1, 2], [3.0, 4.0])}).get_legend() is None


@pytest.mark.parametrize(
    ("x", "scale"), [([0.001, 0.1, 10.0], "log"), ([1, 5, 10], "linear"), ([0.0, 10.0, 100.0], "linear")]
)
def test_powers_of_ten_are_spread_by_their_logarithms(x, scale):
    assert score_curves({"": (x, [1.0, 2.0, 3.0])}).get_xscale() == scale


def test_values_that_are_no_numbers_have_their_names_below():
    axes = score_curves({"": (["pa", "crf"], [1.0, 2.0])})
    assert [text.get_text() for text in axes.get_xticklabels()] == ["pa", "crf"]


def test_deviations_are_bars_of_few_lines_only():
    few = score_curves({"a": ([1, 2], [3.0, 4.0], [0.5, 0.5])})
    many = score_curves({str(i): ([1, 2], [3.0, 4.0], [0.5, 0.5]) for i in range(4)})
    assert few.containers[0].has_yerr
    assert not many.containers[0].has_yerr
    assert score_curves({str(i): ([1], [3.0], [0.5]) for i in range(4)}, bars=True).containers[3].has_yerr


def test_it_draws_where_it_is_told():
    axes = score_curves({"a": ([1, 2], [3.0, 4.0])})
    assert score_curves({"b": ([1, 2], [5.0, 6.0])}, ax=axes) is axes
    assert set(lines(axes)) == {"a", "b"}


def test_scores_against_a_parameter(result):
    axes = result.plot("learner__C", measure="token_f1")
    found = lines(axes)
    assert set(found) == {"epochs=1", "epochs=3"}
    assert found["epochs=3"][0].tolist() == [0.001, 1.0]
    expected = [100 * result.candidates[i].scores["token_f1"].mean() for i in (3, 1)]
    np.testing.assert_allclose(found["epochs=3"][1], expected)


def test_scores_against_iterations_are_means_over_the_folds(result):
    found = lines(result.plot("iteration"))
    assert set(found) == {"C=1", "C=0.001"}  # settings that differ in epochs are one line
    x, y = found["C=1"]
    assert x.tolist() == [1, 2, 3]
    expected = [100 * np.mean([curve[i]["f1"] for curve in result.candidates[1].curves]) for i in range(3)]
    np.testing.assert_allclose(y, expected)


def test_scores_against_seconds(result):
    x, _ = lines(result.plot("seconds"))["C=1"]
    assert (np.diff(x) > 0).all()


def test_a_learning_curve_is_drawn_against_its_sizes():
    curve = learning_curve({"pa": tw.SequenceLabeler("pa"), "hmm": tw.HMM()}, X, Y, sizes=[10, 30], folds=2)
    found = lines(curve.plot())
    assert set(found) == {"pa", "hmm"}
    assert found["hmm"][0].tolist() == [10, 30]


@pytest.mark.parametrize(
    ("how", "message"), [({"x": "learner__k"}, "learner__epochs"), ({"measure": "recall"}, "token_f1")]
)
def test_what_cannot_be_drawn_is_refused(result, how, message):
    with pytest.raises(InvalidInput, match=message):
        result.plot(**how)


def test_iterations_need_curves():
    plain = cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2)
    with pytest.raises(InvalidInput, match="curves=True"):
        plain.plot("iteration")


@pytest.mark.parametrize("curves", [{}, {"a": ([1, 2], [1.0])}, {"a": ([1], [1.0], [])}])
def test_wrong_curves_are_refused(curves):
    with pytest.raises(InvalidInput, match="curves"):
        score_curves(curves)
