"""The judges are judged too: by numbers worked by hand, and by agreeing with each other."""

import math

import numpy as np
from hypothesis import given

from reference import chains, log_space, precise, semirings
from reference.enumeration import every_labelling
from reference.segments import EverySegmentation, every_segmentation
from reference.strategies import CLOSE, floats, forbidding, large
from reference.strategies import chains as drawn_chains

# Two positions, two labels: 00 scores 2 + 0 + 0, 10 scores 0 + 0 + 0, 01 scores 2 - 3 + 1, 11 scores 0 + 0 + 1.
UNARY, TRANSITIONS = [[2.0, 0.0], [0.0, 1.0]], [[0.0, -3.0], [0.0, 0.0]]
BY_HAND = {(0, 0): 2.0, (1, 0): 0.0, (0, 1): 0.0, (1, 1): 1.0}


def test_labellings_come_smallest_read_from_the_end_first():
    assert every_labelling(2, 2).tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]


def test_scores_of_a_chain_worked_by_hand():
    table = chains.every_chain_labelling(UNARY, TRANSITIONS)
    assert dict(zip(map(tuple, table.labellings.tolist()), table.scores, strict=True)) == BY_HAND


def test_start_and_end_are_scored_once_each():
    table = chains.every_chain_labelling(UNARY, TRANSITIONS, start=[10, 20], end=[100, 200])
    assert table.score([1, 0]) == 0 + 20 + 100


def test_each_step_has_its_own_transitions():
    steps = np.zeros((2, 2, 2))
    steps[0, 0, 1], steps[1, 1, 0] = 5, 7
    assert chains.every_chain_labelling(np.zeros((3, 2)), steps).score([0, 1, 0]) == 12


def test_log_partition_worked_by_hand():
    expected = math.log(math.exp(2) + 1 + 1 + math.e)
    np.testing.assert_allclose(chains.every_chain_labelling(UNARY, TRANSITIONS).log_partition(), expected, rtol=1e-14)


def test_marginals_worked_by_hand():
    z = math.exp(2) + 1 + 1 + math.e
    expected = [[(math.exp(2) + 1) / z, (1 + math.e) / z], [(math.exp(2) + 1) / z, (1 + math.e) / z]]
    np.testing.assert_allclose(chains.every_chain_labelling(UNARY, TRANSITIONS).marginals(), expected, rtol=1e-14)


def test_kbest_worked_by_hand_puts_the_smaller_ending_first_on_a_tie():
    best = chains.every_chain_labelling(UNARY, TRANSITIONS).kbest(4)
    assert best == [([0, 0], 2.0), ([1, 1], 1.0), ([1, 0], 0.0), ([0, 1], 0.0)]


def test_a_trigram_is_scored_from_the_third_position_on():
    ngram = np.zeros((2, 2, 2))
    ngram[0, 1, 1] = 5
    assert chains.every_ngram_labelling(np.zeros((4, 2)), ngram).score([0, 1, 1, 1]) == 5
    assert chains.every_ngram_labelling(np.zeros((2, 2)), ngram).score([0, 1]) == 0


def test_three_positions_are_cut_in_four_ways():
    cuts = {tuple((begin, stop) for begin, stop, _ in segments) for segments in every_segmentation(3, 3, 1)}
    assert cuts == {((0, 1), (1, 2), (2, 3)), ((0, 1), (1, 3)), ((0, 2), (2, 3)), ((0, 3),)}


def test_segmentation_scores_worked_by_hand():
    scores = np.arange(2 * 2 * 2, dtype=float).reshape(2, 2, 2)
    every = EverySegmentation(scores, [[0, 10], [20, 0]], start=[100, 0], end=[0, 1000])
    assert dict(every)[((0, 1, 0), (1, 2, 1))] == 0 + 5 + 10 + 100 + 1000
    assert dict(every)[((0, 2, 1),)] == 3 + 1000


@given(drawn_chains([floats, forbidding(floats)], max_labellings=300))
def test_pairwise_logarithms_agree_with_the_enumeration(scores):
    np.testing.assert_allclose(log_space.forward(*scores[:3]), chains.forward(*scores[:3]), **CLOSE)
    np.testing.assert_allclose(
        log_space.backward(scores.unary, scores.transitions, scores.end),
        chains.backward(scores.unary, scores.transitions, scores.end),
        **CLOSE,
    )


@given(drawn_chains([floats, large, forbidding(large)], max_labellings=100))
def test_exact_fractions_agree_with_the_enumeration(scores):
    table = chains.every_chain_labelling(*scores)
    np.testing.assert_allclose(precise.marginals(*scores), table.marginals(), **CLOSE)
    np.testing.assert_allclose(precise.log_partition(*scores), table.log_partition(), **CLOSE)
    np.testing.assert_allclose(precise.entropy(*scores), table.entropy(), **CLOSE)


@given(drawn_chains([floats, large], max_labellings=100))
def test_fifty_digits_agree_with_exact_fractions(scores):
    marginals, log_partition = precise.long_marginals(*scores)
    np.testing.assert_allclose(marginals, precise.marginals(*scores), rtol=0, atol=1e-15)
    np.testing.assert_allclose(log_partition, precise.log_partition(*scores), rtol=1e-15, atol=1e-15)


def test_exact_fractions_hold_apart_what_doubles_cannot():
    unary, transitions = [[1e300, 1e300], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]
    z = math.e + 3
    np.testing.assert_allclose(precise.marginals(unary, transitions)[1], [(math.e + 1) / z, 2 / z], rtol=1e-15)


class Counting:
    zero, one = 0, 1
    plus, times = staticmethod(lambda a, b: a + b), staticmethod(lambda a, b: a * b)
    lift = staticmethod(lambda score, position, previous, label: int(score > -math.inf))


def test_the_counting_semiring_counts_the_labellings():
    scores = (np.zeros((3, 4)), np.zeros((4, 4)), None, None)
    assert semirings.total(scores, Counting) == 4**3
    assert semirings.edge(scores, Counting, 1, 2, 3) == 4
    assert semirings.alpha(scores, Counting, 1, 0) == 4
    assert semirings.beta(scores, Counting, 1, 0) == 4
