"""The drop-in for sklearn-crfsuite: `CRF`, as scikit-learn knows estimators, over the drop-in for python-crfsuite."""

from trelliswork.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF"]
