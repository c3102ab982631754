"""`HMM.to_labeler`: a CRF with the answers of the hidden Markov model."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork.errors import InvalidInput

X = [["the", "dog", "barks"], ["a", "Cat", "sleeps"], ["the", "old", "man"], ["man", "the", "boats"], ["dogs"]] * 3
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "A", "N"], ["V", "D", "N"], ["N"]] * 3
UNSEEN = ["sleepy", "Dogs", "1,000", "x"]


def assert_same_answers(labeler, hmm, sequences, k=6):
    assert labeler.classes_.tolist() == hmm.classes_.tolist()
    assert labeler.predict(sequences) == hmm.predict(sequences)
    for one, other in zip(labeler.predict_marginals(sequences), hmm.predict_marginals(sequences), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)
    totals = hmm.log_likelihood(sequences)
    for one, other, total in zip(
        labeler.predict_kbest(sequences, k), hmm.predict_kbest(sequences, k), totals, strict=True
    ):
        np.testing.assert_allclose([score for _, score in one], [score - total for _, score in other], atol=2e-4)


def sentences(words):
    return st.lists(st.lists(st.sampled_from(words), min_size=1, max_size=5), min_size=1, max_size=4)


UNIFORM = tw.HMM(unknown="uniform").fit(X, Y)
NO_STOP = tw.HMM(unknown="uniform", use_stop=False, transition_pseudo_count=0.7).fit(X, Y)
SUFFIX = tw.HMM(unknown="suffix").fit(X, Y)
ERROR = tw.HMM(unknown="error").fit(X, Y)
KNOWN = sorted(UNIFORM.vocabulary_)


@given(sentences([*KNOWN, *UNSEEN]))
def test_unseen_words_that_are_all_alike(sequences):
    assert_same_answers(UNIFORM.to_labeler(), UNIFORM, sequences)
    assert_same_answers(NO_STOP.to_labeler(), NO_STOP, sequences)


@given(sentences([*KNOWN, *UNSEEN]))
def test_unseen_words_that_are_judged_by_their_endings_are_given(sequences):
    assert_same_answers(SUFFIX.to_labeler(words=UNSEEN), SUFFIX, sequences)


@given(sentences(KNOWN))
def test_a_model_without_unseen_words(sequences):
    assert_same_answers(ERROR.to_labeler(), ERROR, sequences)


def test_endings_without_words_are_refused():
    with pytest.raises(InvalidInput, match=r"unseen words by their endings .* pass words="):
        SUFFIX.to_labeler()
    assert SUFFIX.to_labeler(words=()).predict([["the", "dog"]]) == [["D", "N"]]


def test_words_for_a_model_that_knows_no_unseen_ones_are_refused():
    with pytest.raises(InvalidInput, match="has no unknown words"):
        ERROR.to_labeler(words=["new"])


def test_impossible_transitions_become_constraints():
    hmm = tw.HMM(transition_pseudo_count=0.0, unknown="uniform", emission_pseudo_count=0.1).fit(X, Y)
    labeler = hmm.to_labeler()
    possible = [x for x, total in zip(X, hmm.log_likelihood(X), strict=True) if np.isfinite(total)]
    assert np.isneginf(labeler.transitions_).any()
    assert_same_answers(labeler, hmm, possible)


def test_impossible_emissions_are_refused():
    hmm = tw.HMM(emission_pseudo_count=0.0, class_pseudo_count=0.0, unknown="error").fit(X, Y)
    with pytest.raises(InvalidInput, match="has probability zero with the label"):
        hmm.to_labeler()


def test_labels_and_tokens_must_be_texts():
    with pytest.raises(InvalidInput, match="labels of a SequenceLabeler are texts"):
        tw.HMM(unknown="uniform").fit([["a"]], [[1]]).to_labeler()
    with pytest.raises(InvalidInput, match="tokens of a SequenceLabeler are texts"):
        tw.HMM(unknown="uniform").fit([[1]], [["A"]]).to_labeler()


def test_the_labeler_is_one_like_any_other():
    labeler = UNIFORM.to_labeler()
    file = io.BytesIO()
    labeler.save(file)
    loaded = tw.load(file.getvalue())
    assert loaded.predict(X) == UNIFORM.predict(X)
    weights = {(w.attribute, w.label): w.weight for w in labeler.weights() if w.previous is None}
    log_mass = UNIFORM._unseen.log_mass[labeler.classes_.tolist().index("D")]
    assert weights["bias", "D"] == pytest.approx(log_mass, rel=1e-6)
    assert labeler.explain(["the", "dog"]) is not None
    assert labeler.fit(X, Y).predict(X[:1]) == Y[:1]


def test_going_on_from_an_hmm():
    """A warm start: the CRF begins with the weights of the hidden Markov model."""
    labeler = UNIFORM.to_labeler().set_params(warm_start=True)
    cold = tw.SequenceLabeler("crf", labeler.features).fit(X, Y)
    first = labeler.fit(X, Y).history_[0]["objective"]
    assert np.isfinite(first)
    assert labeler.predict(X) == cold.predict(X)
