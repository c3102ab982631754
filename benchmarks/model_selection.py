"""A grid over C and epochs, cross-validated: this library's `cross_validate` against scikit-learn's `GridSearchCV`.

Both train the same taggers on the same folds of the first sentences of CoNLL-2000 and must come to the same scores.
Seconds are also told by the clock of the processor, which stands while other programs use it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

import chunking
import trelliswork as tw
from timing import print_load, print_table

GRID = {"learner__C": [0.1, 1.0], "learner__epochs": [5, 10, 15, 20]}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--folds", type=int, default=3)
    options = parser.parse_args()
    corpus = chunking.corpus_or_skip("model selection")
    if corpus is None:
        return
    print_load()
    tokens, labels = tw.corpora.read_table(corpus / "train.txt.gz")
    assert labels is not None
    X, y = tokens[: options.sentences], labels[: options.sentences]
    tagger = tw.SequenceLabeler("pa", "thesis", n_jobs=1)
    ours, *our_seconds = timed(
        lambda: tw.evaluation.cross_validate(tagger, X, y, folds=options.folds, grid=GRID, n_jobs=1)
    )
    pairs = [(split.train, split.test) for split in ours.splits]
    theirs, *their_seconds = timed(lambda: GridSearchCV(tagger, GRID, cv=pairs, refit=False, n_jobs=1).fit(X, y))
    apart = np.abs(theirs.cv_results_["mean_test_score"] - [candidate.mean for candidate in ours.candidates]).max()
    rows = [("cross_validate", *our_seconds), ("GridSearchCV", *their_seconds)]
    rows.append(("ratio", *(b / a for a, b in zip(our_seconds, their_seconds, strict=True))))
    title = f"{len(ours.candidates)} settings, {options.folds} folds, {len(X):,} sentences, one run at a time"
    print_table(title, ["", "seconds", "processor seconds"], rows)
    print(f"largest difference of a mean F1: {apart:.2g}")


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what comes of it, seconds, and seconds of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = work()
    return made, time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    main()
