"""A trainer that prints a line for each iteration."""

from __future__ import annotations

from typing import Any

from trelliswork.compat.pycrfsuite import Trainer

__all__ = ["LinePerIterationTrainer"]


class LinePerIterationTrainer(Trainer):
    """Prints what is known of an iteration on one line, and in the end the scores of the held-out data."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print a line."""
        parts = ["Iter {num:<3} ", "time={time:<5.2f} ", "loss={loss:<8.2f} "]
        if "active_features" in info:
            parts.append("active={active_features:<5} ")
        if "avg_precision" in info:
            parts += [
                "precision={avg_precision:0.3f}  ",
                "recall={avg_recall:0.3f}  ",
                "F1={avg_f1:0.3f}  ",
                "Acc(item/seq)={item_accuracy_float:0.3f} {instance_accuracy_float:0.3f}  ",
            ]
        if "feature_norm" in info:
            parts.append("feature_norm={feature_norm:<8.2f}")
        print("".join(parts).format(**info).strip())

    def on_optimization_end(self, log: str) -> None:
        """Print the scores of the last iteration."""
        last = None if self.logparser is None else self.logparser.last_iteration
        if last and last.get("scores"):
            rows = [
                (label, score.precision, score.recall, score.f1 or 0, score.ref)
                for label, score in sorted(last["scores"].items())
            ]
            table = _table(("Label", "Precision", "Recall", "F1", "Support"), rows)
            size = len(table.splitlines()[0])
            print("=" * size)
            print(table)
            print("-" * size)
        super().on_optimization_end(log)


def _table(headers: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Return rows of a text and numbers below headers.

    Examples
    --------
    >>> print(_table(("Label", "F1", "Support"), [("B-NP", 0.5, 12), ("O", None, 0)]))
    Label       F1    Support
    -------  -----  ---------
    B-NP     0.500         12
    O                       0
    """
    texts = [["" if x is None else f"{x:.3f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    widths = [max(len(header) + 2, *(len(row[i]) for row in texts)) for i, header in enumerate(headers)]
    widths[1:] = [max(len(header), *(len(row[i + 1]) for row in texts)) for i, header in enumerate(headers[1:])]
    widths[1:] = [max(width, len(header) + 2) for width, header in zip(widths[1:], headers[1:], strict=True)]

    def line(cells: list[str]) -> str:
        first, *others = cells
        return "  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(others, widths[1:], strict=True))])

    return "\n".join(x.rstrip() for x in [line(list(headers)), line(["-" * w for w in widths]), *map(line, texts)])
