"""What a person uses: `fit`, `predict` and questions about the answer, behind the scikit-learn conventions."""

from trelliswork.estimators.hmm import HMM
from trelliswork.estimators.sequence_labeler import SequenceLabeler, load

__all__ = ["HMM", "SequenceLabeler", "load"]
