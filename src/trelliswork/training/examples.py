"""What one call of `fit` learns from, and what becomes of the weights: the same for every structure of parts.

A subclass reads the data in its constructor, which sets ``oracle``, ``classes``, ``n_sequences``, ``n_tokens`` and a
checksum, and says how weights become a model and how they score on development data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.features.inputs import Inputs
from trelliswork.labels.constraints import Constraints
from trelliswork.models.json_values import plain
from trelliswork.training.loop import Problem, checked_learner, require_dev
from trelliswork.training.same_run import SameRun, checksum_of_array

__all__ = ["DevScore", "Examples", "allowed_tensors"]

FloatArray = npt.NDArray[np.float64]


class DevScore(NamedTuple):
    """How weights score on development data, higher being better, and a checksum of these."""

    score: Callable[[FloatArray], float]
    checksum: int


class Examples:
    """Examples on their way to an oracle, and the weights that were learned from them on theirs to a model.

    Parameters
    ----------
    estimator : LinearEstimator
        Its parameters are used.
    inputs : Inputs
        What is seen of a token.

    Attributes
    ----------
    oracle : Oracle
        What a learner sees of the examples.
    learner : Learner
        The one they were laid out for.
    classes : list of str
        The labels, sorted.
    n_sequences, n_tokens : int
    """

    oracle: Any
    classes: list[str]
    n_sequences: int
    n_tokens: int
    _checksum: int
    _sample: Any  # the first sequences, to see which share of their attributes has weights
    _constraints: Constraints | None = None

    def __init__(self, estimator: Any, inputs: Inputs) -> None:
        self._estimator, self.inputs = estimator, inputs
        self.learner = checked_learner(estimator.learner)
        self._hash_bits: int = estimator.hash_bits or 0

    @property
    def n_weights(self) -> int:
        """How many weights the model has, one for each attribute and code."""
        return int(self.oracle.n_parameters)

    def problem(self, X_dev: Any, y_dev: Any, keep: Callable[[FloatArray], None]) -> Problem:
        """Return what is to be learned, with these development data or none, for `learn`."""
        dev = self._dev_score(X_dev, y_dev) if require_dev(X_dev, y_dev, self._estimator.patience) else None
        run = SameRun(
            self.n_sequences, self.n_tokens, self._checksum, 0 if dev is None else dev.checksum, self._run_settings()
        )
        return Problem(self.oracle, keep, run, self._first_weights(), None if dev is None else dev.score)

    def model(self, weights: FloatArray, settings: dict[str, Any]) -> Any:
        """Return the model with these weights, after a look at which share of the first attributes has some."""
        model = self._model_of(weights, settings)
        counts = [model.known(source) for source in self._sources(self._sample)]
        known, everything = (sum(part) for part in zip(*counts, strict=True)) if counts else (0, 0)
        model.settings["training"]["known_share"] = known / max(everything, 1)
        return model

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _dev_score(self, X_dev: Any, y_dev: Any) -> DevScore:
        raise NotImplementedError

    def _sources(self, X: Any, argument: str = "X", names: bool = False) -> Any:
        """Yield what `TrainedModel.known` takes."""
        return self.inputs.sources(X, argument, names)

    def _first_weights(self) -> FloatArray | None:
        """Return where to start; None is all zeros."""
        return None

    def _run_settings(self) -> dict[str, Any]:
        """Return what a resumed run must have in common with this one, besides the data."""
        own = {name: plain(getattr(self._estimator, name, None)) for name in ("min_count", "combinations")}
        return own | {
            "labels": self.classes,
            "hash_bits": self._hash_bits,
            "features": self.inputs.as_settings(),
            "constraints": self._constraints and [checksum_of_array(part) for part in self._constraints],
        }

    def _trial_settings(self) -> dict[str, Any]:
        """Return the settings of a model that is asked about development data and no file holds."""
        local = {"normalised": "local"} if self.learner.local else {}
        return {"labels": self.classes, "hash_bits": self._hash_bits, **self.inputs.as_settings(), **local}

    def _combinations(self) -> str:
        """Return which weights there are; refuse what the learner does not agree with."""
        learner, found = self.learner, self._estimator.combinations
        if found == "auto":
            return "grown" if learner.grows else "seen"
        if found == "grown" and not learner.grows:
            *most, last = (name for name in self._estimator.choices["combinations"] if name not in ("auto", "grown"))
            raise InvalidInput(
                f"{type(learner).__name__} sums over all outputs, so no weight is met later than others: "
                f"combinations must be {', '.join(map(repr, most))} or {last!r} for it."
            )
        return str(found)


def allowed_tensors(constraints: Constraints | None) -> dict[str, Any]:
    """Return what the file has of the constraints."""
    if constraints is None:
        return {}
    parts = zip(("transitions", "start", "end"), constraints, strict=True)
    return {f"allowed.{name}": part.astype(np.uint8).ravel() for name, part in parts}
