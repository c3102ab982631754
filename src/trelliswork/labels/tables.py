"""The labels of a corpus that was read into the core: numbers, and a list of lists to look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import numpy as np

__all__ = ["LabelTable"]


class LabelTable:
    """The labels of a corpus, a list of sequences of str to look at, kept as numbers.

    Attributes
    ----------
    codes : ndarray of int32, shape (n_tokens,)
        The label of every token, as a position in `names`.
    names : list of str
        The labels in the order of first sight.

    Examples
    --------
    >>> import io
    >>> import trelliswork as tw
    >>> _, labels = tw.corpora.read_table(io.BytesIO(b"Rain B-NP\\nfell B-VP\\n\\nStop B-VP\\n"))
    >>> list(labels), labels.names, labels.codes.tolist()
    ([['B-NP', 'B-VP'], ['B-VP']], ['B-NP', 'B-VP'], [0, 1, 1])
    """

    __slots__ = ("_starts", "codes", "names")

    def __init__(self, codes: np.ndarray, names: list[str], lengths: np.ndarray) -> None:
        self.codes = codes
        self.names = names
        self._starts: list[int] = [0, *lengths.cumsum().tolist()]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def bounds(self, i: int) -> tuple[int, int]:
        """Return where the codes of a sequence begin and end."""
        return self._starts[i], self._starts[i + 1]

    @overload
    def __getitem__(self, index: int) -> list[str]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[str]]: ...
    def __getitem__(self, index: int | slice) -> list[str] | list[list[str]]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[index]
        return [self.names[code] for code in self.codes[self._starts[i] : self._starts[i + 1]].tolist()]

    def __iter__(self) -> Iterator[list[str]]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"LabelTable({len(self)} sequences, {len(self.codes)} tokens, {len(self.names)} labels)"
