"""Trees of constituents as rows of numbers, and back: what a parser learns from and answers with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import refuse_no_list
from trelliswork.errors import InvalidInput, shown
from trelliswork.structures.constituents import NO_TAG, TOP, Constituent

__all__ = ["JOINS", "chains_of", "checked_tree", "joined_by", "rows_of_trees", "tree_of", "trees_of"]

JOINS = ("+", "&", "/", "~", "\u00a0")  # what may join the labels of a chain of unary constituents
Rows = npt.NDArray[np.uint32]


def checked_tree(tree: Any, place: str) -> Constituent:
    """Return a tree that was given as one or as text in brackets."""
    if isinstance(tree, Constituent):
        return tree
    if not isinstance(tree, str):
        raise InvalidInput(f"{place} is {shown(tree)}; expected a Constituent, or a tree as text in brackets.")
    try:
        return Constituent.from_text(tree)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def trees_of(y: Any, sentences: Any, name: str = "y") -> list[Constituent]:
    """Return the trees, refusing those whose leaves are not the words."""
    refuse_no_list(y, name)
    trees = [checked_tree(tree, f"{name}[{i}]") for i, tree in enumerate(y)]
    if len(trees) != len(sentences):
        raise InvalidInput(f"{name} has {len(trees)} trees for {len(sentences)} sentences. Each needs one.")
    for i, (tree, sentence) in enumerate(zip(trees, sentences, strict=True)):
        words, leaves = [word_of(token) for token in sentence], tree.leaves()
        if words == leaves:
            continue
        if len(words) != len(leaves):
            raise InvalidInput(
                f"{name}[{i}] has {len(leaves)} words, but the sentence has {len(words)}. Empty elements are not "
                "words: read trees with empties=False."
            )
        at = next(t for t in range(len(words)) if words[t] != leaves[t])
        raise InvalidInput(f"{name}[{i}] has the word {leaves[at]!r} where the sentence has {words[at]!r}, at {at}.")
    return trees


def word_of(token: Any) -> Any:
    """Return the word of a token: the token itself, or its first column."""
    return token if isinstance(token, str) or not token else token[0]


def joined_by(trees: Iterable[Constituent]) -> str:
    """Return what joins the labels of a chain: something that no label has in it."""
    labels = {node.label for tree in trees for node, _, _ in tree.nodes() if not node.is_tag}
    for join in JOINS:
        if not any(join in label for label in labels):
            return join
    raise InvalidInput(f"labels must not have all of {' '.join(map(repr, JOINS))} in them: one joins unary chains.")


def chains_of(tree: Constituent, join: str) -> list[tuple[int, int, str]]:
    """Return the constituents of a tree, chains of unary ones as one; the root of one word without any is ``TOP``.

    Examples
    --------
    >>> chains_of(Constituent.from_text("(S (VP (VB go)))"), "+")
    [(0, 1, 'S+VP')]
    >>> chains_of(Constituent.from_text("(UH yes)"), "+")
    [(0, 1, 'TOP')]
    """
    if tree.is_tag:
        return [(0, 1, TOP)]
    found = [(start, stop, label) for start, stop, label in tree.collapsed(join).spans()]
    return found if found and found[0][1] > 0 else []


def rows_of_trees(
    chains: Sequence[list[tuple[int, int, str]]], labels: Sequence[str], unknown: int | None = None
) -> list[Rows]:
    """Return constituents with the numbers of their labels; a label that is not known has the number ``unknown``."""
    numbers = {label: k for k, label in enumerate(labels)}
    found = []
    for own in chains:
        rows = [(a, b, numbers[label] if unknown is None else numbers.get(label, unknown)) for a, b, label in own]
        found.append(np.array(rows, dtype=np.uint32).reshape(-1, 3))
    return found


def tree_of(rows: npt.NDArray[Any], sentence: Sequence[Any], chains: Sequence[Sequence[str]]) -> Constituent:
    """Return the tree of rows (start, stop, label), outermost first; ``chains``: what labels each one stands for."""
    spans = [(start, stop, label) for start, stop, k in rows.tolist() for label in chains[k]]
    if sentence and isinstance(sentence[0], str):
        return Constituent.from_spans(spans, sentence, [NO_TAG] * len(sentence))
    words = [token[0] for token in sentence]
    return Constituent.from_spans(spans, words, [token[1] if len(token) > 1 else NO_TAG for token in sentence])
