"""Training that goes on from an earlier model: its weights under new labels, its attributes beside new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core, models

__all__ = ["merged", "narrowed", "relabelled"]

Tensors = dict[str, Any]
Keys = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

_PREFIXES = ("channel.token", "channel.pair")
_EMPTY = 0xFFFFFFFF  # no attribute in this place of the table


def relabelled(tensors: Mapping[str, Any], old: Sequence[str], new: Sequence[str]) -> Tensors:
    """Return the tensors of a model whose labels are now ``new``, which has all the old ones; weights are float32."""
    out = {name: np.asarray(part) for name, part in models.quantize(tensors, "float32").items()}
    if list(old) == list(new):
        return out
    place = {label: k for k, label in enumerate(new)}
    order = np.array([place[label] for label in old], dtype=np.int64)
    K = len(new)
    moves = np.zeros((K, K), dtype=np.float32)
    moves[np.ix_(order, order)] = out["channel.transitions.weights"].reshape(len(old), len(old))
    out["channel.transitions.weights"] = moves.ravel()
    out["channel.token.codes"] = narrowed(order[out["channel.token.codes"]], K)
    if "channel.pair.codes" in out:
        before, after = np.divmod(out["channel.pair.codes"].astype(np.int64), len(old))
        out["channel.pair.codes"] = narrowed(order[before] * K + order[after], K * K, least=2)
    return {name: part for name, part in out.items() if not name.startswith(("allowed.", "dictionary."))}


def merged(old: Tensors, new: Tensors, hash_bits: int) -> Tensors:
    """Return the new model with the attributes that only the old one has; labels are the same."""
    out = dict(new)
    for prefix in _PREFIXES:
        if f"{prefix}.starts" in old:
            out |= _merged_rows(old, new, prefix, hash_bits) if f"{prefix}.starts" in new else _rows(old, prefix)
    return out


def _keys(tensors: Tensors, prefix: str, hash_bits: int) -> Keys:
    """The key of each attribute by number; of a hashed one, a key that has its number."""
    n = len(tensors[f"{prefix}.starts"]) - 1
    if hash_bits:
        return np.arange(n, dtype=np.uint64) << np.uint64(64 - hash_bits)
    keys = np.zeros(n, dtype=np.uint64)
    filled = tensors[f"{prefix}.slots"] != _EMPTY
    keys[tensors[f"{prefix}.slots"][filled]] = tensors[f"{prefix}.keys"][filled]
    return keys


def _rows(tensors: Tensors, prefix: str) -> Tensors:
    return {name: part for name, part in tensors.items() if name.startswith(f"{prefix}.")}


def _merged_rows(old: Tensors, new: Tensors, prefix: str, hash_bits: int) -> Tensors:
    names = f"{prefix}.names"
    parts = [_split(new, prefix, hash_bits), _split(old, prefix, hash_bits)]
    (new_keys, new_sizes, *_), (old_keys, old_sizes, *_) = parts
    if hash_bits:  # the numbers are the same: an attribute is only the old model's if it has no weights in the new one
        return _merged_buckets(old, new, prefix)
    only_old = ~np.isin(old_keys, new_keys)
    weights_kept = np.repeat(only_old, old_sizes)
    keys = np.concatenate([new_keys, old_keys[only_old]])
    sizes = np.concatenate([new_sizes, old_sizes[only_old]])
    out: Tensors = {}
    out[f"{prefix}.keys"], out[f"{prefix}.slots"] = _core.key_table(keys)
    out[f"{prefix}.starts"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    for part in ("codes", "weights"):
        name = f"{prefix}.{part}"
        out[name] = np.concatenate([new[name], old[name][weights_kept]]).astype(new[name].dtype)
    if f"{names}.ends" in old and f"{names}.ends" in new:
        texts = [*parts[0][2], *(text for text, kept in zip(parts[1][2], only_old, strict=True) if kept)]
        out[f"{names}.text"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
        out[f"{names}.ends"] = np.cumsum([len(text) for text in texts]).astype(np.uint32)
    return out


def _split(tensors: Tensors, prefix: str, hash_bits: int) -> tuple[Keys, Ints, list[bytes]]:
    names = f"{prefix}.names"
    texts: list[bytes] = []
    if f"{names}.ends" in tensors:
        text, ends = bytes(tensors[f"{names}.text"]), tensors[f"{names}.ends"].tolist()
        texts = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    return _keys(tensors, prefix, hash_bits), np.diff(tensors[f"{prefix}.starts"].astype(np.int64)), texts


def _merged_buckets(old: Tensors, new: Tensors, prefix: str) -> Tensors:
    sizes = [np.diff(tensors[f"{prefix}.starts"].astype(np.int64)) for tensors in (new, old)]
    from_old = (sizes[0] == 0) & (sizes[1] > 0)
    numbers = [np.repeat(np.arange(len(size)), size) for size in sizes]
    kept = from_old[numbers[1]]
    order = np.argsort(np.concatenate([numbers[0], numbers[1][kept]]), kind="stable")
    out: Tensors = {
        f"{prefix}.starts": np.concatenate([[0], np.cumsum(np.where(from_old, sizes[1], sizes[0]))]).astype(np.uint32)
    }
    for part in ("codes", "weights"):
        name = f"{prefix}.{part}"
        out[name] = np.concatenate([new[name], old[name][kept]])[order].astype(new[name].dtype)
    return out


def narrowed(codes: Ints, n_codes: int, least: int = 1) -> npt.NDArray[Any]:
    """Return codes in as few bytes as ``n_codes`` of them need, ``least`` at least."""
    if n_codes <= 1 << 8 and least == 1:
        return codes.astype(np.uint8)
    return codes.astype(np.uint16 if n_codes <= 1 << 16 else np.uint32)
