"""Inference over any semiring (Mančev 2015, 2.4.1): the seven rows of Table 2.2, and user-defined ones.

A semiring adds alternatives with ``plus`` and joins parts with ``times``. ``lift`` makes an element, the local kernel
u_t of eq. 2.28, from the score of one edge. `forward` and `forward_backward` use the same recursion for every semiring.
The named scalar semirings and `k_best` run in the core; others call Python for every edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.chain import Chain
from trelliswork.structures.results import Forward, ForwardBackward

__all__ = [
    "LOG",
    "MAX_PLUS",
    "MAX_PRODUCT",
    "SUM_PRODUCT",
    "Semiring",
    "cost_augmented",
    "expectation",
    "forward",
    "forward_backward",
    "k_best",
]


@dataclass(frozen=True)
class Semiring:
    """A semiring (Definition 1) with the function that makes its elements from scores.

    Parameters
    ----------
    plus, times : callable
        Both associative, ``plus`` commutative, ``times`` distributing over ``plus``.
    zero, one
        Their identities; ``times`` with ``zero`` gives ``zero``.
    lift : callable
        ``lift(score, position, previous, label)`` makes the element of an edge. ``previous`` is -1 at the first
        position; end scores have ``position = T`` and ``label = -1``.

    Examples
    --------
    The number of possible labellings:

    >>> count = Semiring(lambda a, b: a + b, lambda a, b: a * b, 0, 1, lambda score, *where: int(score > -np.inf))
    >>> chain = Chain([[0.0, 0.0]] * 10, [[0.0, -np.inf], [0.0, 0.0]])
    >>> forward(chain, count).total
    11
    """

    plus: Callable[[Any, Any], Any]
    times: Callable[[Any, Any], Any]
    zero: Any
    one: Any
    lift: Callable[[float, int, int, int], Any]
    core: Any = None
    """How the core knows it: a name, or k for `k_best`; None for a semiring made of Python functions."""


def _plain(score: float, position: int, previous: int, label: int) -> float:
    return score


def _exponential(score: float, position: int, previous: int, label: int) -> float:
    return float(np.exp(score))


SUM_PRODUCT = Semiring(lambda a, b: a + b, lambda a, b: a * b, 0.0, 1.0, _exponential, "sum-product")
"""Row 1: sums of products of exp(score). It can overflow; `LOG` cannot."""

MAX_PRODUCT = Semiring(max, lambda a, b: a * b, 0.0, 1.0, _exponential, "max-product")
"""Row 2: the probability of the best derivation, for scores that are log-probabilities."""

MAX_PLUS = Semiring(max, lambda a, b: a + b, -np.inf, 0.0, _plain, "max-plus")
"""Row 3: the score of the best derivation (Viterbi)."""

LOG = Semiring(lambda a, b: float(np.logaddexp(a, b)), lambda a, b: a + b, -np.inf, 0.0, _plain, "log")
"""Row 6: sum-product in the log domain (eq. 2.48-2.49)."""

_NAMED = {ring.core: ring for ring in (SUM_PRODUCT, MAX_PRODUCT, MAX_PLUS, LOG)}


def cost_augmented(gold: npt.ArrayLike, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Semiring:
    """Return row 4: max-plus with ``scale`` times the cost against ``gold`` added to its elements (eq. 2.40).

    The cost changes the elements, not the semiring: ``chain.augmented(gold, cost, scale)`` with `MAX_PLUS` gives the
    same.

    Examples
    --------
    >>> chain = Chain([[0.5, 0.0]], [[0.0, 0.0], [0.0, 0.0]])
    >>> forward(chain, cost_augmented([0])).total
    1.0
    """
    right = np.asarray(gold)
    factor = checks.as_scale(scale)
    matrix = None if isinstance(cost, str) and cost == "hamming" else checks.as_cost(cost, len(np.asarray(cost)))

    def lift(score: float, position: int, previous: int, label: int) -> float:
        if label < 0:
            return score
        if not 0 <= position < len(right):
            raise InvalidInput(f"gold has {len(right)} labels but the chain has a position {position}.")
        y = right[position]
        return score + factor * float(y != label if matrix is None else matrix[y, label])

    return Semiring(max, lambda a, b: a + b, -np.inf, 0.0, lift)


def k_best(k: int) -> Semiring:
    """Return row 5: the scores of the ``k`` best derivations, as tuples best first (eq. 2.42).

    Examples
    --------
    >>> chain = Chain([[2.0, 0.0], [0.0, 1.0]], [[0.0, -3.0], [0.0, 0.0]])
    >>> forward(chain, k_best(3)).total
    (2.0, 1.0, 0.0)
    """
    k = checks.as_count("k", k)

    def best(scores: list[float]) -> tuple[float, ...]:
        return tuple(sorted(scores, reverse=True)[:k])

    return Semiring(
        plus=lambda a, b: best([*a, *b]),
        times=lambda a, b: best([x + y for x in a for y in b]),
        zero=(),
        one=(0.0,),
        lift=lambda score, *where: () if score == -np.inf else (score,),
        core=k,
    )


def expectation(features: Callable[[int, int, int], npt.ArrayLike]) -> Semiring:
    """Return row 7: pairs (z, h), the total and its gradient in one forward pass.

    ``h / z`` of the total is the expected feature vector. `ExpectationPass` is a fast, rescaled version.

    Parameters
    ----------
    features : callable
        ``features(position, previous, label)`` returns the feature vector of an edge; all have the same length.

    Examples
    --------
    >>> label_counts = expectation(lambda position, previous, label: np.eye(2)[label] if label >= 0 else np.zeros(2))
    >>> z, h = forward(Chain([[0.0, 0.0]] * 3, [[0.0, 0.0], [0.0, 0.0]]), label_counts).total
    >>> (h / z).tolist()
    [1.5, 1.5]
    """

    def lift(score: float, position: int, previous: int, label: int) -> tuple[float, Any]:
        weight = float(np.exp(score))
        return weight, weight * np.asarray(features(position, previous, label), dtype=np.float64)

    return Semiring(
        plus=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        times=lambda a, b: (a[0] * b[0], a[0] * b[1] + b[0] * a[1]),
        zero=(0.0, 0.0),
        one=(1.0, 0.0),
        lift=lift,
    )


def forward(chain: Chain, semiring: Semiring | str) -> Forward:
    """Solve the normalisation problem (eq. 2.30) by the forward recursion (eq. 2.31-2.32).

    Parameters
    ----------
    chain : Chain
        Scores of the edges.
    semiring : Semiring or str
        A semiring, or the name of one: "sum-product", "max-product", "max-plus", "log".

    Returns
    -------
    Forward
        ``total`` and ``alpha``. ``alpha`` has shape (T, K): the sum over the labels before, including the label's own
        score. It is an array of floats for the scalar semirings of the core, of objects for others.

    Examples
    --------
    >>> chain = Chain([[2.0, 0.0], [0.0, 1.0]], [[0.0, -3.0], [0.0, 0.0]])
    >>> forward(chain, "max-plus").total
    2.0
    """
    ring = _as_semiring(semiring)
    if chain.n_positions == 0:
        return Forward(ring.one, np.empty((0, chain.n_labels)))
    values = _vectors(chain, ring, reverse=False)
    total = float(values[-1]) if isinstance(values, np.ndarray) else values[-1]
    return Forward(total, _by_position(values, chain))


def forward_backward(chain: Chain, semiring: Semiring | str) -> ForwardBackward:
    """Solve the normalisation and the marginalisation problem (eq. 2.29-2.36) over a semiring.

    Returns
    -------
    ForwardBackward
        ``total`` and ``alpha`` as in `forward`; ``beta``, (T, K), the sum over the labels after; and ``edges``,
        (T - 1, K, K), which joins alpha, edge and beta (eq. 2.35).

    Examples
    --------
    >>> chain = Chain([[2.0, 0.0], [0.0, 1.0]], [[0.0, -3.0], [0.0, 0.0]])
    >>> forward_backward(chain, "max-plus").edges.tolist()
    [[[2.0, 0.0], [0.0, 1.0]]]
    """
    ring = _as_semiring(semiring)
    T, K = chain.n_positions, chain.n_labels
    total, alpha = forward(chain, ring)
    beta = _by_position(_vectors(chain, ring, reverse=True), chain) if T else np.empty((0, K))
    edges = np.empty((max(T - 1, 0), K, K), dtype=alpha.dtype)
    for t in range(1, T):
        moves = chain.transitions if chain.transitions.ndim == 2 else chain.transitions[t - 1]
        for a, b in np.ndindex(K, K):
            element = ring.lift(float(moves[a, b] + chain.unary[t, b]), t, a, b)
            edges[t - 1, a, b] = ring.times(ring.times(alpha[t - 1, a], element), beta[t, b])
    return ForwardBackward(total, alpha, beta, edges)


def _as_semiring(semiring: Semiring | str) -> Semiring:
    if isinstance(semiring, Semiring):
        return semiring
    if isinstance(semiring, str) and semiring in _NAMED:
        return _NAMED[semiring]
    raise InvalidInput(f"semiring must be a Semiring or one of {sorted(_NAMED)}; found {semiring!r}.")


def _vectors(chain: Chain, ring: Semiring, reverse: bool) -> Any:
    """Return the recursion's value at every node: the labels position by position, the end."""
    core = chain._batch._core
    if isinstance(ring.core, str):
        return _core.scalar_vectors(core, ring.core, reverse)
    if ring.core is not None:
        return [tuple(value) for value in _core.kbest_vectors(core, ring.core, reverse)]
    return _core.python_vectors(core, ring.plus, ring.times, ring.zero, ring.one, ring.lift, reverse)


def _by_position(values: Any, chain: Chain) -> npt.NDArray[Any]:
    shape = (chain.n_positions, chain.n_labels)
    if isinstance(values, np.ndarray):
        return values[:-1].reshape(shape)
    out = np.empty(len(values) - 1, dtype=object)
    for i, value in enumerate(values[:-1]):
        out[i] = value
    return out.reshape(shape)
