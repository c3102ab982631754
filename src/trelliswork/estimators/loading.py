"""Loading of model files as estimators."""

from __future__ import annotations

from typing import Any

from trelliswork import models
from trelliswork.features.templates import Templates
from trelliswork.models.registry import register, restored

__all__ = ["load", "restored"]

for _kind, _home in {
    "aligner": "aligner:Aligner",
    "sequence-labeler": "sequence_labeler:SequenceLabeler",
    "segment-labeler": "segment_labeler:SegmentLabeler",
    "constituency-parser": "constituency_parser:ConstituencyParser",
    "dependency-parser": "dependency_parser:DependencyParser",
    "graph-labeler": "graph_labeler:GraphLabeler",
    "image-segmenter": "image_segmenter:ImageSegmenter",
    "committee": "committee.committee:Committee",
    "hmm": "hmm.hmm:HMM",
    "multiclass-classifier": "multiclass.classifier:MulticlassClassifier",
    "multiclass-perceptron": "multiclass.perceptron:MulticlassPerceptron",
    "structured-predictor": "structured:StructuredPredictor",
}.items():
    register(_kind, f"trelliswork.estimators.{_home}")


def load(
    path: Any, mmap: bool = True, *, structure: Any = None, segment_features: Any = None, features: Any = None
) -> Any:
    """Return the model in a file, ready to predict.

    Parameters
    ----------
    path : path, binary file or bytes
        A file written by ``save``, or a model file of CRFsuite, Wapiti or CRF++ (text).
    mmap : bool, default True
        Whether to map the file into memory, which takes no time and shares memory between processes. Pass False if
        another program may overwrite or truncate the file in place; ``save`` replaces it, which is safe.
    structure : Structure, optional
        The structure with which a `StructuredPredictor` was trained; model files do not hold code.
    segment_features : callable, optional
        The function with which a `SegmentLabeler` was trained, for the same reason.
    features : callable or Templates, optional
        The function with which an `Aligner` was trained. Or `Templates` for a CRFsuite model: they generate its
        attributes, by name, so that it takes words instead of attributes.

    Returns
    -------
    SequenceLabeler, SegmentLabeler, DependencyParser, Committee, HMM, ...
        The saved estimator.

    Raises
    ------
    InvalidModel
        If the file is truncated, damaged, not a model of this library, or a model of an unknown kind.

    Examples
    --------
    >>> import io
    >>> import trelliswork as tw
    >>> file = io.BytesIO()
    >>> tw.SequenceLabeler().fit([["the", "dog"]], [["D", "N"]]).save(file)
    >>> tw.load(file.getvalue()).classes_.tolist()
    ['D', 'N']
    """
    data, name = models.contents(path, mmap)
    templates = features if isinstance(features, Templates) else None
    tensors, settings = models.loads_any(data, name, templates)
    function = features if templates is None else None
    given = {"structure": structure, "segment_features": segment_features, "features": function}
    return restored(tensors, settings, name, **given)
