"""Chains whose history is the state of an automaton over labels: long memory and hard rules, exactly."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.parts import Numbers, PartScores
from trelliswork.structures.results import Labeling

__all__ = ["Automaton", "AutomatonChain"]

_MOST_ARCS = 10_000_000  # as many take about a gigabyte while they are made


class Automaton:
    """A deterministic automaton over labels: in each state, which labels may come next, and where they lead.

    Parameters
    ----------
    n_labels : int
        Labels are 0 to ``n_labels - 1``.
    arcs : iterable of (state, label, next state)
        States are any hashable values. At most one arc leaves a state with a label; labels without an arc may not come.
    start : hashable, optional
        The state before the first label; by default that of the first arc.
    final : iterable of states, optional
        States that a sequence may end in; by default all.

    Raises
    ------
    InvalidInput
        When two arcs leave a state with the same label, a label is out of range, or a state that can be reached leads
        to no final one.

    Examples
    --------
    A 1 only after a 0:

    >>> rule = Automaton(2, [("any", 0, "after 0"), ("after 0", 0, "after 0"), ("after 0", 1, "any")])
    >>> rule.accepts([0, 1, 0]), rule.accepts([1])
    (True, False)
    """

    def __init__(
        self,
        n_labels: int,
        arcs: Iterable[tuple[Hashable, int, Hashable]],
        start: Hashable | None = None,
        final: Iterable[Hashable] | None = None,
    ) -> None:
        self.n_labels = checks.as_count("n_labels", n_labels)
        given = list(itertools.islice(arcs, _MOST_ARCS + 1))
        if len(given) > _MOST_ARCS:
            raise InvalidInput(f"an automaton may have {_MOST_ARCS:,} arcs at most; leave out those that no data need.")
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
        self.arcs: tuple[tuple[Hashable, int, Hashable], ...] = tuple((s, int(k), t) for s, k, t in given)
        self.final = np.array([state in ends for state in numbers])
        flat = [x for source, label, target in given for x in (numbers[source], label, numbers[target])]
        self._structure = _core.PartStructure.automaton(
            self.n_labels, np.array(flat, dtype=np.uint32), self.final.astype(np.uint8)
        )

    def _check(self, arcs: list[Any], numbers: dict[Hashable, int], ends: set[Hashable]) -> None:
        seen = set()
        for source, label, _ in arcs:
            if not 0 <= checks.as_count("a label", label, least=0) < self.n_labels:
                raise InvalidInput(f"the label of an arc must be from 0 to {self.n_labels - 1}, not {label!r}.")
            if (source, label) in seen:
                raise InvalidInput(f"two arcs leave state {source!r} with label {label}: there may be one at most.")
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
        return type(self), (self.n_labels, self.arcs, self.states[0], final)

    def accepts(self, labels: npt.ArrayLike) -> bool:
        """Return whether a sequence of labels keeps to the automaton from the start to a final state."""
        y = np.asarray(labels, dtype=np.uint32).ravel()
        try:
            self._structure.parts_of(np.array([len(y)], dtype=np.uint32), y)
        except ValueError:
            return False
        return True

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
        return _trimmed(self.n_labels, arcs, start, {(a, b) for a, b in seen if ends[0][a] and ends[1][b]})

    @classmethod
    def at_most(cls, n_labels: int, labels: int | Sequence[int], n: int) -> Automaton:
        """Return the automaton of sequences in which ``labels``, together, occur at most ``n`` times.

        Examples
        --------
        >>> Automaton.at_most(3, [1, 2], 1).accepts([0, 2, 0, 1])
        False
        """
        counted = set(checks.label_set("labels", labels, checks.as_count("n_labels", n_labels)))
        n = checks.as_count("n", n, least=0)
        arcs = [(i, k, i + (k in counted)) for i in range(n + 1) for k in range(n_labels) if i < n or k not in counted]
        return cls(n_labels, arcs, 0)

    @classmethod
    def only_after(cls, n_labels: int, label: int, earlier: int | Sequence[int]) -> Automaton:
        """Return the automaton of sequences in which ``label`` occurs only when one of ``earlier`` came before.

        Examples
        --------
        >>> unit, quantity = 1, 0
        >>> rule = Automaton.only_after(3, unit, quantity)
        >>> rule.accepts([0, 2, 1]), rule.accepts([2, 1])
        (True, False)
        """
        before = set(checks.label_set("earlier", earlier, checks.as_count("n_labels", n_labels)))
        (wanted,) = checks.label_set("label", label, n_labels)
        waiting = [("waiting", k, "seen" if k in before else "waiting") for k in range(n_labels) if k != wanted]
        if wanted in before:
            raise InvalidInput("label must not be among earlier: it could never come.")
        return cls(n_labels, [*waiting, *(("seen", k, "seen") for k in range(n_labels))], "waiting")

    @classmethod
    def ngrams(cls, n_labels: int, order: int, ngrams: Iterable[Sequence[int]] | None = None) -> Automaton:
        """Return the automaton that remembers the last ``order`` labels, so that each of its arcs is an n-gram.

        Parameters
        ----------
        n_labels, order : int
            As many labels are remembered as ``order``; there are up to ``n_labels ** order`` states.
        ngrams : iterable of sequences of ``order + 1`` labels, optional
            The n-grams that may occur. All by default.

        Examples
        --------
        >>> Automaton.ngrams(2, 2)
        Automaton(2 labels, 7 states, 14 arcs)
        >>> Automaton.ngrams(2, 2, [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]).accepts([0, 1, 1])
        False
        """
        K, M = checks.as_count("n_labels", n_labels), checks.as_count("order", order, least=0)
        if ngrams is None:
            n_arcs = sum(float(K) ** (m + 1) for m in range(M + 1))
            if n_arcs > _MOST_ARCS:
                raise InvalidInput(
                    f"order {M} with {K} labels makes {n_arcs:.2g} n-grams, about {n_arcs * 100 / 1e9:.1f} GB, "
                    f"more than the {_MOST_ARCS:,} allowed: lower the order, or pass the n-grams that occur."
                )
            kept: set[tuple[int, ...]] = set(itertools.product(range(K), repeat=M + 1))
        else:
            kept = {tuple(int(k) for k in ngram) for ngram in ngrams}
            wrong = [ngram for ngram in kept if len(ngram) != M + 1]
            if wrong:
                raise InvalidInput(f"n-grams of order {M} must have {M + 1} labels; found {wrong[0]}.")
        shorter = {()} | {ngram[:m] for ngram in kept for m in range(1, M + 1)}  # of the first labels of a sequence
        arcs = [(labels[:-1], labels[-1], labels) for labels in shorter if labels]
        arcs += [(ngram[:-1], ngram[-1], ngram[1:]) for ngram in kept]
        arcs.sort(key=lambda arc: (len(arc[0]), arc[0][::-1], arc[1]))  # histories by their newest label first
        return _trimmed(K, arcs, (), {state for arc in arcs for state in (arc[0], arc[2])})


def _closure(first: Iterable[Hashable], following: dict[Hashable, set[Hashable]]) -> set[Hashable]:
    reached = set(first)
    open_ = list(reached)
    while open_:
        for state in following[open_.pop()]:
            if state not in reached:
                reached.add(state)
                open_.append(state)
    return reached


def _trimmed(n_labels: int, arcs: list[Any], start: Hashable, final: set[Any]) -> Automaton:
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


class AutomatonChain(PartScores[Labeling]):
    """A chain whose history is the state of an automaton over labels, with the questions of `Chain`.

    The score of ``y`` is the sum of ``unary[t, y[t]]`` and of the scores of the arcs that the automaton takes.
    Labellings that it does not accept are forbidden. Every answer costs O(T arcs).

    Parameters
    ----------
    unary : (T, K) array-like
        Score of each label at each position; ``-inf`` forbids.
    automaton : Automaton
        Which labels may come after which history.
    arcs : (n_arcs,) array-like, optional
        Score of each of ``automaton.arcs``; zero by default.

    Examples
    --------
    >>> unary = [[0.0, 2.0], [0.0, 1.0], [0.0, 3.0]]
    >>> AutomatonChain(unary, Automaton.at_most(2, 1, 2)).argmax().labels.tolist()
    [1, 0, 1]
    """

    _output_name = "labelling"

    def __init__(self, unary: npt.ArrayLike, automaton: Automaton, arcs: npt.ArrayLike | None = None) -> None:
        if not isinstance(automaton, Automaton):
            raise InvalidInput(f"automaton must be an Automaton, not {type(automaton).__name__}.")
        rows = checks.as_numbers("unary", unary)
        K = automaton.n_labels
        self.unary = checks.as_scores(
            "unary", rows.reshape(0, K) if rows.shape == (0,) else rows, (None, K), " for this automaton"
        )
        n_arcs = len(automaton.arcs)
        self.arcs = checks.as_scores(
            "arcs", np.zeros(n_arcs) if arcs is None else arcs, (n_arcs,), " for this automaton"
        )
        self.automaton = automaton
        super().__init__(automaton._structure, [len(self.unary)], np.concatenate([self.unary.ravel(), self.arcs]))

    def __repr__(self) -> str:
        return f"AutomatonChain({len(self.unary)} positions, {self.automaton!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.unary, self.automaton, self.arcs)

    @property
    def n_positions(self) -> int:
        """Number of positions, T."""
        return len(self.unary)

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""
        return self.automaton.n_labels

    def marginals(self) -> FloatArray:
        """Return the probability of every label at every position, (T, K)."""
        return self._expected()[: self.unary.size].reshape(self.unary.shape)

    def arc_counts(self) -> FloatArray:
        """Return how often each arc of the automaton is expected to be taken, (n_arcs,)."""
        return self._expected()[self.unary.size :]

    def max_marginals(self) -> FloatArray:
        """Return the best score with each label at each position, (T, K)."""
        best = self._structure.max_marginals(self._shape, self._scores)
        return best[: self.unary.size].reshape(self.unary.shape)

    def augmented(self, gold: npt.ArrayLike, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the chain with ``scale`` times the cost against ``gold`` added; see `Chain.augmented`."""
        charged = checks.as_cost(cost, self.n_labels)
        y = checks.as_labels("gold", gold, self.n_positions, self.n_labels)
        return type(self)(self.unary + checks.as_scale(scale) * charged[y], self.automaton, self.arcs)

    def constrained(self, allowed: Any = None, automaton: Automaton | None = None, fixed: Any = None) -> Self:
        """Return the chain with some labels forbidden, or one that keeps to a second automaton too.

        Parameters
        ----------
        allowed, fixed
            As for `Chain.constrained`.
        automaton : Automaton, optional
            A further rule. The arcs of both together have the scores of the first.
        """
        unary = self.unary
        if allowed is not None:
            unary = np.where(checks.as_allowed("allowed", allowed, *unary.shape), unary, -np.inf)
        if fixed is not None:
            unary = np.where(checks.as_fixed("fixed", fixed, *unary.shape), unary, -np.inf)
        rule, arcs = self.automaton, self.arcs
        if automaton is not None:
            rule = self.automaton & automaton
            number = {(source, label): i for i, (source, label, _) in enumerate(self.automaton.arcs)}
            arcs = self.arcs[[number[source[0], label] for source, label, _ in rule.arcs]]  # type: ignore[index]
        limited = type(self)(unary, rule, arcs)
        limited._possible_log_partition()
        return limited

    def _answer(self, output: Numbers, score: float) -> Labeling:
        return Labeling(output.astype(np.int32), score)

    def _output(self, output: npt.ArrayLike) -> Numbers:
        return checks.as_labels("labels", output, self.n_positions, self.n_labels).astype(np.uint32)

    def _same_parts(self, other: Self) -> bool:
        return super()._same_parts(other) and self.automaton.arcs == other.automaton.arcs
