"""Cross-validation: against the loop that anybody would write, with `fit`, `predict` and the scorers."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

import trelliswork as tw
from trelliswork import learners
from trelliswork.errors import ConvergenceWarning, InvalidInput
from trelliswork.evaluation import (
    cross_validate,
    k_folds,
    learning_curve,
    mcnemar,
    nested_cross_validate,
    span_scores,
    token_scores,
    validate,
)

CORPUS = tw.corpora.ingredients()
X, Y = list(CORPUS.X_train[:120]), list(CORPUS.y_train[:120])


def some(items, indices):
    return [items[i] for i in indices]


def by_hand(estimator, splits):
    """What `fit` and `predict` say of each fold."""
    found = [None] * len(X)
    for train, test in splits:
        fitted = clone(estimator).fit(some(X, train), some(Y, train))
        for i, labels in zip(test, fitted.predict(some(X, test)), strict=True):
            found[i] = labels
    return found


def assert_by_hand(predictions, estimator, splits):
    """The predictions are those of `fit` and `predict`; of labellings with the same score it may be another."""
    for train, test in splits:
        fitted = clone(estimator).fit(some(X, train), some(Y, train))
        for i, labels in zip(test, fitted.predict(some(X, test)), strict=True):
            if predictions[i] != labels:
                chain, numbers = fitted.chain(X[i]), fitted.classes_.tolist()
                one, other = (chain.score([numbers.index(y) for y in path]) for path in (predictions[i], labels))
                assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("name", learners.names())
def test_every_learner_predicts_what_fit_and_predict_would(name):
    tagger = tw.SequenceLabeler(name, constraints="BIO", random_state=1)
    result = cross_validate(tagger, X, Y, folds=3, n_jobs=2)
    assert_by_hand(result.predictions(), tagger, k_folds(len(X), 3))


@pytest.mark.parametrize("name", learners.names())
def test_a_short_run_is_the_beginning_of_a_long_one(name):
    tagger = tw.SequenceLabeler(name, random_state=1)
    duration = learners.by_name(name).duration or "epochs"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = cross_validate(tagger, X, Y, folds=2, grid={f"learner__{duration}": [3, 1, 2]}, n_jobs=1)
        for candidate in result.candidates:
            alone = clone(tagger).set_params(**candidate.params)
            assert_by_hand(result.predictions(candidate), alone, result.splits)


@pytest.mark.parametrize(
    "learner",
    [
        tw.Pegasos(lam=0.01, average_from=0),
        tw.Pegasos(lam=0.01, average_from=0.5),
        tw.Pegasos(lam=0.01, loss="ramp", cccp=2, average_from=1),
        tw.SDM(loss="ramp"),
        tw.LaRank(epochs=3),
        tw.CRF(l1=0.1),
    ],
    ids=repr,
)
def test_so_it_is_with_other_losses_and_averages(learner):
    tagger = tw.SequenceLabeler(learner)
    duration = learner.duration or "epochs"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = cross_validate(tagger, X, Y, folds=2, grid={f"learner__{duration}": [2, 4]}, n_jobs=1)
        for candidate in result.candidates:
            alone = clone(tagger).set_params(**candidate.params)
            assert_by_hand(result.predictions(candidate), alone, result.splits)


def test_settings_that_differ_in_epochs_are_one_run(monkeypatch):
    runs = []
    train = tw.PassiveAggressive.train
    monkeypatch.setattr(tw.PassiveAggressive, "train", lambda self, *a, **b: runs.append(self) or train(self, *a, **b))
    grid = {"learner__C": [0.1, 1.0], "learner__epochs": [1, 2, 3]}
    cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=3, grid=grid)
    assert len(runs) == 2 * 3
    assert {learner.epochs for learner in runs} == {3}


def test_features_are_extracted_once(monkeypatch):
    reads = []
    sources = tw.features.inputs.Inputs.sources
    monkeypatch.setattr(
        tw.features.inputs.Inputs, "sources", lambda self, *a, **b: reads.append(1) or sources(self, *a, **b)
    )
    cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=3, grid={"learner__C": [0.1, 1.0]})
    assert len(reads) == 1


def test_features_of_the_grid_are_their_own():
    grid = {"features": ["words", tw.Templates("suffix(word, 1)\nprefix(word, 1)")], "learner__epochs": [2]}
    result = cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2, grid=grid)
    for candidate in result.candidates:
        alone = tw.SequenceLabeler("pa").set_params(**candidate.params)
        assert_by_hand(result.predictions(candidate), alone, result.splits)


@pytest.mark.parametrize(
    "form",
    [
        lambda x: [{"word": word, "length": len(word) / 10} for word in x],
        lambda x: [["word=" + word, word[-1:]] for word in x],
        lambda x: [(word, word[:1]) for word in x],
        lambda x: np.array([[len(word), word.isdigit(), 1.0] for word in x], dtype=float),
    ],
    ids=["dicts", "attributes", "columns", "numbers"],
)
def test_every_kind_of_token(form):
    formed = [form(x) for x in X]
    tagger = tw.SequenceLabeler(tw.CRF(), min_count=2)
    result = cross_validate(tagger, formed, Y, folds=2)
    for train, test in result.splits:
        fitted = clone(tagger).fit(some(formed, train), some(Y, train))
        assert some(result.predictions(), test) == fitted.predict(some(formed, test))


@pytest.mark.parametrize("how", [{"hash_bits": 12}, {"class_weight": "balanced"}, {"decoder": "mbr"}], ids=str)
def test_every_way_to_make_a_labeler(how):
    tagger = tw.SequenceLabeler(tw.CRF(), **how)
    result = cross_validate(tagger, X, Y, folds=2)
    assert result.predictions() == by_hand(tagger, result.splits)


def test_tables_are_taken_as_they_are(tmp_path):
    path = tmp_path / "train.tsv"
    tw.corpora.write_columns(path, zip(X, Y, strict=True))
    tokens, labels = tw.corpora.read_table(path)
    result = cross_validate(tw.SequenceLabeler("pa"), tokens, labels, folds=2)
    assert result.predictions() == cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2).predictions()


def test_a_label_of_the_sequences_held_out_alone_is_unknown_to_the_model():
    y = [["RARE"] * len(labels) if i == 0 else labels for i, labels in enumerate(Y)]
    train, test = np.arange(1, 100), np.array([0])
    tagger = tw.SequenceLabeler(tw.CRF())
    prepared = tagger.feature_cache(X, y)
    end = prepared.run(tagger, train, test, lambda number: False, lambda snapshot: None, lambda: False)
    assert end.classes == clone(tagger).fit(some(X, train), some(y, train)).classes_.tolist()
    assert "RARE" not in end.classes


def test_scores_are_those_of_the_scorers():
    result = cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=3)
    guess = result.predictions()
    for i, (_, test) in enumerate(result.splits):
        spans, tokens = (scorer(some(Y, test), some(guess, test)) for scorer in (span_scores, token_scores))
        scores = result.best.scores
        assert scores["f1"][i] == pytest.approx(spans.f1)
        assert scores["token_f1"][i] == pytest.approx(tokens.f1)
        assert scores["accuracy"][i] == pytest.approx(tokens.accuracy)
    assert result.best.mean == pytest.approx(result.best.scores["f1"].mean())
    assert result.best.std == pytest.approx(np.std(result.best.scores["f1"], ddof=1))
    assert result.gold == Y


@pytest.mark.parametrize("scoring", ["f1", "token_f1", "accuracy"])
def test_the_best_is_the_highest_mean_of_the_measure(scoring):
    grid = {"learner__C": [0.001, 0.01, 1.0]}
    result = cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2, grid=grid, scoring=scoring)
    assert result.measure == scoring
    assert result.best.mean == max(candidate.scores[scoring].mean() for candidate in result.candidates)


def test_a_function_of_ones_own_is_the_judge():
    def fewest_spans(gold, guess):
        return -float(sum(label != "O" for labels in guess for label in labels))

    result = cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2, grid={"min_count": [1, 60]}, scoring=fewest_spans)
    assert result.measure == "fewest_spans"
    assert result.best.mean == max(candidate.scores["fewest_spans"].mean() for candidate in result.candidates)


@given(st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=5)
def test_results_are_the_same_for_any_number_of_jobs(n_jobs, seed):
    grid = {"learner": ["perceptron", "crf"], "min_count": [1, 2]}
    tagger = tw.SequenceLabeler(random_state=seed)
    one, many = (cross_validate(tagger, X, Y, folds=2, grid=grid, n_jobs=jobs) for jobs in (1, n_jobs))
    for a, b in zip(one.candidates, many.candidates, strict=True):
        assert one.predictions(a) == many.predictions(b)
        assert {name: values.tolist() for name, values in a.scores.items()} == {
            name: values.tolist() for name, values in b.scores.items()
        }


def test_two_settings_are_compared_on_all_tokens():
    result = cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=3, grid={"learner__epochs": [1, 5]})
    test = result.compare(0, 1)
    assert test == mcnemar(Y, result.predictions(0), result.predictions(1))
    assert test.n_tokens == sum(map(len, Y))


def test_groups_are_held_out_together():
    groups = [i // 10 for i in range(len(X))]
    result = cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=3, groups=groups)
    for train, test in result.splits:
        assert not {groups[i] for i in train} & {groups[i] for i in test}


def test_curves_have_every_iteration_and_end_where_the_run_does():
    grid = {"learner__epochs": [2, 4]}
    result = cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2, grid=grid, curves=True)
    for candidate, epochs in zip(result.candidates, (2, 4), strict=True):
        for fold, curve in enumerate(candidate.curves):
            assert [point["iteration"] for point in curve] == list(range(1, epochs + 1))
            assert [point["seconds"] for point in curve] == sorted(point["seconds"] for point in curve)
            assert curve[-1]["f1"] == candidate.scores["f1"][fold]
            assert curve[-1]["seconds"] == candidate.seconds[fold]
            assert curve[-1]["cpu_seconds"] == candidate.cpu_seconds[fold] > 0


def test_without_being_asked_for_there_are_no_curves():
    assert cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2).best.curves == [[], []]


def test_development_data_are_one_fold():
    grid = {"learner__epochs": [1, 3]}
    tagger = tw.SequenceLabeler("pa")
    result = validate(tagger, X[:80], Y[:80], X[80:], Y[80:], grid=grid)
    for candidate in result.candidates:
        fitted = clone(tagger).set_params(**candidate.params).fit(X[:80], Y[:80])
        assert result.predictions(candidate) == fitted.predict(X[80:])
    assert result.gold == Y[80:]


def test_nested_choices_are_made_without_the_fold_that_judges_them():
    grid = {"learner__C": [0.001, 0.1, 1.0], "learner__epochs": [1, 4]}
    tagger = tw.SequenceLabeler("pa")
    result = nested_cross_validate(tagger, X, Y, folds=3, inner_folds=2, grid=grid)
    guess = [None] * len(X)
    for i, (train, test) in enumerate(k_folds(len(X), 3)):
        inner = cross_validate(tagger, some(X, train), some(Y, train), folds=2, grid=grid)
        assert result.chosen[i] == inner.best.params
        np.testing.assert_allclose(result.inner_scores[i], [candidate.mean for candidate in inner.candidates])
        fitted = clone(tagger).set_params(**inner.best.params).fit(some(X, train), some(Y, train))
        predicted = fitted.predict(some(X, test))
        assert result.scores["f1"][i] == pytest.approx(span_scores(some(Y, test), predicted).f1)
        for j, labels in zip(test, predicted, strict=True):
            guess[j] = labels
    assert result.predictions() == guess
    assert result.mean == pytest.approx(result.scores["f1"].mean())


def test_nested_groups_stay_together_inside_too():
    groups = [i // 10 for i in range(len(X))]
    result = nested_cross_validate(
        tw.SequenceLabeler("pa"), X, Y, folds=3, inner_folds=2, grid={"min_count": [1]}, groups=groups
    )
    assert len(result.chosen) == 3


def test_a_learning_curve_is_a_run_for_each_size():
    tagger = tw.SequenceLabeler("pa")
    result = learning_curve(tagger, X, Y, sizes=[10, 0.5, 1.0], folds=3)
    assert [candidate.params["sequences"] for candidate in result.candidates] == [10, 40, 80]
    whole = cross_validate(tagger, X, Y, folds=3)
    assert result.predictions(2) == whole.predictions()


def test_a_learning_curve_on_other_data():
    tagger = tw.SequenceLabeler("pa")
    result = learning_curve(tagger, X[:80], Y[:80], X[80:], Y[80:], sizes=[20, 80], random_state=None)
    for candidate, n in zip(result.candidates, (20, 80), strict=True):
        assert result.predictions(candidate) == clone(tagger).fit(X[:n], Y[:n]).predict(X[80:])


@pytest.mark.parametrize("sizes", [[0], [0.0], [1.5], [10_000], [], "all", [True]])
def test_wrong_sizes_are_refused(sizes):
    with pytest.raises(InvalidInput, match="sizes"):
        learning_curve(tw.SequenceLabeler("pa"), X, Y, sizes=sizes, folds=2)


def test_other_estimators_are_fitted_as_they_are():
    result = cross_validate({"hmm": tw.HMM(), "pa": tw.SequenceLabeler("pa")}, X, Y, folds=2)
    assert result.predictions(0) == by_hand(tw.HMM(), result.splits)
    assert result.candidates[1].params == {"estimator": "pa"}


def test_one_label_to_each_entry():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    y = np.where(rows[:, 0] > 0, "yes", "no")
    tree = tw.MulticlassClassifier("perceptron")
    result = cross_validate(tree, rows, y, folds=3, grid={"learner__epochs": [1, 5]})
    assert result.measure == "accuracy"
    for i, (train, test) in enumerate(result.splits):
        fitted = clone(tree).set_params(learner__epochs=5).fit(rows[train], y[train])
        assert result.candidates[1].scores["accuracy"][i] == pytest.approx(fitted.score(rows[test], y[test]))


def test_labels_in_an_array_of_objects():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(rows[:, 0] > 0, "yes", "no")
    one, other = (cross_validate(tw.MulticlassPerceptron(), rows, labels, folds=2) for labels in (y, y.astype(object)))
    assert one.predictions() == other.predictions()


def test_sequences_without_tokens_are_labelled_with_nothing():
    result = cross_validate(tw.SequenceLabeler("pa"), [[], *X, []], [[], *Y, []], folds=3)
    found = result.predictions()
    assert (found[0], found[-1], len(found)) == ([], [], len(X) + 2)


def test_patience_needs_development_data_here_too():
    with pytest.raises(InvalidInput, match="patience needs development data"):
        cross_validate(tw.SequenceLabeler("pa", patience=2), X, Y, folds=2)


def test_tables_and_json_have_all_settings():
    grid = {"learner__C": [0.01, 1.0], "learner__k": [1, 2]}
    result = cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2, grid=grid)
    lines = str(result).splitlines()
    assert lines[1].split() == ["C", "k", "f1", "token_f1", "accuracy", "seconds"]
    assert len(lines) == 2 + 4
    assert [line.startswith("*") for line in lines[2:]].count(True) == 1
    read = json.loads(json.dumps(result.as_dict()))
    assert read["best"] == result.best.params
    assert read["candidates"][3]["params"] == {"learner__C": 1.0, "learner__k": 2}
    assert result.rows()[0]["f1"] == result.candidates[0].mean


def test_nested_tables_and_json_have_all_folds():
    result = nested_cross_validate(
        tw.SequenceLabeler(), X, Y, folds=2, inner_folds=2, grid={"learner": [tw.Perceptron(), tw.Perceptron(k=2)]}
    )
    lines = str(result).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["fold", "1", "2", "mean"]
    assert json.loads(json.dumps(result.as_dict()))["settings"][1] == {"learner": "Perceptron(k=2)"}


def test_progress_is_told_on_the_standard_error(capsys):
    cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2, grid={"learner__C": [1.0]}, verbose=1, n_jobs=1)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[0].startswith("run 1/2: learner__C=1, split 1: f1 ")


def test_runs_are_records_for_whoever_listens(caplog):
    with caplog.at_level("INFO", logger="trelliswork"):
        cross_validate(tw.SequenceLabeler("pa"), X, Y, folds=2, grid={"learner__C": [1.0]}, n_jobs=1)
    assert [text.partition(":")[0] for text in caplog.messages if text.startswith("run")] == ["run 1/2", "run 2/2"]


def test_the_estimator_is_neither_fitted_nor_changed():
    tagger = tw.SequenceLabeler("pa", n_jobs=1)
    before = tagger.get_params()
    cross_validate(tagger, X, Y, folds=2, grid={"min_count": [2]}, n_jobs=2)
    assert tagger.get_params() == before
    assert not hasattr(tagger, "classes_")


class Failing(BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("cannot learn this")

    def predict(self, X):
        return []


def test_an_error_of_a_run_comes_out_as_it_is():
    with pytest.raises(RuntimeError, match="cannot learn this"):
        cross_validate(Failing(), X, Y, folds=4, n_jobs=2)


class Interrupted(BaseEstimator):
    def fit(self, X, y):
        raise KeyboardInterrupt

    def predict(self, X):
        return []


def test_an_interrupt_ends_it():
    with pytest.raises(KeyboardInterrupt):
        cross_validate(Interrupted(), X, Y, folds=4, n_jobs=2)


@pytest.mark.parametrize(
    ("x", "y", "how", "message"),
    [
        (X, Y[:-1], {}, "y has 119 entries but X has 120"),
        (X, [[None] * len(labels) for labels in Y], {}, "without a label"),
        (X, Y, {"scoring": "recall"}, "scoring"),
        (X, Y, {"scoring": 3}, "scoring"),
        (X, [["NN"] * len(labels) for labels in Y], {"scoring": "f1"}, "spell no spans"),
        (X, Y, {"n_jobs": 0}, "n_jobs"),
        (X, [["O"], *Y[1:]], {}, r"y\[0\] has 1 labels but X\[0\] has"),
    ],
)
def test_what_is_wrong_is_said(x, y, how, message):
    with pytest.raises(InvalidInput, match=message):
        cross_validate(tw.SequenceLabeler("pa"), x, y, folds=2, **how)


@pytest.mark.parametrize("how", [{}, {"decoder": "mbr"}], ids=["prepared", "plain"])
def test_an_error_names_the_sequence_of_the_whole_corpus(how):
    y = [*Y[:-1], ["I-NAME", *Y[-1][1:]]]
    with pytest.raises(InvalidInput, match=r"^y\[119\]"):
        cross_validate(tw.SequenceLabeler(constraints="BIO", **how), X, y, folds=2)


def test_development_data_come_in_pairs():
    with pytest.raises(InvalidInput, match="y_dev is missing"):
        validate(tw.SequenceLabeler("pa"), X, Y, X, None)
    with pytest.raises(InvalidInput, match="y_dev has 119 entries but X_dev has 120"):
        validate(tw.SequenceLabeler("pa"), X, Y, X, Y[1:])
