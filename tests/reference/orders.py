"""Chains of any order, by enumeration: every labelling, scored from the table of weights."""

import itertools

import numpy as np

__all__ = ["every_labelling"]


def every_labelling(labeler, tokens, pairs=None, ngrams=None, constraints=None):
    """Yield (labels, score) of all labellings; tokens, pairs and ngrams are names of attributes of each token."""
    order, classes = labeler.order, list(labeler.classes_)
    table = {(w.attribute, w.previous, w.label): w.weight for w in labeler.weights()}
    nothing = [[]] * len(tokens)
    for labels in itertools.product(classes, repeat=len(tokens)):
        score = 0.0 if constraints is None or allowed(labels, classes, constraints) else -np.inf
        for t, label in enumerate(labels):
            score += sum(table.get((name, None, label), 0.0) for name in tokens[t])
            for n in range(1, min(order, t) + 1):
                before = " ".join(labels[t - n : t])
                score += table.get((None, before, label), 0.0)
                attached = [*((pairs or nothing)[t] if n == 1 else []), *((ngrams or nothing)[t] if n == order else [])]
                score += sum(table.get((name, before, label), 0.0) for name in attached)
        yield labels, score


def allowed(labels, classes, constraints):
    numbers = [classes.index(label) for label in labels]
    moves = all(constraints.transitions[a, b] for a, b in itertools.pairwise(numbers))
    return not numbers or (moves and constraints.start[numbers[0]] and constraints.end[numbers[-1]])
