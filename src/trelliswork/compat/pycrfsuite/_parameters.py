"""The parameters of CRFsuite's training algorithms, as it keeps them: by name, of C's types, set from text."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["ALGORITHMS", "LINE_SEARCHES", "Parameter", "from_text", "means"]

Value = int | float | str


class Parameter(NamedTuple):
    """One parameter: what it is when nothing is said, and what it is for."""

    default: Value
    help: str


LINE_SEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")
_MOST = 2**31 - 1
_FEATURES = {
    "feature.minfreq": Parameter(0.0, "The minimum frequency of features."),
    "feature.possible_states": Parameter(0, "Force to generate possible state features."),
    "feature.possible_transitions": Parameter(0, "Force to generate possible transition features."),
}
_PERIOD = Parameter(10, "The duration of iterations to test the stopping criterion.")
_STOPS = (
    "The threshold for the stopping criterion; training stops when the improvement of the log likelihood over the "
    "last ${period} iterations is no greater than this threshold."
)
_L2 = Parameter(1.0, "Coefficient for L2 regularization.")
_CALIBRATED = "Without effect here: the rate is found otherwise."
_ITERATIONS = Parameter(100, "The maximum number of iterations.")

ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": _FEATURES
    | {
        "c1": Parameter(0.0, "Coefficient for L1 regularization."),
        "c2": _L2,
        "max_iterations": Parameter(_MOST, "The maximum number of iterations for L-BFGS optimization."),
        "num_memories": Parameter(6, "The number of limited memories for approximating the inverse hessian matrix."),
        "epsilon": Parameter(1e-5, "Epsilon for testing the convergence of the objective."),
        "period": _PERIOD,
        "delta": Parameter(1e-5, _STOPS),
        "linesearch": Parameter(
            "MoreThuente",
            f"The line search algorithm: {', '.join(LINE_SEARCHES)}. Without effect here: there is one, which fulfils "
            "the conditions of Wolfe.",
        ),
        "max_linesearch": Parameter(
            20, "The maximum number of trials for the line search algorithm. Without effect here."
        ),
    },
    "l2sgd": _FEATURES
    | {
        "c2": _L2,
        "max_iterations": Parameter(1000, "The maximum number of iterations (epochs) for SGD optimization."),
        "period": _PERIOD,
        "delta": Parameter(1e-6, _STOPS),
        "calibration.eta": Parameter(
            0.1, f"The initial value of learning rate (eta) used for calibration. {_CALIBRATED}"
        ),
        "calibration.rate": Parameter(
            2.0, f"The rate of increase/decrease of learning rate for calibration. {_CALIBRATED}"
        ),
        "calibration.samples": Parameter(1000, f"The number of instances used for calibration. {_CALIBRATED}"),
        "calibration.candidates": Parameter(10, f"The number of candidates of learning rate. {_CALIBRATED}"),
        "calibration.max_trials": Parameter(
            20, f"The maximum number of trials of learning rates for calibration. {_CALIBRATED}"
        ),
    },
    "averaged-perceptron": _FEATURES
    | {
        "max_iterations": _ITERATIONS,
        "epsilon": Parameter(0.0, "The stopping criterion (the ratio of incorrect label predictions)."),
    },
    "passive-aggressive": _FEATURES
    | {
        "type": Parameter(
            1, "The strategy for updating feature weights: 0 PA without slack variables, 1 PA type I, 2 PA type II."
        ),
        "c": Parameter(1.0, "The aggressiveness parameter."),
        "error_sensitive": Parameter(1, "Consider the number of incorrect labels to the cost function."),
        "averaging": Parameter(1, "Compute the average of feature weights (similarly to Averaged Perceptron)."),
        "max_iterations": _ITERATIONS,
        "epsilon": Parameter(0.0, "The stopping criterion (the mean loss)."),
    },
    "arow": _FEATURES
    | {
        "variance": Parameter(1.0, "The initial variance of every feature weight."),
        "gamma": Parameter(1.0, "Tradeoff parameter."),
        "max_iterations": _ITERATIONS,
        "epsilon": Parameter(0.0, "The stopping criterion (the mean loss)."),
    },
}


def from_text(text: str, like: Value) -> Value:
    """Return what C reads in a text, of the type of ``like``: a number at its beginning, or else 0.

    Examples
    --------
    >>> from_text("12.5 and more", 0), from_text("1e-3", 0.0), from_text("abc", 1.0)
    (12, 0.001, 0.0)
    """
    if isinstance(like, str):
        return text
    if isinstance(like, int):
        found = re.match(r"\s*[+-]?\d+", text)
        return max(-_MOST - 1, min(_MOST, int(found[0]))) if found else 0
    found = re.match(r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)", text, re.IGNORECASE)
    return float(found[0]) if found else 0.0


def means(text: str, value: Value) -> bool:
    """Whether a text says just what C reads in it.

    Examples
    --------
    >>> means("100.0", 100), means("1e-3", 0.001), means("12.5", 12), means("abc", 0), means("Newton", "Newton")
    (True, True, False, False, False)
    """
    if isinstance(value, str):
        return value in LINE_SEARCHES
    try:
        return float(text) == value
    except ValueError:
        return False
