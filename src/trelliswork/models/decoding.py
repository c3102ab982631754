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
    lengths = np.array([len(labels) for labels in labellings], dtype=np.int64)
    begins = np.cumsum(lengths) - lengths
    firsts = np.zeros(lengths.sum(), dtype=np.bool_)
    firsts[begins[lengths > 0]] = True
    kinds, starts, stops = spelled.spans(np.concatenate([np.zeros(0, dtype=np.int64), *labellings]), firsts)
    chains = np.searchsorted(begins + lengths, starts, side="right")  # of which labelling each span is
    starts, stops = starts - begins[chains], stops - begins[chains]
    events = spelled.events(kinds, starts, stops, lengths[chains])
    counts = np.bincount(chains[events.owners], minlength=len(lengths))
    of_events = batch._span_probabilities(counts, events.begins, events.sizes, events.masks)
    probabilities = np.minimum(np.bincount(events.owners, of_events, minlength=len(kinds)), 1.0)
    parts = [kinds.tolist(), starts.tolist(), stops.tolist(), probabilities.tolist()]
    found = [PredictedSpan(spelled.types[kind], *rest) for kind, *rest in zip(*parts, strict=True)]
    ends = np.cumsum(np.bincount(chains, minlength=len(lengths))).tolist()
    return [found[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


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
