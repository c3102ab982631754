"""The program of every structure: its best and k best are the structure's own, and with constraints the filtered list.

The judge is the list of all outputs, which other tests hold to brute force; indicators of outputs are written anew.
"""

import contextlib
import itertools
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import trelliswork as tw
from trelliswork.errors import InvalidInput, TrellisworkError, Unsatisfiable

INF = math.inf
ALL = 100_000


def scores(rng, *shape):
    """Random numbers, or small whole ones so that outputs tie, some of them forbidden."""
    found = rng.normal(size=shape) if rng.random() < 0.7 else rng.integers(-2, 3, shape).astype(float)
    if rng.random() < 0.4:
        found[rng.random(shape) < 0.1] = -INF
    return found


def chain(rng, **_):
    T, K = rng.integers(0, 5), rng.integers(1, 4)
    steps = (K, K) if rng.random() < 0.5 else (max(T - 1, 0), K, K)
    return tw.Chain(scores(rng, T, K), scores(rng, *steps), rng.normal(size=K), rng.normal(size=K))


def ngrams(rng):
    return tw.NGramChain(scores(rng, rng.integers(0, 5), 2), scores(rng, 2, 2, 2))


def automaton(rng):
    rule = tw.Automaton.at_most(3, 1, 2) & tw.Automaton.only_after(3, 2, 0)
    return tw.AutomatonChain(scores(rng, rng.integers(0, 5), 3), rule, scores(rng, len(rule.arcs)))


def segments(rng):
    return tw.SegmentChain(scores(rng, rng.integers(0, 5), 2, 2), scores(rng, 2, 2), rng.normal(size=2))


def tree(rng, labels=False, **options):
    n = rng.integers(0, 5)
    more = {"labels": scores(rng, n + 1, n + 1, 2)} if labels else {}
    more |= {name: rng.normal(size=(n + 1,) * 3) for name in options.pop("second", ())}
    return tw.DependencyTree(scores(rng, n + 1, n + 1), **more, **options)


def spanning(rng):
    n = rng.integers(1, 6)
    table = scores(rng, n, n)
    made = tw.SpanningTree(np.triu(table, 1) + np.triu(table, 1).T)
    if rng.random() < 0.5 and n > 2 and made.log_partition() > -INF:
        made = made.constrained(forced=[made.argmax().edges[0].tolist()])
    return made


def listed_edges(rng):
    edges = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3)]
    return tw.SpanningTree([(*pair, score) for pair, score in zip(edges, scores(rng, 5), strict=True)], n=4)


def brackets(rng):
    n = rng.integers(1, 5)
    made = tw.Bracketing(scores(rng, n, n + 1, 2))
    if rng.random() < 0.3 and n > 2 and (made.spans[0, 2] > -INF).any() and made.log_partition() > -INF:
        with contextlib.suppress(Unsatisfiable):
            made = made.constrained(forced=[(0, 2)])
    return made


def parses(rng):
    rules = [("S", ("N", "V")), ("V", ("v",)), ("V", ("V", "N")), ("N", ("n",)), ("N", ("N", "N")), ("S", ("S", "S"))]
    grammar = tw.Grammar([(*rule, float(score)) for rule, score in zip(rules, rng.normal(size=6), strict=True)])
    return grammar.parse(rng.normal(size=(rng.integers(1, 5), 2)))


MAKERS = {
    "chain": chain,
    "n-grams": ngrams,
    "automaton": automaton,
    "segments": segments,
    "tree": tree,
    "labelled tree": lambda rng: tree(rng, labels=True),
    "tree with many roots": lambda rng: tree(rng, single_root=False),
    "siblings": lambda rng: tree(rng, second=["siblings"]),
    "second order": lambda rng: tree(rng, labels=True, second=["siblings", "grandparents"]),
    "crossing": lambda rng: tree(rng, projective=False),
    "crossing, labelled": lambda rng: tree(rng, labels=True, projective=False),
    "crossing, many roots": lambda rng: tree(rng, projective=False, single_root=False),
    "spanning": spanning,
    "listed edges": listed_edges,
    "brackets": brackets,
    "parses": parses,
}


def indicators(structure, answer):
    """What a program calls the indicators of an output, written out."""
    if isinstance(structure, tw.SegmentChain):
        found = np.zeros(structure.segment_scores.shape)
        for begin, end, label in answer.segments:
            found[begin, end - begin - 1, label] = 1
        return found
    if isinstance(structure, tw.DependencyTree):
        found = np.zeros(structure.arcs.shape if structure.labels is None else structure.labels.shape)
        for m, h in enumerate(answer.heads):
            found[(h, m + 1) if structure.labels is None else (h, m + 1, answer.labels[m])] = 1
        return found
    if isinstance(structure, tw.SpanningTree):
        found = np.zeros((structure.n_nodes, structure.n_nodes))
        for i, j in answer.edges:
            found[i, j] = found[j, i] = 1
        return found
    if isinstance(structure, tw.Bracketing):
        found = np.zeros(structure.spans.shape)
        for span in answer.spans:
            found[span] = 1
        return found
    if isinstance(structure, tw.Parses):
        symbols = structure.grammar.symbols
        found = np.zeros((structure.n_words, structure.n_words + 1, len(symbols)))
        for node, begin, end in answer.tree.nodes():
            found[begin, end, symbols.index(node.label)] = 1
        return found
    found = np.zeros(structure.unary.shape)
    found[np.arange(len(found)), answer.labels] = 1
    return found


def instances(name, n, seed=0):
    for i in range(n):
        rng = np.random.default_rng([seed, i, *name.encode()])
        structure = MAKERS[name](rng)
        try:
            outputs = structure.kbest(ALL)
        except Unsatisfiable:
            outputs = []
        yield rng, structure, outputs


def in_shape(structure, outputs, program):
    """The indicators of all outputs, one row each."""
    return np.array([indicators(structure, y).ravel() for y in outputs]).reshape(len(outputs), math.prod(program.shape))


@pytest.mark.parametrize("method", ["lagrangian", "highs", "auto"])
@pytest.mark.parametrize("name", MAKERS)
def test_the_program_of_a_structure_has_its_best_outputs(name, method):
    for _, structure, outputs in instances(name, 6 if method == "highs" else 25):
        program = structure.program()
        if not outputs:
            with pytest.raises(Unsatisfiable):
                program.argmax(method=method)
            continue
        best = program.argmax(method=method)
        assert best.exact
        assert best.gap == 0.0
        assert type(best).__name__ == type(outputs[0]).__name__
        assert best.score == pytest.approx(outputs[0].score, abs=1e-9)
        got = program.kbest(7, method=method)
        assert [y.score for y in got] == pytest.approx([y.score for y in outputs[:7]], abs=1e-9)
        table = in_shape(structure, got, program)
        assert len({row.tobytes() for row in table}) == len(got) or isinstance(structure, tw.Parses)


@pytest.mark.parametrize("name", MAKERS)
def test_relaxed_the_bound_is_the_best_score_itself(name):
    """The polytopes are whole as long as no constraint is added; with one the bound lies above."""
    for rng, structure, outputs in instances(name, 8, seed=1):
        if not outputs:
            continue
        program = structure.program()
        found = program.relaxed()
        assert found.values.shape == program.shape
        assert found.bound == pytest.approx(outputs[0].score, abs=1e-6)
        if not found.values.size:
            continue
        tight = program.subject_to(rng.integers(0, 3, program.shape), upper=3)
        table = in_shape(structure, outputs, program)
        sums = table @ tight._added[-1].rows.matrix.toarray()[0]
        possible = [y.score for y, total in zip(outputs, sums, strict=True) if total <= 3]
        if possible:
            assert tight.relaxed().bound >= max(possible) - 1e-6


def random_constraints(rng, program):
    for _ in range(rng.integers(1, 4)):
        coefficients = rng.integers(-2, 3, program.shape) * (rng.random(program.shape) < 0.6)
        coefficients = np.abs(coefficients) if rng.random() < 0.4 else coefficients
        lower = float(rng.integers(-2, 3)) if rng.random() < 0.6 else -INF
        upper = lower + rng.integers(0, 3) if lower > -INF and rng.random() < 0.5 else INF
        if lower == -INF:
            upper = float(rng.integers(-1, 4))
        yield coefficients, lower, upper


@pytest.mark.parametrize("method", ["lagrangian", "highs", "auto"])
@pytest.mark.parametrize("name", MAKERS)
def test_constraints_leave_the_filtered_list(name, method):
    for rng, structure, outputs in instances(name, 5 if method == "highs" else 25, seed=2):
        program = structure.program()
        table = in_shape(structure, outputs, program)
        keep = np.ones(len(outputs), dtype=bool)
        for coefficients, lower, upper in random_constraints(rng, program):
            program = program.subject_to(coefficients, lower, upper)
            sums = table @ coefficients.ravel()
            keep &= (sums >= lower - 1e-9) & (sums <= upper + 1e-9)
        left = [y.score for y, kept in zip(outputs, keep, strict=True) if kept]
        if not left:
            with pytest.raises(Unsatisfiable):
                program.argmax(method=method)
            continue
        best = program.argmax(method=method)
        assert best.score == pytest.approx(left[0], abs=1e-9)
        assert best.exact
        assert [y.score for y in program.kbest(4, method=method)] == pytest.approx(left[:4], abs=1e-9)


# Shorthands.


def test_counts_along_the_last_axis_and_where():
    rng = np.random.default_rng(5)
    labels = rng.normal(size=(5, 5, 3))
    made = tw.DependencyTree(rng.normal(size=(5, 5)), labels)
    outputs = made.kbest(ALL)
    program = made.program()

    def best(keep):
        return max(y.score for y in outputs if keep(y))

    each = program.at_most("each", 2)
    assert each.argmax().score == pytest.approx(best(lambda y: np.bincount(y.labels, minlength=3).max() <= 2))
    both = program.at_most({0, 1}, 1)
    assert both.argmax().score == pytest.approx(best(lambda y: np.isin(y.labels, [0, 1]).sum() <= 1))
    modifiers = program.exactly(n=3, where=2)
    assert modifiers.argmax().score == pytest.approx(best(lambda y: (y.heads == 2).sum() == 3))
    subject = program.at_least(1, 2, where=np.s_[4, :])
    assert subject.argmax().score == pytest.approx(best(lambda y: ((y.heads == 4) & (y.labels == 1)).sum() >= 2))
    mask = np.zeros((5, 5, 3), dtype=bool)
    mask[:, 1:3] = True
    assert program.at_most(2, 0, where=mask).argmax().score == pytest.approx(best(lambda y: 2 not in y.labels[:2]))


def test_at_most_three_segments_of_a_label():
    rng = np.random.default_rng(6)
    made = tw.SegmentChain(rng.normal(size=(6, 2, 2)), rng.normal(size=(2, 2)))
    best = made.program().at_most(1, 1).argmax()
    expected = max(y.score for y in made.kbest(ALL) if (y.segments[:, 2] == 1).sum() <= 1)
    assert best.score == pytest.approx(expected)


# What an answer says of itself.


def test_an_answer_with_a_proof_is_still_the_structures_own():
    made = tw.Chain([[0.0, 1.0], [2.0, 0.0]], np.zeros((2, 2)))
    best = made.program().argmax()
    labels, score = best
    assert (labels.tolist(), score) == ([1, 0], 3.0)
    assert isinstance(best, tw.Labeling)
    again = pickle.loads(pickle.dumps(best))
    assert (again.exact, again.gap, again.score) == (True, 0.0, 3.0)
    assert best._replace(score=1.0).score == 1.0


def hard(n=40, seed=0):
    """Knapsacks side by side: no method proves an answer at once."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(10**6, 10**7, (5, n)).astype(float)
    return tw.Program(weights.sum(axis=0) + rng.integers(0, 10**5, n)).subject_to(
        weights, upper=weights.sum(axis=1) / 2
    )


def test_out_of_time_the_best_so_far_comes_with_its_gap():
    found = hard().argmax(time_limit=0.5)
    assert not found.exact
    assert 0.0 < found.gap < found.score
    assert set(found.values) <= {0.0, 1.0}


@pytest.mark.parametrize("method", ["auto", "lagrangian", "highs"])
def test_out_of_time_with_nothing_found_is_an_error(method):
    made = tw.Chain(np.random.default_rng(0).normal(size=(30, 5)), np.zeros((5, 5)))
    with pytest.raises(TrellisworkError, match="time limit of 1e-09 s"):
        made.program().at_most(0, 1).argmax(time_limit=1e-9, method=method)


def test_the_lagrangian_way_keeps_the_time_limit_and_says_how_far_it_came():
    """Equal scores and rows that no multiplier separates: it would branch for ages."""
    rng = np.random.default_rng(3)
    made = tw.Chain(rng.normal(size=(60, 2)), np.zeros((2, 2)))
    program = made.program().subject_to(rng.integers(1000, 9999, (4, 60, 2)), upper=320_000)
    found = program.argmax(time_limit=0.3, method="lagrangian")
    sure = program.argmax(time_limit=20.0)
    assert sure.score <= program.relaxed().bound + 1e-6
    assert found.score <= sure.score + sure.gap + 1e-9
    assert sure.score <= found.score + found.gap + 1e-9


# k best of programs of one's own.


def test_k_best_of_binary_variables_is_enumeration():
    rng = np.random.default_rng(2)
    values, weights = rng.normal(size=6), rng.integers(1, 9, 6)
    choices = np.array(list(itertools.product([0, 1], repeat=6)))
    expected = np.sort((choices @ values)[choices @ weights <= 15])[::-1]
    program = tw.Program(values).subject_to(weights, upper=15)
    found = program.kbest(len(expected) + 5)
    assert [y.score for y in found] == pytest.approx(expected.tolist())
    assert len({y.values.tobytes() for y in found}) == len(expected)


def test_k_best_needs_binary_variables():
    with pytest.raises(InvalidInput, match="kbest needs binary variables"):
        tw.Program([1.0, 2.0], upper=3.0).kbest(2)


def test_k_best_beside_variables_that_are_not_whole():
    program = tw.Program([1.0, 2.0, 1.0], integer=[True, True, False], upper=[1, 1, 2.5])
    assert [y.score for y in program.kbest(9)] == [5.5, 4.5, 3.5, 2.5]


# When there is no best one.


def test_the_message_names_constraints_that_clash_and_no_others():
    made = tw.Chain(np.zeros((4, 3)), np.zeros((3, 3)))
    program = made.program().at_most(2, 3).at_least(0, 3).at_most(1, 2).at_least(2, 2).at_most(0, 4)
    with pytest.raises(Unsatisfiable) as raised:
        program.argmax()
    assert str(raised.value) == (
        "No solution is left by constraint 4 of the 5 that were added, at_least(label=2, n=2), together with "
        "constraint 2, at_least(label=0, n=3). With any of them left out there is one: relax one."
    )
    with pytest.raises(Unsatisfiable, match=r"constraint 4 of the 5.*together with constraint 2"):
        program.argmax(method="highs")


def test_of_given_constraints_those_that_clash_are_named():
    rows = [LinearConstraint([1, 0, 0], 1, 1), LinearConstraint([0, 1, 1], 0, 1), LinearConstraint([1, 1, 0], -INF, 0)]
    with pytest.raises(Unsatisfiable, match=r"constraints 0 .* and 2 .* of those that the program was made with"):
        tw.Program([1.0, 1.0, 1.0], rows).argmax()


def test_an_unbounded_program_names_variables():
    with pytest.raises(TrellisworkError, match=r"unbounded.*\[\[1\]\]"):
        tw.Program([-1.0, 1.0], upper=[1.0, INF]).argmax()
    with pytest.raises(Unsatisfiable):  # not unbounded: nothing meets it
        tw.Program([1.0, 1.0], upper=INF).subject_to([[1, 1], [1, 1]], [1, -INF], [INF, 0]).argmax()


def test_a_forced_edge_counts_in_constraints():
    table = np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0.0]])
    made = tw.SpanningTree(table).constrained(forced=[(0, 1)])
    degree = made.program().at_most(n=1, where=0)
    assert degree.argmax().edges.tolist() == [[0, 1], [1, 2]]
    for method in ("lagrangian", "highs"):
        with pytest.raises(Unsatisfiable):
            made.program().at_most(n=0, where=0).argmax(method=method)


# Quiet, and bad input.


def test_nothing_is_printed_by_the_solver_either(capfd):
    tw.Program([1.0, 2.0]).subject_to([1, 1], upper=1).argmax()
    hard(20).argmax(time_limit=0.2)
    for program in (tw.Program([1.0], upper=INF), tw.Program([1.0]).subject_to([1], lower=2)):
        with pytest.raises(TrellisworkError):
            program.argmax()
    rng = np.random.default_rng(0)
    made = tw.DependencyTree(rng.normal(size=(8, 8)), projective=False)
    made.program().at_most(n=1, where=1).kbest(3, method="highs")
    made.program().relaxed()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: p.argmax(method="simplex"), '"auto", "lagrangian" or "highs", found \'simplex\''),
        (lambda p: p.argmax(time_limit=0), "time_limit must be a number of seconds above 0, found 0"),
        (lambda p: p.argmax(time_limit="a"), "time_limit must be a number of seconds, found 'a'"),
        (lambda p: p.kbest(0), "k must be at least 1"),
        (lambda p: p.at_most("all", 1), "a collection of them or \"each\", found 'all'"),
        (lambda p: p.at_most(0, 1, where=9), "where is 9, which is not an index into shape"),
        (lambda p: p.subject_to(LinearConstraint(np.ones(12), 0, 1)).argmax(method="lagrangian"), "lagrangian"),
        (lambda p: tw.Program([1.0]).argmax(method="lagrangian"), "needs the program of a structure"),
    ],
)
def test_bad_input_is_refused_and_named(make, said):
    with pytest.raises(InvalidInput, match=said):
        make(tw.Chain(np.zeros((2, 3)), np.zeros((3, 3))).program())


def test_a_program_that_is_too_large_is_refused_with_its_size_and_still_solved():
    rng = np.random.default_rng(0)
    made = tw.Chain(rng.normal(size=(600, 60)), rng.normal(size=(60, 60)))
    with pytest.raises(InvalidInput, match=r"2,156,460 variables .* 2,000,000"):
        made.program().argmax(method="highs")
    best = made.program().at_most(3, 1).argmax()
    assert best.exact
    assert (best.labels == 3).sum() <= 1
    tall = tw.DependencyTree(rng.normal(size=(251, 251)))
    with pytest.raises(InvalidInput, match=r"too large: its linear program has [0-9]+ variables"):
        tall.program().argmax(method="highs")
