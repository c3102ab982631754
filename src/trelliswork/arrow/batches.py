"""Tables that answers come in: something for ``pyarrow.table``, ``polars.from_arrow``, DuckDB or pandas to take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from trelliswork import _core

__all__ = ["BatchReader", "RecordBatch", "Table"]


class RecordBatch:
    """Some rows, for any library that takes Arrow's C interface.

    Attributes
    ----------
    column_names : list of str
    num_rows : int

    Examples
    --------
    >>> import pyarrow as pa
    >>> import trelliswork as tw
    >>> tagger = tw.SequenceLabeler().fit([["the", "dog"]], [["D", "N"]])
    >>> (batch,) = tw.arrow.tag_batches(tagger, pa.table({"words": [["the", "dog"], None]}))
    >>> batch
    RecordBatch(2 rows: words, labels)
    >>> pa.record_batch(batch)["labels"].to_pylist()
    [['D', 'N'], None]
    """

    __slots__ = ("_column", "column_names")

    def __init__(self, column: _core.ArrowColumn, column_names: Sequence[str]) -> None:
        self._column = column
        self.column_names = list(column_names)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self._column.length

    def __len__(self) -> int:
        return self.num_rows

    def __arrow_c_schema__(self) -> Any:
        return self._column.schema()

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self._column.schema(), self._column.array()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _core.arrow_stream(self._column, [self._column])

    def __repr__(self) -> str:
        return f"RecordBatch({self.num_rows} rows: {', '.join(self.column_names)})"


class Table:
    """Record batches of one type, all in memory; as often as wanted a stream of them.

    Attributes
    ----------
    column_names : list of str
    num_rows : int

    Examples
    --------
    >>> import pyarrow as pa
    >>> import trelliswork as tw
    >>> tagger = tw.SequenceLabeler().fit([["the", "dog"]], [["D", "N"]])
    >>> table = tw.arrow.tag(tagger, pa.table({"words": [["the"], ["dog"]]}))
    >>> table
    Table(2 rows: words, labels)
    >>> pa.table(table).to_pylist()
    [{'words': ['the'], 'labels': ['D']}, {'words': ['dog'], 'labels': ['N']}]
    """

    __slots__ = ("_type", "batches")

    def __init__(self, type: RecordBatch, batches: Sequence[RecordBatch]) -> None:
        self._type = type
        self.batches = list(batches)

    @property
    def column_names(self) -> list[str]:
        """The columns that were kept, and the answers."""
        return list(self._type.column_names)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return sum(map(len, self.batches))

    def __len__(self) -> int:
        return self.num_rows

    def __iter__(self) -> Iterator[RecordBatch]:
        return iter(self.batches)

    def __arrow_c_schema__(self) -> Any:
        return self._type.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _core.arrow_stream(self._type._column, [batch._column for batch in self.batches])

    def __repr__(self) -> str:
        return f"Table({self.num_rows} rows: {', '.join(self.column_names)})"


class BatchReader:
    """Record batches that are made when they are asked for: an iterator, and once a stream.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import trelliswork as tw
    >>> tagger = tw.SequenceLabeler().fit([["the", "dog"]], [["D", "N"]])
    >>> words = pa.table({"words": [["the"], ["dog"], ["the", "dog"]]})
    >>> reader = tw.arrow.tag_batches(tagger, words, batch_size=2)
    >>> [batch.num_rows for batch in pa.RecordBatchReader.from_stream(reader)]
    [2, 1]
    """

    __slots__ = ("_batches", "_type")

    def __init__(self, type: Callable[[], RecordBatch], batches: Iterator[RecordBatch]) -> None:
        self._type = type  # a batch without rows, when it is known
        self._batches = batches

    @property
    def column_names(self) -> list[str]:
        """The columns that are kept, and the answers."""
        return list(self._type().column_names)

    def read_all(self) -> Table:
        """Return all batches that are left as a table."""
        batches = list(self)
        return Table(self._type(), batches)

    def __iter__(self) -> Iterator[RecordBatch]:
        return self

    def __next__(self) -> RecordBatch:
        return next(self._batches)

    def __arrow_c_schema__(self) -> Any:
        return self._type().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _core.arrow_stream(self._type()._column, (batch._column for batch in self))
