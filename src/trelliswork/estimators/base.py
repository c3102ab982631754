"""The scikit-learn interface of estimators, without importing it: parameters, diagram, tags, metadata routing.

Importing scikit-learn takes longer than loading a model and predicting, and most programs that predict do not need it.
So the methods that scikit-learn calls are defined here, and import it only when called. `clone`, parameter searches,
pipelines, routing and pickling work as with ``BaseEstimator``; only ``isinstance(estimator, BaseEstimator)`` is False.
If that matters, inherit from both::

    class Mine(tw.SequenceLabeler, BaseEstimator):
        pass
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Self

from trelliswork import learners
from trelliswork.learners.aliases import unknown_parameter
from trelliswork.learners.parameters import PlainParameters

__all__ = ["Estimator", "LearningEstimator", "sequence_tags", "store"]

# Methods whose further arguments scikit-learn may route to them, and the arguments that it always passes.
_ROUTED = ("fit", "partial_fit", "predict", "predict_proba", "decision_function", "score")
_ALWAYS = {"self", "X", "y", "Y"}


class Estimator(PlainParameters):
    """A class with parameters, `fit` and `predict`, by the conventions of scikit-learn."""

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        for method in _ROUTED:
            if names := _routable(getattr(cls, method, None)):
                setattr(cls, f"set_{method}_request", _request_setter(method, names))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(cls._defaults())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; if ``deep``, also the nested ones, such as ``learner__C``."""
        found: dict[str, Any] = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": part for inner, part in value.get_params().items()}
            found[name] = value
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``learner__C=0.5`` works also if the learner is given by name.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tw.SequenceLabeler("pa").set_params(learner__C=0.5, min_count=2)
        SequenceLabeler(learner=PassiveAggressive(C=0.5), min_count=2)
        """
        learner = params.get("learner", getattr(self, "learner", None))
        if isinstance(learner, str) and any(name.startswith("learner__") for name in params):
            params = {**params, "learner": learners.by_name(learner)}
        known, nested = self._get_param_names(), defaultdict[str, dict[str, Any]](dict)
        for path, value in params.items():
            name, inner, rest = path.partition("__")
            if name not in known:
                raise unknown_parameter(type(self).__name__, name, known)
            if inner:
                nested[name][rest] = value
            else:
                setattr(self, name, value)
        for name, parts in nested.items():
            getattr(self, name).set_params(**parts)
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        changed = {name: value for name, value in self.get_params(deep=False).items()}
        shown = [f"{name}={value!r}" for name, value in changed.items() if repr(value) != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(shown)})"

    # ---- what scikit-learn asks for ------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    def get_metadata_routing(self) -> Any:
        """Return the additional arguments that the estimator's methods request from scikit-learn."""
        from sklearn.base import BaseEstimator

        return BaseEstimator.get_metadata_routing(_as_base_estimator(self))

    def _repr_html_(self) -> Any:
        return self._repr_mimebundle_().get("text/html")

    def _repr_mimebundle_(self, **_: Any) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator._repr_mimebundle_(_as_base_estimator(self))


def store(estimator: Any, given: Mapping[str, Any]) -> None:
    """Set the parameters of an estimator: its constructor does nothing but call this with ``locals()``."""
    for name, value in given.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def sequence_tags(tags: Any) -> Any:
    """Return the tags of an estimator whose inputs are sequences of tokens, not rows of a table."""
    tags.input_tags.two_d_array = False
    tags.input_tags.string = True
    tags.input_tags.sparse = True
    tags.target_tags.required = True
    return tags


def _routable(method: Any) -> list[str]:
    """The arguments of a method that scikit-learn may be asked to pass."""
    if not inspect.isfunction(method):
        return []
    return sorted(name for name in inspect.signature(method).parameters if name not in _ALWAYS)


def _request_setter(method: str, names: list[str]) -> Callable[..., Any]:
    def set_request(self: Any, **wanted: bool | str | None) -> Any:
        from sklearn.utils._metadata_requests import RequestMethod

        stand_in = _as_base_estimator(self)
        RequestMethod(method, names).__get__(stand_in, type(stand_in))(**wanted)
        self._metadata_request = stand_in._metadata_request
        return self

    set_request.__name__ = f"set_{method}_request"
    set_request.__doc__ = f"Say which arguments scikit-learn is to route to `{method}`: {', '.join(names)}."
    return set_request


def _as_base_estimator(estimator: Estimator) -> Any:
    """Return an estimator with the same attributes whose class is one of scikit-learn's, too."""
    from sklearn.base import BaseEstimator

    kind = type(estimator)
    if isinstance(estimator, BaseEstimator):
        return estimator
    stand_in: Any = object.__new__(type(kind.__name__, (kind, BaseEstimator), {"__module__": kind.__module__}))
    stand_in.__dict__ = dict(vars(estimator))
    return stand_in


class LearningEstimator(Estimator):
    """An estimator that lets a learner run in `training.loop.learn`, which reads the parameters and sets the rest."""

    patience: int | None
    n_jobs: int | None
    random_state: Any
    verbose: int

    history_: list[dict[str, Any]]
    n_iter_: int
    best_iteration_: int
    converged_: bool
    interrupted_: bool
    message_: str
