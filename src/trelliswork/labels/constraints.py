"""Which labels may follow which, from whatever a user says, and whether the labels to learn from keep to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.labels.encoded import Gold
from trelliswork.labels.scheme_constraints import SchemeConstraints, scheme_constraints
from trelliswork.structures import checks
from trelliswork.structures.automaton import Automaton

__all__ = ["Constraints", "automaton_of", "constraints_of", "require_accepted", "require_kept"]

Constraints = SchemeConstraints
Bools = npt.NDArray[np.bool_]


def constraints_of(constraints: Any, labels: Sequence[str]) -> Constraints | None:
    """Return what ``constraints`` allows of these labels, or None if all is allowed.

    Parameters
    ----------
    constraints : None, str, callable, (K, K) array of bool or SchemeConstraints
        The name of a chunk-coding scheme; or a function that says of a label and the one after it whether they may
        follow each other, called with None for the label before the first and after the last; or an array
        ``[before, after]`` in the order of the sorted labels.

    Examples
    --------
    >>> constraints_of(lambda before, after: before != after, ["A", "B"]).transitions.tolist()
    [[False, True], [True, False]]
    """
    if constraints is None:
        return None
    if isinstance(constraints, str):
        return scheme_constraints(labels, constraints)
    if callable(constraints) and not isinstance(constraints, np.ndarray):
        return _asked(constraints, labels)
    K = len(labels)
    everywhere = np.ones(K, dtype=np.bool_)
    given = constraints if isinstance(constraints, SchemeConstraints) else (constraints, everywhere, everywhere)
    transitions, start, end = given
    return SchemeConstraints(
        checks.as_mask("constraints", transitions, (K, K)),
        checks.as_mask("constraints.start", start, (K,)),
        checks.as_mask("constraints.end", end, (K,)),
    )


def require_kept(gold: Gold, constraints: Constraints, labels: Sequence[str]) -> None:
    """Refuse labels to learn from that the constraints forbid; their numbers are positions in ``labels``."""
    offsets = gold.token_offsets
    if gold.counts is None:
        broken = _first_broken(gold.codes, offsets, constraints)
        if broken is None:
            return
        i = int(np.searchsorted(offsets, broken, side="right")) - 1
        t = int(broken - offsets[i])
        raise InvalidInput(f"{_told(gold, i, t, constraints, labels)} Check the labels, or leave constraints out.")
    starts = gold.starts
    assert starts is not None
    for i in range(len(gold)):
        lost = _first_dead_end(gold, starts, int(offsets[i]), int(offsets[i + 1]), constraints)
        if lost is not None:
            raise InvalidInput(
                f"{gold.argument}[{i}] has no labelling that the constraints allow: the last possibility is lost at "
                f"{gold.argument}[{i}][{lost}]. Check the labels, or leave constraints out."
            )


def automaton_of(automaton: Any, labels: Sequence[str]) -> Automaton:
    """Return the automaton over these labels that a user gave: itself, or a function of the labels that makes it.

    Examples
    --------
    >>> automaton_of(lambda labels: Automaton.at_most(labels, "B", 1), ["A", "B"]).accepts(["B", "A", "B"])
    False
    """
    made = automaton
    if callable(automaton):
        made = automaton(list(labels))
    if not isinstance(made, Automaton):
        found = f"not {type(made).__name__}" if made is automaton else f"but it returned {type(made).__name__}"
        raise InvalidInput(f"automaton must be an Automaton, or a function of the labels that returns one, {found}.")
    return made.over(labels)


def require_accepted(gold: Gold, automaton: Automaton) -> None:
    """Refuse labels to learn from that the automaton does not accept; their numbers are those of its labels."""
    names, final = automaton.labels, automaton.final.tolist()
    assert names is not None
    to = np.append(automaton.numbered[:, 2].astype(np.int64), -1)  # the last: of no arc
    moves = to[automaton.arcs_from()].tolist()
    offsets, starts, codes = gold.token_offsets.tolist(), gold.starts, gold.codes.tolist()
    begins = list(range(len(codes) + 1)) if starts is None else starts.tolist()  # of the labels of each token
    for i, length in enumerate(gold.lengths.tolist()):
        reached, said = {0}, ""
        for n in range(offsets[i], offsets[i + 1]):
            own = codes[begins[n] : begins[n + 1]] or range(len(names))
            before, reached = reached, {moves[q][k] for q in reached for k in own} - {-1}
            if not reached:
                place, state = f"{gold.argument}[{i}][{n - offsets[i]}]", automaton.states[min(before)]
                said = f"the automaton accepts no labelling of {gold.argument}[{i}]: the last is lost at {place}"
                if len(before) == len(own) == 1:
                    said = f"{place} is {names[own[0]]!r}, which the automaton forbids in state {state!r}"
                break
        if reached and length >= 0 and not any(final[q] for q in reached):
            place = f"{gold.argument}[{i}]"
            state = automaton.states[min(reached)]
            said = f"{place} ends after {length} labels in state {state!r}, where the automaton accepts no end"
        if said:
            raise InvalidInput(f"{said}. Check the labels, or the automaton.")


def _asked(allows: Callable[[Any, Any], Any], labels: Sequence[str]) -> Constraints:
    return SchemeConstraints(
        np.array([[bool(allows(before, after)) for after in labels] for before in labels]),
        np.array([bool(allows(None, label)) for label in labels]),
        np.array([bool(allows(label, None)) for label in labels]),
    )


def _first_broken(codes: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], constraints: Constraints) -> int | None:
    """The first token whose label may not be where it is."""
    filled = offsets[:-1][np.diff(offsets) > 0]
    lasts = offsets[1:][np.diff(offsets) > 0] - 1
    good = np.ones(len(codes), dtype=np.bool_)
    good[1:] = constraints.transitions[codes[:-1], codes[1:]]
    good[filled] = constraints.start[codes[filled]]
    good[lasts] &= constraints.end[codes[lasts]]
    return None if good.all() else int(np.argmin(good))


def _told(gold: Gold, i: int, t: int, constraints: Constraints, labels: Sequence[str]) -> str:
    begin = gold.token_offsets[i]
    label = int(gold.codes[begin + t])
    place = f"{gold.argument}[{i}][{t}] is {labels[label]!r}"
    if t > 0 and not constraints.transitions[gold.codes[begin + t - 1], label]:
        return f"{place} after {labels[int(gold.codes[begin + t - 1])]!r}, which the constraints forbid."
    if t == 0 and not constraints.start[label]:
        return f"{place}, and the constraints forbid a sequence to begin with it."
    return f"{place}, and the constraints forbid a sequence to end with it."


def _first_dead_end(
    gold: Gold, starts: npt.NDArray[np.int64], begin: int, end: int, constraints: Constraints
) -> int | None:
    reached: Bools = constraints.start
    for n in range(begin, end):
        allowed = np.zeros(len(constraints.start), dtype=np.bool_)
        allowed[gold.codes[starts[n] : starts[n + 1]]] = True
        reached = reached & (allowed if starts[n] < starts[n + 1] else True)
        if n == end - 1:
            reached = reached & constraints.end
        if not reached.any():
            return n - begin
        reached = reached @ constraints.transitions
    return None
