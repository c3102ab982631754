"""A scheme allows exactly the sequences that some set of spans is written as."""

import itertools
import warnings

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput
from trelliswork.labels.scheme_constraints import SchemeConstraints

PREFIXES = {"BIO": "BI", "IOB1": "BI", "IOE1": "IE", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES"}


def every_spanning(length, types):
    """Every way to cover the positions by spans (type, length) and by single positions outside, None."""
    if length == 0:
        yield []
    for size in range(1, length + 1):
        for rest in every_spanning(length - size, types):
            if size == 1:
                yield [None, *rest]
            for kind in types:
                yield [(kind, size), *rest]


def encoded(spans, scheme):
    """The labels that a scheme gives to spans, from its definition in words."""
    labels = []
    for i, span in enumerate(spans):
        if span is None:
            labels.append("O")
            continue
        kind, size = span
        same_before = i > 0 and spans[i - 1] is not None and spans[i - 1][0] == kind
        same_after = i + 1 < len(spans) and spans[i + 1] is not None and spans[i + 1][0] == kind
        prefixes = span_prefixes(scheme, size, same_before, same_after)
        labels += [prefix + (f"-{kind}" if kind else "") for prefix in prefixes]
    return tuple(labels)


def span_prefixes(scheme, size, same_before, same_after):
    if scheme in ("IOBES", "BILOU", "BMES"):
        first, inside, last, single = {"IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES"}[scheme]
        return [single] if size == 1 else [first, *[inside] * (size - 2), last]
    prefixes = ["I"] * size
    if scheme == "BIO" or (scheme == "IOB1" and same_before):
        prefixes[0] = "B"
    if scheme == "IOE2" or (scheme == "IOE1" and same_after):
        prefixes[-1] = "E"
    return prefixes


def allowed(constraints, sequence):
    """Whether the constraints let a sequence of label numbers through."""
    steps = all(constraints.transitions[a, b] for a, b in itertools.pairwise(sequence))
    return bool(constraints.start[sequence[0]] and constraints.end[sequence[-1]] and steps)


@pytest.mark.parametrize("types", [["A"], ["A", "B-1"], [""]], ids=["one type", "two types", "no types"])
@pytest.mark.parametrize("scheme", PREFIXES)
def test_a_sequence_is_allowed_exactly_if_some_spans_are_written_so(scheme, types):
    labels = ["O", *(prefix + (f"-{kind}" if kind else "") for kind in types for prefix in PREFIXES[scheme])]
    constraints = tw.scheme_constraints(labels, scheme)
    for length in range(1, 5):
        valid = {encoded(spans, scheme) for spans in every_spanning(length, types)}
        found = {
            tuple(labels[k] for k in sequence)
            for sequence in itertools.product(range(len(labels)), repeat=length)
            if allowed(constraints, sequence)
        }
        assert found == valid


def test_bio_by_hand():
    found = tw.scheme_constraints(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    assert found.transitions.astype(int).tolist() == [
        [1, 1, 0, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 1, 1],
        [1, 1, 0, 1, 1],
    ]
    assert found.start.tolist() == [True, True, False, True, False]
    assert found.end.all()
    assert all(array.dtype == bool for array in found)


def test_constrained_chains_never_answer_with_an_invalid_sequence():
    labels = ["I-A", "O", "E-A", "B-A", "S-A"]
    constraints = tw.scheme_constraints(labels, "IOBES")
    valid = {encoded(spans, "IOBES") for spans in every_spanning(4, ["A"])}
    chain = tw.Chain(np.random.default_rng(0).normal(size=(4, 5)), np.zeros((5, 5)))
    ranked = chain.constrained(**constraints._asdict()).kbest(1000)
    assert {tuple(labels[k] for k in found.labels) for found in ranked} == valid


@pytest.mark.parametrize(
    ("one", "other"),
    [("BIO", "bio"), ("BIO", "IOB2"), ("BIO", "Iob2"), ("IOBES", "BIOES"), ("BILOU", "biluo"), ("BMES", "BMESO")],
)
def test_schemes_have_other_names(one, other):
    labels = ["O", *(f"{prefix}-A" for prefix in PREFIXES[one])]
    for array, same in zip(tw.scheme_constraints(labels, one), tw.scheme_constraints(labels, other), strict=True):
        assert array.tolist() == same.tolist()


def test_types_with_dashes_are_told_apart():
    found = tw.scheme_constraints(["B-A-B", "I-A-B", "B-A", "I-A"])
    assert found.transitions[0].tolist() == [True, True, True, False]


def test_labels_may_be_any_iterable_of_strings():
    expected = tw.scheme_constraints(["O", "B"]).transitions.tolist()
    for labels in (("O", "B"), np.array(["O", "B"]), iter(["O", "B"]), {"O": 0, "B": 1}):
        assert tw.scheme_constraints(labels).transitions.tolist() == expected


def test_the_answer_is_a_named_tuple_whose_fields_are_those_of_constrained():
    assert SchemeConstraints._fields == ("transitions", "start", "end")


@pytest.mark.parametrize(
    ("labels", "scheme", "unusable"),
    [(["O", "I-A"], "BIO", "I-A"), (["O", "B-A"], "IOBES", "B-A"), (["O", "I-A", "E-B"], "IOE2", "I-A")],
)
def test_a_label_without_its_partners_is_warned_about(labels, scheme, unusable):
    with pytest.warns(UserWarning, match=f"can contain {unusable}\\."):
        tw.scheme_constraints(labels, scheme)


def test_complete_labels_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tw.scheme_constraints(["O", "B-A", "L-A", "U-B"], "BILOU")


@pytest.mark.parametrize(
    ("labels", "scheme", "said"),
    [
        (["O", "FOO"], "BIO", "label 'FOO' is not of the scheme BIO, which has B-TYPE, I-TYPE and O. Use 'O'"),
        (["X-PER"], "BIO", "label 'X-PER' is not of the scheme BIO"),
        (["S-PER"], "BIO", "'S' belongs to IOBES and BMES"),
        (["L-PER"], "BIO", "'L' belongs to BILOU"),
        (["S-PER"], "BILOU", "'S' belongs to IOBES"),
        (["B_PER"], "BIO", "Write 'B-PER'"),
        (["b-PER"], "BIO", "Write 'B-PER'"),
        (["PER-I"], "BIO", "Write 'I-PER'"),
        (["O-PER"], "BIO", "Write 'O', without a type"),
        (["o"], "BIO", "Write 'O'"),
        (["B-"], "BIO", "Write 'B'"),
        ([""], "BIO", "label '' is not of the scheme"),
        (["O", 3], "BIO", r"labels\[1\] must be a string such as 'B-PER', found 3"),
        (["O", "B", "O"], "BIO", r"labels\[2\] is 'O' again"),
        ([], "BIO", "labels is empty"),
        ("BIO", "BIO", "labels must be a list"),
        ({"O", "B"}, "BIO", "labels must be a list"),
        (None, "BIO", "labels must be a list"),
        (["O"], "IOB", "say 'IOB1', or 'IOB2'"),
        (["O"], "BIOX", "scheme 'BIOX' is not known. Use one of BIO, IOB2"),
        (["O"], None, "scheme must be a name, found None"),
    ],
)
def test_bad_input_is_refused_and_named(labels, scheme, said):
    with pytest.raises(InvalidInput, match=said):
        tw.scheme_constraints(labels, scheme)
