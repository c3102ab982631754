"""The base class of learners that make several passes over the examples."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.parameters import Parameters, checked_integer
from trelliswork.learners.training import FloatArray, Iteration, OnIteration, Trained
from trelliswork.questions import require_answers
from trelliswork.structures.checks import MOST_JOBS

__all__ = ["EpochLearner", "checked_weights"]

State = dict[str, npt.NDArray[Any]]


class EpochLearner(Parameters):
    """A learner whose iterations are passes over the examples.

    A subclass has the parameter ``epochs``, checks its parameters in `_check`, and makes the core's learner in
    `_solver`.
    """

    # Whether the weights of wrong outputs, which gold never has, are made when they are first met.
    grows: ClassVar[bool] = True
    # Whether the learner asks for sums over all outputs (loss and gradient), or only for the best ones.
    sums: ClassVar[bool] = False
    local: ClassVar[bool] = False
    costs: ClassVar[bool] = True
    # Whether attributes that always occur together must be counted one by one: for updates that are not linear in the
    # features, and where a step of whole numbers is to be exact.
    by_member: ClassVar[bool] = False
    probabilistic: ClassVar[bool] = False
    # Bytes in memory for each weight while it learns; None where it also keeps something of each example.
    bytes_per_weight: ClassVar[int | None] = None
    # What may differ between a run and its continuation.
    _free: ClassVar[tuple[str, ...]] = ("epochs", "tol")

    epochs: int

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
        """Pass over the examples of ``oracle`` until ``epochs`` are done or nothing is left to learn.

        Parameters
        ----------
        oracle : Oracle
            The examples.
        weights : array of shape (oracle.n_weights,), optional
            Initial weights; zeros if left out.
        state : dict of arrays, optional
            The result of `Iteration.state` in an earlier run with the same examples, parameters (but for ``epochs`` and
            ``tol``) and seed. Training continues from there to the identical result; ``weights`` is ignored.
        n_jobs : int, default 1
            Number of threads, if the algorithm can use them. The result is the same for any number.
        seed : int, default 0
            Seed of the order in which the examples are visited.
        on_iteration : callable, optional
            Called with an `Iteration` after each pass; training stops when it returns True. `KeyboardInterrupt` passes
            through.

        Returns
        -------
        Trained
            The weights, the objective, and the reason why training ended. Where ``on_iteration`` stopped it, the
            objective is the one that the last iteration reported, which may be an estimate.
        """
        self.check()
        checked_integer("epochs", self.epochs, least=1)
        n_jobs = checked_integer("n_jobs", n_jobs, least=1, most=MOST_JOBS)
        seed = checked_integer("seed", seed, least=0, most=2**32 - 1)
        require_answers(repr(self), self.asks, oracle.answers)
        started = time.perf_counter()
        try:
            solver = self._solver(oracle, checked_weights(weights, oracle), seed)
        except ValueError as error:
            raise InvalidInput(f"{type(self).__name__} cannot learn this: {error}") from error
        if state is not None:
            self._resume(solver, state, seed)
        stopped = False
        while not stopped and solver.outcome == "running" and solver.iterations < self.epochs:
            try:
                solver.step(n_jobs)
            except ValueError as error:
                if isinstance(error, InvalidInput) or getattr(error, "__notes__", None):  # a structure's own words
                    raise
                raise InvalidInput(str(error)) from error
            if on_iteration is not None:
                stopped = bool(on_iteration(self._iteration(solver, seed, time.perf_counter() - started)))
        return self._trained(solver, stopped)

    @property
    def asks(self) -> tuple[str, ...]:
        """The questions that an oracle must answer.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tw.Perceptron(k=2).asks, tw.CRF().asks
        (('argmax', 'kbest'), ('expectations',))
        """
        k = getattr(self, "k", 1)
        return ("argmax", "kbest") if isinstance(k, int) and k > 1 else ("argmax",)

    @property
    def duration(self) -> str | None:
        """The parameter that only limits the length of training, or None; a short run is the start of a long one."""
        return "epochs"

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        raise NotImplementedError

    def _iteration(self, solver: _core.Solver, seed: int, seconds: float) -> Iteration:
        return Iteration(
            number=solver.iterations,
            objective=solver.objective,
            phase=solver.phase,
            seconds=seconds,
            weights=solver.weights,
            state=lambda: {**solver.state(), "settings": self._settings(seed)},
            facts={name: value for name, value in sorted(solver.facts.items()) if np.isfinite(value)},
        )

    def _resume(self, solver: _core.Solver, state: Mapping[str, npt.NDArray[Any]], seed: int) -> None:
        parts = dict(state)
        settings = parts.pop("settings", None)
        if settings is None or not np.array_equal(settings, self._settings(seed)):
            raise InvalidInput(
                "state is not of a run with these parameters and this seed: go on with the ones it was saved with"
            )
        try:
            solver.restore(parts)
        except ValueError as error:
            raise InvalidInput(f"state cannot be used here: {error}") from error

    def _settings(self, seed: int) -> npt.NDArray[np.float64]:
        """All that must be the same in a resumed run, as numbers."""
        kept = {name: value for name, value in self.get_params().items() if name not in self._free}
        text = f"{type(self).__name__} {sorted(kept.items())!r} {seed}"
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.float64)

    def _trained(self, solver: _core.Solver, stopped: bool) -> Trained:
        count = f"after {solver.iterations} epochs"
        if stopped:
            message = f"stopped by on_iteration {count}"
        elif solver.outcome == "running":
            message = f"ended {count}, as epochs={self.epochs} says"
        else:
            message = self._end(solver, count)
        return Trained(solver.weights(), solver.objective, solver.iterations, solver.outcome == "converged", message)

    def _end(self, solver: _core.Solver, count: str) -> str:
        """Say why the learner itself saw no reason to go on."""
        if solver.outcome == "converged":
            return f"converged {count}: a whole pass changed nothing"
        return f"ended {count}: {solver.outcome}"


def checked_weights(weights: FloatArray | None, oracle: _core.Oracle) -> FloatArray:
    """Return the weights to start from, or raise."""
    if weights is None:
        return np.zeros(oracle.n_weights)
    array = np.ascontiguousarray(weights, dtype=np.float64)
    if array.shape != (oracle.n_weights,):
        raise InvalidInput(f"weights has shape {array.shape}, but these examples have {oracle.n_weights} weights")
    if not np.isfinite(array).all():
        raise InvalidInput("weights must be finite numbers: there is a NaN or an infinity among them")
    return array
