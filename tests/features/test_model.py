"""The trained model: scores are sums of weights, whatever form the weights have; answers are those of the chain."""


import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reference.models import make_tensors, random_weights, slow_scores, source
from trelliswork import _core

CLOSE = dict(rtol=1e-12, atol=1e-12)


def random_sequences(rng, n_attributes, lengths, prefix="a", valued=False):
    """Sequences of tokens with some known attributes and some unknown ones."""

    def token():
        names = [f"{prefix}{i}" for i in rng.integers(0, n_attributes + 3, size=rng.integers(0, 9))]
        return [(name, float(np.float32(rng.normal()))) for name in names] if valued else names

    return [[token() for _ in range(length)] for length in lengths]


@st.composite
def problems(draw, valued=st.booleans()):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_labels = draw(st.sampled_from([1, 2, 3, 5, 8, 9, 16, 22, 24, 33, 40, 50, 64, 65, 300]))
    n_attributes = draw(st.integers(0, 40))
    weights = random_weights(rng, n_attributes, n_labels)
    sequences = random_sequences(rng, n_attributes, draw(st.lists(st.integers(0, 6), max_size=5)), valued=draw(valued))
    return rng, n_labels, weights, sequences


@given(problems(), st.sampled_from(["now", "never"]))
def test_scores_are_sums_of_value_times_weight(problem, expand):
    rng, n_labels, weights, sequences = problem
    transitions = rng.normal(size=(n_labels, n_labels)).astype(np.float32)
    model = _core.Model(make_tensors(weights, transitions), n_labels, expand=expand)
    unary, moves = model.scores(source(sequences), 1)
    np.testing.assert_allclose(unary, slow_scores(weights, n_labels, sequences), **CLOSE)
    np.testing.assert_array_equal(moves, transitions.astype(float))


@given(problems())
def test_expanded_rows_give_the_same_bits(problem):
    _, n_labels, weights, sequences = problem
    tensors = make_tensors(weights, np.zeros((n_labels, n_labels)))
    plain, expanded = (_core.Model(tensors, n_labels, expand=expand) for expand in ("never", "now"))
    given_source = source(sequences)
    np.testing.assert_array_equal(plain.scores(given_source)[0], expanded.scores(given_source)[0])
