"""The trained model: scores are sums of weights, whatever form the weights have; answers are those of the chain."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference.models import key, make_tensors, random_weights, slow_scores, source
from trelliswork import _core
from trelliswork.models import quantize

CLOSE = dict(rtol=1e-12, atol=1e-12)
LABELS = [1, 2, 3, 5, 8, 9, 16, 22, 24, 33, 40, 50, 64, 65, 300]


def random_sequences(rng, n_attributes, lengths, prefix="a", valued=False):
    """Sequences of tokens with some known attributes and some unknown ones."""

    def token():
        names = [f"{prefix}{i}" for i in rng.integers(0, n_attributes + 3, size=rng.integers(0, 9))]
        return [(name, float(np.float32(rng.normal()))) for name in names] if valued else names

    return [[token() for _ in range(length)] for length in lengths]


def uniform(rng, shape):
    return rng.normal(size=shape).astype(np.float32)


@st.composite
def problems(draw, labels=LABELS):
    """A generator, the number of labels, weights by attribute, and sequences of tokens."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_labels = draw(st.sampled_from(labels))
    n_attributes = draw(st.integers(0, 40))
    weights = random_weights(rng, n_attributes, n_labels)
    lengths = draw(st.lists(st.integers(0, 6), max_size=5))
    return rng, n_labels, weights, random_sequences(rng, n_attributes, lengths, valued=draw(st.booleans()))


def large_problem(n_labels=22, n_attributes=500, n_sequences=400, pairs=False, seed=7):
    """Enough tokens for several blocks and threads."""
    rng = np.random.default_rng(seed)
    weights = random_weights(rng, n_attributes, n_labels)
    lengths = rng.integers(0, 30, size=n_sequences)
    sequences = random_sequences(rng, n_attributes, lengths)
    tensors = make_tensors(weights, uniform(rng, (n_labels, n_labels)))
    if not pairs:
        return tensors, source(sequences), n_labels
    pair_weights = random_weights(rng, 60, n_labels**2, "p")
    tensors = make_tensors(pair_weights, uniform(rng, (n_labels, n_labels)), channel="pair", codes=np.uint16) | tensors
    return tensors, source(sequences, random_sequences(rng, 60, lengths, "p")), n_labels


# ---- scores ----------------------------------------------------------------------------------------------------------


@given(problems(), st.sampled_from(["now", "never"]))
def test_scores_are_sums_of_value_times_weight(problem, expand):
    rng, n_labels, weights, sequences = problem
    transitions = uniform(rng, (n_labels, n_labels))
    model = _core.Model(make_tensors(weights, transitions), n_labels, expand=expand)
    unary, moves = model.scores(source(sequences), 1)
    np.testing.assert_allclose(unary, slow_scores(weights, n_labels, sequences), **CLOSE)
    np.testing.assert_array_equal(moves, transitions.astype(float))


@pytest.mark.parametrize("known", [1.0, 0.5, 0.1, 0.0])
def test_expanded_rows_give_the_same_bits_however_many_attributes_are_known(known):
    rng = np.random.default_rng(int(10 * known))
    weights = random_weights(rng, 400, 22)
    names = np.array([*weights, *(f"unknown{i}" for i in range(5000))])
    chances = np.r_[np.full(400, known / 400), np.full(5000, (1 - known) / 5000)]
    tokens = [rng.choice(names, size=rng.integers(0, 9), p=chances).tolist() for _ in range(600)]
    tensors = make_tensors(weights, np.zeros((22, 22)))
    plain, expanded = (_core.Model(tensors, 22, expand=expand) for expand in ("never", "now"))
    scores = [model.scores(source([tokens]), 1)[0] for model in (plain, expanded)]
    assert scores[0].any() == (known > 0)
    np.testing.assert_array_equal(*scores)


@given(problems())
def test_expanded_rows_give_the_same_bits(problem):
    _, n_labels, weights, sequences = problem
    tensors = make_tensors(weights, np.zeros((n_labels, n_labels)))
    plain, expanded = (_core.Model(tensors, n_labels, expand=expand) for expand in ("never", "now"))
    given_source = source(sequences)
    np.testing.assert_array_equal(plain.scores(given_source)[0], expanded.scores(given_source)[0])


@given(problems(labels=[1, 2, 5, 9]), st.sampled_from(["now", "never"]))
def test_pair_attributes_add_to_the_transition_into_their_token(problem, expand):
    rng, n_labels, weights, sequences = problem
    pair_weights = random_weights(rng, 12, n_labels**2, "p")
    pairs = random_sequences(rng, 12, list(map(len, sequences)), "p")
    transitions = uniform(rng, (n_labels, n_labels))
    tensors = make_tensors(weights, transitions)
    tensors |= make_tensors(pair_weights, transitions, channel="pair", codes=np.uint16)
    model = _core.Model(tensors, n_labels, expand=expand)
    _, moves = model.scores(source(sequences, pairs), 1)
    expected = slow_scores(pair_weights, n_labels**2, pairs).reshape(-1, n_labels, n_labels) + transitions
    firsts = np.cumsum([0, *map(len, sequences)])[:-1][[len(s) > 0 for s in sequences]]
    expected[firsts] = 0.0
    np.testing.assert_allclose(moves, expected, **CLOSE)


@given(problems(labels=[2, 22, 300]), st.sampled_from(["now", "never"]), st.sampled_from(["float16", "int8"]))
def test_rounded_weights_are_used_as_they_are_rounded(problem, expand, precision):
    _, n_labels, weights, sequences = problem
    tensors = quantize(make_tensors(weights, np.zeros((n_labels, n_labels))), precision)
    values = np.asarray(tensors["channel.token.weights"]).astype(np.float32)
    if precision == "int8":
        values = values * tensors["channel.token.scales"][tensors["channel.token.codes"]]
    stored = iter(values)
    rounded = {name: {label: next(stored) for label in row} for name, row in weights.items()}
    unary, _ = _core.Model(tensors, n_labels, expand=expand).scores(source(sequences), 1)
    np.testing.assert_allclose(unary, slow_scores(rounded, n_labels, sequences), **CLOSE)


@given(problems(labels=[2, 22]), st.sampled_from(["now", "never"]), st.integers(1, 6))
def test_hashed_models_take_the_number_from_the_key(problem, expand, bits):
    rng, n_labels, _, sequences = problem
    rows = [
        {int(c): np.float32(rng.normal()) for c in rng.choice(n_labels, rng.integers(0, n_labels + 1), replace=False)}
        for _ in range(2**bits)
    ]
    tensors = make_tensors(dict(enumerate(rows)), np.zeros((n_labels, n_labels)), keys=range(len(rows)), names=False)
    del tensors["channel.token.keys"], tensors["channel.token.slots"]
    unary, _ = _core.Model(tensors, n_labels, bits, expand).scores(source(sequences), 1)
    names = {a if isinstance(a, str) else a[0] for sequence in sequences for token in sequence for a in token}
    by_name = {name: rows[key(name) >> (64 - bits)] for name in names}
    np.testing.assert_allclose(unary, slow_scores(by_name, n_labels, sequences), **CLOSE)


# ---- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [False, True])
def test_answers_are_those_of_the_chain(pairs):
    tensors, given_source, n_labels = large_problem(n_labels=7, n_sequences=60, pairs=pairs)
    model = _core.Model(tensors, n_labels)
    unary, moves = model.scores(given_source)
    labels, marginals = model.argmax(given_source), model.marginals(given_source)
    begin = 0
    for i in range(given_source.n_sequences):
        end = begin + given_source.length(i)
        if end > begin:
            chain = tw.Chain(unary[begin:end], moves[begin + 1 : end] if pairs else moves)
            np.testing.assert_array_equal(labels[begin:end], chain.argmax().labels)
            np.testing.assert_allclose(marginals[begin:end], chain.marginals(), rtol=1e-9, atol=1e-12)
        begin = end


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("expand", ["now", "never"])
def test_answers_do_not_depend_on_the_number_of_threads(pairs, expand):
    tensors, given_source, n_labels = large_problem(pairs=pairs)
    model = _core.Model(tensors, n_labels, expand=expand)
    for question in (model.argmax, model.marginals, lambda s, n: model.scores(s, n)[0]):
        answers = [question(given_source, n_jobs) for n_jobs in (1, 2, 3, 8)]
        for answer in answers[1:]:
            np.testing.assert_array_equal(answer, answers[0])


def test_many_threads_tag_at_once_with_one_model():
    tensors, given_source, n_labels = large_problem()
    expected = _core.Model(tensors, n_labels).argmax(given_source)
    model = _core.Model(tensors, n_labels)  # not expanded yet: the first to ask does that
    found = [None] * 8
    start = threading.Barrier(len(found))

    def tag(i):
        start.wait()
        found[i] = model.argmax(given_source)

    threads = [threading.Thread(target=tag, args=(i,)) for i in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for labels in found:
        np.testing.assert_array_equal(labels, expected)


def test_constraints_hold_in_every_answer():
    rng = np.random.default_rng(3)
    weights = random_weights(rng, 10, 3)
    tensors = make_tensors(weights, uniform(rng, (3, 3)))
    tensors["allowed.transitions"] = np.array([1, 0, 1, 1, 1, 0, 0, 1, 1], dtype=np.uint8)
    tensors["allowed.start"] = np.array([1, 1, 0], dtype=np.uint8)
    tensors["allowed.end"] = np.array([0, 1, 1], dtype=np.uint8)
    model = _core.Model(tensors, 3)
    given_source = source(random_sequences(rng, 10, [5] * 30))
    labels, marginals = model.argmax(given_source).reshape(30, 5), model.marginals(given_source).reshape(30, 5, 3)
    allowed = tensors["allowed.transitions"].reshape(3, 3)
    assert allowed[labels[:, :-1], labels[:, 1:]].all()
    assert not marginals[:, 0, 2].any()
    assert not marginals[:, -1, 0].any()
    np.testing.assert_array_equal(model.start, [0, 0, -np.inf])
    np.testing.assert_array_equal(model.end, [-np.inf, 0, 0])


def test_the_first_sequence_without_any_labelling_is_named():
    tensors = make_tensors({}, np.zeros((2, 2)))
    tensors["allowed.start"] = np.array([1, 0], dtype=np.uint8)
    tensors["allowed.end"] = np.array([0, 1], dtype=np.uint8)
    model = _core.Model(tensors, 2)
    good, bad = [[], []], [[]]  # one token cannot begin with the one label and end with the other
    with pytest.raises(ValueError, match=r"sequence 2: .* forbid every labelling"):
        model.argmax(source([good, good, bad, good, bad]))
    with pytest.raises(ValueError, match="sequence 900: "):
        model.marginals(source([good] * 900 + [bad] * 2000), 4)


# ---- attributes ------------------------------------------------------------------------------------------------------


def test_known_attributes_are_counted():
    model = _core.Model(make_tensors({"a": {0: 1.0}, "b": {1: 1.0}}, np.zeros((2, 2))), 2)
    assert model.known(source([[["a", "x"], []], [["b", "b", "y"]]])) == (3, 5)


def test_contributions_add_up_to_the_scores():
    rng = np.random.default_rng(5)
    weights = random_weights(rng, 30, 4)
    sequences = random_sequences(rng, 30, [3, 4], valued=True)
    model = _core.Model(make_tensors(weights, np.zeros((4, 4))), 4)
    tokens, places, numbers, labels, values = model.contributions(source(sequences), 1)
    total = np.zeros((4, 4))
    np.add.at(total, (tokens, labels), values)
    np.testing.assert_allclose(total, slow_scores(weights, 4, sequences[1:]), **CLOSE)
    names = [sequences[1][t][p][0] for t, p in zip(tokens, places, strict=True)]
    assert names == [model.name(int(number)) for number in numbers]


def test_names_are_text_or_none():
    tensors = make_tensors({"é": {0: 1.0}, "": {0: 1.0}}, np.zeros((1, 1)))
    model = _core.Model(tensors, 1)
    assert [model.name(0), model.name(1)] == ["é", ""]
    with pytest.raises(ValueError, match="no such attribute"):
        model.name(2)
    del tensors["channel.token.names.text"], tensors["channel.token.names.ends"]
    assert _core.Model(tensors, 1).name(0) is None
    tensors["channel.token.names.text"] = np.array([0xFF, 0x41], dtype=np.uint8)  # no UTF-8
    tensors["channel.token.names.ends"] = np.array([1, 2], dtype=np.uint32)
    assert _core.Model(tensors, 1).name(0) == "\ufffd"


# ---- what does not fit is refused ------------------------------------------------------------------------------------

SOUND = make_tensors({"a": {0: 1.0, 1: 2.0}, "b": {1: 1.0}}, np.zeros((2, 2)))
WRONG = {
    "missing": ("channel.token.starts", None),
    "types": ("channel.token.starts", np.array([0, 2, 3], dtype=np.int32)),
    "other types": ("channel.token.starts", np.array([0, 2, 3], dtype=np.uint64)),
    "starts do not begin at 0": ("channel.token.starts", np.array([1, 2, 3], dtype=np.uint32)),
    "starts fall": ("channel.token.starts", np.array([0, 3, 2], dtype=np.uint32)),
    "starts beyond the weights": ("channel.token.starts", np.array([0, 2, 4], dtype=np.uint32)),
    "no starts": ("channel.token.starts", np.array([], dtype=np.uint32)),
    "a label out of range": ("channel.token.codes", np.array([0, 2, 1], dtype=np.uint8)),
    "labels of another length": ("channel.token.codes", np.array([0, 1], dtype=np.uint8)),
    "NaN": ("channel.token.weights", np.array([0, np.nan, 1], dtype=np.float32)),
    "infinity": ("channel.token.weights", np.array([0, np.inf, 1], dtype=np.float32)),
    "half infinity": ("channel.token.weights", np.array([0, np.inf, 1], dtype=np.float16)),
    "int8 without scales": ("channel.token.weights", np.array([0, 1, 2], dtype=np.int8)),
    "weights of a type": ("channel.token.weights", np.array([0, 1, 2], dtype=np.uint64)),
    "double infinity": ("channel.token.weights", np.array([0, np.inf, 1], dtype=np.float64)),
    "a slot out of range": ("channel.token.slots", np.array([0, 1, 2, 0xFFFFFFFF], dtype=np.uint32)),
    "a full table": ("channel.token.slots", np.array([0, 1, 0, 1], dtype=np.uint32)),
    "a table of another size": ("channel.token.slots", np.full(8, 0xFFFFFFFF, dtype=np.uint32)),
    "a table of no power of two": ("channel.token.keys", np.zeros(3, dtype=np.uint64)),
    "transitions of another size": ("channel.transitions.weights", np.zeros(3, dtype=np.float32)),
    "NaN transitions": ("channel.transitions.weights", np.full(4, np.nan, dtype=np.float32)),
    "names beyond the text": ("channel.token.names.ends", np.array([1, 9], dtype=np.uint32)),
    "names that fall": ("channel.token.names.ends", np.array([2, 1], dtype=np.uint32)),
    "too few names": ("channel.token.names.ends", np.array([2], dtype=np.uint32)),
    "allowed of another size": ("allowed.start", np.zeros(3, dtype=np.uint8)),
    "pairs without a table": ("channel.pair.starts", np.array([0], dtype=np.uint32)),
}


@pytest.mark.parametrize("what", WRONG)
def test_tensors_that_do_not_fit_are_refused(what):
    name, tensor = WRONG[what]
    tensors = SOUND | {name: tensor}
    if tensor is None:
        del tensors[name]
    with pytest.raises(ValueError, match="tensor '"):
        _core.Model(tensors, 2)


def test_the_number_of_labels_must_fit():
    for n_labels in (0, 1, 3, 2**40, 2**63):
        with pytest.raises(ValueError, match=r"tensor '|labels"):
            _core.Model(SOUND, n_labels)


def test_memory_is_kept_as_long_as_the_model_needs_it():
    tensors = {name: bytearray(memoryview(tensor).cast("B")) for name, tensor in SOUND.items()}
    views = {name: memoryview(tensors[name]).cast(memoryview(SOUND[name]).format) for name in SOUND}
    model = _core.Model(views, 2)
    del views
    with pytest.raises(BufferError):
        tensors["channel.token.keys"].clear()
    np.testing.assert_array_equal(model.scores(source([[["a", "b"]]]))[0], [[1.0, 3.0]])
    del model
    tensors["channel.token.keys"].clear()


def test_tensors_need_not_be_aligned():
    views = {}
    for name, tensor in SOUND.items():
        raw = memoryview(tensor)
        moved = bytearray(raw.nbytes + 1)
        moved[1:] = raw.cast("B")
        views[name] = memoryview(moved)[1:].cast(raw.format)
    np.testing.assert_array_equal(_core.Model(views, 2).scores(source([[["a", "b"]]]))[0], [[1.0, 3.0]])


def test_keys_that_are_there_twice_or_out_of_reach_change_nothing_but_themselves():
    """Two places hold the same key, one is not where a search comes by: expanded or not, the answer is the same."""
    keys = np.zeros(8, dtype=np.uint64)
    slots = np.full(8, 0xFFFFFFFF, dtype=np.uint32)
    a, b = key("a"), key("b")
    home = a >> 61
    keys[home], slots[home] = a, 0
    keys[(home + 1) % 8], slots[(home + 1) % 8] = a, 1
    lost = ((b >> 61) + 3) % 8
    if slots[lost] == 0xFFFFFFFF:
        keys[lost], slots[lost] = b, 1
    tensors = SOUND | {"channel.token.keys": keys, "channel.token.slots": slots}
    given_source = source([[["a"], ["b"], ["a", "b"]]])
    plain, expanded = (_core.Model(tensors, 2, expand=expand).scores(given_source)[0] for expand in ("never", "now"))
    np.testing.assert_array_equal(plain, expanded)
    np.testing.assert_array_equal(plain[0], [1.0, 2.0])
