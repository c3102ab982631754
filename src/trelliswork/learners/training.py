"""What a learner and the one who called it say to each other while training goes on."""

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
    """One finished iteration, as `on_iteration` is told of it.

    Attributes
    ----------
    number : int
        Counting from 1, over all phases and over a resumed run.
    objective : float
        What is being minimised, penalty included; an estimate while the phase is stochastic.
    phase : str
        What the learner is doing, for example ``"sgd"`` or ``"lbfgs"``.
    seconds : float
        Since training began.
    weights : callable
        Returns a copy of the weights as they are now.
    state : callable
        Returns all that a later run needs to go on from here to the identical result: names and arrays.
    facts : dict
        Further numbers worth a line in a log, for example ``gradient_norm``.
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
    """What training ended with."""

    weights: FloatArray
    objective: float
    n_iter: int
    converged: bool
    message: str


class Learner(Protocol):
    """A training algorithm: plain keyword parameters, and `train`."""

    @property
    def grows(self) -> bool:
        """Whether weights that only wrong outputs have are to be made when they are first met."""
        ...

    @property
    def asks(self) -> tuple[str, ...]:
        """What an oracle has to answer: argmax, kbest, expectations, parts or local."""
        ...

    @property
    def duration(self) -> str | None:
        """The parameter that only says when to stop, so that a short run is the beginning of a long one; or None."""
        ...

    @property
    def local(self) -> bool:
        """Whether its weights are of a model that is normalised step by step, and must be used so."""
        ...

    @property
    def costs(self) -> bool:
        """Whether it looks at what a wrong output costs."""
        ...

    @property
    def by_member(self) -> bool:
        """Whether attributes that always occur together must be counted one by one."""
        ...

    @property
    def sums(self) -> bool:
        """Whether it asks for sums over all outputs (loss and gradient), or for the best outputs and for parts."""
        ...

    @property
    def probabilistic(self) -> bool:
        """Whether its scores are made to be log-probabilities, up to a constant of each input."""
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
        """Train from ``weights`` (zeros), or go on from ``state``. KeyboardInterrupt passes through."""
        ...
