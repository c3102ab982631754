"""What is predicted, as documents have it and as an estimator does: entities as labels of a scheme, or tags of tokens.

Labels are those of the tokens that are not white space (`words`). A label that nobody knows is None, one of several a
set, as in `SequenceLabeler.fit`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import scheme_of
from trelliswork.labels.spans import labels_from_spans, spans
from trelliswork.spacy.columns import words

__all__ = ["Entities", "Gold", "Tags", "Target", "target_of"]

_NAME = "probability"  # of the extension
_OF_SPACES = {"tag": "_SP", "pos": "SPACE"}  # what spaCy calls white space

Labels = list[Any]
Limits = list[Any] | None


class Gold(NamedTuple):
    """The labels of one document, and how much of the reference does not fit its tokens."""

    labels: Labels
    misaligned: int


class Target(Protocol):
    """What the component asks of entities and of tags alike."""

    column: str
    constraints: str | None
    told: str

    def gold(self, example: Example) -> Gold:
        """Return what the reference says of the tokens of what is predicted."""
        ...

    def completed(self, y: list[Labels]) -> list[Labels]:
        """Return the labels of a corpus, with what follows from all of them together."""
        ...

    def labels(self, classes: Collection[str]) -> tuple[str, ...]:
        """Return what a reader of documents sees of the labels of a model."""
        ...

    def given(self, doc: Doc, classes: Collection[str]) -> Limits:
        """Return which labels each token may have, given what is in the document already; None if all may be."""
        ...

    def ask(self, labeler: Any, X: Sequence[Any], limits: Any, probabilities: bool) -> list[Any]:
        """Return the answers of the estimator, one for each document; that of a document without words is ``[]``."""
        ...

    def write(self, doc: Doc, answer: Sequence[Any]) -> None:
        """Write an answer into its document."""
        ...


class Entities:
    """Entities, spelled by a scheme.

    Parameters
    ----------
    scheme : str
        In which labels spell them: ``"BIO"``, ``"IOBES"``, ``"BILOU"`` or ``"BMES"``.
    overwrite : bool
        Whether entities that are in a document already go.
    """

    column = "ent_type"
    told = "entities"

    def __init__(self, scheme: str, overwrite: bool) -> None:
        self.scheme = scheme_of(scheme)
        self.overwrite = overwrite
        if self.scheme.only_between or self.scheme.begin == self.scheme.inside:
            raise InvalidInput(f"scheme is {scheme!r}; expected BIO, IOBES, BILOU or BMES, which mark every begin.")
        self.constraints: str | None = self.scheme.names[0]
        declare(Span)

    def gold(self, example: Example) -> Gold:
        """Return labels: None for tokens that are not annotated, or whose entity does not fit the tokens."""
        found, tags = example.get_aligned_ents_and_ner()
        there = words(example.predicted)
        labels = self._spelled(_shifted(found, there), [tags[i] == "O" for i in there])
        return Gold(labels, len(example.reference.ents) - len(found))

    def completed(self, y: list[Labels]) -> list[Labels]:
        """Let no unknown token go on with the entity before it, where that is known to have ended."""
        classes = {label for labels in y for label in labels if label is not None}
        return [self._closed(labels, classes) for labels in y]

    def labels(self, classes: Collection[str]) -> tuple[str, ...]:
        """Return the types of entities."""
        return tuple(sorted({label.partition("-")[2] for label in classes if label != "O"}))

    def given(self, doc: Doc, classes: Collection[str]) -> Limits:
        """Return what entities and blocked tokens leave possible, unless they are to be overwritten."""
        if self.overwrite or not _begins(doc):
            return None
        there, blocked = words(doc), {span.start for span in _blocked(doc)}
        found = _shifted(doc.ents, there)
        known = [span for span in found if self._can_spell(span, set(classes))]
        free = {t for _, start, stop in set(found).difference(known) for t in range(start, stop)}
        outside = [(t in free or i in blocked) and "O" in classes for t, i in enumerate(there)]
        closed = self._closed(self._spelled(known, outside), classes)
        return [{label} if isinstance(label, str) else label for label in closed]

    def ask(self, labeler: Any, X: Sequence[Any], limits: Any, probabilities: bool) -> list[Any]:
        """Return (type, start, stop, probability) of the entities of each document."""
        if probabilities:
            return list(labeler.predict_spans(X, allowed=limits))
        scheme = self.scheme.names[0]
        return [[(*span, None) for span in spans(labels, scheme)] for labels in labeler.predict(X, allowed=limits)]

    def write(self, doc: Doc, answer: Sequence[tuple[str, int, int, float | None]]) -> None:
        """Add the predicted entities; what was there and is not to be overwritten stays as it is."""
        declare(Span)
        kept, blocked = ([], []) if self.overwrite or not _begins(doc) else ([*doc.ents], _blocked(doc))
        if self.overwrite:
            _forget_probabilities(doc)
        taken = {i for span in (*kept, *blocked) for i in range(span.start, span.end)}
        there = words(doc) if answer else []
        new = []
        for kind, start, stop, probability in answer:
            span = Span(doc, there[start], there[stop - 1] + 1, label=kind)
            if taken.isdisjoint(range(span.start, span.end)):
                new.append(span)
                if probability is not None:
                    span._.set(_NAME, probability)
        doc.set_ents(kept + new, blocked=blocked, default="outside")

    def _spelled(self, found: list[tuple[str, int, int]], outside: list[bool]) -> Labels:
        """Return labels of spans; what is neither in one nor known to be outside is None."""
        labels: Labels = labels_from_spans(found, len(outside), self.scheme.names[0])
        return [None if label == "O" and not known else label for label, known in zip(labels, outside, strict=True)]

    def _can_spell(self, span: tuple[str, int, int], classes: set[str]) -> bool:
        kind, start, stop = span
        return classes.issuperset(labels_from_spans([(kind, 0, stop - start)], stop - start, self.scheme.names[0]))

    def _closed(self, labels: Labels, classes: Collection[str]) -> Labels:
        out = list(labels)
        for t in range(1, len(labels)):
            prefix, _, kind = (labels[t - 1] or "O").partition("-")
            if labels[t] is None and prefix != "O":
                out[t] = set(classes) - {f"{other}-{kind}" for other in (self.scheme.inside, self.scheme.end)}
        return out


class Tags:
    """Tags of tokens, fine-grained (``tag``) or universal (``pos``).

    Parameters
    ----------
    attribute : {"tag", "pos"}
    overwrite : bool
        Whether tags that are in a document already go.
    """

    constraints: str | None = None
    told = "tags"

    def __init__(self, attribute: str, overwrite: bool) -> None:
        self.column = attribute
        self.overwrite = overwrite
        declare(Token)

    def gold(self, example: Example) -> Gold:
        """Return tags: None for tokens that have none, or that fit no token of the reference."""
        aligned = example.get_aligned(self.column.upper(), as_string=True)
        there = words(example.predicted)
        misaligned = sum(aligned[i] is None for i in there)
        return Gold([aligned[i] or None for i in there], misaligned)

    def completed(self, y: list[Labels]) -> list[Labels]:
        """Return them as they are."""
        return y

    def labels(self, classes: Collection[str]) -> tuple[str, ...]:
        """Return the tags."""
        return tuple(sorted(classes))

    def given(self, doc: Doc, classes: Collection[str]) -> Limits:
        """Return the tags that are there and that the model knows, unless they are to be overwritten."""
        if self.overwrite or not doc.has_annotation(self.column.upper()):
            return None
        tags = [getattr(doc[i], f"{self.column}_") for i in words(doc)]
        return [{tag} if tag in classes else None for tag in tags]

    def ask(self, labeler: Any, X: Sequence[Any], limits: Any, probabilities: bool) -> list[Any]:
        """Return (tag, probability) of the words of each document."""
        answers = labeler.predict(X, allowed=limits)
        if not probabilities:
            return [[(tag, None) for tag in tags] for tags in answers]
        number = {label: k for k, label in enumerate(labeler.classes_)}
        marginals = labeler.predict_marginals(X, allowed=limits)
        return [
            [(tag, float(row[number[tag]])) for tag, row in zip(tags, rows, strict=True)]
            for tags, rows in zip(answers, marginals, strict=True)
        ]

    def write(self, doc: Doc, answer: Sequence[tuple[str, float | None]]) -> None:
        """Set the tags of tokens that have none, or of all; white space has a tag of its own."""
        declare(Token)
        name, of_words = f"{self.column}_", iter(answer)
        for token in doc:
            tag, probability = (_OF_SPACES[self.column], None) if token.is_space else next(of_words)
            if self.overwrite or not getattr(token, name):
                setattr(token, name, tag)
                if probability is not None:
                    token._.set(_NAME, probability)


def target_of(name: str, scheme: str, overwrite: bool) -> Target:
    """Return entities or tags by the name of the target."""
    if name == "ents":
        return Entities(scheme, overwrite)
    if name in _OF_SPACES:
        return Tags(name, overwrite)
    raise InvalidInput(f"target is {name!r}; expected 'ents', 'tag' or 'pos'.")


def declare(kind: Any) -> None:
    """Let spans or tokens have ``_.probability``; once, since extensions are those of the whole program."""
    if not kind.has_extension(_NAME):
        kind.set_extension(_NAME, default=None)
    _, method, getter, setter = kind.get_extension(_NAME)
    if method or (getter and not setter):
        raise InvalidInput(
            f"this program has defined {kind.__name__}._.{_NAME} as a method or a getter: it cannot be set. Remove it, "
            "or give it another name."
        )


def _begins(doc: Doc) -> bool:
    """Whether an entity or a blocked token is there."""
    return doc.has_annotation("ENT_IOB") and any([token.ent_iob == 3 for token in doc])


def _blocked(doc: Doc) -> list[Span]:
    """Return the tokens in which no entity may be: those that begin one of no type."""
    return [doc[i : i + 1] for i, token in enumerate(doc) if token.ent_iob == 3 and not token.ent_type]


def _forget_probabilities(doc: Doc) -> None:
    for span in doc.ents:
        doc.user_data.pop(("._.", _NAME, span.start_char, span.end_char), None)


def _shifted(ents: Sequence[Span], there: list[int]) -> list[tuple[str, int, int]]:
    """Return entities by the numbers of tokens that are not white space; without those that have no such token."""
    number = {i: t for t, i in enumerate(there)}
    inside = [(span.label_, [number[i] for i in range(span.start, span.end) if i in number]) for span in ents]
    return [(kind, tokens[0], tokens[-1] + 1) for kind, tokens in inside if tokens]
