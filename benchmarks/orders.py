"""What longer histories cost and bring: an epoch at orders 1, 2 and 3 on CoNLL-2000, 22 labels.

    python benchmarks/orders.py

One thread; seconds are the median of the epochs of passive-aggressive, and of the passes of a CRF. "seen" histories are
those of the training data, and every labelling stays possible; "closed" ones make all others impossible; "all" are
visited whether they occur or not, but for those that the scheme BIO forbids where it is a constraint. F1 is that of the
spans of the test text.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

import trelliswork as tw
from chunking import corpus_or_skip
from timing import print_load, print_table

SETTINGS: list[dict[str, Any]] = [
    {"order": 1},
    {"order": 1, "constraints": "BIO"},
    {"order": 2, "histories": "closed"},
    {"order": 2, "histories": "seen"},
    {"order": 2, "histories": "all", "constraints": "BIO"},
    {"order": 2, "histories": "all"},
    {"order": 3, "histories": "closed"},
    {"order": 3, "histories": "seen"},
]
EPOCHS = 8
PASSES = 6


def main() -> int:
    """Print the table."""
    folder = corpus_or_skip("orders.py")
    if folder is None:
        return 0
    warnings.simplefilter("ignore", tw.ConvergenceWarning)
    print_load()
    train, test = (list(tw.corpora.read_columns(folder / f"{name}.txt.gz")) for name in ("train", "test"))
    X, y = [sentence.tokens for sentence in train], [sentence.labels for sentence in train]
    X_test, y_test = [sentence.tokens for sentence in test], [sentence.labels for sentence in test]
    rows = []
    for options in SETTINGS:
        model = tw.SequenceLabeler(
            tw.PassiveAggressive(C=0.03, epochs=EPOCHS), "chunking", n_jobs=1, random_state=0, **options
        ).fit(X, y)
        crf = tw.SequenceLabeler(tw.CRF(max_iter=PASSES), "chunking", n_jobs=1, **options).fit(X, y)
        began = time.perf_counter()
        found = model.predict(X_test)
        tagging = time.perf_counter() - began
        f1 = 100 * tw.evaluation.span_scores(y_test, found).f1
        rows.append([options["order"], options.get("histories", "-"), options.get("constraints", "-"),
                     seconds(model, "iteration"), seconds(crf, "passes"), tagging, f1])  # fmt: skip
        print(rows[-1], file=sys.stderr, flush=True)
    epoch, one_pass = rows[0][3], rows[0][4]
    head = ["order", "histories", "constraints", "PA epoch s", "ratio", "CRF pass s", "ratio", "tagging s", "F1"]
    shown = [[*row[:4], row[3] / epoch, row[4], row[4] / one_pass, row[5], f"{row[6]:.2f}"] for row in rows]
    print_table(f"{len(X)} sentences, {len(set().union(*y))} labels", head, shown)
    return 0


def seconds(model: Any, unit: str) -> float:
    """Return the median of the seconds between two records of the history, for each epoch or pass."""
    times = [0.0, *(record["seconds"] for record in model.history_)]
    units = [0.0, *(float(record[unit]) for record in model.history_)]
    return float(np.median(np.diff(times) / np.diff(units)))


if __name__ == "__main__":
    sys.exit(main())
