"""How soon each solver of `tw.CRF` comes near the minimum: passes over the data until it is within 1%, 0.1%, 0.01%.

The corpus is CoNLL-2000 chunking with the CRFsuite tutorial's templates. An evaluation of loss and gradient is a pass,
and so is a stochastic one; the sample that finds the step and the pass for the Hessian count, too. The minimum is the
lowest objective that any solver came to. ``--l1`` adds the penalties with L1, which take many times longer.
"""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

import chunking
import trelliswork as tw
from timing import print_table
from training import oracle_of
from trelliswork import _core

GAPS = (0.01, 0.001, 0.0001)
TOLERANCE = 1e-5  # believed to be within this of the minimum: far below the smallest gap
MOST = 1500  # iterations
LONG = "--l1"  # an argument: the penalties with which training takes many times longer
SOLVERS = {
    (2.0, 0.0): ("lbfgs", "sgd-lbfgs", "sgd"),
    (1.0, 0.5): ("owlqn", "sgd-owlqn", "sgd-proximal"),
    (0.0, 1.0): ("owlqn", "sgd-owlqn", "sgd-proximal"),
}


def main(arguments: list[str]) -> None:
    """Print a table for each penalty; those with L1 only if they are asked for."""
    if chunking.corpus_or_skip("solvers") is None:
        return
    oracle = oracle_of(chunking.raw_file("train"))
    for (l2, l1), solvers in SOLVERS.items():
        if l1 > 0 and LONG not in arguments:
            continue
        runs = {solver: passes_and_objectives(oracle, solver, l2, l1) for solver in solvers}
        minimum = min(objective for run in runs.values() for _, objective in run)
        rows = [[solver, *(first_within(run, minimum * (1 + gap)) for gap in GAPS)] for solver, run in runs.items()]
        title = f"l2={l2:g}, l1={l1:g}: passes until the objective is within ... of its minimum, {minimum:.2f}"
        print_table(title, ["solver", *(f"{gap:.2%}" for gap in GAPS)], rows)
        passes, objective = passes_and_objectives(oracle, "auto", l2, l1, tol=tw.CRF().tol)[-1]
        print(f"with its defaults it ends after {passes:.0f} passes, {objective / minimum - 1:.3%} above", flush=True)


def passes_and_objectives(
    oracle: Any, solver: str, l2: float, l1: float, tol: float = TOLERANCE
) -> list[tuple[float, float]]:
    """Train; return, for each iteration, the passes so far and the objective."""
    seen: list[tuple[float, float]] = []

    def watch(iteration: Any) -> None:
        objective = iteration.objective
        if iteration.phase == "sgd":  # which knows only an estimate
            objective = _core.exact_objective(oracle, iteration.weights(), l2, l1, 2)
        seen.append((iteration.facts["passes"], objective))

    learner = tw.CRF(l2=l2, l1=l1, solver=solver, tol=tol, max_iter=30 if solver == "sgd" else MOST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.errors.ConvergenceWarning)
        learner.train(oracle, n_jobs=2, on_iteration=watch)
    return seen


def first_within(run: list[tuple[float, float]], target: float) -> str:
    """Return the passes after which the objective first was as low as that, or a dash."""
    passes = next((passes for passes, objective in run if objective <= target), math.inf)
    return "-" if math.isinf(passes) else f"{passes:.0f}"


if __name__ == "__main__":
    main(sys.argv[1:])
