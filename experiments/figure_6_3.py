"""Figure 6.3: step sizes of stochastic Pegasos through the epochs, without and with projection, on chunking.

alpha is 0.75, lambda that of Table 6.1. The thesis: without projection Pegasos' own step, a constant 0.01 and gamma =
0.1 are alike, and a constant 0.1 is faster at first and not very good in the end; with projection other steps help at
first, and in the end all are alike but for a constant 0.001. ``--quick`` takes a part of the sentences and 10 epochs.
"""

from __future__ import annotations

from typing import Any

from common import published
from common.methods import pegasos
from common.output import Report
from common.runs import curve, trained
from common.tasks import chunking, tasks
from trelliswork.plots import score_curves

EPOCHS, QUICK_EPOCHS = 100, 10
STEPS: dict[str, dict[str, Any]] = {
    "1/(lambda t)": {"step": "pegasos"},
    "1/(lambda t)^alpha": {"step": "power"},
    "gamma = 0.1": {"step": "asgd", "gamma": 0.1},
    "gamma = 0.01": {"step": "asgd", "gamma": 0.01},
    "constant 0.1": {"step": "constant", "gamma": 0.1},
    "constant 0.01": {"step": "constant", "gamma": 0.01},
    "constant 0.001": {"step": "constant", "gamma": 0.001},
}


def main() -> None:
    """Print the scores after a few epochs and at the end, and draw both panels."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    epochs = report.epochs(task.name, EPOCHS, QUICK_EPOCHS)
    learners = {
        (name, step): pegasos(name, published.TABLE_6_1[task.name][name].regularisation or 1e-3, epochs, **how)
        for name in ("Peg-WP", "Peg")
        for step, how in STEPS.items()
    }
    found = trained(task, learners, report.jobs, curves=True)
    lines = {key: curve(candidate) for key, candidate in found.items()}
    shown = sorted({1, 5, 10, 20, 50, epochs} & set(range(1, epochs + 1)))
    rows = [
        {"method": name, "step": step, **{f"epoch {epoch}": scores[epoch - 1] for epoch in shown}}
        for (name, step), (_, scores) in lines.items()
    ]
    report.table("Figure 6.3: F-measure of tokens", rows)
    report.csv([{"method": n, "step": s, **point} for (n, s), c in found.items() for point in c.curves[0]])
    with report.picture(2, 1, width=7.0, height=3.8) as axes:
        for panel, (name, title) in zip(
            axes, (("Peg-WP", "without projection"), ("Peg", "with projection")), strict=True
        ):
            own = {step: line for (method, step), line in lines.items() if method == name}
            score_curves(own, "epochs", "F-measure of tokens (%)", ax=panel, log=False, title=title)
    for name in ("Peg-WP", "Peg"):
        last = {step: lines[name, step][1][-1] for step in STEPS}
        first = {step: lines[name, step][1][0] for step in STEPS}
        best, fastest = (max(scores, key=lambda step: scores[step]) for scores in (last, first))
        usual = "1/(lambda t)"
        report.finding(
            f"{name}: after one epoch the best is {fastest} ({first[fastest]:.3f}, Pegasos' own {first[usual]:.3f}); "
            f"at the end {best} ({last[best]:.3f}, Pegasos' own {last[usual]:.3f})."
        )
    report.done()


if __name__ == "__main__":
    main()
