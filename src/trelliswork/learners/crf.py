"""The conditional random field: maximum likelihood of the gold structures, and its softmax-margin form.

    minimise over w   sum_i [ log sum_y exp(w . f(x_i, y) + nu cost(y_i, y)) - w . f(x_i, y_i) ] + l2/2 |w|^2 + l1 |w|_1

With ``nu = 0`` this is the CRF of "Structured Prediction", eq. 77.6 (Carreras, "Parameter Estimation in CRFs"; Mančev
2015, 2.3): its gradient is expected minus observed features. With ``nu > 0`` it is softmax-margin (Mančev 2015, Table
2.1; Gimpel & Smith 2010), which pushes structures of higher cost further away from gold. The objective is convex, and
strictly so for ``l2 > 0``, unless some examples are only partially labelled.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import callers_level
from trelliswork.errors import ConvergenceWarning, InvalidInput
from trelliswork.learners.epochs import checked_weights
from trelliswork.learners.parameters import Only, Parameters, checked_choice, checked_integer, checked_number
from trelliswork.learners.training import FloatArray, Iteration, OnIteration, Trained
from trelliswork.questions import require_answers
from trelliswork.structures.checks import MOST_JOBS

__all__ = ["CRF", "Plan", "plan_of"]

_SOLVERS = ("auto", "lbfgs", "owlqn", "sgd", "sgd-lbfgs", "sgd-owlqn", "proximal", "sgd-proximal")
_QUASI_NEWTON = ("auto", "lbfgs", "owlqn", "proximal", "sgd-lbfgs", "sgd-owlqn", "sgd-proximal")
_TWO_PHASES = ("auto", "sgd-lbfgs", "sgd-owlqn", "sgd-proximal")
_STOCHASTIC = ("auto", "sgd", "sgd-lbfgs", "sgd-owlqn", "sgd-proximal")
_WITH_L1 = ("auto", "owlqn", "proximal", "sgd-owlqn", "sgd-proximal")
_DELTA_WITH_L1 = 0.2  # of tol
_WORTH_SGD = 200  # examples below which a stochastic start saves nothing
_LEAST_L2 = 0.1  # of l1, for a stochastic start
_DECAY = 0.85  # of the step from one pass of a stochastic start to the next
_DECAY_WITH_L1 = 0.7  # where the start does not end at a mean, which would have few zeros

State = dict[str, npt.NDArray[Any]]


class CRF(Parameters):
    """Train a conditional random field.

    Parameters
    ----------
    l2 : float, default 1.0
        Factor of ``|w|^2 / 2``, on the sum of the losses. (CRFsuite's ``c2`` is half of it; a Gaussian prior of
        variance v is ``l2 = 1 / v``.)
    l1 : float, default 0.0
        Factor of ``|w|_1``. Above zero many weights end as exact zeros.
    solver : str, default "auto"
        ``"lbfgs"``; ``"proximal"`` or ``"owlqn"``, the only ones that allow ``l1 > 0`` or non-negative weights;
        ``"sgd"``, stochastic gradient descent; or two in sequence, ``"sgd-lbfgs"``, ``"sgd-proximal"`` and
        ``"sgd-owlqn"``: a few stochastic passes, then the second solver, scaled by the diagonal of the Hessian at that
        point. ``"proximal"`` makes the steps of ``"owlqn"`` until they gain little, then continues with coordinate
        descent on a model of the loss. ``"auto"`` uses two in sequence (``"sgd-proximal"`` with ``l1 > 0``), or the
        second alone if there are few examples or ``l1`` is more than ten times ``l2``. When training starts from given
        weights, it omits the stochastic passes, which would lead away from them.
    max_iter : int, default 1000
        Maximum number of iterations of all phases together; an iteration of ``"sgd"`` is a pass over the data.
    tol : float, default 1e-3
        Stop when the objective is estimated to be within this fraction of its minimum. The estimate is the smaller of
        two: ``|gradient|^2 / (2 l2)``, a guaranteed but conservative bound for a convex loss; and a cautious
        extrapolation of the recent decrease. Below 1e-5 the last iterations are in double precision. With zero,
        training continues until rounding ends it. (``"sgd"`` has no such estimate: it stops when the losses of a pass
        have fallen by less than this fraction of the objective in four passes.)
    margin : float, default 0.0
        ``nu``, the factor of the cost in softmax-margin; 0 gives the plain CRF.
    memory : int, optional
        Number of steps that L-BFGS, OWL-QN and the proximal method remember. Left out, 6.
    sgd_epochs : int, optional
        Number of stochastic passes at the start of solvers that begin with them. Left out, 5.
    batch_size : int, optional
        Number of examples in a stochastic step. Left out, 4.
    step_size : float, optional
        Length of the first stochastic step. Left out, it is chosen on a sample.
    shards : int, optional
        Number of parts of the data whose stochastic steps run in parallel. Each part has its own weights, which are
        averaged after each pass. More parts can use more threads, but a pass then achieves less. The result depends on
        this number, not on ``n_jobs``. Left out, 1.
    period, delta : int and float, optional
        Also stop when the objective has fallen by less than the fraction ``delta`` in the last ``period`` iterations of
        the second solver, as CRFsuite does. Left out, ``period`` is 10. ``delta`` is then ``tol / 5`` with ``l1 > 0``,
        where the last per mille of the objective takes hundreds of iterations and hardly changes a prediction;
        otherwise it is 0, which disables the rule.

    Notes
    -----
    The page "Training" (docs/training.md) explains what each solver is for, and how many passes over the data it takes.

    Examples
    --------
    >>> CRF(l2=0.5, margin=1.0)
    CRF(l2=0.5, margin=1.0)
    """

    grows: ClassVar[bool] = False  # see `EpochLearner`
    sums: ClassVar[bool] = True
    local: ClassVar[bool] = False
    by_member: ClassVar[bool] = False
    asks: ClassVar[tuple[str, ...]] = ("expectations",)
    duration: ClassVar[str | None] = "max_iter"
    _only: ClassVar[Mapping[str, Only]] = {
        "memory": Only(6, solver=_QUASI_NEWTON),
        "sgd_epochs": Only(5, solver=_TWO_PHASES),
        "batch_size": Only(4, solver=_STOCHASTIC),
        "step_size": Only(None, solver=_STOCHASTIC),
        "shards": Only(1, solver=_STOCHASTIC),
        "period": Only(10, solver=_QUASI_NEWTON),
        "delta": Only(None, solver=_QUASI_NEWTON),
    }

    def __init__(
        self,
        l2: float = 1.0,
        l1: float = 0.0,
        *,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-3,
        margin: float = 0.0,
        memory: int | None = None,
        sgd_epochs: int | None = None,
        batch_size: int | None = None,
        step_size: float | None = None,
        shards: int | None = None,
        period: int | None = None,
        delta: float | None = None,
    ) -> None:
        self.l2 = l2
        self.l1 = l1
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.margin = margin
        self.memory = memory
        self.sgd_epochs = sgd_epochs
        self.batch_size = batch_size
        self.step_size = step_size
        self.shards = shards
        self.period = period
        self.delta = delta

    @property
    def bytes_per_weight(self) -> int | None:
        """Bytes of memory per weight: vectors of L-BFGS in double precision, its remembered steps in single."""
        return 8 * (10 if self.solver == "sgd" else 10 + self._value("memory"))

    @property
    def costs(self) -> bool:
        """Whether it uses the cost of wrong outputs."""
        return bool(self.margin)

    @property
    def probabilistic(self) -> bool:
        """Whether it trains scores to be log-probabilities; with a margin, wrong outputs get lower scores."""
        return not self.margin

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
        """Minimise the penalised loss of ``oracle``.

        Parameters
        ----------
        oracle : Oracle
            The examples.
        weights : array of shape (oracle.n_weights,), optional
            Initial weights; zeros if left out.
        state : dict of arrays, optional
            The result of `Iteration.state` in an earlier run with the same examples, parameters (but for ``max_iter``,
            ``tol``, ``period`` and ``delta``) and seed. Training continues from there to the identical result;
            ``weights`` is ignored.
        n_jobs : int, default 1
            Number of threads. The result is bit for bit the same for any number.
        seed : int, default 0
            Seed of the order in which the stochastic phase visits the examples.
        on_iteration : callable, optional
            Called with an `Iteration` after each iteration; training stops when it returns True. `KeyboardInterrupt`
            passes through.

        Returns
        -------
        Trained
            The weights, the objective, and the reason why training ended.

        Warns
        -----
        ConvergenceWarning
            If training ended because of ``max_iter``, or could not continue.
        """
        self.check()
        n_jobs = checked_integer("n_jobs", n_jobs, least=1, most=MOST_JOBS)
        require_answers(repr(self), self.asks, oracle.answers)
        if oracle.nonnegative.size and self.solver not in ("auto", "owlqn", "proximal"):
            raise InvalidInput(
                f"solver={self.solver!r} does not keep weights from becoming negative, as some of these must not: "
                "use 'proximal', 'owlqn' or 'auto'"
            )
        run = _Run(
            self,
            oracle.local() if self.local else oracle,
            n_jobs,
            checked_integer("seed", seed, least=0, most=2**32 - 1),
        )
        if state is None:
            run.begin(weights)
        else:
            run.resume(state)
        stopped = False
        while not stopped and run.goes_on():
            before = run.iterations
            run.solver.step(run.n_jobs)
            if on_iteration is not None and run.iterations > before:  # else it ended without another step
                stopped = bool(on_iteration(run.iteration()))
        return run.trained(stopped)

    def _delta(self) -> float:
        """The fall of the objective in a period, as a part of it, below which training ends."""
        if self.delta is None:
            return _DELTA_WITH_L1 * self.tol if self.l1 > 0 else 0.0
        return self.delta

    def _check(self) -> None:
        checked_number("l2", self.l2, least=0.0)
        checked_number("l1", self.l1, least=0.0)
        checked_choice("solver", self.solver, _SOLVERS)
        checked_integer("max_iter", self.max_iter, least=1)
        checked_number("tol", self.tol, least=0.0)
        checked_number("margin", self.margin, least=0.0)
        checked_integer("memory", self._value("memory"), least=1, most=1000)
        checked_integer("sgd_epochs", self._value("sgd_epochs"), least=0)
        checked_integer("batch_size", self._value("batch_size"), least=1)
        checked_integer("shards", self._value("shards"), least=1, most=1000)
        if self.step_size is not None:
            checked_number("step_size", self.step_size, above=0.0)
        checked_integer("period", self._value("period"), least=1)
        checked_number("delta", self._delta(), least=0.0)
        if self.l1 > 0 and self.solver not in _WITH_L1:
            raise InvalidInput(f"solver={self.solver!r} has no L1 penalty: use 'proximal' or 'auto', or set l1=0")


@dataclass(frozen=True)
class Plan:
    """Which phases a run has."""

    epochs: int  # stochastic passes first; 0 for none, -1 for nothing else
    scaled: bool  # whether the second phase is scaled by the diagonal of the Hessian


class _Run:
    """One call of `CRF.train`: the phases in turn, the solver of the current one, and how far it got."""

    def __init__(self, learner: CRF, oracle: _core.Oracle, n_jobs: int, seed: int) -> None:
        self.learner, self.oracle, self.n_jobs, self.seed = learner, oracle, n_jobs, seed
        self.started = time.perf_counter()
        self.past_iterations, self.past_passes = 0, 0.0  # of the phases before this one

    def begin(self, weights: FloatArray | None) -> None:
        self.plan = plan_of(self.learner, self.oracle, warm=weights is not None)
        start = checked_weights(weights, self.oracle)
        self.solver = self._stochastic(start) if self.plan.epochs else self._second(start)

    def resume(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        parts = dict(state)
        settings, run = parts.pop("settings", None), parts.pop("run", None)
        if settings is None or run is None or np.shape(run) != (5,) or not np.array_equal(settings, self._settings()):
            raise InvalidInput(
                "state is not of a run with these parameters and this seed: go on with the ones it was saved with"
            )
        in_second, iterations, passes, epochs, scaled = (float(x) for x in run)
        self.past_iterations, self.past_passes = int(iterations), passes
        self.plan = Plan(int(epochs), bool(scaled))
        zeros = np.zeros(self.oracle.n_weights)
        self.solver = self._second(zeros) if in_second else self._stochastic(zeros)
        try:
            self.solver.restore(parts)
        except ValueError as error:
            raise InvalidInput(f"state cannot be used here: {error}") from error

    @property
    def iterations(self) -> int:
        return self.past_iterations + self.solver.iterations

    def goes_on(self) -> bool:
        """Whether there is another iteration to make; starts the next phase when one is over."""
        stochastic = isinstance(self.solver, _core.Sgd)
        if self.iterations >= self.learner.max_iter:
            return False
        if self.solver.outcome == "running" and not (stochastic and 0 <= self.plan.epochs <= self.solver.iterations):
            return True
        if not self._in_passing():
            return False
        self.past_iterations, self.past_passes = self.solver.iterations, self.solver.passes
        self.solver = self._second(self.solver.weights())
        return True

    def _stochastic(self, weights: FloatArray) -> _core.Sgd:
        start, smooth = self.plan.epochs >= 0, self.learner.l1 == 0
        return _core.Sgd(
            self.oracle,
            weights,
            l2=float(self.learner.l2),
            l1=float(self.learner.l1),
            nu=float(self.learner.margin),
            batch=self.learner._value("batch_size"),
            shards=self.learner._value("shards"),
            decay=(_DECAY if smooth else _DECAY_WITH_L1) if start else 1.0,
            step=float(self.learner.step_size or 0.0),
            tol=0.0 if start else float(self.learner.tol),
            seed=self.seed,
            passes=self.plan.epochs if start and smooth else 0,
        )

    def _second(self, weights: FloatArray) -> _core.Lbfgs | _core.Owlqn | _core.Proximal:
        smooth = self.learner.l1 == 0 and self.oracle.nonnegative.size == 0
        name = self.learner.solver.removeprefix("sgd-")
        kind: type[_core.Lbfgs | _core.Owlqn | _core.Proximal]
        if name == "owlqn":
            kind = _core.Owlqn
        elif name == "proximal" or (name == "auto" and not smooth):
            kind = _core.Proximal
        else:
            kind = _core.Lbfgs
        return kind(
            self.oracle,
            weights,
            l2=float(self.learner.l2),
            l1=float(self.learner.l1),
            nu=float(self.learner.margin),
            memory=self.learner._value("memory"),
            tol=float(self.learner.tol),
            scaled=self.plan.scaled,
            period=self.learner._value("period"),
            delta=self.learner._delta(),
        )

    def iteration(self) -> Iteration:
        facts = {"gradient_norm": self.solver.gradient_norm, "gap": self.solver.gap}
        facts = {name: value for name, value in facts.items() if np.isfinite(value)}
        return Iteration(
            number=self.iterations,
            objective=self.solver.objective,
            phase=self.solver.phase,
            seconds=time.perf_counter() - self.started,
            weights=self.solver.weights,
            state=self._state,
            facts=facts | {"passes": self.past_passes + self.solver.passes},
        )

    def _state(self) -> State:
        in_second = not isinstance(self.solver, _core.Sgd)
        run = [in_second, self.past_iterations, self.past_passes, self.plan.epochs, self.plan.scaled]
        return {**self.solver.state(), "run": np.array(run, dtype=np.float64), "settings": self._settings()}

    def _settings(self) -> FloatArray:
        """All that must be the same in a resumed run."""
        it = self.learner
        whole = [it._value(name) for name in ("memory", "sgd_epochs", "batch_size", "shards")]
        numbers = [it.l2, it.l1, it.margin, *whole, it.step_size or 0.0]
        return np.array([_SOLVERS.index(it.solver), *numbers, self.seed], dtype=np.float64)

    def trained(self, stopped: bool) -> Trained:
        outcome, learner = self.solver.outcome, self.learner
        weights = self.solver.weights()
        objective = self.solver.objective
        if isinstance(self.solver, _core.Sgd):  # what it knows is an estimate
            terms = float(learner.l2), float(learner.l1), self.n_jobs, float(learner.margin)
            objective = _core.exact_objective(self.oracle, weights, *terms)
        converged = outcome in ("converged", "slow", "rounding") and not self._in_passing()
        message = self._message(outcome, converged, stopped)
        if not converged and not stopped:
            warnings.warn(
                f"{type(learner).__name__} training has not converged: {message}",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )
        return Trained(weights, objective, self.iterations, converged, message)

    def _in_passing(self) -> bool:
        """Whether the solver is a stochastic one with another to follow."""
        return isinstance(self.solver, _core.Sgd) and self.plan.epochs >= 0

    def _message(self, outcome: str, converged: bool, stopped: bool) -> str:
        count = f"after {self.iterations} iterations"
        if converged and isinstance(self.solver, _core.Sgd):
            return f"ended {count}: the losses met no longer fall by {self.learner.tol:g} in some passes"
        if converged and outcome == "slow":
            learner = self.learner
            period, delta = learner._value("period"), learner._delta()
            return f"ended {count}: the objective fell by less than delta={delta:g} of itself in {period} iterations"
        if converged and outcome == "converged":
            return f"converged {count}: the objective is believed to be within {self.learner.tol:g} of its minimum"
        if converged:
            return f"converged {count}: as low as double precision can tell"
        if outcome == "not finite":
            return (
                f"the objective is not a finite number {count}: are the values of the features or weights very large?"
            )
        if outcome == "no lower point":
            return f"the line search found no lower objective {count}, although its slope promised one"
        if stopped:
            return f"stopped by on_iteration {count}"
        return f"max_iter={self.learner.max_iter} was reached; raise it, or raise tol={self.learner.tol:g}"


def plan_of(learner: CRF, oracle: _core.Oracle, warm: bool) -> Plan:
    """Return the phases of a run; ``warm`` is whether it starts from given weights."""
    two, epochs = learner.solver.startswith("sgd-"), learner._value("sgd_epochs")
    if learner.solver == "auto":
        smooth_enough = _LEAST_L2 * learner.l1 <= learner.l2
        two = not warm and oracle.n_examples >= _WORTH_SGD and smooth_enough and not oracle.nonnegative.size
        return Plan(epochs=epochs if two else 0, scaled=warm or (two and epochs > 0))
    if learner.solver == "sgd":
        return Plan(epochs=-1, scaled=False)
    return Plan(epochs=epochs if two else 0, scaled=two)
