"""Pictures of factor graphs: what is in them, and where."""

import numpy as np
import pytest

from trelliswork import FactorGraph, InvalidInput, factors, plots
from trelliswork.plots.graphs import layout

pytest.importorskip("matplotlib")


def test_labels_names_and_factors_are_written():
    graph = FactorGraph([[0.0, 2.0], [1.0, 0.0], [0.0, 1.0]], [(0, 1)], np.zeros((2, 2)), [factors.AtMost([0, 2], 2)])
    axes = graph.plot(names=["a", "b", "c"], label_names=["no", "yes"], title="three")
    assert [text.get_text() for text in axes.texts] == ["AtMost", "yes", "a", "no", "b", "yes", "c"]
    assert axes.get_title() == "three"
    assert len(axes.lines) == 1 + 2  # the edge, and two to the square


def test_a_path_and_a_grid_are_laid_out_as_they_are():
    path = layout(10, np.column_stack([np.arange(9), np.arange(1, 10)]))
    assert np.ptp(path, axis=0).max() == pytest.approx(9.0, rel=0.05)
    cells = np.arange(16).reshape(4, 4)
    edges = np.concatenate(
        [
            np.column_stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()]),
            np.column_stack([cells[:-1].ravel(), cells[1:].ravel()]),
        ]
    )
    places = layout(16, edges)
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)) + 9 * np.eye(16)
    assert apart.min() > 0.5  # nothing on top of each other
    assert (np.hypot(*(places[edges[:, 0]] - places[edges[:, 1]]).T) < 1.5).all()


def test_given_positions_are_kept_and_wrong_arguments_are_named():
    axes = plots.factor_graph(2, [(0, 1)], positions=[(0.0, 0.0), (5.0, 1.0)])
    assert axes.lines[0].get_xydata().tolist() == [[0.0, 0.0], [5.0, 1.0]]
    for wrong, message in (
        (dict(positions=[(0.0, 0.0)]), "positions"),
        (dict(positions=[(0.0, np.nan), (0.0, 0.0)]), "finite"),
        (dict(labels=[0]), "labels"),
        (dict(names=["a"]), "names"),
    ):
        with pytest.raises(InvalidInput, match=message):
            plots.factor_graph(2, [(0, 1)], **wrong)
    with pytest.raises(InvalidInput, match="cannot be read"):
        plots.factor_graph(10_000, [])


def test_empty_graphs_have_a_picture():
    assert len(FactorGraph([]).plot().patches) == 0
    assert len(FactorGraph(np.zeros((3, 2))).plot().patches) == 6
