"""Structures with counts added: learners of best outputs learn what they learn from the filtered list of outputs."""

import warnings

import numpy as np
import pytest

import trelliswork as tw
from learners.test_any_structure import ALL, Problem, answer, shape
from trelliswork import _core, learners

INF = np.inf
# Label 1 once at most; and labels 0 and 2 in balance, give or take one.
ROWS = {3: [(0, [0.0, 1.0, 0.0], -INF, 1.0), (0, [1.0, 0.0, -1.0], -1.0, 1.0)], 2: [(0, [0.0, 1.0], -INF, 1.0)]}
TRAINED = [name for name in learners.names() if name not in ("crf", "eg", "memm")]


def constrained(name):
    structure, listing = ALL[name]
    n_codes = structure.blocks(shape(2))[0][2]
    rows = [(block, np.array(codes), lower, upper) for block, codes, lower, upper in ROWS[n_codes]]

    def filtered(T):
        blocks = structure.blocks(shape(T))
        first = blocks[0][1] * blocks[0][2]
        found = []
        for output, counts in listing(T):
            totals = np.asarray(counts)[:first].reshape(-1, n_codes).sum(axis=0)
            if all(lower <= totals @ codes <= upper for _, codes, lower, upper in rows):
                found.append((output, counts))
        return found

    return _core.PartStructure.constrained(structure, rows), filtered


STRUCTURES = {
    name: constrained(name)
    for name in ("chain", "chain by kernels", "steps", "segments", "automaton", "tree", "tree with crossing arcs")
}


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("seed", range(4))
def test_best_outputs_are_those_of_the_filtered_list(name, seed):
    problem = Problem(name, seed, structures=STRUCTURES)
    made, listed = problem.oracle(), problem.enumerated()
    w = np.random.default_rng(seed).normal(size=made.n_weights)
    for nu in (0.0, 1.0):
        for i in range(made.n_examples):
            ours, theirs = ({answer(found, len(w), nu) for found in o.kbest(w, i, 1000, nu)} for o in (made, listed))
            assert ours == theirs
            best, expected = ([s + nu * c for _, s, c, *_ in o.kbest(w, i, 3, nu)] for o in (made, listed))
            np.testing.assert_allclose(best, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("name", TRAINED)
def test_learners_learn_the_same_as_from_the_filtered_list(name, structure):
    problem = Problem(structure, 7, structures=STRUCTURES)
    learner = learners.by_name(name)
    if "epochs" in learner.get_params():
        learner.set_params(epochs=3)
    if "shuffle" in learner.get_params():
        learner.set_params(shuffle=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        start = np.random.default_rng(1).normal(size=problem.oracle().n_weights)
        found, expected = (
            learner.train(oracle, weights=start, seed=1).weights for oracle in (problem.oracle(), problem.enumerated())
        )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "question"), [("crf", "expectations"), ("eg", "parts"), ("memm", "local")])
def test_learners_that_ask_for_more_are_refused(name, question):
    with pytest.raises(tw.InvalidInput, match=f"asks for {question} "):
        learners.by_name(name).train(Problem("chain", 0, structures=STRUCTURES).oracle())


def test_gold_must_keep_the_counts():
    problem = Problem("chain", 0, structures={"chain": (STRUCTURES["chain"][0], ALL["chain"][1])})
    problem.gold = [len(listed) // 2 for listed in problem.listed]  # 1 1 .. 1
    with pytest.raises(ValueError, match=r"example \d: it does not keep constraint 0"):
        problem.oracle()


def test_what_is_not_known_is_refused():
    structure = STRUCTURES["chain"][0]
    scores = np.zeros(3 * 3 + 9)
    for ask in ("log_partition", "marginals", "entropy", "max_marginals"):
        with pytest.raises(ValueError, match="sums over all outputs are not known"):
            getattr(structure, ask)(shape(3), scores)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, np.array([1.0, np.nan, 0.0]), 0.0, 1.0)], "finite"),
        ([(0, np.array([1.0, 0.0, 0.0]), 2.0, 1.0)], "leave something between"),
    ],
)
def test_rows_are_checked(rows, said):
    with pytest.raises(ValueError, match=said):
        _core.PartStructure.constrained(_core.PartStructure.chain(3), rows)


def test_rows_must_fit_the_block():
    made = _core.PartStructure.constrained(_core.PartStructure.chain(3), [(0, np.ones(2), 0.0, 1.0)])
    with pytest.raises(ValueError, match="one coefficient for each code of labels"):
        made.best(shape(2), np.zeros(15))
