"""The library's own format of templates, line by line (see docs/features.md).

    line     = [prefix ":"] term { "&" term } ["as" text] | "let" ":" name "=" term
             | "with" ":" terms { "," terms }
    prefix   = "label" | "pair" | "both" | "ngram" | "span" | "sibling" | "grandparent" | "rule"
    term     = "begin" | "end" | "bias" | column | function "(" arguments ")"  -- the last two perhaps with [offset]
             | "size" [ "(" number { "," number } ")" ] | "outline" "(" term [ "," number ] ")"  -- of spans only
             | "direction" | "distance" [ "(" number { "," number } ")" ]                        -- of arcs only, as are
             | "between" "(" term ")" | "count" "(" "between" "(" term ")" "," text [ "," number ] ")"
    column   = [anchor "."] (name | "column" number)
    offset   = number | number ".." number

A range stands for one template per number. The prefix determines what an attribute is combined with: a label (without a
prefix), a pair of labels, both, the longest n-gram of labels, the label of a span, an arc with a sibling or with the
head of its head, or the label of a constituent with two children that meet at a split. In lines about spans or arcs,
every column has an anchor; in lines about tokens, none has. A line without a prefix, or with ``label:``, is about an
arc or its label if it has an anchor or another term of arcs. ``with:`` lists terms, each of which is joined to each
following line about arcs. ``as`` names the attributes of a line about tokens, with ``{}`` in place of the values.
``let:`` names a column with functions applied to it, for the following lines about tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, product

from trelliswork.errors import InvalidInput
from trelliswork.features.parsed import MAX_COLUMN, MAX_OFFSET, MAX_PARTS, MAX_TEMPLATES, Part, Template, View, wrong

__all__ = ["DEFAULT_COLUMNS", "columns_of", "parse_let", "parse_line", "parse_with", "without_comment"]

DEFAULT_COLUMNS = ("word", "pos")
_ALIASES = {"w": 0, "word": 0, "pos": 1, "tag": 1}
_MAX_N = 100
_MAX_STEPS = 100  # of a view that has a name

_TOKEN = re.compile(r"""\s*(?:(\.\.|[-+]?\d+|[^\W\d]\w*|[()\[\],&:.])|"((?:[^"\\]|\\.)*)"|(\S))""")
_COMMENT = re.compile(r"""((?:"(?:[^"\\]|\\.)*"|[^"#])*)#.*""", re.S)
_NAME = re.compile(r"[^\W\d]\w*")

# Functions of one text: name -> (op, how many numbers or ranges follow, may they be left out, how many texts follow: a
# pattern, what replaces it).
_FUNCTIONS = {
    "lower": ("lower", 0, False, 0),
    "digits": ("digits", 0, False, 0),
    "case": ("case", 0, False, 0),
    "characters": ("characters", 0, False, 0),
    "length": ("length", 0, False, 0),
    "prefix": ("prefix", 1, False, 0),
    "suffix": ("suffix", 1, False, 0),
    "shape": ("shape", 1, True, 0),
    "matches": ("matches", 0, False, 1),
    "match": ("match", 0, False, 1),
    "replace": ("replace", 0, False, 2),
}
_RESERVED = {
    *_FUNCTIONS,
    "begin",
    "end",
    "bias",
    "pair",
    "both",
    "label",
    "column",
    "columns",
    "let",
    "transitions",
} | {
    "class",
    "gazetteer",
    "number",
    "ngram",
    "bag",
}

_PREFIXES = {
    "label": ("label",),
    "pair": ("pair",),
    "both": ("label", "pair"),
    "ngram": ("ngram",),
    "span": ("span",),
    "sibling": ("sibling",),
    "grandparent": ("grandparent",),
    "rule": ("rule",),
}
_ANY_OFFSET = (-MAX_OFFSET, MAX_OFFSET)
_OF_ARCS = {"head": _ANY_OFFSET, "mod": _ANY_OFFSET}
# The anchors of a line, by what it is about, and the offsets that each may have: outside them another anchor is meant.
_ANCHORS: dict[str, dict[str, tuple[int, int]]] = {
    "span": {
        "first": (0, MAX_OFFSET),
        "last": (-MAX_OFFSET, 0),
        "before": (-MAX_OFFSET, 0),
        "after": (0, MAX_OFFSET),
        "whole": (0, 0),
    },
    "arc": _OF_ARCS,
    "sibling": {**_OF_ARCS, "sibling": _ANY_OFFSET},
    "grandparent": {**_OF_ARCS, "grand": _ANY_OFFSET},
    "rule": {"split": _ANY_OFFSET},  # the first word of the right one of two children; [-1] is the last of the left one
}
_ABOUT_ARCS = ("arc", "sibling", "grandparent")
_ARC_TERMS = ("direction", "distance")  # and, followed by a bracket:
_ARC_FUNCTIONS = ("between", "count")
_DISTANCES = (1, 2, 3, 5, 10)  # where the bins of distances begin, unless they are given
_MOST_COUNTED = 3  # likewise
_MAX_SIZE = 1_000_000
_MAX_DISTANCE = 1000  # as in core/text/arcs.hpp


def without_comment(line: str) -> str:
    """The line without surrounding white space and without a comment (from a # outside quotes)."""
    found = _COMMENT.fullmatch(line)
    return (found[1] if found else line).strip()


def columns_of(names: str, where: str, line: str) -> tuple[str, ...]:
    """The names of a ``columns:`` line, checked."""
    columns = tuple(names.replace(",", " ").split())
    if not columns or len(columns) > MAX_COLUMN:
        raise wrong(where, line, f"expected between 1 and {MAX_COLUMN} names of columns")
    for name in columns:
        if not _NAME.fullmatch(name) or name in _RESERVED:
            raise wrong(where, line, f"{name!r} cannot be the name of a column")
    if len(set(columns)) < len(columns):
        raise wrong(where, line, "a column is named twice")
    return columns


def parse_with(terms: str, columns: Sequence[str], where: str, line: str) -> list[tuple[Part, ...]]:
    """Return what each line below a ``with:`` line is joined to, one after the other; none for an empty one."""
    try:
        return _Parser(terms, columns, lambda kind, name: None).joined()
    except _Mistake as mistake:
        raise wrong(where, line, str(mistake)) from None


def parse_let(
    rest: str,
    columns: Sequence[str],
    resource: Callable[[str, str], object],
    where: str,
    line: str,
    named: Mapping[str, tuple[View, str]],
) -> tuple[str, tuple[View, str]]:
    """Return the name that a ``let:`` line gives, and what to: a view, and how it is shown."""
    name, equals, term = rest.partition("=")
    name = name.strip()
    try:
        if not equals or not _NAME.fullmatch(name):
            raise _Mistake('expected a name and what it stands for, such as let: clean = match(word, "\\w+")')
        if name in _RESERVED or name in columns or name in named:
            raise _Mistake(f"{name!r} has a meaning already")
        return name, _Parser(term, columns, resource, named=named).view()
    except _Mistake as mistake:
        raise wrong(where, line, str(mistake)) from None


def parse_line(
    line: str,
    columns: Sequence[str],
    resource: Callable[[str, str], object],
    where: str,
    joined: Sequence[tuple[Part, ...]] | None = None,
    named: Mapping[str, tuple[View, str]] | None = None,
) -> list[Template]:
    """Return the templates of a line.

    Parameters
    ----------
    line : str
        Without comment.
    columns : sequence of str
        The names of the columns.
    resource : callable
        Called with "class" or "gazetteer" and the name of a file if a template needs it.
    where : str
        The name of the line in messages.
    joined : sequence of tuples of Part, optional
        The terms of the last ``with:`` line; None if there is none.
    named : mapping of str to views, optional
        The views named by ``let:`` lines.
    """
    try:
        return _Parser(line, columns, resource, joined, named).templates()
    except _Mistake as mistake:
        raise wrong(where, line, str(mistake)) from None


class _Mistake(Exception):
    """What is wrong with the line."""


class _Term:
    """What a term stands for: alternatives, each a list of parts. Built from the inside out."""

    __slots__ = ("alternatives", "anchor", "offsets")

    def __init__(self, alternatives: list[tuple[View, str]], offsets: range | None, anchor: str = "") -> None:
        self.alternatives = alternatives  # views, and how they are shown: "lower(word{})" with a place for the offset
        self.offsets = offsets
        self.anchor = anchor  # the mode of the parts

    def parts(self) -> list[list[Part]]:
        return [[part] for view, text in self.alternatives for part in self._at_offsets(view, text)]

    def _at_offsets(self, view: View, text: str) -> list[Part]:
        return [self.part(view, offset, text) for offset in self.offsets or (0,)]

    def part(self, view: View, offset: int, text: str) -> Part:
        plain = offset == 0 and (self.anchor or view.kind in ("begin", "end"))
        return Part(view, offset, self.anchor, text.replace("\0", "" if plain else f"[{offset}]"))

    def through(self, alternatives: list[tuple[View, str]]) -> _Term:
        """The same places, seen through other views."""
        return _Term(alternatives, self.offsets, self.anchor)


class _Parser:
    def __init__(
        self,
        line: str,
        columns: Sequence[str],
        resource: Callable[[str, str], object],
        joined: Sequence[tuple[Part, ...]] | None = None,
        named: Mapping[str, tuple[View, str]] | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self.named = named or {}
        self.resource = resource
        self.with_ = joined
        self.about = "token"  # or one of _ANCHORS
        self.outlined = False  # inside outline(...) or between(...), where columns have no anchor
        self.tokens: list[tuple[str, str]] = []  # (what it is, text); what: "word", "text" (quoted), "end"
        at = 0
        line = line.rstrip()
        while at < len(line):
            found = _TOKEN.match(line, at)
            if found is None or found[3]:
                raise _Mistake(f"{(found[3] if found else line[at:])!r} is not expected")
            self.tokens.append(("word", found[1]) if found[1] is not None else ("text", found[2]))
            at = found.end()
        self.tokens.append(("end", ""))
        self.at = 0

    def templates(self) -> list[Template]:
        meets = self._prefix()
        factors = [self._term()]
        while self._take("&"):
            factors.append(self._term())
        name = self._name()
        if self.tokens[self.at][0] != "end":
            raise _Mistake(f"{self.tokens[self.at][1]!r} is not expected")
        total = 1
        for factor in factors:
            total *= len(factor)
        if total > MAX_TEMPLATES:
            raise _Mistake(f"there are more than {MAX_TEMPLATES} templates")
        found = []
        for choice in product(*factors):
            plain = tuple(part for alternative in choice for part in alternative)
            for more in self.with_ or [()] if self.about in _ABOUT_ARCS else [()]:
                parts = plain + more
                if len(parts) > MAX_PARTS:
                    raise _Mistake(f"more than {MAX_PARTS} parts are joined")
                if sum(part.mode == "between" for part in parts) > 1:
                    raise _Mistake("between stands in it twice")
                shown = "|".join(part.text for part in parts)
                found.append(Template(shown, meets, tuple(part for part in parts if part.view.kind != "bias")))
        return found if name is None else [_named(found, name)]

    def _name(self) -> str | None:
        """What the attributes are called, if the line says so."""
        if not self._take("as"):
            return None
        if self.about != "token":
            raise _Mistake("names are given to attributes of tokens alone")
        name = self._text('as needs a name in quotes, such as "previous:word:{}"')
        if not name:
            raise _Mistake("the name behind as is empty")
        return name

    def view(self) -> tuple[View, str]:
        """The one view of a ``let:`` line, and how it is shown."""
        term = self._simple()
        if self.tokens[self.at][0] != "end":
            raise _Mistake(f"{self.tokens[self.at][1]!r} is not expected")
        if term.offsets is not None or len(term.alternatives) > 1:
            raise _Mistake("a name is for one view, without an offset or a range")
        view, shown = term.alternatives[0]
        self._need_cell(view, "let")
        if len(view.steps) > _MAX_STEPS:
            raise _Mistake(f"more than {_MAX_STEPS} functions are put into one another")
        return view, shown

    def joined(self) -> list[tuple[Part, ...]]:
        """The terms of a ``with:`` line."""
        self.about = "arc"
        found = []
        while self.tokens[self.at][0] != "end":
            parts = [self._with_term()]
            while self._take("&"):
                parts.append(self._with_term())
            found.append(tuple(parts))
            if self.tokens[self.at][0] != "end":
                self._expect(",")
                if self.tokens[self.at][0] == "end":
                    raise _Mistake("the line ends too early")
        return found

    def _with_term(self) -> Part:
        if self._peek() not in _ARC_TERMS:
            raise _Mistake(f"expected direction or distance, found {self.tokens[self.at][1]!r}")
        return self._arc_term()

    def _prefix(self) -> tuple[str, ...]:
        """What the attributes meet."""
        if self.tokens[1:2] != [("word", ":")]:
            if self._is_about_arcs():
                self.about = "arc"
                return ("arc",)
            return ("label",)
        word = self.tokens[0][1]
        if word not in _PREFIXES:
            raise _Mistake(f"{word + ':'!r} is not known here{_instead(word, _PREFIXES, ':')}")
        self.at = 2
        if word == "label" and self._is_about_arcs():
            self.about = "arc"
            return ("arc label",)
        if word in _ANCHORS:
            self.about = word
        return _PREFIXES[word]

    def _is_about_arcs(self) -> bool:
        """Whether a term is one of arcs, or a line above says that all are."""
        if self.with_ is not None:
            return True
        words = [word if what == "word" else "" for what, word in self.tokens[self.at :]]
        for word, after in pairwise(words):
            if after == ("." if word in _OF_ARCS else "(" if word in _ARC_FUNCTIONS else None):
                return True
            if word in _ARC_TERMS and word not in self.columns:
                return True
        return False

    def _term(self) -> list[list[Part]]:
        if self.tokens[self.at : self.at + 2] == [("word", "ngram"), ("word", "(")]:
            return self._ngram()
        if self.tokens[self.at : self.at + 2] == [("word", "bag"), ("word", "(")]:
            return self._bag()
        if self.about == "span" and self._peek() == "size":
            return [[self._size()]]
        if self.about == "span" and self._peek() == "outline":
            return self._outline()
        if self.about in _ABOUT_ARCS and self._peek() in _ARC_TERMS:
            return [[self._arc_term()]]
        if self.about in _ABOUT_ARCS and self._peek() in _ARC_FUNCTIONS:
            return self._between() if self._peek() == "between" else self._count()
        return self._simple().parts()

    def _arc_term(self) -> Part:
        word = self._peek()
        self.at += 1
        if word == "direction":
            return Part(View("direction"), 0, "direction", "direction")
        given = self._bins("distance", _MAX_DISTANCE) if self._peek() == "(" else ()
        shown = f"distance({','.join(map(str, given))})" if given else "distance"
        steps = tuple(("from", n, "") for n in given or _DISTANCES)
        return Part(View("distance", steps=steps), 0, "distance", shown)

    def _between(self) -> list[list[Part]]:
        self.at += 1
        return [
            [Part(view, 0, "between", f"between({text.replace(chr(0), '')})")]
            for view, text in self._inside("between").alternatives
        ]

    def _count(self) -> list[list[Part]]:
        self.at += 1
        self._expect("(")
        if not self._take("between"):
            raise _Mistake('count is of words between: count(between(upos), "VERB")')
        inner = self._inside("between")
        self._expect(",")
        value = self._text("count needs the value that is counted in quotes")
        most = self._number(1, MAX_OFFSET) if self._take(",") else _MOST_COUNTED
        self._expect(")")
        extra = "" if most == _MOST_COUNTED else f",{most}"
        return [
            [Part(view, most, "count", f"count(between({text.replace(chr(0), '')}),{_quoted(value)}{extra})", value)]
            for view, text in inner.alternatives
        ]

    def _inside(self, function: str) -> _Term:
        """A column without anchor in brackets."""
        self._expect("(")
        self.outlined = True
        inner = self._simple()
        self.outlined = False
        self._expect(")")
        for view, _ in inner.alternatives:
            self._need_cell(view, function)
        return inner

    def _simple(self) -> _Term:
        """A term that is one view at offsets: all but ngram, bag, size and outline."""
        what, word = self.tokens[self.at]
        if what != "word" or not _NAME.fullmatch(word):
            raise _Mistake(f"expected a column or a function, found {word!r}" if word else "the line ends too early")
        self.at += 1
        if word == "bias":
            return _Term([(View("bias"), "bias")], None)
        if word in ("begin", "end"):
            return self._edge(word)
        term = self._call(word) if self._peek() == "(" and word != "column" else self._cell(word)
        offsets = self._offsets()
        if offsets is not None:
            if term.offsets is not None:
                raise _Mistake("one term has two offsets")
            self._check_offsets(offsets, term.anchor)
            term.offsets = offsets
        return term

    def _edge(self, word: str) -> _Term:
        """The beginning or the end of the sequence; of a span, whether it begins or ends there."""
        if self.about in (*_ABOUT_ARCS, "rule"):
            raise _Mistake(f"{word} is of tokens and spans, not of {'rules' if self.about == 'rule' else 'arcs'}")
        offsets = self._offsets()
        if self.about == "token":
            return _Term([(View(word), word + "\0")], offsets)
        if offsets is not None:
            raise _Mistake(f"{word} has no offset in a line about a {self.about}")
        return _Term([(View(word), word)], None, "first" if word == "begin" else "last")

    def _cell(self, word: str) -> _Term:
        anchor = ""
        if self._take("."):
            anchor = self._anchor(word)
            word = self._peek()
            if not _NAME.fullmatch(word):
                raise _Mistake(f"expected a column behind {anchor + '.'!r}")
            self.at += 1
        if word in self.named:
            if self.about != "token":
                raise _Mistake(f"{word!r} is for lines about tokens")
            return _Term([self.named[word]], None)
        index = self._column(word)
        if self.about != "token" and not anchor and not self.outlined:
            known = ", ".join(f"{name}.{self._shown(index)}" for name in _ANCHORS[self.about])
            raise _Mistake(f"which token of the {_shown_about(self.about)} is {word!r} of? Write {known}")
        shown = f"{anchor}.{self._shown(index)}" if anchor else self._shown(index)
        return _Term([(View("cell", index), shown + "\0")], None, anchor)

    def _anchor(self, word: str) -> str:
        if self.outlined:
            inside = (
                "outline(pos) is about all tokens of the span" if self.about == "span" else "between has no anchors"
            )
            raise _Mistake(f"{word + '.'!r} is not expected: {inside}")
        if self.about == "token":
            about = [name for name, anchors in _ANCHORS.items() if word in anchors]
            where = f"lines that begin with {about[0] + ':'!r} have it" if about else "lines about tokens have none"
            raise _Mistake(f"{word + '.'!r} is an anchor; {where}")
        if word not in _ANCHORS[self.about]:
            kind = f"{'an' if self.about == 'arc' else 'a'} {self.about}"
            raise _Mistake(
                f"there is no anchor {word!r} in a line about {kind}{_instead(word, _ANCHORS[self.about], '.')}"
            )
        return word

    def _check_offsets(self, offsets: range, anchor: str) -> None:
        if self.outlined:
            raise _Mistake(
                "outline takes no offset: it is about all tokens of the span"
                if self.about == "span"
                else "between takes no offset: it is about all words between head and modifier"
            )
        if not anchor:
            return
        least, most = _ANCHORS[self.about][anchor]
        if offsets[0] < least or offsets[-1] > most:
            allowed = f"offsets from {least} to {most}" if least < most else "no offset"
            instead = {"first": "; write before.", "last": "; write after."}.get(anchor, "")
            raise _Mistake(f"{anchor + '.'!r} takes {allowed}, found {offsets[0]}..{offsets[-1]}{instead}")

    def _size(self) -> Part:
        self.at += 1
        if self._peek() != "(":
            return Part(View("size"), 0, "size", "size")
        bins = self._bins("size", _MAX_SIZE)
        return Part(
            View("size", steps=tuple(("from", n, "") for n in bins)), 0, "size", f"size({','.join(map(str, bins))})"
        )

    def _bins(self, function: str, most: int) -> list[int]:
        self._expect("(")
        bins = [self._number(1, most)]
        while self._take(","):
            bins.append(self._number(1, most))
        self._expect(")")
        if any(a >= b for a, b in pairwise(bins)):
            raise _Mistake(f"the numbers of {function} must rise")
        return bins

    def _outline(self) -> list[list[Part]]:
        self.at += 1
        self._expect("(")
        self.outlined = True
        inner = self._simple()
        self.outlined = False
        runs: range | None = None
        if self._take(","):
            runs = self._range(1, _MAX_N)
        self._expect(")")
        found = []
        for view, text in inner.alternatives:
            self._need_cell(view, "outline")
            for n in runs or (1,):
                extra = "" if runs is None else f",{n}"
                found.append([Part(view, n, "outline", f"outline({text.replace(chr(0), '')}{extra})")])
        return found

    def _call(self, function: str) -> _Term:
        self._expect("(")
        if function in ("class", "gazetteer"):
            name = self._text(f"{function} needs the name of a file in quotes first")
            self._expect(",")
            inner = self._simple()
            self._expect(")")
            self.resource(function, name)
            return self._through(inner, function, name)
        if function == "number":
            inner = self._simple()
            self._expect(")")
            if self.about in _ABOUT_ARCS:
                raise _Mistake("number is of tokens and spans, not of arcs")
            if inner.anchor == "whole" or self.outlined:
                raise _Mistake("number needs one token of the span")
            return inner.through(
                [(self._plain(view, "number"), f"number({text})") for view, text in inner.alternatives]
            )
        if function not in _FUNCTIONS:
            if function in ("size", "outline"):
                raise _Mistake(f"{function} is a term of its own, in lines that begin with 'span:'")
            if function in ("distance", *_ARC_FUNCTIONS):
                raise _Mistake(f"{function} is a term of its own, in lines about arcs")
            known = ", ".join(sorted({*_FUNCTIONS, "class", "gazetteer", "number", "ngram", "bag"}))
            raise _Mistake(f"there is no function {function!r}; there are {known}")
        return self._steps(function)

    def _steps(self, function: str) -> _Term:
        op, n_numbers, optional, n_texts = _FUNCTIONS[function]
        inner = self._simple()
        numbers: range | None = None
        texts: list[str] = []
        if n_numbers and not (optional and self._peek() == ")"):
            self._expect(",")
            numbers = self._range(1, _MAX_N)
        for what in ("a regular expression", "what replaces it")[:n_texts]:
            self._expect(",")
            texts.append(self._text(f"{function} needs {what} in quotes"))
        if texts:
            _check_pattern(texts[0])
        self._expect(")")
        alternatives = []
        for view, shown in inner.alternatives:
            self._need_cell(view, function)
            for n in numbers or (0,):
                extra = f",{n}" if numbers is not None else "".join(f",{_quoted(text)}" for text in texts)
                step = (op, n, "\0".join(texts))  # as core/bind/features.cpp takes them apart
                alternatives.append((view._replace(steps=(*view.steps, step)), f"{function}({shown}{extra})"))
        return inner.through(alternatives)

    def _through(self, inner: _Term, function: str, name: str) -> _Term:
        alternatives = []
        for view, shown in inner.alternatives:
            self._need_cell(view, function)
            if function == "class":
                view = view._replace(steps=(*view.steps, ("class", 0, name)))
            else:
                view = view._replace(kind="entry" if inner.anchor == "whole" else "gazetteer", resource=name)
            alternatives.append((view, f"{function}({_quoted(name)},{shown})"))
        return inner.through(alternatives)

    def _need_cell(self, view: View, function: str) -> None:
        if view.kind != "cell":
            raise _Mistake(f"{function} needs a column, perhaps through functions, but not {view.kind}")

    def _plain(self, view: View, function: str) -> View:
        self._need_cell(view, function)
        if view.steps:
            raise _Mistake(f"{function} needs a column as it is")
        return view._replace(kind=function)

    def _ngram(self) -> list[list[Part]]:
        self.at += 1
        self._expect("(")
        inner = self._window("ngram")
        self._expect(",")
        sizes = self._range(1, MAX_PARTS)
        self._expect(")")
        window = inner.offsets or range(1)
        found = []
        for view, text in inner.alternatives:
            for size in sizes:
                for first in list(window)[: max(len(window) - size + 1, 0)]:
                    found.append([inner.part(view, first + i, text) for i in range(size)])
        if not found:
            raise _Mistake("ngram is longer than its window")
        return found

    def _bag(self) -> list[list[Part]]:
        self.at += 1
        self._expect("(")
        inner = self._window("bag")
        self._expect(")")
        window = inner.offsets or range(1)
        shown = f"[{window[0]}..{window[-1]}]"
        return [
            [Part(view, offset, inner.anchor, f"bag({text.replace(chr(0), shown)})")]
            for view, text in inner.alternatives
            for offset in window
        ]

    def _window(self, function: str) -> _Term:
        """The term inside ngram or bag."""
        inner = self._simple()
        if inner.anchor == "whole":
            raise _Mistake(f"{function} needs a window of tokens, such as first.pos[0..2]")
        return inner

    def _column(self, word: str) -> int:
        if word == "column":
            brackets = self._take("(")
            number = self._range(0, MAX_COLUMN)
            if brackets:
                self._expect(")")
            if len(number) != 1:
                raise _Mistake("column needs one number")
            return number[0]
        if word in self.columns:
            return self.columns.index(word)
        if self.columns == DEFAULT_COLUMNS and word in _ALIASES:
            return _ALIASES[word]
        if re.fullmatch(r"c\d{1,4}", word) and int(word[1:]) <= MAX_COLUMN:
            return int(word[1:])
        raise _Mistake(f"there is no column {word!r}; there are {', '.join(self.columns)}, and 'column 2' and so on")

    def _shown(self, index: int) -> str:
        return self.columns[index] if index < len(self.columns) else f"c{index}"

    def _offsets(self) -> range | None:
        if not self._take("["):
            return None
        found = self._range(-MAX_OFFSET, MAX_OFFSET)
        self._expect("]")
        return found

    def _range(self, least: int, most: int) -> range:
        first = self._number(least, most)
        last = self._number(least, most) if self._take("..") else first
        if last < first:
            raise _Mistake(f"the range {first}..{last} runs backwards")
        return range(first, last + 1)

    def _number(self, least: int, most: int) -> int:
        what, word = self.tokens[self.at]
        if what != "word" or not re.fullmatch(r"[-+]?\d{1,9}", word):
            raise _Mistake(f"expected a number, found {word!r}")
        if not least <= int(word) <= most:
            raise _Mistake(f"expected a number from {least} to {most}, found {word}")
        self.at += 1
        return int(word)

    def _text(self, otherwise: str) -> str:
        what, text = self.tokens[self.at]
        if what != "text":
            raise _Mistake(otherwise)
        if set(text) & set("\0\1\2"):
            raise _Mistake("there is a control character")
        self.at += 1
        return text.replace('\\"', '"')

    def _peek(self) -> str:
        what, word = self.tokens[self.at]
        return word if what == "word" else ""

    def _take(self, word: str) -> bool:
        found = self.tokens[self.at] == ("word", word)
        self.at += found
        return found

    def _expect(self, word: str) -> None:
        if not self._take(word):
            found = self.tokens[self.at][1]
            raise _Mistake(f"expected {word!r}, found {found!r}" if found else f"expected {word!r} at its end")


def _named(templates: Sequence[Template], name: str) -> Template:
    """The template of a line with a name for its attributes."""
    if len(templates) > 1:
        raise _Mistake(f"a name is for one template, and the line stands for {len(templates)}")
    template = templates[0]
    places, values = name.count("{}"), sum(part.view.has_values for part in template.parts)
    if places != values:
        raise _Mistake(f"the name has {places} places {{}} for the {values} values that there are")
    return template._replace(text="\2" + name.replace("{}", "\1"))


def _shown_about(about: str) -> str:
    return about if about in ("span", "arc", "rule") else f"arc with its {about}"


def _instead(word: str, known: Iterable[str], end: str) -> str:
    """What there is, and what was probably meant."""
    from difflib import get_close_matches  # when a line is wrong, and not when a model is served

    near = get_close_matches(word, list(known), 1)
    there_are = f"there are {', '.join(repr(name + end) for name in known)}"
    return f"; did you mean {near[0] + end!r}? {there_are.capitalize()}" if near else f"; {there_are}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def _check_pattern(pattern: str) -> None:
    from trelliswork import _core

    try:
        _core.search_pattern(pattern, "")
    except ValueError as error:
        raise _Mistake(str(error).rstrip(".")) from None


def check_name(name: str) -> None:
    """Refuse names of resources that cannot stand in a template."""
    if not isinstance(name, str) or not name or set(name) & set("\n\r\0\1\\"):
        raise InvalidInput(f"resources must have names without line breaks and backslashes, found {name!r}.")
