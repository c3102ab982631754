"""Which confidence finds the errors: lists of the k best labellings, or exact marginals?

Mejer and Crammer (2010) and 004, sec. 4.3, take the confidence of a label from the k best labellings. Here are models
that know their probabilities (a CRF) and models that do not (the sequential dual method, the averaged perceptron), on
chunking (CoNLL-2000, test) and Spanish names (CoNLL-2002, testb): how well does each kind of confidence rank the wrong
labels, and the wrong sequences, below the right ones? The area under the curve is the probability that an error has
less confidence than a right answer; "caught" is the share of the errors in the least confident tenth.

    python experiments/confidence.py [--quick] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trelliswork as tw

HERE = Path(__file__).resolve().parent
LEVELS = ("label", "context", "sequence")
WAYS = (
    ("kbest", 5),
    ("kbest", 20),
    ("kbest", 100),
    ("weighted", 5),
    ("weighted", 100),
    ("margins", 2),
    ("marginals", 1),
)
TASKS = {
    "chunking": ("conll2000/train.txt.gz", "conll2000/test.txt.gz", "chunking"),
    "names": ("conll2002/esp.train.gz", "conll2002/esp.testb.gz", "ner"),
}
LEARNERS = {
    "crf": tw.CRF(),
    "sdm": tw.SDM(C=0.1, k=5, tau=1e-3),
    "perceptron": tw.Perceptron(),
}
PUBLISHED = {"[1,1]": 97.7, "[0,1)": 76.4}  # 004, sec. 4.3: per cent right, chunking, n = 5, three labels in a row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="learn from the first 1,500 sentences, score 500")
    parser.add_argument("--out", default=str(HERE / "results"), help="where the CSV and the PNG go")
    arguments = parser.parse_args()
    rows = []
    for task in TASKS:
        for learner in LEARNERS:
            rows += list(measured(task, learner, arguments.quick))
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "confidence.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, folder / "confidence.png")


def measured(task: str, learner: str, quick: bool) -> Iterator[dict[str, Any]]:
    """Train, and yield a row for each way to be confident of each thing."""
    train, test, features = TASKS[task]
    X, y = read(train, 1500 if quick else None)
    X_test, y_test = read(test, 500 if quick else None)
    started = time.perf_counter()
    model = tw.SequenceLabeler(LEARNERS[learner], features, random_state=0).fit(X, y)
    seconds = time.perf_counter() - started
    guess = model.predict(X_test)
    scores = tw.evaluation.evaluate(y_test, guess)
    print(
        f"\n{task}, {learner}: learned from {len(X):,} sentences in {seconds:.0f} s; "
        f"span F1 {100 * scores.span.overall.f1:.2f}, tokens right {100 * scores.token.accuracy:.2f}%"
    )
    print(f"{'':16}" + "".join(f"{level:>22}" for level in LEVELS) + f"{'s':>8}")
    print(f"{'':16}" + f"{'area':>13}{'caught':>9}" * len(LEVELS))
    for method, k in WAYS:
        started = time.perf_counter()
        found = tw.confidence(model, X_test, method, k=k)
        seconds = time.perf_counter() - started
        name = f"{method}, k={k}" if method in ("kbest", "weighted") else method
        line = f"{name:16}"
        for level in LEVELS:
            result = tw.evaluation.error_detection([getattr(each, level) for each in found], y_test, guess)
            line += f"{result.auc:13.4f}{result.caught:9.3f}"
            yield {"task": task, "learner": learner, "confidence": name, "of": level, **result.as_dict()}
        print(f"{line}{seconds:8.1f}", flush=True)
        if (method, k) == ("kbest", 5):
            agreement = reliability(found, y_test)
    print("right, k=5, by the confidence of three labels in a row: " + agreement)


def reliability(found: list[tw.Confidence], y: Any) -> str:
    """The statistics of sec. 4.3: how often labels are right whose context has full confidence, and the others."""
    counts = {name: [0, 0] for name in PUBLISHED}
    for each, gold in zip(found, y, strict=True):
        for label, sure, right in zip(each.labels, each.context, gold, strict=True):
            count = counts["[1,1]" if sure == 1.0 else "[0,1)"]
            count[0] += 1
            count[1] += label == right
    parts = [
        f"{name} {100 * right / n:.1f}% of {n:,} (004, its SVM on chunking: {PUBLISHED[name]}%)"
        for name, (n, right) in counts.items()
    ]
    return "; ".join(parts)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Areas under the curve, one panel for each task and level."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(LEVELS), len(TASKS), figsize=(9, 9), sharex=True, layout="constrained")
    names = list(dict.fromkeys(row["confidence"] for row in rows))
    for row_of_axes, level in zip(axes, LEVELS, strict=True):
        for axis, task in zip(row_of_axes, TASKS, strict=True):
            for learner, marker in zip(LEARNERS, "os^", strict=True):
                areas = {
                    r["confidence"]: r["auc"]
                    for r in rows
                    if (r["task"], r["learner"], r["of"]) == (task, learner, level)
                }
                axis.plot(names, [areas[name] for name in names], marker=marker, linestyle=":", label=learner)
            axis.set_title(f"{task}: of a {level}")
            axis.set_ylabel("area under the curve")
            axis.tick_params(axis="x", rotation=45)
            axis.grid(alpha=0.3)
    axes[0, 0].legend()
    figure.savefig(path, dpi=120)


def read(file: str, most: int | None) -> tuple[list[Any], list[Any]]:
    """The sentences of a published corpus: in TRELLISWORK_DATA, or beside the repository."""
    folder = Path(os.environ.get("TRELLISWORK_DATA", HERE.parent.parent / "shared" / "data"))
    if not (folder / file).exists():
        raise SystemExit(f"{file} was not found. Set TRELLISWORK_DATA to the folder that has it.")
    X, y = tw.corpora.read_table(folder / file)
    return X[:most], y[:most]


if __name__ == "__main__":
    main()
