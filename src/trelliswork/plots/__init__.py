"""Pictures. matplotlib is imported only when one is drawn."""

from trelliswork.plots.score_curves import Curve, score_curves
from trelliswork.plots.trellis import trellis
from trelliswork.plots.viterbi import decoding_cost, viterbi_scores

__all__ = ["Curve", "decoding_cost", "score_curves", "trellis", "viterbi_scores"]
