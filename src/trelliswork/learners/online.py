"""Learners that move the weights after every example: the perceptron and its passive-aggressive relatives."""

from __future__ import annotations

from typing import ClassVar

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.epochs import EpochLearner
from trelliswork.learners.parameters import checked_flag, checked_integer, checked_number
from trelliswork.learners.training import FloatArray

__all__ = ["PassiveAggressive", "Perceptron"]


class Perceptron(EpochLearner):
    """The structured perceptron, averaged, for the k best outputs.

    At each example the ``k`` best outputs are looked at in turn, and each that scores no less than gold pushes the
    weights by ``f(x, gold) - f(x, y)`` (Collins 2002; Mančev 2015, algorithm 5 and eq. 3.31). On separable data it
    makes at most ``(R / gamma)^2`` mistakes (Mančev 2015, Theorem 2).

    The best labellings of a sequence are sought with weights rounded to single precision, which takes less time; what
    they teach is computed, and kept, in double precision. A step of whole numbers, as there is without sample weights
    and values, is not rounded at all.

    The weight of an example multiplies what it pushes by. An output is right or wrong as a whole, whatever it costs, so
    weights of single tokens or of their labels have no meaning here: an estimator refuses them.

    Parameters
    ----------
    epochs : int, default 10
        Passes over the examples.
    k : int, default 1
        Outputs looked at for each example.
    averaged : bool, default True
        Whether to return the mean of the weights after every example, which generalises better than the last ones.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.
    beam : int, optional
        Search with a beam of so many labels a position, for label sets that are too large to be searched exactly. Gold
        may leave the beam, so that the weights are pushed by the beginning of the sequence that is violated most
        (max-violation: Huang et al. 2012, section 4.2). A beam of all labels finds the best labelling of every
        beginning. Chains of order 1 only, and ``k=1``. Predictions of the model are exact all the same.

    Examples
    --------
    >>> Perceptron(epochs=5, k=3)
    Perceptron(epochs=5, k=3)
    """

    by_member: ClassVar[bool] = True
    costs: ClassVar[bool] = False
    bytes_per_weight: ClassVar[int | None] = 80

    def __init__(
        self, epochs: int = 10, *, k: int = 1, averaged: bool = True, shuffle: bool = True, beam: int | None = None
    ) -> None:
        self.epochs = epochs
        self.k = k
        self.averaged = averaged
        self.shuffle = shuffle
        self.beam = beam

    def _check(self) -> None:
        checked_integer("k", self.k, least=1)
        checked_flag("averaged", self.averaged)
        checked_flag("shuffle", self.shuffle)
        if self.beam is None:
            return
        checked_integer("beam", self.beam, least=1)
        if self.k != 1:
            raise InvalidInput(f"beam is for the best output alone: leave it out, or use k=1 in place of k={self.k}.")

    @property
    def asks(self) -> tuple[str, ...]:
        return super().asks if self.beam is None else ("argmax", "beam")

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        if self.beam is not None:
            how = {"averaged": self.averaged, "shuffle": self.shuffle}
            return _core.BeamPerceptron(oracle, weights, beam=self.beam, seed=seed, **how)
        return _core.Perceptron(oracle, weights, k=self.k, averaged=self.averaged, shuffle=self.shuffle, seed=seed)


class PassiveAggressive(EpochLearner):
    """Passive-aggressive learning from the k best outputs.

    At each example the ``k`` outputs with the highest score plus cost are looked at in turn. One that violates its
    margin, ``w . (f(x, gold) - f(x, y)) < cost(y)``, moves the weights by the least that mends this, but by no more
    than ``C`` (Crammer et al. 2006, PA-I; Mančev 2015, algorithm 5, eq. 3.14 to 3.21). Crammer et al. call this the
    max-loss update; without ``augmented`` it is their prediction-based one, which CRFsuite's ``pa`` has: it learns from
    wrong predictions alone, so from fewer examples, and an epoch takes less time. With ``restricted``, only outputs
    whose loss is at least that of the prediction count, which bounds the loss of the predictions (Mančev 2015, Theorem
    1) at the price of further decoding.

    The best labellings of a sequence are sought with weights rounded to single precision, which takes less time; the
    steps are computed, and the weights kept, in double precision.

    Parameters
    ----------
    C : float, default 1.0
        The longest step; large values trust single examples more.
    epochs : int, default 10
        Passes over the examples.
    k : int, default 1
        Outputs looked at for each example.
    augmented : bool, default True
        Whether outputs are sought by their score plus their cost, or by their score alone.
    restricted : bool, default False
        Whether outputs that lose less than the prediction are left out.
    averaged : bool, default True
        Whether to return the mean of the weights after every example.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Examples
    --------
    >>> PassiveAggressive(C=0.1, k=5)
    PassiveAggressive(C=0.1, k=5)
    """

    by_member: ClassVar[bool] = True
    bytes_per_weight: ClassVar[int | None] = 80

    def __init__(
        self,
        C: float = 1.0,
        epochs: int = 10,
        *,
        k: int = 1,
        augmented: bool = True,
        restricted: bool = False,
        averaged: bool = True,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.epochs = epochs
        self.k = k
        self.augmented = augmented
        self.restricted = restricted
        self.averaged = averaged
        self.shuffle = shuffle

    def _check(self) -> None:
        checked_number("C", self.C, above=0.0)
        checked_integer("k", self.k, least=1)
        for name in ("augmented", "restricted", "averaged", "shuffle"):
            checked_flag(name, getattr(self, name))

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        return _core.PassiveAggressive(
            oracle,
            weights,
            C=float(self.C),
            k=self.k,
            augmented=self.augmented,
            restricted=self.restricted,
            averaged=self.averaged,
            shuffle=self.shuffle,
            seed=seed,
        )
