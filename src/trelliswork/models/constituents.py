"""Models of constituents: scores of labelled spans, of labels of parents and children, and of where children meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable, shown
from trelliswork.features.inputs import Inputs
from trelliswork.models.parts import PartsModel

__all__ = [
    "ConstituentExplanation",
    "ConstituentModel",
    "Limits",
    "TreeBatch",
    "constituent_channels",
    "constituent_sources",
    "constituent_structure",
    "require_short",
]

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.uint32]
BARE, ABOVE = "(word)", "(sentence)"  # the child that is a bare word, the parent of the whole sentence
_MOST_PARTS = 1 << 28  # of a sentence: 2 GiB of scores


class ConstituentExplanation(NamedTuple):
    """Why there is a constituent.

    Attributes
    ----------
    start, stop : int
        Its words are ``start .. stop - 1``.
    label : str
        ``"S+VP"`` is a chain of unary constituents.
    score : float
        The sum of the contributions.
    probability : float
    contributions : list of (str, float)
        Attributes of the span, the labels of it and its children (``rule: NP -> PP``) and attributes of the places
        where these meet, with what they add; the largest first.
    """

    start: int
    stop: int
    label: str
    score: float
    probability: float
    contributions: list[tuple[str, float]]


def constituent_structure(n_labels: int, rules: bool, pairs: Any = None) -> _core.PartStructure:
    """Return the structure, with scores of rules or without; ``pairs``: which labels may be parent and child."""
    if not rules:
        return _core.PartStructure.bracketing(n_labels)
    allowed = None if pairs is None else np.ascontiguousarray(np.asarray(pairs) != 0, dtype=np.uint8).ravel()
    return _core.PartStructure.nested_bracketing(n_labels, allowed)


def constituent_channels(n_labels: int, rules: bool, splits: bool) -> list[tuple[Any, ...]]:
    """Return the channels as the core wants them; the last of a tuple is its source."""
    same = np.zeros(0, dtype=np.int64)
    found: list[tuple[Any, ...]] = [("span", 0, "each", 0, n_labels, same, 1)]
    if rules:
        found.append(("children", 1, "tied", 0, (n_labels + 1) ** 2, same, 0))
    if rules and splits:
        found.append(("pair", 2, "each", 0, n_labels, same, 0))
    return found


def constituent_sources(
    inputs: Inputs, X: Any, argument: str = "X", at_a_time: int | None = None
) -> Iterator[list[_core.Source]]:
    """Yield what is seen between words and, beside it, of all spans, some sentences at a time."""
    assert inputs.templates is not None
    for source in inputs.sources(X, argument, at_a_time=at_a_time):
        if isinstance(source, _core.ColumnSource):
            yield [source, _core.SpanSource(source, inputs.templates.span_extractor(), 0)]
        else:  # there is no word at all
            yield [source, _core.AttributeSource([[]] * source.n_sequences, channel="span")]


def require_short(lengths: Iterable[int], n_labels: int, argument: str = "X", first: int = 0) -> None:
    """Refuse sentences with more labelled spans than memory has room for."""
    for i, n in enumerate(lengths, first):
        if n * (n + 1) // 2 * n_labels > _MOST_PARTS:
            raise InvalidInput(
                f"{argument}[{i}] has {n} words, that is {n * (n + 1) // 2} spans with {n_labels} labels each: too "
                "many. Cut it into sentences."
            )


class ConstituentModel(PartsModel):
    """A trained model of constituents."""

    meets = ("span", "rule")

    def _described(self) -> tuple[_core.PartStructure, list[tuple[Any, ...]]]:
        described, L = self.settings["structure"], len(self.labels)
        if described["name"] not in ("bracketing", "nested bracketing") or self.inputs.kind != "columns":
            raise ValueError(f"there is no structure {described['name']!r} of columns")
        self.rules = described["name"] == "nested bracketing"
        self.join = str(described["join"])
        pairs = self.tensors.get("structure.pairs")
        if pairs is not None and len(np.asarray(pairs)) != (L + 1) ** 2:
            raise ValueError("structure.pairs does not have an entry for each pair of labels")
        channels = constituent_channels(L, self.rules, "pair" in self.channels)
        if [name for name, *_ in channels] != self.channels:
            raise ValueError(f"the channels {', '.join(map(str, self.channels))} are not those of constituents")
        return constituent_structure(L, self.rules, pairs), channels

    @cached_property
    def label_chains(self) -> list[list[str]]:
        """The labels of constituents that each label stands for."""
        return [label.split(self.join) for label in self.labels]

    @property
    def most_asked(self) -> int:
        """How many sentences' scores may be in memory at a time, if they are 32 words long."""
        return int(max(1, min(1024, (1 << 27) // (8 * 528 * len(self.labels)))))

    def sources(self, X: Any, argument: str = "X") -> Iterator[list[_core.Source]]:
        """Yield the sentences as the model sees them, some at a time."""
        return constituent_sources(self.inputs, X, argument, self.most_asked)

    def batch(
        self, sources: list[_core.Source], n_jobs: int, first: int = 0, limits: Limits | None = None
    ) -> TreeBatch:
        """Return the sentences of sources; ``first``: the number of the first of them."""
        lengths = sources[0].lengths().tolist()
        require_short(lengths, len(self.labels), first=first)
        scores = self.core.scores(sources, n_jobs)
        if self.temperature != 1.0:
            scores = [own / self.temperature for own in scores]
        shapes = None
        if limits is not None:
            scores, shapes = limits.applied(first, lengths, scores)
        return TreeBatch(self, lengths, scores, n_jobs, first, shapes)

    @cached_property
    def code_names(self) -> dict[str, list[tuple[str | None, str]]]:
        """The label of the parent, if that counts, and the label of each code, by channel."""
        singles: list[tuple[str | None, str]] = [(None, label) for label in self.labels]
        pairs: list[tuple[str | None, str]] = [(a, b) for a in (*self.labels, ABOVE) for b in (*self.labels, BARE)]
        return {name: pairs if name == "children" else singles for name in self.channels}

    def explained(self, sources: list[_core.Source], batch: TreeBatch) -> list[ConstituentExplanation]:
        """Return why the only sentence of a batch is parsed as it is."""
        ((rows, _),), (table,) = batch.best()[0], batch.marginals()
        spans = [tuple(row) for row in rows.tolist()]
        n = batch.lengths[0]
        site = {(i, j): i * (2 * n - i + 1) // 2 + j - i - 1 for i, j, _ in spans}
        adds: dict[tuple[str, int, str], list[tuple[str, float]]] = {}
        for source, name in ((sources[1], "span"), (sources[0], "pair")):
            if name in self.channels:
                for at, place, (_, label), _, value in self.contributions(source, name):
                    shown_ = source.name(0, at, place, name)
                    adds.setdefault((name, at, label), []).append((shown_, value / self.temperature))
        pairs = None
        if self.rules:
            pairs = np.asarray(self.tensors["channel.children.weights"], dtype=np.float64).reshape(
                len(self.labels) + 1, -1
            )
            pairs = pairs / self.temperature
        found = []
        for r, (start, stop, k) in enumerate(spans):
            label = self.labels[k]
            parts = list(adds.get(("span", site[start, stop], label), []))
            if pairs is not None:
                if r == 0:
                    parts.append((f"rule: {ABOVE} -> {label}", float(pairs[-1, k])))
                for child, begin in _children(spans, r):
                    name = BARE if child is None else self.labels[child]
                    parts.append((f"rule: {label} -> {name}", float(pairs[k, -1 if child is None else child])))
                    if begin > start:
                        parts += [(f"rule: {text}", value) for text, value in adds.get(("pair", begin, label), [])]
            parts = sorted((part for part in parts if part[1] != 0.0), key=lambda part: -abs(part[1]))
            p = min(float(table[start, stop, k]), 1.0)
            found.append(ConstituentExplanation(start, stop, label, sum(w for _, w in parts), p, parts))
        return found


def _children(spans: list[Any], r: int) -> list[tuple[int | None, int]]:
    """The labels of the children of a row, None for bare words, and where they begin; rows are outermost first."""
    start, stop, _ = spans[r]
    if stop - start == 1:
        return []
    found: list[tuple[int | None, int]] = []
    at = start
    for a, b, k in spans[r + 1 :]:
        if a >= stop:
            break
        if a >= at:
            found += [(None, t) for t in range(at, a)]
            found.append((k, a))
            at = b
    return found + [(None, t) for t in range(at, stop)]


class TreeBatch:
    """Scores of the parts of many sentences, and trees."""

    def __init__(
        self,
        model: ConstituentModel,
        lengths: list[int],
        scores: list[FloatArray],
        n_jobs: int,
        first: int = 0,
        shapes: list[Rows] | None = None,
    ) -> None:
        self.lengths, self._model, self._scores, self._first = lengths, model, scores, first
        if shapes is None:
            shapes = [np.array([n], dtype=np.uint32) for n in lengths]
        self._shapes = shapes
        self._core = _core.PartBatch(model.structure, shapes, scores, n_jobs)

    def best(self, k: int = 1) -> list[list[tuple[Rows, float]]]:
        """Return, for each sentence, its best trees as rows (start, stop, label), outermost first, and their scores."""
        found = self._core.best(k)
        for i, own in enumerate(found):
            if not own:
                self._refuse(i)
        return [[(rows.reshape(-1, 3), score) for rows, score in own] for own in found]

    def log_partition(self) -> FloatArray:
        """Return log Z of each sentence."""
        return np.asarray(self._core.log_partition())

    def marginals(self) -> list[FloatArray]:
        """Return the probability of each labelled span, (n, n + 1, L) for each sentence."""
        for i in np.flatnonzero(np.isneginf(self.log_partition())).tolist():
            self._refuse(i)
        return [self._table(i, own, 0.0) for i, own in enumerate(self._core.marginals())]

    def least_risk(self) -> list[list[tuple[Rows, float]]]:
        """Return, for each sentence, the tree whose expected number of wrong and missed constituents is least.

        A constituent is worth its probability less 1/2: so many more are right than wrong by it.
        """
        plain = _core.PartStructure.bracketing(len(self._model.labels))
        found = []
        for shape, scores, own in zip(self._shapes, self._scores, self._core.marginals(), strict=True):
            worth = np.where(np.isneginf(scores[: len(own)]), -np.inf, own - 0.5)
            ((parts, score),) = plain.best(shape, worth)
            found.append([(plain.output_of(shape, parts).reshape(-1, 3), score)])
        return found

    def scores_of(self, trees: Sequence[Rows]) -> FloatArray:
        """Return the score of one tree of each sentence; -inf where the model does not have it."""
        found = []
        for shape, scores, rows in zip(self._shapes, self._scores, trees, strict=True):
            try:
                parts = self._model.structure.parts_of(shape, np.ascontiguousarray(rows, dtype=np.uint32).ravel())
            except ValueError:
                found.append(-np.inf)
            else:
                found.append(float(scores[parts].sum()))
        return np.array(found)

    def _table(self, i: int, by_part: FloatArray, nothing: float) -> FloatArray:
        n, L = self.lengths[i], len(self._model.labels)
        out = np.full((n, n + 1, L), nothing)
        out[np.triu_indices(n, 1, n + 1)] = by_part.reshape(-1, L)
        return out

    def _refuse(self, i: int) -> NoReturn:
        raise Unsatisfiable(f"X[{self._first + i}]: what is allowed and fixed forbids every tree.")


class Limits:
    """What is allowed and fixed when sentences are parsed.

    Parameters
    ----------
    model : ConstituentModel
    allowed : list or None
        For each sentence None, or an array of bool: (n, n + 1), spans that may be constituents, or (n, n + 1, L).
    fixed : list or None
        For each sentence None, or a list of (start, stop) or (start, stop, label).
    n : int
        How many sentences there are.
    """

    def __init__(self, model: ConstituentModel, allowed: Any, fixed: Any, n: int) -> None:
        self._model = model
        for name, given in (("allowed", allowed), ("fixed", fixed)):
            if given is not None and (not hasattr(given, "__len__") or len(given) != n):
                raise InvalidInput(f"{name} must have one entry for each of the {n} sentences; None is no limit.")
        self._allowed, self._fixed = allowed, fixed

    def applied(self, first: int, lengths: list[int], scores: list[FloatArray]) -> tuple[list[FloatArray], list[Rows]]:
        """Return scores with -inf for what may not be, and shapes with the spans that must be constituents."""
        found, shapes, L = [], [], len(self._model.labels)
        for i, (n, own) in enumerate(zip(lengths, scores, strict=True), first):
            mask = self._mask(i, n)
            known = (
                [] if self._fixed is None or self._fixed[i] is None else [self._span(i, n, x) for x in self._fixed[i]]
            )
            for start, stop, labels in known:
                if labels is not None:
                    mask[start, stop] &= np.isin(np.arange(L), labels)
            own, rest = np.array(own), n * (n + 1) // 2 * L
            own[:rest][~mask[np.triu_indices(n, 1, n + 1)].ravel()] = -np.inf
            found.append(own)
            shapes.append(np.array([n, *(x for span in known for x in span[:2])], dtype=np.uint32))
        return found, shapes

    def _mask(self, i: int, n: int) -> npt.NDArray[np.bool_]:
        full = (n, n + 1, len(self._model.labels))
        given = None if self._allowed is None else self._allowed[i]
        if given is None:
            return np.ones(full, dtype=np.bool_)
        mask = np.asarray(given)
        if mask.dtype != np.bool_ or mask.shape not in (full, full[:2]):
            raise InvalidInput(
                f"allowed[{i}] has the shape {mask.shape} of {mask.dtype}; expected bool, {full[:2]} or {full}."
            )
        return np.array(np.broadcast_to(mask if mask.ndim == 3 else mask[:, :, None], full))

    def _span(self, i: int, n: int, given: Any) -> tuple[int, int, list[int] | None]:
        if not isinstance(given, tuple | list) or len(given) not in (2, 3) or not 0 <= given[0] < given[1] <= n:
            raise InvalidInput(
                f"fixed[{i}] has {shown(given)}; expected (start, stop) or (start, stop, label) within {n} words."
            )
        if len(given) == 2 or given[2] is None:
            return int(given[0]), int(given[1]), None
        labels = [k for k, label in enumerate(self._model.labels) if given[2] in (label, *self._model.label_chains[k])]
        if not labels:
            raise InvalidInput(f"fixed[{i}] has the label {given[2]!r}, which the model never saw.")
        return int(given[0]), int(given[1]), labels
