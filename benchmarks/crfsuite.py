"""The drop-ins beside python-crfsuite itself, in turns: tagging, usaddress end to end, training, opening a large model.

    python benchmarks/crfsuite.py --originals VENV/bin/python [--rounds 3] [--tagging | --online]

The originals live in an environment of their own, with usaddress (and python-crfsuite, on which it depends); this
one has usaddress without them (``pip install --no-deps usaddress probableparsing``). Both run this file, first one,
then the other, and the best of the rounds is compared. Times are of the processor, so that other work on the
machine counts less. TRELLISWORK_DATA names the corpora.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("TRELLISWORK_DATA", "."))
TRAININGS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("addresses", "lbfgs", {"c1": 0.1, "c2": 0.01}),
    ("addresses", "lbfgs", {"c2": 1.0}),
    ("names", "lbfgs", {"c2": 1.0}),
    ("names", "l2sgd", {"max_iterations": 20}),
    ("names", "ap", {"max_iterations": 50}),
    ("names", "pa", {"max_iterations": 50}),
    ("names", "arow", {"max_iterations": 50}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--originals", help="the Python that has python-crfsuite and usaddress")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tagging", action="store_true", help="neither training nor opening a large model")
    parser.add_argument("--online", action="store_true", help="training by ap, pa and arow alone")
    parser.add_argument("--measure", choices=["drop-in", "original"], help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        drop_in = arguments.measure == "drop-in"
        found = trained_online(drop_in) if arguments.online else measured(drop_in, arguments.model, arguments.tagging)
        json.dump(dict(found), sys.stdout)
        return
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "large.crfsuite")
        write_large_model(model)
        best: dict[str, dict[str, float]] = {"drop-in": {}, "original": {}}
        for _ in range(arguments.rounds):
            for which, python in (("drop-in", sys.executable), ("original", arguments.originals)):
                words = [python, __file__, "--measure", which, "--model", model]
                words += ["--tagging"] * arguments.tagging + ["--online"] * arguments.online
                times = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
                for name, seconds in times.items():
                    best[which][name] = min(seconds, best[which].get(name, seconds))
    print(f"{'':50} {'original':>10} {'drop-in':>10} {'times':>7}")
    for name, seconds in best["original"].items():
        own = best["drop-in"][name]
        print(f"{name:50} {1e3 * seconds:8.1f}ms {1e3 * own:8.1f}ms {seconds / own:7.1f}")


def write_large_model(path: str) -> None:
    """Write a model of about 40 MB."""
    import numpy as np

    from trelliswork import _core

    rng = np.random.default_rng(0)
    n, labels = 420_000, [f"L{i}" for i in range(20)]
    starts = np.arange(0, 2 * n + 1, 2, dtype=np.uint32)
    codes = np.stack([rng.integers(0, 10, n), rng.integers(10, 20, n)], axis=1).ravel().astype(np.uint32)
    names = [f"word[-{i % 3}]:w{i}" for i in range(n)]
    data, _, _ = _core.crfsuite_bytes(labels, names, starts, codes, rng.normal(size=2 * n), rng.normal(size=400))
    Path(path).write_bytes(data)


def measured(drop_in: bool, model: str, tagging: bool = False) -> Iterator[tuple[str, float]]:
    """Yield what is measured, and its seconds."""
    if drop_in:
        import trelliswork.compat

        trelliswork.compat.install()
    import pycrfsuite
    import usaddress

    addresses = [json.loads(line) for f in ("test", "train") for line in lines(f"usaddress/{f}.jsonl.gz")]
    texts = [" ".join(address["tokens"]) for address in addresses]
    dicts = [usaddress.tokens2features(address["tokens"]) for address in addresses]
    items = [pycrfsuite.ItemSequence(x) for x in dicts]
    lists = [[list(item) for item in x.items()] for x in items]
    tag = usaddress.TAGGER.tag
    yield "tag dicts", seconds(lambda: [tag(x) for x in dicts])
    yield "tag lists of strings", seconds(lambda: [tag(x) for x in lists])
    yield "tag ItemSequence", seconds(lambda: [tag(x) for x in items])
    yield "usaddress.parse, end to end", seconds(lambda: [usaddress.parse(text) for text in texts])
    yield from parsed_by_templates(drop_in, texts)
    if tagging:
        return
    train = [(usaddress.tokens2features(a["tokens"]), a["labels"]) for a in addresses[833:]]
    yield from trained({"addresses": train, "names": list(named_entities(2000))}, TRAININGS)

    def open_and_tag() -> None:
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        tagger.tag([[f"word[-{i % 3}]:w{37 * i}" for i in range(t, t + 20)] for t in range(20)])

    yield "open 40 MB and tag one sentence", seconds(open_and_tag)


def trained_online(drop_in: bool) -> Iterator[tuple[str, float]]:
    """Yield the trainings of learners that go from sentence to sentence."""
    if drop_in:
        import trelliswork.compat

        trelliswork.compat.install()
    online = [training for training in TRAININGS if training[1] in ("ap", "pa", "arow")]
    names = list(named_entities(2000))
    dict(trained({"names": names}, [("names", "ap", {"max_iterations": 1})]))  # what is done once in a process
    yield from trained({"names": names}, online)


def trained(
    corpora: dict[str, list[Any]], trainings: Iterable[tuple[str, str, dict[str, Any]]]
) -> Iterator[tuple[str, float]]:
    """Yield trainings and their seconds."""
    import pycrfsuite

    for corpus, algorithm, params in trainings:
        trainer = pycrfsuite.Trainer(algorithm, params, verbose=False)
        for x, y in corpora[corpus]:
            trainer.append(x, y)
        told = ", ".join(f"{name} {value}" for name, value in params.items())
        yield f"train {corpus}, {algorithm}, {told}", seconds(functools.partial(trainer.train, ""), 1)


def parsed_by_templates(drop_in: bool, texts: list[str]) -> Iterator[tuple[str, float]]:
    """Yield the same addresses parsed by usaddress, or here by its model and features as templates."""
    import usaddress

    def original() -> list[list[tuple[str, str]]]:
        return [usaddress.parse(text) for text in texts]

    parse: Callable[[], object] = original
    if drop_in:
        from addresses import AddressParser

        parser = AddressParser(usaddress)
        if parser.parse(texts) != original():
            raise ValueError("the templates do not parse as usaddress does")
        parse = functools.partial(parser.parse, texts)
    yield "usaddress.parse, here its features as templates", seconds(parse, 8)


def seconds(work: Callable[[], object], rounds: int = 4) -> float:
    """Return the least time of the processor that some work took."""
    found = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def lines(name: str) -> Iterator[str]:
    with gzip.open(DATA / name, "rt", encoding="utf-8", errors="replace") as file:
        yield from file


def named_entities(n: int) -> Iterator[tuple[list[dict[str, Any]], list[str]]]:
    """Yield sentences of CoNLL-2002 with the features of sklearn-crfsuite's tutorial."""
    sentence: list[list[str]] = []
    for line in lines("conll2002/esp.train.gz"):
        if line.strip():
            sentence.append(line.split())
        elif sentence:
            yield [features(sentence, i) for i in range(len(sentence))], [row[2] for row in sentence]
            sentence, n = [], n - 1
            if n == 0:
                return


def features(sentence: list[list[str]], i: int) -> dict[str, Any]:
    word, pos = sentence[i][:2]
    found: dict[str, Any] = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": pos,
    }
    for name, j in (("-1", i - 1), ("+1", i + 1)):
        if 0 <= j < len(sentence):
            other = sentence[j][0]
            found |= {f"{name}:word.lower()": other.lower(), f"{name}:word.istitle()": other.istitle()}
            found[f"{name}:postag"] = sentence[j][1]
        else:
            found["BOS" if j < 0 else "EOS"] = True
    return found


if __name__ == "__main__":
    main()
