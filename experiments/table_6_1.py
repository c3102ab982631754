"""Table 6.1: the perceptron, PA, MIRA, SDM and the variants of Pegasos, on chunking and POS tagging.

Trained with the published C or lambda, k and epochs. WP is without projection; MML takes k examples a step, ASL k
outputs of one example, and Res leaves out outputs that lose less than the prediction. ``--quick`` takes a part of the
sentences and at most 10 epochs.
"""

from __future__ import annotations

from typing import Any

from common import published
from common.methods import method
from common.output import Report, dots
from common.runs import percent, trained
from common.tasks import Task, chunking_and_pos

QUICK_EPOCHS = 10


def main() -> None:
    """Print both halves of the table."""
    report = Report(__file__, __doc__ or "")
    halves = {task.name: half(task, report) for task in chunking_and_pos(report.quick, report.pos)}
    report.csv([{"task": name, **row} for name, rows in halves.items() for row in rows])
    with report.picture(1, len(halves), width=5.5, height=4.4, squeeze=False) as (axes,):
        for panel, (name, rows) in zip(axes, halves.items(), strict=True):
            names = [row["method"] for row in rows]
            dots(panel, names, [row["published"] for row in rows], [row["measured"] for row in rows], name)
            panel.set_xlabel("F-measure of tokens (%)" if name == "chunking" else "accuracy (%)")
    report.done()


def half(task: Task, report: Report) -> list[dict[str, Any]]:
    """Train all rows on a task."""
    cells = published.TABLE_6_1[task.name]
    learners = {
        name: method(name, row.regularisation, report.epochs(task.name, row.epochs, QUICK_EPOCHS), row.k)
        for name, row in cells.items()
    }
    found = trained(task, learners, report.jobs)
    rows = [
        {
            "method": name,
            "C or lambda": row.regularisation,
            "k": row.k,
            "epochs": learners[name].epochs,
            "published": row.score,
            "measured": percent(found[name]),
            "difference": percent(found[name]) - row.score,
        }
        for name, row in cells.items()
    ]
    report.table(f"Table 6.1, {task.name}: {'F-measure of tokens' if task.name == 'chunking' else 'accuracy'}", rows)
    report.near(rows)
    measured = {row["method"]: row["measured"] for row in rows}
    for name in ("Peg", "PegMML", "PegASL", "ResPegASL"):
        report.finding(f"{task.name}, {name}: without projection {measured[name + '-WP'] - measured[name]:+.3f}.")
    print()
    return rows


if __name__ == "__main__":
    main()
