"""Labelled grids, one by one: every labelling with the parts it has."""

import itertools

import numpy as np

from reference.grids import STEPS, edges


def all_labellings(size, n_labels, neighbours=4, associative=True, there=None):
    """Yield every labelling, flat, with how often it has each part: cells first, then a block for each step."""
    cells = list(itertools.product(*map(range, size)))
    there = np.ones(size, dtype=bool) if there is None else there
    free = [cell for cell in cells if there[cell]]
    for labels in itertools.product(range(n_labels), repeat=len(free)):
        labels = dict(zip(free, labels, strict=True))
        parts = [float(labels.get(cell) == k) for cell in cells for k in range(n_labels)]
        for step in STEPS.get(neighbours, ()):
            for a, b in edges(size, step):
                known = a in labels and b in labels
                if associative:
                    parts.append(float(known and labels[a] == labels[b]))
                else:
                    parts += [
                        float(known and (labels[a], labels[b]) == pair)
                        for pair in itertools.product(range(n_labels), repeat=2)
                    ]
        yield [labels.get(cell, 0) for cell in cells], np.array(parts)
