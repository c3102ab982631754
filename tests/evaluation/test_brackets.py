"""Brackets are counted as evalb counts them."""

import sys
import types

import numpy as np
import pytest

from reference.published import located
from trelliswork.corpora import read_brackets
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import bootstrap_of_counts, bracket_scores
from trelliswork.structures.constituents import Constituent

GOLD = "(TOP (S (NP (PRP She)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN in) (NP (NN rain)))) (. .)))"


def score(gold, guess, **how):
    return bracket_scores([gold], [guess], **how)


def counts(gold, guess, **how):
    return tuple(score(gold, guess, **how).counts[0].tolist())


def test_the_right_tree_is_right():
    scores = score(GOLD, GOLD)
    assert (scores.precision, scores.recall, scores.f1) == (1.0, 1.0, 1.0)
    assert (scores.complete_match, scores.no_crossing, scores.average_crossing) == (1.0, 1.0, 0.0)
    assert scores.tagging_accuracy == 1.0
    assert scores.overall.support == 6


def test_brackets_that_cross_gold_ones_are_counted_once_each():
    guess = "(S (NP (PRP She)) (X (VP (VBD saw) (NP (DT a) (NN man)) (IN in)) (NN rain)) (. .))"
    scores = score(GOLD, guess)
    # (1, 5, VP) crosses (4, 6, PP); (1, 6, X) is wrong but crosses nothing
    assert scores.crossing == 1
    assert scores.no_crossing == 0.0
    assert scores.counts.tolist() == [[3, 5, 6]]


def test_punctuation_is_deleted_from_both_trees():
    gold = "(S (`` ``) (NP (NN x)) (, ,) (VP (VBZ y)) (. .) ('' ''))"
    assert counts(gold, "(S (NP (`` ``) (NN x) (, ,)) (VP (VBZ y) (. .)) ('' ''))") == (3, 3, 3)
    assert counts(gold, "(S (NP (`` ``) (NN x) (, ,)) (VP (VBZ y) (. .)) ('' ''))", punctuation=()) == (1, 3, 3)
    # a bracket around punctuation only is gone
    assert counts("(S (NN x) (PRN (. .)))", "(S (NN x) (. .))") == (1, 1, 1)
    # brackets among words are no punctuation to evalb
    assert counts("(NP (-LRB- -LRB-) (NN x))", "(NP (-LRB- -LRB-) (NP (NN x)))") == (1, 2, 1)


def test_particles_count_as_adverbs():
    gold, guess = "(VP (VB go) (PRT (RP up)))", "(VP (VB go) (ADVP (RP up)))"
    assert counts(gold, guess) == (2, 2, 2)
    assert counts(gold, guess, equal={}) == (1, 2, 2)


def test_the_top_is_not_counted():
    assert counts("(TOP (S (NN x)))", "(S (NN x))") == (1, 1, 1)
    assert counts("(ROOT (S (NN x)))", "(S (NN x))", ignored=["ROOT"]) == (1, 1, 1)


def test_equal_brackets_are_as_many_as_there_are():
    assert counts("(NP (NP (NN x)))", "(NP (NP (NP (NN x))))") == (2, 3, 2)
    assert counts("(NP (NP (NP (NN x))))", "(NP (NN x))") == (1, 1, 3)


def test_empties_and_function_tags_are_removed():
    assert counts("(S (NP-SBJ-1 (NN x)) (VP (VB y) (NP (-NONE- *-1))))", "(S (NP (NN x)) (VP (VB y)))") == (3, 3, 3)


def test_tags_are_scored_where_words_are_not_deleted():
    scores = score("(S (NN x) (VB y) (. .))", "(S (NN x) (NN y) (NN .))")
    assert scores.tags.support == 2
    assert scores.tagging_accuracy == 0.5


def test_a_tree_that_was_not_found_has_no_brackets():
    scores = bracket_scores([GOLD, GOLD], ["()", Constituent("TOP")])
    assert scores.counts.tolist() == [[0, 0, 6]] * 2
    assert scores.f1 == scores.tagging_accuracy == 0.0


def test_no_sentences_score_nothing():
    scores = bracket_scores([], [])
    assert scores.f1 == scores.complete_match == scores.average_crossing == scores.no_crossing == 0.0
    assert scores.counts.shape == (0, 3)


def test_each_label_is_scored():
    scores = score(GOLD, "(S (NP (PRP She)) (VP (VBD saw) (NP (DT a) (NN man) (IN in)) (NP (NN rain))) (. .))")
    assert scores.per_label["NP"].as_dict()["correct"] == 2
    assert scores.per_label["PP"].recall == 0.0
    assert scores.as_dict()["per_label"]["VP"]["f1"] == 1.0
    assert "complete" in str(scores)
    assert str(scores).splitlines()[1].startswith("NP")


@pytest.mark.parametrize(
    ("gold", "guess", "told"),
    [
        ("(NP (NN x))", "(NP (NN y))", "word 0 is 'y', not 'x'"),
        ("(NP (NN x))", "(NP (NN x) (NN y))", "it has 2 words, not 1"),
        ("(NP (NN x)", "(NP (NN x))", r"y_true\[0\]: .*not closed"),
        ("(NP (NN x))", 3, r"y_pred\[0\]: a tree is 3"),
    ],
)
def test_trees_over_other_words_are_refused(gold, guess, told):
    with pytest.raises(InvalidInput, match=told):
        score(gold, guess)


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(InvalidInput, match="y_pred has 1 sequences but y_true has more"):
        bracket_scores([GOLD, GOLD], [GOLD])


def test_the_bootstrap_draws_sentences():
    worse = "(S (NP (PRP She)) (VP (VBD saw) (NP (DT a) (NN man) (IN in) (NN rain))) (. .))"
    one, two = bracket_scores([GOLD] * 50, [worse] * 50), bracket_scores([GOLD] * 50, [GOLD] * 25 + [worse] * 25)
    test = bootstrap_of_counts(one.counts, two.counts, "brackets", n_samples=500)
    assert test.first.f1 == one.f1
    assert test.difference == pytest.approx(two.f1 - one.f1)
    assert test.p_value < 0.01
    assert test.measure == "brackets"
    with pytest.raises(InvalidInput, match="shapes"):
        bootstrap_of_counts(one.counts, two.counts[1:])


def test_pyevalb_counts_the_same_brackets_of_the_treebank_sample():
    """It deletes no punctuation and counts a bracket that occurs twice once; apart from that its counts are evalb's."""
    try:
        import pytablewriter  # noqa: F401
    except ImportError:
        sys.modules["pytablewriter"] = types.ModuleType("pytablewriter")  # for tables that nobody asks for here
    scorer = pytest.importorskip("PYEVALB.scorer", reason="PYEVALB is not installed").Scorer()
    parser = pytest.importorskip("PYEVALB.parser")
    rng = np.random.default_rng(0)
    for i, tree in enumerate(
        read_brackets(located("ptb_sample/trees.mrg.gz"), empties=False, functions=False, indices=False)
    ):
        if i % 20 or len(tree.leaves()) < 2 or len(set(tree.spans())) < len(tree.spans()):
            continue
        spans = [s for s in tree.spans() if s.start == 0 or rng.random() < 0.8]
        spans += [(s.start, s.stop, "X") for s in spans if rng.random() < 0.2]
        guess = Constituent.from_spans(spans, tree.leaves(), tree.tags())
        if len(set(guess.spans())) < len(guess.spans()):
            continue
        ours = bracket_scores([tree], [guess], punctuation=(), ignored=(), equal={})
        theirs = scorer.score_trees(*(parser.create_from_bracket_string(str(t)) for t in (tree, guess)))
        assert ours.counts[0].tolist() == [theirs.matched_brackets, theirs.test_brackets, theirs.gold_brackets]
        assert ours.crossing == theirs.cross_brackets
