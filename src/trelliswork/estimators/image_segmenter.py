"""Images: a label for every cell, and any learner, behind `fit` and `predict`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import callers_level
from trelliswork.errors import InvalidInput, shown
from trelliswork.estimators.base import store
from trelliswork.estimators.fitted import snapshot
from trelliswork.estimators.linear import LinearEstimator
from trelliswork.features.images import as_image, as_images
from trelliswork.labels.maps import coded_map, label_map, label_maps
from trelliswork.learners.training import FloatArray
from trelliswork.models.images import ImageModel
from trelliswork.structures import checks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.structures.grid import Grid
    from trelliswork.training.image_examples import ImageExamples

__all__ = ["ImageSegmenter"]

_IN_VOLUMES = {0: 0, 4: 6, 8: 26, 6: 6, 26: 26}
_BELIEFS = ("bp", "trw")


class ImageSegmenter(LinearEstimator):
    """Learns to label every cell of images, and labels new ones (a conditional random field on a grid).

    Parameters
    ----------
    learner : learner or str, default "pa"
        The training algorithm, such as ``tw.Pegasos(epochs=20)``, or its name. It must support non-negative weights,
        unless ``associative`` is False or ``neighbours`` is 0.
    features : {"auto", "colour", "maps"}, default "auto"
        The features of a cell. ``"colour"``: the ready-made set for raw images (channels, squares, means and deviations
        around the cell, bins of brightness; docs/images.md). ``"maps"``: the channels are features already, and are
        only standardised. ``"auto"``: ``"colour"`` for one or three channels, ``"maps"`` for other numbers.
    neighbours : {4, 8, 0}, default 4
        Which cells are neighbours. With 0, every cell is labelled independently. In volumes, 4 stands for the 6 cells
        that share a face, and 8 for all 26.
    associative : bool, default True
        With True, a pair of neighbours has one score, for equal labels, with non-negative weights. With two labels, a
        minimum cut then finds the best labelling exactly. With False, each pair of labels has weights of any sign.
    contrast : bool or float, default True
        Whether pairs have the contrast of their cells as a feature: ``exp(-|difference|^2 / (2 sigma^2))`` (Boykov &
        Jolly 2001). With True, sigma is estimated on the training images; a number is sigma. Integer colours are scaled
        to 0 to 1, maps are standardised.
    position : bool, default False
        Whether the ready-made set includes the position of a cell. Not with maps.
    inference : {"auto", "cut", "trw", "bp", "ad3"}, default "auto"
        How to find the best labels if exact inference is not possible. It is exact for two labels with ``associative``,
        by a minimum cut; for cells without neighbours; and for narrow images (``K ** (width + 1)`` up to 4,096), which
        have exact answers to all questions. In all other cases, with ``"auto"``, `fit` refuses and `predict` warns.
        ``"cut"``: alpha-expansion for more than two labels, roof duality for two. ``"trw"``, ``"bp"``: messages, also
        for learners that sum over all labellings. ``"ad3"``: dual decomposition.
    relaxed : bool, default False
        Whether to train on fractional answers, if a search by ``"trw"`` or ``"ad3"`` ends with one (Finley & Joachims
        2008).
    volume : bool, default False
        Whether the images are volumes: (planes, rows, columns) or (planes, rows, columns, channels).
    ignore : label, optional
        The value in ``y`` of cells whose label is unknown; or use masked arrays. Training and scores ignore these cells
        and their pairs.
    patience, n_jobs, random_state, verbose
        As for `SequenceLabeler`.

    Attributes
    ----------
    classes_ : array (K,)
        The labels, sorted.
    exact_ : bool
        Whether all answers in training were exact: best labels that are proved, and exact sums.
    n_iter_, converged_, message_, history_, best_iteration_
        As for `SequenceLabeler`.

    Notes
    -----
    ``X`` is a list of arrays (rows, columns), or (rows, columns, channels), of any sizes; integers of one or two bytes
    are scaled to 0 to 1. ``y`` is a list of arrays (rows, columns) of integers, booleans or strings. The cost is the
    number of wrong cells, which is also the measure on development data.

    Training stores 4 bytes for each feature of each cell, and 8 for each pair: 100 colour images of 256 x 256 cells (22
    features) take 0.9 GB. A prediction takes 8 bytes for each feature, 16 for each part, and the memory of the cut.

    Examples
    --------
    >>> import numpy as np
    >>> import trelliswork as tw
    >>> truth = np.zeros((20, 20), dtype=int)
    >>> truth[5:15, 5:15] = 1
    >>> noise = np.random.default_rng(0).normal(size=(3, 20, 20))
    >>> X = list(truth + noise)
    >>> segmenter = tw.ImageSegmenter(features="maps").fit(X[:2], [truth, truth])
    >>> alone = tw.ImageSegmenter(features="maps", neighbours=0).fit(X[:2], [truth, truth])
    >>> [round(model.score(X[2:], [truth]), 2) for model in (segmenter, alone)]
    [0.84, 0.77]
    """

    kind: ClassVar[str] = "image-segmenter"
    model_class = ImageModel
    saved: ClassVar[tuple[str, ...]] = (
        *("features", "neighbours", "associative", "contrast", "position", "inference", "relaxed", "volume", "ignore"),
    )
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "features": ("auto", "colour", "maps"),
        "inference": ("auto", "cut", "trw", "bp", "ad3"),
    }

    min_count: int = 1  # there is one weight for each number
    hash_bits: int | None = None
    combinations: str = "all"

    neighbours: int
    associative: bool
    contrast: Any
    position: bool
    inference: str
    relaxed: bool
    volume: bool
    ignore: Any
    _model: ImageModel

    def __init__(
        self,
        learner: Any = "pa",
        features: str = "auto",
        *,
        neighbours: int = 4,
        associative: bool = True,
        contrast: Any = True,
        position: bool = False,
        inference: str = "auto",
        relaxed: bool = False,
        volume: bool = False,
        ignore: Any = None,
        patience: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    # ---- learning ------------------------------------------------------------------------------------------------

    def _examples(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> ImageExamples:
        from trelliswork.training.image_examples import ImageExamples  # only training needs it

        images = as_images(X, bool(self.volume))
        if not images:
            raise InvalidInput("X has no pictures to learn from: pass at least one.")
        kind = self.features
        if kind == "auto":
            kind = "colour" if images[0].shape[-1] in (1, 3) else "maps"
        if kind == "maps" and self.position:
            raise InvalidInput(
                "position goes with the ready set, features='colour'; of feature maps it is not seen. Leave it out, or "
                "add channels with the place of each cell."
            )
        return ImageExamples(self, images, kind, y, sample_weight)

    def _take(self, model: ImageModel) -> None:
        super()._take(model)
        self.classes_ = model.values
        self.exact_ = bool(model.settings["structure"]["exact"])

    def neighbours_in_grid(self) -> int:
        """Return the number of neighbours of a cell, 6 or 26 in volumes."""
        return _IN_VOLUMES[self.neighbours] if self.volume else self.neighbours

    def _check_parameters(self) -> None:
        super()._check_parameters()
        known = (0, 4, 8, 6, 26) if self.volume else (0, 4, 8)
        if isinstance(self.neighbours, (bool, float)) or self.neighbours not in known:
            raise InvalidInput(
                f"neighbours is {shown(self.neighbours)}; expected {', '.join(map(str, known[1:]))} or 0."
            )
        for name in ("associative", "position", "relaxed", "volume"):
            checks.as_flag(name, getattr(self, name))
        if not isinstance(self.contrast, (bool, np.bool_)):
            try:
                good = 0.0 < float(self.contrast) < np.inf
            except (TypeError, ValueError):
                good = False
            if not good:
                raise InvalidInput(f"contrast is {shown(self.contrast)}; expected True, False or a number above 0.")
        if self.ignore is not None and not isinstance(self.ignore, (str, bool, int, np.integer, np.bool_)):
            raise InvalidInput(f"ignore is {shown(self.ignore)}; expected a label: a whole number or a string.")
        if self.relaxed and self.inference not in ("trw", "ad3"):
            raise InvalidInput(
                f"relaxed answers come from inference='trw' or 'ad3', but inference is {self.inference!r}."
            )

    # ---- answers -------------------------------------------------------------------------------------------------

    @snapshot
    def predict(self, X: Any) -> list[npt.NDArray[Any]]:
        """Return the label of each cell of each image, arrays (rows, columns).

        Examples
        --------
        >>> import trelliswork as tw
        >>> X = [np.array([[0.0, 0.1], [0.9, 1.0]])]
        >>> tw.ImageSegmenter().fit(X, [[["sky", "sky"], ["sea", "sea"]]]).predict(X)[0].tolist()
        [['sky', 'sky'], ['sea', 'sea']]
        """
        model = self._fitted()
        return [model.values[codes] for codes in self._coded(X)]

    @snapshot
    def predict_marginals(self, X: Any, inference: str | None = None) -> list[FloatArray]:
        """Return the probability of each label in each cell, arrays (rows, columns, K).

        Parameters
        ----------
        X : list of images
        inference : {"trw", "bp"}, optional
            The messages that approximate probabilities if a grid is too wide for exact ones; by default those of the
            model, or ``"trw"``. The first time that this happens, you get a warning.
        """
        model = self._fitted()
        if inference is not None and inference not in _BELIEFS:
            raise InvalidInput(f"inference is {shown(inference)}; expected 'trw' or 'bp', or None.")
        self._require_probabilities()
        chosen = inference or (model.inference if model.inference in _BELIEFS else _BELIEFS[1])
        structure, found = model.made_structure(chosen), []
        for image, scores in self._scored(X):
            shape, K = model.shape(image), len(model.labels)
            if model.neighbours and not structure.answers_lists(shape):
                self._tell_approximate(chosen)
            marginals = structure.marginals(shape, scores)
            found.append(marginals[: image[..., 0].size * K].reshape(*image.shape[:-1], K))
        return found

    @snapshot
    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy on cells with a known label; see also `evaluation.map_scores`."""
        from trelliswork.training.image_examples import accuracy

        model = self._fitted()
        images = as_images(X, model.features.volume, model.features.n_channels)
        maps = label_maps(y, [image.shape[:-1] for image in images])
        gold = [
            coded_map(own, model.values.tolist(), self.ignore, f"y[{i}]", strict=False) for i, own in enumerate(maps)
        ]
        return accuracy(gold, list(self._coded(images)))

    @snapshot
    def grid(self, x: Any) -> Grid:
        """Return one image as a `Grid` of scores, for all other questions; `Grid.argmax` says whether it is exact.

        Examples
        --------
        >>> import trelliswork as tw
        >>> X = [np.array([[0.0, 0.1], [0.9, 1.0]])]
        >>> segmenter = tw.ImageSegmenter().fit(X, [[[0, 0], [1, 1]]])
        >>> found = segmenter.grid(X[0]).argmax()
        >>> found.labels.tolist(), found.exact
        ([[0, 0], [1, 1]], True)
        """
        from trelliswork.structures.grid import Grid

        model = self._fitted()
        image = as_image(x, model.features.volume, "x")
        self._require_channels(image, "x")
        if not model.neighbours:
            raise InvalidInput("the model labels every cell by itself (neighbours=0), so there is no grid.")
        model.require_memory(image, "x")
        scores, K = model.scores(image), len(model.labels)
        first, pairs = image[..., 0].size * K, []
        for step in model.steps:
            cells = tuple(n - (s != 0) for n, s in zip(image.shape[:-1], step, strict=True))
            size = int(np.prod(cells)) * model.n_codes
            own, first = scores[first : first + size], first + size
            if model.associative and cells == (K, K):  # could be a table as well
                own = np.outer(own, np.eye(K))
            pairs.append(own.reshape(cells if own.size == np.prod(cells) else (*cells, K, K)))
        unary = scores[: image[..., 0].size * K].reshape(*image.shape[:-1], K)
        return Grid(unary, pairs, neighbours=model.neighbours)

    @snapshot
    def plot(self, x: Any, truth: Any = None) -> list[Axes]:
        """Draw an image, the correct labels if they are given, and the prediction, side by side (needs matplotlib).

        Parameters
        ----------
        x : array
            One image; of a volume, the middle plane is drawn.
        truth : array, optional
            Its correct labels.

        Returns
        -------
        list of matplotlib axes
            To save the figure, call ``savefig`` of their ``figure``.
        """
        from trelliswork.plots.grids import label_pictures

        model = self._fitted()
        image = as_image(x, model.features.volume, "x")
        found = next(iter(self._coded([image])))
        known = None
        if truth is not None:
            given = label_map(truth, image.shape[:-1], "truth")
            known = coded_map(given, model.values.tolist(), self.ignore, "truth", strict=True)
        if model.features.volume:
            middle = image.shape[0] // 2
            image, found, known = image[middle], found[middle], None if known is None else known[middle]
        return label_pictures(found, len(model.labels), _drawable(image), known, model.labels)

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _require_channels(self, image: npt.NDArray[Any], name: str) -> None:
        wanted = self._model.features.n_channels
        if image.shape[-1] != wanted:
            raise InvalidInput(f"{name} has {image.shape[-1]} channels but the model was trained on {wanted}.")

    def _scored(self, X: Any) -> Iterator[tuple[npt.NDArray[Any], FloatArray]]:
        """Yield pictures with the scores of their parts, one at a time."""
        model = self._model
        for i, image in enumerate(as_images(X, model.features.volume, model.features.n_channels)):
            model.require_memory(image, f"X[{i}]")
            yield image, model.scores(image)

    def _coded(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the best labels of pictures as numbers; as many at a time as there are threads."""
        n_jobs, waiting = checks.as_jobs(self.n_jobs), list[tuple[npt.NDArray[Any], FloatArray]]()
        for image, scores in self._scored(X):
            waiting.append((image, scores))
            if len(waiting) == n_jobs:
                yield from self._answers(waiting, n_jobs)
                waiting = []
        if waiting:
            yield from self._answers(waiting, n_jobs)

    def _answers(
        self, waiting: list[tuple[npt.NDArray[Any], FloatArray]], n_jobs: int
    ) -> Iterator[npt.NDArray[np.intp]]:
        model = self._model
        shapes, scores = [model.shape(image) for image, _ in waiting], [own for _, own in waiting]
        if model.inference == "auto" and not all(map(self._finds_best, shapes)):
            self._tell_once(
                "best labels",
                "a picture is too wide for best labels that are exact: these may not be the best (grid(x) says how "
                "good they are).",
            )
        batch = _core.PartBatch(model.structure, shapes, scores, n_jobs)
        for (image, _), best in zip(waiting, batch.best(1), strict=True):
            yield np.asarray(best[0][0]).astype(np.intp).reshape(image.shape[:-1])

    def _finds_best(self, shape: npt.NDArray[np.uint32]) -> bool:
        """Whether the best labels of a picture are exact."""
        model = self._model
        cuts = model.associative and len(model.labels) <= 2
        return not model.neighbours or cuts or bool(model.structure.answers_lists(shape))

    def _tell_approximate(self, inference: str) -> None:
        self._tell_once(
            inference, f"the grid is too wide for exact probabilities: these are beliefs by inference={inference!r}."
        )

    def _tell_once(self, key: str, told: str) -> None:
        """Warn, the first time that this is so of the model."""
        if key not in self._model.told_of:
            self._model.told_of.add(key)
            warnings.warn(told, UserWarning, stacklevel=callers_level())

    @classmethod
    def _restored_parameters(cls, model: ImageModel, given: dict[str, Any]) -> dict[str, Any]:
        found = super()._restored_parameters(model, given)
        return found | {"features": model.settings["parameters"]["features"]}


def _drawable(image: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return what can be drawn of a picture (rows, columns, channels): three colours, or the mean of all channels."""
    if image.shape[-1] != 3:
        return np.asarray(image.mean(axis=-1))
    if image.dtype == np.uint8:
        return image
    low, high = float(image.min(initial=0.0)), float(image.max(initial=1.0))
    return (image - low) / (high - low)
