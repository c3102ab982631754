"""What a trained labeler must answer, from the table of its weights: every labelling, scored one by one."""

from collections import defaultdict

import numpy as np

from .chains import every_chain_labelling
from .token_attributes import attributes_of


def every_answer(labeler, x, constraints=None):
    """Score all labellings of a sequence whose tokens are dicts or lists of attributes."""
    return every_labelling_by_weights(
        labeler.weights(), list(labeler.classes_), [attributes_of(t) for t in x], constraints
    )


def every_template_answer(labeler, x, constraints=None):
    """Score all labellings of a sequence of words, seen through the templates that the labeler was given."""
    names, pairs = (labeler.features.attributes([x], pair=pair)[0] for pair in (False, True))
    with_values = [[[(name, 1.0) for name in token] for token in part] for part in (names, pairs)]
    return every_labelling_by_weights(
        labeler.weights(), list(labeler.classes_), with_values[0], constraints, with_values[1]
    )


def every_labelling_by_weights(weights, classes, tokens, constraints=None, pair_tokens=None):
    """Score all labellings: attributes with their label, attributes with two labels, two labels in a row."""
    K, T = len(classes), len(tokens)
    number = {label: k for k, label in enumerate(classes)}
    by_attribute = defaultdict(list)
    steps = np.zeros((max(T - 1, 0), K, K))
    unary = np.zeros((T, K))
    for attribute, previous, label, weight in weights:
        if attribute is None:
            steps[:, number[previous], number[label]] += weight
        else:
            by_attribute[attribute].append((previous, label, weight))
    for t, token in enumerate(tokens):
        for name, value in token:
            for previous, label, weight in by_attribute[name]:
                if previous is None:
                    unary[t, number[label]] += np.float32(value) * weight
    for t, token in enumerate(pair_tokens or [[]] * T):
        for name, value in token:
            for previous, label, weight in by_attribute[name] if t else ():
                if previous is not None:
                    steps[t - 1, number[previous], number[label]] += np.float32(value) * weight
    start = end = None
    if constraints is not None:
        steps = np.where(constraints.transitions, steps, -np.inf)
        start, end = (np.where(part, 0.0, -np.inf) for part in (constraints.start, constraints.end))
    return every_chain_labelling(unary, steps, start, end)
