"""Programs of factor graphs, grids, matchings and alignments, held to enumeration."""

import itertools

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import factors

INF = np.inf


def forbidding(rng, scores):
    if rng.random() < 0.3:
        scores[rng.random(scores.shape) < 0.1] = -INF
    return scores


def graph(rng):
    n_labels = rng.integers(1, 4, 4)
    pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 0)]
    more = [
        factors.Table([1, 3, 0], forbidding(rng, rng.normal(size=n_labels[[1, 3, 0]]))),
        factors.AtMost([(i, 0) for i in range(4)], 2),
        factors.Or([(0, 0), (1, 0)]),
        factors.Xor([(2, int(n_labels[2]) - 1), (3, 0)]),
    ]
    chosen = [factor for factor in more if rng.random() < 0.5]
    tables = [forbidding(rng, rng.normal(size=(n_labels[a], n_labels[b]))) for a, b in pairs]
    return tw.FactorGraph([rng.normal(size=k) for k in n_labels], pairs, tables, chosen)


def labellings(made):
    """All labellings of a factor graph or grid with their scores, best first, and their indicators."""
    sizes = made.n_labels if isinstance(made, tw.FactorGraph) else [made.n_labels] * int(np.prod(made.shape))
    found = []
    for labels in itertools.product(*map(range, sizes)):
        y = np.array(labels, dtype=np.int64)
        score = made.score(y if isinstance(made, tw.FactorGraph) else y.reshape(made.shape))
        if score > -INF:
            at = np.zeros((len(sizes), max(sizes)))
            at[np.arange(len(sizes)), y] = 1
            found.append((score, at))
    return sorted(found, key=lambda row: -row[0])


def compared(made, listed, program, rng, methods):
    """The program, and the program with random constraints, against the list."""
    shape = program.shape
    keep = np.ones(len(listed), dtype=bool)
    for extra in range(3):
        left = [score for (score, _), kept in zip(listed, keep, strict=True) if kept]
        for method in methods:
            if not left:
                with pytest.raises(Unsatisfiable):
                    program.argmax(method=method)
                continue
            best = program.argmax(method=method)
            assert best.score == pytest.approx(left[0], abs=1e-9)
            assert getattr(best, "exact", True)
            assert [y.score for y in program.kbest(3, method=method)] == pytest.approx(left[:3], abs=1e-9)
        if left:
            assert program.relaxed().bound >= left[0] - 1e-6
        coefficients = rng.integers(-1, 3, shape)
        upper = float(rng.integers(1, 5 + extra))
        program = program.subject_to(coefficients, upper=upper)
        keep &= np.array([(at.reshape(shape) * coefficients).sum() <= upper for _, at in listed], dtype=bool)


@pytest.mark.parametrize("seed", range(8))
def test_factor_graphs(seed):
    rng = np.random.default_rng(seed)
    made = graph(rng)
    compared(made, labellings(made), made.program(), rng, ["highs", "auto"])


def test_a_whole_chain_as_a_factor():
    rng = np.random.default_rng(1)
    chain = tw.Chain(rng.normal(size=(3, 2)), rng.normal(size=(2, 2)))
    made = tw.FactorGraph(
        rng.normal(size=(3, 2)), [(0, 2)], rng.normal(size=(2, 2)), [factors.Structure(chain, [0, 1, 2])]
    )
    best = made.program().argmax(method="highs")
    assert best.score == pytest.approx(max(score for score, _ in labellings(made)))


def test_a_whole_tree_as_a_factor():
    rng = np.random.default_rng(2)
    tree = tw.DependencyTree(rng.normal(size=(4, 4)), projective=False)
    variables = np.arange(16).reshape(4, 4)
    made = tw.FactorGraph(np.zeros((16, 2)), factors=[factors.Structure(tree, variables)])
    best = made.program().argmax(method="highs")
    assert best.score == pytest.approx(tree.argmax().score)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("neighbours", [4, 8])
def test_grids(seed, neighbours):
    rng = np.random.default_rng(seed)
    made = tw.Grid(forbidding(rng, rng.normal(size=(2, 3, 2))), rng.normal(size=(2, 2)), neighbours)
    compared(made, labellings(made), made.program(), rng, ["highs", "auto"])
    with pytest.raises(InvalidInput, match="lagrangian"):
        made.program().argmax(method="lagrangian")


def test_grids_with_scores_of_their_own_for_each_edge():
    rng = np.random.default_rng(9)
    right, down = rng.normal(size=(2, 2)), rng.normal(size=(1, 3, 3, 3))
    made = tw.Grid(rng.normal(size=(2, 3, 3)), [right, down])
    assert made.program().argmax().score == pytest.approx(labellings(made)[0][0])
    volume = tw.Grid(rng.normal(size=(2, 2, 1, 2)), [0.3, None, rng.normal(size=(2, 2))])
    assert volume.program().argmax().score == pytest.approx(labellings(volume)[0][0])


@pytest.mark.parametrize("seed", range(6))
def test_matchings_and_alignments(seed):
    rng = np.random.default_rng(seed)
    n, m = (int(x) for x in rng.integers(0, 4, 2))
    pairs = forbidding(rng, rng.normal(size=(n, m)))
    for made in (
        tw.Matching(pairs),
        tw.Matching(pairs, rng.normal(size=n), rng.normal(size=m)),
        tw.Alignment(pairs, rng.normal(size=n), rng.normal(size=m)),
        tw.Alignment(pairs, -0.5, -0.3, -1.0),
    ):
        try:
            outputs = made.kbest(1000)
        except Unsatisfiable:
            outputs = []
        listed = []
        for y in outputs:
            at = np.zeros((n, m))
            at[y.pairs[:, 0], y.pairs[:, 1]] = 1
            listed.append((y.score, at))
        compared(made, listed, made.program(), rng, ["highs", "lagrangian", "auto"])


def test_no_more_than_two_pairs():
    scores = [[4.0, 1.0, 0.0], [3.0, 3.0, 1.0], [2.0, 2.0, 5.0]]
    best = tw.Matching(scores, unmatched_left=0.0).program().at_most(n=2).argmax()
    assert best.pairs.tolist() == [[0, 0], [2, 2]]


def test_a_grid_whose_neighbours_may_not_agree():
    grid = tw.Grid([[[0.0, 1.0], [0.0, 3.0], [0.0, 1.0]]], -np.inf)
    best = grid.program().argmax()
    assert (best.labels.tolist(), best.score) == ([[0, 1, 0]], 3.0)
    assert grid.program().subject_to({(0, 1, 1): 1}, upper=0).argmax().labels.tolist() == [[1, 0, 1]]


@pytest.mark.parametrize("free_ends", [False, True])
def test_an_alignment_of_nothing(free_ends):
    program = tw.Alignment(np.zeros((0, 0)), free_ends=free_ends).program()
    best = program.subject_to(np.zeros((0, 0)), upper=1).argmax(method="highs")
    assert (best.pairs.tolist(), best.score) == ([], 0.0)
