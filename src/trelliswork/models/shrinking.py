"""Smaller models: weights in fewer bits, weights near zero dropped, names dropped; and what that costs in score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.models.files import members_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]

__all__ = ["Comparison", "compare", "prune", "quantize", "shrunk", "sizes", "weights_of"]

_EMPTY = 0xFFFFFFFF  # no attribute in this place of the table


def quantize(tensors: Mapping[str, Any], precision: str) -> dict[str, Any]:
    """Return the tensors with the weights of attributes rounded to fewer bits; others stay as they are.

    Tied channels, such as transitions, have no attributes.

    Parameters
    ----------
    tensors : mapping of str to buffers
        As `load` returns them; they may be rounded already.
    precision : {"float32", "float16", "int8"}
        Four, two or one byte a weight. ``"int8"`` keeps one scale per code (a label, or a pair of labels): a weight is
        off by at most 1/254 of the largest of its code.

    Examples
    --------
    >>> import numpy as np
    >>> tensors = {"channel.token.starts": np.array([0, 2], "u4"),
    ...            "channel.token.codes": np.array([0, 1], "u1"),
    ...            "channel.token.weights": np.array([1.0, -0.5], "f4"),
    ...            "channel.transitions.weights": np.zeros(4, "f4")}
    >>> small = quantize(tensors, "int8")
    >>> small["channel.token.weights"].tolist(), (127 * small["channel.token.scales"]).tolist()
    ([127, -127], [1.0, 0.5])
    """
    import numpy as np

    if precision not in ("float32", "float16", "int8"):
        raise InvalidInput(f"precision must be 'float32', 'float16' or 'int8', found {precision!r}.")
    out = dict(tensors)
    for prefix in _prefixes(tensors):
        weights = weights_of(tensors, prefix).astype(np.float32)
        out.pop(f"{prefix}.scales", None)
        if precision == "int8":
            codes = np.asarray(tensors[f"{prefix}.codes"])
            largest = np.zeros(1 + int(codes.max(initial=0)), dtype=np.float32)
            np.maximum.at(largest, codes, np.abs(weights))
            scales = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
            out[f"{prefix}.scales"] = scales
            weights = np.clip(np.rint(weights / scales[codes]), -127, 127).astype(np.int8)
        elif precision == "float16":
            if np.abs(weights).max(initial=0.0) > np.finfo(np.float16).max:
                raise InvalidInput("some weights are beyond the range of float16: keep float32, or use int8.")
            weights = weights.astype(np.float16)
        out[f"{prefix}.weights"] = weights
    return out


def prune(tensors: Mapping[str, Any], threshold: float = 0.0, drop_names: bool = False) -> dict[str, Any]:
    """Return the tensors without weights near zero, and without the attributes that have none left.

    Parameters
    ----------
    tensors : mapping of str to buffers
        As `load` returns them.
    threshold : float
        Weights of at most this size go; 0 drops those that are zero.
    drop_names : bool
        Also drop the names of attributes. Tagging does not need them; lists of the strongest features do.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import _core
    >>> keys, slots = _core.key_table(np.array([11, 12], "u8"))
    >>> tensors = {"channel.token.keys": keys, "channel.token.slots": slots,
    ...            "channel.token.starts": np.array([0, 2, 3], "u4"),
    ...            "channel.token.codes": np.array([0, 1, 1], "u1"),
    ...            "channel.token.weights": np.array([1, 0, 0], "f4"),
    ...            "channel.transitions.weights": np.zeros(4, "f4")}
    >>> small = prune(tensors)
    >>> [small[f"channel.token.{part}"].tolist() for part in ("starts", "codes", "weights")]
    [[0, 1], [0], [1.0]]
    """
    if not threshold >= 0.0:
        raise InvalidInput(f"threshold must be a number from 0 on, found {threshold!r}.")
    out = dict(tensors)
    for prefix in _prefixes(tensors):
        out |= _pruned(tensors, prefix, threshold)
    return _without_names(out) if drop_names else out


def shrunk(
    tensors: Mapping[str, Any],
    settings: Mapping[str, Any],
    precision: str | None = None,
    threshold: float | None = None,
    drop_names: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and settings of a smaller model, or of a file of several, ready to be saved.

    Parameters
    ----------
    tensors, settings
        As `load` returns them.
    precision : {"float32", "float16", "int8"}, optional
        As for `quantize`; None leaves weights as they are.
    threshold : float, optional
        As for `prune`; None drops none.
    drop_names : bool
        As for `prune`.

    Examples
    --------
    >>> import numpy as np
    >>> tensors = {"channel.token.starts": np.array([0, 2], "u4"),
    ...            "channel.token.codes": np.array([0, 1], "u1"),
    ...            "channel.token.weights": np.array([1.0, 0.02], "f4"),
    ...            "channel.transitions.weights": np.zeros(4, "f4")}
    >>> smaller, settings = shrunk(tensors, {"training": {"n_weights": 6}}, "float16", 0.1)
    >>> smaller["channel.token.weights"].tolist(), settings
    ([1.0], {'training': {'n_weights': 5}})
    """
    members = members_of(tensors, settings)
    if members:
        out = {key: part for key, part in tensors.items() if not key.startswith(tuple(f"{name}." for name in members))}
        changed = {}
        for name, (own, described) in members.items():
            if _prefixes(own):
                smaller, changed[name] = shrunk(own, described, precision, threshold, drop_names)
            else:  # a hidden Markov model, say: it stays as it is
                smaller, changed[name] = own, described
            out |= {f"{name}.{key}": part for key, part in smaller.items()}
        return out, {**settings, "members": changed}
    smaller, described = dict(tensors), dict(settings)
    if (precision is not None or threshold is not None) and not _prefixes(tensors):
        raise InvalidInput(
            f"a model of the kind {settings.get('kind')!r} has no weights of attributes, which could be rounded or "
            "left out: save it as it is."
        )
    if threshold is not None or drop_names:
        smaller = prune(tensors, threshold or 0.0, drop_names) if threshold is not None else _without_names(tensors)
        described = _described_anew(settings, tensors, smaller)
    return (smaller if precision is None else quantize(smaller, precision)), described


def sizes(tensors: Mapping[str, Any]) -> dict[str, int]:
    """Return how many bytes each tensor takes, the largest first.

    Examples
    --------
    >>> sizes({"channel.token.names.text": b"a b c", "channel.token.codes": b"\\0\\1\\2\\1\\0\\2\\2\\0"})
    {'channel.token.codes': 8, 'channel.token.names.text': 5}
    """
    found = {name: memoryview(tensor).nbytes for name, tensor in tensors.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


class Comparison(NamedTuple):
    """One form of a model in `compare`: how it was made, its size in bytes, its weights, its score."""

    form: str
    size: int
    n_weights: int
    score: float


def compare(
    tensors: Mapping[str, Any],
    scorer: Callable[[dict[str, Any]], float],
    precisions: Iterable[str] = ("float32", "float16", "int8"),
    thresholds: Iterable[float] = (0.0, 0.01, 0.03, 0.1),
    drop_names: bool = False,
) -> list[Comparison]:
    """Return the score of smaller and smaller forms of a model, the largest first.

    Parameters
    ----------
    tensors : mapping of str to buffers
        The model as it was trained.
    scorer : callable
        From tensors to a score, such as the F1 of a `_core.Model` of them on development data.
    precisions, thresholds, drop_names
        Every combination of these is tried, as `quantize` and `prune` have them.

    Examples
    --------
    >>> import numpy as np
    >>> tensors = {"channel.token.starts": np.array([0, 2], "u4"),
    ...            "channel.token.codes": np.array([0, 1], "u1"),
    ...            "channel.token.weights": np.array([1.0, 0.02], "f4"),
    ...            "channel.transitions.weights": np.zeros(4, "f4")}
    >>> def share(smaller):
    ...     return len(smaller["channel.token.weights"]) / 2
    >>> for row in compare(tensors, share, ["float32"], [0.0, 0.1]):
    ...     print(row.form, row.size, row.n_weights, row.score)
    float32 34 2 1.0
    float32, without weights up to 0.1 29 1 0.5
    """
    rows = []
    precisions = list(precisions)
    for threshold in thresholds:
        pruned = prune(tensors, threshold, drop_names)
        for precision in precisions:
            smaller = quantize(pruned, precision)
            form = precision if threshold == 0 else f"{precision}, without weights up to {threshold:g}"
            rows.append(
                Comparison(form, sum(sizes(smaller).values()), _total(smaller, "codes"), float(scorer(smaller)))
            )
    return sorted(rows, key=lambda row: -row.size)


def _without_names(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: part
        for name, part in tensors.items()
        if not name.endswith(("channel.token.names.text", "channel.token.names.ends"))
    }


def _described_anew(settings: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the counts that pruning changes: how many weights there are, which share is known."""
    training = dict(settings.get("training") or {})
    if "n_weights" in training:
        training["n_weights"] -= _total(before, "codes") - _total(after, "codes")
    if "known_share" in training and "channel.token.keys" in before:
        training["known_share"] *= _rows(after) / max(_rows(before), 1)
    return {**settings, "training": training} if training else dict(settings)


def _total(tensors: Mapping[str, Any], part: str) -> int:
    return sum(len(memoryview(tensors[f"{prefix}.{part}"])) for prefix in _prefixes(tensors))


def _rows(tensors: Mapping[str, Any]) -> int:
    return len(memoryview(tensors["channel.token.starts"])) - 1


def _prefixes(tensors: Mapping[str, Any]) -> list[str]:
    """What the names of the tensors of each channel with attributes begin with: ``channel.token``, ``channel.pair``.

    Channels that are dense, as those of transitions are, have no attributes and stay as they are.
    """
    return sorted(name.removesuffix(".starts") for name in tensors if name.endswith(".starts"))


def weights_of(tensors: Mapping[str, Any], prefix: str) -> Array:
    """Return the weights of a channel as float32, whatever form they have; as float64 where they are.

    Parameters
    ----------
    tensors : mapping of str to buffers
        As `load` returns them.
    prefix : str
        The channel, ``"channel.token"`` for example.

    Examples
    --------
    >>> import numpy as np
    >>> weights_of({"channel.token.weights": np.array([1, 2], "i1"), "channel.token.codes": np.array([0, 1], "u1"),
    ...             "channel.token.scales": np.array([0.5], "f4")}, "channel.token").tolist()
    [0.5, 1.0]
    """
    import numpy as np

    weights = np.asarray(tensors[f"{prefix}.weights"])
    if weights.dtype == np.uint16:
        weights = weights.view(np.float16)
    if weights.dtype == np.float64:
        return weights
    if weights.dtype != np.int8:
        return weights.astype(np.float32)
    scales = np.asarray(tensors[f"{prefix}.scales"])
    codes = np.asarray(tensors[f"{prefix}.codes"])
    decoded: Array = weights.astype(np.float32) * (scales[0] if scales.size == 1 else scales[codes])
    return decoded


def _pruned(tensors: Mapping[str, Any], prefix: str, threshold: float) -> dict[str, Any]:
    """The tensors of one kind of attributes that change."""
    import numpy as np

    starts = np.asarray(tensors[f"{prefix}.starts"]).astype(np.int64)
    kept = np.abs(weights_of(tensors, prefix)) > threshold
    counts = np.diff(np.concatenate([[0], np.cumsum(kept)])[starts])
    out = {
        f"{prefix}.codes": np.asarray(tensors[f"{prefix}.codes"])[kept],
        f"{prefix}.weights": np.asarray(tensors[f"{prefix}.weights"])[kept],
    }
    if f"{prefix}.keys" in tensors:  # hashed models have all their rows, used or not
        used = counts > 0
        counts = counts[used]
        table_keys, slots = np.asarray(tensors[f"{prefix}.keys"]), np.asarray(tensors[f"{prefix}.slots"])
        filled = slots != _EMPTY
        keys = np.zeros(len(starts) - 1, dtype=np.uint64)
        keys[slots[filled]] = table_keys[filled]
        out[f"{prefix}.keys"], out[f"{prefix}.slots"] = _core.key_table(keys[used])
        out |= _kept_names(tensors, f"{prefix}.names", used)
    out[f"{prefix}.starts"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    return out


def _kept_names(tensors: Mapping[str, Any], place: str, used: NDArray[np.bool_]) -> dict[str, Any]:
    import numpy as np

    if f"{place}.text" not in tensors:
        return {}
    lengths: Array = np.diff(np.asarray(tensors[f"{place}.ends"]).astype(np.int64), prepend=0)
    text = np.asarray(tensors[f"{place}.text"])[: lengths.sum()]
    return {
        f"{place}.text": text[np.repeat(used, lengths)],
        f"{place}.ends": np.cumsum(lengths[used]).astype(np.uint32),
    }
