"""Table 3.1: the perceptron, PA, RPA, MIRA and SDM for k = 1, 2, 5, 10, on chunking and Spanish NER.

Trained with the C and the epochs that the table prints, and scored on the test parts. ``--quick`` takes a part of the
sentences, k = 1 and 5, and at most 5 epochs.
"""

from __future__ import annotations

from typing import Any

from common import published
from common.methods import kbest_method
from common.output import Report, dots
from common.runs import percent, trained
from common.tasks import Task, chunking, spanish, tasks, with_weights

QUICK_EPOCHS = 5


def main() -> None:
    """Print both halves of the table."""
    report = Report(__file__, __doc__ or "")
    halves = {
        task.name: half(task, report) for task in with_weights(report.grown, tasks(report.quick, chunking, spanish))
    }
    report.csv([{"task": name, **row} for name, rows in halves.items() for row in rows])
    with report.picture(1, 2, width=5.5, height=5.5) as axes:
        for panel, (name, rows) in zip(axes, halves.items(), strict=True):
            names = [f"{row['method']}, k = {row['k']}" for row in rows]
            dots(panel, names, [row["published"] for row in rows], [row["measured"] for row in rows], name)
            panel.set_xlabel("F-measure of tokens (%)")
    report.done()


def half(task: Task, report: Report) -> list[dict[str, Any]]:
    """Train all methods on a task; return a row for each."""
    cells = {
        (name, k): row
        for name, rows in published.TABLE_3_1[task.name].items()
        for k, row in zip(published.KS, rows, strict=True)
        if not report.quick or k in (1, 5)
    }
    learners = {
        (name, k): kbest_method(name, row.C, report.epochs(task.name, row.epochs, QUICK_EPOCHS), k)
        for (name, k), row in cells.items()
    }
    found = trained(task, learners, report.jobs)
    rows = [
        {
            "method": name,
            "k": k,
            "C": row.C,
            "epochs": learners[name, k].epochs,
            "published": row.f,
            "measured": percent(found[name, k]),
            "difference": percent(found[name, k]) - row.f,
            "span F1": 100 * float(found[name, k].scores["f1"][0]),
        }
        for (name, k), row in cells.items()
    ]
    report.table(f"Table 3.1, {task.name}: F-measure of tokens", rows)
    say(rows, report)
    return rows


def say(rows: list[dict[str, Any]], report: Report) -> None:
    """Say whether the k-best versions are better, and how many rows are near what was published."""
    report.near(rows)
    for name in dict.fromkeys(row["method"] for row in rows):
        own = {row["k"]: row["measured"] for row in rows if row["method"] == name}
        best = max(own, key=lambda k: own[k])
        report.finding(f"{name}: best with k = {best}, {own[best] - own[1]:+.3f} against k = 1.")
    print()


if __name__ == "__main__":
    main()
