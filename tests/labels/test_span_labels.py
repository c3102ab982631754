"""Spans read from arrays of labels: the same as conlleval reads, and events that together are exactly one span."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.chains import every_chain_labelling
from trelliswork.evaluation import span_scores
from trelliswork.labels.span_labels import SpanLabels
from trelliswork.labels.spans import spans

SCHEMES = {"BIO": "BI", "IOB1": "BI", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES"}


def labels_of(scheme, types=("X", "Y")):
    return ["O", *(f"{prefix}-{kind}" for kind in types for prefix in SCHEMES[scheme])]


@st.composite
def corpora(draw):
    scheme = draw(st.sampled_from(sorted(SCHEMES)))
    labels = labels_of(scheme)
    lengths = draw(st.lists(st.integers(0, 8), max_size=4))
    gold, guess = ([[draw(st.sampled_from(labels)) for _ in range(n)] for n in lengths] for _ in range(2))
    return scheme, labels, gold, guess


def flat(labels, sequences):
    codes = np.array([labels.index(label) for y in sequences for label in y], dtype=np.int64)
    firsts = np.array([t == 0 for y in sequences for t in range(len(y))], dtype=bool)
    return codes, firsts


@given(corpora())
def test_spans_are_those_of_the_plain_reader(corpus):
    scheme, labels, gold, _ = corpus
    spelled = SpanLabels.of(labels)
    types, starts, stops = spelled.spans(*flat(labels, gold))
    found = [(spelled.types[kind], start, stop) for kind, start, stop in zip(types, starts, stops, strict=True)]
    expected, before = [], 0
    for y in gold:
        expected += [(span.type, before + span.start, before + span.stop) for span in spans(y, scheme)]
        before += len(y)
    assert found == expected


@given(corpora())
def test_f1_is_that_of_the_evaluation(corpus):
    scheme, labels, gold, guess = corpus
    codes, firsts = flat(labels, gold)
    f1 = SpanLabels.of(labels).f1(codes, flat(labels, guess)[0], firsts)
    assert f1 == pytest.approx(span_scores(gold, guess, scheme).f1, abs=1e-12)


@given(st.sampled_from(sorted(SCHEMES)), st.integers(1, 4), st.integers(0, 10**6), st.data())
def test_events_are_disjoint_and_make_up_the_span(scheme, length, seed, data):
    labels = labels_of(scheme, types=("X",))
    rng = np.random.default_rng(seed)
    every = every_chain_labelling(rng.normal(size=(length, len(labels))), rng.normal(size=(len(labels),) * 2))
    start = data.draw(st.integers(0, length - 1))
    stop = data.draw(st.integers(start + 1, length))
    having = [("X", start, stop) in spans([labels[k] for k in row], scheme) for row in every.labellings]
    kinds, starts, stops, lengths = np.array([[0], [start], [stop], [length]])
    events = SpanLabels.of(labels).events(kinds, starts, stops, lengths)
    parted = np.split(events.masks, np.cumsum(events.sizes))
    total = sum(
        every.span_probability(begin, map(np.flatnonzero, masks))
        for begin, masks in zip(events.begins.tolist(), parted, strict=False)
    )
    np.testing.assert_allclose(total, every.probabilities()[np.array(having)].sum(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("labels", "types"),
    [
        (["O", "B-PER", "I-PER"], ["PER"]),
        (["B", "I", "O"], [""]),
        (["B", "M", "E", "S"], [""]),
        (["U-A-B", "O"], ["A-B"]),
        (["O"], None),
        (["NN", "VB"], None),
        (["B-PER", "X-PER"], None),
        (["B-PER", "L-PER", "E-PER"], None),
    ],
)
def test_which_labels_spell_spans(labels, types):
    spelled = SpanLabels.of(labels)
    assert (None if spelled is None else spelled.types) == types
