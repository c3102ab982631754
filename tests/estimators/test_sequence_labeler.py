"""What a trained labeler answers: every labelling enumerated from the table of its weights is the judge."""

import functools
import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import trelliswork as tw
from reference.labelers import every_answer, every_template_answer
from trelliswork.corpora import spans
from trelliswork.errors import InvalidInput, UnknownAttributes, Unsatisfiable
from trelliswork.features.templates import Templates

LABELS = ("B-X", "I-X", "O")
ATTRIBUTES = ("a", "b", "c", "d")
TOLERANCE = {"rtol": 1e-6, "atol": 1e-9}  # weights are stored in single precision

pytestmark = pytest.mark.filterwarnings(
    "ignore::trelliswork.errors.ConvergenceWarning", "ignore::trelliswork.errors.UnknownAttributes"
)


@functools.cache
def labeler(seed, kind="attributes", constraints=None, labels=LABELS):
    """A labeler trained a little on random sequences, so that its weights are no round numbers."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    rules = tw.scheme_constraints(labels, constraints) if constraints else None
    while len(X) < 12:
        length = rng.integers(1, 6)
        codes = rng.integers(len(labels), size=length)
        if rules and not (
            rules.start[codes[0]] and rules.end[codes[-1]] and rules.transitions[codes[:-1], codes[1:]].all()
        ):
            continue
        X.append([random_token(rng, kind) for _ in range(length)])
        y.append([labels[code] for code in codes])
    features = Templates("word\npair: word\npair: word[-1]") if kind == "pairs" else "auto"
    return tw.SequenceLabeler(tw.CRF(l2=0.1, max_iter=15), features, constraints=constraints).fit(X, y)


def random_token(rng, kind):
    names = rng.choice(ATTRIBUTES, size=rng.integers(0, 4), replace=False).tolist()
    if kind == "valued":
        return {name: float(value) for name, value in zip(names, rng.normal(size=len(names)), strict=True)}
    return str(rng.choice(ATTRIBUTES)) if kind == "pairs" else names


def table(model, x, constraints=None):
    rules = tw.scheme_constraints(list(model.classes_), constraints) if constraints else None
    return (every_template_answer if isinstance(model.features, Templates) else every_answer)(model, x, rules)


@st.composite
def cases(draw, constrained=None):
    """A labeler, a sequence of the kind it knows, and the table of all labellings of it."""
    kind = draw(st.sampled_from(["attributes", "valued", "pairs"]))
    constraints = draw(st.sampled_from([None, "BIO"])) if constrained is None else constrained
    model = labeler(draw(st.integers(0, 3)), kind, constraints)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    x = [random_token(rng, kind) for _ in range(draw(st.integers(1, 5)))]
    return model, x, table(model, x, constraints)


def numbers(model, labels):
    return [list(model.classes_).index(label) for label in labels]


class TestAnswers:
    @given(cases())
    def test_predict_is_a_best_labelling(self, case):
        model, x, every = case
        (labels,) = model.predict([x])
        np.testing.assert_allclose(every.score(numbers(model, labels)), every.scores.max(), **TOLERANCE)

    @given(cases(), st.integers(1, 12))
    def test_kbest_are_the_most_probable_labellings(self, case, k):
        model, x, every = case
        answer = model.predict_kbest([x], k)[0]
        expected = every.kbest(k)
        log_probs = [score - every.log_partition() for _, score in expected]
        np.testing.assert_allclose([log_prob for _, log_prob in answer], log_probs, **TOLERANCE)
        for labels, log_prob in answer:
            np.testing.assert_allclose(log_prob, every.log_prob(numbers(model, labels)), **TOLERANCE)
        assert len({tuple(labels) for labels, _ in answer}) == len(answer)

    @given(cases())
    def test_marginals(self, case):
        model, x, every = case
        np.testing.assert_allclose(model.predict_marginals([x])[0], every.marginals(), **TOLERANCE)

    @given(cases(), st.data())
    def test_log_prob_sums_over_what_is_not_known(self, case, data):
        model, x, every = case
        label = st.sampled_from(LABELS) | st.none() | st.frozensets(st.sampled_from(LABELS), min_size=1)
        y = [data.draw(label) for _ in x]
        sets = [LABELS if item is None else {item} if isinstance(item, str) else item for item in y]
        kept = np.array(
            [all(model.classes_[k] in s for k, s in zip(row, sets, strict=True)) for row in every.labellings]
        )
        with np.errstate(divide="ignore"):
            expected = np.log(every.probabilities()[kept].sum())
        np.testing.assert_allclose(model.log_prob([x], [y]), [min(expected, 0.0)], rtol=1e-6, atol=1e-7)

    @given(cases())
    def test_spans_have_the_probability_of_all_labellings_that_spell_them(self, case):
        model, x, every = case
        labels = model.predict([x])[0]
        found = model.predict_spans([x])[0]
        assert [(span.type, span.start, span.stop) for span in found] == [tuple(span) for span in spans(labels)]
        spelled = [spans([model.classes_[k] for k in row]) for row in every.labellings]
        for span in found:
            having = np.array([tuple(span[:3]) in map(tuple, other) for other in spelled])
            np.testing.assert_allclose(span.probability, every.probabilities()[having].sum(), **TOLERANCE)

    @given(cases(), st.sampled_from(["hamming", "array"]))
    def test_mbr_has_the_least_expected_cost_of_the_allowed_labellings(self, case, kind):
        model, x, every = case
        cost = 1.0 - np.eye(3) if kind == "hamming" else np.array([[0, 1, 4], [2, 0, 3], [1, 0.5, 0]])
        model.decoder, model.cost = "mbr", "hamming" if kind == "hamming" else cost
        try:
            labels = numbers(model, model.predict([x])[0])
        finally:
            model.decoder, model.cost = "argmax", "hamming"
        risks = np.einsum("tk,kn->tn", every.marginals(), cost)
        totals = np.array([sum(risks[t, k] for t, k in enumerate(row)) for row in every.labellings])
        possible = every.scores > -np.inf
        guess = np.all(every.labellings == labels, axis=1)
        assert possible[guess].all()
        np.testing.assert_allclose(totals[guess].item(), totals[possible].min(), rtol=1e-6, atol=1e-7)

    @given(cases(), st.data())
    def test_allowed_and_fixed_limit_every_answer(self, case, data):
        model, x, every = case
        candidates = st.none() | st.frozensets(st.sampled_from(LABELS), min_size=1)
        allowed = [data.draw(candidates) for _ in x]
        fixed = data.draw(st.dictionaries(st.integers(0, len(x) - 1), st.sampled_from(LABELS), max_size=2))
        keep = np.ones(len(every.scores), dtype=bool)
        for t in range(len(x)):
            sets = [s for s in (allowed[t], {fixed[t]} if t in fixed else None) if s is not None]
            keep &= [all(model.classes_[k] in s for s in sets) for k in every.labellings[:, t]]
        limited = every.where(keep)
        limits = {"allowed": [allowed], "fixed": [fixed]}
        if not limited.satisfiable:
            with pytest.raises(Unsatisfiable, match=r"X\[0\]: every labelling is forbidden"):
                model.predict([x], **limits)
            return
        labels = numbers(model, model.predict([x], **limits)[0])
        np.testing.assert_allclose(limited.score(labels), limited.scores.max(), **TOLERANCE)
        np.testing.assert_allclose(model.predict_marginals([x], **limits)[0], limited.marginals(), **TOLERANCE)
        best, log_prob = model.predict_kbest([x], 1, **limits)[0][0]
        np.testing.assert_allclose(log_prob, limited.log_prob(numbers(model, best)), rtol=1e-6, atol=1e-7)

    @given(cases(), st.dictionaries(st.sampled_from(LABELS), st.floats(-5, 5), max_size=3))
    def test_a_bias_is_added_to_every_token(self, case, bias):
        model, x, every = case
        added = np.array([bias.get(label, 0.0) for label in model.classes_])
        biased = type(every)(every.labellings, every.scores + added[every.labellings].sum(axis=1), 3)
        np.testing.assert_allclose(model.predict_marginals([x], bias=bias)[0], biased.marginals(), **TOLERANCE)
        labels = numbers(model, model.predict([x], bias=bias)[0])
        np.testing.assert_allclose(biased.score(labels), biased.scores.max(), **TOLERANCE)

    @given(cases(constrained="BIO"))
    def test_constraints_hold_in_every_answer(self, case):
        model, x, _ = case
        for labels, _ in model.predict_kbest([x], 100)[0]:
            assert tw.corpora.validate_labels(labels, "BIO") == []


class TestManySequences:
    @pytest.mark.parametrize("kind", ["attributes", "pairs"])
    def test_answers_do_not_depend_on_what_else_is_asked(self, kind):
        model = labeler(0, kind)
        rng = np.random.default_rng(1)
        X = [[random_token(rng, kind) for _ in range(rng.integers(0, 6))] for _ in range(70)]
        one_by_one = [model.predict([x])[0] for x in X]
        assert model.predict(X) == one_by_one
        assert model.predict(iter(X)) == one_by_one
        assert model.predict(tuple(X)) == one_by_one
        assert [len(row) for row in model.predict_marginals(X)] == [len(x) for x in X]
        assert [best[0][0] for best in model.predict_kbest(X, 1)] == one_by_one
        assert [len(found) for found in model.predict_spans(X)] == [len(spans(labels)) for labels in one_by_one]

    @pytest.mark.parametrize("n_jobs", [1, 2, 4, -1])
    def test_threads_change_nothing(self, n_jobs):
        model = labeler(0)
        rng = np.random.default_rng(1)
        X = [[random_token(rng, "attributes") for _ in range(rng.integers(0, 6))] for _ in range(300)]
        one = model.predict_marginals(X)
        model.n_jobs = n_jobs
        try:
            assert all(np.array_equal(a, b) for a, b in zip(model.predict_marginals(X), one, strict=True))
        finally:
            model.n_jobs = None

    def test_empty_input(self):
        model = labeler(0)
        assert model.predict([]) == []
        assert model.predict([[], [["a"]], []])[::2] == [[], []]
        assert model.predict_marginals([[]])[0].shape == (0, 3)
        assert model.predict_kbest([[]], 3) == [[([], 0.0)]]
        assert model.predict_spans([[]]) == [[]]
        assert model.log_prob([[]], [[]]).tolist() == [0.0]


class TestExplain:
    @given(cases())
    def test_contributions_add_up_to_the_score(self, case):
        model, x, every = case
        why = model.explain(x)
        assert why.labels == model.predict([x])[0]
        total = sum(why.score(t) for t in range(len(why)))
        np.testing.assert_allclose(total, every.score(numbers(model, why.labels)), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(why.log_prob, every.log_prob(numbers(model, why.labels)), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(why.marginals, every.marginals(), **TOLERANCE)

    def test_the_text_names_tokens_labels_and_attributes(self):
        model = tw.SequenceLabeler(tw.CRF(l2=0.1)).fit([[["the"], ["dog", "noun"]]], [["D", "N"]])
        text = str(model.explain([["the"], ["cow", "noun"]]))
        assert "['cow', 'noun']   N 0." in text
        assert "noun  (N)" in text
        assert "D -> N" in text
        assert "(else D" in text

    def test_other_labels_can_be_asked_about(self):
        model = labeler(0)
        why = model.explain([["a", "b"]])
        for label in LABELS:
            weights = {w.attribute: w.weight for w in model.weights() if w.label == label and w.attribute in ("a", "b")}
            assert {c.attribute: pytest.approx(c.value) for c in why.contributions(0, label)} == weights
        with pytest.raises(InvalidInput, match="label is 'Z'; the model knows B-X, I-X, O"):
            why.contributions(0, "Z")

    def test_a_matrix_can_be_explained(self):
        X = [np.array([[1.0, 0.0], [0.0, 2.0]])]
        why = tw.SequenceLabeler(tw.CRF(l2=0.1)).fit(X, [["A", "B"]]).explain(X[0])
        assert [c.attribute for c in why.contributions(1)][-1] in ("x[1]", None)
        assert len(why.tokens) == 2


class TestChain:
    @given(cases())
    def test_it_has_the_scores_of_the_model(self, case):
        model, x, every = case
        chain = model.chain(x)
        assert [model.classes_[label] for label in chain.argmax().labels] == model.predict([x])[0]
        np.testing.assert_allclose(chain.log_partition(), every.log_partition(), **TOLERANCE)
        np.testing.assert_allclose(chain.marginals(), every.marginals(), **TOLERANCE)

    @given(cases(constrained="BIO"))
    def test_it_keeps_to_the_constraints(self, case):
        model, x, every = case
        found = model.chain(x).kbest(len(every.scores))
        assert len(found) == np.isfinite(every.scores).sum()

    def test_a_matrix_has_one(self):
        X = [np.array([[1.0, 0.0], [0.0, 2.0]])]
        model = tw.SequenceLabeler().fit(X, [["A", "B"]])
        for x in (X[0], scipy.sparse.csr_array(X[0])):
            np.testing.assert_array_equal(model.chain(x).marginals(), model.predict_marginals(X)[0])

    def test_an_empty_sequence_has_one(self):
        assert labeler(0).chain([]).marginals().shape == (0, 3)

    def test_other_features_warn(self):
        with pytest.warns(UnknownAttributes, match="the model knows none of"):
            labeler(0).chain([["never-seen"]])

    def test_there_is_none_before_training_nor_of_a_set(self):
        with pytest.raises(NotFittedError):
            tw.SequenceLabeler().chain(["a"])
        with pytest.raises(InvalidInput, match="expected a sequence of tokens"):
            labeler(0).chain({"a", "b"})


class TestLimits:
    @pytest.mark.parametrize(
        ("limits", "message"),
        [
            ({"allowed": "O"}, "allowed is 'O'.*expected a list with one entry for each sequence"),
            ({"allowed": [None, None]}, "allowed has 2 entries but X has 1 sequences"),
            ({"allowed": [[{"O"}]]}, r"allowed\[0\] has 1 entries but X has 2 tokens there"),
            ({"allowed": [[{"O"}, {"Z"}]]}, r"allowed\[0\]\[1\] has 'Z'; the model knows B-X, I-X, O"),
            ({"allowed": [[set(), None]]}, r"allowed\[0\]\[0\] is set\(\)"),
            ({"allowed": [np.ones((2, 2), dtype=bool)]}, r"allowed\[0\] has shape \(2, 2\); expected \(2, 3\)"),
            ({"fixed": [{5: "O"}]}, r"fixed\[0\] names position 5, but X has 2 tokens there"),
            ({"fixed": ["OO"]}, r"fixed\[0\] is 'OO'"),
        ],
    )
    def test_wrong_ones_are_refused(self, limits, message):
        with pytest.raises(InvalidInput, match=message):
            labeler(0).predict([[["a"], ["b"]]], **limits)

    @pytest.mark.parametrize(
        ("bias", "message"),
        [
            (1.0, r"bias is 1.0 \(float\); expected a dict"),
            ({"Z": 1.0}, "bias has 'Z'; the model knows B-X, I-X, O"),
            ({"O": np.inf}, r"bias\['O'\] is inf"),
            ({"O": "1"}, r"bias\['O'\] is '1'"),
        ],
    )
    def test_a_wrong_bias_is_refused(self, bias, message):
        with pytest.raises(InvalidInput, match=message):
            labeler(0).predict([[["a"]]], bias=bias)

    def test_a_mask_is_a_limit(self):
        mask = np.array([[True, False, False], [False, False, True]])
        assert labeler(0).predict([[["a"], ["b"]]], allowed=[mask]) == [["B-X", "O"]]

    def test_labels_in_a_list_are_fixed(self):
        assert labeler(0).predict([[["a"], ["b"]]], fixed=[["I-X", None]])[0][0] == "I-X"

    def test_the_message_of_an_impossible_sequence_names_it(self):
        model = labeler(0, constraints="BIO")
        with pytest.raises(Unsatisfiable, match=r"X\[1\]: every labelling is forbidden"):
            model.predict([[["a"]], [["a"]]], fixed=[None, ["I-X"]])


ANIMALS = [[[f"w={w}", f"l={w.lower()}", "bias"] for w in ["The", "dog", "saw", "the", "cat"]] for _ in range(5)]
TAGS = [["D", "N", "V", "D", "N"]] * 5


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, X: model.predict(X),
        lambda model, X: model.predict_marginals(X),
        lambda model, X: model.predict_kbest(X, 2),
        lambda model, X: model.predict_spans(X),
        lambda model, X: model.log_prob(X, [["B-X", "E-X"], ["B-X"]]),
        lambda model, X: model.predict(X, bias={"B-X": 1.0}),
    ],
)
def test_a_sequence_without_an_allowed_labelling_is_named(ask):
    model = tw.SequenceLabeler(constraints="IOBES").fit([["a", "b"]], [["B-X", "E-X"]])  # S-X and O are not known
    with pytest.raises(Unsatisfiable, match=r"X\[1\]: .*forbid"):
        ask(model, [["a", "b"], ["a"]])
    with pytest.raises(Unsatisfiable, match=r"x: .*forbid"):
        model.explain(["a"])


@pytest.mark.filterwarnings("error::trelliswork.errors.UnknownAttributes")
class TestUnknownAttributes:
    def test_other_features_warn(self):
        model = tw.SequenceLabeler().fit(ANIMALS, TAGS)
        other = [[[f"word={w}", f"lower={w.lower()}"] for w in ["The", "dog", "saw", "the", "cat"]] * 10]
        with pytest.warns(UnknownAttributes, match="the model knows none of the attributes of X") as caught:
            model.predict(other)
        assert (caught[0].message.known, caught[0].message.total) == (0, 100)

    def test_it_is_shown_once_however_often_something_is_predicted(self):
        """Counts in the text made it another warning each time, which Python shows again."""
        model = tw.SequenceLabeler().fit(ANIMALS, TAGS)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for i in range(25):
                model.predict([[[f"other={i}"]] * (60 + i), [["bias"]]])
        assert [warning.category for warning in caught] == [UnknownAttributes]

    def test_the_warning_points_at_the_caller(self):
        model = tw.SequenceLabeler().fit(ANIMALS, TAGS)
        for ask in (model.predict, model.predict_marginals, lambda X: model.predict_kbest(X, 1)):
            with pytest.warns(UnknownAttributes) as caught:
                ask([[["word=The"]]])
            assert caught[0].filename == __file__

    def test_some_unknown_words_do_not_warn(self):
        model = tw.SequenceLabeler().fit(ANIMALS, TAGS)
        model.predict([[["w=Cow", "l=cow", "bias"], ["w=dog", "l=dog", "bias"]]])

    def test_what_min_count_left_out_does_not_warn(self):
        X = [[[f"once={i}", f"twice={i // 2}", f"also={i}", "bias"]] for i in range(40)]
        y = [["A" if i % 2 else "B"] for i in range(40)]
        model = tw.SequenceLabeler(min_count=5).fit(X, y)
        model.predict(X)


def test_weights_are_listed_largest_first_with_their_names():
    model = labeler(0, "pairs")
    weights = model.weights()
    sizes = [abs(weight.weight) for weight in weights]
    assert sizes == sorted(sizes, reverse=True)
    assert {weight.label for weight in weights} <= set(LABELS)
    assert any(w.attribute is not None and w.previous is not None for w in weights)
    moves = {(w.previous, w.label): w.weight for w in weights if w.attribute is None}
    for a, b in itertools.product(range(3), repeat=2):
        assert moves.get((model.classes_[a], model.classes_[b]), 0.0) == model.transitions_[a, b]


def test_labels_that_spell_no_spans_have_none():
    model = tw.SequenceLabeler().fit([[["a"], ["b"]]], [["NN", "VB"]])
    with pytest.raises(InvalidInput, match=r"the labels of this model \(NN, VB, ...\) spell no spans"):
        model.predict_spans([[["a"]]])


def test_any_string_is_a_label():
    y = [["a label with spaces", "🍋", "", "O:\\x", "tab\tand\nline"]]
    X = [[["a"], ["b"], ["c"], ["d"], ["e"]]]
    model = tw.SequenceLabeler(tw.CRF(l2=0.01)).fit(X, y)
    assert model.predict(X) == y
