"""Exact factor graphs: this library beside pgmpy, alternating in one run, and how time grows with the graph.

    pip install pgmpy
    python benchmarks/factor_graphs.py

| table | ours | peer |
| --- | --- | --- |
| marginals | `FactorGraph(...).marginals()`, all variables | `VariableElimination.query`, one for each variable |
| calibration | the same | `BeliefPropagation.calibrate()`, then a query for each variable |
| best | `FactorGraph(...).argmax()` | `VariableElimination.map_query()` |
| growth | each question on a graph that is there | - |

Ours is measured with the graph made from arrays each time, and on a graph that is there; the peer's model is made
before. What the peer answers is compared with ours first. Times are of the processor; ratios above 1 are in our favour.
Growth is printed for four sizes each: a row says how many times what the row before costs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import trelliswork as tw
from timing import print_load, print_table

Arrays = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.float64]]
SECONDS = 2.0  # for each pair of calls


def main() -> None:
    """Print the tables."""
    print_load()
    try:
        beside_pgmpy()
    except ImportError:
        print("pgmpy is not installed: no peers")
    growth()


def beside_pgmpy() -> None:
    """Compare with pgmpy on trees and on narrow grids."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.inference import BeliefPropagation, VariableElimination

        rows = []
        for name, arrays in (
            ("tree, 10 variables, 3 labels", tree(10, 3)),
            ("tree, 30 variables, 3 labels", tree(30, 3)),
            ("tree, 30 variables, 10 labels", tree(30, 10)),
            ("grid 3 x 5, 2 labels", grid(3, 5, 2)),
            ("grid 4 x 6, 3 labels", grid(4, 6, 3)),
        ):
            model, made = pgmpy_model(arrays), tw.FactorGraph(*arrays)
            names = [str(v) for v in range(len(arrays[0]))]
            asked = VariableElimination(model)
            build = partial(tw.FactorGraph, *arrays)
            difference = max(abs(a - b).max() for a, b in zip(made.marginals(), each(asked, names), strict=True))
            ways: list[tuple[str, Any, Callable[[], object]]] = [
                ("marginals", "marginals", partial(each, asked, names)),
                ("calibration", "marginals", partial(calibrated, BeliefPropagation, model, names)),
            ]
            if len(names) <= 12:  # the peer lays all variables out in one table
                best = asked.map_query(names, show_progress=False)
                assert made.argmax().labels.tolist() == [int(best[name]) for name in names]
                ways.append(("best", "argmax", partial(asked.map_query, names, show_progress=False)))
            for title, question, theirs in ways:
                times = alternating(partial(ask_new, build, question), getattr(made, question), theirs)
                ratios = times[2] / times[0], times[2] / times[1]
                rows.append((f"{title}: {name}", *(t * 1e6 for t in times), *ratios, float(difference)))
        head = ("exact", "made and asked, us", "asked, us", "pgmpy, us", "times faster", "asked", "difference")
        print_table("against pgmpy", head, rows)


def ask_new(build: Callable[[], tw.FactorGraph], question: str) -> object:
    """Make a graph and ask it."""
    return getattr(build(), question)()


def each(asked: Any, names: list[str]) -> list[npt.NDArray[np.float64]]:
    """Ask for the marginals of every variable."""
    found = [asked.query([name], show_progress=False).values for name in names]
    return [values / values.sum() for values in found]


def calibrated(inference: Any, model: Any, names: list[str]) -> list[npt.NDArray[np.float64]]:
    """Pass messages over the junction tree, then ask for every variable."""
    passed = inference(model)
    passed.calibrate()
    return each(passed, names)


def growth() -> None:
    """Print how time grows with variables, labels and width."""
    questions: dict[str, Callable[[tw.FactorGraph], object]] = {
        "best": lambda graph: graph.argmax(),
        "log Z": lambda graph: graph.log_partition(),
        "marginals": lambda graph: graph.marginals(),
        "10 best": lambda graph: graph.kbest(10),
    }
    tables = {
        "variables of a tree, 5 labels: doubling doubles": [(n, tree(n, 5)) for n in (10_000, 20_000, 40_000, 80_000)],
        "columns of a grid of 4 rows, 4 labels: doubling doubles": [(n, grid(4, n, 4)) for n in (50, 100, 200, 400)],
        "labels of a tree of 2,000 variables: doubling takes 4 times": [(k, tree(2_000, k)) for k in (8, 16, 32, 64)],
        "labels of a grid of 2 x 30 (width 2): doubling takes 8 times": [(k, grid(2, 30, k)) for k in (8, 16, 32, 64)],
        "rows of a grid of 40 columns, 2 labels: one more takes twice": [(r, grid(r, 40, 2)) for r in (7, 8, 9, 10)],
    }
    for title, graphs in tables.items():
        rows = []
        before: list[float] = []
        for size, arrays in graphs:
            graph = tw.FactorGraph(*arrays)
            calls: list[Callable[[], object]] = [partial(tw.FactorGraph, *arrays)]
            calls += [partial(ask, graph) for ask in questions.values()]
            times = alternating(*calls, seconds=1.0)
            ratios = " ".join(f"{t / b:.1f}" for t, b in zip(times, before, strict=True)) if before else ""
            rows.append((size, f"{graph.width()[1]:,.0f}", *(t * 1e3 for t in times), ratios))
            before = times
        print_table(
            title, ("size", "table entries", "build ms", *(f"{q} ms" for q in questions), "times the row before"), rows
        )


def alternating(*asked: Callable[[], object], seconds: float = SECONDS) -> list[float]:
    """Return the least processor time of each, called in turns."""
    fastest = [float("inf")] * len(asked)
    end = time.perf_counter() + seconds
    runs = 0
    while runs < 3 or (time.perf_counter() < end and runs < 200):
        for i, ask in enumerate(asked):
            began = time.process_time()
            ask()
            fastest[i] = min(fastest[i], time.process_time() - began)
        runs += 1
    return fastest


def tree(n: int, k: int) -> Arrays:
    """Return a random tree with random scores."""
    rng = np.random.default_rng(n)
    edges = np.column_stack([np.arange(1, n), (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)])
    return rng.normal(size=(n, k)), edges, rng.normal(size=(n - 1, k, k))


def grid(height: int, width: int, k: int) -> Arrays:
    """Return a grid with random scores."""
    rng = np.random.default_rng(height * width)
    cells = np.arange(height * width).reshape(height, width)
    along = np.column_stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()])
    edges = np.concatenate([along, np.column_stack([cells[:-1].ravel(), cells[1:].ravel()])])
    return rng.normal(size=(height * width, k)), edges, rng.normal(size=(len(edges), k, k))


def pgmpy_model(arrays: Arrays) -> Any:
    """Return the same graph as pgmpy has it."""
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.models import DiscreteMarkovNetwork

    unary, edges, pairwise = arrays
    n, k = unary.shape
    model = DiscreteMarkovNetwork()
    model.add_nodes_from(str(v) for v in range(n))
    model.add_edges_from((str(a), str(b)) for a, b in edges.tolist())
    for v in range(n):
        model.add_factors(DiscreteFactor([str(v)], [k], np.exp(unary[v])))
    for (a, b), table in zip(edges.tolist(), pairwise, strict=True):
        model.add_factors(DiscreteFactor([str(a), str(b)], [k, k], np.exp(table)))
    return model


if __name__ == "__main__":
    main()
