"""Every output of a small structure of parts, listed without any recursion over scores."""

import itertools

import numpy as np


def labellings(length, n_labels):
    """All labellings, in the order of ties: the smallest read from its end comes first."""
    return [labels[::-1] for labels in itertools.product(range(n_labels), repeat=length)]


def chain(length, n_labels, tied=True):
    """The parts of every labelling, as rows of counts."""
    n_moves = n_labels**2 * (1 if tied else max(length - 1, 0))
    rows = []
    for labels in labellings(length, n_labels):
        row = np.zeros(length * n_labels + n_moves)
        for t, label in enumerate(labels):
            row[t * n_labels + label] += 1
            if t:
                site = 0 if tied else t - 1
                row[length * n_labels + site * n_labels**2 + labels[t - 1] * n_labels + label] += 1
        rows.append((list(labels), row))
    return rows


def segments(length, n_labels, longest):
    """The parts of every segmentation; outputs are flat rows (begin, end, label)."""
    rows = []
    for cut in itertools.product([0, 1], repeat=max(length - 1, 0)):
        ends = [t + 1 for t in range(length - 1) if cut[t]] + ([length] if length else [])
        begins = [0, *ends[:-1]] if length else []
        if any(end - begin > longest for begin, end in zip(begins, ends, strict=True)):
            continue
        for labels in itertools.product(range(n_labels), repeat=len(ends)):
            moves = length * longest * n_labels
            row = np.zeros(moves + n_labels**2 + 2 * n_labels)
            for begin, end, label in zip(begins, ends, labels, strict=True):
                row[(begin * longest + end - begin - 1) * n_labels + label] += 1
            for before, after in itertools.pairwise(labels):
                row[moves + before * n_labels + after] += 1
            if length:
                row[moves + n_labels**2 + labels[0]] += 1
                row[moves + n_labels**2 + n_labels + labels[-1]] += 1
            output = [x for segment in zip(begins, ends, labels, strict=True) for x in segment]
            rows.append((output, row))
    return rows


def automaton(length, n_labels, arcs, final):
    """The parts of every labelling that the automaton accepts."""
    following = {(source, label): (number, target) for number, (source, label, target) in enumerate(arcs)}
    rows = []
    for labels in labellings(length, n_labels):
        row, state = np.zeros(length * n_labels + len(arcs)), 0
        for t, label in enumerate(labels):
            number, state = following.get((state, label), (None, None))
            if number is None:
                break
            row[t * n_labels + label] += 1
            row[length * n_labels + number] += 1
        if state is not None and final[state]:
            rows.append((list(labels), row))
    return rows
