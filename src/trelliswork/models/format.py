"""The bytes of a model file: the safetensors layout, with settings, a version and a checksum.

Eight bytes that say how long the header is, the header (JSON: names, types, shapes and places of the tensors), the
tensors one after the other. Written and read here, in a few lines and without NumPy, so that a model loads at once; the
safetensors package reads the same files. Nothing of a file is believed: whatever does not fit raises `InvalidModel`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from trelliswork import _core
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.models.channels import upgraded
from trelliswork.models.settings import check_settings

__all__ = ["FORMAT_VERSION", "Tensors", "dumps", "loads", "read_model"]

FORMAT_VERSION = 2

Tensors: TypeAlias = dict[str, "memoryview[Any]"]

# Name in the header -> format of the struct module, bytes per entry.
_TYPES = {
    "F64": ("d", 8),
    "U64": ("Q", 8),
    "U32": ("I", 4),
    "F32": ("f", 4),
    "U16": ("H", 2),
    "F16": ("H", 2),  # as bits: a memoryview of Python 3.11 knows no halves
    "U8": ("B", 1),
    "I8": ("b", 1),
}
_CHECKSUM = "checksum"  # the last tensor: of all bytes before it
_CHECKSUM_SIZE = 8
_LARGEST_HEADER = 100_000_000  # as the safetensors package has it
_LARGEST_STREAM = 1 << 32  # of a model whose size nobody knows before it ends
_CHUNK = 1 << 20
_OTHERS = (b"lCRF", b"#mdl#", b"version:")  # how models of CRFsuite, Wapiti and CRF++ begin: they end where they end
_MOST_DIMENSIONS = 8
_LONGEST_DIMENSION = 1 << 48


def dumps(tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> bytes:
    """Return a model file as bytes; the same tensors and settings give the same bytes.

    Parameters
    ----------
    tensors : mapping of str to buffers
        NumPy arrays, memoryviews or bytes; contiguous, of unsigned integers, int8, float16, float32 or float64.
    settings : mapping
        Whatever JSON can hold.

    Examples
    --------
    >>> from array import array
    >>> data = dumps({"channel.move.weights": array("f", [0.5, -0.5])}, {"kind": "example", "labels": ["A", "B"]})
    >>> tensors, settings = loads(data)
    >>> tensors["channel.move.weights"].tolist(), settings["labels"]
    ([0.5, -0.5], ['A', 'B'])
    """
    parts = _in_order(tensors)
    header: dict[str, Any] = {"__metadata__": _metadata(settings)}
    place = 0
    for name, dtype, view in parts:
        header[name] = {"dtype": dtype, "shape": list(view.shape or ()), "data_offsets": [place, place + view.nbytes]}
        place += view.nbytes
    header[_CHECKSUM] = {
        "dtype": "U8",
        "shape": [_CHECKSUM_SIZE],
        "data_offsets": [place, place + _CHECKSUM_SIZE],
    }
    try:
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"settings or names of tensors are no Unicode text: {error}.") from error
    text += b" " * (-len(text) % 8)  # the tensors begin on a multiple of 8
    if len(text) > _LARGEST_HEADER:
        raise InvalidInput(f"settings take {len(text)} bytes; a model file has room for {_LARGEST_HEADER}.")
    out = bytearray(len(text).to_bytes(8, "little"))
    out += text
    for _, _, view in parts:
        out += view.cast("B") if view.nbytes else b""
    out += _core.checksum(out).to_bytes(_CHECKSUM_SIZE, "little")
    return bytes(out)


def loads(data: Any, name: str = "<model>") -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors and the settings of a model file that is in memory.

    Parameters
    ----------
    data : bytes-like
        The whole file; the tensors are views into it. Weights in float16 come as the bits of them, with the format
        ``"H"``.
    name : str
        What messages call it.

    Raises
    ------
    InvalidModel
        If the data are cut off, damaged, of another kind, or of a later version of the format.

    Examples
    --------
    >>> data = dumps({}, {"kind": "example"})
    >>> try:
    ...     loads(data[:-1])
    ... except InvalidModel as error:
    ...     print(error)
    <model>: the file is cut off: there are 7 bytes of tensors, where its header says 8. Copy or save it again.
    """
    try:
        view = memoryview(data).cast("B")
    except TypeError as error:
        raise InvalidInput(f"{name}: expected the bytes of a model file, found {type(data).__name__}.") from error
    size = len(view)
    if size < 8:
        raise InvalidModel(f"{name}: {size} bytes are too few for a model file. {_AGAIN}")
    header_size = int.from_bytes(view[:8], "little")
    if header_size > min(size - 8, _LARGEST_HEADER):
        raise InvalidModel(
            f"{name}: this is no model file, or it is cut off: its header would take {header_size} bytes."
        )
    header = _read_header(bytes(view[8 : 8 + header_size]), name)
    version, settings = _read_metadata(header.pop("__metadata__", None), name)
    body = view[8 + header_size :]
    places = _places(header, len(body), name)
    _verify(view, places, name)
    tensors = {place.name: _tensor(body, place) for place in places if place.name != _CHECKSUM}
    return (tensors, settings) if version == FORMAT_VERSION else upgraded(tensors, settings)


_AGAIN = "Copy or save it again."


def read_model(read: Callable[[int], Any], name: str, bounded: bool = True) -> bytearray:
    """Return what a stream has of a model, read no further than its header says: it may have no end.

    Parameters
    ----------
    read : callable
        From a number to so many bytes, or fewer; none at the end.
    name : str
        What messages call it.
    bounded : bool
        Whether it may be longer than a memory, so that more than 4 GiB are refused; files on disk end somewhere.

    Examples
    --------
    >>> import io
    >>> data = dumps({}, {"kind": "example"})
    >>> bytes(read_model(io.BytesIO(data).read, "<pipe>")) == data
    True
    """
    data = _read_header_of(read, name)
    if data.startswith(_OTHERS):
        _read_on(read, _LARGEST_STREAM + 1, data, name)
        if bounded and len(data) > _LARGEST_STREAM:
            raise InvalidModel(f"{name}: there are more than {_LARGEST_STREAM:,} bytes: save it to a file.")
    elif len(data) > 8:
        end = _end_of_tensors(data, name)
        if bounded and end > _LARGEST_STREAM:
            raise InvalidModel(
                f"{name}: the header says that {end:,} bytes follow, and what is no file may have "
                f"{_LARGEST_STREAM:,}: save it to a file."
            )
        _read_on(read, end + 1, data, name)  # one more, to notice whether something follows
    return data


def _read_header_of(read: Callable[[int], Any], name: str) -> bytearray:
    """The size of the header and the header; less if this is no model file, for `loads` to say so."""
    data = bytearray()
    _read_on(read, 8, data, name)
    size = int.from_bytes(data, "little")
    if len(data) == 8 and size <= _LARGEST_HEADER:
        _read_on(read, size, data, name)
    return data


def _end_of_tensors(data: bytearray, name: str) -> int:
    header = _read_header(bytes(data[8:]), name)
    header.pop("__metadata__", None)
    return max((_place(key, entry, name).end for key, entry in header.items()), default=0)


def _read_on(read: Callable[[int], Any], size: int, data: bytearray, name: str) -> None:
    """Append so many bytes, fewer at the end of the stream."""
    while size > 0 and (chunk := read(min(size, _CHUNK))):
        if not isinstance(chunk, bytes | bytearray | memoryview):
            raise InvalidInput(f"a model file is binary: open {name} with mode 'rb'.")
        data += chunk
        size -= len(chunk)


# ---- writing ---------------------------------------------------------------------------------------------------------


def _metadata(settings: Mapping[str, Any]) -> dict[str, str]:
    """The part of the header where safetensors allows anything, as long as it is strings."""
    try:
        text = json.dumps(dict(settings), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"settings must be what JSON can hold: {error}.") from error
    return {"format": "trelliswork", "version": str(FORMAT_VERSION), "settings": text}


def _in_order(tensors: Mapping[str, Any]) -> list[tuple[str, str, memoryview[Any]]]:
    """Name, type and bytes; the widest types first, so that all lie on multiples of their size."""
    if sys.byteorder != "little":
        raise InvalidInput("model files are little-endian, and so far written on such machines only.")
    parts = []
    for name, tensor in tensors.items():
        if not isinstance(name, str) or name in ("__metadata__", _CHECKSUM):
            raise InvalidInput(f"{name!r} cannot be the name of a tensor.")
        try:
            view = memoryview(tensor)
        except TypeError as error:
            raise InvalidInput(f"tensor {name!r} must be a buffer, found {type(tensor).__name__}.") from error
        if not view.c_contiguous or view.ndim > _MOST_DIMENSIONS:
            raise InvalidInput(f"tensor {name!r} must be contiguous: pass numpy.ascontiguousarray of it.")
        parts.append((name, _type_of(name, view), view))
    return sorted(parts, key=lambda part: (-_TYPES[part[1]][1], part[0]))


def _type_of(name: str, view: memoryview[Any]) -> str:
    kind = view.format.lstrip("@=<")
    if kind in "BHILQN?":  # C's names for unsigned integers depend on the machine
        dtype = {1: "U8", 2: "U16", 4: "U32", 8: "U64"}[view.itemsize]
        return "F16" if dtype == "U16" and name.endswith(".weights") else dtype  # as `loads` gives them
    if kind in "befd":
        return {"b": "I8", "e": "F16", "f": "F32", "d": "F64"}[kind]
    raise InvalidInput(
        f"tensor {name!r} has entries of the type {view.format!r}; a model file holds unsigned integers, int8, "
        "float16, float32 and float64."
    )


# ---- reading ---------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def _read_header(text: bytes, name: str) -> dict[str, Any]:
    if not text.startswith(b"{"):
        raise InvalidModel(f"{name}: this is no model file: there is no header.")
    try:
        header: dict[str, Any] = _parse(text.decode())
    except (ValueError, RecursionError) as error:
        raise InvalidModel(f"{name}: the header is damaged, or this is no model file: {_short(error)}.") from error
    return header  # an object: it begins with a brace


def _parse(text: str) -> Any:
    """JSON without what it has but for tolerance: names twice, NaN, halves of characters."""
    value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    if "\\ud" in text.lower():  # the only way in which JSON can say a surrogate
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("there is half of a character (a lone surrogate) in it") from None
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a name is there twice")
    return out


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _short(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200].rstrip(".")


def _read_metadata(metadata: Any, name: str) -> tuple[int, dict[str, Any]]:
    if not isinstance(metadata, dict) or metadata.get("format") != "trelliswork":
        raise InvalidModel(f"{name}: this is a safetensors file, but no model of trelliswork.")
    version = metadata.get("version")
    if not isinstance(version, str) or not version.isascii() or not version.isdigit() or len(version) > 9:
        raise InvalidModel(f"{name}: the version of the format is damaged. {_AGAIN}")
    if not 1 <= int(version) <= FORMAT_VERSION:
        raise InvalidModel(
            f"{name}: the file has version {int(version)} of the format, and this release of trelliswork reads up to "
            f"version {FORMAT_VERSION}. Install a later release, or save the model with this one."
        )
    try:
        settings = _parse(metadata["settings"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InvalidModel(f"{name}: the settings are damaged: {_short(error)}. {_AGAIN}") from error
    if not isinstance(settings, dict):
        raise InvalidModel(f"{name}: the settings are damaged: they are no object. {_AGAIN}")
    try:
        check_settings(settings)
    except (ValueError, RecursionError) as error:
        raise InvalidModel(f"{name}: this is no sound model: {_short(error)}. Save it again.") from error
    return int(version), settings


def _places(header: dict[str, Any], body_size: int, name: str) -> list[_Place]:
    """Where the tensors are, in the order of the file: they fill it without overlaps and holes."""
    places = sorted((_place(key, entry, name) for key, entry in header.items()), key=lambda p: (p.begin, p.end))
    end = 0
    for place in places:
        if place.begin != end:
            raise InvalidModel(f"{name}: tensor {place.name[:80]!r} overlaps another or leaves a hole. {_AGAIN}")
        end = place.end
    if end > body_size:
        raise InvalidModel(
            f"{name}: the file is cut off: there are {body_size} bytes of tensors, where its header says {end}. "
            f"{_AGAIN}"
        )
    if end < body_size:
        raise InvalidModel(f"{name}: there are {body_size - end} bytes after the last tensor. {_AGAIN}")
    return places


def _place(key: str, entry: Any, name: str) -> _Place:
    wrong = InvalidModel(f"{name}: the header is damaged: tensor {key[:80]!r} has no sensible place. {_AGAIN}")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise wrong
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _TYPES:
        raise wrong
    if not _sizes(shape, _MOST_DIMENSIONS) or not _sizes(offsets, 2) or len(offsets) != 2:
        raise wrong
    begin, end = offsets
    size = itemsize = _TYPES[dtype][1]
    for dimension in shape:
        size *= dimension
    if end - begin != size or begin % itemsize:
        raise wrong
    return _Place(key, dtype, tuple(shape), begin, end)


def _sizes(values: Any, most: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) <= most
        and all(type(value) is int and 0 <= value <= _LONGEST_DIMENSION for value in values)
    )


def _verify(view: memoryview[Any], places: list[_Place], name: str) -> None:
    last = places[-1] if places else None
    if last is None or last.name != _CHECKSUM or last.dtype != "U8" or last.shape != (_CHECKSUM_SIZE,):
        raise InvalidModel(f"{name}: the checksum is missing: the file was written by another program. {_AGAIN}")
    stored = int.from_bytes(view[-_CHECKSUM_SIZE:], "little")
    if _core.checksum(view[:-_CHECKSUM_SIZE]) != stored:
        raise InvalidModel(f"{name}: the file is damaged: its checksum is wrong. {_AGAIN}")


def _tensor(body: memoryview[Any], place: _Place) -> memoryview[Any]:
    code: Any = _TYPES[place.dtype][0]
    flat = body[place.begin : place.end].cast(code)
    if len(place.shape) == 1 or place.begin == place.end or not place.shape:
        return flat
    return body[place.begin : place.end].cast(code, place.shape)
