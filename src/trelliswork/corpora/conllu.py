"""CoNLL-U, the format of Universal Dependencies: ten columns per word, with comments before each sentence.

The words of the basic tree are separate from fused tokens (``3-4 don't``) and empty nodes (``8.1``), which are not in
it. Nothing is lost: for files that follow the format, writing the sentences gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from trelliswork.corpora.files import Source, Target, name_of, numbered_lines, writing
from trelliswork.errors import InvalidInput

__all__ = ["ConlluSentence", "EmptyNode", "FusedToken", "Word", "read_conllu", "write_conllu"]


class Word(NamedTuple):
    """A word of the basic tree. Columns are as in the file, including ``"_"``; only the head is a number, or None.

    Examples
    --------
    >>> Word("rains", lemma="rain", upos="VERB", head=0, deprel="root").xpos
    '_'
    """

    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: int | None = None
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"


class FusedToken(NamedTuple):
    """A token that spans several words: the numbers of its first and last word, from 1, and its columns.

    Examples
    --------
    >>> FusedToken(3, 4, "don't").form
    "don't"
    """

    first: int
    last: int
    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: str = "_"
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"


class EmptyNode(NamedTuple):
    """An empty node of the enhanced graph: the word before it (0 for none), its number there, its columns.

    Examples
    --------
    >>> EmptyNode(8, 1, "reported").after
    8
    """

    after: int
    number: int
    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: str = "_"
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"


class ConlluSentence(NamedTuple):
    """A sentence: its words, its comments with their ``#``, its fused tokens and empty nodes, and its first line.

    Word number ``i`` of the file is ``words[i - 1]``, and so is the head ``i``; 0 is the root.

    Examples
    --------
    >>> ConlluSentence([Word("Rain", upos="NOUN", head=2), Word("fell", upos="VERB", head=0)]).words[0].upos
    'NOUN'
    """

    words: list[Word]
    comments: Sequence[str] = ()
    fused: Sequence[FusedToken] = ()
    empty: Sequence[EmptyNode] = ()
    line: int = 0

    @property
    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Form, lemma, upos, xpos and feats of each word, the input of a parser."""
        return [word[:5] for word in self.words]

    @property
    def heads(self) -> list[int | None]:
        """The head of each word."""
        return [word.head for word in self.words]

    @property
    def relations(self) -> list[str]:
        """The relation of each word to its head."""
        return [word.deprel for word in self.words]


def read_conllu(source: Source, encoding: str = "utf-8") -> Iterator[ConlluSentence]:
    """Yield the sentences of a CoNLL-U file, one at a time.

    Files in the older CoNLL-X format, which has the same ten columns, are read, too.

    Parameters
    ----------
    source : path, file object or "-"
        What to read: ``"-"`` is the standard input, and gzip files are decompressed.
    encoding : str
        The encoding of the file.

    Raises
    ------
    InvalidInput
        If a line does not follow the format: not ten columns, an empty one, a number out of order, a head that is not
        in the sentence. The message names the line. It is not checked whether the heads form a tree.

    Examples
    --------
    >>> import io
    >>> rows = ["# text = It's late", "1-2 It's _ _ _ _ _ _ _ _", "1 It it PRON _ _ 3 nsubj _ _"]
    >>> rows += ["2 's be AUX _ _ 3 cop _ _", "3 late late ADJ _ _ 0 root _ _", ""]
    >>> text = "\\n".join(row if row.startswith("#") else row.replace(" ", "\\t") for row in rows)
    >>> sentence = next(read_conllu(io.StringIO(text)))
    >>> [(word.form, word.upos, word.head) for word in sentence.words]
    [('It', 'PRON', 3), ("'s", 'AUX', 3), ('late', 'ADJ', 0)]
    >>> sentence.comments, sentence.fused[0].form
    (["# text = It's late"], "It's")
    """
    return _sentences(source, encoding)


def write_conllu(target: Target, sentences: Iterable[ConlluSentence], encoding: str = "utf-8") -> int:
    """Write sentences as CoNLL-U and return their number; `read_conllu` reads them.

    Parameters
    ----------
    target : path, file object or "-"
        Where to write: ``"-"`` is the standard output, and a path that ends in ``.gz`` is compressed. After an error, a
        file at a path is unchanged.
    sentences : iterable of ConlluSentence
        May be a generator.
    encoding : str
        The encoding of the file.

    Examples
    --------
    >>> write_conllu("-", [ConlluSentence([Word("Go", upos="VERB", head=0, deprel="root")], comments=["# text = Go"])])
    # text = Go
    1	Go	_	VERB	_	_	0	root	_	_
    <BLANKLINE>
    1
    """
    count = 0
    with writing(target, encoding) as write:
        for count, sentence in enumerate(sentences, 1):
            write("\n".join(_written(sentence, f"sentences[{count - 1}]")) + "\n\n")
    return count


# A fused token has a range, an empty node a decimal; numbers are in ASCII digits, without leading zeros.
_ID = re.compile(r"(0|[1-9][0-9]*)(?:([-.])([1-9][0-9]*))?")
_HEAD = re.compile(r"0|[1-9][0-9]*")
_MOST_DIGITS = 20  # no sentence is that long, and longer numbers are slow to read


def _sentences(source: Source, encoding: str) -> Iterator[ConlluSentence]:
    name = name_of(source)
    block = _Block(name)
    number = 0
    for number, line in numbered_lines(source, encoding):
        if line.strip(" \t"):
            block.add(number, line)
        elif block.first:
            yield block.finished(number)
            block = _Block(name)
    if block.first:
        yield block.finished(number + 1)


class _Block:
    """The lines of one sentence, as they come."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.first = 0
        self.comments: list[str] = []
        self.words: list[Word] = []
        self.lines: list[int] = []
        self.fused: list[FusedToken] = []
        self.empty: list[EmptyNode] = []
        self.fused_waits = 0  # the number of the word that must come next, after the line of a fused token

    def add(self, number: int, line: str) -> None:
        self.first = self.first or number
        if "\r" in line:
            raise self._error(number, "found a carriage return. Lines end in \\n or \\r\\n: convert them.")
        if line.startswith("#"):
            if self.words or self.fused or self.empty:
                raise self._error(number, "found a comment among the words. Comments come before them: move it there.")
            self.comments.append(line)
            return
        columns = line.split("\t")
        if len(columns) != 10:
            hint = "Columns are parted by one tab, not spaces" if len(columns) == 1 else "Columns are parted by one tab"
            raise self._error(
                number, f"expected 10 columns, found {len(columns)}. {hint}; a blank line ends a sentence."
            )
        if "" in columns:
            raise self._error(number, f"column {columns.index('') + 1} is empty. Write '_' for what is not known.")
        self._add_row(number, columns)

    def _add_row(self, number: int, columns: list[str]) -> None:
        match = _ID.fullmatch(columns[0]) if len(columns[0]) <= _MOST_DIGITS else None
        if match is None:
            raise self._error(number, f"the number {columns[0]!r} is none. Words have 1, 2, ...; others 1-2 or 1.1.")
        a, mark, b = int(match[1]), match[2], int(match[3] or 0)
        if mark is None:
            self._add_word(number, a, columns)
        elif mark == "-":
            self._add_fused(number, FusedToken(a, b, *columns[1:]))
        else:
            self._add_empty(number, EmptyNode(a, b, *columns[1:]))

    def _add_word(self, number: int, i: int, columns: list[str]) -> None:
        if i != len(self.words) + 1:
            raise self._error(
                number, f"found word {i} where word {len(self.words) + 1} was expected. Number words anew."
            )
        form, lemma, upos, xpos, feats, head, deprel, deps, misc = columns[1:]
        if head != "_" and not (len(head) <= _MOST_DIGITS and _HEAD.fullmatch(head)):
            raise self._error(
                number, f"the head {head!r} is not a number. Write that of a word, 0 for the root, or '_'."
            )
        parent = None if head == "_" else int(head)
        self.words.append(Word(form, lemma, upos, xpos, feats, parent, deprel, deps, misc))
        self.lines.append(number)
        self.fused_waits = 0

    def _add_fused(self, number: int, token: FusedToken) -> None:
        reached = max(len(self.words), self.fused[-1].last if self.fused else 0)
        if token.first != len(self.words) + 1 or token.first <= reached or token.last < token.first or self.fused_waits:
            raise self._error(
                number,
                f"the range {token.first}-{token.last} is out of place. It comes right before its first word, "
                "and ranges do not overlap.",
            )
        self.fused.append(token)
        self.fused_waits = token.first

    def _add_empty(self, number: int, node: EmptyNode) -> None:
        same = [other for other in self.empty[-1:] if other.after == node.after]
        expected = (len(self.words), same[0].number + 1 if same else 1)
        if (node.after, node.number) != expected or self.fused_waits:
            raise self._error(
                number,
                f"the node {node.after}.{node.number} is out of place, as {expected[0]}.{expected[1]} would come "
                "next. Empty nodes follow their word, numbered from 1.",
            )
        self.empty.append(node)

    def finished(self, number: int) -> ConlluSentence:
        """The sentence, when the line after it is reached."""
        if not self.words:
            raise self._error(number, f"the sentence that begins in line {self.first} has no words. Remove its lines.")
        if self.fused and self.fused[-1].last > len(self.words):
            raise self._error(
                number, f"the sentence ends within the range {self.fused[-1].first}-{self.fused[-1].last}."
            )
        for line, word in zip(self.lines, self.words, strict=True):
            if word.head is not None and word.head > len(self.words):
                raise self._error(line, f"the head is {word.head}, but the sentence has {len(self.words)} words.")
        return ConlluSentence(self.words, self.comments, self.fused, self.empty, self.first)

    def _error(self, number: int, message: str) -> InvalidInput:
        return InvalidInput(f"{self.name}, line {number}: {message}")


def _written(sentence: ConlluSentence, where: str) -> list[str]:
    """The lines of a sentence, checked as if they had been read."""
    lines = [*sentence.comments, *_rows(sentence, where)]
    check = _Block(where)
    for number, line in enumerate(lines, 1):
        if "\n" in line or "\0" in line:
            raise InvalidInput(f"{where}: {line!r} has a line break or NUL character in it. Replace it.")
        check.add(number, line)
    if check.finished(len(lines)).comments != list(sentence.comments):
        raise InvalidInput(f"{where}: comments must begin with '#', found {list(sentence.comments)!r}.")
    if lines[0].startswith("\ufeff"):
        raise InvalidInput(f"{where} begins with a byte order mark, which would be dropped in reading. Remove it.")
    return lines


def _rows(sentence: ConlluSentence, where: str) -> list[str]:
    """The rows in the order of the format: a fused token before its first word, empty nodes after theirs."""
    fused = {token.first: token for token in sentence.fused}
    empty: dict[int, list[EmptyNode]] = {}
    for node in sentence.empty:
        empty.setdefault(node.after, []).append(node)
    rows = [_row(f"0.{node.number}", node[2:], where) for node in empty.pop(0, [])]
    for i, word in enumerate(sentence.words, 1):
        if i in fused:
            token = fused.pop(i)
            rows.append(_row(f"{i}-{token.last}", token[2:], where))
        head = "_" if word.head is None else str(word.head)
        rows.append(_row(str(i), (*word[:5], head, *word[6:]), where))
        rows += [_row(f"{i}.{node.number}", node[2:], where) for node in empty.pop(i, [])]
    if fused or empty or len(sentence.fused) != sum("-" in row.partition("\t")[0] for row in rows):
        raise InvalidInput(f"{where}: a fused token or empty node is at no word of the sentence, or two are at one.")
    return rows


def _row(number: str, columns: Sequence[str], where: str) -> str:
    for column in columns:
        if not isinstance(column, str) or "\t" in column:
            raise InvalidInput(f"{where}, {number}: columns must be strings without tabs, found {column!r}.")
    return "\t".join([number, *columns])
