r"""Confidence of a model in its answers: in each label, in the labels around it, in the whole sequence.

From a list of the n best labellings, the confidence of a label is the share of the list that agrees with it
(Mejer and Crammer 2010; Mančev 2015, eq. 4.1), and that of a context the product over its positions (eq. 4.2):

.. math:: \nu_t = |\{i : y^{(i)}_t = \hat y_t\}| / n, \qquad c_t = \prod_{i \in C_t} \nu_i

Any model that ranks labellings has such a list, even if its scores are not probabilities. If they are, the exact
marginals are the limit of a list of all labellings, each with its probability. A third measure is the distance to the
best labelling with another label at a position (the "delta" of Mejer and Crammer). Its order does not depend on the
scale of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import listed
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks

__all__ = ["CONFIDENCES", "Confidence", "confidence", "over_context", "ranked_by_probability"]

FloatArray = npt.NDArray[np.float64]
Ranked = Sequence[tuple[list[Any], float]]  # labellings with their scores, best first


class Confidence(NamedTuple):
    """The predicted labels of one sequence, and confidences between 0 and 1.

    ``label[t]`` is the confidence in a label, ``context[t]`` in the labels around it, ``sequence`` in all labels.

    Examples
    --------
    >>> Confidence(["D", "N"], np.array([1.0, 0.8]), np.array([0.8, 0.8]), 0.8).labels
    ['D', 'N']
    """

    labels: list[Any]
    label: FloatArray
    context: FloatArray
    sequence: float


def confidence(estimator: Any, X: Any, method: str = "kbest", k: int = 5, context: int = 1) -> list[Confidence]:
    """Return the predicted labels of a model with its confidence in them.

    Parameters
    ----------
    estimator : SequenceLabeler, HMM, Committee or their like
        A trained model with ``predict_kbest``; for ``"marginals"`` also with ``predict_marginals``, for ``"margins"``
        with ``predict_max_marginals``.
    X : iterable of sequences
    method : {"kbest", "weighted", "margins", "marginals"}
        How to compute confidence. ``"kbest"``: from the ``k`` best labellings with equal weights (Mančev 2015, eq.
        4.1); for a sequence, the product over all its labels. ``"weighted"``: from the ``k`` best weighted by their
        probabilities; for a sequence, the share of the best among them. ``"margins"``: d / (1 + d), where d is the
        exact lead of the best labelling over the best one with another label at the position; for a sequence, over the
        second best. ``"marginals"``: the exact p(label | x) and p(labels | x).
    k : int
        The length of the list; it is shorter when fewer labellings exist.
    context : int
        Number of neighbours on either side in the context of a label (eq. 4.2, where it is 1).

    Returns
    -------
    list of Confidence

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["dogs", "bark"]]
    >>> tagger = tw.SequenceLabeler().fit(X, [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]])
    >>> found = tw.confidence(tagger, [["the", "cat", "sings"]], k=4)[0]
    >>> found.labels, found.label.tolist(), found.context.tolist(), found.sequence
    (['D', 'N', 'V'], [0.75, 1.0, 0.5], [0.75, 0.375, 0.5], 0.375)
    >>> tw.confidence(tagger, [["the", "cat", "sings"]], method="marginals")[0].label.round(2).tolist()
    [0.81, 0.8, 0.69]
    """
    if not isinstance(method, str) or method not in CONFIDENCES:
        raise InvalidInput(f"method is {method!r}; expected one of {', '.join(map(repr, CONFIDENCES))}.")
    k, context = checks.as_count("k", k), checks.as_count("context", context, least=0)
    answers = CONFIDENCES[method](estimator, listed(X), k)
    return [Confidence(labels, own, over_context(own, context), whole) for labels, own, whole in answers]


def over_context(own: FloatArray, context: int) -> FloatArray:
    """Return the products of the confidences of each label and of ``context`` neighbours on either side (eq. 4.2).

    Neighbours outside of the sequence are ignored.

    Examples
    --------
    >>> over_context(np.array([0.5, 1.0, 1.0, 0.2]), 1).tolist()
    [0.5, 0.5, 0.2, 0.2]
    """
    product = own.copy()
    for offset in range(1, min(context, len(own) - 1) + 1):
        product[offset:] *= own[:-offset]
        product[:-offset] *= own[offset:]
    return product


def _agreement(estimator: Any, X: Any, k: int) -> Iterable[tuple[list[Any], FloatArray, float]]:
    for ranked in _ranked(estimator, X, k):
        own = _agreeing(ranked).mean(axis=0)
        yield ranked[0][0], own, float(own.prod())


def _weighted_agreement(estimator: Any, X: Any, k: int) -> Iterable[tuple[list[Any], FloatArray, float]]:
    for ranked in estimator.predict_kbest(X, k):
        scores = np.array([score for _, score in ranked])
        share = np.exp(scores - scores[0])
        share /= share.sum()
        # Not a plain sum: one that should be 1 must not end up beside it.
        yield ranked[0][0], 1.0 - share @ ~_agreeing(ranked), float(share[0])


def _marginals(estimator: Any, X: Any, k: int) -> Iterable[tuple[list[Any], FloatArray, float]]:
    column = {label: i for i, label in enumerate(estimator.classes_.tolist())}
    for ranked, table in zip(ranked_by_probability(estimator, X, 1), estimator.predict_marginals(X), strict=True):
        labels, log_prob = ranked[0]
        own = table[np.arange(len(labels)), [column[label] for label in labels]]
        yield labels, np.minimum(own, 1.0), float(np.exp(log_prob))


def _margins(estimator: Any, X: Any, k: int) -> Iterable[tuple[list[Any], FloatArray, float]]:
    column = {label: i for i, label in enumerate(estimator.classes_.tolist())}
    for ranked, best in zip(_ranked(estimator, X, 2), estimator.predict_max_marginals(X), strict=True):
        labels = ranked[0][0]
        places = np.arange(len(labels)), [column[label] for label in labels]
        own = best[places]
        best[places] = -np.inf
        second = ranked[1][1] if len(ranked) > 1 else -np.inf
        yield labels, _ahead(own - best.max(axis=1, initial=-np.inf)), float(_ahead(ranked[0][1] - second))


def _ranked(estimator: Any, X: Any, k: int) -> list[Ranked]:
    """The ``k`` best labellings, for their order or their distances: scores need be no probabilities for that."""
    ranked: list[Ranked] = getattr(estimator, "_ranked", estimator.predict_kbest)(X, k)
    return ranked


def _ahead(distance: Any) -> Any:
    """A distance as a number from 0 to 1. A logistic would be 1 from 37 on, where scores of a perceptron only begin."""
    return 1.0 - 1.0 / (1.0 + np.maximum(distance, 0.0))


def ranked_by_probability(estimator: Any, X: Any, k: int) -> list[Ranked]:
    """Return the ``k`` best labellings of each sequence with log p(y | x), whatever score a model gives them."""
    lists: list[Ranked] = estimator.predict_kbest(X, k)
    if not hasattr(estimator, "log_likelihood"):
        return lists
    # A generative model scores tokens and labels together: p(y | x) = p(x, y) / p(x).
    totals = estimator.log_likelihood(X).tolist()
    return [
        [(labels, min(score - total, 0.0)) for labels, score in ranked]
        for ranked, total in zip(lists, totals, strict=True)
    ]


def _agreeing(ranked: Ranked) -> npt.NDArray[np.bool_]:
    """Which labels of each labelling are those of the best, (n, T)."""
    codes: dict[Any, int] = {}
    rows = np.array([[codes.setdefault(label, len(codes)) for label in labels] for labels, _ in ranked])
    agreeing: npt.NDArray[np.bool_] = rows == rows[0]
    return agreeing


_Method = Callable[[Any, Any, int], Iterable[tuple[list[Any], FloatArray, float]]]

CONFIDENCES: dict[str, _Method] = {
    "kbest": _agreement,
    "weighted": _weighted_agreement,
    "margins": _margins,
    "marginals": _marginals,
}
