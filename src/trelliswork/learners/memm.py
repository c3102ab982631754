"""The maximum-entropy Markov model: a chain normalised step by step, for comparison with the CRF.

    p(y | x) = prod_t p(y_t | y_{t-1}, x),     p(b | a, x) = exp(s_t(a, b)) / sum over b' of exp(s_t(a, b'))

(McCallum, Freitag & Pereira 2000). Training treats each decision separately, given the gold label before it. It needs
no recursion and is fast. The price is label bias ("Structured Prediction", pitfalls; Lafferty, McCallum & Pereira
2001): the probabilities of the labels that follow a label add up to one, so a label with few successors passes its
probability on whatever the next token is.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.learners.crf import CRF
from trelliswork.learners.training import FloatArray
from trelliswork.structures import checks

__all__ = ["MEMM", "locally_normalised"]


class MEMM(CRF):
    """Train a maximum-entropy Markov model, normalised step by step.

    The objective is the sum over all decisions of ``-log p(gold label | gold label before, x)`` plus
    ``l2 / 2 |w|^2 + l1 |w|_1``, in the same weights as `CRF`. Predictions must be normalised step by step as well:
    see `locally_normalised`.

    Parameters
    ----------
    l2 : float, default 1.0
        Factor of ``|w|^2 / 2``, on the sum of the losses.
    l1 : float, default 0.0
        Factor of ``|w|_1``. Above zero many weights end as exact zeros.
    solver : str, default "auto"
        As for `CRF`: ``"lbfgs"``, ``"owlqn"``, ``"proximal"``, ``"sgd"``, ``"sgd-lbfgs"``, ``"sgd-owlqn"`` or
        ``"sgd-proximal"``.
    max_iter : int, default 1000
        Maximum number of iterations of all phases together.
    tol : float, default 1e-3
        Stop when the objective is estimated to be within this fraction of its minimum.
    margin : float, default 0.0
        Factor of the cost that is added to the score of a wrong label (softmax-margin); 0 for none.
    memory : int, optional
        Steps that L-BFGS, OWL-QN and the proximal method remember. Left out, 6.
    sgd_epochs : int, optional
        Stochastic passes at the start of solvers that begin with them. Left out, 5.
    batch_size : int, optional
        Examples of one stochastic step. Left out, 4.
    step_size : float, optional
        Length of the first stochastic step. Left out, it is chosen on a sample.
    shards : int, optional
        Number of parts of the data whose stochastic steps run in parallel. Left out, 1.
    period, delta : int and float, optional
        Also stop when the objective has fallen by less than the fraction ``delta`` in ``period`` iterations; as for
        `CRF`.

    Notes
    -----
    The page "Label bias" (docs/label_bias.md) has an example that this model gets wrong and a CRF gets right.

    Examples
    --------
    >>> MEMM(l2=0.5)
    MEMM(l2=0.5)
    """

    # What predictions need besides the weights.
    local: ClassVar[bool] = True
    bytes_per_weight: ClassVar[int | None] = None  # every decision is in memory
    asks: ClassVar[tuple[str, ...]] = ("local",)
    sums: ClassVar[bool] = False  # the oracle must keep gold and the attributes of each token at hand


def locally_normalised(
    unary: npt.ArrayLike,
    transitions: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    end: npt.ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the chain in which each step is normalised separately.

    Parameters
    ----------
    unary : (T, K) array-like
        Scores of the labels of each position.
    transitions : (K, K) or (T - 1, K, K) array-like
        Scores of label ``a`` followed by label ``b``; ``-inf`` forbids.
    start, end : (K,) array-like, optional
        Scores of the first and of the last label; they enter the first and the last decision.

    Returns
    -------
    unary : (T, K) array
        Log-probabilities of the labels of the first position; zeros elsewhere.
    transitions : (T - 1, K, K) array
        ``log p(b | a)`` of each step. A label that no label may follow has a row of ``-inf``.

    Examples
    --------
    >>> unary, transitions = locally_normalised([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, -np.inf]])
    >>> np.exp(unary[0]), np.exp(transitions[0])
    (array([0.5, 0.5]), array([[0.5, 0.5],
           [1. , 0. ]]))
    """
    scores = checks.as_scores("unary", unary, (None, None)).copy()
    n_steps, n_labels = scores.shape
    steps = max(n_steps - 1, 0)
    matrices = checks.as_scores("transitions", transitions)
    if matrices.shape not in ((n_labels, n_labels), (steps, n_labels, n_labels)):
        raise InvalidInput(
            f"transitions must have shape ({n_labels}, {n_labels}), or one such matrix for each of the {steps} steps, "
            f"found {matrices.shape}."
        )
    if n_steps:
        scores[0] += 0.0 if start is None else checks.as_scores("start", start, (n_labels,))
        scores[-1] += 0.0 if end is None else checks.as_scores("end", end, (n_labels,))
    first = np.zeros_like(scores)
    first[:1] = _log_softmax(scores[:1])
    return first, _log_softmax(np.broadcast_to(matrices, (steps, n_labels, n_labels)) + scores[1:, None, :])


def _log_softmax(scores: FloatArray) -> FloatArray:
    """Normalise the last axis; rows that are ``-inf`` throughout stay so."""
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    shifted = scores - np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    normal: FloatArray = shifted - np.where(np.isfinite(total), total, 0.0)
    return normal
