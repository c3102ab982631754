"""What is in the pictures of decoding: best scores of each label, the decoded path, costs measured and in theory."""

import io
import itertools

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.plots import decoding_cost, viterbi_scores

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

INF = np.inf


def random_chain(n_positions, n_labels, seed=0):
    rng = np.random.default_rng(seed)
    scores = (rng.normal(size=shape) for shape in ((n_positions, n_labels), (n_labels, n_labels)))
    return tw.Chain(*scores, start=rng.normal(size=n_labels), end=rng.normal(size=n_labels))


def lines(ax):
    """The lines by their names."""
    return {line.get_gid(): line for line in ax.lines if line.get_gid()}


def nodes(ax):
    """Every node that is drawn: (position, score)."""
    drawn = [line.get_xydata() for name, line in lines(ax).items() if name == "path" or name.startswith("label ")]
    found = np.concatenate(drawn)
    return sorted((int(t), round(float(score), 9)) for t, score in found if np.isfinite(score))


def best_to(chain, t, k):
    """The best score of all labellings of positions 0 .. t that end in label k, by enumeration."""
    T = chain.n_positions
    moves = np.broadcast_to(chain.transitions, (max(T - 1, 0), chain.n_labels, chain.n_labels))
    scores = []
    for path in itertools.product(range(chain.n_labels), repeat=t):
        labels = (*path, k)
        score = chain.start[labels[0]] + sum(chain.unary[i, y] for i, y in enumerate(labels))
        score += sum(moves[i, a, b] for i, (a, b) in enumerate(itertools.pairwise(labels)))
        scores.append(score + (chain.end[k] if t == T - 1 else 0.0))
    return max(scores)


def rendered(ax):
    file = io.BytesIO()
    ax.figure.savefig(file, format="png")
    return file.getvalue()


# ---- scores ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (4, 1), (4, 3), (5, 2)])
def test_nodes_stand_at_the_best_scores_of_all_paths_to_them(shape):
    chain = random_chain(*shape)
    expected = [(t, round(float(best_to(chain, t, k)), 9)) for t, k in np.ndindex(shape)]
    assert nodes(viterbi_scores(chain)) == sorted(expected)


def test_transitions_may_differ_from_step_to_step():
    rng = np.random.default_rng(1)
    chain = tw.Chain(rng.normal(size=(4, 2)), rng.normal(size=(3, 2, 2)))
    expected = [(t, round(float(best_to(chain, t, k)), 9)) for t, k in np.ndindex(4, 2)]
    assert nodes(viterbi_scores(chain)) == sorted(expected)


def test_the_path_ends_at_the_score_of_the_best_labelling():
    chain = random_chain(6, 4)
    path = lines(viterbi_scores(chain))["path"].get_xydata()
    best = chain.argmax()
    assert path[-1, 1] == pytest.approx(best.score, rel=1e-12)
    for t, score in enumerate(path[:, 1]):
        assert score == pytest.approx(best_to(chain, t, best.labels[t]), rel=1e-12)


def test_the_decoded_path_is_made_of_survivors():
    chain = random_chain(6, 4, seed=2)
    ax = viterbi_scores(chain)
    (edges,) = (found for found in ax.collections if found.get_gid() == "survivors")
    drawn = {tuple(np.round(np.ravel(segment), 9).tolist()) for segment in edges.get_segments()}
    assert len(drawn) == 5 * 4
    path = np.round(lines(ax)["path"].get_xydata(), 9).tolist()
    assert {(*a, *b) for a, b in itertools.pairwise(path)} <= drawn


def test_relative_scores_lie_below_the_best_of_their_position():
    chain = random_chain(5, 3)
    highest = {t: -INF for t in range(5)}
    for t, score in nodes(viterbi_scores(chain, relative=True)):
        highest[t] = max(highest[t], score)
    assert set(highest.values()) == {0.0}


def test_what_cannot_be_reached_has_no_node_and_no_name():
    ax = viterbi_scores(tw.Chain([[0.0, -INF], [0.0, 0.0], [0.0, -INF]], np.zeros((2, 2))), labels=["a", "b"])
    assert [t for t, _ in nodes(ax)] == [0, 1, 1, 2]
    assert [text.get_text() for text in ax.texts if text.get_gid() == "name"] == ["a"]


def test_names_at_the_right_keep_the_order_of_the_scores_and_stay_apart():
    unary = np.array([[0.0] * 6, [5.0, 5.001, 5.002, 1.0, 1.0, 9.0]])
    ax = viterbi_scores(tw.Chain(unary, np.zeros((6, 6))), labels=list("abcdef"))
    names = [text for text in ax.texts if text.get_gid() == "name"]
    assert [name.get_text() for name in names] == ["d", "e", "a", "b", "c", "f"]
    heights = [name.xyann[1] for name in names]
    low, high = ax.get_ylim()
    assert np.diff(heights).min() > 0.06 * (high - low)
    assert (min(heights) > low, max(heights) < high) == (True, True)


def test_every_node_of_the_path_tells_its_label_where_there_is_room():
    chain = random_chain(4, 3)
    ax = viterbi_scores(chain, labels=["x", "y", "z"], tokens=["$1", "a", "b", "c"])
    told = [text.get_text() for text in ax.texts if text.get_gid() == "path name"]
    assert told == ["xyz"[k] for k in chain.argmax().labels[:-1]]
    narrow = viterbi_scores(chain, labels=["x" * 60, "y", "z"], ax=Figure(figsize=(3, 2)).add_subplot())
    assert not [text for text in narrow.texts if text.get_gid() == "path name"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["$1", "a", "b", "c"]


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (12, 9), (80, 30)])
def test_a_picture_of_scores_is_written(shape):
    assert rendered(viterbi_scores(random_chain(*shape), title="$")).startswith(b"\x89PNG")


def test_a_chain_without_positions_is_an_empty_picture():
    ax = viterbi_scores(tw.Chain(np.zeros((0, 2)), np.zeros((2, 2))))
    assert not [*ax.lines, *ax.collections]
    assert ax.get_xlabel() == "no positions"
    rendered(ax)


def test_bad_input_about_scores_is_refused():
    with pytest.raises(InvalidInput, match="labels must be a list of 2 texts"):
        viterbi_scores(random_chain(3, 2), labels=["a"])
    with pytest.raises(Unsatisfiable):
        viterbi_scores(tw.Chain([[-INF, -INF]], np.zeros((2, 2))))


# ---- costs -----------------------------------------------------------------------------------------------------------


def test_theory_counts_labellings_and_sums():
    ax = decoding_cost(4, [1, 3, 5], measured=False)
    found = lines(ax)
    np.testing.assert_allclose(found["listing"].get_ydata(), [4, 64, 1024], rtol=1e-12)
    np.testing.assert_allclose(found["viterbi"].get_ydata(), [16, 48, 80], rtol=1e-12)
    assert ax.get_yscale() == "log"


def test_measured_points_stand_beside_theory_that_passes_through_the_last_of_them():
    ax = decoding_cost(3, range(1, 20))
    found = lines(ax)
    points = found["listing measured"].get_xydata()
    assert points[:, 0].tolist() == list(range(1, 14))  # 3^13 labellings are listed, 3^14 not
    assert found["viterbi measured"].get_xdata().tolist() == list(range(1, 20))
    theory = dict(found["listing"].get_xydata().tolist())
    assert theory[13.0] == pytest.approx(points[-1, 1], rel=1e-9)
    assert theory[19.0] == pytest.approx(points[-1, 1] * 3.0**6, rel=1e-9)
    assert (points[:, 1] > 0).all()


def test_costs_beyond_floating_point_are_drawn():
    assert rendered(decoding_cost(26, [1, 2, 300], measured=False)).startswith(b"\x89PNG")
    assert rendered(decoding_cost(1, [1, 70])).startswith(b"\x89PNG")


def test_given_axes_are_used():
    ax = Figure().add_subplot()
    assert decoding_cost(2, [1, 2], ax=ax, title="t") is ax
    assert viterbi_scores(random_chain(2, 2), ax=ax) is ax


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0,), "n_labels must be at least 1"),
        ((2, []), "lengths must be a list of numbers"),
        ((2, "12"), "lengths must be a list of numbers"),
        ((2, [1, 0]), r"lengths\[1\] must be at least 1"),
    ],
)
def test_bad_input_about_costs_is_refused(arguments, said):
    with pytest.raises(InvalidInput, match=said):
        decoding_cost(*arguments)
