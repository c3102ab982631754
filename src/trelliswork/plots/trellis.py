"""The trellis of a chain: a node for each position and label, an edge for each transition, the best path bold.

After Daumé 2017, Figure 17.1 (every edge thin and grey, one path bold) and "Structured Prediction", Figure 77.1 (the
decoded path marked). The path is told by its colour, its width and square nodes, so that any one of the three is
enough; the second best is dashed; what no labelling can use is drawn hollow and without edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.plots.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.structures.chain import Chain
    from trelliswork.structures.labellings import LabellingScores

    AnyChain: TypeAlias = Chain | LabellingScores

__all__ = ["label_positions", "texts_of", "trellis"]

Path = Literal["best"] | Sequence[int] | Sequence[str] | npt.NDArray[np.integer[Any]] | None

MOST_POSITIONS, MOST_LABELS = 30, 12  # beyond these, edges are thinned out
PATH_COLOUR = "#d55e00"  # vermilion of Okabe & Ito: apart from blue and grey in every common colour blindness
SECOND_COLOUR = "#0072b2"  # blue of the same
NODE_COLOUR, INK, FAINT = "#dce6ee", "#222222", "#9a9a9a"
SHADES = "Blues"
ROOT = 0.5  # the power of a probability that its shade goes by: 0.05 must not look like 0
FAINTEST = 0.005  # a node or an edge less probable than this is as good as none
CELL_WIDTH, CELL_HEIGHT, WIDEST, HIGHEST = 1.05, 0.62, 40.0, 24.0  # inches
LETTER, LONGEST = 0.095, 16  # inches per letter of a tick label, letters of a token


def trellis(
    chain: AnyChain,
    labels: Sequence[str] | None = None,
    tokens: Sequence[Any] | None = None,
    path: Path = "best",
    marginals: bool = False,
    values: str | npt.ArrayLike | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    second: bool = True,
) -> Axes:
    """Draw the trellis of a chain and return the axes.

    Parameters
    ----------
    chain : Chain, NGramChain or AutomatonChain
        Its positions run from left to right and its labels from top to bottom.
    labels : sequence of str, optional
        Names of the K labels; their numbers by default.
    tokens : sequence, optional
        What stands at the T positions; their numbers by default. Long ones are turned and cut.
    path : "best", sequence of int or str, or None
        The labelling to draw bold: ``chain.argmax()`` by default, or T labels by number or name, such as the gold
        ones, or none.
    marginals : bool
        Shade each node by its marginal probability, and each edge likewise, instead of drawing all edges alike. Shades
        go by the square root of probabilities, so that alternatives are seen; nodes of less than 0.005, and labels that
        have no other, fade.
    values : "marginals", "max_marginals", "unary", "forward", "backward" or array_like of shape (T, K), optional
        Numbers to write into the nodes: the chain's answer of that name, or any others.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure that grows with T and K, and that pyplot does not know about.
    title : str, optional
        A title above the picture.
    second : bool
        Whether to draw the second-best labelling, too, dashed, where the path is the best one.

    Returns
    -------
    matplotlib.axes.Axes
        ``axes.figure.savefig("trellis.png")`` writes the picture; in a notebook, ``axes.figure`` shows it.

    Raises
    ------
    Unsatisfiable
        If the chain forbids every labelling.

    Notes
    -----
    Up to 30 positions and 12 labels every edge is drawn that some labelling uses, with ``marginals`` every edge of a
    probability of at least 0.005. Without ``marginals``, beyond that only the likeliest edge into each node is, and the
    picture says so. A chain without positions gives axes with nothing but label names.

    Examples
    --------
    >>> import trelliswork as tw
    >>> chain = tw.Chain(unary=[[2.0, 0.0], [0.0, 1.0]], transitions=[[0.0, -3.0], [0.0, 0.0]])
    >>> axes = trellis(chain, labels=["noun", "verb"], tokens=["time", "flies"], marginals=True)
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['noun', 'verb']
    """
    best = chain.argmax().labels  # raises if every labelling is forbidden, and says where
    names = texts_of("labels", labels, chain.n_labels)
    words = texts_of("tokens", tokens, chain.n_positions)
    bold = _checked_path(path, best, chain, names)
    numbers = _checked_values(values, chain)
    if ax is None:
        ax = _new_axes(chain, names, words, numbers is not None, marginals)
    _label_axes(ax, chain, names, words, title)
    if chain.n_positions:
        size = _node_size(ax, chain, numbers is not None)
        usable = chain.max_marginals() > -np.inf  # by some labelling that is not forbidden
        shades = chain.marginals() if marginals else None
        _draw_edges(ax, chain, usable, marginals)
        _draw_nodes(ax, usable, bold, shades, size)
        if second and isinstance(path, str):
            _draw_second_best(ax, chain, size)
        _draw_path(ax, bold, size)
        _draw_colour_bar(ax, shades)
        _fade_labels(ax, shades)
        _write_values(ax, numbers, shades, size)
    return ax


def _checked_path(
    path: Path, best: npt.NDArray[np.int32], chain: AnyChain, names: list[str]
) -> npt.NDArray[np.int32] | None:
    """The label numbers of the path to draw bold."""
    if path is None:
        return None
    if isinstance(path, str):
        if path != "best":
            raise InvalidInput(f"path must be 'best', a sequence of labels or None, found {path!r}.")
        return best
    number = {name: i for i, name in reversed(list(enumerate(names)))}
    numbered = [number.get(y, y) if isinstance(y, str) else y for y in path]
    if len(numbered) != chain.n_positions:
        raise InvalidInput(f"path has {len(numbered)} labels for {chain.n_positions} positions. Give one for each.")
    for t, y in enumerate(numbered):
        if not isinstance(y, int | np.integer) or not 0 <= y < chain.n_labels:
            raise InvalidInput(
                f"path[{t}] is {y!r}, which is no label of this chain. "
                f"Use a number from 0 to {chain.n_labels - 1}, or one of the names in labels."
            )
    return np.array(numbered, dtype=np.int32)


def _checked_values(values: str | npt.ArrayLike | None, chain: AnyChain) -> npt.NDArray[np.float64] | None:
    answers = ("marginals", "max_marginals", "unary", "forward", "backward")
    if isinstance(values, str):
        if values not in answers:
            raise InvalidInput(f"values must be one of {', '.join(answers)} or a (T, K) array, found {values!r}.")
        answer = getattr(chain, values)
        values = answer() if callable(answer) else answer
    if values is None:
        return None
    numbers, expected = np.asarray(values, dtype=np.float64), (chain.n_positions, chain.n_labels)
    if numbers.shape != expected:
        raise InvalidInput(f"values must have the shape {expected} of the chain's unary scores, found {numbers.shape}.")
    return numbers


def texts_of(argument: str, given: Sequence[Any] | None, expected: int) -> list[str]:
    """Return names on one line each; by default numbers."""
    if given is None:
        return [str(i) for i in range(expected)]
    if isinstance(given, str) or len(given) != expected:
        raise InvalidInput(
            f"{argument} must be a list of {expected} texts for this chain, found "
            f"{repr(given) if isinstance(given, str) else len(given)}."
        )
    return [" ".join(str(text).split()) for text in given]


def _new_axes(chain: AnyChain, names: list[str], words: list[str], with_values: bool, with_bar: bool) -> Axes:
    """Axes of a size that suits the chain."""
    # The more there are, the narrower the columns and the lower the rows, down to the room that a node needs.
    cell = max(CELL_WIDTH * min(1.0, 12 / max(chain.n_positions, 1)), 0.7 if with_values else 0.55)
    cell_height = max(CELL_HEIGHT * min(1.0, 6 / chain.n_labels), 0.5 if with_values else 0.4)
    margin = 0.5 + LETTER * max(map(len, names)) + (1.1 if with_bar else 0.0)
    below = 0.5 + LETTER * min(max(map(len, words), default=1), LONGEST)
    width = min(max(margin + cell * chain.n_positions, 2.5), WIDEST)
    height = min(max(below + cell_height * chain.n_labels, 1.8), HIGHEST)
    return new_axes(width, height)


def _label_axes(ax: Axes, chain: AnyChain, names: list[str], words: list[str], title: str | None) -> None:
    ax.set_ylim(chain.n_labels - 0.5, -0.5)  # label 0 on top
    label_positions(ax, chain.n_positions, words, title)
    ax.tick_params(axis="y", labelsize=float(np.clip(40 * _cell(ax, chain)[1], 4, 10)))
    ax.set_yticks(range(chain.n_labels), names)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)


def label_positions(ax: Axes, n_positions: int, words: list[str], title: str | None) -> None:
    """Write tokens below the positions, as much of each as there is room for, and a title; take away the frame."""
    ax.set_xlim(-0.5, max(n_positions, 1) - 0.5)
    cell = ax.get_window_extent().width / ax.figure.dpi / max(n_positions, 1)
    short = [word if len(word) <= LONGEST else word[: LONGEST - 1] + "…" for word in words]
    turned = max(map(len, short), default=0) * LETTER > 0.95 * cell
    every = max(1, int(np.ceil(0.16 / cell)))  # of very narrow columns only some have room for a text
    ax.set_xticks(range(0, n_positions, every), short[::every])
    ax.tick_params(length=0, labelcolor=INK, labelsize=10)
    for text in ax.get_xticklabels():
        text.set_parse_math(False)  # "$5" is a token, not a formula
        if turned:
            text.set(rotation=50, ha="right", va="top", rotation_mode="anchor")
    for spine in ax.spines.values():
        spine.set_visible(False)
    if title is not None:
        ax.set_title(title, color=INK).set_parse_math(False)
    if not n_positions:
        ax.set_xlabel("no positions", color=FAINT, fontsize=9)


def _cell(ax: Axes, chain: AnyChain) -> tuple[float, float]:
    """Width and height, in inches, of the room that a node has."""
    room = ax.get_window_extent()
    return room.width / ax.figure.dpi / max(chain.n_positions, 1), room.height / ax.figure.dpi / chain.n_labels


def _node_size(ax: Axes, chain: AnyChain, with_values: bool) -> float:
    """The diameter of a node in points."""
    return float(np.clip(72 * (0.62 if with_values else 0.45) * min(_cell(ax, chain)), 2, 32 if with_values else 20))


def _draw_edges(ax: Axes, chain: AnyChain, usable: npt.NDArray[np.bool_], marginals: bool) -> None:
    from matplotlib.collections import LineCollection

    crowded = chain.n_positions > MOST_POSITIONS or chain.n_labels > MOST_LABELS
    probability = chain.edge_marginals() if marginals or crowded else None
    moves = chain.transitions > -np.inf if hasattr(chain, "transitions") else chain.edge_marginals() > 0.0
    shown = moves & usable[:-1, :, np.newaxis] & usable[1:, np.newaxis, :]
    if probability is not None and not marginals:
        shown &= np.arange(chain.n_labels)[:, np.newaxis] == probability.argmax(axis=1)[:, np.newaxis, :]
        ax.set_xlabel("only the likeliest edge into each node is drawn", color=FAINT, fontsize=9)
    if probability is not None and marginals:
        shown &= probability >= FAINTEST
        strength = probability[shown] ** ROOT
        widths, opacity = 0.5 + 1.7 * strength, 0.2 + 0.8 * strength  # narrower than any path
    else:
        # The more edges cross in the room there is, the fainter each: twelve labels should look as grey as two.
        faint = min(1.0, min(_cell(ax, chain)) / 0.3) * (0.4 if crowded else min(0.6, 1.5 / chain.n_labels))
        opacity = np.full(np.count_nonzero(shown), faint)
        widths = 0.5 + 0.5 * opacity
    t, a, b = np.nonzero(shown)
    lines = list(np.stack([np.column_stack([t, a]), np.column_stack([t + 1, b])], axis=1))
    colours = np.column_stack([np.full((t.size, 3), 0.35), opacity])
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=widths, zorder=1, gid="edges"))


def _draw_nodes(
    ax: Axes,
    usable: npt.NDArray[np.bool_],
    bold: npt.NDArray[np.int32] | None,
    shades: npt.NDArray[np.float64] | None,
    size: float,
) -> None:
    """Circles, squares for the nodes of the path, and dotted circles for what is forbidden or leads nowhere."""
    on_path = np.zeros_like(usable)
    if bold is not None:
        on_path[np.arange(len(bold)), bold] = True

    def scatter(name: str, which: npt.NDArray[np.bool_], fill: str, **look: Any) -> None:
        t, k = np.nonzero(which)
        colours = {"facecolors": fill} if shades is None or fill == "white" else {"c": shades[which], **_shading()}
        ax.scatter(t, k, **{"s": size**2, "gid": name, **colours, **look})

    # Lines of the second-best path go in and out below its nodes, and above those that matter less.
    faded = usable & ~on_path & (np.zeros_like(usable) if shades is None else shades < FAINTEST)
    scatter("forbidden nodes", ~usable & ~on_path, "white", edgecolors=FAINT, linestyles="dotted", zorder=2)
    scatter("faded nodes", faded, "white", edgecolors=FAINT, linewidths=0.4, alpha=0.6, s=(0.4 * size) ** 2, zorder=2)
    scatter("nodes", usable & ~on_path & ~faded, NODE_COLOUR, edgecolors=INK, linewidths=0.8, zorder=3)
    scatter("path nodes", on_path, PATH_COLOUR, edgecolors=PATH_COLOUR, linewidths=2.4, marker="s", zorder=5)


def _draw_path(ax: Axes, bold: npt.NDArray[np.int32] | None, size: float) -> None:
    """The path lies above the nodes that are not on it, with a white rim: nothing that it crosses interrupts it."""
    if bold is None:
        return
    from matplotlib.patheffects import Normal, Stroke

    width = float(np.clip(0.22 * size, 2.5, 4.0))
    (line,) = ax.plot(range(len(bold)), bold, color=PATH_COLOUR, linewidth=width, zorder=4, gid="path")
    line.set_path_effects([Stroke(linewidth=width + 1.6, foreground="white"), Normal()])


def _draw_second_best(ax: Axes, chain: AnyChain, size: float) -> None:
    """A dashed line below the nodes, and a rim around those of its nodes that the best path has not."""
    best = chain.kbest(2)
    if len(best) < 2:
        return
    labels, other = best[1].labels, np.flatnonzero(best[1].labels != best[0].labels)
    width = float(np.clip(0.11 * size, 1.4, 2.0))
    ax.plot(
        range(len(labels)),
        labels,
        color=SECOND_COLOUR,
        linewidth=width,
        linestyle=(0, (3, 2)),
        zorder=2.5,
        gid="second",
    )
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": SECOND_COLOUR, "linewidths": 1.8, "zorder": 3.5}
    ax.scatter(other, labels[other], s=size**2, gid="second nodes", **look)


def _fade_labels(ax: Axes, shades: npt.NDArray[np.float64] | None) -> None:
    """Grey names for the labels that are improbable everywhere."""
    if shades is None:
        return
    for text, most in zip(ax.get_yticklabels(), shades.max(axis=0), strict=True):
        if most < FAINTEST:
            text.set_color(FAINT)


def _shading() -> dict[str, Any]:
    from matplotlib.colors import PowerNorm

    return {"cmap": SHADES, "norm": PowerNorm(ROOT, 0.0, 1.0)}


def _draw_colour_bar(ax: Axes, shades: npt.NDArray[np.float64] | None) -> None:
    if shades is None:
        return
    from matplotlib.cm import ScalarMappable

    blues = ScalarMappable(**_shading())
    height = ax.get_window_extent().height / ax.figure.dpi
    bar = ax.figure.colorbar(blues, ax=ax, fraction=0.05, pad=0.02, aspect=20, shrink=min(1.0, 2.4 / height))
    bar.set_ticks([0.0, 0.05, 0.25, 0.5, 1.0], labels=["0", "0.05", "0.25", "0.5", "1"])
    bar.set_label("marginal probability", color=INK)
    bar.outline.set_visible(False)


def _write_values(
    ax: Axes,
    numbers: npt.NDArray[np.float64] | None,
    shades: npt.NDArray[np.float64] | None,
    size: float,
) -> None:
    if numbers is None:
        return
    texts = _brief(numbers)
    letters = max(4, *map(len, texts))
    for (t, k), text in zip(np.ndindex(numbers.shape), texts, strict=True):
        dark = shades is not None and shades[t, k] ** ROOT > 0.6
        faded = shades is not None and shades[t, k] < FAINTEST
        colour = "white" if dark else FAINT if faded else INK
        ax.text(t, k, text, ha="center", va="center", fontsize=1.35 * size / letters, color=colour, zorder=6)


def _brief(numbers: npt.NDArray[np.float64]) -> list[str]:
    """The numbers in about four letters each: two decimals for probabilities, one for scores."""
    if ((numbers >= 0) & (numbers <= 1)).all():
        return [f"{number:.2f}" for number in numbers.flat]
    short = [f"{number:z.1f}" if abs(number) < 100 else f"{number:.3g}" for number in numbers.flat]
    return [text.replace("inf", "∞").replace("-", "\N{MINUS SIGN}") for text in short]
