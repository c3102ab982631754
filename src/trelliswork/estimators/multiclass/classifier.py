"""Multiclass classification by any learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork.errors import InvalidInput
from trelliswork.estimators.base import store
from trelliswork.estimators.multiclass.base import Multiclass
from trelliswork.estimators.saving import learner_from, learner_settings
from trelliswork.learners.training import FloatArray, Learner
from trelliswork.structures import checks
from trelliswork.training.loop import checked_learner

__all__ = ["MulticlassClassifier"]


class MulticlassClassifier(Multiclass):
    """Classifies by any learner; classes may share weights.

    Parameters
    ----------
    learner : learner or str, default "perceptron"
        The training algorithm, such as ``tw.PassiveAggressive(C=0.1)``, or its name.
    hierarchy : dict, optional
        Maps classes to lists of their ancestors. Classes with a common ancestor share a copy of the features. A class
        that is not in the dict has no ancestors.
    expansion : callable or (K, G) array, optional
        The groups of each class, in general: ``expansion(class)`` returns a list of groups, or a dict from groups to
        shares; or ``expansion[i, g]`` is the share of class ``classes_[i]`` in group ``g``.
    cost : "zero-one" or (K, K) array, default "zero-one"
        ``cost[gold, class]`` of a wrong class, in the order of ``classes_``, for learners that use costs.
    class_weight : "balanced" or dict, optional
        Weights of rows by their class, as in scikit-learn.
    fit_intercept : bool, default True
        Whether every group has a constant.
    patience : int, optional
        Stop after this many passes in a row without a better score on the development data.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; the result is the same for any number.
    random_state : int or RandomState, optional
        Seed of the order in which the rows are visited.
    warm_start : bool, default False
        Whether `fit` starts from the present weights, if there are any.
    verbose : int, default 0
        Whether to print a line for each pass to the standard error.

    Attributes
    ----------
    classes_ : array (K,)
        The classes, sorted.
    coef_, intercept_ : arrays (K, d) and (K,)
        The weights of each class: the sums of the weights of its groups.
    groups_ : list
        The groups: the classes, then the ancestors.
    n_iter_, best_iteration_, converged_, interrupted_, message_, history_
        How training went.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [[0.0, 1.0], [0.2, 0.9], [1.0, 0.1], [0.9, 0.0], [-1.0, -1.0]]
    >>> y = ["up", "up", "right", "right", "down"]
    >>> tw.MulticlassClassifier(tw.PassiveAggressive(C=0.5)).fit(X, y).predict([[0.1, 2.0]]).tolist()
    ['up']
    """

    learner: Any
    cost: Any

    def __init__(
        self,
        learner: Any = "perceptron",
        *,
        hierarchy: Any = None,
        expansion: Any = None,
        cost: Any = "zero-one",
        class_weight: Any = None,
        fit_intercept: bool = True,
        patience: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    _kind = "multiclass-classifier"

    def _saved_parameters(self) -> dict[str, Any]:
        cost = self.cost if isinstance(self.cost, str) else np.asarray(self.cost, dtype=float).tolist()
        return {**super()._saved_parameters(), "cost": cost, "learner": learner_settings(self._make_learner())}

    @classmethod
    def _restored_parameters(cls, saved: Mapping[str, Any], shape: Any) -> dict[str, Any]:
        cost = saved["cost"] if isinstance(saved["cost"], str) else np.array(saved["cost"])
        return {**super()._restored_parameters(saved, shape), "cost": cost, "learner": learner_from(saved["learner"])}

    def _make_learner(self) -> Learner:
        return checked_learner(self.learner)

    def _cost(self, n_labels: int) -> FloatArray:
        if isinstance(self.cost, str):
            if self.cost != "zero-one":
                raise InvalidInput(f'cost is {self.cost!r}; expected "zero-one" or a ({n_labels}, {n_labels}) array.')
            return np.zeros((0, 0))
        return checks.as_cost(self.cost, n_labels)
