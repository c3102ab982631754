"""Batches of chains in the core, of the first or the second order, from tensors."""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.batch import ChainBatch
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.labellings import LabellingScores, all_ngrams
from trelliswork.structures.parts import Batch
from trelliswork.structures.results import Labeling
from trelliswork.torch.chain_scores import Moves

__all__ = ["SecondOrderChain", "batch_of", "losses", "refuse_label"]


class SecondOrderChain(LabellingScores):
    """A chain that scores labels, pairs and triples of labels; start and end are in ``unary`` and ``arcs``."""

    _where_to_look = "transitions that end there"

    def __init__(self, unary: FloatArray, arcs: FloatArray) -> None:
        self._arcs = arcs
        super().__init__(all_ngrams(unary.shape[1], 2)[1], unary, arcs)

    def _with_unary(self, unary: FloatArray) -> Self:
        return type(self)(unary, self._arcs)

    def edge_marginals(self) -> FloatArray:
        """Not asked of these."""
        raise NotImplementedError


def batch_of(unary: Tensor, moves: Moves, mask: Tensor | None) -> ChainBatch | Batch[Labeling]:
    """Return the chains of padded scores, ready for every question; they are checked.

    Examples
    --------
    >>> zeros = torch.zeros
    >>> moves = Moves(zeros(2, 2), zeros(2), zeros(2), zeros(2, 2, 2))
    >>> batch = batch_of(zeros(2, 3, 2), moves, torch.tensor([[True, False, True], [True, True, True]]))
    >>> batch.log_partition().round(3).tolist()
    [1.386, 2.079]
    """
    rows, lengths = _rows(unary, mask)
    transitions, start, end = (_numbers(name, scores) for name, scores in zip(_NAMES, moves[:3], strict=True))
    n_jobs = torch.get_num_threads()
    if not moves.trigrams.numel():
        _require_scores(unary, rows, mask)
        return ChainBatch._of_rows(rows, lengths, transitions, start, end, n_jobs)
    _require_scores(unary, rows, mask)
    arcs = _arcs(transitions, start, _numbers("trigrams", moves.trigrams))
    ends = np.cumsum(lengths)
    rows[ends[lengths > 0] - 1] += end
    parts = [rows[stop - size : stop] for stop, size in zip(ends, lengths, strict=True)]
    return Batch([SecondOrderChain(part, arcs) for part in parts], n_jobs=n_jobs)


def losses(
    unary: Tensor,
    moves: Moves,
    labels: Tensor | None,
    mask: Tensor | None,
    cost: float,
    best: bool,
    weights: Tensor | None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return losses of chains of the second order and, with weights, the gradient of their weighted sum."""
    counts = torch.ones(unary.shape[:2], dtype=torch.bool) if mask is None else mask
    gold = None if labels is None else labels[counts].numpy()
    charged, (B, _, K) = unary.detach().double(), unary.shape
    if gold is not None and gold.size and ((gold < 0) | (gold >= K)).any():
        i, t = (counts & ((labels < 0) | (labels >= K))).nonzero()[0].tolist()  # type: ignore[operator]
        refuse_label("label", i, t, int(labels[i, t]), K)  # type: ignore[index]
    batch = batch_of(charged, moves, counts)
    assert isinstance(batch, Batch)
    lengths = counts.sum(dim=1).numpy()
    stops = np.cumsum(lengths)
    own = [None] * B if gold is None else [gold[stop - n : stop] for stop, n in zip(stops, lengths, strict=True)]
    gold_scores = np.array([0.0 if y is None else one.score(y) for one, y in zip(batch, own, strict=True)])
    for i in np.flatnonzero(gold_scores == -np.inf)[:1]:
        t = int(counts[i].nonzero()[0])
        refuse_label("gold", int(i), t, int(labels[i, t]), K)  # type: ignore[index]
    members = list(batch)
    if cost != 0.0:
        members = [one.augmented(y, scale=cost) for one, y in zip(members, own, strict=True)]  # type: ignore[attr-defined]
        batch = Batch(members, n_jobs=batch.n_jobs)
    answers = batch.argmax() if best else []
    totals = np.array([answer.score for answer in answers]) if best else batch.log_partition()
    batch._require_possible()
    told = torch.from_numpy(np.maximum(totals - gold_scores, 0.0) if gold is not None else totals).to(unary.dtype)
    if weights is None:
        return told, ()
    structure = all_ngrams(K, 2)[1]

    def counted(i: int, y: Any) -> FloatArray:
        out = np.zeros(len(members[i]._scores))
        np.add.at(out, structure.parts_of(members[i]._shape, np.asarray(y, dtype=np.uint32)), 1.0)
        return out

    if best:
        expected = [counted(i, answer.labels) for i, answer in enumerate(answers)]
    else:
        expected = [np.asarray(parts) for parts in batch._core.marginals(True)] if batch._core else []
    if gold is not None:
        expected = [parts - counted(i, own[i]) for i, parts in enumerate(expected)]
    return told, _gradient(expected, lengths, weights.double().numpy(), counts, moves, unary)


def refuse_label(what: str, i: int, t: int, label: int, n_labels: int) -> NoReturn:
    """Say what is wrong with a gold label."""
    if what == "label":
        raise InvalidInput(
            f"labels[{i}, {t}] is {label}; labels are indices from 0 to {n_labels - 1}. "
            "Mask positions that have no label, or give them ignore_index."
        )
    raise InvalidInput(
        f"labels[{i}] is forbidden: its score becomes -inf at position {t}, label {label}. "
        "Check the labels, the constraints and the -inf scores."
    )


_NAMES = ("transitions", "start_transitions", "end_transitions")


def _rows(unary: Tensor, mask: Tensor | None) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """The scores of the positions that count, one sequence after the other, and how many each has."""
    B, T, K = unary.shape
    scores = unary.detach().double()
    if mask is None:
        return np.array(scores.reshape(-1, K).numpy(), order="C"), np.full(B, T, dtype=np.int64)
    return np.array(scores[mask].numpy(), order="C"), mask.sum(dim=1).numpy().astype(np.int64)


def _numbers(name: str, scores: Tensor) -> FloatArray:
    array = np.array(scores.detach().double().numpy(), order="C")
    checks.require_scores(name, array)
    return array


def _require_scores(unary: Tensor, rows: FloatArray, mask: Tensor | None) -> None:
    try:
        checks.require_scores("emissions", rows)
    except InvalidInput:
        counts = torch.ones(unary.shape[:2], dtype=torch.bool) if mask is None else mask
        wrong = unary.isnan() | (unary == torch.inf) | ((unary.abs() > 1e300) & (unary != -torch.inf))
        place = (wrong & counts[..., None]).nonzero()[0].tolist()
        value = float(unary[tuple(place)])
        raise InvalidInput(checks.invalid_score(f"emissions[{', '.join(map(str, place))}]", value)) from None


def _arcs(transitions: FloatArray, start: FloatArray, trigrams: FloatArray) -> FloatArray:
    """Scores of the automaton's arcs: first labels, first pairs, triples."""
    labels = all_ngrams(len(start), 2)[0].labels
    older, before, label = labels.T
    arcs = np.where(before < 0, start[label], transitions[before, label])
    return np.asarray(arcs + np.where(older < 0, 0.0, trigrams[older, before, label]))


def _gradient(
    expected: list[FloatArray],
    lengths: npt.NDArray[np.int64],
    weights: FloatArray,
    mask: Tensor,
    moves: Moves,
    unary: Tensor,
) -> tuple[Tensor, ...]:
    """From what is expected of parts, by sequence, to the gradient by tensors."""
    K = unary.shape[2]
    older, before, label = all_ngrams(K, 2)[0].labels.T
    of_unary, (of_transitions, of_start, of_end, of_trigrams) = (
        np.zeros(unary.shape),
        [np.zeros(tuple(scores.shape)) for scores in moves],
    )
    first, pair, triple = before < 0, before >= 0, older >= 0
    for i, parts in enumerate(expected):
        if lengths[i] == 0:
            continue
        rows, arcs = np.split(parts * weights[i], [lengths[i] * K])
        rows = rows.reshape(-1, K)
        of_unary[i][mask[i].numpy()] = rows
        of_end += rows[-1]
        np.add.at(of_start, label[first], arcs[first])
        np.add.at(of_transitions, (before[pair], label[pair]), arcs[pair])
        np.add.at(of_trigrams, (older[triple], before[triple], label[triple]), arcs[triple])
    made = (of_unary, of_transitions, of_start, of_end, of_trigrams)
    return tuple(torch.from_numpy(array).to(unary.dtype) for array in made)
