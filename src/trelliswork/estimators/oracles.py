"""Examples as learners see them: the public way to hand data to a learner without an estimator around it."""

from __future__ import annotations

from typing import Any

from trelliswork import _core
from trelliswork.errors import InvalidInput, shown

__all__ = ["oracle"]


def oracle(of: Any, X: Any, y: Any, *, sample_weight: Any = None) -> _core.Oracle:
    """Return examples as learners see them, ready for ``learner.train(oracle)``.

    Parameters
    ----------
    of : Structure or estimator
        What says which outputs there are and what their features are: a structure of your own, or an estimator that is
        not changed: `SequenceLabeler`, `SegmentLabeler`, `MulticlassClassifier`, `MulticlassPerceptron` or
        `StructuredPredictor`. An estimator's oracle is made for its learner, which decides how weights are laid out.
    X, y
        As for ``fit``.
    sample_weight : (n,) array-like, optional
        How much each example counts.

    Returns
    -------
    oracle
        It answers what learners ask; ``answers`` says what, ``n_weights`` and ``n_examples`` how many there are.

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
