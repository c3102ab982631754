"""What a person uses: `fit`, `predict` and questions about the answer, behind the scikit-learn conventions."""

from trelliswork.estimators.hmm import HMM

__all__ = ["HMM"]
