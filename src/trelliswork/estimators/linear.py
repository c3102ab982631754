"""The base class of estimators with features, a structure and a learner.

A subclass defines the kind of its model file, the class of its model, how examples are made from data, and how the
model predicts. The rest is here: fitting, checks of parameters, model files, weights::

    class Chunker(LinearEstimator):
        kind = "chunker"                       # of the model file; estimators/loading.py registers it
        model_class = ChunkModel               # a TrainedModel: tensors and settings as the file has them
        saved = ("longest",)                   # parameters of its own that JSON can hold and the file keeps

        longest: int | None

        def __init__(self, learner="crf", features="auto", *, longest=None, min_count=1, ...):
            store(self, locals())

        def _examples(self, X, y, sample_weight=None, **more):
            inputs, X = inputs_of(X, self.features, ChunkModel.meets)
            return ChunkExamples(self, inputs, X, y, sample_weight)    # training.examples.Examples

        @snapshot
        def predict(self, X):
            return self._fitted().answers(X)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import callers_level
from trelliswork.errors import InvalidInput
from trelliswork.estimators.base import LearningEstimator, sequence_tags
from trelliswork.estimators.fitted import atomic, check_is_fitted, snapshot
from trelliswork.estimators.saving import (
    SavesWeights,
    learner_from,
    learner_settings,
    remember_training,
    training_settings,
)
from trelliswork.labels.scheme_constraints import SchemeConstraints
from trelliswork.learners.training import FloatArray
from trelliswork.models.calibration import warn_unless_probabilities
from trelliswork.models.json_values import plain
from trelliswork.models.registry import refuse_arguments
from trelliswork.models.trained import TrainedModel, Weight
from trelliswork.structures import checks

if TYPE_CHECKING:
    from trelliswork.training.examples import Examples
    from trelliswork.training.monitor import Callback

__all__ = ["LinearEstimator"]

_SAVED = ("min_count", "hash_bits", "combinations", "patience", "random_state")


class LinearEstimator(SavesWeights, LearningEstimator):
    """An estimator whose scores are sums of weights of attributes."""

    kind: ClassVar[str]
    model_class: ClassVar[type[TrainedModel]]
    saved: ClassVar[tuple[str, ...]] = ()
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"combinations": ("auto", "seen", "all", "grown")}

    classes_: npt.NDArray[np.object_]
    n_features_in_: int

    learner: Any
    features: Any
    min_count: int
    hash_bits: int | None
    combinations: str
    _model: Any

    # ---- learning ------------------------------------------------------------------------------------------------

    @atomic
    def fit(
        self,
        X: Any,
        y: Any,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        callback: Callback | None = None,
        resume: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Self:
        """Learn from sequences and their outputs.

        Parameters
        ----------
        X, y
            Sequences of tokens and their outputs, in a form that the class describes.
        X_dev, y_dev : optional
            Development data, scored after each iteration. The weights with the best score are kept.
        sample_weight : (n,) array-like, optional
            The weight of each sequence.
        callback : callable, optional
            Called with a `Progress` after each iteration; training stops when it returns True.
        resume : dict of arrays, optional
            The result of `Progress.state` in an earlier run with the same data and parameters. Training continues from
            there to the identical model. A state of other data, weights or parameters is refused.

        Returns
        -------
        estimator
            The estimator itself. An interrupt (Ctrl-C) ends training and keeps the best weights so far.
        """
        self._check_parameters()
        return self._learn(self._examples(X, y, sample_weight), X_dev, y_dev, callback, resume)

    def oracle(self, X: Any, y: Any, *, sample_weight: npt.ArrayLike | None = None) -> _core.Oracle:
        """Return the examples as an oracle for learners; see `trelliswork.oracle`."""
        self._check_parameters()
        oracle: _core.Oracle = self._examples(X, y, sample_weight).oracle
        return oracle

    def _examples(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> Examples:
        """Return the training examples. Modules that only training needs are imported inside."""
        raise NotImplementedError

    def _learn(
        self,
        examples: Examples,
        X_dev: Any = None,
        y_dev: Any = None,
        callback: Callback | None = None,
        resume: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Self:
        from trelliswork.training.loop import learn

        problem = examples.problem(X_dev, y_dev, partial(self._keep, examples))
        learn(self, examples.learner, problem, callback, resume)
        return self

    def _keep(self, examples: Examples, weights: FloatArray) -> None:
        """Make a model of the weights."""
        self._take(examples.model(weights, self._settings(examples) | self._more_settings(examples)))

    def _take(self, model: Any) -> None:
        """Use this model for predictions."""
        self._model = model
        self.classes_ = np.array([*model.labels, None], dtype=object)[:-1]  # None: an array of objects for sure
        if model.inputs.n_columns is not None:
            self.n_features_in_ = model.inputs.n_columns

    def _fitted(self) -> Any:
        """Return the model, or raise scikit-learn's ``NotFittedError``."""
        check_is_fitted(self, "classes_")
        return self._model

    # ---- parameters ----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse invalid parameters; parameters that the estimator does not have are ignored."""
        given = self.get_params(deep=False)
        for name, least in (("min_count", 1), ("hash_bits", 1), ("patience", 1), ("random_state", 0)):
            if given.get(name) is not None or (name == "min_count" and name in given):
                checks.as_count(name, given[name], least=least)
        if (given.get("hash_bits") or 1) > 30:
            raise InvalidInput(f"hash_bits is {self.hash_bits}; expected 1 to 30, or None.")
        checks.as_jobs(self.n_jobs)
        for name, choices in self.choices.items():
            if name in given and (not isinstance(given[name], str) or given[name] not in choices):
                raise InvalidInput(f"{name} is {given[name]!r}; expected one of {', '.join(map(repr, choices))}.")

    def __sklearn_tags__(self) -> Any:
        return sequence_tags(super().__sklearn_tags__())

    # ---- answers -------------------------------------------------------------------------------------------------

    def _require_probabilities(self) -> None:
        """Warn, once for a model, of scores that are about to be read as log-probabilities and are none."""
        if not self._model.told:
            self._model.told = True
            warn_unless_probabilities(self._model.settings, callers_level())

    @snapshot
    def weights(self) -> list[Weight]:
        """Return all weights with their names, the largest first.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tagger = tw.SequenceLabeler().fit([[["the"], ["dog"]]], [["D", "N"]])
        >>> [(weight.attribute, weight.label) for weight in tagger.weights() if weight.attribute]
        [('the', 'D'), ('dog', 'N')]
        """
        found: list[Weight] = self._fitted().weights()
        return found

    @property
    def n_attributes_(self) -> int:
        """Number of attributes of the model."""
        return int(self._fitted().n_attributes)

    @property
    def n_weights_(self) -> int:
        """Number of weights of the model."""
        return int(self._fitted().settings["training"]["n_weights"])

    # ---- files ---------------------------------------------------------------------------------------------------

    def _settings(self, examples: Examples) -> dict[str, Any]:
        """What the file of every such model says besides the tensors."""
        learner, last = examples.learner, self.history_[-1] if self.history_ else {}
        return {
            "kind": self.kind,
            "labels": examples.classes,
            "hash_bits": self.hash_bits or 0,
            **({"normalised": "local"} if learner.local else {}),
            "probabilistic": _probabilistic(learner),
            **examples.inputs.as_settings(),
            "learner": learner_settings(learner),
            "parameters": self._saved_parameters(),
            "training": {
                "n_sequences": examples.n_sequences,
                "n_tokens": examples.n_tokens,
                "n_weights": examples.n_weights,
                "objective": plain(last.get("objective")),
                **training_settings(self),
            },
        }

    def _more_settings(self, examples: Examples) -> dict[str, Any]:
        """What else the file of this kind says."""
        return {}

    def _saved_parameters(self) -> dict[str, Any]:
        """The parameters as the file has them; `_restored_parameters` makes parameters of these."""
        given = self.get_params(deep=False)
        found = {name: plain(given[name]) for name in (*_SAVED, *self.saved) if name in given}
        if "constraints" in given:
            rules = given["constraints"]
            found["constraints"] = rules if rules is None or isinstance(rules, str) else "array"
        return found

    @classmethod
    def _restored_parameters(cls, model: Any, given: dict[str, Any]) -> dict[str, Any]:
        """The parameters of the estimator that made a model; takes from ``given`` what goes with this kind."""
        saved = model.settings["parameters"]
        found = {name: saved[name] for name in (*_SAVED, *cls.saved) if name in saved}  # earlier releases knew fewer
        if "constraints" in saved:
            found["constraints"] = saved["constraints"] or None
            if saved["constraints"] in ("array", True):
                parts = (np.asarray(model.tensors[f"allowed.{name}"]) for name in ("transitions", "start", "end"))
                moves, start, end = (part.astype(np.bool_) for part in parts)
                found["constraints"] = SchemeConstraints(moves.reshape(len(model.labels), -1), start, end)
        return found | {
            "learner": learner_from(model.settings["learner"]),
            "features": model.inputs.templates or ("attributes" if model.inputs.kind == "attributes" else "auto"),
        }

    @classmethod
    def _class_of(cls, settings: Mapping[str, Any]) -> type[TrainedModel]:
        """Which class of models a file has."""
        return cls.model_class

    @snapshot
    def exported(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors and the settings of the model file."""
        model = self._fitted()
        return model.tensors, model.settings

    @property
    def metadata_(self) -> dict[str, Any]:
        """The metadata stored with the model."""
        return dict(self._fitted().settings.get("metadata", {}))

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Any], settings: Mapping[str, Any], restore: Any = None, **given: Any
    ) -> Self:
        """Return the estimator in a file of any content; it has no members for ``restore`` to make."""
        model = cls._class_of(settings).checked(tensors, settings)
        parameters = cls._restored_parameters(model, given)
        refuse_arguments(given, cls.kind)
        estimator = cls(**parameters)
        estimator._check_parameters()
        model.settings.setdefault("probabilistic", _probabilistic(estimator.learner))  # earlier releases did not say
        remember_training(estimator, settings["training"])
        estimator._take(model)
        return estimator


def _probabilistic(learner: Any) -> bool:
    """Whether a learner makes log-probabilities of its scores; one of somebody's own may not say."""
    return bool(getattr(learner, "probabilistic", True))
