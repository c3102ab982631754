"""Pictures. matplotlib is imported only when one is drawn."""

from trelliswork.plots.graphs import factor_graph
from trelliswork.plots.grids import label_pictures
from trelliswork.plots.pairs import pairs
from trelliswork.plots.score_curves import Curve, score_curves
from trelliswork.plots.trees import arcs, arcs_svg, tree, tree_svg
from trelliswork.plots.trellis import trellis
from trelliswork.plots.viterbi import decoding_cost, viterbi_scores

__all__ = [
    "Curve",
    "arcs",
    "arcs_svg",
    "decoding_cost",
    "factor_graph",
    "label_pictures",
    "pairs",
    "score_curves",
    "tree",
    "tree_svg",
    "trellis",
    "viterbi_scores",
]
