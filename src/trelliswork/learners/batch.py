"""Max-margin learners that know their distance from the optimum: Frank-Wolfe and cutting planes.

Both minimise ``|w|^2 / 2 + C * sum of hinge losses``, where the hinge loss of an example is the largest
``cost(y) - w . (f(gold) - f(y))`` over its outputs ``y`` (Mančev 2015, eq. 2.6 and 2.7, with ``C = 1 / (lam N)``, eq.
2.8). With slack rescaling it is the largest ``cost(y) (1 - w . (f(gold) - f(y)))``
(Tsochantaridis et al. 2005; Mančev 2015, Table 2.1). They work on the dual (Mančev 2015, eq. 2.9 to 2.11), whose value
is never above the minimum. The difference between the objective and the dual is the duality gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.epochs import EpochLearner
from trelliswork.learners.parameters import Only, checked_choice, checked_flag, checked_integer, checked_number
from trelliswork.learners.training import FloatArray, Trained

__all__ = ["CuttingPlane", "FrankWolfe"]

_AVERAGING = {"weighted": "weighted", True: "uniform", False: "none"}
_RESCALINGS = ("margin", "slack")
_C_OR_LAM = {"C": Only(1.0, lam=(None,))}


class _StructuralSVM(EpochLearner):
    """What both are told."""

    C: float | None
    lam: float | None
    tol: float
    rescaling: str

    def _check(self) -> None:
        checked_number("C", self._value("C"), above=0.0)
        if self.lam is not None:
            checked_number("lam", self.lam, above=0.0)
        checked_number("tol", self.tol, least=0.0)
        checked_choice("rescaling", self.rescaling, _RESCALINGS)

    def _factor(self, oracle: _core.Oracle) -> float:
        return factor_of_losses(self._value("C"), self.lam, oracle)


class FrankWolfe(_StructuralSVM):
    """Train a structural SVM by block-coordinate Frank-Wolfe.

    A visit to an example finds its most violated output and moves towards it by an exact line search of the dual, so
    there is no step size to choose (Lacoste-Julien, Jaggi, Schmidt & Pletscher 2013, algorithms 3 and 4). The dual
    never falls, and the duality gap bounds how far the objective is from its minimum.

    Parameters
    ----------
    C : float, optional
        Factor of the sum of the losses, which is added to ``|w|^2 / 2``. Left out, 1.
    epochs : int, default 50
        Maximum number of passes over the examples.
    lam : float, optional
        Alternative to ``C``: ``C = 1 / (lam * number of examples)``.
    tol : float, default 1e-3
        Stop when the duality gap is at most this fraction of the objective.
    rescaling : {"margin", "slack"}, default "margin"
        How the cost enters the hinge: ``"margin"`` is cost - margin; ``"slack"`` is cost * (1 - margin), which does not
        require large margins against outputs that are very wrong.
    averaged : "weighted", True or False, default "weighted"
        Which weights to return: the average over all visits with weight t for the t-th (``"weighted"``), the plain
        average (True), or the last weights (False). The weighted average converges best in theory and generalises well
        after few passes; the last weights reach a small gap first.
    line_search : bool, default True
        Whether to choose the best length of every step. Otherwise the t-th step is ``2 N / (t + 2 N)``, and the dual
        may fall.
    gap_every : int, default 5
        Number of passes between exact computations of objective and gap. Each computation is a pass of decoding, shared
        between threads. In between, the gap is estimated from the visits. Once the estimate is below ``tol``, the exact
        gap is computed.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Notes
    -----
    Each example keeps its own part of the weights, a sparse vector; ``facts["memory_bytes"]`` of an iteration is their
    total size. Training that starts from given weights stays near them: the penalty is then ``|w - start|^2 / 2``.

    Examples
    --------
    >>> FrankWolfe(C=0.1, tol=1e-4)
    FrankWolfe(C=0.1, tol=0.0001)
    """

    _only: ClassVar[Mapping[str, Only]] = _C_OR_LAM

    def __init__(
        self,
        C: float | None = None,
        epochs: int = 50,
        *,
        lam: float | None = None,
        tol: float = 1e-3,
        rescaling: str = "margin",
        averaged: str | bool = "weighted",
        line_search: bool = True,
        gap_every: int = 5,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.epochs = epochs
        self.lam = lam
        self.tol = tol
        self.rescaling = rescaling
        self.averaged = averaged
        self.line_search = line_search
        self.gap_every = gap_every
        self.shuffle = shuffle

    def _check(self) -> None:
        super()._check()
        if not isinstance(self.averaged, str | bool) or self.averaged not in _AVERAGING:
            raise InvalidInput(f"averaged must be 'weighted', True or False, not {self.averaged!r}")
        checked_flag("line_search", self.line_search)
        checked_integer("gap_every", self.gap_every, least=1)
        checked_flag("shuffle", self.shuffle)

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.FrankWolfe:
        return _core.FrankWolfe(
            oracle,
            weights,
            C=self._factor(oracle),
            tol=float(self.tol),
            rescaling=self.rescaling,
            averaged=_AVERAGING[self.averaged],
            line_search=self.line_search,
            gap_every=self.gap_every,
            shuffle=self.shuffle,
            seed=seed,
        )

    def _trained(self, solver: Any, stopped: bool) -> Trained:
        if not stopped:  # who stops does not wait for another pass
            solver.evaluate()  # the last passes may have left an estimate
        return super()._trained(solver, stopped)

    def _end(self, solver: _core.Solver, count: str) -> str:
        return f"converged {count}: the duality gap is {solver.gap:.3g}, the objective {solver.objective:.6g}"


class CuttingPlane(_StructuralSVM):
    """Train a structural SVM by cutting planes with one slack.

    Each iteration decodes all examples, on several threads if there are any. Their most violated outputs together give
    one plane below the sum of the losses. The next weights are the exact solution for all planes found so far
    (Joachims, Finley & Yu 2009, algorithm 3). The method takes many passes, but threads share them, and the result has
    a guarantee: see ``tol``.

    Parameters
    ----------
    C : float, optional
        Factor of the sum of the losses, which is added to ``|w|^2 / 2``. Left out, 1. (The paper's ``C`` is this one
        times the number of examples.)
    epochs : int, default 500
        Maximum number of planes.
    lam : float, optional
        Alternative to ``C``: ``C = 1 / (lam * number of examples)``.
    tol : float, default 0.01
        The paper's epsilon, in units of the mean loss of an example. Training ends when the objective is guaranteed to
        be within ``C * (sum of the examples' weights) * tol`` of its minimum. The number of planes grows with
        ``1 / tol``, but not with the number of examples.
    rescaling : {"margin", "slack"}, default "margin"
        How the cost enters the hinge, as in `FrankWolfe`. With ``"slack"``, decoding uses one thread.

    Notes
    -----
    Planes that have not contributed to the solution for 50 iterations are dropped. ``facts`` has the number of planes
    and their memory; each is a dense vector. The weights returned are the best of all iterations. Training that starts
    from given weights stays near them: the penalty is then ``|w - start|^2 / 2``.

    Examples
    --------
    >>> CuttingPlane(C=0.1, tol=0.1)
    CuttingPlane(C=0.1, tol=0.1)
    """

    _only: ClassVar[Mapping[str, Only]] = _C_OR_LAM

    def __init__(
        self,
        C: float | None = None,
        epochs: int = 500,
        *,
        lam: float | None = None,
        tol: float = 0.01,
        rescaling: str = "margin",
    ) -> None:
        self.C = C
        self.epochs = epochs
        self.lam = lam
        self.tol = tol
        self.rescaling = rescaling

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.CuttingPlane:
        return _core.CuttingPlane(
            oracle, weights, C=self._factor(oracle), tol=float(self.tol), rescaling=self.rescaling
        )

    def _end(self, solver: _core.Solver, count: str) -> str:
        how = "converged" if solver.outcome == "converged" else "ended as low as rounding allows"
        return f"{how} {count}: at most {solver.gap:.3g} above the minimum, the objective is {solver.objective:.6g}"


def factor_of_losses(C: float, lam: float | None, oracle: _core.Oracle) -> float:
    """Return the factor of the sum of the losses: ``C``, or what makes it equal to ``lam`` (Mančev 2015, eq. 2.8)."""
    return float(C) if lam is None else 1.0 / (float(lam) * max(1, oracle.n_examples))
