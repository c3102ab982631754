"""Parsing UD English-EWT beside UDPipe 1.4, with gold tags: accuracy, tokens a second, training, memory, file size.

    TRELLISWORK_DATA=FOLDER python benchmarks/parsing.py [--udpipe MODEL] [--orders 1,2] [--learner pa] [--reuse]

FOLDER has ``ud_ewt/{train,dev,test}.conllu.gz``. All that is measured is done by processes of their own: training from
the raw file to the saved model on two threads, with the peak of its memory; then parsing the test file, CoNLL-U in and
CoNLL-U out, one thread, in turns, the fastest of three; by the clock on the wall and, as other work slows that down, by
that of the processor. UDPipe's tagger is not used: both parsers see the gold tags of
the file. Without ``--udpipe`` its model is trained here, by its own Trainer (``use_gold_tags=1``), which takes most of
an hour, and kept in the system's temporary folder. So are ours, which ``--reuse`` takes from there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trelliswork as tw
from timing import print_load, print_table

ROUNDS = 3
UDPIPE_PARSER = "use_gold_tags=1"


def main(arguments: list[str]) -> int:
    """Print the table; returns an exit code."""
    options = _options(arguments)
    if options.run is not None:  # a process of its own
        print(json.dumps(STEPS[options.run](**json.loads(options.how))))
        return 0
    folder = _data()
    if folder is None:
        print("benchmarks/parsing.py needs UD EWT: TRELLISWORK_DATA names a folder with ud_ewt/train.conllu.gz")
        return 0
    print_load()
    cache = Path(tempfile.gettempdir()) / "trelliswork-bench-parsing"
    cache.mkdir(exist_ok=True)
    rows = contenders(options, folder, cache)
    gold = tw.corpora.read_treebank(folder / "test.conllu.gz")
    test = _unpacked(folder / "test.conllu.gz", cache)
    for _ in range(ROUNDS):  # in turns
        for row in rows:
            found = step(row["parse"], model=row["model"], source=str(test), target=str(cache / "parsed.conllu"))
            row["rate"] = max(row.get("rate", 0.0), gold.n_words / found["seconds"])
            row["cpu_rate"] = max(row.get("cpu_rate", 0.0), gold.n_words / found["cpu_seconds"])
            row["parsing_mib"] = found["peak_mib"]
            row["scores"] = tw.evaluation.dependency_scores(gold, tw.corpora.read_treebank(cache / "parsed.conllu"))
    print_table(
        f"UD EWT test, {gold.n_words:,} words, gold tags, one root; LAS without and with subtypes, punctuation counted",
        [
            "parser",
            "UAS",
            "LAS",
            "with subtypes",
            "trees",
            "tokens/s",
            "of processor time",
            "training s",
            "of processor time",
            "MiB training",
            "parsing",
            "file",
        ],
        [_cells(row) for row in rows],
    )
    ours = [row for row in rows if row["parse"] == "parse_ours"]
    theirs = [row for row in rows if row["parse"] != "parse_ours"]
    for row in ours:
        for peer in theirs:
            print(f"{row['name']} parses {row['cpu_rate'] / peer['cpu_rate']:.1f} times as fast as {peer['name']}")
    return 0


def contenders(options: argparse.Namespace, folder: Path, cache: Path) -> list[dict[str, Any]]:
    """Train, or find, what is compared."""
    rows = []
    for order in map(int, options.orders.split(",")):
        model = cache / f"order{order}.tw"
        kept = model.with_suffix(".json")
        if not (options.reuse and model.exists() and kept.exists()):
            source = str(_unpacked(folder / "train.conllu.gz", cache))
            facts = step("train_ours", source=source, model=str(model), order=order, learner=options.learner)
            kept.write_text(json.dumps(facts))
        found = json.loads(kept.read_text())
        rows.append({"name": f"trelliswork, order {order}", "parse": "parse_ours", "model": str(model), **found})
    try:
        import ufal.udpipe  # noqa: F401
    except ImportError:
        print("ufal.udpipe is not installed: pip install ufal.udpipe")
        return rows
    udpipe = Path(options.udpipe) if options.udpipe else cache / "ewt.udpipe"
    found = {"seconds": None, "cpu_seconds": None, "peak_mib": None}
    if not udpipe.exists():
        parts = {part: str(_unpacked(folder / f"{part}.conllu.gz", cache)) for part in ("train", "dev")}
        found = step("train_udpipe", **parts, model=str(udpipe))
    rows.append({"name": "UDPipe 1.4", "parse": "parse_udpipe", "model": str(udpipe), **found})
    return rows


def train_ours(source: str, model: str, order: int, learner: str) -> dict[str, Any]:
    """From CoNLL-U to a saved model, on two threads."""
    began = time.perf_counter()
    treebank = tw.corpora.read_treebank(source)
    parser = tw.DependencyParser(learner, order=order, n_jobs=2)
    parser.fit(treebank)
    parser.save(model)
    return {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time(), "peak_mib": _peak_mib()}


def parse_ours(model: str, source: str, target: str) -> dict[str, Any]:
    """CoNLL-U in and out, on one thread."""
    parser = tw.load(model)
    parser.n_jobs = 1
    text = Path(source).read_bytes()
    seconds = cpu_seconds = float("inf")
    for _ in range(2):  # the first also touches the weights
        began, cpu_began = time.perf_counter(), time.process_time()
        treebank = tw.corpora.Treebank.from_bytes(text, heads=False)
        parsed = treebank.with_trees(parser.predict_coded(treebank))
        seconds = min(seconds, time.perf_counter() - began)
        cpu_seconds = min(cpu_seconds, time.process_time() - cpu_began)
    Path(target).write_bytes(parsed)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_mib": _peak_mib()}


def train_udpipe(train: str, dev: str, model: str) -> dict[str, Any]:
    """UDPipe's parser without tokenizer and tagger, on gold tags."""
    from ufal.udpipe import ProcessingError, Trainer

    began = time.perf_counter()
    error = ProcessingError()
    data = Trainer.train("morphodita_parsito", _udpipe_sentences(train), _udpipe_sentences(dev), "none", "none",
                         UDPIPE_PARSER, error)  # fmt: skip
    if error.occurred():
        raise RuntimeError(error.message)
    Path(model).write_bytes(bytes(data))
    return {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time(), "peak_mib": _peak_mib()}


def parse_udpipe(model: str, source: str, target: str) -> dict[str, Any]:
    """CoNLL-U in and out."""
    from ufal.udpipe import Model, Pipeline, ProcessingError

    loaded = Model.load(model)  # the pipeline does not keep it alive
    pipeline = Pipeline(loaded, "conllu", Pipeline.NONE, Pipeline.DEFAULT, "conllu")
    text = Path(source).read_text(encoding="utf-8")
    error = ProcessingError()
    began, cpu_began = time.perf_counter(), time.process_time()
    parsed = pipeline.process(text, error)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    if error.occurred():
        raise RuntimeError(error.message)
    Path(target).write_text(parsed, encoding="utf-8")
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_mib": _peak_mib()}


STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    "train_ours": train_ours,
    "parse_ours": parse_ours,
    "train_udpipe": train_udpipe,
    "parse_udpipe": parse_udpipe,
}


def step(name: str, **how: Any) -> dict[str, Any]:
    """Run a step in a process of its own."""
    command = [sys.executable, __file__, "--run", name, "--how", json.dumps(how)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout.decode().splitlines()[-1])
    return found


def _cells(row: dict[str, Any]) -> list[object]:
    scores = row["scores"]
    shares = (scores.uas, scores.las, scores.las_with_subtypes, scores.whole_trees)
    return [
        row["name"],
        *(f"{100 * share:.2f}" for share in shares),
        f"{row['rate']:,.0f}",
        f"{row['cpu_rate']:,.0f}",
        "-" if row["seconds"] is None else f"{row['seconds']:.1f}",
        "-" if row["cpu_seconds"] is None else f"{row['cpu_seconds']:.1f}",
        "-" if row["peak_mib"] is None else f"{row['peak_mib']:.0f}",
        f"{row['parsing_mib']:.0f}",
        f"{os.path.getsize(row['model']) / 2**20:.1f}",
    ]


def _udpipe_sentences(path: str) -> Any:
    from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences

    reader = InputFormat.newConlluInputFormat()
    reader.setText(Path(path).read_text(encoding="utf-8"))
    found, error = Sentences(), ProcessingError()
    while reader.nextSentence(sentence := Sentence(), error):
        found.append(sentence)
    if error.occurred():
        raise RuntimeError(error.message)
    return found


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _data() -> Path | None:
    folder = Path(os.environ.get("TRELLISWORK_DATA", "data")) / "ud_ewt"
    return folder if (folder / "train.conllu.gz").exists() else None


def _unpacked(path: Path, cache: Path) -> Path:
    """The file without its compression."""
    plain = cache / path.name.removesuffix(".gz")
    if not plain.exists():
        plain.write_bytes(gzip.decompress(path.read_bytes()))
    return plain


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--udpipe", metavar="MODEL", help="a model of UDPipe that is trained already")
    parser.add_argument("--orders", default="1,2")
    parser.add_argument("--learner", default="pa")
    parser.add_argument("--reuse", action="store_true", help="take models of ours from an earlier run")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--how", default="{}", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
