"""Many labels: the Brown corpus with its 472 tags, and chains of up to 2,000 labels.

A perceptron epoch by the recursion over all pairs of labels, by the search that leaves labels out, and with a tag
dictionary, with the accuracy on a tenth of the texts (every tenth by name); growth in the number of labels; memory; and
whether the search finds what the recursion finds, on random chains and on those of Brown. Each way is a process of its
own: ``TRELLISWORK_SEARCH=dense`` turns the search off. ``python many_labels.py exact`` does one part only.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import trelliswork as tw
from timing import print_load, print_table

EPOCHS = 5
EVERY_TENTH = 10
LOSSES = (0.002, 0.001)  # shares of labels that a tag dictionary may lose
PART = 5  # every so many sentences, where labels have parts
RARE = (1, 5, 20, 100, 10**9)  # how often labels were seen
SIZES = (10, 30, 100, 300, 1000, 2000)
LENGTH = 50
RANDOM_CHAINS = 100_000
WAYS = {  # the way: (environment, tag dictionary, epochs)
    "all pairs": ({"TRELLISWORK_SEARCH": "dense"}, None, 1),
    "labels left out": ({}, None, EPOCHS),
    **{f"tag dictionary that may lose {loss:.1%}": ({}, loss, EPOCHS) for loss in LOSSES},
}
SEEDS = (0, 1, 2)  # of the order of examples: accuracy differs by some hundredths of a point


def main(parts: list[str]) -> None:
    """Print the tables."""
    print_load()
    if brown_folder() is None:
        print("many_labels: TRELLISWORK_DATA names no folder with brown/, so only random chains are measured")
    for name, part in (
        ("epochs", print_epochs),
        ("parts", print_parts),
        ("growth", print_growth),
        ("exact", print_exact),
    ):
        if not parts or name in parts:
            part()


def brown_folder() -> Path | None:
    """Return the folder of the corpus, if it is there."""
    root = os.environ.get("TRELLISWORK_DATA")
    return Path(root) / "brown" if root and (Path(root) / "brown").is_dir() else None


def brown() -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return words and tags to learn from, and those of every tenth text."""
    folder = brown_folder()
    assert folder is not None
    with gzip.open(folder / "sentence_files.txt.gz", "rt", encoding="utf-8") as file:
        texts = [line.split("\t")[1] for line in file]
    held_out = set(sorted(set(texts))[EVERY_TENTH - 1 :: EVERY_TENTH])
    with gzip.open(folder / "brown.txt.gz", "rt", encoding="utf-8") as file:
        sentences = [
            [tuple(line.split("\t")) for line in block.split("\n")] for block in file.read().strip().split("\n\n")
        ]
    parts: list[list[Any]] = [[], [], [], []]
    for text, sentence in zip(texts, sentences, strict=True):
        words, tags = map(list, zip(*sentence, strict=True))
        at = 2 if text in held_out else 0
        parts[at].append(words)
        parts[at + 1].append(tags)
    return parts[0], parts[1], parts[2], parts[3]


def asked(question: str, *arguments: object, environment: dict[str, str]) -> Any:
    """Return the answer of a process of its own to one of the questions below."""
    command = [sys.executable, __file__, "ask", question, *map(str, arguments)]
    answer = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


# ---- epochs ------------------------------------------------------------------------------------------------------


def print_epochs() -> None:
    """Seconds of an epoch of each way, and what it learns."""
    if brown_folder() is None:
        return
    rows = []
    for name, (environment, loss, epochs) in WAYS.items():
        found = asked("epochs", loss or 0, epochs, environment=environment)
        first, *later = found["seconds"]
        after = found["accuracy"]
        rows.append(
            [
                name,
                first,
                median(later) if later else "",
                f"{after[0]:.2f}",
                f"{np.mean(after[1:]):.3f} ({min(after[1:]):.2f} to {max(after[1:]):.2f})" if later else "",
                "" if found["loss"] is None else f"{100 * found['loss']:.2f} / {100 * found['lost']:.2f}",
                f"{found['gigabytes']:.2f}",
            ]
        )
    head = ["search", "first epoch, s", "later ones, s", "accuracy after 1", f"after {EPOCHS}, {len(SEEDS)} seeds"]
    print_table(
        "Brown, perceptron: processor seconds of an epoch, and accuracy on every tenth text",
        [*head, "labels lost, expected / held out, %", "peak memory, GB"],
        rows,
    )


def ask_epochs(loss: str, epochs: str) -> dict[str, Any]:
    """Return the seconds of each epoch, and the accuracy after the first and, for each seed, after the last."""
    X, y, X_test, y_test = brown()
    moments, accuracy = [], []

    def note(_: Any) -> None:
        moments.append(time.process_time())

    runs = [(1, SEEDS[0]), *((int(epochs), seed) for seed in SEEDS if int(epochs) > 1)]
    for n, seed in runs:
        moments.clear()
        learner = tw.Perceptron(n)
        labeler = tw.SequenceLabeler(learner, tag_dictionary=float(loss) or None, n_jobs=1, random_state=seed)
        examples = labeler._examples(X, y)
        began = time.process_time()
        labeler._learn(examples, callback=note)
        accuracy.append(100 * labeler.score(X_test, y_test))
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds = np.diff([began, *moments]).tolist()
    lost = share_lost(labeler, X_test, y_test) if float(loss) else None
    found = labeler.dictionary_loss_
    return {"seconds": seconds, "accuracy": accuracy, "gigabytes": gigabytes, "loss": found, "lost": lost}


def share_lost(labeler: Any, X_test: list[Any], y_test: list[Any]) -> float:
    """Return the share of held-out labels that the dictionary does not let their words take."""
    words = sorted({word for x in X_test for word in x})
    number = {label: i for i, label in enumerate(labeler.classes_)}
    scores = dict(zip(words, labeler.predict_max_marginals([[word] for word in words]), strict=True))
    pairs = [(w, t) for x, tags in zip(X_test, y_test, strict=True) for w, t in zip(x, tags, strict=True)]
    return float(np.mean([tag in number and np.isneginf(scores[word][0, number[tag]]) for word, tag in pairs]))


# ---- parts of labels ---------------------------------------------------------------------------------------------


def print_parts() -> None:
    """What labels that share the weights of their parts learn from a part of the corpus, by how rare labels are."""
    if brown_folder() is None:
        return
    rows, tokens = [], []
    for name, parted in (("labels alone", 0), ("labels and their parts", 1)):
        found = asked("parts", parted, environment={})
        rows.append([name, *(f"{share:.2f}" for share in found["accuracy"]), found["seconds"]])
        tokens = found["tokens"]
    sizes = [f"seen {low} to {high - 1} times" for low, high in itertools.pairwise(RARE[:-1])]
    head = ["weights of", "all labels", *sizes, f"seen {RARE[-2]} times or more", "seconds of learning"]
    print_table(
        f"Brown, every {PART}th sentence, perceptron, {EPOCHS} epochs: accuracy on held-out tokens by their label",
        head,
        [*rows, ["held-out tokens", *tokens, ""]],
    )


def ask_parts(parted: str) -> dict[str, Any]:
    """Return accuracy, of all held-out tokens and by how often their label was seen, and the cost of learning."""
    X, y, X_test, y_test = brown()
    X, y = X[::PART], y[::PART]
    counts = Counter(tag for tags in y for tag in tags)
    labeler = tw.SequenceLabeler(
        tw.Perceptron(EPOCHS), label_parts="-" if int(parted) else None, n_jobs=1, random_state=0
    )
    began = time.process_time()
    labeler.fit(X, y)
    seconds = time.process_time() - began
    seen: Counter[int] = Counter()  # by how often the label was seen
    right: Counter[int] = Counter()
    for found, tags in zip(labeler.predict(X_test), y_test, strict=True):
        for guess, tag in zip(found, tags, strict=True):
            seen[counts[tag]] += 1
            right[counts[tag]] += guess == tag
    classes = [(0, 10**9), *itertools.pairwise(RARE)]
    of_class = [[sum(c[n] for n in c if low <= n < high) for c in (right, seen)] for low, high in classes]
    accuracy = [100 * hits / max(1, n) for hits, n in of_class]
    return {"accuracy": accuracy, "tokens": [n for _, n in of_class], "seconds": seconds, "weights": labeler.n_weights_}


# ---- growth ------------------------------------------------------------------------------------------------------


def print_growth() -> None:
    """Microseconds of a position by the number of labels."""
    dense = asked("growth", environment={"TRELLISWORK_SEARCH": "dense"})
    left_out = asked("growth", environment={})
    rows = [
        [K, *(f"{found[kind][i]:.2f}" for kind in ("random", "peaked") for found in (dense, left_out))]
        for i, K in enumerate(SIZES)
    ]
    print_table(
        f"The best labelling of chains of {LENGTH} positions: microseconds a position, one thread",
        ["labels", "random, all pairs", "left out", "like Brown, all pairs", "left out"],
        rows,
    )


def random_scores(rng: np.random.Generator, T: int, K: int) -> tuple[Any, Any]:
    """Return scores of which little can be left out."""
    return rng.normal(size=(T, K)), rng.normal(size=(K, K))


def peaked_scores(rng: np.random.Generator, T: int, K: int) -> tuple[Any, Any]:
    """Return scores as a perceptron has them: whole numbers, a few labels of each position far above the others."""
    unary = rng.integers(-20, 1, (T, K)).astype(np.float64)
    for _ in range(3):
        unary[np.arange(T), rng.integers(0, K, T)] += rng.integers(10, 60, T)
    moves = np.where(rng.random((K, K)) < 0.05, rng.integers(-12, 13, (K, K)), 0).astype(np.float64)
    return unary, moves


def ask_growth() -> dict[str, list[float]]:
    """Return microseconds a position for each number of labels."""
    out: dict[str, list[float]] = {}
    for name, scores in (("random", random_scores), ("peaked", peaked_scores)):
        for K in SIZES:
            rng = np.random.default_rng(K)
            moves = scores(rng, 1, K)[1]
            batch = tw.ChainBatch([scores(rng, LENGTH, K)[0] for _ in range(16)], moves, n_jobs=1)
            best = float("inf")
            for _ in range(5 if K < 1000 else 2):
                began = time.process_time()
                batch.argmax()
                best = min(best, time.process_time() - began)
            out.setdefault(name, []).append(1e6 * best / (16 * LENGTH))
    return out


# ---- exactness ---------------------------------------------------------------------------------------------------


def print_exact() -> None:
    """Whether both ways give the same labels and scores, to the last bit."""
    dense, left_out = (asked("exact", environment=way) for way in ({"TRELLISWORK_SEARCH": "dense"}, {}))
    rows = [
        [name, dense[name][0], "the same" if dense[name] == left_out[name] else "DIFFERENT", dense[name][1][:16]]
        for name in dense
    ]
    print_table("Labels and scores by both ways", ["chains", "how many", "answers", "checksum"], rows)


def ask_exact() -> dict[str, tuple[int, str]]:
    """Return how many chains of each kind there were, and a checksum of their answers."""
    rng, digests = np.random.default_rng(0), {}
    for name, scores in (("random", random_scores), ("whole numbers, with ties", peaked_scores)):
        digest = hashlib.sha256()
        for _ in range(RANDOM_CHAINS // 200):
            K = int(rng.integers(48, 120))
            moves = np.round(scores(rng, 1, K)[1], 1)
            rows = [np.round(scores(rng, int(T), K)[0], 1) for T in rng.integers(1, 13, 100)]
            for best in tw.ChainBatch(rows, moves, n_jobs=1).argmax():
                digest.update(best.labels.tobytes() + np.float64(best.score).tobytes())
        digests[name] = (RANDOM_CHAINS // 2, digest.hexdigest())
    if brown_folder() is not None:
        X, y, X_test, _ = brown()
        labeler = tw.SequenceLabeler(tw.Perceptron(1), n_jobs=1).fit(X[::20], y[::20])
        labels = json.dumps(labeler.predict(X_test)).encode()
        weights = labeler._model.tensors["channel.token.weights"]
        digests["Brown, held-out texts"] = (len(X_test), hashlib.sha256(labels).hexdigest())
        digests["Brown, weights after an epoch on every 20th sentence"] = (
            len(X[::20]),
            hashlib.sha256(bytes(weights)).hexdigest(),
        )
    return digests


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        questions: dict[str, Any] = {"epochs": ask_epochs, "parts": ask_parts, "growth": ask_growth, "exact": ask_exact}
        print(json.dumps(questions[sys.argv[2]](*sys.argv[3:])))
    else:
        main(sys.argv[1:])
