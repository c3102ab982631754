"""Learners that keep a variance for every weight."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import ClassVar

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.epochs import EpochLearner
from trelliswork.learners.parameters import Only, checked_choice, checked_flag, checked_integer, checked_number
from trelliswork.learners.training import FloatArray

__all__ = ["AROW"]


class AROW(EpochLearner):
    """Adaptive regularisation of weights, and confidence-weighted learning.

    Every weight has a variance, the diagonal of a covariance matrix: weights of frequent features change little, those
    of rare ones much. For each example, the ``k`` outputs with the highest score plus cost are processed in turn, as
    single linear constraints ``w . (f(x, gold) - f(x, y)) >= cost(y)`` (Mejer & Crammer 2010).

    Parameters
    ----------
    r : float, optional
        For ``"arow"``: how much of a loss is treated as noise; larger values make shorter steps. Left out, 1.
    epochs : int, default 10
        Passes over the examples.
    variant : str, default "arow"
        ``"arow"`` balances the squared hinge against the distance from the previous weights and variances (Crammer,
        Kulesza & Dredze 2009). ``"cw"`` makes the constraint hold with probability ``confidence`` at any price (Dredze,
        Crammer & Pereira 2008, with the variance instead of the standard deviation): fast, but sensitive to noise.
        ``"scw"`` does the same with steps of at most ``C`` (Wang, Zhao & Hoi 2012, SCW-I).
    k : int, default 1
        Number of outputs to process for each example.
    confidence : float, optional
        For ``"cw"`` and ``"scw"``: the required probability, above 0.5 and below 1. Left out, 0.9.
    C : float, optional
        For ``"scw"``: the longest step. Left out, 1.
    variance : float, default 1.0
        Initial variance of every weight.
    averaged : bool, default True
        Whether to return the mean of the weights after every example.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Notes
    -----
    The weight of an example divides ``r`` and multiplies ``C``. ``"cw"`` has no loss: it skips examples of weight 0 and
    treats all others alike.

    Examples
    --------
    >>> AROW(r=10.0, k=2)
    AROW(r=10.0, k=2)
    """

    VARIANTS = ("arow", "cw", "scw")
    by_member: ClassVar[bool] = True  # a variance shrinks by the square of one feature, not of several together
    _only: ClassVar[Mapping[str, Only]] = {
        "r": Only(1.0, variant=("arow",)),
        "confidence": Only(0.9, variant=("cw", "scw")),
        "C": Only(1.0, variant=("scw",)),
    }
    bytes_per_weight: ClassVar[int | None] = 96

    def __init__(
        self,
        r: float | None = None,
        epochs: int = 10,
        *,
        variant: str = "arow",
        k: int = 1,
        confidence: float | None = None,
        C: float | None = None,
        variance: float = 1.0,
        averaged: bool = True,
        shuffle: bool = True,
    ) -> None:
        self.r = r
        self.epochs = epochs
        self.variant = variant
        self.k = k
        self.confidence = confidence
        self.C = C
        self.variance = variance
        self.averaged = averaged
        self.shuffle = shuffle

    def _check(self) -> None:
        checked_choice("variant", self.variant, self.VARIANTS)
        for name in ("r", "C", "variance"):
            checked_number(name, self._value(name), above=0.0)
        if checked_number("confidence", self._value("confidence"), above=0.5) >= 1.0:
            raise InvalidInput(f"confidence must be below 1, not {self.confidence!r}")
        checked_integer("k", self.k, least=1)
        checked_flag("averaged", self.averaged)
        checked_flag("shuffle", self.shuffle)

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        return _core.Arow(
            oracle,
            weights,
            variant=self.variant,
            r=float(self._value("r")),
            phi=NormalDist().inv_cdf(self._value("confidence")),
            C=float(self._value("C")),
            variance=float(self.variance),
            k=int(self.k),
            averaged=self.averaged,
            shuffle=self.shuffle,
            seed=seed,
        )
