"""Chunk-coding schemes read and written: labels to spans and back, conversion, validation, and a guess at the scheme.

A scheme spells spans as labels, one per token. Ramshaw & Marcus (1995) coded chunks as IOB1; Tjong Kim Sang & Veenstra
(1999) name the variants. Two functions carry all the others: `spans` reads labels, by the rules of the conlleval
script of the CoNLL shared tasks, and `labels_from_spans` writes them. Labels are valid exactly when writing what was
read gives the same labels again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import MEANING, SCHEMES, Scheme, scheme_of

__all__ = [
    "LabelProblem",
    "Span",
    "convert_labels",
    "labels_from_spans",
    "spans",
    "suggest_scheme",
    "validate_labels",
]


class Span(NamedTuple):
    """A typed stretch of a sequence: the items from ``start`` up to, and without, ``stop``.

    Examples
    --------
    >>> Span("PER", 0, 2)
    Span(type='PER', start=0, stop=2)
    """

    type: str
    start: int
    stop: int


class LabelProblem(NamedTuple):
    """A label that its scheme does not allow where it stands, and what is wrong with it.

    ``expected`` is the label that the scheme has for the span that a lenient reader sees, or None if there is none.

    Examples
    --------
    >>> validate_labels(["O", "I-PER"], "BIO")[0].expected
    'B-PER'
    """

    position: int
    label: str
    message: str
    expected: str | None


def spans(labels: Sequence[str], scheme: str = "BIO", lenient: bool = True) -> list[Span]:
    """Return the spans that the labels of one sequence spell, in their order.

    Parameters
    ----------
    labels : sequence of str
        A prefix of the scheme, a dash and a type, as in ``"B-PER"``, or ``"O"``. The type may contain dashes, and may
        be left out (``"B"``); it is then the empty string.
    scheme : str
        ``"BIO"`` or ``"IOB2"``, ``"IOB1"``, ``"IOE1"``, ``"IOE2"``, ``"IOBES"`` or ``"BIOES"``, ``"BILOU"`` or
        ``"BILUO"``, ``"BMES"``; in capitals or not.
    lenient : bool
        How to read labels that the scheme does not allow where they stand. If true, as conlleval does: a span is
        continued only by I or E (L in BILOU), after B or I of the same type; any other label but O opens a span, and
        whatever does not continue a span closes it. So I-PER after O opens a span. If false, a span counts only if it
        is written exactly as the scheme writes it; its tokens are otherwise in no span.

    Returns
    -------
    list of Span
        Tuples ``(type, start, stop)``, not overlapping, by position.

    Raises
    ------
    InvalidInput
        If the scheme is unknown or a label is not of the scheme; `validate_labels` lists all that is wrong.

    Notes
    -----
    These are the rules of conlleval for labels with B, I, E and S. The first version of that script knew no S and
    no scheme that has both B and E; where it is silent, the rules of its later ports for IOBES hold.

    Examples
    --------
    >>> spans(["B-PER", "I-PER", "O", "I-LOC"])
    [Span(type='PER', start=0, stop=2), Span(type='LOC', start=3, stop=4)]
    >>> spans(["B-PER", "I-PER", "O", "I-LOC"], lenient=False)
    [Span(type='PER', start=0, stop=2)]
    """
    rules = scheme_of(scheme)
    found = _read(_parsed(labels, rules))
    return found if lenient else [span for span, well_written in _judged(labels, found, rules) if well_written]


def labels_from_spans(spans: Iterable[tuple[str, int, int]], length: int, scheme: str = "BIO") -> list[str]:
    """Return the labels of a sequence of the given length that has these spans; the inverse of `spans`.

    Parameters
    ----------
    spans : iterable of (type, start, stop)
        In any order. They may touch, but not overlap: a scheme has no way to write that.
    length : int
        The number of items of the sequence.
    scheme : str
        As for `spans`.

    Examples
    --------
    >>> labels_from_spans([("PER", 0, 2), ("LOC", 3, 4)], length=4, scheme="IOBES")
    ['B-PER', 'E-PER', 'O', 'S-LOC']
    """
    rules = scheme_of(scheme)
    ordered = _checked_spans(spans, length)
    labels = ["O"] * length
    for i, span in enumerate(ordered):
        before = i > 0 and _touch(ordered[i - 1], span)
        after = i + 1 < len(ordered) and _touch(span, ordered[i + 1])
        labels[span.start : span.stop] = _written(span, rules, before, after)
    return labels


def convert_labels(labels: Sequence[str], source: str, target: str, lenient: bool = False) -> list[str]:
    """Return the labels of one sequence, rewritten from one scheme in another.

    Parameters
    ----------
    labels : sequence of str
        Labels in the scheme ``source``.
    source, target : str
        Names of schemes, as for `spans`. Equal ones repair labels, if ``lenient`` is true.
    lenient : bool
        If false, labels that ``source`` does not allow where they stand are refused; if true, they are read as
        conlleval reads them.

    Examples
    --------
    >>> convert_labels(["B-PER", "I-PER", "O", "B-LOC"], "BIO", "BILOU")
    ['B-PER', 'L-PER', 'O', 'U-LOC']
    >>> convert_labels(["O", "I-PER", "I-PER"], "BIO", "BIO", lenient=True)
    ['O', 'B-PER', 'I-PER']
    """
    if not lenient:
        _refuse_problems(labels, source)
    return labels_from_spans(spans(labels, source), len(labels), target)


def validate_labels(labels: Sequence[str], scheme: str = "BIO") -> list[LabelProblem]:
    """Return what is wrong with the labels of one sequence: where, which label, and why; nothing if all is well.

    Parameters
    ----------
    labels : sequence of str
        The labels of one sequence.
    scheme : str
        As for `spans`.

    Examples
    --------
    >>> for problem in validate_labels(["O", "I-PER", "S-LOC"], "BIO"):
    ...     print(problem.position, problem.message)
    1 'I-PER' is a span of one token here, and BIO writes that 'B-PER'
    2 'S-LOC' is not of the scheme BIO, which has B-TYPE, I-TYPE and O; 'S' belongs to IOBES and BMES
    """
    rules = scheme_of(scheme)
    names = _checked_labels(labels)
    strangers = {i: _stranger(label, rules) for i, label in enumerate(names) if _parse(label, rules) is None}
    known = ["O" if i in strangers else label for i, label in enumerate(names)]
    found = _read(_parsed(known, rules))
    right = labels_from_spans(found, len(names), rules.names[0])
    problems = [LabelProblem(i, names[i], message, None) for i, message in strangers.items()]
    for span in found:
        for i in range(span.start, span.stop):
            if known[i] != right[i]:
                problems.append(LabelProblem(i, known[i], _why(i, span, known[i], right[i], rules), right[i]))
    return sorted(problems)


def suggest_scheme(sequences: Iterable[Sequence[str]]) -> list[str]:
    """Return the names of the schemes in which all of these label sequences are valid; a suggestion to be looked at.

    Several schemes may fit: ``["O", "O"]`` is valid in all of them, and IOB1 differs from IOE1 only where two spans of
    one type touch. None may fit, if the labels have no prefixes or a few of them are wrong: see `validate_labels`.

    Parameters
    ----------
    sequences : iterable of sequences of str
        The labels of many sequences; the more, the better. They are read once, one after the other.

    Examples
    --------
    >>> suggest_scheme([["B-PER", "I-PER", "O"], ["B-LOC"]])
    ['BIO']
    >>> suggest_scheme([["I-PER", "I-PER", "O"]])
    ['IOB1', 'IOE1']
    """
    if isinstance(sequences, str):
        raise InvalidInput(f"sequences must be a list of label lists, found the string {sequences!r}.")
    left = list(SCHEMES)
    for labels in sequences:
        names = _checked_labels(labels)
        left = [rules for rules in left if is_valid(names, rules)]
        if not left:
            break
    return [rules.names[0] for rules in left]


@lru_cache(maxsize=4096)
def _parse(label: str, rules: Scheme) -> tuple[str, str] | None:
    """The meaning of the prefix and the type, or None if the label is not of the scheme."""
    prefix, dash, kind = label.partition("-")
    if label == "O" or (prefix in rules.prefixes and bool(dash) == bool(kind)):
        return MEANING[prefix], kind
    return None


def _parsed(labels: Sequence[str], rules: Scheme) -> list[tuple[str, str]]:
    parsed = []
    for i, label in enumerate(_checked_labels(labels)):
        meaning = _parse(label, rules)
        if meaning is None:
            raise InvalidInput(f"labels[{i}]: {_stranger(label, rules)}. Check the label, or choose another scheme.")
        parsed.append(meaning)
    return parsed


def _checked_labels(labels: Sequence[str]) -> list[str]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise InvalidInput(f"labels must be a list with one label for each token, found {labels!r}.")
    names = list(labels)
    for i, label in enumerate(names):
        if not isinstance(label, str):
            raise InvalidInput(f"labels[{i}] must be a string such as 'B-PER', found {label!r}.")
    return names


def _read(parsed: Sequence[tuple[str, str]]) -> list[Span]:
    """Conlleval's reading: all its cases come to one rule, that of the label that continues a span."""
    found = []
    start, before, type_before = 0, "O", ""
    for i, (prefix, kind) in enumerate(parsed):
        if not (prefix in "IE" and before in "BI" and kind == type_before):
            if before != "O":
                found.append(Span(type_before, start, i))
            start = i
        before, type_before = prefix, kind
    if before != "O":
        found.append(Span(type_before, start, len(parsed)))
    return found


def _judged(labels: Sequence[str], found: Sequence[Span], rules: Scheme) -> list[tuple[Span, bool]]:
    """Each span that was read, and whether it is written as the scheme would write it among its neighbours."""
    judged = []
    for i, span in enumerate(found):
        before = i > 0 and _touch(found[i - 1], span)
        after = i + 1 < len(found) and _touch(span, found[i + 1])
        judged.append((span, list(labels[span.start : span.stop]) == _written(span, rules, before, after)))
    return judged


def _touch(left: Span, right: Span) -> bool:
    return left.stop == right.start and left.type == right.type


def _written(span: Span, rules: Scheme, touches_before: bool, touches_after: bool) -> list[str]:
    """The labels of a span, given whether spans of its type touch it."""
    _, begin, inside, end, single, only_between = rules
    if only_between and not (touches_before if begin != inside else touches_after):
        begin = end = single = inside
    length = span.stop - span.start
    prefixes = [single] if length == 1 else [begin, *[inside] * (length - 2), end]
    tail = f"-{span.type}" if span.type else ""
    return [prefix + tail for prefix in prefixes]


def _checked_spans(spans: Iterable[tuple[str, int, int]], length: int) -> list[Span]:
    ordered = sorted((Span(*span) for span in spans), key=lambda span: (span.start, span.stop))
    stop = 0
    for span in ordered:
        if not isinstance(span.type, str):
            raise InvalidInput(f"the type of a span must be a string, found {span.type!r} in {tuple(span)}.")
        if not 0 <= span.start < span.stop <= length:
            raise InvalidInput(
                f"the span {tuple(span)} is not within the {length} items of the sequence, or empty. "
                "A span is (type, start, stop) with 0 <= start < stop <= length."
            )
        if span.start < stop:
            raise InvalidInput(
                f"the span {tuple(span)} overlaps another. Labels can write one span per token: drop one."
            )
        stop = span.stop
    return ordered


def is_valid(labels: Sequence[str], rules: Scheme) -> bool:
    """Return whether the labels of one sequence are what a scheme would write."""
    parsed = [_parse(label, rules) for label in labels]
    known = [meaning for meaning in parsed if meaning is not None]
    return len(known) == len(labels) and all(good for _, good in _judged(labels, _read(known), rules))


def _refuse_problems(labels: Sequence[str], scheme: str) -> None:
    problems = validate_labels(labels, scheme)
    if problems:
        first = problems[0]
        others = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        advice = "choose another scheme" if first.expected is None else "pass lenient=True to read as conlleval does"
        raise InvalidInput(f"labels[{first.position}]: {first.message}{others}. Check the labels, or {advice}.")


def _stranger(label: str, rules: Scheme) -> str:
    """Why a label is not of the scheme, and what was probably meant."""
    prefixes = ", ".join(f"{prefix}-TYPE" for prefix in rules.prefixes)
    return f"{label!r} is not of the scheme {rules.names[0]}, which has {prefixes} and O{_hint(label, rules)}"


def _hint(label: str, rules: Scheme) -> str:
    first, dash, kind = label.partition("-")
    others = [other.names[0] for other in SCHEMES if first in other.prefixes]
    if first == "O":
        return "; O has no type"
    if first in rules.prefixes and dash and not kind:
        return "; the type after the dash is missing"
    if others and first not in rules.prefixes:
        return f"; {first!r} belongs to {' and '.join(others)}"
    if label.rpartition("-")[2] in rules.prefixes:
        return "; the prefix comes first"
    return ""


def _why(position: int, span: Span, found: str, expected: str, rules: Scheme) -> str:
    if span.stop - span.start == 1:
        place = "is a span of one token"
    elif position == span.start:
        place = "begins a span"
    elif position == span.stop - 1:
        place = "ends a span"
    else:
        place = "is inside of a span"
    return f"{found!r} {place} here, and {rules.names[0]} writes that {expected!r}"
