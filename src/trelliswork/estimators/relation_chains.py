"""Relations as chains: a `SequenceLabeler` labels the modifiers of a head from left to right.

The second stage of ``DependencyParser(labels="chain")``: heads are known, and the relation of a modifier may depend on
that of the one before it, since two subjects of one verb are rare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy.typing as npt

from trelliswork import _core
from trelliswork.features.templates import Templates

__all__ = ["chain_templates", "chains_of", "in_order"]

_BINS = ((10, "10+"), (5, "5..9"), (3, "3..4"), (2, "2"), (1, "1"))
_ROOT, _OUTSIDE = "ROOT", "_"


def chains_of(columns: _core.Columns, heads: npt.NDArray[Any]) -> tuple[list[list[tuple[str, ...]]], list[int]]:
    """Return the chains of all sentences, and the positions of their tokens among all words.

    A token has the columns of the head, of the modifier, of the words before and after the modifier, its side of the
    head, and its distance.
    """
    chains: list[list[tuple[str, ...]]] = []
    places: list[int] = []
    begin = 0
    n_columns = columns.n_columns
    for i, n in enumerate(columns.lengths().tolist()):
        rows: Sequence[Any] = columns.sequence(i)
        cells = [(_ROOT,) * n_columns, *((row,) if n_columns == 1 else row for row in rows), (_OUTSIDE,) * n_columns]
        own = heads[begin : begin + n]
        of_head: dict[int, list[int]] = {}
        for m, h in enumerate(own.tolist(), 1):
            of_head.setdefault(h, []).append(m)
        for h in sorted(of_head):
            chains.append(
                [
                    (
                        *cells[h],
                        *cells[m],
                        *cells[m - 1],
                        *cells[m + 1],
                        "right" if m > h else "left",
                        next(name for least, name in _BINS if abs(m - h) >= least),
                    )
                    for m in of_head[h]
                ]
            )
            places += [begin + m - 1 for m in of_head[h]]
        begin += n
    return chains, places


def in_order(labels: Iterable[Sequence[Any]], places: Sequence[int]) -> list[Any]:
    """Return the labels of chains in the order of words."""
    found = [label for own in labels for label in own]
    out: list[Any] = [None] * len(found)
    for place, label in zip(places, found, strict=True):
        out[place] = label
    return out


def chain_templates(n_columns: int) -> Templates:
    """Return the templates for a modifier and its head with this number of columns each.

    Examples
    --------
    >>> chain_templates(1).n_columns
    6
    """
    names = [f"{kind}{k}" for kind in ("head", "mod", "before", "behind") for k in range(n_columns)]
    tag = min(n_columns - 1, 3)  # of CoNLL-U, the column xpos
    lines = [f"columns: {' '.join(names)} side far", f"head{tag} & mod{tag} & far & side"]
    lines += [f"head{tag} & before{tag} & mod{tag}", f"head{tag} & mod{tag} & behind{tag}"]
    lines += [f"before{tag} & mod{tag} & behind{tag}"]
    for k in range(n_columns):
        lines += [f"mod{k}", f"mod{k} & side", f"head{k} & side", f"head{k} & mod{k} & side"]
        lines += [f"before{k} & mod{tag}", f"mod{tag} & behind{k}", f"mod{k} & mod{tag} & side"]
        if k != tag:
            lines += [f"head{tag} & mod{k} & side", f"head{k} & mod{tag} & side", f"head{k} & before{k} & mod{tag}"]
    lines += ["suffix(mod0, 3)", f"suffix(mod0, 3) & head{tag}"]
    return Templates("\n".join(dict.fromkeys(lines)), name="chains of relations")
