"""The paired bootstrap: against drawing sequences one by one and scoring each sample from the beginning."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.strategies import labels_of
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import paired_bootstrap, span_scores, token_scores

ROUNDING = 1e-12
MEASURES = {
    "f1": lambda gold, guess: span_scores(gold, guess).f1,
    "token_f1": lambda gold, guess: token_scores(gold, guess).f1,
    "accuracy": lambda gold, guess: token_scores(gold, guess).accuracy,
}
tokens = st.tuples(*[labels_of("BIO")] * 3)
triples = st.lists(st.lists(tokens, min_size=1, max_size=5), min_size=1, max_size=6)


def unzipped(drawn):
    return ([[token[i] for token in sequence] for sequence in drawn] for i in range(3))


@given(triples, st.sampled_from(list(MEASURES)), st.integers(0, 5))
def test_every_sample_equals_scoring_it_afresh(drawn, measure, seed):
    gold, first, second = unzipped(drawn)
    if all(label == "O" for labels in (*gold, *first, *second) for label in labels):
        return  # "f1" of labels that spell no spans is refused
    test = paired_bootstrap(gold, first, second, measure, n_samples=7, random_state=seed)
    score = MEASURES[measure]
    samples = np.random.default_rng(seed).integers(len(gold), size=(7, len(gold)))
    for difference, sample in zip(test.differences, samples.tolist(), strict=True):
        y, a, b = ([labels[i] for i in sample] for labels in (gold, first, second))
        assert difference == pytest.approx(score(y, b) - score(y, a), abs=ROUNDING)
    assert test.first.f1 == pytest.approx(score(gold, first))
    assert test.second.f1 == pytest.approx(score(gold, second))


@given(triples)
def test_the_figures_follow_from_the_samples(drawn):
    gold, first, second = unzipped(drawn)
    test = paired_bootstrap(gold, first, second, "accuracy", n_samples=40, confidence=0.8)
    off = [abs(d - test.difference) >= abs(test.difference) - ROUNDING for d in test.differences.tolist()]
    assert test.p_value == (1 + sum(off)) / 41
    assert test.interval == pytest.approx(tuple(np.quantile(test.differences, [0.1, 0.9])), abs=ROUNDING)
    assert 0.0 <= test.share_second_better <= 1.0


@given(triples)
def test_exchanging_the_two_turns_the_sign(drawn):
    gold, first, second = unzipped(drawn)
    there = paired_bootstrap(gold, first, second, "accuracy", n_samples=20)
    back = paired_bootstrap(gold, second, first, "accuracy", n_samples=20)
    np.testing.assert_array_equal(there.differences, -back.differences)
    assert there.p_value == back.p_value


def test_two_alike_are_not_different():
    gold = [["B-NP", "O"], ["B-VP"]]
    test = paired_bootstrap(gold, gold, gold, n_samples=50)
    assert (test.difference, test.p_value, test.share_second_better) == (0.0, 1.0, 0.5)


def test_one_that_is_always_better_is_found():
    gold = [["B-NP", "I-NP"], ["B-VP", "O"]] * 20
    worse = [["B-NP", "O"], ["B-VP", "O"]] * 20
    test = paired_bootstrap(gold, worse, gold, n_samples=500)
    assert test.p_value < 0.01
    assert test.interval[0] > 0
    assert test.share_second_better == 1.0


def test_blocks_of_samples_do_not_change_them(monkeypatch):
    gold, first = [["A", "B"], ["B"], ["A"]], [["A", "A"], ["B"], ["B"]]
    whole = paired_bootstrap(gold, first, gold, n_samples=30)
    monkeypatch.setattr("trelliswork.evaluation.bootstrap._DRAWS_AT_A_TIME", 7)
    np.testing.assert_array_equal(paired_bootstrap(gold, first, gold, n_samples=30).differences, whole.differences)


def test_the_text_and_the_json_say_the_same():
    gold = [["B-NP", "I-NP"], ["B-VP", "O"]] * 20
    test = paired_bootstrap(gold, [["B-NP", "O"], ["B-VP", "O"]] * 20, gold, n_samples=100)
    assert json.loads(json.dumps(test.as_dict()))["second"] == 1.0
    assert "first 50.00, second 100.00, difference +50.00" in str(test)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_samples": 0}, "n_samples"),
        ({"n_samples": True}, "n_samples"),
        ({"confidence": 1.0}, "confidence"),
        ({"measure": "recall"}, "measure"),
    ],
)
def test_wrong_arguments_are_refused_by_name(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        paired_bootstrap([["A"]], [["A"]], [["A"]], **wrong)


def test_labels_of_other_tokens_are_refused():
    with pytest.raises(InvalidInput, match=r"second\[0\] has 1 labels but y_true\[0\] has 2"):
        paired_bootstrap([["A", "B"]], [["A", "B"]], [["A"]])
    with pytest.raises(InvalidInput, match="no sequences"):
        paired_bootstrap([], [], [])
