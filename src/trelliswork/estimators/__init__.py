"""What a person uses: `fit`, `predict` and questions about the answer, behind the scikit-learn conventions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trelliswork.estimators.committee.committee import Committee
    from trelliswork.estimators.hmm.hmm import HMM
    from trelliswork.estimators.loading import load
    from trelliswork.estimators.sequence_labeler import SequenceLabeler

# Loaded when first used.
_HOME = {"Committee": "committee.committee", "HMM": "hmm.hmm", "SequenceLabeler": "sequence_labeler", "load": "loading"}

__all__ = ["HMM", "Committee", "SequenceLabeler", "load"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'trelliswork.estimators' has no attribute {name!r}")
    return getattr(importlib.import_module(f"trelliswork.estimators.{_HOME[name]}"), name)
