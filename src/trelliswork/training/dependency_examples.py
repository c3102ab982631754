"""Sentences with gold trees on their way to an oracle, and the weights that were learned on theirs to a parser."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import ConvergenceWarning, InvalidInput
from trelliswork.features.arc_columns import first_pass_templates
from trelliswork.features.inputs import Inputs
from trelliswork.labels.dependencies import UNKNOWN_HEAD, CodedTrees, coded_trees
from trelliswork.learners.crf import CRF
from trelliswork.learners.memm import MEMM
from trelliswork.learners.online import Perceptron
from trelliswork.models.dependency import (
    UNLABELLED,
    DependencyModel,
    FirstPass,
    outputs_of,
    rounded,
    split_outputs,
    tensors_of,
    tree_channels,
    tree_structure,
)
from trelliswork.structures import checks
from trelliswork.training.examples import DevScore, Examples
from trelliswork.training.same_run import checksum_of_array
from trelliswork.training.weighting import Weighting

if TYPE_CHECKING:
    from trelliswork.estimators.dependency_parser import DependencyParser

__all__ = ["DependencyExamples", "attachment", "gold_trees"]

FloatArray = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.uint32]

_FIRST_PASS_EPOCHS, _FIRST_PASS_L2 = 2, 0.1
_CRF_EPOCHS, _CRF_L2 = 5, 0.01  # where a CRF is asked for by its name
_MARGIN = 7.0  # heads that are less probable than the best by this much are left out, in logarithms


class DependencyExamples(Examples):
    """What one call of `DependencyParser.fit` learns from.

    Parameters
    ----------
    parser : DependencyParser
        Its parameters are used.
    inputs : Inputs
        The templates.
    columns : Columns
        The sentences.
    gold : CodedTrees
        Their trees.
    sample_weight : (n,) array-like or None
    """

    def __init__(
        self, parser: DependencyParser, inputs: Inputs, columns: _core.Columns, gold: CodedTrees, sample_weight: Any
    ) -> None:
        super().__init__(parser, inputs)
        for name, kind in (("crf", CRF), ("memm", MEMM)):
            if isinstance(parser.learner, str) and parser.learner == name:
                # Quasi-Newton steps would take gigabytes for millions of hashes.
                self.learner = kind(l2=_CRF_L2, solver="sgd", max_iter=_CRF_EPOCHS)
        assert inputs.templates is not None
        self.classes = sorted(set(gold.names)) if parser.labels == "joint" and gold.relations is not None else []
        self.classes = self.classes or [UNLABELLED]
        self._templates, self._n_jobs = inputs.templates, checks.as_jobs(parser.n_jobs)
        self.n_sequences, self.n_tokens = len(gold), len(gold.heads)
        Weighting(sample_weight, None, None).require_length(len(gold))
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
        extractor = self._templates.arc_extractor()
        labels, partial = self._labels(gold), bool((gold.heads == UNKNOWN_HEAD).any())
        heads = _uncrossed(gold) if partial and parser.projective else gold.heads
        self._channels = tree_channels(extractor, len(self.classes), self._hash_bits)
        self._structure = tree_structure(
            len(self.classes), parser.projective, parser.single_root, self._templates.meets
        )
        try:
            sentences = _core.ArcSentences(columns, extractor)
            self._checksum = _checksum(sentences, gold.heads, labels, weights)
            self._first_pass = self._prune(columns, heads, gold.lengths) if parser.heads is not None else None
            outputs, ends = outputs_of(heads, labels, gold.lengths)
            shapes = self._shapes(columns, heads.astype(np.uint32))
            self.oracle = _core.arc_oracle(
                self._structure, sentences, shapes, self._channels, outputs, ends, weights, partial
            )
        except ValueError as error:
            raise InvalidInput(_renamed(str(error))) from None

    def _prune(self, columns: _core.Columns, heads: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64]) -> FirstPass:
        """Learn which heads words may have, without labels and from few templates."""
        templates = first_pass_templates(self._templates.columns)
        structure = tree_structure(1, self._estimator.projective, self._estimator.single_root, ())
        sentences = _core.ArcSentences(columns, templates.arc_extractor())
        partial = bool((heads == UNKNOWN_HEAD).any())
        outputs, ends = outputs_of(heads, None, lengths)
        shapes = sentences.first_look(heads.astype(np.uint32))
        oracle = _core.arc_oracle(structure, sentences, shapes, list(FirstPass.channels), outputs, ends, None, partial)
        if partial:  # head selection is about known heads; scores of the perceptron are no probabilities
            trained = Perceptron(epochs=_FIRST_PASS_EPOCHS).train(oracle, n_jobs=self._n_jobs)
            return FirstPass(templates, rounded(trained.weights), None)
        learner = MEMM(l2=_FIRST_PASS_L2, solver="sgd", max_iter=_FIRST_PASS_EPOCHS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            trained = learner.train(oracle, n_jobs=self._n_jobs)
        return FirstPass(templates, rounded(trained.weights), _MARGIN)

    def _shapes(self, columns: _core.Columns, kept: Numbers | None = None) -> _core.TreeShapes:
        if self._first_pass is None:
            return _core.ArcSentences(columns, self._templates.arc_extractor()).shapes()
        return self._first_pass.shapes(columns, self._estimator.heads, kept, self._n_jobs)

    def _labels(self, gold: CodedTrees) -> npt.NDArray[np.int64] | None:
        """The number of the label of each word, -1 where it is not known; None without labels."""
        if gold.relations is None or self.classes == [UNLABELLED]:
            return None
        numbers = {name: k for k, name in enumerate(self.classes)}
        return np.array([numbers.get(name, -1) for name in gold.names], dtype=np.int64)[gold.relations]

    def _dev_score(self, X_dev: Any, y_dev: Any) -> DevScore:
        columns, gold = self._estimator.read_gold(X_dev, y_dev, self._templates, "X_dev", "y_dev")
        sentences = _core.ArcSentences(columns, self._templates.arc_extractor())
        shapes = self._shapes(columns)
        labelled = self.classes != [UNLABELLED] and gold.relations is not None

        def score(weights: FloatArray) -> float:
            model = _core.ArcModel(self._structure, self._channels, weights.astype(np.float32))
            heads, labels = split_outputs(model.best(sentences, shapes, self._n_jobs)[0], gold.lengths)
            return attachment(gold, heads, labels if labelled else None, self.classes)[1 if labelled else 0]

        return DevScore(score, _checksum(sentences, gold.heads, self._labels(gold)))

    def model(self, weights: FloatArray, settings: dict[str, Any]) -> DependencyModel:
        """Return the parser with these weights."""
        return self._model_of(weights, settings)

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> DependencyModel:
        parser = self._estimator
        tensors, scales = tensors_of(self._channels, weights, self._first_pass)
        blocks = {"arcs": len(self.classes)}
        blocks |= {name: 1 for kind, name in _BLOCKS.items() if kind in self._templates.meets}
        named = list(blocks)
        described = {
            "structure": {
                "name": "dependency tree",
                "projective": bool(parser.projective),
                "single_root": bool(parser.single_root),
                "heads": None if parser.heads is None else int(parser.heads),
                "margin": None if self._first_pass is None else self._first_pass.margin,
            },
            "blocks": blocks,
            "channels": {
                name: {"block": named[block], "sites": "mapped" if name in ("label.head", "label.modifier") else "each"}
                for name, block, _, _ in self._channels
            },
            "scales": scales,
        }
        return DependencyModel(tensors, settings | described)

    def _run_settings(self) -> dict[str, Any]:
        parser = self._estimator
        names = ("projective", "single_root", "heads", "labels", "order")
        return super()._run_settings() | {name: getattr(parser, name) for name in names}


_BLOCKS = {"sibling": "siblings", "grandparent": "grandparents"}


def gold_trees(y: Any, lengths: npt.NDArray[np.int64], name: str = "y") -> CodedTrees:
    """Return trees as numbers, one for each sentence."""
    gold = coded_trees(y, name)
    if len(gold) != len(lengths):
        raise InvalidInput(f"X has {len(lengths)} sentences but {name} has {len(gold)} trees. Every one needs its own.")
    for i in np.flatnonzero(gold.lengths != lengths)[:1].tolist():
        raise InvalidInput(f"X[{i}] has {lengths[i]} words but {name}[{i}] has {gold.lengths[i]} heads.")
    return gold


def attachment(
    gold: CodedTrees, heads: npt.NDArray[Any], labels: npt.NDArray[Any] | None, classes: list[str]
) -> tuple[float, float]:
    """Return UAS and LAS of words whose head is known; relations are compared without their subtypes."""
    known = gold.heads != UNKNOWN_HEAD
    right = (heads == gold.heads) & known
    n = max(int(known.sum()), 1)
    if labels is None or gold.relations is None:
        return float(right.sum()) / n, 0.0
    numbers: dict[str, int] = {}
    of_gold, of_classes = (
        np.array([numbers.setdefault(name.partition(":")[0], len(numbers)) for name in names] or [0])
        for names in (gold.names, classes)
    )
    return float(right.sum()) / n, float((right & (of_gold[gold.relations] == of_classes[labels])).sum()) / n


def _checksum(sentences: _core.ArcSentences, *arrays: npt.NDArray[Any] | None) -> int:
    seen = np.array([sentences.checksum()], dtype=np.uint64)
    return checksum_of_array(seen, *(np.zeros(0) if array is None else array for array in arrays))


def _uncrossed(gold: CodedTrees) -> npt.NDArray[np.int32]:
    """Heads without those of arcs that cross others: of two that do, that of the longer one is taken as not known."""
    heads = gold.heads.copy()
    starts = gold.starts
    for i, n in enumerate(gold.lengths.tolist()):
        own = heads[starts[i] : starts[i + 1]]
        known = [m for m in range(1, n + 1) if own[m - 1] != UNKNOWN_HEAD]
        kept: list[tuple[int, int]] = []
        for m in sorted(known, key=lambda m: (abs(int(own[m - 1]) - m), m)):
            low, high = sorted((int(own[m - 1]), m))
            if any(a < low < b < high or low < a < high < b for a, b in kept):
                own[m - 1] = UNKNOWN_HEAD
            else:
                kept.append((low, high))
    return heads


def _renamed(message: str) -> str:
    """An error of the core about an example, as one about a sentence."""
    if message.startswith("example "):
        number, _, rest = message.removeprefix("example ").partition(": ")
        return f"y[{number}]: {rest.rstrip('.')}."
    return message
