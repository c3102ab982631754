"""User-defined structures behind `fit` and `predict`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, shown
from trelliswork.estimators.base import LearningEstimator, store
from trelliswork.estimators.fitted import atomic, check_is_fitted, snapshot
from trelliswork.estimators.saving import (
    SavesModel,
    learner_from,
    learner_settings,
    numbers,
    remember_training,
    training_settings,
)
from trelliswork.learners.training import FloatArray
from trelliswork.models.json_values import plain
from trelliswork.models.registry import refuse_argument, refuse_arguments
from trelliswork.questions import require_answers
from trelliswork.structures.custom import adapter
from trelliswork.structures.custom.feature_vectors import stacked
from trelliswork.structures.custom.structure import Structure
from trelliswork.training.loop import Problem, checked_learner, learn, require_dev
from trelliswork.training.monitor import Callback
from trelliswork.training.same_run import SameRun, checksum_of_array

__all__ = ["StructuredPredictor"]

KIND = "structured-predictor"

# What a single output loses, by the measures that have a name.
_LOSSES: dict[str, Callable[[adapter.Asked, int, Any], float]] = {
    "accuracy": lambda asked, i, y: asked.wrong(i, y),
    "cost": lambda asked, i, y: asked.cost(i, y),
}


class StructuredPredictor(SavesModel, LearningEstimator):
    """Learns to predict outputs of a user-defined structure.

    Parameters
    ----------
    structure : Structure
        The possible outputs, their features and their cost.
    learner : learner or str, default "perceptron"
        The training algorithm, such as ``tw.PassiveAggressive(C=0.1)``, or its name. If it needs a question that the
        structure does not answer, `fit` raises an error.
    scoring : {"accuracy", "cost"} or callable, default "accuracy"
        The measure of `score` and of development data, higher being better: the fraction of outputs that are completely
        correct; the mean cost of all outputs, negated; or ``scoring(Y_true, Y_pred)``.
    patience : int, optional
        Stop after this many iterations in a row without a better score on the development data.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; the result is the same for any number. Methods written in Python run one
        at a time.
    random_state : int, optional
        Seed of the order in which the examples are visited.
    warm_start : bool, default False
        Whether `fit` starts from the present weights, if there are any.
    verbose : int, default 0
        Whether to print a line for each iteration to the standard error.

    Attributes
    ----------
    coef_ : array (n_features,)
        The weights.
    history_ : list of dict
        For each iteration: ``iteration``, ``objective``, ``dev_score``, ``seconds``, ``phase`` and more.
    n_iter_, best_iteration_ : int
        The number of iterations, and the one whose weights were kept: the best on the development data, or the last
        without any.
    converged_ : bool
        Whether training ended because nothing was left to gain.
    interrupted_ : bool
        Whether training was interrupted (Ctrl-C).
    message_ : str
        The reason why training ended.

    Notes
    -----
    `save` writes the weights and the parameters. Model files do not hold code, so pass the structure again when you
    load the model: ``tw.load(path, structure=Span())``.

    Examples
    --------
    Which span of the words is the name of a person? Every span is an output.

    >>> import trelliswork as tw
    >>> class Span(tw.Structure):
    ...     n_features = 4
    ...     def outputs(self, words):
    ...         return [(i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    ...     def features(self, words, span):
    ...         inside = words[slice(*span)]
    ...         capitals = sum(word[0].isupper() for word in inside)
    ...         return [capitals, len(inside) - capitals, span[0] == 0, "Mr" in inside]
    >>> X = [["today", "Mr", "Lee", "sang"], ["then", "Ann", "Poe", "left"], ["Yet", "Bo", "Liu", "stayed"]]
    >>> Y = [(2, 3), (1, 3), (1, 3)]
    >>> predictor = tw.StructuredPredictor(Span(), tw.Perceptron(epochs=20)).fit(X, Y)
    >>> predictor.predict([["when", "Mr", "Wu", "smiled"]])
    [(2, 3)]
    """

    coef_: FloatArray
    structure: Any
    learner: Any
    scoring: str | Callable[[list[Any], list[Any]], float]
    warm_start: bool

    def __init__(
        self,
        structure: Any = None,
        learner: Any = "perceptron",
        *,
        scoring: str | Callable[[list[Any], list[Any]], float] = "accuracy",
        patience: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    @atomic
    def fit(
        self,
        X: Iterable[Any],
        Y: Iterable[Any],
        X_dev: Iterable[Any] | None = None,
        Y_dev: Iterable[Any] | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        callback: Callback | None = None,
        resume: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Self:
        """Learn from inputs and their outputs.

        Parameters
        ----------
        X, Y : iterables
            Inputs and outputs, of the kinds that the methods of the structure take.
        X_dev, Y_dev : optional
            Development data, scored after each iteration. The weights with the best score are kept.
        sample_weight : (n,) array-like, optional
            The weight of each example.
        callback : callable, optional
            Called with a `Progress` after each iteration; training stops when it returns True.
        resume : dict of arrays, optional
            The result of `Progress.state` in an earlier run with the same data and parameters. Training continues from
            there to the identical weights. A state of other data, weights or parameters is refused.

        Returns
        -------
        StructuredPredictor
            The estimator itself. An interrupt (Ctrl-C) ends training and keeps the best weights so far.
        """
        start = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        return self._learn(X, Y, X_dev, Y_dev, sample_weight, callback, start, resume)

    @atomic
    def partial_fit(
        self,
        X: Iterable[Any],
        Y: Iterable[Any],
        *,
        sample_weight: npt.ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Continue training from the present weights, on these examples only; the first call is a `fit`."""
        return self._learn(X, Y, None, None, sample_weight, callback, getattr(self, "coef_", None))

    @snapshot
    def predict(self, X: Iterable[Any]) -> list[Any]:
        """Return the best output of each input."""
        check_is_fitted(self, "coef_")
        return adapter.predicted(self._structure(), X, self.coef_)

    @snapshot
    def score(self, X: Iterable[Any], Y: Iterable[Any], sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the score of the predictions against ``Y``, by the measure ``scoring``."""
        check_is_fitted(self, "coef_")
        measure = self._measure()
        asked = adapter.asked_about(self._structure(), X, Y)
        weights = adapter.checked_sample_weight(sample_weight, len(asked.X))
        found = self.predict(asked.X)
        if callable(measure):
            if sample_weight is not None:
                raise InvalidInput("sample_weight goes with scoring='accuracy' or 'cost', not with a function.")
            return float(measure(asked.Y, found))
        losses = [_LOSSES[measure](asked, i, y) for i, y in enumerate(found)]
        return _as_score(measure, float(np.average(losses, weights=weights)))

    def oracle(self, X: Iterable[Any], Y: Iterable[Any], *, sample_weight: npt.ArrayLike | None = None) -> _core.Oracle:
        """Return the examples as an oracle for learners; see `trelliswork.oracle`."""
        return self._structure().oracle(X, Y, sample_weight)

    @snapshot
    def exported(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors and the settings of the model file; the structure is not in it but by its name."""
        check_is_fitted(self, "coef_")
        seed = self.random_state if isinstance(self.random_state, int) else None
        settings = {
            "kind": KIND,
            "structure": {"name": "custom", "class": type(self.structure).__name__, "n_features": len(self.coef_)},
            "learner": learner_settings(checked_learner(self.learner)),
            "parameters": {
                "scoring": self.scoring if isinstance(self.scoring, str) else "accuracy",
                "random_state": seed,
                **{name: plain(getattr(self, name)) for name in ("patience", "warm_start")},
            },
            "training": training_settings(self),
        }
        return {"channel.features.weights": np.ascontiguousarray(self.coef_)}, settings

    @classmethod
    def restored(
        cls,
        tensors: Mapping[str, Any],
        settings: Mapping[str, Any],
        restore: Any = None,
        structure: Structure | None = None,
        **given: Any,
    ) -> Self:
        """Return the predictor of a file that may say anything, with the structure that it was trained with."""
        refuse_arguments(given, KIND)
        described = settings["structure"]
        name, n_features = str(described["class"]), int(described["n_features"])
        if not isinstance(structure, Structure):
            refuse_argument(
                f"the model was trained with a structure of the class {name}, which is code and not in the file: pass "
                f"structure={name}(...), as it was."
            )
        if type(structure).__name__ != name or structure.n_features != n_features:
            refuse_argument(
                f"the model was trained with a structure of the class {name} with {n_features} features; structure is "
                f"of {type(structure).__name__} with {structure.n_features}."
            )
        predictor = cls(structure, learner_from(settings["learner"]), **settings["parameters"])
        predictor.coef_ = numbers(tensors, "channel.features.weights", n_features)
        if not np.isfinite(predictor.coef_).all():
            raise ValueError("some weights are infinite")
        remember_training(predictor, settings["training"])
        predictor.metadata_ = dict(settings.get("metadata", {}))
        return predictor

    def _learn(
        self,
        X: Iterable[Any],
        Y: Iterable[Any],
        X_dev: Iterable[Any] | None,
        Y_dev: Iterable[Any] | None,
        sample_weight: npt.ArrayLike | None,
        callback: Callback | None,
        start: FloatArray | None,
        resume: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Self:
        structure, learner = self._structure(), checked_learner(self.learner)
        require_answers(repr(learner), learner.asks, structure.answers, type(structure).__name__)
        asked = adapter.asked_about(structure, X, Y)
        weights = adapter.checked_sample_weight(sample_weight, len(asked.X))
        dev = None
        if require_dev(X_dev, Y_dev, self.patience, "Y_dev"):
            assert X_dev is not None
            assert Y_dev is not None
            dev = adapter.asked_about(structure, X_dev, Y_dev)
        score = None if dev is None else self._dev_score(dev)
        problem = Problem(asked.learnable(weights), self._keep, self._same_run(asked, weights, dev), start, score)
        learn(self, learner, problem, callback, resume)
        return self

    def _keep(self, weights: FloatArray) -> None:
        self.coef_, self.metadata_ = weights, {}

    def _same_run(self, asked: adapter.Asked, weights: FloatArray, dev: adapter.Asked | None) -> SameRun:
        """Return what a resumed run must have in common: data are known by the features of their outputs."""
        return SameRun(
            len(asked.X),
            asked.n_features,
            checksum_of_array(*stacked(asked.gold), weights),
            0 if dev is None else checksum_of_array(*stacked(dev.gold)),
            {
                "structure": type(self.structure).__qualname__,
                "scoring": self.scoring if isinstance(self.scoring, str) else "a function",
            },
            units=("examples", "features"),
        )

    def _structure(self) -> Structure:
        if not isinstance(self.structure, Structure):
            raise InvalidInput(
                f"structure is {shown(self.structure)}; expected an object of a subclass of tw.Structure."
            )
        self.structure.require_defined()
        return self.structure

    def _dev_score(self, asked: adapter.Asked) -> Callable[[FloatArray], float]:
        """Return how weights score on the development data, which are written down once if they can be."""
        structure, measure = asked.structure, self._measure()
        if callable(measure):
            return lambda weights: float(measure(asked.Y, adapter.predicted(structure, asked.X, weights)))
        loss = partial(_LOSSES[measure], asked)
        if structure.defines("outputs"):
            oracle = asked.enumerated(np.ones(len(asked.X)), loss)
            return lambda weights: _as_score(measure, _mean_cost(oracle, weights))

        def score(weights: FloatArray) -> float:
            found = adapter.predicted(structure, asked.X, weights)
            return _as_score(measure, float(np.mean([loss(i, y) for i, y in enumerate(found)])))

        return score

    def _measure(self) -> Any:
        if not callable(self.scoring) and self.scoring not in _LOSSES:
            raise InvalidInput(f"scoring is {shown(self.scoring)}; expected 'accuracy', 'cost' or a function.")
        return self.scoring


def _as_score(measure: str, mean_loss: float) -> float:
    """The mean loss as a score: the share that is right, or minus the cost."""
    return 1.0 - mean_loss if measure == "accuracy" else -mean_loss


def _mean_cost(oracle: _core.Oracle, weights: FloatArray) -> float:
    return float(np.mean([oracle.kbest(weights, i)[0][2] for i in range(oracle.n_examples)]))
