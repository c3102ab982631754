"""Pictures with known labels, made from a seed: noisy discs in two tones, and three textures in colour."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["discs", "textures"]

Arrays = list[npt.NDArray[Any]]


def discs(n: int, rows: int = 48, columns: int = 48, noise: float = 1.5, seed: int = 0) -> tuple[Arrays, Arrays]:
    """Return ``n`` noisy pictures of bright discs on a dark ground, and their labels: 1 inside."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:rows, :columns]
    X, Y = [], []
    for _ in range(n):
        truth = np.zeros((rows, columns), dtype=np.int64)
        for _ in range(3):
            at, radius = rng.uniform(0.0, 1.0, 2), rng.uniform(0.125, 0.25) * max(rows, columns)
            truth |= (y - at[0] * rows) ** 2 + (x - at[1] * columns) ** 2 < radius**2
        X.append(truth + rng.normal(0.0, noise, truth.shape))
        Y.append(truth)
    return X, Y


def textures(n: int, size: int = 64, seed: int = 0) -> tuple[Arrays, Arrays]:
    """Return ``n`` pictures of grass, sand and sea, bytes in three channels, and their labels."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size]
    X, Y = [], []
    for _ in range(n):
        shore = size * (rng.uniform(0.3, 0.7) + 0.1 * np.sin(x / rng.uniform(4, 9)))
        truth = np.where(y > shore, 0, np.where(x < size * rng.uniform(0.3, 0.7), 1, 2))
        grain = np.array([0.25, 0.03, 0.12])[truth] * rng.normal(size=truth.shape)
        tint = np.array([[0.45, 0.55, 0.42], [0.52, 0.5, 0.44], [0.44, 0.5, 0.54]])[truth]
        colours = tint + 0.5 * grain[..., np.newaxis] + rng.normal(0.0, 0.08, (size, size, 3))
        X.append((255.0 * np.clip(colours, 0.0, 1.0)).astype(np.uint8))
        Y.append(np.array(["grass", "sand", "sea"])[truth])
    return X, Y
