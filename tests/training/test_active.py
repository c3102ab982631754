"""Scores for active learning, from every labelling written out; choices and budgets; the simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference.chains import every_chain_labelling
from trelliswork.errors import InvalidInput

TOLERANCE = {"rtol": 1e-7, "atol": 1e-9}
X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["dogs", "bark"], ["cats"]]
Y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["N"]]
MODEL = tw.SequenceLabeler().fit(X, Y)
WORDS = st.lists(st.sampled_from(["the", "a", "dog", "cats", "bark"]), max_size=4)


def every_probability(x):
    """All p(y | x) of a sequence, best first, and the labellings."""
    chain = MODEL.chain(x)
    table = every_chain_labelling(chain.unary, chain.transitions)
    order = np.argsort(-table.scores, kind="stable")
    return np.exp(table.scores - np.logaddexp.reduce(table.scores))[order], table.labellings[order]


def entropy(p):
    return -sum(q * math.log(q) for q in p if q > 0)


def by_definition(strategy, x, k):
    p, labellings = every_probability(x)
    if strategy == "least_confidence":
        return 1 - p[0]
    if strategy == "margin":
        return 1 - (p[0] - p[1]) if len(p) > 1 else 0.0
    if strategy == "nbest_entropy":
        return entropy(p[:k] / p[:k].sum())
    if strategy == "log_probability":
        return -math.log(p[0]) / len(x) if x else 0.0
    total = 0.0
    for t in range(len(x)):
        total += entropy([p[labellings[:, t] == label].sum() for label in range(len(MODEL.classes_))])
    return total


@pytest.mark.parametrize("strategy", sorted(set(tw.active.STRATEGIES) - {"random"}))
@given(pool=st.lists(WORDS, min_size=1, max_size=3), k=st.integers(1, 5))
def test_scores_are_their_definitions(strategy, pool, k):
    found = tw.active.scores(MODEL, pool, strategy, k=k)
    np.testing.assert_allclose(found, [by_definition(strategy, x, k) for x in pool], **TOLERANCE)


def test_the_scores_of_a_generative_model_are_of_labels_given_tokens():
    hmm = tw.HMM().fit(X, Y)
    pool = [["a", "dog"], ["the", "cat", "sleeps"]]
    lists = hmm.predict_kbest(pool, 10**6)
    for x, ranked, score in zip(pool, lists, tw.active.scores(hmm, pool), strict=True):
        p = np.exp([joint for _, joint in ranked])
        assert len(p) == 3 ** len(x)
        assert score == pytest.approx(1 - p[0] / p.sum())


def test_random_scores_repeat_with_their_seed():
    one, same, other = (tw.active.scores(MODEL, X, "random", random_state=seed).tolist() for seed in (1, 1, 2))
    assert one == same != other


@given(pool=st.lists(WORDS, min_size=1, max_size=6), n=st.integers(1, 7), n_tokens=st.integers(1, 12))
def test_choices_are_the_most_valuable_that_fit(pool, n, n_tokens):
    worth = tw.active.scores(MODEL, pool)
    ranked = sorted(range(len(pool)), key=lambda i: (-worth[i], i))
    assert tw.active.choose(MODEL, pool, n) == ranked[:n]
    chosen = tw.active.choose(MODEL, pool, n_tokens=n_tokens)
    assert chosen == ranked[: len(chosen)]
    length = sum(len(pool[i]) for i in chosen)
    assert length <= n_tokens or len(chosen) == 1
    if len(chosen) < len(pool):
        assert length + len(pool[ranked[len(chosen)]]) > n_tokens


def test_an_unknown_strategy_is_refused():
    with pytest.raises(InvalidInput, match="'least_confidence', 'margin'"):
        tw.active.scores(MODEL, X, "best")


@pytest.mark.filterwarnings("ignore::trelliswork.UncalibratedScores")  # of perceptrons
class TestSimulation:
    CORPUS = tw.corpora.ingredients()
    POOL = (CORPUS.X_train[:120], CORPUS.y_train[:120])
    TEST = (CORPUS.X_test[:50], CORPUS.y_test[:50])

    def run(self, strategy="margin", **given):
        given = {"start": 20, "n_tokens": 60, "rounds": 2, **given}
        return tw.active.simulate(
            tw.SequenceLabeler("perceptron", random_state=1), *self.POOL, *self.TEST, strategy, **given
        )

    def test_every_round_has_more_and_keeps_to_the_budget(self):
        steps = self.run()
        assert len(steps) == 3
        assert steps[0].sequences == 20
        for before, after in itertools.pairwise(steps):
            assert before.sequences < after.sequences
            assert 0 < after.tokens - before.tokens <= 60

    def test_the_first_model_is_the_same_for_all_strategies(self):
        assert self.run("random")[0] == self.run("nbest_entropy")[0] == self.run("margin", rounds=0)[0]

    def test_it_repeats_with_its_seed(self):
        assert self.run("random", random_state=3) == self.run("random", random_state=3)

    def test_it_ends_when_all_is_labelled(self):
        steps = self.run("random", n_tokens=100_000, rounds=9)
        assert [step.sequences for step in steps] == [20, 120]
        whole = tw.SequenceLabeler("perceptron", random_state=1).fit(*self.POOL)
        assert steps[-1].tokens == sum(map(len, self.POOL[0]))
        assert abs(steps[-1].score - whole.score(*self.TEST)) < 0.1  # the same sequences in another order

    def test_lengths_must_agree(self):
        with pytest.raises(InvalidInput, match="y has 1 label lists but X has 2"):
            tw.active.simulate(tw.SequenceLabeler(), [["a"], ["b"]], [["A"]], [], [])
