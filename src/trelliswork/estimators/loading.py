"""Model files as estimators: which class a file asks for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from trelliswork import models
from trelliswork.errors import InvalidModel

__all__ = ["load", "restored"]

# The kind that a file names -> the class of its model, by module and name: imported when a file asks for it.
_KINDS = {
    "sequence-labeler": "sequence_labeler.SequenceLabeler",
    "committee": "committee.committee.Committee",
}


def load(path: Any, mmap: bool = True) -> Any:
    """Return the model in a file, ready to predict.

    Parameters
    ----------
    path : path, binary file or bytes
        What ``save`` wrote.
    mmap : bool, default True
        Whether to map a file into memory, which takes no time and is shared by all processes that do. A file that
        another program may overwrite or cut off in place, rather than replace as ``save`` does, must be read instead:
        pass False.

    Returns
    -------
    SequenceLabeler or Committee
        What was saved.

    Raises
    ------
    InvalidModel
        If the file is cut off, damaged, or no model of this library.

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
    return restored(*models.loads(data, name), name)


def restored(tensors: Mapping[str, Any], settings: Mapping[str, Any], name: str) -> Any:
    """Return the model of what `models.loads` returned, checked; ``name`` is what messages call its file."""
    try:
        return _restored(tensors, settings)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise InvalidModel(f"{name}: this is no sound model: {said[:200].rstrip('.')}. Save it again.") from error


def _restored(tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    kind = settings.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"the file has a model of the kind {kind!r}")
    module, _, name = _KINDS[kind].rpartition(".")
    home = getattr(importlib.import_module(f"trelliswork.estimators.{module}"), name)
    return home.restored(tensors, settings, _restored)
