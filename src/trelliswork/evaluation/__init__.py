"""How good an answer is: exact spans as conlleval counts them, tokens, confusions, and how far to trust a marginal.

Every function takes lists of label sequences, counts in one pass and returns a small result with the counts inside, a
text form (`str`) and a form for JSON (`as_dict`). Importing this package needs NumPy and nothing else.
"""

from trelliswork.evaluation.confusions import Confusion, confusion_table
from trelliswork.evaluation.error_detection import ErrorDetection, error_detection
from trelliswork.evaluation.reliability import Calibration, calibration
from trelliswork.evaluation.scores import Score
from trelliswork.evaluation.spans import SpanScores, span_scores
from trelliswork.evaluation.summary import Evaluation, evaluate, report
from trelliswork.evaluation.tokens import TokenScores, token_scores

__all__ = [
    "Calibration",
    "Confusion",
    "ErrorDetection",
    "Evaluation",
    "Score",
    "SpanScores",
    "TokenScores",
    "calibration",
    "confusion_table",
    "error_detection",
    "evaluate",
    "report",
    "span_scores",
    "token_scores",
]
