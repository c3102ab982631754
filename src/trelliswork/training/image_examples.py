"""Pictures with gold labels on their way to an oracle, and the weights that were learned on theirs to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.features.images import ImageFeatures, as_images, require_memory, steps_of
from trelliswork.features.inputs import Inputs
from trelliswork.labels.maps import UNKNOWN, classes_of_maps, coded_map, label_maps
from trelliswork.models.images import CONTRAST, ImageModel, block_names, grid_structure
from trelliswork.structures import checks
from trelliswork.training.examples import DevScore, Examples
from trelliswork.training.same_run import checksum_of_array
from trelliswork.training.weighting import Weighting

if TYPE_CHECKING:
    from trelliswork.estimators.image_segmenter import ImageSegmenter

__all__ = ["ImageExamples", "accuracy", "bits_of"]

FloatArray = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.int32]


class ImageExamples(Examples):
    """What one call of `ImageSegmenter.fit` learns from.

    Parameters
    ----------
    segmenter : ImageSegmenter
        Its parameters are used.
    images : list of (..., C) arrays
    kind : {"colour", "maps"}
        Which features they have.
    Y : maps of labels
    sample_weight : (n,) array-like or None
    """

    def __init__(
        self, segmenter: ImageSegmenter, images: list[npt.NDArray[Any]], kind: str, Y: Any, sample_weight: Any
    ) -> None:
        super().__init__(segmenter, Inputs("matrix", n_columns=int(images[0].shape[-1])))
        self._volume, self._neighbours = bool(segmenter.volume), segmenter.neighbours_in_grid()
        maps = label_maps(Y, [image.shape[:-1] for image in images])
        self._values, self.label_kind = classes_of_maps(maps, segmenter.ignore)
        self.classes = [str(value) for value in self._values]
        gold = [self._coded(own, f"y[{i}]", True) for i, own in enumerate(maps)]
        self._n_jobs = checks.as_jobs(segmenter.n_jobs)
        self.n_sequences = len(images)
        self.n_tokens = sum(int((own != UNKNOWN).sum()) for own in gold)
        weighting = Weighting(sample_weight, None, None)
        weighting.require_length(len(images))
        weights = np.ones(len(images)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self._require_memory(images, kind)
        contrast = segmenter.contrast if self._neighbours else False
        self.features, rows = ImageFeatures.of(images, kind, bool(segmenter.position), contrast, self._volume)
        self._structure = self._grid(segmenter.relaxed)
        self._sizes = [np.array(image.shape[:-1], dtype=np.uint32) for image in images]
        self._require_told()
        self._channels = self._made_channels(images, rows)
        shapes = [_shape_with_mask(own) for own in gold]
        outputs = [np.maximum(own, 0).ravel().astype(np.uint32) for own in gold]
        self._checksum = checksum_of_array(
            *[piece for channel in self._channels for part in channel[8:] for piece in _pieces(part)],
            *[own.ravel() for own in gold],
            weights,
        )
        try:
            self.oracle = _core.LinearOracle(
                self._structure, shapes, outputs, np.ascontiguousarray(weights), self._channels, "all"
            )
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    @property
    def exact(self) -> bool:
        """Whether every answer that the learner asks for is exact: best labels are proved, sums are no beliefs."""
        if not self._neighbours or all(map(self._structure.answers_lists, self._sizes)):
            return True
        sums = {"expectations", "parts"} & set(getattr(self.learner, "asks", ()))
        return len(self.classes) <= 2 and bool(self._estimator.associative) and not sums

    def _require_told(self) -> None:
        """Refuse to learn from labellings that may not be the best, unless that was asked for."""
        if self.exact or self._estimator.inference != "auto":
            return
        if len(self.classes) <= 2 and self._estimator.associative:
            return  # sums have a sentence of their own
        why = f"{len(self.classes)} labels" if self._estimator.associative else "pairs that may prefer to differ"
        raise InvalidInput(
            f"with {why} the best labels of such pictures cannot be found exactly. Say inference='cut' "
            "(alpha-expansion, roof duality), 'trw' or 'ad3' to learn from labels that may not be the best, or "
            "neighbours=0."
        )

    def _grid(self, relaxed: bool) -> _core.PartStructure:
        own = self._estimator
        return grid_structure(
            len(self.classes), self._volume, self._neighbours, bool(own.associative), own.inference, relaxed
        )

    def _coded(self, labels: npt.NDArray[Any], name: str, strict: bool) -> Codes:
        return coded_map(labels, self._values, self._estimator.ignore, name, strict)

    def _require_memory(self, images: Sequence[npt.NDArray[Any]], kind: str) -> None:
        """Refuse what does not fit: numbers and contrasts of all pictures, parts of the largest."""
        n, largest = sum(image[..., 0].size for image in images), max(image[..., 0].size for image in images)
        C, K, n_directions = images[0].shape[-1], len(self.classes), len(steps_of(self._neighbours))
        n_numbers = C if kind == "maps" else 4 * C + 10
        n_codes = 1 if self._estimator.associative else K * K
        parts = 8.0 * (K + n_directions * n_codes)
        needed = n * (4.0 * (n_numbers + n_directions) + 4.0 * (1 + n_directions)) + self._n_jobs * largest * 6 * parts
        require_memory(needed, f"learning from {n:,} cells with {n_numbers} numbers each")

    def _made_channels(self, images: Sequence[npt.NDArray[Any]], rows: npt.NDArray[np.float32]) -> list[Any]:
        """What feeds the blocks, as the core wants it."""
        K, n, same = len(self.classes), len(images), np.zeros(0, dtype=np.int64)
        sizes = [image[..., 0].size for image in images]
        first = np.cumsum([0, *sizes], dtype=np.int64)
        one = np.arange(n + 1, dtype=np.int64)  # a site in each picture, with one attribute that is always there
        constant = (one, one, np.zeros(n, dtype=np.int64), np.ones(n))
        found: list[Any] = [
            ("cells", 0, "each", 0, K, rows.shape[1], same, first, rows, False),
            ("bias", 0, "tied", 0, K, 1, same, *constant),
        ]
        kept, codes = bool(self._estimator.associative), 1 if self._estimator.associative else K * K
        names = block_names(self._structure, self._volume)[1:]
        for d, (name, step) in enumerate(zip(names, steps_of(self._neighbours), strict=True), 1):
            found.append((name, d, "tied", 0, codes, 1, same, *constant, kept))
            if self.features.contrast is None:
                continue
            own = [
                self.features.contrasts(image, rows[begin:end], step)
                for image, begin, end in zip(images, first[:-1], first[1:], strict=True)
            ]
            starts = np.cumsum([0, *map(len, own)], dtype=np.int64)
            joined = np.concatenate(own)[:, np.newaxis]
            found.append((name + CONTRAST, d, "each", 0, codes, 1, same, starts, joined, kept))
        return found

    def _dev_score(self, X_dev: Any, y_dev: Any) -> DevScore:
        images = as_images(X_dev, self._volume, self.features.n_channels, "X_dev")
        maps = label_maps(y_dev, [image.shape[:-1] for image in images], "y_dev")
        gold = [self._coded(own, f"y_dev[{i}]", False) for i, own in enumerate(maps)]
        if not any((own != UNKNOWN).any() for own in gold):
            raise InvalidInput("y_dev has no cell with a known label to score against.")
        settings = self._trial_settings()

        def score(weights: FloatArray) -> float:
            model = self._model_of(weights, settings)
            return accuracy(gold, [_best(model, image) for image in images])

        return DevScore(score, checksum_of_array(*[np.ascontiguousarray(own).ravel() for own in (*images, *gold)]))

    def model(self, weights: FloatArray, settings: dict[str, Any]) -> ImageModel:
        """Return the segmenter with these weights."""
        return self._model_of(weights, settings)

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> ImageModel:
        own, K = self._estimator, len(self.classes)
        tensors: dict[str, Any] = dict(self.features.as_tensors())
        channels = {}
        names = block_names(self._structure, self._volume)
        for c, (name, block, sites, _, n_codes, n_units, *_) in enumerate(self._channels):
            at = self.oracle.weight(c, 0, 0)
            tensors[f"channel.{name}.weights"] = np.array(weights[at : at + n_units * n_codes])
            channels[name] = {"block": names[block], "sites": sites}
        described = {
            "structure": {
                "name": "grid",
                "neighbours": self._neighbours,
                "associative": bool(own.associative),
                "inference": own.inference,
                "relaxed": bool(own.relaxed),
                "exact": self.exact,
            },
            "blocks": {name: K if name == "cells" else 1 if own.associative else K * K for name in names},
            "channels": channels,
            "image": self.features.as_settings(),
            "label_kind": self.label_kind,
        }
        return ImageModel(tensors, settings | described)

    def _run_settings(self) -> dict[str, Any]:
        own = self._estimator
        names = ("neighbours", "associative", "features", "position", "inference", "relaxed", "volume")
        return super()._run_settings() | {name: getattr(own, name) for name in names}


def accuracy(gold: Sequence[Codes], found: Sequence[npt.NDArray[Any]]) -> float:
    """Return the share of cells with a known label that have it."""
    known = [own != UNKNOWN for own in gold]
    right = sum(int(((a == b) & k).sum()) for a, b, k in zip(gold, found, known, strict=True))
    return right / max(sum(int(k.sum()) for k in known), 1)


def bits_of(there: npt.NDArray[np.bool_]) -> Numbers:
    """Return flags of cells as the core has them, 32 in a number.

    Examples
    --------
    >>> bits_of(np.array([[True, False], [True, True]])).tolist()
    [13]
    """
    flat = np.packbits(there.ravel(), bitorder="little")
    padded = np.zeros(-(-len(flat) // 4) * 4, dtype=np.uint8)
    padded[: len(flat)] = flat
    return padded.view("<u4").astype(np.uint32)


def _pieces(part: Any) -> list[npt.NDArray[Any]]:
    """Return an array in pieces, of which copies are small."""
    rows = part if isinstance(part, np.ndarray) else np.array([part])
    return [rows[first : first + (1 << 16)] for first in range(0, len(rows), 1 << 16)]


def _shape_with_mask(gold: Codes) -> Numbers:
    """Return the shape of a picture, with the cells that are known where some are not."""
    size = np.array(gold.shape, dtype=np.uint32)
    known = gold != UNKNOWN
    return size if known.all() else np.concatenate([size, bits_of(known)])


def _best(model: ImageModel, image: npt.NDArray[Any]) -> npt.NDArray[Any]:
    found: Any = model.structure.best_output(model.shape(image), model.scores(image))
    return np.asarray(found[0]).reshape(image.shape[:-1])
