"""Segmenters of pictures: which channels feed which blocks of a grid, and a trained model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.features.images import ImageFeatures, require_memory, steps_of
from trelliswork.labels.maps import typed_classes
from trelliswork.models.trained import TrainedModel, Weight

__all__ = ["CONTRAST", "ImageModel", "block_names", "bytes_of_cells", "grid_structure"]

FloatArray = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.uint32]

CONTRAST = " contrast"  # after the name of a direction: the channel of its contrasts


def grid_structure(
    n_labels: int,
    volume: bool,
    neighbours: int,
    associative: bool,
    inference: str,
    relaxed: bool = False,
    iterations: int = 1000,
) -> _core.PartStructure:
    """Return the labelled grids that a segmenter chooses from."""
    return _core.PartStructure.grid(
        n_labels, 3 if volume else 2, neighbours, associative, inference, relaxed, iterations
    )


def block_names(structure: _core.PartStructure, volume: bool) -> list[str]:
    """Return the names of the blocks: cells, and the directions to neighbours."""
    shape = np.ones(3 if volume else 2, dtype=np.uint32)
    return [name for name, _, _ in structure.blocks(shape)]


def bytes_of_cells(n_cells: int, n_numbers: int, n_labels: int, n_directions: int, n_codes: int) -> float:
    """Return how much memory an answer takes: numbers, scores of parts, and the search."""
    n_parts = n_labels + n_directions * n_codes
    return n_cells * (8.0 * n_numbers + 16.0 * n_parts + (24.0 + 16.0 * n_directions if n_directions else 0.0))


class ImageModel(TrainedModel):
    """A trained segmenter."""

    meets = ()

    def _made_core(self) -> None:
        described, K = self.settings["structure"], len(self.labels)
        self.features = ImageFeatures.from_file(self.settings["image"], self.tensors)
        self.told_of = set[str]()  # that marginals are approximate
        self.values = typed_classes(self.labels, self.settings["label_kind"])
        self.neighbours, self.associative = described["neighbours"], bool(described["associative"])
        self.inference = str(described["inference"])
        self.structure = self.made_structure(self.inference)
        self.blocks = block_names(self.structure, self.features.volume)
        self.n_codes = 1 if self.associative else K * K
        sizes = {"cells": len(self.features.names) * K, "bias": K}
        for name in self.blocks[1:]:
            sizes[name] = self.n_codes
            if self.features.contrast is not None:
                sizes[name + CONTRAST] = self.n_codes
        self.weights_of: dict[str, FloatArray] = {}
        for name, size in sizes.items():
            own = np.asarray(self.tensors[f"channel.{name}.weights"]).astype(np.float64)
            if own.size != size or not np.isfinite(own).all():
                raise ValueError(f"channel.{name}.weights must have {size} numbers")
            self.weights_of[name] = own

    def made_structure(self, inference: str) -> _core.PartStructure:
        """Return the same grids with another way to answer where no answer is exact."""
        return grid_structure(len(self.labels), self.features.volume, self.neighbours, self.associative, inference)

    @property
    def n_attributes(self) -> int:
        """How many numbers of a cell have weights."""
        return len(self.features.names)

    @cached_property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """The directions to neighbours."""
        return steps_of(self.neighbours)

    def shape(self, image: npt.NDArray[Any]) -> Numbers:
        """Return the shape of a picture as the structure reads it."""
        return np.array(image.shape[:-1], dtype=np.uint32)

    def require_memory(self, image: npt.NDArray[Any], name: str) -> None:
        """Refuse a picture whose answer would take more memory than there is."""
        n = image[..., 0].size
        needed = bytes_of_cells(n, self.n_attributes, len(self.labels), len(self.steps), self.n_codes)
        require_memory(needed, f"{name} has {n:,} cells: an answer")

    def scores(self, image: npt.NDArray[Any], n_jobs: int = 1) -> FloatArray:  # type: ignore[override]
        """Return the scores of all parts of a picture."""
        K, blocks = len(self.labels), self.structure.blocks(self.shape(image))
        out = np.empty(sum(sites * codes for _, sites, codes in blocks))
        rows = self.features.cells(image)
        first = rows.shape[0] * K
        cells = out[:first].reshape(-1, K)
        np.matmul(rows, self.weights_of["cells"].reshape(-1, K), out=cells)
        cells += self.weights_of["bias"]
        for step, (name, sites, codes) in zip(self.steps, blocks[1:], strict=True):
            pairs = out[first : first + sites * codes].reshape(sites, codes)
            first += sites * codes
            pairs[:] = self.weights_of[name]
            if self.features.contrast is not None:
                contrasts = self.features.contrasts(image, rows, step)
                pairs += contrasts[:, np.newaxis] * self.weights_of[name + CONTRAST]
        out /= self.temperature
        return out

    def weights(self) -> list[Weight]:
        """Return all weights, the largest first; those of pairs are of labels that agree, or of both labels."""
        found = [
            Weight(attribute, previous, label, weight)
            for attribute, previous, label, weight in self._all_weights()
            if weight != 0.0
        ]
        return sorted(found, key=lambda weight: -abs(weight.weight))

    def _all_weights(self) -> Iterator[tuple[str | None, str | None, str, float]]:
        K = len(self.labels)
        for j, row in enumerate(self.weights_of["cells"].reshape(-1, K).tolist()):
            for label, weight in zip(self.labels, row, strict=True):
                yield self.features.names[j], None, label, weight
        for label, weight in zip(self.labels, self.weights_of["bias"].tolist(), strict=True):
            yield None, None, label, weight
        for name, own in self.weights_of.items():
            if name in ("cells", "bias"):
                continue
            for code, weight in enumerate(own.tolist()):
                before = None if self.associative else self.labels[code // K]
                yield name, before, "the same" if self.associative else self.labels[code % K], weight
