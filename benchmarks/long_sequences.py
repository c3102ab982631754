"""Long sequences: time per position up to a million, expectations in constant memory, one chain over threads."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from functools import partial

import numpy as np

import trelliswork as tw
from timing import best_seconds, print_load, print_table

N_LABELS = 20


def main() -> None:
    """Print the tables."""
    print_load()
    growth_with_length()
    one_pass()
    one_chain_over_threads()


def growth_with_length() -> None:
    """Time per position must not grow."""
    rows = []
    for length in (1_000, 10_000, 100_000, 1_000_000):
        rng = np.random.default_rng(0)
        chain = tw.Chain(rng.normal(size=(length, N_LABELS)), rng.normal(size=(N_LABELS, N_LABELS)))
        questions: list[Callable[[], object]] = [
            chain.argmax,
            chain.log_partition,
            chain.marginals,
            partial(chain.kbest, 10),
        ]
        rows.append([f"{length:,}", *(1e9 * best_seconds(ask, budget=0.5, most=20) / length for ask in questions)])
    print_table(
        f"Nanoseconds per position, K={N_LABELS}, one thread",
        ["positions", "argmax", "log partition", "marginals", "10 best"],
        rows,
    )


def one_pass() -> None:
    """The expectation semiring against forward-backward: time and memory at a million positions."""
    n_labels, block, n_blocks = 5, 10_000, 100
    rng = np.random.default_rng(0)
    unary, transitions = rng.normal(size=(block, n_labels)), rng.normal(size=(n_labels, n_labels))

    def streamed() -> tw.Expectations:
        sweep = tw.ExpectationPass(transitions)
        for i in range(n_blocks):
            sweep.feed(unary, last=i == n_blocks - 1)
        return sweep.result()

    streamed()
    before = peak_mib()
    one_pass_seconds = best_seconds(streamed, most=3)
    one_pass_growth = peak_mib() - before
    batch = tw.ChainBatch([np.tile(unary, (n_blocks, 1))], transitions)
    before = peak_mib()
    two_pass_seconds = best_seconds(lambda: (batch.log_partition(), batch.total_edge_marginals()), most=3)
    two_pass_growth = peak_mib() - before
    counts = streamed()
    np.testing.assert_allclose(counts.log_partition, batch.log_partition()[0], rtol=1e-9)
    np.testing.assert_allclose(counts.transitions, batch.total_edge_marginals(), rtol=1e-6)
    print_table(
        f"log Z and expected transition counts, T={block * n_blocks:,}, K={n_labels}",
        ["method", "seconds", "more memory at the peak, MiB"],
        [
            ["one forward pass, fed in blocks", one_pass_seconds, one_pass_growth],
            ["forward-backward on the whole chain", two_pass_seconds, two_pass_growth],
        ],
    )


def peak_mib() -> float:
    """Largest resident size so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def one_chain_over_threads() -> None:
    """Would splitting one chain pay? Cut in two, the second half must be run for every label it could begin with.

    A half whose first label is unknown is a product of matrices, not of a vector with matrices: K times the work. Two
    threads need (K + 1) / 2 times as long as one; here the matrix product alone is timed, by BLAS, as the best case.
    """
    length = 10_000
    rng = np.random.default_rng(0)
    chain = tw.Chain(rng.normal(size=(length, N_LABELS)), rng.normal(size=(N_LABELS, N_LABELS)))
    whole = best_seconds(chain.log_partition)
    step, product = np.exp(chain.transitions), np.eye(N_LABELS)
    out = np.empty_like(product)

    def half() -> None:
        for _ in range(length // 2):
            np.matmul(product, step, out=out)

    print_table(
        f"One chain of {length:,} positions, K={N_LABELS}: milliseconds",
        ["way", "ms"],
        [
            ["one thread, vector times matrix", 1e3 * whole],
            ["second half as matrix products, in parallel with the first", 1e3 * best_seconds(half)],
        ],
    )


if __name__ == "__main__":
    main()
