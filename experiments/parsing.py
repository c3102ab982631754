"""Dependency parsing on UD English-EWT with gold tags: orders 1 and 2, arcs that may cross, several learners.

Ready sets of templates, which were chosen on the development part, as epochs were; the test part is looked at once, at
the end. One root; punctuation is counted; LAS without subtypes, as in the CoNLL-2018 shared task. Seconds (from the
file to the trained parser) and tokens a second (from the table of words to trees) are processor time of one thread.
``--quick`` takes a part of the sentences and skips the test part.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import trelliswork as tw
from common.best import started
from common.tasks import data_folder

QUICK = 1500  # sentences
PARSERS: dict[str, Callable[[], tw.DependencyParser]] = {
    "order 1": lambda: tw.DependencyParser(),
    "order 2": lambda: tw.DependencyParser(order=2),
    "order 1, chains of labels": lambda: tw.DependencyParser(labels="chain"),
    "order 1, no labels": lambda: tw.DependencyParser(labels=None),
    "order 1, arcs may cross": lambda: tw.DependencyParser(projective=False),
    "order 1, perceptron": lambda: tw.DependencyParser("perceptron"),
    "order 1, CRF": lambda: tw.DependencyParser("crf"),
    "order 1, head selection": lambda: tw.DependencyParser("memm"),
}


def main() -> None:
    """Print the scores of all parsers."""
    report = started(__file__, __doc__ or "")
    folder = data_folder() / "ud_ewt"
    rows = []
    for name, make in PARSERS.items():
        began = time.process_time()
        train = tw.corpora.read_treebank(folder / "train.conllu.gz")
        some = train[:QUICK] if report.quick else train
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.ConvergenceWarning)
            parser = make().fit(some)
        trained = time.process_time() - began
        parts = {part: tw.corpora.read_treebank(folder / f"{part}.conllu.gz") for part in ("dev", "test")}
        rows.append({"parser": name, "epochs": parser.n_iter_, "training s": trained})
        for part in ("dev",) if report.quick else ("dev", "test"):
            rows[-1] |= scores(parser, parts[part], part)
        print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    report.table("UD English-EWT", rows)
    report.csv(rows)
    report.done()


def scores(parser: tw.DependencyParser, treebank: tw.corpora.Treebank, part: str) -> dict[str, Any]:
    """Parse a part of the treebank."""
    parser.predict_coded(treebank[:20])  # what is laid out once
    began = time.process_time()
    found = parser.predict_coded(treebank)
    seconds = time.process_time() - began
    right = tw.evaluation.dependency_scores(treebank, found).words if found.relations is not None else None
    shown: dict[str, Any] = {f"{part} UAS": 100 * parser.scores(treebank).uas}
    shown[f"{part} LAS"] = None if right is None or right.las is None else 100 * right.las
    return {**shown, f"{part} tokens/s": round(treebank.n_words / seconds)}


if __name__ == "__main__":
    main()
