"""A factor graph as a picture: circles in the colour of their label, lines for edges, squares for other factors.

The label is written into its circle too, so that colours are not needed to read it. Without positions, nodes are placed
such that distances are like those along the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.plots.drawing import FAINT, INK
from trelliswork.plots.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["factor_graph", "layout"]

Floats = npt.NDArray[np.float64]

# Okabe & Ito, the darkest last; labels beyond them begin again.
COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#999999", "#0072b2")
DARK = {"#d55e00", "#0072b2", "#009e73"}  # letters on them are white
MOST = 2_000  # variables; no picture of more can be read
INCHES, LEAST, WIDEST = 0.62, 2.6, 20.0  # between neighbours; of a figure


def factor_graph(
    n_variables: int,
    edges: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    *,
    others: Sequence[tuple[str, Sequence[int]]] = (),
    positions: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    confidence: npt.ArrayLike | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a factor graph and return the axes.

    Parameters
    ----------
    n_variables : int
        Number of variables.
    edges : (m, 2) array of int
        Which variables are connected.
    labels : (n,) array of int, optional
        The label of each variable: its colour, and what stands in its circle.
    others : list of (name, variables)
        Factors over other numbers of variables: squares.
    positions : (n, 2) array, optional
        Where the variables are, y upwards; otherwise `layout` places them.
    names : sequence of str, optional
        Names of variables, written below them; their numbers by default, where there is room.
    label_names : sequence of str, optional
        Names of labels; their numbers by default.
    confidence : (n,) array, optional
        From 0 to 1, as marginals are: circles of variables that are in doubt are pale.
    title : str, optional
        Title of the axes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on new axes.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> axes = factor_graph(3, [(0, 1), (1, 2)], [0, 1, 1], names=["a", "b", "c"])
    >>> [text.get_text() for text in axes.texts]
    ['0', 'a', '1', 'b', '1', 'c']
    """
    if n_variables > MOST:
        raise InvalidInput(f"a picture of {n_variables:,} variables cannot be read; expected at most {MOST:,}.")
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    scopes = [np.asarray(scope, dtype=np.int64) for _, scope in others]
    if positions is None:
        both = layout(n_variables, ends, [scope.tolist() for scope in scopes])
        places, squares = both[:n_variables], both[n_variables:]
    else:
        places = _as_places(positions)
        squares = np.array([places[scope].mean(axis=0) if len(scope) else (0, 0) for scope in scopes]).reshape(-1, 2)
    if places.shape != (n_variables, 2):
        raise InvalidInput(f"positions must have shape ({n_variables}, 2), found {places.shape}.")
    unit = _typical_length(places, ends)
    if ax is None:
        size = np.clip(INCHES * (np.ptp(places, axis=0) / unit + 1.6), LEAST, WIDEST) if n_variables else (LEAST, LEAST)
        ax = new_axes(float(size[0]), float(size[1]))
    ax.set_aspect("equal")
    ax.axis("off")
    for a, b in ends.tolist():
        ax.plot(*places[[a, b]].T, color=FAINT, linewidth=1.0, zorder=1)
    for (name, _), scope, square in zip(others, scopes, squares, strict=True):
        _draw_factor(ax, square, places[scope], name, unit)
    words = _Words(labels, names, label_names, n_variables)
    sure = np.ones(n_variables) if confidence is None else np.clip(np.asarray(confidence, dtype=np.float64), 0.0, 1.0)
    for v in range(n_variables):
        _draw_variable(ax, places[v], words, v, float(sure[v]), unit)
    if n_variables:
        margin = 0.75 * unit
        low, high = (np.concatenate([places, squares]).min(axis=0), np.concatenate([places, squares]).max(axis=0))
        ax.set_xlim(low[0] - margin, high[0] + margin)
        ax.set_ylim(low[1] - margin, high[1] + margin)
    if title is not None:
        ax.set_title(title)
    return ax


def layout(n: int, edges: npt.NDArray[np.int64], scopes: Sequence[Sequence[int]] = ()) -> Floats:
    """Return places of nodes, then of factors, such that distances are like those along the graph.

    Classical scaling (Torgerson 1952) is where stress majorisation begins (Gansner, Koren & North 2004).

    Examples
    --------
    >>> places = layout(3, np.array([[0, 1], [1, 2]]))
    >>> np.hypot(*(places[0] - places[1])).round(2), np.hypot(*(places[0] - places[2])).round(2)
    (np.float64(1.0), np.float64(2.0))
    """
    spokes = [np.column_stack([scope, np.full(len(scope), n + i)]) for i, scope in enumerate(scopes) if len(scope)]
    wanted = _distances(n + len(scopes), np.concatenate([edges, *spokes]).astype(np.int64))
    size = len(wanted)
    if size < 2:
        return np.zeros((size, 2))
    centred = -0.5 * wanted**2
    centred = centred - centred.mean(axis=0) - centred.mean(axis=1)[:, None] + centred.mean()
    values, vectors = np.linalg.eigh(centred)
    places: Floats = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 1e-3))  # wider than high
    places = places * np.where(places.sum(axis=0) < 0, -1.0, 1.0) + 1e-3 * np.sin(np.arange(2 * size)).reshape(size, 2)
    weights = np.where(wanted > 0, 1.0 / np.maximum(wanted, 1.0) ** 2, 0.0)
    total = weights.sum(axis=1)[:, None]
    for _ in range(200 if size <= 300 else 40):  # each node to where the others want it, on average
        apart = places[:, None] - places[None]
        distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-6)
        pull = (weights * wanted / distance)[..., None] * apart
        places = 0.5 * places + 0.5 * (weights @ places + pull.sum(axis=1)) / total
    return places


def _distances(n: int, edges: npt.NDArray[np.int64]) -> Floats:
    """Return the number of edges between any two nodes; one more than the most where nothing connects them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    links = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    found = np.asarray(shortest_path(links, directed=False, unweighted=True), dtype=np.float64)
    apart = np.isinf(found)
    found[apart] = found[~apart].max(initial=0.0) + 1.0
    return found


class _Words:
    """What is written in circles and below them."""

    def __init__(self, labels: Any, names: Any, label_names: Any, n: int) -> None:
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and self.labels.shape != (n,):
            raise InvalidInput(f"labels must have one label per variable ({n}), found shape {self.labels.shape}.")
        if names is not None and len(names) != n:
            raise InvalidInput(f"names must have one name per variable ({n}), found {len(names)}.")
        self.names = names if names is not None else [str(v) for v in range(n)] if n <= 60 else None
        self.label_names = label_names

    def inside(self, v: int) -> str:
        if self.labels is None:
            return ""
        label = int(self.labels[v])
        return str(label) if self.label_names is None else str(self.label_names[label])

    def colour(self, v: int) -> str:
        return "#dce6ee" if self.labels is None else COLOURS[int(self.labels[v]) % len(COLOURS)]


def _draw_variable(ax: Axes, at: Floats, words: _Words, v: int, sure: float, unit: float) -> None:
    from matplotlib.patches import Circle
    from matplotlib.patheffects import withStroke

    colour = words.colour(v)
    face = (*_channels(colour), 0.15 + 0.85 * sure)
    ax.add_patch(Circle((at[0], at[1]), 0.24 * unit, facecolor="white", edgecolor="none", zorder=2))
    ax.add_patch(Circle((at[0], at[1]), 0.24 * unit, facecolor=face, edgecolor=INK, linewidth=1.0, zorder=3))
    ink = "white" if colour in DARK and sure > 0.6 else INK
    if words.labels is not None:
        ax.text(at[0], at[1], words.inside(v), ha="center", va="center", fontsize=9, color=ink, zorder=4)
    if words.names is not None:
        name = ax.text(
            at[0], at[1] - 0.29 * unit, words.names[v], ha="center", va="top", fontsize=7, color=INK, zorder=4
        )
        name.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def _draw_factor(ax: Axes, middle: Floats, places: Floats, name: str, unit: float) -> None:
    from matplotlib.patches import Rectangle

    for place in places:
        ax.plot(*np.array([middle, place]).T, color=INK, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1)
    half = 0.13 * unit
    ax.add_patch(Rectangle((middle[0] - half, middle[1] - half), 2 * half, 2 * half, facecolor=INK, zorder=3))
    ax.text(middle[0], middle[1] + 1.3 * half, name, ha="center", va="bottom", fontsize=7, color=INK, zorder=5)


def _typical_length(places: Floats, edges: npt.NDArray[np.int64]) -> float:
    """Return how far neighbours are apart, as a rule."""
    if len(edges):
        apart = places[edges[:, 0]] - places[edges[:, 1]]
        return max(float(np.median(np.hypot(apart[:, 0], apart[:, 1]))), 1e-9)
    return 1.0


def _as_places(positions: npt.ArrayLike) -> Floats:
    places = np.asarray(positions, dtype=np.float64)
    if not np.isfinite(places).all():
        raise InvalidInput("positions must be finite numbers.")
    return places


def _channels(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
