"""Span F1 of the online and primal learners' variants on CoNLL-2000 chunking, with the 19 templates of the benchmarks.

On the test part by default; ``--held-out`` trains on three quarters of the training sentences and scores the last one,
and does the same with the first: this is what choices should be made on. One seed, one run.
"""

from __future__ import annotations

import sys
from typing import Any

import chunking
import trelliswork as tw
from chunking import raw_file, read_sentences
from timing import print_load, print_table

Sentences = list[chunking.Sentence]

VARIANTS: list[Any] = [
    tw.Pegasos(),
    tw.Pegasos(projection=True),
    tw.Pegasos(batch_size=16),
    tw.Pegasos(average_from=0),
    tw.Pegasos(average_from=1),
    tw.Pegasos(averaged=False),
    tw.Pegasos(loss="k-best"),
    tw.Pegasos(loss="averaged-sum", restricted=True),
    tw.Pegasos(loss="ramp"),
    tw.Pegasos(loss="ramp-do"),
    tw.Pegasos(loss="slack"),
    tw.Pegasos(step="power"),
    tw.Pegasos(step="asgd"),
    tw.Pegasos(step="constant"),
    tw.Subgradient(),
    tw.Subgradient(gamma=1.0),
    tw.Subgradient(rescaling="slack"),
    tw.Subgradient(loss="direct"),
    tw.AROW(),
    tw.AROW(averaged=False),
    tw.AROW(k=5),
    tw.AROW(variant="cw"),
    tw.AROW(variant="scw"),
    tw.Perceptron(),
    tw.PassiveAggressive(),
]


def main(arguments: list[str]) -> None:
    """Print the table."""
    if chunking.corpus_or_skip("variants") is None:
        return
    print_load()
    train = read_sentences(raw_file("train"))
    quarter = len(train) // 4
    if "--held-out" in arguments:
        splits = [(train[:-quarter], train[-quarter:]), (train[quarter:], train[:quarter])]
    else:
        splits = [(train, read_sentences(raw_file("test")))]
    rows = [
        [repr(learner), f"{sum(span_f1(learner, *split) for split in splits) / len(splits):.2f}"]
        for learner in VARIANTS
    ]
    print_table("Held-out quarters, mean of two" if len(splits) > 1 else "Test part", ["learner", "span F1"], rows)


def span_f1(learner: Any, train: Sentences, test: Sentences) -> float:
    """Train on some sentences and return the F1 on others, in per cent."""
    labeler = tw.SequenceLabeler(learner, tw.Templates.load(chunking.TEMPLATE_FILE), n_jobs=1, random_state=0)
    labeler.fit(columns(train), [chunking.labels(sentence) for sentence in train])
    return chunking.span_f1([chunking.labels(sentence) for sentence in test], labeler.predict(columns(test)))


def columns(sentences: Sentences) -> list[list[tuple[str, ...]]]:
    """Return the sentences without their labels."""
    return [[row[:2] for row in sentence] for sentence in sentences]


if __name__ == "__main__":
    main(sys.argv[1:])
