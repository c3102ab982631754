"""The core's answers about chains as operators of PyTorch, which `torch.compile` takes as they are.

``trelliswork::chain_losses`` gives the losses of sequences; its gradient asks ``trelliswork::chain_gradient``, which
takes a weight for each sequence and returns the weighted sum of the losses with its gradient, from one call of the
core. A loss that is reduced to one number asks for that in the forward pass, so that nothing is computed twice.
Gradients of gradients come from `chain_scores`.

``moves`` of the docstrings are four tensors: transitions (K, K), start (K,), end (K,), trigrams (K, K, K) or empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures.checks import invalid_score
from trelliswork.torch import chain_scores, second_order
from trelliswork.torch.chain_scores import Moves

__all__ = ["chain_best", "chain_gradient", "chain_losses"]

_SCORES = "Tensor unary, Tensor transitions, Tensor start, Tensor end, Tensor trigrams"
_GOLD = "Tensor? labels, Tensor? mask"


# ---- losses ----------------------------------------------------------------------------------------------------------


@torch.library.custom_op(
    "trelliswork::chain_losses",
    mutates_args=(),
    device_types="cpu",
    schema=f"({_SCORES}, {_GOLD}, float cost, bool best) -> Tensor",
)
def chain_losses(
    unary: Tensor,
    transitions: Tensor,
    start: Tensor,
    end: Tensor,
    trigrams: Tensor,
    labels: Tensor | None,
    mask: Tensor | None,
    cost: float,
    best: bool,
) -> Tensor:
    """Return the losses of sequences, (B,); see `chain_scores.losses`."""
    losses, _ = _asked(unary, Moves(transitions, start, end, trigrams), labels, mask, cost, best, None)
    return losses


@chain_losses.register_fake
def _(unary, transitions, start, end, trigrams, labels, mask, cost, best):  # type: ignore[no-untyped-def]
    return unary.new_empty(unary.shape[:1])


def _keep_scores(ctx: Any, inputs: Any, output: Tensor) -> None:
    *tensors, ctx.cost, ctx.best = inputs
    ctx.save_for_backward(*tensors)


def _gradient_of_losses(ctx: Any, weights: Tensor) -> tuple[Any, ...]:
    *scores, labels, mask = ctx.saved_tensors
    _, *gradient = chain_gradient(*scores, labels, mask, weights, ctx.cost, ctx.best)
    return *gradient, None, None, None, None


chain_losses.register_autograd(_gradient_of_losses, setup_context=_keep_scores)


# ---- their weighted sum, with its gradient ---------------------------------------------------------------------------


@torch.library.custom_op(
    "trelliswork::chain_gradient",
    mutates_args=(),
    device_types="cpu",
    schema=f"({_SCORES}, {_GOLD}, Tensor weights, float cost, bool best) -> "
    "(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
)
def chain_gradient(
    unary: Tensor,
    transitions: Tensor,
    start: Tensor,
    end: Tensor,
    trigrams: Tensor,
    labels: Tensor | None,
    mask: Tensor | None,
    weights: Tensor,
    cost: float,
    best: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the sum of losses times weights, and its gradient by unary, transitions, start, end and trigrams."""
    losses, gradient = _asked(unary, Moves(transitions, start, end, trigrams), labels, mask, cost, best, weights)
    return torch.dot(losses, weights), *gradient


@chain_gradient.register_fake
def _(unary, transitions, start, end, trigrams, labels, mask, weights, cost, best):  # type: ignore[no-untyped-def]
    scores = (unary, transitions, start, end, trigrams)
    return unary.new_empty(()), *(torch.empty_like(x, memory_format=torch.contiguous_format) for x in scores)


def _keep_gradient(ctx: Any, inputs: Any, output: tuple[Tensor, ...]) -> None:
    *tensors, ctx.cost, ctx.best = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors, *output[1:])


def _gradient_of_gradient(ctx: Any, of_sum: Tensor | None, *of_gradient: Tensor | None) -> tuple[Any, ...]:
    saved = ctx.saved_tensors
    scores, (labels, mask, weights), gradient = saved[:5], saved[5:8], saved[8:]
    out: list[Tensor | None] = [None] * 6  # by scores and weights
    if of_sum is not None:
        out[:5] = [of_sum * part for part in gradient]
        if ctx.needs_input_grad[7]:
            out[5] = of_sum * chain_losses(*scores, labels, mask, ctx.cost, ctx.best)
    if any(given is not None for given in of_gradient):
        second = _second_derivatives(scores, labels, mask, weights, ctx.cost, ctx.best, of_gradient)
        out = [b if a is None else a if b is None else a + b for a, b in zip(out, second, strict=True)]
    return *out[:5], None, None, out[5], None, None


def _second_derivatives(
    scores: tuple[Tensor, ...],
    labels: Tensor | None,
    mask: Tensor | None,
    weights: Tensor,
    cost: float,
    best: bool,
    directions: tuple[Tensor | None, ...],
) -> list[Tensor | None]:
    """The derivatives of the gradient in a direction, by scores and weights; in PyTorch, so differentiable again."""
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        given = [
            x if again and x.requires_grad else x.detach().requires_grad_()  # what has no gradient, has one here
            for x in (*scores, weights)
        ]
        unary, *moves, factors = given
        total = (chain_scores.losses(unary, Moves(*moves), labels, mask, cost, best) * factors).sum()
        gradient = torch.autograd.grad(total, given[:5], create_graph=True, materialize_grads=True)
        terms = [(g * d).sum() for g, d in zip(gradient, directions, strict=True) if d is not None]
        along = torch.stack(terms).sum()
        if not along.requires_grad:  # of the best labelling: linear
            return [None] * 6
        return list(torch.autograd.grad(along, given, create_graph=again, allow_unused=True))


chain_gradient.register_autograd(_gradient_of_gradient, setup_context=_keep_gradient)


# ---- the best labels -------------------------------------------------------------------------------------------------


@torch.library.custom_op(
    "trelliswork::chain_best",
    mutates_args=(),
    device_types="cpu",
    schema=f"({_SCORES}, Tensor? mask, int fill) -> Tensor",
)
def chain_best(
    unary: Tensor,
    transitions: Tensor,
    start: Tensor,
    end: Tensor,
    trigrams: Tensor,
    mask: Tensor | None,
    fill: int,
) -> Tensor:
    """Return the best labels where they are, (B, T), and ``fill`` where nothing counts."""
    batch = second_order.batch_of(unary, Moves(transitions, start, end, trigrams), mask)
    out = torch.full(unary.shape[:2], fill, dtype=torch.int64)
    labels = np.concatenate([np.zeros(0, dtype=np.int32), *(best.labels for best in batch.argmax())])
    found = torch.from_numpy(labels).to(torch.int64)
    if mask is None:
        return found.reshape(out.shape)
    out[mask] = found
    return out


@chain_best.register_fake
def _(unary, transitions, start, end, trigrams, mask, fill):  # type: ignore[no-untyped-def]
    return unary.new_empty(unary.shape[:2], dtype=torch.int64)


# ---- the core --------------------------------------------------------------------------------------------------------


def _asked(
    unary: Tensor,
    moves: Moves,
    labels: Tensor | None,
    mask: Tensor | None,
    cost: float,
    best: bool,
    weights: Tensor | None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Losses, and with weights the gradient of their sum, from the core."""
    if moves.trigrams.numel():
        return second_order.losses(unary, moves, labels, mask, cost, best, weights)
    given: Any = [_array(scores) for scores in (unary, *moves[:3])]
    losses = np.empty(unary.shape[0])
    gradient = None if weights is None else [torch.empty(array.shape, dtype=unary.dtype) for array in given]
    written: Any = [None] * 4 if gradient is None else [part.numpy() for part in gradient]
    what, i, t, k = _core.padded_losses(
        given[0],
        given[1],
        given[2],
        given[3],
        mask=None if mask is None else _array(mask),
        gold=None if labels is None else _array(labels),
        cost=cost,
        best=best,
        n_jobs=torch.get_num_threads(),
        losses=losses,
        weights=None if weights is None else _array(weights.to(torch.float64)),
        d_unary=written[0],
        d_transitions=written[1],
        d_start=written[2],
        d_end=written[3],
    )
    if what:
        _refuse(what, i, t, k, unary, moves, labels)
    told = torch.from_numpy(losses).to(unary.dtype)
    return told, () if gradient is None else (*gradient, moves.trigrams.clone())


def _array(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()


def _refuse(what: str, i: int, t: int, k: int, unary: Tensor, moves: Moves, labels: Tensor | None) -> None:
    if what == "unary":
        raise InvalidInput(invalid_score(f"emissions[{i}, {t}, {k}]", float(unary[i, t, k])))
    if what == "transitions":
        raise InvalidInput(invalid_score(f"transitions[{t}, {k}]", float(moves.transitions[t, k])))
    if what in ("start", "end"):
        raise InvalidInput(invalid_score(f"{what}_transitions[{k}]", float(getattr(moves, what)[k])))
    if what == "impossible":
        raise Unsatisfiable(f"every labelling of emissions[{i}] is forbidden. Look at its -inf scores.")
    assert labels is not None
    second_order.refuse_label(what, i, t, int(labels[i, t]), unary.shape[2])
