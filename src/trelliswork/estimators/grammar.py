"""Grammars with the relative frequencies of a treebank's rules, and emissions of words by its tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from trelliswork.errors import InvalidInput, shown
from trelliswork.estimators.hmm.unknown_words import UnseenTokens, lexicon
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.constituents import Constituent
from trelliswork.structures.grammar import WeightedGrammar

__all__ = ["Grammar"]

START = "(start)"  # brackets cannot stand in a label
_CLASS_PSEUDO_COUNT = 0.1  # how many sightings of a known word the words like it are worth


@dataclass
class Annotation:
    """Symbols for the labels of trees: each label with ``vertical - 1`` of its ancestors."""

    vertical: int
    tags: set[str] = field(default_factory=set)
    shown: dict[str, str] = field(default_factory=dict)

    def __call__(self, tree: Constituent) -> Constituent:
        """Return the tree with chains of unary brackets as one, symbols for labels, and the start symbol on top."""
        plain = tree.collapsed()  # made anew, so that no constituent is there twice
        symbols = {id(node): symbol for node, symbol, _ in self._nodes(plain)}
        made = plain.mapped(lambda node, below: node if node.is_tag else Constituent(symbols[id(node)], below))
        assert made is not None
        return Constituent(START, [made])

    def rules(self, tree: Constituent) -> Iterator[tuple[str, list[str]]]:
        """Yield the rules of a tree: a symbol and those below it."""
        plain = tree.collapsed()
        yield START, [plain.label if plain.is_tag else self._symbol(plain.label, ())]
        for _, symbol, children in self._nodes(plain):
            yield symbol, children

    def _nodes(self, plain: Constituent) -> Iterator[tuple[Constituent, str, list[str]]]:
        """Yield constituents that are not tags, their symbols and those of their children."""
        stack: list[tuple[Constituent, tuple[str, ...]]] = [] if plain.is_tag else [(plain, ())]
        while stack:
            node, above = stack.pop()
            below = (node.label, *above)[: self.vertical - 1]
            names = []
            for child in node.children:
                assert isinstance(child, Constituent)
                if child.is_tag:
                    names.append(child.label)
                else:
                    names.append(self._symbol(child.label, below))
                    stack.append((child, below))
            yield node, self._symbol(node.label, above), names

    def _symbol(self, label: str, above: tuple[str, ...]) -> str:
        symbol = "^".join((label, *above))
        if symbol in self.tags:
            symbol += " (phrase)"
        self.shown[symbol] = label
        return symbol


class WordScores:
    """Log-probabilities of words given their tags, from the counts of a treebank."""

    def __init__(self, counts: Counter[tuple[str, str]], rare_count: int, max_suffix: int) -> None:
        self.tags = {tag: i for i, tag in enumerate(dict.fromkeys(tag for _, tag in counts))}
        self.words = {word: i for i, word in enumerate(dict.fromkeys(word for word, _ in counts))}
        table = np.zeros((len(self.words), len(self.tags)))
        for (word, tag), count in counts.items():
            table[self.words[word], self.tags[tag]] = count
        self._known, self._unseen = lexicon(
            list(self.words), table, table, _CLASS_PSEUDO_COUNT, rare_count, max_suffix
        )  # fmt: skip

    def __call__(self, words: Sequence[str], tags: Sequence[str]) -> FloatArray:
        """Return log p(word | tag), (n, T), with a column for each of ``tags``."""
        unseen: UnseenTokens = self._unseen
        rows = [self.words.get(word, -1) for word in words]
        scores = self._known[rows]
        new = [t for t, row in enumerate(rows) if row < 0]
        if new:
            scores[new] = unseen.log_prob([words[t] for t in new])
        return np.ascontiguousarray(scores[:, [self.tags[tag] for tag in tags]])


@dataclass
class TreebankGrammar:
    """The counts of a treebank: rules with log-probabilities, hidden symbols, and scores of words."""

    rules: list[tuple[str, tuple[str, ...], float]]
    inner: set[str]
    annotation: Annotation
    lexicon: WordScores


def counted(
    trees: Iterable[Constituent], *, vertical: int, horizontal: int | None, rare_count: int, max_suffix: int
) -> TreebankGrammar:
    """Count a treebank; see `Grammar.from_trees`."""
    vertical = checks.as_count("vertical", vertical)
    horizontal = None if horizontal is None else checks.as_count("horizontal", horizontal, least=0)
    rare_count, max_suffix = (checks.as_count(*one, least=0) for one in (("rare_count", rare_count),
                              ("max_suffix", max_suffix)))  # fmt: skip
    kept = list(trees)
    words: Counter[tuple[str, str]] = Counter()
    for number, tree in enumerate(kept):
        if not isinstance(tree, Constituent):
            raise InvalidInput(f"tree {number} is {shown(tree)}; expected a Constituent.")
        for word, tag in tree.tagged():
            if tag is None:
                raise InvalidInput(f"the word {word!r} of tree {number} has no tag: (NN {word}), say.")
            words[word, tag] += 1
    if not words:
        raise InvalidInput("there are no trees to count.")
    annotation = Annotation(vertical, {tag for _, tag in words})
    rules: Counter[tuple[str, tuple[str, ...]]] = Counter()
    inner: set[str] = set()
    for tree in kept:
        for parent, children in annotation.rules(tree):
            rules.update(_steps(parent, children, horizontal, inner))
    totals: Counter[str] = Counter()
    for (parent, _), count in rules.items():
        totals[parent] += count
    scored = [(parent, children, float(np.log(n / totals[parent]))) for (parent, children), n in rules.items()]
    return TreebankGrammar(scored, inner, annotation, WordScores(words, rare_count, max_suffix))


def _steps(
    parent: str, children: list[str], horizontal: int | None, inner: set[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a rule as it is, or as one step for each child but the last, given the children before it."""
    if horizontal is None or len(children) < 3:
        yield parent, tuple(children)
        return
    at = parent
    for i, child in enumerate(children[:-2]):
        history = children[max(0, i + 1 - horizontal) : i + 1]
        rest = f"({parent}|{' '.join(history)})"
        inner.add(rest)
        yield at, (child, rest)
        at = rest
    yield at, tuple(children[-2:])


class Grammar(WeightedGrammar):
    """A context-free grammar with a score for each rule; `parse` gives the distribution over the trees of a sentence.

    A rule has one or more children. Rules with more than two are binarised internally in a unique way, so each tree
    counts once. A symbol that is never a parent is a terminal: a word, or a tag of words. Rules with one child must not
    form a cycle: such a grammar has infinitely many trees for a sentence and is refused. Merge such a chain into one
    label instead, as `Constituent.collapsed` does. Rules that no tree can use are allowed.

    Parameters
    ----------
    rules : iterable of (parent, children, score), or mapping from (parent, children) to score
        ``children`` is a tuple of symbols, or one symbol. Scores are added up over a tree; for probabilities, pass
        their logarithms. ``-inf`` forbids a rule.
    start : str or list of str, optional
        The possible root symbols of a tree; by default, the parent of the first rule.
    inner : collection of str
        Symbols that trees omit: their children become children of their parent, which undoes a binarisation. Their
        rules have two or more children. Derivations that differ only in these symbols count separately.

    Notes
    -----
    Parsing uses CKY (Kasami 1965; Younger 1967), at most O(n^3) times the number of rules, and considers only
    constituents that can derive the words. Ties: the start symbol and the rule that were given first, then the shorter
    first child.

    Examples
    --------
    >>> grammar = Grammar([
    ...     ("S", ("NP", "VP"), 0.0),
    ...     ("VP", ("V", "NP"), -0.5),
    ...     ("VP", ("VP", "PP"), -1.5),
    ...     ("NP", ("NP", "PP"), -1.0),
    ...     ("PP", ("with", "NP"), 0.0),
    ...     ("NP", "she", -1.5), ("NP", "stars", -1.0), ("NP", "telescopes", -1.0), ("V", "saw", 0.0),
    ... ])
    >>> parses = grammar.parse("she saw stars with telescopes".split())
    >>> print(parses.argmax().tree)
    (S (NP she) (VP (V saw) (NP (NP stars) (PP with (NP telescopes)))))
    >>> [round(one.score, 2) for one in parses.kbest(5)], round(np.exp(parses.log_count()))
    ([-5.0, -5.5], 2)
    """

    def __init__(
        self,
        rules: Iterable[tuple[str, Any, float]] | Mapping[tuple[str, Any], float],
        start: str | Sequence[str] | None = None,
        inner: Collection[str] = (),
    ) -> None:
        super().__init__(rules, start, inner)

    @classmethod
    def from_trees(
        cls,
        trees: Iterable[Constituent],
        *,
        vertical: int = 1,
        horizontal: int | None = None,
        rare_count: int = 2,
        max_suffix: int = 3,
    ) -> Self:
        """Return the grammar of a treebank, with the relative frequencies of its rules (Charniak 1996).

        Chains of unary brackets are one label internally, and separate brackets in the resulting trees. Terminals are
        tags, and tags emit words. The emission of unknown words is estimated from rare words of the same shape and
        ending, as in `HMM`.

        Parameters
        ----------
        trees : iterable of Constituent
            Every word must have a tag. Remove empty elements and function tags first, unless you want them in the
            grammar.
        vertical : int
            1: plain labels. 2: labels annotated with that of the parent (Johnson 1998), and so on.
        horizontal : int, optional
            Children are generated in order, each given the ``horizontal`` ones before it (Klein and Manning 2003). By
            default, only lists of children that occur in the treebank are possible.
        rare_count : int
            Unknown words are modelled on the words seen at most this often.
        max_suffix : int
            Length of the longest ending used, in characters.

        Examples
        --------
        >>> trees = [
        ...     Constituent.from_text("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"),
        ...     Constituent.from_text("(S (NP (DT the) (JJ old) (NN cat)) (VP (VBZ sleeps)))"),
        ... ]
        >>> grammar = Grammar.from_trees(trees, horizontal=1)
        >>> print(grammar.parse("the old mouse sleeps".split()).argmax().tree)
        (S (NP (DT the) (JJ old) (NN mouse)) (VP (VBZ sleeps)))
        >>> print(grammar.parse(["a", "cat", "barked"], tags=["DT", "NN", "VBZ"]).argmax().tree)
        (S (NP (DT a) (NN cat)) (VP (VBZ barked)))
        """
        found = counted(trees, vertical=vertical, horizontal=horizontal, rare_count=rare_count, max_suffix=max_suffix)
        grammar = cls(found.rules, START, found.inner)
        grammar._annotation, grammar._lexicon = found.annotation, found.lexicon
        return grammar
