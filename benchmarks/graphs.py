"""Loopy factor graphs from bare scores: what searches find, what they prove and how long they take.

    python benchmarks/graphs.py

| table | ours | beside it |
| --- | --- | --- |
| grids | `FactorGraph.argmax` by each method | ad3 2.2.1 as measured under Python 3.6; it installs no more |
| small grids | `argmax(method="trw", prove=True)` | HiGHS on the local polytope (`scipy.optimize.milp`) |
| sums | `beliefs("bp")` and `beliefs("trw")` | pgmax 0.6 where it is installed, 100 rounds |
| growth | ten iterations at four sizes | - |

Grids have 4 neighbours, scores are normal, tables are Potts with 0.5 for equal labels, or normal: the instances of
ad3's measurement. Scores are maximised: the score is what was found, the bound what nothing exceeds.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

import trelliswork as tw
from timing import print_load, print_table

Floats = npt.NDArray[np.float64]
GRIDS = (  # side, labels, Potts, milliseconds of ad3, what it came to
    (10, 2, True, 2.7, "integral"),
    (10, 5, True, 7.5, "integral"),
    (10, 5, False, 127.0, "unsolved; by branch and bound unsolved in 5497 ms"),
    (20, 5, True, 59.0, "integral"),
    (20, 5, False, 591.0, "unsolved"),
    (50, 2, True, 221.0, "integral"),
    (50, 2, False, 146.0, "0.2% fractional"),
    (50, 5, True, 471.0, "unsolved, 1.7% fractional"),
    (50, 5, False, None, "-"),
)


def main() -> None:
    """Print the tables."""
    print_load()
    grids()
    one_percent()
    small_grids()
    sums()
    growth()


def grids() -> None:
    """What each method finds on ad3's instances."""
    rows = []
    for side, n_labels, potts, peer, status in GRIDS:
        graph = _graph(side, n_labels, potts)
        for method in ("auto", "trw", "ad3"):
            seconds, found = _timed(lambda g=graph, m=method: g.argmax(method=m, time_limit=20.0))  # type: ignore[misc]
            rows.append(
                [
                    f"{side}x{side}",
                    n_labels,
                    "Potts" if potts else "random",
                    method,
                    f"{found.score:.3f}",
                    f"{found.score + found.gap:.3f}",
                    "exact" if found.exact else f"{100 * found.gap / abs(found.score):.2f}%",
                    f"{1e3 * seconds:.1f}",
                    "-" if peer is None else f"{peer:.1f}",
                    status,
                ]
            )
    header = ["grid", "labels", "tables", "method", "score", "bound", "gap", "ms", "ad3 ms", "ad3's answer"]
    print_table("Grids of ad3's measurement", header, rows)


def one_percent() -> None:
    """How long it takes until the gap is below 1%."""
    rows = []
    graph = _graph(50, 5, False)
    for limit in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0):
        seconds, found = _timed(lambda s=limit: graph.argmax(time_limit=s), rounds=1)  # type: ignore[misc]
        gap = 100 * found.gap / found.score
        rows.append([limit, f"{seconds:.2f}", f"{found.score:.2f}", f"{found.score + found.gap:.2f}", f"{gap:.2f}%"])
    print_table("50 x 50, 5 labels, random, under a time limit", ["limit s", "took s", "score", "bound", "gap"], rows)


def small_grids() -> None:
    """Proved answers beside HiGHS."""
    rows = []
    for side, n_labels in ((4, 3), (5, 5), (8, 3), (8, 5)):
        graph = _graph(side, n_labels, False)
        seconds, found = _timed(lambda g=graph: g.argmax(method="trw", prove=True))  # type: ignore[misc]
        began = time.perf_counter()
        score = _by_highs(graph)
        peer = time.perf_counter() - began
        agree = abs(score - found.score) <= 1e-6 * abs(score) and found.exact
        rows.append(
            [
                f"{side}x{side}",
                n_labels,
                f"{found.score:.4f}",
                "yes" if agree else f"NO: {score:.4f}",
                f"{1e3 * seconds:.1f}",
                f"{1e3 * peer:.1f}",
                f"{peer / seconds:.0f}",
            ]
        )
    print_table("Proved, beside HiGHS", ["grid", "labels", "score", "equal", "ms", "HiGHS ms", "ratio"], rows)


def sums() -> None:
    """Beliefs of weakly coupled grids, exact ones beside them where they can be had."""
    rows = []
    for side in (5, 10, 20, 50):
        graph = _graph(side, 5, True)
        exact = graph.log_partition() if side <= 5 else float("nan")
        pgmax = _by_pgmax(graph)
        for method in ("bp", "trw"):
            seconds, found = _timed(lambda g=graph, m=method: g.beliefs(m))  # type: ignore[misc]
            rows.append(
                [
                    f"{side}x{side}",
                    method,
                    f"{found.log_partition:.4f}",
                    f"{exact:.4f}",
                    found.iterations,
                    "yes" if found.converged else "no",
                    f"{1e3 * seconds:.1f}",
                    "-" if pgmax is None else f"{1e3 * pgmax:.1f}",
                ]
            )
    header = ["grid", "method", "log Z", "exact", "iterations", "converged", "ms", "pgmax ms"]
    print_table("Sums on Potts grids of 5 labels", header, rows)


def growth() -> None:
    """Time of ten iterations at four sizes: it should grow as the number of cells."""
    rows = []
    for side in (32, 64, 128, 256):
        graph = _graph(side, 5, False)
        best, _ = _timed(lambda g=graph: g.argmax(method="trw", iterations=10, tolerance=0.0))  # type: ignore[misc]
        total, _ = _timed(lambda g=graph: g.beliefs("bp", iterations=10, tolerance=0.0))  # type: ignore[misc]
        rows.append([f"{side}x{side}", f"{1e3 * best:.1f}", f"{1e9 * best / side**2:.0f}", f"{1e3 * total:.1f}"])
    print_table("Ten iterations", ["grid", "argmax(trw) ms", "ns a cell", "beliefs(bp) ms"], rows)


def _graph(side: int, n_labels: int, potts: bool) -> tw.FactorGraph:
    rng = np.random.RandomState(0)  # as in the measurement of ad3
    unary = rng.randn(side * side, n_labels)
    cells = np.arange(side * side).reshape(side, side)
    right = np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()], 1)
    down = np.stack([cells[:-1].ravel(), cells[1:].ravel()], 1)
    edges = np.concatenate([right, down])
    tables = 0.5 * np.eye(n_labels) if potts else rng.randn(len(edges), n_labels, n_labels)
    return tw.FactorGraph(unary, edges, tables)


def _timed(call: Any, rounds: int = 3) -> tuple[float, Any]:
    """Return the least of a few times, and what the call gave."""
    times: list[float] = []
    while len(times) < rounds and sum(times) < 5.0:
        began = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - began)
    return min(times), found


def _by_highs(graph: tw.FactorGraph) -> float:
    """Return the best score by an integer program over shares of labels and of pairs."""
    starts = np.concatenate([[0], np.cumsum(graph.n_labels)])
    scores = [np.concatenate(graph.unary)]
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    sums: list[float] = []

    def equation(places: npt.NDArray[np.int64], minus: int | None, total: float) -> None:
        rows.extend([len(sums)] * len(places))
        columns.extend(places.tolist())
        values.extend([1.0] * len(places))
        if minus is not None:
            rows.append(len(sums))
            columns.append(minus)
            values.append(-1.0)
        sums.append(total)

    for v in range(graph.n_variables):
        equation(np.arange(starts[v], starts[v + 1]), None, 1.0)
    at = int(starts[-1])
    for (a, b), table in zip(graph.edges.tolist(), graph.pairwise, strict=True):
        entries = np.arange(table.size).reshape(table.shape) + at
        at += table.size
        scores.append(table.ravel())
        for x in range(table.shape[0]):
            equation(entries[x], int(starts[a]) + x, 0.0)
        for x in range(table.shape[1]):
            equation(entries[:, x], int(starts[b]) + x, 0.0)
    c = -np.concatenate(scores)
    matrix = coo_array((values, (rows, columns)), shape=(len(sums), at))
    whole = np.concatenate([np.ones(starts[-1]), np.zeros(at - starts[-1])])
    found = milp(c, constraints=LinearConstraint(matrix, sums, sums), bounds=Bounds(0, 1), integrality=whole)
    return float(-found.fun)


def _by_pgmax(graph: tw.FactorGraph) -> float | None:
    """Return how long pgmax takes for 100 damped rounds once it is compiled; None where it is not installed."""
    try:
        from pgmax import fgraph, fgroup, infer, vgroup
    except ImportError:
        return None
    n_labels = int(graph.n_labels[0])
    variables = vgroup.NDVarArray(num_states=n_labels, shape=(graph.n_variables,))
    whole = fgraph.FactorGraph(variable_groups=variables)
    pairs = [[variables[a], variables[b]] for a, b in graph.edges.tolist()]
    tables = np.array(graph.pairwise)
    whole.add_factors(fgroup.PairwiseFactorGroup(variables_for_factors=pairs, log_potential_matrix=tables))
    bp = infer.build_inferer(whole.bp_state, backend="bp")
    start = bp.init(evidence_updates={variables: np.array(graph.unary)})

    def run() -> Any:
        return bp.get_beliefs(bp.run(start, num_iters=100, damping=0.5, temperature=1.0))[variables].block_until_ready()

    run()
    seconds, _ = _timed(run)
    return seconds


if __name__ == "__main__":
    main()
