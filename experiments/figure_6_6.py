"""Figure 6.6: Pegasos with the averaged sum loss, without projection, by k, after some epochs; chunking, POS.

Lambda is chosen for each k and number of epochs on the last fifth of the training sentences, as the thesis chooses it
by cross-validation. The thesis: after few epochs a larger k is better; after many all are alike, but for a slight
loss with a very large k. ``--quick`` takes a part of the sentences and smaller k.
"""

from __future__ import annotations

from typing import Any

from common.methods import pegasos
from common.output import Report
from common.runs import curve, held_out, trained
from common.tasks import Task, chunking_and_pos
from trelliswork.plots import score_curves

KS, QUICK_KS = (1, 2, 5, 10, 25, 50, 100), (1, 5, 25)
EPOCHS, QUICK_EPOCHS = (1, 5, 20), (1, 4)
LAMBDAS, QUICK_LAMBDAS = (1e-3, 5e-3), (1e-3, 5e-3)


def main() -> None:
    """Print and draw a panel for each task."""
    report = Report(__file__, __doc__ or "")
    panels = {task.name: panel(task, report) for task in chunking_and_pos(report.quick, report.pos)}
    report.csv([{"task": name, **row} for name, rows in panels.items() for row in rows])
    with report.picture(1, len(panels), width=5.4, squeeze=False) as (axes,):
        for ax, (name, rows) in zip(axes, panels.items(), strict=True):
            epochs = sorted({row["epochs"] for row in rows})
            lines = {
                f"{n} epochs" if n > 1 else "1 epoch": (
                    [row["k"] for row in rows if row["epochs"] == n],
                    [row["score"] for row in rows if row["epochs"] == n],
                )
                for n in epochs
            }
            score = "F-measure of tokens (%)" if name == "chunking" else "accuracy (%)"
            score_curves(lines, "k", score, ax=ax, log=True, title=name)
    report.done()


def panel(task: Task, report: Report) -> list[dict[str, Any]]:
    """Train for each k and lambda; return the score of each k and number of epochs with its lambda."""
    ks, lambdas = (QUICK_KS, QUICK_LAMBDAS) if report.quick else (KS, LAMBDAS)
    all_epochs = QUICK_EPOCHS if report.quick else EPOCHS
    epochs = [n for n in all_epochs if n <= report.epochs(task.name, all_epochs[-1], all_epochs[-1])]
    learners = {(k, lam): pegasos("PegASL-WP", lam, epochs[-1], k) for k in ks for lam in lambdas}
    tried, found = (trained(t, learners, report.jobs, curves=True) for t in (held_out(task), task))
    rows = []
    for n in epochs:
        for k in ks:
            held = {lam: curve(tried[k, lam])[1][n - 1] for lam in lambdas}
            lam = max(held, key=lambda lam: held[lam])
            rows.append({"epochs": n, "k": k, "lambda": lam, "score": curve(found[k, lam])[1][n - 1]})
    report.table(f"Figure 6.6, {task.name}: {'F-measure of tokens' if task.name == 'chunking' else 'accuracy'}", rows)
    for n in epochs:
        own = {row["k"]: row["score"] for row in rows if row["epochs"] == n}
        best = max(own, key=lambda k: own[k])
        report.finding(
            f"{task.name}, epochs {n}: best with k = {best}, {own[best] - own[1]:+.3f} against k = 1; the largest k is "
            f"{own[ks[-1]] - own[1]:+.3f}."
        )
    print()
    return rows


if __name__ == "__main__":
    main()
