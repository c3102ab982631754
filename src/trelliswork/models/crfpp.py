"""Text model files of CRF++: read as the tensors and settings of a sequence labeler over its templates, and written.

``crf_learn -t`` writes one beside the binary model, ``crf_learn -C`` makes a binary model of it. An empty line parts

    version: 100              and cost-factor, by which all weights are multiplied, maxid, xsize
    B-NP                      the labels, sorted
    U01:%x[0,0]               the templates
    578 B01:$                 observations, each with the number of its first weight: U has K of them, B K * K
    -0.0042094235193216       so many weights as maxid says

The binary model has them in single precision, so the two differ in the seventh digit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.models.observations import MOST_LABELS, Pairs, Unigrams, as_observations, as_tensors, number_in

__all__ = ["from_crfpp", "is_crfpp", "to_crfpp"]

_MAGIC = b"version: "
_VERSION = 100
_LONGEST_LINE = 8191  # bytes
_HEADER = (b"version", b"cost-factor", b"maxid", b"xsize")


def is_crfpp(data: Any) -> bool:
    """Whether bytes begin as a text model file of CRF++ does.

    Examples
    --------
    >>> is_crfpp(b"version: 100"), is_crfpp(b"")
    (True, False)
    """
    return bytes(memoryview(data)[: len(_MAGIC)]) == _MAGIC


def from_crfpp(data: Any, name: str = "<model>", encoding: str = "utf-8") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and the settings of a sequence labeler with the weights of a text model file of CRF++.

    It is asked for columns, and answers as ``crf_test`` does.

    Parameters
    ----------
    data : bytes-like
        The file.
    name : str
        What messages call it.
    encoding : str
        That of the text it was trained on.

    Raises
    ------
    InvalidModel
        If it is not a text model of CRF++, or damaged; every number is checked before it is used.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = b'''version: 100
    ... cost-factor: 1
    ... maxid: 6
    ... xsize: 1
    ...
    ... D
    ... N
    ...
    ... U:%x[0,0]
    ... B
    ...
    ... 0 B
    ... 4 U:the
    ...
    ... 0
    ... 1.5
    ... 0
    ... 0
    ... 1
    ... 0
    ... '''
    >>> tensors, settings = from_crfpp(model)
    >>> tensors["channel.transitions.weights"].tolist()
    [0.0, 1.5, 0.0, 0.0]
    >>> tw.load(model).predict([["the", "dog"]])
    [['D', 'N']]
    """
    import numpy as np

    header, labels, lines, features, numbers = _blocks(_as_utf8(bytes(memoryview(data)), encoding, name), name)
    cost_factor, max_id, x_size = _header(header, name)
    if len(labels) > MOST_LABELS:
        raise InvalidModel(f"{name}: there are {len(labels)} labels; of models of others {MOST_LABELS} can be read.")
    with np.errstate(over="ignore"):
        weights = _weights(numbers, max_id, name) * cost_factor
    observations, starts = _features(features, max_id, name)
    sizes = np.array(
        [{b"U": len(labels), b"B": len(labels) ** 2}.get(text[:1], 0) for text in observations], dtype=np.int64
    )
    order = np.argsort(starts, kind="stable")
    ordered = starts[order]
    ends = ordered + sizes[order]
    if (ends > max_id).any() or (ends[:-1] > ordered[1:]).any():
        raise InvalidModel(f"{name}: the weights of an observation overlap those of another, or end behind the last.")
    used = np.flatnonzero(weights)
    at = np.searchsorted(ordered, used, side="right") - 1
    owned = (at >= 0) & (used < ends[at]) if len(ends) else np.zeros(len(used), dtype=np.bool_)
    used, owners = used[owned], order[at[owned]]
    by_observation = np.lexsort([used, owners])
    used, owners = used[by_observation], owners[by_observation]
    codes, values = used - starts[owners], weights[used]
    first = np.frombuffer(b"".join(text[:1] or b"?" for text in observations), dtype=np.uint8)[owners]
    of_labels = first == ord("U")
    unigrams = Unigrams(owners[of_labels], codes[of_labels], values[of_labels])
    pairs = Pairs(owners[~of_labels], codes[~of_labels], values[~of_labels])
    tensors, settings = as_tensors(
        "crfpp",
        [label.decode() for label in labels],
        [line.decode() for line in lines],
        observations,
        unigrams,
        pairs,
        name,
    )
    if _n_columns(settings) > x_size:
        raise InvalidModel(f"{name}: the templates look at {_n_columns(settings)} columns, but xsize is {x_size}.")
    return tensors, settings


def to_crfpp(tensors: Mapping[str, Any], settings: Mapping[str, Any], name: str = "<model>") -> bytes:
    """Return the text model file of CRF++ that gives the same answers as a sequence labeler.

    Parameters
    ----------
    tensors, settings : mappings
        As `trelliswork.models.load` returns them.
    name : str
        What messages call the model.

    Raises
    ------
    InvalidInput
        If the model has what CRF++'s have not: templates that are not CRF++'s, longer histories, constraints, hashed
        attributes or ones without names.

    Examples
    --------
    >>> import trelliswork as tw
    >>> templates = tw.Templates("U:%x[0,0]\\nB")
    >>> labeler = tw.SequenceLabeler(features=templates).fit([["the", "dog"]], [["D", "N"]])
    >>> data = to_crfpp(*labeler.exported())
    >>> data.splitlines()[:4]
    [b'version: 100', b'cost-factor: 1', b'maxid: 8', b'xsize: 1']
    >>> tw.load(data).predict([["the", "cat"]])
    [['D', 'N']]
    """
    model = as_observations("crfpp", tensors, settings, name)
    for text in (*model.unigrams, *model.pairs, *(label.encode() for label in model.labels)):
        if not text or set(text) & set(b"\0\t\n\r "):
            raise InvalidInput(
                f"{name} has {text[:40].decode(errors='replace')!r}: what CRF++ reads has no white space in it."
            )
    longest = max(map(len, (*model.unigrams, *model.pairs)), default=0)
    if longest > _LONGEST_LINE - len("4294967295 "):
        raise InvalidInput(f"{name} has an attribute of {longest} bytes: CRF++ cuts lines after {_LONGEST_LINE}.")
    order = sorted(range(len(model.labels)), key=lambda number: model.labels[number].encode())
    n_labels = len(order)
    pair_codes = [a * n_labels + b for a in order for b in order]
    features: list[bytes] = []
    weights: list[float] = []
    for text in sorted({*model.unigrams, *model.pairs}):
        features.append(b"%d %s\n" % (len(weights), text))
        row, codes = (model.unigrams[text], order) if text[:1] == b"U" else (model.pairs[text], pair_codes)
        weights += [row.get(code, 0.0) for code in codes]
    lines = sorted(model.lines, key=lambda line: line[0] != "U")  # unigrams first
    head = f"version: {_VERSION}\ncost-factor: 1\nmaxid: {len(weights)}\nxsize: {max(model.n_columns, 1)}\n"
    blocks = [
        head.encode(),
        "".join(f"{model.labels[number]}\n" for number in order).encode(),
        "".join(f"{line}\n" for line in lines).encode(),
        b"".join(features),
        "".join(f"{weight:.17g}\n" for weight in weights).encode(),
    ]
    return b"\n".join(blocks)


def _as_utf8(data: bytes, encoding: str, name: str) -> bytes:
    try:
        return data.decode(encoding).encode()
    except (UnicodeError, LookupError) as error:
        raise InvalidModel(
            f"{name}: the file is no text in {encoding} ({str(error)[:100]}). Pass the encoding of the text that the "
            'model was trained on: models.from_crfpp(data, encoding="latin-1").'
        ) from None


def _blocks(data: bytes, name: str) -> list[list[bytes]]:
    """The lines of the five blocks."""
    blocks = data.split(b"\n\n", 4)
    if len(blocks) != 5 or not is_crfpp(data):
        raise InvalidModel(
            f"{name}: expected five blocks parted by empty lines, found {len(blocks)}. It may be cut off."
        )
    return [block.split(b"\n") for block in blocks[:-1]] + [blocks[-1].split()]


def _header(lines: list[bytes], name: str) -> tuple[float, int, int]:
    """The cost factor, the number of weights and that of columns."""
    found = dict(line.split(b": ", 1) for line in lines if b": " in line)
    if len(lines) != len(_HEADER) or tuple(found) != _HEADER:
        raise InvalidModel(f"{name}: expected the lines version, cost-factor, maxid and xsize, found {lines[:5]!r}.")
    version, cost_factor, max_id, x_size = found.values()
    if version != b"%d" % _VERSION:
        raise InvalidModel(f"{name}: the version is {version[:20]!r}; {_VERSION} can be read.")
    factor = _number(cost_factor)
    if not math.isfinite(factor):
        raise InvalidModel(f"{name}: the cost factor must be a number, found {cost_factor[:40]!r}.")
    return factor, number_in(max_id, "maxid", name, 1 << 40), number_in(x_size, "xsize", name, 1 << 20)


def _weights(lines: list[bytes], max_id: int, name: str) -> Any:
    import numpy as np

    if len(lines) != max_id:
        raise InvalidModel(f"{name}: there are {len(lines)} weights, but maxid is {max_id}: it is cut off or damaged.")
    weights = np.fromiter(map(_number, lines), dtype=np.float64, count=len(lines))
    if not np.isfinite(weights).all():
        raise InvalidModel(f"{name}: {lines[int(np.argmin(np.isfinite(weights)))][:40]!r} is no weight.")
    return weights


def _number(text: bytes) -> float:
    try:
        return math.nan if b"_" in text else float(text)
    except ValueError:
        return math.nan


def _features(lines: list[bytes], max_id: int, name: str) -> tuple[list[bytes], Any]:
    """Observations and where their weights begin."""
    import numpy as np

    parts = [line.partition(b" ") for line in lines]
    starts = [number_in(index, "where the weights of an observation begin", name, max_id) for index, _, _ in parts]
    return [text for _, _, text in parts], np.array(starts, dtype=np.int64)


def _n_columns(settings: Mapping[str, Any]) -> int:
    from trelliswork.features.templates import Templates

    return Templates.from_dict(settings["templates"]).n_columns
