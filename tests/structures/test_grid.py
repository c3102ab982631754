"""Grids: answers against all labellings, cuts against PyMaxflow, roof duality against thinqpbo, moves against gco."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trelliswork as tw
from interrupting import assert_interruptible
from reference.grids import STEPS, every_labelling, tables

TOLERANCE = 1e-9


class Case:
    """Random scores of a small grid, and all its labellings."""

    def __init__(self, seed, k=2, submodular=True, most=1 << 9):
        rng = np.random.default_rng(seed)
        self.whole, self.forbids = rng.random() < 0.5, rng.random() < 0.4
        self.neighbours = int(rng.choice([4, 8, 6, 26]))
        n_axes = 2 if self.neighbours in (4, 8) else 3
        shape = tuple(rng.integers(1, 4, size=n_axes).tolist())
        while k ** np.prod(shape) > most:
            shape = tuple(rng.integers(1, 4, size=n_axes).tolist())
        self.unary = self.numbers(rng, (*shape, k))
        if self.forbids:
            self.unary[rng.random(self.unary.shape) < 0.15] = -np.inf
        self.pairwise = [self.pair(rng, shape, step, k, submodular) for step in STEPS[self.neighbours]]
        self.grid = tw.Grid(self.unary, self.pairwise, self.neighbours)
        self.all = list(every_labelling(self.unary, self.pairwise, self.neighbours))
        self.best = max(score for _, score in self.all)

    def numbers(self, rng, shape):
        return rng.integers(-3, 4, size=shape).astype(float) if self.whole else 2.0 * rng.normal(size=shape)

    def pair(self, rng, shape, step, k, submodular):
        edges = edges_of(shape, step)
        kind = rng.integers(4) if edges != (k, k) else 3
        if kind == 0:
            return np.abs(self.numbers(rng, ())) if submodular else self.numbers(rng, ())
        if kind == 1:
            return made_submodular(self.numbers(rng, (k, k))) if submodular else self.numbers(rng, (k, k))
        if kind == 2:
            return np.abs(self.numbers(rng, edges)) if submodular else self.numbers(rng, edges)
        found = self.numbers(rng, (*edges, k, k))
        if submodular:
            found = made_submodular(found)
        if self.forbids:
            forbidden = rng.random(found.shape) < 0.1
            if submodular:
                forbidden[..., np.arange(k), np.arange(k)] = False
            found[forbidden] = -np.inf
        return found

    @property
    def optima(self):
        return np.array([labels for labels, score in self.all if score >= self.best - TOLERANCE])

    def answer(self, ask):
        """Ask; None where every labelling is forbidden."""
        try:
            return ask()
        except tw.Unsatisfiable:
            return None


def edges_of(shape, step):
    """Return the shape of the edges of a direction."""
    return tuple(n - (s != 0) for n, s in zip(shape, step, strict=True))


def made_submodular(found):
    """Exchange columns of two labels where neighbours would rather differ."""
    wrong = found[..., 0, 0] + found[..., 1, 1] < found[..., 0, 1] + found[..., 1, 0]
    return np.where(wrong[..., None, None], found[..., ::-1], found)


seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=400)
@given(seeds)
def test_a_cut_is_the_lowest_of_the_best_labellings(seed):
    case = Case(seed)
    best = case.answer(lambda: case.grid.argmax("cut"))
    if case.best == -np.inf:
        assert best is None
        return
    assert best.score == pytest.approx(case.best, abs=TOLERANCE)
    assert best.exact
    assert best.gap == 0.0
    assert (best.labels == case.optima.min(axis=0)).all()
    assert case.grid.score(best) == pytest.approx(case.best, abs=TOLERANCE)


@settings(max_examples=200)
@given(seeds)
def test_what_roof_duality_decides_is_in_every_best_labelling(seed):
    case = Case(seed, submodular=False)
    if case.best == -np.inf:
        return
    partial = case.grid.partial()
    assert partial.bound >= case.best - TOLERANCE
    assert (partial.undecided | (partial.labels == case.optima)).all()
    best = case.answer(lambda: case.grid.argmax("qpbo"))
    if best is not None:
        assert best.score <= case.best + TOLERANCE <= best.score + best.gap + 2 * TOLERANCE
        assert not best.exact or best.score == pytest.approx(case.best, abs=TOLERANCE)


@settings(max_examples=100)
@given(seeds, st.sampled_from(["expansion", "swap", "auto"]))
def test_moves_stay_within_their_bounds(seed, method):
    case = Case(seed, k=3, submodular=False)
    best = case.answer(lambda: case.grid.argmax(method))
    if best is not None:
        assert best.score <= case.best + TOLERANCE <= best.score + best.gap + 2 * TOLERANCE
        assert case.grid.score(best.labels) == pytest.approx(best.score, abs=TOLERANCE)


@pytest.mark.parametrize("method", ["expansion", "swap"])
def test_no_move_improves_what_moves_return(method):
    rng = np.random.default_rng(0)
    subsets = [((number >> np.arange(6)) & 1).reshape(2, 3) == 1 for number in range(64)]
    for _ in range(10):
        grid = tw.Grid(rng.normal(size=(2, 3, 3)), rng.random())
        best = grid.argmax(method)
        for a, b in itertools.product(range(3), repeat=2):
            for chosen in subsets:
                moved = best.labels.copy()
                if method == "expansion":
                    moved[chosen] = a
                else:
                    moved[chosen & (best.labels == a)], moved[chosen & (best.labels == b)] = b, a
                assert grid.score(moved) <= best.score + TOLERANCE


def test_expansion_is_within_twice_the_least_energy_for_potts():
    rng = np.random.default_rng(1)
    for _ in range(30):  # Boykov, Veksler & Zabih 2001, theorem 6.1: costs >= 0
        costs, weight = rng.random((2, 3, 3)), rng.random()
        grid = tw.Grid(-costs, -weight * (1.0 - np.eye(3)))
        least = -max(s for _, s in every_labelling(-costs, [-weight * (1.0 - np.eye(3))] * 2, 4))
        assert least - TOLERANCE <= -grid.argmax("expansion").score <= 2.0 * least + TOLERANCE


@settings(max_examples=40)
@given(seeds, st.sampled_from([(2, True), (2, False), (3, False)]))
def test_k_best_and_max_marginals_are_those_of_all_labellings(seed, kind):
    case = Case(seed, *kind, most=1 << 7)
    allowed = sorted((s for _, s in case.all if s > -np.inf), reverse=True)
    found = case.answer(lambda: case.grid.kbest(6))
    if not allowed:
        assert found is None
        return
    np.testing.assert_allclose([one.score for one in found], allowed[:6], atol=TOLERANCE)
    assert len({one.labels.tobytes() for one in found}) == len(found)
    assert all(case.grid.score(one.labels) == pytest.approx(one.score, abs=TOLERANCE) for one in found)
    most = case.grid.max_marginals()
    for cell in np.ndindex(case.grid.shape):
        for label in range(case.grid.n_labels):
            expected = max(s for labels, s in case.all if labels[cell] == label)
            assert most[(*cell, label)] == pytest.approx(expected, abs=TOLERANCE)


@settings(max_examples=40)
@given(seeds)
def test_sums_are_those_of_all_labellings(seed):
    case = Case(seed, submodular=False, most=1 << 7)
    scores = np.array([s for _, s in case.all])
    if case.best == -np.inf:
        return
    total = np.logaddexp.reduce(scores)
    assert case.grid.log_partition() == pytest.approx(total, abs=1e-9)
    expected = np.zeros(case.unary.shape)
    for labels, score in case.all:
        expected[(*np.indices(case.grid.shape), labels)] += np.exp(score - total)
    np.testing.assert_allclose(case.grid.marginals(), expected, atol=1e-9)
    p = np.exp(scores - total)[scores > -np.inf]
    assert case.grid.entropy() == pytest.approx(-(p * np.log(p)).sum(), abs=1e-9)
    assert case.grid.log_prob(case.optima[0]) == pytest.approx(case.best - total, abs=1e-9)
    assert case.grid.sample(3, random_state=0).shape == (3, *case.grid.shape)


@settings(max_examples=60)
@given(seeds)
def test_new_scores_on_an_old_flow_give_the_answer_of_a_new_grid(seed):
    rng = np.random.default_rng(seed)
    shape, neighbours = (6, 7), int(rng.choice([4, 8]))
    grid = tw.Grid(rng.integers(-5, 6, (*shape, 2)), float(rng.integers(4)), neighbours, reuse=True)
    for _ in range(6):
        grid.argmax()
        unary, pairwise = np.array(grid.unary), None
        if rng.random() < 0.7:
            unary[rng.integers(6), rng.integers(7)] += rng.integers(-9, 10, 2)
        if rng.random() < 0.5:
            steps = STEPS[neighbours]
            pairwise = [
                rng.integers(0, 5, tuple(n - (s != 0) for n, s in zip(shape, step, strict=True))) for step in steps
            ]
        grid = grid.with_scores(unary, pairwise)
        again, fresh = grid.argmax(), pickle.loads(pickle.dumps(grid)).argmax()
        assert again.score == fresh.score
        assert (again.labels == fresh.labels).all()


def test_an_old_flow_is_not_used_where_something_is_forbidden():
    grid = tw.Grid(np.zeros((2, 2, 2)), 1.0, reuse=True)
    grid.argmax()
    unary = np.zeros((2, 2, 2))
    unary[1, 1, 0] = -np.inf
    assert grid.with_scores(unary).argmax().labels.tolist() == [[1, 1], [1, 1]]


# ---- judges ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", [4, 8])
def test_a_cut_has_the_flow_of_pymaxflow(neighbours):
    maxflow = pytest.importorskip("maxflow", reason="PyMaxflow is not installed")
    rng = np.random.default_rng(neighbours)
    structure = np.array([[0, 0, 0], [0, 0, 1], [1 if neighbours == 8 else 0, 1, 1 if neighbours == 8 else 0]])
    for weight in (0.1, 0.5, 1.0, 2.0):
        gain = rng.normal(size=(40, 50))
        graph = maxflow.Graph[float]()
        ids = graph.add_grid_nodes(gain.shape)
        graph.add_grid_edges(ids, weight, structure=structure, symmetric=True)
        graph.add_grid_tedges(ids, np.maximum(gain, 0.0), np.maximum(-gain, 0.0))
        flow = graph.maxflow()
        best = tw.Grid(np.stack([np.zeros_like(gain), gain], -1), weight, neighbours).argmax()
        edges = sum(
            np.prod([n - (s != 0) for n, s in zip(gain.shape, step, strict=True)]) for step in STEPS[neighbours]
        )
        assert best.score == pytest.approx(np.maximum(gain, 0.0).sum() - flow + weight * edges, rel=1e-12)
        assert (best.labels == ~graph.get_grid_segments(ids)).mean() > 0.999


def test_roof_duality_decides_what_thinqpbo_decides():
    thinqpbo = pytest.importorskip("thinqpbo", reason="thinqpbo is not installed")
    rng = np.random.default_rng(3)
    n_undecided = 0
    for size in (3, 8, 15):
        for spread in (0.3, 3.0):
            unary = rng.normal(size=(size, size, 2))
            pairwise = [
                spread * rng.normal(size=(size, size - 1, 2, 2)),
                spread * rng.normal(size=(size - 1, size, 2, 2)),
            ]
            judge = thinqpbo.QPBODouble()
            judge.add_node(size * size)
            for i, (zero, one) in enumerate(unary.reshape(-1, 2)):
                judge.add_unary_term(i, -zero, -one)
            for first, second, table in tables(pairwise, (size, size), 4, 2):
                a, b = (np.ravel_multi_index(cell, (size, size)) for cell in (first, second))
                judge.add_pairwise_term(int(a), int(b), *(-table).ravel().tolist())
            judge.solve()
            expected = np.array([max(judge.get_label(i), -1) for i in range(size * size)])
            found = tw.Grid(unary, pairwise).partial()
            assert (found.labels.ravel() == expected).all()
            assert found.bound == pytest.approx(-judge.compute_twice_lower_bound() / 2.0, abs=1e-9)
            n_undecided += (expected < 0).sum()
    assert n_undecided > 0


@pytest.mark.parametrize("kind", ["potts", "linear"])
def test_expansion_is_never_worse_than_gco(kind):
    gco = pytest.importorskip("gco", reason="gco-wrapper is not installed")
    rng = np.random.default_rng(5)
    for k in (3, 6):
        costs = rng.integers(0, 1000, (20, 25, k)).astype(np.int32)
        far = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
        table = (300 * (np.minimum(far, 1) if kind == "potts" else far)).astype(np.int32)
        ones = np.ones((19, 25), dtype=np.int32), np.ones((20, 24), dtype=np.int32)
        theirs = gco.cut_grid_graph(costs, table, *ones, n_iter=-1).reshape(20, 25).astype(np.int32)
        grid = tw.Grid(-costs.astype(float), -table.astype(float))
        assert grid.argmax("expansion").score >= grid.score(theirs)


# ---- edges of what is allowed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0, 2, 2)])
def test_an_empty_grid_has_one_labelling(shape):
    grid = tw.Grid(np.zeros((*shape, 2)), 1.0)
    best = grid.argmax()
    assert best.labels.shape == shape
    assert best.score == 0.0
    assert best.exact
    assert len(grid.kbest(3)) == 1
    assert grid.log_partition() == 0.0
    assert grid.marginals().shape == (*shape, 2)


def test_one_cell_and_one_label():
    assert tw.Grid([[[1.0, 3.0, 2.0]]], 5.0).argmax().labels.tolist() == [[1]]
    best = tw.Grid(np.ones((2, 3, 1)), [[2.0]]).argmax()
    assert best.labels.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert best.score == 20.0
    assert best.exact


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_extreme_scores_are_cut_exactly(size):
    unary = size * np.array([[[0.0, 1.0], [0.25, 0.0], [0.0, 0.5]]])
    best = tw.Grid(unary, 0.5 * size).argmax()
    assert best.labels.tolist() == [[1, 1, 1]]
    assert best.score == pytest.approx(2.5 * size, rel=1e-12)


def test_ties_go_to_the_lowest_labels():
    for neighbours in (4, 8):
        assert not tw.Grid(np.zeros((5, 5, 2)), 1.0, neighbours).argmax().labels.any()
    unary = np.zeros((1, 4, 2))
    unary[0, 0, 1] = 1.0
    assert tw.Grid(unary, 1.0).argmax().labels.tolist() == [[1, 1, 1, 1]]
    unary[0, 3, 0] = 1.0  # a cut anywhere, or none: all score 4
    assert tw.Grid(unary, 1.0).argmax().labels.tolist() == [[0, 0, 0, 0]]


def test_a_negative_agreement_is_refused_by_a_cut_and_the_edge_is_named():
    agree = np.ones((3, 2))
    agree[1, 1] = -0.5
    grid = tw.Grid(np.zeros((3, 3, 2)), [agree, 1.0])
    with pytest.raises(tw.InvalidInput, match=r"from cell \(1, 1\) to \(1, 2\), direction \(0, 1\), has -1 < 0"):
        grid.argmax("cut")
    assert grid.argmax().score == 10.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"unary": np.zeros((3, 2)), "pairwise": 1.0}, "shape"),
        ({"unary": np.zeros((3, 2, 0)), "pairwise": 1.0}, "no labels"),
        ({"unary": np.full((3, 2, 2), np.nan), "pairwise": 1.0}, r"unary\[0, 0, 0\] is NaN"),
        ({"unary": np.full((3, 2, 2), np.inf), "pairwise": 1.0}, r"\+inf"),
        ({"unary": np.zeros((3, 2, 2)), "pairwise": np.nan}, "pairwise.* is NaN"),
        ({"unary": np.zeros((3, 2, 2)), "pairwise": np.zeros((3, 3))}, "sequence of 2 items"),
        ({"unary": np.zeros((3, 2, 2)), "pairwise": [1.0, np.zeros((3, 2))]}, r"pairwise\[1\]"),
        ({"unary": np.zeros((2, 3, 2)), "pairwise": [np.zeros((2, 2)), 1.0]}, "a table for each edge"),
        ({"unary": np.zeros((3, 2, 2)), "pairwise": "x"}, "pairwise"),
        ({"unary": np.zeros((3, 2, 2)), "pairwise": 1.0, "neighbours": 6}, "4 or 8"),
        ({"unary": np.zeros((3, 2, 2, 2)), "pairwise": 1.0, "neighbours": 4}, "6 or 26"),
        ({"unary": [[[0.0, 1.0], [0.0]]], "pairwise": 1.0}, "rectangular"),
        ({"unary": np.zeros((3, 2, 2)), "pairwise": 1.0, "reuse": 1}, "reuse"),
    ],
)
def test_wrong_scores_are_refused(arguments, message):
    with pytest.raises(tw.InvalidInput, match=message):
        tw.Grid(**arguments)


def test_wrong_questions_are_refused():
    grid = tw.Grid(np.zeros((2, 3, 3)), 1.0)
    for ask, message in [
        (lambda: grid.argmax("best"), "method"),
        (lambda: grid.argmax("cut"), "two labels"),
        (lambda: grid.argmax("qpbo"), "two labels"),
        (lambda: grid.partial(), "two labels"),
        (lambda: grid.argmax(start=np.zeros((3, 2), dtype=int)), "start"),
        (lambda: grid.argmax(rounds=0), "rounds"),
        (lambda: grid.score([[0, 1, 3], [0, 0, 0]]), r"labels\[0, 2\] is 3"),
        (lambda: grid.score(np.zeros((2, 3))), "integer"),
        (lambda: grid.kbest(0), "k"),
        (lambda: grid.constrained(fixed={(0, 3): 1}), "shape"),
        (lambda: grid.constrained(fixed={0: 1}), "row, column"),
        (lambda: grid.constrained(allowed=np.ones((2, 3))), "allowed"),
        (lambda: grid.with_scores(np.zeros((2, 2, 3))), "unary"),
        (lambda: grid.augmented(np.zeros((2, 3), dtype=int), scale=np.inf), "scale"),
    ]:
        with pytest.raises(tw.InvalidInput, match=message):
            ask()


def test_a_grid_that_does_not_fit_into_memory_is_refused_with_its_size():
    huge = np.broadcast_to(np.zeros(2), (2_000_000, 1_000_000, 2))
    with pytest.raises(tw.InvalidInput, match=r"2,000,000,000,000 cells .* GiB"):
        tw.Grid(huge, 1.0)


def test_cells_without_an_allowed_label_are_named():
    unary = np.zeros((2, 2, 2))
    unary[1, 0] = -np.inf
    with pytest.raises(tw.Unsatisfiable, match=r"cell \(1, 0\)"):
        tw.Grid(unary, 1.0).argmax()
    with pytest.raises(tw.Unsatisfiable, match="pairs"):
        tw.Grid(np.zeros((1, 2, 2)), np.full((2, 2), -np.inf)).argmax()
    with pytest.raises(tw.Unsatisfiable, match=r"cell \(0, 1\)"):
        tw.Grid(np.zeros((2, 2, 2)), 1.0).constrained(np.array([[[True] * 2, [False] * 2]] * 2))


def test_hard_pairs_are_kept():
    order = [[0.0, 0.0], [-np.inf, 0.0]]  # no 0 on the right of or below a 1
    unary = np.zeros((3, 3, 2))
    unary[1, 1, 1] = 1.0
    unary[2, 2, 0] = 0.4
    assert tw.Grid(unary, order).argmax().labels.tolist() == [[0, 0, 0], [0, 1, 1], [0, 1, 1]]


def test_augmented_and_constrained_scores_are_what_they_say():
    rng = np.random.default_rng(2)
    grid = tw.Grid(rng.normal(size=(3, 4, 3)), rng.normal(size=(3, 3)))
    gold, labels = rng.integers(3, size=(3, 4)), rng.integers(3, size=(3, 4))
    wrong = (gold != labels).sum()
    assert grid.augmented(gold, scale=2.0).score(labels) == pytest.approx(grid.score(labels) + 2.0 * wrong)
    limited = grid.constrained(fixed=np.where(gold == 0, -1, gold))
    assert limited.score(labels) == (grid.score(labels) if (labels == gold)[gold > 0].all() else -np.inf)
    assert limited.score(gold) == grid.score(gold)


def test_a_million_cells():
    rng = np.random.default_rng(0)
    unary = np.zeros((1000, 1000, 2))
    unary[..., 1] = rng.normal(size=(1000, 1000)) + np.where(np.arange(1000) < 500, 1.0, -1.0)
    best = tw.Grid(unary, 1.0).argmax()
    assert best.exact
    assert best.labels[:, :480].mean() > 0.99
    assert best.labels[:, 520:].mean() < 0.01


def test_a_cut_can_be_interrupted():
    rng = np.random.default_rng(0)
    unary = np.zeros((1500, 1500, 2))
    unary[..., 1] = rng.random((1500, 1500)) - 0.5
    grid = tw.Grid(unary, 0.5, reuse=True)
    assert_interruptible(grid.argmax, after=0.5)
    assert grid._flow is None  # what was interrupted is not gone on from


def test_pictures():
    pytest.importorskip("matplotlib")
    grid = tw.Grid(np.random.default_rng(0).normal(size=(6, 8, 3)), 0.5)
    truth = np.zeros((6, 8), dtype=int)
    titles = [axes.get_title() for axes in grid.plot(image=np.zeros((6, 8)), truth=truth)]
    assert titles[:2] == ["image", "truth"]
    assert "% right" in titles[2]
    volume = tw.Grid(np.zeros((2, 3, 4, 2)), 1.0)
    assert len(volume.plot(plane=1)) == 1
    with pytest.raises(tw.InvalidInput, match="plane"):
        volume.plot(plane=2)


# ---- any graph ---------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(seeds, st.sampled_from([(2, True), (2, False), (3, False)]))
def test_cuts_of_factor_graphs(seed, kind):
    case = Case(seed, *kind)
    if not case.unary.size:
        return
    best = case.answer(lambda: case.grid.factor_graph().argmax("cut"))
    if best is None:
        assert case.best == -np.inf or kind != (2, True)
        return
    assert best.score <= case.best + TOLERANCE <= best.score + best.gap + 2 * TOLERANCE
    assert best.exact or kind != (2, True)
    assert case.grid.score(best.labels.reshape(case.grid.shape)) == pytest.approx(best.score, abs=TOLERANCE)


def test_auto_finds_what_moves_cannot_reach():
    """Forbidden pairs may block every move from one allowed labelling to the next; narrow grids are then eliminated."""
    unary = np.array([[[0, 0, 0], [-np.inf, 0, 0], [0, -np.inf, 0]]], dtype=float)
    pairwise = np.array([[0, -np.inf, 0], [0, -np.inf, 0], [0, -np.inf, -np.inf]])
    found = tw.Grid(unary, pairwise).argmax()
    assert found.labels.tolist() == [[0, 2, 0]]
    assert found.exact
