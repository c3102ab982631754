"""Trees of labelled constituents over the scores of a network: losses, best trees, probabilities of spans."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.results import Brackets
from trelliswork.torch.trees import TreeCRF, as_integers, as_scores

__all__ = ["BracketingCRF"]


class BracketingCRF(TreeCRF):
    """Trees of labelled constituents over the words of each sentence of a batch, scored span by span.

    Scores are what `trelliswork.Bracketing` takes, batch first: ``spans[b, i, j, l]``, (B, n, n + 1, L), is the score
    of a constituent of label ``l`` over words ``i .. j - 1``. Entries with ``i >= j`` are not looked at, and ``-inf``
    forbids. Scores by first and last word, (B, n, n, L), become these by a column in front:
    ``torch.nn.functional.pad(scores, (0, 0, 1, 0))``.

    The whole sentence is a constituent. One of two words or more has two children or more, each a constituent or a bare
    word, which scores 0; a single word may be a constituent. Chains of unary constituents are one label. Every tree
    counts once, however many children its constituents have.

    As a list, a tree is its constituents (begin, end, label), outermost first; as a tensor, (B, 2 n - 1, 3), or (B, k,
    2 n - 1, 3) for several trees of each sentence, with rows of ``ignore_index`` behind the last one. This module has
    no parameters.

    Parameters
    ----------
    n_labels : int
        Labels of constituents, L.
    loss : {"crf", "softmax-margin", "hinge", "perceptron"}
        The negative log-likelihood; the same with 1 added to the score of a tree for each of its constituents that gold
        has not, and for each of gold's that it has not; how far the best tree, these costs added, is above gold; how
        far the best tree is above gold.
    ignore_index : int
        What gold has as the label of a constituent whose label is not known: the loss is then against all its labels.
    engine : {"auto", "torch"}
        ``"torch"`` lets PyTorch compute sums on the CPU too, for example to see every step of them.

    Notes
    -----
    Gold is a list of (begin, end, label) for each sentence, in any order, or a tensor (B, R, 3) of such rows, in which
    rows that begin with ``ignore_index`` are padding. It has every constituent of the tree.

    Tensors on the CPU are answered by the core, one call for the losses of a batch and all derivatives, on as many
    threads as PyTorch has. Second derivatives, and other devices, take sums in PyTorch.

    Examples
    --------
    >>> spans = torch.zeros(1, 3, 4, 1, requires_grad=True)
    >>> crf = BracketingCRF(n_labels=1)
    >>> loss = crf(spans, [[(0, 3, 0), (1, 3, 0)]])
    >>> round(loss.exp().item())  # three shapes of trees, each word a constituent or bare
    24
    >>> loss.backward()
    >>> round(3 * spans.grad[0, 1, 3, 0].item())  # a constituent in one shape of three, and gold has it
    -2
    >>> by_last = torch.tensor([[[0.0, 2.0], [0.0, 1.0]]])[..., None]  # from first and last word
    >>> crf.kbest(torch.nn.functional.pad(by_last, (0, 0, 1, 0)), 2)
    [[([(0, 2, 0), (1, 2, 0)], 3.0), ([(0, 2, 0), (0, 1, 0), (1, 2, 0)], 3.0)]]
    """

    n_labels: int

    def __init__(self, n_labels: int, loss: str = "crf", ignore_index: int = -100, engine: str = "auto") -> None:
        super().__init__("brackets", True, checks.as_count("n_labels", n_labels), loss, ignore_index, engine)

    def extra_repr(self) -> str:
        """Return what the module's printed form says."""
        return f"n_labels={self.n_labels}, loss={self.loss!r}"

    def _table(self, scores: Any) -> Tensor:
        table = as_scores("scores", scores, 4)
        if table.shape[2] != table.shape[1] + 1 or table.shape[3] != self.n_labels:
            raise InvalidInput(
                f"scores must have shape (B, n, n + 1, {self.n_labels}), begin, end, label; found "
                f"{tuple(table.shape)}. "
                "Scores by first and last word need a column in front: torch.nn.functional.pad(scores, (0, 0, 1, 0))."
            )
        return table

    def _gold(self, gold: Any, table: Tensor) -> tuple[Tensor, None]:
        if isinstance(gold, Tensor):
            n_rows = gold.shape[1] if gold.ndim == 3 else 0
            return as_integers("gold", gold, (table.shape[0], n_rows, 3), table), None
        if not isinstance(gold, list | tuple) or len(gold) != table.shape[0]:
            raise InvalidInput(
                f"gold must be a list of constituents for each of {table.shape[0]} sentences, or a tensor of such rows."
            )
        rows = torch.full((len(gold), max(map(len, gold), default=0), 3), self.ignore_index, dtype=torch.int64)
        for i, spans in enumerate(gold):
            for span in spans:
                if len(span) != 3 or not all(isinstance(x, int) for x in span):
                    raise InvalidInput(f"gold[{i}] has {span!r}; expected (begin, end, label), integers.")
            if len(spans):
                rows[i, : len(spans)] = torch.tensor(list(spans), dtype=torch.int64)
        return rows.to(table.device), None

    def _listed(self, tree: Any) -> list[tuple[int, int, int]]:
        return tree.spans if isinstance(tree, Brackets) else tree  # samples have no score

    def _tensors(self, found: Tensor) -> Tensor:
        return found
