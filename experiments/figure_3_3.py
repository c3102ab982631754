"""Figure 3.3: LaRank in one pass, for different k and n_R, on chunking and Spanish NER; mean and mean absolute error.

Which values of n_R and k the figure has cannot be read from the thesis's text; here n_R is 1, 2, 5, 10 and k is 1, 2,
5, 10. C is chosen for each k on held-out sentences (chunking: the last fifth of the training part; names: testa), at
the smallest n_R and with one seed. 20 repetitions, as published; ``--quick`` has 3, of a part of the sentences.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import trelliswork as tw
from common.output import Report
from common.runs import held_out, percent, trained
from common.tasks import Task, chunking, spanish, tasks
from trelliswork.plots.score_curves import COLOURS

KS, REPROCESS, CS = (1, 2, 5, 10), (1, 2, 5, 10), (0.01, 0.1, 1.0)
REPETITIONS, QUICK_REPETITIONS = 20, 3


def main() -> None:
    """Print and draw a panel for each task."""
    report = Report(__file__, __doc__ or "")
    panels = {task.name: panel(task, report) for task in tasks(report.quick, chunking, spanish)}
    report.csv([{"task": name, **row} for name, rows in panels.items() for row in rows])
    with report.picture(1, 2, width=5.2) as axes:
        for ax, (name, rows) in zip(axes, panels.items(), strict=True):
            draw(ax, name, rows)
    report.done()


def larank(C: float, k: int, reprocess: int) -> Any:
    """Return LaRank in one pass, averaged."""
    return tw.LaRank(C, 1, k=k, reprocess=reprocess, gap_every=0, averaged=True)


def panel(task: Task, report: Report) -> list[dict[str, Any]]:
    """Train all repetitions on a task; return a row for each k and n_R."""
    ks, reprocess = ((1, 5), (1, 5)) if report.quick else (KS, REPROCESS)
    tried = trained(held_out(task), {(k, C): larank(C, k, reprocess[0]) for k in ks for C in CS}, report.jobs)
    best = {k: max((percent(tried[k, C]), -C, C) for C in CS)[2] for k in ks}  # of equals the smallest
    seeds = range(QUICK_REPETITIONS if report.quick else REPETITIONS)
    names = [(k, n, seed) for n in reprocess for k in ks for seed in seeds]
    learners = {(k, n, seed): larank(best[k], k, n) for k, n, seed in names}
    found = trained(task, learners, report.jobs, seeds={name: name[2] for name in names})
    rows = []
    for n in reprocess:
        for k in ks:
            scores = np.array([percent(found[k, n, seed]) for seed in seeds])
            error = np.abs(scores - scores.mean()).mean()
            rows.append({"n_R": n, "k": k, "C": best[k], "mean F": float(scores.mean()), "mean error": float(error)})
    report.table(f"Figure 3.3, {task.name}: LaRank in one pass, {len(seeds)} repetitions", rows)
    say(task, rows, report)
    return rows


def say(task: Task, rows: list[dict[str, Any]], report: Report) -> None:
    """Say whether k-best is better, and where most; and whether a larger n_R is."""
    mean = {(row["n_R"], row["k"]): row["mean F"] for row in rows}
    numbers, ks = sorted({n for n, _ in mean}), sorted({k for _, k in mean})
    for n in numbers:
        best = max(ks, key=lambda k: mean[n, k])
        gain = mean[n, best] - mean[n, 1]
        report.finding(f"{task.name}, n_R = {n}: best with k = {best}, {gain:+.3f} against k = 1.")
    rises = all(mean[a, k] <= mean[b, k] for k in ks for a, b in pairwise(numbers))
    report.finding(f"{task.name}: a larger n_R is {'always' if rises else 'not always'} better.\n")


def draw(ax: Any, name: str, rows: list[dict[str, Any]]) -> None:
    """Draw columns, grouped by n_R, with their errors."""
    numbers, ks = sorted({row["n_R"] for row in rows}), sorted({row["k"] for row in rows})
    width = 0.8 / len(ks)
    for i, k in enumerate(ks):
        own = {row["n_R"]: row for row in rows if row["k"] == k}
        places = [place + (i - (len(ks) - 1) / 2) * width for place in range(len(numbers))]
        means, errors = [own[n]["mean F"] for n in numbers], [own[n]["mean error"] for n in numbers]
        ax.bar(places, means, width, yerr=errors, capsize=2, color=COLOURS[i], label=f"k = {k}")
    low, high = min(row["mean F"] for row in rows), max(row["mean F"] for row in rows)
    ax.set_ylim(low - 0.5 * (high - low) - 0.05, high + 0.3 * (high - low) + 0.05)
    ax.set_xticks(range(len(numbers)), [str(n) for n in numbers])
    ax.set(xlabel="n_R", ylabel="F-measure of tokens (%)", title=name)
    ax.legend(frameon=False, fontsize=8, ncols=len(ks))


if __name__ == "__main__":
    main()
