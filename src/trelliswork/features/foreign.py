"""Template files of CRF++ and Wapiti, with the semantics of these programs.

In both, an attribute is the line itself with every macro replaced, so two templates that expand to the same text are
the same attribute. ``%x[row,column]`` is a cell; outside the sequence CRF++ writes ``_B-1``, ``_B+1`` and so on, Wapiti
``_x-1`` ... ``_x-4``, then ``_x-#``. Wapiti also has ``%t`` (whether a regular expression is found, true or false) and
``%m`` (its first match, or nothing), capitals for lower case, rows ``@1`` (from the start; ``@-1`` from the end) and
``*2`` (as far away as column 2 says), and lines that begin with ``*`` for labels and pairs at once.

The regular expressions are Wapiti's, but match characters instead of bytes, which is the same for ASCII.
"""

from __future__ import annotations

import re

from trelliswork.features.parsed import MAX_COLUMN, MAX_OFFSET, MAX_PARTS, Part, Template, View, wrong

__all__ = ["detect", "parse_line", "without_comment"]

_MACRO = re.compile(r'%([xtmXTM])\[\s*([@*]?)\s*([-+]?\d{1,9})\s*,\s*(\d{1,9})\s*(?:,\s*"((?:[^"\\]|\\.)*)"\s*)?\]')
_STEPS = {"x": None, "t": "test", "m": "match_or_empty"}


def detect(lines: list[str]) -> str:
    """Return the kind of templates in these lines: "own", "crfpp" or "wapiti".

    Examples
    --------
    >>> detect(["word[-1..1]"]), detect(["U00:%x[0,0]", "B"]), detect(["u:%x[0,0]", "b"])
    ('own', 'crfpp', 'wapiti')
    """
    lines = [line.strip() for line in lines]
    lines = [line for line in lines if line and not line.startswith("#")]
    foreign = [line for line in lines if re.search(r"%[xtmXTM]\[", line) or re.fullmatch(r"[UuBb*]\d*:?", line)]
    if not foreign:
        return "own"
    wapiti = re.compile(r"^[ub*]|%[tmXTM]\[|%x\[\s*[@*]")
    commented = any(0 <= line.find("%x[") < line.rfind("#") for line in foreign)
    return "wapiti" if commented or any(wapiti.search(line) for line in foreign) else "crfpp"


def without_comment(line: str, kind: str) -> str:
    """The line as the program sees it: without its comment."""
    if kind == "wapiti":
        return line.partition("#")[0].rstrip()
    return "" if line.startswith("#") else line


def parse_line(line: str, kind: str, where: str) -> tuple[Template | None, bool]:
    """Return the template of a line, if it has one, and whether the line stands for plain label pairs.

    Examples
    --------
    >>> template, pairs = parse_line("U01:%x[-1,0]/%x[0,0]", "crfpp", "chunk.tpl, line 1")
    >>> len(template.parts), template.meets, pairs
    (2, ('label',), False)
    """
    first = line[0].lower() if kind == "wapiti" else line[0]
    if first not in ("ub*" if kind == "wapiti" else "UB"):
        what = "lines begin with u, b or *" if kind == "wapiti" else "lines begin with U or B"
        raise wrong(where, line, f"{what}; found {line[0]!r}")
    if set(line) & set("\0\1"):
        raise wrong(where, line, "there is a control character")
    meets = ("label", "pair") if first == "*" else ("label",) if first in "Uu" else ("pair",)
    parts: list[Part] = []
    text = first
    at = 1
    while at < len(line):
        if line[at] != "%":
            text += line[at]
            at += 1
            continue
        macro = _MACRO.match(line, at)
        if macro is None or (kind == "crfpp" and (macro[1] != "x" or macro[2] or macro[5] is not None)):
            raise wrong(where, line, f"{line[at : at + 12]!r} is no macro such as %x[-1,0]")
        if len(parts) == MAX_PARTS:
            raise wrong(where, line, f"there are more than {MAX_PARTS} macros")
        parts.append(_part(macro, kind, line, where))
        text += "\1"
        at = macro.end()
    if parts:
        return Template(text, meets, tuple(parts)), False
    return (Template(text, ("label",), ()) if "label" in meets else None), "pair" in meets


def _part(macro: re.Match[str], kind: str, line: str, where: str) -> Part:
    command, mode, row, column = macro[1], macro[2], int(macro[3]), int(macro[4])
    if abs(row) > MAX_OFFSET:
        raise wrong(where, line, f"rows go from -{MAX_OFFSET} to {MAX_OFFSET}, found {row}")
    if column > MAX_COLUMN or (mode == "*" and not 0 <= row <= MAX_COLUMN):
        raise wrong(where, line, f"columns go from 0 to {MAX_COLUMN}")
    op = _STEPS[command.lower()]
    if (op is None) != (macro[5] is None):
        what = "%x takes no regular expression" if op is None else f"%{command} needs a regular expression in quotes"
        raise wrong(where, line, what)
    steps: list[tuple[str, int, str]] = []
    if op is not None:
        _check_pattern(macro[5], line, where)
        steps.append((op, 0, macro[5]))
    if command.isupper():
        steps.append(("ascii_lower", 0, ""))
    return Part(View("cell", column, tuple(steps), kind), row, mode, "")


def _check_pattern(pattern: str, line: str, where: str) -> None:
    from trelliswork import _core

    try:
        _core.search_pattern(pattern, "", True)
    except ValueError as error:
        raise wrong(where, line, str(error).rstrip(".")) from None
