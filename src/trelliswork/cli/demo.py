"""The demonstration: train on the corpus that ships with the library, score it, tag fresh lines, draw a trellis.

Run by ``make demo`` or ``python -m trelliswork.cli.demo [FOLDER]``; the picture goes into the folder (``demo``).
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import trelliswork as tw
from trelliswork.corpora import Corpus
from trelliswork.structures.chain import Chain

FRESH_LINES = (
    "1 1/2 cups coarsely grated Gruyère cheese , plus extra to serve",
    "2 ( 15 oz ) cans black beans , rinsed and drained",
    "a handful of fresh coriander leaves , roughly torn ( optional )",
)


def main(arguments: list[str]) -> int:
    """Run the demonstration; returns an exit code."""
    folder = Path(arguments[0] if arguments else "demo")
    corpus = tw.corpora.ingredients()
    hmm = train(corpus)
    report(hmm, corpus)
    tag(hmm)
    draw(hmm, folder)
    return 0


def train(corpus: Corpus) -> tw.HMM:
    """Fit a hidden Markov model and say how long it took."""
    began = time.perf_counter()
    hmm = tw.HMM().fit(corpus.X_train, corpus.y_train)
    seconds = time.perf_counter() - began
    tokens = sum(map(len, corpus.X_train))
    print(f"Trained an HMM on {len(corpus.X_train):,} ingredient lines ({tokens:,} tokens) in {seconds:.2f} s.")
    return hmm


def report(hmm: tw.HMM, corpus: Corpus) -> None:
    """Print the test scores: exact spans, and tokens beside a tagger that only remembers words."""
    guesses = hmm.predict(corpus.X_test)
    spans = tw.evaluation.span_scores(corpus.y_test, guesses)
    tokens = tw.evaluation.token_scores(corpus.y_test, guesses)
    print(f"Test lines: {len(corpus.X_test)}; span F1 {spans.f1:.1%}, token accuracy {tokens.accuracy:.1%}")
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


def tag(hmm: tw.HMM) -> None:
    """Tag lines that are not in the corpus, as valid BIO, each with its probability."""
    for line in FRESH_LINES:
        chain = valid(hmm, line.split())
        best = chain.argmax()
        probability = chain.span_probability(0, best.labels.tolist())
        print(f"{line}   (p = {probability:.2f})")
        for word, label in zip(line.split(), hmm.classes_[best.labels], strict=True):
            print(f"    {word:<12} {label}")


def valid(hmm: tw.HMM, tokens: list[str]) -> Chain:
    """Return the chain of a line with everything forbidden that is not BIO."""
    rules = tw.scheme_constraints(list(hmm.classes_), "BIO")
    return hmm.chain(tokens).constrained(**rules._asdict())


def draw(hmm: tw.HMM, folder: Path) -> None:
    """Write the trellis of the second fresh line as a picture."""
    tokens = FRESH_LINES[1].split()
    axes = valid(hmm, tokens).plot(
        labels=list(hmm.classes_),
        tokens=tokens,
        marginals=True,
        title="The best labelling, and every label's probability",
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "trellis.png"
    axes.figure.savefig(path, dpi=150)  # type: ignore[union-attr]
    print(f"\nThe trellis of the second line is in {path}.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
