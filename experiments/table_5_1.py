"""Table 5.1: the hinge against the ramp loss, for SDM and Pegasos with and without projection; chunking, POS.

Trained with the published C or lambda and epochs; a round of the concave-convex procedure has T passes. ``--quick``
takes a part of the sentences and of the epochs.
"""

from __future__ import annotations

from typing import Any

from common import published
from common.methods import loss_method
from common.output import Report, dots
from common.runs import percent, trained
from common.tasks import Task, chunking_and_pos

QUICK_ROUNDS, QUICK_EPOCHS = 2, 15


def main() -> None:
    """Print both halves of the table."""
    report = Report(__file__, __doc__ or "")
    halves = {task.name: half(task, report) for task in chunking_and_pos(report.quick, report.pos)}
    report.csv([{"task": name, **row} for name, rows in halves.items() for row in rows])
    with report.picture(1, len(halves), width=5.2, height=3.4, squeeze=False) as (axes,):
        for panel, (name, rows) in zip(axes, halves.items(), strict=True):
            names = [f"{row['method']}, {row['loss']}" for row in rows]
            dots(panel, names, [row["published"] for row in rows], [row["measured"] for row in rows], name)
            panel.set_xlabel("F-measure of tokens (%)" if name == "chunking" else "accuracy (%)")
    report.done()


def learner_of(name: str, loss: str, row: published.LossRow, task: str, report: Report) -> Any:
    """Return the learner of a row; the ramp loss has at least two rounds, for the first is the hinge's."""
    if row.T is None:
        return loss_method(name, loss, row.regularisation, report.epochs(task, row.epochs, QUICK_EPOCHS))
    passes = report.epochs(task, row.epochs * row.T, QUICK_ROUNDS * row.T)
    return loss_method(name, loss, row.regularisation, max(2, passes // row.T), row.T)


def half(task: Task, report: Report) -> list[dict[str, Any]]:
    """Train all rows on a task."""
    cells = published.TABLE_5_1[task.name]
    found = trained(task, {key: learner_of(*key, row, task.name, report) for key, row in cells.items()}, report.jobs)
    rows = [
        {
            "method": name,
            "loss": loss,
            "C or lambda": row.regularisation,
            "T": row.T,
            "epochs": row.epochs,
            "passes": int(found[name, loss].iterations[0]),
            "published": row.score,
            "measured": percent(found[name, loss]),
            "difference": percent(found[name, loss]) - row.score,
        }
        for (name, loss), row in cells.items()
    ]
    report.table(f"Table 5.1, {task.name}: {'F-measure of tokens' if task.name == 'chunking' else 'accuracy'}", rows)
    report.near(rows)
    measured: dict[Any, Any] = {(row["method"], row["loss"]): row["measured"] for row in rows}
    for name in dict.fromkeys(name for name, _ in cells):
        report.finding(f"{task.name}, {name}: ramp - hinge = {measured[name, 'ramp'] - measured[name, 'hinge']:+.3f}.")
    print()
    return rows


if __name__ == "__main__":
    main()
