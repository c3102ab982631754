"""Tagging CoNLL-2000's test set, raw file in and labels out, with the same attributes for everyone.

This library reads, extracts, tags and writes in one call; python-crfsuite gets its attributes from Python, as its users
write them; underthesea-core and crfs read its model; Wapiti does all by itself, if the environment variable WAPITI
names its binary (its time is the process less the same process on an empty file, because loading its model takes
seconds). Every way of asking must give the same F1.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import chunking
import trelliswork as tw
from chunking import attribute_dicts, attribute_lists, cache_folder, installed, labels, raw_file, read_sentences
from timing import best_seconds, print_load, print_rounds, print_table

ITERATIONS = 30  # of the peer's training: its speed does not depend on how good its weights are
TURNS = 5
COPIES = 4  # a file of 190,000 tokens: what starting costs, is not measured here
WAPITI_COPIES = 10  # it takes seconds to load its model


def main(arguments: list[str]) -> None:
    """Print tokens per second, and how many times faster this library is."""
    if chunking.corpus_or_skip("tagging") is None:
        return
    print_load()
    if "--turns" in arguments:
        print_turns()
        return
    sentences = read_sentences(raw_file("test"))
    rates = {**ours(sentences), **crfsuite(sentences), **readers_of_its_models(sentences), **wapiti(sentences)}
    print_rates(rates)
    print_growth()


def print_turns() -> None:
    """Print millions of tokens in a second of the processor, and how many times python-crfsuite's that is."""
    import pycrfsuite

    from trelliswork import models
    from trelliswork.cli.tag import ColumnTagger

    model = str(our_models()[0])
    taggers = {way: ColumnTagger(models.open_model(model), way, 1) for way in ("labels", "marginals")}
    path, copied, target = str(raw_file("test", COPIES)), str(raw_file("test")), io.BytesIO()
    peer_tagger = pycrfsuite.Tagger()
    peer_tagger.open(str(crfsuite_model()))
    lists = [attribute_lists(sentence) for sentence in read_sentences(Path(copied))]
    n_tokens = sum(map(len, lists))

    def tag(way: str) -> None:
        target.seek(0)
        taggers[way].tag(path, target)

    def theirs() -> None:
        for sentence in read_sentences(Path(copied)):
            peer_tagger.tag(attribute_dicts(sentence))

    rounds = []
    for _ in range(TURNS):
        found: dict[str, float] = {}
        for way, ask in (("labels", theirs), ("marginals", lambda: all_marginals(peer_tagger, lists))):
            ours = COPIES * n_tokens / best_seconds(partial(tag, way), 1.0, 10, time.process_time) / 1e6
            peers = n_tokens / best_seconds(ask, 0.0, 1, time.process_time) / 1e6
            found |= {f"raw file to {way}": ours, f"python-crfsuite, {way}": peers, f"ratio, {way}": ours / peers}
        rounds.append(found)
    print_rounds("Millions of tokens in a second of the processor, and ratios", rounds)


def ours(sentences: list[chunking.Sentence]) -> dict[str, float]:
    """Return this library's tokens per second, each way of asking."""
    from trelliswork import models
    from trelliswork.cli.tag import ColumnTagger

    model, lists_model = our_models()
    gold = [labels(sentence) for sentence in sentences]
    tagged = io.BytesIO()
    ColumnTagger(models.open_model(str(model))).tag(str(raw_file("test")), tagged)
    rows = [line.split("\t")[-1] for line in tagged.getvalue().decode().splitlines()]
    f1 = chunking.span_f1(gold, cut(rows))

    labeler = tw.load(model)
    X = [[row[:2] for row in sentence] for sentence in sentences]
    by_lists = tw.load(lists_model)
    attributes = [attribute_lists(sentence) for sentence in sentences]
    dicts = [attribute_dicts(sentence) for sentence in sentences]
    for way, guess in (("tuples", labeler.predict(X)), ("attribute lists", by_lists.predict(attributes))):
        found = chunking.span_f1(gold, guess)
        assert abs(found - f1) < 0.3, f"{way}: F1 {found:.2f}, raw text {f1:.2f}: the forms disagree"
    assert by_lists.predict(dicts) == by_lists.predict(attributes), "dicts and lists disagree"
    print(f"span F1 of this library's model {f1:.2f}, the same from every form of input")

    path, n_tokens = str(raw_file("test", COPIES)), COPIES * sum(map(len, sentences))

    target = io.BytesIO()  # one for all: what fresh memory costs, 650 bytes a token with probabilities, is the system's

    def tag(tagger: ColumnTagger, path: str) -> None:
        target.seek(0)
        tagger.tag(path, target)

    def rate(ask: Callable[[], object], tokens: int = n_tokens) -> float:
        return tokens / best_seconds(ask, budget=2.0, most=10)

    once = sum(map(len, sentences))
    result = {}
    for jobs in (1, 2):
        by_lists.n_jobs = labeler.n_jobs = jobs
        for way in ("labels", "marginals"):
            tagger = ColumnTagger(models.open_model(str(model)), way, jobs)
            result[f"raw file to {way}, {threads(jobs)}"] = rate(partial(tag, tagger, path))
        result[f"attribute lists, {threads(jobs)}"] = rate(lambda: by_lists.predict(attributes), once)
        result[f"dicts, {threads(jobs)}"] = rate(lambda: by_lists.predict(dicts), once)
    return result


def our_models() -> tuple[Path, Path]:
    """Train this library's models, once for this run: on raw text with templates, and on attribute lists."""
    from trelliswork.corpora.tables import read_table

    text, lists = cache_folder() / "tagging.tw", cache_folder() / "tagging.lists.tw"
    X, y = read_table(raw_file("train"))
    tw.SequenceLabeler(tw.CRF(l2=2 * chunking.C2), tw.Templates.load(chunking.TEMPLATE_FILE)).fit(X, y).save(text)
    sentences = read_sentences(raw_file("train"))
    listed = [attribute_lists(sentence) for sentence in sentences]
    tw.SequenceLabeler(tw.CRF(l2=2 * chunking.C2)).fit(listed, [labels(sentence) for sentence in sentences]).save(lists)
    return text, lists


def crfsuite(sentences: list[chunking.Sentence]) -> dict[str, float]:
    """Return python-crfsuite's tokens per second."""
    if not installed("pycrfsuite"):
        print("python-crfsuite is not installed")
        return {}
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(crfsuite_model()))
    lists = [attribute_lists(sentence) for sentence in sentences]
    dicts = [attribute_dicts(sentence) for sentence in sentences]
    guess = [tagger.tag(attributes) for attributes in lists]
    assert guess == [tagger.tag(attributes) for attributes in dicts], "the forms of python-crfsuite disagree"
    print(f"span F1 of python-crfsuite's model {chunking.span_f1([labels(s) for s in sentences], guess):.2f}")
    n_tokens = sum(map(len, sentences))

    def end_to_end() -> None:
        for sentence in read_sentences(raw_file("test")):
            tagger.tag(attribute_dicts(sentence))

    return {
        "python-crfsuite, raw file, dicts": n_tokens / best_seconds(end_to_end, 2.0, 3),
        "python-crfsuite, attribute lists": n_tokens / best_seconds(lambda: [tagger.tag(x) for x in lists], 2.0, 3),
        "python-crfsuite, dicts": n_tokens / best_seconds(lambda: [tagger.tag(x) for x in dicts], 2.0, 3),
        "python-crfsuite, all marginals of attribute lists": n_tokens
        / best_seconds(lambda: all_marginals(tagger, lists), 2.0, 2),
    }


def readers_of_its_models(sentences: list[chunking.Sentence]) -> dict[str, float]:
    """Return the tokens per second of underthesea-core and crfs, both in Rust, with the model of python-crfsuite."""
    path = cache_folder() / f"chunking.{ITERATIONS}.crfsuite"
    lists = [attribute_lists(sentence) for sentence in sentences]
    n_tokens = sum(map(len, sentences))
    ways: dict[str, Callable[[], object]] = {}
    if path.exists() and installed("underthesea_core"):
        from underthesea_core import CRFModel, CRFTagger

        tagger = CRFTagger.from_model(CRFModel.load(str(path)))
        ways["underthesea-core, attribute lists"] = lambda: [tagger.tag(x) for x in lists]
    if path.exists() and installed("crfs"):
        from crfs import Attribute, Model

        model = Model.open(str(path))
        ways["crfs, attribute lists"] = lambda: [
            model.tag([[Attribute(a, 1.0) for a in token] for token in x]) for x in lists
        ]
    return {name: n_tokens / best_seconds(way, 2.0, 3) for name, way in ways.items()}


def crfsuite_model() -> Path:
    """Train python-crfsuite's model, once for all runs."""
    model = cache_folder() / f"chunking.{ITERATIONS}.crfsuite"
    if not model.exists():
        chunking.peer("crfsuite", raw_file("train"), ITERATIONS, "stream", model)
    return model


def all_marginals(tagger: Any, lists: list[list[list[str]]]) -> None:
    """Ask python-crfsuite for the probability of every label of every token."""
    names = tagger.labels()
    for attributes in lists:
        tagger.set(attributes)
        for t in range(len(attributes)):
            for name in names:
                tagger.marginal(name, t)


def wapiti(sentences: list[chunking.Sentence]) -> dict[str, float]:
    """Return Wapiti's tokens per second, from raw file to labels, and to labels with all scores."""
    program = os.environ.get("WAPITI")
    if not program:
        print("Wapiti is left out: set WAPITI to the path of its binary to have it measured, too")
        return {}
    model = wapiti_model(program)
    words = cache_folder() / "conll2000.words.txt"
    text = "\n".join("\n".join(" ".join(row[:2]) for row in sentence) + "\n" for sentence in sentences)
    words.write_text("\n".join([text] * WAPITI_COPIES))
    empty = cache_folder() / "empty.txt"
    empty.write_text("")
    n_tokens = WAPITI_COPIES * sum(map(len, sentences))
    rates = {}
    for way, options in (("labels", []), ("all posteriors", ["-p", "-s"])):

        def run(path: Path, options: list[str] = options) -> None:
            command = [program, "label", "-m", str(model), *options, str(path), os.devnull]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)

        seconds = best_seconds(lambda: run(words), 4.0, 3) - best_seconds(lambda: run(empty), 4.0, 3)
        rates[f"Wapiti, raw file to {way}"] = n_tokens / seconds
    return rates


def wapiti_model(program: str) -> Path:
    """Train Wapiti for a few iterations: its labelling does not get slower with better weights."""
    model, pattern = cache_folder() / "chunking.wapiti", cache_folder() / "chunking.pattern"
    if not model.exists():
        lines = [
            f"u{i:02}:" + "/".join(f"%x[{offset},{column}]" for column, offset in template)
            for i, template in enumerate(chunking.TEMPLATES)
        ]
        pattern.write_text("\n".join([*lines, "b", ""]))
        options = ["-p", str(pattern), "-a", "l-bfgs", "-1", "0", "-2", "2", "-t", "2", "-i", "5"]
        command = [program, "train", *options, str(raw_file("train")), str(model)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return model


def print_rates(rates: dict[str, float]) -> None:
    """Print each rate, and this library's best comparable way beside the peers'."""
    print_table("CoNLL-2000 test set", ["what", "tokens/s"], [[name, f"{rate:,.0f}"] for name, rate in rates.items()])
    pairs = [
        ("raw file to labels, 1 thread", "python-crfsuite, raw file, dicts"),
        ("raw file to labels, 2 threads", "python-crfsuite, raw file, dicts"),
        ("raw file to labels, 1 thread", "Wapiti, raw file to labels"),
        ("raw file to marginals, 1 thread", "python-crfsuite, all marginals of attribute lists"),
        ("raw file to marginals, 1 thread", "Wapiti, raw file to all posteriors"),
        ("attribute lists, 1 thread", "python-crfsuite, attribute lists"),
        ("attribute lists, 1 thread", "underthesea-core, attribute lists"),
        ("attribute lists, 1 thread", "crfs, attribute lists"),
        ("dicts, 1 thread", "python-crfsuite, dicts"),
    ]
    rows = [[us, them, f"{rates[us] / rates[them]:.1f}"] for us, them in pairs if them in rates]
    print_table("How many times faster", ["trelliswork", "peer", "ratio"], rows)


def print_growth() -> None:
    """Show that time grows with the data and memory does not: the shell's command, in a process of its own."""
    rows = []
    for copies in (1, 10, 40):
        command = [sys.executable, "-m", "trelliswork", "tag", str(cache_folder() / "tagging.tw"), "--jobs", "1"]
        path = raw_file("test", copies)
        child = chunking.run_child([*command, str(path)])
        rows.append([copies, f"{47_377 * copies:,}", child["wall"], child["peak_mib"]])
        if copies > 10:
            path.unlink()
    print_table("trelliswork tag, as a program, 1 thread", ["copies", "tokens", "seconds", "peak MiB"], rows)


def cut(rows: list[str]) -> list[list[str]]:
    """Return the lines of a tagged file as sentences."""
    sentences: list[list[str]] = [[]]
    for row in rows:
        if row:
            sentences[-1].append(row)
        elif sentences[-1]:
            sentences.append([])
    return sentences if sentences[-1] else sentences[:-1]


def threads(jobs: int) -> str:
    """Return the number of threads in words."""
    return "1 thread" if jobs == 1 else f"{jobs} threads"


if __name__ == "__main__":
    main(sys.argv[1:])
