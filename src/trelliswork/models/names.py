"""Names in model files: of classes and tokens, which may be text or numbers, as tensors and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput

__all__ = ["as_json", "as_tensors", "from_tensors", "integers"]


def as_json(names: Sequence[Any], what: str) -> list[Any]:
    """Return names as JSON holds them; those that it does not bring back as they were are refused.

    Examples
    --------
    >>> as_json(["A", 2, np.float64(0.5)], "classes")
    ['A', 2, 0.5]
    >>> as_json([("a", "b")], "classes")
    Traceback (most recent call last):
    trelliswork.errors.InvalidInput: classes has ('a', 'b') (tuple), which a model file cannot hold: it holds texts,
    numbers, True and False. Pickle the model instead.
    """
    plain = [name.item() if isinstance(name, np.generic) else name for name in names]
    for name in plain:
        if type(name) not in (str, int, float, bool) or (isinstance(name, float) and not np.isfinite(name)):
            raise InvalidInput(
                f"{what} has {name!r} ({type(name).__name__}), which a model file cannot hold: it holds texts, "
                "numbers, True and False. Pickle the model instead."
            )
    return plain


def as_tensors(prefix: str, names: Sequence[str]) -> dict[str, Any]:
    """Return texts as two tensors: all of them in UTF-8, one after the other, and where each ends.

    Examples
    --------
    >>> from_tensors("channel.token", as_tensors("channel.token", ["dog", "\u00e9t\u00e9"]))
    ['dog', '\u00e9t\u00e9']
    """
    texts = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    if len(ends) and ends[-1] >= 2**32:
        raise InvalidInput("the names take 4 GiB or more; a model file has no room for them.")
    text = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return {f"{prefix}.names.text": text, f"{prefix}.names.ends": ends.astype(np.uint32)}


def from_tensors(prefix: str, tensors: Mapping[str, Any]) -> list[str]:
    """Return what `as_tensors` wrote, or raise `ValueError`."""
    text = bytes(tensors[f"{prefix}.names.text"])
    ends = integers(tensors, f"{prefix}.names.ends").tolist()
    starts = [0, *ends][: len(ends)]
    if any(start > end for start, end in zip(starts, ends, strict=True)) or (ends[-1] if ends else 0) != len(text):
        raise ValueError(f"the ends of the names of {prefix} do not fit")
    return [text[start:end].decode("utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True)]


def integers(tensors: Mapping[str, Any], name: str) -> npt.NDArray[np.int64]:
    """Return a tensor of unsigned integers, or raise `ValueError`."""
    found = np.asarray(tensors[name])
    if found.dtype.kind != "u" or (found.size and int(found.max()) >= 2**63):
        raise ValueError(f"{name} has no whole numbers that make sense")
    return found.astype(np.int64)
