"""Model files on disk: saved whole or not at all, mapped into memory when loaded."""

from __future__ import annotations

import mmap as mapping
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, NamedTuple, TypeAlias

from trelliswork import _core
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.models.format import Tensors, dumps, loads, read_model
from trelliswork.models.settings import labels_of

__all__ = ["OpenModel", "contents", "load", "members_of", "open_model", "opened", "save"]

Path: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Path | IO[bytes] | bytes | bytearray | memoryview


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


def load(source: Source, mmap: bool = True) -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors and the settings of a model file.

    Parameters
    ----------
    source : path, binary file or bytes
        What is no file on disk (a pipe, a device, an open file) is read once, as far as its header says, and at most
        4 GiB of it.
    mmap : bool
        Whether a file under a path is mapped into memory: then it is not copied, processes that load the same file
        share it, and it must not be overwritten or cut off in place as long as the tensors are used (`save` never does
        that). If False, it is read, and may then change or go.

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
    >>> _ = save(file, {"channel.token.names.text": b"abc"}, {"kind": "example"})
    >>> tensors, settings = load(file.getvalue())
    >>> bytes(tensors["channel.token.names.text"]), settings
    (b'abc', {'kind': 'example'})
    """
    return loads(*contents(source, mmap))


def contents(source: Source, mmap: bool = True) -> tuple[Any, str]:
    """Return the bytes of a model file, mapped or read, and what messages call it; arguments are as for `load`.

    Examples
    --------
    >>> contents(b"abc")
    (b'abc', '<model>')
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return source, "<model>"
    if isinstance(source, str | os.PathLike):
        return _of_path(source, mmap), os.fspath(source)
    if not hasattr(source, "read"):
        raise InvalidInput(f"expected a path, a binary file or bytes to load from, found {source!r}.")
    name = _name_of(source)
    return read_model(source.read, name), name


class OpenModel(NamedTuple):
    """A model ready to tag, and what its file says of it."""

    model: _core.Model
    labels: list[str]
    settings: dict[str, Any]


def open_model(source: Source, expand: str = "auto", mmap: bool = True) -> OpenModel:
    """Return the model in a file, checked, with its labels and settings.

    Parameters
    ----------
    source, mmap
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
    >>> tensors = {"channel.token.keys": array("Q", [0]), "channel.token.slots": array("I", [2**32 - 1])}
    >>> tensors |= {"channel.token.starts": array("I", [0]), "channel.token.codes": b""}
    >>> tensors["channel.token.weights"] = array("f")
    >>> tensors["channel.transitions.weights"] = array("f", [0, 0, 0, 0])
    >>> opened = open_model(dumps(tensors, {"labels": ["A", "B"]}))
    >>> opened.labels, opened.model.n_attributes
    (['A', 'B'], 0)
    """
    if expand not in ("auto", "now", "never"):
        raise InvalidInput(f"expand must be 'auto', 'now' or 'never', found {expand!r}.")
    data, name = contents(source, mmap)
    return opened(*loads(data, name), name, expand)


def opened(tensors: dict[str, Any], settings: dict[str, Any], name: str, expand: str = "auto") -> OpenModel:
    """Return the model of what `load` returned, checked; ``name`` is what messages call its file."""
    structure = (settings.get("structure") or {}).get("name")
    if structure is not None:
        raise InvalidModel(f"{name}: this is a model of {structure}, which trelliswork.load opens.")
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
    >>> members_of({"first.channel.transitions.weights": b"abcd"}, {"members": {"first": {"labels": ["A"]}}})
    {'first': ({'channel.transitions.weights': b'abcd'}, {'labels': ['A']})}
    """
    members: Mapping[str, dict[str, Any]] = settings.get("members") or {}
    return {
        name: ({key[len(name) + 1 :]: part for key, part in tensors.items() if key.startswith(f"{name}.")}, own)
        for name, own in members.items()
    }


def _of_path(path: Path, mmap: bool) -> mapping.mmap | bytearray:
    with open(path, "rb") as file:
        on_disk = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        if on_disk and mmap:
            with suppress(ValueError, OSError):  # an empty file, or a file system that cannot
                return mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ)
        return read_model(file.read, os.fspath(path), bounded=not on_disk)


def _name_of(file: Any) -> str:
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else "<model>"
