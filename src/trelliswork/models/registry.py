"""The kinds of models: which class a model file asks for.

A file names its kind. A class that writes files of a kind registers it here by the place where it is defined; it is
imported when a file asks for it. It has two methods, ``exported`` and ``restored``, as `Saved` describes them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol, Self

from trelliswork.errors import InvalidInput, InvalidModel

__all__ = ["Restore", "Saved", "kinds", "refuse_argument", "refuse_arguments", "register", "restored"]

Restore = Callable[[Mapping[str, Any], Mapping[str, Any]], Any]

_HOMES: dict[str, str] = {}


class Saved(Protocol):
    """A model that a file can hold."""

    def exported(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors and the settings of the file; ``settings["kind"]`` is the kind."""
        ...

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], settings: Mapping[str, Any], restore: Restore, **given: Any) -> Self:
        """Return the model of a file that may say anything; ``restore`` makes members of what is theirs."""
        ...


def register(kind: str, home: str) -> None:
    """Say which class writes and reads files of a kind.

    Parameters
    ----------
    kind : str
        What ``settings["kind"]`` says.
    home : str
        The class, as ``"package.module:Class"``.

    Examples
    --------
    >>> register("sequence-labeler", "trelliswork.estimators.sequence_labeler:SequenceLabeler")
    >>> "sequence-labeler" in kinds()
    True
    """
    _HOMES[kind] = home


def kinds() -> list[str]:
    """Return the kinds that are registered, sorted."""
    return sorted(_HOMES)


def restored(tensors: Mapping[str, Any], settings: Mapping[str, Any], name: str, **given: Any) -> Any:
    """Return the model of what `models.loads` returned, checked.

    Parameters
    ----------
    tensors, settings
    name : str
        What messages call the file.
    **given
        What the file cannot hold and its kind asks for: the ``structure`` of a `StructuredPredictor`.
    """
    given = {argument: value for argument, value in given.items() if value is not None}

    def restore(tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
        return _class_of(settings.get("kind"), name).restored(tensors, settings, restore, **given)

    try:
        return restore(tensors, settings)
    except InvalidModel:
        raise
    except _WrongArgument as error:
        raise InvalidInput(f"{name}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise InvalidModel(f"{name}: this is no sound model: {said[:200].rstrip('.')}. Save it again.") from error


class _WrongArgument(Exception):
    """Something besides the file is missing, wrong or too much."""


def refuse_argument(message: str) -> NoReturn:
    """Let `restored` raise `InvalidInput` with this message: the file is sound, an argument is not."""
    raise _WrongArgument(message)


def refuse_arguments(given: Mapping[str, Any], kind: str) -> None:
    """Refuse whatever was given besides the file to a kind that asks for nothing."""
    for argument in given:
        refuse_argument(f"{argument} goes with other kinds of models; the file has one of the kind {kind!r}.")


def _class_of(kind: Any, name: str) -> type[Saved]:
    if not isinstance(kind, str) or kind not in _HOMES:
        raise InvalidModel(
            f"{name}: the file has a model of the kind {kind!r}, which is not known; known are {', '.join(kinds())}. A "
            "later release may know it, or the package that wrote it, if you import that first."
        )
    module, _, attribute = _HOMES[kind].partition(":")
    found: type[Saved] = getattr(importlib.import_module(module), attribute)
    return found
