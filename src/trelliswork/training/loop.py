"""The fit loop of every estimator: a learner runs, a `Monitor` watches it, and the best weights are kept.

An estimator says what is to be learned with a `Problem` and calls `learn`. Development scores, early stopping,
progress, interrupts, checkpoints and resuming are here and nowhere else::

    problem = Problem(
        oracle,                      # what the learner asks
        keep=self._keep,             # makes a model of the weights, called once at the end
        same_run=run,                # what a resumed run must have in common with this one
        first_weights=start,         # a warm start, or None
        dev_score=score,             # from weights to their score on development data, or None
    )
    learn(self, learner, problem, callback, resume)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from trelliswork import _core, learners
from trelliswork.arguments import callers_level
from trelliswork.errors import ConvergenceWarning, InvalidInput, shown
from trelliswork.learners.training import FloatArray, Learner, Trained
from trelliswork.structures import checks
from trelliswork.training.monitor import Callback, Monitor
from trelliswork.training.same_run import SameRun
from trelliswork.training.scratch import scratch_errors

__all__ = ["Problem", "checked_learner", "learn", "require_dev", "seed_of"]


@dataclass(frozen=True)
class Problem:
    """What one call of ``fit`` wants learned.

    Parameters
    ----------
    oracle : trelliswork._core.Oracle
        The examples, as learners see them.
    keep : callable
        Makes a model of the best weights and stores it in the estimator. Called once training has ended, when the
        estimator already has ``history_`` and the like; called again if a second Ctrl-C arrives meanwhile.
    same_run : SameRun
        What a resumed run must have in common with this one.
    first_weights : array, optional
        Where to start; None is all zeros.
    dev_score : callable, optional
        From weights to their score on the development data, higher is better.
    """

    oracle: _core.Oracle
    keep: Callable[[FloatArray], None]
    same_run: SameRun
    first_weights: FloatArray | None = None
    dev_score: Callable[[FloatArray], float] | None = None


def learn(
    estimator: Any,
    learner: Learner,
    problem: Problem,
    callback: Callback | None = None,
    resume: Mapping[str, npt.NDArray[Any]] | None = None,
) -> None:
    """Train and keep the best weights; an interrupt (Ctrl-C) ends training and loses nothing.

    Parameters
    ----------
    estimator : object
        Its ``patience``, ``verbose``, ``n_jobs`` and ``random_state`` are used. It gets ``history_``, ``n_iter_``,
        ``best_iteration_``, ``converged_``, ``interrupted_`` and ``message_``.
    learner : Learner
    problem : Problem
    callback : callable, optional
        Told of every iteration; training stops when it returns True.
    resume : dict of arrays, optional
        What `Progress.state` gave in an earlier run.
    """
    monitor = Monitor(problem.dev_score, estimator.patience, callback, estimator.verbose, problem.same_run)
    state = None if resume is None else monitor.resume(resume)
    try:
        with scratch_errors():
            trained: Trained | None = learner.train(
                problem.oracle,
                weights=problem.first_weights,
                state=state,
                n_jobs=checks.as_jobs(estimator.n_jobs),
                seed=seed_of(estimator.random_state),
                on_iteration=monitor,
            )
    except KeyboardInterrupt:
        if not monitor.began:
            raise
        trained = None
    except InvalidInput as error:
        if _names_the_example(error.__cause__):
            raise error.__cause__ from None
        raise
    try:
        _keep(estimator, problem, monitor, trained)
    except KeyboardInterrupt:  # one that comes a moment later must not cost the model either
        _keep(estimator, problem, monitor, None)


def _keep(estimator: Any, problem: Problem, monitor: Monitor, trained: Trained | None) -> None:
    """Say how training went, and make a model of the best weights; ``trained`` is None if it was interrupted."""
    estimator.history_ = monitor.history
    estimator.n_iter_ = monitor.history[-1]["iteration"] if monitor.history else 0
    estimator.best_iteration_ = monitor.best_iteration
    estimator.interrupted_ = trained is None
    estimator.converged_ = trained is not None and trained.converged and not monitor.stopped
    if trained is None:
        estimator.message_ = f"interrupted after {estimator.n_iter_} iterations; the best weights so far are kept"
        warnings.warn(f"training was {estimator.message_}.", ConvergenceWarning, stacklevel=callers_level())
    else:
        estimator.message_ = monitor.stopped or trained.message
    problem.keep(monitor.best_weights(trained))


def _names_the_example(cause: BaseException | None) -> TypeGuard[BaseException]:
    """Whether what a structure written in Python raised says more than the learner's error about it."""
    return isinstance(cause, InvalidInput) or bool(getattr(cause, "__notes__", None))


def checked_learner(learner: Any) -> Learner:
    """Return the learner, which may be given by its name."""
    found = learners.by_name(learner) if isinstance(learner, str) else learner
    if not hasattr(found, "train") or isinstance(found, type):
        raise InvalidInput(f"learner is {shown(learner)}; expected a learner such as tw.CRF(), or its name.")
    checked: Learner = found
    return checked


def require_dev(X_dev: Any, y_dev: Any, patience: int | None, name: str = "y_dev") -> bool:
    """Whether there are development data; raise when a half of them is missing, or they are and ``patience`` is not."""
    if patience is not None:
        checks.as_count("patience", patience)
    if (X_dev is None) != (y_dev is None):
        missing = name if y_dev is None else "X_dev"
        raise InvalidInput(f"{missing} is missing: development data are X_dev with {name}.")
    if X_dev is None and patience is not None:
        raise InvalidInput(f"patience needs development data: pass X_dev and {name}, or leave patience out.")
    return X_dev is not None


def seed_of(random_state: Any) -> int:
    """Return the seed of a ``random_state`` as scikit-learn knows them; None is 0, so that runs can be repeated.

    Examples
    --------
    >>> seed_of(None), seed_of(7)
    (0, 7)
    """
    if random_state is None:
        return 0
    if isinstance(random_state, int) and not isinstance(random_state, bool) and 0 <= random_state < 2**32:
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    raise InvalidInput(
        f"random_state is {shown(random_state)}; expected a whole number of at least 0, a RandomState or a Generator."
    )
