"""The perceptron with a beam, against its definition: whole numbers only, so that nothing is rounded, ties included."""

import itertools

import numpy as np
import pytest

import trelliswork as tw
from reference.beams import best_beginnings

LABELS = ["A", "B", "C", "D"]


def corpus(seed, n_sequences=8, longest=6):
    """Sequences of attributes, two of which always occur together."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n_sequences):
        length = int(rng.integers(1, longest + 1))
        tokens = rng.integers(0, 4, (length, 2))
        X.append([sorted({f"a{i}" for i in token} | ({"twin"} if 0 in token else set())) for token in tokens])
        y.append([LABELS[k] for k in rng.integers(0, len(LABELS), length)])
    return X, y


class Reference:
    """Huang et al. 2012, section 4.2, with weights in a dictionary."""

    def __init__(self, labels):
        self.labels, self.weights, self.n_updates = labels, {}, 0

    def features(self, x, labels):
        found = {}
        for t, label in enumerate(labels):
            for attribute in x[t]:
                found[attribute, None, label] = found.get((attribute, None, label), 0) + 1
            if t:
                key = (None, labels[t - 1], label)
                found[key] = found.get(key, 0) + 1
        return found

    def score(self, x, labels):
        return sum(n * self.weights.get(key, 0) for key, n in self.features(x, labels).items())

    def visit(self, x, gold, width):
        unary = [[self.score([token], [label]) for label in self.labels] for token in x]
        moves = [[self.weights.get((None, a, b), 0) for b in self.labels] for a in self.labels]
        found = [[self.labels[k] for k in best] for best, _ in best_beginnings(unary, moves, width)]
        above = [self.score(x, best) - self.score(x, gold[: len(best)]) for best in found]
        size = max(range(1, len(gold) + 1), key=lambda i: (above[i - 1], i))
        if above[size - 1] < 0 or found[size - 1] == gold[:size]:
            return
        self.n_updates += 1
        for part, sign in ((gold[:size], 1), (found[size - 1], -1)):
            for key, n in self.features(x, part).items():
                self.weights[key] = self.weights.get(key, 0) + sign * n


@pytest.mark.parametrize("width", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("seed", range(6))
def test_the_perceptron_follows_max_violation(seed, width):
    X, y = corpus(seed)
    labels = sorted({label for row in y for label in row})
    reference = Reference(labels)
    for _ in range(3):
        for x, gold in zip(X, y, strict=True):
            reference.visit(x, gold, width)
    learner = tw.Perceptron(3, averaged=False, shuffle=False, beam=width)
    tagger = tw.SequenceLabeler(learner).fit(X, y)
    found = {row[:3]: row[3] for row in tagger.weights() if row[3]}
    assert found == {key: value for key, value in reference.weights.items() if value}
    assert reference.n_updates > 0


@pytest.mark.parametrize("beam", [1, 3])
def test_a_narrow_beam_learns_recipes(beam):
    data = tw.corpora.ingredients()
    exact, narrow = (
        tw.SequenceLabeler(tw.Perceptron(5, beam=width)).fit(data.X_train, data.y_train).score(data.X_test, data.y_test)
        for width in (None, beam)
    )
    assert narrow > exact - 0.05


def test_a_constrained_beam_keeps_to_the_constraints():
    X = [[["x"], ["y"], ["z"]]] * 2
    y = [["B-N", "I-N", "O"], ["O", "O", "B-N"]]
    tagger = tw.SequenceLabeler(tw.Perceptron(5, beam=1), constraints="BIO").fit(X, y)
    rules = tw.scheme_constraints(tagger.classes_, "BIO")
    for labels in tagger.predict(X):
        numbers = [list(tagger.classes_).index(label) for label in labels]
        assert rules.start[numbers[0]]
        assert all(rules.transitions[a, b] for a, b in itertools.pairwise(numbers))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"beam": 0}, "beam"), ({"beam": 2.5}, "beam"), ({"beam": 4, "k": 2}, "k=1"), ({"beam": True}, "beam")],
)
def test_wrong_parameters(parameters, message):
    X, y = corpus(0)
    with pytest.raises(ValueError, match=message):
        tw.SequenceLabeler(tw.Perceptron(**parameters)).fit(X, y)


def test_structures_without_beginnings_refuse_a_beam():
    X, y = corpus(0)
    with pytest.raises(ValueError, match="beam"):
        tw.SequenceLabeler(tw.Perceptron(beam=4), order=2).fit(X, y)
    partly = [[None if t == 0 else label for t, label in enumerate(row)] for row in y]
    with pytest.raises(ValueError, match="beam"):
        tw.SequenceLabeler(tw.Perceptron(beam=4)).fit(X, partly)
