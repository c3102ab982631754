"""Counts per sequence: against the scorers that count one label at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.strategies import PREFIXES, corpora, labels_of
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import Score, span_scores, token_scores
from trelliswork.evaluation.counts import checked_measure, counts_per_sequence, f1_of, score_of
from trelliswork.labels.coded import coded


def both(gold, guess):
    first = coded(gold)
    return first, coded(guess, known=first.names)


@given(st.sampled_from(["BIO", "IOBES", "BILOU", "BMES"]).flatmap(lambda scheme: corpora(labels_of(scheme))))
def test_spans_of_each_sequence_equal_conllevals(drawn):
    gold, guess = both(*drawn)
    if not any(label != "O" for label in guess.names):
        return  # labels that spell no spans are refused before
    counts = counts_per_sequence(gold, guess, "f1")
    scheme = next(s for s, prefixes in PREFIXES.items() if {n[0] for n in guess.names if n != "O"} <= set(prefixes))
    for row, y, z in zip(counts.tolist(), *drawn, strict=True):
        assert Score(*row) == span_scores([y], [z], scheme).overall
    assert score_of(counts) == span_scores(*drawn, scheme).overall


@given(corpora(labels_of("BIO")))
def test_tokens_of_each_sequence_equal_the_scorer(drawn):
    gold, guess = both(*drawn)
    inside, all_tokens = (counts_per_sequence(gold, guess, measure) for measure in ("token_f1", "accuracy"))
    for i, (y, z) in enumerate(zip(*drawn, strict=True)):
        scores = token_scores([y], [z])
        assert Score(*inside[i].tolist()) == scores.inside
        assert all_tokens[i].tolist() == [scores.n_correct, len(y), len(y)]


@given(st.lists(st.lists(st.sampled_from("ABC"), max_size=4), max_size=6), st.data())
def test_some_sequences_are_those(y, data):
    chosen = data.draw(st.lists(st.integers(0, len(y) - 1), max_size=8) if y else st.just([]))
    assert coded(y).some(np.array(chosen, dtype=np.intp)).lists() == [y[i] for i in chosen]


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_f1_is_the_harmonic_mean(correct, found, support):
    correct = min(correct, found, support)
    assert f1_of(np.array([correct, found, support])) == pytest.approx(Score(correct, found, support).f1)


def test_a_token_without_a_label_is_refused():
    with pytest.raises(InvalidInput, match=r"y\[1\] has a token without a label"):
        coded([["A"], ["A", None]])


def test_f1_needs_labels_that_spell_spans():
    with pytest.raises(InvalidInput, match="spell no spans"):
        checked_measure("f1", ["NN", "VB"])
    with pytest.raises(InvalidInput, match="expected"):
        checked_measure("recall", ["O", "B-NP"])
