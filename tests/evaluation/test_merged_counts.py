"""What was counted in parts of a corpus adds up to what is counted in all of it."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.errors import InvalidInput
from trelliswork.evaluation import evaluate
from trelliswork.evaluation.summary import EvaluationCounts

LABELS = {
    "BIO": ["O", "B-NP", "I-NP", "B-VP", "I-VP"],
    "IOBES": ["O", "B-NP", "I-NP", "E-NP", "S-NP"],
    None: ["N", "V"],
    "auto": ["O", "B-NP", "I-NP", "E-NP", "S-NP", "U-NP", "N"],
}


def told(counts):
    """The scores, or what is wrong; of which sequence is counted in each part."""
    try:
        found = counts()
    except InvalidInput as error:
        return str(error).partition(": ")[2]
    return found.span, found.token, found.confusion.most_frequent(), found.scheme


@pytest.mark.parametrize("scheme", list(LABELS))
@given(data=st.data())
def test_parts_add_up(scheme, data):
    labels = st.sampled_from(LABELS[scheme])
    rows = data.draw(st.lists(st.lists(st.tuples(labels, labels), max_size=5), max_size=8))
    parts = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    counts = [EvaluationCounts(scheme) for _ in range(4)]
    for row, part in zip(rows, parts, strict=True):
        counts[part].add([gold for gold, _ in row], [guess for _, guess in row])
    total = EvaluationCounts(scheme)
    for own in counts:
        total.merge(pickle.loads(pickle.dumps(own)))
    gold, guess = ([[pair[k] for pair in row] for row in rows] for k in (0, 1))
    assert told(total.evaluation) == told(lambda: evaluate(gold, guess, scheme))


def test_counts_of_other_rules_are_refused():
    with pytest.raises(InvalidInput, match="the same scheme"):
        EvaluationCounts("BIO").merge(EvaluationCounts("IOBES"))
    with pytest.raises(InvalidInput, match="the same rules"):
        EvaluationCounts("BIO", True).merge(EvaluationCounts("BIO", False))
