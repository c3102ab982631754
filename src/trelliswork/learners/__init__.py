"""Learners: training algorithms, each written once against the oracle."""

from __future__ import annotations

from typing import Any

from trelliswork.errors import InvalidInput
from trelliswork.learners.crf import CRF
from trelliswork.learners.training import Learner

__all__ = ["CRF", "by_name"]

_LEARNERS: dict[str, type[CRF]] = {"crf": CRF}


def by_name(name: str, **params: Any) -> Learner:
    """Return the learner of that name, as the command line and ``SequenceLabeler(learner="crf")`` know it.

    Parameters
    ----------
    name : str
        ``"crf"``.
    **params
        Its parameters.

    Examples
    --------
    >>> by_name("crf", l2=0.5)
    CRF(l2=0.5)
    """
    if name not in _LEARNERS:
        raise InvalidInput(f"there is no learner {name!r}; there is: {', '.join(sorted(_LEARNERS))}")
    learner = _LEARNERS[name]()
    learner.set_params(**params)
    return learner
