"""What a person hands over as `y` for segments: labels that spell spans, or the spans themselves.

Segments cover a sequence: spans as they are, and every token outside of them as a segment of its own, labelled ``O``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import refuse_no_list
from trelliswork.errors import InvalidInput, shown
from trelliswork.labels.spans import Span, labels_from_spans, spans, suggest_scheme
from trelliswork.labels.tables import arrow_labels

__all__ = ["OUTSIDE", "SpanLists", "lengths_of", "rows_of", "span_lists", "written"]

OUTSIDE = "O"
Rows = npt.NDArray[np.uint32]


class SpanLists(NamedTuple):
    """The spans of each sequence; how many tokens each has, if labels say so; the scheme of these labels, or None."""

    spans: list[list[Span]]
    lengths: list[int] | None
    scheme: str | None
    argument: str = "y"

    @property
    def types(self) -> list[str]:
        """The types of the spans, sorted."""
        return sorted({span.type for own in self.spans for span in own})


def span_lists(y: Any, argument: str = "y", scheme: str | None = None) -> SpanLists:
    """Return the spans that ``y`` has, which is label lists in a scheme, or lists of (start, stop, label).

    Parameters
    ----------
    y : iterable of lists
    argument : str
        What errors call it.
    scheme : str, optional
        That of the labels, where it is known already.

    Examples
    --------
    >>> span_lists([["B-NP", "I-NP", "O"]]).spans, span_lists([[(0, 2, "NP")]]).spans
    ([[Span(type='NP', start=0, stop=2)]], [[Span(type='NP', start=0, stop=2)]])
    """
    y = arrow_labels(y, argument)
    refuse_no_list(y, argument)
    lists = [list(own) for own in y]
    if all(not isinstance(item, str) for own in lists for item in own) and any(lists):
        found = [[_span(item, f"{argument}[{i}][{j}]") for j, item in enumerate(own)] for i, own in enumerate(lists)]
        return SpanLists([sorted(own, key=lambda span: span.start) for own in found], None, None, argument)
    for i, own in enumerate(lists):
        for t, label in enumerate(own):
            if not isinstance(label, str):
                raise InvalidInput(f"{argument}[{i}][{t}] is {shown(label)}; expected a label, as in {argument}[0].")
    fitting = [scheme] if scheme is not None else suggest_scheme(lists)
    if not fitting:
        raise InvalidInput(
            f"the labels of {argument} are not valid in any scheme that spells spans, as B-PER and I-PER do. Look at "
            "them with trelliswork.corpora.validate_labels, or pass lists of (start, stop, label)."
        )
    read = [spans(own, fitting[0]) for own in lists]
    return SpanLists(read, [len(own) for own in lists], fitting[0], argument)


def rows_of(gold: SpanLists, lengths: Sequence[int], labels: Sequence[str]) -> list[Rows]:
    """Return the segments of each sequence as rows of (begin, end, number of the label)."""
    number = {label: k for k, label in enumerate(labels)}
    place = gold.argument
    if len(gold.spans) != len(lengths):
        raise InvalidInput(f"{place} has {len(gold.spans)} lists but X has {len(lengths)} sequences.")
    out = []
    for i, (own, length) in enumerate(zip(gold.spans, lengths, strict=True)):
        if gold.lengths is not None and gold.lengths[i] != length:
            raise InvalidInput(f"{place}[{i}] has {gold.lengths[i]} labels but X[{i}] has {length} tokens.")
        rows, at = [], 0
        for span in own:
            if span.start < at or span.stop > length:
                where = f"overlaps another or ends behind the {length} tokens of X[{i}]"
                raise InvalidInput(f"{place}[{i}] has the span {(span.start, span.stop, span.type)}, which {where}.")
            rows += [(t, t + 1, number[OUTSIDE]) for t in range(at, span.start)]
            rows.append((span.start, span.stop, number.get(span.type, len(labels))))
            at = span.stop
        rows += [(t, t + 1, number[OUTSIDE]) for t in range(at, length)]
        out.append(np.array(rows, dtype=np.uint32).reshape(-1, 3))
    return out


def written(rows: npt.NDArray[Any], length: int, labels: Sequence[str], scheme: str | None) -> list[Any]:
    """Return segments as ``y`` had them: labels in the scheme, or (start, stop, label) of those inside."""
    found = [Span(labels[k], start, stop) for start, stop, k in rows.reshape(-1, 3).tolist() if labels[k] != OUTSIDE]
    if scheme is None:
        return [(span.start, span.stop, span.type) for span in found]
    return list(labels_from_spans(found, length, scheme))


def lengths_of(rows: Iterable[Rows], labels: Sequence[str], longest: Any, argument: str) -> npt.NDArray[np.uint32]:
    """Return the longest segment of each label: as seen, or as given; a longer one in gold is refused."""
    if longest is not None and not isinstance(longest, Mapping) and (type(longest) is not int or longest < 1):
        raise InvalidInput(f"longest is {shown(longest)}; expected a number of tokens, a dict by label, or None.")
    seen = np.ones(len(labels), dtype=np.int64)
    for i, own in enumerate(rows):
        sizes = own[:, 1].astype(np.int64) - own[:, 0]
        np.maximum.at(seen, own[:, 2], sizes)
        for (start, stop, k), size in zip(own.tolist(), sizes.tolist(), strict=True):
            most = longest.get(labels[k]) if isinstance(longest, Mapping) else longest
            if most is not None and size > most:
                raise InvalidInput(
                    f"{argument}[{i}] has the segment {(start, stop, labels[k])} of {size} tokens, but longest is "
                    f"{most}. Raise longest to at least {size}, or leave it out."
                )
    if isinstance(longest, Mapping):
        given = [longest.get(label, int(seen[k])) for k, label in enumerate(labels)]
    else:
        given = seen.tolist() if longest is None else [longest] * len(labels)
    return np.array([1 if label == OUTSIDE else n for label, n in zip(labels, given, strict=True)], dtype=np.uint32)


def _span(item: Any, place: str) -> Span:
    if not isinstance(item, (tuple, list)) or len(item) != 3:
        raise InvalidInput(f"{place} is {shown(item)}; expected (start, stop, label), or a label.")
    start, stop, label = item
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in (start, stop))
    if not whole or not 0 <= start < stop or not isinstance(label, str) or label in ("", OUTSIDE):
        raise InvalidInput(
            f"{place} is {shown(item)}; expected (start, stop, label) with start < stop and a label other than 'O'."
        )
    return Span(label, int(start), int(stop))
