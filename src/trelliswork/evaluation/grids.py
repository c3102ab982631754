"""The settings of a grid: one estimator for each combination of parameter values."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trelliswork.errors import InvalidInput, shown
from trelliswork.training.cloning import cloned

__all__ = ["Grid", "Setting", "settings_of"]

Grid = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


@dataclass(frozen=True, eq=False)
class Setting:
    """An estimator with the parameters of one point of a grid.

    Parameters
    ----------
    params : dict
        Its parameters in the grid; ``"estimator"`` is its name if several were given.
    estimator : object
        Not fitted, and not shared.
    place : dict
        For each parameter the index of its value, and the grid and estimator it belongs to. Settings whose places
        differ in one parameter differ only in this parameter.
    """

    params: dict[str, Any]
    estimator: Any
    place: dict[str, Hashable]


def settings_of(estimator: Any, grid: Grid) -> list[Setting]:
    """Return all settings, the last parameter changing fastest.

    Parameters
    ----------
    estimator : estimator, or mapping of str to estimators
    grid : mapping, list of mappings, or None
        Maps names of parameters, as in `set_params`, to lists of values; anything but a list, tuple, range or array is
        the only value. The combinations of a list of mappings follow each other.

    Examples
    --------
    >>> import trelliswork as tw
    >>> grid = {"learner__C": [0.1, 1.0], "learner__k": 5}
    >>> [setting.params for setting in settings_of(tw.SequenceLabeler("pa"), grid)]
    [{'learner__C': 0.1, 'learner__k': 5}, {'learner__C': 1.0, 'learner__k': 5}]
    """
    several = isinstance(estimator, Mapping)
    estimators: dict[str, Any] = dict(estimator) if several else {"": estimator}
    if not estimators:
        raise InvalidInput("estimator is an empty mapping; expected at least one estimator.")
    grids = _checked_grids(grid)
    settings = []
    for (name, base), (number, values) in itertools.product(estimators.items(), enumerate(grids)):
        _refuse_no_estimator(base, name)
        for places in itertools.product(*(range(len(options)) for options in values.values())):
            params = {
                parameter: options[place] for (parameter, options), place in zip(values.items(), places, strict=True)
            }
            try:
                made = cloned(base).set_params(**{key: _own(value) for key, value in params.items()})
            except (ValueError, TypeError) as error:
                raise InvalidInput(f"grid: {error}") from error
            place: dict[str, Hashable] = {"": (name, number), **dict(zip(values, places, strict=True))}
            settings.append(Setting({"estimator": name, **params} if several else params, made, place))
    return settings


def _own(value: Any) -> Any:
    """A learner of a grid is copied for each setting, which may then change its parameters."""
    return cloned(value) if hasattr(value, "get_params") and not isinstance(value, type) else value


def _checked_grids(grid: Any) -> list[dict[str, list[Any]]]:
    grids = [{}] if grid is None else [grid] if isinstance(grid, Mapping) else grid
    if isinstance(grids, str) or not isinstance(grids, Iterable):
        raise InvalidInput(f"grid is {shown(grid)}; expected a dict from parameters to lists of values.")
    grids = list(grids)
    if not grids:
        raise InvalidInput("grid is empty: expected at least one dict from parameters to lists of values.")
    return [_checked_grid(one) for one in grids]


def _checked_grid(grid: Any) -> dict[str, list[Any]]:
    if not isinstance(grid, Mapping):
        raise InvalidInput(f"grid has {shown(grid)}; expected a dict from parameters to lists of values.")
    values = {str(name): _listed(options) for name, options in grid.items()}
    for name, options in values.items():
        if not options:
            raise InvalidInput(f"grid[{name!r}] is empty: expected at least one value.")
    return values


def _listed(options: Any) -> list[Any]:
    if isinstance(options, np.ndarray):
        return list(options.tolist())
    return list(options) if isinstance(options, list | tuple | range) else [options]


def _refuse_no_estimator(estimator: Any, name: str) -> None:
    if isinstance(estimator, type) or not all(hasattr(estimator, part) for part in ("fit", "predict", "get_params")):
        place = f"estimator[{name!r}]" if name else "estimator"
        raise InvalidInput(f"{place} is {shown(estimator)}; expected an estimator such as tw.SequenceLabeler().")
