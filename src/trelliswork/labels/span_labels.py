"""Labels that spell spans, as arrays: which of them open a span, which continue one, and of which type.

The rule is that of `trelliswork.corpora.spans` (conlleval's), the same in every scheme: a label continues a span if it
is I or E (L) and the one before it is B or I of the same type; any other label but O opens one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import MEANING
from trelliswork.labels.spans import spans

__all__ = ["SpanLabels"]

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

    def events(self, kind: int, start: int, stop: int, length: int) -> Iterator[tuple[int, list[Bools]]]:
        """Yield disjoint events that together are "there is a span of this type from start to stop, and no longer".

        Each is a first position and, from there on, which labels each position may have. How a span opens depends
        on the label before it, and how it ends on the label after it, so there are up to four.
        """
        not_before, inner, not_after, ways = self._ways[kind]
        for looks_back, looks_on, single, first, last in ways:
            body = [single] if stop - start == 1 else [first, *[inner] * (stop - start - 2), last]
            head = [not_before] if looks_back and start > 0 else []
            tail = [not_after] if looks_on and stop < length else []
            masks = head + body + tail
            if all(mask is not None for mask in masks):
                yield start - len(head), masks

    @cached_property
    def _ways(self) -> list[tuple[Any, Any, Any, list[Any]]]:
        """For each type the masks of `events`; None for one that no label fits."""
        ways: list[tuple[Any, Any, Any, list[Any]]] = []
        for kind in range(len(self.types)):
            own = self.type_of == kind
            before, after = own & self.continued, own & self.continues  # a span goes on from `before` to `after`
            found = [
                (
                    looks_back,
                    looks_on,
                    _or_none(opening & closing),
                    _or_none(opening & self.continued),
                    _or_none(closing & self.continues),
                )
                for looks_back, opening in ((False, own & ~self.continues), (True, after))
                for looks_on, closing in ((False, own & ~self.continued), (True, before))
            ]
            ways.append((_or_none(~before), _or_none(after & before), _or_none(~after), found))
        return ways


def _type(label: str, scheme: str) -> str | None:
    found = spans([label], scheme)
    return found[0].type if found else None


def _as_one(found: Ints) -> Any:
    return np.ascontiguousarray(found).view([("", found.dtype)] * 3).ravel()


def _or_none(mask: Bools) -> Bools | None:
    return mask if mask.any() else None
