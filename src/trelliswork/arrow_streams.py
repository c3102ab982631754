"""What other libraries hand over by Arrow's C interface, opened and gone through; needs no NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trelliswork import _core
from trelliswork.errors import InvalidInput

__all__ = ["arrow_batches", "arrow_stream", "offers_arrow"]


def offers_arrow(X: Any) -> bool:
    """Whether X is a table or a column that Arrow's C interface hands over: pyarrow, polars, pandas, DuckDB, ..."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")


def arrow_stream(X: Any, argument: str) -> _core.ArrowStream:
    """Return what an object that `offers_arrow` has, batch after batch."""
    try:
        return _core.ArrowStream(X)
    except ValueError as error:
        raise InvalidInput(f"{argument}: {error}") from None


def arrow_batches(stream: _core.ArrowStream) -> Iterator[_core.ArrowBatch]:
    """Yield the batches of a stream."""
    while True:
        try:
            batch = stream.next()
        except ValueError as error:
            raise InvalidInput(str(error)) from None
        if batch is None:
            return
        yield batch
