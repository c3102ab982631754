"""Figure 6.4: stochastic Pegasos with and without projection, averaged and not, through the epochs; chunking and POS.

Lambda is that of Table 6.1. The thesis: without averaging scores oscillate; averaged they rise slowly, to much the
same after 100 epochs. ``--quick`` takes a part of the sentences and 15 epochs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from common import published
from common.methods import pegasos
from common.output import Report
from common.runs import curve, trained
from common.tasks import Task, chunking_and_pos
from trelliswork.plots import score_curves

EPOCHS, QUICK_EPOCHS = 100, 15


def main() -> None:
    """Print where the curves end and how much they oscillate, and draw them."""
    report = Report(__file__, __doc__ or "")
    both = {task.name: panel(task, report) for task in chunking_and_pos(report.quick, report.pos)}
    report.csv(
        [{"task": t, "method": n, **point} for t, f in both.items() for n, c in f.items() for point in c.curves[0]]
    )
    with report.picture(1, len(both), width=5.4, squeeze=False) as (axes,):
        for ax, (name, found) in zip(axes, both.items(), strict=True):
            score = "F-measure of tokens (%)" if name == "chunking" else "accuracy (%)"
            lines = {method: curve(candidate) for method, candidate in found.items()}
            score_curves(lines, "epochs", score, ax=ax, log=False, title=name)
    report.done()


def panel(task: Task, report: Report) -> dict[str, Any]:
    """Train the four variants on a task."""
    epochs = report.epochs(task.name, EPOCHS, QUICK_EPOCHS)
    learners = {
        f"{'avg' if averaged else ''}{name}": pegasos(
            name, published.TABLE_6_1[task.name][name].regularisation or 1e-3, epochs, averaged=averaged
        )
        for name in ("Peg", "Peg-WP")
        for averaged in (False, True)
    }
    found = trained(task, learners, report.jobs, curves=True)
    rows = []
    for name, candidate in found.items():
        scores = np.array(curve(candidate)[1])
        swings = np.abs(np.diff(scores))[len(scores) // 2 :].mean()
        rows.append({"method": name, "epoch 1": float(scores[0]), f"epoch {epochs}": float(scores[-1])})
        rows[-1]["mean change an epoch, second half"] = float(swings)
    report.table(f"Figure 6.4, {task.name}", rows)
    return found


if __name__ == "__main__":
    main()
