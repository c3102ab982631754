"""Objective against time, for learners that minimise the same thing, on CoNLL-2000 or the first part of it.

    python benchmarks/objectives.py FOLDER [--sentences N] [--seconds S] [--jobs N] [--C X] [--l2 X]

Two objectives, each with the learners that minimise it: max-margin, ``|w|^2 / 2 + C * sum of hinge losses``, and the
CRF's, ``sum of log losses + l2/2 |w|^2``. Each learner has S seconds of processor time; the objective of its weights is
computed exactly after passes that are further and further apart, and that time is not counted. What is said to be
within 1% is within 1% of the lowest objective that any of them found; the highest dual value, which is below the
minimum, is printed beside it.

Writes objectives.csv and, when matplotlib is there (the extra ``plots``), objectives.png to FOLDER, and prints who came
within 10%, 1% and 0.1% of the optimum when.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import chunking
import trelliswork as tw
from timing import print_load, print_table
from trelliswork import _core
from trelliswork.corpora.tables import read_table
from trelliswork.learners.training import Iteration

WITHIN = (0.1, 0.01, 0.001)
FOREVER = 10**6
MARGIN, LOG = "max-margin", "log loss"


@dataclass
class Run:
    """What a learner reached when: seconds and objectives, and the highest dual value it told of."""

    objective: str
    name: str
    seconds: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    passes: list[int] = field(default_factory=list)
    dual: float = -np.inf


def main() -> None:
    """Run all learners, write the table and the picture, print who reached what."""
    arguments = parsed()
    if chunking.corpus_or_skip("objectives") is None:
        return
    print_load()
    path = part(arguments.sentences)
    runs = [
        follow(Run(objective, name), make, path, arguments)
        for objective, name, make in learners(arguments.C, arguments.l2)
    ]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    best = {objective: optimum([run for run in runs if run.objective == objective]) for objective in (MARGIN, LOG)}
    write_csv(arguments.folder / "objectives.csv", runs, best)
    plot(arguments.folder / "objectives.png", runs, best)
    for objective in (MARGIN, LOG):
        print_reached(objective, [run for run in runs if run.objective == objective], best[objective])


def parsed() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, help="where objectives.csv and objectives.png go")
    parser.add_argument("--sentences", type=int, default=0, help="how many of the training sentences; 0 for all")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time for each learner")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--C", type=float, default=1.0, help="of max-margin")
    parser.add_argument("--l2", type=float, default=2.0, help="of the CRF")
    return parser.parse_args()


def learners(C: float, l2: float) -> list[tuple[str, str, Callable[[int], Any]]]:
    """Objective, name and maker (given the number of examples) of every learner that is there."""
    found = [
        (
            MARGIN,
            "FrankWolfe",
            known("batch", "FrankWolfe", C=C, epochs=FOREVER, tol=0.0, averaged=False, gap_every=50),
        ),
        (MARGIN, "FrankWolfe, averaged", known("batch", "FrankWolfe", C=C, epochs=FOREVER, tol=0.0, gap_every=50)),
        (MARGIN, "CuttingPlane", known("batch", "CuttingPlane", C=C, epochs=FOREVER, tol=0.0)),
        (MARGIN, "SDM", known("dual", "SDM", C=C, epochs=FOREVER, averaged=False)),
        (MARGIN, "Pegasos", known("primal", "Pegasos", by_lam=C, epochs=FOREVER, averaged=False)),
        (MARGIN, "Subgradient", known("primal", "Subgradient", by_lam=C, epochs=FOREVER, step="root", average_from=1)),
        (
            MARGIN,
            "ExponentiatedGradient",
            known("exponentiated_gradient", "ExponentiatedGradient", C=C, loss="max-margin", epochs=FOREVER, tol=0.0),
        ),
        (LOG, "CRF, L-BFGS", known("crf", "CRF", l2=l2, solver="lbfgs", max_iter=FOREVER, tol=0.0)),
        (LOG, "CRF, SGD then L-BFGS", known("crf", "CRF", l2=l2, solver="sgd-lbfgs", max_iter=FOREVER, tol=0.0)),
        (
            LOG,
            "ExponentiatedGradient",
            known("exponentiated_gradient", "ExponentiatedGradient", l2=l2, epochs=FOREVER, tol=0.0, gap_every=50),
        ),
    ]
    return [(objective, name, make) for objective, name, make in found if make is not None]


def known(module: str, kind: str, by_lam: float | None = None, **params: Any) -> Callable[[int], Any] | None:
    """Return what makes the learner, with the parameters that it has; None when there is no such learner."""
    if importlib.util.find_spec(f"trelliswork.learners.{module}") is None:
        return None
    learner = getattr(importlib.import_module(f"trelliswork.learners.{module}"), kind, None)
    if learner is None:
        return None
    has = set(learner().get_params())

    def make(n_examples: int) -> Any:
        given = dict(params)
        if by_lam is not None:
            given |= {"lam": 1.0 / (by_lam * n_examples)} if "lam" in has else {"C": by_lam}
        return learner(**{name: value for name, value in given.items() if name in has})

    return make


def part(n_sentences: int) -> Path:
    """Return the training file, or one with its first sentences."""
    whole = chunking.raw_file("train")
    if not n_sentences:
        return whole
    path = chunking.cache_folder() / f"conll2000.train.first{n_sentences}.txt"
    sentences = whole.read_text(encoding="utf-8").split("\n\n")[:n_sentences]
    path.write_text("\n\n".join(sentences).rstrip() + "\n\n", encoding="utf-8")
    return path


def oracle_of(path: Path, use: str) -> Any:
    """Return what a learner sees of a training file: the weights are those seen in gold, the same for all."""
    X, y = read_table(path)
    assert y is not None
    examples = _core.Examples(keep_names=False)
    examples.add(_core.ColumnSource(X.columns, tw.Templates.load(chunking.TEMPLATE_FILE).extractor()), y.codes)
    return _core.ChainOracle(examples, len(y.names), np.arange(len(y.names), dtype=np.int32), use=use)


def follow(run: Run, make: Callable[[int], Any], path: Path, arguments: argparse.Namespace) -> Run:
    """Train for the given time; the objective is looked at after 1, 2, 3, ... passes, then 20% further apart each."""
    oracle = oracle_of(path, "fast" if run.name.startswith("CRF") else "best")
    judge = oracle_of(path, "best" if run.objective == MARGIN else "fast")
    learner = make(oracle.n_examples)
    looking, due, began = 0.0, 1.0, time.process_time()

    def look(iteration: Iteration) -> bool:
        nonlocal looking, due
        stopped = time.process_time()
        spent = stopped - began - looking
        run.dual = max(run.dual, iteration.facts.get("dual", -np.inf))
        if iteration.number >= due or spent > arguments.seconds:
            run.seconds.append(spent)
            run.passes.append(iteration.number)
            run.values.append(value_of(run.objective, judge, iteration.weights(), arguments))
            due = max(iteration.number + 1, 1.2 * iteration.number)
        looking += time.process_time() - stopped
        return bool(spent > arguments.seconds)

    learner.train(oracle, n_jobs=arguments.jobs, on_iteration=look)
    print(f"{run.objective}, {run.name}: {run.values[-1]:.6g} after {run.passes[-1]} passes", flush=True)
    return run


def value_of(objective: str, judge: Any, weights: Any, arguments: argparse.Namespace) -> float:
    """Return the objective of these weights, exactly."""
    if objective == LOG:
        return float(_core.exact_objective(judge, weights, arguments.l2, 0.0, arguments.jobs))
    return float(weights @ weights / 2 + arguments.C * _core.hinge_sum(judge, weights, arguments.jobs))


def optimum(runs: list[Run]) -> tuple[float, float]:
    """Return the lowest objective found and the highest dual value, which bound the minimum."""
    return min(min(run.values) for run in runs), max(run.dual for run in runs)


def write_csv(path: Path, runs: list[Run], best: dict[str, tuple[float, float]]) -> None:
    """One line for each look at a learner."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["objective", "learner", "passes", "seconds", "value", "above_dual_bound"])
        for run in runs:
            bound = best[run.objective][1]
            for passes, seconds, value in zip(run.passes, run.seconds, run.values, strict=True):
                rows.writerow(
                    [run.objective, run.name, passes, f"{seconds:.4f}", f"{value:.6f}", f"{value - bound:.6f}"]
                )


def plot(path: Path, runs: list[Run], best: dict[str, tuple[float, float]]) -> None:
    """How far above the optimum, as a part of it, against seconds; both on logarithmic scales."""
    if importlib.util.find_spec("matplotlib") is None:
        print("no picture: matplotlib is not installed (the extra 'plots')")
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(12, 5))
    for panel, objective in zip(panels, (MARGIN, LOG), strict=True):
        least = best[objective][0]
        for run in (run for run in runs if run.objective == objective):
            above = [max(value / least - 1.0, 1e-6) for value in run.values]
            panel.loglog(run.seconds, above, marker=".", label=run.name)
        for part_of_it in WITHIN:
            panel.axhline(part_of_it, color="grey", linewidth=0.5)
        panel.set(title=objective, xlabel="seconds", ylabel="part above the lowest found")
        panel.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def print_reached(objective: str, runs: list[Run], best: tuple[float, float]) -> None:
    """Who came how near when."""
    least, bound = best
    rows = []
    for run in runs:
        row: list[object] = [run.name]
        for part_of_it in WITHIN:
            when = next(
                (i for i, value in enumerate(run.values) if value <= (1.0 + part_of_it) * least), len(run.values)
            )
            reached = when < len(run.values)
            row += [run.seconds[when], run.passes[when]] if reached else ["-", "-"]
        rows.append([*row, run.values[-1] / least - 1.0])
    print_table(
        f"{objective}: the lowest found is {least:.6g}, the highest dual value {bound:.6g}",
        ["learner", *(head for part in WITHIN for head in (f"s to {100 * part:g}%", "passes")), "left at the end"],
        rows,
    )


if __name__ == "__main__":
    main()
