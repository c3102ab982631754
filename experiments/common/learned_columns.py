"""A tagger that sees, beside the columns of its tokens, some that were learned from the words of the training text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

Column = Sequence[Sequence[tuple[str, ...]]]


class WithColumns:
    """Learns columns, then a tagger that sees them.

    Parameters
    ----------
    make : callable
        Returns the tagger, not trained.
    sources : sequence of objects with ``fit(X)`` and ``columns(X)``
        What gives the columns, in this order, such as `WordClusters`.
    """

    def __init__(self, make: Callable[[], Any], sources: Sequence[Any]) -> None:
        self.make, self.sources = make, sources

    def fit(self, X: Sequence[Any], y: Sequence[Any]) -> Self:
        """Train the sources and the tagger."""
        for source in self.sources:
            source.fit(X)
        self.tagger_ = self.make().fit(self._seen(X), y)
        return self

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """Return the labels of each sentence."""
        labels: list[list[str]] = self.tagger_.predict(self._seen(X))
        return labels

    def _seen(self, X: Sequence[Any]) -> Column:
        return joined(X, *(source.columns(X) for source in self.sources))


def joined(*columns: Column) -> list[list[tuple[str, ...]]]:
    """Return tokens that have the columns of all.

    >>> joined([[("a", "x")]], [[("1",)]])
    [[('a', 'x', '1')]]
    """
    return [[sum(parts, ()) for parts in zip(*sentences, strict=True)] for sentences in zip(*columns, strict=True)]
