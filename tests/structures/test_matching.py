"""`Matching` as people call it: answers against the list of all matchings, and what it refuses."""

import pickle

import numpy as np
import pytest

import trelliswork as tw
from reference.listed_outputs import Listed
from reference.matchings import matchings


def small(n, m, is_open, seed=0):
    rng = np.random.default_rng(seed)
    scores, left, right = rng.normal(size=(n, m)), rng.normal(size=n), rng.normal(size=m)
    one = tw.Matching(scores, left, right) if is_open else tw.Matching(scores)
    parts = np.concatenate([scores.ravel(), left, right]) if is_open else scores.ravel()
    return one, Listed(matchings(n, m, is_open), parts)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0), (1, 1), (3, 3), (2, 4), (4, 2)])
def test_every_question(sizes, is_open):
    n, m = sizes
    one, judge = small(n, m, is_open)
    best = one.argmax()
    assert best.score == pytest.approx(judge.totals.max())
    assert best.exact
    assert best.gap == 0.0
    assert best.pairs.shape == (len(best.pairs), 2)
    assert tuple(best.pairs.ravel().tolist()) == judge.outputs[int(judge.totals.argmax())]
    assert one.score(best) == pytest.approx(best.score)
    np.testing.assert_allclose([found.score for found in one.kbest(7)], judge.best(7), atol=1e-12)
    assert one.log_partition() == pytest.approx(judge.log_z)
    assert one.log_count() == pytest.approx(np.log(len(judge.outputs)))
    np.testing.assert_allclose(one.marginals(), judge.marginals[: n * m].reshape(n, m), atol=1e-12)
    np.testing.assert_allclose(one.max_marginals(), judge.max_marginals[: n * m].reshape(n, m), atol=1e-12)
    assert one.entropy() == pytest.approx(judge.entropy, abs=1e-12)
    assert one.log_prob(best) == pytest.approx(judge.totals.max() - judge.log_z)
    assert one.kl_divergence(one) == pytest.approx(0.0, abs=1e-12)
    for drawn in one.sample(3, random_state=1):
        assert one.score(drawn) == pytest.approx(drawn.score)
    assert len(one.sample(1000, random_state=1, replace=False)) == min(1000, len(judge.outputs))
    sums = one.sums()
    assert sums.exact
    if is_open:
        np.testing.assert_allclose(np.concatenate([sums.left, sums.right]), judge.marginals[n * m :], atol=1e-12)
    elif n <= m:
        np.testing.assert_allclose(sums.right, 1 - judge.marginals.reshape(n, m).sum(axis=0), atol=1e-12)


def test_costs_of_wrong_pairs_are_added():
    one, judge = small(3, 3, True)
    gold = [(0, 1), (2, 0)]
    augmented = one.augmented(gold, scale=2.0)
    for output, counts in matchings(3, 3, True):
        pairs = list(zip(output[::2], output[1::2], strict=True))
        wrong = sum(pair not in gold for pair in pairs)
        rows, columns = ({pair[side] for pair in pairs} for side in (0, 1))
        missed = sum(i not in rows for i, _ in gold) + sum(j not in columns for _, j in gold)
        assert augmented.score(pairs) == pytest.approx(float(counts @ judge.scores) + 2.0 * (wrong + missed / 2))
    np.testing.assert_allclose(one.augmented(gold, np.ones((3, 3))).scores, one.scores + 1.0)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (4, 2)])
def test_constraints_leave_the_matchings_that_keep_them(sizes, is_open):
    one, judge = small(*sizes, is_open)
    allowed = np.ones(sizes, dtype=bool)
    allowed[0, 0] = False
    limited = one.constrained(forced=[(1, 0)], forbidden=[(0, 1)] if sizes[1] > 2 else None, allowed=allowed)
    kept = [
        total
        for output, total in zip(judge.outputs, judge.totals, strict=True)
        if (1, 0) in (pairs := list(zip(output[::2], output[1::2], strict=True)))
        and (0, 0) not in pairs
        and (sizes[1] <= 2 or (0, 1) not in pairs)
    ]
    assert limited.log_partition() == pytest.approx(np.logaddexp.reduce(kept))
    assert limited.argmax().score == pytest.approx(max(kept))


def test_unmatched_scores_may_be_numbers_or_left_out():
    scores = [[1.0, -5.0], [-4.0, -3.0]]
    assert tw.Matching(scores, unmatched_left=0).argmax().pairs.tolist() == [[0, 0]]
    assert tw.Matching(scores, unmatched_right=-10).argmax().pairs.tolist() == [[0, 0], [1, 1]]
    assert tw.Matching(scores, unmatched_left=[-np.inf, 0]).argmax().pairs.tolist() == [[0, 0]]


def test_the_forbidden_row_is_named():
    scores = np.zeros((3, 3))
    scores[1] = -np.inf
    with pytest.raises(tw.Unsatisfiable, match="row 1 cannot be matched"):
        tw.Matching(scores).argmax()
    with pytest.raises(tw.Unsatisfiable, match="row 1"):
        tw.Matching(scores).marginals()
    with pytest.raises(tw.Unsatisfiable, match="column 1"):
        tw.Matching(np.vstack([scores.T, np.full((1, 3), -np.inf)])).kbest(2)
    with pytest.raises(tw.Unsatisfiable, match="row"):
        tw.Matching([[0.0, -np.inf], [0.0, -np.inf]]).argmax()  # two rows want one column
    assert tw.Matching(scores).log_partition() == -np.inf
    assert len(tw.Matching(scores, 0.0, 0.0).argmax().pairs) <= 2
    with pytest.raises(tw.Unsatisfiable, match="column 0"):
        tw.Matching(np.zeros((0, 2)), unmatched_left=0.0, unmatched_right=-np.inf).argmax()


def test_large_sums_are_refused_or_approximate_and_say_so():
    scores = np.random.default_rng(0).normal(size=(40, 40))
    for question in ("log_partition", "marginals", "entropy", "sample", "log_count", "sums"):
        with pytest.raises(tw.InvalidInput, match='approximate="bethe"'):
            getattr(tw.Matching(scores), question)()
    one = tw.Matching(scores, approximate="bethe")
    assert not one.sums_are_exact
    sums = one.sums()
    assert not sums.exact
    assert sums.converged
    assert one.log_partition() == sums.log_partition
    np.testing.assert_allclose(one.marginals().sum(axis=0), 1.0, atol=1e-6)
    assert one.argmax().score <= sums.log_partition
    assert one.argmax().exact
    assert 0 < one.entropy() < 40 * np.log(40)
    with pytest.raises(tw.InvalidInput, match="summed exactly"):
        one.sample()
    with pytest.raises(tw.InvalidInput, match="summed exactly"):
        one.sums("exact")
    np.testing.assert_allclose(one.max_marginals().max(), one.argmax().score, rtol=1e-12)
    # Small ones are summed exactly all the same.
    assert tw.Matching(scores[:5, :5], approximate="bethe").sums().exact


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0, np.nan]],), r"scores\[0, 1\] is NaN"),
        (([[0.0, np.inf]],), r"scores\[0, 1\] is \+inf"),
        (([0.0, 1.0],), r"shape \(n, m\)"),
        (([["a"]],), "numbers"),
        (([[0.0], [1.0, 2.0]],), "rectangular"),
        (([[0.0]], [1.0, 2.0]), r"unmatched_left must be a number or have shape \(1,\)"),
        (([[0.0]], None, [np.nan]), r"unmatched_right\[0\] is NaN"),
    ],
)
def test_bad_scores_are_refused(arguments, message):
    with pytest.raises(tw.InvalidInput, match=message):
        tw.Matching(*arguments)


def test_bad_arguments_are_refused():
    one = tw.Matching(np.zeros((2, 3)))
    for call, message in [
        (lambda: tw.Matching([[0.0]], approximate="mean field"), "bethe"),
        (lambda: one.score([(0, 5)]), "pair"),
        (lambda: one.score("abc"), "pairs"),
        (lambda: one.kbest(0), "k"),
        (lambda: one.sums("guess"), "method"),
        (lambda: one.augmented([(0, 0)]), "gold must be a matching"),
        (lambda: one.augmented([(0, 0), (1, 1)], cost="none"), "cost"),
        (lambda: one.augmented([(0, 0), (1, 1)], cost=-np.ones((2, 3))), "cost"),
        (lambda: one.constrained(allowed=np.ones((3, 3), dtype=bool)), "allowed"),
    ]:
        with pytest.raises(tw.InvalidInput, match=message):
            call()
    assert one.score([(0, 0)]) == one.score([(0, 0), (1, 0)]) == -np.inf
    with pytest.raises(tw.Unsatisfiable):
        one.constrained(forced=[(0, 0), (1, 0)])


def test_copies_pictures_and_batches():
    one, _ = small(3, 4, True)
    again = pickle.loads(pickle.dumps(one))
    assert again.log_partition() == one.log_partition()
    assert repr(again) == "Matching(3 x 4, with unmatched)"
    with pytest.raises(ValueError, match="read-only"):
        one.scores[0, 0] = 1.0
    batch = tw.Batch([one, again, small(2, 2, True)[0]], n_jobs=2)
    np.testing.assert_array_equal(batch.log_partition()[:2], one.log_partition())
    np.testing.assert_array_equal(batch.marginals()[0], one.marginals())
    assert [len(found) for found in batch.kbest(3)] == [3, 3, 3]
    pytest.importorskip("matplotlib")
    axes = one.plot(marginals=True)
    assert len(axes.collections[0].get_offsets()) == len(one.argmax().pairs)


def test_a_thousand_rows_satisfy_the_optimality_conditions():
    scores = np.random.default_rng(0).normal(size=(1000, 1000))
    found = tw.Matching(scores).kbest(3)
    rows = [best.pairs[:, 1] for best in found]
    assert all((np.sort(row) == np.arange(1000)).all() for row in rows)
    assert found[0].score > found[1].score > found[2].score
    linear_sum_assignment = pytest.importorskip("scipy.optimize").linear_sum_assignment
    expected = linear_sum_assignment(scores, maximize=True)
    assert found[0].score == pytest.approx(scores[expected].sum(), rel=1e-12)
