"""From the losses of the sequences of a batch to one number."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trelliswork.errors import InvalidInput

__all__ = ["LOSSES", "REDUCTIONS", "as_loss", "as_reduction", "reduced", "weights_of"]

REDUCTIONS = ("mean", "sum", "none", "token_mean")
LOSSES = ("crf", "softmax-margin", "hinge", "perceptron")


def as_reduction(reduction: Any) -> str:
    """Return the name of a reduction.

    Examples
    --------
    >>> as_reduction("mean")
    'mean'
    """
    return _one_of("reduction", reduction, REDUCTIONS)


def as_loss(loss: Any) -> str:
    """Return the name of a loss.

    ``"crf"`` is the negative log-likelihood; ``"softmax-margin"`` the same with the cost of a wrong output added to its
    score (Gimpel & Smith 2010); ``"hinge"`` what the best output with its cost is above gold (Taskar et al. 2003);
    ``"perceptron"`` what the best output is above gold (Collins 2002).

    Examples
    --------
    >>> as_loss("hinge")
    'hinge'
    """
    return _one_of("loss", loss, LOSSES)


def weights_of(reduction: str, n_items: Tensor) -> Tensor | None:
    """Return the weights with which the losses of sequences are added up; None where they are not.

    Parameters
    ----------
    reduction : str
        ``"mean"`` is over sequences, ``"token_mean"`` over all items of all sequences; both are 0 where there are none.
    n_items : (B,) tensor of a floating type
        How many items, such as tokens, each sequence has.

    Examples
    --------
    >>> weights_of("mean", torch.tensor([3.0, 1.0])), weights_of("token_mean", torch.tensor([3.0, 1.0]))
    (tensor([0.5000, 0.5000]), tensor([0.2500, 0.2500]))
    """
    if reduction == "none":
        return None
    ones = torch.ones_like(n_items)
    if reduction == "mean":
        return ones / max(n_items.shape[0], 1)
    return ones / n_items.sum().clamp(min=1) if reduction == "token_mean" else ones


def reduced(losses: Tensor, reduction: str, n_items: Tensor) -> Tensor:
    """Return the losses of sequences as ``reduction`` says: one number, or all of them.

    Examples
    --------
    >>> reduced(torch.tensor([2.0, 4.0]), "mean", torch.tensor([3, 1]))
    tensor(3.)
    """
    weights = weights_of(reduction, n_items.to(losses.dtype))
    return losses if weights is None else (losses * weights).sum()


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"{name} must be one of {', '.join(map(repr, known))}; found {value!r}.")
    return value
