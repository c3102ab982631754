"""The hidden Markov model: printed figures, every labelling enumerated, hand counts, and bad input."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import trelliswork as tw
from trelliswork.errors import ConvergenceWarning, InvalidInput, Unsatisfiable
from trelliswork.estimators.hmm.baum_welch import baum_welch, expected_counts, random_guess
from trelliswork.estimators.hmm.counts import Corpus, PseudoCounts, hard_counts

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"], ["sleeps"]]
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"], ["V"]]

EXACT = {"transition_pseudo_count": 0.0, "emission_pseudo_count": 0.0, "unknown": "error"}


@pytest.fixture
def ice_cream():
    """The weather and the ice creams of "Structured Prediction", without STOP."""
    return tw.HMM.from_parameters(
        start=[0.6, 0.4],
        transitions=[[0.7, 0.3], [0.4, 0.6]],
        emissions=[[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]],
        labels=["Hot", "Cold"],
        tokens=["1", "2", "3"],
    )


# Figures that "Structured Prediction" prints


def test_ice_cream_path_and_its_log_probability(ice_cream):
    ((labels, score),) = ice_cream.predict_kbest([["3", "3", "1", "1", "2", "3", "3"]], k=1)[0]
    assert labels == ["Hot", "Hot", "Cold", "Cold", "Hot", "Hot", "Hot"]
    assert f"{score:.3f}" == "-10.180"


def test_ice_cream_likelihood_and_posterior(ice_cream):
    x = [["3", "1", "3"]]
    assert ice_cream.predict(x) == [["Hot", "Hot", "Hot"]]
    assert round(math.exp(ice_cream.log_likelihood(x)[0]), 6) == 0.021968
    assert round(ice_cream.predict_marginals(x)[0][1, 0], 6) == 0.519301


# Brute force


def every_labelling(model, x):
    """Multiply the probabilities of each labelling one by one, as Stratos 2018 writes p(x, y); slow and obvious."""
    start, transitions, stop, emissions = model
    for y in itertools.product(range(len(start)), repeat=len(x)):
        p = 1.0
        if x:
            p = start[y[0]] * (1.0 if stop is None else stop[y[-1]])
        for before, after in itertools.pairwise(y):
            p *= transitions[before][after]
        for label, token in zip(y, x, strict=True):
            p *= emissions[label][token]
        yield list(y), p


def distributions(size):
    return st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any).map(lambda w: np.array(w) / sum(w))


@st.composite
def tiny_models(draw):
    K, V, with_stop = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.booleans())
    rows = np.array([draw(distributions(K + with_stop)) for _ in range(K)])
    emissions = np.array([draw(distributions(V)) for _ in range(K)])
    return draw(distributions(K)), rows[:, :K], rows[:, K] if with_stop else None, emissions


def hmm_of(model):
    start, transitions, stop, emissions = model
    K, V = emissions.shape
    return tw.HMM.from_parameters(start, transitions, emissions, labels=range(K), tokens=range(V), stop=stop)


@given(tiny_models(), st.data())
def test_answers_equal_enumeration(model, data):
    x = data.draw(st.lists(st.integers(0, model[3].shape[1] - 1), max_size=4))
    hmm = hmm_of(model)
    joint = list(every_labelling(model, x))
    total = sum(p for _, p in joint)
    np.testing.assert_allclose(np.exp(hmm.log_likelihood([x])), [total], rtol=1e-10)
    if total == 0:
        with pytest.raises(Unsatisfiable, match=r"X\[0\] has probability zero"):
            hmm.predict([x])
        return
    posterior = np.zeros((len(x), len(hmm.classes_)))
    for labels, p in joint:
        posterior[range(len(x)), labels] += p / total
    np.testing.assert_allclose(hmm.predict_marginals([x])[0], posterior, atol=1e-12)
    chances = {tuple(labels): p for labels, p in joint}
    np.testing.assert_allclose(chances[tuple(hmm.predict([x])[0])], max(chances.values()), rtol=1e-12)
    ranked = sorted((p for p in chances.values() if p > 0), reverse=True)[:3]
    best = hmm.predict_kbest([x], k=3)[0]
    np.testing.assert_allclose([math.exp(score) for _, score in best], ranked, rtol=1e-10)
    np.testing.assert_allclose([chances[tuple(labels)] for labels, _ in best], ranked, rtol=1e-10)


@given(tiny_models())
def test_sequences_of_one_length_share_the_probability_of_that_length(model):
    start, transitions, stop, emissions = model
    X = list(itertools.product(range(emissions.shape[1]), repeat=3))
    reaching = start @ transitions @ transitions
    expected = reaching.sum() if stop is None else reaching @ stop
    np.testing.assert_allclose(np.exp(hmm_of(model).log_likelihood(X)).sum(), expected, atol=1e-12)


def test_batch_equals_one_chain_at_a_time():
    hmm = tw.HMM(n_jobs=2).fit(X, Y)
    unseen = [*X, [], ["the", "frogs", "sleeps"]]
    np.testing.assert_allclose(hmm.log_likelihood(unseen), [hmm.chain(x).log_partition() for x in unseen], rtol=1e-12)
    for x, labels in zip(unseen, hmm.predict(unseen), strict=True):
        assert labels == [hmm.classes_[k] for k in hmm.chain(x).argmax().labels]


def test_answers_do_not_depend_on_the_blocks(monkeypatch):
    hmm = tw.HMM().fit(X, Y)
    expected = hmm.predict(X), hmm.log_likelihood(X).tolist()
    monkeypatch.setattr("trelliswork.estimators.hmm.counts._BLOCK", 7)
    assert (hmm.predict(X), hmm.log_likelihood(X).tolist()) == expected


# Closed-form estimates


def test_estimates_are_hand_counts_with_stop_in_the_denominators():
    hmm = tw.HMM(**EXACT).fit([["a", "b", "a"], ["b"], ["a"]], [["A", "B", "A"], ["B"], ["A"]])
    # A begins 2 of 3 sequences; of its 3 occurrences one is followed by B and two by STOP. B: one by A, one by STOP.
    np.testing.assert_allclose(np.exp(hmm.log_start_), [2 / 3, 1 / 3])
    np.testing.assert_allclose(np.exp(hmm.log_transitions_), [[0, 1 / 3], [1 / 2, 0]])
    np.testing.assert_allclose(np.exp(hmm.log_stop_), [2 / 3, 1 / 2])
    np.testing.assert_allclose(np.exp(hmm.log_emissions_), [[1, 0], [0, 1]])
    assert hmm.vocabulary_ == {"a": 0, "b": 1}
    assert (hmm.n_iter_, hmm.converged_, hmm.log_likelihood_history_) == (0, True, [])


def test_likelihood_multiplies_stop_in_at_the_end():
    hmm = tw.HMM(**EXACT).fit([["a", "b", "a"], ["b"], ["a"]], [["A", "B", "A"], ["B"], ["A"]])
    np.testing.assert_allclose(np.exp(hmm.log_likelihood([["a", "b"]])), [2 / 3 * 1 / 3 * 1 / 2])


def test_pseudo_counts_are_added_to_every_count():
    hmm = tw.HMM(transition_pseudo_count=1, emission_pseudo_count=0.5, unknown="error").fit([["a", "b"]], [["A", "B"]])
    np.testing.assert_allclose(np.exp(hmm.log_start_), [2 / 3, 1 / 3])
    np.testing.assert_allclose(np.exp(hmm.log_transitions_), [[1 / 4, 2 / 4], [1 / 4, 1 / 4]])
    np.testing.assert_allclose(np.exp(hmm.log_stop_), [1 / 4, 2 / 4])
    np.testing.assert_allclose(np.exp(hmm.log_emissions_), [[1.5 / 2, 0.5 / 2], [0.5 / 2, 1.5 / 2]])


def test_without_stop_only_labels_follow_labels():
    hmm = tw.HMM(use_stop=False, **EXACT).fit([["a", "b", "a"], ["b"]], [["A", "B", "A"], ["B"]])
    np.testing.assert_allclose(np.exp(hmm.log_transitions_), [[0, 1], [1, 0]])
    assert hmm.log_stop_ is None


def test_label_that_nothing_follows_has_a_uniform_row_without_stop():
    hmm = tw.HMM(use_stop=False, **EXACT).fit([["a", "b"]], [["A", "B"]])
    np.testing.assert_allclose(np.exp(hmm.log_transitions_), [[0, 1], [0.5, 0.5]])


@pytest.mark.parametrize("unknown", ["suffix", "uniform"])
def test_known_and_unseen_tokens_share_one(unknown):
    hmm = tw.HMM(unknown=unknown).fit(X, Y)
    unseen = np.exp(hmm.chain([("not", "a", "string")]).unary[0])  # all that is not a string is one class
    np.testing.assert_allclose(np.exp(hmm.log_emissions_).sum(axis=1) + unseen, 1.0)


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("PQR")), max_size=4), max_size=5))
def test_rows_sum_to_one_whatever_the_corpus(corpus):
    tokens = [[token for token, _ in sequence] for sequence in corpus]
    labels = [[label for _, label in sequence] for sequence in corpus]
    if not any(tokens):
        return
    hmm = tw.HMM(**EXACT).fit(tokens, labels)
    np.testing.assert_allclose(np.exp(hmm.log_start_).sum(), 1.0)
    np.testing.assert_allclose(np.exp(hmm.log_transitions_).sum(axis=1) + np.exp(hmm.log_stop_), 1.0)
    np.testing.assert_allclose(np.exp(hmm.log_emissions_).sum(axis=1), 1.0)
    assert np.isfinite(hmm.log_likelihood(tokens)).all()  # every training sequence is possible


def test_classes_are_sorted_and_keep_their_kind():
    assert tw.HMM().fit([["a", "b"]], [["Z", "B"]]).classes_.tolist() == ["B", "Z"]
    hmm = tw.HMM().fit([["a", "b"]], [[10, 9]])
    assert hmm.classes_.tolist() == [9, 10]
    assert hmm.predict([["a", "b"]]) == [[10, 9]]


# Baum-Welch


def random_corpus(rng, n=12, V=4, K=3, share_labelled=0.0):
    lengths = rng.integers(1, 7, size=n)
    labels = np.where(rng.random(lengths.sum()) < share_labelled, rng.integers(0, K, lengths.sum()), -1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    vocabulary, tokens = np.unique(rng.integers(0, V, lengths.sum()), return_inverse=True)
    return Corpus(tokens, labels, offsets, n_tokens=len(vocabulary), n_labels=K)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([0.0, 0.01, 1.0]),
    st.booleans(),
    st.booleans(),
)
def test_objective_never_falls(seed, share_labelled, pseudo_count, use_stop, few):
    corpus = random_corpus(np.random.default_rng(seed), n=3 if few else 12, share_labelled=share_labelled)
    guess = random_guess(corpus, use_stop, seed)
    history = baum_welch(
        corpus, guess, PseudoCounts(pseudo_count, pseudo_count), n_iter=15, tol=0.0, n_jobs=None
    ).history
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-9 * np.abs(history[0])).all()


@given(st.integers(0, 2**32 - 1))
def test_expected_counts_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    corpus = random_corpus(rng, n=3, K=2, share_labelled=0.3)
    guess = random_guess(corpus, True, rng)
    counts, log_likelihood = expected_counts(corpus, guess)
    start, transitions, stop, emissions = (np.zeros_like(count) for count in counts)
    expected_log_likelihood = 0.0
    model = [np.exp(part) for part in guess]
    for begin, end in itertools.pairwise(corpus.offsets):
        x, known = corpus.tokens[begin:end].tolist(), corpus.labels[begin:end]
        joint = [
            (y, p)
            for y, p in every_labelling((model[0], model[1], model[2], model[3].T), x)
            if all(k in (-1, label) for k, label in zip(known, y, strict=True))
        ]
        total = sum(p for _, p in joint)
        expected_log_likelihood += math.log(total)
        for y, p in joint:
            start[y[0]] += p / total
            stop[y[-1]] += p / total
            np.add.at(transitions, (y[:-1], y[1:]), p / total)
            np.add.at(emissions, (x, y), p / total)
    np.testing.assert_allclose(log_likelihood, expected_log_likelihood, rtol=1e-10)
    for count, expected in zip(counts, (start, transitions, stop, emissions), strict=True):
        np.testing.assert_allclose(count, expected, atol=1e-10)


@given(st.integers(0, 2**32 - 1))
def test_with_every_label_known_the_expected_counts_are_the_counts(seed):
    corpus = random_corpus(np.random.default_rng(seed), share_labelled=1.0)
    expected, _ = expected_counts(corpus, random_guess(corpus, True, seed))
    for soft, hard in zip(expected, hard_counts(corpus), strict=True):
        np.testing.assert_allclose(soft, hard, atol=1e-10)


def test_one_missing_label_that_nothing_else_could_be_gives_the_counts():
    tokens, labels = [["a", "b", "a"], ["b", "a"], ["a"]], [["A", "B", "A"], ["B", "A"], ["A"]]
    counted = tw.HMM(**EXACT).fit(tokens, labels)
    completed = tw.HMM(tol=1e-12, n_iter=1000, **EXACT).fit(tokens, [["A", None, "A"], ["B", "A"], ["A"]])
    np.testing.assert_allclose(np.exp(completed.log_transitions_), np.exp(counted.log_transitions_), atol=1e-6)
    np.testing.assert_allclose(np.exp(completed.log_emissions_), np.exp(counted.log_emissions_), atol=1e-6)


def test_history_ends_with_the_likelihood_of_the_model():
    hmm = tw.HMM(n_states=2, random_state=1, n_iter=500, **EXACT).fit(X)
    assert hmm.converged_
    assert len(hmm.log_likelihood_history_) == hmm.n_iter_ + 1
    np.testing.assert_allclose(hmm.log_likelihood(X).sum(), hmm.log_likelihood_history_[-1], rtol=1e-12)


def test_known_labels_are_clamped():
    """Two words that only the labels tell apart: the clamped one keeps its label however unlikely."""
    hmm = tw.HMM(n_iter=500, **EXACT).fit([["x", "y"]] * 5, [["A", None]] * 4 + [["B", "A"]])
    assert np.exp(hmm.log_start_).tolist() == pytest.approx([0.8, 0.2])


def test_partly_labelled_text_learns_from_the_rest():
    labelled = [["the", "dog", "barks"], ["the", "cat", "sleeps"]]
    rest = [["the", "frog", "barks"], ["the", "frog", "sleeps"], ["a", "dog", "barks"], ["a", "frog", "sleeps"]] * 5
    hmm = tw.HMM(n_iter=500).fit(labelled + rest, [["D", "N", "V"]] * 2 + [None] * len(rest))
    assert hmm.converged_
    assert (np.diff(hmm.log_likelihood_history_) >= 0).all()
    assert hmm.predict([["a", "frog", "sleeps"]]) == [["D", "N", "V"]]


def test_states_are_found_without_labels():
    rng = np.random.default_rng(0)
    truth = tw.HMM.from_parameters(
        start=[0.5, 0.5],
        transitions=[[0.85, 0.05], [0.05, 0.85]],
        stop=[0.1, 0.1],
        emissions=[[0.6, 0.3, 0.05, 0.05], [0.05, 0.05, 0.3, 0.6]],
        labels=[0, 1],
        tokens=["a", "b", "c", "d"],
    )
    drawn, states = truth.sample(400, random_state=rng)
    hmm = tw.HMM(n_states=2, random_state=0, n_iter=500, tol=1e-6).fit(drawn)
    assert hmm.classes_.tolist() == [0, 1]
    accuracy = hmm.score(drawn, states)
    assert max(accuracy, 1 - accuracy) > 0.9  # the names of the states are arbitrary
    assert hmm.log_likelihood(drawn).sum() > truth.log_likelihood(drawn).sum() - 1.0  # it fits at least as well


def test_one_seed_gives_one_model():
    first, again = (tw.HMM(n_states=3, random_state=7, n_iter=400, n_jobs=jobs).fit(X) for jobs in (1, 2))
    assert np.array_equal(first.log_emissions_, again.log_emissions_)
    assert np.array_equal(first.log_transitions_, again.log_transitions_)


@pytest.mark.parametrize("y", [None, [None] * 5, [[None] * 3, [None] * 3, None, None, []]])
def test_labels_that_are_all_missing_are_no_labels(y):
    expected = tw.HMM(n_states=2, random_state=0, n_iter=500).fit(X)
    hmm = tw.HMM(n_states=2, random_state=0, n_iter=500).fit([*X, []], y)
    np.testing.assert_array_equal(hmm.log_emissions_, expected.log_emissions_)


def test_running_out_of_iterations_warns():
    with pytest.warns(ConvergenceWarning, match=r"made its 2 iterations .* Raise n_iter"):
        hmm = tw.HMM(n_states=2, n_iter=2, tol=0.0, random_state=0).fit(X)
    assert (hmm.converged_, hmm.n_iter_, len(hmm.log_likelihood_history_)) == (False, 2, 3)


# Sampling


def test_sampling_follows_the_probabilities():
    hmm = tw.HMM.from_parameters(
        start=[0.3, 0.7],
        transitions=[[0.2, 0.3], [0.4, 0.1]],
        stop=[0.5, 0.5],
        emissions=[[0.9, 0.1], [0.25, 0.75]],
        labels=["A", "B"],
        tokens=["x", "y"],
    )
    n = 40_000
    tokens, labels = hmm.sample(n, random_state=3)
    again = tw.HMM(**EXACT).fit(tokens, labels)
    for name in ("log_start_", "log_transitions_", "log_stop_"):
        np.testing.assert_allclose(np.exp(getattr(again, name)), np.exp(getattr(hmm, name)), atol=0.015)
    columns = [again.vocabulary_[token] for token in ("x", "y")]
    np.testing.assert_allclose(np.exp(again.log_emissions_[:, columns]), np.exp(hmm.log_emissions_), atol=0.015)
    lengths = np.array([len(x) for x in tokens])
    np.testing.assert_allclose([(lengths == t).mean() for t in (1, 2, 3)], [1 / 2, 1 / 4, 1 / 8], atol=0.015)


def test_sampling_a_length_conditions_on_it():
    hmm = tw.HMM.from_parameters(
        start=[0.5, 0.5],
        transitions=[[0.5, 0.5], [0.0, 0.2]],
        stop=[0.0, 0.8],
        emissions=[[1.0, 0.0], [0.0, 1.0]],
        labels=["A", "B"],
        tokens=["x", "y"],
    )
    tokens, labels = hmm.sample(20_000, length=2, random_state=0)
    assert {tuple(y) for y in labels} == {("A", "B"), ("B", "B")}
    # p(A, B) : p(B, B) = 0.5 * 0.5 * 0.8 : 0.5 * 0.2 * 0.8 = 5 : 2
    assert np.mean([y[0] == "A" for y in labels]) == pytest.approx(5 / 7, abs=0.015)
    assert all([{"A": "x", "B": "y"}[label] for label in y] == x for x, y in zip(tokens, labels, strict=True))


def test_sampling_without_stop_needs_a_length(ice_cream):
    with pytest.raises(InvalidInput, match="length is missing: this model has no STOP"):
        ice_cream.sample(3)
    tokens, labels = ice_cream.sample(3, length=5, random_state=0)
    assert [len(x) for x in tokens] == [len(y) for y in labels] == [5, 5, 5]
    assert set(itertools.chain(*labels)) <= {"Hot", "Cold"}


def test_sampling_stops_at_max_length():
    forever = tw.HMM.from_parameters([1.0], [[1.0]], [[1.0]], labels=["A"], tokens=["x"], stop=[0.0])
    assert forever.sample(2, max_length=4) == ([["x"] * 4] * 2, [["A"] * 4] * 2)


def test_sampling_repeats_with_its_seed_and_draws_known_tokens_only():
    hmm = tw.HMM().fit(X, Y)
    assert hmm.sample(5, random_state=1) == hmm.sample(5, random_state=1)
    assert {token for x in hmm.sample(50, random_state=1)[0] for token in x} <= set(hmm.vocabulary_)
    assert hmm.sample(0) == ([], [])


# Unknown tokens


def test_unseen_words_go_with_the_words_that_end_alike():
    nouns = ["station", "nation", "ration", "motion", "lotion"]
    verbs = ["walked", "talked", "baked", "looked", "cooked"]
    hmm = tw.HMM().fit([[w] for w in nouns + verbs], [["N"]] * 5 + [["V"]] * 5)
    assert hmm.predict([["potion"], ["hiked"]]) == [["N"], ["V"]]


@pytest.mark.parametrize("unknown", ["suffix", "uniform"])
@pytest.mark.parametrize("token", ["", "xyz", "Straße", "½", "42", "--", 7, None, ("a", "b"), 3.5])
def test_every_unseen_token_has_a_finite_log_probability(unknown, token):
    hmm = tw.HMM(unknown=unknown, transition_pseudo_count=0, emission_pseudo_count=0).fit(X, Y)
    scores = hmm.chain([token]).unary
    assert np.isfinite(scores).all()
    assert (scores <= 0).all()


def test_log_likelihood_with_unseen_words_is_never_above_zero():
    hmm = tw.HMM().fit(X, Y)
    assert (hmm.log_likelihood([["bats"], ["The", "Cat"], ["frogs", "dogs"]]) < 0).all()


def test_integer_tokens_and_integer_labels():
    hmm = tw.HMM().fit([[1, 2, 3], [1, 3]], [[0, 1, 1], [0, 1]])
    assert hmm.predict([[1, 2], [1, 99]]) == [[0, 1], [0, 1]]


def test_unknown_error_names_the_token():
    hmm = tw.HMM(unknown="error").fit(X, Y)
    with pytest.raises(InvalidInput, match=r"X\[1\]\[1\] is 'bird', which is not one of the 6 tokens"):
        hmm.predict([["the", "dog"], ["a", "bird"]])
    with pytest.raises(InvalidInput, match=r"x\[0\] is 'bird'"):
        hmm.chain(["bird"])


def test_model_from_parameters_refuses_unknown_tokens(ice_cream):
    with pytest.raises(ValueError, match=r"X\[0\]\[2\] is '4', which is not one of the 3 tokens"):
        ice_cream.log_likelihood([["1", "2", "4"]])


# Edges


def test_no_sequences_and_empty_sequences():
    hmm = tw.HMM().fit([*X, []], [*Y, []])
    assert (hmm.predict([]), hmm.predict_kbest([], 2), hmm.predict_marginals([])) == ([], [], [])
    assert hmm.log_likelihood([]).shape == (0,)
    assert hmm.predict([[], ["the", "dog"], []]) == [[], ["D", "N"], []]
    assert hmm.predict_kbest([[]], 3) == [[([], 0.0)]]
    assert hmm.predict_marginals([[], ["the"]])[0].shape == (0, 3)
    assert hmm.log_likelihood([[]]).tolist() == [0.0]
    np.testing.assert_array_equal(hmm.log_transitions_, tw.HMM().fit(X, Y).log_transitions_)  # they say nothing


def test_one_token_and_one_label():
    hmm = tw.HMM().fit([["a"]], [["A"]])
    assert hmm.predict([["a"], ["b", "c"]]) == [["A"], ["A", "A"]]
    np.testing.assert_allclose(hmm.predict_marginals([["a", "b"]])[0], 1.0)


def test_fewer_labellings_than_asked_for_come_back():
    hmm = tw.HMM().fit(X, Y)
    answers = hmm.predict_kbest([["the"]], k=10)[0]
    assert sorted(labels for labels, _ in answers) == [["D"], ["N"], ["V"]]
    np.testing.assert_allclose(np.logaddexp.reduce([score for _, score in answers]), hmm.log_likelihood([["the"]])[0])


@pytest.mark.parametrize(
    "wrap",
    [
        tuple,
        lambda rows: (list(row) for row in rows),
        lambda rows: [tuple(row) for row in rows],
        lambda rows: [iter(row) for row in rows],
        lambda rows: [np.array(row) for row in rows],
        lambda rows: np.array([np.array(row, dtype=object) for row in rows] + [None], dtype=object)[:-1],
    ],
    ids=["tuple", "generator", "tuples", "iterators", "arrays", "object array"],
)
def test_any_kind_of_sequence_is_accepted(wrap):
    expected = tw.HMM().fit(X, Y)
    hmm = tw.HMM().fit(wrap(X), wrap(Y))
    np.testing.assert_array_equal(hmm.log_emissions_, expected.log_emissions_)
    assert hmm.predict(wrap(X)) == Y
    assert all(type(label) is str for labels in hmm.predict(X) for label in labels)


def test_rectangular_array_is_a_list_of_rows():
    hmm = tw.HMM().fit(np.array([[1, 2], [1, 3]]), np.array([["A", "B"], ["A", "B"]]))
    assert hmm.predict(np.array([[1, 3]])) == [["A", "B"]]


def test_score_is_token_accuracy():
    hmm = tw.HMM().fit(X, Y)
    assert hmm.score(X, Y) == 1.0
    assert hmm.score([["the", "dog", "barks"], ["sleeps"]], [["D", "X", None], ["V"]]) == pytest.approx(2 / 3)


# Errors


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (["a", "b"], ["A", "B"], r"X\[0\] is 'a' \(str\); expected a sequence of tokens.* pass \[X\]"),
        ([1, 2], [3, 4], r"X\[0\] is 1 \(int\); expected a sequence"),
        ("ab", "AB", r"X is 'ab' \(str\); expected a list of sequences"),
        (3, None, r"X is 3 \(int\)"),
        ([{"a", "b"}], None, r"X\[0\] is .*\(set\); expected a sequence"),
        ([["a", ["b"]]], [["A", "B"]], r"X\[0\]\[1\] is \['b'\] \(list\), which is not hashable"),
        ([["a"], ["b", "c"]], [["A"], ["B"]], r"y\[1\] has 1 labels but X\[1\] has 2 tokens"),
        ([["a"], ["b"]], [["A"]], "y has 1 label lists but X has 2 sequences"),
        ([["a"]], ["A"], r"y\[0\] is 'A' \(str\)"),
        ([["a"]], 5, r"y is 5 \(int\)"),
        ([["a", "b"]], [["A", 1]], r"no common order \(int, str\)"),
        ([["a"]], [[math.nan]], "y has the label NaN"),
        ([], [], "X has no tokens to learn from"),
        ([[]], [[]], "X has no tokens to learn from"),
        ([["a"]], None, "y has no labels: pass labels, or n_states"),
        ([["a"]], [[None]], "y has no labels: pass labels, or n_states"),
    ],
)
def test_bad_data_is_named(X, y, message):
    with pytest.raises(InvalidInput, match=message):
        tw.HMM().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"transition_pseudo_count": -1}, "transition_pseudo_count is -1"),
        ({"emission_pseudo_count": math.nan}, "emission_pseudo_count is nan"),
        ({"emission_pseudo_count": "0.1"}, "emission_pseudo_count is '0.1'"),
        ({"unknown": "guess"}, 'unknown is \'guess\'; expected "suffix", "uniform" or "error"'),
        ({"n_states": 0}, "n_states is 0; expected an integer of at least 1"),
        ({"n_states": 5}, "n_states is 5 but y has 3 labels"),
        ({"n_iter": 0}, "n_iter is 0"),
        ({"max_suffix": -1}, "max_suffix is -1"),
        ({"rare_count": 1.5}, "rare_count is 1.5"),
        ({"tol": math.inf}, "tol is inf"),
    ],
)
def test_bad_parameters_are_named_by_fit_and_not_before(parameters, message):
    hmm = tw.HMM(**parameters)
    with pytest.raises(InvalidInput, match=message):
        hmm.fit(X, Y)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": [0.6, 0.5]}, "start sums to 1.1; expected 1"),
        ({"start": [0.6, 0.3, 0.1]}, r"start has shape \(3,\); expected \(2,\)"),
        ({"start": [1.5, -0.5]}, r"start\[0\] is 1.5; expected a probability"),
        ({"start": ["a", "b"]}, "start is not an array of numbers"),
        ({"transitions": [[0.7, 0.3], [0.4, 0.5]]}, r"transitions\[1\] sums to 0.9"),
        ({"stop": [0.0, 0.1]}, r"transitions\[1\] with stop sums to 1.1"),
        ({"emissions": [[0.2, 0.8], [0.5, math.nan]]}, r"emissions\[1, 1\] is nan"),
        ({"emissions": [[0.2, 0.8], [0.5, 0.1]]}, r"emissions\[1\] sums to 0.6"),
        ({"labels": ["A", "A"]}, "labels has 'A' more than once"),
        ({"labels": "AB"}, r"labels is 'AB' \(str\)"),
        ({"tokens": []}, "tokens is empty"),
    ],
)
def test_bad_probabilities_are_named(changes, message):
    good = {
        "start": [0.6, 0.4],
        "transitions": [[0.7, 0.3], [0.4, 0.6]],
        "emissions": [[0.2, 0.8], [0.5, 0.5]],
        "labels": ["A", "B"],
        "tokens": ["x", "y"],
    }
    with pytest.raises(InvalidInput, match=message):
        tw.HMM.from_parameters(**{**good, **changes})


def test_impossible_sequence_is_named():
    hmm = tw.HMM(**EXACT).fit([["a", "b"]], [["A", "B"]])
    assert hmm.log_likelihood([["a", "b"], ["b"]]).tolist() == [0.0, -math.inf]
    with pytest.raises(Unsatisfiable, match=r"X\[1\] has probability zero"):
        hmm.predict([["a", "b"], ["b"]])


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(k):
    with pytest.raises(ValueError, match="k"):
        tw.HMM().fit(X, Y).predict_kbest(X, k)


def test_scoring_needs_a_label():
    with pytest.raises(InvalidInput, match="y has no labels to score against"):
        tw.HMM().fit(X, Y).score([["the"]], [None])


@pytest.mark.parametrize(
    "question",
    [
        lambda hmm: hmm.predict(X),
        lambda hmm: hmm.predict_kbest(X, 2),
        lambda hmm: hmm.predict_marginals(X),
        lambda hmm: hmm.log_likelihood(X),
        lambda hmm: hmm.score(X, Y),
        lambda hmm: hmm.sample(),
        lambda hmm: hmm.chain(X[0]),
    ],
)
def test_questions_before_fit_are_refused(question):
    with pytest.raises(NotFittedError):
        question(tw.HMM())


def test_failed_fit_leaves_the_fitted_model_alone():
    hmm = tw.HMM().fit(X, Y)
    with pytest.raises(InvalidInput):
        hmm.fit([["a"], ["b"]], [["A"]])
    assert hmm.predict(X) == Y


# The conventions of scikit-learn


def test_fit_keeps_its_parameters_and_clone_forgets_what_was_learned():
    hmm = tw.HMM(n_states=3, rare_count=4, random_state=5)
    before = hmm.get_params()
    assert hmm.fit(X, Y) is hmm
    assert hmm.get_params() == before
    copy = clone(hmm)
    assert copy.get_params() == before
    with pytest.raises(NotFittedError):
        copy.predict(X)


def test_set_params_and_repr():
    hmm = tw.HMM().set_params(max_suffix=3)
    assert repr(hmm) == "HMM(max_suffix=3)"
    with pytest.raises(ValueError, match="no_such_thing"):
        hmm.set_params(no_such_thing=1)


def test_pickle_keeps_the_answers(ice_cream):
    hmm = tw.HMM().fit(X, Y)
    unseen = [["the", "frog", "walks"], ["Dog"]]
    again = pickle.loads(pickle.dumps(hmm))
    assert again.predict(unseen) == hmm.predict(unseen)
    np.testing.assert_array_equal(again.log_likelihood(unseen), hmm.log_likelihood(unseen))
    assert pickle.loads(pickle.dumps(ice_cream)).predict([["3", "1"]]) == ice_cream.predict([["3", "1"]])


def test_cross_validation_and_grid_search_need_no_special_case():
    assert cross_val_score(tw.HMM(), X[:3] * 2, Y[:3] * 2, cv=2).tolist() == [1.0, 1.0]
    search = GridSearchCV(tw.HMM(), {"emission_pseudo_count": [0.001, 0.1]}, cv=2).fit(X[:3] * 2, Y[:3] * 2)
    assert search.best_score_ == 1.0


class TestInterrupts:
    CORPUS = [["a", "b", "a"], ["b", "b", "c"], ["c", "a"]] * 3

    def interrupted(self, monkeypatch, call):
        calls = []

        def counts(*arguments):
            calls.append(1)
            if len(calls) == call:
                raise KeyboardInterrupt
            return expected_counts(*arguments)

        monkeypatch.setattr("trelliswork.estimators.hmm.baum_welch.expected_counts", counts)
        return tw.HMM(n_states=2, random_state=0, tol=1e-12).fit(self.CORPUS)

    def test_what_was_learned_is_kept(self, monkeypatch):
        with pytest.warns(ConvergenceWarning, match="interrupted after 3 iterations; what it had learned is kept"):
            stopped = self.interrupted(monkeypatch, 5)
        monkeypatch.undo()
        with pytest.warns(ConvergenceWarning, match="made its 3 iterations"):
            short = tw.HMM(n_states=2, random_state=0, n_iter=3, tol=1e-12).fit(self.CORPUS)
        assert stopped.interrupted_
        assert not short.interrupted_
        assert stopped.log_likelihood_history_ == short.log_likelihood_history_
        np.testing.assert_array_equal(stopped.log_emissions_, short.log_emissions_)

    def test_before_the_first_iteration_there_is_nothing_to_keep(self, monkeypatch):
        with pytest.raises(KeyboardInterrupt):
            self.interrupted(monkeypatch, 2)
