"""Longer memory, or whole segments? Chains of order 1, 2 and 3 and segments on chunking and Spanish names.

All see the same attributes of words (the ready sets for chunking and names); segments are also tried with attributes of
their own, the lines about spans of the ready set for segments. F1 is that of exact spans on the test text; no setting
was chosen on it. ``--quick`` takes a part of the sentences.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import trelliswork as tw
from common.best import scores, started
from common.tasks import Task, chunking, spanish, tasks

TOKENS = {"chunking": tw.Templates.chunking, "Spanish NER": tw.Templates.ner}
LEARNERS: dict[str, Callable[[], Any]] = {"PA": lambda: tw.PassiveAggressive(C=0.03, epochs=5)}


def main() -> None:
    """Print F1 and seconds of every structure with every learner."""
    report = started(__file__, __doc__ or "")
    rows = []
    for task in tasks(report.quick, chunking, spanish):
        print(task.describe(), flush=True)
        mine = [row(task, name, learner) for learner in LEARNERS for name in structures(task)]
        report.table(f"{task.name}: test text", mine)
        rows += [{"task": task.name, **one} for one in mine]
    report.csv(rows)
    report.done()


def structures(task: Task) -> dict[str, Callable[[Any], Any]]:
    """Return estimators to be made of a learner, by name."""
    tokens = TOKENS[task.name]()
    spans = [line for line in tw.Templates.segments().text.splitlines() if line.startswith("span:")]
    whole = tokens + tw.Templates("\n".join(spans))

    def chain(order: int) -> Callable[[Any], Any]:
        return lambda learner: tw.SequenceLabeler(learner, tokens, order=order, n_jobs=1, random_state=0)

    return {
        "order 1": chain(1),
        "order 2": chain(2),
        "order 3": chain(3),
        "segments, words only": lambda learner: tw.SegmentLabeler(learner, tokens, n_jobs=1, random_state=0),
        "segments": lambda learner: tw.SegmentLabeler(learner, whole, n_jobs=1, random_state=0),
    }


def row(task: Task, name: str, learner: str) -> dict[str, Any]:
    """Train and test one model."""
    # Some labels of the Spanish text begin a span with I-: segments need spans, so these are spelled anew.
    labels = [tw.corpora.labels_from_spans(tw.corpora.spans(row), len(row)) for row in task.train.y]
    began = time.perf_counter()
    model = structures(task)[name](LEARNERS[learner]()).fit(task.train.X, labels)
    seconds = time.perf_counter() - began
    found = {
        "structure": name,
        "learner": learner,
        **scores(task.test.y, model.predict(task.test.X)),
        "iterations": model.n_iter_,
        "seconds": seconds,
        "seconds an iteration": model.history_[-1]["seconds"] / model.n_iter_,
    }
    print(", ".join(f"{key} {value}" for key, value in found.items()), flush=True)
    return found


if __name__ == "__main__":
    main()
