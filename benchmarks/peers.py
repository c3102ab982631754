"""The peers' halves of the training benchmark, one run per process so that its peak memory is its own.

``python peers.py crfsuite PATH ITERATIONS lists|stream MODEL``, ``python peers.py chaine PATH ITERATIONS`` and
``python peers.py underthesea PATH ITERATIONS`` print one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from chunking import C2, attribute_dicts, attribute_lists, labels, read_sentences


def main(arguments: list[str]) -> None:
    """Run what was asked for."""
    ways = {f.__name__: f for f in (crfsuite, crfsuite_online, chaine, underthesea)}
    print(json.dumps(ways[arguments[0]](*arguments[1:])))


def crfsuite(path: str, iterations: str, how: str, model: str, most: str = "all") -> dict[str, object]:
    """Train python-crfsuite with L-BFGS from the raw file; feature lists are all held, or streamed one by one."""
    import pycrfsuite

    began = time.perf_counter()
    sentences = read_sentences(Path(path))[: None if most == "all" else int(most)]
    # As many iterations as asked for: its own stopping rules are out of the way.
    parameters = {"c2": C2, "max_iterations": int(iterations), "epsilon": 1e-9, "delta": 1e-12, "period": 1000}
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False, params=parameters)
    if how == "lists":
        X, y = [attribute_lists(sentence) for sentence in sentences], [labels(sentence) for sentence in sentences]
        for attributes, gold in zip(X, y, strict=True):
            trainer.append(attributes, gold)
    else:
        for sentence in sentences:
            trainer.append(attribute_lists(sentence), labels(sentence))
    before = time.perf_counter()
    trainer.train(model)
    trained = time.perf_counter()
    log = [line for line in trainer.logparser.iterations if "time" in line]
    return {
        "before_seconds": before - began,
        "train_seconds": trained - before,
        "iterations": len(log),
        # The first iteration has a line search of several evaluations in it, as ours would: it is left out.
        "seconds_per_iteration": sum(float(line["time"]) for line in log[1:]) / max(1, len(log) - 1),
        "objective": float(log[-1]["loss"]),
        "weights": trainer.logparser.featgen_num_features,
        "model_mib": os.path.getsize(model) / 2**20,
    }


def crfsuite_online(path: str, algorithm: str, epochs: str) -> dict[str, object]:
    """Train python-crfsuite with an online algorithm; the time of its epochs is the difference of two runs."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for sentence in read_sentences(Path(path)):
        trainer.append(attribute_lists(sentence), labels(sentence))
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (2, 2 + int(epochs)):
            trainer.set_params({"max_iterations": count, "epsilon": 0.0})
            began = time.process_time()
            trainer.train(f"{folder}/model")
            seconds.append(time.process_time() - began)
    return {"seconds_per_epoch": (seconds[1] - seconds[0]) / int(epochs)}


def chaine(path: str, iterations: str) -> dict[str, object]:
    """Train chaine with L-BFGS twice; the difference is the time of the processor of its iterations."""
    import logging

    from chaine import Trainer

    logging.disable(logging.CRITICAL)
    sentences = read_sentences(Path(path))
    X, y = [attribute_dicts(sentence) for sentence in sentences], [labels(sentence) for sentence in sentences]
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (2, 2 + int(iterations)):
            began = time.process_time()
            trainer = Trainer("lbfgs", c2=C2, max_iterations=count, epsilon=1e-9, delta=1e-12, period=1000)
            trainer.train(X, y, model_filepath=f"{folder}/model")
            seconds.append(time.process_time() - began)
        size = os.path.getsize(f"{folder}/model") / 2**20
    each = (seconds[1] - seconds[0]) / int(iterations)
    return {"seconds_per_iteration": each, "before_seconds": seconds[0] - 2 * each, "model_mib": size}


def underthesea(path: str, iterations: str) -> dict[str, object]:
    """Train underthesea-core with L-BFGS twice, as chaine."""
    from underthesea_core import CRFTrainer

    sentences = read_sentences(Path(path))
    X, y = [attribute_lists(sentence) for sentence in sentences], [labels(sentence) for sentence in sentences]
    seconds = []
    for count in (2, 2 + int(iterations)):
        began = time.process_time()
        CRFTrainer("lbfgs", 0.0, C2, max_iterations=count, verbose=0).train(X, y)
        seconds.append(time.process_time() - began)
    each = (seconds[1] - seconds[0]) / int(iterations)
    return {"seconds_per_iteration": each, "before_seconds": seconds[0] - 2 * each}


if __name__ == "__main__":
    main(sys.argv[1:])
