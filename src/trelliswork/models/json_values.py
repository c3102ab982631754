"""Parameters and facts as JSON can hold them, for model files and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["from_json", "parameters_as_json", "plain"]

_INFINITE = "inf"


def parameters_as_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a learner as JSON can hold them: infinity is a word.

    Examples
    --------
    >>> parameters_as_json({"C": np.inf, "k": np.int64(5)})
    {'C': 'inf', 'k': 5}
    """
    return {name: _INFINITE if value == np.inf else plain(value) for name, value in parameters.items()}


def from_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `parameters_as_json` wrote."""
    return {name: np.inf if value == _INFINITE else value for name, value in parameters.items()}


def plain(value: Any) -> Any:
    """Return what JSON can hold in place of a value: NumPy's numbers as Python's, None for what is not finite."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
