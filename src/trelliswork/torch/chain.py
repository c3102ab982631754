"""Linear-chain CRFs as a layer: losses, decoding, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trelliswork.arguments import as_count
from trelliswork.errors import InvalidInput
from trelliswork.labels.constraints import constraints_of
from trelliswork.structures.checks import as_method
from trelliswork.torch import chain_engine
from trelliswork.torch.chain_scores import Moves
from trelliswork.torch.masks import as_mask, padded
from trelliswork.torch.reductions import as_loss, as_reduction
from trelliswork.torch.second_order import batch_of

__all__ = ["ChainCRF"]


class ChainCRF(nn.Module):
    """The last layer of a tagger: scores of labels in, a loss or labels out, with learned scores of transitions.

    The score of labels ``y`` is the sum of ``emissions[t, y[t]]``, of ``transitions[y[t - 1], y[t]]``, of
    ``start_transitions`` for the first label and ``end_transitions`` for the last; with ``order=2`` also of
    ``trigrams[y[t - 2], y[t - 1], y[t]]``. On the CPU the core computes; elsewhere, and where PyTorch must see every
    step (export, `torch.vmap`, second derivatives), PyTorch does.

    Parameters
    ----------
    n_labels : int or sequence of str
        How many labels there are, or their names.
    loss : str
        ``"crf"``, ``"softmax-margin"``, ``"hinge"`` or ``"perceptron"``; the cost of wrong labels is their number.
    order : int
        How many labels back a score may look, 1 or 2. Of the second order, answers take K times as long.
    constraints : str, (K, K) array of bool, SchemeConstraints or callable, optional
        Which label may follow which, in training as in decoding: the name of a scheme such as ``"BIO"`` (``n_labels``
        must then be the names), what `trelliswork.scheme_constraints` returns, or an array ``[before, after]``.
    ignore_index : int or None
        Positions with this label are left out by the loss, as if they were masked.
    engine : str
        ``"auto"``, or ``"torch"`` to let PyTorch compute whatever it can, for example to differentiate forward.

    Examples
    --------
    >>> crf = ChainCRF(["O", "B", "I"], constraints="BIO")
    >>> labels = torch.tensor([[1, 2, 2, 0], [1, 2, -100, -100]])
    >>> emissions = 5.0 * nn.functional.one_hot(torch.tensor([[2, 2, 2, 0], [1, 2, 0, 0]]), 3)
    >>> loss = crf(emissions.requires_grad_(), labels)
    >>> loss.backward()
    >>> crf.decode(emissions, mask=labels != -100)  # not I at the beginning
    [[1, 2, 2, 0], [1, 2]]
    """

    transitions: Tensor
    start_transitions: Tensor
    end_transitions: Tensor
    trigrams: Tensor | None

    def __init__(
        self,
        n_labels: int | Sequence[str],
        loss: str = "crf",
        order: int = 1,
        constraints: Any = None,
        ignore_index: int | None = -100,
        engine: str = "auto",
    ) -> None:
        super().__init__()
        self.labels = [str(name) for name in n_labels] if isinstance(n_labels, (list, tuple)) else None
        self.n_labels = as_count("n_labels", n_labels if self.labels is None else len(self.labels))
        self.loss = as_loss(loss)
        if order not in (1, 2):
            raise InvalidInput(f"order must be 1 or 2, found {order!r}.")
        self.order, self.ignore_index, self.engine = order, ignore_index, chain_engine.as_engine(engine)
        K = self.n_labels
        self.start_transitions = nn.Parameter(torch.empty(K))
        self.end_transitions = nn.Parameter(torch.empty(K))
        self.transitions = nn.Parameter(torch.empty(K, K))
        self.trigrams = nn.Parameter(torch.empty(K, K, K)) if order == 2 else None
        self._forbid(constraints)
        self.reset_parameters()

    def _forbid(self, constraints: Any) -> None:
        """Keep what is forbidden beside the parameters; it is not part of the state."""
        if self.labels is None and (isinstance(constraints, str) or callable(constraints)):
            raise InvalidInput("constraints by name need the names of the labels: ChainCRF(['O', 'B-PER', ...], ...).")
        allowed = constraints_of(constraints, self.labels or [str(k) for k in range(self.n_labels)])
        for name, values in zip(("transitions", "start", "end"), allowed or (None,) * 3, strict=True):
            forbidden = None if values is None or values.all() else torch.from_numpy(~values)
            self.register_buffer(f"_forbidden_{name}", forbidden, persistent=False)

    def reset_parameters(self) -> None:
        """Draw all scores anew, uniformly between -0.1 and 0.1."""
        for scores in self.parameters():
            nn.init.uniform_(scores, -0.1, 0.1)

    def extra_repr(self) -> str:
        """Return what `repr` shows."""
        return f"n_labels={self.n_labels}, loss={self.loss!r}, order={self.order}"

    # ---- the loss ----------------------------------------------------------------------------------------------------

    def forward(self, emissions: Tensor, labels: Tensor, mask: Any = None, reduction: str = "mean") -> Tensor:
        """Return the loss, to be minimised.

        Parameters
        ----------
        emissions : (B, T, K) tensor
            Score of each label at each position; ``-inf`` forbids. Half precision is computed in single.
        labels : (B, T) tensor of int
            The right labels; anything where nothing counts.
        mask : (B, T) tensor of bool or of 0 and 1, or (B,) tensor of lengths, optional
            Which positions count. They may lie anywhere, and there may be none: a position that is masked out is as if
            it were not there.
        reduction : str
            ``"mean"`` over sequences, ``"sum"``, ``"token_mean"`` over positions that count, or ``"none"``, (B,).

        Returns
        -------
        () or (B,) tensor
            Not below 0; of single precision at least.
        """
        kind = as_reduction(reduction)
        unary = self._unary(emissions)
        gold = self._gold(labels, unary)
        counts = as_mask(mask, tuple(gold.shape), unary.device)
        if self.ignore_index is not None:
            known = gold != self.ignore_index
            counts = known if counts is None else counts & known
        return chain_engine.loss(unary, self._moves(unary), gold, counts, self.loss, kind, self.engine)

    # ---- answers -----------------------------------------------------------------------------------------------------

    def decode(self, emissions: Tensor, mask: Any = None, as_tensor: bool = False) -> list[list[int]] | Tensor:
        """Return the best labels of every sequence (Viterbi).

        Parameters
        ----------
        emissions, mask
            As for the loss.
        as_tensor : bool
            Whether to return a (B, T) tensor with every label where it is, and ``ignore_index`` (-100 if that is None)
            where nothing counts, in the place of lists of the labels that count.

        Examples
        --------
        >>> crf = ChainCRF(2)
        >>> emissions = torch.tensor([[[2.0, 0.0], [0.0, 2.0], [2.0, 0.0]]])
        >>> crf.decode(emissions, mask=torch.tensor([[1, 0, 1]]))
        [[0, 0]]
        >>> crf.decode(emissions, mask=torch.tensor([[1, 0, 1]]), as_tensor=True)
        tensor([[   0, -100,    0]])
        """
        unary, counts = self._read(emissions, mask)
        found = chain_engine.best_labels(unary, self._moves(unary), counts, self._fill, self.engine)
        return found if as_tensor else chain_engine.label_lists(found, counts)

    def kbest(
        self, emissions: Tensor, k: int, mask: Any = None, as_tensor: bool = False, method: str = "astar"
    ) -> list[list[tuple[list[int], float]]] | tuple[Tensor, Tensor]:
        """Return the ``k`` best labellings of every sequence with their scores, best first; fewer where fewer exist.

        Parameters
        ----------
        emissions, mask
            As for the loss.
        k : int
            How many.
        as_tensor : bool
            Whether to return labels, (B, k, T) as `decode` has them, and scores, (B, k), ``-inf`` for those that do not
            exist, in the place of lists of pairs.
        method : str
            ``"astar"`` or ``"viterbi"``, as for `trelliswork.Chain.kbest`; of the second order there is one way.

        Examples
        --------
        >>> crf = ChainCRF(2)
        >>> emissions = torch.tensor([[[2.0, 0.0], [0.0, 3.0]]])
        >>> [labels for labels, _ in crf.kbest(emissions, 2)[0]]
        [[0, 1], [1, 1]]
        """
        k = as_count("k", k)
        unary, counts = self._read(emissions, mask)
        batch = self._batch(unary, counts)
        found = batch.kbest(k, method=as_method(method)) if self.order == 1 else batch.kbest(k)
        if not as_tensor:
            return [[(answer.labels.tolist(), answer.score) for answer in own] for own in found]
        width = max((len(own) for own in found), default=0)
        scores = padded([[answer.score for answer in own] for own in found], width, -torch.inf, unary)
        return self._placed([[answer.labels for answer in own] for own in found], width, counts, unary), scores

    def sample(
        self,
        emissions: Tensor,
        n: int = 1,
        mask: Any = None,
        generator: torch.Generator | None = None,
        as_tensor: bool = False,
    ) -> list[list[list[int]]] | Tensor:
        """Draw ``n`` labellings of every sequence from the distribution.

        Parameters
        ----------
        emissions, mask
            As for the loss.
        n : int
            How many.
        generator : torch.Generator, optional
            Where random numbers come from; PyTorch's own by default.
        as_tensor : bool
            Whether to return a (B, n, T) tensor, as `decode` does.

        Examples
        --------
        >>> ChainCRF(1).sample(torch.zeros(1, 3, 1), n=2)
        [[[0, 0, 0], [0, 0, 0]]]
        """
        n = as_count("n", n, least=0)
        unary, counts = self._read(emissions, mask)
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device if generator else None))
        drawn = self._batch(unary, counts).sample(n, random_state=seed)
        if as_tensor:
            return self._placed(drawn, n, counts, unary)
        return [[np.asarray(labels).tolist() for labels in own] for own in drawn]

    def marginals(self, emissions: Tensor, mask: Any = None, as_tensor: bool = False) -> list[Tensor] | Tensor:
        """Return the probability of every label at every position; gradients flow through.

        Parameters
        ----------
        emissions, mask
            As for the loss.
        as_tensor : bool
            Whether to return one (B, T, K) tensor with zeros where nothing counts, in the place of a tensor of the
            positions that count for each sequence.

        Examples
        --------
        >>> ChainCRF(2).marginals(torch.tensor([[[0.0, -torch.inf], [0.0, 0.0]]]), as_tensor=True)[0, 0].detach()
        tensor([1., 0.])
        """
        unary, counts = self._read(emissions, mask)
        found = chain_engine.marginals(unary, self._moves(unary), counts, self.engine)
        if as_tensor:
            return found
        return list(found) if counts is None else [row[here] for row, here in zip(found, counts, strict=True)]

    def log_partition(self, emissions: Tensor, mask: Any = None) -> Tensor:
        """Return the log of the sum over all labellings of exp(score), (B,); 0 where nothing counts.

        Examples
        --------
        >>> crf = ChainCRF(2).requires_grad_(False)
        >>> crf.log_partition(torch.tensor([[[0.0, -torch.inf]]])) == crf.start_transitions[0] + crf.end_transitions[0]
        tensor([True])
        """
        unary, counts = self._read(emissions, mask)
        return chain_engine.log_partition(unary, self._moves(unary), counts, self.engine)

    # ---- what is handed over -----------------------------------------------------------------------------------------

    @property
    def _fill(self) -> int:
        return -100 if self.ignore_index is None else self.ignore_index

    def _read(self, emissions: Tensor, mask: Any) -> tuple[Tensor, Tensor | None]:
        unary = self._unary(emissions)
        return unary, as_mask(mask, (unary.shape[0], unary.shape[1]), unary.device)

    def _unary(self, emissions: Tensor) -> Tensor:
        """Emissions in the precision of the computation."""
        if not isinstance(emissions, Tensor) or not emissions.dtype.is_floating_point:
            found = emissions.dtype if isinstance(emissions, Tensor) else type(emissions).__name__
            raise InvalidInput(f"emissions must be a tensor of floating-point numbers, found {found}.")
        if emissions.ndim != 3 or emissions.shape[2] != self.n_labels:
            raise InvalidInput(f"emissions must have shape (B, T, {self.n_labels}), found {tuple(emissions.shape)}.")
        return chain_engine.as_unary(emissions, self.transitions)

    def _gold(self, labels: Tensor, unary: Tensor) -> Tensor:
        if not isinstance(labels, Tensor) or labels.dtype.is_floating_point or labels.dtype == torch.bool:
            found = labels.dtype if isinstance(labels, Tensor) else type(labels).__name__
            raise InvalidInput(f"labels must be a tensor of integers, found {found}.")
        if labels.shape != unary.shape[:2]:
            raise InvalidInput(f"labels must have shape {tuple(unary.shape[:2])}, found {tuple(labels.shape)}.")
        if labels.device != unary.device:
            raise InvalidInput(
                f"labels are on {labels.device}, but the emissions are on {unary.device}. Move them there."
            )
        return labels.to(torch.int64)

    def _moves(self, unary: Tensor) -> Moves:
        def scores(parameter: Tensor, forbidden: Tensor | None) -> Tensor:
            values = parameter.to(unary.dtype)
            return values if forbidden is None else values.masked_fill(forbidden, -torch.inf)

        return Moves(
            scores(self.transitions, self._forbidden_transitions),
            scores(self.start_transitions, self._forbidden_start),
            scores(self.end_transitions, self._forbidden_end),
            unary.new_zeros(0) if self.trigrams is None else self.trigrams.to(unary.dtype),
        )

    def _batch(self, unary: Tensor, mask: Tensor | None) -> Any:
        """The chains, in the core, wherever the tensors are."""
        with torch.no_grad():
            moves = Moves(*(scores.cpu() for scores in self._moves(unary)))
            return batch_of(unary.cpu(), moves, None if mask is None else mask.cpu())

    # ---- how answers look --------------------------------------------------------------------------------------------

    def _placed(self, found: Sequence[Sequence[Any]], width: int, mask: Tensor | None, unary: Tensor) -> Tensor:
        """Labellings as a tensor (B, width, T), every label where it is."""
        B, T, _ = unary.shape
        out = torch.full((B, width, T), self._fill, dtype=torch.int64, device=unary.device)
        for i, own in enumerate(found):
            if len(own) == 0:
                continue
            labels = torch.from_numpy(np.array(own, dtype=np.int64)).to(unary.device)
            here = slice(None) if mask is None else mask[i]
            out[i, : len(own), here] = labels
        return out
