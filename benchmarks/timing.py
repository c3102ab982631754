"""Small helpers that every benchmark uses: the best of several runs, and tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from statistics import median

# (batch, positions, labels): the shapes that all chain benchmarks share.
SHAPES = [(32, 50, 10), (32, 50, 45), (8, 200, 100), (1, 10000, 20)]


def best_seconds(
    question: Callable[[], object],
    budget: float = 1.0,
    most: int = 200,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Time a call: the fastest of as many runs as fit in the budget, after one to warm up if that was short."""
    fastest, spent, runs = float("inf"), 0.0, 0
    while runs < most and (spent < budget or runs == 0):
        began = clock()
        question()
        seconds = clock() - began
        fastest, spent, runs = min(fastest, seconds), spent + seconds, runs + 1
    return fastest


def alternating(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the shortest time of each, all of them run in turns."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, run in ways.items():
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def print_rounds(title: str, rounds: Sequence[dict[str, float]]) -> None:
    """Print the median of each figure over the rounds, the least and the greatest."""
    rows = [
        [name, median(found), min(found), max(found)] for name in rounds[0] for found in [[r[name] for r in rounds]]
    ]
    print_table(f"{title}, {len(rounds)} rounds in turns", ["what", "median", "least", "greatest"], rows)


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their heads, aligned; numbers to three digits."""
    cells = [[_text(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(head), *cells]) for i in range(len(head))]
    print(f"\n{title}")
    for line in [list(head), ["-" * width for width in widths], *cells]:
        print(
            "  ".join(
                text.rjust(width) if i else text.ljust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            )
        )


def print_load() -> None:
    """Print how busy the machine is, for the reader to judge the noise."""
    if hasattr(os, "getloadavg"):
        print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors")


def _text(cell: object) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
