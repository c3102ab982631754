"""Pictures. matplotlib is imported only when one is drawn."""

from trelliswork.plots.trellis import trellis

__all__ = ["trellis"]
