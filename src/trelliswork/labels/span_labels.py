"""Labels that spell spans, as arrays: which of them open a span, which continue one, and of which type.

The rule is that of `trelliswork.corpora.spans` (conlleval's), the same in every scheme: a label continues a span if it
is I or E (L) and the one before it is B or I of the same type; any other label but O opens one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import MEANING
from trelliswork.labels.spans import spans

__all__ = ["Events", "SpanLabels"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_SCHEMES = ("BIO", "IOBES", "BILOU", "BMES")  # their prefixes include those of the others


@dataclass(frozen=True)
class SpanLabels:
    """What each of K labels says about spans.

    Attributes
    ----------
    types : list of str
        The types of spans.
    type_of : int array (K,)
        The type of each label as a position in `types`; -1 for ``O``.
    continues, continued : bool arrays (K,)
        Whether the label may continue a span (I, E), and whether a span may go on after it (B, I).
    """

    types: list[str]
    type_of: Ints
    continues: Bools
    continued: Bools

    @classmethod
    def of(cls, labels: Sequence[str]) -> SpanLabels | None:
        """Return what the labels say, or None if they spell no spans in any scheme.

        Examples
        --------
        >>> SpanLabels.of(["O", "B-PER", "I-PER"]).type_of.tolist()
        [-1, 0, 0]
        >>> SpanLabels.of(["NN", "VB"]) is None
        True
        """
        for scheme in _SCHEMES:
            try:
                kinds = [_type(label, scheme) for label in labels]
            except InvalidInput:
                continue
            types = sorted({kind for kind in kinds if kind is not None})
            meanings = [MEANING[label.partition("-")[0]] for label in labels]
            if types:
                number: dict[str | None, int] = {None: -1, **{kind: i for i, kind in enumerate(types)}}
                return cls(
                    types,
                    np.array([number[kind] for kind in kinds], dtype=np.int64),
                    np.array([meaning in "IE" for meaning in meanings]),
                    np.array([meaning in "BI" for meaning in meanings]),
                )
        return None

    def spans(self, labels: npt.NDArray[Any], firsts: Bools) -> tuple[Ints, Ints, Ints]:
        """Return types, starts and stops of all spans of sequences that lie one after the other.

        Parameters
        ----------
        labels : int array (N,)
        firsts : bool array (N,)
            Which positions begin a sequence.
        """
        types = self.type_of[labels]
        goes_on = np.zeros(len(labels), dtype=np.bool_)
        goes_on[1:] = self.continues[labels[1:]] & self.continued[labels[:-1]] & (types[1:] == types[:-1]) & ~firsts[1:]
        starts = np.flatnonzero((types >= 0) & ~goes_on)
        ends = np.append(np.flatnonzero(~goes_on), len(labels))
        return types[starts], starts, ends[np.searchsorted(ends, starts, side="right")]

    def f1(self, gold: npt.NDArray[Any], guess: npt.NDArray[Any], firsts: Bools) -> float:
        """Return the F1 of exact spans, as `trelliswork.evaluation.span_scores` counts it."""
        there, found = (np.stack(self.spans(labels, firsts), axis=1) for labels in (gold, guess))
        n_right = len(np.intersect1d(_as_one(there), _as_one(found), assume_unique=True))
        return 2 * n_right / (len(there) + len(found)) if len(there) + len(found) else 0.0

    def events(self, kinds: Ints, starts: Ints, stops: Ints, lengths: Ints) -> Events:
        """Return disjoint events that together are "there is a span of this type from start to stop, and no longer".

        How a span opens depends on the label before it, and how it ends on the label after it, so there are up to four
        for each span.

        Parameters
        ----------
        kinds, starts, stops : int arrays (N,)
            Spans, by the numbers of their types.
        lengths : int array (N,)
            How long the sequence of each is.
        """
        ways, size = self._ways, (stops - starts)[:, None]
        single, first, last = (ids[kinds] for ids in (ways.single, ways.first, ways.last))  # [span][way]
        before, inner, after = (ids[kinds][:, None] for ids in (ways.before, ways.inner, ways.after))
        has_head = ways.looks_back & (starts > 0)[:, None]
        has_tail = ways.looks_on & (stops < lengths)[:, None]
        body = np.where(size == 1, single >= 0, (first >= 0) & (last >= 0) & ((size == 2) | (inner >= 0)))
        owners, way = np.nonzero(body & (~has_head | (before >= 0)) & (~has_tail | (after >= 0)))
        head, tail = has_head[owners, way], has_tail[owners, way]
        sizes = (stops - starts)[owners] + head + tail
        ends = np.cumsum(sizes)
        opens, closes = ends - sizes + head, ends - tail - 1
        rows = np.repeat(inner[owners, 0], sizes)
        rows[opens] = np.where(opens == closes, single[owners, way], first[owners, way])
        rows[closes] = np.where(opens == closes, single[owners, way], last[owners, way])
        rows[(opens - 1)[head]] = before[owners, 0][head]
        rows[(closes + 1)[tail]] = after[owners, 0][tail]
        return Events(owners, starts[owners] - head, sizes, ways.masks[rows])

    @cached_property
    def _ways(self) -> _Ways:
        """The masks of `events`."""
        masks: list[Bools] = []

        def number(mask: Bools) -> int:
            masks.append(mask)
            return len(masks) - 1 if mask.any() else -1

        edges, ways = [], []
        for kind in range(len(self.types)):
            own = self.type_of == kind
            before, after = own & self.continued, own & self.continues  # a span goes on from `before` to `after`
            edges.append([number(mask) for mask in (~before, after & before, ~after)])
            ways.append(
                [
                    [number(opening & closing), number(opening & self.continued), number(closing & self.continues)]
                    for opening in (own & ~self.continues, after)
                    for closing in (own & ~self.continued, before)
                ]
            )
        return _Ways(
            np.array(masks, dtype=np.uint8).reshape(len(masks), len(self.type_of)),
            *np.array(edges, dtype=np.int64).T,
            *np.moveaxis(np.array(ways, dtype=np.int64), 2, 0),
        )


class Events(NamedTuple):
    """Labels that a stretch of a sequence may have.

    Attributes
    ----------
    owners : int array (E,)
        Which span an event is of.
    begins, sizes : int arrays (E,)
        Its first position, and how many it has.
    masks : uint8 array (sum of sizes, K)
        Which labels each of its positions may have.
    """

    owners: Ints
    begins: Ints
    sizes: Ints
    masks: npt.NDArray[np.uint8]


class _Ways(NamedTuple):
    """Which labels there may be around spans and in them: numbers of masks by type, -1 for one that no label fits."""

    masks: npt.NDArray[np.uint8]
    before: Ints
    inner: Ints
    after: Ints
    single: Ints  # [type][way]: how a span opens and closes
    first: Ints
    last: Ints
    looks_back: Bools = np.array([False, False, True, True])
    looks_on: Bools = np.array([False, True, False, True])


def _type(label: str, scheme: str) -> str | None:
    found = spans([label], scheme)
    return found[0].type if found else None


def _as_one(found: Ints) -> Any:
    return np.ascontiguousarray(found).view([("", found.dtype)] * 3).ravel()
