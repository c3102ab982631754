"""Bad input has defined behaviour: a sentence that names what is wrong, never a crash and never a silent guess."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference.chains import every_chain_labelling, first_unreachable
from reference.strategies import CLOSE, any_chains, fewer, floats, forbidding
from trelliswork.errors import InvalidInput, TrellisworkError, Unsatisfiable

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

T, K = 4, 3
PARTS = ["unary", "transitions", "start", "end"]


def good_scores():
    rng = np.random.default_rng(0)
    return dict(
        unary=rng.normal(size=(T, K)),
        transitions=rng.normal(size=(K, K)),
        start=rng.normal(size=K),
        end=rng.normal(size=K),
    )


def good_chain():
    return tw.Chain(**good_scores())


def test_errors_are_value_errors_of_one_family():
    assert issubclass(Unsatisfiable, InvalidInput)
    assert issubclass(InvalidInput, TrellisworkError)
    assert issubclass(InvalidInput, ValueError)


# Shapes.


@pytest.mark.parametrize(
    ("part", "shape"),
    [
        ("unary", ()),
        ("unary", (K,)),
        ("unary", (2, T, K)),
        ("unary", (T, K + 1)),
        ("unary", (T, K - 1)),
        ("transitions", ()),
        ("transitions", (K,)),
        ("transitions", (K, K + 1)),
        ("transitions", (K + 1, K)),
        ("transitions", (K + 1, K + 1)),
        ("transitions", (T, K, K)),
        ("transitions", (T - 2, K, K)),
        ("transitions", (1, K, K)),
        ("transitions", (T - 1, K, K + 1)),
        ("transitions", (T - 1, K, K, 1)),
        ("start", ()),
        ("start", (K + 1,)),
        ("start", (1, K)),
        ("start", (0,)),
        ("end", ()),
        ("end", (K - 1,)),
        ("end", (K, 1)),
    ],
)
def test_a_wrong_shape_is_refused(part, shape):
    with pytest.raises(InvalidInput, match=r"unary|transitions|start|end"):
        tw.Chain(**good_scores() | {part: np.zeros(shape)})


@pytest.mark.parametrize(
    ("part", "shape"), [("unary", (K,)), ("transitions", (K + 1, K)), ("start", (K + 1,)), ("end", (K + 1,))]
)
def test_a_wrong_shape_is_named_with_the_argument_and_what_was_found(part, shape):
    with pytest.raises(InvalidInput, match=rf"(?s){part}.*{shape[0]}"):
        tw.Chain(**good_scores() | {part: np.zeros(shape)})


@pytest.mark.parametrize("shape", [(3, 0), (0, 0), (1, 0)])
def test_zero_labels_are_refused(shape):
    with pytest.raises(InvalidInput, match="label"):
        tw.Chain(np.zeros(shape), np.zeros((0, 0)))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "junk",
    [
        "scores",
        b"scores",
        [["a", "b"]],
        [[1.0, 2.0], [3.0]],
        {"a": 1.0},
        {1.0, 2.0},
        object(),
        [[1j, 2j]],
        [[None, 1.0]],
        [[10**400, 0]],
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        np.zeros(1, dtype=[("a", float)]),
        lambda: None,
        3.5,
    ],
    ids=lambda junk: type(junk).__name__,
)
def test_what_is_no_array_of_numbers_is_refused(part, junk):
    with pytest.raises(InvalidInput):
        tw.Chain(**good_scores() | {part: junk})


@pytest.mark.parametrize("part", ["unary", "transitions"])
def test_none_is_no_array_of_scores(part):
    with pytest.raises(InvalidInput, match=part):
        tw.Chain(**good_scores() | {part: None})


# Values.


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.1e300, -1.1e300, 1.7e308, -1.7e308], ids=str)
@pytest.mark.parametrize("part", PARTS)
def test_a_bad_value_is_refused_by_argument(part, value):
    scores = good_scores()
    scores[part].flat[-1] = value
    with pytest.raises(InvalidInput, match=part):
        tw.Chain(**scores)


@pytest.mark.parametrize(
    ("part", "index", "shown"),
    [
        ("unary", (2, 1), r"2, 1|2\]\[1"),
        ("transitions", (1, 2), r"1, 2|1\]\[2"),
        ("start", (2,), "2"),
        ("end", (1,), "1"),
    ],
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_value_is_named_with_its_index(part, index, shown, value):
    scores = good_scores()
    scores[part][index] = value
    with pytest.raises(InvalidInput, match=shown):
        tw.Chain(**scores)


def test_a_bad_value_in_the_transitions_of_a_step_is_named_with_its_index():
    steps = np.zeros((T - 1, K, K))
    steps[2, 0, 1] = np.nan
    with pytest.raises(InvalidInput, match=r"transitions.*(2, 0, 1|2\]\[0\]\[1)"):
        tw.Chain(np.zeros((T, K)), steps)


def test_a_bad_value_deep_in_a_long_chain_is_found():
    unary = np.zeros((100_000, 5))
    unary[87_654, 3] = np.nan
    with pytest.raises(InvalidInput, match=r"87654, 3|87654\]\[3"):
        tw.Chain(unary, np.zeros((5, 5)))


@pytest.mark.parametrize("value", [1e300, -1e300, -np.inf, 5e-324, -0.0], ids=str)
@pytest.mark.parametrize("part", PARTS)
def test_the_largest_values_and_minus_infinity_are_accepted(part, value):
    scores = good_scores()
    scores[part].flat[-1] = value
    assert np.all(np.isfinite(tw.Chain(**scores).marginals()))


# Kinds of arrays that are good input.


def as_read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def as_strided(array):
    return (
        np.repeat(np.repeat(array, 2, axis=0), 3, axis=-1)[::2, ..., ::3]
        if array.ndim > 1
        else np.repeat(array, 2)[::2]
    )


def as_reversed_view(array):
    return array[::-1].copy()[::-1]


KINDS = {
    "nested lists": lambda a: a.tolist(),
    "nested tuples": lambda a: tuple(tuple(row) if isinstance(row, list) else row for row in a.tolist()),
    "a list of arrays": list,
    "Fortran order": np.asfortranarray,
    "a strided view": as_strided,
    "a reversed view": as_reversed_view,
    "read-only": as_read_only,
    "objects": lambda a: a.astype(object),
    "big-endian": lambda a: a.astype(">f8"),
    "long double": lambda a: a.astype(np.longdouble),
    "a subclass": lambda a: a.view(type("Scores", (np.ndarray,), {})),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_any_kind_of_array_gives_the_same_answers(kind):
    expected = good_chain()
    chain = tw.Chain(**{part: kind(array) for part, array in good_scores().items()})
    assert chain.log_partition() == expected.log_partition()
    np.testing.assert_array_equal(chain.marginals(), expected.marginals())
    np.testing.assert_array_equal(chain.argmax().labels, expected.argmax().labels)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int32, np.int64, np.uint8, np.uint64, object])
def test_any_numeric_type_is_read_as_float64(dtype):
    scores = {part: np.round(np.abs(array) * 4).astype(dtype) for part, array in good_scores().items()}
    chain = tw.Chain(**scores)
    expected = every_chain_labelling(**{part: array.astype(float) for part, array in scores.items()})
    np.testing.assert_allclose(chain.marginals(), expected.marginals(), **CLOSE)
    assert chain.argmax().labels.tolist() == expected.argmax()[0]


def test_float32_scores_are_not_rounded_further():
    unary = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    expected = tw.Chain(unary.astype(np.float64), np.zeros((3, 3))).log_partition()
    assert tw.Chain(unary, np.zeros((3, 3), dtype=np.float32)).log_partition() == expected


def test_read_only_input_stays_unwritten():
    unary = as_read_only(np.ones((3, 2)))
    tw.Chain(unary, np.zeros((2, 2))).marginals()
    assert not unary.flags.writeable
    assert np.all(unary == 1.0)


# The smallest chains.


def test_an_empty_sequence_has_the_empty_labelling():
    chain = tw.Chain(np.zeros((0, 2)), np.zeros((2, 2)), start=[3.0, 4.0], end=[5.0, 6.0])
    best = chain.argmax()
    assert (best.labels.shape, best.labels.dtype, best.score) == ((0,), np.int32, 0.0)


@pytest.mark.parametrize("method", ["astar", "viterbi"])
def test_an_empty_sequence_has_one_best_labelling_whatever_k(method):
    best = tw.Chain(np.zeros((0, 2)), np.zeros((2, 2))).kbest(5, method=method)
    assert [(one.labels.tolist(), one.score) for one in best] == [([], 0.0)]


def test_start_and_end_of_an_empty_sequence_are_ignored():
    chain = tw.Chain(np.zeros((0, 2)), np.zeros((2, 2)), start=[-np.inf] * 2, end=[-np.inf] * 2)
    assert chain.log_partition() == 0.0


@pytest.mark.parametrize(
    ("question", "shape"),
    [
        ("marginals", (0, 2)),
        ("edge_marginals", (0, 2, 2)),
        ("max_marginals", (0, 2)),
        ("forward", (0, 2)),
        ("backward", (0, 2)),
    ],
)
def test_arrays_of_an_empty_sequence_are_empty(question, shape):
    assert getattr(tw.Chain(np.zeros((0, 2)), np.zeros((2, 2))), question)().shape == shape


def test_numbers_of_an_empty_sequence():
    chain = tw.Chain(np.zeros((0, 2)), np.zeros((2, 2)))
    assert (chain.log_partition(), chain.entropy(), chain.score([]), chain.log_prob([])) == (0.0, 0.0, 0.0, 0.0)


def test_samples_of_an_empty_sequence_are_empty():
    assert tw.Chain(np.zeros((0, 2)), np.zeros((2, 2))).sample(4, random_state=0).shape == (4, 0)


def test_an_empty_sequence_may_be_augmented_and_constrained():
    chain = tw.Chain(np.zeros((0, 2)), np.zeros((2, 2)))
    assert chain.augmented([]).constrained(allowed=np.zeros((0, 2), dtype=bool), fixed=[]).log_partition() == 0.0


def test_an_empty_sequence_takes_no_steps():
    assert tw.Chain(np.zeros((0, 2)), np.zeros((0, 2, 2))).log_partition() == 0.0


@pytest.mark.parametrize("transitions", [np.full((2, 2), 9.0), np.zeros((0, 2, 2))], ids=["one matrix", "no steps"])
def test_one_position_uses_no_transition(transitions):
    chain = tw.Chain([[1.0, 2.0]], transitions, start=[0.5, 0.0], end=[0.0, 0.25])
    weights = np.exp([1.5, 2.25])
    assert (chain.argmax().labels.tolist(), chain.argmax().score) == ([1], 2.25)
    np.testing.assert_allclose(chain.marginals(), [weights / weights.sum()], rtol=1e-12)
    np.testing.assert_allclose(chain.log_partition(), math.log(weights.sum()), rtol=1e-12)
    assert chain.edge_marginals().shape == (0, 2, 2)
    assert [one.labels.tolist() for one in chain.kbest(5)] == [[1], [0]]
    assert chain.max_marginals().tolist() == [[1.5, 2.25]]


def test_one_label_leaves_nothing_to_choose():
    chain = tw.Chain([[1.0], [2.0], [3.0]], [[0.5]], start=[0.25], end=[0.125])
    assert (chain.argmax().labels.tolist(), chain.argmax().score) == ([0, 0, 0], 7.375)
    assert chain.marginals().tolist() == [[1.0]] * 3
    assert chain.edge_marginals().tolist() == [[[1.0]]] * 2
    np.testing.assert_allclose(chain.log_partition(), 7.375, rtol=1e-12)
    np.testing.assert_allclose(chain.entropy(), 0.0, rtol=0, atol=1e-12)
    assert len(chain.kbest(5)) == 1
    assert chain.sample(2, random_state=0).tolist() == [[0, 0, 0]] * 2
    np.testing.assert_allclose(chain.log_prob([0, 0, 0]), 0.0, rtol=0, atol=1e-12)


def test_one_position_and_one_label():
    chain = tw.Chain([[1.5]], [[100.0]])
    assert (chain.argmax().labels.tolist(), chain.argmax().score, chain.log_partition()) == ([0], 1.5, 1.5)


# k.


@pytest.mark.parametrize("method", ["astar", "viterbi"])
@pytest.mark.parametrize("k", [0, -1, -(10**30), 2.5, "3", None, [3], math.nan, 3j], ids=repr)
def test_k_that_is_no_positive_integer_is_refused(k, method):
    with pytest.raises(InvalidInput, match="k"):
        good_chain().kbest(k, method=method)


@pytest.mark.parametrize("method", ["astar", "viterbi"])
@pytest.mark.parametrize("k", [82, 10**6, 2**31, 2**40, 2**63 - 1, 2**63, 2**64, 10**30], ids=repr)
def test_k_larger_than_the_number_of_labellings_gives_them_all(k, method):
    assert len(good_chain().kbest(k, method=method)) == K**T


@pytest.mark.parametrize("k", [np.int8(3), np.int64(3), np.uint64(3)], ids=repr)
def test_k_may_be_any_integer(k):
    assert len(good_chain().kbest(k)) == 3


@pytest.mark.parametrize("method", ["dijkstra", "", None, 1, "A*"])
def test_an_unknown_method_is_refused_with_the_known_ones(method):
    with pytest.raises(InvalidInput, match=r"(?s)astar.*viterbi|viterbi.*astar"):
        good_chain().kbest(2, method=method)


# Labels.

BAD_LABELS = {
    "too few": [0] * (T - 1),
    "too many": [0] * (T + 1),
    "none at all": [],
    "a label too high": [0, 0, K, 0],
    "a label far too high": [0, 0, 2**40, 0],
    "a label past int64": [0, 0, 2**70, 0],
    "a negative label": [0, -1, 0, 0],
    "floats": [0.0, 1.0, 0.0, 0.0],
    "fractions": [0.0, 1.5, 0.0, 0.0],
    "NaN": [0.0, math.nan, 0.0, 0.0],
    "booleans": [True, False, True, False],
    "two dimensions": [[0, 0, 0, 0]],
    "a number": 0,
    "text": "0000",
    "names": ["O", "O", "B", "O"],
    "None": None,
    "a list with None": [0, None, 0, 0],
    "a dict": {0: 0, 1: 0, 2: 0, 3: 0},
}
bad_labels = pytest.mark.parametrize("labels", BAD_LABELS.values(), ids=BAD_LABELS.keys())


@bad_labels
def test_score_refuses_bad_labels(labels):
    with pytest.raises(InvalidInput):
        good_chain().score(labels)


@bad_labels
def test_log_prob_refuses_bad_labels(labels):
    with pytest.raises(InvalidInput):
        good_chain().log_prob(labels)


@bad_labels
def test_augmented_refuses_a_bad_gold_labelling(labels):
    with pytest.raises(InvalidInput):
        good_chain().augmented(labels)


def test_a_label_out_of_range_is_named_with_its_position():
    with pytest.raises(InvalidInput, match=r"(?s)2.*7|7.*2"):
        good_chain().score([0, 0, 7, 0])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
def test_labels_may_be_any_integers(dtype):
    labels = np.array([0, 1, 2, 1], dtype=dtype)
    assert good_chain().score(labels) == good_chain().score([0, 1, 2, 1])


def test_labels_may_be_a_strided_view():
    assert good_chain().score(np.array([0, 9, 1, 9, 2, 9, 1, 9])[::2]) == good_chain().score([0, 1, 2, 1])


# Costs.


@pytest.mark.parametrize(
    "cost",
    [
        "edit",
        None,
        np.zeros((K, K + 1)),
        np.zeros(K),
        1.0,
        -1.0 + np.eye(K),
        np.eye(K),
        np.where(np.eye(K) > 0, 0.0, np.nan),
        np.where(np.eye(K) > 0, 0.0, np.inf),
    ],
    ids=["unknown name", "None", "wrong shape", "a vector", "a number", "negative", "costly gold", "NaN", "infinite"],
)
def test_a_bad_cost_is_refused(cost):
    with pytest.raises(InvalidInput, match="cost"):
        good_chain().augmented([0] * T, cost=cost)


@pytest.mark.parametrize("scale", [math.nan, math.inf, -math.inf, "1", None, [1.0, 2.0], 1j], ids=repr)
def test_a_bad_scale_is_refused(scale):
    with pytest.raises(InvalidInput, match="scale"):
        good_chain().augmented([0] * T, scale=scale)


def test_a_cost_that_leaves_the_range_of_scores_is_refused():
    with pytest.raises(InvalidInput):
        tw.Chain(np.full((2, 2), 1e300), np.zeros((2, 2))).augmented([0, 0], scale=1e300)


# Constraints.


@pytest.mark.parametrize(
    "constraint",
    [
        dict(allowed=np.ones((T, K + 1), dtype=bool)),
        dict(allowed=np.ones((T + 1, K), dtype=bool)),
        dict(allowed=np.ones(K, dtype=bool)),
        dict(allowed=[None] * (T - 1)),
        dict(allowed=[None, {K}, None, None]),
        dict(allowed=[None, {-1}, None, None]),
        dict(allowed=[None, {0.5}, None, None]),
        dict(allowed=[None, "01", None, None]),
        dict(allowed=7),
        dict(transitions=np.ones((K, K + 1), dtype=bool)),
        dict(transitions=np.ones((T, K, K), dtype=bool)),
        dict(transitions=np.ones(K, dtype=bool)),
        dict(start=np.ones(K + 1, dtype=bool)),
        dict(start=np.ones((1, K), dtype=bool)),
        dict(end=np.ones(K - 1, dtype=bool)),
        dict(fixed={T: 0}),
        dict(fixed={-T - 1: 0}),
        dict(fixed={0: K}),
        dict(fixed={0: -1}),
        dict(fixed={0: 0.5}),
        dict(fixed={"first": 0}),
        dict(fixed=[-1] * (T - 1)),
        dict(fixed=[K, -1, -1, -1]),
        dict(fixed=[-2, -1, -1, -1]),
        dict(fixed=[0.5, -1, -1, -1]),
        dict(fixed=3),
    ],
    ids=str,
)
def test_a_constraint_that_does_not_fit_is_refused(constraint):
    with pytest.raises(InvalidInput, match=next(iter(constraint))):
        good_chain().constrained(**constraint)


@pytest.mark.parametrize("name", ["transitions", "start", "end"])
@pytest.mark.parametrize("value", [0.5, "no", np.nan])
def test_a_constraint_that_is_no_truth_value_is_refused(name, value):
    shape = (K, K) if name == "transitions" else (K,)
    with pytest.raises(InvalidInput, match=name):
        good_chain().constrained(**{name: np.full(shape, value)})


# Spans.


@pytest.mark.parametrize(
    ("start", "labels"),
    [
        (T, [0]),
        (-T - 1, [0]),
        (10**30, [0]),
        (T - 1, [0, 0]),
        (0, [0] * (T + 1)),
        (0, [K]),
        (0, [-1]),
        (0, [{0, K}]),
        (0, [0.5]),
        (0, ["a"]),
        (0, [None]),
        (0.5, [0]),
        ("0", [0]),
        (None, [0]),
        (0, 0),
        (0, None),
    ],
    ids=repr,
)
def test_a_span_that_does_not_fit_is_refused(start, labels):
    with pytest.raises(InvalidInput):
        good_chain().span_probability(start, labels)


# Samples.


@pytest.mark.parametrize("n", [-1, 2.5, "3", None, math.nan], ids=repr)
def test_a_bad_number_of_samples_is_refused(n):
    with pytest.raises(InvalidInput, match="n"):
        good_chain().sample(n, random_state=0)


@pytest.mark.parametrize("random_state", [-1, 2.5, "seed", object()], ids=["negative", "fraction", "text", "object"])
def test_a_bad_random_state_is_refused(random_state):
    with pytest.raises(InvalidInput, match="random_state"):
        good_chain().sample(2, random_state=random_state)


# Attributes of expected counts.


@pytest.mark.parametrize(
    "attributes",
    [
        np.zeros((T + 1, 2)),
        np.zeros(T),
        np.zeros((T, 2, 2)),
        np.full((T, 2), np.nan),
        np.full((T, 2), np.inf),
        "attributes",
    ],
    ids=["too long", "a vector", "three dimensions", "NaN", "infinite", "text"],
)
def test_bad_attributes_are_refused(attributes):
    with pytest.raises(InvalidInput, match="attributes"):
        good_chain().expected_counts(attributes)


# Every labelling forbidden.


def impossible_chain():
    unary = np.zeros((6, 2))
    unary[3] = -np.inf
    return tw.Chain(unary, np.zeros((2, 2)))


IMPOSSIBLE = {
    "argmax": lambda chain: chain.argmax(),
    "kbest by A*": lambda chain: chain.kbest(2, method="astar"),
    "kbest by Viterbi": lambda chain: chain.kbest(2, method="viterbi"),
    "marginals": lambda chain: chain.marginals(),
    "edge_marginals": lambda chain: chain.edge_marginals(),
    "entropy": lambda chain: chain.entropy(),
    "sample": lambda chain: chain.sample(2, random_state=0),
    "log_prob": lambda chain: chain.log_prob([0] * chain.n_positions),
    "span_probability": lambda chain: chain.span_probability(0, [0]),
    "expected_counts": lambda chain: chain.expected_counts(),
    "constrained": lambda chain: chain.constrained(start=[True] * chain.n_labels),
}
impossible = pytest.mark.parametrize("ask", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())


@impossible
def test_when_every_labelling_is_forbidden_the_error_says_where(ask):
    with pytest.raises(Unsatisfiable, match=r"\b3\b"):
        ask(impossible_chain())


@impossible
@fewer(6)
@given(scores=any_chains([forbidding(floats, 2)], max_labellings=300))
def test_the_error_names_the_first_position_that_cannot_be_reached(ask, scores):
    where = first_unreachable(*scores)
    if where is not None:
        last = len(scores.unary)
        with pytest.raises(
            Unsatisfiable, match=rf"\b{where}\b" if where < last else rf"\b{last - 1}\b|\bend\b|\blast\b"
        ):
            ask(tw.Chain(*scores))


def test_when_every_labelling_is_forbidden_the_log_partition_is_minus_infinity():
    assert impossible_chain().log_partition() == -math.inf


def test_when_every_labelling_is_forbidden_so_are_all_max_marginals():
    assert np.all(impossible_chain().max_marginals() == -math.inf)


def test_when_every_labelling_is_forbidden_so_is_each_score():
    assert impossible_chain().score([0] * 6) == -math.inf


def test_when_every_labelling_is_forbidden_forward_still_says_how_far_one_gets():
    assert np.isfinite(impossible_chain().forward()).any(axis=1).tolist() == [True] * 3 + [False] * 3


def test_when_every_labelling_is_forbidden_backward_still_says_from_where_one_arrives():
    assert np.isfinite(impossible_chain().backward()).any(axis=1).tolist() == [False] * 3 + [True] * 3


@pytest.mark.parametrize(
    ("constraint", "place"),
    [
        (dict(allowed=[None, None, [], None]), r"\b2\b"),
        (dict(fixed={1: 0}, allowed=[None, {1}, None, None]), r"\b1\b"),
        (dict(start=[False] * K), r"\b0\b|start"),
        (dict(end=[False] * K), r"\b3\b|end|last"),
        (dict(transitions=np.zeros((K, K), dtype=bool)), r"\b1\b"),
        (dict(transitions=np.array([[[1] * K] * K, [[0] * K] * K, [[1] * K] * K], dtype=bool)), r"\b2\b"),
    ],
    ids=["no candidates", "fixed against allowed", "no start", "no end", "no transitions", "no second step"],
)
def test_a_constraint_that_leaves_nothing_says_where(constraint, place):
    with pytest.raises(Unsatisfiable, match=place):
        good_chain().constrained(**constraint)


def test_log_prob_of_a_forbidden_labelling_is_minus_infinity():
    chain = tw.Chain([[0.0, -np.inf], [0.0, 0.0]], np.zeros((2, 2)))
    assert chain.score([1, 0]) == chain.log_prob([1, 0]) == -math.inf


# Batches.


@pytest.mark.parametrize(
    ("unary", "options"),
    [
        ([np.zeros((2, 2)), np.zeros((2, 3))], {}),
        ([np.zeros((2, 2)), np.zeros(2)], {}),
        ([np.zeros((2, 2)), "text"], {}),
        ([np.zeros((2, 2)), None], {}),
        (np.zeros((2, 2)), {}),
        (np.zeros((2, 3, 4)), {}),
        (np.zeros((2, 3, 2)), dict(lengths=[3])),
        (np.zeros((2, 3, 2)), dict(lengths=[3, 4])),
        (np.zeros((2, 3, 2)), dict(lengths=[3, -1])),
        (np.zeros((2, 3, 2)), dict(lengths=[3, 1.5])),
        (np.zeros((2, 3, 2)), dict(lengths=[[3, 3]])),
        (np.zeros((2, 3, 2)), dict(lengths="33")),
        (np.zeros((2, 3, 2)), dict(start=np.zeros(3))),
        (np.zeros((2, 3, 2)), dict(end=np.zeros((2, 2)))),
        (np.zeros((2, 3, 2)), dict(n_jobs=0)),
        (np.zeros((2, 3, 2)), dict(n_jobs="two")),
        (np.zeros((2, 3, 2)), dict(n_jobs=1.5)),
        (3.0, {}),
        (None, {}),
    ],
    ids=lambda value: (
        None if isinstance(value, dict) else str(np.shape(value) if isinstance(value, np.ndarray) else value)[:40]
    ),
)
def test_a_batch_that_does_not_fit_is_refused(unary, options):
    with pytest.raises(InvalidInput):
        tw.ChainBatch(unary, np.zeros((2, 2)), **options)


@pytest.mark.parametrize("transitions", [np.zeros((2, 3)), np.zeros((1, 2, 2)), np.zeros(2), np.zeros((0, 0)), None])
def test_transitions_that_do_not_fit_a_batch_are_refused(transitions):
    with pytest.raises(InvalidInput, match=r"transitions|label"):
        tw.ChainBatch([np.zeros((2, 2)), np.zeros((3, 2))], transitions)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.1e300])
def test_a_bad_value_in_a_batch_is_named_with_its_chain(value):
    unary = [np.zeros((2, 2)) for _ in range(5)]
    unary[3][1, 0] = value
    with pytest.raises(InvalidInput, match=r"(?s)unary.*\b3\b"):
        tw.ChainBatch(unary, np.zeros((2, 2)))


def test_a_bad_value_in_a_padded_batch_is_named_with_its_chain():
    unary = np.zeros((5, 2, 2))
    unary[3, 1, 0] = np.nan
    with pytest.raises(InvalidInput, match=r"(?s)unary.*\b3\b"):
        tw.ChainBatch(unary, np.zeros((2, 2)))


BATCH_MISUSE = {
    "too few labellings": lambda batch: batch.score([[0, 0]]),
    "a labelling too short": lambda batch: batch.score([[0, 0], [0, 0]]),
    "a label too high": lambda batch: batch.log_prob([[0, 0], [0, 0, 2]]),
    "labels that are floats": lambda batch: batch.score([[0.0, 0.0], [0, 0, 0]]),
    "labellings that are none": lambda batch: batch.score(None),
    "too many golds": lambda batch: batch.augmented([[0, 0], [0, 0, 0], [0]]),
    "a bad cost": lambda batch: batch.augmented([[0, 0], [0, 0, 0]], cost="edit"),
    "too few masks": lambda batch: batch.constrained(allowed=[None]),
    "a mask too short": lambda batch: batch.constrained(allowed=[None, np.ones((2, 2), dtype=bool)]),
    "a fixed label too high": lambda batch: batch.constrained(fixed=[None, {0: 2}]),
    "k of zero": lambda batch: batch.kbest(0),
    "an unknown method": lambda batch: batch.kbest(1, method="dijkstra"),
    "too few spans": lambda batch: batch.span_probability([0], [[0]]),
    "a span too long": lambda batch: batch.span_probability([0, 2], [[0], [0, 0]]),
    "a negative number of samples": lambda batch: batch.sample(-1),
    "attributes too long": lambda batch: batch.expected_counts([np.zeros((2, 1)), np.zeros((4, 1))]),
}


@pytest.mark.parametrize("misuse", BATCH_MISUSE.values(), ids=BATCH_MISUSE.keys())
def test_misuse_of_a_batch_is_refused(misuse):
    with pytest.raises(InvalidInput):
        misuse(tw.ChainBatch([np.zeros((2, 2)), np.zeros((3, 2))], np.zeros((2, 2))))


# Chains of higher order, and of segments.


@pytest.mark.parametrize(
    ("unary", "ngram"),
    [
        (np.zeros((4, 2)), np.zeros(2)),
        (np.zeros((4, 2)), np.float64(0.0)),
        (np.zeros((4, 2)), np.zeros((2, 3))),
        (np.zeros((4, 2)), np.zeros((3, 3, 3))),
        (np.zeros((4, 2)), np.zeros((2, 2, 3))),
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros((4, 0)), np.zeros((0, 0))),
        (np.zeros((4, 2)), np.full((2, 2, 2), np.nan)),
        (np.full((4, 2), np.inf), np.zeros((2, 2, 2))),
        (np.zeros((4, 2)), "ngram"),
        (None, np.zeros((2, 2))),
    ],
)
def test_an_ngram_chain_that_does_not_fit_is_refused(unary, ngram):
    with pytest.raises(InvalidInput):
        tw.NGramChain(unary, ngram)


NGRAM_MISUSE = {
    "k of zero": lambda chain: chain.kbest(0),
    "labels too short": lambda chain: chain.score([0]),
    "a label too high": lambda chain: chain.log_prob([0, 0, 2, 0]),
    "a gold too long": lambda chain: chain.augmented([0] * 5),
    "a span too long": lambda chain: chain.span_probability(3, [0, 0]),
    "a mask of another shape": lambda chain: chain.constrained(ngram=np.ones((2, 2), dtype=bool)),
    "a fixed position too high": lambda chain: chain.constrained(fixed={4: 0}),
    "nothing allowed": lambda chain: chain.constrained(ngram=np.zeros((2, 2, 2), dtype=bool)),
}


@pytest.mark.parametrize("misuse", NGRAM_MISUSE.values(), ids=NGRAM_MISUSE.keys())
def test_misuse_of_an_ngram_chain_is_refused(misuse):
    with pytest.raises(InvalidInput):
        misuse(tw.NGramChain(np.zeros((4, 2)), np.zeros((2, 2, 2))))


@pytest.mark.parametrize(
    ("segment_scores", "transitions", "options"),
    [
        (np.zeros((4, 2)), np.zeros((2, 2)), {}),
        (np.zeros((4, 0, 2)), np.zeros((2, 2)), {}),
        (np.zeros((4, 3, 0)), np.zeros((0, 0)), {}),
        (np.zeros((4, 3, 2)), np.zeros((3, 3)), {}),
        (np.zeros((4, 3, 2)), np.zeros((2, 3)), {}),
        (np.zeros((4, 3, 2)), np.zeros((3, 2, 2)), {}),
        (np.zeros((4, 3, 2)), np.zeros((2, 2)), dict(start=np.zeros(3))),
        (np.zeros((4, 3, 2)), np.zeros((2, 2)), dict(end=np.zeros(1))),
        (np.full((4, 3, 2), np.nan), np.zeros((2, 2)), {}),
        (np.full((4, 3, 2), np.inf), np.zeros((2, 2)), {}),
        (np.zeros((4, 3, 2)), np.full((2, 2), np.nan), {}),
        (None, np.zeros((2, 2)), {}),
    ],
)
def test_a_segment_chain_that_does_not_fit_is_refused(segment_scores, transitions, options):
    with pytest.raises(InvalidInput):
        tw.SegmentChain(segment_scores, transitions, **options)


SEGMENT_MISUSE = {
    "k of zero": lambda chain: chain.kbest(0),
    "a gold too short": lambda chain: chain.augmented([0]),
    "a gold label too high": lambda chain: chain.augmented([0, 0, 0, 2]),
    "a mask of another shape": lambda chain: chain.constrained(allowed=np.ones((3, 2), dtype=bool)),
    "transitions of another shape": lambda chain: chain.constrained(transitions=np.ones((3, 3), dtype=bool)),
    "nothing allowed": lambda chain: chain.constrained(allowed=np.zeros((4, 2), dtype=bool)),
    "a segment past the end": lambda chain: chain.segment_probability(3, 5, 0),
    "a segment before the start": lambda chain: chain.segment_probability(-5, 1, 0),
    "an empty segment": lambda chain: chain.segment_probability(2, 2, 0),
    "a segment label too high": lambda chain: chain.segment_probability(0, 1, 2),
    "a negative number of samples": lambda chain: chain.sample(-1),
}


@pytest.mark.parametrize("misuse", SEGMENT_MISUSE.values(), ids=SEGMENT_MISUSE.keys())
def test_misuse_of_a_segment_chain_is_refused(misuse):
    with pytest.raises(InvalidInput):
        misuse(tw.SegmentChain(np.zeros((4, 3, 2)), np.zeros((2, 2))))


# Anything at all: whatever is passed, the answer is an answer or an InvalidInput.

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.lists(st.integers(-2, 5) | st.floats(), max_size=5),
    st.lists(st.lists(st.floats() | st.integers(), max_size=3), max_size=5),
    st.dictionaries(st.integers(-1, 5), st.integers(-2, 5), max_size=3),
    st.sampled_from([object(), int, np.zeros((4, 3)), np.zeros((3, 3), dtype=bool), np.zeros((4, 3), dtype=complex)]),
    st.sampled_from([np.datetime64("2020-01-01"), np.array(["a"]), np.zeros((0, 3)), np.zeros((2, 2, 2, 2))]),
)


@given(unary=anything, transitions=anything, start=anything, end=anything)
def test_a_chain_of_anything_answers_or_refuses(unary, transitions, start, end):
    for change in [dict(unary=unary), dict(transitions=transitions), dict(start=start), dict(end=end)]:
        with contextlib.suppress(InvalidInput):
            tw.Chain(**good_scores() | change).log_partition()


METHODS_OF_ANYTHING = {
    "kbest": lambda chain, x: chain.kbest(x) if not isinstance(x, int) or x < 1000 else None,
    "kbest method": lambda chain, x: chain.kbest(2, method=x),
    "score": lambda chain, x: chain.score(x),
    "log_prob": lambda chain, x: chain.log_prob(x),
    "augmented": lambda chain, x: chain.augmented(x),
    "augmented cost": lambda chain, x: chain.augmented([0] * T, cost=x),
    "augmented scale": lambda chain, x: chain.augmented([0] * T, scale=x),
    "allowed": lambda chain, x: chain.constrained(allowed=x),
    "transitions": lambda chain, x: chain.constrained(transitions=x),
    "start": lambda chain, x: chain.constrained(start=x),
    "end": lambda chain, x: chain.constrained(end=x),
    "fixed": lambda chain, x: chain.constrained(fixed=x),
    "span start": lambda chain, x: chain.span_probability(x, [0]),
    "span labels": lambda chain, x: chain.span_probability(0, x),
    "sample": lambda chain, x: chain.sample(x, random_state=0) if not isinstance(x, int) or x < 1000 else None,
    "random_state": lambda chain, x: chain.sample(1, random_state=x),
    "attributes": lambda chain, x: chain.expected_counts(x),
}


@pytest.mark.parametrize("ask", METHODS_OF_ANYTHING.values(), ids=METHODS_OF_ANYTHING.keys())
@fewer(2)
@given(x=anything)
def test_a_question_about_anything_is_answered_or_refused(ask, x):
    with contextlib.suppress(InvalidInput):
        ask(good_chain(), x)


# Long input.


def test_a_million_positions_are_no_trouble():
    chain = tw.Chain(np.zeros((1_000_000, 2)), np.zeros((2, 2)))
    np.testing.assert_allclose(chain.log_partition(), 1_000_000 * math.log(2), rtol=1e-10)
    assert chain.argmax().labels.shape == (1_000_000,)
    assert not chain.argmax().labels.any()


def test_a_thousand_labels_are_no_trouble():
    chain = tw.Chain(np.zeros((3, 1000)), np.zeros((1000, 1000)))
    np.testing.assert_allclose(chain.log_partition(), 3 * math.log(1000), rtol=1e-12)


def test_more_labellings_than_a_counter_holds_are_no_trouble():
    chain = tw.Chain(np.zeros((5000, 50)), np.zeros((50, 50)))
    assert len(chain.kbest(30)) == 30


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: _triple().argmax("cut"), r'method="cut" needs tables of one or two variables, but factors\[0\]'),
        (lambda: _with_chain().argmax("bp"), r'method="bp" .* factors\[0\]'),
        (lambda: tw.FactorGraph([[0, 1]]).marginals(iterations=3), "iterations: exact sums have no settings"),
        (lambda: tw.FactorGraph([[0, 1]]).log_partition(iterations=3), "iterations: exact sums have no settings"),
        (lambda: tw.FactorGraph([[0, 1]]).argmax("trw", time_limit=np.nan), "time_limit"),
        (lambda: tw.FactorGraph([[1e300, 1]]).augmented([1], scale=1e308), "unary with the cost"),
        (lambda: tw.FactorGraph([[0, 1]]).augmented([1], cost="x"), r"\(2, 2\)"),
        (lambda: tw.Matching([[1e300]]).augmented([(0, 0)], [[1.0]], scale=1e308), "scores with the cost"),
        (lambda: tw.Alignment([[1e300]]).augmented([(0, 0)], [[1.0]], scale=1e308), "scores with the cost"),
        (lambda: tw.Grid(np.zeros((2, 2, 2)), None), "pairwise must be a number.* found None"),
        (lambda: tw.Matching(np.broadcast_to(0.0, (10**6, 10**6))), "8000 GB"),
        (lambda: tw.Alignment(np.broadcast_to(0.0, (10**6, 10**6))), "1000 GB"),
    ],
)
def test_refusals_of_graphs_and_pairs_say_what_is_wrong(call, said):
    with pytest.raises(tw.InvalidInput, match=said):
        call()


def test_sums_of_alignments_that_do_not_fit_are_refused_before_memory_is_taken(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 1000)  # a machine with a megabyte
    alignment = tw.Alignment(np.zeros((110, 110)))
    assert alignment.argmax().score == 0.0
    for question in ("log_partition", "marginals", "max_marginals", "sample", "entropy"):
        with pytest.raises(tw.InvalidInput, match=r"alignments of 110 and 110 needs 0\.0 GiB"):
            getattr(alignment, question)()
    with pytest.raises(tw.InvalidInput, match="Align pieces"):
        alignment.kbest(2)


def test_any_number_of_iterations_and_of_different_samples():
    assert tw.FactorGraph([[0.0, 1.0]]).argmax("trw", iterations=10**30, time_limit=np.inf).exact
    assert len(tw.FactorGraph(np.zeros((3, 2))).sample(10**12, random_state=0, replace=False)) == 8
    assert len(tw.Matching(np.zeros((2, 3))).sample(10**12, random_state=0, replace=False)) == 6


def _triple():
    return tw.FactorGraph(np.zeros((3, 2)), factors=[tw.factors.Table([0, 1, 2], np.zeros((2, 2, 2)))])


def _with_chain():
    chain = tw.Chain(np.zeros((2, 2)), np.zeros((2, 2)))
    return tw.FactorGraph(np.zeros((2, 2)), factors=[tw.factors.Structure(chain, [0, 1])])
