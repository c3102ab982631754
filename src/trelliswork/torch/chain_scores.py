"""Chains in PyTorch alone: for second derivatives, other devices, export and `torch.vmap`, and as a judge of the core.

One position a step, all sequences and labels at once. A position that is masked out leaves everything as it was. What
is forbidden scores ``FORBIDDEN``, far below what any sum of scores reaches, as gradients at ``-inf`` would be NaN.

Transitions may look one label back, (K, K), or with ``trigrams`` (K, K, K) also two; without, ``trigrams`` is empty. A
history is then (label before, label), and before the first label there is one more label, which nothing scores.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["FORBIDDEN", "Moves", "best_labels", "gradient_of_losses", "losses", "path_scores"]

FORBIDDEN = -1e30


class Moves(NamedTuple):
    """Scores that all sequences share: of pairs, of first and last labels, and of triples where there are any."""

    transitions: Tensor
    start: Tensor
    end: Tensor
    trigrams: Tensor


def losses(unary: Tensor, moves: Moves, labels: Tensor | None, mask: Tensor | None, cost: float, best: bool) -> Tensor:
    """Return what all labellings, or the best, score above gold, (B,); without gold, what they score.

    Parameters
    ----------
    unary : (B, T, K) tensor
        Scores of labels.
    moves : Moves
        Scores of transitions.
    labels : (B, T) tensor of int, optional
        Gold.
    mask : (B, T) tensor of bool, optional
        Which positions count.
    cost : float
        Added to the score of every label that is not gold's.
    best : bool
        Whether to take the best labelling instead of the log of the sum over all.

    Examples
    --------
    >>> zeros = torch.zeros
    >>> losses(zeros(1, 3, 2), Moves(zeros(2, 2), zeros(2), zeros(2), zeros(0)), None, None, 0.0, False).exp().round()
    tensor([8.])
    """
    scores, moves = _possible(unary, moves)
    counts = torch.ones(unary.shape[:2], dtype=torch.bool, device=unary.device) if mask is None else mask
    scores = torch.where(counts[..., None], scores, 0.0)
    if labels is None:
        return _totals(scores, moves, counts, best)
    gold = torch.where(counts, labels, 0)
    charged = scores
    if cost != 0.0:
        wrong = torch.arange(unary.shape[2], device=unary.device) != gold[..., None]
        charged = scores + cost * wrong
    return _totals(charged, moves, counts, best) - path_scores(scores, moves, gold, counts)


def path_scores(unary: Tensor, moves: Moves, labels: Tensor, mask: Tensor) -> Tensor:
    """Return the score of one labelling of each sequence, (B,)."""
    total = unary.new_zeros(unary.shape[0])
    last = labels.new_zeros(labels.shape[0])
    before = last
    n = torch.zeros_like(last)
    for t in range(unary.shape[1]):
        label, here = labels[:, t], mask[:, t]
        added = unary[:, t].gather(1, label[:, None])[:, 0]
        added = added + torch.where(n > 0, moves.transitions[last, label], moves.start[label])
        if moves.trigrams.numel():
            added = added + torch.where(n > 1, moves.trigrams[before, last, label], 0.0)
        total = total + torch.where(here, added, 0.0)
        before, last = torch.where(here, last, before), torch.where(here, label, last)
        n = n + here
    return total + torch.where(n > 0, moves.end[last], 0.0)


def best_labels(unary: Tensor, moves: Moves, mask: Tensor | None, fill: int) -> Tensor:
    """Return the best labels of each sequence where they are, (B, T), and ``fill`` where nothing counts.

    Viterbi's search; among equals, the lowest labels from the end backwards, as the core has it.
    """
    scores, moves = _possible(unary, moves)
    B, T, K = unary.shape
    counts = torch.ones((B, T), dtype=torch.bool, device=unary.device) if mask is None else mask
    scores = torch.where(counts[..., None], scores, 0.0)
    state, begun = _before(scores, moves)
    pointers = []
    for t in range(T):
        terms = _arrivals(state, moves)
        found, pointer = terms.max(dim=1)
        pointers.append(pointer)
        state, begun = _advanced(state, begun, found, scores[:, t], moves, counts[:, t])
    rows = K + 1 if moves.trigrams.numel() else 1
    by_last = (state + moves.end).reshape(B, rows, K).transpose(1, 2).flatten(1)  # the last label decides first
    place = by_last.argmax(dim=1)
    last, older = place // rows, place % rows
    out = []
    left = counts.sum(dim=1)  # labels that are still to be read
    for t in range(T - 1, -1, -1):
        here = counts[:, t]
        out.append(torch.where(here, last, fill))
        history = older.clamp(max=K - 1) * K + last if rows > 1 else last
        pointer = pointers[t].flatten(1).gather(1, history[:, None])[:, 0]
        more = here & (left > 1)
        if rows > 1:
            last, older = torch.where(more, older, last), torch.where(more, pointer, older)
        else:
            last = torch.where(more, pointer, last)
        left = left - here.to(left.dtype)
    return torch.stack(out[::-1], dim=1) if out else torch.full((B, T), fill, dtype=torch.int64, device=unary.device)


def gradient_of_losses(
    unary: Tensor,
    moves: Moves,
    labels: Tensor | None,
    mask: Tensor | None,
    weights: Tensor,
    cost: float,
    best: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the weighted sum of the losses and its gradient by all scores; works under `torch.func` transforms."""

    def total(unary: Tensor, *moves: Tensor) -> Tensor:
        return (losses(unary, Moves(*moves), labels, mask, cost, best) * weights).sum()

    gradient, value = torch.func.grad_and_value(total, argnums=(0, 1, 2, 3, 4))(unary, *moves)
    return value, *gradient


def _possible(unary: Tensor, moves: Moves) -> tuple[Tensor, Moves]:
    """Scores with ``FORBIDDEN`` in the place of ``-inf``."""
    return unary.clamp(min=FORBIDDEN), Moves(*(scores.clamp(min=FORBIDDEN) for scores in moves))


def _totals(unary: Tensor, moves: Moves, mask: Tensor, best: bool) -> Tensor:
    state, begun = _before(unary, moves)
    for t in range(unary.shape[1]):
        terms = _arrivals(state, moves)
        found = terms.max(dim=1).values if best else terms.logsumexp(dim=1)
        state, begun = _advanced(state, begun, found, unary[:, t], moves, mask[:, t])
    flat = (state + moves.end).flatten(1)
    total = flat.max(dim=1).values if best else flat.logsumexp(dim=1)
    return torch.where(begun, torch.where(total > 0.5 * FORBIDDEN, total, -torch.inf), 0.0)


# The state is the score of each history: (B, K), or (B, K + 1, K) where two labels are remembered.


def _before(unary: Tensor, moves: Moves) -> tuple[Tensor, Tensor]:
    B, _, K = unary.shape
    state = unary.new_full((B, K + 1, K) if moves.trigrams.numel() else (B, K), FORBIDDEN)
    return state, torch.zeros(B, dtype=torch.bool, device=unary.device)


def _arrivals(state: Tensor, moves: Moves) -> Tensor:
    """Scores of histories with the label that leaves them second: (B, from, to), or (B, older, from, to)."""
    if not moves.trigrams.numel():
        return state[:, :, None] + moves.transitions
    first = torch.zeros_like(moves.trigrams[:1])  # of the label before the first
    return state[..., None] + (torch.cat([moves.trigrams, first]) + moves.transitions)


def _advanced(
    state: Tensor, begun: Tensor, found: Tensor, unary: Tensor, moves: Moves, here: Tensor
) -> tuple[Tensor, Tensor]:
    if not moves.trigrams.numel():
        next_state = torch.where(begun[:, None], found, moves.start) + unary
        return torch.where(here[:, None], next_state, state), begun | here
    nothing = torch.full_like(unary, FORBIDDEN)[:, None]
    first = torch.cat([torch.full_like(found, FORBIDDEN), (moves.start + unary)[:, None]], dim=1)
    later = torch.cat([found + unary[:, None], nothing], dim=1)
    next_state = torch.where(begun[:, None, None], later, first)
    return torch.where(here[:, None, None], next_state, state), begun | here
