"""Losses of batches of trees in PyTorch, forward and backward: this library beside torch-struct, in turn.

    python benchmarks/torch_trees.py [seconds]

| table | ours | peer |
| --- | --- | --- |
| projective | `DependencyTreeCRF()(arcs, heads)` and `backward` | torch-struct's `DependencyCRF` and `backward` |
| crossing | the same with `projective=False` | torch-struct's `NonProjectiveDependencyCRF` |
| brackets | `BracketingCRF(10)(spans, gold)` and `backward` | the same in PyTorch alone, `engine="torch"` |

Batches of 32 sentences of one length, float32, one root, one thread; times are of the processor, the fastest of all
runs. torch-struct has no bracketings with constituents of many children. Its `zero_` is wrapped in `no_grad`, as
current releases of torch refuse it. `difference` is the largest between any two entries of the gradients.
"""

from __future__ import annotations

import sys
from typing import Any

from timing import print_load, print_table
from trees import alternating, patched_torch_struct

SIZES = (10, 30, 100)
BATCH = 32
N_LABELS = 10


def main() -> None:
    """Print the tables."""
    import torch

    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    _, torch_struct = patched_torch_struct()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print_load()
    for projective in (True, False):
        rows = [_of_dependencies(torch, torch_struct, n, projective, seconds) for n in SIZES]
        head = ["sentences", "ours", 'engine="torch"', "torch-struct", "ratio", "difference"]
        kind = "projective" if projective else "crossing"
        print_table(f"dependency trees, {kind}, loss and backward: microseconds a sentence", head, rows)
    rows = [_of_brackets(torch, n, seconds) for n in SIZES]
    head = ["sentences", "ours", 'engine="torch"', "ratio", "difference"]
    print_table(f"bracketings, {N_LABELS} labels, loss and backward: microseconds a sentence", head, rows)


def _of_dependencies(torch: Any, torch_struct: Any, n: int, projective: bool, seconds: float) -> list[object]:
    from trelliswork.torch import DependencyTreeCRF

    arcs = torch.randn(BATCH, n + 1, n + 1)
    gold = torch.tensor(DependencyTreeCRF().decode(torch.randn_like(arcs)))  # projective trees, drawn at random
    mine = [arcs.clone().requires_grad_() for _ in range(2)]
    diagonal = torch.arange(n)
    placed = arcs[:, 1:, 1:].clone()
    placed[:, diagonal, diagonal] = arcs[:, 0, 1:]  # torch-struct has the root's arcs on the diagonal
    placed.requires_grad_()
    event = torch.zeros_like(placed)
    rows = torch.where(gold == 0, diagonal, gold - 1)
    event[torch.arange(BATCH)[:, None], rows, diagonal] = 1.0

    def loss(scores: Any, engine: str) -> Any:
        scores.grad = None
        DependencyTreeCRF(projective, engine=engine)(scores, gold, reduction="sum").backward()
        return scores.grad

    def peer() -> Any:
        kind = torch_struct.DependencyCRF if projective else torch_struct.NonProjectiveDependencyCRF
        placed.grad = None
        distribution = kind(placed, multiroot=False)
        (distribution.partition.sum() - (placed * event).sum()).backward()
        return placed.grad

    fast, slow = alternating(lambda: loss(mine[0], "auto"), lambda: loss(mine[1], "torch"), seconds)
    row: list[object] = [f"n={n}", 1e6 * fast / BATCH, 1e6 * slow / BATCH]
    if torch_struct is None:
        return [*row, "-", "-", _difference(mine[0].grad, mine[1].grad)]
    fast, other = alternating(lambda: loss(mine[0], "auto"), peer, seconds)
    found = mine[0].grad[:, 1:, 1:].clone()
    found[:, diagonal, diagonal] = mine[0].grad[:, 0, 1:]
    return [row[0], 1e6 * fast / BATCH, row[2], 1e6 * other / BATCH, other / fast, _difference(found, placed.grad)]


def _of_brackets(torch: Any, n: int, seconds: float) -> list[object]:
    from trelliswork.torch import BracketingCRF

    spans = torch.randn(BATCH, n, n + 1, N_LABELS)
    gold = BracketingCRF(N_LABELS).decode(torch.randn_like(spans), as_tensor=True)
    mine = [spans.clone().requires_grad_() for _ in range(2)]

    def loss(scores: Any, engine: str) -> Any:
        scores.grad = None
        BracketingCRF(N_LABELS, engine=engine)(scores, gold, reduction="sum").backward()
        return scores.grad

    fast, slow = alternating(lambda: loss(mine[0], "auto"), lambda: loss(mine[1], "torch"), seconds)
    return [f"n={n}", 1e6 * fast / BATCH, 1e6 * slow / BATCH, slow / fast, _difference(mine[0].grad, mine[1].grad)]


def _difference(a: Any, b: Any) -> float:
    return float((a - b).abs().max())


if __name__ == "__main__":
    main()
