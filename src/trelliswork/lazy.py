"""Public names that are loaded when first used, listed once.

A package says in one mapping which module defines which of its public names; its ``__getattr__``, ``__dir__`` and
``__all__`` follow. Type checkers read the same from ``__init__.pyi``, which ``make stubs`` writes; a test holds the two
together.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # spelled out: `typing` takes longer to import than all of this
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Homes = Mapping[str, Sequence[str]]

__all__ = ["attach", "stub_of", "write_stubs"]


def attach(package: str, homes: Homes) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to sequences of str
        From modules of this library to the public names that they define. Of ``""`` and of packages, these may be
        modules.

    Examples
    --------
    >>> get, names, _ = attach("trelliswork.evaluation", {"evaluation.scores": ("Score",)})
    >>> get("Score").__name__, names()
    ('Score', ['Score'])
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _loaded(home_of[name], name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted([*home_of, "__version__"] if package == "trelliswork" else home_of), sorted(home_of)


def _loaded(home: str, name: str) -> Any:
    where = f"trelliswork.{home}" if home else "trelliswork"
    module = importlib.import_module(where)
    return vars(module)[name] if name in vars(module) else importlib.import_module(f"{where}.{name}")


def stub_of(homes: Homes) -> str:
    """Return the text of ``__init__.pyi`` of a package with these names.

    Examples
    --------
    >>> print(stub_of({"evaluation.scores": ("Score",)}))
    # Written by `make stubs` from __init__.py.
    from trelliswork.evaluation.scores import Score as Score
    <BLANKLINE>
    __all__ = ["Score"]
    <BLANKLINE>
    """
    lines = ["# Written by `make stubs` from __init__.py."]
    for home, names in sorted(homes.items()):
        where = f"trelliswork.{home}" if home else "trelliswork"
        lines += [f"from {where} import {name} as {name}" for name in sorted(names)]
    public = sorted(name for names in homes.values() for name in names)
    return "\n".join([*lines, "", f"__all__ = [{', '.join(f'{chr(34)}{name}{chr(34)}' for name in public)}]", ""])


def write_stubs() -> None:
    """Write ``__init__.pyi`` of all packages whose names are listed by `attach`."""
    from pathlib import Path

    root = Path(__file__).parent
    for path in root.rglob("__init__.py"):
        where = ".".join(["trelliswork", *path.parent.relative_to(root).parts])
        if (homes := getattr(importlib.import_module(where), "_HOMES", None)) is not None:
            version = "__version__: str\n" if where == "trelliswork" else ""
            path.with_suffix(".pyi").write_text(stub_of(homes) + version)
