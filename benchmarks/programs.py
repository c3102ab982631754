"""Structures with constraints added: multipliers over the structure's own best outputs beside HiGHS, in one run.

    python benchmarks/programs.py            # every 50th test sentence of CoNLL-2000; --all for each of them
    python benchmarks/programs.py --all

| table | structure | constraint |
| --- | --- | --- |
| chains | a chunker's scores of CoNLL-2000 test sentences | at most three NPs: labels B-NP |
| trees | the shipped treebank's trees with noise | every verb has a subject; no word more than two modifiers |
| growth | random chains and trees of four sizes | the most frequent label, or head, half as often at most |

HiGHS gets programs that are written out already: its time is that of the search alone. The other way is timed as a
whole. Scores of both are compared, and must be equal; times are of one thread.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

import trelliswork as tw
from chunking import TEMPLATE_FILE, corpus_or_skip, labels, raw_file, read_sentences
from timing import best_seconds, print_load, print_table

MOST_NPS = 3
EVERY = 50


def main(arguments: list[str]) -> None:
    """Print the tables."""
    warnings.simplefilter("ignore", tw.ConvergenceWarning)
    print_load()
    chains(1 if "--all" in arguments else EVERY)
    trees()
    growth()


def chains(every: int) -> None:
    """Chunks: at most three NPs."""
    if corpus_or_skip("the table of chains") is None:
        return
    train, test = (read_sentences(raw_file(part)) for part in ("train", "test"))
    X, X_test = ([[token[:2] for token in sentence] for sentence in part] for part in (train, test))
    y = [labels(sentence) for sentence in train]
    chunker = tw.SequenceLabeler(tw.PassiveAggressive(epochs=5), tw.Templates.load(TEMPLATE_FILE)).fit(X, y)
    begins = int(np.flatnonzero(chunker.classes_ == "B-NP")[0])
    times, binding = [], []
    for x in X_test[::every]:
        chain = chunker.chain(x)
        found = timed(chain.program().at_most(label=begins, n=MOST_NPS))
        if found is not None:
            times.append(found)
            binding.append(int((chain.argmax().labels == begins).sum()) > MOST_NPS)
    rows = [
        summary("all sentences", times),
        summary("more than three without it", [t for t, b in zip(times, binding, strict=True) if b]),
    ]
    print_table(f"CoNLL-2000, at most {MOST_NPS} NPs, {len(chunker.classes_)} labels: milliseconds", HEAD, rows)


def trees() -> None:
    """Dependencies: every verb has a subject, and no word has more than two modifiers."""
    chosen = [s for s in tw.corpora.sentences() if 5 <= len(s.words) <= 25][:40]
    names = sorted({str(word.deprel) for s in chosen for word in s.words})
    subject = names.index("nsubj")
    rows = []
    for projective in (True, False):
        kind = "projective" if projective else "crossing"
        with_subject, few = [], []
        for number, sentence in enumerate(chosen):
            tree = noisy(sentence, names, number, projective)
            program = tree.program()
            for i, word in enumerate(sentence.words, 1):
                if word.upos == "VERB":
                    program = program.at_least(label=subject, n=1, where=i)
            with_subject.append(program)
            program = tree.program()
            for i in range(1, len(sentence.words) + 1):
                program = program.at_most(n=2, where=i)
            few.append(program)
        rows.append(compared(f"{kind}, every verb has a subject", with_subject))
        rows.append(compared(f"{kind}, two modifiers at most", few))
    print_table(f"Dependency trees of {len(chosen)} sentences, {len(names)} labels: milliseconds", HEAD, rows)


def noisy(sentence: Any, names: list[str], seed: int, projective: bool) -> tw.DependencyTree:
    """Return scores that are right about most words, as a parser's are."""
    n, rng = len(sentence.words), np.random.default_rng(seed)
    arcs, of_labels = rng.normal(size=(n + 1, n + 1)), rng.normal(size=(n + 1, n + 1, len(names)))
    for m, word in enumerate(sentence.words, 1):
        arcs[word.head, m] += 2.0
        of_labels[:, m, names.index(str(word.deprel))] += 2.0
    return tw.DependencyTree(arcs, of_labels, projective=projective)


def growth() -> None:
    """Four sizes of each."""
    rows = []
    rng = np.random.default_rng(0)
    for T in (25, 50, 100, 200):
        chain = tw.Chain(rng.normal(size=(T, 10)), rng.normal(size=(10, 10)))
        counts = np.bincount(chain.argmax().labels, minlength=10)
        label = int(counts.argmax())
        rows.append(grown("chain, 10 labels", T, chain.program().at_most(label=label, n=int(counts[label]) // 2)))
    for projective, sizes in ((False, (10, 20, 40, 80)), (True, (5, 10, 20, 30))):
        for n in sizes:
            tree = tw.DependencyTree(rng.normal(size=(n + 1, n + 1)), projective=projective)
            counts = np.bincount(tree.argmax().heads, minlength=n + 1)
            head = 1 + int(counts[1:].argmax())
            fewer = tree.program().at_most(n=int(counts[head]) // 2, where=head)
            rows.append(grown("projective tree" if projective else "crossing tree", n, fewer))
    print_table("Growth: milliseconds", ["structure", "size", "variables", "HiGHS", "multipliers", "ratio"], rows)


HEAD = ["", "programs", "HiGHS mean", "multipliers mean", "median ratio", "10% are below", "5 times faster"]


def compared(name: str, programs: list[tw.Program]) -> list[object]:
    """Return a row of the table; programs that have no solution are left out."""
    found = [timed(program) for program in programs]
    return summary(name, [times for times in found if times is not None])


def timed(program: tw.Program) -> tuple[float, float] | None:
    """Return the seconds of both ways, after a look at whether they agree; None where there is no solution."""
    assert program.n_variables >= 0  # written out
    seconds = []
    best: list[Any] = []
    for method in ("highs", "auto"):
        began = time.perf_counter()
        try:
            best.append(program.argmax(method=method))
        except tw.Unsatisfiable:
            best.append(None)
        seconds.append(time.perf_counter() - began)
    if best[0] is None or best[1] is None:
        assert best[0] is best[1]
        return None
    assert best[0].exact
    assert best[1].exact
    assert abs(best[0].score - best[1].score) <= 1e-7 * max(1.0, abs(best[0].score)), (best[0], best[1])
    return seconds[0], seconds[1]


def summary(name: str, times: list[tuple[float, float]]) -> list[object]:
    """Return a row of the table."""
    found = np.array(times) * 1e3
    ratios = found[:, 0] / found[:, 1]
    return [
        name,
        len(found),
        *map(float, found.mean(axis=0)),
        float(np.median(ratios)),
        float(np.quantile(ratios, 0.1)),
        f"{100 * (ratios >= 5).mean():.1f}%",
    ]


def grown(name: str, size: int, program: tw.Program) -> list[object]:
    """Time both ways on one program."""
    n = program.n_variables
    seconds = [best_seconds(lambda m=method: program.argmax(method=m), 0.5, 20) for method in ("highs", "auto")]  # type: ignore[misc]
    assert abs(program.argmax(method="highs").score - program.argmax().score) < 1e-7
    return [name, size, n, 1e3 * seconds[0], 1e3 * seconds[1], seconds[0] / seconds[1]]


if __name__ == "__main__":
    main(sys.argv[1:])
