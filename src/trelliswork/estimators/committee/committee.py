"""The committee as scikit-learn knows it: parameters to clone and to search over. The rest is in `two_models`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator, clone

from trelliswork.estimators.committee import two_models

__all__ = ["Committee"]


class Committee(two_models.Committee, BaseEstimator):  # type: ignore[misc]
    __doc__ = two_models.Committee.__doc__

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], settings: Mapping[str, Any], restore: Callable[..., Any]) -> Self:
        """Return the committee of a file that may say anything; ``restore`` makes members of what is theirs."""
        committee = super().restored(tensors, settings, restore)
        committee.first, committee.second = clone(committee.first_), clone(committee.second_)
        if committee._base is not None and committee._base.templates is not None:
            committee.second.features = committee._base.templates  # without those that look at the first model
        return committee

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
