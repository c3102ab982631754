"""What modules over batches of trees share: losses, and answers as lists or as tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor  # under torch.vmap, torch.func.grad and the like

from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.torch import tree_ops, tree_sums
from trelliswork.torch.chain_engine import as_engine
from trelliswork.torch.masks import as_mask, padded
from trelliswork.torch.reductions import as_loss, as_reduction, reduced

__all__ = ["TreeCRF", "as_integers", "as_scores"]


class TreeCRF(nn.Module, ABC):
    """A distribution over the trees of each sentence of a batch, from scores that a network makes.

    Parameters
    ----------
    trees : {"projective", "crossing", "brackets"}
        As the core has them.
    single_root : bool
        Of dependency trees, whether the root has one modifier.
    n_labels : int or None
        Labels of arcs or spans; None where there are none.
    loss : {"crf", "softmax-margin", "hinge", "perceptron"}
        What is minimised; see `trelliswork.torch.reductions.as_loss`.
    ignore_index : int
        What stands in gold where nothing is known, and in tensors of answers at padding.
    engine : {"auto", "torch"}
        Who computes sums: the core where it can, or PyTorch.
    """

    def __init__(
        self, trees: str, single_root: bool, n_labels: int | None, loss: str, ignore_index: int, engine: str
    ) -> None:
        super().__init__()
        self._which = (trees, checks.as_flag("single_root", single_root))
        self.n_labels = None if n_labels is None else checks.as_count("n_labels", n_labels)
        self.loss = as_loss(loss)
        if isinstance(ignore_index, bool) or not isinstance(ignore_index, int) or ignore_index >= 0:
            raise InvalidInput(f"ignore_index must be a negative integer, found {ignore_index!r}.")
        self.ignore_index, self.engine = ignore_index, as_engine(engine)

    def forward(self, scores: Any, gold: Any, mask: Tensor | None = None, reduction: str = "mean") -> Tensor:
        """Return the loss of a batch, to be minimised; it is never negative.

        Parameters
        ----------
        scores : tensor, or two
            As the class says.
        gold : tensor, or two
            The right trees, as the class says.
        mask : (B, n) tensor of bool, or (B,) tensor of lengths, optional
            Which positions are words. Padding comes last; without a mask there is none.
        reduction : {"mean", "sum", "none", "token_mean"}
            The mean over sentences, the sum, the losses of all sentences, or the sum divided by the number of words.
        """
        reduction = as_reduction(reduction)
        table, words = self._given(scores, mask)
        numbers, labels = self._gold(gold, table)
        cost = 1.0 if self.loss in ("softmax-margin", "hinge") else 0.0
        losses = self._losses(table, words, numbers, labels, self.loss in ("hinge", "perceptron"), cost)
        return reduced(losses, reduction, tree_sums.lengths_of(words, table))

    def log_partition(self, scores: Any, mask: Tensor | None = None) -> Tensor:
        """Return the log of the sum of exp(score) over all trees of each sentence, (B,); -inf where there are none."""
        return self._losses(*self._given(scores, mask), None, None, False, 0.0)

    def marginals(self, scores: Any, mask: Tensor | None = None, as_tensor: bool = False) -> Any:
        """Return the probability of every arc or span, with labels of each of its labels; gradients flow through.

        Parameters
        ----------
        scores, mask
            As for the loss.
        as_tensor : bool
            False: a list with a tensor for each sentence, of the shape that scores of its length have. True: one
            tensor, with 0 at padding.
        """
        table, words = self._given(scores, mask)
        if self._in_core(table):
            found = tree_ops.tree_losses(table, words, None, None, *self._which, False, 0.0, self.ignore_index, True)[1]
        else:
            tracked = table.requires_grad and torch.is_grad_enabled()
            with torch.enable_grad():
                given = table if table.requires_grad else table.detach().requires_grad_()
                total = self._losses(given, words, None, None, False, 0.0).sum()
                (found,) = torch.autograd.grad(total, given, create_graph=tracked)
        if self.n_labels is None:
            found = found[..., 0]
        if as_tensor:
            return found
        more = table.shape[1] - table.shape[2] + 1  # rows: one for the root, or none
        lengths = tree_sums.lengths_of(words, table).tolist()
        return [one[: n + more, : n + 1] for one, n in zip(found, lengths, strict=True)]

    def decode(self, scores: Any, mask: Tensor | None = None, as_tensor: bool = False) -> Any:
        """Return the best tree of each sentence.

        Parameters
        ----------
        scores, mask
            As for the loss.
        as_tensor : bool
            False: a list of trees. True: padded tensors, as the class says.
        """
        table, words = self._given(scores, mask)
        if as_tensor:
            return self._tensors(tree_ops.best_trees(table.detach(), words, *self._which, self.ignore_index))
        return [self._listed(tree) for tree in tree_ops.asked(tree_ops.batch_of(table, words, *self._which), "argmax")]

    def kbest(self, scores: Any, k: int, mask: Tensor | None = None, as_tensor: bool = False) -> Any:
        """Return the ``k`` best trees of each sentence, best first, with their scores; as many as there are, up to k.

        Parameters
        ----------
        scores, mask
            As for the loss.
        k : int
            How many are wanted.
        as_tensor : bool
            False: for each sentence a list of pairs, a tree and its score. True: padded tensors of trees, k for each
            sentence, and a tensor of their scores (B, k), -inf where there are fewer trees.
        """
        count = checks.as_count("k", k)
        found, table = self._asked(scores, mask, "kbest", count)
        if not as_tensor:
            return [[(self._listed(tree), tree.score) for tree in trees] for trees in found]
        totals = padded([[tree.score for tree in trees] for trees in found], count, -torch.inf, table.detach())
        return self._tensors(tree_ops.padded_trees(found, count, table, self._which[0], self.ignore_index)), totals

    def sample(
        self,
        scores: Any,
        n: int = 1,
        mask: Tensor | None = None,
        generator: torch.Generator | None = None,
        as_tensor: bool = False,
    ) -> Any:
        """Draw ``n`` trees of each sentence from the distribution.

        Parameters
        ----------
        scores, mask
            As for the loss.
        n : int
            How many.
        generator : torch.Generator, optional
            Where random numbers come from; PyTorch's own by default.
        as_tensor : bool
            False: a list of trees for each sentence. True: padded tensors, n for each sentence.
        """
        count = checks.as_count("n", n, least=0)
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device if generator else None))
        found, table = self._asked(scores, mask, "sample", count, seed)
        if as_tensor:
            return self._tensors(tree_ops.padded_trees(found, count, table, self._which[0], self.ignore_index))
        return [[self._listed(tree) for tree in trees] for trees in found]

    @abstractmethod
    def _table(self, scores: Any) -> Tensor:
        """Return scores that a caller gives as one tensor (B, rows, columns, L), of float32 at least."""

    @abstractmethod
    def _gold(self, gold: Any, table: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return gold that a caller gives as the core has it: heads and labels, or rows of constituents."""

    @abstractmethod
    def _listed(self, tree: Any) -> Any:
        """Return an answer of a structure as lists."""

    @abstractmethod
    def _tensors(self, found: Tensor) -> Any:
        """Return trees as `tree_ops.padded_trees` has them as a caller wants them."""

    def _given(self, scores: Any, mask: Any) -> tuple[Tensor, Tensor | None]:
        table = self._table(scores)
        return table, as_mask(mask, (table.shape[0], table.shape[2] - 1), table.device)

    def _in_core(self, table: Tensor) -> bool:
        if self.engine != "auto" or table.device.type != "cpu" or torch.compiler.is_exporting():
            return False
        return torch.compiler.is_compiling() or not is_functorch_wrapped_tensor(table)

    def _losses(
        self, table: Tensor, mask: Tensor | None, gold: Tensor | None, labels: Tensor | None, best: bool, cost: float
    ) -> Tensor:
        options = (*self._which, best, cost, self.ignore_index)
        if self._in_core(table):
            tracked = table.requires_grad and torch.is_grad_enabled()
            losses: Tensor = tree_ops.tree_losses(table, mask, gold, labels, *options, tracked)[0]
            return losses
        if best:  # linear in the scores: the core says in which, here they are added up
            on_cpu = [None if given is None else given.detach().cpu() for given in (table, mask, gold, labels)]
            values, slopes = (found.to(table.device) for found in tree_ops.tree_losses(*on_cpu, *options, True))
            linear = (torch.where(slopes != 0.0, table, 0.0) * slopes).flatten(1).sum(1)
            return linear + (values - linear).detach()
        looks = not torch.compiler.is_compiling() and not is_functorch_wrapped_tensor(table)
        if looks:
            tree_ops.check(table, mask, gold, labels, *self._which, self.ignore_index)
        losses = tree_sums.losses(table, mask, gold, labels, *self._which, cost, self.ignore_index)
        if looks:
            tree_ops.check_losses(losses)
        return losses

    def _asked(self, scores: Any, mask: Any, question: str, *arguments: Any) -> tuple[Any, Tensor]:
        """Ask all sentences at once; return the answers and the scores that were asked about."""
        table, words = self._given(scores, mask)
        return tree_ops.asked(tree_ops.batch_of(table, words, *self._which), question, *arguments), table


def as_scores(name: str, scores: Any, n_dimensions: int) -> Tensor:
    """Return scores as a tensor of float32 at least.

    Examples
    --------
    >>> as_scores("arcs", torch.zeros(1, 3, 3, dtype=torch.bfloat16), 3).dtype
    torch.float32
    """
    if not isinstance(scores, Tensor) or not scores.dtype.is_floating_point:
        found = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
        raise InvalidInput(f"{name} must be a tensor of floating-point numbers, found {found}.")
    if scores.ndim != n_dimensions:
        raise InvalidInput(f"{name} must have {n_dimensions} dimensions, found shape {tuple(scores.shape)}.")
    return scores if scores.dtype in (torch.float32, torch.float64) else scores.float()


def as_integers(name: str, numbers: Any, shape: tuple[int, ...], table: Tensor) -> Tensor:
    """Return integers of this shape, on the device of the scores.

    Examples
    --------
    >>> as_integers("heads", torch.tensor([[2, 0]], dtype=torch.int32), (1, 2), torch.zeros(1))
    tensor([[2, 0]])
    """
    if not isinstance(numbers, Tensor) or numbers.dtype not in _INTEGERS:
        found = numbers.dtype if isinstance(numbers, Tensor) else type(numbers).__name__
        raise InvalidInput(f"{name} must be a tensor of integers, found {found}.")
    if tuple(numbers.shape) != shape:
        raise InvalidInput(f"{name} must have shape {shape} for these scores, found {tuple(numbers.shape)}.")
    if numbers.device != table.device:
        raise InvalidInput(f"{name} is on {numbers.device}, but the scores are on {table.device}. Move it there.")
    return numbers.long()


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
