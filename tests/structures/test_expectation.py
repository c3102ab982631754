"""Expected counts in one forward pass equal those read off the table, and those of the two-pass answer."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference import log_space
from reference.chains import every_chain_labelling
from reference.strategies import CLOSE, chains, fewer, floats, forbidding, large
from trelliswork.errors import InvalidInput


def random_chain(n_positions, n_labels, seed=0):
    rng = np.random.default_rng(seed)
    return tw.Chain(
        rng.normal(size=(n_positions, n_labels)), rng.normal(size=(n_labels, n_labels)), rng.normal(size=n_labels)
    )


# Against the table of all labellings.


@given(chains())
def test_log_partition_comes_with_the_counts(scores):
    expected = every_chain_labelling(*scores).log_partition()
    np.testing.assert_allclose(tw.Chain(*scores).expected_counts().log_partition, expected, **CLOSE)


@given(chains())
def test_expected_label_counts(scores):
    expected = every_chain_labelling(*scores).expected_labels()
    np.testing.assert_allclose(tw.Chain(*scores).expected_counts().labels, expected, **CLOSE)


@given(chains())
def test_expected_transition_counts(scores):
    expected = every_chain_labelling(*scores).expected_transitions()
    np.testing.assert_allclose(tw.Chain(*scores).expected_counts().transitions, expected, **CLOSE)


@given(st.data())
def test_expected_attribute_counts(data):
    scores, n_attributes = data.draw(chains()), data.draw(st.integers(1, 4))
    attributes = data.draw(floats((len(scores.unary), n_attributes)))
    expected = every_chain_labelling(*scores).expected_attributes(attributes)
    np.testing.assert_allclose(tw.Chain(*scores).expected_counts(attributes).attributes, expected, rtol=1e-9, atol=1e-8)


def test_without_attributes_their_counts_are_empty():
    assert random_chain(4, 3).expected_counts().attributes.shape == (0, 3)


def test_no_attributes_may_be_given_as_an_array_without_columns():
    assert random_chain(4, 3).expected_counts(np.zeros((4, 0))).attributes.shape == (0, 3)


def test_one_attribute_that_is_always_on_counts_labels():
    counts = random_chain(6, 3).expected_counts(np.ones((6, 1)))
    np.testing.assert_allclose(counts.attributes[0], counts.labels, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool, object])
def test_attributes_may_be_of_any_numeric_type(dtype):
    attributes = np.array([[1, 0], [0, 1], [1, 1]])
    expected = random_chain(3, 2).expected_counts(attributes.astype(float)).attributes
    np.testing.assert_array_equal(random_chain(3, 2).expected_counts(attributes.astype(dtype)).attributes, expected)


def test_an_empty_sequence_counts_nothing():
    counts = tw.Chain(np.zeros((0, 2)), np.zeros((2, 2))).expected_counts()
    assert counts.log_partition == 0.0
    assert not counts.labels.any()
    assert not counts.transitions.any()


# Against the two-pass answer, on chains too long for a table.


@pytest.mark.parametrize("n_labels", [1, 2, 3, 5, 8, 13, 22, 33])
def test_one_pass_agrees_with_two_passes(n_labels):
    chain = random_chain(300, n_labels, seed=n_labels)
    attributes = np.random.default_rng(1).normal(size=(300, 5))
    counts = chain.expected_counts(attributes)
    np.testing.assert_allclose(counts.log_partition, chain.log_partition(), rtol=1e-12)
    np.testing.assert_allclose(counts.labels, chain.marginals().sum(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(counts.transitions, chain.edge_marginals().sum(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(counts.attributes, attributes.T @ chain.marginals(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("scale", [10.0, 300.0, 3000.0])
def test_one_pass_agrees_with_pairwise_logarithms_where_exponentials_underflow(scale):
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=scale, size=(200, 4)), rng.normal(scale=scale, size=(4, 4))
    counts = tw.Chain(*scores).expected_counts()
    np.testing.assert_allclose(counts.log_partition, log_space.log_partition(*scores), rtol=1e-12)
    np.testing.assert_allclose(counts.labels, log_space.marginals(*scores).sum(axis=0), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(counts.transitions, log_space.edge_marginals(*scores).sum(axis=0), rtol=1e-7, atol=1e-7)


def test_one_pass_agrees_with_two_passes_when_each_step_has_its_own_transitions():
    rng = np.random.default_rng(0)
    chain = tw.Chain(rng.normal(size=(100, 4)), rng.normal(size=(99, 4, 4)))
    np.testing.assert_allclose(chain.expected_counts().transitions, chain.edge_marginals().sum(axis=0), rtol=1e-9)


def test_counts_of_a_hundred_thousand_positions_add_up():
    counts = random_chain(100_000, 6).expected_counts()
    np.testing.assert_allclose(counts.labels.sum(), 100_000, rtol=1e-9)
    np.testing.assert_allclose(counts.transitions.sum(), 99_999, rtol=1e-9)


# Fed block by block, for sequences that do not fit in memory.


@fewer(2)
@given(st.data())
def test_blocks_of_any_size_give_the_same_counts(data):
    scores = data.draw(chains())
    n_positions = len(scores.unary)
    attributes = np.cos(np.arange(2.0 * n_positions)).reshape(n_positions, 2)
    cuts = sorted(data.draw(st.lists(st.integers(0, n_positions - 1), max_size=4)))
    sweep = tw.ExpectationPass(scores.transitions, scores.start, scores.end, n_attributes=2)
    for begin, stop in itertools.pairwise([0, *cuts, n_positions]):
        sweep.feed(scores.unary[begin:stop], attributes[begin:stop], last=stop == n_positions)
    every, counts = every_chain_labelling(*scores), sweep.result()
    np.testing.assert_allclose(counts.log_partition, every.log_partition(), **CLOSE)
    np.testing.assert_allclose(counts.labels, every.expected_labels(), **CLOSE)
    np.testing.assert_allclose(counts.transitions, every.expected_transitions(), **CLOSE)
    np.testing.assert_allclose(counts.attributes, every.expected_attributes(attributes), rtol=1e-9, atol=1e-8)


def test_nothing_can_be_fed_after_the_last_block():
    sweep = tw.ExpectationPass(np.zeros((2, 2)))
    sweep.feed(np.zeros((3, 2)), last=True)
    with pytest.raises(InvalidInput, match="last"):
        sweep.feed(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("unary", "attributes"),
    [
        (np.zeros((3, 3)), np.zeros((3, 1))),
        (np.zeros(2), np.zeros((1, 1))),
        (np.full((3, 2), np.nan), np.zeros((3, 1))),
        (np.zeros((3, 2)), np.zeros((2, 1))),
        (np.zeros((3, 2)), np.zeros((3, 2))),
        (np.zeros((3, 2)), np.full((3, 1), np.nan)),
        (np.zeros((3, 2)), None),
    ],
    ids=["too many labels", "a vector", "NaN scores", "too few rows", "too many attributes", "NaN", "no attributes"],
)
def test_a_block_that_does_not_fit_is_refused(unary, attributes):
    with pytest.raises(InvalidInput):
        tw.ExpectationPass(np.zeros((2, 2)), n_attributes=1).feed(unary, attributes)


# Memory. A million positions of ten labels: the forward vectors alone would take 80 MB.

MEASURE = """
import re
import numpy as np
import trelliswork as tw

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) * 1024

def by_the_chain():
    return chain.expected_counts()

def by_blocks():
    sweep = tw.ExpectationPass(chain.transitions)
    for begin in range(0, 1_000_000, 1000):
        sweep.feed(chain.unary[begin : begin + 1000], last=begin == 999_000)
    return sweep.result()

rng = np.random.default_rng(0)
chain = tw.Chain(np.zeros((2000, 10)), np.zeros((10, 10)))
chain.expected_counts()
chain = tw.Chain(rng.normal(size=(1_000_000, 10)), rng.normal(size=(10, 10)))
open("/proc/self/clear_refs", "w").write("5")  # the peak is counted from here
before = peak()
counts = {way}()
assert abs(counts.labels.sum() - 1_000_000) < 1e-2
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak memory from /proc")
@pytest.mark.parametrize("way", ["by_blocks", "by_the_chain"])
def test_memory_does_not_grow_with_the_length(way):
    program = MEASURE.replace("{way}", way)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8e6


# The expectation semiring of Table 2.2, last row.


@fewer(3)
@given(chains([floats, forbidding(floats)], max_labellings=300))
def test_expectation_semiring_gives_the_partition_function_and_the_summed_features(scores):
    every = every_chain_labelling(*scores)
    n_positions = len(scores.unary)

    def features(position, previous, label):  # two features: how often label 0 occurs, and the positions of changes
        return np.array([float(label == 0), float(position) * (previous not in (-1, label)) * (label != -1)])

    labels = every.labellings
    zeros = np.sum(labels == 0, axis=1)
    changes = np.sum((labels[:, 1:] != labels[:, :-1]) * np.arange(1, n_positions), axis=1)
    weights = np.exp(every.scores)
    total, summed = tw.forward(tw.Chain(*scores), tw.semirings.expectation(features)).total
    np.testing.assert_allclose(total, np.sum(weights), rtol=1e-9)
    np.testing.assert_allclose(summed, [weights @ zeros, weights @ changes], rtol=1e-9, atol=1e-9 * np.sum(weights))


@fewer(3)
@given(chains([floats, large], max_labellings=300))
def test_gradient_of_the_log_partition_is_the_expected_count(scores):
    """Differences of the value, as for any gradient: raising one transition score everywhere."""
    if scores.transitions.ndim == 3:
        return
    step, counts = 1e-6, tw.Chain(*scores).expected_counts().transitions
    a, b = np.unravel_index(np.argmax(counts * (1 - counts)), counts.shape)
    moved = [scores.transitions.copy() for _ in range(2)]
    moved[0][a, b] += step
    moved[1][a, b] -= step
    up, down = (tw.Chain(scores.unary, one, scores.start, scores.end).log_partition() for one in moved)
    tolerance = 1e-4 + 1e-9 * abs(up)
    assert math.isclose((up - down) / (2 * step), counts[a, b], rel_tol=1e-4, abs_tol=tolerance)
