"""Chains of any order and with automata, by enumeration: every labelling, scored from the table of weights."""

import itertools

import numpy as np

__all__ = ["check_answers", "every_labelling"]


def every_labelling(labeler, tokens, pairs=None, ngrams=None, constraints=None, rule=None):
    """Yield (labels, score) of all labellings; tokens, pairs and ngrams are names of attributes of each token.

    ``rule`` is the automaton that labellings keep to; its states and arcs have weights if the table has them.
    """
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
        yield labels, score if rule is None else score + of_rule(rule, labels, table)


def of_rule(rule, labels, table):
    moves = {(state, rule.labels[k]): to for state, k, to in rule.arcs}
    state, score = rule.states[0], 0.0
    for label in labels:
        if (state, label) not in moves:
            return -np.inf
        to = moves[state, label]
        score += table.get((f"in state {state!r}", None, label), 0.0)
        score += table.get((f"into state {to!r}", None, "*"), 0.0)
        state = to
    return score if rule.final[rule.states.index(state)] else -np.inf


def check_answers(labeler, x, listed, **limits):
    """Compare the answers of a labeler about one sequence with its labellings as they are listed with their scores."""
    scores = np.array([score for _, score in listed])
    total = np.logaddexp.reduce(scores)
    ranked = sorted((-score, labels[::-1], labels) for labels, score in listed if np.isfinite(score))
    best = labeler.predict_kbest([x], 4, **limits)[0]
    np.testing.assert_allclose([p for _, p in best], [-s - total for s, *_ in ranked[:4]], rtol=1e-6, atol=1e-6)
    assert labeler.predict([x], **limits)[0] == best[0][0] == list(ranked[0][2])
    classes = list(labeler.classes_)
    marginals, most = np.zeros((len(x), len(classes))), np.full((len(x), len(classes)), -np.inf)
    for labels, score in listed:
        at = np.arange(len(x)), [classes.index(label) for label in labels]
        marginals[at] += np.exp(score - total)
        most[at] = np.maximum(most[at], score)
    np.testing.assert_allclose(labeler.predict_marginals([x], **limits)[0], marginals, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(labeler.predict_max_marginals([x], **limits)[0], most, rtol=1e-6, atol=1e-6)


def allowed(labels, classes, constraints):
    numbers = [classes.index(label) for label in labels]
    moves = all(constraints.transitions[a, b] for a, b in itertools.pairwise(numbers))
    return not numbers or (moves and constraints.start[numbers[0]] and constraints.end[numbers[-1]])
