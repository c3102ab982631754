"""What every structure with bare scores answers by one base: counts, cross entropy, divergence, distinct samples."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable


def forbidding(rng, scores, share=0.15):
    return np.where(rng.random(scores.shape) < share, -np.inf, scores)


def chain(rng, T, K, share):
    per_step = rng.random() < 0.5
    moves = rng.normal(size=(max(T - 1, 0), K, K) if per_step else (K, K))
    ends = [forbidding(rng, rng.normal(size=K), share) for _ in range(2)]
    return tw.Chain(forbidding(rng, rng.normal(size=(T, K)), share), forbidding(rng, moves, share), *ends)


def ngram(rng, T, K, share):
    return tw.NGramChain(
        forbidding(rng, rng.normal(size=(T, K)), share), forbidding(rng, rng.normal(size=(K,) * 3), share)
    )


def segments(rng, T, K, share):
    ends = [forbidding(rng, rng.normal(size=K), share) for _ in range(2)]
    scores, moves = rng.normal(size=(T, 2, K)), rng.normal(size=(K, K))
    return tw.SegmentChain(forbidding(rng, scores, share), forbidding(rng, moves, share), *ends)


def automaton(rng, T, K, share):
    rule = tw.Automaton.at_most(K, K - 1, 1)
    shape = (T, len(rule.arcs)) if T % 2 else len(rule.arcs)
    return tw.AutomatonChain(
        forbidding(rng, rng.normal(size=(T, K)), share), rule, forbidding(rng, rng.normal(size=shape), share)
    )


MAKERS = {"chain": chain, "ngram": ngram, "segments": segments, "automaton": automaton}


def outputs(name, T, K):
    labellings = itertools.product(range(K), repeat=T)
    if name != "segments":
        return [np.array(y, dtype=np.int32) for y in labellings]
    cuts = [[0, *cut, T] for n in range(T) for cut in itertools.combinations(range(1, T), n)] if T else [[0]]
    return [
        np.array([(a, b, k) for (a, b), k in zip(itertools.pairwise(cut), y, strict=True)], dtype=np.int32)
        for cut in cuts
        for y in itertools.product(range(K), repeat=len(cut) - 1)
    ]


@st.composite
def problems(draw, share=0.15):
    name = draw(st.sampled_from(sorted(MAKERS)))
    T, K = draw(st.integers(0, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    return name, MAKERS[name](rng, T, K, share), MAKERS[name](rng, T, K, share), outputs(name, T, K)


def same_kind(p, q):
    """Chains and automata with scores for each step have other parts than those without."""
    return not isinstance(p, tw.Chain) or p.transitions.shape == q.transitions.shape


@given(problems())
def test_counts_and_entropies_are_those_of_all_outputs(problem):
    _, p, q, every = problem
    scores = np.array([p.score(y) for y in every])
    possible = scores > -np.inf
    assert p.log_count() == (pytest.approx(np.log(possible.sum()), abs=1e-12) if possible.any() else -np.inf)
    if not possible.any():
        with pytest.raises(Unsatisfiable):
            p.cross_entropy(p)
        return
    assert p.cross_entropy(p) == pytest.approx(p.entropy(), abs=1e-9)
    assert p.kl_divergence(p) == pytest.approx(0.0, abs=1e-9)
    if q.log_partition() == -np.inf or not same_kind(p, q):
        return
    kept = [y for y, ok in zip(every, possible, strict=True) if ok]
    probability = np.exp([p.log_prob(y) for y in kept])
    expected = -probability @ np.array([q.log_prob(y) for y in kept])
    assert p.cross_entropy(q) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert p.kl_divergence(q) == pytest.approx(expected - p.entropy(), rel=1e-8, abs=1e-8)


@given(problems(), st.integers(0, 2**31))
def test_distinct_samples_are_all_outputs_in_the_end(problem, seed):
    name, p, _, every = problem
    possible = {tuple(y.ravel().tolist()) for y in every if p.score(y) > -np.inf}
    if not possible:
        with pytest.raises(Unsatisfiable):
            p.sample(1, replace=False)
        return
    drawn = [tuple(np.asarray(y).ravel().tolist()) for y in p.sample(len(every) + 1, seed, replace=False)]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == possible, name
    few = [tuple(np.asarray(y).ravel().tolist()) for y in p.sample(2, seed, replace=False)]
    assert few == drawn[:2]  # the order drawn, whatever is asked for


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_distinct_samples_have_the_probabilities_of_drawing_without_replacement(name):
    rng = np.random.default_rng(11)
    p = MAKERS[name](rng, 2, 2, 0.0)
    every = [tuple(np.asarray(y).ravel().tolist()) for y in outputs(name, 2, 2)]
    shaped = dict(zip(every, outputs(name, 2, 2), strict=True))
    probability = {y: np.exp(p.log_prob(shaped[y])) for y in every if p.score(shaped[y]) > -np.inf}
    n = 4000
    met: dict = {}
    for seed in range(n):
        first, second = (tuple(np.asarray(y).ravel().tolist()) for y in p.sample(2, seed, replace=False))
        met[first, second] = met.get((first, second), 0) + 1
    for a, b in itertools.permutations(probability, 2):
        q = probability[a] * probability[b] / (1.0 - probability[a])
        assert abs(met.get((a, b), 0) / n - q) < 4.5 * np.sqrt(q * (1 - q) / n) + 1e-9


def test_one_that_is_nearly_certain_is_drawn_once():
    sure = tw.Chain([[0.0, 400.0]] * 3, np.zeros((2, 2)))
    drawn = sure.sample(8, random_state=0, replace=False).tolist()
    assert drawn[0] == [1, 1, 1]
    assert len({tuple(y) for y in drawn}) == 8


def test_long_chains_are_drawn_without_recursion():
    T = 20_000
    drawn = tw.Chain(np.zeros((T, 2)), np.zeros((2, 2))).sample(2, random_state=0, replace=False)
    assert drawn.shape == (2, T)
    assert (drawn[0] != drawn[1]).any()


def test_batches_answer_for_each_chain():
    rng = np.random.default_rng(3)
    p, q = (tw.ChainBatch([rng.normal(size=(T, 2)) for T in (0, 1, 4)], rng.normal(size=(2, 2))) for _ in range(2))
    np.testing.assert_allclose(p.log_count(), np.log([1.0, 2.0, 16.0]), atol=1e-12)
    np.testing.assert_allclose(p.cross_entropy(q), [a.cross_entropy(b) for a, b in zip(p, q, strict=True)])
    np.testing.assert_allclose(p.kl_divergence(q), [a.kl_divergence(b) for a, b in zip(p, q, strict=True)])
    assert [len(drawn) for drawn in p.sample(3, random_state=1, replace=False)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.cross_entropy(tw.Chain(np.zeros((3, 2)), np.zeros((2, 2)))), "a Chain with the same parts"),
        (lambda c: c.kl_divergence(None), "a Chain with the same parts"),
        (lambda c: c.sample(1, replace=2), "replace must be True or False"),
        (lambda c: tw.ChainBatch([c.unary], c.transitions).cross_entropy(c), "a ChainBatch with as many chains, 1"),
    ],
)
def test_wrong_input(ask, message):
    with pytest.raises(InvalidInput, match=message):
        ask(tw.Chain(np.zeros((2, 2)), np.zeros((2, 2))))


@given(st.integers(0, 4), st.integers(2, 3), st.integers(0, 2**31))
def test_pairs_of_labels_of_an_automaton(T, K, seed):
    rng = np.random.default_rng(seed)
    p = automaton(rng, T, K, 0.0)
    expected = np.zeros((max(T - 1, 0), K, K))
    for y in outputs("automaton", T, K):
        for t, (a, b) in enumerate(itertools.pairwise(y)):
            expected[t, a, b] += np.exp(p.log_prob(y))
    np.testing.assert_allclose(p.edge_marginals(), expected, atol=1e-10)
    np.testing.assert_allclose(p.arc_marginals().sum(axis=0), p.arc_counts(), atol=1e-10)
    counts = p.expected_counts(np.ones((T, 1)))
    np.testing.assert_allclose(counts.attributes[0], counts.labels, atol=1e-10)
    if T > 1:
        pair = [int(k) for k in rng.integers(0, K, 2)]
        assert p.span_probability(0, pair) == pytest.approx(expected[0][tuple(pair)], abs=1e-10)


def test_labels_of_automata_may_have_names():
    labels = ["QTY", "UNIT", "NAME"]
    rule = tw.Automaton(labels, [("any", "QTY", "quantity"), ("quantity", 1, "any"), ("any", "NAME", "any")])
    assert rule.accepts(["NAME", "QTY", "UNIT"])
    assert rule.accepts([2, 0, 1])
    assert not rule.accepts(["UNIT"])
    both = rule & tw.Automaton.at_most(3, 2, 1)
    assert both.labels == tuple(labels)
    assert not both.accepts(["NAME", "NAME"])
    for wrong, message in [("PRICE", "labels are QTY, UNIT, NAME"), (3, "from 0 to 2")]:
        with pytest.raises(InvalidInput, match=message):
            tw.Automaton.at_most(labels, wrong, 1)
    with pytest.raises(InvalidInput, match="no names here"):
        tw.Automaton.at_most(3, "NAME", 1)
    with pytest.raises(InvalidInput, match="different strings"):
        tw.Automaton.at_most(["A", "A"], "A", 1)
    with pytest.raises(InvalidInput, match="their names differ"):
        rule & tw.Automaton.at_most(["A", "B", "C"], "A", 1)


@pytest.mark.parametrize("scale", [1.0, 300.0, 1e5, 1e7])
def test_segments_of_one_position_and_the_program_of_chains_answer_as_chains_do(scale):
    rng = np.random.default_rng(6)
    T, K = 60, 5
    unary, moves = forbidding(rng, rng.normal(size=(T, K)) * scale), rng.normal(size=(K, K)) * scale
    unary[:, 0] = 0.0
    expected = tw.Chain(unary, moves)
    single = tw.SegmentChain(unary[:, None], moves)
    assert single.log_partition() == pytest.approx(expected.log_partition(), rel=1e-12)
    np.testing.assert_allclose(single.marginals(), expected.marginals(), atol=1e-9)
    np.testing.assert_allclose(single.edge_marginals(), expected.edge_marginals(), atol=1e-9)
    assert single.argmax().labels.tolist() == expected.argmax().labels.tolist()
    program, shape = _core.PartStructure.chain(K), np.array([T], dtype=np.uint32)
    scores = np.concatenate([unary.ravel(), moves.ravel()])
    assert program.log_partition(shape, scores) == pytest.approx(expected.log_partition(), rel=1e-12)
    counts = program.marginals(shape, scores)
    np.testing.assert_allclose(counts[: T * K].reshape(T, K), expected.marginals(), atol=1e-9)
    np.testing.assert_allclose(counts[T * K :].reshape(K, K), expected.edge_marginals().sum(axis=0), atol=1e-8)
    assert program.entropy(shape, scores) == pytest.approx(expected.entropy(), rel=1e-9, abs=1e-9)
    found = [program.output_of(shape, parts).tolist() for parts, _ in program.best(shape, scores, 20)]
    assert found == [answer.labels.tolist() for answer in expected.kbest(20)]


def test_a_hundred_thousand_positions_of_segments():
    rng = np.random.default_rng(7)
    unary, moves = rng.normal(size=(100_000, 2)), rng.normal(size=(2, 2))
    expected, single = tw.Chain(unary, moves), tw.SegmentChain(unary[:, None], moves)
    assert single.log_partition() == pytest.approx(expected.log_partition(), rel=1e-12)
    np.testing.assert_allclose(single.marginals(), expected.marginals(), atol=1e-9)
