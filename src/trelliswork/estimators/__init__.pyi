# Written by `make stubs` from __init__.py.
from trelliswork.estimators.aligner import Aligner as Aligner
from trelliswork.estimators.committee.committee import Committee as Committee
from trelliswork.estimators.constituency_parser import ConstituencyParser as ConstituencyParser
from trelliswork.estimators.dependency_parser import DependencyParser as DependencyParser
from trelliswork.estimators.graph_labeler import GraphLabeler as GraphLabeler
from trelliswork.estimators.hmm.hmm import HMM as HMM
from trelliswork.estimators.image_segmenter import ImageSegmenter as ImageSegmenter
from trelliswork.estimators.loading import load as load
from trelliswork.estimators.multiclass.classifier import MulticlassClassifier as MulticlassClassifier
from trelliswork.estimators.multiclass.perceptron import MulticlassPerceptron as MulticlassPerceptron
from trelliswork.estimators.segment_labeler import SegmentLabeler as SegmentLabeler
from trelliswork.estimators.sequence_labeler import SequenceLabeler as SequenceLabeler
from trelliswork.estimators.structured import StructuredPredictor as StructuredPredictor

__all__ = ["Aligner", "Committee", "ConstituencyParser", "DependencyParser", "GraphLabeler", "HMM", "ImageSegmenter", "MulticlassClassifier", "MulticlassPerceptron", "SegmentLabeler", "SequenceLabeler", "StructuredPredictor", "load"]
