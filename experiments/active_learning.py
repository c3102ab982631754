"""Active learning on Spanish names (CoNLL-2002): which sentences are worth labelling?

A CRF with the ready set of features for names learns from some sentences drawn at random, chooses more by each
strategy, learns again, and so on; every strategy labels as many tokens in each round. Scores are F1 of exact spans on
testa, means over several first draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from common.output import Report
from common.tasks import spanish, tasks

STRATEGIES = ("random", "least_confidence", "margin", "nbest_entropy", "log_probability", "token_entropy")
SETTINGS = {True: {"n_tokens": 2000, "rounds": 5}, False: {"n_tokens": 3000, "rounds": 12}}  # by --quick
START = 50  # sentences
DRAWS = {True: 2, False: 3}


def main() -> None:
    """Print scores by round, and how many tokens each strategy saves."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, spanish)
    assert task.dev is not None
    tagger = tw.SequenceLabeler("crf", "ner")
    whole = float(tagger.fit(*task.train).score(*task.dev))
    print(f"{task.describe()}; F1 {100 * whole:.2f} with all of them\n")
    runs = {
        strategy: [
            tw.active.simulate(
                tagger, *task.train, *task.dev, strategy, start=START, random_state=draw, **SETTINGS[report.quick]
            )
            for draw in range(DRAWS[report.quick])
        ]
        for strategy in STRATEGIES
    }
    curves = {strategy: mean_curve(own) for strategy, own in runs.items()}
    report.table("F1 by labelled tokens", by_tokens(curves))
    goal = float(curves["random"][1][-1])
    savings = [saving(strategy, curve, goal) for strategy, curve in curves.items()]
    report.table(f"what it takes to reach {100 * goal:.2f}, the last F1 of random sentences", savings)
    report.csv(
        [
            {"strategy": strategy, "draw": draw, "round": number, **step._asdict()}
            for strategy, own in runs.items()
            for draw, steps in enumerate(own)
            for number, step in enumerate(steps)
        ]
    )
    draw_curves(curves, whole, report)
    best = min(savings[1:], key=lambda row: row["tokens"] or np.inf)
    report.finding(f"{best['strategy']} needs {best['of random']:.0%} of the tokens that random sentences need.")
    report.done()


def mean_curve(runs: Sequence[Sequence[Any]]) -> Any:
    """Mean tokens, scores and sentences of each round."""
    return np.mean([[[step.tokens, step.score, step.sequences] for step in run] for run in runs], axis=0).T


def by_tokens(curves: dict[str, Any]) -> list[dict[str, Any]]:
    """One line for each strategy; tokens are those of random sentences, and the others' are about as many."""
    rows = []
    for strategy, (_, scores, sentences) in curves.items():
        cells = {f"{tokens:.0f}": 100 * score for tokens, score in zip(curves["random"][0], scores, strict=True)}
        rows.append({"strategy": strategy, **cells, "sentences": int(sentences[-1])})
    return rows


def saving(strategy: str, curve: Any, goal: float) -> dict[str, Any]:
    """How many tokens a strategy labels until it has reached a score, in a straight line between rounds."""
    tokens, scores, _ = curve
    reached = np.flatnonzero(scores >= goal)
    if not len(reached):
        return {"strategy": strategy, "tokens": None, "of random": None}
    at = max(int(reached[0]), 1)
    needed = float(np.interp(goal, scores[at - 1 : at + 1], tokens[at - 1 : at + 1]))
    return {"strategy": strategy, "tokens": round(needed), "of random": needed / float(tokens[-1])}


def draw_curves(curves: dict[str, Any], whole: float, report: Report) -> None:
    """Scores against labelled tokens."""
    with report.picture(width=7, height=4.5) as axes:
        for strategy, (tokens, scores, _) in curves.items():
            style = "--" if strategy == "random" else "-"
            axes.plot(tokens, 100 * scores, marker="o", markersize=3, linestyle=style, label=strategy)
        axes.axhline(100 * whole, color="grey", linewidth=0.8, label="all sentences")
        axes.set_xlabel("labelled tokens")
        axes.set_ylabel("F1 of exact spans, testa")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)


if __name__ == "__main__":
    main()
