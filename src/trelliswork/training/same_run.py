"""What a run that is taken up again must have in common with the one before, kept in its state."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import callers_level
from trelliswork.errors import InvalidInput
from trelliswork.labels.encoded import Gold

__all__ = ["SameRun", "checksum_of_array", "checksum_of_dev"]

State = Mapping[str, npt.NDArray[Any]]

_DATA, _SETTINGS = "run.data", "run.settings"
_CHECKSUMS = ("constraints", "cost")  # of which only a checksum is kept


@dataclass(frozen=True)
class SameRun:
    """The data and the settings of a run.

    Attributes
    ----------
    n_examples, size : int
        How many examples there are, and how large they are in all or each, in ``units``.
    data : int
        A checksum of the training data: attributes, labels, weights.
    dev : int
        A checksum of the development data; 0 if there are none.
    settings : dict
        What else decides what is learned, ready for JSON. The learner looks after its own parameters.
    units : pair of str
        What errors call the examples and what they are measured in.
    """

    n_examples: int
    size: int
    data: int
    dev: int
    settings: Mapping[str, Any]
    units: tuple[str, str] = ("sequences", "tokens")

    def as_state(self) -> dict[str, npt.NDArray[Any]]:
        """Return what `refuse_another` will look at."""
        data = np.array([self.n_examples, self.size, self.data, self.dev], dtype=np.uint64)
        settings = json.dumps(self.settings).encode()
        return {_DATA: data, _SETTINGS: np.frombuffer(settings, dtype=np.uint8)}

    def refuse_another(self, state: State) -> None:
        """Raise `InvalidInput` if a state is of a run on other data or with other settings."""
        if _DATA not in state and _SETTINGS not in state:
            warnings.warn(
                "resume says nothing of the data it was made with, as states of earlier releases do not: nobody can "
                "tell whether these are the same.",
                UserWarning,
                stacklevel=callers_level(),
            )
            return
        try:
            n_examples, size, data, dev = (int(part) for part in np.asarray(state[_DATA], dtype=np.uint64))
            settings = dict(json.loads(bytes(state[_SETTINGS])))
        except (KeyError, ValueError, TypeError) as error:
            raise InvalidInput(f"resume is damaged: it does not say what data it is of ({error}).") from None
        self._refuse_settings(settings)
        if data != self.data:
            examples, measured = self.units
            told = f"it had {n_examples:,} {examples} of {size:,} {measured}, these are {self.n_examples:,} of "
            told += f"{self.size:,}"
            if (n_examples, size) == (self.n_examples, self.size):
                told = "attributes, labels, weights or their order are not the same"
            raise InvalidInput(f"resume is of a run on other training data: {told}. Pass the same, or start anew.")
        if dev != self.dev:
            raise InvalidInput("resume is of a run with other development data, or none. Pass the same, or start anew.")

    def _refuse_settings(self, settings: Mapping[str, Any]) -> None:
        for name, now in json.loads(json.dumps(self.settings)).items():
            before = settings.get(name)
            if before == now:
                continue
            if name == "labels":
                raise InvalidInput(
                    f"resume is of a run on other training data: its labels were {before}, and these are {now}."
                )
            told = "not the same" if name in _CHECKSUMS else f"{before!r}, and is now {now!r}"
            raise InvalidInput(f"resume is of a run with other settings: {name} was {told}. Start anew, or go back.")


def checksum_of_dev(gold: Gold, sets: list[_core.DevSet]) -> int:
    """Return a checksum of development data: labels, and what the model sees of the tokens."""
    counts = np.zeros(0, dtype=np.int64) if gold.counts is None else np.asarray(gold.counts, dtype=np.int64)
    parts = [part.checksum() for part in sets]
    parts += [checksum_of_array(part) for part in (gold.codes, counts)]
    parts.append(_core.hash_bytes(json.dumps(list(gold.names)).encode()))
    return checksum_of_array(np.array(parts, dtype=np.uint64))


def checksum_of_array(*arrays: npt.NDArray[Any]) -> int:
    """Return 64 bits that change when the numbers of an array do, or those of several arrays.

    Examples
    --------
    >>> checksum_of_array(np.zeros(2)) == checksum_of_array(np.zeros(2), np.zeros(1))
    False
    """
    parts = [int(_core.hash_bytes(np.ascontiguousarray(array).tobytes())) for array in arrays]
    return parts[0] if len(parts) == 1 else checksum_of_array(np.array(parts, dtype=np.uint64))
