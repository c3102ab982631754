"""Column text in blocks of whole sentences: large ones of a file, and of a pipe whatever has arrived.

Somebody who writes a sentence and a blank line into a pipe gets it back at once, before the next one is written.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from typing import IO

__all__ = ["blocks", "live_blocks"]

CHUNK = 1 << 16  # what a pipe holds


def blocks(source: str, size: int, encoding: str) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of whole sentences of a file or of the standard input, with the numbers of their first lines.

    Parameters
    ----------
    source : str
        A path, or ``"-"``.
    size : int
        About how many bytes a block has, if so many are there.
    encoding : str
        The encoding of the source; blocks are UTF-8.
    """
    from trelliswork.corpora.tables import read_blocks

    file = getattr(sys.stdin, "buffer", None)
    if source == "-" and file is not None and _is_live(file) and encoding.lower() in ("utf-8", "utf8"):
        return live_blocks(file, size)
    return read_blocks(source, size, encoding=encoding)


def live_blocks(file: IO[bytes], size: int) -> Iterator[tuple[bytes, int]]:
    """Yield the sentences of a pipe as soon as they are whole and nothing more is waiting.

    Parameters
    ----------
    file : binary file with a descriptor, and ``read1``
    size : int
        How many bytes to collect at most, if more keep coming.

    Examples
    --------
    >>> import os
    >>> reading, writing = os.pipe()
    >>> with open(reading, "rb") as pipe:
    ...     found = live_blocks(pipe, 1 << 20)
    ...     _ = os.write(writing, b"Rain\\nfell\\n\\nIt")
    ...     print(next(found))
    ...     _ = os.write(writing, b"\\nstopped\\n")
    ...     os.close(writing)
    ...     print(list(found))
    (b'Rain\\nfell\\n\\n', 1)
    [(b'It\\nstopped\\n', 4)]
    """
    held, searched, line = bytearray(), 0, 1
    while chunk := file.read1(CHUNK):  # type: ignore[attr-defined]
        held += chunk
        if len(held) < size and _more_waits(file):
            continue
        cut = max(held.rfind(b"\n\n", searched) + 2, held.rfind(b"\n\r\n", searched) + 3)
        if cut > 2:
            block = bytes(held[:cut])
            del held[:cut]
            yield block, line
            line += block.count(b"\n")
        searched = max(0, len(held) - 2)  # a blank line may be cut in two
    if held:
        yield bytes(held), line


def _is_live(file: IO[bytes]) -> bool:
    """Whether the bytes come as somebody writes them, and are not compressed."""
    try:
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):  # no file of the system's
        return False
    return not regular and file.peek(2)[:2] != b"\x1f\x8b"  # type: ignore[attr-defined]


def _more_waits(file: IO[bytes]) -> bool:
    import select

    try:
        return bool(select.select([file], [], [], 0)[0])
    except (OSError, ValueError):  # where only sockets can be asked
        return False
