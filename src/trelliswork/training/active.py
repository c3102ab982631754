r"""Active learning: which sequences a person should label next, and a simulation of what it brings.

A model says of each unlabelled sequence how much its label would be worth; the sequences with the highest scores go to
a person. With p(y | x) by the model and :math:`\hat y^{(1)}, \hat y^{(2)}, \dots` its best labellings:

======================  ==========================================================================================
strategy                score of a sequence x with T tokens
======================  ==========================================================================================
``least_confidence``    :math:`1 - p(\hat y^{(1)} | x)` (Culotta and McCallum 2005)
``margin``              :math:`1 - (p(\hat y^{(1)} | x) - p(\hat y^{(2)} | x))` (Scheffer et al. 2001)
``nbest_entropy``       :math:`-\sum_i q_i \log q_i` over the k best, :math:`q_i` their probabilities, normalised
                        (Kim et al. 2006)
``log_probability``     :math:`-\log p(\hat y^{(1)} | x) / T`: least confidence without a preference for long ones
``token_entropy``       :math:`-\sum_t \sum_l p(y_t = l | x) \log p(y_t = l | x)` (Settles and Craven 2008)
``random``              drawn at random: what the others are to be compared with
======================  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import listed
from trelliswork.errors import InvalidInput
from trelliswork.models.confidence import ranked_by_probability
from trelliswork.structures import checks
from trelliswork.training.cloning import cloned

__all__ = ["STRATEGIES", "Round", "choose", "scores", "simulate"]

FloatArray = npt.NDArray[np.float64]


class Round(NamedTuple):
    """A point of a simulation: how many sequences and tokens were labelled, and the score that a model then had.

    Examples
    --------
    >>> Round(sequences=100, tokens=2900, score=0.61).tokens
    2900
    """

    sequences: int
    tokens: int
    score: float


def scores(
    estimator: Any, X: Any, strategy: str = "least_confidence", *, k: int = 10, random_state: int | None = None
) -> FloatArray:
    """Return how much the labels of each sequence would be worth to a model; higher is more.

    Parameters
    ----------
    estimator : SequenceLabeler, HMM, Committee or their like
        A trained model, whose scores are log-probabilities.
    X : iterable of n sequences
        Sequences without labels.
    strategy : str
        One of the names above.
    k : int
        How many of the best labellings ``nbest_entropy`` looks at.
    random_state : int, optional
        The seed of ``random``.

    Returns
    -------
    array (n,)

    Examples
    --------
    >>> import trelliswork as tw
    >>> corpus = tw.corpora.ingredients()
    >>> tagger = tw.SequenceLabeler().fit(corpus.X_train[:50], corpus.y_train[:50])
    >>> pool = [["2", "cups", "sugar"], ["a", "good", "grinding", "of", "black", "pepper"]]
    >>> easy, hard = tw.active.scores(tagger, pool, "nbest_entropy")
    >>> bool(easy < hard)
    True
    """
    k = checks.as_count("k", k)
    return _checked_strategy(strategy)(estimator, listed(X), k, random_state)


def choose(
    estimator: Any,
    X: Any,
    n: int | None = None,
    strategy: str = "least_confidence",
    *,
    n_tokens: int | None = None,
    k: int = 10,
    random_state: int | None = None,
) -> list[int]:
    """Return the positions of the sequences to label next, the most valuable first.

    Parameters
    ----------
    estimator, X, strategy, k, random_state
        As for `scores`.
    n : int, optional
        How many sequences at most.
    n_tokens : int, optional
        How many tokens at most, in all: effort goes with their number. The first sequence is taken whatever its length.

    Examples
    --------
    >>> import trelliswork as tw
    >>> corpus = tw.corpora.ingredients()
    >>> tagger = tw.SequenceLabeler().fit(corpus.X_train[:50], corpus.y_train[:50])
    >>> pool = [["2", "cups", "sugar"], ["a", "good", "grinding", "of", "black", "pepper"], ["1", "egg"]]
    >>> tw.active.choose(tagger, pool, 1)
    [1]
    """
    X = listed(X)
    worth = scores(estimator, X, strategy, k=k, random_state=random_state)
    order: list[int] = np.argsort(-worth, kind="stable").tolist()
    if n is not None:
        order = order[: checks.as_count("n", n)]
    if n_tokens is not None:
        total = np.cumsum([_length(X[i]) for i in order])
        n_kept = int(np.searchsorted(total, checks.as_count("n_tokens", n_tokens), side="right"))
        order = order[: max(n_kept, 1)]
    return order


def simulate(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    strategy: str = "least_confidence",
    *,
    start: int = 50,
    n_tokens: int = 1000,
    rounds: int = 10,
    k: int = 10,
    random_state: int = 0,
) -> list[Round]:
    """Return what active learning would have brought on data that are labelled already.

    A model learns from ``start`` sequences drawn at random, chooses ``n_tokens`` tokens' worth of others, a new one
    learns from both, and so on.

    Parameters
    ----------
    estimator : estimator
        What is trained afresh in every round; its ``score`` is what is measured.
    X, y : lists of sequences and of their labels
        The pool: labels count as unknown until their sequence is chosen.
    X_test, y_test
        What every model is scored on.
    strategy, k
        As for `scores`.
    start : int
        How many sequences are labelled at first.
    n_tokens : int
        How many tokens are labelled between two rounds.
    rounds : int
        How many times; it ends earlier if nothing is left.
    random_state : int
        The seed of the first sequences, and of ``"random"``.

    Returns
    -------
    list of Round
        The first is that of the sequences drawn at random.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X_train, y_train, X_test, y_test = tw.corpora.ingredients()
    >>> tagger = tw.SequenceLabeler()
    >>> steps = tw.active.simulate(tagger, X_train, y_train, X_test, y_test, start=30, n_tokens=200, rounds=2)
    >>> [step.sequences for step in steps][0], len(steps)
    (30, 3)
    """
    X, y = listed(X), list(y)
    if len(X) != len(y):
        raise InvalidInput(f"y has {len(y)} label lists but X has {len(X)} sequences. Each sequence needs its own.")
    start = min(checks.as_count("start", start), len(X))
    rng = np.random.default_rng(random_state)
    labelled = rng.permutation(len(X))[:start].tolist()
    done: list[Round] = []
    for number in range(checks.as_count("rounds", rounds, least=0) + 1):
        model = cloned(estimator).fit([X[i] for i in labelled], [y[i] for i in labelled])
        tokens = sum(_length(X[i]) for i in labelled)
        done.append(Round(len(labelled), tokens, float(model.score(X_test, y_test))))
        pool = np.setdiff1d(np.arange(len(X)), labelled).tolist()
        if number == rounds or not pool:
            break
        unlabelled = [X[i] for i in pool]
        seed = int(rng.integers(2**31))
        chosen = choose(model, unlabelled, strategy=strategy, n_tokens=n_tokens, k=k, random_state=seed)
        labelled += [pool[i] for i in chosen]
    return done


def _least_confidence(estimator: Any, X: Any, k: int, seed: int | None) -> FloatArray:
    return np.array([-np.expm1(ranked[0][1]) for ranked in ranked_by_probability(estimator, X, 1)])


def _margin(estimator: Any, X: Any, k: int, seed: int | None) -> FloatArray:
    best = (_probabilities(ranked) for ranked in ranked_by_probability(estimator, X, 2))
    return np.array([1.0 - (p[0] - p[1:].sum()) for p in best])


def _nbest_entropy(estimator: Any, X: Any, k: int, seed: int | None) -> FloatArray:
    shares = (_probabilities(ranked, ranked[0][1]) for ranked in ranked_by_probability(estimator, X, k))
    return np.array([_entropy(q / q.sum()) for q in shares])


def _log_probability(estimator: Any, X: Any, k: int, seed: int | None) -> FloatArray:
    found = ((ranked[0][1], len(ranked[0][0])) for ranked in ranked_by_probability(estimator, X, 1))
    return np.array([-log_prob / max(length, 1) for log_prob, length in found])


def _token_entropy(estimator: Any, X: Any, k: int, seed: int | None) -> FloatArray:
    return np.array([_entropy(table) for table in estimator.predict_marginals(X)])


def _random(estimator: Any, X: Any, k: int, seed: int | None) -> FloatArray:
    return np.random.default_rng(seed).random(len(X))


STRATEGIES: dict[str, Callable[[Any, Any, int, int | None], FloatArray]] = {
    "least_confidence": _least_confidence,
    "margin": _margin,
    "nbest_entropy": _nbest_entropy,
    "log_probability": _log_probability,
    "token_entropy": _token_entropy,
    "random": _random,
}


def _checked_strategy(strategy: Any) -> Callable[[Any, Any, int, int | None], FloatArray]:
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise InvalidInput(f"strategy is {strategy!r}; expected one of {', '.join(map(repr, STRATEGIES))}.")
    return STRATEGIES[strategy]


def _probabilities(ranked: Iterable[tuple[Any, float]], shift: float = 0.0) -> FloatArray:
    return np.exp(np.array([score for _, score in ranked]) - shift)


def _entropy(p: FloatArray) -> float:
    positive = p[p > 0]
    return max(0.0, -float(positive @ np.log(positive)))


def _length(x: Any) -> int:
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)
