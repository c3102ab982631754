"""Drop-in for pytorch-crf 0.7.2: its `CRF`, on the engine of `trelliswork.torch.ChainCRF`.

Names, shapes, reductions, errors and state dicts are the original's, and so are the first parameters for a seed. Three
things are not: masks may be of any integer type or bool, without a warning; a mask with holes is read as if the
positions that are masked out were not there, where the original adds up scores of labels that are masked out; and
scores that are NaN or infinite are refused, where the original returns NaN.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trelliswork.errors import InvalidInput
from trelliswork.torch import chain_engine
from trelliswork.torch.chain_scores import Moves
from trelliswork.torch.masks import as_mask
from trelliswork.torch.reductions import REDUCTIONS

__all__ = ["CRF"]

__version__ = "0.7.2"


class CRF(nn.Module):
    """Conditional random field, as in pytorch-crf.

    Parameters
    ----------
    num_tags : int
        Number of tags.
    batch_first : bool
        Whether tensors are (batch, sequence, ...) and not (sequence, batch, ...).

    Examples
    --------
    >>> crf = CRF(5)
    >>> emissions, tags = torch.zeros(3, 2, 5), torch.tensor([[0, 1], [2, 4], [3, 1]])
    >>> bool(crf(emissions, tags) < 0)  # a log-likelihood
    True
    >>> [len(tags) for tags in crf.decode(emissions)]
    [3, 3]
    """

    def __init__(self, num_tags: int, batch_first: bool = False) -> None:
        if num_tags <= 0:
            raise InvalidInput(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all scores anew, uniformly between -0.1 and 0.1."""
        for scores in (self.start_transitions, self.end_transitions, self.transitions):
            nn.init.uniform_(scores, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(num_tags={self.num_tags})"

    def forward(self, emissions: Tensor, tags: Tensor, mask: Tensor | None = None, reduction: str = "sum") -> Tensor:
        """Return the log-likelihood of tags: the larger, the better.

        Parameters
        ----------
        emissions : (T, B, K) tensor, or (B, T, K)
            Scores of tags.
        tags : (T, B) tensor of int, or (B, T)
            The right tags.
        mask : (T, B) tensor, or (B, T), optional
            Which positions count; the first must.
        reduction : str
            ``"none"``, ``"sum"``, ``"mean"`` over sequences or ``"token_mean"``.
        """
        self._validate(emissions, tags=tags, mask=mask)
        if reduction not in REDUCTIONS:
            raise InvalidInput(f"invalid reduction: {reduction}")
        unary, counts = self._batch_first(emissions, mask)
        gold = (tags if self.batch_first else tags.transpose(0, 1)).to(torch.int64)
        return -chain_engine.loss(unary, self._moves(unary), gold, counts, "crf", reduction)

    def decode(self, emissions: Tensor, mask: Tensor | None = None) -> list[list[int]]:
        """Return the best tags of every sequence (Viterbi), as lists."""
        self._validate(emissions, mask=mask)
        unary, counts = self._batch_first(emissions, mask)
        found = chain_engine.best_labels(unary, self._moves(unary), counts, -1)
        return chain_engine.label_lists(found, counts)

    def _validate(self, emissions: Tensor, tags: Tensor | None = None, mask: Tensor | None = None) -> None:
        if emissions.dim() != 3:
            raise InvalidInput(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.size(2) != self.num_tags:
            raise InvalidInput(f"expected last dimension of emissions is {self.num_tags}, got {emissions.size(2)}")
        for name, given in (("tags", tags), ("mask", mask)):
            if given is not None and emissions.shape[:2] != given.shape:
                raise InvalidInput(
                    f"the first two dimensions of emissions and {name} must match, "
                    f"got {tuple(emissions.shape[:2])} and {tuple(given.shape)}"
                )
        if mask is not None and not torch.compiler.is_compiling():
            first = mask[:, :1] if self.batch_first else mask[:1]
            if not first.all():
                raise InvalidInput("mask of the first timestep must all be on")

    def _batch_first(self, emissions: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Scores and mask with the batch first, in the precision of the computation."""
        unary = chain_engine.as_unary(emissions, self.transitions)
        if not self.batch_first:
            unary = unary.transpose(0, 1)
            mask = None if mask is None else mask.transpose(0, 1)
        return unary, as_mask(mask, (unary.shape[0], unary.shape[1]), unary.device)

    def _moves(self, unary: Tensor) -> Moves:
        scores = (self.transitions, self.start_transitions, self.end_transitions, unary.new_zeros(0))
        return Moves(*(values.to(unary.dtype) for values in scores))
