"""One training run as estimators need it: watched by a `Monitor`, kept when it is interrupted."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from sklearn.utils import check_random_state

from trelliswork import _core, learners
from trelliswork.arguments import callers_level, shown
from trelliswork.errors import ConvergenceWarning, InvalidInput
from trelliswork.learners.training import FloatArray, Learner, Trained
from trelliswork.structures import checks
from trelliswork.training.monitor import Monitor

__all__ = ["Learned", "checked_learner", "learned", "require_dev", "seed_of"]


class Learned(NamedTuple):
    """What came of a run; the estimator keeps these under the same names, with an underscore at the end."""

    weights: FloatArray
    history: list[dict[str, Any]]
    n_iter: int
    best_iteration: int
    converged: bool
    message: str

    def keep(self, estimator: Any) -> None:
        """Set the attributes of an estimator, all but the weights."""
        for name in ("history", "n_iter", "best_iteration", "converged", "message"):
            setattr(estimator, f"{name}_", getattr(self, name))


def checked_learner(learner: Any) -> Learner:
    """Return the learner, which may be given by its name."""
    found = learners.by_name(learner) if isinstance(learner, str) else learner
    if not hasattr(found, "train") or isinstance(found, type):
        raise InvalidInput(f"learner is {shown(learner)}; expected a learner such as tw.Perceptron(), or its name.")
    checked: Learner = found
    return checked


def learned(
    learner: Learner, oracle: _core.Oracle, start: FloatArray | None, monitor: Monitor, n_jobs: Any, seed: int
) -> Learned:
    """Train; an interrupt (Ctrl-C) ends training and keeps the best weights so far."""
    try:
        trained: Trained | None = learner.train(
            oracle, weights=start, n_jobs=checks.as_jobs(n_jobs), seed=seed, on_iteration=monitor
        )
    except KeyboardInterrupt:
        if not monitor.began:
            raise
        trained = None
    except InvalidInput as error:
        cause = error.__cause__
        if isinstance(cause, InvalidInput) or getattr(cause, "__notes__", None):  # it names the example itself
            assert cause is not None
            raise cause from None
        raise
    n_iter = monitor.history[-1]["iteration"] if monitor.history else 0
    if trained is None:
        message = f"interrupted after {n_iter} iterations; the best weights so far are kept"
        warnings.warn(f"training was {message}.", ConvergenceWarning, stacklevel=callers_level())
    else:
        message = monitor.stopped or trained.message
    converged = trained is not None and trained.converged and not monitor.stopped
    return Learned(monitor.best_weights(trained), monitor.history, n_iter, monitor.best_iteration, converged, message)


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
    """Return the seed of a ``random_state`` as scikit-learn knows them; None is 0, so that runs can be repeated."""
    if random_state is None:
        return 0
    if isinstance(random_state, int) and not isinstance(random_state, bool) and 0 <= random_state < 2**32:
        return random_state
    return int(check_random_state(random_state).randint(2**31 - 1))
