"""What the ready sets of templates reach with `tw.CRF()`: span F1 on text held out of training, and on the test text.

Chunking is CoNLL-2000, the last 2,200 sentences of its training part held out; names are CoNLL-2002 Spanish, where
testa is held out and testb the test. One model is trained for both columns, on what is not held out. Below that, the
set of the task with one kind of template left out at a time.

With `--segments [SENTENCES]`, segment models on so many sentences (2,000) of the same text, scored on the first 1,000
that are held out, and a chain beside them; passive-aggressive, since many models are trained.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import chunking
import trelliswork as tw
from timing import print_table
from trelliswork.features import presets

HELD_OUT = 2200  # sentences of CoNLL-2000

# What is left out of a ready set: a name for it, and how its lines begin.
PARTS = {
    "chunking": {
        "bags of tags": ("bag(",),
        "affixes": ("prefix(", "suffix("),
        "word with tag": ("word & pos", "word[-1] & pos", "word[1] & pos"),
        "shapes": ("shape(",),
    },
    "ner": {
        "bags of words": ("bag(",),
        "affixes of neighbours": ("prefix(word, 3)", "suffix(word, 3)"),
        "shapes": ("shape(", "ngram(shape", "lower(word)[-1] & shape"),
        "tags": ("pos",),
    },
}


# Kinds of lines about spans in the ready set of segments, likewise.
SPAN_PARTS = {
    "all words": ("span: lower(whole.word)",),
    "shapes": ("span: shape(whole", "span: outline(shape"),
    "words at the ends": ("span: lower(first", "span: lower(last"),
    "words around": ("span: lower(before", "span: lower(after"),
    "tags at the ends": ("span: first.pos", "span: last.pos", "span: before.pos"),
    "all tags": ("span: whole.pos", "span: outline(pos)"),
    "size": ("span: size",),
    "all of spans": ("span:",),
}


class Task(NamedTuple):
    """Labelled parts of a corpus, tokens and labels each."""

    name: str
    train: tuple[Any, Any]
    held_out: tuple[Any, Any]
    test: tuple[Any, Any]


def main() -> None:
    """Print a table for each task."""
    folder = chunking.data_folder()
    if folder is None:
        print("ready_sets is skipped: no corpora were found. Set TRELLISWORK_DATA to a folder with conll2000/ in it.")
        return
    if sys.argv[1:2] == ["--segments"]:
        segments(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
        return
    for preset, task in (("chunking", chunks(folder)), ("ner", names(folder))):
        rows = []
        for name, templates in sets(preset):
            labeler = tw.SequenceLabeler(tw.CRF(), templates, n_jobs=2).fit(*task.train)
            scores = [f"{100 * f1(labeler, *part):.2f}" for part in (task.held_out, task.test)]
            rows.append([name, len(templates), *scores])
        print_table(f"{task.name}, span F1", ["templates", "how many", "held out", "test"], rows)
        sys.stdout.flush()


def sets(preset: str) -> Iterator[tuple[str, tw.Templates]]:
    """Yield the general sets, the one of the task, and that one with parts left out."""
    for name in ("words", "thesis", preset):
        yield name, tw.Templates.preset(name)
    lines = getattr(presets, preset.upper()).splitlines()
    for name, beginnings in PARTS[preset].items():
        yield f"  without {name}", tw.Templates("\n".join(line for line in lines if not line.startswith(beginnings)))


def segments(folder: Path, n_sentences: int) -> None:
    """Print a table for segment models of each task."""
    for preset, task in (("chunking", chunks(folder)), ("ner", names(folder))):
        X, y = (part[:n_sentences] for part in task.train)
        held_out = [part[:1000] for part in task.held_out]
        rows = []
        chains = [(f"chain, {name}", tw.Templates.preset(name)) for name in ("words", preset)]
        for name, templates in [*chains, *segment_sets(preset)]:
            labeler: Any = tw.SequenceLabeler if name.startswith("chain") else tw.SegmentLabeler
            began = time.perf_counter()
            model = labeler(tw.PassiveAggressive(), templates, random_state=0).fit(X, y)
            seconds = time.perf_counter() - began
            rows.append([name, len(templates), f"{100 * f1(model, *held_out):.2f}", f"{seconds:.0f}"])
            print(*rows[-1], flush=True)
        head = ["templates", "how many", "held out", "seconds"]
        print_table(f"{task.name}, {n_sentences} sentences, span F1", head, rows)
        sys.stdout.flush()


def segment_sets(preset: str) -> Iterator[tuple[str, tw.Templates]]:
    """Yield the sets for segments, that of the task with their lines about spans, and the one without some of them."""
    yield "segments, segment_words", tw.Templates.segment_words()
    yield "  without affixes and shapes of ends", tw.Templates(presets.WORDS + presets.SPANS_OF_WORDS)
    yield "segments, segments", tw.Templates.segments()
    lines = presets.SEGMENTS.splitlines()
    spans = "\n".join(line for line in lines if line.startswith("span:"))
    if preset != "chunking":
        yield f"segments, {preset} and spans", tw.Templates.preset(preset) + tw.Templates(spans)
    for name, beginnings in SPAN_PARTS.items():
        yield f"  without {name}", tw.Templates("\n".join(line for line in lines if not line.startswith(beginnings)))


def chunks(folder: Path) -> Task:
    """Return CoNLL-2000, a part of the training text held out."""
    X, y = read(folder / "conll2000" / "train.txt.gz")
    cut = len(X) - HELD_OUT
    test = read(folder / "conll2000" / "test.txt.gz")
    return Task("CoNLL-2000 chunking", (X[:cut], y[:cut]), (X[cut:], y[cut:]), test)


def names(folder: Path) -> Task:
    """Return CoNLL-2002 Spanish, which has a part for choosing."""
    parts = ("train", "testa", "testb")
    return Task("CoNLL-2002 Spanish names", *(read(folder / "conll2002" / f"esp.{part}.gz") for part in parts))


def read(path: Path) -> tuple[Any, Any]:
    """Return tokens and labels."""
    X, y = tw.corpora.read_table(path)
    return list(X), list(y or ())


def f1(labeler: Any, X: Any, y: Any) -> float:
    """Return the F1 of exact spans."""
    return tw.evaluation.span_scores(y, labeler.predict(X)).f1


if __name__ == "__main__":
    main()
