"""What the settings of a model file may say. Their shape is checked when a file is loaded, before anything is used.

Whether what they say makes sense together (a learner with such parameters, templates that can be read) is for those to
judge who make something of it; whether a count is a number and a name is text is judged here, once, for every reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from trelliswork.errors import InvalidInput

__all__ = ["check_settings", "labels_of", "trained_elsewhere", "with_metadata"]


class _Rule(NamedTuple):
    wanted: str
    holds: Callable[[Any], bool]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -1e300 < value < 1e300


def _are_labels(value: Any) -> bool:
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        return False
    return len(set(value)) == len(value)


def _are_facts(value: Any) -> bool:
    return all(
        isinstance(fact.get("interval"), str) and _is_count(fact.get("tokens")) and _is_count(fact.get("correct"))
        for fact in value
    )


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, dict) for part in value)


def _is_object_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(holds, value.values()))


def _is_channel(value: Any) -> bool:
    known = ("each", "tied", "interval", "mapped")
    return isinstance(value, dict) and isinstance(value.get("block"), str) and value.get("sites") in known


_TEXT = _Rule("text", lambda value: isinstance(value, str))
_COUNT = _Rule("a whole number from 0 on", _is_count)
_NUMBER = _Rule("a number", _is_number)
_FLAG = _Rule("true or false", lambda value: isinstance(value, bool))
_OBJECT = _Rule("an object", lambda value: isinstance(value, dict))
_OBJECT_OR_NULL = _Rule("an object, or null", lambda value: value is None or isinstance(value, dict))
_NUMBER_OR_NULL = _Rule("a number, or null", lambda value: value is None or _is_number(value))

# The way to a setting -> what it must be where it is there. An object comes before what is in it.
_RULES = {
    "kind": _TEXT,
    "labels": _Rule("a list of texts, each once", _are_labels),
    "hash_bits": _Rule("a whole number from 0 to 31", lambda value: _is_count(value) and value <= 31),
    "structure": _OBJECT,
    "structure.name": _TEXT,
    "blocks": _Rule("an object of whole numbers", lambda value: _is_object_of(value, _is_count)),
    "channels": _Rule(
        "an object of channels, each with a block and its sites", lambda value: _is_object_of(value, _is_channel)
    ),
    "normalised": _Rule("'local'", lambda value: value == "local"),
    "probabilistic": _FLAG,
    "calibration": _OBJECT,
    "calibration.temperature": _Rule("a number above 0", lambda value: _is_number(value) and value > 0),
    "calibration.log_loss": _NUMBER,
    "calibration.log_loss_before": _NUMBER,
    "calibration.n_sequences": _COUNT,
    "features": _OBJECT,
    "features.kind": _TEXT,
    "templates": _OBJECT_OR_NULL,
    "learner": _OBJECT,
    "learner.name": _TEXT,
    "learner.parameters": _OBJECT,
    "parameters": _OBJECT,
    "parameters.decoder": _Rule("'argmax' or 'mbr'", lambda value: value in ("argmax", "mbr")),
    "parameters.scoring": _TEXT,
    "training": _OBJECT,
    "training.n_sequences": _COUNT,
    "training.n_tokens": _COUNT,
    "training.n_weights": _COUNT,
    "training.n_iter": _COUNT,
    "training.best_iteration": _COUNT,
    "training.converged": _FLAG,
    "training.message": _TEXT,
    "training.known_share": _NUMBER,
    "training.dictionary_loss": _NUMBER,
    "training.objective": _NUMBER_OR_NULL,
    "training.history": _Rule("a list of objects", _are_objects),
    "added": _OBJECT,
    "base": _OBJECT_OR_NULL,
    "reliability": _Rule("a list of intervals with counts", lambda value: _are_objects(value) and _are_facts(value)),
    "metadata": _OBJECT,
    "members": _Rule(
        "an object of objects",
        lambda value: isinstance(value, dict) and all(isinstance(v, dict) for v in value.values()),
    ),
}


def check_settings(settings: Mapping[str, Any], place: str = "") -> None:
    """Raise `ValueError` if something in the settings of a model, or of its members, is not what it must be.

    Examples
    --------
    >>> check_settings({"labels": ["A", "B"], "training": {"n_tokens": 5}})
    >>> check_settings({"members": {"first": {"training": {"n_tokens": "five"}}}})
    Traceback (most recent call last):
    ValueError: members.first.training.n_tokens is 'five', and must be a whole number from 0 on
    """
    for way, rule in _RULES.items():
        owner, _, name = way.rpartition(".")
        holder = settings.get(owner, {}) if owner else settings
        if name in holder and not rule.holds(holder[name]):
            raise ValueError(f"{place}{way} is {_shown(holder[name])}, and must be {rule.wanted}")
    for name, member in settings.get("members", {}).items():
        check_settings(member, f"{place}members.{name}.")


def labels_of(settings: Mapping[str, Any]) -> tuple[list[str], int]:
    """Return the labels and the bits of hashing that checked settings name, or raise `ValueError`.

    Examples
    --------
    >>> labels_of({"labels": ["A", "B"]})
    (['A', 'B'], 0)
    """
    labels: list[str] = settings.get("labels") or []
    if not labels:
        raise ValueError("the settings name no labels")
    return labels, settings.get("hash_bits", 0)


def trained_elsewhere(labels: Sequence[str], n_weights: int, program: str, learner: str = "crf") -> dict[str, Any]:
    """Return the settings of a sequence labeler of attributes that another program has trained.

    Parameters
    ----------
    labels : sequence of str
    n_weights : int
    program : str
        Which.
    learner : str
        The one that would do likewise.

    Examples
    --------
    >>> trained_elsewhere(["A", "B"], 5, "CRFsuite")["training"]["message"]
    'trained by CRFsuite'
    """
    return {
        "kind": "sequence-labeler",
        "labels": list(labels),
        "hash_bits": 0,
        "probabilistic": True,
        "features": {"kind": "attributes", "n_columns": None},
        "templates": None,
        "learner": {"name": learner, "parameters": {}},
        "parameters": {"cost": "hamming", "scoring": "auto"},
        "training": {
            "n_sequences": 0,
            "n_tokens": 0,
            "n_weights": n_weights,
            "objective": None,
            "n_iter": 0,
            "best_iteration": 0,
            "converged": False,
            "message": f"trained by {program}",
            "history": [],
            "known_share": 0.0,
        },
    }


def with_metadata(settings: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the settings of a model with what a user says of it, in place of what was said before.

    Parameters
    ----------
    settings : mapping
    metadata : mapping of str, or None
        Whatever JSON can hold; None leaves what is there.

    Examples
    --------
    >>> with_metadata({"kind": "example"}, {"data": "recipes of May"})
    {'kind': 'example', 'metadata': {'data': 'recipes of May'}}
    """
    if metadata is None:
        return dict(settings)
    if not isinstance(metadata, Mapping) or not all(isinstance(name, str) for name in metadata):
        raise InvalidInput(f"metadata must be a dict whose keys are str, found {_shown(metadata)}.")
    rest = {name: value for name, value in settings.items() if name != "metadata"}
    return {**rest, "metadata": dict(metadata)} if metadata else rest


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
