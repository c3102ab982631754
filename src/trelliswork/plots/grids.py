"""Labels of the cells of a grid as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.plots.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["label_pictures"]

# Okabe and Ito's colours, which those who see fewer colours can tell apart; more labels than these take a colour map.
_COLOURS = ["#f0e442", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"]


def label_pictures(
    labels: npt.ArrayLike,
    n_labels: int,
    image: npt.ArrayLike | None = None,
    truth: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw an image, the right labels and the labels found, as many of these as are given.

    Parameters
    ----------
    labels : (H, W) array of int
        The labels found; -1 is undecided, drawn grey.
    n_labels : int
        How many labels there are.
    image : (H, W) or (H, W, 3) array, optional
        What is labelled.
    truth : (H, W) array of int, optional
        The right labels, -1 where they are not known. Cells that are wrong have a red mark in the last picture.
    names : sequence of str, optional
        What labels are called in the legend.
    axes : sequence of matplotlib axes, optional
        Where to draw.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each picture.

    Examples
    --------
    >>> pictures = label_pictures(np.eye(4, dtype=int), 2, truth=np.ones((4, 4), dtype=int))
    >>> [axes.get_title() for axes in pictures]
    ['truth', 'labels, 25.0% right']
    """
    found = np.asarray(labels)
    right = None if truth is None else np.asarray(truth)
    shown: list[tuple[str, Any]] = [] if image is None else [("image", np.asarray(image))]
    if right is not None:
        shown.append(("truth", right))
    shown.append(("labels", found))
    if axes is None:
        axes = _row_of_axes(len(shown), found.shape)
    elif len(axes) != len(shown):
        raise InvalidInput(f"axes has {len(axes)} items, but there are {len(shown)} pictures to draw.")
    for (title, picture), place in zip(shown, axes, strict=True):
        place.set_title(title)
        place.set_xticks([])
        place.set_yticks([])
        if title == "image":
            place.imshow(picture, cmap="gray" if picture.ndim == 2 else None, interpolation="nearest")
        else:
            _draw_labels(place, picture, n_labels)
    if right is not None:
        _mark_wrong(axes[-1], found, right)
    _add_legend(axes[-1], n_labels, names, bool((found < 0).any()))
    return list(axes)


def _row_of_axes(n: int, shape: tuple[int, ...]) -> list[Axes]:
    height = 3.4
    width = height * min(max(shape[1] / max(shape[0], 1), 0.5), 2.0)
    first = new_axes(n * width + 1.0, height)
    figure = first.figure
    first.remove()
    return [figure.add_subplot(1, n, i + 1) for i in range(n)]


def _draw_labels(axes: Axes, labels: npt.NDArray[Any], n_labels: int) -> None:
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(["#bbbbbb", *_colours(n_labels)])
    axes.imshow(labels + 1, cmap=colours, vmin=-0.5, vmax=n_labels + 0.5, interpolation="nearest")


def _colours(n_labels: int) -> list[Any]:
    if n_labels <= len(_COLOURS):
        return list(_COLOURS[:n_labels])
    from matplotlib import colormaps

    return list(colormaps["turbo"](np.linspace(0.0, 1.0, n_labels)))


def _mark_wrong(axes: Axes, labels: npt.NDArray[Any], truth: npt.NDArray[Any]) -> None:
    known = truth >= 0
    wrong = known & (labels != truth)
    share = 1.0 - wrong.sum() / max(known.sum(), 1)
    axes.set_title(f"labels, {100.0 * share:.1f}% right")
    rows, columns = np.nonzero(wrong)
    axes.scatter(columns, rows, marker="x", s=max(4.0, 1500.0 / max(labels.shape)), c="red", linewidths=0.8)


def _add_legend(axes: Axes, n_labels: int, names: Sequence[str] | None, undecided: bool) -> None:
    if n_labels > 12:
        return
    from matplotlib.patches import Patch

    called = [str(label) for label in range(n_labels)] if names is None else list(names)
    patches = [Patch(color=colour, label=name) for colour, name in zip(_colours(n_labels), called, strict=True)]
    if undecided:
        patches.append(Patch(color="#bbbbbb", label="undecided"))
    axes.legend(handles=patches, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
