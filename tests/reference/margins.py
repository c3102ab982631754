"""Margin learners written out over lists of all structures: dense vectors, plain sums, no scaling tricks.

An `Example` lists every structure of one example: its cost, and its feature vector minus that of gold with the sign
turned, ``f(gold) - f(y)``. Structures come in the order in which ties are broken.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Example:
    costs: np.ndarray  # [structure]
    features: np.ndarray  # [structure][weight]
    gold: int
    weight: float = 1.0
    doubtful: bool = False  # whether rounding decided which of two structures is the better one

    @property
    def differences(self):
        return self.features[self.gold] - self.features

    def best(self, w, k, nu):
        """The k structures with the highest score + nu * cost, best first."""
        values = [sum(f * w) + nu * c for f, c in zip(self.features, self.costs, strict=True)]
        order = sorted(range(len(values)), key=lambda y: (-values[y], y))
        self.doubtful |= w.any() and np.any(np.abs(np.diff([values[y] for y in order[: k + 1]])) < 1e-9)
        return order[:k]

    def hinge(self, w, y):
        return max(0.0, self.costs[y] - self.differences[y] @ w)

    def wrong(self):
        return [y for y in range(len(self.costs)) if y != self.gold]


@dataclass
class PartlyKnown(Example):
    """Gold is the best of the allowed structures, which cost nothing, whenever a learner looks at the example anew."""

    allowed: tuple[int, ...] = ()

    def complete(self, w):
        scores = self.features @ w
        self.gold = max(self.allowed, key=lambda y: (scores[y], -y))
        return self.gold

    def best(self, w, k, nu):
        self.complete(w)
        return super().best(w, k, nu)


def labels_as_examples(x, gold, n_labels, sample_weight=None, cost=None):
    """The examples of a `LabelOracle`, whose weights are [column][label]."""
    out = []
    for i, row in enumerate(x):
        features = np.zeros((n_labels, len(row), n_labels))
        for y in range(n_labels):
            features[y, :, y] = row
        costs = (np.arange(n_labels) != gold[i]).astype(float) if cost is None else np.array(cost[gold[i]])
        weight = 1.0 if sample_weight is None else sample_weight[i]
        out.append(Example(costs, features.reshape(n_labels, -1), int(gold[i]), weight))
    return out


def max_margin(example, w):
    return max(example.hinge(w, y) for y in range(len(example.costs)))


def k_best(example, w, k):
    losses = sorted((example.hinge(w, y) for y in example.wrong()), reverse=True)[:k]
    return sum(losses) / len(losses) if losses else 0.0


def averaged_sum(example, w):
    return k_best(example, w, len(example.costs))


def ramp(example, w, nu=-1.0):
    concave = max(0.0, max(nu * c - d @ w for c, d in zip(example.costs, example.differences, strict=True)))
    return max_margin(example, w) - concave


def slack(example, w):
    return max(0.0, max(c * (1 - d @ w) for c, d in zip(example.costs, example.differences, strict=True)))


def step_size(rule, lam, t, gamma, alpha):
    return {
        "pegasos": 1 / (lam * t),
        "power": 1 / (lam * t) ** alpha,
        "asgd": gamma / (lam * gamma * t) ** alpha,
        "constant": gamma,
        "root": gamma / t**0.5,
    }[rule]


def loses_no_less(example, w, y, prediction):
    """Whether y is in S_n, before eq. 6.13: the losses are compared as numbers are on paper, not to the last bit."""
    a, b = example.hinge(w, y), example.hinge(w, prediction)
    return a >= b or np.isclose(a, b, rtol=1e-12, atol=0)


def prediction_violation_set(example, w, k, restricted=True):
    """B_n: of the k wrong structures that lose most, those in S_n."""
    chosen = [y for y in example.best(w, k + 1, 1.0) if y != example.gold][:k]
    if not restricted:
        return chosen
    prediction = example.best(w, 1, 0.0)[0]
    return [y for y in chosen if loses_no_less(example, w, y, prediction)]


def hinge_direction(example, w, k, restricted):
    """Minus the subgradient of eq. 6.11 without its regulariser."""
    chosen = prediction_violation_set(example, w, k, restricted)
    out = np.zeros_like(w)
    for y in chosen:
        if example.hinge(w, y) > 0:
            out += example.differences[y] / len(chosen)
    return out


def slack_direction(example, w):
    losses = [c * (1 - d @ w) for c, d in zip(example.costs, example.differences, strict=True)]
    y = int(np.argmax(losses))
    return example.costs[y] * example.differences[y] if losses[y] > 0 else np.zeros_like(w)


def direct_direction(example, w, epsilon):
    worse, prediction = example.best(w, 1, epsilon)[0], example.best(w, 1, 0.0)[0]
    return (example.features[prediction] - example.features[worse]) / epsilon


class Descent:
    """Algorithms 7 and 8 of the thesis and 41 of the textbook, in the order of the examples.

    ``history`` is w after each step.
    """

    def __init__(
        self, examples, lam, *, rule="pegasos", gamma=1.0, alpha=0.75, batch_size=1, projection=False, start=0
    ):
        self.examples, self.lam, self.projection = examples, lam, projection
        self.rule, self.gamma, self.alpha = rule, gamma, alpha
        self.batch_size = batch_size or len(examples)
        self.start = start  # steps that came before
        self.history = []

    def run(self, w, direction, epochs, *, textbook=False):
        for epoch in range(epochs):
            for first in range(0, len(self.examples), self.batch_size):
                batch = self.examples[first : first + self.batch_size]
                move = sum(e.weight * direction(e, w, epoch) for e in batch) / len(batch)
                eta = step_size(self.rule, self.lam, self.start + len(self.history) + 1, self.gamma, self.alpha)
                w = (w + eta * move) * (1 - eta * self.lam) if textbook else (1 - eta * self.lam) * w + eta * move
                if self.projection:
                    w = min(1.0, self.lam**-0.5 / max(np.linalg.norm(w), 1e-300)) * w
                self.history.append(w)
        return w


def ramp_directions(examples, cccp, nu):
    """Subgradients of the ramp loss with its concave part replaced by its tangent every ``cccp`` epochs."""
    tangents = {}

    def direction(example, w, epoch):
        if epoch % cccp == 0 and epoch not in tangents:
            tangents[epoch] = {}
            for other in examples:
                y = other.best(w, 1, nu)[0]
                violated = nu * other.costs[y] - other.differences[y] @ w > 0
                tangents[epoch][id(other)] = other.differences[y] if violated else np.zeros_like(w)
        return hinge_direction(example, w, 1, False) - tangents[epoch - epoch % cccp][id(example)]

    return direction


def least_objective(examples, lam, n_weights, power=1):
    """The minimum of ``lam/2 |w|^2 + mean of the max-margin losses``, or their squares, by scipy over w and slacks."""
    from scipy.optimize import minimize

    n = len(examples)
    rows = np.concatenate([e.differences for e in examples])
    owner = np.repeat(np.arange(n), [len(e.costs) for e in examples])
    costs = np.concatenate([e.costs for e in examples])
    weights = np.array([e.weight for e in examples]) / n
    constraint = {
        "type": "ineq",
        "fun": lambda z: rows @ z[:n_weights] + z[n_weights:][owner] - costs,
        "jac": lambda z: np.hstack([rows, np.eye(n)[owner]]),
    }
    found = minimize(
        lambda z: lam / 2 * z[:n_weights] @ z[:n_weights] + weights @ z[n_weights:] ** power,
        np.concatenate([np.zeros(n_weights), [e.costs.max() for e in examples]]),
        jac=lambda z: np.concatenate([lam * z[:n_weights], power * weights * z[n_weights:] ** (power - 1)]),
        constraints=[constraint],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success
    w = found.x[:n_weights]
    return lam / 2 * w @ w + sum(e.weight * max_margin(e, w) ** power for e in examples) / n, w


def confidence_weighted(examples, epochs, k, variant, *, r=1.0, phi=1.0, C=1.0, variance=1.0, start):
    """AROW, CW and SCW with diagonal covariance, matrix by matrix; returns w and the diagonal."""
    w, S = start.copy(), variance * np.eye(len(start))
    for example in [e for _ in range(epochs) for e in examples]:
        for y in [y for y in example.best(w, k, 1.0) if y != example.gold]:
            d = example.differences[y]
            m, v = w @ d - example.costs[y], d @ S @ d
            if v == 0:
                continue  # no weight tells it from gold
            if variant == "arow" and m < 0:
                beta = 1 / (v + r / example.weight)
                w = w + beta * -m * S @ d
                S = np.diag(np.diag(S - beta * S @ np.outer(d, d) @ S))
            elif variant == "cw" and m < phi * v:
                root = ((1 + 2 * phi * m) ** 2 - 8 * phi * (m - phi * v)) ** 0.5
                alpha = (-(1 + 2 * phi * m) + root) / (4 * phi * v)
                w = w + alpha * S @ d
                S = np.linalg.inv(np.linalg.inv(S) + 2 * alpha * phi * np.diag(d**2))
            elif variant == "scw" and m < phi * v**0.5:
                psi, zeta = 1 + phi**2 / 2, 1 + phi**2
                alpha = (-m * psi + (m**2 * phi**4 / 4 + v * phi**2 * zeta) ** 0.5) / (v * zeta)
                alpha = min(C * example.weight, max(0.0, alpha))
                u = (-alpha * v * phi + (alpha**2 * v**2 * phi**2 + 4 * v) ** 0.5) ** 2 / 4
                beta = alpha * phi / (u**0.5 + v * alpha * phi)
                w = w + alpha * S @ d
                S = np.diag(np.diag(S - beta * S @ np.outer(d, d) @ S))
    return w, np.diag(S)


def perceptron(examples, epochs, k, w):
    """Algorithm 5 of the thesis for the perceptron: each of the k best that is not below gold pushes w away."""
    for example in [e for _ in range(epochs) for e in examples]:
        for y in example.best(w, k, 0.0):
            if example.differences[y] @ w <= 0:
                w = w + example.weight * example.differences[y]
    return w


def passive_aggressive(examples, epochs, k, C, w):
    """PA-I for the k best structures, one after the other (eq. 3.14 to 3.18)."""
    for example in [e for _ in range(epochs) for e in examples]:
        for y in example.best(w, k, 1.0):
            d, loss = example.differences[y], example.hinge(w, y)
            if loss > 0 and d.any():
                w = w + min(loss / (d @ d), C * example.weight) * d
    return w


def restricted_passive_aggressive(examples, w, C, k):
    """One pass of algorithm 5 (RPA); returns w and, for each update, the example, the structure and the prediction."""
    updates = []
    for example in examples:
        for y in [y for y in example.best(w, k, 1.0) if y != example.gold]:
            prediction = example.best(w, 1, 0.0)[0]
            loss = example.hinge(w, y)
            if loss > 0 and loses_no_less(example, w, y, prediction):
                d = example.differences[y]
                w = w + min(loss / (d @ d), C) * d
                updates.append((example, y, prediction))
    return w, updates
