"""Forward and backward of a CRF layer: `trelliswork.torch.ChainCRF` beside pytorch-crf, in turn, single precision.

Both may use two threads, or as many as --threads says, see the same tensors and a mask of padding, and start each time
without gradients. Times are medians of rounds in which one follows the other, so that whatever else the machine does is
shared. The limit is what the multiply-adds alone would take, forward, backward and for expected transitions, on one
thread at the rate that this processor reaches in registers; `core` is the call of the core without PyTorch around it.
The longest shape of the other benchmarks is left out: over 10,000 positions the gradients of pytorch-crf, in single
precision, are too far from those in double precision to be compared with.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torchcrf

from timing import SHAPES, print_load, print_table
from trelliswork import _core
from trelliswork.compat.torchcrf import CRF
from trelliswork.torch import ChainCRF


def main() -> None:
    """Print a row for each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="how often each is timed")
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch and of the core; one is less noisy")
    rounds, threads = parser.parse_args().rounds, parser.parse_args().threads
    warnings.filterwarnings("ignore")
    torch.set_num_threads(threads)
    print_load()
    rate = multiply_add_rate()
    rows = []
    for shape in SHAPES[:2]:
        contenders = made(shape)
        times = in_turn(contenders, rounds)
        limit = 3 * shape[0] * shape[1] * shape[2] ** 2 / rate
        ours, drop_in, theirs, core = (times[name] for name in ("ChainCRF", "drop-in", "pytorch-crf", "core"))
        milliseconds = (f"{1e3 * seconds:.3f}" for seconds in (limit, core, ours, drop_in, theirs))
        rows.append([str(shape), *milliseconds, f"{theirs / ours:.1f}x", f"{theirs / drop_in:.1f}x"])
    head = ["(B, T, K)", "limit", "core", "ChainCRF", "drop-in", "pytorch-crf", "ChainCRF", "drop-in"]
    print_table(f"loss and gradient, float32, {threads} threads: milliseconds, and times as fast", head, rows)


def made(shape: tuple[int, int, int]) -> dict[str, Callable[[], object]]:
    """Return what is timed; the losses and gradients are compared first."""
    B, T, K = shape
    generator = torch.Generator().manual_seed(0)
    emissions = torch.randn(shape, generator=generator, requires_grad=True)
    labels = torch.randint(0, K, (B, T), generator=generator)
    lengths = torch.randint(max(T // 2, 1), T + 1, (B,), generator=generator)
    lengths[0] = T
    mask = torch.arange(T) < lengths[:, None]
    layer, drop_in, peer = ChainCRF(K), CRF(K, batch_first=True), torchcrf.CRF(K, batch_first=True)
    layer.load_state_dict(peer.state_dict())
    drop_in.load_state_dict(peer.state_dict())

    def asked(question: Callable[[], torch.Tensor], module: torch.nn.Module) -> Callable[[], torch.Tensor]:
        def ask() -> torch.Tensor:
            emissions.grad = None
            module.zero_grad()
            loss = question()
            loss.backward()
            return loss.detach()

        return ask

    contenders: dict[str, Callable[[], object]] = {
        "ChainCRF": asked(lambda: layer(emissions, labels, mask), layer),
        "drop-in": asked(lambda: -drop_in(emissions, labels, mask, "mean"), drop_in),
        "pytorch-crf": asked(lambda: -peer(emissions, labels, mask, "mean"), peer),
    }
    found = []
    for ask in contenders.values():
        found.append([ask(), emissions.grad])
    for loss, gradient in found:
        torch.testing.assert_close(loss, found[-1][0], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(gradient, found[-1][1], rtol=1e-3, atol=1e-5)
    scores = [
        x.detach().numpy() for x in (emissions, layer.transitions, layer.start_transitions, layer.end_transitions)
    ]
    out = [np.empty_like(x) for x in scores]
    losses, weights = np.empty(B), np.full(B, 1 / B)
    given: Any = (*scores, mask.numpy(), labels.numpy(), 0.0, False, torch.get_num_threads(), losses, weights, *out)
    contenders["core"] = lambda: _core.padded_losses(*given)
    return contenders


def in_turn(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each, timed one after the other in every round."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, ask in contenders.items():
            began = time.perf_counter()
            ask()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def multiply_add_rate() -> float:
    """Return multiply-adds of single precision that one thread does in a second, the best of ten."""
    best = 0.0
    for _ in range(10):
        began = time.perf_counter()
        done = _core.probe("multiply-add", 200_000)
        best = max(best, 2 * done / (time.perf_counter() - began))  # twice as many floats as doubles in a vector
    return best


if __name__ == "__main__":
    main()
