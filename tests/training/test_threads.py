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


def key_source(rng, n_tokens, n_keys, valued=False, repeated=()):
    """Tokens of some keys: frequent ones, ones with a twin, ones that occur once; `repeated` tokens have one twice."""
    n_once = n_tokens // 10
    keys = rng.integers(0, 2**63, size=2 * (n_keys + n_once), dtype=np.uint64) * np.uint64(2)
    counts = rng.integers(0, 6, size=n_tokens)
    counts[list(repeated)] = 3
    starts = np.concatenate([[0], np.cumsum(counts)])
    each = rng.zipf(1.2, size=starts[-1]) % n_keys
    each[rng.choice(len(each), n_once, replace=False)] = n_keys + np.arange(n_once)
    for t in repeated:
        each[starts[t] : starts[t + 1]] = 7, 7, 8
    twins = np.where(each % 3 == 0, 2, 1)
    second = np.concatenate([[False], np.diff(np.repeat(np.arange(len(each)), twins)) == 0])
    starts = np.concatenate([[0], np.cumsum(twins)])[starts]
    each = np.repeat(each, twins) + second * (n_keys + n_once)
    values = rng.choice(np.array([1.0, 2.0], dtype=np.float32), size=len(each)) if valued else None
    return _core.KeySource(np.full(n_tokens // 20, 20), starts, keys[each], values), keys[each]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_attributes_are_numbered_as_they_are_met(n_jobs):
    rng = np.random.default_rng(8)
    examples, met = _core.Examples(), []
    for n_tokens in (120_000, 2_000, 60_000):  # more than threads take at a time, and less
        source, found = key_source(rng, n_tokens, 5_000)
        examples.add(source, np.zeros(n_tokens, dtype=np.int32), n_jobs=n_jobs)
        met.append(found)
    keys, first, counts = np.unique(np.concatenate(met), return_index=True, return_counts=True)
    order = np.argsort(first)
    seen = examples.vocabulary("token", np.zeros(1, dtype=np.int32), 1, False)
    np.testing.assert_array_equal(seen["keys"], keys[order])
    np.testing.assert_array_equal(seen["counts"], counts[order])


@pytest.mark.parametrize("min_count", [1, 3])
@pytest.mark.parametrize(("valued", "repeated"), [(False, ()), (False, (19_000,)), (True, (10, 19_000))])
def test_threads_find_the_same_units(min_count, valued, repeated):
    weights, losses, gradients, exported = None, [], [], []
    for n_jobs in (1, 2, 3):
        rng = np.random.default_rng(9)
        source, _ = key_source(rng, N_TOKENS, 1_000, valued=valued, repeated=repeated)
        examples = _core.Examples()
        examples.add(source, rng.integers(0, 5, size=N_TOKENS).astype(np.int32), n_jobs=n_jobs)
        made = _core.ChainOracle(examples, 5, np.arange(5, dtype=np.int32), min_count=min_count, n_jobs=n_jobs)
        weights = np.random.default_rng(5).normal(size=made.n_weights) if weights is None else weights
        gradients.append(np.empty(made.n_weights))
        losses.append(made.loss(weights, gradients[-1], n_jobs, True))
        exported.append(made.export(weights))
    assert len(set(losses)) == 1
    for gradient, tensors in zip(gradients, exported, strict=True):
        np.testing.assert_array_equal(gradient, gradients[0])
        assert all(np.array_equal(array, exported[0][name]) for name, array in tensors.items())
