"""What is in the picture: the best path, every usable edge, what is forbidden hollow, texts in their places."""

import io
import sys

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput, TrellisworkError, Unsatisfiable
from trelliswork.plots import trellis

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

INF = np.inf


def random_chain(n_positions, n_labels, seed=0):
    rng = np.random.default_rng(seed)
    return tw.Chain(rng.normal(size=(n_positions, n_labels)), rng.normal(size=(n_labels, n_labels)))


def part(ax, name):
    """The one artist of this name, or None."""
    found = [artist for artist in ax.get_children() if artist.get_gid() == name]
    assert len(found) <= 1
    return found[0] if found else None


def nodes(ax, name):
    """The (position, label) pairs of the nodes drawn in this way."""
    return {tuple(map(int, xy)) for xy in part(ax, name).get_offsets()}


def edges(ax):
    return {tuple(map(int, np.ravel(line))) for line in part(ax, "edges").get_segments()}


def rendered(ax):
    file = io.BytesIO()
    ax.figure.savefig(file, format="png")
    return file.getvalue()


# The path.


@pytest.mark.parametrize(
    ("n_positions", "n_labels"), [(1, 1), (1, 4), (2, 2), (4, 2), (8, 5), (6, 1), (30, 12), (35, 14)]
)
def test_the_bold_path_is_the_best_labelling(n_positions, n_labels):
    chain = random_chain(n_positions, n_labels)
    ax = trellis(chain)
    best = list(enumerate(chain.argmax().labels.tolist()))
    path = part(ax, "path").get_xydata().astype(int)
    assert len(path) - 1 == n_positions - 1  # segments
    assert list(map(tuple, path.tolist())) == best
    assert nodes(ax, "path nodes") == set(best)


def test_the_path_is_wider_than_any_edge_and_its_nodes_have_another_shape():
    ax = trellis(tw.Chain([[0.0, -50.0]] * 40, np.zeros((2, 2))), marginals=True)
    assert part(ax, "path").get_linewidth() > np.max(part(ax, "edges").get_linewidths())
    squares, circles = (part(ax, name).get_paths()[0] for name in ("path nodes", "nodes"))
    assert len(squares.vertices) != len(circles.vertices)


def test_a_path_can_be_given_by_numbers_or_names():
    chain = random_chain(3, 2)
    for path in ([0, 1, 0], np.array([0, 1, 0]), ["N", "V", "N"]):
        ax = trellis(chain, labels=["N", "V"], path=path)
        assert part(ax, "path").get_ydata().tolist() == [0, 1, 0]


def test_a_forbidden_path_can_be_drawn_too():
    ax = trellis(tw.Chain([[0.0, -INF], [0.0, 0.0]], np.zeros((2, 2))), path=[1, 0])
    assert nodes(ax, "path nodes") == {(0, 1), (1, 0)}


def test_no_path_draws_none():
    ax = trellis(random_chain(3, 2), path=None, marginals=True)
    assert part(ax, "path") is None
    assert len(nodes(ax, "nodes")) == 6


# Nodes and edges.


def test_every_transition_is_an_edge():
    assert len(edges(trellis(random_chain(5, 3)))) == 4 * 9


def test_what_no_labelling_can_use_is_hollow_and_has_no_edges():
    """Label 1 is forbidden at position 1; label 2 is allowed there but leads nowhere."""
    unary = np.zeros((3, 3))
    unary[1, 1] = -INF
    transitions = np.zeros((3, 3))
    transitions[2] = -INF
    ax = trellis(tw.Chain(unary, transitions))
    assert nodes(ax, "forbidden nodes") == {(0, 2), (1, 1), (1, 2)}
    assert edges(ax) == {(0, 0, 1, 0), (0, 1, 1, 0), (1, 0, 2, 0), (1, 0, 2, 1), (1, 0, 2, 2)}


def test_transitions_of_each_step_are_drawn_where_they_are():
    transitions = np.zeros((2, 2, 2))
    transitions[0, 0, 1] = transitions[1, 1, 0] = -INF
    assert edges(trellis(tw.Chain(np.zeros((3, 2)), transitions))) == {
        *[(0, 0, 1, 0), (0, 1, 1, 0), (0, 1, 1, 1)],
        *[(1, 0, 2, 0), (1, 0, 2, 1), (1, 1, 2, 1)],
    }


def test_marginals_shade_the_nodes_and_widen_the_edges():
    chain = random_chain(4, 3)
    ax = trellis(chain, marginals=True)
    marginals = chain.marginals()
    for name in ("nodes", "path nodes"):
        drawn = part(ax, name)
        expected = [marginals[t, k] for t, k in drawn.get_offsets().astype(int)]
        np.testing.assert_allclose(drawn.get_array(), expected, rtol=1e-12)
    lines, widths = part(ax, "edges").get_segments(), part(ax, "edges").get_linewidths()
    strength = [chain.edge_marginals()[int(a[0]), int(a[1]), int(b[1])] for a, b in lines]
    assert np.argsort(widths).tolist() == np.argsort(strength).tolist()
    assert min(strength) >= 0.005
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == ["marginal probability"]


def test_a_node_of_little_probability_is_not_white():
    """0.04 must be told from 0: shades go by square roots, as the bar says."""
    ax = trellis(tw.Chain([[3.2, 0.0], [3.2, 0.0]], np.zeros((2, 2))), marginals=True)
    drawn = part(ax, "nodes")
    assert drawn.get_array().max() < 0.05
    assert drawn.norm(drawn.get_array()).min() > 0.15
    assert np.all(drawn.to_rgba(drawn.get_array())[:, 0] < 0.9)


def test_what_has_no_probability_fades_with_the_names_of_labels_that_have_none_anywhere():
    unary = np.zeros((3, 13))
    unary[:, 3:] = -20.0
    unary[1, 5] = 0.0
    ax = trellis(tw.Chain(unary, np.zeros((13, 13))), marginals=True)
    bright = nodes(ax, "nodes") | nodes(ax, "path nodes")
    assert bright == {(t, k) for t in range(3) for k in range(3)} | {(1, 5)}
    assert nodes(ax, "faded nodes") == {(t, k) for t in range(3) for k in range(13)} - bright
    assert part(ax, "faded nodes").get_sizes()[0] < part(ax, "nodes").get_sizes()[0] / 4
    greys = {text.get_text() for text in ax.get_yticklabels() if text.get_color() == "#9a9a9a"}
    assert greys == {str(k) for k in range(3, 13)} - {"5"}
    assert len(edges(ax)) == 2 * 3 * 4  # all that are probable, however many labels there are


def test_the_second_best_path_is_dashed():
    chain = random_chain(5, 4)
    best, second = (found.labels for found in chain.kbest(2))
    ax = trellis(chain)
    assert part(ax, "second").get_ydata().tolist() == second.tolist()
    assert part(ax, "second").is_dashed()
    assert part(ax, "second").get_linewidth() < part(ax, "path").get_linewidth()
    assert nodes(ax, "second nodes") == {(t, int(k)) for t, k in enumerate(second) if k != best[t]}
    for other in (trellis(chain, second=False), trellis(chain, path=[0] * 5), trellis(random_chain(3, 1))):
        assert part(other, "second") is None


def test_beyond_the_readable_only_the_likeliest_edge_into_each_node_is_drawn_and_the_picture_says_so():
    chain = random_chain(40, 15)
    ax = trellis(chain)
    likeliest = chain.edge_marginals().argmax(axis=1)
    assert edges(ax) == {(t, int(likeliest[t, b]), t + 1, b) for t in range(39) for b in range(15)}
    assert "likeliest edge" in ax.get_xlabel()


def test_many_edges_are_each_fainter():
    few, many = (part(trellis(random_chain(4, k)), "edges").get_colors()[0, 3] for k in (2, 12))
    assert many < few / 3


# Texts.


def test_labels_stand_at_the_left_and_tokens_below():
    ax = trellis(random_chain(2, 3), labels=["a", "b", "c"], tokens=["x", 7], title="t")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x", "7"]
    assert ax.get_title() == "t"
    top, bottom = ax.transData.transform([(0, 0), (0, 2)])[:, 1]
    assert top > bottom


def test_long_tokens_are_cut_and_turned():
    ax = trellis(random_chain(2, 2), tokens=["a" * 40, "b"])
    text = ax.get_xticklabels()[0]
    assert text.get_text() == "a" * 15 + "…"
    assert text.get_rotation() > 0


def test_dollars_and_line_breaks_in_tokens_are_text():
    ax = trellis(random_chain(3, 2), labels=["$a$", "$"], tokens=["$5", "$x_$", "a\nb"], title="$")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["$5", "$x_$", "a b"]
    rendered(ax)


def test_values_are_written_into_the_nodes():
    chain = tw.Chain([[0.5, -INF], [-0.04, 123.4]], np.zeros((2, 2)))
    ax = trellis(chain, values="unary")
    assert [text.get_text() for text in ax.texts] == ["0.5", "\N{MINUS SIGN}∞", "0.0", "123"]
    assert len(trellis(chain, values="marginals", marginals=True).texts) == 4
    assert [text.get_text() for text in trellis(chain, values=np.full((2, 2), 0.25)).texts] == ["0.25"] * 4


# Figures.


def test_the_figure_grows_with_positions_and_labels():
    shapes = [(4, 2), (20, 2), (4, 9)]
    small, long, high = (trellis(random_chain(t, k), tokens=["a"] * t).figure.get_size_inches() for t, k in shapes)
    assert (long[0] > small[0], long[1] == small[1]) == (True, True)
    assert (high[0] == small[0], high[1] > small[1]) == (True, True)
    assert (trellis(random_chain(500, 2)).figure.get_size_inches() <= 40).all()


def test_nothing_is_left_in_pyplot():
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_fignums()
    rendered(trellis(random_chain(4, 2), marginals=True))
    assert plt.get_fignums() == before


def test_given_axes_are_used_and_their_figure_keeps_its_size():
    ax = Figure(figsize=(3, 2)).add_subplot()
    assert trellis(random_chain(4, 2), ax=ax, marginals=True) is ax
    assert ax.figure.get_size_inches().tolist() == [3, 2]


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (4, 2), (30, 12), (50, 20)])
def test_a_picture_is_written(shape):
    assert rendered(trellis(random_chain(*shape), marginals=True, values="max_marginals")).startswith(b"\x89PNG")


def test_a_chain_without_positions_has_label_names_and_nothing_else():
    ax = trellis(tw.Chain(np.zeros((0, 2)), np.zeros((2, 2))), labels=["a", "b"], tokens=[], marginals=True)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert ax.get_xlabel() == "no positions"
    assert not [*ax.collections, *ax.lines]
    rendered(ax)


def test_plot_of_a_chain_is_this_picture():
    ax = random_chain(4, 2).plot(labels=["a", "b"], marginals=True)
    assert len(part(ax, "path").get_xydata()) == 4


# Bad input.


@pytest.mark.parametrize("path", ["best", None, [0, 0]])
def test_a_chain_that_forbids_everything_is_refused_whatever_the_path(path):
    with pytest.raises(Unsatisfiable):
        trellis(tw.Chain([[0.0, 0.0], [-INF, -INF]], np.zeros((2, 2))), path=path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"labels": ["a"]}, "labels must be a list of 2 texts for this chain, found 1"),
        ({"labels": "ab"}, "labels must be a list of 2 texts"),
        ({"tokens": ["a", "b"]}, "tokens must be a list of 3 texts"),
        ({"path": "worst"}, "path must be 'best'"),
        ({"path": [0, 1]}, "path has 2 labels for 3 positions"),
        ({"path": [0, 1, 2]}, r"path\[2\] is 2, which is no label of this chain"),
        ({"path": [0, -1, 0]}, r"path\[1\] is -1"),
        ({"path": ["a", 0, 0]}, r"path\[0\] is 'a'"),
        ({"values": "score"}, "values must be one of marginals"),
        ({"values": [1.0]}, r"values must have the shape \(3, 2\)"),
    ],
)
def test_bad_input_is_refused_and_named(arguments, said):
    with pytest.raises(InvalidInput, match=said):
        trellis(random_chain(3, 2), **arguments)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(TrellisworkError, match=r"trelliswork\[plots\]"):
        trellis(random_chain(2, 2))
