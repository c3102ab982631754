"""Maps of labels, one label for each cell of a picture, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown

__all__ = ["UNKNOWN", "classes_of_maps", "coded_map", "label_map", "label_maps", "typed_classes"]

UNKNOWN = -1  # the code of a cell whose label is not known
_KINDS = {"i": "int", "u": "int", "b": "bool", "U": "str"}

Codes = npt.NDArray[np.int32]


def label_maps(Y: Any, shapes: Sequence[tuple[int, ...]], name: str = "y") -> list[npt.NDArray[Any]]:
    """Return maps as arrays, each as large as its picture.

    Examples
    --------
    >>> label_maps([[[0, 1]]], [(1, 2)])[0].tolist()
    [[0, 1]]
    """
    if isinstance(Y, (str, bytes)) or not hasattr(Y, "__iter__"):
        raise InvalidInput(f"{name} is {shown(Y)}; expected a list of maps of labels, one for each picture.")
    maps = list(Y)
    if len(maps) != len(shapes):
        raise InvalidInput(f"X has {len(shapes)} pictures but {name} has {len(maps)} maps. Every one needs its own.")
    return [label_map(given, shape, f"{name}[{i}]") for i, (given, shape) in enumerate(zip(maps, shapes, strict=True))]


def classes_of_maps(maps: Sequence[npt.NDArray[Any]], ignore: Any = None) -> tuple[list[Any], str]:
    """Return the labels that are known somewhere, sorted, and of which kind they are: int, bool or str.

    Examples
    --------
    >>> classes_of_maps([np.array([[0, 3], [255, 3]])], ignore=255)
    ([0, 3], 'int')
    """
    kinds = {_KINDS[own.dtype.kind] for own in maps if own.size}
    if len(kinds) > 1:
        raise InvalidInput(f"y has maps of {' and '.join(sorted(kinds))}; expected labels of one kind.")
    if ignore is not None and kinds and isinstance(ignore, str) is not (kinds == {"str"}):
        raise InvalidInput(f"ignore is {shown(ignore)}, but the labels of y are of type {kinds.pop()}.")
    found: set[Any] = set()
    for own in maps:
        known = own.compressed() if isinstance(own, np.ma.MaskedArray) else own
        found.update(np.unique(known).tolist())
    if ignore is not None:
        found.discard(ignore)
    if not found:
        raise InvalidInput("y has no cell with a known label to learn from.")
    return sorted(found), kinds.pop()


def coded_map(labels: npt.NDArray[Any], classes: Sequence[Any], ignore: Any, name: str, strict: bool) -> Codes:
    """Return the number of the class of each cell, -1 where it is not known.

    Parameters
    ----------
    labels : array
    classes : sorted sequence
    ignore : label or None
    name : str
    strict : bool
        Whether to refuse labels that are no classes; else they are another number that no class has.
    """
    known = np.asarray(classes)
    values = np.asarray(labels)
    if values.size and _KINDS[values.dtype.kind] != _KINDS[known.dtype.kind]:
        raise InvalidInput(f"{name} has labels of type {values.dtype}; expected {', '.join(map(repr, classes[:8]))}.")
    at = np.minimum(np.searchsorted(known, values), len(known) - 1).astype(np.int32)
    unknown = np.ma.getmaskarray(labels) | (values == ignore if ignore is not None else False)
    wrong = (known[at] != values) & ~unknown
    if strict and wrong.any():
        raise InvalidInput(f"{name} has the label {values[wrong][0].item()!r}, which is not among the classes.")
    at[wrong] = len(classes)
    at[unknown] = UNKNOWN
    return at


def typed_classes(labels: Sequence[str], kind: str) -> npt.NDArray[Any]:
    """Return classes as users have them, from the texts that a file has.

    Examples
    --------
    >>> typed_classes(["0", "7"], "int")
    array([0, 7])
    """
    if kind == "int":
        return np.array([int(label) for label in labels])
    if kind == "bool":
        return np.array([label == "True" for label in labels])
    if kind != "str":
        raise ValueError(f"there are no labels of the kind {kind!r}")
    return np.array(labels)


def label_map(given: Any, shape: tuple[int, ...], name: str) -> npt.NDArray[Any]:
    """Return one map as an array with the shape of its picture."""
    try:
        found = given if isinstance(given, np.ma.MaskedArray) else np.asarray(given)
    except ValueError:
        raise InvalidInput(f"{name} has rows of different lengths; expected a label for each cell.") from None
    if found.dtype == object and all(isinstance(label, str) for label in found.ravel().tolist()):
        found = found.astype(str)
    if found.size == 0 and found.dtype.kind not in _KINDS:
        found = found.astype(np.int64)
    if found.dtype.kind not in _KINDS:
        raise InvalidInput(
            f"{name} has labels of type {found.dtype}; expected whole numbers or strings. Say which label stands for "
            "cells that are not known with ignore."
        )
    if found.shape != shape:
        raise InvalidInput(f"{name} has shape {found.shape} but its picture has {shape} cells.")
    return found
