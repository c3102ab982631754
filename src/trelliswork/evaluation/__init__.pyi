# Written by `make stubs` from __init__.py.
from trelliswork.evaluation.bootstrap import PairedBootstrap as PairedBootstrap
from trelliswork.evaluation.bootstrap import bootstrap_of_counts as bootstrap_of_counts
from trelliswork.evaluation.bootstrap import paired_bootstrap as paired_bootstrap
from trelliswork.evaluation.brackets import BracketScores as BracketScores
from trelliswork.evaluation.brackets import bracket_scores as bracket_scores
from trelliswork.evaluation.confusions import Confusion as Confusion
from trelliswork.evaluation.confusions import confusion_table as confusion_table
from trelliswork.evaluation.cross_validation import cross_validate as cross_validate
from trelliswork.evaluation.cross_validation import nested_cross_validate as nested_cross_validate
from trelliswork.evaluation.cross_validation import validate as validate
from trelliswork.evaluation.error_detection import ErrorDetection as ErrorDetection
from trelliswork.evaluation.error_detection import error_detection as error_detection
from trelliswork.evaluation.folds import Split as Split
from trelliswork.evaluation.folds import k_folds as k_folds
from trelliswork.evaluation.learning_curves import learning_curve as learning_curve
from trelliswork.evaluation.mcnemar import McNemar as McNemar
from trelliswork.evaluation.mcnemar import McNemarTable as McNemarTable
from trelliswork.evaluation.mcnemar import mcnemar as mcnemar
from trelliswork.evaluation.noise import NoisyLabels as NoisyLabels
from trelliswork.evaluation.noise import with_outliers as with_outliers
from trelliswork.evaluation.reliability import Calibration as Calibration
from trelliswork.evaluation.reliability import calibration as calibration
from trelliswork.evaluation.results import Candidate as Candidate
from trelliswork.evaluation.results import CrossValidation as CrossValidation
from trelliswork.evaluation.results import NestedCrossValidation as NestedCrossValidation
from trelliswork.evaluation.scores import Score as Score
from trelliswork.evaluation.spans import SpanScores as SpanScores
from trelliswork.evaluation.spans import span_scores as span_scores
from trelliswork.evaluation.summary import Evaluation as Evaluation
from trelliswork.evaluation.summary import evaluate as evaluate
from trelliswork.evaluation.summary import report as report
from trelliswork.evaluation.tokens import TokenScores as TokenScores
from trelliswork.evaluation.tokens import token_scores as token_scores

__all__ = ["BracketScores", "Calibration", "Candidate", "Confusion", "CrossValidation", "ErrorDetection", "Evaluation", "McNemar", "McNemarTable", "NestedCrossValidation", "NoisyLabels", "PairedBootstrap", "Score", "SpanScores", "Split", "TokenScores", "bootstrap_of_counts", "bracket_scores", "calibration", "confusion_table", "cross_validate", "error_detection", "evaluate", "k_folds", "learning_curve", "mcnemar", "nested_cross_validate", "paired_bootstrap", "report", "span_scores", "token_scores", "validate", "with_outliers"]
