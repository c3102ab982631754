"""Beam search equals enumeration when the beam is wide enough, and says what is wrong when it cannot go on."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference.chains import as_arrays, every_chain_labelling
from reference.strategies import CLOSE, EXACT_KINDS, chains
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures.beam import LeakyPriorityQueue

INF = math.inf


def markov_step(scores):
    """The chain as a step function: start with the first scores, end with the last."""
    unary, steps, start, end = as_arrays(*scores)

    def step(prefix):
        t = len(prefix)
        local = unary[t] + (steps[t - 1, prefix[-1]] if prefix else start)
        return local + end if t == len(unary) - 1 else local

    return step


def history_step(n_labels, forbidding=False):
    """Whole scores that depend on every label so far, with plenty of ties."""

    def step(prefix):
        seed = sum((i + 2) * (y + 1) ** 2 for i, y in enumerate(prefix))
        scores = [float((7 * seed + 3 * k * k + k) % 5 - 2) for k in range(n_labels)]
        return [-INF if forbidding and (seed + k) % 3 == 1 else s for k, s in enumerate(scores)]

    return step


def every_scored_labelling(step, length, n_labels):
    """All labellings that are allowed, best first, ties by the smallest read from the end."""
    table = []
    for labels in itertools.product(range(n_labels), repeat=length):
        score = sum(step(labels[:t])[labels[t]] for t in range(length))
        if score > -INF:
            table.append((list(labels), score))
    return sorted(table, key=lambda row: (-row[1], row[0][::-1]))


def as_rows(labelings):
    return [(found.labels.tolist(), found.score) for found in labelings]


# Equal to the exact answers.


@given(chains(EXACT_KINDS, max_labellings=1100))
def test_a_beam_that_holds_everything_equals_kbest_order_included(scores):
    n_positions, n_labels = scores.unary.shape
    width = n_labels**n_positions
    found = as_rows(tw.beam_search(markov_step(scores), n_positions, width))
    assert found == every_chain_labelling(*scores).kbest(width)
    assert found == as_rows(tw.Chain(*scores).kbest(width))


@given(chains(max_labellings=1100))
def test_a_wide_beam_equals_viterbi(scores):
    n_positions, n_labels = scores.unary.shape
    best = tw.beam_search(markov_step(scores), n_positions, n_labels ** (n_positions - 1))[0]
    viterbi = tw.Chain(*scores).argmax()
    np.testing.assert_allclose(best.score, viterbi.score, **CLOSE)
    np.testing.assert_allclose(every_chain_labelling(*scores).score(best.labels), viterbi.score, **CLOSE)


@given(chains(EXACT_KINDS, max_labellings=1100))
def test_a_wide_beam_breaks_ties_as_viterbi_does(scores):
    n_positions, n_labels = scores.unary.shape
    best = tw.beam_search(markov_step(scores), n_positions, n_labels ** (n_positions - 1))[0]
    assert best.labels.tolist() == tw.Chain(*scores).argmax().labels.tolist()


@pytest.mark.parametrize("forbidding", [False, True])
@pytest.mark.parametrize(("length", "n_labels"), [(1, 1), (1, 4), (4, 1), (5, 3), (7, 2)])
def test_scores_of_any_history_equal_enumeration(length, n_labels, forbidding):
    step = history_step(n_labels, forbidding)
    expected = every_scored_labelling(step, length, n_labels)
    if expected:
        assert as_rows(tw.beam_search(step, length, n_labels**length)) == expected
    else:
        with pytest.raises(Unsatisfiable):
            tw.beam_search(step, length, n_labels**length)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 20])
def test_a_narrow_beam_is_the_best_extensions_of_the_best_prefixes(width):
    step, n_labels, length = history_step(3), 3, 6
    beam = [([], 0.0)]
    for _ in range(length):
        longer = [([*y, k], score + step(tuple(y))[k]) for y, score in beam for k in range(n_labels)]
        beam = sorted(longer, key=lambda row: (-row[1], row[0][::-1]))[:width]
    assert as_rows(tw.beam_search(step, length, width)) == beam


def test_the_ice_cream_diary():
    """002: observing 3 3 1 1 2 3 3 the best path is H H C C H H H with log-probability -10.180."""
    start, move = np.log([0.6, 0.4]), np.log([[0.7, 0.3], [0.4, 0.6]])
    eaten = np.log([[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]])
    seen = [2, 2, 0, 0, 1, 2, 2]
    best = tw.beam_search(lambda y: (move[y[-1]] if y else start) + eaten[:, seen[len(y)]], length=7, width=8)[0]
    assert best.labels.tolist() == [0, 0, 1, 1, 0, 0, 0]
    assert round(best.score, 3) == -10.180


# What a beam gives up.


def garden_path(prefix):
    """Label 1 looks worse at first and pays off later."""
    return [1.0, 0.0] if not prefix else [0.0, 5.0 if prefix[0] == 1 else 0.0]


def test_a_beam_of_one_is_greedy_and_misses_the_best():
    assert as_rows(tw.beam_search(garden_path, length=2, width=1)) == [([0, 0], 1.0)]
    assert as_rows(tw.beam_search(garden_path, length=2, width=2))[0] == ([1, 1], 5.0)


def test_step_is_called_once_for_each_prefix_kept():
    calls = []

    def step(prefix):
        calls.append(prefix)
        return [0.0, 1.0, 2.0]

    tw.beam_search(step, length=5, width=4)
    assert len(calls) == len(set(calls)) == 1 + 3 + 4 + 4 + 4
    assert all(type(label) is int for prefix in calls for label in prefix)


def test_the_total_of_the_beam_approaches_the_log_partition_from_below():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), None, None
    exact = every_chain_labelling(*scores).log_partition()
    beams = [tw.beam_search(markov_step(scores), 5, width) for width in (1, 9, 81, 243)]
    totals = [np.logaddexp.reduce([found.score for found in beam]) for beam in beams]
    assert totals == sorted(totals)
    np.testing.assert_allclose(totals[-1], exact, **CLOSE)


def test_fewer_labellings_than_the_width_come_back_when_fewer_exist():
    assert len(tw.beam_search(lambda prefix: [0.0, -INF], length=3, width=10)) == 1


def test_many_labels_take_one_sort_and_not_one_push_each():
    scores = -np.arange(50_000.0)
    assert as_rows(tw.beam_search(lambda prefix: scores, length=2, width=2)) == [([0, 0], 0.0), ([1, 0], -1.0)]


def test_a_buffer_that_step_uses_again_does_no_harm():
    buffer = np.zeros(2)

    def step(prefix):
        buffer[:] = (0.0, 1.0) if len(prefix) % 2 else (1.0, 0.0)
        return buffer

    assert tw.beam_search(step, length=3, width=3)[0].labels.tolist() == [0, 1, 0]


# Bad input.


def test_length_zero_gives_the_empty_labelling():
    (empty,) = tw.beam_search(lambda prefix: [0.0], length=0, width=3)
    assert empty.labels.shape == (0,)
    assert empty.labels.dtype == np.int32
    assert empty.score == 0.0


def test_labels_are_int32_and_scores_floats():
    (best,) = tw.beam_search(lambda prefix: np.array([1, 2], dtype=np.float32), length=2, width=np.int64(1))
    assert best.labels.dtype == np.int32
    assert type(best.score) is float


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"width": 0}, "width must be at least 1, found 0"),
        ({"width": 1.5}, "width must be an integer"),
        ({"length": -1}, "length must be at least 0, found -1"),
        ({"length": "3"}, "length must be an integer"),
        ({"step": [0.0, 1.0]}, "step must be callable"),
        (
            {"step": lambda prefix: [[0.0]]},
            r"shape \(any,\), one score per label in every call, found \(1, 1\)",
        ),
        ({"step": lambda prefix: 1.0}, r"found \(\)\."),
        ({"step": lambda prefix: []}, "returned no scores"),
        ({"step": lambda prefix: [0.0, math.nan]}, r"step\(\(\)\)\[1\] is NaN"),
        ({"step": lambda prefix: [INF, 0.0]}, r"\[0\] is \+inf"),
        ({"step": lambda prefix: [0.0, -1e301]}, "would overflow"),
        ({"step": lambda prefix: ["a"]}, "must hold real numbers"),
        ({"step": lambda prefix: [1j]}, "must hold real numbers"),
        ({"step": lambda prefix: None}, "must have shape|must hold numbers"),
        ({"step": lambda prefix: [0.0, [1.0]]}, "not a rectangular array"),
        ({"step": lambda prefix: [0.0] * (2 + len(prefix))}, r"step\(\(0,\)\) must have shape \(2,\).*found \(3,\)"),
    ],
)
def test_bad_input_is_refused_and_named(arguments, said):
    with pytest.raises(InvalidInput, match=said):
        tw.beam_search(**({"step": lambda prefix: [0.0, 0.0], "length": 3, "width": 2} | arguments))


def test_a_dead_end_says_where():
    with pytest.raises(Unsatisfiable, match="position 2") as raised:
        tw.beam_search(lambda prefix: [0.0, -INF] if len(prefix) < 2 else [-INF, -INF], length=4, width=2)
    assert "width" not in str(raised.value)


def test_a_dead_end_after_prefixes_were_dropped_suggests_a_wider_beam():
    with pytest.raises(Unsatisfiable, match="width larger than 1"):
        tw.beam_search(lambda prefix: [1.0, 0.0] if not prefix else [0.0 if prefix[0] else -INF] * 2, length=2, width=1)


def test_an_error_in_step_arrives_as_it_is():
    with pytest.raises(ZeroDivisionError):
        tw.beam_search(lambda prefix: [1 / len(prefix)], length=1, width=1)


# The queue.


@given(st.integers(1, 6), st.lists(st.integers(-3, 3)))
def test_the_queue_keeps_the_best_of_the_stream_and_the_first_among_equals(capacity, scores):
    queue = LeakyPriorityQueue(capacity)
    for arrival, score in enumerate(scores):
        queue.push(arrival, score)
    expected = sorted(enumerate(scores), key=lambda pair: -pair[1])[:capacity]
    assert queue.dump() == expected
    assert len(queue) == 0


@given(st.integers(1, 6), st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 3))))
def test_a_smaller_order_is_better_among_equal_scores(capacity, stream):
    queue = LeakyPriorityQueue(capacity)
    for arrival, (score, order) in enumerate(stream):
        queue.push(arrival, score, order)
    expected = sorted(enumerate(stream), key=lambda pair: (-pair[1][0], pair[1][1]))[:capacity]
    assert queue.dump() == [(arrival, score) for arrival, (score, _) in expected]


@given(st.integers(1, 6), st.lists(st.integers(-3, 3), min_size=1))
def test_push_says_whether_the_thing_was_kept(capacity, scores):
    queue = LeakyPriorityQueue(capacity)
    kept = [queue.push(arrival, score) for arrival, score in enumerate(scores)]
    assert kept[-1] == (len(scores) - 1 in [thing for thing, _ in queue.dump()])


def test_pop_takes_the_worst_and_dump_is_all_pops_reversed():
    queue = LeakyPriorityQueue(3)
    for thing, score in [("a", 2.0), ("b", 1.0), ("c", 3.0), ("d", 0.0)]:
        queue.push(thing, score)
    assert queue.pop() == ("b", 1.0)
    assert queue.dump() == [("c", 3.0), ("a", 2.0)]
    with pytest.raises(IndexError):
        queue.pop()


def test_things_need_not_be_comparable():
    queue = LeakyPriorityQueue(2)
    assert all(queue.push(thing, 1.0) for thing in ({}, {}))


def test_the_queue_refuses_nan_and_a_capacity_below_one():
    with pytest.raises(InvalidInput, match="NaN"):
        LeakyPriorityQueue(1).push("a", math.nan)
    with pytest.raises(InvalidInput, match="capacity must be at least 1"):
        LeakyPriorityQueue(0)
