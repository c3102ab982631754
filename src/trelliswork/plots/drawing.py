"""A drawing as a list of lines, arrow heads and texts, and its two forms: SVG text, and matplotlib axes.

A picture is laid out once, in pixels with y downwards, and so looks the same in both. SVG needs no other package.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from trelliswork.plots.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FAINT", "INK", "RIGHT", "WRONG", "Drawing", "blend", "text_width"]

# Black, grey, and the blue and vermilion of Okabe & Ito: apart from each other in every common colour blindness.
INK, FAINT, RIGHT, WRONG = "#222222", "#767676", "#0072b2", "#d55e00"

Point = tuple[float, float]
PIXELS_PER_INCH = 96.0
WIDEST = 40.0  # inches of a new figure

_NARROW, _WIDE = set("iIjlt.,;:!|'`()[]f "), set("mwMW@%")


@dataclass(frozen=True)
class _Line:
    points: Sequence[Point]  # the corners are rounded
    colour: str
    width: float
    dashes: bool
    radius: float


@dataclass(frozen=True)
class _Triangle:
    tip: Point
    size: float
    down: bool
    colour: str


@dataclass(frozen=True)
class _Text:
    at: Point  # the middle of its baseline
    text: str
    size: float
    colour: str
    bold: bool
    rim: bool  # white around the letters, so that lines below do not disturb


@dataclass
class Drawing:
    """Shapes in the order they are drawn, and what is said of the whole to those who cannot see it."""

    description: str
    _shapes: list[_Line | _Triangle | _Text] = field(default_factory=list)

    def line(
        self, points: Sequence[Point], colour: str = INK, width: float = 1.4, dashes: bool = False, radius: float = 0.0
    ) -> None:
        """Add a line through points, its corners rounded."""
        self._shapes.append(_Line(points, colour, width, dashes, radius))

    def arrow_head(self, tip: Point, size: float = 6.0, down: bool = True, colour: str = INK) -> None:
        """Add a triangle that points down or up."""
        self._shapes.append(_Triangle(tip, size, down, colour))

    def text(
        self, at: Point, text: str, size: float = 14.0, colour: str = INK, bold: bool = False, rim: bool = False
    ) -> None:
        """Add a text around the middle of its baseline."""
        self._shapes.append(_Text(at, text, size, colour, bold, rim))

    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom, a margin around all shapes included."""
        xs, ys = [0.0], [0.0]
        for shape in self._shapes:
            if isinstance(shape, _Line):
                xs += [x for x, _ in shape.points]
                ys += [y for _, y in shape.points]
            elif isinstance(shape, _Text):
                half = text_width(shape.text, shape.size) / 2
                xs += [shape.at[0] - half, shape.at[0] + half]
                ys += [shape.at[1] - shape.size, shape.at[1] + 0.3 * shape.size]
        margin = 10.0
        return min(xs) - margin, min(ys) - margin, max(xs) + margin, max(ys) + margin

    def svg(self) -> str:
        """Return the picture as SVG text of its own, to be written to a file or put into a page."""
        left, top, right, bottom = self.bounds()
        width, height = right - left, bottom - top
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" '
            f"font-family=\"'DejaVu Sans', Verdana, sans-serif\">",
            f"<title>{_escaped(self.description)}</title>",
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="white"/>',
            *map(_svg_of, self._shapes),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def axes(self, ax: Axes | None = None) -> Axes:
        """Draw the picture on axes, by default new ones of its size, and return them."""
        left, top, right, bottom = self.bounds()
        width, height = right - left, bottom - top
        if ax is None:
            inches = min(width / PIXELS_PER_INCH, WIDEST)
            ax = new_axes(inches, height * inches / width)
        ax.set_xlim(left, right)
        ax.set_ylim(bottom, top)
        ax.set_aspect("equal")
        ax.axis("off")
        room = ax.get_window_extent()
        points = min(room.width / width, room.height / height) * 72 / ax.figure.dpi  # of a pixel of the layout
        for shape in self._shapes:
            _draw(ax, shape, points)
        return ax


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is, in pixels, without asking a font."""
    return size * sum(map(_em, text))


def blend(colour: str, share: float) -> str:
    """Return a colour on white: all of it for 1, a fifth for 0, so that nothing vanishes.

    Examples
    --------
    >>> blend("#000000", 1.0), blend("#000000", 0.5)
    ('#000000', '#666666')
    """
    share = 0.2 + 0.8 * min(max(float(share), 0.0), 1.0)
    channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + (channel - 255) * share):02x}" for channel in channels)


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in _NARROW:
        return 0.38
    if character in _WIDE:
        return 0.95
    return 0.72 if character.isupper() else 0.62


def _escaped(text: str) -> str:
    """Text for XML: marks escaped, and a replacement for what XML has no place for."""
    return escape("".join(c if c == "\t" or (c >= " " and not _is_no_character(c)) else "\ufffd" for c in text))


def _is_no_character(c: str) -> bool:
    return "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff"


def _svg_of(shape: _Line | _Triangle | _Text) -> str:
    if isinstance(shape, _Line):
        steps = " ".join(f"{command}{_numbers(points)}" for command, points in _path(shape.points, shape.radius))
        dashes = ' stroke-dasharray="4 3"' if shape.dashes else ""
        return f'<path d="{steps}" fill="none" stroke="{shape.colour}" stroke-width="{shape.width:g}"{dashes}/>'
    if isinstance(shape, _Triangle):
        return f'<polygon points="{_numbers(_corners(shape))}" fill="{shape.colour}"/>'
    x, y = shape.at
    look = ' font-weight="bold"' if shape.bold else ""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{shape.size:g}" text-anchor="middle"{look} xml:space="preserve"'
    letters = _escaped(shape.text)
    text = f'<text {place} fill="{shape.colour}">{letters}</text>'
    if not shape.rim:
        return text
    # The rim is a text of its own: not all viewers know how to paint a stroke below its letters.
    rim = 'fill="white" stroke="white" stroke-width="4" stroke-linejoin="round" aria-hidden="true"'
    return f"<text {place} {rim}>{letters}</text>\n{text}"


def _numbers(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _path(points: Sequence[Point], radius: float) -> list[tuple[str, list[Point]]]:
    """A line with rounded corners, in the commands of SVG: M(ove), L(ine), Q(uadratic curve)."""
    path: list[tuple[str, list[Point]]] = [("M", [points[0]])]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        if radius > 0:
            path += [("L", [_towards(corner, before, radius)]), ("Q", [corner, _towards(corner, after, radius)])]
        else:
            path.append(("L", [corner]))
    return [*path, ("L", [points[-1]])]


def _towards(start: Point, end: Point, distance: float) -> Point:
    """The point so far from the start, at most half of the way."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = (dx * dx + dy * dy) ** 0.5
    share = min(distance / length, 0.5) if length else 0.0
    return start[0] + dx * share, start[1] + dy * share


def _corners(shape: _Triangle) -> list[Point]:
    x, y = shape.tip
    base = y - shape.size if shape.down else y + shape.size
    return [(x, y), (x - 0.5 * shape.size, base), (x + 0.5 * shape.size, base)]


def _draw(ax: Axes, shape: _Line | _Triangle | _Text, points: float) -> None:
    """Put a shape on axes; ``points`` of the page make up a pixel of the layout."""
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path
    from matplotlib.patheffects import Normal, Stroke

    if isinstance(shape, _Line):
        codes = {"M": [Path.MOVETO], "L": [Path.LINETO], "Q": [Path.CURVE3, Path.CURVE3]}
        steps = _path(shape.points, shape.radius)
        path = Path([p for _, ends in steps for p in ends], [code for command, _ in steps for code in codes[command]])
        style: Any = (0, (3, 2)) if shape.dashes else "solid"
        ax.add_patch(
            PathPatch(path, fill=False, edgecolor=shape.colour, linewidth=shape.width * points, linestyle=style)
        )
    elif isinstance(shape, _Triangle):
        ax.add_patch(Polygon(_corners(shape), closed=True, facecolor=shape.colour, linewidth=0, zorder=2))
    else:
        weight = "bold" if shape.bold else "normal"
        text = ax.text(
            *shape.at,
            shape.text,
            fontsize=shape.size * points,
            color=shape.colour,
            fontweight=weight,
            ha="center",
            va="baseline",
            zorder=3,
            parse_math=False,  # "$5" is a word, not a formula
        )
        if shape.rim:
            text.set_path_effects([Stroke(linewidth=4 * points, foreground="white"), Normal()])
