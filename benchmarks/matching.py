"""Matchings and alignments from bare scores: this library beside its peers, alternating in one run; growth by size.

    python benchmarks/matching.py

| table | ours | peer |
| --- | --- | --- |
| best | `Matching(scores).argmax()`, from the array to the pairs | `lapjv(costs)`, `linear_sum_assignment(costs)` |
| k best | `Matching(scores).kbest(k)` | the time of our best one |
| sums | `Matching(scores).log_partition()` and `.marginals()` | 2^n n |
| alignment | `Alignment(pairs, ...)`: best, sums, marginals | n^2 |

Scores are uniform on [0, 1). Peers get costs, which are made before the clock starts. Every total is compared with
ours. Times are of the processor, the best of calls that take turns; ratios above 1 are in our favour.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import trelliswork as tw
from timing import print_load, print_table

SECONDS = 1.5  # for each row of a table


def main() -> None:
    """Print the tables."""
    print_load()
    best()
    further()
    sums()
    alignments()


def best() -> None:
    """The best matching beside lap and SciPy, and how its time grows."""
    lapjv, assignment = _lapjv(), _linear_sum_assignment()
    rows: list[list[object]] = []
    before = 0.0
    for n in (10, 50, 100, 200, 500, 1000):
        scores = np.random.default_rng(n).random((n, n))
        costs = -scores
        calls: list[Callable[[], Any]] = [partial(_best, scores)]
        total = calls[0]().score
        if lapjv is not None:
            calls.append(partial(lapjv, costs))
            assert np.isclose(total, -calls[-1]()[0], rtol=1e-12)
        if assignment is not None:
            calls.append(partial(assignment, costs))
            assert np.isclose(total, scores[calls[-1]()].sum(), rtol=1e-12)
        times = alternating(*calls)
        row: list[object] = [f"n={n}", 1e6 * times[0]]
        for at, peer in enumerate((lapjv, assignment)):
            known = peer is not None
            index = 1 + at - (at == 1 and lapjv is None)
            row += [1e6 * times[index], times[index] / times[0]] if known else ["-", "-"]
        rows.append([*row, times[0] / before if before else "-"])
        before = times[0]
    head = ["size", "ours", "lap", "ratio", "SciPy", "ratio", "growth"]
    print_table("Best matching, from array to pairs: microseconds", head, rows)


def _best(scores: npt.NDArray[np.float64]) -> Any:
    return tw.Matching(scores).argmax()


def _further(scores: npt.NDArray[np.float64], k: int) -> Any:
    return tw.Matching(scores).kbest(k)


def further() -> None:
    """The k best, as so many times the best; each by itself, so that both find their data in cache."""
    rows = []
    for n in (20, 50, 100, 200, 500):
        scores = np.random.default_rng(n).random((n, n))
        for k in (10, 100) if n != 100 else (2, 10, 100, 1000):
            (one,), (many,) = alternating(partial(_best, scores)), alternating(partial(_further, scores, k))
            rows.append([f"n={n}, k={k}", 1e6 * one, 1e6 * many, many / one, 1e6 * (many - one) / (k - 1)])
    head = ["size", "best", "k best", "times the best", "each further one"]
    print_table("Further matchings: microseconds", head, rows)


def sums() -> None:
    """Sums over all matchings, and how their time grows beside 2^n n."""
    rows: list[list[object]] = []
    before: list[float] = []
    for n in (14, 16, 18, 20):
        matching = tw.Matching(np.random.default_rng(n).normal(size=(n, n)))
        times = alternating(matching.log_partition, matching.marginals)
        expected = 4 * n / (n - 2)
        grown = [now / then for now, then in zip(times, before, strict=True)] if before else ["-", "-"]
        rows.append([f"n={n}", *(1e3 * x for x in times), *grown, expected if before else "-"])
        before = times
    head = ["size", "log Z", "marginals", "growth of log Z", "of marginals", "of 2^n n"]
    print_table("Sums over matchings: milliseconds", head, rows)


def alignments() -> None:
    """Alignments of two sequences, and how their time grows beside n^2."""
    rows: list[list[object]] = []
    before: list[float] = []
    for n in (125, 250, 500, 1000):
        one = tw.Alignment(np.random.default_rng(n).normal(size=(n, n)), -1.0, -1.0, -0.5, -0.5)
        times = alternating(one.argmax, one.log_partition, one.marginals)
        grown = [now / then for now, then in zip(times, before, strict=True)] if before else ["-"] * 3
        rows.append([f"{n} x {n}", *(1e3 * x for x in times), *grown])
        before = times
    head = ["size", "best", "log Z", "marginals", "growth", "growth", "growth"]
    print_table("Alignments with affine gaps: milliseconds; four times as much would be n^2", head, rows)


def alternating(*calls: Callable[[], Any]) -> list[float]:
    """Return the best time of each call; they take turns."""
    times: list[list[float]] = [[] for _ in calls]
    began = time.perf_counter()
    while time.perf_counter() - began < SECONDS or len(times[0]) < 3:
        for own, call in zip(times, calls, strict=True):
            start = time.process_time()
            call()
            own.append(time.process_time() - start)
    return [min(own) for own in times]


def _lapjv() -> Any:
    try:
        from lap import lapjv
    except ImportError:
        print("\nlap is not installed: pip install lap")
        return None
    return lapjv


def _linear_sum_assignment() -> Any:
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        print("\nSciPy is not installed: pip install scipy")
        return None
    return linear_sum_assignment


if __name__ == "__main__":
    main()
