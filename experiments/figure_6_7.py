"""Figure 6.7: F-measure on chunking against the seconds of training, 100 epochs of every algorithm of Table 6.1.

k = 10 for MIRA and for the losses of several outputs or examples. Seconds are those of the processor. The thesis: all
but the perceptron come to much the same best score; online learners soon, with a loss after it, Pegasos late; of
Pegasos' variants the stochastic one is the fastest. ``--quick`` takes a part of the sentences and 10 epochs.
"""

from __future__ import annotations

from typing import Any

from common import published
from common.methods import method
from common.output import Report
from common.runs import curve, trained
from common.tasks import chunking, tasks
from trelliswork.plots import score_curves

K, EPOCHS, QUICK_EPOCHS = 10, 100, 10
NAMES = ("Perceptron", "PA", "MIRA", "SDM", "Peg-WP", "PegMML-WP", "PegASL-WP", "ResPegASL-WP")


def main() -> None:
    """Print times and scores, and draw the curves."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    epochs = report.epochs(task.name, EPOCHS, QUICK_EPOCHS)
    learners = {}
    for name in NAMES:
        row = published.TABLE_6_1[task.name][name]
        learners[name] = method(name, row.regularisation, epochs, None if row.k is None else K)
    found = trained(task, learners, jobs=1, curves=True)
    rows = [row_of(name, candidate) for name, candidate in found.items()]
    report.table(f"Figure 6.7: {epochs} epochs, one thread", rows)
    report.csv([{"method": name, **point} for name, candidate in found.items() for point in candidate.curves[0]])
    with report.picture(width=7.5, height=4.8) as axes:
        lines = {name: curve(candidate, "cpu_seconds") for name, candidate in found.items()}
        score_curves(lines, "seconds of training", "F-measure of tokens (%)", ax=axes, log=True)
        best = max(row["best F"] for row in rows)
        axes.set_ylim(best - 2.0, best + 0.1)
    for line in rows:
        report.finding(
            f"{line['method']}: best {line['best F']:.3f} after {line['best epoch']} epochs, "
            f"{line['at the end'] - line['best F']:+.3f} from there to the end."
        )
    report.done()


def row_of(name: str, candidate: Any) -> dict[str, Any]:
    """Return when the best score was reached, and what became of it."""
    seconds, scores = curve(candidate, "cpu_seconds")
    best = max(range(len(scores)), key=lambda i: scores[i])
    return {
        "method": name,
        "seconds": seconds[-1],
        "best F": scores[best],
        "best epoch": best + 1,
        "after seconds": seconds[best],
        "at the end": scores[-1],
    }


if __name__ == "__main__":
    main()
