"""What happens after each iteration of any learner: the score on development data, the best weights, when to stop."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.learners.training import FloatArray, Iteration, Trained
from trelliswork.log import tell
from trelliswork.training.same_run import SameRun

__all__ = ["Callback", "Monitor", "Progress"]

State = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Progress:
    """One finished iteration, as the ``callback`` of `SequenceLabeler.fit` is told of it.

    Attributes
    ----------
    number : int
        Counting from 1, over all phases and over a resumed run.
    objective : float
        What is being minimised; an estimate while the phase is stochastic.
    phase : str
        What the learner is doing.
    seconds : float
        Since training began.
    dev_score, best_score : float or None
        On the development data, now and at its best; None if there are none.
    best_iteration : int
        When it was best; without development data, the last.
    weights : callable
        Returns a copy of the weights as they are now.
    state : callable
        Returns all that ``fit(..., resume=state)`` needs to go on from here to the identical model.
    facts : dict
        Further numbers of the learner's.
    """

    number: int
    objective: float
    phase: str
    seconds: float
    dev_score: float | None
    best_score: float | None
    best_iteration: int
    weights: Callable[[], FloatArray]
    state: Callable[[], dict[str, npt.NDArray[Any]]]
    facts: Mapping[str, float] = field(default_factory=dict)


Callback = Callable[[Progress], bool | None]  # True stops training


class Monitor:
    """Called by a learner after each iteration.

    Parameters
    ----------
    score : callable or None
        From weights to their score on the development data, higher is better; None if there are none.
    patience : int or None
        Stop when so many iterations in a row brought no better score.
    callback : callable or None
        Told of every iteration; training stops when it returns True.
    verbose : int
        Whether to write a line for each iteration to the standard error, if nobody listens to `trelliswork.log`.
    run : SameRun or None
        What a resumed run must have in common with this one; None if states are not looked at.
    """

    def __init__(
        self,
        score: Callable[[FloatArray], float] | None,
        patience: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        run: SameRun | None = None,
    ) -> None:
        self._run = run
        self._score, self._patience, self._callback, self._verbose = score, patience, callback, verbose
        self.history: list[dict[str, Any]] = []
        self.best_iteration = 0
        self.best_score: float | None = None
        self.stopped = ""  # why training was ended from here
        self._best_weights: FloatArray | None = None
        self._last: Iteration | None = None
        self._seconds_before = 0.0

    def __call__(self, iteration: Iteration) -> bool:
        """Take note of an iteration; whether training is to stop."""
        self._last = iteration
        score = self._judge(iteration)
        record = {"iteration": iteration.number, "objective": iteration.objective, "dev_score": score}
        seconds = self._seconds_before + iteration.seconds
        self.history.append({**record, "seconds": seconds, "phase": iteration.phase, **iteration.facts})
        shown = "" if score is None else f"  dev {100 * score:.2f}"
        line = f"{iteration.phase} {iteration.number}: objective {iteration.objective:.8g}{shown}  {seconds:.2f} s"
        tell(line, bool(self._verbose))
        if self._callback is not None and self._callback(self._progress(iteration, score, seconds)):
            self.stopped = f"stopped by the callback after {iteration.number} iterations"
        elif self._patience is not None and iteration.number - self.best_iteration >= self._patience:
            self.stopped = (
                f"stopped after {iteration.number} iterations: the score on the development data has not risen for "
                f"{self._patience}; the best was iteration {self.best_iteration}"
            )
        return bool(self.stopped)

    @property
    def began(self) -> bool:
        """Whether there are weights worth keeping."""
        return self._last is not None or self._best_weights is not None

    def best_weights(self, trained: Trained | None) -> FloatArray:
        """Return the weights to keep: the best on the development data, else the last."""
        if self._best_weights is None and trained is not None:
            self._best_weights = trained.weights
        if self._best_weights is None:
            assert self._last is not None
            self._best_weights = self._last.weights()
        self._last = None  # the model needs the room that the learner's own vectors take
        return self._best_weights

    def resume(self, state: State) -> dict[str, npt.NDArray[Any]]:
        """Take up the notes of an earlier run; return the learner's own part."""
        learner = {name.removeprefix("learner."): part for name, part in state.items() if name.startswith("learner.")}
        try:
            notes = json.loads(bytes(state["monitor.notes"]))
            self.history, self.best_iteration = list(notes["history"]), int(notes["best_iteration"])
            self.best_score, self._seconds_before = notes["best_score"], float(notes["seconds"])
            best = state.get("monitor.best")
            self._best_weights = None if best is None else np.array(best, dtype=np.float64)
        except (KeyError, ValueError, TypeError) as error:
            raise InvalidInput(
                f"resume is not what `Progress.state` gave in an earlier run ({type(error).__name__}: {error})."
            ) from None
        if self._run is not None:
            self._run.refuse_another(state)
        return learner

    def _judge(self, iteration: Iteration) -> float | None:
        if self._score is None:
            self.best_iteration = iteration.number
            return None
        weights = iteration.weights()
        score = self._score(weights)
        if math.isnan(score):
            raise InvalidInput("scoring gave NaN on the development data; expected a number, higher is better.")
        if self.best_score is None or score > self.best_score:
            self.best_score, self.best_iteration, self._best_weights = score, iteration.number, weights
        return score

    def _progress(self, iteration: Iteration, score: float | None, seconds: float) -> Progress:
        return Progress(
            iteration.number,
            iteration.objective,
            iteration.phase,
            seconds,
            score,
            self.best_score,
            self.best_iteration,
            iteration.weights,
            lambda: self._state(iteration, seconds),
            iteration.facts,
        )

    def _state(self, iteration: Iteration, seconds: float) -> dict[str, npt.NDArray[Any]]:
        notes = {
            "history": self.history,
            "best_iteration": self.best_iteration,
            "best_score": self.best_score,
            "seconds": seconds,
        }
        state = {f"learner.{name}": part for name, part in iteration.state().items()}
        state["monitor.notes"] = np.frombuffer(json.dumps(notes).encode(), dtype=np.uint8)
        if self._best_weights is not None:
            state["monitor.best"] = self._best_weights
        return state if self._run is None else state | self._run.as_state()
