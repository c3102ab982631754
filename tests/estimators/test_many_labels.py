"""With many labels, no label is looked for in a list of them: that would take as long as their number squared."""

import sys

import pytest

import trelliswork as tw

TYPES = [f"T{i}" for i in range(30)]
X = [[f"w{i}" for i in range(60)]]
SPANS = [[f"{part}-{kind}" for kind in TYPES for part in "BI"]]


def searched(question):
    """Return the lengths of the lists that were searched meanwhile."""
    lengths = []

    def notice(frame, event, function):
        if event == "c_call" and getattr(function, "__name__", "") in ("index", "count", "__contains__"):
            owner = getattr(function, "__self__", None)
            if isinstance(owner, list | tuple) and len(owner) >= len(TYPES):
                lengths.append(len(owner))

    sys.setprofile(notice)
    try:
        question()
    finally:
        sys.setprofile(None)
    return lengths


QUESTIONS = {
    "fit": lambda labeler: labeler.fit(X, SPANS),
    "partial_fit": lambda labeler: labeler.partial_fit(X, SPANS),
    "fit by classes": lambda labeler: labeler.set_params(constraints="BIO", class_weight="balanced").fit(X, SPANS),
    "predict": lambda labeler: labeler.predict(X, fixed=[{i: label for i, label in enumerate(SPANS[0])}]),
    "predict_spans": lambda labeler: labeler.predict_spans(X),
    "explain": lambda labeler: labeler.explain(X[0]).text(),
    "log_prob": lambda labeler: labeler.log_prob(X, SPANS),
    "score": lambda labeler: labeler.score(X, SPANS),
    "hmm": lambda labeler: tw.HMM().fit(X, SPANS).predict(X),
    "plot": lambda labeler: labeler.chain(X[0][:4]).plot(path=SPANS[0][:4], labels=labeler.classes_.tolist()),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_list_of_labels_is_searched_again_and_again(question):
    labeler = tw.SequenceLabeler(tw.CRF(max_iter=2, tol=1.0)).fit(X, SPANS)
    QUESTIONS[question](labeler)  # what is imported is none of our business
    assert len(searched(lambda: QUESTIONS[question](labeler))) < 5
