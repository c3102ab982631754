"""One label of several for each input, by any learner; labels may share weights (000, section 17.1).

    score(x, y) = w . phi(x, y),    phi(x, y) = a copy of x for every group that y belongs to       (eq. 17.1, 17.2)

As a rule each class is a group by itself. Classes that are related share further groups, so that they learn from each
other's examples (eq. 17.9 to 17.11); in a hierarchy, there is a group for every node on the way from a class to the
root.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, validate_data

from trelliswork import _core, learners
from trelliswork.arguments import shown
from trelliswork.errors import InvalidInput
from trelliswork.estimators.fitted import atomic, check_is_fitted, snapshot
from trelliswork.features.dict_columns import DictColumns, are_dicts
from trelliswork.learners.online import Perceptron
from trelliswork.learners.parameters import PlainParameters
from trelliswork.learners.training import FloatArray, Learner
from trelliswork.structures import checks
from trelliswork.training.loop import Problem, checked_learner, learn, require_dev
from trelliswork.training.monitor import Callback
from trelliswork.training.same_run import SameRun, checksum_of_array

__all__ = ["MulticlassClassifier", "MulticlassPerceptron"]


class _Multiclass(PlainParameters, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What the two classifiers have in common: everything but their parameters."""

    classes_: npt.NDArray[Any]
    coef_: FloatArray
    intercept_: FloatArray
    groups_: list[Hashable]
    history_: list[dict[str, Any]]
    n_iter_: int
    best_iteration_: int
    converged_: bool
    interrupted_: bool
    message_: str
    n_features_in_: int
    _shape: _Shape
    _weights: FloatArray

    hierarchy: Any
    expansion: Any
    class_weight: Any
    fit_intercept: bool
    patience: int | None
    n_jobs: int | None
    random_state: Any
    warm_start: bool
    verbose: int

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
        """Learn from rows and their classes.

        Parameters
        ----------
        X : (n, d) array or sparse matrix, or list of dicts
            Dicts have features by name; a string for a value is one of several possibilities, ``{"word": "dog"}``.
        y : (n,) array-like
            The classes.
        X_dev, y_dev : optional
            Development data, scored after each pass. The weights with the best score are kept.
        sample_weight : (n,) array-like, optional
            How much each row counts.
        callback : callable, optional
            Called with a `Progress` after each pass; training stops when it returns True.
        resume : dict of arrays, optional
            What `Progress.state` gave in an earlier run with the same data and parameters: training goes on from
            there, to the identical weights. A state of other data, weights or parameters is refused.

        Returns
        -------
        classifier
            The estimator itself. An interrupt (Ctrl-C) ends training and keeps the best weights so far.
        """
        earlier = getattr(self, "_shape", None) if self.warm_start else None
        return self._learn(X, y, None, X_dev, y_dev, sample_weight, callback, earlier, resume)

    @atomic
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Go on learning, from the weights that are there and from these rows only.

        ``classes`` in the first call has all classes that will ever occur; left out, they are those of ``y``.
        """
        return self._learn(X, y, classes, None, None, sample_weight, None, getattr(self, "_shape", None))

    @snapshot
    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class (n, K); of two classes, how much higher that of the second is (n,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @snapshot
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the highest score of each row."""
        best = np.argmax(self._scores(X), axis=1)
        found: npt.NDArray[Any] = self.classes_[best]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _make_learner(self) -> Learner:
        raise NotImplementedError

    def _cost(self, n_labels: int) -> FloatArray:
        """Return what a wrong class costs; nothing for one each."""
        return np.zeros((0, 0))

    # ---- learning ------------------------------------------------------------------------------------------------

    def _learn(
        self,
        X: Any,
        y: Any,
        classes: Any,
        X_dev: Any,
        y_dev: Any,
        sample_weight: Any,
        callback: Callback | None,
        earlier: _Shape | None,
        resume: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Self:
        learner = self._make_learner()
        checks.as_jobs(self.n_jobs)
        has_dev = require_dev(X_dev, y_dev, self.patience)
        columns = _columns_of(X, earlier)
        X, y = validate_data(
            self,
            X if columns is None else columns.extended(X),
            y,
            accept_sparse="csr",
            dtype=np.float64,
            reset=earlier is None or columns is not None,
        )
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise InvalidInput("sample_weight is zero for every row: there is nothing to learn from.")
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, y)
        if earlier is None:
            shape, start = self._shaped(y, classes, columns), None
        else:
            _require_known(y, classes, earlier.classes)
            shape, start = earlier._replace(columns=columns), earlier.grown(self._weights, X.shape[1]).ravel()
        oracle = self._oracle(shape, X, y, weights)
        score, dev = self._dev_score(shape, X_dev, y_dev) if has_dev else (None, 0)
        data = checksum_of_array(*_arrays(X), np.searchsorted(shape.classes, y), weights)
        problem = Problem(oracle, partial(self._keep, shape), self._same_run(shape, X.shape, data, dev), start, score)
        learn(self, learner, problem, callback, resume)
        return self

    def _keep(self, shape: _Shape, weights: FloatArray) -> None:
        self._shape, self._weights = shape, shape.folded(weights)
        self.classes_, self.groups_ = shape.classes, shape.groups
        self.coef_, self.intercept_ = shape.of_classes(self._weights)

    def _same_run(self, shape: _Shape, rows: tuple[int, int], data: int, dev: int) -> SameRun:
        settings = {
            "labels": [str(label) for label in shape.classes.tolist()],
            "fit_intercept": shape.has_intercept,
            "groups": [str(group) for group in shape.groups],
            "cost": checksum_of_array(self._cost(len(shape.classes))),
        }
        return SameRun(*rows, data, dev, settings, units=("rows", "columns"))

    def _shaped(self, y: npt.NDArray[Any], classes: Any, columns: DictColumns | None) -> _Shape:
        known = unique_labels(y if classes is None else classes)
        _require_known(y, None, known)
        groups, shares = _groups(known.tolist(), self.hierarchy, self.expansion)
        return _Shape(known, groups, shares, bool(self.fit_intercept), columns)

    def _oracle(self, shape: _Shape, X: Any, y: npt.NDArray[Any], weights: FloatArray) -> _core.LabelOracle:
        n_labels = len(shape.classes)
        shares = None if np.array_equal(shape.shares, np.eye(n_labels)) else shape.shares
        gold = np.searchsorted(shape.classes, y).astype(np.int32)
        cost = self._cost(n_labels)
        ones = np.ones((X.shape[0], int(shape.has_intercept)))
        try:
            if not sparse.issparse(X):
                rows = np.ascontiguousarray(np.hstack([X, ones]))
                return _core.LabelOracle.dense(rows, gold, n_labels, weights, cost, shares)
            X = sparse.hstack([X, ones], format="csr") if shape.has_intercept else X
            indptr, indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
            return _core.LabelOracle.sparse(indptr, indices, X.data, X.shape[1], gold, n_labels, weights, cost, shares)
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    def _dev_score(self, shape: _Shape, X_dev: Any, y_dev: Any) -> tuple[Callable[[FloatArray], float], int]:
        """Return how weights score on the development data, and a checksum of these."""
        X, gold = self._rows(X_dev, shape.columns), np.asarray(y_dev)
        if gold.shape != (X.shape[0],):
            raise InvalidInput(f"y_dev has the shape {gold.shape}, but X_dev has {X.shape[0]} rows.")

        def score(weights: FloatArray) -> float:
            coef, intercept = shape.of_classes(shape.folded(weights))
            return float(np.mean(shape.classes[np.argmax(X @ coef.T + intercept, axis=1)] == gold))

        return score, checksum_of_array(*_arrays(X), np.array([str(label) for label in gold.tolist()]))

    def _rows(self, X: Any, columns: DictColumns | None) -> Any:
        if columns is not None:
            return columns.rows(X)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self, "coef_")
        scores: FloatArray = np.asarray(self._rows(X, self._shape.columns) @ self.coef_.T) + self.intercept_
        return scores


class _Shape(NamedTuple):
    """What weights mean: they lie [column][group], the constants in the last row."""

    classes: npt.NDArray[Any]
    groups: list[Hashable]
    shares: FloatArray  # of each class in each group
    has_intercept: bool
    columns: DictColumns | None  # of rows that are dicts

    def folded(self, weights: FloatArray) -> FloatArray:
        return weights.reshape(-1, self.shares.shape[1])

    def of_classes(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights of the classes (K, d), and their constants: the sums of those of their groups."""
        sums = self.shares @ weights.T
        if self.has_intercept:
            return np.ascontiguousarray(sums[:, :-1]), sums[:, -1].copy()
        return sums, np.zeros(len(sums))

    def grown(self, weights: FloatArray, n_columns: int) -> FloatArray:
        """Return the weights with zeros for columns that are new."""
        rest = weights[-1:] if self.has_intercept else weights[:0]
        old = weights[: len(weights) - len(rest)]
        return np.vstack([old, np.zeros((n_columns - len(old), weights.shape[1])), rest])


def _arrays(X: Any) -> tuple[npt.NDArray[Any], ...]:
    """The arrays that hold the rows."""
    return (X.indptr, X.indices, X.data) if sparse.issparse(X) else (X,)


def _columns_of(X: Any, earlier: _Shape | None) -> DictColumns | None:
    """Return how dicts become columns, or None for rows of numbers; what was learned from before must agree."""
    dicts = are_dicts(X)
    if earlier is None:
        return DictColumns() if dicts else None
    if dicts != (earlier.columns is not None):
        before, now = ("dicts", "numbers") if earlier.columns is not None else ("numbers", "dicts")
        raise InvalidInput(f"the rows of X are {now}, but the model was trained on {before}.")
    return copy.deepcopy(earlier.columns)


def _require_known(y: npt.NDArray[Any], classes: Any, known: npt.NDArray[Any]) -> None:
    if classes is not None and not np.array_equal(np.unique(classes), known):
        raise InvalidInput(f"classes are {shown(classes)}, but in the first call they were {shown(known)}.")
    unknown = np.setdiff1d(y, known)
    if len(unknown):
        raise InvalidInput(
            f"y has the class {unknown[0]!r}, which is not among the classes {shown(known.tolist())}. Pass all classes "
            "in the first call of partial_fit, or call fit with warm_start=False."
        )


class MulticlassClassifier(_Multiclass):
    """Classifies by any learner; classes may share weights.

    Parameters
    ----------
    learner : learner or str, default "perceptron"
        The training algorithm, such as ``tw.PassiveAggressive(C=0.1)``, or its name.
    hierarchy : dict, optional
        From classes to lists of their ancestors: classes with a common ancestor share a copy of the features. A class
        that is not named has none.
    expansion : callable or (K, G) array, optional
        More freely, which groups the classes belong to: ``expansion(class)`` returns a list of groups, or a dict from
        groups to shares; or ``expansion[i, g]`` is the share of class ``classes_[i]`` in group ``g``.
    cost : "zero-one" or (K, K) array, default "zero-one"
        ``cost[gold, class]`` of a wrong class, in the order of ``classes_``, for learners that look at it.
    class_weight : "balanced" or dict, optional
        Weights of rows by their class, as in scikit-learn.
    fit_intercept : bool, default True
        Whether every group has a constant, too.
    patience : int, optional
        Stop when so many passes in a row brought no better score on the development data.
    n_jobs : int, optional
        Threads, as in scikit-learn; the result is the same for any number.
    random_state : int or RandomState, optional
        Seed of the order in which the rows are visited.
    warm_start : bool, default False
        Whether `fit` starts from the weights that are there, if any.
    verbose : int, default 0
        Whether to print a line for each pass, to the standard error.

    Attributes
    ----------
    classes_ : array (K,)
        The classes, sorted.
    coef_, intercept_ : arrays (K, d) and (K,)
        The weights of each class: the sums of those of its groups.
    groups_ : list
        What the groups are: the classes, and then the ancestors.
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
        self.learner = learner
        self.hierarchy = hierarchy
        self.expansion = expansion
        self.cost = cost
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``learner__C=0.5`` also where the learner is given by its name."""
        if isinstance(self.learner, str) and "learner" not in params and any(p.startswith("learner__") for p in params):
            self.learner = learners.by_name(self.learner)
        estimator: Self = super().set_params(**params)
        return estimator

    def _make_learner(self) -> Learner:
        return checked_learner(self.learner)

    def _cost(self, n_labels: int) -> FloatArray:
        if isinstance(self.cost, str):
            if self.cost != "zero-one":
                raise InvalidInput(f'cost is {self.cost!r}; expected "zero-one" or a ({n_labels}, {n_labels}) array.')
            return np.zeros((0, 0))
        return checks.as_cost(self.cost, n_labels)


class MulticlassPerceptron(_Multiclass):
    """The multiclass perceptron, averaged; classes may share weights (000, 17.1; 004, algorithm 5).

    Parameters
    ----------
    epochs : int, default 10
        Passes over the rows.
    k : int, default 1
        How many of the best classes are looked at for each row.
    averaged : bool, default True
        Whether to keep the mean of the weights after every row, which generalises better than the last ones.
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
    The classes of 000, 17.1: music and movies are related, and share a copy of the features.

    >>> import trelliswork as tw
    >>> X = [{"stage": 1, "song": 1}, {"stage": 1, "scene": 1}, {"cell": 1}, {"cell": 1, "stage": 1}]
    >>> y = ["music", "movies", "oncology", "oncology"]
    >>> perceptron = tw.MulticlassPerceptron(hierarchy={"music": ["arts"], "movies": ["arts"]}).fit(X, y)
    >>> perceptron.groups_
    ['movies', 'music', 'oncology', 'arts']
    >>> perceptron.predict([{"song": 1}, {"cell": 1}]).tolist()
    ['music', 'oncology']
    """

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
        self.epochs = epochs
        self.k = k
        self.averaged = averaged
        self.shuffle = shuffle
        self.hierarchy = hierarchy
        self.expansion = expansion
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def _make_learner(self) -> Learner:
        return Perceptron(self.epochs, k=self.k, averaged=self.averaged, shuffle=self.shuffle)


def _groups(classes: list[Any], hierarchy: Any, expansion: Any) -> tuple[list[Hashable], FloatArray]:
    """Return the groups and the share of each class in each of them (K, G).

    Examples
    --------
    >>> groups, shares = _groups(["a", "b"], {"a": ["top"], "b": ["top"]}, None)
    >>> groups
    ['a', 'b', 'top']
    >>> shares.tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    if hierarchy is not None and expansion is not None:
        raise InvalidInput("hierarchy and expansion both say which classes share weights: pass one of them.")
    if hierarchy is not None:
        return _of_named(_path_groups(classes, hierarchy), classes)
    if callable(expansion):
        return _of_named([_named(expansion(label), f"expansion({label!r})") for label in classes], [])
    if expansion is not None:
        return _of_matrix(expansion, len(classes))
    return list(classes), np.eye(len(classes))


def _path_groups(classes: list[Any], hierarchy: Any) -> list[dict[Hashable, float]]:
    """Return, for each class, a group for every node on its way to the root."""
    if not isinstance(hierarchy, Mapping):
        raise InvalidInput(
            f"hierarchy is {shown(hierarchy)}; expected a dict from classes to lists of their ancestors."
        )
    if hierarchy and not any(label in hierarchy for label in classes):
        raise InvalidInput(f"hierarchy names none of the classes of y; they are {shown(classes)}.")
    return [{label: 1.0} | _named(hierarchy.get(label, ()), f"hierarchy[{label!r}]") for label in classes]


def _named(groups: Any, place: str) -> dict[Hashable, float]:
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise InvalidInput(f"{place} is {shown(groups)}; expected a list of groups.")
    shares = groups if isinstance(groups, Mapping) else dict.fromkeys(groups, 1.0)
    for group, share in shares.items():
        if not isinstance(share, (int, float, np.number)) or not np.isfinite(share):
            raise InvalidInput(f"{place} has the share {share!r} in {group!r}; expected a finite number.")
    return {group: float(share) for group, share in shares.items()}


def _of_named(of_classes: Sequence[dict[Hashable, float]], first: list[Any]) -> tuple[list[Hashable], FloatArray]:
    groups = list(dict.fromkeys([*first, *(group for named in of_classes for group in named)]))
    if not groups:
        raise InvalidInput("expansion gives no class any group: there would be no weights.")
    places = {group: place for place, group in enumerate(groups)}
    shares = np.zeros((len(of_classes), len(groups)))
    for k, named in enumerate(of_classes):
        for group, share in named.items():
            shares[k, places[group]] = share
    return groups, shares


def _of_matrix(expansion: Any, n_labels: int) -> tuple[list[Hashable], FloatArray]:
    shares = checks.as_numbers("expansion", expansion)
    if shares.ndim != 2 or shares.shape[0] != n_labels or not shares.shape[1]:
        raise InvalidInput(
            f"expansion has the shape {shares.shape}; expected a row for each of the {n_labels} classes, and a column "
            "for each group."
        )
    if not np.isfinite(shares).all():
        raise InvalidInput("expansion must hold finite numbers.")
    return list(range(shares.shape[1])), shares
