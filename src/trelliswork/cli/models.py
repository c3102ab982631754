"""How the commands open the models they are given: once, mapped or read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from trelliswork.errors import InvalidInput

__all__ = [
    "loaded_model",
    "metadata_from",
    "metadata_option",
    "no_mmap_option",
    "opened_model",
    "require_labeler",
    "require_token_marginals",
    "with_beam",
]

no_mmap_option = click.option(
    "--no-mmap",
    "mmap",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Read the model into memory instead of mapping it, if its file may be changed in place.",
)


metadata_option = click.option(
    "--metadata", metavar="KEY=VALUE", multiple=True, help="Save this with the model; `inspect` shows it.  [repeatable]"
)


def metadata_from(pairs: Iterable[str]) -> dict[str, str]:
    """Return what ``KEY=VALUE`` texts say.

    Examples
    --------
    >>> metadata_from(["data=recipes of May", "by=a=b"])
    {'data': 'recipes of May', 'by': 'a=b'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidInput(f"--metadata {pair}: expected KEY=VALUE.")
        if key in found:
            raise InvalidInput(f"--metadata {pair}: {key} is given twice.")
        found[key] = value
    return found


def require_labeler(settings: Mapping[str, Any], path: str) -> None:
    """Refuse a model that does not label sequences of text; files without a kind are left to others to judge."""
    kind = settings.get("kind", "sequence-labeler")
    if kind in ("hmm", "multiclass-classifier", "multiclass-perceptron", "structured-predictor"):
        hint = " Save what its to_labeler() returns, and use that here." if kind == "hmm" else ""
        raise InvalidInput(f"{path}: this is a model of the kind {kind!r}, for tw.load in Python.{hint}")


def loaded_model(model: str, jobs: int | None, mmap: bool = True) -> Any:
    """Return a saved model, ready to predict with so many threads; None is one for each processor."""
    return opened_model(model, jobs, mmap)[0]


def opened_model(
    model: str, jobs: int | None, mmap: bool = True, beam: int | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return a saved model as `loaded_model` does, and the settings of its file."""
    from trelliswork import models
    from trelliswork.estimators.loading import restored

    data, name = models.contents(model, mmap)
    tensors, settings = models.loads_any(data, name)
    require_labeler(settings, model)
    settings = with_beam(settings, beam, model)
    labeler = restored(tensors, settings, name)
    labeler.n_jobs = jobs or -1
    return labeler, settings


def with_beam(settings: dict[str, Any], beam: int | None, path: str) -> dict[str, Any]:
    """Return the settings of a model that labels with a beam of this width; None is what its file says."""
    if beam is None:
        return settings
    if settings.get("kind") != "sequence-labeler":
        raise InvalidInput(f"{path}: --beam is for models of a SequenceLabeler.")
    return settings | {"parameters": settings.get("parameters", {}) | {"beam": beam}}


def require_token_marginals(labeler: Any, path: str) -> None:
    """Refuse a model whose probabilities are those of segments."""
    if hasattr(labeler, "longest_"):
        raise InvalidInput(
            f"{path}: this is a model of segments, whose tokens have no probabilities of their own. From Python, "
            "predict_spans has those of segments; here, --kbest has those of whole answers."
        )
