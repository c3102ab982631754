"""Sentences with gold trees on their way to an oracle, and the weights that were learned on theirs to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.features.inputs import Inputs
from trelliswork.labels.constituents import chains_of, joined_by, rows_of_trees, tree_of, trees_of
from trelliswork.models.constituents import (
    ConstituentModel,
    constituent_channels,
    constituent_sources,
    constituent_structure,
    require_short,
)
from trelliswork.structures import checks
from trelliswork.structures.constituents import Constituent
from trelliswork.training.examples import DevScore, Examples
from trelliswork.training.same_run import checksum_of_array
from trelliswork.training.weighting import Weighting

if TYPE_CHECKING:
    from trelliswork.estimators.constituency_parser import ConstituencyParser

__all__ = ["ConstituentExamples"]

FloatArray = npt.NDArray[np.float64]
_SAMPLED = 32  # sentences that are looked at for attributes that have no weights


class ConstituentExamples(Examples):
    """What one call of `ConstituencyParser.fit` learns from.

    Parameters
    ----------
    parser : ConstituencyParser
        Its parameters are used.
    inputs : Inputs
        What is seen of spans and between words.
    sentences : list of sentences, or TokenTable
    trees : list of Constituent
    sample_weight : (n,) array-like or None
    """

    def __init__(
        self, parser: ConstituencyParser, inputs: Inputs, sentences: Any, trees: list[Constituent], sample_weight: Any
    ) -> None:
        super().__init__(parser, inputs)
        assert inputs.templates is not None
        self._sample = sentences[:_SAMPLED]
        self.join = joined_by(trees)
        chains = [chains_of(tree, self.join) for tree in trees]
        self.classes = sorted({label for own in chains for _, _, label in own})
        rows = rows_of_trees(chains, self.classes)
        L = len(self.classes)
        self._rules = parser.rules is not None
        self._pairs = _pairs(rows, L) if parser.rules == "seen" else None
        self._channels = constituent_channels(L, self._rules, "rule" in inputs.templates.meets)
        Weighting(sample_weight, None, None).require_length(len(rows))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        examples = self._read(sentences, rows)
        self.n_sequences, self.n_tokens = len(rows), sum(int(n) for n in self._lengths)
        self._checksum = _checksum(examples, [*rows, np.ones(len(rows)) if weights is None else weights])
        try:
            self._parts = _core.PartExamples(self._channels, examples, parser.min_count)
            del examples  # half of the memory at its peak
            self.oracle = self._parts.oracle(
                constituent_structure(L, self._rules, self._pairs),
                np.concatenate([own.ravel() for own in rows]).astype(np.uint32),
                np.cumsum([own.size for own in rows], dtype=np.int64),
                weights,
                self._combinations(),
            )
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    def _read(self, sentences: Any, rows: list[Any], argument: str = "X") -> list[_core.SiteExamples]:
        """Return attributes by source; of spans, those that some gold constituent has, unless all are wanted."""
        n_jobs = checks.as_jobs(self._estimator.n_jobs)
        examples = [_core.SiteExamples(self._hash_bits, True) for _ in range(2)]
        (sources,) = self._sources(sentences, argument)
        self._lengths = sources[0].lengths()
        require_short(self._lengths.tolist(), len(self.classes), argument)
        if self._estimator.attributes == "gold":
            examples[1].read_only(sources[1], _sites(rows, self._lengths))
        for own, source in zip(examples, sources, strict=True):
            own.read(source, n_jobs)
        return examples

    def _sources(self, X: Any, argument: str = "X", names: bool = False) -> Any:
        return constituent_sources(self.inputs, X, argument)

    def _dev_score(self, X_dev: Any, y_dev: Any) -> DevScore:
        trees = trees_of(y_dev, X_dev, "y_dev")
        sources = list(self._sources(X_dev, "X_dev"))
        n_jobs, settings = checks.as_jobs(self._estimator.n_jobs), self._trial_settings()

        def score(weights: FloatArray) -> float:
            model = self._model_of(weights, settings)
            found = [best[0][0] for own in sources for best in model.batch(own, n_jobs).best()]
            guess = [tree_of(rows, x, model.label_chains) for rows, x in zip(found, X_dev, strict=True)]
            return float(self._estimator._compared(trees, guess).f1)

        sums = [np.frombuffer(str(tree).encode(), dtype=np.uint8) for tree in trees]
        return DevScore(score, checksum_of_array(*sums))

    def _run_settings(self) -> dict[str, Any]:
        own = {name: getattr(self._estimator, name) for name in ("rules", "attributes")}
        return super()._run_settings() | own

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> ConstituentModel:
        L, blocks = len(self.classes), ("spans", "children", "splits")
        described = {
            "structure": {"name": "nested bracketing" if self._rules else "bracketing", "join": self.join},
            "blocks": dict(zip(blocks, (L, (L + 1) ** 2, L)[: 3 if self._rules else 1], strict=False)),
            "channels": {name: {"block": blocks[block], "sites": sites} for name, block, sites, *_ in self._channels},
        }
        tensors = self._parts.export(self.oracle, weights)
        if self._pairs is not None:
            tensors["structure.pairs"] = self._pairs
        return ConstituentModel(tensors, settings | described)


def _pairs(rows: list[Any], n_labels: int) -> npt.NDArray[np.uint8]:
    """Return which labels are parent and child in some tree; bare words may be children of all."""
    found = np.zeros((n_labels + 1, n_labels + 1), dtype=np.uint8)
    found[:-1, -1] = 1
    structure = _core.PartStructure.nested_bracketing(n_labels)
    for own in rows:
        n = int(own[0, 1]) if len(own) else 0
        first = n * (n + 1) // 2 * n_labels
        parts = structure.parts_of(np.array([n], dtype=np.uint32), own.ravel()) if n else np.zeros(0, dtype=np.uint32)
        found.ravel()[parts[(parts >= first) & (parts < first + found.size)] - first] = 1
    return found.ravel()


def _sites(rows: list[Any], lengths: Any) -> npt.NDArray[np.int64]:
    """Return the numbers of the spans that are constituents, over all sentences."""
    found, before = [np.zeros(0, dtype=np.int64)], 0
    for own, n in zip(rows, lengths.tolist(), strict=True):
        i, j = own[:, 0].astype(np.int64), own[:, 1].astype(np.int64)
        found.append(before + np.unique(i * (2 * n - i + 1) // 2 + j - i - 1))
        before += n * (n + 1) // 2
    return np.concatenate(found)


def _checksum(examples: list[_core.SiteExamples], arrays: list[Any]) -> int:
    """Return a checksum of what is seen of sentences, and of arrays besides."""
    return checksum_of_array(*[np.array([own.checksum()], dtype=np.uint64) for own in examples], *arrays)
