"""Sequences with gold segments on their way to an oracle, and the weights that were learned on theirs to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.features.inputs import Inputs, head
from trelliswork.labels.constraints import constraints_of
from trelliswork.labels.scheme_constraints import SchemeConstraints
from trelliswork.labels.segments import OUTSIDE, SpanLists, lengths_of, rows_of, span_lists
from trelliswork.models.segments import SegmentModel, segment_channels, segment_sources, segment_structure
from trelliswork.structures import checks
from trelliswork.training.examples import DevScore, Examples, allowed_tensors
from trelliswork.training.same_run import checksum_of_array
from trelliswork.training.weighting import Weighting

if TYPE_CHECKING:
    from trelliswork.estimators.segment_labeler import SegmentLabeler

__all__ = ["SegmentExamples", "f1"]

FloatArray = npt.NDArray[np.float64]


class SegmentExamples(Examples):
    """What one call of `SegmentLabeler.fit` learns from.

    Parameters
    ----------
    labeler : SegmentLabeler
        Its parameters are used.
    inputs : Inputs
        What is seen of tokens and of spans.
    X : sequences
    gold : SpanLists
    sample_weight : (n,) array-like or None
    """

    def __init__(self, labeler: SegmentLabeler, inputs: Inputs, X: Any, gold: SpanLists, sample_weight: Any) -> None:
        super().__init__(labeler, inputs)
        self.scheme = gold.scheme
        self.classes = sorted({OUTSIDE, *gold.types})
        if not gold.types:
            raise InvalidInput("y has no segments to learn from: pass at least one.")
        self._sample, X = head(X)
        X = X if hasattr(X, "__len__") else list(X)
        # Gold says how long segments may be, and only then is it known which spans have attributes.
        token_lengths = [n for source in inputs.sources(X) for n in source.lengths().tolist()]
        rows = rows_of(gold, token_lengths, self.classes)
        self.lengths = lengths_of(rows, self.classes, labeler.longest, gold.argument)
        self.longest = int(self.lengths.max())
        self._constraints = constraints_of(labeler.constraints, self.classes)
        rules = [None] * 3 if self._constraints is None else list(self._constraints)
        if self._constraints is not None:
            _require_kept(rows, self._constraints, self.classes, gold.argument)
        weighting = Weighting(sample_weight, None, None)
        weighting.require_length(len(rows))
        examples = self._read(X)
        self.n_sequences, self.n_tokens = len(rows), sum(token_lengths)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self._checksum = _checksum(examples, [*rows, np.ones(len(rows)) if weights is None else weights])
        names = ["token", *(name for name in ("span", "segment") if name in self._names), "transitions"]
        self._channels = segment_channels(names, len(self.classes), self.longest)
        combinations = self._combinations()
        try:
            self._parts = _core.PartExamples(self._channels, examples, labeler.min_count, True, self.learner.by_member)
            self.oracle = self._parts.oracle(
                segment_structure(self.lengths, rules),
                np.concatenate([own.ravel() for own in rows]).astype(np.uint32),
                np.cumsum([own.size for own in rows], dtype=np.int64),
                weights,
                combinations,
            )
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    def _read(self, X: Any, argument: str = "X") -> list[_core.SiteExamples]:
        n_jobs, examples = checks.as_jobs(self._estimator.n_jobs), list[_core.SiteExamples]()
        self._names: list[str] = []
        for sources in self._sources(X, argument, names=self._hash_bits == 0):
            examples = examples or [_core.SiteExamples(self._hash_bits, True) for _ in sources]
            for own, source in zip(examples, sources, strict=True):
                own.read(source, n_jobs)
                self._names += source.channels
        return examples

    def _sources(self, X: Any, argument: str = "X", names: bool = False) -> Any:
        return segment_sources(self.inputs, X, self.longest, self._estimator.segment_features, argument, names)

    def _dev_score(self, X_dev: Any, y_dev: Any) -> DevScore:
        gold = span_lists(y_dev, "y_dev", self.scheme)
        X_dev = X_dev if hasattr(X_dev, "__len__") else list(X_dev)
        sources = list(self._sources(X_dev, "X_dev"))
        rows = rows_of(gold, [n for own in sources for n in own[0].lengths().tolist()], self.classes)
        n_jobs, settings = checks.as_jobs(self._estimator.n_jobs), self._trial_settings()

        def score(weights: FloatArray) -> float:
            model = self._model_of(weights, settings)
            found = [best[0][0] for own in sources for best in model.batch(own, n_jobs).best()]
            return f1(rows, found, self.classes.index(OUTSIDE))

        return DevScore(score, _checksum(self._read(X_dev, "X_dev"), rows))

    def _run_settings(self) -> dict[str, Any]:
        return super()._run_settings() | {"lengths": self.lengths.tolist()}

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> SegmentModel:
        K = len(self.classes)
        described = {
            "structure": {"name": "segments", "longest": self.longest},
            "blocks": {"segments": K, "transitions": K * K},
            "channels": {
                name: {"block": "segments" if block == 0 else "transitions", "sites": sites}
                for name, block, sites, *_ in self._channels
            },
        }
        tensors = self._parts.export(self.oracle, weights) | {"structure.lengths": self.lengths}
        tensors |= allowed_tensors(self._constraints)
        return SegmentModel(tensors, settings | described)


def _checksum(examples: list[_core.SiteExamples], arrays: list[Any]) -> int:
    """Return a checksum of what is seen of sequences, and of arrays besides."""
    return checksum_of_array(*[np.array([own.checksum()], dtype=np.uint64) for own in examples], *arrays)


def f1(gold: list[Any], found: list[Any], outside: int) -> float:
    """Return the F1 of segments that are not outside: those with the same ends and the same label are right."""
    sets = [
        {(i, *row) for i, rows in enumerate(all_) for row in rows.tolist() if row[2] != outside}
        for all_ in (gold, found)
    ]
    return 2 * len(sets[0] & sets[1]) / max(len(sets[0]) + len(sets[1]), 1)


def _require_kept(rows: list[Any], constraints: SchemeConstraints, labels: Sequence[str], argument: str) -> None:
    """Refuse segments to learn from that the constraints forbid."""
    for i, own in enumerate(row[:, 2].astype(np.intp) for row in rows):
        good = constraints.transitions[own[:-1], own[1:]].all()
        if len(own) and not (good and constraints.start[own[0]] and constraints.end[own[-1]]):
            told = " ".join(labels[k] for k in own.tolist())
            raise InvalidInput(
                f"{argument}[{i}] has segments with the labels {told}, which the constraints forbid. Check them, or "
                "leave constraints out."
            )
