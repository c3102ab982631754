"""The integer program of a chain finds what Viterbi finds, and under more constraints what enumeration finds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.optimize import LinearConstraint, linear_sum_assignment

import trelliswork as tw
from reference.chains import every_chain_labelling
from reference.strategies import CLOSE, any_chains, chains, costs, fewer, labellings
from trelliswork.errors import InvalidInput, TrellisworkError, Unsatisfiable

INF = math.inf
SMALL = {"max_positions": 5, "max_labels": 3}


@pytest.fixture
def chain():
    rng = np.random.default_rng(0)
    return tw.Chain(rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3))


def best_of(table, program, scores):
    """The program's answer, after checking it against the table of every labelling."""
    if not table.satisfiable:
        with pytest.raises(Unsatisfiable):
            program.argmax()
        return None
    best = program.argmax()
    assert best.labels.dtype == np.int32
    np.testing.assert_allclose(best.score, table.argmax()[1], **CLOSE)
    np.testing.assert_allclose(table.score(best.labels), best.score, **CLOSE)
    return best


# Chains.


@fewer(3)
@given(any_chains(min_positions=0, max_labellings=700))
def test_the_program_of_a_chain_has_its_best_score(scores):
    best_of(every_chain_labelling(*scores), tw.Program.from_chain(tw.Chain(*scores)), scores)


@fewer(3)
@given(chains(**SMALL), st.sampled_from([1.0, -1.0, 0.3]), st.data())
def test_costs_come_with_the_augmented_chain(scores, scale, data):
    gold = data.draw(labellings(*scores.unary.shape))
    cost = data.draw(costs(scores.unary.shape[1]))
    program = tw.Program.from_chain(tw.Chain(*scores).augmented(gold, cost, scale))
    best_of(every_chain_labelling(*scores).augmented(np.array(gold), cost, scale), program, scores)


@fewer(3)
@given(any_chains(**SMALL), st.integers(0, 2), st.integers(0, 6), st.sampled_from(["at_most", "at_least", "exactly"]))
def test_counting_a_label_equals_enumeration(scores, label, n, bound):
    label %= scores.unary.shape[1]
    table = every_chain_labelling(*scores)
    count = (table.labellings == label).sum(axis=1)
    keep = {"at_most": count <= n, "at_least": count >= n, "exactly": count == n}[bound]
    program = getattr(tw.Program.from_chain(tw.Chain(*scores)), bound)(label, n)
    best_of(table.where(keep), program, scores)


@fewer(3)
@given(chains(**SMALL), st.data())
def test_any_linear_constraint_on_the_labels_equals_enumeration(scores, data):
    n_positions = len(scores.unary)
    whole = st.integers(-3, 3)
    coefficients = data.draw(hnp.arrays(float, (data.draw(st.integers(1, 3)), *scores.unary.shape), elements=whole))
    lower = data.draw(hnp.arrays(float, len(coefficients), elements=st.integers(-6, 2)))
    upper = lower + data.draw(hnp.arrays(float, len(coefficients), elements=st.integers(0, 6)))
    table = every_chain_labelling(*scores)
    sums = coefficients[:, np.arange(n_positions), table.labellings].sum(axis=2)  # (rows, labellings)
    keep = ((sums >= lower[:, np.newaxis]) & (sums <= upper[:, np.newaxis])).all(axis=0)
    program = tw.Program.from_chain(tw.Chain(*scores)).subject_to(coefficients, lower, upper)
    best_of(table.where(keep), program, scores)


def test_label_a_at_most_once_by_hand():
    chain = tw.Chain(unary=[[2.0, 0.0], [3.0, 0.0], [1.0, 0.0]], transitions=[[0.0, 0.0], [0.0, 0.0]])
    best = tw.Program.from_chain(chain).at_most(label=0, n=1).argmax()
    assert best.labels.tolist() == [1, 0, 1]
    assert best.score == 3.0


def test_constraints_add_up_and_leave_the_first_program_as_it_was(chain):
    program = tw.Program.from_chain(chain)
    tight = program.at_most(0, 1).exactly(1, 2)
    count = np.bincount(tight.argmax().labels, minlength=3)
    assert count[0] <= 1
    assert count[1] == 2
    assert program.n_constraints == tight.n_constraints - 2
    np.testing.assert_allclose(program.argmax().score, chain.argmax().score, **CLOSE)


def test_the_score_is_the_one_that_the_chain_gives(chain):
    best = tw.Program.from_chain(chain).at_most(0, 1).argmax()
    assert best.score == chain.score(best.labels)


def test_variables_and_constraints_are_those_of_the_book(chain):
    """000, 17.6: K variables at the first position and K^2 at the others; T rows of kind 2, (T - 1) K of kind 3."""
    program = tw.Program.from_chain(chain)
    assert program.n_variables == 3 + 4 * 9
    assert program.n_constraints == 5 + 4 * 3
    assert repr(program) == "Program(39 variables, 17 constraints)"


def test_forbidden_entries_become_bounds_and_never_coefficients():
    chain = tw.Chain(unary=[[0.0, -INF], [-INF, 1.0]], transitions=[[0.0, -1.0], [-INF, 0.0]], start=[0.0, -INF])
    program = tw.Program.from_chain(chain)
    assert np.isfinite(program.objective).all()
    assert program.argmax().labels.tolist() == [0, 1]


def test_transitions_can_be_counted_with_a_constraint_on_the_variables(chain):
    """At most one change of label: the variables are K for the first position and then (T - 1, K, K)."""
    changes = np.concatenate([np.zeros(3), np.tile(1.0 - np.eye(3), (4, 1, 1)).ravel()])
    best = tw.Program.from_chain(chain).subject_to(LinearConstraint(changes, -INF, 1)).argmax()
    table = every_chain_labelling(chain.unary, chain.transitions, chain.start, chain.end)
    keep = (table.labellings[:, 1:] != table.labellings[:, :-1]).sum(axis=1) <= 1
    np.testing.assert_allclose(best.score, table.where(keep).argmax()[1], **CLOSE)


def test_the_label_indicators_may_be_named_by_position_and_label(chain):
    first = chain.argmax().labels[0]
    best = tw.Program.from_chain(chain).subject_to({(0, int(first)): 1}, upper=0).argmax()
    table = every_chain_labelling(chain.unary, chain.transitions, chain.start, chain.end)
    np.testing.assert_allclose(best.score, table.where(table.labellings[:, 0] != first).argmax()[1], **CLOSE)


def test_sparse_rows_are_the_same_as_dense_ones(chain):
    row = np.zeros((5, 3))
    row[:, 2] = 1.0
    program = tw.Program.from_chain(chain)
    dense, thin = program.subject_to(row, 1, 1), program.subject_to(sparse.csr_array(row.reshape(1, -1)), 1, 1)
    assert dense.argmax().labels.tolist() == thin.argmax().labels.tolist()


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9, 1e290])
def test_scores_that_differ_in_the_tenth_digit_are_told_apart(factor):
    unary = factor * np.array([[1.0, 1.0 + 1e-10], [1.0 + 1e-10, 1.0], [1.0, 1.0 + 1e-10]])
    program = tw.Program.from_chain(tw.Chain(unary, np.zeros((2, 2))))
    assert program.argmax().labels.tolist() == [1, 0, 1]
    assert program.at_most(1, 1).at_least(0, 2).argmax().score == pytest.approx(factor * (3.0 + 2e-10), rel=1e-15)


@pytest.mark.parametrize("largest", [5e-324, 1e-300, 1e300])
def test_scores_may_be_as_small_or_large_as_doubles_are(largest):
    program = tw.Program.from_chain(tw.Chain([[0.0, largest], [largest, 0.0]], np.zeros((2, 2))))
    assert program.argmax().labels.tolist() == [1, 0]


def test_a_chain_of_one_label_and_one_position():
    best = tw.Program.from_chain(tw.Chain([[2.0]], [[0.0]], [1.0], [0.5])).argmax()
    assert (best.labels.tolist(), best.score) == ([0], 3.5)


def test_a_chain_without_positions_has_the_empty_labelling():
    program = tw.Program.from_chain(tw.Chain(np.zeros((0, 2)), np.zeros((2, 2))))
    assert program.argmax().labels.shape == (0,)
    assert program.at_most(0, 0).argmax().score == 0.0
    with pytest.raises(Unsatisfiable):
        program.at_least(0, 1).argmax()


# When nothing is left.


def test_an_impossible_count_names_the_constraint_that_is_too_many(chain):
    program = tw.Program.from_chain(chain).at_most(0, 1).at_least(1, 5).at_most(2, 4).at_least(2, 1)
    with pytest.raises(Unsatisfiable, match=r"constraint 4 of the 4 that were added, at_least\(label=2, n=1\)"):
        program.argmax()


def test_a_chain_that_forbids_everything_says_at_which_position():
    unary = np.zeros((4, 2))
    unary[2] = -INF
    with pytest.raises(Unsatisfiable, match="2"):
        tw.Program.from_chain(tw.Chain(unary, np.zeros((2, 2)))).at_most(0, 4).argmax()


def test_a_solver_that_gives_up_is_an_error_with_its_message():
    rng = np.random.default_rng(1)
    program = tw.Program.from_chain(tw.Chain(rng.normal(size=(40, 10)), rng.normal(size=(10, 10))))
    with pytest.raises(TrellisworkError, match=r"(?i)time limit") as raised:
        program.argmax(time_limit=1e-9)
    assert not isinstance(raised.value, InvalidInput)


def test_an_unbounded_program_is_an_error_with_the_message_of_the_solver():
    with pytest.raises(TrellisworkError, match=r"(?i)unbounded"):
        tw.Program([1.0], upper=INF).argmax()


# Programs of other kinds.


@given(st.lists(st.tuples(st.integers(-5, 9), st.integers(0, 9)), min_size=1, max_size=7), st.integers(0, 30))
@fewer(3)
def test_a_knapsack_equals_enumeration(things, capacity):
    values, weights = np.array(things, dtype=float).T
    choices = np.array(list(itertools.product([0, 1], repeat=len(things))))
    expected = (choices @ values)[choices @ weights <= capacity].max()
    best = tw.Program(values, [LinearConstraint(weights, ub=capacity)]).argmax()
    assert best.score == expected
    assert best.values @ weights <= capacity
    assert set(best.values) <= {0.0, 1.0}


def test_an_assignment_is_a_program_over_a_square_of_variables():
    scores = np.random.default_rng(3).normal(size=(5, 5))
    program = tw.Program(scores).subject_to(np.eye(5)[:, :, np.newaxis] * np.ones(5), 1, 1)
    for column in range(5):
        program = program.exactly(column, 1)
    rows, columns = linear_sum_assignment(scores, maximize=True)
    best = program.argmax()
    assert best.values.shape == (5, 5)
    np.testing.assert_allclose(best.score, scores[rows, columns].sum(), **CLOSE)


def test_constraints_can_be_sparse_triples_and_the_readout_ones_own():
    program = tw.Program(
        [1.0, 2.0, 3.0],
        [(sparse.csr_array([[1, 1, 1]]), 0, 2), LinearConstraint([0, 1, 1], -INF, 1)],
        readout=lambda values: np.flatnonzero(values).tolist(),
    )
    assert program.argmax() == [0, 2]


def test_variables_need_be_neither_binary_nor_whole():
    """Given the upper bound 2.5 as it is, HiGHS answered with 2 and 2.125."""
    program = tw.Program([1.0, 1.0], upper=[2.5, 2.5], integer=[True, False]).subject_to([1, 1], upper=4.25)
    assert program.argmax().values.tolist() == [2.0, 2.25]


def test_minus_infinity_in_the_objective_fixes_the_variable_at_zero():
    best = tw.Program([-INF, -1.0, 2.0]).subject_to([1, 1, 1], lower=2).argmax()
    assert (best.values.tolist(), best.score) == ([0.0, 1.0, 1.0], 1.0)


def test_the_same_program_gives_the_same_solution_every_time():
    program = tw.Program(np.zeros((4, 4))).exactly(0, 2)
    assert program.argmax().values.tolist() == program.argmax().values.tolist()


def test_the_objective_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        tw.Program([1.0]).objective[0] = 2.0


# Bad input.


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: p.at_most(3, 1), "label must be from 0 to 2, found 3"),
        (lambda p: p.at_most(-1, 1), "label must be at least 0, found -1"),
        (lambda p: p.at_least(0, -1), "n must be at least 0, found -1"),
        (lambda p: p.exactly(0, 1.5), "n must be an integer"),
        (lambda p: p.subject_to(np.ones((2, 2)), 0), r"shape \(5, 3\) of this program.*found \(2, 2\)"),
        (lambda p: p.subject_to(np.ones((5, 3))), "One must be finite"),
        (lambda p: p.subject_to(np.ones((5, 3)), 2, 1), "lower=2.0 and upper=1.0"),
        (lambda p: p.subject_to(np.full((5, 3), math.nan), 0), "coefficients has NaN"),
        (lambda p: p.subject_to(np.full((5, 3), -INF), 0), "must be finite"),
        (lambda p: p.subject_to(np.ones((5, 3)), math.nan), "lower has NaN"),
        (lambda p: p.subject_to(np.ones((2, 5, 3)), [0, 0, 0]), r"lower must be one number or have the shape \(2,\)"),
        (lambda p: p.subject_to({(0, 3): 1}, 0), r"key \(0, 3\), which is no index"),
        (lambda p: p.subject_to({"a": 1}, 0), "key 'a', which is no index"),
        (lambda p: p.subject_to({(0, 0): "a"}, 0), "coefficients must hold real numbers"),
        (lambda p: p.subject_to(LinearConstraint([1, 1], 0, 1)), "2 coefficients for 39 variables"),
        (lambda p: tw.Program([math.nan]), r"objective has NaN at \[0\]"),
        (lambda p: tw.Program([0.0, INF]), r"objective has \+inf at \[1\]"),
        (lambda p: tw.Program(["a"]), "objective must hold real numbers"),
        (lambda p: tw.Program([1.0], lower=2.0), "leave no value for the variable"),
        (lambda p: tw.Program([-INF], lower=1.0), "bounds leave out zero"),
        (lambda p: tw.Program([1.0, 2.0], upper=[1, 1, 1]), "upper must be one number or have the shape"),
        (lambda p: tw.Program([1.0, 2.0], ["x"]), "LinearConstraint or"),
        (lambda p: tw.Program([1.0, 2.0], names=["a"]), "found 1 names"),
        (lambda p: tw.Program([1.0, 2.0], names=["a", "a"]), "1 of them different"),
        (lambda p: tw.Program([1.0], names=["a"]).subject_to({"b": 1}, 0), "'b', which is not among the names"),
        (lambda p: tw.Program([1.0, 2.0]).at_most(0, 1), "Use subject_to"),
    ],
)
def test_bad_input_is_refused_and_named(chain, make, said):
    with pytest.raises(InvalidInput, match=said):
        make(tw.Program.from_chain(chain))
