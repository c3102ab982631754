"""A trained model in plain Python: dictionaries, loops, and the definition of a score read out aloud."""

from __future__ import annotations

import numpy as np

from trelliswork import _core

__all__ = ["key", "make_tensors", "random_weights", "slow_scores", "source"]


def key(name):
    return _core.hash_bytes(name.encode())


def make_tensors(weights, transitions, *, names=True, channel="token", codes=None, keys=None):
    """Tensors of a model file from {attribute: {label or pair code: weight}} and a matrix."""
    prefix, n_labels = f"channel.{channel}", len(transitions)
    codes = codes or (np.uint8 if n_labels <= 256 else np.uint16)
    keys = map(key, weights) if keys is None else keys
    table_keys, slots = _core.key_table(np.array(list(keys), dtype=np.uint64))
    rows = list(weights.values())
    tensors = {
        f"{prefix}.keys": table_keys,
        f"{prefix}.slots": slots,
        f"{prefix}.starts": np.cumsum([0, *map(len, rows)]).astype(np.uint32),
        f"{prefix}.codes": np.array([label for row in rows for label in row], dtype=codes),
        f"{prefix}.weights": np.array([w for row in rows for w in row.values()], dtype=np.float32),
        "channel.transitions.weights": np.asarray(transitions, dtype=np.float32).reshape(-1),
    }
    if names:
        encoded = [name.encode() for name in weights]
        tensors[f"{prefix}.names.text"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        tensors[f"{prefix}.names.ends"] = np.cumsum(list(map(len, encoded))).astype(np.uint32)
    return tensors


def random_weights(rng, n_attributes, n_codes, prefix="a"):
    """Some attributes with one weight, some with a few, some with all; never two with the same sum by chance."""
    out = {}
    for i in range(n_attributes):
        size = min(n_codes, rng.choice([1, 1, 2, 3, n_codes]))
        out[f"{prefix}{i}"] = {
            int(c): np.float32(rng.normal()) for c in np.sort(rng.choice(n_codes, size=size, replace=False))
        }
    return out


def source(sequences, pairs=None):
    """A source from sequences of tokens of (name, value) or names; ``pairs`` likewise, for label pairs."""
    tokens = [token for sequence in sequences for token in sequence]
    flat = [(a, 1.0) if isinstance(a, str) else a for token in tokens for a in token]
    valued = any(not isinstance(a, str) for token in tokens for a in token)
    more = {}
    if pairs is not None:
        pair_tokens = [token for sequence in pairs for token in sequence]
        more["pair_starts"] = np.cumsum([0, *map(len, pair_tokens)]).astype(np.int64)
        more["pair_keys"] = np.array([key(a) for token in pair_tokens for a in token], dtype=np.uint64)
    return _core.KeySource(
        np.array(list(map(len, sequences)), dtype=np.int64),
        np.cumsum([0, *map(len, tokens)]).astype(np.int64),
        np.array([key(name) for name, _ in flat], dtype=np.uint64),
        np.array([value for _, value in flat], dtype=np.float32) if valued else None,
        **more,
    )


def slow_scores(weights, n_codes, sequences):
    """Scores of all tokens, one row each: the sum of value * weight over the attributes of the token."""
    rows = []
    for sequence in sequences:
        for token in sequence:
            row = [0.0] * n_codes
            for attribute in token:
                name, value = (attribute, 1.0) if isinstance(attribute, str) else attribute
                for label, weight in weights.get(name, {}).items():
                    row[label] += float(np.float32(value)) * float(weight)
            rows.append(row)
    return np.array(rows).reshape(-1, n_codes)
