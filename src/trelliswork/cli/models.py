"""How the commands open the models they are given: once, mapped or read."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["loaded_model", "no_mmap_option"]

no_mmap_option = click.option(
    "--no-mmap",
    "mmap",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Read the model into memory instead of mapping it, if its file may be changed in place.",
)


def loaded_model(model: str, jobs: int | None, mmap: bool = True) -> Any:
    """Return a saved model, ready to predict with so many threads; None is one for each processor."""
    from trelliswork.estimators.saved import loaded

    labeler = loaded(model, light=True, mmap=mmap)
    labeler.n_jobs = jobs or -1
    return labeler
