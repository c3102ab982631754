"""Pairs of sequences with gold alignments on their way to an oracle, and weights on theirs to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import refuse_no_list
from trelliswork.errors import InvalidInput
from trelliswork.features.inputs import Inputs
from trelliswork.features.pair_attributes import columns_of
from trelliswork.models.alignments import ALIGNED, AlignmentModel, alignment_channels, alignment_sources
from trelliswork.structures import checks
from trelliswork.structures.alignment import alignment_structure
from trelliswork.structures.parts import Batch
from trelliswork.training.examples import DevScore, Examples
from trelliswork.training.same_run import checksum_of_array
from trelliswork.training.weighting import Weighting

if TYPE_CHECKING:
    from trelliswork.estimators.aligner import Aligner

__all__ = ["AlignmentExamples", "f1", "gold_pairs"]

FloatArray = npt.NDArray[np.float64]
Pairs = npt.NDArray[np.int64]


class AlignmentExamples(Examples):
    """What one call of `Aligner.fit` learns from.

    Parameters
    ----------
    aligner : Aligner
        Its parameters are used.
    X : inputs
    y : gold pairs of each
    features : {"tokens", "arrays"} or callable
        What is seen of an input.
    sample_weight : (n,) array-like or None
    """

    def __init__(self, aligner: Aligner, X: Any, y: Any, features: Any, sample_weight: Any) -> None:
        super().__init__(aligner, Inputs("attributes"))
        self.classes, self.described_by, X = list(ALIGNED), features, list(X)
        self._sample = X[:32]
        self.columns = columns_of(X[0]) if features == "arrays" else None
        examples, lengths = self._read(X)
        gold = gold_pairs(y, lengths)
        Weighting(sample_weight, None, None).require_length(len(gold))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.n_sequences, self.n_tokens = len(gold), sum(n + m for n, m in lengths)
        self._checksum = _checksum(examples, [*gold, np.ones(len(gold)) if weights is None else weights])
        self._channels = alignment_channels(aligner.affine)
        shapes = list(np.array(lengths, dtype=np.uint32))
        try:
            self._parts = _core.PartExamples(
                self._channels, examples, aligner.min_count, True, self.learner.by_member, shapes
            )
            self.oracle = self._parts.oracle(
                alignment_structure(aligner.affine, aligner.free_ends),
                np.concatenate([own.ravel() for own in gold]).astype(np.uint32),
                np.cumsum([own.size for own in gold], dtype=np.int64),
                weights,
                self._combinations(),
            )
        except InvalidInput:
            raise
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    def _read(self, X: Any, argument: str = "X") -> tuple[list[_core.SiteExamples], list[tuple[int, int]]]:
        n_jobs, lengths = checks.as_jobs(self._estimator.n_jobs), list[tuple[int, int]]()
        examples = [_core.SiteExamples(self._hash_bits, True) for _ in ALIGNED]
        for sources in self._sources(X, argument, names=self._hash_bits == 0):
            for own, source in zip(examples, sources, strict=True):
                own.read(source, n_jobs)
            lengths += zip(*(source.lengths().tolist() for source in sources[:2]), strict=True)
        if not lengths:
            raise InvalidInput(f"{argument} has nothing to learn from: pass at least one pair of sequences.")
        return examples, lengths

    def _sources(self, X: Any, argument: str = "X", names: bool = False) -> Any:
        return alignment_sources(X, self.described_by, argument, names, self.columns)

    def _dev_score(self, X_dev: Any, y_dev: Any) -> DevScore:
        X_dev = list(X_dev)
        examples, lengths = self._read(X_dev, "X_dev")
        sources, gold = list(self._sources(X_dev, "X_dev")), gold_pairs(y_dev, lengths, "y_dev")
        n_jobs, settings = checks.as_jobs(self._estimator.n_jobs), self._trial_settings()

        def score(weights: FloatArray) -> float:
            model = self._model_of(weights, settings)
            batches = [Batch(model.alignments(own, n_jobs), n_jobs) for own in sources]
            return f1(gold, [found.pairs for batch in batches for found in batch.argmax()])

        return DevScore(score, _checksum(examples, gold))

    def _run_settings(self) -> dict[str, Any]:
        own = {"affine": self._estimator.affine, "free_ends": self._estimator.free_ends}
        return super()._run_settings() | own

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> AlignmentModel:
        blocks = {"pairs": 1, "deletions": 1, "insertions": 1, "deletion_opens": 1, "insertion_opens": 1}
        names = list(blocks)
        own = {
            "structure": {
                "name": "alignment",
                "affine": self._estimator.affine,
                "free_ends": self._estimator.free_ends,
            },
            "blocks": {name: blocks[name] for name in names[: len(self._channels)]},
            "channels": {name: {"block": names[block], "sites": sites} for name, block, sites, *_ in self._channels},
        }
        return AlignmentModel(self._parts.export(self.oracle, weights), settings | own)


def gold_pairs(y: Any, lengths: Sequence[tuple[int, int]], argument: str = "y") -> list[Pairs]:
    """Return the pairs of each input, rising on both sides."""
    refuse_no_list(y, argument)
    y = list(y)
    if len(y) != len(lengths):
        raise InvalidInput(f"{argument} has {len(y)} alignments, but there are {len(lengths)} pairs of sequences.")
    found = []
    for k, (own, shape) in enumerate(zip(y, lengths, strict=True)):
        rows = checks.as_pairs(f"{argument}[{k}]", own, shape, "a source and a target item")
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        if (np.diff(rows, axis=0) <= 0).any():
            raise InvalidInput(
                f"{argument}[{k}] has pairs that cross, or an item in two of them: an alignment goes forward on "
                "both sides."
            )
        found.append(rows)
    return found


def _checksum(examples: list[_core.SiteExamples], arrays: list[Any]) -> int:
    return checksum_of_array(*[np.array([own.checksum()], dtype=np.uint64) for own in examples], *arrays)


def f1(gold: Sequence[npt.NDArray[Any]], found: Sequence[npt.NDArray[Any]]) -> float:
    """Return the F1 of pairs."""
    sets = [{(k, *row) for k, rows in enumerate(of_all) for row in rows.tolist()} for of_all in (gold, found)]
    total = len(sets[0]) + len(sets[1])
    return 2 * len(sets[0] & sets[1]) / total if total else 1.0
