"""Figure 6.2: Pegasos with the averaged sum loss, restricted and not, through the epochs, on chunking; k = 10.

Lambda is that of Table 6.1. The thesis: a minor difference. ``--quick`` takes a part of the sentences and 10 epochs.
"""

from __future__ import annotations

from common import published
from common.methods import pegasos
from common.output import Report
from common.runs import curve, trained
from common.tasks import chunking, tasks
from trelliswork.plots import score_curves

K, EPOCHS, QUICK_EPOCHS = 10, 100, 10
NAMES = ("PegASL", "ResPegASL", "PegASL-WP", "ResPegASL-WP")


def main() -> None:
    """Print where the curves end, and draw them."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    epochs = report.epochs(task.name, EPOCHS, QUICK_EPOCHS)
    lambdas = {name: published.TABLE_6_1[task.name][name].regularisation for name in NAMES}
    found = trained(
        task, {name: pegasos(name, lam or 1e-3, epochs, K) for name, lam in lambdas.items()}, report.jobs, curves=True
    )
    lines = {name: curve(candidate) for name, candidate in found.items()}
    shown = sorted({1, 5, 10, 20, 50, epochs} & set(range(1, epochs + 1)))
    rows = [{"epoch": epoch, **{name: scores[epoch - 1] for name, (_, scores) in lines.items()}} for epoch in shown]
    report.table(f"Figure 6.2: F-measure of tokens, k = {K}", rows)
    report.csv([{"method": name, **point} for name, candidate in found.items() for point in candidate.curves[0]])
    with report.picture() as axes:
        score_curves(lines, "epochs", "F-measure of tokens (%)", ax=axes, log=False)
    for name in ("PegASL", "PegASL-WP"):
        pairs = zip(lines[name][1], lines[f"Res{name}"][1], strict=True)
        apart = max(abs(a - b) for a, b in pairs)
        report.finding(f"{name}: restricted and not are never more than {apart:.3f} apart.")
    report.done()


if __name__ == "__main__":
    main()
