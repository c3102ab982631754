"""Model files as estimators: the kinds that this library has, and `load`."""

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
        What ``save`` wrote, or a model file of CRFsuite, Wapiti or CRF++ (text).
    mmap : bool, default True
        Whether to map a file into memory, which takes no time and is shared by all processes that do. A file that
        another program may overwrite or cut off in place, rather than replace as ``save`` does, must be read instead:
        pass False.
    structure : Structure, optional
        What a `StructuredPredictor` was trained with: it is code, which no model file holds.
    segment_features : callable, optional
        Likewise what a `SegmentLabeler` was trained with.
    features : callable or Templates, optional
        Likewise the function that an `Aligner` was trained with. Or `Templates` for a model of CRFsuite, which holds
        none: they give its attributes, by their names, so that it is asked for words and not for attributes.

    Returns
    -------
    SequenceLabeler, SegmentLabeler, DependencyParser, Committee, HMM, ...
        What was saved.

    Raises
    ------
    InvalidModel
        If the file is cut off, damaged, no model of this library, or one of a kind that is not known.

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
