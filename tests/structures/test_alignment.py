"""`Alignment` as people call it: answers against the list of all alignments, and what it refuses."""

import pickle

import numpy as np
import pytest

import trelliswork as tw
from reference.listed_outputs import Listed
from reference.matchings import alignments


def small(n, m, affine, free, seed=0):
    rng = np.random.default_rng(seed)
    pairs = rng.normal(size=(n, m)) + free
    sides = [rng.normal(size=size) - 0.5 for size in (n, m, n, m)[: 4 if affine else 2]]
    one = tw.Alignment(pairs, *sides, free_ends=free)
    return one, Listed(alignments(n, m, affine, free), np.concatenate([pairs.ravel(), *sides]))


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0), (1, 1), (3, 4), (4, 3)])
def test_every_question(sizes, affine, free):
    n, m = sizes
    one, judge = small(n, m, affine, free)
    best = one.argmax()
    assert best.score == pytest.approx(judge.totals.max())
    assert best.exact
    assert tuple(best.pairs.ravel().tolist()) == judge.outputs[int(judge.totals.argmax())]
    assert one.score(best) == pytest.approx(best.score)
    np.testing.assert_allclose([found.score for found in one.kbest(7)], judge.best(7), atol=1e-12)
    assert one.log_partition() == pytest.approx(judge.log_z)
    assert one.log_count() == pytest.approx(np.log(len(judge.outputs)))
    np.testing.assert_allclose(one.marginals(), judge.marginals[: n * m].reshape(n, m), atol=1e-12)
    np.testing.assert_allclose(np.concatenate(one.gap_marginals()), judge.marginals[n * m :][: n + m], atol=1e-12)
    np.testing.assert_allclose(one.max_marginals(), judge.max_marginals[: n * m].reshape(n, m), atol=1e-12)
    assert one.entropy() == pytest.approx(judge.entropy, abs=1e-12)
    assert one.log_prob(best) == pytest.approx(judge.totals.max() - judge.log_z)
    for drawn in one.sample(3, random_state=1):
        assert one.score(drawn) == pytest.approx(drawn.score)
    again = pickle.loads(pickle.dumps(one))
    assert again.argmax().pairs.tolist() == best.pairs.tolist()


def test_operations_and_text():
    best = tw.Alignment([[2.0, -1.0], [-1.0, -1.0], [-1.0, 2.0]], -0.5, -0.5).argmax()
    assert best.operations == [("pair", 0, 0), ("delete", 1, None), ("pair", 2, 1)]
    assert best.text("abc", "ac") == "abc\na-c"
    assert best.text(["the", "old", "dog"], ["the", "dog"]) == "the old dog\nthe -   dog"
    with pytest.raises(tw.InvalidInput, match="3 and 3"):
        best.text("abc", "abc")
    nothing = tw.Alignment(np.zeros((0, 2)), 0, 1).argmax()
    assert nothing.operations == [("insert", None, 0), ("insert", None, 1)]
    assert nothing.text("", "xy") == "--\nxy"
    everything = tw.Alignment(np.full((2, 2), -9.0)).argmax()
    assert [name for name, *_ in everything.operations] == ["delete", "delete", "insert", "insert"]


def test_affine_gaps_prefer_one_long_gap():
    source, target = "aaXXXbb", "aabb"
    same = np.array([[1.0 if a == b else -3.0 for b in target] for a in source])
    assert tw.Alignment(same, -0.1, -0.1, -1.0, -1.0).argmax().text(source, target) == "aaXXXbb\naa---bb"


def test_free_ends_find_the_piece_that_is_common():
    source, target = "xxxhelloyy", "aahellob"
    same = np.array([[1.0 if a == b else -2.0 for b in target] for a in source])
    best = tw.Alignment(same, -1, -1, free_ends=True).argmax()
    assert best.pairs.tolist() == [[3 + k, 2 + k] for k in range(5)]
    assert best.score == 5.0
    assert tw.Alignment([[-1.0]], free_ends=True).argmax().score == 0.0  # better nothing


def test_costs_and_constraints():
    one, judge = small(3, 3, False, False)
    gold = [(0, 1), (2, 2)]
    augmented = one.augmented(gold, scale=2.0)
    for output, total in zip(judge.outputs, judge.totals, strict=True):
        pairs = list(zip(output[::2], output[1::2], strict=True))
        wrong = sum(pair not in gold for pair in pairs)
        rows, columns = ({pair[side] for pair in pairs} for side in (0, 1))
        missed = sum(i not in rows for i, _ in gold) + sum(j not in columns for _, j in gold)
        assert augmented.score(pairs) == pytest.approx(total + 2.0 * (wrong + missed / 2))
    limited = one.constrained(forced=[(1, 1)], forbidden=[(0, 0)])
    kept = [
        total
        for output, total in zip(judge.outputs, judge.totals, strict=True)
        if (1, 1) in (pairs := list(zip(output[::2], output[1::2], strict=True))) and (0, 0) not in pairs
    ]
    assert limited.log_partition() == pytest.approx(np.logaddexp.reduce(kept))
    band = np.abs(np.subtract.outer(np.arange(3), np.arange(3))) <= 0
    assert (
        one.constrained(allowed=band).argmax().pairs[:, 0] == one.constrained(allowed=band).argmax().pairs[:, 1]
    ).all()


def test_bad_input_is_refused():
    one = tw.Alignment(np.zeros((2, 3)))
    for call, message in [
        (lambda: tw.Alignment([[np.nan]]), r"pairs\[0, 0\] is NaN"),
        (lambda: tw.Alignment([0.0]), r"shape \(n, m\)"),
        (lambda: tw.Alignment([[0.0]], [1.0, 2.0]), "deletions must be a number or have shape"),
        (lambda: tw.Alignment([[0.0]], 0.0, np.inf), "insertions"),
        (lambda: tw.Alignment([[0.0]], free_ends="yes"), "free_ends"),
        (lambda: one.augmented([(1, 0), (0, 1)]), "rise on both sides"),
        (lambda: one.augmented([(0, 0)], cost="none"), "cost"),
        (lambda: one.score([(0, 9)]), "pair"),
        (lambda: tw.Alignment([[0.0]], free_ends=True).constrained(forced=[(0, 0)]), "ends are free"),
        (
            lambda: tw.Alignment(np.broadcast_to(0.0, (40_000, 40_000))[:, :0].reshape(40_000, 0)).score([(0, 0)]),
            "pair",
        ),
    ]:
        with pytest.raises(tw.InvalidInput, match=message):
            call()
    assert one.score([(1, 0), (0, 1)]) == -np.inf
    forbidden = tw.Alignment(np.full((2, 2), -np.inf), [0.0, -np.inf], 0.0)
    with pytest.raises(tw.Unsatisfiable, match="source item 1"):
        forbidden.argmax()
    assert forbidden.log_partition() == -np.inf


def test_pictures():
    pytest.importorskip("matplotlib")
    axes = tw.Alignment(np.eye(3)).plot("abc", "abc", marginals=True)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]


def test_long_sequences():
    rng = np.random.default_rng(0)
    one = tw.Alignment(rng.normal(size=(700, 900)), -1.0, -1.0, -0.5, -0.5)
    best, second = one.kbest(2)
    assert one.argmax().pairs.tolist() == best.pairs.tolist()
    assert second.score <= best.score <= one.log_partition()
    total = one.marginals().sum(axis=1) + one.gap_marginals()[0]
    np.testing.assert_allclose(total, 1.0, atol=1e-9)
