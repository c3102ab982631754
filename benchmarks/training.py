"""Training on CoNLL-2000 with the same attributes for everyone: time, memory, objective, accuracy.

The weights are those of (attribute, label) pairs that were seen, and the objective is the same: the sum of losses plus
|w|^2. What the peers do in an iteration is one evaluation of loss and gradient, and a little more at the first one.
python-crfsuite runs 20 iterations and its 100 are extrapolated from them, for the ratio anew in each turn; ``--full``
runs all 100. The optimum is this library's own, at a tight tolerance in double precision; on a part of the data
CRFsuite is run to the end as well, and the two optima are compared.

``--turns`` prints, in the place of all that, the same work by processor time, ours and python-crfsuite's in turns, with
the stages between the raw file and the optimum, and what these take by the clock: for a machine that others use, too.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import chunking
import trelliswork as tw
from chunking import C2, cache_folder, installed, peer, raw_file, read_sentences
from timing import best_seconds, print_load, print_rounds, print_table
from trelliswork import _core
from trelliswork.corpora.tables import read_table

WITHIN = 1.001  # of the optimal objective
TURNS, PEER_ITERATIONS = 5, 6
ALL, EVALUATION = "raw file to 0.1%", "loss and gradient"
PART = 300  # sentences on which CRFsuite is run to the end


def main(arguments: list[str]) -> None:
    """Print the tables."""
    if chunking.corpus_or_skip("training") is None:
        return
    print_load()
    if "--turns" in arguments:
        print_turns()
        return
    full = "--full" in arguments
    theirs = crfsuite(100 if full else 20)
    print_evaluations(theirs)
    print_to_optimum(theirs, full)
    print_memory(theirs)
    print_same_optimum()


def crfsuite(iterations: int) -> dict[str, Any]:
    """Return what python-crfsuite needs, with all feature lists held and with sentences streamed."""
    if not installed("pycrfsuite"):
        print("python-crfsuite is not installed: install the peers with `make bench`")
        return {}
    model = cache_folder() / f"training.{iterations}.crfsuite"
    held = peer("crfsuite", raw_file("train"), iterations, "lists", model)
    streamed = peer("crfsuite", raw_file("train"), 3, "stream", cache_folder() / "training.3.crfsuite")
    return {**held, "streamed_mib": streamed["peak_mib"], "model": str(model)}


def labeler(jobs: int) -> tw.SequenceLabeler:
    """Return this library's estimator of the task, with the solver that is the default."""
    return tw.SequenceLabeler(tw.CRF(l2=2 * C2), tw.Templates.load(chunking.TEMPLATE_FILE), n_jobs=jobs)


def oracle_of(path: Path) -> Any:
    """Return what a learner sees of a training file."""
    X, y = read_table(path)
    assert y is not None
    examples = _core.Examples(keep_names=False)
    examples.add(_core.ColumnSource(X.columns, tw.Templates.load(chunking.TEMPLATE_FILE).extractor()), y.codes)
    return _core.ChainOracle(examples, len(y.names), np.arange(len(y.names), dtype=np.int32))


def print_evaluations(theirs: dict[str, Any]) -> None:
    """One loss and gradient, with one thread and two, against the peers' iteration."""
    oracle = oracle_of(raw_file("train"))
    rng = np.random.default_rng(0)
    weights, gradient = rng.normal(scale=0.1, size=oracle.n_weights), np.empty(oracle.n_weights)
    seconds = {
        f"trelliswork, {threads(jobs)}{', double precision' * precise}": best_seconds(
            partial(oracle.loss, weights, gradient, jobs, precise), 3.0, 60
        )
        for precise in (False, True)
        for jobs in (1, 2)
    }
    single, double = list(seconds.values())[:2]
    if theirs:
        seconds["python-crfsuite, an iteration"] = theirs["seconds_per_iteration"]
    for module, name in (("chaine", "chaine"), ("underthesea_core", "underthesea")):
        if installed(module):
            found = peer(name, raw_file("train"), 4)
            seconds[f"{module.replace('_', '-')}, an iteration"] = found["seconds_per_iteration"]  # type: ignore[assignment]
    rows = [[name, 1e3 * found, f"{found / single:.1f}", f"{found / double:.1f}"] for name, found in seconds.items()]
    print_table(
        "One evaluation of loss and gradient",
        ["what", "milliseconds", "times trelliswork, 1 thread", "2 threads"],
        rows,
    )
    print(f"from one thread to two: {single / double:.2f} times faster")


def print_turns() -> None:
    """Print what each stage takes of the processors, all threads together, and how many times less that is."""
    target = WITHIN * optimum(raw_file("train"))
    rounds: list[dict[str, float]] = []
    for _ in range(TURNS):
        found: dict[str, float] = {}
        for jobs in (1, 2):
            for stage, seconds in stages(target, jobs).items():
                found[f"{stage}, {threads(jobs)}"] = 1e3 * seconds
        for stage, seconds in stages(target, 2, time.perf_counter).items():
            found[f"{stage}, 2 threads, by the clock"] = 1e3 * seconds
        if installed("pycrfsuite"):
            theirs: Any = peer(
                "crfsuite", raw_file("train"), PEER_ITERATIONS, "lists", cache_folder() / "turns.crfsuite"
            )
            iteration = 1e3 * theirs["seconds_per_iteration"]  # of the processor: it asks clock()
            found["python-crfsuite, an iteration"] = iteration
            for jobs in (1, 2):
                found[f"ratio: an iteration to {EVALUATION}, {threads(jobs)}"] = (
                    iteration / found[f"{EVALUATION}, {threads(jobs)}"]
                )
                found[f"ratio: 100 iterations to {ALL}, {threads(jobs)}"] = (
                    100 * iteration / found[f"{ALL}, {threads(jobs)}"]
                )
        rounds.append(found)
    print_rounds("Milliseconds of the processors, and ratios", rounds)


def stages(target: float, jobs: int, clock: Callable[[], float] = time.process_time) -> dict[str, float]:
    """Return the seconds of each stage from the raw file to an objective below the target."""
    moments = [clock()]
    X, y = read_table(raw_file("train"))
    assert y is not None
    moments.append(clock())
    examples = _core.Examples()
    source = _core.ColumnSource(X.columns, tw.Templates.load(chunking.TEMPLATE_FILE).extractor())
    examples.add(source, y.codes, n_jobs=jobs)
    moments.append(clock())
    oracle = _core.ChainOracle(examples, len(y.names), np.arange(len(y.names), dtype=np.int32), n_jobs=jobs)
    moments.append(clock())
    phases: dict[str, float] = {}

    def watch(iteration: Any) -> bool:
        phases[iteration.phase] = clock()
        return bool(iteration.phase != "sgd" and iteration.objective <= target)

    tw.CRF(l2=2 * C2).train(oracle, n_jobs=jobs, on_iteration=watch)
    moments += phases.values()
    names = ["read", "number attributes", "find units and lay them out", "stochastic passes", "L-BFGS to 0.1%"]
    found = dict(zip(names, np.diff(moments).tolist(), strict=True))
    found[ALL] = moments[-1] - moments[0]
    weights = np.random.default_rng(0).normal(scale=0.1, size=oracle.n_weights)
    gradient, spent = np.empty(oracle.n_weights), []
    for _ in range(10):
        began = clock()
        oracle.loss(weights, gradient, jobs, False)
        spent.append(clock() - began)
    found[EVALUATION] = min(spent)
    return found


def threads(jobs: int) -> str:
    """Return the number of threads in words."""
    return f"{jobs} thread{'s' * (jobs > 1)}"


def print_to_optimum(theirs: dict[str, Any], full: bool) -> None:
    """From the raw file to within 0.1% of the optimum, with the solver that is the default; in turns with the peer."""
    best = optimum(raw_file("train"))
    test = read_sentences(raw_file("test"))
    gold = [chunking.labels(sentence) for sentence in test]
    tokens = [[row[:2] for row in sentence] for sentence in test]
    runs: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    hundred = []  # iterations of the peer, in seconds
    for _ in range(TURNS):
        for jobs, found in runs.items():
            found.append(fit_until(WITHIN * best, jobs))
        if theirs:
            few: Any = peer("crfsuite", raw_file("train"), PEER_ITERATIONS, "lists", cache_folder() / "turns.crfsuite")
            hundred.append(100 * few["seconds_per_iteration"])
    rows: list[list[object]] = []
    for jobs, found in runs.items():
        f1 = f"{chunking.span_f1(gold, found[-1]['labeler'].predict(tokens)):.2f}"
        seconds = [run["reached"] for run in found]
        above = f"{found[-1]['objective'] / best - 1:.3%}"
        rows.append([f"trelliswork, {threads(jobs)}", median(seconds), min(seconds), max(seconds), above, f1])
        ends = [run["ended"] for run in found]
        above = f"{found[-1]['last'] / best - 1:.3%}"
        rows.append(["  until its own end", median(ends), min(ends), max(ends), above, f1])
    if theirs:
        rows += their_rows(theirs, best, full, gold, test)
    print_table(
        f"From the raw file to within 0.1% of the optimum: medians of {TURNS} turns, the least and the greatest",
        ["what", "seconds", "least", "greatest", "above the optimum", "span F1"],
        rows,
    )
    if theirs:
        ratios = {
            threads(jobs): [a / run["reached"] for a, run in zip(hundred, found, strict=True)]
            for jobs, found in runs.items()
        }
        print_table(
            "How many times faster than 100 iterations of python-crfsuite alone, extrapolated in each turn",
            ["trelliswork", "median", "least", "greatest"],
            [[name, f"{median(r):.1f}", f"{min(r):.1f}", f"{max(r):.1f}"] for name, r in ratios.items()],
        )


def their_rows(theirs: dict[str, Any], best: float, full: bool, gold: Any, test: Any) -> list[list[object]]:
    """Return what python-crfsuite did, for the table."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(theirs["model"])
    f1 = chunking.span_f1(gold, [tagger.tag(chunking.attribute_lists(sentence)) for sentence in test])
    hundred = theirs["train_seconds"] if full else theirs["seconds_per_iteration"] * 100
    said = "measured" if full else "extrapolated"
    return [
        ["python-crfsuite, attributes in Python and append", theirs["before_seconds"], "", "", "", ""],
        [
            f"python-crfsuite, {theirs['iterations']} iterations",
            theirs["train_seconds"],
            "",
            "",
            f"{theirs['objective'] / best - 1:.3%}",
            f"{f1:.2f}",
        ],
        [f"python-crfsuite, 100 iterations ({said})", hundred, "", "", "", ""],
    ]


def fit_until(target: float, jobs: int) -> dict[str, Any]:
    """Read and train with the default solver; note after how many seconds the objective was below the target."""
    seen: dict[str, Any] = {}
    began = time.perf_counter()

    def watch(iteration: Any) -> None:
        seen["last"] = iteration.objective
        if "reached" not in seen and iteration.phase != "sgd" and iteration.objective <= target:
            seen["reached"] = time.perf_counter() - began
            seen["objective"] = iteration.objective

    X, y = read_table(raw_file("train"))
    seen["labeler"] = labeler(jobs).fit(X, y, callback=watch)
    seen["ended"] = time.perf_counter() - began
    if "reached" not in seen:
        raise RuntimeError(f"training ended at {seen['last']}, above {target}")
    return seen


def optimum(path: Path) -> float:
    """Return the smallest objective, found once and kept in the cache folder."""
    kept = cache_folder() / f"{path.name}.optimum.{tw.__version__}.json"
    if kept.exists():
        return float(json.loads(kept.read_text())["objective"])
    trained = tw.CRF(l2=2 * C2, tol=1e-9, max_iter=3000).train(oracle_of(path), n_jobs=2)
    kept.write_text(json.dumps({"objective": trained.objective, "message": trained.message}))
    return trained.objective


def print_memory(theirs: dict[str, Any]) -> None:
    """Peak memory of processes that go from the raw file to a saved model; and the size of the model."""
    rows = []
    half = cache_folder() / "conll2000.train.half.txt"
    text = raw_file("train").read_bytes()
    half.write_bytes(text[: text.index(b"\n\n", len(text) // 2) + 2])
    for name, path in (("trelliswork train", raw_file("train")), ("  on half of the data", half)):
        model = cache_folder() / "training.tw"
        command = [sys.executable, "-m", "trelliswork", "train", str(path), "-o", str(model), "--quiet"]
        options = ["--features", str(chunking.TEMPLATE_FILE), "--set", f"l2={2 * C2}", "--jobs", "2"]
        child = chunking.run_child([*command, *options])
        rows.append([name, child["peak_mib"], model.stat().st_size / 2**20, child["wall"]])
    if theirs:
        rows.append(["python-crfsuite, feature lists", theirs["peak_mib"], theirs["model_mib"], theirs["wall"]])
        rows.append(["python-crfsuite, streamed", theirs["streamed_mib"], theirs["model_mib"], ""])
    print_table(
        "From the raw file to a saved model, each in a process", ["what", "peak MiB", "model MiB", "seconds"], rows
    )


def print_same_optimum() -> None:
    """The optimum is CRFsuite's: both to the end, on a part of the data that CRFsuite finishes soon."""
    if not installed("pycrfsuite"):
        return
    text = raw_file("train").read_bytes().split(b"\n\n")[:PART]
    path = cache_folder() / f"conll2000.train.first{PART}.txt"
    path.write_bytes(b"\n\n".join(text) + b"\n\n")
    theirs = peer("crfsuite", path, 2000, "stream", cache_folder() / "part.crfsuite")
    ours = optimum(path)
    print(
        f"\nThe optimum on the first {PART} sentences: trelliswork {ours:.6f}, CRFsuite {theirs['objective']:.6f}",
        end="",
    )
    print(f" after {theirs['iterations']} iterations; relative difference {abs(theirs['objective'] / ours - 1):.1e}")  # type: ignore[operator]


if __name__ == "__main__":
    main(sys.argv[1:])
