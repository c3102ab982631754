"""How a labeler learns: the optimum of the enumerated loss, development data, interrupts, and going on from before."""

import itertools
import json

import numpy as np
import pytest
import scipy.sparse

import trelliswork as tw
from reference.labelers import every_labelling_by_weights
from reference.token_attributes import attributes_of
from trelliswork.corpora.tables import TokenTable, read_table
from trelliswork.errors import ConvergenceWarning, InvalidInput
from trelliswork.features.templates import Templates
from trelliswork.training.sequence_examples import SequenceExamples

EXACT = {"tol": 1e-12, "max_iter": 2000, "solver": "lbfgs"}


def split(n_train, n_dev):
    """Some lines to train on, and some to look at meanwhile that have no other labels."""
    corpus = tw.corpora.ingredients()
    X, y = corpus.X_train[:n_train], corpus.y_train[:n_train]
    known = {label for labels in y for label in labels}
    dev = [(x, labels) for x, labels in zip(corpus.X_test, corpus.y_test, strict=True) if known.issuperset(labels)]
    return X, y, [x for x, _ in dev[:n_dev]], [labels for _, labels in dev[:n_dev]]


X = [
    [["the", "det"], ["dog"], ["barks", "s"]],
    [["a", "det"], ["cat"], ["sleeps", "s"]],
    [["dogs", "s"], ["bark"]],
    [["the", "det"], ["barks", "s"]],
]
Y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N"]]
WORDS = [["The", "dog", "barks"], ["A", "cat", "sleeps"], ["Dogs", "bark"]]
LABELS = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
SPANS = [["B-A", "I-A", "O"], ["B-A", "O", "B-A"], ["O", "O"], ["B-A", "I-A"]]


def objective(weights, classes, X, y, l2, sample_weight=None, constraints=None):
    """The sum of weighted losses, -log p(labels that agree with y), plus l2 / 2 |w|^2, by enumeration."""
    total = l2 / 2 * sum(w.weight**2 for w in weights)
    for i, (x, labels) in enumerate(zip(X, y, strict=True)):
        every = every_labelling_by_weights(weights, classes, [attributes_of(token) for token in x], constraints)
        sets = [classes if label is None else [label] if isinstance(label, str) else label for label in labels]
        keep = np.array([all(classes[k] in s for k, s in zip(row, sets, strict=True)) for row in every.labellings])
        loss = every.log_partition() - every.where(keep).log_partition()
        total += loss * (1.0 if sample_weight is None else sample_weight[i])
    return total


def moved(weights, i, by):
    return [w._replace(weight=w.weight + by * (j == i)) for j, w in enumerate(weights)]


def assert_optimal(model, X, y, l2, **more):
    """No weight can be moved either way without raising the objective."""
    weights, classes = model.weights(), list(model.classes_)
    here = objective(weights, classes, X, y, l2, **more)
    np.testing.assert_allclose(here, model.history_[-1]["objective"], rtol=1e-5)
    for i in range(len(weights)):
        up, down = (objective(moved(weights, i, by), classes, X, y, l2, **more) for by in (1e-3, -1e-3))
        assert abs(up - down) / 2e-3 < 1e-3


class TestOptimum:
    def test_plain(self):
        assert_optimal(tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, Y), X, Y, 0.5)

    @pytest.mark.parametrize("combinations", ["transitions", "all"])
    def test_more_combinations(self, combinations):
        model = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT), combinations=combinations).fit(X, Y)
        assert_optimal(model, X, Y, 0.5)
        moves = [w for w in model.weights() if w.attribute is None]
        assert len(moves) == 9
        n_attributes = len({name for x in X for token in x for name in token})
        assert combinations == "transitions" or len(model.weights()) == 9 + 3 * n_attributes

    def test_sequence_weights(self):
        weights = [1.0, 0.0, 2.5, 0.5]
        model = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, Y, sample_weight=weights)
        assert_optimal(model, X, Y, 0.5, sample_weight=weights)

    def test_a_weight_counts_copies(self):
        one = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, Y, sample_weight=[1, 1, 3, 1])
        copies = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit([*X, X[2], X[2]], [*Y, Y[2], Y[2]])
        assert {w[:3]: pytest.approx(w.weight, abs=1e-4) for w in one.weights()} == {
            w[:3]: w.weight for w in copies.weights()
        }

    def test_partial_labels_are_summed_over(self):
        y = [["D", {"N", "V"}, "V"], ["D", None, "V"], ["N", {"V"}], ["D", "N"]]
        model = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, y)
        assert_optimal(model, X, y, 0.5)

    def test_a_sequence_without_labels_moves_nothing(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, [*Y[:3], None])
        same = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, [*Y[:3], [None, None]])
        assert model.weights() == same.weights()
        assert_optimal(model, X, [*Y[:3], [None, None]], 0.5)

    def test_constraints_shape_the_loss(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT), constraints="BIO").fit(X, SPANS)
        rules = tw.scheme_constraints(list(model.classes_), "BIO")
        assert_optimal(model, X, SPANS, 0.5, constraints=rules)
        assert model.transitions_[list(model.classes_).index("O"), list(model.classes_).index("I-A")] == -np.inf

    def test_values(self):
        X = [[{"a": 0.5, "b": -2.0}, {"a": 1.5}], [{"b": 3.0}, {"c": 0.25, "a": -1.0}]]
        y = [["P", "Q"], ["Q", "P"]]
        assert_optimal(tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, y), X, y, 0.5)

    def test_an_l1_penalty_leaves_out_weights(self):
        sparse = tw.SequenceLabeler(tw.CRF(l2=0.0, l1=0.5)).fit(X, Y)
        dense = tw.SequenceLabeler(tw.CRF(l2=0.5)).fit(X, Y)
        count = [sum(w.weight != 0 for w in model.weights()) for model in (sparse, dense)]
        assert count[0] < count[1]


class TestWeights:
    def test_equal_token_weights_are_a_sequence_weight(self):
        tokens = [[2.0] * len(x) for x in X]
        one = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, Y, token_weight=tokens)
        other = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, Y, sample_weight=[2.0] * 4)
        assert {w[:3]: pytest.approx(w.weight, abs=1e-4) for w in one.weights()} == {
            w[:3]: w.weight for w in other.weights()
        }

    def test_class_weights_are_token_weights(self):
        by_class = tw.SequenceLabeler(class_weight={"V": 3.0}).fit(X, Y)
        by_token = tw.SequenceLabeler().fit(X, Y, token_weight=[[3.0 if v == "V" else 1.0 for v in y] for y in Y])
        assert by_class.weights() == by_token.weights()

    def test_balanced_weights_are_inverse_to_counts(self):
        counts = {label: sum(y.count(label) for y in Y) for label in "DNV"}
        weights = {label: 10 / (3 * count) for label, count in counts.items()}
        balanced = tw.SequenceLabeler(class_weight="balanced").fit(X, Y)
        assert balanced.weights() == tw.SequenceLabeler(class_weight=weights).fit(X, Y).weights()

    def test_a_heavier_class_is_predicted_more(self):
        rng = np.random.default_rng(0)
        X = [[[f"a{rng.integers(5)}", f"b{rng.integers(5)}"] for _ in range(4)] for _ in range(60)]
        y = [["P" if rng.random() < 0.2 else "N" for _ in x] for x in X]
        share = [
            np.mean([label == "P" for row in tw.SequenceLabeler(class_weight=w).fit(X, y).predict(X) for label in row])
            for w in (None, {"P": 6.0})
        ]
        assert share[1] > share[0] + 0.1

    def test_a_set_of_labels_has_the_mean_of_their_weights(self):
        y = [["D", {"N", "V"}, "V"], *Y[1:]]
        by_class = tw.SequenceLabeler(class_weight={"V": 3.0}).fit(X, y)
        tokens = [[3.0 if v == "V" else 1.0 for v in labels] for labels in y]
        tokens[0][1] = 2.0
        assert by_class.weights() == tw.SequenceLabeler().fit(X, y, token_weight=tokens).weights()

    @pytest.mark.parametrize(
        ("parameters", "arguments", "message"),
        [
            ({}, {"sample_weight": [1.0]}, "sample_weight has 1 entries but there are 4 sequences"),
            ({}, {"sample_weight": [1.0, -1.0, 1.0, 1.0]}, r"sample_weight\[1\] is -1.0; weights must be finite"),
            ({}, {"sample_weight": [1.0, np.nan, 1.0, 1.0]}, r"sample_weight\[1\] is nan"),
            ({}, {"token_weight": [[1.0]]}, "token_weight has 1 entries"),
            ({}, {"token_weight": [[1.0]] * 4}, r"token_weight\[0\] has 1 entries but X\[0\] has 3 tokens"),
            ({}, {"token_weight": "x"}, "token_weight is 'x'"),
            ({"class_weight": {"Z": 1.0}}, {}, "class_weight names the label 'Z', which y does not have"),
            ({"class_weight": {"V": -1.0}}, {}, r"class_weight\['V'\]\[0\] is -1.0"),
            ({"class_weight": "equal"}, {}, "class_weight is 'equal'.*expected \"balanced\""),
        ],
    )
    def test_wrong_ones_are_refused(self, parameters, arguments, message):
        with pytest.raises(InvalidInput, match=message):
            tw.SequenceLabeler(**parameters).fit(X, Y, **arguments)


class TestInputs:
    """The same sequences in other clothes give the same model."""

    def weights(self, X, y=None, **parameters):
        return tw.SequenceLabeler(**parameters).fit(X, LABELS if y is None else y).weights()

    def test_dicts_and_lists_of_strings(self):
        as_lists = [[["a:x", "b"], ["a:y"]], [["a:x", "c:p", "c:q"]]]
        as_dicts = [[{"a": "x", "b": True}, {"a": "y"}], [{"a": "x", "c": ["p", "q"]}]]
        y = [["P", "Q"], ["Q"]]
        assert self.weights(as_lists, y) == self.weights(as_dicts, y)

    def test_generators_arrays_and_tuples(self):
        plain = self.weights(WORDS)
        arrays = [np.array(x) for x in WORDS]
        generators = (iter(x) for x in WORDS)
        assert self.weights(tuple(map(tuple, WORDS)), tuple(map(tuple, LABELS))) == plain
        assert self.weights(arrays, [np.array(y) for y in LABELS]) == plain
        assert self.weights(generators, (iter(y) for y in LABELS)) == plain

    def test_generators_of_dicts(self):
        X = [[{"w": word} for word in x] for x in WORDS]
        assert self.weights(iter(x) for x in X) == self.weights(X)

    def test_tables(self, tmp_path):
        path = tmp_path / "corpus.txt"
        rows = [zip(x, y, strict=True) for x, y in zip(WORDS, LABELS, strict=True)]
        path.write_text("\n\n".join("\n".join(f"{word} {label}" for word, label in row) for row in rows) + "\n")
        tokens, labels = read_table(path)
        model = tw.SequenceLabeler().fit(tokens, labels, tokens, labels)
        plain = tw.SequenceLabeler().fit(WORDS, LABELS, WORDS, LABELS)
        assert model.weights() == plain.weights()
        assert model.predict(tokens) == plain.predict(WORDS)
        assert model.score(tokens, labels) == plain.score(WORDS, LABELS)
        assert model.log_prob(tokens, labels).tolist() == plain.log_prob(WORDS, LABELS).tolist()
        assert [best[0][0] for best in model.predict_kbest(tokens, 1)] == model.predict(tokens)

    def test_columns(self):
        X = [[(word, word[-1]) for word in x] for x in WORDS]
        model = tw.SequenceLabeler().fit(X, LABELS)
        assert any("c1" in (w.attribute or "") or "pos" in (w.attribute or "") for w in model.weights())
        assert model.predict(TokenTable.from_lists(X)) == model.predict(X) == LABELS

    @pytest.mark.parametrize("n_columns", [1, 3, 4])
    def test_any_number_of_columns(self, n_columns):
        X = [[(word, *["x"] * (n_columns - 1)) for word in x] for x in WORDS]
        assert tw.SequenceLabeler().fit(X, LABELS).predict(X) == LABELS

    def test_matrices_dense_and_sparse(self):
        rng = np.random.default_rng(0)
        dense = [rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.7) for n in (3, 3, 2)]
        expected = self.weights(dense)
        assert self.weights([rows.astype(np.float32) for rows in dense]) == expected
        assert self.weights([rows.tolist() for rows in dense]) == expected
        assert self.weights([list(rows) for rows in dense]) == expected
        assert self.weights([scipy.sparse.csr_array(rows) for rows in dense]) == expected
        assert self.weights([scipy.sparse.coo_matrix(rows) for rows in dense]) == expected
        assert {w.attribute for w in tw.SequenceLabeler().fit(dense, LABELS).weights()} - {None} == {
            f"x[{j}]" for j in range(4)
        }

    def test_a_three_dimensional_array(self):
        rows = np.random.default_rng(0).normal(size=(2, 3, 4))
        assert len(tw.SequenceLabeler().fit(rows, LABELS[:2]).predict(rows)) == 2

    def test_templates_by_name_and_as_objects(self):
        by_name = self.weights(WORDS, features="pos")
        assert by_name == self.weights(WORDS, features=Templates.pos())

    def test_tuples_of_strings_as_attributes(self):
        X = [[("a", "b"), ("c",)], [("a",)]]
        names = {w.attribute for w in self.weights(X, [["P", "Q"], ["P"]], features="attributes")} - {None}
        assert names == {"a", "b", "c"}

    def test_empty_sequences_say_nothing(self):
        assert self.weights([[], *WORDS, []], [[], *LABELS, []]) == self.weights(WORDS)

    def test_blocks_change_nothing(self, monkeypatch):
        X = [[{"w": word} for word in x] for x in WORDS]
        whole = self.weights(X)
        monkeypatch.setattr("trelliswork.features.inputs._SEQUENCES_READ", 2)
        assert self.weights(X) == whole
        rows = [np.eye(4)[:n] for n in (3, 3, 2)]
        whole = self.weights(rows)
        monkeypatch.setattr("trelliswork.features.inputs._ROWS_READ", 4)
        assert self.weights(rows) == whole

    @pytest.mark.parametrize("n_jobs", [2, 4])
    def test_threads_change_nothing(self, n_jobs):
        corpus = tw.corpora.ingredients()
        part = corpus.X_train[:150], corpus.y_train[:150]
        learner = tw.CRF(max_iter=4, tol=0.0)
        with pytest.warns(ConvergenceWarning):
            models = [tw.SequenceLabeler(learner, n_jobs=n).fit(*part) for n in (1, n_jobs)]
        assert models[0].weights() == models[1].weights()

    def test_hashing_fixes_the_size(self):
        model = tw.SequenceLabeler(hash_bits=6).fit(WORDS, LABELS)
        assert model.n_attributes_ == 64
        assert model.predict(WORDS) == LABELS

    def test_rare_attributes_get_no_weights(self):
        X = [[["often", f"once{i}"]] for i in range(4)]
        model = tw.SequenceLabeler(min_count=2).fit(X, [["A"], ["B"], ["A"], ["A"]])
        assert {w.attribute for w in model.weights()} == {"often"}

    def test_one_label_is_enough(self):
        assert tw.SequenceLabeler().fit([["a", "b"]], [["O", "O"]]).predict([["c", "a"]]) == [["O", "O"]]


class TestDevelopmentData:
    @pytest.fixture
    def corpus(self):
        return split(300, 80)

    def test_the_best_iteration_is_kept(self, corpus):
        model = tw.SequenceLabeler(tw.CRF(l2=0.01)).fit(*corpus)
        scores = [record["dev_score"] for record in model.history_]
        assert model.best_iteration_ == 1 + int(np.argmax(scores))
        assert model.score(*corpus[2:]) == pytest.approx(max(scores), abs=1e-12)
        gold, guess = corpus[3], model.predict(corpus[2])
        assert model.score(*corpus[2:]) == pytest.approx(tw.evaluation.span_scores(gold, guess).f1, abs=1e-12)

    def test_patience_ends_training(self, corpus):
        patient = tw.SequenceLabeler(tw.CRF(l2=0.01)).fit(*corpus)
        model = tw.SequenceLabeler(tw.CRF(l2=0.01), patience=2).fit(*corpus)
        assert model.n_iter_ == model.best_iteration_ + 2 < patient.n_iter_
        assert not model.converged_
        assert "has not risen for 2" in model.message_

    def test_accuracy_and_functions_are_scores(self, corpus):
        def errors(y_true, y_pred):
            assert y_true == corpus[3]
            return -sum(
                a != b for gold, guess in zip(y_true, y_pred, strict=True) for a, b in zip(gold, guess, strict=True)
            )

        n_tokens = sum(map(len, corpus[3]))
        by_accuracy = tw.SequenceLabeler(scoring="accuracy").fit(*corpus)
        by_errors = tw.SequenceLabeler(scoring=errors).fit(*corpus)
        for one, other in zip(by_accuracy.history_, by_errors.history_, strict=True):
            assert one["dev_score"] == pytest.approx(1 + other["dev_score"] / n_tokens)

    def test_unseen_labels_warn_and_count_as_wrong(self):
        X, y = [["a", "b"]], [["P", "Q"]]
        with pytest.warns(
            UserWarning, match="y_dev has labels that the model has not: 'R'. They can never be predicted"
        ):
            model = tw.SequenceLabeler().fit(X, y, X, [["P", "R"]])
        assert model.history_[-1]["dev_score"] == 0.5

    def test_partly_labelled_data_are_scored_where_they_are(self):
        X, y = [[["a"], ["b"], ["c"]]], [["P", "Q", "P"]]
        model = tw.SequenceLabeler(tw.CRF(l2=0.01)).fit(X, y, X, [[None, {"Q", "P"}, "Q"]])
        assert model.history_[-1]["dev_score"] == 0.5

    @pytest.mark.parametrize(
        ("arguments", "parameters", "message"),
        [
            ({"X_dev": [["a"]]}, {}, "y_dev is missing"),
            ({"y_dev": [["P"]]}, {}, "X_dev is missing"),
            ({}, {"patience": 3}, "patience needs development data"),
            ({"X_dev": [["a"]], "y_dev": [["P"], ["P"]]}, {}, "y_dev has 2 label lists but X_dev has 1 sequences"),
            ({"X_dev": [["a"]], "y_dev": [["P", "Q"]]}, {}, r"y_dev\[0\] has 2 labels but X_dev\[0\] has 1 tokens"),
            ({"X_dev": [["a"]], "y_dev": [["P"]]}, {"scoring": "f1"}, "spell no spans"),
            ({"X_dev": [["a"]], "y_dev": [["P"]]}, {"scoring": "bleu"}, "scoring is 'bleu'"),
            ({"X_dev": [["a"]], "y_dev": [[None]]}, {}, "y_dev has no labels to score against"),
            ({"X_dev": [["a"]], "y_dev": [["P"]]}, {"scoring": lambda a, b: np.nan}, "scoring gave NaN"),
        ],
    )
    def test_wrong_ones_are_refused(self, arguments, parameters, message):
        with pytest.raises(InvalidInput, match=message):
            tw.SequenceLabeler(**parameters).fit([["a", "b"]], [["P", "Q"]], **arguments)


class TestStopping:
    PART = split(60, 40)

    def test_a_callback_hears_of_every_iteration_and_can_stop(self):
        heard = []

        def callback(progress):
            heard.append(progress)
            return progress.number == 3

        model = tw.SequenceLabeler().fit(*self.PART, callback=callback)
        assert [progress.number for progress in heard] == [1, 2, 3] == [r["iteration"] for r in model.history_]
        assert model.message_ == "stopped by the callback after 3 iterations"
        assert not model.converged_
        assert heard[-1].best_score == max(progress.dev_score for progress in heard)

    def test_an_interrupt_keeps_the_best_so_far(self):
        def interrupt(progress):
            if progress.number == 4:
                raise KeyboardInterrupt

        model = tw.SequenceLabeler()
        with pytest.warns(ConvergenceWarning, match="training was interrupted after 4 iterations"):
            model.fit(*self.PART, callback=interrupt)
        whole = tw.SequenceLabeler().fit(*self.PART, callback=lambda progress: progress.number == 4)
        assert model.weights() == whole.weights()
        assert not model.converged_
        assert model.message_.startswith("interrupted after 4 iterations")

    def test_an_interrupt_without_development_data_keeps_the_last(self):
        def interrupt(progress):
            if progress.number == 2:
                raise KeyboardInterrupt

        with pytest.warns(ConvergenceWarning):
            model = tw.SequenceLabeler().fit(*self.PART[:2], callback=interrupt)
        whole = tw.SequenceLabeler().fit(*self.PART[:2], callback=lambda progress: progress.number == 2)
        assert model.weights() == whole.weights()

    def test_an_interrupt_while_the_model_is_made_keeps_it(self, monkeypatch):
        original = SequenceExamples.model

        def interrupted(*arguments):
            monkeypatch.setattr(SequenceExamples, "model", original)
            raise KeyboardInterrupt

        whole = tw.SequenceLabeler().fit(*self.PART)
        monkeypatch.setattr(SequenceExamples, "model", interrupted)
        with pytest.warns(ConvergenceWarning, match="training was interrupted"):
            model = tw.SequenceLabeler().fit(*self.PART)
        assert model.weights() == whole.weights()
        assert not model.converged_

    def test_too_few_iterations_warn(self):
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            model = tw.SequenceLabeler(tw.CRF(max_iter=2)).fit(*self.PART)
        assert not model.converged_
        assert model.n_iter_ == 2

    def test_verbose_prints_a_line_for_each_iteration(self, capsys):
        model = tw.SequenceLabeler(verbose=1).fit(*self.PART)
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.splitlines()) == model.n_iter_
        assert "objective" in err
        assert "dev" in err

    def test_iterations_are_records_for_whoever_listens(self, caplog, capsys):
        with caplog.at_level("INFO", logger="trelliswork"):
            model = tw.SequenceLabeler(verbose=1).fit(*self.PART)
        records = [record for record in caplog.records if record.name == "trelliswork"]
        assert [record.levelname for record in records] == ["INFO"] * model.n_iter_
        assert all("objective" in record.getMessage() for record in records)
        assert capsys.readouterr().err == ""  # not twice
        caplog.clear()
        tw.SequenceLabeler().fit(*self.PART)
        assert caplog.records == []
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("learner", [tw.CRF(solver="lbfgs"), tw.CRF(solver="sgd-lbfgs", sgd_epochs=2)], ids=repr)
    @pytest.mark.parametrize("dev", [True, False])
    def test_a_resumed_run_ends_with_the_identical_model(self, learner, dev):
        data = self.PART if dev else self.PART[:2]
        labeler = tw.SequenceLabeler(learner)
        states = {}

        def keep(progress):
            states[progress.number] = progress.state()

        whole = labeler.fit(*data, callback=keep)
        weights, history = whole.weights(), whole.history_
        for number in (1, 3, len(history) - 1):
            again = tw.SequenceLabeler(learner).fit(*data, resume=states[number])
            assert again.weights() == weights
            assert [r["objective"] for r in again.history_] == [r["objective"] for r in history]
            assert [r["dev_score"] for r in again.history_] == [r["dev_score"] for r in history]
            assert again.best_iteration_ == whole.best_iteration_

    def test_a_state_is_plain_arrays(self):
        states = []
        tw.SequenceLabeler().fit(*self.PART, callback=lambda progress: states.append(progress.state()))
        assert all(isinstance(part, np.ndarray) for part in states[-1].values())
        json.loads(bytes(states[-1]["monitor.notes"]))

    def test_something_else_is_no_state(self):
        with pytest.raises(InvalidInput, match=r"resume is not what `Progress.state` gave"):
            tw.SequenceLabeler().fit(*self.PART, resume={"a": np.zeros(3)})


class TestGoingOn:
    def test_a_warm_start_begins_where_the_last_fit_ended(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.5, solver="lbfgs"), warm_start=True).fit(X, Y)
        first = model.n_iter_
        model.fit(X, Y)
        assert model.n_iter_ < first
        cold = tw.SequenceLabeler(tw.CRF(l2=0.5, solver="lbfgs"))
        assert cold.fit(X, Y).fit(X, Y).n_iter_ == first

    def test_a_warm_start_takes_new_labels_and_attributes(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT), warm_start=True).fit(X[:2], Y[:2])
        more_X, more_y = [*X, [["the", "det"], ["old"], ["dog"]]], [*Y, ["D", "A", "N"]]
        model.fit(more_X, more_y)
        fresh = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(more_X, more_y)
        assert model.classes_.tolist() == ["A", "D", "N", "V"]
        assert {w[:3]: pytest.approx(w.weight, abs=1e-4) for w in model.weights()} == {
            w[:3]: w.weight for w in fresh.weights()
        }

    def test_partial_fit_is_a_fit_at_first(self):
        assert tw.SequenceLabeler().partial_fit(X, Y).weights() == tw.SequenceLabeler().fit(X, Y).weights()

    def test_partial_fit_keeps_the_weights_of_what_does_not_occur(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.5)).fit(X, Y)
        before = {w[:3]: w.weight for w in model.weights()}
        model.partial_fit([[["the", "new"], ["dog"]]], [["D", "N"]])
        after = {w[:3]: w.weight for w in model.weights()}
        assert {w for w in after if w[0] == "new"} == {("new", None, "D")}
        untouched = [w for w in before if w[0] in ("a", "cat", "sleeps", "s", "barks", "dogs", "bark", "det")]
        assert len(untouched) > 8
        assert all(after[w] == before[w] for w in untouched)

    def test_partial_fit_moves_what_it_knows_of_the_attributes_it_sees(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.5)).fit([[["x"]], [["x"]], [["y"]]], [["A"], ["A"], ["B"]])
        before = {w[:3]: w.weight for w in model.weights()}
        model.partial_fit([[["x"]]] * 3, [["B"]] * 3)
        after = {w[:3]: w.weight for w in model.weights()}
        assert after["x", None, "A"] < before["x", None, "A"]  # it takes part, though it was not seen this time
        assert model.predict([[["x"]]]) == [["B"]]

    @pytest.mark.parametrize("kind", ["hashed", "pairs"])
    def test_partial_fit_of_other_models(self, kind):
        words = [["the", "dog", "barks"], ["a", "cat"]]
        y = [["D", "N", "V"], ["D", "N"]]
        parameters = (
            {"hash_bits": 8} if kind == "hashed" else {"features": Templates("word\npair: word\npair: word[-1]")}
        )
        model = tw.SequenceLabeler(tw.CRF(l2=0.1), **parameters).fit(words, y)
        model.partial_fit([["the", "old", "cow", "moos"]], [["D", "A", "N", "V"]])
        assert model.predict([*words, ["the", "old", "cow", "moos"]]) == [*y, ["D", "A", "N", "V"]]

    def test_partial_fit_of_the_same_data_changes_little(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.5, **EXACT)).fit(X, Y)
        before = {w[:3]: w.weight for w in model.weights()}
        model.partial_fit(X, Y)
        assert {w[:3]: pytest.approx(w.weight, abs=1e-4) for w in model.weights()} == before

    def test_partial_fit_refuses_another_size_of_hashing(self):
        model = tw.SequenceLabeler(hash_bits=8).fit(X, Y)
        model.hash_bits = 9
        with pytest.raises(InvalidInput, match="hash_bits is 9, but the model to go on from has 8"):
            model.partial_fit(X, Y)


class TestConstraints:
    def test_a_function_says_what_may_follow(self):
        def allows(before, after):
            return (before, after) not in {(None, "I-A"), ("O", "I-A")}

        by_function = tw.SequenceLabeler(constraints=allows).fit(X, SPANS)
        by_name = tw.SequenceLabeler(constraints="BIO").fit(X, SPANS)
        array = tw.scheme_constraints(["B-A", "I-A", "O"], "BIO")
        by_array = tw.SequenceLabeler(constraints=array).fit(X, SPANS)
        assert by_function.weights() == by_name.weights() == by_array.weights()

    def test_an_array_of_transitions(self):
        allowed = np.array([[False, True, True], [True, True, True], [True, True, True]])
        model = tw.SequenceLabeler(constraints=allowed).fit(X, SPANS)
        assert np.isneginf(model.transitions_).tolist() == (~allowed).tolist()

    @pytest.mark.parametrize(
        ("constraints", "y", "message"),
        [
            ("BIO", [["B-A", "O", "I-A"], *Y[1:]], None),
            ("BIO", [["O", "I-A", "O"], ["O"] * 3, ["O"] * 2, ["B-A"] * 2], r"y\[0\]\[1\] is 'I-A' after 'O'"),
            ("BIO", [["O"] * 3, ["I-A", "O", "B-A"], ["O"] * 2, ["O"] * 2], r"y\[1\]\[0\] is 'I-A', .* to begin with"),
            ("IOBES", [["B-A", "E-A", "B-A"], ["O"] * 3, ["O"] * 2, ["O"] * 2], r"y\[0\]\[2\] is 'B-A', .* end with"),
            (
                "BIO",
                [["O", {"I-A"}, "O"], ["B-A"] * 3, ["O"] * 2, ["O"] * 2],
                r"y\[0\] has no labelling .* y\[0\]\[1\]",
            ),
            (np.ones((2, 2), dtype=bool), Y, r"constraints must have shape \(3, 3\)"),
            ("IOB3", Y, "scheme 'IOB3' is not known"),
        ],
    )
    def test_labels_that_break_them_are_refused(self, constraints, y, message):
        with pytest.raises(InvalidInput, match=message):
            tw.SequenceLabeler(constraints=constraints).fit(X, y)

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_every_sequence_that_is_allowed_is_accepted(self, n_labels):
        rng = np.random.default_rng(n_labels)
        allowed = rng.random((n_labels, n_labels)) < 0.7
        labels = [f"L{k}" for k in range(n_labels)]
        every = [list(y) for n in (1, 2, 3) for y in itertools.product(range(n_labels), repeat=n)]
        everything = [[f"L{k}"] for k in range(n_labels)]
        for y in every:
            X = [*[[["a"]]] * n_labels, [["a"]] * len(y)]
            good = all(allowed[a, b] for a, b in itertools.pairwise(y))
            labeler = tw.SequenceLabeler(tw.CRF(max_iter=100), constraints=allowed)
            for given in ([labels[k] for k in y], [{labels[k]} for k in y]):
                if good:
                    labeler.fit(X, [*everything, given])
                else:
                    with pytest.raises(InvalidInput, match="constraints"):
                        labeler.fit(X, [*everything, given])
