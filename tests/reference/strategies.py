"""The random chains that Hypothesis draws: up to five labels and seven positions, in several kinds of scores.

Arrays are drawn as one run of bytes and read as numbers: fast, and a failure shrinks to zeros. Strategies are cached,
because Hypothesis spends more time on making them than on drawing.
"""

import functools
from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

CLOSE = dict(rtol=1e-9, atol=1e-9)  # for any answer about scores up to a thousand
EXACT = dict(rtol=0, atol=0)


class ChainScores(NamedTuple):
    unary: np.ndarray
    transitions: np.ndarray
    start: np.ndarray | None = None
    end: np.ndarray | None = None


def fewer(divisor):
    """Settings for a property whose examples cost more: the profile's number of examples, divided."""
    return settings(max_examples=max(settings.default.max_examples // divisor, 10))


# Arrays of one kind of score. Each kind is a function from a shape to a strategy.


@functools.cache
def floats(shape):
    """Real scores between -10 and 10; sums practically never tie."""
    return _words(shape).map(lambda words: words / 3276.8)


@functools.cache
def large(shape):
    """Real scores between -1000 and 1000: most exponentials underflow."""
    return _words(shape).map(lambda words: words / 32.768)


@functools.cache
def integers(shape):
    """Whole scores between -3 and 3: sums are exact and tie all the time."""
    return _words(shape).map(lambda words: words % 4 * np.sign(words))


@functools.cache
def odd_floats(shape):
    """Whatever doubles between -10 and 10 Hypothesis thinks of: tiny ones, negative zero, denormals."""
    return hnp.arrays(float, shape, elements=st.floats(-10, 10), fill=st.nothing())


def forbidding(kind, one_in=5):
    """The kind with some scores turned into -inf."""

    @functools.cache
    def arrays(shape):
        masks = _words(shape).map(lambda words: words % one_in == 1)
        return st.tuples(kind(shape), masks).map(lambda pair: np.where(pair[1], -np.inf, pair[0]))

    return arrays


EXACT_KINDS = [integers, forbidding(integers)]  # sums without rounding: answers must match to the label
KINDS = [floats, large, odd_floats, forbidding(floats), *EXACT_KINDS]


# Chains.


@st.composite
def chains(draw, kinds=KINDS, min_positions=1, max_positions=7, max_labels=5, max_labellings=None):
    """A chain of which at least one labelling is allowed."""
    scores = draw(any_chains(kinds, min_positions, max_positions, max_labels, max_labellings))
    return with_an_allowed_path(scores, draw(labellings(*scores.unary.shape)))


@st.composite
def any_chains(draw, kinds=KINDS, min_positions=1, max_positions=7, max_labels=5, max_labellings=None):
    """A chain, perhaps with every labelling forbidden; one transition matrix, or one for each step."""
    n_positions, n_labels = draw(shapes(min_positions, max_positions, max_labels, max_labellings))
    kind = draw(st.sampled_from(kinds))
    steps = (n_labels, n_labels) if draw(st.booleans()) else (max(n_positions - 1, 0), n_labels, n_labels)
    start, end = draw(_boundaries(kind, n_labels)), draw(_boundaries(kind, n_labels))
    return ChainScores(draw(kind((n_positions, n_labels))), draw(kind(steps)), start, end)


@st.composite
def ngram_chains(draw, order, kinds=KINDS, min_positions=1, max_labellings=2200):
    """``(unary, ngram)`` of this order, with at least one labelling allowed."""
    n_positions, n_labels = draw(shapes(min_positions, 7, 5 if order < 3 else 4, max_labellings))
    kind = draw(st.sampled_from(kinds))
    unary, ngram = draw(kind((n_positions, n_labels))), draw(kind((n_labels,) * (order + 1)))
    path = draw(labellings(n_positions, n_labels))
    unary, ngram = unary.copy(), ngram.copy()
    for t in range(n_positions):
        unary[t, path[t]] = finite(unary[t, path[t]])
        if t >= order:
            gram = tuple(path[t - order : t + 1])
            ngram[gram] = finite(ngram[gram])
    return unary, ngram


class SegmentScores(NamedTuple):
    segment_scores: np.ndarray
    transitions: np.ndarray
    start: np.ndarray | None = None
    end: np.ndarray | None = None


SEGMENT_SHAPES = [  # positions, labels: at most about 1500 segmentations
    *[(t, 1) for t in range(1, 8)],
    *[(t, 2) for t in range(1, 8)],
    *[(t, 3) for t in range(1, 6)],
    *[(t, 4) for t in range(1, 5)],
    *[(t, 5) for t in range(1, 4)],
]


@st.composite
def segment_chains(draw, kinds=KINDS):
    """A semi-Markov chain of which at least one segmentation is allowed."""
    n_positions, n_labels = draw(st.sampled_from(SEGMENT_SHAPES))
    max_length = draw(st.integers(1, 7))
    kind = draw(st.sampled_from(kinds))
    segment_scores = draw(kind((n_positions, max_length, n_labels))).copy()
    transitions = draw(kind((n_labels, n_labels))).copy()
    start, end = draw(_boundaries(kind, n_labels)), draw(_boundaries(kind, n_labels))
    path = draw(labellings(n_positions, n_labels))  # the allowed one: segments of one position
    for t, label in enumerate(path):
        segment_scores[t, 0, label] = finite(segment_scores[t, 0, label])
        if t:
            transitions[path[t - 1], label] = finite(transitions[path[t - 1], label])
    return SegmentScores(segment_scores, transitions, _allow(start, path[0]), _allow(end, path[-1]))


@functools.cache
def shapes(min_positions, max_positions, max_labels, max_labellings=None):
    """``(T, K)``, with at most ``max_labellings`` labellings."""
    sizes = [(t, k) for t in range(min_positions, max_positions + 1) for k in range(1, max_labels + 1)]
    return st.sampled_from([(t, k) for t, k in sizes if max_labellings is None or k**t <= max_labellings])


@functools.cache
def labellings(n_positions, n_labels):
    numbers = st.binary(min_size=n_positions, max_size=n_positions)
    return numbers.map(lambda run: [byte % n_labels for byte in run])


@functools.cache
def label_sets(n_labels):
    return st.sets(st.integers(0, n_labels - 1), max_size=n_labels)


@functools.cache
def masks(shape, one_in=4):
    """Arrays of booleans, mostly true."""
    return _words(shape).map(lambda words: words % one_in != 1)


@st.composite
def costs(draw, n_labels):
    """A cost matrix: not negative, zero on the diagonal."""
    kind = draw(st.sampled_from([floats, integers]))
    cost = np.abs(draw(kind((n_labels, n_labels))))
    np.fill_diagonal(cost, 0.0)
    return cost


def with_an_allowed_path(scores, path):
    """The chain with every -inf along the path replaced by zero."""
    unary, transitions = scores.unary.copy(), scores.transitions.copy()
    for t, label in enumerate(path):
        unary[t, label] = finite(unary[t, label])
        if t:
            edge = (path[t - 1], label) if transitions.ndim == 2 else (t - 1, path[t - 1], label)
            transitions[edge] = finite(transitions[edge])
    if not path:
        return ChainScores(unary, transitions, scores.start, scores.end)
    return ChainScores(unary, transitions, _allow(scores.start, path[0]), _allow(scores.end, path[-1]))


@functools.cache
def _boundaries(kind, n_labels):
    return st.none() | kind((n_labels,))


def finite(score):
    return score if np.isfinite(score) else 0.0


def _allow(boundary, label):
    if boundary is None:
        return None
    boundary = boundary.copy()
    boundary[label] = finite(boundary[label])
    return boundary


@functools.cache
def _words(shape):
    size = int(np.prod(shape))
    return st.binary(min_size=2 * size, max_size=2 * size).map(
        lambda run: np.frombuffer(run, dtype="<i2").reshape(shape).astype(float)
    )
