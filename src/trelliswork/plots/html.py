"""Tables, bars and curves as HTML that needs nothing else: for notebooks, and for the report of a model.

Colours are written into every element, since a notebook has no style sheet of ours. What a colour says, a number says,
too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from trelliswork.plots.drawing import FAINT, INK, RIGHT, WRONG, Drawing

__all__ = ["bars", "curves", "heat_map", "table"]

Floats = npt.NDArray[np.float64]
COLOURS = (RIGHT, WRONG, "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
CELL = "padding:2px 6px;text-align:right;font-variant-numeric:tabular-nums;border:1px solid #d5dbe3;"
TEXT = "padding:2px 6px;text-align:left;overflow-wrap:anywhere"
HEAD = "padding:2px 6px;text-align:{};font-weight:normal;color:#5a6675;white-space:nowrap;vertical-align:top;"


def heat_map(
    values: npt.ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    marked: Collection[tuple[int, int]] = (),
    digits: int = 2,
    caption: str = "",
) -> str:
    """Return a table whose cells are the darker the larger their number: blue above 0, orange below.

    Parameters
    ----------
    values : (R, C) array-like
        ``-inf`` is shown as forbidden.
    rows, columns : sequences of str
        Their names.
    marked : collection of (row, column)
        Cells with a rim, such as the best path of a trellis.
    digits : int
        After the decimal point.
    caption : str

    Examples
    --------
    >>> heat_map([[1.0, -2.0]], ["a"], ["b", "c"]).count("<td")
    2
    """
    numbers = np.asarray(values, dtype=np.float64)
    finite = np.abs(numbers[np.isfinite(numbers)])
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    lines = [_caption(caption), f"<tr><th></th>{''.join(_head(name, 'center') for name in columns)}</tr>"]
    for r, name in enumerate(rows):
        cells = "".join(_cell(float(x), largest, digits, (r, c) in marked) for c, x in enumerate(numbers[r]))
        lines.append(f"<tr>{_head(name, 'right')}{cells}</tr>")
    return _table(lines)


def _cell(value: float, largest: float, digits: int, marked: bool) -> str:
    rim = "outline:2px solid #222;outline-offset:-2px;font-weight:bold;" if marked else ""
    if not math.isfinite(value):
        return f'<td style="{CELL}{rim}color:#5a6675" title="forbidden">&times;</td>'
    share = min(abs(value) / largest, 1.0)
    colour = "0,114,178" if value >= 0 else "213,94,0"
    ink = "#fff" if share > 0.85 else INK
    text = f"{value:.{digits}f}"
    shown = "" if float(text) == 0 and not marked else text.replace("-", "&minus;")
    return f'<td style="{CELL}{rim}background:rgba({colour},{share:.3f});color:{ink}" title="{value:.6g}">{shown}</td>'


def bars(values: Sequence[tuple[str, float]], *, caption: str = "") -> str:
    """Return names with bars, to the length of their numbers: blue above 0, orange below.

    Examples
    --------
    >>> bars([("word=dog", 1.5), ("word=cat", -0.5)]).count("width:100%") + bars([]).count("<tr")
    1
    """
    largest = max((abs(value) for _, value in values), default=0.0) or 1.0
    lines = [_caption(caption)]
    for name, value in values:
        colour = RIGHT if value >= 0 else WRONG
        bar = f"display:block;height:10px;background:{colour};width:{100 * abs(value) / largest:.0f}%"
        number = f"{value:+.3f}".replace("-", "&minus;")
        lines.append(
            f'<tr><td style="{CELL}">{number}</td>'
            f'<td style="width:100px;padding:2px 6px"><span style="{bar}"></span></td>'
            f'<td style="{TEXT}">{escape(name)}</td></tr>'
        )
    return _table(lines)


def table(rows: Sequence[tuple[str, str]], *, caption: str = "") -> str:
    """Return pairs of texts as a table.

    Examples
    --------
    >>> table([("labels", "3")]).count("<tr>")
    1
    """
    lines = [_caption(caption)]
    lines += [f'<tr>{_head(name, "left")}<td style="{TEXT}">{escape(value)}</td></tr>' for name, value in rows]
    return _table(lines)


def curves(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, x: str, y: str, square: bool = False
) -> str:
    """Return curves as SVG text.

    Parameters
    ----------
    lines : mapping of str to (xs, ys)
        By name. Points that are not finite are left out.
    x, y : str
        What the axes are.
    square : bool
        Whether both axes go from 0 to 1, with a line between their ends: what is on it is calibrated.

    Examples
    --------
    >>> curves({"loss": ([1, 2, 3], [3.0, 2.0, 1.5])}, x="iteration", y="loss")[:4]
    '<svg'
    """
    points = {
        name: [(float(a), float(b)) for a, b in zip(xs, ys, strict=True) if math.isfinite(a) and math.isfinite(b)]
        for name, (xs, ys) in lines.items()
    }
    every = [point for own in points.values() for point in own] or [(0.0, 0.0)]
    width, height = (240.0, 240.0) if square else (420.0, 200.0)
    x_low, x_high = (0.0, 1.0) if square else _range([a for a, _ in every])
    y_low, y_high = (0.0, 1.0) if square else _range([b for _, b in every])
    drawing = Drawing(f"{y} against {x}: {', '.join(lines)}")

    def place(a: float, b: float) -> tuple[float, float]:
        return (a - x_low) / (x_high - x_low) * width, height - (b - y_low) / (y_high - y_low) * height

    drawing.line([(0.0, 0.0), (0.0, height), (width, height)], colour=FAINT, width=1.0)
    for a in _ticks(x_low, x_high, whole=not square and all(a.is_integer() for a, _ in every)):
        drawing.text((place(a, y_low)[0], height + 16), _number(a), 11.0, FAINT)
    for b in _ticks(y_low, y_high):
        drawing.text((-30.0, place(x_low, b)[1] + 4), _number(b), 11.0, FAINT)
    drawing.text((width / 2, height + 34), x, 12.0)
    drawing.text((20.0, -12.0), y, 12.0)
    if square:
        drawing.line([(0.0, height), (width, 0.0)], colour=FAINT, width=1.0, dashes=True)
    for i, (name, own) in enumerate(points.items()):
        colour = COLOURS[i % len(COLOURS)]
        if len(own) > 1:
            drawing.line([place(a, b) for a, b in own], colour=colour, width=2.0)
        for a, b in own if len(own) <= 20 else []:
            left, top = place(a, b)
            drawing.line([(left - 3, top), (left + 3, top)], colour=colour, width=4.0)
        if len(points) > 1:
            drawing.text((width + 40, 14.0 + 16 * i), name, 12.0, colour)
    return drawing.svg()


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float, whole: bool = False) -> tuple[float, float, float]:
    middle = (low + high) / 2
    return low, float(int(middle)) if whole else middle, high


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"


def _head(name: str, side: str) -> str:
    return f'<th style="{HEAD.format(side)}">{escape(name)}</th>'


def _caption(text: str) -> str:
    return f'<caption style="text-align:left;color:{INK}">{escape(text)}</caption>' if text else ""


def _table(lines: Sequence[str]) -> str:
    return f'<table style="border-collapse:collapse;background:#fff;color:{INK}">{"".join(lines)}</table>'
