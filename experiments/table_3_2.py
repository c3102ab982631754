"""Table 3.2: the single best against the k-best version of each algorithm, by McNemar's test over 10-fold predictions.

Every token of the training parts is labelled by a model that did not see its sentence. C, epochs and k are those that
Table 3.1 prints, the k its best; the thesis searched for them. ``--quick`` has 3 folds of a part of the sentences.
"""

from __future__ import annotations

from typing import Any

import trelliswork as tw
from common import published
from common.methods import kbest_method
from common.output import MEASURED, PUBLISHED, Report
from common.tasks import Task, chunking, spanish, tasks, with_weights

QUICK_EPOCHS = 5
CRITICAL = 3.84  # chi-squared with one degree of freedom, 0.05


def main() -> None:
    """Print the table as published and as measured."""
    report = Report(__file__, __doc__ or "")
    both = with_weights(report.grown, tasks(report.quick, chunking, spanish))
    measured = {name: {task.name: compared(task, name, report) for task in both} for name in published.TABLE_3_2}
    printed = {
        name: {task: tw.evaluation.McNemar(*counts) for task, counts in row.items()}
        for name, row in published.TABLE_3_2.items()
    }
    tables = {"published": tw.evaluation.McNemarTable(printed), "measured": tw.evaluation.McNemarTable(measured)}
    for whose, table in tables.items():
        print(f"Table 3.2, {whose}: single best (rows: right, wrong) against k-best (columns: right, wrong)\n{table}\n")
    rows = [row_of(name, tables) for name in published.TABLE_3_2]
    report.table("McNemar's statistic of the totals, and tokens that the single best version labels wrongly", rows)
    report.csv([counts | {"of": whose} for whose, table in tables.items() for counts in flat(table)])
    draw(rows, report)
    for row in rows:
        better = "better" if row["k-best gains"] > 0 else "worse"
        clear = "significantly" if row["measured"] > CRITICAL else "not significantly"
        report.finding(f"{row['method']}: k-best is {better}, {clear} (statistic {row['measured']:.3f}).")
    report.done()


def compared(task: Task, name: str, report: Report) -> Any:
    """Return how the two versions of an algorithm differ on the held-out tokens of a task."""
    cells = dict(zip(published.KS, published.TABLE_3_1[task.name][name], strict=True))
    best = max(published.KS[1:], key=lambda k: cells[k].f)
    versions = {
        f"k={k}": task.labeler(
            kbest_method(name, cells[k].C, report.epochs(task.name, cells[k].epochs, QUICK_EPOCHS), k)
        )
        for k in (1, best)
    }
    result = tw.evaluation.cross_validate(
        versions,
        *task.train,
        folds=3 if report.quick else 10,
        scoring=task.measure,
        n_jobs=report.jobs,
        verbose=1,
    )
    single, several = (next(c for c in result.candidates if c.params["estimator"] == version) for version in versions)
    scores = f"{100 * single.mean:.3f} with k = 1, {100 * several.mean:.3f} with k = {best}"
    print(f"{task.name}, {name}: F-measure of tokens {scores}", flush=True)
    return result.compare(single, several)


def row_of(name: str, tables: dict[str, Any]) -> dict[str, Any]:
    """Return the statistics and the errors of an algorithm."""
    theirs, ours = (tables[whose].total(name) for whose in ("published", "measured"))
    return {
        "method": name,
        "published": theirs.statistic,
        "measured": ours.statistic,
        "p-value": f"{ours.p_value:.2g}",
        "k-best gains": ours.only_second - ours.only_first,
        "published errors %": 100 * (theirs.only_second + theirs.both_wrong) / theirs.n_tokens,
        "errors %": 100 * (ours.only_second + ours.both_wrong) / ours.n_tokens,
    }


def flat(table: Any) -> list[dict[str, Any]]:
    """Return a row for each test of a table."""
    return [
        {"method": name, "task": task, **counts}
        for name, tests in table.as_dict().items()
        for task, counts in tests.items()
    ]


def draw(rows: list[dict[str, Any]], report: Report) -> None:
    """Draw the statistics beside the critical value, below zero where the k-best version is worse, and the errors."""
    ours = [row["measured"] if row["k-best gains"] >= 0 else -row["measured"] for row in rows]
    panels = (
        ([row["published"] for row in rows], ours, "McNemar's statistic (below 0: k-best is worse)"),
        ([row["published errors %"] for row in rows], [row["errors %"] for row in rows], "wrong tokens, k = 1 (%)"),
    )
    with report.picture(1, 2, width=5.2, height=3.8) as axes:
        for panel, (theirs, own, label) in zip(axes, panels, strict=True):
            both = (("published", PUBLISHED, theirs, -0.2), ("measured", MEASURED, own, 0.2))
            for name, colour, heights, shift in both:
                panel.bar([place + shift for place in range(len(rows))], heights, 0.38, color=colour, label=name)
            panel.set_xticks(range(len(rows)), [row["method"] for row in rows])
            panel.set_ylabel(label)
            panel.margins(y=0.2)
            panel.legend(frameon=False, fontsize=8, ncols=2, loc="upper center")
        axes[0].axhline(0, color="black", linewidth=0.8)
        for limit in (CRITICAL, -CRITICAL):
            axes[0].axhline(limit, color="black", linewidth=1, linestyle="--")
        axes[0].set_title("dashed: significant at 0.05", fontsize=9)


if __name__ == "__main__":
    main()
