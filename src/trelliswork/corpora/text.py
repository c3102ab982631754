"""Plain text: lines as tokens with their offsets, and spans of characters as labels of tokens and back.

Annotation tools mark ranges of characters, models label tokens. Every span given to `align_spans` is either in the
labels, or is returned with the reason why not.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from trelliswork.corpora.files import Source, name_of, numbered_lines
from trelliswork.errors import InvalidInput
from trelliswork.labels.spans import Span, labels_from_spans, spans

__all__ = [
    "Alignment",
    "Misaligned",
    "TextLine",
    "align_spans",
    "find_offsets",
    "read_text",
    "spans_from_labels",
    "token_offsets",
]

Offsets: TypeAlias = Sequence[tuple[int, int]]
Tokenizer: TypeAlias = str | Callable[[str], Sequence[str]] | None


class TextLine(NamedTuple):
    """A line of text, its tokens, their start and stop in characters, and the number of the line.

    Examples
    --------
    >>> TextLine("Rain fell", ["Rain", "fell"], [(0, 4), (5, 9)], line=1).tokens
    ['Rain', 'fell']
    """

    text: str
    tokens: list[str]
    offsets: list[tuple[int, int]]
    line: int


class Misaligned(NamedTuple):
    """A span that the labels do not contain, and the reason.

    Examples
    --------
    >>> Misaligned(Span("LOC", 0, 3), "cuts the token 'Berlin'").reason
    "cuts the token 'Berlin'"
    """

    span: Span
    reason: str


class Alignment(NamedTuple):
    """Labels, one per token, and the spans that they do not contain.

    Examples
    --------
    >>> Alignment(["O"], []).labels
    ['O']
    """

    labels: list[str]
    misaligned: list[Misaligned]


def read_text(
    source: Source, tokenizer: Tokenizer = None, keep_empty: bool = False, encoding: str = "utf-8"
) -> Iterator[TextLine]:
    """Yield the lines of a text, each as one tokenised sentence; only one line at a time is in memory.

    Parameters
    ----------
    source : path, file object or "-"
        What to read: ``"-"`` is the standard input, and gzip files are decompressed.
    tokenizer : {"words", "whitespace"}, callable or None
        How to tokenise a line, as for `token_offsets`.
    keep_empty : bool
        Whether to yield lines without a token, too. If not, ``line`` still counts them.
    encoding : str
        The encoding of the file.

    Examples
    --------
    >>> import io
    >>> for line in read_text(io.StringIO("Rain fell.\\n\\nIt stopped.\\n")):
    ...     print(line.line, line.tokens)
    1 ['Rain', 'fell', '.']
    3 ['It', 'stopped', '.']
    """
    check_tokenizer(tokenizer)
    return _lines(source, tokenizer, keep_empty, encoding)


def token_offsets(text: str, tokenizer: Tokenizer = None) -> list[tuple[int, int]]:
    """Return the start and stop of each token of a text, in characters.

    Parameters
    ----------
    text : str
        Any text. Tokens contain no white space, unless a callable puts it there.
    tokenizer : {"words", "whitespace"}, callable or None
        ``"words"``, the default, makes a token of every punctuation mark and of every run of other characters, in any
        script; emoji are separate from words. ``"whitespace"`` splits only at white space. A callable gets the text and
        returns its tokens as strings, in order and unchanged.

    Examples
    --------
    >>> text = "Zoë's 2 cats."
    >>> [text[start:stop] for start, stop in token_offsets(text)]
    ['Zoë', "'", 's', '2', 'cats', '.']
    >>> token_offsets(text, str.split)
    [(0, 5), (6, 7), (8, 13)]
    """
    check_tokenizer(tokenizer)
    if callable(tokenizer):
        return find_offsets(text, tokenizer(text))
    pattern = _WHITESPACE if tokenizer == "whitespace" else _WORDS
    return [match.span() for match in pattern.finditer(text)]


def find_offsets(text: str, tokens: Iterable[str]) -> list[tuple[int, int]]:
    """Return the offsets of tokens in a text, each after the one before it.

    Parameters
    ----------
    text : str
        The text of the tokens.
    tokens : iterable of str
        Substrings of the text, in order. Text between two of them is skipped.

    Raises
    ------
    InvalidInput
        If a token is empty or is not in the rest of the text, for example because the tokenizer changed it.

    Examples
    --------
    >>> find_offsets("a b a", ["a", "a"])
    [(0, 1), (4, 5)]
    """
    offsets = []
    stop = 0
    for i, token in enumerate(tokens):
        if not isinstance(token, str) or not token:
            raise InvalidInput(f"tokens[{i}] must be a string of at least one character, found {token!r}.")
        start = text.find(token, stop)
        if start < 0:
            raise InvalidInput(
                f"tokens[{i}] is {token!r}, which is not in the text after character {stop}. "
                "Tokens must stand in the text as they are: give the offsets yourself if they were changed."
            )
        stop = start + len(token)
        offsets.append((start, stop))
    return offsets


def align_spans(
    text: str,
    spans: Iterable[tuple[str, int, int]],
    offsets: Offsets,
    policy: str = "strict",
    scheme: str = "BIO",
) -> Alignment:
    """Return labels of tokens for spans of characters, and the spans that cannot be written as labels.

    Parameters
    ----------
    text : str
        The text of the spans and tokens.
    spans : iterable of (type, start, stop)
        Characters ``start`` to ``stop - 1``. Of two spans that overlap, the one that begins first is kept; of two with
        the same start, the longer one; of two equal ones, the first.
    offsets : sequence of (start, stop)
        The tokens, in order and without overlap; see `token_offsets`.
    policy : {"strict", "expand", "contract"}
        What to do with a span that begins or stops inside of a token: ``"strict"`` does not align it, ``"expand"``
        includes the token, ``"contract"`` excludes it. White space at either end of a span does not matter.
    scheme : str
        The scheme of the labels, as for `labels.spans`.

    Returns
    -------
    Alignment
        ``labels``, one per token, and ``misaligned``, in the order given: each span that is not in the labels, with the
        reason. Such a span cuts a token (with "strict"), is too short to contain one (with "contract"), overlaps
        another span that was kept, is empty, or is outside of the text.

    Examples
    --------
    >>> text = "Anna left NewYork"
    >>> marked = [("PER", 0, 4), ("LOC", 13, 17)]
    >>> align_spans(text, marked, token_offsets(text))
    Alignment(labels=['B-PER', 'O', 'O'],
              misaligned=[Misaligned(span=Span(type='LOC', start=13, stop=17), reason="cuts the token 'NewYork'")])
    >>> align_spans(text, marked, token_offsets(text), policy="expand").labels
    ['B-PER', 'O', 'B-LOC']
    """
    if policy not in ("strict", "expand", "contract"):
        raise InvalidInput(f"policy must be 'strict', 'expand' or 'contract', found {policy!r}.")
    _check_offsets(text, offsets)
    given = [_checked(span, i) for i, span in enumerate(spans)]
    starts, stops = [start for start, _ in offsets], [stop for _, stop in offsets]
    owner: list[Span | None] = [None] * len(offsets)
    aligned: list[Span] = []
    reasons: dict[int, str] = {}
    for i in sorted(range(len(given)), key=lambda i: (given[i].start, -given[i].stop)):
        found = _tokens_of(given[i], text, starts, stops, policy)
        if isinstance(found, str):
            reasons[i] = found
        elif other := next((span for span in owner[found.start : found.stop] if span is not None), None):
            reasons[i] = f"overlaps {other.type!r} at {other.start} to {other.stop}"
        else:
            owner[found.start : found.stop] = [given[i]] * (found.stop - found.start)
            aligned.append(found)
    labels = labels_from_spans(aligned, len(offsets), scheme)
    return Alignment(labels, [Misaligned(given[i], reasons[i]) for i in sorted(reasons)])


def spans_from_labels(labels: Sequence[str], offsets: Offsets, scheme: str = "BIO", lenient: bool = True) -> list[Span]:
    """Return the spans of characters that the labels of tokens encode; the inverse of `align_spans`.

    Parameters
    ----------
    labels : sequence of str
        One label per token.
    offsets : sequence of (start, stop)
        The places of the tokens in the text.
    scheme, lenient
        As for `labels.spans`.

    Examples
    --------
    >>> spans_from_labels(["B-PER", "I-PER", "O"], [(0, 4), (5, 10), (11, 15)])
    [Span(type='PER', start=0, stop=10)]
    """
    if len(labels) != len(offsets):
        raise InvalidInput(f"found {len(labels)} labels for {len(offsets)} tokens. Every token needs one label.")
    found = spans(labels, scheme, lenient)
    return [Span(kind, offsets[start][0], offsets[stop - 1][1]) for kind, start, stop in found]


# Punctuation of ASCII (but "_"), Latin-1, the general and supplementary blocks, CJK and its full-width forms. Words are
# what is left, so that the vowel signs of Indic scripts and combining accents, which \w does not match, stay in them.
_PUNCTUATION = (
    r"!-/:-@\[-\^`{-~\u00a1-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u0589\u05be\u05c0\u05c3\u05f3\u05f4\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u104a\u104b\u1362-\u1368"
    r"\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2190-\u23ff\u2e00-\u2e7f\u3001-\u3003\u3008-\u3020\u3030\u30fb"
    r"\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_EMOJI = r"\u2600-\u27bf\U0001f000-\U0001faff"
_JOINERS = r"\u200d\ufe0f"
_WORDS = re.compile(rf"[{_PUNCTUATION}]|[{_EMOJI}][{_EMOJI}{_JOINERS}]*|[^\s{_PUNCTUATION}{_EMOJI}]+")
_WHITESPACE = re.compile(r"\S+")


@lru_cache
def character_classes(tokenizer: str) -> bytes:
    """Return what each code point is to a tokenizer, as the core cuts text: in words, space, mark, emoji, joiner.

    Examples
    --------
    >>> classes = character_classes("words")
    >>> [classes[ord(character)] for character in "a .\u2600\u200d"]
    [0, 1, 2, 3, 4]
    """
    every = "".join(map(chr, range(0x110000)))
    kinds = (r"\s", _PUNCTUATION, _EMOJI, _JOINERS) if tokenizer == "words" else (r"\s",)
    classes = bytearray(len(every))
    for number, characters in enumerate(kinds, 1):
        for match in re.finditer(f"[{characters}]+", every):
            classes[match.start() : match.end()] = bytes([number]) * (match.end() - match.start())
    return bytes(classes)


def check_tokenizer(tokenizer: Tokenizer) -> None:
    """Refuse what is no tokenizer."""
    if tokenizer not in (None, "words", "whitespace") and not callable(tokenizer):
        raise InvalidInput(f"tokenizer must be 'words', 'whitespace' or a function, found {tokenizer!r}.")


def _lines(source: Source, tokenizer: Tokenizer, keep_empty: bool, encoding: str) -> Iterator[TextLine]:
    for number, text in numbered_lines(source, encoding):
        try:
            offsets = token_offsets(text, tokenizer)
        except InvalidInput as error:
            raise InvalidInput(f"{name_of(source)}, line {number}: {error}") from error
        if offsets or keep_empty:
            yield TextLine(text, [text[start:stop] for start, stop in offsets], offsets, number)


def _check_offsets(text: str, offsets: Offsets) -> None:
    before = 0
    for i, (start, stop) in enumerate(offsets):
        if not before <= start < stop <= len(text):
            raise InvalidInput(
                f"offsets[{i}] is ({start}, {stop}), but tokens must be in order, not empty, not overlapping and "
                f"within the {len(text)} characters of the text."
            )
        before = stop


def _checked(span: tuple[str, int, int], i: int) -> Span:
    whole = isinstance(span, tuple | list) and len(span) == 3
    if not (whole and isinstance(span[0], str) and _is_integer(span[1]) and _is_integer(span[2])):
        raise InvalidInput(f"spans[{i}] must be (type, start, stop), such as ('PER', 0, 4), found {span!r}.")
    return Span(*span)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _tokens_of(span: Span, text: str, starts: list[int], stops: list[int], policy: str) -> Span | str:
    """The same span in tokens, or the reason why there is none."""
    if not 0 <= span.start <= len(text) or not 0 <= span.stop <= len(text):
        return f"is outside of the text, which has {len(text)} characters"
    if span.start >= span.stop:
        return "is empty"
    first, last = bisect_right(stops, span.start), bisect_left(starts, span.stop)  # all tokens it has a character of
    if first >= last:
        return "has no token in it"
    cut = [i for i in {first, last - 1} if starts[i] < span.start or stops[i] > span.stop]
    if cut and policy == "strict":
        return f"cuts the token {text[starts[min(cut)] : stops[min(cut)]]!r}"
    if policy == "contract":
        first, last = first + (first in cut), last - (last - 1 in cut)
        if first >= last:
            return "has no whole token in it"
    return Span(span.type, first, last)
