"""Files that are written whole or not at all, for models and corpora alike.

A temporary file beside the old one takes its place when all is written. While it is being written it is locked, so that
the next one who writes a file of that name can tell what a killed process left behind, and removes it.
"""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

try:
    import fcntl
except ImportError:  # not POSIX: nobody can tell what is left over, so it stays
    fcntl = None  # type: ignore[assignment]

__all__ = ["replacing"]

_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)  # some file systems cannot synchronise a folder


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Give a new file that takes the place of the path when all went well, and disappears when not.

    A device or a pipe cannot be replaced, so it is written to; what a link points to is replaced, and not the link. An
    `OSError` names the file.

    Parameters
    ----------
    path : str
        The file to be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(os.path.join(folder, "notes")) as file:
    ...         _ = file.write(b"all of it")
    ...         during = len(os.listdir(folder))
    ...     during, os.listdir(folder)
    (1, ['notes'])
    """
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with _opened(path, "wb", path) as file:
            yield file
    else:
        with _temporary(path) as file:
            yield file


class _NamedFile(io.FileIO):
    """A file whose errors of writing say where it was to go."""

    def __init__(self, file: str, mode: str, path: str) -> None:
        super().__init__(file, mode)
        self._path = path

    def write(self, data: Any) -> int:
        with _naming(self._path):
            return super().write(data)


def _opened(file: str, mode: str, path: str) -> IO[bytes]:
    return io.BufferedWriter(_NamedFile(file, mode, path), 1 << 16)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Let an error of a call that knows a descriptor only name the file."""
    try:
        yield
    except OSError as error:
        error.filename = path
        raise


@contextmanager
def _temporary(path: str) -> Iterator[IO[bytes]]:
    _remove_leftovers(path)
    folder, base = os.path.split(path)
    temporary = ""
    file: IO[bytes] | None = None
    try:  # from here on, not only after opening: an interrupt may come between the two
        while file is None:
            temporary = os.path.join(folder, f".{base}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
            file = _opened(temporary, "xb", path)  # not tempfile, whose files no one else may read
            if not _locked(file):  # taken for a leftover before the lock was ours
                file.close()
                file = None
        yield file
        file.flush()
        with _naming(path):
            os.fsync(file.fileno())
        with suppress(OSError):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        if fcntl is None:  # where open files cannot be renamed, there is no lock to keep either
            file.close()
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        if file is not None:
            with suppress(OSError):  # what could not be written has been said
                file.close()
    _synchronise(folder)


def _locked(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; whether it still has a name."""
    if fcntl is None:
        return True
    with suppress(OSError):  # some file systems have no locks; there, leftovers stay
        fcntl.flock(file, fcntl.LOCK_EX)
    return os.fstat(file.fileno()).st_nlink > 0


def _remove_leftovers(path: str) -> None:
    """Remove the temporary files of this name whose writers are dead: nobody has them locked."""
    if fcntl is None:
        return
    folder, base = os.path.split(path)
    pattern = re.compile(rf"\.{re.escape(base)}\.\d+-[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):  # a folder that cannot be listed
        for entry in os.scandir(folder):
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_unlocked(entry.path)


def _remove_unlocked(leftover: str) -> None:
    with suppress(OSError), open(leftover, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(leftover)


def _synchronise(folder: str) -> None:
    """Let the new name survive a failure of the machine, too."""
    if os.name != "posix":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except PermissionError:  # one may write into it without being allowed to look
        return
    try:
        with _naming(folder):
            os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)
