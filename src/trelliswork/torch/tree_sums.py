"""Sums over all trees of a batch in PyTorch alone: on any device, as often differentiable as one likes.

The core is faster; these are for second derivatives and for tensors that are not on the CPU, and judge the core in tests.
All take scores padded to one length and return a log partition for each sentence. Each step is over all spans of one
width, and nothing is written in place.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["log_sum_of_bracketings", "log_sum_of_projective_trees", "log_sum_of_trees"]

# In place of -inf, whose differences are no numbers: what is forbidden is less than this by far in every sum.
_FORBIDDEN = -1e30


def log_sum_of_projective_trees(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the log partition over projective trees (Eisner 1996).

    Parameters
    ----------
    arcs : (B, n + 1, n + 1) tensor
        Scores of arcs, [head, modifier], 0 the root; -inf forbids.
    lengths : (B,) tensor of int64
        How many words each sentence has.
    single_root : bool
        Whether the root has one modifier; otherwise one or more.

    Examples
    --------
    >>> zeros = torch.zeros(2, 4, 4, dtype=torch.float64)  # 7 trees over three words, 2 over two
    >>> log_sum_of_projective_trees(zeros, torch.tensor([3, 2]), True).exp().round()
    tensor([7., 2.], dtype=torch.float64)
    """
    scores = _finite(arcs)
    n = arcs.shape[1] - 1
    if n == 0:
        return _zeros_of(scores)
    words = scores[:, 1:, 1:] if single_root else scores
    size = words.shape[1]  # positions: with a single root it is chosen last, and no position
    # Spans by [start, width] and by [end, width], whose head is their first word (right) or their last (left);
    # complete ones, and those that end with an arc. Width 0 of the latter is none.
    empty, none = words.new_zeros(len(words), size, 1), words.new_full((len(words), size, 1), _FORBIDDEN)
    right_by_start = right_by_end = left_by_start = left_by_end = empty
    right_arc_by_start = left_arc_by_end = none
    for width in range(1, size):
        rest = size - width
        between = torch.logsumexp(right_by_start[:, :rest] + left_by_end[:, width:].flip(2), 2)
        right_arc = between + words.diagonal(width, 1, 2)
        left_arc = between + words.diagonal(-width, 1, 2)
        right_arc_by_start = _joined(right_arc_by_start, right_arc, starts=True)
        left_arc_by_end = _joined(left_arc_by_end, left_arc, starts=False)
        right = torch.logsumexp(right_arc_by_start[:, :rest, 1:] + right_by_end[:, width:].flip(2), 2)
        left = torch.logsumexp(left_by_start[:, :rest] + left_arc_by_end[:, width:, 1:].flip(2), 2)
        right_by_start, right_by_end = (_joined(right_by_start, right, True), _joined(right_by_end, right, False))
        left_by_start, left_by_end = (_joined(left_by_start, left, True), _joined(left_by_end, left, False))
    if not single_root:
        return _infinite(right_by_start[:, 0].gather(1, lengths[:, None])[:, 0])
    place = torch.arange(n, device=arcs.device)
    after = (lengths[:, None] - 1 - place).clamp(min=0)  # words of the sentence to the right of each
    trees = scores[:, 0, 1:] + left_by_start[:, 0] + right_by_start.gather(2, after[:, :, None])[:, :, 0]
    within = place < lengths[:, None]
    total = torch.logsumexp(torch.where(within, trees, _FORBIDDEN), 1)
    return _infinite(torch.where(lengths == 0, torch.zeros_like(total), total))


def log_sum_of_trees(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the log partition over trees whose arcs may cross, by the matrix-tree theorem.

    The determinant of Koo et al. (2007): minors of the Laplacian, whose first row is that of the root where it has one
    modifier. The best arc into each word is taken out first. Parameters as of `log_sum_of_projective_trees`; computed in
    float64 where the device has it, since the diagonal and the rest of a column cancel.

    Examples
    --------
    >>> zeros = torch.zeros(2, 4, 4, dtype=torch.float64)  # n ** (n - 1) trees
    >>> log_sum_of_trees(zeros, torch.tensor([3, 2]), True).exp().round()
    tensor([9., 2.], dtype=torch.float64)
    """
    n = arcs.shape[1] - 1
    if n == 0:
        return _zeros_of(_finite(arcs))
    scores = arcs if arcs.device.type == "mps" else arcs.double()
    place = torch.arange(n + 1, device=arcs.device)
    is_word = place[1:] < lengths[:, None] + 1
    used = (place[:, None] <= lengths[:, None, None]) & is_word[:, None] & (place[:, None] != place[1:])
    used = used & (scores[:, :, 1:] > -torch.inf)
    allowed = torch.where(used, scores[:, :, 1:], _FORBIDDEN)
    best = torch.where(used.any(1), allowed.amax(1), 0.0).detach()
    weights = torch.where(used, torch.exp(torch.where(used, allowed - best[:, None], 0.0)), 0.0)
    from_words, from_root = weights[:, 1:], weights[:, 0]
    out = from_words.sum(1) + (torch.zeros_like(from_root) if single_root else from_root)
    laplacian = torch.diag_embed(torch.where(is_word, out, 1.0)) - from_words
    if single_root:
        first = torch.where(is_word, from_root, torch.eye(1, n, dtype=scores.dtype, device=arcs.device))
        laplacian = torch.cat([first[:, None], laplacian[:, 1:]], 1)
    total = torch.linalg.slogdet(laplacian).logabsdet + best.sum(1)
    return total.to(arcs.dtype)


def log_sum_of_bracketings(spans: Tensor, lengths: Tensor) -> Tensor:
    """Return the log partition over bracketings: trees of constituents with two children or more.

    A constituent is a first child and what follows it, several children or one, so that every tree counts once.

    Parameters
    ----------
    spans : (B, n, n + 1) tensor
        The log of what the labels of each span, [begin, end], add up to; -inf forbids.
    lengths : (B,) tensor of int64
        How many words each sentence has.

    Examples
    --------
    >>> zeros = torch.zeros(2, 3, 4, dtype=torch.float64)  # with constituents of one word: 2 ** n times 3 and 1
    >>> log_sum_of_bracketings(zeros, torch.tensor([3, 2])).exp().round()
    tensor([24.,  4.], dtype=torch.float64)
    """
    scores = _finite(spans)
    n = spans.shape[1]
    if n == 0:
        return _zeros_of(scores)
    none = scores.new_full((len(scores), n, 1), _FORBIDDEN)
    word = torch.logaddexp(scores.diagonal(1, 1, 2), scores.new_zeros(()))  # a constituent, or bare
    child_by_begin = _joined(none, word, starts=True)
    rest_by_end = _joined(none, word, starts=False)
    wholes = [scores[:, 0, 1]]  # of sentences of one word, two words, ...
    for width in range(2, n + 1):
        first, last = child_by_begin[:, : n - width + 1, 1:], rest_by_end[:, width - 1 :, 1:]
        several = torch.logsumexp(first + last.flip(2), 2)
        child = several + scores.diagonal(width, 1, 2)
        child_by_begin = _joined(child_by_begin, child, starts=True)
        rest_by_end = _joined(rest_by_end, torch.logaddexp(several, child), starts=False)
        wholes.append(child[:, 0])
    totals = torch.stack([torch.zeros_like(wholes[0]), *wholes], 1)
    return _infinite(totals.gather(1, lengths[:, None])[:, 0])


def _joined(table: Tensor, values: Tensor, starts: bool) -> Tensor:
    """Add the spans of the next width to those by start, or to those by end; what there is not is forbidden."""
    missing = values.new_full((len(values), table.shape[1] - values.shape[1]), _FORBIDDEN)
    return torch.cat([table, torch.cat([values, missing] if starts else [missing, values], 1)[:, :, None]], 2)


def _finite(scores: Tensor) -> Tensor:
    return torch.where(scores == -torch.inf, _FORBIDDEN, scores)


def _infinite(totals: Tensor) -> Tensor:
    return torch.where(totals < _FORBIDDEN / 2, -torch.inf, totals)


def _zeros_of(scores: Tensor) -> Tensor:
    """Return zeros for a batch without words, with a gradient all the same."""
    return torch.where(torch.zeros_like(scores, dtype=torch.bool), scores, 0.0).flatten(1).sum(1)
