"""Learners that look at the best outputs, on CoNLL-2000 with the same attributes for everyone: seconds of an epoch.

Against CRFsuite's averaged perceptron and passive-aggressive learner; against tagging the same sentences; k = 5 against
k = 1; and what it costs, and brings, that weights are added when a wrong prediction first meets them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import chunking
import trelliswork as tw
from chunking import installed, peer, raw_file, read_sentences
from timing import print_load, print_table
from trelliswork import _core
from trelliswork.corpora.tables import read_table

EPOCHS = 10
TURNS = 5
LEARNERS: dict[str, Any] = {
    "Perceptron": tw.Perceptron(EPOCHS),
    "PassiveAggressive, predictions": tw.PassiveAggressive(epochs=EPOCHS, augmented=False),
    "PassiveAggressive": tw.PassiveAggressive(epochs=EPOCHS),
    "PassiveAggressive, k = 5": tw.PassiveAggressive(epochs=EPOCHS, k=5),
}
# CRFsuite's pa learns from wrong predictions. The thesis's, our default, also learns where a margin is violated, which
# is at two sentences in three: more updates, for the same peer.
PEERS = {"Perceptron": "ap", "PassiveAggressive, predictions": "pa", "PassiveAggressive": "pa"}


def main() -> None:
    """Print the tables."""
    if chunking.corpus_or_skip("online") is None:
        return
    print_load()
    print_epochs()
    print_growth()


def oracle_of(path: Path, combinations: str, by_member: bool = False) -> Any:
    """Return what a learner sees of a training file."""
    X, y = read_table(path)
    assert y is not None
    examples = _core.Examples(keep_names=False)
    examples.add(_core.ColumnSource(X.columns, tw.Templates.load(chunking.TEMPLATE_FILE).extractor()), y.codes)
    order = np.arange(len(y.names), dtype=np.int32)
    return _core.ChainOracle(examples, len(y.names), order, combinations=combinations, use="best", by_member=by_member)


def epoch_seconds(learner: Any, oracle: Any) -> float:
    """Return the median time of an epoch, of the processor."""
    moments = [time.process_time()]

    def note(_: Any) -> None:
        moments.append(time.process_time())

    learner.train(oracle, on_iteration=note)
    return float(np.median(np.diff(moments)))


def processor_seconds(work: Callable[[], object]) -> float:
    """Return how long the processor works."""
    began = time.process_time()
    work()
    return time.process_time() - began


def crfsuite_seconds(algorithm: str) -> float:
    """Return the time of an epoch of the peer."""
    found: Any = peer("crfsuite_online", raw_file("train"), algorithm, EPOCHS)["seconds_per_epoch"]
    return float(found)


def print_epochs() -> None:
    """One epoch against the peers', and against tagging: in turns, for a machine may slow down in the meantime."""
    X, y = read_table(raw_file("train"))
    labeler = tw.SequenceLabeler(tw.Perceptron(1), tw.Templates.load(chunking.TEMPLATE_FILE), n_jobs=1).fit(X, y)
    ours: dict[tuple[str, str], list[float]] = {(name, kind): [] for name in LEARNERS for kind in ("grown", "seen")}
    theirs: dict[str, list[float]] = {name: [] for name in set(PEERS.values()) if installed("pycrfsuite")}
    tagging = []
    for _ in range(TURNS):
        for (name, kind), seconds in ours.items():
            learner = LEARNERS[name]
            seconds.append(epoch_seconds(learner, oracle_of(raw_file("train"), kind, learner.by_member)))
        for algorithm, seconds in theirs.items():
            seconds.append(crfsuite_seconds(algorithm))
        tagging.append(min(processor_seconds(lambda: labeler.predict(X)) for _ in range(3)))
    rows = []
    for (name, kind), seconds in ours.items():
        against = theirs.get(PEERS.get(name, ""), [])
        fastest = f"{min(against) / min(seconds):.1f}" if against else ""
        rows.append([name, kind, 1e3 * median(seconds), ratios(against, seconds), fastest, ratios(seconds, tagging, 2)])
    print_table(
        f"One epoch, one thread: medians of {TURNS} turns, and the least and greatest ratio of a turn; "
        "fastest: their fastest turn against our fastest",
        ["learner", "weights", "milliseconds", "times faster than python-crfsuite's", "fastest", "of tagging the same"],
        rows,
    )
    one, five = ours["PassiveAggressive", "grown"], ours["PassiveAggressive, k = 5", "grown"]
    peers = ", ".join(f"{name} {1e3 * median(seconds):.0f} ms" for name, seconds in sorted(theirs.items()))
    print(
        f"python-crfsuite: {peers or 'not installed'}; tagging the training sentences: {1e3 * median(tagging):.0f} ms"
    )
    print(f"k = 5 takes {ratios(five, one, 2)} times k = 1")


def ratios(above: list[float], below: list[float], digits: int = 1) -> str:
    """Return the median ratio of what was measured in the same turn, and the range."""
    found = [a / b for a, b in zip(above, below, strict=False)]
    if not found:
        return ""
    return f"{median(found):.{digits}f} ({min(found):.{digits}f} to {max(found):.{digits}f})"


def print_growth() -> None:
    """What the weights of wrong predictions bring."""
    X, y = read_table(raw_file("train"))
    test = read_sentences(raw_file("test"))
    gold = [chunking.labels(sentence) for sentence in test]
    tokens = [[row[:2] for row in sentence] for sentence in test]
    rows = []
    for name, learner in LEARNERS.items():
        for combinations in ("grown", "seen", "all"):
            began = time.perf_counter()
            labeler = tw.SequenceLabeler(
                learner, tw.Templates.load(chunking.TEMPLATE_FILE), combinations=combinations, n_jobs=1
            ).fit(X, y)
            seconds = time.perf_counter() - began
            saved = chunking.cache_folder() / "online.tw"
            labeler.save(saved)
            size = saved.stat().st_size / 2**20
            f1 = chunking.span_f1(gold, labeler.predict(tokens))
            rows.append([name, combinations, f"{f1:.2f}", seconds, f"{size:.1f}"])
    print_table(f"{EPOCHS} epochs, from the file on", ["learner", "weights", "span F1", "seconds", "model, MiB"], rows)


if __name__ == "__main__":
    main()
