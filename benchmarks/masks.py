"""What a finite mask costs: one transition of -10,000 in the place of -inf, as people write it who have no -inf."""

from __future__ import annotations

import numpy as np

import trelliswork as tw
from timing import SHAPES, best_seconds, print_load, print_table


def main() -> None:
    """Print how many times longer the sums take than with the same transition forbidden."""
    print_load()
    rows = []
    for shape in SHAPES:
        rng = np.random.default_rng(0)
        unary, transitions = rng.normal(size=shape), rng.normal(size=(shape[2], shape[2]))
        masked = {}
        for mask in (-np.inf, -1e4):
            transitions[0, 1] = mask
            batch = tw.ChainBatch(unary, transitions)
            masked[mask] = [best_seconds(ask, budget=0.5) for ask in (batch.log_partition, batch.marginals)]
        rows.append([str(shape), *(slow / fast for fast, slow in zip(masked[-np.inf], masked[-1e4], strict=True))])
    print_table(
        "A transition of -10,000 against one of -inf: times as long",
        ["(batch, positions, labels)", "log partition", "marginals"],
        rows,
    )


if __name__ == "__main__":
    main()
