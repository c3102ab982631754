"""Handwritten letters (Kassel; Taskar et al. 2003): error per letter of chains of order 1, 2 and 3.

Ten folds of words, as published: the model learns from one fold and is tested on the other nine, or the other way
round. Published for orders 2 and 3: structured prediction cascades (Weiss & Taskar 2010). The same 55 words are in
every fold, so a chain can learn them by heart; these figures say little about words that were never seen.

A letter is seen as its pixels and the pairs of black pixels at most two apart. Histories that are "seen": any other is
taken for the longest one seen that it ends with; "closed": n-grams that no training word has are impossible. Pixels,
learner and C were chosen once, at order 1, on quarters of folds 0 and 5 while their other three quarters were learned
from, the epochs with a look at fold 1 after learning from folds 2 to 9. ``--quick`` takes two folds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import trelliswork as tw
from common.best import started
from common.tasks import data_folder

PUBLISHED = {(2, "1 fold"): 13.02, (2, "9 folds"): 3.22, (3, "1 fold"): 10.82, (3, "9 folds"): 2.16}
FAR = 2  # pixels of a pair, in either direction
C = 0.03
EPOCHS = {"1 fold": 10, "9 folds": 5}
MODELS = {  # order, histories
    "1 fold": ((1, "seen"), (2, "closed"), (3, "closed"), (2, "seen"), (3, "seen")),
    "9 folds": ((1, "seen"), (2, "closed"), (3, "closed"), (2, "seen"), (3, "seen")),
}

Images = npt.NDArray[np.uint8]


class Words(NamedTuple):
    """Images of the letters of words, one after the other, and their letters."""

    images: Images  # (n_letters, 16, 8)
    labels: list[list[str]]

    def inputs(self) -> list[sp.csr_matrix]:
        """Return what is seen of each word."""
        rows = attributes(self.images)
        ends = np.cumsum([len(word) for word in self.labels])
        return [rows[end - len(word) : end] for end, word in zip(ends.tolist(), self.labels, strict=True)]


def main() -> None:
    """Print the error per letter of each order, on average over the folds."""
    report = started(__file__, __doc__ or "")
    words, fold_of = read_words()
    folds = range(2 if report.quick else 10)
    rows = []
    for size in EPOCHS:
        for order, histories in MODELS[size]:
            errors, began = [], time.perf_counter()
            for fold in folds:
                train, test = split(words, fold_of, fold, size)
                errors.append(error(learned(order, train, EPOCHS[size], histories), test))
            shown = " ".join(f"{e:.2f}" for e in errors)
            print(f"{size}, order {order}, {histories}: {shown} % wrong, by fold", flush=True)
            rows.append(
                {
                    "order": order,
                    "learned from": size,
                    "histories": histories if order > 1 else None,
                    "published": PUBLISHED.get((order, size)),
                    "measured": float(np.mean(errors)),
                    "deviation": float(np.std(errors)),
                    "seconds a fold": (time.perf_counter() - began) / len(folds),
                }
            )
    report.table("error per letter in %, mean of the folds", rows)
    for row in rows:
        if row["published"] is not None and not report.quick:
            what = f"order {row['order']}, {row['learned from']}, {row['histories']} histories"
            report.finding(f"{what}: {row['measured']:.2f}% wrong, {row['published']}% published.")
    report.csv(rows)
    report.done()


def read_words() -> tuple[list[Words], npt.NDArray[np.uint8]]:
    """Return all words and the number of the fold of each."""
    data = np.load(data_folder() / "ocr_letters" / "letters.npz")
    images, offsets = data["images"], data["word_offsets"].tolist()
    spelled = [
        Words(images[a:b], [list(word)]) for a, b, word in zip(offsets, offsets[1:], data["words"], strict=False)
    ]
    return spelled, data["word_folds"]


def split(words: list[Words], fold_of: npt.NDArray[Any], fold: int, size: str) -> tuple[Words, Words]:
    """Return what to learn from and what to test on."""
    inside, outside = (joined(words[i] for i in np.flatnonzero((fold_of == fold) == which)) for which in (True, False))
    return (inside, outside) if size == "1 fold" else (outside, inside)


def joined(words: Iterator[Words] | Sequence[Words]) -> Words:
    """Return many words as one collection."""
    words = list(words)
    return Words(np.concatenate([word.images for word in words]), [label for word in words for label in word.labels])


def learned(order: int, train: Words, epochs: int, histories: str) -> Any:
    """Return a model of the words."""
    learner = tw.PassiveAggressive(C=C, epochs=epochs)
    model = tw.SequenceLabeler(learner, order=order, histories=histories, n_jobs=1, random_state=0)
    return model.fit(train.inputs(), train.labels)


def error(model: Any, test: Words) -> float:
    """Return how many of a hundred letters are wrong."""
    found = model.predict(test.inputs())
    wrong = [a != b for gold, guess in zip(test.labels, found, strict=True) for a, b in zip(gold, guess, strict=True)]
    return 100 * float(np.mean(wrong))


def attributes(images: Images) -> sp.csr_matrix:
    """Return a row for each letter: its pixels, pairs of black pixels that are not far apart, and a one."""
    n, height, width = images.shape
    around = np.pad(images, ((0, 0), (FAR, FAR), (FAR, FAR)))
    columns = [np.ones((n, 1), dtype=np.uint8), images.reshape(n, -1)]
    for down in range(FAR + 1):
        for right in range(-FAR, FAR + 1):
            if down > 0 or right > 0:
                other = around[:, FAR + down : FAR + down + height, FAR + right : FAR + right + width]
                columns.append((images & other).reshape(n, -1))
    return sp.csr_matrix(np.hstack(columns).astype(np.float32))


if __name__ == "__main__":
    main()
