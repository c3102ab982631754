"""Pictures of pairs: a table of scores or probabilities, and the pairs of a matching or an alignment marked in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork.plots.figures import new_axes
from trelliswork.plots.trellis import PATH_COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["pairs"]


def pairs(
    table: npt.NDArray[np.float64],
    marked: npt.NDArray[np.int32],
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw a table and mark some of its cells.

    Parameters
    ----------
    table : (n, m) array
        What is drawn; -inf is left white.
    marked : (k, 2) array
        Rows and columns of the cells that are marked.
    rows, columns : sequences, optional
        What stands for the rows, from above, and for the columns.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    **options
        For `matplotlib.axes.Axes.imshow`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    n, m = table.shape
    ax = new_axes(max(3.0, min(0.3 * m + 1.5, 12.0)), max(2.0, min(0.3 * n, 12.0))) if ax is None else ax
    drawn = ax.imshow(np.ma.masked_invalid(table), **({"cmap": "Greys", "aspect": "auto"} | options))
    ax.figure.colorbar(drawn, ax=ax)
    ax.scatter(marked[:, 1], marked[:, 0], marker="o", facecolors="none", edgecolors=PATH_COLOUR, linewidths=1.5)
    if rows is not None:
        ax.set_yticks(range(n), [str(item) for item in rows])
    if columns is not None:
        ax.set_xticks(range(m), [str(item) for item in columns])
    return ax
