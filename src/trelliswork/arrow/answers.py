"""What a model says of tokens, as arrays: labels, their probabilities, spans; heads and relations."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.corpora.tables import TokenTable
from trelliswork.errors import InvalidInput, shown
from trelliswork.estimators.dependency_parser import DependencyParser
from trelliswork.estimators.fitted import check_is_fitted
from trelliswork.estimators.sequence_labeler import SequenceLabeler
from trelliswork.models.dependency import UNLABELLED

__all__ = ["PARSING", "TAGGING", "Answers", "Task"]

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def _codes() -> Codes:
    return np.zeros(0, dtype=np.int32)


def _ints() -> Ints:
    return np.zeros(0, dtype=np.int64)


def _floats() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True)
class Spans:
    """The spans of all sequences, one after the other; ``counts`` of each, ``names`` of types."""

    counts: Ints = field(default_factory=_ints)
    starts: Ints = field(default_factory=_ints)
    stops: Ints = field(default_factory=_ints)
    types: Codes = field(default_factory=_codes)
    names: list[str] = field(default_factory=list)
    probabilities: Floats = field(default_factory=_floats)


@dataclass(frozen=True)
class Answers:
    """What was asked of ``X``: labels (or relations) by number, their names and probabilities, spans, heads."""

    X: TokenTable
    labels: Codes = field(default_factory=_codes)
    names: list[str] = field(default_factory=list)
    probabilities: Floats = field(default_factory=_floats)
    spans: Spans = field(default_factory=Spans)
    heads: Codes = field(default_factory=_codes)

    @classmethod
    def nothing(cls, X: TokenTable) -> Answers:
        """Return the answers to sequences without a token."""
        return cls(X, spans=Spans(counts=np.zeros(len(X), dtype=np.int64)))


@dataclass(frozen=True)
class Task:
    """What can be asked of some kind of model."""

    checked: Callable[[Any], Any]  # the model, or an error if it is of another kind
    outputs: Callable[[Any], tuple[str, ...]]  # what a model can be asked
    usual: Callable[[Any], tuple[str, ...]]  # what a model is asked if nothing is said
    n_columns: Callable[[Any], int]  # how many columns of a token a model looks at
    answers: Callable[[Any, TokenTable, Collection[str]], Answers]


def _tagger(model: Any) -> Any:
    """Refuse what does not label sequences of words, and return the model."""
    if not (hasattr(model, "predict_spans") and hasattr(model, "predict_marginals")):
        raise InvalidInput(
            f"model is {shown(model)}; expected one that labels sequences: SequenceLabeler, SegmentLabeler, HMM, "
            "Committee, or what tw.load gives of a file of theirs."
        )
    check_is_fitted(model, "classes_")
    inputs = getattr(getattr(model, "_model", None), "inputs", None)
    if inputs is not None and inputs.kind != "columns":
        raise InvalidInput(
            f"the model was trained on {inputs.described()}, and a table has words. Tag with a model whose features "
            "are templates, or make the features yourself and call predict."
        )
    strange = [label for label in model.classes_ if not isinstance(label, str)]
    if strange:
        raise InvalidInput(f"the model has the label {shown(strange[0])}; only those that are strings fit in a table.")
    return model


def _tags(model: Any, X: TokenTable, asked: Collection[str]) -> Answers:
    answers = Answers.nothing(X)
    if X.n_tokens == 0:
        return answers
    if "labels" in asked or "probabilities" in asked:
        labels, names = _labels_of(model, X)
        answers = replace(answers, labels=labels, names=names)
    if "probabilities" in asked:
        answers = replace(answers, probabilities=_probabilities_of(model, X, answers))
    if "spans" in asked:
        answers = replace(answers, spans=_spans_of(model, X))
    return answers


def _labels_of(model: Any, X: TokenTable) -> tuple[Codes, list[str]]:
    if isinstance(model, SequenceLabeler):
        labels, _ = model._decode(X)
        return labels, model.classes_.tolist()
    number = {name: i for i, name in enumerate(model.classes_.tolist())}
    predicted = model.predict(X)
    if any(not isinstance(label, str) for labels in predicted for label in labels):
        raise InvalidInput("this model was trained on spans, not on labels of tokens: ask for output='spans'.")
    codes = [number.setdefault(label, len(number)) for labels in predicted for label in labels]
    return np.array(codes, dtype=np.int32), list(number)


def _probabilities_of(model: Any, X: TokenTable, answers: Answers) -> Floats:
    tables = model.predict_marginals(X)
    if any(table.ndim != 2 for table in tables):
        raise InvalidInput("this model has probabilities of segments, not of tokens: ask for output='spans'.")
    rows = np.concatenate(tables)
    probabilities: Floats = rows[np.arange(len(rows)), answers.labels]
    return probabilities


def _spans_of(model: Any, X: TokenTable) -> Spans:
    found = model.predict_spans(X)
    counts = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
    flat = [span for spans in found for span in spans]
    kinds, starts, stops, probabilities = zip(*flat, strict=True) if flat else ((), (), (), ())
    number: dict[str, int] = {}
    types = [number.setdefault(kind, len(number)) for kind in kinds]
    return Spans(
        counts,
        np.array(starts, dtype=np.int64),
        np.array(stops, dtype=np.int64),
        np.array(types, dtype=np.int32),
        list(number),
        np.array(probabilities, dtype=np.float64),
    )


TAGGING = Task(
    checked=_tagger,
    outputs=lambda model: ("tokens", "labels", "probabilities", "spans"),
    usual=lambda model: ("labels",),
    n_columns=lambda model: getattr(model, "n_columns_", 1),
    answers=_tags,
)


def _parser(model: Any) -> Any:
    if not isinstance(model, DependencyParser):
        raise InvalidInput(f"model is {shown(model)}; expected a DependencyParser. Labels of tokens come by tag.")
    check_is_fitted(model, "classes_")
    return model


def _trees(model: Any, X: TokenTable, asked: Collection[str]) -> Answers:
    if X.n_tokens == 0:
        return Answers.nothing(X)
    trees = model.predict_coded(X)
    if trees.relations is None:
        return Answers(X, heads=trees.heads)
    return Answers(X, labels=trees.relations, names=trees.names, heads=trees.heads)


def _of_trees(model: Any) -> tuple[str, ...]:
    return ("heads",) if model.classes_.tolist() == [UNLABELLED] else ("heads", "relations")


PARSING = Task(
    checked=_parser,
    outputs=lambda model: ("tokens", *_of_trees(model)),
    usual=_of_trees,
    n_columns=lambda model: model._model.templates.n_columns,
    answers=_trees,
)
