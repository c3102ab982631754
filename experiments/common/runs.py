"""Training many learners on a task and scoring them on its test part, on all cores, features extracted once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import trelliswork as tw
from common.tasks import Part, Task


def trained(
    task: Task,
    learners: Mapping[Any, Any],
    jobs: int,
    curves: bool = False,
    seeds: Mapping[Any, int] | None = None,
) -> dict[Any, Any]:
    """Return for each learner what it came to on the test part, as a `Candidate`.

    The settings are given, so that nothing is chosen on the test part: `validate` is used for its speed. What is equal
    is trained once.

    Parameters
    ----------
    task : Task
    learners : mapping of hashable to learner
    jobs : int
        How many are trained at a time.
    curves : bool
        Whether every epoch is scored.
    seeds : mapping, optional
        From the names of learners to seeds, where they are not 0.
    """
    began = time.perf_counter()
    seeds = seeds or {}
    texts = {name: f"{learner!r}, seed {seeds.get(name, 0)}" for name, learner in learners.items()}
    distinct = {text: task.labeler(learners[name], seeds.get(name, 0)) for name, text in texts.items()}
    result = tw.evaluation.validate(
        distinct,
        *task.train,
        *task.test,
        scoring=task.measure,
        curves=curves,
        n_jobs=jobs,
        verbose=1,
    )
    found = dict(zip(distinct, result.candidates, strict=True))
    print(f"{task.describe()}; {len(distinct)} models in {time.perf_counter() - began:.0f} s\n")
    return {name: found[text] for name, text in texts.items()}


def held_out(task: Task, share: int = 5) -> Task:
    """Return the task of choosing a setting: learn from the training part but its last fifth, and test on that.

    Where the corpus has a part to choose on, that is tested on instead.
    """
    if task.dev is not None:
        return replace(task, test=task.dev)
    cut = len(task.train.X) - len(task.train.X) // share
    rest = Part(task.train.X[cut:], task.train.y[cut:])
    return replace(task, train=task.train.first(cut), test=rest)


def percent(candidate: Any) -> float:
    """Return the score in per cent."""
    return float(100 * candidate.mean)


def curve(candidate: Any, x: str = "iteration") -> tuple[list[float], list[float]]:
    """Return the scores of all epochs, in per cent, against the epoch or the seconds of training."""
    points = candidate.curves[0]
    return [point[x] for point in points], [100 * point[candidate.measure] for point in points]
