"""Chains whose history is the state of an automaton over labels: long memory and hard rules, with exact answers."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.labellings import LabellingScores, all_ngrams, as_unary

__all__ = ["Automaton", "AutomatonChain"]

_MOST_ARCS = 10_000_000  # as many take about a gigabyte while they are made


class Automaton:
    """A deterministic automaton over labels: in each state, which labels may come next, and where they lead.

    Parameters
    ----------
    n_labels : int or sequence of str
        Number of labels, which are then 0 to ``n_labels - 1``; or their names, which methods then accept, too.
    arcs : iterable of (state, label, next state)
        States are any hashable values. A state has at most one arc for each label; a label without an arc is forbidden.
    start : hashable, optional
        The state before the first label; by default the state of the first arc.
    final : iterable of states, optional
        States that a sequence may end in; by default all.

    Raises
    ------
    InvalidInput
        If two arcs leave a state with the same label, a label is out of range, or no final state can be reached from a
        reachable state.

    Examples
    --------
    A 1 only after a 0:

    >>> rule = Automaton(2, [("any", 0, "after 0"), ("after 0", 0, "after 0"), ("after 0", 1, "any")])
    >>> rule.accepts([0, 1, 0]), rule.accepts([1])
    (True, False)

    At most two names, and a unit only after a quantity:

    >>> labels = ["QTY", "UNIT", "NAME"]
    >>> rules = Automaton.at_most(labels, "NAME", 2) & Automaton.only_after(labels, "UNIT", "QTY")
    >>> rules.accepts(["QTY", "UNIT", "NAME", "NAME"]), rules.accepts(["UNIT", "NAME"])
    (True, False)
    """

    def __init__(
        self,
        n_labels: int | Sequence[str],
        arcs: Iterable[tuple[Hashable, int | str, Hashable]],
        start: Hashable | None = None,
        final: Iterable[Hashable] | None = None,
    ) -> None:
        names = _Labels(n_labels)
        self.n_labels, self.labels = names.n, names.names
        listed = list(itertools.islice(arcs, _MOST_ARCS + 1))
        if len(listed) > _MOST_ARCS:
            raise InvalidInput(f"an automaton may have {_MOST_ARCS:,} arcs at most; leave out those that no data need.")
        given = [(source, names.number("the label of an arc", label), target) for source, label, target in listed]
        if start is None:
            if not given:
                raise InvalidInput("an automaton needs at least one arc, or a start state.")
            start = given[0][0]
        numbers: dict[Hashable, int] = {start: 0}
        for source, _, target in given:
            numbers.setdefault(source, len(numbers))
            numbers.setdefault(target, len(numbers))
        ends = set(numbers) if final is None else set(final)
        self._check(given, numbers, ends)
        self.states: tuple[Hashable, ...] = tuple(numbers)
        self.arcs: tuple[tuple[Hashable, int, Hashable], ...] = tuple(given)
        self.final = np.array([state in ends for state in numbers])
        flat = [x for source, label, target in given for x in (numbers[source], label, numbers[target])]
        self._flat = np.array(flat, dtype=np.uint32)

    @cached_property
    def _structure(self) -> _core.PartStructure:
        return self._made(tied=True)

    @cached_property
    def _loose(self) -> _core.PartStructure:
        """Arcs have scores of their own at each position."""
        return self._made(tied=False)

    @cached_property
    def numbered(self) -> npt.NDArray[np.uint32]:
        """The arcs with states by their numbers in `states`, (n_arcs, 3)."""
        return self._flat.reshape(-1, 3)

    def arcs_from(self) -> npt.NDArray[np.int64]:
        """Return the number of the arc that leaves each state with each label, (n_states, n_labels); -1 for none."""
        found = np.full((len(self.states), self.n_labels), -1)
        found[self.numbered[:, 0], self.numbered[:, 1]] = np.arange(len(self.numbered))
        return found

    def _made(self, tied: bool) -> _core.PartStructure:
        return _core.PartStructure.automaton(self.n_labels, self._flat, self.final.astype(np.uint8), tied)

    def _check(self, arcs: list[Any], numbers: dict[Hashable, int], ends: set[Hashable]) -> None:
        seen = set()
        for source, label, _ in arcs:
            if (source, label) in seen:
                name = label if self.labels is None else repr(self.labels[label])
                raise InvalidInput(f"two arcs leave state {source!r} with label {name}: there may be one at most.")
            seen.add((source, label))
        unknown = [state for state in ends if state not in numbers]
        if unknown:
            raise InvalidInput(f"the final state {unknown[0]!r} is in no arc.")
        following: dict[Hashable, set[Hashable]] = {state: set() for state in numbers}
        before: dict[Hashable, set[Hashable]] = {state: set() for state in numbers}
        for source, _, target in arcs:
            following[source].add(target)
            before[target].add(source)
        reached, ending = _closure({next(iter(numbers))}, following), _closure(ends, before)
        for state in numbers:
            if state in reached and state not in ending:
                raise InvalidInput(
                    f"no final state can be reached from state {state!r}: make it final, "
                    "give it arcs that lead to one, or leave it out."
                )

    def __repr__(self) -> str:
        return f"Automaton({self.n_labels} labels, {len(self.states)} states, {len(self.arcs)} arcs)"

    def __reduce__(self) -> tuple[Any, ...]:
        final = [state for state, ends in zip(self.states, self.final, strict=True) if ends]
        return type(self), (self.labels or self.n_labels, self.arcs, self.states[0], final)

    def accepts(self, labels: Sequence[int | str] | npt.NDArray[Any]) -> bool:
        """Return whether the automaton accepts a sequence of labels, from the start to a final state."""
        names = _Labels(self.labels or self.n_labels)
        y = np.array([names.number("a label", label) for label in labels], dtype=np.uint32)
        try:
            self._structure.parts_of(np.array([len(y)], dtype=np.uint32), y)
        except ValueError:
            return False
        return True

    def over(self, labels: Sequence[str]) -> Automaton:
        """Return the automaton over these labels, in their order; arcs of all other labels are left out.

        Examples
        --------
        >>> rule = Automaton.at_most(["NAME", "O", "UNIT"], "NAME", 1)
        >>> rule.over(["O", "NAME"]).arcs
        ((0, 1, 1), (0, 0, 0), (1, 0, 1))
        """
        names, final = _Labels(labels), [state for state, ends in zip(self.states, self.final, strict=True) if ends]
        if self.labels is None:
            if self.n_labels != names.n:
                raise InvalidInput(
                    f"the automaton has {self.n_labels} labels without names, but there are {names.n}: "
                    f"{', '.join(labels)}. Make it with the names of its labels."
                )
            return Automaton(labels, self.arcs, self.states[0], final)
        unknown = [label for label in labels if label not in self.labels]
        if unknown:
            raise InvalidInput(
                f"the automaton does not know the label {unknown[0]!r}, only {', '.join(self.labels)}. Name all labels "
                "when it is made, or pass a function of the labels that makes it."
            )
        if self.labels == names.names:
            return self
        number = {self.labels.index(name): k for k, name in enumerate(labels)}
        kept = [(source, number[k], target) for source, k, target in self.arcs if k in number]
        return _trimmed(labels, kept, self.states[0], set(final))

    def relaxed(self, broken: Hashable = "broken") -> Automaton:
        """Return an automaton that accepts every sequence, and has one more state for broken rules.

        Labels without an arc lead to the state ``broken``, which is never left, and sequences may end in any state.
        With weights for states or arcs, a model learns how much the rule is worth (``SequenceLabeler(automaton=...,
        automaton_weights="arcs")``).

        Examples
        --------
        >>> rule = Automaton.at_most(["NAME", "O"], "NAME", 1).relaxed()
        >>> rule.accepts(["NAME", "NAME"]), rule.states
        (True, (0, 1, 'broken'))
        """
        if broken in self.states:
            raise InvalidInput(f"the automaton has a state {broken!r} already: give the new one another name.")
        there = {(source, label) for source, label, _ in self.arcs}
        rest = itertools.product((*self.states, broken), range(self.n_labels))
        more = [(state, label, broken) for state, label in rest if (state, label) not in there]
        return Automaton(self.labels or self.n_labels, [*self.arcs, *more], self.states[0])

    def __and__(self, other: Automaton) -> Automaton:
        """Return the automaton of the sequences that both accept; its states are pairs."""
        if not isinstance(other, Automaton):
            return NotImplemented
        if other.n_labels != self.n_labels:
            raise InvalidInput(f"both automata must have the same labels, not {self.n_labels} and {other.n_labels}.")
        moves = [{(s, k): t for s, k, t in automaton.arcs} for automaton in (self, other)]
        ends = [dict(zip(a.states, a.final, strict=True)) for a in (self, other)]
        start = (self.states[0], other.states[0])
        arcs, open_, seen = [], [start], {start}
        while open_:
            a, b = open_.pop()
            for k in range(self.n_labels):
                if (a, k) in moves[0] and (b, k) in moves[1]:
                    target = (moves[0][a, k], moves[1][b, k])
                    arcs.append(((a, b), k, target))
                    if target not in seen:
                        seen.add(target)
                        open_.append(target)
        if self.labels and other.labels and self.labels != other.labels:
            raise InvalidInput("both automata must have the same labels: their names differ.")
        names = self.labels or other.labels or self.n_labels
        return _trimmed(names, arcs, start, {(a, b) for a, b in seen if ends[0][a] and ends[1][b]})

    @classmethod
    def at_most(cls, n_labels: int | Sequence[str], labels: Any, n: int) -> Automaton:
        """Return the automaton of sequences in which ``labels``, together, occur at most ``n`` times.

        Examples
        --------
        >>> Automaton.at_most(3, [1, 2], 1).accepts([0, 2, 0, 1])
        False
        """
        names = _Labels(n_labels)
        counted = names.set("labels", labels)
        n = checks.as_count("n", n, least=0)
        arcs = [(i, k, i + (k in counted)) for i in range(n + 1) for k in range(names.n) if i < n or k not in counted]
        return cls(n_labels, arcs, 0)

    @classmethod
    def only_after(
        cls, n_labels: int | Sequence[str], label: int | str, earlier: Any, directly: bool = False
    ) -> Automaton:
        """Return the automaton of sequences in which ``label`` occurs only when one of ``earlier`` came before.

        Parameters
        ----------
        n_labels : int or sequence of str
            Labels, as for `Automaton`.
        label : int or str
            The label that the rule restricts.
        earlier : int, str or a collection of them
            The labels of which one must come before.
        directly : bool
            Whether it must be the label immediately before; by default it may be anywhere before.

        Examples
        --------
        >>> unit, quantity = 1, 0
        >>> rule = Automaton.only_after(3, unit, quantity)
        >>> rule.accepts([0, 2, 1]), rule.accepts([2, 1])
        (True, False)
        >>> Automaton.only_after(3, unit, quantity, directly=True).accepts([0, 2, 1])
        False
        """
        names = _Labels(n_labels)
        before, wanted = names.set("earlier", earlier), names.number("label", label)
        directly = checks.as_flag("directly", directly)
        if before == {wanted}:
            raise InvalidInput("label must not be all of earlier: it could never come.")
        others = [k for k in range(names.n) if k != wanted]
        waiting = [("waiting", k, "seen" if k in before else "waiting") for k in others]
        seen = [("seen", k, "seen" if k in before or not directly else "waiting") for k in range(names.n)]
        return cls(n_labels, [*waiting, *seen], "waiting")

    @classmethod
    def ngrams(
        cls, n_labels: int | Sequence[str], order: int, ngrams: Iterable[Sequence[int | str]] | None = None
    ) -> Automaton:
        """Return the automaton that remembers the last ``order`` labels, so that each of its arcs is an n-gram.

        Parameters
        ----------
        n_labels : int or sequence of str
            Labels, as for `Automaton`.
        order : int
            Number of labels to remember; there are up to ``n_labels ** order`` states.
        ngrams : iterable of sequences of ``order + 1`` labels, optional
            The n-grams that may occur; all by default. The start of a sequence must be the start of one of them.

        Examples
        --------
        >>> Automaton.ngrams(2, 2)
        Automaton(2 labels, 7 states, 14 arcs)
        >>> Automaton.ngrams(2, 2, [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]).accepts([0, 1, 1])
        False
        """
        names, M = _Labels(n_labels), checks.as_count("order", order, least=0)
        if ngrams is None:
            found = all_ngrams(names.n, M)[0]
        else:
            kept = [np.array([names.number("a label of an n-gram", k) for k in ngram], np.uint32) for ngram in ngrams]
            wrong = [ngram.tolist() for ngram in kept if len(ngram) != M + 1]
            if wrong:
                raise InvalidInput(f"n-grams of order {M} must have {M + 1} labels; found {tuple(wrong[0])}.")
            found = _core.NGrams.seen(names.n, M, kept, strict=True)
        rows = [tuple(k for k in row if k >= 0) for row in found.labels.tolist()]
        state = {int(number): row[:-1] for number, row in zip(found.arcs[:, 0], rows, strict=True)}
        state.update((int(number), row[-M:] if M else ()) for number, row in zip(found.arcs[:, 2], rows, strict=True))
        arcs = [(state[s], k, state[t]) for s, k, t in found.arcs.tolist()]
        return cls(n_labels, arcs, ())


class _Labels:
    """How many labels there are, and what they are called if they have names."""

    def __init__(self, labels: Any) -> None:
        self.names: tuple[str, ...] | None = None
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            self.n = checks.as_count("n_labels", labels)
            return
        self.names = tuple(labels)
        self.n = len(self.names)
        if not self.names or not all(isinstance(name, str) for name in self.names) or len(set(self.names)) < self.n:
            raise InvalidInput(f"names of labels must be different strings, one at least; found {self.names!r}.")

    def number(self, what: str, label: Any) -> int:
        """Return the number of a label."""
        if isinstance(label, str):
            if self.names is None or label not in self.names:
                known = "labels have no names here" if self.names is None else f"labels are {', '.join(self.names)}"
                raise InvalidInput(f"{what} is {label!r}; {known}.")
            return self.names.index(label)
        found = checks.as_count(what, label, least=0)
        if found >= self.n:
            raise InvalidInput(f"{what} must be from 0 to {self.n - 1}, not {label!r}.")
        return found

    def set(self, what: str, labels: Any) -> set[int]:
        """Return the numbers of one label, or of several."""
        listed = [labels] if isinstance(labels, str) or not isinstance(labels, Iterable) else list(labels)
        return {self.number(what, label) for label in listed}


def _closure(first: Iterable[Hashable], following: dict[Hashable, set[Hashable]]) -> set[Hashable]:
    reached = set(first)
    open_ = list(reached)
    while open_:
        for state in following[open_.pop()]:
            if state not in reached:
                reached.add(state)
                open_.append(state)
    return reached


def _trimmed(n_labels: int | Sequence[str], arcs: list[Any], start: Hashable, final: set[Any]) -> Automaton:
    """Leave out arcs that are not on a way from the start to a final state."""
    before: dict[Hashable, set[Hashable]] = {}
    following: dict[Hashable, set[Hashable]] = {}
    for source, _, target in arcs:
        for state in (source, target):
            before.setdefault(state, set())
            following.setdefault(state, set())
        following[source].add(target)
        before[target].add(source)
    following.setdefault(start, set())
    before.setdefault(start, set())
    useful = _closure({start}, following) & _closure(final & set(before), before)
    if start not in useful:
        raise InvalidInput("no sequence keeps to these rules: look for labels that both forbid.")
    kept = [arc for arc in arcs if arc[0] in useful and arc[2] in useful]
    return Automaton(n_labels, kept, start, [state for state in useful if state in final])


class AutomatonChain(LabellingScores):
    """A chain whose history is the state of an automaton over labels, with the questions of `Chain`.

    The score of ``y`` is the sum of ``unary[t, y[t]]`` and of the scores of the arcs that the automaton takes.
    Labellings that the automaton does not accept are forbidden. Every answer costs O(T arcs).

    Parameters
    ----------
    unary : (T, K) array-like
        Score of each label at each position; ``-inf`` forbids.
    automaton : Automaton
        Which labels may follow which history.
    arcs : (n_arcs,) or (T, n_arcs) array-like, optional
        Score of each of ``automaton.arcs``, the same at all positions or one for each; zero by default.

    Examples
    --------
    >>> unary = [[0.0, 2.0], [0.0, 1.0], [0.0, 3.0]]
    >>> AutomatonChain(unary, Automaton.at_most(2, 1, 2)).argmax().labels.tolist()
    [1, 0, 1]
    """

    _where_to_look = "arcs of the automaton"

    def __init__(self, unary: npt.ArrayLike, automaton: Automaton, arcs: npt.ArrayLike | None = None) -> None:
        if not isinstance(automaton, Automaton):
            raise InvalidInput(f"automaton must be an Automaton, not {type(automaton).__name__}.")
        rows = as_unary(unary, automaton.n_labels, " for this automaton")
        n_arcs = len(automaton.arcs)
        scores = np.zeros(n_arcs) if arcs is None else checks.as_numbers("arcs", arcs)
        shape = (len(rows), n_arcs) if scores.ndim == 2 else (n_arcs,)
        self.arcs = checks.as_scores("arcs", scores, shape, " for this automaton")
        self.automaton = automaton
        super().__init__(automaton._loose if scores.ndim == 2 else automaton._structure, rows, self.arcs)

    def __repr__(self) -> str:
        return f"AutomatonChain({len(self.unary)} positions, {self.automaton!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.unary, self.automaton, self.arcs)

    def arc_counts(self) -> FloatArray:
        """Return how often each arc of the automaton is expected to be taken, (n_arcs,)."""
        return np.asarray(self._expected()[self.unary.size :].reshape(-1, len(self.automaton.arcs)).sum(axis=0))

    def arc_marginals(self) -> FloatArray:
        """Return the probability of each arc of the automaton at each position, (T, n_arcs)."""
        return self._arc_marginals(self.automaton._loose, self.arcs)

    def edge_marginals(self) -> FloatArray:
        """Return the probability of every pair of neighbouring labels, (T - 1, K, K)."""
        K = self.n_labels
        known = self._joined(Automaton.ngrams(K, 1))  # its states know the label before
        out = np.zeros((max(self.n_positions - 1, 0), K * K))
        of_arcs = known.arc_marginals()
        for i, (source, label, _) in enumerate(known.automaton.arcs):
            if source[1]:  # type: ignore[index]
                out[:, source[1][0] * K + label] += of_arcs[1:, i]  # type: ignore[index]
        return out.reshape(-1, K, K)

    def constrained(self, allowed: Any = None, automaton: Automaton | None = None, fixed: Any = None) -> Self:
        """Return the chain with some labels forbidden, or with a second automaton that must accept, too.

        Parameters
        ----------
        allowed, fixed
            As for `Chain.constrained`.
        automaton : Automaton, optional
            A second rule. Each arc of the combined automaton has the score of its arc in the first.
        """
        limited = self._with_unary(self._limited(allowed, fixed))
        if automaton is not None:
            limited = limited._joined(automaton)
        limited._possible_log_partition()
        return limited

    def _joined(self, automaton: Automaton) -> Self:
        """Return the chain over the states of both automata."""
        both = self.automaton & automaton
        number = {(source, label): i for i, (source, label, _) in enumerate(self.automaton.arcs)}
        kept = [number[source[0], label] for source, label, _ in both.arcs]  # type: ignore[index]
        return type(self)(self.unary, both, self.arcs[..., kept])

    def _with_unary(self, unary: FloatArray) -> Self:
        return type(self)(unary, self.automaton, self.arcs)

    def _scores_of_parts(self, of: Self) -> FloatArray | None:
        same = self.automaton.arcs == of.automaton.arcs and np.array_equal(self.automaton.final, of.automaton.final)
        return super()._scores_of_parts(of) if same else None
