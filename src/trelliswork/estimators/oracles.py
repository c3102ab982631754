"""Oracles: the public way to give data to a learner without an estimator."""

from __future__ import annotations

from typing import Any

from trelliswork import _core
from trelliswork.errors import InvalidInput, shown

__all__ = ["oracle"]


def oracle(of: Any, X: Any, y: Any, *, sample_weight: Any = None) -> _core.Oracle:
    """Return the examples as an oracle, for ``learner.train(oracle)``.

    Parameters
    ----------
    of : Structure or estimator
        The source of outputs and features: your own structure, or an estimator, which is not changed:
        `SequenceLabeler`, `SegmentLabeler`, `MulticlassClassifier`, `MulticlassPerceptron` or `StructuredPredictor`. An
        estimator's oracle is made for its learner, which determines the layout of the weights.
    X, y
        As for ``fit``.
    sample_weight : (n,) array-like, optional
        The weight of each example.

    Returns
    -------
    oracle
        It answers the learners' questions, which ``answers`` lists. It also has ``n_weights`` and ``n_examples``.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["up", "right", "right"]
    >>> examples = tw.oracle(tw.MulticlassClassifier(fit_intercept=False), X, y)
    >>> examples.n_examples, examples.n_weights
    (3, 4)
    >>> tw.CRF(l2=1.0).train(examples).converged
    True
    """
    if isinstance(of, type) or not hasattr(of, "oracle"):
        raise InvalidInput(
            f"there is no oracle of {shown(of)}; expected a structure of your own (tw.Structure), or an estimator with "
            "a learner, such as tw.SequenceLabeler()."
        )
    made: _core.Oracle = of.oracle(X, y, sample_weight=sample_weight)
    return made
