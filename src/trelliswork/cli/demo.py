"""The demonstration: train on the corpora that ship with the library, score, tag fresh lines, parse, draw.

Run by ``make demo``, ``trelliswork demo [FOLDER]`` or ``python -m trelliswork.cli.demo [FOLDER]``; the pictures go
into the folder (``demo``).
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import trelliswork as tw
    from trelliswork.corpora import Corpus

FRESH_LINES = (
    "1 1/2 cups coarsely grated Gruyère cheese , plus extra to serve",
    "2 ( 15 oz ) cans black beans , rinsed and drained",
    "a handful of fresh coriander leaves , roughly torn ( optional )",
)


HELD_OUT = 40  # sentences of the treebank that the parser does not learn from


@click.command(
    "demo",
    short_help="Train on the corpora that ship with the library, tag new lines, parse.",
    epilog="Example: trelliswork demo pictures",
)
@click.argument("folder", default="demo")
def command(folder: str) -> None:
    """Train a CRF on 1,154 recipe lines, compare it with an HMM and tag new lines; train a parser on 154 sentences
    and score it on 40 others; write pictures of a trellis and a tree to FOLDER.
    """
    main([folder])


def main(arguments: list[str]) -> int:
    """Run the demonstration; returns an exit code."""
    import trelliswork as tw

    folder = Path(arguments[0] if arguments else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    corpus = tw.corpora.ingredients()
    hmm = tw.HMM().fit(corpus.X_train, corpus.y_train)
    crf = train(corpus)
    report(corpus, {"CRF": crf, "HMM": hmm})
    tag(crf)
    draw(crf, folder)
    parse(folder)
    return 0


def train(corpus: Corpus) -> tw.SequenceLabeler:
    """Fit a conditional random field, with a progress bar on a terminal, and say how long it took."""
    import trelliswork as tw
    from trelliswork.cli.progress import TrainingProgress, on_terminal

    began = time.perf_counter()
    learner = tw.CRF()
    n_tokens = sum(map(len, corpus.X_train))
    progress = TrainingProgress(n_tokens, learner, bar=on_terminal(), lines=False)
    with progress.showing():
        crf = tw.SequenceLabeler(learner, "words", constraints="BIO")
        crf.fit(corpus.X_train, corpus.y_train, callback=progress.update)
    seconds = time.perf_counter() - began
    print(f"Trained a CRF on {len(corpus.X_train):,} ingredient lines ({n_tokens:,} tokens) in {seconds:.2f} s:")
    print(f"{crf.message_}.")
    return crf


def report(corpus: Corpus, models: dict[str, Any]) -> None:
    """Print the test scores: exact spans, and tokens beside a tagger that only remembers words."""
    import trelliswork as tw

    for name, model in models.items():
        guesses = model.predict(corpus.X_test)
        spans = tw.evaluation.span_scores(corpus.y_test, guesses)
        tokens = tw.evaluation.token_scores(corpus.y_test, guesses)
        print(f"{name}, {len(corpus.X_test)} test lines: span F1 {spans.f1:.1%}, token accuracy {tokens.accuracy:.1%}")
    print(f"(token accuracy by word alone: {word_accuracy(corpus):.1%}).\n")


def word_accuracy(corpus: Corpus) -> float:
    """Score giving every word its most frequent label, and unseen words the most frequent of all."""
    seen: dict[str, Counter[str]] = {}
    overall: Counter[str] = Counter()
    for line, labels in zip(corpus.X_train, corpus.y_train, strict=True):
        for word, label in zip(line, labels, strict=True):
            seen.setdefault(word, Counter())[label] += 1
            overall[label] += 1
    pairs = [pair for X, y in zip(corpus.X_test, corpus.y_test, strict=True) for pair in zip(X, y, strict=True)]
    return sum(seen.get(word, overall).most_common(1)[0][0] == label for word, label in pairs) / len(pairs)


def tag(crf: tw.SequenceLabeler) -> None:
    """Tag lines that are not in the corpus, each with its probability."""
    lines = [line.split() for line in FRESH_LINES]
    for line, best in zip(lines, crf.predict_kbest(lines, 1), strict=True):
        labels, log_prob = best[0]
        print(f"{' '.join(line)}   (p = {2.718281828459045**log_prob:.2f})")
        for word, label in zip(line, labels, strict=True):
            print(f"    {word:<12} {label}")


def draw(crf: tw.SequenceLabeler, folder: Path) -> None:
    """Write the trellis of the second fresh line as a picture."""
    tokens = FRESH_LINES[1].split()
    axes = crf.chain(tokens).plot(
        labels=list(crf.classes_),
        tokens=tokens,
        marginals=True,
        title="The best labelling, and every label's probability",
    )
    path = folder / "trellis.png"
    axes.figure.savefig(path, dpi=150)  # type: ignore[union-attr]
    print(f"\nThe trellis of the second line is in {path}.")


def parse(folder: Path) -> None:
    """Train a small dependency parser, score it on sentences it has not seen, and draw one of its trees."""
    import trelliswork as tw

    sentences = tw.corpora.sentences()
    learned, held_out = (
        tw.corpora.Treebank.from_sentences(part) for part in (sentences[:-HELD_OUT], sentences[-HELD_OUT:])
    )
    began = time.perf_counter()
    parser = tw.DependencyParser(hash_bits=18).fit(learned)
    seconds = time.perf_counter() - began
    trees = parser.predict(held_out)
    scores = tw.evaluation.dependency_scores(held_out, trees)
    print(f"\nTrained a dependency parser on {len(learned)} sentences ({learned.n_words:,} words) in {seconds:.2f} s.")
    print(f"Parser, {len(held_out)} other sentences: UAS {scores.uas:.1%}, LAS {scores.las:.1%}\n")
    longest = max(range(len(held_out)), key=lambda i: len(held_out[i].rows))
    sentence, (heads, relations) = held_out[longest], trees[longest]
    for word, head, relation in zip(sentence.words, heads, relations, strict=True):
        governor = "the sentence" if head == 0 else sentence.words[head - 1]
        print(f"  {word:<12} {relation:<10} of {governor}")
    path = folder / "tree.svg"
    tags = [row[2] for row in sentence.rows]
    svg = tw.plots.arcs_svg(sentence.words, heads, relations, tags=tags, gold=(sentence.heads, sentence.relations))
    path.write_text(svg, encoding="utf-8")
    print(f"\nThis tree, with the right one below the words, is in {path}.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
