"""Learners compute the same whether attributes that always occur together share a variable or not, ties included.

Tokens are lists of attributes, of which some are twins (or triplets, and more) of others. The references know
attributes only: they list every labelling, with its features one by one, and follow the published equations.
"""

import itertools
import warnings
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

import trelliswork as tw
from reference import margins
from trelliswork import _core

N_LABELS = 3
LABELS = ["A", "B", "C"]


class Corpus:
    """Sequences of whole-number features; attribute ``a2.1`` occurs exactly where ``a2.0`` does."""

    def __init__(self, seed, n_sequences=6, max_length=4, n_attributes=5, twins=(1, 2, 3, 5, 1)):
        rng = np.random.default_rng(seed)
        self.names = [f"a{i}.{j}" for i in range(n_attributes) for j in range(twins[i])]
        self.X, self.y = [], []
        for _ in range(n_sequences):
            length = int(rng.integers(1, max_length + 1))
            tokens = [rng.choice(n_attributes, size=int(rng.integers(1, 4)), replace=False) for _ in range(length)]
            self.X.append([[f"a{i}.{j}" for i in sorted(token) for j in range(twins[i])] for token in tokens])
            self.y.append([LABELS[k] for k in rng.integers(0, N_LABELS, length)])
        seen = {label for labels in self.y for label in labels}
        self.labels = sorted(seen)

    @property
    def size(self):
        return len(self.names) * len(self.labels) + len(self.labels) ** 2

    def place(self, attribute, previous, label):
        K = len(self.labels)
        if attribute is None:
            return len(self.names) * K + self.labels.index(previous) * K + self.labels.index(label)
        return self.names.index(attribute) * K + self.labels.index(label)

    def features(self, x, labelling):
        out = np.zeros(self.size)
        for t, label in enumerate(labelling):
            for attribute in x[t]:
                out[self.place(attribute, None, label)] += 1
            if t:
                out[self.place(None, labelling[t - 1], label)] += 1
        return out

    def examples(self):
        """Every labelling of every sequence, in the order of ties: the smallest read from its end comes first."""
        out = []
        for x, gold in zip(self.X, self.y, strict=True):
            every = [path[::-1] for path in itertools.product(self.labels, repeat=len(x))]
            costs = np.array([float(sum(a != b for a, b in zip(path, gold, strict=True))) for path in every])
            features = np.array([self.features(x, path) for path in every])
            out.append(margins.Example(costs, features, every.index(tuple(gold))))
        return out

    def learned(self, learner, **options):
        """The weights of a model, attribute by attribute."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.ConvergenceWarning)
            tagger = tw.SequenceLabeler(learner, combinations="all", **options).fit(self.X, self.y)
        out = np.zeros(self.size)
        for weight in tagger.weights():
            out[self.place(weight.attribute, weight.previous, weight.label)] = weight.weight
        return out


def perceptron(examples, size, epochs, k, averaged):
    """Algorithm 5 with eq. 3.31 of the thesis, in whole numbers; the sum of w after each example beside it."""
    w, total = np.zeros(size), np.zeros(size)
    for _ in range(epochs):
        updates = 0
        for example in examples:
            for y in example.best(w, k, 0.0):
                d = example.differences[y]
                if d @ w <= 0 and d.any():
                    w = w + d
                    updates += 1
            total += w
        if averaged and updates == 0:
            return total, w
    return total, w


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("seed", range(20))
def test_the_perceptron_breaks_ties_and_rounds_nothing(seed, k):
    corpus = Corpus(seed)
    learner = tw.Perceptron(epochs=4, k=k, averaged=False, shuffle=False)
    _, expected = perceptron(corpus.examples(), corpus.size, 4, k, False)
    np.testing.assert_array_equal(corpus.learned(learner), expected)


def passive_aggressive(examples, size, epochs, C, k, augmented=True):
    """Eq. 3.14 to 3.21 in fractions: nothing is rounded, so ties are ties."""
    w = [Fraction(0)] * size
    nu = 1 if augmented else 0
    for _ in range(epochs):
        for example in examples:
            values = [
                sum((w[j] * int(f[j]) for j in np.flatnonzero(f)), Fraction(0)) + nu * int(c)
                for f, c in zip(example.features, example.costs, strict=True)
            ]
            for y in sorted(range(len(values)), key=lambda y, values=values: (-values[y], y))[:k]:
                d = example.differences[y].astype(int)
                loss = int(example.costs[y]) - sum((w[j] * int(d[j]) for j in np.flatnonzero(d)), Fraction(0))
                norm = int(d @ d)
                if loss > 0 and norm:
                    step = min(loss / norm, C)
                    w = [a + step * int(b) for a, b in zip(w, d, strict=True)]
    return np.array([float(a) for a in w])


@pytest.mark.parametrize("augmented", [True, False])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(15))
def test_passive_aggressive_steps_of_powers_of_two_are_exact(seed, k, augmented):
    """With so small a C every step is C, which a double holds: nothing is rounded, and every tie is one."""
    corpus = Corpus(seed, max_length=3)
    C = Fraction(1, 1024)
    expected = passive_aggressive(corpus.examples(), corpus.size, 4, C, k, augmented)
    learner = tw.PassiveAggressive(float(C), epochs=4, k=k, augmented=augmented, averaged=False, shuffle=False)
    np.testing.assert_array_equal(corpus.learned(learner), expected)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(20))
def test_passive_aggressive_in_the_first_pass(seed, k):
    """Steps of any size: one pass, in which ties are still those of zero weights."""
    corpus = Corpus(seed, n_sequences=2, max_length=3)
    expected = passive_aggressive(corpus.examples(), corpus.size, 1, Fraction(10), k)
    learner = tw.PassiveAggressive(10.0, epochs=1, k=k, averaged=False, shuffle=False)
    np.testing.assert_allclose(corpus.learned(learner), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("variant", ["arow", "cw", "scw"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_confidence_is_kept_for_each_attribute(seed, k, variant):
    corpus = Corpus(seed, n_sequences=4, max_length=3)
    options = {"arow": {"r": 2.0}, "cw": {}, "scw": {"C": 0.5}}[variant]
    learner = tw.AROW(epochs=2, k=k, variant=variant, averaged=False, shuffle=False, **options)
    expected, _ = margins.confidence_weighted(
        corpus.examples(),
        2,
        k,
        variant,
        phi=NormalDist().inv_cdf(0.9),
        start=np.zeros(corpus.size),
        **options,
    )
    np.testing.assert_allclose(corpus.learned(learner), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["mira", "sdm", "larank", "pegasos", "subgradient"])
@pytest.mark.parametrize("seed", range(4))
def test_values_that_keep_attributes_apart_change_nothing(name, seed):
    """Attributes that also occur with the value 0 are never merged: the same algorithm without the optimisation."""
    learner = tw.learners.by_name(name, epochs=2, shuffle=False)
    merged, apart = (Corpus(seed, n_sequences=5, max_length=3) for _ in range(2))
    for corpus, last in ((merged, {}), (apart, dict.fromkeys(apart.names, 0.0))):
        corpus.X = [[dict.fromkeys(token, 1.0) for token in x] for x in corpus.X] + [[last]]
        corpus.y.append([corpus.labels[0]])
    np.testing.assert_allclose(apart.learned(learner), merged.learned(learner), rtol=1e-3, atol=1e-4)


class Untied:
    """A direction of descent that notes whether rounding had to decide which structure loses most."""

    def __init__(self):
        self.holds = True

    def __call__(self, example, w, _):
        first, second = sorted(example.features @ w + example.costs, reverse=True)[:2]
        self.holds &= not w.any() or first - second > 1e-9
        return margins.hinge_direction(example, w, 1, False)


@pytest.mark.parametrize(
    ("learner", "options", "textbook"),
    [
        (tw.Pegasos(0.3, 2, averaged=False, shuffle=False), {}, False),
        (tw.Pegasos(0.3, 2, projection=True, averaged=False, shuffle=False), {"projection": True}, False),
        (tw.Pegasos(0.3, 2, batch_size=3, averaged=False, shuffle=False), {"batch_size": 3}, False),
        (
            tw.Subgradient(lam=0.3, epochs=2, step="root", gamma=0.7, averaged=False, shuffle=False),
            {"rule": "root", "gamma": 0.7},
            True,
        ),
    ],
    ids=str,
)
def test_descent_sees_attributes_one_by_one(learner, options, textbook):
    n_compared = 0
    for seed in range(20):
        corpus = Corpus(seed, n_sequences=4, max_length=3)
        literal, direction = margins.Descent(corpus.examples(), 0.3, **options), Untied()
        expected = literal.run(np.zeros(corpus.size), direction, 2, textbook=textbook)
        if direction.holds:
            n_compared += 1
            np.testing.assert_allclose(corpus.learned(learner), expected, rtol=1e-5, atol=1e-6)
    assert n_compared >= 5


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("learner", "tolerance"),
    [
        (tw.Perceptron(epochs=4, shuffle=False), 0.0),
        (tw.PassiveAggressive(1 / 1024, epochs=4, shuffle=False), 0.0),
        (tw.AROW(epochs=3, shuffle=False), 1e-6),
        (tw.CRF(l2=1.0, tol=1e-10), 1e-4),
        (tw.CRF(l2=1.0, l1=0.5, tol=1e-10), 1e-4),
        (tw.MEMM(l2=1.0, tol=1e-10), 1e-4),
    ],
)
def test_weights_of_higher_orders_are_those_of_single_attributes(monkeypatch, seed, learner, tolerance):
    """The oracle of any structure merges too: weights are those that it finds when it does not."""

    def learned(merged):
        corpus, made = Corpus(seed), _core.PartExamples
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.ConvergenceWarning)
            if not merged:
                patch.setattr(_core, "PartExamples", lambda *arguments: made(*arguments[:3]))
            tagger = tw.SequenceLabeler(learner, order=2, random_state=0).fit(corpus.X, corpus.y)
        return {(w.attribute, w.previous, w.label): w.weight for w in tagger.weights() if abs(w.weight) > tolerance}

    together, apart = learned(True), learned(False)
    names = together.keys() | apart.keys()
    assert {name for name in names if name[0]}
    for name in names:
        assert abs(together.get(name, 0.0) - apart.get(name, 0.0)) <= 2 * tolerance, name
