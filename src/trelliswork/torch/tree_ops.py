"""The core's answers about batches of trees as operators of PyTorch, which `torch.compile` takes as they are.

``trelliswork::tree_losses`` gives the losses of sentences with their derivatives by all scores, from one call of the
core; derivatives of these come from `tree_sums`. ``trelliswork::best_trees`` gives the best trees.

Scores are tables (B, rows, columns, L): of arcs (B, n + 1, n + 1, L), of spans (B, n, n + 1, L). ``trees`` says which
trees there are: ``"projective"``, ``"crossing"`` or ``"brackets"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures.bracketing import Bracketing
from trelliswork.structures.checks import MOST_JOBS
from trelliswork.structures.dependency import DependencyTree
from trelliswork.structures.parts import Batch
from trelliswork.torch import tree_sums

__all__ = ["batch_of", "best_trees", "check", "padded_trees", "tree_losses"]

# ---- losses ----------------------------------------------------------------------------------------------------------


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
    """Return the loss of each sentence and, where it is wanted, its derivatives by the scores.

    Parameters
    ----------
    scores : (B, rows, columns, L) tensor
    mask : (B, n) tensor of bool, optional
        Which positions are words.
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
    values = given.new_empty(given.shape[0])
    gradient = given.new_empty(given.shape if wanted else (0,))
    try:
        _core.table_losses(
            _structure(trees, single_root, given.shape[3]),
            trees,
            given.numpy(),
            _checked_lengths(mask, given),
            _numbers(gold),
            _numbers(labels),
            unknown,
            best,
            cost,
            _n_jobs(),
            values.numpy(),
            gradient.numpy() if wanted else None,
        )
    except InvalidInput:
        raise
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None
    _require_trees(values)
    return values, gradient


@tree_losses.register_fake
def _(scores, mask, gold, labels, trees, single_root, best, cost, unknown, wanted):  # type: ignore[no-untyped-def]
    return scores.new_empty(scores.shape[:1]), scores.new_empty(scores.shape if wanted else (0,))


@tree_losses.register_vmap
def _(info, in_dims, *given):  # type: ignore[no-untyped-def]
    """More sentences: one call for all of them."""

    def flat(tensor: Tensor | None, dim: int | None) -> Tensor | None:
        if tensor is None:
            return None
        moved = tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        return moved.flatten(0, 1)

    tensors = [flat(tensor, dim) for tensor, dim in zip(given[:4], in_dims[:4], strict=True)]
    values, gradient = tree_losses(*tensors, *given[4:])
    shape = (info.batch_size, -1)
    gradient = gradient.unflatten(0, shape) if given[-1] else gradient.expand(shape[0], 0)
    return (values.unflatten(0, shape), gradient), (0, 0)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    scores, mask, gold, labels, *ctx.options, _ = inputs
    ctx.save_for_backward(scores, mask, gold, labels, output[1])
    ctx.set_materialize_grads(False)


def _differentiated(ctx: Any, of_values: Tensor | None, of_gradient: Tensor | None) -> tuple[Tensor | None, ...]:
    scores, mask, gold, labels, gradient = ctx.saved_tensors
    trees, single_root, best, cost, unknown = ctx.options
    found = None
    if of_values is not None:
        found = of_values[:, None, None, None] * gradient
    if of_gradient is not None and not best:  # best trees do not change with the scores, almost nowhere
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            given = scores if again and scores.requires_grad else scores.detach().requires_grad_()
            values = tree_sums.losses(given, mask, gold, labels, trees, single_root, cost, unknown)
            (first,) = torch.autograd.grad(values.sum(), given, create_graph=True)
            (second,) = torch.autograd.grad((first * of_gradient).sum(), given, create_graph=again)
        found = second if found is None else found + second
    return found, *[None] * 9


tree_losses.register_autograd(_differentiated, setup_context=_keep)


# ---- the best trees --------------------------------------------------------------------------------------------------


@torch.library.custom_op(
    "trelliswork::best_trees",
    mutates_args=(),
    schema="(Tensor scores, Tensor? mask, str trees, bool single_root, int fill) -> Tensor",
)
def best_trees(scores: Tensor, mask: Tensor | None, trees: str, single_root: bool, fill: int) -> Tensor:
    """Return the best trees as `padded_trees` has them, without the dimension of several; on any device."""
    batch = batch_of(scores, mask, trees, single_root)
    return padded_trees([[tree] for tree in asked(batch, "argmax")], 1, scores, trees, fill)[:, 0]


@best_trees.register_fake
def _(scores, mask, trees, single_root, fill):  # type: ignore[no-untyped-def]
    return scores.new_empty((scores.shape[0], *_shape_of_tree(scores, trees)), dtype=torch.int64)


def batch_of(scores: Tensor, mask: Tensor | None, trees: str, single_root: bool) -> Batch[Any]:
    """Return the sentences as structures, wherever the tensors are.

    Examples
    --------
    >>> batch_of(torch.zeros(2, 3, 3, 1), None, "projective", True).log_partition().round(3).tolist()
    [0.693, 0.693]
    """
    tables = scores.detach().to("cpu", torch.float64).numpy()
    lengths = _checked_lengths(mask, scores).tolist()
    more = scores.shape[1] - scores.shape[2] + 1  # rows: one for the root, or none
    own = [table[: n + more, : n + 1] for table, n in zip(tables, lengths, strict=True)]
    if trees == "brackets":
        return Batch([Bracketing(table) for table in own], _n_jobs())
    options = (trees == "projective", single_root, _n_jobs())
    if scores.shape[3] == 1:
        return DependencyTree.batch([table[..., 0] for table in own], None, *options)
    return DependencyTree.batch([np.zeros(table.shape[:2]) for table in own], own, *options)


def asked(batch: Batch[Any], question: str, *arguments: Any) -> Any:
    """Ask a batch; where a sentence has no tree, say which one.

    Examples
    --------
    >>> asked(batch_of(torch.zeros(1, 2, 2, 1), None, "projective", True), "argmax")[0].heads.tolist()
    [0]
    """
    try:
        return getattr(batch, question)(*arguments)
    except Unsatisfiable as error:
        i = int(np.flatnonzero(batch.log_partition() == -np.inf)[0])
        raise Unsatisfiable(f"sentence {i}: {error}") from None


def padded_trees(found: Sequence[Sequence[Any]], k: int, scores: Tensor, trees: str, fill: int) -> Tensor:
    """Return up to ``k`` answers for each sentence: heads and labels (B, k, 2, n), or constituents (B, k, 2 n - 1, 3).

    Examples
    --------
    >>> zeros = torch.zeros(1, 2, 3, 1)
    >>> padded_trees(batch_of(zeros, None, "brackets", True).kbest(1), 1, zeros, "brackets", -100)
    tensor([[[[   0,    2,    0],
              [-100, -100, -100],
              [-100, -100, -100]]]])
    """
    out = np.full((len(found), k, *_shape_of_tree(scores, trees)), fill, dtype=np.int64)
    for i, answers in enumerate(found):
        for j, tree in enumerate(answers):
            if trees == "brackets":
                rows = getattr(tree, "spans", tree)  # samples have no score
                out[i, j, : len(rows)] = np.array(rows, dtype=np.int64).reshape(-1, 3)
            else:
                out[i, j, 0, : len(tree.heads)] = tree.heads
                out[i, j, 1, : len(tree.heads)] = 0 if tree.labels is None else tree.labels
    return torch.from_numpy(out).to(scores.device)


def _shape_of_tree(scores: Tensor, trees: str) -> tuple[int, int]:
    n = scores.shape[2] - 1
    return (max(2 * n - 1, 0), 3) if trees == "brackets" else (2, n)


# ---- what is handed to the core --------------------------------------------------------------------------------------


def check(
    scores: Tensor, mask: Tensor | None, gold: Tensor | None, labels: Tensor | None, trees: str, single_root: bool,
    unknown: int,
) -> None:  # fmt: skip
    """Refuse what `tree_losses` would, where it is not asked; this waits for the device.

    Examples
    --------
    >>> check(torch.zeros(1, 3, 3, 1), None, torch.tensor([[2, 1]]), None, "crossing", True, -100)
    Traceback (most recent call last):
    ...
    trelliswork.errors.InvalidInput: sentence 0: gold is no tree: a tree has one root, this has 0.
    """
    lengths = _checked_lengths(mask, scores)
    used = tree_sums.used_cells(scores, torch.as_tensor(lengths, device=scores.device), trees)[..., None]
    wrong = used & (scores.isnan() | (scores == torch.inf))
    if wrong.any():
        i, row, column, label = wrong.nonzero()[0].tolist()
        raise InvalidInput(
            f"sentence {i}: scores[{i}, {row}, {column}, {label}] is {float(scores[i, row, column, label])}; "
            "expected a number, or -inf to forbid."
        )
    if gold is None:
        return
    structure = _structure(trees, single_root, scores.shape[3])
    right, of_arcs = (_numbers(None if tensor is None else tensor.cpu()) for tensor in (gold, labels))
    n_words, n_labels = scores.shape[2] - 1, scores.shape[3]
    try:
        _core.check_table_gold(structure, trees, n_words, n_labels, lengths, right, of_arcs, unknown)
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None


def check_losses(losses: Tensor) -> None:
    """Refuse what came to nothing: sentences without a tree, gold that is forbidden.

    Examples
    --------
    >>> check_losses(torch.tensor([1.0, torch.inf]))
    Traceback (most recent call last):
    ...
    trelliswork.errors.InvalidInput: sentence 1: gold is forbidden: the score of one of its parts is -inf.
    """
    _require_trees(losses)
    wrong = (losses > 1e29).nonzero()
    if len(wrong):
        raise InvalidInput(f"sentence {int(wrong[0])}: gold is forbidden: the score of one of its parts is -inf.")


def _require_trees(values: Tensor) -> None:
    impossible = ((values == -torch.inf) | values.isnan()).nonzero()
    if len(impossible):
        raise Unsatisfiable(f"sentence {int(impossible[0])}: every tree is forbidden. Look at its -inf scores.")


@lru_cache(maxsize=64)
def _structure(trees: str, single_root: bool, n_labels: int) -> _core.PartStructure:
    if trees == "brackets":
        return _core.PartStructure.bracketing(n_labels)
    if trees == "crossing":
        return _core.PartStructure.arborescence(n_labels, single_root)
    return _core.PartStructure.projective_tree(n_labels, single_root, False, False)


def _n_jobs() -> int:
    """As many threads as PyTorch has."""
    return min(int(torch.get_num_threads()), MOST_JOBS)


def _numbers(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.contiguous().numpy()


def _checked_lengths(mask: Tensor | None, scores: Tensor) -> npt.NDArray[np.int64]:
    n_words = scores.shape[2] - 1
    if mask is None:
        return np.full(scores.shape[0], n_words, dtype=np.int64)
    words = mask.cpu().numpy()
    lengths: npt.NDArray[np.int64] = words.sum(axis=1, dtype=np.int64)
    holes = (words != (np.arange(n_words) < lengths[:, None])).any(axis=1)
    if holes.any():
        raise InvalidInput(
            f"sentence {int(holes.argmax())}: mask leaves out a word before others. Padding at the end alone may be "
            "masked, since heads and spans are numbers of words: take the word out of the scores and of gold instead."
        )
    return lengths
