"""k-best: A* against the 1-best, and the growth with k of both methods."""

from __future__ import annotations

import numpy as np

import trelliswork as tw
from timing import best_seconds, print_load, print_table

SHAPES = [(50, 10), (50, 45), (200, 100), (1000, 20), (1000, 45), (10_000, 20)]  # (positions, labels)


def main() -> None:
    """Print the tables."""
    print_load()
    rows = []
    for length, n_labels in SHAPES:
        rng = np.random.default_rng(0)
        chain = tw.Chain(rng.normal(size=(length, n_labels)), rng.normal(size=(n_labels, n_labels)))
        core, labels, score = chain._batch._core, np.empty(length, dtype=np.int32), np.empty(1)
        single = best_seconds(lambda: core.argmax(labels, score))  # noqa: B023
        many = best_seconds(lambda: core.kbest(100, True))  # noqa: B023
        objects = best_seconds(lambda: chain.kbest(100))  # noqa: B023
        called = best_seconds(chain.argmax)
        rows.append([f"T={length} K={n_labels}", 1e6 * single, 1e6 * many, many / single, objects / called])
    print_table(
        "A*, 100 best against the best one: microseconds in the core, ratio in the core, ratio of the Python calls",
        ["chain", "1-best", "100-best", "ratio", "ratio with 100 Python objects"],
        rows,
    )
    rng = np.random.default_rng(0)
    chain = tw.Chain(rng.normal(size=(1000, 20)), rng.normal(size=(20, 20)))
    rows = []
    for k in (1, 10, 100, 1000, 10_000):
        astar = best_seconds(lambda: chain.kbest(k), budget=0.5)  # noqa: B023
        viterbi = best_seconds(lambda: chain.kbest(k, method="viterbi"), budget=0.5) if k <= 1000 else None  # noqa: B023
        rows.append(
            [
                str(k),
                1e3 * astar,
                1e6 * astar / k,
                1e3 * viterbi if viterbi else "-",
                1e6 * viterbi / k if viterbi else "-",
            ]
        )
    print_table(
        "Growth with k (T=1000, K=20): milliseconds, and microseconds per labelling",
        ["k", "A*", "A* each", "Viterbi", "Viterbi each"],
        rows,
    )


if __name__ == "__main__":
    main()
