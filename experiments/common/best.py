"""What the searches for the best models share: predictions for held-out sentences, scores, the last test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from threadpoolctl import threadpool_limits

import trelliswork as tw
from common.output import Report
from common.tasks import Task

Make = Callable[[], Any]  # returns something to `fit` and to `predict` with


def started(script: str, description: str) -> Report:
    """Return the report of a script, which from now on gets the same figures every time.

    Clusters depend on the last bits of a singular value decomposition, and these on the threads that share it: one.
    """
    threadpool_limits(1)
    return Report(script, description)


def held_out(make: Make, X: Sequence[Any], y: Sequence[Any], folds: Sequence[Any], jobs: int = 1) -> list[Any]:
    """Return the labels of each sentence, as a model says that learned from the other folds."""

    def predictions(split: Any) -> list[Any]:
        model = make().fit([X[i] for i in split.train], [y[i] for i in split.train])
        return list(model.predict([X[i] for i in split.test]))

    labels: list[Any] = [None] * len(X)
    with ThreadPoolExecutor(jobs) as pool:
        for split, predicted in zip(folds, pool.map(predictions, folds), strict=True):
            for i, labels_of_one in zip(split.test, predicted, strict=True):
                labels[i] = labels_of_one
    return labels


def scores(y: Sequence[Any], predicted: Sequence[Any]) -> dict[str, float]:
    """Return the F-measure of the tokens inside of spans, which the thesis has, and that of exact spans, in percent."""
    token, span = tw.evaluation.token_scores(y, predicted), tw.evaluation.span_scores(y, predicted)
    return {"token F": 100 * token.f1, "span F1": 100 * span.f1}


def test(
    report: Report, task: Task, models: Mapping[str, Make], names: Sequence[str], published: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Train models on the whole training text, print what they reach on the test text, and how sure the gain is."""
    guesses = [models[name]().fit(*task.train).predict(task.test.X) for name in names]
    rows = [{"model": name, **scores(task.test.y, guess)} for name, guess in zip(names, guesses, strict=True)]
    report.table("test text", [*rows, {"model": "published", **published}])
    print(tw.evaluation.paired_bootstrap(task.test.y, guesses[0], guesses[-1]), "\n")
    return rows
