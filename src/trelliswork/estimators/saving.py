"""Base classes of estimators that save to a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import learners, models
from trelliswork.estimators.fitted import snapshot
from trelliswork.models.json_values import from_json, parameters_as_json, plain

__all__ = [
    "SavesModel",
    "SavesWeights",
    "learner_from",
    "learner_settings",
    "numbers",
    "remember_training",
    "training_settings",
]


class SavesModel:
    """An estimator with `exported` gets `save`, and `metadata_`."""

    metadata_: dict[str, Any]

    def exported(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors and the settings of the model file."""
        raise NotImplementedError

    def save(self, path: Any, *, metadata: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file, completely or not at all; `trelliswork.load` reads it.

        Parameters
        ----------
        path : path or binary file
            Where to write.
        metadata : dict, optional
            Any JSON data to store with the model (`metadata_`); None keeps the present data.
        """
        tensors, settings = self.exported()
        kept = models.with_metadata(settings, getattr(self, "metadata_", None) or None)
        models.save(path, tensors, models.with_metadata(kept, metadata))


class SavesWeights:
    """An estimator with `exported` gets a `save` that can make models with many weights smaller."""

    def exported(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors and the settings of the model file."""
        raise NotImplementedError

    @snapshot
    def save(
        self,
        path: Any,
        *,
        precision: str | None = None,
        prune: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the model to a file, completely or not at all; `trelliswork.load` reads it.

        Parameters
        ----------
        path : path or binary file
            Where to write.
        precision : {"float32", "float16", "int8"}, optional
            Store each weight of an attribute in four, two or one byte; None keeps the present precision.
        prune : float, optional
            Drop weights of at most this magnitude, and attributes without any weights left.
        metadata : dict, optional
            Any JSON data to store with the model (`metadata_`); None keeps the present data.

        Examples
        --------
        >>> import os, tempfile
        >>> import trelliswork as tw
        >>> tagger = tw.SequenceLabeler().fit([["the", "dog"]], [["D", "N"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tagger.save(os.path.join(folder, "model.tw"))
        ...     tw.load(os.path.join(folder, "model.tw")).predict([["the", "dog"]])
        [['D', 'N']]
        """
        tensors, settings = self.exported()
        models.save(path, *models.shrunk(tensors, models.with_metadata(settings, metadata), precision, prune))


def learner_settings(learner: Any) -> dict[str, Any]:
    """Return a learner as a model file has it."""
    parameters: dict[str, Any] = getattr(learner, "get_params", dict)()
    return {"name": learners.name_of(learner), "parameters": parameters_as_json(parameters)}


def learner_from(settings: Mapping[str, Any]) -> Any:
    """Return the learner that `learner_settings` described."""
    return learners.restored(settings["name"], from_json(settings["parameters"]))


def training_settings(estimator: Any) -> dict[str, Any]:
    """Return how training went, as a model file has it."""
    return {
        "n_iter": int(estimator.n_iter_),
        "best_iteration": int(estimator.best_iteration_),
        "converged": bool(estimator.converged_),
        "interrupted": bool(estimator.interrupted_),
        "message": estimator.message_,
        "history": plain(estimator.history_),
    }


def remember_training(estimator: Any, training: Mapping[str, Any]) -> None:
    """Set what `training_settings` wrote."""
    estimator.history_ = [dict(record) for record in training["history"]]
    estimator.n_iter_, estimator.best_iteration_ = int(training["n_iter"]), int(training["best_iteration"])
    estimator.converged_, estimator.message_ = bool(training["converged"]), str(training["message"])
    estimator.interrupted_ = bool(training.get("interrupted", False))  # earlier releases did not say


def numbers(tensors: Mapping[str, Any], name: str, *shape: int, least: float = -np.inf) -> npt.NDArray[np.float64]:
    """Return a tensor of numbers of this shape, none of them NaN, inf or below ``least``; or raise `ValueError`."""
    found = np.asarray(tensors[name]).astype(np.float64)
    if found.size != int(np.prod(shape)):
        raise ValueError(f"{name} has {found.size} numbers; expected {int(np.prod(shape))}")
    if np.isnan(found).any() or (found == np.inf).any() or (found < least).any():
        raise ValueError(f"{name} has numbers that make no sense")
    return found.reshape(shape)
