"""The interface of a learner: what it takes, reports and returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trelliswork import _core

__all__ = ["Iteration", "Learner", "OnIteration", "Trained"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Iteration:
    """One finished iteration, as passed to `on_iteration`.

    Attributes
    ----------
    number : int
        Counts from 1, across phases and resumed runs.
    objective : float
        The value that is minimised, including the penalty; an estimate in stochastic phases.
    phase : str
        The current phase, for example ``"sgd"`` or ``"lbfgs"``.
    seconds : float
        Seconds since training began.
    weights : callable
        Returns a copy of the current weights.
    state : callable
        Returns arrays by name, with which a later run continues from here to the identical result.
    facts : dict
        Further numbers to log, for example ``gradient_norm``.
    """

    number: int
    objective: float
    phase: str
    seconds: float
    weights: Callable[[], FloatArray]
    state: Callable[[], dict[str, npt.NDArray[Any]]]
    facts: Mapping[str, float] = field(default_factory=dict)


OnIteration = Callable[[Iteration], bool | None]  # True stops training


@dataclass(frozen=True)
class Trained:
    """The result of training."""

    weights: FloatArray
    objective: float
    n_iter: int
    converged: bool
    message: str


class Learner(Protocol):
    """A training algorithm: plain keyword parameters, and `train`."""

    @property
    def grows(self) -> bool:
        """Whether to create weights of features that only wrong outputs have, when they first occur."""
        ...

    @property
    def asks(self) -> tuple[str, ...]:
        """The questions that an oracle must answer: argmax, kbest, expectations, parts or local."""
        ...

    @property
    def duration(self) -> str | None:
        """The parameter that only limits the length of training, or None; a short run is the start of a long one."""
        ...

    @property
    def local(self) -> bool:
        """Whether its weights are for a model that is normalised step by step."""
        ...

    @property
    def costs(self) -> bool:
        """Whether it uses the cost of wrong outputs."""
        ...

    @property
    def by_member(self) -> bool:
        """Whether attributes that always occur together must be counted separately."""
        ...

    @property
    def sums(self) -> bool:
        """Whether it needs sums over all outputs (loss and gradient), or the best outputs and their parts."""
        ...

    @property
    def probabilistic(self) -> bool:
        """Whether it trains scores to be log-probabilities, up to a constant for each input."""
        ...

    def train(
        self,
        oracle: _core.Oracle,
        *,
        weights: FloatArray | None = None,
        state: Mapping[str, npt.NDArray[Any]] | None = None,
        n_jobs: int = 1,
        seed: int = 0,
        on_iteration: OnIteration | None = None,
    ) -> Trained:
        """Train from ``weights`` (zeros), or continue from ``state``; KeyboardInterrupt passes through."""
        ...
