"""Sums with many labels: rows with gaps and sparse transitions give what enumeration and the general way give."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interrupting import assert_interruptible
from training.problems import (
    FAST_FLAGS,
    as_tensors,
    expected_loss,
    oracle,
    problems,
    random_problem,
    random_weights,
)
from trelliswork import _core

EVERYTHING = ("valued", "sequence_weight", "cost", "constraints", "repeated")


def blocks(problem, n_jobs=1):
    made = oracle(problem, n_jobs=n_jobs, fast="blocks")
    assert made.fast
    return made


def loss(made, weights, precise=True, n_jobs=1):
    gradient = np.full(made.n_weights, np.nan)
    return made.loss(weights, gradient, n_jobs, precise), gradient


def curvature(made, weights, n_jobs=1):
    diagonal = np.full(made.n_weights, np.nan)
    made.curvature(weights, diagonal, n_jobs)
    return diagonal


def larger_problem(n_labels, flags=(), n_sequences=60, seed=0, **settings):
    """Frequent attributes that imply others, rare ones, and sequences of many lengths."""
    return random_problem(
        seed, flags, n_labels=n_labels, n_sequences=n_sequences, max_length=12, vocabulary=60, per_token=9, **settings
    )


def few_pairs(n_labels, n_sequences=40, seed=0):
    """Labels of which few follow each other: most transitions have no weight."""
    problem = larger_problem(n_labels, (), n_sequences, seed)
    rng = np.random.default_rng(seed)
    followers = rng.integers(0, n_labels, (n_labels, 2))
    for sequence in problem.allowed:
        label = int(rng.integers(n_labels))
        for t in range(len(sequence)):
            sequence[t] = {label}
            label = int(rng.choice(followers[label]))
    return problem


@given(problems(FAST_FLAGS), st.integers(0, 100))
def test_the_loss_is_that_of_enumeration(problem, seed):
    made = blocks(problem)
    weights = random_weights(problem, seed)
    value, gradient = loss(made, made.weights_from(as_tensors(problem, weights)))
    np.testing.assert_allclose(value, expected_loss(problem, weights), rtol=1e-9, atol=1e-9)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("n_labels", [1, 2, 9, 17, 70])
@pytest.mark.parametrize("flags", [(), EVERYTHING])
@pytest.mark.parametrize("combinations", ["seen", "transitions", "all"])
def test_all_answers_are_those_of_the_general_way(n_labels, flags, combinations):
    problem = larger_problem(n_labels, flags, combinations=combinations)
    quick, careful = blocks(problem), oracle(problem, general=True)
    weights = np.random.default_rng(1).normal(size=quick.n_weights)
    value, gradient = loss(careful, weights)
    exact, exact_gradient = loss(quick, weights)
    np.testing.assert_allclose(exact, value, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(exact_gradient, gradient, rtol=1e-10, atol=1e-10)
    single, single_gradient = loss(quick, weights, precise=False)
    np.testing.assert_allclose(single, value, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(single_gradient, gradient, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(curvature(quick, weights), curvature(careful, weights), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n_labels", [40, 130])
@pytest.mark.parametrize("push", [-12.0, -3.0, 3.0, 30.0])
def test_weights_far_from_the_rest_lose_nothing(n_labels, push):
    """What was seen is much less likely, or more, than what was not: large numbers are taken from each other."""
    problem = few_pairs(n_labels)
    quick, careful = blocks(problem), oracle(problem, general=True)
    assert sum(len(sequence) > 1 for sequence in problem.label) > 10
    weights = np.random.default_rng(2).normal(size=quick.n_weights)
    pairs = {(min(a), min(b)) for s in problem.allowed for a, b in itertools.pairwise(s)}
    assert len(pairs) < n_labels**2 / 10
    weights[-len(pairs) :] += push
    value, gradient = loss(careful, weights)
    exact, exact_gradient = loss(quick, weights)
    np.testing.assert_allclose(exact, value, rtol=1e-10)
    np.testing.assert_allclose(exact_gradient, gradient, rtol=1e-9, atol=1e-9)
    single, single_gradient = loss(quick, weights, precise=False)
    np.testing.assert_allclose(single, value, rtol=1e-5)
    np.testing.assert_allclose(single_gradient, gradient, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("size", [10.0, 100.0, 1e4, 1e8])
@pytest.mark.parametrize("flags", [(), ("constraints",)])
@pytest.mark.parametrize("n_labels", [6, 70])
def test_large_weights_lose_nothing(size, flags, n_labels):
    problem = larger_problem(n_labels, flags, n_sequences=60)
    quick, careful = blocks(problem), oracle(problem, general=True)
    weights = size * np.random.default_rng(3).normal(size=quick.n_weights)
    value, gradient = loss(careful, weights)
    np.testing.assert_allclose(loss(quick, weights)[0], value, rtol=1e-9)
    np.testing.assert_allclose(loss(quick, weights)[1], gradient, rtol=1e-6, atol=1e-6)
    assert abs(loss(quick, weights, precise=False)[0] - value) < 1e-6 * size * 10000


@pytest.mark.parametrize("flags", [(), EVERYTHING])
@pytest.mark.parametrize("n_labels", [3, 70])
def test_a_step_over_all_examples_goes_against_the_gradient(flags, n_labels):
    problem = larger_problem(n_labels, flags, n_sequences=50)
    quick, careful = blocks(problem), oracle(problem, general=True)
    weights = np.random.default_rng(4).normal(size=quick.n_weights)
    value, gradient = loss(careful, weights)
    working = quick.working()
    working.load(weights)
    working.multiply(0.5)
    working.multiply(2.0)
    stepped = working.descend(np.arange(quick.n_examples, dtype=np.uint32), 0.01, quick.scale)
    np.testing.assert_allclose(stepped, value, rtol=1e-4)
    np.testing.assert_allclose(working.store(), weights - 0.01 * gradient, rtol=1e-4, atol=1e-4)


def test_a_sequence_of_weight_zero_counts_for_nothing():
    problem = larger_problem(70, ("sequence_weight",), n_sequences=9)
    problem.sequence_weight[::2] = 0.0
    quick, careful = blocks(problem), oracle(problem, general=True)
    weights = np.random.default_rng(5).normal(size=quick.n_weights)
    np.testing.assert_allclose(loss(quick, weights)[1], loss(careful, weights)[1], rtol=1e-10, atol=1e-10)


def test_many_labels_are_what_it_is_for():
    """More labels than bits for their numbers elsewhere, and no transitions at all."""
    problem = larger_problem(1100, n_sequences=3, transitions=False)
    assert oracle(problem).fast
    weights = np.random.default_rng(6).normal(size=oracle(problem).n_weights)
    value, gradient = loss(oracle(problem, general=True), weights)
    np.testing.assert_allclose(loss(oracle(problem), weights)[0], value, rtol=1e-12)
    np.testing.assert_allclose(loss(oracle(problem), weights)[1], gradient, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("flags", [(), ("valued", "cost")])
def test_results_are_identical_for_any_number_of_threads(flags):
    problem = larger_problem(90, flags, n_sequences=3000)
    results = []
    for n_jobs in (1, 2, 4):
        made = blocks(problem, n_jobs)
        weights = np.random.default_rng(7).normal(size=made.n_weights)
        found = [*loss(made, weights, False, n_jobs), *loss(made, weights, True, n_jobs)]
        results.append([*found, curvature(made, weights, n_jobs)])
    for other in results[1:]:
        for found, expected in zip(other, results[0], strict=True):
            assert np.array_equal(found, expected)


def test_a_pass_with_fewer_or_more_threads_than_before_finds_the_same():
    made = blocks(larger_problem(90, n_sequences=3000), 2)
    weights = np.random.default_rng(7).normal(size=made.n_weights)
    found = [loss(made, weights, False, n_jobs) for n_jobs in (2, 1, 3)]
    for value, gradient in found[1:]:
        assert value == found[0][0]
        assert np.array_equal(gradient, found[0][1])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pass_that_was_interrupted_leaves_nothing_behind(n_jobs):
    rng, n_labels, n_tokens = np.random.default_rng(8), 300, 21_000
    examples = _core.Examples(keep_names=False)
    keys = rng.integers(0, 2**64, 50, dtype=np.uint64)[rng.integers(0, 50, n_tokens)]
    lengths, starts = np.full(n_tokens // 30, 30), np.arange(n_tokens + 1)
    codes = rng.integers(0, n_labels, n_tokens).astype(np.int32)
    examples.add(_core.KeySource(lengths, starts, keys), codes)
    made = _core.ChainOracle(examples, n_labels, np.arange(n_labels, dtype=np.int32), 1, "transitions")
    assert made.fast
    weights = rng.normal(size=made.n_weights)
    value, gradient = loss(made, weights, True)
    assert_interruptible(lambda: loss(made, weights + 1.0, True, n_jobs), after=0.1)
    again, gradient_again = loss(made, weights, True, n_jobs)
    assert again == value
    assert np.array_equal(gradient_again, gradient)


REPORT = """
import numpy as np
from training.test_many_labels import blocks, curvature, larger_problem, loss
for n_labels in (3, 22, 90):
    made = blocks(larger_problem(n_labels, ("valued", "constraints"), n_sequences=50))
    weights = np.random.default_rng(1).normal(size=made.n_weights)
    for precise in (False, True):
        value, gradient = loss(made, weights, precise)
        working = made.working()
        working.load(weights)
        working.descend(np.arange(made.n_examples, dtype=np.uint32), 0.1)
        print(value, *(np.linalg.norm(found) for found in (gradient, curvature(made, weights), working.store())))
"""


@pytest.mark.parametrize("kernels", ["baseline", "avx2", "avx512"])
def test_instruction_sets_agree(kernels):
    if _core.kernels() == "baseline" and kernels != "baseline":
        pytest.skip("this processor has no wider vectors")
    tests = os.path.dirname(os.path.dirname(__file__))
    environment = {**os.environ, "TRELLISWORK_KERNELS": kernels, "PYTHONPATH": tests}
    run = subprocess.run(
        [sys.executable, "-c", REPORT], env=environment, check=True, capture_output=True, text=True, cwd=tests
    )
    found = np.array([[float(x) for x in line.split()] for line in run.stdout.splitlines()])
    expected = []
    for n_labels in (3, 22, 90):
        made = oracle(larger_problem(n_labels, ("valued", "constraints"), n_sequences=50), general=True)
        weights = np.random.default_rng(1).normal(size=made.n_weights)
        value, gradient = loss(made, weights)
        working = made.working()
        working.load(weights)
        working.descend(np.arange(made.n_examples, dtype=np.uint32), 0.1)
        norms = [np.linalg.norm(found) for found in (gradient, curvature(made, weights), working.store())]
        expected += [[value, *norms]] * 2
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(found[1::2, :2], np.array(expected)[1::2, :2], rtol=1e-12)
