"""Which positions of padded tensors count: masks of any shape, and lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from trelliswork.errors import InvalidInput

__all__ = ["as_mask", "mask_of_lengths", "padded"]


def mask_of_lengths(lengths: Tensor | Sequence[int], size: int | None = None) -> Tensor:
    """Return the mask of sequences that begin at the first position and have these lengths.

    Parameters
    ----------
    lengths : (B,) tensor or sequence of int
        How many positions of each sequence count; may be 0.
    size : int, optional
        How many positions there are, T; the greatest length by default.

    Returns
    -------
    (B, T) bool tensor

    Examples
    --------
    >>> mask_of_lengths([2, 0], size=3)
    tensor([[ True,  True, False],
            [False, False, False]])
    """
    numbers = torch.as_tensor(lengths)
    if numbers.ndim != 1 or (numbers.numel() and _is_no_integer(numbers)):
        raise InvalidInput(
            f"lengths must be integers, one for each sequence; found {numbers.dtype}, shape {tuple(numbers.shape)}."
        )
    most = int(numbers.max()) if size is None and numbers.numel() else size or 0
    if not torch.compiler.is_compiling() and numbers.numel() and (numbers.min() < 0 or numbers.max() > most):
        wrong = int(((numbers < 0) | (numbers > most)).nonzero()[0])
        raise InvalidInput(f"lengths[{wrong}] is {int(numbers[wrong])}; expected a number from 0 to {most}.")
    return torch.arange(most, device=numbers.device) < numbers[:, None]


def as_mask(mask: Any, shape: tuple[int, int], device: torch.device, name: str = "mask") -> Tensor | None:
    """Return a (B, T) bool tensor, or None where every position counts.

    Parameters
    ----------
    mask : (B, T) tensor of bool or of 0 and 1, (B,) tensor of lengths, or None
        Which positions count. Those that do may lie anywhere: what is masked out is as if it were not there.
    shape : (int, int)
        B and T.
    device : torch.device
        Where the scores are; the mask must be there, too.
    name : str
        What to call it in messages.

    Examples
    --------
    >>> as_mask(torch.tensor([[0, 1, 1]]), (1, 3), torch.device("cpu"))
    tensor([[False,  True,  True]])
    >>> as_mask(torch.tensor([1]), (1, 3), torch.device("cpu"))
    tensor([[ True, False, False]])
    """
    if mask is None:
        return None
    given = mask if isinstance(mask, Tensor) else torch.as_tensor(mask, device=device)
    if given.device != device:
        raise InvalidInput(f"{name} is on {given.device}, but the scores are on {device}. Move it there.")
    if tuple(given.shape) == shape[:1] and given.dtype != torch.bool:
        return mask_of_lengths(given, shape[1])
    if tuple(given.shape) != shape:
        raise InvalidInput(f"{name} must have shape {shape}, or be {shape[0]} lengths; found {tuple(given.shape)}.")
    if given.dtype == torch.bool:
        return given
    if _is_no_integer(given):
        raise InvalidInput(f"{name} must hold True and False, or 0 and 1; found {given.dtype}.")
    if not torch.compiler.is_compiling() and given.numel() and not ((given == 0) | (given == 1)).all():
        raise InvalidInput(f"{name} must hold True and False, or 0 and 1; found other numbers.")
    return given != 0


def padded(rows: Sequence[Sequence[Any] | Tensor], size: int, fill: float, like: Tensor) -> Tensor:
    """Return rows of unequal lengths, of numbers or of tensors, as one tensor of ``size`` positions.

    Examples
    --------
    >>> padded([[1, 2], []], 3, -1, torch.empty(0, dtype=torch.int64))
    tensor([[ 1,  2, -1],
            [-1, -1, -1]])
    """
    tensors = [torch.as_tensor(row, dtype=like.dtype, device=like.device) for row in rows]
    inner = next((tuple(row.shape[1:]) for row in tensors if row.numel()), ())
    out = torch.full((len(tensors), size, *inner), fill, dtype=like.dtype, device=like.device)
    for i, row in enumerate(tensors):
        out[i, : len(row)] = row
    return out


def _is_no_integer(tensor: Tensor) -> bool:
    return bool(tensor.dtype.is_floating_point) or bool(tensor.dtype.is_complex) or bool(tensor.dtype == torch.bool)
