"""The groups of weights of each class: its own, those of its ancestors, or those of an expansion."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trelliswork.errors import InvalidInput, shown
from trelliswork.learners.training import FloatArray
from trelliswork.structures import checks

__all__ = ["groups_of"]


def groups_of(classes: list[Any], hierarchy: Any, expansion: Any) -> tuple[list[Hashable], FloatArray]:
    """Return the groups and the share of each class in each of them (K, G).

    Examples
    --------
    >>> groups, shares = groups_of(["a", "b"], {"a": ["top"], "b": ["top"]}, None)
    >>> groups
    ['a', 'b', 'top']
    >>> shares.tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    if hierarchy is not None and expansion is not None:
        raise InvalidInput("hierarchy and expansion both say which classes share weights: pass one of them.")
    if hierarchy is not None:
        return _of_named(_path_groups(classes, hierarchy), classes)
    if callable(expansion):
        return _of_named([_named(expansion(label), f"expansion({label!r})") for label in classes], [])
    if expansion is not None:
        return _of_matrix(expansion, len(classes))
    return list(classes), np.eye(len(classes))


def _path_groups(classes: list[Any], hierarchy: Any) -> list[dict[Hashable, float]]:
    """Return, for each class, a group for every node on its way to the root."""
    if not isinstance(hierarchy, Mapping):
        raise InvalidInput(
            f"hierarchy is {shown(hierarchy)}; expected a dict from classes to lists of their ancestors."
        )
    if hierarchy and not any(label in hierarchy for label in classes):
        raise InvalidInput(f"hierarchy names none of the classes of y; they are {shown(classes)}.")
    return [{label: 1.0} | _named(hierarchy.get(label, ()), f"hierarchy[{label!r}]") for label in classes]


def _named(groups: Any, place: str) -> dict[Hashable, float]:
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise InvalidInput(f"{place} is {shown(groups)}; expected a list of groups.")
    shares = groups if isinstance(groups, Mapping) else dict.fromkeys(groups, 1.0)
    for group, share in shares.items():
        if not isinstance(share, (int, float, np.number)) or not np.isfinite(share):
            raise InvalidInput(f"{place} has the share {share!r} in {group!r}; expected a finite number.")
    return {group: float(share) for group, share in shares.items()}


def _of_named(of_classes: Sequence[dict[Hashable, float]], first: list[Any]) -> tuple[list[Hashable], FloatArray]:
    groups = list(dict.fromkeys([*first, *(group for named in of_classes for group in named)]))
    if not groups:
        raise InvalidInput("expansion gives no class any group: there would be no weights.")
    places = {group: place for place, group in enumerate(groups)}
    shares = np.zeros((len(of_classes), len(groups)))
    for k, named in enumerate(of_classes):
        for group, share in named.items():
            shares[k, places[group]] = share
    return groups, shares


def _of_matrix(expansion: Any, n_labels: int) -> tuple[list[Hashable], FloatArray]:
    shares = checks.as_numbers("expansion", expansion)
    if shares.ndim != 2 or shares.shape[0] != n_labels or not shares.shape[1]:
        raise InvalidInput(
            f"expansion has the shape {shares.shape}; expected a row for each of the {n_labels} classes, and a column "
            "for each group."
        )
    if not np.isfinite(shares).all():
        raise InvalidInput("expansion must hold finite numbers.")
    return list(range(shares.shape[1])), shares
