"""What longer histories cost and bring: an epoch at orders 1, 2 and 3 on CoNLL-2000, 22 labels.

    python benchmarks/orders.py            # all 8936 sentences
    python benchmarks/orders.py 2000       # so many

One thread, seconds of processor time: the median of the epochs of passive-aggressive, and of the passes of a CRF.
"seen" histories are those of the training data, and every labelling stays possible; "closed" ones make all others
impossible; "all" are visited whether they occur or not, but for those that the scheme BIO forbids where it is a
constraint. F1 is that of the spans of the test text.
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
EPOCHS = 5
PASSES = 5


def main(arguments: list[str]) -> int:
    """Print the table."""
    folder = corpus_or_skip("orders.py")
    if folder is None:
        return 0
    warnings.simplefilter("ignore", tw.ConvergenceWarning)
    print_load()
    train, test = (list(tw.corpora.read_columns(folder / f"{name}.txt.gz")) for name in ("train", "test"))
    train = train[: int(arguments[0])] if arguments else train
    X, y = [sentence.tokens for sentence in train], [sentence.labels or [] for sentence in train]
    X_test, y_test = [sentence.tokens for sentence in test], [sentence.labels or [] for sentence in test]
    rows = []
    for options in SETTINGS:
        model, epoch_seconds = timed(tw.PassiveAggressive(C=0.03, epochs=EPOCHS), X, y, options)
        _, pass_seconds = timed(tw.CRF(max_iter=PASSES), X, y, options)
        began = time.process_time()
        found = model.predict(X_test)
        tagging = time.process_time() - began
        f1 = 100 * tw.evaluation.span_scores(y_test, found).f1
        rows.append(
            [
                *(options.get(name, "-") for name in ("order", "histories", "constraints")),
                epoch_seconds,
                pass_seconds,
                tagging,
                f1,
            ]
        )
        print(rows[-1], file=sys.stderr, flush=True)
    epoch, one_pass = rows[0][3], rows[0][4]
    head = ["order", "histories", "constraints", "PA epoch s", "ratio", "CRF pass s", "ratio", "tagging s", "F1"]
    shown = [[*row[:4], row[3] / epoch, row[4], row[4] / one_pass, row[5], f"{row[6]:.2f}"] for row in rows]
    print_table(f"{len(X)} sentences, {len(set().union(*y))} labels", head, shown)
    return 0


def timed(learner: Any, X: Any, y: Any, options: dict[str, Any]) -> tuple[Any, float]:
    """Return a model and the median of the seconds of its epochs, or of its passes over the data."""
    clock: list[float] = []
    model = tw.SequenceLabeler(learner, "chunking", n_jobs=1, random_state=0, **options)
    model.fit(X, y, callback=lambda _: clock.append(time.process_time()))
    passes = np.diff([record.get("passes", record["iteration"]) for record in model.history_])
    return model, float(np.median(np.diff(clock) / passes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
