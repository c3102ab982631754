"""Models of other programs as tensors: observations, which are texts, found again by keys of templates.

Wapiti and CRF++ know an attribute by its text, a pattern with every macro replaced; CRFsuite by the name that a program
gave it, which templates may give, too. Here its key is made of the template's text and of the values, one by one. So an
observation is taken apart: for every template that it may have come from, and every way in which it may have, there is
a key, with a row of weights for each. There is more than one way only where a value has in it what stands between two
others, as ``1/2`` has for ``%x[-1,0]/%x[0,0]``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trelliswork import _core
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.models.channels import described_chain
from trelliswork.models.settings import trained_elsewhere

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trelliswork.features.parsed import Part, Template
    from trelliswork.features.templates import Templates

    Numbers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = [
    "MOST_LABELS",
    "Pairs",
    "Unigrams",
    "Written",
    "as_observations",
    "as_tensors",
    "named_channel",
    "number_in",
]

MOST_LABELS = 4096  # transitions are a matrix
_SECRET = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB)  # as in core/text/hashing.hpp
_KINDS = {"wapiti": {b"u": 1, b"b": 2, b"*": 3}, "crfpp": {b"U": 1, b"B": 2}}  # 1: meets labels, 2: label pairs
_PLAIN_PAIR = {"wapiti": "b", "crfpp": "B"}
_PROGRAMS = {"wapiti": "Wapiti", "crfpp": "CRF++"}
_LARGEST_WEIGHT = 1e100  # so that sums stay finite
_NUMBER = re.compile(rb"\d{1,15}")


class Unigrams(NamedTuple):
    """Weights of observations and labels, by observation and label in ascending order."""

    observations: Numbers
    codes: Numbers
    weights: Floats


class Pairs(NamedTuple):
    """Weights of observations and label pairs: the code is label before * K + label."""

    observations: Numbers
    codes: Numbers
    weights: Floats


def number_in(text: bytes, what: str, name: str, most: int) -> int:
    """Return the number that a text is, which may be up to `most`.

    Examples
    --------
    >>> number_in(b"12", "the number of labels", "<model>", 20)
    12
    """
    if not _NUMBER.fullmatch(text):
        raise InvalidModel(f"{name}: {what} must be a number, found {text[:20]!r}.")
    if int(text) > most:
        raise InvalidModel(
            f"{name}: {what} is {int(text)}, but there is room for {most} only: it is cut off or damaged."
        )
    return int(text)


# ---- reading ---------------------------------------------------------------------------------------------------------


def as_tensors(
    program: str,
    labels: Sequence[str],
    lines: Sequence[str],
    observations: Sequence[bytes],
    unigrams: Unigrams,
    pairs: Pairs,
    name: str,
    local: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and the settings of a sequence labeler with the weights of observations.

    Parameters
    ----------
    program : {"wapiti", "crfpp"}
    labels : sequence of str
    lines : sequence of str
        The patterns.
    observations : sequence of bytes
        In UTF-8.
    unigrams, pairs
        Their weights.
    name : str
        What messages call the file.
    local : bool
        Whether every step is normalised by itself.
    """
    import numpy as np

    from trelliswork.features.templates import Templates

    _check_labels(labels, name)
    if not all((np.abs(part.weights) <= _LARGEST_WEIGHT).all() for part in (unigrams, pairs)):
        raise InvalidModel(f"{name}: a weight is beyond {_LARGEST_WEIGHT:g}.")
    if len(set(observations)) < len(observations):
        raise InvalidModel(f"{name}: an observation is there twice.")
    try:
        patterns = _Patterns(program, lines)
        templates = Templates("\n".join(lines), format=program, name=f"{name}, patterns")
    except InvalidInput as error:
        raise InvalidModel(str(error)) from None
    rows = patterns.rows(observations, name)
    n_labels = len(labels)
    tensors = _channel("token", rows.labels, observations, unigrams, n_labels, name)
    if "pair" in templates.meets:
        tensors |= _channel("pair", rows.pairs, observations, pairs, n_labels**2, name)
    transitions = np.zeros(n_labels**2)
    plain = np.isin(pairs.observations, rows.plain)
    np.add.at(transitions, pairs.codes[plain], pairs.weights[plain])
    tensors["channel.transitions.weights"] = transitions
    n_weights = len(unigrams.weights) + len(pairs.weights)
    settings = trained_elsewhere(labels, n_weights, _PROGRAMS[program], "memm" if local else "crf") | {
        "features": {"kind": "columns", "n_columns": None},
        "templates": templates.to_dict(),
    }
    if local:
        settings["normalised"] = "local"
    return tensors, settings | described_chain(tensors, n_labels)


def named_channel(
    templates: Templates, names: Sequence[bytes], weights: Unigrams, n_labels: int, name: str
) -> dict[str, Any]:
    """Return the tensors of attributes that templates give the names that they have in another program.

    Parameters
    ----------
    templates : Templates
        All of whose attributes meet labels.
    names : sequence of bytes
        Of the attributes, in UTF-8.
    weights : Unigrams
    n_labels : int
    name : str
        What messages call the model.

    Raises
    ------
    InvalidInput
        If there is a name that no template can give.
    """
    if templates.meets != ("label",):
        raise InvalidInput(f"{name}: its attributes meet labels, and those of the templates {templates.meets}.")
    texts = _Texts()
    for template in templates.parsed:
        texts.add(_written_by(template))
    steps = _Steps(names, name)
    rows = [_Row(key, number) for number, text in enumerate(names) for key in steps.of(texts, text)]
    given = {row.observation for row in rows}
    if lacking := [text for number, text in enumerate(names) if number not in given]:
        shown = ", ".join(repr(text.decode(errors="replace")) for text in lacking[:3])
        raise InvalidInput(
            f"{name} has {len(lacking)} attributes that none of the templates gives, such as {shown}. Write the "
            'missing lines, with the names as they are there: word[-1] as "previous:word:{}".'
        )
    return _channel("token", rows, names, weights, n_labels, name)


def _check_labels(labels: Sequence[str], name: str) -> None:
    if not labels:
        raise InvalidModel(f"{name}: there are no labels.")
    if len(set(labels)) < len(labels):
        raise InvalidModel(f"{name}: a label is there twice.")
    if len(labels) > MOST_LABELS:
        raise InvalidModel(f"{name}: there are {len(labels)} labels; of models of others {MOST_LABELS} can be read.")


class _Row(NamedTuple):
    key: int
    observation: int


class _Rows(NamedTuple):
    labels: list[_Row]
    pairs: list[_Row]
    plain: list[int]  # observations of all label pairs, whatever the token is


class _Patterns:
    """Patterns by how they begin, to find those that an observation may have come from."""

    def __init__(self, program: str, lines: Sequence[str]) -> None:
        from trelliswork.features import foreign

        self.kinds = _KINDS[program]
        self.plain: dict[bytes, int] = {}  # patterns without macros, and what they meet
        self.texts = _Texts()
        for number, line in enumerate(lines, 1):
            where = f"pattern {number}"
            if not line or line != foreign.without_comment(line, program).rstrip() or "\n" in line:
                raise InvalidInput(f"{where}, {line[:60]!r}, is empty, or has a comment or a line end in it.")
            if line[0].encode() not in self.kinds:
                raise InvalidInput(
                    f"{where}, {line[:60]!r}, must begin with one of {', '.join(map(repr, self._begin()))}."
                )
            template, _ = foreign.parse_line(line, program, where)
            if template is None or not template.parts:
                self.plain[line.encode()] = self.kinds[line[0].encode()]
                continue
            self.texts.add(_written_by(template))
        if len(set(lines)) < len(lines):
            raise InvalidInput("a pattern is there twice, whose weights would count twice, which templates cannot say.")

    def _begin(self) -> list[str]:
        return [letter.decode() for letter in self.kinds]

    def rows(self, observations: Sequence[bytes], name: str) -> _Rows:
        """Keys and the observations that they stand for; observations that no pattern gives have none."""
        out = _Rows([], [], [])
        steps = _Steps(observations, name)
        for number, text in enumerate(observations):
            kind = self.kinds.get(text[:1])
            if kind is None:
                raise InvalidModel(
                    f"{name}: the observation {text[:40]!r} must begin with one of "
                    f"{', '.join(map(repr, self._begin()))}."
                )
            plain = self.plain.get(text)
            if plain is not None and kind & 1:
                out.labels.append(_Row(_core.hash_bytes(text), number))
            if plain is not None and kind & 2:
                out.plain.append(number)
            for key in steps.of(self.texts, text):
                if kind & 1:
                    out.labels.append(_Row(key, number))
                if kind & 2:
                    out.pairs.append(_Row(key, number))
        return out


class _Steps:
    """Finds the keys of observations, and counts steps, and 64 bytes of a step: hostile ones must not take forever."""

    def __init__(self, observations: Sequence[bytes], name: str) -> None:
        self.left = 1_000_000 + 200 * len(observations) + sum(map(len, observations))
        self.name = name

    def of(self, texts: _Texts, text: bytes) -> Iterator[int]:
        for key in texts.keys(text):
            self.left -= 1 + len(text) // 64
            if self.left < 0:
                raise InvalidModel(
                    f"{self.name}: observations such as {text[:40]!r} come from patterns in too many ways to tell "
                    "apart."
                )
            if key:
                yield key


class _Text(NamedTuple):
    """What a template writes: pieces with values between them."""

    pieces: tuple[bytes, ...]
    empty: tuple[bool, ...]  # [value]: whether it may be nothing
    after: tuple[tuple[int, ...], ...]  # [value]: keys of parts behind it that are not shown
    seed: int  # the key of what is before the first value


def _written_by(template: Template) -> _Text:
    own = template.text[:1] != "\2" and "\1" not in template.text
    shown = [part.view.kind in ("cell", "gazetteer") if own else part.view.has_values for part in template.parts]
    text = template.text + "=" + "|".join("\1" * sum(shown)) if own and any(shown) else template.text.lstrip("\2")
    seed = _core.hash_bytes(template.text.encode())
    empty: list[bool] = []
    after: list[list[int]] = []
    for part, has_place in zip(template.parts, shown, strict=True):
        if has_place:
            empty.append(bool(part.view.steps))  # what a step gives may be nothing; a cell is never empty
            after.append([])
        elif after:
            after[-1].append(_hidden_key(part))
        else:
            seed = _combined_keys(seed, _hidden_key(part))
    return _Text(tuple(text.encode().split(b"\1")), tuple(empty), tuple(map(tuple, after)), seed)


def _hidden_key(part: Part) -> int:
    """The key of a part that is there or not: "yes" of a pattern, 1 of all others."""
    return _core.hash_bytes(b"yes") if part.view.kind == "cell" else 1


class _Texts:
    """What templates write, by how it begins, to find those that an observation may have come from."""

    def __init__(self) -> None:
        self.beginning: dict[bytes, dict[tuple[Any, ...], _Text]] = {}
        self.lengths: list[int] = []

    def add(self, text: _Text) -> None:
        same = self.beginning.setdefault(text.pieces[0], {})
        known = same.get((text.pieces, text.after, text.seed), text)
        empty = tuple(map(any, zip(text.empty, known.empty, strict=True)))
        same[text.pieces, text.after, text.seed] = text._replace(empty=empty)
        self.lengths = sorted({len(begin) for begin in self.beginning})

    def keys(self, text: bytes) -> Iterator[int]:
        """The keys of an observation; 0 for every step that led to none, so that steps can be counted."""
        for length in self.lengths:
            if length > len(text):
                return
            yield 0
            for written in self.beginning.get(text[:length], {}).values():
                pieces = written.pieces
                if len(pieces) == 1:
                    yield written.seed if length == len(text) else 0
                elif len(pieces) == 2:
                    end = len(text) - len(pieces[1])
                    fits = text.endswith(pieces[1]) and (end > length or (end == length and written.empty[0]))
                    yield _combined(written.seed, text[length:end], written.after[0]) if fits else 0
                else:
                    yield from _ways(text, written)


def _ways(text: bytes, written: _Text) -> Iterator[int]:
    """The keys of all ways to find what stands between macros; 0 for each step that leads nowhere."""
    pieces, empty, after, seed = written
    last = len(pieces) - 1
    if not text.endswith(pieces[last]):
        yield 0
        return
    stop = len(text) - len(pieces[last])
    open_ways = [(len(pieces[0]), 1, seed)]
    while open_ways:
        at, piece, key = open_ways.pop()
        yield 0
        if piece == last:
            if at < stop or (at == stop and empty[piece - 1]):
                yield _combined(key, text[at:stop], after[piece - 1])
            continue
        found = text.find(pieces[piece], at if empty[piece - 1] else at + 1, stop)
        while found >= 0:
            if text[found : found + 1] < b"\x80" or text[found] >= 0xC0:  # not inside a character
                key_there = _combined(key, text[at:found], after[piece - 1])
                open_ways.append((found + len(pieces[piece]), piece + 1, key_there))
            yield 0
            found = text.find(pieces[piece], found + 1, stop)


def _combined(key: int, value: bytes, after: Sequence[int] = ()) -> int:
    """The key of one more value, and of parts behind it; that of a value is never 0."""
    key = _combined_keys(key, _core.hash_bytes(value) or 1)
    for other in after:
        key = _combined_keys(key, other)
    return key


def _combined_keys(a: int, b: int) -> int:
    """As `combine` of core/text/hashing.hpp."""
    product = (a ^ _SECRET[0]) * (b ^ _SECRET[1])
    return (product & 0xFFFFFFFFFFFFFFFF) ^ (product >> 64)


def _channel(
    channel: str,
    rows: list[_Row],
    observations: Sequence[bytes],
    weights: Unigrams | Pairs,
    n_codes: int,
    name: str,
) -> dict[str, Any]:
    """The tensors of a channel: a row of weights for every key."""
    import numpy as np

    keys = np.fromiter((row.key for row in rows), dtype=np.uint64, count=len(rows))
    if len(np.unique(keys)) < len(keys):
        raise InvalidModel(f"{name}: two observations have the same key.")
    owners = np.fromiter((row.observation for row in rows), dtype=np.int64, count=len(rows))
    begins = np.searchsorted(weights.observations, owners)
    counts = np.searchsorted(weights.observations, owners, side="right") - begins
    total = int(counts.sum())
    if total > 4 * len(weights.weights) + 1_000_000:
        raise InvalidModel(f"{name}: observations with many weights come from patterns in too many ways to tell apart.")
    starts = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(total) + np.repeat(begins - starts[:-1], counts)
    table, slots = _core.key_table(keys)
    texts = [observations[row.observation] for row in rows]
    ends = np.cumsum([len(text) for text in texts], dtype=np.uint64)
    if total >= 1 << 32 or (len(ends) and ends[-1] >= 1 << 32):
        raise InvalidModel(f"{name}: there are more weights or longer observations than a model file can hold.")
    prefix = f"channel.{channel}"
    code_type = np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32
    return {
        f"{prefix}.keys": table,
        f"{prefix}.slots": slots,
        f"{prefix}.starts": starts.astype(np.uint32),
        f"{prefix}.codes": weights.codes[places].astype(code_type),
        f"{prefix}.weights": weights.weights[places],
        f"{prefix}.names.text": np.frombuffer(b"".join(texts), dtype=np.uint8),
        f"{prefix}.names.ends": ends.astype(np.uint32),
    }


# ---- writing ---------------------------------------------------------------------------------------------------------


class Written(NamedTuple):
    """What a model file of another program has; weights of observations as {text: {code: weight}}."""

    labels: list[str]
    lines: list[str]
    n_columns: int
    unigrams: dict[bytes, dict[int, float]]
    pairs: dict[bytes, dict[int, float]]
    local: bool


def as_observations(program: str, tensors: Mapping[str, Any], settings: Mapping[str, Any], name: str) -> Written:
    """Return what a model file of another program with the same answers has.

    Parameters
    ----------
    program : {"wapiti", "crfpp"}
    tensors, settings : mappings
        As `trelliswork.models.load` returns them.
    name : str
        What messages call the model.

    Raises
    ------
    InvalidInput
        If the model has what those of the program have not.
    """
    import numpy as np

    from trelliswork.features import foreign
    from trelliswork.features.templates import Templates

    lacking = _what_is_lacking(program, tensors, settings)
    if lacking:
        raise InvalidInput(f"{name} cannot be a model of {_PROGRAMS[program]}, which has no {lacking}.")
    templates = Templates.from_dict(settings["templates"])
    lines = [line for group in settings["templates"]["templates"] for line in group["lines"]]
    temperature = (settings.get("calibration") or {}).get("temperature", 1.0)
    unigrams = _rows_by_name(tensors, "token", temperature, name)
    pairs = _rows_by_name(tensors, "pair", temperature, name) if "channel.pair.starts" in tensors else {}
    moves = np.asarray(tensors["channel.transitions.weights"]).astype(np.float64) / temperature
    used = np.flatnonzero(moves)
    plain = [line for line in lines if foreign.parse_line(line, program, "")[1]]
    if len(used) and not plain:
        plain = [_PLAIN_PAIR[program]]
        lines.append(plain[0])
    if plain:
        # Where a pattern with macros may give the same text, weights of the two cannot be told apart.
        home = _as_written(plain[0], program)
        if any(_as_written(line, program) in pairs for line in plain):
            raise InvalidInput(f"{name} has the attribute {home.decode()!r} beside the pattern of that text.")
        pairs[home] = dict(zip(used.tolist(), moves[used].tolist(), strict=True))
    return Written(
        list(settings["labels"]), lines, templates.n_columns, unigrams, pairs, settings.get("normalised") == "local"
    )


def _as_written(line: str, program: str) -> bytes:
    return (line[0].lower() + line[1:] if program == "wapiti" else line).encode()


def _rows_by_name(
    tensors: Mapping[str, Any], channel: str, temperature: float, name: str
) -> dict[bytes, dict[int, float]]:
    """Weights by the names of attributes. Two of the same name are one observation there, and must weigh the same."""
    import numpy as np

    from trelliswork.models.shrinking import weights_of

    prefix = f"channel.{channel}"
    text = bytes(np.asarray(tensors[f"{prefix}.names.text"]))
    ends = [0, *np.asarray(tensors[f"{prefix}.names.ends"]).tolist()]
    starts = np.asarray(tensors[f"{prefix}.starts"]).tolist()
    codes = np.asarray(tensors[f"{prefix}.codes"]).tolist()
    weights = (weights_of(tensors, prefix).astype(np.float64) / temperature).tolist()
    out: dict[bytes, dict[int, float]] = {}
    for (begin, end), (first, last) in zip(itertools.pairwise(ends), itertools.pairwise(starts), strict=True):
        row = dict(zip(codes[first:last], weights[first:last], strict=True))
        if out.setdefault(text[begin:end], row) != row:
            raise InvalidInput(
                f"{name} has two attributes that read {text[begin:end].decode(errors='replace')!r} with weights of "
                "their own; there, they would be one. Write something between the macros that values do not have."
            )
    return out


def _what_is_lacking(program: str, tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> str | None:
    groups = (settings.get("templates") or {}).get("templates", ())
    channels = [name.removesuffix(".starts") for name in tensors if name.endswith(".starts")]
    found = {
        "models of this kind": settings.get("kind") != "sequence-labeler",
        "longer histories of labels": settings.get("structure"),
        "models that are normalised step by step": settings.get("normalised") and program != "wapiti",
        "hashed attributes": settings.get("hash_bits"),
        "constraints": "allowed.transitions" in tensors,
        "tag dictionaries": "dictionary.keys" in tensors,
        "labels that share parts": "parts.codes" in tensors,
        "attributes that do not come from templates": not groups,
        f"templates but its own: train with Templates(..., format={program!r})": any(
            group["format"] != program for group in groups
        ),
        "attributes without names": any(
            len(tensors.get(f"{channel}.names.ends", ())) != len(tensors[f"{channel}.starts"]) - 1
            for channel in channels
        ),
    }
    return next((what for what, there in found.items() if there), None)
