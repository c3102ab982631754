"""`argmax(beam=)` of chains against beam search by its definition, and against Viterbi."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference.beams import best_beginnings


@st.composite
def chains(draw):
    """Whole scores, so that many are tied; some transitions, first and last labels are forbidden."""
    K, T = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    forbidden = draw(st.sampled_from([0.0, 0.2, 0.6]))

    def some(*shape):
        return np.where(rng.random(shape) < forbidden, -np.inf, rng.integers(-2, 3, shape))

    return rng.integers(-2, 3, (T, K)).astype(float), some(K, K), some(K), some(K)


@given(chain=chains(), width=st.integers(1, 8))
def test_the_best_of_a_beam(chain, width):
    unary, moves, start, end = chain
    K = unary.shape[1]
    built = tw.Chain(unary, moves, start=start, end=end)
    while len(found := best_beginnings(unary, moves, width, start.tolist(), end.tolist())) < len(unary):
        if width >= K:
            with pytest.raises(tw.Unsatisfiable):
                built.argmax(beam=width)
            return
        width *= 2
    labels, score = found[-1]
    best = built.argmax(beam=width)
    assert best.labels.tolist() == labels
    assert best.score == score


@given(chain=chains(), more=st.integers(0, 3))
def test_a_beam_of_all_labels_is_viterbi(chain, more):
    unary, moves, start, end = chain
    built = tw.Chain(unary, moves, start=start, end=end)
    try:
        best = built.argmax()
    except tw.Unsatisfiable:
        return
    found = built.argmax(beam=unary.shape[1] + more)
    assert found.labels.tolist() == best.labels.tolist()
    assert found.score == best.score


def test_batches_and_threads_give_the_same():
    rng = np.random.default_rng(0)
    unary = [rng.normal(size=(int(n), 30)) for n in rng.integers(0, 60, 50)]
    moves = rng.normal(size=(30, 30))
    one, two = (tw.ChainBatch(unary, moves, n_jobs=n).argmax(beam=3) for n in (1, 2))
    for a, b, row in zip(one, two, unary, strict=True):
        assert a.labels.tolist() == b.labels.tolist()
        assert a.score == b.score
        if len(row):
            chain = tw.Chain(row, moves)
            assert chain.argmax(beam=3).labels.tolist() == a.labels.tolist()
            assert a.score <= chain.argmax().score


@pytest.mark.parametrize("beam", [0, -1, 2.5, "3"])
def test_wrong_widths(beam):
    with pytest.raises(ValueError, match="beam"):
        tw.Chain([[0.0, 1.0]], np.zeros((2, 2))).argmax(beam=beam)
