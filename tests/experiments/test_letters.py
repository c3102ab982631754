"""What the experiment with letters is made of: what is seen of an image, words and their folds."""

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments"


@pytest.fixture
def letters(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import letters

    yield letters
    for name in [name for name in sys.modules if name in ("common", "letters") or name.startswith("common.")]:
        del sys.modules[name]


def random_images(n=5, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n, 16, 8), dtype=np.uint8)


def test_every_pair_of_black_pixels_that_is_near_is_one_attribute(letters):
    (image,) = random_images(1)
    black = np.argwhere(image)
    near = [
        (a, b) for i, a in enumerate(black) for b in black[i + 1 :] if np.abs(a - b).max() <= 2
    ]  # each pair once: argwhere goes row by row
    row = letters.attributes(image[np.newaxis])
    assert row.sum() == 1 + len(black) + len(near)
    assert set(row.data.tolist()) == {1.0}


def test_folds_change_places_between_learning_and_testing(letters):
    words = [letters.Words(random_images(2, seed), [["a", chr(98 + seed)]]) for seed in range(4)]
    fold_of = np.array([0, 1, 0, 2])
    inside, outside = letters.split(words, fold_of, 0, "1 fold")
    assert inside.labels == [["a", "b"], ["a", "d"]]
    assert outside.labels == [["a", "c"], ["a", "e"]]
    assert [part.labels for part in letters.split(words, fold_of, 0, "9 folds")] == [outside.labels, inside.labels]


def test_words_become_one_matrix_each(letters):
    words = letters.Words(random_images(5), [["a", "b"], ["c"], ["d", "e"]])
    inputs = words.inputs()
    assert [x.shape[0] for x in inputs] == [2, 1, 2]
    np.testing.assert_array_equal(inputs[1].toarray(), letters.attributes(words.images[2:3]).toarray())
