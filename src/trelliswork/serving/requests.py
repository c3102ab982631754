"""What may be asked: the bodies of requests. Fields that are not listed here are refused, none is ignored."""

from __future__ import annotations

from typing import Annotated

import msgspec

__all__ = ["Batch", "Explain", "KBest", "Sentence"]

Token = str | list[str]
Position = Annotated[int, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Sentence(msgspec.Struct, forbid_unknown_fields=True):
    """One sentence, as text or as tokens.

    Attributes
    ----------
    text : str or None
        Split into words and punctuation marks. Only for models of one column.
    tokens : list or None
        Instead of text: words, or rows of columns such as ``["dog", "NOUN"]``.
    fixed : dict
        What is already known, by token (counted from 0): its label or, for a dependency parser, its head (counted from
        1; 0 is the root).
    """

    text: str | None = None
    tokens: list[Token] | None = None
    fixed: dict[Position, str | int] = {}


class KBest(Sentence, forbid_unknown_fields=True):
    """A sentence, and how many answers are wanted."""

    k: Count = 5


class Explain(Sentence, forbid_unknown_fields=True):
    """A sentence, and what to explain about it.

    Attributes
    ----------
    position : int or None
        The only token to explain, counted from 0.
    label : str or None
        The label to explain at this token, instead of the best one.
    top : int
        How many contributions to list for each token.
    """

    position: Position | None = None
    label: str | None = None
    top: Count = 10


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    """Many sentences at once."""

    sentences: list[Sentence]
