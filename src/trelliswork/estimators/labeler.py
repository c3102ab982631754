"""The sequence labeler as scikit-learn knows it: parameters to clone and to search over, tags.

Everything else is in `sequence_labeler`, which needs no scikit-learn; the command line uses that, because importing
scikit-learn takes 0.8 s and 84 MiB.
"""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from trelliswork import learners
from trelliswork.estimators import sequence_labeler

__all__ = ["SequenceLabeler"]


class SequenceLabeler(sequence_labeler.SequenceLabeler, BaseEstimator):  # type: ignore[misc]
    __doc__ = sequence_labeler.SequenceLabeler.__doc__

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``learner__l2=0.5`` also where the learner is given by its name."""
        learner = params.get("learner", self.learner)
        if isinstance(learner, str) and any(name.startswith("learner__") for name in params):
            params["learner"] = learners.by_name(learner)
        estimator: Self = super().set_params(**params)
        return estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
