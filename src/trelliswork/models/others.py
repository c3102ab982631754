"""Model files of other programs: known by how they begin, and written by how a name ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from trelliswork.errors import InvalidInput
from trelliswork.models.crfpp import from_crfpp, is_crfpp, to_crfpp
from trelliswork.models.crfsuite import from_crfsuite, is_crfsuite, to_crfsuite
from trelliswork.models.format import loads
from trelliswork.models.wapiti import from_wapiti, is_wapiti, to_wapiti

if TYPE_CHECKING:
    from trelliswork.features.templates import Templates

__all__ = ["is_of_others", "loads_any", "writer_for"]

Reader: TypeAlias = Callable[[Any, str], tuple[dict[str, Any], dict[str, Any]]]
Writer: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any], str], bytes]

_READERS: tuple[tuple[Callable[[Any], bool], Reader], ...] = (
    (is_crfsuite, from_crfsuite),
    (is_wapiti, from_wapiti),
    (is_crfpp, from_crfpp),
)
_WRITERS: dict[str, Writer] = {".crfsuite": to_crfsuite, ".wapiti": to_wapiti, ".crfpp": to_crfpp}


def is_of_others(data: Any) -> bool:
    """Whether bytes begin as a model file of CRFsuite, Wapiti or CRF++ (text) does.

    Examples
    --------
    >>> is_of_others(b"#mdl#2#1900"), is_of_others(b"lCRF"), is_of_others(b"")
    (True, True, False)
    """
    return any(begins(data) for begins, _ in _READERS)


def loads_any(
    data: Any, name: str = "<model>", templates: Templates | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and the settings of a model file, of this library or of another program.

    Parameters
    ----------
    data : bytes-like
        The whole file.
    name : str
        What messages call it.
    templates : Templates, optional
        Templates that give the attributes of a model of CRFsuite, as `from_crfsuite` takes them.

    Raises
    ------
    InvalidModel
        If the data are cut off, damaged, or of no kind that is known.
    InvalidInput
        If there are templates, and the model is not CRFsuite's.
    """
    if templates is not None and not is_crfsuite(data):
        raise InvalidInput(f"{name} has templates of its own; models of CRFsuite alone are given some.")
    if templates is not None:
        return from_crfsuite(data, name, templates)
    for begins, read in _READERS:
        if begins(data):
            return read(data, name)
    return loads(data, name)


def writer_for(path: str) -> Writer | None:
    """Return what makes a model file for a path that ends in .crfsuite, .wapiti or .crfpp; else None.

    Examples
    --------
    >>> writer_for("chunks.wapiti").__name__, writer_for("chunks.tw")
    ('to_wapiti', None)
    """
    return next((write for ending, write in _WRITERS.items() if path.endswith(ending)), None)
