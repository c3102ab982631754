"""How far the frequencies of samples may stray from their probabilities: so far that no seed ever fails by chance."""

import numpy as np


def assert_frequencies(counts, probabilities, n, n_tests=1):
    """Check that each count of ``n`` draws is within Bernstein's bound of its mean.

    A sampler that is right exceeds the bound with probability below 1e-12 for each count, divided by ``n_tests``.
    """
    counts, p = np.asarray(counts), np.asarray(probabilities)
    exponent = np.log(2e12 * n_tests)
    slack = exponent / 3 + np.sqrt((exponent / 3) ** 2 + 2 * exponent * n * p * (1 - np.minimum(p, 1)))
    strays = np.abs(counts - n * p) > slack
    assert not np.any(strays), f"drawn {counts[strays]} times of {n}, expected {n * p[strays]} +- {slack[strays]}"
