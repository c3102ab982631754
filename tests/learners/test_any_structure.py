"""Every learner on every structure of parts: the same as on the list of all outputs, one vector of features each."""

import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference import outputs, trees
from trelliswork import _core, learners

K = 3
ARCS = [(0, 0, 0), (0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 2, 0)]  # label 1 only once before the next label 2


def shape(length):
    return np.array([length], dtype=np.uint32)


STRUCTURES = {
    "chain": (_core.PartStructure.chain(K), lambda T: outputs.chain(T, K)),
    "steps": (_core.PartStructure.chain(K, False), lambda T: outputs.chain(T, K, False)),
    "chain by kernels": (_core.PartStructure.chain(K, kernels=True), lambda T: outputs.chain(T, K)),
    "steps by kernels": (_core.PartStructure.chain(K, False, kernels=True), lambda T: outputs.chain(T, K, False)),
    "segments": (_core.PartStructure.segments(K, 2), lambda T: outputs.segments(T, K, 2)),
    "automaton": (
        _core.PartStructure.automaton(K, np.array(ARCS, dtype=np.uint32).ravel(), np.ones(2, dtype=np.uint8)),
        lambda T: outputs.automaton(T, K, ARCS, [1, 1]),
    ),
}


def all_trees(T, n_labels, projective=True, **second_order):
    return trees.dependency_trees(trees.all_heads(T), False, n_labels, True, projective=projective, **second_order)


TREES = {
    "tree": (_core.PartStructure.projective_tree(2), lambda T: all_trees(T, 2)),
    "tree of the second order": (
        _core.PartStructure.projective_tree(2, siblings=True, grandparents=True),
        lambda T: all_trees(T, 2, siblings=True, grandparents=True),
    ),
    "tree with crossing arcs": (_core.PartStructure.arborescence(2), lambda T: all_trees(T, 2, projective=False)),
}
ALL = {**STRUCTURES, **TREES}


class Problem:
    """Random examples of a structure: attributes of its first block's sites, and of the second block as it has them."""

    def __init__(self, name, seed, n_examples=6, n_units=4, structures=ALL):
        self.name = name
        self.structure, listing = structures[name]
        rng = np.random.default_rng(seed)
        self.lengths = rng.integers(0, 4, n_examples)
        self.listed = [listing(int(T)) for T in self.lengths]
        self.gold = [int(rng.integers(len(listed))) for listed in self.listed]
        self.weights = rng.choice([1.0, 1.0, 0.5, 2.0], n_examples)
        first = "interval" if name == "segments" else "each"
        second = "each" if name.startswith("steps") else "tied"
        self.channels = [self.channel(rng, "words", 0, first, 2, n_units)]
        for block in range(1, len(self.structure.blocks(shape(2)))):
            self.channels.append(self.channel(rng, "more", block, "each" if name in TREES else second, 0, 2))
        if name == "automaton":  # arcs that share a weight by their label, and one that has none
            self.channels.append(self.channel(rng, "labels of arcs", 1, "tied", 0, 1, [a[1] for a in ARCS[:-1]] + [-1]))

    def channel(self, rng, name, block, sites, longest, n_units, codes=()):
        blocks = [self.structure.blocks(shape(T))[block] for T in self.lengths]
        n_sites = [
            1 if sites == "tied" else int(T) if sites == "interval" else b[1]
            for T, b in zip(self.lengths, blocks, strict=True)
        ]
        rows = [sorted(rng.choice(n_units, rng.integers(0, n_units + 1), replace=False)) for _ in range(sum(n_sites))]
        counts = [len(row) for row in rows]
        return (
            name, block, sites, longest, max(codes) + 1 if codes else blocks[0][2], n_units,
            np.array(codes, dtype=np.int64), np.cumsum([0, *n_sites], dtype=np.int64),
            np.cumsum([0, *counts], dtype=np.int64), np.array([u for row in rows for u in row], dtype=np.int64),
            rng.choice([1.0, 1.0, -0.5, 2.0], sum(counts)),
        )  # fmt: skip

    def oracle(self, combinations="all", **extras):
        return _core.LinearOracle(
            self.structure,
            [shape(T) for T in self.lengths],
            [np.array(listed[g][0], dtype=np.uint32) for listed, g in zip(self.listed, self.gold, strict=True)],
            self.weights,
            self.channels,
            combinations,
            **extras,
        )

    def features(self, example, counts):
        """What the parts of an output say about each weight: channel by channel, [unit][code]."""
        blocks = self.structure.blocks(shape(self.lengths[example]))
        out = []
        for _, block, sites, longest, n_codes, n_units, codes, first, starts, units, values in self.channels:
            begin = sum(b[1] * b[2] for b in blocks[:block])
            of_block = counts[begin : begin + blocks[block][1] * blocks[block][2]].reshape(blocks[block][1:])
            found = np.zeros((n_units, n_codes))
            for site in range(first[example + 1] - first[example]):
                if sites == "each":
                    row = of_block[site]
                elif sites == "tied":
                    row = of_block.sum(axis=0)
                else:
                    row = sum(
                        of_block[b * longest + n]
                        for b in range(self.lengths[example])
                        for n in range(longest)
                        if b <= site <= b + n
                    )
                at = first[example] + site
                for unit, value in zip(
                    units[starts[at] : starts[at + 1]], values[starts[at] : starts[at + 1]], strict=True
                ):
                    for code, count in enumerate(row):
                        if not len(codes):
                            found[unit, code] += value * count
                        elif codes[code] >= 0:
                            found[unit, codes[code]] += value * count
            out.append(found.ravel())
        return np.concatenate(out)

    def cost(self, example, output):
        gold = self.listed[example][self.gold[example]][0]
        if self.name in TREES:  # a word with a wrong head or a wrong label
            n = len(gold) // 2
            gold, output = (list(zip(y[:n], y[n:], strict=True)) for y in (gold, output))
        if self.name == "segments":
            gold, output = (
                [y[i + 2] for i in range(0, len(y), 3) for _ in range(y[i + 1] - y[i])] for y in (gold, output)
            )
        return float(sum(a != b for a, b in zip(gold, output, strict=True)))

    def enumerated(self):
        rows = [self.features(i, row) for i, listed in enumerate(self.listed) for _, row in listed]
        costs = np.array([self.cost(i, output) for i, listed in enumerate(self.listed) for output, _ in listed])
        counts = [np.flatnonzero(row) for row in rows]
        return _core.EnumeratedOracle.make(
            np.cumsum([0, *map(len, self.listed)], dtype=np.int64),
            np.array(self.gold, dtype=np.int64),
            np.cumsum([0, *map(len, counts)], dtype=np.int64),
            np.concatenate(counts).astype(np.int64),
            np.concatenate([row[at] for row, at in zip(rows, counts, strict=True)]),
            len(rows[0]),
            costs,
            self.weights,
        )


@pytest.fixture(params=ALL)
def problem(request):
    return Problem(request.param, 7)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("nu", [0.0, 1.0])
def test_loss_gradient_and_answers(name, seed, nu):
    problem = Problem(name, seed)
    made, listed = problem.oracle(), problem.enumerated()
    assert made.n_weights == listed.n_weights
    w = np.random.default_rng(seed).normal(size=made.n_weights)
    gradients = np.zeros((2, len(w)))
    losses = [oracle.loss(w, gradients[i], nu=nu) for i, oracle in enumerate((made, listed))]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-11)
    np.testing.assert_allclose(gradients[0], gradients[1], atol=1e-10)
    for i in range(made.n_examples):
        ours, theirs = ({answer(found, len(w), nu) for found in o.kbest(w, i, 1000, nu)} for o in (made, listed))
        assert ours == theirs
        best = [score + nu * cost for _, score, cost, *_ in made.kbest(w, i, 5, nu)]
        expected = [score + nu * cost for _, score, cost, *_ in listed.kbest(w, i, 5, nu)]
        np.testing.assert_allclose(best, expected, rtol=1e-10, atol=1e-10)


def answer(found, n_weights, nu):
    """Score, cost and difference to gold, to some digits: which of equal outputs comes first is not said."""
    _, score, cost, at, values = found
    dense = np.zeros(n_weights)
    dense[at] = values
    return (round(score + nu * cost, 8), round(cost, 8), *np.round(dense, 8).tolist())


LEARNERS = [name for name in learners.names() if name != "memm"]  # listed outputs are one decision each


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_learn_the_same_from_parts_and_from_lists(name, problem):
    learner = learners.by_name(name)
    if name == "crf":
        learner.set_params(solver="lbfgs", tol=1e-11)
    elif "epochs" in learner.get_params():
        learner.set_params(epochs=3)
    if "shuffle" in learner.get_params():
        learner.set_params(shuffle=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        start = np.random.default_rng(1).normal(size=problem.oracle().n_weights) if name != "eg" else None
        found, expected = (
            learner.train(oracle, weights=start, seed=1).weights for oracle in (problem.oracle(), problem.enumerated())
        )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_weights_that_are_made_when_they_are_met(problem):
    learner = tw.Perceptron(epochs=4, shuffle=False)
    grown, seen, everything = (problem.oracle(c) for c in ("grown", "seen", "all"))
    trained = learner.train(grown).weights
    full = learner.train(everything).weights
    assert seen.n_weights <= grown.n_weights <= everything.n_weights
    for c, channel in enumerate(problem.channels):
        for unit in range(channel[5]):
            for code in range(channel[4]):
                at = grown.weight(c, unit, code)
                assert full[everything.weight(c, unit, code)] == pytest.approx(
                    0.0 if at < 0 else trained[at], abs=1e-12
                )


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_bit(n_jobs):
    problem = Problem("segments", 3, n_examples=300)
    oracle = problem.oracle()
    w = np.random.default_rng(0).normal(size=oracle.n_weights)
    one, many = np.zeros((2, len(w)))
    assert oracle.loss(w, one) == oracle.loss(w, many, n_jobs)
    assert one.tobytes() == many.tobytes()


def decisions(name, T, gold, listing):
    """For each step of gold: features of the alternatives, the differences that the next choice makes, and gold's."""
    begun = (lambda y, n: y[: 3 * n]) if name == "segments" else (lambda y, n: y[:n])
    step = 3 if name == "segments" else 1
    gold_output = listing[gold][0]
    for n in range(len(gold_output) // step):
        before = begun(gold_output, n)
        choices = {}
        for output, _ in listing:
            if list(begun(output, n)) == list(before):
                choices.setdefault(tuple(output[step * n : step * (n + 1)]), output)
        yield before, choices, tuple(gold_output[step * n : step * (n + 1)])


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("seed", range(3))
def test_single_decisions_are_those_written_out(name, seed):
    problem = Problem(name, seed)
    local = problem.oracle().local()
    w = np.random.default_rng(seed).normal(size=local.n_weights)
    expected = 0.0
    for i, (T, listing, gold) in enumerate(zip(problem.lengths, problem.listed, problem.gold, strict=True)):
        for before, choices, chosen in decisions(name, int(T), gold, listing):
            scores = {c: w @ problem.features(i, counts_of(problem, int(T), [*before, *c])) for c in choices}
            expected += problem.weights[i] * (np.logaddexp.reduce(list(scores.values())) - scores[chosen])
    gradient = np.zeros(len(w))
    np.testing.assert_allclose(local.loss(w, gradient), expected, rtol=1e-10, atol=1e-10)
    for j in np.random.default_rng(seed).choice(len(w), 5):
        step = np.eye(len(w))[j] * 1e-5
        ends = [local.loss(w + s, np.zeros(len(w))) for s in (step, -step)]
        np.testing.assert_allclose(gradient[j], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["tree", "tree with crossing arcs"])
def test_single_decisions_of_trees_choose_a_head_and_its_label_for_each_word(name):
    problem = Problem(name, 3)
    local = problem.oracle().local()
    w = np.random.default_rng(3).normal(size=local.n_weights)
    expected = 0.0
    for i, (T, listing, gold) in enumerate(zip(problem.lengths.tolist(), problem.listed, problem.gold, strict=True)):
        right = listing[gold][0]
        for m in range(1, T + 1):
            scores = {}
            for h in range(T + 1):
                for label in range(2):
                    counts = np.zeros((T + 1, T + 1, 2))
                    counts[h, m, label] = 1
                    if h != m:
                        scores[h, label] = w @ problem.features(i, counts.ravel())
            chosen = scores[right[m - 1], right[T + m - 1]]
            expected += problem.weights[i] * (np.logaddexp.reduce(list(scores.values())) - chosen)
    np.testing.assert_allclose(local.loss(w, np.zeros(len(w))), expected, rtol=1e-10)
    with pytest.raises(tw.InvalidInput, match="single decisions"):
        tw.MEMM().train(Problem("tree of the second order", 0).oracle())


def counts_of(problem, T, begun):
    """Counts of parts of an output that may not be complete."""
    blocks = problem.structure.blocks(shape(T))
    counts = np.zeros(sum(b[1] * b[2] for b in blocks))
    first = blocks[0][1] * blocks[0][2]
    if problem.name == "segments":
        rows = [begun[i : i + 3] for i in range(0, len(begun), 3)]
        for n, (begin, end, label) in enumerate(rows):
            counts[(begin * 2 + end - begin - 1) * K + label] += 1
            counts[first + (rows[n - 1][2] * K if n else K * K) + label] += 1
            if end == T:
                counts[first + K * K + K + label] += 1
        return counts
    state = 0
    for t, label in enumerate(begun):
        counts[t * K + label] += 1
        if problem.name == "automaton":
            arc = next(a for a, (source, of, _) in enumerate(ARCS) if (source, of) == (state, label))
            counts[first + arc] += 1
            state = ARCS[arc][2]
        elif t:
            counts[first + (t - 1 if problem.name.startswith("steps") else 0) * K * K + begun[t - 1] * K + label] += 1
    return counts


BY_SITE = [name for name in STRUCTURES if name != "segments"]  # one label at every position


@pytest.mark.parametrize("name", BY_SITE)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1.0, 300.0])  # the second leaves the range of exponentials
def test_weights_of_sites_weigh_each_label_given_those_before(name, seed, size):
    problem = Problem(name, seed)
    rng = np.random.default_rng(seed)
    of_sites = rng.choice([0.0, 1.0, 1.0, 2.5], int(problem.lengths.sum()))
    made = problem.oracle(site_weights=of_sites)
    w, gradient = size * rng.normal(size=made.n_weights), np.zeros(made.n_weights)
    expected, first = 0.0, 0
    for i, (listing, gold) in enumerate(zip(problem.listed, problem.gold, strict=True)):
        scores = [w @ problem.features(i, row) for _, row in listing]
        right = listing[gold][0]
        sums = [
            np.logaddexp.reduce(
                [s for s, (y, _) in zip(scores, listing, strict=True) if list(y[:t]) == list(right[:t])]
            )
            for t in range(len(right) + 1)
        ]
        v = of_sites[first : first + len(right)]
        expected += problem.weights[i] * sum(v * -np.diff(sums))
        first += len(right)
    np.testing.assert_allclose(made.loss(w, gradient), expected, rtol=1e-10, atol=1e-10)
    for j in rng.choice(len(w), 5) if size == 1.0 else ():
        step = np.eye(len(w))[j] * 1e-5
        ends = [made.loss(w + s, np.zeros(len(w))) for s in (step, -step)]
        np.testing.assert_allclose(gradient[j], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", BY_SITE)
def test_costs_are_those_of_the_matrix_times_the_weights_of_sites(name):
    problem = Problem(name, 1)
    rng = np.random.default_rng(1)
    cost = rng.exponential(size=(K, K)) * (1 - np.eye(K))
    of_sites = rng.exponential(size=int(problem.lengths.sum()))
    made = problem.oracle(cost=cost.ravel(), site_weights=of_sites)
    w, first = rng.normal(size=made.n_weights), 0
    for i, (listing, gold) in enumerate(zip(problem.listed, problem.gold, strict=True)):
        right = listing[gold][0]
        costs = [sum(of_sites[first + t] * cost[right[t], k] for t, k in enumerate(y)) for y, _ in listing]
        scores = [w @ problem.features(i, row) for _, row in listing]
        best = np.argmax(np.add(scores, costs))
        (_, score, charged, *_rest), *_others = made.kbest(w, i, 1, 1.0)
        np.testing.assert_allclose([score, charged], [scores[best], costs[best]], rtol=1e-10, atol=1e-10)
        first += len(right)


def test_weights_of_sites_need_one_part_at_every_site():
    problem = Problem("segments", 0)
    with pytest.raises(ValueError, match="one part at every site"):
        problem.oracle(site_weights=np.ones(int(problem.lengths.sum()) * 2))
    with pytest.raises(ValueError, match="do not fit the examples"):
        Problem("chain", 0).oracle(site_weights=np.ones(1))
    with pytest.raises(ValueError, match="finite numbers >= 0"):
        Problem("chain", 0).oracle(cost=np.full(K * K, -1.0))
