"""The labels of a corpus that was read into the core: numbers, and a list of lists to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from trelliswork.arrow_streams import arrow_batches, arrow_stream, offers_arrow
from trelliswork.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

    from trelliswork import _core

__all__ = ["LabelStream", "LabelTable", "arrow_labels", "label_table"]

_EVERYTHING = 1 << 62  # rows, bytes


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


def arrow_labels(y: Any, argument: str = "y") -> Any:
    """Return a column of lists of text that Arrow hands over as labels; ``y`` itself if it is anything else.

    Parameters
    ----------
    y : object
        A column of pyarrow, polars, pandas, DuckDB: whatever has Arrow's C interface.
    argument : str
        What errors call it.

    Returns
    -------
    LabelTable or list
        A list if there are nulls: None is a token, or in place of its labels a sequence, without a label.

    Examples
    --------
    >>> arrow_labels([["D", "N"], ["V"]])  # no column of Arrow's
    [['D', 'N'], ['V']]
    """
    if not offers_arrow(y):
        return y
    stream = arrow_stream(y, argument)
    return y if stream.is_table or stream.kind(0) != "tokens" else label_table(arrow_batches(stream), 0, argument)


def label_table(
    batches: Iterable[_core.ArrowBatch], column: int, argument: str, names: Sequence[str] | None = None
) -> LabelTable | list[list[str | None] | None]:
    """Return the labels of batches, of which a column is lists of text or, with ``names``, of numbers of these.

    A negative number is a token whose label is not known, as -100 is by custom.
    """
    read = _Strings() if names is None else _Numbers(list(names))
    try:
        for batch in batches:
            read.add(batch, column)
    except ValueError as error:
        raise InvalidInput(f"{argument}: {error}") from None
    return read.finished()


class _Strings:
    """Labels as text."""

    def __init__(self) -> None:
        import numpy as np

        self.names: list[str] = []
        self.codes = [np.zeros(0, dtype=np.int32)]
        self.lengths = [np.zeros(0, dtype=np.int64)]
        self.valid = [np.zeros(0, dtype=np.bool_)]

    def add(self, batch: _core.ArrowBatch, column: int) -> None:
        columns, valid, _, missing = batch.lists([column], 0, _EVERYTHING, _EVERYTHING, keep_nulls=True)
        codes, self.names = columns.labels(0, self.names) if columns.n_rows else (self.codes[0], self.names)
        codes[missing] = -1
        self._keep(codes, columns.lengths(), valid)

    def _keep(self, codes: np.ndarray, lengths: np.ndarray, valid: Any) -> None:
        import numpy as np

        self.codes.append(codes)
        self.lengths.append(lengths)
        self.valid.append(np.ones(len(lengths), dtype=np.bool_) if valid is None else valid != 0)

    def finished(self) -> LabelTable | list[list[str | None] | None]:
        import numpy as np

        codes, lengths, valid = (np.concatenate(part) for part in (self.codes, self.lengths, self.valid))
        if valid.all() and codes.min(initial=0) == 0:
            return LabelTable(codes.astype(np.int32), self.names, lengths)
        label_of: list[str | None] = [*self.names, None]
        ends = np.cumsum(lengths).tolist()
        lists = [[label_of[code] for code in codes[a:b].tolist()] for a, b in zip([0, *ends], ends, strict=False)]
        return [labels if known else None for labels, known in zip(lists, valid.tolist(), strict=True)]


class _Numbers(_Strings):
    """Labels as numbers of names."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names = names

    def add(self, batch: _core.ArrowBatch, column: int) -> None:
        import numpy as np

        values, lengths, valid, missing = batch.integers(column)
        if len(values) and values.max() >= len(self.names):
            raise ValueError(f"there is a label {values.max()}, but only {len(self.names)} names.")
        codes = np.maximum(values, -1)
        codes[missing] = -1
        self._keep(codes.astype(np.int32), lengths, valid)


class LabelStream:
    """The labels of a corpus that is read from its file whenever somebody asks, a block at a time.

    Parameters
    ----------
    tables : callable
        Returns an iterator over the `LabelTable` of each block, from the first.
    """

    __slots__ = ("tables",)

    def __init__(self, tables: Callable[[], Iterator[LabelTable]]) -> None:
        self.tables = tables

    def __iter__(self) -> Iterator[list[str]]:
        for table in self.tables():
            yield from table
