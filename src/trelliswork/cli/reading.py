"""What every verb that reads a corpus shares: the options that say how, and sentences of any format.

Whatever the format, a token becomes a row of columns: words alone for text and JSON lines, the columns asked for in
the others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from trelliswork.errors import InvalidInput

if TYPE_CHECKING:
    from trelliswork.corpora.columns import Sentence
    from trelliswork.corpora.conllu import ConlluSentence
    from trelliswork.corpora.jsonlines import Example

__all__ = [
    "FORMATS",
    "Labelled",
    "Layout",
    "format_of",
    "labelled_blocks",
    "layout_options",
    "open_labelled",
    "read_labelled",
    "read_sentences",
]

BLOCK = 1 << 20  # bytes of column text in memory at a time
BATCH = 2000  # sentences, of other formats
FORMATS = ("brackets", "columns", "conllu", "csv", "jsonl", "text")
CONLLU_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

_SUFFIXES = {
    ".conllu": "conllu",
    ".conll-u": "conllu",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".mrg": "brackets",
    ".brackets": "brackets",
    ".ptb": "brackets",
}
_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "any": None}
_Function = TypeVar("_Function", bound=Callable[..., Any])


_OPTIONS = [
    click.option(
        "--format",
        "format",
        type=click.Choice(FORMATS),
        help="The format of the input. By default, the file name decides: .conllu, .csv, .jsonl, .json, "
        ".mrg or .brackets; columns otherwise.",
    ),
    click.option(
        "--columns",
        metavar="LIST",
        help="The columns of a token: numbers from 0 (columns, CSV) or names (CoNLL-U, CSV), as in 0,1 or form,upos.",
    ),
    click.option(
        "--sentence-column",
        metavar="COLUMN",
        help="The column of a CSV file that names the sentence.  [Sentence #, sentence, sentence_id or similar]",
    ),
    click.option("--no-header", is_flag=True, help="The CSV file has no header row."),
    click.option(
        "--separator",
        metavar="TEXT",
        help="What separates columns: tab, space, comma, semicolon, or any text.  [spaces and tabs; comma for CSV]",
    ),
    click.option("--comments", metavar="TEXT", help="Skip lines of a column file that begin with this."),
    click.option("--encoding", default="utf-8", show_default=True, help="The encoding of the input."),
    click.option(
        "--tokenizer",
        type=click.Choice(["words", "whitespace"]),
        default="words",
        show_default=True,
        help="How to split text into tokens.",
    ),
]
_LABEL_OPTIONS = [
    click.option(
        "--label-column",
        "label",
        metavar="COLUMN",
        help="The column of the labels: a number (-1 is the last) or a name (CoNLL-U, CSV).  [-1; CoNLL-U: upos]",
    ),
]


@dataclass(frozen=True)
class Layout:
    """How a corpus is laid out, as the options said it.

    Attributes
    ----------
    format : str or None
        One of `FORMATS`; None goes by the name of the file.
    columns : tuple of str or None
        The columns of a token, positions or (CoNLL-U, CSV) names; None is all but the label, or the form.
    label : str or None
        The column of the labels; None is the last one, or (CoNLL-U) ``upos``.
    sentence : str or None
        The column of a CSV file that names the sentence.
    header : bool
        Whether the first row of a CSV file has the names of its columns.
    separator, comments, encoding
        As for `trelliswork.corpora.read_columns`.
    tokenizer : str
        How text is cut: ``"words"`` or ``"whitespace"``.

    Examples
    --------
    >>> Layout(columns=("0", "1")).positions()
    [0, 1]
    """

    format: str | None = None
    columns: tuple[str, ...] | None = None
    label: str | None = None
    sentence: str | None = None
    header: bool = True
    separator: str | None = None
    comments: str | None = None
    encoding: str = "utf-8"
    tokenizer: str = "words"

    def positions(self) -> list[int] | None:
        """The columns of a token as numbers, for the column format."""
        return None if self.columns is None else [_position(name, "--columns") for name in self.columns]

    def how(self) -> dict[str, Any]:
        """How column files are read, as arguments of `trelliswork.corpora.read_table`."""
        return {"separator": self.separator, "comments": self.comments, "encoding": self.encoding}

    def label_position(self) -> int:
        """The column of the labels as a number, for the column format."""
        return -1 if self.label is None else _position(self.label, "--label-column")


def layout_options(labels: bool) -> Callable[[_Function], _Function]:
    """Add the options of `Layout` to a command, which gets them together as ``layout``.

    Parameters
    ----------
    labels : bool
        Whether the corpus has labels, so that their column can be chosen.
    """
    options = [*_OPTIONS[:2], *_LABEL_OPTIONS, *_OPTIONS[2:]] if labels else _OPTIONS

    def decorate(function: _Function) -> _Function:
        import functools

        @functools.wraps(function)
        def wrapped(**given: Any) -> Any:
            columns = given.pop("columns")
            separator = given.pop("separator")
            layout = Layout(
                format=given.pop("format"),
                columns=None if columns is None else tuple(name.strip() for name in columns.split(",")),
                label=given.pop("label", None),
                sentence=given.pop("sentence_column"),
                header=not given.pop("no_header"),
                separator=_SEPARATORS.get(separator, separator),
                comments=given.pop("comments"),
                encoding=given.pop("encoding"),
                tokenizer=given.pop("tokenizer"),
            )
            return function(layout=layout, **given)

        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[return-value]

    return decorate


def format_of(source: str, asked: str | None = None) -> str:
    """Return the format of a file: the one asked for, or else what its name says.

    Examples
    --------
    >>> format_of("en.conllu.gz"), format_of("train.txt"), format_of("-"), format_of("notes.txt", "text")
    ('conllu', 'columns', 'columns', 'text')
    """
    if asked is not None:
        return asked
    stem = source.lower().removesuffix(".gz")
    return _SUFFIXES.get(os.path.splitext(stem)[1], "columns")


class Labelled(NamedTuple):
    """A labelled corpus, in the form that is quickest to train on and to predict from.

    ``X`` are sequences of tokens, words or tuples of columns; ``y`` sequences of labels; ``where`` says of a token, the
    number of its sequence and its own, in which line of which file it is.
    """

    X: Any
    y: Any
    where: Callable[[int, int], str]

    def placed(self, error: InvalidInput, suffix: str = "") -> InvalidInput:
        """Return an error about ``X[i]`` or ``y[i][t]`` (with the suffix, ``y_dev[i]``) with its file and line."""
        found = re.match(rf"[Xy]{suffix}\[(\d+)\](?:\[(\d+)\])?", str(error))
        if found is None or int(found[1]) >= len(self.X):
            return error
        return InvalidInput(f"{self.where(int(found[1]), int(found[2] or 0))}: {error}")


def read_labelled(source: str, layout: Layout) -> Labelled:
    """Return all tokens and labels of a corpus.

    Parameters
    ----------
    source : str
        A path, or ``"-"``.
    layout : Layout
        How to read it.
    """
    if is_table(source, layout):
        found = _table(source, layout)
    else:
        found = _of_sentences(list(read_sentences(source, layout)), source, layout)
    if not len(found.X):
        raise _nothing_in(source)
    return found


def open_labelled(source: str, layout: Layout) -> Labelled:
    """Return the tokens and labels of a column file that is larger than memory: they are read when they are used.

    Parameters
    ----------
    source, layout
        As for `read_labelled`; other formats are refused.
    """
    if source == "-" or not is_table(source, layout):
        raise InvalidInput(
            "--memory needs a column file, of which it uses all columns and which it reads more than once. Convert "
            "the input with `trelliswork convert --to columns`, or leave --memory out."
        )
    from trelliswork.corpora.tables import open_table

    X, y = open_table(source, layout.label_position(), **layout.how())
    if not len(X):
        raise _nothing_in(source)
    return Labelled(X, y, X.where)


def is_table(source: str, layout: Layout) -> bool:
    """Whether a source is a column file that is read as it stands, by the core."""
    if format_of(source, layout.format) != "columns":
        return False
    refuse_csv_options(layout, "columns")
    return layout.columns is None


def labelled_blocks(source: str, layout: Layout) -> Iterator[Labelled]:
    """Yield all tokens and labels of a corpus as `read_labelled` would return them, some at a time.

    Parameters
    ----------
    source, layout
        As for `read_labelled`.
    """
    if is_table(source, layout):
        from trelliswork.corpora.tables import read_table_blocks

        tables = read_table_blocks(source, layout.label_position(), BLOCK, **layout.how())
        found = (_of_table(X, y) for X, y in tables)
    else:
        sentences = read_sentences(source, layout)
        found = (_of_sentences(batch, source, layout) for batch in iter(lambda: list(islice(sentences, BATCH)), []))
    block = None
    for block in found:
        yield block
    if block is None:
        raise _nothing_in(source)


def _nothing_in(source: str) -> InvalidInput:
    return InvalidInput(f"{_name(source)}: found no sentence. Sentences are lines of tokens, separated by blank lines.")


def _table(source: str, layout: Layout) -> Labelled:
    """A column file as it stands, without a Python object for each token."""
    from trelliswork.corpora.tables import read_table

    return _of_table(*read_table(source, layout.label_position(), **layout.how()))


def _of_table(X: Any, y: Any) -> Labelled:
    return Labelled(X, y, lambda i, t: X.columns.where(int(X.lengths()[:i].sum()) + t))


def _of_sentences(sentences: list[Sentence], source: str, layout: Layout) -> Labelled:
    """Sentences of any format."""
    words = all(len(row) == 1 for sentence in sentences[:1] for row in sentence.tokens)
    X = [[row[0] for row in sentence.tokens] if words else sentence.tokens for sentence in sentences]
    by_line = format_of(source, layout.format) == "columns" and layout.comments is None
    lines = [sentence.line for sentence in sentences]
    where = f"{_name(source)}, line "
    return Labelled(X, [sentence.labels for sentence in sentences], lambda i, t: f"{where}{lines[i] + t * by_line}")


def read_sentences(source: str, layout: Layout, labelled: bool = True) -> Iterator[Sentence]:
    """Yield the sentences of a corpus of any format, one at a time.

    Parameters
    ----------
    source : str
        A path, or ``"-"`` for the standard input.
    layout : Layout
        How to read it.
    labelled : bool
        Whether labels are wanted; a sentence without any is then refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "two.jsonl"
    ...     _ = path.write_text('{"tokens": ["Rain", "fell"], "labels": ["B-NP", "B-VP"]}')
    ...     print(next(read_sentences(str(path), Layout())))
    Sentence(tokens=[('Rain',), ('fell',)], labels=['B-NP', 'B-VP'], line=1)
    """
    kind = format_of(source, layout.format)
    if kind == "csv":
        return _from_csv(source, layout, labelled)
    refuse_csv_options(layout, kind)
    if kind == "columns":
        return _from_columns(source, layout, labelled)
    if kind == "conllu":
        return _from_conllu(source, layout, labelled)
    _refuse_columns(layout, kind)
    if kind == "brackets":
        return _from_brackets(source, layout, labelled)
    return _from_jsonl(source, layout, labelled) if kind == "jsonl" else _from_text(source, layout, labelled)


def _from_columns(source: str, layout: Layout, labelled: bool) -> Iterator[Sentence]:
    from trelliswork.corpora.columns import read_columns

    yield from read_columns(
        source,
        label=layout.label_position() if labelled else None,
        keep=layout.positions(),
        separator=layout.separator,
        comments=layout.comments,
        encoding=layout.encoding,
    )


def _from_csv(source: str, layout: Layout, labelled: bool) -> Iterator[Sentence]:
    from trelliswork.corpora.spreadsheets import read_csv

    if layout.comments is not None:
        raise InvalidInput("--comments does not apply to the format csv, which has no comments.")
    label = None if not labelled else -1 if layout.label is None else _column(layout.label)
    yield from read_csv(
        source,
        label=label,
        keep=None if layout.columns is None else [_column(name) for name in layout.columns],
        sentence=None if layout.sentence is None else _column(layout.sentence),
        header=layout.header,
        separator="," if layout.separator is None else layout.separator,
        encoding=layout.encoding,
    )


def _column(name: str) -> int | str:
    """A column by its number, or else by its name."""
    return int(name) if re.fullmatch(r"[-+]?\d+", name) else name


def _from_conllu(source: str, layout: Layout, labelled: bool) -> Iterator[Sentence]:
    from trelliswork.corpora.columns import Sentence
    from trelliswork.corpora.conllu import read_conllu

    label = layout.label or "upos"
    for name in (*(layout.columns or ()), label):
        if name not in CONLLU_COLUMNS:
            raise InvalidInput(f"CoNLL-U has no column {name!r}. Choose among {', '.join(CONLLU_COLUMNS)}.")
    sentence: ConlluSentence
    for sentence in read_conllu(source, layout.encoding):
        tokens = [tuple(str(getattr(word, name)) for name in layout.columns or ("form",)) for word in sentence.words]
        labels = [str(getattr(word, label)) for word in sentence.words] if labelled else None
        yield Sentence(tokens, labels, sentence.line)


def _from_brackets(source: str, layout: Layout, labelled: bool) -> Iterator[Sentence]:
    """The words of bracketed trees, labelled with their tags; empty elements are left out."""
    from trelliswork.corpora.brackets import read_brackets
    from trelliswork.corpora.columns import Sentence

    for number, tree in enumerate(read_brackets(source, layout.encoding, empties=False), 1):
        words = tree.tagged()
        if labelled and any(tag is None for _, tag in words):
            raise InvalidInput(f"{_name(source)}, tree {number}: found a word without a tag, such as (NN dog).")
        yield Sentence([(word,) for word, _ in words], [str(tag) for _, tag in words] if labelled else None, number)


def _from_jsonl(source: str, layout: Layout, labelled: bool) -> Iterator[Sentence]:
    import warnings

    from trelliswork.corpora.columns import Sentence
    from trelliswork.corpora.jsonlines import read_jsonl

    example: Example
    answers = ("accept",) if labelled else None  # text to be tagged needs nobody's consent
    for example in read_jsonl(source, tokenizer=layout.tokenizer, answers=answers, encoding=layout.encoding):
        if labelled and example.labels is None:
            raise InvalidInput(f"{_name(source)}, line {example.line}: found no labels. Label it, or leave it out.")
        for wrong in example.misaligned if labelled else ():
            warnings.warn(
                f"{_name(source)}, line {example.line}: the span {tuple(wrong.span)} {wrong.reason}, "
                "and is not in the labels.",
                stacklevel=2,
            )
        if example.tokens:
            yield Sentence([(token,) for token in example.tokens], example.labels if labelled else None, example.line)


def _from_text(source: str, layout: Layout, labelled: bool) -> Iterator[Sentence]:
    from trelliswork.corpora.columns import Sentence
    from trelliswork.corpora.text import read_text

    if labelled:
        raise InvalidInput("plain text has no labels. Choose another --format.")
    for line in read_text(source, tokenizer=layout.tokenizer, encoding=layout.encoding):
        yield Sentence([(token,) for token in line.tokens], None, line.line)


def refuse_csv_options(layout: Layout, kind: str) -> None:
    """Refuse options that mean nothing in another format than CSV."""
    if layout.sentence is not None or not layout.header:
        raise InvalidInput(f"--sentence-column and --no-header apply to the format csv, not to {kind}.")


def _refuse_columns(layout: Layout, kind: str) -> None:
    if layout.columns is not None or layout.label is not None:
        raise InvalidInput(f"--columns and --label-column do not apply to the format {kind}: its tokens are words.")


def _name(source: str) -> str:
    from trelliswork.corpora.files import name_of

    return name_of(source)


def _position(name: str, option: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise InvalidInput(
            f"{option}: {name!r} is not the number of a column. Count from 0, or from -1 backwards."
        ) from None
