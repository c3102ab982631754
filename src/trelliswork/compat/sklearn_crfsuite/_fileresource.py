"""A file that an object owns, and that is pickled with it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

from trelliswork.errors import InvalidModel

__all__ = ["FileResource"]

_DATA = "__FILE_RESOURCE_DATA__"
_OF_THIS_PROCESS = ("fd", "_process")


class FileResource:
    """A file of a given name, or a temporary one, which is removed with its owner, and whose contents are pickled.

    Parameters
    ----------
    filename : str, optional
        Left out, there is a temporary file once `ensure_name` or `refresh` is called.
    keep_tempfiles : bool, default False
    suffix, prefix : str
        Of the name of the temporary file.
    """

    name: str | None

    def __init__(
        self, filename: str | None = None, keep_tempfiles: bool = False, suffix: str = "", prefix: str = ""
    ) -> None:
        self.name = filename
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self.suffix = suffix
        self.prefix = prefix

    def ensure_name(self) -> None:
        """Make a temporary file if there is none."""
        if self.name is not None:
            return
        if not self.auto:
            raise ValueError("File name is not provided")
        self.fd, self.name = tempfile.mkstemp(self.suffix, self.prefix)
        self._process = os.getpid()

    def cleanup(self) -> None:
        """Remove the temporary file, unless it is to be kept, or belongs to the process that this one is a fork of."""
        if self.keep_tempfiles or not self.auto or self.name is None:
            return
        with contextlib.suppress(OSError):
            os.close(self.fd)
        if self._process == os.getpid():
            with contextlib.suppress(OSError):
                os.unlink(self.name)
        self.name = None

    def refresh(self) -> None:
        """Begin anew with an empty temporary file."""
        self.cleanup()
        self.ensure_name()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for own in _OF_THIS_PROCESS:
            state.pop(own, None)
        if self.auto and self.name is not None:
            with contextlib.suppress(OSError), open(self.name, "rb") as file:
                state[_DATA] = file.read()
            state["name"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {name: value for name, value in state.items() if name not in _OF_THIS_PROCESS}
        data = state.pop(_DATA, None)
        known = vars(FileResource()).keys() <= state.keys()
        if not known or not isinstance(data, bytes | None):
            found = ", ".join(state) or "nothing"
            raise InvalidModel(f"a pickled model file with {found} is of an unknown version of sklearn-crfsuite.")
        self.__dict__.update(state)
        if data is not None:
            self.name = None
            self.ensure_name()
            assert self.name is not None
            with open(self.name, "wb") as file:
                file.write(data)
