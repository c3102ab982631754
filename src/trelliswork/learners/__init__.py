"""Learners: training algorithms, each written once against the oracle."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from trelliswork.errors import InvalidInput
from trelliswork.learners.training import Learner

__all__ = ["Parameter", "by_name", "name_of", "names", "parameters_of", "restored", "summary"]

# Name -> module and class; loaded when first used.
_LEARNERS = {
    "crf": ("crf", "CRF"),
    "perceptron": ("online", "Perceptron"),
    "pa": ("online", "PassiveAggressive"),
    "mira": ("dual", "MIRA"),
    "sdm": ("dual", "SDM"),
    "larank": ("dual", "LaRank"),
    "pegasos": ("primal", "Pegasos"),
    "subgradient": ("primal", "Subgradient"),
    "frank-wolfe": ("batch", "FrankWolfe"),
    "cutting-plane": ("batch", "CuttingPlane"),
    "dual-coordinate": ("dual", "DualCoordinate"),
    "eg": ("exponentiated_gradient", "ExponentiatedGradient"),
    "arow": ("confidence", "AROW"),
    "memm": ("memm", "MEMM"),
}

# Parameters that had other names when models of version 1 were saved.
_FORMER = {("crf", "epochs"): "sgd_epochs", ("memm", "epochs"): "sgd_epochs"}


class Parameter(NamedTuple):
    """A parameter of a learner: its name, its type in words, its default, and what it does."""

    name: str
    type: str
    default: Any
    description: str


def names() -> list[str]:
    """Return the names of all learners, as used by the command line and ``SequenceLabeler(learner="crf")``.

    Examples
    --------
    >>> "crf" in names()
    True
    """
    return list(_LEARNERS)


def by_name(name: str, **params: Any) -> Learner:
    """Return the learner of that name, and check its parameters.

    Parameters
    ----------
    name : str
        One of `names`.
    **params
        Its parameters.

    Examples
    --------
    >>> by_name("crf", l2=0.5)
    CRF(l2=0.5)
    """
    learner: Any = _class(name)()
    learner.set_params(**params)
    learner.check()
    found: Learner = learner
    return found


def restored(name: str, params: Mapping[str, Any]) -> Learner:
    """Return the learner of a model file, which may have been written by an earlier release.

    Examples
    --------
    >>> restored("pegasos", {"k": 5, "loss": "max-margin"})
    Pegasos()
    >>> restored("crf", {"epochs": 3})
    CRF(sgd_epochs=3)
    """
    learner: Any = _class(name)()
    renamed = {_FORMER.get((name, parameter), parameter): value for parameter, value in params.items()}
    learner.set_params(**renamed).without_unused().check()
    found: Learner = learner
    return found


def name_of(learner: Any) -> str:
    """Return the name of a learner: the one for `by_name`, if it has one.

    Examples
    --------
    >>> name_of(by_name("crf"))
    'crf'
    """
    known = {kind: name for name, (_, kind) in _LEARNERS.items()}
    return known.get(type(learner).__name__, type(learner).__name__.lower())


def summary(name: str) -> str:
    """Return a description of the learner of that name, in one line.

    Examples
    --------
    >>> summary("crf")
    'Train a conditional random field.'
    """
    return _documentation(name)[0]


def parameters_of(name: str) -> list[Parameter]:
    """Return the parameters of the learner of that name, in order, with their descriptions.

    Examples
    --------
    >>> parameters_of("crf")[1]
    Parameter(name='l1', type='float', default=0.0, description='Factor of |w|_1. Above zero many weights end as exact
    zeros.')
    """
    documented = _described(_documentation(name))
    taken = inspect.signature(_class(name)).parameters.values()
    return [Parameter(each.name, *_split(documented.get(each.name, ("", "")), each.default)) for each in taken]


def _class(name: str) -> type[Any]:
    if name not in _LEARNERS:
        raise InvalidInput(f"there is no learner {name!r}; there is: {', '.join(sorted(_LEARNERS))}")
    module, kind = _LEARNERS[name]
    found: type[Any] = getattr(importlib.import_module(f"{__name__}.{module}"), kind)
    return found


def _documentation(name: str) -> list[str]:
    return inspect.cleandoc(_class(name).__doc__ or "").splitlines() or [""]


def _described(lines: list[str]) -> dict[str, tuple[str, str]]:
    """What the section Parameters of a numpydoc docstring says, by name: the type, and the description."""
    found: dict[str, tuple[str, str]] = {}
    heads: list[str] = []
    start = next((i + 2 for i, line in enumerate(lines) if line == "Parameters"), len(lines))
    for i, line in enumerate(lines[start:], start):
        if i + 1 < len(lines) and lines[i + 1].startswith("---"):
            break  # the next section
        if line and not line[0].isspace():
            several, _, kind = line.partition(" : ")
            heads = several.split(", ")  # numpydoc describes parameters that are alike together
            found |= {head: (kind, "") for head in heads}
        elif line.strip():
            found |= {head: (found[head][0], f"{found[head][1]} {line.strip()}".lstrip()) for head in heads}
    return found


def _split(documented: tuple[str, str], default: Any) -> tuple[str, Any, str]:
    """The type without the default, which the signature knows; the default; and the description as plain text."""
    kind, said = documented
    return kind.partition(", default")[0].removesuffix(", optional"), default, said.replace("``", "")
