"""Losses of batches of trees in PyTorch alone: for second derivatives, other devices, export; and to judge the core.

Sums are over all spans of one width at a time, for all sentences at once, or determinants; nothing is written in place.
What is forbidden scores ``_FORBIDDEN``, far below what any sum of scores reaches: gradients at ``-inf`` would be NaN.
Best trees are found by the core wherever tensors are: losses are then linear in the scores.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = [
    "lengths_of",
    "log_sum_of_bracketings",
    "log_sum_of_projective_trees",
    "log_sum_of_trees",
    "losses",
    "used_cells",
]

_FORBIDDEN = -1e30


def losses(
    scores: Tensor,
    mask: Tensor | None,
    gold: Tensor | None,
    labels: Tensor | None,
    trees: str,
    single_root: bool,
    cost: float,
    unknown: int,
) -> Tensor:
    """Return what `tree_ops.tree_losses` returns first, for sums; parameters as there.

    Examples
    --------
    >>> scores = torch.zeros(1, 3, 3, 1)
    >>> losses(scores, None, torch.tensor([[0, 1]]), None, "projective", True, 0.0, -100).exp()
    tensor([2.])
    """
    lengths = lengths_of(mask, scores)
    used = used_cells(scores, lengths, trees)[:, :, :, None]
    table = torch.where(used, scores, 0.0)
    with torch.autocast(scores.device.type, enabled=False):
        if gold is None:
            return _log_sum(table, lengths, trees, single_root)
        if trees == "brackets":
            allowed = _allowed_spans(gold, scores, unknown)
            charged = table + cost * _costs_of_spans(allowed, lengths)
            of_labels = torch.logsumexp(torch.where(allowed, table, _FORBIDDEN), 3)
            of_gold = torch.where(allowed.any(3), of_labels, 0.0).flatten(1).sum(1)
            return _log_sum(charged, lengths, trees, single_root) - of_gold
        allowed = _allowed_arcs(gold, labels, scores, unknown)
        both = torch.cat([table + cost * ~allowed, torch.where(allowed | ~used, table, -torch.inf)])
        totals, of_gold = _log_sum(both, lengths.repeat(2), trees, single_root).chunk(2)
        return totals - of_gold


def lengths_of(mask: Tensor | None, scores: Tensor) -> Tensor:
    """Return the number of words of each sentence, (B,).

    Examples
    --------
    >>> lengths_of(None, torch.zeros(2, 4, 4, 1))
    tensor([3, 3])
    """
    if mask is None:
        return torch.full((scores.shape[0],), scores.shape[2] - 1, dtype=torch.int64, device=scores.device)
    return mask.sum(1)


def used_cells(scores: Tensor, lengths: Tensor, trees: str) -> Tensor:
    """Return which cells of tables are arcs, or spans, of sentences of these lengths, (B, rows, columns).

    Examples
    --------
    >>> used_cells(torch.zeros(1, 2, 3, 1), torch.tensor([2]), "brackets")[0]
    tensor([[False,  True,  True],
            [False, False,  True]])
    """
    row = torch.arange(scores.shape[1], device=scores.device)[:, None]
    column = torch.arange(scores.shape[2], device=scores.device)
    within = column <= lengths[:, None, None]
    if trees == "brackets":
        return within & (row < column)
    return within & (row <= lengths[:, None, None]) & (column > 0) & (row != column)


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
    modifier. The best arc into each word is taken out first. Parameters as of `log_sum_of_projective_trees`; computed
    in float64 where the device has it, since the diagonal and the rest of a column cancel.

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


def _log_sum(table: Tensor, lengths: Tensor, trees: str, single_root: bool) -> Tensor:
    of_labels = table[..., 0] if table.shape[3] == 1 else torch.logsumexp(table.clamp(min=_FORBIDDEN), 3)
    of_labels = torch.where(of_labels < _FORBIDDEN / 2, -torch.inf, of_labels)
    if trees == "brackets":
        return log_sum_of_bracketings(of_labels, lengths)
    sums = log_sum_of_projective_trees if trees == "projective" else log_sum_of_trees
    return sums(of_labels, lengths, single_root)


def _allowed_arcs(heads: Tensor, labels: Tensor | None, scores: Tensor, unknown: int) -> Tensor:
    """Return which arcs gold leaves possible, (B, n + 1, n + 1, L); column 0 is of no word."""
    row = torch.arange(scores.shape[1], device=scores.device)[:, None]
    allowed = ((heads == unknown)[:, None] | (heads[:, None] == row))[..., None]
    if labels is not None:
        code = torch.arange(scores.shape[3], device=scores.device)
        allowed = allowed & ((labels == unknown)[..., None] | (labels[..., None] == code))[:, None]
    return torch.cat([allowed.new_ones((*allowed.shape[:2], 1, allowed.shape[3])), allowed], 2).expand_as(scores)


def _allowed_spans(rows: Tensor, scores: Tensor, unknown: int) -> Tensor:
    """Return which labelled spans gold has, (B, n, n + 1, L); all labels of those whose label is unknown."""
    n_sentences, n_rows, n_columns, n_labels = scores.shape
    n_cells = n_rows * n_columns
    is_row = rows[..., 0] != unknown
    cell = torch.where(is_row, rows[..., 0] * n_columns + rows[..., 1], n_cells)  # one more, for what is none
    code = torch.arange(n_labels, device=scores.device)
    has = ((rows[..., 2:] == unknown) | (rows[..., 2:] == code)).long()
    counts = torch.zeros(n_sentences, n_cells + 1, n_labels, dtype=torch.int64, device=scores.device)
    counts = counts.scatter_add(1, cell[..., None].expand(-1, -1, n_labels), has)
    return (counts[:, :n_cells] > 0).reshape(scores.shape)


def _costs_of_spans(allowed: Tensor, lengths: Tensor) -> Tensor:
    """Return the cost of each labelled span, so that a tree is charged what is wrong in it and what is missing."""
    costs = 1.0 - 2.0 * allowed
    if not costs.shape[1]:
        return costs
    whole = torch.arange(costs.shape[2], device=allowed.device) == lengths[:, None]
    n_gold = allowed.any(3).flatten(1).sum(1)
    first = costs[:, :1] + (whole * n_gold[:, None])[:, None, :, None]
    return torch.cat([first, costs[:, 1:]], 1)


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
