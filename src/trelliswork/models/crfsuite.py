"""Model files of CRFsuite: read as the tensors and settings of a sequence labeler, and written.

Weights stay in double precision. Attributes are known by their names, so a model of CRFsuite is one of dicts or of
lists of strings; `trelliswork.compat.pycrfsuite.Tagger` is quicker to open it, and reads features as
python-crfsuite does. With templates that give attributes the same names it is one of columns of text.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trelliswork import _core
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.models.channels import described_chain
from trelliswork.models.observations import Unigrams, named_channel
from trelliswork.models.settings import trained_elsewhere

if TYPE_CHECKING:
    from trelliswork.features.templates import Templates

__all__ = ["from_crfsuite", "is_crfsuite", "to_crfsuite"]

_MAGIC = b"lCRF"


def is_crfsuite(data: Any) -> bool:
    """Whether bytes begin as a model file of CRFsuite does.

    Examples
    --------
    >>> is_crfsuite(b"lCRF and more"), is_crfsuite(b"")
    (True, False)
    """
    return bytes(memoryview(data)[: len(_MAGIC)]) == _MAGIC


def from_crfsuite(
    data: Any, name: str = "<model>", templates: Templates | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and the settings of a sequence labeler with the weights of a model file of CRFsuite.

    Parameters
    ----------
    data : bytes-like
        The file.
    name : str
        What messages call it.
    templates : Templates, optional
        Templates that give the attributes of the model, by their names there. The model is then asked for columns of
        text, in place of attributes.

    Raises
    ------
    InvalidModel
        If it is not a model of CRFsuite, or damaged; every offset and number is checked before it is used.
    InvalidInput
        If there is an attribute that none of the templates gives.

    Examples
    --------
    >>> import numpy as np
    >>> arrays = np.array([0, 1], "u4"), np.array([1], "u4"), np.array([0.1]), np.array([0.0, 2.0, 0.0, 0.0])
    >>> data, _, _ = _core.crfsuite_bytes(["D", "N"], ["w:dog"], *arrays)
    >>> tensors, settings = from_crfsuite(data)
    >>> settings["labels"], tensors["channel.token.weights"].tolist(), tensors["channel.transitions.weights"].tolist()
    (['D', 'N'], [0.1], [0.0, 2.0, 0.0, 0.0])

    >>> import trelliswork as tw
    >>> tw.load(data, features=tw.Templates('lower(word) as "w:{}"')).predict([["the", "Dog"]])
    [['D', 'N']]
    """
    import numpy as np

    try:
        file = _core.CrfsuiteTagger(data)
        names, starts, codes, weights = file.weights()
        labels, moves = file.labels(), file.transitions()
    except ValueError as error:
        raise InvalidModel(f"{name}: {error}") from None
    texts = [text.encode("utf-8", "surrogateescape") for text in names]
    keys = np.fromiter((_core.hash_bytes(text) for text in texts), dtype=np.uint64, count=len(texts))
    if len(np.unique(keys)) < len(keys):
        raise InvalidModel(f"{name}: two attributes have the same name.")
    transitions = np.zeros((len(labels), len(labels)))
    for before, after, weight in moves:
        transitions[before, after] = weight
    settings = trained_elsewhere(labels, len(weights) + len(moves), "CRFsuite")
    if templates is not None:
        owners = np.repeat(np.arange(len(names)), (starts[1:] - starts[:-1]).astype(np.int64))
        unigrams = Unigrams(owners, codes.astype(np.int64), weights)
        tensors = named_channel(templates, texts, unigrams, len(labels), name)
        tensors["channel.transitions.weights"] = transitions.ravel()
        settings |= {"features": {"kind": "columns", "n_columns": None}, "templates": templates.to_dict()}
        return tensors, settings | described_chain(tensors, len(labels))
    table, slots = _core.key_table(keys)
    kind = np.uint8 if len(labels) <= 256 else np.uint16
    tensors = {
        "channel.token.keys": table,
        "channel.token.slots": slots,
        "channel.token.starts": starts,
        "channel.token.codes": codes.astype(kind),
        "channel.token.weights": weights,
        "channel.token.names.text": np.frombuffer(b"".join(texts), dtype=np.uint8),
        "channel.token.names.ends": np.cumsum([len(text) for text in texts], dtype=np.uint32),
        "channel.transitions.weights": transitions.ravel(),
    }
    return tensors, settings | described_chain(tensors, len(labels))


def to_crfsuite(tensors: Mapping[str, Any], settings: Mapping[str, Any], name: str = "<model>") -> bytes:
    """Return the model file of CRFsuite that gives the same answers as a sequence labeler.

    Attributes have the names that they have there: those of templates have to be written into the features that
    CRFsuite is given, as ``Templates.attributes`` shows them.

    Parameters
    ----------
    tensors, settings : mappings
        As `trelliswork.models.load` returns them.
    name : str
        What messages call the model.

    Raises
    ------
    InvalidInput
        If the model has what CRFsuite's have not: longer histories, attributes of label pairs, constraints, hashed
        attributes or ones without names.

    Examples
    --------
    >>> import io
    >>> import trelliswork as tw
    >>> labeler = tw.SequenceLabeler().fit([[["w=the"], ["w=dog"]]], [["D", "N"]])
    >>> data = to_crfsuite(*labeler.exported())
    >>> tw.load(data).predict([[["w=the"], ["w=cat"]]])
    [['D', 'N']]
    """
    import numpy as np

    from trelliswork.models.shrinking import weights_of

    lacking = _what_crfsuite_lacks(tensors, settings)
    if lacking:
        raise InvalidInput(f"{name} cannot be a model of CRFsuite, which knows no {lacking}.")
    labels = list(settings["labels"])
    places = [0, *np.asarray(tensors["channel.token.names.ends"]).tolist()]
    text = bytes(np.asarray(tensors["channel.token.names.text"]))
    names = [text[begin:end] for begin, end in itertools.pairwise(places)]
    if any(b"\0" in one for one in names):
        raise InvalidInput(f"{name} has an attribute with a zero in its name, which ends names in CRFsuite.")
    weights = weights_of(tensors, "channel.token").astype(np.float64)
    moves = np.asarray(tensors["channel.transitions.weights"]).astype(np.float64)
    temperature = (settings.get("calibration") or {}).get("temperature", 1.0)
    data, _, _ = _core.crfsuite_bytes(
        labels,
        names,
        np.asarray(tensors["channel.token.starts"]).astype(np.uint32),
        np.asarray(tensors["channel.token.codes"]).astype(np.uint32),
        weights / temperature,
        moves / temperature,
    )
    return data


def _what_crfsuite_lacks(tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> str | None:
    found = {
        "models of this kind": settings.get("kind") != "sequence-labeler",
        "longer histories of labels": settings.get("structure"),
        "models that are normalised step by step": settings.get("normalised"),
        "hashed attributes": settings.get("hash_bits"),
        "attributes of label pairs": "channel.pair.starts" in tensors,
        "constraints": "allowed.transitions" in tensors,
        "tag dictionaries": "dictionary.keys" in tensors,
        "labels that share parts": "parts.codes" in tensors,
        "attributes without names": len(tensors.get("channel.token.names.ends", ()))
        != len(tensors.get("channel.token.starts", (0,))) - 1,
    }
    return next((what for what, there in found.items() if there), None)
