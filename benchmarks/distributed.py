"""Training on shards: one process that holds all of them beside two and four by `torchrun`, in turns, on this machine.

    python benchmarks/distributed.py [repeats] [iterations] [copies]

The corpus is CoNLL-2000 chunking with the CRFsuite tutorial's templates, so many times over, cut into four shards; a
CRF makes so many iterations of L-BFGS, of which the first is not counted. Seconds are by the clock, the median of the
repeats with the least and the greatest, which says little on a machine with fewer free cores than processes; and of
processors, where there are several processes of the busiest one, the least of the repeats. `fit` is
`SequenceLabeler.fit` with one thread. Where the time of process 0 goes: sums over its own shards; what remains is the
solver, numbers on their way from the whole to the shards and back, and what is sent and received. All of a machine's
processes wait for that, so process 0 takes a thread for each of them, and its processor seconds are those of all.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from typing import Any

import chunking
import trelliswork as tw
from timing import print_load, print_table
from trelliswork import distributed
from trelliswork.distributed.shards import ShardExamples

N_SHARDS = 4
LOCAL = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1"]
WAYS = {"fit": 0, "1 process": 1, "2 processes": 2, "4 processes": 4}


def main(arguments: list[str]) -> None:
    """Run every way in turns and print what it took."""
    if chunking.corpus_or_skip("distributed") is None:
        return
    if not chunking.installed("torch"):
        print("distributed is skipped: torch is not installed.")
        return
    repeats, iterations, copies = (int(x) for x in [*arguments, *("3", "30", "1")[len(arguments) :]])
    print_load()
    runs: dict[str, list[list[dict[str, Any]]]] = {way: [] for way in WAYS}
    for _ in range(repeats):
        for way, n_processes in WAYS.items():
            runs[way].append(measured(n_processes, iterations, copies))
    rows = []
    for way, found in runs.items():
        rows.append(
            [
                way,
                spread(clock(found)),
                statistics.median(clock(runs["1 process"])) / statistics.median(clock(found)),
                busiest(found, "train_cpu"),
                busiest(runs["1 process"], "train_cpu") / busiest(found, "train_cpu"),
                min(run[0]["train_cpu"] for run in found),
                min(run[0]["sums_cpu"] for run in found),
                busiest(found, "lay_out_cpu"),
                repr(found[-1][0]["objective"]),
                found[-1][0]["weights"],
            ]
        )
    head = [
        "",
        f"{iterations} iterations, clock s",
        "1 process is",
        "cpu s",
        "1 process is",
        "process 0",
        "of it sums",
        "lay out, cpu s",
        "objective",
        "weights",
    ]
    print_table(f"CoNLL-2000, {copies} times over, {repeats} rounds in turns", head, rows)
    print_load()


def clock(runs: list[list[dict[str, Any]]]) -> list[float]:
    """Seconds of each run by the clock."""
    return [float(run[0]["train_wall"]) for run in runs]


def spread(values: list[float]) -> str:
    """The median, the least and the greatest."""
    return f"{statistics.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def busiest(runs: list[list[dict[str, Any]]], what: str) -> float:
    """The least that the busiest process took in any run."""
    return min(max(float(process[what]) for process in run) for run in runs)


def measured(n_processes: int, iterations: int, copies: int) -> list[dict[str, Any]]:
    """Train in so many processes (0: by `fit`) and return what each of them took."""
    command = [sys.executable]
    if n_processes > 0:
        command += ["-m", "torch.distributed.run", "--nproc-per-node", str(n_processes), *LOCAL]
    command += [__file__, "--work", str(n_processes), str(iterations), str(copies)]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return sorted(found, key=lambda process: process["rank"])


def work(n_processes: int, iterations: int, copies: int) -> None:
    """Train as one of the processes, and print what it took."""
    learner = tw.CRF(l2=2 * chunking.C2, solver="lbfgs", max_iter=iterations, tol=1e-3)
    answers = timed_answers()
    labeler = tw.SequenceLabeler(learner, tw.Templates.load(chunking.TEMPLATE_FILE), n_jobs=1)
    sentences = chunking.read_sentences(chunking.raw_file("train", copies))
    X = [[row[:-1] for row in sentence] for sentence in sentences]
    y = [chunking.labels(sentence) for sentence in sentences]
    began = time.process_time(), time.perf_counter()
    first: list[tuple[float, float]] = []

    def watch(progress: Any) -> None:
        if not first:
            first.append((time.process_time(), time.perf_counter()))

    rank = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        if n_processes == 0:
            labeler.fit(X, y, callback=watch)
        else:
            with distributed.connect() as group:
                rank = group.rank
                began = time.process_time(), time.perf_counter()  # torch has been loaded

                def read(i: int) -> tuple[Any, Any]:
                    return distributed.slice_of(X, i, N_SHARDS), distributed.slice_of(y, i, N_SHARDS)

                distributed.fit(labeler, read, N_SHARDS, group=group, callback=watch)
    end = time.process_time(), time.perf_counter()
    # A process that serves knows of no iterations; there are two evaluations before the first one ends.
    start = first[0] if first else answers[2 * len(range(N_SHARDS)[rank::n_processes])][:2]
    facts = {
        "rank": rank,
        "lay_out_cpu": (answers[0][0] if answers else start[0]) - began[0],
        "train_cpu": end[0] - start[0],
        "train_wall": end[1] - start[1],
        "sums_cpu": sum(answer[2] for answer in answers if answer[0] >= start[0]),
    }
    if rank == 0:
        facts |= {"objective": labeler.history_[-1]["objective"], "weights": labeler.n_weights_}
    print(json.dumps(facts), flush=True)


def timed_answers() -> list[tuple[float, float, float]]:
    """Let shards note when they answer, by processor and clock, and how long that takes the processor."""
    times, answer = list[tuple[float, float, float]](), ShardExamples.answer

    def timed(self: ShardExamples, question: Any) -> Any:
        began = time.process_time(), time.perf_counter()
        found = answer(self, question)
        times.append((*began, time.process_time() - began[0]))
        return found

    ShardExamples.answer = timed  # type: ignore[method-assign]
    return times


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*map(int, sys.argv[2:]))
    else:
        main(sys.argv[1:])
