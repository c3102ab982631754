"""Answers that are read off a batch of chains: labellings of least risk, spans with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.labels.encoded import Gold
from trelliswork.labels.span_labels import SpanLabels
from trelliswork.models.trained import TrainedModel
from trelliswork.structures.batch import ChainBatch

__all__ = ["PredictedSpan", "least_risk", "masks_of", "spans_of"]

FloatArray = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class PredictedSpan(NamedTuple):
    """A typed stretch of a sequence, from ``start`` up to, and without, ``stop``.

    ``probability`` is that of exactly this span: this type, these two ends, whatever the labels around it are.
    """

    type: str
    start: int
    stop: int
    probability: float


def spans_of(
    batch: ChainBatch, labellings: Sequence[npt.NDArray[Any]], spelled: SpanLabels
) -> list[list[PredictedSpan]]:
    """Return the spans of each labelling and their probabilities: those of disjoint events, summed."""
    found: list[list[tuple[int, int, int]]] = []
    events: list[tuple[int, list[Bools]]] = []  # first position, and the labels of each position from there on
    owners: list[int] = []  # the number of the span that an event is of
    counts: list[int] = []  # how many events there are of each chain
    n_spans = 0
    for labels in labellings:
        firsts = np.arange(len(labels)) == 0
        spans = list(zip(*(part.tolist() for part in spelled.spans(labels, firsts)), strict=True))
        n_before = len(events)
        for kind, start, stop in spans:
            events += spelled.events(kind, start, stop, len(labels))
            owners += [n_spans] * (len(events) - len(owners))
            n_spans += 1
        found.append(spans)
        counts.append(len(events) - n_before)
    probabilities = np.bincount(owners, _event_probabilities(batch, events, counts), minlength=n_spans)
    numbers = iter(np.minimum(probabilities, 1.0).tolist())
    return [[PredictedSpan(spelled.types[kind], a, b, next(numbers)) for kind, a, b in spans] for spans in found]


def _event_probabilities(batch: ChainBatch, events: Sequence[tuple[int, list[Bools]]], counts: list[int]) -> FloatArray:
    rows = [mask for _, masks in events for mask in masks]
    return batch._span_probabilities(
        np.array(counts, dtype=np.int64),
        np.array([begin for begin, _ in events], dtype=np.int64),
        np.array([len(masks) for _, masks in events], dtype=np.int64),
        np.array(rows, dtype=np.uint8).reshape(len(rows), batch.n_labels),
    )


def least_risk(batch: ChainBatch, cost: FloatArray, model: TrainedModel) -> list[npt.NDArray[np.int32]]:
    """Return the allowed labellings of least expected cost: sum over t and k of p(y_t = k) cost[k, guess_t]."""
    marginals = np.concatenate(batch.marginals()) if len(batch) else np.zeros((0, batch.n_labels))
    gain = np.where(marginals > 0, -(marginals @ cost), -np.inf)
    return [best.labels for best in model.best_rows(gain, batch.lengths, batch.n_jobs)]


def masks_of(gold: Gold, n_labels: int) -> list[npt.NDArray[np.bool_]]:
    """Which labels agree with what is known, for each sequence."""
    counts = np.ones(len(gold.codes), dtype=np.int64) if gold.counts is None else gold.counts
    mask = np.zeros((len(counts), n_labels), dtype=np.bool_)
    mask[np.repeat(np.arange(len(counts)), counts), gold.codes] = True
    mask[counts == 0] = True
    return np.split(mask, gold.token_offsets[1:-1]) if len(gold) else []
