"""Bracketed trees, as in the Penn Treebank: ``( (S (NP (DT the) (NN dog)) (VP (VBZ barks))))``.

A tree may take one line or several, with or without an outer bracket without a label. Words are kept as they are,
including ``-LRB-`` for a bracket; empty elements, function tags and indices are removed on request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trelliswork.corpora.files import Source, Target, name_of, numbered_lines, writing
from trelliswork.errors import InvalidInput, shown
from trelliswork.structures.constituents import BracketReader, Constituent, cleaned

__all__ = ["read_brackets", "write_brackets"]

_SPACE = re.compile(r"[\s\0]", re.ASCII)
_ESCAPES = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


def read_brackets(
    source: Source, encoding: str = "utf-8", *, empties: bool = True, functions: bool = True, indices: bool = True
) -> Iterator[Constituent]:
    """Yield the trees of a file, one at a time.

    Parameters
    ----------
    source : path, file object or "-"
        What to read: ``"-"`` is the standard input, and gzip files are decompressed.
    encoding : str
        The encoding of the file.
    empties, functions, indices : bool
        What to keep: empty elements such as ``(-NONE- *T*-1)``, function tags such as ``-SBJ``, indices such as ``-1``
        and ``=2``. Parsers are trained and scored without all three. A tree of which nothing is left is skipped.

    Raises
    ------
    InvalidInput
        If brackets do not match, a word is outside of them, or a bracket inside a tree has no label. The message names
        the line.

    Notes
    -----
    A bracket without a label around a tree is removed; around several trees, it gets the label ``TOP``.

    Examples
    --------
    >>> import io
    >>> text = "( (S (NP-SBJ-1 (PRP It))\\n (VP (VBZ rains) (NP (-NONE- *-1)))) )"
    >>> print(next(read_brackets(io.StringIO(text))))
    (S (NP-SBJ-1 (PRP It)) (VP (VBZ rains) (NP (-NONE- *-1))))
    >>> print(next(read_brackets(io.StringIO(text), empties=False, functions=False, indices=False)))
    (S (NP (PRP It)) (VP (VBZ rains)))
    """
    return _trees(source, encoding, empties, functions, indices)


def _trees(source: Source, encoding: str, empties: bool, functions: bool, indices: bool) -> Iterator[Constituent]:
    reader = BracketReader(name_of(source))
    everything = empties and functions and indices
    for number, line in numbered_lines(source, encoding):
        for tree, _ in reader.add(number, line):
            kept = tree if everything else cleaned(tree, empties=empties, functions=functions, indices=indices)
            if kept is not None:
                yield kept
    reader.finish()


def write_brackets(target: Target, trees: Iterable[Constituent], encoding: str = "utf-8", *, outer: bool = True) -> int:
    """Write trees, one per line, and return their number; `read_brackets` reads them.

    Parameters
    ----------
    target : path, file object or "-"
        Where to write: ``"-"`` is the standard output, and a path that ends in ``.gz`` is compressed. After an error, a
        file at a path is unchanged.
    trees : iterable of Constituent
        May be a generator. Brackets in words and labels are written as ``-LRB-`` and ``-RRB-``.
    encoding : str
        The encoding of the file.
    outer : bool
        Put each tree into a bracket without a label, as in the Penn Treebank.

    Examples
    --------
    >>> write_brackets("-", [Constituent.from_text("(NP (NN rain))")])
    ( (NP (NN rain)))
    1
    """
    count = 0
    with writing(target, encoding) as write:
        for tree in trees:
            text = _text(tree, f"tree {count}")
            write(f"( {text})\n" if outer else f"{text}\n")
            count += 1
    return count


def _text(tree: Constituent, where: str) -> str:
    if not isinstance(tree, Constituent):
        raise InvalidInput(f"{where} is {shown(tree)}; expected a Constituent.")
    names = {node.label for node, _, _ in tree.nodes()}.union(tree.leaves())
    for name in names:
        if _SPACE.search(name):
            raise InvalidInput(f"{where} has the word or label {name!r} with space in it, which would part it.")
    if not any("(" in name or ")" in name for name in names):
        return str(tree)

    def escaped(node: Constituent, children: list[Constituent | str]) -> Constituent:
        label = node.label.translate(_ESCAPES)
        return Constituent(label, [c.translate(_ESCAPES) if isinstance(c, str) else c for c in children])

    return str(tree.mapped(escaped))
