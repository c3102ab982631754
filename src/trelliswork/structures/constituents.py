"""Constituents: treebank trees as brackets, as labelled spans, and with chains of unary brackets as one label.

No function here is recursive, so a tree may be as deep as memory allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from trelliswork.errors import InvalidInput, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["NO_TAG", "TOP", "BracketReader", "Constituent", "TreeSpan", "cleaned"]

TOP = "TOP"  # the label of a root that has none
NO_TAG = "_"  # the tag of a word that has none

Child = Union["Constituent", str]

# A word with its tag is by far the most frequent thing between brackets. Only ASCII space parts words, so that others
# may have spaces of their own in them, as numbers do in French.
_TOKEN = re.compile(r"\(([^\s()]+)\s+([^\s()]+)\s*\)|\(|\)|[^\s()]+", re.ASCII)
_INDEX = re.compile(r"[-=]\d+")


class TreeSpan(NamedTuple):
    """A constituent without its children: its label over the words ``start`` to ``stop - 1``.

    Examples
    --------
    >>> TreeSpan(0, 2, "NP").label
    'NP'
    """

    start: int
    stop: int
    label: str


class Constituent:
    """A labelled bracket around constituents and words; immutable.

    Parameters
    ----------
    label : str
    children : iterable of Constituent and str
        A word is a string. A constituent whose only child is a word is the word's tag: ``(NN dog)``.

    Examples
    --------
    >>> tree = Constituent.from_text("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> tree.label, [child.label for child in tree.children]
    ('S', ['NP', 'VP'])
    >>> tree.leaves(), tree.tags()
    (['the', 'dog', 'barks'], ['DT', 'NN', 'VBZ'])
    >>> tree.spans()
    [TreeSpan(start=0, stop=3, label='S'), TreeSpan(start=0, stop=2, label='NP'), TreeSpan(start=2, stop=3, label='VP')]
    >>> print(tree)
    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))
    """

    __slots__ = ("_hash", "children", "label")

    label: str
    children: tuple[Child, ...]

    def __init__(self, label: str, children: Iterable[Child] = ()) -> None:
        if not isinstance(label, str) or not label:
            raise InvalidInput(f"the label of a constituent is {shown(label)}; expected a string such as 'NP'.")
        if isinstance(children, str):
            raise InvalidInput(
                f"the children of a constituent are {children!r}; expected a list, such as [{children!r}]."
            )
        kept = tuple(children)
        for child in kept:
            if not isinstance(child, Constituent) and not (isinstance(child, str) and child):
                raise InvalidInput(f"a child of {label!r} is {shown(child)}; expected a Constituent or a word.")
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "children", kept)
        object.__setattr__(self, "_hash", hash((label, kept)))  # that of the children is known: no recursion

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Constituent never changes; make another one to set {name!r}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Constituent never changes; make another one without {name!r}.")

    @classmethod
    def from_text(cls, text: str) -> Constituent:
        """Return the tree that brackets describe; an outer bracket without a label is removed.

        Examples
        --------
        >>> Constituent.from_text("( (NP (NN dog)) )").label
        'NP'
        """
        reader, trees = BracketReader("the text"), list[Constituent]()
        if not isinstance(text, str):
            raise InvalidInput(f"a tree is {shown(text)}; expected brackets such as '(NP (DT the) (NN dog))'.")
        for number, line in enumerate(text.split("\n"), 1):
            trees += (tree for tree, _ in reader.add(number, line))
        reader.finish()
        if len(trees) != 1:
            raise InvalidInput(f"expected one tree in {text[:60]!r}, found {len(trees)}.")
        return trees[0]

    @classmethod
    def from_spans(
        cls, spans: Iterable[tuple[int, int, str]], words: Sequence[str], tags: Sequence[str] | None = None
    ) -> Constituent:
        """Return the tree with these constituents over words; of two equal spans, the first is the upper one.

        Parameters
        ----------
        spans : iterable of (start, stop, label)
            In any order. One of them should be the whole sentence; if none is, ``TOP`` is added above them.
        words : sequence of str
        tags : sequence of str, optional
            The part of speech of each word; without them, words are bare.

        Examples
        --------
        >>> print(Constituent.from_spans([(0, 2, "S"), (0, 2, "VP"), (1, 2, "NP")], ["see", "it"], ["VB", "PRP"]))
        (S (VP (VB see) (NP (PRP it))))
        """
        n = len(words)
        leaf: list[Child] = list(words) if tags is None else [cls(t, (w,)) for w, t in zip(words, tags, strict=True)]
        rows = sorted((int(start), -int(stop), i, label) for i, (start, stop, label) in enumerate(spans))
        if not rows or rows[0][:2] != (0, -n):
            rows.insert(0, (0, -n, -1, TOP))
        rows.append((n, -n - 1, 0, TOP))  # behind all others, which end before it
        open_: list[tuple[int, str, list[Child]]] = []  # the end, the label and the children so far
        at = 0  # the first word that no constituent has taken yet
        for start, minus, _, label in rows:
            while open_ and open_[-1][0] <= start:
                stop, own, children = open_.pop()
                children += leaf[at:stop]
                at = stop
                if not open_:
                    return cls(own, children)
                open_[-1][2].append(cls(own, children))
            stop = -minus
            if (open_ and stop > open_[-1][0]) or start >= stop > 0 or start < 0:
                raise InvalidInput(
                    f"the constituent {(start, stop, label)} crosses another one, is empty, or is not within {n} words."
                )
            if open_:
                open_[-1][2].extend(leaf[at:start])
                at = start
            open_.append((stop, label, []))
        raise AssertionError("the root ends before what stands behind it")

    @property
    def is_tag(self) -> bool:
        """Whether this is the tag of a word: its only child is the word."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def nodes(self) -> Iterator[tuple[Constituent, int, int]]:
        """Yield every constituent with the index of its first word and of the word after its last, parents first."""
        ends = _lengths(self)
        stack: list[tuple[Constituent, int]] = [(self, 0)]
        while stack:
            node, start = stack.pop()
            yield node, start, start + ends[id(node)]
            below = []
            for child in node.children:
                if isinstance(child, str):
                    start += 1
                else:
                    below.append((child, start))
                    start += ends[id(child)]
            stack += reversed(below)

    def leaves(self) -> list[str]:
        """Return the words."""
        return [word for word, _ in self.tagged()]

    def tags(self) -> list[str | None]:
        """Return the tag of each word, None where it has none."""
        return [tag for _, tag in self.tagged()]

    def tagged(self) -> list[tuple[str, str | None]]:
        """Return pairs of words and tags."""
        found: list[tuple[str, str | None]] = []
        stack: list[Child] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                found.append((node, None))
            elif node.is_tag:
                found.append((str(node.children[0]), node.label))
            else:
                stack += reversed(node.children)
        return found

    def plot(self, ax: Axes | None = None, **how: Any) -> Axes:
        """Draw the tree above its words; ``how`` as for `trelliswork.plots.tree`."""
        from trelliswork.plots.trees import tree

        return tree(self.leaves(), self.spans(), ax=ax, **{"tags": self._known_tags(), **how})

    def svg(self, **how: Any) -> str:
        """Return the tree as SVG text; ``how`` as for `trelliswork.plots.tree_svg`."""
        from trelliswork.plots.trees import tree_svg

        return tree_svg(self.leaves(), self.spans(), **{"tags": self._known_tags(), **how})

    def _repr_svg_(self) -> str:
        return self.svg()

    def _known_tags(self) -> list[str] | None:
        tags = [tag or "" for tag in self.tags()]
        return tags if any(tags) else None

    def spans(self) -> list[TreeSpan]:
        """Return the constituents that are not tags as spans, each before the ones that it contains."""
        return [TreeSpan(start, stop, node.label) for node, start, stop in self.nodes() if not node.is_tag]

    def mapped(self, make: Callable[[Constituent, list[Child]], Constituent | None]) -> Constituent | None:
        """Return the tree with each constituent replaced by ``make(constituent, new_children)``; None drops it.

        Examples
        --------
        >>> tree = Constituent.from_text("(S (NP (PRP it)) (VP (VBZ is)))")
        >>> print(tree.mapped(lambda node, children: Constituent(node.label.lower(), children)))
        (s (np (prp it)) (vp (vbz is)))
        """
        return _rebuilt(self, lambda node: (node, node.children), make)

    def collapsed(self, join: str = "+") -> Constituent:
        """Return the tree with each chain of unary brackets merged: ``(S (VP ...))`` becomes ``(S+VP ...)``.

        Tags are left alone. `restored` undoes it. A label that contains ``join`` is refused.

        Examples
        --------
        >>> print(Constituent.from_text("(S (VP (VB go)))").collapsed())
        (S+VP (VB go))
        """

        def enter(node: Constituent) -> tuple[list[str], tuple[Child, ...]]:
            labels = [node.label]
            while len(node.children) == 1 and not node.is_tag:
                below = node.children[0]
                if isinstance(below, str) or below.is_tag:
                    break
                node = below
                labels.append(node.label)
            for label in labels:
                if not node.is_tag and join in label:
                    raise InvalidInput(
                        f"the label {label!r} has {join!r} in it, which joins the labels of a chain. Pass another join."
                    )
            return labels, node.children

        tree = _rebuilt(self, enter, lambda labels, children: Constituent(join.join(labels), children))
        assert tree is not None
        return tree

    def restored(self, join: str = "+") -> Constituent:
        """Return the tree with merged labels split: ``(S+VP ...)`` becomes ``(S (VP ...))``.

        Examples
        --------
        >>> print(Constituent.from_text("(S+VP (VB go))").restored())
        (S (VP (VB go)))
        """

        def make(node: Constituent, children: list[Child]) -> Constituent:
            if node.is_tag or join not in node.label:
                return Constituent(node.label, children)
            tree: Constituent | None = None
            for label in reversed(node.label.split(join)):
                tree = Constituent(label, children if tree is None else [tree])
            assert tree is not None
            return tree

        tree = self.mapped(make)
        assert tree is not None
        return tree

    def __str__(self) -> str:
        pieces: list[str] = []
        stack: list[Child | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                pieces[-1] += ")"
            elif isinstance(node, str):
                pieces.append(node)
            else:
                pieces.append("(" + node.label)
                stack.append(None)
                stack += reversed(node.children)
        return " ".join(pieces)

    def __repr__(self) -> str:
        return f"Constituent.from_text({str(self)!r})"

    def __hash__(self) -> int:
        return int(self._hash)  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constituent):
            return NotImplemented
        stack: list[tuple[Child, Child]] = [(self, other)]
        while stack:
            one, two = stack.pop()
            if one is two:
                continue
            if isinstance(one, str) or isinstance(two, str):
                if one != two:
                    return False
                continue
            if hash(one) != hash(two) or one.label != two.label or len(one.children) != len(two.children):
                return False
            stack += zip(one.children, two.children, strict=True)
        return True

    def __copy__(self) -> Constituent:
        return self

    def __deepcopy__(self, memo: Any) -> Constituent:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        flat: list[tuple[str, int] | str] = []  # a constituent as its label and number of children, before them
        stack: list[Child] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                flat.append(node)
            else:
                flat.append((node.label, len(node.children)))
                stack += reversed(node.children)
        return _unflattened, (flat,)


def _rebuilt(
    tree: Constituent,
    enter: Callable[[Constituent], tuple[Any, tuple[Child, ...]]],
    make: Callable[[Any, list[Child]], Constituent | None],
) -> Constituent | None:
    """Make a tree anew from below: ``enter`` says what is made of a constituent and which are below it."""
    stack: list[tuple[Any, Iterator[Child], list[Child]]] = []
    what, below = enter(tree)
    at, made = iter(below), list[Child]()
    while True:
        for child in at:
            if isinstance(child, str):
                made.append(child)
                continue
            stack.append((what, at, made))
            what, below = enter(child)
            at, made = iter(below), []
            break
        else:
            done = make(what, made)
            if not stack:
                return done
            what, at, made = stack.pop()
            if done is not None:
                made.append(done)


def _unflattened(flat: list[tuple[str, int] | str]) -> Constituent:
    stack: list[Child] = []
    for item in reversed(flat):
        if isinstance(item, str):
            stack.append(item)
        else:
            label, n = item
            children = [stack.pop() for _ in range(n)]
            stack.append(Constituent(label, children))
    (tree,) = stack
    assert isinstance(tree, Constituent)
    return tree


def _lengths(tree: Constituent) -> dict[int, int]:
    """How many words each constituent has, by its identity; a subtree that occurs twice has the same both times."""
    found: dict[int, int] = {}
    stack: list[tuple[Constituent, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        below = [child for child in node.children if not isinstance(child, str)]
        if ready or not below:
            found[id(node)] = len(node.children) - len(below) + sum(found[id(child)] for child in below)
        else:
            stack.append((node, True))
            stack += ((child, False) for child in below)
    return found


def cleaned(
    tree: Constituent, *, empties: bool = False, functions: bool = False, indices: bool = False
) -> Constituent | None:
    """Return a tree without the annotation that parsers neither learn nor predict; None if nothing is left of it.

    Parameters
    ----------
    tree : Constituent
    empties : bool
        Keep empty elements, which are tagged ``-NONE-``, and constituents that contain nothing else.
    functions : bool
        Keep function tags; otherwise ``NP-SBJ`` becomes ``NP``. Labels that begin with ``-`` have none.
    indices : bool
        Keep the numbers that link constituents; otherwise ``NP-1`` and ``NP=2`` become ``NP``.

    Examples
    --------
    >>> tree = Constituent.from_text("(S (NP-SBJ-1 (PRP He)) (VP (VBD left) (NP-2 (-NONE- *-1))))")
    >>> print(cleaned(tree))
    (S (NP (PRP He)) (VP (VBD left)))
    >>> print(cleaned(tree, indices=True))
    (S (NP-1 (PRP He)) (VP (VBD left)))
    """

    def make(node: Constituent, children: list[Child]) -> Constituent | None:
        if node.is_tag:
            return None if node.label == "-NONE-" and not empties else node
        if not children and node.children:
            return None
        return Constituent(_plain(node.label, functions, indices), children)

    return tree.mapped(make)


def _plain(label: str, functions: bool, indices: bool) -> str:
    at = re.search(r"[-=]", label)
    if at is None or at.start() == 0:
        return label
    numbers = _INDEX.findall(label, at.start())
    if functions:
        return label if indices else _INDEX.sub("", label)
    return label[: at.start()] + ("".join(numbers) if indices else "")


class _Open:
    """A bracket that is not closed yet."""

    __slots__ = ("children", "label")

    def __init__(self) -> None:
        self.label = ""
        self.children: list[Child] = []


class BracketReader:
    """A reader of brackets, line by line; its errors name the line.

    Parameters
    ----------
    name : str
        Name of the input, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[_Open] = []
        self._first = 0

    def add(self, number: int, line: str) -> Iterator[tuple[Constituent, int]]:
        """Yield the trees that end on a line, each with the number of its first line."""
        for match in _TOKEN.finditer(line):
            text = match.group()
            if not self._open:
                if text[0] != "(":
                    raise self._error(number, f"found {text!r} outside of brackets. Each tree is in brackets.")
                self._first = number
            if match.lastindex == 2:
                done = Constituent(intern(match[1]), (match[2],))
            elif text == "(":
                self._require_label(number)
                self._open.append(_Open())
                continue
            elif text == ")":
                bracket = self._open.pop()
                done = self._closed(bracket, number)
            else:
                self._add_word(text, number)
                continue
            if self._open:
                self._require_label(number)
                self._open[-1].children.append(done)
            else:
                yield done, self._first

    def finish(self) -> None:
        """Raise if a tree is incomplete."""
        n = len(self._open)
        if n:
            raise InvalidInput(
                f"{self._name}: the tree that begins in line {self._first} is not closed at the end: "
                f"{n} closing bracket{'s are' if n > 1 else ' is'} missing."
            )

    def _add_word(self, text: str, number: int) -> None:
        bracket = self._open[-1]
        if bracket.label:
            bracket.children.append(text)
        elif bracket.children:
            raise self._error(number, f"found the word {text!r} in a bracket without a label. Give it one.")
        else:
            bracket.label = intern(text)

    def _require_label(self, number: int) -> None:
        """Only the outermost bracket may have no label; one inside is most likely the next tree."""
        if len(self._open) > 1 and not self._open[-1].label:
            raise self._error(
                number,
                f"found a bracket without a label inside the tree that begins in line {self._first}. "
                "If it begins the next tree, a closing bracket is missing before it.",
            )

    def _closed(self, bracket: _Open, number: int) -> Constituent:
        if bracket.label:
            return Constituent(bracket.label, bracket.children)
        if self._open:
            raise self._error(number, f"found empty brackets inside the tree that begins in line {self._first}.")
        if len(bracket.children) == 1:
            (only,) = bracket.children
            assert isinstance(only, Constituent)
            return only
        return Constituent(TOP, bracket.children)

    def _error(self, number: int, message: str) -> InvalidInput:
        return InvalidInput(f"{self._name}, line {number}: {message}")
