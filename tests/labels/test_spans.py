"""Label schemes: conlleval's rules case by case, validity by enumeration, and conversions that lose nothing."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork.corpora import (
    Span,
    convert_labels,
    labels_from_spans,
    spans,
    suggest_scheme,
    validate_labels,
)
from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import SCHEME_NAMES

PREFIXES = {"BIO": "BI", "IOB1": "BI", "IOE1": "IE", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES"}


def conlleval(labels):
    """The tables of the script's startOfChunk and endOfChunk, with the S of its later ports, case by case."""
    ends_after = {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")}
    starts_at = {("E", "E"), ("E", "I"), ("S", "E"), ("S", "I"), ("O", "E"), ("O", "I")}
    found, start = [], None
    before, type_before = "O", ""
    for i, label in enumerate([*labels, "O"]):
        tag, _, kind = label.partition("-")
        end = before in "ES" or (before, tag) in ends_after or (before != "O" and kind != type_before)
        begin = tag in "BS" or (before, tag) in starts_at or (tag != "O" and kind != type_before)
        if end and start is not None:
            found.append((type_before, start, i))
            start = None
        if begin:
            start = i
        before, type_before = tag, kind
    return found


def sequences(scheme, kinds=("A", "B"), longest=4):
    labels = ["O", *(f"{prefix}-{kind}" for prefix in PREFIXES[scheme] for kind in kinds)]
    for length in range(longest + 1):
        yield from (list(labels) for labels in itertools.product(labels, repeat=length))


@st.composite
def span_lists(draw):
    """Spans that do not overlap, and the length of their sequence."""
    kinds = st.sampled_from(["PER", "LOC", "a-b", "", "😀 x"])
    found, position = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = position + draw(st.integers(0, 2))
        position = start + draw(st.integers(1, 3))
        found.append(Span(draw(kinds), start, position))
    return found, position + draw(st.integers(0, 2))


@pytest.mark.parametrize("scheme", ["BIO", "IOE2", "IOBES"])
def test_lenient_reading_is_conllevals(scheme):
    for labels in sequences(scheme, longest=4 if scheme != "IOBES" else 3):
        assert spans(labels, scheme) == conlleval(labels), labels


@pytest.mark.parametrize(
    ("scheme", "labels", "expected"),
    [
        ("BIO", "O I-A I-A", [("A", 1, 3)]),
        ("BIO", "B-A I-B", [("A", 0, 1), ("B", 1, 2)]),
        ("BIO", "B-A B-A", [("A", 0, 1), ("A", 1, 2)]),
        ("IOB1", "I-A I-A B-A", [("A", 0, 2), ("A", 2, 3)]),
        ("IOB1", "O B-A", [("A", 1, 2)]),
        ("IOE2", "I-A E-A E-A", [("A", 0, 2), ("A", 2, 3)]),
        ("IOE2", "I-A I-A O", [("A", 0, 2)]),
        ("IOE1", "I-A E-A I-A", [("A", 0, 2), ("A", 2, 3)]),
        ("IOBES", "B-A I-A O", [("A", 0, 2)]),
        ("IOBES", "S-A I-A", [("A", 0, 1), ("A", 1, 2)]),
        ("IOBES", "I-A E-A", [("A", 0, 2)]),
        ("IOBES", "E-A E-A", [("A", 0, 1), ("A", 1, 2)]),
        ("BILOU", "B-A L-A U-B", [("A", 0, 2), ("B", 2, 3)]),
        ("BILOU", "L-A I-A", [("A", 0, 1), ("A", 1, 2)]),
        ("BMES", "B M E S", [("", 0, 3), ("", 3, 4)]),
        ("BIO", "B I O B", [("", 0, 2), ("", 3, 4)]),
        ("BIO", "", []),
    ],
)
def test_lenient_reading_worked_by_hand(scheme, labels, expected):
    assert spans(labels.split(), scheme) == expected


@pytest.mark.parametrize(
    ("scheme", "labels", "expected"),
    [
        ("BIO", "O I-A B-A I-A", [("A", 2, 4)]),
        ("BIO", "B-A I-B", [("A", 0, 1)]),
        ("IOB1", "O B-A O I-A", [("A", 3, 4)]),
        ("IOB1", "I-A B-A", [("A", 0, 1), ("A", 1, 2)]),
        ("IOE2", "I-A O E-A", [("A", 2, 3)]),
        ("IOE1", "I-A E-A O", []),
        ("IOBES", "B-A I-A O S-A", [("A", 3, 4)]),
        ("IOBES", "B-A B-A E-A", [("A", 1, 3)]),
        ("BILOU", "B-A L-B", []),
    ],
)
def test_strict_reading_counts_only_what_is_well_written(scheme, labels, expected):
    assert spans(labels.split(), scheme, lenient=False) == expected


@pytest.mark.parametrize("scheme", SCHEME_NAMES)
def test_labels_are_valid_when_the_scheme_allows_every_step(scheme):
    longest = 4 if len(PREFIXES[scheme]) == 2 else 3
    names = ["O", *(f"{prefix}-{kind}" for prefix in PREFIXES[scheme] for kind in "AB")]
    allowed = tw.scheme_constraints(names, scheme)
    for labels in sequences(scheme, longest=longest):
        ids = [names.index(label) for label in labels]
        steps = all(allowed.transitions[a, b] for a, b in itertools.pairwise(ids))
        valid = steps and (not ids or (allowed.start[ids[0]] and allowed.end[ids[-1]]))
        assert (validate_labels(labels, scheme) == []) == valid, labels
        assert (scheme in suggest_scheme([labels])) == valid, labels
        assert (spans(labels, scheme) == spans(labels, scheme, lenient=False)) >= valid


@pytest.mark.parametrize("scheme", SCHEME_NAMES)
@given(given=span_lists())
def test_spans_written_as_labels_are_read_back(scheme, given):
    found, length = given
    labels = labels_from_spans(reversed(found), length, scheme)
    assert len(labels) == length
    assert validate_labels(labels, scheme) == []
    assert spans(labels, scheme) == spans(labels, scheme.lower(), lenient=False) == found


@given(given=span_lists(), source=st.sampled_from(SCHEME_NAMES), target=st.sampled_from(SCHEME_NAMES))
def test_conversion_there_and_back_changes_nothing(given, source, target):
    labels = labels_from_spans(*given, source)
    assert convert_labels(convert_labels(labels, source, target), target, source) == labels


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("IOB2", "B-A B-A I-A O B-B"),
        ("IOB1", "I-A B-A I-A O I-B"),
        ("IOE2", "E-A I-A E-A O E-B"),
        ("IOE1", "E-A I-A I-A O I-B"),
        ("BIOES", "S-A B-A E-A O S-B"),
        ("BILOU", "U-A B-A L-A O U-B"),
        ("BMES", "S-A B-A E-A O S-B"),
    ],
)
def test_conversion_worked_by_hand(target, expected):
    assert convert_labels(["B-A", "B-A", "I-A", "O", "B-B"], "BIO", target) == expected.split()


def test_conversion_refuses_invalid_labels_unless_lenient():
    with pytest.raises(InvalidInput, match=r"labels\[1\]: 'I-A' .* BIO writes that 'B-A', and 1 more.*lenient=True"):
        convert_labels(["O", "I-A", "O", "I-B"], "BIO", "IOBES")
    assert convert_labels(["O", "I-A", "O", "I-B"], "BIO", "IOBES", lenient=True) == ["O", "S-A", "O", "S-B"]


def test_validation_names_the_place_the_label_and_the_reason():
    problems = validate_labels(["I-A", "B-A", "I-A", "O", "X", "O-A", "B-"], "IOBES")
    assert [(problem.position, problem.label, problem.expected) for problem in problems] == [
        (0, "I-A", "S-A"),
        (2, "I-A", "E-A"),
        (4, "X", None),
        (5, "O-A", None),
        (6, "B-", None),
    ]
    assert "ends a span here" in problems[1].message
    assert "O has no type" in problems[3].message
    assert "type after the dash is missing" in problems[4].message


def test_several_schemes_may_fit_or_none():
    assert suggest_scheme([["O"], []]) == list(SCHEME_NAMES)
    assert suggest_scheme(iter([["I-A", "B-A"], ["I-B"]])) == ["IOB1"]
    assert suggest_scheme([["S-A", "B-A", "E-A"]]) == ["IOBES", "BMES"]
    assert suggest_scheme([["NOUN", "VERB"]]) == []


@pytest.mark.parametrize("scheme", ["IOB", "BLA", None, ""])
def test_unknown_schemes_are_refused(scheme):
    with pytest.raises(InvalidInput, match="scheme"):
        spans(["O"], scheme)


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (["O", "PER"], r"labels\[1\]: 'PER' is not of the scheme BIO"),
        (["S-A"], "'S' belongs to IOBES and BMES"),
        (["PER-B"], "the prefix comes first"),
        (["O", 3], r"labels\[1\] must be a string"),
        ("B-PER", "must be a list"),
        (None, "must be a list"),
    ],
)
def test_labels_of_no_scheme_are_refused(labels, found):
    with pytest.raises(InvalidInput, match=found):
        spans(labels)


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ([("A", 0, 2), ("B", 1, 3)], "overlaps"),
        ([("A", 1, 1)], "empty"),
        ([("A", 2, 4)], "within the 3 items"),
        ([("A", -1, 1)], "within"),
        ([(None, 0, 1)], "type of a span"),
    ],
)
def test_spans_that_labels_cannot_write_are_refused(wrong, found):
    with pytest.raises(InvalidInput, match=found):
        labels_from_spans(wrong, 3)
