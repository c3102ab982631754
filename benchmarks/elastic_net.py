"""Spanish names with L1 and L2, python-crfsuite and `tw.CRF` in turns: objective against time.

    python benchmarks/elastic_net.py [--rounds 2] [--optimum]

The features are those of sklearn-crfsuite's tutorial (CoNLL-2002, all transitions), c1 = c2 = 0.1 for CRFsuite, whose
penalty is c1 |w|_1 + c2 |w|^2: l1 = 0.1 and l2 = 0.2 here. CRFsuite makes 100 iterations. What is looked for is the
time until `tw.CRF` has an objective as low as CRFsuite's then. Both objectives are sums of -log p by the core, with the
penalty of the weights; CRFsuite's model is read from its file, and what it says itself must agree. Times are of the
processor for one thread, of the clock for two; reading features is left out for both (``append`` there, `tw.oracle`
here). ``--optimum`` goes on until the objective is believed to be within 1e-6 of the minimum and prints what the
optimality conditions leave: the largest violation, and the lower bound of the minimum that strong convexity gives,
objective - |least subgradient|^2 / (2 l2).
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trelliswork as tw
from trelliswork import _core

C1 = C2 = 0.1
L1, L2 = C1, 2 * C2
ITERATIONS = 100  # of CRFsuite


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--optimum", action="store_true", help="go on to the minimum")
    arguments = parser.parse_args()
    path = Path(os.environ.get("TRELLISWORK_DATA", ".")) / "conll2002" / "esp.train.gz"
    if not path.exists():
        print("elastic_net: skipped, TRELLISWORK_DATA has no conll2002/esp.train.gz")
        return
    import pycrfsuite

    sentences = list(read(path))
    x = [[features(sentence, i) for i in range(len(sentence))] for sentence in sentences]
    y = [[token[-1] for token in sentence] for sentence in sentences]
    labeler = tw.SequenceLabeler(tw.CRF(l1=L1, l2=L2))
    oracle = tw.oracle(labeler, x, y)
    trainer = pycrfsuite.Trainer(
        "lbfgs", {"c1": C1, "c2": C2, "max_iterations": ITERATIONS, "feature.possible_transitions": True}, verbose=False
    )
    for items, labels in zip(x, y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(items), labels)
    ratios: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(arguments.rounds):
        seconds, target = crfsuite(trainer, x, y)
        print(f"round {turn + 1}: CRFsuite {seconds[0]:.2f} s of the processor, {seconds[1]:.2f} s, {target:.2f}")
        for n_jobs in (1, 2):
            run = trained(oracle, n_jobs, target)
            took = run[-1][n_jobs - 1]
            ratios[n_jobs].append(seconds[n_jobs - 1] / took)
            told = ", ".join(f"{point[2]:.0f} after {point[n_jobs - 1]:.2f} s" for point in run[4::10])
            print(f"  {n_jobs} thread(s): {run[-1][2]:.2f} after {took:.2f} s, {ratios[n_jobs][-1]:.1f} times ({told})")
    for n_jobs, found in ratios.items():
        print(f"{n_jobs} thread(s): {statistics.median(found):.1f} times as fast as CRFsuite's {ITERATIONS} iterations")
    if arguments.optimum:
        to_the_optimum(oracle)


def read(path: Path) -> Iterator[list[list[str]]]:
    """Yield the sentences, each a list of (word, tag, label)."""
    with gzip.open(path, "rt", encoding="latin-1") as lines:
        sentence: list[list[str]] = []
        for line in lines:
            if line.strip():
                sentence.append(line.split())
            elif sentence:
                yield sentence
                sentence = []
        if sentence:
            yield sentence


def features(sentence: list[list[str]], i: int) -> dict[str, Any]:
    """Return the attributes that sklearn-crfsuite's tutorial gives a token."""
    word, tag = sentence[i][:2]
    found: dict[str, Any] = {"bias": 1.0, "word.lower()": word.lower(), "word[-3:]": word[-3:], "word[-2:]": word[-2:]}
    found |= {"word.isdigit()": word.isdigit(), **shape("", word, tag)}
    for step, name, edge in ((-1, "-1:", "BOS"), (1, "+1:", "EOS")):
        if 0 <= i + step < len(sentence):
            word, tag = sentence[i + step][:2]
            found |= {name + "word.lower()": word.lower(), **shape(name, word, tag)}
        else:
            found[edge] = True
    return found


def shape(name: str, word: str, tag: str) -> dict[str, Any]:
    """Return what is said of a word and of its neighbours alike."""
    case = {name + "word.isupper()": word.isupper(), name + "word.istitle()": word.istitle()}
    return case | {name + "postag": tag, name + "postag[:2]": tag[:2]}


def crfsuite(trainer: Any, x: list[Any], y: list[list[str]]) -> tuple[tuple[float, float], float]:
    """Train; return seconds of the processor and of the clock, and the objective of the model."""
    import pycrfsuite

    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.crfsuite")
        processor, clock = time.process_time(), time.perf_counter()
        trainer.train(model)
        seconds = time.process_time() - processor, time.perf_counter() - clock
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        info = tagger.info()
        weights = np.array([*info.state_features.values(), *info.transitions.values()])
        loss = -float(np.sum(tw.load(model).log_prob(x, y)))
    objective = loss + C1 * float(np.abs(weights).sum()) + C2 * float(weights @ weights)
    said = float(trainer.logparser.last_iteration["loss"])
    assert abs(objective - said) < 1e-4 * said, f"CRFsuite says {said}, it is {objective}"
    return seconds, objective


def trained(oracle: Any, n_jobs: int, target: float) -> list[tuple[float, float, float]]:
    """Train until the objective is as low as that; return processor's and clock's seconds and objective on the way."""
    run: list[tuple[float, float, float]] = []
    processor, clock = time.process_time(), time.perf_counter()

    def watch(iteration: Any) -> bool:
        run.append((time.process_time() - processor, time.perf_counter() - clock, iteration.objective))
        return bool(iteration.phase != "sgd" and iteration.objective <= target)

    found = tw.CRF(l1=L1, l2=L2, delta=0.0).train(oracle, n_jobs=n_jobs, on_iteration=watch)
    exact = _core.exact_objective(oracle, found.weights, L2, L1, n_jobs)
    assert exact <= target * (1 + 1e-5), "single precision hid that the objective is higher"
    return run


def to_the_optimum(oracle: Any) -> None:
    """Print how soon the solvers come near the minimum, and how near."""
    for solver in ("sgd-owlqn", "sgd-proximal"):
        clock = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.errors.ConvergenceWarning)
            learner = tw.CRF(l1=L1, l2=L2, solver=solver, tol=1e-6, delta=0.0, max_iter=1000)
            found = learner.train(oracle, n_jobs=2)
        subgradient = least_subgradient(oracle, found.weights)
        bound = found.objective - subgradient @ subgradient / (2 * L2)
        print(
            f"{solver}: {found.objective:.4f} after {found.n_iter} iterations, {time.perf_counter() - clock:.1f} s; "
            f"largest violation {np.abs(subgradient).max():.2g}, minimum above {bound:.4f}",
            flush=True,
        )


def least_subgradient(oracle: Any, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the subgradient of the objective that is nearest to zero: zero at the minimum, and only there."""
    gradient = np.zeros_like(weights)
    oracle.loss(weights, gradient)
    gradient += L2 * weights
    penalty = L1 * oracle.l1_factors
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - penalty, 0.0)
    found: npt.NDArray[np.float64] = np.where(weights != 0, gradient + penalty * np.sign(weights), at_zero)
    return found


if __name__ == "__main__":
    main()
