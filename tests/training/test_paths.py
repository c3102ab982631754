"""The fast code of chains and the oracle of any structure give the same answers; threads and instruction sets change
nothing that matters."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import trelliswork as tw
from training.problems import oracle, random_problem
from trelliswork import _core, learners


def loss(made, weights, precise=True, n_jobs=1):
    gradient = np.full(made.n_weights, np.nan)
    return made.loss(weights, gradient, n_jobs, precise), gradient


def larger_problem(n_labels, flags=(), n_sequences=300, seed=0, **settings):
    """Frequent attributes that imply others, rare ones, and sequences of many lengths."""
    return random_problem(
        seed, flags, n_labels=n_labels, n_sequences=n_sequences, max_length=12, vocabulary=60, per_token=9, **settings
    )


@pytest.mark.parametrize("n_labels", [1, 2, 7, 16, 17, 33, 70])
@pytest.mark.parametrize("flags", [(), ("valued", "sequence_weight", "cost", "constraints", "repeated")])
def test_both_paths_agree(n_labels, flags):
    problem = larger_problem(n_labels, flags, n_sequences=120)
    quick, careful = oracle(problem), oracle(problem, general=True)
    assert quick.fast
    assert not careful.fast
    weights = np.random.default_rng(1).normal(size=quick.n_weights)
    value, gradient = loss(careful, weights)
    exact, exact_gradient = loss(quick, weights)
    np.testing.assert_allclose(exact, value, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(exact_gradient, gradient, rtol=1e-10, atol=1e-10)
    single, single_gradient = loss(quick, weights, precise=False)
    np.testing.assert_allclose(single, value, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(single_gradient, gradient, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("combinations", ["transitions", "all"])
def test_both_paths_agree_on_other_combinations(combinations):
    problem = larger_problem(5, combinations=combinations)
    quick, careful = oracle(problem), oracle(problem, general=True)
    weights = np.random.default_rng(1).normal(size=quick.n_weights)
    np.testing.assert_allclose(loss(quick, weights)[0], loss(careful, weights)[0], rtol=1e-12)
    np.testing.assert_allclose(loss(quick, weights)[1], loss(careful, weights)[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [10.0, 100.0, 1e4, 1e8])
@pytest.mark.parametrize("flags", [(), ("constraints",)])
def test_large_weights_lose_nothing(size, flags):
    problem = larger_problem(6, flags, n_sequences=60)
    quick, careful = oracle(problem), oracle(problem, general=True)
    weights = size * np.random.default_rng(3).normal(size=quick.n_weights)
    value, gradient = loss(careful, weights)
    np.testing.assert_allclose(loss(quick, weights)[0], value, rtol=1e-9)
    np.testing.assert_allclose(loss(quick, weights)[1], gradient, rtol=1e-6, atol=1e-6)
    # Scores of this size are only known to so many digits in single precision, and probabilities to no more.
    assert abs(loss(quick, weights, precise=False)[0] - value) < 1e-6 * size * 10000


def test_partly_labelled_data_and_pairs_take_the_general_path():
    assert oracle(random_problem(1, ["valued", "constraints", "cost", "sequence_weight"])).fast
    for flag in ("pairs", "partial", "token_weight"):
        assert not oracle(random_problem(1, [flag], n_sequences=9)).fast


def test_equal_token_weights_are_sequence_weights():
    weighted, plain = random_problem(4, n_sequences=6), random_problem(4, n_sequences=6)
    weighted.token_weight = [np.full(len(sequence), 0.5 * s) for s, sequence in enumerate(weighted.label)]
    plain.sequence_weight = 0.5 * np.arange(6.0)
    made = oracle(weighted)
    assert made.fast
    weights = np.random.default_rng(0).normal(size=made.n_weights)
    np.testing.assert_allclose(loss(made, weights)[0], loss(oracle(plain), weights)[0], rtol=1e-13)


@pytest.mark.parametrize("name", learners.names())
@pytest.mark.parametrize("flags", [(), ("valued", "sequence_weight", "cost", "constraints"), ("pairs",)])
def test_every_learner_learns_the_same_on_the_oracle_of_any_structure(name, flags):
    if name == "arow":  # wants attributes that do not always occur together, with the same values
        flags = (*flags, "valued")
    problem = larger_problem(4, flags, n_sequences=60, combinations="all")
    learner = learners.by_name(name)
    if "epochs" in learner.get_params():
        learner.set_params(epochs=3)
    if name in ("crf", "memm"):
        learner.set_params(solver="lbfgs", tol=1e-11)
    fast = oracle(problem, best=True)
    start = np.random.default_rng(3).normal(size=fast.n_weights) if name != "eg" else None  # no two are equally good
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        ours, theirs = (learner.train(made, weights=start, seed=1).weights for made in (fast, fast.linear()))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


# Threads.


@pytest.mark.parametrize("flags", [(), ("valued", "cost"), ("partial",)])
def test_results_are_identical_for_any_number_of_threads(flags):
    problem = larger_problem(4, flags, n_sequences=3000)
    results = []
    for n_jobs in (1, 2, 4):
        made = oracle(problem, n_jobs=n_jobs)
        weights = np.random.default_rng(7).normal(size=made.n_weights)
        diagonal = np.empty(made.n_weights)
        made.curvature(weights, diagonal, n_jobs)
        results.append((loss(made, weights, False, n_jobs), loss(made, weights, True, n_jobs), diagonal))
    for other in results[1:]:
        for (value, gradient), (expected, expected_gradient) in zip(other[:2], results[0][:2], strict=True):
            assert value == expected
            assert np.array_equal(gradient, expected_gradient)
        assert np.array_equal(other[2], results[0][2])


def test_attributes_are_numbered_alike_by_any_number_of_threads():
    problem = larger_problem(3, n_sequences=2500)
    one, four = oracle(problem, n_jobs=1), oracle(problem, n_jobs=4)
    weights = np.random.default_rng(7).normal(size=one.n_weights)
    first, second = one.export(weights), four.export(weights)
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)


# Instruction sets.

REPORT = """
import numpy as np
from training.problems import oracle
from training.test_paths import larger_problem, loss
for n_labels in (3, 22, 40):
    made = oracle(larger_problem(n_labels, ("valued", "constraints"), n_sequences=50))
    weights = np.random.default_rng(1).normal(size=made.n_weights)
    for precise in (False, True):
        value, gradient = loss(made, weights, precise)
        print(repr(value), repr(float(np.linalg.norm(gradient))))
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
    for n_labels in (3, 22, 40):
        made = oracle(larger_problem(n_labels, ("valued", "constraints"), n_sequences=50))
        weights = np.random.default_rng(1).normal(size=made.n_weights)
        value, gradient = loss(oracle(larger_problem(n_labels, ("valued", "constraints"), n_sequences=50)), weights)
        expected += [[value, np.linalg.norm(gradient)]] * 2
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(found[1::2], expected[1::2], rtol=1e-12)
