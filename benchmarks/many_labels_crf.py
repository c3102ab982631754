"""A CRF with hundreds of labels: the Brown corpus to 1% of the optimum, and how a pass grows with the labels.

    python benchmarks/many_labels_crf.py [--jobs 2] [--l2 1.0] [--growth] [--brown]

Brown has 472 tags; every tenth text is held out (1,045,389 tokens with 461 tags are left), the features are the ready
set "pos". A first process trains until the objective is believed to be within 1e-3 of its minimum; that minimum is
taken to be the last objective less what the solver believes is still to be gained. A second process trains to the
iteration in which the first one was within 1% of it, and is what is measured: seconds, passes over the data, VmHWM (the
most memory that was ever resident, corpus and Python included), the share of held-out tokens that are tagged right.

Growth: loss and gradient of 20,000 tokens, 10 to 2,000 labels. Labels have Zipf's frequencies, and each is followed by
17 others, as in Brown; with weights for pairs that were seen, and with weights for all pairs. `rows` is what is used
for few labels: whole rows of weights and the whole matrix of transitions.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import trelliswork as tw
from chunking import cache_folder, data_folder
from timing import print_load, print_table
from trelliswork import _core
from trelliswork.corpora.tables import read_table

WITHIN = 1.01  # of the optimal objective
LABELS = (10, 30, 100, 200, 472, 1000, 2000)
TOKENS, FOLLOWERS, ATTRIBUTES = 20_000, 17, 12


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--brown", action="store_true", help="only Brown")
    parser.add_argument("--growth", action="store_true", help="only growth")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        print(json.dumps(run(json.loads(given.run))))
        return
    print_load()
    if not given.growth:
        print_brown(given.jobs, given.l2)
    if not given.brown:
        print_growth(given.jobs)


# Brown.


def print_brown(jobs: int, l2: float) -> None:
    """Train twice, the second time to 1%."""
    folder = data_folder()
    if folder is None or not (folder / "brown").exists():
        print("Brown is skipped: set TRELLISWORK_DATA to a folder with brown/ in it.")
        return
    files = [str(path) for path in split_brown(folder / "brown")]
    job = {"train": files[0], "test": files[1], "jobs": jobs, "l2": l2}
    long = in_a_process({**job, "tol": 1e-3, "max_iter": 1000})
    last = long["iterations"][-1]
    optimum = last["objective"] - last["gap"]
    enough = next(row for row in long["iterations"] if row["phase"] != "sgd" and row["objective"] <= WITHIN * optimum)
    found = in_a_process({**job, "tol": 0.0, "max_iter": enough["number"]})
    print(f"optimum at least {optimum:.1f} (last objective {last['objective']:.1f}, {last['passes']:.0f} passes)")
    rows = [
        ["seconds from the file to the model", found["seconds"]],
        ["of the processor", found["cpu"]],
        ["seconds of training alone", found["iterations"][-1]["seconds"]],
        ["passes over the data", found["iterations"][-1]["passes"]],
        ["objective, as a part of the optimum", found["iterations"][-1]["objective"] / optimum],
        ["VmHWM, MiB", found["peak"]],
        ["weights", found["weights"]],
        ["held-out tokens right, %", found["accuracy"]],
        ["the same at the end of the long run", long["accuracy"]],
    ]
    print_table(f"Brown, features='pos', CRF(l2={l2:g}), {jobs} threads", ["to 1% of the optimum", ""], rows)


def split_brown(folder: Path) -> tuple[Path, Path]:
    """Write the corpus as two column files: nine texts of ten, and every tenth."""
    train, test = cache_folder() / "brown.train.txt", cache_folder() / "brown.test.txt"
    if train.exists() and test.exists():
        return train, test
    with gzip.open(folder / "sentence_files.txt.gz", "rt") as file:
        texts = [line.split("\t")[1] for line in file]
    held_out = set(sorted(set(texts))[9::10])
    with gzip.open(folder / "brown.txt.gz", "rt") as file:
        sentences = file.read().strip("\n").split("\n\n")
    for path, wanted in ((train, False), (test, True)):
        chosen = [s for s, text in zip(sentences, texts, strict=True) if (text in held_out) == wanted]
        path.write_text("\n\n".join(chosen) + "\n")
    return train, test


def in_a_process(job: dict[str, Any]) -> dict[str, Any]:
    """Return what `run` finds in a process of its own."""
    command = [sys.executable, __file__, "--run", json.dumps(job)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Train, then tag what was held out; the peak is that of training."""
    began, cpu = time.perf_counter(), time.process_time()
    X, y = read_table(job["train"])
    learner = tw.CRF(l2=job["l2"], tol=job["tol"], max_iter=job["max_iter"])
    labeler = tw.SequenceLabeler(learner, "pos", n_jobs=job["jobs"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        labeler.fit(X, y)
    found = {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "peak": peak_mib(),
        "weights": labeler.n_weights_,
        "iterations": [
            {
                "number": row["iteration"],
                "phase": row["phase"],
                "objective": row["objective"],
                "seconds": row["seconds"],
                "passes": row["passes"],
                "gap": row.get("gap", float("inf")),
            }
            for row in labeler.history_
        ],
    }
    X, y = read_table(job["test"])
    assert y is not None
    right = [a == b for ours, gold in zip(labeler.predict(X), y, strict=True) for a, b in zip(ours, gold, strict=True)]
    return {**found, "accuracy": 100.0 * float(np.mean(right))}


def peak_mib() -> float:
    """Return VmHWM."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


# Growth with the labels.


def print_growth(jobs: int) -> None:
    """Print milliseconds of the processor for one loss and gradient."""
    rows = []
    for n_labels in LABELS:
        cells: list[object] = [n_labels]
        for combinations in ("seen", "transitions"):
            for use in ("blocks", "rows"):
                if use == "rows" and n_labels > 472:  # a minute a pass, and gigabytes
                    cells.append("")
                    continue
                oracle = made_up(n_labels, combinations, use)
                cells.append(1e3 * seconds(oracle, jobs))
        rows.append(cells)
    head = ["labels", "seen pairs", "the same, rows", "all pairs", "the same, rows"]
    print_table(f"Loss and gradient of {TOKENS:,} tokens, ms of the processor, {jobs} threads", head, rows)


def made_up(n_labels: int, combinations: str, use: str) -> Any:
    """Return an oracle of sentences of 20 tokens whose attributes depend on their labels."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, n_labels + 1)
    cumulated = np.cumsum(frequency) / frequency.sum()
    followers = np.searchsorted(cumulated, rng.random((n_labels, FOLLOWERS))).clip(0, n_labels - 1)
    labels = np.empty(TOKENS, np.int64)
    label = 0
    for t, choice in enumerate(rng.integers(0, FOLLOWERS, TOKENS)):
        labels[t] = label = followers[label, choice]
    lengths = np.full(TOKENS // 20, 20, np.int64)
    # Frequent attributes meet many labels, rare ones few.
    kinds = rng.integers(0, 10 ** rng.integers(1, 6, (TOKENS, ATTRIBUTES)))
    known = rng.random((TOKENS, ATTRIBUTES)) < 0.5
    keys = (kinds + np.where(known, (labels[:, None] + 1) * 10**6, 0)) * ATTRIBUTES + np.arange(ATTRIBUTES)
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # keys are hashes
    starts = np.arange(TOKENS + 1, dtype=np.int64) * ATTRIBUTES
    examples = _core.Examples(keep_names=False)
    examples.add(_core.KeySource(lengths, starts, mixed.ravel()), labels.astype(np.int32))
    order = np.arange(n_labels, dtype=np.int32)
    return _core.ChainOracle(examples, n_labels, order, 1, combinations, use=use)


def seconds(oracle: Any, jobs: int) -> float:
    """Return the least of three: seconds of the processor, all threads together."""
    weights, gradient = np.random.default_rng(1).normal(scale=0.1, size=oracle.n_weights), np.empty(oracle.n_weights)
    oracle.loss(weights, gradient, jobs, False)
    spent = []
    for _ in range(3):
        before = time.process_time()
        oracle.loss(weights, gradient, jobs, False)
        spent.append(time.process_time() - before)
    return min(spent)


if __name__ == "__main__":
    main()
