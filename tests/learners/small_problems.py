"""Small training sets, of single labels and of chains, with all their structures within reach of enumeration."""

import numpy as np
from hypothesis import strategies as st

from training.problems import oracle as chain_oracle
from training.problems import random_problem
from trelliswork import _core


def label_oracle(seed=0, n=20, d=3, k=3, weighted=False, costly=False):
    """Noisy rows with one label each; returns the oracle and the weights of the examples."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    gold = (x @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))).argmax(axis=1).astype(np.int32)
    sample_weight = rng.uniform(0, 2, n) if weighted else np.ones(n)
    cost = rng.uniform(0, 2, (k, k)) * (1 - np.eye(k)) if costly else np.zeros((0, 0))
    return _core.LabelOracle.dense(x, gold, k, sample_weight, cost), sample_weight


def chains(seed=0, flags=(), n_labels=2, n_sequences=5, max_length=3, combinations="all", **settings):
    """Chains that answer about the best labellings; returns the oracle and the weights of the examples."""
    problem = random_problem(
        seed, flags, n_labels, n_sequences, max_length, per_token=2, combinations=combinations, **settings
    )
    problem.scale = 0.0
    sample_weight = np.ones(n_sequences) if problem.sequence_weight is None else problem.sequence_weight
    return chain_oracle(problem, best=True), sample_weight


@st.composite
def oracles(draw):
    """Either, with or without weights and costs: a function that makes it afresh."""
    seed = draw(st.integers(0, 2**31))
    weighted, costly = draw(st.booleans()), draw(st.booleans())
    if draw(st.booleans()):
        size = {"n": draw(st.integers(1, 8)), "d": draw(st.integers(1, 3)), "k": draw(st.integers(1, 3))}
        return lambda: label_oracle(seed, **size, weighted=weighted, costly=costly)
    flags = {"valued", "pairs"} | ({"sequence_weight"} if weighted else set()) | ({"cost"} if costly else set())
    n_sequences = draw(st.integers(1, 4))
    return lambda: chains(seed, flags, n_sequences=n_sequences)
