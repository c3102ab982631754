"""McNemar's test: the thesis's own table, counting one token at a time, SciPy's tails."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trelliswork.errors import InvalidInput
from trelliswork.evaluation import McNemar, McNemarTable, mcnemar

# Mančev 2015, Table 3.2: single best against k best; chunking, Spanish NER, and the statistic of both added up.
TABLE_3_2 = {
    "avgPerc": ((199265, 1071, 1180, 10041), (251189, 688, 960, 11754), 37.230),
    "avgPA": ((200281, 451, 548, 10277), (252092, 131, 234, 12134), 29.326),
    "avgRPA": ((200301, 431, 537, 10288), (252088, 135, 216, 12152), 26.512),
    "avgMIRA": ((200223, 477, 481, 10376), (252178, 122, 162, 12129), 1.559),
    "avgSDM": ((200655, 85, 101, 10716), (251929, 237, 248, 12177), 1.086),
}

counts = st.integers(0, 500)
tables = st.builds(McNemar, counts, counts, counts, counts)
triples = st.lists(st.lists(st.tuples(*[st.sampled_from("ABC")] * 3), max_size=6), max_size=5)


@pytest.mark.parametrize("name", TABLE_3_2)
def test_the_statistics_of_table_3_2(name):
    chunking, ner, published = TABLE_3_2[name]
    total = sum([McNemar(*chunking), McNemar(*ner)])
    assert total.statistic == pytest.approx(published, abs=5e-4)
    assert total.significant() == (published > 3.84)


@given(triples)
def test_counts_equal_counting_one_by_one(drawn):
    gold, first, second = ([[token[i] for token in sequence] for sequence in drawn] for i in range(3))
    tokens = [token for sequence in drawn for token in sequence]
    test = mcnemar(gold, first, second)
    assert test.both_right == sum(a == x and a == z for a, x, z in tokens)
    assert test.only_first == sum(a == x and a != z for a, x, z in tokens)
    assert test.only_second == sum(a != x and a == z for a, x, z in tokens)
    assert test.n_tokens == len(tokens)


@given(tables)
def test_p_values_are_those_of_the_distributions(test):
    differing = test.only_first + test.only_second
    assert test.p_value == pytest.approx(stats.chi2.sf(test.statistic, 1), rel=1e-9)
    exact = stats.binomtest(test.only_first, differing, 0.5).pvalue if differing else 1.0
    assert test.exact_p_value == pytest.approx(exact, rel=1e-9)


@given(tables, tables)
def test_tables_add_up_cell_by_cell(one, other):
    assert (one + other).as_dict()["only_first"] == one.only_first + other.only_first
    assert (one + other).n_tokens == one.n_tokens + other.n_tokens


@given(tables)
def test_exchanging_the_two_changes_nothing_but_the_sides(test):
    turned = McNemar(test.both_right, test.only_second, test.only_first, test.both_wrong)
    assert (turned.statistic, turned.p_value, turned.exact_p_value) == (
        test.statistic,
        test.p_value,
        test.exact_p_value,
    )


def test_two_that_never_differ_are_not_different():
    test = McNemar(10, 0, 0, 5)
    assert (test.statistic, test.p_value, test.exact_p_value, test.significant()) == (0.0, 1.0, 1.0, False)


def test_tokens_without_gold_are_left_out():
    assert mcnemar([["A", None]], [["A", "A"]], [["B", "A"]]) == McNemar(0, 1, 0, 0)


def test_the_table_says_what_the_tests_say():
    table = McNemarTable({name: {"chunking": McNemar(*a), "NER": McNemar(*b)} for name, (a, b, _) in TABLE_3_2.items()})
    lines = str(table).splitlines()
    assert lines[0].split() == ["chunking", "NER", "Total", "statistic", "p-value"]
    assert lines[3].split()[:8] == ["avgPA", "200281", "451", "252092", "131", "452373", "582", "29.326"]
    assert lines[4].split() == ["548", "10277", "234", "12134", "782", "22411"]
    assert len({len(line) for line in lines[1::2]}) == 1
    assert json.loads(json.dumps(table.as_dict()))["avgSDM"]["Total"]["only_second"] == 349


@pytest.mark.parametrize("tests", [{}, {"a": {}}, {"a": {"x": McNemar(1, 1, 1, 1)}, "b": {"y": McNemar(1, 1, 1, 1)}}])
def test_tables_with_different_data_sets_are_refused(tests):
    with pytest.raises(InvalidInput, match="the same data sets"):
        McNemarTable(tests)


def test_predictions_of_other_lengths_are_refused_by_name():
    with pytest.raises(InvalidInput, match=r"second\[1\] has 1 labels but y_true\[1\] has 2"):
        mcnemar([["A"], ["A", "B"]], [["A"], ["A", "B"]], [["A"], ["A"]])
    with pytest.raises(InvalidInput, match="first has 1 sequences"):
        mcnemar([["A"], ["A"]], [["A"]], [["A"], ["A"]])


@pytest.mark.parametrize("level", [0.0, 1.0, -1, math.nan])
def test_a_level_is_a_probability(level):
    with pytest.raises(InvalidInput, match="level"):
        McNemar(1, 2, 3, 4).significant(level)
