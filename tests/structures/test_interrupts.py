"""Ctrl-C while a structure answers: in the kernels, in log space, in k-best lists, with threads and without."""

import numpy as np
import pytest

import trelliswork as tw
from interrupting import assert_interruptible

K, LONG = 900, 20_000


def scores(length, n_labels=K):
    return np.random.default_rng(0).normal(size=(length, n_labels)), np.random.default_rng(1).normal(
        size=(n_labels, n_labels)
    )


@pytest.fixture(scope="module")
def long_chain():
    return tw.Chain(*scores(LONG))


@pytest.mark.parametrize(
    "question", ["argmax", "log_partition", "marginals", "max_marginals", "entropy", "forward", "backward"]
)
def test_a_long_chain(long_chain, question):
    assert_interruptible(getattr(long_chain, question))


def test_a_long_chain_with_scores_for_log_space():
    unary, transitions = scores(LONG, 200)
    unary[:, ::2] -= 1e4
    transitions[::3] -= 1e4
    transitions[:, 1::2] += 1e5
    chain = tw.Chain(unary, transitions)
    assert_interruptible(chain.marginals)


@pytest.mark.parametrize("method", ["astar", "viterbi"])
def test_many_labellings(method):
    chain = tw.Chain(*scores(2000, 100))
    assert_interruptible(lambda: chain.kbest(200_000, method=method), after=0.3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_batch(n_jobs):
    unary, transitions = scores(400)
    batch = tw.ChainBatch([unary] * 60, transitions, n_jobs=n_jobs)
    assert_interruptible(batch.marginals)


def test_samples():
    chain = tw.Chain(*scores(3000, 100))
    assert_interruptible(lambda: chain.sample(2000, random_state=0), after=0.3)


def test_n_grams():
    rng = np.random.default_rng(0)
    chain = tw.NGramChain(rng.normal(size=(12000, 40)), rng.normal(size=(40, 40, 40)))
    assert_interruptible(chain.marginals)


def test_segments():
    rng = np.random.default_rng(0)
    chain = tw.SegmentChain(rng.normal(size=(4000, 60, 60)), rng.normal(size=(60, 60)))
    assert_interruptible(chain.marginals)


def test_expectations_that_were_interrupted_can_be_taken_up_again():
    unary, transitions = scores(20_000, 40)
    expected, interrupted = tw.ExpectationPass(transitions), tw.ExpectationPass(transitions)
    for one in (expected, interrupted):
        one.feed(unary[:10])
    assert_interruptible(lambda: interrupted.feed(unary))
    for one in (expected, interrupted):
        one.feed(unary[10:20], last=True)
    assert interrupted.result().log_partition == expected.result().log_partition
    assert np.array_equal(interrupted.result().transitions, expected.result().transitions)


@pytest.mark.parametrize("question", ["argmax", "log_partition", "marginals", "entropy", "max_marginals"])
def test_long_trees(question):
    size = 2000 if question == "argmax" else 1200
    tree = tw.DependencyTree(np.random.default_rng(0).normal(size=(size, size)))
    assert_interruptible(getattr(tree, question))


def test_trees_of_the_second_order_and_long_lists_of_trees():
    rng = np.random.default_rng(0)
    cubes = {name: rng.normal(size=(151,) * 3) for name in ("siblings", "grandparents")}
    tree = tw.DependencyTree(rng.normal(size=(151, 151)), **cubes)
    assert_interruptible(tree.argmax, after=0.1)
    assert_interruptible(tree.log_partition)
    short = tw.DependencyTree(rng.normal(size=(41, 41)))
    assert_interruptible(lambda: short.kbest(10**6))
    assert_interruptible(lambda: short.sample(10**6, random_state=0))


@pytest.mark.parametrize("question", ["argmax", "max_marginals"])
def test_large_matchings(question):
    steps = np.arange(1500.0)  # every row wants the same columns
    assert_interruptible(getattr(tw.Matching(-np.outer(steps, steps)), question))


def test_sums_and_long_lists_of_matchings():
    rng = np.random.default_rng(0)
    assert_interruptible(tw.Matching(rng.normal(size=(20, 40)), 0.0, 0.0).marginals)
    assert_interruptible(lambda: tw.Matching(np.zeros((30, 30))).kbest(10**7), after=0.3)
    assert_interruptible(tw.Matching(rng.normal(size=(2000, 2000)) * 5, approximate="bethe").sums)


@pytest.mark.parametrize("question", ["log_partition", "marginals", "max_marginals"])
def test_long_alignments(question):
    assert_interruptible(getattr(tw.Alignment(np.zeros((2000, 2000))), question), after=0.1)


def test_highs():
    rng = np.random.default_rng(0)
    costs = rng.integers(1, 1000, size=(40, 200)).astype(float)
    knapsacks = tw.Program(rng.integers(1, 1000, size=200)).subject_to(costs, upper=costs.sum(axis=1) / 2)
    assert_interruptible(lambda: knapsacks.argmax(time_limit=10.0), after=1.0)
