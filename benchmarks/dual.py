"""Dual methods on CoNLL-2000: objective, gap, working sets and memory pass by pass, seconds, and the score reached.

``--passes 200`` is the long run whose memory is bounded in the issue; the default takes a minute.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import chunking
import trelliswork as tw
from chunking import raw_file, read_sentences
from online import oracle_of
from timing import print_load, print_table
from trelliswork.corpora.tables import read_table
from trelliswork.learners.dual import MIRA, SDM, DualCoordinate, LaRank

SHOWN = (1, 5, 10, 20, 50, 100, 200)
LEARNERS: dict[str, Any] = {
    "MIRA(k=5)": MIRA(k=5, epochs=5),
    "SDM": SDM(epochs=20),
    "SDM(k=5)": SDM(k=5, epochs=20),
    "SDM(growth=3)": SDM(growth=3, epochs=20),
    "SDM(skip=True)": SDM(skip=True, epochs=20),
    "SDM(loss='ramp')": SDM(loss="ramp", epochs=20),
    "LaRank(reprocess=3)": LaRank(reprocess=3),
    "LaRank": LaRank(),
    "DualCoordinate": DualCoordinate(epochs=20),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=20, help="of SDM, in the first table")
    parser.add_argument("-k", type=int, default=1, help="best outputs that may join a working set, in the first table")
    arguments = parser.parse_args()
    if chunking.corpus_or_skip("dual") is None:
        return
    print_load()
    print_passes(arguments.passes, arguments.k)
    print_scores()


def print_passes(passes: int, k: int) -> None:
    """One run of SDM, pass by pass."""
    rows: list[list[Any]] = []
    began = time.process_time()

    def note(done: Any) -> None:
        if done.number not in SHOWN and done.number != passes:
            return
        seconds, facts = time.process_time() - began, done.facts
        gap = f"{facts['gap'] / done.objective:.1e}" if "gap" in facts else ""
        sizes = [int(facts["working_set"]), f"{facts['memory_bytes'] / 2**20:.0f}"]
        rows.append([done.number, f"{done.objective:.2f}", f"{facts['dual']:.2f}", gap, *sizes, f"{seconds:.1f}"])

    SDM(k=k, epochs=passes, tol=0.0).train(oracle_of(raw_file("train"), "grown"), on_iteration=note)
    columns = ["passes", "primal", "dual", "gap / primal", "outputs in working sets", "MiB", "CPU seconds"]
    print_table(f"SDM(C=0.1, k={k}), one thread", columns, rows)


def print_scores() -> None:
    """Every method: time and score."""
    X, y = read_table(raw_file("train"))
    test = read_sentences(raw_file("test"))
    gold = [chunking.labels(sentence) for sentence in test]
    tokens = [[row[:2] for row in sentence] for sentence in test]
    rows = []
    for name, learner in LEARNERS.items():
        began = time.process_time()
        labeler = tw.SequenceLabeler(learner, tw.Templates.load(chunking.TEMPLATE_FILE), n_jobs=1).fit(X, y)
        seconds = time.process_time() - began
        f1 = chunking.span_f1(gold, labeler.predict(tokens))
        rows.append([name, learner.epochs, f"{seconds:.1f}", f"{f1:.2f}"])
    print_table("From the file on, one thread", ["learner", "passes", "CPU seconds", "span F1"], rows)


if __name__ == "__main__":
    main()
