"""One label of several for each input, by any learner; labels may share weights (Daumé 2017, section 17.1).

    score(x, y) = w . phi(x, y),    phi(x, y) = a copy of x for every group that y belongs to       (eq. 17.1, 17.2)

By default each class is a group of its own. Related classes share further groups, so that they learn from each other's
examples (eq. 17.9 to 17.11). In a hierarchy, there is a group for every node on the path from a class to the root.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core, learners
from trelliswork.arguments import callers_level
from trelliswork.errors import InvalidInput, UncalibratedScores, shown
from trelliswork.estimators.base import LearningEstimator
from trelliswork.estimators.fitted import atomic, check_is_fitted, snapshot
from trelliswork.estimators.multiclass.groups import groups_of
from trelliswork.estimators.saving import SavesModel, numbers, remember_training, training_settings
from trelliswork.features.dict_columns import DictColumns, are_dicts
from trelliswork.learners.training import FloatArray, Learner
from trelliswork.models import names
from trelliswork.models.json_values import plain
from trelliswork.models.registry import refuse_arguments
from trelliswork.structures import checks
from trelliswork.training.loop import Problem, learn, require_dev
from trelliswork.training.monitor import Callback
from trelliswork.training.same_run import SameRun, checksum_of_array

__all__ = ["Multiclass"]


class Multiclass(SavesModel, LearningEstimator):
    """The base class of the two classifiers, which differ only in their parameters."""

    classes_: npt.NDArray[Any]
    coef_: FloatArray
    intercept_: FloatArray
    groups_: list[Hashable]
    n_features_in_: int
    _shape: _Shape
    _weights: FloatArray

    hierarchy: Any
    expansion: Any
    class_weight: Any
    fit_intercept: bool
    warm_start: bool

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
            Dicts have features by name; a string value, as in ``{"word": "dog"}``, is a categorical feature.
        y : (n,) array-like
            The classes.
        X_dev, y_dev : optional
            Development data, scored after each pass. The weights with the best score are kept.
        sample_weight : (n,) array-like, optional
            The weight of each row.
        callback : callable, optional
            Called with a `Progress` after each pass; training stops when it returns True.
        resume : dict of arrays, optional
            The result of `Progress.state` in an earlier run with the same data and parameters. Training continues from
            there to the identical weights. A state of other data, weights or parameters is refused.

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
        """Continue training from the present weights, on these rows only.

        In the first call, ``classes`` lists all classes that will ever occur; by default, those in ``y``.
        """
        return self._learn(X, y, classes, None, None, sample_weight, None, getattr(self, "_shape", None))

    @snapshot
    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class, (n, K); of two classes, the score of the second minus the first, (n,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @snapshot
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the highest score of each row."""
        best = np.argmax(self._scores(X), axis=1)
        found: npt.NDArray[Any] = self.classes_[best]
        return found

    @snapshot
    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(class | row) = exp(score) / sum over classes of exp(score), an array (n, K).

        These are probabilities if the learner trains scores to be log-probabilities, as `CRF` does. Scores of other
        learners only rank the classes, and a warning says so.
        """
        check_is_fitted(self, "coef_")
        learner = self._make_learner()
        if not getattr(learner, "probabilistic", True):
            warnings.warn(
                f"the scores that the learner {learners.name_of(learner)!r} gives are no probabilities: train with "
                "learner='crf' for rows of which p(class | row) is to be known.",
                UncalibratedScores,
                stacklevel=callers_level(),
            )
        scores = self._scores(X)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        proba: FloatArray = odds / odds.sum(axis=1, keepdims=True)
        return proba

    @snapshot
    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the accuracy: the fraction of rows whose predicted class is the one in ``y``."""
        right = self.predict(X) == np.asarray(y)
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)))

    _estimator_type = "classifier"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _make_learner(self) -> Learner:
        raise NotImplementedError

    def _cost(self, n_labels: int) -> FloatArray:
        """Return what a wrong class costs; nothing for one each."""
        return np.zeros((0, 0))

    # ---- files ---------------------------------------------------------------------------------------------------

    _kind: ClassVar[str]

    @snapshot
    def exported(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors and the settings of the model file."""
        check_is_fitted(self, "coef_")
        shape = self._shape
        classes = names.as_json(shape.classes.tolist(), "classes_")
        tensors = {"channel.features.weights": self._weights.ravel(), "channel.features.shares": shape.shares.ravel()}
        if shape.columns is not None:
            tensors |= names.as_tensors("channel.features", list(shape.columns.names))
        settings = {
            "kind": self._kind,
            "labels": [str(label) for label in classes],
            "classes": classes,
            "class_type": "object" if shape.classes.dtype.kind == "O" else shape.classes.dtype.str,
            "groups": names.as_json(shape.groups, "groups_"),
            "intercept": shape.has_intercept,
            "dicts": shape.columns is not None,
            "n_features": int(self.n_features_in_),
            "parameters": self._saved_parameters(),
            "training": training_settings(self),
        }
        return {name: np.ascontiguousarray(part) for name, part in tensors.items()}, settings

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Any], settings: Mapping[str, Any], restore: Any = None, **given: Any
    ) -> Self:
        """Return the classifier of a file that may say anything; it has no members for ``restore`` to make."""
        refuse_arguments(given, cls._kind)
        classes = np.array([*settings["classes"], None], dtype=object)[:-1].astype(np.dtype(settings["class_type"]))
        groups, n_features = list(settings["groups"]), int(settings["n_features"])
        K, G, has_intercept = len(classes), len(groups), bool(settings["intercept"])
        if not K or not G or n_features < 0 or settings["labels"] != [str(label) for label in classes.tolist()]:
            raise ValueError("classes, groups or columns are missing, or are not those of the labels")
        columns = None
        if settings["dicts"]:
            columns = DictColumns()
            columns.names = {name: i for i, name in enumerate(names.from_tensors("channel.features", tensors))}
            if len(columns.names) != n_features:
                raise ValueError(f"there are {len(columns.names)} names of {n_features} columns")
        shares = numbers(tensors, "channel.features.shares", K, G)
        weights = numbers(tensors, "channel.features.weights", n_features + has_intercept, G)
        shape = _Shape(classes, groups, shares, has_intercept, columns)
        if max(np.abs(part).max(initial=0.0) for part in (shares, weights)) > 1e150:  # their products must be finite
            raise ValueError("some weights are infinite, or nearly so")
        classifier = cls(**cls._restored_parameters(settings["parameters"], shape))
        classifier.n_features_in_ = n_features
        classifier._keep(shape, weights.ravel())
        remember_training(classifier, settings["training"])
        classifier.metadata_ = dict(settings.get("metadata", {}))
        return classifier

    def _saved_parameters(self) -> dict[str, Any]:
        weight = self.class_weight
        pairs = (
            [[*names.as_json([label], "class_weight"), float(share)] for label, share in weight.items()]
            if isinstance(weight, Mapping)
            else weight
        )
        seed = self.random_state if isinstance(self.random_state, int) else None
        return {"class_weight": pairs, "fit_intercept": self.fit_intercept, "random_state": seed} | {
            name: plain(getattr(self, name)) for name in ("patience", "warm_start")
        }

    @classmethod
    def _restored_parameters(cls, saved: Mapping[str, Any], shape: _Shape) -> dict[str, Any]:
        """Return the parameters; however groups were said, they come back as shares."""
        own = np.array_equal(shape.shares, np.eye(len(shape.classes)))
        weight = saved["class_weight"]
        return {
            "class_weight": {label: float(share) for label, share in weight} if isinstance(weight, list) else weight,
            "expansion": None if own else shape.shares,
            **{name: saved[name] for name in ("fit_intercept", "random_state", "patience", "warm_start")},
        }

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
        shape, X, y, weights = self._read(X, y, classes, sample_weight, earlier)
        start = None if earlier is None else earlier.grown(self._weights, X.shape[1]).ravel()
        oracle = self._oracle(shape, X, y, weights)
        score, dev = self._dev_score(shape, X_dev, y_dev) if has_dev else (None, 0)
        data = checksum_of_array(*_arrays(X), np.searchsorted(shape.classes, y), weights)
        problem = Problem(oracle, partial(self._keep, shape), self._same_run(shape, X.shape, data, dev), start, score)
        learn(self, learner, problem, callback, resume)
        return self

    def _read(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, earlier: _Shape | None
    ) -> tuple[_Shape, Any, npt.NDArray[Any], FloatArray]:
        """Return what weights mean, and the rows, classes and weights of the examples, checked."""
        from sklearn.utils.class_weight import compute_sample_weight
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import _check_sample_weight, validate_data

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
            return self._shaped(y, classes, columns), X, y, weights
        _require_known(y, classes, earlier.classes)
        return earlier._replace(columns=columns), X, y, weights

    @snapshot
    def oracle(self, X: Any, y: Any, *, sample_weight: npt.ArrayLike | None = None) -> _core.Oracle:
        """Return the examples as an oracle for learners; see `trelliswork.oracle`.

        Weights are stored by column, ``weights.reshape(n_columns, n_groups)``, with the constants in the last row.
        """
        self._make_learner()
        return self._oracle(*self._read(X, y, None, sample_weight, None))

    def _keep(self, shape: _Shape, weights: FloatArray) -> None:
        self._shape, self._weights = shape, shape.folded(weights)
        self.classes_, self.groups_ = shape.classes, shape.groups
        self.coef_, self.intercept_ = shape.of_classes(self._weights)
        self.metadata_ = {}

    def _same_run(self, shape: _Shape, rows: tuple[int, int], data: int, dev: int) -> SameRun:
        settings = {
            "labels": [str(label) for label in shape.classes.tolist()],
            "fit_intercept": shape.has_intercept,
            "groups": [str(group) for group in shape.groups],
            "cost": checksum_of_array(self._cost(len(shape.classes))),
        }
        return SameRun(*rows, data, dev, settings, units=("rows", "columns"))

    def _shaped(self, y: npt.NDArray[Any], classes: Any, columns: DictColumns | None) -> _Shape:
        from sklearn.utils.multiclass import unique_labels

        known = unique_labels(y if classes is None else classes)
        _require_known(y, None, known)
        groups, shares = groups_of(known.tolist(), self.hierarchy, self.expansion)
        return _Shape(known, groups, shares, bool(self.fit_intercept), columns)

    def _oracle(self, shape: _Shape, X: Any, y: npt.NDArray[Any], weights: FloatArray) -> _core.LinearOracle:
        n_labels = len(shape.classes)
        shares = None if np.array_equal(shape.shares, np.eye(n_labels)) else shape.shares
        gold = np.searchsorted(shape.classes, y).astype(np.int32)
        cost = self._cost(n_labels)
        ones = np.ones((X.shape[0], int(shape.has_intercept)))
        try:
            if not _is_sparse(X):
                rows = np.ascontiguousarray(np.hstack([X, ones]))
                return _core.LabelOracle.dense(rows, gold, n_labels, weights, cost, shares)
            if shape.has_intercept:
                from scipy.sparse import hstack

                X = hstack([X, ones], format="csr")
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
        plain = self._plain_rows(X)
        if plain is not None:
            return plain
        from sklearn.utils.validation import validate_data

        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _plain_rows(self, X: Any) -> FloatArray | None:
        """Return rows that are as they must be; None for what scikit-learn has to look at, or refuse."""
        if not isinstance(X, np.ndarray | list) or hasattr(self, "feature_names_in_"):
            return None
        try:
            rows = np.asarray(X)
        except ValueError:
            return None
        fits = rows.dtype.kind in "fiu" and rows.ndim == 2 and rows.shape[1] == self.n_features_in_ and len(rows) > 0
        return rows.astype(np.float64, copy=False) if fits and np.isfinite(rows).all() else None

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self, "coef_")
        columns = self._shape.columns
        if columns is not None:
            return columns.products(X, self.coef_.T) + self.intercept_
        scores: FloatArray = np.asarray(self._rows(X, None) @ self.coef_.T) + self.intercept_
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
    return (X.indptr, X.indices, X.data) if _is_sparse(X) else (X,)


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")


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
