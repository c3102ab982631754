"""Chains with the state of an automaton as their history: all labellings, accepted or not, are the judge."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork import Automaton, AutomatonChain
from trelliswork.errors import InvalidInput, Unsatisfiable


def every(T, K):
    return [list(labels) for labels in itertools.product(range(K), repeat=T)]


def totals(chain):
    """Labelling -> score, for those that are possible."""
    moves = {(s, k): (i, t) for i, (s, k, t) in enumerate(chain.automaton.arcs)}
    ends = dict(zip(chain.automaton.states, chain.automaton.final, strict=True))
    out = {}
    for y in every(chain.n_positions, chain.n_labels):
        state, score = chain.automaton.states[0], 0.0
        for t, label in enumerate(y):
            if (state, label) not in moves:
                score = -np.inf
                break
            arc, state = moves[state, label]
            score += chain.unary[t, label] + chain.arcs[arc]
        if score > -np.inf and ends[state]:
            out[tuple(y)] = score
    return out


@st.composite
def chains(draw):
    K, T = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    rule = draw(
        st.sampled_from(
            [
                lambda: Automaton.at_most(K, K - 1, 1),
                lambda: Automaton.ngrams(K, 2),
                lambda: Automaton.ngrams(K, 1),
                lambda: Automaton.at_most(K, 0, 2) & Automaton.ngrams(K, 2),
                lambda: Automaton(K, [(0, 0, 1), *((1, k, k % 2) for k in range(K))], final=[1, 0]),
            ]
        )
    )()
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    return AutomatonChain(rng.normal(size=(T, K)), rule, rng.normal(size=len(rule.arcs)))


@given(chains(), st.integers(1, 7))
def test_answers(chain, k):
    scores = totals(chain)
    best = sorted(scores.values(), reverse=True)[:k]
    if not scores:
        with pytest.raises(Unsatisfiable, match="every labelling is forbidden"):
            chain.argmax()
        return
    found = chain.kbest(k)
    np.testing.assert_allclose([answer.score for answer in found], best, rtol=1e-11, atol=1e-11)
    assert [scores[tuple(answer.labels.tolist())] for answer in found] == pytest.approx(best)
    log_z = np.logaddexp.reduce(list(scores.values()))
    assert chain.log_partition() == pytest.approx(log_z, abs=1e-11)
    assert chain.log_count() == pytest.approx(np.log(len(scores)), abs=1e-11)
    p = {y: np.exp(score - log_z) for y, score in scores.items()}
    assert chain.entropy() == pytest.approx(-sum(q * np.log(q) for q in p.values()), abs=1e-10)
    marginals, highest = np.zeros(chain.unary.shape), np.full(chain.unary.shape, -np.inf)
    for y, q in p.items():
        for t, label in enumerate(y):
            marginals[t, label] += q
            highest[t, label] = max(highest[t, label], scores[y])
    np.testing.assert_allclose(chain.marginals(), marginals, atol=1e-11)
    np.testing.assert_allclose(chain.max_marginals(), highest, rtol=1e-11, atol=1e-11)
    assert chain.arc_counts().sum() == pytest.approx(chain.n_positions)
    for y in every(chain.n_positions, chain.n_labels):
        assert chain.score(y) == pytest.approx(scores.get(tuple(y), -np.inf))
        assert chain.automaton.accepts(y) == (tuple(y) in scores)


@given(chains(), st.integers(0, 2**31))
def test_cross_entropy(chain, seed):
    scores = totals(chain)
    if not scores:
        return
    rng = np.random.default_rng(seed)
    other = AutomatonChain(rng.normal(size=chain.unary.shape), chain.automaton, rng.normal(size=len(chain.arcs)))
    expected = -sum(np.exp(chain.log_prob(y)) * other.log_prob(y) for y in scores)
    assert chain.cross_entropy(other) == pytest.approx(expected, abs=1e-10)
    assert chain.cross_entropy(chain) == pytest.approx(chain.entropy(), abs=1e-10)
    assert chain.kl_divergence(other) >= 0.0


def test_an_n_gram_chain_is_an_automaton():
    rng = np.random.default_rng(2)
    unary, ngram = rng.normal(size=(6, 3)), rng.normal(size=(3, 3, 3))
    rule = Automaton.ngrams(3, 2)
    arcs = [ngram[(*state, label)] if len(state) == 2 else 0.0 for state, label, _ in rule.arcs]
    ours, theirs = AutomatonChain(unary, rule, arcs), tw.NGramChain(unary, ngram)
    assert ours.log_partition() == pytest.approx(theirs.log_partition(), rel=1e-13)
    np.testing.assert_allclose(ours.marginals(), theirs.marginals(), atol=1e-12)
    assert [a.labels.tolist() for a in ours.kbest(30)] == [a.labels.tolist() for a in theirs.kbest(30)]


def test_equal_labellings_come_in_the_order_of_chains():
    flat = AutomatonChain(np.zeros((3, 2)), Automaton.ngrams(2, 2))
    expected = [a.labels.tolist() for a in tw.NGramChain(np.zeros((3, 2)), np.zeros((2, 2, 2))).kbest(8)]
    assert [a.labels.tolist() for a in flat.kbest(8)] == expected


def test_rules_are_kept_by_every_answer():
    rng = np.random.default_rng(0)
    rule = Automaton.at_most(3, 0, 2) & Automaton.only_after(3, 2, 1)
    chain = AutomatonChain(rng.normal(loc=[3.0, 0.0, 2.0], size=(8, 3)), rule)
    found = chain.kbest(50)
    for answer in found:
        assert answer.score == pytest.approx(chain.score(answer.labels))
    for labels in [*(answer.labels.tolist() for answer in found), *chain.sample(50, random_state=1).tolist()]:
        assert labels.count(0) <= 2
        assert 2 not in labels or 1 in labels[: labels.index(2)]


def test_constrained_and_augmented():
    rng = np.random.default_rng(4)
    chain = AutomatonChain(rng.normal(size=(4, 2)), Automaton.ngrams(2, 2), rng.normal(size=14))
    limited = chain.constrained(allowed=[[0], [0, 1], [0, 1], [1]], automaton=Automaton.at_most(2, 1, 2))
    kept = {y: s for y, s in totals(chain).items() if y[0] == 0 and y[3] == 1 and sum(y) <= 2}
    assert limited.log_partition() == pytest.approx(np.logaddexp.reduce(list(kept.values())), abs=1e-12)
    gold = [0, 1, 1, 0]
    charged = {y: s + 0.5 * sum(a != b for a, b in zip(y, gold, strict=True)) for y, s in totals(chain).items()}
    assert chain.augmented(gold, scale=0.5).argmax().score == pytest.approx(max(charged.values()))
    with pytest.raises(Unsatisfiable):
        chain.constrained(fixed={0: 1, 1: 1, 2: 1}, automaton=Automaton.at_most(2, 1, 2))


def test_a_relaxed_rule_accepts_all_and_knows_whether_it_was_broken():
    names = ["a", "b", "c"]
    rule = Automaton.at_most(names, "b", 1) & Automaton.only_after(names, "c", "a")
    relaxed = rule.relaxed("gone")
    moves = {(source, label): target for source, label, target in relaxed.arcs}
    for labels in every(4, 3):
        state = relaxed.states[0]
        for label in labels:
            state = moves[state, label]
        assert relaxed.accepts(labels)
        assert (state == "gone") != rule.accepts(labels)
    with pytest.raises(InvalidInput, match="a state 'gone' already"):
        relaxed.relaxed("gone")


def test_over_other_labels_it_accepts_the_same_sequences_of_them():
    rule = Automaton.only_after(["a", "b", "c"], "c", "a")
    smaller = rule.over(["c", "a"])
    for labels in itertools.product("ca", repeat=3):
        assert smaller.accepts(labels) == rule.accepts(labels)
    assert smaller.labels == ("c", "a")
    with pytest.raises(InvalidInput, match="does not know the label 'd'"):
        rule.over(["a", "d"])


def test_pickles():
    chain = AutomatonChain(np.eye(3), Automaton.at_most(3, 1, 1), None)
    again = pickle.loads(pickle.dumps(chain))
    assert again.automaton.arcs == chain.automaton.arcs
    assert again.argmax().labels.tolist() == chain.argmax().labels.tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Automaton(2, []), "at least one arc"),
        (lambda: Automaton(2, [(0, 2, 0)]), "from 0 to 1, not 2"),
        (lambda: Automaton(2, [(0, 1, 0), (0, 1, 1)]), "two arcs leave state 0 with label 1"),
        (lambda: Automaton(2, [(0, 1, 1)], final=[0]), "no final state can be reached from state 1"),
        (lambda: Automaton(2, [(0, 1, 1)], final=["x"]), "final state 'x' is in no arc"),
        (lambda: Automaton.ngrams(100, 4), r"1e\+10 n-grams, about 1010.1 GB"),
        (lambda: Automaton.ngrams(2, 2, [(0, 1)]), "must have 3 labels"),
        (lambda: Automaton.at_most(2, 0, 1) & Automaton.at_most(3, 0, 1), "the same labels"),
        (lambda: Automaton(2, [(0, 0, 1)], final=[1]) & Automaton(2, [(0, 1, 1)], final=[1]), "no sequence keeps"),
        (lambda: AutomatonChain(np.zeros((2, 3)), Automaton.ngrams(2, 1)), "for this automaton"),
        (lambda: AutomatonChain([[np.nan, 0.0]], Automaton.ngrams(2, 1)), "NaN"),
        (lambda: AutomatonChain(np.zeros((1, 2)), "ab"), "must be an Automaton"),
        (lambda: AutomatonChain(np.zeros((1, 2)), Automaton.ngrams(2, 1)).score([0, 1]), "one label per position"),
        (lambda: AutomatonChain(np.zeros((1, 2)), Automaton.ngrams(2, 1)).kbest(0), "k must be"),
        (
            lambda: AutomatonChain(np.zeros((1, 2)), Automaton.ngrams(2, 1)).cross_entropy(
                AutomatonChain(np.zeros((1, 2)), Automaton.at_most(2, 1, 1))
            ),
            "the same parts",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
