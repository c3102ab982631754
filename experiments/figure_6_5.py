"""Figure 6.5: Pegasos with the max-margin loss of k examples and the averaged sum loss of k outputs; chunking, k = 10.

Lambda is that of Table 6.1. The thesis: both come to the same; by epochs the averaged sum loss is faster, by updates
the max-margin loss, whose updates are of k examples. ``--quick`` takes a part of the sentences and 15 epochs.
"""

from __future__ import annotations

from common import published
from common.methods import pegasos
from common.output import Report
from common.runs import curve, trained
from common.tasks import chunking, tasks
from trelliswork.plots import score_curves

K, EPOCHS, QUICK_EPOCHS = 10, 100, 15
NAMES = ("PegMML", "PegMML-WP", "PegASL", "PegASL-WP")


def main() -> None:
    """Print the scores by epochs and by updates, and draw them."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    epochs = report.epochs(task.name, EPOCHS, QUICK_EPOCHS)
    learners = {
        name: pegasos(name, published.TABLE_6_1[task.name][name].regularisation or 1e-3, epochs, K) for name in NAMES
    }
    found = trained(task, learners, report.jobs, curves=True)
    by_epoch = {name: curve(candidate) for name, candidate in found.items()}
    n = len(task.train.X)
    updates = {name: -(-n // K) if "MML" in name else n for name in NAMES}  # of one epoch
    by_update = {name: ([x * updates[name] for x in xs], ys) for name, (xs, ys) in by_epoch.items()}
    shown = sorted({1, 5, 10, 20, 50, epochs} & set(range(1, epochs + 1)))
    rows = [{"epoch": epoch, **{name: by_epoch[name][1][epoch - 1] for name in NAMES}} for epoch in shown]
    report.table(f"Figure 6.5: F-measure of tokens, k = {K}", rows)
    report.csv(
        [{"method": m, "updates": p["iteration"] * updates[m], **p} for m, c in found.items() for p in c.curves[0]]
    )
    with report.picture(1, 2, width=5.4) as (left, right):
        score_curves(by_epoch, "epochs", "F-measure of tokens (%)", ax=left, log=False)
        score_curves(by_update, "updates", "F-measure of tokens (%)", ax=right, log=True)
    for name in ("PegMML", "PegMML-WP"):
        other = name.replace("MML", "ASL")
        mine, theirs = by_epoch[name][1], by_epoch[other][1]
        report.finding(
            f"{other} - {name} is {theirs[0] - mine[0]:+.3f} after one epoch, {theirs[-1] - mine[-1]:+.3f} after "
            f"{epochs}; after {updates[other]} updates {theirs[0] - mine[K - 1]:+.3f}."
        )
    report.done()


if __name__ == "__main__":
    main()
