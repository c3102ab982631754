"""The committee of two models: who learns from what, what the second sees, the model file."""

import contextlib
import copy
import io
import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold

import trelliswork as tw
from trelliswork import models
from trelliswork.corpora.tables import TokenTable
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.estimators.committee.stacking import Added, Intervals
from trelliswork.features.templates import Templates

pytestmark = pytest.mark.filterwarnings(
    "ignore::trelliswork.errors.ConvergenceWarning", "ignore::trelliswork.errors.UnknownAttributes"
)

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "old", "man"], ["man", "the", "boats"], ["dogs"], []] * 2
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "A", "N"], ["V", "D", "N"], ["N"], []] * 2
NEW = [["the", "cat", "barks"], [], ["boats"]]


class Remembering(BaseEstimator):
    """A first model that says of a token whether it learned from its sequence; its lists are of two."""

    def __init__(self, log=None):
        self.log = log

    def fit(self, X, y):
        self.seen_ = {tuple(x) for x in X}
        self.classes_ = np.array(["known", "new"], dtype=object)
        return self

    def predict_kbest(self, X, k):
        best = ["known" if tuple(x) in self.seen_ else "new" for x in X]
        return [
            [([label] * len(x), 0.0), ([label] * (len(x) - 1) + ["other"] * bool(x), -1.0)]
            for label, x in zip(best, X, strict=True)
        ]


class Recording(BaseEstimator):
    """A second model that keeps what it is given."""

    def fit(self, X, y, **given):
        self.X_, self.y_, self.given_ = X, y, given
        self.classes_ = np.array(sorted({label for labels in y for label in labels}), dtype=object)
        return self

    def predict(self, X):
        return X


def numbered(n):
    """Sequences that are all different."""
    return [[f"w{i}", "x"] for i in range(n)], [["A", "B"]] * n


def perceptron(**given):
    return tw.SequenceLabeler(tw.Perceptron(epochs=3), random_state=1, **given)


def committee(first=None, second=None, **given):
    return tw.Committee(first or perceptron(), second or tw.SequenceLabeler("crf"), **{"folds": 3, **given})


class TestCrossFitting:
    @given(st.integers(2, 12), st.integers(2, 6))
    def test_the_second_learns_from_answers_about_sequences_not_seen(self, n, folds):
        if n < folds:
            return
        X, y = numbered(n)
        found = tw.Committee(Remembering(), Recording(), folds=folds).fit(X, y)
        assert [[token[:2] for token in x] for x in found.second_.X_] == [[(word, "new") for word in x] for x in X]
        assert found.second_.y_ == y

    def test_new_sequences_are_answered_by_a_model_of_all(self):
        X, y = numbered(6)
        found = tw.Committee(Remembering(), Recording(), folds=3).fit(X, y)
        assert {token[1] for x in found.predict(X) for token in x} == {"known"}
        assert {token[1] for x in found.predict([["w9"]]) for token in x} == {"new"}

    def test_groups_are_held_out_together(self):
        documents = ["a", "a", "b", "c", "c", "b", "d"]
        asked = []

        class Asked(Remembering):
            def predict_kbest(self, X, k):
                asked.append({documents[int(x[0][1:])] for x in X})
                return super().predict_kbest(X, k)

        folds = tw.evaluation.k_folds(7, 3, groups=documents)
        tw.Committee(Asked(), Recording(), folds=folds).fit(*numbered(7))
        assert sorted(document for held_out in asked for document in held_out) == ["a", "b", "c", "d"]

    def test_folds_of_a_splitter(self):
        X, y = numbered(7)
        found = tw.Committee(Remembering(), Recording(), folds=KFold(3, shuffle=True, random_state=0)).fit(X, y)
        assert {token[1] for x in found.second_.X_ for token in x} == {"new"}

    def test_every_fold_is_answered_by_the_first_model_of_the_others(self):
        """Written out: three runs of four sequences, each answered by a model of the other eight."""
        answers = []
        for part in (range(4), range(4, 8), range(8, 12)):
            others = [i for i in range(12) if i not in part]
            model = perceptron().fit([X[i] for i in others], [Y[i] for i in others])
            answers += tw.confidence(model, [X[i] for i in part], k=5, context=1)
        seen = [
            [
                (word, label, "[1,1]" if sure == 1 else "[0,1)")
                for word, label, sure in zip(x, answer.labels, answer.context, strict=True)
            ]
            for x, answer in zip(X, answers, strict=True)
        ]
        features = Templates.words() + Templates(
            """
            columns: word prediction confidence
            prediction
            prediction & word
            prediction & case(word)
            prediction & characters(word)
            confidence
            confidence & word
            confidence & case(word)
            confidence & characters(word)
            """
        )
        by_hand = tw.SequenceLabeler("crf", features).fit(seen, Y)
        found = committee().fit(X, Y)
        assert found.second_.weights() == by_hand.weights()
        first = perceptron().fit(X, Y)
        assert found.first_.weights() == first.weights()
        seen = [
            [
                (word, label, "[1,1]" if sure == 1 else "[0,1)")
                for word, label, sure in zip(x, answer.labels, answer.context, strict=True)
            ]
            for x, answer in zip(NEW, tw.confidence(first, NEW), strict=True)
        ]
        assert found.predict(NEW) == by_hand.predict(seen)
        assert found.seen(NEW) == seen

    def test_weights_go_with_their_sequences(self):
        kept = []

        class Weighed(Remembering):
            def fit(self, X, y, sample_weight):
                kept.append((X, list(sample_weight)))
                return super().fit(X, y)

        X, y = numbered(4)
        found = tw.Committee(Weighed(), Recording(), folds=2).fit(X, y, sample_weight=[1, 2, 3, 4])
        by_word = {"w0": 1, "w1": 2, "w2": 3, "w3": 4}
        assert len(kept) == 3
        for X, weights in kept:
            assert weights == [by_word[x[0]] for x in X]
        assert found.second_.given_ == {"sample_weight": [1, 2, 3, 4]}

    def test_any_number_of_threads_gives_the_same(self):
        alone = committee().fit(X, Y)
        assert committee(n_jobs=3).fit(X, Y).weights() == alone.weights()

    def test_an_error_in_a_thread_comes_out(self):
        class Failing(Remembering):
            def fit(self, X, y):
                raise InvalidInput("too few words")

        with pytest.raises(InvalidInput, match="too few words"):
            tw.Committee(Failing(), Recording(), folds=5, n_jobs=2).fit(*numbered(6))

    def test_development_data_are_for_the_second_as_the_first_answers_them(self):
        found = committee(second=tw.SequenceLabeler("perceptron", random_state=1)).fit(
            X, Y, NEW, [["D", "N", "V"], [], ["N"]]
        )
        assert all("dev_score" in entry for entry in found.second_.history_)
        assert found.first_.history_[0].get("dev_score") is None

    def test_a_first_model_with_patience_has_them_too(self):
        first = tw.SequenceLabeler("perceptron", patience=2, random_state=1)
        found = committee(first).fit(X, Y, NEW, [["D", "N", "V"], [], ["N"]])
        assert found.first_.history_[0]["dev_score"] is not None

    def test_unknown_labels_are_no_obstacle(self):
        found = committee(tw.SequenceLabeler("crf")).fit(X, [None, [None, {"N", "V"}, "V"], *Y[2:]])
        assert found.classes_.tolist() == ["A", "D", "N", "V"]
        assert sum(fact["tokens"] for fact in found.reliability_) == sum(map(len, Y[2:])) + 1

    def test_an_interrupt_of_a_first_model_ends_it_all(self):
        class Interrupted(Remembering):
            def fit(self, X, y):
                self.interrupted_ = True
                return super().fit(X, y)

        with pytest.raises(KeyboardInterrupt):
            tw.Committee(Interrupted(), Recording(), folds=2).fit(*numbered(4))


class TestConfidence:
    def test_intervals_by_default(self):
        assert Intervals.checked((1.0,)).of([0.0, 0.999999, 1.0]) == ["[0,1)", "[0,1)", "[1,1]"]

    @given(st.lists(st.floats(0.01, 1.0), min_size=0, max_size=4, unique=True).map(sorted), st.floats(0, 1))
    def test_each_confidence_is_in_the_interval_of_that_name(self, bounds, value):
        intervals = Intervals.checked(bounds)
        number = intervals.names.index(intervals.of([value])[0])
        edges = [0.0, *bounds]
        assert edges[number] <= value
        assert number == len(bounds) or value < edges[number + 1]

    @pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.5, 0.5), (1.5,), "ab", 3, (0.9, 0.1), (float("nan"),)])
    def test_what_is_no_interval_is_refused(self, bounds):
        with pytest.raises(InvalidInput, match="intervals is"):
            Intervals.checked(bounds)

    def test_the_context_reaches_as_far_as_is_said(self):
        """The last label of each list of two is doubtful: with a context of one, so is its neighbour."""
        X, y = [["a", "b", "c"], ["d", "e", "f"]], [["A", "A", "A"]] * 2
        for context, doubtful in ((0, 1), (1, 2), (2, 3)):
            found = tw.Committee(Remembering(), Recording(), folds=2, k=2, context=context).fit(X, y)
            expected = ["[1,1]"] * (3 - doubtful) + ["[0,1)"] * doubtful
            assert [token[2] for token in found.second_.X_[0]] == expected

    def test_reliability_counts_the_first_models_answers_on_folds_not_seen(self):
        X, y = [["a", "b", "c"], ["d", "e", "f"]], [["new", "A", "new"], ["A", None, None]]
        found = tw.Committee(Remembering(), tw.HMM(), folds=2, context=0).fit(X, y)
        assert found.reliability_ == [
            {"interval": "[0,1)", "tokens": 1, "correct": 1},
            {"interval": "[1,1]", "tokens": 3, "correct": 1},
        ]

    def test_without_confidence_predictions_stand_alone(self):
        found = committee(confidence=None).fit(X, Y)
        assert all(len(token) == 2 for x in found.seen(NEW) for token in x)
        assert found.reliability_ == []
        assert not [w for w in found.weights() if w.attribute and "confidence" in w.attribute]

    def test_intervals_of_exact_marginals(self):
        found = committee(tw.SequenceLabeler("crf"), confidence="marginals", intervals=(0.85, 0.9), context=0).fit(X, Y)
        for x, table in zip(found.seen(X), found.first_.predict_marginals(X), strict=True):
            for token, p in zip(x, table.max(axis=1), strict=True):
                assert token[2] == ("[0,0.85)" if p < 0.85 else "[0.85,0.9)" if p < 0.9 else "[0.9,1]")
        assert len({token[2] for x in found.seen(X) for token in x}) > 1


class TestFeatures:
    def test_table_4_1(self):
        added = Added("columns", 2, ("A",), ("[0,1)", "[1,1]"))
        names = added.templates(Templates("word"), "thesis").names
        assert names == [
            "word[0]",
            *("prediction[0]", "prediction[0]|word[0]", "prediction[0]|pos[0]"),
            *("prediction[0]|case(word[0])", "prediction[0]|characters(word[0])"),
            *("confidence[0]", "confidence[0]|word[0]", "confidence[0]|pos[0]"),
            *("confidence[0]|case(word[0])", "confidence[0]|characters(word[0])"),
        ]

    def test_columns_keep_their_own_names(self):
        added = Added("columns", 3, ("A",), ())
        names = added.templates(Templates("columns: form tag\nform"), "thesis").names
        assert names == [
            "form[0]",
            *("prediction[0]", "prediction[0]|form[0]", "prediction[0]|tag[0]", "prediction[0]|c2[0]"),
            *("prediction[0]|case(form[0])", "prediction[0]|characters(form[0])"),
        ]

    def test_templates_of_ones_own(self):
        found = committee(templates="prediction[-1..1]\nprediction & confidence").fit(X, Y)
        assert found.second_.features.names[-4:] == [
            *("prediction[-1]", "prediction[0]", "prediction[1]"),
            "prediction[0]|confidence[0]",
        ]

    @pytest.mark.parametrize("transitions", ["yes", "no"])
    def test_label_pairs_are_the_bases_affair(self, transitions):
        second = tw.SequenceLabeler("crf", Templates(f"transitions: {transitions}\nword"))
        assert committee(second=second).fit(X, Y).second_.features.transitions is (transitions == "yes")

    def test_foreign_templates_can_be_added_to(self):
        second = tw.SequenceLabeler("crf", Templates("U00:%x[0,0]\nB"))
        assert committee(second=second).fit(X, Y).second_.features.names[:2] == ["U00:%", "prediction[0]"]

    def test_the_parameters_stay_as_they_were(self):
        made = committee()
        before = repr(made.get_params(deep=True))
        made.fit(X, Y)
        assert repr(made.get_params(deep=True)) == before
        assert not hasattr(made.first, "classes_")


def dense(X):
    rng = np.random.default_rng(0)
    rows = {}
    return [np.array([rows.setdefault(word, rng.normal(size=3)) for word in x]).reshape(-1, 3) for x in X]


KINDS = {
    "words": lambda X: X,
    "columns": lambda X: [[(word, word[:1]) for word in x] for x in X],
    "table": TokenTable.from_lists,
    "dicts": lambda X: [[{"word": word} for word in x] for x in X],
    "lists": lambda X: [[[word, word[:1]] for word in x] for x in X],
    "dense": dense,
    "sparse": lambda X: [scipy.sparse.csr_array(rows) for rows in dense(X)],
}


@pytest.mark.parametrize("kind", KINDS)
class TestKindsOfTokens:
    def test_they_are_learned_from_and_saved(self, kind, tmp_path):
        given, new = KINDS[kind](X), KINDS[kind](NEW)
        found = committee(perceptron(constraints=None)).fit(given, Y)
        assert [len(labels) for labels in found.predict(new)] == [3, 0, 1]
        assert found.score(given, Y) > 0.8
        found.save(tmp_path / "c.tw")
        again = tw.load(tmp_path / "c.tw")
        assert again.predict(new) == found.predict(new)
        for one, other in zip(again.predict_marginals(new), found.predict_marginals(new), strict=True):
            assert one.tolist() == other.tolist()

    def test_the_second_model_sees_the_first(self, kind):
        found = committee().fit(KINDS[kind](X), Y)
        assert not np.allclose(
            found.predict_marginals(KINDS[kind](X))[0],
            tw.SequenceLabeler().fit(KINDS[kind](X), Y).predict_marginals(KINDS[kind](X))[0],
        )


def test_what_is_added_to_attributes():
    answer = (["N", "V"], ["[1,1]", "[0,1)"])
    added = Added("attributes", None, ("N", "V"), ("[0,1)", "[1,1]"))
    assert added.to([[{"w": "x"}, ["a", "b"]]], [answer]) == [
        [{"w": "x", "prediction": "N", "confidence": "[1,1]"}, ["a", "b", "prediction=V", "confidence=[0,1)"]]
    ]


def test_what_is_added_to_numbers():
    answer = (["N", "V"], ["[1,1]", "[0,1)"])
    added = Added("matrix", 1, ("N", "V"), ("[0,1)", "[1,1]"))
    expected = [[5.0, 1.0, 0.0, 0.0, 1.0], [6.0, 0.0, 1.0, 1.0, 0.0]]
    assert added.to([np.array([[5.0], [6.0]])], [answer])[0].tolist() == expected
    assert added.to([scipy.sparse.csr_array([[5.0], [6.0]])], [answer])[0].toarray().tolist() == expected


def test_a_column_of_that_name_makes_it_another():
    added = Added("columns", 2, ("A",), ())
    names = added.templates(Templates("columns: word prediction\nprediction"), "prediction2\nprediction & word").names
    assert names == ["prediction[0]", "prediction2[0]", "prediction[0]|word[0]"]


def test_a_second_model_without_features_gets_tuples():
    found = tw.Committee(Remembering(), Recording(), folds=2, confidence="kbest").fit(
        [[("a", "b")], ["c"]], [["A"], ["A"]]
    )
    assert found.second_.X_ == [[("a", "b", "new", "[0,1)")], [("c", "new", "[0,1)")]]


def test_further_columns_are_passed_over_and_missing_ones_refused():
    pairs = [[(word, word[:1]) for word in x] for x in X]
    found = committee().fit(pairs, Y)
    wider = [[(*token, "gold") for token in x] for x in pairs]
    assert found.predict(wider) == found.predict(pairs)
    with pytest.raises(InvalidInput, match="have 1 columns"):
        found.predict([["the"]])


class TestAnswers:
    FOUND = committee().fit(X, Y)

    def test_what_the_second_model_says(self):
        seen = self.FOUND.seen(NEW)
        second = self.FOUND.second_
        assert self.FOUND.predict_kbest(NEW, 3) == second.predict_kbest(seen, 3)
        assert self.FOUND.log_prob(NEW[:1], [["D", "N", "V"]]) == second.log_prob(seen[:1], [["D", "N", "V"]])
        tables = self.FOUND.predict_max_marginals(NEW), second.predict_max_marginals(seen)
        assert [table.tolist() for table in tables[0]] == [table.tolist() for table in tables[1]]
        assert self.FOUND.explain(NEW[0]).labels == second.predict(seen)[0]
        assert self.FOUND.chain(NEW[0]).marginals().tolist() == second.chain(seen[0]).marginals().tolist()

    def test_known_labels_are_kept(self):
        assert self.FOUND.predict(NEW, fixed=[{1: "V"}, None, None])[0][1] == "V"

    def test_generators_will_do(self):
        assert self.FOUND.predict(iter(x) for x in NEW) == self.FOUND.predict(NEW)

    def test_an_untrained_one_says_so(self):
        with pytest.raises(NotFittedError):
            committee().predict(NEW)
        with pytest.raises(NotFittedError):
            committee().save(io.BytesIO())

    def test_confidence_and_active_learning_take_committees(self):
        assert [len(each.label) for each in tw.confidence(self.FOUND, NEW)] == [3, 0, 1]
        assert tw.active.scores(self.FOUND, NEW, "margin").shape == (3,)


HOSTILE = [None, 0, -1, 1, 2**70, 1.5, True, "", "x", "kbest", "columns", "matrix", [], [1], ["A"], {}, {"kind": "x"}]


class TestFiles:
    EXPORTED = committee().fit(X, Y).exported()

    def test_a_loaded_one_learns_again_to_the_same(self, tmp_path):
        found = committee().fit(X, Y)
        found.save(tmp_path / "c.tw")
        again = tw.load(tmp_path / "c.tw")
        assert again.weights() == found.weights()
        assert repr(again.get_params(deep=False)["folds"]) == "3"
        assert again.set_params(first__random_state=1).fit(X, Y).weights() == found.weights()
        assert again.reliability_ == found.reliability_

    def test_the_same_committee_gives_the_same_bytes(self):
        files = io.BytesIO(), io.BytesIO()
        for file in files:
            committee().fit(X, Y).save(file)
        # Seconds of the training histories differ; the tensors do not.
        one, other = (models.loads(file.getvalue())[0] for file in files)
        assert {name: bytes(part) for name, part in one.items()} == {name: bytes(part) for name, part in other.items()}

    @pytest.mark.parametrize("place", ["first", "second"])
    def test_committees_may_have_committees_for_members(self, place, tmp_path):
        found = committee(**{place: committee()}).fit(X, Y)
        found.save(tmp_path / "c.tw")
        assert tw.load(tmp_path / "c.tw").predict(NEW) == found.predict(NEW)

    @pytest.mark.parametrize("kind", ["words", "columns", "dicts", "dense"])
    def test_the_last_of_three_sees_both_of_the_others(self, kind):
        found = committee(second=committee()).fit(KINDS[kind](X), Y)
        last = found.second_.second_
        assert [len(labels) for labels in found.predict(KINDS[kind](NEW))] == [3, 0, 1]
        if kind in ("words", "columns"):
            attributes = {weight.attribute for weight in last.weights()}
            assert {"prediction[0]=N", "prediction2[0]=N", "prediction2[0]|prediction[0]=N|N"} <= attributes

    def test_what_no_file_can_hold_is_refused(self):
        found = committee(Remembering()).fit(X, Y)
        with pytest.raises(InvalidInput, match="first model is of Remembering"):
            found.save(io.BytesIO())
        assert pickle.loads(pickle.dumps(committee(tw.HMM()).fit(X, Y))).predict(NEW)

    def test_copies(self):
        found = committee().fit(X, Y)
        for again in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
            assert again.predict(NEW) == found.predict(NEW)
        assert not hasattr(clone(found), "second_")

    @pytest.mark.parametrize(
        "damage",
        [
            lambda settings: settings.pop("members"),
            lambda settings: settings["members"].pop("first"),
            lambda settings: settings.pop("added"),
            lambda settings: settings["added"].update(kind="nothing"),
            lambda settings: settings["added"].update(kind="columns", n_columns="two"),
            lambda settings: settings["parameters"].update(intervals=[2.0]),
            lambda settings: settings["parameters"].update(k=0),
            lambda settings: settings["parameters"].update(more=1),
            lambda settings: settings["members"].update(second={"kind": "committee"}),
            lambda settings: settings["members"].update(second=7),
            lambda settings: settings.update(members=[1]),
            lambda settings: settings.update(reliability=[1]),
            lambda settings: settings.update(kind="other"),
        ],
    )
    def test_damaged_settings_are_refused(self, damage):
        tensors, settings = committee().fit(X, Y).exported()
        settings = copy.deepcopy(settings)
        damage(settings)
        with pytest.raises(InvalidModel):
            tw.load(models.dumps(tensors, settings))

    @given(data=st.data())
    def test_whatever_the_settings_say_is_refused_or_answered(self, data):
        tensors, settings = self.EXPORTED
        settings = copy.deepcopy(settings)
        place = settings
        while True:
            key = data.draw(st.sampled_from(sorted(place)))
            if not isinstance(place[key], dict) or not place[key] or data.draw(st.integers(0, 3)) == 0:
                break
            place = place[key]
        place[key] = data.draw(st.sampled_from(HOSTILE))
        with contextlib.suppress(tw.TrellisworkError):
            tw.load(models.dumps(tensors, settings)).predict(NEW)

    @pytest.mark.parametrize("precision", ["float16", "int8"])
    def test_both_members_can_be_made_smaller(self, precision):
        tensors, settings = self.EXPORTED
        small = models.quantize(models.prune(tensors, drop_names=True), precision)
        data = models.dumps(small, settings)
        assert len(data) < 0.8 * len(models.dumps(tensors, settings))
        for member in ("first", "second"):
            assert f"{member}.channel.token.names.text" not in small
            assert np.asarray(small[f"{member}.channel.token.weights"]).itemsize < 4
        assert tw.load(data).predict(X) == tw.load(models.dumps(tensors, settings)).predict(X)

    def test_a_member_that_is_missing_tensors_is_refused(self):
        tensors, settings = committee().fit(X, Y).exported()
        tensors = {name: part for name, part in tensors.items() if name != "first.channel.transitions.weights"}
        with pytest.raises(InvalidModel):
            tw.load(models.dumps(tensors, settings))


class TestSearches:
    def test_parameters_of_members_have_two_underscores(self):
        made = committee().set_params(first__learner__epochs=7, second__min_count=2, k=3)
        assert (made.first.learner.epochs, made.second.min_count, made.k) == (7, 2, 3)

    def test_a_grid_search(self):
        search = GridSearchCV(committee(), {"k": [1, 5]}, cv=KFold(2)).fit(X, Y)
        assert search.best_params_["k"] in (1, 5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"folds": 1}, "folds is 1"),
        ({"folds": 20}, "folds is 20, but there are only 12 sequences"),
        ({"folds": "five"}, "folds is 'five'"),
        ({"k": 0}, "k must"),
        ({"confidence": "high"}, "'kbest', 'weighted', 'margins', 'marginals', or None"),
        ({"context": -1}, "context must"),
        ({"intervals": (2.0,)}, "intervals is"),
        ({"templates": None}, "templates is"),
        ({"templates": "prediction[-1..1"}, "templates"),
        ({"confidence": None, "templates": "confidence"}, "no column 'confidence'"),
        ({"first": "crf"}, "first is 'crf'; expected an estimator with fit and predict_kbest"),
        ({"second": 3}, "second is 3"),
    ],
)
def test_wrong_parameters_are_refused(given, said):
    with pytest.raises(InvalidInput, match=said):
        committee(**given).fit(X, Y)


def test_a_splitter_that_leaves_some_out_is_refused():
    class Half:
        def split(self, X, y=None, groups=None):
            yield np.arange(6), np.arange(6, 12)

    with pytest.raises(InvalidInput, match="each sequence must be held out once"):
        committee(folds=Half()).fit(X, Y)


def test_lengths_must_agree():
    with pytest.raises(InvalidInput, match="y has 11 label lists but X has 12"):
        committee().fit(X, Y[:-1])


@pytest.mark.parametrize("wrong", ["labels", 3, None])
def test_what_is_no_list_of_labels_is_refused(wrong):
    with pytest.raises(InvalidInput, match="expected a list of label lists"):
        committee().fit(X, wrong)


def test_no_tokens_are_refused():
    with pytest.raises(InvalidInput, match="no tokens to learn from"):
        committee(second=tw.SequenceLabeler("crf", "words")).fit([[], [], []], [[], [], []])


def test_wrong_templates_are_refused_before_anything_is_learned():
    class Never(Remembering):
        def fit(self, X, y):
            raise AssertionError

    with pytest.raises(InvalidInput, match="no column 'guess'"):
        committee(Never(), templates="guess").fit(X, Y)


def test_a_second_fit_that_fails_leaves_what_was_learned():
    found = committee().fit(X, Y)
    before = found.predict(NEW)
    with pytest.raises(InvalidInput):
        found.fit(X, [["D", "N"], *Y[1:]])
    assert found.predict(NEW) == before


@pytest.mark.parametrize("wrong", ["words", 3, None])
def test_what_is_no_list_of_sequences_is_refused(wrong):
    with pytest.raises(InvalidInput, match="expected a list of sequences"):
        committee().fit(wrong, Y)
