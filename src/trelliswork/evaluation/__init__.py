"""Evaluation: scores, tests of differences, cross-validation.

========================  ================================================================================
scores of trees           `bracket_scores` (evalb's)
scores                    `span_scores` (conlleval's), `token_scores`, `confusion_table`, `evaluate`, `report`
images                    `map_scores`: accuracy of cells, intersection over union
trees                     `dependency_scores` (UAS, LAS); `attachments`, for the tests below
confidence                `calibration` of marginals, `error_detection` by any confidence
tests of a difference     `mcnemar`, `McNemarTable`, `paired_bootstrap`, `bootstrap_of_counts`
model selection           `cross_validate`, `nested_cross_validate`, `validate`, `learning_curve`, `k_folds`
artificial outliers       `with_outliers`
========================  ================================================================================

Functions on labels take lists of label sequences, count in one pass and return a small result with its counts, a text
form (`str`) and a form for JSON (`as_dict`). Importing this package needs only NumPy; modules that train estimators are
loaded at their first use.
"""

from trelliswork.evaluation.error_detection import error_detection as error_detection  # not lazy: named as its module
from trelliswork.evaluation.mcnemar import mcnemar as mcnemar  # the same
from trelliswork.lazy import attach

# Module -> the public names that it defines, loaded when first used.
_HOMES = {
    "evaluation.bootstrap": ("PairedBootstrap", "bootstrap_of_counts", "paired_bootstrap"),
    "evaluation.brackets": ("BracketScores", "bracket_scores"),
    "evaluation.confusions": ("Confusion", "confusion_table"),
    "evaluation.cross_validation": ("cross_validate", "nested_cross_validate", "validate"),
    "evaluation.dependencies": ("AttachmentScores", "DependencyScores", "attachments", "dependency_scores"),
    "evaluation.error_detection": ("ErrorDetection", "error_detection"),
    "evaluation.folds": ("Split", "k_folds"),
    "evaluation.learning_curves": ("learning_curve",),
    "evaluation.label_maps": ("MapScores", "map_scores"),
    "evaluation.mcnemar": ("McNemar", "McNemarTable", "mcnemar"),
    "evaluation.noise": ("NoisyLabels", "with_outliers"),
    "evaluation.reliability": ("Calibration", "calibration"),
    "evaluation.results": ("Candidate", "CrossValidation", "NestedCrossValidation"),
    "evaluation.scores": ("Score",),
    "evaluation.spans": ("SpanScores", "span_scores"),
    "evaluation.summary": ("Evaluation", "evaluate", "report"),
    "evaluation.tokens": ("TokenScores", "token_scores"),
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
