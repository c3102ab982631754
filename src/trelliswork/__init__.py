"""trelliswork: structured prediction with exact inference.

Names are loaded when first used, so ``import trelliswork`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from trelliswork import corpora as corpora
    from trelliswork import evaluation as evaluation
    from trelliswork import plots as plots
    from trelliswork.errors import (
        ConvergenceWarning,
        InvalidInput,
        InvalidModel,
        TrellisworkError,
        UncalibratedScores,
        UnknownAttributes,
        UnknownParameter,
        Unsatisfiable,
    )
    from trelliswork.estimators.committee.committee import Committee
    from trelliswork.estimators.hmm.hmm import HMM
    from trelliswork.estimators.loading import load
    from trelliswork.estimators.multiclass.classifier import MulticlassClassifier
    from trelliswork.estimators.multiclass.perceptron import MulticlassPerceptron
    from trelliswork.estimators.sequence_labeler import SequenceLabeler
    from trelliswork.estimators.structured import StructuredPredictor
    from trelliswork.features.templates import Templates
    from trelliswork.labels.scheme_constraints import SchemeConstraints, scheme_constraints
    from trelliswork.learners.batch import CuttingPlane, FrankWolfe
    from trelliswork.learners.confidence import AROW
    from trelliswork.learners.crf import CRF
    from trelliswork.learners.dual import MIRA, SDM, DualCoordinate, LaRank
    from trelliswork.learners.exponentiated_gradient import ExponentiatedGradient
    from trelliswork.learners.memm import MEMM
    from trelliswork.learners.online import PassiveAggressive, Perceptron
    from trelliswork.learners.primal import Pegasos, Subgradient
    from trelliswork.models.confidence import Confidence, confidence
    from trelliswork.structures import semirings as semirings
    from trelliswork.structures.automaton import Automaton, AutomatonChain
    from trelliswork.structures.batch import ChainBatch
    from trelliswork.structures.beam import beam_search
    from trelliswork.structures.chain import Chain
    from trelliswork.structures.custom.structure import Structure
    from trelliswork.structures.expectation import ExpectationPass
    from trelliswork.structures.ngram import NGramChain
    from trelliswork.structures.program import Program
    from trelliswork.structures.results import Expectations, Forward, ForwardBackward, Labeling, Segmentation
    from trelliswork.structures.segments import SegmentChain
    from trelliswork.structures.semirings import Semiring, forward, forward_backward
    from trelliswork.training import active

# Public name -> module that defines it.
_HOME = {
    "AROW": "learners.confidence",
    "Automaton": "structures.automaton",
    "AutomatonChain": "structures.automaton",
    "CRF": "learners.crf",
    "HMM": "estimators.hmm.hmm",
    "MEMM": "learners.memm",
    "MIRA": "learners.dual",
    "SDM": "learners.dual",
    "Chain": "structures.chain",
    "ChainBatch": "structures.batch",
    "Committee": "estimators.committee.committee",
    "Confidence": "models.confidence",
    "ConvergenceWarning": "errors",
    "CuttingPlane": "learners.batch",
    "DualCoordinate": "learners.dual",
    "ExpectationPass": "structures.expectation",
    "Expectations": "structures.results",
    "ExponentiatedGradient": "learners.exponentiated_gradient",
    "Forward": "structures.results",
    "ForwardBackward": "structures.results",
    "FrankWolfe": "learners.batch",
    "InvalidInput": "errors",
    "InvalidModel": "errors",
    "LaRank": "learners.dual",
    "Labeling": "structures.results",
    "MulticlassClassifier": "estimators.multiclass.classifier",
    "MulticlassPerceptron": "estimators.multiclass.perceptron",
    "NGramChain": "structures.ngram",
    "PassiveAggressive": "learners.online",
    "Pegasos": "learners.primal",
    "Perceptron": "learners.online",
    "Program": "structures.program",
    "SchemeConstraints": "labels.scheme_constraints",
    "SegmentChain": "structures.segments",
    "Segmentation": "structures.results",
    "Semiring": "structures.semirings",
    "SequenceLabeler": "estimators.sequence_labeler",
    "Structure": "structures.custom.structure",
    "StructuredPredictor": "estimators.structured",
    "Subgradient": "learners.primal",
    "Templates": "features.templates",
    "TrellisworkError": "errors",
    "UncalibratedScores": "errors",
    "UnknownAttributes": "errors",
    "UnknownParameter": "errors",
    "Unsatisfiable": "errors",
    "beam_search": "structures.beam",
    "confidence": "models.confidence",
    "forward": "structures.semirings",
    "forward_backward": "structures.semirings",
    "load": "estimators.loading",
    "scheme_constraints": "labels.scheme_constraints",
}
_MODULES = {
    "active": "training.active",
    "corpora": "corpora",
    "evaluation": "evaluation",
    "plots": "plots",
    "semirings": "structures.semirings",
}

__all__ = [
    "AROW",
    "CRF",
    "HMM",
    "MEMM",
    "MIRA",
    "SDM",
    "Automaton",
    "AutomatonChain",
    "Chain",
    "ChainBatch",
    "Committee",
    "Confidence",
    "ConvergenceWarning",
    "CuttingPlane",
    "DualCoordinate",
    "ExpectationPass",
    "Expectations",
    "ExponentiatedGradient",
    "Forward",
    "ForwardBackward",
    "FrankWolfe",
    "InvalidInput",
    "InvalidModel",
    "LaRank",
    "Labeling",
    "MulticlassClassifier",
    "MulticlassPerceptron",
    "NGramChain",
    "PassiveAggressive",
    "Pegasos",
    "Perceptron",
    "Program",
    "SchemeConstraints",
    "SegmentChain",
    "Segmentation",
    "Semiring",
    "SequenceLabeler",
    "Structure",
    "StructuredPredictor",
    "Subgradient",
    "Templates",
    "TrellisworkError",
    "UncalibratedScores",
    "UnknownAttributes",
    "UnknownParameter",
    "Unsatisfiable",
    "active",
    "beam_search",
    "confidence",
    "corpora",
    "evaluation",
    "forward",
    "forward_backward",
    "load",
    "plots",
    "scheme_constraints",
    "semirings",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"trelliswork.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"trelliswork.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'trelliswork' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
