"""Blocks and channels: what a model file says of its structure, and files of version 1, which knew chains only.

A block is a kind of parts that a structure has (labels of tokens, transitions between them), a channel a set of
attributes that feeds one. The tensors of a channel begin with ``channel.`` and its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["described_chain", "upgraded"]

_VERSION_1 = {"attribute": "channel.token", "names": "channel.token.names", "pair": "channel.pair"}


def described_chain(tensors: Mapping[str, Any], n_labels: int) -> dict[str, Any]:
    """Return the settings ``blocks`` and ``channels`` of a first-order chain.

    Examples
    --------
    >>> described_chain({}, 2)["blocks"]
    {'labels': 2, 'transitions': 4}
    """
    channels = {"token": {"block": "labels", "sites": "each"}}
    if "channel.pair.starts" in tensors:
        channels["pair"] = {"block": "transitions", "sites": "each"}
    channels["transitions"] = {"block": "transitions", "sites": "tied"}
    return {"blocks": {"labels": n_labels, "transitions": n_labels**2}, "channels": channels}


def upgraded(tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and settings of a file of version 1 as version 2 has them.

    Examples
    --------
    >>> tensors, settings = upgraded({"attribute.labels": b"", "allowed.start": b"", "transitions": b""}, {})
    >>> list(tensors)
    ['channel.token.codes', 'allowed.start', 'channel.transitions.weights']
    """
    described = dict(settings)
    if settings.get("members"):
        described["members"] = {name: upgraded({}, own)[1] for name, own in settings["members"].items()}
    elif settings.get("labels"):
        # Whether a member has pairs its own tensors say; they are looked at when it is restored.
        described |= described_chain({_renamed(name, {}): None for name in tensors}, len(settings["labels"]))
    return {_renamed(name, settings): tensor for name, tensor in tensors.items()}, described


def _renamed(name: str, settings: Mapping[str, Any]) -> str:
    head, _, rest = name.partition(".")
    member = (settings.get("members") or {}).get(head)
    if member is not None:
        return f"{head}.{_renamed(rest, member)}"
    if name == "transitions":
        return "channel.transitions.weights"
    if head not in _VERSION_1:
        return name
    return f"{_VERSION_1[head]}.{'codes' if rest == 'labels' else rest}"
