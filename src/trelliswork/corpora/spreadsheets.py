"""CSV of spreadsheets and data frames: a line of column names, and cells in quotes where necessary.

A row is a token. Sentences are separated by empty rows, or by a column that names the sentence, either on every row or
only on its first one (the layout of the public NER sets with the columns ``Sentence #,Word,POS,Tag``).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from trelliswork.corpora.columns import Sentence, rows_of
from trelliswork.corpora.files import Source, Target, name_of, numbered_lines, writing
from trelliswork.errors import InvalidInput

__all__ = ["read_csv", "write_csv"]

_SENTENCE_NAMES = ("sentence #", "sentence", "sentence_id", "sentence id", "sentence_idx", "sent_id")
_Row: TypeAlias = Sequence[str]
_Column: TypeAlias = int | str


def read_csv(
    source: Source,
    label: _Column | None = -1,
    keep: Sequence[_Column] | None = None,
    sentence: _Column | None = None,
    header: bool = True,
    separator: str = ",",
    encoding: str = "utf-8",
) -> Iterator[Sentence]:
    """Yield the sentences of a CSV file, one at a time.

    Parameters
    ----------
    source : path, file object or "-"
        What to read: ``"-"`` is the standard input, and gzip files are decompressed.
    label : int, str or None
        The column of the labels, by position (``-1`` is the last one) or by name. None if there are no labels.
    keep : sequence of int or str, or None
        The columns of a token, in this order. With None, all except the label and the sentence, in the order of the
        file; columns without a name, such as the row numbers of a data frame, are omitted.
    sentence : int, str or None
        The column that names the sentence: a new name begins a new sentence, and an empty cell continues it. With None,
        a column called ``Sentence #``, ``sentence``, ``sentence_id``, ``sentence_idx`` or ``sent_id``, if there is one.
        An empty row ends a sentence in any case.
    header : bool
        Whether the first row has the names of the columns.
    separator : str
        The separator of cells, one character: ``","``, ``";"`` or ``"\\t"``.
    encoding : str
        The encoding of the file.

    Yields
    ------
    Sentence
        As for `read_columns`; ``line`` is the line of the sentence's first row.

    Raises
    ------
    InvalidInput
        When it reaches a row that has too few or too many cells, no token or no label; the message names its line.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO('Sentence #,Word,POS,Tag\\n1,Rain,NN,B-NP\\n,"fell, hard",VBD,O\\n2,Stop,VB,O\\n')
    >>> for sentence in read_csv(file):
    ...     print(sentence.line, sentence.tokens, sentence.labels)
    2 [('Rain', 'NN'), ('fell, hard', 'VBD')] ['B-NP', 'O']
    4 [('Stop', 'VB')] ['O']

    >>> file = io.StringIO("tag;word\\nN;Rain\\nV;fell\\n")
    >>> next(read_csv(file, label="tag", keep=["word"], separator=";")).labels
    ['N', 'V']
    """
    _check_separator(separator)
    if isinstance(keep, str) or (keep is not None and not keep):
        raise InvalidInput(f"keep must list the columns of a token, found {keep!r}. Keep at least one.")
    for column in (label, sentence, *(keep or ())):
        if isinstance(column, bool) or not isinstance(column, int | str | None):
            raise InvalidInput(f"a column must be a position or a name, found {column!r}.")
        if isinstance(column, str) and not header:
            raise InvalidInput(f"{column!r} is the name of a column, but the file has no header. Pass its position.")
    return _sentences(source, _Wanted(label, keep, sentence), header, separator, encoding)


def write_csv(
    target: Target,
    sentences: Iterable[Sentence | tuple[Iterable[str | _Row], Iterable[str] | None]],
    columns: Sequence[str] | None = None,
    label: str = "Tag",
    separator: str = ",",
    encoding: str = "utf-8",
) -> int:
    """Write sentences as CSV and return their number; `read_csv` reads them.

    The first column is ``Sentence #``, and names the sentence on its first row. After an error, a file at a path is
    unchanged.

    Parameters
    ----------
    target : path, file object or "-"
        Where to write: ``"-"`` is the standard output, and a path that ends in ``.gz`` is compressed.
    sentences : iterable of Sentence or (tokens, labels)
        Tokens are rows of columns, or str; labels may be None. May be a generator.
    columns : sequence of str or None
        The names of a token's columns; by default ``Word``, ``Column 2`` and so on.
    label : str
        The name of the column of the labels.
    separator : str
        The separator of cells, one character.
    encoding : str
        The encoding of the file.

    Examples
    --------
    >>> write_csv("-", [(["Rain", "fell, hard"], ["B-NP", "O"])])
    Sentence #,Word,Tag
    Sentence: 1,Rain,B-NP
    ,"fell, hard",O
    1
    """
    _check_separator(separator)
    width = 0
    count = 0
    with writing(target, encoding) as write:
        sheet = csv.writer(_Lines(write), delimiter=separator, lineterminator="\n")
        for count, sentence in enumerate(sentences, 1):
            rows = rows_of(sentence, -1, count - 1)
            if not width:
                width = len(rows[0])
                sheet.writerow(_header(columns, label if sentence[1] is not None else None, width))
            for i, row in enumerate(rows):
                _check_row(row, width, sentence[1] is not None, f"sentences[{count - 1}], token {i}")
                sheet.writerow(["" if i else f"Sentence: {count}", *row])
    return count


class _Lines:
    """A file for `csv.writer`, which needs nothing but ``write``."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self.write = write


class _Wanted:
    """Which cell of a row is what; settled when the names or the number of the columns are known."""

    def __init__(self, label: _Column | None, keep: Sequence[_Column] | None, sentence: _Column | None) -> None:
        self._asked = (label, keep, sentence)
        self.label: int | None = None
        self.sentence: int | None = None
        self.keep: list[int] = []
        self.width = 0

    def settle(self, names: list[str] | None, width: int, separator: str, where: str) -> None:
        """Turn what was asked into positions in a row of this width."""
        label, keep, sentence = self._asked
        self.width = width
        if sentence is None and names is not None:
            known = (name for name in names if name.strip().lower() in _SENTENCE_NAMES)
            sentence = next(known, None)
        self.sentence = None if sentence is None else self._place(sentence, names, where)
        self.label = None if label is None else self._place(label, names, where)
        taken = (self.label, self.sentence)
        if keep is None:
            unnamed = {i for i, name in enumerate(names or []) if not name}
            self.keep = [column for column in range(width) if column not in taken and column not in unnamed]
        else:
            self.keep = [self._place(column, names, where) for column in keep]
        if not self.keep or (self.label is not None and self.label == self.sentence):
            hint = "" if width > 1 else f" If {separator!r} does not part the cells, pass another separator=."
            raise InvalidInput(
                f"{where}: expected a column of tokens{' and one of labels' if label is not None else ''}, found "
                f"{', '.join(map(repr, names)) if names is not None else width}.{hint}"
            )

    def _place(self, column: _Column, names: list[str] | None, where: str) -> int:
        if isinstance(column, str):
            found = [i for i, name in enumerate(names or []) if name == column]
            found = found or [i for i, name in enumerate(names or []) if name.strip().lower() == column.strip().lower()]
            if len(found) != 1:
                problem = "is not there" if not found else "is there several times"
                raise InvalidInput(
                    f"{where}: the column {column!r} {problem}. The columns are {', '.join(map(repr, names or []))}."
                )
            return found[0]
        if not -self.width <= column < self.width:
            raise InvalidInput(
                f"{where}: there is no column {column}, but {self.width} columns. "
                f"Positions go from 0 to {self.width - 1}, or from -1 backwards."
            )
        return column % self.width


def _sentences(source: Source, wanted: _Wanted, header: bool, separator: str, encoding: str) -> Iterator[Sentence]:
    name = name_of(source)
    tokens: list[tuple[str, ...]] = []
    labels: list[str] = []
    first, current = 0, ""
    for number, row in _rows(source, separator, encoding):
        where = f"{name}, line {number}"
        if not wanted.width and any(row):
            wanted.settle([cell.strip() for cell in row] if header else None, len(row), separator, where)
            if header:
                continue
        named = row[wanted.sentence] if wanted.sentence is not None and len(row) == wanted.width else ""
        if tokens and (not any(row) or (named and named != current)):
            yield Sentence(tokens, None if wanted.label is None else labels, first)
            tokens, labels = [], []
        if not any(row):
            continue
        if len(row) != wanted.width:
            raise InvalidInput(f"{where}: {_ragged(row, wanted.width, separator)}")
        first, current = (first if tokens else number), named or current
        tokens.append(_token(row, wanted, where))
        if wanted.label is not None:
            labels.append(row[wanted.label])
    if tokens:
        yield Sentence(tokens, None if wanted.label is None else labels, first)


def _rows(source: Source, separator: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The rows with the numbers of the lines on which they begin; a cell in quotes may go over several lines."""
    name = name_of(source)
    begun = last = 0

    def lines() -> Iterator[str]:
        nonlocal last
        for number, line in numbered_lines(source, encoding):
            last = number
            yield line + "\n"

    try:
        for row in csv.reader(lines(), delimiter=separator, strict=True):
            yield begun + 1, row
            begun = last
    except csv.Error as error:
        raise InvalidInput(
            f"{name}, line {begun + 1}: this row cannot be read ({error}). Cells with {separator!r}, quotes or line "
            'breaks stand in double quotes, and a quote in them is written twice, as in "say ""hello""".'
        ) from error


def _token(row: list[str], wanted: _Wanted, where: str) -> tuple[str, ...]:
    """The columns of a token; one without a word or a label is refused."""
    if not row[wanted.keep[0]]:
        raise InvalidInput(f"{where}: the cell of the token is empty. Fill it, or remove the row.")
    if wanted.label is not None and not row[wanted.label]:
        raise InvalidInput(f"{where}: the cell of the label is empty. Fill it, or remove the row.")
    return tuple([row[column] for column in wanted.keep])


def _ragged(row: list[str], width: int, separator: str) -> str:
    shown = repr(separator.join(row))
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"expected {width} cells, found {len(row)} in {shown}. A cell with {separator!r} in it needs double quotes."


def _check_separator(separator: str) -> None:
    if not isinstance(separator, str) or len(separator) != 1 or separator in '\r\n"\0 ':
        raise InvalidInput(f"separator must be one character, such as ',' or ';', found {separator!r}.")


def _header(columns: Sequence[str] | None, label: str | None, width: int) -> list[str]:
    n_columns = width - (label is not None)
    names = ["Word", *(f"Column {i + 2}" for i in range(n_columns - 1))] if columns is None else list(columns)
    if len(names) != n_columns:
        raise InvalidInput(f"tokens have {n_columns} columns, but columns names {len(names)}. Name all.")
    return ["Sentence #", *names, *([] if label is None else [label])]


def _check_row(row: list[str], width: int, labelled: bool, where: str) -> None:
    """Refuse a row that could not be read back."""
    if len(row) != width:
        raise InvalidInput(f"{where} has {len(row)} columns, the label included, but the first token has {width}.")
    for cell in row:
        if not isinstance(cell, str):
            raise InvalidInput(f"{where}: columns must be strings, found {cell!r}.")
        if "\r" in cell or "\0" in cell:
            raise InvalidInput(f"{where}: {cell!r} has a carriage return or NUL in it, and could not be read back.")
    if not row[0] or (labelled and not row[-1]):
        raise InvalidInput(f"{where}: the token or its label is empty, and could not be read back.")
