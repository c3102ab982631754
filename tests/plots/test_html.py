"""HTML for notebooks and for the report of a model."""

import html.parser

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.plots.html import bars, curves, heat_map, table


class Checked(html.parser.HTMLParser):
    """Counts elements, and checks that each is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in ("meta", "path", "rect", "polygon"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def parsed(text):
    found = Checked()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


HOSTILE = '<script>alert("1")</script>'


@pytest.mark.parametrize(
    "made",
    [
        lambda: heat_map([[1.0]], [HOSTILE], [HOSTILE], caption=HOSTILE),
        lambda: bars([(HOSTILE, 1.0)], caption=HOSTILE),
        lambda: table([(HOSTILE, HOSTILE)], caption=HOSTILE),
        lambda: curves({HOSTILE: ([1, 2], [1, 2]), "b": ([1], [1])}, x=HOSTILE, y=HOSTILE),
    ],
)
def test_names_are_never_markup(made):
    assert "script" not in parsed(made()).seen


def test_the_largest_cell_is_the_darkest_and_the_forbidden_one_is_crossed():
    text = heat_map([[2.0, 1.0], [-np.inf, -2.0]], ["a", "b"], ["c", "d"])
    assert "rgba(0,114,178,1.000)" in text
    assert "rgba(0,114,178,0.500)" in text
    assert "rgba(213,94,0,1.000)" in text
    assert parsed(text).text.count("\N{MULTIPLICATION SIGN}") == 1


def test_tables_of_nothing_and_of_zeros():
    parsed(heat_map(np.zeros((0, 0)), [], []))
    assert "nan" not in heat_map(np.zeros((2, 2)), ["a", "b"], ["c", "d"])
    parsed(curves({"one": ([], [])}, x="x", y="y"))
    assert "nan" not in curves({"one": ([1.0, 2.0], [np.nan, np.inf])}, x="x", y="y")
    assert "nan" not in curves({"one": ([1.0, 2.0], [3.0, 3.0])}, x="x", y="y")


def test_a_chain_shows_its_marginals_and_its_best_path():
    chain = tw.Chain([[2.0, 0.0], [0.0, 1.0]], np.zeros((2, 2)))
    text = chain._repr_html_()
    assert text.count("outline:2px") == 2
    assert parsed(text).seen.count("td") == 4
    assert f"{chain.marginals()[0, 0]:.2f}" in text


def test_chains_that_are_long_or_impossible_are_named():
    assert "100 positions" in tw.Chain(np.zeros((100, 2)), np.zeros((2, 2)))._repr_html_()
    assert "0 positions" in tw.Chain(np.zeros((0, 2)), np.zeros((2, 2)))._repr_html_()
    assert "Chain(" in tw.Chain([[0.0], [0.0]], [[-np.inf]])._repr_html_()


def test_a_dependency_tree_shows_its_arcs():
    arcs = np.zeros((3, 3))
    arcs[0, 2], arcs[2, 1] = 2.0, 2.0
    assert "<svg" in tw.DependencyTree(arcs)._repr_html_()
    assert "200 words" in tw.DependencyTree(np.zeros((201, 201)))._repr_html_()


def test_an_explanation_unfolds_token_by_token():
    tagger = tw.SequenceLabeler(tw.CRF(l2=0.1)).fit([["<b>", "dog"]], [["D", "N"]])
    found = parsed(tagger.explain(["<b>", "dog"])._repr_html_())
    assert found.seen.count("details") == 2
    assert "<b>: D" in found.text
