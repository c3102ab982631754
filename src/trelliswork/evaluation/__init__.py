"""How good an answer is, and how sure one can be: scores, tests of differences, cross-validation.

========================  ================================================================================
scores                    `span_scores` (conlleval's), `token_scores`, `confusion_table`, `evaluate`, `report`
trust in a model's trust  `calibration` of marginals, `error_detection` by any confidence
tests of a difference     `mcnemar`, `McNemarTable`, `paired_bootstrap`
model selection           `cross_validate`, `nested_cross_validate`, `validate`, `learning_curve`, `k_folds`
outliers on purpose       `with_outliers`
========================  ================================================================================

Functions on labels take lists of label sequences, count in one pass and return a small result with the counts inside, a
text form (`str`) and a form for JSON (`as_dict`). Importing this package needs NumPy and nothing else; what trains
estimators is loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trelliswork.evaluation.confusions import Confusion, confusion_table
from trelliswork.evaluation.error_detection import ErrorDetection, error_detection
from trelliswork.evaluation.mcnemar import McNemar, McNemarTable, mcnemar  # not lazy: a module has the same name
from trelliswork.evaluation.reliability import Calibration, calibration
from trelliswork.evaluation.scores import Score
from trelliswork.evaluation.spans import SpanScores, span_scores
from trelliswork.evaluation.summary import Evaluation, evaluate, report
from trelliswork.evaluation.tokens import TokenScores, token_scores

if TYPE_CHECKING:
    from trelliswork.evaluation.bootstrap import PairedBootstrap, paired_bootstrap
    from trelliswork.evaluation.cross_validation import cross_validate, nested_cross_validate, validate
    from trelliswork.evaluation.folds import Split, k_folds
    from trelliswork.evaluation.learning_curves import learning_curve
    from trelliswork.evaluation.noise import NoisyLabels, with_outliers
    from trelliswork.evaluation.results import Candidate, CrossValidation, NestedCrossValidation

# Public name -> module of this package that defines it; loaded when first used.
_HOME = {
    "Candidate": "results",
    "CrossValidation": "results",
    "NestedCrossValidation": "results",
    "NoisyLabels": "noise",
    "PairedBootstrap": "bootstrap",
    "Split": "folds",
    "cross_validate": "cross_validation",
    "k_folds": "folds",
    "learning_curve": "learning_curves",
    "nested_cross_validate": "cross_validation",
    "paired_bootstrap": "bootstrap",
    "validate": "cross_validation",
    "with_outliers": "noise",
}

__all__ = [
    "Calibration",
    "Candidate",
    "Confusion",
    "CrossValidation",
    "ErrorDetection",
    "Evaluation",
    "McNemar",
    "McNemarTable",
    "NestedCrossValidation",
    "NoisyLabels",
    "PairedBootstrap",
    "Score",
    "SpanScores",
    "Split",
    "TokenScores",
    "calibration",
    "confusion_table",
    "cross_validate",
    "error_detection",
    "evaluate",
    "k_folds",
    "learning_curve",
    "mcnemar",
    "nested_cross_validate",
    "paired_bootstrap",
    "report",
    "span_scores",
    "token_scores",
    "validate",
    "with_outliers",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'trelliswork.evaluation' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"trelliswork.evaluation.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
