"""Constituency parsing: answers against the list of all trees, every learner, files, limits, and wrong input."""

import itertools
import math
import pickle
import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference.bracketings import every_bracketing
from trelliswork import _core, learners
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures.constituents import Constituent

TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
    "(S (NP (PRP it)) (VP (VBZ sees) (NP (DT a) (NN cat))))",
    "(S (VP (VB go)))",
    "(S (NP (NP (DT the) (NN cat)) (PP (IN in) (NP (NN rain)))) (VP (VBZ sees) (NP (PRP it))))",
    "(UH yes)",
    "(S (NP (PRP it)) (VP (VBZ rains)) (. .))",
]
GOLD = [Constituent.from_text(tree) for tree in TREES]
NEW = [("the", "DT"), ("dog", "NN"), ("sees", "VBZ"), ("rain", "NN")]


def parser(learner="pa", **how):
    return tw.ConstituencyParser(learner, **how).fit(GOLD)


def every_tree(model, n):
    """All trees over n words that the model has, as rows."""
    found = [np.array(tree, dtype=np.uint32).reshape(-1, 3) for tree in every_bracketing(n, len(model.labels))[0]]
    kept = []
    for rows in found:
        try:
            model.structure.parts_of(np.array([n], dtype=np.uint32), rows.ravel())
        except ValueError:
            continue
        kept.append(rows)
    return kept


@pytest.fixture(scope="module")
def small():
    """Few labels, so that all trees can be listed."""
    trees = ["(A (B (X a) (Y b)) (X a))", "(A (Y b) (B (X a) (Y b)))", "(A (X a) (X a) (Y b))", "(A (B (Y b)))"]
    return tw.ConstituencyParser(tw.CRF(l2=0.1)).fit([Constituent.from_text(tree) for tree in trees])


@pytest.mark.parametrize("words", [["a"], ["a", "b"], ["b", "a", "a"]])
def test_answers_are_those_of_the_list_of_all_trees(small, words):
    x = [(word, {"a": "X", "b": "Y"}[word]) for word in words]
    model = small._fitted()
    (sources,) = model.sources([x])
    batch = model.batch(sources, 1)
    trees = every_tree(model, len(x))
    scores = np.array([batch.scores_of([rows])[0] for rows in trees])
    total = np.logaddexp.reduce(scores)
    order = np.argsort(-scores, kind="stable")
    kbest = small.predict_kbest([x], 5)[0]
    np.testing.assert_allclose([p for _, p in kbest], (scores - total)[order[:5]], atol=1e-9)
    best = Constituent.from_spans(
        [(a, b, label) for a, b, k in trees[order[0]].tolist() for label in model.label_chains[k]],
        words,
        [t for _, t in x],
    )
    assert small.predict([x]) == [best] == [kbest[0][0]]
    table = np.zeros((len(x), len(x) + 1, len(model.labels)))
    for rows, score in zip(trees, scores, strict=True):
        for a, b, k in rows.tolist():
            table[a, b, k] += math.exp(score - total)
    np.testing.assert_allclose(small.predict_marginals([x])[0], table, atol=1e-9)
    for tree, log_p in kbest:
        assert small.log_prob([x], [tree])[0] == pytest.approx(log_p, abs=1e-9)


def test_the_tree_of_least_risk_has_the_least_expected_cost(small):
    x = [("a", "X"), ("b", "Y"), ("a", "X")]
    model = small._fitted()
    (sources,) = model.sources([x])
    batch = model.batch(sources, 1)
    trees = every_tree(model, 3)
    p = np.exp([batch.scores_of([rows])[0] for rows in trees])
    p /= p.sum()
    sets = [set(map(tuple, rows.tolist())) for rows in trees]
    plain = [set(tree) for tree in every_bracketing(3, len(model.labels))[0]]
    risks = [sum(q * len(one ^ other) for q, other in zip(p, sets, strict=True)) for one in plain]
    ((rows, _),) = batch.least_risk()[0]
    found = set(map(tuple, rows.tolist()))
    assert risks[plain.index(found)] == pytest.approx(min(risks), abs=1e-9)
    assert len(small.set_params(mbr=True).predict([x])) == 1
    small.set_params(mbr=False)


@pytest.mark.parametrize("name", learners.names())
@pytest.mark.parametrize("rules", ["seen", None])
def test_every_learner_learns_a_handful_of_trees(name, rules):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        found = parser(name, rules=rules)
    assert found.score(GOLD) > 0.9
    assert found.predict([NEW])[0].leaves() == [word for word, _ in NEW]


@pytest.mark.parametrize("how", [{}, {"rules": "all"}, {"rules": None}, {"hash_bits": 12}, {"attributes": "all"}])
def test_trees_that_were_learned_are_found_again(how):
    assert parser(**how).predict(GOLD)[:4] == GOLD[:4]


def test_a_word_without_constituents_is_below_the_top():
    assert str(parser().predict([[("yes", "UH")]])[0]) == "(TOP (UH yes))"


def test_chains_of_unary_constituents_are_restored():
    assert parser().predict([GOLD[2]]) == [GOLD[2]]
    assert "S+VP" in parser().classes_


def test_labels_with_what_joins_chains_in_them_are_learned():
    trees = [Constituent.from_text("(A+B (C (X a)))"), Constituent.from_text("(A+B (X a) (C (Y b) (Y b)))")]
    found = tw.ConstituencyParser().fit(trees)
    assert found.predict(trees) == trees
    assert "A+B&C" in found.classes_


def test_sentences_without_words_have_empty_trees():
    found = tw.ConstituencyParser().fit([*GOLD, Constituent("TOP")])
    assert found.predict([[], GOLD[0]]) == [Constituent("TOP"), GOLD[0]]
    assert found.predict([[]]) == [Constituent("TOP")]
    assert found.predict([]) == []
    assert parser("crf").predict_marginals([[]])[0].shape == (0, 1, len(found.classes_))


def test_words_alone_will_do():
    X = [tree.leaves() for tree in GOLD]
    found = tw.ConstituencyParser().fit(X, TREES)
    assert str(found.predict(X)[0]) == "(S (NP (_ the) (_ dog)) (VP (_ barks)))"
    assert found.score(X, TREES) == 1.0


def test_a_label_that_was_never_seen_has_no_probability():
    found = parser("crf")
    x = [tree.tagged() for tree in GOLD[:2]]
    log_p = found.log_prob(x, [TREES[0], TREES[1].replace("NP", "QP")])
    assert log_p[0] > -1.0
    assert log_p[1] == -math.inf
    assert found.score(x, [TREES[0], TREES[1].replace("NP", "QP")]) < 1.0


def test_known_constituents_are_kept():
    found = parser("crf")
    (free,) = found.predict([NEW])
    assert (1, 3, "NP") not in free.spans()
    (tree,) = found.predict([NEW], fixed=[[(1, 3, "NP")]])
    assert (1, 3, "NP") in tree.spans()
    (tree,) = found.predict([NEW], fixed=[[(0, 3)]])
    assert any(span[:2] == (0, 3) for span in tree.spans())
    mask = np.ones((4, 5), dtype=bool)
    mask[:, 4] = False
    mask[0, 4] = True
    (tree,) = found.predict([NEW], allowed=[mask])
    assert [span[:2] for span in tree.spans() if span.stop == 4 and span.start > 0] == []
    table = found.predict_marginals([NEW], fixed=[[(1, 3)]])[0]
    assert table[1, 3].sum() == pytest.approx(1.0)
    assert found.predict([NEW, NEW], fixed=[None, [(1, 3)]])[0] == free


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"fixed": [[(0, 5)]]}, r"fixed\[0\] has \(0, 5\)"),
        ({"fixed": [[(0, 2, "ZZ")]]}, "never saw"),
        ({"fixed": []}, "one entry for each of the 1 sentences"),
        ({"allowed": [np.ones((4, 4), dtype=bool)]}, "expected bool"),
        ({"allowed": [np.ones((4, 5))]}, "expected bool"),
    ],
)
def test_wrong_limits_are_refused(how, told):
    with pytest.raises(InvalidInput, match=told):
        parser().predict([NEW], **how)


def test_limits_that_leave_no_tree_are_told():
    with pytest.raises(Unsatisfiable, match=r"X\[0\]"):
        parser().predict([NEW], fixed=[[(0, 2), (1, 3)]])


def test_files_keep_everything(tmp_path):
    found = parser(tw.CRF(l2=0.5), rules="all")
    path = tmp_path / "parser.tw"
    found.save(path)
    loaded = tw.load(path)
    assert isinstance(loaded, tw.ConstituencyParser)
    assert loaded.predict(GOLD) == found.predict(GOLD)
    np.testing.assert_array_equal(loaded.predict_marginals([NEW])[0], found.predict_marginals([NEW])[0])
    assert (loaded.rules, loaded.attributes, loaded.learner.l2) == ("all", "gold", 0.5)
    assert pickle.loads(pickle.dumps(found)).predict([NEW]) == found.predict([NEW])


def test_an_explanation_adds_up_to_the_score_of_the_tree():
    found = parser("crf")
    said = found.explain(NEW)
    (sources,) = found._fitted().sources([NEW])
    ((_, score),) = found._fitted().batch(sources, 1).best()[0]
    assert sum(one.score for one in said) == pytest.approx(score, rel=1e-5)
    assert (said[0].start, said[0].stop) == (0, 4)
    assert 0.0 < said[0].probability <= 1.0
    assert any(name.startswith("rule: ") for name, _ in said[0].contributions)
    assert any(name.startswith("first.word=") for name, _ in itertools.chain(*(one.contributions for one in said)))


def test_weights_have_names():
    found = parser()
    names = {weight.attribute for weight in found.weights()}
    assert "first.pos=DT" in names
    assert any(weight.attribute is None and weight.previous == "S" for weight in found.weights())


def test_development_data_choose_the_epoch():
    found = tw.ConstituencyParser(tw.PassiveAggressive(epochs=6), patience=2).fit(GOLD, None, GOLD)
    assert found.history_[found.best_iteration_ - 1]["dev_score"] == max(h["dev_score"] for h in found.history_)


def test_the_number_of_threads_changes_nothing():
    one, two = (parser("crf", n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_marginals([NEW])[0], two.predict_marginals([NEW])[0])


def test_the_oracle_is_what_a_learner_sees():
    oracle = tw.oracle(tw.ConstituencyParser(), GOLD, TREES)
    assert isinstance(oracle, _core.Oracle)
    assert oracle.n_examples == len(GOLD)


def test_weights_of_sentences_count():
    twice = tw.ConstituencyParser(tw.CRF(l2=1.0)).fit([*GOLD, GOLD[0]])
    weighed = tw.ConstituencyParser(tw.CRF(l2=1.0)).fit(GOLD, sample_weight=[2, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(twice.predict_marginals([NEW])[0], weighed.predict_marginals([NEW])[0], atol=1e-3)


@pytest.mark.parametrize(
    ("X", "y", "told"),
    [
        ([["a", "b"]], ["(S (X a))"], r"y\[0\] has 1 words, but the sentence has 2"),
        ([["a", "b"]], ["(S (X a) (X c))"], "'c' where the sentence has 'b', at 1"),
        ([["a"]], ["(S (X a)"], r"y\[0\]: .*not closed"),
        ([["a"]], [3], r"y\[0\] is 3"),
        ([["a"]], [], "0 trees for 1 sentences"),
        ([["a"]], None, "y is missing"),
        ([[]], ["(TOP)"], "no words"),
        ([[{"w": "a"}]], ["(S (X a))"], "expected words, or tuples of columns"),
    ],
)
def test_wrong_examples_are_refused(X, y, told):
    with pytest.raises(InvalidInput, match=told):
        tw.ConstituencyParser().fit(X, y)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"rules": "some"}, "rules is 'some'"),
        ({"attributes": "few"}, "attributes is 'few'"),
        ({"mbr": 3}, "mbr"),
        ({"features": tw.Templates("word")}, "meets labels"),
        ({"features": tw.Templates("rule: split.pos")}, "no line about spans"),
    ],
)
def test_wrong_parameters_are_refused(how, told):
    with pytest.raises(InvalidInput, match=told):
        parser(**how)


def test_a_sentence_with_too_many_spans_is_refused():
    found = parser()
    with pytest.raises(InvalidInput, match=r"X\[1\] has 30000 words"):
        found.predict([NEW, [("a", "b")] * 30_000])
