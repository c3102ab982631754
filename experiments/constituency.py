"""Constituency parsing on the sample of the Penn Treebank: the treebank's grammar, and parsers that are trained.

Texts are counted in the order of their names: every tenth (10, 20, ...) is for testing, the one before it (9, 19,
...) for choosing settings. Empty elements, function tags and indices are removed, tags are gold's, F1 is evalb's.
Grammars are the relative frequencies of the same labels (chains of unary constituents are one label); "given the
child before": children one after the other, "with parents": labels know that of their parent. Seconds and words a
second are processor time of one thread. ``--quick`` takes a third of the texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import trelliswork as tw
from common.best import started
from common.tasks import data_folder

EPOCHS = 10  # of the passive-aggressive learner; the score on the texts for choosing still rises a little after it
FIRST = "grammar"  # what errors are compared with
GRAMMARS = {
    FIRST: {},
    "grammar, given the child before": {"horizontal": 1},
    "the same with parents": {"vertical": 2, "horizontal": 1},
}
PARSERS = {"spans": {"rules": None}, "spans and rules": {}}


def main() -> None:
    """Print the scores of all models on the texts for choosing and on the texts for testing."""
    report = started(__file__, __doc__ or "")
    texts = read_texts()[:: 3 if report.quick else 1]
    parts = {
        "texts for choosing": ([t for i, t in enumerate(texts) if i % 10 < 8], texts[8::10]),
        "test texts": ([t for i, t in enumerate(texts) if i % 10 < 9], texts[9::10]),
    }
    rows = []
    for name, (train, test) in parts.items():
        learned, asked = ([tree for text in part for tree in text] for part in (train, test))
        words = sum(len(tree.leaves()) for tree in asked)
        print(f"{name}: {len(learned)} sentences to learn from, {len(asked)} with {words} words to parse", flush=True)
        rows += compare(report, name, learned, asked)
    report.csv(rows)
    report.done()


def read_texts() -> list[list[tw.Constituent]]:
    """Return the trees of each text, in the order of their names."""
    folder = data_folder() / "ptb_sample"
    trees = tw.corpora.read_brackets(folder / "trees.mrg.gz", empties=False, functions=False, indices=False)
    names = [line.split()[1] for line in (folder / "trees_files.txt").read_text().splitlines()]
    texts: dict[str, list[tw.Constituent]] = {name: [] for name in sorted(names)}
    for name, tree in zip(names, trees, strict=True):
        texts[name].append(tree)
    return list(texts.values())


def compare(
    report: Any, title: str, learned: list[tw.Constituent], asked: list[tw.Constituent]
) -> list[dict[str, Any]]:
    """Train all models and print how they parse."""
    answers, rows = {}, []
    for name in (*GRAMMARS, *PARSERS):
        began = time.process_time()
        parse = grammar(learned, **GRAMMARS[name]) if name in GRAMMARS else parser(learned, **PARSERS[name])
        trained = time.process_time() - began
        parse(asked[:20])  # what is laid out once
        began = time.process_time()
        found = parse(asked)
        seconds = time.process_time() - began
        answers[name] = tw.evaluation.bracket_scores(asked, found)
        rows.append(row(name, answers[name], answers[FIRST], trained, sum(len(t.leaves()) for t in asked) / seconds))
        print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    report.table(title, rows)
    best = list(GRAMMARS)[-1]
    print(f"{best}, and {list(PARSERS)[-1]}:")
    print(tw.evaluation.bootstrap_of_counts(answers[best].counts, answers[list(PARSERS)[-1]].counts, "brackets"), "\n")
    return [{"part": title, **one} for one in rows]


def row(name: str, scores: Any, first: Any, trained: float, speed: float) -> dict[str, Any]:
    """Return a row of the table."""
    return {
        "model": name,
        "F1": 100 * scores.f1,
        "precision": 100 * scores.precision,
        "recall": 100 * scores.recall,
        "complete": 100 * scores.complete_match,
        "crossing": scores.average_crossing,
        "error less by %": 100 * (1 - (1 - scores.f1) / (1 - first.f1)),
        "training s": trained,
        "words/s": round(speed),
    }


def grammar(trees: list[tw.Constituent], **how: Any) -> Callable[[Any], list[tw.Constituent]]:
    """Return the parser that a treebank's grammar is."""
    made = tw.Grammar.from_trees(trees, **how)

    def parse(asked: list[tw.Constituent]) -> list[tw.Constituent]:
        found = []
        for tree in asked:
            try:
                best = made.parse(tree.leaves(), tags=[str(tag) for tag in tree.tags()]).argmax().tree
            except tw.InvalidInput:  # a tag that the treebank has not, or no tree at all: no brackets
                best = tw.Constituent("TOP")
            found.append(best)
        return found

    return parse


def parser(trees: list[tw.Constituent], **how: Any) -> Callable[[Any], list[tw.Constituent]]:
    """Return a trained parser."""
    return (
        tw.ConstituencyParser(tw.PassiveAggressive(epochs=EPOCHS), random_state=0, n_jobs=1, **how).fit(trees).predict
    )


if __name__ == "__main__":
    main()
