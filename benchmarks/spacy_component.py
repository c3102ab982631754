"""The component for spaCy beside spaCy's own `ner` and `tagger`: the same documents, trained and asked in one process.

Entities are those of the ingredient lines, tags those of the sentences; both ship with the library. spaCy's components
have their default networks and see the training examples ``--epochs`` times. What is timed is the component alone, on
documents that are tokenized already, in turns.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed, minibatch

import trelliswork as tw
from timing import print_load, print_table

BATCH = 256
ROUNDS = 5


def main() -> None:
    """Print what each component reaches, how long it learned, and tokens per second with their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20, help="passes of spaCy's components over the examples")
    parser.add_argument("--copies", type=int, default=10, help="how often the test documents are asked about")
    options = parser.parse_args()
    print_load()
    print(f"spaCy {spacy.__version__}")
    entities = {
        "spaCy ner": lambda: by_spacy("ner", entity_docs, options.epochs),
        "trelliswork": lambda: at_once("trelliswork", entity_docs),
        "trelliswork, probabilities=False": lambda: at_once("trelliswork", entity_docs, probabilities=False),
        "trelliswork, BILOU": lambda: at_once("trelliswork", entity_docs, scheme="BILOU"),
    }
    compare("entities of ingredient lines", entities, entity_docs, "ents_f", options.copies)
    tags = {
        "spaCy tagger": lambda: by_spacy("tagger", tagged_docs, options.epochs),
        "trelliswork_tagger": lambda: at_once("trelliswork_tagger", tagged_docs),
        "trelliswork_tagger, probabilities=True": lambda: at_once(
            "trelliswork_tagger", tagged_docs, probabilities=True
        ),
    }
    compare("tags of the sentences", tags, tagged_docs, "tag_acc", options.copies)


def compare(title: str, makers: dict[str, Callable[[], Any]], docs: Any, score: str, copies: int) -> None:
    """Train all, then ask them in turns."""
    pipelines, facts = {}, {}
    for name, make in makers.items():
        began = time.perf_counter()
        nlp = pipelines[name] = make()
        seconds = time.perf_counter() - began
        scores = nlp.evaluate(examples(docs(nlp.vocab, train=False)))
        facts[name] = [100 * float(scores[score]), seconds]
    best = dict.fromkeys(makers, float("inf"))
    for _ in range(ROUNDS):
        for name, nlp in pipelines.items():
            best[name] = min(best[name], seconds_of(nlp, docs(nlp.vocab, train=False), copies))
    n_tokens = copies * sum(map(len, docs(next(iter(pipelines.values())).vocab, train=False)))
    peer = best[next(iter(makers))]
    rows = [[name, *facts[name], f"{n_tokens / best[name]:,.0f}", peer / best[name]] for name in makers]
    print_table(title, ["component", score, "seconds to learn", "tokens/s", "ratio"], rows)


def seconds_of(nlp: Any, docs: Sequence[Doc], copies: int) -> float:
    """Time the only component of a pipeline on fresh documents."""
    ((_, pipe),) = nlp.pipeline
    fresh = [bare(doc) for _ in range(copies) for doc in docs]
    began = time.perf_counter()
    for _ in pipe.pipe(fresh, batch_size=BATCH):
        pass
    return time.perf_counter() - began


def at_once(factory: str, docs: Any, **config: Any) -> Any:
    """Train the component of this library, which learns in `initialize`."""
    nlp = spacy.blank("en")
    nlp.add_pipe(factory, config=config)
    made = examples(docs(nlp.vocab, train=True))
    nlp.initialize(lambda: made)
    return nlp


def by_spacy(factory: str, docs: Any, epochs: int) -> Any:
    """Train a component of spaCy's for so many passes."""
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    made = examples(docs(nlp.vocab, train=True))
    optimizer = nlp.initialize(lambda: made)
    shuffled = random.Random(0)
    for _ in range(epochs):
        shuffled.shuffle(made)
        for batch in minibatch(made, size=16):
            nlp.update(batch, sgd=optimizer, drop=0.1)
    return nlp


def entity_docs(vocab: Any, train: bool) -> list[Doc]:
    """Return the ingredient lines with their entities."""
    corpus = tw.corpora.ingredients()
    X, y = (corpus.X_train, corpus.y_train) if train else (corpus.X_test, corpus.y_test)
    docs = []
    for words, labels in zip(X, y, strict=True):
        doc = Doc(vocab, words=words)
        doc.set_ents([Span(doc, start, stop, label=kind) for kind, start, stop in tw.corpora.spans(labels)])
        docs.append(doc)
    return docs


def tagged_docs(vocab: Any, train: bool) -> list[Doc]:
    """Return the sentences with their universal parts of speech as tags; every fifth is for the test."""
    sentences = [sentence for i, sentence in enumerate(tw.corpora.sentences()) if (i % 5 != 0) == train]
    return [
        Doc(vocab, words=[word.form for word in sentence.words], tags=[word.upos for word in sentence.words])
        for sentence in sentences
    ]


def examples(docs: Iterable[Doc]) -> list[Example]:
    """Return documents as examples."""
    return [Example(bare(doc), doc) for doc in docs]


def bare(doc: Doc) -> Doc:
    """Return the words of a document and nothing else."""
    return Doc(doc.vocab, words=[token.text for token in doc])


if __name__ == "__main__":
    main()
