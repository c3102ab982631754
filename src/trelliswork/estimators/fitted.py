"""The state of an estimator: whether it is fitted, and consistent changes while other threads use it.

One thread may use an estimator to predict while another trains it again. So training works on a copy of the estimator,
and replaces all attributes in one step. Each prediction uses the attributes of one moment.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

__all__ = ["atomic", "check_is_fitted", "copied", "snapshot"]

P = ParamSpec("P")
E = TypeVar("E")
R = TypeVar("R")


def check_is_fitted(estimator: Any, attribute: str) -> None:
    """Raise scikit-learn's ``NotFittedError`` unless the estimator has the attribute."""
    if not hasattr(estimator, attribute):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' before using this estimator."
        )


def atomic(method: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """Let a method that returns the estimator set all attributes when it has ended, or none if it fails."""

    @functools.wraps(method)
    def changed(self: E, /, *arguments: P.args, **named: P.kwargs) -> R:
        copy = copied(self)
        before = dict(vars(copy))
        method(copy, *arguments, **named)
        after = vars(copy)
        now = {name: value for name, value in vars(self).items() if name not in before or name in after}
        now |= {name: value for name, value in after.items() if name not in before or before[name] is not value}
        self.__dict__ = now  # one step
        return cast(R, self)

    return changed


def snapshot(method: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """Let a method see all attributes as they are when it is called, whatever another thread sets meanwhile."""

    @functools.wraps(method)
    def answer(self: E, /, *arguments: P.args, **named: P.kwargs) -> R:
        return method(copied(self), *arguments, **named)

    return answer


def copied(estimator: E) -> E:
    """Return an estimator with the attributes that this one has at the moment."""
    copy: E = object.__new__(type(estimator))
    copy.__dict__ = estimator.__dict__.copy()  # in one step: another thread may be assigning
    return copy
