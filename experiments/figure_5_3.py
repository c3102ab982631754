"""Figure 5.3: the hinge against the ramp loss on chunking when 0 to 20% of the training sentences have random labels.

The settings are those of Table 5.1. Every token of an outlier has a label drawn from all labels with equal
probability; with one seed, the outliers of a smaller share are among those of a larger one. The thesis: with
outliers, every algorithm is better with the ramp loss. ``--quick`` takes a part of the sentences and of the epochs,
and 0, 10 and 20%.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import trelliswork as tw
from common import published
from common.output import Report
from common.runs import percent, trained
from common.tasks import Part, chunking, tasks
from table_5_1 import learner_of
from trelliswork.plots.score_curves import COLOURS

SHARES, QUICK_SHARES = (0, 5, 10, 15, 20), (0, 10, 20)
SEED = 1


def main() -> None:
    """Print a row for each share of outliers."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    cells = published.TABLE_5_1[task.name]
    learners = {key: learner_of(*key, row, task.name, report) for key, row in cells.items()}
    rows = []
    for share in QUICK_SHARES if report.quick else SHARES:
        noisy = tw.evaluation.with_outliers(task.train.y, share / 100, random_state=SEED).labels
        found = trained(replace(task, train=Part(task.train.X, noisy)), learners, report.jobs)
        rows.append({"outliers %": share, **{f"{name}, {loss}": percent(c) for (name, loss), c in found.items()}})
    report.table("Figure 5.3: F-measure of tokens", rows)
    report.csv(rows)
    draw(rows, list(cells), report)
    for name in dict.fromkeys(name for name, _ in cells):
        gains = ", ".join(
            f"{row[f'{name}, ramp'] - row[f'{name}, hinge']:+.2f} at {row['outliers %']}%" for row in rows
        )
        report.finding(f"{name}: ramp - hinge is {gains}.")
    report.done()


def draw(rows: list[dict[str, Any]], cells: list[tuple[str, str]], report: Report) -> None:
    """Draw a panel of columns for each algorithm."""
    names = list(dict.fromkeys(name for name, _ in cells))
    with report.picture(1, len(names), width=4.0, height=3.6) as axes:
        scores = [value for row in rows for key, value in row.items() if key != "outliers %"]
        for panel, name in zip(axes, names, strict=True):
            for i, loss in enumerate(("hinge", "ramp")):
                places = [place + 0.4 * (i - 0.5) for place in range(len(rows))]
                heights = [row[f"{name}, {loss}"] for row in rows]
                panel.bar(places, heights, 0.38, color=COLOURS[i], label=loss)
            panel.set_ylim(min(scores) - 0.3, max(scores) + 0.5)
            panel.set_xticks(range(len(rows)), [str(row["outliers %"]) for row in rows])
            panel.set(xlabel="outliers (%)", ylabel="F-measure of tokens (%)", title=name)
            panel.legend(frameon=False, fontsize=8, loc="upper right")


if __name__ == "__main__":
    main()
