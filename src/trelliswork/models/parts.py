"""Models of any structure of parts: channels with weights, whose codes say what the parts are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from trelliswork import _core
from trelliswork.models.trained import TrainedModel, Weight

__all__ = ["PartsModel"]


class PartsModel(TrainedModel):
    """A model that gives scores to the parts of a structure.

    A subclass says which structure and channels a file describes, with `_described`, and what their codes stand for,
    with `code_names`: by default, those of every channel are labels.
    """

    _any_shape: Any = None  # a shape that the structure knows; None is a length of 1

    def _made_core(self) -> _core.PartModel:
        self.channels: list[str] = list(self.settings["channels"])
        self.structure, channels = self._described()
        return _core.PartModel(self.structure, channels, self.tensors, self.hash_bits, self._any_shape)

    def _described(self) -> tuple[_core.PartStructure, list[tuple[Any, ...]]]:
        """Return the structure, and the channels as the core wants them; raise `ValueError` if the file is unsound."""
        raise NotImplementedError

    @property
    def _with_attributes(self) -> list[str]:
        """The channels that have attributes; the others have a weight for each code, the same everywhere."""
        return [name for name in self.channels if self.settings["channels"][name]["sites"] != "tied"]

    @property
    def n_attributes(self) -> int:
        """How many attributes the model has, in all channels."""
        return sum(int(self.core.n_attributes(name)) for name in self._with_attributes)

    def known(self, source: _core.Source | Sequence[_core.Source]) -> tuple[int, int]:
        """Return how many attributes of a source, or of several side by side, the model knows, of how many."""
        known, everything = self.core.known([source] if isinstance(source, _core.Source) else source)
        return known, everything

    @cached_property
    def code_names(self) -> dict[str, list[tuple[str | None, str]]]:
        """The labels before and the label of each code, by channel."""
        return {name: [(None, label) for label in self.labels] for name in self.channels}

    def weights(self) -> list[Weight]:
        """Return all weights, the largest first; ``previous`` are the labels before, as far as the weight sees."""
        found: list[Weight] = []
        for name in self.channels:
            found += self._attribute_weights(name) if name in self._with_attributes else self._tied_weights(name)
        return sorted(found, key=lambda weight: -abs(weight.weight))

    def _tied_weights(self, channel: str) -> Iterator[Weight]:
        dense = np.asarray(self.tensors[f"channel.{channel}.weights"], dtype=np.float64)
        names = self._tied_names(channel)
        for code in np.flatnonzero(dense).tolist():
            yield Weight(*names[code], float(dense[code]))

    def _tied_names(self, channel: str) -> list[tuple[str | None, str | None, str]]:
        """The attribute, the labels before and the label that weights of each code of a channel are said to have."""
        return [(None, *names) for names in self.code_names[channel]]
