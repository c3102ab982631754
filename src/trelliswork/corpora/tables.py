"""Column files as tables in the core, which read a whole corpus at once, without a Python object per token.

`read_table` follows the rules of `trelliswork.corpora.read_columns` and returns the same tokens and labels; estimators
recognise its tables and pass them to the core directly. `read_blocks` splits a stream of any size into pieces that end
at the ends of sequences.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

from trelliswork import _core
from trelliswork.arrow_streams import arrow_batches, arrow_stream, offers_arrow
from trelliswork.corpora.files import Source, name_of, reading_bytes
from trelliswork.errors import InvalidInput
from trelliswork.labels.tables import LabelStream, LabelTable

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "LabelStream",
    "LabelTable",
    "TokenStream",
    "TokenTable",
    "arrow_tokens",
    "open_table",
    "read_blocks",
    "read_table",
    "read_table_blocks",
    "token_table",
]


class TokenTable:
    """The tokens of a corpus, which behaves like a list of sequences; the text stays in the core.

    A token is a string if there is one column, otherwise a tuple of strings, as in `read_columns`.

    Parameters
    ----------
    columns : trelliswork._core.Columns
        The rows without the label column.

    Examples
    --------
    >>> table = TokenTable.from_lists([["Rain", "fell"], ["Stop"]])
    >>> len(table), table[0], table[1:]
    (2, ['Rain', 'fell'], [['Stop']])
    """

    __slots__ = ("columns",)

    def __init__(self, columns: _core.Columns) -> None:
        self.columns = columns

    @classmethod
    def from_lists(cls, X: Any) -> TokenTable:
        """Return the table of sequences of words, or of tuples of words.

        Examples
        --------
        >>> TokenTable.from_lists([[("Rain", "NN")]])[0]
        [('Rain', 'NN')]
        """
        try:
            return cls(_core.columns_from_lists(X))
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    @property
    def n_columns(self) -> int:
        """Number of columns of a token."""
        return self.columns.n_columns

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all."""
        return self.columns.n_rows

    def part(self, first: int, last: int) -> TokenTable:
        """Return the sequences from ``first`` to ``last - 1``; they share the text.

        Examples
        --------
        >>> list(TokenTable.from_lists([["Rain", "fell"], ["Stop"]]).part(1, 2))
        [['Stop']]
        """
        return TokenTable(self.columns.part(first, last))

    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each sequence."""
        return self.columns.lengths()

    def __len__(self) -> int:
        return self.columns.n_sequences

    @overload
    def __getitem__(self, index: int) -> list[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[Any]]: ...
    def __getitem__(self, index: int | slice) -> list[Any]:
        if isinstance(index, slice):
            return [self.columns.sequence(i) for i in range(len(self))[index]]
        return self.columns.sequence(range(len(self))[index])

    def __iter__(self) -> Iterator[list[Any]]:
        return (self.columns.sequence(i) for i in range(len(self)))

    def __repr__(self) -> str:
        return f"TokenTable({len(self)} sequences, {self.n_tokens} tokens, {self.n_columns} columns)"


_EVERYTHING = 1 << 62  # rows, bytes


def arrow_tokens(X: Any, argument: str = "X") -> Any:
    """Return an Arrow column of lists of strings as a table of tokens; any other ``X`` is returned as it is.

    Parameters
    ----------
    X : object
        A column of pyarrow, polars, pandas, DuckDB or any library with Arrow's C interface.
    argument : str
        Its name in error messages.

    Examples
    --------
    >>> arrow_tokens([["Rain", "fell"], ["Stop"]])  # no column of Arrow's
    [['Rain', 'fell'], ['Stop']]
    """
    if not offers_arrow(X):
        return X
    stream = arrow_stream(X, argument)
    return X if stream.is_table or stream.kind(0) != "tokens" else token_table(arrow_batches(stream), [0], argument)


def token_table(batches: Iterable[_core.ArrowBatch], columns: list[int], argument: str) -> TokenTable:
    """Return the tokens of batches, whose columns are lists of text."""
    parts: list[_core.Columns] = []
    try:
        for batch in batches:
            tokens, valid, *_ = batch.lists(columns, 0, _EVERYTHING, _EVERYTHING)
            if valid is not None:
                row = sum(part.n_sequences for part in parts) + valid.tolist().index(0)
                raise ValueError(f"row {row} is null. Leave such rows out, or tag them with trelliswork.arrow.tag.")
            parts.append(tokens)
        return TokenTable(parts[0] if len(parts) == 1 else _core.joined_columns(parts))
    except ValueError as error:
        raise InvalidInput(f"{argument}: {error}") from None


def read_table(
    source: Source,
    label_column: int | None = -1,
    *,
    separator: str | None = None,
    comments: str | None = None,
    keep_docstart: bool = False,
    encoding: str = "utf-8",
) -> tuple[TokenTable, LabelTable | None]:
    """Return the tokens and the labels of a column file, by the rules of `read_columns`.

    Parameters
    ----------
    source : path, file object or "-"
        What to read, as for `read_columns`. The whole text is held in memory, at most 4 GiB.
    label_column : int or None
        The column of the labels: ``-1`` is the last one. None if there are no labels.
    separator, comments, keep_docstart, encoding
        As for `read_columns`.

    Returns
    -------
    tokens : TokenTable
        Sequences of str or of tuples of str.
    labels : LabelTable or None
        Sequences of str; None with ``label_column=None``.

    Raises
    ------
    InvalidInput
        If a line has too few or too many columns or cannot be decoded; the message names it.

    Examples
    --------
    >>> import io
    >>> tokens, labels = read_table(io.BytesIO(b"Rain NN B-NP\\nfell VBD B-VP\\n\\nStop VB B-VP\\n"))
    >>> tokens[0], labels[0]
    ([('Rain', 'NN'), ('fell', 'VBD')], ['B-NP', 'B-VP'])
    """
    _check_label_column(label_column)
    with reading_bytes(source, encoding) as read:
        data = read(-1)
    columns = _parsed(data, separator, comments, keep_docstart, name_of(source))
    if label_column is None:
        return TokenTable(columns), None
    return _split(columns, label_column)


def read_table_blocks(
    source: Source,
    label_column: int = -1,
    block_bytes: int = 1 << 22,
    *,
    separator: str | None = None,
    comments: str | None = None,
    keep_docstart: bool = False,
    encoding: str = "utf-8",
) -> Iterator[tuple[TokenTable, LabelTable]]:
    """Yield the tokens and the labels of a column file of any size, by block; together they equal `read_table`'s.

    Parameters
    ----------
    source, label_column, separator, comments, keep_docstart, encoding
        As for `read_table`.
    block_bytes : int
        As for `read_blocks`.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO(b"Rain B-NP\\nfell B-VP\\n\\nStop B-VP\\n")
    >>> [list(labels) for tokens, labels in read_table_blocks(file, block_bytes=22)]
    [[['B-NP', 'B-VP']], [['B-VP']]]
    """
    _check_label_column(label_column)
    name = name_of(source)
    width = 0
    for block, line in read_blocks(source, block_bytes, encoding=encoding):
        columns = _parsed(block, separator, comments, keep_docstart, name, line, width)
        if columns.n_rows:
            width = columns.n_columns
            yield _split(columns, label_column)


class TokenStream:
    """The tokens of a column file that is read at each iteration, a block at a time; see `open_table`.

    Parameters
    ----------
    tables : callable
        Returns an iterator over the `TokenTable` of each block, from the first.
    """

    __slots__ = ("_n_sequences", "_n_tokens", "tables")

    def __init__(self, tables: Callable[[], Iterator[TokenTable]]) -> None:
        self.tables = tables
        self._n_sequences = self._n_tokens = -1

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all; the file is read once to count them."""
        self._count()
        return self._n_tokens

    def __len__(self) -> int:
        self._count()
        return self._n_sequences

    def __iter__(self) -> Iterator[list[Any]]:
        for table in self.tables():
            yield from table

    def where(self, i: int, t: int) -> str:
        """Return the line number of a token of a sequence."""
        for table in self.tables():
            if i < len(table):
                return table.columns.where(int(table.lengths()[:i].sum()) + t)
            i -= len(table)
        raise IndexError(i)

    def _count(self) -> None:
        if self._n_tokens < 0:
            sizes = [(len(table), table.n_tokens) for table in self.tables()]
            self._n_sequences, self._n_tokens = sum(n for n, _ in sizes), sum(n for _, n in sizes)


def open_table(
    path: str | os.PathLike[str],
    label_column: int = -1,
    *,
    separator: str | None = None,
    comments: str | None = None,
    keep_docstart: bool = False,
    encoding: str = "utf-8",
) -> tuple[TokenStream, LabelStream]:
    """Return the tokens and the labels of a column file that is larger than memory, for training.

    The file is read at each iteration, a block at a time, and so must not change in the meantime.

    Parameters
    ----------
    path : path
        A column file, which may be compressed by gzip.
    label_column, separator, comments, keep_docstart, encoding
        As for `read_table`.

    Returns
    -------
    tokens : TokenStream
    labels : LabelStream
        ``X`` and ``y`` of `SequenceLabeler.fit`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import trelliswork as tw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "train.txt"
    ...     _ = path.write_text("Rain B-NP\\nfell B-VP\\n\\nStop B-VP\\n")
    ...     X, y = open_table(path)
    ...     tagger = tw.SequenceLabeler(memory="2GB").fit(X, y)
    >>> tagger.predict([["Stop"]])
    [['B-VP']]
    """
    if not isinstance(path, str | os.PathLike) or os.fspath(path) == "-":
        raise InvalidInput(f"path is {path!r}; expected that of a file, which is read more than once.")
    _check_label_column(label_column)

    def tables() -> Iterator[tuple[TokenTable, LabelTable]]:
        return read_table_blocks(
            path,
            label_column,
            separator=separator,
            comments=comments,
            keep_docstart=keep_docstart,
            encoding=encoding,
        )

    return TokenStream(lambda: (X for X, _ in tables())), LabelStream(lambda: (y for _, y in tables()))


def read_blocks(source: Source, block_bytes: int = 1 << 22, *, encoding: str = "utf-8") -> Iterator[tuple[bytes, int]]:
    """Yield a column file in blocks of whole sequences: the bytes, and the number of their first line.

    Each block except the last ends after a blank line; together they are the file. A block is larger than
    ``block_bytes`` only if a sequence is. This function does not need NumPy.

    Parameters
    ----------
    source : path, file object or "-"
        What to read; gzip is decompressed.
    block_bytes : int
        The approximate size of a block.
    encoding : str
        The encoding of the file; blocks are UTF-8.

    Examples
    --------
    >>> import io
    >>> list(read_blocks(io.BytesIO(b"Rain\\nfell\\n\\nStop\\n\\nGo\\n"), block_bytes=13))
    [(b'Rain\\nfell\\n\\n', 1), (b'Stop\\n\\nGo\\n', 4)]
    """
    if not isinstance(block_bytes, int) or block_bytes < 1:
        raise InvalidInput(f"block_bytes must be a positive number, found {block_bytes!r}.")
    return _blocks(source, block_bytes, encoding)


# The end of a line, then nothing but spaces and tabs: what `read_columns` takes for the end of a sequence.
_BLANK_LINE = re.compile(rb"\n[ \t]*\r*\n")


def _blocks(source: Source, block_bytes: int, encoding: str) -> Iterator[tuple[bytes, int]]:
    with reading_bytes(source, encoding) as read:
        held = b""
        line = 1
        while chunk := read(max(block_bytes - len(held), len(held), 1)):  # at least doubled: linear in all
            held += chunk
            if len(held) < block_bytes:
                continue
            cut = _last_blank_line(held)
            if cut:
                block, held = held[:cut], held[cut:]
                yield block, line
                line += _core.count_lines(block)
        if held:
            yield held, line


def _last_blank_line(data: bytes) -> int:
    """Where the last blank line ends; 0 if there is none."""
    found = data.rfind(b"\n\n")
    if found >= 0:
        return found + 2
    found = data.rfind(b"\n\r\n")
    if found >= 0:
        return found + 3
    end = 0
    for match in _BLANK_LINE.finditer(data):
        end = match.end()
    return end


def _parsed(
    data: bytes,
    separator: str | None,
    comments: str | None,
    keep_docstart: bool,
    name: str,
    first_line: int = 1,
    n_columns: int = 0,
) -> _core.Columns:
    try:
        return _core.parse_columns(data, separator, comments, keep_docstart, name, first_line, n_columns)
    except ValueError as error:
        raise InvalidInput(str(error)) from None


def _split(columns: _core.Columns, label_column: int) -> tuple[TokenTable, LabelTable]:
    """The tokens without their labels, and the labels."""
    place = _label_place(columns, label_column)
    codes, names = columns.labels(place)
    tokens = TokenTable(columns.without(place) if columns.n_rows else columns)
    return tokens, LabelTable(codes, names, columns.lengths())


def _check_label_column(label_column: int | None) -> None:
    if label_column is not None and (not isinstance(label_column, int) or isinstance(label_column, bool)):
        raise InvalidInput(f"label_column must be the position of a column or None, found {label_column!r}.")


def _label_place(columns: _core.Columns, label: int) -> int:
    """The label column as a position from the left."""
    width = columns.n_columns
    if columns.n_rows == 0:
        return 0
    where = columns.where(0)
    if not -width <= label < width:
        raise InvalidInput(
            f"{where}: label is column {label}, but there are {width} columns. "
            f"Positions go from 0 to {width - 1}, or from -1 backwards."
        )
    if width == 1:
        raise InvalidInput(
            f"{where}: expected a token and a label, found one column. "
            "If the file has no labels, pass label_column=None."
        )
    return label % width
