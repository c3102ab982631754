"""Pictures. matplotlib is imported only when one is drawn."""

from trelliswork.plots.score_curves import Curve, score_curves
from trelliswork.plots.trellis import trellis

__all__ = ["Curve", "score_curves", "trellis"]
