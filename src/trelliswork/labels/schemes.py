"""The chunk-coding schemes, described once: which prefix each token of a span has.

`scheme_constraints` makes constraints of this table; `spans` reads and writes by it.
"""

from __future__ import annotations

from typing import NamedTuple

from trelliswork.errors import InvalidInput

__all__ = ["MEANING", "SCHEMES", "SCHEME_NAMES", "Scheme", "scheme_of"]


class Scheme(NamedTuple):
    """One scheme: its names, and the prefix of the first, inner and last token of a span and of a span of one.

    If ``only_between``, the prefix that differs from the inner one is written only where two spans of one type touch.

    Examples
    --------
    >>> scheme_of("ioe2").prefixes
    ('I', 'E')
    """

    names: tuple[str, ...]
    begin: str
    inside: str
    end: str
    single: str
    only_between: bool = False

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The prefixes of the scheme, each once; ``O`` is in none."""
        return tuple(dict.fromkeys((self.begin, self.inside, self.end, self.single)))


SCHEMES = (
    Scheme(("BIO", "IOB2"), begin="B", inside="I", end="I", single="B"),
    Scheme(("IOB1",), begin="B", inside="I", end="I", single="B", only_between=True),
    Scheme(("IOE2",), begin="I", inside="I", end="E", single="E"),
    Scheme(("IOE1",), begin="I", inside="I", end="E", single="E", only_between=True),
    Scheme(("IOBES", "BIOES"), begin="B", inside="I", end="E", single="S"),
    Scheme(("BILOU", "BILUO", "BIOLU"), begin="B", inside="I", end="L", single="U"),
    Scheme(("BMES", "BMESO"), begin="B", inside="M", end="E", single="S"),
)
SCHEME_NAMES = tuple(scheme.names[0] for scheme in SCHEMES)  # of two names of one scheme, the first

# What conlleval would call the prefix: L and U of BILOU are E and S, M of BMES is I.
MEANING = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S", "O": "O"}


def scheme_of(name: str) -> Scheme:
    """Return the scheme of that name, in capitals or not.

    Examples
    --------
    >>> scheme_of("IOB2").names
    ('BIO', 'IOB2')
    """
    known = ", ".join(other for scheme in SCHEMES for other in scheme.names)
    if not isinstance(name, str):
        raise InvalidInput(f"scheme must be a name, found {name!r}. Known are {known}.")
    for scheme in SCHEMES:
        if name.upper() in scheme.names:
            return scheme
    if name.upper() == "IOB":
        raise InvalidInput("scheme 'IOB' may mean two things: say 'IOB1', or 'IOB2' if B begins every span.")
    raise InvalidInput(f"scheme {name!r} is not known. Use one of {known}.")
