"""Bad input: every error names the argument, the sequence and the token, and says what to do."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

import trelliswork as tw
from trelliswork import models
from trelliswork.corpora.tables import read_table
from trelliswork.errors import InvalidInput, InvalidModel

X = [["the", "dog"], ["a", "cat", "sleeps"]]
Y = [["D", "N"], ["D", "N", "V"]]
DICTS = [[{"w": word} for word in x] for x in X]
ROWS = [np.eye(3)[:2], np.eye(3)]


class TestX:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ("the dog", r"X is 'the dog' \(str\); expected a list of sequences"),
            (5, r"X is 5 \(int\); expected a list of sequences"),
            (None, r"X is None"),
            ({"a": 1}, r"X is \{'a': 1\} \(dict\)"),
            (
                ["the", "dog"],
                r"X\[0\] is 'the' \(str\); expected a sequence of tokens.*If X is a single sequence, pass \[X\]",
            ),
            ([{"w": "the"}, {"w": "dog"}], r"X\[0\] is \{'w': 'the'\} \(dict\).*pass \[X\]"),
            ([5, 6], r"X\[0\] is 5 \(int\)"),
            ([[1, 2], [3, 4, 5]], r"the first token of X is 1 \(int\); expected a word"),
            ([[None, None], []], r"the first token of X is None"),
            ([[b"the", b"dog"], []], r"the first token of X is b'the'"),
            (np.ones((2, 3)), r"the first token of X is .*1\.0.*if yours is one sequence, pass \[X\]"),
            (np.array(3.0), r"X is array\(3\.\)"),
            (scipy.sparse.csr_array(np.eye(2)), r"X is .*expected a list of sequences"),
            ([], "X has no tokens to learn from"),
            ([[], []], "X has no tokens to learn from"),
            ([["the", "dog"], "a cat sleeps"], r"X\[1\] is 'a cat sleeps' \(str\)"),
            ([["the", "dog"], ["a", {"w": "cat"}, "sleeps"]], r"X\[1\]\[1\] is \{'w': 'cat'\}"),
            ([["the", "dog"], ["a", ("cat", "N"), "x"]], r"X\[1\]\[1\] has 2 columns, but the tokens before it have 1"),
            ([[("the", "D"), ("dog",)], []], r"X\[0\]\[1\] has 1 columns"),
            ([["the", "dog"], ["a", "\ud800", "x"]], r"X\[1\]\[1\] has a lone surrogate"),
            (
                [[["a"], ["b"]], [["c"], "word", ["d"]]],
                r"X\[1\]\[1\] is of type str; expected the attributes of a token",
            ),
            ([[["a"], ["b"]], [["c"], ["d", 5], ["d"]]], r"X\[1\]\[1\]\[1\] is of type int"),
            ([[{"a": 1.0}, {"b": float("nan")}], [["c"]] * 3], r"X\[0\]\[1\], attribute 'b' is NaN"),
            ([[{"a": 1.0}, {"b": float("inf")}], [["c"]] * 3], r"X\[0\]\[1\], attribute 'b' is infinite"),
            ([[{"a": 1.0}, {"b": None}], [["c"]] * 3], r"X\[0\]\[1\], attribute 'b' is of type NoneType"),
            ([np.eye(3)[:2], np.ones((3, 4))], r"X\[1\] has shape \(3, 4\); expected \(tokens, 3\)"),
            ([np.eye(3)[:2], np.ones(3)], r"X\[1\] has shape \(3,\)"),
            ([np.eye(3)[:2], [[1, 2, 3], [1, 2], [1, 2, 3]]], r"X\[1\] has tokens with different numbers of columns"),
            ([np.eye(3)[:2], [["a", "b", "c"]] * 3], r"X\[1\] has tokens of type .*expected rows of 3 numbers"),
            ([np.eye(3)[:2], np.full((3, 3), np.nan)], r"X\[1\]\[0\]\[0\] is NaN; expected a finite number"),
            ([scipy.sparse.csr_array(np.full((2, 3), np.inf)), np.eye(3)], r"X\[0\]\[0\]\[0\] is inf"),
        ],
    )
    def test_fit_says_what_is_wrong_and_where(self, X, message):
        with pytest.raises(InvalidInput, match=message):
            tw.SequenceLabeler().fit(X, Y)

    def test_a_generator_is_checked_as_well(self):
        with pytest.raises(InvalidInput, match=r"X\[1\]\[0\] is of type int"):
            tw.SequenceLabeler().fit(iter([DICTS[0], [5, {"w": "b"}, {"w": "c"}]]), Y)

    def test_places_count_over_blocks(self, monkeypatch):
        monkeypatch.setattr("trelliswork.features.inputs._SEQUENCES_READ", 1)
        with pytest.raises(InvalidInput, match=r"X\[1\]\[2\] is of type int"):
            tw.SequenceLabeler().fit([DICTS[0], [*DICTS[1][:2], 5]], Y)

    @pytest.mark.parametrize(
        ("train", "X", "message"),
        [
            (X, [[{"w": "the"}]], r"X\[0\]\[0\] is \{'w': 'the'\}, but must be a string"),
            (X, ["the", "dog"], r"X\[0\] is 'the' \(str\)"),
            (X, None, "X is None"),
            (DICTS, [["the"]], r"X\[0\]\[0\] is of type str"),
            (DICTS, [{"w": "the"}], r"X\[0\] is \{'w': 'the'\} \(dict\)"),
            (ROWS, [["the"]], r"X\[0\] has tokens of type"),
            (ROWS, [np.eye(4)], r"X\[0\] has shape \(4, 4\); expected \(tokens, 3\)"),
            ([[(w, "x") for w in x] for x in X], X, "the tokens of X have 1 columns, but the features look at 2"),
        ],
    )
    @pytest.mark.parametrize("method", ["predict", "predict_marginals", "predict_spans", "predict_kbest"])
    def test_answers_are_asked_for_with_what_was_trained_on(self, train, X, message, method):
        model = tw.SequenceLabeler().fit(train, [["B-X", "O"], ["B-X", "I-X", "O"]])
        with pytest.raises(InvalidInput, match=message):
            getattr(model, method)(X, *([2] if method == "predict_kbest" else []))

    def test_a_table_is_refused_by_a_model_of_attributes(self):
        tokens, _ = read_table(io.BytesIO(b"the D\ndog N\n"))
        with pytest.raises(InvalidInput, match="X is a TokenTable, but the model was trained on attributes"):
            tw.SequenceLabeler().fit(DICTS, Y).predict(tokens)


class TestY:
    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (None, r"the target y is None; expected a list of label lists"),
            ("DN", r"y is 'DN' \(str\)"),
            (["D", "N"], r"y\[0\] is 'D' \(str\).*If y is a single sequence, pass \[y\]"),
            ([["D", "N"]], "y has 1 label lists but X has 2 sequences"),
            ([["D", "N"], ["D", "N", "V"], ["D"]], "y has 3 label lists but X has 2 sequences"),
            ([["D", "N"], ["D", "N"]], r"y\[1\] has 2 labels but X\[1\] has 3 tokens"),
            ([["D"], ["D", "N", "V"]], r"y\[0\] has 1 labels but X\[0\] has 2 tokens"),
            ([[], ["D", "N", "V"]], r"y\[0\] has 0 labels but X\[0\] has 2 tokens"),
            ([[1, 2], [1, 2, 3]], r"y\[0\]\[0\] is 1 \(int\); expected a label \(a string\)"),
            ([["D", 2], [1, 2, 3]], r"y\[0\]\[1\] is 2 \(int\)"),
            ([["D", float("nan")], ["D", "N", "V"]], r"y\[0\]\[1\] is nan \(float\)"),
            ([["D", ["N", "V"]], ["D", "N", "V"]], r"y\[0\]\[1\] is \['N', 'V'\] \(list\)"),
            ([["D", set()], ["D", "N", "V"]], r"y\[0\]\[1\] is set\(\)"),
            ([["D", {"N", None}], ["D", "N", "V"]], r"y\[0\]\[1\] is \{"),
            ([["D", "\ud800"], ["D", "N", "V"]], r"the label '\\ud800' has a lone surrogate"),
            ([None, None], "y has no labels to learn from"),
            ([[None, None], [None, None, None]], "y has no labels to learn from"),
            (np.array([1, 2]), r"y\[0\] is "),
        ],
    )
    @pytest.mark.parametrize("X", [X, DICTS, ROWS], ids=["words", "dicts", "rows"])
    def test_fit_says_what_is_wrong_and_where(self, X, y, message):
        with pytest.raises(InvalidInput, match=message):
            tw.SequenceLabeler().fit(X, y)

    def test_generators_of_different_lengths(self):
        with pytest.raises(InvalidInput, match="y has 1 label lists but X has more sequences"):
            tw.SequenceLabeler().fit(iter(X), iter(Y[:1]))
        with pytest.raises(InvalidInput, match="y has 2 label lists but X has 1 sequences"):
            tw.SequenceLabeler().fit(iter(X[:1]), iter(Y))

    def test_log_prob_and_score_check_as_well(self):
        model = tw.SequenceLabeler().fit(X, Y)
        with pytest.raises(InvalidInput, match="y has the label 'Z'; the model knows D, N, V"):
            model.log_prob(X, [["D", "Z"], ["D", "N", "V"]])
        for method in (model.log_prob, model.score):
            with pytest.raises(InvalidInput, match=r"y\[1\] has 2 labels but X\[1\] has 3 tokens"):
                method(X, [["D", "N"], ["D", "N"]])
            with pytest.raises(InvalidInput, match="y has 1 label lists but X has"):
                method(X, Y[:1])
            with pytest.raises(InvalidInput, match="y has 3 label lists but X has 2 sequences"):
                method(X, [*Y, ["D"]])

    def test_labels_that_are_new_count_as_wrong(self):
        assert tw.SequenceLabeler(tw.CRF(l2=0.01)).fit(X, Y).score(X[:1], [["D", "Z"]]) == 0.5


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"learner": "svm"}, "there is no learner 'svm'"),
            ({"learner": 5}, "learner is 5"),
            ({"learner": tw.CRF(l2=-1.0)}, "l2 must be"),
            ({"features": "everything"}, "features is 'everything'; expected"),
            ({"features": 5}, "features is 5"),
            ({"min_count": 0}, "min_count must be at least 1"),
            ({"min_count": 1.5}, "min_count must be an integer"),
            ({"hash_bits": 0}, "hash_bits must be at least 1"),
            ({"hash_bits": 40}, "hash_bits is 40; expected 1 to 30"),
            (
                {"combinations": "some"},
                "combinations is 'some'; expected one of 'auto', 'seen', 'transitions', 'all', 'grown'",
            ),
            ({"decoder": "beam"}, "decoder is 'beam'; expected one of 'argmax', 'mbr'"),
            ({"patience": 0}, "patience must be at least 1"),
            ({"n_jobs": 0}, "n_jobs must be None or a non-zero integer"),
            ({"random_state": -1}, "random_state must be at least 0"),
            ({"random_state": "x"}, "random_state must be an integer"),
            ({"cost": "zero"}, "cost must be"),
            ({"cost": np.ones((2, 2))}, r"cost must have shape \(3, 3\)"),
            ({"constraints": 5}, "constraints must be a boolean array"),
        ],
    )
    def test_fit_refuses_wrong_ones(self, parameters, message):
        with pytest.raises(InvalidInput, match=message):
            tw.SequenceLabeler(**parameters).fit(X, Y)

    def test_too_many_columns_asked_for(self):
        with pytest.raises(InvalidInput, match="the tokens of X have 1 columns, but the features look at 2"):
            tw.SequenceLabeler(features="chunking").fit(X, Y)

    @pytest.mark.parametrize("k", [0, -1, 1.5, "2"])
    def test_k(self, k):
        with pytest.raises(InvalidInput, match="k must be"):
            tw.SequenceLabeler().fit(X, Y).predict_kbest(X, k)

    @pytest.mark.parametrize(
        ("method", "arguments"),
        [
            ("predict", [X]),
            ("predict_kbest", [X, 2]),
            ("predict_marginals", [X]),
            ("predict_spans", [X]),
            ("log_prob", [X, Y]),
            ("score", [X, Y]),
            ("explain", [X[0]]),
            ("weights", []),
            ("save", ["model.tw"]),
        ],
    )
    def test_nothing_is_answered_before_fit(self, method, arguments):
        with pytest.raises(NotFittedError):
            getattr(tw.SequenceLabeler(), method)(*arguments)

    @pytest.mark.parametrize("x", ["the dog", 5, {"w": "the"}])
    def test_explain_takes_one_sequence(self, x):
        with pytest.raises(InvalidInput, match=r"x\[0\] is|x is"):
            tw.SequenceLabeler().fit(X, Y).explain(x)


class TestFiles:
    def test_what_was_saved_comes_back(self, tmp_path):
        model = tw.SequenceLabeler(tw.CRF(l2=0.3), min_count=1, decoder="mbr", constraints="BIO", cost=1.0 - np.eye(2))
        model.fit(X, [["B-X", "O"], ["B-X", "B-X", "O"]], X, [["B-X", "O"], ["B-X", "B-X", "O"]])
        path = tmp_path / "модель.tw"
        model.save(path)
        again = tw.load(path)
        assert again.predict(X) == model.predict(X)
        assert again.weights() == model.weights()
        assert again.history_ == model.history_
        for name in ("n_iter_", "converged_", "message_", "best_iteration_", "n_attributes_", "n_weights_"):
            assert getattr(again, name) == getattr(model, name)
        assert again.learner == model.learner
        assert again.constraints == "BIO"
        assert np.array_equal(again.cost, model.cost)
        again.fit(X, [["B-X", "O"], ["B-X", "B-X", "O"]])
        assert [p.name for p in tmp_path.iterdir()] == ["модель.tw"]

    @pytest.mark.parametrize("train", [X, DICTS, ROWS, [[(w, "x") for w in x] for x in X]])
    def test_every_kind_of_input(self, train):
        model = tw.SequenceLabeler(constraints=lambda a, b: (a, b) != ("V", "V")).fit(train, Y)
        file = io.BytesIO()
        model.save(file)
        again = tw.load(file.getvalue())
        assert again.predict(train) == model.predict(train)
        assert np.array_equal(again.transitions_, model.transitions_)
        assert again.partial_fit(train, Y).classes_.tolist() == ["D", "N", "V"]
        assert again.fit(train, Y).predict(train) == model.predict(train)

    def test_numbers_of_numpy_are_saved_as_numbers(self):
        parameters = {"min_count": np.int64(1), "random_state": np.int32(3), "class_weight": {"N": np.float32(2.0)}}
        model = tw.SequenceLabeler(tw.CRF(l2=np.float32(0.5), max_iter=np.int64(50)), **parameters).fit(X, Y)
        file = io.BytesIO()
        model.save(file)
        again = tw.load(file.getvalue())
        assert again.get_params()["class_weight"] == {"N": 2.0}
        assert again.learner.l2 == 0.5
        assert again.fit(X, Y).weights() == model.weights()

    def test_a_model_trained_by_a_smaller_number_of_bits(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.01)).fit(X, Y)
        small = models.quantize(model._model.tensors, "int8")
        again = tw.load(models.dumps(small, model._model.settings))
        assert again.predict(X) == model.predict(X)
        for one, other in zip(again.weights(), model.weights(), strict=True):
            assert one.weight == pytest.approx(other.weight, abs=0.05)
        again.partial_fit(X, Y)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"kind": "parser"}, "model of the kind 'parser'"),
            ({"labels": []}, "name no labels"),
            ({"labels": ["D", "D", "N"]}, "labels is"),
            ({"labels": ["D", 5, "N"]}, "labels is"),
            ({"labels": None}, "labels is"),
            ({"hash_bits": "x"}, "hash_bits is 'x'"),
            ({"features": None}, "no sound model"),
            ({"features": {"kind": "magic"}}, "no features of the kind 'magic'"),
            ({"templates": 5}, "no sound model"),
            ({"parameters": {}}, "no sound model"),
            ({"learner": {"name": "crf", "parameters": {"x": 1}}}, "no sound model"),
            ({"training": {"history": 5}}, "no sound model"),
        ],
    )
    def test_settings_may_say_anything(self, change, message):
        model = tw.SequenceLabeler().fit(X, Y)._model
        with pytest.raises(InvalidModel, match=message):
            tw.load(models.dumps(model.tensors, {**model.settings, **change}))

    @pytest.mark.parametrize("missing", ["labels", "features", "parameters", "learner", "training", "kind"])
    def test_settings_may_be_missing(self, missing):
        model = tw.SequenceLabeler().fit(X, Y)._model
        settings = {name: value for name, value in model.settings.items() if name != missing}
        told = "kind None, which is not known" if missing == "kind" else "no sound model"
        with pytest.raises(InvalidModel, match=told):
            tw.load(models.dumps(model.tensors, settings))

    def test_tensors_may_be_missing_or_of_another_size(self):
        model = tw.SequenceLabeler().fit(X, Y)._model
        for name in list(model.tensors):
            if ".names." in name:
                continue
            tensors = {other: part for other, part in model.tensors.items() if other != name}
            with pytest.raises(InvalidModel, match="no sound model"):
                tw.load(models.dumps(tensors, model.settings))
        with pytest.raises(InvalidModel, match="no sound model"):
            tw.load(models.dumps(model.tensors, {**model.settings, "labels": ["D", "N", "V", "Z"]}))

    def test_a_file_that_is_cut_off_or_damaged(self):
        file = io.BytesIO()
        tw.SequenceLabeler().fit(X, Y).save(file)
        data = file.getvalue()
        rng = np.random.default_rng(0)
        for size in rng.integers(0, len(data), size=20):
            with pytest.raises(InvalidModel):
                tw.load(data[:size])
        for place in rng.integers(0, len(data), size=100):
            damaged = bytearray(data)
            damaged[place] ^= 1 << int(rng.integers(8))
            with pytest.raises(InvalidModel):
                tw.load(bytes(damaged))

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            tw.load(tmp_path / "nothing.tw")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
    def test_a_full_disk(self):
        with pytest.raises(OSError, match="No space left"):
            tw.SequenceLabeler().fit(X, Y).save("/dev/full")

    def test_a_failed_save_leaves_the_old_file_and_nothing_else(self, tmp_path, monkeypatch):
        path = tmp_path / "model.tw"
        model = tw.SequenceLabeler().fit(X, Y)
        model.save(path)
        before = path.read_bytes()

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space left"):
            model.fit(X, [["N", "D"], ["V", "N", "D"]]).save(path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["model.tw"]
