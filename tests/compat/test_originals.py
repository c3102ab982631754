"""Agreement with python-crfsuite itself, where another environment has it: TRELLISWORK_ORIGINALS names its Python.

It is never installed beside this library, where tests of drop-ins could pass for the wrong reason.
"""

import json
import os
import subprocess

import numpy as np
import pytest

from trelliswork import _core
from trelliswork.compat.pycrfsuite import Tagger, Trainer

ORIGINALS = os.environ.get("TRELLISWORK_ORIGINALS")
pytestmark = pytest.mark.skipif(
    not ORIGINALS, reason="TRELLISWORK_ORIGINALS does not name a Python with python-crfsuite"
)

ASK = """
import json, pycrfsuite, sys
path, sequences = json.load(sys.stdin)
tagger = pycrfsuite.Tagger()
tagger.open(path)
out = []
for x in sequences:
    y = tagger.tag(x)
    rows = [[tagger.marginal(label, t) for label in tagger.labels()] for t in range(len(x))]
    out.append([y, rows, tagger.probability(y)])
tagger.dump(path + ".dump")
json.dump(out, sys.stdout)
"""

TRAIN = """
import json, pycrfsuite, sys
path, sequences, labels, algorithm, params = json.load(sys.stdin)
trainer = pycrfsuite.Trainer(algorithm, params, verbose=False)
for x, y in zip(sequences, labels):
    trainer.append(x, y)
trainer.train(path)
json.dump([trainer.logparser.featgen_num_features, trainer.logparser.last_iteration["loss"]], sys.stdout)
"""

X = [
    [{"w": f"w{(i * j) % 7}", "even": i % 2 == 0, "n": 0.1 * j, "nest": {"a": ["x", "y"]}} for j in range(1 + i % 5)]
    for i in range(30)
]
Y = [[f"L{(i + j * j) % 4}" for j in range(len(x))] for i, x in enumerate(X)]


def original(program, *arguments):
    done = subprocess.run([ORIGINALS, "-c", program], input=json.dumps(arguments), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def agree(path, sequences=X):
    answers = original(ASK, path, sequences)
    with Tagger().open(path) as tagger:
        for x, (labels, rows, probability) in zip(sequences, answers, strict=True):
            assert tagger.tag(x) == labels
            assert tagger.probability(labels) == pytest.approx(probability, rel=1e-9)
            for t, row in enumerate(rows):
                assert [tagger.marginal(y, t) for y in tagger.labels()] == pytest.approx(row, abs=1e-10)
        with open(path + ".dump", "rb") as file:
            assert tagger._named_tagger().dump() == file.read()


@pytest.mark.parametrize("seed", range(10))
def test_the_original_reads_random_files_and_agrees(tmp_path, seed):
    """Names of every kind, weights that tie, labels without weights; the dumps are the same to the byte."""
    rng = np.random.default_rng(seed)
    odd = ["", " ", "é", "x\ny", "-->", "(0) a --> B: 1.0", "LABELS = {", "w" * 300]
    labels = [f"L{i}" for i in range(rng.integers(1, 9))]
    names = list(dict.fromkeys(f"{rng.choice(odd)}{rng.integers(40)}" for _ in range(rng.integers(0, 80))))
    rows = [np.flatnonzero(rng.random(len(labels)) < 0.6) for _ in names]
    starts = np.cumsum([0, *map(len, rows)]).astype(np.uint32)
    codes = np.concatenate([[], *rows]).astype(np.uint32)
    weights, moves = (rng.integers(-2, 3, n) * rng.choice([1.0, 0.37]) for n in (len(codes), len(labels) ** 2))
    path = tmp_path / "random"
    path.write_bytes(_core.crfsuite_bytes(labels, names, starts, codes, weights, moves)[0])
    sequences = [
        [{str(rng.choice([*names, "unseen"])): 0.5 * int(rng.integers(4)) for _ in range(3)} for _ in range(length)]
        for length in (0, 1, 2, 9)
    ]
    agree(str(path), sequences)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_the_original_reads_what_is_written_and_agrees(tmp_path, algorithm):
    path = str(tmp_path / "m")
    trainer = Trainer(algorithm, {"max_iterations": 20}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(path)
    agree(path)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"c1": 0.1},
        {"feature.minfreq": 2},
        {"feature.possible_states": True},
        {"feature.possible_states": True, "feature.possible_transitions": True},
    ],
)
def test_what_the_original_writes_is_read_and_as_good_a_minimum_is_found(tmp_path, params):
    n_features, loss = original(TRAIN, str(tmp_path / "theirs"), X, Y, "lbfgs", params)
    agree(str(tmp_path / "theirs"))
    trainer = Trainer("lbfgs", params, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "ours"))
    assert trainer.logparser.featgen_num_features == n_features
    assert trainer.logparser.last_iteration["loss"] <= loss * (1 + 1e-3)
