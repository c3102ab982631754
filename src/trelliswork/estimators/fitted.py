"""Whether an estimator has learned yet, asked without scikit-learn; its own error is raised, though."""

from __future__ import annotations

from typing import Any

__all__ = ["check_is_fitted"]


def check_is_fitted(estimator: Any, attribute: str) -> None:
    """Raise scikit-learn's ``NotFittedError`` unless the estimator has the attribute."""
    if not hasattr(estimator, attribute):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' before using this estimator."
        )
