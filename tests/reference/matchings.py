"""Every matching of two small sides and every monotone alignment of two short sequences, listed one by one.

Each is a pair: the output as the core has it, and how often it has each part.
"""

import itertools

import numpy as np


def matchings(n, m, is_open=False):
    """All sets of pairs without a row or a column twice; of full size unless what is unmatched has scores."""
    found = []
    for size in range(min(n, m) + 1) if is_open else [min(n, m)]:
        for rows in itertools.combinations(range(n), size):
            for columns in itertools.permutations(range(m), size):
                pairs, left, right = np.zeros((n, m)), np.ones(n), np.ones(m)
                for i, j in zip(rows, columns, strict=True):
                    pairs[i, j], left[i], right[j] = 1.0, 0.0, 0.0
                counts = np.concatenate([pairs.ravel(), left, right]) if is_open else pairs.ravel()
                found.append((tuple(itertools.chain(*zip(rows, columns, strict=True))), counts))
    return found


def alignments(n, m, affine=False, free_ends=False):
    """All sets of pairs that rise on both sides."""
    found = []
    for size in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), size):
            for columns in itertools.combinations(range(m), size):
                found.append((tuple(itertools.chain(*zip(rows, columns, strict=True))), None))
    return [(output, alignment_counts(n, m, output, affine, free_ends)) for output, _ in found]


def alignment_counts(n, m, output, affine, free_ends):
    """How often an alignment has each part: walk through the gaps between its pairs."""
    pairs, deleted, inserted = np.zeros((n, m)), np.zeros(n), np.zeros(m)
    opens = np.zeros(n), np.zeros(m)
    stops = [(output[k], output[k + 1]) for k in range(0, len(output), 2)]
    before = (-1, -1)
    for at, stop in enumerate([*stops, (n, m)]):
        counted = not free_ends or 0 < at < len(stops)
        for side, alone, opened in ((0, deleted, opens[0]), (1, inserted, opens[1])):
            gap = list(range(before[side] + 1, stop[side]))
            if counted and gap:
                alone[gap] = 1.0
                opened[gap[0]] = 1.0
        if stop != (n, m):
            pairs[stop] = 1.0
        before = stop
    return np.concatenate([pairs.ravel(), deleted, inserted, *(opens if affine else ())])
