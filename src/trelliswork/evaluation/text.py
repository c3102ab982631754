"""Tables as text."""

from __future__ import annotations

__all__ = ["aligned"]


def aligned(rows: list[list[str]], left: int = 1) -> list[str]:
    """Return each row as a line: the first ``left`` columns flush left, the others flush right under their heads.

    Examples
    --------
    >>> print("\\n".join(aligned([["label", "f1"], ["NP", "95.90"]])))
    label     f1
    NP     95.90
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
