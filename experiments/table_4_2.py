"""Table 4.2: a structured SVM, a CRF, and the committee of the two without and with confidence, on chunking.

The SVM is SDM with k = 5, C = 0.1, tau = 1e-3, not averaged (4.2, 4.4); its epochs are not given, and are 20 here, as
in Table 3.1. The CRF has CRFsuite's default penalty. The thesis trained it with CRFsuite, which knows no attributes of
two labels as Table 4.1 has them, and does not say what it was given instead: here are the features of Table 4.1, and
those of CRFsuite's tutorial on chunking. The second model sees the prediction and the interval of its confidence, [0,
1) or [1, 1], alone and with the word and each of its attributes. ``--quick``: a part of the sentences and 5 epochs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import trelliswork as tw
from common import published
from common.features import LOCAL, crfsuite_tutorial
from common.methods import sdm
from common.output import Report, dots
from common.tasks import Task, chunking, tasks

FOLDS, K, EPOCHS, QUICK_EPOCHS = 5, 5, 20, 5
L2 = 2.0  # CRFsuite's default is c2 = 1 with the penalty c2 |w|^2; here it is l2/2 |w|^2
PREDICTED, CONFIDENT = "SVM[BT]-CRF[BT+PT]", "SVM[BT]-CRF[BT+PT+CT]"
TABLE_4_1, TUTORIAL = "of Table 4.1", "of the tutorial"
ATTRIBUTES = ("word", "pos", *LOCAL)


def main() -> None:
    """Print the table."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    print(task.describe())
    labels: dict[tuple[str, str], list[list[str]]] = {}
    rows = []
    for (name, crf), model in models(task, report.epochs(task.name, EPOCHS, QUICK_EPOCHS), report.jobs).items():
        began = time.perf_counter()
        labels[name, crf] = model.fit(*task.train).predict(task.test.X)
        scores = tw.evaluation.evaluate(task.test.y, labels[name, crf])
        rows.append(row_of(name, crf, scores))
        print(f"{name}, {crf}: {time.perf_counter() - began:.0f} s", flush=True)
        if getattr(model, "confidence", None):
            say_reliability(model.reliability_, report)
    report.table("Table 4.2: tokens of chunks", rows)
    report.near(rows)
    report.csv(rows)
    with report.picture(width=7.5, height=3.6) as axes:
        names = [f"{row['model']}, {row['features of the CRF']}" for row in rows]
        dots(axes, names, [row["published F"] for row in rows], [row["F"] for row in rows], "chunking")
        axes.set_xlabel("F-measure of tokens (%)")
    say(task, labels, report)
    report.done()


def models(task: Task, epochs: int, jobs: int) -> dict[tuple[str, str], Any]:
    """Return the models of the table, not trained, by their name there and the features of the CRF."""

    def svm() -> Any:
        return task.labeler(sdm(0.1, epochs, k=K, tau=1e-3, averaged=False))

    def crf(kind: str) -> Any:
        features = task.templates if kind == TABLE_4_1 else crfsuite_tutorial()
        return task.labeler(tw.CRF(l2=L2)).set_params(features=features, n_jobs=jobs)

    predictions, confidences = templates("prediction"), templates("confidence")
    how: dict[str, Any] = {"folds": FOLDS, "k": K, "n_jobs": jobs}
    made: dict[tuple[str, str], Any] = {("SVM[BT]", "none"): svm()}
    for kind in (TABLE_4_1, TUTORIAL):
        both = f"{predictions}\n{confidences}"
        made["CRF[BT]", kind] = crf(kind)
        made[PREDICTED, kind] = tw.Committee(svm(), crf(kind), confidence=None, templates=predictions, **how)
        made[CONFIDENT, kind] = tw.Committee(svm(), crf(kind), templates=both, **how)
    return made


def templates(column: str) -> str:
    """Return the templates of Table 4.1 for the prediction, or for the confidence.

    >>> templates("prediction").splitlines()[:2]
    ['prediction', 'prediction & word']
    """
    return "\n".join([column, *(f"{column} & {attribute}" for attribute in ATTRIBUTES)])


def row_of(name: str, crf: str, scores: Any) -> dict[str, Any]:
    """Return published and measured figures of a model."""
    token, theirs = scores.token, published.TABLE_4_2[name]
    ours = (100 * token.precision, 100 * token.recall, 100 * token.f1)
    both = {
        f"{whose}{what}": value
        for whose, values in (("published ", theirs), ("", ours))
        for what, value in zip(("P", "R", "F"), values, strict=True)
    }
    return {
        "model": name,
        "features of the CRF": crf,
        **both,
        "difference": ours[2] - theirs[2],
        "span F1": 100 * scores.span.f1,
    }


def say_reliability(intervals: Sequence[dict[str, Any]], report: Report) -> None:
    """Say how often the first model is right where it is sure, and where it is not (4.3)."""
    shares = ", ".join(f"{100 * one['correct'] / max(one['tokens'], 1):.1f}% in {one['interval']}" for one in intervals)
    report.finding(f"right labels of the first model: {shares} (published: 76.4% below 1, 97.7% at 1).")


def say(task: Task, labels: dict[tuple[str, str], Any], report: Report) -> None:
    """Say whether the committee beats its members, and whether confidence helps, with McNemar's test."""
    svm = ("SVM[BT]", "none")
    for kind in (TABLE_4_1, TUTORIAL):
        crf, predicted, confident = ((name, kind) for name in ("CRF[BT]", PREDICTED, CONFIDENT))
        for first, second in (
            (svm, predicted),
            (crf, predicted),
            (svm, confident),
            (crf, confident),
            (predicted, confident),
        ):
            test = tw.evaluation.mcnemar(task.test.y, labels[first], labels[second])
            f = [100 * tw.evaluation.token_scores(task.test.y, labels[one]).f1 for one in (first, second)]
            clear = "significant" if test.significant() else "not significant"
            report.finding(
                f"features {kind}: {second[0]} - {first[0]} = {f[1] - f[0]:+.3f}; {clear}, {test.verdict()}."
            )


if __name__ == "__main__":
    main()
