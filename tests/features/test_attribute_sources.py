"""Attributes read out of Python objects and matrices: the right ones, or an error that says where; never a crash."""

import gc
import math
import threading
from collections import Counter, OrderedDict, UserDict
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from reference.token_attributes import attributes_of
from trelliswork._core import AttributeSource, MatrixSource, SiteExamples, hash_bytes

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
number = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.integers(-1000, 1000) | st.booleans()
leaf = text | number | st.lists(text, max_size=3) | st.frozensets(text, max_size=3) | st.tuples(text)
dicts = st.recursive(
    st.dictionaries(text, leaf, max_size=4), lambda inner: st.dictionaries(text, leaf | inner, max_size=3), max_leaves=8
)
lists = st.lists(text | st.tuples(text, number), max_size=6)
tokens = dicts | lists | lists.map(tuple) | st.frozensets(text, max_size=4)
sequences = st.lists(st.lists(tokens, max_size=4), max_size=4)


def read(source):
    """All that a source says: (name, key, value) triples by sequence and token."""
    answer = []
    for i in range(source.n_sequences):
        assert source.channels == ["token"]
        ((starts, keys, values),) = source.attributes(i, i + 1)
        assert len(starts) == source.length(i) + 1
        values = np.ones(len(keys)) if values is None else values
        answer.append(
            [
                [
                    (source.name(i, t, n - starts[t]), int(keys[n]), float(values[n]))
                    for n in range(starts[t], starts[t + 1])
                ]
                for t in range(source.length(i))
            ]
        )
    return answer


def expected(X):
    return [
        [[(name, hash_bytes(name), float(np.float32(value))) for name, value in attributes_of(token)] for token in x]
        for x in X
    ]


class TestAttributeSource:
    @given(sequences)
    def test_names_keys_and_values_are_those_of_the_plain_reading(self, X):
        assert read(AttributeSource(X, names=True)) == expected(X)

    @given(st.lists(st.lists(dicts | st.lists(text, max_size=5), max_size=3), max_size=3))
    def test_names_and_values_are_those_of_python_crfsuite(self, X):
        crfsuite = pytest.importorskip("pycrfsuite")
        X = [[_without_nul(token) for token in x] for x in X]
        for x, answer in zip(X, read(AttributeSource(X, names=True)), strict=True):
            items = [{name: pytest.approx(value) for name, _, value in token} for token in answer]
            assert crfsuite.ItemSequence(x).items() == items

    @given(sequences, st.integers(0, 4), st.integers(0, 4))
    def test_a_range_of_sequences_is_its_sequences_one_after_the_other(self, X, first, last):
        source = AttributeSource(X)
        first, last = sorted((min(first, len(X)), min(last, len(X))))
        ((starts, keys, values),) = source.attributes(first, last)
        single = [source.attributes(i, i + 1)[0] for i in range(first, last)]
        np.testing.assert_array_equal(keys, np.concatenate([np.empty(0, np.uint64), *(part[1] for part in single)]))
        sizes = np.concatenate([np.empty(0, np.uint32), *(np.diff(part[0]) for part in single)])
        np.testing.assert_array_equal(np.diff(starts), sizes)
        if values is not None and len(keys):
            np.testing.assert_array_equal(values, np.concatenate([part[2] for part in single]))

    def test_values_are_absent_when_all_are_one(self):
        ((_, _, values),) = AttributeSource([[{"a": "b", "c": True, "d": 1.0}, ["x", ("y", 1)]]]).attributes(0, 1)
        assert values is None

    def test_tuples_generators_and_object_arrays_are_sequences(self):
        plain = read(AttributeSource([[["a"], ["b", "c"]]], names=True))
        array = np.empty(2, dtype=object)
        array[:] = [["a"], ["b", "c"]]
        for x in ((["a"], ["b", "c"]), iter([["a"], ["b", "c"]]), array, [iter("a"), iter("bc")]):
            assert read(AttributeSource((x,), names=True)) == plain

    @pytest.mark.parametrize("make", [OrderedDict, Counter, UserDict, MappingProxyType, dict])
    def test_any_mapping_is_read(self, make):
        assert read(AttributeSource([[make({"a": 2, "b": 3})]], names=True)) == expected([[{"a": 2, "b": 3}]])

    @pytest.mark.parametrize("value", [np.float32(2.5), np.int64(2), np.True_, Decimal("2.5"), Fraction(5, 2)])
    def test_any_number_is_a_value(self, value):
        for token in ({"a": value}, [("a", value)]):
            assert read(AttributeSource([[token]], names=True))[0][0][0][::2] == ("a", float(value))

    def test_bytes_are_read_as_utf8(self):
        plain = read(AttributeSource([[["ä", "b:ö"]]], names=True))
        assert read(AttributeSource([[["ä".encode(), b"b:\xc3\xb6"]]], names=True)) == plain
        assert read(AttributeSource([[{b"b": "ö".encode()}]], names=True))[0][0][0] == plain[0][0][1]

    def test_a_zero_character_does_not_end_a_name(self):
        assert read(AttributeSource([[["a\0b"]]], names=True))[0][0][0][:2] == ("a\0b", hash_bytes("a\0b"))

    def test_names_are_refused_when_they_were_not_kept(self):
        with pytest.raises(ValueError, match="names of the attributes were not kept"):
            AttributeSource([[["a"]]]).name(0, 0, 0)

    @pytest.mark.parametrize("place", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    def test_what_is_not_there_is_refused(self, place):
        with pytest.raises(ValueError, match="there is no such"):
            AttributeSource([[["a"]]], names=True).name(*place)


class TestRefusals:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (5, r"X is of type int; expected a list of sequences"),
            ("ab", r"X is of type str"),
            ([5], r"X\[0\] is of type int; expected a sequence of tokens"),
            (["word"], r"X\[0\] is of type str"),
            ([{"a": 1}], r"X\[0\] is of type dict"),
            ([[["a"]], [["b"], "word"]], r"X\[1\]\[1\] is of type str; expected the attributes of a token"),
            ([[5]], r"X\[0\]\[0\] is of type int"),
            ([[None]], r"X\[0\]\[0\] is of type NoneType"),
            ([[["a", 5]]], r"X\[0\]\[0\]\[1\] is of type int; expected a string"),
            ([[["a", ("b", 1, 2)]]], r"X\[0\]\[0\]\[1\] is of type tuple"),
            ([[[(1, "a")]]], r"X\[0\]\[0\]\[0\] is of type tuple"),
            ([[{1: "a"}]], r"X\[0\]\[0\] has a key of type int"),
            ([[{"a": None}]], r"X\[0\]\[0\], attribute 'a' is of type NoneType"),
            ([[{"a": {"b": object()}}]], r"X\[0\]\[0\], attribute 'a:b' is of type object"),
            ([[{"a": ["b", 1]}]], r"X\[0\]\[0\], attribute 'a': item 1 is of type int"),
            ([[{"a": np.ones(3)}]], r"X\[0\]\[0\], attribute 'a' is of type ndarray"),
            ([[[("a", "b")]]], r"X\[0\]\[0\], attribute 'a' is of type str"),
            ([[{"a": math.nan}]], r"X\[0\]\[0\], attribute 'a' is NaN; expected a finite number"),
            ([[[("a", math.inf)]]], r"X\[0\]\[0\], attribute 'a' is infinite"),
            ([[{"a": 1e39}]], r"X\[0\]\[0\], attribute 'a' is too large"),
            ([[{"a": 10**400}]], r"X\[0\]\[0\], attribute 'a' is infinite"),
            ([[{"a": np.float32("nan")}]], r"X\[0\]\[0\], attribute 'a' is NaN"),
            ([[["\ud800"]]], r"X\[0\]\[0\] has text that is not valid Unicode"),
            ([[{"a": "\udfff"}]], r"X\[0\]\[0\] has text that is not valid Unicode"),
            ([[{"\ud800": 1.0}]], r"X\[0\]\[0\] has text that is not valid Unicode"),
            ([[[b"\xff"]]], r"X\[0\]\[0\] has text that is not valid Unicode"),
        ],
    )
    def test_the_message_names_the_place(self, X, message):
        with pytest.raises(ValueError, match=message):
            AttributeSource(X)

    def test_the_place_counts_from_where_the_caller_says(self):
        with pytest.raises(ValueError, match=r"X_dev\[8\]\[0\] is of type int"):
            AttributeSource([[["a"]], [5]], where="X_dev", first=7)

    def test_a_long_name_is_cut_between_characters(self):
        with pytest.raises(ValueError, match=r"attribute 'ä+\.\.\.' is NaN"):
            AttributeSource([[{"ä" * 500: math.nan}]])

    def test_dicts_that_contain_themselves(self):
        token = {}
        token["again"] = token
        with pytest.raises(ValueError, match="nested more than 16 deep"):
            AttributeSource([[token]])
        token["first"] = np.float32(1)  # now read from copies
        with pytest.raises(ValueError, match="nested more than 16 deep"):
            AttributeSource([[token]])

    def test_deep_nesting(self):
        token = {"a": 1.0}
        for _ in range(100_000):
            token = {"a": token}
        with pytest.raises(ValueError, match="nested more than 16 deep"):
            AttributeSource([[token]])
        while token.get("a") != 1.0:  # unwound by hand: the interpreter frees nested dicts by recursion
            token = token["a"]

    def test_an_error_of_the_callers_object_passes_through(self):
        class Broken:
            def __iter__(self):
                raise RuntimeError("mine")

        class BrokenNumber:
            def __float__(self):
                raise RuntimeError("mine")

        for X in (Broken(), [Broken()], [[Broken()]], [[{"a": BrokenNumber()}]], [[[("a", BrokenNumber())]]]):
            with pytest.raises(RuntimeError, match="mine"):
                AttributeSource(X)


class TestObjectsThatChangeWhatIsRead:
    """An object may run any code when it is asked something; the lists it changes are being read."""

    def names_when(self, change):
        """Read three tokens; asking for the first value runs `change` on all the containers that are being read."""
        token_list, token_dict, x, X = [], {}, [], []

        class Value:
            def __float__(self):
                for container in (token_list, token_dict, x, X):
                    change(container)
                return 2.0

        token_list.extend(["a", ("b", Value()), "c"])
        token_dict.update({"a": "b", "c": Value(), "d": "e"})
        x.extend([token_list, token_dict, ["last"]])
        X.append(x)
        return [[name for name, *_ in token] for token in read(AttributeSource(X, names=True))[0]]

    def test_clearing_empties_only_the_token_that_was_not_begun(self):
        assert self.names_when(lambda container: container.clear()) == [["a", "b", "c"], [], ["last"]]

    def test_growing_changes_only_the_token_that_was_not_begun(self):
        def grow(container):
            if isinstance(container, dict):
                container.update((str(n), "v") for n in range(1000))
            else:
                container.extend([["new"]] * 1000)
            gc.collect()

        first, second, third = self.names_when(grow)
        assert first == ["a", "b", "c"]
        assert second == ["a:b", "c", "d:e", *(f"{n}:v" for n in range(1000))]
        assert third == ["last"]

    def test_a_mapping_whose_items_are_not_pairs(self):
        class Odd(UserDict):
            def items(self):
                return [1, 2]

        with pytest.raises(ValueError, match="must give \\(name, value\\) pairs"):
            AttributeSource([[Odd(a=1)]])

    def test_another_thread_changes_a_list(self):
        token = ["a"] * 50
        stop = threading.Event()

        def change():
            while not stop.is_set():
                token.append("b")
                token.clear()

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(200):
                assert AttributeSource([[token] * 20]).lengths().tolist() == [20]
        finally:
            stop.set()
            thread.join()


matrices = st.integers(0, 5).flatmap(
    lambda n_columns: st.lists(
        st.lists(
            st.lists(st.sampled_from([0.0, 1.0, -2.5, 0.1]), min_size=n_columns, max_size=n_columns), max_size=4
        ).map(lambda rows: np.array(rows, dtype=float).reshape(len(rows), n_columns)),
        min_size=1,
        max_size=4,
    )
)


class TestMatrixSource:
    @given(matrices, st.sampled_from([np.float32, np.float64]))
    def test_dense_rows_have_an_attribute_for_every_column_that_is_not_zero(self, matrices, dtype):
        rows, offsets = stacked(matrices, dtype)
        assert read(MatrixSource(rows, offsets)) == expected_rows(matrices)

    @given(matrices, st.sampled_from([np.float32, np.float64]), st.sampled_from([np.int32, np.int64]))
    def test_sparse_rows_say_the_same(self, matrices, dtype, index):
        rows, offsets = stacked(matrices, dtype)
        csr = scipy.sparse.csr_array(rows)
        indptr, indices = csr.indptr.astype(index), csr.indices.astype(index)
        assert read(MatrixSource(indptr, indices, csr.data, csr.shape[1], offsets)) == expected_rows(matrices)

    def test_stored_zeros_give_no_attribute(self):
        source = MatrixSource(np.array([0, 2]), np.array([0, 3]), np.array([0.0, 2.0]), 4, np.array([0, 1]))
        assert read(source) == [[[("x[3]", hash_bytes("x[3]"), 2.0)]]]

    def test_there_may_be_very_many_columns(self):
        source = MatrixSource(np.array([0, 1]), np.array([2**32 - 2]), np.array([3.0]), 2**32 - 1, np.array([0, 1]))
        assert read(source) == [[[("x[4294967294]", hash_bytes("x[4294967294]"), 3.0)]]]

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
    def test_what_is_not_finite_is_refused_with_its_place(self, value):
        rows = np.ones((3, 2))
        rows[2, 1] = value
        with pytest.raises(ValueError, match=r"\[1\]\[0\]\[1\] is "):
            MatrixSource(rows, np.array([0, 2, 3]))

    @pytest.mark.parametrize("offsets", [[], [0], [1, 3], [0, 4], [0, 5, 3], [0, -1, 3], [0, 2]])
    def test_offsets_must_cover_the_rows(self, offsets):
        with pytest.raises(ValueError, match="offsets must rise from 0"):
            MatrixSource(np.ones((3, 2)), np.array(offsets, dtype=np.int64))

    @pytest.mark.parametrize(
        ("indptr", "indices", "n_columns"),
        [([0, 2], [0], 1), ([1, 1], [0], 1), ([0, 1, 0], [0], 1), ([0, 1], [5], 2), ([0, 1], [-1], 2), ([], [], 1)],
    )
    def test_a_broken_sparse_matrix_is_refused(self, indptr, indices, n_columns):
        indptr, indices = np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int64)
        with pytest.raises(ValueError, match=r"indptr must rise|out of range|offsets must"):
            MatrixSource(indptr, indices, np.ones(len(indices)), n_columns, np.array([0, max(len(indptr) - 1, 0)]))


def stacked(matrices, dtype):
    offsets = np.cumsum([0, *map(len, matrices)], dtype=np.int64)
    return np.concatenate(matrices).astype(dtype), offsets


def expected_rows(matrices):
    return [
        [[(f"x[{j}]", hash_bytes(f"x[{j}]"), float(np.float32(v))) for j, v in enumerate(row) if v] for row in matrix]
        for matrix in matrices
    ]


def _without_nul(token):  # python-crfsuite ends a name at a zero character, and reads no tuples or frozensets
    if isinstance(token, str):
        return token.replace("\0", "0")
    if isinstance(token, dict):
        return {_without_nul(key): _without_nul(value) for key, value in token.items()}
    if isinstance(token, (list, tuple, frozenset)):
        return [_without_nul(item) for item in token]
    return token


def test_examples_that_took_the_attributes_of_some_sites_leave_others_out():
    X = [[["a", "b"], ["b", "c"]], [["c"], ["d", "a"]]]
    source = AttributeSource(X, True)
    some = SiteExamples()
    some.read_only(source, np.array([0, 3]))
    some.read(source)
    expected = SiteExamples()
    expected.read(AttributeSource([[["a", "b"], ["b"]], [[], ["d", "a"]]], True))
    assert (some.n_sequences, some.n_sites) == (expected.n_sequences, expected.n_sites)
    assert some.checksum() == expected.checksum()
    with pytest.raises(ValueError, match="sites must rise"):
        some.read_only(source, np.array([3, 0]))
    with pytest.raises(ValueError, match="sites must rise"):
        some.read_only(source, np.array([4]))
