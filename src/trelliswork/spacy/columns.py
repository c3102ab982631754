"""Columns of text drawn from documents: what the features of a token are looked for in.

White space is not shown: `words` has the numbers of the other tokens, and columns are about these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from spacy.attrs import IDS
from spacy.tokens import Doc, Token
from spacy.training import Example

from trelliswork.errors import InvalidInput
from trelliswork.features.templates import Templates

__all__ = ["Columns", "templates_of", "words"]

_OF_WORDS = ("orth", "norm", "lower", "shape", "prefix", "suffix")
_ANNOTATED = ("lemma", "tag", "pos", "morph", "dep", "ent_type")  # by other components
_FLAGS = tuple(
    sorted(name.lower() for name in IDS if name.startswith(("IS_", "LIKE_")) and hasattr(Token, name.lower()))
)
_FUNCTIONS = ("lower", "shape", "prefix", "suffix")  # of templates: no column can have these names


class Columns:
    """Reads columns from documents.

    Parameters
    ----------
    names : sequence of str
        Attributes of tokens: ``orth``, ``norm``, ``lower``, ``shape``, ``prefix``, ``suffix``; ``lemma``, ``tag``,
        ``pos``, ``morph``, ``dep``, ``ent_type``; flags such as ``is_title`` and ``like_num``, as ``yes`` or ``no``;
        or ``_.name``, an extension of tokens.
    target : str
        The column that is predicted, and cannot be looked at.

    Examples
    --------
    >>> import spacy
    >>> Columns(["orth", "is_title"]).of([spacy.blank("en")("Rain  fell")])
    [[('Rain', 'yes'), ('fell', 'no')]]
    """

    def __init__(self, names: Sequence[str], target: str = "") -> None:
        self.names, self._target = list(names), target
        if not self.names:
            raise InvalidInput("columns is empty: name at least one, such as 'orth'.")
        for name in self.names:
            _check(name, target)
        if len(set(self.names)) < len(self.names):
            raise InvalidInput(f"columns has a name twice: {', '.join(self.names)}.")
        self._read = [_reader(name) for name in self.names]

    def __reduce__(self) -> Any:
        return Columns, (self.names, self._target)  # readers are made anew

    def of(self, docs: Iterable[Doc]) -> list[list[Any]]:
        """Return the tokens of documents as strings, or as tuples of strings if there are several columns."""
        if len(self._read) == 1:
            (read,) = self._read
            return [[read(token) for token in doc if not token.is_space] for doc in docs]
        reads = self._read
        return [[tuple([read(token) for read in reads]) for token in doc if not token.is_space] for doc in docs]

    def of_examples(self, examples: Sequence[Example], docs: Sequence[Doc]) -> list[list[Any]]:
        """Return the tokens of what examples predict; what ``docs`` do not say is taken from the references."""
        X = []
        for example, doc, own in zip(examples, docs, self.of(docs), strict=True):
            columns = [list(column) for column in zip(*own, strict=True)] if len(self.names) > 1 else [own]
            for k, name in enumerate(self.names):
                if own and _only_in_reference(example, doc, name):
                    gold = example.get_aligned(name.upper(), as_string=True)
                    columns[k] = [gold[i] or "" for i in words(doc)]
            X.append(columns[0] if len(self.names) == 1 else list(zip(*columns, strict=True)))
        return X

    def require_filled(self, X: Sequence[Sequence[Any]]) -> None:
        """Refuse a column that no token has anything in."""
        for k, name in enumerate(self.names):
            if name in _ANNOTATED and not any((token if len(self.names) == 1 else token[k]) for x in X for token in x):
                raise InvalidInput(
                    f"the column {name!r} is empty in all examples. Put what sets it before this component and list it "
                    "in [training] annotating_components, annotate the corpus with it, or leave the column out."
                )


def words(doc: Doc) -> list[int]:
    """Return the numbers of the tokens that are not white space.

    Examples
    --------
    >>> import spacy
    >>> words(spacy.blank("en")("Rain  fell"))
    [0, 2]
    """
    return [i for i, token in enumerate(doc) if not token.is_space]


def templates_of(features: str | Sequence[str], columns: Sequence[str]) -> str | Templates:
    """Return features as an estimator takes them: the name of a ready set, or templates over named columns.

    Parameters
    ----------
    features : str or sequence of str
        The name of a ready set, or lines of templates.
    columns : sequence of str
        The names that lines may use. ``lower``, ``shape``, ``prefix`` and ``suffix`` are functions of templates: a
        column of that name is called ``lower_`` and so on.

    Examples
    --------
    >>> templates_of(["orth[-1..1]", "shape_ & tag[-1]"], ["orth", "shape", "tag"]).names
    ['orth[-1]', 'orth[0]', 'orth[1]', 'shape_[0]|tag[-1]']
    """
    if isinstance(features, str):
        return features
    names = [name.removeprefix("_.") + "_" * (name in _FUNCTIONS) for name in columns]
    lines = [f"columns: {' '.join(names)}", *features]
    return Templates("\n".join(lines), format="own", name="features")


def _check(name: str, target: str) -> None:
    if name == target:
        raise InvalidInput(f"columns has {name!r}, which is what this component predicts.")
    if not isinstance(name, str) or not (name.startswith("_.") or name in (*_OF_WORDS, *_ANNOTATED, *_FLAGS)):
        known = ", ".join((*_OF_WORDS, *_ANNOTATED))
        raise InvalidInput(f"columns has {name!r}; expected {known}, a flag such as 'is_title', or '_.name'.")


def _reader(name: str) -> Callable[[Token], str]:
    if name.startswith("_."):
        return lambda token: _shown(token._.get(name[2:]))
    if name == "morph":
        return lambda token: str(token.morph)
    if name in _FLAGS:
        read = attrgetter(name)
        return lambda token: "yes" if read(token) else "no"
    return attrgetter(f"{name}_")


def _shown(value: Any) -> str:
    return "" if value is None else str(value)


def _only_in_reference(example: Example, doc: Doc, name: str) -> bool:
    field = name.upper()
    return name in _ANNOTATED and not doc.has_annotation(field) and example.reference.has_annotation(field)
