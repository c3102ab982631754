"""Trees from bare scores: this library beside its peers, alternating in one run; ratios above 1 are in our favour.

    python benchmarks/trees.py

| table | ours | peer |
| --- | --- | --- |
| Eisner | `DependencyTree(arcs).argmax()`, through Python, float64 | torch-struct's `DependencyCRF.argmax`, float32 |
| Edmonds | `DependencyTree(arcs, projective=False).argmax()` | ufal.chu_liu_edmonds, which has several roots only |
| matrix-tree | `DependencyTree(arcs, projective=False).marginals()` | torch-struct's `NonProjectiveDependencyCRF` |

All have one root where the peer can. torch-struct writes into a leaf that needs a gradient, which current releases of
torch refuse: its `zero_` is wrapped in `no_grad` here. Peers and this library use one thread, but for the batch, which
goes to both of two; times are of the processor. What a peer answers is compared with ours first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import trelliswork as tw
from timing import print_load, print_table

SIZES = (10, 30, 100, 300)
BATCH = 32
SECONDS = 1.0  # for each pair of calls

Arcs = npt.NDArray[np.float64]


def main() -> None:
    """Print the tables."""
    print_load()
    torch, torch_struct = patched_torch_struct()
    if torch is not None:
        eisner(torch, torch_struct)
    edmonds()
    if torch is not None:
        matrix_tree(torch, torch_struct)


def eisner(torch: Any, torch_struct: Any) -> None:
    """The best projective tree of a sentence, and of each of a batch."""
    rows = []
    for n in SIZES[:3]:
        for batch in (1, BATCH):
            arcs = [_arcs(n, seed) for seed in range(batch)]
            potentials = torch.stack([torch.from_numpy(_on_diagonal(a)) for a in arcs]).float()

            def peer() -> Any:
                return torch_struct.DependencyCRF(potentials, multiroot=False).argmax  # noqa: B023

            stack = np.array(arcs)

            def ours() -> Any:
                if len(stack) > 1:  # noqa: B023
                    return tw.DependencyTree.batch(stack).argmax()  # noqa: B023
                return [tw.DependencyTree(arcs[0]).argmax()]  # noqa: B023

            theirs = torch_struct.DepTree.from_parts(peer().long())[0].numpy()
            same = sum(np.array_equal(tree.heads, heads) for tree, heads in zip(ours(), theirs, strict=True))
            mine, other = alternating(ours, peer)
            rows.append([f"n={n}, batch of {batch}", 1e6 * mine / batch, 1e6 * other / batch, other / mine, same])
    head = ["sentence", "ours", "torch-struct", "ratio", "same trees"]
    print_table("Eisner, best tree, one root: microseconds a sentence", head, rows)


def edmonds() -> None:
    """The best arborescence, and how its time grows."""
    try:
        from ufal.chu_liu_edmonds import chu_liu_edmonds
    except ImportError:
        chu_liu_edmonds = None
        print("\nufal.chu_liu_edmonds is not installed: pip install ufal.chu_liu_edmonds")
    rows: list[list[object]] = []
    last: dict[str, float] = {}
    for n in SIZES:
        arcs = _arcs(n)
        theirs = np.ascontiguousarray(arcs.T)  # theirs is [modifier, head]
        structure = {root: tw.DependencyTree(arcs, projective=False, single_root=root) for root in (True, False)}

        def multi() -> Any:
            return tw.DependencyTree(arcs, projective=False, single_root=False).argmax()  # noqa: B023

        def single() -> Any:
            return tw.DependencyTree(arcs, projective=False).argmax()  # noqa: B023

        def peer() -> Any:
            return chu_liu_edmonds(theirs)  # noqa: B023

        row: list[object] = [f"n={n}"]
        if chu_liu_edmonds is not None:
            mine, other = alternating(multi, peer)
            alone, _ = alternating(structure[False].argmax, peer)
            one, _ = alternating(single, peer)
            same = np.array_equal(multi().heads, peer()[0][1:])
            row += [1e6 * mine, 1e6 * alone, 1e6 * one, 1e6 * other, other / mine, other / alone, same]
        else:
            mine, one = alternating(multi, single)
            alone, _ = alternating(structure[False].argmax, single)
            row += [1e6 * mine, 1e6 * alone, 1e6 * one, "-", "-", "-", "-"]
        row.append(f"n^{np.log(alone / last['t']) / np.log(n / last['n']):.2f}" if last else "-")
        last = {"t": alone, "n": float(n)}
        rows.append(row)
    head = [
        "sentence",
        "array to tree",
        "argmax",
        "one root",
        "ufal",
        "ratio",
        "ratio of argmax",
        "same tree",
        "growth",
    ]
    print_table("Edmonds, best tree, several roots: microseconds a sentence", head, rows)


def matrix_tree(torch: Any, torch_struct: Any) -> None:
    """The probabilities of arcs over arborescences."""
    rows = []
    for n in SIZES:
        arcs = _arcs(n)
        potentials = torch.from_numpy(_on_diagonal(arcs)).float()[None]

        def peer() -> Any:
            return torch_struct.NonProjectiveDependencyCRF(potentials, multiroot=False).marginals  # noqa: B023

        def ours() -> Any:
            return tw.DependencyTree(arcs, projective=False).marginals()  # noqa: B023

        theirs = peer()[0].numpy().astype(np.float64)
        found = ours()
        placed = found[1:, 1:].copy()
        np.fill_diagonal(placed, found[0, 1:])
        mine, other = alternating(ours, peer)
        rows.append([f"n={n}", 1e6 * mine, 1e6 * other, other / mine, float(np.abs(placed - theirs).max())])
    head = ["sentence", "ours", "torch-struct", "ratio", "largest difference"]
    print_table("Matrix-tree, marginals of arcs, one root: microseconds a sentence", head, rows)


def alternating(ours: Callable[[], object], peer: Callable[[], object], budget: float = SECONDS) -> tuple[float, float]:
    """Return the best seconds of processor time of two calls that take turns: what else the machine does is shared."""
    calls, best = (ours, peer), [float("inf")] * 2
    repeats = [max(1, int(1e-3 / _seconds(call, 1))) for call in calls]  # a millisecond at a time
    began, rounds = time.perf_counter(), 0
    while rounds < 5 or time.perf_counter() - began < budget:
        for place, call in enumerate(calls):
            best[place] = min(best[place], _seconds(call, repeats[place]))
        rounds += 1
    return best[0], best[1]


def _seconds(call: Callable[[], object], repeats: int) -> float:
    began = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - began) / repeats


def _arcs(n: int, seed: int = 0) -> Arcs:
    return np.random.default_rng(seed).normal(size=(n + 1, n + 1))


def _on_diagonal(arcs: Arcs) -> Arcs:
    """Scores as torch-struct wants them: without the root, its arcs on the diagonal."""
    scores = arcs[1:, 1:].copy()
    np.fill_diagonal(scores, arcs[0, 1:])
    return scores


def patched_torch_struct() -> tuple[Any, Any]:
    try:
        import torch
        import torch_struct
        from torch_struct.semirings import semirings
    except ImportError:
        print("\ntorch-struct is not installed: pip install torch torch-struct")
        return None, None
    torch.set_num_threads(1)
    for name in dir(semirings):
        kind = getattr(semirings, name)
        if isinstance(kind, type) and "zero_" in vars(kind):
            kind.zero_ = staticmethod(torch.no_grad()(kind.zero_))  # type: ignore[attr-defined]
    return torch, torch_struct


if __name__ == "__main__":
    main()
