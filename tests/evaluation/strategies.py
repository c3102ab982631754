"""Random gold and guessed labels: any order of prefixes, valid or not, and guesses that are often right."""

from hypothesis import strategies as st

PREFIXES = {"BIO": "BI", "IOB1": "BI", "IOE1": "IE", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES"}
TYPES = ["NP", "VP", "A-B"]


def labels_of(scheme):
    return st.sampled_from(["O", *(f"{prefix}-{kind}" for prefix in PREFIXES[scheme] for kind in TYPES)])


@st.composite
def corpora(draw, labels, max_sequences=4, max_length=8):
    """Draw y_true and y_pred."""
    token = labels.flatmap(lambda gold: st.tuples(st.just(gold), st.just(gold) | labels))
    pairs = draw(st.lists(st.lists(token, max_size=max_length), max_size=max_sequences))
    return [[gold for gold, _ in pair] for pair in pairs], [[guess for _, guess in pair] for pair in pairs]


@st.composite
def corpora_of_a_scheme(draw, schemes=tuple(PREFIXES)):
    """Draw the name of a scheme, y_true and y_pred."""
    scheme = draw(st.sampled_from(schemes))
    return scheme, *draw(corpora(labels_of(scheme)))
