"""How near the kernels are to what the processor can do at best.

The bound of a question is the larger of two times: its arithmetic at the measured peak rates of this processor
(multiply-adds or max-plus steps, and exponentials), and its memory traffic at the measured copying speed. Rates are
measured by loops that do nothing else. Padding of labels to whole vectors, reductions, checks and calls are not in the
bound: they are what is lost.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import trelliswork as tw
from timing import SHAPES, best_seconds, print_load, print_table
from trelliswork import _core

ROUNDS = 200_000


def main() -> None:
    """Print the machine's rates, then every question against its bound, with one thread and with two."""
    print_load()
    print(f"kernels: {_core.kernels()}, {_core.kernel_width()} doubles in a vector")
    rates = {threads: machine_rates(threads) for threads in (1, 2)}
    print_table(
        "Peak rates of this machine, in thousand millions a second",
        ["threads", "multiply-adds", "max-plus steps", "exponentials", "bytes copied"],
        [[str(n), *(rate / 1e9 for rate in rates[n].values())] for n in rates],
    )
    rows = []
    for shape in SHAPES:
        for threads in (1, 2):
            if threads > shape[0]:
                continue
            rows += [[str(shape), threads, *row] for row in against_bound(shape, threads, rates[threads])]
    print_table(
        "Measured time against the bound (the batch is built beforehand)",
        ["(batch, positions, labels)", "threads", "question", "microseconds", "bound", "ratio"],
        rows,
    )


def machine_rates(threads: int) -> dict[str, float]:
    """Operations and bytes per second of all threads together."""
    found = {}
    for probe in ("multiply-add", "max-plus", "exponential"):
        rounds = ROUNDS // 10 if probe == "exponential" else ROUNDS
        done = _core.probe(probe, 1)

        def run(_: int, probe: str = probe, rounds: int = rounds) -> float:
            return _core.probe(probe, rounds)

        with ThreadPoolExecutor(threads) as pool:
            seconds = best_seconds(lambda: list(pool.map(run, range(threads))), budget=0.5, most=20)
        found[probe] = threads * rounds * done / seconds
    source = [np.ones(2**21) for _ in range(threads)]  # 16 MiB each
    target = [np.empty_like(array) for array in source]
    with ThreadPoolExecutor(threads) as pool:
        seconds = best_seconds(lambda: list(pool.map(np.copyto, target, source)), budget=0.5, most=20)
    found["bytes"] = 2 * sum(array.nbytes for array in source) / seconds
    return found


def against_bound(shape: tuple[int, int, int], threads: int, rates: dict[str, float]) -> list[list[object]]:
    """Time the three questions of one shape."""
    n_chains, length, n_labels = shape
    rng = np.random.default_rng(0)
    batch = tw.ChainBatch(rng.normal(size=shape), rng.normal(size=(n_labels, n_labels)), n_jobs=threads)
    steps = n_chains * (length - 1) * n_labels**2
    cells = n_chains * length * n_labels
    bounds = {
        # exp of every score; one multiply-add per edge; scores read
        "log_partition": (steps / rates["multiply-add"] + cells / rates["exponential"], 8 * cells),
        # the backward pass as well, and one product per cell; forward rows written and read, marginals written
        "marginals": ((2 * steps + cells) / rates["multiply-add"] + cells / rates["exponential"], 4 * 8 * cells),
        # one addition and one maximum per edge; scores read, Viterbi rows written and read
        "argmax": (steps / rates["max-plus"], 3 * 8 * cells),
    }
    outputs = {
        "log_partition": (np.empty(n_chains),),
        "marginals": (np.empty((n_chains * length, n_labels)),),
        "argmax": (np.empty(n_chains * length, dtype=np.int32), np.empty(n_chains)),
    }
    rows: list[list[object]] = []
    for question, (arithmetic, traffic) in bounds.items():
        ask = getattr(batch._core, question)
        seconds = best_seconds(lambda: ask(*outputs[question]))  # noqa: B023
        bound = max(arithmetic, traffic / rates["bytes"])
        rows.append([question, 1e6 * seconds, 1e6 * bound, seconds / bound])
    return rows


if __name__ == "__main__":
    main()
