"""Pictures with known labels: noisy discs on a dark ground, and three textures side by side."""

import numpy as np


def discs(n, size=32, noise=0.8, seed=0):
    """Return ``n`` noisy pictures of bright discs, and their labels: 1 inside."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size]
    X, Y = [], []
    for _ in range(n):
        truth = np.zeros((size, size), dtype=np.int64)
        for _ in range(3):
            y, x = rng.uniform(0, size, 2)
            truth |= (rows - y) ** 2 + (columns - x) ** 2 < rng.uniform(size / 8, size / 4) ** 2
        X.append(truth + rng.normal(0.0, noise, truth.shape))
        Y.append(truth)
    return X, Y


def textures(n, size=32, seed=0):
    """Return ``n`` pictures in colour whose three regions differ in texture, and their labels, strings."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size]
    names = np.array(["grass", "sand", "sea"])
    X, Y = [], []
    for _ in range(n):
        slope, height = rng.uniform(-0.5, 0.5), rng.uniform(0.3, 0.7) * size
        truth = np.where(rows > height + slope * (columns - size / 2), 0, np.where(columns < size * 0.5, 1, 2))
        grey = 0.5 + np.array([0.25, 0.02, 0.1])[truth] * rng.normal(size=truth.shape)
        tint = np.array([[0.4, 0.6, 0.4], [0.55, 0.5, 0.4], [0.4, 0.5, 0.6]])[truth]
        image = np.clip(0.5 * grey[..., None] + 0.5 * tint + 0.05 * rng.normal(size=(*truth.shape, 3)), 0.0, 1.0)
        X.append((255 * image).astype(np.uint8))
        Y.append(names[truth])
    return X, Y
