"""`tw.DependencyTree`: every answer against a list of all trees; what it refuses."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference import trees


class Case:
    """Scores of a short sentence, and the total of every tree, written out."""

    def __init__(self, seed, n, n_labels, single_root, second_order, forbid, whole, projective=True):
        rng = np.random.default_rng(seed)

        def scores(*shape):
            out = rng.integers(-2, 3, shape).astype(float) if whole else rng.normal(size=shape)
            out[rng.random(shape) < forbid] = -np.inf
            return out

        self.n, self.single_root, self.projective = n, single_root, projective
        self.arcs = scores(n + 1, n + 1)
        self.labels = scores(n + 1, n + 1, n_labels) if n_labels else None
        self.second = {name: scores(n + 1, n + 1, n + 1) for name in second_order}
        for array in (self.arcs, self.labels):
            if array is not None:  # what is not looked at
                array[:, 0] = np.nan
                array[np.arange(n + 1), np.arange(n + 1)] = np.nan
        self.trees, self.totals = [], []
        for heads in trees.trees(trees.all_heads(n), single_root, projective):
            for labels in itertools.product(range(n_labels), repeat=n) if n_labels else [None]:
                self.trees.append((heads, labels))
                self.totals.append(self.total(heads, labels))
        self.totals = np.array(self.totals)
        self.log_z = np.logaddexp.reduce(self.totals)

    def total(self, heads, labels):
        arcs, siblings, grandparents = trees.parts_of(heads)
        total = sum(self.arcs[arc] for arc in arcs)
        if labels is not None:
            total += sum(self.labels[(*arc, label)] for arc, label in zip(arcs, labels, strict=True))
        if "siblings" in self.second:
            total += sum(self.second["siblings"][h, h if s < 0 else s, m] for h, s, m in siblings)
        if "grandparents" in self.second:
            total += sum(self.second["grandparents"][words] for words in grandparents)
        return total

    @property
    def tree(self):
        return tw.DependencyTree(self.arcs, self.labels, self.projective, self.single_root, **self.second)

    def having(self, h, m, label=None):
        return np.array(
            [heads[m - 1] == h and (label is None or labels[m - 1] == label) for heads, labels in self.trees],
            dtype=bool,
        )


@st.composite
def cases(draw):
    n = draw(st.integers(1, 4))
    n_labels = draw(st.integers(0, 2 if n < 4 else 1))
    projective = draw(st.booleans())
    names = [name for name in ("siblings", "grandparents") if projective and draw(st.booleans())]
    single_root, forbid = draw(st.booleans()), draw(st.sampled_from([0.0, 0.1, 0.3]))
    return Case(draw(st.integers(0, 2**31)), n, n_labels, single_root, names, forbid, draw(st.booleans()), projective)


def key(tree):
    return tuple(tree.heads.tolist()), None if tree.labels is None else tuple(tree.labels.tolist())


@given(cases())
def test_every_answer_is_that_of_all_trees_written_out(case):
    tree, totals = case.tree, case.totals
    assert tree.log_partition() == pytest.approx(case.log_z, rel=1e-12, abs=1e-11)
    if case.log_z == -np.inf:
        for ask in (tree.argmax, tree.marginals, tree.entropy, tree.sample, tree.mbr):
            with pytest.raises(tw.Unsatisfiable, match=r"word \d has no head"):
                ask()
        return
    p = np.exp(totals - case.log_z)
    known = dict(zip(case.trees, totals, strict=True))
    found = tree.kbest(6)
    best = np.sort(totals[totals > -np.inf])[::-1][:6]
    np.testing.assert_allclose([one.score for one in found], best, rtol=1e-12, atol=1e-12)
    assert len({key(one) for one in found}) == len(found)
    for one in found:
        assert known[key(one)] == pytest.approx(one.score, rel=1e-12, abs=1e-12)
        assert tree.score(one) == pytest.approx(one.score, rel=1e-12, abs=1e-12)
    assert key(tree.argmax()) == key(found[0])
    assert tree.log_prob(found[0]) == pytest.approx(best[0] - case.log_z, abs=1e-10)
    assert tree.entropy() == pytest.approx(-(p[p > 0] @ np.log(p[p > 0])), rel=1e-9, abs=1e-10)
    assert tree.log_count() == pytest.approx(np.log((totals > -np.inf).sum()), abs=1e-10)
    marginals, most = tree.marginals(), tree.max_marginals()
    for h, m in itertools.product(range(case.n + 1), range(1, case.n + 1)):
        having = case.having(h, m)
        assert marginals[h, m] == pytest.approx(p[having].sum(), abs=1e-11)
        assert most[h, m] == pytest.approx(totals[having].max(initial=-np.inf), rel=1e-12, abs=1e-11)
        for label in range(0 if case.labels is None else case.labels.shape[2]):
            assert tree.label_marginals()[h, m, label] == pytest.approx(p[case.having(h, m, label)].sum(), abs=1e-11)
    assert marginals[:, 0].tolist() == [0.0] * (case.n + 1)
    risks = {heads: sum(marginals[h, m] for m, h in enumerate(heads, 1)) for heads, _ in case.trees}
    least = max(risk for heads, risk in risks.items() if all(marginals[h, m] > 0 for m, h in enumerate(heads, 1)))
    assert tree.mbr().score == pytest.approx(least, abs=1e-10)


@given(cases(), st.data())
def test_constraints_and_costs_change_what_they_name(case, data):
    heads, labels = data.draw(st.sampled_from(case.trees))
    gold = heads if labels is None else (heads, labels)
    tree, word = case.tree, data.draw(st.integers(1, case.n))
    kept = case.totals[case.having(heads[word - 1], word)]
    if (kept > -np.inf).any():
        limited = tree.constrained(forced=[(heads[word - 1], word)])
        assert limited.log_partition() == pytest.approx(np.logaddexp.reduce(kept), rel=1e-12, abs=1e-10)
    kept = case.totals[~case.having(heads[word - 1], word)]
    if (kept > -np.inf).any():
        limited = tree.constrained(forbidden=[(heads[word - 1], word)])
        assert limited.log_partition() == pytest.approx(np.logaddexp.reduce(kept), rel=1e-12, abs=1e-10)
        mask = np.ones(case.arcs.shape, dtype=bool)
        mask[heads[word - 1], word] = False
        assert tree.constrained(allowed=mask).log_partition() == limited.log_partition()
    wrong = np.array([
        sum(h != g or (own is not None and own[i] != labels[i])
            for i, (h, g) in enumerate(zip(other, heads, strict=True)))
        for other, own in case.trees
    ])  # fmt: skip
    assert tree.augmented(gold, scale=0.7).log_partition() == pytest.approx(
        np.logaddexp.reduce(case.totals + 0.7 * wrong), rel=1e-12, abs=1e-10
    )


@given(cases())
def test_divergences_are_sums_over_trees(case):
    other = Case(
        7, case.n, 0 if case.labels is None else case.labels.shape[2], case.single_root, list(case.second), 0, 0,
        case.projective,
    )  # fmt: skip
    if case.log_z == -np.inf:
        return
    p, q = np.exp(case.totals - case.log_z), other.totals - other.log_z
    used = p > 0
    assert case.tree.cross_entropy(other.tree) == pytest.approx(-(p[used] @ q[used]), abs=1e-9)
    assert case.tree.kl_divergence(other.tree) == pytest.approx(p[used] @ (np.log(p[used]) - q[used]), abs=1e-9)


def test_samples_follow_the_distribution_and_have_scores():
    case = Case(2, 3, 2, True, ["siblings", "grandparents"], 0.1, False)
    p = np.exp(case.totals - case.log_z)
    drawn = case.tree.sample(20000, random_state=5)
    numbers = {tree: i for i, tree in enumerate(case.trees)}
    seen = np.bincount([numbers[key(tree)] for tree in drawn], minlength=len(p)) / 20000
    assert (np.abs(seen - p) < 5 * np.sqrt(p * (1 - p) / 20000) + 1e-9).all()
    assert drawn[0].score == pytest.approx(case.totals[numbers[key(drawn[0])]])
    distinct = case.tree.sample(10**4, random_state=5, replace=False)
    assert len({key(tree) for tree in distinct}) == len(distinct) == (case.totals > -np.inf).sum()


@given(cases())
def test_marginals_of_the_second_order(case):
    if case.log_z == -np.inf:
        return
    p = np.exp(case.totals - case.log_z)
    for i, name in enumerate(("siblings", "grandparents")):
        ask = getattr(case.tree, f"{name[:-1]}_marginals")
        if name not in case.second:
            with pytest.raises(tw.InvalidInput, match=f"no scores of {name}"):
                ask()
            continue
        expected = np.zeros((case.n + 1,) * 3)
        for (heads, _), share in zip(case.trees, p, strict=True):
            for words in trees.parts_of(heads)[1 + i]:
                expected[tuple(words[0] if word < 0 else word for word in words)] += share
        np.testing.assert_allclose(ask(), expected, atol=1e-11)


def test_no_word_and_one_word():
    for single_root, projective in itertools.product((False, True), repeat=2):
        empty = tw.DependencyTree([[0.0]], projective=projective, single_root=single_root)
        assert empty.argmax().heads.tolist() == []
        assert empty.argmax().score == empty.log_partition() == empty.entropy() == 0.0
        assert empty.marginals().tolist() == [[0.0]]
        one = tw.DependencyTree([[0.0, 2.0], [0.0, 0.0]], projective=projective, single_root=single_root)
        assert one.argmax().heads.tolist() == [0]
        assert one.argmax().score == one.log_partition() == 2.0
        assert one.marginals().tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_what_cannot_be_a_tree_of_this_kind_scores_minus_infinity():
    tree = tw.DependencyTree(np.zeros((5, 5)))
    assert tree.score([3, 4, 0, 3]) == -np.inf  # arcs cross
    assert tree.score([0, 0, 1, 1]) == -np.inf  # two roots
    assert tree.score([2, 1, 0, 3]) == -np.inf  # a cycle
    assert tree.score([0, 1, 1, 1]) == 0.0
    assert (
        tw.DependencyTree(np.zeros((5, 5)), single_root=False).score([0, 0, 1, 1]) == -np.inf
    )  # 0 -> 2 crosses 1 -> 3
    assert tw.DependencyTree(np.zeros((5, 5)), single_root=False).score([0, 0, 2, 2]) == 0.0


def test_one_label_is_a_label():
    tree = tw.DependencyTree(np.zeros((3, 3)), np.ones((3, 3, 1)))
    assert tree.argmax().labels.tolist() == [0, 0]
    assert tree.argmax().score == tree.score(([0, 1], [0, 0])) == 2.0
    assert tree.label_marginals().shape == (3, 3, 1)


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("magnitude", [1e3, 1e6, 1e15, 1e300])
def test_large_scores_give_finite_answers(magnitude, projective):
    arcs = np.random.default_rng(1).normal(size=(12, 12)) * magnitude / 5
    tree = tw.DependencyTree(arcs, projective=projective)
    best, marginals = tree.argmax(), tree.marginals()
    assert tree.log_partition() == pytest.approx(best.score, rel=1e-3)
    np.testing.assert_allclose(marginals.sum(axis=0)[1:], 1.0, rtol=1e-12)
    if magnitude > 1e5:
        assert marginals[best.heads, np.arange(1, 12)].tolist() == [1.0] * 11
        assert tree.entropy() == pytest.approx(0.0, abs=1e-40)


@pytest.mark.parametrize("projective", [False, True])
def test_a_constant_moves_the_log_partition_and_nothing_else(projective):
    arcs = np.random.default_rng(1).normal(size=(12, 12))
    near, far = (tw.DependencyTree(arcs + x, projective=projective) for x in (0.0, 1e7))
    np.testing.assert_allclose(near.marginals(), far.marginals(), atol=1e-8)
    assert far.log_partition() - 11e7 == pytest.approx(near.log_partition(), abs=1e-6)


def test_pickling_and_text():
    case = Case(2, 3, 2, False, ["siblings", "grandparents"], 0.1, False)
    again = pickle.loads(pickle.dumps(case.tree))
    assert key(again.argmax()) == key(case.tree.argmax())
    assert repr(again) == "DependencyTree(3 words, 2 labels, siblings, grandparents, projective)"
    assert repr(tw.DependencyTree(np.zeros((2, 2)))) == "DependencyTree(1 words, projective, single root)"


def forbidden(*places):
    arcs = np.zeros((4, 4))
    for place in places:
        arcs[place] = -np.inf
    return arcs


@pytest.mark.parametrize(
    ("arcs", "message"),
    [
        (forbidden((slice(None), 2)), "word 2 has no head, since every arc into it is forbidden"),
        (forbidden((0,)), "no word may be below the root"),
    ],
)
def test_no_tree_at_all_names_a_word(arcs, message):
    with pytest.raises(tw.Unsatisfiable, match=message):
        tw.DependencyTree(arcs).argmax()


def test_the_word_that_is_named_is_the_first_without_a_head():
    arcs = np.full((4, 4), -np.inf)
    arcs[2, 1] = arcs[1, 2] = arcs[0, 3] = 0.0  # words 1 and 2 below each other
    with pytest.raises(tw.Unsatisfiable, match="word 2 has no head, since with the heads that the words before it"):
        tw.DependencyTree(arcs).log_prob([2, 1, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tw.DependencyTree([]), r"arcs must have shape \(n \+ 1, n \+ 1\)"),
        (lambda: tw.DependencyTree(np.zeros((2, 3))), "arcs must have shape"),
        (lambda: tw.DependencyTree([[0, np.nan], [0, 0]]), r"arcs\[0, 1\] is NaN"),
        (lambda: tw.DependencyTree([[0, np.inf], [0, 0]]), r"arcs\[0, 1\] is \+inf"),
        (lambda: tw.DependencyTree(np.zeros((2, 2)), np.zeros((2, 2))), "labels must have shape"),
        (lambda: tw.DependencyTree(np.zeros((2, 2)), np.zeros((2, 2, 0))), "labels must have shape"),
        (lambda: tw.DependencyTree(np.zeros((2, 2)), siblings=np.zeros((2, 2))), "siblings must have shape"),
        (
            lambda: tw.DependencyTree(np.zeros((2, 2)), siblings=np.full((2, 2, 2), np.nan)),
            r"siblings\[0, 0, 1\] is NaN",
        ),
        (
            lambda: tw.DependencyTree(np.zeros((2, 2)), projective=False, siblings=np.zeros((2, 2, 2))),
            "siblings and grandparents need projective=True",
        ),
        (lambda: tw.DependencyTree(np.zeros((2, 2)), single_root=1), "single_root must be True or False"),
        (
            lambda: tw.DependencyTree(np.zeros((3, 3))).score([0]),
            "heads must be 2 integers from 0 to 2, one for each word",
        ),
        (lambda: tw.DependencyTree(np.zeros((3, 3))).score([0, 3]), "heads must be 2 integers from 0 to 2"),
        (lambda: tw.DependencyTree(np.zeros((3, 3)), np.zeros((3, 3, 2))).score([0, 1]), "given as"),
        (lambda: tw.DependencyTree(np.zeros((3, 3))).constrained(forced=[(0, 0)]), r"forced\[0\] is \(0, 0\)"),
        (lambda: tw.DependencyTree(np.zeros((3, 3))).constrained(forced=[(0, 1, 1)]), "must be"),
        (lambda: tw.DependencyTree(np.zeros((3, 3))).augmented([0, 1], cost="x"), "cost must be"),
        (lambda: tw.DependencyTree(np.zeros((3, 3))).augmented([0, 1], cost=np.full((3, 3), -1.0)), "cost must hold"),
        (lambda: tw.DependencyTree(np.zeros((3, 3))).cross_entropy(tw.DependencyTree(np.zeros((2, 2)))), "same parts"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(tw.InvalidInput, match=message):
        make()


def test_a_batch_answers_as_each_of_its_members_on_any_number_of_threads():
    made = [Case(seed, seed % 4 + 1, 2, True, ["siblings"], 0.05, False).tree for seed in range(40)]
    made = [tree for tree in made if tree.log_partition() > -np.inf]
    one, two = tw.Batch(made), tw.Batch(made, n_jobs=2)
    assert len(one) == len(made)
    for batch in (one, two):
        assert [key(tree) for tree in batch.argmax()] == [key(tree.argmax()) for tree in made]
        assert [[key(t) for t in ts] for ts in batch.kbest(3)] == [[key(t) for t in tree.kbest(3)] for tree in made]
        assert batch.log_partition().tolist() == [tree.log_partition() for tree in made]
        assert batch.entropy().tolist() == [tree.entropy() for tree in made]
        for ask in ("marginals", "max_marginals"):
            for got, tree in zip(getattr(batch, ask)(), made, strict=True):
                np.testing.assert_array_equal(got, getattr(tree, ask)())
    drawn = [[key(tree) for tree in trees_] for trees_ in one.sample(5, random_state=1)]
    assert drawn == [[key(tree) for tree in trees_] for trees_ in two.sample(5, random_state=1)]
    assert all(len(trees_) == 5 for trees_ in drawn)
    assert one.sample(2, random_state=0)[0][0].score == made[0].score(one.sample(2, random_state=0)[0][0])


@pytest.mark.parametrize("projective", [True, False])
def test_a_stack_of_scores_is_a_batch(projective):
    arcs = np.random.default_rng(0).normal(size=(7, 6, 6))
    arcs[0, 0, 0] = np.nan  # not looked at
    stack = tw.DependencyTree.batch(arcs, projective=projective, n_jobs=2)
    listed = tw.DependencyTree.batch(list(arcs), projective=projective)
    assert [key(tree) for tree in stack.argmax()] == [key(tree) for tree in listed.argmax()]
    assert key(stack[3].argmax()) == key(tw.DependencyTree(arcs[3], projective=projective).argmax())
    assert repr(stack[3]) == repr(listed[3])
    assert pickle.loads(pickle.dumps(stack[3])).argmax().score == stack[3].argmax().score
    labelled = tw.DependencyTree.batch(arcs, np.zeros((7, 6, 6, 3)), projective=projective)
    assert [tree.labels.tolist() for tree in labelled.argmax()] == [[0] * 5] * 7


def test_what_a_batch_refuses():
    empty = tw.Batch([])
    assert (empty.argmax(), empty.marginals(), empty.log_partition().shape, empty.sample()) == ([], [], (0,), [])
    small, forbidden_ = tw.DependencyTree(np.zeros((3, 3))), tw.DependencyTree(np.full((3, 3), -np.inf))
    with pytest.raises(tw.InvalidInput, match=r"structures\[1\] is .* not of one kind"):
        tw.Batch([small, tw.DependencyTree(np.zeros((3, 3)), single_root=False)])
    with pytest.raises(tw.InvalidInput, match=r"structures\[0\] is a ndarray"):
        tw.Batch([np.zeros((3, 3))])
    with pytest.raises(tw.Unsatisfiable, match="word 1 has no head"):
        tw.Batch([small, forbidden_]).argmax()
    with pytest.raises(tw.InvalidInput, match="arcs has 2 sentences, labels has 1"):
        tw.DependencyTree.batch(np.zeros((2, 3, 3)), np.zeros((1, 3, 3, 2)))
    with pytest.raises(tw.InvalidInput, match=r"arcs\[1, 0, 1\] is NaN"):
        tw.DependencyTree.batch(np.array([np.zeros((2, 2)), np.full((2, 2), np.nan)]))


@pytest.mark.parametrize("options", [{}, {"single_root": False}, {"siblings": True}, {"grandparents": True}])
def test_what_a_thread_computed_before_leaves_no_trace(options):
    rng = np.random.default_rng(4)
    made = []
    for i in range(60):
        n = int(rng.integers(1, 45 if len(options) == 0 else 20))
        scale = 1e5 if i % 7 == 0 else 300.0 if i % 5 == 0 else 1.0  # the larger ones leave the range of exponentials
        second = {name: rng.normal(size=(n + 1,) * 3) for name in options if name != "single_root"}
        single = options.get("single_root", True)
        made.append(tw.DependencyTree(rng.normal(size=(n + 1, n + 1)) * scale, single_root=single, **second))
    batch = tw.Batch(made)
    for got, tree in zip(batch.marginals(), made, strict=True):
        np.testing.assert_array_equal(got, tree.marginals())
    assert batch.log_partition().tolist() == [tree.log_partition() for tree in made]
    assert [key(tree) for tree in batch.argmax()] == [key(tree.argmax()) for tree in made]
