"""Schemes: which labels begin an entity, go on with it and end it, as seqeval has them for its strict mode.

A scheme is a subclass of `Token` with patterns of two neighbours: prefix before, prefix, whether their types are the
same. What the patterns say of two labels is asked once for each pair of labels that occurs, not once for each token.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar

__all__ = [
    "BILOU",
    "IOB1",
    "IOB2",
    "IOBES",
    "IOE1",
    "IOE2",
    "Entities",
    "Entity",
    "Prefix",
    "Prefixes",
    "Tag",
    "Token",
    "Tokens",
    "auto_detect",
]


class Entity:
    """An entity: the number of its sentence, its first token, the one after its last, and its type."""

    def __init__(self, sent_id: Any, start: int, end: int, tag: str) -> None:
        self.sent_id = sent_id
        self.start = start
        self.end = end
        self.tag = tag

    def __repr__(self) -> str:
        return f"({self.sent_id}, {self.tag}, {self.start}, {self.end})"

    def __eq__(self, other: object) -> bool:
        return self.to_tuple() == other.to_tuple() if isinstance(other, Entity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_tuple())

    def to_tuple(self) -> tuple[Any, str, int, int]:
        """Return sentence, type, start and end."""
        return self.sent_id, self.tag, self.start, self.end


class Prefix(enum.Flag):
    """What a label says of the place in an entity."""

    I = enum.auto()  # noqa: E741
    O = enum.auto()  # noqa: E741
    B = enum.auto()
    E = enum.auto()
    S = enum.auto()
    U = enum.auto()
    L = enum.auto()
    ANY = I | O | B | E | S | U | L


Prefixes = dict(Prefix.__members__)


class Tag(enum.Flag):
    """Whether two labels have the same type."""

    SAME = enum.auto()
    DIFF = enum.auto()
    ANY = SAME | DIFF


Patterns = set[tuple[Prefix, Prefix, Tag]]


class Token:
    """A label, read by a scheme; the subclasses are the schemes."""

    allowed_prefix: ClassVar[Any] = None
    start_patterns: ClassVar[Any] = None
    inside_patterns: ClassVar[Any] = None
    end_patterns: ClassVar[Any] = None

    def __init__(self, token: str, suffix: bool = False, delimiter: str = "-") -> None:
        self.token = token
        self.prefix = Prefixes[token[-1]] if suffix else Prefixes[token[0]]
        tag = token[:-1] if suffix else token[1:]
        self.tag = tag.strip(delimiter) or "_"

    def __repr__(self) -> str:
        return self.token

    def is_valid(self) -> bool:
        """Refuse a prefix that the scheme does not have."""
        if self.prefix not in self.allowed_prefix:
            allowed = str(self.allowed_prefix).replace("Prefix.", "")
            raise ValueError(f"Invalid token is found: {self.token}. Allowed prefixes are: {allowed}.")
        return True

    def is_start(self, prev: Token) -> bool:
        """Whether an entity begins here."""
        return self.check_patterns(prev, self.start_patterns)

    def is_inside(self, prev: Token) -> bool:
        """Whether the entity of the label before goes on here."""
        return self.check_patterns(prev, self.inside_patterns)

    def is_end(self, prev: Token) -> bool:
        """Whether an entity ended with the label before."""
        return self.check_patterns(prev, self.end_patterns)

    def check_tag(self, prev: Token, cond: Tag) -> bool:
        """Whether the types are the same, or not, as asked for."""
        return cond == Tag.ANY or cond == (Tag.SAME if prev.tag == self.tag else Tag.DIFF)

    def check_patterns(self, prev: Token, patterns: Patterns) -> bool:
        """Whether one of the patterns holds."""
        return any(
            prev.prefix in before and self.prefix in here and self.check_tag(prev, same)
            for before, here, same in patterns
        )


def _patterns(*lines: str) -> Patterns:
    """The patterns of lines such as "B I same": a prefix before, a prefix, and whether the types are the same."""
    parts = (line.split() for line in lines)
    return {(Prefix[before], Prefix[here], Tag[same.upper()]) for before, here, same in parts}


class IOB1(Token):
    """Entities of I; B where one follows another of its type."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.B
    start_patterns = _patterns("O I any", "I I diff", "B I any", "I B same", "B B same")
    inside_patterns = _patterns("B I same", "I I same")
    end_patterns = _patterns("I I diff", "I O any", "I B any", "B O any", "B I diff", "B B same")


class IOE1(Token):
    """Entities of I; E where another of its type follows."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.E
    start_patterns = _patterns("O I any", "I I diff", "E I any", "E E same")
    inside_patterns = _patterns("I I same", "I E same")
    end_patterns = _patterns("I I diff", "I O any", "I E diff", "E I same", "E E same")


class IOB2(Token):
    """Every entity begins with B and goes on with I."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.B
    start_patterns = _patterns("ANY B any")
    inside_patterns = _patterns("B I same", "I I same")
    end_patterns = _patterns("I O any", "I I diff", "I B any", "B O any", "B I diff", "B B any")


class IOE2(Token):
    """Every entity ends with E."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.E
    start_patterns = _patterns("O I any", "O E any", "E I any", "E E any", "I I diff", "I E diff")
    inside_patterns = _patterns("I E same", "I I same")
    end_patterns = _patterns("E ANY any")


class IOBES(Token):
    """B and E at the ends, S for a single token."""

    allowed_prefix = Prefix.I | Prefix.O | Prefix.B | Prefix.E | Prefix.S
    start_patterns = _patterns("ANY B any", "ANY S any")
    inside_patterns = _patterns("B I same", "B E same", "I I same", "I E same")
    end_patterns = _patterns("S ANY any", "E ANY any")


class BILOU(Token):
    """B and L at the ends, U for a single token."""

    allowed_prefix = Prefix.B | Prefix.I | Prefix.L | Prefix.O | Prefix.U
    start_patterns = _patterns("ANY B any", "ANY U any")
    inside_patterns = _patterns("B I same", "B L same", "I I same", "I L same")
    end_patterns = _patterns("U ANY any", "L ANY any")


class Tokens:
    """The labels of a sentence.

    Examples
    --------
    >>> Tokens(["B-PER", "I-PER", "O", "B-LOC"], IOB2, sent_id=0).entities
    [(0, PER, 0, 2), (0, LOC, 3, 4)]
    """

    def __init__(
        self,
        tokens: Sequence[str],
        scheme: type[Token],
        suffix: bool = False,
        delimiter: str = "-",
        sent_id: int | None = None,
    ) -> None:
        self.outside_token = scheme("O", suffix=suffix, delimiter=delimiter)
        self.tokens = [scheme(token, suffix=suffix, delimiter=delimiter) for token in tokens]
        self.extended_tokens = [*self.tokens, self.outside_token]
        self.sent_id = sent_id

    @property
    def entities(self) -> list[Entity]:
        """The entities, in their order."""
        decisions = _Decisions(self.outside_token)
        return list(decisions.entities([decisions.number(token) for token in self.tokens], self.sent_id))


class Entities:
    """The entities of sentences.

    Examples
    --------
    >>> entities = Entities([["B-PER", "B-ORG"]], IOB2)
    >>> entities.filter("ORG"), sorted(entities.unique_tags)
    ({(0, ORG, 1, 2)}, ['ORG', 'PER'])
    """

    def __init__(
        self, sequences: Iterable[Sequence[str]], scheme: type[Token], suffix: bool = False, delimiter: str = "-"
    ) -> None:
        reader = _Reader(scheme, suffix, delimiter)
        self.entities = [list(reader.entities(seq, sent_id)) for sent_id, seq in enumerate(sequences)]

    def filter(self, tag_name: str) -> set[Entity]:
        """Return the entities of a type."""
        return {entity for entity in chain(*self.entities) if entity.tag == tag_name}

    @property
    def unique_tags(self) -> set[str]:
        """The types that occur."""
        return {entity.tag for entity in chain(*self.entities)}


_START, _INSIDE, _END = 1, 2, 4


class _After(dict[int, int]):
    """What begins, goes on or ends with each label that comes after a certain one; worked out when it is asked."""

    def __init__(self, tokens: list[Token], before: int) -> None:
        self.tokens, self.before = tokens, tokens[before]

    def __missing__(self, number: int) -> int:
        token, before = self.tokens[number], self.before
        found = _START * bool(token.is_start(before)) + _INSIDE * bool(token.is_inside(before))
        self[number] = found + _END * bool(token.is_end(before))
        return self[number]


class _Decisions:
    """Tokens by number, 0 for the one outside, and what is decided between any two."""

    def __init__(self, outside: Token) -> None:
        self.tokens = [outside]
        self.after = [_After(self.tokens, 0)]
        self.valid: set[int] = set()

    def number(self, token: Token) -> int:
        self.tokens.append(token)
        self.after.append(_After(self.tokens, len(self.tokens) - 1))
        return len(self.tokens) - 1

    def entities(self, numbers: list[int], sent_id: Any) -> Iterator[Entity]:
        after, valid = self.after, self.valid
        numbers.append(0)
        i, before = 0, 0
        while i < len(numbers):
            here = numbers[i]
            if here not in valid:
                self.tokens[here].is_valid()
                valid.add(here)
            if after[before][here] & _START:
                end = i + 1
                while end < len(numbers) and after[numbers[end - 1]][numbers[end]] & _INSIDE:
                    end += 1
                if end < len(numbers) and after[numbers[end - 1]][numbers[end]] & _END:
                    yield Entity(sent_id, i, end, self.tokens[here].tag)
                i = end
            else:
                i += 1
            before = numbers[i - 1]


class _Reader(dict[str, int]):
    """The numbers of labels that were seen, and the entities that labels say."""

    def __init__(self, scheme: type[Token], suffix: bool, delimiter: str) -> None:
        self.scheme = scheme
        self.how: dict[str, Any] = {"suffix": suffix, "delimiter": delimiter}
        self.decisions: _Decisions | None = None

    def __missing__(self, label: str) -> int:
        assert self.decisions is not None
        self[label] = self.decisions.number(self.scheme(label, **self.how))
        return self[label]

    def entities(self, labels: Sequence[str], sent_id: int) -> Iterator[Entity]:
        if self.decisions is None:
            self.decisions = _Decisions(self.scheme("O", **self.how))
        return self.decisions.entities([self[label] for label in labels], sent_id)


# Prefixes that tell a scheme, besides O: any of these sets.
_TELLING: dict[type[Token], tuple[str, ...]] = {
    IOB2: ("IB", "B"),
    IOE2: ("IE", "E"),
    IOBES: ("IBES", "IBE", "BES", "BE"),
    BILOU: ("IBLU", "IBL", "BLU", "BL"),
}
_ALONE = {frozenset({Prefix.S}): IOBES, frozenset({Prefix.U}): BILOU}  # without O


def auto_detect(sequences: Iterable[Iterable[str]], suffix: bool = False, delimiter: str = "-") -> type[Token]:
    """Return the scheme, of IOB2, IOE2, IOBES and BILOU, that labels are in, by the prefixes that occur.

    Examples
    --------
    >>> auto_detect([["B-PER", "I-PER", "O"]]).__name__
    'IOB2'
    """
    prefixes = set()
    for label in dict.fromkeys(label for labels in sequences for label in labels):
        try:
            prefixes.add(Token(label, suffix=suffix, delimiter=delimiter).prefix)
        except KeyError:
            raise ValueError(f"This scheme is not supported: {label}") from None
    if frozenset(prefixes) in _ALONE:
        return _ALONE[frozenset(prefixes)]
    for scheme, telling in _TELLING.items():
        if prefixes - {Prefix.O} in [{Prefix[letter] for letter in letters} for letters in telling]:
            return scheme
    raise ValueError(f"This scheme is not supported: {prefixes}")
