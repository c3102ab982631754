"""The answers of a committee's first model, added to the tokens as features of the second model.

===========================  ============================================================================
a token is                   what is added
===========================  ============================================================================
a word, or columns           two columns, ``prediction`` and ``confidence``, and templates that look at them
a dict of attributes         two attributes of these names
a list of attributes         ``prediction=LABEL`` and ``confidence=INTERVAL``
a row of numbers             a column of zeros and ones for each label and for each interval
===========================  ============================================================================

Second models without ``features`` get tuples that begin with the token, or with its items if it is a tuple.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trelliswork.corpora.tables import TokenTable
from trelliswork.errors import InvalidInput
from trelliswork.features.inputs import Inputs, inputs_of, matrix_rows
from trelliswork.features.templates import Templates

__all__ = ["Added", "Answer", "Intervals"]

_KINDS = ("columns", "attributes", "matrix", "tokens")

Answer = tuple[Sequence[Any], Sequence[str]]  # labels of a sequence; intervals of their confidence, or nothing


@dataclass(frozen=True)
class Intervals:
    """Parts of [0, 1], by where all but the first of them begin; the last one includes 1 (Mančev 2015, sec. 4.3).

    Examples
    --------
    >>> Intervals((1.0,)).names
    ['[0,1)', '[1,1]']
    >>> Intervals((0.5, 0.9)).of(np.array([0.0, 0.5, 0.899, 1.0]))
    ['[0,0.5)', '[0.5,0.9)', '[0.5,0.9)', '[0.9,1]']
    """

    bounds: tuple[float, ...]

    @classmethod
    def checked(cls, bounds: Any) -> Intervals:
        """Return the intervals that a user asked for."""
        try:
            found = tuple(float(bound) for bound in bounds)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"intervals is {bounds!r}; expected where they begin, such as (0.5, 1.0) for [0,0.5), [0.5,1), [1,1]."
            ) from None
        if not all(a < b for a, b in zip((0.0, *found), (*found, np.inf), strict=True)) or found[-1:] > (1.0,):
            raise InvalidInput(f"intervals is {bounds!r}; expected rising numbers above 0, none above 1.")
        return cls(found)

    @property
    def names(self) -> list[str]:
        """The names of the intervals."""
        edges = (0.0, *self.bounds)
        return [*(f"[{low:g},{high:g})" for low, high in itertools.pairwise(edges)), f"[{edges[-1]:g},1]"]

    def of(self, confidence: Any) -> list[str]:
        """Return the name of the interval that each confidence is in."""
        names = self.names
        return [names[i] for i in np.searchsorted(self.bounds, confidence, side="right").tolist()]


@dataclass(frozen=True)
class Added:
    """How answers of the first model are added to tokens.

    Attributes
    ----------
    kind : {"columns", "attributes", "matrix", "tokens"}
        The form of tokens, as in the table above.
    n_columns : int or None
        Number of columns of a token in training, of text (further ones are ignored) or of numbers.
    labels, intervals : tuples of str
        All possible answers of the first model, once they are known; ``intervals`` is empty without confidence.
    """

    kind: str
    n_columns: int | None
    labels: tuple[str, ...]
    intervals: tuple[str, ...]

    @classmethod
    def for_(cls, second: Any, X: Any, intervals: Sequence[str]) -> tuple[Added, Inputs | None]:
        """Return how to add to the tokens of X, and how the second model would read these by themselves."""
        if not hasattr(second, "features"):
            return cls("tokens", None, (), tuple(intervals)), None
        inputs, _ = inputs_of(X, second.features)
        n_columns = _n_columns(X) if inputs.kind == "columns" else inputs.n_columns
        return cls(inputs.kind, n_columns, (), tuple(intervals)), inputs

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], labels: Sequence[str], intervals: Sequence[str]) -> Added:
        """Return what `as_settings` described, in a file that may say anything."""
        kind, n_columns = settings["kind"], settings["n_columns"]
        if kind not in _KINDS or (kind in ("columns", "matrix")) != (type(n_columns) is int and n_columns >= 0):
            raise ValueError(f"nothing can be added to tokens of the kind {kind!r} with {n_columns!r} columns")
        return cls(kind, n_columns, tuple(labels), tuple(intervals))

    def as_settings(self) -> dict[str, Any]:
        """Return what a model file says of it; the rest is known from the members."""
        return {"kind": self.kind, "n_columns": self.n_columns}

    def to(self, X: Any, answers: Sequence[Answer], argument: str = "X") -> list[Any]:
        """Return the sequences with what the first model says of their tokens."""
        add = getattr(self, f"_to_{self.kind}")
        return [add(x, answer, f"{argument}[{i}]") for i, (x, answer) in enumerate(zip(X, answers, strict=True))]

    def templates(self, base: Templates, lines: str) -> Templates:
        """Return the templates of the second model: its own, and lines over the added columns.

        Parameters
        ----------
        base : Templates
        lines : str
            ``"thesis"`` for those of Table 4.1, or templates in which ``prediction`` and ``confidence`` are columns; if
            there are columns of these names already, as another committee makes them, ``prediction2`` and so on.
        """
        assert self.n_columns is not None
        known = base.columns[: self.n_columns]
        names = [*known, *(f"c{k}" for k in range(len(known), self.n_columns))]
        added = [_new(name, names) for name in ("prediction", "confidence")][: 2 if self.intervals else 1]
        text = _table_4_1(names, added) if lines == "thesis" else lines
        # Whether label pairs have weights of their own is the base's to say.
        text = f"columns: {' '.join([*names, *added])}\ntransitions: no\n{text}"
        return base + Templates(text, format="own", name="templates")

    def _to_columns(self, x: Any, answer: Answer, place: str) -> list[tuple[Any, ...]]:
        rows = [(token,) if isinstance(token, str) else tuple(token)[: self.n_columns] for token in x]
        for row in rows:
            if len(row) != self.n_columns:
                raise InvalidInput(
                    f"{place} has a token of {len(row)} columns, {row!r}, where the committee was trained on "
                    f"{self.n_columns}."
                )
        return [row + more for row, more in zip(rows, _beside(answer), strict=True)]

    def _to_tokens(self, x: Any, answer: Answer, place: str) -> list[tuple[Any, ...]]:
        own = (token if isinstance(token, tuple) else (token,) for token in x)
        return [(*token, *more) for token, more in zip(own, _beside(answer), strict=True)]

    def _to_attributes(self, x: Any, answer: Answer, place: str) -> list[Any]:
        names = ("prediction", "confidence")
        tokens: list[Any] = []
        for token, more in zip(x, _beside(answer), strict=True):
            if isinstance(token, Mapping):
                tokens.append({**token, **dict(zip(names, more, strict=False))})
            else:
                tokens.append([*token, *(f"{name}={value}" for name, value in zip(names, more, strict=False))])
        return tokens

    def _to_matrix(self, x: Any, answer: Answer, place: str) -> Any:
        place_of = {name: i for i, name in enumerate((*self.labels, *self.intervals))}
        more = np.zeros((len(answer[0]), len(place_of)))
        for values in answer:
            more[np.arange(len(values)), [place_of[value] for value in values]] = 1.0
        rows = matrix_rows(x, self.n_columns or 0, place)
        if isinstance(rows, np.ndarray):
            return np.hstack([rows, more])
        from scipy.sparse import csr_array, hstack

        return csr_array(hstack([rows, csr_array(more)]))


def _n_columns(X: Any) -> int:
    if isinstance(X, TokenTable):
        return X.n_columns
    token = next((token for x in X for token in x), None)
    if token is None:
        raise InvalidInput("X has no tokens to learn from: pass at least one sequence that is not empty.")
    return 1 if isinstance(token, str) else len(token)


def _new(name: str, taken: Sequence[str]) -> str:
    """The name, or with the first number that makes it another one: templates of equal text share their weights."""
    numbered = (f"{name}{n}" for n in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def _beside(answer: Answer) -> list[tuple[Any, ...]]:
    labels, intervals = answer
    return list(zip(labels, intervals, strict=True)) if len(intervals) else [(label,) for label in labels]


def _table_4_1(names: Sequence[str], added: Sequence[str]) -> str:
    """The prediction templates and the confidence templates: each alone, with the word, with its attributes."""
    word, *others = names
    attributes = [word, *others, f"case({word})", f"characters({word})"]
    return "\n".join(line for name in added for line in (name, *(f"{name} & {other}" for other in attributes)))
