"""Cuts on grids: this library beside its peers, alternating in one run; ratios above 1 are in our favour.

    python benchmarks/cuts.py                 # all tables, several minutes
    python benchmarks/cuts.py cuts memory     # some: cuts, pseudoflow, memory, growth, reuse, expansion, roof

| table | ours | peer |
| --- | --- | --- |
| cuts | `Grid(unary, potts).argmax()`, from arrays to labels | PyMaxflow: nodes, edges, flow, segments |
| pseudoflow | the same | thinhpf, whose network is built arc by arc in Python: its flow alone is timed, on integers |
| memory | the peak of a process of its own, less what it had before | PyMaxflow |
| reuse | `with_scores(...).argmax()` after 1% of the cells changed | the same as a new grid |
| expansion | `Grid(...).argmax("expansion")` | gco-wrapper, the same integers; its energy beside ours |
| roof | `Grid(...).partial()` | thinqpbo, its solve alone |

Two labels: uniform noise, or a checkerboard under noise, 4 neighbours, one Potts weight. All have one thread; times are
of the processor, the median of the runs. What a peer answers is compared with ours first.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import trelliswork as tw
from timing import print_load, print_table

Array = npt.NDArray[Any]
WEIGHTS = (0.1, 0.5, 1.0)


def main() -> None:
    """Print the tables that are asked for."""
    tables = {
        "cuts": cuts,
        "pseudoflow": pseudoflow,
        "memory": memory,
        "growth": growth,
        "reuse": reuse,
        "expansion": expansion,
        "roof": roof,
    }
    if len(sys.argv) == 5 and sys.argv[1] == "--peak":
        print(peak(sys.argv[2], int(sys.argv[3]), sys.argv[4]))
        return
    print_load()
    for name in sys.argv[1:] or tables:
        tables[name]()


def gains(n: int, kind: str) -> Array:
    """What label 1 has over label 0 at each cell."""
    rng = np.random.RandomState(0)
    if kind == "uniform":
        return np.asarray(rng.rand(n, n) - 0.5)
    a = np.linspace(0, 6 * np.pi, n)
    return np.asarray(0.25 * np.sign(np.sin(a)[:, None] * np.cos(a)[None]) + 0.3 * rng.randn(n, n))


def ours(gain: Array, weight: float) -> Any:
    """Return our answer, from the array of gains."""
    return tw.Grid(np.stack([np.zeros_like(gain), gain], axis=-1), weight).argmax()


def pymaxflow(gain: Array, weight: float) -> tuple[float, Array]:
    """Return the flow and the segments, as PyMaxflow's users have them."""
    import maxflow

    graph = maxflow.Graph[float](gain.size, 2 * gain.size)
    ids = graph.add_grid_nodes(gain.shape)
    graph.add_grid_edges(ids, weight)
    graph.add_grid_tedges(ids, np.maximum(gain, 0), np.maximum(-gain, 0))
    return graph.maxflow(), graph.get_grid_segments(ids)


def cuts() -> None:
    """The twelve cuts of two labels."""
    if _missing("maxflow", "PyMaxflow"):
        return
    rows, ratios = [], []
    for n, kind, weight in itertools.product((256, 1024), ("uniform", "blobs"), WEIGHTS):
        gain = gains(n, kind)
        mine, other = alternating(lambda: ours(gain, weight), lambda: pymaxflow(gain, weight), 5 if n < 1000 else 3)  # noqa: B023
        flow, _ = pymaxflow(gain, weight)
        score = np.maximum(gain, 0).sum() - flow + 2 * n * (n - 1) * weight
        difference = abs(ours(gain, weight).score - score) / abs(score)
        rows.append([f"{n}x{n} {kind} {weight}", 1e3 * mine, 1e3 * other, other / mine, f"{difference:.0e}"])
        ratios.append(other / mine)
    print_table("Cuts, two labels, array to labels: ms", ["grid", "ours", "PyMaxflow", "ratio", "off by"], rows)
    print(f"ratio: least {min(ratios):.2f}, median {statistics.median(ratios):.2f}")


def pseudoflow() -> None:
    """The flow alone, on integers, beside the pseudoflow algorithm."""
    if _missing("thinhpf", "thinhpf"):
        return
    import thinhpf

    rows = []
    for kind, weight in itertools.product(("uniform", "blobs"), WEIGHTS):
        n = 128
        gain = np.round(1000 * gains(n, kind))
        whole = int(1000 * weight)
        times: list[float] = []
        for _ in range(3):
            solver = _hpf(thinhpf, gain, whole)
            began = time.process_time()
            solver.mincut()
            times.append(time.process_time() - began)
        found = _seconds(lambda: ours(gain, whole), 3)  # noqa: B023
        other = statistics.median(times)
        rows.append([f"{n}x{n} {kind} {weight}", 1e3 * found, 1e3 * other, other / found])
    print_table("Pseudoflow: ms, theirs without building", ["grid", "ours, all of it", "thinhpf", "ratio"], rows)


def _hpf(thinhpf: Any, gain: Array, weight: int) -> Any:
    n = gain.size
    solver = thinhpf.hpf(n + 2, 4 * n, capacity_type="int32")
    solver.add_node(n + 2)
    solver.set_source(n)
    solver.set_sink(n + 1)
    cells = np.arange(n).reshape(gain.shape)
    for v, g in enumerate(gain.ravel().astype(int).tolist()):
        if g > 0:
            solver.add_edge(n, v, g)
        elif g < 0:
            solver.add_edge(v, n + 1, -g)
    for a, b in ((cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])):
        for first, second in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True):
            solver.add_edge(first, second, weight)
            solver.add_edge(second, first, weight)
    return solver


def memory() -> None:
    """The peak of each, in a process of its own."""
    if _missing("maxflow", "PyMaxflow"):
        return
    rows = []
    for n, kind in itertools.product((512, 1024), ("uniform", "blobs")):
        used = {}
        for name in ("ours", "pymaxflow"):
            command = [sys.executable, os.path.abspath(__file__), "--peak", name, str(n), kind]
            used[name] = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        per_cell = {name: 2**20 * mib / n**2 for name, mib in used.items()}
        share = used["ours"] / used["pymaxflow"]
        rows.append([f"{n}x{n} {kind}", used["ours"], used["pymaxflow"], share, *per_cell.values()])
    head = ["grid", "ours", "PyMaxflow", "share", "bytes a cell, ours", "theirs"]
    print_table("Memory beyond the array of gains, Potts weight 0.1: MiB", head, rows)


def peak(name: str, n: int, kind: str) -> float:
    """Return the MiB that a cut takes at most, beyond what is there before."""
    gain = gains(n, kind)
    ask = ours if name == "ours" else pymaxflow
    ask(gains(16, kind), 0.1)  # what the library itself takes
    before = _status("VmRSS")
    ask(gain, 0.1)
    return _status("VmHWM") - before


def _status(what: str) -> float:
    """Return what the system says of this process, in MiB; its ``ru_maxrss`` would begin with the parent's peak."""
    with open("/proc/self/status", encoding="ascii") as status:
        found = next(line for line in status if line.startswith(f"{what}:"))
    return int(found.split()[1]) / 1024


def growth() -> None:
    """Time for four sizes, each with four times the cells of the one before."""
    rows = []
    for kind, weight in itertools.product(("uniform", "blobs"), (0.1, 0.5)):
        times = [_seconds(lambda: ours(gains(n, kind), weight), 3 if n < 1000 else 1) for n in (128, 256, 512, 1024)]  # noqa: B023
        exponent = np.log(times[-1] / times[0]) / np.log(64)
        rows.append([f"{kind} {weight}", *(1e3 * t for t in times), f"n^{exponent:.2f}"])
    print_table("Growth with the number of cells n: ms", ["grid", "128^2", "256^2", "512^2", "1024^2", "growth"], rows)


def reuse() -> None:
    """Cuts again, where a few cells have changed."""
    rows = []
    for kind, weight in itertools.product(("uniform", "blobs"), WEIGHTS):
        gain = gains(512, kind)
        rng = np.random.default_rng(0)
        unary = np.stack([np.zeros_like(gain), gain], axis=-1)
        grid = tw.Grid(unary, weight, reuse=True)
        grid.argmax()
        again, fresh = [], []
        for _ in range(5):
            unary = unary.copy()
            cells = rng.integers(512, size=(2, 2621))
            unary[(*cells, 1)] += 0.1 * rng.normal(size=2621)
            grid = grid.with_scores(unary)
            began = time.process_time()
            found = grid.argmax()
            again.append(time.process_time() - began)
            other = tw.Grid(unary, weight)
            began = time.process_time()
            assert abs(other.argmax().score - found.score) < 1e-9 * abs(found.score)
            fresh.append(time.process_time() - began)
        mine, new = statistics.median(again), statistics.median(fresh)
        rows.append([f"512x512 {kind} {weight}", 1e3 * mine, 1e3 * new, new / mine])
    print_table("1% of the cells changed by a little: ms", ["grid", "from the old flow", "from nothing", "ratio"], rows)


def expansion() -> None:
    """Alpha-expansion of integers: energy and time."""
    if _missing("gco", "gco-wrapper"):
        return
    import gco

    rows, ratios, above = [], [], 0
    for n, kind, smooth, weight, k in itertools.product(
        (128,), ("noise", "patches"), ("potts", "truncated", "linear"), (0.1, 0.3, 1.0), (3, 10)
    ):
        costs = np.round(1000 * label_costs(n, k, kind)).astype(np.int32)
        far = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
        most = {"potts": 1, "truncated": 2, "linear": k}[smooth]
        table = np.round(1000 * weight * np.minimum(far, most)).astype(np.int32)
        ones = np.ones((n - 1, n), dtype=np.int32), np.ones((n, n - 1), dtype=np.int32)
        scores, pairs = -costs.astype(float), -table.astype(float)

        def peer() -> Any:
            return gco.cut_grid_graph(costs, table, *ones, n_iter=-1)  # noqa: B023

        def mine() -> Any:
            return tw.Grid(scores, pairs).argmax("expansion")  # noqa: B023

        seconds, other = alternating(mine, peer, 3)
        theirs = -tw.Grid(scores, pairs).score(peer().reshape(n, n).astype(np.int32))
        energy = -mine().score
        above += energy > theirs
        ratios.append(other / seconds)
        rows.append([f"{n}x{n} {kind} {smooth} {weight} K={k}", 1e3 * seconds, 1e3 * other, other / seconds])
        rows[-1] += [f"{energy:.0f}", f"{theirs:.0f}"]
    head = ["grid", "ours", "gco", "ratio", "energy", "gco's"]
    print_table("Alpha-expansion until no label helps: ms", head, rows)
    print(f"ratio: least {min(ratios):.2f}, median {statistics.median(ratios):.2f}; energies above gco's: {above}")


def label_costs(n: int, k: int, kind: str) -> Array:
    """Costs of labels: noise, or patches of labels under noise."""
    rng = np.random.RandomState(0)
    if kind == "noise":
        return np.asarray(rng.rand(n, n, k))
    truth = rng.randint(k, size=(8, 8)).repeat(n // 8, 0).repeat(n // 8, 1)
    costs = 0.7 * rng.randn(n, n, k)
    costs[np.arange(n)[:, None], np.arange(n)[None], truth] -= 1.0
    return np.asarray(costs)


def roof() -> None:
    """Roof duality, random pairs."""
    if _missing("thinqpbo", "thinqpbo"):
        return
    import thinqpbo

    rows = []
    for n, spread in itertools.product((64, 128), (0.3, 0.6, 1.0)):
        rng = np.random.default_rng(0)
        unary = rng.normal(size=(n, n, 2))
        pairs = [spread * rng.normal(size=(n, n - 1)), spread * rng.normal(size=(n - 1, n))]
        grid = tw.Grid(unary, pairs)
        times = []
        for _ in range(3):
            judge = _qpbo(thinqpbo, unary, pairs)
            began = time.process_time()
            judge.solve()
            times.append(time.process_time() - began)
        labels = np.array([max(judge.get_label(i), -1) for i in range(n * n)])
        found = grid.partial()
        seconds = _seconds(grid.partial, 3)
        other = statistics.median(times)
        undecided = f"{100 * float(found.undecided.mean()):.1f}%"
        same = bool((labels == found.labels.ravel()).all())
        rows.append([f"{n}x{n} spread {spread}", 1e3 * seconds, 1e3 * other, other / seconds, undecided, same])
    head = ["grid", "ours, all of it", "thinqpbo", "ratio", "undecided", "same labels"]
    print_table("Roof duality: ms, theirs without building", head, rows)


def _qpbo(thinqpbo: Any, unary: Array, pairs: list[Array]) -> Any:
    judge = thinqpbo.QPBODouble()
    judge.add_node(unary.size // 2)
    for i, (zero, one) in enumerate((-unary).reshape(-1, 2).tolist()):
        judge.add_unary_term(i, zero, one)
    cells = np.arange(unary.size // 2).reshape(unary.shape[:2])
    for (a, b), scores in zip(((cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])), pairs, strict=True):
        for first, second, s in zip(a.ravel().tolist(), b.ravel().tolist(), scores.ravel().tolist(), strict=True):
            judge.add_pairwise_term(first, second, -s, 0.0, 0.0, -s)
    return judge


def alternating(mine: Callable[[], object], peer: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the medians of the processor's seconds of two calls that take turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, spent in zip((mine, peer), times, strict=True):
            spent.append(_seconds(call, 1))
    return statistics.median(times[0]), statistics.median(times[1])


def _seconds(call: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return statistics.median(times)


def _missing(module: str, package: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        print(f"\n{package} is not installed: pip install {package}")
        return True
    return False


if __name__ == "__main__":
    main()
