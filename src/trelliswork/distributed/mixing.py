"""Learners whose examples lie in shards: what is done on each, and how it becomes one.

A CRF is trained on the sum of the shards' losses by the solvers that it always has. The stochastic passes that it may
start with, and the epochs of online learners, are made on each shard by itself, from the same weights, and brought
together after each (iterative parameter mixing; McDonald, Hall & Mann 2010).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import callers_level
from trelliswork.distributed.pool import Pool
from trelliswork.distributed.shards import DECAY
from trelliswork.errors import ConvergenceWarning, InvalidInput
from trelliswork.learners.crf import CRF, plan_of
from trelliswork.learners.online import PassiveAggressive, Perceptron
from trelliswork.learners.parameters import checked_integer
from trelliswork.learners.training import Iteration, OnIteration, Trained

__all__ = ["MixedEpochs", "SummedCRF", "mixed"]

FloatArray = npt.NDArray[np.float64]
State = Mapping[str, npt.NDArray[Any]]


def mixed(learner: Any, pool: Pool, n_shards: int) -> Any:
    """Return how a learner learns from shards; refuse one for which that is not known."""
    refuse_learner(learner)
    return SummedCRF(learner, pool, n_shards) if type(learner) is CRF else MixedEpochs(learner, pool, n_shards)


def refuse_learner(learner: Any) -> None:
    """Raise `InvalidInput` unless a learner can learn from shards."""
    if type(learner) not in (CRF, Perceptron, PassiveAggressive):
        raise InvalidInput(
            f"{learner!r} cannot be trained on shards: use CRF, whose loss is a sum over them, or Perceptron or "
            "PassiveAggressive, whose weights can be mixed."
        )
    if type(learner) is CRF and learner.solver == "sgd":
        raise InvalidInput("solver='sgd' visits examples one by one, in all shards: use 'auto', 'lbfgs' or 'owlqn'.")


class _Run(NamedTuple):
    """What a learner is asked to do, as `Learner.train` has it."""

    oracle: Any
    weights: FloatArray | None
    state: State | None
    seed: int
    on_iteration: OnIteration | None


class _OnShards:
    """A learner whose examples lie in shards."""

    def __init__(self, learner: Any, pool: Pool, n_shards: int) -> None:
        self._learner, self._pool, self._n_shards = learner, pool, n_shards

    def train(
        self,
        oracle: Any,
        *,
        weights: FloatArray | None = None,
        state: State | None = None,
        n_jobs: int = 1,
        seed: int = 0,
        on_iteration: OnIteration | None = None,
    ) -> Trained:
        """Train as the learner's own ``train`` does; ``oracle`` is the sum of the shards."""
        self._learner.check()
        return self._run(_Run(oracle, weights, state, seed, on_iteration))

    def _run(self, run: _Run) -> Trained:
        raise NotImplementedError


class SummedCRF(_OnShards):
    """A CRF on the sum of all shards, after some stochastic passes on each."""

    def _run(self, run: _Run) -> Trained:
        learner: CRF = self._learner
        started = time.perf_counter()
        oracle, weights, state, seed, on_iteration = run
        n_jobs = self._pool.n_jobs
        n_passes = min(plan_of(learner, oracle, weights is not None).epochs, learner.max_iter)
        if n_passes == 0:
            return learner.train(
                oracle, weights=weights, state=state, n_jobs=n_jobs, seed=seed, on_iteration=on_iteration
            )
        start = _Start(learner, seed, np.zeros(oracle.n_weights), np.zeros(self._n_shards))
        later = None
        if state is not None:
            later = start.resume(state)
        while later is None and start.n_passes < n_passes:
            self._descend(start)
            if on_iteration is not None and on_iteration(start.iteration(time.perf_counter() - started)):
                message = f"stopped by on_iteration after {start.n_passes} iterations"
                return Trained(start.weights, start.objective, start.n_passes, False, message)
        if n_passes == learner.max_iter:
            message = f"max_iter={learner.max_iter} was reached while it still made stochastic passes; raise it"
            warnings.warn(f"CRF training has not converged: {message}", ConvergenceWarning, stacklevel=callers_level())
            return Trained(start.weights, start.objective, start.n_passes, False, message)
        told = None if on_iteration is None else start.told(on_iteration)
        second = _without_start(learner, n_passes)
        trained = second.train(oracle, weights=start.weights, state=later, n_jobs=n_jobs, seed=seed, on_iteration=told)
        told_how = f"after {n_passes} stochastic passes on each shard, {trained.message}"
        return replace(trained, n_iter=trained.n_iter + n_passes, message=told_how)

    def _descend(self, start: _Start) -> None:
        seeds = _seeds(start.seed, self._n_shards, start.n_passes)
        start.weights, loss, steps = self._pool.descend(start.weights, seeds, start.steps.tolist())
        start.objective = loss + 0.5 * float(self._learner.l2) * float(start.weights @ start.weights)
        start.steps = DECAY * np.array(steps)
        start.n_passes += 1


def _without_start(learner: CRF, n_passes: int) -> CRF:
    """The same learner for what comes after the stochastic passes, scaled as it would be then."""
    changed: dict[str, Any] = {"max_iter": learner.max_iter - n_passes}
    if learner.solver != "auto":  # which leaves them out by itself when there are weights to start from
        changed["sgd_epochs"] = 0
    return CRF(**{**learner.get_params(), **changed})


class _Start:
    """How far the stochastic passes got."""

    def __init__(self, learner: CRF, seed: int, weights: FloatArray, steps: FloatArray) -> None:
        self.seed, self.weights, self.steps = seed, weights, steps
        self.objective, self.n_passes = float("nan"), 0
        free = ("max_iter", "tol", "period", "delta")
        self._settings = _as_numbers({n: v for n, v in learner.get_params().items() if n not in free}, seed)

    def iteration(self, seconds: float) -> Iteration:
        weights, state = self.weights, self._state()
        return Iteration(
            number=self.n_passes,
            objective=self.objective,
            phase="sgd",
            seconds=seconds,
            weights=weights.copy,
            state=lambda: {**state, "mixing.weights": weights},
            facts={"passes": float(self.n_passes)},
        )

    def told(self, on_iteration: OnIteration) -> OnIteration:
        """Tell of the iterations of what follows as of further ones."""
        state = self._state()

        def tell(later: Iteration) -> bool | None:
            facts = {**later.facts, "passes": later.facts.get("passes", 0.0) + self.n_passes}
            return on_iteration(
                replace(
                    later, number=later.number + self.n_passes, state=lambda: {**later.state(), **state}, facts=facts
                )
            )

        return tell

    def resume(self, state: State) -> dict[str, npt.NDArray[Any]] | None:
        """Go on from a state; return what belongs to what follows, if that had begun."""
        own = {name: np.asarray(part) for name, part in state.items() if name.startswith("mixing.")}
        later = {name: part for name, part in state.items() if name not in own}
        _require_settings(own, self._settings)
        self.objective, n_passes = own["mixing.counters"].tolist()
        self.n_passes, self.steps = int(n_passes), own["mixing.steps"].copy()
        if "mixing.weights" not in own:
            return later
        self.weights = own["mixing.weights"].copy()
        return None

    def _state(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "mixing.counters": np.array([self.objective, self.n_passes]),
            "mixing.steps": self.steps.copy(),
            "mixing.settings": self._settings,
        }


class MixedEpochs(_OnShards):
    """An online learner, an epoch on each shard at a time."""

    def _run(self, run: _Run) -> Trained:
        learner, started = self._learner, time.perf_counter()
        oracle, weights, state, seed, on_iteration = run
        checked_integer("epochs", learner.epochs, least=1)
        kept = {name: value for name, value in learner.get_params().items() if name != "epochs"}
        settings = _as_numbers(kept, seed)
        n_weights = oracle.n_weights
        current = np.zeros(n_weights) if weights is None else np.array(weights, dtype=np.float64)
        total, done, updates, loss = np.zeros(n_weights), 0, -1, float("nan")
        if state is not None:
            _require_settings(state, settings)
            current, total = np.array(state["mixing.weights"]), np.array(state["mixing.total"])
            loss = float(state["mixing.counters"][0])
            done, updates = (int(count) for count in state["mixing.counters"][1:])
        stopped = False
        while not stopped and done < learner.epochs and updates != 0:
            found = self._pool.epoch(current, _seeds(seed, self._n_shards, done))
            current, loss, updates, done = found.weights, found.loss, found.updates, done + 1
            total = total + found.mean
            if on_iteration is not None:
                seconds = time.perf_counter() - started
                stopped = bool(on_iteration(self._iteration(current, total, done, loss, updates, settings, seconds)))
        result = total / done if learner.averaged else current
        message = f"ended after {done} epochs, as epochs={learner.epochs} says"
        if stopped:
            message = f"stopped by on_iteration after {done} epochs"
        elif updates == 0:
            message = f"converged after {done} epochs: a whole pass changed nothing"
        return Trained(result, loss, done, updates == 0, message)

    def _iteration(
        self,
        current: FloatArray,
        total: FloatArray,
        done: int,
        loss: float,
        updates: int,
        settings: FloatArray,
        seconds: float,
    ) -> Iteration:
        averaged = self._learner.averaged
        return Iteration(
            number=done,
            objective=loss,
            phase=type(self._learner).__name__.lower(),
            seconds=seconds,
            weights=lambda: total / done if averaged else current.copy(),
            state=lambda: {
                "mixing.weights": current,
                "mixing.total": total,
                "mixing.counters": np.array([loss, done, updates], dtype=np.float64),
                "mixing.settings": settings,
            },
            facts={"updates": float(updates)},
        )


def _seeds(seed: int, n_shards: int, n_passes: int) -> list[int]:
    """A seed for each shard in each pass."""
    return [int(np.random.SeedSequence([seed, n_passes, i]).generate_state(1)[0]) for i in range(n_shards)]


def _as_numbers(parameters: Mapping[str, Any], seed: int) -> FloatArray:
    text = f"{sorted(parameters.items())!r} {seed}"
    return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.float64)


def _require_settings(state: State, settings: FloatArray) -> None:
    if not np.array_equal(state.get("mixing.settings", np.zeros(0)), settings):
        raise InvalidInput(
            "state is not of a run with these parameters and this seed: go on with the ones it was saved with"
        )
