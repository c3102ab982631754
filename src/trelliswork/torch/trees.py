"""What modules over batches of trees share: one operator that asks the core, and the way around it in PyTorch alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.parts import Batch
from trelliswork.torch.masks import as_mask, padded
from trelliswork.torch.reductions import as_loss, as_reduction, reduced
from trelliswork.torch.tree_sums import log_sum_of_bracketings, log_sum_of_projective_trees, log_sum_of_trees

__all__ = ["TreeCRF", "tree_losses"]

LargeFloats = (torch.float32, torch.float64)


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
    """

    def __init__(self, trees: str, single_root: bool, n_labels: int | None, loss: str, ignore_index: int) -> None:
        super().__init__()
        self._trees, self._single_root = trees, checks.as_flag("single_root", single_root)
        self.n_labels = None if n_labels is None else checks.as_count("n_labels", n_labels)
        self.loss = as_loss(loss)
        if isinstance(ignore_index, bool) or not isinstance(ignore_index, int) or ignore_index >= 0:
            raise InvalidInput(f"ignore_index must be a negative integer, found {ignore_index!r}.")
        self.ignore_index = ignore_index

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
        return reduced(losses, reduction, _lengths(words, table))

    def log_partition(self, scores: Any, mask: Tensor | None = None) -> Tensor:
        """Return the log of the sum of exp(score) over all trees of each sentence, (B,); -inf where there are none."""
        return self._losses(*self._given(scores, mask), None, None, False, 0.0)

    def marginals(self, scores: Any, mask: Tensor | None = None, as_tensor: bool = False) -> Any:
        """Return the probability of every part: of arcs or spans, with labels of each label.

        Parameters
        ----------
        scores, mask
            As for the loss.
        as_tensor : bool
            False: a list with a tensor for each sentence, of the shape that scores of its length have. True: one tensor,
            with 0 at padding.
        """
        table, words = self._given(scores, mask)
        options = self._options(False, 0.0)
        if table.device.type == "cpu" and not _tracked(table):
            found = tree_losses(table, words, None, None, *options, True)[1]
        else:
            with torch.enable_grad():
                given = table if table.requires_grad else table.detach().requires_grad_()
                total = pure_losses(given, words, None, None, *options).sum()
                (found,) = torch.autograd.grad(total, given, create_graph=_tracked(table))
        if self.n_labels is None:
            found = found[..., 0]
        if as_tensor:
            return found
        extra = table.shape[1] - table.shape[2] + 1
        return [one[: n + extra, : n + 1] for one, n in zip(found, _lengths(words, table).tolist(), strict=True)]

    def decode(self, scores: Any, mask: Tensor | None = None, as_tensor: bool = False) -> Any:
        """Return the best tree of each sentence.

        Parameters
        ----------
        scores, mask
            As for the loss.
        as_tensor : bool
            False: a list of trees. True: padded tensors, as the class says.
        """
        found, table = self._asked(scores, mask, lambda batch: batch.argmax())
        if not as_tensor:
            return [self._listed(tree) for tree in found]
        tensors = self._padded([[tree] for tree in found], 1, table)
        return tensors[:, 0] if isinstance(tensors, Tensor) else tuple(one[:, 0] for one in tensors)

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
        found, table = self._asked(scores, mask, lambda batch: batch.kbest(count))
        if not as_tensor:
            return [[(self._listed(tree), tree.score) for tree in trees] for trees in found]
        totals = padded([[tree.score for tree in trees] for trees in found], count, -torch.inf, table.detach())
        return self._padded(found, count, table), totals

    def sample(
        self,
        scores: Any,
        n: int = 1,
        mask: Tensor | None = None,
        as_tensor: bool = False,
        generator: torch.Generator | None = None,
    ) -> Any:
        """Draw ``n`` trees of each sentence from the distribution.

        Parameters
        ----------
        scores, mask
            As for the loss.
        n : int
            How many.
        as_tensor : bool
            False: a list of trees for each sentence. True: padded tensors, n for each sentence.
        generator : torch.Generator, optional
            Where the randomness comes from; by default from ``torch.manual_seed``.
        """
        count = checks.as_count("n", n, least=0)
        seed = int(torch.randint(2**62, (), generator=generator))
        found, table = self._asked(scores, mask, lambda batch: batch.sample(count, seed))
        if as_tensor:
            return self._padded(found, count, table)
        return [[self._listed(tree) for tree in trees] for trees in found]

    @abstractmethod
    def _table(self, scores: Any) -> Tensor:
        """Return scores that a caller gives as one tensor (B, rows, columns, L), of float32 at least."""

    @abstractmethod
    def _gold(self, gold: Any, table: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return gold that a caller gives as the core has it: heads and labels, or rows of constituents."""

    @abstractmethod
    def _batch(self, scores: Sequence[Any], n_jobs: int) -> Batch[Any]:
        """Return sentences as structures, from the scores of the parts of each."""

    @abstractmethod
    def _listed(self, tree: Any) -> Any:
        """Return an answer of a structure as lists."""

    @abstractmethod
    def _padded(self, found: Sequence[Sequence[Any]], k: int, table: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Return up to ``k`` answers for each sentence as padded tensors."""

    def _given(self, scores: Any, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        table = self._table(scores)
        return table, as_mask(mask, (table.shape[0], table.shape[2] - 1), table.device)

    def _options(self, best: bool, cost: float) -> tuple[str, bool, bool, float, int]:
        return self._trees, self._single_root, best, cost, self.ignore_index

    def _losses(
        self, table: Tensor, mask: Tensor | None, gold: Tensor | None, labels: Tensor | None, best: bool, cost: float
    ) -> Tensor:
        options = self._options(best, cost)
        if table.device.type == "cpu":
            return tree_losses(table, mask, gold, labels, *options, _tracked(table))[0]
        if best:  # linear in the scores: the core says in which, here they are added up
            on_cpu = [None if given is None else given.detach().cpu() for given in (table, mask, gold, labels)]
            values, slopes = (found.to(table.device) for found in tree_losses(*on_cpu, *options, True))
            linear = (torch.where(slopes != 0.0, table, 0.0) * slopes).flatten(1).sum(1)
            return linear + (values - linear).detach()
        if not torch.compiler.is_compiling():
            _check(table, mask, gold, labels, *options)
        return pure_losses(table, mask, gold, labels, *options)

    @torch.compiler.disable
    def _asked(self, scores: Any, mask: Tensor | None, question: Callable[[Batch[Any]], Any]) -> tuple[Any, Tensor]:
        """Ask all sentences at once; return the answers and the scores that were asked about."""
        table, words = self._given(scores, mask)
        numbers = table.detach().to("cpu", torch.float64).numpy()
        lengths = _checked_lengths(None if words is None else words.cpu(), len(table), table.shape[2] - 1).tolist()
        extra = table.shape[1] - table.shape[2] + 1  # rows: one for the root, or none
        parts = [one[: n + extra, : n + 1] for one, n in zip(numbers, lengths, strict=True)]
        batch = self._batch(parts, _n_jobs())
        try:
            return question(batch), table
        except Unsatisfiable as error:
            impossible = np.flatnonzero(batch.log_partition() == -np.inf)
            raise Unsatisfiable(f"sentence {impossible[0]}: {error}") from None


def _tracked(table: Tensor) -> bool:
    return table.requires_grad and torch.is_grad_enabled()


def as_table(name: str, scores: Any, n_dimensions: int) -> Tensor:
    """Return scores as a tensor of float32 at least.

    Examples
    --------
    >>> as_table("arcs", torch.zeros(1, 3, 3, dtype=torch.bfloat16), 3).dtype
    torch.float32
    """
    if not isinstance(scores, Tensor) or not scores.dtype.is_floating_point:
        found = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
        raise InvalidInput(f"{name} must be a tensor of floating-point numbers, found {found}.")
    if scores.ndim != n_dimensions:
        raise InvalidInput(f"{name} must have {n_dimensions} dimensions, found shape {tuple(scores.shape)}.")
    return scores if scores.dtype in LargeFloats else scores.float()


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


# ---- the operator -----------------------------------------------------------------------------------------------------


@torch.library.custom_op(
    "trelliswork::tree_losses",
    mutates_args=(),
    device_types="cpu",
    schema="(Tensor scores, Tensor? mask, Tensor? gold, Tensor? labels, str trees, bool single_root, bool best, "
    "float cost, int unknown, bool wanted) -> (Tensor, Tensor)",
)
def tree_losses(
    scores: Tensor,
    mask: Tensor | None,
    gold: Tensor | None,
    labels: Tensor | None,
    trees: str,
    single_root: bool,
    best: bool,
    cost: float,
    unknown: int,
    wanted: bool,
) -> tuple[Tensor, Tensor]:
    """Return the loss of each sentence and, where it is wanted, its derivatives by the scores: one call of the core.

    Parameters
    ----------
    scores : (B, rows, columns, L) tensor
    mask : (B, n) tensor of bool, optional
    gold, labels : tensors of int64, optional
        As ``core/structures/score_tables.hpp`` has them; without gold, what all trees come to.
    trees, single_root : str, bool
        Which trees there are.
    best : bool
        Best trees, or sums over all.
    cost : float
        What each wrong part costs.
    unknown : int
        What stands in gold where nothing is known.
    wanted : bool
        Whether derivatives are; the second tensor is empty otherwise.
    """
    given = scores.detach().contiguous()
    n_sentences, n_words = scores.shape[0], scores.shape[2] - 1
    lengths = _checked_lengths(mask, n_sentences, n_words)
    values = given.new_empty(n_sentences)
    gradient = given.new_empty(given.shape if wanted else (0,))
    structure = _structure(trees, single_root, scores.shape[3])
    try:
        _core.table_losses(
            structure, trees, given.numpy(), lengths, _numbers(gold), _numbers(labels), unknown, best, cost,
            _n_jobs(), values.numpy(), gradient.numpy() if wanted else None
        )  # fmt: skip
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None
    return values, gradient


@tree_losses.register_fake
def _shapes_of_losses(
    scores: Tensor, mask: Any, gold: Any, labels: Any, trees: Any, single_root: Any, best: Any, cost: Any, unknown: Any,
    wanted: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return scores.new_empty(scores.shape[0]), scores.new_empty(scores.shape if wanted else (0,))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    scores, mask, gold, labels, *ctx.options, _ = inputs
    ctx.save_for_backward(scores, mask, gold, labels, output[1])
    ctx.set_materialize_grads(False)


def _differentiated(ctx: Any, of_values: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
    scores, mask, gold, labels, gradient = ctx.saved_tensors
    best = ctx.options[2]
    found = None
    if of_values is None:
        pass
    elif torch.is_grad_enabled() and not best:  # derivatives of this will be asked for: create_graph=True
        values = pure_losses(scores, mask, gold, labels, *ctx.options)
        (found,) = torch.autograd.grad(values, scores, of_values, create_graph=True)
    else:
        found = of_values[:, None, None, None] * gradient
    return found, *[None] * 9


tree_losses.register_autograd(_differentiated, setup_context=_remember)


@lru_cache(maxsize=64)
def _structure(trees: str, single_root: bool, n_labels: int) -> _core.PartStructure:
    if trees == "brackets":
        return _core.PartStructure.bracketing(n_labels)
    if trees == "crossing":
        return _core.PartStructure.arborescence(n_labels, single_root)
    return _core.PartStructure.projective_tree(n_labels, single_root, False, False)


def _numbers(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.contiguous().numpy()


def _lengths(mask: Tensor | None, table: Tensor) -> Tensor:
    if mask is None:
        return torch.full((table.shape[0],), table.shape[2] - 1, dtype=torch.int64, device=table.device)
    return mask.sum(1)


def _checked_lengths(mask: Tensor | None, n_sentences: int, n_words: int) -> Any:
    if mask is None:
        return np.full(n_sentences, n_words, dtype=np.int64)
    words = mask.numpy()
    lengths = words.sum(axis=1, dtype=np.int64)
    holes = (words != (np.arange(n_words) < lengths[:, None])).any(axis=1)
    if holes.any():
        raise InvalidInput(
            f"sentence {int(holes.argmax())}: mask leaves out a word before others; only padding at the end may be "
            "masked, since heads and spans are numbers of words. Take the word out of the scores and of gold."
        )
    return lengths


def _check(
    table: Tensor, mask: Tensor | None, gold: Tensor | None, labels: Tensor | None, trees: str, single_root: bool,
    best: bool, cost: float, unknown: int,
) -> None:  # fmt: skip
    """Refuse what the core would, where it is not asked: this waits for the device."""
    lengths = _checked_lengths(None if mask is None else mask.cpu(), len(table), table.shape[2] - 1)
    used = _used_cells(table, torch.as_tensor(lengths, device=table.device), trees)[..., None]
    wrong = used & (torch.isnan(table) | (table == torch.inf))
    if wrong.any():
        place = wrong.nonzero()[0].tolist()
        raise InvalidInput(f"scores{place} is {table[tuple(place)].item()}; expected a number, or -inf to forbid.")
    if gold is None:
        return
    structure = _structure(trees, single_root, table.shape[3])
    on_cpu = [_numbers(None if given is None else given.cpu()) for given in (gold, labels)]
    try:
        _core.check_table_gold(structure, trees, table.shape[2] - 1, table.shape[3], lengths, *on_cpu, unknown)
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None


# ---- the same in PyTorch alone ----------------------------------------------------------------------------------------


def pure_losses(
    scores: Tensor,
    mask: Tensor | None,
    gold: Tensor | None,
    labels: Tensor | None,
    trees: str,
    single_root: bool,
    best: bool,
    cost: float,
    unknown: int,
) -> Tensor:
    """Return what `tree_losses` returns first, for sums; on any device and without a look at the numbers.

    Examples
    --------
    >>> scores = torch.zeros(1, 3, 3, 1)
    >>> pure_losses(scores, None, torch.tensor([[0, 1]]), None, "projective", True, False, 0.0, -100).exp()
    tensor([2.])
    """
    if best:
        raise NotImplementedError("best trees are found by the core")
    lengths = _lengths(mask, scores)
    used = _used_cells(scores, lengths, trees)[:, :, :, None]
    table = torch.where(used, scores, 0.0)
    with torch.autocast(scores.device.type, enabled=False):
        if gold is None:
            return _log_sum(table, lengths, trees, single_root)
        if trees == "brackets":
            allowed = _allowed_spans(gold, scores, unknown)
            charged = table + cost * _costs_of_spans(allowed, lengths)
            of_labels = torch.logsumexp(torch.where(allowed, table, _VERY_LOW), 3)
            of_gold = torch.where(allowed.any(3), of_labels, 0.0).flatten(1).sum(1)
            return _log_sum(charged, lengths, trees, single_root) - of_gold
        allowed = _allowed_arcs(gold, labels, scores, unknown)
        both = torch.cat([table + cost * ~allowed, torch.where(allowed | ~used, table, -torch.inf)])
        totals, of_gold = _log_sum(both, lengths.repeat(2), trees, single_root).chunk(2)
        return totals - of_gold


_VERY_LOW = -1e30


def _log_sum(table: Tensor, lengths: Tensor, trees: str, single_root: bool) -> Tensor:
    of_labels = table[..., 0] if table.shape[3] == 1 else torch.logsumexp(table.clamp(min=_VERY_LOW), 3)
    of_labels = torch.where(of_labels < _VERY_LOW / 2, -torch.inf, of_labels)
    if trees == "brackets":
        return log_sum_of_bracketings(of_labels, lengths)
    sums = log_sum_of_projective_trees if trees == "projective" else log_sum_of_trees
    return sums(of_labels, lengths, single_root)


def _used_cells(scores: Tensor, lengths: Tensor, trees: str) -> Tensor:
    row = torch.arange(scores.shape[1], device=scores.device)[:, None]
    column = torch.arange(scores.shape[2], device=scores.device)
    within = column <= lengths[:, None, None]
    if trees == "brackets":
        return within & (row < column)
    return within & (row <= lengths[:, None, None]) & (column > 0) & (row != column)


def _allowed_arcs(heads: Tensor, labels: Tensor | None, scores: Tensor, unknown: int) -> Tensor:
    """Return which arcs gold leaves possible, (B, n + 1, n + 1, L); column 0 is of no word."""
    row = torch.arange(scores.shape[1], device=scores.device)[:, None]
    allowed = ((heads == unknown)[:, None] | (heads[:, None] == row))[..., None]
    if labels is not None:
        code = torch.arange(scores.shape[3], device=scores.device)
        allowed = allowed & ((labels == unknown)[..., None] | (labels[..., None] == code))[:, None]
    return torch.cat([torch.ones_like(allowed[:, :, :1]), allowed], 2).expand_as(scores)


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


def _n_jobs() -> int:
    """Return how many threads the core may use: as many as PyTorch."""
    return min(torch.get_num_threads(), checks.MOST_JOBS)
