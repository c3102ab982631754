"""Baum-Welch: estimates from expected counts instead of observed ones, until convergence.

Baum, Petrie, Soules and Weiss (1970); Rabiner (1989), sec. III-C, eq. 40a-c. Known labels are fixed, so a corpus may be
partially labelled. With pseudo-counts, it is the posterior of the parameters that never falls, instead of their
likelihood (Dempster, Laird and Rubin 1977).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trelliswork.estimators.hmm.counts import (
    UNLABELLED,
    Array,
    Corpus,
    Counts,
    Ints,
    LogParameters,
    PseudoCounts,
    split,
)
from trelliswork.structures.batch import ChainBatch

__all__ = ["Learned", "baum_welch", "expected_counts", "random_guess"]


class Learned(NamedTuple):
    """The last parameters, the counts they expect, the objective after each iteration, and how it ended."""

    parameters: LogParameters
    counts: Counts
    history: list[float]
    converged: bool
    interrupted: bool = False


def baum_welch(
    corpus: Corpus, guess: LogParameters, pseudo_counts: PseudoCounts, n_iter: int, tol: float, n_jobs: int | None
) -> Learned:
    """Raise log p(tokens, known labels) + log prior by EM until an iteration gains at most ``tol`` per token.

    An interrupt (Ctrl-C) after the first iteration ends it, and keeps the parameters of the last one that was finished.
    """
    history: list[float] = []
    best: Learned | None = None
    parameters = guess
    try:
        while True:
            counts, log_likelihood = expected_counts(corpus, parameters, n_jobs)
            history.append(log_likelihood + pseudo_counts.log_prior(parameters))
            converged = len(history) > 1 and history[-1] - history[-2] <= tol * len(corpus.tokens)
            best = Learned(parameters, counts, list(history), converged)
            if converged or len(history) > n_iter:
                return best
            parameters = pseudo_counts.added_to(counts).log_parameters(use_stop=guess.stop is not None)
    except KeyboardInterrupt:
        if best is None or len(best.history) < 2:
            raise
        return best._replace(interrupted=True)


def expected_counts(corpus: Corpus, parameters: LogParameters, n_jobs: int | None = None) -> tuple[Counts, float]:
    """Return the counts that the posterior of the labels expects, and log p(tokens, known labels)."""
    V, K = corpus.n_tokens, corpus.n_labels
    start, transitions, stop, emissions = np.zeros(K), np.zeros((K, K)), np.zeros(K), np.zeros((V, K))
    log_likelihood = 0.0
    for block in corpus.blocks():
        batch = _clamped(block, parameters, n_jobs)
        marginals = np.concatenate(batch.marginals())
        start += marginals[block.offsets[:-1]].sum(axis=0)
        transitions += batch.total_edge_marginals()
        stop += marginals[block.offsets[1:] - 1].sum(axis=0)
        emissions += _rows_by_token(block.tokens, marginals, V)
        log_likelihood += float(batch.log_partition().sum())
    return Counts(start, transitions, stop, emissions), log_likelihood


def random_guess(corpus: Corpus, use_stop: bool, random_state: int | np.random.Generator | None) -> LogParameters:
    """Draw parameters; emissions around the frequencies of the tokens, so that no state is left without any."""
    rng = np.random.default_rng(random_state)
    V, K = corpus.n_tokens, corpus.n_labels
    stop = (len(corpus.offsets) - 1) / (len(corpus.tokens) + 1)  # about one in as many steps as a sequence has
    return Counts(
        start=rng.dirichlet(np.ones(K)),
        transitions=rng.dirichlet(np.ones(K), size=K) * (1 - stop),
        stop=np.full(K, stop),
        emissions=rng.standard_exponential((V, K)) * np.bincount(corpus.tokens, minlength=V)[:, None],
    ).log_parameters(use_stop)


def _clamped(corpus: Corpus, parameters: LogParameters, n_jobs: int | None) -> ChainBatch:
    """Return the chains of the corpus, with every label but the known one forbidden where one is known."""
    unary = parameters.emissions[corpus.tokens]
    known = np.flatnonzero(corpus.labels != UNLABELLED)
    allowed = unary[known, corpus.labels[known]]
    unary[known] = -np.inf
    unary[known, corpus.labels[known]] = allowed
    start, transitions, stop, _ = parameters
    return ChainBatch(split(unary, corpus.offsets), transitions, n_jobs=n_jobs, start=start, end=stop)


def _rows_by_token(tokens: Ints, rows: Array, V: int) -> Array:
    """Return the sum of the rows of each token, shape (V, K)."""
    from scipy import sparse

    N = len(tokens)
    belongs = sparse.csr_array((np.ones(N), tokens, np.arange(N + 1)), shape=(N, V))
    summed: Array = belongs.T @ rows
    return summed
