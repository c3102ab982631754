"""Learners that solve a max-margin problem in its dual: MIRA, the sequential dual method, LaRank, dual coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.epochs import EpochLearner
from trelliswork.learners.parameters import Only, checked_choice, checked_flag, checked_integer, checked_number
from trelliswork.learners.training import FloatArray

__all__ = ["MIRA", "SDM", "DualCoordinate", "LaRank"]


class MIRA(EpochLearner):
    """The margin infused relaxed algorithm for the k best outputs.

    For each example, make the smallest change of the weights that puts gold ahead of each of the ``k`` outputs with the
    highest score plus cost, by at least the output's cost (Crammer et al. 2005; Mančev 2015, algorithm 2, eq. 3.3 and
    3.4). If ``C`` is finite, margins may be violated at a price of ``C`` per unit (eq. 3.6 and 3.7). An active-set
    method solves both problems exactly. With ``k=1`` this is `PassiveAggressive`.

    If ``C`` is infinite and no weights meet all constraints of an example, those that contradict more violated ones are
    dropped.

    Parameters
    ----------
    C : float, default inf
        The price of violating a margin, and the longest step along one output; infinite for no slack at all.
    epochs : int, default 10
        Passes over the examples.
    k : int, default 5
        Number of outputs to use for each example.
    averaged : bool, default True
        Whether to return the mean of the weights after every example.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Examples
    --------
    >>> MIRA(C=0.1, k=10)
    MIRA(C=0.1, k=10)
    """

    bytes_per_weight: ClassVar[int | None] = 80

    def __init__(
        self, C: float = math.inf, epochs: int = 10, *, k: int = 5, averaged: bool = True, shuffle: bool = True
    ) -> None:
        self.C = C
        self.epochs = epochs
        self.k = k
        self.averaged = averaged
        self.shuffle = shuffle

    def _check(self) -> None:
        if not (isinstance(self.C, float) and math.isinf(self.C) and self.C > 0):
            checked_number("C", self.C, above=0.0)
        checked_integer("k", self.k, least=1)
        for name in ("averaged", "shuffle"):
            checked_flag(name, getattr(self, name))

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        return _core.MIRA(
            oracle, weights, C=float(self.C), k=self.k, averaged=self.averaged, shuffle=self.shuffle, seed=seed
        )


class _DualMethod(EpochLearner):
    """Base class of the methods with working sets."""

    C: float
    k: int
    tau: float
    tol: float
    growth: int | None
    gap_every: int
    averaged: bool
    shuffle: bool

    def _check(self) -> None:
        checked_number("C", self.C, above=0.0)
        checked_integer("k", self.k, least=1)
        checked_number("tau", self.tau, least=0.0)
        checked_number("tol", self.tol, least=0.0)
        if self.growth is not None:
            checked_integer("growth", self.growth, least=1)
        checked_integer("gap_every", self.gap_every, least=0)
        for name in ("averaged", "shuffle"):
            checked_flag(name, getattr(self, name))

    def _shared(self, seed: int) -> dict[str, Any]:
        return {
            "C": float(self.C),
            "k": self.k,
            "tau": float(self.tau),
            "tol": float(self.tol),
            "growth": self.growth or 0,
            "gap_every": self.gap_every,
            "averaged": self.averaged,
            "shuffle": self.shuffle,
            "seed": seed,
        }

    def _end(self, solver: _core.Solver, count: str) -> str:
        if solver.outcome != "converged":
            return f"ended {count}: {solver.outcome}"
        if solver.gap <= self.tol * abs(solver.objective):
            return f"converged {count}: the duality gap is {solver.gap:.3g}, within tol={self.tol:g} of the objective"
        return f"converged {count}: no margin is violated by more than tau={self.tau:g} of what is optimal"


class SDM(_DualMethod):
    """The sequential dual method for the k best outputs, with the hinge, slack rescaling or a ramp loss.

    Minimises ``1/2 |w|^2 + C * sum of losses`` through its dual. Each example has a working set: the outputs whose dual
    variables are not zero. On each visit, the ``k`` outputs with the highest score plus cost are added to it.
    Sequential minimal optimisation then solves for the example's dual variables until its optimality conditions are
    violated by at most ``tau`` (Balamurugan et al. 2011; Mančev 2015, algorithm 3, eq. 3.8 to 3.13). Outputs whose
    variables have become zero are removed.

    ``loss="slack"`` is the hinge with slack rescaling, the largest ``cost(y) (1 - w . (f(x, gold) - f(x, y)))``
    (Tsochantaridis et al. 2005; Mančev 2015, Table 2.1). It is solved like the hinge, with differences multiplied by
    their costs.

    ``loss="ramp"`` subtracts from the hinge the amount by which the best output with a *reward* for its cost exceeds
    gold (Mančev 2015, eq. 5.2). It is bounded, which limits the harm of a mislabelled example. ``"ramp-do"`` omits the
    cost from the second part (Do et al. 2008). Neither is convex. The concave-convex procedure solves a sequence of
    convex problems, in rounds of ``inner`` passes each (Mančev 2015, algorithm 6). The first round uses the hinge.

    Training that starts from given weights stays close to them: the penalty is then ``1/2 |w - start|^2``.

    Parameters
    ----------
    C : float, default 0.1
        The weight of the losses relative to the penalty, ``1 / (lam * number of examples)``.
    epochs : int, default 20
        Passes over the examples, including those inside rounds.
    k : int, default 1
        Number of outputs to add to the working set of an example on a visit; 1 with ``loss="slack"``, for which only
        the worst output can be found.
    loss : {"hinge", "slack", "ramp", "ramp-do"}, default "hinge"
        The loss of an example.
    inner : int, optional
        For the ramp losses: passes in a round of the concave-convex procedure. Left out, 5.
    tau : float, default 1e-4
        By how much the optimality conditions of an example may be violated after a visit.
    tol : float, default 1e-3
        Training ends when the duality gap is at most ``tol`` times the objective and, for a ramp loss, another round
        would be the same.
    growth : int, optional
        Maximum number of outputs in the working set of an example. When there are more, those with the smallest
        variables are merged into their weighted mean, which leaves weights and dual objective unchanged. A limit saves
        memory but slows convergence. None for no limit.
    skip : bool, default False
        Whether to decode satisfied examples less often: every second pass, then every fourth, then every eighth, as
        long as they stay satisfied. In between, only their working sets are optimised.
    gap_every : int, default 5
        Number of passes between two measurements of the primal objective and the gap, each of which decodes all
        examples on ``n_jobs`` threads; 0 for none before the end.
    averaged : bool, default False
        Whether to return the mean of the weights after every example. The gap is that of the last weights.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Notes
    -----
    The facts of an `Iteration` hold ``dual``; ``primal`` and ``gap`` if they were measured; ``working_set``, the number
    of outputs in all working sets; and ``memory_bytes``, their memory. With a ramp loss, ``gap`` is that of the round's
    convex problem, whose objective, ``bound``, lies above ``primal``.

    Examples
    --------
    >>> SDM(C=1.0, k=5, growth=20)
    SDM(C=1.0, k=5, growth=20)
    """

    _only: ClassVar[Mapping[str, Only]] = {"inner": Only(5, loss=("ramp", "ramp-do"))}

    def __init__(
        self,
        C: float = 0.1,
        epochs: int = 20,
        *,
        k: int = 1,
        loss: str = "hinge",
        inner: int | None = None,
        tau: float = 1e-4,
        tol: float = 1e-3,
        growth: int | None = None,
        skip: bool = False,
        gap_every: int = 5,
        averaged: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.epochs = epochs
        self.k = k
        self.loss = loss
        self.inner = inner
        self.tau = tau
        self.tol = tol
        self.growth = growth
        self.skip = skip
        self.gap_every = gap_every
        self.averaged = averaged
        self.shuffle = shuffle

    def _check(self) -> None:
        super()._check()
        checked_choice("loss", self.loss, ("hinge", "slack", "ramp", "ramp-do"))
        if self.loss == "slack" and self.k != 1:
            raise InvalidInput(f"k must be 1 with loss='slack', not {self.k}: only the worst output can be looked for")
        checked_integer("inner", self._value("inner"), least=1)
        checked_flag("skip", self.skip)

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        return _core.SDM(
            oracle, weights, loss=self.loss, inner=self._value("inner"), skip=self.skip, **self._shared(seed)
        )


class LaRank(_DualMethod):
    """LaRank for the k best outputs: a dual method that comes close to the solution in one pass.

    Minimises the same objective as `SDM` with the hinge. After each example it does the following ``reprocess`` times:
    it picks a random earlier example, decodes and optimises it again, and then optimises ten more within their working
    sets, without decoding (Bordes et al. 2008; Mančev 2015, algorithm 4). The dual objective never falls. With
    ``reprocess=0`` the first pass equals that of `SDM`.

    Parameters
    ----------
    C : float, default 0.1
        The weight of the losses relative to the penalty, ``1 / (lam * number of examples)``.
    epochs : int, default 1
        Passes over the examples.
    k : int, default 1
        Number of outputs to add to the working set of an example on a visit.
    reprocess : int, default 10
        Number of times that earlier examples are revisited after each example: ``n_R`` of Mančev 2015. A pass decodes
        ``1 + reprocess`` times as many examples as there are.
    tau : float, default 1e-4
        By how much the optimality conditions of an example may be violated after a visit.
    tol : float, default 1e-3
        Training ends when the duality gap is at most ``tol`` times the objective.
    growth : int, optional
        Maximum number of outputs in the working set of an example; more are merged, as in `SDM`.
    gap_every : int, default 1
        Number of passes between two measurements of the primal objective and the gap; 0 for none before the end.
    averaged : bool, default False
        Whether to return the mean of the weights after every example. The gap is that of the last weights.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Examples
    --------
    >>> LaRank(C=1.0, reprocess=5)
    LaRank(C=1.0, reprocess=5)
    """

    def __init__(
        self,
        C: float = 0.1,
        epochs: int = 1,
        *,
        k: int = 1,
        reprocess: int = 10,
        tau: float = 1e-4,
        tol: float = 1e-3,
        growth: int | None = None,
        gap_every: int = 1,
        averaged: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.epochs = epochs
        self.k = k
        self.reprocess = reprocess
        self.tau = tau
        self.tol = tol
        self.growth = growth
        self.gap_every = gap_every
        self.averaged = averaged
        self.shuffle = shuffle

    def _check(self) -> None:
        super()._check()
        checked_integer("reprocess", self.reprocess, least=0)

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        return _core.LaRank(oracle, weights, reprocess=self.reprocess, **self._shared(seed))


class DualCoordinate(_DualMethod):
    """Dual coordinate ascent for the squared hinge, for the k best outputs.

    Minimises ``1/2 |w|^2 + C * sum of max_y max(0, cost(y) - w . (f(x, gold) - f(x, y)))^2`` (Mančev 2015, Table 2.1,
    with the positive part) through its dual, one variable at a time, over working sets like those of `SDM` (Chang and
    Yih 2013). The squared hinge penalises large violations more and small ones less, and its dual variables have no
    upper bound.

    Parameters
    ----------
    C : float, default 0.1
        The weight of the losses relative to the penalty.
    epochs : int, default 20
        Passes over the examples.
    k : int, default 1
        Number of outputs to add to the working set of an example on a visit.
    tau : float, default 1e-4
        By how much the optimality conditions of an example may be violated after a visit.
    tol : float, default 1e-3
        Training ends when the duality gap is at most ``tol`` times the objective.
    growth : int, optional
        Maximum number of outputs in the working set of an example; more are merged, as in `SDM`.
    skip : bool, default False
        Whether to decode satisfied examples less often, as in `SDM`.
    gap_every : int, default 5
        Number of passes between two measurements of the primal objective and the gap; 0 for none before the end.
    averaged : bool, default False
        Whether to return the mean of the weights after every example. The gap is that of the last weights.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Examples
    --------
    >>> DualCoordinate(C=0.5, tol=1e-4)
    DualCoordinate(C=0.5, tol=0.0001)
    """

    def __init__(
        self,
        C: float = 0.1,
        epochs: int = 20,
        *,
        k: int = 1,
        tau: float = 1e-4,
        tol: float = 1e-3,
        growth: int | None = None,
        skip: bool = False,
        gap_every: int = 5,
        averaged: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.epochs = epochs
        self.k = k
        self.tau = tau
        self.tol = tol
        self.growth = growth
        self.skip = skip
        self.gap_every = gap_every
        self.averaged = averaged
        self.shuffle = shuffle

    def _check(self) -> None:
        super()._check()
        checked_flag("skip", self.skip)

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        return _core.DualCoordinate(oracle, weights, skip=self.skip, **self._shared(seed))
