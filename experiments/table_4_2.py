"""Table 4.2: a structured SVM, a CRF, and the committee of the two without and with confidence, on chunking.

The SVM is SDM with k = 5, C = 0.1, tau = 1e-3, not averaged (4.2, 4.4); its epochs are not given, and are 20 here, as
in Table 3.1. The CRF has CRFsuite's default penalty. The second model sees the prediction and the interval of its
confidence, [0, 1) or [1, 1], alone and with the word and each of its attributes (Table 4.1). ``--quick`` takes a part
of the sentences and 5 epochs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import trelliswork as tw
from common import features, published
from common.methods import sdm
from common.output import Report, dots
from common.tasks import Task, chunking, tasks

FOLDS, K, EPOCHS, QUICK_EPOCHS = 5, 5, 20, 5
L2 = 2.0  # CRFsuite's default is c2 = 1 with the penalty c2 |w|^2; here it is l2/2 |w|^2
ATTRIBUTES = ("word", "pos", *features.LOCAL)


def main() -> None:
    """Print the table."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    print(task.describe())
    labels: dict[str, list[list[str]]] = {}
    rows = []
    for name, model in models(task, report.epochs(task.name, EPOCHS, QUICK_EPOCHS), report.jobs).items():
        began = time.perf_counter()
        labels[name] = model.fit(*task.train).predict(task.test.X)
        scores = tw.evaluation.evaluate(task.test.y, labels[name])
        rows.append(row_of(name, scores, time.perf_counter() - began))
        if getattr(model, "confidence", None):
            say_reliability(name, model.reliability_, report)
    report.table("Table 4.2: tokens of chunks", rows)
    report.near(rows)
    report.csv(rows)
    with report.picture(width=7.0, height=2.8) as axes:
        names, theirs, ours = ([row[key] for row in rows] for key in ("model", "published F", "F"))
        dots(axes, names, theirs, ours, "chunking")
        axes.set_xlabel("F-measure of tokens (%)")
    say(task, labels, rows, report)
    report.done()


def models(task: Task, epochs: int, jobs: int) -> dict[str, Any]:
    """Return the four models of the table, not trained."""

    def svm() -> Any:
        return task.labeler(sdm(0.1, epochs, k=K, tau=1e-3, averaged=False))

    def crf() -> Any:
        return task.labeler(tw.CRF(l2=L2)).set_params(n_jobs=jobs)

    predictions, confidences = templates("prediction"), templates("confidence")
    how = {"folds": FOLDS, "k": K, "n_jobs": jobs}
    return {
        "SVM[BT]": svm(),
        "CRF[BT]": crf(),
        "SVM[BT]-CRF[BT+PT]": tw.Committee(svm(), crf(), confidence=None, templates=predictions, **how),
        "SVM[BT]-CRF[BT+PT+CT]": tw.Committee(svm(), crf(), templates=f"{predictions}\n{confidences}", **how),
    }


def templates(column: str) -> str:
    """Return the templates of Table 4.1 for the prediction, or for the confidence.

    >>> templates("prediction").splitlines()[:2]
    ['prediction', 'prediction & word']
    """
    return "\n".join([column, *(f"{column} & {attribute}" for attribute in ATTRIBUTES)])


def row_of(name: str, scores: Any, seconds: float) -> dict[str, Any]:
    """Return published and measured figures of a model."""
    token, theirs = scores.token, published.TABLE_4_2[name]
    ours = (100 * token.precision, 100 * token.recall, 100 * token.f1)
    both = {f"{whose}{what}": value for whose, values in (("published ", theirs), ("", ours))
            for what, value in zip(("P", "R", "F"), values, strict=True)}  # fmt: skip
    return {"model": name, **both, "difference": ours[2] - theirs[2], "span F1": 100 * scores.span.f1, "s": seconds}


def say_reliability(name: str, intervals: Sequence[dict[str, Any]], report: Report) -> None:
    """Say how often the first model is right where it is sure, and where it is not (4.3: 97.7% and 76.4%)."""
    shares = ", ".join(f"{100 * one['correct'] / max(one['tokens'], 1):.1f}% in {one['interval']}" for one in intervals)
    report.finding(f"{name}: of the first model's labels are right {shares} (published: 76.4% below 1, 97.7% at 1).")


def say(task: Task, labels: dict[str, Any], rows: list[dict[str, Any]], report: Report) -> None:
    """Say whether the committee beats its members, and whether confidence helps, with McNemar's test."""
    f = {row["model"]: row["F"] for row in rows}
    committees = [name for name in f if "-" in name]
    pairs = [(member, committee) for committee in committees for member in ("SVM[BT]", "CRF[BT]")]
    for first, second in [*pairs, tuple(committees)]:
        test = tw.evaluation.mcnemar(task.test.y, labels[first], labels[second])
        clear = "significant" if test.significant() else "not significant"
        report.finding(f"{second} - {first} = {f[second] - f[first]:+.3f}; {clear}, {test.verdict()}.")


if __name__ == "__main__":
    main()
