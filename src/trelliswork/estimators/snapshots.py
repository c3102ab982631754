"""What a model that is being trained makes of sequences held out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Snapshot"]


class Snapshot(NamedTuple):
    """What training had come to after an iteration.

    Attributes
    ----------
    iteration : int
    seconds : float
        Of training, without the time that looking at it took.
    objective : float
    labels : int array
        What the weights of this iteration say of the tokens held out, as numbers.
    classes : list of labels
        The labels of the numbers.
    """

    iteration: int
    seconds: float
    objective: float
    labels: npt.NDArray[np.int32]
    classes: list[Any]
