"""Bracketings: every answer equals the one read off the list of all trees."""

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import trelliswork as tw
from reference.bracketings import EveryBracketing
from reference.frequencies import assert_frequencies
from reference.strategies import CLOSE, EXACT_KINDS, KINDS
from trelliswork.errors import InvalidInput, Unsatisfiable


@st.composite
def span_scores(draw, kinds=tuple(KINDS), most=5):
    n = draw(st.integers(1, most))
    n_labels = draw(st.integers(1, 3 if n < 4 else 2 if n < 5 else 1))
    return draw(draw(st.sampled_from(kinds))((n, n + 1, n_labels)))


def trees(answers):
    return [tuple(one.spans) for one in answers]


def read_off(every):
    return dict(zip(every.outputs, every.scores, strict=True))


@given(span_scores(), st.integers(1, 30))
def test_the_best_trees_and_their_scores(spans, k):
    every = EveryBracketing(spans)
    assume(every.best_scores(1))
    best = tw.Bracketing(spans).kbest(k)
    np.testing.assert_allclose([one.score for one in best], every.best_scores(k), **CLOSE)
    listed = read_off(every)
    np.testing.assert_allclose([listed[tree] for tree in trees(best)], [one.score for one in best], **CLOSE)
    assert len(set(trees(best))) == len(best)


@given(span_scores(EXACT_KINDS), st.integers(2, 5))
def test_argmax_is_the_first_of_the_k_best(spans, k):
    assume(EveryBracketing(spans).best_scores(1))
    bracketing = tw.Bracketing(spans)
    assert bracketing.argmax() == bracketing.kbest(k)[0]


@given(span_scores())
def test_sums_over_all_trees(spans):
    every, bracketing = EveryBracketing(spans), tw.Bracketing(spans)
    np.testing.assert_allclose(bracketing.log_partition(), every.log_partition(), **CLOSE)
    assume(every.best_scores(1))
    np.testing.assert_allclose(bracketing.marginals(), every.marginals(), **CLOSE)
    np.testing.assert_allclose(bracketing.entropy(), every.entropy(), rtol=1e-6, atol=1e-9)
    possible = np.isfinite(every.scores).sum()
    np.testing.assert_allclose(bracketing.log_count(), math.log(possible), **CLOSE)


@given(span_scores())
def test_max_marginals(spans):
    np.testing.assert_allclose(tw.Bracketing(spans).max_marginals(), EveryBracketing(spans).max_marginals(), **CLOSE)


def test_thousands_of_small_sentences_with_scores_of_every_size():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        n = int(rng.integers(1, 5))
        spans = rng.normal(size=(n, n + 1, int(rng.integers(1, 3)))) * rng.choice([0.1, 1, 10, 100, 1000])
        spans[rng.random(spans.shape) < rng.choice([0.0, 0.3])] = rng.choice([-np.inf, -1e4, -300.0])
        every, bracketing = EveryBracketing(spans), tw.Bracketing(spans)
        np.testing.assert_allclose(bracketing.log_partition(), every.log_partition(), rtol=1e-12, atol=1e-12)
        if every.best_scores(1):
            np.testing.assert_allclose(bracketing.marginals(), every.marginals(), atol=1e-10)
            assert bracketing.argmax().score == pytest.approx(every.best_scores(1)[0], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_samples_follow_the_distribution(scale):
    spans = np.random.default_rng(3).normal(size=(3, 4, 2)) * scale
    every = EveryBracketing(spans)
    drawn = Counter(map(tuple, tw.Bracketing(spans).sample(20_000, random_state=1)))
    assert_frequencies([drawn[tree] for tree in every.outputs], every.probabilities(), 20_000)


def test_distinct_samples_are_all_trees():
    every = EveryBracketing(np.zeros((3, 4, 1)))
    drawn = tw.Bracketing(every.spans).sample(1000, random_state=1, replace=False)
    assert sorted(map(tuple, drawn)) == sorted(every.outputs)


@given(span_scores())
def test_score_and_probability_of_every_tree(spans):
    every, bracketing = EveryBracketing(spans), tw.Bracketing(spans)
    assume(every.best_scores(1))
    for tree, score in list(read_off(every).items())[:20]:
        np.testing.assert_allclose(bracketing.score(tree), score, **CLOSE)
        np.testing.assert_allclose(bracketing.log_prob(tree), min(score - every.log_partition(), 0), **CLOSE)


# Identities, where there are too many trees to list.


def test_trees_without_single_words_are_counted_by_the_little_schroeder_numbers():
    counts = [1, 1, 3, 11, 45, 197, 903]
    for n, count in enumerate(counts, 1):
        spans = np.zeros((n, n + 1, 1))
        if n > 1:
            spans[range(n), range(1, n + 1)] = -np.inf
        assert round(np.exp(tw.Bracketing(spans).log_count())) == count


def test_trees_of_thirty_words_are_counted():
    n, schroeder = 30, [1, 1]
    for m in range(2, 30):
        schroeder.append(((6 * m - 3) * schroeder[-1] - (m - 2) * schroeder[-2]) // (m + 1))
    spans = np.zeros((n, n + 1, 1))
    spans[range(n), range(1, n + 1)] = -np.inf
    assert tw.Bracketing(spans).log_count() == pytest.approx(math.log(schroeder[n - 1]), rel=1e-13)


def test_labels_of_equal_score_multiply():
    spans = np.random.default_rng(0).normal(size=(12, 13, 1))
    both = tw.Bracketing(np.concatenate([spans - math.log(2)] * 2, axis=2))
    one = tw.Bracketing(spans)
    assert both.log_partition() == pytest.approx(one.log_partition(), rel=1e-13)
    np.testing.assert_allclose(both.marginals().sum(axis=2), one.marginals()[:, :, 0], atol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 10.0, 60.0, 1000.0])
def test_marginals_are_derivatives_of_the_log_partition_whatever_the_way_they_are_computed(scale):
    """Small scores run without logarithms, large ones in scaled numbers: both must agree with differences."""
    rng = np.random.default_rng(1)
    spans = rng.normal(size=(14, 15, 3)) * scale
    marginals = tw.Bracketing(spans).marginals()
    for _ in range(20):
        i, j = sorted(rng.choice(15, 2, replace=False))
        at, ends = (i, j, rng.integers(3)), []
        for step in (1e-4, -1e-4):
            moved = spans.copy()
            moved[at] += step
            ends.append(tw.Bracketing(moved).log_partition())
        assert marginals[at] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=1e-6 + scale * 1e-8)


def test_long_sentences_need_no_stack():
    n = 400
    spans = np.full((n, n + 1, 1), -1.0)
    spans[0, :, 0] = 1.0  # all the way down the left side
    best = tw.Bracketing(spans).argmax()
    assert len(best.spans) == n
    assert best.score == float(n)
    assert len(tw.Bracketing(spans).sample(1, random_state=0)[0]) > 1


# Ties.


def test_equal_scores_give_the_lowest_label_and_the_flattest_tree():
    best = tw.Bracketing(np.zeros((4, 5, 2))).kbest(3)
    assert best[0].spans == [(0, 4, 0)]
    assert best[1].spans[0] == (0, 4, 0)


@given(span_scores(EXACT_KINDS))
def test_the_order_of_ties_is_that_of_the_definition(spans):
    """The rule of the docstring, applied to the list: label, then the first child, then what follows."""
    every = EveryBracketing(spans)
    assume(every.best_scores(1))
    n, top = every.n_words, max(every.scores)
    ties = [tree for tree, score in zip(every.outputs, every.scores, strict=True) if score == top]
    assert tuple(tw.Bracketing(spans).argmax().spans) == min(ties, key=lambda tree: tie_key(dict_of(tree), 0, n))


def dict_of(tree):
    return {(i, j): label for i, j, label in tree}


def children(labels, i, j):
    at = i
    while at < j:
        end = max((b for a, b in labels if a == at and b <= j and (a, b) != (i, j)), default=at + 1)
        yield at, end
        at = end


def tie_key(labels, i, j):
    """What is chosen at each step from the root: a label, the end of the first child, its insides, then the rest."""

    def constituent(i, j):
        own = [labels[i, j]]
        return own if j == i + 1 else [*own, *listed(i, j, list(children(labels, i, j)))]

    def listed(i, j, kids):  # several(i, j)
        (a, b), *rest = kids
        return [b, *child(a, b), *following(rest[0][0], j, rest)]

    def child(i, j):
        return [0] if (i, j) not in labels else [1, *constituent(i, j)]

    def following(i, j, kids):
        if len(kids) > 1:
            return [0, *listed(i, j, kids)]
        return [1, *child(*kids[0])]

    return constituent(i, j)


# Other scores of the same trees.


@given(span_scores(), st.data())
def test_augmented_adds_one_for_each_constituent_that_gold_has_not(spans, data):
    every = EveryBracketing(spans)
    assume(every.best_scores(1))
    gold = data.draw(st.sampled_from(every.outputs))
    totals = [score + 0.5 * len(set(tree) - set(gold)) for tree, score in read_off(every).items()]
    np.testing.assert_allclose(tw.Bracketing(spans).augmented(gold, 0.5).argmax().score, max(totals), **CLOSE)


@given(span_scores(), st.data())
def test_forced_and_forbidden_spans(spans, data):
    every, bracketing = EveryBracketing(spans), tw.Bracketing(spans)
    n = every.n_words
    places = st.tuples(st.integers(0, n - 1), st.integers(1, n)).filter(lambda span: span[0] < span[1])
    forced, forbidden = (data.draw(st.lists(places, max_size=3)) for _ in range(2))
    label = data.draw(st.none() | st.integers(0, every.n_labels - 1))
    marked = [(*span, label) if label is not None else span for span in forced[:1]] + forced[1:]

    def fits(tree):
        got = {(i, j): m for i, j, m in tree}
        return (
            all(span in got for span in forced)
            and not any(span in got for span in forbidden)
            and (label is None or not forced or got.get(forced[0]) == label)
        )

    totals = np.array([score if fits(tree) else -np.inf for tree, score in read_off(every).items()])
    if not (totals > -np.inf).any():
        with pytest.raises(Unsatisfiable):
            bracketing.constrained(marked, forbidden)
        return
    limited = bracketing.constrained(marked, forbidden)
    np.testing.assert_allclose(limited.log_partition(), np.logaddexp.reduce(totals), **CLOSE)
    np.testing.assert_allclose(
        [one.score for one in limited.kbest(10)], [x for x in sorted(totals)[::-1][:10] if x > -np.inf], **CLOSE
    )
    assert limited.argmax() == limited.kbest(2)[0]
    again = pickle.loads(pickle.dumps(limited))
    assert again.argmax() == limited.argmax()
    assert again.log_partition() == limited.log_partition()


def test_allowed_spans_by_mask():
    allowed = np.zeros((3, 4), dtype=bool)
    allowed[0, 3] = allowed[1, 3] = True
    limited = tw.Bracketing(np.zeros((3, 4, 2))).constrained(allowed=allowed)
    assert round(np.exp(limited.log_count())) == 6  # the sentence has two labels, (1, 3) none or two
    by_label = np.broadcast_to(allowed[:, :, None], (3, 4, 2)).copy()
    by_label[1, 3, 0] = False
    assert round(np.exp(tw.Bracketing(np.zeros((3, 4, 2))).constrained(allowed=by_label).log_count())) == 4


def test_a_tree_without_a_forced_span_has_no_probability():
    limited = tw.Bracketing(np.zeros((3, 4, 1))).constrained(forced=[(1, 3)])
    assert limited.score([(0, 3, 0)]) == -np.inf
    assert limited.score([(0, 3, 0), (1, 3, 0)]) == 0.0


def test_divergence_of_two_bracketings():
    rng = np.random.default_rng(4)
    p, q = (EveryBracketing(rng.normal(size=(3, 4, 2))) for _ in range(2))
    ours, theirs = p.probabilities(), q.probabilities()
    found = tw.Bracketing(p.spans).kl_divergence(tw.Bracketing(q.spans))
    assert found == pytest.approx((ours * np.log(ours / theirs)).sum(), rel=1e-9)


# Bad input, and edges.


def test_no_word_has_one_tree_of_nothing():
    empty = tw.Bracketing(np.zeros((0, 1, 2)))
    assert empty.argmax() == tw.Brackets([], 0.0)
    assert empty.log_partition() == 0.0
    assert empty.marginals().shape == (0, 1, 2)


def test_one_word_is_a_constituent():
    one = tw.Bracketing([[[0.0, 0.0], [1.0, 2.0]]])
    assert one.argmax() == tw.Brackets([(0, 1, 1)], 2.0)
    assert one.log_partition() == pytest.approx(np.logaddexp(1.0, 2.0))


def test_entries_that_are_no_spans_are_not_looked_at():
    spans = np.full((3, 4, 1), np.nan)
    for i in range(3):
        spans[i, i + 1 :] = 0.0
    assert tw.Bracketing(spans).argmax().spans == [(0, 3, 0)]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_score_is_named(bad):
    spans = np.zeros((3, 4, 2))
    spans[1, 3, 1] = bad
    with pytest.raises(InvalidInput, match=r"spans\[1, 3, 1\]"):
        tw.Bracketing(spans)


@pytest.mark.parametrize("shape", [(3, 3, 1), (3, 4), (3, 4, 0), (4, 3, 2)])
def test_wrong_shapes_are_refused(shape):
    with pytest.raises(InvalidInput, match=r"\(n, n \+ 1, L\)"):
        tw.Bracketing(np.zeros(shape))


def test_a_sentence_without_a_label_is_refused_with_the_reason():
    spans = np.zeros((3, 4, 2))
    spans[0, 3] = -np.inf
    bracketing = tw.Bracketing(spans)
    assert bracketing.log_partition() == -np.inf
    for ask in (bracketing.argmax, bracketing.marginals, bracketing.entropy, bracketing.sample):
        with pytest.raises(Unsatisfiable, match=r"span \(0, 3\), must be a constituent"):
            ask()


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ([(1, 3, 0)], "whole sentence"),
        ([(0, 3, 0), (0, 2, 0), (1, 3, 0)], "cross"),
        ([(0, 3, 0), (0, 3, 1)], "two labels"),
        ([(0, 4, 0)], "0 <= begin < end <= 3"),
        ([(0, 3, 2)], "labels of constituents"),
        ([(0, 3)], r"\(begin, end, label\)"),
        ([(0.0, 3.0, 0.0)], "integers"),
    ],
)
def test_what_is_not_a_tree_is_refused(tree, reason):
    with pytest.raises(InvalidInput, match=reason):
        tw.Bracketing(np.zeros((3, 4, 2))).score(tree)


def test_forced_spans_that_cross_are_refused():
    with pytest.raises(Unsatisfiable, match="cross"):
        tw.Bracketing(np.zeros((3, 4, 1))).constrained(forced=[(0, 2), (1, 3)])


# Many at once.


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_a_batch_answers_as_its_members_do_bit_for_bit(n_jobs):
    rng = np.random.default_rng(2)
    members = [tw.Bracketing(rng.normal(size=(n, n + 1, 3)) * scale) for n in range(1, 13) for scale in (1.0, 300.0)]
    members.append(members[5].constrained(forced=[(1, 3)]))
    batch = tw.Batch(members, n_jobs=n_jobs)
    assert batch.argmax() == [one.argmax() for one in members]
    assert batch.kbest(3) == [one.kbest(3) for one in members]
    assert batch.log_partition().tolist() == [one.log_partition() for one in members]
    for found, one in zip(batch.marginals(), members, strict=True):
        assert found.tobytes() == one.marginals().tobytes()
    for found, one in zip(batch.max_marginals(), members, strict=True):
        assert found.tobytes() == one.max_marginals().tobytes()
