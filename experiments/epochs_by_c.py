"""SDM and MIRA by C through the epochs, on chunking: why two rows of Tables 5.1 and 6.1 are more than 0.3 below.

Not in the thesis. Its tables have SDM with C = 0.1 for 20 epochs (3.1) and 100 (5.1, 6.1), MIRA with two best
labellings and C = 0.1 for 10 epochs (3.1) and C = 0.01 for 30 (6.1). ``--quick`` takes a part of the sentences and
fewer epochs.
"""

from __future__ import annotations

from typing import Any

from common import published
from common.methods import kbest_method
from common.output import Report
from common.runs import curve, trained
from common.tasks import Task, chunking, tasks
from trelliswork.plots import score_curves

CS = {"SDM": (0.1, 0.05, 0.02, 0.01), "MIRA": (0.01, 0.005, 0.002, 0.001)}
QUICK_EPOCHS = 10
AT = (1, 2, 5, 10, 20, 30, 50, 100)


def main() -> None:
    """Print and draw a panel for each learner."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    panels = {name: panel(name, task, report) for name in CS}
    report.csv([{"learner": name, **row} for name, rows in panels.items() for row in rows])
    with report.picture(1, len(panels), width=5.4) as axes:
        for ax, (name, rows) in zip(axes, panels.items(), strict=True):
            lines = {
                key: ([row["epoch"] for row in rows], [row[key] for row in rows]) for key in rows[0] if key != "epoch"
            }
            score_curves(lines, "epoch", "F-measure of tokens (%)", ax=ax, title=name)
    report.done()


def panel(name: str, task: Task, report: Report) -> list[dict[str, Any]]:
    """Train with every C; return a row for each epoch."""
    row = published.TABLE_6_1[task.name][name]
    epochs = report.epochs(task.name, row.epochs, QUICK_EPOCHS)
    learners = {C: kbest_method(name, C, epochs, row.k or 1) for C in CS[name]}
    found = trained(task, learners, report.jobs, curves=True)
    scores = {C: curve(candidate)[1] for C, candidate in found.items()}
    rows = [{"epoch": t + 1} | {f"C = {C:g}": scores[C][t] for C in scores} for t in range(epochs)]
    report.table(
        f"{name}: F-measure of tokens, published {row.score:.3f} with C = {row.regularisation}",
        [one for one in rows if one["epoch"] in AT],
    )
    for C, through in scores.items():
        best = max(range(epochs), key=through.__getitem__)
        report.finding(
            f"{name}, C = {C:g}: best after {best + 1} epochs, {through[best]:.3f}; after {epochs} it has "
            f"{through[-1]:.3f}, {through[-1] - row.score:+.3f} against what was published."
        )
    print()
    return rows


if __name__ == "__main__":
    main()
