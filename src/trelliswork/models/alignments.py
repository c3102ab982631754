"""Models of alignments: attributes of pairs of items, of deletions and of insertions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import refuse_no_list
from trelliswork.errors import InvalidInput, shown
from trelliswork.features.pair_attributes import PairAttributes, describe_arrays, describe_by, describe_tokens
from trelliswork.models.parts import PartsModel
from trelliswork.structures.alignment import Alignment, alignment_structure

__all__ = ["ALIGNED", "AlignmentModel", "alignment_channels", "alignment_sources", "described"]

FloatArray = npt.NDArray[np.float64]
ALIGNED = ["pair", "deletion", "insertion"]  # what stands for labels
_OPENS = ["deletion opens", "insertion opens"]
_AT_A_TIME = 256  # pairs of sequences whose attributes are in memory


def alignment_channels(affine: bool) -> list[tuple[Any, ...]]:
    """Return the channels as the core wants them; the last of a tuple is its source."""
    same = np.zeros(0, dtype=np.int64)
    found: list[tuple[Any, ...]] = [
        (name, block, "each", 0, 1, same, source)
        for block, (name, source) in enumerate(zip(ALIGNED, (2, 0, 1), strict=True))
    ]
    return found + [(name, 3 + at, "tied", 0, 1, same, 0) for at, name in enumerate(_OPENS) if affine]


def described(x: Any, features: Any, place: str, columns: Sequence[int] | None = None) -> PairAttributes:
    """Return the attributes of one input; ``features``: "tokens", "arrays" with so many columns, or a function."""
    if features == "arrays":
        return describe_arrays(x, place, columns)
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise InvalidInput(f"{place} is {shown(x)}; expected a pair (source, target) of sequences.")
    for side, name in zip(x, ("source", "target"), strict=True):
        if not isinstance(side, (str, list, tuple)):
            raise InvalidInput(f"the {name} of {place} is {shown(side)}; expected a string or a list of tokens.")
    return describe_tokens(x[0], x[1]) if features == "tokens" else describe_by(features, x[0], x[1], place)


def alignment_sources(
    X: Any,
    features: str | Callable[[Any, Any], Any],
    argument: str = "X",
    names: bool = False,
    columns: Sequence[int] | None = None,
) -> Iterator[list[_core.Source]]:
    """Yield attributes of deletions, of insertions and of pairs, block by block."""
    refuse_no_list(X, argument)
    inputs, first = iter(X), 0
    while block := list(islice(inputs, _AT_A_TIME)):
        found = [described(x, features, f"{argument}[{first + i}]", columns) for i, x in enumerate(block)]
        try:
            yield [
                _core.AttributeSource([one.deletions for one in found], names, argument, first, "deletion"),
                _core.AttributeSource([one.insertions for one in found], names, argument, first, "insertion"),
                _core.AttributeSource([one.pairs for one in found], names, argument, first, "pair"),
            ]
        except ValueError as error:
            raise InvalidInput(str(error)) from None
        first += len(block)


class AlignmentModel(PartsModel):
    """A trained model of alignments."""

    meets = ()

    _any_shape = np.zeros(2, dtype=np.uint32)

    def _described(self) -> tuple[_core.PartStructure, list[tuple[Any, ...]]]:
        described = self.settings["structure"]
        self.affine, self.free_ends = bool(described["affine"]), bool(described["free_ends"])
        channels = alignment_channels(self.affine)
        if described["name"] != "alignment" or self.labels != ALIGNED or [c[0] for c in channels] != self.channels:
            raise ValueError("the channels are not those of alignments")
        return alignment_structure(self.affine, self.free_ends), channels

    def alignments(self, sources: Sequence[_core.Source], n_jobs: int) -> list[Alignment]:
        """Return the alignments of each input, scored."""
        found = []
        lengths = np.stack([source.lengths() for source in sources[:2]], axis=1)
        scores = self.core.scores(list(sources), n_jobs, list(lengths.astype(np.uint32)))
        for (n, m), own in zip(lengths.tolist(), scores, strict=True):
            one = Alignment.__new__(Alignment)
            one._set((n, m), own / self.temperature, self.affine, self.free_ends)
            found.append(one)
        return found

    @cached_property
    def code_names(self) -> dict[str, list[tuple[str | None, str]]]:
        """What the one code of each channel stands for."""
        return {name: [(None, name)] for name in self.channels}
