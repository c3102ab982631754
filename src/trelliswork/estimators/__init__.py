"""Estimators: `fit`, `predict` and questions about the answers, by the conventions of scikit-learn."""

from trelliswork.lazy import attach

# Module -> the public names that it defines, loaded when first used.
_HOMES = {
    "estimators.aligner": ("Aligner",),
    "estimators.committee.committee": ("Committee",),
    "estimators.constituency_parser": ("ConstituencyParser",),
    "estimators.dependency_parser": ("DependencyParser",),
    "estimators.graph_labeler": ("GraphLabeler",),
    "estimators.hmm.hmm": ("HMM",),
    "estimators.image_segmenter": ("ImageSegmenter",),
    "estimators.loading": ("load",),
    "estimators.multiclass.classifier": ("MulticlassClassifier",),
    "estimators.multiclass.perceptron": ("MulticlassPerceptron",),
    "estimators.segment_labeler": ("SegmentLabeler",),
    "estimators.sequence_labeler": ("SequenceLabeler",),
    "estimators.structured": ("StructuredPredictor",),
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
