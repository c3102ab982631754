"""One temperature that scores are divided by, so that probabilities mean what they say (Guo et al. 2017).

    minimise over T   - mean of log p(y | x),     p(y | x) = exp(score(x, y) / T) / sum over y' of exp(score(x, y') / T)

The loss is convex in 1 / T where every token has one label, so a search along a line finds the minimum. Scaling changes
neither the order of labellings nor that of labels whose distances differ, only how sure the model says it is.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from trelliswork.errors import InvalidInput, UncalibratedScores

if TYPE_CHECKING:  # tagging from the shell warns, too, and needs no arrays
    import numpy as np
    import numpy.typing as npt

__all__ = ["Calibration", "best_temperature", "warn_unless_probabilities"]

_CALIBRATED = ("sequence-labeler",)  # kinds of models whose estimators have calibrate

_LEAST, _MOST = 1e-3, 1e6


class Calibration(NamedTuple):
    """What calibration found.

    Attributes
    ----------
    temperature : float
        What scores are divided by.
    log_loss, log_loss_before : float
        Minus the mean log-probability of the right labellings, with it and without.
    n_sequences : int
        Those it was fitted on.
    """

    temperature: float
    log_loss: float = math.nan
    log_loss_before: float = math.nan
    n_sequences: int = 0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Calibration | None:
        """Return what the settings of a model file say, or None if they say nothing."""
        found = settings.get("calibration")
        if found is None:
            return None
        made = cls(
            float(found["temperature"]),
            float(found["log_loss"]),
            float(found["log_loss_before"]),
            int(found["n_sequences"]),
        )
        if not _LEAST <= made.temperature <= _MOST:
            raise ValueError(f"the temperature is {made.temperature}")
        return made

    def as_settings(self) -> dict[str, Any]:
        """Return it as a model file has it."""
        return {"calibration": self._asdict()}


def warn_unless_probabilities(settings: Mapping[str, Any], stacklevel: int) -> None:
    """Warn if the scores of the model with these settings are no log-probabilities, and not made so either."""
    if settings.get("probabilistic", True) or "calibration" in settings:
        return
    advice = "Call calibrate(X_dev, y_dev), or train" if settings["kind"] in _CALIBRATED else "Train"
    warnings.warn(
        f"the scores that the learner {settings['learner']['name']!r} gives are no probabilities: marginals, "
        f"probabilities of spans and log-probabilities of this model are nearly all 0 or 1. {advice} a CRF.",
        UncalibratedScores,
        stacklevel=stacklevel + 1,
    )


def best_temperature(log_losses: Callable[[float], npt.NDArray[np.float64]]) -> Calibration:
    """Return the temperature with the least mean loss of the sequences whose loss is finite.

    Parameters
    ----------
    log_losses : callable
        From a temperature to minus the log-probability of the right labelling of each sequence.

    Examples
    --------
    >>> import numpy as np
    >>> round(best_temperature(lambda temperature: np.array([(temperature - 5.0) ** 2, np.inf])).temperature, 4)
    5.0
    """
    import numpy as np
    from scipy.optimize import minimize_scalar

    possible = np.isfinite(log_losses(1.0))
    if not possible.any():
        raise InvalidInput("calibration needs labelled sequences, some of them with labels that the model can predict.")

    def log_loss(temperature: float) -> float:
        return float(log_losses(temperature)[possible].mean())

    found = minimize_scalar(
        lambda x: log_loss(math.exp(x)),
        bounds=(math.log(_LEAST), math.log(_MOST)),
        method="bounded",
        options={"xatol": 1e-7},
    )
    temperature = math.exp(float(found.x))
    if min(log_loss(temperature / 2), log_loss(temperature * 2)) <= float(found.fun):
        raise InvalidInput(
            "no temperature is the best for these data: all of their labellings are predicted right, or hardly any. "
            "Pass development data that the model has not learned from."
        )
    return Calibration(temperature, float(found.fun), log_loss(1.0), int(possible.sum()))
