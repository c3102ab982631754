"""Parsed templates, the form between their text and the core."""

from __future__ import annotations

from typing import NamedTuple

from trelliswork.errors import InvalidInput

__all__ = ["MAX_TEMPLATES", "MEETS", "Part", "Template", "View", "wrong"]

# What no one needs, and a hostile file might ask for.
MAX_TEMPLATES = 10_000
MAX_LINE = 10_000
MAX_COLUMN = 1_000
MAX_OFFSET = 100  # as in core/text/extractor.hpp
MAX_PARTS = 32  # likewise

# What an attribute can meet: a label, two neighbouring ones, the longest n-gram of labels, the label of a span; an arc,
# its label, an arc with a sibling or with the head of its head.
MEETS = ("label", "pair", "ngram", "span", "arc", "arc label", "sibling", "grandparent", "rule")


class View(NamedTuple):
    """A column with functions applied to it, or a feature of the position in the sequence."""

    # cell, begin, end, gazetteer, number; of spans: entry (of a gazetteer), size (its steps are where bins begin); of
    # arcs: direction, distance (likewise)
    kind: str
    column: int = 0
    steps: tuple[tuple[str, int, str], ...] = ()  # (op, n, pattern or name of a resource)
    outside: str = ""  # what there is outside the sequence: "" nothing, "crfpp", "wapiti"
    resource: str = ""  # name of the gazetteer

    @property
    def has_values(self) -> bool:
        """Whether its values differ; others are there or not, and say no more."""
        return self.kind in ("cell", "gazetteer") and not (self.steps and self.steps[-1][0] == "matches")


class Part(NamedTuple):
    """A view at an offset, and its form in the names of attributes."""

    view: View
    offset: int
    # What the offset counts from: "" the token, "@" an end of the sequence, "*" the token and what a column says; in a
    # span "first" or "last", "before" or "after". And of spans: "whole", "size", "outline" (the offset: longest run).
    # Of arcs "head", "mod", "sibling", "grand"; "between", "count" (the offset: the most), "direction", "distance".
    mode: str
    text: str
    value: str = ""  # that is counted


class Template(NamedTuple):
    """Parts that together form one attribute, and what it is combined with: some of MEETS."""

    # What names begin with; a value stands in each place \1, if there are some, or if the text begins with \2.
    text: str
    meets: tuple[str, ...]
    parts: tuple[Part, ...]


def wrong(where: str, line: str, what: str) -> InvalidInput:
    """The error about a line of a template file."""
    shown = repr(line if len(line) <= 60 else line[:57] + "...")
    return InvalidInput(f"{where}: {what} in {shown}.")
