"""Grammars: every answer equals the one read off the list of all trees."""

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference.frequencies import assert_frequencies
from reference.grammars import EveryParse
from reference.strategies import CLOSE, fewer
from trelliswork.errors import InvalidInput, Unsatisfiable

SYMBOLS, TERMINALS = "ABCD", "xyz"


def random_rules(rng, kind):
    """Rules of one to four children; those with one child lead to later symbols, so that there is no cycle."""
    rules = {}
    for parent in SYMBOLS:
        for _ in range(rng.integers(2, 7)):
            n = rng.choice([1, 2, 2, 2, 3, 4], p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
            later = SYMBOLS[SYMBOLS.index(parent) + 1 :]
            pool = [*later, *TERMINALS, *TERMINALS] if n == 1 else [*SYMBOLS, *TERMINALS]
            rules[parent, tuple(str(x) for x in rng.choice(pool, n))] = 0.0
    return [(parent, children, score(rng, kind)) for parent, children in rules]


def score(rng, kind):
    if kind == "whole":
        return float(rng.integers(-2, 3))
    if kind == "forbidding" and rng.random() < 0.2:
        return -math.inf
    return float(rng.normal() * {"large": 300.0, "huge": 3000.0}.get(kind, 2.0))


KINDS = ["whole", "floats", "forbidding", "large", "huge"]


class Case:
    def __init__(self, seed, kind, most=4):
        rng = np.random.default_rng(seed)
        self.rules = random_rules(rng, kind)
        self.start = ["A", "B"] if seed % 3 == 0 else ["A"]
        self.grammar = tw.Grammar(self.rules, self.start)
        self.words = [
            {str(t): score(rng, kind) for t in rng.choice(list(TERMINALS), rng.integers(1, 4), replace=False)}
            for _ in range(rng.integers(1, most + 1))
        ]
        self.words = [{t: s for t, s in row.items() if t in self.grammar.terminals} for row in self.words]
        self.every = EveryParse(self.rules, self.start, self.words, self.grammar.symbols, len(self.rules))
        self.parses = self.grammar.parse(self.words)


cases = st.builds(Case, st.integers(0, 2**31), st.sampled_from(KINDS))


@fewer(2)
@given(cases, st.integers(1, 20))
def test_the_best_trees_and_their_scores(case, k):
    if not case.every.possible:
        with pytest.raises(Unsatisfiable):
            case.parses.argmax()
        return
    best = case.parses.kbest(k)
    np.testing.assert_allclose([one.score for one in best], case.every.best_scores(k), **CLOSE)
    listed = dict(zip(case.every.trees, case.every.scores, strict=True))
    np.testing.assert_allclose([listed[one.tree] for one in best], [one.score for one in best], **CLOSE)
    assert len({one.tree for one in best}) == len(best)


@fewer(2)
@given(st.integers(0, 2**31))
def test_argmax_is_the_first_of_the_k_best(seed):
    case = Case(seed, "whole")
    if case.every.possible:
        assert case.parses.argmax() == case.parses.kbest(3)[0]


@fewer(2)
@given(cases)
def test_sums_over_all_trees(case):
    assert case.parses.log_partition() == pytest.approx(case.every.log_partition(), rel=1e-9, abs=1e-9)
    if not case.every.possible:
        return
    np.testing.assert_allclose(case.parses.marginals(), case.every.marginals(), **CLOSE)
    np.testing.assert_allclose(case.parses.rule_marginals(), case.every.rule_marginals(), **CLOSE)
    np.testing.assert_allclose(case.parses.word_marginals(), case.every.word_marginals(case.grammar.terminals), **CLOSE)
    np.testing.assert_allclose(case.parses.entropy(), case.every.entropy(), rtol=1e-6, atol=1e-9)
    possible = (case.every.scores > -math.inf).sum()
    np.testing.assert_allclose(case.parses.log_count(), math.log(possible), **CLOSE)


@fewer(2)
@given(cases)
def test_max_marginals(case):
    np.testing.assert_allclose(case.parses.max_marginals(), case.every.max_marginals(), **CLOSE)


def test_a_thousand_small_grammars():
    rng = np.random.default_rng(0)
    n_possible = 0
    for seed in range(1000):
        case = Case(seed, str(rng.choice(KINDS)))
        expected = case.every.log_partition()
        assert case.parses.log_partition() == pytest.approx(expected, rel=1e-10, abs=1e-10)
        if case.every.possible:
            n_possible += 1
            np.testing.assert_allclose(case.parses.rule_marginals(), case.every.rule_marginals(), atol=1e-9)
            assert case.parses.argmax().score == pytest.approx(max(case.every.scores), rel=1e-12, abs=1e-12)
    assert n_possible > 300


@fewer(2)
@given(cases)
def test_score_and_probability_of_every_tree(case):
    if not case.every.possible:
        return
    for tree, score in list(zip(case.every.trees, case.every.scores, strict=True))[:10]:
        np.testing.assert_allclose(case.parses.score(tree), score, **CLOSE)
        np.testing.assert_allclose(case.parses.log_prob(tree), min(score - case.every.log_partition(), 0.0), **CLOSE)


@fewer(2)
@given(cases, st.integers(0, 2**31))
def test_scores_of_spans_are_added(case, seed):
    rng, n = np.random.default_rng(seed), len(case.words)
    spans = rng.normal(size=(n, n + 1, len(case.grammar.symbols)))
    spans[rng.random(spans.shape) < 0.1] = -np.inf
    if not len(case.every.scores):
        return
    added = [sum(spans[place] for place in case.every._spans(tree)) for tree in case.every.trees]
    case.every.scores = case.every.scores + added
    parses = case.grammar.parse(case.words, spans=spans)
    assert parses.log_partition() == pytest.approx(case.every.log_partition(), rel=1e-9, abs=1e-9)
    if case.every.possible:
        np.testing.assert_allclose(parses.marginals(), case.every.marginals(), **CLOSE)
        assert parses.argmax().score == pytest.approx(max(case.every.scores), rel=1e-9, abs=1e-9)


AMBIGUOUS = [("S", ("S", "S"), -0.3), ("S", ("S", "S", "S"), 0.2), ("S", "a", 0.0), ("S", ("T",), -1.0),
             ("T", "a", 0.5), ("T", ("a", "S"), 0.1)]  # fmt: skip


def test_samples_follow_the_distribution():
    grammar = tw.Grammar(AMBIGUOUS)
    every = EveryParse(AMBIGUOUS, ["S"], [{"a": 0.0}] * 3, grammar.symbols, len(AMBIGUOUS))
    drawn = Counter(grammar.parse(["a"] * 3).sample(5_000, random_state=1))
    assert_frequencies([drawn[tree] for tree in every.trees], every.probabilities(), 5_000)


def test_distinct_samples_are_all_trees():
    grammar = tw.Grammar(AMBIGUOUS)
    every = EveryParse(AMBIGUOUS, ["S"], [{"a": 0.0}] * 3, grammar.symbols, len(AMBIGUOUS))
    drawn = grammar.parse(["a"] * 3).sample(1000, random_state=1, replace=False)
    assert sorted(map(str, drawn)) == sorted(map(str, every.trees))


def test_binary_trees_are_counted_by_the_catalan_numbers():
    grammar = tw.Grammar([("S", ("S", "S"), 0.0), ("S", "a", 0.0)])
    for n in (1, 2, 3, 10, 30):
        count = math.comb(2 * (n - 1), n - 1) // n
        assert grammar.parse(["a"] * n).log_partition() == pytest.approx(math.log(count), rel=1e-13, abs=1e-13)


def test_scores_without_trees_that_need_them_do_no_harm():
    rules = [*AMBIGUOUS, ("U", ("U", "U"), 3.0), ("V", ("S", "a"), 2.0)]  # U derives nothing, V is never reached
    one, other = (tw.Grammar(some, "S").parse(["a"] * 4) for some in (AMBIGUOUS, rules))
    assert one.log_partition() == pytest.approx(other.log_partition(), rel=1e-13)
    assert one.argmax() == other.argmax()


def test_large_and_small_scores_of_one_sentence():
    """What fractions cannot hold goes to the recursions, with the same answer."""
    for gap in (10.0, 60.0, 80.0, 200.0, 2000.0):
        rules = [("S", ("A", "S"), -gap), ("S", ("B", "S"), gap), ("S", "a", 0.0), ("A", "a", gap), ("B", "a", -gap)]
        grammar = tw.Grammar(rules)
        every = EveryParse(rules, ["S"], [{"a": 1.0}] * 4, grammar.symbols, len(rules))
        parses = grammar.parse([{"a": 1.0}] * 4)
        assert parses.log_partition() == pytest.approx(every.log_partition(), rel=1e-12)
        np.testing.assert_allclose(parses.rule_marginals(), every.rule_marginals(), atol=1e-9)


def test_augmented_and_constrained():
    grammar = tw.Grammar(AMBIGUOUS)
    every = EveryParse(AMBIGUOUS, ["S"], [{"a": 0.0}] * 3, grammar.symbols, len(AMBIGUOUS))
    parses, gold = grammar.parse(["a"] * 3), every.trees[3]
    right = set(every._spans(gold))
    totals = [s + 0.5 * len(set(every._spans(t)) - right) for t, s in zip(every.trees, every.scores, strict=True)]
    assert parses.augmented(gold, 0.5).argmax().score == pytest.approx(max(totals), rel=1e-12)
    kept = [s for t, s in zip(every.trees, every.scores, strict=True)
            if not any((i, j) == (0, 2) for i, j, _ in every._spans(t))]  # fmt: skip
    assert parses.constrained(uncrossed=[(1, 3)]).log_partition() == pytest.approx(np.logaddexp.reduce(kept), rel=1e-12)
    kept = [s for t, s in zip(every.trees, every.scores, strict=True)
            if (0, 1, grammar.symbols.index("T")) not in every._spans(t)]  # fmt: skip
    limited = parses.constrained(forbidden=[(0, 1, "T")])
    assert limited.log_partition() == pytest.approx(np.logaddexp.reduce(kept), rel=1e-12)
    again = pickle.loads(pickle.dumps(limited))
    assert again.argmax() == limited.argmax()


def test_inner_symbols_are_left_out_of_trees():
    rules = [("S", ("a", "(S|a)"), 0.0), ("(S|a)", ("b", "(S|a)"), 0.0), ("(S|a)", ("b", "c"), 0.0)]
    best = tw.Grammar(rules, inner=["(S|a)"]).parse(["a", "b", "b", "b", "c"]).argmax()
    assert str(best.tree) == "(S a b b b c)"


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_a_batch_answers_as_its_members_do_bit_for_bit(n_jobs):
    grammar = tw.Grammar(AMBIGUOUS)
    members = [grammar.parse(["a"] * n) for n in (4, 1, 7, 2, 9, 3)]
    batch = tw.Batch(members, n_jobs=n_jobs)
    assert batch.argmax() == [one.argmax() for one in members]
    assert batch.log_partition().tolist() == [one.log_partition() for one in members]
    for found, one in zip(batch.marginals(), members, strict=True):
        assert found.tobytes() == one.marginals().tobytes()


# A judge that was written by others.


def test_the_viterbi_parser_of_nltk_agrees():
    nltk = pytest.importorskip("nltk", reason="nltk is a judge of grammars; it is not installed")
    text = """
        S -> NP VP [1.0]
        VP -> V NP [0.6] | VP PP [0.4]
        NP -> NP PP [0.3] | D N [0.4] | 'she' [0.3]
        PP -> P NP [1.0]
        D -> 'the' [0.7] | 'a' [0.3]
        N -> 'man' [0.5] | 'park' [0.2] | 'telescope' [0.3]
        V -> 'saw' [1.0]
        P -> 'in' [0.4] | 'with' [0.6]
    """
    theirs = nltk.PCFG.fromstring(text)
    rules = [
        (str(rule.lhs()), tuple(str(child) for child in rule.rhs()), math.log(rule.prob()))
        for rule in theirs.productions()
    ]
    grammar = tw.Grammar(rules)
    parser = nltk.ViterbiParser(theirs)
    texts = ["she saw the man", "she saw the man in the park", "the man saw a man with a telescope in the park"]
    for sentence in map(str.split, texts):
        (tree,) = parser.parse(sentence)
        ours = grammar.parse(sentence).argmax()
        assert ours.score == pytest.approx(tree.logprob() * math.log(2), rel=1e-9)
        assert str(ours.tree) == " ".join(tree.pformat().split())
        total = math.log(sum(one.prob() for one in nltk.InsideChartParser(theirs).parse(sentence)))
        assert grammar.parse(sentence).log_partition() == pytest.approx(total, rel=1e-9)


# Bad input, and edges.


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ([], "one rule at least"),
        ([("S", (), 0.0)], "no children"),
        ([("S", "a", 0.0), ("S", ("a",), 1.0)], "twice"),
        ([("S", "a", math.nan)], "expected a number or -inf"),
        ([("S", "a", math.inf)], "expected a number or -inf"),
        ([("S", "a")], r"expected \(parent, children, score\)"),
        ([("S", ("a", 3), 0.0)], "expected text"),
        ([("A", "B", 0.0), ("B", "C", 0.0), ("C", "A", 0.0), ("A", "a", 0.0)], "C -> A -> B -> C"),
        ([("A", "A", 0.0)], "cycle, A -> A"),
    ],
)
def test_wrong_rules_are_refused(rules, reason):
    with pytest.raises(InvalidInput, match=reason):
        tw.Grammar(rules)


def test_wrong_symbols_are_refused():
    rules = [("S", "a", 0.0)]
    with pytest.raises(InvalidInput, match="start symbol 'T'"):
        tw.Grammar(rules, "T")
    with pytest.raises(InvalidInput, match="start symbol 'a'"):
        tw.Grammar(rules, "a")
    with pytest.raises(InvalidInput, match="inner symbol 'B' has a rule with one child"):
        tw.Grammar([("S", ("B", "B"), 0.0), ("B", "a", 0.0)], inner=["B"])


def test_sentences_without_a_tree_say_where():
    grammar = tw.Grammar([("S", ("A", "B"), 0.0), ("A", "a", 0.0), ("B", "b", 0.0)])
    with pytest.raises(Unsatisfiable, match="beyond position"):
        grammar.parse(["b", "a"]).argmax()
    with pytest.raises(Unsatisfiable, match="there are no words"):
        grammar.parse([]).argmax()
    assert grammar.parse([]).log_partition() == -math.inf
    with pytest.raises(Unsatisfiable, match="no terminal is allowed at position 1"):
        grammar.parse([{"a": 0.0}, {}]).argmax()
    with pytest.raises(InvalidInput, match="the word 'c' at position 1 is not a terminal"):
        grammar.parse(["a", "c"])
    with pytest.raises(InvalidInput, match="Split it into words"):
        grammar.parse("a b")


def test_wrong_scores_are_refused():
    grammar = tw.Grammar([("S", ("A", "B"), 0.0), ("A", "a", 0.0), ("B", "b", 0.0)])
    for bad in (math.nan, math.inf):
        with pytest.raises(InvalidInput, match=r"scores\[1, 0\]"):
            grammar.parse([[0.0, 0.0], [bad, 0.0]])
    with pytest.raises(InvalidInput, match="shape"):
        grammar.parse(np.zeros((2, 3)))
    with pytest.raises(InvalidInput, match="2 words and 1 tags"):
        grammar.parse(["x", "y"], tags=["a"])


def test_trees_of_other_words_or_symbols_are_refused():
    parses = tw.Grammar([("S", ("A", "B"), 0.0), ("A", "a", 0.0), ("B", "b", 0.0)]).parse(["a", "b"])
    assert parses.score(tw.Constituent.from_text("(S (A a) (B b))")) == 0.0
    assert parses.score(tw.Constituent.from_text("(S (B a) (A b))")) == -math.inf
    with pytest.raises(InvalidInput, match="'X' is not a symbol"):
        parses.score(tw.Constituent.from_text("(X (A a) (B b))"))
    with pytest.raises(InvalidInput, match="words of the tree"):
        parses.score(tw.Constituent.from_text("(S (A a))"))


def test_one_word_and_scores_with_words():
    grammar = tw.Grammar([("NP", "NN", -1.0), ("NP", "PRP", -0.5)])
    best = grammar.parse([[0.0, -2.0]], words=["rain"]).argmax()
    assert (str(best.tree), best.score) == ("(NP (NN rain))", -1.0)


# The grammar of a treebank.

TREEBANK = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
    "(S (NP (DT the) (JJ old) (NN cat)) (VP (VBZ sleeps) (ADVP (RB here))))",
    "(S (NP (NNP Kim)) (VP (VBZ sees) (NP (DT the) (NN dog)) (PP (IN in) (NP (NNP Rome)))))",
    "(S (VP (VB look)))",
    "(FRAG (NP (NNP Rome)))",
]


def treebank():
    return [tw.Constituent.from_text(text) for text in TREEBANK]


def test_scores_of_treebank_rules_are_relative_frequencies():
    grammar = tw.Grammar.from_trees(treebank())
    probability = {(parent, children): math.exp(score) for parent, children, score in grammar.rules}
    assert probability["(start)", ("S",)] == pytest.approx(3 / 5)
    assert probability["(start)", ("S+VP",)] == pytest.approx(1 / 5)
    assert probability["NP", ("DT", "NN")] == pytest.approx(2 / 5)
    assert probability["VP", ("VBZ", "NP", "PP")] == pytest.approx(1 / 3)
    assert sum(p for (parent, _), p in probability.items() if parent == "VP") == pytest.approx(1.0)


@pytest.mark.parametrize("vertical", [1, 2, 3])
@pytest.mark.parametrize("horizontal", [None, 0, 1, 2])
def test_the_score_of_a_treebank_tree_is_that_of_its_rules(vertical, horizontal):
    grammar = tw.Grammar.from_trees(treebank(), vertical=vertical, horizontal=horizontal)
    totals = Counter()
    for parent, _, score in grammar.rules:
        totals[parent] += math.exp(score)
    np.testing.assert_allclose(list(totals.values()), 1.0)
    for tree in treebank():
        parses = grammar.parse(tree.leaves(), tags=tree.tags())
        assert -math.inf < parses.score(tree) <= parses.argmax().score + 1e-12
        assert tree in [one.tree for one in parses.kbest(50)]
        # From words: the words of the best tree have the tags that it says.
        best = grammar.parse(tree.leaves()).argmax()
        assert best.tree.leaves() == tree.leaves()


def test_ancestors_part_symbols_and_are_not_shown():
    grammar = tw.Grammar.from_trees(treebank(), vertical=2)
    assert {"NP^S", "NP^VP", "NP^PP", "S"} <= set(grammar.symbols)
    best = grammar.parse(["the", "dog", "barks"]).argmax()
    assert str(best.tree) == "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"


def test_chains_of_unary_brackets_come_back():
    best = tw.Grammar.from_trees(treebank()).parse(["look"]).argmax()
    assert str(best.tree) == "(S (VP (VB look)))"


def test_words_never_seen_have_tags_by_their_shape():
    grammar = tw.Grammar.from_trees(treebank())
    best = grammar.parse(["the", "horse", "runs"]).argmax().tree
    assert best.tags() == ["DT", "NN", "VBZ"]


def test_a_tag_that_is_also_a_label_stays_apart():
    trees = [tw.Constituent.from_text("(X (X a) (Y (X b)))")]
    best = tw.Grammar.from_trees(trees).parse(["a", "b"], tags=["X", "X"]).argmax()
    assert best.tree == trees[0]


def test_wrong_treebanks_are_refused():
    with pytest.raises(InvalidInput, match="'b' of tree 0 has no tag"):
        tw.Grammar.from_trees([tw.Constituent.from_text("(S (A a) b)")])
    with pytest.raises(InvalidInput, match="there are no trees"):
        tw.Grammar.from_trees([])
    with pytest.raises(InvalidInput, match="expected a Constituent"):
        tw.Grammar.from_trees(["(S (A a))"])
    with pytest.raises(InvalidInput, match="vertical"):
        tw.Grammar.from_trees(treebank(), vertical=0)
    with pytest.raises(InvalidInput, match="the tag 'ZZ' at position 0"):
        tw.Grammar.from_trees(treebank()).parse(["a"], tags=["ZZ"])
