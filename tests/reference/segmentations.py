"""Segmentations by enumeration: every way to cut a sequence into segments, scored from the table of weights."""

import numpy as np

__all__ = ["every_segmentation", "segmentations"]


def segmentations(length, longest):
    """Yield all lists of (start, stop, label) that cover a sequence; ``longest``: of each label."""
    if length == 0:
        yield []
        return
    for label, most in longest.items():
        for n in range(1, min(most, length) + 1):
            for rest in segmentations(length - n, longest):
                yield [*rest, (length - n, length, label)]


def every_segmentation(labeler, tokens, spans, may_follow=None):
    """Return (segments, score) of all; ``tokens``: names of each token's attributes, ``spans``: by (start, stop)."""
    table = {(w.attribute, w.previous, w.label): w.weight for w in labeler.weights()}
    found = []
    for segments in segmentations(len(tokens), labeler.longest_):
        score, before = 0.0, None
        for start, stop, label in segments:
            names = [name for t in range(start, stop) for name in tokens[t]] + list(spans.get((start, stop), []))
            score += sum(table.get((name, None, label), 0.0) for name in names)
            if before is not None:
                score += table.get((None, before, label), 0.0)
            if may_follow is not None and not may_follow(before, label):
                score = -np.inf
            before = label
        if may_follow is not None and before is not None and not may_follow(before, None):
            score = -np.inf
        found.append((segments, score))
    return found
