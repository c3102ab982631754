"""Learners that update the weights after every example: the perceptron and the passive-aggressive algorithms."""

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

    For each example, the ``k`` best outputs are processed in turn. Each that scores at least as much as gold adds
    ``f(x, gold) - f(x, y)`` to the weights (Collins 2002; Mančev 2015, algorithm 5 and eq. 3.31). On separable data it
    makes at most ``(R / gamma)^2`` mistakes (Mančev 2015, Theorem 2).

    To save time, the search for the best labellings of a sequence uses weights rounded to single precision. Updates are
    computed and stored in double precision. Integer updates, which occur without sample weights and attribute values,
    are not rounded at all.

    The weight of an example multiplies its update. An output is right or wrong as a whole, whatever its cost, so
    weights of single tokens or labels have no meaning here, and estimators refuse them.

    Parameters
    ----------
    epochs : int, default 10
        Passes over the examples.
    k : int, default 1
        Number of outputs to process for each example.
    averaged : bool, default True
        Whether to return the mean of the weights after every example, which generalises better than the last weights.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.
    beam : int, optional
        Width of a beam search, in labels per position, for label sets that are too large for exact search. Gold may
        leave the beam, so the update uses the prefix that is violated most (max-violation: Huang et al. 2012, section
        4.2). A beam of all labels finds the best labelling of every prefix. Only for chains of order 1 and ``k=1``.
        Predictions of the model are still exact.

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

    For each example, the ``k`` outputs with the highest score plus cost are processed in turn. If one violates its
    margin, ``w . (f(x, gold) - f(x, y)) < cost(y)``, the weights move by the smallest step that restores the margin,
    but by at most ``C`` (Crammer et al. 2006, PA-I; Mančev 2015, algorithm 5, eq. 3.14 to 3.21). Crammer et al. call
    this the max-loss update. Without ``augmented`` it is their prediction-based update, as in CRFsuite's ``pa``: it
    learns only from wrong predictions, that is, from fewer examples, and an epoch takes less time. With ``restricted``,
    only outputs whose loss is at least that of the prediction count, which bounds the loss of the predictions (Mančev
    2015, Theorem 1) but needs more decoding.

    To save time, the search for the best labellings of a sequence uses weights rounded to single precision. Steps are
    computed and weights stored in double precision.

    Parameters
    ----------
    C : float, default 1.0
        The longest step; large values trust single examples more.
    epochs : int, default 10
        Passes over the examples.
    k : int, default 1
        Number of outputs to process for each example.
    augmented : bool, default True
        Whether to search for outputs by score plus cost, or by score alone.
    restricted : bool, default False
        Whether to skip outputs whose loss is smaller than that of the prediction.
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
