"""Losses of padded chains with their gradient, as layers of networks ask the core for them, beside `ChainBatch`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork import _core


def asked(scores, mask=None, gold=None, cost=0.0, best=False, weights=None, n_jobs=1):
    """Losses and the gradient by unary, transitions, start and end."""
    losses = np.empty(len(scores[0]))
    gradient = [np.full_like(array, np.nan) for array in scores] if weights is not None else [None] * 4
    what = _core.padded_losses(*scores, mask, gold, cost, best, n_jobs, losses, weights, *gradient)
    assert what == ("", 0, 0, 0)
    return losses, gradient


def drawn(seed, shape, dtype=np.float64, scale=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    K = shape[2]
    scores = [(scale * rng.normal(size=size)).astype(dtype) for size in (shape, (K, K), K, K)]
    mask = rng.random(shape[:2]) < 0.7
    gold = rng.integers(0, K, size=shape[:2])
    others = (np.arange(K) != gold[..., None]) & (rng.random(shape) < forbidden)
    scores[0][others] = -np.inf
    return scores, mask, gold, rng.normal(size=shape[0])


def expected(scores, mask, gold, cost, weights):
    """The same from `ChainBatch`, in double precision."""
    unary, *moves = (array.astype(np.float64) for array in scores)
    K = unary.shape[2]
    rows = [unary[i][here] for i, here in enumerate(mask)]
    labels = [gold[i][here] for i, here in enumerate(mask)]
    charged = [row + cost * (np.arange(K) != y[:, None]) for row, y in zip(rows, labels, strict=True)]
    plain = tw.ChainBatch(rows, moves[0], start=moves[1], end=moves[2])
    batch = tw.ChainBatch(charged, moves[0], start=moves[1], end=moves[2])
    losses = batch.log_partition() - plain.score(labels)
    of = [np.zeros_like(array) for array in (unary, *moves)]
    both = zip(labels, batch.marginals(), batch.edge_marginals(), strict=True)
    for i, (y, nodes, edges) in enumerate(both):
        if len(y) == 0:
            continue
        nodes = weights[i] * (nodes - np.eye(K)[y])
        of[0][i][mask[i]] = nodes
        of[1] += weights[i] * edges.sum(axis=0)
        np.subtract.at(of[1], (y[:-1], y[1:]), weights[i])
        of[2] += nodes[0]
        of[3] += nodes[-1]
    return losses, of


@given(
    st.integers(0, 10**6),
    st.tuples(st.integers(0, 9), st.integers(1, 7), st.integers(1, 19)),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([0.1, 3.0, 60.0, 1000.0]),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([0.0, 1.0]),
)
def test_equals_the_questions_of_a_batch(seed, shape, dtype, scale, forbidden, cost):
    scores, mask, gold, weights = drawn(seed, shape, dtype, scale, forbidden)
    losses, gradient = asked(scores, mask, gold, cost, weights=weights)
    wanted, parts = expected(scores, mask, gold, cost, weights)
    near = {"rtol": 1e-9, "atol": 1e-9} if dtype == np.float64 else {"rtol": 2e-5, "atol": 2e-5 * max(1.0, scale / 10)}
    np.testing.assert_allclose(losses, wanted, **near)
    np.testing.assert_allclose(asked(scores, mask, gold, cost)[0], wanted, **near)
    for found, part in zip(gradient, parts, strict=True):
        np.testing.assert_allclose(found, part, rtol=1e-3 if dtype == np.float32 else 1e-8, atol=near["atol"])


@given(st.integers(0, 10**6), st.sampled_from([np.float32, np.float64]), st.sampled_from([0.0, 1.0]))
def test_the_best_labelling(seed, dtype, cost):
    scores, mask, gold, weights = drawn(seed, (5, 6, 4), dtype)
    losses, gradient = asked(scores, mask, gold, cost, best=True, weights=weights)
    unary, transitions, start, end = (array.astype(np.float64) for array in scores)
    for i, here in enumerate(mask):
        y = gold[i][here]
        chain = tw.Chain(unary[i][here], transitions, start, end)
        best = (chain.augmented(y, scale=cost) if cost else chain).argmax()
        assert losses[i] == pytest.approx(best.score - chain.score(y), abs=1e-5 if dtype == np.float32 else 1e-9)
        step = np.eye(4)[best.labels] - np.eye(4)[y]
        np.testing.assert_allclose(gradient[0][i][here], weights[i] * step, rtol=1e-5, atol=1e-7)
        assert not gradient[0][i][~here].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_changes_no_bit(dtype):
    scores, mask, gold, weights = drawn(0, (70, 40, 40), dtype)
    first, second = (asked(scores, mask, gold, weights=weights, n_jobs=n) for n in (1, 3))
    for a, b in zip([first[0], *first[1]], [second[0], *second[1]], strict=True):
        assert np.array_equal(a, b)


def test_without_gold_the_gradient_is_the_marginals():
    scores, mask, _, _ = drawn(1, (3, 5, 4))
    losses, gradient = asked(scores, mask, weights=np.ones(3))
    batch = tw.ChainBatch(
        [scores[0][i][here] for i, here in enumerate(mask)], scores[1], start=scores[2], end=scores[3]
    )
    np.testing.assert_allclose(losses, batch.log_partition(), rtol=1e-12)
    np.testing.assert_allclose(gradient[0][mask], np.concatenate(batch.marginals()), atol=1e-12)
    np.testing.assert_allclose(gradient[1], batch.total_edge_marginals(), atol=1e-12)


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        ((0, (2, 1, 3)), np.nan, ("unary", 2, 1, 3)),
        ((0, (2, 1, 3)), np.inf, ("unary", 2, 1, 3)),
        ((1, (2, 1)), np.nan, ("transitions", 0, 2, 1)),
        ((2, (1,)), np.inf, ("start", 0, 0, 1)),
        ((3, (1,)), np.nan, ("end", 0, 0, 1)),
        ((0, (1, 2)), -np.inf, ("impossible", 1, 0, 0)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_wrong_is_told(place, value, told, dtype):
    scores, _, _, weights = drawn(0, (3, 4, 5), dtype)
    scores[place[0]][place[1]] = value
    losses = np.empty(3)
    gradient = [np.empty_like(array) for array in scores]
    assert _core.padded_losses(*scores, None, None, 0.0, False, 1, losses, weights, *gradient) == told


def test_gold_that_is_wrong_is_told():
    scores, _, gold, _ = drawn(0, (3, 4, 5))
    for label in (-1, 5):
        gold[1, 2] = label
        assert _core.padded_losses(*scores, None, gold, 0.0, False, 1, np.empty(3), *[None] * 5)[:3] == ("label", 1, 2)
    gold[1, 2] = 0
    scores[0][1, 2, 0] = -np.inf
    assert _core.padded_losses(*scores, None, gold, 0.0, False, 1, np.empty(3), *[None] * 5) == ("gold", 1, 2, 0)


def test_arrays_that_do_not_fit():
    scores, mask, gold, weights = drawn(0, (3, 4, 5))
    gradient = [np.empty_like(array) for array in scores]
    for arguments in (
        (*scores, mask[:2], gold, 0.0, False, 1, np.empty(3), *[None] * 5),
        (*scores, mask, gold[:, :2], 0.0, False, 1, np.empty(3), *[None] * 5),
        (*scores, mask, gold, 0.0, False, 1, np.empty(2), *[None] * 5),
        (*scores, mask, None, 1.0, False, 1, np.empty(3), *[None] * 5),
        (*scores, mask, gold, 0.0, False, 1, np.empty(3), weights[:2], *gradient),
        (*scores, mask, gold, 0.0, False, 1, np.empty(3), weights, None, *gradient[1:]),
        (scores[0], scores[1][:2], *scores[2:], mask, gold, 0.0, False, 1, np.empty(3), *[None] * 5),
    ):
        with pytest.raises(ValueError, match=r"fit|size|cost"):
            _core.padded_losses(*arguments)
