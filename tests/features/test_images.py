"""What is seen of pictures, against the same numbers one cell at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.grids import STEPS, edges
from trelliswork.features.images import ImageFeatures, as_images


def made(X, kind="colour", position=False, contrast=True, volume=False):
    return ImageFeatures.of(as_images(X, volume), kind, position, contrast, volume)


def window(image, place, size):
    """The cells around a place; beyond the border, those at the border again."""
    reach = range(-(size // 2), size // 2 + 1)
    rows, columns = image.shape[:2]
    return np.array(
        [
            image[min(max(place[0] + i, 0), rows - 1), min(max(place[1] + j, 0), columns - 1)]
            for i in reach
            for j in reach
        ]
    )


@given(st.integers(0, 2**32), st.sampled_from([(1, 1), (1, 5), (4, 3)]), st.sampled_from([1, 3]))
def test_the_ready_set_one_cell_at_a_time(seed, size, n_channels):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (*size, n_channels), dtype=np.uint8)
    features, rows = made([image], position=True)
    assert rows.dtype == np.float32
    assert rows.shape == (size[0] * size[1], len(features.names))
    given = image / 255.0
    own = dict(zip(features.names, (rows * features.spread + features.mean).T, strict=True))
    for i, place in enumerate(np.ndindex(*size)):
        brightness = given[place].mean()
        for c in range(n_channels):
            assert own[f"colour[{c}]"][i] == pytest.approx(given[place][c], abs=1e-5)
            assert own[f"colour[{c}]^2"][i] == pytest.approx(given[place][c] ** 2, abs=1e-5)
            assert own[f"mean9[{c}]"][i] == pytest.approx(window(given, place, 9)[:, c].mean(), abs=1e-5)
        assert own["deviation3"][i] == pytest.approx(window(given.mean(axis=2), place, 3).std(), abs=1e-3)
        bins = [own[f"brightness in {b}/8"][i] for b in range(1, 9)]
        assert sum(bins) == pytest.approx(1.0, abs=1e-5)
        if not np.isclose(features.bins, brightness, atol=1e-6).any():  # at the border of two, rounding decides
            assert np.argmax(bins) == (features.bins < brightness).sum()
        assert -1.0 - 1e-6 <= own["row"][i] <= 1.0 + 1e-6


@given(st.integers(0, 2**32), st.sampled_from([4, 8, 6, 26]), st.sampled_from(["colour", "maps"]))
def test_contrasts_one_pair_at_a_time(seed, neighbours, kind):
    rng = np.random.default_rng(seed)
    volume = neighbours in (6, 26)
    size = (2, 3, 2) if volume else (3, 4)
    X = [rng.normal(size=(*size, 3)) for _ in range(2)]
    features, rows = made(X, kind, volume=volume)
    image = X[1]
    guide = image if kind == "colour" else rows[len(rows) // 2 :].reshape(*size, -1).astype(np.float64)
    for step in STEPS[neighbours]:
        expected = [np.exp(-((guide[a] - guide[b]) ** 2).sum() / features.contrast) for a, b in edges(size, step)]
        found = features.contrasts(image, rows[len(rows) // 2 :], step)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    straight = STEPS[6 if volume else 4]
    guides = X if kind == "colour" else [part.reshape(*size, -1) for part in np.split(rows, 2)]
    squares = [((own[a] - own[b]) ** 2).sum() for own in guides for step in straight for a, b in edges(size, step)]
    assert features.contrast == pytest.approx(2.0 * np.mean(squares), rel=1e-4)


def test_numbers_are_standardised_on_the_training_pictures():
    rng = np.random.default_rng(0)
    X = [rng.normal(3.0, 2.0, size=(9, 8, 5)) for _ in range(3)]
    X[0][..., 4] = X[1][..., 4] = X[2][..., 4] = 7.0  # says nothing
    features, rows = made(X, "maps")
    np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(rows[:, :4].std(axis=0), 1.0, atol=1e-5)
    assert (rows[:, 4] == 0.0).all()
    np.testing.assert_allclose(features.cells(X[1]), rows[72:144], atol=1e-6)
    again = ImageFeatures.from_file(features.as_settings(), features.as_tensors())
    np.testing.assert_array_equal(again.cells(X[1]), features.cells(X[1]))


def test_flat_pictures_have_no_contrast_to_speak_of():
    features, rows = made([np.ones((3, 3))])
    assert features.contrast == 0.0
    assert (features.contrasts(np.ones((3, 3, 1)), rows, (0, 1)) == 1.0).all()
    assert made([np.ones((3, 3))], contrast=False)[0].contrast is None
    assert made([np.ones((3, 3))], contrast=0.5)[0].contrast == 0.5
