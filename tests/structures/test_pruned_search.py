"""With many labels a search leaves some of them out, and finds what the recursion over all of them finds."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import _core

RNG = np.random.default_rng


def viterbi(unary, transitions, start, end):
    """Return the best labelling and its score by Viterbi's recursion over all pairs, adding as the core does."""
    scores = [start + unary[0]]
    for row in unary[1:]:
        scores.append((scores[-1][:, None] + transitions).max(axis=0) + row)
    total = scores[-1] + end
    labels = [int(total.argmax())]
    for t in range(len(unary) - 1, 0, -1):
        y = labels[-1]
        labels.append(int(np.argmax((scores[t - 1] + transitions[:, y]) + unary[t, y] == scores[t][y])))
    return labels[::-1], float(total.max())


def integers(rng, T, K):
    """Many ties."""
    return rng.integers(-2, 3, (T, K)), rng.integers(-2, 3, (K, K)), rng.integers(-1, 2, K), rng.integers(-1, 2, K)


def constant(rng, T, K):
    """Nothing but ties."""
    return np.full((T, K), 0.1), np.full((K, K), 0.3), np.zeros(K), np.zeros(K)


def peaked(rng, T, K):
    """A few labels of each position are far above the others, and tied; most transitions weigh nothing."""
    unary = rng.integers(-3, 1, (T, K))
    unary[np.arange(T), rng.integers(0, K, T)] += 9
    unary[np.arange(T), rng.integers(0, K, T)] += 9
    moves = np.where(rng.random((K, K)) < 0.05, rng.integers(-4, 5, (K, K)), 0)
    return unary, moves, np.zeros(K), np.zeros(K)


def forbidden(rng, T, K):
    """Some pairs, labels of positions, first and last labels are forbidden."""
    unary, moves, start, end = (np.asarray(part, dtype=np.float64) for part in peaked(rng, T, K))
    moves[rng.random((K, K)) < 0.3] = -np.inf
    unary[rng.random((T, K)) < 0.2] = -np.inf
    start[rng.random(K) < 0.3] = -np.inf
    end[rng.random(K) < 0.3] = -np.inf
    return unary, moves, start, end


def few_allowed(rng, T, K):
    """Three labels that every position allows: no row of transitions has a lower bound, nor has any label."""
    unary, moves, start, end = (np.asarray(part, dtype=np.float64) for part in integers(rng, T, K))
    moves[rng.integers(0, K, K), np.arange(K)] = -np.inf
    unary[:, 3:] = -np.inf
    return unary, moves, start, end


def rounded(rng, T, K):
    """Sums that rounding makes equal: tenths beside numbers so large that they swallow most of them."""
    unary, moves, start, end = peaked(rng, T, K)
    unary = unary * 0.1
    unary[rng.integers(0, T, 3)] += 2.0**52
    unary[:, rng.integers(0, K, 3)] -= 2.0**53
    return unary, moves * 0.1, start, end


def gaussian(rng, T, K):
    """Little can be left out."""
    return rng.normal(size=(T, K)), rng.normal(size=(K, K)), rng.normal(size=K), rng.normal(size=K)


KINDS = [integers, constant, peaked, forbidden, few_allowed, rounded, gaussian]
SIZES = [(1, 1), (3, 5), (47, 6), (48, 1), (48, 2), (49, 7), (64, 30), (100, 12), (131, 200), (255, 9), (600, 4)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("K", "T"), SIZES)
def test_the_best_labelling_is_that_of_the_recursion_over_all_labels(kind, K, T):
    rng = RNG([K, T, KINDS.index(kind)])
    for _ in range(max(1, min(20, 1_000_000 // (T * K * K)))):
        scores = [np.asarray(part, dtype=np.float64) for part in kind(rng, T, K)]
        labels, score = viterbi(*scores)
        chain = tw.Chain(scores[0], scores[1], start=scores[2], end=scores[3])
        if score == -np.inf:
            with pytest.raises(tw.Unsatisfiable):
                chain.argmax()
            continue
        best = chain.argmax()
        assert best.labels.tolist() == labels
        assert best.score == score


def test_a_batch_of_many_sequences_has_the_answers_of_each_alone():
    rng, K = RNG(7), 80
    moves = peaked(rng, 1, K)[1].astype(np.float64)
    rows = [kind(rng, int(T), K)[0].astype(np.float64) for T in rng.integers(1, 30, 40) for kind in (peaked, gaussian)]
    zeros = np.zeros(K)
    expected = [viterbi(row, moves, zeros, zeros) for row in rows]
    for n_jobs in (1, 2):
        found = tw.ChainBatch(rows, moves, n_jobs=n_jobs).argmax()
        assert [(best.labels.tolist(), best.score) for best in found] == expected


LEARNERS = [
    "tw.Perceptron(3)",
    "tw.PassiveAggressive(epochs=3)",
    "tw.PassiveAggressive(epochs=2, augmented=False)",
    "tw.Pegasos(epochs=3)",
    "tw.SDM(epochs=2)",
    "tw.CuttingPlane(epochs=20)",
]
PROGRAM = """
import hashlib
import numpy as np
import trelliswork as tw
rng = np.random.default_rng(0)
X = [[f"w{i}" for i in rng.integers(0, 150, n)] for n in rng.integers(1, 12, 120)]
y = [[f"L{(int(word[1:]) * 7 + t) % 60:02}" for t, word in enumerate(row)] for row in X]
tensors = tw.SequenceLabeler(LEARNER).fit(X, y)._model.tensors
print(hashlib.sha256(b"".join(bytes(tensors[name]) for name in sorted(tensors))).hexdigest())
"""


@pytest.mark.parametrize("learner", LEARNERS)
def test_learners_move_the_same_weights_as_with_the_recursion_over_all_labels(learner):
    program = PROGRAM.replace("LEARNER", learner)
    answers = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"TRELLISWORK_SEARCH": search},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for search in ("", "dense")
    ]
    assert answers[0] == answers[1] != ""


@pytest.mark.parametrize("combinations", ["all", "grown"])
@pytest.mark.parametrize(
    "learner",
    [
        tw.Perceptron(3, averaged=False),
        tw.PassiveAggressive(epochs=3),
        tw.FrankWolfe(epochs=2),
    ],
)
def test_learners_agree_with_those_on_the_oracle_of_any_structure(learner, combinations):
    rng, K = RNG(5), 130
    X = [[[f"a{i}" for i in rng.integers(0, 30, 5)] for _ in range(n)] for n in rng.integers(1, 9, 40)]
    codes = rng.integers(0, K, sum(map(len, X))).astype(np.int32)
    found = []
    for general in (False, True):
        examples = _core.Examples()
        examples.add(_core.AttributeSource([[sorted(set(t)) for t in x] for x in X], True), codes)
        order = np.arange(K, dtype=np.int32)
        oracle = _core.ChainOracle(examples, K, order, combinations=combinations, use="best")
        found.append(np.asarray(learner.train(oracle.linear() if general else oracle).weights))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)
    assert np.abs(found[0]).max() > 0


@pytest.fixture(scope="module")
def brown():
    """Some sentences of the Brown corpus: words and tags."""
    path = Path(os.environ.get("TRELLISWORK_DATA", "")) / "brown" / "brown.txt.gz"
    if not path.is_file():
        pytest.skip("TRELLISWORK_DATA names no folder with brown/")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        blocks = file.read().strip().split("\n\n")[::40]
    sentences = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    return [[word for word, _ in s] for s in sentences], [[tag for _, tag in s] for s in sentences]


def test_chains_of_a_corpus_have_the_answers_of_the_recursion_over_all_labels(brown):
    X, y = brown
    labeler = tw.SequenceLabeler(tw.Perceptron(2)).fit(X[::2], y[::2])
    assert len(labeler.classes_) > 150
    for x, labels in zip(X[1:400:2], labeler.predict(X[1:400:2]), strict=True):
        chain = labeler.chain(x)
        expected, score = viterbi(chain.unary, chain.transitions, chain.start, chain.end)
        assert labels == labeler.classes_[expected].tolist()
        assert chain.argmax().score == score


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_chains_of_each_kind(kind):
    rng = RNG(KINDS.index(kind))
    for _ in range(10_000):
        K, T = int(rng.integers(48, 70)), int(rng.integers(1, 8))
        scores = [np.asarray(part, dtype=np.float64) for part in kind(rng, T, K)]
        labels, score = viterbi(*scores)
        if score > -np.inf:
            best = tw.Chain(scores[0], scores[1], start=scores[2], end=scores[3]).argmax()
            assert best.labels.tolist() == labels
            assert best.score == score
