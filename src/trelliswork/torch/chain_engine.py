"""Questions about padded chains, answered by the core on the CPU and by PyTorch elsewhere.

The core checks values as it reads them. PyTorch's answers are checked here, where there are values to look at: not
while a program is traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor  # under torch.vmap, torch.func.grad and the like

from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures.checks import invalid_score
from trelliswork.torch import chain_ops, chain_scores
from trelliswork.torch.chain_scores import FORBIDDEN, Moves
from trelliswork.torch.reductions import weights_of
from trelliswork.torch.second_order import refuse_label

__all__ = ["as_engine", "as_unary", "best_labels", "label_lists", "log_partition", "loss", "marginals"]

ENGINES = ("auto", "torch")


def as_engine(engine: Any) -> str:
    """Return the name of what computes."""
    if engine not in ENGINES:
        raise InvalidInput(f"engine must be one of {', '.join(map(repr, ENGINES))}; found {engine!r}.")
    return str(engine)


def as_unary(emissions: Tensor, parameter: Tensor) -> Tensor:
    """Return emissions in the precision of the computation: that of both, and single at least.

    Examples
    --------
    >>> as_unary(torch.zeros(1, 1, 2, dtype=torch.float16), torch.zeros(2, 2)).dtype
    torch.float32
    """
    if emissions.device != parameter.device:
        raise InvalidInput(
            f"emissions are on {emissions.device}, but the parameters are on {parameter.device}. Move one of them."
        )
    return emissions.to(torch.promote_types(torch.promote_types(emissions.dtype, parameter.dtype), torch.float32))


def loss(
    unary: Tensor,
    moves: Moves,
    gold: Tensor,
    mask: Tensor | None,
    kind: str,
    reduction: str,
    engine: str = "auto",
) -> Tensor:
    """Return the loss of gold, reduced; ``kind`` and ``reduction`` are as `reductions` names them.

    Examples
    --------
    >>> zeros = torch.zeros
    >>> moves = Moves(zeros(2, 2), zeros(2), zeros(2), zeros(0))
    >>> loss(zeros(2, 3, 2), moves, zeros(2, 3, dtype=torch.int64), None, "crf", "mean").exp().round()
    tensor(8.)
    """
    cost = 1.0 if kind in ("softmax-margin", "hinge") else 0.0
    best = kind in ("hinge", "perceptron")
    lengths = unary.new_full(unary.shape[:1], unary.shape[1]) if mask is None else mask.sum(dim=1).to(unary.dtype)
    weights = weights_of(reduction, lengths)
    if not _in_core(engine, unary, *moves):
        _check_values(unary, gold, mask)
        losses = chain_scores.losses(unary, moves, gold, mask, cost, best)
        _check_totals(losses)
    elif weights is not None and torch.is_grad_enabled() and any(x.requires_grad for x in (unary, *moves)):
        total: Tensor = chain_ops.chain_gradient(unary, *moves, gold, mask, weights, cost, best)[0]
        return total
    else:
        losses = chain_ops.chain_losses(unary, *moves, gold, mask, cost, best)
    return losses if weights is None else (losses * weights).sum()


def log_partition(unary: Tensor, moves: Moves, mask: Tensor | None, engine: str = "auto") -> Tensor:
    """Return log partitions, (B,)."""
    if _in_core(engine, unary, *moves):
        return chain_ops.chain_losses(unary, *moves, None, mask, 0.0, False)
    _check_values(unary, None, mask)
    totals = chain_scores.losses(unary, moves, None, mask, 0.0, False)
    _check_totals(totals)
    return totals


def marginals(unary: Tensor, moves: Moves, mask: Tensor | None, engine: str = "auto") -> Tensor:
    """Return the probabilities of labels, (B, T, K), zero where nothing counts: the gradient of the log partitions."""
    ones = unary.new_ones(unary.shape[0])
    if _in_core(engine, unary, *moves):
        return chain_ops.chain_gradient(unary, *moves, None, mask, ones, 0.0, False)[1]
    log_partition(unary, moves, mask, engine)
    return chain_scores.gradient_of_losses(unary, moves, None, mask, ones, 0.0, False)[1]


@torch.no_grad()
def best_labels(unary: Tensor, moves: Moves, mask: Tensor | None, fill: int, engine: str = "auto") -> Tensor:
    """Return the best labels where they are, (B, T), and ``fill`` where nothing counts."""
    if _in_core(engine, unary, *moves):
        return chain_ops.chain_best(unary, *moves, mask, fill)
    _check_values(unary, None, mask)
    _check_totals(chain_scores.losses(unary, moves, None, mask, 0.0, True))
    return chain_scores.best_labels(unary, moves, mask, fill)


def label_lists(labels: Tensor, mask: Tensor | None) -> list[list[int]]:
    """Return the labels of the positions that count, a list for each sequence.

    Examples
    --------
    >>> label_lists(torch.tensor([[3, 4], [5, -100]]), torch.tensor([[True, True], [True, False]]))
    [[3, 4], [5]]
    """
    if mask is None:
        return labels.tolist()  # type: ignore[no-any-return]
    flat, lengths = labels[mask].tolist(), mask.sum(dim=1).tolist()
    stops = np.cumsum(lengths, dtype=np.int64).tolist()
    return [flat[stop - size : stop] for stop, size in zip(stops, lengths, strict=True)]


def _in_core(engine: str, *scores: Tensor) -> bool:
    if engine != "auto" or scores[0].device.type != "cpu" or torch.compiler.is_exporting():
        return False
    return torch.compiler.is_compiling() or not any(map(is_functorch_wrapped_tensor, scores))


def _check_values(unary: Tensor, gold: Tensor | None, mask: Tensor | None) -> None:
    """Refuse scores and labels that have no meaning."""
    wrong = unary.isnan() | (unary == torch.inf)
    if mask is not None:
        wrong = wrong & mask[..., None]
    if _holds(wrong.any()):
        i, t, k = wrong.nonzero()[0].tolist()
        raise InvalidInput(invalid_score(f"emissions[{i}, {t}, {k}]", float(unary[i, t, k])))
    if gold is None:
        return
    strange = (gold < 0) | (gold >= unary.shape[2])
    if mask is not None:
        strange = strange & mask
    if _holds(strange.any()):
        i, t = strange.nonzero()[0].tolist()
        refuse_label("label", i, t, int(gold[i, t]), unary.shape[2])


def _check_totals(totals: Tensor) -> None:
    """Refuse sequences without any labelling, and gold that is forbidden."""
    lost = totals.isnan() | (totals == -torch.inf)
    if _holds(lost.any()):
        raise Unsatisfiable(
            f"every labelling of emissions[{int(lost.nonzero()[0])}] is forbidden. Look at its -inf scores."
        )
    strange = totals > -0.5 * FORBIDDEN
    if _holds(strange.any()):
        i = int(strange.nonzero()[0])
        raise InvalidInput(f"labels[{i}] is forbidden. Check the labels, the constraints and the -inf scores.")


def _holds(condition: Tensor) -> bool:
    """Whether a condition on values holds; False where there are no values to look at."""
    if torch.compiler.is_compiling() or condition.device.type == "meta":
        return False
    try:
        return bool(condition)
    except RuntimeError:  # under torch.vmap
        return False
