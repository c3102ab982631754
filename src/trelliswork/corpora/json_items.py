"""The items of a JSON file, one at a time: one on each line, or the items of one list over any number of lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trelliswork.errors import InvalidInput

__all__ = ["json_items"]

_OUTSIDE = re.compile(r'["\[\]{},]')  # what matters between strings
_INSIDE = re.compile(r'"|\\.')  # what matters within one


def json_items(lines: Iterable[tuple[int, str]], name: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of the items, with the numbers of the lines on which they begin.

    Parameters
    ----------
    lines : iterable of (int, str)
        Numbered lines. If the first that is not blank begins with a bracket, they are one list; else every line that is
        not blank is an item.
    name : str
        The name of the file in error messages.

    Examples
    --------
    >>> list(json_items([(1, '{"a": 1}'), (2, ""), (3, "{}")], "a.jsonl"))
    [(1, '{"a": 1}'), (3, '{}')]
    >>> list(json_items([(1, "["), (2, ' {"a":'), (3, '  "],"}, 2'), (4, "]")], "a.json"))
    [(2, '{"a":\\n  "],"}'), (3, '2')]
    """
    filled = ((number, line) for number, line in lines if line.strip())
    number, line = next(filled, (0, ""))
    if not line.lstrip().startswith("["):
        if line:
            yield number, line
        yield from filled
        return
    items = _List(name)
    yield from items.read(number, line[line.index("[") + 1 :])
    for number, line in filled:
        yield from items.read(number, line)
    items.end()


class _List:
    """The items of a list, as its lines come in."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._depth = 1  # of open brackets and braces, that of the list among them; 0 when it has ended
        self._in_string = False
        self._parts: list[str] = []  # of the item that has begun
        self._begun = 0  # on which line
        self._after_comma = False
        self._last = 0

    def read(self, number: int, line: str) -> Iterator[tuple[int, str]]:
        """Yield the items that end on this line."""
        at, begin = 0, 0  # where to look on, and where what is not yet kept begins
        self._last = number
        while self._depth:
            found = (_INSIDE if self._in_string else _OUTSIDE).search(line, at)
            if found is None:
                self._keep(number, line[begin:] + "\n")
                return
            sign, at = found[0], found.end()
            if sign == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += (sign in "[{") - (sign in "]}")
                if self._depth == 0 or (self._depth == 1 and sign == ","):
                    self._keep(number, line[begin : at - 1])
                    yield from self._item(number, last=self._depth == 0, closing=sign)
                    begin = at
        if line[at:].strip():
            raise InvalidInput(f"{self._name}, line {number}: there is text behind the end of the list. Remove it.")

    def end(self) -> None:
        """Refuse a list that was not closed."""
        if self._depth:
            begun = self._begun or self._last
            raise InvalidInput(
                f"{self._name}, line {begun}: the list that begins the file is not closed. Is it cut off?"
            )

    def _keep(self, number: int, part: str) -> None:
        if not self._parts and part.strip():
            self._begun = number
        if self._parts or part.strip():
            self._parts.append(part)

    def _item(self, number: int, last: bool, closing: str) -> Iterator[tuple[int, str]]:
        item, self._parts = "".join(self._parts).strip(), []
        if closing == "}":
            raise InvalidInput(f"{self._name}, line {number}: found a brace that closes nothing.")
        if item:
            yield self._begun, item
        elif not last or self._after_comma:
            raise InvalidInput(f"{self._name}, line {number}: an item of the list is missing before {closing!r}.")
        self._begun, self._after_comma = 0, not last
