"""``trelliswork bench``: a small benchmark that needs nothing but what is installed.

The corpus that ships with the library, several times over; this library beside python-crfsuite and sklearn-crfsuite, if
they are there. What `make bench` measures on public corpora is in the repository's ``benchmarks``.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from trelliswork.cli.streams import say

__all__ = ["bench", "command"]

COPIES = 5


@click.command(
    "bench",
    short_help="Compare the speed of this library with that of installed peers.",
    epilog="Example: trelliswork bench --jobs 2",
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of this library.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(jobs: int, as_json: bool) -> None:
    """Train on and tag the recipe lines that ship with the library, with the same attributes for each library.

    The peers are python-crfsuite and its scikit-learn wrapper, if they are installed. All libraries get attribute lists
    made in Python beforehand, which is not timed. This library is also timed on plain words with templates.
    """
    results = bench(jobs)
    if as_json:
        click.echo(json.dumps(results))
        return
    ours = {"train": results["trelliswork"]["train_seconds"], "tag": results["trelliswork"]["tokens_per_second"]}
    click.echo(f"{'what':<28} {'train s':>9} {'ratio':>7} {'tag tokens/s':>14} {'ratio':>7} {'span F1':>8}")
    for name, row in results.items():
        train, rate = row["train_seconds"], row["tokens_per_second"]
        f1 = 100 * row["span_f1"]
        click.echo(
            f"{name:<28} {train:9.3f} {train / ours['train']:7.1f} {rate:14,.0f} {ours['tag'] / rate:7.1f} {f1:8.2f}"
        )


def bench(jobs: int = 1) -> dict[str, dict[str, float]]:
    """Return seconds of training, tokens tagged in a second and span F1 of each library.

    Parameters
    ----------
    jobs : int
        Threads of this library; the peers have one.
    """
    import trelliswork as tw

    corpus = tw.corpora.ingredients()
    X, y = (
        [line for line in corpus.X_train for _ in range(COPIES)],
        [line for line in corpus.y_train for _ in range(COPIES)],
    )
    attributes = [_attributes(line) for line in X]
    tests = [_attributes(line) for line in corpus.X_test]
    results = {
        "trelliswork": _ours(attributes, y, tests, corpus.y_test, jobs, "attributes"),
        "trelliswork, words": _ours(X, y, corpus.X_test, corpus.y_test, jobs, "words"),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, peer in (("python-crfsuite", _crfsuite), ("sklearn-crfsuite", _sklearn_crfsuite)):
            try:
                results[name] = peer(attributes, y, tests, corpus.y_test, Path(folder) / name)
            except ImportError:
                say(f"{name} is not installed")
    return results


def _attributes(line: list[str]) -> list[list[str]]:
    """A word, its neighbours, its ending and its beginning."""
    padded = ["<s>", *line, "</s>"]
    return [
        [f"w={word.lower()}", f"p={before.lower()}", f"n={after.lower()}", f"s={word[-3:]}", f"b={word[:2]}"]
        for before, word, after in zip(padded, line, padded[2:], strict=False)
    ]


def _ours(X: Any, y: Any, tests: Any, gold: Any, jobs: int, features: str) -> dict[str, float]:
    import trelliswork as tw

    labeler = tw.SequenceLabeler(tw.CRF(l2=2.0), features, n_jobs=jobs)
    seconds = _seconds(lambda: labeler.fit(X, y))
    return _measured(seconds, lambda: labeler.predict(tests), gold)


def _crfsuite(X: Any, y: Any, tests: Any, gold: Any, path: Path) -> dict[str, float]:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False, params={"c2": 1.0, "max_iterations": 100})

    def train() -> None:
        for attributes, labels in zip(X, y, strict=True):
            trainer.append(attributes, labels)
        trainer.train(str(path))

    seconds = _seconds(train)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return _measured(seconds, lambda: [tagger.tag(line) for line in tests], gold)


def _sklearn_crfsuite(X: Any, y: Any, tests: Any, gold: Any, path: Path) -> dict[str, float]:
    import sklearn_crfsuite

    model = sklearn_crfsuite.CRF(c2=1.0, max_iterations=100, model_filename=str(path))
    seconds = _seconds(lambda: model.fit(X, y))
    return _measured(seconds, lambda: model.predict(tests), gold)


def _measured(train_seconds: float, predict: Callable[[], Any], gold: Any) -> dict[str, float]:
    import trelliswork as tw

    f1 = tw.evaluation.span_scores(gold, [list(labels) for labels in predict()]).f1
    seconds = min(_seconds(predict) for _ in range(5))
    return {"train_seconds": train_seconds, "tokens_per_second": sum(map(len, gold)) / seconds, "span_f1": f1}


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
