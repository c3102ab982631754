"""Exponentiated gradient: the dual of the CRF and of max-margin, one example at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.epochs import EpochLearner
from trelliswork.learners.parameters import Only, checked_choice, checked_flag, checked_integer, checked_number
from trelliswork.learners.training import FloatArray, Trained

__all__ = ["ExponentiatedGradient"]

_FIRST_STEP = {"crf": 0.5, "max-margin": 2.0}


class ExponentiatedGradient(EpochLearner):
    """Train a CRF or a max-margin model by exponentiated gradient on the dual.

    Each example has a distribution over its outputs, kept as scores of its parts. A visit multiplies it by the
    exponential of the gradient of the dual. The weights are always the sum of ``f(gold)`` minus the expected features
    under these distributions (Collins, Globerson, Koo, Carreras & Bartlett 2008; named in Carreras, optimisation
    methods). Each example has its own step size, halved until the dual does not fall and increased by 5% after a
    success. So the dual never falls, and the duality gap bounds how far the objective is from its minimum.

    Parameters
    ----------
    l2 : float, optional
        For ``loss="crf"``: the objective is that of `CRF`, the sum of losses plus ``l2 / 2 |w|^2``. Left out, 1.
    epochs : int, default 50
        Maximum number of passes over the examples.
    loss : str, default "crf"
        ``"crf"`` or ``"max-margin"``.
    C : float, optional
        For ``loss="max-margin"``: the objective is ``|w|^2 / 2 + C * sum of hinge losses``. Left out, 1.
    tol : float, default 1e-3
        Stop when the duality gap is at most this fraction of the objective.
    step : float, optional
        The first step size of each example; at most 1 for a CRF. Left out, 0.5 for a CRF and 2 for max-margin.
    gap_every : int, default 5
        Number of passes between exact computations of objective and gap. Each computation is a further pass, shared
        between threads. In between, the reported objective is the dual, which is below the minimum.
    averaged : bool, default False
        Whether to return the mean of the weights after every example.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Notes
    -----
    The scores of all parts of all examples stay in memory: ``facts["memory_bytes"]`` is their size. As with `CRF`, only
    features that occur in gold have weights, unless the oracle was given all combinations. The weight of an example
    multiplies its loss. Weights of tokens multiply costs, which ``loss="crf"`` ignores. Training that starts from given
    weights stays near them: the penalty is then on ``w - start``.

    Examples
    --------
    >>> ExponentiatedGradient(loss="max-margin", C=0.1)
    ExponentiatedGradient(loss='max-margin', C=0.1)
    """

    grows: ClassVar[bool] = False  # expectations touch every weight there could be
    _only: ClassVar[Mapping[str, Only]] = {"l2": Only(1.0, loss=("crf",)), "C": Only(1.0, loss=("max-margin",))}

    def __init__(
        self,
        l2: float | None = None,
        epochs: int = 50,
        *,
        loss: str = "crf",
        C: float | None = None,
        tol: float = 1e-3,
        step: float | None = None,
        gap_every: int = 5,
        averaged: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.l2 = l2
        self.epochs = epochs
        self.loss = loss
        self.C = C
        self.tol = tol
        self.step = step
        self.gap_every = gap_every
        self.averaged = averaged
        self.shuffle = shuffle

    @property
    def costs(self) -> bool:  # type: ignore[override]
        """Whether it uses the cost of wrong outputs."""
        return self.loss == "max-margin"

    @property
    def probabilistic(self) -> bool:  # type: ignore[override]
        """Whether it trains scores to be log-probabilities."""
        return self.loss == "crf"

    @property
    def asks(self) -> tuple[str, ...]:
        """The questions that an oracle must answer."""
        return ("parts",)

    def _check(self) -> None:
        checked_number("l2", self._value("l2"), above=0.0)
        checked_choice("loss", self.loss, tuple(_FIRST_STEP))
        checked_number("C", self._value("C"), above=0.0)
        checked_number("tol", self.tol, least=0.0)
        if self.step is not None and checked_number("step", self.step, above=0.0) > 1.0 and self.loss == "crf":
            raise InvalidInput(f"step must be at most 1 for loss='crf', not {self.step!r}")
        checked_integer("gap_every", self.gap_every, least=1)
        checked_flag("averaged", self.averaged)
        checked_flag("shuffle", self.shuffle)

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.ExponentiatedGradient:
        return _core.ExponentiatedGradient(
            oracle,
            weights,
            loss=self.loss,
            kappa=1.0 / float(self._value("l2")) if self.loss == "crf" else float(self._value("C")),
            tol=float(self.tol),
            step=_FIRST_STEP[self.loss] if self.step is None else float(self.step),
            gap_every=self.gap_every,
            averaged=self.averaged,
            shuffle=self.shuffle,
            seed=seed,
        )

    def _trained(self, solver: Any, stopped: bool) -> Trained:
        if not stopped:  # who stops does not wait for another pass
            solver.evaluate()  # the last passes may have left a bound
        return super()._trained(solver, stopped)

    def _end(self, solver: _core.Solver, count: str) -> str:
        how = "converged" if solver.outcome == "converged" else "ended as near as rounding allows"
        return f"{how} {count}: the duality gap is {solver.gap:.3g}, the objective {solver.objective:.6g}"
