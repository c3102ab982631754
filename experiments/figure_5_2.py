"""Figure 5.2: the hinge and the ramp loss through the epochs, for SDM and Pegasos, on chunking and POS tagging.

The settings are those of Table 5.1; all run for as many passes, so that curves have the same length. For the ramp
loss the passes inside of rounds are counted. ``--quick`` takes a part of the sentences and fewer passes.
"""

from __future__ import annotations

from typing import Any

from common import published
from common.methods import loss_method
from common.output import Report
from common.runs import curve, trained
from common.tasks import Task, chunking_and_pos
from trelliswork.plots import score_curves

PASSES, QUICK_PASSES = {"chunking": 100, "POS tagging": 200}, 20


def main() -> None:
    """Draw six panels, and print where the curves end."""
    report = Report(__file__, __doc__ or "")
    found = {task.name: curves_of(task, report) for task in chunking_and_pos(report.quick, report.pos)}
    points = [
        {"task": task, "method": name, "loss": loss, **point}
        for task, candidates in found.items()
        for (name, loss), candidate in candidates.items()
        for point in candidate.curves[0]
    ]
    report.csv(points)
    methods = list(dict.fromkeys(name for name, _ in published.TABLE_5_1["chunking"]))
    with report.picture(len(methods), len(found), height=3.2, squeeze=False) as axes:
        for column, (task, candidates) in enumerate(found.items()):
            for panel, method in zip(axes[:, column], methods, strict=True):
                own = {loss: curve(candidate) for (name, loss), candidate in candidates.items() if name == method}
                score = "F-measure of tokens (%)" if task == "chunking" else "accuracy (%)"
                score_curves(own, "passes", score, ax=panel, log=False, title=f"{task}: {method}")
    report.done()


def curves_of(task: Task, report: Report) -> dict[tuple[str, str], Any]:
    """Train the hinge and the ramp for as many passes."""
    passes = report.epochs(task.name, PASSES[task.name], QUICK_PASSES)
    learners = {
        (name, loss): loss_method(
            name, loss, row.regularisation, max(1 if row.T is None else 2, passes // (row.T or 1)), row.T
        )
        for (name, loss), row in published.TABLE_5_1[task.name].items()
    }
    found = trained(task, learners, report.jobs, curves=True)
    rows = []
    for name in dict.fromkeys(name for name, _ in found):
        hinge, ramp = (curve(found[name, loss])[1] for loss in ("hinge", "ramp"))
        apart = max(abs(a - b) for a, b in zip(hinge[len(hinge) // 2 :], ramp[len(ramp) // 2 :], strict=False))
        rows.append({"method": name, "hinge": hinge[-1], "ramp": ramp[-1], "farthest apart, second half": apart})
    report.table(f"Figure 5.2, {task.name}: after {passes} passes", rows)
    return found


if __name__ == "__main__":
    main()
