"""Plain keyword parameters, as scikit-learn's ``clone`` and grid search expect them, without importing scikit-learn."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from numbers import Integral, Real
from types import FunctionType
from typing import Any, ClassVar, Self

import numpy as np

from trelliswork.errors import InvalidInput
from trelliswork.learners.aliases import unknown_parameter

__all__ = [
    "Only",
    "Parameters",
    "PlainParameters",
    "checked_choice",
    "checked_flag",
    "checked_integer",
    "checked_number",
]


class PlainParameters:
    """A class whose ``__init__`` stores each of its arguments under its own name and does nothing else.

    Values are stored as Python objects: NumPy's numbers, flags and strings, which parameter searches pass, are
    converted. The error for an unknown parameter suggests the name that may be meant.
    """

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        # Some versions of Python would take the signature of a class from `__new__`.
        parameters = list(inspect.signature(cls.__init__).parameters.values())
        cls.__signature__ = inspect.Signature(parameters[1:])  # type: ignore[attr-defined]

    def __new__(cls, *args: Any, **params: Any) -> Self:
        known = cls._defaults()
        for name in params:
            if name not in known:
                raise unknown_parameter(cls.__name__, name, list(known))
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.item() if isinstance(value, np.generic) else value)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        found = inspect.signature(cls.__init__).parameters
        return {name: parameter.default for name, parameter in found.items() if name != "self"}


class Only:
    """A parameter that is used only if others have certain values: those values, and its default.

    Its default in the signature is None, so that a value that is given but unused can be detected.

    Examples
    --------
    >>> Only(5, loss=("k-best", "averaged-sum")).default
    5
    """

    def __init__(self, default: Any, **needs: tuple[Any, ...]) -> None:
        self.default, self.needs = default, needs


class Parameters(PlainParameters):
    """The parameters of a learner, as scikit-learn's ``clone`` and grid search expect them."""

    # Parameters that are looked at only where others have certain values.
    _only: ClassVar[Mapping[str, Only]] = {}

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        if "__init__" not in vars(cls):  # a copy under its own name: errors name the class that was called
            cls.__init__ = _copied(cls.__init__, f"{cls.__qualname__}.__init__")  # type: ignore[method-assign]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` is accepted for compatibility with scikit-learn."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, and return the object itself."""
        known = self._defaults()
        for name in params:
            if name not in known:
                raise unknown_parameter(type(self).__name__, name, list(known))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def check(self) -> None:
        """Raise `InvalidInput` if a parameter is wrong, or is given but would be ignored.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tw.Pegasos(k=5).check()
        Traceback (most recent call last):
        ...
        trelliswork.errors.InvalidInput: Pegasos: k=5 is looked at only with loss='k-best' or loss='averaged-sum', not
        with loss='max-margin': leave k out, or change loss
        """
        self._check()
        for name, other in self._unused().items():
            values = self._only[name].needs[other]
            wanted = " or ".join(f"{other}={value!r}" for value in values)
            raise InvalidInput(
                f"{type(self).__name__}: {name}={getattr(self, name)!r} is looked at only with {wanted}, not with "
                f"{other}={getattr(self, other)!r}: leave {name} out, or change {other}"
            )

    def without_unused(self) -> Self:
        """Return the learner itself without unused parameters, which earlier releases kept."""
        return self.set_params(**dict.fromkeys(self._unused()))

    def _check(self) -> None:
        """Raise `InvalidInput` when a parameter is wrong."""

    def _unused(self) -> dict[str, str]:
        """Which parameters were given and will not be looked at, and the parameter that is the reason for each."""
        return {
            name: other
            for name, only in self._only.items()
            if getattr(self, name) is not None
            for other, values in only.needs.items()
            if getattr(self, other) not in values
        }

    def _value(self, name: str) -> Any:
        """Return a parameter, or what it is if left out."""
        value = getattr(self, name)
        return self._only[name].default if value is None and name in self._only else value

    def __repr__(self) -> str:
        defaults = self._defaults()
        shown = [f"{k}={v!r}" for k, v in self.get_params().items() if not _same(v, defaults[k])]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        theirs = other.get_params()
        return all(_same(value, theirs[name]) for name, value in self.get_params().items())

    __hash__ = None  # type: ignore[assignment]


def _copied(function: Any, name: str) -> Any:
    """The same function by another name."""
    if not isinstance(function, FunctionType):
        return function
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, None, function.__closure__)
    copy.__defaults__, copy.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    copy.__annotations__, copy.__doc__, copy.__qualname__ = function.__annotations__, function.__doc__, name
    return copy


def checked_number(name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """Return ``value`` as a float, or raise: a finite number, at least ``least`` and more than ``above``."""
    wanted = "a finite number"
    if least > -math.inf:
        wanted += f" of at least {least:g}"
    if above > -math.inf:
        wanted += f" above {above:g}"
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < least or value <= above:
        raise InvalidInput(f"{name} must be {wanted}, not {value!r}")
    return float(value)


def checked_integer(name: str, value: Any, *, least: int, most: int = 2**31 - 1) -> int:
    """Return ``value`` as an int, or raise: a whole number from ``least`` to ``most``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        raise InvalidInput(f"{name} must be a whole number from {least} to {most}, not {value!r}")
    return int(value)


def checked_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return ``value``, or raise: one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInput(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    return value


def checked_flag(name: str, value: Any) -> bool:
    """Return ``value``, or raise: True or False."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} must be True or False, not {value!r}")
    return bool(value)


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(a == b)) or (_plain(a) and _plain(b) and bool(a == b))


def _plain(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
