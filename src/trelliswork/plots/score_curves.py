"""Scores as curves: F against epochs, seconds, k, lambda, or the size of the training set.

Lines differ in colour, marker and dashes at once, so that any one of the three is enough to tell them apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import text_of_value
from trelliswork.errors import InvalidInput
from trelliswork.plots.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.evaluation.results import Candidate

__all__ = ["Curve", "plot_candidates", "score_curves"]

# Okabe & Ito's colours without yellow, which is faint on white: apart in every common colour blindness.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
MOST_MARKERS = 12  # of a line; more would hide it
MOST_BARS = 3  # lines whose deviations are drawn unasked; those of more would lie over each other
WIDE = 30.0  # from this ratio on, positive values are spread by their logarithms
WIDTH, HEIGHT = 6.4, 4.2  # inches
MOST_IN_COLUMN = 12  # names of lines

NAMES = {
    "f1": "F1 of spans (%)",
    "token_f1": "F-measure of tokens (%)",
    "accuracy": "accuracy (%)",
    "iteration": "iterations",
    "seconds": "seconds of training",
    "cpu_seconds": "processor seconds of training",
}


class Curve(NamedTuple):
    """One line: values on the horizontal axis (numbers or names), values on the vertical one, and deviations of them.

    ``error`` is drawn as bars up and down; None leaves them out.
    """

    x: Sequence[Any]
    y: Sequence[float]
    error: Sequence[float] | None = None


def score_curves(
    curves: Mapping[str, Curve | tuple[Any, ...]],
    xlabel: str = "",
    ylabel: str = "",
    *,
    log: bool | None = None,
    bars: bool | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw lines of scores and return the axes.

    Parameters
    ----------
    curves : mapping of str to Curve, or (x, y) or (x, y, error)
        The lines by name; a single one called ``""`` has no legend.
    xlabel, ylabel : str
        What the axes show.
    log : bool, optional
        Whether the horizontal axis is logarithmic; by default if its values are positive and far apart.
    bars : bool, optional
        Whether deviations are drawn; by default of up to three lines.
    title : str, optional
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure that pyplot does not know about.

    Returns
    -------
    matplotlib.axes.Axes
        ``axes.figure.savefig("curves.png")`` writes the picture.

    Examples
    --------
    >>> axes = score_curves({"hinge": ([0, 5, 10], [95.9, 95.1, 94.4]), "ramp": ([0, 5, 10], [95.9, 95.6, 95.3])})
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['hinge', 'ramp']
    """
    lines = {name: Curve(*curve) for name, curve in curves.items()}
    if not lines:
        raise InvalidInput("curves is empty: there is nothing to draw.")
    for name, curve in lines.items():
        if len(curve.x) != len(curve.y) or (curve.error is not None and len(curve.error) != len(curve.y)):
            raise InvalidInput(f"curves[{name!r}] has {len(curve.x)} values of x but {len(curve.y)} of y.")
    axes = new_axes(WIDTH, HEIGHT) if ax is None else ax
    places = _places([x for curve in lines.values() for x in curve.x])
    bars = len(lines) <= MOST_BARS if bars is None else bars
    for number, (name, curve) in enumerate(lines.items()):
        x = curve.x if places is None else [places[value] for value in curve.x]
        look: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKERS[number % len(MARKERS)],
            "linestyle": DASHES[(2 * (number // len(COLOURS)) + number) % len(DASHES)],
            "markevery": max(1, -(-len(x) // MOST_MARKERS)),
        }
        error = curve.error if bars else None
        axes.errorbar(x, curve.y, error, label=name, markersize=5, linewidth=1.5, elinewidth=0.8, capsize=3, **look)
    _scale(axes, lines, places, log)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if title is not None:
        axes.set_title(title)
    axes.grid(alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(lines) > 1 or "" not in lines:
        axes.legend(frameon=False, fontsize=8, ncols=-(-len(lines) // MOST_IN_COLUMN))
    return axes


def plot_candidates(
    candidates: Sequence[Candidate], x: str | None, measure: str, ax: Axes | None = None, **how: Any
) -> Axes:
    """Draw the scores of a grid; see `CrossValidation.plot`."""
    known = list(candidates[0].scores)
    if measure not in known:
        raise InvalidInput(f"measure is {measure!r}; expected one of {', '.join(map(repr, known))}.")
    x = _default_x(candidates) if x is None else x
    if x in ("iteration", "seconds", "cpu_seconds"):
        curves = _against_time(candidates, x, measure)
    else:
        curves = _against_parameter(candidates, x, measure)
    labels = {"xlabel": NAMES.get(x, x.rpartition("__")[2]), "ylabel": NAMES.get(measure, measure)}
    return score_curves(curves, ax=ax, **(labels | how))


def named_by(params: Sequence[Mapping[str, Any]], without: str | None = None) -> list[str]:
    """Return a short name for each of several settings: the parameters in which they differ.

    Examples
    --------
    >>> named_by([{"learner__k": 1, "learner__C": 1.0}, {"learner__k": 5, "learner__C": 1.0}])
    ['k=1', 'k=5']
    """
    names = [name for name in dict.fromkeys(name for one in params for name in one) if name != without]
    texts = {name: [text_of_value(one[name]) if name in one else "" for one in params] for name in names}
    varied = [name for name in names if len(set(texts[name])) > 1]
    plain = ("learner", "estimator")  # whose values speak for themselves
    return [
        ", ".join(
            texts[name][i] if name in plain else f"{name.rpartition('__')[2]}={texts[name][i]}"
            for name in varied
            if texts[name][i]
        )
        for i in range(len(params))
    ]


def _default_x(candidates: Sequence[Candidate]) -> str:
    for name in candidates[0].params:
        values = {one.params[name] for one in candidates if _is_number(one.params.get(name))}
        if len(values) > 1:
            return name
    return "iteration"


def _against_parameter(candidates: Sequence[Candidate], x: str, measure: str) -> dict[str, Curve]:
    shown = [one for one in candidates if x in one.params]
    if not shown:
        known = ", ".join(map(repr, candidates[0].params)) or "none"
        raise InvalidInput(
            f"x is {x!r}; expected 'iteration', 'seconds', 'cpu_seconds' or a parameter of the grid: {known}."
        )
    lines: dict[str, list[Candidate]] = {}
    for name, candidate in zip(named_by([one.params for one in shown], without=x), shown, strict=True):
        lines.setdefault(name, []).append(candidate)
    return {name: _line(members, x, measure) for name, members in lines.items()}


def _line(members: list[Candidate], x: str, measure: str) -> Curve:
    if all(_is_number(one.params[x]) for one in members):
        members = sorted(members, key=lambda one: float(one.params[x]))
    values = [_hashable(one.params[x]) for one in members]
    scores = [100 * one.scores[measure] for one in members]
    error = [float(score.std(ddof=1)) for score in scores] if len(scores[0]) > 1 else None
    return Curve(values, [float(score.mean()) for score in scores], error)


def _against_time(candidates: Sequence[Candidate], x: str, measure: str) -> dict[str, Curve]:
    if not all(all(candidate.curves) for candidate in candidates):
        raise InvalidInput(f"x is {x!r}, but there are no scores of iterations: pass curves=True to cross_validate.")
    # Settings that differ only in their number of epochs are one run: its longest part has all.
    runs: dict[int, Candidate] = {}
    for candidate in candidates:
        run = id(candidate.curves[0][0])
        if run not in runs or len(candidate.curves[0]) > len(runs[run].curves[0]):
            runs[run] = candidate
    shown = list(runs.values())
    curves = {}
    for name, candidate in zip(named_by([one.params for one in shown]), shown, strict=True):
        length = max(map(len, candidate.curves))  # a fold that converged earlier stays where it is
        whole = [[*curve, *[curve[-1]] * (length - len(curve))] for curve in candidate.curves]
        score = np.mean([[point[measure] for point in curve] for curve in whole], axis=0)
        times = np.mean([[point[x] for point in curve] for curve in whole], axis=0)
        at = range(1, length + 1) if x == "iteration" else times.tolist()
        curves[name] = Curve(at, (100 * score).tolist())
    return curves


def _places(values: Sequence[Any]) -> dict[Any, int] | None:
    """Where values that are no numbers stand on the axis; None if all are numbers."""
    if all(_is_number(value) for value in values):
        return None
    return {value: place for place, value in enumerate(dict.fromkeys(values))}


def _scale(axes: Axes, lines: Mapping[str, Curve], places: Mapping[Any, int] | None, log: bool | None) -> None:
    if places is not None:
        axes.set_xticks(range(len(places)), [text_of_value(value) for value in places])
        return
    values = np.array(sorted({float(x) for curve in lines.values() for x in curve.x}))
    finite = values[np.isfinite(values)]
    if log is None:
        # A grid of powers of ten, not seconds, which lie close to each other.
        steps: npt.NDArray[np.float64] = finite[1:] / finite[:-1] if len(finite) > 1 and finite[0] > 0 else np.ones(1)
        log = bool(len(finite) > 1 and finite[0] > 0 and finite[-1] / finite[0] >= WIDE and steps.min() >= 1.5)
    if log:
        axes.set_xscale("log")
    elif (finite == np.round(finite)).all():
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else text_of_value(value)
