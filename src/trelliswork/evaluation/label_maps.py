"""Scores of labelled images: accuracy of cells, and the overlap of each label's cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trelliswork.errors import InvalidInput
from trelliswork.evaluation.text import aligned

__all__ = ["MapScores", "map_scores"]


@dataclass(frozen=True)
class MapScores:
    """Counts of correct cells of images, by label.

    Parameters
    ----------
    n_cells, right : int
        Number of cells with a known label, and number of correct ones.
    overlaps : dict
        By label, the number of cells that have it in both maps, and in at least one.

    Examples
    --------
    >>> scores = MapScores(n_cells=4, right=3, overlaps={0: (2, 3), 1: (1, 2)})
    >>> scores.accuracy, round(scores.iou[0], 3), round(scores.mean_iou, 3)
    (0.75, 0.667, 0.583)
    """

    n_cells: int
    right: int
    overlaps: dict[Any, tuple[int, int]]

    @property
    def accuracy(self) -> float:
        """The fraction of cells that are correct."""
        return self.right / max(self.n_cells, 1)

    @property
    def iou(self) -> dict[Any, float]:
        """Intersection over union of each label: cells with the label in both maps, over those in at least one."""
        return {label: both / either for label, (both, either) in self.overlaps.items()}

    @property
    def mean_iou(self) -> float:
        """The mean over all labels in the maps; 0 if there are none."""
        return float(np.mean(list(self.iou.values()))) if self.overlaps else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the scores for JSON."""
        return {
            "cells": self.n_cells,
            "accuracy": self.accuracy,
            "mean_iou": self.mean_iou,
            "iou": {str(label): value for label, value in self.iou.items()},
        }

    def __str__(self) -> str:
        rows = [["label", "both", "either", "IoU"]]
        rows += [[str(label), str(a), str(b), f"{a / b:.4f}"] for label, (a, b) in self.overlaps.items()]
        told = f"{self.n_cells} cells; accuracy {self.accuracy:.4f}; mean IoU {self.mean_iou:.4f}"
        return "\n".join([told, *aligned(rows)])


def map_scores(gold: Iterable[Any], predicted: Iterable[Any], ignore: Any = None) -> MapScores:
    """Return the scores of predicted label maps against gold ones.

    Parameters
    ----------
    gold, predicted : iterables of arrays
        One label for each cell; the two maps of an image have the same shape.
    ignore : label, optional
        The value in ``gold`` of cells that do not count; masked cells do not count, either.

    Examples
    --------
    >>> found = map_scores([[[0, 0], [1, 255]]], [[[0, 1], [1, 1]]], ignore=255)
    >>> found.n_cells, found.right, found.overlaps
    (3, 2, {0: (1, 2), 1: (1, 2)})
    """
    gold, predicted = list(gold), list(predicted)
    if len(gold) != len(predicted):
        raise InvalidInput(f"gold has {len(gold)} maps but predicted has {len(predicted)}.")
    n_cells = right = 0
    counts: dict[Any, list[int]] = {}  # gold, predicted, both
    for i, (own, other) in enumerate(zip(gold, predicted, strict=True)):
        known, found = np.asarray(own), np.asarray(other)
        if known.shape != found.shape:
            raise InvalidInput(f"gold[{i}] has shape {known.shape} but predicted[{i}] has {found.shape}.")
        counted = ~np.ma.getmaskarray(own) if isinstance(own, np.ma.MaskedArray) else np.ones(known.shape, np.bool_)
        if ignore is not None:
            counted &= known != ignore
        known, found = known[counted], found[counted]
        n_cells, right = n_cells + known.size, right + int((known == found).sum())
        for place, values in enumerate((known, found, known[known == found])):
            for label, n in zip(*np.unique(values, return_counts=True), strict=True):
                counts.setdefault(label.item(), [0, 0, 0])[place] += int(n)
    overlaps = {label: (counts[label][2], sum(counts[label][:2]) - counts[label][2]) for label in sorted(counts)}
    return MapScores(n_cells, right, overlaps)
