"""Features of images: numbers for each cell, and the contrast of neighbours.

An image is an array (rows, columns) or (rows, columns, channels); a volume has planes before the rows. Cells are
numbered row by row. The ready-made set for an image with C channels, all standardised on the training images:

| | numbers |
| --- | --- |
| the channels, and their squares | 2 C |
| the means of the channels around the cell, in windows of 3 and 9 cells | 2 C |
| the standard deviations of the brightness (the mean of the channels) in the same windows | 2 |
| which of eight bins the brightness is in; each has as much of the training images | 8 |
| optional: the position along each axis, from -1 to 1, and its square | 2 for each axis |

Feature maps are only standardised. The features of a pair of neighbours are a constant and the contrast of Boykov and
Jolly (2001), exp(-|difference|^2 / (2 sigma^2)), where sigma^2 is the mean over the training images.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown

__all__ = ["ImageFeatures", "as_image", "as_images", "require_memory", "steps_of"]

FloatArray = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

_WINDOWS = (3, 9)
_BINS = 8
_SAMPLED = 200_000  # cells whose brightness decides where bins begin
_LARGEST = 1e18  # squares of numbers are in single precision
_DIVISORS = {"uint8": 255.0, "uint16": 65535.0}

# As core/cuts/grid.hpp has the directions from a cell to half of its neighbours.
_STEPS: dict[int, tuple[tuple[int, ...], ...]] = {
    0: (),
    4: ((0, 1), (1, 0)),
    8: ((0, 1), (1, 0), (1, 1), (1, -1)),
    6: ((0, 0, 1), (0, 1, 0), (1, 0, 0)),
    26: (
        *((0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1), (0, 1, -1), (1, 0, 1), (1, 0, -1), (1, 1, 0), (1, -1, 0)),
        *((1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)),
    ),
}


def steps_of(neighbours: int) -> tuple[tuple[int, ...], ...]:
    """Return the steps from a cell to its later neighbours, one for each direction.

    Examples
    --------
    >>> steps_of(4)
    ((0, 1), (1, 0))
    """
    return _STEPS[neighbours]


@dataclass(frozen=True, eq=False)
class ImageFeatures:
    """The conversion of images to features; made by `ImageFeatures.of` from the training images.

    Attributes
    ----------
    kind : {"colour", "maps"}
        The ready-made set, or feature maps.
    n_channels : int
    volume : bool
        Whether there are planes before the rows.
    position : bool
        Whether the position of a cell is a feature.
    bins : (7,) array
        Where the bins of brightness begin, except the first.
    mean, spread : (D,) arrays
        What is subtracted from each feature, and what it is divided by.
    contrast : float or None
        Twice sigma squared; None if contrast is not a feature.
    """

    kind: str
    n_channels: int
    volume: bool
    position: bool
    bins: FloatArray
    mean: FloatArray
    spread: FloatArray
    contrast: float | None

    @classmethod
    def of(
        cls, images: Sequence[npt.NDArray[Any]], kind: str, position: bool, contrast: Any, volume: bool
    ) -> tuple[ImageFeatures, Singles]:
        """Return the features for images that `as_images` checked, and the values of all their cells.

        Parameters
        ----------
        images : list of (..., C) arrays
        kind : {"colour", "maps"}
        position : bool
        contrast : bool or float
            True estimates sigma on the images; a number is sigma.
        volume : bool
        """
        n_channels = int(images[0].shape[-1])
        bins = _quantiles(images) if kind == "colour" else np.zeros(0)
        raw = cls(kind, n_channels, volume, position, bins, np.zeros(0), np.zeros(0), None)
        rows = raw._numbers_of(images)
        mean = rows.mean(axis=0, dtype=np.float64) if len(rows) else np.zeros(rows.shape[1])
        rows -= mean.astype(np.float32)
        squares = sum((np.square(part, dtype=np.float64).sum(axis=0) for part in _pieces(rows)), np.zeros(len(mean)))
        spread = np.sqrt(squares / max(len(rows), 1))
        spread[spread <= 1e-6 * (1.0 + np.abs(mean))] = 1.0
        rows /= spread.astype(np.float32)
        made = cls(kind, n_channels, volume, position, bins, mean, spread, None)
        return cls(kind, n_channels, volume, position, bins, mean, spread, made._sigma(images, rows, contrast)), rows

    @property
    def names(self) -> list[str]:
        """The names of the features of a cell."""
        C = self.n_channels
        if self.kind == "maps":
            return [f"x[{c}]" for c in range(C)]
        found = [f"colour[{c}]" for c in range(C)] + [f"colour[{c}]^2" for c in range(C)]
        found += [f"mean{w}[{c}]" for w in _WINDOWS for c in range(C)] + [f"deviation{w}" for w in _WINDOWS]
        found += [f"brightness in {b + 1}/{_BINS}" for b in range(_BINS)]
        if self.position:
            axes = ("plane", "row", "column")[0 if self.volume else 1 :]
            found += [name for axis in axes for name in (axis, f"{axis}^2")]
        return found

    def cells(self, image: npt.NDArray[Any]) -> Singles:
        """Return the standardised features of all cells of an image, (n, D)."""
        rows = self._numbers_of([image])
        rows -= self.mean.astype(np.float32)
        rows /= self.spread.astype(np.float32)
        return rows

    def contrasts(self, image: npt.NDArray[Any], rows: Singles, step: tuple[int, ...]) -> Singles:
        """Return the contrast of each pair of neighbours in one direction: from 1 for equal cells down towards 0."""
        assert self.contrast is not None
        found = _differences(self._guide(image, rows), step)
        if self.contrast > 0.0:
            found /= -np.float32(self.contrast)
            return np.exp(found, out=found).ravel()
        return np.ones(found.size, dtype=np.float32)

    def as_settings(self) -> dict[str, Any]:
        """Return what a model file says of this."""
        return {
            "kind": self.kind,
            "n_channels": self.n_channels,
            "volume": self.volume,
            "position": self.position,
            "contrast": self.contrast,
        }

    def as_tensors(self) -> dict[str, Any]:
        """Return what else it keeps."""
        return {"image.bins": self.bins, "image.mean": self.mean, "image.spread": self.spread}

    @classmethod
    def from_file(cls, settings: Mapping[str, Any], tensors: Mapping[str, Any]) -> ImageFeatures:
        """Return what `as_settings` and `as_tensors` described; raise `ValueError` if it is unsound."""
        kind, n_channels, contrast = settings["kind"], settings["n_channels"], settings["contrast"]
        if kind not in ("colour", "maps") or type(n_channels) is not int or n_channels < 1:
            raise ValueError(f"there are no features {kind!r} of {n_channels!r} channels")
        if contrast is not None and (type(contrast) not in (int, float) or not 0.0 <= contrast < 1e300):
            raise ValueError(f"image.contrast is {contrast!r}, and must be a number from 0 on, or null")
        bins, mean, spread = (
            np.array(np.asarray(tensors[f"image.{name}"], dtype=np.float64)) for name in ("bins", "mean", "spread")
        )
        found = cls(
            kind, n_channels, bool(settings["volume"]), bool(settings["position"]), bins, mean, spread, contrast
        )
        sizes = (len(found.names), len(found.names), _BINS - 1 if kind == "colour" else 0)
        if (mean.size, spread.size, bins.size) != sizes:
            raise ValueError("image.mean, image.spread or image.bins has the wrong size")
        if not all(np.isfinite(part).all() for part in (bins, mean, spread)) or (spread <= 0.0).any():
            raise ValueError("image.mean, image.spread or image.bins has numbers that cannot be")
        return found

    def _numbers_of(self, images: Sequence[npt.NDArray[Any]]) -> Singles:
        sizes = [image[..., 0].size for image in images]
        rows = np.empty((sum(sizes), len(self.names)), dtype=np.float32)
        first = 0
        for image, size in zip(images, sizes, strict=True):
            self._fill(image, rows[first : first + size])
            first += size
        return rows

    def _fill(self, image: npt.NDArray[Any], rows: Singles) -> None:
        """Write the numbers of a picture, not standardised."""
        C, places = self.n_channels, image.shape[:-1]
        if self.kind == "maps":
            rows[:] = image.reshape(-1, C)
            return
        from scipy.ndimage import uniform_filter

        colours = _scaled(image)
        flat, brightness = colours.reshape(-1, C), colours.mean(axis=-1)
        rows[:, :C] = flat
        rows[:, C : 2 * C] = flat * flat
        at = 2 * C
        if rows.size:
            for window in _WINDOWS:
                size = (*(window,) * len(places), 1)
                rows[:, at : at + C] = uniform_filter(colours, size, mode="nearest").reshape(-1, C)
                at += C
            for window in _WINDOWS:
                means, squares = (uniform_filter(part, window, mode="nearest") for part in (brightness, brightness**2))
                rows[:, at] = np.sqrt(np.maximum(squares - means**2, 0.0)).ravel()
                at += 1
            rows[:, at : at + _BINS] = 0.0
            rows[np.arange(len(rows)), at + np.searchsorted(self.bins, brightness.ravel(), side="right")] = 1.0
            at += _BINS
            if self.position:
                for axis, n in enumerate(places):
                    shape = [1] * len(places)
                    shape[axis] = n
                    place = np.broadcast_to(np.linspace(-1.0, 1.0, n).reshape(shape) if n > 1 else 0.0, places).ravel()
                    rows[:, at], rows[:, at + 1] = place, place**2
                    at += 2

    def _guide(self, image: npt.NDArray[Any], rows: Singles) -> Singles:
        """What contrast is looked for in: the colours, or all maps."""
        return _scaled(image) if self.kind == "colour" else rows.reshape(*image.shape[:-1], rows.shape[1])

    def _sigma(self, images: Sequence[npt.NDArray[Any]], rows: Singles, contrast: Any) -> float | None:
        if contrast is False:
            return None
        if contrast is not True:
            return 2.0 * float(contrast) ** 2
        total, n, first = 0.0, 0, 0
        for image in images:
            size = image[..., 0].size
            guide = self._guide(image, rows[first : first + size])
            first += size
            for step in steps_of(6 if self.volume else 4):
                found = _differences(guide, step)
                total, n = total + float(found.sum(dtype=np.float64)), n + found.size
        return 2.0 * total / n if n else 0.0


def as_images(X: Any, volume: bool, n_channels: int | None = None, name: str = "X") -> list[npt.NDArray[Any]]:
    """Return images as arrays (..., C), all with the same number of channels.

    Examples
    --------
    >>> [image.shape for image in as_images([np.zeros((4, 5)), np.zeros((2, 3, 1))], False)]
    [(4, 5, 1), (2, 3, 1)]
    """
    if isinstance(X, (str, bytes)) or not hasattr(X, "__iter__"):
        raise InvalidInput(f"{name} is {shown(X)}; expected a list of pictures, each an array.")
    if isinstance(X, np.ndarray) and X.dtype != object and X.ndim == (3 if volume else 2):
        raise InvalidInput(f"{name} has shape {X.shape}: that is one picture. Pass a list of them, [{name}].")
    found: list[npt.NDArray[Any]] = []
    for i, x in enumerate(X):
        image = as_image(x, volume, f"{name}[{i}]")
        expected = n_channels if n_channels is not None else found[0].shape[-1] if found else image.shape[-1]
        if image.shape[-1] != expected:
            raise InvalidInput(
                f"{name}[{i}] has {image.shape[-1]} channels but "
                f"{'the model was trained on' if n_channels is not None else f'{name}[0] has'} {expected}."
            )
        found.append(image)
    return found


def as_image(x: Any, volume: bool, name: str) -> npt.NDArray[Any]:
    """Return one image as an array (..., C) of finite numbers."""
    try:
        image = np.asarray(x)
    except ValueError:
        raise InvalidInput(f"{name} has rows of different lengths; expected an array.") from None
    if image.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} has values of type {image.dtype}; expected numbers.")
    flat = 3 if volume else 2
    if image.ndim == flat:
        image = image[..., np.newaxis]
    if image.ndim != flat + 1:
        wanted = "(planes, rows, columns[, channels])" if volume else "(rows, columns[, channels])"
        more = "" if volume or image.ndim != 4 else " For volumes say volume=True."
        raise InvalidInput(f"{name} has shape {np.shape(x)}; expected {wanted}.{more}")
    if image.shape[-1] == 0:
        raise InvalidInput(f"{name} has shape {np.shape(x)}: no channels.")
    if image.dtype.kind == "f" and not np.isfinite(image).all():
        place = tuple(np.argwhere(~np.isfinite(image))[0].tolist())
        raise InvalidInput(
            f"{name} has {image[place]} at {place[:-1]}; expected finite numbers. Put another number there and, if its "
            "label is not known either, leave the label out (ignore)."
        )
    if image.dtype.kind == "f" and image.size and max(image.max(), -image.min()) > _LARGEST:
        raise InvalidInput(f"{name} has numbers beyond {_LARGEST:.0e}, too large for single precision. Scale them.")
    return image


def require_memory(n_bytes: float, what: str) -> None:
    """Refuse work that needs more memory than the machine has, before any is allocated."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system says
        return
    if n_bytes > there:
        raise InvalidInput(
            f"{what} would take {n_bytes / 1e9:,.1f} GB of memory, and this machine has {there / 1e9:,.1f}. Pass fewer "
            "or smaller pictures, or fewer features."
        )


def _scaled(image: npt.NDArray[Any]) -> Singles:
    """Return colours in single precision, from 0 to 1 where they are whole numbers of one or two bytes."""
    colours = image.astype(np.float32)
    divisor = _DIVISORS.get(image.dtype.name)
    return colours if divisor is None else colours / np.float32(divisor)


def _differences(guide: Singles, step: tuple[int, ...]) -> Singles:
    """Return |x - x'|^2 of the cells that are a step apart, by the lower corner of the box of both."""
    first = tuple(slice(None, -1) if s > 0 else slice(1, None) if s < 0 else slice(None) for s in step)
    second = tuple(slice(1, None) if s > 0 else slice(None, -1) if s < 0 else slice(None) for s in step)
    apart = guide[first] - guide[second]
    found: Singles = np.einsum("...c,...c->...", apart, apart)
    return found


def _quantiles(images: Sequence[npt.NDArray[Any]]) -> FloatArray:
    total = sum(image[..., 0].size for image in images)
    each = max(1, total // _SAMPLED)
    found = [_scaled(image).mean(axis=-1).ravel()[::each] for image in images]
    values = np.concatenate(found) if total else np.zeros(1, dtype=np.float32)
    return np.quantile(values.astype(np.float64), np.arange(1, _BINS) / _BINS)


def _pieces(rows: Singles) -> Any:
    return (rows[first : first + (1 << 16)] for first in range(0, len(rows), 1 << 16))
