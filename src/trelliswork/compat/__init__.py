"""Drop-ins for packages that people use today: their names, their behaviour and their files, on this library's engine.

    import trelliswork.compat
    trelliswork.compat.install()     # from here on `import pycrfsuite`, `import seqeval` and so on find the drop-ins

Without touching a program, ``python -m trelliswork.compat script.py``; for whatever else starts processes, put the
folder that `shim_folder` names first on ``PYTHONPATH``. A drop-in can also be imported by its own name,
``from trelliswork.compat import pycrfsuite``. Its classes say that they are at home in trelliswork, so that what they
pickle is found by processes in which nothing is installed.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from trelliswork.errors import InvalidInput

__all__ = ["DROP_INS", "install", "installed", "shim_folder", "uninstall"]

# Packages of this folder, by the names of the originals.
DROP_INS = ("pycrfsuite", "seqeval", "sklearn_crfsuite", "torchcrf")


class _Loader(importlib.abc.Loader):
    """Lets a name of an original lead to the module of the drop-in, which is loaded once under its own name."""

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(f"{__name__}.{module.__name__}")


class _Finder(importlib.abc.MetaPathFinder):
    """Finds drop-ins in the place of originals, submodules included."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in self.names:
            return None
        found = importlib.util.find_spec(f"{__name__}.{fullname}")
        if found is None:
            return None
        package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=package)


_FINDER = _Finder()


def install(names: Iterable[str] | str | None = None) -> None:
    """Let `import` find drop-ins in the place of the originals, whether these are installed or not.

    What was imported of an original before stays with whoever has it: install first.

    Parameters
    ----------
    names : iterable of str, optional
        Which; left out, all of `DROP_INS`.

    Examples
    --------
    >>> install()
    >>> import pycrfsuite
    >>> pycrfsuite.Tagger.__module__
    'trelliswork.compat.pycrfsuite._pycrfsuite'
    >>> uninstall()
    """
    wanted = _checked(names)
    _FINDER.names |= wanted
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _forget(wanted)


def uninstall(names: Iterable[str] | str | None = None) -> None:
    """Let `import` find the originals again."""
    wanted = _checked(names)
    _FINDER.names -= wanted
    if not _FINDER.names and _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    _forget(wanted)


def installed() -> tuple[str, ...]:
    """Return the names in whose place drop-ins are found.

    Examples
    --------
    >>> installed()
    ()
    """
    return tuple(sorted(_FINDER.names))


def shim_folder() -> Path:
    """Return a folder of packages named as the originals that are the drop-ins, for ``PYTHONPATH``.

    Examples
    --------
    >>> sorted(path.name for path in shim_folder().iterdir())
    ['pycrfsuite', 'seqeval', 'sklearn_crfsuite', 'torchcrf']
    """
    return Path(__file__).parent / "shims"


def _checked(names: Iterable[str] | str | None) -> set[str]:
    wanted = set(DROP_INS) if names is None else {names} if isinstance(names, str) else set(names)
    if unknown := sorted(wanted - set(DROP_INS)):
        raise InvalidInput(f"there is no drop-in for {', '.join(unknown)}; there are {', '.join(DROP_INS)}.")
    return wanted


def _forget(names: set[str]) -> None:
    """Forget what is known under these names, so that the next import looks for it."""
    for name in [name for name in sys.modules if name.partition(".")[0] in names]:
        del sys.modules[name]
    importlib.invalidate_caches()
