"""Estimators as they were before they learned: what scikit-learn's `clone` returns, without importing scikit-learn."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["cloned"]


def cloned(estimator: Any) -> Any:
    """Return a new estimator with the same parameters, and estimators among them cloned, too.

    What has no parameters is copied deeply.

    Examples
    --------
    >>> import trelliswork as tw
    >>> tagger = tw.SequenceLabeler(tw.CRF(l2=0.5)).fit([["the", "dog"]], [["D", "N"]])
    >>> hasattr(cloned(tagger), "classes_"), cloned(tagger).learner.l2
    (False, 0.5)
    """
    if isinstance(estimator, list | tuple | set | frozenset) and type(estimator) in (list, tuple, set, frozenset):
        return type(estimator)(cloned(part) for part in estimator)
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    if hasattr(estimator, "__sklearn_clone__"):  # one of scikit-learn's
        return estimator.__sklearn_clone__()
    new = type(estimator)(**{name: cloned(value) for name, value in estimator.get_params(deep=False).items()})
    if hasattr(estimator, "_metadata_request"):
        new._metadata_request = copy.deepcopy(estimator._metadata_request)
    return new
