"""Text: tokens keep their places, spans of characters become labels and come back, and none is lost on the way."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.corpora import Span, align_spans, find_offsets, read_text, spans_from_labels, token_offsets
from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import SCHEME_NAMES
from trelliswork.labels.spans import spans

TEXT = "Anna Lee met Bob."
OFFSETS = [(0, 4), (5, 8), (9, 12), (13, 16), (16, 17)]


def tokens(text, tokenizer=None):
    return [text[start:stop] for start, stop in token_offsets(text, tokenizer)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEXT, ["Anna", "Lee", "met", "Bob", "."]),
        ("it's 3,5 €", ["it", "'", "s", "3", ",", "5", "€"]),
        ("e\u0301te\u0301 snake_case", ["e\u0301te\u0301", "snake_case"]),
        ("हिन्दी में।", ["हिन्दी", "में", "।"]),
        ("東京、大阪。", ["東京", "、", "大阪", "。"]),
        ("hi👩\u200d👧!", ["hi", "👩\u200d👧", "!"]),
        ("«a» \u2013 b…", ["«", "a", "»", "\u2013", "b", "…"]),
        (" \t\u00a0 ", []),
    ],
)
def test_words_and_punctuation_marks_are_tokens(text, expected):
    assert tokens(text) == expected


def test_other_tokenizers():
    assert tokens("Bob's cat.", "whitespace") == tokens("Bob's cat.", str.split) == ["Bob's", "cat."]
    with pytest.raises(InvalidInput, match="tokenizer must be"):
        token_offsets("a", "no such")
    with pytest.raises(InvalidInput, match=r"tokens\[1\] is 'B'"):
        find_offsets("a b", ["a", "B"])
    with pytest.raises(InvalidInput, match="at least one character"):
        find_offsets("a", [""])


@given(st.text())
def test_every_character_that_is_not_white_space_is_in_one_token(text):
    assert "".join(tokens(text)) == "".join(text.split())


def test_each_line_is_a_sentence():
    text = "Rain fell.\r\n\r\nIt stopped."
    assert [(line.line, line.tokens) for line in read_text(io.StringIO(text))] == [
        (1, ["Rain", "fell", "."]),
        (3, ["It", "stopped", "."]),
    ]
    assert [line.line for line in read_text(io.StringIO(text), keep_empty=True)] == [1, 2, 3]
    with pytest.raises(InvalidInput, match=r"^<input>, line 3: tokens\[0\]"):
        list(read_text(io.StringIO("a\naa\nb"), tokenizer=lambda line: ["a"]))


@pytest.mark.parametrize(
    ("span", "policy", "expected"),
    [
        (("PER", 0, 8), "strict", "PER PER O O O"),
        (("PER", 0, 9), "strict", "PER PER O O O"),  # the space is in no token
        (("PER", 4, 8), "strict", "O PER O O O"),
        (("PER", 13, 17), "strict", "O O O PER PER"),
        (("PER", 2, 7), "strict", "cuts the token 'Anna'"),
        (("PER", 0, 7), "strict", "cuts the token 'Lee'"),
        (("PER", 2, 7), "expand", "PER PER O O O"),
        (("PER", 2, 12), "contract", "O PER PER O O"),
        (("PER", 1, 3), "expand", "PER O O O O"),
        (("PER", 1, 3), "contract", "has no whole token in it"),
        (("PER", 2, 7), "contract", "has no whole token in it"),
        (("PER", 4, 5), "expand", "has no token in it"),
        (("PER", 3, 3), "expand", "is empty"),
        (("PER", 5, 3), "expand", "is empty"),
        (("PER", -1, 3), "expand", "is outside of the text, which has 17 characters"),
        (("PER", 13, 18), "expand", "is outside of the text, which has 17 characters"),
    ],
)
def test_one_span_worked_by_hand(span, policy, expected):
    labels, misaligned = align_spans(TEXT, [span], OFFSETS, policy)
    if misaligned:
        assert misaligned == [(span, expected)]
        assert labels == ["O"] * 5
    else:
        assert [label[2:] or "O" for label in labels] == expected.split()
        assert [label[0] for label in labels if label != "O"] == ["B", *"I" * (expected.count("PER") - 1)]


def test_of_spans_that_overlap_the_first_and_longest_is_kept():
    marked = [("LOC", 5, 12), ("PER", 0, 4), ("PER", 0, 8), ("PER", 0, 8)]
    labels, misaligned = align_spans(TEXT, marked, OFFSETS)
    assert labels == ["B-PER", "I-PER", "O", "O", "O"]
    assert misaligned == [(span, "overlaps 'PER' at 0 to 8") for span in (marked[0], marked[1], marked[3])]


def test_spans_in_one_token_overlap_when_expanded():
    labels, misaligned = align_spans("NewYork", [("A", 0, 3), ("B", 3, 7)], [(0, 7)], "expand")
    assert labels == ["B-A"]
    assert misaligned == [(("B", 3, 7), "overlaps 'A' at 0 to 3")]


@pytest.mark.parametrize(
    ("marked", "offsets", "policy", "found"),
    [
        ([], OFFSETS, "loose", "policy"),
        ([(0, 4, "PER")], OFFSETS, "strict", r"spans\[0\] must be \(type, start, stop\)"),
        ([("PER", 0)], OFFSETS, "strict", r"spans\[0\]"),
        ([("PER", 0, True)], OFFSETS, "strict", r"spans\[0\]"),
        ([None], OFFSETS, "strict", r"spans\[0\]"),
        ([], [(0, 4), (3, 5)], "strict", r"offsets\[1\]"),
        ([], [(0, 0)], "strict", r"offsets\[0\]"),
        ([], [(0, 99)], "strict", r"offsets\[0\]"),
    ],
)
def test_bad_arguments_are_refused(marked, offsets, policy, found):
    with pytest.raises(InvalidInput, match=found):
        align_spans(TEXT, marked, offsets, policy)


def test_labels_and_offsets_must_be_as_many():
    with pytest.raises(InvalidInput, match="1 labels for 5 tokens"):
        spans_from_labels(["O"], OFFSETS)


texts = st.text(st.sampled_from("ab c.\u0301é😀"), max_size=20)
marks = st.lists(st.tuples(st.sampled_from(["PER", "LOC"]), st.integers(-1, 21), st.integers(-1, 21)), max_size=6)
policies = st.sampled_from(["strict", "expand", "contract"])


@given(text=texts, marked=marks, policy=policies, scheme=st.sampled_from(SCHEME_NAMES))
def test_every_span_is_in_the_labels_or_reported(text, marked, policy, scheme):
    offsets = token_offsets(text)
    labels, misaligned = align_spans(text, marked, offsets, policy, scheme)
    assert len(spans(labels, scheme, lenient=False)) + len(misaligned) == len(marked)


@given(text=texts, marked=marks, policy=policies, scheme=st.sampled_from(SCHEME_NAMES))
def test_aligned_spans_come_back_and_align_again(text, marked, policy, scheme):
    offsets = token_offsets(text)
    labels, misaligned = align_spans(text, marked, offsets, policy, scheme)
    back = spans_from_labels(labels, offsets, scheme)
    assert align_spans(text, back, offsets, "strict", scheme) == (labels, [])
    if policy == "strict":  # then nothing moved, but white space at the ends
        kept = [Span(*span) for span in marked]
        for wrong in misaligned:
            kept.remove(wrong.span)
        assert sorted((span.type, text[span.start : span.stop].strip()) for span in kept) == sorted(
            (span.type, text[span.start : span.stop]) for span in back
        )
