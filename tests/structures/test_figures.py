"""The figures that the sources print about chains."""

import numpy as np
import pytest

import trelliswork as tw

NOUN, VERB, ADJ = range(3)
HOT, COLD = range(2)


def tasty():
    """000, eq. 17.38: the scores up to "eat" are known, and "tasty" is an adjective."""
    up_to_eat = [2.0, 9.0, -1.0]
    tasty = [-np.inf, -np.inf, 1.2]
    transitions = np.zeros((3, 3))
    transitions[:, ADJ] = [-5.0, 2.5, 2.2]
    return tw.Chain([up_to_eat, tasty], transitions)


def ice_creams(*eaten):
    """002, 77.3.2: the weather behind the ice creams eaten each day."""
    emissions = np.log([[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]])
    return tw.Chain(
        unary=[emissions[:, n - 1] for n in eaten],
        transitions=np.log([[0.7, 0.3], [0.4, 0.6]]),
        start=np.log([0.6, 0.4]),
    )


def test_000_17_39_lists_the_three_ways_to_reach_the_adjective():
    assert sorted(one.score for one in tasty().kbest(3)) == pytest.approx([-1.8, 2.4, 12.7], rel=1e-12)


def test_000_17_40_the_best_prefix_that_ends_in_the_adjective_scores_12_7():
    assert tw.forward(tasty(), "max-plus").alpha[1, ADJ] == pytest.approx(12.7, rel=1e-12)


def test_000_17_40_the_best_prefix_comes_from_the_verb():
    assert tasty().argmax().labels.tolist() == [VERB, ADJ]


def test_002_the_best_weather_for_seven_days():
    assert ice_creams(3, 3, 1, 1, 2, 3, 3).argmax().labels.tolist() == [HOT, HOT, COLD, COLD, HOT, HOT, HOT]


def test_002_the_log_probability_of_the_best_weather():
    assert f"{ice_creams(3, 3, 1, 1, 2, 3, 3).argmax().score:.3f}" == "-10.180"


def test_002_the_best_weather_for_three_days():
    assert ice_creams(3, 1, 3).argmax().labels.tolist() == [HOT, HOT, HOT]


def test_002_the_probability_of_what_was_eaten():
    assert f"{np.exp(ice_creams(3, 1, 3).log_partition()):.6f}" == "0.021968"


def test_002_the_probability_that_the_second_day_was_hot():
    assert f"{ice_creams(3, 1, 3).marginals()[1, HOT]:.6f}" == "0.519301"


def test_002_the_probability_that_the_second_day_was_hot_asked_as_a_span():
    assert f"{ice_creams(3, 1, 3).span_probability(1, [HOT]):.6f}" == "0.519301"
