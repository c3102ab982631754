"""Pictures of decoding: how the best score of each label grows from position to position, and what decoding costs.

The first is Viterbi's table drawn to scale: a node stands at the score of the best path that ends in it, a thin line
leads to it from its best predecessor, and the path that wins is bold. The second sets K^T labellings against the T K^2
sums of the recursion, measured seconds beside both.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import as_count
from trelliswork.errors import InvalidInput
from trelliswork.plots.figures import new_axes
from trelliswork.plots.score_curves import COLOURS, MARKERS
from trelliswork.plots.trellis import FAINT, INK, LETTER, PATH_COLOUR, SECOND_COLOUR, label_positions, texts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.structures.chain import Chain

__all__ = ["decoding_cost", "viterbi_scores"]

FloatArray = npt.NDArray[np.float64]

OTHERS = tuple(colour for colour in COLOURS if colour != PATH_COLOUR)
CELL_WIDTH, HEIGHT, WIDEST = 0.75, 4.0, 40.0  # inches
ROOM = 0.065  # between two names at the right, of the height of the picture
MOST_LABELLINGS = 2_000_000  # that are listed to be measured
MOST_DRAWN = 600.0  # the logarithm of the highest cost: beyond it, axes overflow
REPEATS = 3  # the fastest of these is the time of a decoding
MOMENTS = {1.0: "a second", 86_400.0: "a day", 3.156e7 * 1.38e10: "the age of the universe"}


def viterbi_scores(
    chain: Chain,
    labels: Sequence[str] | None = None,
    tokens: Sequence[Any] | None = None,
    relative: bool = False,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the best score with which each label can be reached at each position, and the decoded path.

    Parameters
    ----------
    chain : Chain
        Its positions run from left to right.
    labels : sequence of str, optional
        Names of the K labels; their numbers by default.
    tokens : sequence, optional
        What stands at the T positions; their numbers by default.
    relative : bool
        Draw how far each score lies below the best one of its position. Scores of long sequences grow so much that
        differences between labels cannot be seen otherwise.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure that grows with T, and that pyplot does not know about.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes
        ``axes.figure.savefig("viterbi.png")`` writes the picture.

    Raises
    ------
    Unsatisfiable
        If the chain forbids every labelling.

    Notes
    -----
    The score at position t and label k is the maximum over all labellings of the first t positions that end in k;
    scores of last labels (``end``) belong to the last position. A label that cannot be reached has no node there. A
    thin line comes from the predecessor that gave the maximum, the lowest label among equals.

    Examples
    --------
    >>> import trelliswork as tw
    >>> chain = tw.Chain(unary=[[2.0, 0.0], [0.0, 1.0]], transitions=[[0.0, -3.0], [0.0, 0.0]])
    >>> axes = viterbi_scores(chain, labels=["noun", "verb"], tokens=["time", "flies"])
    >>> next(line.get_ydata().tolist() for line in axes.lines if line.get_gid() == "path")
    [2.0, 2.0]
    """
    best = chain.argmax().labels  # raises if every labelling is forbidden, and says where
    names = texts_of("labels", labels, chain.n_labels)
    words = texts_of("tokens", tokens, chain.n_positions)
    scores, before = _best_scores(chain)
    if relative and chain.n_positions:
        scores = scores - scores.max(axis=1, keepdims=True)
    if ax is None:
        ax = new_axes(min(max(1.6 + CELL_WIDTH * chain.n_positions, 4.5), WIDEST), HEIGHT)
    label_positions(ax, chain.n_positions, words, title)
    ax.set_xlim(-0.4, max(chain.n_positions, 1) - 0.4)
    ax.set_ylabel("below the best of the position" if relative else "score of the best path to the label", color=INK)
    ax.grid(axis="y", alpha=0.25)
    if chain.n_positions:
        _draw_survivors(ax, scores, before)
        _draw_labels(ax, scores, best)
        _draw_decoded(ax, scores, best, names)
        _name_labels(ax, scores, names, int(best[-1]))
    return ax


def decoding_cost(
    n_labels: int = 5,
    lengths: Sequence[int] = range(1, 31),
    measured: bool = True,
    ax: Axes | None = None,
    title: str | None = None,
    random_state: int = 0,
) -> Axes:
    """Draw what decoding costs by the length of the sequence: listing K^T labellings, and Viterbi's T K^2 sums.

    Parameters
    ----------
    n_labels : int
        The number K of labels.
    lengths : sequence of int
        The lengths T.
    measured : bool
        Measure both on this machine, and draw points: seconds of listing all labellings as long as there are at most
        two million of them, and of the core's Viterbi for all lengths. The lines of the theory are then in seconds,
        too: each passes through the last of its points. Without measurements, the lines count labellings and sums.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure that pyplot does not know about.
    title : str, optional
    random_state : int
        Seed of the scores that are decoded.

    Returns
    -------
    matplotlib.axes.Axes
        The vertical axis is logarithmic.

    Examples
    --------
    >>> axes = decoding_cost(3, [1, 2, 10], measured=False)
    >>> {line.get_gid(): [round(float(y)) for y in line.get_ydata()] for line in axes.lines}
    {'listing': [3, 9, 59049], 'viterbi': [9, 18, 90]}
    """
    K = as_count("n_labels", n_labels)
    if isinstance(lengths, str) or not len(lengths):
        raise InvalidInput(f"lengths must be a list of numbers, found {lengths!r}.")
    T = np.array(sorted({as_count(f"lengths[{i}]", length) for i, length in enumerate(lengths)}))
    # In logarithms: 26 labels and 300 positions are beyond floating point.
    theory = {"listing": T * np.log(K), "viterbi": np.log(T) + 2 * np.log(K)}
    shown = {"listing": f"listing all {K}$^T$ labellings", "viterbi": f"Viterbi: T · {K}² sums"}
    axes = new_axes(6.4, 4.2) if ax is None else ax
    axes.set_yscale("log")
    looks = {"listing": (PATH_COLOUR, "s"), "viterbi": (SECOND_COLOUR, "o")}
    seconds = _measured(K, T, random_state) if measured else {}
    for name, logs in theory.items():
        colour, marker = looks[name]
        if measured:
            done = np.isin(T, seconds[name][0])
            logs = logs - logs[done][-1] + np.log(seconds[name][1][-1])
            axes.plot(*seconds[name], marker, color=colour, markersize=5, linestyle="none", gid=f"{name} measured")
        drawn = np.exp(np.minimum(logs, MOST_DRAWN))
        axes.plot(T, drawn, color=colour, linewidth=1.5, label=shown[name], gid=name)
    if measured:
        _draw_moments(axes)
    axes.set_xlabel("length T of the sequence", color=INK)
    axes.set_ylabel("seconds: points measured, lines in theory" if measured else "labellings, or sums", color=INK)
    if title is not None:
        axes.set_title(title, color=INK)
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    return axes


def _best_scores(chain: Chain) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Scores of the best paths to each label, (T, K), and the label before the last of each, (T - 1, K)."""
    scores = np.array(chain.unary)
    before = np.zeros((max(chain.n_positions - 1, 0), chain.n_labels), dtype=np.intp)
    moves = np.broadcast_to(chain.transitions, (*before.shape, chain.n_labels))
    for t in range(chain.n_positions):
        if t == 0:
            scores[t] += chain.start
        else:
            ways = scores[t - 1][:, np.newaxis] + moves[t - 1]
            before[t - 1] = ways.argmax(axis=0)
            scores[t] += ways.max(axis=0)
    scores[-1:] += chain.end
    return scores, before


def _draw_survivors(ax: Axes, scores: FloatArray, before: npt.NDArray[np.intp]) -> None:
    """A thin line into each node from its best predecessor."""
    from matplotlib.collections import LineCollection

    t, b = np.nonzero(np.isfinite(scores[1:]))
    a = before[t, b]
    lines = np.stack([np.column_stack([t, scores[t, a]]), np.column_stack([t + 1, scores[t + 1, b]])], axis=1)
    ax.add_collection(LineCollection(list(lines), colors=FAINT, linewidths=0.8, zorder=1, gid="survivors"))


def _draw_labels(ax: Axes, scores: FloatArray, best: npt.NDArray[np.int32]) -> None:
    """Nodes, each label with a colour and a marker of its own."""
    reached = np.where(np.isfinite(scores), scores, np.nan)
    for k in range(scores.shape[1]):
        other = np.flatnonzero(best != k)
        look: dict[str, Any] = {"color": OTHERS[k % len(OTHERS)], "marker": MARKERS[k % len(MARKERS)]}
        ax.plot(other, reached[other, k], linestyle="none", markersize=5, zorder=3, gid=f"label {k}", **look)


def _draw_decoded(ax: Axes, scores: FloatArray, best: npt.NDArray[np.int32], names: list[str]) -> None:
    from matplotlib.patheffects import Normal, Stroke

    at = np.arange(len(best))
    ax.plot(at, scores[at, best], color=PATH_COLOUR, marker="s", markersize=7, linewidth=3.0, zorder=4, gid="path")
    longest = max(len(names[k]) for k in best) * LETTER
    if longest > ax.get_window_extent().width / ax.figure.dpi / len(best):
        return  # the names would lie over each other
    for t, k in enumerate(best[:-1]):  # the last is named at the right
        above: dict[str, Any] = {
            "xytext": (0, 7),
            "textcoords": "offset points",
            "ha": "center",
            "fontsize": 8,
            "gid": "path name",
        }
        name = ax.annotate(names[k], (t, scores[t, k]), color=PATH_COLOUR, zorder=5, **above)
        name.set(parse_math=False, path_effects=[Stroke(linewidth=2, foreground="white"), Normal()])


def _name_labels(ax: Axes, scores: FloatArray, names: list[str], last: int) -> None:
    """Names behind the last position, moved apart where scores are close; labels that end nowhere have none."""
    ends = [int(k) for k in np.argsort(scores[-1]) if np.isfinite(scores[-1, k])]
    low, high = ax.get_ylim()
    room = min(ROOM, 1.0 / len(ends)) * (high - low)
    places = _apart(scores[-1, ends], room)
    places += np.clip(low + room / 2 - places[0], 0.0, None) - np.clip(places[-1] - high + room / 2, 0.0, None)
    for k, place in zip(ends, places.tolist(), strict=True):
        name = ax.annotate(
            names[k],
            (len(scores) - 1 + 0.08, scores[-1, k]),
            (len(scores) - 0.7, place),
            va="center",
            color=PATH_COLOUR if k == last else OTHERS[k % len(OTHERS)],
            fontweight="bold" if k == last else "normal",
            fontsize=9 * min(1.0, room / (ROOM * (high - low)) * 1.2),
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.5, "relpos": (0.0, 0.5)},
            gid="name",
        )
        name.set_parse_math(False)
    ax.set_ylim(low, high)


def _apart(wanted: FloatArray, room: float) -> FloatArray:
    """Places in the order of the wanted ones, at least ``room`` apart; those that collide move as one, as little."""
    groups: list[list[float]] = []  # each: the wanted places, counted from the first of the group
    for value in wanted.tolist():
        groups.append([value])
        while len(groups) > 1 and np.mean(groups[-2]) + room * len(groups[-2]) > np.mean(groups[-1]):
            later = groups.pop()
            groups[-1] += [value - room * len(groups[-1]) for value in later]
    return np.array([np.mean(group) + room * i for group in groups for i in range(len(group))])


def _measured(K: int, T: npt.NDArray[np.int64], random_state: int) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Lengths and seconds of both ways to decode random chains."""
    rng = np.random.default_rng(random_state)
    found: dict[str, list[tuple[int, float]]] = {"listing": [], "viterbi": []}
    for length in T.tolist():
        unary, transitions = rng.normal(size=(length, K)), rng.normal(size=(K, K))
        found["viterbi"].append((length, min(_seconds(_viterbi, unary, transitions) for _ in range(REPEATS))))
        if length * np.log(K) <= np.log(MOST_LABELLINGS) or not found["listing"]:
            times = [_seconds(_best_of_all, unary, transitions) for _ in range(REPEATS)]
            found["listing"].append((length, min(times)))
    return {
        name: (np.array([p[0] for p in points]), np.array([p[1] for p in points])) for name, points in found.items()
    }


def _viterbi(unary: FloatArray, transitions: FloatArray) -> None:
    """Decode as `Chain.argmax` does: by the core, checks and copies left out."""
    length, K = unary.shape
    ends = np.zeros(K)
    batch = _core.ChainBatch(unary, np.array([0]), np.array([length]), transitions, ends, ends, 1)
    batch.argmax(np.empty(length, dtype=np.int32), np.empty(1))


def _best_of_all(unary: FloatArray, transitions: FloatArray) -> float:
    """The score of every labelling, one after the other in memory, and the best of them."""
    scores = unary[0]
    for row in unary[1:]:
        scores = (scores.reshape(-1, len(row), 1) + (transitions + row)).reshape(-1)
    return float(scores.max())


def _seconds(work: Any, *arguments: Any) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


def _draw_moments(axes: Axes) -> None:
    """Lines at durations that everybody knows, where the picture reaches them."""
    _, high = axes.get_ylim()
    for seconds, name in MOMENTS.items():
        if seconds < high:
            axes.axhline(seconds, color=FAINT, linewidth=0.7, linestyle=":", gid="moment")
            axes.annotate(
                name,
                (0.99, seconds),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=8,
                color=FAINT,
            )
