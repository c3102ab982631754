"""Sentences for parsers: all forms of input as columns in the core, and templates that match the columns.

==============================  ============================================================
a sentence is                   its columns are
==============================  ============================================================
words, ``["It", "rains"]``      one, the form
tuples of text                  these; five are those of CoNLL-U: form, lemma, upos, xpos, feats
dicts of text                   those that templates name, or all of CoNLL-U that are there
``Treebank``, ``TokenTable``    those of the table
sentences of `read_conllu`      form, lemma, upos, xpos, feats
==============================  ============================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trelliswork import _core
from trelliswork.arguments import refuse_no_list
from trelliswork.corpora.tables import TokenTable
from trelliswork.errors import InvalidInput, shown
from trelliswork.features import presets
from trelliswork.features.templates import Templates

__all__ = ["CONLLU", "arc_templates", "column_names", "first_pass_templates", "sentence_columns"]

CONLLU = ("form", "lemma", "upos", "xpos", "feats")
_BY_WIDTH = {1: ("form",), 2: ("form", "xpos"), 3: ("form", "upos", "xpos"), 4: CONLLU[:4], 5: CONLLU}
_TAGS = ("xpos", "upos", "pos", "tag")
_TERM = re.compile(r"((?:head|mod|sibling|grand)\.)(lemma|upos|xpos|feats)(\[-?\d+\])?")
_BETWEEN = re.compile(r"between\((upos|xpos)\)")


def sentence_columns(X: Any, names: Sequence[str] | None = None, argument: str = "X") -> _core.Columns:
    """Return sentences as columns; ``names`` are the keys to read from dicts, None for all keys of `CONLLU`.

    Examples
    --------
    >>> sentence_columns([[{"form": "Go", "upos": "VERB"}]], ["upos", "form"]).sequence(0)
    [('VERB', 'Go')]
    """
    tokens = getattr(X, "tokens", X)
    if isinstance(tokens, TokenTable):
        return tokens.columns
    refuse_no_list(X, argument)
    rows = [_rows(x, names, f"{argument}[{i}]") for i, x in enumerate(X)]
    try:
        return _core.columns_from_lists(rows)
    except ValueError as error:
        raise InvalidInput(str(error).replace("X[", f"{argument}[", 1)) from None


def _rows(x: Any, names: Sequence[str] | None, place: str) -> list[Any]:
    if isinstance(x, str | bytes | Mapping) or not isinstance(x, Iterable):
        raise InvalidInput(f"{place} is {shown(x)}; expected a sentence: a list of words, or of rows of columns.")
    if hasattr(x, "rows"):
        return list(x.rows)
    if hasattr(x, "words"):
        return [tuple(word[:5]) for word in x.words]
    rows = list(x)
    if not rows or not isinstance(rows[0], Mapping):
        return rows
    wanted = names or [name for name in CONLLU if name in rows[0]]
    if not wanted:
        raise InvalidInput(f"{place}[0] is {shown(rows[0])}; expected a dict with some of {', '.join(CONLLU)}.")
    found = []
    for t, row in enumerate(rows):
        missing = [name for name in wanted if not isinstance(row, Mapping) or name not in row]
        if missing:
            raise InvalidInput(f"{place}[{t}] is {shown(row)}; expected a dict with {missing[0]!r}, as others have.")
        found.append(tuple(row[name] for name in wanted))
    return found


def column_names(X: Any, columns: _core.Columns) -> tuple[str, ...]:
    """Return the names of the columns of these sentences, as far as they are known."""
    if columns.n_columns not in _BY_WIDTH:
        return ("form", *(f"c{k}" for k in range(1, columns.n_columns)))
    if not hasattr(X, "tokens") and not isinstance(X, TokenTable):
        first = next((x for x in X if not hasattr(x, "words") and not hasattr(x, "rows") and len(x)), None)
        row = None if first is None else next(iter(first))
        if isinstance(row, Mapping):
            return tuple(name for name in CONLLU if name in row)
    return _BY_WIDTH[columns.n_columns]


def arc_templates(names: Sequence[str], order: int) -> Templates:
    """Return the ready-made set for columns with these names.

    Examples
    --------
    >>> arc_templates(("form", "xpos"), 1).columns
    ('form', 'xpos')
    """
    return Templates(_adapted(presets.DEPENDENCY if order == 1 else presets.DEPENDENCY2, names), name="dependency")


def first_pass_templates(names: Sequence[str]) -> Templates:
    """Return the templates for choosing the candidate heads of a word, for columns with these names."""
    return Templates(_adapted(presets.FIRST_PASS, names), name="first pass")


def _adapted(text: str, names: Sequence[str]) -> str:
    """Lines that ask for columns there are: forms for lemmas, one kind of tags for the other, or ends of words."""
    names = tuple(names)
    tags = [name for name in _TAGS if name in names] or list(names[1:2])
    form = "form" if "form" in names else names[0]
    instead = {"lemma": "lemma" if "lemma" in names else form, "form": form}
    for tag in ("upos", "xpos"):
        instead[tag] = tag if tag in names else (tags[0] if tags else "")

    def term(found: re.Match[str]) -> str:
        anchor, column, offset = found[1], found[2], found[3] or ""
        if column == "feats":
            return found[0]
        return f"{anchor}{instead[column]}{offset}" if instead[column] else f"suffix({anchor}{form}, 3){offset}"

    kept: dict[str, None] = {f"columns: {' '.join(names)}": None}
    for line in text.strip().splitlines():
        if line.startswith("columns:"):
            continue
        if "feats" not in names:
            parts = [part for part in line.split(" & ") if ".feats" not in part]
            line = " & ".join(parts)
            if not line or line.endswith(":"):
                continue
        line = re.sub(r"((?:head|mod|sibling|grand)\.)form", rf"\g<1>{form}", line)
        line = _BETWEEN.sub(
            lambda found: f"between({instead[found[1]]})" if instead[found[1]] else f"between(suffix({form}, 3))", line
        )
        kept[_TERM.sub(term, line) if not line.startswith("with:") else f"{line} #{len(kept)}"] = None
    return "\n".join(kept)
