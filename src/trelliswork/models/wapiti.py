"""Model files of Wapiti: read as the tensors and settings of a sequence labeler over its patterns, and written.

    #mdl#TYPE#ACTIVE          1 is a MEMM, other types are a CRF; older files leave the type out
    #rdr#PATTERNS/COLUMNS/0   older files leave out the third number, which is of use without patterns only
    5:u%x..,                  so many bytes of each pattern
    #qrk#LABELS               and the labels likewise
    #qrk#OBSERVATIONS         and the observations
    17=0x1.8p+1               so many weights; an observation that begins with u has K of them, b K * K, * both

Weights are in hexadecimal, so nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.models.observations import MOST_LABELS, Pairs, Unigrams, as_observations, as_tensors, number_in

__all__ = ["from_wapiti", "is_wapiti", "to_wapiti"]

_MAGIC = b"#mdl#"
_LEAST_STRING = 4  # bytes of "0:,\n"
_LEAST_WEIGHT = 4  # bytes of "0=0\n"
_MOST_WEIGHTS = 1 << 62


def is_wapiti(data: Any) -> bool:
    """Whether bytes begin as a model file of Wapiti does.

    Examples
    --------
    >>> is_wapiti(b"#mdl#2#1900"), is_wapiti(b"")
    (True, False)
    """
    return bytes(memoryview(data)[: len(_MAGIC)]) == _MAGIC


def from_wapiti(data: Any, name: str = "<model>", encoding: str = "utf-8") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and the settings of a sequence labeler with the weights of a model file of Wapiti.

    It is asked for columns, and answers as ``wapiti label`` does; with ``decoder="mbr"`` as ``wapiti label -p``.

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
        If it is not a model of Wapiti, damaged, or one without patterns; every number is checked before it is used.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = b'''#mdl#2#2
    ... #rdr#2/0/0
    ... 9:u:%x[0,0],
    ... 1:b,
    ... #qrk#2
    ... 1:D,
    ... 1:N,
    ... #qrk#2
    ... 5:u:the,
    ... 1:b,
    ... 0=0x1p+0
    ... 3=0x1.8p+0
    ... '''
    >>> tensors, settings = from_wapiti(model)
    >>> tensors["channel.transitions.weights"].tolist()
    [0.0, 1.5, 0.0, 0.0]
    >>> tw.load(model).predict([["the", "dog"]])
    [['D', 'N']]
    """
    import numpy as np

    file = _Reader(bytes(memoryview(data)), name)
    local, n_active = file.header()
    lines = [_decoded(text, encoding, "pattern", name).decode() for text in file.patterns()]
    labels = [_decoded(text, encoding, "label", name).decode() for text in file.strings(b"#qrk#", "labels")]
    observations = [_decoded(text, encoding, "observation", name) for text in file.strings(b"#qrk#", "observations")]
    if len(labels) > MOST_LABELS:
        raise InvalidModel(f"{name}: there are {len(labels)} labels; of models of others {MOST_LABELS} can be read.")
    indices, values = file.weights(n_active)
    places = _Places.of(observations, len(labels))
    if len(indices) and indices[-1] >= places.starts[-1]:
        raise InvalidModel(f"{name}: there is a weight {indices[-1]}, but only {places.starts[-1]} have a meaning.")
    owners = np.searchsorted(places.starts, indices, side="right") - 1
    codes = indices - places.starts[owners]
    of_labels = codes < places.n_unigrams[owners]
    unigrams = Unigrams(owners[of_labels], codes[of_labels], values[of_labels])
    pair_codes = (codes - places.n_unigrams[owners])[~of_labels]
    pairs = Pairs(owners[~of_labels], pair_codes, values[~of_labels])
    return as_tensors("wapiti", labels, lines, observations, unigrams, pairs, name, local)


def to_wapiti(tensors: Mapping[str, Any], settings: Mapping[str, Any], name: str = "<model>") -> bytes:
    """Return the model file of Wapiti that gives the same answers as a sequence labeler.

    Parameters
    ----------
    tensors, settings : mappings
        As `trelliswork.models.load` returns them.
    name : str
        What messages call the model.

    Raises
    ------
    InvalidInput
        If the model has what Wapiti's have not: templates that are not Wapiti's, longer histories, constraints, hashed
        attributes or ones without names.

    Examples
    --------
    >>> import trelliswork as tw
    >>> templates = tw.Templates("u:%x[0,0]\\nb")
    >>> labeler = tw.SequenceLabeler(features=templates).fit([["the", "dog"]], [["D", "N"]])
    >>> data = to_wapiti(*labeler.exported())
    >>> data.splitlines()[:3]
    [b'#mdl#2#3', b'#rdr#2/0/0', b'9:u:%x[0,0],']
    >>> tw.load(data).predict([["the", "cat"]])
    [['D', 'N']]
    """
    model = as_observations("wapiti", tensors, settings, name)
    if any(b"\0" in text for text in (*model.unigrams, *model.pairs)):
        raise InvalidInput(f"{name} has an attribute with a zero in its name, which ends names in Wapiti.")
    n_labels = len(model.labels)
    observations = list(dict.fromkeys((*model.unigrams, *model.pairs)))
    weights: list[bytes] = []
    place = 0
    for text in observations:
        if text[:1] in b"u*":
            weights += _written(place, model.unigrams.get(text, {}))
            place += n_labels
        if text[:1] in b"b*":
            weights += _written(place, model.pairs.get(text, {}))
            place += n_labels**2
    lines = [line[0].lower() + line[1:] for line in model.lines]
    out = [b"#mdl#%d#%d\n#rdr#%d/%d/0\n" % (1 if model.local else 2, len(weights), len(lines), model.n_columns - 1)]
    out += [_netstring(line.encode()) for line in lines]
    out.append(b"#qrk#%d\n" % n_labels)
    out += [_netstring(label.encode()) for label in model.labels]
    out.append(b"#qrk#%d\n" % len(observations))
    out += map(_netstring, observations)
    return b"".join(out + weights)


def _written(place: int, row: Mapping[int, float]) -> list[bytes]:
    return [b"%d=%s\n" % (place + code, row[code].hex().encode()) for code in sorted(row) if row[code] != 0]


def _netstring(text: bytes) -> bytes:
    return b"%d:%s,\n" % (len(text), text)


class _Places(NamedTuple):
    """Where the weights of observations are: they begin at `starts`, with so many of labels before those of pairs."""

    starts: Any
    n_unigrams: Any

    @classmethod
    def of(cls, observations: list[bytes], n_labels: int) -> _Places:
        import numpy as np

        first = np.frombuffer(b"".join(text[:1] or b"?" for text in observations), dtype=np.uint8)
        has_labels = (first == ord("u")) | (first == ord("*"))
        has_pairs = (first == ord("b")) | (first == ord("*"))
        n_unigrams = has_labels.astype(np.int64) * n_labels
        sizes = n_unigrams + has_pairs.astype(np.int64) * n_labels**2  # below 2^63: 2^24 for each of fewer than 2^32
        return cls(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), n_unigrams)


def _decoded(text: bytes, encoding: str, what: str, name: str) -> bytes:
    """The text in UTF-8."""
    try:
        return text.decode(encoding).encode()
    except (UnicodeError, LookupError) as error:
        raise InvalidModel(
            f"{name}: the {what} {text[:40]!r} is no text in {encoding} ({error}). Pass the encoding of the text that "
            'the model was trained on: models.from_wapiti(data, encoding="latin-1").'
        ) from None


class _Reader:
    """What is read from the file, and how far."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name, self.at = data, name, 0

    def header(self) -> tuple[bool, int]:
        """Whether it is a MEMM, and the number of weights."""
        parts = self._line(_MAGIC).split(b"#")
        if len(parts) > 2:
            raise InvalidModel(f"{self.name}: the first line is damaged.")
        kind = number_in(parts[0], "the type of the model", self.name, 2) if len(parts) == 2 else 0
        return kind == 1, self._count(parts[-1], "the number of weights", _LEAST_WEIGHT)

    def patterns(self) -> list[bytes]:
        parts = self._line(b"#rdr#").split(b"/")
        if len(parts) not in (2, 3):
            raise InvalidModel(f"{self.name}: the line that begins with #rdr# is damaged.")
        count = self._count(parts[0], "the number of patterns", _LEAST_STRING)
        if count == 0:
            raise InvalidModel(
                f"{self.name}: a model without patterns, whose tokens are attributes already, cannot be read."
            )
        return [self._string("patterns") for _ in range(count)]

    def strings(self, begin: bytes, what: str) -> list[bytes]:
        count = self._count(self._line(begin), f"the number of {what}", _LEAST_STRING)
        return [self._string(what) for _ in range(count)]

    def weights(self, count: int) -> tuple[Any, Any]:
        """Indices in ascending order, and values. Of an index that is there twice the last counts, as in Wapiti."""
        import numpy as np

        lines = self.data[self.at :].split()
        if len(lines) != count:
            raise InvalidModel(f"{self.name}: there are {len(lines)} weights, but the first line says {count}.")
        found: dict[int, float] = {}
        for line in lines:
            index, _, value = line.partition(b"=")
            found[number_in(index, "the number of a weight", self.name, _MOST_WEIGHTS)] = self._weight(value)
        indices = np.fromiter(found.keys(), dtype=np.int64, count=len(found))
        values = np.fromiter(found.values(), dtype=np.float64, count=len(found))
        order = np.argsort(indices)
        return indices[order], values[order]

    def _weight(self, text: bytes) -> float:
        try:
            value = float.fromhex(text.decode("ascii")) if b"x" in text.lower() else float(text)
        except (ValueError, OverflowError):
            value = math.nan
        if not math.isfinite(value) or b"_" in text:
            raise InvalidModel(f"{self.name}: {text[:40]!r} is no weight.")
        return value

    def _line(self, begin: bytes) -> bytes:
        """What follows the beginning of a line."""
        end = self.data.find(b"\n", self.at, self.at + 80)
        if end < 0 or not self.data.startswith(begin, self.at):
            found = self.data[self.at : self.at + 20]
            raise InvalidModel(f"{self.name}: expected a line that begins with {begin.decode()}, found {found!r}.")
        line = self.data[self.at + len(begin) : end]
        self.at = end + 1
        return line

    def _count(self, text: bytes, what: str, least: int) -> int:
        return number_in(text, what, self.name, (len(self.data) - self.at) // least + 1)

    def _string(self, what: str) -> bytes:
        colon = self.data.find(b":", self.at, self.at + 12)
        if colon < 0:
            raise InvalidModel(f"{self.name}: the {what} are cut off or damaged at byte {self.at}.")
        size = number_in(self.data[self.at : colon], f"the length of one of the {what}", self.name, len(self.data))
        end = colon + 1 + size
        if self.data[end : end + 2] != b",\n":
            raise InvalidModel(f"{self.name}: the {what} are cut off or damaged at byte {self.at}.")
        self.at = end + 2
        return self.data[colon + 1 : end]
