"""Active learning on Spanish names (CoNLL-2002): which sentences are worth labelling?

A CRF with ``Templates.ner()`` learns from some sentences drawn at random, chooses more by each strategy, learns again,
and so on; every strategy labels the same number of tokens in each round. Scores are F1 of exact spans on testa. The
means are over several first draws.

    python experiments/active_learning.py [--quick] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import trelliswork as tw

HERE = Path(__file__).resolve().parent
STRATEGIES = ("random", "least_confidence", "margin", "nbest_entropy", "log_probability", "token_entropy")
SETTINGS = {  # sentences to begin with; tokens a round; rounds; sentences in the pool; to score on; first draws
    True: {"start": 50, "n_tokens": 2000, "rounds": 5, "pool": 2000, "test": 500, "draws": 2},
    False: {"start": 50, "n_tokens": 3000, "rounds": 12, "pool": None, "test": None, "draws": 3},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a pool of 2,000 sentences, five rounds, two draws")
    parser.add_argument("--out", default=str(HERE / "results"), help="where the CSV and the PNG go")
    arguments = parser.parse_args()
    settings = SETTINGS[arguments.quick]
    X, y = read("conll2002/esp.train.gz", settings["pool"])
    X_test, y_test = read("conll2002/esp.testa.gz", settings["test"])
    tagger = tw.SequenceLabeler("crf", "ner")
    whole = float(tagger.fit(X, y).score(X_test, y_test))
    n_tokens = sum(map(len, X))
    print(f"all {len(X):,} sentences, {n_tokens:,} tokens: F1 {100 * whole:.2f}\n", flush=True)
    given = {name: settings[name] for name in ("start", "n_tokens", "rounds")}
    curves = {}
    for strategy in STRATEGIES:
        started = time.perf_counter()
        curves[strategy] = [
            tw.active.simulate(tagger, X, y, X_test, y_test, strategy, random_state=draw, **given)
            for draw in range(settings["draws"])
        ]
        show(strategy, curves[strategy], time.perf_counter() - started)
    compare(curves, whole)
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    write(curves, folder / "active_learning.csv")
    draw(curves, whole, folder / "active_learning.png")


def show(strategy: str, runs: list[list[Any]], seconds: float) -> None:
    """Print the mean score of each round."""
    scores = " ".join(f"{100 * np.mean([step.score for step in steps]):6.2f}" for steps in zip(*runs, strict=True))
    sentences = np.mean([run[-1].sequences for run in runs])
    print(f"{strategy:17} F1 {scores}   {sentences:6.0f} sentences, {seconds:.0f} s", flush=True)


def compare(curves: dict[str, list[list[Any]]], whole: float) -> None:
    """Print what each strategy saves: the tokens it needs for the last score of random sentences."""
    goal = float(np.mean([run[-1].score for run in curves["random"]]))
    print(f"\ntokens labelled until F1 is {100 * goal:.2f}, the last of random sentences (all: {100 * whole:.2f})")
    for strategy, runs in curves.items():
        tokens, scores = mean_curve(runs)
        reached = np.flatnonzero(scores >= goal)
        if not len(reached):
            print(f"{strategy:17} not reached with {tokens[-1]:,.0f}")
            continue
        at = int(reached[0])
        needed = tokens[at] if at == 0 else np.interp(goal, scores[at - 1 : at + 1], tokens[at - 1 : at + 1])
        print(f"{strategy:17} {needed:8,.0f}  ({needed / tokens[-1]:.0%} of the last)")


def mean_curve(runs: list[list[Any]]) -> tuple[Any, Any]:
    """Mean tokens and scores of each round."""
    return tuple(
        np.mean([[getattr(step, name) for step in run] for run in runs], axis=0) for name in ("tokens", "score")
    )


def write(curves: dict[str, list[list[Any]]], path: Path) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["strategy", "draw", "round", "sentences", "tokens", "f1"])
        for strategy, runs in curves.items():
            for number, run in enumerate(runs):
                writer.writerows([strategy, number, i, *step] for i, step in enumerate(run))


def draw(curves: dict[str, list[list[Any]]], whole: float, path: Path) -> None:
    """Scores against labelled tokens."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for strategy, runs in curves.items():
        tokens, scores = mean_curve(runs)
        axis.plot(
            tokens,
            100 * scores,
            marker="o",
            markersize=3,
            linestyle="--" if strategy == "random" else "-",
            label=strategy,
        )
    axis.axhline(100 * whole, color="grey", linewidth=0.8, label="all of the pool")
    axis.set_xlabel("labelled tokens")
    axis.set_ylabel("F1 of exact spans, testa")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=120)


def read(file: str, most: int | None) -> tuple[list[Any], list[Any]]:
    """The sentences of a published corpus: in TRELLISWORK_DATA, or beside the repository."""
    folder = Path(os.environ.get("TRELLISWORK_DATA", HERE.parent.parent / "shared" / "data"))
    if not (folder / file).exists():
        raise SystemExit(f"{file} was not found. Set TRELLISWORK_DATA to the folder that has it.")
    X, y = tw.corpora.read_table(folder / file)
    return X[:most], y[:most]


if __name__ == "__main__":
    main()
