"""Dependency parsing: what goes in and comes out, probabilities, limits, files, errors."""

import io
import warnings

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import learners
from trelliswork.corpora import Treebank
from trelliswork.errors import InvalidInput, UncalibratedScores, Unsatisfiable
from trelliswork.models.dependency import words_of

SMALL = {"hash_bits": 14}


@pytest.fixture(scope="module")
def treebank():
    return Treebank.from_sentences(tw.corpora.sentences()[:60])


@pytest.fixture(scope="module")
def parser(treebank):
    return tw.DependencyParser(**SMALL).fit(treebank)


@pytest.fixture(scope="module")
def crf(treebank):
    learner = tw.CRF(l2=0.1, solver="sgd", max_iter=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        return tw.DependencyParser(learner, **SMALL).fit(treebank)


def trees(treebank):
    return [(sentence.heads, sentence.relations) for sentence in treebank]


def test_what_was_learned_is_found_again(parser, treebank):
    scores = parser.scores(treebank)
    assert scores.uas > 0.95
    assert scores.las > 0.9
    assert parser.score(treebank) == scores.las
    assert parser.classes_.tolist() == sorted({r for s in treebank for r in s.relations})


def test_all_forms_of_input_are_the_same(parser, treebank):
    found = parser.predict(treebank)
    names = ("form", "lemma", "upos", "xpos", "feats")
    rows = [sentence.rows for sentence in treebank]
    dicts = [[dict(zip(names, row, strict=True)) for row in own] for own in rows]
    for X in (treebank.tokens, rows, dicts, list(treebank), tw.corpora.sentences()[:60]):
        assert parser.predict(X) == found
    assert parser.predict(iter(rows)) == found
    for X, y in ((rows, trees(treebank)), (iter(dicts), iter(treebank)), (list(treebank), None)):
        assert tw.DependencyParser(**SMALL).fit(X, y).predict(treebank) == found


def test_answers_are_trees_and_come_as_numbers_too(parser, treebank):
    for heads, relations in parser.predict(treebank):
        assert len(heads) == len(relations)
        assert heads.count(0) == 1
        for m in range(1, len(heads) + 1):
            seen = set()
            while m:
                assert m not in seen
                seen.add(m)
                m = heads[m - 1]
    coded = parser.predict_coded(treebank)
    assert coded.heads.tolist() == [h for heads, _ in parser.predict(treebank) for h in heads]
    assert treebank.with_trees(coded) == treebank.with_trees(parser.predict(treebank))


def test_without_labels_there_are_heads_only(treebank):
    rows, heads = [s.rows for s in treebank], [s.heads for s in treebank]
    parser = tw.DependencyParser(labels=None, **SMALL).fit(rows, heads)
    assert parser.predict(rows[:1]) == [heads[0]]
    assert parser.scores(rows, heads).las is None
    assert parser.score(rows, heads) == parser.scores(rows, heads).uas
    assert tw.DependencyParser(labels=None, **SMALL).fit(treebank).predict(rows) == parser.predict(rows)
    assert tw.DependencyParser(**SMALL).fit(rows, heads).predict(rows) == parser.predict(rows)


def test_relations_of_one_head_are_a_chain(treebank, tmp_path):
    parser = tw.DependencyParser(labels="chain", **SMALL).fit(treebank)
    assert parser.score(treebank) > 0.9
    assert parser.classes_.tolist() == sorted({r for s in treebank for r in s.relations})
    alone = tw.DependencyParser(labels=None, **SMALL).fit(treebank)
    assert [heads for heads, _ in parser.predict(treebank)] == alone.predict(treebank)
    parser.save(tmp_path / "parser.tw")
    again = tw.load(tmp_path / "parser.tw")
    assert again.predict(treebank) == parser.predict(treebank)
    assert again.classes_.tolist() == parser.classes_.tolist()
    n = len(treebank[1].heads)
    heads, relations = parser.predict([treebank[1]], fixed=[[None] * (n - 1) + [1]])[0]
    assert (heads[-1], len(relations)) == (1, n)
    for question in (
        lambda: parser.predict_kbest(treebank, 2),
        lambda: parser.log_prob(treebank),
        lambda: parser.predict_marginals(treebank, labels=True),
        lambda: parser.predict([treebank[1]], fixed=[([None] * n, ["obj"] + [None] * (n - 1))]),
    ):
        with pytest.raises(InvalidInput, match="one after the other"):
            question()
    with pytest.raises(InvalidInput, match="whole trees"):
        tw.DependencyParser(labels="chain", **SMALL).fit([treebank[0].rows], [([None, 3, 0, 3], treebank[0].relations)])


def test_words_alone_are_enough(treebank):
    X = [sentence.words for sentence in treebank]
    assert tw.DependencyParser(**SMALL).fit(X, trees(treebank)).score(X, trees(treebank)) > 0.9


@pytest.mark.parametrize("options", [{}, {"order": 2}, {"projective": False}, {"heads": None}, {"labels": None}])
def test_a_file_gives_the_same_answers(options, treebank, tmp_path):
    parser = tw.DependencyParser(**SMALL, **options).fit(treebank)
    parser.save(tmp_path / "parser.tw", metadata={"made": "here"})
    again = tw.load(tmp_path / "parser.tw")
    assert isinstance(again, tw.DependencyParser)
    assert again.predict(treebank) == parser.predict(treebank)
    assert again.metadata_ == {"made": "here"}
    given, kept = (dict(own.get_params(deep=False), learner=0, features=0) for own in (parser, again))
    assert given == kept
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncalibratedScores)
        assert np.array_equal(again.log_prob(treebank), parser.log_prob(treebank))


def test_a_damaged_file_is_refused(parser):
    file = io.BytesIO()
    parser.save(file)
    tensors, settings = tw.models.loads(file.getvalue(), "model")
    for change in (
        {"scales": {}},
        {"structure": {**settings["structure"], "heads": 0}},
        {"structure": {**settings["structure"], "margin": -1.0}},
        {"labels": settings["labels"][:-1]},
        {"hash_bits": 13},
    ):
        with pytest.raises(tw.InvalidModel):
            tw.load(tw.models.dumps(tensors, {**settings, **change}))


def test_any_number_of_threads_gives_the_same(parser, treebank):
    more = tw.DependencyParser(n_jobs=3, **SMALL).fit(treebank)
    assert np.array_equal(more._model.single_weights, parser._model.single_weights)
    assert more.predict(treebank) == parser.predict(treebank)


def brute(parser, x):
    """All trees of a short sentence that the model may choose, with their scores, best first."""
    model = parser._model
    batch = next(parser._ask([x]))
    (shape,), (scores,) = batch.shapes, batch.parts
    found = model.structure.best(shape, scores, 100_000)
    n = int(shape[0])
    outputs = [(model.structure.output_of(shape, parts), score) for parts, score in found]
    return [(out[:n].tolist(), [model.labels[k] for k in out[n:]], score) for out, score in outputs]


@pytest.mark.parametrize("options", [{}, {"projective": False}])
def test_probabilities_are_those_of_all_trees(options, crf, treebank):
    parser = crf if not options else tw.DependencyParser(tw.MEMM(max_iter=3, solver="sgd"), **SMALL, **options)
    if options:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.ConvergenceWarning)
            parser.fit(treebank)
    x = treebank[0].rows[:2]
    everything = brute(parser, x)
    total = np.logaddexp.reduce([score for _, _, score in everything])
    for (tree, log_p), (heads, relations, score) in zip(parser.predict_kbest([x], 5)[0], everything[:5], strict=True):
        assert tree == (heads, relations)
        assert log_p == pytest.approx(score - total, abs=1e-9)
        assert parser.log_prob([x], [tree])[0] == pytest.approx(log_p, abs=1e-9)
    arcs, labelled = np.zeros((3, 3)), np.zeros((3, 3, len(parser.classes_)))
    for heads, relations, score in everything:
        for m, (h, relation) in enumerate(zip(heads, relations, strict=True), 1):
            arcs[h, m] += np.exp(score - total)
            labelled[h, m, parser.classes_.tolist().index(relation)] += np.exp(score - total)
    np.testing.assert_allclose(parser.predict_marginals([x])[0], arcs, atol=1e-9)
    np.testing.assert_allclose(parser.predict_marginals([x], labels=True)[0], labelled, atol=1e-9)


def test_every_word_has_one_head_for_sure(crf, treebank):
    for table in crf.predict_marginals(treebank[:5]):
        np.testing.assert_allclose(table.sum(axis=0)[1:], 1.0, atol=1e-9)
        assert table[0].sum() == pytest.approx(1.0, abs=1e-9)


def test_the_minimum_risk_tree_has_the_most_probable_heads(crf, treebank):
    careful = tw.DependencyParser(**{**crf.get_params(deep=False), "mbr": True})
    careful.__dict__.update({k: v for k, v in crf.__dict__.items() if k.endswith("_") or k == "_model"})
    for x, (heads, _), table in zip(
        treebank[:20], careful.predict(treebank[:20]), crf.predict_marginals(treebank[:20]), strict=True
    ):
        expected = sum(table[h, m] for m, h in enumerate(heads, 1))
        tree = tw.DependencyTree(np.where(table > 0, table, -np.inf)).argmax()
        assert expected == pytest.approx(tree.score, abs=1e-9), x.words


def test_scores_that_are_no_probabilities_are_told(treebank):
    parser = tw.DependencyParser(**SMALL).fit(treebank)
    with pytest.warns(UncalibratedScores):
        parser.predict_marginals(treebank[:1])


def test_what_is_fixed_stays(parser, treebank):
    x = treebank[1]
    n = len(x.heads)
    for m in range(1, n + 1):
        for head in (0, 1, n):
            if head == m:
                continue
            fixed = [None] * n
            fixed[m - 1] = head
            heads, relations = parser.predict([x], fixed=[fixed])[0]
            assert heads[m - 1] == head
            assert heads.count(0) == 1
    relations = [None] * n
    relations[0] = "obl"
    assert parser.predict([x], fixed=[([None] * n, relations)])[0][1][0] == "obl"
    assert parser.predict([x, x], fixed=[None, (x.heads, x.relations)])[1] == (x.heads, x.relations)


def test_only_what_is_allowed_is_found(parser, treebank):
    x = treebank[1]
    n = len(x.heads)
    allowed = [None] * n
    allowed[n - 1] = {1, 2}
    allowed[0] = [0]
    heads, _ = parser.predict([x], allowed=[allowed])[0]
    assert heads[n - 1] in (1, 2)
    assert heads[0] == 0
    table = crf_free_marginals(parser, x, allowed)
    assert table[3:, n].sum() == pytest.approx(0.0)


def crf_free_marginals(parser, x, allowed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncalibratedScores)
        return parser.predict_marginals([x], allowed=[allowed])[0]


def test_limits_that_leave_no_tree_name_the_word(parser, treebank):
    x = treebank[1]
    n = len(x.heads)
    with pytest.raises(Unsatisfiable, match=r"X\[0\]: .* no head for word"):
        parser.predict([x], allowed=[[[]] + [None] * (n - 1)])
    with pytest.raises(Unsatisfiable):
        parser.predict([x], fixed=[[0, 0] + [None] * (n - 2)])  # two roots


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"fixed": []}, "fixed must have one entry for each of the 1 sentences"),
        ({"fixed": [[1]]}, r"fixed\[0\] must have a head, or None, for each"),
        ({"fixed": [[99] + [None] * 7]}, r"fixed\[0\] has the head 99"),
        ({"fixed": [([None] * 8, ["nose"] + [None] * 7)]}, "the relation 'nose', which the model never saw"),
        ({"allowed": [[1, 2]]}, r"allowed\[0\] has 2 entries"),
        ({"allowed": [[[True]] + [None] * 7]}, r"allowed\[0\] has the head True"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits, message, parser, treebank):
    with pytest.raises(InvalidInput, match=message):
        parser.predict([treebank[1]], **limits)


def test_partial_trees_teach_what_they_know(treebank):
    rng = np.random.default_rng(0)
    rows = [s.rows for s in treebank]
    partial = [([h if rng.random() < 0.7 else None for h in s.heads], s.relations) for s in treebank]
    parser = tw.DependencyParser(**SMALL).fit(rows, partial)
    assert parser.score(rows, trees(treebank)) > 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        summed = tw.DependencyParser(tw.CRF(l2=0.01, solver="sgd", max_iter=6), **SMALL).fit(rows, partial)
    assert summed.score(rows, trees(treebank)) > 0.7
    with pytest.raises(InvalidInput):
        tw.DependencyParser("memm", **SMALL).fit(rows, partial)


def test_gold_that_is_not_projective_is_kept():
    x = [(w, "_", w, w, "_") for w in "abcd"]
    crossing = ([3, 4, 0, 3], ["p", "q", "root", "r"])
    parser = tw.DependencyParser(**SMALL).fit([x] * 3, [crossing] * 3)
    heads, _ = parser.predict([x])[0]
    assert not (heads[0] == 3 and heads[1] == 4)
    free = tw.DependencyParser(projective=False, **SMALL).fit([x] * 3, [crossing] * 3)
    assert free.predict([x]) == [crossing]
    half = ([3, 4, None, 3], ["p", "q", "root", "r"])
    assert tw.DependencyParser(**SMALL).fit([x] * 3, [half] * 3).predict([x])[0][0].count(0) == 1


def test_the_root_of_several_is_a_choice(treebank):
    x = [(w, "_", w, w, "_") for w in "abcd"]
    several = ([0, 1, 0, 3], ["root", "p", "root", "p"])
    assert tw.DependencyParser(single_root=False, **SMALL).fit([x] * 3, [several] * 3).predict([x]) == [several]
    with pytest.raises(InvalidInput, match=r"y\[0\]: a tree has one root, this has 2"):
        tw.DependencyParser(**SMALL).fit([x], [several])


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 3, 1], r"y\[0\]: a tree has one root, this has 0"),
        ([0, 3, 2], r"y\[0\]: word [23] is among its own ancestors"),
        ([0, 1, 4], r"y\[0\] has the head 4"),
        ([0, 2, 1], r"y\[0\]: word 2 "),
        ([0, 1], r"X\[0\] has 3 words but y\[0\] has 2 heads"),
        ([0, 1, "x"], r"y\[0\] has the head 'x'"),
    ],
)
def test_gold_that_is_no_tree_is_refused(heads, message):
    with pytest.raises(InvalidInput, match=message):
        tw.DependencyParser(**SMALL).fit([["a", "b", "c"]], [heads])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"order": 3}, "order is 3"),
        ({"order": 2, "projective": False}, "order=2 needs projective=True"),
        ({"labels": "both"}, "labels is 'both'"),
        ({"heads": 0}, "heads"),
        ({"hash_bits": None}, "hash_bits is None"),
        ({"features": "words"}, "a parser of order 1 does not have"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message, treebank):
    with pytest.raises(InvalidInput, match=message):
        tw.DependencyParser(**parameters).fit(treebank)


def test_templates_that_do_not_fit_are_refused(treebank):
    columns = "columns: form lemma upos xpos feats\n"
    with pytest.raises(InvalidInput, match=r"use DependencyParser\(order=2\)"):
        tw.DependencyParser(features=tw.Templates(columns + "head.form\nsibling: sibling.form")).fit(treebank)
    with pytest.raises(InvalidInput, match="no line about arcs"):
        tw.DependencyParser(features=tw.Templates(columns + "label: head.form")).fit(treebank)
    with pytest.raises(InvalidInput, match="no line about siblings or grandparents"):
        tw.DependencyParser(features=tw.Templates(columns + "head.form & mod.form"), order=2).fit(treebank)
    with pytest.raises(InvalidInput, match="the words of X have 1 columns, but the features look at 4"):
        tw.DependencyParser(features=tw.Templates(columns + "head.xpos")).fit([["a"]], [[0]])


def test_a_relation_never_seen_is_wrong_and_no_more(parser, treebank):
    x = treebank[0]
    odd = [(x.heads, ["nose"] * len(x.heads))]
    assert parser.score([x.rows], odd) == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncalibratedScores)
        assert parser.log_prob([x.rows], odd)[0] == -np.inf


def test_short_and_empty_sentences(parser):
    assert parser.predict([]) == []
    assert parser.predict([[], [("Go", "_", "VERB", "_", "_")]])[0] == ([], [])
    assert parser.predict([[("Go", "_", "VERB", "_", "_")]])[0][0] == [0]
    with pytest.raises(InvalidInput, match="no words to learn from"):
        tw.DependencyParser().fit([[]], [[]])


def test_development_data_choose_the_iteration(treebank):
    parser = tw.DependencyParser(patience=2, **SMALL).fit(treebank[:40], X_dev=treebank[40:])
    scores = [record["dev_score"] for record in parser.history_]
    assert scores[parser.best_iteration_ - 1] == max(scores)
    assert parser.score(treebank[40:]) == pytest.approx(max(scores), abs=0.02)  # in half precision now


def test_training_can_be_taken_up_again(treebank):
    states = []
    parser = tw.DependencyParser(tw.PassiveAggressive(epochs=4), **SMALL)
    whole = parser.fit(treebank, callback=lambda p: states.append(p.state()) or p.number == 4)
    again = tw.DependencyParser(tw.PassiveAggressive(epochs=4), **SMALL).fit(treebank, resume=states[1])
    assert np.array_equal(whole._model.single_weights, again._model.single_weights)
    with pytest.raises(InvalidInput, match="other training data"):
        tw.DependencyParser(tw.PassiveAggressive(epochs=4), **SMALL).fit(treebank[:50], resume=states[1])


@pytest.mark.parametrize("learner", sorted(learners._LEARNERS))
@pytest.mark.parametrize("options", [{}, {"order": 2}, {"projective": False}])
def test_every_learner_learns(learner, options, treebank):
    chosen = learners.by_name(learner)
    if "local" in chosen.asks and options.get("order") == 2:
        with pytest.raises(InvalidInput):  # head selection is about arcs alone
            tw.DependencyParser(learner, hash_bits=10, **options).fit(treebank[:20])
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        parser = tw.DependencyParser(learner, hash_bits=10, **options).fit(treebank[:20])
    assert parser.scores(treebank[:20]).uas > 0.6


def test_explanations_add_up(crf, treebank):
    x = treebank[1]
    words = crf.explain(x)
    heads, relations = crf.predict([x])[0]
    assert [w.head for w in words] == heads
    assert [w.relation for w in words] == relations
    batch = next(crf._ask([x]))
    head, modifier = words_of(batch.shapes[0])
    scores = batch.parts[0].reshape(len(head), -1)
    for word in words:
        at = np.flatnonzero((head == word.head) & (modifier == word.word))[0]
        assert word.score == pytest.approx(scores[at, crf.classes_.tolist().index(word.relation)], abs=1e-4)
        assert 0.0 <= word.probability <= 1.0
    assert crf.weights(3)[0].weight == pytest.approx(np.abs(crf._model.single_weights).max(), abs=1e-6) or (
        crf.weights(3)[0].weight < 0
    )


def test_the_oracle_is_that_of_the_learner(treebank):
    oracle = tw.oracle(tw.DependencyParser(hash_bits=10), treebank, treebank)
    assert oracle.n_examples == len(treebank)
    assert tw.Perceptron(epochs=1).train(oracle).weights.shape == (oracle.n_weights,)
