"""Small random training sets, and their loss by enumeration: every labelling of every sequence, scored one by one.

The reference knows attributes, not units, and numbers nothing: weights are dictionaries from what they belong to. They
reach the oracle as the tensors of a model (`weights_from`).
"""

import itertools
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from trelliswork import _core


@dataclass
class Problem:
    """Sequences of tokens: ``{key: value}`` lists for labels and for pairs, allowed labels, weights, and settings."""

    n_labels: int
    label: list[list[list[tuple[int, float]]]]
    pair: list[list[list[tuple[int, float]]]]
    allowed: list[list[set[int]]]  # empty: any label
    sequence_weight: np.ndarray | None = None
    token_weight: list[np.ndarray] | None = None
    min_count: int = 1
    combinations: str = "seen"
    transitions: bool = True
    constraints: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    cost: np.ndarray | None = None
    scale: float = 0.0
    hash_bits: int = 0
    order: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))


FLAGS = ["valued", "pairs", "partial", "sequence_weight", "token_weight", "constraints", "cost", "hashed", "repeated"]
FAST_FLAGS = ["valued", "sequence_weight", "constraints", "cost", "hashed", "repeated"]


@st.composite
def problems(draw, flags=FLAGS, max_labels=3, max_length=4):
    seed = draw(st.integers(0, 2**31))
    chosen = {flag for flag in flags if draw(st.booleans())}
    combinations = draw(st.sampled_from(["seen", "transitions", "all"]))
    return random_problem(
        seed,
        chosen,
        n_labels=draw(st.integers(1, max_labels)),
        n_sequences=draw(st.integers(1, 6)),
        max_length=max_length,
        combinations=combinations,
        min_count=draw(st.sampled_from([1, 1, 2])),
        transitions=draw(st.booleans()),
    )


def random_problem(seed, flags=(), n_labels=3, n_sequences=4, max_length=4, vocabulary=7, per_token=4, **settings):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, size=vocabulary, dtype=np.uint64)
    twins = set(keys[::2].tolist())  # always with another attribute: these make units of two
    lengths = rng.integers(0, max_length + 1, size=n_sequences)

    def token(n):
        names = rng.choice(keys, size=rng.integers(0, n + 1), replace="repeated" in flags).tolist()
        names += [key ^ 1 << 63 for key in names if key in twins]
        values = rng.choice([1.0, 1.0, 0.5, -1.5], size=len(names)) if "valued" in flags else np.ones(len(names))
        return list(zip(names, values.tolist(), strict=True))

    def allowed():
        if "partial" not in flags or rng.random() < 0.4:
            return {int(rng.integers(n_labels))}
        return set(rng.choice(n_labels, size=rng.integers(0, n_labels + 1), replace=False).tolist())

    problem = Problem(
        n_labels,
        [[token(per_token) for _ in range(n)] for n in lengths],
        [[token(2) if "pairs" in flags else [] for _ in range(n)] for n in lengths],
        [[allowed() for _ in range(n)] for n in lengths],
        hash_bits=2 if "hashed" in flags else 0,
        order=rng.permutation(n_labels).astype(np.int32),
        **settings,
    )
    if "sequence_weight" in flags:
        problem.sequence_weight = rng.uniform(0, 3, n_sequences)
    if "token_weight" in flags:
        problem.token_weight = [rng.uniform(0, 2, n) for n in lengths]
    if "cost" in flags:
        problem.cost = rng.uniform(0, 2, (n_labels, n_labels))
        np.fill_diagonal(problem.cost, 0.0)
        problem.scale = float(rng.uniform(0.1, 2))
    if "constraints" in flags:
        problem.constraints = constraints_that_allow_the_gold(rng, problem)
    return problem


def constraints_that_allow_the_gold(rng, problem):
    n = problem.n_labels
    moves, start, end = rng.random((n, n)) < 0.5, rng.random(n) < 0.5, rng.random(n) < 0.5
    for sequence in problem.allowed:
        path = [min(labels, default=0) for labels in sequence]
        for a, b in itertools.pairwise(path):
            moves[a, b] = True
        if path:
            start[path[0]] = end[path[-1]] = True
    return moves, start, end


# To the library.


def source(problem):
    def lists(tokens):
        flat = [token for sequence in tokens for token in sequence]
        starts = np.cumsum([0, *map(len, flat)], dtype=np.int64)
        keys = np.array([key for token in flat for key, _ in token], dtype=np.uint64)
        return starts, keys, np.array([value for token in flat for _, value in token], dtype=np.float32)

    starts, keys, values = lists(problem.label)
    pair_starts, pair_keys, pair_values = lists(problem.pair)
    lengths = np.array([len(sequence) for sequence in problem.label], dtype=np.int64)
    return _core.KeySource(
        lengths, starts, keys, values if len(values) else None, pair_starts, pair_keys,
        pair_values if len(pair_values) else None,
    )  # fmt: skip


def examples(problem, n_jobs=1):
    """Codes are labels shuffled: ``order`` brings them back."""
    code = np.argsort(problem.order)
    flat = [sorted(labels) for sequence in problem.allowed for labels in sequence]
    codes = np.array([code[label] for labels in flat for label in labels], dtype=np.int32)
    starts = np.cumsum([0, *map(len, flat)], dtype=np.int64)
    made = _core.Examples(problem.hash_bits, True)
    made.add(
        source(problem),
        codes,
        None if all(len(labels) == 1 for labels in flat) else starts,
        problem.sequence_weight,
        None if problem.token_weight is None else np.concatenate([*problem.token_weight, np.zeros(0)]),
        n_jobs,
    )
    return made


class ScaledOracle(_core.ChainOracle):
    """Asked with the problem's scale of the cost unless another is given."""

    scale = 0.0

    def loss(self, weights, gradient, n_jobs=1, precise=True):
        return super().loss(weights, gradient, n_jobs, precise, nu=self.scale)

    def curvature(self, weights, diagonal, n_jobs=1):
        super().curvature(weights, diagonal, n_jobs, nu=self.scale)


def oracle(problem, general=False, n_jobs=1, best=False, by_member=False, earlier=None, rounded=False):
    moves, start, end = problem.constraints or (None, None, None)
    made = ScaledOracle(
        examples(problem, n_jobs),
        problem.n_labels,
        problem.order,
        problem.min_count,
        problem.combinations,
        problem.transitions,
        None if moves is None else moves.astype(np.uint8),
        None if start is None else start.astype(np.uint8),
        None if end is None else end.astype(np.uint8),
        problem.cost,
        "rounded" if rounded else "best" if best else "general" if general else "fast",
        by_member=by_member,
        earlier=earlier,
    )
    made.scale = problem.scale
    return made


# The reference.


def key_of(problem, key):
    return key >> (64 - problem.hash_bits) if problem.hash_bits else key


def features(problem):
    """Everything that has a weight: ``("label", key, y)``, ``("pair", key, a, b)``, ``("move", a, b)``."""
    n, found = problem.n_labels, set()
    possible = np.ones((n, n), bool) if problem.constraints is None else problem.constraints[0]
    for kind, tokens in (("label", problem.label), ("pair", problem.pair)):
        counts = {}
        for key, _ in (entry for sequence in tokens for token in sequence for entry in token):
            counts[key_of(problem, key)] = counts.get(key_of(problem, key), 0) + 1
        for sequence, labels in zip(tokens, problem.allowed, strict=True):
            for t, token in enumerate(sequence):
                for key in {key_of(problem, key) for key, _ in token}:
                    if counts[key] < problem.min_count:
                        continue
                    every = problem.combinations in ("all", "grown")
                    if kind == "label":
                        found |= {("label", key, y) for y in (range(n) if every else labels[t])}
                    elif every or t > 0:
                        before, here = (range(n), range(n)) if every else (labels[t - 1], labels[t])
                        found |= {("pair", key, a, b) for a in before for b in here if possible[a, b]}
    if problem.transitions:
        if problem.combinations == "seen":
            pairs = {
                (a, b)
                for labels in problem.allowed
                for before, here in itertools.pairwise(labels)
                for a in before
                for b in here
            }
        else:
            pairs = set(itertools.product(range(n), repeat=2))
        found |= {("move", a, b) for a, b in pairs if possible[a, b]}
    return sorted(found)


def random_weights(problem, seed, size=1.0):
    rng = np.random.default_rng(seed)
    return {feature: float(np.float32(rng.normal(0, size))) for feature in features(problem)}


def expected_loss(problem, weights):
    total = 0.0
    for s in range(len(problem.label)):
        factor = 1.0 if problem.sequence_weight is None else problem.sequence_weight[s]
        total += factor * sequence_loss(problem, s, weights)
    return total


def sequence_loss(problem, s, weights):
    """Minus the sum of v_t (F_t - F_{t-1}), each F by enumeration."""
    length = len(problem.label[s])
    paths = list(itertools.product(range(problem.n_labels), repeat=length))
    scores = np.array([score(problem, s, path, weights) for path in paths])
    v = np.ones(length) if problem.token_weight is None else problem.token_weight[s]
    fits = [[not labels or y in labels for y, labels in zip(path, problem.allowed[s], strict=True)] for path in paths]
    totals = [np.logaddexp.reduce(np.where([all(fit[:t]) for fit in fits], scores, -np.inf)) for t in range(length + 1)]
    return -sum(v[t] * (totals[t + 1] - totals[t]) for t in range(length))


def score(problem, s, path, weights):
    total = 0.0
    for t, y in enumerate(path):
        for key, value in problem.label[s][t]:
            total += value * weights.get(("label", key_of(problem, key), y), 0.0)
        labels = problem.allowed[s][t]
        if labels and y not in labels and problem.scale:
            total += problem.scale * min(problem.cost[gold, y] for gold in labels)
        if t > 0:
            total += weights.get(("move", path[t - 1], y), 0.0)
            for key, value in problem.pair[s][t]:
                total += value * weights.get(("pair", key_of(problem, key), path[t - 1], y), 0.0)
    if problem.constraints is not None and path:
        moves, start, end = problem.constraints
        steps_allowed = all(moves[a, b] for a, b in itertools.pairwise(path))
        if not (start[path[0]] and end[path[-1]] and steps_allowed):
            return -np.inf
    return total


def as_tensors(problem, weights):
    """The tensors of a model with these weights: all that `weights_from` reads."""
    n = problem.n_labels
    moves = np.zeros((n, n), np.float32)
    by_kind = {"label": {}, "pair": {}}
    for (kind, *rest), weight in weights.items():
        if kind == "move":
            moves[tuple(rest)] = weight
        else:
            label = rest[1] if kind == "label" else rest[1] * n + rest[2]
            by_kind[kind].setdefault(rest[0], []).append((label, weight))
    tensors = {"channel.transitions.weights": moves.ravel()}
    for kind, prefix in (("label", "channel.token."), ("pair", "channel.pair.")):
        attributes = by_kind[kind]
        if kind == "pair" and not attributes:
            continue
        order = range(2**problem.hash_bits) if problem.hash_bits else list(attributes)
        runs = [attributes.get(key, []) for key in order]
        tensors[prefix + "starts"] = np.cumsum([0, *map(len, runs)]).astype(np.uint32)
        tensors[prefix + "codes"] = np.array([label for run in runs for label, _ in run], np.uint16)
        tensors[prefix + "weights"] = np.array([weight for run in runs for _, weight in run], np.float32)
        if not problem.hash_bits:
            tensors[prefix + "keys"], tensors[prefix + "slots"] = key_table(order)
    return tensors


def key_table(keys):
    """Open addressing by the top bits, as core/linear/key_table.hpp says."""
    bits = (len(keys) + len(keys) // 3).bit_length()
    table, slots = np.zeros(2**bits, np.uint64), np.full(2**bits, 0xFFFFFFFF, np.uint32)
    for number, key in enumerate(keys):
        i = key >> (64 - bits) if bits else 0
        while slots[i] != 0xFFFFFFFF:
            i = (i + 1) % 2**bits
        table[i], slots[i] = key, number
    return table, slots
