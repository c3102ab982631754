"""Sequences too long to keep every row: the core makes them again block by block, and nothing may change by that."""

import numpy as np
import pytest

import trelliswork as tw

# More than the core keeps (4 MiB of rows), and not a whole number of its blocks; and one position more or less.
LENGTHS = [70_000, 70_143, 70_144, 70_145]
N_LABELS = 9


def long_chain(n_positions, per_step=False):
    rng = np.random.default_rng(n_positions)
    steps = (n_positions - 1,) if per_step else ()
    transitions = rng.normal(size=(*steps, N_LABELS, N_LABELS))
    transitions[..., 2, 5] = -np.inf
    scores = rng.normal(size=(n_positions, N_LABELS)), transitions, rng.normal(size=N_LABELS), rng.normal(size=N_LABELS)
    return tw.Chain(*scores)


@pytest.fixture(scope="module", params=[*LENGTHS, "per step"])
def chain(request):
    return long_chain(70_001, per_step=True) if request.param == "per step" else long_chain(request.param)


def test_marginals_are_those_of_the_log_space_vectors(chain):
    joined = chain.forward() + chain.backward()  # their sums round away some digits, the same for all labels
    expected = np.exp(joined - np.logaddexp.reduce(joined, axis=1)[:, None])
    np.testing.assert_allclose(chain.marginals(), expected, rtol=0, atol=1e-8)


def test_edge_marginals_sum_to_the_marginals_on_both_sides(chain):
    marginals, edges = chain.marginals(), chain.edge_marginals()
    np.testing.assert_allclose(edges.sum(axis=2), marginals[:-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(edges.sum(axis=1), marginals[1:], rtol=0, atol=1e-12)


def test_argmax_has_the_score_it_claims_and_the_best_there_is(chain):
    best = chain.argmax()
    assert best.score == chain.score(best.labels)
    np.testing.assert_allclose(chain.max_marginals().max(axis=1), best.score, rtol=1e-12)


def test_argmax_is_the_first_of_kbest(chain):
    best, first = chain.argmax(), chain.kbest(2)[0]
    np.testing.assert_array_equal(best.labels, first.labels)


def test_total_edge_marginals_are_the_sum():
    chain = long_chain(70_143)
    batch = tw.ChainBatch([chain.unary], chain.transitions, start=chain.start, end=chain.end)
    np.testing.assert_allclose(batch.total_edge_marginals(), chain.edge_marginals().sum(axis=0), rtol=1e-9)


def test_long_and_short_sequences_in_one_batch_are_answered_alike():
    long, short = long_chain(70_000), np.random.default_rng(0).normal(size=(6, 5, N_LABELS))
    batch = tw.ChainBatch([*short[:3], long.unary, *short[3:]], long.transitions, n_jobs=2)
    for i, marginals in enumerate(batch.marginals()):
        np.testing.assert_allclose(marginals, batch[i].marginals(), rtol=0, atol=1e-12)
    for i, best in enumerate(batch.argmax()):
        np.testing.assert_array_equal(best.labels, batch[i].argmax().labels)


def test_a_long_sequence_that_underflows_is_redone_in_log_space():
    unary = np.zeros((70_000, 4))
    unary[:, 2:] = -3.0  # the second pair of labels is far less likely, and forced at the end
    transitions = np.full((4, 4), -np.inf)
    transitions[:2, :2] = transitions[2:, 2:] = 0.0
    chain = tw.Chain(unary, transitions, end=[-np.inf, -np.inf, 0.0, 0.0])
    np.testing.assert_allclose(chain.marginals()[[0, 35_000, -1]], [[0.0, 0.0, 0.5, 0.5]] * 3, rtol=0, atol=1e-9)
    np.testing.assert_allclose(chain.log_partition(), 70_000 * (np.log(2.0) - 3.0), rtol=1e-9)


def test_a_long_sequence_without_a_labelling_is_refused():
    unary = np.zeros((70_000, N_LABELS))
    unary[35_000] = -np.inf
    chain = tw.Chain(unary, np.zeros((N_LABELS, N_LABELS)))
    for question in (chain.argmax, chain.marginals):
        with pytest.raises(tw.Unsatisfiable, match="35000"):
            question()


def test_log_partition_loses_no_digits_over_many_positions():
    chain = long_chain(70_000)
    moves, scores = np.exp(chain.transitions.astype(np.longdouble)), chain.unary.astype(np.longdouble)
    alpha, log_scale = np.exp(chain.start + scores[0]), np.longdouble(0)
    for row in np.exp(scores[1:]):
        alpha = (alpha @ moves) * row
        largest = alpha.max()
        alpha, log_scale = alpha / largest, log_scale + np.log(largest)
    expected = float(log_scale + np.log((alpha * np.exp(chain.end)).sum()))
    np.testing.assert_allclose(chain.log_partition(), expected, rtol=1e-15)
