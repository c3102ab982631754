"""Where pictures are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trelliswork.errors import TrellisworkError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["new_axes"]


def new_axes(width: float, height: float) -> Axes:
    """Return axes in a figure of their own, so many inches large, which no backend and no global state knows about."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TrellisworkError(
            "Drawing needs matplotlib, which is not installed. Run: pip install 'trelliswork[plots]'"
        ) from error
    return Figure(figsize=(width, height), dpi=120, layout="constrained").add_subplot()
