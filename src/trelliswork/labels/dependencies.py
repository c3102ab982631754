"""Dependency trees in any of the forms they come in, as numbers: what is written, counted and resampled.

A tree is a pair of heads and relations, heads alone, or an object that has ``heads`` and ``relations``. Heads are
numbers: 0 is the root, ``i`` the word ``i`` of the sentence, from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown

__all__ = ["UNKNOWN_HEAD", "CodedTrees", "Trees", "coded_trees"]

Ints = npt.NDArray[np.int32]
Trees = Iterable[Any]

UNKNOWN_HEAD = -1


@dataclass(frozen=True, eq=False)
class CodedTrees:
    """The trees of many sentences as numbers; to look at, a list of pairs of heads and relations.

    Attributes
    ----------
    heads : (n_words,) int32 array
        The heads of all words, sentence after sentence; -1 where one is not known.
    relations : (n_words,) int32 array or None
        Places in `names`; None when trees have no relations.
    names : list of str
        The relations in the order of first sight.
    lengths : (n_sentences,) int64 array

    Examples
    --------
    >>> trees = coded_trees([([2, 0], ["nsubj", "root"]), ([0], ["root"])])
    >>> len(trees), trees[0], trees[-1]
    (2, (array([2, 0], dtype=int32), ['nsubj', 'root']), (array([0], dtype=int32), ['root']))
    """

    heads: Ints
    relations: Ints | None
    names: list[str]
    lengths: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> tuple[Ints, list[str] | None]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Ints, list[str] | None]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[index]
        words = slice(int(self.starts[i]), int(self.starts[i + 1]))
        if self.relations is None:
            return self.heads[words], None
        return self.heads[words], [self.names[code] for code in self.relations[words].tolist()]

    def __iter__(self) -> Iterator[tuple[Ints, list[str] | None]]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each sentence begins, and where the last ends."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def require_like(self, other: CodedTrees, name: str, others_name: str) -> None:
        """Refuse trees that are not over the same words."""
        if len(self) != len(other):
            raise InvalidInput(
                f"{name} has {len(self)} sentences but {others_name} has {len(other)}. "
                "Every sentence needs its tree in both."
            )
        wrong = np.flatnonzero(self.lengths != other.lengths)
        if len(wrong):
            i = int(wrong[0])
            raise InvalidInput(
                f"{name}[{i}] has {self.lengths[i]} words but {others_name}[{i}] has {other.lengths[i]}. "
                "Every word needs a head in both: check that both were split at the same places."
            )


def coded_trees(trees: Trees, name: str = "trees") -> CodedTrees:
    """Return trees as numbers, and check that heads are words of their sentence.

    Parameters
    ----------
    trees : Treebank, or iterable of trees
        A tree is a pair of heads and relations, heads alone, or an object that has ``heads`` and ``relations``. A head
        that is not known is None or -1.
    name : str
        What errors call it.

    Examples
    --------
    >>> trees = coded_trees([([2, 0], ["nsubj", "root"]), ([0], ["root"])])
    >>> trees.heads.tolist(), trees.relations.tolist(), trees.names, trees.lengths.tolist()
    ([2, 0, 0], [0, 1, 1], ['nsubj', 'root'], [2, 1])
    """
    if isinstance(trees, CodedTrees):
        return trees
    as_numbers = getattr(trees, "coded", None)  # of a Treebank, which has them already
    if callable(as_numbers):
        return as_numbers()  # type: ignore[no-any-return]
    if isinstance(trees, str | bytes | dict | set | frozenset) or not hasattr(trees, "__iter__"):
        raise InvalidInput(f"{name} is {shown(trees)}; expected a list with the tree of each sentence.")
    heads: list[int] = []
    relations: list[int] = []
    lengths: list[int] = []
    numbers: dict[str, int] = {}
    unlabelled = None
    for i, tree in enumerate(trees):
        tree_heads, tree_relations = _pair(tree, f"{name}[{i}]")
        if tree_relations is None:
            unlabelled = i if unlabelled is None else unlabelled
        else:
            relations += [numbers.setdefault(relation, len(numbers)) for relation in tree_relations]
        heads += tree_heads
        lengths.append(len(tree_heads))
    if unlabelled is not None and relations:
        raise InvalidInput(f"{name}[{unlabelled}] has no relations, but others have. Give all of them, or none.")
    coded = np.array(relations, dtype=np.int32) if unlabelled is None else None
    return CodedTrees(np.array(heads, dtype=np.int32), coded, list(numbers), np.array(lengths, dtype=np.int64))


def _pair(tree: Any, name: str) -> tuple[list[int], list[str] | None]:
    """The heads and the relations of a tree, checked."""
    if hasattr(tree, "heads"):
        given, labels = tree.heads, getattr(tree, "relations", None)
    elif isinstance(tree, tuple | list) and len(tree) == 2 and not _is_head(tree[0]):
        given, labels = tree
    else:
        given, labels = tree, None
    if isinstance(given, str | bytes | dict | set | frozenset) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} is {shown(tree)}; expected heads, or a pair of heads and relations.")
    listed = given.tolist() if isinstance(given, np.ndarray) else list(given)
    heads = list(_checked_heads(listed, name))
    if labels is None:
        return heads, None
    relations = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    for relation in relations:
        if not isinstance(relation, str):
            raise InvalidInput(f"{name} has the relation {shown(relation)}; expected a string.")
    if len(relations) != len(heads):
        raise InvalidInput(f"{name} has {len(heads)} heads but {len(relations)} relations. Every word needs both.")
    return heads, relations


def _checked_heads(heads: list[Any], name: str) -> Iterator[int]:
    for head in heads:
        if head is None:
            yield UNKNOWN_HEAD
        elif not _is_head(head) or not UNKNOWN_HEAD <= head <= len(heads):
            raise InvalidInput(
                f"{name} has the head {shown(head)}; expected the number of one of its {len(heads)} words, or 0 for "
                "the root."
            )
        else:
            yield int(head)


def _is_head(value: Any) -> bool:
    return value is None or (isinstance(value, int | np.integer) and not isinstance(value, bool))
