"""CoNLL columns: one token per line, with its columns, and a blank line after each sentence.

This is the format of the CoNLL shared tasks of 2000, 2002 and 2003, and of CRF++ and Wapiti. Sentences are read and
written one at a time, so the file may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from trelliswork.corpora.files import Source, Target, name_of, numbered_lines, writing
from trelliswork.errors import InvalidInput

__all__ = ["Sentence", "read_columns", "write_columns"]

_DOCSTART = "-DOCSTART-"
_Row: TypeAlias = Sequence[str]


class Sentence(NamedTuple):
    """A sentence of a column file: a row of columns per token, the labels, and the number of its first line.

    Examples
    --------
    >>> sentence = Sentence([("Rain", "NN"), ("fell", "VBD")], ["B-NP", "B-VP"], line=1)
    >>> [word for word, tag in sentence.tokens]
    ['Rain', 'fell']
    """

    tokens: list[tuple[str, ...]]
    labels: list[str] | None
    line: int


def read_columns(
    source: Source,
    columns: int | Sequence[str] | None = None,
    label: int | str | None = -1,
    keep: Sequence[int | str] | None = None,
    separator: str | None = None,
    comments: str | None = None,
    keep_docstart: bool = False,
    encoding: str = "utf-8",
) -> Iterator[Sentence]:
    """Yield the sentences of a column file, one at a time.

    Blank lines, including lines of spaces and tabs, end a sentence. Several count as one, and the last sentence needs
    none. Windows line ends and a byte order mark are accepted, and gzip files are decompressed.

    Parameters
    ----------
    source : path, file object or "-"
        What to read: ``"-"`` is the standard input. Open files may be text or binary.
    columns : int, sequence of str or None
        The number of columns, or their names in the order of the file. With None, the first line determines the number.
    label : int, str or None
        The column of the labels, by position (``-1`` is the last one) or by name. None if there are no labels.
    keep : sequence of int or str, or None
        The columns of a token, in this order. With None, all except the label, in the order of the file.
    separator : str or None
        The separator of columns. None is any run of spaces and tabs; other white space does not separate columns, so a
        token may contain a no-break space. With ``"\\t"``, columns may contain spaces and be empty.
    comments : str or None
        Lines that begin with this string are skipped, for example ``"#"``. The files of the shared tasks have no
        comments, but have ``#`` as a token, so the default is None.
    keep_docstart : bool
        Lines with ``-DOCSTART-`` in a column mark the beginning of a document. By default they are skipped and end a
        sentence; if this is true, they are ordinary tokens.
    encoding : str
        The encoding of the file.

    Yields
    ------
    Sentence
        ``tokens``, a list of tuples; ``labels``, a list of str, or None; ``line``, the number of the first line.

    Raises
    ------
    InvalidInput
        When it reaches a line that has too few or too many columns or cannot be decoded; the message names the line.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO("Rain NN B-NP\\nfell VBD B-VP\\n\\nStop VB B-VP\\n")
    >>> for sentence in read_columns(file):
    ...     print(sentence.line, sentence.tokens, sentence.labels)
    1 [('Rain', 'NN'), ('fell', 'VBD')] ['B-NP', 'B-VP']
    4 [('Stop', 'VB')] ['B-VP']

    Columns in any order, by name:

    >>> file = io.StringIO("1\\tB-NP\\tRain\\n2\\tB-VP\\tfell\\n")
    >>> next(read_columns(file, columns=["id", "chunk", "word"], label="chunk", keep=["word"]))
    Sentence(tokens=[('Rain',), ('fell',)], labels=['B-NP', 'B-VP'], line=1)
    """
    layout = _Layout(columns, label, keep)
    _check_separator(separator, comments)
    return _sentences(source, layout, separator, comments, keep_docstart, encoding)


def write_columns(
    target: Target,
    sentences: Iterable[Sentence | tuple[Iterable[str | _Row], Iterable[str] | None]],
    label: int = -1,
    separator: str | None = None,
    comments: str | None = None,
    keep_docstart: bool = False,
    encoding: str = "utf-8",
) -> int:
    """Write sentences as columns and return their number; `read_columns` with the same arguments reads them.

    After an error, a file at a path is unchanged. Input that could not be read back is refused: a separator or line
    break in a token or label, an empty sentence, rows of different lengths.

    Parameters
    ----------
    target : path, file object or "-"
        Where to write: ``"-"`` is the standard output, and a path that ends in ``.gz`` is compressed.
    sentences : iterable of Sentence or (tokens, labels)
        Tokens are rows of columns, or str; labels may be None. May be a generator.
    label : int
        The column for the labels: ``-1`` is the last one.
    separator : str or None
        The separator of columns. None writes a tab and refuses columns that are empty or contain spaces.
    comments : str or None
        The beginning of comments, if the file will be read with comments; rows that look like one are refused.
    keep_docstart : bool
        If false, rows with ``-DOCSTART-`` are refused, because the reader would skip them.
    encoding : str
        The encoding of the file.

    Examples
    --------
    >>> write_columns("-", [(["Rain", "fell"], ["B-NP", "B-VP"])], separator=" ")
    Rain B-NP
    fell B-VP
    <BLANKLINE>
    1
    """
    _check_separator(separator, comments)
    if not isinstance(label, int):
        raise InvalidInput(f"label must be the position of a column, found {label!r}.")
    check = _row_check(separator, comments, keep_docstart)
    width = None
    count = 0
    with writing(target, encoding) as write:
        for count, sentence in enumerate(sentences, 1):
            for i, row in enumerate(rows_of(sentence, label, count - 1)):
                where = f"sentences[{count - 1}], token {i}"
                check(row, where)
                if width is None:
                    width = len(row)
                    _refuse_byte_order_mark(row, where)
                elif len(row) != width:
                    raise InvalidInput(
                        f"{where} has {len(row)} columns, the label included, but the first token has {width}. "
                        "Give every token the same columns."
                    )
                write(("\t" if separator is None else separator).join(row) + "\n")
            write("\n")
    return count


class _Layout:
    """Which column of a row is what. Positions that need the width of the file are settled at its first row."""

    def __init__(
        self, columns: int | Sequence[str] | None, label: int | str | None, keep: Sequence[int | str] | None
    ) -> None:
        if isinstance(columns, str) or isinstance(keep, str):
            raise InvalidInput(f"columns and keep must be lists, found {columns!r} and {keep!r}.")
        self.names = None if columns is None or isinstance(columns, int) else list(columns)
        self.width = len(self.names) if self.names is not None else columns if isinstance(columns, int) else None
        if self.names is not None and len(set(self.names)) < len(self.names):
            raise InvalidInput(f"columns names one column twice: {self.names}. Give every column its own name.")
        if self.width is not None and self.width < 1:
            raise InvalidInput(f"columns must be at least one, found {columns!r}.")
        self.label_asked = self._by_position(label, "label")
        self.keep_asked = None if keep is None else [self._by_position(column, "keep") for column in keep]
        if self.keep_asked is not None and (not self.keep_asked or None in self.keep_asked):
            raise InvalidInput(f"keep must list the columns of a token, found {keep!r}. Keep at least one.")
        self.label: int | None = None
        self.keep: list[int] = []
        if self.width is not None:
            self.settle(self.width, "columns")

    def settle(self, width: int, where: str) -> None:
        """Turn what was asked into positions in a row of this width."""
        self.width = width
        self.label = None if self.label_asked is None else self._in_width(self.label_asked, where, "label")
        if self.keep_asked is None:
            self.keep = [column for column in range(width) if column != self.label]
        else:
            self.keep = [self._in_width(column, where, "keep") for column in self.keep_asked if column is not None]
        if not self.keep:
            raise InvalidInput(
                f"{where}: expected a token and a label, found one column. If the file has no labels, pass label=None."
            )

    def _by_position(self, column: int | str | None, argument: str) -> int | None:
        if column is None or (isinstance(column, int) and not isinstance(column, bool)):
            return column
        if not isinstance(column, str):
            raise InvalidInput(f"{argument} must be the position or the name of a column, found {column!r}.")
        if self.names is None:
            raise InvalidInput(f"{argument}={column!r} is a name: pass the names of all columns, in order, as columns.")
        if column not in self.names:
            raise InvalidInput(f"{argument}={column!r} is not one of the columns {', '.join(self.names)}.")
        return self.names.index(column)

    def _in_width(self, column: int, where: str, argument: str) -> int:
        width = self.width or 0
        if not -width <= column < width:
            raise InvalidInput(
                f"{where}: {argument} is column {column}, but there are {width} columns. "
                f"Positions go from 0 to {width - 1}, or from -1 backwards."
            )
        return column % width


def _check_separator(separator: str | None, comments: str | None) -> None:
    if separator is not None and (not isinstance(separator, str) or not separator or set(separator) & set("\r\n")):
        raise InvalidInput(
            f"separator must be None or a string without line breaks, such as '\\t', found {separator!r}."
        )
    if comments is not None and (not isinstance(comments, str) or not comments):
        raise InvalidInput(f"comments must be None or what a comment begins with, such as '#', found {comments!r}.")


def _sentences(
    source: Source, layout: _Layout, separator: str | None, comments: str | None, keep_docstart: bool, encoding: str
) -> Iterator[Sentence]:
    name = name_of(source)
    tokens: list[tuple[str, ...]] = []
    labels: list[str] = []
    first = 0
    for number, line in numbered_lines(source, encoding):
        if comments is not None and line.startswith(comments):
            continue
        fields = _fields(line, separator)
        if not fields or (_DOCSTART in fields and not keep_docstart):
            if tokens:
                yield Sentence(tokens, None if layout.label is None else labels, first)
                tokens, labels = [], []
            continue
        if "\r" in line:
            raise InvalidInput(
                f"{name}, line {number}: found a carriage return. Lines end in \\n or \\r\\n: convert them."
            )
        if layout.width is None:
            layout.settle(len(fields), f"{name}, line {number}")
        if len(fields) != layout.width:
            raise InvalidInput(_ragged(name, number, line, fields, layout.width or 0, separator))
        if not tokens:
            first = number
        tokens.append(tuple([fields[column] for column in layout.keep]))
        if layout.label is not None:
            labels.append(fields[layout.label])
    if tokens:
        yield Sentence(tokens, None if layout.label is None else labels, first)


def _fields(line: str, separator: str | None) -> list[str]:
    """The columns of a line; none if it is blank."""
    if separator is None:
        return [field for field in line.replace("\t", " ").split(" ") if field]
    return line.split(separator) if line.strip(" \t") else []


def _ragged(name: str, number: int, line: str, fields: Sequence[str], width: int, separator: str | None) -> str:
    shown = repr(line if len(line) <= 60 else line[:57] + "...")
    message = f"{name}, line {number}: expected {width} columns, found {len(fields)} in {shown}. "
    by_tabs, by_any = len(line.split("\t")), len(_fields(line, None))
    if separator is None and by_tabs == width:
        return (
            message
            + "Parted at tabs alone it has as many as expected: pass separator='\\t' to allow spaces in columns."
        )
    if separator is None:
        return message + "Columns are parted by spaces or tabs, and a blank line ends a sentence."
    if by_any == width:
        return message + "Tabs and spaces are mixed here: pass separator=None to part columns at both."
    return message + f"Columns are parted by {separator!r}, and a blank line ends a sentence."


def rows_of(
    sentence: Sentence | tuple[Iterable[str | _Row], Iterable[str] | None], label: int, index: int
) -> list[list[str]]:
    """The columns of each token, its label among them."""
    if not isinstance(sentence, tuple | list) or len(sentence) < 2 or isinstance(sentence[0], str):
        raise InvalidInput(f"sentences[{index}] must be (tokens, labels), found {sentence!r}.")
    rows: list[list[str]] = []
    for i, token in enumerate(sentence[0]):
        if not isinstance(token, str | tuple | list):
            raise InvalidInput(f"sentences[{index}], token {i} must be a string or a row of strings, found {token!r}.")
        rows.append([token] if isinstance(token, str) else list(token))
    if not rows:
        raise InvalidInput(f"sentences[{index}] has no tokens, and columns cannot hold that. Leave it out.")
    if sentence[1] is None:
        return rows
    labels = list(sentence[1])
    if len(labels) != len(rows):
        raise InvalidInput(
            f"sentences[{index}] has {len(labels)} labels but {len(rows)} tokens. Every token needs one label."
        )
    for row, name in zip(rows, labels, strict=True):
        place = label if label >= 0 else len(row) + 1 + label
        if not 0 <= place <= len(row):
            raise InvalidInput(f"sentences[{index}]: label={label} is not a position among {len(row) + 1} columns.")
        row.insert(place, name)
    return rows


def _row_check(separator: str | None, comments: str | None, keep_docstart: bool) -> Callable[[list[str], str], None]:
    """A function that refuses rows which could not be read back."""
    between = (" ", "\t") if separator is None else (separator,)

    def check(row: list[str], where: str) -> None:
        for field in row:
            if not isinstance(field, str):
                raise InvalidInput(f"{where}: columns must be strings, found {field!r}.")
            for wrong in (*between, "\n", "\r", "\0"):
                if wrong in field:
                    raise InvalidInput(
                        f"{where}: {field!r} has {wrong!r} in it, and could not be read back. "
                        "Replace it" + (", or choose another separator." if wrong in between else ".")
                    )
            if separator is None and not field:
                raise InvalidInput(f"{where}: a column of {row} is empty. Write '_', or choose separator='\\t'.")
        joined = (separator or "\t").join(row)
        if _fields(joined, separator) != row:
            raise InvalidInput(
                f"{where}: {row} would not be read back with the separator {separator!r}. Choose another."
            )
        if _DOCSTART in row and not keep_docstart:
            raise InvalidInput(
                f"{where}: {_DOCSTART} would be skipped in reading. Pass keep_docstart=True here and there."
            )
        if comments is not None and joined.startswith(comments):
            raise InvalidInput(f"{where}: {row[0]!r} would be read as a comment. Pass comments=None here and there.")

    return check


def _refuse_byte_order_mark(row: Sequence[str], where: str) -> None:
    if "".join(row).startswith("\ufeff"):
        raise InvalidInput(f"{where}: {row[0]!r} begins with a byte order mark, which would be dropped. Remove it.")
