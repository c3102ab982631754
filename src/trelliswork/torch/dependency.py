"""Dependency trees over the scores of a network: losses, best trees, probabilities of arcs."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.results import Tree
from trelliswork.torch.trees import TreeCRF, as_integers, as_scores

__all__ = ["DependencyTreeCRF"]


class DependencyTreeCRF(TreeCRF):
    """Dependency trees over the words of each sentence of a batch, scored arc by arc.

    Scores are what `trelliswork.DependencyTree` takes, batch first: ``arcs[b, h, m]`` is the score of the arc from head
    ``h`` to modifier ``m``. Index 0 is the root; words are 1 to n. Column 0 and the diagonal are not looked at, and
    ``-inf`` forbids an arc. A biaffine parser (Dozat and Manning 2017) usually has ``[modifier, head]`` instead: pass
    ``scores.transpose(1, 2)``. Its row 0, the head of the root, is the column 0 that is not looked at.

    As lists, a tree is the heads of its words, or a pair of heads and labels; as tensors, (B, n) of heads, (B, k, n)
    for several trees of each sentence, or a pair of two, with ``ignore_index`` at padding. This module has no
    parameters.

    Parameters
    ----------
    projective : bool
        Whether no two arcs may cross (Eisner 1996); otherwise every word may be the head of every other.
    single_root : bool
        Whether exactly one word has the root as its head; otherwise one word or more.
    n_labels : int, optional
        Labels of arcs, L. Scores are then a pair: those of arcs and, (B, n + 1, n + 1, L), those of labels, which are
        added. Gold is a pair of heads and labels.
    loss : {"crf", "softmax-margin", "hinge", "perceptron"}
        The negative log-likelihood; the same with 1 added to the score of a tree for each word whose head, or label, is
        wrong; how far the best tree, these costs added, is above gold; how far the best tree is above gold.
    ignore_index : int
        What gold has where the head, or the label, of a word is not known. The loss is then against all trees that
        agree with what is known: their sum, or the best of them.
    engine : {"auto", "torch"}
        ``"torch"`` lets PyTorch compute sums on the CPU too, for example to see every step of them.

    Notes
    -----
    Gold is an integer tensor (B, n): the head of each word, 0 for the root. What it has at padding is not looked at;
    the mask alone says what is padding. Gold whose arcs cross is refused by a projective module, since no such tree
    has a probability: leave the heads of some of these words unknown, or pass ``projective=False``.

    Tensors on the CPU are answered by the core, one call for the losses of a batch and all derivatives, on as many
    threads as PyTorch has. Second derivatives, and other devices, take sums in PyTorch: Eisner's algorithm by widths of
    spans, determinants where arcs may cross (Koo et al. 2007).

    Examples
    --------
    >>> import torch
    >>> arcs = torch.zeros(1, 4, 4, requires_grad=True)  # the root and three words
    >>> crf = DependencyTreeCRF()
    >>> loss = crf(arcs, torch.tensor([[2, 0, 2]]))
    >>> round(loss.exp().item())  # one of seven trees
    7
    >>> loss.backward()
    >>> (7 * arcs.grad).round()[0, :, 2]  # word 2: the root is its head in one tree of seven, and in gold
    tensor([-6.,  3.,  0.,  3.])
    >>> arcs = torch.tensor([[[0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> crf.decode(arcs), crf.kbest(arcs, 3)
    ([[2, 0]], [[([2, 0], 4.0), ([0, 1], 0.0)]])
    >>> crf.marginals(torch.zeros(1, 3, 3), as_tensor=True)
    tensor([[[0.0000, 0.5000, 0.5000],
             [0.0000, 0.0000, 0.5000],
             [0.0000, 0.5000, 0.0000]]])
    """

    def __init__(
        self,
        projective: bool = True,
        single_root: bool = True,
        n_labels: int | None = None,
        loss: str = "crf",
        ignore_index: int = -100,
        engine: str = "auto",
    ) -> None:
        trees = "projective" if checks.as_flag("projective", projective) else "crossing"
        super().__init__(trees, single_root, n_labels, loss, ignore_index, engine)
        self.projective, self.single_root = bool(projective), bool(single_root)

    def extra_repr(self) -> str:
        """Return what the module's printed form says."""
        kinds = f"projective={self.projective}, single_root={self.single_root}"
        return f"{kinds}, n_labels={self.n_labels}, loss={self.loss!r}"

    def _table(self, scores: Any) -> Tensor:
        if self.n_labels is None:
            arcs = as_scores("scores", scores, 3)
            table = arcs[..., None]
        else:
            if not isinstance(scores, tuple | list) or len(scores) != 2:
                raise InvalidInput("scores must be a pair, of arcs and of labels, where there are labels.")
            arcs, labels = as_scores("scores of arcs", scores[0], 3), as_scores("scores of labels", scores[1], 4)
            if tuple(labels.shape) != (*arcs.shape, self.n_labels):
                raise InvalidInput(
                    f"scores of labels must have shape {(*arcs.shape, self.n_labels)} for these arcs, "
                    f"found {tuple(labels.shape)}."
                )
            table = arcs[..., None] + labels
        if arcs.shape[1] != arcs.shape[2] or arcs.shape[1] == 0:
            raise InvalidInput(
                f"scores of arcs must have shape (B, n + 1, n + 1), [head, modifier] with the root as 0; "
                f"found {tuple(arcs.shape)}."
            )
        return table

    def _gold(self, gold: Any, table: Tensor) -> tuple[Tensor, Tensor | None]:
        shape = (table.shape[0], table.shape[2] - 1)
        if self.n_labels is None:
            return as_integers("gold", gold, shape, table), None
        if not isinstance(gold, tuple | list) or len(gold) != 2:
            raise InvalidInput("gold must be a pair, heads and labels, where there are labels.")
        return as_integers("heads of gold", gold[0], shape, table), as_integers("labels of gold", gold[1], shape, table)

    def _listed(self, tree: Tree) -> list[int] | tuple[list[int], list[int]]:
        heads: list[int] = tree.heads.tolist()
        if self.n_labels is None:
            return heads
        return heads, [0] * len(heads) if tree.labels is None else tree.labels.tolist()

    def _tensors(self, found: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        heads, labels = found.unbind(-2)
        return heads if self.n_labels is None else (heads, labels)
