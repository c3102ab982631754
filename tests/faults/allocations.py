"""Lets every allocation of the core fail once in turn, in a process of its own; prints a line for each scenario.

Run by `test_allocations.py` with ``allocation_faults.cpp`` put before the C++ library. The answer to a failed
allocation is `MemoryError` or success; what was allocated is released, and the next call works.

    python allocations.py SHIM STEP [SCENARIO ...]    every STEP-th allocation
"""

import ctypes
import functools
import gc
import io
import itertools
import sys
import warnings

import numpy as np

import trelliswork as tw
from trelliswork import learners, models
from trelliswork.cli.tag import ColumnTagger
from trelliswork.corpora import Treebank, read_table

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "old", "man"], ["man", "the", "boats"], ["dogs"]]
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "A", "N"], ["V", "D", "N"], ["N"]]
DICTS = [[{"word": word, "length": len(word)} for word in x] for x in X]
COLUMNS = b"".join(
    b"".join(f"{word}\t{y}\n".encode() for word, y in zip(*pair, strict=True)) + b"\n"
    for pair in zip(X, Y, strict=True)
)


CHAIN = tw.Chain(np.linspace(-1, 1, 12).reshape(4, 3), np.linspace(1, -1, 9).reshape(3, 3))


@functools.cache
def model():
    file = io.BytesIO()
    tw.SequenceLabeler().fit(X, Y).save(file)
    return file.getvalue()


@functools.cache
def loaded():
    return tw.load(model())


def load():
    tw.load(model()).predict(X)


def expand():
    models.open_model(model(), expand="now")


def tag():
    ColumnTagger(models.open_model(model()), "labels", 1).tagged(COLUMNS)


def tag_marginals_in_threads():
    ColumnTagger(models.open_model(model()), "marginals", 2).tagged(COLUMNS * 20)


def read():
    read_table(io.BytesIO(COLUMNS))
    treebank = Treebank.from_bytes(b"1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n\n" * 3)
    treebank.with_trees([([0], ["a relation whose name is longer than any string keeps in itself"])] * 3)


def predict():
    loaded().predict(X)


def predict_more():
    loaded().predict_kbest(X, 3)
    loaded().predict_marginals(X)
    loaded().predict_max_marginals(X)
    loaded().log_prob(X, Y)
    loaded().explain(X[0])


def chain():
    CHAIN.argmax(), CHAIN.kbest(5), CHAIN.marginals(), CHAIN.edge_marginals(), CHAIN.entropy(), CHAIN.sample(3)


def fit(name, n_jobs=1, data=X, **options):
    kind = learners.by_name(name)
    short = {"epochs": 2} if hasattr(kind, "epochs") else {}
    short |= {"max_iter": 4} if hasattr(kind, "max_iter") else {}

    def run():
        learner = learners.by_name(name, **short)
        tw.SequenceLabeler(learner, n_jobs=n_jobs, **options).fit(data, Y, data[:2], Y[:2])

    return run


def factor_graph():
    edges, logic = [(0, 1), (1, 2), (2, 3), (3, 0)], [tw.factors.AtMost(range(4), 2)]
    graph = tw.FactorGraph(np.linspace(-1, 1, 8).reshape(4, 2), edges, np.eye(2), logic)
    graph.kbest(3)
    graph.marginals()
    graph.max_marginals()
    graph.sample(2, random_state=0, replace=False)
    graph.argmax(method="trw")


SCENARIOS = {
    "factor graph": factor_graph,
    "load": load,
    "expand": expand,
    "tag": tag,
    "tag marginals in threads": tag_marginals_in_threads,
    "read a table": read,
    "predict": predict,
    "k best, marginals, explanations": predict_more,
    "chain": chain,
    "fit crf in threads": fit("crf", n_jobs=2),
    "fit crf, constraints": fit("crf", constraints=lambda before, label: True),
    "fit crf, dicts": fit("crf", data=DICTS, min_count=2),
    "fit crf, hashed": fit("crf", hash_bits=6, combinations="all"),
    "fit pa in threads": fit("pa", n_jobs=2),
    **{f"fit {name}": fit(name) for name in learners.names()},
}


class Faults:
    def __init__(self, shim):
        self._shim = ctypes.CDLL(shim)
        for name in ("faults_disarm", "faults_seen", "faults_alive"):
            getattr(self._shim, name).restype = ctypes.c_long

    def alive(self):
        gc.collect()
        return self._shim.faults_alive()

    def run(self, scenario, n):
        """Whether the n-th allocation failed, what came of it, how many there were."""
        self._shim.faults_arm(ctypes.c_long(n))
        try:
            scenario()
            came = "success"
        except MemoryError:
            came = "MemoryError"
        except BaseException as error:
            came = f"{type(error).__name__}: {error}"
        failed = self._shim.faults_disarm()
        return failed, came, self._shim.faults_seen()

    def left_by(self, scenario, n):
        """The same, and how many allocations are left over after the scenario has run once more, without a fault."""
        before = self.alive()
        failed, came, _ = self.run(scenario, n)
        self.run(scenario, 0)
        return failed, came, self.alive() - before


def tried(faults, name, step):
    """Let every step-th allocation of a scenario fail; return how often each answer came."""
    scenario = SCENARIOS[name]
    for _ in range(3):  # what is made once and kept
        assert faults.run(scenario, 0)[1] == "success", faults.run(scenario, 0)
    gc.collect()
    gc.freeze()  # modules and the like need not be looked at again and again
    answers = {}
    for n in itertools.count(1, step):
        print(f"{name}: allocation {n}", end="\r", file=sys.stderr, flush=True)
        failed, came, left = faults.left_by(scenario, n)
        if came not in ("success", "MemoryError"):
            raise AssertionError(f"{name}, allocation {n}: {came}")
        if not failed:
            assert came == "success", (name, n, came)
            break
        if left > 0:  # a leak, or something that is made once and kept: then not again
            left = faults.left_by(scenario, n)[2]
        if left > 0:
            raise AssertionError(f"{name}, allocation {n}, {came}: {left} allocations are left over")
        answers[came] = answers.get(came, 0) + 1
    return answers


def main():
    shim, step, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    faults, total = Faults(shim), 0
    for name in names or SCENARIOS:
        answers = tried(faults, name, int(step))
        total += sum(answers.values())
        print(f"{name}: {sum(answers.values())} failed allocations: {answers}", flush=True)
    print(f"{total} failed allocations", flush=True)


if __name__ == "__main__":
    main()
