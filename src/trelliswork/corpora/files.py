"""Opening of files for readers and writers: paths, open files, standard streams, gzip and encodings.

Readers get numbered lines. Lines end only at ``\\n`` or ``\\r\\n``: other characters at which `str.splitlines` breaks
(form feeds, U+2028) may occur in a token. Writers get a function that takes text.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TypeAlias

from trelliswork.errors import InvalidInput

__all__ = ["Source", "Target", "name_of", "numbered_lines", "reading_bytes", "writing"]

Source: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]
Target: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]

_GZIP = b"\x1f\x8b"
_BOM = "\ufeff"


def name_of(source: Source) -> str:
    """Return the name of a file for error messages.

    Examples
    --------
    >>> name_of("corpus/train.txt"), name_of("-")
    ('corpus/train.txt', '<stdin>')
    """
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return "<stdin>" if path == "-" else path
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<input>"


def numbered_lines(source: Source, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, from 1, without line ends; one line is in memory at a time.

    Parameters
    ----------
    source : path, file object or "-"
        A gzip file is decompressed, whatever its name. ``"-"`` is the standard input. An open file is read from its
        current position and left open; a text file uses its own encoding.
    encoding : str
        The encoding of the file. A byte order mark at the beginning is dropped.

    Raises
    ------
    InvalidInput
        If a line cannot be decoded or contains a NUL character, or compressed data are damaged.

    Examples
    --------
    >>> import io
    >>> list(numbered_lines(io.BytesIO(b"caf\\xc3\\xa9\\r\\n\\r\\nend")))
    [(1, 'café'), (2, ''), (3, 'end')]
    """
    name = name_of(source)
    check_encoding(encoding)
    with _opened(source) as file:
        text = _is_text(file)
        lines = _text_lines(file, name) if text else _binary_lines(file, name, encoding)
        for number, line in lines:
            line = line.removesuffix("\n").rstrip("\r")
            if number == 1:
                line = line.removeprefix(_BOM)
            if "\0" in line:
                raise InvalidInput(
                    f"{name}, line {number}: found a NUL character. This is no text in the encoding "
                    f"{encoding!r}; if it is UTF-16, pass encoding='utf-16'."
                )
            yield number, line


@contextmanager
def reading_bytes(source: Source, encoding: str = "utf-8") -> Iterator[Callable[[int], bytes]]:
    """Give a function that reads a number of bytes of a file, or all (-1), as UTF-8; it returns fewer only at the end.

    Parameters
    ----------
    source : path, file object or "-"
        As for `numbered_lines`.
    encoding : str
        The encoding of the file. Lines in other encodings than UTF-8, and those of text files, are re-encoded one by
        one.

    Examples
    --------
    >>> import io
    >>> with reading_bytes(io.BytesIO(b"caf\\xe9\\n"), encoding="latin-1") as read:
    ...     read(100)
    b'caf\\xc3\\xa9\\n'
    """
    name = name_of(source)
    check_encoding(encoding)
    with _opened(source) as file:
        if _is_text(file) or encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
            yield _Encoded(numbered_lines(file, encoding), name).read
            return
        import zlib

        with _decompressed(file) as plain:
            done = 0

            def read(size: int) -> bytes:
                nonlocal done
                try:
                    chunk = plain.read(size)
                except (EOFError, zlib.error) as error:
                    raise _damaged_after(name, done, error) from error
                except OSError as error:
                    if type(error).__name__ != "BadGzipFile":
                        raise
                    raise _damaged_after(name, done, error) from error
                done += len(chunk)
                return chunk

            yield read


@contextmanager
def writing(target: Target, encoding: str = "utf-8") -> Iterator[Callable[[str], object]]:
    """Give a function that writes text to a file; a file at a path is then complete or, after an error, unchanged.

    Parameters
    ----------
    target : path, file object or "-"
        For a path, the text goes to a temporary file in the same folder, which replaces the file at the end and is
        removed after an error. A name that ends in ``.gz`` is compressed. ``"-"`` is the standard output. Open files
        are written to from their current position, and left open.
    encoding : str
        The encoding of the file; text files have their own.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> with writing(file, encoding="latin-1") as write:
    ...     _ = write("café")
    >>> file.getvalue()
    b'caf\\xe9'
    """
    check_encoding(encoding)
    name = "<stdout>" if isinstance(target, str) and target == "-" else name_of(target)
    try:
        with _writable(target, encoding) as file:
            yield file.write
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{name}: {error.object[error.start : error.end]!r} cannot be written in the encoding {error.encoding!r}. "
            "Write UTF-8, which has all characters, or remove lone surrogates."
        ) from error


def check_encoding(encoding: str) -> None:
    """Refuse what is not the name of a text encoding."""
    try:
        "\n".encode(encoding)
    except (LookupError, TypeError, UnicodeError) as error:
        raise InvalidInput(f"encoding {encoding!r} is not known: {error}. Use a name such as 'utf-8'.") from error


@contextmanager
def _opened(source: Source) -> Iterator[IO[Any]]:
    """Open what is a path, and borrow what is open."""
    if not isinstance(source, str | os.PathLike):
        if not hasattr(source, "read"):
            raise InvalidInput(f"expected a path, an open file or '-', found {source!r}.")
        yield source
    elif os.fspath(source) == "-":
        if sys.stdin is None:
            raise InvalidInput("<stdin>: the standard input is closed. Name a file to read.")
        yield getattr(sys.stdin, "buffer", sys.stdin)
    else:
        with open(source, "rb") as file:
            yield file


def _is_text(file: IO[Any]) -> bool:
    return isinstance(file.read(0), str)


def _text_lines(file: IO[str], name: str) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(file, 1):
            yield number, line
    except UnicodeError as error:
        # The file decodes ahead of its lines, so the line is known only roughly.
        raise InvalidInput(f"{name}, after line {number}: {_undecodable(error)} Open it with its encoding.") from error


def _binary_lines(file: IO[bytes], name: str, encoding: str) -> Iterator[tuple[int, str]]:
    import zlib  # these two here: what is not compressed need not wait for them

    number = 0
    try:
        with _decompressed(file) as plain:
            if "\n".encode(encoding) != b"\n":  # UTF-16 and UTF-32: line ends are not one byte
                wrapper = io.TextIOWrapper(plain, encoding=encoding, newline="\n")
                try:
                    yield from _text_lines(wrapper, name)
                finally:
                    wrapper.detach()
                return
            for number, line in enumerate(plain, 1):
                yield number, _decoded(line, name, number, encoding)
    except (EOFError, zlib.error) as error:
        raise _damaged(name, number, error) from error
    except OSError as error:
        if type(error).__name__ != "BadGzipFile":
            raise
        raise _damaged(name, number, error) from error


@contextmanager
def _decompressed(file: IO[bytes]) -> Iterator[io.BufferedReader[Any]]:
    """The file behind a buffer that can be peeked into, and behind gzip if it begins so."""
    buffered = io.BufferedReader(_Raw(file))
    if buffered.peek(2)[:2] == _GZIP:
        import gzip

        with gzip.GzipFile(fileobj=buffered, mode="rb") as plain:
            yield io.BufferedReader(plain)
    else:
        yield buffered


class _Raw(io.RawIOBase):
    """A binary file that stays open when the buffer around it is closed; needs nothing of it but ``read``."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._at_start = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # read1 where there is one: a pipe gives what it has, instead of waiting until the buffer is full.
        read = getattr(self._file, "read1", self._file.read)
        chunk = read(len(buffer)) or b""
        if self._at_start and len(chunk) == 1:  # two bytes tell whether it is gzip
            chunk += read(len(buffer) - 1) or b""
        self._at_start = False
        buffer[: len(chunk)] = chunk
        return len(chunk)


class _Encoded:
    """Lines of text as one stream of UTF-8."""

    def __init__(self, lines: Iterator[tuple[int, str]], name: str) -> None:
        self._lines = lines
        self._name = name
        self._rest = b""

    def read(self, size: int) -> bytes:
        parts = [self._rest]
        held = len(self._rest)
        while held < size or size < 0:
            number, line = next(self._lines, (0, ""))
            if not number:
                break
            try:
                # A second mark at the beginning is a character of the text; the reader behind drops the first alone.
                part = ((_BOM if number == 1 and line.startswith(_BOM) else "") + line + "\n").encode()
            except UnicodeEncodeError as error:
                raise InvalidInput(
                    f"{self._name}, line {number}: found a lone surrogate, which is no text. Remove it."
                ) from error
            parts.append(part)
            held += len(part)
        everything = b"".join(parts)
        cut = len(everything) if size < 0 else size
        self._rest = everything[cut:]
        return everything[:cut]


def _decoded(line: bytes, name: str, number: int, encoding: str) -> str:
    try:
        return line.decode(encoding)
    except UnicodeError as error:
        advice = "If it is Latin-1, pass encoding='latin-1' (from Windows: 'cp1252')."
        if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
            advice = "The file begins as UTF-16 does: pass encoding='utf-16'."
        raise InvalidInput(f"{name}, line {number}: {_undecodable(error)} {advice}") from error


def _undecodable(error: UnicodeError) -> str:
    if not isinstance(error, UnicodeDecodeError):
        return f"{error}."
    wrong = error.object[error.start : error.start + 1].hex()
    return f"byte 0x{wrong} in column {error.start + 1} is not {error.encoding!r} ({error.reason})."


def _damaged(name: str, number: int, error: Exception) -> InvalidInput:
    return InvalidInput(
        f"{name}, after line {number}: the gzip data are damaged or cut off ({error}). Fetch or compress it again."
    )


def _damaged_after(name: str, n_bytes: int, error: Exception) -> InvalidInput:
    return InvalidInput(
        f"{name}, after {n_bytes} bytes: the gzip data are damaged or cut off ({error}). Fetch or compress it again."
    )


@contextmanager
def _writable(target: Target, encoding: str) -> Iterator[IO[str]]:
    if not isinstance(target, str | os.PathLike):
        if not hasattr(target, "write"):
            raise InvalidInput(f"expected a path, an open file or '-', found {target!r}.")
        with _encoding(target, encoding) as file:
            yield file
    elif os.fspath(target) == "-":
        if sys.stdout is None:
            raise InvalidInput("<stdout>: the standard output is closed. Name a file to write.")
        sys.stdout.flush()  # what was printed before comes before
        with _encoding(getattr(sys.stdout, "buffer", sys.stdout), encoding) as file:
            yield file
    else:
        from trelliswork.atomic_files import replacing  # here: what reads need not wait for it

        with (
            replacing(os.fspath(target)) as binary,
            _compressing(binary, os.fspath(target)) as plain,
            _encoding(plain, encoding) as file,
        ):
            yield file


@contextmanager
def _compressing(binary: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    if path.endswith(".gz"):
        import gzip

        # No name and no time in the header: the same text gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=binary, mtime=0) as compressed:
            yield compressed  # type: ignore[misc]
    else:
        yield binary


@contextmanager
def _encoding(file: IO[Any], encoding: str) -> Iterator[IO[str]]:
    """The file as one that takes text and writes ``\\n`` as it is, on every system."""
    if _takes_text(file):
        yield file
    else:
        wrapper = io.TextIOWrapper(file, encoding=encoding, newline="\n")
        try:
            yield wrapper
        finally:
            _detach(wrapper)
    file.flush()


def _takes_text(file: IO[Any]) -> bool:
    try:
        file.write("")
    except TypeError:
        return False
    return True


def _detach(wrapper: io.TextIOWrapper) -> None:
    """Flush into the file below and leave it open; if that fails, do not try again when the wrapper is collected."""
    try:
        wrapper.flush()
    finally:
        with suppress(Exception):
            wrapper.detach()
