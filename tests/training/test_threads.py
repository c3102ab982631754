"""The number of threads that read and lay out examples changes nothing that can be seen."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import _core
from trelliswork.labels.encoded import encoded

N_TOKENS = 20_000  # enough that several threads are worth it


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(3)
    X, y, n = [], [], 0
    while n < N_TOKENS:
        words = [f"w{i}" for i in rng.zipf(1.4, size=rng.integers(1, 40)) % 500]
        X.append([(word, word[-1]) for word in words])  # the second column is implied by the first
        y.append([f"L{int(word[1:]) % 5}" if rng.random() < 0.8 else "L0" for word in words])
        n += len(words)
    return X, encoded(y)


def oracle(corpus, n_jobs):
    X, gold = corpus
    templates = tw.Templates.chunking()
    examples = _core.Examples()
    source = _core.ColumnSource(_core.columns_from_lists(X), templates.extractor())
    weight = np.random.default_rng(4).uniform(0.5, 2.0, size=len(X))  # sums of these depend on their order
    examples.add(source, gold.codes, None, weight, None, n_jobs)
    return _core.ChainOracle(examples, len(gold.names), np.arange(len(gold.names), dtype=np.int32), n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [2, 3, 4, 100])
def test_threads_lay_examples_out_as_one_does(corpus, n_jobs):
    one, several = oracle(corpus, 1), oracle(corpus, n_jobs)
    assert several.n_weights == one.n_weights
    weights = np.random.default_rng(5).normal(scale=0.1, size=one.n_weights)
    losses, gradients, stepped, exported = [], [], [], []
    for made in (one, several):
        gradients.append(np.empty(made.n_weights))
        losses.append([made.loss(weights, gradients[-1], 1, precise) for precise in (False, True)])
        working = made.working()
        working.load(weights)
        for begin in range(0, 200, 4):
            working.descend(np.arange(begin, begin + 4, dtype=np.uint32), 0.05)
        stepped.append(working.store())
        exported.append(made.export(weights))
    assert losses[0] == losses[1]
    np.testing.assert_array_equal(*gradients)
    np.testing.assert_array_equal(*stepped)
    assert exported[0].keys() == exported[1].keys()
    for name, array in exported[0].items():
        np.testing.assert_array_equal(array, exported[1][name])
