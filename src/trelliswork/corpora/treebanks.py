"""Treebanks in CoNLL-U: words with their heads and relations, read in the core, and written with other trees.

This is for parsers: a whole file, or a block of one, without a Python object per word. Writing gives the same bytes
with HEAD and DEPREL replaced: comments, fused tokens, empty nodes, MISC and DEPS, line ends, a byte order mark and a
missing line end do not change. To read or change all ten columns, see `trelliswork.corpora.read_conllu`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from trelliswork import _core
from trelliswork.corpora.conllu import ConlluSentence, write_conllu
from trelliswork.corpora.files import Source, Target, name_of, reading_bytes, writing
from trelliswork.corpora.tables import TokenTable, read_blocks
from trelliswork.errors import InvalidInput
from trelliswork.labels.tables import LabelTable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from trelliswork.labels.dependencies import CodedTrees, Trees

__all__ = ["Treebank", "TreebankSentence", "read_treebank", "read_treebank_blocks"]


class TreebankSentence(NamedTuple):
    """A sentence of a treebank.

    Parameters
    ----------
    rows : list of (form, lemma, upos, xpos, feats)
        The words.
    heads : list of int or None
        The number of each word's head, 0 for the root; None if it is unknown.
    relations : list of str
        ``"_"`` for words without a relation.

    Examples
    --------
    >>> TreebankSentence([("Go", "go", "VERB", "VB", "_")], [0], ["root"]).words
    ['Go']
    """

    rows: list[tuple[str, str, str, str, str]]
    heads: list[int | None]
    relations: list[str]

    @property
    def words(self) -> list[str]:
        """The forms."""
        return [row[0] for row in self.rows]

    def plot(self, ax: Axes | None = None, **how: Any) -> Axes:
        """Draw the tree as arcs above the words; ``how`` as for `trelliswork.plots.arcs`."""
        from trelliswork.plots.trees import arcs

        return arcs(self.words, self._known_heads(), self.relations, ax=ax, **{"tags": self._tags(), **how})

    def svg(self, **how: Any) -> str:
        """Return the tree as SVG text; ``how`` as for `trelliswork.plots.arcs_svg`."""
        from trelliswork.plots.trees import arcs_svg

        return arcs_svg(self.words, self._known_heads(), self.relations, **{"tags": self._tags(), **how})

    def _repr_svg_(self) -> str | None:
        return None if None in self.heads else self.svg()

    def _known_heads(self) -> list[int]:
        if None in self.heads:
            raise InvalidInput("not all heads of the sentence are known, so there is no tree to draw.")
        return [head for head in self.heads if head is not None]

    def _tags(self) -> list[str]:
        return [row[2] for row in self.rows]


class Treebank:
    """The sentences of a CoNLL-U file, which behaves like a list of `TreebankSentence`; the text stays in the core.

    Made by `read_treebank`, or from sentences by `from_sentences`.

    Attributes
    ----------
    text : bytes
        The file, in UTF-8.
    tokens : TokenTable
        Form, lemma, upos, xpos and feats of each word, for use as ``X`` of estimators.
    heads : (n_words,) int32 array
        The heads of all words, sentence after sentence: 0 is the root, ``i`` the word ``i`` of its sentence, from 1; -1
        if unknown. Empty if heads were not read.
    relations : LabelTable
        The column DEPREL: numbers in ``relations.codes``, their names in ``relations.names``.

    Examples
    --------
    >>> import trelliswork as tw
    >>> treebank = tw.corpora.Treebank.from_sentences(tw.corpora.sentences())
    >>> treebank
    Treebank(194 sentences, 1380 words)
    >>> treebank[0].words, treebank[0].heads, treebank[0].relations
    (['The', 'dog', 'barks', '.'], [2, 3, 0, 3], ['det', 'nsubj', 'root', 'punct'])
    """

    def __init__(self, text: bytes, trees: _core.Treebank) -> None:
        self.text = text
        self.tokens = TokenTable(trees.words)
        self.heads: npt.NDArray[np.int32] = trees.heads()
        codes, names = trees.relations.labels(0)
        self.relations = LabelTable(codes, names, self.tokens.lengths())
        self._trees = trees
        self._ends: list[int] | None = None

    @classmethod
    def from_sentences(cls, sentences: Iterable[ConlluSentence], **how: Any) -> Treebank:
        """Return the treebank of sentences from `read_conllu`; ``how`` as for `read_treebank`."""
        file = io.BytesIO()
        write_conllu(file, sentences)
        return cls.from_bytes(file.getvalue(), "sentences", **how)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        name: str = "<input>",
        line: int = 1,
        *,
        heads: bool = True,
        partial: bool = False,
        single_root: bool = True,
    ) -> Treebank:
        """Return the treebank of CoNLL-U in UTF-8.

        Parameters
        ----------
        data : bytes
        name : str
            Its name in error messages.
        line : int
            The number of its first line, for errors.
        heads, partial, single_root
            As for `read_treebank`.
        """
        try:
            return cls(data, _core.parse_treebank(data, bool(heads), bool(partial), bool(single_root), name, line))
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    @property
    def n_words(self) -> int:
        """Number of words in all."""
        return self.tokens.n_tokens

    @property
    def labelled(self) -> bool:
        """Whether any word has a relation other than ``"_"``."""
        return self.relations.names not in ([], ["_"])

    def lengths(self) -> np.ndarray:
        """Return the number of words of each sentence."""
        return self.tokens.lengths()

    def sentence_text(self, i: int) -> bytes:
        """Return the text of a sentence, with its comments and the blank line after it.

        The texts of all sentences and `rest` together are the file.
        """
        ends = self._all_ends()
        i = range(len(self))[i]
        return self.text[ends[i] : ends[i + 1]]

    @property
    def rest(self) -> bytes:
        """The text after the last sentence."""
        return self.text[self._all_ends()[-1] :]

    def _all_ends(self) -> list[int]:
        if self._ends is None:
            self._ends = [0, *self._trees.ends().tolist()]
        return self._ends

    def coded(self) -> CodedTrees:
        """Return the trees as numbers; relations are None if no word has one."""
        from trelliswork.labels.dependencies import CodedTrees

        if self.n_words and not len(self.heads):
            raise InvalidInput("the treebank was read without its heads. Read it with heads=True.")
        relations = self.relations.codes if self.labelled else None
        return CodedTrees(self.heads, relations, self.relations.names if self.labelled else [], self.lengths())

    def with_trees(self, trees: Trees) -> bytes:
        """Return the file with other trees; only HEAD and DEPREL of each word are replaced.

        DEPS, the enhanced graph, does not change, so it may not match the new trees.

        Parameters
        ----------
        trees : Treebank, or iterable of trees
            A tree is a pair of heads and relations, or heads alone, which keep DEPREL. An unknown head is written as
            ``"_"``.

        Examples
        --------
        >>> import io
        >>> treebank = read_treebank(io.BytesIO(b"1\\tGo\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\tnote=7\\n"), heads=False)
        >>> treebank.with_trees([([0], ["root"])])
        b'1\\tGo\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\tnote=7\\n'
        """
        import numpy as np

        from trelliswork.labels.dependencies import coded_trees

        coded = coded_trees(trees)
        if len(coded) != len(self) or (coded.lengths != self.lengths()).any():
            raise InvalidInput(
                f"the treebank has {len(self)} sentences with {self.n_words} words, but there are {len(coded)} trees "
                f"with {len(coded.heads)}, or some are of another length. Every word needs its head."
            )
        relations = np.empty(0, dtype=np.int32) if coded.relations is None else coded.relations
        try:
            return self._trees.with_trees(coded.heads, relations, coded.names)
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    def write(self, target: Target, trees: Trees | None = None, encoding: str = "utf-8") -> None:
        """Write the file as it was read, or with other trees.

        Parameters
        ----------
        target : path, file object or "-"
            As for `write_conllu`.
        trees : Treebank or iterable of trees, optional
            As for `with_trees`.
        encoding : str
            The encoding of the file.
        """
        text = self.text if trees is None else self.with_trees(trees)
        with writing(target, encoding) as write:
            write(text.decode())

    def __len__(self) -> int:
        return len(self.tokens)

    @overload
    def __getitem__(self, index: int) -> TreebankSentence: ...
    @overload
    def __getitem__(self, index: slice) -> list[TreebankSentence]: ...
    def __getitem__(self, index: int | slice) -> TreebankSentence | list[TreebankSentence]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[index]
        begin, end = self.relations.bounds(i)
        heads = self.heads[begin:end].tolist() or [-1] * (end - begin)
        return TreebankSentence(self.tokens[i], [h if h >= 0 else None for h in heads], self.relations[i])

    def __iter__(self) -> Iterator[TreebankSentence]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Treebank({len(self)} sentences, {self.n_words} words)"


def read_treebank(
    source: Source,
    *,
    heads: bool = True,
    partial: bool = False,
    single_root: bool = True,
    encoding: str = "utf-8",
) -> Treebank:
    """Return the sentences of a CoNLL-U file with their trees.

    Files in the older CoNLL-X format, which has the same ten columns, are read, too. Lines of fused tokens (``1-2``)
    and empty nodes (``8.1``) are skipped, like comments; `Treebank.with_trees` writes them again.

    Parameters
    ----------
    source : path, file object or "-"
        What to read: ``"-"`` is the standard input, and gzip files are decompressed. At most 4 GiB of text.
    heads : bool
        Whether to read HEAD; False for sentences that have not been parsed yet.
    partial : bool
        Whether ``"_"`` may stand for an unknown head.
    single_root : bool
        Whether a sentence must have one root, or may have several.
    encoding : str
        The encoding of the file.

    Raises
    ------
    InvalidInput
        The message names the file and the line: not ten columns, words that are not numbered 1, 2, ..., a head that is
        not a number or not in the sentence, two roots or none, a cycle.

    Examples
    --------
    >>> import io
    >>> rows = ["1-2 It's _ _ _ _ _ _ _ _", "1 It it PRON _ _ 3 nsubj _ _", "2 's be AUX _ _ 3 cop _ _"]
    >>> rows += ["3 late late ADJ _ _ 0 root _ _", ""]
    >>> treebank = read_treebank(io.BytesIO("\\n".join(rows).replace(" ", "\\t").encode()))
    >>> treebank.heads.tolist(), treebank.relations[0], treebank.tokens[0][2]
    ([3, 3, 0], ['nsubj', 'cop', 'root'], ('late', 'late', 'ADJ', '_', '_'))
    >>> treebank.with_trees(treebank) == treebank.text
    True
    """
    with reading_bytes(source, encoding) as read:
        data = read(-1)
    return Treebank.from_bytes(data, name_of(source), heads=heads, partial=partial, single_root=single_root)


def read_treebank_blocks(
    source: Source,
    block_bytes: int = 1 << 22,
    *,
    heads: bool = True,
    partial: bool = False,
    single_root: bool = True,
    encoding: str = "utf-8",
) -> Iterator[Treebank]:
    """Yield a CoNLL-U file of any size in blocks of sentences; the texts of the blocks together are the file.

    Parameters
    ----------
    source, heads, partial, single_root, encoding
        As for `read_treebank`.
    block_bytes : int
        As for `read_blocks`.

    Examples
    --------
    >>> import io
    >>> file = b"1\\tGo\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n" * 3
    >>> [len(block) for block in read_treebank_blocks(io.BytesIO(file), block_bytes=50)]
    [2, 1]
    """
    name = name_of(source)
    for block, line in read_blocks(source, block_bytes, encoding=encoding):
        yield Treebank.from_bytes(block, name, line, heads=heads, partial=partial, single_root=single_root)
