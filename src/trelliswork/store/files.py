"""Model files on disk: saved whole or not at all, mapped into memory when loaded."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import IO, Any, NamedTuple, TypeAlias

from trelliswork import _core
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.store.format import Tensors, dumps, loads

__all__ = ["OpenModel", "labels_of", "load", "members_of", "open_model", "opened", "save"]

Path: TypeAlias = str | os.PathLike[str]


def save(target: Path | IO[bytes], tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> int:
    """Write a model file and return its size in bytes.

    Parameters
    ----------
    target : path or binary file
        Under a path, a temporary file beside it takes its place when all is written: a full disk or an interrupt
        leaves what was there before, and nothing else.
    tensors, settings
        As for `dumps`.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = save(os.path.join(folder, "model"), {}, {"kind": "example"})
    ...     size == os.path.getsize(os.path.join(folder, "model")), os.listdir(folder)
    (True, ['model'])
    """
    data = dumps(tensors, settings)
    if not isinstance(target, str | os.PathLike):
        if not hasattr(target, "write"):
            raise InvalidInput(f"expected a path or a binary file to save to, found {target!r}.")
        target.write(data)
        return len(data)
    from trelliswork.atomic_files import replacing  # here: loading must not wait for it

    with replacing(os.fspath(target)) as file:
        file.write(data)
    return len(data)


def load(source: Path | IO[bytes] | bytes | bytearray | memoryview) -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors and the settings of a model file.

    Parameters
    ----------
    source : path, binary file or bytes
        A file under a path is mapped into memory: it is not copied, processes that load the same file share it, and it
        must not be overwritten in place as long as the tensors are used (`save` never does that).

    Returns
    -------
    tensors : dict of str to memoryview
        ``numpy.asarray`` makes arrays of them without copying.
    settings : dict

    Raises
    ------
    InvalidModel
        If the file is cut off, damaged, of another kind, or of a later version of the format.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> _ = save(file, {"names.text": b"abc"}, {"kind": "example"})
    >>> tensors, settings = load(file.getvalue())
    >>> bytes(tensors["names.text"]), settings
    (b'abc', {'kind': 'example'})
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return loads(source)
    if isinstance(source, str | os.PathLike):
        return loads(_mapped(source), os.fspath(source))
    if not hasattr(source, "read"):
        raise InvalidInput(f"expected a path, a binary file or bytes to load from, found {source!r}.")
    data = source.read()
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidInput(f"a model file is binary: open {_name_of(source)} with mode 'rb'.")
    return loads(data, _name_of(source))


class OpenModel(NamedTuple):
    """A model ready to tag, and what its file says of it."""

    model: _core.Model
    labels: list[str]
    settings: dict[str, Any]


def open_model(source: Path | IO[bytes] | bytes | bytearray | memoryview, expand: str = "auto") -> OpenModel:
    """Return the model in a file, checked, with its labels and settings.

    Parameters
    ----------
    source
        As for `load`.
    expand : {"auto", "now", "never"}
        When to copy the weights into a form that tags several times faster and takes memory of its own: after some
        thousands of tokens, at once, or never.

    Raises
    ------
    InvalidModel
        If the file is no sound model: every size, offset, label and number in it is checked before any is used.

    Examples
    --------
    >>> from array import array
    >>> tensors = {"attribute.keys": array("Q", [0]), "attribute.slots": array("I", [2**32 - 1])}
    >>> tensors |= {"attribute.starts": array("I", [0]), "attribute.labels": b"", "attribute.weights": array("f")}
    >>> tensors["transitions"] = array("f", [0, 0, 0, 0])
    >>> opened = open_model(dumps(tensors, {"labels": ["A", "B"]}))
    >>> opened.labels, opened.model.n_attributes
    (['A', 'B'], 0)
    """
    if expand not in ("auto", "now", "never"):
        raise InvalidInput(f"expand must be 'auto', 'now' or 'never', found {expand!r}.")
    name = source if isinstance(source, str) else os.fspath(source) if isinstance(source, os.PathLike) else "<model>"
    return opened(*load(source), name, expand)


def opened(tensors: dict[str, Any], settings: dict[str, Any], name: str, expand: str = "auto") -> OpenModel:
    """Return the model of what `load` returned, checked; ``name`` is what messages call its file."""
    try:
        labels, hash_bits = labels_of(settings)
    except ValueError as error:
        raise InvalidModel(f"{name}: {error}. Save the model again.") from None
    try:
        model = _core.Model(tensors, len(labels), hash_bits, expand)
    except ValueError as error:
        raise InvalidModel(f"{name}: this is no sound model: {error}. Copy or save it again.") from error
    return OpenModel(model, labels, settings)


def members_of(
    tensors: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the tensors and the settings of the models that a file holds side by side; nothing for a single model.

    Examples
    --------
    >>> members_of({"first.transitions": b"abcd"}, {"members": {"first": {"labels": ["A"]}}})
    {'first': ({'transitions': b'abcd'}, {'labels': ['A']})}
    """
    members: Mapping[str, dict[str, Any]] = settings.get("members") or {}
    return {
        name: ({key[len(name) + 1 :]: part for key, part in tensors.items() if key.startswith(f"{name}.")}, own)
        for name, own in members.items()
    }


def labels_of(settings: Mapping[str, Any]) -> tuple[list[str], int]:
    """Return the labels and the bits of hashing that the settings of a file name, or raise `ValueError`.

    Examples
    --------
    >>> labels_of({"labels": ["A", "B"]})
    (['A', 'B'], 0)
    """
    labels, hash_bits = settings.get("labels"), settings.get("hash_bits") or 0
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        raise ValueError("the settings name no labels")
    if len(set(labels)) != len(labels) or any("\ud800" <= c <= "\udfff" for label in labels for c in label):
        raise ValueError("the settings name a label twice, or one that is no text")
    if type(hash_bits) is not int or not 0 <= hash_bits <= 31:
        raise ValueError(f"hash_bits is {hash_bits!r}, and must be 0 to 31")
    return labels, hash_bits


def _mapped(path: Path) -> mmap.mmap | bytes:
    with open(path, "rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (ValueError, OSError):  # an empty file, or one that is no file: a pipe, a device
            return file.read()


def _name_of(file: Any) -> str:
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else "<model>"
