"""Figure 6.1: stochastic Pegasos by lambda, after 20 and 100 epochs, with and without projection; chunking and POS.

The thesis: small lambdas need more epochs; large ones make no difference between 20 and 100 but are not satisfying;
the best results come without projection. ``--quick`` takes a part of the sentences and 5 and 20 epochs.
"""

from __future__ import annotations

from typing import Any

from common.methods import pegasos
from common.output import Report
from common.runs import curve, trained
from common.tasks import Task, chunking_and_pos
from trelliswork.plots import score_curves

LAMBDAS, QUICK_LAMBDAS = (1e-5, 1e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1), (1e-4, 1e-3, 1e-2)
EPOCHS, QUICK_EPOCHS = (20, 100), (5, 20)
NAMES = ("Peg-WP", "Peg")


def main() -> None:
    """Print and draw a panel for each task."""
    report = Report(__file__, __doc__ or "")
    panels = {task.name: panel(task, report) for task in chunking_and_pos(report.quick, report.pos)}
    report.csv([{"task": name, **row} for name, rows in panels.items() for row in rows])
    with report.picture(1, len(panels), width=5.4, squeeze=False) as (axes,):
        for ax, (name, rows) in zip(axes, panels.items(), strict=True):
            lambdas = [row["lambda"] for row in rows]
            lines = {key: (lambdas, [row[key] for row in rows]) for key in rows[0] if key != "lambda"}
            score = "F-measure of tokens (%)" if name == "chunking" else "accuracy (%)"
            score_curves(lines, "lambda", score, ax=ax, log=True, title=name)
    report.done()


def panel(task: Task, report: Report) -> list[dict[str, Any]]:
    """Train with every lambda; return a row for each."""
    lambdas = QUICK_LAMBDAS if report.quick else LAMBDAS
    few, many = (report.epochs(task.name, *numbers) for numbers in zip(EPOCHS, QUICK_EPOCHS, strict=True))
    learners = {(name, lam): pegasos(name, lam, many) for name in NAMES for lam in lambdas}
    found = trained(task, learners, report.jobs, curves=True)
    scores = {key: curve(candidate)[1] for key, candidate in found.items()}
    rows = [
        {"lambda": lam}
        | {f"{name}, {epochs} epochs": scores[name, lam][epochs - 1] for name in NAMES for epochs in (few, many)}
        for lam in lambdas
    ]
    report.table(f"Figure 6.1, {task.name}", rows)
    for name in NAMES:
        best = max(lambdas, key=lambda lam: scores[name, lam][-1])
        gain = {lam: scores[name, lam][-1] - scores[name, lam][few - 1] for lam in (lambdas[0], lambdas[-1])}
        report.finding(
            f"{task.name}, {name}: best lambda after {many} epochs is {best:g} ({scores[name, best][-1]:.3f}); from "
            f"{few} to {many} epochs, the smallest gains {gain[lambdas[0]]:+.3f}, the largest {gain[lambdas[-1]]:+.3f}."
        )
    print()
    return rows


if __name__ == "__main__":
    main()
