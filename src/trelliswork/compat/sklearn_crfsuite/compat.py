"""What an estimator inherits from: scikit-learn's base class, or nothing where that is not installed."""

try:
    from sklearn.base import BaseEstimator
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """Nothing."""


__all__ = ["BaseEstimator"]
