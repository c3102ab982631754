"""Models of segments (Sarawagi & Cohen 2004): attributes of tokens, summed over a segment, and of whole segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.features.inputs import Inputs
from trelliswork.models.part_batch import PartBatch
from trelliswork.models.parts import PartsModel

__all__ = ["SegmentModel", "segment_channels", "segment_sources", "segment_structure"]

FloatArray = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SegmentFeatures = Callable[[Any, int, int], Any]

_AT_A_TIME = 256  # sequences whose segments are described by a function of the user's


def segment_structure(lengths: npt.NDArray[np.uint32], rules: Sequence[Any], tied: bool = True) -> _core.PartStructure:
    """Return the structure; ``lengths``: the longest segment of each label; ``rules``: which label may follow which."""
    moves, start, end = (None if rule is None else np.asarray(rule).astype(np.uint8).ravel() for rule in rules)
    return _core.PartStructure.segments(len(lengths), int(lengths.max()), tied, moves, start, end, lengths)


def segment_channels(names: Sequence[str], n_labels: int, longest: int) -> list[tuple[Any, ...]]:
    """Return the channels with these names as the core wants them; the last of a tuple is its source."""
    same, sources = np.zeros(0, dtype=np.int64), [name for name in names if name != "transitions"]
    return [
        (name, 1, "tied", 0, n_labels**2, same, 0)
        if name == "transitions"
        else (name, 0, "interval" if name == "token" else "each", longest, n_labels, same, sources.index(name))
        for name in names
    ]


def segment_sources(
    inputs: Inputs,
    X: Any,
    longest: int,
    described: SegmentFeatures | None,
    argument: str = "X",
    names: bool = False,
    at_a_time: int | None = None,
) -> Iterator[list[_core.Source]]:
    """Yield attributes of tokens and, beside them, those of all runs of at most ``longest`` tokens, block by block."""
    spans = inputs.templates is not None and "span" in inputs.templates.meets
    if described is None:
        for source in inputs.sources(X, argument, names, at_a_time):
            yield [source, *([_spans_beside(inputs, source, longest)] if spans else [])]
        return
    sequences, first = iter(X), 0
    while block := list(islice(sequences, _AT_A_TIME)):
        (source,) = inputs.sources(block, argument, names)
        runs = [[_run(described, x, b, n, longest) for b in range(len(x)) for n in range(longest)] for x in block]
        found = [source, *([_spans_beside(inputs, source, longest)] if spans else [])]
        yield [*found, _core.AttributeSource(runs, names, f"segment_features of {argument}", first, "segment")]
        first += len(block)


def _run(described: SegmentFeatures, x: Any, begin: int, n: int, longest: int) -> Any:
    return described(x, begin, begin + n + 1) if begin + n < len(x) else []


def _spans_beside(inputs: Inputs, source: _core.Source, longest: int) -> _core.Source:
    assert inputs.templates is not None
    if not isinstance(source, _core.ColumnSource):  # there is no token at all
        return _core.AttributeSource([[]] * source.n_sequences, channel="span")
    return _core.SpanSource(source, inputs.templates.span_extractor(), longest)


class SegmentModel(PartsModel):
    """A trained model of segments."""

    meets = ("label", "span")

    def _described(self) -> tuple[_core.PartStructure, list[tuple[Any, ...]]]:
        K = len(self.labels)
        self.lengths = np.asarray(self.tensors["structure.lengths"]).astype(np.uint32)
        if len(self.lengths) != K or not 1 <= self.lengths.min(initial=1) <= self.lengths.max(initial=1) < 1 << 16:
            raise ValueError("structure.lengths does not have one length per label")
        self.longest = int(self.lengths.max())
        rules = [self.tensors.get(f"allowed.{name}") for name in ("transitions", "start", "end")]
        structure = segment_structure(self.lengths, rules, tied=not self.local)
        return structure, segment_channels(self.channels, K, self.longest)

    @property
    def most_asked(self) -> int:
        """How many sequences' scores may be in memory at a time, if they are 32 tokens long."""
        return int(max(1, min(2048, (1 << 26) // (8 * 32 * self.longest * len(self.labels)))))

    def batch(
        self, sources: list[_core.Source], n_jobs: int, mask: Any = None, bias: Any = None, first: int = 0
    ) -> SegmentBatch:
        """Return the sequences of sources; ``mask(i, length)``: segments (T, L, K) that may be, or None.

        ``first`` is the number of the first sequence, for errors.
        """
        lengths = sources[0].lengths()
        found = []
        for i, (length, parts) in enumerate(zip(lengths.tolist(), self.core.scores(sources, n_jobs), strict=True)):
            n = length * self.longest * len(self.labels)
            own = parts.copy()
            segments = own[:n].reshape(length, self.longest, len(self.labels))
            if bias is not None:
                segments += bias
            if self.local and length > 0:
                own[n : n + (length - 1) * len(self.labels) ** 2] -= self._log_totals(segments)[1:].repeat(
                    len(self.labels)
                )
            own /= self.temperature
            allowed = None if mask is None else mask(i, length)
            if allowed is not None:
                segments[~allowed] = -np.inf
            found.append(own)
        return SegmentBatch(self, lengths, found, n_jobs, first)

    def _log_totals(self, segments: FloatArray) -> FloatArray:
        """Return the log of the sum over all next segments, given where it begins and the label before it, (T, K)."""
        length = len(segments)
        n, t = np.arange(self.longest)[:, None], np.arange(length)[:, None, None]
        possible = (n < self.lengths) & (t + n < length) & ((t + n + 1 < length) | ~np.isneginf(self.end))
        by_label = np.logaddexp.reduce(np.where(possible, segments, -np.inf), axis=1)
        totals = np.logaddexp.reduce(by_label[:, None, :] + self.transitions, axis=2)
        return np.where(np.isneginf(totals), 0.0, totals)

    @cached_property
    def code_names(self) -> dict[str, list[tuple[str | None, str]]]:
        """The label before and the label of each code, by channel."""
        pairs: list[tuple[str | None, str]] = [(a, b) for a in self.labels for b in self.labels]
        return super().code_names | {"transitions": pairs}


class SegmentBatch(PartBatch):
    """Scores of the segments of many sequences; marginals are those of segments, (T, L, K) for each sequence."""

    def __init__(self, model: SegmentModel, lengths: Ints, scores: list[FloatArray], n_jobs: int, first: int) -> None:
        super().__init__(model.structure, lengths, scores, len(model.labels), n_jobs)
        self._model, self._first, self._row = model, first, (model.longest, len(model.labels))

    def best(self, k: int = 1) -> list[list[tuple[npt.NDArray[Any], float]]]:
        """Return, for each sequence, its best segmentations as rows of (begin, end, label), and their scores."""
        return [[(rows.reshape(-1, 3), score) for rows, score in own] for own in self._outputs(k)]

    def scores_of(self, rows: Sequence[npt.NDArray[Any]]) -> FloatArray:
        """Return the score of one segmentation of each sequence, -inf where it is forbidden."""
        found = []
        for length, scores, own in zip(self.lengths.tolist(), self._scores, rows, strict=True):
            shape, flat = np.array([length], dtype=np.uint32), np.ascontiguousarray(own, dtype=np.uint32).ravel()
            try:
                parts = self._model.structure.parts_of(shape, flat)
            except ValueError:  # longer than the longest, or a label that is not known
                found.append(-np.inf)
                continue
            pairs = own[:, 2][:-1].astype(np.intp), own[:, 2][1:].astype(np.intp)
            forbidden = np.isneginf(self._model.transitions[pairs]).any()
            ends = (
                self._model.start[own[:1, 2].astype(np.intp)].sum() + self._model.end[own[-1:, 2].astype(np.intp)].sum()
            )
            found.append(-np.inf if forbidden else float(scores[parts].sum() + ends))
        return np.array(found)

    def _refuse(self, i: int) -> None:
        raise Unsatisfiable(f"X[{self._first + i}]: what is allowed and fixed forbids every segmentation of it.")


def masked(
    length: int, model: SegmentModel, allowed: Any, fixed: Sequence[tuple[int, int, int]]
) -> npt.NDArray[np.bool_]:
    """Return which segments may be, (T, L, K): all tokens allow the label, and no fixed segment is cut."""
    K, L = len(model.labels), model.longest
    tokens = np.ones((length, K), dtype=np.bool_) if allowed is None else allowed
    out = np.zeros((length, L, K), dtype=np.bool_)
    for n in range(min(L, length)):
        here = tokens[: length - n]
        out[: length - n, n] = here if n == 0 else out[: length - n, n - 1] & tokens[n:]
    for start, stop, k in fixed:
        kept = stop - start <= L and out[start, stop - start - 1, k]
        for begin in range(max(0, start - L + 1), stop):
            out[begin, max(0, start - begin) :] = False
        if not kept:
            raise InvalidInput(f"fixed has the segment {(start, stop, model.labels[k])}, which the model cannot have.")
        out[start, stop - start - 1, k] = True
    return out
