"""Weighted context-free grammars and the parses of a sentence, with the questions of a `Chain`."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable, shown
from trelliswork.structures import checks
from trelliswork.structures.bracketing import checked_spans, table_of_spans
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.constituents import Constituent
from trelliswork.structures.parts import Numbers, PartScores
from trelliswork.structures.results import Parse

__all__ = ["Parses", "WeightedGrammar"]

_NONE = 2**32 - 1  # as the core has it

Rule = tuple[str, tuple[str, ...], float]


class WeightedGrammar:
    """The rules of a grammar with their scores. See `Grammar`, which also estimates them from treebanks."""

    def __init__(
        self,
        rules: Iterable[tuple[str, Any, float]] | Mapping[tuple[str, Any], float],
        start: str | Sequence[str] | None = None,
        inner: Collection[str] = (),
    ) -> None:
        self.rules: list[Rule] = _as_rules(rules)
        parents = dict.fromkeys(parent for parent, _, _ in self.rules)
        self.start = [self.rules[0][0]] if start is None else [start] if isinstance(start, str) else list(start)
        for symbol in self.start:
            if symbol not in parents or symbol in inner:
                raise InvalidInput(f"the start symbol {symbol!r} is not the parent of a rule, or is an inner symbol.")
        if not self.start:
            raise InvalidInput("start must name one symbol at least.")
        self.inner = frozenset(inner)
        for parent, children, _ in self.rules:
            if parent in self.inner and len(children) == 1:
                raise InvalidInput(f"the inner symbol {parent!r} has a rule with one child, {children[0]!r}.")
        self.symbols = _ordered([p for p in parents if p not in self.inner], self.rules)
        below = dict.fromkeys(child for _, children, _ in self.rules for child in children)
        self.terminals = [child for child in below if child not in parents]
        self._numbers = {symbol: i for i, symbol in enumerate(self.symbols)}
        self._columns = {terminal: i for i, terminal in enumerate(self.terminals)}
        self._annotation: Any = None  # of a treebank: from its trees to symbols, with one on top that is not shown
        self._lexicon: Any = None  # scores of words
        self._scores = np.array([score for _, _, score in self.rules])
        self._structure, self._first_terminal = self._compiled()

    def __repr__(self) -> str:
        counts = f"{len(self.rules)} rules, {len(self.symbols)} symbols, {len(self.terminals)} terminals"
        return f"{type(self).__name__}({counts})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_structure"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._structure, self._first_terminal = self._compiled()

    def parse(
        self,
        scores: Any,
        *,
        words: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        spans: npt.ArrayLike | None = None,
    ) -> Parses:
        """Return the parses of a sentence and their distribution.

        Parameters
        ----------
        scores : list of words, (n, T) array-like, or list of dicts
            Words that are terminals; or the score of each of `terminals` at each position; or the same as dicts, which
            forbid the terminals that they do not name. A grammar `from_trees` takes any words.
        words : sequence of str, optional
            Only with scores: the words, which are then placed below the terminals of the trees.
        tags : sequence of str, optional
            Only with words: the terminal of each word, which scores 0.
        spans : (n, n + 1, N) array-like, optional
            Additional scores of ``symbols`` over words ``i .. j - 1``, as for `Bracketing`; ``-inf`` forbids.
        """
        rows, leaves = self._word_scores(scores, words, tags)
        return Parses(self, rows, leaves, spans)

    def _word_scores(
        self, given: Any, words: Sequence[str] | None, tags: Sequence[str] | None
    ) -> tuple[FloatArray, list[str] | None]:
        if isinstance(given, str):
            raise InvalidInput(f"expected a list of words, found the text {shown(given)}. Split it into words.")
        given = given if isinstance(given, np.ndarray) else list(given)
        if tags is not None:
            if words is not None or not all(isinstance(word, str) for word in given):
                raise InvalidInput("tags go with a list of words, without scores.")
            if len(tags) != len(given):
                raise InvalidInput(f"there are {len(given)} words and {len(tags)} tags.")
            return self._of_terminals(list(tags), "tag"), list(given)
        if isinstance(given, list) and given and all(isinstance(word, str) for word in given):
            if words is not None:
                raise InvalidInput("words go with scores; these are words already.")
            if self._lexicon is not None:
                return self._lexicon(given, self.terminals), list(given)
            return self._of_terminals(given, "word"), None
        if isinstance(given, list) and given and all(isinstance(row, Mapping) for row in given):
            rows = np.full((len(given), len(self.terminals)), -np.inf)
            for t, row in enumerate(given):
                for terminal, score in row.items():
                    rows[t, self._column(terminal, t, "terminal")] = score
        else:
            rows = np.zeros((0, len(self.terminals))) if len(given) == 0 else checks.as_numbers("scores", given)
        rows = checks.as_scores("scores", rows, (None, len(self.terminals)), ": position, terminal")
        if words is not None and len(words) != len(rows):
            raise InvalidInput(f"there are scores of {len(rows)} positions and {len(words)} words.")
        return rows, None if words is None else list(words)

    def _column(self, terminal: Any, position: int, kind: str) -> int:
        try:
            return self._columns[terminal]
        except (KeyError, TypeError):
            raise InvalidInput(
                f"the {kind} {terminal!r} at position {position} is not a terminal of the grammar."
            ) from None

    def _of_terminals(self, terminals: Sequence[str], kind: str) -> FloatArray:
        rows = np.full((len(terminals), len(self.terminals)), -np.inf)
        for t, terminal in enumerate(terminals):
            rows[t, self._column(terminal, t, kind)] = 0.0
        return rows

    def _compiled(self) -> tuple[_core.PartStructure, int]:
        """The rules with two children at most, over numbers: symbols, inner ones, terminals."""
        inner = {symbol: len(self.symbols) + i for i, symbol in enumerate(sorted(self.inner))}
        numbers = {**self._numbers, **inner}
        rows: list[list[Any]] = []  # children that are terminals: as text, and numbered last
        made: dict[tuple[Any, ...], int] = {}

        def new(key: tuple[Any, ...], left: Any, right: Any) -> int:
            """Return an inner symbol over these children, or one terminal."""
            if key not in made:
                made[key] = len(numbers) + len(made)
                rows.append([made[key], left, right, _NONE])
            return made[key]

        def beside(child: str) -> int:
            """Return the number of a child that has a sibling."""
            return numbers[child] if child in numbers else new(("terminal", child), child, _NONE)

        for code, (parent, children, _) in enumerate(self.rules):
            first, *rest = children
            if not rest:
                rows.append([numbers[parent], numbers.get(first, first), _NONE, code])
                continue
            right = beside(rest[-1])
            for at in range(len(rest) - 2, -1, -1):  # rests of lists of children are shared
                right = new(("rest", *rest[at:]), beside(rest[at]), right)
            rows.append([numbers[parent], beside(first), right, code])
        first_terminal = len(numbers) + len(made)
        flat = [first_terminal + self._columns[x] if isinstance(x, str) else x for row in rows for x in row]
        structure = _core.PartStructure.grammar(
            len(self.symbols),
            first_terminal - len(self.symbols),
            len(self.terminals),
            len(self.rules),
            np.array(flat, dtype=np.uint32),
            np.array([self._numbers[symbol] for symbol in self.start], dtype=np.uint32),
        )
        return structure, first_terminal


class Parses(PartScores[Parse]):
    """The parses of a sentence under a grammar; the score of a tree is the sum over its rules and words.

    Made by `Grammar.parse`. The last axis of marginals and max-marginals is the symbols in ``grammar.symbols``.
    """

    _output_name = "tree"

    def __init__(
        self,
        grammar: WeightedGrammar,
        words: FloatArray,
        leaves: list[str] | None = None,
        spans: npt.ArrayLike | None = None,
    ) -> None:
        self.grammar, self.words = grammar, words
        self._leaves = leaves
        n, n_symbols = len(words), len(grammar.symbols)
        self._n_spans = n * (n + 1) // 2
        self.spans: FloatArray | None = None
        flat = np.zeros(self._n_spans * n_symbols)
        if spans is not None:
            scores = checks.as_numbers("spans", spans)
            if scores.shape != (n, n + 1, n_symbols):
                raise InvalidInput(
                    f"spans must have shape ({n}, {n + 1}, {n_symbols}): begin, end, symbol; found {scores.shape}."
                )
            self.spans, flat = checked_spans("spans", scores)
        super().__init__(grammar._structure, [n], np.concatenate([flat, words.ravel(), grammar._scores]))

    def __repr__(self) -> str:
        return f"Parses({self.n_words} words, {self.grammar!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.grammar, self.words, self._leaves, self.spans)

    @property
    def n_words(self) -> int:
        """Number of words, n."""
        return len(self.words)

    def marginals(self) -> FloatArray:
        """Return the probability of every symbol over every span, (n, n + 1, N)."""
        return self._shaped(self._expected(), np.add, 0.0)

    def rule_marginals(self) -> FloatArray:
        """Return the expected number of uses of each rule, in the order of ``grammar.rules``."""
        return self._expected()[len(self._scores) - len(self.grammar.rules) :]

    def word_marginals(self) -> FloatArray:
        """Return the probability of every terminal at every position, (n, T)."""
        begin = self._n_spans * len(self.grammar.symbols)
        return self._expected()[begin : begin + self.words.size].reshape(self.words.shape)

    def max_marginals(self) -> FloatArray:
        """Return the best score of a tree with each symbol over each span, (n, n + 1, N); -inf where no tree has it."""
        return self._shaped(self._structure.max_marginals(self._shape, self._scores), np.maximum, -np.inf)

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> list[Constituent]:
        """Draw ``n`` trees; see `Chain.sample`."""
        return [self._tree(output) for output in self._drawn(n, random_state, replace)]

    def augmented(self, gold: Constituent, scale: float = 1.0) -> Self:
        """Return the parses with ``scale`` added to each symbol over a span that is not in ``gold``."""
        cost = np.full(len(self._scores), checks.as_scale(scale))
        cost[self._structure.parts_of(self._shape, self._output(gold))] = 0.0
        return self._rescored(self._table(cost, 0.0))

    def constrained(
        self, forbidden: Iterable[tuple[int, int, str]] = (), uncrossed: Iterable[tuple[int, int]] = ()
    ) -> Self:
        """Return the parses without the trees that break these rules.

        Parameters
        ----------
        forbidden : list of (begin, end, symbol)
            Constituents that no tree may have.
        uncrossed : list of (begin, end)
            Spans that no constituent may cross (Pereira and Schabes 1992).
        """
        n = self.n_words
        limits = np.zeros((n, n + 1, len(self.grammar.symbols)))
        for row in forbidden:
            begin, end, symbol = row
            if symbol not in self.grammar._numbers:
                raise InvalidInput(f"{symbol!r} is not a symbol of the grammar.")
            self._require_span(begin, end)
            limits[begin, end, self.grammar._numbers[symbol]] = -np.inf
        begins, ends = np.indices(limits.shape[:2])
        for begin, end in uncrossed:
            self._require_span(begin, end)
            left = (begins < begin) & (begin < ends) & (ends < end)
            limits[left | ((begin < begins) & (begins < end) & (end < ends))] = -np.inf
        limited = self._rescored(limits)
        limited._possible_log_partition()
        return limited

    def _require_span(self, begin: int, end: int) -> None:
        if not 0 <= begin < end <= self.n_words:
            raise InvalidInput(f"a span must have 0 <= begin < end <= {self.n_words}; found {(begin, end)}.")

    def _rescored(self, added: FloatArray) -> Self:
        spans = added if self.spans is None else self.spans + added
        return type(self)(self.grammar, self.words, self._leaves, spans)

    def _n_identifying(self) -> int:
        return self._n_spans * len(self.grammar.symbols) + self.words.size  # spans and words

    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> FloatArray:
        return self._table(parts, nothing)

    def _sampled(self, output: Numbers) -> Constituent:
        return self._tree(output)

    def _table(self, by_part: FloatArray, nothing: float) -> FloatArray:
        n_symbols = len(self.grammar.symbols)
        return table_of_spans(by_part[: self._n_spans * n_symbols], self.n_words, n_symbols, nothing)

    def _answer(self, output: Numbers, score: float) -> Parse:
        return Parse(self._tree(output), score)

    def _tree(self, output: Numbers) -> Constituent:
        grammar, first = self.grammar, self.grammar._first_terminal
        treebank = grammar._annotation
        names = {} if treebank is None else treebank.shown
        numbers = output.tolist()
        rows = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
        top: list[Any] = []
        open_: list[tuple[int, str, list[Any]]] = [(self.n_words + 1, "", top)]
        for begin, end, symbol in [*rows[treebank is not None :], (self.n_words, 0, 0)]:
            while open_[-1][0] <= begin:
                _, label, children = open_.pop()
                open_[-1][2].append(Constituent(label, children))
            if begin == self.n_words:
                break
            if symbol < first:
                name = grammar.symbols[symbol]
                open_.append((end, names.get(name, name), []))
            else:
                name = grammar.terminals[symbol - first]
                open_[-1][2].append(name if self._leaves is None else Constituent(name, (self._leaves[begin],)))
        (tree,) = top
        assert isinstance(tree, Constituent)
        return tree if treebank is None else tree.restored()

    def _output(self, output: Any) -> Numbers:
        if not isinstance(output, Constituent):
            raise InvalidInput(f"expected a Constituent, found {shown(output)}.")
        leaves, grammar = output.leaves(), self.grammar
        if len(leaves) != self.n_words or (self._leaves is not None and leaves != self._leaves):
            raise InvalidInput("the words of the tree are not those of the sentence.")
        if self._leaves is not None and None in output.tags():
            raise InvalidInput("a word of the tree has no tag.")
        tree = output if grammar._annotation is None else grammar._annotation(output)
        rows: list[tuple[int, int, int]] = []
        for node, begin, end in tree.nodes():
            if self._leaves is not None and node.is_tag:
                rows.append((begin, end, grammar._first_terminal + grammar._column(node.label, begin, "tag")))
            elif node.label in grammar._numbers:
                rows.append((begin, end, grammar._numbers[node.label]))
            else:
                raise InvalidInput(f"{node.label!r} is not a symbol of the grammar.")
        if self._leaves is None:
            rows += [(t, t + 1, grammar._first_terminal + grammar._column(w, t, "word")) for t, w in enumerate(leaves)]
        return np.array(rows, dtype=np.uint32).ravel()

    def _refuse_impossible(self) -> NoReturn:
        if not self.n_words:
            raise Unsatisfiable("there are no words, and no rule of the grammar derives nothing.")
        usable = np.array([any(t in below for _, below, _ in self.grammar.rules) for t in self.grammar.terminals])
        for t, row in enumerate(self.words):
            if not (row[usable] > -np.inf).any():
                raise Unsatisfiable(f"no terminal is allowed at position {t}, so no tree covers that word.")
        place = self._structure.dead_end(self._shape, self._scores)
        raise Unsatisfiable(
            f"the grammar has no tree for these {self.n_words} words: no symbol covers the beginning beyond position "
            f"{place}."
        )


def _as_rules(rules: Any) -> list[Rule]:
    given = [(*key, score) for key, score in rules.items()] if isinstance(rules, Mapping) else list(rules)
    out: list[Rule] = []
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for row in given:
        if not isinstance(row, tuple | list) or len(row) != 3:
            raise InvalidInput(f"a rule is {shown(row)}; expected (parent, children, score).")
        parent, below, score = row
        children = (below,) if isinstance(below, str) else tuple(below)
        for symbol in (parent, *children):
            if not isinstance(symbol, str) or not symbol:
                raise InvalidInput(f"the rule {shown(row)} has the symbol {shown(symbol)}; expected text.")
        if not children:
            raise InvalidInput(f"the rule for {parent!r} has no children; empty rules are not possible.")
        if (parent, children) in seen:
            raise InvalidInput(f"the rule {parent} -> {' '.join(children)} is there twice. Add its scores up.")
        seen.add((parent, children))
        number = float(score)
        if math.isnan(number) or number > 1e300:
            raise InvalidInput(f"the score of {parent} -> {' '.join(children)} is {number}; expected a number or -inf.")
        out.append((parent, children, number))
    if not out:
        raise InvalidInput("a grammar has one rule at least.")
    return out


def _ordered(symbols: list[str], rules: list[Rule]) -> list[str]:
    """Order symbols so that rules with one child lead to later ones; those given first come first where they may."""
    below: dict[str, list[str]] = {symbol: [] for symbol in symbols}
    for parent, children, _ in rules:
        if len(children) == 1 and children[0] in below:
            below[parent].append(children[0])
    done: dict[str, bool] = {}  # False while what is below is being looked at
    order: list[str] = []
    for first in reversed(symbols):
        if first in done:
            continue
        done[first] = False
        path = [(first, iter(below[first]))]
        while path:
            symbol, left = path[-1]
            for child in left:
                if done.get(child) is False:
                    names = [name for name, _ in path]
                    cycle = " -> ".join([*names[names.index(child) :], child])
                    raise InvalidInput(
                        f"rules with one child form a cycle, {cycle}: a sentence would have infinitely many trees. "
                        "Leave one of them out, or make one label of the chain."
                    )
                if child not in done:
                    done[child] = False
                    path.append((child, iter(below[child])))
                    break
            else:
                done[symbol] = True
                order.append(symbol)
                path.pop()
    return order[::-1]
