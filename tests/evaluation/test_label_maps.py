"""Scores of labelled pictures, against the obvious way to count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.errors import InvalidInput
from trelliswork.evaluation import map_scores


@given(st.integers(0, 2**32), st.integers(0, 3), st.integers(1, 4))
def test_counts(seed, n_maps, n_labels):
    rng = np.random.default_rng(seed)
    sizes = [tuple(rng.integers(0, 4, 2)) for _ in range(n_maps)]
    gold = [rng.integers(-1, n_labels, size) for size in sizes]
    found = [rng.integers(0, n_labels, size) for size in sizes]
    cells = [(a, b) for x, y in zip(gold, found, strict=True) for a, b in zip(x.flat, y.flat, strict=True) if a != -1]
    scores = map_scores(gold, found, ignore=-1)
    assert scores.n_cells == len(cells)
    assert scores.accuracy == pytest.approx(sum(a == b for a, b in cells) / max(len(cells), 1))
    for label in {label for cell in cells for label in cell}:
        both, either = (sum(test(label in own for own in ([a], [b])) for a, b in cells) for test in (all, any))
        assert scores.iou[label] == pytest.approx(both / either)
    assert scores.mean_iou == pytest.approx(np.mean(list(scores.iou.values())) if cells else 0.0)


def test_masks_names_and_text():
    gold = np.ma.MaskedArray([["sea", "sky", "sky"]], [[False, False, True]])
    scores = map_scores([gold], [[["sea", "sea", "sea"]]])
    assert scores.as_dict() == {"cells": 2, "accuracy": 0.5, "mean_iou": 0.25, "iou": {"sea": 0.5, "sky": 0.0}}
    assert "accuracy 0.5000; mean IoU 0.2500" in str(scores)


def test_bad_maps():
    with pytest.raises(InvalidInput, match="gold has 1 maps but predicted has 0"):
        map_scores([[[0]]], [])
    with pytest.raises(InvalidInput, match=r"gold\[0\] has shape \(1, 1\) but predicted\[0\] has \(1, 2\)"):
        map_scores([[[0]]], [[[0, 1]]])
