"""The multiclass perceptron: a classifier with the parameters of one learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trelliswork.estimators.base import store
from trelliswork.estimators.multiclass.base import Multiclass
from trelliswork.learners.online import Perceptron
from trelliswork.learners.training import Learner
from trelliswork.models.json_values import plain

__all__ = ["MulticlassPerceptron"]


class MulticlassPerceptron(Multiclass):
    """The multiclass perceptron, averaged; classes may share weights (Daumé 2017, 17.1; Mančev 2015, algorithm 5).

    Parameters
    ----------
    epochs : int, default 10
        Passes over the rows.
    k : int, default 1
        Number of best classes to process for each row.
    averaged : bool, default True
        Whether to keep the mean of the weights after every row, which generalises better than the last weights.
    shuffle : bool, default True
        Whether to visit the rows in a new random order in each pass.
    hierarchy, expansion, class_weight, fit_intercept, patience, n_jobs, random_state, warm_start, verbose
        As for `MulticlassClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, groups_, n_iter_, best_iteration_, converged_, interrupted_, message_, history_
        As for `MulticlassClassifier`.

    Examples
    --------
    The classes of Daumé 2017, 17.1: music and movies are related, and share a copy of the features.

    >>> import trelliswork as tw
    >>> X = [{"stage": 1, "song": 1}, {"stage": 1, "scene": 1}, {"cell": 1}, {"cell": 1, "stage": 1}]
    >>> y = ["music", "movies", "oncology", "oncology"]
    >>> perceptron = tw.MulticlassPerceptron(hierarchy={"music": ["arts"], "movies": ["arts"]}).fit(X, y)
    >>> perceptron.groups_
    ['movies', 'music', 'oncology', 'arts']
    >>> perceptron.predict([{"song": 1}, {"cell": 1}]).tolist()
    ['music', 'oncology']
    """

    epochs: int
    k: int
    averaged: bool
    shuffle: bool

    def __init__(
        self,
        epochs: int = 10,
        *,
        k: int = 1,
        averaged: bool = True,
        shuffle: bool = True,
        hierarchy: Any = None,
        expansion: Any = None,
        class_weight: Any = None,
        fit_intercept: bool = True,
        patience: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    _kind = "multiclass-perceptron"

    def _saved_parameters(self) -> dict[str, Any]:
        own = {name: plain(getattr(self, name)) for name in ("epochs", "k", "averaged", "shuffle")}
        return {**super()._saved_parameters(), **own}

    @classmethod
    def _restored_parameters(cls, saved: Mapping[str, Any], shape: Any) -> dict[str, Any]:
        own = {name: saved[name] for name in ("epochs", "k", "averaged", "shuffle")}
        return {**super()._restored_parameters(saved, shape), **own}

    def _make_learner(self) -> Learner:
        return Perceptron(self.epochs, k=self.k, averaged=self.averaged, shuffle=self.shuffle)
