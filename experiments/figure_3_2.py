"""Figure 3.2: seconds through the epochs for k = 1, 5, 10, and F-measure through time for k = 1, 5, on chunking.

C is that of Table 3.1. Models are trained one at a time, and seconds are those of the processor. The thesis: the
perceptron is slightly faster than PA; RPA decodes once more and is slower; SDM takes the most, for its sets of active
outputs grow.
"""

from __future__ import annotations

from typing import Any

import trelliswork as tw
from common import published
from common.methods import kbest_method
from common.output import Report
from common.runs import curve, trained
from common.tasks import chunking, tasks
from trelliswork.plots.score_curves import COLOURS

STYLES = {1: ":", 5: "-", 10: "--"}
REPROCESS = 10  # n_R of LaRank, in one pass


def main() -> None:
    """Print the times, draw both panels."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    epochs = report.epochs(task.name, 20, 5)
    learners: dict[tuple[str, int], Any] = {
        (name, k): kbest_method(name, dict(zip(published.KS, cells, strict=True))[k].C, epochs, k)
        for name, cells in published.TABLE_3_1[task.name].items()
        for k in STYLES
    }
    for k in (1, 5):
        how: dict[str, Any] = {"reprocess": REPROCESS, "gap_every": 0, "averaged": True}
        learners["LaRank", k] = tw.LaRank(0.1, 1, k=k, **how)
    found = trained(task, learners, jobs=1, curves=True)
    rows = [row_of(name, k, candidate) for (name, k), candidate in found.items()]
    report.table(f"Figure 3.2: {epochs} epochs, one thread (LaRank: one)", rows)
    report.csv([{"method": name, "k": k, **point} for (name, k), c in found.items() for point in c.curves[0]])
    draw(found, report)
    seconds = {(row["method"], row["k"]): row["seconds an epoch"] for row in rows}
    for name in ("PA", "RPA", "MIRA", "SDM"):
        ratios = ", ".join(f"{seconds[name, k] / seconds['Perceptron', k]:.2f} (k = {k})" for k in STYLES)
        report.finding(f"an epoch of {name} takes so many times the perceptron's: {ratios}.")
    report.done()


def row_of(name: str, k: int, candidate: Any) -> dict[str, Any]:
    """Return times and scores."""
    epochs, scores = curve(candidate)
    seconds, _ = curve(candidate, "cpu_seconds")
    best = max(range(len(scores)), key=lambda i: scores[i])
    return {
        "method": name,
        "k": k,
        "seconds an epoch": seconds[-1] / len(epochs),
        "F at the end": scores[-1],
        "best F": scores[best],
        "after seconds": seconds[best],
    }


def draw(found: dict[tuple[str, int], Any], report: Report) -> None:
    """Draw the two panels: a colour is an algorithm, a style of line is k."""
    names = list(dict.fromkeys(name for name, _ in found))
    with report.picture(1, 2, width=5.6) as (left, right):
        for (name, k), candidate in found.items():
            look = {"color": COLOURS[names.index(name)], "label": f"{name}, k = {k}"}
            seconds, scores = curve(candidate, "cpu_seconds")
            if name == "LaRank":
                right.plot(seconds, scores, "s" if k == 5 else "D", **look)
                continue
            left.plot(curve(candidate)[0], seconds, STYLES[k], **look)
            if k != 10:
                right.plot(seconds, scores, "-" if k == 5 else "--", **look)
        left.set(xlabel="epochs", ylabel="seconds of training")
        right.set(xlabel="seconds of training", ylabel="F-measure of tokens (%)")
        for panel in (left, right):
            panel.grid(alpha=0.3)
            panel.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


if __name__ == "__main__":
    main()
